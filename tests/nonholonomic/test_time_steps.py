"""Wheels and blades where contacts are resolved in time steps: bound as in event mode, whatever bodies strike."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sim
from sim.scene.load import load_text

pytestmark = [pytest.mark.nonholonomic, pytest.mark.contact]

# A sleigh on three balls glides into a wall; its blade lets it pivot there, and never slide sideways.
SLEIGH = """
schema: 1
name: struck
world:
  shapes:
    - {name: ice, plane: {}}
    - {name: wall, box: {center: [3, 0, 0.5], size: [0.2, 6, 1]}}
bodies:
  sleigh:
    mass: 1 kg
    com: [0.3, 0, 0.05]
    inertia: [0.1, 0.1, 0.2]
    shapes:
      - {box: {center: [0.3, 0, 0.07], size: [0.8, 0.4, 0.04]}}
      - {sphere: {center: [0.6, 0.15, 0.05], radius: 0.05}}
      - {sphere: {center: [0.6, -0.15, 0.05], radius: 0.05}}
      - {sphere: {center: [0, 0, 0.05], radius: 0.05}}
constraints:
  blade: {type: knife_edge, body: sleigh, position: [0, 0, 0], along: [1, 0, 0], ground: world.ice}
initial: {sleigh: {velocity: [2, 0.15, 0], angular_velocity: [0, 0, 0.5]}}
contacts:
  smooth: {between: [sleigh, world], friction: 0, restitution: 0}
simulate: {duration: 2 s, rtol: 1e-9}
"""
# A ball that rolls, another of the same mass on its way.
ROLLS = """
schema: 1
name: bowled
world: {shapes: [{name: floor, plane: {}}]}
bodies:
  wheel:
    mass: 1 kg
    com: [0, 0, 0.1]
    inertia: [0.004, 0.004, 0.004]
    shapes: [{sphere: {center: [0, 0, 0.1], radius: 0.1}}]
  ball:
    mass: 1 kg
    com: [1, 0, 0.1]
    inertia: [0.004, 0.004, 0.004]
    shapes: [{sphere: {center: [1, 0, 0.1], radius: 0.1}}]
constraints:
  rolls: {type: rolling, body: wheel, radius: 0.1, ground: world.floor}
initial: {wheel: {velocity: [2, 0, 0], angular_velocity: [0, 20, 0]}}
contacts:
  floor: {between: [ball, world], friction: 0, restitution: 0}
  pair: {between: [wheel, ball], friction: 0, restitution: 1}
simulate: {duration: 1 s, rtol: 1e-9}
"""


def _simulator(text: str, **settings: Any) -> sim.Simulator:
    scene = load_text(text)
    return sim.Simulator(sim.compile(replace(scene, simulate=replace(scene.simulate, **settings))))


def _pose(simulator: sim.Simulator) -> np.ndarray:
    return np.concatenate([simulator.position["sleigh"], simulator.rotation["sleigh"][:, 0]])


def test_a_glide_keeps_its_energy_and_is_of_second_order() -> None:
    """What a blade does to the velocity as it turns is done in two halves, one at either end of a step."""
    free = SLEIGH.replace("center: [3, 0, 0.5]", "center: [30, 0, 0.5]")
    events = _simulator(free, contact="event")
    events.advance(2.0)
    off = []
    for dt in (16e-3, 8e-3):
        steps = _simulator(free, contact="stepping", dt=dt)
        steps.advance(2.0)
        off.append(float(np.abs(_pose(steps) - _pose(events)).max()))
        v, w = steps.state.velocity["sleigh"], steps.state.angular_velocity["sleigh"]
        energy = 0.5 * (2.0**2 + 0.15**2 + 0.2 * 0.5**2)  # off by the square of one step's turn, in all steps
        assert 0.5 * (v @ v + 0.2 * w[2] ** 2) == pytest.approx(energy, rel=(0.5 * dt) ** 2)
    assert off[1] < 1e-4
    assert 0.2 < off[1] / off[0] < 0.3


def test_steps_tend_to_what_events_find() -> None:
    events = _simulator(SLEIGH, contact="event")
    events.advance(2.0)
    off = []
    for dt in (4e-3, 1e-3, 2.5e-4):
        steps = _simulator(SLEIGH, contact="stepping", dt=dt)
        steps.advance(2.0)
        off.append(float(np.abs(_pose(steps) - _pose(events)).max()))
    assert _pose(events)[0] < 2.6  # it met the wall, where it would have gone on to 4
    assert off[0] < 5e-3 and off[1] < 0.6 * off[0] and off[2] < 0.6 * off[1]


def test_the_blade_never_slides_sideways_and_energy_grows_by_the_square_of_a_steps_turn_at_most() -> None:
    dt, energy, slips = 2e-3, np.inf, []
    simulator = _simulator(SLEIGH, contact="stepping", dt=dt)
    while simulator.t < 2.0 - 0.5 * dt:
        simulator.advance(simulator.t + dt)
        R, v = simulator.rotation["sleigh"], simulator.state.velocity["sleigh"]
        w = simulator.state.angular_velocity["sleigh"]
        sideways = np.cross([0.0, 0.0, 1.0], R[:, 0])  # on the ice
        slips.append(abs(sideways @ (v + np.cross(w, R @ np.array([-0.3, 0.0, -0.05])))))
        turning = w @ (R @ np.diag([0.1, 0.1, 0.2]) @ R.T) @ w
        now = 0.5 * (v @ v + turning) + 9.81 * (simulator.position["sleigh"][2] - 0.05)
        assert now < energy * (1.0 + dt**2 * (w @ w)) + 1e-9
        energy = now
    assert max(slips) < 1e-10
    assert energy < 0.1  # J, of 2: the wall took what drove it


def test_a_rolling_ball_strikes_as_one_whose_mass_is_greater_by_its_turning() -> None:
    """Rolling binds turning to going on: it strikes as (1 + 2/5) m, on a loose ball of mass m, elastically."""
    simulator = _simulator(ROLLS, contact="stepping", dt=1e-3)
    simulator.advance(1.0)
    M, m, v = 1.4, 1.0, 2.0
    velocity = simulator.state.velocity
    assert velocity["wheel"] == pytest.approx([v * (M - m) / (M + m), 0, 0], abs=1e-6)
    assert velocity["ball"] == pytest.approx([v * 2 * M / (M + m), 0, 0], abs=1e-6)
    assert simulator.state.angular_velocity["wheel"] == pytest.approx([0, v * (M - m) / (M + m) / 0.1, 0], abs=1e-5)
