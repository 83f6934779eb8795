"""Structure changes: what an instant keeps, what it loses, and how the tree is carried on."""

from __future__ import annotations

import numpy as np
import pytest

import sim
from sim.scene.load import load_text
from tests.dynamics.engine import simulator_of
from tests.dynamics.shipped import scene_of

DATASETS = (
    "position", "quat_wxyz", "velocity", "angular_velocity", "com", "joints/coordinate", "joints/rate",
    "joints/torque", "joints/force", "joints/position", "energy/kinetic", "energy/potential", "energy/dissipated",
    "energy/input", "energy/impact", "energy/balance", "trust/position_residual", "trust/velocity_residual",
)  # fmt: skip


def with_events(name: str, events: str, simulate: str) -> str:
    """Return the text of a shipped scene with other events and settings."""
    lines = [line for line in scene_of(name).text.splitlines() if not line.startswith("simulate:")]
    assert not any(line.startswith("events:") for line in lines)
    return "\n".join([*lines, "events:", f"  {events}", f"simulate: {simulate}", ""])


@pytest.mark.fast
def test_two_bodies_are_welded():
    """Half of the speed each, half of the energy lost in the impulse; the gap stays."""
    with sim.run(scene_of("two_bodies")) as recording:
        (event,) = recording.events
        before, after = event.row_before, event.row_after
        assert recording.time[before] == recording.time[after] == event.time == 0.5
        assert recording.velocity["runner"][before] == pytest.approx([2, 0, 0], abs=1e-12)
        assert recording.velocity["rester"][before] == pytest.approx([0, 0, 0], abs=1e-12)
        for name in ("runner", "rester"):
            assert recording.velocity[name][after:] == pytest.approx(
                np.tile([1.0, 0, 0], (recording.rows - after, 1)), abs=1e-12
            )
            assert recording.angular_velocity[name][after:] == pytest.approx(0, abs=1e-12)
        gap = recording.position["rester"][after:] - recording.position["runner"][after:]
        assert gap == pytest.approx(np.tile([0.6, 0, 0], (len(gap), 1)), abs=1e-12)
        assert event.energy_lost == pytest.approx(1.0, abs=1e-12)
        assert recording.energy.impact[after] == event.energy_lost
        assert recording.energy.kinetic[[before, after]] == pytest.approx([2, 1], abs=1e-12)
        assert event.impulse == pytest.approx(1.0, abs=1e-12)


@pytest.mark.fast
@pytest.mark.parametrize(("scene", "joint"), [("double_pendulum", "elbow"), ("four_bar", "link")])
def test_cut_and_connected_again_changes_no_bit(scene, joint):
    text = with_events(scene, f"again: {{at: 0.1 s, cut: {joint}, connect: {joint}}}", "{duration: 0.12 s}")
    with sim.run(load_text(text)) as recording:
        (event,) = recording.events
        before, after = event.row_before, event.row_after
        assert after == before + 1
        assert recording.time[before] == recording.time[after] == 0.1
        for dataset in DATASETS:
            values = recording.array(dataset)
            assert np.array_equal(values[before], values[after], equal_nan=True), dataset
        (epoch,) = recording.epochs
        assert np.array_equal(epoch.q[before], epoch.q[after])
        assert np.array_equal(epoch.v[before], epoch.v[after])
        assert event.energy_lost == event.impulse == 0.0


REPLACED = (
    "replaced: {at: 0.2 s, cut: elbow, connect: {elbow2: {type: rotational, parent: upper, child: lower, "
    "position: [0, 0, 1.0], axis: [0, -1, 0]}}}"
)


def counts(simulator: sim.Simulator) -> tuple[int, int]:
    """Return N_J and m as the papers count: a loop's joint has its own columns, and gives six rows."""
    structure, joints = simulator.flow.structure, simulator.model.joints
    simulator.flow.observe()
    own = int(sum(joints.nv[joint] for joint in structure.loops))
    return structure.sizes.v + own, int(simulator.flow.work.one.rank[0]) + own


def test_tree_joint_replaced_by_one_of_its_kind():
    """The body gets a free joint and the new joint closes a loop: another description of the same motion."""
    simulator = simulator_of(with_events("double_pendulum", REPLACED, "{duration: 1 s, rtol: 1e-11}"))
    simulator.advance(0.1)
    before = counts(simulator)
    simulator.advance(0.3)
    after = counts(simulator)
    assert before == (2, 0)
    assert after == (8, 6)
    assert simulator.connected == ("shoulder", "elbow2", "lower")

    settings = "{duration: 1.2 s, rtol: 1e-11}"
    plain = with_events("double_pendulum", "end: {at: 1.2 s, stop: true}", settings)
    with (
        sim.run(load_text(with_events("double_pendulum", REPLACED, settings))) as recording,
        sim.run(load_text(plain)) as undisturbed,
    ):
        (event,) = recording.events
        before_row, after_row = event.row_before, event.row_after
        for dataset in ("position", "quat_wxyz", "velocity", "angular_velocity", "com"):
            values = recording.array(dataset)
            assert values[after_row] == pytest.approx(values[before_row], abs=1e-12)
            later = values[after_row + 1 :]
            rows = [int(np.argmin(np.abs(undisturbed.time - t))) for t in recording.time[after_row + 1 :]]
            assert np.max(np.abs(undisturbed.time[rows] - recording.time[after_row + 1 :])) < 1e-12
            expected = undisturbed.array(dataset)[rows]
            assert len(later) > 100
            assert np.max(np.abs(later - expected)) < 1e-9 * max(1.0, np.max(np.abs(expected)))
        assert event.impulse == pytest.approx(0, abs=1e-12)
        assert event.energy_lost == pytest.approx(0, abs=1e-12)
        assert recording.coordinate["elbow2"][after_row] == pytest.approx(0, abs=1e-12)
        assert recording.rate["elbow2"][after_row] == pytest.approx(recording.rate["elbow"][before_row], abs=1e-12)
        assert [epoch.tree for epoch in recording.epochs] == [("shoulder", "elbow"), ("shoulder", "lower")]
        assert recording.epochs[1].loops == ("elbow2",)


PAIR = """
schema: 1
name: pair
world: {gravity: [0, 0, -9.81]}
bodies:
  a: {mass: 1, com: [0.5, 0, 0], inertia: [0.1, 0.1, 0.1]}
  b: {mass: 1, com: [1.5, 0, 0], inertia: [0.1, 0.1, 0.1]}
joints:
  one: {type: rotational, parent: world, child: a, position: [0, 0, 0], axis: [0, 1, 0]}
  two: {type: rotational, parent: a, child: b, position: [1, 0, 0], axis: [0, 1, 0]}
  three: {type: spherical, parent: world, child: b, position: [2, 0, 1]}
"""


@pytest.mark.fast
def test_an_active_joint_carries_the_body_whose_joint_is_cut():
    """The loop joint takes the body over: no free joint, and the closed motion goes on as a tree's."""
    text = PAIR + "events: {cut two: {at: 0.05 s, cut: two}}\nsimulate: {duration: 0.1 s}\n"
    simulator = simulator_of(text)
    assert [simulator.model.joint_names[j] for j in simulator.flow.structure.loops] == ["three"]
    simulator.advance(0.1)
    assert simulator.flow.structure.loops == ()
    assert simulator.connected == ("one", "three")
    # both swing freely now, as pendulums that were at rest: angle = m g arm t^2 / (2 inertia about the pivot)
    fallen = 0.5 * 9.81 * 0.5 * 0.05**2
    assert simulator.coordinate["one"] == pytest.approx(fallen / 0.35, rel=1e-3)
    assert simulator.coordinate["three"] == pytest.approx([0, -fallen / 1.35, 0], rel=1e-2)


@pytest.mark.fast
def test_the_joint_that_takes_over_goes_on_as_it_was():
    """The rocker of a moving four-bar loses its pivot and hangs on the coupler: x+ equals x-."""
    text = with_events("four_bar", "loose: {at: 0.1 s, cut: pivot}", "{duration: 0.12 s}")
    with sim.run(load_text(text)) as recording:
        (event,) = recording.events
        before, after = event.row_before, event.row_after
        assert recording.epochs[0].loops == ("link",)
        assert recording.epochs[1].tree == ("drive", "pin", "link")
        for dataset in ("position", "quat_wxyz", "velocity", "angular_velocity", "com"):
            values = recording.array(dataset)
            assert values[after] == pytest.approx(values[before], abs=1e-12), dataset
        for name in ("coordinate", "rate"):
            values = getattr(recording, name)["link"]
            assert values[after] == pytest.approx(values[before], abs=1e-12)
            assert abs(values[after]) > 0.1
        assert event.energy_lost == 0.0
        assert np.max(np.abs(recording.energy.balance)) < 1e-8


@pytest.mark.fast
def test_a_joint_that_slides_takes_over():
    """The outer link loses its hinge and is left to a joint that only holds it in the plane, away from its origin."""
    plane = "three: {type: planar, parent: world, child: b, position: [1.7, 0, 0.2], axis: [0, 1, 0]}"
    text = PAIR.replace("three: {type: spherical, parent: world, child: b, position: [2, 0, 1]}", plane)
    assert plane in text
    with sim.run(load_text(text + CUT_TWO)) as recording:
        (event,) = recording.events
        before, after = event.row_before, event.row_after
        assert recording.epochs[1].tree == ("one", "three")
        for dataset in ("position", "quat_wxyz", "velocity", "angular_velocity", "com"):
            values = recording.array(dataset)
            assert values[after] == pytest.approx(values[before], abs=1e-12), dataset
        assert recording.rate["three"][after] == pytest.approx(recording.rate["three"][before], abs=1e-12)
        assert np.min(np.abs(recording.rate["three"][after])) > 0.05


@pytest.mark.fast
def test_changes_of_one_instant_are_one_change():
    """Two events at one time: one instant, two lines, in file order."""
    events = "events:\n  first: {at: 0.05 s, cut: two}\n  second: {at: 0.05 s, cut: three}\n"
    with sim.run(load_text(PAIR + events + "simulate: {duration: 0.1 s}\n")) as recording:
        first, second = recording.events
        assert (first.name, second.name) == ("first", "second")
        assert (first.row_before, first.row_after) == (second.row_before, second.row_after)
        assert np.count_nonzero(recording.time == 0.05) == 2
        assert len(recording.epochs) == 2
        assert recording.epochs[1].tree == ("one", "b")
        fall = recording.com["b"][-1][2] - recording.com["b"][first.row_after][2]
        assert fall == pytest.approx(-0.5 * 9.81 * 0.05**2, abs=1e-12)


@pytest.mark.fast
def test_cut_body_flies_on_with_its_velocity():
    with sim.run(load_text(PAIR.replace("  three", "  # three") + CUT_TWO)) as recording:
        (event,) = recording.events
        before, after = event.row_before, event.row_after
        for dataset in ("position", "velocity", "angular_velocity"):
            values = recording.array(dataset)
            assert values[after] == pytest.approx(values[before], abs=1e-14)
        w = recording.angular_velocity["b"]
        assert w[after:] == pytest.approx(np.tile(w[after], (recording.rows - after, 1)), abs=1e-9)
        com = recording.com["b"]
        rate = (com[-1] - com[after]) / (recording.time[-1] - event.time)
        v_com = recording.velocity["b"][after] + np.cross(w[after], com[after] - recording.position["b"][after])
        assert rate == pytest.approx(
            v_com + 0.5 * np.array([0, 0, -9.81]) * (recording.time[-1] - event.time), abs=1e-9
        )
        assert np.isnan(recording.coordinate["two"][after:]).all()
        assert np.isfinite(recording.coordinate["two"][:after]).all()


CUT_TWO = """
initial: {two: {rate: 3}}
events: {cut two: {at: 0.1 s, cut: two}}
simulate: {duration: 0.3 s, rtol: 1e-11}
"""


@pytest.mark.fast
def test_connecting_across_a_gap_beyond_the_tolerance_is_refused():
    text = """
schema: 1
name: far
bodies:
  a: {mass: 1, com: [0, 0, 1], inertia: [0.1, 0.1, 0.1], points: {tip: [0, 0, 0.5]}}
world: {points: {hook: [0, 0, 0]}}
joints:
  hold:
    {type: spherical, parent: world, child: a, parent_point: hook, child_point: tip,
     connected: false, tolerance: 1 mm}
events: {grab: {at: 0.01 s, connect: hold}}
simulate: {duration: 0.1 s}
"""
    simulator = simulator_of(text)
    with pytest.raises(sim.SimulationError) as caught:
        simulator.advance(0.1)
    message = str(caught.value)
    for part in ("0.01", "'grab'", "'hold'", "499.5", "tolerance"):
        assert part in message, message
    assert simulator.t == 0.01
    assert simulator.velocity["a"] == pytest.approx([0, 0, -0.0981], abs=1e-12)  # the state before the event
