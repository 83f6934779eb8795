"""Freedoms that no inertia resists by itself, and the inertia that elimination is lent for them.

The rotation of a point mass that flies, a thin rod that spins about itself, a pulley without mass: M is singular
along z, M z = 0, and elimination along the tree has a pivot of zero there.  M + E is regular, with an inertia e on as
many freedoms as there are such directions, and

    (M + E) x_{n+1} = tau + E x_n + J^T lambda,    J x_{n+1} = gamma

comes to the solution of M (`sim.kernels.accelerations.respond`): with the first x where nothing acts along z, as E x
is zero then; by a small share of what is left each time where rows of loops and gears move mass along z.  Where neither
holds, E x grows without end, and the acceleration is infinite.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sim.kernels.inertia import link_inertias
from sim.kernels.kinematics import poses
from sim.kernels.scratch import FREEDOM_WORK, LINK_WORK
from sim.kernels.tables import table
from sim.mechanism.dense import inertia_of, terms_of

SINGULAR = 1e-13  # an eigenvalue of M, scaled by its terms, that is roundoff
SHARE = 1e-4  # of the mass of all, and of this times the squared size: what is lent


def needs_help(links: Any) -> bool:
    """Tell whether a body is so thin that M may be singular: without mass, or without inertia about some axis."""
    xx, yy, zz, xy, xz, yz = links.inertia_K[1:].T
    J = np.stack([xx, xy, xz, xy, yy, yz, xz, yz, zz], axis=1).reshape(-1, 3, 3)
    least = np.linalg.eigvalsh(J)[:, 0] if len(J) else np.zeros(0)
    return bool(np.any(least <= SINGULAR * np.abs(J).max(axis=(1, 2), initial=0.0)))


def lent(links: Any, freedoms: Any, nq: int, length: float) -> np.ndarray:
    """Return (nv,) the inertia that each freedom is lent [kg or kg m^2]: zero but where M is singular in any pose.

    length: m, size of the mechanism
    """
    out = np.zeros(len(freedoms))
    if not len(out) or not needs_help(links):
        return out
    for rows, z in _still(*at_any_pose(links, freedoms, nq)):
        linear = np.asarray(freedoms.linear)[rows] == 1
        # Rotations first: they are of no consequence where nothing turns, while a place is seen.
        left = np.where(linear, 1e-3 / length, 1.0)[:, None] * z
        size = np.where(linear, 1.0, length**2) * SHARE * max(float(links.mass.sum()), 1e-300)
        for _ in range(z.shape[1]):
            k = int(np.argmax(np.linalg.norm(left, axis=1)))
            out[rows[k]] = size[k]
            along = left[k] / np.linalg.norm(left[k])
            left = left - np.outer(left @ along, along)
    return out


def still(M: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """Return (nv, directions) independent rates along which no mass moves: M of them is zero.

    terms : (nv,) magnitudes that the diagonal of M is the sum of
    """
    out, column = np.zeros((len(M), len(M))), 0
    for rows, z in _still(M, terms):
        out[rows, column : column + z.shape[1]] = z
        column += z.shape[1]
    return out[:, :column]


def _still(M: np.ndarray, terms: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield what `still` returns block by block: its rows, and the rates of these."""
    size = np.sqrt(np.where(terms > 0.0, terms, 1.0))
    for rows in _blocks(M):
        values, vectors = np.linalg.eigh(M[np.ix_(rows, rows)] / np.outer(size[rows], size[rows]))
        yield rows, np.asarray(vectors[:, values <= SINGULAR * len(M)] / size[rows, None])


def _blocks(M: np.ndarray) -> list[np.ndarray]:
    """Return the rows of each block of M, of bodies that hang on one another: a scene may have hundreds of them."""
    here = np.arange(len(M))
    filled = M != 0.0
    last = np.where(filled.any(axis=1), len(M) - 1 - np.argmax(filled[:, ::-1], axis=1), here)
    ends = np.flatnonzero(np.maximum.accumulate(np.maximum(last, here)) == here) + 1  # freedoms of a tree are together
    return np.split(here, ends[:-1])


def at_any_pose(links: Any, freedoms: Any, nq: int) -> tuple[np.ndarray, np.ndarray]:
    """Return M (nv, nv) and its terms at a pose that is like no other."""
    link_work, freedom_work = table(LINK_WORK, len(links)), table(FREEDOM_WORK, len(freedoms))
    links, freedoms = links.copy(), freedoms.copy()
    links.flags.writeable = freedoms.flags.writeable = False  # as the tables that kernels were compiled for
    link_work.R[0] = np.eye(3).ravel()
    poses(links, freedoms, np.random.default_rng(5).normal(size=nq), link_work, freedom_work)
    link_inertias(links, link_work)
    tree = links, freedoms, link_work, freedom_work
    return inertia_of(*tree), terms_of(*tree)
