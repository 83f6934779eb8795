"""Write recordings in child processes and kill each at a random moment.

Run as a program: ``killed_writer.py FOLDER COUNT SEED``.  For each child one line of JSON: the
recording, the rows that must be in it, and the rows that were begun.
"""

from __future__ import annotations

import json
import mmap
import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np

from sim.recording import Recorder, writer
from tests.recording import example

LOG = 100_000  # entries of time and count
PERIOD = 0.02  # s; a second is what a user is promised, a fiftieth is what a test can wait for


def write(path: Path, log: np.ndarray, seed: int) -> None:
    """Record for ever: rows, events, now and then a new epoch."""
    chance = random.Random(seed)
    layout = example.layout(6)
    recorder = Recorder(path, layout)
    recorder.start_epoch(["pin0"], [], 3, 2)
    width = 3
    for k in range(1, LOG):
        step = chance.choice([1, 5, 40])
        if chance.random() < 0.02:
            width = chance.choice([2, 3, 7])
            recorder.start_epoch(["pin0"], [], width, width - 1)
        if chance.random() < 0.05:
            recorder.event(recorder.count / 120, f"event {k}", row_before=recorder.count, row_after=recorder.count + 1)
        begin = recorder.count
        states = np.repeat(np.arange(begin, begin + step, dtype=float)[:, None], width, axis=1)
        recorder.append_state(states, states[:, 1:])
        log[0, 1] = begin + step
        recorder.append(example.rows(layout, begin, step))
        log[k] = time.monotonic(), recorder.count
        log[0, 0] = k


def kill_one(path: Path, moment: float, seed: int, *, writing: bool) -> dict[str, int | str]:
    """Start a writer, kill it after so many seconds (of `writing`, or at all) and say what its file must hold."""
    memory = mmap.mmap(-1, LOG * 16)
    log = np.frombuffer(memory, dtype=float).reshape(LOG, 2)
    child = os.fork()
    if child == 0:
        write(path, log, seed)
        os._exit(0)
    while writing and not log[0, 1]:
        time.sleep(0.001)
    time.sleep(moment)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    last = int(log[0, 0])
    begun = int(log[0, 1])
    done = log[1 : last + 1]
    # An append flushes when the last flush is a period ago; the last one but one began after the
    # one before it had ended.
    must = done[done[:, 0] <= done[-2, 0] - PERIOD, 1] if last > 1 else done[:0, 1]
    return {"path": str(path), "must": int(must.max(initial=0)), "begun": begun, "appends": last}


def main() -> None:
    folder, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    writer.FLUSH_PERIOD = PERIOD
    writer.COPY_SHARE = float("inf")  # a new epoch is laid at the next flush, whatever it costs
    chance = random.Random(seed)
    for k in range(count):
        found = kill_one(folder / f"killed{k}.h5", chance.uniform(0.0, 0.2), seed + k, writing=k % 5 > 0)
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
