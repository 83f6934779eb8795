"""Solving with rows that were eliminated along the tree: one pass to the root, one back; see `fronts`."""

from __future__ import annotations

from sim.kernels.elimination.articulated import inward_at, outward_at
from sim.kernels.jit import inlined, kernel


@kernel
def inward_along(links, freedoms, link_work, freedom_work, row_work, front_work, ids, J, limit, every):
    """`inward` with the rows' right-hand sides in rhs, which it uses up.

    limit: `fronts.limit`.  every: 0 where nothing stands on links that no row begins at or below.
    """
    for b in range(links.parent.size - 1, 0, -1):
        if every or limit[b] > 0:
            answer_rows_of(b, front_work.first[b], front_work.end[b], row_work, ids, J, link_work.F)
            inward_at(b, links, freedoms, link_work, freedom_work)
            if front_work.pending[b] > 0:
                shift_rows(links.v[b], links.nv[b], b, front_work, freedom_work.y, ids, J, row_work)
        if links.parent[b] == 0:
            answer_rows_of(0, front_work.rim_first[b], front_work.rim_end[b], row_work, ids, J, link_work.F)
    answer_rows_of(0, front_work.rim_first[0], front_work.rim_end[0], row_work, ids, J, link_work.F)


@inlined
def answer_rows_of(b, first, end, row_work, ids, J, F_out):
    """Going inward, answer rows first ... end of the order, which were eliminated at link b (0: in the rim)."""
    order, ip, k, rhs_out = row_work.order, row_work.ip, row_work.k, row_work.rhs
    for s in range(first, end):
        r = order[s]
        z = ip[r] * rhs_out[r]
        rhs_out[r] = z
        for i in range(6):
            F_out[b, i] -= k[r, i] * z
        for i in range(row_work.count[r]):
            rhs_out[ids[row_work.ids[r] + i]] -= J[row_work.l[r] + i] * z


@inlined
def shift_rows(k, count, b, front_work, y, ids, J, row_work):
    """Going inward, take what freedoms k ... of link b do out of the right-hand sides of the rows that wait."""
    p, m, n, rhs_out = front_work.pending[b], front_work.X[b], front_work.ids[b], row_work.rhs
    for e in range(count):
        a = y[k + count - 1 - e]
        for s in range(p):
            rhs_out[ids[n + s]] -= J[m + e * p + s] * a


@kernel
def outward_along(links, freedoms, link_work, freedom_work, row_work, front_work, ids, J, limit, every):
    """`outward` with the forces of the rows that act; those of others are left as `eliminate_along` set them.

    limit: `fronts.limit`.  every: 0 where no motion is wanted, of links that no row begins at or below.
    """
    parent = links.parent
    for b in range(parent.size):
        if parent[b] == 0 or b == 0:
            forces_of(0, front_work.rim_first[b], front_work.rim_end[b], link_work.B, ids, J, row_work)
    for b in range(1, parent.size):
        if every or limit[b] > 0:
            if front_work.pending[b] > 0:
                push_freedoms(links.v[b], links.nv[b], b, front_work, row_work, ids, J, freedom_work.y)
            outward_at(b, links, freedoms, link_work, freedom_work)
            forces_of(b, front_work.first[b], front_work.end[b], link_work.B, ids, J, row_work)


@inlined
def forces_of(b, first, end, B, ids, J, row_work):
    """Going outward, find the forces of rows first ... end, eliminated at link b with acceleration B (0: the rim)."""
    order, k, force_out = row_work.order, row_work.k, row_work.force
    for s in range(end - 1, first - 1, -1):
        r = order[s]
        z = row_work.rhs[r]
        for i in range(6):
            z -= k[r, i] * B[b, i]
        for i in range(row_work.count[r]):
            z -= J[row_work.l[r] + i] * force_out[ids[row_work.ids[r] + i]]
        force_out[r] = row_work.ip[r] * z


@inlined
def push_freedoms(k, count, b, front_work, row_work, ids, J, y_out):
    """Going outward, add what the forces of the waiting rows do to freedoms k ... of link b."""
    p, m, n, force = front_work.pending[b], front_work.X[b], front_work.ids[b], row_work.force
    for e in range(count):
        a = y_out[k + count - 1 - e]
        for s in range(p):
            a += J[m + e * p + s] * force[ids[n + s]]
        y_out[k + count - 1 - e] = a
