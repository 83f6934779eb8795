"""`sim doctor`: it finds what is wrong and says what to do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from subprocess import PIPE

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


NEEDS = [
    "numpy>=2.0", "typer<0.29,>=0.26", "imageio[ffmpeg,pyav]>=2; python_version >= '3.0'",
    "tomli~=2.0; python_version < '3'",
    "Types_PyYAML", "pytest>=8; extra == 'test'", "pip!=1.0 ; extra == 'a' or extra == 'b'",
]  # fmt: skip
THERE = {"numpy": "2.4.6", "typer": "0.28.1rc1", "imageio": "2.37.0", "Types_PyYAML": "6.0"}


def installed(monkeypatch, **versions):
    """Let these needs be those of the package, and these versions what is installed."""
    there = {**THERE, **versions}

    def version(name):
        if there.get(name) is None:
            raise doctor.metadata.PackageNotFoundError(name)
        return there[name]

    monkeypatch.setattr(doctor.metadata, "requires", lambda name: NEEDS)
    monkeypatch.setattr(doctor.metadata, "version", version)
    return doctor.libraries()


def test_requirements_are_read_as_installers_read_them(monkeypatch):
    finding = installed(monkeypatch)
    assert finding.ok and finding.to_do == ""
    assert finding.found == "numpy 2.4.6, typer 0.28.1rc1, imageio 2.37.0, Types_PyYAML 6.0"


def test_what_is_absent_or_too_old_is_named_with_a_command_that_a_shell_reads(monkeypatch, tmp_path):
    finding = installed(monkeypatch, numpy="1.26.4", typer="0.29.0", imageio=None)
    assert not finding.ok
    assert finding.found == (
        "numpy 1.26.4 (expected >=2.0), typer 0.29.0 (expected <0.29,>=0.26), no imageio, Types_PyYAML 6.0"
    )
    echo = finding.to_do.replace("pip install", "printf '%s\\n'", 1)
    shell = subprocess.run(["sh", "-c", echo], capture_output=True, text=True, cwd=tmp_path)
    assert shell.stdout.splitlines() == ["numpy>=2.0", "typer<0.29,>=0.26", "imageio[ffmpeg,pyav]>=2"]
    assert list(tmp_path.iterdir()) == []  # nothing was redirected into a file


def test_the_needs_of_this_package_are_met():
    finding = doctor.libraries()
    assert finding.ok, finding.found
    assert "typer" in finding.found


def test_a_cache_that_cannot_be_written(monkeypatch, tmp_path):
    monkeypatch.setattr(jit, "interpreted", lambda: False)
    monkeypatch.setattr(jit, "is_cold", lambda: True)
    monkeypatch.setattr(jit, "cache_folder", lambda: tmp_path / "a" / "b")
    assert doctor.kernel_cache().ok
    monkeypatch.setattr(doctor.os, "access", lambda path, mode: False)
    finding = doctor.kernel_cache()
    assert not finding.ok and str(tmp_path) in finding.to_do and "about a minute" in finding.found


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
@pytest.mark.timeout(1500)
@pytest.mark.skipif(jit.interpreted(), reason="nothing is compiled")
def test_after_compile_nothing_is_compiled(compiled):
    """A process that runs what there is adds no kernel, and takes none that came into the cache later."""
    kernels = next(f for f in compiled if f["what"] == "kernels")
    assert kernels["found"] == f"kept in {jit.cache_folder()}, filled"
    runs = [sys.executable, "-m", "tests.cli.first_runs"]
    found = json.loads(subprocess.run(runs, capture_output=True, text=True, timeout=400).stdout)
    assert found["taken"] > 20
    assert found["late"] == []


SHARED = """
import json
from numba.core import event
from sim.kernels.guards.spans import spans
from sim.simulation import precompile

class Compiled(event.Listener):
    names = []
    def on_start(self, start):
        self.names.append(start.data["dispatcher"].py_func.__qualname__)
    def on_end(self, end):
        pass

event.register("numba:compile", Compiled())
print("ready", flush=True)
input()
with precompile.claimed():
    precompile.compile_entries(spans)
print(json.dumps(Compiled.names))
"""


@pytest.mark.skipif(jit.interpreted(), reason="nothing is compiled")
def test_no_kernel_is_compiled_by_two_processes(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    both = [
        subprocess.Popen([sys.executable, "-c", SHARED], env=environment, text=True, stdin=PIPE, stdout=PIPE)
        for _ in range(2)
    ]
    for process in both:
        assert process.stdout.readline() == "ready\n"
    for process in both:
        process.stdin.write("\n")
        process.stdin.flush()
    compiled = [name for process in both for name in json.loads(process.communicate(timeout=100)[0])]
    assert {"put_motion", "spread_out", "path_departs"} < set(compiled)
    own = [name for name in compiled if "<locals>" not in name]  # of numba, some for each kind of number
    assert len(own) == len(set(own)) <= len(list(tmp_path.rglob("*.nbc")))
