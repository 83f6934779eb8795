"""Rotations in plain numpy: quaternions (w, x, y, z), rotation matrices, rotation vectors (rad)."""

from __future__ import annotations

import numpy as np


def matrix_from_quat(quat: np.ndarray) -> np.ndarray:
    """Return (3, 3) of a quaternion of any length but zero."""
    w, x, y, z = np.asarray(quat, float) / np.linalg.norm(quat)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def quat_from_matrix(R: np.ndarray) -> np.ndarray:
    """Return the unit quaternion with its largest component positive."""
    # q q^T from the entries of R; its longest column is the quaternion up to length.
    w = 1 + R[0, 0] + R[1, 1] + R[2, 2]
    x, y, z = (1 + 2 * R[i, i] - np.trace(R) for i in range(3))
    outer = np.array(
        [
            [w, R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]],
            [0, x, R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]],
            [0, 0, y, R[1, 2] + R[2, 1]],
            [0, 0, 0, z],
        ]
    )
    outer = outer + np.triu(outer, 1).T
    column = outer[:, np.argmax(np.diag(outer))]
    return column / np.linalg.norm(column)


def matrix_from_vector(vector: np.ndarray) -> np.ndarray:
    """Return (3, 3) of a rotation vector."""
    angle = np.linalg.norm(vector)
    # sinc keeps small vectors exact.
    return matrix_from_quat(np.concatenate([[np.cos(angle / 2)], np.asarray(vector) / 2 * np.sinc(angle / 2 / np.pi)]))


def quat_product(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return p q: the turn q, then the turn p, both in outer axes."""
    return np.concatenate([[p[0] * q[0] - p[1:] @ q[1:]], p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:])])


def random_quat(rng: np.random.Generator) -> np.ndarray:
    """Return a unit quaternion, uniform over rotations."""
    quat = rng.normal(size=4)
    return quat / np.linalg.norm(quat)


def random_matrix(rng: np.random.Generator) -> np.ndarray:
    """Return (3, 3), uniform over rotations."""
    return matrix_from_quat(random_quat(rng))
