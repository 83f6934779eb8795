"""One point of contact from two features: gap, place, normal, and how they move."""

from __future__ import annotations

import math

from sim.kernels.jit import kernel


@kernel
def feature_pair(touches, link_work, k, touch_work):
    """Fill gap, p, p_dot, R and R_dot of point k: a ball of b (centre, radius) over a plane of a (point, normal)."""
    x, R, V = link_work.x, link_work.R, link_work.V
    a, b = touches.a[k], touches.b[k]
    data_a, data_b = touches.data_a, touches.data_b
    o = turned(R, a, data_a[k, 0], data_a[k, 1], data_a[k, 2])
    n = turned(R, a, data_a[k, 3], data_a[k, 4], data_a[k, 5])
    c = turned(R, b, data_b[k, 0], data_b[k, 1], data_b[k, 2])
    r = data_b[k, 6]
    d0, d1, d2 = x[b, 0] + c[0] - x[a, 0] - o[0], x[b, 1] + c[1] - x[a, 1] - o[1], x[b, 2] + c[2] - x[a, 2] - o[2]
    touch_work.gap[k] = n[0] * d0 + n[1] * d1 + n[2] * d2 - r
    w0, w1, w2 = V[b, 0], V[b, 1], V[b, 2]
    nd0 = V[a, 1] * n[2] - V[a, 2] * n[1]
    nd1 = V[a, 2] * n[0] - V[a, 0] * n[2]
    nd2 = V[a, 0] * n[1] - V[a, 1] * n[0]
    touch_work.p[k, 0] = x[b, 0] + c[0] - r * n[0]
    touch_work.p[k, 1] = x[b, 1] + c[1] - r * n[1]
    touch_work.p[k, 2] = x[b, 2] + c[2] - r * n[2]
    touch_work.p_dot[k, 0] = V[b, 3] + w1 * c[2] - w2 * c[1] - r * nd0
    touch_work.p_dot[k, 1] = V[b, 4] + w2 * c[0] - w0 * c[2] - r * nd1
    touch_work.p_dot[k, 2] = V[b, 5] + w0 * c[1] - w1 * c[0] - r * nd2
    tangents(k, n[0], n[1], n[2], nd0, nd1, nd2, touch_work)


@kernel
def turned(R, b, x, y, z):
    """A vector of link b in world axes."""
    return (
        R[b, 0] * x + R[b, 1] * y + R[b, 2] * z, R[b, 3] * x + R[b, 4] * y + R[b, 5] * z,
        R[b, 6] * x + R[b, 7] * y + R[b, 8] * z,
    )  # fmt: skip


@kernel
def tangents(k, nx, ny, nz, mx, my, mz, touch_work):
    """Fill R with two tangents and the normal n as columns, and R_dot, m being the rate of n.

    The frame is that of the shortest turn from z to n, or from -z where n points down: smooth but for nz = 0.
    """
    R, D = touch_work.R, touch_work.R_dot
    s = math.copysign(1.0, nz)
    g = -1.0 / (s + nz)
    h = nx * ny * g
    gd = mz * g * g
    hd = mx * ny * g + nx * my * g + nx * ny * gd
    R[k, 0], R[k, 3], R[k, 6] = 1.0 + s * nx * nx * g, s * h, -s * nx
    R[k, 1], R[k, 4], R[k, 7] = h, s + ny * ny * g, -ny
    R[k, 2], R[k, 5], R[k, 8] = nx, ny, nz
    D[k, 0], D[k, 3], D[k, 6] = s * (2.0 * nx * mx * g + nx * nx * gd), s * hd, -s * mx
    D[k, 1], D[k, 4], D[k, 7] = hd, 2.0 * ny * my * g + ny * ny * gd, -my
    D[k, 2], D[k, 5], D[k, 8] = mx, my, mz
