"""How rollouts follow each state, with motions that are made up; torques that follow the forces that they change."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from sim.kernels import feedback, rollouts
from sim.kernels.integrators.integrate import DOP853, PRESSED
from sim.kernels.scratch import CONTACT_CONSTRAINT, STEPPED
from sim.kernels.shapes import MEETING
from sim.kernels.status import Status
from sim.kernels.stepper import ACCEPTED, FOLLOWS, FRESH, METHOD, REPLY, STEP_FIXED, T
from sim.kernels.system import FEED, GLANCE, QUESTIONS, SETTLE, START, STEPPING, STORE, TURNS, WATCH
from sim.kernels.tables import table
from sim.kernels.watched import GUARD
from tests.kernels.plain import ask, plain

pytestmark = pytest.mark.fast

NQ, NV = 3, 2


def parts(guards: int = 3) -> tuple:
    """Return (stepper, guards, control) with stops 2, 0, 1 behind the guards, of which the last is touched."""
    owned = table(GUARD, guards)
    owned.owner[:] = [2, 0, 1][:guards]
    control = SimpleNamespace(engaged=np.array([0, 1, 0]), held=np.array([0.5, -1.0]))
    s = SimpleNamespace(
        y=np.arange(1.0, NQ + NV + 3.0), error=np.zeros(NQ + NV + 2), guard_old=np.zeros(guards),
        guard_new=np.zeros(guards),
        clock=np.zeros(20), count=np.full(20, 7), k=np.zeros((16, NQ + NV + 2)),
    )  # fmt: skip
    s.clock[T] = 2.5
    return s, SimpleNamespace(table=owned), control


def test_a_stop_changes_sides() -> None:
    _, guards, control = parts()
    plain(rollouts.touch)(0, guards, control)
    plain(rollouts.touch)(2, guards, control)
    assert control.engaged.tolist() == [0, 0, 1] and guards.table.direction.tolist() == [-1.0, 0.0, 1.0]


def test_all_numbers_of_a_state_have_to_be_finite() -> None:
    finite = plain(rollouts.finite)
    assert finite(np.ones(3))
    for place in range(3):
        for none in (math.nan, math.inf, -math.inf):
            y = np.ones(3)
            y[place] = none
            assert not finite(y)


def set_out(
    values: tuple = (-1.0, 0.0, 2.0), begun: int = Status.OK, end: float = 1.0, first: float = 1.0,
    method: int = DOP853, fed: int = 1,
) -> tuple:  # fmt: skip
    s, guards, control = parts()
    s.y[1], log, answers = first, [], [None] * QUESTIONS
    s.count[METHOD], control.fed = method, np.zeros(fed)

    def watch(question, system, t, y, out):
        log.append((question, t, out is s.guard_old, out is s.error))
        assert y is s.y
        if question == WATCH:
            out[:] = values
        return Status.OK

    def begin(answers, system, reply, stepper):
        log.append("begin")
        stepper.y[1] = end
        return begun

    answers[WATCH] = answers[TURNS] = watch

    def foresee(answers, system, reply, stepper, work):
        assert (system, reply, work) == (None, None, "w") and stepper is s
        log.append("foresee")

    run = plain(rollouts.set_out, ask=ask, begin=begin, foresee=foresee)
    return run(answers, None, None, s, guards, control, "w"), log, control


def test_a_motion_sets_out_with_the_stops_that_are_pressed() -> None:
    status, log, control = set_out()
    assert status == Status.OK and control.engaged.tolist() == [0, 0, 0]
    assert log == [(WATCH, 2.5, True, False), (TURNS, 2.5, False, True), "begin"]
    assert set_out((3.0, -1.0, 0.0))[2].engaged.tolist() == [0, 1, 1]


def test_a_motion_that_cannot_begin_tells_why() -> None:
    assert set_out(first=math.nan)[:2] == (Status.NOT_FINITE, [])
    assert set_out(end=math.nan)[0] == Status.NOT_FINITE
    assert set_out(begun=Status.NO_CLOSURE)[0] == set_out(begun=Status.NO_CLOSURE, end=math.inf)[0] == Status.NO_CLOSURE


def test_only_time_steps_with_formulas_that_read_forces_are_foreseen() -> None:
    assert set_out(method=PRESSED)[1] == [(WATCH, 2.5, True, False), (TURNS, 2.5, False, True), "foresee", "begin"]
    assert "foresee" not in set_out(method=PRESSED, fed=0)[1]


@pytest.mark.parametrize("fails", [None, START, SETTLE, STEPPING])
def test_a_step_is_foreseen_from_a_copy_of_the_state(fails: int | None) -> None:
    s, _, _ = parts()
    s.y_work, s.rows, s.clock[STEP_FIXED] = np.zeros(NQ + NV + 2), s.k.reshape(-1), 0.25
    reply, work, log, answers = table(REPLY, 1), SimpleNamespace(stepped=table(STEPPED, 1)), [], [None] * QUESTIONS
    for name in STEPPED.names:
        work.stepped[name] = 3

    def answer(question, system, t, y, out):
        log.append((question, t, y is s.y_work, out is s.error, out is s.rows, float(reply.h[0])))
        assert np.array_equal(y, np.arange(1.0, NQ + NV + 3.0))
        out[0] = 8.0
        return Status.NO_CLOSURE if question == fails else Status.OK

    answers[START] = answers[SETTLE] = answers[STEPPING] = answer
    plain(rollouts.foresee, ask=ask, forget_steps=plain(rollouts.forget_steps))(answers, None, reply, s, work)
    expected = [
        (START, 2.5, True, True, False, 0.25), (SETTLE, 2.5, True, False, False, 0.25),
        (STEPPING, 2.5, True, False, True, 0.25),
    ]  # fmt: skip
    assert log == expected[: len(expected) if fails is None else [START, SETTLE, STEPPING].index(fails) + 1]
    assert (s.k[0, 0] == 8.0) == (fails != START)
    kept = {name for name in STEPPED.names if work.stepped[name][0] == 3}
    assert kept == {"points", "before", "told", "asleep", "parked"} and all(
        work.stepped[name][0] in (0, 3) for name in STEPPED.names
    )


def go_on(replies: list, told: bool = False, after: tuple = (0.5, -0.5, 0.5)) -> tuple:
    """Follow made-up calls, of which each that pauses has made a step; returns (status, stepper, control, log)."""
    s, guards, control = parts()
    log: list = []
    work = SimpleNamespace(last_contacts="last", parked="asleep", stepped=SimpleNamespace(before=[6], parked=[2]))
    tables, impulses = SimpleNamespace(meetings="m"), np.zeros((2, 3 if told else 0, 1, 3))

    def advance(answers, system, reply, stepper, row_out, t_stop, steps):
        assert (answers, system, reply, row_out, t_stop) == ("a", "s", "r", "o", 4.0)
        log.append((steps, int(s.count[FRESH])))
        s.guard_old[:], s.guard_new[:] = (-1.0, -1.0, 0.0), after
        s.count[FRESH] = 7
        reply = replies.pop(0)
        s.count[ACCEPTED] += reply == Status.PAUSE
        return reply, 0

    def add(meetings, last, count, rated, out):
        assert (meetings, rated) == ("m", False) and np.shares_memory(out, impulses[1, 2])
        assert count == {"last": 6, "asleep": 2}[last]
        log.extend(["add"] if last == "last" else [])

    run = plain(rollouts.go_on, advance=advance, add_impulses=add)
    machine = rollouts.Machine("a", "s", "r", s, None, "o")
    return run(machine, (tables, control, work, guards), 4.0, 1, 2, impulses), s, control, log


def test_stops_are_touched_and_left_on_the_way() -> None:
    status, s, control, log = go_on([Status.PAUSE, Status.GUARD, Status.PAUSE, Status.REACHED])
    assert status == Status.OK and [steps for steps, _ in log] == [2**40] * 4
    assert control.engaged.tolist() == [0, 0, 1] and s.count[FRESH] == 7
    assert go_on([Status.GUARD, Status.NOT_SOLVED])[0] == Status.NOT_SOLVED


def test_a_stop_that_was_touched_begins_anew() -> None:
    assert [fresh for _, fresh in go_on([Status.GUARD, Status.REACHED])[3]] == [7, 0]


def test_impulses_are_added_after_every_step_where_they_are_told() -> None:
    status, _, _, log = go_on([Status.PAUSE, Status.PAUSE, Status.REACHED], told=True)
    assert status == Status.OK and log == [(1, 7), "add", (1, 7), "add", (1, 7)]
    assert go_on([Status.PAUSE, Status.CROWDED], told=True)[3] == [(1, 7), "add", (1, 7)]


def test_impulses_of_points_go_to_their_rules_and_to_whom_these_name() -> None:
    meetings, last = table(MEETING, 3), table(CONTACT_CONSTRAINT, 4)
    meetings.rule[:], meetings.named[:] = [1, 0, 1], [5, 7, 8]
    last.meeting[:], last.rows[:], last.h[:] = [0, -1, 2, 1], [3, 1, 1, 3], 0.5
    last.link[:] = [[4, 5], [4, 5], [8, 9], [7, 3]]
    last.axes[:] = np.arange(36.0).reshape(4, 9)
    last.impulse[:] = [[1.0, 2.0, 3.0], [9.0, 0.0, 0.0], [4.0, 100.0, 100.0], [1e3, 1e3, 1e3]]
    first = last.axes[0].reshape(3, 3)
    expected = np.array([1.0, 2.0, 3.0]) @ first - 4.0 * last.axes[2, :3]
    for rated, share in ((False, 1.0), (True, 2.0)):
        out = np.full((2, 3), 10.0)
        plain(rollouts.add_impulses)(meetings, last, 3, rated, out)
        np.testing.assert_allclose(out, [[10.0] * 3, 10.0 + share * expected], rtol=1e-14)


def room(samples: int, told: int = 0) -> rollouts.Motions:
    """Return room for two states, filled with -1; told: samples of what is asked for."""
    return rollouts.Motions(
        np.full((2, samples, NQ), -1.0), np.full((2, samples, NV), -1.0), np.full(2, 99), np.full(2, 99),
        np.full((2, told, 5), -1.0), np.full((2, told, 3, 3), -1.0), np.full((2, told, 3, 3), -1.0),
        np.full((2, told, 2), -1.0),
    )  # fmt: skip


@pytest.mark.parametrize("k", [0, 2])
def test_what_is_asked_for_is_told_of_a_sample(k: int) -> None:
    s, _, _ = parts()
    s.guard_mid, motions = np.zeros(3), room(4, 4)
    work = SimpleNamespace(
        one=SimpleNamespace(kinetic=[0.0], potential=[0.0]), last_contacts="last", parked="asleep",
        stepped=SimpleNamespace(before=[6], parked=[2], overlap=[0.03], residual=[0.04]),
    )  # fmt: skip
    log, answers = [], [None] * QUESTIONS

    def glance(question, system, t, y, out):
        log.append((question, t, y is s.y, out is s.guard_mid))
        work.one.kinetic[0], work.one.potential[0] = 11.0, 12.0
        return Status.OK

    def add(meetings, last, count, rated, out):
        assert (meetings, rated) == ("m", True) and count == {"last": 6, "asleep": 2}[last]
        assert np.shares_memory(out, motions.force_out[1, k])
        log.append(last)

    answers[GLANCE] = glance
    run = plain(rollouts.tell_sample, ask=ask, add_impulses=add)
    run(answers, None, s, SimpleNamespace(meetings="m"), work, 1, k, room(4))
    assert log == []
    run(answers, None, s, SimpleNamespace(meetings="m"), work, 1, k, motions)
    assert log == [(GLANCE, 2.5, True, True), *(["last", "asleep"] if k else [])]
    assert motions.energy_out[1, k].tolist() == [11.0, 12.0, s.y[-1], 0.0, s.y[-2]]
    assert motions.law_out[1, k].tolist() == [0.03, 0.04]
    assert work.stepped.overlap == [0.0] and work.stepped.residual == [0.0]
    assert np.sum(motions.energy_out != -1.0) == 5 and np.sum(motions.law_out != -1.0) == 2


def test_torques_are_held_and_it_is_told_whether_they_are_others() -> None:
    _, _, control = parts()
    torques = np.arange(12.0).reshape(2, 3, 2)
    hold = plain(rollouts.hold)
    assert hold(torques, 1, 2, control) and control.held.tolist() == [10.0, 11.0]
    assert not hold(torques, 1, 2, control)
    torques[0, 0] = 10.0, 12.0
    assert hold(torques, 0, 0, control) and control.held.tolist() == [10.0, 12.0]
    torques[0, 0] = 9.0, 12.0
    assert hold(torques, 0, 0, control) and control.held.tolist() == [9.0, 12.0]


@pytest.mark.parametrize("guards", [0, 1])
def test_after_other_torques_the_slope_is_found_anew(guards: int) -> None:
    s, _, _ = parts(guards)
    log, answers = [], [None] * QUESTIONS

    def settle(question, system, t, y, out):
        log.append((question, t, y is s.y))
        out[:] = 3.0
        return Status.INCONSISTENT

    answers[SETTLE] = settle
    status = plain(rollouts.slope_anew, ask=ask)(answers, None, s)
    assert s.count[FOLLOWS] == -1
    if guards:
        assert status == Status.OK and log == [] and s.count[FRESH] == 0
    else:
        assert status == Status.INCONSISTENT and log == [(SETTLE, 2.5, True)] and s.count[FRESH] == 7
        assert np.all(s.k[0] == 3.0) and np.all(s.k[1:] == 0.0)


def test_a_state_is_put_down_as_a_sample() -> None:
    q, v = np.zeros((2, 3, NQ)), np.zeros((2, 3, NV))
    plain(rollouts.write)(np.arange(1.0, 8.0), 1, 2, q, v)
    assert q[1, 2].tolist() == [1.0, 2.0, 3.0] and v[1, 2].tolist() == [4.0, 5.0]
    assert np.abs(q).sum() == 6.0 and np.abs(v).sum() == 9.0


def followed(
    torques: np.ndarray, samples: int = 4, fails: dict[str, int] | None = None, at: int = 9, method: int = DOP853
) -> tuple[tuple, list, np.ndarray, np.ndarray]:
    """Follow state 1 of two; each stretch adds one to all that moves."""
    s, guards, control = parts()
    s.count[METHOD] = method
    motions, log, fails, kept = room(samples), [], fails or {}, 5 if method == PRESSED else 0
    work = SimpleNamespace(one=SimpleNamespace(intact=np.array([5])))
    count, told = [0], []

    def begun(answers, system, reply, stepper, *parts):
        assert parts == (guards, control, work)
        log.append(("set out", control.held.tolist()))
        return fails.get("set out", Status.OK)

    def went(machine, parts, t_stop, state, k, impulses):
        assert parts == ("t", control, work, guards) and (state, k) == (1, count[0] + 1)
        assert impulses is motions.impulse_out and work.one.intact[0] == kept
        work.one.intact[0] = 5
        log.append(("go on", float(t_stop), control.held.tolist()))
        s.y += 1.0
        count[0] += 1
        return fails.get("go on", Status.OK) if count[0] == at else Status.OK

    def anew(answers, system, stepper):
        log.append(("slope", control.held.tolist()))
        return fails.get("slope", Status.OK) if count[0] == at else Status.OK

    def tell(answers, system, stepper, tables, given, state, k, room):
        assert (tables, given, state) == ("t", work, 1) and room is motions and stepper is s
        told.append(k)

    run = plain(
        rollouts.follow_one, unpack=lambda system: ("t", control, work, guards), set_out=begun, go_on=went,
        slope_anew=anew, tell_sample=tell,
    )  # fmt: skip
    found = run(rollouts.Machine("a", "s", "r", s, None, "o"), torques, 2.5, 0.1, 1, motions)
    assert np.all(motions.q_out[0] == -1.0) and np.all(motions.v_out[0] == -1.0)
    assert told == list(range(int(found[1]) + 1))
    return (int(found[0]), int(found[1])), log, motions.q_out[1], motions.v_out[1]


def test_time_steps_take_over_what_was_found_at_the_end_of_the_step_before() -> None:
    assert followed(np.zeros((0, 0, 0)), method=PRESSED)[0] == (Status.OK, 3)


def test_a_state_is_followed_sample_by_sample() -> None:
    found, log, q, v = followed(np.zeros((0, 0, 0)))
    assert found == (Status.OK, 3)
    assert log[0] == ("set out", [0.5, -1.0])
    assert [entry[:2] for entry in log[1:]] == [("go on", pytest.approx(2.5 + 0.1 * k)) for k in (1, 2, 3)]
    np.testing.assert_array_equal(q, np.arange(4.0)[:, None] + [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(v, np.arange(4.0)[:, None] + [4.0, 5.0])


def test_torques_of_each_sample_are_held_until_the_next() -> None:
    torques = np.zeros((2, 3, 2))
    torques[1] = [[1.0, 2.0], [1.0, 2.0], [3.0, 2.0]]
    found, log, _, _ = followed(torques)
    assert found == (Status.OK, 3)
    assert [(entry[0], entry[-1]) for entry in log] == [
        ("set out", [1.0, 2.0]), ("go on", [1.0, 2.0]), ("go on", [1.0, 2.0]), ("slope", [3.0, 2.0]), ("go on",
            [3.0, 2.0]),
    ]  # fmt: skip


def test_a_motion_that_ends_tells_its_last_sample() -> None:
    torques = np.arange(12.0).reshape(2, 3, 2)
    assert followed(torques, fails={"set out": Status.NO_CLOSURE})[0] == (Status.NO_CLOSURE, -1)
    for what, at, last in (("go on", 1, 0), ("go on", 2, 1), ("slope", 1, 1), ("slope", 2, 2)):
        found, log, q, _ = followed(torques, fails={what: Status.NOT_SOLVED}, at=at)
        assert found == (Status.NOT_SOLVED, last) and log[-1][0] == what
        assert np.all(q[last + 1 :] == -1.0) and np.all(q[: last + 1] > 0.0)


def test_states_are_rolled_out_from_the_same_memory() -> None:
    s, _, _ = parts()
    states, fresh, memory = np.arange(20.0).reshape(4, NQ + NV), np.arange(9.0), np.zeros(9)
    motions = rollouts.Motions(*(np.concatenate([array, array]) for array in room(5, 5)))
    seen = []
    machine = rollouts.Machine("a", "s", "r", s, memory, "o")

    def follow_one(given, torques, t, dt, k, told):
        np.testing.assert_array_equal(memory, fresh)
        memory[:] = -1.0
        np.testing.assert_array_equal(s.y[: NQ + NV], states[k])
        assert not told.force_out[k].any() and not told.impulse_out[k].any()
        seen.append((given is machine, torques, t, dt, k, told is motions))
        for array in told:
            if array.ndim > 1:
                array[k] = 2.0
        return (Status.OK, 4) if k == 1 else (Status.NOT_SOLVED, 2)

    run = plain(
        rollouts.roll_out, follow_one=follow_one, fill=plain(rollouts.fill), fill_rules=plain(rollouts.fill_rules)
    )  # fmt: skip
    assert run(machine, fresh, states, "u", 2.5, 0.1, 1, 3, motions) == 3
    assert seen == [(True, "u", 2.5, 0.1, k, True) for k in (1, 2)]
    assert motions.status_out.tolist() == [99, Status.OK, Status.NOT_SOLVED, 99]
    assert motions.reached_out.tolist() == [99, 4, 2, 99]
    for array in motions:
        if array.ndim > 1:
            assert np.all(array[1] == 2.0) and np.all(array[[0, 3]] == -1.0)
            assert np.all(array[2, :3] == 2.0) and np.all(np.isnan(array[2, 3:]))


def test_where_room_is_lacking_it_is_told_which_state_is_to_begin_anew() -> None:
    s, _, _ = parts()
    motions = rollouts.Motions(*(np.concatenate([array, array]) for array in room(2)))
    run = plain(
        rollouts.roll_out, fill=lambda *_: None, fill_rules=lambda *_: None,
        follow_one=lambda given, torques, t, dt, k, told: (Status.CROWDED if k == 2 else Status.OK, 1),
    )  # fmt: skip
    machine = rollouts.Machine("a", "s", "r", s, np.zeros(1), "o")
    assert run(machine, np.zeros(1), np.zeros((4, NQ + NV)), "u", 2.5, 0.1, 1, 4, motions) == 2
    assert motions.status_out.tolist() == [99, Status.OK, 99, 99]


# --- formulas that read forces ------------------------------------------------------------------------------


def fed(formulas, n: int, statuses: dict[int, int] | None = None) -> tuple[int, np.ndarray, list]:
    """Solve u = formulas(u); returns (status, u, what was asked of the formulas)."""
    control = SimpleNamespace(fed=np.full(n, 9.0))
    work = SimpleNamespace(late=np.full((n + 1, n), 9.0), late_order=np.zeros(n, int))
    asked: list = []

    def values(system, t, q, v, out):
        assert (t, q, v) == (0.7, "q", "v")
        asked.append(control.fed.copy())
        out[:] = formulas(control.fed)
        return (statuses or {}).get(len(asked), Status.OK)

    def begin_anew(system, q, v):
        assert (q, v) == ("q", "v")
        asked.append("anew")

    run = plain(
        feedback.feed_back, unpack=lambda system: (None, control, work, None), formulas=values, begin_anew=begin_anew
    )  # fmt: skip
    status = run(None, 0.7, "q", "v")
    assert asked[-1] == "anew" and sum(isinstance(one, str) for one in asked) == 1
    return int(status), control.fed, asked[:-1]


@pytest.mark.parametrize("n", [1, 2, 4])
def test_formulas_and_the_forces_that_they_read_are_found_together(n: int) -> None:
    rng = np.random.default_rng(n)
    K, a = rng.normal(size=(n, n)) * 2.0, rng.normal(size=n)
    status, u, asked = fed(lambda u: a + K @ u, n)
    assert status == Status.OK
    np.testing.assert_allclose(u, np.linalg.solve(np.eye(n) - K, a), rtol=1e-11)
    np.testing.assert_array_equal(asked[: n + 1], [np.zeros(n), *np.eye(n)])
    assert n + 2 <= len(asked) <= n + 3


def test_friction_that_turns_with_what_acts_is_corrected_for() -> None:
    status, u, asked = fed(lambda u: 1.0 - 0.5 * u - 0.02 * u**2, 1)
    assert status == Status.OK and u == pytest.approx((-1.5 + math.sqrt(2.25 + 0.08)) / 0.04, rel=1e-12)
    assert 4 < len(asked) < 12
    status, u, asked = fed(lambda u: 1.0 - 0.5 * u + np.sin(3.0 * u), 1)  # never comes near
    assert len(asked) == 2 + 12 and status == Status.OK


@pytest.mark.parametrize(
    ("loop", "status"), [(1.0, Status.ENTANGLED), (1.0 - 0.9e-12, Status.ENTANGLED), (1.0 - 2e-12, Status.OK)]
)
def test_formulas_that_follow_themselves_have_no_root(loop: float, status: int) -> None:
    assert fed(lambda u: 3.0 + loop * u, 1)[0] == status
    assert fed(lambda u: np.array([3.0 + loop * u[0], 2.0 + 0.5 * u[1]]), 2)[0] == status
    assert fed(lambda u: np.array([2.0 + 0.5 * u[0], 3.0 + loop * u[1]]), 2)[0] == status


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_forces_that_cannot_be_found_end_it(at: int) -> None:
    status, _, asked = fed(lambda u: 1.0 - 0.5 * u[::-1], 2, statuses={at: Status.INCONSISTENT})
    assert status == Status.INCONSISTENT and len(asked) == max(at, 3)


def test_the_matrix_is_one_less_what_each_answers_to_each() -> None:
    rng = np.random.default_rng(3)
    K, a = rng.normal(size=(3, 3)), rng.normal(size=3)
    answers = np.vstack([(a[:, None] + K).T, np.zeros(3)])
    plain(feedback.into_matrix)(answers, a)
    np.testing.assert_allclose(answers[:3], np.eye(3) - K, rtol=1e-13, atol=1e-14)


def test_changes_are_added_and_what_is_left_is_measured() -> None:
    u = np.array([1.0, -2.0, 0.5])
    assert plain(feedback.add_to)(u, np.array([0.5, -3.0, 0.25])) == 5.0 and u.tolist() == [1.5, -5.0, 0.75]
    left = np.array([1.0, -5.5, 2.0])
    assert plain(feedback.take_off)(left, u) == 1.25 and left.tolist() == [-0.5, -0.5, 1.25]
    for place in range(2):
        factors = np.diag([2.0, 3.0])
        factors[place, place] = -1.01e12
        assert not plain(feedback.regular)(factors, 2)
        factors[place, place] = -0.99e12
        assert plain(feedback.regular)(factors, 2)


def test_it_is_answered_at_coordinates_and_rates() -> None:
    tables = SimpleNamespace(one=SimpleNamespace(nq=[3], nv=[2]))
    run = plain(
        getattr(feedback.feedback, "function", feedback.feedback), unpack=lambda system: (tables, None, None, None),
        vector=lambda at, size: at[:size], feed_back=lambda system, t, q, v: (system, t, len(q), len(v)),
    )  # fmt: skip
    assert run(FEED, "s", 0.7, np.zeros(9), np.zeros(9)) == ("s", 0.7, 3, 2)


@pytest.mark.parametrize("soft", [0, 1])
def test_formulas_are_evaluated_where_forces_answer_to_them(soft: int) -> None:
    """What soft points hold is asked for where there may be some, after the other energies."""
    log: list = []
    work = SimpleNamespace(rows=SimpleNamespace(force=np.ones(3)), coordinate=1, rate=2, links=3, one=4, answers="a")
    tables = SimpleNamespace(
        late=np.array([7, 5]), links="l", columns="c", stops="s", forces="f", points="p",
        one=SimpleNamespace(gravity_W="g", soft=[soft])
    )  # fmt: skip

    def made(name, result=None):
        def make(*arguments):
            log.append((name, arguments))
            return result

        return make

    run = plain(
        feedback.formulas, unpack=lambda system: (tables, None, work, None), move=made("move"),
        apply_forces=made("apply"), find_forces=made("find", (Status.INCONSISTENT, 0)), energies=made("energies"),
        run_program=lambda tables, work, program, t: program + t + 100.0 * (len(log) < 4 + soft), ask=made("ask"),
    )  # fmt: skip
    values = np.zeros(2)
    assert run("sys", 0.5, "q", "v", values) == Status.INCONSISTENT and values.tolist() == [7.5, 5.5]
    assert [name for name, _ in log] == ["move", "apply", "find", "energies", *["ask"] * soft]
    assert np.all(work.rows.force == 0.0)
    assert log[0][1] == ("sys", "q", "v") and log[1][1] == ("sys", 0.5, "q", "v")
    assert log[3][1] == ("l", "c", "s", "f", "p", "g", 1, 2, 3, 4)
    assert [given for _, given in log[4:]] == [("a", STORE, "sys", 0.5, "q", "v")] * soft
