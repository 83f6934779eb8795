"""What acts: springs, dampers, stops, formulas, drag and wrenches, as torques along the freedoms."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sim.analysis.linear.complex_step import angle, crossed, dot, length, magnitude, rotation_vector
from sim.analysis.linear.poses import Motion
from sim.analysis.linear.restraints import Block
from sim.kernels import programs as op
from sim.kernels.tables import ANGLE, DRAG, SPRING, SWING, TORSION, WRENCH, Control, Tables

# Of what a formula reads, this follows from the answer that the formula is asked for.
_ANSWERS = {op.FORCE: "force", op.PRESSING: "force of a contact", op.TORQUE: "torque", op.ENERGY: "energy"}
_UNARY: dict[int, Callable[[np.ndarray], np.ndarray]] = {
    op.NEGATE: np.negative, op.SQRT: np.sqrt, op.SIN: np.sin, op.COS: np.cos, op.TAN: np.tan, op.ASIN: np.arcsin,
    op.ACOS: np.arccos, op.ATAN: np.arctan, op.EXP: np.exp, op.LOG: np.log, op.ABS: magnitude,
}  # fmt: skip
_BINARY: dict[int, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    op.ADD: np.add, op.SUBTRACT: np.subtract, op.MULTIPLY: np.multiply, op.DIVIDE: np.divide, op.ATAN2: angle,
    op.MIN: lambda a, b: np.where(a.real <= b.real, a, b), op.MAX: lambda a, b: np.where(a.real >= b.real, a, b),
}  # fmt: skip


class LinearError(ValueError):
    """A linear model that cannot be given; the message is a sentence."""


@dataclass
class Acting:
    """What acts on one structure at one time.

    laws : (k, columns) torques of controllers that are functions, given q and v (k, ...); see
    `sim.analysis.linear.laws`
    """

    tables: Tables
    control: Control
    t: float
    laws: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None

    def torques(self, motion: Motion, blocks: list[Block], q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return (k, nv) everything that acts but weight; needs `Motion.move` and `Block.move`."""
        tables = self.tables
        coordinate, rate = self.columns(motion, blocks, q, v)
        torque = self._of_columns(coordinate, rate)
        torque = torque + self.control.held
        for n, (program, column) in enumerate(tables.applied):
            if self.control.enabled[len(tables.laws) + n]:
                torque[:, column] += self._formula(int(program), motion, coordinate, rate)
        if self.laws is not None:
            torque = torque + self.laws(q, v)
        out = np.zeros(v.shape, torque.dtype)
        for link in motion.links[1:]:
            k, c, nv = link.v, link.column, link.nv
            out[:, k : k + nv] = torque[:, c : c + nv]
        for block in blocks:
            for c, code in enumerate(block.freedoms(), start=block.column):
                out = out + torque[:, c : c + 1] * block.row(code)
        out = out + self._named(motion, coordinate, rate)
        return out + self._of_caller(motion) if self.control.acts[1] else out

    def columns(
        self, motion: Motion, blocks: list[Block], q: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return coordinates and rates (k, columns) of all joints, zero where one is not connected."""
        coordinate, rate = np.zeros((2, len(q), len(self.tables.columns)), np.result_type(q, v))
        for link in motion.links[1:]:
            a, k, nv, c, plain = link.q, link.v, link.nv, link.column, link.plain
            rate[:, c : c + nv] = v[:, k : k + nv]
            coordinate[:, c : c + plain] = q[:, a : a + plain]
            if link.quaternion >= 0:
                coordinate[:, c + plain : c + nv] = rotation_vector(q[:, a + plain : a + plain + 4])
        for block in blocks:
            codes, c = block.freedoms(), block.column
            for i, value in enumerate(block.coordinates(self.control.turn[c : c + len(codes)])):
                coordinate[:, c + i] = value
            for i, code in enumerate(codes):
                rate[:, c + i] = dot(block.direction(code), block.u_rel if block.linear(code) else block.w_rel)
        return coordinate, rate

    def _of_columns(self, coordinate: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """Return (k, columns) torques of joints' springs, dampers, stops, friction and torsion springs."""
        tables = self.tables
        columns, stops, forces = tables.columns, tables.stops, tables.forces
        out = -columns.stiffness * (coordinate - columns.rest) - columns.damping * rate + self.control.rubbing
        for s in np.flatnonzero(self.control.engaged):
            c = int(stops.column[s])
            at = slice(c, c + 3) if stops.angle[s] else slice(c, c + 1)
            value, n = coordinate[:, c], np.ones((len(coordinate), 1))
            if stops.angle[s]:
                value, n = _of_ball(int(stops.angle[s]), int(stops.about[s]), coordinate[:, at])
            side = float(stops.side[s])
            depth = side * (value - stops.bound[s])
            grip = 1.0 + stops.dissipation[s] * side * dot(n, rate[:, at])
            push = stops.stiffness[s] * depth * np.where(grip.real > 0.0, grip, 0.0)
            out[:, at] -= side * push[:, None] * n
        for f in np.flatnonzero(forces.kind == TORSION):
            at = slice(int(forces.column[f]), int(forces.column[f] + forces.turns[f]))
            rest = forces.rest[f] if forces.turns[f] == 1 else 0.0
            out[:, at] -= forces.stiffness[f] * (coordinate[:, at] - rest) + forces.damping[f] * rate[:, at]
        return out

    def _named(self, motion: Motion, coordinate: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """Return (k, nv) what springs between points, drag and wrenches of the scene do."""
        tables, forces = self.tables, self.tables.forces
        out = np.zeros(motion.axis.shape[1::-1], motion.w.dtype)
        for f in range(len(forces)):
            kind, i, j = int(forces.kind[f]), int(forces.a[f]), int(forces.b[f])
            if kind == TORSION:
                continue
            a, b = int(tables.points.body[i]), int(tables.points.body[j])
            p, v = self._point(motion, i)
            still = np.zeros(p.shape)
            if kind == SPRING:
                q, u = self._point(motion, j)
                distance = length(q - p)[:, None]
                n = (q - p) / np.where(distance == 0.0, 1.0, distance)
                rate_of_length = dot(n, u - v)[:, None]
                pull = (forces.stiffness[f] * (distance - forces.rest[f]) + forces.damping[f] * rate_of_length) * n
                out = out + motion.forces_of(a, p, still, pull) - motion.forces_of(b, q, still, pull)
            elif kind == DRAG:
                w = motion.w[a]
                c = forces.damping[f] + forces.quadratic[f] * length(v)
                d = forces.turning_damping[f] + forces.turning_quadratic[f] * length(w)
                out = out + motion.forces_of(a, p, -d[:, None] * w, -c[:, None] * v)
            elif kind == WRENCH:
                moment, force = self._wrench(f, a, motion, coordinate, rate)
                out = out + motion.forces_of(a, p, moment, force)
                if j >= 0:
                    out = out - motion.forces_of(b, p, moment, force)
        return out

    def _wrench(
        self, f: int, link: int, motion: Motion, coordinate: np.ndarray, rate: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return moment and force (k, 3) of a wrench of the scene, world axes."""
        forces = self.tables.forces
        parts = np.zeros((6, len(coordinate)), motion.w.dtype)
        for i, program in enumerate(forces.programs[f]):
            if program >= 0:
                parts[i] = self._formula(int(program), motion, coordinate, rate)
        moment, force = parts[:3].T, parts[3:].T
        if forces.turned[f]:
            R_WB = motion.R[link] @ motion.links[link].R_KB
            moment, force = np.einsum("kij,kj->ki", R_WB, moment), np.einsum("kij,kj->ki", R_WB, force)
        return moment, force

    def _of_caller(self, motion: Motion) -> np.ndarray:
        """Return (k, nv) what the caller applies to bodies, at points that move along."""
        out = np.zeros(motion.axis.shape[1::-1], motion.w.dtype)
        for b, link in enumerate(motion.links[1:], start=1):
            wrench, arms = self.control.wrench[link.body], self.control.arms[link.body].reshape(3, 3)
            R_WB = motion.R[b] @ link.R_KB
            p = motion.x[b] + motion.R[b] @ link.p_KB
            turned = R_WB @ arms  # sum of p f^T with p in world axes
            moment = [turned[:, 1, 2] - turned[:, 2, 1], turned[:, 2, 0] - turned[:, 0, 2]]
            moment.append(turned[:, 0, 1] - turned[:, 1, 0])
            force = np.broadcast_to(wrench[3:], p.shape)
            out = out + motion.forces_of(b, p, wrench[:3] + np.stack(moment, axis=-1), force)
        return out

    def _point(self, motion: Motion, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Return where point i of the model is, and its velocity (k, 3)."""
        b = int(self.tables.points.body[i])
        p = motion.x[b] + motion.R[b] @ self.tables.points.p_B[i]
        return p, motion.velocity(b, p)

    def _formula(self, program: int, motion: Motion, coordinate: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """Return (k,) the value of a formula of the scene."""
        first, last = (int(n) for n in self.tables.programs[program])
        stack: list[np.ndarray] = []
        for operation, argument in self.tables.codes[first:last].tolist():
            if operation <= op.COM:
                stack.append(self._read(operation, argument, motion, coordinate, rate))
            elif operation == op.POWER:
                stack[-2:] = [_power(*stack[-2:])]
            elif operation <= op.MAX:
                stack[-2:] = [_BINARY[operation](*stack[-2:])]
            else:
                stack[-1] = _UNARY[operation](stack[-1])
        return stack[0]

    def _read(
        self, operation: int, argument: int, motion: Motion, coordinate: np.ndarray, rate: np.ndarray
    ) -> np.ndarray:
        """Return (k,) a number of the state that a formula reads."""
        tables, k = self.tables, len(coordinate)
        if operation in _ANSWERS:
            what = _ANSWERS[operation]
            raise LinearError(
                f"a formula of a force or a controller reads a {what}, which has no linear model here; disable it"
            )
        if operation == op.CONSTANT:
            return np.full(k, tables.constants[argument])
        if operation == op.TIME:
            return np.full(k, self.t)
        if operation == op.COORDINATE:
            return coordinate[:, argument]
        if operation == op.RATE:
            return rate[:, argument]
        if operation in (op.POSITION, op.VELOCITY):
            return self._point(motion, argument // 3)[int(operation == op.VELOCITY)][:, argument % 3]
        if operation == op.ROTATION:
            b = next(b for b, link in enumerate(motion.links) if link.body == argument // 9)
            R_WB = motion.R[b] @ motion.links[b].R_KB
            return R_WB[:, argument % 9 // 3, argument % 3]
        moments = [link.mass * (motion.x[b] + motion.R[b] @ link.com_K) for b, link in enumerate(motion.links)]
        return sum(moments)[:, argument] / math.fsum(link.mass for link in motion.links)


def _of_ball(what: int, about: int, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (k,) angle, swing or twist of rotation vectors r (k, 3), and (k, 3) which way each grows, in M's axes.

    See `sim.kernels.spatial`.
    """
    size = length(r)[:, None]
    if what == ANGLE:
        return size[:, 0], r / size
    small = size.real < 1e-9
    w, p = np.cos(0.5 * size), np.where(small, 0.5, np.sin(0.5 * size) / np.where(small, 1.0, size)) * r
    a = np.eye(3)[about]
    across = crossed(p, np.broadcast_to(a, p.shape))
    its = a - 2.0 * w * across + 2.0 * crossed(p, across)
    if what == SWING:
        m = crossed(its, np.broadcast_to(a, p.shape))
        sine = length(m)
        return angle(sine, its[:, about]), m / np.where(sine == 0.0, 1.0, sine)[:, None]
    return 2.0 * angle(p[:, about], w[:, 0]), (a + its) / (1.0 + its[:, about])[:, None]


def _power(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a ** b; whole constant exponents without a logarithm, so that negative bases will do."""
    exponent = b.real[0]
    if np.all(b == exponent) and exponent == round(exponent):
        return a ** int(exponent)
    return a**b
