"""Forces of a scene: their points found, their numbers read."""

from __future__ import annotations

from sim.scene.blocks import BAD, Block, Thing
from sim.scene.events import Names, resolve_name
from sim.scene.spec import Force


def build_force(thing: Thing, names: Names) -> Force | None:
    """Return a force, or None if its block cannot be read (reported)."""
    block: Block = thing.value
    if block is BAD:
        return None
    ends = [_end(block, key, names) for key in ("from", "to")]
    if None not in ends and ends[0] == ends[1]:
        block.problem("to", f"'{ends[0]}' is both ends of this force", "give two points")
    if not block.wrote("stiffness", "damping") and not block.unknown and not block.bad("type"):
        thing.problem("this spring does nothing", "give stiffness, damping or both")
    if block.bad("stiffness", "damping", "length") or None in ends:
        return None
    return Force(
        name=thing.full, ends=(str(ends[0]), str(ends[1])), stiffness=block.get("stiffness", 0.0),
        damping=block.get("damping", 0.0), length=block.get("length"), place=thing.key.place,
    )  # fmt: skip


def _end(block: Block, key: str, names: Names) -> str | None:
    """Return the full name of a body or point; None where there is none (reported, but for a missing key)."""
    text = block.get(key)
    if text is None:
        return None
    scope, directory = block.reader.scope, names.directory
    name = text if text.startswith("world.") else scope.full(text)
    known = (*directory.bodies, *directory.points)
    found = resolve_name(
        name, block.nodes[key], block.reader, f"{block.path}.{key}", "body or point", known, names.unreadable
    )
    return found[0] if len(found) == 1 else None
