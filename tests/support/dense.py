"""Inertia matrix and bias forces of a mechanism in dense numpy, link by link, from velocities alone."""

from __future__ import annotations

import numpy as np

from sim.mechanism.mechanism import Mechanism


def cross(a: np.ndarray) -> np.ndarray:
    """Return (3, 3) with cross(a) @ b = a x b."""
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def link_jacobians(mechanism: Mechanism, q: np.ndarray) -> np.ndarray:
    """Return (links, 6, nv): angular velocity and velocity of each link's origin by unit speeds, world axes."""
    n = mechanism.structure.sizes.v
    J = np.zeros((mechanism.structure.sizes.links, 6, n))
    for k in range(n):
        mechanism.update(q, np.eye(n)[k])
        J[:, :, k] = mechanism.work.links.V
    return J


def link_inertias(mechanism: Mechanism) -> np.ndarray:
    """Return (links, 6, 6) spatial inertia about each link's origin, world axes, from the tables of the model."""
    links, R = mechanism.structure.tables.links, mechanism.work.links.R.reshape(-1, 3, 3)
    found = np.zeros((len(links), 6, 6))
    for b in range(1, len(links)):
        xx, yy, zz, xy, xz, yz = links.inertia_K[b]
        c = cross(R[b] @ links.com_K[b])
        m = links.mass[b]
        about_com = R[b] @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R[b].T
        found[b] = np.block([[about_com - m * c @ c, m * c], [-m * c, m * np.eye(3)]])
    return found


def inertia_and_bias(mechanism: Mechanism, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return M (nv, nv) with the armatures of the tree's joints, and (nv,) the torques of zero acceleration.

    Leaves the mechanism looked at in (q, v).
    """
    J = link_jacobians(mechanism, q)
    mechanism.update(q, v)
    work, inertias = mechanism.work, link_inertias(mechanism)
    M, bias = np.diag(mechanism.structure.tables.freedoms.armature.astype(float)), np.zeros(len(v))
    for b in range(1, len(J)):
        M = M + J[b].T @ inertias[b] @ J[b]
        w, u = work.links.V[b, :3], work.links.V[b, 3:]
        angular, linear = inertias[b][:3] @ np.r_[w, 0 * u], inertias[b][3:] @ np.r_[w, 0 * u]
        # A is the acceleration of the origin itself: only the turning of the momentum about it is left.
        force = inertias[b] @ work.links.A[b] + np.r_[np.cross(w, angular), np.cross(w, linear)]
        bias = bias + J[b].T @ force
    return M, bias
