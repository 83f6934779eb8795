"""When the first guard fires within a step, on guards that are polynomials of time whose roots are known."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from sim.kernels.guards import crossings
from sim.kernels.stepper import LOOKS, STEP, T
from sim.kernels.system import CLEARANCE, GLANCE, LOOK, PROJECT, QUESTIONS
from sim.kernels.watched import (
    CLEAR,
    FAR,
    LEVELS,
    SAMPLED,
    SPAN_ARMED,
    SPAN_AT,
    SPAN_HEADER,
    SPAN_SECONDS,
    TOUCHING,
    WITHIN,
)
from tests.kernels.plain import ask, plain
from tests.support.interpreted import times

pytestmark = pytest.mark.fast

EPS = np.finfo(float).eps
T0, H = 1.7, 0.3


class Step:
    """A step of a state whose first number is the fraction that has passed, and guards of that.

    sampled : guards of which nothing is known in spans; never : clear nowhere; far : below zero all the time
    touching : those of shapes that touch
    asked : fractions, by question; of : fractions, by guard
    """

    def __init__(
        self, guards: list, sampled: tuple[int, ...] = (), never: tuple[int, ...] = (), old: dict | None = None,
        far: tuple[int, ...] = (), touching: tuple[int, ...] = (),
    ):  # fmt: skip
        g = len(guards)
        self.guards, self.sampled, self.never, self.far, self.touching = guards, sampled, never, far, touching
        self.of: list[list[float]] = [[] for _ in guards]
        self.asked: dict[int, list[float]] = {LOOK: [], GLANCE: [], PROJECT: [], CLEARANCE: []}
        self.spans: list[tuple[float, float, float]] = []
        rng = np.random.default_rng(1)
        dense = np.zeros((8, 2))
        dense[0] = 1.0, -2.0
        self.s = SimpleNamespace(
            y=np.array([0.0, 3.0]), y_new=np.array([1.0, 1.0]), y_work=rng.normal(size=2), error=np.zeros(2),
            dense=dense, curve=np.zeros(30), span=np.zeros(30), told=np.zeros(SPAN_HEADER + g),
            ends=np.zeros(LEVELS + 1),
            ahead=rng.normal(size=(LEVELS + 3, g)), open=rng.integers(0, 3, (LEVELS + 1, g)).astype(float),
            guard_old=np.array([float(f(0.0)) for f in guards]), guard_new=rng.normal(size=g),
            guard_mid=rng.normal(size=g),
            clock=np.zeros(20), count=np.full(20, 99),
        )  # fmt: skip
        for k, value in (old or {}).items():
            self.s.guard_old[k] = value
        self.s.clock[T], self.s.clock[STEP] = T0, H
        self.answers = [None] * QUESTIONS
        self.answers[LOOK], self.answers[GLANCE] = self._watch, self._watch
        self.answers[PROJECT], self.answers[CLEARANCE] = self._project, self._clearance

    def _theta(self, t: float, y: np.ndarray) -> float:
        assert (t - T0) / H == pytest.approx(y[0], abs=1e-14)
        assert y[1] == pytest.approx(3.0 - 2.0 * y[0], abs=1e-14)
        return float(y[0])

    def _watch(self, question, system, t, y, values):
        theta = self._theta(t, y)
        self.asked[question].append(theta)
        for g, f in enumerate(self.guards):
            if math.isnan(values[g]):
                assert question == LOOK or g not in self.sampled  # a glance finds no forces
                assert g not in self.far
                values[g] = f(theta)
                self.of[g].append(theta)
        return 0

    def _project(self, question, system, t, y, scratch):
        self.asked[question].append(self._theta(t, y))
        return 0

    def _clearance(self, question, system, t, span, told):
        low = (t - T0) / H
        high = low + told[SPAN_SECONDS] / H
        assert span[0] == pytest.approx(low, abs=1e-12) and span[14] == pytest.approx(high, abs=1e-12)
        assert told[SPAN_ARMED] == 0.0 or told[SPAN_AT] != 0.5
        assert told[SPAN_AT] in (0.0, 0.5, 1.0)
        if low < 1e-12 and self.spans and self.spans[-1] == (low, high, 0.5):  # its start comes before its end
            assert told[SPAN_AT] != 1.0
        self.spans.append((low, high, float(told[SPAN_AT])))
        for g, f in enumerate(self.guards):
            verdict = told[SPAN_HEADER + g]
            assert verdict in (CLEAR, WITHIN, SAMPLED, FAR, TOUCHING)
            if g in self.sampled:
                told[SPAN_HEADER + g] = SAMPLED
            elif g in self.far:
                told[SPAN_HEADER + g] = FAR
            elif verdict == WITHIN and g not in self.never and self._monotone(f, low, high):
                told[SPAN_HEADER + g] = TOUCHING if g in self.touching else CLEAR
        return 0

    def _monotone(self, f, low: float, high: float) -> bool:
        turns = f.deriv().roots()
        real = turns[np.abs(turns.imag) < 1e-9].real
        return not np.any((real > low) & (real < high))

    def first(self) -> tuple[float, int]:
        theta, guard = plain(crossings.first_crossing, ask=ask)(self.answers, None, self.s)
        return float(theta), int(guard)


def risings(f: Polynomial) -> list[float]:
    """Return where a polynomial rises through zero within a step."""
    roots, slope = f.roots(), f.deriv()
    return sorted(float(r.real) for r in roots if abs(r.imag) < 1e-9 and 0.0 < r.real <= 1.0 and slope(r.real) > 0.0)


def check(step: Step, close: float = 1e-11) -> None:
    """Check that the earliest rising of all guards is found, between neighbours, and by whom."""
    found = [(rise[0], g) for g, f in enumerate(step.guards) if (rise := risings(f))]
    theta, guard = step.first()
    if not found:
        assert (theta, guard) == (2.0, -1)
        np.testing.assert_allclose(step.s.guard_old, [f(1.0) for f in step.guards], atol=1e-12)
        return
    expected, who = min(found)
    assert theta == pytest.approx(expected, abs=close)
    assert guard == who
    looked = [x for question in (LOOK, GLANCE) for x in step.asked[question]]
    before = max(x for x in looked if x < theta and step.guards[who](x) < 0.0)
    assert theta in looked and theta - before <= 2.0 * EPS * (T0 + H) / H
    old, new = step.s.guard_old, step.s.guard_new
    assert new[who] == step.guards[who](theta)
    assert [bool(plain(crossings.crosses)(*ends)) for ends in zip(old, new, strict=True)] == [
        g == who for g in range(len(old))
    ]
    # Of guards that are clear and do not fire it is known only where they have not fired yet.
    assert all(old[g] > 0.0 or np.sign(new[g]) == np.sign(f(theta)) for g, f in enumerate(step.guards))


def random_guards(rng: np.random.Generator, count: int) -> list[Polynomial]:
    """Polynomials whose roots are in or near the step, no two of them close."""
    guards = []
    for _ in range(count):
        while True:
            roots = np.sort(rng.uniform(-0.3, 1.3, rng.integers(1, 6)))
            if np.diff(roots).min(initial=1.0) > 0.01 and np.abs(np.r_[roots, roots - 1.0]).min() > 0.01:
                break
        guards.append(Polynomial.fromroots(roots) * rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-2, 2))
    return guards


@pytest.mark.parametrize("seed", range(4))
def test_the_earliest_crossing_of_all_guards_is_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(times(12, 12)):
        check(Step(random_guards(rng, int(rng.integers(1, 4)))))


@pytest.mark.parametrize("apart", [1e-3, 1e-6])
@pytest.mark.parametrize("at", [0.137, 0.5, 0.9])
def test_what_crosses_and_returns_at_once_is_found(apart: float, at: float) -> None:
    graze = -Polynomial.fromroots([at, at + apart])
    late = Polynomial([-0.95, 1.0])
    check(Step([late, graze]), 1e-9)
    assert Step([graze - 1e-3 * apart**2 - apart**2 / 4.0]).first() == (2.0, -1)


class Blind(Step):
    """One in which bounds take all guards for clear, as they do with what is too small for them."""

    def _monotone(self, f, low: float, high: float) -> bool:
        return True


def test_a_gap_that_opens_by_less_than_bounds_tell_and_closes_again_is_found() -> None:
    """It begins beyond zero by roundoff: after an impact one corner has left, and another comes down."""
    opens = Polynomial.fromroots([0.0, 0.48])
    theta, guard = Blind([4e-9 * opens], old={0: 1e-16}).first()
    assert (theta, guard) == (pytest.approx(0.48, abs=1e-9), 0)
    assert Blind([1e-10 * opens], old={0: 1e-16}).first() == (2.0, -1)  # which the next step tells
    assert Blind([4e-9 * opens], old={0: 2e-9}).first() == (2.0, -1)
    assert Blind([4e-9 * opens], old={0: 1e-16}, sampled=(0,)).first()[1] == 0  # by looks


def test_an_earlier_crossing_that_has_come_and_gone_counts() -> None:
    """The later one is found first, at the end of the step."""
    check(Step([Polynomial([-0.7, 1.0]), -Polynomial.fromroots([0.31, 0.33])]))
    check(Step([-Polynomial.fromroots([0.31, 0.33]), Polynomial([-0.7, 1.0]), -Polynomial.fromroots([0.05, 0.06])]))


@pytest.mark.parametrize(
    ("old", "new", "fires"),
    [(-1.0, 1.0, True), (-1.0, 0.0, True), (-1.0, -0.5, False), (0.0, 1.0, True), (0.0, 0.0, False), (0.0, -1.0, False),
     (1.0, 2.0, False), (1.0, -1.0, False), (-1.0, math.nan, False), (0.0, math.nan, False)],
)  # fmt: skip
def test_what_crosses(old: float, new: float, fires: bool) -> None:
    assert bool(plain(crossings.crosses)(old, new)) is fires
    for place in range(3):
        ends = np.full((2, 3), -1.0)
        ends[:, place] = old, new
        assert bool(plain(crossings.any_crosses)(*ends)) is fires


def test_a_crossing_at_the_very_end_counts() -> None:
    theta, guard = Step([Polynomial([-1.0, 1.0])]).first()
    assert guard == 0 and theta == pytest.approx(1.0, abs=1e-14)


def test_a_guard_that_begins_at_zero_fires_where_it_rises_at_once() -> None:
    theta, guard = Step([Polynomial([0.0, 1.0])]).first()
    assert guard == 0 and 0.0 < theta < 1e-14


def test_spans_that_are_never_clear_are_halved_to_the_shortest() -> None:
    """A guard of which nothing is known at one place, though it stays below zero: every half around it is looked at."""
    at = 1.0 / 3.0

    class Near(Polynomial):
        pass

    step = Step([Near([-1.0])])
    step._monotone = lambda f, low, high: not low <= at <= high  # type: ignore[method-assign]
    assert step.first() == (2.0, -1)
    widths = sorted({high - low for low, high, _ in step.spans})
    assert widths[0] == pytest.approx(2.0**-39, rel=1e-3)  # the next would be shorter than 1e-12
    assert step.s.count[LOOKS] == len(step.spans)


def test_a_step_is_looked_at_in_so_many_spans_at_most() -> None:
    step = Step([Polynomial([-1.0])], never=(0,))
    assert step.first() == (2.0, -1)
    assert step.s.count[LOOKS] == len(step.spans) == 2000


def test_spans_are_seen_from_their_middle_and_from_where_they_begin_or_end_at_zero() -> None:
    step = Step([Polynomial([-1.0])], never=(0,))
    step.first()
    assert [at for low, _, at in step.spans if low == 0.0][:4] == [0.5, 0.0, 0.5, 0.0]
    assert {at for low, _, at in step.spans if low > 0.0} == {0.5}
    found = Step([Polynomial([-0.6, 1.0]), Polynomial([-1.0])], never=(1,))
    theta, _ = found.first()
    ends = [at for _, high, at in found.spans if abs(high - theta) < 1e-12]
    assert 1.0 in ends and 0.5 in ends
    assert all(abs(high - theta) < 1e-12 for _, high, at in found.spans if at == 1.0)


@pytest.mark.parametrize(
    ("f", "looks"),
    [(Polynomial([-0.25, 0.0, 1.0]), 20), (Polynomial([-0.2, 0.1, 0.0, 3.0]), 22), (Polynomial([-0.01, *[0.0] * 6,
        1.0]), 29),
     (-Polynomial.fromroots([0.4, 1.7]), 19), (lambda theta: math.copysign(1.0, theta - 0.37), 49)],
)  # fmt: skip
def test_a_crossing_is_bracketed_in_few_looks(f, looks: int) -> None:
    """By secants, and a bisection at every third: so even a leap takes no more than its binary digits."""
    step = Step([f])
    step.s.guard_new[0] = f(1.0)
    theta, guard = plain(crossings.narrow, ask=ask)(step.answers, None, step.s, 0.0, 1.0, False, LEVELS)
    asked = np.array(step.asked[LOOK])
    assert guard == 0 and len(asked) <= looks and f(theta) >= 0.0
    assert theta - asked[asked < theta].max() <= 2.0 * EPS * (T0 + H) / H


@pytest.mark.parametrize("sampled", [(), (0,)])
def test_guards_that_stay_below_zero_are_not_looked_at_again(sampled: tuple[int, ...]) -> None:
    """Their values are those of the last look, whatever they have become since."""
    step = Step([Polynomial([-0.37, 1.0]), Polynomial([-2.0, 1.0])], sampled=sampled, far=(1,), old={1: -5.0})
    check(step)
    assert step.s.guard_old[1] == step.s.guard_new[1] == -5.0


# --- guards of shapes that touch ----------------------------------------------------------------------------


def test_what_else_is_near_shapes_that_touch_is_asked_for_once_where_others_have_no_bounds() -> None:
    """At the end, without forces; the next step begins with that value."""
    step = Step([Polynomial([-1.0, 0.5]), Polynomial([-2.0, 1.5])], sampled=(0,), touching=(1,))
    assert step.first() == (2.0, -1)
    assert step.of[1] == step.asked[GLANCE] == [1.0] and len(step.of[0]) == 5
    assert step.s.guard_old[1] == step.s.guard_new[1] == -0.5
    alone = Step([Polynomial([-2.0, 1.5])], touching=(0,))
    assert alone.first() == (2.0, -1) and alone.asked[GLANCE] == [] and alone.of[0] == [1.0]


@pytest.mark.parametrize("root", [0.07, 0.55, 0.93, 0.999999])
def test_what_comes_to_touch_beside_points_that_touch_is_found(root: float) -> None:
    for more in (Polynomial([-1.0]), Polynomial([-0.97, 1.0])):
        check(Step([more, Polynomial([-root, 1.0])], sampled=(0,), touching=(1,)))


@pytest.mark.parametrize("start", [-0.9e-5, -1.1e-5])
def test_what_is_nearly_there_beside_points_that_touch_is_looked_at_in_each_piece(start: float) -> None:
    """At one end or at the other."""
    for f in (Polynomial([start, -1.0]), Polynomial([start - 1.0, 1.0])):
        step = Step([Polynomial([-1.0, 0.5]), f], sampled=(0,), touching=(1,))
        assert step.first() == (2.0, -1)
        assert ({0.4, 0.6, 0.8} <= {round(x, 9) for x in step.of[1]}) == (start > -1e-5)


# --- guards without bounds ----------------------------------------------------------------------------------


def test_guards_without_bounds_are_looked_at_in_five_pieces() -> None:
    step = Step([Polynomial([-1.0, 0.5])], sampled=(0,))
    assert step.first() == (2.0, -1)
    np.testing.assert_allclose(step.asked[LOOK], [0.2, 0.4, 0.6, 0.8, 1.0], atol=1e-14)
    assert step.asked[PROJECT] == []


@pytest.mark.parametrize("root", [0.07, 0.2, 0.31, 0.55, 0.79, 0.93])
def test_a_crossing_of_a_guard_without_bounds_is_found(root: float) -> None:
    for more in ([], [Polynomial([-1.0])], [Polynomial([-0.97, 1.0])]):
        check(Step([Polynomial([-root, 1.0]) * 3.0, *more], sampled=(0,)))


@pytest.mark.parametrize("middle", [0.33, 0.5, 0.71, 0.95])
@pytest.mark.parametrize("half", [0.04, 0.09])
def test_a_peak_between_looks_is_found_by_a_parabola(middle: float, half: float) -> None:
    check(Step([-Polynomial.fromroots([middle - half, middle + half])], sampled=(0,)))


def test_a_peak_that_stays_below_zero_leaves_all_as_it_was() -> None:
    step = Step([-Polynomial.fromroots([0.45, 0.55]) - 0.0026, Polynomial([-0.99, 1.0])], sampled=(0,))
    theta, guard = step.first()
    assert guard == 1 and theta == pytest.approx(0.99, abs=1e-12)
    finer = {round(x, 9) for x in step.asked[LOOK]} - {0.2, 0.4, 0.6, 0.8, 1.0}
    assert {0.25, 0.3, 0.35, 0.45, 0.5, 0.55} <= finer


def test_after_a_peak_that_stays_below_zero_the_end_is_where_the_next_step_begins() -> None:
    peak = -Polynomial.fromroots([0.85, 0.95]) - 0.0026
    step = Step([peak], sampled=(0,))
    assert step.first() == (2.0, -1) and 0.95 in np.round(step.asked[LOOK], 9)
    assert step.s.guard_old[0] == peak(1.0)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((-1.0, -0.01, -1.0), True),  # bend -1.98: its peak is 0.2375 above the highest look
        ((-1.0, -0.24, -1.0), False), ((-1.0, -0.15, -1.0), True), ((-1.0, -0.18, -1.0), True), ((-1.0, -0.21,
            -1.0), False),
        ((-3.0, -0.1, -0.9), True), ((-0.9, -0.1, -3.0), True),
        ((-3.0, -1.0, -0.1), False),  # its peak is beyond
        ((-0.1, -1.0, -3.0), False), ((-1.0, -2.0, -1.0), False), ((0.0, -0.01, -1.0), False), ((-1.0, 0.0, -1.0),
            False),
        ((-1.0, -0.01, 0.0), False), ((-1.0, -1.0, -1.0), False),
        ((-1.0, -0.1, -0.2), True), ((-0.2, -0.1, -1.0), True), ((-0.55, -0.1, -0.15), True),
    ],
)  # fmt: skip
def test_a_parabola_tells_whether_a_peak_may_be_between(values: tuple, expected: bool) -> None:
    """Through three looks, an eighth of the bend higher than it is; and only where it is between them."""
    before, old, new = values
    fit = np.polyfit([-1.0, 0.0, 1.0], values, 2)
    bent = fit[0] < 0.0 and max(values) < 0.0
    may = bent and abs(fit[1] / (2 * fit[0])) < 1.0 and np.polyval(fit, -fit[1] / (2 * fit[0])) - 0.25 * fit[0] >= 0.0
    assert may is expected or bool(may) is expected
    for place in range(2):
        s = SimpleNamespace(
            ahead=np.full((LEVELS + 3, 2), -1.0), guard_old=np.full(2, -1.0), guard_new=np.full(2, -1.0),
            open=np.full((LEVELS + 1, 2), SAMPLED),
        )  # fmt: skip
        s.ahead[LEVELS, place], s.guard_old[place], s.guard_new[place] = before, old, new
        assert bool(plain(crossings.peaks)(s)) is expected
        s.open[LEVELS, place] = CLEAR  # of guards that have bounds these tell
        assert not plain(crossings.peaks)(s)


# --- back before the first look -----------------------------------------------------------------------------


@pytest.mark.parametrize("back", [0.15, 0.05, 1e-3, 3e-7])
@pytest.mark.parametrize("start", [0.0, -5e-10, 5e-10])
def test_a_guard_that_goes_below_zero_from_it_and_comes_back_is_found(back: float, start: float) -> None:
    """As a gap after a bounce: t (t - back), which starts at zero but for roundoff."""
    f = Polynomial([0.0, -back, 1.0]) * 4.0 / back
    step = Step([f], sampled=(0,), old={0: start})
    theta, guard = step.first()
    assert guard == 0 and theta == pytest.approx(back, abs=1e-14, rel=1e-9)


@pytest.mark.parametrize("rise", [(0.02, 0.11), (1e-5, 0.05)])
def test_a_guard_a_little_below_zero_that_crosses_and_returns_is_found(rise: tuple[float, float]) -> None:
    f = -Polynomial.fromroots(rise)
    f = f * 5e-6 / -f(0.0)  # starts at -5e-6
    step = Step([f], sampled=(0,))
    theta, guard = step.first()
    assert guard == 0 and theta == pytest.approx(rise[0], rel=1e-6)


def test_of_two_that_come_back_the_earlier_counts() -> None:
    late, early = (Polynomial([0.0, -back, 1.0]) / back for back in (0.11, 0.007))
    for guards in ([late, early], [early, late]):
        theta, guard = Step(guards, sampled=(0, 1)).first()
        assert guards[guard] is early and theta == pytest.approx(0.007, rel=1e-9)


@pytest.mark.parametrize(
    ("old", "new", "early", "sought"),
    [
        (0.0, 0.3, 0.1, True), (9e-10, 0.3, 0.1, True), (-9e-10, 0.0, 0.1, True), (0.0, -0.3, -0.1, False),
        (1.1e-9, 0.3, 0.1, False),
        # Rising by more than a thousandth of what is missing, at a thousandth of the way.
        (-5e-6, -0.3, -5e-6 + 5.1e-9, True), (-5e-6, -0.3, -5e-6 + 4.9e-9, False), (-9.9e-6, 0.3, 0.1, True),
        (-1e-5, 0.3, 0.1, False), (-1e-9, 0.3, 0.1, True), (-1.01e-5, 0.3, 0.1, False), (-1.01e-9, 0.3, 0.1, True),
        (-1.0, 0.3, 0.1, False),
    ],
)  # fmt: skip
def test_what_may_come_back_before_the_first_look(old: float, new: float, early: float, sought: bool) -> None:
    for place in range(2):
        guards = [lambda theta: -1.0, lambda theta: -1.0]
        guards[place] = lambda theta: early if abs(theta - 2e-4) < 1e-12 else math.nan
        step = Step(guards, old={place: old})
        step.s.guard_old[1 - place] = -1.0
        step.s.guard_new[:] = -1.0
        step.s.guard_new[place] = new
        assert bool(plain(crossings.begins_to_cross, ask=ask)(step.answers, None, step.s, 0.2)) is sought
        assert bool(step.asked[LOOK]) is (-1e-5 < old <= -1e-9)


def test_the_time_to_the_first_look_is_halved_thirty_times() -> None:
    """A guard that begins at zero and only rises is never back: it fires as one that has risen."""
    step = Step([Polynomial([0.0, 1.0])], sampled=(0,), old={0: 1e-10})
    assert step.first() == (2.0, -1)
    halved = [x for x in step.asked[LOOK] if x < 0.15]
    np.testing.assert_allclose(halved, 0.2 * 0.5 ** np.arange(1, 31), rtol=1e-6, atol=1e-15)


# --- what is left aside ---------------------------------------------------------------------------------------


def test_guards_that_read_forces_are_asked_at_the_ends_of_pieces_alone() -> None:
    """Unless one of them fires there: their forces are found again wherever the others are narrowed down."""
    arch = -Polynomial.fromroots([0.5, 0.95])
    step = Step([Polynomial([-1.0, 0.5]), arch], sampled=(0,))
    theta, guard = step.first()
    assert guard == 1 and theta == pytest.approx(0.5, abs=1e-12)
    np.testing.assert_allclose(step.asked[LOOK], [0.2, 0.4, 0.6], atol=1e-14)
    assert len(step.asked[GLANCE]) > 2
    heavy = Step([Polynomial([-0.55, 1.0]), arch], sampled=(0,))
    theta, guard = heavy.first()
    assert guard == 1 and theta == pytest.approx(0.5, abs=1e-12)
    assert heavy.asked[GLANCE] == [] and len(heavy.asked[LOOK]) > 5


def test_only_guards_that_are_not_clear_or_fire_are_wanted() -> None:
    verdicts = np.array([CLEAR, CLEAR, WITHIN, SAMPLED, SAMPLED, CLEAR], float)
    old, new = np.array([-1.0, -2.0, -3.0, -4.0, -5.0, 6.0]), np.array([-1.5, 2.0, -3.0, -4.5, 5.0, -6.0])
    found = np.zeros(6)
    plain(crossings.want)(verdicts, old, new, found)
    np.testing.assert_array_equal(np.isnan(found), [False, True, True, False, True, False])
    np.testing.assert_array_equal(found[[0, 3, 5]], old[[0, 3, 5]])
    values = np.arange(6.0)
    plain(crossings.set_aside)(verdicts, values)
    np.testing.assert_array_equal(values, [0.0, 1.0, 2.0, -1.0, -1.0, 5.0])


def test_they_are_left_aside_where_none_of_them_fires() -> None:
    for verdicts, fires in itertools.product(([SAMPLED, WITHIN], [WITHIN, SAMPLED], [CLEAR, CLEAR]), (0, 1, None)):
        s = SimpleNamespace(guard_old=np.full(2, -1.0), guard_new=np.full(2, -0.5), open=np.zeros((LEVELS + 1, 2)))
        s.open[LEVELS] = verdicts
        if fires is not None:
            s.guard_new[fires] = 0.5
        expected = fires is None or verdicts[fires] != SAMPLED
        assert bool(plain(crossings.sets_aside)(s)) is expected


def test_a_state_inside_a_step_is_brought_to_the_constraints() -> None:
    step = Step([Polynomial([-1.0])])

    def tell(question, system, t, y, scratch):
        assert scratch is step.s.error and t == T0 + 0.3 * H
        y += 7.0
        return 5

    step.answers[PROJECT] = tell
    assert plain(crossings.state_at, ask=ask)(step.answers, None, step.s, 0.3) == 5
    np.testing.assert_allclose(step.s.y_work, [7.3, 9.4])


def test_guards_that_were_armed_in_a_span_are_looked_at_anew() -> None:
    """What waited has no value at the ends of spans until it is armed: it may fire there then."""
    armed = []

    def waits(theta: float) -> float:
        return theta - 0.4 if armed else -1.0

    step = Step([waits, Polynomial([-1.0])], never=(1,))  # type: ignore[list-item]
    usual = step.answers[CLEARANCE]

    def clearance(question, system, t, span, told):
        step._monotone = lambda f, low, high: True  # type: ignore[method-assign]
        usual(question, system, t, span, told)
        if not armed and (t - T0) / H + told[SPAN_SECONDS] / H < 0.9:
            armed.append(True)
            told[SPAN_ARMED] = 1.0
        return 0

    step.answers[CLEARANCE] = clearance
    theta, guard = step.first()
    assert armed and guard == 0 and theta == pytest.approx(0.4, abs=1e-12)


def test_a_guard_that_falls_beside_a_peak_does_not_fire() -> None:
    """Pieces are sampled more finely from the value at their start on, not from that in their middle."""
    peak = -Polynomial.fromroots([0.45, 0.55]) - 0.0026
    step = Step([peak, Polynomial([0.38, -1.0])], sampled=(0, 1))
    assert step.first() == (2.0, -1)


def finely(f, low: float = 0.4, high: float = 0.6, other: float = -1.0) -> tuple[Step, float, int, list[float]]:
    """Look for a peak between the last three looks; beside a guard that stands still."""
    step = Step([Polynomial([other]), f], sampled=(0, 1))
    width, s = high - low, step.s
    for values, at in ((s.ahead[LEVELS], low - width), (s.guard_old, low), (s.guard_new, high)):
        values[:] = other, f(at)
    theta, guard = plain(crossings.look_for_peak, ask=ask)(step.answers, None, step.s, low, high)
    return step, float(theta), int(guard), step.asked[LOOK]


@pytest.mark.parametrize(("low", "high"), [(0.4, 0.6), (0.2, 0.4), (0.3, 0.66)])
def test_a_peak_is_looked_for_in_quarters_of_the_last_two_pieces(low: float, high: float) -> None:
    """What is not found leaves the values of the last two looks as they were."""
    f = Polynomial([-1.0, 0.3])
    step, theta, guard, asked = finely(f, low, high)
    assert (theta, guard) == (2.0, -1)
    np.testing.assert_allclose(
        asked, low + (high - low) * np.array([-0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75]), atol=1e-15
    )
    assert step.s.guard_old.tolist() == [-1.0, f(low)] and step.s.guard_new.tolist() == [-1.0, f(high)]


@pytest.mark.parametrize("piece", range(7))
def test_a_peak_that_is_above_zero_at_one_quarter_alone_is_found(piece: int) -> None:
    """Just before it and just after it the guard is below zero again; the crossing is the first of its quarter."""
    at = 0.25 + 0.05 * piece
    step, theta, guard, asked = finely(-Polynomial.fromroots([at - 0.01, at + 0.01]))
    assert guard == 1 and theta == pytest.approx(at - 0.01, abs=1e-12)
    np.testing.assert_allclose(asked[: piece + 1], 0.25 + 0.05 * np.arange(piece + 1), rtol=1e-13)
    assert all(at - 0.05 - 1e-12 < x <= at for x in asked[piece + 1 :])
    assert step.s.guard_new[1] >= 0.0 > step.s.guard_old[1]


def test_states_of_looks_inside_a_step_are_those_of_its_path() -> None:
    """Brought to the constraints for no look but those that narrow a crossing down."""
    step = Step([Polynomial([-1.0, 0.5])])
    values = np.zeros(1)
    plain(crossings.watch_at, ask=ask)(step.answers, None, step.s, 0.37, values)
    assert values[0] == pytest.approx(-1.0 + 0.185, rel=1e-14) and step.asked[LOOK] == [pytest.approx(0.37)]
    step.s.guard_old[0], step.s.guard_new[0], step.s.open[0, 0] = -5.0, -4.0, CLEAR
    plain(crossings.glance_at, ask=ask)(step.answers, None, step.s, 0.61, True, 0, values)
    assert values[0] == -5.0 and step.asked[GLANCE] == [pytest.approx(0.61)]
    step.s.open[0, 0] = WITHIN
    plain(crossings.glance_at, ask=ask)(step.answers, None, step.s, 0.61, True, 0, values)
    assert values[0] == pytest.approx(-1.0 + 0.305, rel=1e-14)
    plain(crossings.glance_at, ask=ask)(step.answers, None, step.s, 0.2, False, 0, values)
    assert values[0] == pytest.approx(-0.9, rel=1e-14) and step.asked[LOOK][1:] == [pytest.approx(0.2)]
    assert step.asked[PROJECT] == []
