"""Stages near a singular position are brought to the constraints, and only those."""

from __future__ import annotations

import numpy as np
import pytest

from sim.kernels.system import SLOPE, START
from sim.mechanism import structure
from tests.dynamics.engine import simulator_of


@pytest.fixture(autouse=True, params=["together", "along"])
def elimination(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run everything with loops eliminated all at once, and along the tree."""
    monkeypatch.setattr(structure, "cheaper_along", lambda *_: request.param == "along")


# Two equal four-bars side by side, rods of 1 m and 1 kg; upright, then over: flat they could fold another way.
FOUR_BARS = """
schema: 1
name: four_bars
world: {gravity: [0, 0, -9.81]}
bodies:
  crank0: {mass: 1, com: [0, 0, 0.5], inertia: [0.0833333, 0.0833333, 0.001]}
  crank1: {mass: 1, com: [1, 0, 0.5], inertia: [0.0833333, 0.0833333, 0.001]}
  crank2: {mass: 1, com: [2, 0, 0.5], inertia: [0.0833333, 0.0833333, 0.001]}
  bar1: {mass: 1, com: [0.5, 0, 1], inertia: [0.001, 0.0833333, 0.0833333]}
  bar2: {mass: 1, com: [1.5, 0, 1], inertia: [0.001, 0.0833333, 0.0833333]}
joints:
  pin0: {type: rotational, parent: world, child: crank0, position: [0, 0, 0], axis: [0, 1, 0]}
  pin1: {type: rotational, parent: world, child: crank1, position: [1, 0, 0], axis: [0, 1, 0]}
  pin2: {type: rotational, parent: world, child: crank2, position: [2, 0, 0], axis: [0, 1, 0]}
  top0: {type: rotational, parent: crank0, child: bar1, position: [0, 0, 1], axis: [0, 1, 0]}
  top1: {type: rotational, parent: crank1, child: bar2, position: [1, 0, 1], axis: [0, 1, 0]}
  end1: {type: rotational, parent: bar1, child: crank1, position: [1, 0, 1], axis: [0, 1, 0]}
  end2: {type: rotational, parent: bar2, child: crank2, position: [2, 0, 1], axis: [0, 1, 0]}
initial: {pin0: {rate: 1}, pin1: {rate: 1}, pin2: {rate: 1}, top0: {rate: -1}, top1: {rate: -1}}
simulate: {duration: 3 s, record: 100 Hz, rtol: RTOL}
"""


@pytest.mark.fast
def test_a_stage_near_a_singular_position_is_moved_and_no_other() -> None:
    """The slope of a stage 1e-4 off the constraints is that of the state one Newton step away."""
    flow = simulator_of(FOUR_BARS.replace("RTOL", "1e-8")).flow
    y, nq = flow.stepper.y, flow.structure.sizes.q
    k = np.zeros(len(y))
    assert flow.ask(START, y, k) == 0
    stage = y.copy()
    stage[:nq] += 1e-4 * np.arange(1, nq + 1)
    plain, near, there = (np.zeros(len(y)) for _ in range(3))
    assert flow.ask(SLOPE, stage, plain) == 0
    off = np.abs(flow.work.blocks.p_FM).max()
    flow.work.one.near[0] = 1
    before = stage.copy()
    assert flow.ask(SLOPE, stage, near) == 0
    assert np.array_equal(stage, before)  # the stage itself is not touched
    left = np.abs(flow.work.blocks.p_FM).max()
    assert off > 1e-5
    assert left < 100 * off**2  # Newton's method is of second order
    flow.work.one.near[0] = 0
    moved = flow.work.stage.copy()
    assert flow.ask(SLOPE, moved, there) == 0
    np.testing.assert_allclose(near, there, rtol=0, atol=1e-12 * np.abs(there).max())
    assert np.abs(near - plain).max() > 1e-6


@pytest.mark.parametrize("rtol", ["1e-6", "1e-8", "1e-10"])
def test_four_bars_keep_their_branch_through_the_flat_position(rtol: str) -> None:
    simulator = simulator_of(FOUR_BARS.replace("RTOL", rtol))
    angles = []
    for n in range(1, 31):
        simulator.advance(until=n / 10)
        angles.append([float(simulator.coordinate[f"pin{i}"]) for i in range(3)])
    turned = np.array(angles)
    assert np.ptp(turned[:, 0]) > np.pi  # it passed the flat position
    assert np.abs(turned - turned[:, :1]).max() < 1e-6
