"""Functions over complex numbers whose imaginary part is a derivative: the complex step.

f(x + i h d) = f(x) + i h f'(x) d + O(h^2): with h = 1e-30 nothing of second order is left in double
precision, and no difference is taken, so that derivatives are exact to roundoff (Squire & Trapp 1998).  It holds for
compositions of analytic functions; what branches, branches by the real part.
"""

from __future__ import annotations

import numpy as np

from sim.mechanism.mechanism import crossed


def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a . b along the last axis, without conjugating."""
    return np.sum(a * b, axis=-1)


def length(a: np.ndarray) -> np.ndarray:
    """Return |a| along the last axis; zero, with no derivative, where a is zero."""
    square = dot(a, a)
    return np.where(square.real > 0.0, np.sqrt(np.where(square.real > 0.0, square, 1.0)), 0.0)


def magnitude(a: np.ndarray) -> np.ndarray:
    """Return |a| of numbers."""
    return np.where(np.real(a) < 0.0, -a, a)


def angle(y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return atan2(y, x)."""
    value = np.arctan2(y.real, x.real)
    if not (np.iscomplexobj(y) or np.iscomplexobj(x)):
        return value
    square = x.real**2 + y.real**2
    return value + 1j * (x.real * y.imag - y.real * x.imag) / np.where(square > 0.0, square, 1.0)


def matrix_of(p: np.ndarray) -> np.ndarray:
    """Return rotation matrices (..., 3, 3) of unit quaternions (..., 4)."""
    w, x, y, z = p[..., 0], p[..., 1], p[..., 2], p[..., 3]
    s = 2.0 / (w * w + x * x + y * y + z * z)
    rows = [
        [1.0 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)],
        [s * (x * y + w * z), 1.0 - s * (x * x + z * z), s * (y * z - w * x)],
        [s * (x * z - w * y), s * (y * z + w * x), 1.0 - s * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def turned_about(i: int, a: np.ndarray) -> np.ndarray:
    """Return rotation matrices (..., 3, 3) about axis i by angles a."""
    R = np.zeros((*a.shape, 3, 3), a.dtype)
    j, k = (i + 1) % 3, (i + 2) % 3
    R[..., i, i] = 1.0
    R[..., j, j] = R[..., k, k] = np.cos(a)
    R[..., k, j], R[..., j, k] = np.sin(a), -np.sin(a)
    return R


def turned_by(p: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Return quaternions p (1, r / 2): turned by small rotation vectors r in their own axes, to first order in r."""
    w, x, y, z = p[..., 0], p[..., 1], p[..., 2], p[..., 3]
    a, b, c = 0.5 * r[..., 0], 0.5 * r[..., 1], 0.5 * r[..., 2]
    parts = [w - x * a - y * b - z * c, x + w * a + y * c - z * b, y + w * b + z * a - x * c, z + w * c + x * b - y * a]
    return np.stack(parts, axis=-1)


def rotation_vector(p: np.ndarray) -> np.ndarray:
    """Return rotation vectors (..., 3), at most pi long, of unit quaternions."""
    p = np.where(p[..., :1].real < 0.0, -p, p)
    w, sine = p[..., 0], length(p[..., 1:])
    small = sine.real < 1e-4
    series = (2.0 - 2.0 / 3.0 * dot(p[..., 1:], p[..., 1:]) / (w * w)) / w
    k = np.where(small, series, 2.0 * angle(sine, w) / np.where(small, 1.0, sine))
    return k[..., None] * p[..., 1:]


def quaternion_of(R: np.ndarray) -> np.ndarray:
    """Return unit quaternions (..., 4) of rotation matrices whose real parts are one and the same."""
    one = R.reshape(-1, 3, 3)[0].real
    trace = R[..., 0, 0] + R[..., 1, 1] + R[..., 2, 2]
    largest = int(np.argmax([np.trace(one), *np.diag(one)]))
    if largest == 0:
        s = 2.0 * np.sqrt(trace + 1.0)
        parts = [0.25 * s, (R[..., 2, 1] - R[..., 1, 2]) / s, (R[..., 0, 2] - R[..., 2, 0]) / s,
                 (R[..., 1, 0] - R[..., 0, 1]) / s]  # fmt: skip
        return np.stack(parts, axis=-1)
    i = largest - 1
    j, k = (i + 1) % 3, (i + 2) % 3
    s = 2.0 * np.sqrt(1.0 + R[..., i, i] - R[..., j, j] - R[..., k, k])
    out = np.zeros((*R.shape[:-2], 4), R.dtype)
    out[..., 0] = (R[..., k, j] - R[..., j, k]) / s
    out[..., 1 + i] = 0.25 * s
    out[..., 1 + j] = (R[..., i, j] + R[..., j, i]) / s
    out[..., 1 + k] = (R[..., i, k] + R[..., k, i]) / s
    return out


__all__ = [
    "angle", "crossed", "dot", "length", "magnitude", "matrix_of", "quaternion_of", "rotation_vector", "turned_about",
    "turned_by",
]  # fmt: skip
