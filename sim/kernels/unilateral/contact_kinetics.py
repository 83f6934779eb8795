"""What impulses at points of contact do to a mechanism: its mass matrix, its rows, and G with all other rows holding.

With L L^T = M + (soft rows), Y = L^-1 W^T and H = L^-1 (held rows)^T, what the held rows leave of Y is Y - U U^T Y, U a
basis of what H is made of; they answer with the impulses of least norm, -H^+ Y, and G = Y^T Y.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from sim.kernels.jit import kernel, python_kernel
from sim.kernels.orthogonal import factorise_orthogonal, put_range_vector, solve_least


class Rows(NamedTuple):
    """Rows of points and rows that hold, over all freedoms; what is found of them."""

    W: Any  # (p, nv)
    held: Any  # (h, nv)
    Y_work: Any  # (p, nv)
    change_work: Any  # (p, nv) of v, by an impulse of one along each row
    answer_work: Any  # (p, h) impulses of the rows that hold
    H_work: Any  # (h, nv)
    basis_work: Any  # (min(h, nv), nv)
    G_work: Any  # (p, p)


@python_kernel
def put_row_jacobian(blocks, freedoms, support, link_work, freedom_work, block_work, row_work, J_out):
    """Fill J (rows, nv) of all rows, as `Mechanism.jacobian`; J_out comes as zeros."""
    axis, x, place, owner, pitch = freedom_work.axis, link_work.x, block_work.p_WM, freedoms.owner, freedoms.pitch
    for n in range(blocks.rows.size):
        wrench = row_work.mate if blocks.second[n] else row_work.row
        first, below = blocks.support[n], blocks.nb[n]
        for s in range(below + blocks.na[n]):
            k, sign = support[first + s], 1.0 if s < below else -1.0
            o = owner[k]
            e0, e1, e2 = sign * axis[k, 0], sign * axis[k, 1], sign * axis[k, 2]
            a0, a1, a2 = place[n, 0] - x[o, 0], place[n, 1] - x[o, 1], place[n, 2] - x[o, 2]
            c0, c1, c2 = e1 * a2 - e2 * a1, e2 * a0 - e0 * a2, e0 * a1 - e1 * a0
            for r in range(blocks.row[n], blocks.row[n] + blocks.rows[n]):
                along = e0 * wrench[r, 3] + e1 * wrench[r, 4] + e2 * wrench[r, 5]
                if freedoms.linear[k]:
                    J_out[r, k] += along
                else:
                    moment = e0 * wrench[r, 0] + e1 * wrench[r, 1] + e2 * wrench[r, 2]
                    arm = c0 * wrench[r, 3] + c1 * wrench[r, 4] + c2 * wrench[r, 5]
                    J_out[r, k] += moment + arm + pitch[k] * along


@python_kernel
def put_mass_matrix(links, freedoms, link_work, freedom_work, inertia_work, M_out):
    """Fill the lower triangle of M (nv, nv) with armatures, by composite bodies; M_out comes as zeros.

    inertia_work: (links, 10) of a link with all that hangs on it, as those of links are.
    """
    axis, d, parent = freedom_work.axis, link_work.d, links.parent
    for b in range(parent.size):
        for i in range(10):
            inertia_work[b, i] = link_work.I[b, i]
    for b in range(parent.size - 1, 0, -1):
        for k in range(links.v[b], links.v[b] + links.nv[b]):
            M_out[k, k] += freedoms.armature[k]
            carry_up(k, b, links, freedoms, axis, d, inertia_work, M_out)
        if parent[b] > 0:
            join_inertia(inertia_work, b, parent[b], d)


@kernel
def carry_up(k, b, links, freedoms, axis, d, I, M_out):  # noqa: E741
    """Add what freedom k of link b gives to M with itself and those before it, its momentum carried to the root."""
    m, hx, hy, hz = I[b, 0], I[b, 1], I[b, 2], I[b, 3]
    e0, e1, e2 = axis[k, 0], axis[k, 1], axis[k, 2]
    w0, w1, w2, u0, u1, u2 = e0, e1, e2, freedoms.pitch[k] * e0, freedoms.pitch[k] * e1, freedoms.pitch[k] * e2
    if freedoms.linear[k]:
        w0, w1, w2, u0, u1, u2 = 0.0, 0.0, 0.0, e0, e1, e2
    xx, yy, zz, xy, xz, yz = I[b, 4], I[b, 5], I[b, 6], I[b, 7], I[b, 8], I[b, 9]
    n0 = xx * w0 + xy * w1 + xz * w2 + hy * u2 - hz * u1
    n1 = xy * w0 + yy * w1 + yz * w2 + hz * u0 - hx * u2
    n2 = xz * w0 + yz * w1 + zz * w2 + hx * u1 - hy * u0
    f0, f1, f2 = m * u0 + w1 * hz - w2 * hy, m * u1 + w2 * hx - w0 * hz, m * u2 + w0 * hy - w1 * hx
    last = k
    while b > 0:
        for j in range(links.v[b], last + 1):
            along = axis[j, 0] * f0 + axis[j, 1] * f1 + axis[j, 2] * f2
            if freedoms.linear[j]:
                M_out[k, j] += along
            else:
                turning = axis[j, 0] * n0 + axis[j, 1] * n1 + axis[j, 2] * n2
                M_out[k, j] += turning + freedoms.pitch[j] * along
        n0 += d[b, 1] * f2 - d[b, 2] * f1
        n1 += d[b, 2] * f0 - d[b, 0] * f2
        n2 += d[b, 0] * f1 - d[b, 1] * f0
        b = links.parent[b]
        last = links.v[b] + links.nv[b] - 1


@kernel
def join_inertia(I_out, b, p, d):
    """Add the inertia of link b to that of its parent p, about the parent's origin."""
    x, y, z, m = d[b, 0], d[b, 1], d[b, 2], I_out[b, 0]
    hx, hy, hz = I_out[b, 1], I_out[b, 2], I_out[b, 3]
    both = 2.0 * (hx * x + hy * y + hz * z) + m * (x * x + y * y + z * z)
    I_out[p, 0] += m
    I_out[p, 1] += hx + m * x
    I_out[p, 2] += hy + m * y
    I_out[p, 3] += hz + m * z
    I_out[p, 4] += I_out[b, 4] + both - (2.0 * hx + m * x) * x
    I_out[p, 5] += I_out[b, 5] + both - (2.0 * hy + m * y) * y
    I_out[p, 6] += I_out[b, 6] + both - (2.0 * hz + m * z) * z
    I_out[p, 7] += I_out[b, 7] - hx * y - hy * x - m * x * y
    I_out[p, 8] += I_out[b, 8] - hx * z - hz * x - m * x * z
    I_out[p, 9] += I_out[b, 9] - hy * z - hz * y - m * y * z


@python_kernel
def put_delassus(M_work, soft, cut, factors, rows):
    """Fill G, the changes of v and the answers of rows that hold; M_work: its lower triangle becomes L of M + soft.

    soft: (s, nv) rows that resist with an inertia of one; cut: singular values of rows that hold below this share of
    the largest count as none.  Returns -1, or a freedom that nothing resists.
    """
    W, held, Y_work, change_work, H_work = rows.W, rows.held, rows.Y_work, rows.change_work, rows.H_work
    answer_work, basis_work, G_work = rows.answer_work, rows.basis_work, rows.G_work
    n, points, holds = M_work.shape[0], W.shape[0], held.shape[0]
    for i in range(n):
        for j in range(i + 1):
            for s in range(soft.shape[0]):
                M_work[i, j] += soft[s, i] * soft[s, j]
    bad = cholesky_of(M_work)
    if bad >= 0:
        return bad
    for r in range(points):
        solve_lower(M_work, W, r, Y_work)
    if holds > 0:
        for r in range(holds):
            solve_lower(M_work, held, r, H_work)
            for i in range(n):
                factors.a_work[i, r] = H_work[r, i]
        rank = factorise_orthogonal(n, holds, cut, factors)
        for s in range(rank):
            put_range_vector(s, n, factors, basis_work)
        for r in range(points):
            for i in range(n):
                factors.x_work[i] = Y_work[r, i]
            solve_least(n, holds, rank, factors)
            for h in range(holds):
                answer_work[r, h] = -factors.x_work[h]
            take_out(basis_work, rank, r, Y_work)
    for r in range(points):
        solve_upper(M_work, Y_work, r, change_work)
        for s in range(r + 1):
            g = 0.0
            for i in range(n):
                g += Y_work[r, i] * Y_work[s, i]
            G_work[r, s] = G_work[s, r] = g
    return -1


@kernel
def take_out(basis, count, r, Y_out):
    """Take what orthonormal vectors have of it out of row r."""
    for s in range(count):
        part = 0.0
        for i in range(Y_out.shape[1]):
            part += basis[s, i] * Y_out[r, i]
        for i in range(Y_out.shape[1]):
            Y_out[r, i] -= part * basis[s, i]


@kernel
def cholesky_of(M_out):
    """Factorise the lower triangle of M; returns -1, or the row of a pivot that is not positive."""
    for j in range(M_out.shape[0]):
        for i in range(j, M_out.shape[0]):
            s = M_out[i, j]
            for k in range(j):
                s -= M_out[i, k] * M_out[j, k]
            if i == j:
                if not s > 0.0:
                    return j
                M_out[j, j] = math.sqrt(s)
            else:
                M_out[i, j] = s / M_out[j, j]
    return -1


@kernel
def solve_lower(L, rows, r, rows_out):
    """Fill row r with L^-1 of that row."""
    for i in range(L.shape[0]):
        s = rows[r, i]
        for j in range(i):
            s -= L[i, j] * rows_out[r, j]
        rows_out[r, i] = s / L[i, i]


@kernel
def solve_upper(L, rows, r, rows_out):
    """Fill row r with L^-T of that row."""
    for i in range(L.shape[0] - 1, -1, -1):
        s = rows[r, i]
        for j in range(i + 1, L.shape[0]):
            s -= L[j, i] * rows_out[r, j]
        rows_out[r, i] = s / L[i, i]
