"""Newton's and Euler's equations recursively, in Zhu's virtual decomposition: eqs. (30)-(54) of the paper.

A wrench is a force, then a moment; a velocity a linear, then an angular one; both in the axes of a frame, about its
origin.  Frame B_k of link k is its own (`walker`), A_k has the same axes and stands at its centre of mass.  The walker
is planar, and turns about z; wrenches have six components all the same, as in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim.analysis.biped.walker import GROUND, Friction, Walker

ALONG = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0])  # z of a revolute hinge, remark 9


def skew(a: np.ndarray) -> np.ndarray:
    """Return (3, 3): a x, eq. (32)."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def wrench_transform(R: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Return U (6, 6), eq. (31): tells a wrench of frame A in frame B; its transpose velocities the other way (33).

    R : (3, 3) that turns axes of A into those of B;  r : (3,) m, from B's origin to A's, in B's axes
    """
    U = np.zeros((6, 6))
    U[:3, :3] = U[3:, 3:] = R
    U[3:, :3] = skew(r) @ R
    return U


def about_z(angle: float) -> np.ndarray:
    """Return (3, 3): turns by an angle about z."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


@dataclass(frozen=True)
class LinkDynamics:
    """M_B, C_B(w) and g_B of eq. (45), each of a link in its frame B."""

    M: np.ndarray
    C: np.ndarray
    g: np.ndarray


def link_dynamics(walker: Walker, k: int, angle: float, rate: float) -> LinkDynamics:
    """Form eq. (45) from (40), told in frame B by (42)-(44), for a link's absolute angle and its rate.

    I (w x) + (w x) I of the moments stands for w x I w, as w x w = 0; so C_B is skew, which control asks for.
    """
    U = wrench_transform(np.eye(3), np.r_[walker.com[k], 0.0])
    I_A = np.diag([walker.inertia[k]] * 3)  # about z alone it matters
    w = skew(np.array([0.0, 0.0, rate]))
    M_A, C_A = np.zeros((6, 6)), np.zeros((6, 6))
    M_A[:3, :3], M_A[3:, 3:] = walker.mass[k] * np.eye(3), I_A
    C_A[:3, :3], C_A[3:, 3:] = walker.mass[k] * w, w @ I_A + I_A @ w
    lifted = np.r_[about_z(angle).T @ np.array([0.0, walker.mass[k] * walker.gravity, 0.0]), np.zeros(3)]
    return LinkDynamics(U @ M_A @ U.T, U @ C_A @ U.T, U @ lifted)


@dataclass(frozen=True)
class Decomposed:
    """A walker's links one by one in a state of motion.

    net : (n, 6) f* of each link in its frame B, eq. (45): what acts on it altogether, but for gravity
    up : U of eq. (35) for each link: wrenches of its frame B told in that of its parent; None on the ground
    """

    walker: Walker
    net: np.ndarray
    up: tuple[np.ndarray | None, ...]

    def wrenches(self, outside: dict[int, np.ndarray] | None = None) -> np.ndarray:
        """Return (n, 6): what each link gets through its own hinge, eqs. (48)-(54), from the tips on.

        outside : wrenches on links from elsewhere, in their frames B: of the ground on a foot
        """
        out = self.net.copy()
        for k, wrench in (outside or {}).items():
            out[k] -= wrench
        for k in range(self.walker.links - 1, -1, -1):
            if self.walker.parent[k] != GROUND:
                out[self.walker.parent[k]] += self.up[k] @ out[k]
        return out

    def torques(self, outside: dict[int, np.ndarray] | None = None) -> np.ndarray:
        """Return (n,): z^T f of each hinge, eqs. (55)-(60), of direct drives."""
        return self.wrenches(outside) @ ALONG


def decompose(walker: Walker, q: np.ndarray, rates: np.ndarray, changes: np.ndarray) -> Decomposed:
    """Go from the ground to the tips: velocities (36), their rates, and net wrenches (45).

    q, rates, changes : (n,) absolute angles, their rates and the rates of these
    """
    n = walker.links
    velocity, change, net = np.zeros((n, 6)), np.zeros((n, 6)), np.zeros((n, 6))
    up: list[np.ndarray | None] = []
    spun, sped = walker.turns(rates), walker.turns(changes)
    for k, p in enumerate(walker.parent):
        velocity[k], change[k] = spun[k] * ALONG, sped[k] * ALONG
        if p == GROUND:
            up.append(None)
        else:
            U = wrench_transform(about_z(q[k] - q[p]), np.r_[walker.hinge[k], 0.0])
            brought = U.T @ velocity[p]
            turning = skew(np.array([0.0, 0.0, spun[k]]))
            velocity[k] += brought
            # The axes of B turn against those of its parent by this hinge's rate.
            change[k] += U.T @ change[p] - np.r_[turning @ brought[:3], turning @ brought[3:]]
            up.append(U)
        at = link_dynamics(walker, k, q[k], rates[k])
        net[k] = at.M @ change[k] + at.C @ velocity[k] + at.g
    return Decomposed(walker, net, tuple(up))


def torques(
    walker: Walker, q: np.ndarray, rates: np.ndarray, changes: np.ndarray, friction: Friction | None = None,
    outside: dict[int, np.ndarray] | None = None,
) -> np.ndarray:  # fmt: skip
    """Return tau (n,) of the hinges: what links need (47), and what geared motors and friction take (46)."""
    found = decompose(walker, q, rates, changes).torques(outside)
    if friction is not None:
        found = found + friction.inertia * walker.turns(changes) + friction.torque(walker.turns(rates))
    return found
