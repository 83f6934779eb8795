"""What a recording shows: bodies and joints in every row, by its poses and velocities and the scene's geometry."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from sim.analysis.verification import oracle_joints as jn
from sim.analysis.verification import oracle_wheels
from sim.analysis.verification.oracle_joints import Frame, Pair, Side, rotation_of, turn
from sim.analysis.verification.oracle_motions import jet_of, turned_by
from sim.mechanism.model import Model
from sim.recording import Recording

# Rows near an instant of an event may already belong to its other side in a rerun.
APART = 1e-9  # s
# m/s or rad/s: slip that is one; and that below which it may have another direction than friction.  Share of the
# threshold that friction has along the slip; what it may be off by roundoff.
SLIPS, SLOW = 1e-8, 1e-5
ALONG, ROUNDED = 0.999, 1e-9


class Seen:
    """Bodies and joints of a recording, row by row.

    Masses and inertias are those of the recording, the joints' frames those of the scene's drawing; a
    joint that an event makes has its frames from the poses of each row from which on it stands again.

    Parameters
    ----------
    recording : Recording
    model : Model
        Compiled from the recording's scene.
    """

    def __init__(self, recording: Recording, model: Model):
        self.recording, self.model = recording, model
        self.gravity = np.asarray(model.gravity_W, float)
        self.R = rotation_of(recording.array("quat_wxyz"))
        self.p, self.v = recording.array("position"), recording.array("velocity")
        self.w = recording.array("angular_velocity")
        self.mass = np.array([body.mass for body in recording.bodies])
        self.com_B = np.array([body.com for body in recording.bodies]).reshape(-1, 3)
        six = np.array([body.inertia for body in recording.bodies]).reshape(-1, 6)
        self.inertia_B = six[:, [0, 3, 4, 3, 1, 5, 4, 5, 2]].reshape(-1, 3, 3)
        self.names = [joint.name for joint in recording.joints]
        self.kinds = [joint.type for joint in recording.joints]
        of = {body.name: k for k, body in enumerate(recording.bodies)} | {"world": -1}
        self.a = [of[joint.parent] for joint in recording.joints]
        self.b = [of[joint.child] for joint in recording.joints]
        self.present = np.isfinite(recording.array("joints/force")[:, :, 0])
        self.columns = [[k for k, c in enumerate(recording.columns) if c.joint == name] for name in self.names]

    def side(self, body: int, rows: slice | int) -> Side:
        """Return a body (-1: the world) as a side of a joint."""
        if body < 0:
            zero = np.zeros_like(self.p[rows, 0])
            return Side(zero, np.broadcast_to(np.eye(3), (*zero.shape[:-1], 3, 3)), zero, zero)
        return Side(self.p[rows, body], self.R[rows, body], self.v[rows, body], self.w[rows, body])

    @cached_property
    def bindings(self) -> list[list[tuple[int, Frame, Frame]]]:
        """Bindings of every joint: the first row, F and M in body axes."""
        f = self.model.frames
        return [self._bindings(j, Frame(f.p_PF[j], f.R_PF[j]), Frame(f.p_CM[j], f.R_CM[j])) for j in range(len(self.a))]

    def _bindings(self, j: int, F: Frame, M: Frame) -> list[tuple[int, Frame, Frame]]:
        spec, there = self.model.joint_specs[j], self.present[:, j]
        if spec is None or spec.binds != "event":
            return [(0, F, M)]
        begins = np.flatnonzero(there & ~np.concatenate([[False], there[:-1]]))
        return [(int(row), *self._bound(j, int(row), F, M)) for row in begins] or [(0, F, M)]

    def _bound(self, j: int, row: int, F: Frame, M: Frame) -> tuple[Frame, Frame]:
        """Return F and M of a joint that an event makes, as its bodies stand in a row."""
        a, b = self.side(self.a[j], row), self.side(self.b[j], row)
        spec = self.model.joint_specs[j]
        by_parent, by_child = spec.parent_point is not None, spec.child_point is not None  # type: ignore[union-attr]
        if by_parent and not by_child:
            M = Frame(b.R.T @ (a.p + a.R @ F.p - b.p), M.R)
        p = F.p if by_parent else a.R.T @ (b.p + b.R @ M.p - a.p)
        return Frame(p, a.R.T @ b.R @ M.R), M

    def frames(self, j: int, rows: slice | int) -> tuple[Frame, Frame]:
        """Return F and M of a joint in some rows, or in one."""
        held = self.bindings[j]
        first = [row for row, _, _ in held]
        at = np.maximum(np.searchsorted(first, np.arange(len(self.p))[rows], side="right") - 1, 0)
        F, M = (Frame(*(np.array([getattr(one[k], x) for one in held])[at] for x in ("p", "R"))) for k in (1, 2))
        return F, M

    def pair(self, j: int, rows: slice | int) -> Pair:
        """Return how the two frames of a joint stand and move; of what rolls where it touches."""
        return self._pair(j, lambda body: self.side(body, rows), rows)

    def _pair(self, j: int, side: Callable[[int], Side], rows: slice | int) -> Pair:
        spec, joint = self.model.constraints.get(j), self.model.joint_specs[j]
        pitch = joint.pitch / (2.0 * np.pi) if joint else 0.0
        at = jn.pair(side(self.a[j]), side(self.b[j]), *self.frames(j, rows), pitch)
        return at if spec is None else oracle_wheels.touching(spec, at)

    def gaps(self, j: int, at: Pair) -> np.ndarray:
        """Return (..., locked) how far a joint or a constraint is off, m and rad."""
        spec = self.model.constraints.get(j)
        return jn.gaps(self.kinds[j], at) if spec is None else oracle_wheels.gaps(spec, at)

    def gap_rates(self, j: int, side: Callable[[int], Side], rows: slice | int) -> np.ndarray:
        """Return (..., locked) velocities that a joint or a constraint does not allow, m/s and rad/s.

        side : how a body stands and moves in these rows
        """
        spec = self.model.constraints.get(j)
        if spec is None:
            return jn.gap_rates(self.kinds[j], self._pair(j, side, rows))
        if not spec.joints:
            return oracle_wheels.gap_rates(spec, self._pair(j, side, rows))
        first, second = (
            jn.rates(self.kinds[k], self._pair(k, side, rows))[..., freedom] for k, freedom in self._tied(j)
        )  # fmt: skip
        return np.asarray(first - spec.ratio * second)[..., None]

    def slips(self, j: int) -> np.ndarray:
        """Return the mask (n,) of rows in which a constraint lets go: it gives all that it holds, against its slip."""
        spec = self.model.constraints.get(j)
        if spec is None or not self.columns[j]:
            return np.zeros(len(self.p), bool)
        rate, friction = (
            self.recording.array(f"joints/{name}")[:, self.columns[j]] for name in ("rate", "friction_torque")
        )
        speed, size = np.linalg.norm(rate, axis=-1), np.linalg.norm(friction, axis=-1)
        against = -np.sum(rate * friction, axis=-1) >= ALONG * spec.holds * speed
        full = (size >= (1.0 - ROUNDED) * spec.holds) & (against | (speed < SLOW))
        return np.asarray((speed > SLIPS) & (full | self.at_events))

    @cached_property
    def at_events(self) -> np.ndarray:
        """Mask (n,) of rows at instants of events, at which forces and poses may already be those of its other side."""
        events = np.array([event.time for event in self.recording.events])
        return np.asarray(np.min(np.abs(self.recording.time[:, None] - events), axis=1, initial=np.inf) <= APART)

    @cached_property
    def undecided(self) -> np.ndarray:
        """Mask (n,) of rows told before contacts were decided at their instant: the next row tells of it again."""
        again = np.diff(self.recording.time, append=np.inf) == 0.0
        return again & bool(self.model.pairs)

    def _tied(self, j: int) -> list[tuple[int, int]]:
        """Return the joints and their freedoms that a screw or a gear ties."""
        spec = self.model.constraints[j]
        names, freedoms = (spec.joints * 2, (0, 1)) if spec.type == "screw" else (spec.joints, spec.freedoms)
        return [(self.names.index(name), freedom) for name, freedom in zip(names, freedoms, strict=True)]

    def constraint_rows(self, j: int, row: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Return J (rows, 6 bodies) and b (rows,) of a constraint, J x = b for accelerations x; None of joints.

        J is what each motion of a body does; b comes from velocities, as the derivative by a complex time.
        """
        spec = self.model.constraints.get(j)
        if spec is None:
            return None
        joints = [k for k, _ in self._tied(j)] if spec.joints else [j]
        bodies = {body for k in joints for body in (self.a[k], self.b[k])} - {-1}
        still = {body: oracle_wheels.given(self.side(body, row), self.com[row, body], np.zeros(6)) for body in bodies}
        later = {body: oracle_wheels.a_moment_later(self.side(body, row), self.com[row, body]) for body in bodies}
        world = self.side(-1, row)
        b = -self.gap_rates(j, (later | {-1: world}).__getitem__, row).imag / oracle_wheels.STEP
        J = np.zeros((len(b), 6 * len(self.mass)))
        for body in bodies:
            for k, motion in enumerate(np.eye(6)):
                moved = still | {-1: world, body: oracle_wheels.given(still[body], self.com[row, body], motion)}
                J[:, 6 * body + k] = self.gap_rates(j, moved.__getitem__, row)
        return J, b

    def lever(self, j: int, row: int) -> np.ndarray | None:
        """Return (6,) what part of the wrench of a screw or a gear, moment and force, is along its first freedom."""
        spec = self.model.constraints.get(j)
        if spec is None or not spec.joints:
            return None
        k, freedom = self._tied(j)[0]
        what, frame, axis = jn.FREEDOMS[self.kinds[k]][freedom]
        at = self.pair(k, row)
        e = (at.F if frame == "F" else at.M)[:, axis]
        return np.concatenate([np.zeros(3), e] if what == "slide" else [e, np.zeros(3)])

    def pushes(self, j: int, row: int, wrench: np.ndarray, point: np.ndarray) -> np.ndarray:
        """Return (bodies, 6) force and moment about the centre of mass that a joint gives to bodies, or impulses.

        wrench : (6,) moment about the point and force, of the parent on the child
        """
        lever, rows = self.lever(j, row), self.constraint_rows(j, row)
        if lever is not None and rows is not None:
            return np.asarray(lever @ wrench * rows[0][0]).reshape(-1, 6)
        out = np.zeros((len(self.mass), 6))
        for body, sign in ((self.b[j], 1.0), (self.a[j], -1.0)):
            if body >= 0:
                arm = point - self.com[row, body]
                out[body] += sign * np.concatenate([wrench[3:], wrench[:3] + jn.cross(arm, wrench[3:])])
        return out

    def _missed(self, j: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return how far each driven freedom of a joint is from its motion, and how far its rate (n,) each.

        Angles are compared up to whole turns, as poses show them.
        """
        spec, out = self.model.joint_specs[j], []
        motion = spec.motion if spec else ()
        ball = jn.ball(self.kinds[j]) if any(motion) else -1
        at = self.pair(j, slice(None)) if any(motion) else None
        if at is not None and ball >= 0 and motion[ball] is not None:
            out.append(self._mistaken(j, at, ball))
            motion = motion[:ball]
        for k, formula in enumerate(motion):
            if formula is None or at is None:
                continue
            wanted = [jet_of(formula.tree, float(t)) for t in self.recording.time]
            off = jn.coordinates(self.kinds[j], at)[..., k] - np.array([w.value for w in wanted])
            if jn.FREEDOMS[self.kinds[j]][k][0] == "turn":
                off = off - 2.0 * np.pi * np.round(off / (2.0 * np.pi))
            speed = jn.rates(self.kinds[j], at)[..., k] - np.array([w.d1 for w in wanted])
            out.append((np.abs(off), np.abs(speed)))
        return out

    def _mistaken(self, j: int, at: jn.Pair, ball: int) -> tuple[np.ndarray, np.ndarray]:
        """Return how far a joint's rotation (n,) rad is from that of its motion, and its angular velocity rad/s."""
        spec = self.model.joint_specs[j]
        trees = [formula.tree for formula in spec.motion[ball:] if formula is not None] if spec else []
        wanted = [turned_by([jet_of(tree, float(t)) for tree in trees]) for t in self.recording.time]
        there = np.swapaxes(at.F, -1, -2) @ at.M
        off = np.swapaxes(np.array([R for R, _, _ in wanted]), -1, -2) @ there
        sine = np.linalg.norm([off[:, i, j] - off[:, j, i] for i, j in ((2, 1), (0, 2), (1, 0))], axis=0)
        turned = np.arctan2(sine, np.trace(off, axis1=-2, axis2=-1) - 1.0)
        speed = jn.rates(self.kinds[j], at)[..., ball:] - np.array([w for _, w, _ in wanted])
        return turned, np.abs(speed).max(axis=-1)

    @cached_property
    def com(self) -> np.ndarray:
        """Centres of mass (n, bodies, 3) m."""
        return self.p + turn(self.R, self.com_B)

    @cached_property
    def v_com(self) -> np.ndarray:
        """Their velocities (n, bodies, 3) m/s."""
        return self.v + jn.cross(self.w, self.com - self.p)

    def inertia(self, rows: slice | int) -> np.ndarray:
        """Return (..., bodies, 3, 3) inertias about the centres of mass, world axes, kg m^2."""
        R = self.R[rows]
        return np.asarray(R @ self.inertia_B @ np.swapaxes(R, -1, -2))

    @cached_property
    def spin(self) -> np.ndarray:
        """Angular momenta about the centres of mass (n, bodies, 3) kg m^2/s."""
        w_B = turn(np.swapaxes(self.R, -1, -2), self.w)
        return turn(self.R, turn(self.inertia_B, w_B))

    @cached_property
    def kinetic(self) -> np.ndarray:
        """Kinetic energy of the bodies and of the joints' armatures (n,) J."""
        total = 0.5 * np.sum(self.mass * np.sum(self.v_com**2, axis=-1), axis=-1)
        total = total + 0.5 * np.sum(self.w * self.spin, axis=(-2, -1))
        rate = np.nan_to_num(self.recording.array("joints/rate"))
        return np.asarray(total + 0.5 * rate**2 @ np.asarray(self.model.columns.armature, float))

    @cached_property
    def residuals(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Largest residual of position, of velocity, and of the recorded rates (n,), and joints (n,) of the first.

        Every joint counts, of the tree and of loops: m or rad, m/s or rad/s.
        """
        n = len(self.p)
        position, velocity, rate = np.zeros(n), np.zeros(n), np.zeros(n)
        worst = np.full(n, -1)
        recorded = self.recording.array("joints/rate")

        def every_row(body: int) -> Side:
            return self.side(body, slice(None))

        for j, kind in enumerate(self.kinds):
            at, there = self.pair(j, slice(None)), self.present[:, j]
            off = np.max(np.abs(self.gaps(j, at)), axis=-1, initial=0.0)
            more = there & (off > position)
            position[more], worst[more] = off[more], j
            rates, own = np.array(self.gap_rates(j, every_row, slice(None))), self.columns[j]
            slip = rates[:, : len(own)].copy()  # of a constraint that may, which is its freedom
            rates[self.slips(j), : len(own)] = 0.0
            speed = np.max(np.abs(rates), axis=-1, initial=0.0)
            velocity = np.where(there, np.maximum(velocity, speed), velocity)
            for off, speed in self._missed(j):
                more = there & (off > position)
                position[more], worst[more] = off[more], j
                velocity = np.where(there, np.maximum(velocity, speed), velocity)
            if own:
                mine = slip if j in self.model.constraints else jn.rates(kind, at)
                wrong = np.max(np.abs(mine - recorded[:, own]), axis=-1)
                rate = np.where(there, np.maximum(rate, wrong), rate)
        return position, velocity, rate, worst
