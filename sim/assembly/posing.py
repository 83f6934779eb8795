"""Inverse kinematics: joints and points brought to where they are wanted, within limits and with loops closed.

From where the mechanism stands, the targets are led there piece by piece, so that it stays on its branch.  At each
piece the weighted squares of what is missed are made least (Levenberg-Marquardt), over motions that open no loop, and
no limit is passed: where one would be, a small quadratic program finds the step (active set, by daqp).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from sim.assembly.loop_closure import SHUT, close_positions
from sim.kernels.project import add_freedoms
from sim.mechanism.joint_motion import ball_value, stop_value
from sim.mechanism.mechanism import Mechanism

STRIDE = 0.2  # rad, or lengths of the scene: largest piece of the way of a target
RANK = 1e-9  # singular values of what moves targets, relative to the largest, below which nothing moves them
NEAR = 1e-12  # rad, or lengths: a step below this ends the search
PASSES = 200  # of steps in a piece
# Damping, of the square of the largest singular value: where it begins, the least that is not none, the most.
DAMPED, LEAST, MOST = 1e-6, 1e-14, 1e8
PASSED = 1e3  # of squares of what is missed: price of passing a limit by 1
PRICE = 1e-12  # of motions that move no target, relative to those that do, where limits are near
BESIDE = 1e-7  # rad: difference by which the way of a stop of a ball is found


@dataclass(frozen=True)
class Target:
    """What is to be somewhere: some columns of a joint, or some coordinates of a point in world axes.

    name : in messages
    columns : of the model, (k,); of a ball all three, a rotation vector
    ball : whether they are those of a ball
    body, p_B : of a point: its body, and where it is there [m]
    axes : (k,) of a point: which of x, y, z
    weight : of the square of what is missed
    """

    name: str
    columns: np.ndarray = field(default_factory=lambda: np.zeros(0, int))
    ball: bool = False
    body: int = -1
    p_B: np.ndarray = field(default_factory=lambda: np.zeros(3))
    axes: np.ndarray = field(default_factory=lambda: np.zeros(0, int))
    weight: float = 1.0

    def value(self, mechanism: Mechanism) -> np.ndarray:
        """Return where it is (k,), as last looked at [rad, m]."""
        if self.body < 0:
            return np.array(mechanism.work.coordinate[self.columns])
        return self._place(mechanism)[self.axes]

    def missed(self, mechanism: Mechanism, wanted: np.ndarray) -> np.ndarray:
        """Return how far it is from where it is wanted (k,): of a ball the turn that is left, in the child's axes."""
        value = self.value(mechanism)
        if self.ball:
            return (Rotation.from_rotvec(value).inv() * Rotation.from_rotvec(wanted)).as_rotvec()
        away = np.asarray(wanted - value)
        if self.body < 0 and self._joint(mechanism) in mechanism.structure.loops:
            turns = mechanism.model.columns.linear[self.columns] == 0  # angles of loops are told within half a turn
            away = np.where(turns, (away + np.pi) % (2.0 * np.pi) - np.pi, away)
        return away

    def jacobian(self, mechanism: Mechanism) -> np.ndarray:
        """Return J (k, nv): J v is its rate, as last looked at; of a ball the angular velocity in the child's axes."""
        model, structure = mechanism.model, mechanism.structure
        if self.body >= 0:
            link = int(structure.link_of[self.body])
            J = mechanism.link_jacobians()[link]
            arm = self._place(mechanism) - mechanism.work.links.x[link]
            return np.asarray(J[3:] + np.cross(J[:3].T, arm).T)[self.axes]
        joint = self._joint(mechanism)
        own = self.columns - int(model.joints.column[joint])
        if joint in structure.loops:
            return mechanism.loop_rates(structure.loops.index(joint))[own]
        out = np.zeros((len(own), structure.sizes.v))
        out[np.arange(len(own)), structure.v_of(model, joint).start + own] = 1.0
        return out

    def _joint(self, mechanism: Mechanism) -> int:
        return int(mechanism.model.columns.joint[self.columns[0]])

    def _place(self, mechanism: Mechanism) -> np.ndarray:
        bodies = mechanism.work.bodies
        return np.asarray(bodies.p_WB[self.body] + bodies.R_WB[self.body].reshape(3, 3) @ self.p_B)


@dataclass(frozen=True)
class Posed:
    """What inverse kinematics came to.

    missed : of each target, how far it is from where it was wanted (k,)
    closed : whether loops are
    at_limits : names of the columns whose limits keep it there
    """

    missed: tuple[np.ndarray, ...]
    closed: bool
    at_limits: tuple[str, ...]


def bring(
    mechanism: Mechanism, q: np.ndarray, targets: Sequence[Target], wanted: Sequence[np.ndarray], limits: bool = True
) -> Posed:
    """Bring q to where targets are wanted, as near as it goes; what moves no target moves as little as it can.

    mechanism : looked at in what comes out
    q : (nq,) with loops closed; it is changed
    wanted : (k,) of each target: coordinates [rad, m], of a ball a rotation vector, of a point world axes [m]
    limits : whether stops of joints bound the pose
    """
    search = _Search(mechanism, q, targets, limits)
    search.look()
    begun = [target.value(mechanism) for target in targets]
    ways = [target.missed(mechanism, goal) for target, goal in zip(targets, wanted, strict=True)]
    strides = [np.abs(way / search.unit(target)).max() for target, way in zip(targets, ways, strict=True)]
    longest = float(max(strides, default=0.0))
    pieces = max(1, int(np.ceil(longest / STRIDE)))
    at: tuple[str, ...] = ()
    for n in range(1, pieces + 1):
        share = n / pieces
        goals = list(wanted)
        if n < pieces:
            goals = [_between(*each, share) for each in zip(targets, begun, ways, strict=True)]
        at = search.approach(goals)
    closed = bool(np.abs(mechanism.work.rows.phi[mechanism.placed()]).max(initial=0.0) <= SHUT * mechanism.model.length)
    missed = tuple(target.missed(mechanism, goal) for target, goal in zip(targets, wanted, strict=True))
    return Posed(missed, closed, at)


def _between(target: Target, begun: np.ndarray, way: np.ndarray, share: float) -> np.ndarray:
    """Return where a target is wanted on its way."""
    if target.ball:
        return (Rotation.from_rotvec(begun) * Rotation.from_rotvec(share * way)).as_rotvec()
    return np.asarray(begun + share * way)


@dataclass
class _Search:
    """Levenberg-Marquardt from where a mechanism stands."""

    mechanism: Mechanism
    q: np.ndarray
    targets: Sequence[Target]
    limits: bool

    def look(self) -> None:
        self.mechanism.update(self.q, np.zeros(self.mechanism.structure.sizes.v))

    def unit(self, target: Target) -> np.ndarray:
        """Return what a stride of 1 is of each of its numbers [rad, m]."""
        model = self.mechanism.model
        if target.body >= 0:
            return np.full(len(target.axes), model.length)
        return np.where(model.columns.linear[target.columns] == 1, model.length, 1.0)

    def approach(self, wanted: Sequence[np.ndarray]) -> tuple[str, ...]:
        """Make least what is missed; return the columns at limits that keep it from being less."""
        at: tuple[str, ...] = ()
        missed, damping = self._missed(wanted), DAMPED
        best = self._cost(missed)
        for _ in range(PASSES):
            step, at = self._step(missed, damping)
            if np.abs(step).max(initial=0.0) <= NEAR * max(1.0, self.mechanism.model.length):
                break
            begun = self.q.copy()
            add_freedoms(self.mechanism.structure.tables.links, step, 1.0, self.q)
            self._close()
            after = self._missed(wanted)
            if self._cost(after) < best:
                missed, best, damping = after, self._cost(after), max(0.01 * damping, LEAST)
                continue
            self.q[:] = begun
            self.look()
            damping *= 100.0
            if damping > MOST:
                break
        return at

    def _cost(self, missed: np.ndarray) -> float:
        """Return the squares of what is missed, and what limits are passed by, at a price that none is worth."""
        past = np.maximum(-self._stops()[2], 0.0) if self.limits else np.zeros(0)
        return float(missed @ missed + PASSED * past.sum())

    def _close(self) -> None:
        nothing = np.zeros(self.mechanism.structure.sizes.v, bool)
        self.look()
        if self.mechanism.placed().any():
            close_positions(self.mechanism, self.q, nothing, drives=False)

    def _missed(self, wanted: Sequence[np.ndarray]) -> np.ndarray:
        """Return what is missed, (sum of k,), weighted."""
        parts = [
            np.sqrt(target.weight) * target.missed(self.mechanism, goal)
            for target, goal in zip(self.targets, wanted, strict=True)
        ]
        return np.concatenate([np.zeros(0), *parts])

    def _step(self, missed: np.ndarray, damping: float) -> tuple[np.ndarray, tuple[str, ...]]:
        """Return the step (nv,) that makes what is missed least to first order, and which limits bound it."""
        mechanism, nv = self.mechanism, self.mechanism.structure.sizes.v
        rows = [np.sqrt(target.weight) * target.jacobian(mechanism) for target in self.targets]
        J, N = np.vstack([np.zeros((0, nv)), *rows]), self._allowed()
        reaching = J @ N
        U, s, Vt = np.linalg.svd(reaching, full_matrices=False)
        keep = s > RANK * s.max(initial=0.0)
        damping *= float(s.max(initial=0.0)) ** 2
        z = Vt[keep].T @ (s[keep] / (s[keep] ** 2 + damping) * (U[:, keep].T @ missed))
        if not self.limits:
            return N @ z, ()
        names, G, room = self._stops()
        bounding = G @ N
        if not len(room) or np.all(bounding @ z <= room):
            return N @ z, ()
        z, active = _bounded(reaching, missed, bounding, room, damping)
        return N @ z, tuple(dict.fromkeys(name for name, here in zip(names, active, strict=True) if here))

    def _allowed(self) -> np.ndarray:
        """Return orthonormal columns (nv, f) of steps that open no loop."""
        mechanism = self.mechanism
        rows = mechanism.placed()
        if not rows.any():
            return np.eye(mechanism.structure.sizes.v)
        _, s, Vt = np.linalg.svd(mechanism.jacobian()[rows])
        return np.asarray(Vt[int((s > RANK * s.max(initial=0.0)).sum()) :].T)

    def _stops(self) -> tuple[list[str], np.ndarray, np.ndarray]:
        """Return of each stop its column's name, its Jacobian (stops, nv), and how far it is off; G d <= room."""
        mechanism, model = self.mechanism, self.mechanism.model
        names, G, room = [], [], []
        standing = {int(joint) for joint in (*mechanism.structure.carrier[1:], *mechanism.structure.loops)}
        for stop in model.stops:
            if int(stop.joint) not in standing:
                continue
            first = int(stop.column)
            columns = np.arange(first, first + (3 if stop.angle else 1))
            names.append(model.column_names[int(stop.place)])
            G.append(stop.side * (_way(stop, mechanism.work.coordinate) @ Target("", columns).jacobian(mechanism)))
            room.append(-stop.side * (stop_value(stop, mechanism.work.coordinate) - stop.bound))
        return names, np.array(G).reshape(len(names), mechanism.structure.sizes.v), np.array(room)


def _way(stop: Any, coordinate: np.ndarray) -> np.ndarray:
    """Return the rates of what a stop bounds for those of its column, or of the three of its ball."""
    if not stop.angle:
        return np.ones(1)
    c = int(stop.column)
    here = Rotation.from_rotvec(coordinate[c : c + 3])
    values = [
        [ball_value(int(stop.angle), int(stop.about), (here * Rotation.from_rotvec(turn)).as_rotvec())
         for turn in (BESIDE * axis, -BESIDE * axis)]
        for axis in np.eye(3)
    ]  # fmt: skip
    return np.array([(above - below) / (2.0 * BESIDE) for above, below in values])


def _bounded(
    A: np.ndarray, b: np.ndarray, G: np.ndarray, room: np.ndarray, damping: float
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return z with the least |A z - b|^2 + damping |z|^2 and G z <= room, and which limits act."""
    import daqp  # late: most poses are within limits

    square = A.T @ A
    H = square + max(damping, PRICE * float(np.trace(square)), 1e-300) * np.eye(A.shape[1])
    for least in (room, np.maximum(room, 0.0)):  # back within limits, where that goes at once
        x, _, flag, told = daqp.solve(
            np.ascontiguousarray(H), -A.T @ b, np.ascontiguousarray(G), least, np.full(len(room), -1e30),
            np.zeros(len(room), np.int32),
        )  # fmt: skip
        if flag == 1:
            break
    else:
        return np.zeros(A.shape[1]), np.ones(len(room), bool)
    return np.asarray(x, float), np.asarray(told["lam"], float)[-len(room) :] > 0.0
