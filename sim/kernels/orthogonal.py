"""Small dense systems whose rank is not known: a complete orthogonal factorisation, A P = Q (T 0; 0 0) Z.

Householder's QR takes the largest column that is left at each step; what is left below a share of the first counts as
nothing.  Then the rows are turned into a triangle from the other side, so that answers have least norm and the last
columns of (P Z^T) span what A maps to nothing.  Golub and Van Loan (2013), section 5.5.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from sim.kernels.jit import kernel, python_kernel


class Factors(NamedTuple):
    """Room for one factorisation; a_work holds A, then T, the vectors of Q below and those of Z to the right."""

    a_work: Any  # (rows, columns)
    q_work: Any  # (columns,) factors of the reflections of Q
    z_work: Any  # (columns,) and of Z
    x_work: Any  # (rows or columns, whichever are more) a right-hand side, then the answer
    y_work: Any  # the same in the order of the pivots
    order_work: Any  # (columns,) i8


@python_kernel
def factorise_orthogonal(rows, columns, cut, factors):
    """Factorise what stands in a_work[:rows, :columns]; returns its rank."""
    a_work, q_work, order_work = factors.a_work, factors.q_work, factors.order_work
    for j in range(columns):
        order_work[j] = j
    rank, first = 0, 0.0
    for k in range(min(rows, columns)):
        best, most = k, -1.0
        for j in range(k, columns):
            size = 0.0
            for i in range(k, rows):
                size += a_work[i, j] * a_work[i, j]
            if size > most:
                best, most = j, size
        size = math.sqrt(most)
        if k == 0:
            first = size
        if not size > cut * first:
            break
        swap_columns(rows, k, best, a_work, order_work)
        reflect(rows, columns, k, size, a_work, q_work)
        rank += 1
    if rank < columns:
        turn_rows(columns, rank, a_work, factors.z_work)
    return rank


@kernel
def swap_columns(rows, k, best, a_out, order_out):
    """Exchange two columns and their numbers."""
    if best != k:
        order_out[k], order_out[best] = order_out[best], order_out[k]
        for i in range(rows):
            a_out[i, k], a_out[i, best] = a_out[i, best], a_out[i, k]


@kernel
def reflect(rows, columns, k, size, a_out, q_out):
    """Make column k zero below its diagonal by a reflection of all later ones; size: its length from there on."""
    beta = -math.copysign(size, a_out[k, k])
    q_out[k] = (beta - a_out[k, k]) / beta
    scale = 1.0 / (a_out[k, k] - beta)
    for i in range(k + 1, rows):
        a_out[i, k] *= scale
    a_out[k, k] = beta
    for j in range(k + 1, columns):
        s = a_out[k, j]
        for i in range(k + 1, rows):
            s += a_out[i, k] * a_out[i, j]
        s *= q_out[k]
        a_out[k, j] -= s
        for i in range(k + 1, rows):
            a_out[i, j] -= s * a_out[i, k]


@kernel
def turn_rows(columns, rank, a_out, z_out):
    """Make the first `rank` rows a triangle of as many columns by reflections from the right."""
    for i in range(rank - 1, -1, -1):
        rest = 0.0
        for j in range(rank, columns):
            rest += a_out[i, j] * a_out[i, j]
        z_out[i] = 0.0
        if rest == 0.0:
            continue
        alpha = a_out[i, i]
        beta = -math.copysign(math.sqrt(alpha * alpha + rest), alpha)
        z_out[i] = (beta - alpha) / beta
        scale = 1.0 / (alpha - beta)
        for j in range(rank, columns):
            a_out[i, j] *= scale
        a_out[i, i] = beta
        for k in range(i):
            s = a_out[k, i]
            for j in range(rank, columns):
                s += a_out[k, j] * a_out[i, j]
            s *= z_out[i]
            a_out[k, i] -= s
            for j in range(rank, columns):
                a_out[k, j] -= s * a_out[i, j]


@python_kernel
def solve_least(rows, columns, rank, factors):
    """x_work <- the x of least norm that leaves least of A x - x_work."""
    a, z, order, x_work, y_work = factors.a_work, factors.z_work, factors.order_work, factors.x_work, factors.y_work
    for k in range(rank):
        mirror(rows, k, factors)
    for k in range(rank - 1, -1, -1):
        s = x_work[k]
        for j in range(k + 1, rank):
            s -= a[k, j] * y_work[j]
        y_work[k] = s / a[k, k]
    for j in range(rank, columns):
        y_work[j] = 0.0
    reflect_back(columns, rank, a, z, y_work)
    for j in range(columns):
        x_work[order[j]] = y_work[j]


@kernel
def mirror(rows, k, factors):
    """x_work <- its image by the kth reflection of Q."""
    a, x_work = factors.a_work, factors.x_work
    s = x_work[k]
    for i in range(k + 1, rows):
        s += a[i, k] * x_work[i]
    s *= factors.q_work[k]
    x_work[k] -= s
    for i in range(k + 1, rows):
        x_work[i] -= s * a[i, k]


@kernel
def reflect_back(columns, rank, a, z, y_out):
    """y <- Z^T y."""
    if rank < columns:
        for i in range(rank):
            s = y_out[i]
            for j in range(rank, columns):
                s += a[i, j] * y_out[j]
            s *= z[i]
            y_out[i] -= s
            for j in range(rank, columns):
                y_out[j] -= s * a[i, j]


@python_kernel
def put_null_vector(n, columns, rank, factors, vectors_out):
    """Put the nth of (columns - rank) orthonormal vectors that A maps to nothing into row n of `vectors_out`."""
    y_work, order = factors.y_work, factors.order_work
    for j in range(columns):
        y_work[j] = 0.0
    y_work[rank + n] = 1.0
    reflect_back(columns, rank, factors.a_work, factors.z_work, y_work)
    for j in range(columns):
        vectors_out[n, order[j]] = y_work[j]


@python_kernel
def put_range_vector(n, rows, factors, vectors_out):
    """Put the nth of `rank` orthonormal vectors that columns of A are made of into row n of `vectors_out`."""
    x_work = factors.x_work
    for i in range(rows):
        x_work[i] = 0.0
    x_work[n] = 1.0
    for k in range(n, -1, -1):
        mirror(rows, k, factors)
    for i in range(rows):
        vectors_out[n, i] = x_work[i]
