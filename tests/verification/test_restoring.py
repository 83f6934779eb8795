"""Recordings carry data: no program of theirs is laid out or run, and a controller's file that changed is told."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path

import h5py
import pytest

import sim
from sim.cli.main import main
from sim.recording.container import strings, table
from sim.recording.restoring import _explained, restored
from sim.scene.problem import Problem, SceneError

SPRING = """
import dataclasses

from sim.plugin import Controller, parameter


@dataclasses.dataclass(kw_only=True)
class Spring(Controller):
    joint: str = parameter(kind="joint", about="joint")

    def torque(self, t, state, torque):
        c = self.view.columns[self.joint].start
        torque[c] -= STIFFNESS * state.coordinate[c]
"""
SCENE = """
schema: 1
name: a
bodies: {rod: {mass: 1, com: [0, 0, -1], inertia: [1, 1, 1]}}
joints: {hinge: {type: rotational, parent: world, child: rod, position: [0, 0, 0], axis: [0, 1, 0]}}
INCLUDE
initial: {hinge: 1 rad}
simulate: {duration: 0.1 s}
"""
HELD = 'controllers: {hold: {type: "./spring.py:Spring", joint: hinge}}'


def spring(stiffness: float) -> str:
    return SPRING.replace("STIFFNESS", str(stiffness))


@pytest.fixture
def recorded(tmp_path, monkeypatch) -> Path:
    """A run of a scene with a controller of a file beside it."""
    monkeypatch.chdir(tmp_path)
    Path("spring.py").write_text(spring(2.0))
    Path("a.yaml").write_text(SCENE.replace("INCLUDE", HELD))
    sim.run(sim.load("a.yaml", trust=True), output="a.h5").close()
    return Path("a.h5")


def forge(path: Path, **changed: bytes | dict[str, str]) -> None:
    """Write other texts into a recording."""
    with h5py.File(path, "r+") as file:
        for name, value in changed.items():
            del file[f"scene/{name}"]
            if isinstance(value, dict):
                file[f"scene/{name}"] = table(("file", "text"), sorted(value.items()))
            else:
                file[f"scene/{name}"] = strings([value.decode()]).reshape(())


@pytest.mark.parametrize("name", ["spring.py", "./spring.py", "FOLDER/spring.py", "../spring.py", "x/../spring.py"])
@pytest.mark.parametrize("beside", [True, False])
def test_python_that_a_recording_carries_never_runs(recorded, tmp_path, name, beside):
    marker = tmp_path / "ran"
    evil = f"open({str(marker)!r}, 'w')\n" + spring(2.0)
    forge(recorded, sources={name.replace("FOLDER", str(tmp_path)): evil})
    if beside:
        assert sim.verify(recorded, trust=True, quick=True).ok
    else:
        Path("spring.py").unlink()
        with pytest.raises(sim.SceneError, match=re.escape("there is no file './spring.py' beside the scene")):
            sim.verify(recorded, trust=True, quick=True)
    assert not marker.exists()


def test_python_of_a_carried_figure_never_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("parts").mkdir()
    Path("parts/spring.py").write_text(spring(2.0))
    Path("parts/figure.yaml").write_text("schema: 1\n" + HELD)
    Path("a.yaml").write_text(SCENE.replace("INCLUDE", "include: {figure: parts/figure.yaml}"))
    sim.run(sim.load("a.yaml", trust=True), output="a.h5").close()
    marker = tmp_path / "ran"
    with sim.load_recording("a.h5") as recording:
        assert list(recording.settings["controllers"]) == ["parts/spring.py"]
        carried = recording.sources
    evil = f"open({str(marker)!r}, 'w')\n" + spring(3.0)
    forge(Path("a.h5"), sources={**carried, "parts/spring.py": evil})
    assert sim.verify("a.h5", trust=True, quick=True).ok  # by the file that stands beside the figure
    assert not marker.exists()


def test_nothing_of_a_recording_is_laid_out(recorded, monkeypatch):
    """What is never a file is never run, nor left behind."""
    import tempfile

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a folder was made")

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    monkeypatch.setattr(Path, "write_text", refuse)
    with sim.load_recording(recorded) as recording:
        restored(recording, trust=True)


def test_a_controllers_file_that_changed_is_told(recorded, capsys):
    assert main(["verify", "a.h5", "--trust", "--quick"]) == 0
    assert "spring.py" not in capsys.readouterr().out
    Path("spring.py").write_text(spring(3.0))
    assert main(["verify", "a.h5", "--trust", "--quick"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "note: spring.py is not the file that ran when this was recorded (SHA-256" in told
    Path("spring.py").write_text("syntax error")
    assert main(["verify", "a.h5", "--trust", "--quick"]) == 2
    err = capsys.readouterr().err
    assert "'./spring.py' fails: SyntaxError" in err
    assert "spring.py is not the file that ran when this was recorded" in err


def test_older_recordings_tell_no_digest(recorded):
    with h5py.File(recorded, "r+") as file:
        settings = json.loads(file["scene/settings"][()])
    del settings["controllers"]
    forge(recorded, settings=json.dumps(settings).encode())
    notes = sim.verify(recorded, trust=True, quick=True).notes
    assert notes == ["the recording does not tell with which text of spring.py it ran; the file of today ran"]


def test_figures_and_meshes_come_from_the_recording_alone(tmp_path, monkeypatch):
    """By whatever name the scene was loaded; files that stand there now are not looked at."""
    home = tmp_path / "home"
    (home / "parts").mkdir(parents=True)
    (home / "parts" / "cube.obj").write_text(
        "".join(f"v {x} {y} {z}\n" for x in (0, 1) for y in (0, 1) for z in (0, 1)) + "f 1 2 3\n"
    )
    figure = "schema: 1\nbodies: {box: {mass: 2 kg, shapes: [{mesh: {file: cube.obj}}]}}\n"
    (home / "parts" / "box.yaml").write_text(figure)
    (home / "a.yaml").write_text(
        "schema: 1\nname: a\ninclude: [{figure: parts/box, prefix: p}, {figure: figures/monkey16.yaml, prefix: m}]\n"
    )
    monkeypatch.chdir(tmp_path)
    for number, name in enumerate(["home/a.yaml", str(home / "a.yaml")]):
        sim.run(sim.load(name), output=f"{number}.h5", duration=0.0).close()
    shutil.rmtree(home)
    for number in range(2):
        with sim.load_recording(f"{number}.h5") as recording:
            scene, notes = restored(recording)
            assert notes == [] and {body.name for body in scene.bodies} >= {"p.box", "m.forearm_l"}
            assert recording.shapes[0].kind == "mesh" or any(shape.kind == "mesh" for shape in recording.shapes)
    lost = dict(scene.sources)
    forge(Path("0.h5"), sources={file: text for file, text in lost.items() if not file.endswith("cube.obj")})
    with (
        sim.load_recording("0.h5") as recording,
        pytest.raises(sim.SceneError, match=re.escape("'cube.obj' is not among the")),
    ):
        restored(recording)
    forge(Path("0.h5"), sources={})
    with (
        sim.load_recording("0.h5") as recording,
        pytest.raises(sim.SceneError, match=re.escape("'parts/box' is not among the")),
    ):
        restored(recording)


def test_carried_files_that_include_one_another_are_refused(recorded):
    text = SCENE.replace("INCLUDE", "include: {figure: b.yaml, prefix: b}").encode()
    circle = {"b.yaml": "schema: 1\ninclude: {figure: b.yaml, prefix: b}\n"}
    forge(recorded, text=text, sources=circle)
    with pytest.raises(sim.SceneError, match=re.escape("in a circle: b.yaml -> b.yaml")):
        sim.verify(recorded)


def test_of_files_that_changed_controllers_alone_explain_a_scene_that_is_not_read(tmp_path, monkeypatch):
    """Not those that are as they were, gone, or no text of a program; older recordings tell of none."""
    monkeypatch.chdir(tmp_path)
    for name in ("same.py", "other.py", "other.obj"):
        Path(name).write_text("x = 1\n")
    digest = hashlib.sha256(b"x = 1\n").hexdigest()
    said = {"same.py": digest, "other.py": "ab", "other.obj": "ab", "gone.py": "ab", "gone.obj": "ab"}
    error = SceneError([Problem(where=None, path="joints", what="what it is")])
    found = _explained(error, {"controllers": said}).problems
    assert found[0] == error.problems[0] and len(found) == 2
    assert (
        found[1].severity == "warning" and found[1].what == "other.py is not the file that ran when this was recorded"
    )
    assert list(_explained(error, {}).problems) == list(error.problems)
