"""Stops and friction of joints in time steps: event mode and closed forms to first order, sticking exactly."""

from __future__ import annotations

import numpy as np
import pytest

import sim
from sim.scene.load import load_text
from sim.simulation.simulator import Simulator
from tests.contact.engine import G0
from tests.contact.test_joint_friction import BLOCK, FRICTION, MASS, STIFFNESS, WEIGHT, WHEEL
from tests.contact.test_stepping import LOOP, stepping

pytestmark = pytest.mark.contact

STEPS = (2e-3, 1e-3, 5e-4)  # s


def stepped(text: str, dt: float) -> Simulator:
    return stepping(load_text(text), dt)


def by_events(text: str) -> Simulator:
    return Simulator(sim.compile(load_text(text.replace("contact: stepping, dt: 1 ms", "rtol: 1e-10"))))


def coordinates(simulator: Simulator, times: tuple[float, ...]) -> np.ndarray:
    """Return the coordinates and rates of all joints at these times."""
    out = []
    for t in times:
        simulator.advance(t)
        simulator.flow.update()
        out.append(np.concatenate([simulator.flow.work.coordinate, simulator.flow.work.rate]))
    return np.array(out)


def assert_first_order(errors: list[float], most: float) -> None:
    """A quarter of the step leaves about a quarter of the error, or less; the last one is at most so large."""
    assert errors[-1] < most
    assert errors[-1] < 0.35 * errors[0]


# --- soft stops -------------------------------------------------------------------------------------

SLIDER = """
schema: 1
name: slider
world: {{gravity: [0, 0, 0], shapes: [{{name: ground, plane: {{}}}}]}}
bodies: {{block: {{mass: 2, shapes: [{{sphere: {{center: [0, 0, 1], radius: 0.1}}}}]}}}}
joints:
  rail:
    {{type: translational, parent: world, child: block, position: [0, 0, 1], axis: [0.6, 0.8, 0],
     limits: {{range: [-1, 0.1], stiffness: 2000, dissipation: {c}}}}}
initial: {{rail: {{rate: 1.0}}}}
contacts: {{ground: {{between: [block, world]}}}}
simulate: {{contact: stepping, dt: 1 ms}}
"""


def test_a_soft_stop_gives_back_what_it_took() -> None:
    """Without dissipation: half a period of a spring, then the speed it came with; never more."""
    w = np.sqrt(2000 / 2.0)
    inside, after = 0.1 + 0.5 * np.pi / w, 0.1 + np.pi / w + 0.05
    deepest, back = [], []
    for dt in STEPS:
        simulator = stepped(SLIDER.format(c=0), dt)
        simulator.advance(inside)
        assert simulator.energy["potential"] == pytest.approx(1.0 - simulator.energy["kinetic"], abs=50 * dt)
        assert simulator.stop_torque["rail"] == pytest.approx(-2000 * (simulator.coordinate["rail"] - 0.1), rel=0.1)
        deepest.append(abs(simulator.coordinate["rail"] - 0.1 - 1.0 / w))
        simulator.advance(after)
        assert -1.0 <= simulator.rate["rail"] < 0.0
        back.append(abs(simulator.rate["rail"] + 1.0))
        assert simulator.stop_torque["rail"] == 0.0
    assert_first_order(deepest, 1e-3)
    assert_first_order(back, 3e-2)


def test_a_soft_stop_dissipates_as_in_event_mode() -> None:
    """Hunt and Crossley's law: speeds after the stop, and energies that never rise."""
    times = (0.12, 0.15, 0.25, 0.5)
    exact = coordinates(by_events(SLIDER.format(c=0.8)), times)
    errors = []
    for dt in STEPS:
        errors.append(float(np.abs(coordinates(stepped(SLIDER.format(c=0.8), dt), times) - exact).max()))
        simulator, energies = stepped(SLIDER.format(c=0.8), dt), []
        while simulator.t < 0.25:
            simulator.advance(simulator.t + dt)
            energies.append(simulator.energy["kinetic"] + simulator.energy["potential"])
        assert np.max(np.diff(energies)) < 1e-12
        energy = simulator.energy
        assert energy["dissipated"] == pytest.approx(1.0 - energy["kinetic"] - energy["potential"], abs=1e-9)
    assert_first_order(errors, 2e-2)


def test_a_soft_stop_is_left_to_rest_at_its_depth() -> None:
    """Under a weight it ends where it carries it, and no longer moves: it sleeps a few nm before that."""
    text = SLIDER.format(c=0.8).replace("gravity: [0, 0, 0]", "gravity: [5.886, 7.848, 0]")  # 9.81 along the rail
    simulator = stepped(text, 4e-3)
    simulator.advance(5.0)
    assert simulator.coordinate["rail"] == pytest.approx(0.1 + 2 * G0 / 2000, abs=1e-8)
    assert simulator.rate["rail"] == pytest.approx(0.0, abs=1e-7)
    assert simulator.stop_torque["rail"] == pytest.approx(-2 * G0, abs=1e-4)


BALL = """
schema: 1
name: ball
world: {{shapes: [{{name: ground, plane: {{}}}}]}}
bodies: {{rod: {{mass: 1, shapes: [{{sphere: {{center: [0.3, 0, 0.7], radius: 0.15}}}}]}}}}
joints: {{socket: {{type: spherical, parent: world, child: rod, position: [0, 0, 1], limits: {limits}}}}}
initial: {{socket: {{rate: [0.5, 1, 2]}}}}
contacts: {{ground: {{between: [rod, world]}}}}
simulate: {{contact: stepping, dt: 1 ms}}
"""


def test_the_soft_stop_of_a_spherical_joint_is_met_as_in_event_mode() -> None:
    text, times = BALL.format(limits="[0 deg, 25 deg]"), (0.1, 0.15, 0.2, 0.25)
    reference = by_events(text)
    exact = coordinates(reference, times)
    assert np.linalg.norm(exact[:, :3], axis=1).max() > np.radians(25)  # it is reached
    errors = [float(np.abs(coordinates(stepped(text, dt), times) - exact).max()) for dt in STEPS]
    assert_first_order(errors, 0.15)


@pytest.mark.parametrize("limits", ["[0, 0.1]", "{range: [0, 0.1], stiffness: 100, dissipation: 2}"])
def test_the_soft_stop_of_a_joint_that_closes_a_loop_is_met_as_in_event_mode(limits: str) -> None:
    text = LOOP.replace("child: d, position: [0, 0, 1]}", f"child: d, position: [0, 0, 1], limits: {limits}}}")
    times = (0.12, 0.2, 0.3)
    reference = by_events(text)
    assert reference.model.joint_names[reference.flow.structure.loops[0]] == "da"
    exact = coordinates(reference, times)
    da = reference.model.columns_of(reference.model.joint_names.index("da"))
    assert np.linalg.norm(exact[:, da], axis=1).max() > 0.1
    errors = [float(np.abs(coordinates(stepped(text, dt), times)[:, da] - exact[:, da]).max()) for dt in STEPS]
    assert_first_order(errors, 1e-2)


# --- friction ---------------------------------------------------------------------------------------


def block(*, x: float, v: float = 0.0, more: str = "", stiffness: float = STIFFNESS) -> str:
    return BLOCK.format(MASS=MASS, STIFFNESS=stiffness, FRICTION=FRICTION, X=x, V=v, MORE=more)


def test_half_swings_of_a_rubbing_block_get_shorter_until_it_sticks() -> None:
    a, half = 2 * FRICTION / STIFFNESS, np.pi * np.sqrt(MASS / STIFFNESS)
    places, turns = [1.0], range(1, 5)
    for _ in turns:
        places.append(-(places[-1] - np.sign(places[-1]) * a))
    errors = []
    for dt in STEPS:
        simulator, found = stepped(block(x=1.0), dt), []
        for n in turns:
            simulator.advance(n * half)
            found.append(simulator.coordinate["rail"])
        errors.append(float(np.abs(np.array(found) - places[1:]).max()))
        simulator.advance(9.0)
        rests = simulator.coordinate["rail"]
        assert abs(rests) <= FRICTION / STIFFNESS
        assert simulator.friction_torque["rail"] == pytest.approx(STIFFNESS * rests, abs=1e-9)
        simulator.advance(12.0)
        assert simulator.coordinate["rail"] == pytest.approx(rests, abs=1e-13)  # it does not creep
        energy = simulator.energy
        assert energy["potential"] == pytest.approx(0.5 * STIFFNESS * rests**2, abs=1e-9)
    assert_first_order(errors, 5e-3)


def test_a_growing_force_moves_a_block_when_it_is_as_large_as_friction() -> None:
    pull = "forces:\n  pull: {type: wrench, body: block, force: [1.2 N/s*t, 0, 1.6 N/s*t]}"
    begins, errors = FRICTION / 2.0, []
    for dt in STEPS:
        simulator = stepped(block(x=0.0, more=pull, stiffness=0.0), dt)
        simulator.advance(begins - 2 * dt)
        assert simulator.coordinate["rail"] == pytest.approx(0.0, abs=1e-15)
        assert simulator.friction_torque["rail"] == pytest.approx(-2.0 * begins, abs=10 * dt)
        simulator.advance(begins + 1.0)
        assert simulator.friction_torque["rail"] == pytest.approx(-FRICTION, rel=1e-12)
        errors.append(abs(simulator.coordinate["rail"] - 2.0 / (6 * MASS)))
    assert_first_order(errors, 1e-3)


def test_a_block_that_slides_stops_and_stays() -> None:
    ends, errors = 1.5 * MASS / FRICTION, []
    for dt in STEPS:
        simulator = stepped(block(x=0.0, v=1.5, stiffness=0.0), dt)
        simulator.advance(ends + 2 * dt)
        assert simulator.rate["rail"] == pytest.approx(0.0, abs=1e-15)
        errors.append(abs(simulator.coordinate["rail"] - 1.5 * ends / 2))
    assert_first_order(errors, 1e-3)


def test_a_hinge_holds_as_much_as_its_friction_and_no_more() -> None:
    most = 8.0
    steepest = np.arcsin(most / WEIGHT)
    held = stepped(WHEEL.format(FRICTION=most, START=steepest - 1e-6, MORE=""), 2e-3)
    held.advance(2.0)
    assert held.coordinate["hinge"] == pytest.approx(steepest - 1e-6, abs=1e-13)
    moves = stepped(WHEEL.format(FRICTION=most, START=steepest + 1e-5, MORE=""), 2e-3)
    moves.advance(0.5)
    assert moves.coordinate["hinge"] < steepest


def test_a_hinge_that_rests_against_its_stop_is_pulled_off_against_friction_too() -> None:
    """The stop bears what the weight is more than friction, as in event mode; to lift the bar takes both."""
    pull = "forces:\n  pull: {type: wrench, body: bar, torque: [0, -4 N m/s*t, 0]}"
    simulator = stepped(WHEEL.format(FRICTION=3.0, START=0.4, MORE=pull), 1e-3)
    begins = (WEIGHT * np.sin(0.4) + 3.0) / 4.0
    simulator.advance(begins - 2e-3)
    assert simulator.coordinate["hinge"] == pytest.approx(0.4, abs=1e-12)
    simulator.advance(begins + 0.1)
    assert simulator.coordinate["hinge"] > 0.4 + 1e-5


def test_friction_holds_a_joint_that_closes_a_loop() -> None:
    """A four-bar that hangs askew stays so where the friction of its last joint can hold it; else it swings."""
    bars = """
schema: 1
name: bars
bodies:
  a: {{mass: 1, com: [0, 0, 0.75]}}
  b: {{mass: 1, com: [0.25, 0, 0.5]}}
  c: {{mass: 1, com: [0.5, 0, 0.75]}}
joints:
  base: {{type: rotational, parent: world, child: a, position: [0, 0, 1], axis: [0, 1, 0]}}
  ab: {{type: rotational, parent: a, child: b, position: [0, 0, 0.5], axis: [0, 1, 0]}}
  bc: {{type: rotational, parent: b, child: c, position: [0.5, 0, 0.5], axis: [0, 1, 0]}}
  last: {{type: rotational, parent: world, child: c, position: [0.5, 0, 1], axis: [0, 1, 0], friction: {most} N m}}
initial: {{base: 0.4}}
simulate: {{contact: stepping, dt: 1 ms}}
"""
    torque = 2.0 * G0 * 0.5 * np.sin(0.4)  # m g l sin for a and c at half of it, and for b
    held = stepped(bars.format(most=torque * 1.001), 2e-3)
    assert held.model.joint_names[held.flow.structure.loops[0]] == "last"
    held.advance(1.0)
    assert held.coordinate["base"] == pytest.approx(0.4, abs=1e-9)
    assert abs(held.friction_torque["last"]) == pytest.approx(torque, rel=1e-6)
    text, times = bars.format(most=0.5), (0.2, 0.5, 0.8)
    exact = coordinates(by_events(text), times)
    errors = [float(np.abs(coordinates(stepped(text, dt), times) - exact).max()) for dt in STEPS]
    assert_first_order(errors, 2e-2)


# --- what a step reaches by its own impulses ----------------------------------------------------------

JERKED = """
schema: 1
name: jerked
world: {gravity: [0, 0, 0]}
bodies:
  floor: {mass: 1e4, shapes: [{box: {center: [0, 0, -0.5], size: [3, 3, 1]}}]}
  box: {mass: 1, shapes: [{sphere: {center: [0, 0, 1], radius: 0.1}}]}
  load: {mass: 1, com: [0, 0, 1.5]}
joints:
  down: {type: translational, parent: world, child: box, position: [0, 0, 1], axis: [0, 0, 1]}
  play:
    {type: translational, parent: box, child: load, position: [0, 0, 1.5], axis: [0, 0, 1],
     limits: {range: [-0.005, 0.005], stop: rigid}}
initial: {down: {rate: -5}}
contacts: {floor: {between: [box, floor]}}
simulate: {contact: stepping, dt: 4 ms}
"""


@pytest.mark.fast
def test_a_stop_is_not_overrun_by_a_speed_that_jumps_within_the_step() -> None:
    """The box hits the floor, and its load would be 15 mm too far by the end of the same step."""
    simulator = Simulator(sim.compile(load_text(JERKED)))
    while simulator.t < 0.3:
        simulator.advance(simulator.t + 4e-3)
        assert abs(simulator.coordinate["play"]) < 5e-3 + 2e-7
    assert simulator.position["box"][2] == pytest.approx(0.1, abs=2e-3)  # it is there
    assert simulator.coordinate["play"] == pytest.approx(-5e-3, abs=1e-4)


LEVER = """
schema: 1
name: lever
world: {gravity: [0, 0, 0]}
bodies:
  floor: {mass: 1e4, shapes: [{box: {center: [0, 0, -0.5], size: [3, 3, 1]}}]}
  lever: {mass: 0.2, shapes: [{box: {center: [0, 0, 0.1], size: [1, 0.1, 0.194]}}]}
  ball: {mass: 1, shapes: [{sphere: {center: [0.45, 0, 0.4], radius: 0.1}}]}
joints: {pivot: {type: rotational, parent: world, child: lever, position: [0, 0, 0.1], axis: [0, 1, 0]}}
initial: {ball: {velocity: [0, 0, -4]}}
contacts: {all: {between: [lever, ball], friction: 0}, floor: {between: [lever, floor], friction: 0}}
simulate: {contact: stepping, dt: 4 ms}
"""


@pytest.mark.fast
def test_a_body_that_is_struck_does_not_overrun_what_is_near() -> None:
    """The lever's end is 3 mm above the floor when the ball hits it, and would be 13 mm below by the step's end."""
    simulator = Simulator(sim.compile(load_text(LEVER)))
    while simulator.t < 0.1:
        simulator.advance(simulator.t + 4e-3)
    assert simulator.coordinate["pivot"] == pytest.approx(3e-3 / 0.5, rel=0.3)  # it is down
    assert float(simulator.flow.work.stepped.overlap[0]) < 2e-5
