"""What is shipped, and what the README promises."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from sim.kernels import jit

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    (made,) = folder.glob("brachiate-*.whl")
    return made


def test_the_wheel_holds_the_data(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("scenes", "schema"):
        files = [path for path in (ROOT / folder).rglob("*") if path.suffix in (".yaml", ".json")]
        assert files
        for path in files:
            assert f"sim/data/{path.relative_to(ROOT).as_posix()}" in names
    for needed in ("sim/py.typed", "render/py.typed", "plugins/py.typed", "sim/templates/scene.yaml.txt"):
        assert needed in names
    assert not [name for name in names if name.startswith(("tests/", "bench/", ".ci/"))]


def test_an_unpacked_wheel_finds_its_scenes(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    code = "import sim; from sim.cli.main import main; print(sim.__file__); main(['list']); main(['schema', '--path'])"
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": "site"},
        timeout=60,
    )
    lines = result.stdout.splitlines()
    assert result.returncode == 0, result.stderr
    assert Path(lines[0]) == tmp_path / "site" / "sim" / "__init__.py"
    assert any(line.startswith("swing ") for line in lines)
    assert Path(lines[-1]) == tmp_path / "site" / "sim" / "data" / "schema" / "scene.schema.json"
    assert Path(lines[-1]).is_file()


def test_controllers_are_offered_as_entry_points():
    from sim.scene.controllers import BUILT_IN

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["sim.simulation.control"] == BUILT_IN
    assert project["scripts"]["sim"] == "sim.cli.main:entry"


def test_the_readme_has_its_commands_once():
    """The script of the checks takes them from there, so they are one line each."""
    lines = README.splitlines()
    for begin in (
        "python3 -m venv .venv && .venv/bin/pip install . &&",
        "python3 -m venv .venv && .venv/bin/pip install -e",
    ):
        assert len([line for line in lines if line.startswith(begin)]) == 1
    assert len([line for line in lines if line.startswith("apt-get install -y ")]) == 1


def test_the_readme_names_the_packages_of_the_message():
    from render.stage import PACKAGES

    assert f"apt-get install -y {PACKAGES}" in README


def test_the_readme_links_to_what_exists():
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(targets) > 8
    absent = [target for target in targets if "://" not in target and not (ROOT / target).exists()]
    assert absent == []


def test_the_readme_scene_lets_go(tmp_path):
    import sim

    (text,) = re.findall(r"```yaml\n(.*?)```", README, flags=re.DOTALL)
    (tmp_path / "let_go.yaml").write_text(text)
    with sim.run(tmp_path / "let_go.yaml") as recording:
        assert [event.name for event in recording.events] == ["let go"]
        assert 0.3 < recording.events[0].time < 1.0


RUN = """
import sys
from numba.core import event
from sim.cli.main import main

class Compiled(event.Listener):
    def on_start(self, start):
        print("compiled", start.data["dispatcher"].py_func.__qualname__)
    def on_end(self, end):
        pass

event.register("numba:compile", Compiled())
for name in ("swing", "dominoes"):
    main(["run", name, "--duration", "0.1", "--quiet", "-o", name + ".h5"])
main(["doctor"])
"""


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.skipif(platform.machine() != "x86_64" or jit.interpreted(), reason="kernels in wheels are for x86-64")
def test_a_wheel_that_is_asked_to_brings_its_kernels(tmp_path):
    """Where they fit nothing is compiled, whatever its cache has; where they do not, the doctor says why."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    asked = {**os.environ, "HATCH_BUILD_HOOKS_ENABLE": "1"}
    result = subprocess.run(command, capture_output=True, text=True, timeout=1400, env=asked)
    assert result.returncode == 0, result.stdout + result.stderr
    (made,) = tmp_path.glob("brachiate-*.whl")
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert made.name.endswith(f"-{version}-{version}-linux_x86_64.whl")
    site = tmp_path / "site"
    zipfile.ZipFile(made).extractall(site)
    environment = {"PYTHONPATH": str(site), "XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": os.environ["PATH"]}

    def run(code: str, **more: str) -> str:
        command = [sys.executable, "-P", "-c", code]
        there = environment | more
        return subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path, env=there).stdout

    told = run(RUN)
    assert "compiled" not in told and "came with the program; kept in" in " ".join(told.split())
    assert not list((tmp_path / "cache").rglob("*.nbc"))
    doctor = "from sim.cli.main import main; main(['doctor'])"
    refused = " ".join(run(doctor, NUMBA_BOUNDSCHECK="1").split())
    assert "came with the program are not used, made for checks of indices off, not 1" in refused
