"""The other verbs, and what they import."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import sim
from sim.cli import drawing
from sim.cli.main import main
from sim.scene.problem import Place, Problem
from tests.cli import fakes

ROOT = Path(__file__).parents[2]


def imported(*arguments: str) -> tuple[int, set[str]]:
    """Run a command in a new process and return its exit code and the modules it imported."""
    code = (
        "import sys\nfrom sim.cli.main import main\n"
        f"code = main({list(arguments)!r})\n"
        "print('\\nMODULES', code, *sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60)
    code, *modules = result.stdout.splitlines()[-1].removeprefix("MODULES ").split()
    return int(code), set(modules)


def test_the_version_costs_no_imports():
    code, modules = imported("--version")
    assert code == 0
    assert not modules & {"numpy", "numba", "scipy", "h5py", "vispy", "matplotlib", "yaml", "pydantic", "rich.console"}


def test_a_check_loads_neither_recordings_nor_a_compiler():
    code, modules = imported("check", str(ROOT / "scenes" / "four_bar.yaml"))
    assert code == 0
    assert "sim.analysis.report" in modules  # it was checked
    assert not modules & {"numba", "h5py", "sim.recording", "vispy", "matplotlib"}


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"brachiate {sim.__version__}\n"


@pytest.mark.parametrize(
    "verb", ["run", "check", "info", "render", "plot", "linearize", "verify", "new", "schema", "list", "doctor"]
)
def test_help_of_every_verb(verb, capsys):
    assert main([]) == 0
    assert f" {verb} " in capsys.readouterr().out
    assert main([verb, "--help"]) == 0
    assert "Usage: sim " + verb in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["rum"], "sim: no such command 'rum'"),
        (["run"], "give a scene, or --resume RECORDING"),
        (["new", "scene"], "sim new scene: missing argument 'NAME'"),
        (["list", "things"], "sim list: invalid value for '"),
        (["schema", "pdd"], "no controller type named 'pdd'; did you mean 'pd'?"),
        (["new", "scene", "../x"], "'../x' is no name for a file here"),
        (["new", "controller", "a-b"], "'a-b' cannot be the name of a Python file"),
        (["render", "a.h5", "-o", "a.avi"], "-o: 'a.avi' should end in .mp4 or .gif or .png"),
        (["render", "a.h5", "-o", "a.png", "--size", "big"], "--size: 'big' is not of the form WIDTHxHEIGHT"),
        (["render", "swing", "-o", "a.mp4"], "swing is a scene that has not run"),
        (["render", "a.h5", "-o", "a.png", "--camera", "azimut=2"], "camera: 'azimut=2' is not one of"),
        (["render", "swing", "-o", "a.png", "--trail", "a.tip"], "swing is a scene that has not run"),
        (["plot", "a.h5"], "there is no file a.h5"),
        (["plot", "a.h5", "-o", "a.jpg"], "-o: 'a.jpg' should end in .png or .svg or .pdf"),
    ],
)
def test_wrong_options_are_one_sentence(engine, capsys, arguments, sentence):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1, err
    assert err.startswith(sentence)


def test_check_of_a_good_scene(engine, capsys):
    engine.report = fakes.Report(notes=["loop grip_l: 3 redundant rows"], pose_yaml="elbow_l: 70 deg\n")
    assert main(["check", "swing"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "loop grip_l: 3 redundant rows"
    assert "elbow_l: 70 deg" in out
    assert out.splitlines()[-1] == "swing: no problems (3 bodies, 1 loops)"


def test_check_of_bad_scenes(engine, capsys):
    assert main(["check", "bad.yaml"]) == 2
    assert capsys.readouterr().out.splitlines()[-1] == "2 problems, nothing was run"
    warning = Problem(where=Place("a.yaml", 1, 1), path="joints.a", what="is beyond its limits", severity="warning")
    error = Problem(where=None, path="joints.b", what="cannot close by 3 mm")
    engine.report = fakes.Report(problems=[warning, error], ok=False)
    assert main(["check", "a.yaml"]) == 2
    assert capsys.readouterr().out.splitlines() == [
        "a.yaml:1:1: warning: joints.a: is beyond its limits",
        "joints.b: cannot close by 3 mm",
        "1 problem, 1 warning, nothing was run",
    ]
    engine.report, engine.warnings = fakes.Report(), [warning]
    assert main(["check", "a.yaml"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("a: no problems, 1 warning")


def test_check_as_json(engine, capsys):
    assert main(["check", "bad.yaml", "--json"]) == 2
    data = json.loads(capsys.readouterr().out)
    assert not data["ok"] and [p["line"] for p in data["problems"]] == [3, None]
    assert main(["check", "swing", "--json", "--set", "a=1 m"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"] == {"bodies": 3, "loops": 1}
    assert engine.loaded["set"] == {"a": "1 m"}


def test_info(engine, capsys):
    assert main(["info", "high_bar", "--json", "--at", "2 s"]) == 0
    assert json.loads(capsys.readouterr().out) == engine.information
    assert engine.asked == {"at": 2.0}
    assert main(["info", "high_bar"]) == 0
    out = capsys.readouterr().out
    assert "joint coordinates" in out and "24" in out and "a, b" in out
    assert main(["info", "high_bar", "--json", "--matrices"]) == 0 and engine.asked == {"at": None, "matrices": True}
    capsys.readouterr()
    assert main(["info", "high_bar", "--matrices"]) == 2
    assert "--matrices: numbers of matrices are told with --json alone" in capsys.readouterr().err


def test_lists(engine, capsys):
    assert main(["list", "--json"]) == 0
    found = {entry["name"]: entry["about"] for entry in json.loads(capsys.readouterr().out)}
    assert found["pendulum"].startswith("A rod with a heavy ball")
    assert "figures/monkey16" in found
    assert main(["list"]) == 0
    assert "pendulum" in capsys.readouterr().out
    assert main(["list", "controllers", "--json"]) == 0
    kinds = {entry["name"]: entry["about"] for entry in json.loads(capsys.readouterr().out)}
    assert kinds.keys() >= {"torque", "pd", "limits", "swing_pump"} and all(kinds.values())


def test_schemas(engine, capsys):
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "Scene"
    assert main(["schema", "--path"]) == 0
    assert Path(capsys.readouterr().out.strip()).name == "scene.schema.json"
    assert main(["schema", "pd"]) == 0
    assert "joints" in json.loads(capsys.readouterr().out)["properties"]


def test_new_files_are_written_once(engine, capsys):
    assert main(["new", "scene", "my-scene"]) == 0
    assert capsys.readouterr().out.endswith("run it: sim run my-scene.yaml --video my-scene.mp4\n")
    text = Path("my-scene.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=") and "@" not in text
    assert Path(text.splitlines()[0].partition("=")[2]).is_file()
    assert yaml.safe_load(text)["name"] == "my-scene"
    assert main(["new", "controller", "soft_hand"]) == 0
    assert "class SoftHand(Controller)" in Path("soft_hand.py").read_text()
    capsys.readouterr()
    assert main(["new", "controller", "soft_hand", "--sampled"]) == 2
    assert capsys.readouterr().err == "soft_hand.py exists; nothing was written\n"
    assert "def torque" in Path("soft_hand.py").read_text()


def test_no_opengl_is_exit_code_4(engine, capsys, monkeypatch):
    from render import stage
    from render.view import RenderError

    def refuse():
        raise RenderError("pictures need OpenGL, which does not start here")

    monkeypatch.setattr(stage, "check", refuse)
    assert main(["run", "swing", "--quiet"]) == 0
    assert main(["render", "swing.h5", "-o", "a.png"]) == 4
    assert capsys.readouterr().err == "pictures need OpenGL, which does not start here\n"


def test_what_is_no_recording(engine, capsys, monkeypatch):
    Path("a.h5").write_text("a text")
    for arguments in (["plot", "a.h5"], ["plot", "a.h5", "--csv", "a.csv"]):
        assert main(arguments) == 2
        err = capsys.readouterr().err
        assert "a.h5" in err and "not a recording" in err and err.count("\n") == 1


def test_plot_and_table(engine, capsys):
    assert main(["run", "swing", "--quiet"]) == 0
    assert main(["plot", "swing.h5", "energy.kinetic", "--csv", "a.csv", "-o", "a.png"]) == 0
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")
    assert len(Path("a.csv").read_text().splitlines()) == 122
    ways = ["--xy", "position('link0')[0]", "position('link0.com')[2]"]
    assert main(["plot", "swing.h5", *ways, "-o", "c.svg", "--csv", "c.csv"]) == 0
    assert "<!-- position('link0.com')[2] [m] -->" in Path("c.svg").read_text()
    assert Path("c.csv").read_text().splitlines()[0] == "t [s],position('link0')[0] [m],position('link0.com')[2] [m]"
    assert main(["plot", "swing.h5", *ways[:2], "-o", "d.svg"]) == 2
    capsys.readouterr()
    assert main(["plot", "swing.h5", "energy.kinetik", "-o", "b.png"]) == 2
    err = capsys.readouterr().err
    assert "kinetik" in err and "Traceback" not in err


def test_a_recording_is_known_whatever_its_name(engine):
    assert main(["run", "swing", "--quiet", "-o", "motion.dat"]) == 0
    assert drawing.is_recording("motion.dat")
    assert not drawing.is_recording("swing")
