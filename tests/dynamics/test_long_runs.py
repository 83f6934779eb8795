"""Ten seconds of the scenes that pass near singular poses: they go on, or end in a sentence, and soon."""

from __future__ import annotations

import time

import numpy as np
import pytest

import sim
from tests.dynamics.shipped import recording_of, scene_of

SOON = 60.0  # s of wall time; ten seconds of any of these scenes take about one


@pytest.mark.parametrize("name", ["high_bar", "high_bar_planar", "swing", "swing_paper"])
def test_runs_ten_seconds(name):
    began = time.perf_counter()
    recording = recording_of(name, 10.0)
    assert time.perf_counter() - began < SOON
    assert recording.complete
    assert recording.time[-1] == 10.0
    assert recording.run["steps"] < 20_000
    assert np.max(recording.trust.position_residual) < 1e-10
    energy = recording.energy
    assert np.max(np.abs(energy.balance)) < 1e-7 * np.max(energy.kinetic)
    assert np.max(np.ptp(recording.com["monkey.torso"], axis=0)) > 0.3


def test_planar_stays_planar():
    """The planar high bar and the symmetric swing leave their plane of symmetry by rounding alone."""
    for name in ("high_bar_planar", "swing_paper"):
        recording = recording_of(name, 10.0)
        assert np.max(np.abs(recording.com["monkey.torso"][:, 1])) < 1e-6


def nudged(name: str, freedom: int) -> sim.Simulator:
    """Return a simulator whose figure gets 0.1 m/s or rad/s along one freedom of its trunk."""
    simulator = sim.Simulator(sim.compile(scene_of(name)))
    trunk = simulator.model.joint_names.index("monkey.torso")
    simulator.flow.v[simulator.flow.structure.v_of(simulator.model, trunk)][freedom] += 0.1
    return simulator


SIDEWAYS, ROLL, YAW = 1, 3, 5


@pytest.mark.parametrize("freedom", [SIDEWAYS, ROLL, YAW])
def test_swing_nudged_asymmetrically_goes_on(freedom):
    simulator = nudged("swing", freedom)
    began = time.perf_counter()
    simulator.advance(1.0)
    assert np.max(np.abs([simulator.com[name][1] for name in ("monkey.torso", "plate")])) > 1e-3  # out of the plane
    simulator.advance(10.0)
    assert simulator.t == 10.0
    assert time.perf_counter() - began < SOON
    assert abs(simulator.energy["balance"]) < 1e-5


@pytest.mark.parametrize("freedom", [SIDEWAYS, ROLL, YAW])
@pytest.mark.parametrize(
    ("name", "loops"), [("swing_paper", ("slide_l", "slide_r")), ("high_bar_planar", ("grip_l", "grip_r"))]
)
def test_nudged_along_an_infinitesimal_freedom_ends_in_a_sentence(name, loops, freedom):
    simulator = nudged(name, freedom)
    began = time.perf_counter()
    try:
        simulator.advance(10.0)
    except sim.SimulationError as error:
        message = str(error)
        assert message.startswith("t = ")
        assert any(repr(loop) in message for loop in loops)
        assert "Pose: " in message
        for number in np.atleast_1d(simulator.coordinate[loops[0]]):
            assert np.isfinite(number)
    else:
        assert simulator.t == 10.0
        assert abs(simulator.energy["balance"]) < 1e-5
    assert time.perf_counter() - began < SOON


@pytest.mark.fast
def test_nudges_along_the_shaky_freedom_do_end():
    """Two parallel slides on one trunk let it yaw by nothing but rounding: that motion has no continuation."""
    with pytest.raises(sim.SimulationError):
        nudged("swing_paper", YAW).advance(10.0)
