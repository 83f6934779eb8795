"""Impulses by relaxing modes: all that is closed sticks, and what the law does not bear gives way, one after the other.

As `sim.contact.solve`, which says the same in plain Python and goes on where this does not find the answer.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from sim.kernels.jit import driver, kernel
from sim.kernels.unilateral.mode_law import (
    OPENED,
    SLIPPING,
    STUCK,
    Modes,
    Unknowns,
    copy_modes,
    look_at_law,
    rates_of,
    solve_modes,
)

# As in `sim.contact.solve`: residual that counts as solved, and that at which iterations stop; share of the worst
# violation that counts as the same; impulses that are no answer but a system without one.
SOLVED, EXACT, ALIKE, HUGE = 1e-10, 1e-13, 1.0 - 1e-6, 1e12
# Rates below this share of the problem's count as zero when modes are named; stands for a rate where nothing moves.
STILL, SMALLEST = 1e-9, 1e-300


class Search(NamedTuple):
    """The best impulses so far, and room for what is tried."""

    best_work: Any  # (k, 3)
    at_work: Any  # (k, 3)
    new_work: Any  # (k, 3)
    z_work: Any  # (k, 3)
    worst_work: Any  # (k,) i8
    seen_work: Any  # (iterations, k) i8: modes that were there before
    merit_work: Any  # (1,) of the best
    active: Modes
    found: Modes
    unknowns: Unknowns


@driver
def relax_modes(problem, limit, search):
    """From impulses `at` and modes `active`: solve, look what the law makes of it, change modes, until the law holds.

    merit_work[0]: residual of the best impulses so far.  Returns how many systems were solved.
    """
    at_work, new_work, best_work, merit_work = search.at_work, search.new_work, search.best_work, search.merit_work
    active, found = search.active, search.found
    full = largest(at_work) == 0.0  # first only the worst point of each patch is relaxed
    merit = math.inf if full else merit_of(problem, at_work, search)
    seen, careful, last = 0, False, -1
    for made in range(1, limit + 1):
        solve_modes(problem, active, at_work, search.unknowns, new_work)
        if not is_bearable(problem, new_work):
            return made
        new = merit_of(problem, new_work, search)
        if not new < merit:
            new = go_part_of_the_way(problem, merit, search)
        copy_points(new_work, at_work)
        merit = new
        if merit < merit_work[0]:
            copy_points(at_work, best_work)
            merit_work[0] = merit
        elif merit_work[0] <= SOLVED:
            return made
        if merit_work[0] <= EXACT:
            return made
        if full or careful:
            choose_worst(problem, active, found, search.worst_work)
            change_modes(search.worst_work, found, active)
        else:
            copy_modes(active, found)
        full = False
        known = place_among(seen, active, search.seen_work)
        if known >= 0 and known != last:
            if careful:
                return made
            careful, seen, known = True, 0, -1
        if known < 0:
            known = seen
            seen += 1
            put_modes(known, active, search.seen_work)
        last = known
    return limit


@kernel
def merit_of(problem, P, search):
    """Return the residual of impulses (k, 3), and fill the modes that the law makes of them."""
    rates_of(problem, P, search.z_work)
    return look_at_law(problem, P, search.z_work, search.found)


@kernel
def largest(P):
    """Return the largest magnitude."""
    most = 0.0
    for k in range(P.shape[0]):
        for i in range(3):
            most = max(most, abs(P[k, i]))
    return most


@kernel
def is_bearable(problem, P):
    """Tell whether impulses are those of a system that has an answer."""
    for k in range(P.shape[0]):
        for i in range(3):
            if not abs(P[k, i]) * problem.trace[k] < HUGE * problem.rate:
                return False
    return True


@kernel
def copy_points(P, P_out):
    """Copy (k, 3) numbers."""
    for k in range(P.shape[0]):
        for i in range(3):
            P_out[k, i] = P[k, i]


@kernel
def go_part_of_the_way(problem, merit, search):
    """Let `new` be impulses between `at` and it at which the law is nearer than at `at`, if there are any.

    Returns their residual.
    """
    at, new_work, between_work = search.at_work, search.new_work, search.unknowns.fixed_work
    share = 0.5
    while share > 0.05:
        for k in range(at.shape[0]):
            for i in range(3):
                between_work[k, i] = at[k, i] + share * (new_work[k, i] - at[k, i])
        between = merit_of(problem, between_work, search)
        if between < merit:
            copy_points(between_work, new_work)
            return between
        share *= 0.5
    return merit_of(problem, new_work, search)


@kernel
def choose_worst(problem, old, new, worst_out):
    """Mark the points that may change: of each patch the most violated of those whose modes would, and all others.

    Points that are violated as much go with it: the order of points must not break a symmetry.
    """
    for k in range(worst_out.size):
        worst_out[k] = 1
        if not changes(k, old, new):
            continue
        most = -1.0
        for j in range(worst_out.size):
            if problem.patch[j] == problem.patch[k] and changes(j, old, new):
                most = max(most, new.violation_work[j])
        worst_out[k] = int(new.violation_work[k] >= ALIKE * most)


@kernel
def changes(k, old, new):
    """Tell whether a point has another mode in one than in the other."""
    return old.closed_work[k] != new.closed_work[k] or old.slips_work[k] != new.slips_work[k]


@kernel
def change_modes(which, new, modes):
    """Let some points have their new modes."""
    closed_work, slips_work, d_work = modes.closed_work, modes.slips_work, modes.d_work
    resistance_work = modes.resistance_work
    for k in range(which.size):
        if which[k]:
            closed_work[k], slips_work[k] = new.closed_work[k], new.slips_work[k]
            d_work[k, 0], d_work[k, 1] = new.d_work[k, 0], new.d_work[k, 1]
            resistance_work[k] = new.resistance_work[k]


@kernel
def put_modes(n, modes, seen_out):
    """Note modes without directions."""
    for k in range(modes.closed_work.size):
        seen_out[n, k] = modes.closed_work[k] + 2 * modes.slips_work[k]


@kernel
def place_among(seen, modes, noted):
    """Return the number under which modes were noted, or -1."""
    for n in range(seen):
        same = True
        for k in range(modes.closed_work.size):
            if noted[n, k] != modes.closed_work[k] + 2 * modes.slips_work[k]:
                same = False
                break
        if same:
            return n
    return -1


@kernel
def name_modes(problem, P, z, mode_out, d_out):
    """Fill the mode and the direction of slip of each point from its impulses and its rates with the shift.

    See `sim.contact.solution.name_modes`.
    """
    still = STILL * problem.rate
    for k in range(mode_out.size):
        speed = math.sqrt(z[k, 1] * z[k, 1] + z[k, 2] * z[k, 2])
        opened = problem.closed[k] == 0 or z[k, 0] > still
        smooth = problem.mu[k] == 0.0 and problem.least[k] == 0.0
        slips = not opened and (problem.given[k] == 1 or smooth or speed > still)
        mode_out[k] = OPENED if opened else SLIPPING if slips else STUCK
        d_out[k, 0] = d_out[k, 1] = 0.0
        if opened:
            continue
        if problem.given[k]:
            d_out[k, 0], d_out[k, 1] = problem.sliding[k, 0], problem.sliding[k, 1]
        elif slips and speed > still:
            x, y = z[k, 1] - P[k, 1] * problem.trace[k], z[k, 2] - P[k, 2] * problem.trace[k]
            size = max(math.sqrt(x * x + y * y), SMALLEST)
            d_out[k, 0], d_out[k, 1] = x / size, y / size
