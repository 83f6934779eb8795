"""How commands end: exit codes, JSON, reports, and the options that a person types."""

from __future__ import annotations

import errno
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from sim.cli import options, outcome
from sim.cli.interrupts import Ended
from sim.cli.outcome import Refusal
from sim.recording import RecordingError
from sim.scene.problem import Place, Problem, SceneError

pytestmark = pytest.mark.fast
PROBLEMS = [
    Problem(where=Place("a.yaml", 3, 6, 2), path="bodies.a", what="no mass", hint="give one", source_line="  a: {}"),
    Problem(where=None, path="", what="too long", severity="warning"),
]


def test_exit_codes_are_as_documented():
    codes = (outcome.OK, outcome.WRONG, outcome.FAILED, outcome.NO_FILM, outcome.DOUBTED, outcome.UNFORESEEN)
    assert (*codes, outcome.SIGNALLED, outcome.INTERRUPTED) == (0, 2, 3, 4, 5, 70, 128, 130)
    assert outcome.counted(0, "row") == "0 rows" and outcome.counted(1, "row") == "1 row"
    assert outcome.counted(2, "row") == "2 rows"


def missing() -> OSError:
    return FileNotFoundError(errno.ENOENT, "No such file or directory", "a.h5")


def kept(error: Exception, **more) -> Exception:
    for name, value in more.items():
        setattr(error, name, value)
    return error


def known(monkeypatch, module: str, name: str) -> Exception:
    """Return an exception of a class that stands in a module."""
    __import__(module)
    return getattr(sys.modules[module], name)("it fell")


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda m: Refusal("no"), 2), (lambda m: Refusal("no", code=4), 4), (lambda m: SceneError(PROBLEMS), 2),
        (lambda m: known(m, "render.view", "RenderError"), 2),
        (lambda m: known(m, "sim.simulation.simulation_error", "SimulationError"), 3),
        (lambda m: known(m, "sim.analysis.linear.equations", "LinearError"), 3), (lambda m: RecordingError("full"), 2),
        (lambda m: kept(RecordingError("full"), rows_kept=0), 2),
        (lambda m: kept(RecordingError("full"), rows_kept=1), 3),
        (lambda m: missing(), 2), (lambda m: OSError("no name"), 70), (lambda m: OSError(5, "", "a.h5"), 70),
        (lambda m: OSError(5, "no file"), 70), (lambda m: ValueError("x"), 70),
    ],
)  # fmt: skip
def test_an_exception_has_its_exit_code(make, code, monkeypatch):
    assert outcome.exit_code(make(monkeypatch)) == code


def test_a_class_is_known_without_its_module(monkeypatch):
    assert not outcome.is_a(ValueError(), "no.such.module", "ValueError")
    assert outcome.is_a(ValueError(), "builtins", "ValueError") and not outcome.is_a(
        ValueError(), "builtins", "OSError"
    )


@pytest.mark.parametrize(
    ("make", "code", "said", "data"),
    [
        (lambda: Refusal("no\nway"), 2, "no\\nway\n", {"ok": False, "error": "no\nway"}),
        (
            missing, 2, "'a.h5' cannot be used: No such file or directory\n",
            {"ok": False, "error": "'a.h5' cannot be used: No such file or directory"},
        ),
        (
            lambda: kept(Refusal("no"), kept="12 rows are kept"), 2, "no\n12 rows are kept\n",
            {"ok": False, "error": "no", "kept": "12 rows are kept"},
        ),
        (
            lambda: SceneError(PROBLEMS), 2,
            "a.yaml:3:6: bodies.a: no mass\n   3 |   a: {}\n     |      ^^\n  give one\nwarning: too long\n"
            "2 problems, nothing was run\n",
            {"ok": False, "problems": [problem.as_data() for problem in PROBLEMS]},
        ),
    ],
)  # fmt: skip
def test_what_is_raised_becomes_a_sentence_or_json(make, code, said, data, capsys):
    assert outcome.explain(make()) == code
    assert capsys.readouterr() == ("", said)
    assert outcome.explain(make(), as_json=True) == code
    out, err = capsys.readouterr()
    assert json.loads(out) == data and err == ""


@pytest.mark.parametrize(
    ("error", "said"),
    [(ValueError("a\nb"), "ValueError: a"), (KeyError(), "KeyError: "), (ValueError(" "), "ValueError: ")],
)
def test_the_unforeseen_is_reported(error, said, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["sim", "run", "a b"])
    assert outcome.explain(error) == 70
    (report,) = tmp_path.iterdir()
    assert capsys.readouterr() == (
        "", f"something unforeseen happened: {said}\na report for the developers is in {report}\n"
    )  # fmt: skip
    lines = report.read_text().splitlines()
    assert lines[:2] == ["command: sim run a b", f"folder: {tmp_path}"]
    assert lines[2] == f"python: {sys.version}".splitlines()[0]
    libraries = next(line for line in lines if line.startswith("libraries: ")).removeprefix("libraries: ")
    names = [entry.split(" ")[0] for entry in libraries.split(", ")]
    assert names == ["numpy", "scipy", "numba", "h5py", "vispy", "imageio"] and f"numpy {np.__version__}" in libraries
    assert type(error).__name__ in lines[-1] or type(error).__name__ in lines[-2]
    report.unlink()
    assert outcome.explain(error, as_json=True) == 70
    out, err = capsys.readouterr()
    (report,) = tmp_path.iterdir()
    assert json.loads(out) == {"ok": False, "error": str(error), "report": str(report)} and err == ""


def test_a_report_goes_to_the_temporary_folder_or_to_the_terminal(monkeypatch, tmp_path, capsys):
    full, other = tmp_path / "full", tmp_path / "other"
    full.mkdir()
    other.mkdir()
    monkeypatch.chdir(full)
    monkeypatch.setattr(outcome.tempfile, "gettempdir", lambda: str(other))
    monkeypatch.setattr(outcome, "_installed", lambda name: name == "numpy")
    write = Path.write_text

    def refused(path: Path, text: str) -> int:
        if path.parent in closed:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, text)

    monkeypatch.setattr(Path, "write_text", refused)
    closed = [full]
    place = outcome.write_report(ValueError("x"))
    assert (
        Path(place).parent == other
        and f"\nlibraries: numpy {np.__version__}\n\nValueError: x\n" in Path(place).read_text()
    )
    closed = [full, other]
    assert outcome.write_report(ValueError("x")) == "the lines above"
    assert capsys.readouterr().err.startswith("command: ")


def test_a_library_is_installed_or_not():
    assert outcome._installed("numpy") and not outcome._installed("no-such-library")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({"a": np.float64(1.5), 2: np.arange(2), "n": np.bool_(True)},
         '{\n  "a": 1.5,\n  "2": [\n    0,\n    1\n  ],\n  "n": true\n}'),
        ([float("nan"), float("inf"), -float("inf"), np.nan, None, 0, ""],
         '[\n  null,\n  null,\n  null,\n  null,\n  null,\n  0,\n  ""\n]'),
        ((Path("a/b"), {3}, frozenset({4.5})), '[\n  "a/b",\n  [\n    3\n  ],\n  [\n    4.5\n  ]\n]'),
        ("名 é \x1b\u202e\n", '"名 é \\u001b\\u202e\\n"'), ("\x85", '"\\u0085"'),
    ],
)  # fmt: skip
def test_json_is_plain_and_clean(data, text, capsys):
    outcome.print_json(data)
    assert capsys.readouterr().out == text + "\n"


def test_problems_go_where_they_belong(capsys):
    outcome.print_problems(PROBLEMS[1:], ", so what")
    outcome.print_problems(PROBLEMS[1:], ", so what", stream=sys.stdout)
    assert capsys.readouterr() == ("warning: too long\n1 problem, so what\n",) * 2


def test_a_command_ends_with_its_code(capsys):
    assert [outcome.guarded(lambda code=code: code) for code in (None, 0, 5)] == [0, 0, 5]

    def ended(error: BaseException) -> int:
        def command() -> int:
            raise error

        return outcome.guarded(command)

    assert (ended(KeyboardInterrupt()), ended(Ended(15)), ended(Ended(2)), ended(Refusal("no"))) == (130, 143, 130, 2)
    assert capsys.readouterr().err == "interrupted\nended by SIGTERM\ninterrupted\nno\n"


def test_a_reader_that_has_gone_is_no_error(monkeypatch):
    read, write = os.pipe()
    monkeypatch.setattr(sys, "stdout", os.fdopen(write, "w"))

    def command() -> int:
        os.close(read)
        print("x" * 10)
        sys.stdout.flush()
        return 3

    assert outcome.guarded(command) == 0
    print("nothing", flush=True)  # nor is what comes later
    sys.stdout.close()


def test_a_terminal_that_is_gone_is_told_nothing(monkeypatch):
    class Gone:
        def write(self, text: str) -> int:
            raise OSError(errno.EIO, "Input/output error")

        flush = write

    monkeypatch.setattr(sys, "stderr", Gone())
    outcome.say("x")


def test_lines_are_told_at_once(monkeypatch, capsys):
    flushed = []
    monkeypatch.setattr(sys.stderr, "flush", lambda: flushed.append("now"))
    outcome.say("a\x07\nb")
    outcome.tell()
    outcome.tell(1.5)
    assert capsys.readouterr() == ("\n1.5\n", "a\\x07\nb\n") and flushed


# --- options ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2.5", 2.5), (" 2.5 s ", 2.5), ("100ms", 0.1), ("1.5 min", 90.0), (".5 h", 1800.0), ("+3", 3.0), ("0", 0.0),
        ("1e2", 100.0), ("2.E-1 s", 0.2), ("-0", 0.0),
    ],
)  # fmt: skip
def test_a_time_has_a_unit_or_none(text, value):
    assert options.seconds(text, "--at") == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize("text", ["", "s", "2 d", "1 2", "2.5 S", "--1", "1e", "nan"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(Refusal) as caught:
        options.seconds(text, "--at")
    assert str(caught.value) == f"--at: {text!r} is not a time; give seconds, as in 2.5 or '2.5 s'"


@pytest.mark.parametrize("text", ["-1", "-0.1 ms", "1e999"])
def test_a_time_is_from_the_start_on(text):
    with pytest.raises(Refusal) as caught:
        options.seconds(text, "--at")
    assert str(caught.value) == f"--at: {text!r} is not a time from the start on; give zero or more seconds"


def test_assignments_and_triggers_are_read():
    assert options.assignments([" a = 1 m", "b=x=y"]) == {"a": "1 m", "b": "x=y"}
    for text in ("a", "a=", "=1", " = "):
        with pytest.raises(Refusal, match=f"--set: {text!r} is not of the form name=value"):
            options.assignments([text])
    with pytest.raises(Refusal, match="--set: 'a' is given twice"):
        options.assignments(["a=1", "b=1", "a =2"])
    assert options.triggers(["a@2", " b@c @ 500 ms", "c@1"]) == [("b@c", 0.5), ("c", 1.0), ("a", 2.0)]
    for text in ("a", "@1", " @1"):
        with pytest.raises(Refusal, match=f"--trigger: {text!r} is not of the form KEY@TIME, as in 'let go@2.5'"):
            options.triggers([text])


def test_sizes_are_read():
    assert options.size(None) is None and options.size(" 1280 X 720 ") == (1280, 720) and options.size("1x2") == (1, 2)
    for text in ("", "12", "1x", "1x2x3", "-1x2", "1.5x2", "1234567x2"):
        with pytest.raises(Refusal, match=f"^--size: {text!r} is not of the form WIDTHxHEIGHT, as in 1280x720$"):
            options.size(text)
    for text in ("0x5", "5x0"):
        with pytest.raises(Refusal, match=f"^--size: {text!r} has no pixels; give WIDTHxHEIGHT, as in 1280x720$"):
            options.size(text)


def test_a_target_can_be_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("there.PNG").touch()
    Path("folder.png").mkdir()
    assert options.target(Path("new.png"), "-o", (".svg", ".png"), overwrite=False) == Path("new.png")
    assert options.target(Path("there.PNG"), "-o", (".png",), overwrite=True) == Path("there.PNG")
    assert options.target(Path("any.thing"), "-o", (), overwrite=False) == Path("any.thing")
    for name, overwrite, sentence in (
        ("a.gif", True, "-o: 'a.gif' should end in .svg or .png"), ("a", True, "-o: 'a' should end in .svg or .png"),
        ("folder.png", True, "-o: 'folder.png' is a folder; give the name of a file"),
        ("there.PNG", False, "-o: 'there.PNG' exists; choose another name or add --overwrite"),
        ("no/a.png", True, "-o: there is no folder 'no'"),
    ):  # fmt: skip
        with pytest.raises(Refusal) as caught:
            options.target(Path(name), "-o", (".svg", ".png"), overwrite=overwrite)
        assert str(caught.value) == sentence


def test_a_refusal_is_its_sentence_whatever_its_code():
    assert str(Refusal("no room")) == str(Refusal("no room", 4)) == "no room"
    assert (Refusal("no room").code, Refusal("no room", 4).code) == (2, 4)
