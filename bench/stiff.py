"""Scenes with the method left open, beside the faster of the explicit and the implicit one.

Wall time inside `advance`, kernels loaded, the same tolerance for all three; of several runs to a round, where
a run is short, the quickest counts.  The note says what was taken, and the error of the energy balance of all three.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import sim
from bench.measure import Result, result
from bench.ours import load

METHODS = ("auto", "dop853", "radau")
LEAST = 0.05  # s: a round lasts as long at least


@dataclass(frozen=True)
class Problem:
    """A scene, its parameters and until when it runs; None: as long as the scene says."""

    scene: str
    about: str
    until: float | None = None
    set: Mapping[str, float] | None = None


PROBLEMS = {
    "governor": Problem("benchmarks/governor", "stiff", 10.0),
    "governor_100": Problem("benchmarks/governor", "a hundred times stiffer", 10.0, {"hardness": 100.0}),
    "rope": Problem("rope", "soft"),
    "high_bar": Problem("high_bar", "soft stops"),
    "rope_pullup": Problem("rope_pullup", "soft"),
    "monkey_swing": Problem("monkey_swing", "soft stops", 3.0),
    "swing": Problem("swing", "soft, tears", 3.0),
    **{
        name: Problem(scene, "not stiff")
        for name, scene in {
            "pendulum": "pendulum", "double_pendulum": "double_pendulum", "four_bar": "four_bar",
            "two_bodies": "two_bodies", "andrews": "benchmarks/andrews", "bricard": "benchmarks/bricard",
            "heavy_top": "benchmarks/heavy_top", "box": "benchmarks/box", "four_bars": "benchmarks/four_bars",
            "dzhanibekov": "benchmarks/dzhanibekov", "three_links": "benchmarks/three_links",
        }.items()
    },
}  # fmt: skip


def _simulator(problem: Problem, method: str) -> sim.Simulator:
    scene = load(problem.scene, set=problem.set)
    return sim.Simulator(sim.compile(replace(scene, simulate=replace(scene.simulate, method=method))))


def _run(simulator: sim.Simulator, until: float) -> float:
    """Run a scene from its start; return the wall time of that alone [s]."""
    simulator.reset()
    began = time.perf_counter()
    simulator.advance(until)
    return time.perf_counter() - began


def measure(name: str, rounds: int) -> Iterator[Result]:
    """Yield the time with the method left open beside the faster of both, run by turns."""
    problem = PROBLEMS[name.rpartition(".")[2]]
    simulators = {method: _simulator(problem, method) for method in METHODS}
    until = problem.until or simulators["auto"].model.scene.simulate.duration
    times: dict[str, int] = {}
    for method, simulator in simulators.items():
        _run(simulator, until)  # loads the kernels
        times[method] = 1 + int(LEAST / _run(simulator, until))
    samples: dict[str, list[float]] = {method: [] for method in METHODS}
    for _ in range(rounds):
        for method, simulator in simulators.items():
            samples[method].append(min(_run(simulator, until) for _ in range(times[method])))
    middle = {method: statistics.median(sample) for method, sample in samples.items()}
    faster = min(METHODS[1:], key=lambda method: middle[method])
    costs = ", ".join(f"{method} {middle[method]:.3g} s" for method in METHODS)
    balance = ", ".join(f"{abs(simulators[method].energy['balance']):.0e}" for method in METHODS)
    told = "; ".join(simulators["auto"].flow.methods())
    yield result(
        name, "s", samples["auto"], peer=faster, value=samples[faster],
        note=f"{problem.about}: {costs}; energy to {balance} J; {told}",
    )  # fmt: skip
