"""Wrenches, constant and by formulas, against closed forms, conservation laws and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import fresnel

import sim
from tests.dynamics.engine import simulator_of
from tests.dynamics.test_forces import momenta

pytestmark = pytest.mark.fast

ROCKET = """
schema: 1
name: rocket
world: {{gravity: [0, 0, 0]}}
bodies:
  rocket: {{mass: 2, com: [0, 0, 0], inertia: [0.3, 0.2, 0.1], points: {{nozzle: [0.1, 0.2, -0.5]}}}}
initial: {{rocket: {{angular_velocity: {spin}}}}}
forces: {{push: {{type: wrench, body: rocket, {wrench}}}}}
simulate: {{duration: 2 s, rtol: 1e-11}}
"""


def test_a_constant_force_and_torque_in_world_axes():
    """x = F t^2 / 2m of the centre of mass; the torque is about the axis of least inertia, which stays."""
    text = ROCKET.format(spin=[0, 0, 0], wrench="force: [1, -2, 3 N], torque: [0, 0, 0.05 N m]")
    s = simulator_of(text)
    s.advance(2.0)
    assert s.position["rocket"] == pytest.approx([1, -2, 3], abs=1e-10)
    assert s.angular_velocity["rocket"] == pytest.approx([0, 0, 1], abs=1e-10)
    assert s.energy["input"] == pytest.approx(14 + 0.05, rel=1e-10)  # F x + T angle
    assert abs(s.energy["balance"]) < 1e-10


def test_a_force_that_turns_with_the_body():
    """Turning by T t^2 / 2I, pushed along its own x: velocities are Fresnel's integrals."""
    s = simulator_of(ROCKET.format(spin=[0, 0, 0], wrench="force: [4, 0, 0], torque: [0, 0, 0.5], frame: body"))
    for t in (0.7, 2.0):
        s.advance(t)
        scale = np.sqrt(np.pi / 5.0)  # angle = 5/2 t^2 = pi/2 (t/scale)^2
        sine, cosine = fresnel(t / scale)
        assert s.velocity["rocket"] == pytest.approx([2 * scale * cosine, 2 * scale * sine, 0], abs=1e-9)
    assert abs(s.energy["balance"]) < 1e-9 * s.energy["kinetic"]
    assert s.energy["input"] == pytest.approx(s.energy["kinetic"], rel=1e-9)


@pytest.mark.parametrize("axis", [[0, 1, 0], [0, -1, 0], [1, 0, 0]])
def test_axes_of_the_body_are_those_of_its_file_whatever_holds_it(axis):
    """On a hinge: I x'' = axis . (arm x F), constant; the hinge's own frame has its z along the axis."""
    text = ROCKET.format(spin=[0, 0, 0], wrench="point: nozzle, force: [3, 5, -2], frame: body")
    joints = f"joints: {{pin: {{type: rotational, parent: world, child: rocket, position: [0, 0, 0], axis: {axis}}}}}"
    s = simulator_of(text.replace("initial: {rocket: {angular_velocity: [0, 0, 0]}}", joints))
    s.advance(2.0)
    turning = np.array(axis) @ np.cross([0.1, 0.2, -0.5], [3, 5, -2]) / (np.array([0.3, 0.2, 0.1]) @ np.abs(axis))
    assert s.coordinate["pin"] == pytest.approx(2 * turning, abs=1e-9)


@pytest.mark.parametrize("frame", ["body", "world"])
def test_a_wrench_at_a_point_of_a_tumbling_body(frame):
    """Newton and Euler with the wrench in the axes that it is given in, by scipy."""
    inertia, arm = np.array([0.3, 0.2, 0.1]), np.array([0.1, 0.2, -0.5])
    force, torque = np.array([1.0, -0.5, 2.0]), np.array([0.02, 0.03, -0.05])
    wrench = f"point: nozzle, force: {force.tolist()}, torque: {torque.tolist()}, frame: {frame}"
    s = simulator_of(ROCKET.format(spin=[1, 2, 3], wrench=wrench))

    def slope(t, y):
        R, w = y[:9].reshape(3, 3), y[9:12]
        f, m = (force, torque) if frame == "body" else (R.T @ force, R.T @ torque)
        cross = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
        turning = (m + np.cross(arm, f) - np.cross(w, inertia * w)) / inertia
        return [*(R @ cross).ravel(), *turning, *y[15:18], *(R @ f / 2)]

    end = solve_ivp(
        slope, (0, 2), [*np.eye(3).ravel(), 1, 2, 3, *np.zeros(6)], "DOP853", rtol=1e-12, atol=1e-13
    ).y[:, -1]  # fmt: skip
    s.advance(2.0)
    assert s.rotation["rocket"].ravel() == pytest.approx(end[:9], abs=1e-8)
    assert s.position["rocket"] == pytest.approx(end[12:15], abs=1e-8)
    assert abs(s.energy["balance"]) < 1e-9 * s.energy["kinetic"]


def test_a_formula_of_time_and_state():
    """m x'' = F sin(w t) - k x - c x', by scipy; what the formula puts in is all the energy there is."""
    force = "[\"3 N*sin(5*t/1 s) - 40 N/m*position('rocket')[0] - 0.5 N s/m*velocity('rocket')[0]\", 0, 0]"
    s = simulator_of(ROCKET.format(spin=[0, 0, 0], wrench=f"force: {force}"))

    def slope(t, y):
        return [y[1], (3 * np.sin(5 * t) - 40 * y[0] - 0.5 * y[1]) / 2]

    end = solve_ivp(slope, (0, 2), [0, 0], "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    s.advance(2.0)
    assert s.position["rocket"] == pytest.approx([end[0], 0, 0], abs=1e-9)
    assert s.velocity["rocket"] == pytest.approx([end[1], 0, 0], abs=1e-9)
    assert s.energy["input"] == pytest.approx(end[1] ** 2, abs=1e-9)
    assert abs(s.energy["balance"]) < 1e-10


def test_one_formula_of_a_list():
    """A force -c v by formula does what a drag does, but its work is input."""
    drag = 'force: "-0.7 N s/m*velocity(\'rocket\')", torque: "-0.1*[1, 2, 3]"'
    text = ROCKET.format(spin=[0, 0, 0], wrench=drag)
    s = simulator_of(text.replace("{rocket: {angular", "{rocket: {velocity: [1, 2, 3], angular"))
    s.advance(2.0)
    assert s.velocity["rocket"] == pytest.approx(np.array([1, 2, 3]) * np.exp(-0.7), abs=1e-10)
    assert s.energy["dissipated"] == 0.0
    assert abs(s.energy["balance"]) < 1e-9


PAIR = """
schema: 1
name: pair
world: {{gravity: [0, 0, 0]}}
bodies:
  one: {{mass: 2, com: [0, 0, 0], inertia: [0.3, 0.2, 0.1], points: {{eye: [0.1, 0.2, 0.3]}}}}
  two: {{mass: 1, com: [1, 0, 0], inertia: [0.02, 0.03, 0.04], points: {{eye: [1.2, 0.1, -0.1]}}}}
initial: {{one: {{velocity: [0.1, 0.2, 0], angular_velocity: [1, 2, 3]}}, two: {{angular_velocity: [-1, 0, 2]}}}}
forces:
  {forces}
simulate: {{duration: 2 s, rtol: 1e-11}}
"""


def test_with_a_reaction_momenta_are_kept():
    """Force and torque at a point of one, their opposites on two at the same place, whatever they are."""
    forces = """push: {type: wrench, body: one, point: eye, reaction: two, frame: body,
      force: [1 N, "2 N*cos(3*t/1 s)", "-4 N/m*(distance('one', 'two') - 1 m)"], torque: [0, 0.1, "0.2 N m*t/1 s"]}"""
    s = simulator_of(PAIR.format(forces=forces))
    before, place = momenta(s), s.position["one"]
    s.advance(0.7)
    assert np.linalg.norm(s.position["one"] - place - [0.07, 0.14, 0]) > 0.02
    np.testing.assert_allclose(momenta(s), before, rtol=0, atol=1e-9)
    assert abs(s.energy["balance"]) < 1e-9 * s.energy["kinetic"]
    assert abs(s.energy["input"]) > 0.02


@pytest.mark.parametrize("given", ["tension", "length"])
def test_formulas_read_springs(given):
    """A wrench with its reaction that pulls as much as the spring does: a spring twice as strong."""
    spring = "strut: {{type: spring, from: one.eye, to: two.eye, stiffness: {k}, damping: {c}, length: 0.7}}"
    line = "(position('two.eye') - position('one.eye'))/length('strut')"
    rate = f"dot(velocity('two.eye') - velocity('one.eye'), {line})"
    tension = {"tension": "tension('strut')", "length": f"(50 N/m*(length('strut') - 0.7 m) + 3 N s/m*{rate})"}[given]
    wrench = f'push: {{type: wrench, body: one, point: eye, reaction: two, force: "{tension}*{line}"}}'
    first = simulator_of(PAIR.format(forces=spring.format(k=50, c=3) + "\n  " + wrench))
    second = simulator_of(PAIR.format(forces=spring.format(k=100, c=6)))
    for s in (first, second):
        s.advance(0.7)
    for body in ("one", "two"):
        np.testing.assert_allclose(first.position[body], second.position[body], rtol=0, atol=1e-9)
    assert first.energy["dissipated"] == pytest.approx(second.energy["dissipated"] / 2, rel=1e-8)


def test_an_event_waits_for_the_tension_of_a_spring():
    text = PAIR.format(forces="strut: {type: spring, from: one.com, to: two.com, stiffness: 50, length: 0.5}")
    text = text[: text.index("initial")] + text[text.index("forces") :]
    s = simulator_of(text + "events: {slack: {when: \"tension('strut') < 0\", stop: true}}")
    s.advance(2.0)
    assert s.t == pytest.approx(np.pi / 2 * np.sqrt(2 / 3 / 50), abs=1e-9)
    assert np.linalg.norm(s.position["two.com"] - s.position["one.com"]) == pytest.approx(0.5, abs=1e-9)


def test_a_formula_without_a_value_ends_in_a_sentence():
    s = simulator_of(ROCKET.format(spin=[0, 0, 0], wrench='force: ["1 N*sqrt(1 - t/1 s)", 0, 0]'))
    with pytest.raises(sim.SimulationError, match=r"t = "):
        s.advance(2.0)
    assert s.t == pytest.approx(1.0, abs=1e-3)
