"""Long runs: the energy of the theory from rows beside accelerations, and slopes that are told from none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sim
from bench import long_runs
from bench.long_runs import Problem, slope, slope_of_walk
from bench.ours import Books, follow_books, load, without_stops
from tests.dynamics.shadow import less_energy

RUNS = 400


def test_books_hold_the_energy_of_the_theory():
    scene = without_stops(load("monkey_swing"))
    scene = replace(scene, simulate=replace(scene.simulate, method="variational", step=1e-4, record=1e4))
    books = follow_books(scene, 0.3)
    assert len(books.time) == len(books.less_energy) == 2999
    s = sim.Simulator(sim.compile(scene))
    for t in (0.05, 0.2, 0.2873):
        s.advance(t)
        row = round(1e4 * t) - 1
        assert books.time[row] == pytest.approx(t, abs=1e-12)
        assert books.kinetic[row] == pytest.approx(s.energy["kinetic"], rel=1e-9)
        assert books.less_energy[row] == pytest.approx(less_energy(s), rel=1e-3)


@pytest.mark.fast
@pytest.mark.parametrize(("trend", "walks"), [(slope, False), (slope_of_walk, True)])
def test_standard_errors_are_those_of_the_noise_they_are_for(trend, walks):
    """Of many runs without drift, slopes scatter by the standard error; a drift of ten of them is always found."""
    rng, ratios, missed = np.random.default_rng(5), [], 0
    t = np.arange(50.0 * long_runs.BLOCKS)
    for _ in range(RUNS):
        x = rng.normal(size=long_runs.BLOCKS)
        x = np.repeat(np.cumsum(x) if walks else x, 50)
        found, error = trend(t, x)
        ratios.append(found / error)
        drifting, _ = trend(t, x + 10.0 * error * t)
        missed += abs(drifting) < 3.0 * error
    assert np.std(ratios) == pytest.approx(1.0, abs=0.15)
    assert missed == 0


@pytest.mark.fast
def test_lines_say_how_large_and_how_steep():
    t = np.linspace(0.1, 100.0, 1000)
    balance = 1e-3 * np.sin(0.1 * t**2)
    balance[700] = -0.5
    books = Books(t, 100.0 - t, balance, np.zeros_like(t))
    problem = Problem("none", 100.0, 0.1, slope)
    size, steep = long_runs.lines("long_runs.x", "so", books, problem, 1.0)
    assert (size.name, size.peer, size.value) == ("long_runs.x", "allowed", 1e-3)
    assert size.ours == pytest.approx(0.5 / 99.9) and size.ratio > 1.0
    found, error = slope(t, balance)
    assert (steep.value, steep.unit, steep.ours) == (3.0, "standard errors", pytest.approx(abs(found) / error))
