"""What reading makes of maps: named things, and blocks of known keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from sim.scene.expressions import ExpressionError
from sim.scene.findings import Findings
from sim.scene.names import join, nearest
from sim.scene.nodes import Node, Scalar, Sequence
from sim.scene.problem import Place
from sim.scene.scope import Scope
from sim.scene.units import Quantity


class _Unreadable:
    """What stands for a value that could not be read; its problem is already among the findings."""

    def __repr__(self) -> str:
        return "BAD"


BAD: Any = _Unreadable()


class Reads(Protocol):
    """Who reads nodes in a scope: `sim.scene.reading.Reader`, as what it makes of them knows it."""

    scope: Scope
    findings: Findings

    def within(self, scope: Scope) -> Self:
        """Return who reads in another scope."""

    def problem(self, where: Place | Node, path: str, what: str, hint: str = "", severity: str = "error") -> None:
        """Report a mistake."""

    def fail(self, node: Node, path: str, error: ExpressionError) -> Any:
        """Report an expression that cannot be read."""

    def read(self, node: Node, schema: Any, path: str, place: Place | None = None) -> Any:
        """Read a node as a schema wants it."""

    def text(self, node: Node, path: str, choices: list[str] | None = None, also: dict[str, str] | None = None) -> Any:
        """Read a text, one of some where these are given."""

    def number(self, node: Node, schema: Any, path: str) -> Any:
        """Read a number as a schema wants it."""

    def things(self, node: Node, schema: Any, path: str) -> Any:
        """Read a map whose keys are names into a list of Things."""

    def fit(self, found: Quantity, node: Node, schema: Any, path: str) -> Any:
        """Return a quantity as the number that a schema wants."""

    def block(self, node: Node, schema: Any, path: str, place: Place | None = None) -> Any:
        """Read a map of known keys."""

    def lose_names(self) -> None:
        """Note that not all names of this file are known."""


@dataclass
class Thing:
    """A named entry of a map, such as one body."""

    name: str
    key: Scalar
    node: Node
    reader: Reads
    path: str
    value: Any

    @property
    def full(self) -> str:
        """Its name with the prefix of its file."""
        return join(self.reader.scope.prefix, self.name)

    def problem(self, what: str, hint: str = "", severity: str = "error") -> None:
        """Report a mistake of the whole thing, at its name."""
        self.reader.problem(self.key, self.path, what, hint, severity)


@dataclass
class Block:
    """A map with known keys, read: values by key, defaults filled in."""

    values: dict[str, Any]
    nodes: dict[str, Node]
    keys: dict[str, Scalar]
    place: Place
    path: str
    reader: Reads
    unknown: list[str] = field(default_factory=list)  # keys that the schema does not have

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value; `default` where it was neither written nor has one, or could not be read."""
        value = self.values.get(key, default)
        return default if value is BAD else value

    def wrote(self, *keys: str) -> bool:
        """Return whether one of the keys stands in the text, readable or not."""
        return any(key in self.nodes for key in keys)

    def absent(self, key: str) -> bool:
        """Return whether a key is missing, and none of the unknown keys may be meant for it."""
        return key not in self.nodes and not misspelt(key, self.unknown)

    def bad(self, *keys: str) -> bool:
        """Return whether one of the keys stands in the text and could not be read."""
        return any(self.values.get(key) is BAD for key in keys)

    def where(self, key: str) -> Place:
        """Return the place of a value, or of the block."""
        return self.nodes[key].place if key in self.nodes else self.place

    def problem(self, key: str | None, what: str, hint: str = "", severity: str = "error", item: int = -1) -> None:
        """Report a mistake at a key's value (or one item of its list), or at the block."""
        path, place = self.path, self.place
        if key is not None:
            path, node = f"{self.path}.{key}", self.nodes.get(key)
            if node is not None:
                place = node.place
                if item >= 0 and isinstance(node, Sequence):
                    path, place = f"{path}[{item}]", node.items[item].place
        self.reader.problem(place, path, what, hint, severity)


def check_keys(
    block: Block, what: str, common: tuple[str, ...], needs: tuple[str, ...], may: tuple[str, ...], properties: Any
) -> None:
    """Report keys of another type of thing than `what`, and missing ones of its own; `properties`: the schema's."""
    for key in block.nodes:
        if key not in (*common, *needs, *may):
            said = f"{what} has no '{key}'"
            block.reader.problem(block.keys[key], f"{block.path}.{key}", said, f"it has {', '.join((*needs, *may))}")
    for key in needs:
        if block.absent(key):
            block.problem(None, f"key '{key}' is missing", f"{key}: {_flow(properties[key]['examples'][0])}")


def _flow(value: Any) -> str:
    """Return an example of the schema as a scene writes it in one line."""
    return f"[{', '.join(_flow(item) for item in value)}]" if isinstance(value, list) else str(value)


def misspelt(name: str, unknown: list[str]) -> bool:
    """Return whether one of the unknown keys may be meant for a name."""
    return any(nearest(key, [name]).startswith("did") for key in unknown)
