"""The documentation of the scene language, from the schema.

``python -m sim.scene.describe`` writes ``docs/scene-language.md``: the introduction in
``docs/templates/scene-language.md``, then a table for each block of the schema.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from sim.scene.expressions import CONSTANTS
from sim.scene.functions import FUNCTIONS
from sim.scene.units import UNITS
from sim.scene.vocabulary import Schema, kinds, resolve, whole

# Heading of each block, and where it stands in the schema.
_BLOCKS = (
    ("The top of a file", "#"),
    ("parameters", "#/$defs/parameter/oneOf/1"),
    ("include", "#/$defs/include"),
    ("placement", "#/$defs/placement"),
    ("orientation", "#/$defs/orientation"),
    ("axis_angle", "#/$defs/axis_angle"),
    ("for", "#/$defs/for/additionalProperties/oneOf/1"),
    ("mirror", "#/$defs/mirror"),
    ("world", "#/$defs/world"),
    ("bodies", "#/$defs/body"),
    ("shapes", "#/$defs/shape"),
    ("box", "#/$defs/shape/properties/box"),
    ("sphere", "#/$defs/shape/properties/sphere"),
    ("capsule and cylinder", "#/$defs/rod"),
    ("ellipsoid", "#/$defs/shape/properties/ellipsoid"),
    ("mesh", "#/$defs/shape/properties/mesh"),
    ("plane", "#/$defs/shape/properties/plane"),
    ("stairs", "#/$defs/shape/properties/stairs"),
    ("ramp", "#/$defs/shape/properties/ramp"),
    ("heightfield", "#/$defs/shape/properties/heightfield"),
    ("joints", "#/$defs/joint"),
    ("limits", "#/$defs/limits/oneOf/1"),
    ("Values under initial, pose and set", "#/$defs/joint_state"),
    ("events", "#/$defs/event"),
    ("either", "#/$defs/either"),
    ("impulse", "#/$defs/impulse"),
    ("forces", "#/$defs/force"),
    ("contacts", "#/$defs/contact"),
    ("friction of contacts", "#/$defs/contact/properties/friction/oneOf/1"),
    ("soft contacts", "#/$defs/contact/properties/soft"),
    ("constraints", "#/$defs/constraint"),
    ("controllers", "#/$defs/controller"),
    ("simulate", "#/$defs/simulate"),
    ("render", "#/$defs/render"),
    ("camera", "#/$defs/camera"),
)


def blocks() -> list[tuple[str, Schema]]:
    """Return heading and schema of every block that is documented."""
    found = []
    for heading, pointer in _BLOCKS:
        target: Any = whole()
        for key in pointer.removeprefix("#").strip("/").split("/") if pointer != "#" else []:
            target = target[int(key)] if isinstance(target, list) else target[key]
        found.append((heading, resolve(target)))
    return found


def language(introduction: str) -> str:
    """Return the documentation as Markdown.

    Parameters
    ----------
    introduction : str
        Text with the marks ``{{units}}``, ``{{functions}}`` and ``{{tables}}``.
    """
    tables = "\n".join(_table(heading, schema) for heading, schema in blocks())
    units = ", ".join(f"`{unit}`" for unit in UNITS)
    functions = ", ".join(f"`{name}`" for name in (*FUNCTIONS, *(c for c in CONSTANTS if c not in UNITS)))
    note = "<!-- Made by `python -m sim.scene.describe` from the schema; change the schema or the template. -->\n\n"
    text = introduction.replace("{{units}}", units).replace("{{functions}}", functions)
    return note + text.replace("{{tables}}", tables)


def _table(heading: str, schema: Schema) -> str:
    """Return a block as a heading, a sentence and a table of its keys."""
    lines = [f"### {heading}", ""]
    if heading != "The top of a file" and schema.get("description"):
        lines += [schema["description"], ""]
    lines += ["| key | takes | unit | default | meaning | example |", "|---|---|---|---|---|---|"]
    required = schema.get("required", [])
    for name, inner in schema.get("properties", {}).items():
        field = resolve(inner)
        wanted = "required" if name in required else _code(field["default"]) if "default" in field else ""
        wanted = wanted or _by_kind(field)
        cells = [f"`{name}`", _takes(field), unit_of(field), wanted, _meaning(field), _example(field)]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    other = schema.get("additionalProperties")
    if isinstance(other, dict) and "x-things" in schema:
        lines += ["", f"Any other key is the name of a {schema['x-things']}."]
    return "\n".join([*lines, ""])


def _takes(field: Schema) -> str:
    """Return in a few words what a key takes."""
    if "enum" in field:
        return ", ".join(f"`{choice}`" for choice in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    if "x-things" in field and isinstance(field.get("additionalProperties"), dict):
        return "map by name"
    words: dict[str, None] = {}
    for branch in field.get("oneOf", [field]):
        words.update(dict.fromkeys(_type(resolve(branch))))
    return ", ".join(words)


def _type(schema: Schema) -> list[str]:
    types = schema.get("type", "object")
    types = types if isinstance(types, list) else [types]
    if "oneOf" in schema:
        return [word for branch in schema["oneOf"] for word in _type(resolve(branch))]
    if "number" in types or "integer" in types:
        return ["whole number" if "integer" in types else "number"]
    if "array" in types:
        items = resolve(schema["items"])
        what = "numbers" if "number" in str(items.get("type", "")) or "oneOf" in items else "names"
        what = "points" if "array" in str(items.get("type", "")) else what
        what = "whole numbers" if "integer" in str(items.get("type", "")) else what
        what = "maps" if kinds(items) == {"map"} else what
        count = schema.get("minItems")
        return [f"{count} {what}" if count and count == schema.get("maxItems") else f"list of {what}"]
    return [{"string": "text", "boolean": "true, false", "object": "map"}[types[0]]]


def unit_of(field: Schema) -> str:
    """Return the unit of a key's numbers; nothing for pure numbers and for what is no number."""
    unit = field.get("x-unit") or resolve(field.get("items", {})).get("x-unit")
    unit = unit or next((u for b in field.get("oneOf", []) if (u := resolve(b).get("x-unit"))), "")
    return "" if unit == "1" else str(unit)


def _meaning(field: Schema) -> str:
    """Return the description without the unit at its end, which has a column of its own."""
    return str(field.get("description", "")).removesuffix(f" [{unit_of(field)}]")


def _by_kind(field: Schema) -> str:
    if "x-default" not in field:
        return ""
    sliding, turning = field["x-default"]
    units = field["x-unit"].split(" or ")
    return f"`{sliding:g}` {units[0]}, `{turning:g}` {units[-1]}"


def _code(value: Any) -> str:
    return f"`{_yaml(value)}`" if value != "" else ""


def _example(field: Schema) -> str:
    examples = field.get("examples", [])
    return f"`{_yaml(examples[0])}`" if examples else ""


def _yaml(value: Any) -> str:
    """Return a value of the schema as a scene would write it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_yaml(key)}: {_yaml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_yaml(item) for item in value) + "]"
    if isinstance(value, str):
        plain = re.fullmatch(r"[\w./*()+-][\w ./*()+^-]*", value) and not value.startswith("*")
        return value if plain else json.dumps(value, ensure_ascii=False)
    return json.dumps(value)


def write(docs: Path) -> None:
    """Write the documentation into a folder of documents."""
    introduction = (docs / "templates" / "scene-language.md").read_text(encoding="utf-8")
    (docs / "scene-language.md").write_text(language(introduction), encoding="utf-8")


if __name__ == "__main__":
    write(Path(__file__).resolve().parents[2] / "docs")
