"""Where one looks within a step: which looks are doubted, where a crossing is, how deep it gets."""

from __future__ import annotations

from types import SimpleNamespace as Made

import numpy as np
import pytest

from sim.analysis.verification.looks import Looks, Over, _Step
from sim.analysis.verification.missed import Missed

pytestmark = pytest.mark.fast


def step(theta, *columns, conditions=()) -> _Step:
    """Looks at places, with the values of some guards there."""
    made = object.__new__(_Step)
    made.theta, made.values = np.array(theta, float), np.array(columns, float).T
    made.conditions = np.array(conditions or [False] * len(columns))
    made.which = np.arange(len(columns))
    made.t, made.h = 10.0, 2.0
    return made


QUARTERS = (0.0, 0.25, 0.5, 0.75)


@pytest.mark.parametrize(
    ("values", "doubted"),
    [
        # Twice as fast as beside it, a value may rise from -1 to 0 and fall back between two looks.
        ((-2, -1, -1, -2), [1]),
        ((-2.001, -1.001, -1.001, -2.001), []),
        ((-2, -1, -0.999, -2), [1]),
        ((-9, -1, -1, -1), [0, 1]),
        ((-1, -1, -1, -9), [1, 2]),
        ((-1, -1, -1, -1), []),
        ((-2, -1, 0, -1), []),
        ((-2, -1, 1, -1), [0]),
        ((0, -0.1, -3, -8), [1]),
        ((-1.5, -0.5, -3, -4), [0, 1]),
    ],
)
def test_looks_are_doubted_where_a_value_may_have_been_above_zero(values, doubted):
    assert step(QUARTERS, values)._doubted().tolist() == doubted


def test_what_one_guard_leaves_open_is_looked_at_for_all():
    assert step(QUARTERS, (-9, -9, -9, -9), (-2, -1, -1, -2))._doubted().tolist() == [1]


@pytest.mark.parametrize(("size", "doubted"), [(1.1e-6, []), (1.12e-6, [1])])
def test_what_is_not_deep_enough_to_be_told_is_not_looked_for(size, doubted):
    """Twice the slope beside it would take it up by nine tenths of the size: a millionth is told."""
    values = np.array([-0.7, -0.25, -0.25, -0.7]) * size
    assert step(QUARTERS, values)._doubted().tolist() == doubted


def test_depths_of_conditions_are_shares_of_their_largest_value():
    found = step(QUARTERS, (-2, 5, -7, 0), (-0.5, 0.1, 0, 0), (3, -90, 1, 2), conditions=[True, True, False])
    assert found.scale.tolist() == [7.0, 1.0, 1.0]


@pytest.mark.parametrize(("width", "doubted"), [(0.99e-7, []), (1.01e-7, [1])])
def test_looks_are_no_nearer_to_each_other_than_that(width, doubted):
    assert step(width * np.arange(4.0), (-2, -1, -1, -2))._doubted().tolist() == doubted


def test_there_are_no_more_looks_than_that_in_a_step():
    values = np.tile([-2.0, -1.0, -1.0], 66)  # 198 of them
    theta = np.arange(198.0)
    assert len(step(theta, values)._doubted()) == 2
    assert len(step(theta[:-3], values[:-3])._doubted()) == 5


class Hilly(_Step):
    """A value that is known everywhere: two hills, as states on the constraints have it."""

    def __init__(self) -> None:
        self.asked = 0

    def placed(self, theta: float, column: int) -> float:
        assert column == 3
        self.asked += 1
        return 0.01 - (theta - 0.4) ** 2


def test_a_crossing_is_found_by_halves_and_a_hill_by_thirds():
    found = Hilly()
    assert found.crossing(3, 0.2, 0.4) == pytest.approx(0.3, abs=1e-12) and found.asked == 41
    assert found.placed(found.crossing(3, 0.2, 0.4), 3) >= 0.0
    assert found.crossing(3, 0.5 + 1e-9, 0.6) == np.inf
    found.asked = 0
    assert found.deepest(3, 0.3, 0.35, 0.47) == pytest.approx(0.01, abs=1e-6) and found.asked == 25
    assert found.deepest(3, 0.2, 0.4, 0.9) == 0.01  # never less than in the middle


class Straight(_Step):
    """Values as they were looked at, on straight lines between them."""

    def placed(self, theta: float, column: int) -> float:
        return float(np.interp(theta, self.theta, self.values[:, column]))


def followed(values, theta=None, fired=False, opened=(), scale=False) -> tuple[list[tuple[float, float]], list[int]]:
    """Follow one guard through a step that begins at 10 s and lasts 2 s; return what is over, and what goes on."""
    made = object.__new__(Looks)
    made.missed, made._blind = [], np.zeros(0, int)
    made._open = dict(enumerate(Missed("stop", "s", 9.0, depth) for depth in opened))
    made._named = lambda g, time: Missed("stop", "s", time, 0.0)
    looks = object.__new__(Straight)
    looks.__dict__ |= step(theta or np.linspace(0, 1, len(values)), values, conditions=[scale]).__dict__
    made._follow(looks, fired)
    return [(round(one.time, 9), round(one.depth, 9)) for one in made.missed], sorted(made._open)


@pytest.mark.parametrize(
    ("values", "over", "open_"),
    [
        ((-1, 1, -1), [(10.5, 1.0)], []),
        ((-1, 3, 1, -1), [(10.166666667, 3.0)], []),
        ((-1, 0, -1), [], []),
        ((-1, -1, -1), [], []),
        ((0, 1, -1), [(10.0, 1.0)], []),
        ((-1, 0, 2, -2), [(10.666666667, 2.0)], []),
        ((-3, 1, 2), [], [0]),
        ((1, 2, -1), [], []),
        ((-1, 1, -1, 1, -1), [(10.25, 1.0), (11.25, 1.0)], []),
        ((-1, 2e-6, -1), [(10.999998, 2e-6)], []),
        ((-1, 0.9e-6, -1), [], []),
    ],
)
def test_what_rises_above_zero_and_is_back_is_told_with_its_depth(values, over, open_):
    found, left = followed(values)
    assert found == [pytest.approx(one, abs=1e-6) for one in over] and left == open_


def test_what_fires_at_the_end_of_a_step_is_not_missed():
    assert followed((-1, -1, 1), fired=True) == ([], [])
    assert followed((-1, -1, 1), fired=False) == ([], [0])
    assert followed((-1, 1, -1), fired=True)[0] == [pytest.approx((10.5, 1.0))]


def test_what_goes_on_from_the_step_before_grows_and_ends():
    assert followed((2, 3, -1), opened=[1.0])[0] == [(9.0, 3.0)]
    assert followed((2, 3, 1), opened=[5.0]) == ([], [0])
    assert followed((-1, -1), opened=[5.0])[0] == [(9.0, 5.0)]


def test_roundoff_about_zero_is_no_crossing():
    """No further than a thousandth of what would be told, at any look."""
    assert followed((-1, 0.9e-9, 0.5e-9), scale=True) == ([], [])
    assert followed((-1, 1.1e-9, 0.5e-9), scale=True) == ([], [0])


def looking(**given) -> Looks:
    made = object.__new__(Looks)
    made.__dict__ |= {"missed": [], "_open": {}, "_blind": np.zeros(0, int)} | given
    return made


def test_what_was_passed_by_on_purpose_ends_the_run_once_it_is_back():
    deep, flat = Missed("stop", "a", 1.0, 2e-6), Missed("stop", "b", 2.0, 1e-6)
    looks = looking(_open={1: deep, 2: flat}, _blind=np.array([1, 2]))
    looks._close([])
    looks._close([2])
    assert looks.missed == [] and list(looks._open) == [1]
    with pytest.raises(Over):
        looks._close([1])
    assert looks.missed == [deep]
    scaled = looking(_open={1: Missed("stop", "a", 1.0, 2e-6)})
    scaled._close([1], 2.1)
    assert scaled.missed == []


def test_what_goes_on_to_the_end_is_told_too_in_order_of_time():
    first, last = Missed("stop", "a", 1.0, 1.0), Missed("stop", "b", 2.0, 1.0)
    looks = looking(missed=[last], _open={1: first}, _blind=np.array([1]))
    assert looks.finish() == [first, last]


@pytest.mark.parametrize(
    ("old", "new", "blind"),
    [
        ((-1.0, -1.0, 0.0, 0.0), (0.0, -0.5, 1.0, 0.0), [0, 2]),
        ((-1.0, -1.0, -1.0, 1.0), (-2.0, 1.0, -2.0, 2.0), [1]),
        ((-1.0,) * 4, (-2.0,) * 4, None),
        ((-1.0, -2.0, -2.0, -1.0), (-2.0, -2.0, -2.0, 1.0), None),
    ],
)
def test_guards_that_have_fired_are_passed_by_but_for_others(old, new, blind):
    """The last is of another kind, which is never passed by."""
    from sim.kernels.watched import GUARD_GAP, GUARD_PROGRAM, GUARD_STOP

    table = Made(kind=np.array([GUARD_PROGRAM, GUARD_STOP, GUARD_GAP, 99]), armed=np.ones(4, int))
    done: list[str] = []
    flow = Made(
        stepper=Made(guard_old=np.array(old), guard_new=np.array(new)),
        guards=Made(table=table),
        t=3.5,
        restart=lambda: done.append("restart"),
    )
    looks = looking(flow=flow, _named=lambda g, time: Missed("stop", str(g), time, 0.0))
    if blind is None:
        with pytest.raises(Over):
            looks._pass_by()
        return
    looks._pass_by()
    assert (
        looks._blind.tolist() == blind
        and done == ["restart"]
        and table.armed.tolist() == [int(k not in blind) for k in range(4)]
    )
    assert {g: (one.name, one.time) for g, one in looks._open.items()} == {g: (str(g), 3.5) for g in blind}
    with pytest.raises(Over):  # the first ones alone
        looks._pass_by()


def table_of(kind: int, armed: int, count: int = 1) -> np.ndarray:
    table = np.zeros(count, [("kind", int), ("armed", int), ("allowed", float)])
    table["kind"], table["armed"] = kind, armed
    return table.view(np.recarray)


def test_what_is_no_longer_watched_is_over():
    """Its joint was cut, say: it gets no deeper."""
    from sim.kernels.watched import ARMED, GUARD_STOP

    for before, now, over in ((ARMED, 0, True), (0, ARMED, True)):
        deep = Missed("stop", "a", 1.0, 1.0)
        flow = Made(guards=Made(table=table_of(GUARD_STOP, now)))
        looks = looking(flow=flow, _open={0: deep})
        looks._look(np.zeros(2), 1.5, np.array([before]), False)
        assert looks.missed == [deep] * over and looks._open == {}


class Bump(_Step):
    """A value that is known everywhere, and rises for a short while."""

    def at(self, theta: np.ndarray) -> np.ndarray:
        return 2.0 * np.exp(-(((theta - 0.13) / 0.004) ** 2))[:, None] - 1.0


@pytest.mark.parametrize(("until", "end"), [(10.5, 0.25), (12.0, 1.0), (12.0 + 1e-15, 1.0)])
def test_doubted_looks_are_halved_until_none_is(until, end):
    from sim.kernels.stepper import STEP
    from sim.kernels.watched import GUARD_PROGRAM

    clock = np.zeros(32)
    clock[STEP] = 2.0
    flow = Made(stepper=Made(clock=clock), guards=Made(table=table_of(GUARD_PROGRAM, 1)), t=until)
    found = Bump(Made(flow=flow), np.zeros(2), 10.0, np.array([0]))
    assert (found.theta[0], found.theta[-1], found.h, found.t) == (0.0, end, 2.0, 10.0)
    assert np.all(np.diff(found.theta) > 0.0) and np.array_equal(found.values, found.at(found.theta))
    halves = found.theta / end * 2.0**20
    assert np.array_equal(halves, np.round(halves)) and set(np.linspace(0, end, 5)) <= set(found.theta)
    assert not len(found._doubted()) or len(found.theta) == 200


def test_a_closed_point_that_has_left_its_features_is_no_depth(monkeypatch):
    """The mark of that in the value of a gap counts as open by the least that is told; elsewhere it is a value."""
    from sim.analysis.verification import looks

    made = step(QUARTERS, (-2, -1, -1, -2))
    made.which, made.gaps, made.astray = np.array([2, 0, 1]), np.array([True, True, False]), np.array([7.0, 5.0, 7.0])
    made.all_values, made.flow = np.zeros(3), Made(system=Made(answers=None, places=np.zeros(1)))
    monkeypatch.setattr(looks, "address", lambda places: 0)
    monkeypatch.setattr(
        looks, "answer", lambda answers, code, at, t, y, out: out.__setitem__(slice(None), [7.0, 7.0, 7.0])
    )
    assert made._watch(1.0, np.zeros(2)).tolist() == [-1e-6, 7.0, 7.0]


def test_a_condition_of_large_numbers_is_doubted_by_their_size() -> None:
    values = (-1e3, -2.5e-5, -2.5e-5, -2.5e-5, -1e-5, -1e-5, -2.5e-5)
    theta = np.arange(7) / 7
    assert step(theta, values)._doubted().tolist() == [0, 1, 4]
    assert step(theta, values, conditions=[True])._doubted().tolist() == [0, 1]  # 3e-5 is roundoff of a thousand
