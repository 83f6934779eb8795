"""Many states at once: the motion of each is the simulator's own, whichever thread follows it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sim
from sim.scene.load import load_text

SCENES = Path(__file__).parents[2] / "scenes"
WHEEL = """
schema: 1
name: wheel
bodies: {wheel: {mass: 2 kg, com: [0, 0, 0], gyration: [0.5, 0.5, 0.5]}}
joints: {axle: {type: rotational, parent: world, child: wheel, position: [0, 0, 0], axis: [0, 0, 1]}}
"""
INERTIA = 2 * 0.5**2


def model_of(name: str) -> sim.Model:
    return sim.compile(replace(sim.load(SCENES / f"{name}.yaml"), events=()))


def moved(ensemble: sim.Ensemble, count: int) -> np.ndarray:
    """Return states with the scene's pose and random rates; loops take what they allow."""
    states = np.tile(ensemble.start, (count, 1))
    states[:, ensemble.nq :] += np.random.default_rng(0).normal(0, 0.3, (count, ensemble.nv))
    return states


@pytest.mark.parametrize("method", ["dop853", "rk4", "semi_implicit"])
def test_a_motion_is_that_of_the_simulator(method: str) -> None:
    model = model_of("four_bar")
    start = sim.Ensemble(model).start
    found = sim.rollout(model, start, np.zeros((1, 20, len(model.column_names))), dt=0.02, method=method, step=1e-3)
    scene = sim.load(SCENES / "four_bar.yaml")
    simulator = sim.Simulator(sim.compile(replace(scene, simulate=replace(scene.simulate, method=method, step=1e-3))))
    for k in range(1, 21):
        simulator.advance(0.02 * k)
        np.testing.assert_allclose(found.q[0, k], simulator.flow.q, rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.v[0, k], simulator.flow.v, rtol=0, atol=1e-8)
    assert np.abs(found.q[0, -1] - found.q[0, 0]).max() > 0.1


@pytest.mark.parametrize("scene", ["monkey_swing", "four_bar"])
def test_the_same_bits_for_any_number_of_threads_and_in_any_order(scene: str) -> None:
    model = model_of(scene)
    ensemble = sim.Ensemble(model, threads=1)
    states = moved(ensemble, 23)
    torques = np.random.default_rng(1).normal(0, 0.1, (23, 6, len(model.column_names)))
    one = ensemble.rollout(states, torques, dt=0.05)
    assert one.ok.all()
    assert np.ptp(one.q[:, -1], axis=0).max() > 1e-3
    order = np.random.default_rng(2).permutation(23)
    for threads in (2, 3, 7):
        other = sim.rollout(model, states[order], torques[order], dt=0.05, threads=threads)
        assert np.array_equal(other.q, one.q[order])
        assert np.array_equal(other.v, one.v[order])


def test_a_held_torque_turns_a_wheel_as_it_must() -> None:
    model = sim.compile(load_text(WHEEL))
    torques = np.array([[[1.0], [-2.0], [0.5]], [[0.0], [0.0], [3.0]]])
    found = sim.rollout(model, np.zeros(2), torques, dt=0.1, rtol=1e-12)
    rate = np.cumsum(torques[:, :, 0], axis=1) * 0.1 / INERTIA
    np.testing.assert_allclose(found.v[:, 1:, 0], rate, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.t, [0.0, 0.1, 0.2, 0.3], atol=1e-15)


def test_loops_stay_closed() -> None:
    model = model_of("monkey_swing")
    ensemble = sim.Ensemble(model)
    found = ensemble.rollout(moved(ensemble, 4), steps=5, dt=0.1)
    assert found.ok.all()
    simulator = sim.Simulator(model)
    flow = simulator.flow
    for q, v in zip(found.q[:, -1], found.v[:, -1], strict=True):
        flow.mechanism.look(q, v)
        assert len(flow.work.rows.phi) > 0
        assert np.abs(flow.work.rows.phi).max() < 1e-10


def test_a_state_that_fails_says_why_and_leaves_the_others_alone() -> None:
    model = sim.compile(load_text(WHEEL))
    states = np.array([[0.0, 1.0], [np.inf, 1.0], [0.0, 2.0]])
    found = sim.rollout(model, states, steps=2, dt=0.1)
    assert found.ok.tolist() == [True, False, True]
    assert np.isnan(found.q[1]).all()
    assert "cannot begin" in found.reason(1)
    np.testing.assert_allclose(found.q[[0, 2], -1, 0], [0.2, 0.4], atol=1e-12)


def test_wrong_shapes_are_refused_with_what_was_expected() -> None:
    model = sim.compile(load_text(WHEEL))
    with pytest.raises(ValueError, match=r"states have shape \(3,\); expected \(n, 2\)"):
        sim.rollout(model, np.zeros(3), steps=1)
    with pytest.raises(ValueError, match=r"controls have shape \(1, 4, 2\)"):
        sim.rollout(model, np.zeros(2), np.zeros((1, 4, 2)))


def test_events_are_refused_by_name() -> None:
    with pytest.raises(sim.SceneError):
        sim.Ensemble(sim.compile(sim.load(SCENES / "high_bar.yaml")))
