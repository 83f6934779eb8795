"""The parts of inverse kinematics, each called by itself: by differences, beside other solvers, and around fakes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import lsq_linear, minimize
from scipy.spatial.transform import Rotation

from sim.assembly.posing import Target, _between, _bounded, _Search, _way, bring
from sim.kernels.project import add_freedoms
from sim.mechanism.joint_motion import stop_value
from sim.mechanism.mechanism import Mechanism
from tests.dynamics.engine import simulator_of

pytestmark = pytest.mark.fast

SCENE = """
schema: 1
name: posed
bodies:
  base: {mass: 2, com: [0.1, 0, 0.4], inertia: [0.1, 0.1, 0.1]}
  arm: {mass: 1, com: [0.5, 0.2, 0.5], inertia: [0.1, 0.1, 0.1], points: {tip: [0.9, 0.1, 0.6]}}
  cart: {mass: 1, com: [0.9, 0.5, 0.1], inertia: [0.1, 0.1, 0.1]}
  flies: {mass: 1, com: [2, 0.5, 0.1], inertia: [0.1, 0.1, 0.1]}
joints:
  ball: {type: spherical, parent: world, child: base, position: [0, 0, 0.2],
    limits: {cone: 35 deg, twist: [-20 deg, 20 deg]}}
  turn: {type: rotational, parent: base, child: arm, position: [0.3, 0.1, 0.4], axis: [1, 2, 3],
    limits: {range: [-0.5, 0.7]}}
  rail: {type: translational, parent: world, child: cart, position: [0.9, 0.5, 0], axis: [2, 1, 0],
    limits: {range: [-0.3, 0.2]}}
  tie: {type: cylindrical, parent: cart, child: arm, position: [0.8, 0.3, 0.4], axis: [0, 1, 2],
    limits: {range: [[-inf, inf], [-2, 2]]}}
initial: {turn: {coordinate: 0.2 rad}}
simulate: {duration: 1 s}
"""


def posed() -> tuple[Mechanism, np.ndarray]:
    """Return the mechanism as it starts, which no other test has, and its q."""
    flow = simulator_of(SCENE).flow
    mechanism, q = Mechanism.of(flow.model, flow.structure), np.array(flow.q)
    mechanism.update(q, np.zeros(len(flow.v)))
    return mechanism, q


def columns_of(mechanism: Mechanism, joint: str) -> np.ndarray:
    own = mechanism.model.columns_of(mechanism.model.joint(joint))
    return np.arange(own.start, own.stop)


def targets_of(mechanism: Mechanism) -> list[Target]:
    model = mechanism.model
    tip = model.points[model.point_names["arm.tip"]]
    free = columns_of(mechanism, "flies")
    return [
        Target("turn", columns_of(mechanism, "turn")), Target("rail", columns_of(mechanism, "rail")),
        Target("tie", columns_of(mechanism, "tie")), Target("tie[1]", columns_of(mechanism, "tie")[1:]),
        Target("ball", columns_of(mechanism, "ball"), True), Target("flies", free[:3]),
        Target("tip", body=int(tip.body), p_B=np.array(tip.p_B), axes=np.array([2, 0])),
        Target("turned", free[3:], True),
    ]  # fmt: skip


@pytest.mark.parametrize("k", range(8))
def test_targets_move_as_their_jacobians_say(k: int) -> None:
    """What is missed falls by J d along any step d: of joints in tree and loops, of balls, of points."""
    mechanism, q = posed()
    target, nv, rng = targets_of(mechanism)[k], mechanism.structure.sizes.v, np.random.default_rng(k)
    value, J = target.value(mechanism), target.jacobian(mechanism)
    assert value.shape == (len(J),) == target.missed(mechanism, value).shape
    assert target.missed(mechanism, value) == pytest.approx(np.zeros(len(J)), abs=1e-15)
    step = 1e-6
    for _ in range(3):
        d, ends = rng.normal(size=nv), []
        for side in (1.0, -1.0):
            near = q.copy()
            add_freedoms(mechanism.structure.tables.links, d, side * step, near)
            mechanism.update(near, np.zeros(nv))
            ends.append(target.missed(mechanism, value))
        assert (ends[1] - ends[0]) / (2 * step) == pytest.approx(J @ d, abs=1e-7)
    mechanism.update(q, np.zeros(nv))


def test_angles_of_loops_are_missed_by_less_than_half_a_turn_and_those_of_the_tree_as_they_are() -> None:
    mechanism, _ = posed()
    turn, rail, tie, *_ = targets_of(mechanism)
    for target, expected in (
        (turn, [4.0]), (rail, [4.0]), (tie, [4.0, 4.0 - 2.0 * np.pi]),
    ):  # fmt: skip
        assert target.missed(mechanism, target.value(mechanism) + 4.0) == pytest.approx(expected, abs=1e-12)
    assert tie.missed(mechanism, tie.value(mechanism) - 3.0) == pytest.approx([-3.0, -3.0], abs=1e-12)


def test_a_target_has_no_numbers_but_those_that_are_named() -> None:
    mechanism, _ = posed()
    bodies = mechanism.work.bodies
    assert Target("nothing").value(mechanism).shape == Target("nothing", body=1).value(mechanism).shape == (0,)
    assert Target("nothing", body=1).jacobian(mechanism).shape == (0, mechanism.structure.sizes.v)
    tip = targets_of(mechanism)[6]
    there = simulator_of(SCENE).position["arm.tip"]
    assert tip.value(mechanism) == pytest.approx(there[[2, 0]], abs=1e-12)
    origin = Target("origin", body=2, axes=np.arange(3))
    assert origin.value(mechanism).tolist() == bodies.p_WB[2].tolist() and (origin.weight, origin.ball) == (1.0, False)


def test_units_of_strides_are_radians_and_lengths() -> None:
    mechanism, q = posed()
    length, search = mechanism.model.length, _Search(mechanism, q, (), True)
    assert length != 1.0
    units = [search.unit(target).tolist() for target in targets_of(mechanism)]
    assert units == [[1.0], [length], [length, 1.0], [1.0], [1.0] * 3, [length] * 3, [length] * 2, [1.0] * 3]


def test_targets_are_led_along_straight_ways_and_turns() -> None:
    plain, ball = Target("x", np.arange(2)), Target("b", np.arange(3), True)
    assert _between(plain, np.array([1.0, 2.0]), np.array([4.0, -2.0]), 0.25) == pytest.approx([2.0, 1.5])
    begun, way = np.array([0.3, -0.2, 0.5]), np.array([0.4, 1.0, -0.6])
    half = Rotation.from_rotvec(_between(ball, begun, way, 0.5))
    assert (half * Rotation.from_rotvec(0.5 * way)).as_rotvec() == pytest.approx(
        (Rotation.from_rotvec(begun) * Rotation.from_rotvec(way)).as_rotvec()
    )


def test_stops_are_off_by_their_room_and_come_nearer_by_their_jacobians() -> None:
    """Of angles, slides, twists and cones, in the tree and in loops; those of joints that are there."""
    mechanism, q = posed()
    nv, rng = mechanism.structure.sizes.v, np.random.default_rng(3)
    turned = rng.normal(size=nv) * 0.1
    add_freedoms(mechanism.structure.tables.links, turned, 1.0, q)
    search = _Search(mechanism, q, (), True)
    search._close()
    assert np.abs(mechanism.work.rows.phi[mechanism.placed()]).max() < 1e-12
    names, G, room = search._stops()
    assert {"turn", "rail", "tie[1]"} < set(names)
    assert len(names) == len(mechanism.model.stops) == len(room) and G.shape == (len(names), nv)
    bounds = {"turn": (-0.5, 0.7), "rail": (-0.3, 0.2), "tie[1]": (-2, 2)}
    for name, (low, high) in bounds.items():
        own = [k for k, one in enumerate(names) if one == name]
        value = float(mechanism.work.coordinate[mechanism.model.column_names.index(name)])
        assert sorted(room[own]) == pytest.approx(sorted([value - low, high - value]))
    step, d = 1e-6, rng.normal(size=nv)
    rooms = []
    for side in (1.0, -1.0):
        near = q.copy()
        add_freedoms(mechanism.structure.tables.links, d, side * step, near)
        beside = _Search(mechanism, near, (), True)
        beside.look()
        rooms.append(beside._stops()[2])
    assert G @ d == pytest.approx((rooms[1] - rooms[0]) / (2 * step), abs=1e-6)


def test_the_way_of_a_stop_of_one_column_is_its_own() -> None:
    mechanism, _ = posed()
    coordinate = mechanism.work.coordinate.copy()
    ball = columns_of(mechanism, "ball")
    coordinate[ball] = [0.2, -0.3, 0.1]
    seen = 0
    for stop in mechanism.model.stops:
        way = _way(stop, coordinate)
        if not stop.angle:
            assert way.tolist() == [1.0]
            continue
        seen += 1
        for k, axis in enumerate(np.eye(3)):
            ends = []
            for side in (1e-5, -1e-5):
                moved = coordinate.copy()
                turned = Rotation.from_rotvec(coordinate[ball]) * Rotation.from_rotvec(side * axis)
                moved[ball] = turned.as_rotvec()
                ends.append(float(stop_value(stop, moved)))
            assert way[k] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-6)
    assert seen >= 2


@pytest.mark.parametrize("seed", range(8))
def test_steps_within_limits_are_the_least_of_their_squares(seed: int) -> None:
    """Beside another solver: |A z - b|^2 + damping |z|^2, G z <= room; limits that act are those that are met."""
    rng = np.random.default_rng([seed, 41])
    A, b, damping = rng.normal(size=(3, 2)), rng.normal(0, 2, 3), 0.1
    G, room = rng.normal(size=(3, 2)), rng.uniform(0.05, 0.5, 3)
    z, active = _bounded(A, b, G, room, damping)
    assert np.all(G @ z <= room + 1e-9)

    def cost(x: np.ndarray) -> float:
        return float(((A @ x - b) ** 2).sum() + damping * (x @ x))

    best = minimize(
        cost, np.zeros(2), method="SLSQP", constraints={"type": "ineq", "fun": lambda x: room - G @ x},
        options={"ftol": 1e-15},
    )  # fmt: skip
    assert z == pytest.approx(best.x, abs=1e-6)
    assert active.tolist() == (G @ z > room - 1e-9).tolist()
    box, _ = _bounded(A, b, np.vstack([np.eye(2), -np.eye(2)]), np.full(4, 0.3), 0.0)
    assert box == pytest.approx(lsq_linear(A, b, (-0.3, 0.3), tol=1e-14).x, abs=1e-6)


def test_what_is_beyond_a_limit_goes_back_where_it_can_and_else_goes_no_further() -> None:
    """A limit that is passed by 1, and one that cannot be met beside another: then neither is passed more."""
    z, active = _bounded(np.eye(2), np.zeros(2), np.array([[1.0, 0.0]]), np.array([-1.0]), 0.0)
    assert z == pytest.approx([-1.0, 0.0], abs=1e-9) and active.tolist() == [True]
    G, room = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([-1.0, 0.5])
    z, _ = _bounded(np.eye(2), np.array([0.3, 2.0]), G, room, 0.0)
    assert z == pytest.approx([0.0, 2.0], abs=1e-9)


class Search(_Search):
    """A search whose steps are made by hand: how much each costs, and with what damping they were asked for."""

    def __init__(self, costs: list[float], steps: list[float] | None = None):
        mechanism, q = posed()
        super().__init__(mechanism, q, (), True)
        self.costs, self.steps, self.asked, self.looked = [1.0, *costs], steps, [], 0
        self.begun = q.copy()
        self.seen: list[np.ndarray] = []

    def _step(self, missed: np.ndarray, damping: float) -> tuple[np.ndarray, tuple[str, ...]]:
        self.asked.append(damping)
        self.seen.append(self.mechanism.work.coordinate.copy())
        step = np.zeros(self.mechanism.structure.sizes.v)
        if len(self.asked) < len(self.costs):
            step[3] = 0.001 if self.steps is None else self.steps[len(self.asked) - 1]
        return step, (f"limit {len(self.asked)}",)

    def _missed(self, wanted: Any) -> np.ndarray:
        return np.array([self.costs[len(self.asked)]])

    def _cost(self, missed: np.ndarray) -> float:
        return float(missed[0])

    def _close(self) -> None:
        self.look()


def test_damping_falls_with_each_better_step_and_grows_with_each_worse() -> None:
    """By a hundred, from 1e-6, down to 1e-14; a worse step is taken back, and the last limits are told."""
    search = Search([0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
    assert search.approach(()) == ("limit 7",)
    assert search.asked == pytest.approx([1e-6, 1e-8, 1e-10, 1e-12, 1e-14, 1e-14, 1e-14], rel=1e-9)
    search = Search([0.9, 0.95, 0.9, 0.8])
    search.approach(())
    assert search.asked == pytest.approx([1e-6, 1e-8, 1e-6, 1e-4, 1e-6], rel=1e-9)
    # A step that is taken back leaves the mechanism looked at where it was.
    assert np.array_equal(search.seen[2], search.seen[1]) and not np.array_equal(search.seen[1], search.seen[0])
    moved = search.q - search.begun
    assert np.abs(moved).max() == pytest.approx(0.002, rel=1e-6)  # by the first step and the last
    search = Search([2.0] * 20)
    search.approach(())
    assert search.asked == pytest.approx([1e-6, 1e-4, 1e-2, 1.0, 1e2, 1e4, 1e6, 1e8], rel=1e-9)
    assert np.array_equal(search.q, search.begun)


@pytest.mark.parametrize(("share", "steps"), [(0.9, 1), (1.1, 3)])
def test_a_search_ends_with_a_step_of_roundoff(share: float, steps: int) -> None:
    size = 1e-12 * max(1.0, posed()[0].model.length)
    search = Search([0.9, 0.8], [share * size, -share * size])
    search.approach(())
    assert len(search.asked) == steps
    assert Search([0.9 - 1e-4 * k for k in range(300)]).approach(()) == ("limit 200",)


@pytest.mark.parametrize(("share", "pieces"), [(0.99, 1), (1.01, 2), (4.99, 5)])
def test_targets_are_led_there_in_pieces_of_a_fifth(share: float, pieces: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a radian or of the scene's length, whichever target goes farthest; the last goal is what is wanted."""
    mechanism, q = posed()
    turn, rail, *_ = targets_of(mechanism)
    goals: list[list[np.ndarray]] = []
    monkeypatch.setattr(_Search, "approach", lambda self, wanted: goals.append(list(wanted)) or (f"at {len(goals)}",))
    length, begun = mechanism.model.length, [turn.value(mechanism), rail.value(mechanism)]
    for ways in ((0.2 * share, -0.1 * share * length), (-0.1 * share, -0.2 * share * length)):
        goals.clear()
        wanted = [value + way for value, way in zip(begun, ways, strict=True)]
        found = bring(mechanism, q, [turn, rail], wanted)
        assert len(goals) == pieces and found.at_limits == (f"at {pieces}",) and found.closed
        for n, goal in enumerate(goals, start=1):
            for value, start, way in zip(goal, begun, ways, strict=True):
                assert value == pytest.approx(start + way * n / pieces, abs=1e-14)
        assert [off[0] for off in found.missed] == pytest.approx(list(ways), abs=1e-12)
    assert bring(mechanism, q, [], []).missed == () and len(goals) == pieces + 1


def test_what_is_missed_and_passed_costs_its_squares_and_a_thousand_times_its_size() -> None:
    mechanism, q = posed()
    turn, rail, *_ = targets_of(mechanism)
    heavy = Target("turn", turn.columns, weight=4.0)
    search = _Search(mechanism, q, (heavy, rail), True)
    search.look()
    goals = [turn.value(mechanism) + 0.5, rail.value(mechanism) - 0.25]
    missed = search._missed(goals)
    assert missed == pytest.approx([1.0, -0.25]) and search._cost(missed) == pytest.approx(1.0625)
    q[mechanism.structure.q_of(mechanism.model, mechanism.model.joint("rail"))] = 0.3
    search.look()
    assert search._cost(missed) == pytest.approx(1.0625 + 1e3 * 0.1)
    assert _Search(mechanism, q, (heavy, rail), False)._cost(missed) == pytest.approx(1.0625)
    assert _Search(mechanism, q, (), True)._missed(()).shape == (0,)


def test_a_step_moves_what_opens_no_loop_and_is_damped() -> None:
    """The least damped squares over motions that loops allow; where limits bound it, within these."""
    mechanism, q = posed()
    turn, *_ = targets_of(mechanism)
    search = _Search(mechanism, q, (Target("turn", turn.columns, weight=4.0),), False)
    search.look()
    N = search._allowed()
    J = mechanism.jacobian()[mechanism.placed()]
    assert pytest.approx(np.zeros((len(J), N.shape[1])), abs=1e-12) == J @ N
    assert pytest.approx(np.eye(N.shape[1])) == N.T @ N and N.shape[1] == len(q) - 2 - np.linalg.matrix_rank(J)
    for damping, weight in ((1e-6, 4.0), (0.5, 4.0), (0.5, 0.01)):
        search.targets = (Target("turn", turn.columns, weight=weight),)
        reaching = np.sqrt(weight) * turn.jacobian(mechanism) @ N
        step, at = search._step(np.array([0.3]), damping)
        s = np.linalg.norm(reaching)
        expected = N @ (reaching[0] * 0.3 / (s**2 * (1.0 + damping)))
        assert step == pytest.approx(expected, abs=1e-12) and at == ()
    bounded = _Search(mechanism, q, search.targets, True)
    assert bounded._step(np.array([0.01]), 1e-6)[1] == ()
    step, at = bounded._step(np.array([5.0]), 1e-6)
    _, G, room = bounded._stops()
    assert at and np.all(G @ step <= room + 1e-9) and np.any(G @ step > room - 1e-9)
