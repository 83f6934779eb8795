"""No function takes a long list of arguments by position, and no kernel reads a row by numbers that hide a meaning."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.fast

SIM = Path(__file__).parents[2] / "sim"
SOURCES = {
    str(path.relative_to(SIM)): path.read_text(encoding="utf-8")
    for path in sorted(SIM.rglob("*.py"))
    if "cli" not in path.relative_to(SIM).parts  # whose parameters are options
}
MOST = 12
LAST = 8
# Rows whose numbers have an order of their own: inertias, two wrenches, poses of shapes; the stages of Dormand
# and Prince, and their coefficients.
ORDERED = {"P", "P_out", "I", "I_out", "K", "pose", "k", "A"}


def long_lists(source: str) -> Iterator[tuple[str, int]]:
    """Yield functions that take more by position than they may, and how many."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
            count = len(names) - (names[:1] in (["self"], ["cls"]))
            if count > MOST:
                yield node.name, count


def far_places(source: str) -> Iterator[tuple[str, int]]:
    """Yield what is indexed by a number beyond those of a matrix."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Subscript):
            name = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
            places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            for place in places:
                at = place.value if isinstance(place, ast.Constant) else None
                if isinstance(at, int) and at > LAST and name not in ORDERED:
                    yield name, at


def test_nothing_takes_more_than_a_dozen_arguments_by_position() -> None:
    assert len(SOURCES) > 200
    assert {file: found for file, text in SOURCES.items() if (found := list(long_lists(text)))} == {}


def test_no_kernel_counts_far_into_a_row() -> None:
    kernels = {file: text for file, text in SOURCES.items() if file.startswith("kernels")}
    assert len(kernels) > 50
    assert {file: found for file, text in kernels.items() if (found := list(far_places(text)))} == {}


def test_both_are_seen() -> None:
    thirteen = ", ".join(f"a{i}" for i in range(13))
    assert list(long_lists(f"def f({thirteen}): pass\ndef g({thirteen[:-5]}): pass")) == [("f", 13)]
    assert list(long_lists(f"class A:\n    def f(self, {thirteen[:-5]}): pass")) == []
    assert list(far_places("work.frame[n, 9] = frame[8] + P[b, 20] + frame[10]")) == [("frame", 9), ("frame", 10)]
