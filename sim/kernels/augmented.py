"""Impulses of all presses together: Newton's method on the augmented Lagrangian, in the space of freedoms.

With multipliers P and a stiffness rho of each press, what presses answer to scaled freedoms y is

    p(y) = proj(P - rho (free + U y)),    onto the half-line of pressing, and of friction onto the disc mu p_n(y),

and y = sum p(y) U.  Newton's matrix 1 + U^T C U, C the derivative of p, has the size and the pattern of the mechanism,
whatever the number of presses, and no redundancy makes it singular.  Then P <- p(y), and again, until p does not
change: the law then holds exactly, whatever rho is (P. Alart and A. Curnier, A mixed formulation for frictional
contact problems prone to Newton like solution methods, 1991).  Where Newton's steps do not end, friction is bounded by what
pressed before, which makes the problem convex, and else presses are made softer.
"""

from __future__ import annotations

import math

from sim.kernels.cones import off_law
from sim.kernels.jit import kernel, part

# Stiffness of a press against its own mass, over the step: at first, where a start was in vain, how it grows from round
# to round, how far it is taken back where Newton's steps do not end, and at last.  Larger at first: more steps until it is
# settled what presses and slides.  Smaller at last: more rounds.
SOFT, SOFTEST, GROWTH, BACK, STIFF = 1e2, 1.0, 10.0, 100.0, 1e6
# Rounds of multipliers at most, and those that may come no nearer; Newton's steps in each, and halvings of one.
ROUNDS, IDLE, STEPS, HALVINGS = 12, 2, 12, 6
# Share of the asked accuracy at which a round ends, and how much worse than it an answer may be to be taken.
FINER, COARSER = 0.05, 100.0


@kernel
def solve_together(
    begin, points, press, support, U, G, d, P_out, p_work, z_work, push_out, r_work, turn_work, first, low, up, enough
):  # fmt: skip
    """Find impulses of all presses, from P and y = sum P U near them, with the stiffness `begin` at first.

    d: (room, 2), p_work: (room, 3), r_work, turn_work: (nv,), first: (nv,) i8, low, up: (nv, nv), scratch.
    Returns Newton's steps made, and the largest distance from the law [m/s].
    """
    made, quickest, rho, most, idle = 0, 0.0, begin, STIFF, 0
    for k in range(points):
        quickest = max(quickest, G[k, 0, 0] + G[k, 1, 1] + G[k, 2, 2])
    fine = FINER * enough / math.sqrt(max(quickest, 1e-300))
    find_profile(points, press, support, first)
    worst = math.inf
    for _ in range(ROUNDS):
        steps, good = newton(
            1, rho, points, press, support, U, G, d, P_out, p_work, z_work, push_out, r_work, turn_work, first, low, up,
            fine,
        )  # fmt: skip
        made += steps
        if not good:
            for k in range(points):
                d[k, 0] = press.friction[k] * P_out[k, 0]
            add_up(points, press, support, U, P_out, push_out)
            steps, good = newton(
                0, rho, points, press, support, U, G, d, P_out, p_work, z_work, push_out, r_work, turn_work, first,
                low, up, fine,
            )  # fmt: skip
            made += steps
        if not good:
            most, rho = max(rho / GROWTH, SOFTEST), max(rho / BACK, SOFTEST)
            add_up(points, press, support, U, P_out, push_out)
            continue
        for k in range(points):
            for r in range(3):
                P_out[k, r] = p_work[k, r]
        add_up(points, press, support, U, P_out, push_out)
        before, worst = worst, off_laws(points, press, support, U, G, d, P_out, z_work, push_out)
        idle = idle + 1 if worst > 0.5 * before else 0
        if worst <= enough or (worst <= COARSER * enough and idle >= IDLE):
            break
        rho = min(rho * GROWTH, most)
    return made, worst


@kernel
def off_laws(points, press, support, U, G, d, P, z_out, push):
    """Largest distance of a press from its law [m/s]; z_out then holds all rates."""
    worst, width = 0.0, support.shape[1]
    for k in range(points):
        for r in range(3):
            total, first = press.free[k, r], (3 * k + r) * width
            if r < press.rows[k]:
                for i in range(press.count[k]):
                    total += U[first + i] * push[support[k, i]]
            z_out[k, r] = total
        worst = max(worst, off_law(G, k, press.friction[k], 0.0, 0, d, P, z_out, k))
    return worst


@kernel
def newton(
    coupled, rho, points, press, support, U, G, d, P, p_work, z_work, push_out, r_work, turn_work, first, low, up, fine
):  # fmt: skip
    """Solve y = sum p(y) U.  Returns the steps made, and whether it is solved as finely as asked.

    coupled: 0 where friction is bounded by d[:, 0] instead of what presses: r is then the slope of a convex function.
    """
    off = answer_all(rho, points, press, support, U, G, coupled, d, P, push_out, z_work, p_work, r_work)
    for made in range(STEPS):
        if off <= fine:
            return made, True
        stiffen(rho, points, press, support, U, G, coupled, d, P, z_work, first, low, up)
        if not factorise(first, low, up):
            return made, False
        for i in range(push_out.size):
            turn_work[i] = -r_work[i]
        solve(first, low, up, turn_work)
        share, before, steep = 1.0, off, dot_of(turn_work, r_work)
        nearer = False
        for _ in range(HALVINGS):
            for i in range(push_out.size):
                push_out[i] += share * turn_work[i]
            off = answer_all(rho, points, press, support, U, G, coupled, d, P, push_out, z_work, p_work, r_work)
            # Convex: down along the way, and not far up again.
            nearer = off <= (1.0 - 0.1 * share) * before or (not coupled and dot_of(turn_work, r_work) <= -0.5 * steep)
            if nearer:
                break
            for i in range(push_out.size):
                push_out[i] -= share * turn_work[i]
            share *= 0.5
        if not nearer:
            return made + 1, False
    return STEPS, off <= fine


@kernel
def dot_of(a, b):
    """Inner product."""
    s = 0.0
    for i in range(a.size):
        s += a[i] * b[i]
    return s


@kernel
def add_up(points, press, support, U, P, push_out):
    """y = sum P U."""
    width = support.shape[1]
    for i in range(push_out.size):
        push_out[i] = 0.0
    for k in range(points):
        for r in range(press.rows[k]):
            if P[k, r] != 0.0:
                for i in range(press.count[k]):
                    push_out[support[k, i]] += P[k, r] * U[(3 * k + r) * width + i]


@kernel
def answer_all(rho, points, press, support, U, G, coupled, d, P, push, z_out, p_out, r_out):
    """Fill p(y), the rates z, and r = y - sum p(y) U; returns the length of r."""
    width = support.shape[1]
    for i in range(push.size):
        r_out[i] = push[i]
    for k in range(points):
        stiffness = stiffness_of(rho, G, k)
        for r in range(3):
            total = press.free[k, r]
            if r < press.rows[k]:
                for i in range(press.count[k]):
                    total += U[(3 * k + r) * width + i] * push[support[k, i]]
            z_out[k, r] = total
        p_out[k, 0] = max(P[k, 0] - stiffness * z_out[k, 0], 0.0)
        x, y, size, most = friction_asked(press, coupled, d, stiffness, P, z_out, p_out[k, 0], k)
        share = most / size if size > most else 1.0
        p_out[k, 1], p_out[k, 2] = share * x, share * y
        for r in range(press.rows[k]):
            if p_out[k, r] != 0.0:
                for i in range(press.count[k]):
                    r_out[support[k, i]] -= p_out[k, r] * U[(3 * k + r) * width + i]
    square = 0.0
    for i in range(push.size):
        square += r_out[i] ** 2
    return math.sqrt(square)


@part
def stiffness_of(rho, G, k):
    """Stiffness of press k; none where nothing moves it."""
    trace = G[k, 0, 0] + G[k, 1, 1] + G[k, 2, 2]
    return rho / trace if trace > 0.0 else 0.0


@part
def friction_asked(press, coupled, d, stiffness, P, z, pressing, k):
    """Friction of press k if nothing bounded it, its size, and its bound."""
    if press.rows[k] < 3:
        return 0.0, 0.0, 0.0, 0.0
    x, y = P[k, 1] - stiffness * z[k, 1], P[k, 2] - stiffness * z[k, 2]
    return x, y, math.sqrt(x * x + y * y), press.friction[k] * pressing if coupled else d[k, 0]


@kernel
def find_profile(points, press, support, first_out):
    """First column of each row of Newton's matrix that may not be zero."""
    for i in range(first_out.size):
        first_out[i] = i
    for k in range(points):
        least = first_out.size
        for i in range(press.count[k]):
            least = min(least, support[k, i])
        for i in range(press.count[k]):
            first_out[support[k, i]] = min(first_out[support[k, i]], least)


@kernel
def stiffen(rho, points, press, support, U, G, coupled, d, P, z, first, low_out, up_out):
    """Newton's matrix 1 + U^T C U: rows below the diagonal into low, columns above it, and the diagonal, into up."""
    width = support.shape[1]
    for i in range(first.size):
        for j in range(first[i], i):
            low_out[i, j] = up_out[i, j] = 0.0
        up_out[i, i] = 1.0
    for k in range(points):
        stiffness = stiffness_of(rho, G, k)
        pressing = P[k, 0] - stiffness * z[k, 0]
        x, y, size, most = friction_asked(press, coupled, d, stiffness, P, z, max(pressing, 0.0), k)
        nn = stiffness if pressing > 0.0 else 0.0
        xn = yn = xx = xy = yy = 0.0
        if press.rows[k] == 3:
            if size <= most:
                xx = yy = stiffness
            elif size > 0.0:
                e, f, turn = x / size, y / size, stiffness * most / size
                xx, xy, yy = turn * f * f, -turn * e * f, turn * e * e
                if coupled and pressing > 0.0:
                    xn, yn = press.friction[k] * nn * e, press.friction[k] * nn * f
        if nn == 0.0 and xx == 0.0 and yy == 0.0:
            continue
        first_n, first_x, first_y = 3 * k * width, (3 * k + 1) * width, (3 * k + 2) * width
        for a in range(press.count[k]):
            i = support[k, a]
            n = U[first_n + a]
            s, t = (U[first_x + a], U[first_y + a]) if press.rows[k] == 3 else (0.0, 0.0)
            # What column by column of C this freedom's row of U makes.
            cn, cx, cy = n * nn + s * xn + t * yn, s * xx + t * xy, s * xy + t * yy
            for b in range(press.count[k]):
                j = support[k, b]
                value = cn * U[first_n + b]
                if press.rows[k] == 3:
                    value += cx * U[first_x + b] + cy * U[first_y + b]
                if j < i:
                    low_out[i, j] += value
                else:
                    up_out[j, i] += value


@kernel
def factorise(first, low, up):
    """L U in place, L with a unit diagonal, without exchanges; up is stored by columns.  False where a pivot is bad."""
    for i in range(first.size):
        for j in range(first[i], i):
            start = max(first[i], first[j])
            s, t = low[i, j], up[i, j]
            for m in range(start, j):
                s -= low[i, m] * up[j, m]
                t -= low[j, m] * up[i, m]
            low[i, j], up[i, j] = s / up[j, j], t
        d = up[i, i]
        for m in range(first[i], i):
            d -= low[i, m] * up[i, m]
        if not d > 0.0:
            return False
        up[i, i] = d
    return True


@kernel
def solve(first, low, up, x):
    """x <- (L U)^-1 x."""
    for i in range(first.size):
        s = x[i]
        for m in range(first[i], i):
            s -= low[i, m] * x[m]
        x[i] = s
    for i in range(first.size - 1, -1, -1):
        x[i] /= up[i, i]
        for m in range(first[i], i):
            x[m] -= up[i, m] * x[i]


__all__ = ["COARSER", "SOFT", "SOFTEST", "off_laws", "solve_together"]
