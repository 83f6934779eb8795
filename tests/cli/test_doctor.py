"""`sim doctor`: it finds what is wrong and says what to do."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from sim.cli import doctor
from sim.cli.main import main
from sim.kernels import jit


def test_everything_is_looked_at(engine, capsys, monkeypatch):
    monkeypatch.setattr(doctor, "FRAME", "print('a renderer')")
    main(["doctor", "--json"])
    data = json.loads(capsys.readouterr().out)
    assert [f["what"] for f in data["findings"]] == [
        "Python", "libraries", "kernels", "OpenGL", "ffmpeg", "scenes", "this folder",
    ]  # fmt: skip
    found = {f["what"]: f for f in data["findings"]}
    assert found["OpenGL"] == {"what": "OpenGL", "ok": True, "found": "a renderer", "to_do": ""}
    assert found["Python"]["ok"] and found["scenes"]["ok"] and found["this folder"]["ok"]


def test_a_driver_that_fails_or_crashes_is_told(engine, capsys, monkeypatch):
    monkeypatch.setattr(doctor, "LOOKS", (doctor.opengl,))
    monkeypatch.setattr(doctor, "FRAME", "raise RuntimeError('RenderError: no EGL')")
    assert main(["doctor"]) == 2
    out = capsys.readouterr().out
    assert "wrong" in out and "no EGL" in out and "pictures and films need it" in out
    monkeypatch.setattr(doctor, "FRAME", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert main(["doctor", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["findings"][0]["found"] == "ended by signal 9"


def test_a_cache_that_cannot_be_written(monkeypatch, tmp_path):
    monkeypatch.setattr(jit, "interpreted", lambda: False)
    monkeypatch.setattr(jit, "is_cold", lambda: True)
    monkeypatch.setattr(jit, "cache_folder", lambda: tmp_path / "a" / "b")
    assert doctor.kernel_cache().ok
    monkeypatch.setattr(doctor.os, "access", lambda path, mode: False)
    finding = doctor.kernel_cache()
    assert not finding.ok and str(tmp_path) in finding.to_do and "half a minute" in finding.found


def test_what_is_not_compiled_yet_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(jit, "interpreted", lambda: False)
    monkeypatch.setattr(jit, "_interpret", False)
    monkeypatch.setattr(jit, "cache_folder", lambda: tmp_path)
    assert "empty: the first run compiles" in doctor.kernel_cache().found
    (tmp_path / "complete").touch()
    assert doctor.kernel_cache().found.endswith("sim doctor --compile compiles that, too")
    (tmp_path / "everything").touch()
    assert doctor.kernel_cache().found.endswith(", filled")


@pytest.mark.slow
@pytest.mark.skipif(jit.interpreted(), reason="nothing is compiled")
def test_after_compile_nothing_is_compiled(tmp_path):
    """In a cache of its own: `sim doctor --compile`, then a process that runs what there is and adds nothing."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    ask = [sys.executable, "-m", "sim.cli.main", "doctor", "--compile", "--json"]
    asked = subprocess.run(ask, env=environment, capture_output=True, text=True, timeout=400)
    kernels = next(f for f in json.loads(asked.stdout)["findings"] if f["what"] == "kernels")
    assert kernels["found"].startswith(f"kept in {tmp_path}") and kernels["found"].endswith(", filled")
    runs = [sys.executable, "-m", "tests.cli.first_runs"]
    found = json.loads(subprocess.run(runs, env=environment, capture_output=True, text=True, timeout=400).stdout)
    assert found["before"] > 100
    assert found["added"] == []
