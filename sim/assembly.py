"""Closing the loops: where the mechanism starts, and whether it can.

Newton on the residuals of all loop rows; what is not named keeps still as far as the kinetic-energy
metric allows.  A drawing that is already assembled is not moved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sim.closing import close
from sim.compiler import Model
from sim.connectivity import Structure, build, choose_tree
from sim.drives import (
    against_motions,
    motions_without_value,
    moved_by_drives,
    not_allowed_by,
    numbers,
    place_drives,
    unfollowed,
)
from sim.kernels.constraints import slips
from sim.kernels.project import add_freedoms, normalise
from sim.mechanism import Mechanism, state_from_bodies
from sim.model import FREE
from sim.scene.problem import Problem, SceneError
from sim.scene.spec import Scene, Value
from sim.tree import Frames
from sim.unresisted import massless

CLOSED = 1e-12  # residual over length [1] at which a loop counts as closed
MOVED = 1e-9  # m or rad: a joint that assembly moved less is not worth a word
LARGE = 120  # freedoms above which dense matrices take seconds
RANK = 1e-7  # singular values below this, relative to the largest, are zero


Wanted = tuple[slice, np.ndarray]  # columns of a loop joint, and the values to reach


@dataclass
class Start:
    """Where a run begins."""

    structure: Structure
    frames: Frames
    q: np.ndarray
    v: np.ndarray
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
    out = Start(structure, model.frames, q, v)
    mechanism.look(q, v)
    before = mechanism.work.coordinate.copy()
    out.off_ground |= off_ground(mechanism)
    # Loops bound in the drawing close by construction; those given by two points may not.
    if not close_positions(mechanism, q, np.zeros(len(v), bool), drives=False):
        out.problems += open_loops(mechanism, "the drawing")
        return out
    initial = dict(model.scene.initial)
    values = {joint_named(model, name): value for name, value in initial.items()}
    out.problems += unplaceable(mechanism, values) + motions_without_value(mechanism)
    out.problems += against_motions(mechanism, values)
    if out.problems:
        return out
    fixed = place(mechanism, q, values)
    place_drives(mechanism, q, v)
    mechanism.look(q, v)
    asked = mechanism.work.coordinate.copy()
    out.off_ground |= off_ground(mechanism, fixed)
    wanted = of_loops(mechanism, values, "coordinate")
    if not close_positions(mechanism, q, fixed, wanted) and not close_positions(mechanism, q, np.zeros(len(v), bool)):
        out.problems += unfollowed(mechanism, "coordinate") or open_loops(mechanism, "the start")
        return out
    out.problems += unkept_coordinates(mechanism, q, wanted, values)
    out.problems += moved_by_drives(mechanism, asked, fixed, values)
    fixed_rates = set_rates(mechanism, q, v, values)
    close_velocities(mechanism, q, v, fixed_rates, of_loops(mechanism, values, "rate"))
    out.problems += unkept_rates(mechanism, q, v, values) + unfollowed(mechanism, "rate")
    mechanism.look(q, v)
    after = mechanism.work.coordinate
    named = set(values)
    for joint in [*structure.carrier[1:], *structure.loops]:
        columns = model.columns_of(int(joint))
        was = asked[columns] if int(joint) in named or np.any(asked != before) else before[columns]
        if int(joint) not in structure.loops and np.abs(after[columns] - was).max(initial=0.0) > MOVED:
            out.moved[model.joint_names[joint]] = (was.copy(), after[columns].copy())
    return out


def off_ground(mechanism: Mechanism, fixed: np.ndarray | None = None) -> dict[str, float]:
    """Return how far above its ground each body stands that a constraint keeps rolling, as last looked at [m].

    fixed: only of those whose place some of these freedoms decide.
    """
    structure, out = mechanism.structure, {}
    placed = np.flatnonzero(mechanism.placed())
    J = mechanism.jacobian()[placed] if fixed is not None and len(placed) else None
    for i, row in enumerate(placed):
        joint = structure.loops[int(structure.tables.rows.block[row])] if len(structure.loops) else -1
        spec = mechanism.model.constraints.get(joint)
        if spec is not None and spec.type == "rolling" and (J is None or np.any(J[i, fixed])):
            out[spec.name] = float(mechanism.work.rows.phi[row])
    return out


def joint_named(model: Model, name: str) -> int:
    """Return a joint by its name, or a body's free joint by the body's name."""
    if name in model.joint_names:
        return model.joint_names.index(name)
    return int(model.free_joint[model.body_names.index(name)])


def place(mechanism: Mechanism, q: np.ndarray, values: Mapping[int, Value]) -> np.ndarray:
    """Write coordinates into q; return the mask of freedoms that are to stay there."""
    model, structure = mechanism.model, mechanism.structure
    fixed = np.zeros(structure.sizes.v, bool)
    for joint, value in values.items():
        if value.coordinate is not None and joint not in structure.loops:
            q[structure.q_of(model, joint)] = value.coordinate
            fixed[structure.v_of(model, joint)] = True
    if len(q):
        normalise(structure.tables.links, q)
    return fixed


def set_rates(mechanism: Mechanism, q: np.ndarray, v: np.ndarray, values: Mapping[int, Value]) -> np.ndarray:
    """Write rates into v; return the mask of freedoms that are to keep them."""
    model, structure = mechanism.model, mechanism.structure
    fixed = np.zeros(structure.sizes.v, bool)
    for joint, value in values.items():
        if value.rate is not None and joint not in structure.loops:
            v[structure.v_of(model, joint)] = value.rate
            fixed[structure.v_of(model, joint)] = True
    return fixed


def of_loops(mechanism: Mechanism, values: Mapping[int, Value], what: str) -> list[Wanted]:
    """Return what is wanted of loop joints: their columns and the values, for coordinates or rates."""
    model, loops = mechanism.model, mechanism.structure.loops
    return [
        (model.columns_of(joint), np.asarray(getattr(value, what), float))
        for joint, value in values.items()
        if joint in loops and getattr(value, what) is not None
    ]


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


def rate_rows(mechanism: Mechanism, q: np.ndarray, wanted: Sequence[Wanted]) -> np.ndarray:
    """Return R (values wanted, nv) with R v the rates of the wanted columns at q."""
    structure = mechanism.structure
    if not wanted:
        return np.zeros((0, structure.sizes.v))
    mechanism.look(q, np.zeros(structure.sizes.v))
    first = structure.tables.blocks.column.tolist()
    return np.vstack([mechanism.loop_rates(first.index(columns.start)) for columns, _ in wanted])


def missing(values: np.ndarray, wanted: list[Wanted]) -> np.ndarray:
    """Return how far columns are from what is wanted of them."""
    return np.concatenate([values[columns] - value for columns, value in wanted]) if wanted else np.zeros(0)


def least(A: np.ndarray, M: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return x with A x = b in the least-squares sense and the least x^T M x."""
    if A.shape[1] == 0 or A.shape[0] == 0:
        return np.zeros(A.shape[1])
    L = np.linalg.cholesky(M)
    Y = np.linalg.solve(L, A.T).T
    U, s, Vt = np.linalg.svd(Y, full_matrices=False)
    keep = s > RANK * s[0] if s[0] > 0 else np.zeros(len(s), bool)
    z = Vt[keep].T @ ((U[:, keep].T @ b) / s[keep])
    return np.linalg.solve(L.T, z)


def close_positions(
    mechanism: Mechanism, q: np.ndarray, fixed: np.ndarray, wanted: Sequence[Wanted] = (), drives: bool = True
) -> bool:
    """Move the freedoms that are not fixed until all loops are closed; tell whether they are.

    wanted: coordinates of loop joints to reach on the way; drives: driven joints stand where their motions are.
    """
    structure, work = mechanism.structure, mechanism.work
    v = np.zeros(structure.sizes.v)
    hard, length, wishes = (
        mechanism.hard() if drives else mechanism.locked(), mechanism.model.length, list(wanted)
    )  # fmt: skip

    def open_by() -> np.ndarray:
        return np.concatenate([work.rows.phi[hard], length * missing(work.coordinate, wishes)])

    mechanism.look(q, v)
    residual = np.abs(open_by()).max(initial=0.0)
    if len(v) > LARGE and not wishes and np.array_equal(hard, mechanism.hard()) and residual > 1e-13 * length:
        close(mechanism, q, v, fixed)
        mechanism.look(q, np.zeros(len(v)))
        return float(np.abs(open_by()).max(initial=0.0)) <= CLOSED * length
    free = ~fixed
    for _ in range(60):
        if residual <= 1e-13 * length:
            return True
        dq = np.zeros(len(v))
        try:
            R = length * rate_rows(mechanism, q, wishes)
            rows = np.vstack([mechanism.jacobian()[hard], R])
            dq[free] = least(rows[:, free], mechanism.inertia()[np.ix_(free, free)], -open_by())
        except np.linalg.LinAlgError:
            return False
        saved, share, before = q.copy(), min(1.0, 0.7 / max(np.abs(dq).max(initial=0.0), 1e-300)), residual
        while True:
            q[:] = saved
            add_freedoms(structure.tables.links, dq, share, q)
            mechanism.look(q, v)
            residual = np.abs(open_by()).max(initial=0.0)
            if residual < before or share < 1e-3:
                break
            share *= 0.5
        if not residual < before:
            q[:] = saved
            mechanism.look(q, v)
            return before <= CLOSED * length
    return residual <= CLOSED * length


def close_velocities(
    mechanism: Mechanism, q: np.ndarray, v: np.ndarray, fixed: np.ndarray, wanted: Sequence[Wanted] = ()
) -> None:
    """Change the rates that are not fixed until no loop opens and drives are followed; if that fails, all rates.

    wanted: rates of loop joints.
    """
    wishes = list(wanted)
    R = rate_rows(mechanism, q, wishes)
    mechanism.look(q, v)
    hard, free = mechanism.hard(), ~fixed
    if not hard.any():
        return
    if len(v) > LARGE and not wishes:
        for mask in (fixed, np.zeros(len(v), bool)):
            close(mechanism, q, v, mask)
            mechanism.look(q, v)
            if slip(mechanism) <= 1e-9 * (1.0 + np.abs(v).max(initial=0.0)):
                return
    loops, M = mechanism.jacobian()[hard], mechanism.inertia()
    J, driven = np.vstack([loops, R]), mechanism.wanted()[hard]
    target = np.concatenate([driven, *(value for _, value in wishes)])
    everything = np.ones(len(v), bool)
    for rows, aim, mask in ((J, target, free), (loops, target[: len(loops)], everything)):
        for _ in range(2):
            v[mask] -= least(rows[:, mask], M[np.ix_(mask, mask)], rows @ v - aim)
        if np.abs(loops @ v - driven).max(initial=0.0) <= 1e-9 * (1.0 + np.abs(v).max(initial=0.0)):
            return


def opening(mechanism: Mechanism) -> np.ndarray:
    """Return (rows,) how fast the loops open and drives are missed, as last looked at [m/s]."""
    tables = mechanism.structure.tables
    slips(tables.blocks, tables.rows, mechanism.work.blocks, mechanism.work.rows)
    return mechanism.work.rows.slip.copy()


def slip(mechanism: Mechanism) -> float:
    """Return the largest of that of hard rows."""
    return float(np.abs(opening(mechanism)[mechanism.hard()]).max(initial=0.0))


def unkept_coordinates(
    mechanism: Mechanism, q: np.ndarray, wanted: list[Wanted], values: Mapping[int, Value]
) -> list[Problem]:
    """Return a problem for each coordinate of a loop joint that `initial` gives and the loops do not allow."""
    model = mechanism.model
    mechanism.look(q, np.zeros(mechanism.structure.sizes.v))
    out = []
    for columns, value in wanted:
        got = mechanism.work.coordinate[columns]
        if np.abs(got - value).max(initial=0.0) > 1e-9 * (1.0 + np.abs(value).max(initial=0.0)):
            joint = int(model.columns.joint[columns.start])
            out.append(
                Problem(
                    where=values[joint].place, path=f"initial.{model.joint_names[joint]}",
                    what=f"{not_allowed_by(mechanism)} this coordinate; the nearest pose has {numbers(got)}",
                    hint="give fewer coordinates, or coordinates that fit together",
                )
            )  # fmt: skip
    return out


def unkept_rates(mechanism: Mechanism, q: np.ndarray, v: np.ndarray, values: Mapping[int, Value]) -> list[Problem]:
    """Return a problem for each rate of `initial` that the loops do not allow."""
    model = mechanism.model
    mechanism.look(q, v)
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
        if gap > CLOSED * model.length or turn > 1e-9:
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


def is_free(model: Model, joint: int) -> bool:
    """Tell whether a joint is a free one that the compiler added."""
    return model.joint_specs[joint] is None and int(model.joints.kind[joint]) == FREE
