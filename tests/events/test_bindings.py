"""A joint that an event makes binds where it is made, each time; one of the drawing binds as it is drawn."""

from __future__ import annotations

import numpy as np
import pytest

import sim
from sim.analysis.verification import oracle_joints as jn
from sim.analysis.verification.seen import Seen
from sim.scene.load import load_text
from tests.dynamics.engine import simulator_of

KINDS = {
    "fixed": "", "rotational": ", axis: [1, 2, -1]", "translational": ", axis: [1, 2, -1]",
    "cylindrical": ", axis: [1, 2, -1]", "universal": ", axis: [1, 2, -1], second_axis: [1, 0, 1]",
    "planar": ", axis: [1, 2, -1]", "spherical": "", "free": "",
}  # fmt: skip
PLACES = {
    "position": ", position: [0.3, -0.2, 0.4]", "child": ", child_point: tip", "parent": ", parent_point: hook",
}  # fmt: skip

# Two bodies that fly and tumble, and hold one another from time to time.  Nothing acts from outside.
PAIR = """
schema: 1
name: pair
world: {{gravity: [0, 0, 0]}}
bodies:
  a: {{mass: 2, com: [0, 0, 0], inertia: [0.3, 0.2, 0.4, 0.02, 0.01, 0.03], position: [0.1, 0.2, -0.1],
       points: {{hook: [0.2, 0.1, 0.3]}}}}
  b: {{mass: 1, com: [0.5, -0.3, 0.4], inertia: [0.1, 0.2, 0.15, 0.01, -0.02, 0.01], position: [0.6, -0.1, 0.4],
       points: {{tip: [0.3, -0.2, 0.5]}}}}
{joints}
initial:
  a: {{velocity: [0.2, -0.1, 0.3], angular_velocity: [1.1, -0.7, 0.5]}}
  {rates}
events:
{events}
simulate: {{duration: 2.4 s, record: 50 Hz, rtol: 1e-11}}
"""
FREE = "b: {velocity: [-0.3, 0.2, 0.1], angular_velocity: [-0.4, 1.3, 0.8]}"
HELD = "old: {rate: [-0.4, 1.3, 0.8]}"
OLD = "joints: {old: {type: spherical, parent: a, child: b, position: [0.4, -0.1, 0.2]}}"
JOINT = "{{type: {kind}, parent: a, child: b{place}{axes}}}"

# Held, let go, held, let go, held again: the second time by the same map, the third by name.
LOOP = """
  catch: {{at: 0.3 s, after: {{once more: 0.1 s}}, once: false, connect: {{grip: {joint}}}}}
  go: {{after: {{catch: 0.3 s, again: 0.4 s}}, once: false, cut: grip}}
  once more: {{at: 0.9 s, caption: once more}}
  again: {{at: 1.6 s, connect: grip}}
"""
# The grip takes over what another joint carried, is cut, and holds again where the two then are.
TREE = """
  catch: {{at: 0.3 s, connect: {{grip: {joint}}}}}
  over: {{at: 0.5 s, cut: old}}
  go: {{at: 0.8 s, cut: grip}}
  again: {{at: 1.1 s, connect: grip}}
  back: {{at: 1.4 s, connect: old_again}}
  parted: {{at: 1.6 s, cut: grip}}
  last: {{at: 1.9 s, connect: grip, cut: old_again}}
"""


def text_of(kind: str, place: str, way: str) -> str:
    place = "" if kind == "free" else PLACES[place]
    joint = JOINT.format(kind=kind, place=place, axes=KINDS[kind])
    events = {"loop": LOOP, "tree": TREE}[way].format(joint=joint)
    joints = "" if way == "loop" else OLD
    if way == "tree":
        again = "{type: universal, parent: a, child: b, child_point: tip, axis: [1, 0, 0], second_axis: [0, 1, 0]}"
        events = events.replace("connect: old_again", f"connect: {{old_again: {again}}}")
    return PAIR.format(joints=joints, rates=FREE if way == "loop" else HELD, events=events)


class Side:
    """A body of a recording in some rows, as a side of a joint."""

    def __init__(self, recording: sim.Recording, name: str):
        self.p, self.R = recording.position[name], jn.rotation_of(recording.quat_wxyz[name])
        self.v, self.w = recording.velocity[name], recording.angular_velocity[name]

    def __getitem__(self, rows) -> jn.Side:
        return jn.Side(self.p[rows], self.R[rows], self.v[rows], self.w[rows])


def stretches(recording: sim.Recording, joint: str) -> list[slice]:
    """Return the rows in which a joint stands, stretch by stretch."""
    there = np.concatenate([[False], np.isfinite(recording.force[joint][:, 0]), [False]])
    ends = np.flatnonzero(there[1:] != there[:-1])
    return [slice(int(a), int(b)) for a, b in zip(ends[::2], ends[1::2], strict=True)]


def frame_at(side: jn.Side, P: np.ndarray, R: np.ndarray) -> jn.Frame:
    """Return the frame on a body that stands at P with axes R now."""
    return jn.Frame(side.R.T @ (P - side.p), side.R.T @ R)


def frames_of(kind: str, place: str, a: jn.Side, b: jn.Side) -> tuple[jn.Frame, jn.Frame]:
    """Return the frames of a joint that is bound now, as the scene says: M has kept its axes in b since the drawing."""
    points = {"position": [0.3, -0.2, 0.4], "child": [0.3, -0.2, 0.5], "parent": [0.2, 0.1, 0.3]}
    side, origin = (a, [0.1, 0.2, -0.1]) if place == "parent" else (b, [0.6, -0.1, 0.4])
    P = b.p if kind == "free" else side.p + side.R @ (np.array(points[place]) - origin)
    axes = b.R @ axes_of(kind)
    return frame_at(a, P, axes), frame_at(b, P, axes)


@pytest.mark.parametrize("way", ["loop", "tree"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
def test_it_binds_where_it_is_made_each_time(kind, place, way):
    """Nothing jumps; coordinates begin at zero; what it locks stays as it was there; momenta and energy are kept."""
    if kind == "free" and place != "position":
        pytest.skip("a free joint has no place")
    scene = load_text(text_of(kind, place, way))
    with sim.run(scene) as recording:
        a, b = Side(recording, "a"), Side(recording, "b")
        held = stretches(recording, "grip")
        made = [binding for binding in recording.bindings if binding.joint == "grip"]
        assert [binding.row for binding in made] == [rows.start for rows in held]
        assert len(held) == 3
        moved = []
        for rows, binding in zip(held, made, strict=True):
            now, before = rows.start, rows.start - 1
            assert recording.time[now] == recording.time[before] == binding.time
            for side in (a, b):
                assert side.p[now] == pytest.approx(side.p[before], abs=1e-13)
                assert side.R[now] == pytest.approx(side.R[before], abs=1e-13)
            F, M = frames_of(kind, place, a[now], b[now])
            at = jn.pair(a[rows], b[rows], F, M)
            assert np.abs(jn.gaps(kind, at)).max(initial=0.0) < 1e-10
            assert np.abs(jn.gap_rates(kind, at)).max(initial=0.0) < 1e-10
            if "grip" in recording.coordinate:
                q, speed = (x["grip"][rows].reshape(len(at.P), -1) for x in (recording.coordinate, recording.rate))
                assert q[0] == pytest.approx(0.0, abs=1e-12)
                assert speed == pytest.approx(jn.rates(kind, at), abs=1e-10)
                if kind not in ("spherical", "free"):
                    assert q == pytest.approx(jn.coordinates(kind, at), abs=1e-9)
                moved.append(np.abs(q).max())
            seen = slice(2, 3) if kind in ("rotational", "translational", "cylindrical") else slice(0, 3)  # x is any
            for frame, end in ((F, "parent"), (M, "child")):  # the recording tells the same
                p, R = np.array(getattr(binding, f"{end}_position")), getattr(binding, f"{end}_quat_wxyz")
                assert p == pytest.approx(frame.p, abs=1e-12)
                assert jn.rotation_of(np.array(R))[:, seen] == pytest.approx(frame.R[:, seen], abs=1e-12)
            assert recording.binding("grip", rows.stop - 1) == binding
            assert recording.binding("grip", before) is None
        assert kind == "fixed" or max(moved) > 1e-3
        for momentum in momenta(recording, a, b):
            assert momentum == pytest.approx(np.tile(momentum[0], (recording.rows, 1)), abs=1e-8)
        assert np.abs(recording.energy.balance).max() < 1e-8
        assert np.nanmax(recording.trust.position_residual) < 1e-10
        position, velocity, rate, _ = Seen(recording, sim.compile(scene)).residuals  # as `sim verify`
        assert max(position.max(), velocity.max(), rate.max()) < 1e-9


def momenta(recording: sim.Recording, a: Side, b: Side) -> tuple[np.ndarray, np.ndarray]:
    """Return linear and angular momentum (n, 3) of the two bodies."""
    linear = angular = 0.0
    for name, side, mass, six in (("a", a, 2.0, A), ("b", b, 1.0, B)):
        xx, yy, zz, xy, xz, yz = six
        J, com = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), recording.com[name]
        push = mass * (side.v + np.cross(side.w, com - side.p))
        spin = np.einsum("rij,jk,rlk,rl->ri", side.R, J, side.R, side.w)
        linear, angular = linear + push, angular + spin + np.cross(com, push)
    return linear, angular


A = (0.3, 0.2, 0.4, 0.02, 0.01, 0.03)
B = (0.1, 0.2, 0.15, 0.01, -0.02, 0.01)


def axes_of(kind: str) -> np.ndarray:
    """Return the joint's axes in the drawing: its axis is z, a universal joint's second one."""
    if kind in ("fixed", "spherical", "free"):
        return np.eye(3)
    first = np.array([1.0, 2.0, -1.0]) / np.sqrt(6.0)
    if kind == "universal":
        second = np.array([1.0, 0.0, 1.0]) / np.sqrt(2.0)
        return np.column_stack([first, np.cross(second, first), second])
    x = np.array([1.0, 0.0, 0.0]) - first[0] * first if kind == "planar" else np.cross(first, [0.3, 0.1, 0.5])
    return np.column_stack([x / np.linalg.norm(x), np.cross(first, x) / np.linalg.norm(x), first])


GRAB = """
schema: 1
name: grab again
world: {gravity: [0, 0, 0]}
bodies: {rod: {mass: 1 kg, com: [0, 0, 0], inertia: [0.1, 0.1, 0.1], points: {end: [0, 0, 0.5]}}}
initial: {rod: {velocity: [1, 0, 0]}}
events:
  catch:
    {at: 1 s, after: {go: 1 s}, once: false,
     connect: {pin: {type: rotational, parent: world, child: rod, child_point: end, axis: [0, 1, 0]}}}
  go: {at: 2 s, cut: pin}
simulate: {duration: 5 s, record: 10 Hz, rtol: 1e-11}
"""


@pytest.mark.fast
def test_a_rod_that_is_caught_again_is_held_where_it_then_is():
    """Closed form: a rod of m = 1, J = 0.1 with an end at 0.5; each catch keeps the angular momentum about its end."""
    spin = -0.5 / 0.35  # about y, of its end above: -m v r / (J + m r^2)
    angle = spin * 1.0  # turned at 2 s
    com = np.array([1.0, 0.0, 0.5]) - 0.5 * np.array([np.sin(angle), 0.0, np.cos(angle)])
    v = -0.5 * spin * np.array([np.cos(angle), 0.0, -np.sin(angle)])
    angle, com = 2.0 * angle, com + v
    arm = 0.5 * np.array([np.sin(angle), 0.0, np.cos(angle)])
    with sim.run(load_text(GRAB)) as recording:
        catch, again = (event for event in recording.events if event.name == "catch")
        assert catch.energy_lost == pytest.approx(0.5 - 0.5 * 0.35 * spin**2, abs=1e-12)
        row = again.row_after
        assert recording.position["rod"][row] == pytest.approx(com, abs=1e-9)
        assert recording.joint_position["pin"][row] == pytest.approx(com + arm, abs=1e-9)
        assert recording.coordinate["pin"][row] == pytest.approx(0.0, abs=1e-12)
        after = (0.1 * spin + np.cross(-arm, v)[1]) / 0.35
        assert recording.rate["pin"][row:] == pytest.approx(after, abs=1e-9)
        assert recording.coordinate["pin"][-1] == pytest.approx(2.0 * after, abs=1e-9)
        held = recording.joint_position["pin"][row:]
        assert held == pytest.approx(np.tile(com + arm, (len(held), 1)), abs=1e-9)


# A wheel on a bearing: caught by another bearing on its axis, from time to time; nothing else acts on it.  Turns of
# loop joints are counted from step to step, so steps are held below half a turn.
WHEEL = """
schema: 1
name: wheel
world: {{gravity: [0, 0, 0]}}
bodies: {{wheel: {{mass: 1, com: [0, 0, 0], inertia: [1, 1, 2], position: [0, 0, 0]}}}}
joints: {{bearing: {{type: {kind}, parent: world, child: wheel, position: [0, 0, 0], axis: [0, 0, 1]}}}}
initial: {{bearing: {start}}}
events:
{events}
simulate: {{duration: 6 s, record: 20 Hz{settings}}}
"""
GRIP = "{{type: {kind}, parent: world, child: wheel, position: [0, 0, 0], axis: [0, 0, 1]{more}}}"


SMOOTH = ", rtol: 1e-11, max_step: 0.1 s"
STEPS = ", contact: stepping, dt: 1 ms"


def wheel(
    events: str, more: str = "", kind: str = "rotational", start: str = "{rate: 5}", settings: str = SMOOTH
) -> str:
    grip = GRIP.format(kind=kind, more=more)
    lines = "\n".join(f"  {line}" for line in events.replace("GRIP", grip).strip().splitlines())
    return WHEEL.format(kind=kind, start=start, events=lines, settings=settings)


AGAIN = """
catch: {at: 1 s, connect: {grip: GRIP}}
go: {at: 2 s, cut: grip}
again: {at: 4 s, connect: grip}
"""
TAKEN_OVER = """
catch: {at: 1 s, connect: {grip: GRIP}}
over: {at: 1.5 s, cut: bearing}
go: {at: 2 s, cut: grip}
again: {at: 4 s, connect: grip}
"""


@pytest.mark.parametrize("events", [AGAIN, TAKEN_OVER], ids=["loop", "tree"])
@pytest.mark.parametrize("kind", ["rotational", "cylindrical"])
def test_turns_are_counted_from_the_binding(kind, events):
    """The wheel turns by 5 rad within a second: 5 rad are counted in each binding, not what was counted before."""
    start = "{rate: 5}" if kind == "rotational" else "{rate: [0, 5]}"
    with sim.run(load_text(wheel(events, kind=kind, start=start))) as recording:
        for rows in stretches(recording, "grip"):
            turned = recording.coordinate["grip"][rows].reshape(rows.stop - rows.start, -1)[:, -1]
            since = recording.time[rows] - recording.time[rows.start]
            assert turned == pytest.approx(5.0 * since, abs=1e-9)
        assert len(stretches(recording, "grip")) == 2


@pytest.mark.fast
def test_a_joint_of_the_drawing_binds_as_it_is_drawn():
    """Where it was cut after a turn and more, it is connected again at the angle that it has: turns begin anew."""
    with sim.run(load_text(wheel("cut: {at: 2 s, cut: bearing}\nagain: {at: 4 s, connect: bearing}"))) as recording:
        first, second = stretches(recording, "bearing")
        assert recording.coordinate["bearing"][first] == pytest.approx(5.0 * recording.time[first], abs=1e-9)
        turned = 5.0 * recording.time[second] - 6.0 * np.pi
        assert recording.coordinate["bearing"][second] == pytest.approx(turned, abs=1e-9)
        drawn, again = recording.bindings
        assert (drawn.row, again.row) == (0, second.start)
        for name in ("parent_position", "parent_quat_wxyz", "child_position", "child_quat_wxyz"):
            assert getattr(drawn, name) == getattr(again, name)


@pytest.mark.parametrize("events", [AGAIN, TAKEN_OVER], ids=["loop", "tree"])
@pytest.mark.parametrize("rest", [0.0, 0.7])
def test_the_spring_of_a_joint_is_free_at_its_rest_from_each_binding(rest, events):
    """J = 2, k = 8: the angle is rest + A cos(2 s) + B sin(2 s), s since the binding, and the work is booked."""
    with sim.run(load_text(wheel(events, more=f", stiffness: 8, rest: {rest}"))) as recording:
        for rows in stretches(recording, "grip"):
            s, speed = recording.time[rows] - recording.time[rows.start], recording.rate["grip"][rows.start]
            expected = rest - rest * np.cos(2.0 * s) + 0.5 * speed * np.sin(2.0 * s)
            assert recording.coordinate["grip"][rows] == pytest.approx(expected, abs=1e-8)
        assert np.abs(recording.energy.balance).max() < 1e-8


@pytest.mark.parametrize("events", [AGAIN, TAKEN_OVER], ids=["loop", "tree"])
def test_a_torsion_spring_on_a_joint_that_events_make_follows_the_binding(events):
    text = wheel(events).replace("events:", "forces: {s: {type: torsion_spring, joint: grip, stiffness: 8}}\nevents:")
    with sim.run(load_text(text)) as recording:
        for rows in stretches(recording, "grip"):
            s, speed = recording.time[rows] - recording.time[rows.start], recording.rate["grip"][rows.start]
            assert recording.coordinate["grip"][rows] == pytest.approx(0.5 * speed * np.sin(2.0 * s), abs=1e-8)
        assert np.abs(recording.energy.balance).max() < 1e-8


@pytest.mark.parametrize("events", [AGAIN, TAKEN_OVER], ids=["loop", "tree"])
def test_soft_stops_count_from_the_binding(events):
    """Cut while it is pressed, it is not pressed in its next binding until it comes there again; no energy is lost."""
    limits = ", limits: {range: [-1, 4], stiffness: 50, dissipation: 0}"
    with sim.run(load_text(wheel(events, more=limits))) as recording:
        first, second = stretches(recording, "grip")
        assert recording.coordinate["grip"][first.stop - 1] > 4.0  # pressed when it is cut
        lost = next(event for event in recording.events if event.name == "go").energy_lost
        depth = recording.coordinate["grip"][first.stop - 1] - 4.0
        assert lost == pytest.approx(0.5 * 50.0 * depth**2, abs=1e-9)
        angle, pushed = recording.coordinate["grip"][second], recording.stop_torque["grip"][second]
        assert angle[0] == pytest.approx(0.0, abs=1e-12)
        assert pushed == pytest.approx(-50.0 * np.maximum(angle - 4.0, 0.0), abs=1e-7)
        assert angle.max() > 4.0
        assert np.abs(recording.energy.balance).max() < 1e-8


@pytest.mark.parametrize("settings", [SMOOTH, STEPS], ids=["events", "steps"])
def test_friction_acts_against_the_rate_of_the_binding(settings):
    """Cut while it slides one way, and connected again while it moves the other way: friction of 1 N m on J = 2."""
    events = AGAIN.replace("again:", "back: {at: 3 s, impulse: {body: wheel, angular: [0, 0, -16]}}\nagain:")
    with sim.run(load_text(wheel(events, more=", friction: 1", settings=settings))) as recording:
        rate = recording.rate["bearing"]
        first, second = stretches(recording, "grip")
        s, slack = recording.time - 1.0, 1e-9 if settings == SMOOTH else 2e-3
        assert rate[first] == pytest.approx(5.0 - 0.5 * s[first], abs=slack)
        assert rate[second] == pytest.approx(4.5 - 8.0 + 0.5 * (s[second] - 3.0), abs=slack)


@pytest.mark.parametrize("settings", [SMOOTH, STEPS], ids=["events", "steps"])
def test_rigid_stops_count_from_the_binding(settings):
    """At rest against its stop when it is cut; thrown on, it is stopped again 4 rad beyond where it was caught."""
    events = AGAIN.replace("again:", "thrown: {at: 3 s, impulse: {body: wheel, angular: [0, 0, 12]}}\nagain:")
    limits = ", limits: {range: [-1, 4], stop: rigid, restitution: 0}"
    with sim.run(load_text(wheel(events, more=limits, settings=settings))) as recording:
        first, second = stretches(recording, "grip")
        slack = 1e-9 if settings == SMOOTH else 1e-2
        angle, s = recording.coordinate["grip"], recording.time
        assert angle[first] == pytest.approx(np.minimum(5.0 * (s[first] - 1.0), 4.0), abs=slack)
        assert angle[second] == pytest.approx(np.minimum(6.0 * (s[second] - 4.0), 4.0), abs=slack)


# --- the instant --------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [("cut", "connect"), ("connect", "cut")])
@pytest.mark.parametrize("how", ["times", "after"])
@pytest.mark.parametrize("made", ["by name", "by map"])
def test_cut_and_connected_at_one_instant_stays_as_it_is(order, how, made):
    """Whatever the order in the file, and where one of two events follows the other at once: turns go on."""
    whole = {"cut": "cut: grip", "connect": "connect: grip" if made == "by name" else "connect: {grip: GRIP}"}
    when = {"times": ("at: 2 s", "at: 2 s"), "after": ("at: 2 s", "after: {one: 0 s}")}[how]
    catch = "catch: {at: 1 s, connect: {grip: GRIP}}"
    if made == "by map":
        events = f"one: {{{when[0]}, {whole[order[0]]}}}\nother: {{{when[1]}, {whole[order[1]]}}}"
        k = order.index("connect")
        name, first = ("one", "other")[k], when[k]
        events = events.replace(f"{name}: {{{first}", f"{name}: {{{first}, when: 't > 1 s', once: false", 1)
    else:
        events = f"{catch}\none: {{{when[0]}, {whole[order[0]]}}}\nother: {{{when[1]}, {whole[order[1]]}}}"
    with sim.run(load_text(wheel(events))) as recording:
        (rows,) = stretches(recording, "grip")
        since = recording.time[rows] - 1.0
        assert recording.coordinate["grip"][rows] == pytest.approx(5.0 * since, abs=1e-9)
        assert len([binding for binding in recording.bindings if binding.joint == "grip"]) == 1


def test_the_order_of_other_events_of_the_instant_does_not_count():
    """What is connected is so before blows of the instant, whatever the order in the file."""
    joint = JOINT.format(kind="spherical", place=PLACES["child"], axes="")
    lines = [f"  catch: {{{{at: 0.3 s, after: {{{{go: 0.2 s}}}}, once: false, connect: {{{{grip: {joint}}}}}}}}}",
             "  go: {{at: 0.6 s, cut: grip}}", "  hit: {{at: 0.8 s, impulse: {{body: b, linear: [0.3, 0.1, -0.4]}}}}",
             "  spin: {{at: 0.8 s, impulse: {{body: a, angular: [0.1, 0.1, -0.1]}}}}"]  # fmt: skip
    found = []
    for turned in (lines, lines[::-1]):
        text = PAIR.format(joints="", rates=FREE, events="\n".join(turned).replace("{{", "{").replace("}}", "}"))
        with sim.run(load_text(text)) as recording:
            assert len(stretches(recording, "grip")) == 2
            found.append({name: recording.position[name][-1].copy() for name in ("a", "b")})
    for name in ("a", "b"):
        assert found[0][name] == pytest.approx(found[1][name], abs=1e-9)


# --- gaps ---------------------------------------------------------------------------------------

TWO_POINTS = """
schema: 1
name: two points
world: {{gravity: [0, 0, 0], points: {{hook: [1, 0, 0.8]}}}}
bodies:
  rod: {{mass: 1 kg, com: [0, 0, 0], inertia: [0.1, 0.1, 0.1], points: {{end: [0, 0, 0.5]}}}}
  ball: {{mass: 1 kg, com: [0, 1, 0], inertia: [0.1, 0.1, 0.1]}}
forces: {{s: {{type: spring, from: rod, to: ball, stiffness: 10 N/m}}}}
initial: {{rod: {{velocity: [1, 0, 0]}}}}
events:
  catch:
    {{at: 1 s, after: {{go: 0.2 s}}, once: false,
      connect: {{pin: {{type: rotational, parent: world, child: rod, parent_point: hook, child_point: end,
                        axis: [0, 1, 0]{tolerance}}}}}}}
  go: {{at: 1.3 s, cut: pin}}
simulate: {{duration: 2 s, record: 20 Hz, rtol: 1e-11}}
"""


@pytest.mark.fast
def test_two_points_are_brought_together_at_the_instant_and_it_is_told():
    """No later row shows a jump; what it takes is energy put in, and the event says how far it was."""
    with sim.run(load_text(TWO_POINTS.format(tolerance=""))) as recording:
        catches = [event for event in recording.events if event.name == "catch"]
        assert len(catches) == 2
        for event in catches:
            gap = recording.position["rod"][event.row_before] + turned(recording, "rod", event.row_before, [0, 0, 0.5])
            apart = np.linalg.norm(gap - [1.0, 0.0, 0.8])
            assert "pin brings together" in event.text
            assert f"{apart * 1e3:.4g} mm" in event.text
            assert recording.joint_position["pin"][event.row_after] == pytest.approx([1.0, 0.0, 0.8], abs=1e-12)
        assert np.nanmax(recording.trust.position_residual) < 1e-10
        assert np.abs(recording.energy.balance).max() < 1e-9


def turned(recording: sim.Recording, body: str, row: int, p: list[float]) -> np.ndarray:
    return jn.rotation_of(recording.quat_wxyz[body][row]) @ np.array(p)


@pytest.mark.fast
def test_a_gap_between_two_points_beyond_the_tolerance_is_refused_each_time():
    simulator = simulator_of(TWO_POINTS.format(tolerance=", tolerance: 1 cm"))
    with pytest.raises(sim.SimulationError, match=r"t = 1 s: event 'catch'.*mm apart.*tolerance is 0\.01"):
        simulator.advance(2.0)


FAR = """
schema: 1
name: far
world: {points: {hook: [5, 0, 0.8]}}
bodies: {rod: {mass: 1 kg, com: [0, 0, 0.5], inertia: [0.1, 0.1, 0.1], points: {end: [0, 0, 0]}}}
joints: {hinge: {type: rotational, parent: world, child: rod, position: [0, 0, 1], axis: [0, 1, 0]}}
events:
  catch: {at: 0 s, connect: {pin: {type: spherical, parent: world, child: rod, parent_point: hook, child_point: end}}}
simulate: {duration: 1 s}
"""


@pytest.mark.fast
def test_two_points_that_cannot_meet_end_in_a_sentence():
    with pytest.raises(
        sim.SimulationError, match=r"'catch'.*cannot close with 'pin' connected here \(pin: 5064 mm apart"
    ):
        simulator_of(FAR).advance(1.0)


# --- snapshots ----------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["loop", "tree"])
@pytest.mark.parametrize("kind", ["rotational", "planar", "spherical"])
def test_a_snapshot_of_a_later_binding_goes_on_to_the_bit(kind, way):
    """Taken before, within and after the second binding; put into the same run, and into another one."""
    text = text_of(kind, "child", way)
    undisturbed = simulator_of(text)
    times, kept = (0.7, 1.2, 1.5, 2.4), []
    for t in times:
        undisturbed.advance(t)
        kept.append(undisturbed.snapshot())
    end = undisturbed.q, undisturbed.v, undisturbed.connected
    for k, snapshot in enumerate(kept[:-1]):
        for simulator in (undisturbed, simulator_of(text)):
            simulator.restore(snapshot)
            for t in times[k + 1 :]:
                simulator.advance(t)
            assert simulator.connected == end[2]
            assert np.array_equal(simulator.q, end[0])
            assert np.array_equal(simulator.v, end[1])


# --- controllers and stops ----------------------------------------------------------------------

HOLDER = """
import numpy as np
from sim.plugin import Controller


class Holder(Controller):
    rate = 0.4

    def sample(self, t, state, torque, memory):
        torque[:] = 0.0
        torque[1] = 3.0 + state.coordinate[1]
"""


def test_what_a_sampled_controller_held_for_an_older_binding_is_not_applied(tmp_path):
    """Samples at 0, 2.5 and 5 s; the grip is bound at 1 and at 4 s: nothing acts on it until the next look."""
    (tmp_path / "holder.py").write_text(HOLDER)
    text = wheel(AGAIN).replace("events:", "controllers: {h: {type: './holder.py:Holder'}}\nevents:")
    path = tmp_path / "scene.yaml"
    path.write_text(text)
    with sim.run(sim.load(path, trust=True)) as recording:
        torque, t = recording.torque["grip"], recording.time
        _, second = stretches(recording, "grip")
        early = (t[second] < 5.0) & (np.arange(second.start, second.stop) < np.searchsorted(t, 5.0))
        assert torque[second][early] == pytest.approx(0.0, abs=0)
        assert torque[second][-1] == pytest.approx(8.0, abs=1e-9)


def test_bounces_at_a_stop_are_counted_in_one_binding():
    """Hops that shrink end in rest; those of a former binding say nothing of the next one."""
    simulator = simulator_of(wheel(AGAIN, more=", limits: {range: [-1, 4], stop: rigid, restitution: 0.5}"))
    simulator.advance(1.9)
    assert simulator.now.contact_modes.state.zeno.times
    simulator.advance(4.1)
    assert not simulator.now.contact_modes.state.zeno.times


GEARED = """
schema: 1
name: geared
world: {gravity: [0, 0, 0]}
bodies:
  wheel: {mass: 1, com: [0, 0, 0], inertia: [1, 1, 2]}
  other: {mass: 1, com: [1, 0, 0], inertia: [2, 2, 3]}
joints:
  bearing: {type: rotational, parent: world, child: wheel, position: [0, 0, 0], axis: [0, 0, 1]}
  axle: {type: rotational, parent: world, child: other, position: [1, 0, 0], axis: [0, 0, 1]}
constraints: {pair: {type: gear, joints: [grip, axle], ratio: -0.5}}
initial: {bearing: {rate: 1}, axle: {rate: 0.4}}
events:
  catch:
    at: 1 s
    connect: {grip: {type: rotational, parent: world, child: wheel, position: [0, 0, 0], axis: [0, 0, 1]}}
    enable: pair
  go: {at: 2 s, cut: grip}
  again: {at: 3 s, connect: grip, enable: pair}
simulate: {duration: 4 s, record: 20 Hz, rtol: 1e-11, max_step: 0.1 s}
"""


def test_a_gear_on_a_joint_that_events_make_binds_with_it():
    """It is off while the joint is cut, and keeps the coordinates of the new binding together from then on."""
    with sim.run(load_text(GEARED)) as recording:
        grip, axle = recording.coordinate["grip"], recording.coordinate["axle"]
        made = [binding for binding in recording.bindings if binding.joint == "pair"]
        held = stretches(recording, "pair")
        assert [rows.start for rows in held] == [binding.row for binding in made]
        for rows, binding in zip(held, made, strict=True):
            assert binding.offset == pytest.approx(0.5 * axle[rows.start], abs=1e-12)
            assert grip[rows] + 0.5 * axle[rows] == pytest.approx(binding.offset, abs=1e-9)
            assert recording.rate["grip"][rows] == pytest.approx(-0.5 * recording.rate["axle"][rows], abs=1e-9)
        assert len(made) == 2
        assert made[0].offset != pytest.approx(made[1].offset, abs=0.01)
        assert np.abs(recording.energy.balance).max() < 1e-9


@pytest.mark.parametrize("settings", [SMOOTH, STEPS, ", method: rk4, step: 5 ms"], ids=["events", "steps", "rk4"])
def test_nothing_of_a_joint_that_was_cut_is_read(settings):
    """Cut while it turns, is sprung, damped and pressed at its stop: conditions find zero of it, recordings nothing."""
    zero = {"coordinate": "1e-9", "rate": "1e-9 rad/s", "torque": "1e-9 N m"}
    of_it = " or ".join(f"abs({name}('pin')) > {least}" for name, least in zero.items())
    of_it += " or norm(force('pin')) > 1e-9 N"
    more = ", stiffness: 0.2, damping: 0.01, limits: {range: [-1, 1], stiffness: 20}"
    text = GRAB.replace(
        "axis: [0, 1, 0]}", "axis: [0, 1, 0]" + more + (", friction: 0.01}" if settings == STEPS else "}")
    )
    text = text.replace(", rtol: 1e-11}", settings + "}")
    text = text.replace("  go:", f'  reads: {{when: "(t > 2.001 s and t < 2.999 s) and ({of_it})"}}\n  go:')
    with sim.run(load_text(text)) as recording:
        assert [event.name for event in recording.events if event.kind == "scene"] == ["catch", "go", "catch"]
        assert recording.stop_torque["pin"][np.isfinite(recording.stop_torque["pin"])].max() > 0.1
        absent = (recording.time > 2.0) & (recording.time < 3.0)
        for values in (recording.coordinate, recording.rate, recording.torque, recording.stop_torque):
            assert np.isnan(values["pin"][absent]).all()
        assert np.isnan(recording.force["pin"][absent]).all()
    simulator = simulator_of(text)
    simulator.advance(2.5)
    assert "pin" not in simulator.connected
