"""Energy and gaps over ten seconds, recomputed from the recording; the recording rate changes nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sim
from tests.dynamics.recomputed import gap, kinetic_energy, potential_energy
from tests.dynamics.shipped import recording_of, scene_of

BOUNDS = {"four_bar": 1e-8, "monkey_swing": 1e-8, "swing": 1e-7}  # of the peak kinetic energy


@pytest.mark.parametrize(("name", "bound"), BOUNDS.items())
def test_balance_of_energy(name, bound):
    recording = recording_of(name, 10.0)
    assert recording.complete
    assert recording.time[-1] == 10.0
    energy = recording.energy
    assert np.max(energy.kinetic) > 1.0
    assert np.max(np.abs(energy.balance)) < bound * np.max(energy.kinetic)
    total = energy.kinetic + energy.potential + energy.dissipated + energy.impact - energy.input
    assert energy.balance == pytest.approx(total - total[0], abs=1e-12 * np.max(np.abs(total)))


@pytest.mark.parametrize("name", BOUNDS)
def test_energies_from_positions_velocities_and_masses(name):
    recording, scene = recording_of(name, 10.0), scene_of(name)
    scale = np.max(recording.energy.kinetic)
    assert np.max(np.abs(kinetic_energy(recording) - recording.energy.kinetic)) < 1e-11 * scale
    potential = potential_energy(recording, scene)
    assert np.max(np.abs(potential - recording.energy.potential)) < 1e-11 * np.max(np.abs(potential))


def test_energy_of_a_mechanism_that_nothing_drives():
    """Kinetic and potential energy of the four-bar, both recomputed, stay together what they were."""
    recording = recording_of("four_bar", 10.0)
    kinetic = kinetic_energy(recording)
    total = kinetic + potential_energy(recording, scene_of("four_bar"))
    assert np.max(np.abs(total - total[0])) < 1e-8 * np.max(kinetic)
    for name in ("input", "dissipated", "impact"):
        assert not recording.array(f"energy/{name}").any()
    assert np.ptp(kinetic) > 1.0


@pytest.mark.parametrize("name", BOUNDS)
def test_joints_stay_closed(name):
    recording, scene = recording_of(name, 10.0), scene_of(name)
    loops = {loop for epoch in recording.epochs for loop in epoch.loops}
    assert loops
    gaps = {joint.name: gap(recording, scene, joint) for joint in scene.joints}
    for joint, values in gaps.items():
        assert np.isfinite(values[0])
        assert np.nanmax(values) < 1e-10, joint
    assert np.max(recording.trust.position_residual) < 1e-10
    assert max(np.nanmax(gaps[name]) for name in loops) > 0.0


@pytest.mark.parametrize(("name", "duration"), [("four_bar", 2.0), ("swing", 3.5)])
def test_recording_rate_changes_no_bit(name, duration):
    scene = scene_of(name)
    slow = replace(scene, simulate=replace(scene.simulate, record=40.0))
    with sim.run(scene, duration=duration) as fine, sim.run(slow, duration=duration) as coarse:
        assert fine.rows > 2 * coarse.rows
        common = np.isin(fine.time, coarse.time)
        assert np.array_equal(fine.time[common], coarse.time)
        for dataset in DATASETS:
            assert np.array_equal(fine.array(dataset)[common], coarse.array(dataset), equal_nan=True), dataset
        assert [event.time for event in fine.events] == [event.time for event in coarse.events]
        assert fine.run["steps"] == coarse.run["steps"]
    assert name != "swing" or len(fine.events) >= 3


DATASETS = (
    "position", "quat_wxyz", "velocity", "angular_velocity", "com", "joints/coordinate", "joints/rate",
    "joints/torque", "joints/force", "joints/position", "energy/kinetic", "energy/potential", "energy/dissipated",
    "energy/input", "energy/impact", "energy/balance", "trust/position_residual", "trust/velocity_residual",
    "trust/rank", "trust/rows", "trust/determinate",
)  # fmt: skip
