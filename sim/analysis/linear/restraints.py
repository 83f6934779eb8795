"""Rows of everything that restrains, and coordinates of joints, in the same words as `sim.kernels.rows.constraints`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sim.analysis.linear.complex_step import angle, crossed, dot, length, quaternion_of, rotation_vector
from sim.analysis.linear.poses import Motion
from sim.kernels.shapes import CYLINDER
from sim.kernels.tables import AXLE_ROW, EDGE_ROW, UNIVERSAL_ROW, Tables


class Block:
    """The two frames of a loop in k states: F on link a, M on link b; of what rolls, M is the lowest point.

    p, e : (k, 3) where M is, and from F to there
    w_rel, u_rel, extra : (k, 3) once `move` was called: relative motion of M against F's link; the acceleration that
        comes from M moving along b
    """

    w_rel: Any
    u_rel: Any
    extra: Any

    def __init__(self, tables: Tables, n: int, motion: Motion):
        block = tables.blocks[n]
        self.motion, self.column, self.quaternion = motion, int(block.column), int(block.quaternion)
        self.columns = tables.columns[self.column : self.column + (0 if block.slips else int(block.freedoms))]
        self.mate, self.code, self.factor = int(block.mate), int(block.code), float(block.factor)
        self.a, self.b = int(block.a), int(block.b)
        self.rolls, self.ring, self.tube = bool(block.rolls), float(block.ring), float(block.tube)
        A, B = motion.R[self.a], motion.R[self.b]
        self.F, self.M = A @ block.R_aF.reshape(3, 3), B @ block.R_bM.reshape(3, 3)
        self.radii = np.asarray(block.radii, float)
        self.centre = motion.x[self.b] + B @ block.p_bM
        self.p, O = self.centre, motion.x[self.a] + A @ block.p_aF  # noqa: E741
        self.ground, self.bend, self.drawn = int(block.ground), float(block.bend), self.F
        if self.ground:
            self.F = self._under(self.centre - O)
            O = O + self.bend * self.F[:, :, 2]  # noqa: E741
        if self.rolls:
            self.p = self.centre + self._arm()[0]
        self.e = self.p - O

    def _under(self, way: np.ndarray) -> np.ndarray:
        """Return F's axes where it stands on a round ground, from the way of M from its centre."""
        x, y, z = (self.drawn[:, :, k] for k in range(3))
        if self.ground == CYLINDER:
            way = way - dot(way, y)[:, None] * y
        n = math.copysign(1.0, self.bend) / length(way)[:, None] * way
        if self.ground == CYLINDER:
            return np.stack([crossed(y, n), y, n], axis=2)
        t = x - (dot(x, n) / (1.0 + dot(z, n)))[:, None] * (z + n)
        return np.stack([t, crossed(n, t), n], axis=2)

    def _turning(self) -> np.ndarray:
        """Return the angular velocity (k, 3) of F, which turns against its link where the ground is round."""
        w_a = self.motion.w[self.a]
        if not self.ground:
            return w_a
        x, y, z = (self.drawn[:, :, k] for k in range(3))
        rate = self.motion.velocity(self.b, self.centre) - self.motion.velocity(self.a, self.centre)
        way = self.bend * self.F[:, :, 2] + self.e - self._arm()[0]
        if self.ground == CYLINDER:
            way, rate = (a - dot(a, y)[:, None] * y for a in (way, rate))
        n = self.F[:, :, 2]
        n_dot = math.copysign(1.0, self.bend) / length(way)[:, None] * (rate - dot(rate, n)[:, None] * n)
        w = w_a + crossed(n, n_dot)
        if self.ground == CYLINDER:
            return w
        c, s = 1.0 + dot(z, n), dot(x, n)
        t_dot = (s * dot(z, n_dot) / c**2 - dot(x, n_dot) / c)[:, None] * (z + n) - (s / c)[:, None] * n_dot
        return w + dot(self.F[:, :, 1], t_dot)[:, None] * n

    def _arm(self) -> tuple[np.ndarray, ...]:
        """Return from the centre of a torus to its lowest point, and unit and size of the way there in the disc.

        Of an ellipsoid A z over its size, the unit -z, and that size.
        """
        z, y = self.F[:, :, 2], self.M[:, :, 1]
        if self.radii[0] > 0.0:
            h = self._stretched(z)
            size = dot(h, z) ** 0.5
            return -h / size[:, None], -z, size
        arm = -self.tube * z
        if self.ring == 0.0:
            return arm, z, np.ones(len(z))
        h = z - dot(z, y)[:, None] * y
        size = length(h)
        d = -h / size[:, None]
        return arm + self.ring * d, d, size

    def _stretched(self, u: np.ndarray) -> np.ndarray:
        """Return A u (k, 3) for the ellipsoid u.A^-1 u = 1."""
        along = np.einsum("kij,ki->kj", self.M, u) * self.radii**2
        return np.asarray(np.einsum("kij,kj->ki", self.M, along))

    def move(self) -> None:
        """Fill relative velocities; needs `Motion.move`."""
        motion = self.motion
        w_a, w_b = motion.w[self.a], motion.w[self.b]
        self.w_rel = w_b - w_a
        self.u_rel = motion.velocity(self.b, self.p) - motion.velocity(self.a, self.p)
        self.extra = np.zeros(self.p.shape)
        if self.rolls:
            _, d, size = self._arm()
            z, y = self.F[:, :, 2], self.M[:, :, 1]
            z_dot, y_dot = crossed(self._turning(), z), crossed(w_b, y)
            arm_dot = -self.tube * z_dot
            if self.radii[0] > 0.0:
                h = self._stretched(z)
                h_dot = crossed(w_b, h) + self._stretched(z_dot - crossed(w_b, z))
                size_dot = (dot(h_dot, z) + dot(h, z_dot)) / (2.0 * size)
                arm_dot = (-h_dot + (size_dot / size)[:, None] * h) / size[:, None]
            elif self.ring > 0.0:
                tilt_dot = dot(z_dot, y) + dot(z, y_dot)
                h_dot = z_dot - tilt_dot[:, None] * y - dot(z, y)[:, None] * y_dot
                across = h_dot - dot(h_dot, d)[:, None] * d
                arm_dot = arm_dot - self.ring / size[:, None] * across
            # The material at the lowest point changes: it moves along b by `along`.
            along = arm_dot - crossed(w_b, self.p - self.centre)
            self.extra = crossed(self.w_rel, along)

    def direction(self, code: int) -> np.ndarray:
        """Return the unit direction (k, 3) of a row or of a freedom, by its code; see `sim.kernels.tables`."""
        if code == UNIVERSAL_ROW:
            return crossed(self.M[:, :, 2], self.F[:, :, 0])
        if code in (AXLE_ROW, EDGE_ROW):
            s = self._sideways(code)
            return s / length(s)[:, None]
        return self.M[:, :, code - 7] if code > UNIVERSAL_ROW else self.F[:, :, code % 3]

    def _sideways(self, code: int) -> np.ndarray:
        z = self.F[:, :, 2]
        if code == EDGE_ROW:
            return crossed(z, self.M[:, :, 0])
        y = self.M[:, :, 1]
        return y - dot(z, y)[:, None] * z

    def _direction_rate(self, code: int) -> np.ndarray:
        """Return the time derivative of `direction`."""
        w_a, w_b = self.motion.w[self.a], self.motion.w[self.b]
        if code == UNIVERSAL_ROW:
            z, x = self.M[:, :, 2], self.F[:, :, 0]
            return crossed(crossed(w_b, z), x) + crossed(z, crossed(w_a, x))
        if code in (AXLE_ROW, EDGE_ROW):
            z = self.F[:, :, 2]
            z_dot = crossed(w_a, z)
            if code == EDGE_ROW:
                x = self.M[:, :, 0]
                s_dot = crossed(z_dot, x) + crossed(z, crossed(w_b, x))
            else:
                y = self.M[:, :, 1]
                y_dot = crossed(w_b, y)
                s_dot = y_dot - (dot(z_dot, y) + dot(z, y_dot))[:, None] * z - dot(z, y)[:, None] * z_dot
            s = self._sideways(code)
            size = length(s)[:, None]
            e = s / size
            return (s_dot - dot(e, s_dot)[:, None] * e) / size
        return crossed(w_b if UNIVERSAL_ROW < code < AXLE_ROW else self._turning(), self.direction(code))

    def linear(self, code: int) -> bool:
        """Tell whether a row is of relative velocities, not of turning."""
        return code < 3 or AXLE_ROW <= code <= EDGE_ROW

    def row(self, code: int, pitch: float = 0.0) -> np.ndarray:
        """Return (k, nv) with row . v the relative velocity along a row; with a pitch, less this times the turning."""
        if pitch:
            return self.row(code) - pitch * self.row(code + 3)
        motion, e = self.motion, self.direction(code)[:, None, :]
        turning = motion.turning[self.b] - motion.turning[self.a]
        if not self.linear(code):
            return dot(turning, e)
        moving = motion.of_point(self.b, self.p) - motion.of_point(self.a, self.p)
        return dot(moving, e)

    def drift(self, code: int, pitch: float = 0.0) -> np.ndarray:
        """Return (k,) the time derivative of that relative velocity with zero vdot; needs `move`."""
        if pitch:
            return self.drift(code) - pitch * self.drift(code + 3)
        motion, e, e_dot = self.motion, self.direction(code), self._direction_rate(code)
        bend = motion.alpha[self.b] - motion.alpha[self.a]
        if not self.linear(code):
            return dot(e, bend) + dot(e_dot, self.w_rel)
        # The point of a that M is over moves against a, as M does.
        d = motion.acceleration(self.b, self.p) - motion.acceleration(self.a, self.p) + self.extra
        d = d - crossed(motion.w[self.a], self.u_rel)
        return dot(e, d) + dot(e_dot, self.u_rel)

    def coordinates(self, turn: np.ndarray) -> list[np.ndarray]:
        """Return the coordinates of the joint, (k,) each; turn: (freedoms,) rad, near which angles are meant."""
        R, out = np.swapaxes(self.F, 1, 2) @ self.M, []
        entry = R.reshape(len(R), 9)
        for i, code in enumerate(self.freedoms()):
            row = self.columns[i]
            if row.sense:
                value = angle(row.sense * entry[:, row.sine], entry[:, row.cosine])
                out.append(_near(value, turn[i]))
            elif self.linear(code):
                out.append(dot(self.direction(code), self.e))
        if self.quaternion >= 0:
            r = rotation_vector(quaternion_of(R))
            out += [r[:, i] for i in range(3)]
        return out

    def freedoms(self) -> list[int]:
        """Return the codes of the joint's freedoms."""
        codes: list[int] = self.columns.code.tolist()
        return codes


def _near(value: np.ndarray, remembered: float) -> np.ndarray:
    return value + 2.0 * math.pi * np.round((remembered - value.real) / (2.0 * math.pi))
