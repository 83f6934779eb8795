"""What the law of contact makes of impulses, and the impulses that points have whose modes are taken for granted.

As `sim.contact.law` and `sim.contact.active`, which say the same in plain Python and are what tests compare with.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from sim.kernels.jit import kernel
from sim.kernels.orthogonal import Factors, factorise_orthogonal, solve_least

OPENED, STUCK, SLIPPING = 0, 1, 2  # as `sim.contact.contact_problem.Mode`
# Singular values below this share of the largest count as none.
CUT = 1e-12


class Problem(NamedTuple):
    """k points, as `sim.contact.contact_problem.ContactProblem` has them."""

    G: Any  # (3k, 3k)
    free: Any  # (k, 3) with the shift
    mu: Any  # (k,)
    least: Any  # (k,)
    trace: Any  # (k,)
    sliding: Any  # (k, 2)
    given: Any  # (k,) i8
    closed: Any  # (k,) i8
    patch: Any  # (k,) i8
    rate: Any


class Modes(NamedTuple):
    """Modes of all points: closed or not, slipping or not, along d, which may turn against a resistance."""

    closed_work: Any  # (k,) i8
    slips_work: Any  # (k,) i8
    d_work: Any  # (k, 2)
    resistance_work: Any  # (k,) inf: d is fixed
    violation_work: Any  # (k,) distance from the law, in units of rate / trace


class Unknowns(NamedTuple):
    """Impulses along columns of `along`, tested by columns of `across`, over what is fixed."""

    along_work: Any  # (k, 3, 3)
    across_work: Any  # (k, 3, 3)
    taken_work: Any  # (3k,) i8: which of the columns are unknowns
    place_work: Any  # (3k,) i8: those that are, one after the other
    resistance_work: Any  # (3k,)
    fixed_work: Any  # (k, 3)
    start_work: Any  # (3k,) where they start
    z_work: Any  # (k, 3) scratch
    factors: Factors


@kernel
def rates_of(problem, P, z_out):
    """z = G P + free, of impulses P (k, 3)."""
    G, free = problem.G, problem.free
    k = free.shape[0]
    for i in range(k):
        for c in range(3):
            s = free[i, c]
            for j in range(k):
                for e in range(3):
                    s += G[3 * i + c, 3 * j + e] * P[j, e]
            z_out[i, c] = s


@kernel
def look_at_law(problem, P, z, modes):
    """Fill the modes that P - z / trace beside each point's set of impulses says; returns the largest violation.

    Alart and Curnier (1991), rho = 1 / trace(G_kk); see `sim.contact.law.regions`.
    """
    closed_work, slips_work, d_work = modes.closed_work, modes.slips_work, modes.d_work
    resistance_work, violation_work = modes.resistance_work, modes.violation_work
    worst = 0.0
    for k in range(problem.mu.size):
        rho, rate = 1.0 / problem.trace[k], problem.rate
        n, x, y = P[k, 0] - rho * z[k, 0], P[k, 1] - rho * z[k, 1], P[k, 2] - rho * z[k, 2]
        closed = n > 0.0 and problem.closed[k] == 1
        radius = problem.least[k] + problem.mu[k] * max(P[k, 0], 0.0)
        size = math.sqrt(x * x + y * y)
        given = problem.given[k] == 1
        slips = size > radius or given or (problem.mu[k] == 0.0 and problem.least[k] == 0.0)
        if given:
            d0, d1 = problem.sliding[k, 0], problem.sliding[k, 1]
        else:
            safe = size if size > 0.0 else 1.0
            d0, d1 = -x / safe, -y / safe
        resistance = math.inf
        if slips and not given and radius > 1e-12 * size:
            resistance = (size / radius - 1.0) / rho
        wanted = n if closed else 0.0
        if slips:
            x, y = -radius * d0, -radius * d1
        if problem.closed[k]:
            off = math.sqrt((P[k, 0] - wanted) ** 2 + (P[k, 1] - x) ** 2 + (P[k, 2] - y) ** 2)
        else:
            off = max(abs(P[k, 0]), abs(P[k, 1]), abs(P[k, 2]))
        off *= problem.trace[k] / rate
        closed_work[k], slips_work[k] = int(closed), int(slips)
        d_work[k, 0], d_work[k, 1], resistance_work[k], violation_work[k] = d0, d1, resistance, off
        if not off <= worst:
            worst = off
    return worst


@kernel
def copy_modes(modes, other):
    """Make modes those of another."""
    closed_work, slips_work, d_work = modes.closed_work, modes.slips_work, modes.d_work
    resistance_work, violation_work = modes.resistance_work, modes.violation_work
    for k in range(closed_work.size):
        closed_work[k], slips_work[k] = other.closed_work[k], other.slips_work[k]
        d_work[k, 0], d_work[k, 1] = other.d_work[k, 0], other.d_work[k, 1]
        resistance_work[k], violation_work[k] = other.resistance_work[k], other.violation_work[k]


@kernel
def choose_unknowns(problem, modes, unknowns):
    """Fill the unknowns of points in these modes; returns their number.  See `sim.contact.active.rays`."""
    G, mu, least = problem.G, problem.mu, problem.least
    taken_work, place_work, fixed_work = unknowns.taken_work, unknowns.place_work, unknowns.fixed_work
    resistance_work = unknowns.resistance_work
    count = 0
    for k in range(mu.size):
        closed, slips = modes.closed_work[k] == 1, modes.slips_work[k] == 1
        d0, d1, resistance = modes.d_work[k, 0], modes.d_work[k, 1], modes.resistance_work[k]
        rough = problem.closed[k] == 1 and least[k] > 0.0
        put_rays(k, slips, mu[k], d0, d1, unknowns.along_work, unknowns.across_work)
        tangent = (closed or rough) and not slips
        turns = slips and (closed or rough) and math.isfinite(resistance)
        taken_work[3 * k] = int(closed)
        taken_work[3 * k + 1] = int(tangent or turns)
        taken_work[3 * k + 2] = int(tangent)
        for i in range(3):
            resistance_work[3 * k + i] = 0.0
            if G[3 * k + i, 3 * k + i] == 0.0 and least[k] > 0.0:  # moves nothing
                taken_work[3 * k + i] = 0
            fixed_work[k, i] = 0.0
        if turns:
            resistance_work[3 * k + 1] = resistance
        if slips and problem.closed[k]:
            fixed_work[k, 1], fixed_work[k, 2] = -least[k] * d0, -least[k] * d1
        for i in range(3):
            if taken_work[3 * k + i]:
                place_work[count] = 3 * k + i
                count += 1
    return count


@kernel
def put_rays(k, slips, mu, d0, d1, along_out, across_out):
    """Fill the directions of a point: the axes; where it slips along the edge of its cone, across d, and the last."""
    for i in range(3):
        for j in range(3):
            along_out[k, i, j] = across_out[k, i, j] = 1.0 if i == j else 0.0
    if slips:
        size = math.sqrt(1.0 + mu * mu)
        along_out[k, 0, 0] = 1.0 / size
        along_out[k, 1, 0], along_out[k, 2, 0] = -(mu / size) * d0, -(mu / size) * d1
        along_out[k, 1, 1], along_out[k, 2, 1] = -d1, d0
        across_out[k, 1, 1], across_out[k, 2, 1] = -d1, d0


@kernel
def entry_of(G, across, along, row, column):
    """Return what unknown `column` does to the test of unknown `row`."""
    k, i, m, j = row // 3, row % 3, column // 3, column % 3
    s = 0.0
    for p in range(3):
        if across[k, p, i] != 0.0:
            for q in range(3):
                s += across[k, p, i] * G[3 * k + p, 3 * m + q] * along[m, q, j]
    return s


@kernel
def across_of(across, x, row):
    """Return the component of x (k, 3) along one of the columns."""
    k, i = row // 3, row % 3
    return across[k, 0, i] * x[k, 0] + across[k, 1, i] * x[k, 1] + across[k, 2, i] * x[k, 2]


@kernel
def solve_modes(problem, modes, near, unknowns, P_out):
    """Fill impulses (k, 3) with which points in these modes do what their modes say, the nearest to `near`."""
    count = choose_unknowns(problem, modes, unknowns)
    fixed, place, factors = unknowns.fixed_work, unknowns.place_work, unknowns.factors
    across, along = unknowns.across_work, unknowns.along_work
    rates_of(problem, fixed, unknowns.z_work)
    a_work, x_work, start_work = factors.a_work, factors.x_work, unknowns.start_work
    for k in range(P_out.shape[0]):
        for i in range(3):
            P_out[k, i] = near[k, i] - fixed[k, i]
    for c in range(count):
        start_work[c] = across_of(along, P_out, place[c])
    for r in range(count):
        row = place[r]
        unit = 1.0 / math.sqrt(problem.trace[row // 3])
        wanted = -across_of(across, unknowns.z_work, row)
        for c in range(count):
            entry = entry_of(problem.G, across, along, row, place[c])
            if r == c:
                entry += unknowns.resistance_work[row]
            wanted -= entry * start_work[c]
            a_work[r, c] = entry * unit / math.sqrt(problem.trace[place[c] // 3])
        x_work[r] = wanted * unit
    rank = factorise_orthogonal(count, count, CUT, factors)
    solve_least(count, count, rank, factors)
    for k in range(P_out.shape[0]):
        for i in range(3):
            P_out[k, i] = fixed[k, i]
    for c in range(count):
        k, i = place[c] // 3, place[c] % 3
        x = start_work[c] + x_work[c] / math.sqrt(problem.trace[k])
        for p in range(3):
            P_out[k, p] += along[k, p, i] * x
    put_on_edge(problem, modes, P_out)


@kernel
def put_on_edge(problem, modes, P_out):
    """Give slipping points the size of friction that their P_n allows, as d has turned."""
    for k in range(P_out.shape[0]):
        if modes.slips_work[k] == 0 or problem.given[k]:
            continue
        size = math.sqrt(P_out[k, 1] * P_out[k, 1] + P_out[k, 2] * P_out[k, 2])
        radius = problem.least[k] + problem.mu[k] * P_out[k, 0]
        if size > 0.0 and radius > 0.0:
            P_out[k, 1] *= radius / size
            P_out[k, 2] *= radius / size
