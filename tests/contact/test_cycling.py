"""Problems whose modes come back without an answer: who finds it then, and what that costs."""

from __future__ import annotations

import numpy as np
import pytest

from sim.contact.active import Active
from sim.contact.contact_problem import ContactProblem, impact
from sim.contact.law import regions
from sim.contact.solution import ContactStatus
from sim.contact.solve import ITERATIONS, SOLVED, Search, relax, solve_contacts
from tests.contact.enumeration import solutions
from tests.contact.random_problems import random_bodies
from tests.contact.test_properties import frictions

pytestmark = pytest.mark.contact


def wedged(seed: int, points: int) -> ContactProblem:
    body = random_bodies(seed, points, 2 + seed % 3)
    return impact(body.G, body.u, frictions(seed, points, 2.0), patch=body.patch)


# Seed, points; linear solves until modes come back, solves in all, sweeps.
FOUND_BY_SWEEPS = [
    (0, 2, 7, 8, 2), (12, 3, 9, 10, 4), (155, 3, 8, 9, 1), (211, 4, 6, 13, 30), (168, 5, 10, 15, 10),
    (5, 7, 16, 19, 10), (72, 8, 12, 19, 10), (10, 12, 10, 12, 10),
]  # fmt: skip
FOUND_ON_PATHS = [(135, 5, 7, 19, 70), (115, 7, 14, 42, 70)]
LONG = [(61, 8), (31, 11)]  # of which roundoff, and so the processor, decides who finds it


@pytest.mark.parametrize(("seed", "points", "back", "solves", "sweeps"), FOUND_BY_SWEEPS + FOUND_ON_PATHS)
def test_where_modes_come_back_sweeps_and_paths_find_the_answer(
    seed: int, points: int, back: int, solves: int, sweeps: int
) -> None:
    made, nothing = wedged(seed, points), np.zeros((points, 3))
    search = Search(nothing, regions(made, nothing, made.free3).merit)
    begun = search.merit
    relax(made, Active.first(made), search, ITERATIONS, nothing)
    assert SOLVED < search.merit < begun and abs(search.iterations - back) <= 1
    assert regions(made, search.P, made.rates(search.P)).merit == pytest.approx(search.merit, rel=1e-12)
    found = solve_contacts(made)
    assert found.status == ContactStatus.SOLVED and found.cycling and found.residuals.merit <= SOLVED
    assert abs(found.iterations - solves) <= 1 + solves // 10 and abs(found.sweeps - sweeps) <= 6 + sweeps // 10
    if points == 2:
        every = solutions(made.G, made.free, made.mu)
        assert min(float(np.abs(found.z.ravel() - other).max()) for other in every) <= 1e-7 * made.rate


@pytest.mark.parametrize(("seed", "points"), LONG)
def test_on_long_ways_the_answer_is_found_whoever_finds_it(seed: int, points: int) -> None:
    made = wedged(seed, points)
    found = solve_contacts(made)
    assert found.status == ContactStatus.SOLVED and regions(made, found.P, found.z).merit <= SOLVED
    assert 20 <= found.iterations < 400 and found.sweeps <= 100


def test_what_nothing_finds_is_told_with_the_best_that_was_found() -> None:
    """After five rounds of sweeps, 500 in all, and two paths of 800 solves."""
    made = wedged(54, 12)
    found = solve_contacts(made)
    assert found.status == ContactStatus.RESIDUAL and found.cycling and found.sweeps == 500
    assert 1650 < found.iterations < 1830
    assert SOLVED < found.residuals.merit < 0.05
    assert regions(made, found.P, made.rates(found.P)).merit == pytest.approx(found.residuals.merit, rel=1e-9)
    assert not found.painleve.any()
