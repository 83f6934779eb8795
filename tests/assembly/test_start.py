"""Where a run begins: what `initial` names is kept, on tree and loop joints alike."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sim
from sim.scene.library import find
from sim.scene.load import load_text

pytestmark = pytest.mark.fast

OLD = "initial: {drive: {rate: 6 rad/s}}"


def four_bar(initial: str) -> sim.Simulator:
    text = find("four_bar").read_text(encoding="utf-8")
    assert OLD in text
    return sim.Simulator(sim.compile(load_text(text.replace(OLD, f"initial: {initial}"))))


def corners(simulator: sim.Simulator) -> np.ndarray:
    """Return the two moving pins in the plane x, z, from body poses alone."""
    pin = simulator.position["crank"] + simulator.rotation["crank"] @ np.array([0.0, 0.0, 0.2])
    top = simulator.position["rocker"] + simulator.rotation["rocker"] @ np.array([0.0, 0.0, 0.4])
    return np.array([pin[[0, 2]], top[[0, 2]]])


def test_a_loop_joint_starts_at_its_coordinate():
    simulator = four_bar("{link: 12 deg}")
    assert simulator.coordinate["link"] == pytest.approx(math.radians(12.0), abs=1e-10)
    pin, top = corners(simulator)
    assert np.linalg.norm(top - pin) == pytest.approx(math.hypot(0.45, 0.2), abs=1e-10)  # the coupler keeps its length


def test_a_loop_joint_starts_at_its_rate():
    simulator = four_bar("{link: {rate: 2 rad/s}}")
    assert simulator.rate["link"] == pytest.approx(2.0, abs=1e-10)
    driven = four_bar(f"{{drive: {{rate: {simulator.rate['drive']!r} rad/s}}}}")
    assert driven.rate["link"] == pytest.approx(2.0, abs=1e-9)
    assert abs(driven.rate["drive"]) > 0.1


def test_a_rate_that_the_loops_do_not_allow_is_a_problem():
    with pytest.raises(sim.SceneError) as caught:
        four_bar("{drive: {rate: 6 rad/s}, link: {rate: 6 rad/s}}")
    assert any("do not allow" in problem.what for problem in caught.value.problems)


def test_a_coordinate_that_the_loops_do_not_allow_is_a_problem():
    with pytest.raises(sim.SceneError) as caught:
        four_bar("{link: 179 deg}")
    (problem,) = caught.value.problems
    assert problem.path.endswith("link")
