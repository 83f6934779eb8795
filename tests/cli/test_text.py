"""Text is text: what others wrote is shown with everything escaped that a terminal, a film or a page would act upon."""

from __future__ import annotations

import ast
import json
import unicodedata
from pathlib import Path

import numpy as np
import pytest

from render import labels
from render.view import Event
from sim.cli import outcome, printed_tables
from sim.cli.main import main
from sim.scene.shown import forbidden, one_line, one_width, shown

ROOT = Path(__file__).parents[2]
ACTED_UPON = "\x00\x07\x08\r\x0b\x1b\x7f\x85\x9b\u200e\u202e\u2028\u2066\ufeff"
FORGED = "a\nall of it holds\x1b]0;title\x07\u202e"


def acts(text: str) -> set[str]:
    """Return the characters of a printed text that are more than letters and ends of lines."""
    return {c for c in text if c not in "\n\t" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")}


@pytest.mark.fast
@pytest.mark.parametrize("c", ACTED_UPON)
def test_characters_are_escaped_as_in_quotes(c):
    assert shown(f"a{c}b") == f"a{repr(c)[1:-1]}b"
    assert not acts(one_width(f"a{c}b")) and len(one_width(f"a{c}b")) == 3
    assert forbidden(f"a{c}b") == f"U+{ord(c):04X}"


@pytest.mark.fast
def test_what_is_printable_stays():
    for text in ("let go", "naïve 名前 🦊", "$x$ [bold] \\", ""):
        assert shown(text) == one_line(text) == one_width(text) == text and not forbidden(text)
    assert shown("a\n\tb") == "a\n\tb" and one_line("a\n\tb") == "a\\n\\tb"
    assert not forbidden("a\n\tb", several_lines=True) and forbidden("a\n\tb") == "U+000A"
    assert not forbidden("\u0645\u06cc\u200c\u062e") and len(one_line("x" * 20_000)) < 700


@pytest.mark.fast
def test_all_that_a_command_prints_goes_through_one_place():
    """Only `sim.cli.outcome` prints; tables go through a console of rich, help is the library's own."""
    printing = []
    for path in sorted((ROOT / "sim").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                "print",
                "sys.stdout.write",
                "sys.stderr.write",
            ):
                printing.append((path.name, ast.unparse(node)[:24]))
    others = [entry for entry in printing if entry[0] not in ("outcome.py", "describe.py")]
    assert others == [("main.py", "print(context.get_help()")]
    assert len(printing) > 4


@pytest.mark.fast
def test_lines_json_tables_and_sentences_are_clean(capsys):
    outcome.say(FORGED)
    outcome.tell(FORGED)
    outcome.print_json({FORGED + ACTED_UPON: FORGED})
    printed_tables.print_table(FORGED, (FORGED,), [(FORGED,), (ACTED_UPON,)])
    assert outcome.explain(outcome.Refusal(FORGED)) == outcome.WRONG
    captured = capsys.readouterr()
    assert not acts(captured.out + captured.err)
    assert captured.err.count("\\x1b]0;title\\x07") == 2
    assert captured.err.splitlines()[-1].startswith("a\\nall of it holds")
    data = captured.out[captured.out.index("{") : captured.out.index("}") + 1]
    assert json.loads(data) == {FORGED + ACTED_UPON: FORGED}


BAD = """\
schema: 1
"a\\x1b]0;x\\x07": 1
name: "two\\nlines"
bodies:
  "b\\u202e": {mass: 1 kg, com: [0, 0, 0]}
  c: {mass: "1\\x9b31m", com: [0, 0, 0], about: "on\\ntwo lines"}
events:
  "all\\nOK: no problems": {at: 1 s, caption: "\\x1b[2J"}
  "%s": {at: 1 s}
  "nul\\0": {at: 1 s}
"""


@pytest.mark.fast
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_scene_forges_no_line_and_moves_no_cursor(options, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("bad.yaml").write_text(BAD % ("x" * 300))
    assert main(["check", "bad.yaml", *options]) == outcome.WRONG
    printed = capsys.readouterr().out
    assert not acts(printed)
    for what in (
        "unknown key 'a\\x1b]0;x\\x07'", "a name of several lines, or with a tab",
        "character U+202E, which no text may hold",
        "character U+001B, which no text may hold", "a name of 300 characters; 200 are the most", "character U+0000",
    ):  # fmt: skip
        assert (
            json.dumps(what.replace("\\x1b", "\x1b").replace("\\x07", "\x07"))[1:-1] if options else what
        ) in printed
    assert not any(line.startswith("OK") for line in printed.splitlines())
    if not options:
        assert printed.count("bad.yaml:") == 8


@pytest.mark.fast
def test_a_file_named_so_is_shown_so(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = "a\x1b[31m\nOK.yaml"
    Path(name).write_text("schema: 1\nbodies: {a: 1}\n")
    assert main(["check", name]) == main(["check", name + "x"]) == outcome.WRONG
    captured = capsys.readouterr()
    assert not acts(captured.out + captured.err)
    assert captured.out.startswith("a\\x1b[31m\\nOK.yaml:2:13: ")


@pytest.mark.fast
def test_pictures_hold_one_line():
    picture = np.zeros((120, 400, 3), np.uint8)
    event = Event(time=0.0, name="a\nb", kind="scene", caption="c\nd\x1b")
    assert (event.name, event.words) == ("a\\nb", "c\\nd\\x1b")
    labels.annotate(picture, 0.5, "two\nlines\x00" + "x" * 20_000, [(event, 1.0)])
    assert picture.any()


@pytest.mark.fast
def test_brackets_of_an_event_are_no_markup_of_the_progress(monkeypatch):
    from rich.progress import TextColumn

    from sim.cli import progress

    columns = []
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("rich.progress.Progress.__init__", lambda self, *given, **_: columns.extend(given) or None)
    with pytest.raises(AttributeError), progress.run_progress(False):
        pass
    words = [column for column in columns if isinstance(column, TextColumn)][-1]
    assert words.markup is False
    assert progress._events([type("", (), {"name": "[red]\nx"})()]) == ", 1 event ([red]\\nx)"


@pytest.mark.fast
@pytest.mark.parametrize("name", ["x" * 3000, ".", "..", "/", "", "a/b/c", "/dev/null/x", "/proc/self/mem"])
@pytest.mark.parametrize("verb", ["check", "info", "run", "linearize", "plot", "verify", "render"])
def test_files_that_cannot_be_used_are_named(verb, name, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sim.kernels.jit.interpret", lambda: None)
    monkeypatch.setattr("sim.cli.drawing._need_opengl", lambda: None)
    code = main([verb, name, *(["-o", "y.png"] if verb == "render" else [])])
    captured = capsys.readouterr()
    assert code in (outcome.WRONG, outcome.FAILED)
    assert any(word[:30] in captured.out + captured.err for word in (repr(name), str(Path(name))))
    assert not list(tmp_path.iterdir())
