"""Small parts of reading: kept texts, names where they stand, problems in order, words for what is expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim.scene.blame import Doubt
from sim.scene.blocks import Block, check_keys, misspelt
from sim.scene.expressions import ExpressionError
from sim.scene.findings import Findings
from sim.scene.kept import Kept
from sim.scene.nodes import Map, Scalar, Sequence, compose, is_empty
from sim.scene.problem import Place
from sim.scene.reading import Reader
from sim.scene.scope import Scope
from sim.scene.units import Quantity, parse_unit
from sim.scene.vocabulary import definition, expected, kinds, quantity

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("outer", "wanted", "found"),
    [
        ("home/a.yaml", "parts/arm.yaml", "home/parts/arm.yaml"),
        ("home/a.yaml", "parts/arm", "home/parts/arm.yaml"),
        ("a.yaml", "./b", "b"),
        ("home/deep/a.yaml", "../b", "b"),
        ("home/a.yaml", "../b", "b"),
        ("home/a.yaml", "figures/ape.yaml", "/lib/scenes/figures/ape.yaml"),
        ("home/a.yaml", "figures/ape", "/lib/scenes/figures/ape.yaml"),
        ("x/a.yaml", "../figures/ape", "/lib/scenes/figures/ape.yaml"),
        ("home/a.yaml", "ape", "/lib/other/ape.yaml"),
        ("home/a.yaml", "pe.yaml", None),
        ("home/a.yaml", "none", None),
        ("home/a.yaml", ".", None),
        ("home/a.yaml", "ends", "/lib/ends"),
    ],
)
def test_a_text_that_is_kept_stood_beside_or_is_known_by_the_end_of_its_path(outer, wanted, found):
    names = (
        "home/parts/arm.yaml",
        "b",
        "/lib/other/ape.yaml",
        "/lib/scenes/figures/ape.yaml",
        "/lib/ends.yaml",
        "/lib/ends",
    )
    kept = Kept({name: f"text of {name}" for name in names})
    assert kept.find(outer, wanted) == found
    if found:
        assert kept.text(found) == f"text of {found}"


def test_names_are_those_of_the_place_where_they_stand(tmp_path):
    scope = Scope(
        Path("x"),
        prefix="doll",
        names={"n": Quantity(3.0), "far": Quantity(2.0, (0, 1, 0), False)},
        loops={"s": "l"},
        included="included at a:3",
    )
    turn = scope.with_turn({"i": ("7", Quantity(7.0)), "q": ("w", "w")}, 5)
    assert (turn.copies, turn.turn, turn.loops, turn.prefix) == (5, "i = 7", {"s": "l", "i": "7", "q": "w"}, "doll")
    assert set(turn.names) == {"n", "far", "i", "q"} and turn.context == "from repeat: i = 7; included at a:3"
    again = turn.with_turn({"k": ("1", Quantity(1.0))}, 10)
    assert again.turn == "i = 7, k = 1" and scope.context == "included at a:3" and Scope(Path()).context == ""
    assert scope.full("knee") == "doll.knee" and scope.hint("doll.kne", ["doll.knee", "knew"]) == "did you mean 'knee'?"
    assert turn.substitute("a_${s}_${ i }_${2*n + i}") == "a_l_7_13" and turn.substitute("plain") == "plain"
    assert turn.substitute("${n + 0.9e-9}") == "3"
    for inner, what in (
        ("n + 2e-9", "${n + 2e-9} is 3; a name takes a text or a whole number"),
        ("n/2", "${n/2} is 1.5; a name takes a text or a whole number"),
        ("far", "${far} is 2; a name takes a text or a whole number"),
        ("inf", "no loop variable named 'inf'"),
        ("si", "no loop variable named 'si'"),
        ("2*inf", "${2*inf} is inf; a name takes a text or a whole number"),
    ):
        with pytest.raises(ExpressionError) as caught:
            turn.substitute("x${" + inner + "}")
        assert caught.value.what == what
    (tmp_path / "inner").mkdir()
    own = Scope(tmp_path, home=tmp_path)
    assert not own.is_foreign(tmp_path / "inner" / "a.yaml") and own.is_foreign(tmp_path.parent / "a.yaml")


def test_problems_come_in_the_order_of_files_lines_and_columns():
    findings = Findings()
    findings.open("b.yaml", "one\ntwo\r\nthree")
    findings.open("a.yaml", "secret", quoted=False)
    for file, line, column, what in (
        ("a.yaml", 1, 1, "e"),
        ("b.yaml", 2, 3, "d"),
        ("b.yaml", 2, 1, "c"),
        ("b.yaml", 1, 9, "b"),
    ):
        findings.add(Place(file, line, column), "p", what)
    findings.add(None, "p", "a")
    findings.add(None, "p", "a")
    found = findings.problems()
    assert [one.what for one in found] == ["a", "b", "c", "d", "e"]
    assert [one.source_line for one in found] == ["", "one", "two", "two", ""]
    assert (
        findings.line(Place("b.yaml", 3, 1)) == "three"
        and findings.line(Place("b.yaml", 4, 1)) == findings.line(Place("none", 1, 1)) == ""
    )
    # From another turn of a repeat the same place is told once.
    findings.add(Place("b.yaml", 3, 1), "p", "f", context="i = 1")
    findings.add(Place("b.yaml", 3, 1), "p", "g", context="i = 2")
    findings.add(Place("b.yaml", 3, 1), "p", "h", context="i = 1", severity="warning")
    assert [one.what for one in findings.problems() if one.where and one.where.line == 3] == [
        "f",
        "h",
    ] and findings.failed()
    quiet = Findings()
    quiet.add(None, "", "w", severity="warning")
    assert not quiet.failed() and [one.what for one in quiet.close()] == ["w"]


def sized(scale: str, *texts: str) -> list[str]:
    """Problems of expressions that should be lengths, with a parameter `size` and one that follows from it."""
    findings = Findings()
    findings.open("a", "\n" * 20)
    own = Quantity(2.0, parse_unit(scale).dimension, False)
    names = {"size": own, "twice": Quantity(4.0, own.dimension, False), "other": Quantity(1.0, (0, 1, 0), False)}
    findings.parameter("size", Place("a", 1, 1), f"2 {scale}")
    findings.parameter("twice", Place("a", 2, 1), "2*size")
    findings.parameter("other", Place("a", 3, 1), "1 m")
    for k, text in enumerate(texts):
        place = Place("a", 10 + k, 1)
        findings.add(place, f"x{k}", "wrong")
        findings.doubt(place, "wrong", Doubt(text, names, ((0, 1, 0),)))
    return [one.path for one in findings.problems()]


@pytest.mark.parametrize(
    ("scale", "texts", "paths"),
    [
        ("kg", ("size", "3*size", "size/2"), ["parameters.size"]),
        ("kg", ("size", "3*size"), ["x0", "x1"]),
        ("kg", ("size", "twice", "twice/3", "other*3 kg"), ["parameters.size", "x3"]),
        ("s", ("size*size/size", "size", "twice - size"), ["parameters.size"]),
        ("kg", ("2 kg", "3 kg", "4 kg"), ["x0", "x1", "x2"]),
    ],
)
def test_one_unit_that_explains_three_places_is_told_once(scale, texts, paths):
    """What follows from the parameter is explained with it, what has another cause is not."""
    assert sized(scale, *texts) == paths


def test_what_is_expected_is_words():
    for unit, words in {
        "m": "a length (m)",
        "rad": "an angle (rad)",
        "1": "a pure number",
        "N m/rad": "a stiffness (N m/rad)",
        "N/m or N m/rad": "a stiffness (N/m) or a stiffness (N m/rad)",
        "rad/s": "an angular speed (rad/s)",
        "N m": "a torque (N m)",
        "s/m": "a dissipation (s/m)",
        "Hz": "a rate (Hz)",
        "1/m": "an inverse length (1/m)",
        "m or rad": "a length (m) or an angle (rad)",
        "N m s/rad": "a damping (N m s/rad)",
        "kg/m^3": "a density (kg/m^3)",
    }.items():
        assert quantity(unit) == words
    numbers = {"type": ["number", "string"], "x-unit": "m"}
    for schema, words in (
        ({"const": 1}, "1"),
        ({"type": "string", "enum": ["a", "b"]}, "one of a, b"),
        ({"type": "integer"}, "a whole number"),
        ({"type": "number"}, "a number"),
        (numbers, "a length (m)"),
        ({"type": "array", "items": numbers, "minItems": 3, "maxItems": 3}, "a list of 3 numbers"),
        ({"type": "array", "items": numbers, "minItems": 3, "maxItems": 6}, "a list of 3 to 6 numbers"),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1}, "a list of names"),
        ({"type": "array", "items": {"type": "object"}}, "a list of maps"),
        ({"type": "boolean"}, "true or false"),
        ({"type": "object"}, "a map of keys and values"),
        ({"type": "object", "x-choice": ["a", "b"]}, "a map with a or b"),
        ({"type": "string"}, "a text"),
        ({"oneOf": [{"type": "boolean"}, {"type": "boolean"}, numbers]}, "true or false or a length (m)"),
    ):
        assert expected(schema) == words
    assert kinds({"type": "string"}) == {"scalar"} and kinds({"type": ["array", "object"]}) == {"list", "map"}
    assert kinds({}) == {"scalar", "list", "map"} and kinds({"oneOf": [{"type": "array"}, {"type": "number"}]}) == {
        "list",
        "scalar",
    }
    assert definition("joint")["properties"]["type"]["enum"]


def test_keys_of_another_type_and_missing_ones_are_told():
    findings = Findings()
    findings.open("a", "x")
    reader = Reader(Scope(Path()), findings)
    key = Scalar("radius", False, Place("a", 3, 1))
    block = Block(
        {"radius": 1},
        {"radius": Scalar("1", False, Place("a", 3, 9))},
        {"radius": key},
        Place("a", 2, 1),
        "bodies.b",
        reader,
    )
    properties = {"size": {"examples": [[1, 2.5]]}, "name": {"examples": ["x"]}}
    check_keys(block, "a box", ("about",), ("size", "name"), ("color",), properties)
    assert [(one.where.line, one.path, one.what, one.hint) for one in findings.problems()] == [
        (2, "bodies.b", "key 'size' is missing", "size: [1, 2.5]"), (2, "bodies.b", "key 'name' is missing", "name: x"),
        (3, "bodies.b.radius", "a box has no 'radius'", "it has size, name, color"),
    ]  # fmt: skip
    assert misspelt("radius", ["raduis"]) and not misspelt("radius", ["color"]) and not misspelt("radius", [])
    assert (
        block.get("radius") == 1 and block.get("none", 5) == 5 and block.wrote("x", "radius") and not block.wrote("x")
    )
    assert block.where("radius") == Place("a", 3, 9) and block.where("none") == Place("a", 2, 1)


def test_nodes_know_where_they_stand():
    findings = Findings()
    text = "a: 1\nbé: [x, 'null', {c: ~}]\nd:\n"
    findings.open("f", text)
    root = compose(text, "f", findings)
    assert isinstance(root, Map) and findings.problems() == []
    items = root.get("bé")
    assert (
        isinstance(items, Sequence)
        and items.place == Place("f", 2, 5, 1)
        and root.key("bé").place == Place("f", 2, 1, 2)
    )
    word, quoted, inner = items.items
    assert (word.text, word.quoted, word.place) == ("x", False, Place("f", 2, 6, 1))
    assert (quoted.text, quoted.quoted, quoted.place) == ("null", True, Place("f", 2, 9, 6)) and not is_empty(quoted)
    assert is_empty(inner.get("c")) and is_empty(root.get("d")) and not is_empty(word) and not is_empty(items)
    assert root.get("none") is root.key("none") is None
    for deep, right in ((59, True), (60, False)):  # the map at the top is one of the levels
        said = Findings()
        nested = "a: " + "[" * deep + "]" * deep
        said.open("f", nested)
        assert (compose(nested, "f", said) is not None) is right
        assert [one.what for one in said.problems()] == ([] if right else ["more than 60 levels inside one another"])
