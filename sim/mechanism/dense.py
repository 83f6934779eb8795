"""Jacobians and the inertia matrix of a tree as dense arrays, from what kernels have placed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np


def link_jacobians(links: Any, freedoms: Any, link_work: Any, freedom_work: Any) -> np.ndarray:
    """Return (links, 6, nv): angular velocity and velocity of every link's origin for v, world axes."""
    out = np.zeros((len(links), 6, len(freedoms)))
    for own, of_own, J in _trees(links, freedoms, link_work, freedom_work):
        out[own, :, of_own] = J
    return out


def _trees(links: Any, freedoms: Any, link_work: Any, freedom_work: Any) -> Iterator[tuple[slice, slice, np.ndarray]]:
    """Yield the links of each tree, its freedoms, and (links, 6, freedoms) what the ones do with the others.

    A tree is what hangs on the world by one joint: links in depth-first order are those of one after the other.
    """
    first = [*(np.flatnonzero(links["parent"][1:] == 0) + 1).tolist(), len(links)]
    column = np.searchsorted(freedoms["owner"], first).tolist()
    for start, stop, low, high in zip(first, first[1:], column, column[1:], strict=False):
        own, of_own = slice(start, stop), slice(low, high)
        parent, moved, axis = links["parent"][own].tolist(), link_work.d[own], freedom_work.axis[of_own]
        owner, linear = freedoms["owner"][of_own] - start, freedoms["linear"][of_own]
        pitch = freedoms["pitch"][of_own]
        J = np.zeros((stop - start, 6, high - low))
        for b in range(len(J)):
            if b:
                J[b] = J[parent[b] - start]
                J[b, 3:] += crossed(J[b, :3].T, moved[b]).T
            of_b = np.flatnonzero(owner == b)
            rows = np.where(linear[of_b] == 1, 3, 0)
            for i in range(3):
                J[b, rows + i, of_b] = axis[of_b, i]
            for k in of_b[pitch[of_b] != 0.0]:
                J[b, 3:, k] = pitch[k] * axis[k]
        yield own, of_own, J


def inertia_of(links: Any, freedoms: Any, link_work: Any, freedom_work: Any) -> np.ndarray:
    """Return M (nv, nv), with the armatures of freedoms."""
    M = np.diag(freedoms["armature"])
    for own, of_own, J in _trees(links, freedoms, link_work, freedom_work):
        rows = 6 * len(J)
        n = J.shape[2]
        M[of_own, of_own] += J.reshape(rows, n).T @ (spatial_inertias(link_work.I[own]) @ J).reshape(rows, n)
    return M


def terms_of(links: Any, freedoms: Any, link_work: Any, freedom_work: Any) -> np.ndarray:
    """Return (nv,) the magnitudes of what the diagonal of M is the sum of: what its roundoff is measured by."""
    out = np.array(freedoms["armature"])
    for own, of_own, J in _trees(links, freedoms, link_work, freedom_work):
        out[of_own] += np.einsum("bik,bij,bjk->k", np.abs(J), np.abs(spatial_inertias(link_work.I[own])), np.abs(J))
    return out


def spatial_inertias(I: np.ndarray) -> np.ndarray:  # noqa: E741
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
    x, y, z = (a[..., i] for i in range(a.shape[-1]))  # which fails where these are not three
    u, v, w = (b[..., i] for i in range(b.shape[-1]))
    return np.stack([y * w - z * v, z * u - x * w, x * v - y * u], axis=-1)
