"""Limbs that whirl in time steps: within a step their inertia changes, and the energy with it."""

from __future__ import annotations

import numpy as np
import pytest

import sim
from sim.scene.load import load_text
from sim.simulation.simulator import Simulator
from tests.energies.gains import gain_of

pytestmark = pytest.mark.contact

# A chain that floats without gravity, and a ball far away that makes it a scene with contacts.
CHAIN = """
schema: 1
name: whirls
world: {gravity: [0, 0, 0], shapes: [{plane: {center: [0, 0, -9]}}]}
bodies:
  far: {mass: 1, shapes: [{sphere: {center: [90, 0, 0], radius: 0.1}}]}
  a: {mass: 2, shapes: [{capsule: {from: [0, 0, 0], to: [0.3, 0, 0], radius: 0.03}}]}
  b: {mass: 0.5, shapes: [{capsule: {from: [0.3, 0, 0], to: [0.5, 0.1, 0], radius: 0.02}}]}
  c: {mass: 0.2, shapes: [{capsule: {from: [0.5, 0.1, 0], to: [0.5, 0.1, 0.15], radius: 0.02}}]}
joints:
  ab: {type: spherical, parent: a, child: b, position: [0.3, 0, 0]}
  bc: {type: universal, parent: b, child: c, position: [0.5, 0.1, 0], axis: [1, 0, 0], second_axis: [0, 1, 0]}
initial:
  a: {velocity: [0.5, -0.2, 0.1], angular_velocity: [3, 5, -4]}
  ab: {rate: [20, -35, 30]}
  bc: {rate: [RATE, -40]}
contacts: {floor: {between: [far, world]}}
simulate: {duration: 1 s, HOW}
"""


def chain(how: str, rate: float = 70.0) -> Simulator:
    return Simulator(sim.compile(load_text(CHAIN.replace("HOW", how).replace("RATE", str(rate)))))


def momentum(s: Simulator) -> np.ndarray:
    masses = {"a": 2.0, "b": 0.5, "c": 0.2}
    s.flow.observe()
    com = s.flow.work.bodies.com
    names = s.model.body_names
    total = np.zeros(3)
    for name, mass in masses.items():
        arm = com[names.index(name)] - s.position[name]
        total += mass * (s.velocity[name] + np.cross(s.angular_velocity[name], arm))
    return total


@pytest.mark.fast
@pytest.mark.parametrize("rate", [70.0, 150.0])
def test_a_chain_that_whirls_keeps_its_energy_and_its_momentum(rate: float) -> None:
    """Up to 0.15 rad in a step, of which energy is off by as large a share where rates are taken as they are."""
    s = chain("contact: stepping, dt: 1 ms", rate)
    s.flow.observe()
    first, pushed, worst, astray = s.energy["kinetic"], momentum(s), 0.0, 0.0
    for n in range(1, 120):
        s.advance(n * 1e-3)
        s.flow.observe()
        worst = max(worst, abs(s.energy["kinetic"] / first - 1.0))
        astray = max(astray, float(np.linalg.norm(momentum(s) - pushed)))
    assert worst < 2e-3
    assert astray < 2e-2


@pytest.mark.fast
def test_what_whirls_moves_as_without_steps() -> None:
    exact = chain("contact: event, rtol: 1e-10")
    exact.advance(0.03)
    off = []
    for dt in (2e-3, 1e-3):  # both of which it flies
        s = chain(f"contact: stepping, dt: {dt}")
        s.advance(0.03)
        off.append(max(float(np.abs(s.position[b] - exact.position[b]).max()) for b in "abc"))
    assert max(off) < 5e-5  # 1e-3 in steps of 0.5 ms where rates are taken as they are


@pytest.mark.fast
def test_a_limb_that_a_collision_throws_has_no_more_energy_than_there_is() -> None:
    """One of the random scenes: at 0.585 s a light limb is thrown to 150 rad/s, and half of all energy came with it."""
    gain = gain_of(403, "stepping")
    assert gain.said == "" and gain.share < 0.06


def test_more_of_these_scenes_gain_less_than_steps_do_by_turning() -> None:
    shares = [gain_of(number, "stepping").share for number in (1, 4, 7, 10, 13, 16)]
    assert max(shares) < 0.1
