"""What is watched between two instants, and what a flow tells of itself: whole tables, beside what a scene says."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sim
from sim.kernels.shapes import SLIP, SOFT_SLIP, SOFT_STICK, STICK
from sim.kernels.status import Status
from sim.kernels.stepper import FILLED
from sim.kernels.system import PROJECT, START, WATCH
from sim.kernels.tables import table
from sim.kernels.watched import (
    GUARD,
    GUARD_CONE,
    GUARD_FRICTION,
    GUARD_GAP,
    GUARD_HOLD,
    GUARD_PROGRAM,
    GUARD_PULL,
    GUARD_SLIP,
    GUARD_STOP,
)
from sim.mechanism.methods import METHODS, Turn
from sim.scene.load import load_text
from sim.simulation import arming
from sim.simulation.flow import Flow
from tests.contact.engine import G0, Told

pytestmark = pytest.mark.contact

SCENE = """
schema: 1
name: watched
world: {shapes: [{name: ground, plane: {}}]}
bodies:
  arm: {mass: 2, com: [0, 5.3, 1], inertia: [0.4, 0.5, 0.6]}
  bar: {mass: 2, com: [0.2, 9, 1], inertia: [0.4, 0.5, 0.6]}
  cart: {mass: 3, com: [0, -5, 1], inertia: [0.4, 0.5, 0.6]}
  rest: {mass: 1, shapes: [{sphere: {center: [1, 0, 0.1], radius: 0.1}}]}
  slides: {mass: 1, shapes: [{sphere: {center: [2, 0, 0.1], radius: 0.1}}]}
  flies: {mass: 1, shapes: [{sphere: {center: [3, 0, 1.1], radius: 0.1}}]}
  ice: {mass: 1, shapes: [{sphere: {center: [4, 0, 0.1], radius: 0.1}}]}
joints:
  hinge: {type: rotational, parent: world, child: arm, position: [0, 5, 1], axis: [1, 0, 0], friction: 30 N m,
          limits: {range: [-0.5, 0.7], stop: rigid}}
  lever: {type: rotational, parent: world, child: bar, position: [0, 9, 1], axis: [0, 1, 0],
          limits: {range: [-0.5, 0.0], stop: rigid}}
  rail: {type: translational, parent: world, child: cart, position: [0, -5, 1], axis: [1, 0, 0], friction: 2 N,
         limits: {range: [-0.25, 0.35], stop: soft, stiffness: 400}}
initial:
  rail: {coordinate: 0.36, rate: 0.3}
  slides: {velocity: [1.5, 0, 0]}
events:
  high: {when: "coordinate('hinge') > 0.3", caption: high}
  loaded: {when: "force('grip')[2] > 100 N", caption: loaded}
  now: {when: "t > -1 s", caption: now}
contacts:
  grip: {between: [[rest, slides, flies], world], friction: 0.4}
  slippery: {between: [ice, world], friction: 0}
simulate: {rtol: 1e-9, duration: 1 s}
"""


def simulator_of(text: str) -> sim.Simulator:
    return sim.Simulator(sim.compile(load_text(text)))


@pytest.fixture
def watched() -> sim.Simulator:
    simulator = simulator_of(SCENE)
    simulator.advance(0.0)
    return simulator


PROGRAM, STOP, RUB, GAP, PULL, CONE, SLIPS, HOLD = (
    GUARD_PROGRAM, GUARD_STOP, GUARD_FRICTION, GUARD_GAP, GUARD_PULL, GUARD_CONE, GUARD_SLIP, GUARD_HOLD,
)  # fmt: skip
# Conditions; stops of each joint, the lower first; joints with friction; gaps of pairs; closed points; what is held.
WATCHED = [
    (PROGRAM, 0, 1, 1), (PROGRAM, 1, 1, 1), (PROGRAM, 2, 1, 0),
    (STOP, 0, 1, 1), (STOP, 1, 1, 1), (STOP, 2, 1, 1), (STOP, 3, 1, 0), (STOP, 4, 1, 1), (STOP, 5, -1, 1),
    (RUB, 0, 0, 0), (RUB, 2, 0, 1), (GAP, 0, 1, 1), (GAP, 1, 1, 1), (GAP, 2, 1, 1), (GAP, 3, 1, 1),
    (PULL, 0, 1, 1), (CONE, 0, 1, 1), (PULL, 1, 1, 1), (SLIPS, 1, 1, 1), (PULL, 2, 1, 1), (SLIPS, 2, 1, 0),
    (HOLD, 0, 1, 1), (HOLD, 0, -1, 1), (HOLD, 1, 1, 1), (HOLD, 1, -1, 0),
]  # fmt: skip


def guards_of(simulator: sim.Simulator) -> list[tuple[int, ...]]:
    return [tuple(int(row[k]) for k in ("kind", "owner", "direction", "armed")) for row in simulator.flow.guards.table]


def test_all_that_may_happen_next_is_watched_in_its_direction(watched: sim.Simulator) -> None:
    """A spent event is not; nor the stop that a joint rests against, whose torque is, and friction that holds."""
    flow = watched.flow
    assert [touch.mode for touch in flow.structure.touches] == [STICK, SLIP, SLIP]
    assert guards_of(watched) == WATCHED
    assert flow.guards.forces[0] == 1 and flow.look_again == math.inf
    assert flow.guards.table.allowed.tolist() == [0.0] * 21 + [30.0, 30.0, 0.0, 0.0]


def test_what_is_watched_follows_what_has_happened(watched: sim.Simulator) -> None:
    watched.advance(0.45)  # the ball rolls; the cart has left its stop and rubs the other way
    now = list(WATCHED)
    now[8], now[18] = (STOP, 5, 1, 1), (CONE, 1, 1, 1)
    assert guards_of(watched) == now


def test_nothing_reads_forces_where_nothing_is_held_or_touched() -> None:
    text = SCENE[: SCENE.index("contacts:")].replace("friction: 30 N m,", "").replace("[-0.5, 0.0]", "[-0.5, 2.0]")
    text = text.replace("  loaded: {when: \"force('grip')[2] > 100 N\", caption: loaded}\n", "")
    simulator = simulator_of(text)
    simulator.advance(0.0)
    assert simulator.flow.guards.forces[0] == 0
    read = simulator_of(text.replace("coordinate('hinge') > 0.3", "norm(force('hinge')) > 1e6 N"))
    read.advance(0.0)
    assert read.flow.guards.forces[0] == 1
    spent = simulator_of(text.replace("coordinate('hinge') > 0.3", "norm(force('hinge')) > 1e-6 N"))
    spent.advance(0.0)
    assert spent.flow.guards.forces[0] == 0


def test_time_steps_watch_conditions_alone() -> None:
    simulator = simulator_of(SCENE.replace("rtol: 1e-9", "contact: stepping, dt: 1 ms"))
    simulator.advance(0.002)
    assert guards_of(simulator) == WATCHED[:3] and simulator.flow.guards.forces[0] == 1


def test_what_a_time_step_is_going_to_do_is_not_told_as_done() -> None:
    """At the start formulas read what presses in the first step, which has not been made yet."""
    simulator = simulator_of(SCENE.replace("rtol: 1e-9", "contact: stepping, dt: 1 ms"))
    simulator.advance(0.0)
    flow = simulator.flow
    assert flow.taken() == {} and len(flow.methods()) == 1 and flow.counts()["steps"] == 0
    flow.observe()
    pressing = flow.work.rules.force[:, 2]  # of the ball that lies and the one that slides; of the one on ice
    assert np.abs(pressing) == pytest.approx([2 * G0, G0], rel=1e-6)
    simulator.advance(0.001)
    assert list(flow.taken()) == ["taken_by_contacts"] and len(flow.methods()) == 2 and flow.counts()["steps"] == 1
    assert flow.methods()[1].startswith("contacts of time steps: ")


def armed_with(simulator: sim.Simulator, values: np.ndarray, status: int = Status.OK) -> list[int]:
    """Arm anew, all guards having these values; return what was asked of the mechanism."""
    asked: list[int] = []

    def ask(question: int, a: np.ndarray, b: np.ndarray) -> int:
        asked.append(question)
        if question == WATCH:
            b[:] = values
        return int(status)

    simulator.flow.ask = ask  # type: ignore[method-assign]
    simulator.flow.arm(simulator.now.scheduler)
    del simulator.flow.ask
    return asked


def test_guards_that_begin_at_their_bounds_fire_a_little_beyond_them(watched: sim.Simulator) -> None:
    """Forces by a share of the largest, slips by a speed; each up to where it could not begin by roundoff alone."""
    flow = watched.flow
    flow.observe()
    largest = 30.0  # N m, the friction of the hinge
    force, speed = 1e-12 * largest, 5e-8
    assert max(flow.work.points.pressing.max(), np.abs(flow.work.stopping).max()) < largest
    bound = np.array([0.0] * 21 + [30.0, 30.0, 0.0, 0.0])
    kinds = np.array([row[0] for row in WATCHED])
    least = np.where(np.isin(kinds, (RUB, SLIPS)), speed, np.where(np.isin(kinds, (GAP, STOP)), 0.0, force))
    most = np.where(
        np.isin(kinds, (RUB, SLIPS)), speed, np.where(np.isin(kinds, (GAP, STOP)), 1e-6, 1e-10 * largest)
    )  # fmt: skip
    rigid = np.ones(25, bool)
    rigid[[0, 1, 2, 7, 8]] = False  # conditions and soft stops
    for over in (-1.01 * least, -0.99 * least, 0.3 * most, most, 1.01 * most):
        values = bound + over
        assert armed_with(watched, values) == [START, PROJECT, WATCH]
        over = values - bound  # as it is rounded
        begins = (over > -least) & (over <= most) & rigid
        expected = bound + np.where(begins, least + np.maximum(over, 0.0), 0.0)
        assert np.allclose(flow.guards.table.allowed, expected, rtol=0.0, atol=1e-22)
        assert flow.look_again == math.inf
    assert armed_with(watched, bound, Status.NOT_FINITE) == [START, WATCH]


def test_points_and_stops_that_rest_and_carry_nothing_may_get_a_fifth_of_their_depth_deeper(
    watched: sim.Simulator,
) -> None:
    flow, values = watched.flow, np.full(25, -1.0)
    flow.contacts.idle, flow.contacts.idle_stops = frozenset({1, 3}), frozenset({(0, 1), (1, -1)})
    values[[4, 5, 12, 14]] = 0.0, 4e-10, -1e-10, 2e-9
    armed_with(watched, values)
    allowed = flow.guards.table.allowed
    assert allowed[[4, 5, 12, 14]] == pytest.approx([2e-10, 1.2e-10 + 4e-10, 2e-10, 2e-9], rel=1e-12)
    values[13], values[11] = 0.0, 0.0  # others that begin at zero fire there
    values[[12, 14]] = -2.1e-10, 1.1e-6
    armed_with(watched, values)
    assert allowed[[11, 12, 13, 14]].tolist() == [0.0] * 4


def test_where_a_point_has_left_its_features_they_are_looked_for_soon(watched: sim.Simulator) -> None:
    values = np.full(25, -1.0)
    values[13] = 1.0
    watched.advance(0.1)
    armed_with(watched, values)
    assert watched.flow.look_again == 0.1 + 1e-9 and not watched.flow.looks_again()
    values[13], values[15] = 0.5, 1.0  # only of gaps does that number mean so
    armed_with(watched, values)
    assert watched.flow.look_again == math.inf
    values[13] = 1.0
    armed_with(watched, values)
    watched.flow.stepper.clock[0] = 0.1 + 1e-9
    assert watched.flow.t == 0.1 + 1e-9 and watched.flow.looks_again()


def test_guards_that_crossed_zero_are_events_soft_stops_or_else(watched: sim.Simulator) -> None:
    flow = watched.flow
    old, new = flow.stepper.guard_old, flow.stepper.guard_new

    def crossed(*fired: int, zero: bool = False) -> Any:
        old[:], new[:] = -1.0, -0.5
        new[list(fired)] = 1.0 if zero else 0.0
        old[list(fired)] = 0.0 if zero else -1.0
        return flow.crossed()

    for zero in (False, True):
        assert crossed(zero=zero) == ([], [], False)
        assert crossed(0, 1, zero=zero) == (["high", "loaded"], [], False) and not flow.contacts.leaving
        assert crossed(2, zero=zero) == ([], [], False)  # which is not armed
        assert crossed(0, 7, 8, zero=zero) == (["high"], [4, 5], False)
        assert crossed(7, 4, zero=zero) == ([], [4], True)  # a rigid stop
        assert crossed(12, zero=zero) == ([], [], True) and not flow.contacts.leaving
        assert crossed(16, zero=zero) == ([], [], True)
        assert flow.contacts.leaving == {flow.structure.touches[0].key}
        assert crossed(18, 10, zero=zero) == ([], [], True) and not flow.contacts.leaving
        assert crossed(21, zero=zero)[2] and [key[1:] for key in flow.contacts.leaving] != []
        assert flow.contacts.leaving.isdisjoint({touch.key for touch in flow.structure.touches})
    both = flow.contacts.leaving
    assert crossed(16, 22)[2] and flow.contacts.leaving == both | {flow.structure.touches[0].key}
    old[:], new[:] = 0.0, 0.0
    assert flow.crossed() == ([], [], False)  # from zero on it has to go beyond
    old[:], new[:] = 0.5, 1.0
    assert flow.crossed() == ([], [], False)


def test_conditions_that_fired_wait_until_they_are_clearly_false(watched: sim.Simulator) -> None:
    flow = watched.flow
    table = flow.guards.table
    assert [flow.watched(name) for name in ("high", "loaded", "now")] == [True, True, False]
    flow.wait_to_leave(["loaded"])
    assert [flow.watched(name) for name in ("high", "loaded", "now")] == [True, False, False]
    flow.arm(watched.now.scheduler)
    assert not flow.watched("loaded")  # still
    flow.leave(np.array([-1.0, 3.0, -1.0]))
    assert table.peak[:3].tolist() == [0.0, 3.0, 0.0] and not flow.watched("loaded")
    flow.leave(np.array([-1.0, -1e-13, -1.0]))
    assert table.peak[1] == 3.0 and not flow.watched("loaded")
    flow.leave(np.array([-1.0, -0.5, -1.0]))
    assert flow.watched("loaded") and not flow.watched("now") and flow.watched("high")


def test_forces_that_jump_make_what_is_closed_or_held_decided_on(watched: sim.Simulator) -> None:
    """A ball that is pushed in its centre is rubbed by 2 / 7 of that while it rolls."""
    flow = watched.flow
    assert not flow.gives_way()
    for body, force, gives in (
        ("rest", [0.0, 0.0, 9.0], False), ("rest", [0.0, 0.0, 10.0], True), ("rest", [13.7, 0.0, 0.0], False),
        ("rest", [13.8, 0.0, 0.0], True), ("flies", [0.0, 0.0, 99.0], False), ("slides", [99.0, 0.0, 0.0], False),
    ):  # fmt: skip
        simulator = simulator_of(SCENE)
        simulator.advance(0.0)
        simulator.flow.apply_wrench(
            simulator.model.body_names.index(body), np.array(force), np.zeros(3), None, math.inf
        )
        assert simulator.flow.gives_way() == gives, (body, force)
    for torque, gives in ((35.8, False), (36.0, True), (-24.0, False), (-25.0, True)):  # beside 5.886 N m of weight
        simulator = simulator_of(SCENE)
        simulator.advance(0.0)
        arm = simulator.model.body_names.index("arm")
        simulator.flow.apply_wrench(arm, np.zeros(3), np.array([torque, 0.0, 0.0]), None, math.inf)
        assert simulator.flow.gives_way() == gives, torque
        assert bool(simulator.flow.torques_beyond()) == gives
    found = simulator.flow.torques_beyond()
    assert list(found) == [0] and found[0] == pytest.approx(25.0 + 2 * G0 * 0.3, rel=1e-9)


def test_energies_begin_at_zero_balance_and_steps_are_counted() -> None:
    """Before a row is told, the balance is the whole energy; from then on what is not accounted for."""
    simulator = sim.Simulator(sim.compile(load_text(SCENE)), journal=Told())
    flow = simulator.flow
    flow.observe()
    before = flow.energies()
    weight = G0 * (2 * 1.0 + 2 * 1.0 + 3 * 1.0 + 0.1 + 0.1 + 1.1 + 0.1)
    assert before["potential"] == pytest.approx(weight + 0.5 * 400 * 0.01**2, rel=1e-12)
    assert before["kinetic"] == pytest.approx(0.5 * 1.5**2 + 0.5 * 3 * 0.3**2, rel=1e-12)
    assert before["balance"] == pytest.approx(before["kinetic"] + before["potential"], rel=1e-12)
    assert [before[name] for name in ("dissipated", "impact", "input")] == [0.0, 0.0, 0.0]
    simulator.advance(0.3)
    flow.observe()
    after = flow.energies()
    assert after["balance"] == pytest.approx(0.0, abs=1e-8)
    assert after["dissipated"] > 0.5 * 1.5**2 * 2 / 7  # of a ball that slides until it rolls, and of the cart
    counts = flow.counts()
    assert counts["steps"] > 3 and counts["evaluations"] > 10 * counts["steps"] and counts["rejected"] >= 0
    assert flow.taken() == {} and len(flow.methods()) == 1 and flow.method == "dop853" and flow.next_step > 0.0
    assert simulator.acceleration["flies"] == pytest.approx([0, 0, -G0]) and not flow.body_acceleration(0)[0].any()


def test_wrenches_of_a_caller_last_and_add_up_and_turn_with_their_bodies() -> None:
    text = """
schema: 1
name: pushed
world: {gravity: [0, 0, 0]}
bodies: {a: {mass: 2, com: [0.3, 0.2, 0.1], inertia: [0.4, 0.5, 0.6]}, b: {mass: 1, com: [5, 0, 0], inertia: [1, 1, 1]}}
"""
    simulator = simulator_of(text)
    simulator.advance(0.0)
    p = np.array([0.4, -0.3, 0.7])
    simulator.apply_wrench("a", force_W=[1.0, 2.0, -3.0], torque_W=[0.1, 0.2, 0.3], point_W=p, duration=0.2)
    simulator.apply_wrench("a", force_W=[0.5, 0.0, 0.0], duration=0.1)  # at the body's origin
    simulator.apply_wrench("b", force_W=[0.0, 7.0, 0.0], duration=0.3)
    assert simulator.flow.wrench_end() == 0.1
    assert simulator.acceleration["b"] == pytest.approx([0, 7, 0])
    origin, com = simulator.position["a"], np.array([0.3, 0.2, 0.1])
    moment = np.array([0.1, 0.2, 0.3]) + np.cross(p - com, [1.0, 2.0, -3.0]) + np.cross(origin - com, [0.5, 0, 0])
    alpha = moment / [0.4, 0.5, 0.6]
    assert simulator.angular_acceleration["a"] == pytest.approx(alpha, rel=1e-12)
    a = np.array([1.5, 2.0, -3.0]) / 2.0 + np.cross(alpha, origin - com)
    assert simulator.acceleration["a"] == pytest.approx(a, rel=1e-12)
    simulator.advance(0.15)
    assert simulator.flow.wrench_end() == 0.2
    simulator.advance(0.6)
    assert simulator.flow.wrench_end() == math.inf
    assert simulator.velocity["b"] == pytest.approx([0, 7 * 0.3, 0], rel=1e-9)
    assert simulator.acceleration["b"] == pytest.approx([0, 0, 0], abs=1e-15)
    R, w = simulator.rotation["a"], simulator.angular_velocity["a"]
    v_com = simulator.velocity["a"] + np.cross(w, R @ (com - origin))
    assert v_com == pytest.approx(np.array([0.2 + 0.05, 0.4, -0.6]) / 2.0, rel=1e-9)


def test_which_side_of_a_stop_is_pressed_follows_from_what_it_leaves_free() -> None:
    ranges = [(3, -math.inf, 5.0), (4, 0.0, math.inf), (5, -1.0, 2.0), (6, -math.inf, 0.0)]
    holds = [SimpleNamespace(column=column, low=low, high=high) for column, low, high in ranges]
    flow: Any = SimpleNamespace(structure=SimpleNamespace(bounds=holds))
    assert arming.pressed_stops(flow) == {(3, 1), (4, -1), (6, 1)}


@pytest.mark.parametrize("solver", [True, False])
@pytest.mark.parametrize(("touches", "steps"), [(True, 0), (False, 2), (False, 0), (True, 3)])
def test_rows_that_were_filled_are_taken_once_with_what_touches(solver: bool, touches: bool, steps: int) -> None:
    """Points of contact of the structure, or those of time steps, with the iterations of whoever solved them."""
    buffer, dropped = np.arange(12.0).reshape(4, 3), []

    class Rows(SimpleNamespace):
        def split(self, rows: np.ndarray, structure: Any, impact: str, extra: str) -> dict[str, np.ndarray]:
            assert (impact, extra) == ("impact", "extra")
            return {"time": rows[:, 0], "energy/balance": rows[:, 1]}

        def state(self, rows: np.ndarray, structure: Any) -> tuple[np.ndarray, np.ndarray]:
            return rows[:, 1:], rows[:, 2:]

        def contacts(self, rows: np.ndarray, structure: Any) -> dict[str, np.ndarray]:
            return {"row": rows[:, 0]}

        def step_contacts(self, time: np.ndarray, told: np.ndarray, structure: Any) -> dict[str, np.ndarray]:
            assert time.tolist() == [0.0, 3.0]
            return {"row": told}

    flow: Any = SimpleNamespace(
        rows=Rows(buffer=buffer), stepper=SimpleNamespace(count={FILLED: 2}), drop_rows=lambda: dropped.append(1),
        work=SimpleNamespace(told=np.arange(9), stepped=SimpleNamespace(told=[steps])),
        structure=SimpleNamespace(touches=(1,) if touches else ()),
        ledger=SimpleNamespace(impact="impact", extra="extra", first=0.5),
        contacts=SimpleNamespace(iterations=7) if solver else None,
    )  # fmt: skip
    values, q, v, found = Flow.take_rows(flow)
    assert values["energy/balance"].tolist() == [0.5, 3.5] and buffer[0, 1] == 1.0  # of copies
    assert (q.tolist(), v.tolist(), dropped) == ([[1.0, 2.0], [4.0, 5.0]], [[2.0], [5.0]], [1])
    row = list(range(steps)) if steps else [0.0, 3.0] if touches else None
    assert (found["row"].tolist() if found else None) == row
    assert not found or found["iterations"].tolist() == [7 if solver else 0] * len(found["row"])


THERE = """
schema: 1
name: stops
bodies:
  a: {mass: 1, com: [0.3, 0, 0], inertia: [0.1, 0.1, 0.1]}
  b: {mass: 1, com: [0.3, 1, 0], inertia: [0.1, 0.1, 0.1]}
  c: {mass: 1, com: [0.3, 2, 0], inertia: [0.1, 0.1, 0.1]}
joints:
  pressed: {type: rotational, parent: world, child: a, position: [0, 0, 0], axis: [0, 1, 0],
            limits: {range: [-0.5, 0], stop: rigid}}
  swings: {type: rotational, parent: world, child: b, position: [0, 1, 0], axis: [0, 1, 0],
           limits: {range: [-0.5, 0.7], stop: rigid}}
  later: {type: rotational, parent: world, child: c, position: [0, 2, 0], axis: [0, 1, 0], connected: false,
          limits: {range: [-0.5, 0.7], stop: rigid}}
"""


@pytest.fixture(scope="module")
def there() -> sim.Simulator:
    simulator = simulator_of(THERE)
    simulator.advance(0.0)
    return simulator


def test_stops_are_watched_of_joints_that_are_there_but_the_one_that_is_pressed(there: sim.Simulator) -> None:
    """A joint falls onto its upper stop and is held there by its torque, which is watched instead."""
    guards = there.flow.guards.table
    assert guards.armed[:6].tolist() == [1, 0, 1, 1, 0, 0] and guards.kind[:6].tolist() == [GUARD_STOP] * 6
    assert [(hold.column, hold.low, hold.high) for hold in there.flow.structure.bounds] == [(0, -math.inf, 0.0)]
    assert guards.armed[6:].tolist() == [1, 0] and guards.kind[6:].tolist() == [GUARD_HOLD] * 2


@pytest.mark.fast
def test_soft_points_that_hardly_slide_may_go_back_a_little() -> None:
    """Slower than a tenth of a millimetre a second; what is allowed already stays where it is more."""
    touches = [SimpleNamespace(mode=mode) for mode in (SOFT_SLIP, SOFT_SLIP, SLIP, SOFT_SLIP, SOFT_STICK)]
    guards = table(GUARD, 6)
    guards.kind[:] = [GUARD_SLIP, GUARD_SLIP, GUARD_SLIP, GUARD_SLIP, GUARD_CONE, GUARD_GAP]
    guards.owner[:] = [0, 3, 2, 1, 4, 0]
    guards.allowed[:] = [0.0, 0.0, 0.0, 2e-5, 0.0, 0.0]
    flow: Any = SimpleNamespace(guards=SimpleNamespace(table=guards), structure=SimpleNamespace(touches=touches))
    arming._allow_slow(flow, np.array([-0.9e-4, -1.1e-4, 0.0, 0.5, 0.0, 0.0]))
    assert guards.allowed.tolist() == [1e-5, 0.0, 0.0, 2e-5, 0.0, 0.0]
    flow.structure.touches = touches[:2]
    guards.allowed[:] = 0.0
    guards.owner[:] = 1
    arming._allow_slow(flow, np.array([1e-5, -1e-3, -0.99e-4, 1.0, 0.0, 0.0]))
    assert guards.allowed.tolist() == [1e-5, 0.0, 1e-5, 1e-5, 0.0, 0.0]


@pytest.mark.fast
def test_the_last_row_is_told_once() -> None:
    """A run that ends where a row is due tells of it so; another one tells of its end, once."""
    text = SCENE[: SCENE.index("events:")] + "simulate: {record: 100 Hz, duration: 1 s}"
    for end, rows, last in ((0.05, 6, 0.04), (0.0532, 7, 0.05)):  # a row is filled when a step has gone beyond it
        told = Told()
        for journal in (None, told):
            simulator = simulator_of(text)
            simulator.journal = journal
            simulator.advance(end)
            assert simulator.snapshot().last_row == pytest.approx(last)
        for _ in range(2):
            simulator.finish()
            times = [float(row["time"]) for row in told.rows_]
            assert times[-1] == end == simulator.snapshot().last_row and times == sorted(times)
            assert len(set(times)) == rows == len(times) - 1  # the first is told before and after what happens there


@pytest.mark.fast
@pytest.mark.parametrize(
    ("method", "automatic", "short", "usual"),
    [("radau", 1, 1e-6, 1e-3), ("radau", 1, 1e-2, 1e-3), ("radau", 1, 1e-6, 0.0), ("radau", 0, 1e-6, 1e-3),
     ("dop853", 1, 1e-6, 1e-3), ("dop853", 1, 1e-2, 1e-3), ("dop853", 0, 1e-6, 1e-3)],
)  # fmt: skip
def test_steps_begin_anew_as_they_usually_were(method: str, automatic: int, short: float, usual: float) -> None:
    """Where a method is chosen it is the explicit one, and nothing is left of what implicit steps have taught."""
    from sim.kernels import stepper as s

    flow = simulator_of(SCENE).flow
    clock, count = flow.stepper.clock, flow.stepper.count
    before = clock[s.T], count[s.ACCEPTED]
    turns = len(flow.turns)
    learnt = (s.WINDOW, s.WINDOW_COST, s.SPENT, s.H_BEFORE)
    clock[[s.RETRY, *learnt]], count[[s.FAILURES, s.STIFF, s.CALM, s.TRIAL]] = 7.0, 7
    clock[s.H], clock[s.USUAL], count[s.AUTO] = short, usual, automatic
    count[s.METHOD] = METHODS[method]
    flow._step_anew()
    implicit = method == "radau" and automatic == 1
    assert clock[s.H] == ((usual or max(short, usual)) if implicit else max(short, usual))
    left = 0.0 if automatic else 7.0
    assert clock[s.RETRY] == left and count[[s.FAILURES, s.STIFF, s.CALM]].tolist() == [left] * 3
    assert clock[list(learnt)].tolist() == ([before[0], 0.0, 0.0, 0.0] if implicit else [7.0] * 4)
    assert count[s.TRIAL] == (0 if implicit else 7)
    assert count[s.METHOD] == METHODS["dop853" if implicit else method]
    assert len(flow.turns) == turns + implicit
    if implicit:
        assert flow.turns[-1] == Turn(before[0], "dop853", before[1], "what a jump sets going is quick at first")
