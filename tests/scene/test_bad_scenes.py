"""Scenes with mistakes: the whole list of problems of each, with place, text, hint and context."""

import json
import os
import re
from pathlib import Path

import pytest

from sim.scene.load import load
from sim.scene.problem import SceneError

pytestmark = pytest.mark.fast

FOLDER = Path(__file__).parents[1] / "bad_scenes"
SCENES = sorted(path.name for path in FOLDER.glob("*.yaml"))


def problems_of(name):
    with pytest.raises(SceneError) as caught:
        load(name)
    return caught.value.problems


def expected(name):
    return json.loads((FOLDER / name).with_suffix(".expected.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", SCENES)
def test_all_problems_are_found_and_no_other(name, monkeypatch):
    monkeypatch.chdir(FOLDER)
    assert [problem.as_data() for problem in problems_of(name)] == expected(name)


@pytest.mark.parametrize("name", SCENES)
def test_problems_point_into_the_text(name, monkeypatch):
    monkeypatch.chdir(FOLDER)
    for problem in problems_of(name):
        raw = Path(problem.where.file).read_bytes()
        lines = raw.decode("utf-16" if raw[:1] == b"\xff" else "utf-8", "replace").split("\n")
        assert 1 <= problem.where.line <= len(lines)
        assert 1 <= problem.where.column <= len(lines[problem.where.line - 1]) + 1
        assert str(problem).startswith(f"{problem.where}: ")


def kind(what):
    """Return a message without the names and numbers that it quotes."""
    return re.sub(r"'[^']*'|[-+]?\d[\w.]*", "_", what)


def test_there_are_enough_scenes_of_enough_kinds():
    found = [problem for name in SCENES for problem in expected(name)]
    assert len(SCENES) >= 60
    assert len({kind(problem["what"]) for problem in found}) >= 100


def is_inside(name, problem):
    """Return whether a problem is inside an include, a repeat or an expression."""
    elsewhere = problem["context"] or problem["file"] != name or "expression" in name or "number" in name
    return bool(elsewhere or re.search(r"\.(when|torques)|include|repeat", problem["path"]))


def test_a_third_is_inside_includes_repeats_or_expressions():
    inside = [name for name in SCENES if any(is_inside(name, problem) for problem in expected(name))]
    assert len(inside) >= len(SCENES) / 3


def test_one_file_has_ten_problems():
    assert len(expected("ten_problems.yaml")) == 10


def write_expected():
    """Write the lists anew."""
    os.chdir(FOLDER)
    for name in SCENES:
        try:
            load(name)
        except SceneError as error:
            data = [problem.as_data() for problem in error.problems]
            text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
            Path(name).with_suffix(".expected.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_expected()
