"""Bodies on a floor and against each other, as W, M^-1 and velocities, by plain Newton-Euler about centres of mass."""

from __future__ import annotations

import numpy as np

from tests.contact.random_problems import Bodies, rows

G0 = 9.81
UP = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # n, t1, t2


def on_floor(mass: float, inertia: np.ndarray, points: np.ndarray, frame: np.ndarray = UP) -> Bodies:
    """Return one body, centre at the origin, touched at points (k, 3)."""
    inverse = np.zeros((6, 6))
    inverse[:3, :3] = np.eye(3) / mass
    inverse[3:, 3:] = np.linalg.inv(inertia)
    W = np.vstack([rows(point, frame, np.zeros(3)) for point in points])
    return Bodies(W, inverse, np.zeros(6), np.tile([-1, 0], (len(points), 1)))


def box_inertia(mass: float, sides: np.ndarray) -> np.ndarray:
    """Return (3, 3) of a uniform box."""
    a, b, c = np.asarray(sides) ** 2
    return mass / 12.0 * np.diag([b + c, a + c, a + b])


def corners(x: float, y: float, z: float) -> np.ndarray:
    """Return (4, 3) corners of a rectangle of half sides x, y at height z."""
    return np.array([[x, y, z], [-x, y, z], [-x, -y, z], [x, -y, z]])


def row_of_balls(masses: list[float], speeds: list[float]) -> Bodies:
    """Return balls that touch along x, each contact a frictionless patch of its own."""
    n = len(masses)
    inverse = np.zeros((6 * n, 6 * n))
    for b, mass in enumerate(masses):
        inverse[6 * b : 6 * b + 6, 6 * b : 6 * b + 6] = np.eye(6) / mass
    frame = np.eye(3)
    W = np.zeros((3 * (n - 1), 6 * n))
    for b in range(n - 1):
        point = np.array([0.5, 0.0, 0.0])
        W[3 * b : 3 * b + 3, 6 * b : 6 * b + 6] = -rows(point, frame, np.zeros(3))
        W[3 * b : 3 * b + 3, 6 * b + 6 : 6 * b + 12] = rows(-point, frame, np.zeros(3))
    v = np.zeros(6 * n)
    v[::6] = speeds
    return Bodies(W, inverse, v, np.array([[b, b + 1] for b in range(n - 1)]))


def rod(theta: float) -> Bodies:
    """Return a uniform rod of length 2 and mass 1 that touches the floor with its lower end, theta over the floor.

    It leans away from +x, so that sliding toward +x digs it in; across its plane it cannot move.
    """
    end = np.array([np.cos(theta), 0.0, -np.sin(theta)])
    body = on_floor(1.0, np.eye(3) / 3.0, end[None])
    body.inverse[[1, 3, 5], [1, 3, 5]] = 0.0
    return body
