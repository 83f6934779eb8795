"""Shapes of bodies and of the world."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

from sim.scene.blocks import Block
from sim.scene.colors import Color, color_of
from sim.scene.hull import HullError, hull_of
from sim.scene.meshes import MeshError, Triangles, as_obj, enclosed, mesh_of, read_mesh
from sim.scene.names import nearest
from sim.scene.rotation import along_z, norm, orientation_of, rotate, unit
from sim.scene.spec import Quat, Shape, Vec3

_KINDS = ("box", "sphere", "capsule", "cylinder", "ellipsoid", "mesh", "plane")
_SUFFIXES = (".obj", ".OBJ", ".stl", ".STL")
_CONVEX = 1e-3  # share of volume that a hull may add to a mesh without a word


def build_shapes(blocks: Any, color: Color, *, still: bool = False) -> list[Shape]:
    """Return the shapes of a list of blocks; `color` is for those without one.  Bad ones are left out.

    still : they are of the world, so they may be planes and have names
    """
    built = []
    for block in blocks or ():
        if still and block.wrote("density"):
            block.problem("density", "what stands still has no mass", "leave the density out")
        if not still and block.wrote("plane"):
            block.problem("plane", "a plane stands still", "write it under world.shapes, or give the body a box")
        elif not still and block.wrote("name"):
            block.problem("name", "only shapes of the world have names", "contacts name the body")
        else:
            built.append(build_shape(block, color))
    return [shape for shape in built if shape is not None]


def build_shape(block: Block, color: Color) -> Shape | None:
    """Return one shape, or None if it cannot be read (reported)."""
    solid = _solid(block, color_of(block, default=color))
    if solid is None or block.bad("friction", "density"):
        return None
    return dataclasses.replace(solid, friction=block.get("friction"), density=block.get("density"))


def _solid(block: Block, own: Color) -> Shape | None:
    """Return what kind of solid a shape is, where it is and how it looks; None if it cannot be read (reported)."""
    kind = next((kind for kind in _KINDS if block.wrote(kind)), None)
    solid = block.get(kind) if kind else None
    if kind is None or solid is None or solid.bad(*solid.nodes):
        return None
    if kind in ("capsule", "cylinder"):
        return _rod(kind, solid, own, block.get("name", ""))
    if kind == "plane":
        return _plane(solid, own, block.get("name", ""))
    if kind == "mesh":
        return _mesh(solid, own, block.get("name", ""))
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


def _mesh(solid: Block, color: Color, name: str) -> Shape | None:
    """Return the convex hull of a file or of points."""
    if solid.wrote("file") == solid.wrote("vertices"):
        what = "'file' and 'vertices' at once" if solid.wrote("file") else "neither 'file' nor 'vertices'"
        solid.problem(None, f"{what}; expected one of them")
        return None
    scale = solid.get("scale")
    found = _of_file(solid) if solid.wrote("file") else (solid.get("vertices"), ())
    if found is None or scale is None:
        return None
    written = "file" if solid.wrote("file") else "vertices"
    points = tuple((scale * x, scale * y, scale * z) for x, y, z in found[0])
    try:
        (x, y, z), hull = hull_of(points)
    except HullError as error:
        solid.problem(written, f"no solid: {error}", "a mesh is taken as its convex hull, which has a volume")
        return None
    volume = enclosed(points, found[1])
    if volume is not None and hull.volume > (1.0 + _CONVEX) * volume:
        added = 100.0 * (hull.volume / volume - 1.0)
        solid.problem(
            written, f"the mesh is not convex: its hull, which is taken for it, has {added:.3g} % more volume",
            "take several shapes for its parts", severity="warning",
        )  # fmt: skip
    orientation = orientation_of(solid, "orientation")
    centre, origin = rotate(orientation, (x, y, z)), solid.get("position")
    size = tuple(2.0 * max(abs(corner[k]) for corner in hull.corners) for k in range(3))
    return Shape(
        kind="mesh", position=(centre[0] + origin[0], centre[1] + origin[1], centre[2] + origin[2]),
        orientation=orientation, size=(size[0], size[1], size[2]), color=color, name=name, hull=hull,
    )  # fmt: skip


def _of_file(solid: Block) -> tuple[tuple[Vec3, ...], Triangles] | None:
    """Return points and triangles of a mesh's file, or None if it cannot be had (reported)."""
    scope, name, outer = solid.reader.scope, solid.get("file"), solid.where("file").file
    folder, path = scope.folder, scope.folder / name
    label: str | None = os.path.normpath(os.path.join(os.path.dirname(outer), name))
    if scope.kept is not None:
        label = scope.kept.find(outer, name)
        if label is None:
            solid.problem("file", f"'{name}' is not among the files that were kept with the scene")
            return None
    elif not path.is_file():
        known = [os.path.relpath(other, folder) for other in path.parent.glob("*") if other.suffix in _SUFFIXES]
        shown = "this folder" if str(folder) in ("", ".") else f"'{folder}'"
        solid.problem("file", f"there is no file '{name}' in {shown}", nearest(name, sorted(known)))
        return None
    foreign = scope.kept is None and scope.is_foreign(path)
    try:
        found = read_mesh(path) if scope.kept is None else mesh_of(scope.kept.text(str(label)).encode())
    except MeshError as error:
        said = "lies outside the scene's folder, and is no mesh that can be read" if foreign else str(error)
        solid.problem("file", f"'{name}': {said}", "meshes are OBJ or STL files")
        return None
    points, triangles, text = found
    if foreign:
        text = as_obj(points, triangles)  # what recordings keep: its points, and nothing else that it holds
    solid.reader.findings.open(str(label), text)
    return points, triangles


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
