"""From a Scene to a Model: names become rows, parts become one drawing in world axes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from sim.joints import JOINT_TYPES
from sim.kernels.tables import BODY, COLUMN, CONSTRAINT_KIND, GEAR, JOINT, POINT, ROLLING_OPEN, STOP, table
from sim.mechanism.force_table import compile_forces
from sim.mechanism.formula_programs import Names, Programs
from sim.mechanism.frames import Frames, Pose
from sim.mechanism.joint_motion import coordinates
from sim.mechanism.layout import Drawing
from sim.mechanism.model import Model, waits
from sim.mechanism.ropes import ropes_of
from sim.mechanism.solids import Pair, Solid, friction_at_rest, pairs_of, solids_of
from sim.scene.arguments import scene_of
from sim.scene.frozen import freeze
from sim.scene.problem import Problem, SceneError
from sim.scene.spec import Body, Constraint, Contact, Joint, Limits, Scene

FAR = 1e7  # sizes of the bodies from the origin: farther out, the spacing of floats comes near to the default of rtol


def compile(scene: Scene | str | os.PathLike[str]) -> Model:
    """Compile a scene.

    Parameters
    ----------
    scene : Scene or path
        What `sim.load` returned, or what it is to load.

    Raises
    ------
    SceneError
        When the file has problems, or a pose cannot be applied.
    ValueError
        When it is neither.
    """
    scene = scene_of(scene)
    origins = _origins(scene)
    drawing = Drawing(scene, origins)
    body_names = ("world", *(body.name for body in scene.bodies))
    poses = tuple(drawing.pose_of(name) for name in body_names)
    specs: list[Joint | None] = [*scene.joints, *(None for _ in scene.constraints)]
    names = [joint.name for joint in scene.joints] + [constraint.name for constraint in scene.constraints]
    constraints = dict(enumerate(scene.constraints, start=len(scene.joints)))
    free_joint = _free_joints(scene, names, specs, body_names)
    joints, columns, stops, column_names = _joint_tables(names, specs, constraints, body_names, free_joint)
    frames = _all_frames(drawing.frames, len(names))
    points, point_names = _points(scene, drawing, body_names)
    bodies = _bodies(scene.bodies, origins)
    by_name = {name: slice(int(joints.column[i]), int(joints.column[i] + joints.nv[i])) for i, name in enumerate(names)}
    for body, joint in enumerate(free_joint):
        if joint >= 0:
            by_name.setdefault(body_names[body], by_name[names[joint]])
    programs = Programs(
        Names(
            by_name,
            {n: i for i, n in enumerate(names)},
            {n: i for i, n in enumerate(body_names)},
            point_names.__getitem__,
            {contact.name: i for i, contact in enumerate(scene.contacts)},
        )
    )
    length = _length(scene, origins)
    _refuse_what_is_too_far(scene, poses, length)
    forces = compile_forces(scene, poses, points, programs)
    _enter_motions(specs, joints, columns, programs)
    solids = solids_of(scene, origins)
    pairs = pairs_of(scene, solids)
    _refuse_what_is_not_there(scene, body_names, solids, pairs)
    ropes, ties = ropes_of(scene, points, point_names, poses, len(solids))
    acting = [np.any(columns[what]) for what in ("stiffness", "damping", "friction")]
    programs.acts = bool(len(stops) or len(forces) or any(acting))
    model = Model(
        scene=scene, body_names=body_names, joint_names=tuple(names), joint_specs=tuple(specs),
        column_names=column_names, bodies=bodies, joints=joints, columns=columns, stops=stops, points=points,
        forces=forces, constraints=constraints,
        point_names=point_names, free_joint=free_joint, frames=frames, drawing=drawing, poses=poses,
        connected=_connected(scene, constraints),
        gravity_W=np.array(scene.world.gravity, float), length=length, programs=programs,
        solids=(*solids, *ropes), pairs=(*pairs, *ties),
    )  # fmt: skip
    for joint in constraints:
        if joints.kind[joint] == GEAR:
            bind_gear(model, frames, joint, [_drawn(model, *tied) for tied in model.geared(joint)])
    freeze([part for name, part in (*vars(model).items(), *vars(drawing).items()) if name != "scene"])
    return model


def bind_gear(model: Model, frames: Frames, joint: int, at: Sequence[float]) -> None:
    """Let a gear hold where its two freedoms have these coordinates."""
    frames.offset[joint] = at[0] - model.constraints[joint].ratio * at[1]


def _drawn(model: Model, joint: int, freedom: int) -> float:
    """Return a coordinate in the drawing."""
    X_FM = relative_pose(model, model.frames, joint, model.poses)
    return float(coordinates(model.type_of(joint), X_FM, model.pitch_of(joint))[freedom])


def _connected(scene: Scene, constraints: dict[int, Constraint]) -> frozenset[int]:
    """Return the joints active from the start; what ties joints waits for them."""
    present = {joint.name: i for i, joint in enumerate(scene.joints) if joint.connected}
    bind = {i for i, one in constraints.items() if one.active and all(name in present for name in one.joints)}
    return frozenset(present.values()) | {i for i in bind if not waits(constraints[i])}


def _origins(scene: Scene) -> dict[str, np.ndarray]:
    """Origin of every body in its file's coordinates: as given, else its first joint, else its com."""
    first: dict[str, Joint] = {}
    for joint in scene.joints:
        if joint.connected:
            first.setdefault(joint.child, joint)
    part_of = {body.name: body.part for body in scene.bodies}
    points = {body.name: body.points for body in scene.bodies}
    out = {}
    for body in scene.bodies:
        held_by = first.get(body.name)
        if body.origin is not None:
            p = body.origin
        elif held_by is not None and held_by.child_point is not None:
            p = points[body.name][held_by.child_point]
        elif held_by is not None and held_by.position is not None and held_by.part == part_of[body.name]:
            p = held_by.position
        else:
            p = body.com
        out[body.name] = np.array(p, float)
    return out


def _free_joints(scene: Scene, names: list[str], specs: list[Joint | None], body_names: tuple[str, ...]) -> np.ndarray:
    """Add a free joint for each body that no joint holds at the start, or that an event may set free."""
    held = {joint.child for joint in scene.joints if joint.connected}
    cut = {
        name for event in scene.events for action in event.actions if action.kind == "cut" for name in action.targets
    }
    loosened = {joint.child for joint in scene.joints if joint.name in cut}
    out = np.full(len(body_names), -1)
    for body in range(1, len(body_names)):
        name = body_names[body]
        if name not in held or name in loosened or _only_in_a_cycle(scene, name):
            out[body] = len(names)
            names.append(name if name not in names else f"{name}.free")
            specs.append(None)
    return out


def _only_in_a_cycle(scene: Scene, body: str) -> bool:
    """Tell whether following first joints upward from a body comes back to it."""
    first: dict[str, str] = {}
    for joint in scene.joints:
        if joint.connected:
            first.setdefault(joint.child, joint.parent)
    above = first.get(body)
    for _ in range(len(first) + 1):
        if above is None or above == "world":
            return False
        if above == body:
            return True
        above = first.get(above)
    return False


def _joint_tables(
    names: list[str],
    specs: list[Joint | None],
    constraints: dict[int, Constraint],
    body_names: tuple[str, ...],
    free_joint: np.ndarray,
) -> Any:
    body_of = {name: i for i, name in enumerate(body_names)}
    joints = table(JOINT, len(names))
    rows: list[tuple[float, ...]] = []
    stops: list[tuple[float, ...]] = []
    column_names: list[str] = []
    types = {spec.name: spec.type for spec in specs if spec}
    freed = {int(joint): body for body, joint in enumerate(free_joint) if joint >= 0}
    for i, (name, spec) in enumerate(zip(names, specs, strict=True)):
        joints.column[i] = len(rows)
        if i in constraints:
            joints.kind[i] = _kind_of(constraints[i])
            joints.parent[i], joints.child[i] = _held_by(constraints[i], names, joints, body_of)
            if np.isfinite(constraints[i].holds):  # its slip is a freedom with friction, or two that share it
                count = joints.nv[i] = slips_of(constraints[i])
                linear = _gives_force(constraints[i], types)
                for k in range(count):
                    most = 0.0 if k else constraints[i].holds
                    rows.append((i, linear, 0, 0, 0, 0.0, *(0.0,) * 4, most, int(most > 0.0 and count > 1)))
                    column_names.append(name if count == 1 else f"{name}[{k}]")
            continue
        kind = JOINT_TYPES[spec.type if spec else "free"]
        count = joints.nv[i] = kind.freedoms
        joints.pitch[i] = spec.pitch / (2.0 * np.pi) if spec else 0.0
        joints.parent[i] = body_of[spec.parent] if spec else 0
        joints.child[i] = body_of[spec.child] if spec else freed[i]
        for k in range(count):
            values = (spec.stiffness[k], spec.rest[k], spec.damping[k], spec.armature[k]) if spec else (0.0,) * 4
            sine, cosine, sense = kind.measured[k]
            where = (kind.free[k], 3 * sine[0] + sine[1], 3 * cosine[0] + cosine[1], sense)
            rows.append((i, kind.linear[k], *where, *values, spec.friction[k] if spec and spec.friction else 0.0, 0))
            column_names.append(name if count == 1 else f"{name}[{k}]")
        if spec and spec.limits:
            first, limits = int(joints.column[i]), spec.limits
            ranges = [(first + k, 0, first + k, *ends) for k, ends in enumerate(limits.ranges)]
            if kind.limits == "ball":
                bounds = ((-np.inf, limits.ranges[0][1]), (-np.inf, limits.cone), limits.twist)
                ranges = [(first, what, first + what - 1, *ends) for what, ends in enumerate(bounds, start=1)]
            for column, angle, place, *ends in ranges:
                for side, bound in zip((-1.0, 1.0), ends, strict=True):
                    if np.isfinite(bound):
                        stops.append((i, column, angle, limits.about, place, side, bound, *_of_stop(limits)))
    columns = table(COLUMN, len(rows))
    read = ("code", "sine", "cosine", "sense")
    acts = ("stiffness", "rest", "damping", "armature", "friction", "both")
    _fill(columns, ("joint", "linear", *read, *acts), rows)
    stop_table = table(STOP, len(stops))
    names_of_stop = ("stiffness", "dissipation", "rigid", "restitution", "rest_speed")
    _fill(stop_table, ("joint", "column", "angle", "about", "place", "side", "bound", *names_of_stop), stops)
    return joints, columns, stop_table, tuple(column_names)


def _refuse_what_is_too_far(scene: Scene, poses: Sequence[Pose], length: float) -> None:
    """Refuse places so far out that floats do not tell them well enough for bodies of this size."""
    far = FAR * length
    places = [
        (body.place, f"bodies.{body.name}", float(np.linalg.norm(pose.p)))
        for body, pose in zip(scene.bodies, poses[1:], strict=True)
    ]
    types = {joint.name: joint.type for joint in scene.joints}
    for name, value in scene.initial.items():
        units = JOINT_TYPES[types.get(name, "free")].units
        slides = [x for x, unit in zip(value.coordinate or (), units, strict=False) if unit == "m"]
        places.append((value.place, f"initial.{name}", float(np.linalg.norm(slides))))
    problems = [
        Problem(
            where=place, path=path,
            what=f"{away:.3g} m from the origin, where places are told to {np.spacing(away):.1g} m only: too coarse "
            f"for bodies of about {length:.3g} m",
            hint=f"build the scene within {far:.1g} m of its origin",
        )
        for place, path, away in places if away > far
    ]  # fmt: skip
    if problems:
        raise SceneError(problems)


def _refuse_what_is_not_there(
    scene: Scene, body_names: tuple[str, ...], solids: tuple[Solid, ...], pairs: tuple[Pair, ...]
) -> None:
    """Refuse what scenes can say of constraints and the engine does not do."""
    problems = []
    for constraint in scene.constraints:
        path = f"constraints.{constraint.name}"
        if waits(constraint):
            both = {constraint.body, constraint.on}
            shared = [pair for pair in pairs if both == {body_names[solids[n].body] for n in (pair.first, pair.second)}]
            rules = [
                (scene.contacts[n], solids[pair.first], solids[pair.second]) for pair in shared for n in pair.rules
            ]
            what, hint = _why_it_never_rolls(constraint, rules)
            if what:
                problems.append(Problem(where=constraint.place, path=f"{path}.keeps", what=what, hint=hint))
    if problems:
        raise SceneError(problems)


def slips_of(spec: Constraint) -> int:
    """Return how many freedoms of slip a constraint has that lets go."""
    return 2 if spec.type == "rolling" else max(len(spec.components), 1)


def _why_it_never_rolls(spec: Constraint, rules: Sequence[tuple[Contact, Solid, Solid]]) -> tuple[str, str]:
    """Return why a body cannot roll while it touches its ground, as these rules say, and a hint; or nothing.

    rules : each with two shapes that follow it
    """
    if not rules:
        return f"no contact is between '{spec.body}' and '{spec.on}': it never rolls", "give a contact, or keeps: true"
    rough = [rule.name for rule, first, second in rules if friction_at_rest(rule, first, second) > 0.0]
    if rough:
        what = f"contact '{rough[0]}' has friction, and rolling says itself what goes along the ground"
        return what, "friction: 0 in that contact"
    return "", ""


def _kind_of(spec: Constraint) -> int:
    return ROLLING_OPEN if waits(spec) else CONSTRAINT_KIND[spec.type]


def _gives_force(spec: Constraint, types: dict[str, str]) -> int:
    """Return 1 where what a constraint of one row gives is a force, 0: a moment."""
    if spec.type == "gear":
        return JOINT_TYPES[types[spec.joints[0]]].linear[spec.freedoms[0]]
    return int(not any(component.startswith("r") for component in spec.components))


def _held_by(spec: Constraint, names: list[str], joints: Any, body_of: dict[str, int]) -> tuple[int, int]:
    """Return the bodies that a constraint is between: the one that it slides or rolls on first."""
    if spec.joints:
        joint = names.index(spec.joints[0])
        return int(joints.parent[joint]), int(joints.child[joint])
    return body_of[spec.on], body_of[spec.body]


def _of_stop(limits: Limits) -> tuple[float, ...]:
    """Return stiffness, dissipation, rigid, restitution and rest speed of a stop."""
    rigid = limits.stop == "rigid"
    soft = (0.0, 0.0) if rigid else (limits.stiffness, limits.dissipation)
    return (*soft, int(rigid), limits.restitution, limits.rest_speed)


def _enter_motions(specs: list[Joint | None], joints: Any, columns: Any, programs: Programs) -> None:
    """Enter the motions of driven joints into the programs, and which column follows which."""
    columns.motion[:] = -1
    for i, spec in enumerate(specs):
        for k, expression in enumerate(spec.motion if spec else ()):
            if expression is not None:
                columns.motion[int(joints.column[i]) + k] = programs.enter(expression)


def _fill(out: Any, names: tuple[str, ...], rows: list[tuple[float, ...]]) -> None:
    for i, row in enumerate(rows):
        for name, value in zip(names, row, strict=True):
            out[name][i] = value


def _all_frames(frames: Frames, count: int) -> Frames:
    """Extend the declared joints' frames by identities for free joints (F is the world, M the body)."""
    extra = count - len(frames.p_PF)
    eye = np.tile(np.eye(3), (extra, 1, 1))
    zero = np.zeros((extra, 3))
    return Frames(
        np.vstack([frames.p_PF, zero]), np.concatenate([frames.R_PF, eye]),
        np.vstack([frames.p_CM, zero]), np.concatenate([frames.R_CM, eye]),
        np.concatenate([frames.offset, np.zeros(extra)]),
    )  # fmt: skip


def _points(scene: Scene, drawing: Drawing, body_names: tuple[str, ...]) -> tuple[Any, dict[str, int]]:
    rows: list[tuple[int, np.ndarray]] = []
    names: dict[str, int] = {}
    specs = {body.name: body for body in scene.bodies}
    for i, name in enumerate(body_names):
        names[name] = len(rows)
        rows.append((i, np.zeros(3)))
        if i:
            names[f"{name}.com"] = len(rows)
            rows.append((i, np.asarray(specs[name].com, float) - drawing.origins[name]))
        for point in drawing.points[name]:
            names[f"{name}.{point}"] = len(rows)
            rows.append((i, drawing.point(name, point)))
    out = table(POINT, len(rows))
    for k, (body, p) in enumerate(rows):
        out.body[k], out.p_B[k] = body, p
    return out, names


def _bodies(specs: tuple[Body, ...], origins: dict[str, np.ndarray]) -> Any:
    out = table(BODY, len(specs) + 1)
    for i, body in enumerate(specs, start=1):
        out.mass[i] = body.mass
        out.com_B[i] = np.asarray(body.com, float) - origins[body.name]
        out.inertia_B[i] = body.inertia
    return out


def _length(scene: Scene, origins: dict[str, np.ndarray]) -> float:
    """Size of the mechanism [m]: mean of |com - origin| + radius of gyration over bodies; 1 if that is 0."""
    sizes = []
    for body in scene.bodies:
        if body.mass > 0.0:
            gyration = float(np.sqrt(max(sum(body.inertia[:3]), 0.0) / (2.0 * body.mass)))
            sizes.append(float(np.linalg.norm(np.asarray(body.com) - origins[body.name])) + gyration)
    mean = float(np.mean(sizes)) if sizes else 0.0
    return mean if mean > 0.0 else 1.0


def relative_pose(model: Model, frames: Frames, joint: int, poses: tuple[Pose, ...]) -> Pose:
    """Return X_FM of a joint for given body poses."""
    parent, child = poses[int(model.joints.parent[joint])], poses[int(model.joints.child[joint])]
    F = parent.of(Pose(frames.p_PF[joint], frames.R_PF[joint]))
    M = child.of(Pose(frames.p_CM[joint], frames.R_CM[joint]))
    return F.inverse().of(M)


__all__ = ["compile", "relative_pose"]
