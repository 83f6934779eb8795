"""Constraints: wheels, blades, what rolls, and what ties rates together."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sim.joints import JOINT_TYPES
from sim.scene.blocks import BAD, Block, Thing, check_keys
from sim.scene.nodes import Sequence
from sim.scene.read_events import Names, resolve_name
from sim.scene.read_forces import body_of, point_of
from sim.scene.rotation import dot, norm, orientation_of, rotate, unit
from sim.scene.spec import Constraint, Quat, Shape, Vec3
from sim.scene.units import Quantity
from sim.scene.vocabulary import definition

_COMMON = ("about", "type", "holds", "active")
# What each type of constraint needs, and what else it may say.
_NEEDS = {
    "no_side_slip": ("body", "axis"), "knife_edge": ("body", "along"), "rolling": ("body",),
    "same_velocity": ("bodies", "components"), "gear": ("joints", "ratio"), "screw": ("joint", "pitch"),
}  # fmt: skip
_MAY = {
    "no_side_slip": ("point", "position", "ground", "normal"),
    "knife_edge": ("point", "position", "ground", "normal"),
    "rolling": (
        "radius", "radii", "orientation", "point", "position", "axis", "tube", "ground", "normal", "level", "bend",
        "along", "inside", "keeps",
    ),
    "same_velocity": ("point", "position"),
    "gear": ("freedoms",),
    "screw": (),
}  # fmt: skip
_UP: Vec3 = (0.0, 0.0, 1.0)
_ORIGIN: Vec3 = (0.0, 0.0, 0.0)
_PARALLEL = 1e-9  # sine of the angle below which an axle has no direction in the ground's plane

# What a type leaves open.
_OPEN: Mapping[str, Any] = {
    "body": "", "on": "", "point": "", "position": None, "axis": None, "normal": _UP, "level": _ORIGIN, "bend": 0.0,
    "along": None, "radius": 0.0, "tube": 0.0, "radii": None, "orientation": None, "components": (), "joints": (),
    "freedoms": (), "ratio": 0.0, "keeps": False, "holds": math.inf,
}  # fmt: skip


@dataclass(frozen=True)
class Known:
    """What constraints may name, seen from one file.

    names : bodies, points, joints
    still : shapes of the world that have a name, as `world.floor`, in the scene's coordinates
    position, orientation : of the file's origin and axes, in the scene's coordinates
    """

    names: Names
    still: Mapping[str, Shape]
    position: Vec3
    orientation: Quat


def build_constraint(thing: Thing, known: Known) -> Constraint | None:
    """Return a constraint, or None if it cannot be read (reported)."""
    block: Block = thing.value
    if block is BAD or block.get("type") is None:
        return None
    kind = block.get("type")
    check_keys(block, kind, _COMMON, _NEEDS[kind], _MAY[kind], definition("constraint")["properties"])
    said = _BUILD[kind](block, known)
    if said is None:
        return None
    fields: dict[str, Any] = {**_OPEN, **said}
    return Constraint(
        name=thing.full, part=thing.reader.scope.part, type=kind, **fields, active=bool(block.get("active", True)),
        place=thing.key.place,
    )  # fmt: skip


# ---- what slides or rolls on a ground -------------------------------------------------------------------------------


def _edge(block: Block, known: Known) -> dict[str, Any] | None:
    """Return what a wheel's axle or a blade binds."""
    key = "axis" if block.get("type") == "no_side_slip" else "along"
    body, axis = body_of(block, "body", known.names), _direction(block, key)
    place, ground = _place(block, body, known.names, needed=True), _ground(block, body, known)
    if body is None or axis is None or place is None or ground is None:
        return None
    _check_across(block, key, axis, ground["normal"])
    return {"body": body, "axis": axis, **place, **ground, "holds": _number(block, "holds", "N", math.inf)}


def _rolling(block: Block, known: Known) -> dict[str, Any] | None:
    body = body_of(block, "body", known.names)
    place, ground = _place(block, body, known.names, needed=False), _ground(block, body, known)
    axis, radius, tube = _direction(block, "axis"), block.get("radius"), block.get("tube", 0.0)
    if tube and block.absent("axis") and not block.wrote("radii"):
        block.problem("tube", "a sphere has no tube", "give the axis of the torus, or leave 'tube' out")
    radii, orientation = _ellipsoid(block)
    if body is None or (radius is None and radii is None) or place is None or ground is None or block.bad("axis"):
        return None
    radius = 0.0 if radii is not None else radius
    what = "an ellipsoid" if radii else "a disc or a torus" if axis else ""
    bend = _bend(block, ground.get("bend", 0.0), radius, what)
    if bend is None:
        return None
    ground["bend"] = bend
    if axis is not None and bend == 0.0:
        _check_across(block, "axis", axis, ground["normal"])
    return {
        "body": body, "axis": axis, "radius": radius, "tube": tube, "radii": radii, "orientation": orientation, **place,
        **ground,
        "keeps": bool(block.get("keeps", True)), "holds": _number(block, "holds", "N", math.inf),
    }  # fmt: skip


def _ellipsoid(block: Block) -> tuple[Vec3 | None, Quat | None]:
    """Return half axes and orientation of an ellipsoid; None, where it is none or they cannot be read (reported)."""
    if not block.wrote("radii"):
        if block.absent("radius") and block.absent("radii"):
            block.problem(None, "key 'radius' is missing", "radius: 30 cm; of an ellipsoid radii: [20 cm, 3 cm, 2 cm]")
        if block.wrote("orientation"):
            block.problem("orientation", "only an ellipsoid has an orientation; found no 'radii'", "axis: [0, 1, 0]")
        return None, None
    for key in ("radius", "axis", "tube"):
        if block.wrote(key):
            block.problem(key, f"'{key}' beside 'radii', which say what rolls", "leave one of them out")
    radii: Vec3 | None = block.get("radii")
    return radii, orientation_of(block, "orientation") if radii is not None else None


def _bend(block: Block, bend: float, radius: float, what: str) -> float | None:
    """Return the radius of a round ground, negative inside of it, 0 of a plane; None: it does not fit (reported).

    what : what rolls, where it is no sphere
    """
    inside = bool(block.get("inside", False))
    if bend == 0.0:
        if inside:
            block.problem("inside", "a plane has no inside", "give bend, or a sphere, cylinder or capsule of the world")
        return None if inside else 0.0
    if what:
        key = "radii" if block.wrote("radii") else "axis"
        hint = "give its radius: a sphere" if key == "radii" else "leave 'axis' out: a sphere"
        block.problem(key, f"{what} rolls on planes; found a ground that is round", hint)
        return None
    if not block.get("keeps", True):
        what = "on a ground that is round, what rolls is kept on it; found false"
        block.problem("keeps", what, "leave 'keeps' out, or take a contact with friction")
        return None
    if inside and radius >= bend:
        what = f"a sphere of {radius:.6g} m does not roll inside of {bend:.6g} m"
        block.problem("radius", what, f"expected less than {bend:.6g} m")
        return None
    return -bend if inside else bend


def _place(block: Block, body: str | None, names: Names, *, needed: bool) -> dict[str, Any] | None:
    """Return `point` or `position`: the centre of mass where neither is written, unless one is needed (reported)."""
    if block.wrote("point") and block.wrote("position"):
        block.problem("position", "'point' and 'position' at once; expected one of them")
        return None
    if block.wrote("position"):
        position = block.get("position")
        return None if position is None else {"position": position}
    if needed and block.absent("point") and block.absent("position"):
        block.problem(None, "it is not said where it touches the ground", "give point, or position")
        return None
    return None if body is None else {"point": f"{body}.{point_of(block, body, names)}"}


def _direction(block: Block, key: str) -> Vec3 | None:
    """Return a unit vector; None where there is none (reported, but for a missing key)."""
    value: Vec3 | None = block.get(key)
    if value is not None and norm(value) == 0.0:
        block.problem(key, "a zero vector has no direction", "give a direction, e.g. [0, 1, 0]")
        return None
    return None if value is None else unit(value)


def _check_across(block: Block, key: str, axis: Vec3, normal: Vec3) -> None:
    """Report an axle or edge that stands upright on the ground."""
    along = dot(axis, normal)
    across = (axis[0] - along * normal[0], axis[1] - along * normal[1], axis[2] - along * normal[2])
    if norm(across) < _PARALLEL:
        word = "edge" if key == "along" else "axle"
        shown = ", ".join(f"{x:.4g}" for x in normal)
        what = f"the {word} is parallel to the normal of the ground, [{shown}]: it has no direction in its plane"
        block.problem(key, what, "draw it lying in the ground's plane, or leaning")


def _ground(block: Block, body: str | None, known: Known) -> dict[str, Any] | None:
    """Return `on`, `normal` and `level` of what it slides or rolls on; None if that cannot be read (reported)."""
    text = block.get("ground")
    if text is None:
        return None
    if text.startswith("world."):
        return _still(block, text, known)
    if text == "world":
        on: str | None = "world"
    else:
        on = _named(block, "ground", text, "body", known.names.directory.bodies, known.names)
        if on is not None and on == body:
            block.problem("ground", f"'{on}' would be its own ground", "name another body, or world")
            on = None
        rolls = block.get("type") == "rolling"
        flat = ("normal", "level") if rolls else ("normal",)
        for key in ("level",) if rolls and block.wrote("bend") else flat:
            if block.absent(key):
                example = "[0, 0, 1]" if key == "normal" else "[0, 0, 10 cm]"
                block.problem(None, f"a body as ground needs key '{key}'", f"{key}: {example}")
    if block.get("type") == "rolling" and not _fits_bend(block):
        return None
    normal, level, bend = _direction(block, "normal"), block.get("level"), block.get("bend", 0.0)
    along = _direction(block, "along") if block.get("type") == "rolling" else None
    if on is None or block.bad("normal", "level", "bend", "along") or (normal is None and block.wrote("normal")):
        return None
    if bend and along is None and block.wrote("along"):
        return None
    return {"on": on, "normal": normal or _UP, "level": level or _ORIGIN, "bend": bend, "along": along}


def _fits_bend(block: Block) -> bool:
    """Tell whether what is said of a ground is of a plane, or of a round one; else it is reported."""
    if block.wrote("bend") and block.wrote("normal"):
        block.problem("normal", "'normal' beside 'bend': a ground that is round has none", "leave one of them out")
        return False
    if block.wrote("along") and not block.wrote("bend"):
        what, hint = "'along' is the axis of a ground that is a cylinder; found no 'bend'", "bend: 50 cm, its radius"
        block.problem("along", what, hint)
        return False
    return True


_ROUND = ("sphere", "cylinder", "capsule")


def _still(block: Block, text: str, known: Known) -> dict[str, Any] | None:
    """Return the ground that a plane of the world is, or a round shape, in coordinates of the file."""
    name = block.reader.scope.full(text)
    kinds = ("plane", *_ROUND) if block.get("type") == "rolling" else ("plane",)
    fitting = tuple(shape for shape in known.still if known.still[shape].kind in kinds)
    for key in ("normal", "level", "bend", "along") if len(kinds) > 1 else ("normal", "level"):
        if block.wrote(key):
            block.problem(key, f"'{key}' beside '{text}', which says it", f"leave '{key}' out, or ground: world")
    shape = known.still.get(name)
    if shape is None:
        unreadable = known.names.unreadable
        resolve_name(name, block.nodes["ground"], block.reader, f"{block.path}.ground", "plane", fitting, unreadable)
        return None
    if shape.kind not in kinds:
        hint = f"there is: {', '.join(fitting)}" if fitting else "ground: world, with its normal"
        expected = "a plane" if len(kinds) == 1 else "a plane, a sphere, a cylinder or a capsule"
        block.problem("ground", f"'{name}' is a {shape.kind}; expected {expected}", hint)
        return None
    w, x, y, z = known.orientation
    back = (w, -x, -y, -z)
    (a, b, c), (i, j, k) = shape.position, known.position
    axis = rotate(back, rotate(shape.orientation, _UP))
    return {
        "on": "world", "normal": axis, "level": rotate(back, (a - i, b - j, c - k)),
        "bend": 0.0 if shape.kind == "plane" else shape.size[0],
        "along": axis if shape.kind in ("cylinder", "capsule") else None,
    }  # fmt: skip


# ---- what ties rates together ---------------------------------------------------------------------------------------


def _same_velocity(block: Block, known: Known) -> dict[str, Any] | None:
    written, components = block.get("bodies"), block.get("components")
    doubled = next((c for i, c in enumerate(components or ()) if c in components[:i]), None)
    if doubled is not None:
        block.problem("components", f"'{doubled}' twice", "name each component once")
    bodies = []
    for i, text in enumerate(written or ()):
        if text != "world":
            bodies.append(_named(block, "bodies", text, "body", known.names.directory.bodies, known.names, i))
        elif i == 0:
            block.problem("bodies", "the world stands still", "name the body first: [body, world]", item=0)
            bodies.append(None)
        else:
            bodies.append("world")
    if len(bodies) == 2 and bodies[0] is not None and bodies[0] == bodies[1]:
        block.problem("bodies", f"'{bodies[0]}' twice", "name two bodies", item=1)
    place = _place(block, bodies[0] if bodies else None, known.names, needed=False)
    turns = {component.startswith("r") for component in components or ()}
    if len(turns) > 1 and block.wrote("holds"):
        what = "'holds' is a force or a torque, and the components are of both kinds"
        block.problem("holds", what, "write two constraints: one of x, y, z, one of rx, ry, rz")
        return None
    if len(components or ()) > 2 and block.wrote("holds"):
        what = f"'holds' is a bound of one component or of two together; found {len(components)}"
        block.problem("holds", what, "write two constraints, or leave 'holds' out")
        return None
    holds = _number(block, "holds", "N m" if turns == {True} else "N", math.inf)
    if place is None or components is None or None in bodies:
        return None
    return {"body": bodies[0], "on": bodies[1], "components": components, **place, "holds": holds}


def _gear(block: Block, known: Known) -> dict[str, Any] | None:
    written = block.get("joints")
    if written is None:
        return None
    kinds = known.names.directory.joints
    named = [_named(block, "joints", text, "joint", tuple(kinds), known.names, i) for i, text in enumerate(written)]
    joints = tuple(name for name in named if name is not None)
    if len(joints) < 2:
        return None
    if joints[0] == joints[1]:
        hint = "a screw binds the two freedoms of a cylindrical joint" if kinds[joints[0]] == "cylindrical" else ""
        block.problem("joints", f"'{joints[0]}' would be geared to itself", hint or "name two joints", item=1)
        return None
    bound = [_freedom(block, i, joint, kinds[joint]) for i, joint in enumerate(joints)]
    freedoms = tuple(freedom for freedom in bound if freedom is not None)
    if len(freedoms) < 2:
        return None
    slides = [JOINT_TYPES[kinds[joint]].units[freedom] == "m" for joint, freedom in zip(joints, freedoms, strict=True)]
    unit_of_ratio = "1" if slides[0] == slides[1] else "m" if slides[0] else "1/m"
    ratio = _number(block, "ratio", unit_of_ratio, 0.0)
    if ratio == 0.0 and block.get("ratio") is not None and block.get("ratio").value == 0.0:
        block.problem("ratio", "the ratio is 0: the first joint would not move at all", "give another number")
    holds = _number(block, "holds", "N" if slides[0] else "N m", math.inf)
    return {"joints": joints, "freedoms": freedoms, "ratio": ratio, "holds": holds}


def _freedom(block: Block, i: int, joint: str, kind: str) -> int | None:
    """Return which freedom of a joint a gear binds; None: reported."""
    count = JOINT_TYPES[kind].freedoms
    if not JOINT_TYPES[kind].lists_coordinates:
        why = "it does not move" if count == 0 else "its turns are no angles about fixed axes"
        what = f"'{joint}' is a {kind} joint: {why}"
        block.problem("joints", what, "take a rotational, translational, cylindrical, universal or planar one", item=i)
        return None
    if block.bad("freedoms"):
        return None
    if not block.wrote("freedoms"):
        if count > 1 and block.absent("freedoms"):
            what = f"'{joint}' is a {kind} joint: it is not said which of its {count} freedoms the gear binds"
            block.problem("joints", what, "freedoms: [0, 1], one for each joint", item=i)
        return 0 if count == 1 else None
    freedom: int = block.get("freedoms")[i]
    if freedom >= count:
        listed = "0" if count == 1 else f"0 to {count - 1}"
        what = f"'{joint}' is a {kind} joint: it has no freedom {freedom}"
        block.problem("freedoms", what, f"expected {listed}", item=i)
        return None
    return freedom


def _screw(block: Block, known: Known) -> dict[str, Any] | None:
    written, pitch = block.get("joint"), block.get("pitch")
    kinds = known.names.directory.joints
    joint = None if written is None else _named(block, "joint", written, "joint", tuple(kinds), known.names)
    if pitch == 0.0:
        block.problem("pitch", "the pitch is 0: it would not move along at all", "a rotational joint does that")
    if joint is not None and kinds[joint] != "cylindrical":
        block.problem("joint", f"'{joint}' is a {kinds[joint]} joint; expected a cylindrical one", "type: cylindrical")
        return None
    holds = _number(block, "holds", "N", math.inf)
    if joint is None or pitch is None:
        return None
    return {"joints": (joint,), "ratio": pitch / (2.0 * math.pi), "holds": holds}


# ---- names and numbers ----------------------------------------------------------------------------------------------


def _named(
    block: Block, key: str, text: str, kind: str, known: tuple[str, ...], names: Names, item: int = -1
) -> str | None:
    """Return the full name of the one body or joint that a text means; None: reported."""
    node, path = block.nodes[key], f"{block.path}.{key}"
    if item >= 0 and isinstance(node, Sequence):
        node, path = node.items[item], f"{path}[{item}]"
    full = block.reader.scope.full(text)
    found = resolve_name(full, node, block.reader, path, kind, known, names.unreadable)
    if len(found) > 1:
        plural = "bodies" if kind == "body" else f"{kind}s"
        block.problem(key, f"{len(found)} {plural} match; expected one", ", ".join(found[:6]), item=item)
    return found[0] if len(found) == 1 else None


def _number(block: Block, key: str, wanted: str, otherwise: float) -> float:
    """Return a number that has the unit that this type wants; `otherwise` where it is absent or wrong (reported)."""
    value = block.get(key)
    if isinstance(value, Quantity):
        schema = {"type": ["number"], "x-unit": wanted}
        value = block.reader.fit(value, block.nodes[key], schema, f"{block.path}.{key}")
    return otherwise if value is None or value is BAD else float(value)


_BUILD: dict[str, Callable[[Block, Known], dict[str, Any] | None]] = {
    "no_side_slip": _edge, "knife_edge": _edge, "rolling": _rolling, "same_velocity": _same_velocity, "gear": _gear,
    "screw": _screw,
}  # fmt: skip
