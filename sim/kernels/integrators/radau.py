"""A trial step of the three-stage Radau IIA method of order five, behind an address of its own.

E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, second edition, section IV.8 (RADAU5): the
transformation to one real and one complex system, start values from the stages before, when Newton's
iteration stops, when the Jacobian and its factors are kept, the filtered error estimate.  Departures: the
systems are solved in the freedoms' own axes and halved (`sim.kernels.integrators.newton`), and the error is measured in
units of size.  The code is ours.

Asked RADAU with y and the rows k: k[0] is the slope at y; k[1] to k[3] are filled with the stages less y, of
which the last makes the step, and k[4] with the error.  k[5] begins with what is wished: step, whether y is the
end of the last trial (1), its start (0) or neither (-1), rtol.  Replied are the mean square of the error,
iterations, evaluations, cost in evaluations, spectral radius, rate of convergence.
"""

from __future__ import annotations

import math

from sim.kernels.integrators.newton import add_product, lengthwise, newton_matrix, spectral_radius, tangent, turn_back
from sim.kernels.jit import driver, entry, kernel, spliced
from sim.kernels.kinematics import qdot
from sim.kernels.lu import factorise_lu, solve_lu
from sim.kernels.motion import error_norm
from sim.kernels.status import Status
from sim.kernels.system import SLOPE, ask, unpack, vector

_ROOT = math.sqrt(6.0)
C1, C2 = (4.0 - _ROOT) / 10.0, (4.0 + _ROOT) / 10.0
# Eigenvalues of A^-1: GAMMA and ALPHA +- i BETA.
GAMMA = (6.0 + 81.0 ** (1.0 / 3.0) - 9.0 ** (1.0 / 3.0)) / 30.0
_ALPHA = (12.0 - 81.0 ** (1.0 / 3.0) + 9.0 ** (1.0 / 3.0)) / 60.0
_BETA = (81.0 ** (1.0 / 3.0) + 9.0 ** (1.0 / 3.0)) * math.sqrt(3.0) / 60.0
GAMMA, ALPHA, BETA = 1.0 / GAMMA, _ALPHA / (_ALPHA**2 + _BETA**2), _BETA / (_ALPHA**2 + _BETA**2)
# A^-1 = T Lambda T^-1 with Lambda = [GAMMA] + [[ALPHA, -BETA], [BETA, ALPHA]].
T = (
    (9.1232394870892942792e-02, -0.14125529502095420843, -3.0029194105147424492e-02),
    (0.24171793270710701896, 0.20412935229379993199, 0.38294211275726193779),
    (0.96604818261509293619, 1.0, 0.0),
)
T_INVERSE = (
    (4.3255798900631553510, 0.33919925181580986954, 0.54177053993587487119),
    (-4.1787185915519047273, -0.32768282076106238708, 0.47662355450055045196),
    (-0.50287263494578687595, 2.5719269498556054292, -0.59603920482822492497),
)
# Rows of work.stages: three transformed stages, their corrections from the first of these on, the stages of the step
# before; a state that is tried, and its slope.
CHANGE, BEFORE, TRIED, TRIED_SLOPE = 3, 6, 9, 10
# Slope of the collocation polynomial at the start: minus these times the stages less y, over h.
E = (-(13.0 + 7.0 * _ROOT) / 3.0, (-13.0 + 7.0 * _ROOT) / 3.0, -1.0 / 3.0)

ITERATIONS = 7
# Rate of convergence above which the Jacobian is found anew.  Smaller: more Jacobians, of two slopes a freedom each.
# Larger: more iterations.
KEEP = 0.03
STOP = 0.03  # of rtol: what Newton's iteration may leave
ROUNDOFF = 2e-15  # of the size: below it nothing can be asked for
STALL = 1e-12  # of the size: an iteration that stops converging below it has met the roundoff of the slopes
DIFFERENCE = 1e-7  # of the unit: increment of the differences
# Operations that take as long as one freedom's share of a slope.
OPERATIONS = 600.0


@kernel
def recombine(weights, w, z_out):
    """z_out = weights w, for three rows of numbers."""
    for i in range(w.shape[1]):
        a, b, c = w[0, i], w[1, i], w[2, i]
        for s in range(3):
            z_out[s, i] = weights[s][0] * a + weights[s][1] * b + weights[s][2] * c


@kernel
def spread_rows(weights, w, n, k_out):
    """Rows 1 to 3 of k_out = weights w."""
    for i in range(n):
        a, b, c = w[0, i], w[1, i], w[2, i]
        for s in range(3):
            k_out[(1 + s) * n + i] = weights[s][0] * a + weights[s][1] * b + weights[s][2] * c


@kernel
def start_values(h, h_old, old, w_out):
    """Transformed stages from the polynomial of the step before, whose stages were `old`; zero where h_old is."""
    if h_old == 0.0:
        for i in range(w_out.shape[1]):
            w_out[0, i] = w_out[1, i] = w_out[2, i] = 0.0
        return
    for i in range(w_out.shape[1]):
        d0 = old[2, i]
        g1, g2 = (old[0, i] / C1 - d0) / (1.0 - C1), (old[1, i] / C2 - d0) / (1.0 - C2)
        d2 = (g2 - g1) / (C2 - C1)
        d1 = g1 - C1 * d2
        for s in range(3):
            x = 1.0 + (C1 if s == 0 else C2 if s == 1 else 1.0) * h / h_old
            w_out[s, i] = x * (d0 + (1.0 - x) * (d1 + x * d2)) - d0
    for i in range(w_out.shape[1]):
        a, b, c = w_out[0, i], w_out[1, i], w_out[2, i]
        for s in range(3):
            w_out[s, i] = T_INVERSE[s][0] * a + T_INVERSE[s][1] * b + T_INVERSE[s][2] * c


@driver
def linearise(system, t, y, base):
    """Derivatives of accelerations and powers at y by differences; base: slope there.  Returns a status."""
    tables, _, work, _ = unpack(system)
    links, m, nq = tables.links, tables.one.nv[0], tables.one.nq[0]
    at, there, unit_v, unit_q = work.stages[TRIED], work.stages[TRIED_SLOPE], work.real_x[0], work.stages[CHANGE]
    for i in range(y.size):
        at[i] = y[i]
    for k in range(m):
        unit = tables.one.length[0] if tables.freedoms.linear[k] else 1.0
        for i in range(m):
            unit_v[i] = 0.0
        unit_v[k] = 1.0
        qdot(links, y, unit_v, unit_q)
        step = DIFFERENCE * unit
        for i in range(nq):
            at[i] = y[i] + step * unit_q[i]
        status = ask(work.answers, SLOPE, system, t, at, there)
        for i in range(nq):
            at[i] = y[i]
        if status != Status.OK:
            return status
        for i in range(m + 2):
            work.by_q[i, k] = (there[nq + i] - base[nq + i]) / step
        step = DIFFERENCE * (unit + abs(y[nq + k]))
        at[nq + k] = y[nq + k] + step
        status = ask(work.answers, SLOPE, system, t, at, there)
        at[nq + k] = y[nq + k]
        if status != Status.OK:
            return status
        for i in range(m + 2):
            work.by_v[i, k] = (there[nq + i] - base[nq + i]) / step
        work.turning[k] = y[nq + k]
    work.newton.evaluations[0] += 2 * m
    work.newton.radius[0] = spectral_radius(links, work.turning, work.by_q, work.by_v, work.shape[0], work.shape[1])
    work.newton.h[0] = 0.0
    work.newton.linearised[0], work.newton.stale[0] = 1, 0
    return Status.OK


@driver
def factorise_pair(system, h):
    """Factors of both Newton matrices for a step.  Returns a status."""
    tables, _, work, _ = unpack(system)
    newton_matrix(tables.links, GAMMA / h, work.turning, work.by_q, work.by_v, work.real)
    newton_matrix(tables.links, complex(ALPHA / h, BETA / h), work.turning, work.by_q, work.by_v, work.pair)
    work.newton.h[0] = h
    work.newton.factors[0] += 1
    if factorise_lu(work.real, work.real_order) and factorise_lu(work.pair, work.pair_order):
        return Status.OK
    work.newton.h[0] = 0.0
    return Status.NOT_SOLVED


@driver
def solve_real(system, y, r_out):
    """r_out <- (GAMMA / h - J)^-1 r_out at the state y."""
    tables, _, work, _ = unpack(system)
    links, m, nq = tables.links, tables.one.nv[0], tables.one.nq[0]
    s = GAMMA / work.newton.h[0]
    rho, u, delta = work.real_x[0], work.real_x[1], work.real_x[2]
    tangent(links, y, r_out, rho)
    for i in range(m):
        u[i], delta[i] = r_out[nq + i], rho[i]
    turn_back(links, s, work.turning, delta)
    add_product(work.by_q, delta, u)
    solve_lu(work.real, work.real_order, u)
    for i in range(m):
        delta[i] = rho[i] + u[i]
    turn_back(links, s, work.turning, delta)
    for i in range(m):
        rho[i] = delta[i] - rho[i] / s
        r_out[nq + i] = u[i]
    change = work.stages[TRIED]
    qdot(links, y, rho, change)
    for i in range(nq):
        r_out[i] = change[i] + r_out[i] / s
    for row in range(m, m + 2):
        x = r_out[nq + row]
        for i in range(m):
            x += work.by_q[row, i] * delta[i] + work.by_v[row, i] * u[i]
        r_out[nq + row] = x / s


@driver
def solve_pair(system, y, first_out, second_out):
    """(first, second) <- ((ALPHA + i BETA) / h - J)^-1 (first + i second) at the state y."""
    tables, _, work, _ = unpack(system)
    links, m, nq = tables.links, tables.one.nv[0], tables.one.nq[0]
    s = complex(ALPHA / work.newton.h[0], BETA / work.newton.h[0])
    rho, u, delta = work.pair_x[0], work.pair_x[1], work.pair_x[2]
    tangent(links, y, first_out, work.real_x[0])
    tangent(links, y, second_out, work.real_x[1])
    for i in range(m):
        rho[i] = complex(work.real_x[0, i], work.real_x[1, i])
        u[i], delta[i] = complex(first_out[nq + i], second_out[nq + i]), rho[i]
    turn_back(links, s, work.turning, delta)
    add_product(work.by_q, delta, u)
    solve_lu(work.pair, work.pair_order, u)
    for i in range(m):
        delta[i] = rho[i] + u[i]
    turn_back(links, s, work.turning, delta)
    for i in range(m):
        rest = delta[i] - rho[i] / s
        work.real_x[0, i], work.real_x[1, i] = rest.real, rest.imag
        first_out[nq + i], second_out[nq + i] = u[i].real, u[i].imag
    qdot(links, y, work.real_x[0], work.stages[TRIED])
    qdot(links, y, work.real_x[1], work.stages[TRIED_SLOPE])
    for i in range(nq):
        x = complex(first_out[i], second_out[i]) / s
        first_out[i], second_out[i] = work.stages[TRIED, i] + x.real, work.stages[TRIED_SLOPE, i] + x.imag
    for row in range(m, m + 2):
        x = complex(first_out[nq + row], second_out[nq + row])
        for i in range(m):
            x += work.by_q[row, i] * delta[i] + work.by_v[row, i] * u[i]
        x = x / s
        first_out[nq + row], second_out[nq + row] = x.real, x.imag


@driver
def correction(system, t, h, y, k):
    """Slopes at the stages k[1] to k[3], then the correction of the transformed stages into work.stages.

    Returns a status.
    """
    _, _, work, _ = unpack(system)
    n = y.size
    w, dw, at = work.stages[:CHANGE], work.stages[CHANGE:BEFORE], work.stages[TRIED]
    for s in range(3):
        for i in range(n):
            at[i] = y[i] + k[(1 + s) * n + i]
        work.newton.evaluations[0] += 1
        status = ask(work.answers, SLOPE, system, t + (C1 if s == 0 else C2 if s == 1 else 1.0) * h, at, dw[s])
        if status != Status.OK:
            return status
    recombine(T_INVERSE, dw, dw)
    for i in range(n):
        dw[0, i] -= GAMMA / h * w[0, i]
        a, b = w[1, i] / h, w[2, i] / h
        dw[1, i] -= ALPHA * a - BETA * b
        dw[2, i] -= BETA * a + ALPHA * b
    solve_real(system, y, dw[0])
    solve_pair(system, y, dw[1], dw[2])
    work.newton.solves[0] += 1
    return Status.OK


@spliced
def size_of(tables, y, three):
    """Root mean square of three rows of numbers, in units of size."""
    total = 0.0
    for s in range(3):
        total += error_norm(tables.links, tables.freedoms, tables.one.length[0], y, three[s], tables.one.nq[0])
        total += lengthwise(tables.links, y, three[s]) / (2.0 * tables.one.nv[0])
    return math.sqrt(total / 3.0)


@driver
def iterate(system, t, h, y, k_out, rtol):
    """Newton's iteration for the stages k_out[1] to k_out[3].  Returns (status, iterations)."""
    tables, _, work, _ = unpack(system)
    newton, w, dw = work.newton, work.stages[:CHANGE], work.stages[CHANGE:BEFORE]
    start_values(h, newton.h_old[0], work.stages[BEFORE:TRIED], w)
    spread_rows(T, w, y.size, k_out)
    allowed = max(STOP * rtol, ROUNDOFF)
    newton.eta[0] = max(newton.eta[0], 1e-16) ** 0.8
    newton.theta[0] = 0.0
    before = rate_before = 0.0
    for trial in range(1, ITERATIONS + 1):
        status = correction(system, t, h, y, k_out)
        if status != Status.OK:
            return status, trial
        size = size_of(tables, y, dw)
        if not math.isfinite(size):
            return Status.NOT_SOLVED, trial
        if trial > 1:
            rate = size / before
            newton.theta[0] = rate if trial == 2 else math.sqrt(rate * rate_before)
            rate_before = rate
            if rate >= 0.5 and size < STALL:
                newton.theta[0] = 0.0
                return Status.OK, trial
            if newton.theta[0] >= 0.99 and size > allowed:
                return Status.NOT_SOLVED, trial
            newton.eta[0] = newton.theta[0] / max(1.0 - newton.theta[0], 0.01)
            if newton.eta[0] * size * newton.theta[0] ** (ITERATIONS - trial) > allowed:
                return Status.NOT_SOLVED, trial
        before = max(size, 1e-300)
        for s in range(3):
            for i in range(y.size):
                w[s, i] += dw[s, i]
        spread_rows(T, w, y.size, k_out)
        if newton.eta[0] * size <= allowed:
            return Status.OK, trial
    return Status.NOT_SOLVED, ITERATIONS


@driver
def estimate(system, t, h, y, k_out, first):
    """Filtered error of the step into k_out[4]; filtered twice where no step went before.  Returns a status."""
    _, _, work, _ = unpack(system)
    n = y.size
    e = k_out[4 * n : 5 * n]
    for i in range(n):
        e[i] = k_out[i] + (E[0] * k_out[n + i] + E[1] * k_out[2 * n + i] + E[2] * k_out[3 * n + i]) / h
    solve_real(system, y, e)
    if not first:
        return Status.OK
    at, there = work.stages[TRIED], work.stages[TRIED_SLOPE]
    for i in range(n):
        at[i] = y[i] + e[i]
    work.newton.evaluations[0] += 1
    status = ask(work.answers, SLOPE, system, t, at, there)
    for i in range(n):
        e[i] = there[i] + (E[0] * k_out[n + i] + E[1] * k_out[2 * n + i] + E[2] * k_out[3 * n + i]) / h
    solve_real(system, y, e)
    return status


@spliced
def take_over(follows, newton_work, n, k, old_out):
    """Note what the last trial has become: the step before this one, a rejected one, or nothing."""
    newton_work.evaluations[0] = newton_work.factors[0] = newton_work.solves[0] = 0
    if follows > 0.0:
        for s in range(3):
            for i in range(n):
                old_out[s, i] = k[(1 + s) * n + i]
        newton_work.h_old[0] = newton_work.h[0]
        newton_work.linearised[0] = 0
    elif follows < 0.0:
        newton_work.h_old[0] = 0.0
        newton_work.eta[0] = 1.0
        newton_work.linearised[0], newton_work.stale[0] = 0, 1


@entry
def radau(question, system, t, a, b):
    """Answer RADAU.  Returns a status."""
    tables, control, work, _ = unpack(system)
    n, m = tables.one.nq[0] + tables.one.nv[0] + 2, tables.one.nv[0]
    y, k, newton = vector(a, n), vector(b, 16 * n), work.newton
    h, follows, rtol = work.reply.h[0], work.reply.follows[0], work.reply.rtol[0]
    take_over(follows, newton, n, k, work.stages[BEFORE:TRIED])
    status, iterations = Status.NOT_SOLVED, 0
    if not newton.stale[0] or newton.linearised[0]:
        if h != newton.h[0]:
            status = factorise_pair(system, h)
        else:
            status = Status.OK
        if status == Status.OK:
            status, iterations = iterate(system, t, h, y, k, rtol)
    if status == Status.NOT_SOLVED and not newton.linearised[0]:
        status = linearise(system, t, y, k[:n])
        if status == Status.OK:
            status = factorise_pair(system, h)
        if status == Status.OK:
            status, iterations = iterate(system, t, h, y, k, rtol)
    work.reply.error[0] = math.inf
    if status == Status.OK:
        if newton.theta[0] > KEEP:
            newton.stale[0] = 1
        status = estimate(system, t, h, y, k, follows <= 0.0)
        if status == Status.OK:
            length, nq = tables.one.length[0], tables.one.nq[0]
            work.reply.error[0] = error_norm(tables.links, tables.freedoms, length, y, k[4 * n : 5 * n], nq)
    work.reply.iterations[0], work.reply.evaluations[0] = iterations, newton.evaluations[0]
    # multiplications of both factorisations, and of the solutions with them
    products = newton.factors[0] * 5.0 / 3.0 * m**3 + newton.solves[0] * 9.0 * m**2
    work.reply.cost[0] = newton.evaluations[0] + products / (OPERATIONS * m)
    work.reply.radius[0], work.reply.convergence[0] = newton.radius[0], newton.theta[0]
    if control.failed[0]:
        return Status.CALLBACK
    return status
