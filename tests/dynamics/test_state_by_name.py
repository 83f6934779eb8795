"""The present state by name is what a recording of the same run holds in its last row, and how it changes."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sim
from sim.scene.load import load_text
from sim.simulation.named_state import ByName, Named

SCENE = """
schema: 1
name: state
world: {gravity: [0.3, -0.2, -9.81], points: {post: [0.1, 0.9, 1.4]}}
bodies:
  arm: {mass: 2, com: [0.3, 0.1, 0], inertia: [0.1, 0.2, 0.25], position: [0.05, 0.02, 0.1], points: {tip: [0.6, 0.1,
          0.05]}}
  fore: {mass: 0.8, com: [0.9, 0.2, 0.1], inertia: [0.03, 0.04, 0.05], points: {fin: [1.1, 0.3, -0.1]}}
  kite: {mass: 0.3, com: [0.1, 0.8, 0.5], inertia: [0.02, 0.01, 0.025], position: [0.2, 0.7, 0.4]}
joints:
  base: {type: universal, parent: world, child: arm, position: [0, 0, 0], axis: [0, 0, 1], second_axis: [0, 1, 0],
         friction: [0.05, 0.06]}
  elbow: {type: rotational, parent: arm, child: fore, position: [0.6, 0.1, 0], axis: [0.2, 1, 0.3], damping: 0.1,
          limits: {range: [-3, 0.2], stiffness: 9, dissipation: 0.1}}
  never: {type: spherical, parent: fore, child: kite, position: [0.5, 0.5, 0.5], connected: false}
forces:
  line: {type: spring, from: fore.fin, to: kite, stiffness: 30, damping: 0.7, length: 0.5}
  coil: {type: torsion_spring, joint: elbow, stiffness: 4, damping: 0.1}
  jet: {type: wrench, body: fore, point: fin, force: [0.5, "1 N*t/s", 0.2], torque: [0, 0.1, 0.2]}
initial:
  base: {coordinate: [0.3, 0.2], rate: [0.5, -0.4]}
  elbow: {coordinate: 0.6, rate: 1.5}
  kite: {position: [0.3, 0.9, 0.6], rpy: [0.5, -0.2, 0.7], rate: [0.3, 0.1, -0.2, 1, 2, 0.5]}
events: {later: {at: 0.9 s, connect: never}}
simulate: {duration: 1 s, record: 100, rtol: 1e-10}
"""
T = 0.05


def beginning() -> sim.Simulator:
    return sim.Simulator(sim.compile(load_text(SCENE)))


def test_each_quantity_is_that_of_the_recording() -> None:
    simulator = beginning()
    simulator.advance(T)
    state = simulator.state
    with sim.run(load_text(SCENE), duration=T) as recording:
        assert recording.time[-1] == T == simulator.t
        for joint in ("base", "elbow"):
            for name in ("coordinate", "rate", "torque", "stop_torque", "friction_torque"):
                assert np.array_equal(getattr(state, name)[joint], getattr(recording, name)[joint][-1]), (name, joint)
            assert np.array_equal(state.force[joint], recording.force[joint][-1])
        assert state.stop_torque["elbow"] != 0.0 and np.all(state.friction_torque["base"] != 0.0)
        for body in ("arm", "fore", "kite"):
            for name in ("position", "velocity", "angular_velocity", "com"):
                assert np.array_equal(getattr(state, name)[body], getattr(recording, name)[body][-1]), (name, body)
        for name in ("length", "tension", "wrench"):
            for force in ("line", "coil", "jet"):
                ours, theirs = getattr(state, name)[force], getattr(recording, name)[force][-1]
                assert np.array_equal(ours, theirs, equal_nan=True), (name, force)
        for name in ("kinetic", "potential", "dissipated", "impact", "input", "balance"):
            assert state.energy[name] == pytest.approx(getattr(recording.energy, name)[-1], abs=1e-12), name
    assert list(state.energy) == ["kinetic", "potential", "dissipated", "impact", "input", "balance"]
    assert state.connected == ("base", "elbow", "kite")
    assert np.isnan(state.coordinate["never"]).all() and len(state.coordinate["never"]) == 3
    assert isinstance(state.coordinate["elbow"], float) and math.isfinite(state.rate["elbow"])
    assert list(state.force) == ["base", "elbow", "never", "kite"] and list(state.length) == ["line", "coil", "jet"]
    for name in [name for name, part in vars(Named).items() if isinstance(part, property)]:
        assert type(getattr(simulator, name)) is type(getattr(state, name))


def test_places_of_points_go_with_their_bodies_and_speeds_change_as_accelerations_say() -> None:
    h, ends = 1e-4, []
    for t in (T - h, T, T + h):
        simulator = beginning()
        simulator.advance(t)
        ends.append(simulator.state)
    before, now, after = ends
    assert list(now.position) == [
        "world", "arm", "fore", "kite", "world.post", "arm.com", "arm.tip", "fore.com", "fore.fin", "kite.com",
    ]  # fmt: skip
    assert now.position["world.post"].tolist() == [0.1, 0.9, 1.4] and not now.velocity["world.post"].any()
    for name in now.position:
        speed = (after.position[name] - before.position[name]) / (2 * h)
        assert np.allclose(now.velocity[name], speed, rtol=0.0, atol=2e-5), name
    for body in ("arm", "fore", "kite"):
        assert np.allclose(now.com[body], now.position[f"{body}.com"], rtol=0.0, atol=1e-14)
        R = now.rotation[body]
        spin = R.T @ (after.rotation[body] - before.rotation[body]) / (2 * h)
        assert np.allclose(R @ [spin[2, 1], spin[0, 2], spin[1, 0]], now.angular_velocity[body], rtol=0.0, atol=1e-5)
        for value, rate in (("velocity", "acceleration"), ("angular_velocity", "angular_acceleration")):
            change = (getattr(after, value)[body] - getattr(before, value)[body]) / (2 * h)
            assert np.allclose(getattr(now, rate)[body], change, rtol=0.0, atol=1e-3 * np.abs(change).max()), (
                rate,
                body,
            )
    assert not now.acceleration["world"].any() and not now.angular_acceleration["world"].any()


def test_names_that_are_not_there_are_told_with_the_nearest() -> None:
    names = ByName("joint", ["elbow", "base"], lambda n: n)
    assert (dict(names), len(names), names["base"]) == ({"elbow": 0, "base": 1}, 2, 1)
    with pytest.raises(KeyError, match=r"no joint named 'elbo'; did you mean 'elbow'\?"):
        names["elbo"]
    with pytest.raises(KeyError, match=r"no joint named 'x'\"$"):
        names["x"]
    with pytest.raises(AttributeError, match="no attribute 'speed'"):
        beginning().speed  # noqa: B018
    with pytest.raises(sim.SimulationError, match="no body named 'world'"):
        beginning().apply_wrench("world")
    with pytest.raises(sim.SimulationError, match="no event waits for the key 'k'; keys of this scene: none"):
        beginning().trigger("k")
