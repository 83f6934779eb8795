"""Events: what fires them, and what they do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sim.scene import formula
from sim.scene.blocks import BAD, Block, Reads, Thing
from sim.scene.expressions import ExpressionError
from sim.scene.names import Unreadable, is_pattern, matching, nearest
from sim.scene.nodes import Map, Node, Sequence, is_empty
from sim.scene.spec import Action, Event, Expression, Value, Vec3
from sim.scene.values import Pose, read_value
from sim.scene.vocabulary import definition

_ACTIONS = ("connect", "cut", "touch", "release", "enable", "disable", "set", "impulse", "stop")
_TRIGGERS = ("at", "after", "when", "key")


@dataclass(frozen=True)
class Names:
    """Everything that events may name.

    directory : joints (free bodies' included), bodies and points
    cuttable : joints that may be connected and cut, in the scene's order
    loose : joints that are not connected from the start
    driven : joints with a motion
    controllers : names, in the scene's order
    contacts : names of their rules, in the scene's order
    constraints : names, in the scene's order
    events : names
    drawn : function from a free joint's name to its pose in the drawing
    unreadable : names whose blocks could not be read; what they have is not known
    """

    directory: formula.Directory
    cuttable: tuple[str, ...]
    loose: frozenset[str]
    controllers: tuple[str, ...]
    contacts: tuple[str, ...]
    constraints: tuple[str, ...]
    events: tuple[str, ...]
    drawn: Callable[[str], Pose | None]
    unreadable: Unreadable
    driven: frozenset[str] = frozenset()


def inline_joints(thing: Thing) -> list[Thing]:
    """Return the joints that an event's `connect` makes, with their blocks read."""
    block: Block = thing.value
    node = block.get("connect") if block is not BAD else None
    items = node.items if isinstance(node, Sequence) else [node]
    schema = {"x-things": "joint", "additionalProperties": {"$ref": "#/$defs/joint"}}
    found: list[Thing] = []
    for item in items:
        if isinstance(item, Map):
            path = f"{thing.path}.connect"
            made = thing.value.reader.things(item, schema, path)
            found.extend(made if made is not BAD else [])
    return found


def names_under(node: Node | None, reader: Reads, path: str) -> list[tuple[str, Node, str]]:
    """Return (full name or pattern, node, path) of each name in one name or a list of names."""
    items = node.items if isinstance(node, Sequence) else [node] if node is not None else []
    found: list[tuple[str, Node, str]] = []
    for i, item in enumerate(items):
        item_path = f"{path}[{i}]" if isinstance(node, Sequence) else path
        if isinstance(item, Map):
            continue
        text = reader.text(item, item_path)
        if text is not BAD:
            found.append((reader.scope.full(text), item, item_path))
    return found


def either_of(node: Node | None, reader: Reads, path: str) -> list[tuple[Node, str]]:
    """Return (node, path) of the names in each `either: [...]` that stands in a `cut`; report other maps."""
    found = []
    for i, item in enumerate(node.items if isinstance(node, Sequence) else [node]):
        if isinstance(item, Map):
            at = f"{path}[{i}]" if isinstance(node, Sequence) else path
            block = reader.read(item, definition("either"), at)
            if block is not BAD and block.get("either") is not None:
                found.append((block.nodes["either"], f"{at}.either"))
    return found


def expand(
    node: Node | None, reader: Reads, path: str, kind: str, known: tuple[str, ...], unreadable: Unreadable
) -> list[str]:
    """Return the full names that names and patterns mean; report those that mean nothing."""
    found: dict[str, None] = {}
    for name, at, at_path in names_under(node, reader, path):
        found.update(dict.fromkeys(resolve_name(name, at, reader, at_path, kind, known, unreadable)))
    return list(found)


def joints_meant(thing: Thing, names: Names) -> list[str]:
    """Return the joints that a key of a map means; a free body's joint only by its own name."""
    full = thing.full
    known = names.cuttable if is_pattern(full) else tuple(names.directory.joints)
    return resolve_name(full, thing.key, thing.reader, thing.path, "joint", known, names.unreadable)


def resolve_name(
    name: str,
    node: Node,
    reader: Reads,
    path: str,
    kind: str,
    known: tuple[str, ...],
    unreadable: Unreadable,
) -> list[str]:
    """Return the names that one name or pattern means; report it if there are none."""
    matched = matching(name, known) if is_pattern(name) else [name] if name in known else []
    lost = unreadable.may_match(name) if is_pattern(name) else name in unreadable
    if not matched and not lost:
        what = f"no {kind} matches '{name}'" if is_pattern(name) else f"no {kind} named '{name}'"
        reader.problem(node, path, what, reader.scope.hint(name, known) or f"there are no {kind}s" * (not known))
    return matched


def build_event(thing: Thing, names: Names, made: list[str]) -> Event | None:
    """Return an event, or None if its block cannot be read (reported); `made`: joints that it makes."""
    block: Block = thing.value
    if block is BAD:
        return None
    if not block.wrote(*_TRIGGERS) and not block.unknown:
        thing.problem("nothing fires this event", "give at, after, when or key")
    if block.get("once") is False and not block.wrote("when", "key", "after"):
        block.problem("once", "an event with a time only happens once", "leave 'once' out")
    actions = [action for key in block.nodes if key in _ACTIONS for action in _action(key, block, names, made)]
    return Event(
        name=thing.full,
        at=block.get("at"),
        after=_after(block, names),
        when=condition_of(block, names),
        key=block.get("key"),
        once=bool(block.get("once", True)),
        actions=tuple(actions),
        caption=block.get("caption", ""),
        place=thing.key.place,
    )


def _after(block: Block, names: Names) -> tuple[tuple[str, float], ...]:
    found = []
    for thing in block.get("after") or []:
        name = thing.full
        if name not in names.events:
            if name in names.unreadable:
                continue
            thing.problem(f"no event named '{name}'", thing.reader.scope.hint(name, names.events))
        elif thing.value is not BAD:
            found.append((name, thing.value))
    return tuple(found)


def condition_of(block: Block, names: Names) -> Expression | None:
    """Return what a block's `when` says, or None."""
    node = block.get("when")
    if node is None:
        return None
    reader, path = block.reader, f"{block.path}.when"
    text = reader.text(node, path)
    if text is BAD:
        return None
    try:
        return formula.condition(text, reader.scope.names, names.directory, reader.scope.prefix, node.place)
    except ExpressionError as error:
        reader.fail(node, path, error)
        return None


def _action(kind: str, block: Block, names: Names, made: list[str]) -> list[Action]:
    """Return the action under one key of an event; none if it names nothing."""
    place, reader, path = block.where(kind), block.reader, f"{block.path}.{kind}"
    values: tuple[Any, ...] = ()
    if kind == "stop":
        return [Action(kind="stop", targets=(), place=place)] if block.get("stop") else []
    if block.get(kind) is None:
        return []
    if kind == "cut":
        return _cuts(block, reader, path, names)
    if kind == "connect":
        if is_empty(block.nodes[kind]):
            reader.read(block.nodes[kind], definition("names"), path)
            return []
        if isinstance(block.nodes[kind], Map | Sequence) and not _filled(block.nodes[kind]):
            block.problem(kind, f"nothing to {kind}", "give the name of a joint")
        named = expand(block.nodes[kind], reader, path, "joint", names.cuttable, names.unreadable)
        targets = list(dict.fromkeys([*made, *named]))
    elif kind in ("enable", "disable"):
        known = {"controller": names.controllers, "constraint": names.constraints}
        word = " or ".join(word for word in known if known[word]) or "controller"
        switched = (*names.controllers, *names.constraints)
        targets = expand(block.nodes[kind], reader, path, word, switched, names.unreadable)
    elif kind in ("touch", "release"):
        targets = expand(block.nodes[kind], reader, path, "contact", names.contacts, names.unreadable)
    elif kind == "set":
        settings = read_settings(block.get("set"), names)
        targets, values = list(settings), tuple(settings.values())
    else:
        blows = block.get("impulse")
        found = [_impulse(blow, names) for blow in (blows if isinstance(blows, tuple) else (blows,))]
        targets = [body for body, _ in (blow for blow in found if blow)]
        values = tuple(value for _, value in (blow for blow in found if blow))
    return [Action(kind=kind, targets=tuple(targets), values=values, place=place)] if targets else []


def _cuts(block: Block, reader: Reads, path: str, names: Names) -> list[Action]:
    """Return what an event cuts: what is named, and groups of which what is connected is meant."""
    node, place = block.nodes["cut"], block.where("cut")
    if is_empty(node) or (isinstance(node, Sequence) and not node.items):
        reader.read(node, definition("names"), path)  # which says what is missing
        return []
    parts = [(node, path, False), *((*part, True) for part in either_of(node, reader, path))]
    found = []
    for at, at_path, either in parts:
        targets = tuple(expand(at, reader, at_path, "joint", names.cuttable, names.unreadable))
        found += [Action(kind="cut", targets=targets, either=either, place=place)] if targets else []
    return found


def _filled(node: Node) -> bool:
    return bool(node.items if isinstance(node, Sequence) else node.entries if isinstance(node, Map) else True)


def read_settings(things: list[Thing], names: Names, connected: bool = False) -> dict[str, Value]:
    """Return joint name to Value of `initial` or `set`; a name counts more than a pattern, file order apart.

    connected : only joints that are connected from the start can be meant
    """
    found: dict[str, Value] = {}
    for thing in sorted(things, key=lambda thing: not is_pattern(thing.name)):
        for joint in joints_meant(thing, names):
            if connected and joint in names.loose:
                if not is_pattern(thing.name):
                    thing.problem(f"joint '{joint}' is not connected at the start")
                continue
            if not connected and joint in names.driven:
                if not is_pattern(thing.name):
                    what = f"joint '{joint}' is driven: its motion says where it is"
                    thing.problem(what, "leave it out, or change its 'motion'")
                continue
            kind = names.directory.joints[joint]
            value = read_value(thing.value, thing.reader, thing.path, kind, names.drawn(joint))
            if value is not None:
                found[joint] = value
    return found


def _impulse(block: Block, names: Names) -> tuple[str, tuple[Vec3, Vec3, str | None]] | None:
    """Return body and (linear, angular, point) of one blow."""
    if block.get("body") is None:
        return None
    body = block.reader.scope.full(block.get("body"))
    if body not in names.directory.bodies:
        if body not in names.unreadable:
            hint = block.reader.scope.hint(body, names.directory.bodies)
            block.problem("body", f"no body named '{body}'", hint)
        return None
    if not block.wrote("linear", "angular"):
        block.problem(None, "a blow of nothing", "give linear or angular")
    point = block.get("point")
    if point is not None and f"{body}.{point}" not in names.directory.points and body not in names.unreadable:
        known = [p.rpartition(".")[2] for p in names.directory.points if p.rpartition(".")[0] == body]
        block.problem("point", f"no point named '{point}' on '{body}'", nearest(point, known))
    zero = (0.0, 0.0, 0.0)
    at = None if point == "com" else point  # where a blow acts anyway
    return body, (block.get("linear", zero), block.get("angular", zero), at)
