"""How rollouts follow each state, with motions that are made up; torques that follow the forces that they change."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from sim.kernels import feedback, rollouts
from sim.kernels.status import Status
from sim.kernels.stepper import FOLLOWS, FRESH, T
from sim.kernels.system import FEED, QUESTIONS, SETTLE, TURNS, WATCH
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


def set_out(values: tuple = (-1.0, 0.0, 2.0), begun: int = Status.OK, end: float = 1.0, first: float = 1.0) -> tuple:
    s, guards, control = parts()
    s.y[1], log, answers = first, [], [None] * QUESTIONS

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
    run = plain(rollouts.set_out, ask=ask, begin=begin)
    return run(answers, None, None, s, guards, control), log, control


def test_a_motion_sets_out_with_the_stops_that_are_pressed() -> None:
    status, log, control = set_out()
    assert status == Status.OK and control.engaged.tolist() == [0, 0, 0]
    assert log == [(WATCH, 2.5, True, False), (TURNS, 2.5, False, True), "begin"]
    assert set_out((3.0, -1.0, 0.0))[2].engaged.tolist() == [0, 1, 1]


def test_a_motion_that_cannot_begin_tells_why() -> None:
    assert set_out(first=math.nan)[:2] == (Status.NOT_FINITE, [])
    assert set_out(end=math.nan)[0] == Status.NOT_FINITE
    assert set_out(begun=Status.NO_CLOSURE)[0] == set_out(begun=Status.NO_CLOSURE, end=math.inf)[0] == Status.NO_CLOSURE


def test_stops_are_touched_and_left_on_the_way() -> None:
    s, guards, control = parts()
    replies = [Status.PAUSE, Status.GUARD, Status.PAUSE, Status.REACHED]

    def advance(answers, system, reply, stepper, row_out, t_stop, steps):
        assert (answers, system, reply, row_out, t_stop, steps) == ("a", "s", "r", "o", 4.0, 2**40)
        s.guard_old[:], s.guard_new[:] = (-1.0, -1.0, 0.0), (0.5, -0.5, 0.5)
        s.count[FRESH] = 7
        return replies.pop(0), 0

    run = plain(rollouts.go_on, advance=advance)
    assert run("a", "s", "r", s, guards, control, "o", 4.0) == Status.OK and replies == []
    assert control.engaged.tolist() == [0, 0, 1] and s.count[FRESH] == 7
    replies[:] = [Status.GUARD, Status.NOT_SOLVED]
    assert run("a", "s", "r", s, guards, control, "o", 4.0) == Status.NOT_SOLVED and replies == []


def test_a_stop_that_was_touched_begins_anew() -> None:
    s, guards, control = parts()
    seen: list[int] = []

    def advance(answers, system, reply, stepper, row_out, t_stop, steps):
        seen.append(int(s.count[FRESH]))
        return (Status.GUARD, 0) if len(seen) == 1 else (Status.REACHED, -1)

    plain(rollouts.go_on, advance=advance)("a", "s", "r", s, guards, control, "o", 4.0)
    assert seen == [7, 0]


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
    torques: np.ndarray, samples: int = 4, fails: dict[str, int] | None = None, at: int = 9
) -> tuple[tuple, list, np.ndarray, np.ndarray]:
    """Follow state 1 of two; each stretch adds one to all that moves."""
    s, guards, control = parts()
    q, v, log, fails = np.full((2, samples, NQ), -1.0), np.full((2, samples, NV), -1.0), [], fails or {}
    work = SimpleNamespace(one=SimpleNamespace(intact=np.array([5])))
    count = [0]

    def begun(*arguments):
        log.append(("set out", control.held.tolist()))
        return fails.get("set out", Status.OK)

    def went(answers, system, reply, stepper, guards, control, row_out, t_stop):
        assert work.one.intact[0] == 0
        work.one.intact[0] = 5
        log.append(("go on", float(t_stop), control.held.tolist()))
        stepper.y += 1.0
        count[0] += 1
        return fails.get("go on", Status.OK) if count[0] == at else Status.OK

    def anew(answers, system, stepper):
        log.append(("slope", control.held.tolist()))
        return fails.get("slope", Status.OK) if count[0] == at else Status.OK

    run = plain(
        rollouts.follow_one, unpack=lambda system: (None, control, work, guards), set_out=begun, go_on=went,
        slope_anew=anew
    )  # fmt: skip
    found = run(rollouts.Machine("a", "s", "r", s, None, "o"), torques, 2.5, 0.1, 1, q, v)
    assert np.all(q[0] == -1.0) and np.all(v[0] == -1.0)
    return (int(found[0]), int(found[1])), log, q[1], v[1]


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
    q, v, status, reached = np.zeros((4, 5, NQ)), np.zeros((4, 5, NV)), np.full(4, 99), np.full(4, 99)
    seen = []

    machine = rollouts.Machine("a", "s", "r", s, memory, "o")

    def follow_one(given, torques, t, dt, k, q_out, v_out):
        np.testing.assert_array_equal(memory, fresh)
        memory[:] = -1.0
        np.testing.assert_array_equal(s.y[: NQ + NV], states[k])
        seen.append((given is machine, torques, t, dt, k))
        q_out[k], v_out[k] = 1.0, 2.0
        return (Status.OK, 4) if k == 1 else (Status.NOT_SOLVED, 2)

    run = plain(rollouts.roll_out, follow_one=follow_one)
    run(machine, fresh, states, "u", 2.5, 0.1, 1, 3, rollouts.Motions(q, v, status, reached))
    assert seen == [(True, "u", 2.5, 0.1, k) for k in (1, 2)]
    assert status.tolist() == [99, Status.OK, Status.NOT_SOLVED, 99] and reached.tolist() == [99, 4, 2, 99]
    assert np.all(q[1] == 1.0) and np.all(v[1] == 2.0) and np.all(q[[0, 3]] == 0.0)
    for array, value in ((q, 1.0), (v, 2.0)):
        assert np.all(array[2, :3] == value) and np.all(np.isnan(array[2, 3:]))


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


def test_formulas_are_evaluated_where_forces_answer_to_them() -> None:
    log: list = []
    work = SimpleNamespace(rows=SimpleNamespace(force=np.ones(3)), coordinate=1, rate=2, links=3, one=4)
    tables = SimpleNamespace(
        late=np.array([7, 5]), links="l", columns="c", stops="s", forces="f", points="p",
        one=SimpleNamespace(gravity_W="g")
    )  # fmt: skip

    def made(name, result=None):
        def make(*arguments):
            log.append((name, arguments))
            return result

        return make

    run = plain(
        feedback.formulas, unpack=lambda system: (tables, None, work, None), move=made("move"),
        apply_forces=made("apply"), find_forces=made("find", (Status.INCONSISTENT, 0)), energies=made("energies"),
        run_program=lambda tables, work, program, t: program + t,
    )  # fmt: skip
    values = np.zeros(2)
    assert run("sys", 0.5, "q", "v", values) == Status.INCONSISTENT and values.tolist() == [7.5, 5.5]
    assert [name for name, _ in log] == ["move", "apply", "find", "energies"] and np.all(work.rows.force == 0.0)
    assert log[0][1] == ("sys", "q", "v") and log[1][1] == ("sys", 0.5, "q", "v")
    assert log[3][1] == ("l", "c", "s", "f", "p", "g", 1, 2, 3, 4)
