"""Rotations as quaternions (w, x, y, z), matrices and rotation vectors; arrays over any leading axes."""

from __future__ import annotations

import numpy as np


def matrix(quat: np.ndarray) -> np.ndarray:
    """Return the rotation matrices (..., 3, 3) of quaternions (..., 4), which need not have unit length."""
    quat = quat / np.linalg.norm(quat, axis=-1, keepdims=True)
    w, x, y, z = np.moveaxis(quat, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def relative(quat_a: np.ndarray, quat_b: np.ndarray) -> np.ndarray:
    """Return the rotation vector (..., 3) that turns a into b, in the axes of a, at most half a turn long."""
    w_a, v_a = quat_a[..., :1], -quat_a[..., 1:]
    w_b, v_b = quat_b[..., :1], quat_b[..., 1:]
    w = w_a * w_b - np.sum(v_a * v_b, axis=-1, keepdims=True)
    v = w_a * v_b + w_b * v_a + np.cross(v_a, v_b)
    v, w = np.where(w < 0, -v, v), np.abs(w)
    sine = np.linalg.norm(v, axis=-1, keepdims=True)
    return 2 * np.arctan2(sine, w) * np.divide(v, sine, out=np.zeros_like(v), where=sine > 0.0)


def exponential(vector: np.ndarray) -> np.ndarray:
    """Return the rotation matrices (..., 3, 3) of rotation vectors (..., 3)."""
    half = 0.5 * np.linalg.norm(vector, axis=-1, keepdims=True)
    return matrix(np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * vector], axis=-1))


def turn(quat: np.ndarray, turning: np.ndarray, part: float) -> np.ndarray:
    """Return the rotations (b, 3, 3) at `part` in [0, 1] of the way from quat[0] to quat[1], (2, b, 4).

    turning : (2, b, 3) rad, angular velocity at both ends in world axes, times the time between them.
        The path is R_0 exp(s whole) exp(phi), phi a cubic in s = `part` whose rates at both ends give `turning`.
        `whole` are whole turns about the mean of both: as many as bring the way nearest to that mean.
    """
    R_0, R_1 = matrix(quat[0]), matrix(quat[1])
    rate_0 = np.einsum("bji,bj->bi", R_0, turning[0])  # in the body's own axes at each end
    rate_1 = np.einsum("bji,bj->bi", R_1, turning[1])
    phi_1 = relative(quat[0], quat[1])
    whole = _whole_turns(phi_1, 0.5 * (rate_0 + rate_1))
    slope_0 = rate_0 - whole
    slope_1 = _rate_of_vector(phi_1, rate_1 - np.einsum("bji,bj->bi", exponential(phi_1), whole))
    s = part
    phi = s * (1 - s) ** 2 * slope_0 + s**2 * (3 - 2 * s) * phi_1 + s**2 * (s - 1) * slope_1
    return R_0 @ exponential(s * whole) @ exponential(phi)


def _whole_turns(phi: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return the whole turns about `expected` (b, 3) that bring the rotation vectors `phi` nearest to it."""
    size = np.linalg.norm(expected, axis=-1, keepdims=True)
    axis = np.divide(expected, size, out=np.zeros_like(expected), where=size > 0.0)
    return np.asarray(2 * np.pi * axis * np.round((size - np.sum(phi * axis, axis=-1, keepdims=True)) / (2 * np.pi)))


def _rate_of_vector(phi: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Return d(phi)/ds for the body-axes rate of R_0 exp(phi): the inverse of the right Jacobian of SO(3)."""
    angle = np.linalg.norm(phi, axis=-1, keepdims=True)
    angle = np.where(angle > 0.0, angle, np.pi)  # any will do where there is no axis
    factor = (1 - 0.5 * angle / np.tan(0.5 * angle)) / angle**2  # = 1/a^2 - (1 + cos a) / (2 a sin a)
    first = np.cross(phi, rate)
    return rate + 0.5 * first + factor * np.cross(phi, first)
