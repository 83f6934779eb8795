"""Inertia matrix M = L^T D L stored by branch: each freedom's row holds itself and what is above it.

Row i of M starts at start[i]; its entry for the ancestor of depth p stands at start[i] + p, its own
at start[i] + depth[i].  No nv x nv array exists.  Featherstone (2008), sections 6.2 and 8.5.
"""

from __future__ import annotations

import math

from sim.kernels.jit import door, kernel


@door
def link_inertias(links, link_work):
    """Mass, mass times com and rotational inertia of each link about its origin, world axes, into I."""
    R, I_out = link_work.R, link_work.I
    mass, com, inertia = links.mass, links.com_K, links.inertia_K
    for b in range(1, mass.size):
        m = mass[b]
        r0, r1, r2 = R[b, 0], R[b, 1], R[b, 2]
        r3, r4, r5 = R[b, 3], R[b, 4], R[b, 5]
        r6, r7, r8 = R[b, 6], R[b, 7], R[b, 8]
        c0, c1, c2 = com[b, 0], com[b, 1], com[b, 2]
        cx = r0 * c0 + r1 * c1 + r2 * c2
        cy = r3 * c0 + r4 * c1 + r5 * c2
        cz = r6 * c0 + r7 * c1 + r8 * c2
        xx, yy, zz = inertia[b, 0], inertia[b, 1], inertia[b, 2]
        xy, xz, yz = inertia[b, 3], inertia[b, 4], inertia[b, 5]
        t00, t01, t02 = r0 * xx + r1 * xy + r2 * xz, r0 * xy + r1 * yy + r2 * yz, r0 * xz + r1 * yz + r2 * zz
        t10, t11, t12 = r3 * xx + r4 * xy + r5 * xz, r3 * xy + r4 * yy + r5 * yz, r3 * xz + r4 * yz + r5 * zz
        t20, t21, t22 = r6 * xx + r7 * xy + r8 * xz, r6 * xy + r7 * yy + r8 * yz, r6 * xz + r7 * yz + r8 * zz
        mx, my, mz = m * cx, m * cy, m * cz
        I_out[b, 0], I_out[b, 1], I_out[b, 2], I_out[b, 3] = m, mx, my, mz
        I_out[b, 4] = t00 * r0 + t01 * r1 + t02 * r2 + my * cy + mz * cz
        I_out[b, 5] = t10 * r3 + t11 * r4 + t12 * r5 + mx * cx + mz * cz
        I_out[b, 6] = t20 * r6 + t21 * r7 + t22 * r8 + mx * cx + my * cy
        I_out[b, 7] = t00 * r3 + t01 * r4 + t02 * r5 - mx * cy
        I_out[b, 8] = t00 * r6 + t01 * r7 + t02 * r8 - mx * cz
        I_out[b, 9] = t10 * r6 + t11 * r7 + t12 * r8 - my * cz


@door
def composite(links, link_work):
    """Inertia of each link with all that hangs on it, about its origin, into C."""
    parent, d, I, C_out = links.parent, link_work.d, link_work.I, link_work.C  # noqa: E741
    n = parent.size
    for b in range(1, n):
        for i in range(10):
            C_out[b, i] = I[b, i]
    for b in range(n - 1, 0, -1):
        p = parent[b]
        if p == 0:
            continue
        m, hx, hy, hz = C_out[b, 0], C_out[b, 1], C_out[b, 2], C_out[b, 3]
        dx, dy, dz = d[b, 0], d[b, 1], d[b, 2]
        gx, gy, gz = hx + 0.5 * m * dx, hy + 0.5 * m * dy, hz + 0.5 * m * dz  # h + m d / 2
        xx, yy, zz = 2.0 * gx * dx, 2.0 * gy * dy, 2.0 * gz * dz
        C_out[p, 0] += m
        C_out[p, 1] += hx + m * dx
        C_out[p, 2] += hy + m * dy
        C_out[p, 3] += hz + m * dz
        C_out[p, 4] += C_out[b, 4] + yy + zz
        C_out[p, 5] += C_out[b, 5] + xx + zz
        C_out[p, 6] += C_out[b, 6] + xx + yy
        C_out[p, 7] += C_out[b, 7] - gx * dy - dx * gy
        C_out[p, 8] += C_out[b, 8] - gx * dz - dx * gz
        C_out[p, 9] += C_out[b, 9] - gy * dz - dy * gz


@door
def inertia_matrix(links, freedoms, link_work, freedom_work, M_out):
    """Composite-rigid-body inertia matrix, by branch."""
    parent, vadr, nv = links.parent, links.v, links.nv
    linear, armature, owner = freedoms.linear, freedoms.armature, freedoms.owner
    start, depth = freedoms.start, freedoms.depth
    d, C, axis = link_work.d, link_work.C, freedom_work.axis
    for i in range(owner.size):
        b = owner[i]
        m, hx, hy, hz = C[b, 0], C[b, 1], C[b, 2], C[b, 3]
        e0, e1, e2 = axis[i, 0], axis[i, 1], axis[i, 2]
        if linear[i]:
            f0, f1, f2 = m * e0, m * e1, m * e2
            n0, n1, n2 = hy * e2 - hz * e1, hz * e0 - hx * e2, hx * e1 - hy * e0
        else:
            f0, f1, f2 = e1 * hz - e2 * hy, e2 * hx - e0 * hz, e0 * hy - e1 * hx
            n0 = C[b, 4] * e0 + C[b, 7] * e1 + C[b, 8] * e2
            n1 = C[b, 7] * e0 + C[b, 5] * e1 + C[b, 9] * e2
            n2 = C[b, 8] * e0 + C[b, 9] * e1 + C[b, 6] * e2
        at = start[i] + depth[i]
        j = i
        while True:
            first = vadr[b]
            while j >= first:
                a0, a1, a2 = axis[j, 0], axis[j, 1], axis[j, 2]
                turning = a0 * n0 + a1 * n1 + a2 * n2
                sliding = a0 * f0 + a1 * f1 + a2 * f2
                M_out[at] = sliding if linear[j] else turning
                at -= 1
                j -= 1
            if at < start[i]:
                break
            n0 += d[b, 1] * f2 - d[b, 2] * f1
            n1 += d[b, 2] * f0 - d[b, 0] * f2
            n2 += d[b, 0] * f1 - d[b, 1] * f0
            b = parent[b]
            j = vadr[b] + nv[b] - 1
        M_out[start[i] + depth[i]] += armature[i]


@kernel
def factor(links, freedoms, branch, M_out, freedom_work):
    """M = L^T D L in place, with no fill outside the branches.  Returns -1, or the freedom without inertia.

    The freedoms of a link with three have the same ancestors: their updates go together, which
    saves two thirds of the loads and stores.
    """
    start, depth = freedoms.start, freedoms.depth
    Dinv, root = freedom_work.Dinv, freedom_work.root
    vadr, nv = links.v, links.nv
    for b in range(nv.size - 1, 0, -1):
        k0, count = vadr[b], nv[b]
        if count == 0:
            continue
        above = depth[k0]
        for k in range(k0 + count - 1, k0 - 1, -1):
            r, n = start[k], depth[k]
            pivot = M_out[r + n]
            if not pivot.real > 0.0:
                return k
            inverse = 1.0 / pivot
            Dinv[k] = inverse
            root[k] = math.sqrt(inverse)
            lowest = above if count == 3 else 0
            for p in range(n - 1, lowest - 1, -1):
                a = M_out[r + p] * inverse
                s = start[branch[r + p]]
                for j in range(p + 1):
                    M_out[s + j] -= a * M_out[r + j]
                M_out[r + p] = a
        if count == 3:
            r0, r1, r2 = start[k0], start[k0 + 1], start[k0 + 2]
            i0, i1, i2 = Dinv[k0], Dinv[k0 + 1], Dinv[k0 + 2]
            for p in range(above - 1, -1, -1):
                a0, a1, a2 = M_out[r0 + p] * i0, M_out[r1 + p] * i1, M_out[r2 + p] * i2
                s = start[branch[r0 + p]]
                for j in range(p + 1):
                    M_out[s + j] -= a0 * M_out[r0 + j] + a1 * M_out[r1 + j] + a2 * M_out[r2 + j]
                M_out[r0 + p], M_out[r1 + p], M_out[r2 + p] = a0, a1, a2
    return -1


@kernel
def solve_up(links, freedoms, branch, L, freedom_work):
    """y <- D^-1/2 L^-T y."""
    start, depth, y, root = freedoms.start, freedoms.depth, freedom_work.y, freedom_work.root
    vadr, nv = links.v, links.nv
    for b in range(nv.size - 1, 0, -1):
        k0, count = vadr[b], nv[b]
        if count == 3:
            r0, r1, r2, n = start[k0], start[k0 + 1], start[k0 + 2], depth[k0]
            y2 = y[k0 + 2]
            y1 = y[k0 + 1] - L[r2 + n + 1] * y2
            y0 = y[k0] - L[r2 + n] * y2 - L[r1 + n] * y1
            for p in range(n):
                y[branch[r0 + p]] -= L[r0 + p] * y0 + L[r1 + p] * y1 + L[r2 + p] * y2
            y[k0], y[k0 + 1], y[k0 + 2] = root[k0] * y0, root[k0 + 1] * y1, root[k0 + 2] * y2
            continue
        for i in range(k0 + count - 1, k0 - 1, -1):
            r, x = start[i], y[i]
            for p in range(depth[i]):
                y[branch[r + p]] -= L[r + p] * x
            y[i] = root[i] * x


@kernel
def solve_down(links, freedoms, branch, L, freedom_work):
    """vdot = L^-1 D^-1/2 y."""
    start, depth = freedoms.start, freedoms.depth
    y, root, out = freedom_work.y, freedom_work.root, freedom_work.vdot
    vadr, nv = links.v, links.nv
    for b in range(1, nv.size):
        k0, count = vadr[b], nv[b]
        if count == 3:
            r0, r1, r2, n = start[k0], start[k0 + 1], start[k0 + 2], depth[k0]
            s0, s1, s2 = root[k0] * y[k0], root[k0 + 1] * y[k0 + 1], root[k0 + 2] * y[k0 + 2]
            for p in range(n):
                x = out[branch[r0 + p]]
                s0, s1, s2 = s0 - L[r0 + p] * x, s1 - L[r1 + p] * x, s2 - L[r2 + p] * x
            s1 -= L[r1 + n] * s0
            s2 -= L[r2 + n] * s0 + L[r2 + n + 1] * s1
            out[k0], out[k0 + 1], out[k0 + 2] = s0, s1, s2
            continue
        for i in range(k0, k0 + count):
            r = start[i]
            s = root[i] * y[i]
            for p in range(depth[i]):
                s -= L[r + p] * out[branch[r + p]]
            out[i] = s
