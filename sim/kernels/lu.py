"""Dense linear systems, real or complex: factors by rows with partial pivoting, in place."""

from __future__ import annotations

from sim.kernels.jit import kernel


@kernel
def factorise_lu(a_out, order_out):
    """Overwrite a square matrix by its factors; the diagonal of U is kept as its inverse.

    order_out: row that was exchanged with row k at step k.  Returns False where the matrix is singular.
    """
    n = order_out.size
    for k in range(n):
        p, largest = k, abs(a_out[k, k])
        for i in range(k + 1, n):
            size = abs(a_out[i, k])
            if size > largest:
                p, largest = i, size
        order_out[k] = p
        if not 0.0 < largest < 1e300:
            return False
        if p != k:
            for j in range(n):
                a_out[k, j], a_out[p, j] = a_out[p, j], a_out[k, j]
        inverse = 1.0 / a_out[k, k]
        a_out[k, k] = inverse
        for i in range(k + 1, n):
            factor = a_out[i, k] * inverse
            a_out[i, k] = factor
            if factor != 0.0:
                for j in range(k + 1, n):
                    a_out[i, j] -= factor * a_out[k, j]
    return True


@kernel
def solve_lu(a, order, x_out):
    """Overwrite a right-hand side by the solution."""
    n = order.size
    for k in range(n):
        p = order[k]
        if p != k:
            x_out[k], x_out[p] = x_out[p], x_out[k]
    for i in range(1, n):
        s = x_out[i]
        for j in range(i):
            s -= a[i, j] * x_out[j]
        x_out[i] = s
    for i in range(n - 1, -1, -1):
        s = x_out[i]
        for j in range(i + 1, n):
            s -= a[i, j] * x_out[j]
        x_out[i] = s * a[i, i]
