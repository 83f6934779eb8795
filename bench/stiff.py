"""Scenes with the method left open, beside the faster of the explicit and the implicit one.

Wall time inside `advance`, kernels loaded, the same tolerance for all three; several runs to a round where a
run is short.  The note says what was taken, and the error of the energy balance of all three.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import sim
from bench.measure import Result, interleave, result
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


def _job(simulator: sim.Simulator, until: float) -> Callable[[], int]:
    """Return what runs a scene to its end as often as fills a round; setting up is not timed apart from it."""
    simulator.reset()
    simulator.advance(until)  # loads the kernels
    simulator.reset()
    began = time.perf_counter()
    simulator.advance(until)
    times = max(1, int(LEAST / (time.perf_counter() - began)))

    def call() -> int:
        for _ in range(times):
            simulator.reset()
            simulator.advance(until)
        return times

    return call


def measure(name: str, rounds: int) -> Iterator[Result]:
    """Yield the time with the method left open beside the faster of both."""
    problem = PROBLEMS[name.rpartition(".")[2]]
    simulators = {method: _simulator(problem, method) for method in METHODS}
    until = problem.until or simulators["auto"].model.scene.simulate.duration
    work: dict[str, Callable[[], int]] = {}
    unable = []
    for method, simulator in simulators.items():
        try:
            work[method] = _job(simulator, until)
        except sim.SimulationError as error:
            unable.append(f"{method} fails: {error}")
    samples = interleave(work, rounds)
    faster = min((m for m in METHODS[1:] if m in samples), key=lambda m: statistics.median(samples[m]))
    costs = ", ".join(f"{m} {statistics.median(samples[m]):.3g} s" for m in METHODS if m in samples)
    balance = ", ".join(f"{abs(simulators[m].energy['balance']):.0e}" for m in work)
    told = "; ".join(simulators["auto"].flow.methods())
    yield result(
        name, "s", samples["auto"], peer=faster, value=samples[faster],
        note="; ".join([f"{problem.about}: {costs}; energy to {balance} J", told, *unable]),
    )  # fmt: skip
