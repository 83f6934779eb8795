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

from sim.kernels.cones import off_law
from sim.kernels.jit import kernel, part

# Stiffness of a press against its own mass, over the step: at first, and where the answer is near; least and most, and
# how it grows from round to round.  Larger: more steps until it is settled what presses and slides.  Smaller: more
# rounds.
FIRST, FIRM, SOFTEST, STIFFEST, GROWTH = 30.0, 1e3, 0.1, 1e6, 3.0
# Rounds of multipliers at most; Newton's steps in each, and halvings of one.
ROUNDS, STEPS, HALVINGS = 12, 8, 6
LEAST_PIVOT = 1e-6  # beside 1
# Where a round ends: of what the law was left by before it, and of the asked accuracy.
NEARER, FINER = 0.3, 0.05


class Problem(NamedTuple):
    """What the laws of a step's presses are asked of, and scratch; shapes as in Work."""

    press: Any
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
    first: Any
    tried: Any
    best: Any
    base: Any  # y0
    left: Any
    turn: Any
    low: Any
    up: Any


@part
def rates(problem_work, k):
    """Fill the rates of press k with the impulses so far: what is free, and U y."""
    press, support, U, push = problem_work.press, problem_work.support, problem_work.U, problem_work.push
    width = support.shape[1]
    for r in range(3):
        total, first = press.free[k, r], (3 * k + r) * width
        if r == 0:
            total += press.soft[k] * problem_work.P[k, 0]
        if r < press.rows[k]:
            for i in range(press.count[k]):
                total += U[first + i] * push[support[k, i]]
        problem_work.z[k, r] = total


@part
def off_by(problem_work, k):
    """Fill the rates of press k and return how far it is from its law [m/s]."""
    rates(problem_work, k)
    press, G, P, z = problem_work.press, problem_work.G, problem_work.P, problem_work.z
    if press.rows[k] == 3:
        return off_law(G, k, press.friction[k], 0.0, 0, problem_work.d, P, z, k)
    own = G[k, 0, 0]
    return abs(P[k, 0] - bounded(press, k, P[k, 0] - z[k, 0] / own)) * own if own > 0.0 else 0.0


@part
def bounded(press, k, impulse):
    """Return a normal impulse of press k within its bounds."""
    return min(max(impulse, press.low[k]), press.high[k])


@kernel
def solve_together(problem_work, count, size, near, enough):
    """Find the impulses of the `count` presses chosen, which reach `size` freedoms, from P and y = sum P U near them.

    near: 1 where P is nearly right.  Keeps the best.

    Returns Newton's steps made, and the largest distance from the law of these presses [m/s].
    """
    rho, growth, made = FIRM if near else FIRST, GROWTH, 0
    quickest, worst = 0.0, 0.0
    for n in range(count):
        k = problem_work.chosen[n]
        quickest = max(quickest, problem_work.G[k, 0, 0] + problem_work.G[k, 1, 1] + problem_work.G[k, 2, 2])
        worst = max(worst, off_by(problem_work, k))
    unit = math.sqrt(max(quickest, 1e-300))
    find_base(problem_work, count, size)
    copy_chosen(problem_work, count, problem_work.P, problem_work.best)
    best = worst
    for _ in range(ROUNDS):
        steps, good = newton(problem_work, count, size, rho, max(NEARER * worst, FINER * enough) / unit)
        made += steps
        if good:
            copy_chosen(problem_work, count, problem_work.tried, problem_work.P)
            rho = min(rho * growth, STIFFEST)
        else:  # softer, and slower to become stiff
            rho, growth = max(rho / GROWTH, SOFTEST), math.sqrt(growth)
        add_up(problem_work, count)
        worst = 0.0
        for n in range(count):
            worst = max(worst, off_by(problem_work, problem_work.chosen[n]))
        if worst < best:
            best = worst
            copy_chosen(problem_work, count, problem_work.P, problem_work.best)
        if best <= enough:
            break
    copy_chosen(problem_work, count, problem_work.best, problem_work.P)
    add_up(problem_work, count)
    return made, best


@kernel
def copy_chosen(problem_work, count, P, P_out):
    """Copy impulses of the presses chosen."""
    for n in range(count):
        k = problem_work.chosen[n]
        for r in range(3):
            P_out[k, r] = P[k, r]


@kernel
def find_base(problem_work, count, size):
    """y0: what is left of y without the presses chosen."""
    place, base = problem_work.place, problem_work.base
    for i in range(place.size):
        if place[i] >= 0:
            base[place[i]] = problem_work.push[i]
    for n in range(count):
        take_away(problem_work, problem_work.chosen[n], problem_work.P, base)


@part
def take_away(problem_work, k, P, y_out):
    """y <- y - P U for press k, over the freedoms reached."""
    press, support, U, place = problem_work.press, problem_work.support, problem_work.U, problem_work.place
    width = support.shape[1]
    for r in range(press.rows[k]):
        if P[k, r] != 0.0:
            for i in range(press.count[k]):
                y_out[place[support[k, i]]] -= P[k, r] * U[(3 * k + r) * width + i]


@kernel
def add_up(problem_work, count):
    """y = y0 + sum P U."""
    place, left = problem_work.place, problem_work.left
    for i in range(place.size):
        if place[i] >= 0:
            left[place[i]] = -problem_work.base[place[i]]
    for n in range(count):
        take_away(problem_work, problem_work.chosen[n], problem_work.P, left)
    for i in range(place.size):
        if place[i] >= 0:
            problem_work.push[i] = -left[place[i]]


@kernel
def newton(problem_work, count, size, rho, fine):
    """Solve y = y0 + sum p(y) U.  Returns the steps made, and whether it is solved as finely as asked."""
    off = answer_all(problem_work, count, size, rho)
    for made in range(STEPS):
        if off <= fine:
            return made, True
        add_stiffness(problem_work, count, size, rho)
        if not factorise_profile(size, problem_work.first, problem_work.low, problem_work.up):
            return made, False
        for i in range(size):
            problem_work.turn[i] = -problem_work.left[i]
        solve_profile(size, problem_work.first, problem_work.low, problem_work.up, problem_work.turn)
        share, before, nearer = 1.0, off, False
        for _ in range(HALVINGS):
            move_on(problem_work, share)
            off = answer_all(problem_work, count, size, rho)
            nearer = off <= (1.0 - 0.1 * share) * before
            if nearer:
                break
            move_on(problem_work, -share)
            share *= 0.5
        if not nearer:
            return made + 1, False
    return STEPS, off <= fine


@kernel
def move_on(problem_work, share):
    """Go a share of Newton's step."""
    for i in range(problem_work.place.size):
        if problem_work.place[i] >= 0:
            problem_work.push[i] += share * problem_work.turn[problem_work.place[i]]


@kernel
def answer_all(problem_work, count, size, rho):
    """Fill p(y), the rates z, and what is left of y = y0 + sum p(y) U; returns its length."""
    press, G, P, z = problem_work.press, problem_work.G, problem_work.P, problem_work.z
    p, place, left = problem_work.tried, problem_work.place, problem_work.left
    for i in range(place.size):
        if place[i] >= 0:
            left[place[i]] = problem_work.push[i] - problem_work.base[place[i]]
    for n in range(count):
        k = problem_work.chosen[n]
        stiffness = stiffness_of(press, rho, G, k)
        rates(problem_work, k)
        p[k, 0] = bounded(press, k, P[k, 0] - stiffness * z[k, 0])
        x, y, length, most = friction_asked(press, stiffness, P, z, p[k, 0], k)
        share = most / length if length > most else 1.0
        p[k, 1], p[k, 2] = share * x, share * y
        take_away(problem_work, k, p, left)
    square = 0.0
    for i in range(size):
        square += left[i] ** 2
    return math.sqrt(square)


@part
def stiffness_of(press, rho, G, k):
    """Stiffness of press k, a soft stop in line with it; none where nothing moves it."""
    trace = G[k, 0, 0] + G[k, 1, 1] + G[k, 2, 2]
    return rho / (trace + (rho - 1.0) * press.soft[k]) if trace > 0.0 else 0.0


@part
def friction_asked(press, stiffness, P, z, pressing, k):
    """Friction of press k if nothing bounded it, its size, and its bound."""
    if press.rows[k] < 3:
        return 0.0, 0.0, 0.0, 0.0
    x, y = P[k, 1] - stiffness * z[k, 1], P[k, 2] - stiffness * z[k, 2]
    return x, y, math.sqrt(x * x + y * y), press.friction[k] * pressing


@kernel
def add_stiffness(problem_work, count, size, rho):
    """Newton's matrix 1 + U^T C U: rows below the diagonal into low, columns above it, and the diagonal, into up."""
    first, low, up = problem_work.first, problem_work.low, problem_work.up
    for i in range(size):
        for j in range(first[i], i):
            low[i, j] = up[i, j] = 0.0
        up[i, i] = 1.0
    for n in range(count):
        k = problem_work.chosen[n]
        nn, xn, yn, xx, xy, yy = slopes_of_law(
            problem_work.press,
            stiffness_of(problem_work.press, rho, problem_work.G, k),
            problem_work.P,
            problem_work.z,
            k,
        )
        if nn != 0.0 or xx != 0.0 or yy != 0.0:
            add_press(problem_work, k, nn, xn, yn, xx, xy, yy)


@part
def slopes_of_law(press, stiffness, P, z, k):
    """Return C of press k, with the sign changed: nn, xn, yn, xx, xy, yy; xn: of friction x by the normal rate."""
    pressing = P[k, 0] - stiffness * z[k, 0]
    x, y, length, most = friction_asked(press, stiffness, P, z, max(pressing, 0.0), k)
    nn = stiffness if press.low[k] < pressing < press.high[k] else 0.0
    if press.rows[k] < 3 or length == 0.0:
        sticks = stiffness if press.rows[k] == 3 and most > 0.0 else 0.0
        return nn, 0.0, 0.0, sticks, 0.0, sticks
    if length <= most:
        return nn, 0.0, 0.0, stiffness, 0.0, stiffness
    e, f, turn = x / length, y / length, stiffness * most / length
    rubs = press.friction[k] * nn
    return nn, rubs * e, rubs * f, turn * f * f, -turn * e * f, turn * e * e


@part
def add_press(problem_work, k, nn, xn, yn, xx, xy, yy):
    """Add U^T C U of press k to Newton's matrix."""
    press, support, U, place, low, up = (
        problem_work.press, problem_work.support, problem_work.U, problem_work.place, problem_work.low, problem_work.up,
    )  # fmt: skip
    width, rough = support.shape[1], press.rows[k] == 3
    first_n, first_x, first_y = 3 * k * width, (3 * k + 1) * width, (3 * k + 2) * width
    for a in range(press.count[k]):
        i = place[support[k, a]]
        n = U[first_n + a]
        s, t = (U[first_x + a], U[first_y + a]) if rough else (0.0, 0.0)
        # What column by column of C this freedom's row of U makes.
        cn, cx, cy = n * nn + s * xn + t * yn, s * xx + t * xy, s * xy + t * yy
        for b in range(press.count[k]):
            j = place[support[k, b]]
            value = cn * U[first_n + b]
            if rough:
                value += cx * U[first_x + b] + cy * U[first_y + b]
            if j < i:
                low[i, j] += value
            else:
                up[j, i] += value


@kernel
def factorise_profile(size, first, low_out, up_out):
    """L U in place, L with a unit diagonal, no exchanges; up_out holds columns.  False where a pivot is bad."""
    for i in range(size):
        for j in range(first[i], i):
            start = max(first[i], first[j])
            s = low_out[i, j] - product_of_rows(low_out, i, up_out, j, start, j)
            up_out[i, j] -= product_of_rows(low_out, j, up_out, i, start, j)
            low_out[i, j] = s / up_out[j, j]
        d = up_out[i, i] - product_of_rows(low_out, i, up_out, i, first[i], i)
        if not abs(d) > LEAST_PIVOT:  # friction makes the matrix unsymmetric: a pivot may be negative
            return False
        up_out[i, i] = d
    return True


@part
def product_of_rows(a, i, b, j, start, end):
    """Inner product of parts of two rows, in four sums that need not wait for each other."""
    s0 = s1 = s2 = s3 = 0.0
    m = start
    while m + 4 <= end:
        s0 += a[i, m] * b[j, m]
        s1 += a[i, m + 1] * b[j, m + 1]
        s2 += a[i, m + 2] * b[j, m + 2]
        s3 += a[i, m + 3] * b[j, m + 3]
        m += 4
    while m < end:
        s0 += a[i, m] * b[j, m]
        m += 1
    return (s0 + s1) + (s2 + s3)


@kernel
def solve_profile(size, first, low, up, x_out):
    """x_out <- (L U)^-1 x_out."""
    for i in range(size):
        s = x_out[i]
        for m in range(first[i], i):
            s -= low[i, m] * x_out[m]
        x_out[i] = s
    for i in range(size - 1, -1, -1):
        x_out[i] /= up[i, i]
        for m in range(first[i], i):
            x_out[m] -= up[i, m] * x_out[i]


__all__ = ["Problem", "off_by", "rates", "solve_together"]
