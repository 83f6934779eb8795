"""What is known of a mechanism at a pose: the papers' counts, its loops, and what a checker says."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sim.analysis.oddities import oddities
from sim.analysis.refusals import refused
from sim.assembly.constraint_diagnostics import HAIR, warnings
from sim.assembly.drives import driven_joints
from sim.assembly.redundancy import (
    RANK,
    Loop,
    acting_by_loop,
    acting_nearby,
    is_large,
    loops_of,
    redundancy_notes,
    singular_note,
)
from sim.assembly.start import massless, shown, start
from sim.closed_chains.chain import Chain
from sim.closed_chains.matrices import column_names, generalised, generalised_in_position
from sim.closed_chains.told import quantities
from sim.kernels.project import add_freedoms
from sim.mechanism.compiler import compile
from sim.mechanism.joint_motion import stop_value
from sim.mechanism.mechanism import Mechanism
from sim.mechanism.model import Model
from sim.scene.arguments import scene_of, seconds
from sim.scene.load import load_checked
from sim.scene.problem import Problem, SceneError
from sim.scene.spec import Scene

DIRECTIONS, BENT = 3, 1e-4  # in which curvature is looked for; 1/rad^2 of the size: less is none
FOLLOWED = 1e-3  # rad: step of the differences that tell motions from infinitesimal freedoms


@dataclass
class Report:
    """What `sim check` found; `ok` when nothing keeps the scene from running."""

    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    pose_yaml: str = ""

    @property
    def ok(self) -> bool:
        """Tell whether the scene can run."""
        return not any(problem.severity == "error" for problem in self.problems)


def _rank(A: np.ndarray, least: float = RANK) -> int:
    if not A.size:
        return 0
    s = np.linalg.svd(A, compute_uv=False)
    return int((s > least * s[0]).sum()) if s[0] > 0 else 0


def shaky_freedoms(mechanism: Mechanism, q: np.ndarray) -> list[np.ndarray]:
    """Return null directions of the loop rows that exist only infinitesimally.

    A combination of rows without effect of first order has one of second order, the quadratic form
    u . phi(q + N z) ~ z^T Q z / 2 on the null space N.  Where Q has one sign only, motions along its
    eigenvectors violate the loops whatever the rest does; with both signs branches lead away.
    """
    nv = mechanism.structure.sizes.v
    v = np.zeros(nv)
    mechanism.update(q, v)
    hard = mechanism.placed()  # what binds rates only has no positions that could tell
    J = mechanism.jacobian()[hard]
    if not J.size:
        return []
    L = np.linalg.cholesky(mechanism.inertia())
    U, s, Vt = np.linalg.svd(np.linalg.solve(L, J.T).T)
    r = int((s > RANK * s[0]).sum())
    N = np.linalg.solve(L.T, Vt[r:].T)
    N = N / np.maximum(np.abs(N).max(axis=0), 1e-300)
    out: list[np.ndarray] = []
    for u in _bent(mechanism, q, N, U[:, r:].T, hard):
        values, vectors = np.linalg.eigh(_curvature(mechanism, q, N, u, hard))
        size = float(np.abs(values).max(initial=0.0))
        strong = np.abs(values) > 1e-3 * size
        if np.all(values[strong] > 0.0) or np.all(values[strong] < 0.0):
            out += [N @ z / np.abs(N @ z).max() for z in vectors[:, strong].T]
    mechanism.update(q, v)
    return out


def _bent(mechanism: Mechanism, q: np.ndarray, N: np.ndarray, U: np.ndarray, hard: np.ndarray) -> np.ndarray:
    """Return those combinations u of rows (rows of U) that are of second order; the others are redundant nearby, too.

    Along a few random directions of the null space: a quadratic form without values there is none.
    """
    rng, v = np.random.default_rng(3), np.zeros(mechanism.structure.sizes.v)
    bent = np.zeros(len(U), bool)
    for _ in range(DIRECTIONS if N.shape[1] else 0):
        d = N @ rng.normal(size=N.shape[1])
        d /= max(float(np.abs(d).max()), 1e-300)
        second = np.zeros(len(U))
        for sign in (1.0, -1.0):
            near = q.copy()
            add_freedoms(mechanism.structure.tables.links, d, sign * FOLLOWED, near)
            mechanism.update(near, v)
            second += U @ mechanism.work.rows.phi[hard] / FOLLOWED**2
        bent |= np.abs(second) > BENT * mechanism.model.length
    return U[bent]


def _curvature(mechanism: Mechanism, q: np.ndarray, N: np.ndarray, u: np.ndarray, hard: np.ndarray) -> np.ndarray:
    """Second derivative of u . phi along the columns of N, by central differences."""
    v = np.zeros(mechanism.structure.sizes.v)

    def value(d: np.ndarray) -> float:
        total = 0.0
        for sign in (1.0, -1.0):
            near = q.copy()
            add_freedoms(mechanism.structure.tables.links, d, sign * FOLLOWED, near)
            mechanism.update(near, v)
            total += float(u @ mechanism.work.rows.phi[hard])
        return total / FOLLOWED**2

    n = N.shape[1]
    alone = [value(N[:, i]) for i in range(n)]
    Q = np.diag(alone)
    for i in range(n):
        for j in range(i):
            Q[i, j] = Q[j, i] = 0.5 * (value(N[:, i] + N[:, j]) - alone[i] - alone[j])
    return Q


def counts(mechanism: Mechanism, q: np.ndarray, v: np.ndarray) -> dict[str, Any]:
    """Return the papers' counts of a structure at a state: N_J, m, N_F and what they rest on.

    driven: freedoms that motions prescribe beyond what the loops do; the mobility is what is left.
    """
    said, loops = ranks(mechanism, q)
    mechanism.update(q, v)
    g = generalised(mechanism)
    names = column_names(mechanism)
    told = [
        {"joint": loop.joints[-1], "joints": list(loop.joints), "rows": loop.rows, "redundant": loop.redundant,
         "redundant_nearby": loop.always, "why": loop.why}
        for loop in loops if not loop.constraint
    ]  # fmt: skip
    bound = [
        {"constraint": loop.joints[-1], "type": loop.constraint, "joints": list(loop.joints[:-1]), "rows": loop.rows,
         "redundant": loop.redundant, "redundant_nearby": loop.always, "repeats": list(loop.beside)}
        for loop in loops if loop.constraint
    ]  # fmt: skip
    free = {"generalized_coordinates": [names[k] for k in g.independent]}
    if bound:
        placed = generalised_in_position(mechanism, g)
        free = {
            "generalized_coordinates": [names[k] for k in placed.independent],
            "generalized_speeds": free["generalized_coordinates"],
        }
    return {**said, "loops": told, **({"constraints": bound} if bound else {}), **free, "condition": g.condition}


def ranks(mechanism: Mechanism, q: np.ndarray) -> tuple[dict[str, int], list[Loop]]:
    """Return the counts of `counts` that are numbers, and what is known of every loop, at a pose."""
    model = mechanism.model
    own = sum(model.type_of(joint).freedoms for joint in mechanism.structure.loops if joint not in model.constraints)
    n_j, hard = mechanism.structure.sizes.v + own, int(mechanism.locked().sum())
    here = acting_by_loop(mechanism, q)
    # Where every row acts here, more cannot act nearby.
    nearby = acting_nearby(mechanism, q) if here.sum() < hard else []
    mechanism.update(q, np.zeros(mechanism.structure.sizes.v))
    driven = 0
    if mechanism.driven().any():
        driven = _rank(mechanism.jacobian()[mechanism.hard()]) - _rank(mechanism.jacobian()[mechanism.locked()])
    m = own + int(here.sum())
    said = {
        "joint_coordinates": n_j, "constraint_rank": m,
        "rank_nearby": max([m, *(own + int(there.sum()) for there in nearby)]),
        "driven": driven, "driven_rows": int((mechanism.hard() & ~mechanism.locked()).sum()),
        "mobility": n_j - m - driven,
    }  # fmt: skip
    if mechanism.model.constraints:
        said["mobility_in_position"] = n_j - own - driven - _rank(mechanism.jacobian()[mechanism.placed()])
    said["redundant_rows"] = hard - int(here.sum())
    return said, loops_of(mechanism, here, nearby)


def info(scene: Scene | str | os.PathLike[str], *, at: float | None = None, matrices: bool = False) -> dict[str, Any]:
    """Return what the papers ask of a mechanism: counts, loops, generalised coordinates, bodies, joints.

    Parameters
    ----------
    scene : Scene or path
    at : float, optional
        Time [s] at which to look; without it the drawing, or the start where constraints have thresholds.
    matrices : bool
        Tell the numbers of M, J_C, H, W and all else that `Chain` has, not only their sizes.

    Raises
    ------
    SceneError, SimulationError
    ValueError
        When the scene is neither a scene nor a path, or the time none of a run.
    """
    scene = scene_of(scene)
    at = None if at is None else seconds("at", at)
    model = compile(scene)
    if at is None and any(constraint.holds < math.inf for constraint in scene.constraints):
        at = 0.0  # whether they grip is decided then
    if at is None:
        begun = start(model)
        if begun.problems:
            raise SceneError(begun.problems)
        mechanism, q, v = Mechanism.of(model, begun.structure), begun.q, begun.v
        mechanism.update(q, v)
    else:
        from sim.simulation.simulator import Simulator

        simulator = Simulator(model)
        simulator.advance(at)
        flow = simulator.flow
        mechanism, q, v = Mechanism.of(model, flow.structure, flow.control, flow.t), flow.q.copy(), flow.v.copy()
        mechanism.update(q, v)
    said = counts(mechanism, q, v)
    structure, large = mechanism.structure, is_large(mechanism)
    chain = None if large and not matrices else Chain(mechanism, q, v)
    return {
        "scene": scene.name, "about": scene.about, "time": at or 0.0, **said,
        "bodies": len(scene.bodies), "mass": float(model.bodies.mass.sum()),
        "tree": [model.joint_names[j] for j in structure.carrier[1:]],
        "coordinates": structure.sizes.q, "rates": structure.sizes.v,
        "energy": mechanism.energy(),
        "pointers": {name: getattr(structure, name).tolist() for name in ("parent", "child", "brother", "real")},
        **({} if large else {"forces": forces_of(mechanism)}),
        **({"columns": list(chain.names)} if chain and matrices else {}),
        **({"dynamics": quantities(chain, values=matrices)} if chain else {}),
    }  # fmt: skip


def forces_of(mechanism: Mechanism) -> list[dict[str, str]]:
    """Return which components of joints' forces are determinate, in words, as last looked at; joints alike together.

    In world axes, as forces are recorded, and in those of the joint on its parent.
    """
    from sim.recording.format import in_words  # HDF5 takes as long to load as most scenes to check

    marks, present = mechanism.determinate() == 1.0, [*mechanism.structure.carrier[1:], *mechanism.structure.loops]
    alike: dict[tuple[str, str], list[str]] = {}
    for joint in sorted(int(j) for j in present):
        world, own = (
            "all" if half.all() else in_words(half) or "none" for half in (marks[joint, :6], marks[joint, 6:])
        )
        alike.setdefault((world, own), []).append(mechanism.model.joint_names[joint])
    return [
        {"joints": ", ".join(names), "determinate": world, "in_own_axes": own} for (world, own), names in alike.items()
    ]


def check(scene: Scene | str | os.PathLike[str]) -> Report:
    """Assemble a scene and say what a reader should know before it runs.

    Parameters
    ----------
    scene : Scene or path
        What a file says wrong is in the report, too.

    Raises
    ------
    ValueError
        When it is neither.
    """
    report = Report()
    try:
        if isinstance(scene, str | os.PathLike):
            scene, report.problems = load_checked(scene)
        scene = scene_of(scene)
        model = compile(scene)
    except SceneError as error:
        report.problems += error.problems
        return report
    begun = start_or_problems(model, report)
    if begun is None:
        return report
    mechanism = Mechanism.of(model, begun.structure)
    mechanism.control.turn[:] = begun.turn
    mechanism.update(begun.q, begun.v)
    said, loops = ranks(mechanism, begun.q)
    shown_counts = ("joint_coordinates", "constraint_rank", "mobility", "mobility_in_position")
    report.counts = {k: said[k] for k in shown_counts if k in said}
    singular = singular_note(loops, said["constraint_rank"], said["rank_nearby"])
    report.notes += [*scene.notes, *redundancy_notes(loops), *([singular] if singular else [])]
    _note_drives(mechanism, said, report)
    if said["redundant_rows"] and (singular or not is_large(mechanism)):
        names = column_names(mechanism)
        for d in shaky_freedoms(mechanism, begun.q):
            joints = [names[k] for k in np.argsort(-np.abs(d)) if abs(d[k]) > 0.05][:6]
            report.notes.append(
                f"shaky freedom: {', '.join(joints)} can move together only infinitesimally; "
                "a motion along it ends the run"
            )
    mechanism.update(begun.q, begun.v)
    report.problems += shown([*_beyond_limits(model, mechanism), *oddities(model, mechanism)], scene)
    if model.constraints and not is_large(mechanism):
        bounded = [one.name for one in scene.constraints if math.isfinite(one.holds)]
        gripping = _gripping(scene, begun.q, begun.v) if bounded else mechanism
        report.problems += shown(warnings(gripping, bounded), scene)
    for name, distance in begun.off_ground.items():
        if abs(distance) > HAIR * model.length:
            where = "above" if distance > 0.0 else "below"
            stood = f"stood {abs(distance):.4g} m {where} its ground"
            report.notes.append(f"constraint {name}: {stood}; assembly moved it there")
    if begun.moved:
        for name, (was, now) in begun.moved.items():
            report.notes.append(f"assembly moved {name} from {_list(was)} to {_list(now)}")
        report.pose_yaml = _pose_yaml(begun.moved)
    if report.ok:
        report.problems += shown(refused(model), scene)
    return report


def _gripping(scene: Scene, q: np.ndarray, v: np.ndarray) -> Mechanism:
    """Return the mechanism of a scene whose constraints do not let go."""
    from sim.assembly.start import first_structure

    firm = compile(replace(scene, constraints=tuple(replace(one, holds=math.inf) for one in scene.constraints)))
    out = Mechanism.of(firm, first_structure(firm))
    out.update(q, v)
    return out


def start_or_problems(model: Model, report: Report) -> Any:
    """Assemble; put what fails into the report and return None then."""
    from sim.assembly.start import first_structure, state_from_bodies

    structure = first_structure(model)
    q, _ = state_from_bodies(model, structure, model.frames, model.poses, np.zeros((len(model.bodies), 6)))
    report.problems += shown(massless(Mechanism.of(model, structure), q), model.scene)
    if report.problems:
        return None
    begun = start(model)
    report.problems += shown(begun.problems, model.scene)
    return None if begun.problems else begun


def _note_drives(mechanism: Mechanism, said: dict[str, Any], report: Report) -> None:
    if not said["driven_rows"]:
        return
    names = ", ".join(driven_joints(mechanism))
    takes = "takes 1 freedom" if said["driven"] == 1 else f"take {said['driven']} freedoms"
    left = "none is left to move by itself" if not said["mobility"] else f"{said['mobility']} left"
    report.notes.append(f"driven: {names} {takes} of {said['driven'] + said['mobility']}; {left}")
    if said["driven_rows"] > said["driven"]:
        more = said["driven_rows"] - said["driven"]
        report.notes.append(
            f"{more} of {said['driven_rows']} driven freedoms repeat what loops or other motions prescribe already: "
            "their formulas have to fit together at all times, and the forces are chosen (least norm)"
        )


def _beyond_limits(model: Model, mechanism: Mechanism) -> list[Problem]:
    out = []
    for stop in model.stops:
        value = stop_value(stop, mechanism.work.coordinate)
        if stop.side * (value - stop.bound) > 1e-9:
            spec = model.joint_specs[int(stop.joint)]
            out.append(
                Problem(
                    where=spec.places.get("limits", spec.place) if spec else None,
                    path=f"joints.{model.joint_names[int(stop.joint)]}.limits",
                    what=f"starts at {value:.6g}, beyond the limit {float(stop.bound):.6g}",
                    hint="change the pose, the initial value or the limit",
                    severity="error" if stop.rigid else "warning",
                )
            )  # fmt: skip
    return out


def _list(values: np.ndarray) -> str:
    return ", ".join(f"{x:.6g}" for x in np.atleast_1d(values))


def _pose_yaml(moved: dict[str, tuple[np.ndarray, np.ndarray]]) -> str:
    lines = ["initial:"]
    for name, (_, now) in moved.items():
        numbers = [float(x) for x in np.atleast_1d(now)]
        value = repr(numbers[0]) if len(numbers) == 1 else repr(numbers)
        lines.append(f"  {name}: {value}" if len(numbers) in (1, 2) else f"  # {name}: {value}  (columns)")
    return "\n".join(lines) + "\n"


__all__ = ["Report", "check", "info"]
