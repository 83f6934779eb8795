"""Impulses of some presses together: Newton's method on the augmented Lagrangian, in the space of freedoms.

With multipliers P and a stiffness rho of each press, what presses answer to scaled freedoms y is

    p(y) = proj(P - rho (free + U y)),    onto the half-line of pressing, and of friction onto the disc mu p_n(y),
                                          or onto the bounds of a row

and y = y0 + sum p(y) U, y0 being what all other presses do.  Newton's matrix 1 + U^T C U, C the derivative of p, has
the size of the freedoms that these presses reach, whatever their number, and no redundancy makes it singular.  Then
P <- p(y), and again, until p does not change: the law then holds exactly, whatever rho is (P. Alart and A. Curnier, A
mixed formulation for frictional contact problems prone to Newton like solution methods, 1991).  Where Newton's steps
do not end, presses are made softer.

Freedoms are numbered from the tips of a tree to its root, so that branches meet where they are one.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from sim.kernels.jit import inlined, kernel
from sim.kernels.unilateral.cones import off_law
from sim.kernels.unilateral.sparse_factors import clear_pattern, factorise_sparse, solve_sparse

# Stiffness of a press against its own mass, over the step: at first, and where the answer is near; least and most, and
# how it grows where a round leaves more than SLOW of what there was.  Larger: more steps until it is settled what
# presses and slides.  Smaller: more rounds.
FIRST, FIRM, SOFTEST, STIFFEST, GROWTH, SLOW = 15.0, 1e3, 0.1, 1e6, 5.0, 0.5
# Rounds of multipliers at most; Newton's steps in each, and halvings of one.
ROUNDS, STEPS, HALVINGS = 12, 12, 6
KEEP = 0.3  # of what was left: a step that leaves less is followed by one with the same factors
ASTRAY = 10.0  # of the best: what is left where the next try begins with the best instead
# Where a round ends: of what the law was left by before it, and of the asked accuracy.
NEARER, FINER = 0.5, 0.05


class Problem(NamedTuple):
    """What the laws of a step's presses are asked of, and scratch; shapes as in Work."""

    contact: Any
    support: Any
    U: Any
    R: Any
    G: Any
    d: Any
    P: Any
    z: Any  # rates of those visited last
    off: Any  # how far each is from its law
    push: Any
    tree: Any
    chosen: Any  # presses that are solved together
    place: Any  # number of each freedom among those that they reach, or -1
    awake: Any  # by trees: their presses are chosen; presses of theirs are, and so they move
    at: Any  # places of each press's support
    first: Any  # of each row of Newton's matrix: its first column, its last one, and where column 0 would stand
    last: Any
    start: Any
    tried: Any
    best: Any
    y: Any  # by places, as all that follow
    base: Any  # y0
    left: Any
    turn: Any
    matrix: Any
    reached: Any  # freedoms by these places
    pattern: Any  # see `sim.kernels.unilateral.sparse_factors`


@inlined
def rates(problem_work, at, y, k):
    """Fill the rates of press k: what is free, and U y, y being indexed by `at`."""
    U, z0, z1, z2 = problem_work.U, problem_work.contact.soft[k] * problem_work.P[k, 0], 0.0, 0.0
    width, free = at.shape[1], problem_work.contact.free
    n, s, t = 3 * k * width, (3 * k + 1) * width, (3 * k + 2) * width
    for i in range(problem_work.contact.count[k]):
        v = y[at[k, i]]
        z0 += U[n + i] * v
        z1 += U[s + i] * v
        z2 += U[t + i] * v
    problem_work.z[k, 0], problem_work.z[k, 1], problem_work.z[k, 2] = free[k, 0] + z0, free[k, 1] + z1, free[k, 2] + z2


@inlined
def off_by(problem_work, at, y, k):
    """Fill the rates of press k and return how far it is from its law [m/s]."""
    rates(problem_work, at, y, k)
    contact, G, P, z = problem_work.contact, problem_work.G, problem_work.P, problem_work.z
    if contact.rows[k] == 3:
        return off_law(G, k, contact.friction[k], bound_beside(contact, P, k), 0, problem_work.d, P, z, k)
    own = G[k, 0, 0]
    return abs(P[k, 0] - bounded(contact, k, P[k, 0] - z[k, 0] / own)) * own if own > 0.0 else 0.0


@inlined
def bounded(contact, k, impulse):
    """Return a normal impulse of press k within its bounds."""
    return min(max(impulse, contact.low[k]), contact.high[k])


@inlined
def bound_beside(contact, P, k):
    """Return what friction of press k may be beside its own normal impulse: of turning, by that of its point."""
    of = contact.of[k] - 1
    if of < 0:
        return 0.0
    pressing = max(P[of, 0], 0.0)
    return pressing * contact.friction[of] if contact.spins[k] == 1 else pressing


@kernel
def solve_together(problem_work, count, size, near, again, enough):
    """Find the impulses of the `count` presses chosen, which reach `size` freedoms, from P and push = sum P U.

    Needs the pattern of these.

    near: 1 where P is nearly right; again: 1 where this was tried, and presses are to become stiff in any case.  Goes
    back to the best where it is near, or went far astray: from about as good a place the next try goes another way.

    Returns Newton's steps made, and the largest distance from the law of these presses [m/s].
    """
    rho, growth, made = FIRM if near or again else FIRST, GROWTH, 0
    quickest = 0.0
    for n in range(count):
        k = problem_work.chosen[n]
        quickest = max(quickest, problem_work.G[k, 0, 0] + problem_work.G[k, 1, 1] + problem_work.G[k, 2, 2])
    unit = math.sqrt(max(quickest, 1e-300))
    shape_matrix(size, problem_work.first, problem_work.last, problem_work.start)
    begin_at_push(problem_work, count, size)
    worst = look_at_chosen(problem_work, count)
    copy_chosen(problem_work, count, problem_work.P, problem_work.best)
    best, held, kept = worst, True, False
    for _ in range(ROUNDS):
        before = worst
        steps, good, kept = newton(problem_work, count, size, rho, max(NEARER * worst, FINER * enough) / unit, kept)
        made += steps
        if good:
            copy_chosen(problem_work, count, problem_work.tried, problem_work.P)
            for i in range(size):
                problem_work.y[i] -= problem_work.left[i]
        else:
            add_up(problem_work, count, size)
        worst = look_at_chosen(problem_work, count)
        if not good:  # softer, and slower to become stiff
            rho, growth = max(rho / GROWTH, SOFTEST), math.sqrt(growth)
        elif again or worst > SLOW * before:
            rho, kept = min(rho * growth, STIFFEST), False
        held = worst < best
        if held:
            best = worst
            copy_chosen(problem_work, count, problem_work.P, problem_work.best)
        if best <= enough:
            break
    if not held and (near or worst > 10.0 * best):
        copy_chosen(problem_work, count, problem_work.best, problem_work.P)
    add_up(problem_work, count, size)
    for i in range(size):
        problem_work.push[problem_work.reached[i]] = problem_work.y[i]
    return made, best


@kernel
def shape_matrix(size, first, last_out, start_out):
    """Find the last columns of rows that begin at `first`, both sides of the diagonal alike, and where rows stand."""
    for i in range(size):
        last_out[i] = i
    for i in range(size):
        last_out[first[i]] = i
    for i in range(size):
        if i > 0:
            last_out[i] = max(last_out[i], last_out[i - 1])
        start_out[i] = i * size


@kernel
def copy_chosen(problem_work, count, P, P_out):
    """Copy impulses of the presses chosen."""
    for n in range(count):
        k = problem_work.chosen[n]
        for r in range(3):
            P_out[k, r] = P[k, r]


@kernel
def look_at_chosen(problem_work, count):
    """Fill the rates of the presses chosen; returns the largest distance from the law [m/s]."""
    worst = 0.0
    for n in range(count):
        worst = max(worst, off_by(problem_work, problem_work.at, problem_work.y, problem_work.chosen[n]))
    return worst


@kernel
def begin_at_push(problem_work, count, size):
    """y as in push, and y0: what is left of it without the presses chosen."""
    y, base = problem_work.y, problem_work.base
    for i in range(size):
        y[i] = base[i] = problem_work.push[problem_work.reached[i]]
    for n in range(count):
        k = problem_work.chosen[n]
        take_away(problem_work, k, problem_work.P[k, 0], problem_work.P[k, 1], problem_work.P[k, 2], base)


@inlined
def take_away(problem_work, k, P0, P1, P2, y_out):
    """y <- y - P U for press k, over the freedoms reached."""
    at, U = problem_work.at, problem_work.U
    width = at.shape[1]
    n, s, t = 3 * k * width, (3 * k + 1) * width, (3 * k + 2) * width
    for i in range(problem_work.contact.count[k]):
        y_out[at[k, i]] -= P0 * U[n + i] + P1 * U[s + i] + P2 * U[t + i]


@kernel
def add_up(problem_work, count, size):
    """y = y0 + sum P U."""
    y, P = problem_work.y, problem_work.P
    for i in range(size):
        y[i] = problem_work.base[i]
    for n in range(count):
        k = problem_work.chosen[n]
        take_away(problem_work, k, -P[k, 0], -P[k, 1], -P[k, 2], y)


@kernel
def newton(problem_work, count, size, rho, fine, kept):
    """Solve y = y0 + sum p(y) U, from y and its rates.

    kept: 1 where there are factors of a matrix that may do.

    Returns the steps made, whether it is solved as finely as asked, and whether its factors may do again.
    """
    off = answer_all(problem_work, count, size, rho)
    for made in range(STEPS):
        if off <= fine:
            return made, True, kept
        if not kept:
            add_stiffness(problem_work, count, size, rho)
            if not factorise_sparse(size, problem_work.pattern.runs, problem_work.pattern.count, problem_work.matrix):
                return made, False, False
        for i in range(size):
            problem_work.turn[i] = -problem_work.left[i]
        solve_sparse(
            size,
            problem_work.first,
            problem_work.pattern.runs,
            problem_work.pattern.count,
            problem_work.matrix,
            problem_work.turn,
        )
        share, before = 1.0, off
        off = try_share(problem_work, count, size, rho, 1.0)
        if kept and not off <= KEEP * before:
            kept = False
            if not off <= before:
                off = try_share(problem_work, count, size, rho, -1.0)
            continue
        for _ in range(HALVINGS):
            if off <= (1.0 - 0.1 * share) * before:
                break
            share *= 0.5
            off = try_share(problem_work, count, size, rho, -share)
        if not off <= (1.0 - 0.1 * share) * before:
            return made + 1, False, False
        kept = off <= KEEP * before
    return STEPS, off <= fine, kept


@kernel
def try_share(problem_work, count, size, rho, share):
    """Go a share of Newton's step, or back; returns what `answer_all` does there."""
    for i in range(size):
        problem_work.y[i] += share * problem_work.turn[i]
    for n in range(count):
        rates(problem_work, problem_work.at, problem_work.y, problem_work.chosen[n])
    return answer_all(problem_work, count, size, rho)


@kernel
def answer_all(problem_work, count, size, rho):
    """Fill p(y) from the rates, and what is left of y = y0 + sum p(y) U; returns its length."""
    contact, G, P, z = problem_work.contact, problem_work.G, problem_work.P, problem_work.z
    p, y, base, left = problem_work.tried, problem_work.y, problem_work.base, problem_work.left
    for i in range(size):
        left[i] = y[i] - base[i]
    for n in range(count):
        k = problem_work.chosen[n]
        stiffness = stiffness_of(contact, rho, G, k)
        p[k, 0] = bounded(contact, k, P[k, 0] - stiffness * z[k, 0])
        a, b, length, most = friction_asked(contact, stiffness, P, z, p[k, 0], k)
        share = most / length if length > most else 1.0
        p[k, 1], p[k, 2] = share * a, share * b
        if p[k, 0] != 0.0:
            take_away(problem_work, k, p[k, 0], p[k, 1], p[k, 2], left)
    square = 0.0
    for i in range(size):
        square += left[i] ** 2
    return math.sqrt(square)


@inlined
def stiffness_of(contact, rho, G, k):
    """Stiffness of press k, a soft stop in line with it; none where nothing moves it."""
    trace = G[k, 0, 0] + G[k, 1, 1] + G[k, 2, 2]
    return rho / (trace + (rho - 1.0) * contact.soft[k]) if trace > 0.0 else 0.0


@inlined
def friction_asked(contact, stiffness, P, z, pressing, k):
    """Friction of press k if nothing bounded it, its size, and its bound."""
    if contact.rows[k] < 3:
        return 0.0, 0.0, 0.0, 0.0
    x, y = P[k, 1] - stiffness * z[k, 1], P[k, 2] - stiffness * z[k, 2]
    return x, y, math.sqrt(x * x + y * y), contact.friction[k] * pressing + bound_beside(contact, P, k)


@kernel
def add_stiffness(problem_work, count, size, rho):
    """Newton's matrix 1 + U^T C U."""
    start, matrix = problem_work.start, problem_work.matrix
    for i in range(size):
        for m in range(start[i] + problem_work.first[i], start[i] + problem_work.last[i] + 1):
            matrix[m] = 0.0
    clear_pattern(size, problem_work.pattern.runs, problem_work.pattern.count, matrix)
    for i in range(size):
        matrix[start[i] + i] = 1.0
    for n in range(count):
        k = problem_work.chosen[n]
        nn, xn, yn, xx, xy, yy = slopes_of_law(
            problem_work.contact,
            stiffness_of(problem_work.contact, rho, problem_work.G, k),
            problem_work.P,
            problem_work.z,
            k,
        )
        if nn != 0.0 or xx != 0.0 or yy != 0.0:
            add_press(problem_work, k, nn, xn, yn, xx, xy, yy)


@inlined
def slopes_of_law(contact, stiffness, P, z, k):
    """Return C of press k, with the sign changed: nn, xn, yn, xx, xy, yy; xn: of friction x by the normal rate."""
    pressing = P[k, 0] - stiffness * z[k, 0]
    x, y, length, most = friction_asked(contact, stiffness, P, z, max(pressing, 0.0), k)
    nn = stiffness if contact.low[k] < pressing < contact.high[k] else 0.0
    if contact.rows[k] < 3 or length == 0.0:
        sticks = stiffness if contact.rows[k] == 3 and most > 0.0 else 0.0
        return nn, 0.0, 0.0, sticks, 0.0, sticks
    if length <= most:
        return nn, 0.0, 0.0, stiffness, 0.0, stiffness
    e, f, turn = x / length, y / length, stiffness * most / length
    rubs = contact.friction[k] * nn
    return nn, rubs * e, rubs * f, turn * f * f, -turn * e * f, turn * e * e


@inlined
def add_press(problem_work, k, nn, xn, yn, xx, xy, yy):
    """Add U^T C U of press k to Newton's matrix, three columns at a time where they stand side by side."""
    at, U, start, matrix = problem_work.at, problem_work.U, problem_work.start, problem_work.matrix
    width, count = at.shape[1], problem_work.contact.count[k]
    first_n, first_x, first_y = 3 * k * width, (3 * k + 1) * width, (3 * k + 2) * width
    i = 0
    while i < count:
        column, e, f, g = at[k, i], U[first_n + i], U[first_x + i], U[first_y + i]
        n0, x0, y0 = nn * e, xn * e + xx * f + xy * g, yn * e + xy * f + yy * g  # columns of C U
        if i + 2 < count and at[k, i + 2] == column + 2:
            e, f, g = U[first_n + i + 1], U[first_x + i + 1], U[first_y + i + 1]
            n1, x1, y1 = nn * e, xn * e + xx * f + xy * g, yn * e + xy * f + yy * g
            e, f, g = U[first_n + i + 2], U[first_x + i + 2], U[first_y + i + 2]
            n2, x2, y2 = nn * e, xn * e + xx * f + xy * g, yn * e + xy * f + yy * g
            for a in range(count):
                n, s, t, m = U[first_n + a], U[first_x + a], U[first_y + a], start[at[k, a]] + column
                m0, m1, m2 = matrix[m], matrix[m + 1], matrix[m + 2]
                matrix[m] = m0 + n * n0 + s * x0 + t * y0
                matrix[m + 1] = m1 + n * n1 + s * x1 + t * y1
                matrix[m + 2] = m2 + n * n2 + s * x2 + t * y2
            i += 3
        else:
            for a in range(count):
                matrix[start[at[k, a]] + column] += U[first_n + a] * n0 + U[first_x + a] * x0 + U[first_y + a] * y0
            i += 1


__all__ = ["Problem", "bound_beside", "off_by", "solve_together"]
