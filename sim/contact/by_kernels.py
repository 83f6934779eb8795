"""The contact problem solved by kernels: what decisions ask for, with the plain solver where relaxing does not do.

The functions bear the names of those in `sim.contact.solve` and `sim.contact.analytic_centre` and answer as they do, to
roundoff; those are kept for what is hard, and as what tests compare with.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sim.contact import analytic_centre, solve
from sim.contact.analytic_centre import AnalyticCentre
from sim.contact.contact_problem import ContactProblem
from sim.contact.not_unique import Sharing
from sim.contact.solution import ContactSolution
from sim.contact.solve import ITERATIONS, POLISHING, SOLVED, Search, told
from sim.kernels.orthogonal import Factors
from sim.kernels.unilateral.centre import Centre
from sim.kernels.unilateral.deciding import centre_of, hold_fully, polish_from, solve_from_first
from sim.kernels.unilateral.least_norm import Answer
from sim.kernels.unilateral.mode_law import Modes, Problem, Unknowns
from sim.kernels.unilateral.relaxation import Search as Tried

MOST = 40  # points up to which kernels solve: dense systems of three unknowns a point


class Room(NamedTuple):
    """What kernels need for k points."""

    tried: Tried
    answer: Answer
    centre: Centre


def _room(k: int) -> Room:
    """Return room for k points, in one thread the same each time: nothing in it outlives a call."""
    return _room_of(threading.get_ident(), k)


@lru_cache(maxsize=8 * MOST)
def _room_of(thread: int, k: int) -> Room:
    """Return room for k points, which one thread alone uses."""
    n = 3 * k

    def flags() -> np.ndarray:
        return np.zeros(k, np.int64)

    def points() -> np.ndarray:
        return np.zeros((k, 3))

    def modes() -> Modes:
        return Modes(flags(), flags(), np.zeros((k, 2)), np.zeros(k), np.zeros(k))

    factors = Factors(np.zeros((n, n)), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n, np.int64))
    unknowns = Unknowns(
        np.zeros((k, 3, 3)), np.zeros((k, 3, 3)), np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n), points(),
        np.zeros(n), points(), factors,
    )  # fmt: skip
    tried = Tried(
        points(), points(), points(), points(), flags(), np.zeros((ITERATIONS + 1, k), np.int64), np.zeros(1), modes(),
        modes(), unknowns,
    )  # fmt: skip
    answer = Answer(
        points(), points(), flags(), np.zeros((k, 2)), flags(), np.zeros(2), np.zeros((n, n)), np.zeros((n, n)),
        points(), np.zeros((4, n)), np.zeros((k, 3, 3)),
    )  # fmt: skip
    centre = Centre(
        points(), flags(), np.zeros(k), flags(), np.zeros(2), flags(), np.zeros((k, 2)), np.zeros((n, n)),
        np.zeros((n, n)), points(), points(), points(), flags(), np.zeros(n),
    )  # fmt: skip
    return Room(tried, answer, centre)


def _flat(problem: ContactProblem) -> Problem:
    """Return a problem as kernels read it, made once: a decision asks several things of one."""
    kept: Problem | None = problem.__dict__.get("flat")
    if kept is not None:
        return kept
    flat = Problem(
        problem.G, problem.free3, problem.mu, problem.least, problem.trace, np.ascontiguousarray(problem.sliding),
        problem.flags, problem.closed.astype(np.int64), problem.patch.astype(np.int64), problem.rate,
    )  # fmt: skip
    problem.__dict__["flat"] = flat
    return flat


def _before(problem: ContactProblem) -> np.ndarray:
    """Return the modes (k,) that were accepted last, -1 without them."""
    return np.full(problem.points, -1) if problem.modes is None else problem.modes.astype(np.int64)


def _told(problem: ContactProblem, answer: Answer, made: int) -> ContactSolution:
    """Return what kernels found."""
    P, merit = answer.P_work.copy(), float(answer.trust_work[0])
    sharing = Sharing(P, answer.chosen_work == 1, bool(answer.trust_work[1]))
    mode, d = answer.mode_work.astype(np.int8), answer.d_work.copy()
    return told(problem, Search(P, merit, made), P, mode, d, sharing, merit)


def solve_contacts(problem: ContactProblem) -> ContactSolution:
    """Return impulses (level V) or forces (level A) of all points, as `sim.contact.solve.solve_contacts`."""
    if not 0 < problem.points <= MOST:
        return solve.solve_contacts(problem)
    room = _room(problem.points)
    made = solve_from_first(_flat(problem), _before(problem), ITERATIONS, room.tried, room.answer)
    if not room.answer.trust_work[0] <= SOLVED:
        return solve.solve_contacts(problem)
    return _told(problem, room.answer, made)


def polish(problem: ContactProblem, P: np.ndarray) -> ContactSolution:
    """Return the solution near impulses P (k, 3), if Newton's method finds one there."""
    if not 0 < problem.points <= MOST:
        return solve.polish(problem, P)
    room = _room(problem.points)
    made = polish_from(_flat(problem), np.ascontiguousarray(P), POLISHING, room.tried, room.answer)
    return _told(problem, room.answer, made)


def fully_held(problem: ContactProblem) -> np.ndarray | None:
    """Return forces (k, 3) under which all points that were closed stick or go on sliding, or None where none are."""
    if not 0 < problem.points <= MOST:
        return analytic_centre.fully_held(problem)
    room = _room(problem.points)
    held = hold_fully(_flat(problem), _before(problem), room.tried, room.centre)
    return room.centre.P_work.copy() if held else None


def centred(problem: ContactProblem, P: np.ndarray, mode: np.ndarray, d: np.ndarray) -> AnalyticCentre:
    """Return forces that keep the law as P (k, 3) do, and have room in their cones if any have."""
    if not 0 < problem.points <= MOST:
        return analytic_centre.centred(problem, P, mode, d)
    room = _room(problem.points)
    centre = room.centre
    centre.mode_work[:], centre.d_work[:] = mode, d
    centre_of(_flat(problem), np.ascontiguousarray(P), room.tried, centre)
    return AnalyticCentre(
        centre.P_work.copy(), centre.chosen_work == 1, centre.room_work.copy(), centre.bound_work == 1,
        bool(centre.told_work[0]), float(centre.told_work[1]),
    )  # fmt: skip
