"""The IFToMM library's problems A01 to A05, each to its threshold, as wall time inside `advance`."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

import sim
from bench.measure import Result, result
from bench.ours import load


@dataclass(frozen=True)
class Problem:
    """A scene, until when it runs, the error that is allowed, and the best time that was published.

    error : what the threshold is about, of a simulator at the end
    published : s, and by whom
    """

    scene: str
    until: float
    threshold: float
    unit: str
    error: Callable[[sim.Simulator], float]
    published: tuple[float, str]
    rtol: float | None = None  # None: the scene's own


def _balance(simulator: sim.Simulator) -> float:
    return abs(simulator.energy["balance"])


def _height(simulator: sim.Simulator) -> float:
    return abs(simulator.coordinate["slide"] + 0.5 - 0.619622917)


PROBLEMS = {
    "A01": Problem("point_pendulum", 10.0, 5e-5, "J", _balance, (0.037, "EXUDYN, i7 Surface Book")),
    "A02": Problem("four_bars", 10.0, 0.1, "J", _balance, (0.0776, "EXUDYN, i9")),
    "A03": Problem("andrews", 0.05, 1e-9, "J", _balance, (0.384, "OpenSim 3.2, i5-4570"), rtol=1e-9),
    "A04": Problem("bricard", 10.0, 1e-3, "J", _balance, (0.258, "OpenSim 3.2, i5-4570")),
    "A05": Problem("governor", 10.0, 1e-6, "m", _height, (0.233, "OpenSim 3.2, i5-4570")),
}


def measure(name: str, rounds: int) -> Iterator[Result]:
    """Run a problem several times at its tolerance; yield the time, with the error reached."""
    problem = PROBLEMS[name.rpartition(".")[2]]
    simulator = sim.Simulator(sim.compile(load(f"benchmarks/{problem.scene}", problem.rtol)))
    times = []
    for _ in range(rounds + 1):  # the first loads the kernels
        simulator.reset()
        began = time.perf_counter()
        simulator.advance(problem.until)
        times.append(time.perf_counter() - began)
    error = problem.error(simulator)
    if not (np.isfinite(error) and error <= problem.threshold):
        raise RuntimeError(f"{name}: the error is {error:.1e} {problem.unit}, allowed are {problem.threshold:g}")
    best, by = problem.published
    yield result(
        name, "s", times[1:],
        note=f"error {error:.0e} {problem.unit} (allowed {problem.threshold:g}); published {best:g} s, {by}: "
        f"{best / statistics.median(times[1:]):.2g} times as long",
    )  # fmt: skip
