"""The JSON Schema as the reader uses it: names, types, units and defaults of all that a scene may say.

Beside the keywords of JSON Schema:

* ``x-unit``: unit of a number; ``N/m or N m/rad`` depends on the freedom, sliding or turning.
* ``x-things``: a map whose keys are names; the word for what they name.
* ``x-choice``: of these keys a map has exactly one.
* ``x-read: later``: depends on other parts of the scene; the builders read it.
* ``x-also``: what others call the choices of an ``enum``.
* ``x-default``: defaults for sliding and for turning.
* ``x-infinite``: the number may be infinite.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from sim.scene.library import schema_path
from sim.scene.units import describe, parse_unit

Schema = dict[str, Any]


@lru_cache(maxsize=1)
def whole() -> Schema:
    """Return the schema of a scene."""
    with schema_path().open(encoding="utf-8") as file:
        schema: Schema = json.load(file)
    return schema


_resolved: dict[int, Schema] = {}


def resolve(schema: Schema) -> Schema:
    """Return a part of the schema with its ``$ref`` filled in; what stands beside the ``$ref`` wins."""
    if "$ref" not in schema:
        return schema
    if id(schema) not in _resolved:
        target: Any = whole()
        for key in schema["$ref"].removeprefix("#/").split("/"):
            target = target[key]
        own = {key: value for key, value in schema.items() if key != "$ref"}
        _resolved[id(schema)] = {**resolve(target), **own}
    return _resolved[id(schema)]


def definition(name: str) -> Schema:
    """Return one of the schema's definitions, ``joint``."""
    return resolve(whole()["$defs"][name])


# What a unit measures where the same dimension also measures something else.
_BY_UNIT = {
    "N m/rad": "a stiffness", "N m s/rad": "a damping", "rad/s": "an angular speed", "N m": "a torque",
    "s/rad": "a dissipation", "s/m": "a dissipation", "Hz": "a rate",
    "1/m": "an inverse length",
}  # fmt: skip


def kinds(schema: Schema) -> set[str]:
    """Return the kinds of node that a schema takes: scalar, list, map."""
    schema = resolve(schema)
    if "oneOf" in schema:
        return set().union(*(kinds(branch) for branch in schema["oneOf"]))
    types = schema.get("type", ["string", "array", "object"])
    types = [types] if isinstance(types, str) else types
    return {{"array": "list", "object": "map"}.get(t, "scalar") for t in types}


def quantity(unit: str) -> str:
    """Return what a unit measures, in words: ``a length (m)``, ``an angle (rad)``."""
    options = []
    for option in unit.split(" or "):
        dimension = parse_unit(option).dimension
        named = _BY_UNIT.get(option) or ("an angle" if option == "rad" else describe(dimension).partition(" (")[0])
        options.append("a pure number" if option == "1" else f"{named} ({option})")
    return " or ".join(dict.fromkeys(options))


def expected(schema: Schema) -> str:
    """Return in words what a schema takes."""
    schema = resolve(schema)
    if "oneOf" in schema:
        return " or ".join(dict.fromkeys(expected(branch) for branch in schema["oneOf"]))
    types = schema.get("type", "object")
    types = [types] if isinstance(types, str) else types
    if "const" in schema:
        return str(schema["const"])
    if "enum" in schema:
        return "one of " + ", ".join(schema["enum"])
    if "integer" in types:
        return "a whole number"
    if "number" in types:
        return quantity(schema["x-unit"]) if "x-unit" in schema else "a number"
    if "array" in types:
        fewest, most = schema.get("minItems"), schema.get("maxItems")
        count = f"{fewest} " if fewest == most and fewest else f"{fewest} to {most} " if fewest and most else ""
        items = resolve(schema["items"])
        branches = [resolve(branch) for branch in items.get("oneOf", [items])]
        numbers = not any(branch.get("type") in ("string", "object") for branch in branches)
        what = "numbers" if numbers else "maps" if items.get("type") == "object" else "names"
        return f"a list of {count}{what}"
    if "boolean" in types:
        return "true or false"
    if "object" in types:
        choice = schema.get("x-choice")
        return f"a map with {' or '.join(choice)}" if choice else "a map of keys and values"
    return "a text"
