"""Slips in joints between bodies that both move, against rates of the joint along its axis."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

import sim
from render.signals import Signals
from sim.scene.load import load_text
from tests.support.rotations import matrix_from_quat

pytestmark = pytest.mark.fast

PAIR = """
schema: 1
name: pair
world: {gravity: [0, 0, 0]}
bodies:
  one: {mass: 2, com: [0.1, 0, 0.2], inertia: [0.3, 0.2, 0.4], position: [0.4, 0.3, -0.2]}
  two: {mass: 1, com: [0.5, -0.3, 0.4], inertia: [0.1, 0.2, 0.15], position: [-0.2, 0.1, 0.5]}
joints: {tube: {type: cylindrical, parent: one, child: two, position: [0.3, 0.1, 0.2], axis: [2, -1, 2]}}
initial:
  one: {velocity: [0.5, -0.4, 0.3], angular_velocity: [1, -2, 0.5]}
  tube: {rate: [0.7, 3]}
simulate: {duration: 0.05 s, record: 100 Hz, rtol: 1e-9}
"""


def test_in_a_joint_between_two_that_move_only_the_way_along_its_axis_slips(tmp_path):
    """Turning about the axis moves nothing on it; neither does what the parent does with the child."""
    with sim.run(load_text(PAIR), output=tmp_path / "r.h5") as recording:
        along = recording.array("joints/rate")[:, [c.joint for c in recording.columns].index("tube")]
        quats = recording.quat_wxyz["one"]
    axes = np.array([matrix_from_quat(q) for q in quats]) @ (np.array([2, -1, 2]) / 3)
    with h5py.File(tmp_path / "r.h5") as file:
        found = Signals(file).evaluate("slip('tube')")
    assert np.abs(along).min() > 0.3
    assert pytest.approx(along[:, None] * axes, abs=1e-9) == found.values.T
