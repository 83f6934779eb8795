"""Torsion springs about joints of the tree and of loops, against closed forms, joints' own springs and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import sim
from sim.scene.load import load_text
from tests.dynamics.engine import simulator_of

pytestmark = pytest.mark.fast

WHEEL = """
schema: 1
name: wheel
bodies: {{wheel: {{mass: 2, com: [0, 0, 0], inertia: [0.2, 0.25, 0.3]}}}}
joints:
  front: {{type: rotational, parent: world, child: wheel, position: [0, 0, 0.1], axis: [0, 0, 1], stiffness: {own}}}
  back: {{type: rotational, parent: world, child: wheel, position: [0, 0, -0.1], axis: [0, 0, 1], connected: {loop}}}
initial: {{front: {{coordinate: 0.9 rad, rate: 2 rad/s}}}}
forces:
  one: {{type: torsion_spring, joint: front, stiffness: 5 N m/rad, rest: 40 deg, damping: {damping}}}
  two: {{type: torsion_spring, joint: {second}, stiffness: 3 N m/rad, rest: -1 rad}}
simulate: {{duration: 3 s, rtol: 1e-11}}
"""


@pytest.mark.parametrize("second", ["front", "back"])
@pytest.mark.parametrize("damping", [0.0, 0.4])
def test_springs_of_one_wheel_add_up(second, damping):
    """I x'' = -k0 x - k1 (x - r1) - k2 (x - r2) - c x', about the tree's joint and about one that closes a loop."""
    loop = second == "back"
    s = simulator_of(WHEEL.format(own="2 N m/rad", loop=str(loop).lower(), second=second, damping=damping))
    assert len(s.flow.structure.loops) == loop
    k, c, inertia = 10.0, damping, 0.3
    middle = (5.0 * np.deg2rad(40) - 3.0) / k
    decay, omega = c / (2 * inertia), np.sqrt(k / inertia - (c / (2 * inertia)) ** 2)
    a, b = 0.9 - middle, (2.0 + decay * (0.9 - middle)) / omega
    for t in (0.4, 1.1, 3.0):
        s.advance(t)
        x = middle + np.exp(-decay * t) * (a * np.cos(omega * t) + b * np.sin(omega * t))
        assert s.coordinate["front"] == pytest.approx(x, abs=1e-9)
        potential = 0.5 * (2 * x**2 + 5 * (x - np.deg2rad(40)) ** 2 + 3 * (x + 1) ** 2)
        assert s.energy["potential"] == pytest.approx(potential, abs=1e-8)
    assert abs(s.energy["balance"]) < 1e-9 * s.energy["potential"]
    assert (s.energy["dissipated"] > 0.5) == (damping > 0)


def test_the_period_of_a_torsion_pendulum():
    """2 pi sqrt(I / k), between an event at each pass of zero."""
    text = WHEEL.format(own=0, loop="false", second="front", damping=0)
    text = text.replace("stiffness: 3 N m/rad", "damping: 0").replace("rest: 40 deg, ", "")
    text += """events: {passes: {when: "coordinate('front') > 0", once: false, caption: passes}}"""
    with sim.run(load_text(text)) as recording:
        times = np.array([event.time for event in recording.events])
    assert len(times) == 3  # true at the start, then once a period
    np.testing.assert_allclose(np.diff(times)[-1], 2 * np.pi * np.sqrt(0.3 / 5), rtol=0, atol=1e-9)


CHAIN = """
schema: 1
name: chain
bodies:
  a: {{mass: 1, com: [0.1, 0, -0.3], inertia: [0.03, 0.02, 0.01]}}
  b: {{mass: 2, com: [0.2, 0.1, -0.9], inertia: [0.02, 0.03, 0.015]}}
joints:
  top: {{type: rotational, parent: world, child: a, position: [0, 0, 0], axis: [0, 1, 0]}}
  {joint}
initial: {{top: {{rate: 1 rad/s}}, tie: {{rate: {rate}}}}}
{forces}
simulate: {{duration: 1.5 s, rtol: 1e-11}}
"""
KINDS = {
    "universal": ("axis: [1, 0, 0], second_axis: [0, 1, 0]", "[0, {k}]", "freedom: 1", "[0.5, -1]"),
    "cylindrical": ("axis: [0, 0, 1]", "[0, {k}]", "", "[0.2, 2]"),
    "planar": ("axis: [0, 1, 0]", "[0, 0, {k}]", "freedom: 2", "[0.1, 0.2, -1]"),
    "spherical": ("", "{k}", "", "[0.5, 1, -2]"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loop", [False, True])
def test_it_does_what_the_spring_of_the_joint_does(kind, loop):
    """The joint's own stiffness and damping are another piece of code; also where the joint closes a loop."""
    axes, own, freedom, rate = KINDS[kind]
    place = f"type: {kind}, parent: a, child: b, position: [0, 0, -0.6]{', ' * bool(axes)}{axes}"
    # b hangs on the world by a free joint that is written first, so that the tie closes a loop
    loose = "loose: {type: free, parent: world, child: b, position: [0, 0, -0.6]}\n  " * loop
    gains = f", stiffness: {own.format(k=7)}, damping: {own.format(k=0.3)}"
    there = CHAIN.format(joint=f"{loose}tie: {{{place}{gains}}}", rate=rate, forces="")
    force = f"{{type: torsion_spring, joint: tie, stiffness: 7, damping: 0.3{', ' * bool(freedom)}{freedom}}}"
    here = CHAIN.format(joint=f"{loose}tie: {{{place}}}", rate=rate, forces=f"forces: {{twist: {force}}}")
    first, second = simulator_of(here), simulator_of(there)
    assert len(first.flow.structure.loops) == loop
    for t in (0.0, 0.3, 0.6):
        first.advance(t)
        second.advance(t)
        for body in ("a", "b"):
            np.testing.assert_allclose(first.position[body], second.position[body], rtol=0, atol=1e-9)
            np.testing.assert_allclose(first.acceleration[body], second.acceleration[body], rtol=0, atol=1e-6)
        assert first.energy["potential"] == pytest.approx(second.energy["potential"], abs=1e-8)
    assert abs(first.energy["balance"]) < 1e-9 * first.energy["kinetic"]
    assert first.energy["dissipated"] == pytest.approx(second.energy["dissipated"], abs=1e-8)
    assert first.energy["dissipated"] > 1e-3


def test_a_ball_turns_back_along_its_rotation_vector():
    """J w' + w x J w = -k log(q) in the body's axes, integrated by scipy on the quaternion."""
    inertia = np.array([0.3, 0.2, 0.1])
    text = """
schema: 1
name: ball
bodies: {ball: {mass: 1, com: [0, 0, 0], inertia: [0.3, 0.2, 0.1]}}
joints: {knob: {type: spherical, parent: world, child: ball, position: [0, 0, 0]}}
initial: {knob: {coordinate: {axis_angle: {axis: [1, 2, 3], angle: 1.2 rad}}, rate: [1, -1, 0.5]}}
forces: {twist: {type: torsion_spring, joint: knob, stiffness: 2 N m/rad, damping: 0.05 N m s/rad}}
simulate: {duration: 2 s, rtol: 1e-11}
"""
    axis = np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0)

    def slope(t, y):
        q, w = y[:4], y[4:]
        u = q[1:] * np.sign(q[0])
        size = np.linalg.norm(u)
        turn = 2 * np.arctan2(size, abs(q[0])) * u / size
        qdot = 0.5 * np.array([-q[1:] @ w, *(q[0] * w + np.cross(q[1:], w))])
        return [*qdot, *((-2 * turn - 0.05 * w - np.cross(w, inertia * w)) / inertia)]

    s = simulator_of(text)
    start = [np.cos(0.6), *(np.sin(0.6) * axis), 1, -1, 0.5]
    end = solve_ivp(slope, (0, 2), start, "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    s.advance(2.0)
    w, x, y, z = end[:4] / np.linalg.norm(end[:4])
    expected = np.array([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)])
    np.testing.assert_allclose(s.rotation["ball"][:, 0], expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(s.rate["knob"], end[4:], rtol=0, atol=1e-9)
    assert abs(s.energy["balance"]) < 1e-10


def test_it_lets_go_with_its_joint():
    """Cut, it acts no more; what it held is lost with the joint, and the ledger closes."""
    text = CHAIN.format(
        joint="tie: {type: rotational, parent: a, child: b, position: [0, 0, -0.6], axis: [0, 1, 0]}", rate="2 rad/s",
        forces="forces: {twist: {type: torsion_spring, joint: tie, stiffness: 20, rest: 1 rad, damping: 0.1}}\n"
        "events: {parts: {at: 0.5 s, cut: tie}}",
    )  # fmt: skip
    with sim.run(load_text(text)) as recording:
        parts = recording.events[0]
        held = 0.5 * 20 * (recording.coordinate["tie"][parts.row_before] - 1) ** 2
        energy = recording.energy
        assert held > 0.01
        assert parts.energy_lost == pytest.approx(held, rel=1e-9)
        assert np.max(np.abs(energy.balance)) < 1e-9 * np.max(energy.kinetic)
        spin = recording.angular_velocity["b"]
        assert np.allclose(spin[parts.row_after :], spin[parts.row_after], rtol=0, atol=1e-9)
        assert np.isnan(recording.tension["twist"][parts.row_after :]).all()
        before = slice(0, parts.row_before + 1)
        expected = 20 * (recording.coordinate["tie"] - 1) + 0.1 * recording.rate["tie"]
        np.testing.assert_allclose(recording.tension["twist"][before], expected[before], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(recording.length["twist"][before], recording.coordinate["tie"][before])


def test_a_joint_that_an_event_makes_brings_its_spring():
    """Loaded where the joint binds: its energy is put in at the event, and the ledger closes."""
    text = CHAIN.format(
        joint="aside: {type: free, parent: world, child: b, position: [0, 0, -0.6]}", rate="2 rad/s",
        forces="forces: {twist: {type: torsion_spring, joint: pin, stiffness: 20, rest: 0.4 rad}}\n"
        "events: {meet: {at: 0.3 s, connect: {pin: {type: rotational, parent: a, child: b, "
        "position: [0, 0, -0.6], axis: [0, 1, 0]}}}}",
    ).replace(", tie: {rate: 2 rad/s}", "")  # fmt: skip
    with sim.run(load_text(text)) as recording:
        meet, energy = recording.events[0], recording.energy
        before, after = meet.row_before, meet.row_after
        assert np.isnan(recording.tension["twist"][: before + 1]).all()
        assert recording.tension["twist"][after] == pytest.approx(-8.0, abs=1e-12)
        assert energy.input[after] - energy.input[before] == pytest.approx(0.5 * 20 * 0.16, abs=1e-9)
        assert energy.potential[after] - energy.potential[before] == pytest.approx(1.6, abs=1e-9)
        assert np.ptp(recording.coordinate["pin"][after:]) > 0.1
        assert np.max(np.abs(energy.balance)) < 1e-9 * np.max(energy.kinetic)
