"""What films and plots show of constraints: where they touch, their forces, and how they slip."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

import sim
from render.signals import Signals
from render.touches import Touches
from render.view import Motion
from tests.contact.engine import SCENES

pytestmark = pytest.mark.nonholonomic


@pytest.fixture(scope="module")
def coin() -> sim.Recording:
    return sim.run(sim.load(SCENES / "rolling_disc.yaml"), duration=0.3)


def test_the_force_of_what_rolls_stands_where_it_touches(coin: sim.Recording) -> None:
    motion = Motion.from_recording(coin.path, contacts=True)
    made = Touches(motion)
    assert made.most == 1 and Touches(Motion.from_recording(coin.path)).count == 0
    rim = [joint.name for joint in coin.joints].index("rim")
    for time in (0.0, 0.2):
        (point,), (force,), (mode,) = motion.touching(time)
        row = int(np.searchsorted(coin.time, time, side="right")) - 1
        centre = coin.array("position")[row, 0]
        assert mode == 1 and point[2] == pytest.approx(0.0, abs=1e-12)
        assert np.linalg.norm(point - centre) == pytest.approx(0.1)
        assert force == pytest.approx(coin.array("joints/force")[row, rim, 3:])


def test_slip_is_the_velocity_of_the_child_where_the_joint_is(coin: sim.Recording) -> None:
    with h5py.File(coin.path) as file:
        signals = Signals(file)
        rolling = signals.evaluate("norm(slip('rim'))")
        free = signals.evaluate("slip('coin')")
        assert rolling.unit == "m/s" and np.abs(rolling.values).max() < 1e-12
        assert free.values == pytest.approx(file["velocity"][:, 0].T)  # its free joint is at its origin
