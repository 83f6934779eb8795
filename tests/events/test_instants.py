"""What an instant does, part by part: impulses beside balances of momentum and energy, gaps, springs, what is due."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import sim
from sim.analysis.refusals import times_of
from sim.assembly.start import start
from sim.kernels.project import add_freedoms
from sim.mechanism.compiler import compile
from sim.mechanism.frames import Pose
from sim.mechanism.mechanism import Mechanism
from sim.scene.load import load_text
from sim.scene.spec import Event
from sim.simulation.joint_impulses import joint_impulses
from sim.simulation.schedule import Scheduler
from sim.simulation.structure_changes import engage, gap_of, generalised_impulse, impulse_solve, spring_energy
from tests.support.mechanisms import random_mechanism
from tests.support.scene_texts import scene_text

pytestmark = pytest.mark.fast


def mechanism_of(text: str) -> tuple[Mechanism, np.ndarray, np.ndarray]:
    model = compile(load_text(text))
    begun = start(model)
    assert not begun.problems
    mechanism = Mechanism.of(model, begun.structure)
    mechanism.update(begun.q, begun.v)
    return mechanism, begun.q, begun.v


def tied(seed: int) -> tuple[Mechanism, np.ndarray, np.ndarray]:
    """Return a mechanism with loops and rotors, moving as nothing would let it."""
    rng = np.random.default_rng([51, seed])
    mechanism, q, _ = mechanism_of(scene_text(random_mechanism(rng, 5, 2, driven=True)))
    v = rng.normal(size=mechanism.structure.sizes.v)
    mechanism.update(q, v)
    return mechanism, q, v


@pytest.mark.parametrize("seed", range(5))
def test_impulses_balance_momentum_and_energy(seed: int) -> None:
    """Some rotors turned with the joint before, others were at rest: these take up their speed, and energy is lost."""
    rng = np.random.default_rng([52, seed])
    mechanism, q, v = tied(seed)
    J, M, hard = mechanism.jacobian(), mechanism.inertia(), mechanism.hard()
    fresh = ~hard & (rng.random(len(hard)) < 0.5)
    push = rng.normal(size=len(v)) if seed % 2 else None
    blow = impulse_solve(mechanism, q, v, push, fresh)
    outside = np.zeros(len(v)) if push is None else push
    size = np.abs(M).max()
    assert np.allclose(M @ (blow.v - v), outside + J.T @ blow.impulse, rtol=0.0, atol=1e-10 * size)
    assert np.allclose((J @ blow.v)[hard], 0.0, atol=1e-10)
    old = ~hard & ~fresh
    assert np.allclose(blow.impulse[old], -(J @ (blow.v - v))[old], rtol=0.0, atol=1e-10)
    assert np.allclose(blow.impulse[fresh], -(J @ blow.v)[fresh], rtol=0.0, atol=1e-10)

    def energy(v: np.ndarray, rotors: np.ndarray) -> float:
        return 0.5 * float(v @ M @ v + np.sum((J @ v)[rotors] ** 2))

    gained = energy(blow.v, ~hard) - energy(v, old)
    assert gained == pytest.approx(blow.given - blow.lost, rel=1e-9, abs=1e-9)
    assert blow.lost > 0.0 and (blow.given != 0.0) == (push is not None)
    if not fresh.any():
        assert impulse_solve(mechanism, q, v, push).v == pytest.approx(blow.v, abs=1e-12)


def test_a_clutch_gives_what_its_motor_does_and_loses_what_slips() -> None:
    """A motor that runs at 3 rad/s takes hold of a wheel of 0.5 kg m^2 that turns at -1 rad/s."""
    mechanism, q, _ = mechanism_of("""
schema: 1
name: clutch
world: {gravity: [0, 0, 0]}
bodies: {wheel: {mass: 1, com: [0, 0, 0], inertia: [0.5, 0.5, 0.5]}}
joints: {hub: {type: rotational, parent: world, child: wheel, position: [0, 0, 0], axis: [0, 0, 1], motion: 3 rad/s*t}}
""")
    v = np.array([-1.0])
    mechanism.update(q, v)
    blow = impulse_solve(mechanism, q, v)
    assert blow.v == pytest.approx([3.0]) and blow.impulse * mechanism.scale() == pytest.approx([2.0])
    assert blow.given == pytest.approx(6.0) and blow.lost == pytest.approx(
        4.0
    )  # 2 N m s at 3 rad/s; mean slip of 2 rad/s


@pytest.mark.parametrize("seed", range(4))
def test_an_impulse_on_a_body_does_what_its_jacobian_says(seed: int) -> None:
    """The last of them hangs on screws alone, which turn where they are pushed along."""
    rng = np.random.default_rng([53, seed])
    screws = mechanism_of(scene_text(random_mechanism(rng, 4, kinds=("helical",))))[0]
    mechanism = screws if seed == 3 else tied(seed)[0]
    J = mechanism.link_jacobians()
    linear, angular, p = rng.normal(size=(3, 3))
    for body in range(len(mechanism.model.bodies)):
        link = int(mechanism.structure.link_of[body])
        arm = p - mechanism.work.links.x[link]
        expected = J[link, :3].T @ (angular + np.cross(arm, linear)) + J[link, 3:].T @ linear
        found = generalised_impulse(mechanism, body, linear, angular, p)
        assert np.allclose(found, expected, rtol=0.0, atol=1e-13)


@pytest.mark.parametrize("seed", range(4))
def test_what_joints_carry_changes_the_momenta_of_bodies(seed: int) -> None:
    """Of each body: what its joint brings, less what it hands on, and what hits it, about the world's origin."""
    rng = np.random.default_rng([54, seed])
    mechanism, q, v = tied(seed)
    model, structure, work = mechanism.model, mechanism.structure, mechanism.work
    body = int(rng.integers(1, len(model.bodies)))
    link = int(structure.link_of[body])
    hit = rng.normal(size=6)
    push = mechanism.link_jacobians()[link].T @ hit
    blow = impulse_solve(mechanism, q, v, push)
    change = blow.v - v
    through = joint_impulses(mechanism, change, blow.impulse, {body: hit})
    places = {int(j): work.links.x[b] for b, j in enumerate(structure.tables.links.joint) if b}
    places |= {int(j): work.blocks.p_WM[n] for n, j in enumerate(structure.loops)}
    momenta = mechanism.momenta(change)
    for b in range(1, len(momenta)):
        total = np.zeros(6)
        for joint, place in places.items():
            ends = [int(structure.link_of[model.joints[side][joint]]) for side in ("parent", "child")]
            sign = (b == ends[1]) - (b == ends[0])
            moment, force = through[joint, :3], through[joint, 3:]
            total += sign * np.concatenate([moment + np.cross(place, force), force])
        if b == link:
            total += np.concatenate([hit[:3] + np.cross(work.links.x[b], hit[3:]), hit[3:]])
        about = np.concatenate([momenta[b, :3] + np.cross(work.links.x[b], momenta[b, 3:]), momenta[b, 3:]])
        assert np.allclose(total, about, rtol=0.0, atol=1e-10)


# --- gaps and springs -------------------------------------------------------------------------------

KINDS = """
schema: 1
name: kinds
bodies: {a: {mass: 1, com: [0.1, 0.2, 0.3], inertia: [1, 1, 1]}, b: {mass: 1, com: [0.4, 0.1, 0.2], inertia: [1, 1, 1]}}
joints: {it: {type: KIND, parent: a, child: b, position: [0.3, 0.4, 0.5]AXES}}
"""
P, TURN = np.array([0.3, -0.4, 1.2]), 0.35  # m in F, rad
ONE, BOTH = ", axis: [0.2, 0.3, 1]", ", axis: [0.2, 0.3, 1], second_axis: [3, -2, 0]"


@pytest.mark.parametrize(
    ("kind", "axes", "gap", "turns"),
    [
        ("fixed", "", 1.3, {"x": TURN, "z": TURN}), ("rotational", ONE, 1.3, {"x": TURN, "z": 0.0}),
        ("translational", ONE, 0.5, {"y": TURN, "z": TURN}), ("cylindrical", ONE, 0.5, {"y": TURN, "z": 0.0}),
        ("universal", BOTH, 1.3, {"x": 0.0, "y": TURN, "z": 0.0}), ("planar", BOTH, 1.2, {"x": TURN, "z": 0.0}),
        ("spherical", "", 1.3, {"x": 0.0, "y": 0.0}), ("free", "", 0.0, {"x": 0.0, "z": 0.0}),
    ],
)  # fmt: skip
def test_a_joint_is_open_by_what_it_would_lock(kind: str, axes: str, gap: float, turns: dict[str, float]) -> None:
    """M is moved by P in F, and turned about an axis of F: what the joint leaves free does not count."""
    model = compile(load_text(KINDS.replace("KIND", kind).replace("AXES", axes)))
    frames, joint = model.frames, model.joint("it")
    rng = np.random.default_rng(6)
    parent = Pose(rng.normal(size=3), Rotation.from_rotvec(rng.normal(size=3)).as_matrix())
    for axis, turn in turns.items():
        moved = Pose(P, Rotation.from_euler(axis, TURN).as_matrix())
        F = parent.of(Pose(frames.p_PF[joint], frames.R_PF[joint]))
        child = F.of(moved).of(Pose(frames.p_CM[joint], frames.R_CM[joint]).inverse())
        found = gap_of(model, frames, joint, (Pose(np.zeros(3), np.eye(3)), parent, child))
        assert found == (pytest.approx(gap, abs=1e-12), pytest.approx(turn, abs=1e-7)), axis


STRETCHED = """
schema: 1
name: stretched
bodies: {a: {mass: 1, com: [0, 0, 0.5], inertia: [1, 1, 1]}, b: {mass: 1, com: [0, 0, 1.5], inertia: [1, 1, 1]},
         c: {mass: 1, com: [3, 0, 0.5], inertia: [1, 1, 1]}}
joints:
  one: {type: universal, parent: world, child: a, position: [0, 0, 0], axis: [1, 0, 0], second_axis: [0, 1, 0],
        stiffness: [2, 3], rest: [0.1, -0.2], armature: [0.5, 0.7], limits: {range: [[-1, 0.3], [0.6, 2]],
                stiffness: 11}}
  two: {type: spherical, parent: a, child: b, position: [0, 0, 1], limits: {range: [0, 0.4], stiffness: 13},
          stiffness: 0.5}
  off: {type: rotational, parent: b, child: c, position: [0, 0, 2], axis: [0, 1, 0], connected: false, stiffness: 9,
        armature: 0.4, rest: 0.5}
forces:
  coil: {type: torsion_spring, joint: two, stiffness: 4}
  twist: {type: torsion_spring, joint: one, freedom: 1, stiffness: 5, rest: 0.25}
initial: {one: {coordinate: [0.4, 0.5], rate: [0.6, -0.8]}, two: {axis_angle: {axis: [0, 0.6, 0.8], angle: 0.9}}}
events: {later: {at: 1 s, connect: off}}
""".replace("  off:", '  "off":').replace("connect: off", 'connect: "off"')


def test_springs_stops_and_rotors_of_joints_hold_energy() -> None:
    mechanism, _, _ = mechanism_of(STRETCHED)
    model = mechanism.model
    one, two, gone = (model.joint(name) for name in ("one", "two", "off"))
    springs = 0.5 * (2 * 0.3**2 + 3 * 0.7**2) + 0.5 * 5 * 0.25**2
    rotors = 0.5 * (0.5 * 0.6**2 + 0.7 * 0.8**2)
    stops = 0.5 * 11 * (0.1**2 + 0.1**2)
    assert spring_energy(mechanism, {one}) == pytest.approx(springs + rotors + stops, rel=1e-12)
    ball = 0.5 * 0.5 * 0.9**2 + 0.5 * 4 * 0.9**2 + 0.5 * 13 * 0.5**2
    assert spring_energy(mechanism, {two}) == pytest.approx(ball, rel=1e-12)
    assert spring_energy(mechanism, {one, two}) == pytest.approx(springs + rotors + stops + ball, rel=1e-12)
    assert spring_energy(mechanism, {gone}) == pytest.approx(0.5 * 9 * 0.5**2)  # at zero, its rotor is nowhere
    assert spring_energy(mechanism, set()) == 0.0


def test_soft_stops_that_are_touched_are_engaged() -> None:
    mechanism, q, v = mechanism_of(STRETCHED)
    engage(mechanism.model, mechanism.structure, mechanism, mechanism.control)
    sides = [(int(s.column), float(s.side)) for s in mechanism.model.stops]
    assert sides == [(0, -1.0), (0, 1.0), (1, -1.0), (1, 1.0), (2, 1.0)]
    assert mechanism.control.engaged.tolist() == [0, 1, 1, 0, 1]
    back, along = q.copy(), np.zeros(len(v))
    along[:5] = -0.2, 0.3, 0.0, -0.36, -0.48
    add_freedoms(mechanism.structure.tables.links, along, 1.0, back)
    mechanism.update(back, v)
    engage(mechanism.model, mechanism.structure, mechanism, mechanism.control)
    assert mechanism.control.engaged.tolist() == [0, 0, 0, 0, 0]
    rigid = mechanism.model.stops.copy()
    rigid.rigid[1] = 1
    mechanism.update(q, v)
    engage(replace(mechanism.model, stops=rigid), mechanism.structure, mechanism, mechanism.control)
    assert mechanism.control.engaged.tolist() == [0, 0, 1, 0, 1]


# --- what is due ------------------------------------------------------------------------------------


def events_of(text: str) -> tuple[Event, ...]:
    head = "schema: 1\nname: x\nsimulate: {duration: 9 s}\n"
    body = "bodies: {a: {mass: 1, com: [0, 0, 0], inertia: [1, 1, 1]}}\n"
    return load_text(f"{head}{body}events:\n{text}").events


EVENTS = """
  second: {at: 0.2 s, impulse: {body: a, linear: [1, 0, 0]}}
  first: {at: 0.1 s, impulse: {body: a, linear: [1, 0, 0]}}
  follows: {after: {first: 0.3 s}, impulse: {body: a, linear: [1, 0, 0]}}
  at_once: {after: {first: 0 s}, impulse: {body: a, linear: [1, 0, 0]}}
  again: {key: k, once: false, impulse: {body: a, linear: [1, 0, 0]}}
  key: {key: j, impulse: {body: a, linear: [1, 0, 0]}}
  seen: {when: "position('a')[0] > 1", impulse: {body: a, linear: [1, 0, 0]}}
  both: {at: 0.9 s, key: j, once: false, impulse: {body: a, linear: [1, 0, 0]}}
"""


def test_events_are_due_at_their_times_after_others_by_keys_and_conditions() -> None:
    scheduler = Scheduler.of(events_of(EVENTS))

    def names(t: float, crossed: tuple[str, ...] = ()) -> list[str]:
        return [event.name for event in scheduler.take(t, crossed)]

    assert scheduler.next_time() == 0.1 and scheduler.keys() == ("k", "j", "j")
    assert names(0.05) == [] and names(0.1) == ["first", "at_once"]
    assert scheduler.state.due["follows"] == [0.1 + 0.3] and scheduler.next_time() == 0.2
    assert scheduler.state.fired == {"first": 1, "at_once": 1}
    assert names(0.15, ("seen", "first")) == ["seen"]  # what was spent does not come again
    assert names(0.3) == ["second"] and names(0.4) == ["follows"]
    for count in (1, 2):
        scheduler.state.pressed += ["j", "k"]
        expected = ["again", "key", "both"] if count == 1 else ["again", "both"]
        assert names(0.5) == expected and scheduler.state.pressed == [] and scheduler.state.fired["again"] == count
    assert scheduler.next_time() == 0.9 and names(1.0) == ["both"] and scheduler.next_time() == float("inf")
    by_name = {event.name: event for event in scheduler.events}
    assert [scheduler.spent(by_name[name]) for name in ("first", "again", "key", "both")] == [True, False, True, False]
    assert scheduler.tell_once(by_name["first"], ["a", "b"]) == ["a", "b"]
    assert scheduler.tell_once(by_name["first"], ["b", "c"]) == ["c"] and scheduler.tell_once(
        by_name["key"], ["a"]
    ) == ["a"]


def test_times_of_events_follow_those_of_others() -> None:
    found = times_of(
        events_of("""
  last: {after: {middle: 0.5 s}, impulse: {body: a, linear: [1, 0, 0]}}
  middle: {after: {first: 0.25 s, late: 0.1 s}, impulse: {body: a, linear: [1, 0, 0]}}
  first: {at: 1 s, impulse: {body: a, linear: [1, 0, 0]}}
  late: {at: 3 s, after: {first: 1 s}, impulse: {body: a, linear: [1, 0, 0]}}
  never: {after: {seen: 1 s}, impulse: {body: a, linear: [1, 0, 0]}}
  seen: {when: "position('a')[0] > 1", impulse: {body: a, linear: [1, 0, 0]}}
""")
    )
    assert found == {"first": 1.0, "late": 2.0, "middle": 1.25, "last": 1.75}


def test_soft_stops_that_are_reached_and_left_are_told_by_their_side() -> None:
    text = """
schema: 1
name: between
world: {gravity: [0, 0, 0]}
bodies: {cart: {mass: 1, com: [0, 0, 0], inertia: [1, 1, 1]}}
joints: {rail: {type: translational, parent: world, child: cart, position: [0, 0, 0], axis: [1, 0, 0],
                limits: {range: [-0.1, 0.2], stiffness: 400, dissipation: 0}}}
initial: {rail: {rate: 1}}
simulate: {duration: 1 s}
"""
    with sim.run(load_text(text)) as recording:
        told = [(event.kind, event.name, event.text, event.time) for event in recording.events]
    assert [one[:3] for one in told[:4]] == [
        ("mode", "rail", "rail reaches its upper stop"), ("mode", "rail", "rail leaves its upper stop"),
        ("mode", "rail", "rail reaches its lower stop"), ("mode", "rail", "rail leaves its lower stop"),
    ]  # fmt: skip
    half = math.pi / 20.0  # s: at a stop, half of an oscillation
    times = [0.2, 0.2 + half, 0.2 + half + 0.3, 0.2 + 2 * half + 0.3]
    assert [one[3] for one in told[:4]] == pytest.approx(times, abs=1e-6)
