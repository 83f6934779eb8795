"""Snakes with random links, and accelerations from bodies of three coordinates, joints and wheels being rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from sim.analysis.snake import lagrange
from sim.analysis.snake.fixed_steps import METHODS
from sim.analysis.snake.links import Snake


@dataclass(frozen=True)
class State:
    """A snake that moves as its wheels allow: u of Kane, q' of the others."""

    snake: Snake
    q: list[float]
    u: list[float]
    q_dot: list[float]
    torques: list[float]


def random_state(n: int, seed: int) -> State:
    """Return links that differ, bent anywhere."""
    rng = np.random.default_rng((n, seed))
    links = ((0.5, 2.0), (0.1, 0.4), (0.002, 0.02))
    snake = Snake(*(rng.uniform(low, high, n).tolist() for low, high in links))
    q = [*rng.uniform(-np.pi, np.pi, n).tolist(), 0.3, -0.2]
    u = rng.normal(size=2).tolist()
    return State(snake, q, u, lagrange.speeds(snake, q, *u), rng.normal(size=n - 1).tolist())


def first_link(q: list[float], q_ddot: list[float]) -> np.ndarray:
    """Return u' of Kane from q'': the rates of V_1 and omega_1."""
    x, y = q_ddot[-2:]
    return np.array([x * np.cos(q[0]) + y * np.sin(q[0]), q_ddot[0]])


def bodies(state: State) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return accelerations (n, 2) of the middles, (n,) of the angles, and the wheels' sideways forces (n,)."""
    snake, n = state.snake, state.snake.links
    theta, omega = np.array(state.q[:n]), np.array(state.q_dot[:n])
    e, side = np.stack([np.cos(theta), np.sin(theta)], 1), np.stack([-np.sin(theta), np.cos(theta)], 1)
    h = np.array(snake.lengths) / 2
    velocity = np.zeros((n, 2))
    velocity[0] = state.q_dot[n:]
    for k in range(1, n):
        velocity[k] = velocity[k - 1] + omega[k - 1] * h[k - 1] * side[k - 1] + omega[k] * h[k] * side[k]

    rows, wanted = [], []
    for k in range(n - 1):
        for axis in range(2):  # the joint is one point, seen from both links
            row = np.zeros((n, 3))
            row[k, axis], row[k, 2] = 1, h[k] * side[k, axis]
            row[k + 1, axis], row[k + 1, 2] = -1, h[k + 1] * side[k + 1, axis]
            rows.append(row.ravel())
            wanted.append(h[k] * omega[k] ** 2 * e[k, axis] + h[k + 1] * omega[k + 1] ** 2 * e[k + 1, axis])
    for k in range(n):
        row = np.zeros((n, 3))
        row[k, :2] = side[k]
        rows.append(row.ravel())
        wanted.append(omega[k] * e[k] @ velocity[k])

    force = np.zeros((n, 3))
    force[1:, 2] += state.torques
    force[:-1, 2] -= state.torques
    J = np.array(rows)
    mass = np.diag(np.stack([snake.masses, snake.masses, snake.inertias], 1).ravel())
    system = np.block([[mass, J.T], [J, np.zeros((len(J), len(J)))]])
    found = np.linalg.solve(system, [*force.ravel(), *wanted])
    motion = found[: 3 * n].reshape(n, 3)
    return motion[:, :2], motion[:, 2], -found[-n:]


def mass_and_bias(name, state, rates) -> tuple[np.ndarray, np.ndarray]:
    """Return M and B, for any rates of the angles: bias does not ask what wheels allow."""
    n, method = state.snake.links, METHODS[name]
    work, found = method.room(n), []

    def keep(*arguments):
        found.append(np.array([[*row[: n + 2]] for row in work.K[: n + 2]]))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(method, "constrained", keep)  # which would overwrite M
        method.accelerate(state.snake, state.q, [*rates, 0.1, -0.3], state.torques, work)
    return np.tril(found[0]), np.array(work.B)
