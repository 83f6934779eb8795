"""Poses, velocities and bias accelerations of all links, and how they follow the freedoms; many states at once.

Everything has the states first: (k, ...).  Spatial quantities are those of `sim.kernels.kinematics`: angular and linear
parts in world axes about each link's own origin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sim.analysis.linear.complex_step import crossed, matrix_of, turned_about
from sim.kernels.tables import Tables


@dataclass(frozen=True)
class Link:
    """A row of the links' table: looking into a table costs more than the arithmetic."""

    parent: int
    quaternion: int
    bends: int
    rides: int
    q: int
    v: int
    nv: int
    column: int
    body: int
    p_PF: np.ndarray
    R_PF: np.ndarray
    mass: float
    com_K: np.ndarray
    inertia_K: np.ndarray
    p_KB: np.ndarray
    R_KB: np.ndarray

    @property
    def plain(self) -> int:
        """Number of its coordinates that are those of slides and turns one by one: all but a ball's."""
        return self.quaternion - self.v if self.quaternion >= 0 else self.nv


def links_of(tables: Tables) -> list[Link]:
    """Return the links of a structure."""
    out = []
    for row in np.asarray(tables.links):
        parent, quaternion, bends, rides, q, v, nv, column, body = (
            int(row[name]) for name in ("parent", "quaternion", "bends", "rides", "q", "v", "nv", "column", "body")
        )
        xx, yy, zz, xy, xz, yz = row["inertia_K"]
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        R_PF, R_KB = row["R_PF"].reshape(3, 3), row["R_KB"].reshape(3, 3)
        out.append(
            Link(
                parent, quaternion, bends, rides, q, v, nv, column, body, row["p_PF"], R_PF, float(row["mass"]),
                row["com_K"], inertia, row["p_KB"], R_KB,
            )
        )  # fmt: skip
    return out


class Motion:
    """The tree in k states: where its links are, and once `move` was called how they move.

    x, R : (links, k, 3) and (links, k, 3, 3), p_WK and R_WK
    axis : (nv, k, 3) of the freedoms, world axes
    turning, moving : (links, k, nv, 3) angular velocity and velocity of the origin that unit rates give
    w, u : (links, k, 3) angular velocity, velocity of the origin
    alpha, a : (links, k, 3) accelerations with zero vdot, in a frame that falls with gravity
    """

    w: Any
    u: Any
    alpha: Any
    a: Any

    def __init__(self, tables: Tables, links: list[Link], q: np.ndarray):
        self.tables, self.links, self.dtype = tables, links, q.dtype
        self.linear, self.pitch = np.asarray(tables.freedoms.linear).tolist(), tables.freedoms.pitch.tolist()
        self.along = tables.freedoms.along.tolist()
        k, nv = len(q), len(tables.freedoms)
        self.x = np.zeros((len(links), k, 3), q.dtype)
        self.R = np.zeros((len(links), k, 3, 3), q.dtype)
        self.R[0] = np.eye(3)
        self.d = np.zeros((len(links), k, 3), q.dtype)  # from the parent's origin to this one's
        self.axis = np.zeros((nv, k, 3), q.dtype)
        self.turning = np.zeros((len(links), k, nv, 3), q.dtype)
        self.moving = np.zeros((len(links), k, nv, 3), q.dtype)
        for b in range(1, len(links)):
            self._place(b, q)
            self._follow(b)

    def _place(self, b: int, q: np.ndarray) -> None:
        link = self.links[b]
        p, first, plain = link.parent, link.v, link.plain
        own = q[:, link.q :]
        R = self.R[p] @ link.R_PF
        d = self.R[p] @ link.p_PF
        for i in range(plain):
            axis, x = self.along[first + i], own[:, i]
            if self.linear[first + i]:
                d = d + R[:, :, axis] * x[:, None]
            else:
                R = R @ turned_about(axis, x)
                d = d + R[:, :, axis] * (self.pitch[first + i] * x[:, None]) if self.pitch[first + i] else d
            self.axis[first + i] = R[:, :, axis]
        if link.quaternion >= 0:
            R = R @ matrix_of(own[:, plain : plain + 4])
            for i in range(3):
                self.axis[link.quaternion + i] = R[:, :, i]
        self.R[b], self.d[b], self.x[b] = R, d, self.x[p] + d

    def _follow(self, b: int) -> None:
        link = self.links[b]
        p = link.parent
        self.turning[b] = self.turning[p]
        self.moving[b] = self.moving[p] + crossed(self.turning[p], self.d[b][:, None, :])
        for i in range(link.v, link.v + link.nv):
            (self.moving if self.linear[i] else self.turning)[b][:, i] = self.axis[i]
            if self.pitch[i]:
                self.moving[b][:, i] = self.pitch[i] * self.axis[i]

    def move(self, v: np.ndarray) -> None:
        """Fill velocities, and accelerations with zero vdot, at rates v (k, nv)."""
        links, linear = self.links, self.linear
        dtype = np.result_type(self.dtype, v.dtype)
        self.w, self.u, self.alpha, self.a = (np.zeros(self.x.shape, dtype) for _ in range(4))
        self.a[0] = -self.tables.one.gravity_W[0]
        for b in range(1, len(links)):
            p, k, nv = links[b].parent, links[b].v, links[b].nv
            own = [self.axis[i] * v[:, i : i + 1] for i in range(k, k + nv)]
            turn = sum((r for i, r in enumerate(own) if not linear[k + i]), np.zeros(3))
            slide = sum((r for i, r in enumerate(own) if linear[k + i]), np.zeros(3))
            slide = slide + sum(self.pitch[k + i] * r for i, r in enumerate(own) if self.pitch[k + i])
            w, d = self.w[p], self.d[b]
            swept = crossed(w, d)
            bend = crossed(w, np.broadcast_to(turn, w.shape))
            if links[b].bends:  # its second axis turns about the first
                bend = bend + crossed(own[0], own[1])
            self.w[b], self.u[b], self.alpha[b] = w + turn, self.u[p] + swept + slide, self.alpha[p] + bend
            self.a[b] = self.a[p] + crossed(self.alpha[p], d) + crossed(w, swept + 2.0 * slide)

    def of_point(self, b: int, p: np.ndarray) -> np.ndarray:
        """Return (k, nv, 3): velocity of link b's material at p (k, 3) that unit rates give."""
        return self.moving[b] + crossed(self.turning[b], (p - self.x[b])[:, None, :])

    def velocity(self, b: int, p: np.ndarray) -> np.ndarray:
        """Return the velocity (k, 3) of link b's material at p."""
        return self.u[b] + crossed(self.w[b], p - self.x[b])

    def acceleration(self, b: int, p: np.ndarray) -> np.ndarray:
        """Return the acceleration (k, 3) of link b's material at p with zero vdot."""
        arm = p - self.x[b]
        return self.a[b] + crossed(self.alpha[b], arm) + crossed(self.w[b], crossed(self.w[b], arm))

    def inertia_and_bias(self) -> tuple[np.ndarray, np.ndarray]:
        """Return M (k, nv, nv) with the armatures of the tree, and (k, nv) torques that zero vdot asks for.

        Newton and Euler for each link about its centre of mass, along the freedoms.
        """
        nv, k = len(self.axis), self.x.shape[1]
        M = np.zeros((k, nv, nv), self.dtype) + np.diag(self.tables.freedoms.armature)
        bias = np.zeros((k, nv), self.w.dtype)
        for b, link in enumerate(self.links[1:], start=1):
            m, com = link.mass, self.x[b] + self.R[b] @ link.com_K
            inertia = self.R[b] @ link.inertia_K @ np.swapaxes(self.R[b], 1, 2)
            U, W = self.of_point(b, com), self.turning[b]
            M = M + m * U @ np.swapaxes(U, 1, 2) + W @ inertia @ np.swapaxes(W, 1, 2)
            force = m * self.acceleration(b, com)
            spin = np.einsum("kij,kj->ki", inertia, self.w[b])
            moment = np.einsum("kij,kj->ki", inertia, self.alpha[b]) + crossed(self.w[b], spin)
            bias = bias + np.einsum("kvi,ki->kv", U, force) + np.einsum("kvi,ki->kv", W, moment)
        return M, bias

    def forces_of(self, b: int, p: np.ndarray, moment: np.ndarray, force: np.ndarray) -> np.ndarray:
        """Return (k, nv) what a moment and a force at p on link b do along the freedoms."""
        out: np.ndarray = np.einsum("kvi,ki->kv", self.turning[b], moment)
        return out + np.einsum("kvi,ki->kv", self.of_point(b, p), force)
