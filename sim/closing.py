"""Closing the loops of large mechanisms: the kernels' own projection, some joints held still.

Dense least squares over all rows take minutes for a thousand loops; the projection that every step of a run
ends with takes milliseconds.
"""

from __future__ import annotations

import numpy as np

from sim.kernels.advance import answer
from sim.kernels.answers import system_of
from sim.kernels.system import START, address
from sim.mechanism import Mechanism
from sim.model import GUARD, Guards, Status, Tables, table

PASSES = 20  # of up to five Newton steps each


def held(tables: Tables, fixed: np.ndarray) -> Tables:
    """Return tables in which the freedoms of a mask keep still: no finite inertia resists like theirs."""
    links, freedoms = tables.links.copy(), tables.freedoms.copy()
    freedoms.armature[fixed] = np.inf
    links.ball[freedoms.owner[fixed]] = -1
    return tables._replace(links=links, freedoms=freedoms)


def acting(mechanism: Mechanism, q: np.ndarray) -> np.ndarray:
    """Return the mask of rows that act at an assembled pose, found by the elimination of every step of a run."""
    guards = Guards(table(GUARD, 0), np.zeros(1, np.int64), np.zeros(5, np.int64))
    system = system_of(mechanism.structure.tables, mechanism.control, mechanism.work, guards)
    y, slope = np.concatenate([q, np.zeros(mechanism.structure.sizes.v + 2)]), np.zeros(0)
    answer(system.answers, START, address(system.places), mechanism.t, y, slope)
    out = np.zeros(len(mechanism.structure.tables.rows), bool)
    out[mechanism.work.rows.order[: int(mechanism.work.one.rank[0])]] = True
    return out


def close(mechanism: Mechanism, q: np.ndarray, v: np.ndarray, fixed: np.ndarray) -> None:
    """Bring q and v to the constraints as near as it goes, moving what is not fixed, least in kinetic energy."""
    guards = Guards(table(GUARD, 0), np.zeros(1, np.int64), np.zeros(5, np.int64))
    tables = held(mechanism.structure.tables, fixed)  # kept: the system knows addresses only
    system = system_of(tables, mechanism.control, mechanism.work, guards)
    y, slope = np.concatenate([q, v, np.zeros(2)]), np.zeros(len(q) + len(v) + 2)
    hard, best = mechanism.hard(), np.inf
    for _ in range(PASSES):
        status = answer(system.answers, START, address(system.places), mechanism.t, y, slope)
        moved, rates = y[: len(q)], y[len(q) : -2]
        mechanism.look(moved, rates)
        residual = float(np.abs(mechanism.work.rows.phi[hard]).max(initial=0.0))
        if not residual < best:
            return
        best = residual
        q[:], v[:] = moved, rates
        if status == Status.OK:
            return
