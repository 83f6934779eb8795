"""Many contacts at once: block Gauss-Seidel over points, each solved exactly on its Coulomb cone.

The law of a point, in its frame (n, t1, t2), between its impulse P and its rate z = (G P)_k + free (a velocity at an
impact, an acceleration in a smooth phase; what z_n is asked to exceed is part of free):

    0 <= P_n  _|_  z_n >= 0,    |P_t| <= r,    P_t = -r z_t / |z_t| where it slips,    r = least + mu P_n.

`least` is friction that is there without P_n: that of a normal impulse already given.  A point with `known` slips along
its direction d whatever z_t is: P_t = -r d.

G is read by block rows (`first`, `partner`, `blocks`): point k meets points partner[i], i = first[k] ... first[k + 1],
through the (3, 3) blocks[i]; its own block is blocks[own[k]].  A dense G is one whose rows have all partners; a time
step of many bodies fills in only the partners that share a body.  G is symmetric, so a visit reads one row of blocks.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from sim.kernels.jit import kernel, python_kernel

# A point's own block counts as singular where a pivot is below this share of its trace; it then moves against an
# inertia of that share beside, which changes the way to the answer but not the answer.
SINGULAR = 1e-9
# Directions at which the slip condition is looked at for changes of sign; it has four roots at most.
LOOKS = 16
LOOK_COS = tuple(math.cos(2.0 * math.pi * i / LOOKS) for i in range(LOOKS + 1))
LOOK_SIN = tuple(math.sin(2.0 * math.pi * i / LOOKS) for i in range(LOOKS + 1))
# Sweeps after which the residual must have halved; else points go only part of their way, WEAKER than before, for a
# while: two points that answer each other with stick and slip go back and forth for ever.
PATIENCE, WEAKER, WEAKEST = 10, 0.8, 0.3
# Steps to one root: bisection alone would need 50; and the last one, which is roundoff.
REFINING, ROOT = 60, 1e-15
# Newton's steps from the last direction of slip, and the turn [rad] after which the next one ends at roundoff.
NEARBY, SETTLED = 12, 1e-8


class Answers(NamedTuple):
    """G by block rows, as above: how points answer one another's impulses."""

    first: Any  # (points + 1,)
    partner: Any
    own: Any  # (points,)
    blocks: Any  # (blocks, 3, 3)


class Laws(NamedTuple):
    """What each point keeps to, as above."""

    mu: Any
    least: Any
    known: Any
    d: Any  # (points, 2)


class Alone(NamedTuple):
    """One point while all others stay: its own block of G, its rate without its impulse, its friction."""

    a: Any  # along n; then n to t1, t2; then t1, t2 by themselves
    gx: Any
    gy: Any
    xx: Any
    xy: Any
    yy: Any
    bn: Any
    bx: Any
    by: Any
    mu: Any
    least: Any


@python_kernel
def sweep_cones(answers, laws, P_out, z_out, reply_out, sweeps, enough, rate):
    """Visit all points in turn until the residual is small enough, or for a number of sweeps.

    P_out: (k, 3) N s or N, the first guess; z_out: (k, 3) free + G P of that guess, kept up to date.
    rate: scale of z.  reply_out[0]: residual, reply_out[1]: points that slide along a known direction in which no
    impulse helps.  Returns the sweeps made.
    """
    first, partner, own, blocks = answers.first, answers.partner, answers.own, answers.blocks
    mu, least, known, d = laws.mu, laws.least, laws.known, laws.d
    reply_out[0] = residual_of(answers, laws, P_out, z_out, rate)
    share, before = 1.0, reply_out[0]
    for sweep in range(sweeps):
        if reply_out[0] <= enough:
            return sweep
        if sweep % PATIENCE == PATIENCE - 1:
            share = max(WEAKER * share, WEAKEST) if reply_out[0] > 0.5 * before else 1.0
            before = reply_out[0]
        reply_out[1] = 0.0
        for k in range(mu.size):
            qn, qx, qy = P_out[k, 0], P_out[k, 1], P_out[k, 2]
            reply_out[1] += solve_point(blocks, own[k], mu[k], least[k], known[k], d, P_out, z_out, k)
            pn, px, py = share * (P_out[k, 0] - qn), share * (P_out[k, 1] - qx), share * (P_out[k, 2] - qy)
            P_out[k, 0], P_out[k, 1], P_out[k, 2] = qn + pn, qx + px, qy + py
            if pn != 0.0 or px != 0.0 or py != 0.0:
                for i in range(first[k], first[k + 1]):
                    j = partner[i]
                    for c in range(3):
                        z_out[j, c] += blocks[i, 0, c] * pn + blocks[i, 1, c] * px + blocks[i, 2, c] * py
        reply_out[0] = residual_of(answers, laws, P_out, z_out, rate)
    return sweeps


@kernel
def residual_of(answers, laws, P, z, rate):
    """Return how far the worst point is from its law, in units of rate times its own mass (Alart-Curnier)."""
    own, blocks, mu, least, known, d = answers.own, answers.blocks, laws.mu, laws.least, laws.known, laws.d
    worst = 0.0
    for k in range(mu.size):
        worst = max(worst, off_law(blocks, own[k], mu[k], least[k], known[k], d, P, z, k) / rate)
    return worst


@kernel
def off_law(blocks, m, mu, least, known, d, P, z, k):
    """How far point k is from its law, as a rate of its own mass; m: its own block."""
    trace = blocks[m, 0, 0] + blocks[m, 1, 1] + blocks[m, 2, 2]
    if trace <= 0.0:
        return 0.0
    r = least + mu * max(P[k, 0], 0.0)
    en = P[k, 0] - max(P[k, 0] - z[k, 0] / trace, 0.0)
    if known:
        tx, ty = -r * d[k, 0], -r * d[k, 1]
    else:
        tx, ty = P[k, 1] - z[k, 1] / trace, P[k, 2] - z[k, 2] / trace
        size = math.sqrt(tx * tx + ty * ty)
        if size > r:
            tx, ty = tx * r / size, ty * r / size
    return math.sqrt(en * en + (P[k, 1] - tx) ** 2 + (P[k, 2] - ty) ** 2) * trace


@kernel
def solve_point(blocks, m, mu, least, known, d, P_out, z, k):
    """Give point k the impulse that fulfils its law while all others stay; returns 1.0 where there is none.

    m: its own block.  z is read before the change: it contains what the old P_out[k] does.
    """
    a, gx, gy = blocks[m, 0, 0], blocks[m, 0, 1], blocks[m, 0, 2]
    xx, xy, yy = blocks[m, 1, 1], blocks[m, 1, 2], blocks[m, 2, 2]
    trace = a + xx + yy
    if trace <= 0.0:
        P_out[k, 0] = P_out[k, 1] = P_out[k, 2] = 0.0
        return 0.0
    rough = mu > 0.0 or least > 0.0
    if a < SINGULAR * trace or (rough and not known and singular(a, gx, gy, xx, xy, yy, SINGULAR * trace)):
        a, xx, yy = a + SINGULAR * trace, xx + SINGULAR * trace, yy + SINGULAR * trace
    # What z would be without this point's impulse.
    pn, px, py = P_out[k, 0], P_out[k, 1], P_out[k, 2]
    bn = z[k, 0] - a * pn - gx * px - gy * py
    bx = z[k, 1] - gx * pn - xx * px - xy * py
    by = z[k, 2] - gy * pn - xy * px - yy * py
    point = Alone(a, gx, gy, xx, xy, yy, bn, bx, by, mu, least)
    if known:
        return slide(point, d[k, 0], d[k, 1], P_out, k)
    # Friction that can overcome the normal: several answers are possible, and the nearest to the last one is taken.
    far = math.inf
    firm = mu * math.sqrt(gx * gx + gy * gy) < a
    ox = oy = 0.0
    if least > 0.0:
        det = xx * yy - xy * xy
        ox, oy = (xy * by - yy * bx) / det, (xy * bx - xx * by) / det
        if ox * ox + oy * oy > least * least:
            P_out[k, 0], P_out[k, 1], P_out[k, 2] = 0.0, px, py
            slip(Alone(1.0, 0.0, 0.0, xx, xy, yy, 0.0, bx, by, 0.0, least), math.inf, P_out, k)
            ox, oy = P_out[k, 1], P_out[k, 2]
    P_out[k, 0], P_out[k, 1], P_out[k, 2] = pn, px, py
    if bn + gx * ox + gy * oy >= 0.0:
        far = pn * pn + (px - ox) ** 2 + (py - oy) ** 2
        if firm or not rough:
            P_out[k, 0], P_out[k, 1], P_out[k, 2] = 0.0, ox, oy
            return 0.0
    if not rough:
        P_out[k, 0], P_out[k, 1], P_out[k, 2] = -bn / a, 0.0, 0.0
        return 0.0
    # Closed and sticking: P = -G_kk^-1 b by elimination.
    lx, ly = gx / a, gy / a
    sxx, sxy, syy = xx - lx * gx, xy - lx * gy, yy - ly * gy
    cx, cy = lx * bn - bx, ly * bn - by
    det = sxx * syy - sxy * sxy
    tx, ty = (syy * cx - sxy * cy) / det, (sxx * cy - sxy * cx) / det
    tn = -bn / a - lx * tx - ly * ty
    if tn >= 0.0 and tx * tx + ty * ty <= (least + mu * tn) ** 2:
        away = (pn - tn) ** 2 + (px - tx) ** 2 + (py - ty) ** 2
        if firm:
            P_out[k, 0], P_out[k, 1], P_out[k, 2] = tn, tx, ty
            return 0.0
        if away < far:
            far, ox, oy = away, tx, ty
        else:
            tn = 0.0
    else:
        tn = 0.0
    if firm and slip_nearby(point, P_out, k):
        return 0.0
    if slip(point, far, P_out, k) == 0.0:
        return 0.0
    if far == math.inf:
        return 1.0
    P_out[k, 0], P_out[k, 1], P_out[k, 2] = tn, ox, oy
    return 0.0


@kernel
def singular(a, gx, gy, xx, xy, yy, floor):
    """Tell whether a pivot of a symmetric (3, 3) block is below a floor."""
    sxx, sxy, syy = xx - gx * gx / a, xy - gx * gy / a, yy - gy * gy / a
    first, other = max(sxx, syy), min(sxx, syy)
    return first < floor or other - sxy * sxy / first < floor


@kernel
def slide(point, dx, dy, P_out, k):
    """Solve a point that slides along a known direction; returns 1.0 where pressing drives it in (Painleve)."""
    a, gx, gy, bn, mu, least = point.a, point.gx, point.gy, point.bn, point.mu, point.least
    along = gx * dx + gy * dy
    gain, need = a - mu * along, least * along - bn
    jammed = 0.0
    pn = 0.0
    if need > 0.0:
        if gain > 0.0:
            pn = need / gain
        else:
            jammed = 1.0
    P_out[k, 0] = pn
    P_out[k, 1], P_out[k, 2] = -(least + mu * pn) * dx, -(least + mu * pn) * dy
    return jammed


@kernel
def slip(point, far, P_out, k):
    """Give point k the impulse with which it slips and neither leaves nor sinks in; returns 1.0 where there is none.

    Of several, and of those nearer to its last one than the square root of `far`, it takes the nearest.

    With P_t = -(least + mu P_n) d, z_n = 0 gives P_n = N(d) / A(d), A = G_nn - mu g.d, N = least g.d - b_n.  Then
    A z_t = w(d) is linear in d: w = G_nn b_t - b_n g + K d, K = (least g - mu b_t) g^T + (mu b_n - least G_nn) G_tt.
    Slip wants w parallel to d: f(phi) = w x d = 0, w.d >= 0, a trigonometric polynomial of degree two.
    """
    a, gx, gy, bn, mu, least = point.a, point.gx, point.gy, point.bn, point.mu, point.least
    wx, wy, kxx, kxy, kyx, kyy = slip_form(point)
    pn, px, py = P_out[k, 0], P_out[k, 1], P_out[k, 2]
    none = 1.0
    turn = 2.0 * math.pi / LOOKS
    old = 0.0
    f_old = off_way(wx, wy, kxx, kxy, kyx, kyy, 1.0, 0.0)
    for i in range(1, LOOKS + 1):
        new = i * turn
        f_new = off_way(wx, wy, kxx, kxy, kyx, kyy, LOOK_COS[i], LOOK_SIN[i])
        # Two roots may hide between two looks of one sign: cut there where f turns toward zero and back.
        middle, f_middle = new, f_new
        if f_old * f_new > 0.0:
            middle = turn_between(kxx, kxy, kyx, kyy, wx, wy, i, f_old)
            if middle < new:
                f_middle = off_way(wx, wy, kxx, kxy, kyx, kyy, math.cos(middle), math.sin(middle))
        for half in range(2):
            low, high = (old, middle) if half == 0 else (middle, new)
            f_low, f_high = (f_old, f_middle) if half == 0 else (f_middle, f_new)
            if low < high and (f_low == 0.0 or f_low * f_high < 0.0):
                phi = root_between(wx, wy, kxx, kxy, kyx, kyy, low, high, f_low)
                c, q = math.cos(phi), math.sin(phi)
                gain, need = a - mu * (gx * c + gy * q), least * (gx * c + gy * q) - bn
                along = (wx + kxx * c + kxy * q) * c + (wy + kyx * c + kyy * q) * q
                if along >= 0.0 and gain > 0.0 and need >= 0.0:
                    size = least + mu * need / gain
                    away = (pn - need / gain) ** 2 + (px + size * c) ** 2 + (py + size * q) ** 2
                    if away < far:
                        far, none = away, 0.0
                        P_out[k, 0], P_out[k, 1], P_out[k, 2] = need / gain, -size * c, -size * q
        old, f_old = new, f_new
    return none


@kernel
def slip_form(point):
    """Return w and K of `slip`."""
    a, gx, gy, xx, xy, yy, bn, bx, by, mu, least = point
    s = mu * bn - least * a
    return (
        a * bx - bn * gx, a * by - bn * gy,
        (least * gx - mu * bx) * gx + s * xx, (least * gx - mu * bx) * gy + s * xy,
        (least * gy - mu * by) * gx + s * xy, (least * gy - mu * by) * gy + s * yy,
    )  # fmt: skip


@kernel
def slip_nearby(point, P_out, k):
    """Do the same where there is one answer only: Newton's method from the direction of the last impulse.

    Tells whether that led to the answer; P_out is left as it was where it did not.
    """
    a, gx, gy, bn, mu, least = point.a, point.gx, point.gy, point.bn, point.mu, point.least
    wx, wy, kxx, kxy, kyx, kyy = slip_form(point)
    c, q = -P_out[k, 1], -P_out[k, 2]
    if c == 0.0 and q == 0.0:
        c, q = wx, wy
    size = math.sqrt(c * c + q * q)
    if size == 0.0:
        return False
    c, q = c / size, q / size
    for _ in range(NEARBY):
        vx, vy = wx + kxx * c + kxy * q, wy + kyx * c + kyy * q
        slope = c * (kyy * c - kyx * q) - q * (kxy * c - kxx * q) - (c * vx + q * vy)
        miss = c * vy - q * vx
        if abs(slope) * 0.5 < abs(miss):
            turn = 0.5 if (miss < 0.0) == (slope > 0.0) else -0.5
        elif slope == 0.0:
            return False
        else:
            turn = -miss / slope
        c, q = c - turn * q, q + turn * c
        size = math.sqrt(c * c + q * q)
        c, q = c / size, q / size
        if abs(turn) < SETTLED:  # the next one would be its square
            vx, vy = wx + kxx * c + kxy * q, wy + kyx * c + kyy * q
            gain, need = a - mu * (gx * c + gy * q), least * (gx * c + gy * q) - bn
            if c * vx + q * vy < 0.0 or gain <= 0.0 or need < 0.0:
                return False
            size = least + mu * need / gain
            P_out[k, 0], P_out[k, 1], P_out[k, 2] = need / gain, -size * c, -size * q
            return True
    return False


@kernel
def off_way(wx, wy, kxx, kxy, kyx, kyy, c, s):
    """Return d x (w + K d) for the direction d = (c, s)."""
    return c * (wy + kyx * c + kyy * s) - s * (wx + kxx * c + kxy * s)


@kernel
def off_way_slope(wx, wy, kxx, kxy, kyx, kyy, c, s):
    """Return how that grows as d turns."""
    return -(s * wy + c * wx) + (kyx + kxy) * -2.0 * c * s + (kyy - kxx) * (c * c - s * s)


@kernel
def turn_between(kxx, kxy, kyx, kyy, wx, wy, i, f_low):
    """Return where, between look i - 1 and look i, `off_way` is nearest to zero if it turns there; else the upper one.

    In angles of these.
    """
    sign = 1.0 if f_low > 0.0 else -1.0
    low, high = (i - 1) * 2.0 * math.pi / LOOKS, i * 2.0 * math.pi / LOOKS
    if sign * off_way_slope(wx, wy, kxx, kxy, kyx, kyy, LOOK_COS[i - 1], LOOK_SIN[i - 1]) >= 0.0:
        return high
    if sign * off_way_slope(wx, wy, kxx, kxy, kyx, kyy, LOOK_COS[i], LOOK_SIN[i]) <= 0.0:
        return high
    end = high
    for _ in range(REFINING):
        middle = 0.5 * (low + high)
        if sign * off_way_slope(wx, wy, kxx, kxy, kyx, kyy, math.cos(middle), math.sin(middle)) < 0.0:
            low = middle
        else:
            high = middle
    return low if low < end else end


@kernel
def root_between(wx, wy, kxx, kxy, kyx, kyy, low, high, f_low):
    """Return the root of `off_way` between two angles of different signs: Newton kept in the bracket."""
    if f_low == 0.0:
        return low
    phi = 0.5 * (low + high)
    for _ in range(REFINING):
        c, s = math.cos(phi), math.sin(phi)
        f = off_way(wx, wy, kxx, kxy, kyx, kyy, c, s)
        if f == 0.0:
            return phi
        if f * f_low > 0.0:
            low = phi
        else:
            high = phi
        slope = off_way_slope(wx, wy, kxx, kxy, kyx, kyy, c, s)
        new = 0.5 * (low + high)
        if slope != 0.0 and low < phi - f / slope < high:
            new = phi - f / slope
        if abs(new - phi) <= ROOT * (1.0 + abs(phi)):
            return new
        phi = new
    return phi
