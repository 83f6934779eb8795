"""Shapes of bodies and of the world."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sim.scene.blocks import Block
from sim.scene.colors import Color, color_of
from sim.scene.concave import CONVEX, ConcaveError, parts_of
from sim.scene.data_files import DataKind, label_of, read_data
from sim.scene.heights import PICTURES, HeightsError, Rows, as_csv, picture_of, rows_of
from sim.scene.hull import HullError
from sim.scene.meshes import MeshError, Triangles, as_obj, bytes_of, enclosed, mesh_of
from sim.scene.rotation import along_z, multiply, norm, orientation_of, rotate, unit
from sim.scene.spec import Quat, Shape, Vec3
from sim.scene.terrain import MOST_HEIGHTS, MOST_PIECES, Ground, ramp, solid_of, stairs

_KINDS = ("box", "sphere", "capsule", "cylinder", "ellipsoid", "mesh", "plane", "stairs", "ramp", "heightfield")
_MESHES = DataKind(
    "mesh", "meshes", "OBJ or STL files", (".obj", ".stl"), bytes_of, mesh_of, lambda found: found[-1],
    lambda found: as_obj(found[0], found[1]), (MeshError,),
)  # fmt: skip
_THIN = 0.1  # of a field's longer edge: depth of ground that says none


@dataclass(frozen=True)
class Solid:
    """One entry of `shapes`.

    parts : convex; drawn and touched
    whole : what weighs, where that is not the parts themselves
    """

    parts: tuple[Shape, ...]
    whole: tuple[Shape, ...]

    def each(self, change: Callable[[Shape], Shape]) -> Solid:
        """Return it with each of its shapes changed."""
        return Solid(tuple(map(change, self.parts)), tuple(map(change, self.whole)))


def build_shapes(blocks: Any, color: Color, *, still: bool = False) -> list[Solid]:
    """Return the solids of a list of blocks; `color` is for those without one.  Bad ones are left out.

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


def build_shape(block: Block, color: Color) -> Solid | None:
    """Return what one block stands for, or None if it cannot be read (reported)."""
    found = _solid(block, color_of(block, default=color))
    if found is None or block.bad("friction", "density"):
        return None
    said = {"friction": block.get("friction"), "density": block.get("density"), "name": block.get("name", "")}
    solid = Solid((found,), (found,)) if isinstance(found, Shape) else found
    return solid.each(lambda shape: dataclasses.replace(shape, **said))


def _solid(block: Block, own: Color) -> Shape | Solid | None:
    """Return what kind of solid a shape is, where it is and how it looks; None if it cannot be read (reported)."""
    kind = next((kind for kind in _KINDS if block.wrote(kind)), None)
    solid = block.get(kind) if kind else None
    if kind is None or solid is None or solid.bad(*solid.nodes):
        return None
    if kind in ("capsule", "cylinder"):
        return _rod(kind, solid, own)
    if kind == "plane":
        return _plane(solid, own)
    if kind in _OF_PARTS:
        found = _OF_PARTS[kind](solid)
        if found is None:
            return None
        position, orientation = solid.get("position"), orientation_of(solid, "orientation")
        return found.each(lambda shape: dataclasses.replace(placed(shape, position, orientation), color=own))
    size = {"box": solid.get("size"), "ellipsoid": solid.get("radii"), "sphere": (solid.get("radius"),) * 3}[kind]
    if size is None or size[0] is None:
        return None
    orientation = orientation_of(solid, "orientation")
    return Shape(kind=kind, position=solid.get("center"), orientation=orientation, size=size, color=own)


def _of(parts: list[Shape]) -> Solid:
    return Solid(tuple(parts), tuple(parts))


def _plane(solid: Block, color: Color) -> Shape | None:
    """Return a plane, its z along the normal."""
    normal, edge = solid.get("normal"), solid.get("edge")
    if norm(normal) == 0.0:
        solid.problem("normal", "a zero vector has no direction", "give a direction, e.g. [0, 0, 1]")
        return None
    return Shape(
        kind="plane", position=solid.get("center"), orientation=along_z(unit(normal)), size=(edge, edge, 0.0),
        color=color,
    )  # fmt: skip


def _mesh(solid: Block) -> Solid | None:
    """Return the convex hull of a file or of points, or the parts of a mesh that is not convex."""
    if solid.wrote("file") == solid.wrote("vertices"):
        what = "'file' and 'vertices' at once" if solid.wrote("file") else "neither 'file' nor 'vertices'"
        solid.problem(None, f"{what}; expected one of them")
        return None
    if solid.get("concave") and not solid.wrote("file"):
        solid.problem("concave", "'concave' beside 'vertices', which have no surface", "give a file, or take the hull")
        return None
    scale = solid.get("scale")
    read = _read(solid, _MESHES)
    points, triangles, text = read if read else (solid.get("vertices"), (), "")
    if scale is None or points is None:
        return None
    if solid.get("concave"):
        return _concave(solid, points, triangles, text)
    written = "file" if solid.wrote("file") else "vertices"
    scaled = tuple((scale * x, scale * y, scale * z) for x, y, z in points)
    try:
        shape = solid_of(scaled)
    except HullError as error:
        solid.problem(written, f"no solid: {error}", "a mesh is taken as its convex hull, which has a volume")
        return None
    volume, hull = enclosed(scaled, triangles), shape.hull
    if volume is not None and hull is not None and hull.volume > (1.0 + CONVEX) * volume:
        added = 100.0 * (hull.volume / volume - 1.0)
        solid.problem(
            written, f"the mesh is not convex: its hull, which is taken for it, has {added:.3g} % more volume",
            "take it as it is with `concave: true`, or take several shapes for its parts", severity="warning",
        )  # fmt: skip
    return _of([shape])


def _concave(solid: Block, points: tuple[Vec3, ...], triangles: Triangles, text: str) -> Solid | None:
    """Return the convex parts of a mesh, and keep them with the scene."""
    name, findings = solid.get("file"), solid.reader.findings
    file = label_of(solid.reader, name, solid.where("file").file)
    label = f"{file}.parts_{solid.get('concavity'):g}.obj"
    held = solid.reader.scope.kept
    held_text = held.text(label) if held is not None and held.find("", label) == label else ""
    try:
        found = parts_of(points, triangles, text, solid.get("scale"), solid.get("concavity"), held_text)
    except ConcaveError as error:
        solid.problem("file", f"'{name}' cannot be taken as it is: {error}", error.hint)
        return None
    if found.text:
        findings.open(label, found.text)
    findings.notes.setdefault(found.told(name))
    return Solid(found.parts, found.whole)


def _stairs(solid: Block) -> Solid | None:
    """Return the steps of a flight."""
    number, rise, run, width = (solid.get(key) for key in ("number", "rise", "run", "width"))
    if None in (number, rise, run, width):
        return None
    return _of(stairs(number, rise, run, width, solid.get("landing", run), solid.get("goes") == "down"))


def _ramp(solid: Block) -> Solid | None:
    """Return a wedge."""
    length, width = solid.get("length"), solid.get("width")
    if solid.wrote("height") == solid.wrote("angle"):
        what = "'height' and 'angle' at once" if solid.wrote("height") else "neither 'height' nor 'angle'"
        solid.problem("angle" if solid.wrote("angle") else None, f"{what}; expected one of them")
        return None
    if length is None or width is None:
        return None
    height = solid.get("height") or length * math.tan(solid.get("angle"))
    try:
        return _of([ramp(length, height, width)])
    except HullError as error:
        solid.problem(None, f"no solid: {error}", "a ramp as thin as that is a plane")
        return None


def _heightfield(solid: Block) -> Solid | None:
    """Return the ground over a grid of heights."""
    if solid.wrote("file") == solid.wrote("heights"):
        what = "'file' and 'heights' at once" if solid.wrote("file") else "neither 'file' nor 'heights'"
        solid.problem(None, f"{what}; expected one of them")
        return None
    key, name = ("file", solid.get("file")) if solid.wrote("file") else ("heights", "")
    picture = name.lower().endswith(PICTURES)
    wanted, other = ("height", "scale") if picture else ("scale", "height")
    if solid.wrote(other):
        solid.problem(other, f"'{other}' is for {'numbers' if picture else 'pictures'}", f"give '{wanted}'")
        return None
    if picture and not solid.wrote("height"):
        solid.problem("file", "a picture tells no height", "height: how high white lies above black")
        return None
    rows, size, factor = _rows(solid, picture), solid.get("size"), solid.get(wanted)
    if rows is None or size is None or factor is None:
        return None
    what = _no_field(rows)
    if what:
        solid.problem(key, what, "heights are a rectangle of numbers")
        return None
    ground = Ground([[factor * z for z in row] for row in rows], size, solid.get("depth", _THIN * max(size)))
    pieces = ground.pieces()
    if len(pieces) > MOST_PIECES:
        what = f"ground of {len(pieces)} convex pieces; {MOST_PIECES} are the most"
        solid.problem(key, what, "take fewer heights, or larger planes")
        return None
    cells = (len(rows) - 1) * (len(rows[0]) - 1)
    note = f"{name or 'heightfield'}: {cells} cells are touched as {len(pieces)} convex pieces of ground"
    solid.reader.findings.notes.setdefault(note)
    try:
        return _of([ground.solid(piece) for piece in pieces])
    except HullError as error:
        solid.problem(key, f"no solid: {error}", "take heights, size and depth of one order")
        return None


def _no_field(rows: Rows) -> str:
    """Return why rows of numbers are no field, or nothing."""
    if len(rows) < 2 or len(rows[0]) < 2:
        return f"{len(rows)} rows of {len(rows[0]) if rows else 0} heights; at least 2 of 2 make a field"
    odd = next((n for n, row in enumerate(rows) if len(row) != len(rows[0])), 0)
    if odd:
        return f"row {odd + 1} has {len(rows[odd])} heights, the first has {len(rows[0])}"
    if len(rows) * len(rows[0]) > MOST_HEIGHTS:
        return f"{len(rows)} times {len(rows[0])} heights; {MOST_HEIGHTS} are the most"
    return ""


def _rows(solid: Block, picture: bool) -> Rows | None:
    """Return the heights that are written or in a file, None if these cannot be had (reported)."""
    if not solid.wrote("file"):
        rows: Rows | None = solid.get("heights")
        return rows

    def decode(data: bytes) -> tuple[Rows, str]:
        if picture and solid.reader.scope.kept is None:
            rows = picture_of(data)
            return rows, as_csv(rows)
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise HeightsError("no text, and by its name no picture") from error
        return rows_of(text), text

    kind = DataKind(
        "field of heights", "heights", "CSV files and pictures", (".csv", *PICTURES), bytes_of, decode,
        lambda found: found[-1], lambda found: as_csv(found[0]), (MeshError, HeightsError),
    )  # fmt: skip
    found = _read(solid, kind)
    return found[0] if found else None


_OF_PARTS = {"mesh": _mesh, "stairs": _stairs, "ramp": _ramp, "heightfield": _heightfield}


def _read(solid: Block, kind: DataKind) -> Any:
    """Return what a shape's file holds; None without one (reported)."""
    if not solid.wrote("file"):
        return None
    return read_data(solid.reader, solid.where("file"), f"{solid.path}.file", solid.get("file"), kind)


def _rod(kind: str, solid: Block, color: Color) -> Shape | None:
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
        return Shape(kind=kind, position=position, orientation=orientation, size=size, color=color)
    a, b = solid.get("from"), solid.get("to")
    along: Vec3 = (b[0] - a[0], b[1] - a[1], b[2] - a[2])
    length = norm(along)
    if length == 0.0:
        solid.problem("to", f"the two ends of the {kind} are the same point", "a ball is a sphere")
        return None
    middle: Vec3 = (0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1]), 0.5 * (a[2] + b[2]))
    orientation = along_z(unit(along))
    return Shape(kind=kind, position=middle, orientation=orientation, size=(radius, radius, length), color=color)


def placed(shape: Shape, position: Vec3, orientation: Quat) -> Shape:
    """Return a shape moved with its file: turned by `orientation`, then shifted by `position`."""
    x, y, z = rotate(orientation, shape.position)
    moved = (x + position[0], y + position[1], z + position[2])
    turned = multiply(orientation, shape.orientation)
    return dataclasses.replace(shape, position=moved, orientation=turned)
