"""Rigid stops and friction of joints beside everything else: contacts, loops, events, recordings, time steps."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

import sim
from render.signals import Signals
from sim.scene.load import load_text
from tests.contact.engine import G0, Run

pytestmark = pytest.mark.contact

# A ball above a table that slides on a rail and lies on its lower stop.
TABLE = """
schema: 1
name: table
bodies:
  table: {{mass: 3, shapes: [{{box: {{center: [0, 0, -0.1], size: [1, 1, 0.2]}}}}]}}
  ball: {{mass: 1, shapes: [{{sphere: {{center: [0, 0, 0.6], radius: 0.1}}}}]}}
joints:
  rail:
    {{type: translational, parent: world, child: table, position: [0, 0, 0], axis: [0, 0, 1],
     limits: {{range: [0, 0.5], stop: rigid, restitution: {E}}}}}
contacts: {{drop: {{between: [ball, table], friction: 0.5, restitution: {BALL}}}}}
simulate: {{duration: 5 s, rtol: 1e-10}}
"""
FALL = np.sqrt(2 * 0.5 / G0)


def test_a_stop_answers_in_one_problem_with_contacts() -> None:
    """The table lies on its stop: the ball bounces as off the ground, and the stop gives what the ball does."""
    run = Run(TABLE.format(E=0.0, BALL=0.5)).to(FALL + 0.01)
    assert run.times() == pytest.approx([FALL], abs=1e-9)
    _, after = run.told.around[-1]
    assert after["velocity"][1, 2] == pytest.approx(0.5 * G0 * FALL, rel=1e-9)
    assert after["joints/rate"][0] == pytest.approx(0.0, abs=1e-12)
    event = run.told.events[-1]
    assert event.through[0, 5] == pytest.approx(1.5 * G0 * FALL, rel=1e-9)  # N s of the rail on the table
    run.to(3.0)
    assert run.simulator.stop_torque["rail"] == pytest.approx(4 * G0, rel=1e-9)
    assert run.forces()["table and ball"] == pytest.approx([0, 0, G0], abs=1e-9)
    assert run.balance() < 1e-8


FOUR_BAR = """
schema: 1
name: four_bar
bodies:
  a: {{mass: 1, com: [0, 0, 0.5], inertia: [0.1, 0.1, 0.1]}}
  b: {{mass: 1, com: [0.5, 0, 1], inertia: [0.1, 0.1, 0.1]}}
  c: {{mass: 1, com: [1, 0, 0.5], inertia: [0.1, 0.1, 0.1]}}
joints:
  oa: {{type: rotational, parent: world, child: a, position: [0, 0, 0], axis: [0, 1, 0] {OA}}}
  ab: {{type: rotational, parent: a, child: b, position: [0, 0, 1], axis: [0, 1, 0]}}
  bc: {{type: rotational, parent: b, child: c, position: [1, 0, 1], axis: [0, 1, 0]}}
  oc: {{type: rotational, parent: world, child: c, position: [1, 0, 0], axis: [0, 1, 0] {OC}}}
initial: {{oa: {{coordinate: 0.1, rate: 0.5}}}}
{MORE}
simulate: {{duration: 5 s, rtol: 1e-10}}
"""
STOP = ", limits: {range: [-inf, 0.6], stop: rigid, restitution: 0.5}"


def test_a_stop_on_a_joint_that_closes_a_loop_is_that_of_the_other_crank() -> None:
    """The parallelogram's cranks turn alike, so it does not matter which of them has the stop."""
    tree, loop = (Run(FOUR_BAR.format(OA=oa, OC=oc, MORE="")).to(4.0) for oa, oc in ((STOP, ""), ("", STOP)))
    assert "oc" in [tree.simulator.model.joint_names[j] for j in loop.simulator.flow.structure.loops]
    assert len(tree.times()) > 5
    assert loop.times() == pytest.approx(tree.times(), abs=1e-8)
    assert loop.simulator.coordinate["oc"] == pytest.approx(0.6, abs=1e-9)
    assert loop.simulator.stop_torque["oc"] == pytest.approx(tree.simulator.stop_torque["oa"], rel=1e-8)
    # Virtual power: of a crank that turns by one, two cranks' centres fall by half sin, the coupler's by sin.
    assert tree.simulator.stop_torque["oa"] == pytest.approx(-2 * G0 * np.sin(0.6), rel=1e-9)


def test_joints_of_a_loop_share_what_friction_holds() -> None:
    """One freedom, two frictions: it stays up to the sum of both, and moves beyond."""
    pull = "forces:\n  pull: {type: wrench, body: a, torque: [0, 1 N m/s*t, 0]}"
    text = FOUR_BAR.format(OA=", friction: 0.5 N m", OC=", friction: 0.7 N m", MORE=pull)
    text = text.replace("{coordinate: 0.1, rate: 0.5}", "0").replace(
        "simulate:", "world: {gravity: [0, 0, 0]}\nsimulate:"
    )
    run = Run(text).to(1.15)
    assert run.simulator.coordinate["oa"] == pytest.approx(0.0, abs=1e-9)
    held = run.simulator.friction_torque["oa"] + run.simulator.friction_torque["oc"]
    assert held == pytest.approx(-1.15, abs=1e-8)
    assert abs(run.simulator.friction_torque["oa"]) <= 0.5 + 1e-9
    assert abs(run.simulator.friction_torque["oc"]) <= 0.7 + 1e-9
    run.to(1.6)
    assert run.simulator.coordinate["oa"] > 1e-3
    assert run.simulator.friction_torque["oa"] == -0.5
    assert run.simulator.friction_torque["oc"] == -0.7


ARM = """
schema: 1
name: arm
bodies:
  upper: {mass: 1, com: [0.3, 0, 0], inertia: [0.01, 0.01, 0.01]}
  lower: {mass: 1, com: [0.9, 0, 0], inertia: [0.01, 0.01, 0.01]}
joints:
  shoulder: {type: rotational, parent: world, child: upper, position: [0, 0, 0], axis: [0, 1, 0], friction: 20 N m}
  elbow:
    {type: rotational, parent: upper, child: lower, position: [0.6, 0, 0], axis: [0, 1, 0],
     limits: {range: [0, 1], stop: rigid, restitution: 0.2}}
initial: {elbow: 1.0}
events:
  let go: {at: 0.2 s, cut: elbow}
  push: {at: 0.1 s, set: {elbow: {rate: -2 rad/s}}}
simulate: {duration: 1 s, rtol: 1e-10}
"""


def test_events_find_joints_at_their_stops_and_leave_them_there() -> None:
    run = Run(ARM).to(0.05)
    assert run.simulator.stop_torque["elbow"] == pytest.approx(-G0 * 0.3 * np.cos(1.0), rel=1e-9)
    assert run.simulator.friction_torque["shoulder"] < 0.0
    run.to(0.15)
    assert run.simulator.stop_torque["elbow"] == 0.0
    assert run.simulator.coordinate["elbow"] < 1.0
    run.to(0.19)
    assert run.simulator.coordinate["shoulder"] == pytest.approx(0.0, abs=1e-12)
    run.to(0.5)
    assert np.isnan(run.simulator.coordinate["elbow"])
    assert run.simulator.friction_torque["shoulder"] == pytest.approx(-G0 * 0.3, rel=1e-9)
    assert run.balance() < 1e-8


def test_recordings_keep_what_stops_and_friction_give(tmp_path: Path) -> None:
    with sim.run(load_text(ARM.replace("events:", "x:").split("x:")[0] + "simulate: {duration: 0.1 s}")) as recording:
        assert recording.stop_torque["elbow"][-1] == pytest.approx(-G0 * 0.3 * np.cos(1.0), rel=1e-9)
        total = recording.friction_torque["shoulder"] + recording.stop_torque["shoulder"]
        np.testing.assert_allclose(recording.torque["shoulder"], total, rtol=1e-12)
        with h5py.File(recording.path) as file:
            plotted = Signals(file).evaluate("stop_torque('elbow')")
        np.testing.assert_array_equal(plotted.values, recording.stop_torque["elbow"])
        assert plotted.unit == "N m"
        verdict = sim.verify(recording.path)
        assert not verdict.problems
        assert verdict.bars and verdict.instants and verdict.bit_equal


def test_a_soft_stop_is_told_apart_from_springs() -> None:
    soft = "stiffness: 3 N m/rad, limits: {range: [-1, 0.5], stiffness: 50 N m/rad, dissipation: 0}"
    run = Run(ARM.replace("friction: 20 N m", soft).split("events:")[0] + "simulate: {duration: 1 s}").to(0.4)
    angle = run.simulator.coordinate["shoulder"]
    assert angle > 0.5
    assert run.simulator.stop_torque["shoulder"] == pytest.approx(-50 * (angle - 0.5), rel=1e-12)
    assert run.simulator.torque["shoulder"] == pytest.approx(-50 * (angle - 0.5) - 3 * angle, rel=1e-12)


def test_starts_beyond_rigid_stops_are_refused() -> None:
    beyond = ARM.replace("elbow: 1.0", "elbow: 1.2")
    with pytest.raises(sim.SimulationError, match=r"elbow is 0\.2 rad beyond its upper stop, which is rigid: change"):
        Run(beyond).to(0.1)


# --- time steps -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dt", [2e-3, 1e-3])
def test_rigid_stops_give_back_their_restitution_in_time_steps(dt: float) -> None:
    """A table thrown up its rail, without any contact: speeds after the stops to a step, first order in it."""
    text = TABLE.format(E=0.6, BALL=0.0).split("contacts:")[0]
    text += f"initial: {{rail: {{coordinate: 0.1, rate: 4}}}}\nsimulate: {{contact: stepping, dt: {dt} s}}"
    simulator = sim.Simulator(sim.compile(load_text(text)))
    up = np.sqrt(16 - 2 * G0 * 0.4)
    struck = (4 - up) / G0
    simulator.advance(struck + 2.5 * dt)
    assert simulator.rate["rail"] == pytest.approx(-0.6 * up - G0 * 2.5 * dt, abs=2.0 * G0 * dt)
    down = np.sqrt((0.6 * up) ** 2 + G0)
    again = struck + (down - 0.6 * up) / G0
    simulator.advance(again + 10 * dt)
    assert simulator.rate["rail"] == pytest.approx(0.6 * down - G0 * 10 * dt, abs=4.0 * G0 * dt)
    simulator.advance(5.0)
    assert simulator.coordinate["rail"] == pytest.approx(0.0, abs=1e-6)


def test_time_steps_go_on_with_friction_and_stops_where_they_are_turned_to(monkeypatch: pytest.MonkeyPatch) -> None:
    text = ARM.split("events:")[0] + "simulate: {contact: auto, dt: 0.5 ms}"
    exact = Run(text).to(0.4).simulator
    monkeypatch.setattr("sim.simulation.contact_modes.CROWD", 1)
    monkeypatch.setattr("sim.simulation.contact_modes.SPAN", 10.0)
    turned = Run(text).to(0.4).simulator
    assert turned.flow.method == "stepping"
    for joint in ("shoulder", "elbow"):
        assert turned.coordinate[joint] == pytest.approx(exact.coordinate[joint], abs=2e-3)
        assert turned.friction_torque[joint] == pytest.approx(exact.friction_torque[joint], abs=0.1)
