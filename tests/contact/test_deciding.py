"""What an instant decides with at points of contact and at joints: hops, ways, holds, words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sim
from sim.contact import slip_directions, stops
from sim.contact.held_points import share_of
from sim.contact.impact import Collision, poisson, reached_energy, resolve, resolve_in_turn
from sim.contact.kinetics import Kinetics
from sim.contact.stops import Bounded
from sim.contact.zeno import ZenoSequences
from sim.kernels.shapes import OPEN, SLIP, SLOW_SLIP, STICK
from sim.mechanism import finding, solids
from sim.mechanism.active_bound import ActiveBound, key_of
from sim.mechanism.touch import Touch
from sim.scene.load import load_text
from sim.simulation import contact_modes
from sim.simulation.contact_modes import ContactModes, Outcome
from sim.simulation.contact_sentences import overlap
from tests.contact.random_problems import random_bodies
from tests.contact.set_ups import row_of_balls

pytestmark = pytest.mark.contact

# --- collisions that follow each other -------------------------------------------------------------------------------


def told(times: list[float]) -> list[float | None]:
    hops = ZenoSequences()
    return [hops.ends(7, t) for t in times]


def hopping(*lengths: float) -> list[float]:
    return [0.5, *(0.5 + np.cumsum(lengths))]


def test_hops_that_shrink_steadily_end_where_their_series_does() -> None:
    """Of the ratio 0.45: all that follow take 0.45 / 0.55 of the last."""
    last = 0.9e-4
    times = hopping(last / 0.45**2, last / 0.45, last)
    assert told(times) == [None, None, None, pytest.approx(times[-1] + last * 0.45 / 0.55, abs=1e-9)]
    assert told(hopping(7.0, 3.0, last / 0.45**2, last / 0.45, last))[-1] == pytest.approx(
        0.5 + 10.0 + last * (1.0 + 1 / 0.45 + 1 / 0.45**2 + 0.45 / 0.55), abs=1e-9
    )


@pytest.mark.parametrize("lengths", [
    (1.01e-4 / 0.45**2, 1.01e-4 / 0.45, 1.01e-4),  # a hop that may be seen
    (0.9e-4 / 0.45 / 0.4485, 0.9e-4 / 0.45, 0.9e-4), (0.9e-4 / 0.45 / 0.4515, 0.9e-4 / 0.45, 0.9e-4),  # not steady
    (0.5e-4, 0.6e-4, 0.7e-4), (0.5e-4, 0.5e-4, 0.5e-4),  # which do not shrink
])  # fmt: skip
def test_hops_that_go_on_have_no_end(lengths: tuple[float, ...]) -> None:
    assert told(hopping(*lengths)) == [None] * 4


def test_ratios_may_differ_by_less_than_a_thousandth_and_the_shortest_hops_end_at_once() -> None:
    for before in (0.4492, 0.4508):
        assert told(hopping(0.9e-4 / 0.45 / before, 0.9e-4 / 0.45, 0.9e-4))[-1] is not None
    times = hopping(3e-9, 2e-9, 0.9e-9)
    assert told(times)[-1] == times[-1]
    assert told(hopping(3e-9, 2e-9, 3e-9))[-1] is None


def test_pairs_hop_by_themselves_and_are_forgotten() -> None:
    hops, times = ZenoSequences(), hopping(0.9e-4 / 0.45**2, 0.9e-4 / 0.45, 0.9e-4)
    for t in times[:3]:
        assert hops.ends(7, t) is None and hops.ends(8, t) is None
    hops.forget(8)
    hops.forget(9)
    assert hops.ends(8, times[3]) is None and hops.ends(7, times[3]) is not None
    assert len(hops.times[7]) == 4
    hops.ends(7, 9.0)
    assert hops.times[7] == [*times[1:], 9.0]


def test_stops_and_friction_have_keys_of_their_own() -> None:
    keys = [key_of(column, side) for column in range(4) for side in (-1, 0, 1)]
    assert keys == [(-(n + 1), n // 3, n % 3 - 1) for n in range(12)]


# --- a mechanism with everything -------------------------------------------------------------------------------------

SCENE = """
schema: 1
name: everything
world:
  shapes:
    - {name: floor, plane: {}, friction: 0.3}
    - {name: wall, box: {center: [4, 0, 1], size: [0.2, 4, 2]}}
    - {sphere: {center: [0, 5, 0], radius: 0.1}}
bodies:
  door:
    mass: 2 kg
    com: [0.5, 0, 1]
    inertia: [0.2, 0.3, 0.25]
    shapes: [{box: {center: [0.5, 0, 1], size: [0.8, 0.1, 1]}}]
  cart:
    mass: 3 kg
    com: [1, 1, 0.3]
    inertia: [0.3, 0.2, 0.4]
    shapes: [{sphere: {center: [1, 1, 0.2], radius: 0.2}, friction: 0.6}]
  arm:
    mass: 1 kg
    com: [1.2, 1, 0.8]
    inertia: [0.05, 0.04, 0.03]
    shapes: [{capsule: {from: [1, 1, 0.5], to: [1.4, 1, 1], radius: 5 cm}}]
joints:
  hinge: {type: rotational, parent: world, child: door, position: [0, 0, 1], axis: [0, 0, 1], friction: 2,
    limits: {range: [-0.5, 0.7], stop: rigid, restitution: 0.4, rest_speed: 0.02}}
  rail: {type: translational, parent: world, child: cart, position: [1, 1, 0.3], axis: [1, 0, 0], friction: 5,
    limits: {range: [-0.3, 0.9], stop: rigid, restitution: 0.6}}
  socket: {type: spherical, parent: cart, child: arm, position: [1, 1, 0.5], limits: {range: [0, 0.9], stop: rigid}}
initial:
  hinge: HINGE
  rail: {coordinate: RAIL, rate: 0.4}
contacts:
  first: {between: [[door, cart], [world.floor, arm]], friction: 0.25}
  second: {between: [world, [cart, arm]], restitution: 0.5, combine: FRICTION}
  third: {between: [cart, door], active: false}
simulate: {contact: event}
"""


def everything(hinge: str = "0.7", rail: str = "-0.3") -> sim.Simulator:
    text = SCENE.replace("HINGE", hinge).replace("RAIL", rail).replace(", combine: FRICTION", "")
    return sim.Simulator(sim.compile(load_text(text)))


@pytest.fixture(scope="module")
def run() -> sim.Simulator:
    return everything()


def columns(run: sim.Simulator) -> dict[str, int]:
    return {name: n for n, name in enumerate(run.model.column_names)}


def test_joints_at_their_stops_and_those_with_friction_are_found(run: sim.Simulator) -> None:
    flow, of = run.flow, columns(run)
    flow.mechanism.update(flow.q, flow.v)
    found, gaps = stops.at_stops(flow.mechanism)
    length, hinge, rail = run.model.length, of["hinge"], of["rail"]
    assert found == [
        Bounded(hinge, 1, length, restitution=0.4, rest_speed=0.02 * length),
        Bounded(rail, -1, 1.0, restitution=0.6, rest_speed=found[1].rest_speed),
    ]
    assert gaps == pytest.approx([0.0, 0.0], abs=1e-15) and length != 1.0
    rough = stops.with_friction(flow.mechanism)
    assert rough == [Bounded(hinge, 0, length, resistance=2.0 / length), Bounded(rail, 0, 1.0, resistance=5.0)]
    away = everything("0.69999", "-0.29999").flow
    away.mechanism.update(away.q, away.v)
    assert stops.at_stops(away.mechanism) == ([], [])


def test_what_joints_at_stops_are_called(run: sim.Simulator) -> None:
    model, of = run.model, columns(run)
    ball = int(np.flatnonzero(model.columns.joint == model.joint_names.index("socket"))[0])
    upper, lower, rubs = Bounded(of["hinge"], 1, 1.0), Bounded(of["rail"], -1, 1.0), Bounded(of["rail"], 0, 1.0)
    angle = Bounded(ball, 1, 1.0)
    assert [one.name(model) for one in (upper, lower, rubs, angle)] == [
        "hinge at its upper stop", "rail at its lower stop", "rail", "socket at its upper stop",
    ]  # fmt: skip
    assert upper.beyond(model, 0.01234) == "hinge is 0.0123 rad beyond its upper stop, which is rigid"
    assert lower.beyond(model, 0.5) == "rail is 0.5 m beyond its lower stop, which is rigid"
    assert [one.told(model, mode) for one in (upper, lower) for mode in (OPEN, STICK)] == [
        "hinge leaves its upper stop", "hinge rests at its upper stop", "rail leaves its lower stop",
        "rail rests at its lower stop",
    ]  # fmt: skip
    assert [rubs.told(model, mode) for mode in (STICK, SLIP)] == ["rail sticks", "rail slides"]
    assert upper.key == key_of(of["hinge"], 1) and upper.pair == upper.key[0] < 0
    both = Bounded(ball, 0, 1.0, force=2.0, both=True, beside=3.0)
    assert (both.columns, both.forces) == ((ball, ball + 1), (2.0, 3.0))
    assert (rubs.columns, Bounded(1, 0, 1.0, force=2.0, beside=3.0).forces) == ((of["rail"],), (2.0,))


def test_freedoms_are_held_where_they_are_and_at_their_bounds(run: sim.Simulator) -> None:
    """Between which torques: a stop pushes one way without end, friction either way up to its bound."""
    flow, of = run.flow, columns(run)
    flow.mechanism.update(flow.q, flow.v)
    hinge, rail = of["hinge"], of["rail"]
    ball = int(np.flatnonzero(run.model.columns.joint == run.model.joint_names.index("socket"))[0])
    where = stops.everywhere(flow.mechanism, [Bounded(rail, -1, 1.0), Bounded(rail, 0, 1.0), Bounded(hinge, 1, 2.0)])
    assert where == (
        ActiveBound(rail, pytest.approx(-0.3), -np.inf, np.inf),
        ActiveBound(hinge, pytest.approx(0.7), -np.inf, np.inf),
    )
    held = stops.active_bounds(flow.mechanism, [
        Bounded(hinge, 1, 2.0, mode=STICK, force=3.0), Bounded(rail, -1, 1.0, mode=STICK, force=4.0),
        Bounded(hinge, 0, 2.0, resistance=1.5, mode=STICK, force=-0.5), Bounded(ball, 1, 2.0, mode=OPEN, force=9.0),
        Bounded(ball, 0, 2.0, resistance=9.0, mode=SLIP, force=9.0),
    ])  # fmt: skip
    assert held == (
        ActiveBound(hinge, 0.7, -np.inf, 3.0, -6.0 - 1.0), ActiveBound(rail, -0.3, 0.0, np.inf, 4.0),
    )  # fmt: skip
    both = stops.active_bounds(flow.mechanism, [
        Bounded(hinge, 0, 2.0, resistance=1.5, mode=STICK, force=0.5, both=True, beside=-0.25),
    ])  # fmt: skip
    assert [(one.column, one.low, one.high, one.torque) for one in both] == [
        (hinge, -3.0, 3.0, 1.0),
        (hinge + 1, -3.0, 3.0, -0.5),
    ]
    assert both[0].at == pytest.approx(0.7)
    rubs = stops.friction_of_moving(run.model, [
        Bounded(hinge, 0, 2.0, mode=SLIP, force=0.5), Bounded(rail, 0, 1.0, mode=STICK, force=9.0),
        Bounded(rail, -1, 1.0, mode=SLIP, force=9.0),
        Bounded(ball, 0, 3.0, mode=SLIP, force=1.0, both=True, beside=-2.0),
    ])  # fmt: skip
    wanted = np.zeros(len(run.model.columns))
    wanted[[hinge, ball, ball + 1]] = [1.0, 3.0, -6.0]
    assert rubs == pytest.approx(wanted, abs=1e-15)


def test_stops_take_the_modes_of_an_answer() -> None:
    some = [Bounded(3, 1, 1.0), Bounded(4, -1, 2.0)]
    found = stops.against(some, np.array([[2.5, 7.0, 7.0], [0.5, 7.0, 7.0]]), np.array([STICK, OPEN]))
    assert found == [Bounded(3, 1, 1.0, mode=STICK, force=2.5), Bounded(4, -1, 2.0, mode=OPEN, force=0.5)]


def answer(P: Any, mode: Any, d: Any, chosen: Any) -> Any:
    return SimpleNamespace(P=np.array(P, float), mode=np.array(mode), d=np.array(d, float), chosen=np.array(chosen))


def test_friction_gives_all_where_it_slides_and_where_it_could_not_hold_any_longer() -> None:
    one, two = Bounded(3, 0, 1.0, resistance=2.0), Bounded(5, 0, 1.0, resistance=4.0, both=True)
    P, d = [[9.0, 9.0, 9.0], [0.0, 1.5, 0.0], [0.0, 1.2, -1.6]], [[9.0, 9.0], [0.3, 0.0], [0.6, -0.8]]

    def asked(
        modes: list[int], chosen: list[bool], leaving: object = (), P: Any = P, d: Any = d
    ) -> list[tuple[Any, ...]]:
        keys = frozenset(point.key for point in leaving)
        found = stops.frictions([one, two], answer(P, [0, *modes], d, [False, *chosen]), keys)
        return [(point.mode, round(point.force, 9), round(point.beside, 9)) for point in found]

    assert asked([STICK, STICK], [False, False]) == [(STICK, 1.5, 0.0), (STICK, 1.2, -1.6)]
    assert asked([SLIP, SLIP], [False, False]) == [(SLIP, -2.0, 0.0), (SLIP, -2.4, 3.2)]
    assert asked([SLIP, SLIP], [False, False], d=[[9, 9], [-0.3, 0.0], [0, 1.0]]) == [
        (SLIP, 2.0, 0.0),
        (SLIP, 0.0, -4.0),
    ]
    assert asked([STICK, STICK], [False, False], (one, two)) == [(STICK, 1.5, 0.0), (STICK, 1.2, -1.6)]
    assert asked([STICK, STICK], [True, True], (one, two)) == [(SLIP, 2.0, 0.0), (SLIP, 2.4, -3.2)]
    assert asked([STICK, STICK], [True, True], (two,)) == [(STICK, 1.5, 0.0), (SLIP, 2.4, -3.2)]
    full = [[9.0, 9.0, 9.0], [0.0, -2.0 * (1 - 0.9e-8), 0.0], [0.0, 2.4 * (1 - 1.1e-8), 3.2 * (1 - 1.1e-8)]]
    assert [m for m, _, _ in asked([STICK, STICK], [False, False], (one, two), full)] == [SLIP, STICK]


def test_friction_is_eased_where_others_hold_the_rest() -> None:
    some = [
        Bounded(3, 0, 1.0, resistance=2.0, mode=STICK), Bounded(4, 0, 1.0, resistance=5.0, mode=STICK, both=True),
        Bounded(6, 0, 1.0, resistance=2.0, mode=SLIP, force=1.0), Bounded(3, 1, 1.0, mode=STICK, force=7.0),
        Bounded(8, 0, 1.0, resistance=2.0, mode=STICK, force=0.5),
    ]  # fmt: skip
    found = stops.eased(some, {3: -9.0, 4: 30.0, 5: -40.0, 6: 9.0})
    assert found[1:2] == [
        Bounded(4, 0, 1.0, resistance=5.0, mode=SLIP, force=pytest.approx(3.0), both=True, beside=pytest.approx(-4.0))
    ]
    assert (found[0].mode, found[0].force, found[0].beside) == (SLIP, -2.0, 0.0)
    assert found[2:] == some[2:]


# --- what touches ----------------------------------------------------------------------------------------------------


def test_pairs_that_rules_name_are_found_once_with_all_their_rules(run: sim.Simulator) -> None:
    """Solids: 0 the floor, 1 the wall, 2 a nameless ball, 3 the door, 4 the cart, 5 the arm."""
    pairs = {(pair.first, pair.second): (pair.rules, set(pair.turned)) for pair in run.model.pairs}
    assert pairs == {
        (0, 3): ((0,), {0}), (0, 4): ((0, 1), {0}), (3, 5): ((0,), set()), (4, 5): ((0,), set()),
        (1, 4): ((1,), set()), (2, 4): ((1,), set()), (0, 5): ((1,), set()), (1, 5): ((1,), set()),
        (2, 5): ((1,), set()), (3, 4): ((2,), {2}),
    }  # fmt: skip
    assert [(pair.first, pair.second) for pair in run.model.pairs] == sorted(pairs)
    kinds = [(solid.body, solid.kind, solid.name) for solid in run.model.solids]
    assert kinds[:3] == [(0, "plane", "floor"), (0, "box", "wall"), (0, "sphere", "")]
    assert [kind for _, kind, _ in kinds[3:]] == ["box", "sphere", "capsule"]
    assert [body for body, _, _ in kinds[3:]] == [1, 2, 3]
    assert [solid.friction for solid in run.model.solids] == [0.3, None, None, None, 0.6, None]


def test_pairs_follow_the_last_rule_that_is_on_unless_a_joint_holds_them(run: sim.Simulator) -> None:
    flow, pairs = run.flow, [(pair.first, pair.second) for pair in run.model.pairs]

    def rules(*active: bool) -> dict[tuple[int, int], int]:
        return {pairs[n]: rule for n, rule in finding.meetings(flow.mechanism, active).items()}

    # The door hangs on the world, as the cart does; the arm on the cart.
    assert rules(True, True, False) == {(0, 5): 1, (1, 5): 1, (2, 5): 1, (3, 5): 0}
    assert rules(True, False, True) == {(3, 5): 0, (3, 4): 2}
    assert rules(False, False, False) == {}


def test_friction_is_that_of_the_rule_or_of_the_surfaces() -> None:
    def solid(friction: float | None) -> Any:
        return SimpleNamespace(friction=friction)

    rule = SimpleNamespace(friction=None, combine="harmonic")
    assert solids.friction_of(rule, solid(0.2), solid(0.6)) == pytest.approx(0.3)
    assert solids.friction_of(rule, solid(None), solid(0.6)) == 0.6
    assert solids.friction_of(rule, solid(0.2), solid(None)) == 0.2
    assert solids.friction_of(rule, solid(None), solid(None)) == 0.5
    rule.friction = 0.0
    assert solids.friction_of(rule, solid(0.2), solid(0.6)) == 0.0
    found = [solids.combined(how, 0.2, 0.8) for how in ("max", "min", "mean", "harmonic", "geometric")]
    assert found == pytest.approx([0.8, 0.2, 0.5, 0.32, 0.4])
    assert solids.combined("harmonic", 0.0, 0.0) == 0.0 and solids.combined("harmonic", 0.0, 1e-3) == 0.0


# --- ways ------------------------------------------------------------------------------------------------------------


class Frames:
    """Points of contact in frames of their own, three of them closed, and one freedom behind them."""

    def __init__(self) -> None:
        rng = np.random.default_rng(2)
        turns = [np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(5)]
        self.t1, self.t2 = np.array([R[:, 0] for R in turns]), np.array([R[:, 1] for R in turns])
        self.points = np.array([0, 2, 4])
        self.u = np.zeros((4, 3))
        self.mechanism = SimpleNamespace(work=SimpleNamespace(points=SimpleNamespace(t1=self.t1, t2=self.t2)))

    def rates(self, v: object) -> np.ndarray:
        return self.u.ravel()

    def world(self, i: int, a: float, b: float) -> np.ndarray:
        return a * self.t1[self.points[i]] + b * self.t2[self.points[i]]


LAW: Any = [SimpleNamespace(key=(k, 0, 0)) for k in range(4)]


def test_directions_are_taken_to_the_frames_of_points() -> None:
    frames = Frames()
    normal = np.cross(frames.t1[2], frames.t2[2])
    found = slip_directions.along(
        frames, [frames.world(0, 0.6, 0.8), frames.world(1, -0.3, 0.4) + 2.0 * normal, np.zeros(3), np.ones(3)]
    )
    assert found == pytest.approx(np.array([[0.6, 0.8], [-0.3, 0.4], [0, 0], [0, 0]]), abs=1e-14)


def test_points_go_on_as_they_slid_and_slow_ones_lean_to_where_they_began() -> None:
    frames, on = Frames(), slip_directions.SlipDirections()
    on.started = {
        (0, 0, 0): frames.world(0, 0.6, 0.8),
        (1, 0, 0): frames.world(1, 1.0, 0.0),
        (2, 0, 0): frames.world(2, 0.0, 1.0),
    }
    law = LAW
    assert on.starts(frames, law) == pytest.approx(np.array([[0.6, 0.8], [1, 0], [0, 1], [0, 0]]), abs=1e-14)
    frames.u[:, 1:] = [[3.0, 0.5], [2e-6, 3e-6], [0.3, -1e-3], [1.0, 1.0]]
    found = on.go_on(frames, law, np.zeros(1))
    slow = np.array([2e-6, 3e-6]) + 1e-6 * (1.0 - np.hypot(2.0, 3.0) / 8.0) ** 2 * np.array([1.0, 0.0])
    wanted = [np.array([3.0, 0.5]) / np.hypot(3.0, 0.5), slow / np.hypot(*slow), [0.0, 0.0], [0.0, 0.0]]
    assert found == pytest.approx(np.array(wanted), abs=1e-13)
    frames.u[:, 1:] = [[3.1e-9, 4.0e-9], [5.1e-9, 0.0], [0.0, 4.9e-9], [0.0, 0.0]]  # 5e-9 m/s along the way
    on_still = [5.06e-9 > 5e-9, True, False, False]
    assert np.abs(on.go_on(frames, law, np.zeros(1))).any(axis=1).tolist() == on_still


def test_points_that_crept_go_on_to_creep_while_they_are_slow() -> None:
    frames, on, law = Frames(), slip_directions.SlipDirections(), LAW
    on.started = {(k, 0, 0): frames.world(k, 0.6, 0.8) for k in range(3)}
    on.slipping_slowly = {(0, 0, 0), (1, 0, 0), (2, 0, 0)}
    frames.u[:, 1:] = [[5.9e-5, 7.9e-5], [6.1e-5, 8.1e-5], [-1e-5, -1e-5], [1e-5, 1e-5]]
    assert on.slow_slip_on(frames, law, np.zeros(1)).tolist() == [True, False, False, False]
    found = on.go_on(frames, law, np.zeros(1))
    assert found[0] == pytest.approx([0.6, 0.8], abs=1e-13)  # the way of its friction, not of its slip
    on.slipping_slowly = {(2, 0, 0)}
    assert not on.slow_slip_on(frames, law, np.zeros(1)).any()


def test_how_points_slide_is_noted() -> None:
    points = SimpleNamespace(slip=np.arange(12.0).reshape(4, 3), start=-np.arange(12.0).reshape(4, 3))
    touches = [SimpleNamespace(key=(k, 1, 2), mode=mode) for k, mode in enumerate((STICK, SLIP, SLOW_SLIP, SLIP))]
    on = slip_directions.SlipDirections()
    on.note(touches, points)
    assert on.slipping_slowly == {(2, 1, 2)}
    assert {key: value.tolist() for key, value in on.started.items()} == {
        (1, 1, 2): [-3.0, -4.0, -5.0], (2, 1, 2): [6.0, 7.0, 8.0], (3, 1, 2): [-9.0, -10.0, -11.0],
    }  # fmt: skip
    points.slip[2] = 0.0
    assert on.started[2, 1, 2].tolist() == [6.0, 7.0, 8.0]


def test_rows_across_ways() -> None:
    d = np.array([[0.6, 0.8], [9.0, 9.0], [-0.8, 0.6]])
    rows = slip_directions.rows_across(d, [2, 0])
    assert rows.tolist() == [[0, 0, 0, 0, 0, 0, 0, -0.6, -0.8], [0, -0.8, 0.6, 0, 0, 0, 0, 0, 0]]


def test_directions_lose_what_no_force_could_make_of_them() -> None:
    """A point that moves along one line of its surface only; one that moves anywhere; one that is not asked."""
    line = np.array([0.0, 0.8, -0.6])
    G = np.zeros((9, 9))
    G[:3, :3] = np.outer(line, line) * 4.0 + np.diag([1.0, 0.0, 0.0])
    G[3:6, 3:6], G[6:, 6:] = np.diag([1.0, 2.0, 3.0]), G[:3, :3]
    d = np.array([[1.0, 0.0], [0.6, 0.8], [1.0, 0.0]])
    found = slip_directions.movable(G, np.ones(9, bool), np.array([True, True, False]), d)
    assert found == pytest.approx(np.array([[0.8, -0.6], [0.6, 0.8]]), abs=1e-12)
    d[0] = [0.6, 0.8]  # straight across: nothing is left, and it stays
    assert slip_directions.movable(G, np.ones(9, bool), np.array([True, False, False]), d) == pytest.approx(
        np.array([[0.6, 0.8]]), abs=1e-9
    )


def test_a_point_on_an_edge_slides_along_it_where_another_one_of_the_edge_leaves_and_not_where_it_sticks() -> None:
    arms = np.array([[-1.0, 0.2, -0.3], [1.0, 0.2, -0.3]])
    axes = [np.array(axis, float) for axis in ([0, 0, 1], [1, 0, 0], [0, 1, 0])]  # normal, along the edge, across
    W = np.array([np.concatenate([axis, np.cross(arm, axis)]) for arm in arms for axis in axes])
    G, d = W @ np.diag([1.0, 1.0, 1.0, 3.0, 4.0, 5.0]) @ W.T, np.array([[0.0, 0.0], [0.6, 0.8]])
    which = np.array([False, True])
    assert slip_directions.movable(G, np.repeat(which, 3), which, d) == pytest.approx(d[1:], abs=1e-12)
    assert slip_directions.movable(G, np.ones(6, bool), which, d) == pytest.approx(np.array([[0.0, 1.0]]), abs=1e-12)


def test_directions_lose_what_no_force_could_make_beside_points_that_move_along_a_line_alone() -> None:
    """As all of a plane mechanism do, of bodies heavy and light; without any mobility across, none is said for it."""
    line = np.array([0.0, 0.8, -0.6])
    for heavy in (1e-6, 1.0, 1e6):
        G = np.zeros((6, 6))
        G[:3, :3] = heavy * (np.outer(line, line) * 4.0 + np.diag([1.0, 0.0, 0.0]))
        G[3:, 3:] = np.diag([1.0, 2.0, 0.0])
        found = slip_directions.movable(G, np.ones(6, bool), np.array([True, True]), np.array([[1.0, 0.0], [0.6, 0.8]]))
        assert found == pytest.approx(np.array([[0.8, -0.6], [1.0, 0.0]]), abs=1e-9)


def test_slow_points_creep_unless_others_keep_them_from_moving_across() -> None:
    """Two points on one body that only slides: what one has across its way the other leads."""
    J = np.zeros((9, 7))
    J[1:3, 0:2] = J[4:6, 0:2] = np.eye(2)  # both move with the first two freedoms along their surfaces
    J[7:9, 2:4] = np.eye(2)
    J[[0, 3, 6], [4, 5, 6]] = 1.0
    G = J @ np.diag([1.0, 1.0, 2.0, 3.0, 1.0, 1.0, 1.0]) @ J.T
    d = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    free = np.array([SLIP, SLIP, SLIP])
    found = slip_directions.let_slip_slowly(G, free, d, np.array([True, False, True]))
    assert found.tolist() == [SLOW_SLIP, SLIP, SLOW_SLIP] and free.tolist() == [SLIP] * 3
    d[1] = [1.0, 0.0]  # both would be held across the same way
    assert sorted(slip_directions.let_slip_slowly(G, free, d, np.array([True, True, False])).tolist()) == [
        SLIP,
        SLIP,
        SLOW_SLIP,
    ]
    assert slip_directions.let_slip_slowly(
        G, np.array([SLIP, STICK, SLIP]), d, np.array([True, False, True])
    ).tolist() == [
        SLIP,
        STICK,
        SLOW_SLIP,
    ]
    assert slip_directions.let_slip_slowly(G, free, d, np.zeros(3, bool)).tolist() == [SLIP] * 3
    for angle, both in ((0.009, False), (0.011, True)):  # the square of its sine is what is left: 1e-4 is enough
        d[1] = [np.cos(angle), np.sin(angle)]
        assert (slip_directions.let_slip_slowly(G, free, d, np.array([True, True, False])) == SLOW_SLIP).sum() == (
            2 if both else 1
        )


def test_points_that_nothing_moves_across_their_ways_slide_at_once_whatever_roundoff_says() -> None:
    """As all points of a mechanism in a plane: what they seem to have across it is no mobility."""
    way = np.array([0.0, 0.6, 0.8])
    G = 1e3 * np.outer(way, way) + np.diag([1e3, 0.0, 0.0])
    d, free = way[None, 1:], np.array([SLIP])
    for turn in (0.0, 1e-15, -1e-15, 3e-9):
        near = d + turn * np.array([[-0.8, 0.6]])
        assert slip_directions.let_slip_slowly(G, free, near, np.array([True])).tolist() == [SLIP]
    assert slip_directions.let_slip_slowly(G + np.eye(3), free, d, np.array([True])).tolist() == [SLOW_SLIP]


# --- at an instant ---------------------------------------------------------------------------------------------------


def test_the_shortest_hop_is_that_of_the_points_that_leave_and_come_back() -> None:
    u, a = np.array([0.2, -1.0, 0.3, 1e-9, 0.5]), np.array([-2.0, -9.0, 0.5, -1.0, -4.0])
    assert contact_modes._shortest_hop(u, a) == pytest.approx(0.2)
    assert contact_modes._shortest_hop(u[1:4], a[1:4]) == np.inf
    assert contact_modes._shortest_hop(np.array([1.1e-8]), np.array([-1.0])) == pytest.approx(2.2e-8)


def test_rates_of_some_rows_are_stopped_by_the_least_impulses() -> None:
    body = random_bodies(3, 3, spread=10.0)
    G = body.G + 0.1 * np.eye(9)
    rows = np.random.default_rng(0).normal(size=(2, 9))
    P = contact_modes._brought_to_rest(G, body.u, rows)
    assert rows @ (body.u + G @ P) == pytest.approx([0.0, 0.0], abs=1e-12)
    assert np.linalg.lstsq(rows.T, P, rcond=None)[1] == pytest.approx(0.0, abs=1e-20)  # along these rows alone
    twice = contact_modes._brought_to_rest(G, body.u, np.vstack([rows, rows]))
    assert twice == pytest.approx(P, abs=1e-12)


def test_shares_of_forces_stand_as_rows_do() -> None:
    f = np.array([3.0, 1.0, 2.0])
    assert share_of(STICK, f) == (1.0, 2.0, 3.0) == share_of(SLIP, f)
    assert share_of(SLOW_SLIP, f) == (0.0, 0.0, 3.0)


def test_what_a_law_says_of_each_point(run: sim.Simulator) -> None:
    touch, pairs = ContactModes(run.model), [(pair.first, pair.second) for pair in run.model.pairs]
    row = SimpleNamespace(key=np.array([4, 5]))
    law: Any = [
        Touch(pairs.index((0, 4)), 1, row), Touch(pairs.index((1, 5)), 0, row),
        Bounded(2, 1, 1.0, restitution=0.7, rest_speed=0.03), Bounded(3, 0, 1.0, resistance=2.5),
    ]  # fmt: skip
    assert touch._of(law, "friction") == pytest.approx([np.sqrt(0.3 * 0.6), 0.25, 0.0, 0.0])
    assert touch._of(law, "resistance").tolist() == [0.0, 0.0, 0.0, 2.5]
    assert touch._of(law, "restitution").tolist() == [0.5, 0.0, 0.7, 0.0]
    assert touch._of(law, "rest_speed")[2:].tolist() == [0.03, 0.0]
    assert [touch.name(point) for point in law[:2]] == ["floor and cart", "wall and arm"]
    assert contact_modes._pairs(law).tolist() == [law[0].pair, law[1].pair, law[2].pair, law[3].pair]
    assert law[0].key == (law[0].pair, 4, 5)


def test_bodies_inside_one_another_are_told_where_they_begin_to_touch(run: sim.Simulator) -> None:
    model, pairs = run.model, [(pair.first, pair.second) for pair in run.model.pairs]
    row = SimpleNamespace(key=np.array([4, 5]))
    law: Any = [Touch(pairs.index((0, 4)), 1, row), Bounded(columns(run)["rail"], 1, 1.0)]
    assert overlap(model, law, [-0.99e-6, 5.0]) == "" == overlap(model, [], [])
    assert overlap(model, law, [-0.0123456, -1e-3]) == (
        "floor and cart overlap by 0.0123 m where they begin to touch: set them apart, or leave them out of the "
        "contacts (`except`)"
    )
    assert overlap(model, law, [-1.01e-6, -1e-3]) == (
        "rail is 0.001 m beyond its upper stop, which is rigid: change the pose, the initial value or the limits"
    )


def test_changes_of_modes_are_told_and_counted(run: sim.Simulator) -> None:
    touch, pairs = ContactModes(run.model), [(pair.first, pair.second) for pair in run.model.pairs]
    of = columns(run)

    def at(pair: tuple[int, int], key: int, mode: int) -> Touch:
        return Touch(pairs.index(pair), 0, SimpleNamespace(key=np.array([key, 0])), mode)

    def kept(*points: Any) -> tuple[list[str], set[str]]:
        out = Outcome()
        touch._keep(points, out)
        return out.changed, out.pairs

    stop = Bounded(of["hinge"], 1, 1.0, mode=STICK)
    assert kept(at((0, 4), 1, STICK), at((0, 4), 2, STICK), at((1, 5), 1, SLOW_SLIP), at((0, 5), 1, OPEN), stop) == (
        ["floor and cart sticks (2 points)", "wall and arm slides", "hinge rests at its upper stop"],
        {"floor and cart", "wall and arm", "hinge at its upper stop"},
    )
    assert kept(at((0, 4), 1, STICK), at((0, 4), 2, SLIP), at((1, 5), 1, SLIP), stop) == (
        ["floor and cart slides"], {"floor and cart"},
    )  # fmt: skip
    assert kept(at((0, 4), 2, SLIP), Bounded(of["hinge"], 1, 1.0, mode=OPEN)) == (
        ["floor and cart leaves", "wall and arm leaves", "hinge leaves its upper stop"],
        {"floor and cart", "wall and arm", "hinge at its upper stop"},
    )
    assert list(touch.state.modes.values()) == [SLIP] and len(touch.state.points) == 1


def test_decisions_that_follow_each_other_without_end_are_told(run: sim.Simulator) -> None:
    """500 of them within 1e-4 s, with the four pairs that took part most often."""
    for seconds, endless in ((0.99e-4, True), (1.01e-4, False)):
        touch = ContactModes(run.model)
        for n in range(500):
            out = Outcome(struck=["a and b"], pairs={f"p{n % 4}", *(["q"] if n % 3 == 0 else [])})
            touch._go_on(2.0 + seconds * n / 499.0, [], out)
            assert out.endless == (endless and n == 499) and bool(out.failure) == out.endless
        if endless:
            assert out.failure.startswith(
                "500 times within 9.9e-05 s contacts collided or changed, those of a and b, q, p0, p1 most often: "
            )
    touch = ContactModes(run.model)
    touch._go_on(1.0, [Bounded(columns(run)["rail"], 0, 1.0)], Outcome())
    assert touch.state.decisions[0] == (1.0, ("rail",))


def test_rules_are_switched_and_joints_forgotten(run: sim.Simulator) -> None:
    touch = ContactModes(run.model)
    assert touch.state.rules == [True, True, False]
    touch.switch(["first", "third"], on=True)
    assert touch.state.rules == [True, True, True]
    touch.switch(["second", "third"], on=False)
    assert touch.state.rules == [True, False, False]
    for column in (4, 5):
        for side in (-1, 0, 1):
            touch.state.zeno.ends(key_of(column, side)[0], 1.0)
    touch.forget([5])
    assert sorted(touch.state.zeno.times) == sorted([key_of(4, side)[0] for side in (-1, 0, 1)] + [key_of(5, 0)[0]])
    assert touch.slow == pytest.approx(np.sqrt(2e-10 * 9.81), rel=1e-3)


# --- collisions ------------------------------------------------------------------------------------------------------


def test_what_a_collision_answers_with() -> None:
    body = random_bodies(3, 3, spread=10.0)
    e, rest = np.array([0.5, 0.6, 0.7]), np.array([0.1, 9.0, 0.1])
    u = body.u.copy()
    u[::3] = [-0.2, -0.3, 0.4]
    made = Collision(G=body.G, u=u, mu=np.full(3, 0.3), e=e, rest=rest, modes=np.array([1, 1, 2]))
    assert made.approach.tolist() == [-0.2, -0.3, 0.4]
    assert made.bounce.tolist() == [0.5, 0.0, 0.0] and made.patches.tolist() == [0, 0, 0]
    said = Collision(
        G=body.G, u=u, mu=np.full(3, 0.3), e=e, u_n=np.array([0.5, -10.0, -0.1]), rest=rest, patch=[4, 4, 5]
    )
    assert said.approach.tolist() == [0.5, -10.0, -0.1] and said.bounce.tolist() == [0.0, 0.6, 0.0]
    assert said.patches.tolist() == [4, 4, 5]
    asked = made.problem(0.5 * u, least=np.array([0.1, 0.2, 0.3]))
    assert asked.rate == np.abs(u).max() and asked.modes is made.modes and asked.least.tolist() == [0.1, 0.2, 0.3]
    inverse = np.linalg.pinv(body.G)
    assert reached_energy(body.G, u) == pytest.approx(0.5 * u @ inverse @ u, rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_a_collision_tells_what_its_impulses_do(seed: int) -> None:
    body = random_bodies(seed, 4, spread=10.0)
    made = Collision(G=body.G, u=body.u, mu=np.full(4, 0.4), e=np.full(4, 0.6), patch=body.patch, kinetic=body.kinetic)
    for law in (poisson, None):
        hit = resolve(made, law) if law else resolve(made)
        after = body.u + body.G @ hit.P.ravel()
        assert hit.u.ravel() == pytest.approx(after, abs=1e-12 * np.abs(body.u).max())
        v = body.v + body.inverse @ body.W.T @ hit.P.ravel()
        kinetic = 0.5 * v @ np.linalg.solve(body.inverse, v)
        assert hit.energy == pytest.approx(kinetic - body.kinetic, abs=1e-9 * body.kinetic)
        assert hit.rounds == (-1,) and 0.0 <= hit.s <= 1.0 and hit.status == hit.last.status
        assert hit.energy <= 1e-9 * body.kinetic


def test_balls_in_a_row_collide_one_pair_after_the_other() -> None:
    row = row_of_balls([1.0, 1.0, 1.0, 1.0], [1.0, 0.0, 0.0, 0.0])
    patches = np.arange(3)
    hit = resolve_in_turn(Collision(G=row.G, u=row.u, mu=np.zeros(3), e=np.ones(3), patch=patches, kinetic=row.kinetic))
    assert hit.rounds == (0, 1, 2) and hit.s == 1.0
    soft = resolve_in_turn(
        Collision(G=row.G, u=row.u, mu=np.zeros(3), e=np.full(3, 0.5), patch=patches, kinetic=row.kinetic)
    )
    assert soft.u[:, 0].min() >= -1e-11 and soft.energy < 0.0
    apart = resolve_in_turn(Collision(G=row.G, u=-row.u, mu=np.zeros(3), e=np.ones(3), patch=patches))
    assert apart.rounds == (-1,) and not apart.P.any()
    plastic = resolve_in_turn(Collision(G=row.G, u=row.u, mu=np.zeros(3), e=np.zeros(3), patch=patches))
    often = [plastic.rounds.count(p) for p in range(3)]
    assert max(often) == 10 and plastic.rounds[-1] == -1 and min(often) >= 9
    assert plastic.u[:, 0] == pytest.approx(np.zeros(3), abs=1e-10 * np.abs(row.u).max())


# --- what impulses do to a mechanism ---------------------------------------------------------------------------------


def test_impulses_at_stops_answer_as_dense_matrices_do(run: sim.Simulator) -> None:
    flow, of = run.flow, columns(run)
    mechanism = flow.mechanism
    mechanism.update(flow.q, flow.v)
    some = [Bounded(of["hinge"], 1, run.model.length), Bounded(of["rail"], -1, 1.0), Bounded(of["rail"], 0, 1.0)]
    now = flow.instant()
    held = stops.everywhere(mechanism, some)
    full = contact_modes._with(now, (), {}, held)
    made = Kinetics(full.mechanism, some)
    assert made.W.shape == (9, len(flow.v)) and len(made.points) == 0
    wanted = np.zeros((9, len(flow.v)))
    links = full.structure.tables.links
    for row, name, factor in ((0, "hinge", -run.model.length), (3, "rail", 1.0), (7, "rail", 1.0)):
        b = int(np.flatnonzero(links.column[1:] == of[name])[0]) + 1
        wanted[row, links.v[b]] = factor
    assert pytest.approx(wanted, abs=1e-12) == made.W
    M = full.mechanism.inertia()
    assert pytest.approx(wanted @ np.linalg.solve(M, wanted.T), abs=1e-10) == made.G
    P = np.arange(1.0, 10.0)
    assert made.change(P) == pytest.approx(np.linalg.solve(M, wanted.T @ P), abs=1e-10)
    assert made.rates(flow.v) == pytest.approx(wanted @ flow.v, abs=1e-12)
    part = made.first(2)
    assert (made.G[:6, :6] == part.G).all() and part.change(P[:6]) == pytest.approx(
        np.linalg.solve(M, wanted[:6].T @ P[:6])
    )
    rows = full.mechanism.structure.tables.rows
    J = full.mechanism.jacobian()
    assert J.T @ made.impulses(P) == pytest.approx(wanted.T @ P, abs=1e-10) and len(rows) == 2
    assert J.T @ part.impulses(P[:6]) == pytest.approx(wanted[:6].T @ P[:6], abs=1e-10)
    vdot = np.arange(len(flow.v)) * 0.3
    assert made.accelerations(vdot) == pytest.approx(wanted @ vdot, abs=1e-9)


BALL = """
schema: 1
name: ball
world: {shapes: [{plane: {normal: [2, 3, 6]}}]}
bodies:
  ball:
    mass: 2 kg
    inertia: [0.03, 0.03, 0.03]
    com: [0.6, 0.9, 1.8]
    shapes: [{sphere: {center: [0.6, 0.9, 1.8], radius: 2.1}}]
initial: {ball: {velocity: [0.3, -0.5, 0.7], angular_velocity: [1, -2, 0.5]}}
contacts: {all: {between: [ball, world]}}
simulate: {contact: event}
"""


def test_impulses_at_a_point_of_a_ball_answer_as_in_the_book() -> None:
    """1 / m along the normal; 1 / m + r^2 / I along the surface; rates are those of the material there."""
    flow = sim.Simulator(sim.compile(load_text(BALL))).flow
    flow.mechanism.update(flow.q, flow.v)
    rules = finding.meetings(flow.mechanism, [True])
    bare = contact_modes._with(flow.instant(), (), rules)
    closed, gaps = finding.closed_points(bare.mechanism, rules)
    assert len(closed) == 1 and gaps == pytest.approx([0.0], abs=1e-12) and closed[0].rule == 0
    full = contact_modes._with(bare, tuple(Touch(one.pair, one.rule, one.features, STICK) for one in closed), rules)
    made, points = Kinetics(full.mechanism), full.mechanism.work.points
    assert made.points.tolist() == [0]
    n, r = np.array([2.0, 3.0, 6.0]) / 7.0, 2.1
    frame = np.array([points.n[0], points.t1[0], points.t2[0]])
    assert points.n[0] == pytest.approx(n, abs=1e-12)
    assert pytest.approx(np.diag([0.5, 0.5 + r * r / 0.03, 0.5 + r * r / 0.03]), abs=1e-9) == made.G
    material = np.array([0.3, -0.5, 0.7]) + np.cross([1.0, -2.0, 0.5], -r * n)
    assert made.rates(flow.v) == pytest.approx(frame @ material, abs=1e-12)
    P = np.array([2.0, 3.0, 5.0])
    assert made.rates(made.change(P)) == pytest.approx(made.G @ P, rel=1e-10)
    rows = full.structure.tables.rows
    found = made.impulses(P)
    assert [found[int(np.flatnonzero(rows.code == code)[0])] for code in (2, 0, 1)] == [2.0, 3.0, 5.0]
