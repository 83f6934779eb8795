"""Named numbers of a file: their values, what overrides them, and their ranges."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sim.scene.expressions import RESERVED, ExpressionError
from sim.scene.names import nearest
from sim.scene.nodes import Map, Node, Scalar
from sim.scene.reading import BAD, Block, Reader
from sim.scene.units import Quantity, UnitError, describe, parse_unit
from sim.scene.vocabulary import definition


@dataclass(frozen=True)
class Override:
    """A value that replaces a parameter's own, and where to report what is wrong with it."""

    value: Quantity
    node: Node
    reader: Reader
    path: str


def read_parameters(node: Node | None, reader: Reader, overrides: Mapping[str, Override]) -> dict[str, Quantity]:
    """Return the parameters of a file, each of which may use those above it.

    Parameters
    ----------
    node : Node or None
        The file's ``parameters`` block.
    reader : Reader
        In the scope of the file, without its parameters.
    overrides : mapping of name to Override
        From ``--set`` or from the include.
    """
    found: dict[str, Quantity] = {}
    entries = node.entries if isinstance(node, Map) else []
    if node is not None and not isinstance(node, Map):
        reader.problem(node, "parameters", "expected names and values", "parameters: {height: 1.2 m}")
    declared = [key.text for key, _ in entries]
    for number, (key, value) in enumerate(entries):
        path = f"parameters.{key.text}"
        name = reader.name(key, "parameters", "parameter")
        if name is BAD:
            continue
        if name in RESERVED or not name.isidentifier():
            reader.problem(key, path, f"'{name}' is a unit, constant or function" if name in RESERVED else
                           f"'{name}' cannot be used in expressions", "choose another name for the parameter")  # fmt: skip
            continue
        scoped = Reader(_with(reader, found), reader.findings)
        own = _declared(value, scoped, path, key, declared[number:])
        # What follows shall not fail because this did: an unreadable parameter still exists.
        found[name] = _overridden(own, overrides.get(name)) if own else Quantity(math.nan, bare=True, live=True)
    for name, override in overrides.items():
        if name not in declared:
            hint = nearest(name, declared) or "the file has no parameters"
            override.reader.problem(override.node, override.path, f"no parameter named '{name}'", hint)
    return found


def _with(reader: Reader, names: Mapping[str, Quantity]) -> Any:
    import dataclasses

    return dataclasses.replace(reader.scope, names={**reader.scope.names, **names})


@dataclass(frozen=True)
class _Declared:
    value: Quantity
    unit: Quantity | None  # of bare numbers
    low: float
    high: float
    shown: str  # the range, as a message says it


def _declared(node: Node, reader: Reader, path: str, key: Scalar, below: list[str]) -> _Declared | None:
    """Return a parameter as its file declares it, or None."""
    if isinstance(node, Map):
        block = reader.block(node, definition("parameter")["oneOf"][1], path, key.place)
        return _from_block(block) if block is not BAD else None
    value = _quantity(node, reader, path, below)
    return None if value is None else _Declared(value, None, -math.inf, math.inf, "")


def _quantity(node: Node, reader: Reader, path: str, below: list[str]) -> Quantity | None:
    from sim.scene.expressions import evaluate
    from sim.scene.traps import number_trap

    if isinstance(node, Scalar) and not number_trap(node.text, node.quoted):
        try:
            return _finite(evaluate(node.text, reader.scope.names), node, reader, path)
        except ExpressionError as error:
            if error.token in below:
                hint = "a parameter uses those above it: move it up"
                error = ExpressionError(f"parameter '{error.token}' is not known yet", hint, error.token)
            reader.fail(node, path, error)
            return None
    value = reader.quantity(node, path)
    return None if value is BAD else value


def _finite(value: Quantity, node: Node, reader: Reader, path: str) -> Quantity | None:
    if value.live or math.isfinite(value.value):
        return value
    reader.problem(node, path, f"{value.value} is not a finite number")
    return None


def _from_block(block: Block) -> _Declared | None:
    value, unit = block.get("value"), None
    if block.get("unit"):
        try:
            unit = parse_unit(block.get("unit"))
        except UnitError as error:
            block.problem("unit", str(error))
    if value is None or block.bad("unit"):
        return None
    value = _in_unit(value, unit)
    if unit is not None and value.dimension != unit.dimension:
        block.problem("value", f"expected {describe(unit.dimension)}, found {describe(value.dimension)}")
        return None
    low, high, shown = -math.inf, math.inf, ""
    if block.get("range"):
        ends = [_in_unit(end, unit) for end in block.get("range")]
        for end in ends:
            if not end.bare and not value.bare and end.dimension != value.dimension:
                block.problem("range", f"expected {describe(value.dimension)}, found {describe(end.dimension)}")
                return None
        low, high = ends[0].value, ends[1].value
        shown = " to ".join(_shown(end, unit) for end in ends)
        if low > high:
            block.problem(
                "range",
                f"the smallest value, {_shown(ends[0], unit)}, is larger than the largest, {_shown(ends[1], unit)}",
            )
            return None
        if not value.live and not low <= value.value <= high:
            block.problem("value", f"{_shown(value, unit)} is outside its range, {shown}")
            return None
    return _Declared(value, unit, low, high, shown)


def _in_unit(value: Quantity, unit: Quantity | None) -> Quantity:
    """Return a bare number as one of the declared unit."""
    if unit is None or not value.bare:
        return value
    return Quantity(value.value * unit.value, unit.dimension, unit.bare, value.live)


def _shown(value: Quantity, unit: Quantity | None) -> str:
    return f"{value.value / (unit.value if unit else 1.0):g}" if unit and unit.value != 1.0 else f"{value.value:g}"


def _overridden(own: _Declared, override: Override | None) -> Quantity:
    """Return the value of a parameter after an override."""
    if override is None:
        return own.value
    value = _in_unit(override.value, own.unit)
    if value.bare and not own.value.bare:
        value = Quantity(value.value, own.value.dimension, False, value.live)
    report = override.reader.problem
    if not own.value.live and not own.value.bare and value.dimension != own.value.dimension:
        what = f"expected {describe(own.value.dimension)}, found {describe(value.dimension)}"
        report(override.node, override.path, what)
        return own.value
    if not value.live and not own.low <= value.value <= own.high:
        report(
            override.node, override.path, f"{_shown(value, own.unit)} is outside the range {own.shown} of the parameter"
        )
        return own.value
    return value
