"""Poses, velocities and bias accelerations of all links, and how they follow the freedoms; many states at once.

Everything has the states first: (k, ...).  Spatial quantities are those of `sim.kernels.kinematics`: angular and linear
parts in world axes about each link's own origin.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sim.linear.numbers import crossed, matrix_of, turned_about
from sim.model import CYLINDRICAL, FREE, PLANAR, ROTATIONAL, SPHERICAL, TRANSLATIONAL, UNIVERSAL, Tables


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

    def __init__(self, tables: Tables, q: np.ndarray):
        self.tables, self.dtype = tables, q.dtype
        links, k, nv = tables.links, len(q), len(tables.freedoms)
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
        links = self.tables.links
        p, kind, v, nv = int(links.parent[b]), int(links.kind[b]), int(links.v[b]), int(links.nv[b])
        own = q[:, int(links.q[b]) :]
        F = self.R[p] @ links.R_PF[b].reshape(3, 3)
        d, R = self.R[p] @ links.p_PF[b], F
        if kind == ROTATIONAL:
            R = F @ turned_about(2, own[:, 0])
            axes = [R[:, :, 2]]
        elif kind == TRANSLATIONAL:
            d, axes = d + F[:, :, 2] * own[:, :1], [F[:, :, 2]]
        elif kind == CYLINDRICAL:
            R, d, axes = F @ turned_about(2, own[:, 1]), d + F[:, :, 2] * own[:, :1], [F[:, :, 2]] * 2
        elif kind == UNIVERSAL:
            R = F @ turned_about(0, own[:, 0]) @ turned_about(2, own[:, 1])
            axes = [F[:, :, 0], R[:, :, 2]]
        elif kind == PLANAR:
            R, d = F @ turned_about(2, own[:, 2]), d + F[:, :, 0] * own[:, :1] + F[:, :, 1] * own[:, 1:2]
            axes = [F[:, :, i] for i in range(3)]
        elif kind == SPHERICAL:
            R = F @ matrix_of(own[:, :4])
            axes = [R[:, :, i] for i in range(3)]
        elif kind == FREE:
            R, d = F @ matrix_of(own[:, 3:7]), d + np.einsum("kij,kj->ki", F, own[:, :3])
            axes = [F[:, :, i] for i in range(3)] + [R[:, :, i] for i in range(3)]
        else:
            axes = []
        self.R[b], self.d[b], self.x[b] = R, d, self.x[p] + d
        for i in range(nv):
            self.axis[v + i] = axes[i]

    def _follow(self, b: int) -> None:
        links, linear = self.tables.links, self.tables.freedoms.linear
        p, v, nv = int(links.parent[b]), int(links.v[b]), int(links.nv[b])
        self.turning[b] = self.turning[p]
        self.moving[b] = self.moving[p] + crossed(self.turning[p], self.d[b][:, None, :])
        for i in range(v, v + nv):
            (self.moving if linear[i] else self.turning)[b][:, i] = self.axis[i]

    def move(self, v: np.ndarray) -> None:
        """Fill velocities, and accelerations with zero vdot, at rates v (k, nv)."""
        links, linear, gravity = self.tables.links, self.tables.freedoms.linear, self.tables.one.gravity_W[0]
        dtype = np.result_type(self.dtype, v.dtype)
        self.w, self.u, self.alpha, self.a = (np.zeros(self.x.shape, dtype) for _ in range(4))
        self.a[0] = -gravity
        for b in range(1, len(links)):
            p, k, nv = int(links.parent[b]), int(links.v[b]), int(links.nv[b])
            own = [self.axis[i] * v[:, i : i + 1] for i in range(k, k + nv)]
            turn = sum((r for i, r in enumerate(own) if not linear[k + i]), np.zeros(3))
            slide = sum((r for i, r in enumerate(own) if linear[k + i]), np.zeros(3))
            w, d = self.w[p], self.d[b]
            swept = crossed(w, d)
            bend = crossed(w, np.broadcast_to(turn, w.shape))
            if links.kind[b] == UNIVERSAL:  # its second axis turns about the first
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
        links, nv, k = self.tables.links, len(self.axis), self.x.shape[1]
        M = np.zeros((k, nv, nv), self.dtype) + np.diag(self.tables.freedoms.armature)
        bias = np.zeros((k, nv), self.w.dtype)
        for b in range(1, len(links)):
            m, (xx, yy, zz, xy, xz, yz) = float(links.mass[b]), links.inertia_K[b]
            com = self.x[b] + self.R[b] @ links.com_K[b]
            inertia = self.R[b] @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ np.swapaxes(self.R[b], 1, 2)
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
