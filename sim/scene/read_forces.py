"""Forces of a scene: what they act on found, their numbers and formulas read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sim.joints import JOINT_TYPES
from sim.scene import formula
from sim.scene.blocks import BAD, Block, Reads, Thing, check_keys
from sim.scene.expressions import ExpressionError
from sim.scene.names import nearest
from sim.scene.nodes import Node, Scalar, Sequence
from sim.scene.read_events import Names, resolve_name
from sim.scene.spec import Drag, Expression, Force, Spring, TorsionSpring, Wrench
from sim.scene.units import Quantity
from sim.scene.vocabulary import definition

# What each type of force needs, and what else it may say.
_NEEDS = {"spring": ("from", "to"), "torsion_spring": ("joint",), "wrench": ("body",), "drag": ("body",)}
_MAY = {
    "spring": ("stiffness", "damping", "length"),
    "torsion_spring": ("freedom", "stiffness", "damping", "rest"),
    "wrench": ("point", "force", "torque", "frame", "reaction"),
    "drag": ("point", "linear", "quadratic", "turning_linear", "turning_quadratic"),
}
# One of these has to be written, else the force does nothing.
_ACTS = {
    "spring": ("stiffness", "damping"),
    "torsion_spring": ("stiffness", "damping"),
    "wrench": ("force", "torque"),
    "drag": ("linear", "quadratic", "turning_linear", "turning_quadratic"),
}
_UNITS = {
    "spring": {"stiffness": "N/m", "damping": "N s/m"},
    "torsion_spring": {"stiffness": "N m/rad", "damping": "N m s/rad"},
}
# Known only once all forces are: a formula of a force cannot use them.


def build_force(thing: Thing, names: Names) -> Force | None:
    """Return a force, or None if its block cannot be read (reported)."""
    block: Block = thing.value
    if block is BAD or block.get("type") is None:
        return None
    kind = block.get("type")
    word = kind.replace("_", " ")
    check_keys(block, f"a {word}", ("about", "type"), _NEEDS[kind], _MAY[kind], definition("force")["properties"])
    if not block.wrote(*_ACTS[kind]) and not block.unknown:
        *some, last = _ACTS[kind]
        thing.problem(f"this {word} does nothing", f"give {', '.join(some)} or {last}")
    return _BUILD[kind](thing, block, names)


def _number(block: Block, key: str, units: dict[str, str]) -> float:
    """Return a number that has the unit of its type of force; 0 where it is absent or wrong (reported)."""
    value = block.get(key, 0.0)
    if isinstance(value, Quantity) and block.wrote(key):
        schema = definition("force")["properties"][key]
        wanted = {**{k: schema[k] for k in ("type", "minimum") if k in schema}, "x-unit": units[key]}
        value = block.reader.fit(value, block.nodes[key], wanted, f"{block.path}.{key}")
    return 0.0 if value is BAD else float(value)


# ---- springs ----


def _spring(thing: Thing, block: Block, names: Names) -> Spring | None:
    ends = [_end(block, key, names) for key in ("from", "to")]
    if None not in ends and ends[0] == ends[1]:
        block.problem("to", f"'{ends[0]}' is both ends of this force", "give two points")
    stiffness, damping = (_number(block, key, _UNITS["spring"]) for key in ("stiffness", "damping"))
    if None in ends:
        return None
    return Spring(
        name=thing.full, ends=(str(ends[0]), str(ends[1])), stiffness=stiffness, damping=damping,
        length=block.get("length"), place=thing.key.place,
    )  # fmt: skip


def _end(block: Block, key: str, names: Names) -> str | None:
    """Return the full name of a body or point; None where there is none (reported, but for a missing key)."""
    if block.get(key) is None:
        return None
    return end_of(block.nodes[key], block.reader, f"{block.path}.{key}", names)


def end_of(node: Node, reader: Reads, path: str, names: Names) -> str | None:
    """Return the full name of a body or point that a node names, or None (reported)."""
    text = reader.text(node, path)
    if text is BAD:
        return None
    known = (*names.directory.bodies, *names.directory.points)
    found = resolve_name(reader.scope.full(text), node, reader, path, "body or point", known, names.unreadable)
    return found[0] if len(found) == 1 else None


def _torsion(thing: Thing, block: Block, names: Names) -> TorsionSpring | None:
    units = _UNITS["torsion_spring"]
    stiffness, damping = (_number(block, key, units) for key in ("stiffness", "damping"))
    joints = names.directory.joints
    written = block.get("joint")
    if written is None:
        return None
    full = block.reader.scope.full(written)
    found = resolve_name(
        full, block.nodes["joint"], block.reader, f"{block.path}.joint", "joint", tuple(joints), names.unreadable
    )
    if len(found) != 1:
        if found:
            block.problem("joint", f"{len(found)} joints match; expected one", ", ".join(found[:6]))
        return None
    place = _turn(block, found[0], joints[found[0]])
    if place is None:
        return None
    freedom, turns = place
    if turns == 3 and block.get("rest"):
        # Torques that follow the three parts of a rotation vector one by one have no potential.
        what = f"the turns of a {joints[found[0]]} joint have one spring, free where the joint is zero"
        block.problem("rest", what, "leave 'rest' out")
    return TorsionSpring(
        name=thing.full, joint=found[0], freedom=freedom, turns=turns, stiffness=stiffness, damping=damping,
        rest=block.get("rest", 0.0), place=thing.key.place,
    )  # fmt: skip


def _turn(block: Block, joint: str, kind: str) -> tuple[int, int] | None:
    """Return the freedom that a torsion spring acts on, and how many turns it is the first of; None: reported."""
    turning = [i for i, unit in enumerate(JOINT_TYPES[kind].units) if unit == "rad"]
    if not turning:
        block.problem("joint", f"'{joint}' is a {kind} joint: it does not turn")
        return None
    freedom = block.get("freedom")
    if JOINT_TYPES[kind].ball >= 0:
        if freedom is not None:
            block.problem("freedom", f"the three turns of a {kind} joint have one spring", "leave 'freedom' out")
        return turning[0], 3
    listed = " or ".join(str(i) for i in turning)
    if freedom is None and len(turning) > 1 and not block.bad("freedom"):
        what = f"'{joint}' is a {kind} joint: it is not said which of its turns the spring acts on"
        block.problem("joint", what, f"freedom: {listed}, as in coordinate('{joint}')[{turning[0]}]")
        return None
    if freedom is not None and freedom not in turning:
        block.problem("freedom", f"freedom {freedom} of a {kind} joint is no turn", f"expected {listed}")
        return None
    return (turning[0] if freedom is None else freedom), 1


# ---- wrench and drag ----


def body_of(block: Block, key: str, names: Names) -> str | None:
    """Return the full name of a body; None where there is none (reported, but for a missing key)."""
    written = block.get(key)
    if written is None:
        return None
    if written == "world":
        hint = "without 'reaction' nothing takes the opposites" if key == "reaction" else "give a body"
        block.problem(key, "the world stands still", hint)
        return None
    full, known = block.reader.scope.full(written), names.directory.bodies
    if full not in known:
        if full not in names.unreadable:
            block.problem(key, f"no body named '{full}'", block.reader.scope.hint(full, known))
        return None
    return str(full)


def point_of(block: Block, body: str | None, names: Names) -> str:
    """Return the name of a point of a body: its centre of mass where none is written or known (reported)."""
    point = block.get("point")
    points = names.directory.points
    if point is None or body is None or f"{body}.{point}" in points:
        return str(point or "com")
    if body not in names.unreadable:
        known = [p.rpartition(".")[2] for p in points if p.rpartition(".")[0] == body]
        block.problem("point", f"no point named '{point}' on '{body}'", nearest(point, known))
    return "com"


def _wrench(thing: Thing, block: Block, names: Names) -> Wrench | None:
    body, reaction = (body_of(block, key, names) for key in ("body", "reaction"))
    if body is not None and body == reaction:
        block.problem("reaction", f"'{body}' would push itself", "name another body")
    point = point_of(block, body, names)
    force, torque = _vector(block, "force", "N", names), _vector(block, "torque", "N m", names)
    if body is None:
        return None
    return Wrench(
        name=thing.full, body=body, point=point, force=force, torque=torque, frame=block.get("frame", "world"),
        reaction=reaction, place=thing.key.place,
    )  # fmt: skip


def _vector(block: Block, key: str, unit: str, names: Names) -> tuple[Expression, ...] | Expression | None:
    """Return three formulas, or one whose value is a vector; None where there is none (or reported)."""
    node = block.get(key)
    if node is None:
        return None
    path = f"{block.path}.{key}"
    if isinstance(node, Scalar):
        return _formula(node, path, unit, block, names, formula.vector)
    if not isinstance(node, Sequence) or len(node.items) != 3:
        found = f"a list of {len(node.items)}" if isinstance(node, Sequence) else "a map"
        what = f"expected 3 numbers or formulas, or one formula of a list, found {found}"
        block.problem(key, what, f'{key}: [0, 0, "5 {unit}*sin(t/1 s)"]')
        return None
    parts = [_formula(item, f"{path}[{i}]", unit, block, names, formula.number) for i, item in enumerate(node.items)]
    found_parts = tuple(part for part in parts if part is not None)
    return found_parts if len(found_parts) == 3 else None


def _formula(
    node: Node, path: str, unit: str, block: Block, names: Names, read: Callable[..., Expression]
) -> Expression | None:
    """Return one formula of time and state; None if it cannot be read (reported)."""
    reader = block.reader
    text: Any = reader.read(node, {"type": "string"}, path)
    if text is BAD:
        return None
    try:
        return read(text, reader.scope.names, names.directory, reader.scope.prefix, node.place, unit)
    except ExpressionError as error:
        reader.fail(node, path, error)
        return None


def _drag(thing: Thing, block: Block, names: Names) -> Drag | None:
    body = body_of(block, "body", names)
    point = point_of(block, body, names)
    if body is None:
        return None
    return Drag(
        name=thing.full, body=body, point=point, **{key: block.get(key, 0.0) for key in _ACTS["drag"]},
        place=thing.key.place,
    )  # fmt: skip


_BUILD: dict[str, Callable[[Thing, Block, Names], Force | None]] = {
    "spring": _spring, "torsion_spring": _torsion, "wrench": _wrench, "drag": _drag,
}  # fmt: skip
