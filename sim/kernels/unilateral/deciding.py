"""What is decided at an instant with contacts, as Python asks for it: impulses by modes, and forces with room.

Python makes the arrays and goes on where this does not find an answer; see `sim.contact.by_kernels`.
"""

from __future__ import annotations

import math

from sim.kernels.jit import kernel, python_driver
from sim.kernels.unilateral.centre import find_centre
from sim.kernels.unilateral.least_norm import conclude
from sim.kernels.unilateral.mode_law import OPENED, SLIPPING, STUCK, copy_modes, solve_modes
from sim.kernels.unilateral.relaxation import SOLVED, copy_points, largest, merit_of, relax_modes

# Of the largest force: how far a point may be outside of its cone that is on its border, as one without a force is.
# Smaller: roundoff tells whether it is.  Larger: cones are left.
EDGE = 1e-12


@python_driver
def solve_from_first(problem, before, limit, search, answer):
    """Relax from the modes that were accepted before, -1: from all that is closed sticking; returns systems solved.

    answer.trust_work[0]: the residual, beyond SOLVED where relaxing did not find the answer.
    """
    best_work, at_work, merit_work, made = search.best_work, search.at_work, search.merit_work, 0
    clear(best_work)
    clear(at_work)
    merit_work[0] = merit_of(problem, at_work, search)
    if merit_work[0] > 0.0:
        put_first(problem, before, search.active)
        made = relax_modes(problem, limit, search)
    if merit_work[0] <= SOLVED:
        conclude(problem, best_work, merit_work[0], search.found, search.unknowns, answer)
    else:
        answer.trust_work[0] = merit_work[0]
    return made


@python_driver
def polish_from(problem, P, limit, search, answer):
    """Relax from impulses P (k, 3) and the modes that the law makes of them; returns systems solved."""
    copy_points(P, search.best_work)
    copy_points(P, search.at_work)
    search.merit_work[0] = merit_of(problem, P, search)
    copy_modes(search.active, search.found)
    made = relax_modes(problem, limit, search)
    conclude(problem, search.best_work, search.merit_work[0], search.found, search.unknowns, answer)
    return made


@python_driver
def hold_fully(problem, before, search, centre):
    """Tell whether there are forces under which all points that were closed stick or slide on; puts them into `centre`.

    Least forces may leave the cones, and points would be relaxed, though others hold them.
    """
    active, at_work = search.active, search.at_work
    put_first(problem, before, active)
    mode_work, d_work = centre.mode_work, centre.d_work
    for k in range(mode_work.size):
        stuck = STUCK if active.slips_work[k] == 0 else SLIPPING
        mode_work[k] = stuck if active.closed_work[k] else OPENED
        d_work[k, 0], d_work[k, 1] = active.d_work[k, 0], active.d_work[k, 1]
    clear(at_work)
    solve_modes(problem, active, at_work, search.unknowns, search.new_work)
    find_centre(problem, search.new_work, search.found, search.unknowns, centre)
    chosen, least = False, -EDGE * largest(centre.P_work)
    for k in range(mode_work.size):
        if not centre.room_work[k] >= least:
            return False
        chosen = chosen or centre.chosen_work[k] == 1
    return chosen and merit_of(problem, centre.P_work, search) <= SOLVED


@python_driver
def centre_of(problem, P, search, centre):
    """Fill the forces that keep the law as P (k, 3) do in the modes of the centre, and have room if any have."""
    find_centre(problem, P, search.found, search.unknowns, centre)


@kernel
def put_first(problem, before, modes):
    """Fill the modes accepted before, -1: none were, and all points stick."""
    closed_work, slips_work, d_work = modes.closed_work, modes.slips_work, modes.d_work
    resistance_work = modes.resistance_work
    for k in range(before.size):
        smooth = problem.mu[k] == 0.0 and problem.least[k] == 0.0
        slips_work[k] = int(problem.given[k] == 1 or smooth)
        closed_work[k] = int(problem.closed[k] == 1 and before[k] != OPENED)
        d_work[k, 0], d_work[k, 1] = problem.sliding[k, 0], problem.sliding[k, 1]
        resistance_work[k] = math.inf


@kernel
def clear(P_out):
    """Fill (k, 3) zeros."""
    for k in range(P_out.shape[0]):
        for i in range(3):
            P_out[k, i] = 0.0
