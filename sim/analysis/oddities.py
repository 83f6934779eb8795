"""What a scene may say and nobody means: degrees without a unit, lengths in the wrong one, bodies that are forgotten.

Each is a warning; where a scene may well be meant so, nothing is said.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from sim.joints import JOINT_TYPES
from sim.mechanism.frames import Pose
from sim.mechanism.mechanism import Mechanism
from sim.mechanism.model import Model
from sim.scene.problem import Place, Problem
from sim.scene.spec import Drag, Joint, Scene, Shape, Spring, Value, Wrench

TURN = 2.0 * math.pi * (1.0 + 1e-9)
NEAR_HALF = math.radians(160.0)  # of a rotation in space: from here on its vector may soon change its sign
HUGE = 10.0  # of the distances in a scene: a shape with a larger radius hides all of it
AWAY = 2.0  # of the size of both bodies: a joint that is farther from either turns them about nothing
_UNIT = re.compile(r"(?<![A-Za-z_])(deg|rad|mrad|pi|asin|acos|atan2)(?![A-Za-z_])")


def oddities(model: Model, mechanism: Mechanism) -> list[Problem]:
    """Return warnings of a scene whose start was last looked at."""
    scene = model.scene
    return [
        *_beyond_a_turn(scene), *_limits_in_degrees(scene), *_about_half_a_turn(model, mechanism),
        *_huge_shapes(model), *_far_joints(model), *_forgotten(scene),
        *_never_touching(model),
    ]  # fmt: skip


def _warning(where: Place | None, path: str, what: str, hint: str) -> Problem:
    return Problem(where=where, path=path, what=what, hint=hint, severity="warning")


# --- angles -------------------------------------------------------------------------------------------


def _beyond_a_turn(scene: Scene) -> Iterator[Problem]:
    """Hinges that stand, or are drawn to, more than a turn from zero."""
    types = {joint.name: joint.type for joint in scene.joints}
    hint = "a number without a unit is in radians: 90 degrees are '90 deg'"
    for where, path, joint, values in _angles(scene):
        for k in JOINT_TYPES[types.get(joint, "free")].angles:
            if k < len(values) and abs(values[k]) > TURN:
                found = f"{values[k]:.6g} rad are {abs(values[k]) / (2 * math.pi):.3g} turns of {joint!r}"
                yield _warning(where, path, found, hint)


def _angles(scene: Scene) -> Iterator[tuple[Place | None, str, str, tuple[float, ...]]]:
    """Yield places, paths, joints and coordinates that a scene gives."""
    named: list[tuple[str, Mapping[str, Value]]] = [("initial", scene.initial)]
    named += [("pose", part.pose) for part in scene.parts]
    for event in scene.events:
        for action in event.actions:
            if action.kind == "set":
                named.append((f"events.{event.name}.set", dict(zip(action.targets, action.values, strict=True))))
    for path, values in named:
        for joint, value in values.items():
            if value.coordinate is not None:
                yield value.place, f"{path}.{joint}", joint, value.coordinate
    for spec in scene.joints:
        if any(spec.stiffness):
            yield spec.places.get("rest", spec.place), f"joints.{spec.name}.rest", spec.name, spec.rest
    for use in scene.controllers:
        target = use.parameters.get("target") if use.type == "pd" else None
        for joint in use.parameters.get("joints", ()) if target is not None else ():
            given = target.get(joint) if isinstance(target, Mapping) else target
            numbers = given if isinstance(given, tuple) else (given,)
            if all(isinstance(x, float) for x in numbers):
                yield use.places.get("target", use.place), f"controllers.{use.name}.target", joint, numbers


def _limits_in_degrees(scene: Scene) -> Iterator[Problem]:
    """Limits of angles beyond a turn that are written without a unit."""
    for joint in scene.joints:
        kind = JOINT_TYPES[joint.type]
        turning = (0,) if kind.limits == "ball" else kind.angles
        for k, (low, high) in enumerate(joint.limits.ranges if joint.limits else ()):
            place = joint.places.get("limits", joint.place)
            largest = max((abs(x) for x in (low, high) if math.isfinite(x)), default=0.0)
            if k in turning and largest > TURN and not _UNIT.search(_text_at(scene, place)):
                yield _warning(
                    place, f"joints.{joint.name}.limits",
                    f"{low:g} to {high:g} rad are {largest / (2 * math.pi):.3g} turns: without a unit they are radians",
                    f"write {low:g} deg, {high:g} deg if degrees are meant",
                )  # fmt: skip


def _text_at(scene: Scene, place: Place) -> str:
    """Return the text that begins at a place, to the end of its list, or of its line where no list ends after it."""
    lines = scene.sources.get(place.file, "").splitlines()
    rest = "\n".join(lines[place.line - 1 :])[place.column - 1 :]
    return rest[: rest.find("]") + 1] if "]" in rest else rest.partition("\n")[0]


def _about_half_a_turn(model: Model, mechanism: Mechanism) -> Iterator[Problem]:
    """Springs of spherical joints, by controllers too, that begin about half a turn from where they are free."""
    scene, coordinate = model.scene, mechanism.work.coordinate
    present = {int(j) for j in mechanism.structure.carrier[1:]} | set(mechanism.structure.loops)
    spherical = {joint.name for joint in scene.joints if JOINT_TYPES[joint.type].limits == "ball"}
    hint = "at half a turn the direction of a rotation jumps: let it be drawn nearer to where it is held"

    def away(joint: str, target: np.ndarray) -> float:
        j = model.joint(joint)
        return _angle_between(coordinate[model.columns_of(j)], target) if j in present else 0.0

    for use in scene.controllers:
        target = use.parameters.get("target") if use.type == "pd" else None
        for joint in use.parameters.get("joints", ()) if target is not None else ():
            given: Any = target.get(joint) if isinstance(target, Mapping) else target
            vector = np.zeros(3) if given in (0.0, (0.0,)) else np.array(given) if isinstance(given, tuple) else None
            if joint in spherical and vector is not None and vector.shape == (3,):
                turn = away(joint, vector)
                if turn > NEAR_HALF:
                    what = f"{joint!r} starts {math.degrees(turn):.4g} deg from its target, about half a turn"
                    yield _warning(use.places.get("target", use.place), f"controllers.{use.name}.target", what, hint)
    for spec in scene.joints:
        if spec.name in spherical and any(spec.stiffness) and away(spec.name, np.zeros(3)) > NEAR_HALF:
            turn = away(spec.name, np.zeros(3))
            what = f"its spring is turned by {math.degrees(turn):.4g} deg at the start, about half a turn"
            yield _warning(spec.places.get("stiffness", spec.place), f"joints.{spec.name}.stiffness", what, hint)


def _angle_between(a: np.ndarray, b: np.ndarray) -> float:
    """Return the angle of the rotation from one rotation vector to another [rad]."""

    def quaternion(u: np.ndarray) -> np.ndarray:
        angle = float(np.linalg.norm(u))
        return np.array([math.cos(angle / 2), *(0.5 * np.sinc(angle / 2 / math.pi) * u)])

    return 2.0 * math.acos(min(1.0, abs(float(quaternion(a) @ quaternion(b)))))


# --- lengths ------------------------------------------------------------------------------------------


def _reach(shape: Shape) -> float:
    """Return the radius of a ball about a shape's centre that holds it [m]."""
    x, y, z = shape.size
    if shape.kind in ("capsule", "cylinder"):
        return x + z / 2 if shape.kind == "capsule" else math.hypot(x, z / 2)
    return max(x, y, z) if shape.kind in ("sphere", "ellipsoid") else math.hypot(x, y, z) / 2


def _places(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Return (joints, 3) places of joints in the drawing, and their axes, of those that the scene has."""
    at = [model.poses[int(model.joints.parent[j])] for j in range(len(model.scene.joints))]
    F = [pose.of(Pose(model.frames.p_PF[j], model.frames.R_PF[j])) for j, pose in enumerate(at)]
    empty = np.zeros((0, 3))
    return np.array([f.p for f in F]).reshape(-1, 3), np.array([f.R[:, 2] for f in F]) if F else empty


def _drawn(model: Model) -> list[Joint]:
    return [joint for joint in model.scene.joints if joint.binds == "drawing"]


def _huge_shapes(model: Model) -> Iterator[Problem]:
    """Shapes with a radius that is many times the distances between all joints and centres of mass."""
    scene = model.scene
    joints = _places(model)[0][[model.joint(joint.name) for joint in _drawn(model)]].reshape(-1, 3)
    coms = [_of_body(model, n, np.asarray(body.com)) for n, body in enumerate(scene.bodies, start=1)]
    if not len(joints):
        return
    all_points = np.vstack([joints, *coms])
    span = float(np.linalg.norm(np.ptp(all_points, axis=0)))
    for body in scene.bodies:
        for shape in body.shapes:
            radius = min(shape.size[:2]) if shape.kind in ("capsule", "cylinder") else min(shape.size)
            if span > 0.0 and radius > HUGE * span:
                yield _warning(
                    body.place, f"bodies.{body.name}.shapes",
                    f"a {shape.kind} of {radius:.4g} m, where all joints and centres of mass are within {span:.4g} m",
                    "is its unit cm or mm?",
                )  # fmt: skip


def _of_body(model: Model, n: int, p: np.ndarray) -> np.ndarray:
    """Return where a place of a body's file is in the drawing, world axes."""
    pose = model.poses[n]
    return np.asarray(pose.p + pose.R @ (p - model.drawing.origins[model.body_names[n]]))


def _far_joints(model: Model) -> Iterator[Problem]:
    """Joints about a point or an axis that is far from both bodies; with the world, any distance may be meant."""
    places, axes = _places(model)
    parts = _parts(model, places)
    for joint in _drawn(model):
        j = model.joint(joint.name)
        a, b = int(model.joints.parent[j]), int(model.joints.child[j])
        kind = JOINT_TYPES[joint.type]
        if not kind.about_a_point or not a or not b:
            continue
        axis = axes[j] if kind.freedoms == 1 else None
        (near_a, size_a), (near_b, size_b) = (_distance(parts[n], places[j], axis, joint.name) for n in (a, b))
        if min(near_a, near_b) > AWAY * max(size_a, size_b) and max(size_a, size_b) > 0.0:
            yield _warning(
                joint.places.get("position", joint.place), f"joints.{joint.name}.position",
                f"it is {near_a:.3g} m from {joint.parent!r} and {near_b:.3g} m from {joint.child!r}, which are "
                f"{max(size_a, size_b):.3g} m large",
                "places are those of the file they are written in, not of a body",
            )  # fmt: skip


Part = tuple[str, np.ndarray, float]  # of a body: the joint that is there or "", its place, a radius about it


def _parts(model: Model, places: np.ndarray) -> dict[int, list[Part]]:
    """Return what each body consists of in the drawing: its centre of mass, points, shapes, and its joints."""
    out: dict[int, list[Part]] = {}
    for n, body in enumerate(model.scene.bodies, start=1):
        out[n] = [("", _of_body(model, n, np.asarray(p)), 0.0) for p in (body.com, *body.points.values())]
        out[n] += [("", _of_body(model, n, np.asarray(s.position)), _reach(s)) for s in body.shapes]
    for joint in _drawn(model):
        j = model.joint(joint.name)
        for n in (int(model.joints.parent[j]), int(model.joints.child[j])):
            if n:
                out[n].append((joint.name, places[j], 0.0))
    return out


def _distance(parts: list[Part], p: np.ndarray, axis: np.ndarray | None, own: str) -> tuple[float, float]:
    """Return how far a point, or a line through it, is from a body beside a joint, and how large the body is [m]."""
    others = [(at, radius) for name, at, radius in parts if name != own]
    arms = [at - p if axis is None else (at - p) - axis * float(axis @ (at - p)) for at, _ in others]
    nearest = min(float(np.linalg.norm(arm)) - radius for arm, (_, radius) in zip(arms, others, strict=True))
    centre = np.mean([at for at, _ in others], axis=0)
    return max(nearest, 0.0), max(2.0 * (float(np.linalg.norm(at - centre)) + radius) for at, radius in others)


# --- bodies that are forgotten ------------------------------------------------------------------------


def _forgotten(scene: Scene) -> Iterator[Problem]:
    """Bodies that only fall, in a scene where others are held or touch something."""
    grounded = bool(scene.contacts) or any(joint.parent == "world" for joint in scene.joints)
    if not any(scene.world.gravity) or not grounded:
        return
    meant = _spoken_of(scene)
    groups = {body.name: {body.name} for body in scene.bodies}
    for joint in scene.joints:
        if joint.parent == "world":
            meant.add(joint.child)
            continue
        both = groups[joint.parent] | groups[joint.child]
        for name in both:
            groups[name] = both
    for body in scene.bodies:
        group = groups[body.name]
        if not group & meant and body.name == next(one.name for one in scene.bodies if one.name in group):
            what = "nothing holds it, no contact names it and nothing pushes it: it only falls"
            hint = "give it a joint, or name it in `contacts`"
            yield _warning(body.place, f"bodies.{body.name}", what, hint)


def _spoken_of(scene: Scene) -> set[str]:
    """Return bodies that something beside joints names."""
    out = {body for rule in scene.contacts for side in rule.between for body in side}
    out |= {part for rule in scene.contacts for end in rule.rope or () for part in (end, end.rpartition(".")[0])}
    for one in scene.constraints:
        out |= {one.body, one.on}
    for force in scene.forces:
        if isinstance(force, Spring):
            out |= {end.rpartition(".")[0] or end for end in force.ends} | set(force.ends)
        elif isinstance(force, Wrench | Drag):
            out.add(force.body)
    names = {body.name for body in scene.bodies}
    out |= {name for name in scene.initial if name in names}
    out |= {name for event in scene.events for one in event.actions for name in one.targets if name in names}
    return out


# --- contacts -----------------------------------------------------------------------------------------


def _never_touching(model: Model) -> Iterator[Problem]:
    """Rules of contact between bodies that joints hold together, as long as no event cuts these."""
    scene, joints = model.scene, model.joints
    cut = {
        name for event in scene.events for action in event.actions if action.kind == "cut" for name in action.targets
    }
    held = {
        frozenset((int(joints.parent[j]), int(joints.child[j]))): spec.name
        for j, spec in enumerate(model.joint_specs)
        if spec is not None and not JOINT_TYPES[spec.type].own_frames and j in model.connected and spec.name not in cut
    }
    for number, rule in enumerate(scene.contacts):
        if rule.rope is not None:
            continue
        pairs = [(model.solids[p.first].body, model.solids[p.second].body) for p in model.pairs if number in p.rules]
        holding = [held.get(frozenset(pair)) for pair in pairs]
        if pairs and None not in holding:
            first, second = (model.body_names[body] for body in pairs[0])
            yield _warning(
                rule.place, f"contacts.{rule.name}",
                f"nothing touches by this rule: joint {holding[0]!r} connects {first!r} and {second!r}, and what a "
                "joint connects does not touch",
                "name other bodies, or leave the rule out",
            )  # fmt: skip
