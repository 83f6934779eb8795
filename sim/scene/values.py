"""Coordinates and rates of joints, as written under `initial`, `pose` and `set`."""

from __future__ import annotations

import math
from typing import Any

from sim.joints import JOINT_TYPES
from sim.scene.blocks import BAD, Block, Reads
from sim.scene.formula import by_freedom
from sim.scene.nodes import Map, Node, Scalar, Sequence
from sim.scene.rotation import read_rotation
from sim.scene.spec import Quat, Value, Vec3
from sim.scene.vocabulary import definition

Pose = tuple[Vec3, Quat]

_ROTATIONS = ("rpy", "axis_angle", "quat_wxyz", "quat_xyzw", "rotation")
_CONVENTIONS = "name the convention: " + ", ".join(f"{{{key}: ...}}" for key in _ROTATIONS)


def read_value(node: Node, reader: Reads, path: str, kind: str, drawn: Pose | None) -> Value | None:
    """Return the coordinate and rate that a text gives a joint, or None (reported).

    Parameters
    ----------
    node, reader, path
        A number, a list, or a map; with the reader of its scope and its path.
    kind : str
        Type of the joint.
    drawn : (position, quaternion) or None
        Of a free joint in the drawing, for the part that is not written.
    """
    if JOINT_TYPES[kind].freedoms == 0:
        reader.problem(node, path, "a fixed joint has no coordinate")
        return None
    if not isinstance(node, Map):
        coordinate = _coordinate(node, reader, path, kind, drawn)
        return Value(coordinate=coordinate, rate=None, place=node.place) if coordinate is not None else None
    block = reader.block(node, definition("joint_state"), path)
    if block is BAD or not _keys_fit(block, kind):
        return None
    coordinate, near, rate = None, None, None
    if block.wrote("coordinate"):
        coordinate = _coordinate(block.get("coordinate"), reader, f"{path}.coordinate", kind, drawn)
    elif block.wrote("position", *_ROTATIONS):
        coordinate = _pose(block, kind, drawn)
    if block.wrote("near"):
        near = _coordinate(block.get("near"), reader, f"{path}.near", kind, drawn)
    if block.wrote("rate"):
        rate = _numbers(block.get("rate"), reader, f"{path}.rate", by_freedom("m/s or rad/s", kind), kind)
    elif block.wrote("velocity", "angular_velocity"):
        zero = (0.0, 0.0, 0.0)
        turning = block.get("angular_velocity", zero)
        rate = turning if not JOINT_TYPES[kind].slides else (*block.get("velocity", zero), *turning)
    if coordinate is None and near is None and rate is None:
        return None
    return Value(coordinate=coordinate, rate=rate, place=node.place, near=near, only=_only(node, kind))


def _only(node: Node, kind: str) -> str:
    """Return which half of a free joint's coordinate, or of a guess, is written, where the other is not."""
    if not isinstance(node, Map):
        return ""
    inner = node.get("coordinate") or node.get("near")
    if inner is not None:
        return _only(inner, kind)
    keys = {key.text for key, _ in node.entries}
    if not _has_position(kind) or ("position" in keys) == bool(keys & set(_ROTATIONS)):
        return ""
    return "position" if "position" in keys else "orientation"


def _has_position(kind: str) -> bool:
    """Return whether coordinates of a joint are a position and an orientation."""
    return JOINT_TYPES[kind].ball >= 0 and bool(JOINT_TYPES[kind].slides)


def _keys(kind: str) -> set[str]:
    """Return what may be written of a joint of this type."""
    keys = {"coordinate", "near", "rate"}
    if JOINT_TYPES[kind].ball >= 0:
        keys |= {"angular_velocity", *_ROTATIONS}
    return keys | {"position", "velocity"} if _has_position(kind) else keys


def _keys_fit(block: Block, kind: str) -> bool:
    """Return whether a joint of this type has what is written; report if not."""
    allowed = _keys(kind)
    good = not block.bad(*block.nodes)
    for key in block.nodes:
        if key not in allowed:
            block.reader.problem(
                block.keys[key], block.path, f"a {kind} joint has no '{key}'", f"there is: {', '.join(sorted(allowed))}"
            )
            good = False
    for keys in (
        ("coordinate", "position", *_ROTATIONS),
        ("near", "coordinate"),
        ("near", "position", *_ROTATIONS),
        ("rate", "velocity"),
        ("rate", "angular_velocity"),
        _ROTATIONS,
    ):
        written = [key for key in keys if block.wrote(key)]
        doubled = written[:1] + [key for key in written[1:] if key != "position" and written[0] != "position"]
        if len(doubled) > 1 and good:
            block.problem(doubled[1], f"'{doubled[0]}' and '{doubled[1]}' at once; expected one of them")
            good = False
    return good


def _coordinate(node: Any, reader: Reads, path: str, kind: str, drawn: Pose | None) -> tuple[float, ...] | None:
    """Return q of a joint, or None (reported)."""
    if JOINT_TYPES[kind].ball < 0:
        return _numbers(node, reader, path, by_freedom("m or rad", kind), kind)
    if not isinstance(node, Map):
        found = f"a list of {len(node.items)}" if isinstance(node, Sequence) else "one number"
        extra = "give position and orientation: {position: [...], rpy: [...]}" if _has_position(kind) else _CONVENTIONS
        reader.problem(node, path, f"{found} for the orientation of a {kind} joint", extra)
        return None
    block = reader.block(node, definition("joint_state"), path)
    allowed = _keys(kind) - {"coordinate", "near", "rate", "velocity", "angular_velocity"}
    for key in block.nodes:
        if key not in allowed:
            reader.problem(
                block.keys[key], path, f"'{key}' is not part of a coordinate", f"there is: {', '.join(sorted(allowed))}"
            )
            return None
    return _pose(block, kind, drawn)


def _pose(block: Block, kind: str, drawn: Pose | None) -> tuple[float, ...] | None:
    """Return q of a spherical or free joint from a block of position and orientation."""
    rotation = read_rotation(block, _ROTATIONS)
    if rotation is None and block.wrote(*_ROTATIONS):
        return None
    if not _has_position(kind):
        return rotation
    position = block.get("position")
    if block.bad("position"):
        return None
    if drawn is None and (rotation is None or position is None):
        missing = "orientation" if rotation is None else "position"
        block.problem(None, f"{missing} is missing", "give position and orientation: {position: [...], rpy: [...]}")
        return None
    if drawn is not None:
        position, rotation = position or drawn[0], rotation or drawn[1]
    return (*position, *rotation)  # type: ignore[misc]


def _numbers(node: Any, reader: Reads, path: str, units: tuple[str, ...], kind: str) -> tuple[float, ...] | None:
    """Return one number for each freedom, or None (reported)."""
    if len(units) == 1 and isinstance(node, Scalar):
        nodes: list[Node] = [node]
    elif len(units) > 1 and isinstance(node, Sequence) and len(node.items) == len(units):
        nodes = node.items
    else:
        wanted = "one number" if len(units) == 1 else f"a list of {len(units)} numbers ({', '.join(units)})"
        found = (
            f"a list of {len(node.items)}"
            if isinstance(node, Sequence)
            else "a map"
            if isinstance(node, Map)
            else f"'{node.text}'"
        )
        reader.problem(node, path, f"expected {wanted} for a {kind} joint, found {found}")
        return None
    numbers = [
        reader.number(item, {"type": ["number"], "x-unit": unit}, path if len(units) == 1 else f"{path}[{i}]")
        for i, (item, unit) in enumerate(zip(nodes, units, strict=True))
    ]
    return None if any(number is BAD for number in numbers) else tuple(numbers)


def finite(value: Value) -> bool:
    """Return whether all numbers of a value are finite."""
    return all(math.isfinite(x) for x in (*(value.coordinate or ()), *(value.near or ()), *(value.rate or ())))
