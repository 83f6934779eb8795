"""What happens at one instant: joints connected and cut, impulses, values set.

structure-varying-1999, section 4: all changes of one instant are one change, followed by one impulse
solve with every active constraint.  Velocities after it, eqs. (11)-(24) with (21) corrected:

    v+ = v- + M^-1 J^T P,    J v+ = w

with w the rates that drives want, zero of all other rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sim.assembly.loop_closure import LARGE, SHUT, close_positions, close_velocities, opening
from sim.assembly.standing import NOWHERE, standing_at
from sim.assembly.start import bring_to, joint_named, set_rates, unkept_rates, unplaceable
from sim.assembly.unresisted import massless
from sim.kernels.tables import GEAR, TORSION, Control
from sim.mechanism.compiler import bind_gear, relative_pose
from sim.mechanism.frames import Frames, Pose
from sim.mechanism.joint_motion import coordinates, open_by, rates, stop_value
from sim.mechanism.mechanism import Mechanism
from sim.mechanism.model import Model
from sim.mechanism.structure import Structure, build, choose_tree
from sim.scene.read_joints import DEFAULT_TOLERANCE
from sim.scene.spec import Value
from sim.simulation.impulse_solve import strike

CUT = 1e-12  # as in sim.kernels.rows.constraints: squared relative singular values below this are zero
# Where freedoms are lent inertia: passes of an impulse solve; of the impulses, what may be left that nothing resists.
PASSES, UNRESISTED = 100, 1e-9


class ChangeError(RuntimeError):
    """A change that cannot be made; the sentence says why."""


@dataclass
class ImpulseSolution:
    """Outcome of an impulse solve.

    lost : J, from impulses and mean velocities; given : J, put in by applied impulses and by drives.
    """

    v: np.ndarray
    impulse: np.ndarray  # (rows,) N s
    lost: float
    given: float


def impulse_solve(
    mechanism: Mechanism, q: np.ndarray, v: np.ndarray, applied: np.ndarray | None = None,
    fresh: np.ndarray | None = None,
) -> ImpulseSolution:  # fmt: skip
    """Solve for velocities after an instant in which all active rows hold.

    Parameters
    ----------
    mechanism : Mechanism
        As last looked at, at q and v.
    q : (nq,)
    v : (nv,) before
    applied : (nv,) generalised impulse from outside [N s, N m s], or None
    fresh : (rows,) mask of armature rows whose rotor was at rest before, or None

    Notes
    -----
    v+ = v- + M^-1 (applied + J^T P) with J v+ = w on hard rows, w the rate that a drive wants; an armature
    row takes P = -a times the change of its rate.  Energy lost is -P . (J v- - w + J v+ - w) / 2 of hard rows
    and new armatures: a drive is a clutch, which slips at first, and gives P . w.
    """
    lent = mechanism.structure.tables.freedoms.lent
    if len(v) > LARGE and bool(np.all(mechanism.locked())) and not lent.any():
        solution = _strike(mechanism, q, v, applied)
        if solution is not None:
            return solution
    M, J = mechanism.inertia(), mechanism.jacobian()
    hard = mechanism.hard()
    push = np.zeros(len(v)) if applied is None else applied
    free = v + np.linalg.solve(M, push)
    P, wanted = np.zeros(len(J)), mechanism.wanted()
    after = free
    if len(J):
        fresh = np.zeros(len(J), bool) if fresh is None else fresh
        acts = hard | fresh
        target = np.where(acts, wanted, J @ v)
        L = np.linalg.cholesky(M)
        Y = np.linalg.solve(L, J.T)
        G = Y.T @ Y + np.diag(np.where(hard, 0.0, 1.0))
        U, s, Vt = np.linalg.svd(G, hermitian=True)
        keep = s > CUT * s[0]
        for _ in range(PASSES if lent.any() else 2):  # the second pass takes out roundoff
            P += Vt[keep].T @ ((U[:, keep].T @ (target - J @ after - np.where(hard, 0.0, P))) / s[keep])
            after = free + np.linalg.solve(L.T, Y @ P)
            if lent.any():  # gives back what the inertia took that freedoms are lent
                more = np.linalg.solve(M, push + lent * (after - v)) - (free - v)
                free, after = free + more, after + more
        slip = J @ v + J @ after - 2.0 * wanted
        lost = -0.5 * float(np.sum((P * slip)[acts])) - 0.5 * float(np.sum((J @ after)[fresh] ** 2))
    else:
        lost = 0.0
    left = np.abs(M @ (after - v) - lent * (after - v) - push - J.T @ P).max(initial=0.0)
    if lent.any() and left > UNRESISTED * (np.abs(push) + np.abs(J.T) @ np.abs(P)).max(initial=0.0):
        raise ChangeError("the impulse turns a body that has no inertia against it: its speed would be infinite")
    given = float(P @ wanted) + (0.5 * float(push @ (v + after)) if applied is not None else 0.0)
    return ImpulseSolution(after, P, lost, given)


def _strike(mechanism: Mechanism, q: np.ndarray, v: np.ndarray, applied: np.ndarray | None) -> ImpulseSolution | None:
    """Do the same for loops without drives and armatures, along the tree; None where that fails."""
    push = np.zeros(len(v)) if applied is None else applied
    slip, rows = opening(mechanism), len(mechanism.structure.tables.rows)
    after, P, momentum = v, np.zeros(rows), mechanism.momentum(v) + push
    for _ in range(2):  # the second pass takes out roundoff
        struck = strike(mechanism, q, momentum)
        if struck is None:
            mechanism.update(q, v)
            return None
        after, more = struck
        P += more
        momentum = mechanism.momentum(after)
    mechanism.update(q, after)
    lost = -0.5 * float(P @ (slip + opening(mechanism)))
    mechanism.update(q, v)
    return ImpulseSolution(after, P, lost, 0.5 * float(push @ (v + after)))


@dataclass
class Instant:
    """A structure in the making: what an instant starts from and what it leaves.

    given : J, what it took to bring together what is connected; notes : what to tell of that
    """

    model: Model
    structure: Structure
    frames: Frames
    active: frozenset[int]
    q: np.ndarray
    v: np.ndarray
    mechanism: Mechanism
    given: float = 0.0
    notes: tuple[str, ...] = ()


def spring_energy(mechanism: Mechanism, joints: set[int]) -> float:
    """Energy in the springs and touched stops of some joints [J]; kinetic energy of their armatures too."""
    model, work = mechanism.model, mechanism.work
    total = 0.0
    for joint in joints:
        c = model.columns_of(joint)
        stretch = work.coordinate[c] - model.columns.rest[c]
        total += 0.5 * float(np.sum(model.columns.stiffness[c] * stretch**2))
        if int(joint) in mechanism.structure.loops or joint in mechanism.structure.carrier:
            total += 0.5 * float(np.sum(model.columns.armature[c] * work.rate[c] ** 2))
    for force in model.forces[model.forces.kind == TORSION]:
        if int(model.columns.joint[force.column]) in joints:
            turned = work.coordinate[force.column : force.column + force.turns] - force.rest
            total += 0.5 * float(force.stiffness) * float(np.sum(turned**2))
    for stop in model.stops:
        if int(stop.joint) in joints:
            x = stop_value(stop, work.coordinate)
            total += 0.5 * float(stop.stiffness) * max(float(stop.side * (x - stop.bound)), 0.0) ** 2
    return total


def bind_now(model: Model, frames: Frames, joint: int, poses: tuple[Pose, ...]) -> None:
    """Bind a joint that an event makes where its bodies are now, so that its coordinates are zero here.

    M keeps its axes in the child.  Where only the parent's point is named, both frames are there; where only a point
    of the child or a position is, where the child has carried it; of two named points each frame keeps its own.
    """
    spec = model.joint_specs[joint]
    named = () if spec is None else (spec.parent_point is not None, spec.child_point is not None)
    parent, child = poses[int(model.joints.parent[joint])], poses[int(model.joints.child[joint])]
    if named == (True, False):
        frames.p_CM[joint] = child.inverse().of(parent.of(Pose(frames.p_PF[joint], np.eye(3)))).p
    M = child.of(Pose(frames.p_CM[joint], frames.R_CM[joint]))
    F = parent.inverse().of(M)
    frames.R_PF[joint] = F.R
    if named != (True, True):
        frames.p_PF[joint] = F.p


def gap_of(model: Model, frames: Frames, joint: int, poses: tuple[Pose, ...]) -> tuple[float, float]:
    """Return how far a joint is open: (m, rad) along what it would lock."""
    return open_by(model.type_of(joint), relative_pose(model, frames, joint, poses), model.pitch_of(joint))


def restructure(now: Instant, connect: set[int], cut: set[int]) -> Instant:
    """Carry a state to the structure after connecting and cutting; velocities are not yet solved.

    A joint that an event makes is bound anew, whatever it was bound to before; one of the drawing binds as drawn.

    Raises
    ------
    ChangeError
        When a joint that binds by its frames is further open than its tolerance, or a driven one stands elsewhere
        than its motion is.
    """
    model = now.model
    active = _active_after(now, connect, cut)
    frames, poses = now.frames, now.mechanism.poses()
    fresh = [j for j in connect if j not in now.active]
    if fresh:
        frames = frames.copy()
        for joint in fresh:
            spec = model.joint_specs[joint]
            if spec is not None and spec.binds == "event":
                bind_now(model, frames, joint, poses)
            _check_gap(model, frames, joint, poses)
    carrier = choose_tree(model, active, now.structure.carrier, connect - now.active)
    structure = build(model, frames, active, carrier)
    q, v = _carry_state(now, structure, frames, poses)
    mechanism = Mechanism.of(model, structure, now.mechanism.control, now.mechanism.t)
    for joint in fresh:
        now.mechanism.control.turn[model.columns_of(joint)] = 0.0
        if model.pitch_of(joint):  # its slide tells the turns that it has made
            X_FM = relative_pose(model, frames, joint, poses)
            now.mechanism.control.turn[model.columns_of(joint)] = coordinates(
                model.type_of(joint), X_FM, model.pitch_of(joint)
            )
    mechanism.update(q, v)
    gears = [joint for joint in fresh if model.joints.kind[joint] == GEAR]
    for joint in gears:
        first = model.joints.column
        at = [float(mechanism.work.coordinate[first[tied] + freedom]) for tied, freedom in model.geared(joint)]
        bind_gear(model, frames, joint, at)
    if gears:
        structure = build(model, frames, active, carrier)
        mechanism = Mechanism.of(model, structure, now.mechanism.control, now.mechanism.t)
        mechanism.update(q, v)
    _check_motions(mechanism, fresh)
    _check_ground(mechanism, fresh)
    for problem in massless(mechanism, q):
        raise ChangeError(f"{problem.path.removeprefix('bodies.')!r} is left without inertia: {problem.what}")
    mechanism.update(q, v)
    after = Instant(model, structure, frames, frozenset(active), q, v, mechanism)
    return _brought_together(after, fresh, poses)


def _active_after(now: Instant, connect: set[int], cut: set[int]) -> set[int]:
    """Return what is active after a change: constraints go with the joints that they tie."""
    active = set((now.active - cut) | connect)
    return {joint for joint in active if now.model.tied(joint) <= active}


def _brought_together(after: Instant, fresh: list[int], poses: tuple[Pose, ...]) -> Instant:
    """Return an instant at which what is connected stands where its frames are: it closes gaps within tolerances.

    The rest moves least; what it takes is energy put in.
    """
    model, mechanism, q = after.model, after.mechanism, after.q.copy()
    blocks, rows = after.structure.tables.blocks, after.structure.tables.rows
    of_joints = np.isin(blocks.joint[rows.block], [j for j in fresh if model.joint_specs[j] is not None])
    if not np.any(np.abs(mechanism.work.rows.phi[of_joints]) > SHUT * model.length):
        return after
    gaps = {joint: gap_of(model, after.frames, joint, poses) for joint in fresh if model.joint_specs[joint] is not None}
    apart = [
        f"{model.joint_names[joint]} brings together what was {gap * 1e3:.4g} mm apart and turned by "
        f"{np.degrees(turn):.3g} degrees"
        for joint, (gap, turn) in gaps.items()
        if gap > DEFAULT_TOLERANCE or turn > DEFAULT_TOLERANCE
    ]
    before = mechanism.energy()
    if not close_positions(mechanism, q, np.zeros(len(after.v), bool)):
        names = ", ".join(repr(model.joint_names[joint]) for joint in fresh)
        where = "; ".join(text.replace(" brings together what was", ":") for text in apart)
        raise ChangeError(f"the loops cannot close with {names} connected here{f' ({where})' if where else ''}")
    mechanism.update(q, after.v)
    return replace(after, q=q, given=mechanism.energy() - before, notes=tuple(apart))


def _check_motions(mechanism: Mechanism, fresh: list[int]) -> None:
    """Refuse driven joints that are connected where their motion is not."""
    model, rows = mechanism.model, mechanism.structure.tables.rows
    for r in np.flatnonzero(mechanism.driven()):
        column = int(rows.column[r])
        joint = int(model.columns.joint[column])
        spec = model.joint_specs[joint]
        if joint not in fresh or spec is None:
            continue
        allowed = spec.tolerance if np.isfinite(spec.tolerance) else DEFAULT_TOLERANCE
        if not abs(mechanism.work.rows.phi[r]) / rows.scale[r] <= allowed:
            raise ChangeError(
                f"joint {model.column_names[column]!r} stands at {mechanism.work.coordinate[column]:.6g} and its "
                f"motion is at {mechanism.work.rows.want[r, 0]:.6g} at this time; its tolerance is {allowed:.3g} "
                "(m, rad)"
            )


def _check_ground(mechanism: Mechanism, fresh: list[int]) -> None:
    """Refuse constraints that bind places where bodies are elsewhere."""
    model, tables = mechanism.model, mechanism.structure.tables
    for r in np.flatnonzero(
        np.isin(tables.blocks.joint[tables.rows.block], [j for j in fresh if j in model.constraints])
    ):
        constraint, off = model.constraints[int(tables.blocks.joint[tables.rows.block[r]])], mechanism.work.rows.phi[r]
        if abs(off) > DEFAULT_TOLERANCE:
            where = f"{abs(off) * 1e3:.4g} mm {'above' if off > 0.0 else 'below'} what it rolls on"
            raise ChangeError(f"{constraint.body!r} is {where}: {constraint.name!r} cannot bind it")


def _check_gap(model: Model, frames: Frames, joint: int, poses: tuple[Pose, ...]) -> None:
    spec = model.joint_specs[joint]
    if spec is None:
        return
    gap, turn = gap_of(model, frames, joint, poses)
    if gap > spec.tolerance or turn > max(spec.tolerance, 1e-9):
        a, b = model.body_names[model.joints.parent[joint]], model.body_names[model.joints.child[joint]]
        raise ChangeError(
            f"{a!r} and {b!r} are {gap * 1e3:.4g} mm apart and turned by {np.degrees(turn):.3g} degrees where joint "
            f"{spec.name!r} would hold them; its tolerance is {spec.tolerance:.3g} (m, rad)"
        )


def _carry_state(
    now: Instant, structure: Structure, frames: Frames, poses: tuple[Pose, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Copy coordinates of joints that stay in the tree; take the others from poses and velocities."""
    model, old = now.model, now.structure
    q, v = np.zeros(structure.sizes.q), np.zeros(structure.sizes.v)
    V_WB = now.mechanism.work.bodies.V_WB
    for body in range(1, len(model.bodies)):
        joint = int(structure.carrier[body])
        kind, above = model.type_of(joint), int(model.joints.parent[joint])
        if kind.freedoms == 0:
            continue
        if joint == int(old.carrier[body]):
            q[structure.q_of(model, joint)] = now.q[old.q_of(model, joint)]
            v[structure.v_of(model, joint)] = now.v[old.v_of(model, joint)]
            continue
        F = poses[above].of(Pose(frames.p_PF[joint], frames.R_PF[joint]))
        M = poses[body].of(Pose(frames.p_CM[joint], frames.R_CM[joint]))
        values = coordinates(kind, F.inverse().of(M), model.pitch_of(joint))
        if joint in old.loops and kind.ball < 0:  # keep the turns it has counted
            values = now.mechanism.work.coordinate[model.columns_of(joint)].copy()
        q[structure.q_of(model, joint)] = values
        w_a, w_b = V_WB[above, :3], V_WB[body, :3]
        v_M = V_WB[body, 3:] + np.cross(w_b, M.p - poses[body].p)
        v_F = V_WB[above, 3:] + np.cross(w_a, M.p - poses[above].p)
        v[structure.v_of(model, joint)] = rates(kind, F.R, M.R, w_b - w_a, v_M - v_F)
    return q, v


def set_values(
    mechanism: Mechanism, q: np.ndarray, v: np.ndarray, values: dict[str, Value], active: Sequence[bool] = ()
) -> None:
    """Set coordinates and rates of joints that stand, on the branch that the mechanism is on; the rest moves least.

    active : which of the scene's rules of contact are switched on

    Raises
    ------
    ChangeError
        When the loops do not allow one of these values.
    """
    model = mechanism.model
    by_joint = {joint_named(model, name): value for name, value in values.items()}
    standing = standing_at(mechanism, q, active) if mechanism.hard().any() else (NOWHERE,)
    problems, turns = unplaceable(mechanism, by_joint), mechanism.control.turn.copy()
    if any(value.coordinate is not None or value.near is not None for value in by_joint.values()) and not problems:
        problems = bring_to(mechanism, q, by_joint, standing, "the pose at this instant")
    if not problems:
        fixed, rates = set_rates(mechanism, v, by_joint)
        close_velocities(mechanism, q, v, fixed, rates, standing)
        problems = unkept_rates(mechanism, q, v, by_joint)
    for problem in problems:
        mechanism.control.turn[:] = turns
        raise ChangeError(f"{problem.path.removeprefix('initial.')!r} cannot be set: {problem.what}; {problem.hint}")
    mechanism.update(q, v)


def generalised_impulse(
    mechanism: Mechanism, body: int, linear: np.ndarray, angular: np.ndarray, p_W: np.ndarray
) -> np.ndarray:
    """Return J^T of an impulse [N s] at a point of a body and an angular impulse [N m s], world axes."""
    structure, work = mechanism.structure, mechanism.work
    out = np.zeros(structure.sizes.v)
    link = int(structure.link_of[body])
    freedoms = structure.tables.freedoms
    while link > 0:
        first, count = int(structure.tables.links.v[link]), int(structure.tables.links.nv[link])
        arm = p_W - work.links.x[link]
        for k in range(first, first + count):
            axis = work.freedoms.axis[k]
            turning = axis @ (angular + np.cross(arm, linear)) + freedoms.pitch[k] * (axis @ linear)
            out[k] = axis @ linear if freedoms.linear[k] else turning
        link = int(structure.tables.links.parent[link])
    return out


def engage(model: Model, structure: Structure, mechanism: Mechanism, control: Control) -> None:
    """Set which soft stops are touched from the coordinates as last looked at."""
    stops, coordinate, soft = model.stops, mechanism.work.coordinate, model.stops.rigid == 0
    if not soft.any():
        control.engaged[:] = 0
        return
    there = np.zeros(len(model.joints), bool)
    there[structure.carrier[1:]] = there[list(structure.loops)] = True
    present = there[stops.joint]
    x = coordinate[stops.column]
    for n in np.flatnonzero(stops.angle):
        x[n] = stop_value(stops[n], coordinate)
    control.engaged[:] = present & soft & (stops.side * (x - stops.bound) > 0.0)
