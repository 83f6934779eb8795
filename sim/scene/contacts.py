"""Contacts: which pairs touch, and by which law."""

from __future__ import annotations

from dataclasses import dataclass

from sim.scene.blocks import BAD, Block, Thing
from sim.scene.events import expand, resolve_name
from sim.scene.names import Unreadable, matching
from sim.scene.nodes import Node, Sequence
from sim.scene.spec import Contact

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
        restitution=block.get("restitution"), rest_speed=block.get("rest_speed"), active=bool(block.get("active")),
        place=thing.key.place,
    )  # fmt: skip


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
