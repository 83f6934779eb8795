"""Named numbers of a file: their values, what overrides them, and their ranges."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sim.scene.blocks import BAD, Block
from sim.scene.expressions import RESERVED, ExpressionError
from sim.scene.names import is_name, nearest
from sim.scene.nodes import Map, Node, Scalar, Sequence
from sim.scene.reading import Reader
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
        if name is BAD or not _usable(name, key, reader, path):
            continue
        scope = dataclasses.replace(reader.scope, names={**reader.scope.names, **found})
        own = _declared(value, _ParameterReader(scope, reader.findings, tuple(declared[number:])), path, key)
        plain = value.get("value") if isinstance(value, Map) else value
        reader.findings.parameter(name, key.place, "" if name in overrides else _text(plain))
        # What follows shall not fail because this did: an unreadable parameter still exists.
        found[name] = _overridden(own, overrides.get(name)) if own else Quantity(math.nan, live=True)
    for name, override in overrides.items():
        if name not in declared:
            hint = nearest(name, declared) or "the file has no parameters"
            override.reader.problem(override.node, override.path, f"no parameter named '{name}'", hint)
    return found


@dataclass
class _ParameterReader(Reader):
    """Reads one parameter; `below`: the names of this one and of those that follow."""

    below: tuple[str, ...] = ()

    def fail(self, node: Node, path: str, error: ExpressionError) -> Any:
        """Report an expression that cannot be read, and say so if it uses a parameter too early."""
        if error.token in self.below:
            what, hint = f"parameter '{error.token}' is not known yet", "a parameter uses those above it: move it up"
            error = ExpressionError(what, hint, error.token)
        return super().fail(node, path, error)


def _usable(name: str, key: Scalar, reader: Reader, path: str) -> bool:
    """Return whether an expression can use a name; report if not."""
    if name in RESERVED:
        what = f"'{name}' is a unit, constant or function"
    elif not is_name(name):
        return False  # reported
    elif not name.isidentifier():
        what = f"'{name}' cannot be used in expressions"
    else:
        return True
    reader.problem(key, path, what, "choose another name for the parameter")
    return False


@dataclass(frozen=True)
class _Declared:
    value: Quantity
    unit: Quantity | None  # of bare numbers
    low: float = -math.inf
    high: float = math.inf
    shown: str = ""  # the range, as a message says it


def _declared(node: Node, reader: Reader, path: str, key: Scalar) -> _Declared | None:
    """Return a parameter as its file declares it, or None (reported)."""
    if isinstance(node, Map):
        block = reader.block(node, definition("parameter")["oneOf"][1], path, key.place)
        own = _from_block(block)
        node = block.nodes.get("value", node)
    else:
        value = reader.read(node, {"type": ["number"]}, path, key.place)
        own = None if value is BAD else _Declared(value, None)
    if own is not None and not own.value.live and not math.isfinite(own.value.value):
        reader.problem(node, path, f"{own.value.value} is not a finite number")
        return None
    return own


def _from_block(block: Block) -> _Declared | None:
    """Return a parameter written as a map, or None (reported)."""
    value, unit = block.get("value"), None
    if block.get("unit"):
        try:
            unit = parse_unit(block.get("unit"))
        except UnitError as error:
            block.problem("unit", str(error))
            return None
    if value is None or block.bad("unit", "range"):
        return None
    value = _in_unit(value, unit)
    if unit is not None and value.dimension != unit.dimension:
        block.problem("value", f"expected {describe(unit.dimension)}, found {describe(value.dimension)}")
        return None
    low, high = (_in_unit(end, unit) for end in block.get("range", (_LOWEST, _HIGHEST)))
    for end in (low, high):
        if not end.bare and not value.bare and end.dimension != value.dimension:
            block.problem("range", f"expected {describe(value.dimension)}, found {describe(end.dimension)}")
            return None
    ends = block.nodes.get("range")
    shown = " to ".join(_text(end) for end in ends.items) if isinstance(ends, Sequence) else ""
    if low.value > high.value:
        block.problem("range", f"the range {shown} is empty", "the smallest value comes first")
        return None
    if not value.live and not low.value <= value.value <= high.value:
        block.problem("value", f"{_text(block.nodes['value'])} is outside the range {shown}")
        return None
    return _Declared(value, unit, low.value, high.value, shown)


_LOWEST, _HIGHEST = Quantity(-math.inf), Quantity(math.inf)


def _text(node: Node | None) -> str:
    return node.text if isinstance(node, Scalar) else ""


def _in_unit(value: Quantity, unit: Quantity | None) -> Quantity:
    """Return a bare number as one of the declared unit."""
    if unit is None or not value.bare:
        return value
    return Quantity(value.value * unit.value, unit.dimension, unit.bare, value.live)


def _overridden(own: _Declared, override: Override | None) -> Quantity:
    """Return the value of a parameter after an override."""
    if override is None:
        return own.value
    value = _in_unit(override.value, own.unit)
    if value.bare and not own.value.bare:
        value = Quantity(value.value, own.value.dimension, False, value.live)
    if value.live or own.value.live:
        return value
    if not own.value.bare and value.dimension != own.value.dimension:
        what = f"expected {describe(own.value.dimension)}, found {describe(value.dimension)}"
    elif not own.low <= value.value <= own.high:
        what = f"{_text(override.node)} is outside the range {own.shown} of the parameter"
    else:
        return value
    override.reader.problem(override.node, override.path, what)
    return own.value
