"""What a mechanism answers to all that acts on it: accelerations, forces of rows, friction that follows from them."""

from __future__ import annotations

from sim.kernels.dynamics import (
    apply_forces,
    drive_power,
    factorise,
    free_response,
    move,
    solve_loops,
)
from sim.kernels.jit import chapter
from sim.kernels.system import FEED, RUB, ask, unpack
from sim.model import Status


@chapter
def forward_dynamics(system, tables, work, t, q, v):
    """work.freedoms.vdot and work.rows.force (multipliers) at a state.  Returns a status.

    closed-chains-1999, section 3.2, by multipliers instead of unit vectors; the papers' way is in
    `sim.formulation` and both are tested against each other.
    """
    move(system, q, v)
    status = factorise(system, 0)
    if status == Status.OK:
        status = act(system, t, q, v)
    if status != Status.OK:
        return status
    status = respond(system)
    drive_power(tables.rows, work.keeps, work.rows, work.one)
    return status


@chapter
def act(system, t, q, v):
    """Apply all forces; needs `factorise` where formulas read forces.  Returns a status."""
    tables, control, work, _ = unpack(system)
    status = Status.OK
    if tables.late.size > 0 and control.acts[2] == 0:
        status = ask(work.answers, FEED, system, t, q, v)
    apply_forces(system, t, q, v)
    return status


@chapter
def respond(system):
    """Multipliers and vdot to what was applied; needs `factorise`.  Returns a status."""
    tables, _, work, _ = unpack(system)
    if tables.one.sliding[0] > 0:
        return ask(work.answers, RUB, system, 0.0, work.reply, work.reply)
    free_response(system)
    solve_loops(system)
    return Status.OK
