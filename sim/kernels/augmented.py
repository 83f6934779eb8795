"""Impulses of all presses together: Newton's method on the augmented Lagrangian, in the space of freedoms.

With multipliers P and a stiffness rho of each press, what presses answer to scaled freedoms y is

    p(y) = proj(P - rho (free + U y)),    onto the half-line of pressing, and of friction onto the disc mu p_n(y),

and y = sum p(y) U.  Newton's matrix 1 + U^T C U, C the derivative of p, has the size and the pattern of the mechanism,
whatever the number of presses, and no redundancy makes it singular.  Then P <- p(y), and again, until p does not
change: the law then holds exactly, whatever rho is (P. Alart and A. Curnier, A mixed formulation for frictional
contact problems prone to Newton like solution methods, 1991).  Where Newton's steps do not end, presses are made
softer.
"""

from __future__ import annotations

import math

from sim.kernels.cones import off_law
from sim.kernels.jit import kernel, part

# Stiffness of a press against its own mass, over the step: at first from forces of the last step, and from none; least
# and most; how it grows from round to round.
# Larger at first: more steps until it is settled what presses and slides.  Smaller at last: more rounds.
WARM, COLD, SOFTEST, STIFFEST, GROWTH = 1e2, 1.0, 0.1, 1e6, 10.0
# Rounds of multipliers at most, and those of presses at least FIRM that may come no nearer; Newton's steps in each, and
# halvings of one.
ROUNDS, IDLE, FIRM, STEPS, HALVINGS = 12, 2, 1e3, 12, 6
LEAST_PIVOT = 1e-6  # beside 1
# Of the asked accuracy: where a round ends, and what is taken after three rounds.
FINER, NEARLY = 0.05, 100.0


@kernel
def solve_together(
    rho, points, press, support, U, G, d, P_out, p_work, best_work, z_work, push_out, r_work, turn_work, first_work,
    low_work, up_work, enough,
):  # fmt: skip
    """Find impulses of all presses, from P and y = sum P U near them and with a stiffness at first; keep the best.

    d: (room, 2), p_work, best_work: (room, 3), r_work, turn_work: (nv,), first_work: (nv,) i8, low_work and
    up_work: (nv, nv), scratch.  Returns Newton's steps made, and the largest distance from the law [m/s].
    """
    made, quickest, growth, idle = 0, 0.0, GROWTH, 0
    for k in range(points):
        quickest = max(quickest, G[k, 0, 0] + G[k, 1, 1] + G[k, 2, 2])
    fine = FINER * enough / math.sqrt(max(quickest, 1e-300))
    find_profile(points, press, support, first_work)
    best = off_laws(points, press, support, U, G, d, P_out, z_work, push_out)
    copy_all(points, P_out, best_work)
    for turn in range(ROUNDS):
        steps, good = newton(
            rho,
            points,
            press,
            support,
            U,
            G,
            P_out,
            p_work,
            z_work,
            push_out,
            r_work,
            turn_work,
            first_work,
            low_work,
            up_work,
            fine,
        )
        made += steps
        if not good:  # softer, and slower to become stiff
            rho, growth = max(rho / GROWTH, SOFTEST), math.sqrt(growth)
            add_up(points, press, support, U, P_out, push_out)
            continue
        copy_all(points, p_work, P_out)
        add_up(points, press, support, U, P_out, push_out)
        worst = off_laws(points, press, support, U, G, d, P_out, z_work, push_out)
        idle = idle + 1 if worst > 0.5 * best and rho >= FIRM else 0
        if worst < best:
            best = worst
            copy_all(points, P_out, best_work)
        if best <= enough or idle >= IDLE or (best <= NEARLY * enough and turn >= 2):
            break
        rho = min(rho * growth, STIFFEST)
    copy_all(points, best_work, P_out)
    add_up(points, press, support, U, P_out, push_out)
    return made, off_laws(points, press, support, U, G, d, P_out, z_work, push_out)


@kernel
def copy_all(points, P, P_out):
    """Copy impulses."""
    for k in range(points):
        for r in range(3):
            P_out[k, r] = P[k, r]


@kernel
def find_rates(k, press, support, U, push, z_out):
    """Rates of press k with the impulses so far: what is free, and U y."""
    width = support.shape[1]
    for r in range(3):
        total, first = press.free[k, r], (3 * k + r) * width
        if r < press.rows[k]:
            for i in range(press.count[k]):
                total += U[first + i] * push[support[k, i]]
        z_out[k, r] = total


@kernel
def off_laws(points, press, support, U, G, d, P, z_out, push):
    """Largest distance of a press from its law [m/s]; z_out then holds all rates."""
    worst = 0.0
    for k in range(points):
        find_rates(k, press, support, U, push, z_out)
        worst = max(worst, off_law(G, k, press.friction[k], 0.0, 0, d, P, z_out, k))
    return worst


@kernel
def newton(
    rho, points, press, support, U, G, P, p_work, z_work, push_out, r_work, turn_work, first_work, low_work, up_work,
    fine,
):  # fmt: skip
    """Solve y = sum p(y) U.  Returns the steps made, and whether it is solved as finely as asked."""
    off = answer_all(rho, points, press, support, U, G, P, push_out, z_work, p_work, r_work)
    for made in range(STEPS):
        if off <= fine:
            return made, True
        stiffened(rho, points, press, support, U, G, P, z_work, first_work, low_work, up_work)
        if not factorise_profile(first_work, low_work, up_work):
            return made, False
        for i in range(push_out.size):
            turn_work[i] = -r_work[i]
        solve_profile(first_work, low_work, up_work, turn_work)
        share, before, nearer = 1.0, off, False
        for _ in range(HALVINGS):
            for i in range(push_out.size):
                push_out[i] += share * turn_work[i]
            off = answer_all(rho, points, press, support, U, G, P, push_out, z_work, p_work, r_work)
            nearer = off <= (1.0 - 0.1 * share) * before
            if nearer:
                break
            for i in range(push_out.size):
                push_out[i] -= share * turn_work[i]
            share *= 0.5
        if not nearer:
            return made + 1, False
    return STEPS, off <= fine


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
def answer_all(rho, points, press, support, U, G, P, push, z_out, p_out, r_out):
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
        x, y, size, most = friction_asked(press, stiffness, P, z_out, p_out[k, 0], k)
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
def friction_asked(press, stiffness, P, z, pressing, k):
    """Friction of press k if nothing bounded it, its size, and its bound."""
    if press.rows[k] < 3:
        return 0.0, 0.0, 0.0, 0.0
    x, y = P[k, 1] - stiffness * z[k, 1], P[k, 2] - stiffness * z[k, 2]
    return x, y, math.sqrt(x * x + y * y), press.friction[k] * pressing


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
def stiffened(rho, points, press, support, U, G, P, z, first, low_out, up_out):
    """Newton's matrix 1 + U^T C U: rows below the diagonal into low, columns above it, and the diagonal, into up."""
    width = support.shape[1]
    for i in range(first.size):
        for j in range(first[i], i):
            low_out[i, j] = up_out[i, j] = 0.0
        up_out[i, i] = 1.0
    for k in range(points):
        stiffness = stiffness_of(rho, G, k)
        pressing = P[k, 0] - stiffness * z[k, 0]
        x, y, size, most = friction_asked(press, stiffness, P, z, max(pressing, 0.0), k)
        nn = stiffness if pressing > 0.0 else 0.0
        xn = yn = xx = xy = yy = 0.0
        if press.rows[k] == 3:
            if size <= most:
                xx = yy = stiffness
            elif size > 0.0:
                e, f, turn = x / size, y / size, stiffness * most / size
                xx, xy, yy = turn * f * f, -turn * e * f, turn * e * e
                if pressing > 0.0:
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
def factorise_profile(first, low_out, up_out):
    """L U in place, L with a unit diagonal, no exchanges; up_out holds columns.  False where a pivot is bad."""
    for i in range(first.size):
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
def solve_profile(first, low, up, x_out):
    """x_out <- (L U)^-1 x_out."""
    for i in range(first.size):
        s = x_out[i]
        for m in range(first[i], i):
            s -= low[i, m] * x_out[m]
        x_out[i] = s
    for i in range(first.size - 1, -1, -1):
        x_out[i] /= up[i, i]
        for m in range(first[i], i):
            x_out[m] -= up[i, m] * x_out[i]


__all__ = ["COLD", "WARM", "find_rates", "off_laws", "solve_together"]
