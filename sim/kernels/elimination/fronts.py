"""Loops eliminated along the tree: rows wait on their way to the root until their pivot is good.

Articulated bodies with constraints (Popov and Vereshchagin; early elimination with delayed pivots).  Going
inward each link holds a *front*: its articulated inertia P and the rows that wait there, each with the wrench
K by which the link feels it and their mutual compliances G.  Of link b, with acceleration a and multipliers f,

    P a + p - K f = 0,    K^T a + G f = rhs.

A freedom that gives way turns K into K - g x and G into G + x x^T with x = S.K / sqrt(D).  A row whose two
sides have met is *closed*; with a good pivot G_rr it is eliminated: k = K_r / sqrt(G_rr), l = G_r / sqrt(G_rr),

    P <- P + k k^T,    K <- K - k l,    G <- G - l l^T.

A poor pivot waits: links nearer the root may give it mobility.  What reaches the world gathers in the *rim*,
root after root, and closed rows leave it as soon as no later root can touch them.  Few rows wait anywhere,
so the cost is linear in links and loops.  While rows are chosen, every place is found anew and kept; stages
of a step follow it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from sim.kernels.elimination.articulated import add_square, climb, release, rigid, wrench_about
from sim.kernels.elimination.pivots import (
    CUT,
    DELAY,
    NOTHING,
    Front,
    is_own,
    lost,
    own_wrenches,
    ripest,
    spent,
    strongest,
    unfelt,
)
from sim.kernels.jit import inlined, kernel
from sim.kernels.system import unpack


class Tree(NamedTuple):
    """Links and freedoms, and what is known of them now."""

    links: Any
    freedoms: Any
    link_work: Any
    freedom_work: Any


class Loops(NamedTuple):
    """Rows, their blocks, and the links where they begin."""

    blocks: Any
    rows: Any
    fronts: Any
    entries: Any
    keeps: Any  # (rows,) 1: acts where rows are not chosen anew


class Notes(NamedTuple):
    """What a pass writes down: of rows, blocks, links and in all; whose numbers stand in J; these."""

    row_work: Any
    block_work: Any
    front_work: Any
    one_work: Any
    ids_out: Any
    J_out: Any


@kernel
def eliminate_along(system, choose):
    """Factorise: freedoms and rows give way link by link.  Returns -1, or a freedom without inertia.

    choose: 1 to find the acting rows and their places anew; 0: those of the last accepted state, in their order.
    """
    tables, _, work, _ = unpack(system)
    tree, one = Tree(tables.links, tables.freedoms, work.links, work.freedoms), tables.one
    loops = Loops(tables.blocks, tables.rows, tables.fronts, tables.entries, work.keeps)
    notes = Notes(work.rows, work.blocks, work.fronts, work.one, work.ids, work.J)
    front_out = Front(work.front, work.rows.at, work.K, work.G)
    rim_out = Front(work.rim, work.rows.rim, work.rim_K, work.rim_G)
    links, rows, limit, one_work = tree.links, loops.rows, loops.fronts.limit, notes.one_work
    length, floor = one.length[0], max(CUT * one_work.scale[0], NOTHING * one.mobility[0])
    open_rows(choose, loops, notes)
    p = 0
    for b in range(links.parent.size - 1, 0, -1):
        if links.leaf[b]:
            rigid(tree.link_work.I, b, tree.link_work.P)
        p = collect_front(b, p, choose, tree, loops, notes, work.pile, front_out)
        p = eliminate_at(b, p, choose, rows, length, floor, limit[b], tree.link_work, notes, front_out, work.basis)
        bad = release(b, links, tree.freedoms, tree.link_work, tree.freedom_work)
        if bad >= 0:
            return bad
        give_way(b, p, choose, tree, rows, notes, front_out)
        if links.parent[b] == 0:
            reach_rim(p, notes, front_out, rim_out)
            eliminate_rim(b, choose, rows, floor, limit[0], notes, rim_out)
            p = 0
        elif links.parent[b] < b - 1:
            if p > 0:
                hand_on(b, p, notes, front_out, work.pile)
            p = 0
    eliminate_rim(0, choose, rows, floor, 0, notes, rim_out)
    return -1


@inlined
def open_rows(choose, loops, notes):
    """Start a pass: no row has entered a front; places are forgotten where they are chosen anew."""
    rows, block, a, b = loops.rows, loops.rows.block, loops.blocks.a, loops.blocks.b
    row_work, block_work, one_work = notes.row_work, notes.block_work, notes.one_work
    for s in range(block.size if choose else one_work.kept_rank[0]):
        r = s if choose else row_work.kept[s]
        n = block[r]
        row_work.at[r] = row_work.rim[r] = row_work.place[r] = -1
        row_work.force[r] = 0.0
        row_work.closed[r] = int(a[n] == 0 or b[n] == 0)
        row_work.whole[r] = rows.compliance[r]
        block_work.whole[n] = 0.0
    one_work.rank[0] = one_work.filled[0] = one_work.listed[0] = one_work.depth[0] = one_work.rim[0] = 0
    if choose:
        one_work.least_pivot[0] = one_work.largest_pivot[0] = 0.0


@inlined
def join(r, p, row_work, front_out):
    """Give row r a place in a front of p rows unless it has one; a row that comes twice is closed.  Returns p."""
    at_out, row_out, K_out, G_out = front_out.at, front_out.row, front_out.K, front_out.G
    if at_out[r] >= 0:
        row_work.closed[r] = 1
        return p
    at_out[r], row_out[p] = p, r
    for i in range(6):
        K_out[p, i] = 0.0
    for i in range(p + 1):
        G_out[p, i] = 0.0
    return p + 1


@inlined
def collect_front(b, p, choose, tree, loops, notes, pile, front_out):
    """Make the front of link b of what its children handed up and of rows that begin there.  Returns its size.

    p: rows that the child which is numbered next left in the front.
    """
    fronts, entries, rows, parent = loops.fronts, loops.entries, loops.rows, tree.links.parent
    row_work, front_work, one_work, ids = notes.row_work, notes.front_work, notes.one_work, notes.ids_out
    row, at, K_out, G_out = row_work.row, front_out.at, front_out.K, front_out.G
    stack, depth = front_work.stack, one_work.depth[0]
    while depth > 0 and parent[stack[depth - 1]] == b:
        depth -= 1
        c = stack[depth]
        n, first, o = front_work.pending[c], front_work.ids[c], front_work.pile[c]
        for s in range(n):
            r = ids[first + s]
            p = join(r, p, row_work, front_out)
            for i in range(6):
                K_out[at[r], i] += pile[o + 6 * s + i]
        add_compliance(n, first, o + 6 * n, ids, pile, at, G_out)
    one_work.depth[0] = depth
    for e in range(fronts.first[b], fronts.first[b] + fronts.count[b]):
        r, side = entries[e] // 2, 1.0 - 2.0 * (entries[e] % 2)
        if choose or loops.keeps[r]:
            K = wrench_about(notes.block_work, tree.link_work, row, rows.block[r], r, b)
            p = join(r, p, row_work, front_out)
            j = at[r]
            if side > 0.0:
                G_out[j, j] += rows.compliance[r]
            K_out[j, 0], K_out[j, 1], K_out[j, 2] = (
                K_out[j, 0] + side * K[0], K_out[j, 1] + side * K[1], K_out[j, 2] + side * K[2]
            )  # fmt: skip
            K_out[j, 3], K_out[j, 4], K_out[j, 5] = (
                K_out[j, 3] + side * K[3], K_out[j, 4] + side * K[4], K_out[j, 5] + side * K[5]
            )  # fmt: skip
    return p


@inlined
def add_compliance(n, first, o, ids, pile, at, G_out):
    """Add n x n mutual compliances that stand in `pile` from o to a front's, lower triangles."""
    for s in range(n):
        j = at[ids[first + s]]
        for u in range(s + 1):
            i = at[ids[first + u]]
            if i > j:
                G_out[i, j] += pile[o + n * s + u]
            else:
                G_out[j, i] += pile[o + n * s + u]


@inlined
def remove(j, p, front_out):
    """Put row j of a front of p rows last and take it off; the others keep their compliances.  Returns p - 1."""
    q, at_out, row_out, K_out, G_out = p - 1, front_out.at, front_out.row, front_out.K, front_out.G
    r, s = row_out[j], row_out[q]
    if j != q:
        row_out[j], row_out[q] = s, r
        for i in range(6):
            K_out[j, i], K_out[q, i] = K_out[q, i], K_out[j, i]
        for i in range(j):
            G_out[j, i], G_out[q, i] = G_out[q, i], G_out[j, i]
        for i in range(j + 1, q):
            G_out[i, j], G_out[q, i] = G_out[q, i], G_out[i, j]
        G_out[j, j], G_out[q, q] = G_out[q, q], G_out[j, j]
        at_out[s] = j
    at_out[r] = -1
    return q


@inlined
def eliminate(place, j, p, choose, rows, notes, front_out):
    """Eliminate row j of a front of p rows; k, l and who l belongs to are kept with the row.  Returns p - 1."""
    row_work, one_work, ids_out, J_out = notes.row_work, notes.one_work, notes.ids_out, notes.J_out
    row_out, K_out, G_out = front_out.row, front_out.K, front_out.G
    q = remove(j, p, front_out)
    r, m, n = row_out[q], one_work.filled[0], one_work.listed[0]
    pivot = G_out[q, q]
    ip = 1.0 / math.sqrt(pivot) if pivot.real > 0.0 else 0.0 * pivot  # a stage may lose a row that was kept
    row_work.place[r], row_work.ip[r], row_work.l[r], row_work.ids[r], row_work.count[r] = place, ip, m, n, q
    row_work.order[one_work.rank[0]] = r
    one_work.rank[0] += 1
    if choose and rows.compliance[r] == 0.0:
        one_work.largest_pivot[0] = max(one_work.largest_pivot[0], row_work.whole[r].real)
    k0, k1, k2 = ip * K_out[q, 0], ip * K_out[q, 1], ip * K_out[q, 2]
    k3, k4, k5 = ip * K_out[q, 3], ip * K_out[q, 4], ip * K_out[q, 5]
    row_work.k[r, 0], row_work.k[r, 1], row_work.k[r, 2] = k0, k1, k2
    row_work.k[r, 3], row_work.k[r, 4], row_work.k[r, 5] = k3, k4, k5
    for i in range(q):
        J_out[m + i], ids_out[n + i] = ip * G_out[q, i], row_out[i]
    for i in range(q):
        a = J_out[m + i]
        for u in range(i + 1):
            G_out[i, u] -= a * J_out[m + u]
        if place % 2 == 0:  # the rim feels nothing
            K_out[i, 0], K_out[i, 1], K_out[i, 2] = K_out[i, 0] - a * k0, K_out[i, 1] - a * k1, K_out[i, 2] - a * k2
            K_out[i, 3], K_out[i, 4], K_out[i, 5] = K_out[i, 3] - a * k3, K_out[i, 4] - a * k4, K_out[i, 5] - a * k5
    one_work.filled[0], one_work.listed[0] = m + q, n + q
    return q


@inlined
def stiffen(b, r, row_work, P_out):
    """P <- P + k k^T for a row r that was eliminated at link b."""
    k = row_work.k
    n0, n1, n2, f0, f1, f2 = k[r, 0], k[r, 1], k[r, 2], k[r, 3], k[r, 4], k[r, 5]
    add_square(P_out, b, 1.0, n0, n1, n2, f0, f1, f2)


@inlined
def eliminate_at(b, p, choose, rows, length, floor, limit, link_work, notes, front_out, basis_work):
    """Eliminate what is ripe in the front of link b, or what was chosen there.  Returns the rows that wait on."""
    row_work, block_work, front_work, one_work = notes.row_work, notes.block_work, notes.front_work, notes.one_work
    place = 2 * b
    front_work.first[b] = one_work.rank[0]
    while p > 0:
        if choose:
            j = unfelt(p, front_out, rows, row_work, block_work, length, floor)
            if j >= 0:
                p = remove(j, p, front_out)
                continue
            if p > 6:
                p = keep_own(p, rows, length, floor, row_work, block_work, front_out, basis_work)
            j = ripest(b, p, link_work.P, front_out, rows, row_work, block_work, floor)
            if j < 0 and p > limit:  # no room: the best there is
                j = strongest(p, front_out, rows, row_work, block_work, floor, CUT)
        else:
            j = next_kept(place, front_out, row_work, one_work)
        if j < 0:
            break
        r = front_out.row[j]
        p = eliminate(place, j, p, choose, rows, notes, front_out)
        stiffen(b, r, row_work, link_work.P)
    front_work.end[b] = one_work.rank[0]
    return p


@inlined
def keep_own(p, rows, length, floor, row_work, block_work, front_out, basis_work):
    """Take closed rows off a front whose wrenches are sums of others', all without any pivot.  Returns its size.

    There are six independent ones; more would go up to the root together.
    """
    count, lone = own_wrenches(p, front_out, rows, row_work, block_work, length, floor, basis_work)
    if lone > count:
        for j in range(p - 1, -1, -1):
            r = front_out.row[j]
            repeats = row_work.closed[r] and lost(front_out.G[j, j].real, r, rows, block_work, floor)
            if repeats and not is_own(r, count, basis_work):
                p = remove(j, p, front_out)
    return p


@inlined
def next_kept(place, front, row_work, one_work):
    """Return where the next row of the kept order stands in the front if it is eliminated at this place, or -1."""
    s = one_work.rank[0]
    if s < one_work.kept_rank[0] and row_work.kept_place[row_work.kept[s]] == place:
        return front.at[row_work.kept[s]]
    return -1


@inlined
def give_way(b, p, choose, tree, rows, notes, front_out):
    """Let the freedoms of link b give way under the p rows that wait: x into J, K and G to the parent's side."""
    links, row, K_out, G_out = tree.links, front_out.row, front_out.K, front_out.G
    row_work, block_work, front_work, one_work = notes.row_work, notes.block_work, notes.front_work, notes.one_work
    ids_out, J_out = notes.ids_out, notes.J_out
    m, n, count = one_work.filled[0], one_work.listed[0], links.nv[b]
    front_work.pending[b], front_work.X[b], front_work.ids[b] = p, m, n
    for s in range(p):
        ids_out[n + s] = row[s]
        K, _ = climb(
            links, tree.freedoms, tree.link_work, tree.freedom_work, b, links.parent[b],
            (K_out[s, 0], K_out[s, 1], K_out[s, 2], K_out[s, 3], K_out[s, 4], K_out[s, 5]), m + s, p, J_out,
        )  # fmt: skip
        K_out[s, 0], K_out[s, 1], K_out[s, 2] = K[0], K[1], K[2]
        K_out[s, 3], K_out[s, 4], K_out[s, 5] = K[3], K[4], K[5]
    for e in range(count):
        for s in range(p):
            x = J_out[m + e * p + s]
            if choose:
                row_work.whole[row[s]] += x * x
            for u in range(s + 1):
                G_out[s, u] += x * J_out[m + e * p + u]
    if choose:
        for s in range(p):
            owner = rows.block[row[s]]
            block_work.whole[owner] = max(block_work.whole[owner], row_work.whole[row[s]].real)
    one_work.filled[0], one_work.listed[0] = m + count * p, n + p


@inlined
def hand_on(b, p, notes, front_out, pile_out):
    """Put the rows that wait at link b on the pile for its parent."""
    front_work, one_work, row, at_out = notes.front_work, notes.one_work, front_out.row, front_out.at
    depth, o = one_work.depth[0], 0
    if depth > 0:
        c = front_work.stack[depth - 1]
        o = front_work.pile[c] + front_work.pending[c] * (6 + front_work.pending[c])
    front_work.pile[b], front_work.stack[depth] = o, b
    one_work.depth[0] = depth + 1
    for s in range(p):
        at_out[row[s]] = -1
        for i in range(6):
            pile_out[o + 6 * s + i] = front_out.K[s, i]
    o += 6 * p
    for s in range(p):
        for u in range(s + 1):
            pile_out[o + p * s + u] = front_out.G[s, u]


@inlined
def reach_rim(p, notes, front_out, rim_out):
    """Add the p rows that wait at a root to the rim."""
    row, G, at_out, G_out = front_out.row, front_out.G, front_out.at, rim_out.G
    n = notes.one_work.rim[0]
    for s in range(p):
        at_out[row[s]] = -1
        n = join(row[s], n, notes.row_work, rim_out)
    for s in range(p):
        j = rim_out.at[row[s]]
        for u in range(s + 1):
            i = rim_out.at[row[u]]
            if i > j:
                G_out[i, j] += G[s, u]
            else:
                G_out[j, i] += G[s, u]
    notes.one_work.rim[0] = n


@inlined
def eliminate_rim(b, choose, rows, floor, limit, notes, rim_out):
    """Eliminate closed rows of the rim after root b was added, or at the end (b = 0) all that have a pivot."""
    row_work, block_work, front_work, one_work = notes.row_work, notes.block_work, notes.front_work, notes.one_work
    place, p = 2 * b + 1, one_work.rim[0]
    front_work.rim_first[b] = one_work.rank[0]
    while p > 0:
        if choose:
            cut = DELAY if b > 0 and p <= limit else CUT
            j = strongest(p, rim_out, rows, row_work, block_work, floor, cut)
            if j < 0:
                j = spent(p, rim_out, rows, row_work, block_work, floor)
                if j >= 0:
                    p = remove(j, p, rim_out)
                    continue
        else:
            j = next_kept(place, rim_out, row_work, one_work)
        if j < 0:
            break
        p = eliminate(place, j, p, choose, rows, notes, rim_out)
    front_work.rim_end[b] = one_work.rank[0]
    one_work.rim[0] = p
