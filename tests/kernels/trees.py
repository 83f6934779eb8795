"""Trees of links as tables alone, with joints of all kinds, every number at random."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from sim.kernels import inertia, kinematics
from sim.kernels.scratch import FREEDOM_WORK, LINK_WORK
from sim.kernels.tables import LINK, table
from tests.kernels.kinds import (
    CYLINDRICAL,
    FIXED,
    FREE,
    NQ,
    PITCH,
    PLANAR,
    ROTATIONAL,
    SCREW,
    SPHERICAL,
    TRANSLATIONAL,
    UNIVERSAL,
    lay_out,
)
from tests.kernels.plain import plain
from tests.support.rotations import random_matrix

# On which link each hangs, and by which joint: every kind, on the world and on what moves; two that end a branch.
EVERY_KIND = (
    (0, FREE), (1, UNIVERSAL), (2, SPHERICAL), (1, CYLINDRICAL), (3, PLANAR), (5, ROTATIONAL), (3, TRANSLATIONAL),
    (7, SPHERICAL), (0, PLANAR), (9, SCREW),
)  # fmt: skip


class Tree:
    """Links, freedoms and scratch.

    places : of each link, on which it hangs, and by which kind of joint; rotors : armature in every freedom of these
    """

    def __init__(self, seed: int, places: Sequence[tuple[int, str]] = EVERY_KIND, rotors: Sequence[int] = (2, 4, 8)):
        rng, count = np.random.default_rng(seed), len(places) + 1
        self.rng, self.links, self.work = rng, table(LINK, count), table(LINK_WORK, count)
        self.kinds = [FIXED, *(kind for _, kind in places)]
        self.freedoms = lay_out(self.links, self.kinds[1:])
        for b, (parent, _) in enumerate(places, 1):
            link = self.links[b]
            link.parent, link.column, link.joint = parent, link.v, b - 1
        self.links.ball = np.where(np.isin(np.arange(count), rotors), -1, self.links.quaternion)
        nq, nv, owner = sum(NQ[kind] for _, kind in places), len(self.freedoms), self.freedoms.owner
        self.links.body = np.arange(count)
        self.freedom_work = table(FREEDOM_WORK, nv)
        self.freedoms.armature = np.where(np.isin(owner, rotors), rng.uniform(0.1, 0.5, nv), 0.0)
        for b in range(count):
            self.links.R_PF[b], self.links.p_PF[b] = random_matrix(rng).ravel(), rng.normal(size=3)
            self.links.R_KB[b], self.links.p_KB[b] = random_matrix(rng).ravel(), rng.normal(size=3)
            self.links.mass[b], self.links.com_K[b] = rng.uniform(0.5, 2.0), rng.normal(0, 0.5, 3)
            A = rng.normal(0, 0.4, (3, 3))
            J = np.trace(A @ A.T) * np.eye(3) - A @ A.T
            self.links.inertia_K[b] = J[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        above = self.links.parent[1:]
        self.links.leaf = ~np.isin(np.arange(count), above)
        for up in np.unique(above):
            self.links.leads[1 + np.flatnonzero(above == up)[-1]] = 1
        self.q, self.v = rng.normal(size=nq), rng.normal(size=nv)
        self.work.R[0] = np.eye(3).ravel()

    @property
    def tree(self) -> tuple:
        return self.links, self.freedoms, self.work, self.freedom_work

    def look(self, q: np.ndarray, v: np.ndarray) -> None:
        """Fill poses, velocities and inertias."""
        plain(kinematics.poses)(self.links, self.freedoms, q, self.work, self.freedom_work)
        plain(kinematics.velocities)(self.links, self.freedoms, v, self.work, self.freedom_work)
        plain(inertia.link_inertias)(self.links, self.work)

    def jacobians(self, q: np.ndarray) -> np.ndarray:
        """Return (links, 6, nv) of angular velocities and velocities of origins."""
        J = np.zeros((len(self.links), 6, len(self.v)))
        for k, unit in enumerate(np.eye(len(self.v))):
            self.look(q, unit)
            J[:, :, k] = self.work.V
        return J

    def inertias(self) -> np.ndarray:
        """Return (links, 6, 6) about origins, world axes, from the tables and the poses of now."""
        out = np.zeros((len(self.links), 6, 6))
        for b in range(1, len(out)):
            R, m = self.work.R[b].reshape(3, 3), self.links.mass[b]
            J = R @ self.links.inertia_K[b][[[0, 3, 4], [3, 1, 5], [4, 5, 2]]] @ R.T
            c = np.cross(np.eye(3), R @ self.links.com_K[b])
            out[b] = np.block([[J - m * c @ c, m * c], [-m * c, m * np.eye(3)]])
        return out

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return M (nv, nv), the sum over links, with armatures."""
        J = self.jacobians(q)
        return np.einsum("bik,bij,bjl->kl", J, self.inertias(), J) + np.diag(self.freedoms.armature)


def joint_pose(kind: str, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return place and axes of a joint's frame M in F, by its coordinates."""
    p, R = np.zeros(3), np.eye(3)
    if kind in (ROTATIONAL, CYLINDRICAL, PLANAR, SCREW):
        R = Rotation.from_euler("z", q[-1]).as_matrix()
    if kind in (TRANSLATIONAL, CYLINDRICAL):
        p[2] = q[0]
    if kind == SCREW:
        p[2] = PITCH * q[0]
    if kind in (PLANAR, FREE):
        p[: 2 + (kind == FREE)] = q[: 2 + (kind == FREE)]
    if kind == UNIVERSAL:
        R = (Rotation.from_euler("x", q[0]) * Rotation.from_euler("z", q[1])).as_matrix()
    if kind in (SPHERICAL, FREE):
        R = Rotation.from_quat(np.roll(q[-4:], -1)).as_matrix()
    return p, R


def moved(tree: Tree, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
    """Return coordinates after a displacement dq of the freedoms; rotations in their own axes."""
    out = q.copy()
    for link in tree.links[1:]:
        own = dq[link.v : link.v + link.nv]
        if link.quaternion >= 0:
            slides = link.quaternion - link.v
            out[link.q : link.q + slides] += own[:slides]
            at = slice(link.q + slides, link.q + slides + 4)
            turn = Rotation.from_quat(np.roll(q[at], -1)) * Rotation.from_rotvec(own[slides:])
            out[at] = np.roll(turn.as_quat(), 1)
        else:
            out[link.q : link.q + link.nv] += own
    return out
