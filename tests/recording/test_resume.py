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
from sim.recording.errors import RecordingError
from sim.recording.format import row_names
from sim.scene.spec import Scene
from sim.simulation import recorded_runs, simulator
from tests.contact.engine import SCENES
from tests.support.processes import start

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

        def rest_and_count(self: recorded_runs.Journal, take: Callable[[], sim.State], **how: bool) -> None:
            self.recorder._kept = -math.inf  # the last one is old
            rest(self, take, **how)
            left[0] -= not how.get("finished", False)

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

    def counted(self: recorded_runs.Journal, take: Callable[[], sim.State], **how: bool) -> None:
        count[0] += not how.get("finished", False)
        rest(self, take, **how)

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


def test_a_file_that_is_there_is_replaced_where_that_is_allowed_alone(tmp_path: Path) -> None:
    scene, duration = scene_of("joints are cut")
    whole, part, there = tmp_path / "whole.h5", tmp_path / "part.h5", tmp_path / "there.h5"
    sim.run(scene, duration=0.5 * duration, output=whole).close()
    sim.run(scene, duration=0.25 * duration, output=part).close()
    there.write_bytes(b"something else")
    with pytest.raises(RecordingError, match=r"there\.h5 exists; choose another name or allow to overwrite it"):
        sim.resume(part, output=there, duration=0.5 * duration)
    assert there.read_bytes() == b"something else"
    sim.resume(part, output=there, duration=0.5 * duration, overwrite=True).close()
    assert_same(there, whole)


def test_in_another_process_by_the_command_line(tmp_path: Path) -> None:
    whole, part = tmp_path / "whole.h5", tmp_path / "part.h5"
    assert main(["run", "high_bar", "-o", str(whole), "-q", "--duration", "0.5 s"]) == 0
    assert main(["run", "high_bar", "-o", str(part), "-q", "--duration", "0.3 s"]) == 0
    command = [sys.executable, "-m", "sim.cli.main", "run", "--resume", str(part), "--duration", "0.5 s", "-q"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stderr == ""
    assert_same(part, whole)


@pytest.mark.parametrize("name", ["joints are cut", "time steps of contacts", "variational steps", "collisions"])
def test_a_run_that_is_interrupted_goes_on_to_the_same_bits(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene, duration = scene_of(name)
    whole, part = tmp_path / "whole.h5", tmp_path / "part.h5"
    sim.run(scene, duration=duration, output=whole).close()
    monkeypatch.setattr(simulator, "STEPS_A_CALL", FEW)
    at = random.Random(name).uniform(0.2, 0.8) * duration

    def interrupt(t: float, span: float, events: int) -> None:
        if t > at:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt) as stop:
        patch.setattr(recorded_runs.time, "perf_counter", iter(range(10**9)).__next__)  # asked after every call
        sim.run(scene, duration=duration, output=part, progress=interrupt)
    assert "is kept in" in stop.value.kept  # type: ignore[attr-defined]
    with sim.load_recording(part) as left:
        assert not left.complete and 0.1 * duration < left.time[-1] < duration
        assert left.last_state is not None and left.last_state.counts.rows == left.rows  # nothing is made again
    sim.resume(part).close()
    assert_same(part, whole, but="state")


# A command that rests after every call of kernels, so that it goes on for ten seconds however fast a machine is.
SLOWLY = """
import sys, time
from sim.cli.main import main
from sim.recording import writer

flush = writer.Recorder.flush

def flush_and_rest(self):
    flush(self)
    time.sleep(0.05)

writer.FLUSH_PERIOD, writer.Recorder.flush = 0.0, flush_and_rest
sys.exit(main())
"""


def keeps_state(path: Path) -> bool:
    """Tell whether a recording that is being written has rows, and a state to go on from."""
    try:
        with sim.load_recording(path) as recording:
            return recording.rows > 0 and recording.last_state is not None
    except sim.RecordingError:
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_a_signal_ends_goes_on_to_the_same_bits(number: signal.Signals, tmp_path: Path) -> None:
    whole, part = tmp_path / "whole.h5", tmp_path / "part.h5"
    command = ["run", "double_pendulum", "-q", "--duration", "600 s"]
    with start([sys.executable, "-c", SLOWLY, *command, "-o", str(part)]) as child:
        while not (part.exists() and keeps_state(part)):
            assert child.poll() is None, child.communicate()
        child.send_signal(number)
        said = child.communicate()[1]
    assert child.returncode == 128 + number and "is kept in" in said
    assert main([*command, "-o", str(whole)]) == 0
    assert main(["run", "--resume", str(part), "-q"]) == 0
    assert_same(part, whole, but="state")


@pytest.mark.parametrize("name", RUNS)
def test_a_run_from_a_states_file_follows_the_run_that_it_was_taken_of(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene, duration = scene_of(name)
    whole, part, kept = (tmp_path / f"{word}.h5" for word in ("whole", "part", "state"))
    rest, at, taken = recorded_runs.Journal.rest, random.Random(name).uniform(0.1, 0.7) * duration, []

    def rest_and_take(self: recorded_runs.Journal, take: Callable[[], sim.State], **how: bool) -> None:
        state = take()
        if not taken or state.t <= at:
            taken[:] = state, self.recorder.count, len(self.recorder.events)
        rest(self, take, **how)

    with monkeypatch.context() as patch:
        patch.setattr(recorded_runs.Journal, "rest", rest_and_take)
        patch.setattr(simulator, "STEPS_A_CALL", FEW)
        sim.run(scene, duration=duration, output=whole).close()
    state, rows, happened = taken
    state.save(kept)
    sim.run(scene, duration=duration, output=part, start=str(kept)).close()
    with sim.load_recording(part) as found, sim.load_recording(whole) as expected:
        assert found.time[0] == state.t and 0 < rows < expected.rows
        assert found.begun is not None and expected.begun is None
        for field in (name for name in row_names() if found.tells(name)):
            assert found.array(field)[1:].tobytes() == expected.array(field)[rows:].tobytes(), field
        assert [(e.time, e.name, e.text) for e in found.events] == [
            (e.time, e.name, e.text) for e in expected.events[happened:]
        ]
    if name in ("joints are cut", "variational steps", "wheels"):
        verdict = sim.verify(part)
        assert verdict.problems == [] and "began from a state" in " ".join(verdict.notes)
        assert verdict.bit_equal


def test_what_no_run_can_begin_from_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording, state, out = tmp_path / "r.h5", tmp_path / "s.h5", str(tmp_path / "out.h5")
    assert main(["run", "four_bar", "-o", str(recording), "-q", "--duration", "0.1 s"]) == 0
    simulator = sim.Simulator(sim.compile(sim.load(SCENES / "four_bar.yaml")))
    simulator.advance(0.2)
    simulator.snapshot().save(state)
    half = tmp_path / "half.h5"
    half.write_bytes(state.read_bytes()[: len(state.read_bytes()) // 2])
    cases = {
        ("--resume", str(state)): f"{state} is a state, which names no scene; expected SCENE with it",
        (
            "four_bar",
            "--resume",
            str(recording),
        ): f"{recording} is no state (`State.save`) from which SCENE could begin",
        ("four_bar", "--resume", str(half)): f"{half} is no state",
        ("four_bar", "--resume", str(tmp_path / "none.h5")): f"there is no file {tmp_path / 'none.h5'}",
        ("pendulum", "--resume", str(state)): "does not fit scene 'pendulum': its bodies are 'world', 'crank'",
        ("four_bar", "--resume", str(state), "--rtol", "1e-5"): "is of a run with rtol 1e-08, the scene says 1e-05",
        ("four_bar", "--resume", str(state), "--duration", "0.1 s"): "duration: found 0.1 s, and the state is of 0.2 s",
        ("--resume", str(recording), "--seed", "3"): "--seed beside --resume: the recording says it",
    }
    for arguments, said in cases.items():
        assert main(["run", *arguments, *(() if arguments[0] == "--resume" else ("-o", out))]) == 2, arguments
        assert said in capsys.readouterr().err.replace("\n", " "), arguments
        assert not Path(out).exists()
    with pytest.raises(sim.StateError, match=r"triggers: found 'release' at 1 s, and the state is of 2 s"):
        swing = sim.Simulator(sim.compile(sim.load(SCENES / "monkey_swing.yaml")))
        swing.advance(2.0)
        sim.run(swing.model.scene, start=swing.snapshot(), triggers=[("release", 1.0)], duration=3.0)
