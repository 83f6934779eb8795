"""Random instants of a recording: the engine asked again, and the oracle beside it.

The oracle takes poses, velocities, joint torques, joint forces and forces of contacts from the recording; from the
engine it takes only what other forces apply to the bodies, and springs between points it computes itself and compares.
In time steps the engine's accelerations are those without contacts, stops and friction, which a step gives as impulses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim.analysis.verification import oracle
from sim.analysis.verification import oracle_joints as jn
from sim.analysis.verification.contact_rows import STEPS_MOVED
from sim.analysis.verification.keeping import Kept
from sim.analysis.verification.oracle_joints import cross
from sim.analysis.verification.oracle_motions import jet_of, turned_by
from sim.analysis.verification.seen import Seen
from sim.analysis.verification.touching import Touching
from sim.kernels.stepper import T
from sim.mechanism.tree import joint_springs
from sim.recording import Epoch
from sim.simulation.flow import Flow
from sim.simulation.simulator import Simulator

# Engine and oracle agree to this over the smallest singular value, relative.
AGREED = 1e-9
LARGEST = 300  # bodies: dense matrices of more take minutes


@dataclass(frozen=True)
class Instant:
    """What was found at one row; differences are relative to the largest value there (at least 1 m/s^2, rad/s^2, N).

    row, time : where
    acceleration : of all bodies, engine against oracle
    constraint : the engine's accelerations in the rows of all joints
    force : what the recorded joint forces leave of Newton and Euler for every body
    drive : what they do along the joints' freedoms beyond the recorded torques
    springs : the engine's forces between bodies against the oracle's springs; nan where other forces act too
    rank, oracle_rank : of the loops' rows, as recorded and as the oracle counts
    marks : joints of which recording and oracle disagree whether the force is determinate
    sigma : smallest singular value, as recorded; nan without loops
    arms : how far moments of contacts are known in a time step, in which their arms change; 0 where events decide
    """

    row: int
    time: float
    acceleration: float
    constraint: float
    force: float
    drive: float
    springs: float
    rank: int
    oracle_rank: int
    marks: tuple[str, ...]
    sigma: float
    arms: float = 0.0

    @property
    def known(self) -> float:
        """How far recorded forces may be from these accelerations."""
        return self.allowed + self.arms

    @property
    def allowed(self) -> float:
        """How far differences may go here: forces are known less well near a singular position."""
        return AGREED / max(float(np.fmin(self.sigma, 1.0)), 1e-6)  # 1 without loops, too


def choose(seen: Seen, count: int) -> list[int]:
    """Return rows at random, the same ones each time, of finite numbers and none at an event's instant."""
    if len(seen.mass) > LARGEST:
        return []
    finite = np.isfinite([np.sum(a, axis=(1, 2)) for a in (seen.p, seen.v, seen.w, seen.com)]).all(axis=0)
    free = np.flatnonzero(~seen.at_events & ~seen.undecided & finite)
    if not len(free):
        return []
    picked = np.random.default_rng(20).choice(free, size=min(count, len(free)), replace=False)
    return sorted(int(row) for row in picked)


class Witness:
    """Asks the engine at chosen rows, while a rerun passes them, and the oracle beside it."""

    def __init__(self, seen: Seen, touching: Touching | None = None):
        self.seen, self.touching = seen, touching
        self.found: list[Instant] = []
        self.missed: list[int] = []  # rows at which the rerun has another structure

    def __call__(self, row: int, simulator: Simulator) -> None:
        """Look at one row; leaves the simulator as it was."""
        flow, epoch = simulator.flow, self._epoch(row)
        tree = [flow.model.joint_names[j] for j in flow.structure.carrier[1:]]
        if (
            epoch is None
            or list(epoch.tree) != tree
            or self._present(flow) != set(self._joints(row))
            or (not flow.time_stepping and len(flow.structure.touches) != self._touches(row))
        ):
            self.missed.append(row)
            return
        kept = Kept(flow)
        try:
            k = row - epoch.first
            nq, nv = flow.structure.sizes.q, flow.structure.sizes.v
            flow.stepper.y[:nq], flow.stepper.y[nq : nq + nv] = epoch.q[k], epoch.v[k]
            flow.stepper.clock[T] = self.seen.recording.time[row]
            flow.control.turn[:] = np.nan_to_num(self.seen.recording.array("joints/coordinate")[row])
            rubs = np.flatnonzero(flow.control.friction)  # rows are told later: friction may have turned since
            flow.control.friction[rubs] = self.seen.recording.array("joints/friction_torque")[row, rubs]
            flow.work.stepped.before[0] = flow.work.stepped.parked[0] = 0  # of the last step, another one
            flow.observe()
            self.found.append(self._compare(row, flow))
        finally:
            kept.restore()

    def _touches(self, row: int) -> int:
        """Return how many points are recorded in a row."""
        return 0 if self.touching is None else int(np.count_nonzero(self.touching.row == row))

    def _epoch(self, row: int) -> Epoch | None:
        return next((e for e in self.seen.recording.epochs if e.first <= row < e.last), None)

    def _joints(self, row: int) -> np.ndarray:
        return np.flatnonzero(self.seen.present[row])

    @staticmethod
    def _present(flow: Flow) -> set[int]:
        return flow.present()

    def _compare(self, row: int, flow: Flow) -> Instant:
        seen, recording = self.seen, self.seen.recording
        bodies, joints = self._bodies(row), self._all_joints(row, flow)
        outside = self._outside(row, flow)
        engine, free = self._accelerations(row, flow), outside
        if self.touching is not None:
            outside = outside + self._pushes(row, flow)
        answer = asked = oracle.solve(bodies, joints, seen.gravity, outside)
        if flow.time_stepping:
            asked = oracle.solve(bodies, self._all_joints(row, flow, pressed=False), seen.gravity, free)
        there = self._joints(row)
        wrenches, points = recording.array("joints/force")[row, there], recording.array("joints/position")[row, there]
        left, size = oracle.balance_of_bodies(
            bodies, joints, wrenches, points, answer.acceleration, seen.gravity, outside
        )
        length = flow.model.length
        left[:, 3:] /= length
        along = [
            oracle.along_freedoms(bodies, joint, wrench, point, answer.acceleration)
            for joint, wrench, point in zip(joints, wrenches, points, strict=True)
        ]
        drive = max((float(np.max(np.abs(a), initial=0.0)) for a in along), default=0.0)
        largest = max(float(np.max(np.abs(wrenches[:, :3]), initial=0.0)), size * min(length, 1.0), 1.0)
        recorded = recording.array("trust/determinate")[row, there] == 1
        marks = tuple(seen.names[there[k]] for k in np.flatnonzero(recorded != answer.determinate))
        told = recording.trust.components.array[row, there]  # -1: not told
        other = np.any((told >= 0) & ((told == 1) != answer.components), axis=1)
        marks += tuple(seen.names[there[k]] for k in np.flatnonzero(other) if seen.names[there[k]] not in marks)
        rank = answer.rank - 6 * len(bodies) + flow.structure.sizes.v + _soft_rows(flow)
        held = bool(flow.structure.touches or flow.structure.bounds)  # rows of these are no joints' rows
        return Instant(
            row=row, time=float(recording.time[row]),
            acceleration=_relative(asked.difference(engine), asked.acceleration),
            constraint=asked.constraint(engine),
            force=float(np.max(np.abs(left), initial=0.0)) / max(size, 1.0),
            drive=drive / largest, springs=self._springs(row, free),
            rank=rank if held else int(recording.array("trust/rank")[row]), oracle_rank=rank,
            marks=() if held else marks, sigma=float(recording.array("trust/smallest_singular_value")[row]),
            arms=self._arms(row, flow) / min(max(size, 1.0) * length, largest),
        )  # fmt: skip

    def _bodies(self, row: int) -> list[oracle.Body]:
        seen = self.seen
        inertia = seen.inertia(row)
        return [
            oracle.Body(float(seen.mass[i]), seen.com[row, i], inertia[i], seen.w[row, i])
            for i in range(len(seen.mass))
        ]

    def _all_joints(self, row: int, flow: Flow, *, pressed: bool = True) -> list[oracle.Joint]:
        """Return the joints of a row; pressed: with what stops and friction give them.

        Time steps h take forces of springs and dampers of joints at their ends: that adds h d + h^2 k to the armatures.
        """
        seen, columns, h = self.seen, self.seen.model.columns, flow.model.step
        torque = seen.recording.array("joints/torque")[row]
        stiffness, damping = joint_springs(seen.model)
        armature = columns.armature + h * damping + h**2 * stiffness
        for name in () if pressed else ("joints/stop_torque", "joints/friction_torque"):
            torque = torque - seen.recording.array(name)[row]
        return [
            oracle.Joint(
                seen.names[j], seen.kinds[j], seen.a[j], seen.b[j], seen.pair(j, row), torque[seen.columns[j]],
                np.asarray(armature[seen.columns[j]], float), self._driven(j, row), seen.constraint_rows(j, row),
                len(seen.columns[j]) if seen.slips(j)[row] else 0, seen.lever(j, row),
            )
            for j in self._joints(row)
        ]  # fmt: skip

    def _driven(self, j: int, row: int) -> np.ndarray:
        """Accelerations that the motion of a joint wants; not-a-number for freedoms that are not driven."""
        spec = self.seen.model.joint_specs[j]
        time = float(self.seen.recording.time[row])
        jets = [None if f is None else jet_of(f.tree, time) for f in (spec.motion if spec else ())]
        out = np.array([math.nan if jet is None else jet.d2 for jet in jets])
        ball = jn.ball(self.seen.kinds[j]) if jets else -1
        turns = [jet for jet in jets[ball:] if jet is not None] if ball >= 0 else []
        if turns:
            out[ball:] = turned_by(turns)[2]
        return out

    def _pushes(self, row: int, flow: Flow) -> np.ndarray:
        """Return (bodies, 6) force and moment about the centre of mass that the recorded points give to bodies.

        Points of time steps are where they were as the step began: bodies have moved on since, about by h v.
        """
        links, link, h = flow.work.links, flow.structure.link_of[1:], flow.model.step
        assert self.touching is not None
        return self.touching.pushes(row, h * links.V[link, 3:])

    def _arms(self, row: int, flow: Flow) -> float:
        """Return how far moments of contacts are known in a time step: their arms change within it [N m]."""
        seen, k = self.seen, slice(0, 0)
        if flow.model.step and self.touching is not None:
            k = slice(*np.searchsorted(self.touching.row, (row, row + 1)))
        force = float(np.linalg.norm(self.touching.force[k], axis=1).sum()) if self.touching is not None else 0.0
        speed = np.linalg.norm(seen.v[row], axis=1) + np.linalg.norm(seen.w[row], axis=1) * flow.model.length
        return float(STEPS_MOVED * flow.model.step * np.max(speed, initial=0.0) * force)

    def _accelerations(self, row: int, flow: Flow) -> np.ndarray:
        """The engine's, (bodies, 6) of centres of mass and angular."""
        links, link = flow.work.links, flow.structure.link_of[1:]
        alpha, w = links.A[link, :3], links.V[link, :3]
        arm = self.seen.com[row] - links.x[link]
        a = links.A[link, 3:] + flow.structure.tables.one.gravity_W[0]
        return np.hstack([a + cross(alpha, arm) + cross(w, cross(w, arm)), alpha])

    def _outside(self, row: int, flow: Flow) -> np.ndarray:
        """Force and moment about the centre of mass on each body by all that is no joint, from the engine.

        The wrenches that the engine has on its links hold those of the loops' joints, too: those are taken out.
        """
        seen, work, structure = self.seen, flow.work, flow.structure
        link = structure.link_of[1:]
        moment, force = work.links.wrench[link, :3], work.links.wrench[link, 3:]
        out = np.hstack([force, moment + cross(work.links.x[link] - seen.com[row], force)])
        size = np.max(np.abs(out), initial=0.0)
        for j in structure.loops:
            wrench, point = work.joints.force[j], work.joints.p_WJ[j]
            size = max(size, float(np.max(np.abs(wrench))))
            out -= seen.pushes(j, row, wrench, point)
        for k, touch in enumerate(structure.touches):
            force, sides = work.points.force[k], touch.features.link
            size = max(size, float(np.max(np.abs(force))))
            for side, sign in zip(sides, (-1.0, 1.0), strict=True):
                for body in np.flatnonzero(structure.link_of[1:] == side) if side else ():
                    push = sign * force
                    out[body] -= np.concatenate([push, cross(work.points.p[k] - seen.com[row, body], push)])
        out[np.abs(out) < 1e-12 * size] = 0.0  # roundoff of what was taken out
        return out

    def _springs(self, row: int, outside: np.ndarray) -> float:
        """Difference between the engine's forces between bodies and springs computed here, relative."""
        scene = self.seen.model.scene
        if not all(_is_spring(force) for force in scene.forces):
            return math.nan
        if not scene.forces:
            return _relative(outside, outside * 0.0)
        mine = np.zeros_like(outside)
        size = max([self._add_spring(row, force, mine) for force in scene.forces])
        return float(np.max(np.abs(outside - mine), initial=0.0)) / max(size, 1.0)

    def _add_spring(self, row: int, force: Any, out: np.ndarray) -> float:
        """Add the pull of a spring; returns the size of its terms [N], of which roundoff is a part."""
        seen, model = self.seen, self.seen.model
        ends = []
        for name in force.ends:
            point = model.points[model.point_names[name]]
            body = int(point.body) - 1
            if body < 0:
                ends.append((body, np.asarray(point.p_B, float), np.zeros(3)))
            else:
                arm = seen.R[row, body] @ point.p_B
                ends.append((body, seen.p[row, body] + arm, seen.v[row, body] + np.cross(seen.w[row, body], arm)))
        (a, p, u), (b, q, v) = ends
        distance = float(np.linalg.norm(q - p))
        free = force.length if force.length is not None else self._drawn(force)
        n = (q - p) / distance if distance > 0.0 else np.zeros(3)
        pull = (force.stiffness * (distance - free) + force.damping * float(n @ (v - u))) * n
        for body, point, sign in ((a, p, 1.0), (b, q, -1.0)):
            if body >= 0:
                out[body] += sign * np.concatenate([pull, np.cross(point - seen.com[row, body], pull)])
        return float(force.stiffness * max(distance, free) + force.damping * np.linalg.norm(v - u))

    def _drawn(self, force: Any) -> float:
        model = self.seen.model
        p, q = (
            model.poses[model.points[k].body].p + model.poses[model.points[k].body].R @ model.points[k].p_B
            for k in (model.point_names[name] for name in force.ends)
        )
        return float(np.linalg.norm(q - p))


def _is_spring(force: Any) -> bool:
    """Tell whether a force of a scene is a spring between two points; others are taken from the engine."""
    kind = getattr(force, "kind", getattr(force, "type", "spring"))
    return kind == "spring" and all(hasattr(force, name) for name in ("ends", "stiffness", "damping", "length"))


def _relative(difference: np.ndarray, of: np.ndarray) -> float:
    """Return the largest entry of a difference over the largest of what it is a difference of, at least 1."""
    return float(np.max(np.abs(difference), initial=0.0) / max(float(np.max(np.abs(of), initial=0.0)), 1.0))


def _soft_rows(flow: Flow) -> int:
    """Rows of armatures, which the engine counts among those that act."""
    rows = flow.structure.tables.rows
    return int(np.sum(np.asarray(rows.compliance) > 0.0)) if len(rows) else 0
