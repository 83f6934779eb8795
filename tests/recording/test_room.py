"""Recordings that would be large: told before the run, refused where nobody said that it is meant."""

from __future__ import annotations

import json
import os
import shutil
from types import SimpleNamespace

import pytest

import sim
from sim.cli.main import main
from sim.recording import room
from sim.scene.load import load_text

SCENE = """
schema: 1
name: ball
bodies: {ball: {mass: 1 kg, shapes: [{sphere: {center: [0, 0, 1], radius: 0.1}}]}}
simulate: {duration: 1 s, record: RATE}
"""


@pytest.fixture
def disk(monkeypatch):
    """A disk with room for 4 TB."""
    about = SimpleNamespace(free=4e12)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: about)
    return about


def scene(rate="100 Hz"):
    return load_text(SCENE.replace("RATE", rate))


@pytest.mark.parametrize("output", ["ball.h5", None])
def test_a_run_that_would_fill_the_disk_is_refused(tmp_path, monkeypatch, disk, output):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(sim.RecordingError) as caught:
        sim.run(scene("1e9 Hz"), output=output, duration=1e3)
    assert str(caught.value) == (
        f"{output or 'ball'}: about 1e+12 rows are expected (simulate.record: 1e+09 Hz, for 1000 s), 653 TB, and 4 TB "
        "are free: nothing was run; record less often, or a shorter time, or run it with large=True where it is meant"
    )
    assert list(tmp_path.iterdir()) == []


def test_no_number_is_too_large_to_be_refused(disk):
    with pytest.raises(sim.RecordingError, match=r"about 1e\+18 rows"):
        sim.run(scene("1e9 Hz"), duration=1e30)


def test_the_command_names_its_option(tmp_path, monkeypatch, disk, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ball.yaml").write_text(SCENE.replace("RATE", "1e9 Hz"))
    assert main(["run", "ball.yaml", "--json"]) == 2
    said = json.loads(capsys.readouterr().out)["error"]
    assert said.startswith("ball.h5: about 1e+09 rows are expected") and "653 GB: nothing was run" in said
    assert "or add --large where it is meant" in said and not (tmp_path / "ball.h5").exists()


def test_what_is_allowed_runs(tmp_path, monkeypatch, disk, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(room, "MOST", 1e4)
    (tmp_path / "ball.yaml").write_text(SCENE.replace("RATE", "100 Hz"))
    assert main(["run", "ball.yaml"]) == 2
    disk.free = 1e4
    assert main(["run", "ball.yaml"]) == 2
    assert main(["run", "ball.yaml", "--large"]) == 0
    told = capsys.readouterr().err.splitlines()[-1]
    assert told == (
        "ball.h5: about 100 rows are expected (simulate.record: 100 Hz, for 1 s), 0.0653 MB, and 0.01 MB are free"
    )


def test_gigabytes_are_told_before_they_are_written(monkeypatch, disk):
    """What is told comes before the first row."""
    monkeypatch.setattr(room, "TOLD", 1e4)
    order: list[str] = []
    sim.run(scene(), tell=order.append, progress=lambda t, *_: order.append(f"{t:g}")).close()
    assert order[0] == "ball: about 100 rows are expected (simulate.record: 100 Hz, for 1 s), 0.0653 MB"
    assert len(order) > 1 and order[-1] == "1"
    order.clear()
    monkeypatch.setattr(room, "TOLD", 1e6)
    sim.run(scene(), tell=order.append).close()
    assert order == []


def test_what_is_expected_is_what_is_written(tmp_path, disk):
    """A row in a file takes what was foretold, but for what the file says once."""
    sizes = []
    for rate in (1000, 5000):
        path = tmp_path / f"{rate}.h5"
        sim.run(scene(f"{rate} Hz"), output=path).close()
        sizes.append(os.path.getsize(path))
    with sim.load_recording(path) as recording:
        found = (sizes[1] - sizes[0]) / 4000
        assert found == pytest.approx(653, abs=2) and recording.rows == 5001
