"""What Python callers hand over: paths where scenes are wanted, and a sentence for what cannot be meant."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sim
from sim.cli.main import main
from sim.scene.library import schema_path
from sim.scene.load import load_checked, load_text
from sim.simulation.recorded_runs import LEAST_RTOL, MOST_RTOL

TEXT = """
schema: 1
name: thrown
bodies: {ball: {mass: 1 kg, com: [0, 0, 1], inertia: [1, 1, 1]}}
events: {go: {key: let go, impulse: {body: ball, linear: [1, 0, 0]}}}
simulate: {duration: 0.1 s}
"""


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "thrown.yaml"
    file.write_text(TEXT, encoding="utf-8")
    return file


def simulator() -> sim.Simulator:
    return sim.Simulator(sim.compile(load_text(TEXT)))


def test_paths_and_names_stand_for_scenes(path):
    for source in (path, str(path)):
        assert sim.compile(source).body_names == ("world", "ball")
        assert sim.check(source).ok
        assert sim.info(source)["mobility"] == 6
        with sim.run(source, duration=0.02) as recording:
            assert recording.time[-1] == pytest.approx(0.02)
    assert sim.check("pendulum").ok


def test_check_reports_what_a_file_says_wrong(tmp_path):
    file = tmp_path / "wrong.yaml"
    file.write_text(TEXT.replace("mass: 1 kg", "mass: 1 m"), encoding="utf-8")
    report = sim.check(file)
    assert not report.ok
    (problem,) = report.problems
    assert problem.where is not None and problem.where.line == 4
    assert sim.check(tmp_path / "absent.yaml").problems


def test_check_reports_warnings_of_a_file(tmp_path):
    file = tmp_path / "odd.yaml"
    file.write_text(TEXT.replace("simulate:", "render: {fps: 1000}\nsimulate:"), encoding="utf-8")
    _, warnings = load_checked(file)
    assert [problem for problem in sim.check(file).problems if problem.severity == "warning"] == warnings


def back(s: sim.Simulator) -> None:
    s.advance(0.05)
    s.advance(0.01)


WRONG = {
    "check": (lambda: sim.check(5), r"scene: found 5 \(int\); expected a path, or a scene that sim.load returned"),
    "compile": (lambda: sim.compile(None), r"scene: found None \(NoneType\)"),
    "run": (lambda: sim.run([1]), r"scene: found \[1\] \(list\)"),
    "linearize": (lambda: sim.linearize(5), r"scene: found 5"),
    "load": (lambda: sim.load(5), "source: found 5; expected the path of a scene"),
    "load set": (lambda: sim.load("pendulum", set=3), "set: found 3; expected names and values"),
    "info at": (lambda: sim.info(load_text(TEXT), at=-1), "at: found -1; expected a time of zero or more"),
    "load_recording": (lambda: sim.load_recording(5), "path: found 5; expected the path of a recording"),
    "verify": (lambda: sim.verify(5), "path: found 5; expected the path of a recording"),
    "Simulator": (lambda: sim.Simulator("pendulum"), "model: found 'pendulum' .*; expected a model that sim.compile"),
    "rollout": (lambda: sim.rollout(5, [0.0]), "model: found 5"),
    "seed": (lambda: sim.run(load_text(TEXT), seed=1.5), "seed: found 1.5; expected a whole number"),
    "duration": (lambda: sim.run(load_text(TEXT), duration=-1), "duration: found -1; expected a time of zero or more"),
    "duration nan": (lambda: sim.run(load_text(TEXT), duration=np.nan), "duration: found nan"),
    "duration text": (lambda: sim.run(load_text(TEXT), duration="2 s"), "duration: found '2 s' .*; expected a number"),
    "triggers": (lambda: sim.run(load_text(TEXT), triggers=["let go"]), "triggers: found .*; expected pairs of a key"),
    "triggers at": (lambda: sim.run(load_text(TEXT), triggers=[("let go", -1)]), "triggers, 'let go': found -1"),
    "rtol": (lambda: sim.run(load_text(TEXT), rtol=2), "rtol: found 2; expected a number from 1e-14 to 0.1"),
    "rtol of steps": (
        lambda: sim.run(load_text(TEXT.replace("0.1 s}", "0.1 s, method: rk4}")), rtol=1e-6),
        "rtol: method 'rk4' takes steps of one length and has no tolerance",
    ),
    "restore": (lambda: simulator().restore(5), r"restore: found 5 \(int\); expected what snapshot\(\) returned"),
    "advance": (lambda: back(simulator()), r"until: found 0.01 s, and the run is at 0.05 s; reset\(\) or restore"),
    "advance nan": (lambda: simulator().advance(np.nan), "until: found nan"),
    "advance text": (lambda: simulator().advance("1 s"), "until: found '1 s'"),
    "force": (lambda: simulator().apply_wrench("ball", force_W=[50, 0]), r"force_W: found \[50, 0\] .*; expected 3"),
    "force text": (lambda: simulator().apply_wrench("ball", force_W="up"), "force_W: numbers are expected, found str"),
    "torque": (lambda: simulator().apply_wrench("ball", torque_W=[0, 0, np.inf]), r"torque_W: .*numbers \[N m\]"),
    "point": (lambda: simulator().apply_wrench("ball", point_W=3), "point_W: found 3"),
    "span": (lambda: simulator().apply_wrench("ball", duration=-1), "duration: found -1"),
    "body": (lambda: simulator().apply_wrench(5), "no body named 5"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_get_sentences(name):
    call, says = WRONG[name]
    with pytest.raises((ValueError, sim.SimulationError), match=says):
        call()


def test_a_tolerance_of_the_caller_is_recorded_and_repeated(path, tmp_path, monkeypatch):
    with sim.run(path, rtol=1e-4) as recording:
        assert recording.settings["rtol"] == 1e-4
    monkeypatch.chdir(tmp_path)
    assert main(["run", str(path), "--rtol", "1e-5", "-q"]) == 0
    with sim.load_recording("thrown.h5") as recording:
        assert recording.settings["rtol"] == 1e-5
        assert sim.verify(recording).tolerances[0] == 1e-5


@pytest.mark.parametrize(
    ("typed", "says"),
    [("much", "--rtol: 'much' is not a number"), ("1", "--rtol: found 1.0; expected a number from 1e-14 to 0.1")],
)
def test_a_tolerance_that_is_none_is_refused(typed, says, path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["run", str(path), "--rtol", typed]) == 2
    assert says in capsys.readouterr().err


def test_tolerances_are_those_of_the_schema():
    said = json.loads(schema_path().read_text(encoding="utf-8"))["$defs"]["simulate"]["properties"]["rtol"]
    assert (said["minimum"], said["maximum"]) == (LEAST_RTOL, MOST_RTOL)


def test_options_are_called_as_where_they_are_given(tmp_path, monkeypatch, capsys):
    (tmp_path / "own.py").write_text("", encoding="utf-8")
    file = tmp_path / "own.yaml"
    file.write_text(TEXT + 'controllers: {own: {type: "./own.py:Own"}}\n', encoding="utf-8")
    with pytest.raises(sim.SceneError, match="if you trust it, load it with trust=True"):
        sim.load(file)
    assert main(["info", str(file)]) == 2
    assert "if you trust it, add --trust" in capsys.readouterr().err
    with pytest.raises(sim.SceneError, match=r"set\['length'\]"):
        sim.load("pendulum", set={"length": "3 kgg"})
    assert main(["info", "pendulum", "--set", "length=3 kgg"]) == 2
    assert "--set length" in capsys.readouterr().err


def test_the_package_shows_its_own_names_only():
    shown = [name for name in dir(sim) if not name.startswith("__")]
    assert shown == sorted(sim.__all__)
    assert all(getattr(sim, name) is not None for name in shown)
