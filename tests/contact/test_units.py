"""Contact problems in other units are the same problems: answers, and the ways to them, follow exactly.

Masses and speeds times powers of two change no digit of anything, so that what is compared in wrong units is seen.
"""

from __future__ import annotations

from dataclasses import astuple, replace
from types import SimpleNamespace

import numpy as np
import pytest

from sim.contact import analytic_centre, homotopy, not_unique, solve
from sim.contact.contact_problem import ContactProblem
from sim.contact.law import de_saxce, regions
from sim.contact.remembered import Contacts
from sim.contact.solution import residuals
from sim.contact.stops import Bounded
from sim.contact.sweeps import sweep
from sim.kernels.shapes import OPEN, STICK
from sim.mechanism.touch import Touch
from tests.contact.test_law_parts import some_problem, table_of, two_apart
from tests.support.interpreted import times

pytestmark = [pytest.mark.contact, pytest.mark.fast]

LIGHT, HEAVY = 2.0**44, 2.0**-44  # times the mobility, of grams or of ships
UNITS = ((LIGHT, 1.0), (HEAVY, 1.0), (1.0, 2.0**30), (1.0, 2.0**-30), (HEAVY, 2.0**20))


def scaled(problem: ContactProblem, mobility: float, rate: float) -> ContactProblem:
    """Return a problem with all mobilities times a factor, and all rates times another."""
    return replace(
        problem, G=problem.G * mobility, free=problem.free * rate, shift=problem.shift * rate,
        least=problem.least * rate / mobility, scale=problem.scale * rate,
    )  # fmt: skip


def near(found: np.ndarray, wanted: np.ndarray, unit: float) -> bool:
    """Tell whether numbers are some others in a unit, but for what compilers make of roundoff."""
    size = max(float(np.abs(wanted).max(initial=0.0)), 1e-300)
    return bool(np.allclose(np.asarray(found) / unit, wanted, rtol=0.0, atol=1e-9 * size))


def problems() -> list[ContactProblem]:
    """Of all sorts of points, two apart, and tables whose forces are not unique: that stand, begin to slide, slide."""
    shifted = replace(two_apart(), shift=np.array([0.2, -0.1]))
    return [
        *(some_problem(seed) for seed in range(times(6, 2))),
        shifted,
        table_of(0.6),
        table_of(0.04),
        table_of(0.25, True),
    ]


@pytest.mark.parametrize(("mobility", "rate"), UNITS)
def test_solutions_and_what_they_took_follow_the_units(mobility: float, rate: float) -> None:
    impulse = rate / mobility
    for problem in problems():
        wanted, found = solve.solve_contacts(problem), solve.solve_contacts(scaled(problem, mobility, rate))
        assert (found.status, found.sweeps, found.cycling) == (wanted.status, wanted.sweeps, wanted.cycling)
        assert abs(found.iterations - wanted.iterations) <= 1  # the last may be for roundoff
        assert (
            near(found.P, wanted.P, impulse)
            and near(found.unit, wanted.unit, impulse)
            and found.rate == wanted.rate * rate
        )
        z = np.abs(found.z / rate - wanted.z).max()
        assert z <= 1e-8 * wanted.rate
        for name in ("mode", "chosen", "indeterminate", "painleve", "given"):
            assert getattr(found, name).tolist() == getattr(wanted, name).tolist(), name
        assert np.abs(found.d - wanted.d).max() < 1e-7 and found.motion_unique == wanted.motion_unique
        assert np.abs(np.subtract(astuple(found.residuals), astuple(wanted.residuals))).max() < 1e-9


@pytest.mark.parametrize(("mobility", "rate"), UNITS)
def test_the_law_and_its_residuals_follow_the_units(mobility: float, rate: float) -> None:
    impulse, rng = rate / mobility, np.random.default_rng(5)
    for problem in problems():
        P, z = rng.normal(size=(problem.points, 3)), 3.0 * rng.normal(size=(problem.points, 3))
        other = scaled(problem, mobility, rate)
        wanted, found = regions(problem, P, z), regions(other, P * impulse, z * rate)
        assert found.closed.tolist() == wanted.closed.tolist() and found.slips.tolist() == wanted.slips.tolist()
        assert near(found.d, wanted.d, 1.0) and near(found.violation, wanted.violation, 1.0)
        assert (np.isinf(found.resistance) == np.isinf(wanted.resistance)).all()
        turns = np.isfinite(wanted.resistance)
        assert near(found.resistance[turns], wanted.resistance[turns], mobility)
        assert de_saxce(other, P * impulse, z * rate) == pytest.approx(de_saxce(problem, P, z), rel=1e-12)
        mode, d = np.array([k % 3 for k in range(problem.points)]), wanted.d
        both = [residuals(*given, mode, d, 0.25, 0.5) for given in ((problem, P, z), (other, P * impulse, z * rate))]
        assert near(np.array(astuple(both[1])), np.array(astuple(both[0])), 1.0)
        swept = [sweep(*given, 7, 0.0) for given in ((problem, P), (other, P * impulse))]
        assert near(swept[1][0], swept[0][0], impulse) and swept[1][1] == swept[0][1] and swept[1][3] == swept[0][3]
        assert swept[1][2] == pytest.approx(swept[0][2], rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(("mobility", "rate"), UNITS)
def test_forces_that_are_not_unique_and_paths_follow_the_units(mobility: float, rate: float) -> None:
    impulse = rate / mobility
    for problem in (table_of(0.6), table_of(0.04), table_of(0.25, True)):
        other, answer = scaled(problem, mobility, rate), solve.solve_contacts(problem)
        mode, d = answer.mode, answer.d
        one, two = (not_unique.share(*given, mode, d) for given in ((problem, answer.P), (other, answer.P * impulse)))
        assert (
            near(two.P, one.P, impulse) and (two.chosen == one.chosen).all() and two.motion_unique == one.motion_unique
        )
        one, two = (
            analytic_centre.centred(*given, mode, d) for given in ((problem, answer.P), (other, answer.P * impulse))
        )
        assert np.abs(two.P / impulse - one.P).max() < 1e-4 * np.abs(one.P).max() and two.least == one.least
        assert two.chosen.tolist() == one.chosen.tolist() and two.bound.tolist() == one.bound.tolist()
        assert two.border == pytest.approx(one.border * impulse)
        held, again = analytic_centre.fully_held(problem), analytic_centre.fully_held(other)
        assert (held is None) == (again is None)


@pytest.mark.parametrize(("mobility", "rate"), [(2.0**14, 1.0), (2.0**-30, 1.0), (1.0, 2.0**14), (1.0, 2.0**-10)])
def test_paths_from_soft_points_follow_the_units(mobility: float, rate: float) -> None:
    for problem in problems()[:4]:
        other, share = scaled(problem, mobility, rate), homotopy.softnesses(problem.points)[1]
        begin = homotopy.softened(problem, share, 0.0)
        assert near(homotopy.softened(other, share, 0.0).G, begin.G, mobility)
        soft = solve.solve_contacts(begin)
        P, solves = homotopy.follow(problem, share, soft.P)
        Q, again = homotopy.follow(other, share, soft.P * rate / mobility)
        assert np.abs(Q * mobility / rate - P).max() <= 1e-6 * np.abs(P).max() and abs(solves - again) <= 0.3 * solves


# --- what is remembered beside ----------------------------------------------------------------------------------------


def test_gaps_that_stay_open_are_remembered_by_their_meetings_and_stops() -> None:
    """Those whose points are open and hardly move, whichever they are; the others may close again."""

    def touch(pair: int, mode: int) -> Touch:
        return Touch(pair, 0, SimpleNamespace(key=np.array([1, 2])), mode)

    stays, goes = Bounded(4, -1, 1.0, mode=OPEN), Bounded(6, 1, 1.0, mode=OPEN)
    points = [touch(3, OPEN), touch(5, OPEN), touch(7, STICK), stays, goes, Bounded(8, 1, 1.0, mode=STICK)]
    known = Contacts([True])
    known.rest_beside(points, np.array([True, False, True, True, False, True]), [7, 3, 5, 3])
    assert known.idle == {1, 3} and known.idle_stops == {(4, -1)}
    known.rest_beside(points, np.array([False, False, True, False, True, True]), [7, 3, 5, 3])
    assert known.idle == frozenset() and known.idle_stops == {(6, 1)}
    known.rest_beside(points, np.zeros(6, bool), [7, 3, 5, 3])
    assert known.idle == frozenset() and known.idle_stops == frozenset()
    with pytest.raises(ValueError, match="shorter"):
        known.rest_beside(points, np.zeros(5, bool), [7])
