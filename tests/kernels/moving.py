"""Links that move as nobody asked them to, with exact velocities and accelerations, and what a block sees of two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from sim.kernels.rows import constraints
from sim.kernels.scratch import BLOCK_WORK, LINK_WORK, ROW_WORK
from sim.kernels.tables import BLOCK, ROW, table
from tests.kernels.plain import plain
from tests.support.rotations import random_matrix

H = 1e-3  # s, between the places of a difference


def derivative(value: Callable[[float], Any], t: float = 0.0) -> np.ndarray:
    """Return the time derivative of a function, of fourth order in H."""
    near, far = (np.asarray(value(t + s * H)) - np.asarray(value(t - s * H)) for s in (1, 2))
    return np.asarray((8.0 * near - far) / (12.0 * H))


def vee(W: np.ndarray) -> np.ndarray:
    """Return w of the matrix that takes v to w x v."""
    return 0.5 * np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]])


@dataclass
class Link:
    """A link whose origin goes along a cubic, and which turns about a still axis and one that this turns.

    x : (4, 3) place and its derivatives; axes : (2, 3) units; angles : (2, 2) rates and their derivatives
    """

    x: np.ndarray
    axes: np.ndarray
    angles: np.ndarray
    R: np.ndarray

    @classmethod
    def random(cls, rng: np.random.Generator) -> Link:
        axes = rng.normal(size=(2, 3))
        axes /= np.linalg.norm(axes, axis=1)[:, None]
        return cls(rng.normal(size=(4, 3)), axes, rng.normal(size=(2, 2)), random_matrix(rng))

    def _turns(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        angles = self.angles[:, 0] * t + self.angles[:, 1] * t**2 / 2
        first, second = (Rotation.from_rotvec(a * n).as_matrix() for a, n in zip(angles, self.axes, strict=True))
        return first, second

    def pose(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Return place and axes."""
        first, second = self._turns(t)
        return self.x.T @ [1, t, t**2 / 2, t**3 / 6], first @ second @ self.R

    def velocity(self, t: float) -> np.ndarray:
        """Return (6,) angular velocity and velocity of the origin."""
        first, _ = self._turns(t)
        rates = self.angles[:, 0] + self.angles[:, 1] * t
        return np.r_[rates[0] * self.axes[0] + rates[1] * first @ self.axes[1], self.x.T @ [0, 1, t, t**2 / 2]]

    def acceleration(self, t: float) -> np.ndarray:
        """Return (6,) angular acceleration and acceleration of the origin."""
        first, _ = self._turns(t)
        rates = self.angles[:, 0] + self.angles[:, 1] * t
        own, carried = self.axes[0], first @ self.axes[1]
        turning = self.angles[0, 1] * own + self.angles[1, 1] * carried
        return np.r_[turning + rates[0] * rates[1] * np.cross(own, carried), self.x.T @ [0, 0, 1, t]]


FRAMES = [name for name in BLOCK_WORK.names or () if name not in ("own", "whole")]


class Pair:
    """Blocks between three moving links and the world, and rows of theirs."""

    def __init__(self, seed: int, blocks: int, rows: int):
        rng = np.random.default_rng(seed)
        self.rng, self.moving = rng, [Link.random(rng) for _ in range(3)]
        self.links, self.blocks, self.work = table(LINK_WORK, 4), table(BLOCK, blocks), table(BLOCK_WORK, blocks)
        self.blocks.quaternion = -1
        self.rows, self.row_work = table(ROW, rows), table(ROW_WORK, rows)
        self.keeps = np.ones(rows, np.int64)
        self.blocks.touch, self.blocks.mate, self.rows.motion = -1, -1, -1
        self.rows.scale = rng.uniform(0.5, 2.0, rows)
        ends = [(1, 2), (3, 1), (0, 2), (3, 0), (2, 3), (2, 1)]
        for n in range(blocks):
            self.blocks.a[n], self.blocks.b[n] = ends[n % len(ends)]
            self.blocks.p_aF[n], self.blocks.p_bM[n] = rng.normal(size=(2, 3))
            self.blocks.R_aF[n], self.blocks.R_bM[n] = random_matrix(rng).ravel(), random_matrix(rng).ravel()

    def go(self, t: float) -> None:
        """Move the links to where they are at a time, and fill the frames of the blocks."""
        self.links.R[0] = np.eye(3).ravel()
        for b, link in enumerate(self.moving, 1):
            x, R = link.pose(t)
            self.links.x[b], self.links.R[b] = x, R.ravel()
            self.links.V[b], self.links.A[b] = link.velocity(t), link.acceleration(t)
        for name in FRAMES:
            self.work[name] = 0.3  # whatever was there
        plain(constraints.block_frames)(self.blocks, self.links, self.work)

    def build(self, t: float, every: int = 1) -> None:
        """Fill the rows at a time."""
        self.go(t)
        plain(constraints.build_rows)(
            self.blocks, self.rows, every, self.keeps, self.links, self.work, self.row_work
        )  # fmt: skip

    def frames(self, n: int, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return place and axes of F, then of M, of block n at a time."""
        out = []
        for link, p, R in (("a", "p_aF", "R_aF"), ("b", "p_bM", "R_bM")):
            b = self.blocks[link][n]
            x, axes = self.moving[b - 1].pose(t) if b else (np.zeros(3), np.eye(3))
            out += [x + axes @ self.blocks[p][n], axes @ self.blocks[R][n].reshape(3, 3)]
        return out[0], out[1], out[2], out[3]

    def material(self, link: int, p: np.ndarray, t: float) -> np.ndarray:
        """Return the velocity of a link's material at a place."""
        if link == 0:
            return np.zeros(3)
        V = self.moving[link - 1].velocity(t)
        return np.asarray(V[3:] + np.cross(V[:3], p - self.moving[link - 1].pose(t)[0]))
