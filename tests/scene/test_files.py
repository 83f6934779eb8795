"""Where scenes come from, and everything that may be wrong with a file."""

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sim
from sim.scene import library
from sim.scene.load import load, load_checked, load_text
from sim.scene.problem import SceneError
from tests.scene.examples import FIGURE, PENDULUM, SWING

pytestmark = pytest.mark.fast


def the_problem(call, *args, **options):
    with pytest.raises(SceneError) as caught:
        call(*args, **options)
    (problem,) = caught.value.problems
    return problem


def test_a_shipped_scene_is_found_by_its_bare_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert library.find("pendulum") == library.scenes_path() / "pendulum.yaml"
    assert load("pendulum").name == "pendulum"
    assert {"swing", "figures/monkey16"} <= set(library.names())


def test_a_file_counts_more_than_a_shipped_scene(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("pendulum").write_text("schema: 1\nname: mine\n" + PENDULUM, encoding="utf-8")
    assert load("pendulum").name == "mine"


@pytest.mark.parametrize(
    ("name", "what", "hint"),
    [
        ("swng", "there is no scene named 'swng', and no file of that name", "did you mean 'swing'?"),
        ("nowhere/xyz.yaml", "there is no file 'nowhere/xyz.yaml'", "shipped scenes: sim list"),
        ("folder", "'folder' is a folder; a scene is a file", "shipped scenes: sim list"),
        ("x" * 5000, f"there is no scene named '{'x' * 5000}', and no file of that name", "shipped scenes: sim list"),
        ("a\0b", "there is no scene named 'a\0b', and no file of that name", "shipped scenes: sim list"),
    ],
)
def test_a_file_that_is_not_there_is_a_problem(tmp_path, monkeypatch, name, what, hint):
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    problem = the_problem(load, name)
    assert (problem.where, problem.what, problem.hint) == (None, what, hint)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_a_problem(tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_text("schema: 1\n", encoding="utf-8")
    path.chmod(0)
    assert the_problem(load, path).what == f"cannot read '{path}': Permission denied"


def test_byte_order_mark_and_windows_lines_are_read(tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + ("schema: 1\n" + PENDULUM).replace("\n", "\r\n").encode())
    assert [body.name for body in load(path).bodies] == ["bob"]
    path.write_bytes(b"schema: 1\r\nname: a\r\nbodys: {}\r\n")
    problem = the_problem(load, path)
    assert (problem.where.line, problem.source_line) == (3, "bodys: {}")


def test_the_text_is_kept_to_the_byte(tmp_path):
    path = tmp_path / "scene.yaml"
    text = "schema: 1  # a comment\r\n\n" + PENDULUM + "about: \u00e9\n"
    path.write_bytes(text.encode())
    scene = load(path)
    assert scene.text == text
    assert scene.sources == {str(path): text}


def test_sim_load_is_this_load():
    assert sim.load is load


def test_problems_are_sorted_by_file_and_place(tmp_path):
    (tmp_path / "part.yaml").write_text("schema: 1\nbodies: {a: 1, b: 2}\n", encoding="utf-8")
    text = "schema: 1\nbodies: {c: 3}\ninclude: {figure: part.yaml, prefix: p}\nworld: {gravity: 1}\n"
    with pytest.raises(SceneError) as caught:
        load_text(text, folder=tmp_path)
    places = [(Path(p.where.file).name, p.where.line, p.where.column) for p in caught.value.problems]
    assert places == [("<text>", 2, 13), ("<text>", 4, 18), ("part.yaml", 2, 13), ("part.yaml", 2, 19)]
    assert str(caught.value).count("\n") >= 2 * len(places)


def test_warnings_do_not_forbid_to_run(tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_text("schema: 1\n" + PENDULUM + "simulate: {method: rk4, rtol: 1e-6}\n", encoding="utf-8")
    scene, warnings = load_checked(path)
    assert scene.simulate.method == "rk4"
    (warning,) = warnings
    assert (warning.severity, warning.what) == ("warning", "method rk4 does not use 'rtol'")
    assert str(warning).startswith(f"{path}:6:31: warning: simulate.rtol: method rk4 does not use 'rtol'\n")


def test_reading_a_scene_imports_nothing_of_the_engine(tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_text("schema: 1\n" + PENDULUM, encoding="utf-8")
    code = (
        "import sys; from sim.scene.load import load; load(sys.argv[1]);"
        "print([m for m in ('numba', 'numpy', 'scipy', 'vispy', 'h5py', 'jsonschema') if m in sys.modules])"
    )
    root = Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-c", code, path], cwd=root, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


# ---- no text may end in anything but a scene or a list of problems ----

WORDS = [
    "${s}",
    "repeat:",
    "include:",
    ":",
    "-",
    "1e400",
    "nan",
    "-inf",
    "null",
    "true",
    "[]",
    "{}",
    "**",
    "9**9**9",
    "coordinate('x')",
    "position",
    "''",
    "~",
]
PIECES = [*WORDS, *" \n\t:{}[],'\"*&!#-_.0123456789abclrs${}<>()^%@`|?/\\\u00e9\0\u2028"]


def mutated(text, chance):
    """Return a text with a few random changes, of characters, words or lines."""
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randrange(len(text) + 1)
        way = chance.randrange(4)
        if way == 0:
            text = text[:at] + chance.choice(PIECES) + text[at:]
        elif way == 1:
            text = text[:at] + text[at + chance.randint(1, 20) :]
        elif way == 2:
            words = re.findall(r"[\w.']+|\S|\s+", text) or ["x"]
            words[chance.randrange(len(words))] = chance.choice(words)
            text = "".join(words)
        else:
            lines = text.split("\n")
            a, b = chance.randrange(len(lines)), chance.randrange(len(lines))
            lines[a], lines[b] = lines[b], lines[a]
            text = "\n".join(lines)
    return text


@pytest.mark.parametrize("seed", range(8))
def test_any_text_is_a_scene_or_problems_with_sentences(tmp_path, seed):
    (tmp_path / "doll.yaml").write_text(FIGURE, encoding="utf-8")
    chance = random.Random(seed)
    outcomes = set()
    for _ in range(25):
        text = mutated(chance.choice((SWING, FIGURE, "schema: 1\n" + PENDULUM)), chance)
        try:
            load_text(text, folder=tmp_path)
            outcomes.add("scene")
        except SceneError as error:
            assert error.problems
            assert all(problem.what and str(problem) for problem in error.problems)
            outcomes.add("problems")
    assert "problems" in outcomes
