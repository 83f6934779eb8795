"""A run that is killed and goes on equals one that never stopped, bit for bit."""

from __future__ import annotations

import math
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import sim
from sim.cli.main import main
from sim.recording import Recorder
from sim.recording import writer as writing
from sim.scene.spec import Scene
from sim.simulation import recorded_runs, simulator
from tests.contact.engine import SCENES

FEW = 7  # steps of a call of kernels, after which a state may be kept
# Scene, changes of how it is simulated, duration [s].
RUNS: dict[str, tuple[str, dict[str, Any], float]] = {
    "joints are cut": ("swing", {}, 3.6),
    "joints are connected": ("two_bodies", {}, 1.0),
    "hands catch a bar": ("high_bar", {}, 0.6),
    "collisions": ("bouncing_ball", {}, 2.0),
    "points stick and slide": ("sliding_block", {}, 1.0),
    "time steps of contacts": ("figure_falls", {}, 0.5),
    "many contacts": ("dominoes", {}, 0.4),
    "implicit steps": ("benchmarks/andrews", {"method": "radau"}, 0.02),
    "explicit and implicit steps": ("swing", {"method": "auto"}, 0.4),
    "variational steps": ("four_bar", {"method": "variational", "step": 1e-3}, 0.5),
    "what rolls": ("rolling_disc", {"method": "rk4", "step": 1e-3}, 0.4),
    "wheels": ("bicycle", {}, 0.5),
    "a wave along a snake": ("snake", {}, 0.4),
}


def scene_of(name: str) -> tuple[Scene, float]:
    scene, said, duration = RUNS[name]
    loaded = sim.load(SCENES / f"{scene}.yaml")
    return replace(loaded, simulate=replace(loaded.simulate, **said)), duration


def everything(path: Path) -> dict[str, np.ndarray]:
    """Return all datasets of a recording, and attributes of its groups, but those that may differ."""
    out: dict[str, np.ndarray] = {}

    def visit(name: str, thing: h5py.Group | h5py.Dataset) -> None:
        if isinstance(thing, h5py.Dataset):
            out[name] = np.asarray(thing[()])
        if name != "run":
            out.update({f"{name}@{key}": np.asarray(value) for key, value in thing.attrs.items()})

    with h5py.File(path) as file:
        file.visititems(visit)
    return out


def assert_same(found: Path, expected: Path, but: str = "-") -> None:
    a, b = (
        {name: value for name, value in everything(path).items() if not name.startswith(but)}
        for path in (found, expected)
    )
    assert a.keys() == b.keys()
    unlike = [name for name in a if a[name].tobytes() != b[name].tobytes()]
    assert not unlike


def killed(scene: Scene, duration: float, path: Path, rests: int, blocks: int) -> None:
    """Run in a process that is killed after so many states and then so many blocks of rows."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        return
    try:
        left = [rests, blocks]
        rest, append = recorded_runs.Journal.rest, Recorder.append_state

        def rest_and_count(self: recorded_runs.Journal, take: Callable[[], sim.State], finished: bool = False) -> None:
            self.recorder._kept = -math.inf  # the last one is old
            rest(self, take, finished)
            left[0] -= not finished

        def append_and_count(self: Recorder, q: np.ndarray, v: np.ndarray) -> None:
            append(self, q, v)
            self.flush()
            if left[0] <= 0:
                left[1] -= 1
                if left[1] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        simulator.STEPS_A_CALL = FEW
        writing.COPY_SHARE = 1e9  # a new tree waits for no larger file
        recorded_runs.Journal.rest, Recorder.append_state = rest_and_count, append_and_count  # type: ignore[method-assign]
        sim.run(scene, duration=duration, output=path)
    except BaseException as error:
        print(repr(error)[:300], flush=True)
    finally:
        os._exit(1)


def rests_of(scene: Scene, duration: float, path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run without a stop; return how often the run might have kept a state."""
    count, rest = [0], recorded_runs.Journal.rest

    def counted(self: recorded_runs.Journal, take: Callable[[], sim.State], finished: bool = False) -> None:
        count[0] += not finished
        rest(self, take, finished)

    monkeypatch.setattr(recorded_runs.Journal, "rest", counted)
    monkeypatch.setattr(simulator, "STEPS_A_CALL", FEW)
    sim.run(scene, duration=duration, output=path).close()
    monkeypatch.undo()
    return count[0]


@pytest.mark.parametrize("name", RUNS)
def test_a_killed_run_goes_on_to_the_same_bits(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene, duration = scene_of(name)
    whole, part = tmp_path / "whole.h5", tmp_path / "part.h5"
    rests = rests_of(scene, duration, whole, monkeypatch)
    assert rests > 3
    at = random.Random(name).randrange(1, rests - 1)
    killed(scene, duration, part, at, 0)
    with sim.load_recording(part) as left:
        assert not left.complete and left.last_state is not None
        assert left.rows > left.last_state.counts.rows  # those behind the state are made again
    sim.resume(part).close()
    assert_same(part, whole, but="state")  # one of the last steps is later than that which a finished run keeps


@pytest.mark.parametrize("name", ["joints are cut", "time steps of contacts", "implicit steps", "variational steps"])
def test_a_run_that_is_to_go_on_longer_goes_on_to_the_same_bits(name: str, tmp_path: Path) -> None:
    scene, duration = scene_of(name)
    whole, part = tmp_path / "whole.h5", tmp_path / "part.h5"
    sim.run(scene, duration=duration, output=whole).close()
    sim.run(scene, duration=0.37 * duration, output=part).close()
    longer = tmp_path / "longer.h5"
    sim.resume(part, output=longer, duration=duration).close()
    assert_same(longer, whole)
    sim.run(scene, duration=0.37 * duration, output=whole, overwrite=True).close()
    assert_same(part, whole)  # equal runs keep equal states


def test_in_another_process_by_the_command_line(tmp_path: Path) -> None:
    whole, part = tmp_path / "whole.h5", tmp_path / "part.h5"
    assert main(["run", "high_bar", "-o", str(whole), "-q", "--duration", "0.5 s"]) == 0
    assert main(["run", "high_bar", "-o", str(part), "-q", "--duration", "0.3 s"]) == 0
    command = [sys.executable, "-m", "sim.cli.main", "run", "--resume", str(part), "--duration", "0.5 s", "-q"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stderr == ""
    assert_same(part, whole)
