"""Large mechanisms are followed along the tree, where dense matrices would take minutes."""

from __future__ import annotations

import math

import pytest

import sim
from sim.scene.library import find
from sim.scene.load import load_text


@pytest.mark.parametrize("windows", [2, 70])
@pytest.mark.parametrize("degrees", [-60, -170, 150])
def test_a_chain_of_parallelograms_stays_one(windows: int, degrees: int) -> None:
    """Through the position in which all rods lie on one line, and each crank could fold on its own."""
    text = find("benchmarks/four_bars").read_text(encoding="utf-8")
    old = "    initial:\n      pivot_${i}: {rate: -1 rad/s}\n"
    assert old in text
    text = text.replace(old, "").replace("simulate:", f"initial: {{pivot_0: {degrees} deg}}\nsimulate:")
    simulator = sim.Simulator(sim.compile(load_text(text, set={"windows": windows})))
    found = [float(simulator.coordinate[f"pivot_{i}"]) for i in range(windows + 1)]
    assert found == pytest.approx([math.radians(degrees)] * (windows + 1), abs=1e-9)
