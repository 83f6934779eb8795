"""What impulses at points of contact do to a mechanism, its joints holding: W M^-1 W^T and the way back to v."""

from __future__ import annotations

import numpy as np

from sim.mechanism import Mechanism
from sim.model import STICK

CUT = 1e-12  # as in sim.kernels.constraints: squared relative singular values below this are zero


class Kinetics:
    """A mechanism as last looked at, whose closed points of contact have three rows each.

    G : (3k, 3k) W M^-1 W^T in the order (normal, two tangents) of each point, joints eliminated
    W : (3k, nv)
    points : (k,) rows of the structure's touches
    """

    def __init__(self, mechanism: Mechanism):
        tables = mechanism.structure.tables
        self.mechanism = mechanism
        self.points = np.flatnonzero(tables.touches.mode == STICK)
        first = tables.blocks.row[tables.touches.block[self.points]]
        self.rows = (first[:, None] + np.array([2, 0, 1])).ravel()
        J, hard = mechanism.jacobian(), mechanism.hard()
        of_touches = tables.blocks.touch[tables.rows.block] >= 0
        soft, held = J[~hard], J[hard & ~of_touches]
        self.W = J[self.rows]
        L = np.linalg.cholesky(mechanism.inertia() + soft.T @ soft)
        Y = np.linalg.solve(L, self.W.T)
        self._held_rows = np.flatnonzero(hard & ~of_touches)
        if len(held):
            U, s, Vt = np.linalg.svd(np.linalg.solve(L, held.T), full_matrices=False)
            keep = s > np.sqrt(CUT) * s[0]
            # What joints answer to impulses of the points: their own impulses, of least norm.
            self._answer = -(Vt[keep].T / s[keep]) @ (U[:, keep].T @ Y)
            Y = Y - U[:, keep] @ (U[:, keep].T @ Y)
        else:
            self._answer = np.zeros((0, Y.shape[1]))
        self._change = np.linalg.solve(L.T, Y)
        self.G = Y.T @ Y

    def rates(self, v: np.ndarray) -> np.ndarray:
        """Return W v (3k,) [m/s]."""
        out: np.ndarray = self.W @ v
        return out

    def accelerations(self, vdot: np.ndarray) -> np.ndarray:
        """Return the accelerations (3k,) [m/s^2] of the points with these vdot, as last looked at."""
        out: np.ndarray = self.W @ vdot - self.mechanism.work.rows.gamma[self.rows]
        return out

    def change(self, P: np.ndarray) -> np.ndarray:
        """Return the change of v (nv,) by impulses P (3k,)."""
        out: np.ndarray = self._change @ P
        return out

    def impulses(self, P: np.ndarray) -> np.ndarray:
        """Return impulses of all rows (rows,): of the points, and what joints answer."""
        out = np.zeros(len(self.mechanism.structure.tables.rows))
        out[self.rows] = P
        out[self._held_rows] = self._answer @ P
        return out
