"""Jacobians and the inertia matrix of a tree as dense arrays, from what kernels have placed."""

from __future__ import annotations

from typing import Any

import numpy as np


def link_jacobians(links: Any, freedoms: Any, link_work: Any, freedom_work: Any) -> np.ndarray:
    """Return (links, 6, nv): angular velocity and velocity of every link's origin for v, world axes."""
    J = np.zeros((len(links), 6, len(freedoms)))
    parent, moved, axis = links["parent"].tolist(), link_work.d, freedom_work.axis
    for b in range(1, len(J)):
        J[b] = J[parent[b]]
        J[b, 3:] += crossed(J[b, :3].T, moved[b]).T
        of_b = np.flatnonzero(freedoms["owner"] == b)
        first = np.where(freedoms["linear"][of_b] == 1, 3, 0)
        for i in range(3):
            J[b, first + i, of_b] = axis[of_b, i]
    return J


def inertia_of(links: Any, freedoms: Any, link_work: Any, freedom_work: Any) -> np.ndarray:
    """Return M (nv, nv), with the armatures of freedoms."""
    J, n = link_jacobians(links, freedoms, link_work, freedom_work), len(freedoms)
    M: np.ndarray = J.reshape(6 * len(J), n).T @ (_spatial(link_work.I) @ J).reshape(6 * len(J), n)
    return M + np.diag(freedoms["armature"])


def terms_of(links: Any, freedoms: Any, link_work: Any, freedom_work: Any) -> np.ndarray:
    """Return (nv,) the magnitudes of what the diagonal of M is the sum of: what its roundoff is measured by."""
    J = np.abs(link_jacobians(links, freedoms, link_work, freedom_work))
    return np.asarray(np.einsum("bik,bij,bjk->k", J, np.abs(_spatial(link_work.I)), J) + freedoms["armature"])


def _spatial(I: np.ndarray) -> np.ndarray:  # noqa: E741
    """Return (links, 6, 6) inertias about the links' origins."""
    m, h, xx, yy, zz, xy, xz, yz = np.split(I, [1, 4, 5, 6, 7, 8, 9], axis=1)
    out = np.zeros((len(I), 6, 6))
    out[:, :3, :3] = np.stack([xx, xy, xz, xy, yy, yz, xz, yz, zz], axis=1).reshape(-1, 3, 3)
    out[:, :3, 3:] = -np.cross(h[:, None, :], np.eye(3))
    out[:, 3:, :3] = np.transpose(out[:, :3, 3:], (0, 2, 1))
    out[:, 3:, 3:] = m[:, :, None] * np.eye(3)
    return out


def crossed(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a x b along the last axis; what numpy's own does, in a tenth of its time for few vectors."""
    x, y, z = a[..., 0], a[..., 1], a[..., 2]
    u, v, w = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([y * w - z * v, z * u - x * w, x * v - y * u], axis=-1)
