"""Where the mechanism starts, and whether it can: loops closed, and what `initial` writes kept.

The drawing is closed first; what is written is then followed from there, on the drawing's branch
(`sim.assembly.continuation`).
What is not named keeps still as far as the kinetic-energy metric allows.  A drawing that is already assembled is not
moved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sim.assembly.branches import fitting_pose, nearest_branch
from sim.assembly.continuation import Reached, ball_in, q_of, reach, v_of
from sim.assembly.drives import against_motions, motions_without_value, not_allowed_by, numbers, of_motions, unfollowed
from sim.assembly.loop_closure import SHUT, Aim, Bonds, close_positions, close_velocities
from sim.assembly.standing import Standing, standing_at
from sim.assembly.unresisted import massless
from sim.kernels.project import normalise
from sim.mechanism.frames import Frames
from sim.mechanism.mechanism import Mechanism, state_from_bodies
from sim.mechanism.model import Model
from sim.mechanism.structure import Structure, build, choose_tree
from sim.scene.problem import Problem, SceneError
from sim.scene.spec import Scene, Value

MOVED = 1e-9  # m or rad: a joint that assembly moved less is not worth a word
ALL = slice(None)


@dataclass
class Start:
    """Where a run begins."""

    structure: Structure
    frames: Frames
    q: np.ndarray
    v: np.ndarray
    turn: np.ndarray  # rad, as in `sim.kernels.tables.Control`: angles of loop joints, from the drawing on
    moved: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)  # joint -> columns before, after
    problems: list[Problem] = field(default_factory=list)
    off_ground: dict[str, float] = field(default_factory=dict)  # m: constraint that rolls -> height before assembly


def first_structure(model: Model) -> Structure:
    """Return the structure of the drawing."""
    carrier = choose_tree(model, model.connected, None)
    return build(model, model.frames, model.connected, carrier)


def start(model: Model) -> Start:
    """Assemble the drawing, then the start: coordinates and rates of `initial` kept, the rest moved least."""
    structure = first_structure(model)
    mechanism = Mechanism.of(model, structure)
    q, v = state_from_bodies(model, structure, model.frames, model.poses, np.zeros((len(model.bodies), 6)))
    out = Start(structure, model.frames, q, v, mechanism.control.turn)
    mechanism.update(q, v)
    before = mechanism.work.coordinate.copy()
    out.off_ground |= off_ground(mechanism)
    out.problems += pose_figures(mechanism, q)
    if out.problems:
        return out
    standing = close_drawing(mechanism, q)
    if standing is None:
        out.problems += open_loops(mechanism, "the drawing")
        return out
    values = {joint_named(model, name): value for name, value in model.scene.initial.items()}
    out.problems += unplaceable(mechanism, values) + motions_without_value(mechanism)
    out.problems += against_motions(mechanism, values)
    if out.problems:
        return out
    out.off_ground |= _off_ground_as_written(mechanism, q, values)
    out.problems += bring_to(mechanism, q, values, standing, "the drawing")
    if out.problems:
        return out
    fixed, rates = set_rates(mechanism, v, values)
    close_velocities(mechanism, q, v, fixed, rates, standing)
    out.problems += unkept_rates(mechanism, q, v, values) + unfollowed(mechanism, "rate")
    mechanism.update(q, v)
    said = {aim.joint for aim in [*written(mechanism, values), *of_motions(mechanism)]}
    for joint in {int(j) for j in structure.carrier[1:]} - said:
        columns = model.columns_of(joint)
        was, now = before[columns], mechanism.work.coordinate[columns]
        if np.abs(now - was).max(initial=0.0) > MOVED:
            out.moved[model.joint_names[joint]] = (was.copy(), now.copy())
    return out


def close_drawing(mechanism: Mechanism, q: np.ndarray) -> tuple[Standing, ...] | None:
    """Close the loops of the drawing; return what stands on what there, or None where loops stay open.

    Loops bound in the drawing close by construction; those given by two points may not.
    """
    model, begun, nothing = mechanism.model, q.copy(), np.zeros(mechanism.structure.sizes.v, bool)
    mechanism.update(q, np.zeros(len(nothing)))
    apart = Bonds(mechanism, mechanism.locked()).worst() > SHUT * model.length
    follows = mechanism.hard().any() and (apart or bool(model.scene.initial) or mechanism.driven().any())
    standing = standing_at(mechanism, q, [rule.active for rule in model.scene.contacts] if follows else ())
    for points in standing:
        q[:] = begun
        if close_positions(mechanism, q, nothing, drives=False, standing=points):
            return standing
    return None


def pose_figures(mechanism: Mechanism, q: np.ndarray) -> list[Problem]:
    """Close the loops inside of figures that are posed: from their own files' poses, on the branch of these.

    Figures stay where they are placed.  Returns problems: coordinates that the loops of a figure do not allow.
    """
    model, structure = mechanism.model, mechanism.structure
    scene, specs = model.scene, model.joint_specs
    posed = {joint_named(model, name): value for part in reversed(scene.parts) for name, value in part.pose.items()}
    blocks = [n for n, j in enumerate(structure.loops) if (s := specs[j]) is not None and _is_posed(scene, s.part)]
    rows = np.isin(structure.tables.rows.block, blocks) & mechanism.locked()
    aims = [aim for aim in written(mechanism, posed) if aim.joint in structure.carrier[1:]]
    begun = q.copy()
    for aim in aims:
        declared = model.joint_specs[aim.joint] is not None
        q[q_of(mechanism, aim)] = model.type_of(aim.joint).zero if declared else aim.value
    mechanism.update(q, np.zeros(structure.sizes.v))
    if not rows.any() or np.abs(mechanism.work.rows.phi[rows]).max(initial=0.0) > SHUT * model.length:
        q[:] = begun  # nothing to close, or given by two points
        return []
    floating = [int(j) for j in structure.carrier[1:] if model.type_of(int(j)).own_frames and int(j) not in posed]
    still = [Aim(j, q[structure.q_of(model, j)].copy()) for j in floating]
    found = reach(mechanism, q, [*aims, *still], rows=rows)
    return [
        replace(problem, path=problem.path.replace("initial.", "pose.", 1))
        for problem in unreached(mechanism, found, aims, posed, "the figure's own file")
    ]


def _is_posed(scene: Scene, part: int) -> bool:
    """Tell whether an included file, or one around it, is given a pose."""
    while part > 0:
        if scene.parts[part].pose:
            return True
        part = scene.parts[part].parent
    return False


def bring_to(
    mechanism: Mechanism, q: np.ndarray, values: Mapping[int, Value], standing: Sequence[Standing], origin: str
) -> list[Problem]:
    """Bring q from a pose where loops are closed to the coordinates that are written, and to where motions are.

    On the branch of that pose, or on the one that guesses (`near`) mean, or that more values than there are freedoms
    fit exactly.  Returns problems: what is not kept.

    origin : whose branch that is, in words
    """
    aims = [*written(mechanism, values), *of_motions(mechanism)]
    guesses = written(mechanism, values, "near")
    mechanism.counts = False
    try:
        found = reach(mechanism, q, aims, standing)
        if guesses:
            return _on_another_branch(mechanism, q, aims, guesses, values, standing)
        if found.missed and len(aims) > 1 and fitting_pose(mechanism, q, aims, standing):
            return []
    finally:
        mechanism.counts = True
        normalise(mechanism.structure.tables.links, q)
        mechanism.update(q, np.zeros(mechanism.structure.sizes.v))
    return unreached(mechanism, found, aims, values, origin)


def _on_another_branch(
    mechanism: Mechanism, q: np.ndarray, aims: list[Aim], guesses: list[Aim], values: Mapping[int, Value],
    standing: Sequence[Standing],
) -> list[Problem]:  # fmt: skip
    """Bring q to the branch that guesses mean; return problems."""
    if nearest_branch(mechanism, q, aims, guesses, standing):
        return []
    name = mechanism.model.joint_names[guesses[0].joint]
    return [
        Problem(
            where=values[guesses[0].joint].place, path=f"initial.{name}",
            what=f"no pose was found near this guess{_with(mechanism, aims)} in which the loops are closed",
            hint="give a guess that is nearer, or other values",
        )
    ]  # fmt: skip


def _with(mechanism: Mechanism, aims: Sequence[Aim]) -> str:
    """Return what else is to be kept, in words."""
    names = [repr(mechanism.model.joint_names[aim.joint]) for aim in aims]
    names = list(dict.fromkeys(names))
    shown = ", ".join(names[:6]) + (" ..." if len(names) > 6 else "")
    return f", with {shown} as written," if names else ""


def unreached(
    mechanism: Mechanism, found: Reached, aims: Sequence[Aim], values: Mapping[int, Value], origin: str
) -> list[Problem]:
    """Return a problem for each coordinate that cannot be kept, with what was reached on the branch of the pose.

    origin : whose branch that is, in words
    """
    out = []
    for aim, got in found.missed:
        name = mechanism.model.joint_names[aim.joint]
        others = [one for one in aims if one is not aim and all(one is not other for other, _ in found.missed)]
        also = _with(mechanism, others)
        came, wanted = in_words(mechanism, aim, got), in_words(mechanism, aim, aim.value)
        if not came:
            came, wanted = f"{100.0 * max(found.share, 0.0):.4g} % of the way", ""
        reached = f"on the branch of {origin}{also} {name!r} comes to {came}{f', not to {wanted}' if wanted else ''}"
        if aim.driven:
            spec = mechanism.model.joint_specs[aim.joint]
            out.append(
                Problem(
                    where=spec.places.get("motion", spec.place) if spec else None, path=f"joints.{name}.motion",
                    what=f"{not_allowed_by(mechanism, aim.joint)} its coordinate at the start: {reached}",
                    hint="drive fewer joints, or with motions that fit together",
                )
            )  # fmt: skip
            continue
        out.append(
            Problem(
                where=values[aim.joint].place, path=f"initial.{name}",
                what=f"{not_allowed_by(mechanism)} this coordinate: {reached}",
                hint="give fewer coordinates, or others; if another branch is meant, say so by a guess for a second "
                "joint: {near: ...}",
            )
        )  # fmt: skip
    return out


def in_words(mechanism: Mechanism, aim: Aim, value: np.ndarray) -> str:
    """Return a coordinate with its units; empty for an orientation."""
    if ball_in(mechanism, aim) >= 0:
        return ""
    linear = mechanism.model.type_of(aim.joint).linear[aim.first : aim.first + len(value)]
    return ", ".join(
        f"{x:.6g} m" if along else f"{np.degrees(x):.6g} deg" for x, along in zip(value, linear, strict=True)
    )  # fmt: skip


def off_ground(mechanism: Mechanism, fixed: np.ndarray | slice = ALL) -> dict[str, float]:
    """Return how far above its ground each body stands that a constraint keeps rolling, as last looked at [m].

    fixed: only of those whose place some of these freedoms decide.
    """
    structure, constraints = mechanism.structure, mechanism.model.constraints
    specs = {
        int(row): constraints.get(structure.loops[structure.tables.rows.block[row]])
        for row in np.flatnonzero(mechanism.placed())
    }
    rolling = {row: spec.name for row, spec in specs.items() if spec is not None and spec.type == "rolling"}
    J = mechanism.jacobian() if rolling else np.zeros((0, 0))
    phi = mechanism.work.rows.phi
    return {name: float(phi[row]) for row, name in rolling.items() if J[row, fixed].any()}


def joint_named(model: Model, name: str) -> int:
    """Return a joint by its name, or a body's free joint by the body's name."""
    if name in model.joint_names:
        return model.joint_names.index(name)
    return int(model.free_joint[model.body_names.index(name)])


def written(mechanism: Mechanism, values: Mapping[int, Value], what: str = "coordinate") -> list[Aim]:
    """Return the coordinates, the guesses (`near`) or the rates that are written."""
    out = []
    for joint, value in values.items():
        numbers = getattr(value, what)
        if numbers is not None:
            half = value.only if what != "rate" else ""
            part = {"": slice(None), "position": slice(0, 3), "orientation": slice(3, 7)}[half]
            out.append(Aim(joint, np.asarray(numbers, float)[part], 3 if half == "orientation" else 0))
    return out


def _off_ground_as_written(mechanism: Mechanism, q: np.ndarray, values: Mapping[int, Value]) -> dict[str, float]:
    """Return how far off their ground bodies that roll stand with what is written of the tree, loops not yet closed."""
    model, structure, trial = mechanism.model, mechanism.structure, q.copy()
    fixed = np.zeros(structure.sizes.v, bool)
    for aim in written(mechanism, values):
        if aim.joint not in structure.loops:
            trial[q_of(mechanism, aim)] = aim.value
            fixed[v_of(mechanism, aim)] = True
    if not model.constraints:
        return {}
    mechanism.update(trial, np.zeros(len(fixed)))
    return off_ground(mechanism, fixed)


def set_rates(mechanism: Mechanism, v: np.ndarray, values: Mapping[int, Value]) -> tuple[np.ndarray, list[Aim]]:
    """Write rates into v, of motions too; return the freedoms of the tree that keep them, and aims of loop joints."""
    model, structure = mechanism.model, mechanism.structure
    fixed, aims = np.zeros(structure.sizes.v, bool), []
    for aim in of_motions(mechanism, 1):
        if aim.joint not in structure.loops:
            v[structure.v_of(model, aim.joint).start + aim.first] = aim.value[0]
    for aim in written(mechanism, values, "rate"):
        if aim.joint in structure.loops:
            aims.append(aim)
            continue
        v[structure.v_of(model, aim.joint)] = aim.value
        fixed[structure.v_of(model, aim.joint)] = True
    return fixed, aims


def unplaceable(mechanism: Mechanism, values: Mapping[int, Value]) -> list[Problem]:
    """Return a problem for each loop joint whose coordinate of `initial` is a rotation in space."""
    model = mechanism.model
    return [
        Problem(
            where=value.place, path=f"initial.{model.joint_names[joint]}",
            what="this joint closes a loop, and its coordinate is no list of numbers that assembly can aim at",
            hint="give the coordinates of the joints around the loop",
        )
        for joint, value in values.items()
        if joint in mechanism.structure.loops
        and value.coordinate is not None
        and len(value.coordinate) != int(model.joints.nv[joint])
    ]  # fmt: skip


def unkept_rates(mechanism: Mechanism, q: np.ndarray, v: np.ndarray, values: Mapping[int, Value]) -> list[Problem]:
    """Return a problem for each rate of `initial` that the loops do not allow."""
    model = mechanism.model
    mechanism.update(q, v)
    out = []
    for joint, value in values.items():
        if value.rate is None:
            continue
        got = mechanism.work.rate[model.columns_of(joint)]
        if np.abs(got - value.rate).max(initial=0.0) > 1e-6 * (1.0 + np.abs(value.rate).max(initial=0.0)):
            name = model.joint_names[joint]
            out.append(
                Problem(
                    where=value.place, path=f"initial.{name}",
                    what=f"{not_allowed_by(mechanism)} this rate; the nearest motion has {numbers(got)}",
                    hint="give fewer rates, or rates that fit together",
                )
            )  # fmt: skip
    return out


def open_loops(mechanism: Mechanism, pose: str) -> list[Problem]:
    """Return one problem for each loop joint that stays open: by how many mm and degrees."""
    model, structure = mechanism.model, mechanism.structure
    out = []
    scale = mechanism.scale()
    for n, joint in enumerate(structure.loops):
        rows = np.flatnonzero(structure.tables.rows.block == n)
        phi = mechanism.work.rows.phi[rows] / scale[rows]
        linear = structure.tables.rows.code[rows] < 3
        gap, turn = np.linalg.norm(phi[linear]), np.degrees(np.linalg.norm(phi[~linear]))
        if gap > SHUT * model.length or turn > 1e-9:
            spec = model.joint_specs[joint]
            bound = model.constraints.get(joint)
            if bound is not None:
                off = float(np.abs(phi).max())
                out.append(
                    Problem(
                        where=bound.place, path=f"constraints.{bound.name}",
                        what=f"this constraint cannot be met at {pose}: "
                        f"{bound.body or bound.joints[0]!r} stays {off * 1e3:.4g} mm off"
                        f"{' its ground' if bound.type == 'rolling' else ''}",
                        hint="draw the body nearer to where it may be, or let the joints reach there",
                    )
                )  # fmt: skip
                continue
            said = [f"{gap * 1e3:.4g} mm apart"] if linear.any() else []
            if (~linear).any():
                said.append(f"turned by {turn:.4g} degrees")
            parts = (
                f"{model.body_names[model.joints.parent[joint]]!r} and {model.body_names[model.joints.child[joint]]!r}"
            )
            out.append(
                Problem(
                    where=spec.place if spec else None, path=f"joints.{model.joint_names[joint]}",
                    what=f"this joint cannot close at {pose}: {parts} stay {', '.join(said)}",
                    hint="change the lengths, or give a pose from which the loop can close",
                )
            )  # fmt: skip
    return out


def shown(problems: list[Problem], scene: Scene) -> list[Problem]:
    """Return problems with the line of the file that each of them points at."""
    out = []
    for problem in problems:
        place = problem.where
        lines = scene.sources.get(place.file, "").splitlines() if place else []
        if place and place.line <= len(lines):
            problem = replace(problem, source_line=lines[place.line - 1])
        out.append(problem)
    return out


def check_start(model: Model) -> Start:
    """Assemble, raising SceneError with every loop that stays open or freedom without inertia."""
    structure = first_structure(model)
    mechanism = Mechanism.of(model, structure)
    q, _ = state_from_bodies(model, structure, model.frames, model.poses, np.zeros((len(model.bodies), 6)))
    problems = massless(mechanism, q)
    if problems:
        raise SceneError(shown(problems, model.scene))
    out = start(model)
    if out.problems:
        raise SceneError(shown(out.problems, model.scene))
    return out
