"""How the flow takes its steps: lengths, rejections, what is counted, samples and guards; and which method steps.

Steps are made up: each test says what a trial step is answered with.
"""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from sim.kernels import advance
from sim.kernels import stepper as kept
from sim.kernels.integrators import choice, integrate
from sim.kernels.integrators.integrate import DOP853, PRESSED, RADAU_IIA, RATTLE, RK4, SEMI_IMPLICIT
from sim.kernels.status import Status
from sim.kernels.stepper import (
    ACCEPTED,
    CALM,
    CROSSED,
    END,
    ERROR_BEFORE,
    EVALUATIONS,
    EXPLICIT_COST,
    FAILURES,
    FILLED,
    FOLLOWS,
    FRESH,
    H_BEFORE,
    MAX_STEP,
    MET,
    METHOD,
    NEXT_SAMPLE,
    PAID,
    PASS,
    RADIUS,
    RATE,
    REJECTED,
    REPLY,
    RETRY,
    RTOL,
    SMALL,
    SPENT,
    STEP,
    STEP_FIXED,
    STIFF,
    THETA,
    TRIAL,
    USUAL,
    WAITING,
    WINDOW,
    WINDOW_COST,
    H,
    T,
)
from sim.kernels.system import CLASSICAL, NORM, PROJECT, QUESTIONS, SAMPLE, SETTLE, SLOPE, START, STEPPING, TURNS, WATCH
from sim.kernels.tables import table
from tests.kernels.plain import ask, plain

pytestmark = pytest.mark.fast

NAN = math.nan


def stepper(method: int = DOP853, n: int = 4, guards: int = 0, **places: float) -> SimpleNamespace:
    """Return a stepper; places: what `clock` and `count` hold, by name."""
    rng = np.random.default_rng(1)
    k = rng.normal(size=(16, n))
    s = SimpleNamespace(
        k=k, rows=k.reshape(-1), dense=np.zeros((8, n)), clock=np.zeros(20), count=np.zeros(20, int),
        guard_old=np.full(guards, -1.0),
    )  # fmt: skip
    for name in ("y", "y_new", "y_work", "error"):
        setattr(s, name, rng.normal(size=n))
    s.clock[RTOL], s.clock[MAX_STEP], s.clock[STEP_FIXED], s.clock[RATE] = 1e-6, 10.0, 0.02, 100.0
    s.clock[T], s.clock[H], s.clock[PASS] = 3.0, 0.1, -1.0
    s.count[METHOD] = method
    for name, value in places.items():
        place = getattr(kept, name)
        (s.count if name in COUNTED else s.clock)[place] = value
    return s


COUNTED = {
    "ACCEPTED", "AUTO", "CALM", "CROSSED", "EVALUATIONS", "FAILURES", "FILLED", "FOLLOWS", "FRESH", "HALT",
    "KEEPS_RATES", "METHOD",
    "NEXT_SAMPLE", "PAID", "REJECTED", "SMALL", "STIFF", "TRIAL", "WAITING",
}  # fmt: skip


# --- lengths of steps ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "expected"),
    [(0.0, 1.6), (9.9e-10, 1.6), (0.005, 1.6), (0.05, 0.9 * 0.05**-0.125), (1.0, 0.9), (30.0, 0.9 * 30.0**-0.125),
        (5e3, 0.333)],
)  # fmt: skip
def test_explicit_steps_grow_by_the_eighth_root_of_what_is_allowed(error: float, expected: float) -> None:
    clock = np.zeros(20)
    assert plain(advance.growth)(False, 0.1, error, 3, 0.5, clock) == pytest.approx(expected, rel=1e-14)
    assert np.all(clock == 0.0)


@pytest.mark.parametrize("before", [None, (0.08, 0.3), (0.2, 0.02), (0.05, 0.9)])
@pytest.mark.parametrize("iterations", [1, 2, 5])
@pytest.mark.parametrize("error", [0.0, 1e-7, 0.003, 0.1, 0.4, 0.9, 3.0])
@pytest.mark.parametrize("theta", [0.0, 0.001, 0.2, 0.5])
def test_implicit_steps_follow_the_smallest_of_three_proposals(
    before: tuple | None, iterations: int, error: float, theta: float
) -> None:
    """Hairer and Wanner II, (8.19) and (8.25), with a safety factor that falls with iterations; and convergence."""
    clock, h = np.zeros(20), 0.1
    if before:
        clock[H_BEFORE], clock[ERROR_BEFORE] = before
    least = max(error, 1e-6)
    factor = 0.9 * min(1.0, 17.0 / (16.0 + iterations))
    proposals = [factor / least**0.25, (0.2 / theta) ** (1 / 3) if theta > 1e-6 else 6.0]
    if before:
        proposals.append(factor * h / before[0] * (before[1] / least) ** 0.25 / least**0.25)
    wanted = min(proposals)
    expected = 1.0 if 1.0 <= wanted < 1.2 else float(np.clip(wanted, 0.2, 6.0))
    assert plain(advance.growth)(True, h, error, iterations, theta, clock) == pytest.approx(expected, rel=1e-12)
    assert (clock[H_BEFORE], clock[ERROR_BEFORE]) == (h, max(error, 0.01))


def test_steps_that_would_grow_a_little_stay() -> None:
    for wanted, expected in ((0.999, 0.999), (1.001, 1.0), (1.199, 1.0), (1.201, 1.201)):
        error = (0.9 / wanted) ** 4
        assert plain(advance.growth)(True, 0.1, error, 1, 0.0, np.zeros(20)) == pytest.approx(expected, rel=1e-12)


def test_what_an_implicit_estimate_may_be() -> None:
    assert plain(advance.radau_tolerance)(1e-6) == pytest.approx(1e-5, rel=1e-12)
    assert plain(advance.radau_tolerance)(8e-9) == pytest.approx(4e-7, rel=1e-12)


@pytest.mark.parametrize(("theta", "expected"), [(0.2, 1.0), (0.025, 2.0), (1.6, 0.5), (0.9e-6, 6.0), (0.0, 6.0)])
def test_what_newtons_iteration_bears(theta: float, expected: float) -> None:
    assert plain(advance.bearable)(theta) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("ahead", "expected"),
    [(-0.3, 1.0), (0.05, 1.0), (0.1, 1.0), (0.11, 0.22), (0.4, 0.8), (0.6, 1.2), (0.61, 0.11), (1.4, 0.9), (1.49, 0.99),
     (1.5, 1.0), (4.0, 1.0)],
)  # fmt: skip
def test_a_place_is_passed_in_the_middle_of_a_step(ahead: float, expected: float) -> None:
    """Of the next one, if it is farther than that."""
    for h in (1.0, 0.03):
        assert plain(advance.about)(ahead * h, h) == pytest.approx(expected * h, rel=1e-12)


class Trials:
    """Trial steps that are answered in turn by (status, error), or by what PROJECT then replies, too."""

    def __init__(self, s: SimpleNamespace, *answers: tuple, theta: float = 0.0, projected: int = Status.OK):
        self.s, self.answers, self.theta, self.projected = s, list(answers), theta, projected
        self.reply, self.lengths, self.brought = table(REPLY, 1), [], []
        self.moved = 0.0

    def attempt(self, answers, system, reply, stepper, h):
        self.lengths.append(float(h))
        status, error, *moved = self.answers.pop(0)
        self.moved = moved[0] if moved else 0.0
        reply.iterations, reply.convergence = 1, self.theta
        return status, error

    def project(self, question, system, t, y, scratch):
        assert y is self.s.y_new and scratch is self.s.error
        self.brought.append(t)
        self.reply.moved = self.moved
        return self.projected

    def step(self, t_stop: float = 100.0) -> tuple[int, float]:
        answers = [None] * QUESTIONS
        answers[PROJECT] = self.project
        status, h = plain(advance.step, ask=ask, attempt=self.attempt)(answers, None, self.reply, self.s, t_stop)
        assert not self.answers
        return int(status), float(h)


def test_an_accepted_step_proposes_the_next() -> None:
    s = stepper()
    trials = Trials(s, (Status.OK, 0.05))
    assert trials.step() == (Status.OK, 0.1)
    assert s.clock[H] == pytest.approx(0.1 * 0.9 * 0.05**-0.125)
    assert trials.brought == [3.1] and (s.count[ACCEPTED], s.count[REJECTED]) == (1, 0)


@pytest.mark.parametrize(("method", "order"), [(DOP853, 8), (RADAU_IIA, 4)])
@pytest.mark.parametrize(("error", "shrinks"), [(1.5, None), (4.0, None), (1e8, 0.2)])
def test_a_step_that_errs_too_much_is_repeated_shorter_and_does_not_grow_then(
    method: int, order: int, error: float, shrinks: float | None
) -> None:
    s = stepper(method)
    trials = Trials(s, (Status.OK, error), (Status.OK, 1e-5))
    shorter = 0.1 * (shrinks or 0.9 * error ** (-1.0 / order))
    assert trials.step() == (Status.OK, pytest.approx(shorter))
    assert trials.lengths == [0.1, pytest.approx(shorter)] and trials.brought == [pytest.approx(3.0 + shorter)]
    assert s.clock[H] == pytest.approx(shorter) and (s.count[ACCEPTED], s.count[REJECTED]) == (1, 1)


def test_a_step_errs_by_as_much_as_it_may() -> None:
    assert Trials(stepper(), (Status.OK, 1.0)).step() == (Status.OK, 0.1)
    assert len(Trials(stepper(), (Status.OK, 1.0 + 1e-12), (Status.OK, 0.5)).answers) == 2


@pytest.mark.parametrize(("moved", "error"), [(3e-6, 3.0), (5e-7, 0.5), (1e-6, 1.0), (-1.0, 20.0), (0.0, 0.05)])
def test_how_far_a_step_was_off_the_constraints_counts_as_its_error(moved: float, error: float) -> None:
    """And twenty where its end is no place to stop."""
    s = stepper()
    good = error <= 1.0
    trials = Trials(s, (Status.OK, 0.05, moved), *([] if good else [(Status.OK, 0.05, 0.0)]))
    status, h = trials.step()
    first = 0.1 if good else 0.1 * 0.9 * error**-0.125
    assert (status, h) == (Status.OK, pytest.approx(first))
    assert s.clock[H] == pytest.approx(first * (0.9 * error**-0.125 if good else 1.0))


@pytest.mark.parametrize(
    ("method", "status", "theta", "share"),
    [(DOP853, Status.NOT_FINITE, 0.0, 0.3), (DOP853, Status.NOT_SOLVED, 0.0, 0.3), (RADAU_IIA, Status.NOT_FINITE,
        0.0, 0.3),
     (RADAU_IIA, Status.NOT_SOLVED, 0.0, 0.5), (RADAU_IIA, Status.NOT_SOLVED, 3.2, (0.2 / 3.2) ** (1 / 3)),
     (RADAU_IIA, Status.NOT_SOLVED, 1e3, 0.2)],
)  # fmt: skip
def test_a_step_that_cannot_be_made_is_tried_shorter(method: int, status: int, theta: float, share: float) -> None:
    s = stepper(method)
    trials = Trials(s, (status, 0.0), (Status.OK, 0.5), theta=theta)
    assert trials.step() == (Status.OK, pytest.approx(0.1 * share))


def test_a_step_that_cannot_be_brought_to_the_constraints_is_tried_shorter() -> None:
    s = stepper()
    trials = Trials(s, (Status.OK, 0.5), (Status.OK, 0.5), projected=Status.NO_CLOSURE)
    trials.answers += [(Status.OK, 0.5)] * 21
    assert trials.step() == (Status.NO_CLOSURE, pytest.approx(0.1 * 0.3**22, rel=1e-9))
    assert s.count[REJECTED] == 23 and s.count[ACCEPTED] == 0


@pytest.mark.parametrize(
    ("trial", "status"), [((Status.OK, 5.0), Status.STEP_TOO_SMALL), ((Status.NOT_FINITE, 0.0), Status.NOT_FINITE)]
)
def test_steps_of_less_than_a_picosecond_are_not_tried_again(trial: tuple, status: int) -> None:
    s = stepper(T=0.0, H=0.99e-12)
    assert Trials(s, trial).step() == (status, 0.99e-12)
    for h in (1e-12, 1.01e-12):
        assert Trials(stepper(T=0.0, H=h), trial, (Status.OK, 0.5)).step()[0] == Status.OK


def test_a_law_that_raised_ends_the_step() -> None:
    s = stepper()
    assert Trials(s, (Status.CALLBACK, 0.0)).step() == (Status.CALLBACK, 0.1)
    assert (s.count[ACCEPTED], s.count[REJECTED]) == (0, 0)


@pytest.mark.parametrize(("t", "least"), [(3.0, 12.0), (-3.0, 12.0), (0.0, 4e-9)])
def test_steps_that_time_cannot_hold_are_too_small(t: float, least: float) -> None:
    least *= np.finfo(float).eps
    trials = Trials(stepper(T=t, H=0.9 * least))
    assert trials.step() == (Status.STEP_TOO_SMALL, pytest.approx(0.9 * least)) and trials.lengths == []
    assert Trials(stepper(T=t, H=1.1 * least), (Status.OK, 0.5)).step()[0] == Status.OK
    # But for the last one, to an end that is as near.
    assert Trials(stepper(T=t, H=1.0), (Status.OK, 0.5)).step(t + 0.9 * least if t == 0.0 else np.nextafter(t,
        9.0))[0] == Status.OK  # fmt: skip


def test_no_step_is_longer_than_allowed() -> None:
    s = stepper(H=0.1, MAX_STEP=0.03)
    assert Trials(s, (Status.OK, 0.5)).step() == (Status.OK, 0.03)


@pytest.mark.parametrize(
    ("t_stop", "expected"),
    [(3.1, 0.1), (3.0999, 0.0999), (3.1 + 0.9e-7, 0.1 + 0.9e-7), (3.1 + 1.2e-7, 0.05 + 0.6e-7), (3.15, 0.075),
        (3.199, 0.0995),
     (3.201, 0.1), (3.05, 0.05)],
)  # fmt: skip
def test_the_last_steps_meet_the_end(t_stop: float, expected: float) -> None:
    """Two equal steps rather than a long and a tiny one."""
    s = stepper()
    status, h = Trials(s, (Status.OK, 0.5)).step(t_stop)
    assert (status, h) == (Status.OK, pytest.approx(expected, abs=1e-13))
    proposal = expected * 0.9 * 0.5**-0.125
    assert s.clock[H] == pytest.approx(max(proposal, 0.1) if t_stop <= 3.1000001 else proposal)


def test_a_step_that_was_cut_by_the_end_leaves_the_longer_proposal() -> None:
    s = stepper(H=0.5)
    assert Trials(s, (Status.OK, 0.5)).step(3.2)[1] == pytest.approx(0.2)
    assert s.clock[H] == 0.5


@pytest.mark.parametrize(("ahead", "first"), [(0.04, 0.08), (0.12, 0.07), (0.3, 0.1)])
def test_a_singular_position_is_passed_amid_a_step_and_shortens_none_but_that(ahead: float, first: float) -> None:
    s = stepper(PASS=3.0 + ahead)
    trials = Trials(s, (Status.OK, 0.5))
    assert trials.step()[1] == pytest.approx(first)
    assert s.clock[H] == pytest.approx(max(0.1, first * 0.9 * 0.5**-0.125) if first < 0.1 else 0.1 * 0.9 * 0.5**-0.125)
    # A step that was rejected is shortened no more.
    again = Trials(stepper(PASS=3.0 + ahead), (Status.OK, 3.0), (Status.OK, 0.5))
    again.step()
    assert again.lengths[1] == pytest.approx(again.lengths[0] * 0.9 * 3.0**-0.125)


@pytest.mark.parametrize("method", [RK4, SEMI_IMPLICIT, PRESSED, RATTLE])
def test_steps_of_fixed_length_are_not_repeated(method: int) -> None:
    s = stepper(method)
    trials = Trials(s, (Status.OK, 0.0, 1.0))
    assert trials.step() == (Status.OK, 0.02) and s.clock[H] == 0.1
    assert trials.brought == ([] if method == RATTLE else [pytest.approx(3.02)])
    assert Trials(s, (Status.OK, 0.0)).step(3.03) == (Status.OK, 0.02)
    assert Trials(s, (Status.OK, 0.0)).step(3.01) == (Status.OK, pytest.approx(0.01))
    assert Trials(s, (Status.NOT_SOLVED, 0.0)).step() == (Status.NOT_SOLVED, 0.02)
    assert Trials(s, (Status.OK, 2.0)).step() == (Status.STEP_TOO_SMALL, 0.02)
    assert (s.count[ACCEPTED], s.count[REJECTED]) == (3, 2)
    if method != RATTLE:
        assert Trials(s, (Status.OK, 0.0), projected=Status.NO_CLOSURE).step() == (Status.NO_CLOSURE, 0.02)


# --- trial steps --------------------------------------------------------------------------------------------

TOLD = {"dop853_step": Status.OK, "rk4_step": Status.OK, "semi_implicit_step": Status.OK, "rattle_step": Status.OK}


@pytest.mark.parametrize(
    ("method", "made", "evaluations", "cost", "radius", "error"),
    [
        (DOP853, "dop853_step", 11, 12.0, 0.0, 0.3 / 1e-6), (RADAU_IIA, "radau_step", 7, 8.5, 33.0, 4.0 / 1e-5),
        (RK4, "rk4_step", 3, 0.0, 0.0, 0.0), (SEMI_IMPLICIT, "semi_implicit_step", 0, 0.0, 0.0, 0.0),
        (RATTLE, "rattle_step", 7, 0.0, 0.0, 0.0), (PRESSED, STEPPING, 0, 0.0, 0.0, 0.0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("status", [Status.OK, Status.NOT_SOLVED])
def test_each_method_makes_its_step_and_counts_what_it_costs(
    method: int, made: object, evaluations: int, cost: float, radius: float, error: float, status: int
) -> None:
    s, calls, reply = stepper(method), [], table(REPLY, 1)
    reply.iterations, reply.evaluations, reply.cost, reply.radius, reply.convergence = 5, 7, 8.5, 33.0, 0.1

    def told(name):
        def make(*arguments):
            h = arguments[-2]
            calls.append((name if name != "asked_step" else arguments[1], h))
            return (status, 4.0) if name == "radau_step" else status

        return make

    names = ("dop853_step", "rk4_step", "semi_implicit_step", "rattle_step", "radau_step", "asked_step")
    run = plain(advance.attempt, **{name: told(name) for name in names}, dop853_error=lambda *_: 0.3)
    if method == RADAU_IIA:
        s.clock[RTOL] = 1e-6
    found = run([0] * QUESTIONS, None, reply, s, 0.1)
    expected = 0.0 if status != Status.OK and method == DOP853 else error
    assert found == (status, pytest.approx(expected)) and calls == [(made, 0.1)]
    assert s.count[EVALUATIONS] == evaluations and s.clock[RADIUS] == radius
    assert (s.clock[WINDOW_COST], s.clock[SPENT]) == (cost, cost)
    for place in (0, 3):
        s.y_new[place] = NAN
        ends = (Status.NOT_FINITE, math.inf) if status == Status.OK else (status, pytest.approx(expected))
        assert run([0] * QUESTIONS, None, reply, s, 0.1) == ends
        s.y_new[place] = 1.0


def test_where_rows_bind_rates_the_classical_method_keeps_to_them() -> None:
    s, calls, answers = stepper(RK4, KEEPS_RATES=1), [], [0] * QUESTIONS
    run = plain(advance.attempt, asked_step=lambda *a: calls.append(a[1]) or Status.OK, rk4_step=None)
    assert run(answers, None, table(REPLY, 1), s, 0.1) == (Status.OK, 0.0)
    assert calls == [CLASSICAL] and s.count[EVALUATIONS] == 3


# --- a system of which all is known -------------------------------------------------------------------------


class System:
    """y'' = -4 y with the work y' put in, as a mechanism answers; `log` tells what was asked."""

    def __init__(self, first: float = 0.01, ahead: float = -1.0, statuses: dict[int, int] | None = None):
        self.reply, self.log, self.statuses = table(REPLY, 1), [], statuses or {}
        self.first, self.ahead = first, ahead
        self.answers = [None] * QUESTIONS
        for question in (START, SLOPE, SETTLE, PROJECT, TURNS, NORM, WATCH, CLASSICAL, SAMPLE):
            self.answers[question] = self.answer

    @staticmethod
    def slope(t: float, y: np.ndarray) -> np.ndarray:
        return np.array([y[1], -4.0 * y[0], y[1], 0.5])

    def answer(self, question, system, t, a, b):
        self.log.append((question, float(t)))
        if question in (SLOPE, SETTLE):
            b[:] = self.slope(t, a)
            if question == SETTLE:
                self.reply.first_step, self.reply.ahead = self.first, self.ahead
        elif question == NORM:
            self.reply.error = np.mean(b**2)
        elif question == WATCH:
            b[:] = -1.0
        elif question == SAMPLE:
            b[:] = [t, *a]
        else:
            self.reply.moved = 0.0
        return self.statuses.get(question, Status.OK)


@pytest.mark.parametrize("guards", [0, 2])
def test_a_flow_begins_on_the_constraints_with_slope_guards_and_a_first_step(guards: int) -> None:
    for before, expected in ((0.0, 0.01), (-1.0, 0.01), (0.3, 0.3)):
        s, system = stepper(guards=guards, H=before, FOLLOWS=1), System(ahead=0.7)
        begin = plain(advance.begin, ask=ask)
        assert begin(system.answers, None, system.reply, s) == Status.OK
        asked = [START, *([WATCH, PROJECT] if guards else []), SETTLE]
        assert system.log == [(question, 3.0) for question in asked]
        assert (s.clock[H], s.clock[PASS]) == (expected, 3.7)
        assert (s.count[EVALUATIONS], s.count[FRESH], s.count[FOLLOWS]) == (1, 1, -1)
        np.testing.assert_array_equal(s.k[0], System.slope(3.0, s.y))
    s = stepper(H=0.0, MAX_STEP=0.004)
    begin(system.answers, None, system.reply, s)
    assert s.clock[H] == 0.004
    for question, asked in ((START, [START]), (SETTLE, [START, SETTLE])):
        s, system = stepper(), System(statuses={question: Status.NO_CLOSURE})
        assert begin(system.answers, None, system.reply, s) == Status.NO_CLOSURE
        assert [one for one, _ in system.log] == asked and s.count[FRESH] == 0 and s.clock[PASS] == -1.0


def test_a_step_ends_with_its_slope() -> None:
    s, system = stepper(SMALL=5), System(ahead=0.7)
    finish = plain(advance.finish, ask=ask)
    assert finish(system.answers, None, system.reply, s, 0.1) == Status.OK
    assert system.log == [(SETTLE, 3.1)] and s.clock[PASS] == pytest.approx(3.8)
    np.testing.assert_array_equal(s.k[12], System.slope(3.1, s.y_new))
    assert (s.count[EVALUATIONS], s.count[SMALL]) == (1, 0)
    s, system = stepper(SMALL=5), System(ahead=0.7, statuses={SETTLE: Status.INCONSISTENT})
    assert finish(system.answers, None, system.reply, s, 0.1) == Status.INCONSISTENT and s.count[SMALL] == 5


@pytest.mark.parametrize(
    ("h", "small", "status", "after"),
    [(0.9e-8, 5, Status.OK, 6), (0.9e-8, 999, Status.OK, 1000), (0.9e-8, 1000, Status.STEP_TOO_SMALL, 1001),
     (1e-8, 1000, Status.OK, 0)],
)  # fmt: skip
def test_a_thousand_tiny_steps_are_a_stall(h: float, small: int, status: int, after: int) -> None:
    s, system = stepper(SMALL=small), System()
    assert plain(advance.finish, ask=ask)(system.answers, None, system.reply, s, h) == status
    assert s.count[SMALL] == after


@pytest.mark.parametrize("method", [DOP853, RADAU_IIA, RK4, SEMI_IMPLICIT, RATTLE, PRESSED])
@pytest.mark.parametrize("guards", [0, 2])
@pytest.mark.parametrize("due", [True, False])
def test_a_stride_is_interpolated_where_somebody_looks(method: int, guards: int, due: bool) -> None:
    s = stepper(method, guards=guards, NEXT_SAMPLE=305 if due else 311, AUTO=1, CROSSED=7)
    before, calls, reply = s.y_new.copy(), [], table(REPLY, 1)
    reply.struck = 1

    def made(name, result=None):
        return lambda *arguments: calls.append((name, arguments)) or result

    parts = ("dop853_dense", "radau_dense", "straight", "hermite", "note_rate")
    run = plain(
        advance.stride, step=made("step", (Status.OK, 0.1)), finish=made("finish", Status.OK),
        first_crossing=made("first_crossing", (0.25, 1)), **{name: made(name) for name in parts},
    )  # fmt: skip
    assert run([], None, reply, s, 50.0) == Status.OK
    names = [name for name, _ in calls]
    dense = {DOP853: "dop853_dense", RADAU_IIA: "radau_dense", PRESSED: "straight"}.get(method, "hermite")
    looked = due or guards > 0
    rate = ["note_rate"] if method == DOP853 else []
    assert names == ["step", "finish", *rate, *([dense] if looked else []), *(["first_crossing"] if guards else [])]
    assert s.count[EVALUATIONS] == (3 if method == DOP853 and looked else 0)
    assert calls[1][1][-1] == 0.1 and calls[0][1][-1] == 50.0
    told = dict(calls)
    if looked and method == DOP853:
        assert told[dense][2:4] == (3.0, 0.1)
    if looked and method == PRESSED:
        assert bool(told[dense][2]) is True
        reply.struck = 0
        assert run([], None, reply, s, 50.0) == Status.OK and bool(dict(calls)[dense][2]) is False
        return
    assert s.clock[STEP] == 0.1 and s.count[CROSSED] == (1 if guards else -1)
    assert s.clock[END] == pytest.approx(3.025 if guards else 3.1, abs=1e-15)
    assert s.clock[THETA] == (0.25 if guards else 0.0)
    works = before[2:] if method != RATTLE else s.y[2:] + 0.05 * (s.k[0] + s.k[12])[2:]
    np.testing.assert_allclose(s.y_new, [*before[:2], *works], rtol=1e-14)


def test_a_stride_without_a_crossing_ends_with_its_step_or_at_the_stop() -> None:
    for t_stop, end in ((3.1 + 0.9e-7, 3.1 + 0.9e-7), (3.1 + 1.1e-7, 3.1), (3.1 - 1e-9, 3.1 - 1e-9), (50.0, 3.1)):
        s = stepper(RK4, guards=1, NEXT_SAMPLE=1000)
        run = plain(
            advance.stride, step=lambda *_: (Status.OK, 0.1), finish=lambda *_: Status.OK,
            first_crossing=lambda *_: (2.0, -1), hermite=lambda *_: None,
        )  # fmt: skip
        assert run([], None, np.zeros(6), s, t_stop) == Status.OK
        assert s.clock[END] == pytest.approx(end, abs=1e-14) and s.count[CROSSED] == -1
        assert s.clock[THETA] == 0.0


def test_a_millionth_of_a_step_is_left_where_it_is_no_less() -> None:
    """From -0.1 s in one step to zero, so that no roundoff decides."""
    for left, end in ((1e-6 * 0.1, 0.0), (0.999e-6 * 0.1, 0.999e-6 * 0.1)):
        s = stepper(RK4, NEXT_SAMPLE=1000, T=-0.1)
        run = plain(advance.stride, step=lambda *_: (Status.OK, 0.1), finish=lambda *_: Status.OK)
        assert run([], None, np.zeros(6), s, left) == Status.OK and s.clock[END] == end


def test_a_guard_that_is_the_first_one_counts() -> None:
    s = stepper(RK4, guards=1)
    run = plain(
        advance.stride, step=lambda *_: (Status.OK, 0.1), finish=lambda *_: Status.OK,
        first_crossing=lambda *_: (0.5, 0), hermite=lambda *_: None,
    )  # fmt: skip
    run([], None, np.zeros(6), s, 50.0)
    assert (s.count[CROSSED], s.clock[THETA]) == (0, 0.5) and s.clock[END] == pytest.approx(3.05)


@pytest.mark.parametrize(("auto", "method"), [(0, DOP853), (1, RADAU_IIA), (1, DOP853)])
def test_stiffness_is_looked_for_in_explicit_steps_where_the_method_is_open(auto: int, method: int) -> None:
    noted: list = []
    run = plain(
        advance.stride, step=lambda *_: (Status.OK, 0.1), finish=lambda *_: Status.OK,
        note_rate=lambda stepper, h: noted.append(h),
    )  # fmt: skip
    assert run([], None, np.zeros(6), stepper(method, AUTO=auto, NEXT_SAMPLE=1000), 50.0) == Status.OK
    assert noted == ([0.1] if auto and method == DOP853 else [])


def test_a_stride_that_fails_tells_why() -> None:
    s = stepper(NEXT_SAMPLE=1000)
    assert plain(advance.stride, step=lambda *_: (Status.NOT_SOLVED, 0.1))([], None, None, s, 50.0) == Status.NOT_SOLVED
    run = plain(advance.stride, step=lambda *_: (Status.OK, 0.1), finish=lambda *_: Status.INCONSISTENT)
    assert run([], None, None, s, 50.0) == Status.INCONSISTENT and s.clock[STEP] == 0.0


# --- the flow -----------------------------------------------------------------------------------------------


def flow(s: SimpleNamespace, system: System, t_stop: float, rows: int = 100, steps: int = 1000) -> tuple:
    """Advance; returns (status, guard, rows that were filled)."""
    out = np.full((rows, 1 + len(s.y)), NAN)
    found = plain(advance.advance, ask=ask)(system.answers, None, system.reply, s, out, t_stop, steps)
    return int(found[0]), int(found[1]), out[: s.count[FILLED]]


@pytest.mark.parametrize(("method", "close"), [(DOP853, 1e-8), (RK4, 1e-6)])
def test_samples_and_ends_are_those_of_the_motion(method: int, close: float) -> None:
    s, system = stepper(method, H=0.0, NEXT_SAMPLE=301, RTOL=1e-10, RATE=100.0), System()
    y = s.y.copy()
    status, guard, rows = flow(s, system, 4.0)
    assert (status, guard) == (Status.REACHED, -1) and s.clock[T] == 4.0
    exact = solve_ivp(System.slope, (3.0, 4.0), y, "DOP853", rtol=1e-13, atol=1e-13, dense_output=True).sol
    np.testing.assert_allclose(rows[:, 0], np.arange(301, 400) / 100.0, rtol=1e-15)  # the end belongs to the next step
    np.testing.assert_allclose(rows[:, 1:], exact(rows[:, 0]).T, rtol=0, atol=close)
    np.testing.assert_allclose(s.y, exact(4.0), rtol=0, atol=close)
    np.testing.assert_array_equal(s.k[0], System.slope(4.0, s.y))
    assert s.count[FOLLOWS] == 1 and s.count[FRESH] == 1 and s.count[NEXT_SAMPLE] == 400
    taken, evaluations = s.count[ACCEPTED], s.count[EVALUATIONS]
    # A stage more at the start; dense output takes three where a sample falls into the step.
    assert evaluations == 1 + taken * (4 if method == RK4 else 12) + 11 * s.count[REJECTED] + (
        0 if method == RK4 else 3 * len({np.searchsorted(ends(system), t, "right") for t in rows[:, 0]})
    )
    assert [t for question, t in system.log if question == TURNS] == ends(system)


def ends(system: System) -> list[float]:
    """Return when steps ended: each is followed by a look at the turns of loop joints."""
    return [t for question, t in system.log if question == TURNS]


def test_a_flow_in_pieces_is_the_same_flow() -> None:
    """Paused after each step and wherever there is no more room for samples."""
    whole, _ = stepper(H=0.0, NEXT_SAMPLE=301), None
    _, _, expected = flow(whole, System(), 4.0)
    s, system, found, status = stepper(H=0.0, NEXT_SAMPLE=301), System(), [], Status.PAUSE
    pauses = 0
    while status == Status.PAUSE:
        s.count[FILLED] = 0
        status, _, rows = flow(s, system, 4.0, rows=3, steps=1)
        found.append(rows.copy())
        pauses += 1
    assert status == Status.REACHED and pauses > 30
    np.testing.assert_array_equal(np.concatenate(found), expected)
    np.testing.assert_array_equal(s.y, whole.y)
    np.testing.assert_array_equal(s.count, [*whole.count[:FILLED], s.count[FILLED], *whole.count[FILLED + 1 :]])


def test_a_flow_that_has_reached_the_stop_stays() -> None:
    s, system = stepper(FRESH=1), System()
    assert flow(s, system, 3.0)[:2] == (Status.REACHED, -1) and system.log == []
    assert flow(s, system, 4.0, steps=0)[:2] == (Status.PAUSE, -1) and system.log == []


@pytest.mark.parametrize("question", [START, SETTLE])
def test_a_flow_that_cannot_go_on_tells_why(question: int) -> None:
    system = System(statuses={question: Status.INCONSISTENT})
    assert flow(stepper(), system, 4.0)[:2] == (Status.INCONSISTENT, -1)
    s = stepper(FRESH=1)
    if question == SETTLE:
        assert flow(s, system, 4.0)[:2] == (Status.INCONSISTENT, -1) and s.clock[T] == 3.0


@pytest.mark.parametrize("guard", [0, 3])
def test_a_flow_stops_at_its_first_guard(guard: int) -> None:
    s, system = stepper(RK4, guards=4, FRESH=1, NEXT_SAMPLE=301), System()
    s.k[0] = System.slope(3.0, s.y)
    run = plain(advance.advance, ask=ask, first_crossing=lambda *_: (0.75, guard))
    rows = np.zeros((9, 5))
    y = s.y.copy()
    assert run(system.answers, None, system.reply, s, rows, 4.0, 5) == (Status.GUARD, guard)
    exact = solve_ivp(System.slope, (3.0, 3.015), y, "DOP853", rtol=1e-13, atol=1e-13, dense_output=True).sol
    assert s.clock[T] == pytest.approx(3.015) and s.count[FRESH] == 0 and s.count[WAITING] == 0
    np.testing.assert_allclose(s.y, exact(3.015), atol=1e-5)
    assert s.count[FILLED] == 1 and rows[0, 0] == 3.01
    assert system.log[-1] == (TURNS, pytest.approx(3.015)) and PROJECT in [question for question, _ in system.log[-3:]]


def test_a_flow_pauses_where_another_method_takes_over() -> None:
    s, system, asked = stepper(RK4, FRESH=1, NEXT_SAMPLE=1000), System(), []
    run = plain(advance.advance, ask=ask, choose=lambda stepper, t, h: asked.append((t, h)) or len(asked) == 2)
    assert run(system.answers, None, system.reply, s, np.zeros((9, 5)), 4.0, 5) == (Status.PAUSE, -1)
    assert asked == [(pytest.approx(3.02), 0.02), (pytest.approx(3.04), 0.02)] and s.clock[T] == pytest.approx(3.04)


# --- which method -------------------------------------------------------------------------------------------


def test_the_rate_of_stages_is_that_by_which_neighbours_part() -> None:
    """Of the two last states and slopes, without the works."""
    rng = np.random.default_rng(2)
    a, b, f, g = (rng.normal(size=6) for _ in range(4))
    expected = np.linalg.norm((f - g)[:4]) / np.linalg.norm((a - b)[:4])
    assert plain(choice.rate_of_stages)(a, b, f, g) == pytest.approx(expected, rel=1e-14)
    b[:4] = a[:4]
    assert plain(choice.rate_of_stages)(a, b, f, g) == 0.0


@pytest.mark.parametrize("rate", [3.0, 80.0])
def test_the_rate_of_a_linear_motion_is_its_own(rate: float) -> None:
    s, h, answers = stepper(n=3), 0.1, [None] * QUESTIONS

    def slope(question, system, t, y, out):
        out[:] = -rate * y
        return Status.OK

    answers[SLOPE] = slope
    slope(SLOPE, None, 3.0, s.y, s.k[0])
    plain(integrate.dop853_step, ask=ask)(answers, None, 3.0, h, s)
    slope(SLOPE, None, 3.1, s.y_new, s.k[12])
    plain(choice.note_rate)(s, h)
    assert s.clock[RADIUS] == pytest.approx(rate, rel=1e-9)


def test_costs_add_up() -> None:
    s = stepper(WINDOW_COST=5.0, SPENT=7.0)
    plain(choice.note_cost)(s, 12.0)
    assert (s.clock[WINDOW_COST], s.clock[SPENT]) == (17.0, 19.0)


def test_another_method_begins_anew() -> None:
    s = stepper()
    s.clock[:], s.count[:] = np.arange(20) + 100.0, np.arange(20) + 200
    plain(choice.change)(s, RADAU_IIA, 5.0)
    clock, count = np.arange(20) + 100.0, np.arange(20) + 200
    clock[[WINDOW, WINDOW_COST, SPENT, H_BEFORE]] = 5.0, 0.0, 0.0, 0.0
    count[[METHOD, FOLLOWS, STIFF, CALM, TRIAL]] = RADAU_IIA, -1, 0, 0, 0
    np.testing.assert_array_equal(s.clock, clock)
    np.testing.assert_array_equal(s.count, count)


def explicit(s: SimpleNamespace, rates: list[float], h: float = 0.1) -> list[bool]:
    """Watch explicit steps of these rates, each of cost 12."""
    found = []
    for rate in rates:
        s.clock[RADIUS] = rate
        s.clock[T] += h
        plain(choice.note_cost)(s, 12.0)
        found.append(bool(plain(choice.watch_explicit)(s, s.clock[T], h)))
    return found


def test_fifteen_steps_at_the_edge_of_stability_are_stiff() -> None:
    s = stepper()
    assert explicit(s, [44.0, *[45.1] * 15]) == [False] * 15 + [True]
    # What a second has cost since the last calm step.
    assert s.clock[WINDOW] == pytest.approx(3.1) and s.clock[EXPLICIT_COST] == pytest.approx(15 * 12.0 / 1.5)
    s = stepper()
    assert explicit(s, [45.0] * 40) == [False] * 40  # times 0.1 s is the edge itself


@pytest.mark.parametrize(("factor", "stiff"), [(1.9, True), (2.1, False), (0.55, True), (0.45, False)])
def test_only_rates_that_are_alike_make_a_scene_stiff(factor: float, stiff: bool) -> None:
    """Where sliding begins or ends it changes from step to step: the count begins anew, and the window with it."""
    s = stepper()
    found = explicit(s, [200.0] * 5 + [200.0 * factor] * 10)
    assert found == [False] * 14 + [stiff]
    if not stiff:
        assert s.count[STIFF] == 10 and s.clock[MET] == 200.0 * factor and s.clock[WINDOW] == pytest.approx(3.6)
        assert s.clock[WINDOW_COST] == 9 * 12.0


def test_three_steps_suffice_where_implicit_ones_have_paid() -> None:
    assert explicit(stepper(PAID=1), [46.0] * 3) == [False, False, True]
    assert explicit(stepper(PAID=0), [46.0] * 3) == [False] * 3


def test_six_calm_steps_clear_a_scene_five_do_not() -> None:
    s = stepper()
    assert explicit(s, [46.0] * 10 + [1.0] * 5 + [46.0] * 5) == [False] * 19 + [True]
    s = stepper()
    assert explicit(s, [46.0] * 10 + [1.0] * 6 + [46.0] * 14) == [False] * 30
    assert s.count[STIFF] == 14 and s.clock[WINDOW] == pytest.approx(4.6) and s.clock[WINDOW_COST] == 14 * 12.0
    # Calm steps count only where they follow each other.
    s = stepper()
    explicit(s, [46.0] * 3 + [1.0] * 5 + [46.0] + [1.0] * 5)
    assert (s.count[STIFF], s.count[CALM]) == (4, 5)


def test_a_step_that_is_rejected_again_and_again_is_shortened_faster() -> None:
    """As if the method were of lower order from the third time on."""
    for radau, order in ((False, 8.0), (True, 4.0)):
        found = [plain(advance.shrinkage)(radau, 5.0, n) for n in (1, 2, 3, 4, 6)]
        expected = [0.9 * 5.0 ** (-power / order) for power in (1.0, 1.0, 1.5, 2.0, 3.0)]
        assert found == pytest.approx([max(0.2, one) for one in expected], rel=1e-14)
    assert plain(advance.shrinkage)(False, 1e30, 1) == 0.2


def test_how_long_explicit_steps_usually_are_is_remembered_for_a_while() -> None:
    """It is at least the last one, and falls by three per cent with each that is shorter; implicit ones say nothing."""
    s = stepper(USUAL=0.5)
    step = plain(advance.step, ask=ask)
    s.clock[H] = 0.1
    assert step(System().answers, None, System().reply, s, 9.0)[0] == Status.OK
    assert s.clock[USUAL] == pytest.approx(0.97 * 0.5, rel=1e-15)
    s.clock[H], s.clock[USUAL] = 0.1, 0.05
    _, h = step(System().answers, None, System().reply, s, 9.0)
    assert s.clock[USUAL] == h


def test_after_a_vain_trial_so_much_is_spent_first() -> None:
    for retry, expected in ((179.9, [True]), (180.0, [True]), (180.1, [False])):
        s = stepper(RETRY=retry, WINDOW=3.0)
        assert explicit(s, [46.0] * 15)[-1:] == expected
    s = stepper(STIFF=20, WINDOW=3.1)
    assert explicit(s, [46.0]) == [False]  # no time has passed


def implicit(s: SimpleNamespace, count: int, cost: float, radius: float, h: float = 0.1) -> list[bool]:
    found = []
    for _ in range(count):
        s.clock[RADIUS] = radius
        s.clock[T] += h
        plain(choice.note_cost)(s, cost)
        found.append(bool(plain(choice.watch_implicit)(s, s.clock[T])))
    return found


def test_a_trial_that_costs_more_is_in_vain_and_doubles_the_wait() -> None:
    for failures, wait in ((0, 1.0), (1, 2.0), (4, 16.0), (19, 2.0**19), (20, 2.0**19)):
        s = stepper(RADAU_IIA, EXPLICIT_COST=99.0, FAILURES=failures)
        assert implicit(s, 16, 10.0, 1e6) == [False] * 15 + [True]
        assert s.count[FAILURES] == min(failures + 1, 20) and s.clock[RETRY] == pytest.approx(20.0 * 160.0 * wait)
        assert s.count[TRIAL] == 16 and s.clock[WINDOW] == pytest.approx(3.6)


@pytest.mark.parametrize("paid", [0, 1])
@pytest.mark.parametrize(("cost", "vain"), [(39.3, False), (39.4, True)])
def test_a_trial_ends_early_where_stability_would_allow_explicit_steps_at_half_its_cost(
    cost: float, vain: bool, paid: int
) -> None:
    """A Jacobian for each step, as where sliding begins; the first is needed in any case."""
    s = stepper(RADAU_IIA, EXPLICIT_COST=1e9, PAID=paid)
    assert implicit(s, 1, 1e4, 100.0) == [False]
    assert implicit(s, 3, cost, 100.0) == [False, False, vain]
    assert s.clock[WINDOW_COST] == pytest.approx(3.0 * cost)
    assert s.clock[RETRY] == pytest.approx(20.0 * (1e4 + 3.0 * cost) if vain else 0.0)
    assert (s.count[FAILURES], s.count[PAID]) == (int(vain), paid)


def test_six_steps_settle_before_ten_are_measured() -> None:
    """The first six cost a lot, as a Jacobian is found."""
    s = stepper(RADAU_IIA, EXPLICIT_COST=101.0)
    assert implicit(s, 6, 1e4, 1e6) == [False] * 6 and s.clock[WINDOW_COST] == 0.0
    assert implicit(s, 10, 10.0, 1e6) == [False] * 10
    assert s.clock[RETRY] == -1.0 and s.count[PAID] == 1 and s.count[TRIAL] == 6
    assert s.clock[WINDOW] == pytest.approx(4.6) and s.clock[WINDOW_COST] == 0.0 and s.count[FAILURES] == 0
    # From then on it may cost what it will, and is measured every ten steps.
    assert implicit(s, 10, 1e3, 1e6) == [False] * 10 and s.count[TRIAL] == 6
    assert s.clock[WINDOW] == pytest.approx(5.6)


@pytest.mark.parametrize(("share", "returns"), [(0.99, True), (1.01, False)])
@pytest.mark.parametrize("tried", [0.0, -1.0])
def test_explicit_steps_go_on_where_stability_would_allow_them_cheaply(
    share: float, returns: bool, tried: float
) -> None:
    """12 evaluations a step of 6.1 over the rate: less than 0.6 of what implicit steps cost a second."""
    radius = share * 0.6 * 100.0 * 6.1 / 12.0
    s = stepper(RADAU_IIA, EXPLICIT_COST=101.0, RETRY=tried, FAILURES=3)
    assert implicit(s, 16, 10.0, radius) == [False] * 15 + [returns]
    assert (s.clock[RETRY], s.count[FAILURES]) == ((0.0, 0) if returns else (-1.0, 3))


def test_implicit_steps_without_time_are_not_measured() -> None:
    s = stepper(RADAU_IIA, EXPLICIT_COST=99.0)
    assert implicit(s, 30, 10.0, 1e6, h=0.0) == [False] * 30


@pytest.mark.parametrize("auto", [0, 1])
def test_the_other_method_takes_over_only_where_that_is_left_open(auto: int) -> None:
    watched = {"watch_explicit": lambda s, t, h: (t, h) == (5.0, 0.1), "watch_implicit": lambda s, t: t == 5.0}
    for method, other in ((DOP853, RADAU_IIA), (RADAU_IIA, DOP853)):
        s = stepper(method, AUTO=auto)
        assert bool(plain(choice.choose, **watched)(s, 5.0, 0.1)) is bool(auto)
        assert s.count[METHOD] == (other if auto else method)
        s = stepper(method, AUTO=auto)
        assert not plain(choice.choose, **watched)(s, 4.0, 0.1) and s.count[METHOD] == method
