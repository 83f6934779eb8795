"""Joints: whom they connect, where, and what acts in them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from dataclasses import dataclass, fields
from typing import Any

from sim.joints import JOINT_TYPES
from sim.scene import formula
from sim.scene.blocks import BAD, Block, Thing
from sim.scene.data_files import read_data, table_over_time
from sim.scene.expressions import ExpressionError
from sim.scene.formula import by_freedom
from sim.scene.names import Unreadable, nearest
from sim.scene.nodes import Map, Node, Scalar, Sequence, is_empty
from sim.scene.rotation import dot, norm, unit
from sim.scene.spec import Expression, Joint, Limits, Vec3
from sim.scene.units import Quantity
from sim.scene.vocabulary import definition

# Gap (m or rad) at which an event may connect a joint that the drawing binds: rounding of assembled loops.
DEFAULT_TOLERANCE = 1e-6

_RIGHT_ANGLE_ERROR = 1e-6


@dataclass(frozen=True)
class Bodies:
    """What joints may connect.

    points : body name to the names of its points; those of the world under ``world``
    unreadable : bodies whose block could not be read: what they have is not known
    """

    points: Mapping[str, Set[str]]
    unreadable: Unreadable


def build_joint(thing: Thing, bodies: Bodies, by_event: bool = False) -> Joint | None:
    """Return a joint, or None if it cannot be read (reported).

    Parameters
    ----------
    thing : Thing
        Name and block.
    bodies : Bodies
        Everything that it may connect.
    by_event : bool
        Made by an event's `connect`: it binds when it is connected.
    """
    block: Block = thing.value
    if block is BAD:
        return None
    parent, child = _body(block, "parent", bodies), _body(block, "child", bodies)
    if child == "world":
        hint = "exchange parent and child: the world is a parent"
        block.problem("child", "the world cannot be a child", hint)
        child = None
    elif parent is not None and parent == child:
        block.problem("child", f"parent and child are both '{child}'", "a joint connects two bodies")
        child = None
    kind = block.get("type")
    if kind is None:
        return None
    position, parent_point, child_point = _place(block, kind, parent, child, bodies, by_event)
    axis, second_axis = _axes(block, kind)
    if parent is None or child is None:
        return None
    if by_event and block.wrote("connected"):
        block.problem("connected", "'connected' is for joints that the drawing binds", "the event connects this one")
    bound = math.inf if by_event else DEFAULT_TOLERANCE
    tolerance = block.get("tolerance")
    limits, friction, motion = _limits(block, kind), _friction(block, kind), _motion(block, kind)
    _check_driven(block, limits, friction, motion)
    return Joint(
        name=thing.full,
        part=thing.reader.scope.part,
        type=kind,
        parent=parent,
        child=child,
        position=position,
        axis=axis,
        second_axis=second_axis,
        pitch=_pitch(block, kind),
        parent_point=parent_point,
        child_point=child_point,
        limits=limits,
        **{key: _per_freedom(block, key, kind) for key in ("stiffness", "rest", "damping", "armature")},
        friction=friction,
        motion=motion,
        connected=bool(block.get("connected", True)) and not by_event,
        binds="event" if by_event else "drawing",
        tolerance=tolerance.value if isinstance(tolerance, Quantity) else bound,
        place=thing.key.place,
        places={key: node.place for key, node in block.nodes.items()},
    )


def differences(a: Joint, b: Joint) -> list[str]:
    """Return the keys in which two joints differ, wherever they are written; of other types only that."""

    def said(joint: Joint, key: str) -> Any:
        value = getattr(joint, key)
        return tuple(one and one.text for one in value) if key == "motion" else value

    keys = [field.name for field in fields(Joint) if field.name not in ("place", "places")]
    return [key for key in keys if said(a, key) != said(b, key)] if a.type == b.type else ["type"]


def _body(block: Block, key: str, bodies: Bodies) -> str | None:
    """Return the full name of the parent or child, or None (reported)."""
    written = block.get(key)
    if written is None:
        return None
    name = block.reader.scope.full(written)
    if name == "world" or name in bodies.points:
        return str(name)
    if name in bodies.unreadable:
        return str(name)
    block.problem(key, f"no body named '{name}'", block.reader.scope.hint(name, bodies.points))
    return None


# ---- place and axes ----


def _place(
    block: Block, kind: str, parent: str | None, child: str | None, bodies: Bodies, by_event: bool
) -> tuple[Vec3 | None, str | None, str | None]:
    """Return position, parent_point and child_point."""
    points = {key: _point(block, key, body, bodies) for key, body in (("parent_point", parent), ("child_point", child))}
    written = [key for key in ("parent_point", "child_point") if block.wrote(key)]
    if block.wrote("position") and written:
        block.problem(written[0], f"'position' and '{written[0]}' at once", "give a position, or the two points")
    elif len(written) == 1 and not by_event:
        other = "child_point" if written[0] == "parent_point" else "parent_point"
        block.problem(written[0], f"'{written[0]}' without '{other}'", "assembly brings the two points together")
    elif not written and not block.wrote("position") and not (by_event and not JOINT_TYPES[kind].is_somewhere):
        if not by_event and JOINT_TYPES[kind].own_frames:
            return None, None, None
        if all(block.absent(key) for key in ("position", "parent_point", "child_point")):
            what = "it is not said where the joint is"
            block.problem(None, what, "give position, or parent_point and child_point")
    return block.get("position"), points["parent_point"], points["child_point"]


def _point(block: Block, key: str, body: str | None, bodies: Bodies) -> str | None:
    """Return the name of a point of a body (of the world: its full name), or None."""
    name = block.get(key)
    if name is None or body is None:
        return None
    known = bodies.points.get(body, frozenset())
    if body == "world":
        name = block.reader.scope.full(name)
    if name in known or (name if body == "world" else body) in bodies.unreadable:
        return str(name)
    hint = nearest(name, known) if known else f"'{body}' has no points"
    block.problem(key, f"no point named '{name}' on '{body}'", hint)
    return None


def _axes(block: Block, kind: str) -> tuple[Vec3 | None, Vec3 | None]:
    """Return the unit axes of a joint."""
    keys, needed = JOINT_TYPES[kind].keys, JOINT_TYPES[kind].needed
    for key in ("axis", "second_axis"):
        if block.wrote(key) and key not in keys:
            block.problem(key, f"a {kind} joint has no '{key}'")
    axis = _direction(block, "axis") if "axis" in keys else None
    second = _direction(block, "second_axis") if "second_axis" in keys else None
    for key, hint in (("axis", "axis: [0, 0, 1]"), ("second_axis", "perpendicular to axis")):
        if key in needed and block.absent(key):
            block.problem(None, f"a {kind} joint needs key '{key}'", hint)
    if set(keys) - set(needed) and axis is not None and not block.wrote("second_axis"):
        second = (1.0, 0.0, 0.0) if abs(axis[0]) < 1 - 1e-6 else (0.0, 1.0, 0.0)
    if axis is None or second is None:
        return axis, second
    along = dot(axis, second)
    if "second_axis" in needed and abs(along) > _RIGHT_ANGLE_ERROR:
        angle = math.degrees(math.acos(max(-1.0, min(1.0, along))))
        block.problem("second_axis", f"the two axes stand at {angle:.4g} degrees; expected a right angle")
        return axis, None
    if abs(along) > 1 - 1e-9:
        block.problem("second_axis", "'second_axis' is parallel to 'axis'", "it lies in the plane whose normal is axis")
        return axis, None
    return axis, unit((second[0] - along * axis[0], second[1] - along * axis[1], second[2] - along * axis[2]))


def _direction(block: Block, key: str) -> Vec3 | None:
    value: Vec3 | None = block.get(key)
    if value is None:
        return None
    if norm(value) < 1e-12:
        block.problem(key, "a zero vector has no direction", "give a direction, e.g. [0, 0, 1]")
        return None
    return unit(value)


def _pitch(block: Block, kind: str) -> float:
    """Return the way along its axis in one turn [m] of a joint whose type has one; 0: none, or reported."""
    pitch = block.get("pitch")
    if not JOINT_TYPES[kind].pitched:
        if block.wrote("pitch"):
            block.problem("pitch", f"a {kind} joint has no 'pitch'")
        return 0.0
    if block.absent("pitch"):
        block.problem(None, f"a {kind} joint needs key 'pitch'", "pitch: 5 mm, along its axis in one turn")
    elif pitch == 0.0:
        block.problem("pitch", "the pitch is 0: it would not move along at all", "a rotational joint does that")
    return pitch or 0.0


# ---- what acts in a joint ----


def _per_freedom(block: Block, key: str, kind: str) -> tuple[float, ...]:
    """Return a value for each freedom, written as one number for all or as a list."""
    count = JOINT_TYPES[kind].freedoms
    value = block.get(key)
    if not block.wrote(key) or value is None:
        return (0.0,) * count
    if count == 0:
        block.problem(key, f"a {kind} joint has no '{key}'")
        return ()
    schema = definition("joint")["properties"][key]
    units = by_freedom(schema["x-unit"], kind)
    node = block.nodes[key]
    if isinstance(value, tuple):
        if len(value) != count:
            what = f"expected one number or {count}, one for each freedom of a {kind} joint, found {len(value)}"
            block.problem(key, what)
            return (0.0,) * count
        nodes: list[Node] = node.items if isinstance(node, Sequence) else [node] * count
    else:
        value, nodes = (value,) * count, [node] * count
        if not value[0].bare and len(set(units)) > 1:
            block.problem(key, f"one number for slides and turns of a {kind} joint", f"give a list of {count}")
            return (0.0,) * count
    fitted = []
    for i, (item, item_node, unit_wanted) in enumerate(zip(value, nodes, units, strict=True)):
        wanted: dict[str, Any] = {"type": ["number"], "x-unit": unit_wanted}
        if key != "rest":
            wanted["minimum"] = 0.0
        path = f"{block.path}.{key}" + (f"[{i}]" if item_node is not node else "")
        fitted.append(block.reader.fit(item, item_node, wanted, path))
    values = tuple(0.0 if number is BAD else number for number in fitted)
    turns = values[-3:]
    if JOINT_TYPES[kind].ball >= 0 and (len(set(turns)) > 1 if key == "stiffness" else key == "rest" and any(turns)):
        # Torques that follow the three parts of a rotation vector one by one have no potential.
        what = f"the turns of a {kind} joint have one spring, free where the joint is zero"
        block.problem(key, what, "give one stiffness for all turns, no rest; a pd controller has a target")
    return values


def _friction(block: Block, kind: str) -> tuple[float, ...]:
    """Return the bound of Coulomb's friction of each freedom; () where there is none."""
    values = _per_freedom(block, "friction", kind)
    if not any(values):
        return ()
    if not JOINT_TYPES[kind].lists_coordinates:
        what = f"a {kind} joint has no friction: its turns are no list of coordinates"
        block.problem("friction", what, "a chain of rotational and translational joints can have it")
        return ()
    return values


def _check_driven(
    block: Block, limits: Limits | None, friction: tuple[float, ...], motion: tuple[Expression | None, ...]
) -> None:
    """Report rigid stops and friction of freedoms whose motion is prescribed: nothing is left to them."""
    driven = [formula is not None for formula in motion]
    if limits is not None and limits.stop == "rigid":
        ends = [any(map(math.isfinite, pair)) for pair in limits.ranges]
        tilts = any(map(math.isfinite, (limits.cone, *limits.twist)))  # of a ball alone, all of which is driven
        if any(a and b for a, b in zip(driven, ends, strict=False)) or (tilts and any(driven)):
            block.problem("limits", "a driven freedom has no rigid stop: its motion says where it is")
    if any(a and b > 0.0 for a, b in zip(driven, friction, strict=False)):
        what = "a driven freedom has no friction: its drive gives what the motion takes"
        block.problem("friction", what, "leave one of the two out")


def _motion(block: Block, kind: str) -> tuple[Expression | None, ...]:
    """Return what drives each freedom: a formula of time, or None where it is free; () where nothing is driven."""
    if not block.wrote("motion"):
        return ()
    node, count, units = block.nodes["motion"], JOINT_TYPES[kind].freedoms, JOINT_TYPES[kind].units
    if count == 0:
        block.problem("motion", f"a {kind} joint cannot be driven: it has no freedom")
        return ()
    items = node.items if isinstance(node, Sequence) else [node]
    if is_empty(node) or isinstance(node, Map):
        block.problem("motion", "expected a formula of t, or a list of them", "motion: 20 deg*sin(2*pi*t/1 s)")
        return ()
    if len(items) != count:
        one = "one formula" if count == 1 else f"{count} formulas, one for each freedom"
        found = f"a list of {len(items)}" if isinstance(node, Sequence) else "one"
        hint = "" if count == 1 else "write free where a freedom is not driven"
        block.problem("motion", f"expected {one} of a {kind} joint, found {found}", hint)
        return ()
    driven = []
    for i, (item, unit_wanted) in enumerate(zip(items, units, strict=True)):
        path = f"{block.path}.motion" + (f"[{i}]" if isinstance(node, Sequence) else "")
        driven.append(_formula_of_time(block, item, path, unit_wanted))
    ball = JOINT_TYPES[kind].ball
    if ball >= 0 and any(driven[ball:]) and not all(driven[ball:]) and "free" in [_text(item) for item in items[ball:]]:
        what = f"the turns of a {kind} joint are one rotation vector: all three are driven, or none"
        block.problem("motion", what, "write three formulas, or free three times")
        return ()
    if not any(driven) and all(isinstance(item, Scalar) and item.text == "free" for item in items):
        block.problem("motion", "no freedom of this joint is driven", "leave 'motion' out")
    return tuple(driven) if any(driven) else ()


def _text(node: Node) -> str:
    return node.text if isinstance(node, Scalar) else ""


def _formula_of_time(block: Block, node: Node, path: str, unit_wanted: str) -> Expression | None:
    """Return one formula of a motion, or None: free, or reported."""
    reader = block.reader
    text = reader.text(node, path) if isinstance(node, Scalar) else reader.read(node, {"type": "string"}, path)
    if text is BAD or text == "free":
        return None
    try:
        return formula.motion(
            text, reader.scope.names, node.place, unit_wanted,
            lambda name: read_data(reader, node, path, name, table_over_time(name)),
        )  # fmt: skip
    except ExpressionError as error:
        reader.fail(node, path, error)
        return None


def _limits(block: Block, kind: str) -> Limits | None:
    """Return the stops of a joint, or None."""
    value = block.get("limits")
    if value is None:
        return None
    inner = value if isinstance(value, Block) else block
    key = "range" if isinstance(value, Block) else "limits"
    written = inner.get(key)
    tilts = [name for name in ("cone", "twist", "about") if isinstance(value, Block) and value.wrote(name)]
    ball, own_units = JOINT_TYPES[kind].limits == "ball", JOINT_TYPES[kind].units
    count = 1 if ball else JOINT_TYPES[kind].freedoms
    if not JOINT_TYPES[kind].limits:
        block.problem("limits", f"a {kind} joint has no limits")
        return None
    if tilts and not ball:
        inner.problem(tilts[0], f"a {kind} joint has no '{tilts[0]}'", "a spherical joint has")
        return None
    if written is None and not (tilts and inner.wrote("cone", "twist")):
        if inner is value and inner.absent("range"):
            inner.problem(None, "key 'range' is missing", 'range: ["0 deg", "150 deg"]')
        return None
    ranges = _ranges(inner, key, written, kind, count) if written is not None else ((-math.inf, math.inf),)
    if ranges is None:
        return None
    units = {unit for unit, ends in zip(own_units, ranges, strict=False) if any(map(math.isfinite, ends))}
    if len(units) > 1:
        what = f"stops for slides and turns of one {kind} joint cannot be given together"
        inner.problem(key, what, "limit the slides or the turns, and leave the others [-inf, inf]")
        return None
    unit_of = units.pop() if units else own_units[0]
    stiffness, dissipation, rest_speed = (
        _stop(value, name, unit_of) for name in ("stiffness", "dissipation", "rest_speed")
    )
    how, restitution = _kind_of_stop(value) if isinstance(value, Block) else ("soft", 0.0)
    if ball and ranges[0][0] > 0.0:
        what = f"the angle of a {kind} joint has no lower stop, found one at {math.degrees(ranges[0][0]):.4g} deg"
        inner.problem(key, what, "let the range begin at 0 deg")
    if how == "rigid" and ball and not (0.0 < ranges[0][1] < math.pi or math.isinf(ranges[0][1])):
        inner.problem(key, f"a rigid stop of a {kind} joint is at an angle between 0 deg and 180 deg")
    return Limits(
        ranges=ranges, stop=how, restitution=restitution, rest_speed=rest_speed, stiffness=stiffness,
        dissipation=dissipation, **(_tilts(inner) if tilts else {}),
    )  # fmt: skip


def _tilts(block: Block) -> dict[str, Any]:
    """Return cone, twist and the axis of both, of a spherical joint."""
    return {"cone": _cone(block), "twist": _twist(block), "about": "xyz".index(block.get("about", "z") or "z")}


def _cone(block: Block) -> float:
    """Return how far the axis of a spherical joint may tilt; infinite where nothing is said, or it is reported."""
    cone = block.get("cone")
    if cone is None:
        return math.inf
    if not 0.0 < cone < math.pi:
        block.problem("cone", "a cone is opened by an angle between 0 deg and 180 deg, from its axis to its side")
        return math.inf
    return float(cone)


def _twist(block: Block) -> tuple[float, float]:
    """Return the range of twist of a spherical joint; infinite where nothing is said, or it is reported."""
    twist = block.get("twist")
    if twist is None:
        return (-math.inf, math.inf)
    low, high = twist
    if not (-math.pi < low <= high < math.pi):
        block.problem("twist", "a twist is between -180 deg and 180 deg, the lowest first")
        return (-math.inf, math.inf)
    return (float(low), float(high))


def _kind_of_stop(value: Block) -> tuple[str, float]:
    """Return whether a stop is soft or rigid, and its restitution; report what is said of the other kind."""
    how = value.get("stop", "soft")
    if value.bad("stop"):
        return how, 0.0
    for name in ("stiffness", "dissipation") if how == "rigid" else ("restitution", "rest_speed"):
        if value.wrote(name):
            other = "give it restitution" if how == "rigid" else "write stop: rigid, or give it dissipation"
            value.problem(name, f"a {how} stop has no '{name}'", other)
    return how, value.get("restitution", 0.0)


def _ranges(inner: Block, key: str, written: Any, kind: str, count: int) -> tuple[tuple[float, float], ...] | None:
    """Return (lowest, highest) for each freedom, or None (reported)."""
    node = inner.nodes[key]
    single = len(written) == 2 and all(isinstance(item, Quantity) for item in written)
    pairs, nodes = ([written], [node]) if single else (list(written), node.items)  # type: ignore[union-attr]
    if any(isinstance(pair, Quantity) for pair in pairs):
        inner.problem(key, "expected a range [lowest, highest], or a list of ranges")
        return None
    if len(pairs) != count:
        what = f"expected {count} range{'s' if count > 1 else ''} for a {kind} joint, found {len(pairs)}"
        inner.problem(key, what)
        return None
    ranges = []
    for i, (pair, pair_node) in enumerate(zip(pairs, nodes, strict=True)):
        path = f"{inner.path}.{key}" + ("" if single else f"[{i}]")
        schema = {"type": ["number"], "x-unit": JOINT_TYPES[kind].units[i], "x-infinite": True}
        ends = [
            inner.reader.fit(end, at, schema, f"{path}[{k}]")
            for k, (end, at) in enumerate(zip(pair, pair_node.items, strict=True))
        ]
        if any(end is BAD for end in ends):
            return None
        if ends[0] > ends[1]:
            low, high = (end.text for end in pair_node.items)
            inner.reader.problem(pair_node, path, f"the lowest, {low}, is larger than the highest, {high}")
            return None
        ranges.append((ends[0], ends[1]))
    return tuple(ranges)


def _stop(value: Any, name: str, unit_of: str) -> float:
    """Return stiffness, dissipation or rest speed of a stop; its default depends on sliding or turning."""
    schema = definition("limits")["oneOf"][1]["properties"][name]
    sliding, turning = schema["x-default"]
    default = sliding if unit_of == "m" else turning
    found = value.get(name) if isinstance(value, Block) else None
    if found is None:
        return float(default)
    units = schema["x-unit"].split(" or ")
    wanted = {"type": ["number"], "x-unit": units[0] if unit_of == "m" else units[1]}
    fitted = value.reader.fit(found, value.nodes[name], wanted, f"{value.path}.{name}")
    return float(default if fitted is BAD else fitted)
