"""Forces of redundant rows: one choice among many, the nearest to what each row is to share."""

from __future__ import annotations

import math

from sim.kernels.dynamics import forces_of_rows
from sim.kernels.elimination.articulated import wrench_about
from sim.kernels.forces import add_wrench
from sim.kernels.jit import driver, kernel
from sim.kernels.system import unpack

# Share of a row's wrench below which a freedom does not move it: roundoff.
UNMOVED = 1e-12
# Share of a vector of row forces below which a row has no part in it.
TAKES_PART = 1e-6


@driver
def null_vectors(system):
    """Row forces that do nothing: one vector for each cut row, orthonormal.  Returns their number.

    work.N: (rows, rows), vectors in its first rows.  Needs `factorise`; uses up the links' F and B.
    Rows that the tree alone holds are left out: a force along one is a vector by itself.
    """
    tables, _, work, _ = unpack(system)
    rows, row_work, F_work, count = tables.rows, work.rows, work.links.F, 0
    mark_acting(
        work.one.rank[0], tables.links, tables.freedoms, tables.blocks, rows, work.links, work.freedoms, work.blocks,
        row_work,
    )  # fmt: skip
    for r in range(row_work.force.size):
        row_work.force[r] = 0.0  # of rows that do not act nothing else finds forces, where rows are not chosen
    for c in range(rows.block.size):
        if row_work.acts[c] != 0:
            continue
        for r in range(row_work.rhs.size):
            row_work.rhs[r] = 0.0
        for b in range(F_work.shape[0]):
            for i in range(6):
                F_work[b, i] = 0.0
        pull(rows.block[c], c, -1.0, tables.blocks, work.links, work.blocks, row_work, F_work)
        forces_of_rows(system)
        row_work.force[c] = 1.0  # what the rows that act do against a unit force of this one
        if orthonormal(count, row_work.force, work.N):
            count += 1
        row_work.force[c] = 0.0
    return count


@kernel
def mark_acting(rank, links, freedoms, blocks, rows, link_work, freedom_work, block_work, row_work):
    """Fill acts: 1 for the rows that act, -1 for those that the tree alone holds, 0 for those that repeat others."""
    for r in range(row_work.acts.size):
        row_work.acts[r] = -1
    for s in range(rank):
        row_work.acts[row_work.order[s]] = 1
    for r in range(row_work.acts.size):
        n, row = rows.block[r], row_work.row
        while row_work.acts[r] < 0 and n >= 0:  # a gear has two blocks
            if moves(
                r, n, blocks.a[n], blocks.fork[n], links, freedoms, link_work, freedom_work, block_work, row
            ) or moves(r, n, blocks.b[n], blocks.fork[n], links, freedoms, link_work, freedom_work, block_work, row):
                row_work.acts[r] = 0
            n, row = blocks.mate[n], row_work.mate


@kernel
def moves(r, n, b, top, links, freedoms, link_work, freedom_work, block_work, row):
    """Tell whether a freedom from link b up to its ancestor `top` changes what row r of block n holds."""
    axis = freedom_work.axis
    while b != top:
        k = wrench_about(block_work, link_work, row, n, r, b)
        size = abs(k[0]) + abs(k[1]) + abs(k[2]) + abs(k[3]) + abs(k[4]) + abs(k[5])
        for i in range(links.v[b], links.v[b] + links.nv[b]):
            along = k[3] * axis[i, 0] + k[4] * axis[i, 1] + k[5] * axis[i, 2]
            if freedoms.linear[i]:
                rate = along
            else:
                rate = k[0] * axis[i, 0] + k[1] * axis[i, 1] + k[2] * axis[i, 2]
                if freedoms.pitch[i] != 0.0:
                    rate += freedoms.pitch[i] * along
            if abs(rate) > UNMOVED * size:
                return True
        b = links.parent[b]
    return False


@kernel
def pull(n, r, size, blocks, link_work, block_work, row_work, wrench_out):
    """Add a force of row r of block n to the wrenches on both links; of a gear, on all four."""
    row = row_work.row
    while n >= 0:
        moment, force = (row[r, 0], row[r, 1], row[r, 2]), (row[r, 3], row[r, 4], row[r, 5])
        add_wrench(block_work, link_work, n, blocks.b[n], size, moment, force, wrench_out)
        add_wrench(block_work, link_work, n, blocks.a[n], -size, moment, force, wrench_out)
        n, row = blocks.mate[n], row_work.mate


@kernel
def orthonormal(count, vector, N_out):
    """Put a vector behind `count` orthonormal ones; tells whether anything of it was left."""
    m = vector.size
    for r in range(m):
        N_out[count, r] = vector[r]
    for _ in range(2):
        for p in range(count):
            dot = 0.0
            for r in range(m):
                dot += N_out[p, r] * N_out[count, r]
            if dot != 0.0:
                for r in range(m):
                    N_out[count, r] -= dot * N_out[p, r]
    size = 0.0
    for r in range(m):
        size += N_out[count, r] ** 2
    if not size > 0.0:
        return False
    size = 1.0 / math.sqrt(size)
    for r in range(m):
        N_out[count, r] *= size
    return True


@kernel
def least_norm(N, count, row_work):
    """Take out of the row forces what does nothing: the least norm in newtons."""
    force = row_work.force
    for p in range(count):
        dot = 0.0
        for r in range(force.size):
            dot += N[p, r] * force[r]
        for r in range(force.size):
            force[r] -= dot * N[p, r]


@kernel
def share_out(N_out, count, blocks, rows, row_work):
    """Change the row forces by what does nothing, so that they are nearest to the shares [N]: least norm where none.

    What may slip, and does not where joints keep it, gives nothing there: its bound is for what it alone can hold.
    """
    force, share = row_work.force, rows.share
    for p in range(count):
        dot = 0.0
        for r in range(force.size):
            dot += N_out[p, r] * (share[r] - force[r])
        for r in range(force.size):
            force[r] += dot * N_out[p, r]
    first = 0
    for n in range(blocks.rows.size):
        r, holds = blocks.row[n], blocks.slips[n] and blocks.second[n] == 0 and blocks.rows[n] > 0
        if holds and first < count and rows.low[r] < rows.high[r]:
            first = spare(N_out, first, count, r, r + blocks.freedoms[n] - 1, force)


@kernel
def spare(N_out, first, count, r, q, force_out):
    """Take out of rows r to q, one or two, what vectors of N_out from `first` on can; returns the next that has none.

    N_out stays orthonormal: it is turned until one vector has all of the larger of the two rows.
    """
    x = y = 0.0
    for p in range(first, count):
        x, y = x + N_out[p, r] ** 2, y + N_out[p, q] ** 2
    if x + y < TAKES_PART**2:
        return first
    i = r if x > y else q
    for p in range(first + 1, count):
        size = math.sqrt(N_out[first, i] ** 2 + N_out[p, i] ** 2)
        if size > 0.0:
            c, s = N_out[first, i] / size, N_out[p, i] / size
            for k in range(force_out.size):
                a, b = N_out[first, k], N_out[p, k]
                N_out[first, k], N_out[p, k] = c * a + s * b, c * b - s * a
    x, y = N_out[first, r], N_out[first, q]
    share = (x * force_out[r] + y * force_out[q]) / (x * x + y * y)
    for k in range(force_out.size):
        force_out[k] -= share * N_out[first, k]
    return first + 1
