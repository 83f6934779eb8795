"""Shapes of bodies and of the world."""

from __future__ import annotations

import dataclasses
from typing import Any

from sim.scene.blocks import Block
from sim.scene.colors import Color, color_of
from sim.scene.rotation import along_z, norm, orientation_of, rotate, unit
from sim.scene.spec import Quat, Shape, Vec3

_KINDS = ("box", "sphere", "capsule", "cylinder", "ellipsoid", "plane")


def build_shapes(blocks: Any, color: Color, *, still: bool = False) -> list[Shape]:
    """Return the shapes of a list of blocks; `color` is for those without one.  Bad ones are left out.

    still : they are of the world, so they may be planes and have names
    """
    built = []
    for block in blocks or ():
        if not still and block.wrote("plane"):
            block.problem("plane", "a plane stands still", "write it under world.shapes, or give the body a box")
        elif not still and block.wrote("name"):
            block.problem("name", "only shapes of the world have names", "contacts name the body")
        else:
            built.append(build_shape(block, color))
    return [shape for shape in built if shape is not None]


def build_shape(block: Block, color: Color) -> Shape | None:
    """Return one shape, or None if it cannot be read (reported)."""
    own = color_of(block, default=color)
    kind = next((kind for kind in _KINDS if block.wrote(kind)), None)
    solid = block.get(kind) if kind else None
    if kind is None or solid is None or solid.bad(*solid.nodes):
        return None
    if kind in ("capsule", "cylinder"):
        return _rod(kind, solid, own, block.get("name", ""))
    if kind == "plane":
        return _plane(solid, own, block.get("name", ""))
    size = {"box": solid.get("size"), "ellipsoid": solid.get("radii"), "sphere": (solid.get("radius"),) * 3}[kind]
    if size is None or size[0] is None:
        return None
    orientation = orientation_of(solid, "orientation")
    position, name = solid.get("center"), block.get("name", "")
    return Shape(kind=kind, position=position, orientation=orientation, size=size, color=own, name=name)


def _plane(solid: Block, color: Color, name: str) -> Shape | None:
    """Return a plane, its z along the normal."""
    normal, edge = solid.get("normal"), solid.get("edge")
    if norm(normal) == 0.0:
        solid.problem("normal", "a zero vector has no direction", "give a direction, e.g. [0, 0, 1]")
        return None
    return Shape(
        kind="plane", position=solid.get("center"), orientation=along_z(unit(normal)), size=(edge, edge, 0.0),
        color=color, name=name,
    )  # fmt: skip


def _rod(kind: str, solid: Block, color: Color, name: str) -> Shape | None:
    """Return a capsule or cylinder given by its ends, or by centre and length."""
    ends = solid.wrote("from", "to")
    if ends and solid.wrote("center", "length", "orientation"):
        other = next(key for key in ("center", "length", "orientation") if solid.wrote(key))
        solid.problem(other, f"'{other}' beside the two ends", "give from and to, or center and length")
        return None
    missing = [key for key in (("from", "to") if ends else ("center", "length")) if not solid.wrote(key)]
    if missing:
        solid.problem(None, f"key '{missing[0]}' is missing", "give from and to, or center and length")
        return None
    radius = solid.get("radius")
    if radius is None:
        return None
    if not ends:
        orientation = orientation_of(solid, "orientation")
        size = (radius, radius, solid.get("length"))
        position = solid.get("center")
        return Shape(kind=kind, position=position, orientation=orientation, size=size, color=color, name=name)
    a, b = solid.get("from"), solid.get("to")
    along: Vec3 = (b[0] - a[0], b[1] - a[1], b[2] - a[2])
    length = norm(along)
    if length == 0.0:
        solid.problem("to", f"the two ends of the {kind} are the same point", "a ball is a sphere")
        return None
    middle: Vec3 = (0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1]), 0.5 * (a[2] + b[2]))
    return Shape(
        kind=kind, position=middle, orientation=along_z(unit(along)), size=(radius, radius, length), color=color,
        name=name,
    )  # fmt: skip


def placed(shape: Shape, position: Vec3, orientation: Quat) -> Shape:
    """Return a shape moved with its file: turned by `orientation`, then shifted by `position`."""
    from sim.scene.rotation import multiply

    x, y, z = rotate(orientation, shape.position)
    moved = (x + position[0], y + position[1], z + position[2])
    turned = multiply(orientation, shape.orientation)
    return dataclasses.replace(shape, position=moved, orientation=turned)
