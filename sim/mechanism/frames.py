"""Poses of one frame in another, and the frames in which joints are bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim.scene.spec import Quat, Vec3


@dataclass(frozen=True)
class Pose:
    """p: (3,) m, R: (3, 3)."""

    p: np.ndarray
    R: np.ndarray

    def of(self, other: Pose) -> Pose:
        """Return self other: `other` expressed where self is expressed."""
        return Pose(self.p + self.R @ other.p, self.R @ other.R)

    def inverse(self) -> Pose:
        """Return the pose of the outer frame in this one."""
        return Pose(-(self.R.T @ self.p), self.R.T)


IDENTITY = Pose(np.zeros(3), np.eye(3))


def rotation_of(q: Quat | np.ndarray) -> np.ndarray:
    """Return the matrix of a quaternion (w, x, y, z) of any length."""
    w, x, y, z = q
    s = 2.0 / (w * w + x * x + y * y + z * z)
    return np.array(
        [
            [1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)],
            [s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x)],
            [s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y)],
        ]
    )


def frame_along(z: Vec3 | np.ndarray, x: Vec3 | np.ndarray | None = None) -> np.ndarray:
    """Return a rotation whose third column is z, and whose first is x or the nearest coordinate axis.

    Axes along a coordinate axis give matrices of zeros and ones, so that planar motion stays planar.
    """
    c = np.asarray(z, float) / np.linalg.norm(z)
    if x is None:
        a = np.zeros(3)
        a[int(np.argmin(np.abs(c)))] = 1.0
    else:
        a = np.asarray(x, float)
    a = a - (a @ c) * c
    a = a / np.linalg.norm(a)
    return np.column_stack([a, np.cross(c, a), c])


@dataclass(frozen=True)
class Frames:
    """Joint frames that are bound: F in B of the parent, M in B of the child."""

    p_PF: np.ndarray  # (joints, 3) m
    R_PF: np.ndarray  # (joints, 3, 3)
    p_CM: np.ndarray  # (joints, 3) m
    R_CM: np.ndarray  # (joints, 3, 3)
    offset: np.ndarray  # (joints,) m or rad: of gears, first coordinate - ratio * second

    def copy(self) -> Frames:
        """Return a copy that an event may bind anew."""
        return Frames(self.p_PF.copy(), self.R_PF.copy(), self.p_CM.copy(), self.R_CM.copy(), self.offset.copy())
