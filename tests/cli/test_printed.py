"""What the small verbs print, whole: check, info, list, schema, new, render, plot, doctor, and what they ask for."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import sim
from sim.analysis import warm_up
from sim.cli import checking, doctor, drawing, printed_tables, running, verifying
from sim.cli.main import main
from sim.cli.outcome import Refusal
from sim.kernels import jit
from sim.scene import library
from sim.scene.problem import Place, Problem
from sim.simulation import precompile
from tests.cli import fakes

pytestmark = pytest.mark.fast


def printed(capsys) -> str:
    """Return what was printed, without the blanks at the ends of lines."""
    return "".join(line.rstrip() + "\n" for line in capsys.readouterr().out.splitlines())


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")


# --- check and info ---------------------------------------------------------------------------------

WARNING = Problem(where=Place("a.yaml", 1, 1), path="joints.a", what="is beyond its limits", severity="warning")
ERROR = Problem(where=None, path="joints.b", what="cannot close by 3 mm")


def test_a_good_scene_is_told_whole(engine, capsys):
    engine.warnings = [WARNING]
    engine.report = fakes.Report(
        notes=["loop a: moved", "loop b: moved"], pose_yaml="a: 1 deg\nb: 2 deg\n\n", problems=[WARNING],
        counts={"bodies": 3, "mobility": 2, "mobility_in_position": 4, "lost_rows": 1},
    )  # fmt: skip
    assert main(["check", "mime"]) == 0
    line = "a.yaml:1:1: warning: joints.a: is beyond its limits\n"
    assert capsys.readouterr() == (
        f"{line}{line}loop a: moved\nloop b: moved\n\nthe assembled pose, to put in the scene:\n\n"
        "a: 1 deg\nb: 2 deg\n\n"
        "mime: no problems, 2 warnings (3 bodies, 2 freedoms in velocity, 4 freedoms in position, 1 lost rows)\n", ""
    )  # fmt: skip
    engine.warnings, engine.report = [], fakes.Report(counts={"mobility": 2})
    assert main(["check", "mime"]) == 0
    assert capsys.readouterr().out == "mime: no problems (2 mobility)\n"
    engine.report = fakes.Report(counts={})
    assert main(["check", "mime"]) == 0
    assert capsys.readouterr().out == "mime: no problems\n"


def test_a_scene_with_problems_is_told_whole(engine, capsys):
    engine.warnings, engine.report = [WARNING], fakes.Report(problems=[ERROR, WARNING, ERROR], ok=False)
    assert main(["check", "mime"]) == 2
    line, error = "a.yaml:1:1: warning: joints.a: is beyond its limits\n", "joints.b: cannot close by 3 mm\n"
    assert capsys.readouterr().out == f"{line}{error}{line}{error}2 problems, 2 warnings, nothing was run\n"
    engine.warnings, engine.report = [], fakes.Report(problems=[ERROR], ok=False)
    assert main(["check", "mime"]) == 2
    assert capsys.readouterr().out == f"{error}1 problem, nothing was run\n"


def test_a_check_as_json_is_whole(engine, capsys):
    engine.warnings = [WARNING]
    engine.report = fakes.Report(problems=[ERROR], notes=["a note"], pose_yaml="a: 1\n", ok=False)
    assert main(["check", "mime", "--json", "--trust", "--set", "a=1"]) == 2
    assert json.loads(capsys.readouterr().out) == {
        "ok": False, "problems": [WARNING.as_data(), ERROR.as_data()], "notes": ["a note"],
        "counts": {"bodies": 3, "loops": 1}, "pose_yaml": "a: 1\n",
    }  # fmt: skip
    assert engine.loaded == {"path": "mime", "set": {"a": "1"}, "trust": True}
    assert main(["check", "bad.yaml", "--json"]) == 2
    data = json.loads(capsys.readouterr().out)
    assert (data["ok"], data["notes"], data["counts"]) == (False, [], {})
    assert [problem["path"] for problem in data["problems"]] == ["bodies.a.mass", "joints.b"]


@pytest.mark.parametrize(
    ("contacts", "contact", "bodies", "lacks", "compiled"),
    [
        ((), "event", 199, (), False), ((), "event", 200, ("is_cold",), True), ((1,), "event", 1, (), True),
        ((1,), "event", 1, ("lacks_steps",), True), ((1,), "event", 1, ("is_cold",), False),
        ((1,), "event", 1, ("lacks_contacts",), False), ((1,), "step", 1, ("lacks_steps",), False),
        ((1,), "step", 1, (), True), ((), "step", 1, (), False), ((1,), "step", 1, ("is_cold",), False),
    ],
)  # fmt: skip
def test_a_check_compiles_where_that_pays(engine, monkeypatch, contacts, contact, bodies, lacks, compiled):
    """Where there are many bodies, or contacts and their kernels lie ready; else a few passes are interpreted."""
    done = []
    for name in ("is_cold", "lacks_contacts", "lacks_steps"):
        monkeypatch.setattr(jit, name, lambda name=name: name in lacks)
    monkeypatch.setattr(jit, "interpret", lambda: done.append("interpreted"))
    monkeypatch.setattr(precompile, "prepare", lambda: done.append("compiled"))
    monkeypatch.setattr("sim.cli.running.announce_compiling", lambda quiet: done.append(quiet))
    settings = SimpleNamespace(contact=contact, duration=1.0)
    scene = SimpleNamespace(name="mime", contacts=contacts, simulate=settings, bodies=(0,) * bodies)
    monkeypatch.setattr(engine, "load", lambda *given, **named: scene)
    assert checking.check("mime") == 0
    assert done == ([False, "compiled"] if compiled else ["interpreted"])
    done.clear()
    assert checking.check("mime", as_json=True) == 0
    assert done == ([True, "compiled"] if compiled else ["interpreted"])


def test_information_is_told_in_tables(engine, capsys, monkeypatch):
    interpreted = []
    monkeypatch.setattr(jit, "interpret", lambda: interpreted.append(True))
    engine.information = {
        "joint_coordinates": 24, "mobility": 12, "mobility_in_position": 13, "size": 1.23456789, "none": None,
        "empty": [],
        "names": ("a", 2.5), "by_name": {"a": 1, "b": [0.1, None]}, "sets": frozenset({"x"}), "word": "a\nb",
        "loops": [{"joints": ["a", "b"], "rows": 6}, {"joints": [], "more": 1}], "mixed": [{"a": 1}, 2],
    }  # fmt: skip
    assert main(["info", "mime", "--trust", "--set", "n=3"]) == 0
    assert engine.loaded == {"path": "mime", "set": {"n": "3"}, "trust": True} and engine.asked == {"at": None}
    assert printed(capsys) == INFO and interpreted == [True]
    engine.information = {"mobility": 12}
    assert main(["info", "mime", "--at", "0"]) == 0
    assert printed(capsys) == "mime\nquantity  value\nmobility  12\n"
    assert engine.asked == {"at": 0.0} and interpreted == [True]
    assert main(["info", "mime", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"mobility": 12}


INFO = """\
mime
quantity              value
joint coordinates     24
freedoms in velocity  12
freedoms in position  13
size                  1.23457
none                  none
empty                 none
names                 a, 2.5
by name               a: 1, b: 0.1, none
sets                  x
word                  a\\nb
mixed                 a: 1, 2

loops
joints  rows
a, b    6
none    none
"""


def test_cells_of_tables_are_long_and_end(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30000")
    printed_tables.print_table("", ("a",), [("x" * 9999,), ("y" * 10_000,), ("z" * 10_001,)])
    out = printed(capsys).splitlines()
    assert out == ["a", "x" * 9999, "y" * 10_000, f"{'z' * 5000} [...] {'z' * 5000}"]


def test_a_title_is_not_broken_by_a_narrow_table(capsys):
    printed_tables.print_table("a title [of] many words", ("a",), [("1",)])
    assert printed(capsys) == "a title [of] many words\na\n1\n"


# --- list, schema, new ------------------------------------------------------------------------------


@pytest.fixture
def shelf(monkeypatch, tmp_path):
    """A folder of shipped scenes of our own."""
    monkeypatch.chdir(tmp_path)
    texts = {
        "zebra": "schema: 1\nabout: |\n  It has\n  stripes.\n", "ape": "about: It hangs.\n",
        "figures/man": "about: 3\n",
        "broken": "a: [", "list": "- 1\n", "quiet": "schema: 1\n",
    }  # fmt: skip
    for name, text in texts.items():
        (tmp_path / f"{name}.yaml").parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.yaml").write_text(text)
    monkeypatch.setattr(library, "scenes_path", lambda: tmp_path)
    monkeypatch.setattr(library, "names", lambda: [*texts, "absent"])
    return tmp_path


def test_scenes_are_listed_before_figures(shelf, capsys):
    assert main(["list"]) == 0
    expected = {
        "absent": "", "ape": "It hangs.", "broken": "", "list": "", "quiet": "", "zebra": "It has stripes.",
        "figures/man": "3",
    }  # fmt: skip
    rows = [f"{name:<11}  {about}".rstrip() for name, about in expected.items()]
    assert printed(capsys).splitlines() == [
        "scene        shows", *rows, "", f"run one: sim run NAME; the files are in {shelf}",
    ]  # fmt: skip
    assert main(["list", "scenes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"name": n, "about": a} for n, a in expected.items()]


def test_controllers_are_listed_with_the_first_line_of_what_they_do(capsys, monkeypatch):
    from sim.scene import controllers

    monkeypatch.setattr(
        controllers,
        "installed",
        lambda: {"pd": "plugins.pd:PD", "gone": "no.module:Kind", "limits": "plugins.limits:Limits"},
    )
    assert main(["list", "controllers", "--json"]) == 0
    gone, limits, pd = json.loads(capsys.readouterr().out)
    assert pd == {
        "name": "pd", "about": "Pull joints toward targets with a spring and a damper, in the tree and in loops alike.",
        "class": "plugins.pd:PD",
    }  # fmt: skip
    assert limits["about"] == "Keep joints within their limits by springs that begin `margin` inside them."
    assert gone["about"].startswith("(cannot be loaded: ") and gone["about"].endswith(")")
    assert main(["list", "controllers"]) == 0
    lines = printed(capsys).splitlines()
    assert lines[0] == "type    what it does" and lines[1].startswith("gone    (cannot be loaded: ")
    assert lines[-1] == "parameters of one: sim schema TYPE; a new one: sim new controller NAME"


def test_the_schema_is_printed_as_it_stands(capsys):
    file = library.schema_path()
    assert main(["schema"]) == 0
    assert capsys.readouterr().out == file.read_text(encoding="utf-8").rstrip("\n") + "\n"
    assert main(["schema", "--path"]) == 0
    assert capsys.readouterr().out == f"{file}\n"
    assert main(["schema", "limits"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["title"] == "Limits" and told["required"] == ["joints"]
    assert main(["schema", "limit"]) == 2
    assert capsys.readouterr().err == "no controller type named 'limit'; did you mean 'limits'?\n"


def test_files_of_controllers_are_not_read_for_a_list(folder, capsys, monkeypatch):
    """They would run: only who says --trust to a run wants that."""
    from sim.scene import controllers

    Path("mine.py").write_text("raise SystemExit('it ran')\n")
    assert main(["schema", "./mine.py:Mine"]) == 2
    assert "trust" in capsys.readouterr().err
    monkeypatch.setattr(controllers, "installed", lambda: {"./mine.py:Mine": "nothing"})
    assert main(["list", "controllers", "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)
    assert entry["about"] == "(cannot be loaded: './mine.py' is a program that the scene wants to run)"


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["my-scene", "my-scene.yaml", "my-scene.yml"])
def test_a_new_scene_is_the_template_with_its_name(folder, capsys, name):
    assert main(["new", "scene", name]) == 0
    template = (Path(sim.__file__).parent / "templates" / "scene.yaml.txt").read_text(encoding="utf-8")
    expected = template.replace("@NAME@", "my-scene").replace("@SCHEMA@", str(library.schema_path()))
    assert [path.name for path in folder.iterdir()] == ["my-scene.yaml"] and Path(
        "my-scene.yaml"
    ).read_text() == expected
    assert capsys.readouterr().out == (
        "written: my-scene.yaml\nrun it: sim run my-scene.yaml --video my-scene.mp4\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "kind", "options", "source"),
    [("soft_handLeft", "SoftHandLeft", [], "continuous"), ("a2.py", "A2", ["--sampled"], "sampled")],
)
def test_a_new_controller_is_the_template_with_its_name_and_its_test(folder, capsys, name, kind, options, source):
    assert main(["new", "controller", name, *options]) == 0
    word = name.removesuffix(".py")
    for made, template in ((f"{word}.py", f"{source}.py"), (f"test_{word}.py", "test_controller.py")):
        text = (Path(sim.__file__).parent / "templates" / f"{template}.txt").read_text(encoding="utf-8")
        assert Path(made).read_text() == text.replace("@NAME@", word).replace("@CLASS@", kind)
    assert capsys.readouterr().out.splitlines() == [
        f"written: {word}.py", f"written: test_{word}.py", f"test it: pytest test_{word}.py",
        f'use it: controllers: {{hold: {{type: "./{word}.py:{kind}", joint: hinge}}}}, and run with --trust',
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["scene", "1a"], "'1a' is no name for a file here; begin with a letter, then letters, digits, _ and -"),
        (["scene", "a.py"], "'a.py' is no name for a file here; begin with a letter, then letters, digits, _ and -"),
        (
            ["controller", "a-b"],
            "'a-b' cannot be the name of a Python file that others import; use letters, digits and _",
        ),
        (["controller", "there"], "test_there.py exists; nothing was written"),
    ],
)
def test_what_cannot_be_made_is_told(folder, capsys, arguments, sentence):
    Path("test_there.py").write_text("mine")
    assert main(["new", *arguments]) == 2
    assert capsys.readouterr() == ("", f"{sentence}\n")
    assert [path.read_text() for path in folder.iterdir()] == ["mine"]


def test_what_cannot_be_written_is_told(folder, capsys, monkeypatch):
    def full(path, text, encoding):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    assert main(["new", "scene", "a"]) == 2
    assert capsys.readouterr() == ("", "a.yaml cannot be written: No space left on device\n")


# --- render and plot --------------------------------------------------------------------------------


@pytest.fixture
def screen(engine, monkeypatch):
    """OpenGL and films that only note what they were asked."""
    from render import film, plots, stage

    calls = []
    monkeypatch.setattr(stage, "check", lambda: calls.append("check"))
    monkeypatch.setattr(film, "render_recording", lambda *given, **named: calls.append(("film", given, named)))
    monkeypatch.setattr(film, "render_drawing", lambda *given, **named: calls.append(("drawing", given, named)))
    monkeypatch.setattr(plots, "plot", lambda *given, **named: calls.append(("plot", given, named)))
    monkeypatch.setattr(plots, "export", lambda *given: calls.append(("table", given)))
    if not Path("swing.h5").exists():
        assert main(["run", "swing", "--quiet"]) == 0
    return calls


PLAIN = {
    "time": None,
    "fps": None,
    "frames": None,
    "contacts": False,
    "trails": (),
    "progress": None,
    "size": None,
    "camera": None,
}


@pytest.mark.parametrize(
    ("options", "out", "asked"),
    [
        ([], "a.mp4", {}), ([], "a.png", {"time": 0.0}), (["--frames", "3"], "a.png", {"frames": 3}),
        (["--time", "500 ms"], "a.png", {"time": 0.5}), (["--fps", "12.5"], "a.gif", {"fps": 12.5}),
        (["--contacts", "--trail", "a.tip", "--trail", "b", "--size", "64x48"], "a.mp4",
         {"contacts": True, "trails": ("a.tip", "b"), "size": (64, 48)}),
        (["--camera", "distance=4"], "a.mp4", {"camera": {"distance": 4.0}}),
    ],
)  # fmt: skip
def test_a_recording_is_rendered_as_wished(screen, options, out, asked):
    assert main(["render", "swing.h5", "-o", out, "--quiet", *options]) == 0
    assert screen == ["check", ("film", ("swing.h5", Path(out)), {**PLAIN, **asked})]


def test_a_film_shows_its_progress_unless_it_is_quiet(screen, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert main(["render", "swing.h5", "-o", "a.mp4", "-q"]) == main(["render", "swing.h5", "-o", "a.mp4"]) == 0
    assert [call[2]["progress"] is None for call in screen if call != "check"] == [True, False]


def test_a_scene_is_drawn_as_it_starts(screen, engine, monkeypatch):
    asked = []

    def run(scene, *, duration):
        asked.append((scene.name, duration))
        return SimpleNamespace(path="swing.h5", close=lambda: asked.append("closed"))

    monkeypatch.setitem(vars(sim), "run", run)
    monkeypatch.setattr(jit, "interpret", lambda: asked.append("interpreted"))
    options = ["--set", "n=3", "--trust", "--size", "64x48", "--camera", "fov=30"]
    assert main(["render", "mime.yaml", "-o", "a.PNG", *options]) == 0
    assert asked == ["interpreted", ("mime", 0.0), "closed"]
    assert engine.loaded == {"path": "mime.yaml", "set": {"n": "3"}, "trust": True}
    _, (kind, (motion, out), named) = screen
    assert kind == "drawing" and motion.name == "swing" and out == Path("a.PNG")
    assert named == {"size": (64, 48), "camera": {"fov": pytest.approx(np.pi / 6)}}


@pytest.mark.parametrize(
    "options",
    [
        ["-o", "a.gif"],
        ["-o", "a.png", "--frames", "3"],
        ["-o", "a.png", "--time", "0"],
        ["-o", "a.png", "--trail", "a"],
    ],
)
def test_a_scene_gives_one_picture(screen, capsys, options):
    assert main(["render", "mime", *options]) == 2
    assert capsys.readouterr().err == (
        "mime is a scene that has not run: it gives one picture, .png; `sim run` it to film it\n"
    )  # fmt: skip
    assert screen == []


def test_nothing_is_rendered_over_a_file_unasked(screen, capsys):
    Path("a.png").touch()
    assert main(["render", "swing.h5", "-o", "a.png"]) == 2
    assert capsys.readouterr().err.startswith("-o: 'a.png' exists")
    assert main(["render", "swing.h5", "-o", "a.png", "--overwrite"]) == 0
    assert main(["plot", "swing.h5", "-o", "a.png"]) == 2
    assert main(["plot", "swing.h5", "-o", "a.png", "--overwrite"]) == 0


def test_a_recording_without_rows_has_no_picture(screen, capsys):
    import h5py

    with h5py.File("swing.h5", "r+") as file:
        file["rows"][()] = 0
    assert main(["render", "swing.h5", "-o", "a.png"]) == 2
    assert capsys.readouterr().err == "swing.h5 holds no rows to draw\n"


def test_a_recording_is_known_by_its_first_letters(folder):
    Path("a.dat").write_bytes(b"\x89HDF more")
    Path("b.dat").write_bytes(b"\x89HDG more")
    Path("c.dat").write_bytes(b"\x89HD")
    Path("d").mkdir()
    known = ("a.dat", "b.dat", "c.dat", "d", "none", "none.h5", "none.hdf5", "x" * 300)
    assert [drawing.is_recording(name) for name in known] == [True, False, False, False, False, True, True, False]
    Path("e.dat").write_bytes(b"\x89HDF")
    Path("e.dat").chmod(0)
    assert drawing.is_recording("e.dat") in (True, False)  # root may read it


@pytest.mark.parametrize(
    ("options", "calls", "said"),
    [
        ([], [("plot", "swing.png", (), None, False)], "written: swing.png\n"),
        (["rate('a')", "t", "-o", "b.pdf", "--size", "64x48", "--xy"],
         [("plot", "b.pdf", ("rate('a')", "t"), (64, 48), True)],
         "written: b.pdf\n"),
        (["t", "--csv", "c.CSV"], [("table", "c.CSV", ("t",))], "written: c.CSV\n"),
        (["--csv", "c.csv", "-o", "b.svg"], [("plot", "b.svg", (), None, False), ("table", "c.csv", ())],
         "written: b.svg\nwritten: c.csv\n"),
    ],
)  # fmt: skip
def test_signals_are_plotted_and_written_as_wished(screen, capsys, options, calls, said):
    assert main(["plot", "swing.h5", *options]) == 0
    made = []
    for kind, (source, signals, out), *named in screen:
        assert source == Path("swing.h5")
        made.append((kind, out.name, signals, *(value for entry in named for value in entry.values())))
    assert made == calls and capsys.readouterr() == ("", said)


def test_a_table_is_no_picture(screen, capsys):
    Path("c.csv").touch()
    for options, sentence in (
        (["--csv", "c.txt"], "--csv: 'c.txt' should end in .csv"),
        (["--csv", "c.csv"], "--csv: 'c.csv' exists; choose another name or add --overwrite"),
        (["-o", "c.csv"], "-o: 'c.csv' should end in .png or .svg or .pdf"),
    ):
        assert main(["plot", "swing.h5", *options]) == 2
        assert capsys.readouterr().err == f"{sentence}\n"


# --- verify -----------------------------------------------------------------------------------------


@pytest.fixture
def judge(engine, monkeypatch):
    """A judge that notes what it is asked, and finds what it is told to."""
    found = SimpleNamespace(problems=[], asked=None, interpreted=0, plotted=[])

    class Verdict(SimpleNamespace):
        ok = property(lambda self: not self.problems)

        def as_data(self):
            return {"ok": self.ok, "problems": self.problems}

    def verify(recording, *, stage, **asked):
        found.asked = asked
        assert recording.rows == 121
        stage("again")(0.5, 1.0, 2)
        stage("tighter")(0.25, 1.0, 0)
        return Verdict(problems=found.problems)

    def interpret():
        found.interpreted += 1

    monkeypatch.setitem(vars(sim), "verify", verify)
    monkeypatch.setattr(jit, "interpret", interpret)
    monkeypatch.setattr(verifying, "print_verdict", lambda verdict: print("the table"))
    monkeypatch.setattr(verifying, "_plot", lambda recording, verdict, out, size: found.plotted.append((out, size)))
    if not Path("swing.h5").exists():
        assert main(["run", "swing", "--quiet"]) == 0
    return found


@pytest.mark.parametrize(
    ("options", "problems", "out", "err"),
    [
        ([], [], "the table\n", ""), (["-q"], [], "", ""), 
        ([], ["a", "b"], "the table\n", "does not hold: a\ndoes not hold: b\n"),
        (["-q"], ["a"], "", "does not hold: a\n"), (["--json"], ["a"], None, ""), 
        (["-o", "a.png"], [], "the table\n", "written: a.png\n"),
        (["-o", "a.png", "-q"], [], "", ""), (["-o", "a.png", "--json"], [], None, ""),
    ],
)  # fmt: skip
def test_a_verdict_is_told_as_wished(judge, capsys, options, problems, out, err):
    judge.problems = problems
    assert main(["verify", "swing.h5", *options]) == (5 if problems else 0)
    said = capsys.readouterr()
    assert said.err == err
    if out is None:
        assert json.loads(said.out) == {"ok": not problems, "problems": problems}
    else:
        assert said.out == out
    assert judge.plotted == ([(Path("a.png"), None)] if "-o" in options else [])
    assert judge.asked == {"instants": 20, "quick": False, "trust": False} and judge.interpreted == 0


def test_options_of_verify_arrive(judge, capsys, monkeypatch):
    cold = [True]
    monkeypatch.setattr(jit, "is_cold", lambda: cold[0])
    options = ["--instants", "3", "--quick", "--trust", "-o", "a.pdf", "--size", "64x48"]
    assert main(["verify", "swing.h5", *options]) == 0
    assert judge.asked == {"instants": 3, "quick": True, "trust": True} and judge.interpreted == 1
    assert judge.plotted == [(Path("a.pdf"), (64, 48))]
    assert capsys.readouterr().err == "written: a.pdf\n"
    for options, said in (([], "compiling the kernels, once: about a minute\n"), (["-q"], ""), (["--json"], "")):
        assert main(["verify", "swing.h5", *options]) == 0
        assert capsys.readouterr().err == said
    cold[0] = False
    assert main(["verify", "swing.h5"]) == 0
    assert capsys.readouterr().err == ""
    assert main(["verify", "swing.h5", "-o", "a.gif"]) == 2


def test_each_rerun_shows_its_progress(judge, monkeypatch, capsys):
    from contextlib import contextmanager

    shown = []

    @contextmanager
    def bar(quiet, what, first=None):
        shown.append(("begin", what, first))
        yield lambda *told: shown.append(told)
        shown.append(("end", what))

    monkeypatch.setattr(verifying, "waiting", bar)
    monkeypatch.setattr(verifying, "run_progress", bar)
    assert main(["verify", "swing.h5"]) == 0
    assert shown == [
        ("begin", "reading", None), ("end", "reading"), ("begin", "again", "again"), (0.5, 1.0, 2), ("end", "again"),
        ("begin", "tighter", "tighter"), (0.25, 1.0, 0), ("end", "tighter"),
    ]  # fmt: skip


def test_what_is_not_wished_is_as_the_command_has_it(engine, judge, screen, capsys):
    """Whoever calls the verbs from Python and says only what has to be said."""
    assert verifying.verify(verifying.VerifyOptions(recording=Path("swing.h5"))) == 0
    assert judge.asked == {"instants": 20, "quick": False, "trust": False} and judge.plotted == []
    assert capsys.readouterr() == ("the table\n", "")
    with pytest.raises(Refusal, match=r"'swing.h5' exists"):
        running.run(running.RunOptions(scene="swing"))
    assert running.run(running.RunOptions(scene="jump")) == 0
    asked = {"duration": None, "seed": None, "rtol": None, "triggers": [], "overwrite": False, "large": False}
    assert {key: engine.asked[key] for key in asked} == asked
    assert capsys.readouterr().out.startswith("jump: 1 s simulated")
    assert drawing.render(drawing.RenderOptions(source="swing.h5", output=Path("a.mp4"))) == 0
    assert screen[-1] == ("film", ("swing.h5", Path("a.mp4")), PLAIN)
    Path("a.png").touch()
    for render in (drawing.RenderOptions(source="swing.h5", output=Path("a.png")),):
        with pytest.raises(Refusal, match=r"'a.png' exists"):
            drawing.render(render)
    with pytest.raises(Refusal, match=r"'a.png' exists"):
        verifying.verify(verifying.VerifyOptions(recording=Path("swing.h5"), output=Path("a.png")))


# --- doctor -----------------------------------------------------------------------------------------


def test_what_the_doctor_finds_is_told_whole(capsys, monkeypatch):
    good, bad = doctor.Finding("a thing", True, "there"), doctor.Finding("another", False, "broken", "mend it")
    monkeypatch.setattr(doctor, "LOOKS", (lambda: good, lambda: bad))
    assert main(["doctor"]) == 2
    assert printed(capsys) == "\na thing  ok     there\nanother  wrong  broken\n\nanother: mend it\n"
    assert main(["doctor", "--json"]) == 2
    assert json.loads(capsys.readouterr().out) == {
        "ok": False, "findings": [
            {"what": "a thing", "ok": True, "found": "there", "to_do": ""},
            {"what": "another", "ok": False, "found": "broken", "to_do": "mend it"},
        ],
    }  # fmt: skip
    monkeypatch.setattr(doctor, "LOOKS", (lambda: good,))
    assert main(["doctor"]) == 0
    assert printed(capsys) == "\na thing  ok  there\n"


@pytest.mark.parametrize(
    ("options", "partial", "said"),
    [
        ([], True, ""), (["--json"], True, ""), ([], False, ""),
        (["--compile"], True, "compiling all kernels, once: about two minutes\n"), (["--compile"], False, ""),
        (["--compile", "--json"], True, ""),
    ],
)  # fmt: skip
def test_all_kernels_are_compiled_where_it_is_wished(capsys, monkeypatch, options, partial, said):
    done = []
    monkeypatch.setattr(doctor, "LOOKS", ())
    monkeypatch.setattr(jit, "is_partial", lambda: partial)
    monkeypatch.setattr(warm_up, "everything", lambda: done.append(True))
    assert main(["doctor", *options]) == 0
    assert capsys.readouterr().err == said and len(done) == ("--compile" in options)


@pytest.mark.parametrize(("version", "ok"), [((3, 10, 99), False), ((3, 11), True), ((3, 12, 1), True)])
def test_python_is_new_enough(monkeypatch, version, ok):
    monkeypatch.setattr(sys, "version_info", version)
    monkeypatch.setattr(doctor.platform, "python_version", lambda: "3.x")
    monkeypatch.setattr(doctor.platform, "system", lambda: "Plan9")
    monkeypatch.setattr(doctor.platform, "machine", lambda: "vax")
    monkeypatch.setattr(doctor.os, "cpu_count", lambda: 6)
    assert doctor.python() == doctor.Finding("Python", ok, "3.x on Plan9 vax, 6 cores", "install Python 3.11 or newer")


def test_a_package_that_is_not_installed_is_told(monkeypatch):
    def absent(name):
        raise doctor.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(doctor.metadata, "requires", absent)
    assert doctor.libraries() == doctor.Finding(
        "libraries", False, "brachiate is not installed", "pip install brachiate, or pip install -e ."
    )
    monkeypatch.setattr(doctor.metadata, "requires", lambda name: None)
    assert doctor.libraries() == doctor.Finding("libraries", True, "", "")


@pytest.mark.parametrize(
    ("cold", "partial", "state"),
    [
        (True, True, "empty: the first run compiles for about a minute; sim doctor --compile does it now"),
        (False, True, "filled but for what is seldom used; sim doctor --compile compiles that, too"),
        (False, False, "filled"),
    ],
)
def test_the_cache_is_told_whole(monkeypatch, tmp_path, cold, partial, state):
    asked = []
    folder = tmp_path / "a" / "b"
    monkeypatch.setattr(jit, "interpreted", lambda: False)
    monkeypatch.setattr(jit, "cache_folder", lambda: folder)
    monkeypatch.setattr(jit, "is_cold", lambda: cold)
    monkeypatch.setattr(jit, "is_partial", lambda: partial)
    monkeypatch.setattr(jit, "cache_refusals", lambda: ["x is no folder", "y is full"])
    monkeypatch.setattr(doctor.os, "access", lambda *given: asked.append(given) or False)
    to_do = "or set XDG_CACHE_HOME to a folder that is; until then every run compiles"
    found = f"kept in {folder}, {state}; x is no folder; y is full"
    assert doctor.kernel_cache() == doctor.Finding("kernels", False, found, f"make {tmp_path} writable, {to_do}")
    folder.mkdir(parents=True)
    assert doctor.kernel_cache() == doctor.Finding("kernels", False, found, f"make {folder} writable, {to_do}")
    assert asked == [(tmp_path, doctor.os.W_OK), (folder, doctor.os.W_OK)]
    monkeypatch.setattr(jit, "interpreted", lambda: True)
    assert doctor.kernel_cache() == doctor.Finding(
        "kernels", True, "interpreted (NUMBA_DISABLE_JIT is set): slow, for tests"
    )


@pytest.mark.parametrize(
    ("code", "out", "err", "ok", "found"),
    [
        (0, "a line\nMesa, OpenGL 4.5\n", "", True, "Mesa, OpenGL 4.5"),
        (1, "", "Traceback\nrender.view.RenderError: no EGL\n", False, "no EGL"),
        (1, "", "Traceback\nOSError: no library\n", False, "OSError: no library"),
        (-11, "", "", False, "ended by signal 11"),
    ],
)  # fmt: skip
def test_opengl_is_tried_in_another_process(monkeypatch, code, out, err, ok, found):
    asked = []

    def run(command, **options):
        asked.append((command, options))
        return SimpleNamespace(returncode=code, stdout=out, stderr=err)

    monkeypatch.setattr(doctor.subprocess, "run", run)
    to_do = "" if ok else "runs and recordings work all the same; pictures and films need it"
    assert doctor.opengl() == doctor.Finding("OpenGL", ok, found, to_do)
    options = {"capture_output": True, "text": True, "timeout": 120.0, "stdin": doctor.subprocess.DEVNULL}
    assert asked == [([sys.executable, "-c", "from render.stage import check; print(check())"], options)]


def test_a_driver_that_hangs_is_told(monkeypatch):
    def run(command, **options):
        raise doctor.subprocess.TimeoutExpired(command, 120)

    monkeypatch.setattr(doctor.subprocess, "run", run)
    assert doctor.opengl() == doctor.Finding("OpenGL", False, "no frame after two minutes", "check the graphics driver")


def test_the_encoder_is_told(monkeypatch):
    import imageio_ffmpeg

    monkeypatch.setattr(imageio_ffmpeg, "get_ffmpeg_exe", lambda: "/bin/ffmpeg")
    monkeypatch.setattr(imageio_ffmpeg, "get_ffmpeg_version", lambda: "7.1")
    assert doctor.ffmpeg() == doctor.Finding("ffmpeg", True, "7.1 (/bin/ffmpeg)")

    def absent():
        raise RuntimeError("none\nnowhere")

    monkeypatch.setattr(imageio_ffmpeg, "get_ffmpeg_exe", absent)
    to_do = "pip install --force-reinstall imageio-ffmpeg"
    assert doctor.ffmpeg() == doctor.Finding("ffmpeg", False, "none", to_do)


@pytest.mark.parametrize(
    ("names", "schema", "ok"), [(["a", "b"], True, True), ([], True, False), (["a"], False, False)]
)
def test_shipped_scenes_are_counted(monkeypatch, tmp_path, names, schema, ok):
    if schema:
        (tmp_path / "schema.json").touch()
    monkeypatch.setattr(library, "names", lambda: names)
    monkeypatch.setattr(library, "scenes_path", lambda: tmp_path)
    monkeypatch.setattr(library, "schema_path", lambda: tmp_path / "schema.json")
    found = f"{len(names)} in {tmp_path}"
    assert doctor.shipped() == doctor.Finding("scenes", ok, found, "install the package again")


def test_the_folder_can_be_written_or_not(folder, monkeypatch):
    to_do = "recordings cannot be written here: change folder, or use -o"
    assert doctor.current_folder() == doctor.Finding("this folder", True, str(folder), to_do)
    asked = []
    monkeypatch.setattr(doctor.os, "access", lambda *given: asked.append(given) or False)
    assert doctor.current_folder() == doctor.Finding("this folder", False, str(folder), to_do)
    assert asked == [(folder, doctor.os.W_OK)]


# --- the command itself -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("No such thing.", "no such thing; --help lists what there is"), ("Did you mean x?", "did you mean x?"),
        ("Two\n  lines (a, b).", "two lines (a, b)"), ("", "; --help lists what there is"),
    ],
)  # fmt: skip
def test_sentences_of_the_library_are_as_ours(text, sentence):
    from sim.cli import main as command

    assert command._sentence(text) == sentence


def test_helps_of_short_and_long_names_are_one(capsys):
    texts = []
    for option in ("-h", "--help"):
        assert main([option]) == 0
        texts.append(capsys.readouterr().out)
    assert main([]) == 0
    texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] and len(texts[0].splitlines()) > 10
    assert texts[2].strip() == texts[0].strip()
    assert "completion" not in texts[0] and "--version" in texts[0]
