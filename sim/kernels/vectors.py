"""Vectors as tuples of three, and matrices as row-major tuples of nine or rows of an array."""

from __future__ import annotations

import math

from sim.kernels.jit import kernel


@kernel
def dot(a, b):
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def cross(a, b):
    """Return a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def plus(a, b):
    """Return a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@kernel
def minus(a, b):
    """Return a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@kernel
def times(k, a):
    """Return k a for a number k."""
    return k * a[0], k * a[1], k * a[2]


@kernel
def beyond(a, k, b):
    """Return a + k b for a number k."""
    return a[0] + k * b[0], a[1] + k * b[1], a[2] + k * b[2]


@kernel
def length(a):
    """Return |a|."""
    return math.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])


@kernel
def unit(a):
    """Return a / |a|; a itself where it is zero."""
    square = a[0] * a[0] + a[1] * a[1] + a[2] * a[2]
    if square == 0.0:
        return a
    k = 1.0 / math.sqrt(square)
    return k * a[0], k * a[1], k * a[2]


@kernel
def across(a, n):
    """Return the part of a that is perpendicular to the unit vector n."""
    k = a[0] * n[0] + a[1] * n[1] + a[2] * n[2]
    return a[0] - k * n[0], a[1] - k * n[1], a[2] - k * n[2]


@kernel
def three(array, i):
    """Return row i of an array of three columns."""
    return array[i, 0], array[i, 1], array[i, 2]


@kernel
def axis_at(R, i, k):
    """Return axis k of the frame whose matrix is row i of an array: a column of the matrix."""
    return R[i, k], R[i, 3 + k], R[i, 6 + k]


@kernel
def outward_axes(R, i, a):
    """Return R a for the matrix in row i of an array."""
    return (
        R[i, 0] * a[0] + R[i, 1] * a[1] + R[i, 2] * a[2],
        R[i, 3] * a[0] + R[i, 4] * a[1] + R[i, 5] * a[2],
        R[i, 6] * a[0] + R[i, 7] * a[1] + R[i, 8] * a[2],
    )


@kernel
def inward_axes(R, i, a):
    """Return the transpose of R times a for the matrix in row i of an array."""
    return (
        R[i, 0] * a[0] + R[i, 3] * a[1] + R[i, 6] * a[2],
        R[i, 1] * a[0] + R[i, 4] * a[1] + R[i, 7] * a[2],
        R[i, 2] * a[0] + R[i, 5] * a[1] + R[i, 8] * a[2],
    )
