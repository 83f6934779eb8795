"""What a mechanism answers to all that acts on it: accelerations, forces of rows, friction that follows from them."""

from __future__ import annotations

from sim.kernels.chosen import least_norm, null_vectors
from sim.kernels.dynamics import (
    apply_forces,
    drive_power,
    factorise,
    free_response,
    go_inward,
    move,
    solve_loops,
)
from sim.kernels.jit import chapter, kernel, story
from sim.kernels.lu import factorise_lu, solve_lu
from sim.kernels.system import unpack
from sim.kernels.touches import rub, rubbing_power
from sim.model import SLIP, Status


@chapter
def forward_dynamics(system, tables, work, t, q, v):
    """work.freedoms.vdot and work.rows.force (multipliers) at a state.  Returns a status.

    closed-chains-1999, section 3.2, by multipliers instead of unit vectors; the papers' way is in
    `sim.formulation` and both are tested against each other.
    """
    move(system, q, v)
    apply_forces(system, t, q, v)
    status = factorise(system, 0)
    if status != Status.OK:
        return status
    status = respond(system)
    drive_power(tables.rows, work.keeps, work.rows, work.one)
    return status


@chapter
def respond(system):
    """Multipliers and vdot to what was applied; needs `factorise`.  Returns a status."""
    tables, _, _, _ = unpack(system)
    if tables.one.sliding[0] > 0:
        return slide(system)
    free_response(system)
    solve_loops(system)
    return Status.OK


@story
def slide(system):
    """`respond` where points of contact slide: their friction follows their normal forces, which it changes.

    The normal forces f of sliding points are linear in the frictions that they make: f = f0 + S f.  The columns
    of S are found one by one.  Where rows repeat one another, f is the choice of least norm.  Returns a status.
    """
    tables, _, work, _ = unpack(system)
    touches, blocks, S, n = tables.touches, tables.blocks, work.feedback, work.feedback_order.size
    spare = 0
    if work.one.rank[0] < tables.rows.block.size:
        spare = null_vectors(system)
    for r in range(work.rows.force.size):
        work.rows.force[r] = 0.0
    free_response(system)
    solve_loops(system)
    least_norm(work.N, spare, work.rows)
    normal_forces(touches, blocks, work.rows, S[n])
    i = 0
    for k in range(touches.kind.size):
        if touches.mode[k] == SLIP:
            lone_friction(system, k)
            least_norm(work.N, spare, work.rows)
            gather_column(touches, blocks, work.rows, i, S)
            i += 1
    if not factorise_lu(S[:n], work.feedback_order):
        return Status.JAMMED
    solve_lu(S[:n], work.feedback_order, S[n])
    i = 0
    for k in range(touches.kind.size):
        if touches.mode[k] == SLIP:
            rub(touches, k, S[n, i], work.links, work.touches, work.links.wrench)
            i += 1
    for r in range(work.rows.force.size):
        work.rows.force[r] = 0.0
    free_response(system)
    solve_loops(system)
    rubbing_power(touches, work.touches, S, work.one.power)
    return Status.OK


@kernel
def normal_forces(touches, blocks, row_work, f_out):
    """Forces of the rows of sliding points into f_out."""
    i = 0
    for k in range(touches.kind.size):
        if touches.mode[k] == SLIP:
            f_out[i] = row_work.force[blocks.row[touches.block[k]]]
            i += 1


@kernel
def gather_column(touches, blocks, row_work, column, S_out):
    """Column of 1 - S from the forces of rows."""
    i = 0
    for k in range(touches.kind.size):
        if touches.mode[k] == SLIP:
            S_out[i, column] = (1.0 if i == column else 0.0) - row_work.force[blocks.row[touches.block[k]]]
            i += 1


@story
def lone_friction(system, k):
    """Forces of rows to the friction of a unit normal force at sliding point k, and nothing else."""
    tables, _, work, _ = unpack(system)
    for r in range(work.rows.rhs.size):
        work.rows.rhs[r] = work.rows.force[r] = 0.0
    for i in range(work.freedoms.y.size):
        work.freedoms.y[i] = 0.0
    for b in range(work.links.F.shape[0]):
        for i in range(6):
            work.links.F[b, i] = 0.0
    rub(tables.touches, k, -1.0, work.links, work.touches, work.links.F)  # F is what links need, not what they get
    go_inward(tables, work)
    solve_loops(system)
