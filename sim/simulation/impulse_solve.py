"""Impulses on large mechanisms: the forward dynamics of a run, asked at rest.

    M v+ = M v- + push + J^T P,  J v+ = 0

is the equation of motion of the mechanism standing still, without gravity and springs, under the momenta as
torques: v+ stands for the accelerations, P for the forces.  So loops are eliminated along the tree, and where
rows repeat others the impulses are those of least norm, as recorded forces are.
"""

from __future__ import annotations

import numpy as np

from sim.kernels.advance import answer
from sim.kernels.answers import system_of
from sim.kernels.status import Status
from sim.kernels.system import WATCH, address
from sim.kernels.tables import FORCE, Control, Tables, table
from sim.kernels.watched import GUARD, Guards
from sim.mechanism.mechanism import Mechanism, make_control


def strike(mechanism: Mechanism, q: np.ndarray, momentum: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return velocities (nv,) and impulses of the rows (rows,) [N s]; None where the kernels find none.

    Parameters
    ----------
    mechanism : Mechanism
        Without drives, and without armatures in loops.
    q : (nq,) coordinates; the mechanism is left as looked at there, standing still
    momentum : (nv,) M v- and the impulses from outside, by freedom
    """
    structure = mechanism.structure
    tables = _bare(structure.tables)
    control = _pushed(mechanism, momentum)
    # A guard that reads forces has everything about an instant found; there is none to evaluate.
    guards = Guards(table(GUARD, 0), np.ones(1, np.int64), np.zeros(5, np.int64))
    system = system_of(tables, control, mechanism.work, guards)  # knows addresses only: the arrays are kept here
    y = np.concatenate([q, np.zeros(structure.sizes.v + 2)])
    status = answer(system.answers, WATCH, address(system.places), mechanism.t, y, np.zeros(1))
    work = mechanism.work
    return (work.freedoms.vdot.copy(), work.rows.force.copy()) if status == Status.OK else None


def _bare(tables: Tables) -> Tables:
    """Return tables in which nothing acts by itself: no gravity, springs, dampers and forces."""
    one, columns = tables.one.copy(), tables.columns.copy()
    one.gravity_W[0] = 0.0
    columns.stiffness[:] = columns.damping[:] = 0.0
    return tables._replace(one=one, columns=columns, forces=table(FORCE, 0))


def _pushed(mechanism: Mechanism, momentum: np.ndarray) -> Control:
    """Return controls that hold a torque for each freedom of the tree, stops and controllers off."""
    control = make_control(mechanism.model, len(mechanism.control.enabled))
    control.enabled[:] = 0
    control.acts[0] = 1
    control.turn[:] = mechanism.control.turn
    links = mechanism.structure.tables.links
    owner = np.asarray(mechanism.structure.tables.freedoms.owner)
    freedoms = np.arange(len(momentum))
    control.held[links["column"][owner] + freedoms - links["v"][owner]] = momentum
    return control
