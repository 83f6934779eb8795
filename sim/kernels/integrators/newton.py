"""The linear systems of an implicit step, in the freedoms' own axes and of half the size.

A small change of a state is (delta, u): rotations delta about the child's axes, and rates u.  It obeys

    delta' = u - w x delta,    u' = A_q delta + A_v u,

so with delta = P(s) (u + r_q), P(s) = (s + [w]x)^-1, what is left of (s - J) x = r is a system in u alone:
(s - A_v - A_q P(s)) u = r_v + A_q P(s) r_q.  The matrices A are found by differences, column by column.
"""

from __future__ import annotations

import math

from sim.kernels.jit import kernel

STRETCHES = 16  # products with the Jacobian by which its spectral radius is estimated; the second half counts


@kernel
def tangent(links, q, rate, v_out):
    """Rates of freedoms of a change of q; what changes the length of a quaternion has none."""
    for b in range(1, links.parent.size):
        a, k = links.q[b], links.v[b]
        first = links.quaternion[b]
        for i in range((first if first >= 0 else k + links.nv[b]) - k):
            v_out[k + i] = rate[a + i]
        if first >= 0:
            a += first - k
            w, x, y, z = q[a], q[a + 1], q[a + 2], q[a + 3]
            r0, r1, r2, r3 = rate[a], rate[a + 1], rate[a + 2], rate[a + 3]
            s = 2.0 / (w * w + x * x + y * y + z * z)
            v_out[first] = s * (w * r1 - x * r0 - y * r3 + z * r2)
            v_out[first + 1] = s * (w * r2 + x * r3 - y * r0 - z * r1)
            v_out[first + 2] = s * (w * r3 - x * r2 + y * r1 - z * r0)


@kernel
def lengthwise(links, q, e):
    """Sum of the squared errors of quaternions along themselves, as angles: no motion, but part of the stages."""
    total = 0.0
    for b in range(1, links.parent.size):
        first = links.quaternion[b]
        if first >= 0:
            a = links.q[b] + first - links.v[b]
            w, x, y, z = q[a], q[a + 1], q[a + 2], q[a + 3]
            along = w * e[a] + x * e[a + 1] + y * e[a + 2] + z * e[a + 3]
            total += 4.0 * along**2 / (w * w + x * x + y * y + z * z) ** 2
    return total


@kernel
def inverse_turning(s, x, y, z):
    """(s + [w]x)^-1 of w = (x, y, z), by rows."""
    d = 1.0 / (s * (s * s + (x * x + y * y + z * z)))
    return (
        d * (s * s + x * x), d * (s * z + x * y), d * (x * z - s * y),
        d * (x * y - s * z), d * (s * s + y * y), d * (s * x + y * z),
        d * (s * y + x * z), d * (y * z - s * x), d * (s * s + z * z),
    )  # fmt: skip


@kernel
def newton_matrix(links, s, w, by_q, by_v, e_out):
    """e_out = s - A_v - A_q P(s)."""
    n = w.size
    p = 1.0 / s
    for i in range(n):
        for j in range(n):
            e_out[i, j] = -by_v[i, j] - p * by_q[i, j]
        e_out[i, i] += s
    for b in range(1, links.parent.size):
        k = links.quaternion[b]
        if k >= 0:
            P = inverse_turning(s, w[k], w[k + 1], w[k + 2])
            for i in range(n):
                x, y, z = by_q[i, k], by_q[i, k + 1], by_q[i, k + 2]
                e_out[i, k] += p * x - (x * P[0] + y * P[3] + z * P[6])
                e_out[i, k + 1] += p * y - (x * P[1] + y * P[4] + z * P[7])
                e_out[i, k + 2] += p * z - (x * P[2] + y * P[5] + z * P[8])


@kernel
def turn_back(links, s, w, x_out):
    """x_out <- P(s) x_out."""
    p = 1.0 / s
    for i in range(w.size):
        x_out[i] *= p
    for b in range(1, links.parent.size):
        k = links.quaternion[b]
        if k >= 0:
            P = inverse_turning(s, w[k], w[k + 1], w[k + 2])
            x, y, z = s * x_out[k], s * x_out[k + 1], s * x_out[k + 2]
            x_out[k] = P[0] * x + P[1] * y + P[2] * z
            x_out[k + 1] = P[3] * x + P[4] * y + P[5] * z
            x_out[k + 2] = P[6] * x + P[7] * y + P[8] * z


@kernel
def add_product(a, x, y_out):
    """y_out += a x, for as many rows as y_out has."""
    for i in range(y_out.size):
        s = y_out[i]
        for j in range(x.size):
            s += a[i, j] * x[j]
        y_out[i] = s


@kernel
def spectral_radius(links, w, by_q, by_v, x_out, y_out):
    """Estimate the largest magnitude of an eigenvalue of the Jacobian [1/s]; x_out is what it stretches most.

    By repeated products from the last x_out: the geometric mean of their growth, since the largest
    eigenvalues may be a complex pair.
    """
    n, growth = w.size, 0.0
    for trial in range(STRETCHES):
        size = 0.0
        for i in range(2 * n):
            size += x_out[i] ** 2
        size = math.sqrt(size)
        if not 0.0 < size < 1e300:
            for i in range(2 * n):
                x_out[i] = 1.0 + 0.01 * i
            return 0.0
        if 2 * trial >= STRETCHES:
            growth += math.log(size)
        for i in range(2 * n):
            x_out[i] /= size
        for i in range(n):
            y_out[i], y_out[n + i] = x_out[n + i], 0.0
        for b in range(1, links.parent.size):
            k = links.quaternion[b]
            if k >= 0:
                x, y, z = x_out[k], x_out[k + 1], x_out[k + 2]
                y_out[k] -= w[k + 1] * z - w[k + 2] * y
                y_out[k + 1] -= w[k + 2] * x - w[k] * z
                y_out[k + 2] -= w[k] * y - w[k + 1] * x
        for i in range(n):
            s = 0.0
            for j in range(n):
                s += by_q[i, j] * x_out[j] + by_v[i, j] * x_out[n + j]
            y_out[n + i] = s
        for i in range(2 * n):
            x_out[i] = y_out[i]
    return math.exp(growth / (STRETCHES // 2))
