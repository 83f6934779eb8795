"""The command as a person runs it: real scenes, real files, processes of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

from sim.recording import load_recording
from tests.support.processes import SIGNALS, start

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "sim.cli.main"]


def environment(**changes: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **changes}


def sim(*arguments: str, folder: Path, **changes: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, cwd=folder, env=environment(**changes), timeout=300
    )


def datasets(path: Path) -> dict[str, bytes]:
    """Every dataset of a recording, with the names that stand beside epochs."""
    found = {}

    def visit(name: str, item: h5py.Dataset | h5py.Group) -> None:
        if isinstance(item, h5py.Dataset):
            found[name] = str((item.dtype, item.shape)).encode() + np.asarray(item[()]).tobytes()
        elif name != "run":
            found.update({f"{name}@{key}": np.asarray(value).tobytes() for key, value in item.attrs.items()})

    with h5py.File(path) as file:
        file.visititems(visit)
    return found


def test_a_pendulum_from_text_to_table(tmp_path):
    result = sim("run", "pendulum", "--duration", "0.5", "--json", folder=tmp_path)
    assert result.returncode == 0, result.stderr
    summary = json.loads(result.stdout)
    assert summary["complete"] and summary["simulated_time"] == pytest.approx(0.5) and summary["steps"] > 0
    with load_recording(tmp_path / "pendulum.h5") as recording:
        assert recording.coordinate["hinge"][0] == pytest.approx(np.deg2rad(120))
        assert np.abs(recording.energy.balance).max() < 1e-7 * recording.energy.kinetic.max()
    assert sim("plot", "pendulum.h5", "coordinate('hinge')", "--csv", "a.csv", folder=tmp_path).returncode == 0
    assert len((tmp_path / "a.csv").read_text().splitlines()) == summary["rows"] + 1


def test_the_new_scene_runs_and_the_new_controllers_pass_their_tests(tmp_path):
    assert sim("new", "scene", "try", folder=tmp_path).returncode == 0
    result = sim("check", "try.yaml", folder=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    result = sim("run", "try.yaml", folder=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "2.0000 s  let go" in result.stdout
    assert sim("new", "controller", "spring", folder=tmp_path).returncode == 0
    assert sim("new", "controller", "digital", "--sampled", folder=tmp_path).returncode == 0
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment(), timeout=300)
    assert "4 passed" in result.stdout, result.stdout + result.stderr


def test_keys_settings_and_overwriting(tmp_path):
    options = ["swing", "-o", "a.h5", "--duration", "0.3", "--set", "seat=95 cm", "--quiet"]
    result = sim("run", *options, "--trigger", "let go@100 ms", folder=tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    with load_recording(tmp_path / "a.h5") as recording:
        assert [(event.name, event.time) for event in recording.events] == [("let go", 0.1)]
    assert sim("run", *options, folder=tmp_path).stderr.startswith("-o: 'a.h5' exists")


@pytest.mark.parametrize("number", SIGNALS)
def test_signals_keep_what_was_recorded(tmp_path, number):
    """In the background of a shell, where Ctrl-C is ignored, the other two end a run all the same."""
    ignored = [] if number == signal.SIGINT else [signal.SIGINT]
    command = [*COMMAND, "run", "swing", "--duration", "1000"]
    with start(command, ignored=ignored, cwd=tmp_path, env=environment()) as process:
        _wait_for_rows(tmp_path / "swing.h5", process)
        for ending in (*ignored, number):
            process.send_signal(ending)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number, err
    kept, ended = err.splitlines()[-2:]
    words = {signal.SIGINT: "interrupted"}.get(number, f"ended by {number.name}")
    assert "is kept in swing.h5" in kept and ended == words and out == ""
    with load_recording(tmp_path / "swing.h5") as recording:
        assert not recording.complete and recording.rows > 10
        assert np.isfinite(recording.position.array).all()


def test_kill_leaves_a_recording(tmp_path):
    with subprocess.Popen([*COMMAND, "run", "swing", "--duration", "1000"], cwd=tmp_path, env=environment()) as process:
        _wait_for_rows(tmp_path / "swing.h5", process)
        time.sleep(0.5)
        process.kill()
    with load_recording(tmp_path / "swing.h5") as recording:
        assert not recording.complete and recording.rows > 10
        assert np.isfinite(recording.position.array).all() and (np.diff(recording.time) >= 0).all()
        assert sum(len(epoch.q) for epoch in recording.epochs) == recording.rows


def _wait_for_rows(path: Path, process: subprocess.Popen[str], rows: int = 20) -> None:
    """Wait until a run has recorded so many rows: on a busy machine that takes a while after the file is there."""
    until = time.monotonic() + 120
    while True:
        assert process.poll() is None and time.monotonic() < until
        if path.exists():
            with load_recording(path) as recording:
                if recording.rows > rows:
                    return
        time.sleep(0.02)


@pytest.mark.film
@pytest.mark.usefixtures("opengl")
def test_equal_runs_are_equal_to_the_bit(tmp_path):
    """Another hash seed, another folder, and a film: every dataset is the same."""
    folders = [tmp_path / "a", tmp_path / "longer name"]
    for folder in folders:
        shutil.copytree(ROOT / "scenes", folder)
        scene = (folder / "swing.yaml").read_text()
        (folder / "swing.yaml").write_text(scene.replace("size: [1280, 720]", "size: [160, 90]"))
    results = [
        sim("run", "swing.yaml", folder=folders[0], PYTHONHASHSEED="1"),
        sim("run", "swing.yaml", "--video", "swing.mp4", folder=folders[1], PYTHONHASHSEED="2"),
    ]
    assert [result.returncode for result in results] == [0, 0], results[1].stderr
    assert (folders[1] / "swing.mp4").stat().st_size > 10_000
    first, second = (datasets(folder / "swing.h5") for folder in folders)
    assert len(first) > 50
    assert [name for name in first.keys() | second.keys() if first.get(name) != second.get(name)] == []


def test_no_opengl(tmp_path):
    """Where EGL finds no driver, the recording is kept and the sentence says what to install."""
    none = {"__EGL_VENDOR_LIBRARY_FILENAMES": "/nonexistent", "DISPLAY": "", "WAYLAND_DISPLAY": ""}
    result = sim("run", "pendulum", "--duration", "0.1", "--video", "a.mp4", folder=tmp_path, **none)
    assert result.returncode == 4, result.stderr
    assert result.stderr.startswith("no film: pictures need OpenGL") and "apt-get install" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("the recording is kept in pendulum.h5")
    assert (tmp_path / "pendulum.h5").exists() and not (tmp_path / "a.mp4").exists()
