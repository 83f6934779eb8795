"""Controllers of a scene: their classes found, their parameters read by kind and unit."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sim.scene import formula
from sim.scene.authored import aside, told
from sim.scene.blocks import BAD, Block, Reads, Thing
from sim.scene.data_files import read_data, table_over_time
from sim.scene.expressions import ExpressionError
from sim.scene.library import is_file
from sim.scene.names import nearest
from sim.scene.nodes import Map, Node, Scalar, Sequence
from sim.scene.read_events import Names, expand, joints_meant, resolve_name
from sim.scene.spec import ControllerUse
from sim.scene.spoken import trusted
from sim.scene.vocabulary import Schema

# What comes with the program; found without asking what else is installed, which takes a while.
BUILT_IN = {
    "torque": "plugins.torque:Torque",
    "pd": "plugins.pd:PD",
    "limits": "plugins.limits:Limits",
    "track": "plugins.track:Track",
    "computed_torque": "plugins.computed_torque:ComputedTorque",
    "walk": "plugins.walk:Walk",
    "swing_pump": "plugins.swing_pump:SwingPump",
    "serpenoid": "plugins.snake:Serpenoid",
    "snake_paper": "plugins.snake:SnakePaper",
}
_GROUP = "sim.simulation.control"
_OWN_KEYS = ("type", "enabled")


class ControllerError(ValueError):
    """A controller's class that cannot be had; `hint` says what to do."""

    def __init__(self, what: str, hint: str = ""):
        super().__init__(what)
        self.hint = hint


def installed() -> dict[str, str]:
    """Return name -> ``module:Class`` of every controller that is installed."""
    from importlib.metadata import entry_points

    found = {entry.name: entry.value for entry in entry_points(group=_GROUP)}
    return {**found, **BUILT_IN}


def controller_class(name: str, folder: Path, trust: bool) -> type:
    """Return the class of a controller type.

    Parameters
    ----------
    name : str
        A registered name, or ``./file.py:Class``.
    folder : Path
        Where the file is looked for.
    trust : bool
        Whether files may be run.

    Raises
    ------
    ControllerError
        If there is none, it may not be run, or fails to be imported.
    """
    if name.partition(":")[0].endswith(".py"):
        return _from_file(name, folder, trust)
    target = BUILT_IN.get(name) or installed().get(name)
    if target is None:
        raise ControllerError(
            f"no controller type named '{name}'", nearest(name, installed()) or "or a file and class: ./my.py:Pump"
        )
    module, _, attribute = target.partition(":")
    try:
        found = getattr(aside(importlib.import_module, module), attribute)
    except (Exception, SystemExit) as error:
        raise ControllerError(f"controller type '{name}' cannot be loaded: {told(error, None)}") from error
    return _checked(found, name)


def _from_file(name: str, folder: Path, trust: bool) -> type:
    file, _, attribute = name.partition(":")
    if not attribute:
        raise ControllerError(f"'{name}' names a file but no class", f"write {file}:MyController")
    path = folder / file
    if not is_file(path):
        raise ControllerError(f"there is no file '{file}' beside the scene")
    if not trust:
        raise ControllerError(f"'{file}' is a program that the scene wants to run", f"if you trust it, {trusted()}")
    module_name = "scene_controller_" + "".join(c if c.isalnum() else "_" for c in str(path.resolve()))
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise ControllerError(f"'{file}' cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # dataclasses and pickles look their module up
    try:
        aside(spec.loader.exec_module, module)
    except (Exception, SystemExit) as error:
        del sys.modules[module_name]
        raise ControllerError(f"'{file}' fails: {told(error, spec.origin)}") from error
    if not hasattr(module, attribute):
        known = [key for key, value in vars(module).items() if isinstance(value, type)]
        raise ControllerError(f"'{file}' has no class '{attribute}'", nearest(attribute, known))
    return _checked(getattr(module, attribute), name)


def digests(uses: Iterable[ControllerUse]) -> dict[str, str]:
    """Return the SHA-256 of each Python file that controllers are taken from, by its name as the scene's was."""
    found: dict[str, str] = {}
    for use in uses:
        file = use.type.partition(":")[0]
        path = os.path.normpath(Path(use.place.file).parent / file)
        if file.endswith(".py") and path not in found and (digest := digest_of(Path(path))) is not None:
            found[path] = digest
    return found


def digest_of(path: Path) -> str | None:
    """Return the SHA-256 of a file, None where there is none."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() if is_file(path) else None
    except OSError:
        return None


def _checked(kind: Any, name: str) -> type:
    from sim.plugin import Controller

    if not (isinstance(kind, type) and issubclass(kind, Controller)):
        raise ControllerError(f"'{name}' is not a controller", "a controller is a subclass of sim.Controller")
    return kind


def build_controller(thing: Thing, names: Names, trust: bool) -> ControllerUse | None:
    """Return a controller with its parameters in SI, or None (reported)."""
    block: Block = thing.value
    if block is BAD or block.get("type") is None:
        return None
    try:
        kind = controller_class(block.get("type"), block.reader.scope.folder, trust)
    except ControllerError as error:
        block.problem("type", str(error), error.hint)
        return None
    from sim.plugin import parameters_of

    declared = parameters_of(kind)
    values: dict[str, Any] = {}
    # Joints first: what one formula for all of them has to be depends on which they are.
    for key, node in sorted(block.nodes.items(), key=lambda item: item[0] != "joints"):
        if key in _OWN_KEYS:
            continue
        if key not in declared:
            hint = nearest(key, [*declared, *_OWN_KEYS])
            what = f"controller type '{block.get('type')}' has no parameter '{key}'"
            block.reader.problem(block.keys[key], f"{block.path}.{key}", what, hint)
            continue
        value = _parameter(
            node, block.reader, f"{block.path}.{key}", declared[key].metadata, names, values.get("joints")
        )
        if value is not BAD:
            values[key] = value
    for key, declaration in declared.items():
        required = declaration.default is dataclasses.MISSING and declaration.default_factory is dataclasses.MISSING
        if required and key not in block.nodes:
            block.problem(None, f"parameter '{key}' is missing", f"{key}: {declaration.metadata['about']}")
        elif not required and key not in block.nodes:
            factory = declaration.default_factory
            values[key] = declaration.default if factory is dataclasses.MISSING else factory()
    return ControllerUse(
        name=thing.full,
        type=block.get("type"),
        parameters=values,
        enabled=bool(block.get("enabled", True)),
        place=thing.key.place,
        places={key: node.place for key, node in block.nodes.items()},
    )


# ---- parameters by kind ----


def _parameter(
    node: Node, reader: Reads, path: str, meta: Mapping[str, Any], names: Names, controlled: Any = ()
) -> Any:
    """Return the value of one parameter in SI, or BAD; controlled: joints that one formula is for."""
    kind = meta["kind"]
    if kind in ("number", "integer"):
        schema = {"type": [kind], "x-unit": meta["unit"] if meta["unit"] != "auto" else "m or rad", "x-infinite": True}
        if meta["minimum"] is not None:
            schema["minimum"] = meta["minimum"]
        value = reader.read(node, schema, path)
        return value if value is BAD or isinstance(value, (int, float)) else value.value
    if kind == "numbers":
        items = {"type": ["number"], "x-unit": meta["unit"]}
        return reader.read(node, {"type": "array", "items": items}, path)
    if kind == "text":
        return reader.read(
            node, {"type": "string", **({"enum": list(meta["choices"])} if meta["choices"] else {})}, path
        )
    if kind == "flag":
        return reader.read(node, {"type": "boolean"}, path)
    if kind == "table":
        name = reader.text(node, path)
        found = None if name is BAD else read_data(reader, node, path, name, table_over_time(name))
        return BAD if found is None else found
    if kind == "joint":
        text = reader.text(node, path)
        if text is BAD:
            return BAD
        full, joints = reader.scope.full(text), tuple(names.directory.joints)
        matched = resolve_name(full, node, reader, path, "joint", joints, names.unreadable)
        return matched[0] if len(matched) == 1 else _several(matched, node, reader, path)
    if kind == "joints":
        if isinstance(node, Map):
            reader.problem(node, path, "expected a joint's name, a pattern or a list of these, found a map")
            return BAD
        if isinstance(node, Sequence) and not node.items:
            reader.problem(node, path, "an empty list of joints")
        return tuple(expand(node, reader, path, "joint", names.cuttable, names.unreadable)) or BAD
    return _by_joint(node, reader, path, meta, names, controlled or ())


def _several(matched: list[str], node: Node, reader: Reads, path: str) -> Any:
    if matched:
        reader.problem(node, path, f"{len(matched)} joints match; expected one", ", ".join(matched[:6]))
    return BAD


def _by_joint(
    node: Node, reader: Reads, path: str, meta: Mapping[str, Any], names: Names, controlled: Iterable[str]
) -> Any:
    """Return one value for all joints, or joint name to value: numbers, or expressions."""
    formulas = meta["kind"] == "expressions"
    if not isinstance(node, Map):
        if formulas or isinstance(node, Sequence):
            reader.problem(node, path, "expected joint names and their values", "{knee_l: ..., knee_r: ...}")
            return BAD
        unit = unit_for(meta["unit"])
        if meta["kind"] == "formulas" and isinstance(node, Scalar) and formula.is_live(node.text):
            kinds = {names.directory.joints[joint] for joint in controlled}
            units = {one for kind in kinds for one in formula.by_freedom(unit, kind)} or {unit.rpartition(" or ")[2]}
            expressions = [_formula(node, one, path, reader, names) for one in sorted(units)]
            return BAD if any(value is BAD for value in expressions) else expressions[0]
        value = reader.number(node, _schema(unit, meta), path)
        return value if value is BAD or isinstance(value, float) else value.value
    inner: dict[str, Any] = {"x-read": "later"}
    things = reader.things(node, {"x-things": "joint name or pattern", "additionalProperties": inner}, path)
    found: dict[str, Any] = {}
    for thing in things if things is not BAD else []:
        for joint in joints_meant(thing, names):
            value = _of_joint(thing, joint, meta, names, formulas)
            if value is not BAD:
                found[joint] = value
    return found


def _of_joint(thing: Thing, joint: str, meta: Mapping[str, Any], names: Names, formulas: bool) -> Any:
    """Return the value for one joint: a number or Expression, a tuple of them for several freedoms."""
    kind, node = names.directory.joints[joint], thing.value
    units = formula.by_freedom(unit_for(meta["unit"]), kind)
    if isinstance(node, Sequence):
        if len(node.items) != len(units):
            what = f"expected {len(units)} numbers, one for each freedom of '{joint}', found {len(node.items)}"
            thing.reader.problem(node, thing.path, what)
            return BAD
        pairs = [
            (item, unit, f"{thing.path}[{i}]") for i, (item, unit) in enumerate(zip(node.items, units, strict=True))
        ]
        values = tuple(_item(item, unit, path, thing.reader, names, formulas, meta) for item, unit, path in pairs)
        return BAD if any(value is BAD for value in values) else values
    if not units:
        thing.reader.problem(thing.key, thing.path, f"'{joint}' is a fixed joint: it has no freedom")
        return BAD
    return _item(node, units[0], thing.path, thing.reader, names, formulas, meta)


def _item(
    node: Node, unit: str, path: str, reader: Reads, names: Names, formulas: bool, meta: Mapping[str, Any]
) -> Any:
    """Return one number or Expression of the given unit, or BAD."""
    if meta["kind"] == "formulas" and isinstance(node, Scalar) and formula.is_live(node.text):
        return _formula(node, unit, path, reader, names)
    if not formulas:
        return reader.number(node, _schema(unit, meta), path)
    if isinstance(node, Scalar):
        return _formula(node, unit, path, reader, names)
    return reader.read(node, {"type": "string"}, path)


def _schema(unit: str, meta: Mapping[str, Any]) -> Schema:
    """Return what one number of a parameter has to be."""
    bound = {} if meta["minimum"] is None else {"minimum": meta["minimum"]}
    return {"type": ["number"], "x-unit": unit, **bound}


def _formula(node: Scalar, unit: str, path: str, reader: Reads, names: Names) -> Any:
    """Return an Expression of the given unit, or BAD."""
    text, scope = reader.text(node, path), reader.scope
    if text is BAD:
        return BAD
    try:
        return formula.number(text, scope.names, names.directory, scope.prefix, node.place, unit)
    except ExpressionError as error:
        return reader.fail(node, path, error)


def unit_for(declared: str) -> str:
    """Return a declared unit as ``sliding or turning``; `auto` is that of the coordinate.

    A gain declared for turning joints (``N m/rad``) means the same per metre on slides (``N/m``).
    """
    sliding = {"auto": "m", "rad": "m", "rad/s": "m/s", "N m": "N", "N m/rad": "N/m", "N m s/rad": "N s/m"}
    turning = "rad" if declared == "auto" else declared
    return f"{sliding[declared]} or {turning}" if declared in sliding else turning
