"""Contacts: which pairs touch, or which points a rope ties, and by which law."""

from __future__ import annotations

import ast
import dataclasses
from dataclasses import dataclass
from typing import Any

from sim.scene.blocks import BAD, Block, Thing
from sim.scene.names import Unreadable, is_pattern
from sim.scene.nodes import Node, Sequence
from sim.scene.read_events import Names, condition_of, expand, resolve_name
from sim.scene.read_forces import end_of
from sim.scene.spec import Action, Contact, Event, Soft

WORLD = "world"  # all shapes at rest


@dataclass(frozen=True)
class Touchable:
    """What contacts may name.

    bodies : names, in the scene's order
    still : shapes of the world that have a name, as `world.ground`
    bare : bodies without shapes, and `world` if it has none
    """

    bodies: tuple[str, ...]
    still: tuple[str, ...]
    bare: frozenset[str] = frozenset()


def build_contact(thing: Thing, known: Touchable, names: Names) -> Contact | None:
    """Return a rule of contact, or None if its block cannot be read (reported)."""
    block: Block = thing.value
    if block is BAD:
        return None
    if block.wrote("rope"):
        return _rope(thing, block, names)
    if block.wrote("length"):
        block.problem("length", "only a rope has a length", "rope: [world.hook, ball.eye]")
    node, unreadable = block.nodes.get("between"), names.unreadable
    if node is None or block.bad("between"):
        return None
    if not isinstance(node, Sequence) or len(node.items) != 2:
        found = str(len(node.items)) if isinstance(node, Sequence) else "one name"
        block.problem("between", f"expected two sides, found {found}", 'between: ["foot_?", world]')
        return None
    path = f"{block.path}.between"
    named = [_side(item, block, f"{path}[{i}]", known, unreadable) for i, item in enumerate(node.items)]
    out = expand(block.nodes.get("except"), block.reader, f"{block.path}.except", "body", known.bodies, unreadable)
    sides = [tuple(name for name in side or () if name not in out) for side in named]
    for i, side in enumerate(named):
        if side is not None and not sides[i]:
            what = "'except' leaves nothing of this side" if side else "this side names nothing"
            block.problem("between", what, "name a body, a pattern, or world", item=i)
    if all(sides):
        _check_pairs(block, sides[0], sides[1], known)
    said = block.get("friction")
    friction, rest, combine = _friction(said) if isinstance(said, Block) else (said, None, "geometric")
    return Contact(
        name=thing.full, between=(sides[0], sides[1]), rope=None, length=None, friction=friction, rest=rest,
        combine=combine, soft=_soft(block), patch_radius=block.get("patch_radius") or 0.0,
        rolling_radius=block.get("rolling_radius") or 0.0, **_whatever_touches(thing, block),
    )  # fmt: skip


def _soft(block: Block) -> Soft | None:
    """Return how the rule gives way, or None where it is rigid."""
    said = block.get("soft")
    if not isinstance(said, Block):
        return None
    for key in ("restitution", "rest_speed"):
        if block.wrote(key):
            block.problem(key, f"'soft' and '{key}' at once", "what is soft gives back by its dissipation")
    return Soft(stiffness=said.get("stiffness"), dissipation=said.get("dissipation"))


def _rope(thing: Thing, block: Block, names: Names) -> Contact | None:
    """Return the rule of a rope, or None if its ends cannot be read (reported)."""
    for key in ("except", "friction", "soft", "patch_radius", "rolling_radius"):
        if block.wrote(key):
            block.problem(key, f"a rope has no '{key}'", "it ties two points, and pulls along the line between them")
    node = block.nodes["rope"]
    if block.bad("rope") or not isinstance(node, Sequence):
        return None
    ends = [end_of(item, block.reader, f"{block.path}.rope[{i}]", names) for i, item in enumerate(node.items)]
    if ends[0] is None or ends[1] is None:
        return None
    bodies = {end if end in names.directory.bodies else end.rpartition(".")[0] for end in ends if end}
    if len(bodies) == 1:
        held = "stand still" if bodies == {WORLD} else f"are of '{bodies.pop()}'"
        block.problem(
            "rope", f"both ends {held}: their distance does not change", "tie two bodies, or one to the world"
        )
    return Contact(
        name=thing.full, between=((), ()), rope=(ends[0], ends[1]), length=block.get("length"), friction=0.0,
        rest=None, combine="geometric", **_whatever_touches(thing, block),
    )  # fmt: skip


def _friction(said: Block) -> tuple[float | None, float | None, str]:
    """Return the coefficient in motion and at rest, None where the shapes say them, and how these are combined."""
    rest, motion = said.get("rest"), said.get("motion")
    if said.wrote("combine"):
        for key in ("rest", "motion"):
            if said.wrote(key):
                said.problem(key, f"'combine' and '{key}' at once; expected the coefficients, or how to combine them")
        return None, None, said.get("combine") or "geometric"
    for key, other in (("rest", "motion"), ("motion", "rest")):
        if said.absent(key):
            what = f"key '{key}' is missing" if said.wrote(other) else "an empty map"
            said.problem(None, what, "friction: {rest: 0.6, motion: 0.4}")
            return None, None, "geometric"
    if rest is not None and motion is not None and rest < motion:
        what = f"{rest:g} at rest is less than {motion:g} in motion"
        said.problem("rest", what, "what begins to slide would stop at once")
    return motion, rest, "geometric"


def _whatever_touches(thing: Thing, block: Block) -> dict[str, Any]:
    """Return what all rules say."""
    return {
        "restitution": block.get("restitution"), "rest_speed": block.get("rest_speed"),
        "active": bool(block.get("active")) and not block.wrote("from", "when"), "place": thing.key.place,
    }  # fmt: skip


def build_switches(thing: Thing, names: Names) -> list[Event]:
    """Return the events that `from`, `until` and `when` of a rule stand for."""
    block: Block = thing.value
    if block is BAD:
        return []
    if block.wrote("when") and block.wrote("from", "until"):
        block.problem("when", "'when' beside a time", "give the time inside: t > 1 s and ...")
    begins, ends = block.get("from"), block.get("until")
    if begins is not None and ends is not None and begins >= ends:
        block.problem("until", f"the rule ends at {ends:g} s, before it begins at {begins:g} s")
    found = []
    holds = condition_of(block, names)
    lifted = None
    if holds is not None:
        lifted = dataclasses.replace(holds, text=f"not ({holds.text})", tree=ast.UnaryOp(ast.Not(), holds.tree))
    for kind, word, at, when in (("touch", "begins", begins, holds), ("release", "ends", ends, lifted)):
        if at is not None or when is not None:
            action = Action(kind=kind, targets=(thing.full,), place=thing.key.place)
            found.append(Event(
                name=f"{thing.full} {word}", at=at, after=(), when=when, key=None, once=when is None, actions=(action,),
                caption="", place=thing.key.place,
            ))  # fmt: skip
    return found


def _check_pairs(block: Block, first: tuple[str, ...], second: tuple[str, ...], known: Touchable) -> None:
    """Report a rule of which no pair can ever touch."""
    bodies = {name for name in (*first, *second) if name in known.bodies}
    if not bodies:
        block.problem("between", "both sides stand still", "name a body on one of them")
    elif len(bodies) == 1 and set(first) == set(second):
        what = f"'{first[0]}' on both sides: a body does not touch itself"
        block.problem("between", what, "name another body, or world")


def _side(node: Node, block: Block, path: str, known: Touchable, unreadable: Unreadable) -> list[str] | None:
    """Return the bodies and shapes of the world that one side names, None if some of it means nothing (reported)."""
    reader, found, clear = block.reader, dict[str, None](), True
    items = node.items if isinstance(node, Sequence) else [node]
    for i, item in enumerate(items):
        at = f"{path}[{i}]" if isinstance(node, Sequence) else path
        text = reader.text(item, at)
        names = [] if text is BAD else _named(text, item, block, at, known, unreadable)
        if names and all(name in known.bare for name in names):
            reader.problem(item, at, f"'{text}' has no shapes", "what touches is a shape: give it one")
        clear = clear and bool(names)
        found.update(dict.fromkeys(names))
    return list(found) if clear else None


def _named(text: str, node: Node, block: Block, path: str, known: Touchable, unreadable: Unreadable) -> list[str]:
    """Return what one name or pattern means; report it if that is nothing."""
    reader = block.reader
    if text == WORLD:
        return [WORLD]
    if not text.startswith(f"{WORLD}."):
        full = reader.scope.full(text)
        if full not in known.bodies and reader.scope.full(f"{WORLD}.{text}") in known.still and full not in unreadable:
            reader.problem(node, path, f"no body named '{full}'", f"the shape of the world: {WORLD}.{text}")
            return []
        return resolve_name(reader.scope.full(text), node, reader, path, "body", known.bodies, unreadable)
    name = reader.scope.full(text)
    lost = unreadable.may_match(name) if is_pattern(name) else name in unreadable
    if not known.still and not lost:
        reader.problem(node, path, f"no world shape named '{name}'", "give the shape a name: {name: ground, plane: {}}")
        return []
    return resolve_name(name, node, reader, path, "world shape", known.still, unreadable)
