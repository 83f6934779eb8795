"""The equations of motion of one structure, dense, over real and complex states: what the kernels solve, once more.

    M vdot + bias = tau + J^T lambda,    J vdot = gamma

Rows of armatures on loops are inertia; of rows that repeat others as many are kept as are independent in the pose
that is linearised about.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sim.analysis.linear.acting import Acting, LinearError
from sim.analysis.linear.complex_step import turned_by
from sim.analysis.linear.poses import Motion, links_of
from sim.analysis.linear.restraints import Block
from sim.kernels import jets
from sim.kernels.scratch import ROW_WORK
from sim.kernels.tables import EDGE_ROW, RATES_ONLY, Tables, table

RANK = 1e-7  # singular values below this, relative to the largest, are zero
STEP = 1e-30  # of the complex step
PASSES = 20  # where freedoms are lent inertia


class Answer(NamedTuple):
    """What k states answer.

    vdot : (k, nv); inputs : (k, nv, columns) what vdot gains of a unit torque of each column
    """

    vdot: np.ndarray
    inputs: np.ndarray


class Equations:
    """One structure at one time.

    want : (rows, 3) coordinate, rate, acceleration of driven freedoms
    hard, positions : masks of rows that hold, and of those that hold positions
    kept : hard rows that are independent
    """

    def __init__(self, tables: Tables, acting: Acting):
        self.tables, self.acting = tables, acting
        self.links, self.nv = links_of(tables), len(tables.freedoms)
        rows = tables.rows
        if np.any(rows.code > EDGE_ROW):
            raise LinearError("a spherical joint rests at its stop, which has no linear model")
        if np.any(tables.blocks.slips):
            raise LinearError("a constraint that lets go (`holds`) has no linear model; leave its threshold out")
        columns = (rows[name].tolist() for name in ("block", "code", "scale", "pitch"))
        self.rows = list(zip(*columns, strict=True))
        self.hard = np.asarray(rows.compliance) == 0.0
        self.positions = self.hard & (np.asarray(rows.locked) != RATES_ONLY)
        self.driven = np.asarray(rows.motion) >= 0
        self.kept = np.flatnonzero(self.hard)
        self.want = self.wanted(acting.t)

    def wanted(self, t: float) -> np.ndarray:
        """Return (rows, 3) coordinate, rate, acceleration that driven freedoms have at time t; zero of the others."""
        tables, out = self.tables, np.zeros((len(self.tables.rows), 3))
        if self.driven.any():
            work = table(ROW_WORK, len(out))
            jets.drive(tables.rows, tables.codes, tables.constants, tables.programs, t, np.zeros((64, 3)), work)
            out[self.driven] = work.want[self.driven]
        return out

    def choose_rows(self, q: np.ndarray) -> None:
        """Keep as many hard rows as are independent at q (nq,), by pivots."""
        hard = np.flatnonzero(self.hard)
        self.kept = hard[independent_rows(self.jacobian(q[None])[0][hard])]

    def beside(self, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        """Return (k, nq) states beside q (nq,), by dq (k, nv) in the freedoms' own axes; right to first order in dq."""
        out = np.repeat(q[None].astype(dq.dtype), len(dq), axis=0)
        for link in self.links[1:]:
            a, k, plain = link.q, link.v, link.plain
            out[:, a : a + plain] += dq[:, k : k + plain]
            if link.quaternion >= 0:
                a, k = a + plain, link.quaternion
                out[:, a : a + 4] = turned_by(out[:, a : a + 4], dq[:, k : k + 3])
        return out

    def _blocks(self, motion: Motion) -> list[Block]:
        return [Block(self.tables, n, motion) for n in range(len(self.tables.blocks))]

    def _rows(self, motion: Motion, blocks: list[Block]) -> np.ndarray:
        out = np.zeros((motion.x.shape[1], len(self.rows), self.nv), motion.dtype)
        for r, (block, code, scale, pitch) in enumerate(self.rows):
            out[:, r] = scale * _of_row(blocks, block, code, pitch, Block.row)
        return out

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """Return J (k, rows, nv) of all rows."""
        motion = Motion(self.tables, self.links, q)
        return self._rows(motion, self._blocks(motion))

    def vdot(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return accelerations (k, nv) of k states, q (k, nq) and v (k, nv), that keep to the rows."""
        return self.answer(q, v, with_inputs=False).vdot

    def answer(self, q: np.ndarray, v: np.ndarray, with_inputs: bool = True) -> Answer:
        """Return accelerations of k states, as `vdot` does, and what unit torques change them by."""
        motion = Motion(self.tables, self.links, q)
        motion.move(v)
        blocks = self._blocks(motion)
        for block in blocks:
            block.move()
        J, gamma = self._rows(motion, blocks), self._gamma(blocks, v)
        M, bias = motion.inertia_and_bias()
        tau = self.acting.torques(motion, blocks, q, v) - bias
        soft = ~self.hard
        if soft.any():
            J_s = J[:, soft]
            M = M + np.swapaxes(J_s, 1, 2) @ J_s
            tau = tau + np.einsum("krv,kr->kv", J_s, gamma[:, soft])
        inputs = self._inputs(blocks, tau) if with_inputs else np.zeros((*tau.shape, 0))
        J, gamma, m = J[:, self.kept], gamma[:, self.kept], len(self.kept)
        left = np.concatenate(
            [
                np.concatenate([M, -np.swapaxes(J, 1, 2)], axis=2),
                np.concatenate([J, np.zeros((len(J), m, m))], axis=2),
            ],
            axis=1,
        )
        right = np.zeros((len(J), self.nv + m, 1 + inputs.shape[2]), np.result_type(left, tau))
        right[:, : self.nv, 0], right[:, self.nv :, 0], right[:, : self.nv, 1:] = tau, gamma, inputs
        found = np.linalg.solve(left, right)[:, : self.nv]
        lent = np.asarray(self.tables.freedoms.lent)[:, None]
        for _ in range(PASSES if lent.any() else 0):  # gives back what that inertia took; see `sim.mechanism.lending`
            more = right.astype(found.dtype)
            more[:, : self.nv] += lent * found
            found = np.linalg.solve(left, more)[:, : self.nv]
        return Answer(found[:, :, 0], found[:, :, 1:])

    def _gamma(self, blocks: list[Block], v: np.ndarray) -> np.ndarray:
        """Return J vdot (k, rows) that the rows ask for."""
        out = np.zeros((len(v), len(self.rows)), np.result_type(v, *(block.p for block in blocks[:1])))
        for r, (block, code, scale, pitch) in enumerate(self.rows):
            out[:, r] = scale * (self.want[r, 2] - _of_row(blocks, block, code, pitch, Block.drift))
        return out

    def _inputs(self, blocks: list[Block], tau: np.ndarray) -> np.ndarray:
        """Return (k, nv, columns) what unit torques of columns do along the freedoms."""
        out = np.zeros((*tau.shape, len(self.tables.columns)), tau.dtype)
        for link in self.links[1:]:
            k, c, nv = link.v, link.column, link.nv
            out[:, range(k, k + nv), range(c, c + nv)] = 1.0
        for block in blocks:
            for c, code in enumerate(block.freedoms(), start=block.column):
                out[:, :, c] += block.row(code)
        return out


def _of_row(blocks: list[Block], n: int, code: int, pitch: float, part: Callable[..., np.ndarray]) -> np.ndarray:
    """Return what a row is in block n, and in the block of a gear's second freedom beside."""
    own, mate = part(blocks[n], code, pitch), blocks[n].mate
    return own if mate < 0 else own + blocks[mate].factor * part(blocks[mate], blocks[mate].code)


def independent_rows(J: np.ndarray) -> np.ndarray:
    """Return as many rows of J as are independent, the largest pivots first, in their order."""
    A = J.copy()
    largest, taken = float(np.linalg.norm(A, axis=1).max(initial=0.0)), []
    for _ in range(min(A.shape)):
        size = np.linalg.norm(A, axis=1)
        r = int(np.argmax(size))
        if not size[r] > RANK * largest:
            break
        e = A[r] / size[r]
        A = A - np.outer(A @ e, e)
        A[r] = 0.0
        taken.append(r)
    return np.array(sorted(taken), int)


def null_space(J: np.ndarray, independent: np.ndarray) -> np.ndarray:
    """Return N (nv, freedoms) with J N = 0 whose rows of the independent freedoms are a unit matrix."""
    nv = J.shape[1]
    dependent = np.setdiff1d(np.arange(nv), independent)
    N = np.zeros((nv, len(independent)), J.dtype)
    N[independent] = np.eye(len(independent))
    if len(dependent):
        N[dependent] = -np.linalg.lstsq(J[:, dependent], J[:, independent], rcond=None)[0]
    return N
