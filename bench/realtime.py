"""Runs in one process on one core, recording included, kernels compiled, no film.

The wall time is the one that a recording keeps: simulating and recording.  Reading and compiling the
scene comes before it and does not grow with the simulated time.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator

from bench import memory, ours
from bench.measure import Result, interleave, result

TOLERANCES = (None, 1e-6)  # None: the scene's own


def measure(name: str, rounds: int, *, scene: str) -> Iterator[Result]:
    """Yield a line for each tolerance: wall time of a run beside the time that it simulates."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    if allowed:
        os.sched_setaffinity(0, {max(allowed)})
    try:
        yield from _measure(name, rounds, scene)
    finally:
        if allowed:
            os.sched_setaffinity(0, allowed)


def _measure(name: str, rounds: int, scene: str) -> Iterator[Result]:
    scenes = {f"rtol {loaded.simulate.rtol:g}": loaded for loaded in (ours.load(scene, rtol) for rtol in TOLERANCES)}
    spans: dict[str, float] = {}
    walls: dict[str, list[float]] = {setting: [] for setting in scenes}

    def job(setting: str) -> Callable[[], int]:
        def call() -> int:
            spans[setting], wall = ours.run(scenes[setting])
            walls[setting].append(wall)
            return 1

        return call

    interleave({setting: job(setting) for setting in scenes}, rounds)
    for setting, wall in walls.items():
        wall = wall[-rounds:]
        span = spans[setting]
        note = f"{setting}: {span / statistics.median(wall):.1f} times real time"
        held = memory.peak(ours.run, scenes[setting])
        yield result(name, "s", wall, peer="real time", value=[span] * len(wall), note=note, memory=held)
