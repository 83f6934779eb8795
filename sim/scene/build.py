"""From the draft to the nouns of a scene: each is built once all names are known."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from sim.joints import JOINT_TYPES
from sim.scene import read_events as event_builder
from sim.scene.blocks import BAD, Block, Thing
from sim.scene.colors import color_of
from sim.scene.controllers import build_controller
from sim.scene.draft import Draft
from sim.scene.findings import Findings
from sim.scene.formula import Directory
from sim.scene.mirror import Mirror
from sim.scene.names import Unreadable, is_pattern, matching
from sim.scene.read_bodies import build_body
from sim.scene.read_constraints import Known, build_constraint
from sim.scene.read_contacts import Touchable, build_contact, build_switches
from sim.scene.read_events import Names, either_of, names_under
from sim.scene.read_forces import build_force
from sim.scene.read_joints import Bodies, build_joint, differences
from sim.scene.read_shapes import build_shapes, placed
from sim.scene.reading import Reader, default
from sim.scene.rotation import IDENTITY, multiply, rotate
from sim.scene.spec import (
    Body,
    Constraint,
    Contact,
    ControllerUse,
    Event,
    Force,
    Joint,
    Part,
    Quat,
    Shape,
    Value,
    Vec3,
    World,
)
from sim.scene.values import Pose, read_value
from sim.scene.vocabulary import definition

_ORIGIN: Vec3 = (0.0, 0.0, 0.0)


class Builder:
    """Builds the nouns of one scene, in the order in which they need one another."""

    def __init__(self, draft: Draft, findings: Findings, trust: bool):
        self.draft = draft
        self.findings = findings
        self.trust = trust
        self.placements = self._placements()
        self.mirrors = self._mirrors()
        self.bodies: dict[str, Body] = {}
        self.joints: dict[str, Joint] = {}
        self.types: dict[str, str] = {}  # of every joint whose type can be read, built or not
        self.children: dict[str, str] = {}  # joint to child, of every joint that says so
        self.loose: set[str] = set()  # joints that are not connected from the start
        self.unreadable: set[str] = set()  # bodies and joints
        self.made: dict[str, list[str]] = {}  # event to the joints that it makes
        self.still: tuple[Shape, ...] = ()  # of the world

    # ---- parts and the world ----

    def _placements(self) -> list[Pose]:
        """Return where each part's origin and axes are in the scene's coordinates."""
        placements: list[Pose] = []
        for part in self.draft.parts:
            position, orientation = (_ORIGIN, IDENTITY) if part.parent < 0 else placements[part.parent]
            placements.append(
                (_placed_point(part.position, position, orientation), multiply(orientation, part.orientation))
            )
        return placements

    def _mirrors(self) -> list[list[Mirror]]:
        """Return the mirrors of each part."""
        return [
            [
                Mirror("xyz".index(axis), {pair.name: pair.value for pair in pairs}, part.prefix)
                for pairs, axis in zip(part.mirrors, part.mirror_planes, strict=True)
            ]
            for part in self.draft.parts
        ]

    def world(self) -> World:
        """Return the world: gravity of the scene's file, points and shapes of all files."""
        gravity = default(definition("world")["properties"]["gravity"])
        points: dict[str, Vec3] = {}
        twins: dict[str, Vec3] = {}
        shapes: list[Shape] = []
        for block in self.draft.worlds:
            scope = block.reader.scope
            position, orientation = self.placements[scope.part]
            if self.draft.parts[scope.part].parent < 0:
                gravity = block.get("gravity", gravity)
            for point in block.get("points") or []:
                value = _ORIGIN if point.value is BAD else point.value
                if point.full in points:
                    point.problem(f"a second point named '{point.full}'")
                points[point.full] = _placed_point(value, position, orientation)
                for mirror in self.mirrors[scope.part]:
                    twins[mirror.name(point.full)] = _placed_point(mirror.vector(value), position, orientation)
            for shape_block in block.get("shapes") or ():
                name = scope.full(shape_block.get("name")) if shape_block.get("name") else ""
                if name and name in {other.name for other in shapes}:
                    shape_block.problem("name", f"a second shape of the world named '{name}'")
                built = build_shapes([shape_block], color_of(block), still=True)
                if not built:
                    self.unreadable.add(f"world.{name}")
                parts = [part for solid in built for part in solid.parts]
                shapes += [dataclasses.replace(placed(part, position, orientation), name=name) for part in parts]
        self.still = tuple(shapes)
        return World(gravity=gravity, points={**twins, **points}, shapes=self.still)

    def parts(self, names: Names) -> tuple[Part, ...]:
        """Return the files of the scene, with the poses that including files give."""
        built = []
        for part in self.draft.parts:
            pose: dict[str, Value] = {}
            for thing in sorted(part.pose, key=lambda thing: not is_pattern(thing.name)):
                # The keys of a pose are names of the included file.
                scope = dataclasses.replace(thing.reader.scope, prefix=part.prefix)
                inside = dataclasses.replace(thing, reader=Reader(scope, self.findings))
                for joint in event_builder.joints_meant(inside, names):
                    kind = names.directory.joints[joint]
                    value = read_value(thing.value, thing.reader, thing.path, kind, names.drawn(joint))
                    if value is not None and value.rate is not None:
                        thing.problem("a pose has no rates", "rates belong under initial")
                    elif value is not None and value.near is not None:
                        thing.problem("a pose has no guesses", "'near' belongs under initial")
                    elif value is not None:
                        pose[joint] = value
            built.append(
                Part(
                    prefix=part.prefix, file=part.file, parent=part.parent, position=part.position,
                    orientation=part.orientation, pose=pose,
                )
            )  # fmt: skip
        return tuple(built)

    # ---- bodies and joints ----

    def build_bodies(self) -> None:
        """Build all bodies, and their twins."""
        for thing in _unique(self.draft.things["bodies"], "body"):
            if thing.name == "world":
                thing.problem("a body cannot be called 'world'", "what stands still is written under the key world")
                continue
            mirrors = self.mirrors[thing.reader.scope.part]
            names = [thing.full, *(mirror.name(thing.full) for mirror in mirrors)]
            body = build_body(thing)
            if body is None or thing.value.bad("points"):
                self.unreadable.update(names)
            if body is None:
                continue
            for mirror in mirrors:
                if mirror.name(thing.full) == thing.full:
                    body = mirror.with_points(body)
            self.bodies[thing.full] = body
            for mirror in mirrors:
                if mirror.name(thing.full) != thing.full:
                    self._twin(self.bodies, mirror.body(body), thing, "body")

    def _twin(self, built: dict[str, Any], twin: Any, thing: Thing, kind: str) -> None:
        """Add the twin of a body, joint or constraint, unless something of that name is written."""
        written = {other.full for other in self.draft.things["bodies" if kind == "body" else f"{kind}s"]}
        if twin.name in built or twin.name in written:
            thing.problem(f"its mirror image '{twin.name}' is there already", "remove one of them, or the mirror")
        else:
            built[twin.name] = twin

    def build_joints(self, world: World) -> None:
        """Build all joints: those written, their twins, and those that events make."""
        points = {name: frozenset(body.points) for name, body in self.bodies.items()}
        for thing in self.draft.things["bodies"]:  # a point that cannot be read still has a name
            block = thing.value
            if thing.full in points and block is not BAD:
                points[thing.full] |= {point.name for point in block.get("points") or []}
        points.update({name: frozenset[str]() for name in self.unreadable if name not in points})
        points["world"] = frozenset(world.points)
        bodies = Bodies(points, self._unreadable())
        for thing in _unique(self.draft.things["joints"], "joint"):
            self._joint(thing, bodies, by_event=False)
        for event in self.draft.things["events"]:
            made = event_builder.inline_joints(event)
            self.made[event.full] = []
            for thing in made:
                first = next((other for other in self.made if thing.full in self.made[other]), "")
                if first:
                    self._made_again(thing, bodies, first)
                elif thing.full in self.types or thing.full in self.unreadable:
                    thing.problem(f"a second joint named '{thing.full}'")
                    continue
                else:
                    self._joint(thing, bodies, by_event=True)
                self.made[event.full].append(thing.full)

    def _joint(self, thing: Thing, bodies: Bodies, by_event: bool) -> None:
        """Build one joint and its twins, and note what is known of it even if it cannot be built."""
        block, joint = thing.value, build_joint(thing, bodies, by_event)
        readable = block is not BAD and block.get("type") is not None
        mirrors = [] if by_event else self.mirrors[thing.reader.scope.part]
        for mirror in (None, *mirrors):
            name = mirror.name(thing.full) if mirror else thing.full
            if mirror and name == thing.full:
                continue
            if not readable:
                self.unreadable.add(name)
                continue
            self.types[name] = block.get("type")
            child = thing.reader.scope.full(block.get("child", ""))
            self.children[name] = mirror.name(child) if mirror else child
            if by_event or not block.get("connected", True):
                self.loose.add(name)
            if joint is not None and mirror is None:
                self.joints[name] = joint
            elif joint is not None and mirror is not None:
                twin = mirror.joint(joint)
                ends = (twin.parent, twin.child)
                missing = [body for body in ends if body not in bodies.points and body not in bodies.unreadable]
                if missing:
                    what = f"its mirror image '{name}' needs a body named '{missing[0]}'"
                    thing.problem(what, thing.reader.scope.hint(missing[0], bodies.points))
                else:
                    self._twin(self.joints, twin, thing, "joint")

    def _made_again(self, thing: Thing, bodies: Bodies, first: str) -> None:
        """Report a joint that an event makes by the name of one that another event makes, but otherwise."""
        joint, again = self.joints.get(thing.full), build_joint(thing, bodies, by_event=True)
        differ = [] if joint is None or again is None else differences(joint, again)
        if differ:
            what = f"joint '{thing.full}' is made otherwise here than by event '{first}': {', '.join(differ)}"
            thing.problem(what, "give it another name, or connect it by its name")

    def check_mirrors(self) -> None:
        """Report mirrors that mirror nothing."""
        for part, mirrors in zip(self.draft.parts, self.mirrors, strict=True):
            things = [t for kind in ("bodies", "joints", "constraints") for t in self.draft.things[kind]]
            own = [t.full for t in things if self.draft.parts[t.reader.scope.part] is part]
            for pairs, mirror in zip(part.mirrors, mirrors, strict=True):
                for pair in pairs:
                    alone = Mirror(mirror.axis, {pair.name: pair.value}, mirror.prefix)
                    if all(alone.name(name) == name for name in own):
                        pair.problem(f"no name of this file has the part '{pair.name}'", "as in knee_l, for l")

    # ---- names ----

    def names(self, world: World) -> Names:
        """Return everything that poses, events and controllers may name."""
        held = {child for joint, child in self.children.items() if joint not in self.loose}
        freed = {self.children.get(joint) for joint in self._cut_names()}
        free = {name: "free" for name in self.bodies if name not in held or name in freed}
        for name in free:
            if name in self.types and name not in held:
                place = self.joints[name].place if name in self.joints else None
                what = f"joint '{name}' has the name of a body that no joint holds, whose free joint is called so"
                self.findings.add(place, f"joints.{name}", what, "rename the joint")
        points = [f"{body.name}.{point}" for body in self.bodies.values() for point in body.points]
        points += [f"world.{name}" for name in world.points] + [f"{name}.com" for name in self.bodies]
        joints = {**self.types, **{name: kind for name, kind in free.items() if name not in self.types}}
        unreadable = self._unreadable()
        contacts = tuple(thing.full for thing in self.draft.things["contacts"])
        constraints = self._constraint_types()
        return Names(
            directory=Directory(
                joints, tuple(self.bodies), tuple(points), unreadable, self._springs(), contacts, constraints
            ),
            cuttable=tuple(self.types),
            loose=frozenset(self.loose),
            controllers=tuple(thing.full for thing in self.draft.things["controllers"]),
            contacts=contacts,
            constraints=tuple(constraints),
            events=tuple(thing.full for thing in self.draft.things["events"]),
            drawn=self._drawn,
            unreadable=unreadable,
            driven=frozenset(name for name, joint in self.joints.items() if joint.motion),
        )

    def _unreadable(self) -> Unreadable:
        return Unreadable(frozenset(self.unreadable), frozenset(self.findings.lost))

    def _constraint_types(self) -> dict[str, str]:
        """Return the type of every constraint and twin; nothing for one that cannot be read."""
        found: dict[str, str] = {}
        for thing in self.draft.things["constraints"]:
            kind = "" if thing.value is BAD else thing.value.get("type", "")
            twins = (mirror.name(thing.full) for mirror in self.mirrors[thing.reader.scope.part])
            found.update(dict.fromkeys((thing.full, *twins), kind))
        return found

    def _springs(self) -> tuple[str, ...]:
        """Return the names of springs between points, and of forces that cannot be read: they may be meant."""
        things = self.draft.things["forces"]
        return tuple(t.full for t in things if t.value is BAD or t.value.get("type") in ("spring", None))

    def _cut_names(self) -> set[str]:
        """Return the joints that some event cuts: their children may become free."""
        found: set[str] = set()
        for thing in self.draft.things["events"]:
            block = thing.value
            if block is BAD or block.get("cut") is None:
                continue
            node, path = block.nodes["cut"], f"{thing.path}.cut"
            for at, at_path in [(node, path), *either_of(node, block.reader, path)]:
                for name, _, _ in names_under(at, block.reader, at_path):
                    found.update(matching(name, self.types) if is_pattern(name) else {name})
        return found

    def _drawn(self, joint: str) -> Pose | None:
        """Return the pose of a free joint in the drawing; None where another body is its parent."""
        written = self.joints.get(joint)
        body = self.bodies.get(written.child if written else joint)
        if body is None or (
            written is not None and (not JOINT_TYPES[written.type].own_frames or written.parent != "world")
        ):
            return None
        place = written.position if written is not None and body.origin is None else body.origin
        position, orientation = self.placements[body.part]
        return _placed_point(place or body.com, position, orientation), orientation

    # ---- what happens ----

    def initial(self, names: Names) -> dict[str, Value]:
        """Return the coordinates and rates at the start; the scene's own count more than those of its parts."""
        held = {child: joint for joint, child in self.children.items() if joint not in self.loose}
        things = []
        for thing in self.draft.things["initial"]:
            if thing.full not in held or thing.full in self.types or thing.full not in self.bodies:
                things.append(thing)
            else:
                what = f"body '{thing.full}' is held by joint '{held[thing.full]}': it has no free joint at the start"
                thing.problem(what, f"did you mean '{held[thing.full]}'?")
        found: dict[str, Value] = {}
        for depth in sorted({self._depth(thing) for thing in things}, reverse=True):
            level = [thing for thing in things if self._depth(thing) == depth]
            found.update(event_builder.read_settings(level, names, connected=True))
        return found

    @staticmethod
    def _depth(thing: Thing) -> int:
        """Return how many files lie around the one that a thing is written in."""
        return len(thing.reader.scope.chain)

    def events(self, names: Names) -> list[Event]:
        """Return the events in file order."""
        things = _unique(self.draft.things["events"], "event")
        built = [event_builder.build_event(thing, names, self.made.get(thing.full, [])) for thing in things]
        return [event for event in built if event is not None]

    def forces(self, names: Names) -> list[Force]:
        """Return the forces in file order."""
        built = [build_force(thing, names) for thing in _unique(self.draft.things["forces"], "force")]
        return [force for force in built if force is not None]

    def contacts(self, names: Names) -> tuple[list[Contact], list[Event]]:
        """Return the rules of contact in file order, and the events that switch them by time and condition."""
        bodies = [thing for thing in self.draft.things["bodies"] if thing.value is not BAD]
        shaped = {thing.key.place for thing in bodies if thing.value.wrote("shapes")}
        bare = {name for name, body in self.bodies.items() if not body.shapes and body.place not in shaped}
        if not any(block.wrote("shapes") for block in self.draft.worlds):
            bare.add("world")
        still = tuple(dict.fromkeys(f"world.{shape.name}" for shape in self.still if shape.name))
        known = Touchable(tuple(self.bodies), still, frozenset(bare))
        things = _unique(self.draft.things["contacts"], "contact")
        built = [build_contact(thing, known, names) for thing in things]
        switches = [event for thing in things for event in build_switches(thing, names)]
        return [contact for contact in built if contact is not None], switches

    def constraints(self, names: Names) -> tuple[Constraint, ...]:
        """Return the constraints in file order, each with its twins."""
        still = {f"world.{shape.name}": shape for shape in self.still if shape.name}
        built: dict[str, Constraint] = {}
        for thing in _unique(self.draft.things["constraints"], "constraint"):
            if thing.full in names.controllers:
                what = f"a controller is called '{thing.full}', too"
                thing.problem(what, "rename one of them: enable and disable would mean both")
            part = thing.reader.scope.part
            constraint = build_constraint(thing, Known(names, still, *self.placements[part]))
            if constraint is None:
                continue
            built[thing.full] = constraint
            for mirror in self.mirrors[part]:
                if mirror.name(thing.full) != thing.full:
                    self._mirror_constraint(built, constraint, mirror, thing, names)
        return tuple(built.values())

    def _mirror_constraint(
        self, built: dict[str, Constraint], constraint: Constraint, mirror: Mirror, thing: Thing, names: Names
    ) -> None:
        """Add the twin of a constraint; report it if what it needs has no twin."""
        bodies = {body for body in (constraint.body, constraint.on) if body not in ("", "world")}
        needs = [("body", mirror.name(body), names.directory.bodies) for body in sorted(bodies)]
        needs += [("point", mirror.name(point), names.directory.points) for point in [constraint.point] if point]
        needs += [("joint", mirror.name(joint), names.cuttable) for joint in constraint.joints]
        for kind, name, known in needs:
            if name not in known:
                if name not in names.unreadable and name.rpartition(".")[0] not in names.unreadable:
                    what = f"its mirror image '{mirror.name(thing.full)}' needs a {kind} named '{name}'"
                    thing.problem(what, thing.reader.scope.hint(name, known))
                return
        if any(self._unread(name) or self._unread(mirror.name(name)) for name in constraint.joints):
            return
        said: Block = thing.value
        still = constraint.on in ("", "world")
        ground = frozenset(key for key in ("normal", "level", "along") if not still or said.wrote(key))
        twin = mirror.constraint(constraint, self.joints, ground)
        if twin.ratio == 0.0 != constraint.ratio:
            what = f"its mirror image '{twin.name}' is no {constraint.type} of the same freedoms"
            thing.problem(what, "write both by hand, under names that no side is part of")
            return
        self._twin(built, twin, thing, "constraint")

    def _unread(self, joint: str) -> bool:
        """Return whether a joint, or its axis, could not be read (reported)."""
        return joint not in self.joints or self.joints[joint].axis is None

    def controllers(self, names: Names) -> list[ControllerUse]:
        """Return the controllers in file order."""
        things = _unique(self.draft.things["controllers"], "controller")
        built = [build_controller(thing, names, self.trust) for thing in things]
        return [use for use in built if use is not None]


def _placed_point(p: Vec3, position: Vec3, orientation: Quat) -> Vec3:
    x, y, z = rotate(orientation, p)
    return (x + position[0], y + position[1], z + position[2])


def _unique(things: Iterable[Thing], kind: str) -> list[Thing]:
    """Return the things, each name once; report the others."""
    found: dict[str, Thing] = {}
    for thing in things:
        if thing.full in found:
            first = found[thing.full].key.place
            same = thing.key.place.file == first.file
            where = f"the first is in line {first.line}" if same else f"the first is at {first}"
            thing.problem(f"a second {kind} named '{thing.full}'", where)
        else:
            found[thing.full] = thing
    return list(found.values())
