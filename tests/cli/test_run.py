"""`sim run`: options, summary, exit codes."""

from __future__ import annotations

import errno
import io
import json
import re
import sys
from pathlib import Path

import h5py
import pytest
import rich.live

from sim.cli import running
from sim.cli.main import main
from sim.kernels import jit
from sim.recording import RecordingError
from tests.cli import fakes


def test_a_run_is_recorded_and_summed_up(engine, capsys):
    assert main(["run", "swing"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.splitlines()[0] == "swing: 1 s simulated in 0.05 s (20 times real time)"
    for text in ("90, 1080 evaluations", "3e-13 (m, rad)", "0.5000 s  let go", "swing.h5"):
        assert text in out
    with h5py.File("swing.h5") as file:
        assert file["rows"][()] == 121


def test_every_option_arrives(engine, capsys):
    options = ["-o", "b.h5", "--duration", "2500 ms", "--set", "height=1.2 m", "--set", "n=3", "--seed", "7"]
    options += ["--rtol", "1e-6"]
    flags = ["--trigger", "let go@2.5", "--trigger", "jump@1 s", "--overwrite", "--large", "--trust", "--quiet"]
    code = main(["run", "a.yaml", *options, *flags])
    assert code == 0
    assert capsys.readouterr() == ("", "")
    assert engine.loaded == {"path": "a.yaml", "set": {"height": "1.2 m", "n": "3"}, "trust": True}
    assert engine.asked == {
        "output": Path("b.h5"),
        "duration": pytest.approx(2.5),
        "start": None,
        "seed": 7,
        "rtol": 1e-6,
        "triggers": [("jump", 1.0), ("let go", 2.5)],
        "overwrite": True,
        "large": True,
        "tell": None,
    }


def test_json_stands_alone(engine, capsys):
    assert main(["run", "swing", "--json"]) == 0
    out, err = capsys.readouterr()
    summary = json.loads(out)
    assert err == ""
    assert summary["steps"] == 90 and summary["recording"] == "swing.h5"
    assert summary["events"] == [{"time": 0.5, "name": "let go", "kind": "key", "caption": "", "text": ""}]


def happened(*groups):
    """Return events of a summary: (number, kind, name, text) each."""
    return [
        {"time": 0.1 * k, "name": name, "kind": kind, "caption": "", "text": text}
        for number, kind, name, text in groups
        for k in range(number)
    ]


@pytest.mark.parametrize(
    ("events", "lines"),
    [
        ([], []),
        (
            happened((140, "impact", "ground and ball", ""), (1, "mode", "ground and ball sticks", "")),
            ["140 impacts", "1 change of mode"],
        ),
        (
            happened(
                (1, "scene", "lets go", ""), (2, "impact", "a and b", ""),
                (1, "annotation", "a and b", "a and b comes to rest at 2 s"), (1, "disarmed", "late", "cannot"),
            ),
            ["0.0000 s  lets go", "0.0000 s  a and b comes to rest at 2 s", "0.0000 s  late (disarmed)", "2 impacts"],
        ),
        (
            happened((40, "scene", "step", "")),
            [*(f"{0.1 * k:.4f} s  step" for k in range(12)), "28 more events"],
        ),
    ],
)  # fmt: skip
def test_events_of_the_scene_are_named_and_the_others_counted(events, lines):
    """Seen to fail as 140 lines of impacts."""
    summary = {"scene": "ball", "simulated_time": 6.0, "steps": 9, "evaluations": 90, "recording": "b.h5"}
    text = running.describe({**summary, "events": events})
    told = [line for line in text.splitlines()[1:] if not line.startswith(("  steps", "  recording"))]
    assert [line[20:] for line in told] == lines
    assert all(line.startswith("  events " if k == 0 else " " * 20) for k, line in enumerate(told))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--duration", "soon"], "--duration: 'soon' is not a time; give seconds, as in 2.5 or '2.5 s'"),
        (["--duration=-1"], "--duration: '-1' is not a time from the start on; give zero or more seconds"),
        (["--set", "a"], "--set: 'a' is not of the form name=value"),
        (["--set", "a=1", "--set", "a=2"], "--set: 'a' is given twice"),
        (["--trigger", "let go"], "--trigger: 'let go' is not of the form KEY@TIME, as in 'let go@2.5'"),
        (["--trigger", "@2"], "--trigger: '@2' is not of the form KEY@TIME, as in 'let go@2.5'"),
        (["--trigger", "fly@1"], "--trigger: no event of swing waits for the key 'fly'; its keys: 'let go', 'jump'"),
        (["--trigger", "jump@7"], "--trigger: 'jump' at 7 s comes after the end at 6 s"),
        (["--video", "a.avi"], "--video: 'a.avi' should end in .mp4 or .gif"),
        (["--video", "x/a.mp4"], "--video: there is no folder 'x'"),
        (["-o", "."], "-o: '.' is a folder; give the name of a file"),
        (["-o", "x/a.h5"], "-o: there is no folder 'x'"),
        (["--seed", "x"], "sim run: invalid value for '--seed'"),
        (["--sed", "1"], "sim run: no such option: --sed"),
    ],
)
def test_wrong_options_are_one_sentence(engine, capsys, options, sentence):
    assert main(["run", "swing", *options]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert err.startswith(sentence)
    assert not list(Path().iterdir())


def test_nothing_is_overwritten_unasked(engine, capsys):
    Path("swing.h5").write_text("mine")
    assert main(["run", "swing"]) == 2
    assert capsys.readouterr().err == "-o: 'swing.h5' exists; choose another name or add --overwrite\n"
    assert Path("swing.h5").read_text() == "mine"
    assert main(["run", "swing", "--overwrite"]) == 0


def test_a_bad_scene_ends_with_its_problems(engine, capsys):
    assert main(["run", "bad.yaml"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "bad.yaml:3:7: bodies.a.mass: expected a mass",
        "   3 | mass: 2 cm",
        "     |       ^^^^",
        "joints.b: there is no such thing",
        "  did you mean 'c'?",
        "2 problems, nothing was run",
    ]
    assert main(["run", "bad.yaml", "--json"]) == 2
    out, err = capsys.readouterr()
    assert [p["path"] for p in json.loads(out)["problems"]] == ["bodies.a.mass", "joints.b"] and err == ""


def test_a_failed_simulation_says_what_was_kept(engine, capsys):
    engine.error = fakes.SimulationError("at t = 2.3 s the joint 'grip_l' cannot go on")
    assert main(["run", "swing"]) == 3
    assert capsys.readouterr().err == "at t = 2.3 s the joint 'grip_l' cannot go on\nthe motion up to then is kept\n"
    assert main(["run", "swing", "--json"]) == 3
    data = json.loads(capsys.readouterr().out)
    assert data == {"ok": False, "error": str(engine.error), "kept": "the motion up to then is kept"}


def test_a_full_disk_is_a_failure_when_rows_were_kept(engine, capsys):
    engine.error = RecordingError("swing.h5 cannot be written: No space left on device")
    assert main(["run", "swing"]) == 2
    engine.error.rows_kept = 12
    assert main(["run", "swing"]) == 3
    assert "No space left" in capsys.readouterr().err


def test_interrupted(engine, capsys):
    engine.error = KeyboardInterrupt()
    assert main(["run", "swing"]) == 130
    assert capsys.readouterr().err == "121 rows are kept\ninterrupted\n"


def test_progress_is_shown_on_a_terminal_alone(engine, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["run", "swing"]) == 0
    out, err = capsys.readouterr()
    assert "0.50 of 1 s" in err and "x real time, 1 event" in err
    shown = [re.search(rf"{word} .*0:00:00", err) for word in ("reading", "assembling", "simulating")]
    assert all(shown) and [found.start() for found in shown] == sorted(found.start() for found in shown)
    assert out.startswith("swing: 1 s simulated")
    assert main(["run", "swing", "--json", "--overwrite"]) == 0
    out, err = capsys.readouterr()
    assert err == "" and json.loads(out)["rows"] == 121


def test_a_terminal_that_is_gone_ends_nothing_but_the_words(engine, monkeypatch):
    """As after SIGHUP: what would be shown cannot be written, and the command ends as it would have."""

    class Terminal(io.StringIO):
        gone = False

        def isatty(self) -> bool:
            return True

        def write(self, text: str) -> int:
            if self.gone:
                raise OSError(errno.EIO, "Input/output error")
            return super().write(text)

    def hang_up(*_: object, **__: object) -> None:
        Terminal.gone = True
        raise KeyboardInterrupt

    monkeypatch.setattr(rich.live._RefreshThread, "run", lambda self: None)
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr("sim.run", hang_up)
    assert main(["run", "swing"]) == 130
    assert list(Path().iterdir()) == []


def test_the_unforeseen_leaves_a_report(engine, capsys, monkeypatch, tmp_path):
    engine.error = ZeroDivisionError("division by zero")
    assert main(["run", "swing"]) == 70
    err = capsys.readouterr().err
    (report,) = Path().glob("sim-report-*.txt")
    assert err.splitlines() == [
        "something unforeseen happened: ZeroDivisionError: division by zero",
        f"a report for the developers is in {report.resolve()}",
    ]
    assert "Traceback" in report.read_text() and "numpy" in report.read_text()


def test_the_first_run_says_what_it_waits_for(engine, capsys, monkeypatch):
    monkeypatch.setattr(jit, "is_cold", lambda: True)
    assert main(["run", "swing"]) == 0
    assert capsys.readouterr().err == "compiling the kernels, once: about a minute\n"
    assert main(["run", "swing", "--quiet", "--overwrite"]) == 0
    assert capsys.readouterr().err == ""


def test_a_film_that_fails_leaves_the_recording(engine, capsys, monkeypatch):
    from render import film
    from render.view import RenderError

    def refuse(*arguments, **options):
        raise RenderError("pictures need OpenGL, which does not start here")

    monkeypatch.setattr(film, "render_recording", refuse)
    assert main(["run", "swing", "--video", "swing.mp4"]) == 4
    out, err = capsys.readouterr()
    assert err.splitlines() == [
        "no film: pictures need OpenGL, which does not start here",
        "the recording is kept in swing.h5; to film it: sim render swing.h5 -o swing.mp4",
    ]
    assert "swing.h5" in out and Path("swing.h5").exists()
    assert main(["run", "swing", "-o", "my swing.h5", "--video", "my swing.mp4"]) == 4
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.endswith("to film it: sim render 'my swing.h5' -o 'my swing.mp4'")


def test_a_film_is_made_of_the_recording(engine, capsys, monkeypatch):
    from render import film

    made = []
    monkeypatch.setattr(film, "render_recording", lambda path, out, progress: made.append((path, out)))
    assert main(["run", "swing", "--video", "swing.mp4"]) == 0
    assert made == [(Path("swing.h5"), Path("swing.mp4"))]
    assert capsys.readouterr().out.splitlines()[-1].split() == ["film", "swing.mp4"]
