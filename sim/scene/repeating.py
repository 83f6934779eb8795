"""`repeat`: blocks that are written once and stand several times."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from sim.scene.blocks import Reads
from sim.scene.expressions import RESERVED, ExpressionError, evaluate
from sim.scene.names import is_name
from sim.scene.nodes import Map, Node, Scalar, Sequence
from sim.scene.units import UNITS, Quantity

MOST_TURNS = 10_000  # of a repeat and those around it together, and of all; more is a mistake, and would take minutes

R = TypeVar("R", bound=Reads)
Column = Collection[tuple[str, Quantity | str]]  # text and meaning of a loop variable in each turn


@dataclass(frozen=True)
class _Whole(Collection[tuple[str, Quantity | str]]):
    """Whole numbers, counted before they are made."""

    numbers: range

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[tuple[str, Quantity | str]]:
        return ((str(i), Quantity(float(i))) for i in self.numbers)

    def __contains__(self, item: object) -> bool:
        return item in list(self)


def blocks(node: Node, reader: R, path: str) -> Iterator[tuple[Map, R]]:
    """Yield every block of a `repeat` in every turn: the map without `for`, and a reader in its scope."""
    path = f"{path}.repeat" if path else "repeat"
    items = node.items if isinstance(node, Sequence) else [node]
    for item in items:
        if not isinstance(item, Map):
            reader.lose_names()
            reader.problem(item, path, "expected a map with 'for' and the things to repeat")
            continue
        loop = item.get("for")
        if loop is None:
            reader.lose_names()
            reader.problem(item, path, "key 'for' is missing", "for: {s: [l, r]}")
            continue
        body = Map([(key, value) for key, value in item.entries if key.text != "for"], item.place)
        columns = loop_columns(loop, reader, f"{path}.for")
        length = len(next(iter(columns.values()), ()))
        copies = length * reader.scope.copies
        if not length or reader.findings.turns > MOST_TURNS:  # reported
            reader.lose_names()
            continue
        reader.findings.turns += length
        count = max(copies, reader.findings.turns)
        if count > MOST_TURNS:
            reader.lose_names()
            reader.findings.turns = count  # those around it stop, too
            what = f"{count} turns in all" if count == copies else f"{count} turns of all repeats up to this one"
            reader.problem(loop, f"{path}.for", f"{what}; {MOST_TURNS} are the most")
            continue
        for values in zip(*columns.values(), strict=True):
            if reader.findings.turns > MOST_TURNS:
                break
            turn = dict(zip(columns, values, strict=True))
            yield body, reader.within(reader.scope.with_turn(turn, copies))


def unroll(node: Map, reader: R, path: str) -> Iterator[tuple[Scalar, Node, R]]:
    """Yield the entries of a map of things, those of its repeats in every turn, with the readers of their scopes."""
    for key, value in node.entries:
        if key.text == "repeat":
            for body, inner in blocks(value, reader, path):
                yield from unroll(body, inner, path)
        else:
            yield key, value, reader


def loop_columns(node: Node, reader: Reads, path: str) -> dict[str, Column]:
    """Return the values of each loop variable, all as many; none if the loop cannot be read."""
    if not isinstance(node, Map) or not node.entries:
        reader.problem(node, path, "expected loop variables and their values", "for: {s: [l, r], y: [1, -1]}")
        return {}
    columns: dict[str, Column] = {}
    good = True
    for key, value in node.entries:
        column = _column(value, reader, f"{path}.{key.text}")
        if column is None or not _variable(key, column, reader, path):
            good = False
        else:
            columns[key.text] = column
    if not good:
        return {}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name} has {count}" for name, count in lengths.items())
        reader.problem(node, path, f"lists of different lengths: {shown}", "loop variables are stepped together")
        return {}
    return columns


def _variable(key: Scalar, column: Column, reader: Reads, path: str) -> bool:
    """Return whether a loop variable may be called so; report if not."""
    name = key.text
    numeric = any(isinstance(meaning, Quantity) for _, meaning in column)
    if not is_name(name) or not name.isidentifier():
        what, hint = f"'{name}' cannot be the name of a loop variable", "letters, digits and _"
    elif name in reader.scope.names:
        what, hint = f"loop variable '{name}' hides another of that name", "choose another name"
    elif name in RESERVED and numeric:
        what, hint = f"'{name}' is a unit, constant or function", "choose another name for the loop variable"
    else:
        return True
    reader.problem(key, path, what, hint)
    return False


def _column(node: Node, reader: Reads, path: str) -> Column | None:
    """Return the values of one loop variable: a list, or a range of whole numbers."""
    if isinstance(node, Map):
        return _range(node, reader, path)
    if not isinstance(node, Sequence) or not node.items:
        reader.problem(node, path, "expected a list of values, or {from: 1, to: 10}")
        return None
    values: list[tuple[str, Quantity | str]] = []
    for i, item in enumerate(node.items):
        if not isinstance(item, Scalar):
            reader.problem(item, f"{path}[{i}]", "expected a number or a word, found a list or map")
            return None
        values.append(_value(item, reader, f"{path}[{i}]"))
    return values


def _value(item: Scalar, reader: Reads, path: str) -> tuple[str, Quantity | str]:
    text: Any = item.text
    try:
        text = reader.scope.substitute(item.text)
        if not item.quoted and text not in UNITS:
            return text, evaluate(text, reader.scope.names)
    except ExpressionError as error:
        if "${" in item.text:
            reader.fail(item, path, error)
    return text, text


def _range(node: Map, reader: Reads, path: str) -> Column | None:
    schema = {"type": ["integer", "string"]}
    known = {"from": schema, "to": schema}
    limits = {"type": "object", "properties": known, "required": ["from", "to"], "additionalProperties": False}
    block = reader.block(node, limits, path)
    first, last = block.get("from"), block.get("to")
    if first is None or last is None:
        return None
    if last - first >= MOST_TURNS:
        reader.problem(node, path, f"{last - first + 1} turns; {MOST_TURNS} are the most")
        return None
    if last < first:
        reader.problem(node, path, f"from {first} to {last} is empty")
        return None
    return _Whole(range(first, last + 1))
