"""Random rigid bodies that touch at random points, and what they make of an impact: problems whose G is W M^-1 W^T."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.support.rotations import random_matrix


@dataclass
class Bodies:
    """W (3k, 6n), M^-1 (6n, 6n), v (6n,), the bodies of each point (-1: the ground)."""

    W: np.ndarray
    inverse: np.ndarray
    v: np.ndarray
    pairs: np.ndarray

    @property
    def G(self) -> np.ndarray:
        G = self.W @ self.inverse @ self.W.T
        return 0.5 * (G + G.T)

    @property
    def u(self) -> np.ndarray:
        return self.W @ self.v

    @property
    def patch(self) -> np.ndarray:
        return np.unique(self.pairs, axis=0, return_inverse=True)[1].ravel()

    @property
    def kinetic(self) -> float:
        return 0.5 * float(self.v @ np.linalg.solve(self.inverse, self.v))


def rows(point: np.ndarray, frame: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Return (3, 6): rates along the frame's rows of a point of a body, by (velocity of its centre, spin)."""
    x, y, z = point - centre
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.hstack([frame, -frame @ cross])


def random_bodies(seed: int, points: int, bodies: int = 3, spread: float = 1e4) -> Bodies:
    """Return bodies of mass ratio up to `spread`, in random frames, of which some pairs touch in faces."""
    rng = np.random.default_rng(seed)
    mass = spread ** rng.uniform(-0.5, 0.5, bodies)
    size = rng.uniform(0.3, 1.0, bodies)
    centre = rng.normal(size=(bodies, 3))
    inverse = np.zeros((6 * bodies, 6 * bodies))
    for b in range(bodies):
        R = random_matrix(rng)
        inertia = mass[b] * size[b] ** 2 * R @ np.diag(rng.uniform(0.5, 1.0, 3)) @ R.T
        inverse[6 * b : 6 * b + 3, 6 * b : 6 * b + 3] = np.eye(3) / mass[b]
        inverse[6 * b + 3 : 6 * b + 6, 6 * b + 3 : 6 * b + 6] = np.linalg.inv(inertia)
    W, pairs = [], []
    while len(W) < points:
        a, b = int(rng.integers(-1, bodies - 1)), 0
        b = int(rng.integers(a + 1, bodies))
        frame = random_matrix(rng)
        middle = centre[b] - frame[0] * size[b] + 0.2 * rng.normal(size=3)
        for _ in range(min(int(rng.integers(1, 5)), points - len(W))):  # several points of one plane
            point = middle + 0.3 * (rng.normal() * frame[1] + rng.normal() * frame[2])
            J = np.zeros((3, 6 * bodies))
            J[:, 6 * b : 6 * b + 6] = rows(point, frame, centre[b])
            if a >= 0:
                J[:, 6 * a : 6 * a + 6] = -rows(point, frame, centre[a])
            W.append(J)
            pairs.append((a, b))
    return Bodies(np.vstack(W), inverse, rng.normal(size=6 * bodies), np.array(pairs))
