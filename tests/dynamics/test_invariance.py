"""Turned by any rotation and moved by a kilometre, a scene moves the same."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import sim
from sim.kernels.project import add_freedoms
from sim.scene.load import load_text
from sim.scene.spec import Scene
from tests.dynamics.engine import relative_error
from tests.dynamics.moved_scene import moved_scene
from tests.dynamics.recomputed import rotations
from tests.dynamics.shipped import scene_of
from tests.support.mechanisms import random_mechanism, with_consistent_rates
from tests.support.rotations import matrix_from_vector, random_matrix
from tests.support.scene_texts import scene_text

TURN = matrix_from_vector(np.array([0.7, -1.1, 0.4]))
SHIFT = 1000.0 * np.array([0.48, -0.6, 0.64])  # m


def accelerations(simulator: sim.Simulator) -> np.ndarray:
    """Return (bodies, 2, 3) of origins and angular, world axes."""
    state = simulator.state
    names = simulator.model.body_names[1:]
    return np.array([[state.acceleration[name], state.angular_acceleration[name]] for name in names])


@pytest.mark.fast
@pytest.mark.parametrize("loops", range(4))
def test_accelerations_of_random_mechanisms(loops):
    for seed in range(2):
        rng = np.random.default_rng([seed, loops])
        mechanism = with_consistent_rates(rng, random_mechanism(rng, 3 + loops, loops, driven=bool(seed)))
        scene, R = load_text(scene_text(mechanism)), random_matrix(rng)
        here, there = (sim.Simulator(sim.compile(s)) for s in (scene, moved_scene(scene, R, SHIFT)))
        expected = accelerations(here) @ R.T
        assert np.max(np.abs(expected)) > 0.1
        assert relative_error(accelerations(there), expected) < 1e-11
        for name in mechanism.names:
            assert there.position[name] == pytest.approx(R @ here.position[name] + SHIFT, abs=1e-11)
            assert there.velocity[name] == pytest.approx(R @ here.velocity[name], abs=1e-11)


@functools.cache
def trajectory(name: str, duration: float, moved: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return time (n,) and places (n, bodies, 3, 4) of a shipped scene, in the axes of the scene."""
    scene = scene_of(name)
    return places(moved_scene(scene, TURN, SHIFT), duration, TURN, SHIFT) if moved else places(scene, duration)


def places(
    scene: Scene, duration: float, R: np.ndarray | None = None, shift: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return time (n,) and where four points of every body are, m: its origin, and three on its axes of inertia.

    The three are as far from the centre of mass as the body is wide there (root mean square), so that a
    turn counts by what it moves.  With R and shift the places are brought back to before the move.
    """
    with sim.run(scene, duration=duration) as recording:
        p, turned = recording.array("position"), rotations(recording.array("quat_wxyz"))
        if R is not None:
            p, turned = (p - shift) @ R, R.T @ turned
        out = np.zeros((*p.shape, 4))
        for i, body in enumerate(recording.bodies):
            xx, yy, zz, xy, xz, yz = body.inertia
            inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) / body.mass
            squares, axes = np.linalg.eigh(np.trace(inertia) / 2 * np.eye(3) - inertia)
            points = np.array(body.com)[:, None] + axes * np.sqrt(np.maximum(squares, 0.0))
            out[:, i] = p[:, i, :, None] + np.concatenate([np.zeros((recording.rows, 3, 1)), turned[:, i] @ points], 2)
        return recording.time.copy(), out


def apart(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return (n,) the largest distance of a point from itself, m, row by row."""
    assert one[0] == pytest.approx(other[0], abs=1e-9)
    return np.linalg.norm(one[1] - other[1], axis=2).max(axis=(1, 2))


@pytest.mark.parametrize(
    ("name", "duration"), [("pendulum", 10.0), ("four_bar", 10.0), ("monkey_swing", 2.0), ("swing", 2.0)]
)
def test_trajectories(name, duration):
    here, there = trajectory(name, duration, False), trajectory(name, duration, True)
    assert np.ptp(here[1], axis=0).max() > 0.1
    assert np.max(apart(here, there)) < 1e-8


FORCES = """
schema: 1
name: forces
bodies:
  arm: {mass: 1, com: [0.1, 0, -0.3], inertia: [0.03, 0.02, 0.01], points: {eye: [0.2, 0.1, -0.3]}}
  hand: {mass: 2, com: [0.2, 0.1, -0.9], inertia: [0.02, 0.03, 0.015], points: {eye: [0.3, 0, -1]}}
  kite: {mass: 0.5, com: [1, 0.5, 0], inertia: [0.02, 0.01, 0.02], points: {tail: [1.1, 0.7, 0]}}
world: {points: {hook: [0.8, 0.2, 0]}}
joints:
  top: {type: spherical, parent: world, child: arm, position: [0, 0, 0]}
  wrist: {type: universal, parent: arm, child: hand, position: [0, 0, -0.6], axis: [1, 0, 0], second_axis: [0, 1, 0]}
initial: {top: {rate: [1, -2, 0.5]}, kite: {velocity: [0, 1, 2], angular_velocity: [3, 1, 0]}}
forces:
  strut: {type: spring, from: hand.eye, to: world.hook, stiffness: 60, damping: 1}
  line: {type: spring, from: hand.eye, to: kite.tail, stiffness: 20, length: 0.5}
  ball: {type: torsion_spring, joint: top, stiffness: 5, damping: 0.1}
  hinge: {type: torsion_spring, joint: wrist, freedom: 1, stiffness: 7, rest: 0.4 rad}
  jet:
    {type: wrench, body: hand, point: eye, frame: body, torque: [0, 1, 0],
     force: [1, "2*sin(3*t/1 s)", "tension('line')"]}
  pull: {type: wrench, body: kite, reaction: arm, frame: body, force: [0, 0, "-3 N/m*distance('kite', 'arm')"]}
  air: {type: drag, body: kite, point: tail, linear: 0.1, quadratic: 0.3, turning_linear: 0.01, turning_quadratic: 0.02}
simulate: {duration: 1 s, rtol: 1e-11}
"""


def test_forces_that_a_scene_names():
    scene = load_text(FORCES)
    here, there = places(scene, 1.0), places(moved_scene(scene, TURN, SHIFT), 1.0, TURN, SHIFT)
    assert np.ptp(here[1], axis=0).max() > 0.5
    assert np.max(apart(here, there)) < 1e-9
    with sim.run(scene) as recording:
        assert np.max(np.abs(recording.energy.balance)) < 1e-9 * np.max(recording.energy.kinetic)
        assert recording.energy.input[-1] != 0.0 and recording.energy.dissipated[-1] > 0.1


NUDGE = 1e-9  # m or rad, m/s or rad/s: of every freedom of the tree


def amplification(name: str, times: np.ndarray, bodies: tuple[str, ...]) -> np.ndarray:
    """Return (times,) by how much nudges of the state at the start have grown until then."""

    def run(seed: int | None) -> np.ndarray:
        simulator = sim.Simulator(sim.compile(scene_of(name)))
        if seed is not None:
            dq, dv = NUDGE * np.random.default_rng(seed).normal(size=(2, len(simulator.flow.v)))
            add_freedoms(simulator.flow.structure.tables.links, dq, 1.0, simulator.flow.q)
            simulator.flow.v[:] += dv
        seen = []
        for t in times:
            simulator.advance(t)
            state = simulator.state
            seen.append([state.position[body] for body in bodies] + [state.com[body] for body in bodies])
        return np.array(seen)

    plain = run(None)
    grown = np.max([np.linalg.norm(run(seed) - plain, axis=2).max(axis=1) for seed in range(3)], axis=0)
    return np.maximum.accumulate(grown) / NUDGE


@pytest.mark.parametrize(("name", "duration", "floor"), [("monkey_swing", 6.0, 0.0), ("swing", 4.0, 3e-8)])
def test_trajectories_differ_by_no_more_than_a_nudge_explains(name, duration, floor):
    """A(t): what a nudge of 1e-9 has grown to; the move may do what a nudge of 1e-11 does, no more.

    The swing is not chaotic (A stays near 1 until the rope tears): there the floor holds.
    The floor is what 1e-13 m of rounding, a kilometre away, does to two thighs on one seat: up to 2e-8 after the tear.
    """
    here, there = trajectory(name, duration, False), trajectory(name, duration, True)
    times = np.arange(1, int(2 * duration) + 1) * 0.5
    rows = [int(np.argmin(np.abs(here[0] - t))) for t in times]
    assert here[0][rows] == pytest.approx(times, abs=1e-9)
    grown = amplification(name, times, tuple(body.name for body in scene_of(name).bodies))
    assert grown[-1] > 10.0
    assert np.all(apart(here, there)[rows] < np.maximum(1e-11 * grown, floor))
