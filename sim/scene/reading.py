"""Reading nodes as the schema wants them: text to SI numbers, names and maps, with every mistake found.

The schema is the one source of keys, types, units, ranges and defaults; nothing here knows a body
from a joint.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

from sim.scene import repeating
from sim.scene.blame import Doubt
from sim.scene.blocks import BAD, Block, Thing, misspelt
from sim.scene.expressions import ExpressionError, evaluate
from sim.scene.findings import Findings
from sim.scene.names import YAML_WORDS, is_name, is_pattern, nearest
from sim.scene.nodes import Map, Node, Scalar, Sequence, is_empty
from sim.scene.problem import Place
from sim.scene.scope import Scope
from sim.scene.shown import forbidden
from sim.scene.traps import number_trap, trap_of_empty
from sim.scene.units import Quantity, describe, parse_unit
from sim.scene.vocabulary import Schema, expected, kinds, quantity, resolve

LONGEST_NAME = 200  # characters

# Kinds of things whose names appear in dotted full names; others may be any text.
_STRICT = {"body", "joint", "point", "controller", "constraint", "parameter"}


@dataclass
class Reader:
    """Reads nodes in one scope."""

    scope: Scope
    findings: Findings

    def within(self, scope: Scope) -> Self:
        """Return a reader of this kind in another scope."""
        return replace(self, scope=scope)

    def problem(self, where: Place | Node, path: str, what: str, hint: str = "", severity: str = "error") -> None:
        """Report a mistake."""
        place = where if isinstance(where, Place) else where.place
        self.findings.add(place, path, what, hint, self.scope.context, severity)

    def fail(self, node: Node, path: str, error: ExpressionError) -> Any:
        """Report an expression that cannot be read, at the word that is wrong."""
        if error.follows:  # from a mistake that is reported where it was made
            return BAD
        place = self._token_place(node, error.token)
        self.problem(place, path, error.what, error.hint)
        if error.units and isinstance(node, Scalar):
            self.findings.doubt(place, error.what, Doubt(node.text, self.scope.names, ()))
        return BAD

    def _token_place(self, node: Node, token: str) -> Place:
        place = node.place
        if not token or not isinstance(node, Scalar):
            return place
        line = self.findings.line(place)
        start = place.column - 1
        match = re.compile(r"(?<!\w)" + re.escape(token) + r"(?!\w)").search(line, start, start + place.length)
        return Place(place.file, place.line, match.start() + 1, len(token)) if match else place

    def read(self, node: Node, schema: Schema, path: str, place: Place | None = None) -> Any:
        """Return what a node means by the schema, or BAD.

        Numbers become floats in SI (a Quantity where the unit depends on the freedom), lists
        tuples, maps a Block or a list of Things, texts have their ``${...}`` filled in.
        """
        schema = resolve(schema)
        if schema.get("x-read") == "later":
            return node
        if is_empty(node):
            self.problem(
                place or node, path, "nothing here", trap_of_empty(self.findings.line(node.place), expected(schema))
            )
            return BAD
        if "oneOf" in schema:
            schema = self._branch(node, schema)
        kind = "scalar" if isinstance(node, Scalar) else "list" if isinstance(node, Sequence) else "map"
        if kind not in kinds(schema):
            return self._wrong_kind(node, schema, path)
        if isinstance(node, Scalar):
            return self._scalar(node, schema, path)
        if isinstance(node, Sequence):
            return self._list(node, schema, path)
        if "x-things" in schema and isinstance(schema.get("additionalProperties"), dict):
            return self.things(node, schema, path)
        return self.block(node, schema, path, place)

    def _branch(self, node: Node, schema: Schema) -> Schema:
        """Return the branch of ``oneOf`` that fits the kind of node."""
        kind = "scalar" if isinstance(node, Scalar) else "list" if isinstance(node, Sequence) else "map"
        outer = {key: value for key, value in schema.items() if key != "oneOf"}
        fitting = [branch for branch in schema["oneOf"] if kind in kinds(branch)]
        if len(fitting) > 1 and isinstance(node, Scalar):  # true or false, or a number
            boolean = node.text in YAML_WORDS
            fitting = [b for b in fitting if (resolve(b).get("type") == "boolean") == boolean]
        return {**outer, **resolve(fitting[0])} if fitting else schema

    def _wrong_kind(self, node: Node, schema: Schema, path: str) -> Any:
        if isinstance(node, Scalar):
            found = f"'{node.text}'" if len(node.text) <= 40 else "a text"
        elif isinstance(node, Sequence):
            found = f"a list of {len(node.items)}"
        else:
            found = "a map"
        hint = ""
        if isinstance(node, Sequence) and "x-choice" in schema and "rpy" in schema["x-choice"]:
            hint = "name the convention: rpy: [...], axis_angle: {...}, quat_wxyz: [...] or quat_xyzw: [...]"
        self.problem(node, path, f"expected {expected(schema)}, found {found}", hint)
        return BAD

    # ---- scalars ----

    def _scalar(self, node: Scalar, schema: Schema, path: str) -> Any:
        types = schema.get("type", "string")
        if "boolean" in types:
            return self._boolean(node, path)
        if "number" in types or "integer" in types:
            return self.number(node, schema, path)
        return self.text(node, path, schema.get("enum"), schema.get("x-also"))

    def _boolean(self, node: Scalar, path: str) -> Any:
        if not node.quoted and node.text in ("true", "false"):
            return node.text == "true"
        meaning = YAML_WORDS.get(node.text)
        hint = f"write {meaning}" if meaning in ("true", "false") else ""
        self.problem(node, path, f"expected true or false, found '{node.text}'", hint)
        return BAD

    def text(self, node: Node, path: str, choices: list[str] | None = None, also: dict[str, str] | None = None) -> Any:
        """Return a text with its ``${...}`` filled in, or BAD; `also`: what others call the choices."""
        if not isinstance(node, Scalar):
            return self._wrong_kind(node, {"type": "string"}, path)
        if not node.quoted and node.text in YAML_WORDS:
            word = node.text
            self.problem(
                node, path, f"YAML reads {word} as {YAML_WORDS[word]}", f"to mean the word, quote it: '{word}'"
            )
            return BAD
        try:
            text = self.scope.substitute(node.text)
        except ExpressionError as error:
            return self.fail(node, path, error)
        hidden = forbidden(text, several_lines=True)
        if hidden:
            self.problem(node, path, f"character {hidden}, which no text may hold", "terminals and films act upon it")
            return BAD
        if choices is not None and text not in choices:
            meant = (also or {}).get(text.lower())
            hint = f"did you mean '{meant}'?" if meant else nearest(text, choices)
            self.problem(node, path, f"'{text}' is not among the choices", hint)
            return BAD
        return text

    def quantity(self, node: Node, path: str) -> Any:
        """Return the Quantity that a node gives, of any dimension, or BAD."""
        if not isinstance(node, Scalar):
            return self._wrong_kind(node, {"type": "number"}, path)
        trap = number_trap(node.text, node.quoted)
        if trap:
            self.problem(node, path, *trap)
            return BAD
        try:
            return evaluate(node.text, self.scope.names)
        except ExpressionError as error:
            return self.fail(node, path, error)

    def number(self, node: Node, schema: Schema, path: str) -> Any:
        """Return a number in SI that fits the schema's unit and range, or BAD."""
        found = self.quantity(node, path)
        return found if found is BAD else self.fit(found, node, schema, path)

    def fit(self, found: Quantity, node: Node, schema: Schema, path: str) -> Any:
        """Return the number if dimension and range are those wanted (a Quantity if that depends), or BAD."""
        unit = schema.get("x-unit")
        if unit is None and "integer" not in schema.get("type", ""):
            return found
        if found.live:  # a parameter that could not be read
            return BAD
        unit = unit or "1"
        dimensions = [parse_unit(option).dimension for option in unit.split(" or ")]
        if not found.bare and found.dimension not in dimensions:
            what = f"expected {quantity(unit)}, found {describe(found.dimension)}"
            self.problem(node, path, what)
            if isinstance(node, Scalar):
                self.findings.doubt(node.place, what, Doubt(node.text, self.scope.names, tuple(dimensions)))
            return BAD
        what = _out_of_range(found.value, schema, unit)
        if what:
            self.problem(node, path, what)
            return BAD
        if " or " in unit:
            return found
        return round(found.value) if "integer" in schema["type"] else found.value

    # ---- lists and maps ----

    def _list(self, node: Sequence, schema: Schema, path: str) -> Any:
        fewest, most = schema.get("minItems", 0), schema.get("maxItems", math.inf)
        if not fewest <= len(node.items) <= most:
            self.problem(node, path, f"expected {expected(schema)}, found {len(node.items)}")
            return BAD
        items = [self.read(item, schema["items"], f"{path}[{i}]") for i, item in enumerate(node.items)]
        return BAD if any(item is BAD for item in items) else tuple(items)

    def entries(
        self, node: Map, schema: Schema, path: str, place: Place, unknown: list[str]
    ) -> Iterator[tuple[Scalar, Node, Schema]]:
        """Yield the known keys of a map with their values and schemas.

        Report the others, and put them into `unknown`; report the missing ones.
        """
        known = schema.get("properties", {})
        other = schema.get("additionalProperties", True)
        for key, value in node.entries:
            if key.text in known:
                yield key, value, resolve(known[key.text])
            elif other is False:
                unknown.append(key.text)
                self.problem(key, path, f"unknown key '{key.text}'", _key_hint(key, list(known)))
            else:
                yield key, value, other if isinstance(other, dict) else {}
        for name in schema.get("required", []):
            if node.key(name) is None and not misspelt(name, unknown):
                self.problem(place, path, f"key '{name}' is missing", f"{name}: {_example(known[name])}")

    def block(self, node: Node, schema: Schema, path: str, place: Place | None = None) -> Any:
        """Read a map with known keys.  `place` is where to point for what is missing."""
        schema = resolve(schema)
        if not isinstance(node, Map):
            return self._wrong_kind(node, schema, path)
        place = place or node.place
        block = Block({}, {}, {}, place, path, self)
        for key, value, inner in self.entries(node, schema, path, place, block.unknown):
            block.nodes[key.text], block.keys[key.text] = value, key
            block.values[key.text] = self.read(value, inner, f"{path}.{key.text}" if path else key.text, key.place)
        self._choice(block, node, schema)
        for name, inner in schema.get("properties", {}).items():
            if name not in block.nodes and "default" in (inner := resolve(inner)):
                block.values[name] = default(inner)
        return block

    def _choice(self, block: Block, node: Map, schema: Schema) -> None:
        choice = schema.get("x-choice")
        if not choice:
            if schema.get("minProperties") and not node.entries:
                self.problem(node, block.path, f"an empty map; expected {' or '.join(schema['properties'])}")
            return
        written = [name for name in choice if name in block.nodes]
        if len(written) > 1:
            self.problem(
                block.keys[written[1]], block.path, f"'{written[0]}' and '{written[1]}' at once; expected one of them"
            )
        elif not written and not block.unknown:
            self.problem(block.place, block.path, f"expected one of {', '.join(choice)}")

    def things(self, node: Node, schema: Schema, path: str) -> Any:
        """Read a map whose keys are names, its repeats unrolled, into a list of Things."""
        schema = resolve(schema)
        if not isinstance(node, Map):
            return self._wrong_kind(node, schema, path)
        kind, inner = schema["x-things"], schema["additionalProperties"]
        found: dict[str, Thing] = {}
        for key, value, reader in repeating.unroll(node, self, path):
            name = reader.name(key, path, kind)
            if name is BAD:  # what stands under it is read for its own mistakes
                self.lose_names()
                reader.read(value, inner, f"{path}.{key.text}", key.place)
                continue
            if name in found:
                first = found[name].key.place
                reader.problem(
                    key, f"{path}.{name}", f"a second {kind} named '{name}'", f"the first is in line {first.line}"
                )
                continue
            thing_path = f"{path}.{name}"
            found[name] = Thing(name, key, value, reader, thing_path, BAD)
            found[name].value = reader.read(value, inner, thing_path, key.place)
        if schema.get("minProperties") and not node.entries:
            self.problem(node, path, "an empty map")
        return list(found.values())

    def lose_names(self) -> None:
        """Note that not all names of this file are known: those that are missed are no mistakes then."""
        self.findings.lost.add(self.scope.prefix)

    def name(self, key: Scalar, path: str, kind: str) -> Any:
        """Return the name that a key gives a thing; BAD if its ``${...}`` cannot be filled in.

        A name that is reported as unfit still names the thing, so that nothing else misses it.
        """
        name = self.text(key, path)
        if name is BAD:
            return BAD if "${" in key.text or forbidden(key.text) else key.text
        if not self.is_one_line(name, key, path):
            return BAD
        if kind in _STRICT and not is_name(name):
            hint = "dots come from the prefix of an include" if "." in name else "letters, digits, _ and -"
            self.problem(key, path, f"'{name}' cannot be the name of a {kind}", hint)
        if kind == "event" and (is_pattern(name) or not name.strip()):
            self.problem(key, path, f"'{name}' cannot be the name of an event", "* and ? are for patterns")
        return name

    def is_one_line(self, name: str, node: Node, path: str) -> bool:
        """Return whether a name is short and stands in one line; report if not."""
        if len(name) > LONGEST_NAME:
            self.problem(node, path, f"a name of {len(name)} characters; {LONGEST_NAME} are the most", "")
        elif any(c in name for c in "\n\t"):
            self.problem(node, path, "a name of several lines, or with a tab", "a name stands in one line")
        else:
            return True
        return False


def _key_hint(key: Scalar, known: list[str]) -> str:
    hint = nearest(key.text, known)
    hint = hint if hint.startswith("did") else f"known here: {', '.join(known)}"
    if not key.quoted and key.text in YAML_WORDS:
        return f"YAML reads {key.text} as {YAML_WORDS[key.text]}; {hint}"
    return hint


def _example(schema: Schema) -> str:
    schema = resolve(schema)
    examples = schema.get("examples", [])
    return examples[0] if examples and isinstance(examples[0], str) and "enum" not in schema else expected(schema)


def _out_of_range(value: float, schema: Schema, unit: str) -> str:
    """Return what is wrong with a value, or nothing."""
    shown = f"{value:.12g}" + ("" if unit == "1" or " or " in unit else f" {unit}")
    if math.isnan(value) or (math.isinf(value) and not schema.get("x-infinite")):
        return f"{value} is not a finite number"
    if "integer" in schema.get("type", "") and abs(value - round(value)) > 1e-9:
        return f"expected a whole number, found {value:g}"
    if "minimum" in schema and value < schema["minimum"]:
        return f"expected at least {schema['minimum']:g}, found {shown}"
    if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
        return f"expected more than {schema['exclusiveMinimum']:g}, found {shown}"
    if "maximum" in schema and value > schema["maximum"]:
        return f"expected at most {schema['maximum']:g}, found {shown}"
    if abs(value) > LARGEST and math.isfinite(value) and _MEASURES.issuperset(unit.split(" or ")):
        coarse = f"{math.ulp(value):.1g}{shown[shown.find(' ') :] if ' ' in shown else ''}"
        return f"found {shown}: numbers of this size are told to {coarse} only; expected at most {LARGEST:g}"
    if abs(value) > MOST and math.isfinite(value):
        return f"found {shown}: what is computed with numbers of this size overflows; expected at most {MOST:g}"
    least = SMALLEST if unit == "m" and "exclusiveMinimum" in schema else LEAST
    if 0.0 < value < least and schema.get("minimum", schema.get("exclusiveMinimum")) == 0:
        return f"found {shown}: what is computed with numbers so small is lost; expected at least {least:g}"
    return ""


# m, rad, s, and per second: beyond, the spacing of floats is above the default of rtol, and motion below it is lost.
LARGEST = 1e8
# Of any unit, so that products and squares of a few of them are floats; sizes [m] are larger than atoms.
MOST, LEAST, SMALLEST = 1e30, 1e-30, 1e-9
_MEASURES = {"m", "rad", "s", "m/s", "rad/s"}


def default(schema: Schema) -> Any:
    """Return the default of a part of the schema, as reading it would; None without one."""
    schema = resolve(schema)
    value = schema.get("default")
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, int) and not isinstance(value, bool) and "number" in schema.get("type", ""):
        return float(value)
    return value
