"""Articulated-body elimination: M^-1 as a pass to the root and a pass back, in time linear in the links.

The inertia of a link with all that hangs on it, its joints free to give way, loses one rank with each
freedom: with U = P S and D = S.U + armature, P <- P - g g^T where g = U / sqrt(D).  Freedom by
freedom g and 1 / sqrt(D) are all that is kept; with them

    inward, last freedom first:  y = (tau - S.p) / sqrt(D),  p <- p + g y
    outward, first freedom first:  vdot = (y - g.a) / sqrt(D),  a <- a + S vdot

solve M vdot = tau - (bias forces in p), and |y|^2 = tau.M^-1 tau.  Featherstone (2008), section 7.3;
the square roots make the two passes transposed to each other, as constraint rows need them.

A joint whose last three freedoms turn about one point, without armature, is eliminated about world axes
(a *ball*): columns of P need no products there, and what remains is a mass matrix alone.
"""

from __future__ import annotations

import math

from sim.kernels.jit import inlined, kernel


@kernel
def articulate(links, freedoms, link_work, freedom_work):
    """Fill g and root of freedom_work from the links' inertias I.  Returns -1, or a freedom without inertia."""
    for b in range(links.parent.size - 1, 0, -1):
        if link_work.asleep[b] == 1:
            continue
        if links.leaf[b]:
            rigid(link_work.I, b, link_work.P)
        i = release(b, links, freedoms, link_work, freedom_work)
        if i >= 0:
            return i
    return -1


@inlined
def release(b, links, freedoms, link_work, freedom_work):
    """Let the freedoms of link b give way and hand what is left of its inertia P up.  Returns as `articulate`."""
    P_out, k, t, above = link_work.P, links.v[b], links.ball[b], links.parent[b]
    end = k + links.nv[b]
    if t >= 0:
        i = free_ball(P_out, b, t, freedom_work.g, freedom_work.root)
        if i >= 0:
            return i
        end = t
    for i in range(end - 1, k - 1, -1):
        if not free_one(
            P_out, b, i, freedoms.linear[i], freedoms.pitch[i], freedoms.armature[i] + freedom_work.firm[i],
            freedom_work.axis, freedom_work.g, freedom_work.root,
        ):  # fmt: skip
            return i
    if above > 0:
        if links.leads[b]:
            rigid(link_work.I, above, P_out)
        if t >= 0:
            hand_up_mass(P_out, b, above, link_work.d)
        else:
            hand_up(P_out, b, above, link_work.d)
    return -1


@inlined
def rigid(own, b, P_out):
    """Begin P of link b with its own inertia, given as (m, m c, J).

    In 21 numbers: J (xx yy zz xy xz yz), coupling (3 x 3), mass matrix.
    """
    m, hx, hy, hz = own[b, 0], own[b, 1], own[b, 2], own[b, 3]
    for i in range(6):
        P_out[b, i] = own[b, 4 + i]
    P_out[b, 6], P_out[b, 7], P_out[b, 8] = 0.0, -hz, hy
    P_out[b, 9], P_out[b, 10], P_out[b, 11] = hz, 0.0, -hx
    P_out[b, 12], P_out[b, 13], P_out[b, 14] = -hy, hx, 0.0
    P_out[b, 15], P_out[b, 16], P_out[b, 17] = m, m, m
    P_out[b, 18], P_out[b, 19], P_out[b, 20] = 0.0, 0.0, 0.0


@inlined
def free_ball(P_out, b, t, g_out, root_out):
    """Let link b turn freely about its origin, world axes x, y, z one after the other; leaves a mass matrix.

    Returns -1, or the freedom that has no inertia.
    """
    xx, yy, zz, xy, xz, yz = P_out[b, 0], P_out[b, 1], P_out[b, 2], P_out[b, 3], P_out[b, 4], P_out[b, 5]
    if not xx > 0.0:
        return t
    r0 = math.sqrt(1.0 / xx)
    y0, z0 = r0 * xy, r0 * xz
    a0, a1, a2 = r0 * P_out[b, 6], r0 * P_out[b, 7], r0 * P_out[b, 8]
    yy, yz, zz = yy - y0 * y0, yz - y0 * z0, zz - z0 * z0
    if not yy > 0.0:
        return t + 1
    r1 = math.sqrt(1.0 / yy)
    z1 = r1 * yz
    b0, b1, b2 = r1 * (P_out[b, 9] - y0 * a0), r1 * (P_out[b, 10] - y0 * a1), r1 * (P_out[b, 11] - y0 * a2)
    zz = zz - z1 * z1
    if not zz > 0.0:
        return t + 2
    r2 = math.sqrt(1.0 / zz)
    c0 = r2 * (P_out[b, 12] - z0 * a0 - z1 * b0)
    c1 = r2 * (P_out[b, 13] - z0 * a1 - z1 * b1)
    c2 = r2 * (P_out[b, 14] - z0 * a2 - z1 * b2)
    root_out[t], root_out[t + 1], root_out[t + 2] = r0, r1, r2
    g_out[t, 0], g_out[t, 1], g_out[t, 2] = r0 * xx, y0, z0
    g_out[t, 3], g_out[t, 4], g_out[t, 5] = a0, a1, a2
    g_out[t + 1, 0], g_out[t + 1, 1], g_out[t + 1, 2] = 0.0, r1 * yy, z1
    g_out[t + 1, 3], g_out[t + 1, 4], g_out[t + 1, 5] = b0, b1, b2
    g_out[t + 2, 0], g_out[t + 2, 1], g_out[t + 2, 2] = 0.0, 0.0, r2 * zz
    g_out[t + 2, 3], g_out[t + 2, 4], g_out[t + 2, 5] = c0, c1, c2
    for i in range(15):
        P_out[b, i] = 0.0
    P_out[b, 15] -= a0 * a0 + b0 * b0 + c0 * c0
    P_out[b, 16] -= a1 * a1 + b1 * b1 + c1 * c1
    P_out[b, 17] -= a2 * a2 + b2 * b2 + c2 * c2
    P_out[b, 18] -= a0 * a1 + b0 * b1 + c0 * c1
    P_out[b, 19] -= a0 * a2 + b0 * b2 + c0 * c2
    P_out[b, 20] -= a1 * a2 + b1 * b2 + c1 * c2
    return -1


@inlined
def free_one(P_out, b, k, linear, pitch, armature, axis, g_out, root_out):
    """Let freedom k of link b give way.  Returns whether it has inertia.

    U = P S and D = S.U + armature of S = (0; e) or, of a turn, (e; pitch e).
    """
    e0, e1, e2 = axis[k, 0], axis[k, 1], axis[k, 2]
    if linear:
        n0 = P_out[b, 6] * e0 + P_out[b, 7] * e1 + P_out[b, 8] * e2
        n1 = P_out[b, 9] * e0 + P_out[b, 10] * e1 + P_out[b, 11] * e2
        n2 = P_out[b, 12] * e0 + P_out[b, 13] * e1 + P_out[b, 14] * e2
        f0 = P_out[b, 15] * e0 + P_out[b, 18] * e1 + P_out[b, 19] * e2
        f1 = P_out[b, 18] * e0 + P_out[b, 16] * e1 + P_out[b, 20] * e2
        f2 = P_out[b, 19] * e0 + P_out[b, 20] * e1 + P_out[b, 17] * e2
        D = e0 * f0 + e1 * f1 + e2 * f2 + armature
    else:
        n0 = P_out[b, 0] * e0 + P_out[b, 3] * e1 + P_out[b, 4] * e2
        n1 = P_out[b, 3] * e0 + P_out[b, 1] * e1 + P_out[b, 5] * e2
        n2 = P_out[b, 4] * e0 + P_out[b, 5] * e1 + P_out[b, 2] * e2
        f0 = P_out[b, 6] * e0 + P_out[b, 9] * e1 + P_out[b, 12] * e2
        f1 = P_out[b, 7] * e0 + P_out[b, 10] * e1 + P_out[b, 13] * e2
        f2 = P_out[b, 8] * e0 + P_out[b, 11] * e1 + P_out[b, 14] * e2
        D = e0 * n0 + e1 * n1 + e2 * n2 + armature
        if pitch != 0.0:
            h0, h1, h2 = pitch * e0, pitch * e1, pitch * e2
            n0 += P_out[b, 6] * h0 + P_out[b, 7] * h1 + P_out[b, 8] * h2
            n1 += P_out[b, 9] * h0 + P_out[b, 10] * h1 + P_out[b, 11] * h2
            n2 += P_out[b, 12] * h0 + P_out[b, 13] * h1 + P_out[b, 14] * h2
            f0 += P_out[b, 15] * h0 + P_out[b, 18] * h1 + P_out[b, 19] * h2
            f1 += P_out[b, 18] * h0 + P_out[b, 16] * h1 + P_out[b, 20] * h2
            f2 += P_out[b, 19] * h0 + P_out[b, 20] * h1 + P_out[b, 17] * h2
            D = e0 * n0 + e1 * n1 + e2 * n2 + h0 * f0 + h1 * f1 + h2 * f2 + armature
    if not D > 0.0:
        return False
    r = math.sqrt(1.0 / D)
    n0, n1, n2, f0, f1, f2 = r * n0, r * n1, r * n2, r * f0, r * f1, r * f2
    root_out[k] = r
    g_out[k, 0], g_out[k, 1], g_out[k, 2], g_out[k, 3], g_out[k, 4], g_out[k, 5] = n0, n1, n2, f0, f1, f2
    add_square(P_out, b, -1.0, n0, n1, n2, f0, f1, f2)
    return True


@inlined
def add_square(P_out, b, sign, n0, n1, n2, f0, f1, f2):
    """P <- P + sign g g^T of link b, g = (n, f)."""
    P_out[b, 0] += sign * n0 * n0
    P_out[b, 1] += sign * n1 * n1
    P_out[b, 2] += sign * n2 * n2
    P_out[b, 3] += sign * n0 * n1
    P_out[b, 4] += sign * n0 * n2
    P_out[b, 5] += sign * n1 * n2
    P_out[b, 6] += sign * n0 * f0
    P_out[b, 7] += sign * n0 * f1
    P_out[b, 8] += sign * n0 * f2
    P_out[b, 9] += sign * n1 * f0
    P_out[b, 10] += sign * n1 * f1
    P_out[b, 11] += sign * n1 * f2
    P_out[b, 12] += sign * n2 * f0
    P_out[b, 13] += sign * n2 * f1
    P_out[b, 14] += sign * n2 * f2
    P_out[b, 15] += sign * f0 * f0
    P_out[b, 16] += sign * f1 * f1
    P_out[b, 17] += sign * f2 * f2
    P_out[b, 18] += sign * f0 * f1
    P_out[b, 19] += sign * f0 * f2
    P_out[b, 20] += sign * f1 * f2


@inlined
def hand_up(P_out, b, p, d):
    """Add the inertia of link b to that of its parent p, about the parent's origin."""
    dx, dy, dz = d[b, 0], d[b, 1], d[b, 2]
    c00, c01, c02, c10, c11, c12, c20, c21, c22 = crossed(P_out, b, dx, dy, dz)
    h00, h01, h02 = P_out[b, 6], P_out[b, 7], P_out[b, 8]
    h10, h11, h12 = P_out[b, 9], P_out[b, 10], P_out[b, 11]
    h20, h21, h22 = P_out[b, 12], P_out[b, 13], P_out[b, 14]
    for i in range(6):
        P_out[p, i] += P_out[b, i]
    add_turned(P_out, p, (dx, dy, dz), (
        h00 + 0.5 * c00, h01 + 0.5 * c01, h02 + 0.5 * c02,
        h10 + 0.5 * c10, h11 + 0.5 * c11, h12 + 0.5 * c12,
        h20 + 0.5 * c20, h21 + 0.5 * c21, h22 + 0.5 * c22,
    ))  # fmt: skip
    P_out[p, 6] += h00 + c00
    P_out[p, 7] += h01 + c01
    P_out[p, 8] += h02 + c02
    P_out[p, 9] += h10 + c10
    P_out[p, 10] += h11 + c11
    P_out[p, 11] += h12 + c12
    P_out[p, 12] += h20 + c20
    P_out[p, 13] += h21 + c21
    P_out[p, 14] += h22 + c22
    for i in range(15, 21):
        P_out[p, i] += P_out[b, i]


@inlined
def hand_up_mass(P_out, b, p, d):
    """Add the inertia of link b, of which a ball left a mass matrix, to that of its parent p."""
    dx, dy, dz = d[b, 0], d[b, 1], d[b, 2]
    c00, c01, c02, c10, c11, c12, c20, c21, c22 = crossed(P_out, b, dx, dy, dz)
    add_turned(P_out, p, (dx, dy, dz), (
        0.5 * c00, 0.5 * c01, 0.5 * c02, 0.5 * c10, 0.5 * c11, 0.5 * c12, 0.5 * c20, 0.5 * c21, 0.5 * c22,
    ))  # fmt: skip
    P_out[p, 6] += c00
    P_out[p, 7] += c01
    P_out[p, 8] += c02
    P_out[p, 9] += c10
    P_out[p, 10] += c11
    P_out[p, 11] += c12
    P_out[p, 12] += c20
    P_out[p, 13] += c21
    P_out[p, 14] += c22
    for i in range(15, 21):
        P_out[p, i] += P_out[b, i]


@inlined
def crossed(P, b, dx, dy, dz):
    """Return d x (mass matrix of link b), column by column, as nine numbers by rows."""
    xx, yy, zz, xy, xz, yz = P[b, 15], P[b, 16], P[b, 17], P[b, 18], P[b, 19], P[b, 20]
    return (
        dy * xz - dz * xy, dy * yz - dz * yy, dy * zz - dz * yz,
        dz * xx - dx * xz, dz * xy - dx * yz, dz * xz - dx * zz,
        dx * xy - dy * xx, dx * yy - dy * xy, dx * yz - dy * xz,
    )  # fmt: skip


@inlined
def add_turned(P_out, p, d, a):
    """Add Z + Z^T to the rotational inertia of link p, column j of Z being d x (row j of a)."""
    (dx, dy, dz), (a00, a01, a02, a10, a11, a12, a20, a21, a22) = d, a
    P_out[p, 0] += 2.0 * (dy * a02 - dz * a01)
    P_out[p, 1] += 2.0 * (dz * a10 - dx * a12)
    P_out[p, 2] += 2.0 * (dx * a21 - dy * a20)
    P_out[p, 3] += dy * a12 - dz * a11 + dz * a00 - dx * a02
    P_out[p, 4] += dy * a22 - dz * a21 + dx * a01 - dy * a00
    P_out[p, 5] += dz * a20 - dx * a22 + dx * a11 - dy * a10


@kernel
def inward(links, freedoms, link_work, freedom_work):
    """From torques in y and the links' wrenches F (what they need for zero vdot) to the scaled y; uses F up."""
    for b in range(links.parent.size - 1, 0, -1):
        if link_work.asleep[b] == 0:
            inward_at(b, links, freedoms, link_work, freedom_work)


@inlined
def inward_at(b, links, freedoms, link_work, freedom_work):
    """Make the step of `inward` at link b."""
    parent, vadr, nv, ball = links.parent, links.v, links.nv, links.ball
    linear, pitch = freedoms.linear, freedoms.pitch
    d, F_out, axis, g, root, y_out = (
        link_work.d, link_work.F, freedom_work.axis, freedom_work.g, freedom_work.root, freedom_work.y,
    )  # fmt: skip
    p, k, end, t = parent[b], vadr[b], vadr[b] + nv[b], ball[b]
    n0, n1, n2, f0, f1, f2 = F_out[b, 0], F_out[b, 1], F_out[b, 2], F_out[b, 3], F_out[b, 4], F_out[b, 5]
    if t >= 0:
        s0, s1, s2 = y_out[t], y_out[t + 1], y_out[t + 2]
        x0 = root[t] * (axis[t, 0] * s0 + axis[t + 1, 0] * s1 + axis[t + 2, 0] * s2 - n0)
        n1 += g[t, 1] * x0
        x1 = root[t + 1] * (axis[t, 1] * s0 + axis[t + 1, 1] * s1 + axis[t + 2, 1] * s2 - n1)
        n2 += g[t, 2] * x0 + g[t + 1, 2] * x1
        x2 = root[t + 2] * (axis[t, 2] * s0 + axis[t + 1, 2] * s1 + axis[t + 2, 2] * s2 - n2)
        n0 += g[t, 0] * x0
        n1 += g[t + 1, 1] * x1
        n2 += g[t + 2, 2] * x2
        f0 += g[t, 3] * x0 + g[t + 1, 3] * x1 + g[t + 2, 3] * x2
        f1 += g[t, 4] * x0 + g[t + 1, 4] * x1 + g[t + 2, 4] * x2
        f2 += g[t, 5] * x0 + g[t + 1, 5] * x1 + g[t + 2, 5] * x2
        y_out[t], y_out[t + 1], y_out[t + 2] = x0, x1, x2
        end = t
    for i in range(end - 1, k - 1, -1):
        if linear[i]:
            x = root[i] * (y_out[i] - (axis[i, 0] * f0 + axis[i, 1] * f1 + axis[i, 2] * f2))
        else:
            x = root[i] * (y_out[i] - (axis[i, 0] * n0 + axis[i, 1] * n1 + axis[i, 2] * n2))
            if pitch[i] != 0.0:
                x -= root[i] * pitch[i] * (axis[i, 0] * f0 + axis[i, 1] * f1 + axis[i, 2] * f2)
        n0, n1, n2 = n0 + g[i, 0] * x, n1 + g[i, 1] * x, n2 + g[i, 2] * x
        f0, f1, f2 = f0 + g[i, 3] * x, f1 + g[i, 4] * x, f2 + g[i, 5] * x
        y_out[i] = x
    if p > 0:
        F_out[p, 0] += n0 + d[b, 1] * f2 - d[b, 2] * f1
        F_out[p, 1] += n1 + d[b, 2] * f0 - d[b, 0] * f2
        F_out[p, 2] += n2 + d[b, 0] * f1 - d[b, 1] * f0
        F_out[p, 3] += f0
        F_out[p, 4] += f1
        F_out[p, 5] += f2


@inlined
def climb(links, freedoms, link_work, freedom_work, b, top, K, at, step, J_out):
    """Carry a wrench K (moment about b's origin, force) from link b to its ancestor `top`, freedoms giving way.

    What each freedom gives goes into J_out from `at`, the last freedom first, `step` apart: y of `inward`
    for that wrench.  Returns what is left of K about the origin of `top`, and the next place.
    """
    parent, vadr, nv, ball = links.parent, links.v, links.nv, links.ball
    linear, pitch = freedoms.linear, freedoms.pitch
    d, axis, g, root = link_work.d, freedom_work.axis, freedom_work.g, freedom_work.root
    n0, n1, n2, f0, f1, f2 = K
    while b != top:
        k, end, t = vadr[b], vadr[b] + nv[b], ball[b]
        if t >= 0:
            x0 = root[t] * n0
            x1 = root[t + 1] * (n1 - g[t, 1] * x0)
            x2 = root[t + 2] * (n2 - g[t, 2] * x0 - g[t + 1, 2] * x1)
            f0 -= g[t, 3] * x0 + g[t + 1, 3] * x1 + g[t + 2, 3] * x2
            f1 -= g[t, 4] * x0 + g[t + 1, 4] * x1 + g[t + 2, 4] * x2
            f2 -= g[t, 5] * x0 + g[t + 1, 5] * x1 + g[t + 2, 5] * x2
            n0 = n1 = n2 = 0.0 * f0
            J_out[at], J_out[at + step], J_out[at + 2 * step] = x2, x1, x0
            at += 3 * step
            end = t
        for i in range(end - 1, k - 1, -1):
            if linear[i]:
                x = root[i] * (axis[i, 0] * f0 + axis[i, 1] * f1 + axis[i, 2] * f2)
            else:
                x = root[i] * (axis[i, 0] * n0 + axis[i, 1] * n1 + axis[i, 2] * n2)
                if pitch[i] != 0.0:
                    x += root[i] * pitch[i] * (axis[i, 0] * f0 + axis[i, 1] * f1 + axis[i, 2] * f2)
            n0, n1, n2 = n0 - g[i, 0] * x, n1 - g[i, 1] * x, n2 - g[i, 2] * x
            f0, f1, f2 = f0 - g[i, 3] * x, f1 - g[i, 4] * x, f2 - g[i, 5] * x
            J_out[at] = x
            at += step
        n0 += d[b, 1] * f2 - d[b, 2] * f1
        n1 += d[b, 2] * f0 - d[b, 0] * f2
        n2 += d[b, 0] * f1 - d[b, 1] * f0
        b = parent[b]
    return (n0, n1, n2, f0, f1, f2), at


@kernel
def outward(links, freedoms, link_work, freedom_work):
    """From the scaled y to vdot, and to what it adds to the links' accelerations (B of link_work)."""
    for b in range(1, links.parent.size):
        if link_work.asleep[b] == 0:
            outward_at(b, links, freedoms, link_work, freedom_work)


@inlined
def outward_at(b, links, freedoms, link_work, freedom_work):
    """Make the step of `outward` at link b."""
    parent, vadr, nv, ball = links.parent, links.v, links.nv, links.ball
    linear, pitch = freedoms.linear, freedoms.pitch
    d, B_out, axis, g, root, y, vdot_out = (
        link_work.d, link_work.B, freedom_work.axis, freedom_work.g, freedom_work.root, freedom_work.y,
        freedom_work.vdot,
    )  # fmt: skip
    p, k, end, t = parent[b], vadr[b], vadr[b] + nv[b], ball[b]
    a0, a1, a2 = B_out[p, 0], B_out[p, 1], B_out[p, 2]
    e0 = B_out[p, 3] + a1 * d[b, 2] - a2 * d[b, 1]
    e1 = B_out[p, 4] + a2 * d[b, 0] - a0 * d[b, 2]
    e2 = B_out[p, 5] + a0 * d[b, 1] - a1 * d[b, 0]
    if t >= 0:
        end = t
    for i in range(k, end):
        x = root[i] * (y[i] - g[i, 0] * a0 - g[i, 1] * a1 - g[i, 2] * a2 - g[i, 3] * e0 - g[i, 4] * e1 - g[i, 5] * e2)
        if linear[i]:
            e0, e1, e2 = e0 + axis[i, 0] * x, e1 + axis[i, 1] * x, e2 + axis[i, 2] * x
        else:
            a0, a1, a2 = a0 + axis[i, 0] * x, a1 + axis[i, 1] * x, a2 + axis[i, 2] * x
            if pitch[i] != 0.0:
                h = pitch[i] * x
                e0, e1, e2 = e0 + axis[i, 0] * h, e1 + axis[i, 1] * h, e2 + axis[i, 2] * h
        vdot_out[i] = x
    if t >= 0:
        s0, s1, s2 = a0, a1, a2
        a2 = root[t + 2] * (y[t + 2] - g[t + 2, 3] * e0 - g[t + 2, 4] * e1 - g[t + 2, 5] * e2)
        a1 = root[t + 1] * (y[t + 1] - g[t + 1, 2] * a2 - g[t + 1, 3] * e0 - g[t + 1, 4] * e1 - g[t + 1, 5] * e2)
        a0 = root[t] * (y[t] - g[t, 1] * a1 - g[t, 2] * a2 - g[t, 3] * e0 - g[t, 4] * e1 - g[t, 5] * e2)
        x0, x1, x2 = a0 - s0, a1 - s1, a2 - s2
        for i in range(3):
            vdot_out[t + i] = axis[t + i, 0] * x0 + axis[t + i, 1] * x1 + axis[t + i, 2] * x2
    B_out[b, 0], B_out[b, 1], B_out[b, 2], B_out[b, 3], B_out[b, 4], B_out[b, 5] = a0, a1, a2, e0, e1, e2


@inlined
def wrench_about(block_work, link_work, row, n, r, link):
    """Return the wrench of row r of block n about a link's origin: moment, force."""
    p, x = block_work.p_WM, link_work.x
    p0, p1, p2 = p[n, 0] - x[link, 0], p[n, 1] - x[link, 1], p[n, 2] - x[link, 2]
    f0, f1, f2 = row[r, 3], row[r, 4], row[r, 5]
    return (
        row[r, 0] + p1 * f2 - p2 * f1, row[r, 1] + p2 * f0 - p0 * f2, row[r, 2] + p0 * f1 - p1 * f0, f0, f1, f2,
    )  # fmt: skip
