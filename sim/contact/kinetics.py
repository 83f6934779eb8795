"""What impulses at points of contact do to a mechanism, its joints holding: W M^-1 W^T and the way back to v."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

import numpy as np

from sim.contact.soft_points import SoftPoint
from sim.contact.stops import Bounded, rows_of
from sim.kernels.orthogonal import Factors
from sim.kernels.shapes import STICK
from sim.kernels.unilateral.contact_kinetics import Rows, put_delassus, put_mass_matrix, put_row_jacobian
from sim.mechanism.mechanism import Mechanism

CUT = 1e-12  # as in sim.kernels.rows.constraints: squared relative singular values below this are zero


class Kinetics:
    """A mechanism as last looked at, whose closed points of contact have three rows each, as bounded freedoms have.

    G : (3k, 3k) W M^-1 W^T in the order (normal, two tangents) of each point, joints eliminated; contacts come first
    W : (3k, nv)
    points : rows of the structure's touches
    bounded : freedoms that the structure holds, and soft points, of which that is asked as of points of contact
    """

    def __init__(self, mechanism: Mechanism, bounded: Sequence[Bounded | SoftPoint] = ()):
        self.mechanism, J = mechanism, rows_of_all(mechanism)
        kinds = _kinds_of(mechanism)
        self.points, self.rows, self._held_rows = kinds.points, kinds.rows, kinds.held
        soft, held = J[kinds.soft], J[kinds.held]
        self._of_bounded = rows_of(mechanism, bounded)
        self.W = np.concatenate([J[self.rows], self._of_bounded @ J]) if bounded else J[self.rows]
        p, (h, n) = len(self.W), held.shape
        found = Rows(
            self.W, held, np.empty((p, n)), np.empty((p, n)), np.empty((p, h)), np.empty((h, n)),
            np.empty((min(h, n), n)), np.empty((p, p)),
        )  # fmt: skip
        most = max(h, n)
        room = Factors(
            np.empty((n, h)), np.empty(h), np.empty(h), np.empty(most), np.empty(most), np.empty(h, np.int64)
        )
        if put_delassus(mass_matrix(mechanism), soft, np.sqrt(CUT), room, found) >= 0:
            raise np.linalg.LinAlgError("a freedom has no inertia")
        # What joints answer to impulses of the points: their own impulses, of least norm.
        self._answer, self._change, self.G = found.answer_work.T, found.change_work.T, found.G_work

    def rates(self, v: np.ndarray) -> np.ndarray:
        """Return W v (3k,) [m/s]."""
        out: np.ndarray = self.W @ v
        return out

    def accelerations(self, vdot: np.ndarray) -> np.ndarray:
        """Return the accelerations (3k,) [m/s^2] of the points with these vdot, as last looked at."""
        of_rows = self.mechanism.work.rows.gamma
        gamma = of_rows[self.rows]
        if len(self._of_bounded):
            gamma = np.concatenate([gamma, self._of_bounded @ of_rows])
        out: np.ndarray = self.W @ vdot - gamma
        return out

    def change(self, P: np.ndarray) -> np.ndarray:
        """Return the change of v (nv,) by impulses P (3k,)."""
        out: np.ndarray = self._change @ P
        return out

    def impulses(self, P: np.ndarray) -> np.ndarray:
        """Return impulses of all rows (rows,): of the points, and what joints answer."""
        out = np.zeros(len(self.mechanism.structure.tables.rows))
        out[self.rows] = P[: len(self.rows)]
        out += self._of_bounded.T @ P[len(self.rows) :]
        out[self._held_rows] = self._answer @ P
        return out

    def first(self, count: int) -> Kinetics:
        """Return the same of the first points alone."""
        if 3 * count == len(self.W):
            return self
        out, n = copy(self), 3 * count
        out.W, out.G = self.W[:n], self.G[:n, :n]
        out._change, out._answer = self._change[:, :n], self._answer[:, :n]
        out._of_bounded = self._of_bounded[: n - len(self.rows)]
        return out


class _Kinds(NamedTuple):
    """Points that have three rows, these rows, and all others that are soft, or hold."""

    points: np.ndarray
    rows: np.ndarray
    soft: np.ndarray
    held: np.ndarray


def _kinds_of(mechanism: Mechanism) -> _Kinds:
    """Return which row is what, found once for all structures with the same tables."""
    tables, known = mechanism.structure.tables, mechanism.structure.known
    if "kinds" not in known:
        points = np.flatnonzero(tables.touches.mode == STICK)
        first = tables.blocks.row[tables.touches.block[points]]
        hard = mechanism.hard()
        asked = (tables.blocks.touch[tables.rows.block] >= 0) | (tables.rows.low < tables.rows.high)
        soft, held = np.flatnonzero(~hard), np.flatnonzero(hard & ~asked)
        known["kinds"] = _Kinds(points, (first[:, None] + np.array([2, 0, 1])).ravel(), soft, held)
    found: _Kinds = known["kinds"]
    return found


def rows_of_all(mechanism: Mechanism) -> np.ndarray:
    """Return J (rows, nv) of all rows as last looked at, as `Mechanism.jacobian`."""
    tables, work = mechanism.structure.tables, mechanism.work
    J = np.zeros((len(tables.rows), mechanism.structure.sizes.v))
    put_row_jacobian(
        tables.blocks, tables.freedoms, tables.support, work.links, work.freedoms, work.blocks, work.rows, J
    )
    return J


def mass_matrix(mechanism: Mechanism) -> np.ndarray:
    """Return M (nv, nv), its lower triangle alone, as last looked at, as `Mechanism.inertia`."""
    tables, work = mechanism.structure.tables, mechanism.work
    M, inertia = np.zeros((mechanism.structure.sizes.v,) * 2), np.empty((len(tables.links), 10))
    put_mass_matrix(tables.links, tables.freedoms, work.links, work.freedoms, inertia, M)
    return M
