"""Which row of a front is eliminated next, and which has nothing left; see `sim.kernels.elimination.fronts`.

Pivots are weighed against the mobility of the joint that a row belongs to (block_work.whole, the largest of its rows
without other rows), and cut against that of the whole mechanism.  Never against the row's own: a joint that can
hardly move along a row is near a singular position, and its own norm would hide that.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from sim.kernels.jit import inlined

# A closed row waits while its pivot is below this share of its joint's mobility, or of the compliance of the link that
# it would lock.  Smaller: roundoff of weak rows is taken for rank in later ones.  Larger:
# more rows wait.
DELAY = 1e-4
# Squared wrench [1] of a row that its link does not feel.
UNFELT = 1e-24
# Squared share of a wrench that is left beside others, at which it is their sum: roundoff of arms of many lengths.
REPEATED = 1e-20

# Squared relative pivot below which a row is redundant here: singular values below 1e-6 of the largest.
# Smaller: roundoff in G (1e-16 of the largest pivot) is taken for a direction.  Larger: near-singular passes stick.
CUT = 1e-12
# Rows of basis_work after six wrenches: what is left of another beside them; whose they are.
REST, WHOSE = 6, 7
# Pivot, relative to the mobility of all masses together, below which a row is held by the tree alone: roundoff squared.
NOTHING = 1e-26


class Front(NamedTuple):
    """Rows that wait at a link, or in the rim: as many of the first ones as are said beside it."""

    row: Any  # (waiting rows,) which they are
    at: Any  # (rows,) place of each row among them, or -1
    K: Any  # (waiting rows, 6) wrenches by which the link feels them
    G: Any  # (waiting rows, waiting rows) their mutual compliances; the lower triangle


@inlined
def lost(pivot, r, rows, block_work, floor):
    """Tell whether a pivot of row r is none."""
    return not pivot > max(CUT * block_work.whole[rows.block[r]], floor)


@inlined
def ripest(b, p, P, front, rows, row_work, block_work, floor):
    """Return the closed row of the front of link b whose pivot is best and good enough, or -1."""
    row, K, G = front.row, front.K, front.G
    turning = DELAY / max(P[b, 0] + P[b, 1] + P[b, 2], 1e-300)
    moving = DELAY / max(P[b, 15] + P[b, 16] + P[b, 17], 1e-300)
    best, at = 1.0, -1
    for j in range(p):
        r = row[j]
        if row_work.closed[r]:
            pivot = G[j, j].real
            felt = turning * (K[j, 0].real ** 2 + K[j, 1].real ** 2 + K[j, 2].real ** 2) + moving * (
                K[j, 3].real ** 2 + K[j, 4].real ** 2 + K[j, 5].real ** 2
            )
            least = max(felt, DELAY * block_work.whole[rows.block[r]], floor)
            if pivot > best * least:
                best, at = pivot / least, j
    return at


@inlined
def unfelt(p, front, rows, row_work, block_work, length, floor):
    """Return a closed row that neither its link nor the links below can answer, or -1."""
    row, K, G = front.row, front.K, front.G
    for j in range(p):
        r = row[j]
        if row_work.closed[r]:
            turning = (K[j, 0].real ** 2 + K[j, 1].real ** 2 + K[j, 2].real ** 2) / length**2
            moving = K[j, 3].real ** 2 + K[j, 4].real ** 2 + K[j, 5].real ** 2
            if turning + moving < UNFELT and lost(G[j, j].real, r, rows, block_work, floor):
                return j
    return -1


@inlined
def own_wrenches(p, front, rows, row_work, block_work, length, floor, basis_work):
    """Find the closed rows without any pivot whose wrenches tell most: those of the others are their sums.

    basis_work[WHOSE]: these rows, six at most.  Returns how many, and how many rows without any pivot there are.
    Taken as they come, rows that differ by roundoff alone would stand for directions that others hold well.
    """
    row, K, G = front.row, front.K, front.G
    count, lone = 0, 0
    while count < 6:
        best, at, lone = 0.0, -1, 0
        for j in range(p):
            r = row[j]
            if row_work.closed[r] and lost(G[j, j].real, r, rows, block_work, floor):
                lone += 1
                left = beside(count, j, K, length, basis_work)
                if left > best:
                    best, at = left, j
        if at < 0:
            break
        beside(count, at, K, length, basis_work)
        for i in range(6):
            basis_work[count, i] = basis_work[REST, i] / math.sqrt(best)
        basis_work[WHOSE, count] = row[at]
        count += 1
    return count, lone


@inlined
def beside(count, j, K, length, basis_work):
    """Square of what is left of the wrench of row j beside those of a basis; 0 where it is their sum."""
    size = 0.0
    for i in range(6):
        basis_work[REST, i] = K[j, i].real / (length if i < 3 else 1.0)
        size += basis_work[REST, i] ** 2
    left = reduce(count, basis_work)
    return left if left > REPEATED * size else 0.0


@inlined
def is_own(r, count, basis_work):
    """Tell whether row r is among the first of those that `own_wrenches` found."""
    among = False
    for u in range(count):
        among = among or basis_work[WHOSE, u] == r
    return among


@inlined
def reduce(count, basis_work):
    """Take out of the last row of a basis what lies along its first ones; returns the square of what is left."""
    left = 0.0
    for _ in range(2):
        for u in range(count):
            dot = 0.0
            for i in range(6):
                dot += basis_work[u, i] * basis_work[REST, i]
            for i in range(6):
                basis_work[REST, i] -= dot * basis_work[u, i]
    for i in range(6):
        left += basis_work[REST, i] ** 2
    return left


@inlined
def strongest(p, front, rows, row_work, block_work, floor, cut):
    """Return the closed row whose pivot is the largest share of its joint's mobility, if more than cut, or -1."""
    row, G = front.row, front.G
    best, at = cut, -1
    for j in range(p):
        r = row[j]
        whole = block_work.whole[rows.block[r]]
        if row_work.closed[r] and G[j, j].real > max(best * whole, floor):
            best, at = G[j, j].real / whole, j
    return at


@inlined
def spent(p, front, rows, row_work, block_work, floor):
    """Return a closed row of the rim whose pivot is lost to the rows before it, or -1."""
    row, G = front.row, front.G
    for j in range(p):
        r = row[j]
        if row_work.closed[r] and lost(G[j, j].real, r, rows, block_work, floor):
            return j
    return -1
