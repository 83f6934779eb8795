"""Contacts: which pairs touch, and by which law."""

from __future__ import annotations

import ast
import dataclasses
from dataclasses import dataclass

from sim.scene.blocks import BAD, Block, Thing
from sim.scene.events import Names, condition_of, expand, resolve_name
from sim.scene.names import Unreadable, matching
from sim.scene.nodes import Node, Sequence
from sim.scene.spec import Action, Contact, Event

WORLD = "world"  # all shapes at rest


@dataclass(frozen=True)
class Touchable:
    """What contacts may name.

    bodies : names, in the scene's order
    still : shapes of the world that have a name, as `world.ground`
    """

    bodies: tuple[str, ...]
    still: tuple[str, ...]


def build_contact(thing: Thing, known: Touchable, unreadable: Unreadable) -> Contact | None:
    """Return a rule of contact, or None if its block cannot be read (reported)."""
    block: Block = thing.value
    if block is BAD:
        return None
    node = block.nodes.get("between")
    if not isinstance(node, Sequence) or len(node.items) != 2:
        if node is not None and not block.bad("between"):
            what = f"expected two sides, found {len(node.items)}" if isinstance(node, Sequence) else "expected a list"
            block.problem("between", what, 'between: ["foot_?", world]')
        return None
    left_out = set(
        expand(block.nodes.get("except"), block.reader, f"{block.path}.except", "body", known.bodies, unreadable)
    )
    sides = []
    for i, item in enumerate(node.items):
        side = [
            name for name in _side(item, block, f"{block.path}.between[{i}]", known, unreadable) if name not in left_out
        ]
        sides.append(tuple(side))
    if all(name.partition(".")[0] == WORLD and name not in known.bodies for side in sides for name in side):
        if sides[0] and sides[1]:
            block.problem("between", "both sides stand still", "name a body")
        return None
    return Contact(
        name=thing.full, between=(sides[0], sides[1]), friction=block.get("friction"),
        restitution=block.get("restitution"), rest_speed=block.get("rest_speed"),
        active=bool(block.get("active")) and not block.wrote("from", "when"),
        place=thing.key.place,
    )  # fmt: skip


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


def _side(node: Node, block: Block, path: str, known: Touchable, unreadable: Unreadable) -> list[str]:
    """Return the bodies and shapes of the world that one side names; report names that mean nothing."""
    reader, found = block.reader, dict[str, None]()
    items = node.items if isinstance(node, Sequence) else [node]
    for i, item in enumerate(items):
        at = f"{path}[{i}]" if isinstance(node, Sequence) else path
        text = reader.text(item, at)
        if text is BAD:
            continue
        if text == WORLD:
            found[WORLD] = None
        elif text.startswith(f"{WORLD}."):
            name = f"{WORLD}.{reader.scope.full(text.partition('.')[2])}"
            near = matching(name, known.still) or resolve_name(name, item, reader, at, "shape", known.still, unreadable)
            found.update(dict.fromkeys(near))
        else:
            full = reader.scope.full(text)
            found.update(dict.fromkeys(resolve_name(full, item, reader, at, "body", known.bodies, unreadable)))
    return list(found)
