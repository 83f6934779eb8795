"""What an instant makes of the forces of contacts, and of rates that are too slow to see: answers made by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sim.contact.soft_points import SoftPoint
from sim.contact.stops import Bounded
from sim.kernels.shapes import OPEN, SLIP, SLOW_SLIP, STICK
from sim.mechanism.active_bound import key_of
from sim.mechanism.touch import Touch
from sim.simulation.contact_modes import ContactModes, Outcome

pytestmark = [pytest.mark.contact, pytest.mark.fast]


class Unit:
    """Points of contact in frames of their own, which move by themselves: a unit impulse changes a rate by one."""

    def __init__(self, closed: int, count: int):
        turns = [np.linalg.qr(np.random.default_rng(n).normal(size=(3, 3)))[0] for n in range(2 * closed)]
        self.t1, self.t2 = np.array([R[:, 0] for R in turns]), np.array([R[:, 1] for R in turns])
        self.points, self.G = np.arange(1, 2 * closed, 2), np.eye(3 * count)  # every second of the structure's
        self.mechanism = SimpleNamespace(work=SimpleNamespace(points=self))

    def rates(self, v: np.ndarray) -> np.ndarray:
        return v

    def change(self, P: np.ndarray) -> np.ndarray:
        return P

    def impulses(self, P: np.ndarray) -> np.ndarray:
        return 2.0 * P

    def world(self, k: int, d: Any) -> np.ndarray:
        return d[0] * self.t1[self.points[k]] + d[1] * self.t2[self.points[k]]


def modes_of(mu: float = 0.5) -> ContactModes:
    model: Any = SimpleNamespace(
        scene=SimpleNamespace(contacts=[SimpleNamespace(active=True)]), gravity_W=np.array([0.0, 0.0, -9.81]),
        friction=lambda pair, rule: mu, friction_at_rest=lambda pair, rule: mu,
    )  # fmt: skip
    return ContactModes(model)


def touch(pair: int, mode: int = OPEN, slip_W: Any = (0.0, 0.0, 0.0)) -> Touch:
    return Touch(pair, 0, SimpleNamespace(key=np.array([4, pair + 5])), mode, tuple(np.array(slip_W).tolist()))


STOP, RUBS = Bounded(7, 1, 1.0), Bounded(5, 0, 1.0, resistance=2.0)


class Held:
    """Two points that stick and one stop, whose forces are an answer's; what is changed of that, and what it makes."""

    def __init__(self, mu: float = 0.5) -> None:
        self.modes, self.law = modes_of(mu), [touch(0), touch(1), STOP]
        self.P = np.array([[10.0, 1.0, 2.0], [20.0, -3.0, 4.0], [6.0, 0.0, 0.0]])
        self.mode, self.d = np.array([STICK, STICK, STICK]), np.zeros((3, 2))
        self.given, self.chosen, self.bound = (np.zeros(3, bool) for _ in range(3))
        self.z, self.rate, self.unit = np.ones((3, 3)), 1.0, np.full(3, 2.0)
        self.least, self.border, self.leaving = False, 0.0, frozenset[tuple[int, int, int]]()
        self.v = np.zeros(9)

    def found(self) -> list[Any]:
        n = len(self.law)
        self.frames = Unit(2, n)
        answer: Any = SimpleNamespace(
            P=self.P, mode=self.mode, d=self.d, given=self.given, z=self.z, rate=self.rate, unit=self.unit,
            chosen=self.chosen,
        )  # fmt: skip
        pressed = [not isinstance(one, Bounded) or one.side != 0 for one in self.law]
        centre: Any = SimpleNamespace(
            P=self.P[pressed], chosen=self.chosen[pressed], bound=self.bound[pressed], least=self.least,
            border=self.border,
        )  # fmt: skip
        self.v = np.zeros(3 * n) if len(self.v) != 3 * n else self.v
        kinetics: Any = self.frames
        return self.modes._held(kinetics, self.law, self.v, answer, centre, self.leaving)

    def with_friction(self) -> Held:
        """Have friction in a joint as well, behind the others."""
        self.law.append(RUBS)
        self.P, self.mode = np.vstack([self.P, [0.0, 1.5, 0.0]]), np.append(self.mode, STICK)
        self.d, self.z = np.vstack([self.d, [0.0, 0.0]]), np.vstack([self.z, [1.0, 1.0, 1.0]])
        self.unit = np.append(self.unit, 2.0)
        self.given, self.chosen, self.bound = (np.append(one, False) for one in (self.given, self.chosen, self.bound))
        return self


def shares(found: list[Any]) -> list[tuple[float, ...]]:
    """Return what points are to have of forces: tangents and normal; of stops their force."""
    return [one.share if isinstance(one, Touch) else one.forces for one in found]


def test_points_that_stick_keep_the_forces_that_were_found() -> None:
    held = Held()
    found = held.found()
    assert [one.mode for one in found] == [STICK, STICK, STICK]
    assert shares(found) == [(1.0, 2.0, 10.0), (-3.0, 4.0, 20.0), (6.0,)]
    assert [one.determinate for one in found[:2]] == [True, True] and found[2].side == 1
    held.chosen[1] = True
    assert [one.determinate for one in held.found()[:2]] == [True, False]


def test_forces_of_least_norm_go_on_as_that_where_nothing_rubs() -> None:
    """They are nearest to none; where something slides with friction, or a joint has some, to those that were found."""
    held = Held()
    held.least = True
    assert shares(held.found()) == [(0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0,)]
    beside = Held().with_friction()
    beside.least = True
    assert shares(beside.found()) == [(1.0, 2.0, 10.0), (-3.0, 4.0, 20.0), (6.0,), (1.5,)]
    held.mode[1], held.d[1], held.given[1] = SLIP, [0.6, -0.8], True
    assert shares(held.found()) == [(1.0, 2.0, 10.0), (-3.0, 4.0, 20.0), (6.0,)]
    ice = Held(mu=0.0)
    ice.least, ice.mode, ice.d, ice.given = True, held.mode, held.d, held.given
    assert shares(ice.found()) == [(0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0,)]  # without friction nothing rubs


def test_what_carries_nothing_is_left_open() -> None:
    """Of its unit at most a hundred millionth; or where it has no room, at most what counts there as none."""
    held = Held()
    held.P[0, 0], held.P[1, 0] = 2.02e-8, 1.98e-8
    assert [one.mode for one in held.found()] == [STICK, OPEN, STICK]
    held = Held()
    held.border, held.bound[:2] = 15.0, True
    assert [one.mode for one in held.found()] == [OPEN, STICK, STICK]
    held.bound[:] = False
    assert [one.mode for one in held.found()] == [STICK, STICK, STICK]


def test_points_that_leave_their_cones_slide_against_their_friction() -> None:
    """All of those together that have no room and whose forces are not unique; and only once one is to leave."""
    held = Held()
    held.bound[:] = held.chosen[:] = True
    assert [one.mode for one in held.found()] == [STICK, STICK, STICK]
    held.leaving = frozenset([held.law[1].key])
    found = held.found()
    assert [one.mode for one in found] == [SLOW_SLIP, SLOW_SLIP, STICK]  # they begin to
    for k, d in ((0, -np.array([1.0, 2.0]) / np.sqrt(5.0)), (1, [0.6, -0.8])):
        assert found[k].slip_W == pytest.approx(held.frames.world(k, d), abs=1e-15)
    held.chosen[0] = False
    assert [one.mode for one in held.found()] == [STICK, SLOW_SLIP, STICK]
    held.chosen[0], held.bound[0] = True, False
    assert [one.mode for one in held.found()] == [STICK, SLOW_SLIP, STICK]
    held.bound[:2] = [True, False]
    assert [one.mode for one in held.found()] == [STICK, STICK, STICK]
    held = Held()
    held.bound[:2], held.leaving = True, frozenset(point.key for point in held.law[:2])
    for friction, leaves in (([0.1, 0.0], True), ([0.0, -0.1], True), ([0.0, 0.0], False)):
        held.P[0, 1:] = friction
        assert [one.mode for one in held.found()] == [SLOW_SLIP if leaves else STICK, SLOW_SLIP, STICK]


def test_what_begins_to_slide_does_so_slowly_unless_it_is_led() -> None:
    """A point is led whose friction is less than a tenth of its unit; one that slides already goes on."""
    held = Held()
    held.mode[:2], held.d[:2] = SLIP, [[0.6, -0.8], [0.0, 1.0]]
    held.P[0, 0], held.P[1, 0] = 0.41, 0.39  # a half of them is friction: beside 0.1 of 2
    found = held.found()
    assert [one.mode for one in found] == [SLOW_SLIP, SLIP, STICK]
    assert shares(found)[:2] == [(0.0, 0.0, 0.41), (-3.0, 4.0, 0.39)]
    assert found[1].slip_W == pytest.approx(held.frames.world(1, [0.0, 1.0]), abs=1e-15)
    held.given[0] = True
    assert [one.mode for one in held.found()] == [SLIP, SLIP, STICK]
    key = held.law[0].key
    held.modes.state.slip_directions.slipping_slowly = {key}  # and one that slid slowly does so on
    held.modes.state.slip_directions.started = {key: held.frames.world(0, [0.6, -0.8])}
    held.v[1:3] = 6e-6, -8e-6
    assert [one.mode for one in held.found()] == [SLOW_SLIP, SLIP, STICK]
    beside = Held().with_friction()
    beside.mode[0], beside.d[0] = SLIP, [0.6, -0.8]
    assert [one.mode for one in beside.found()] == [SLOW_SLIP, STICK, STICK, STICK]
    ice = Held(mu=0.0)
    ice.mode[:2], ice.d[:2] = SLIP, [[0.6, -0.8], [0.0, 1.0]]
    assert [one.mode for one in ice.found()] == [SLIP, SLIP, STICK]


def test_directions_go_on_from_where_they_were() -> None:
    held = Held()
    held.mode[:2], held.d[:2], held.given[:2] = SLIP, [[0.6, -0.8], [0.0, 1.0]], True
    held.found()
    before = [held.frames.world(0, [0.8, -0.6]), held.frames.world(1, [0.6, -0.8])]  # ahead, and back
    held.modes.state.slip_directions.started = {held.law[k].key: before[k] for k in range(2)}
    found = held.found()
    assert found[0].slip_W == pytest.approx(before[0], abs=1e-15)
    assert found[1].slip_W == pytest.approx(held.frames.world(1, [0.0, 1.0]), abs=1e-15)
    held.given[0] = False
    assert held.found()[0].slip_W == pytest.approx(held.frames.world(0, [0.6, -0.8]), abs=1e-15)


def test_where_accelerations_do_not_tell_a_direction_it_is_what_forces_can_make_of_it() -> None:
    """Of points that begin to slide with less than a millionth of the accelerations; the second moves along t2 only."""
    held = Held()
    held.mode[:2], held.d[:2] = SLIP, [[0.6, -0.8], [0.6, -0.8]]
    held.z[:2, 1:], held.rate = [[1.2e-6, 1.4e-6], [-1.2e-6, 1.4e-6]], 2.0

    def ways() -> list[np.ndarray]:
        made = Unit(2, 3)
        made.G[4, 4] = 0.0
        answer: Any = SimpleNamespace(
            P=held.P, mode=held.mode, d=held.d, given=held.given, z=held.z, rate=held.rate, unit=held.unit
        )
        centre: Any = SimpleNamespace(P=held.P, chosen=held.chosen, bound=held.bound, least=False, border=0.0)
        found = held.modes._held(made, held.law, held.v, answer, centre, frozenset())  # type: ignore[arg-type]
        at = [(made.t1[made.points[k]], made.t2[made.points[k]]) for k in range(2)]
        return [np.array([found[k].slip_W @ t for t in at[k]]) for k in range(2)]

    assert ways()[0] == pytest.approx([0.6, -0.8], abs=1e-12) and ways()[1] == pytest.approx([0.0, -1.0], abs=1e-12)
    held.z[1, 1:] = 1.6e-6, -1.4e-6
    assert ways()[1] == pytest.approx([0.6, -0.8], abs=1e-12)
    held.z[1, 1:], held.given[1] = [0.0, 0.0], True
    assert ways()[1] == pytest.approx([0.6, -0.8], abs=1e-12)


def test_friction_of_joints_follows_its_answer() -> None:
    held = Held().with_friction()
    assert held.found()[3] == Bounded(5, 0, 1.0, resistance=2.0, mode=STICK, force=1.5)
    held.mode[3], held.d[3] = SLIP, [-1.0, 0.0]
    assert held.found()[3] == Bounded(5, 0, 1.0, resistance=2.0, mode=SLIP, force=2.0)
    held.mode[3], held.P[3, 1], held.leaving = STICK, 2.0, frozenset([key_of(5, 0)])
    assert held.found()[3].mode == SLIP


def test_points_that_left_their_cones_at_the_same_instant_leave_them_still() -> None:
    """Those that creep since a decision no billionth of a second ago: where another leaves, they do not stick."""
    modes = modes_of()
    points = [touch(0, SLOW_SLIP), touch(1, STICK), touch(2, SLIP)]
    flow: Any = SimpleNamespace(t=2.0 + 0.9e-9, structure=SimpleNamespace(touches=points))
    assert modes._begun(flow) == frozenset()
    modes.state.decisions.append((2.0, ("a and b",)))
    assert modes._begun(flow) == {points[0].key}
    flow.t = 2.0 + 1.1e-9
    assert modes._begun(flow) == frozenset()


# --- rates that are too slow to see ----------------------------------------------------------------------------------


def settled(
    points: list[Any], u: Any, frames: Unit | None = None, modes: ContactModes | None = None
) -> tuple[Any, float]:
    """Return the rates afterwards (k, 3), or None where they stay as they are, and the energy that they lose."""
    v, out = np.array(u, float).ravel(), Outcome()
    kinetics: Any = frames or Unit(sum(isinstance(one, Touch) for one in points), len(points))
    after = (modes or modes_of())._settle(kinetics, points, points, v, out)
    assert (after is v) == np.array_equal(after, v) == (out.impulse is None)
    assert after is v or np.allclose(v + out.change, after, rtol=0.0, atol=1e-18)
    assert after is v or np.array_equal(out.impulse, 2.0 * out.change)
    return (None if after is v else after.reshape(-1, 3)), out.lost


def test_closed_points_lose_their_normal_rates_and_those_that_stick_all() -> None:
    u = np.array([[2e-8, 3e-3, -4e-3], [-3e-8, 0.3, 0.4], [0.5, 0.1, 0.2], [4e-8, 0.0, 0.0]])
    after, lost = settled([touch(0, STICK), touch(1, SLIP), touch(2, OPEN), Bounded(7, 1, 1.0, mode=STICK)], u)
    expected = np.array([[0.0, 0.0, 0.0], [0.0, 0.3, 0.4], [0.5, 0.1, 0.2], [0.0, 0.0, 0.0]])
    assert after == pytest.approx(expected, abs=1e-16)
    assert lost == pytest.approx(0.5 * float(((u - expected) ** 2).sum()), rel=1e-9)


@pytest.mark.parametrize("k", range(3))
def test_rates_below_a_tenth_of_what_rests_stay(k: int) -> None:
    """One that is faster is enough that all of them end."""
    for fast in (1.02e-9, -1.02e-9):
        u = np.full((2, 3), 0.98e-9)
        assert settled([touch(0, STICK), touch(1, STICK)], u)[0] is None
        u[1, k] = fast
        assert settled([touch(0, STICK), touch(1, STICK)], u)[0] == pytest.approx(np.zeros((2, 3)), abs=1e-20)
        assert settled([touch(0, STICK), touch(1, OPEN)], u)[0] is None


@pytest.mark.parametrize("mode", [SLIP, SLOW_SLIP])
def test_slips_end_that_nothing_carries_on(mode: int) -> None:
    """At most a millionth of a metre a second, of points that have not slid so before."""
    frames, modes = Unit(1, 1), modes_of()
    way = np.array([0.6, 0.8])
    point = touch(0, mode, frames.world(0, way))
    for speed, ends in ((0.99e-6, True), (1.01e-6, False)):
        after, _ = settled([point], [[2e-9, *(speed * way)]], frames)
        assert after == pytest.approx(np.array([[0.0, *(way * speed * (not ends))]]), abs=1e-18)
    modes.state.slip_directions.started = {point.key: frames.world(0, way)}
    after, _ = settled([point], [[2e-9, *(0.99e-6 * way)]], frames, modes)
    assert after == pytest.approx(np.array([[0.0, *(0.99e-6 * way)]]), abs=1e-18)
    modes.state.slip_directions.go_on = lambda *_: np.array([[0.5, -0.5]])  # type: ignore[method-assign]
    after, _ = settled([point], [[2e-9, *(0.99e-6 * way)]], frames, modes)
    assert after == pytest.approx(np.array([[0.0, *(0.99e-6 * way)]]), abs=1e-18)


def test_what_slides_slowly_goes_on_along_its_way_alone() -> None:
    frames, way = Unit(2, 3), np.array([0.6, 0.8])
    points = [touch(0, SLOW_SLIP, frames.world(0, way)), touch(1, SLIP, frames.world(1, way)), STOP]
    u = np.array([[0.0, 2e-6, 3e-6], [0.0, 2e-6, 3e-6], [0.5, 0.0, 0.0]])
    after, lost = settled(points, u, frames)
    across = np.array([-0.8, 0.6]) * (-0.8 * 2e-6 + 0.6 * 3e-6)
    assert after[0, 1:] == pytest.approx(u[0, 1:] - across, abs=1e-18)
    assert after[1:] == pytest.approx(u[1:], abs=1e-18) and lost == pytest.approx(0.5 * across @ across, rel=1e-9)


def test_soft_points_lose_faster_slips_but_for_those_that_go_on() -> None:
    """At most twenty millionths of a metre a second; beside a rigid point, whose slip may be a millionth."""
    soft = SoftPoint(touch(1), 1e4, 0.5, 0.5, pressing=2.0, mode=SLIP)
    for speed, ends in ((1.9e-5, True), (2.1e-5, False)):
        u = np.array([[0.0, 1.1e-6, 0.0], [3e-8, 0.6 * speed, -0.8 * speed]])
        after, _ = settled([touch(0, SLIP), soft], u)
        expected = np.array([u[0], [0.0, *(u[1, 1:] * (not ends))]])
        assert after == pytest.approx(expected, abs=1e-18)
    goes_on = replace(soft, start_W=(0.0, 1.0, 0.0))
    u = np.array([[3e-8, 1e-6, -2e-6], [3e-8, 1e-6, -2e-6]])
    after, _ = settled([soft, goes_on], u)
    assert after == pytest.approx(np.array([[0.0, 0.0, 0.0], [0.0, 1e-6, -2e-6]]), abs=1e-18)
