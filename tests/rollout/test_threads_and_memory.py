"""The interpreter is free while motions are followed, and memory does not grow."""

from __future__ import annotations

import itertools
import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import sim
from sim.mechanism.mechanism import make_control
from sim.mechanism.workspace import LINE, in_one_piece, make_stepper, make_work
from sim.scene import library
from sim.simulation.ensemble import SCRATCH
from tests.rollout.scenes import EVERYTHING, WHEEL, model_of

GROWTH = 5e6  # bytes


def resident() -> int:
    """Return the memory of this process that is in use [bytes]."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        pytest.skip("this system does not tell how much memory a process uses")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_the_interpreter_is_free_meanwhile():
    """Another thread of Python goes on within the one call of a kernel that follows one state for long."""
    ensemble = sim.Ensemble(model_of(EVERYTHING), threads=1)
    ensemble.rollout(ensemble.start, steps=1)
    ticks: list[float] = []
    over = threading.Event()

    def tick() -> None:
        while not over.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    other = threading.Thread(target=tick)
    other.start()
    began = time.perf_counter()
    ensemble.rollout(ensemble.start, steps=20_000, dt=0.002, method="rk4", step=0.002)
    ended = time.perf_counter()
    over.set()
    other.join()
    assert ended - began > 0.1
    between = [t for t in ticks if began + 0.02 < t < ended - 0.02]
    assert len(between) > 0.05 * (ended - began - 0.04) / 0.001


@pytest.mark.fast
def test_threads_share_no_cache_line():
    flow = sim.Simulator(model_of(EVERYTHING)).flow
    control, sizes = make_control(flow.model), flow.structure.sizes
    control.turn[:] = np.arange(len(control.turn))
    memory, wholes = in_one_piece(control, make_work(flow.structure.tables, sizes), make_stepper(sizes, 2))
    begin = memory.ctypes.data
    assert begin % LINE == 0 and memory.nbytes % LINE == 0
    taken = []
    for whole in wholes:
        for array in whole:
            at = array.ctypes.data
            if array.size:
                assert begin <= at and at + array.nbytes <= begin + memory.nbytes
                taken.append((at, at + array.nbytes))
    taken.sort()
    assert len(taken) > 30
    assert all(end <= after for (_, end), (after, _) in itertools.pairwise(taken))
    turn = next(iter(in_one_piece(control)[1])).turn
    assert turn.tolist() == control.turn.tolist() and not np.shares_memory(turn, control.turn)


@pytest.mark.parametrize("scene", ["four_bar", pytest.param("monkey_swing", marks=pytest.mark.slow)])
def test_memory_is_flat_over_ten_minutes(tmp_path, scene):
    """Of a run that is recorded; the first minute is left out, in which buffers fill."""
    seen: list[tuple[float, int]] = []
    recording = sim.run(
        sim.load(library.find(scene)), output=tmp_path / "run.h5", duration=600.0,
        progress=lambda t, span, events: seen.append((t, resident())),
    )  # fmt: skip
    assert recording.complete and recording.time[-1] == 600.0
    late = [memory for t, memory in seen if t > 60.0]
    assert len(late) > 5
    assert max(late) - late[0] < GROWTH


def test_memory_is_flat_over_many_rollouts():
    """Of one ensemble, and of functions that make one and leave it."""
    ensemble = sim.Ensemble(model_of(EVERYTHING), threads=3)
    wheel = model_of(WHEEL)
    y, u = np.tile(ensemble.start, (12, 1)), np.ones((12, 4, len(ensemble.columns)))

    def some(count: int) -> None:
        for _ in range(count):
            for method in SCRATCH:
                assert ensemble.rollout(y, u, dt=0.01, method=method, step=0.005).ok.all()
            sim.rollout(wheel, np.ones((12, 4)), steps=10, threads=2)

    some(20)
    before, threads = resident(), threading.active_count()
    some(100)
    assert resident() - before < GROWTH
    assert threading.active_count() <= threads + 1
