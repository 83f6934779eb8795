"""Whole runs in one process on one core, recording included, kernels compiled, no film."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator

from bench import ours
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

    def job(setting: str) -> Callable[[], int]:
        def call() -> int:
            spans[setting] = ours.run(scenes[setting])
            return 1

        return call

    samples = interleave({setting: job(setting) for setting in scenes}, rounds)
    for setting, wall in samples.items():
        span = spans[setting]
        note = f"{setting}: {span / statistics.median(wall):.1f} times real time"
        yield result(name, "s", wall, peer="real time", value=[span] * len(wall), note=note)
