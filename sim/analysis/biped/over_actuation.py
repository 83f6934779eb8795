"""Two feet, six motors, four freedoms: the paper's four procedures, eqs. (61)-(74), and what feet share, (28)-(29).

All are told of a walker whose rear foot stands, which is its ground, and of whose front foot a point, where it turns,
stands without a motor.  The trunk is the body that two legs carry together.  What it gets from the rear leg through its
hinge, f_T1 (fx, fy, moment; 3), settles all: torques and the front foot's wrench are affine in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sim.analysis.biped.double_support import Tip
from sim.analysis.biped.virtual_decomposition import decompose
from sim.analysis.biped.walker import Friction, Walker, turned

PLANAR = np.array([0, 1, 5])  # of a wrench: forces of the plane, moment about z


@dataclass(frozen=True)
class Shared:
    """What torques and the front foot's wrench are for a wrench f_T1 from the rear leg on the trunk.

    torques : (n,) B f_T1 + b;  foot : (3,) B f_T1 + b, force of the ground on the tip in the plane's axes, and the
        moment of a motor there, which is none (71)
    trunk : (3,) f_4* of eq. (48), both in the trunk's axes about its own hinge
    """

    torque_matrix: np.ndarray
    torque_start: np.ndarray
    foot_matrix: np.ndarray
    foot_start: np.ndarray
    trunk: np.ndarray

    def torques(self, f: np.ndarray) -> np.ndarray:
        """Return tau (n,)."""
        return self.torque_matrix @ f + self.torque_start

    def foot(self, f: np.ndarray) -> np.ndarray:
        """Return lambda and tau_cf (3,)."""
        return self.foot_matrix @ f + self.foot_start


def share(
    walker: Walker, trunk: int, tip: Tip, q: np.ndarray, rates: np.ndarray, changes: np.ndarray,
    friction: Friction | None = None,
) -> Shared:  # fmt: skip
    """Find how all depends on the wrench from the rear leg on the trunk, by eqs. (48)-(60).

    trunk : the link that hangs on the rear leg and from which the front leg hangs
    """
    parts = decompose(walker, q, rates, changes)
    chain = _up_to(walker, tip.link)
    if trunk not in chain:
        raise ValueError("the front leg does not hang on the trunk")
    at_tip = turned(q[tip.link], tip.point)

    def outcome(f_T1: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return torques and the wrench at the tip: whatever the trunk lacks comes up through the front leg."""
        free = parts.wrenches()
        lacks = free[trunk, PLANAR] - f_T1
        # `lacks`, at the trunk's own hinge, is what the ground has to give through the tip.
        place = walker.place(q, tip.link, tip.point) - walker.places(q)[trunk]
        force = turned(q[trunk], lacks[:2])
        moment = lacks[2] - (place[0] * force[1] - place[1] * force[0])
        on_foot = np.zeros(6)
        on_foot[:2] = turned(-q[tip.link], force)
        on_foot[5] = moment + at_tip[0] * force[1] - at_tip[1] * force[0]
        tau = parts.torques({tip.link: on_foot})
        if friction is not None:
            tau = tau + friction.inertia * walker.turns(changes) + friction.torque(walker.turns(rates))
        return tau, np.r_[force, moment]

    def affine(pick: int) -> tuple[np.ndarray, np.ndarray]:
        start = outcome(np.zeros(3))[pick]
        return np.stack([outcome(e)[pick] - start for e in np.eye(3)], axis=1), start

    own = parts.net[trunk, PLANAR].copy()
    for k, p in enumerate(walker.parent):
        if p == trunk and k not in chain:  # arms and a head are the trunk's own
            own += (parts.up[k] @ parts.wrenches()[k])[PLANAR]
    return Shared(*affine(0), *affine(1), own)


def _up_to(walker: Walker, link: int) -> list[int]:
    out = []
    while link >= 0:
        out.append(link)
        link = walker.parent[link]
    return out


def least_torques(shared: Shared, weights: np.ndarray) -> np.ndarray:
    """Return f_T1 (3,) with the least tau^T W tau and no moment at the tip, eqs. (65)-(70).

    weights : (n, n) W
    """
    B, b = shared.torque_matrix, shared.torque_start
    a_1, a_2 = shared.foot_matrix[2], shared.foot_start[2]
    inner = np.linalg.inv(B.T @ weights @ B)
    free = -inner @ B.T @ weights @ b
    return free - inner @ a_1 * ((a_1 @ free + a_2) / (a_1 @ inner @ a_1))


def release_internal_forces(shared: Shared, wanted: np.ndarray, weights: np.ndarray, sigma: float = 0.5) -> np.ndarray:
    """Procedure 1, eqs. (61)-(69): f_T1 = sigma f_4* + eta, eta for the least torques; sigma is free."""
    eta = least_torques(_from_internal(shared, sigma), weights)
    return sigma * shared.trunk + eta


def least_trunk_wrench(shared: Shared, wanted: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Procedure 2, eq. (70): f_T1 for the least torques."""
    return least_torques(shared, weights)


def track_reactions(shared: Shared, wanted: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Procedure 3, eq. (71): f_T1 for which the front foot carries what is wanted, and no moment; nothing is left."""
    return np.linalg.solve(shared.foot_matrix, np.r_[wanted, 0.0] - shared.foot_start)


def track_with_internal_forces(shared: Shared, wanted: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Procedure 4, eqs. (72)-(74): eta and sigma of the least size; sigma from 0 to 1, and eta for that."""
    sigma = best_share(shared, wanted)
    B_2, b_2 = shared.foot_matrix, shared.foot_matrix @ shared.trunk
    eta = np.linalg.solve(B_2, np.r_[wanted, 0.0] - shared.foot_start - b_2 * sigma)
    return sigma * shared.trunk + eta


def best_share(shared: Shared, wanted: np.ndarray) -> float:
    """Return sigma of procedure 4, eqs. (73) and (74)."""
    B_2, b_2 = shared.foot_matrix, shared.foot_matrix @ shared.trunk
    found = np.linalg.pinv(np.column_stack([B_2, b_2])) @ (np.r_[wanted, 0.0] - shared.foot_start)
    return float(np.clip(found[3], 0.0, 1.0))


def _from_internal(shared: Shared, sigma: float) -> Shared:
    """Return the same for eta, with f_T1 = sigma f_4* + eta."""
    at = sigma * shared.trunk
    return Shared(shared.torque_matrix, shared.torques(at), shared.foot_matrix, shared.foot(at), shared.trunk)


Procedure = Callable[[Shared, np.ndarray, np.ndarray], np.ndarray]
PROCEDURES: dict[str, Procedure] = {
    "internal_forces": release_internal_forces,
    "trunk_wrench": least_trunk_wrench,
    "reactions": track_reactions,
    "reactions_and_internal_forces": track_with_internal_forces,
}


def front_reaction(walker: Walker, q: np.ndarray, rates: np.ndarray, changes: np.ndarray, share: float) -> np.ndarray:
    """Return lambda (2,) [N] of the front foot, eq. (28): its share of all that is carried, from 0 to 1 within a phase.

    The rear foot carries the rest (29).
    """
    lifted = walker.centre_acceleration(q, rates, changes) + np.array([0.0, walker.gravity])
    return np.asarray(share * walker.mass.sum() * lifted)


__all__ = ["PROCEDURES", "Shared", "best_share", "front_reaction", "share"]
