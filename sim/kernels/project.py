"""Returning to the constraints: positions, then velocities, in the kinetic-energy metric."""

from __future__ import annotations

import math

from sim.kernels.constraints import apply_rows, build_rows, mismatch, project_rhs, solve_rows
from sim.kernels.dynamics import (
    apply_forces,
    factorise,
    free_response,
    move,
    position_residual,
    solve_loops,
    velocity_correction,
    velocity_residual,
)
from sim.kernels.inertia import solve_down
from sim.kernels.jit import chapter, door, story
from sim.kernels.spatial import quaternion_step
from sim.model import FREE, SPHERICAL, Status

CLOSED = 1e-13  # position residual over length at which Newton stops; the recording promises 1e-10 m
UNTOUCHED = 1e-14  # below this nothing is moved: roundoff would be the only change


@door
def normalise(links, q_out):
    """Give every quaternion unit length."""
    kind, qadr = links.kind, links.q
    for b in range(1, kind.size):
        if kind[b] == SPHERICAL or kind[b] == FREE:
            a = qadr[b] + (3 if kind[b] == FREE else 0)
            w, x, y, z = q_out[a], q_out[a + 1], q_out[a + 2], q_out[a + 3]
            s = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
            q_out[a], q_out[a + 1], q_out[a + 2], q_out[a + 3] = s * w, s * x, s * y, s * z


@door
def add_freedoms(links, dq, scale, q_out):
    """q <- q (+) scale * dq, dq in the freedoms' own axes (rotations: structure-varying-1999, eq. (25))."""
    kind, qadr, vadr, nv = links.kind, links.q, links.v, links.nv
    for b in range(1, kind.size):
        a, k = qadr[b], vadr[b]
        if kind[b] == SPHERICAL or kind[b] == FREE:
            if kind[b] == FREE:
                for i in range(3):
                    q_out[a + i] += scale * dq[k + i]
                a, k = a + 3, k + 3
            w, x, y, z = quaternion_step(
                q_out[a], q_out[a + 1], q_out[a + 2], q_out[a + 3], scale * dq[k], scale * dq[k + 1], scale * dq[k + 2]
            )
            q_out[a], q_out[a + 1], q_out[a + 2], q_out[a + 3] = w, x, y, z
        else:
            for i in range(nv[b]):
                q_out[a + i] += scale * dq[k + i]


@chapter
def position_step(tables, work):
    """vdot = -M^-1 J^T G^+ phi, a displacement, for the factors that `work` holds."""
    for k in range(work.freedoms.y.size):
        work.freedoms.y[k] = 0.0
    for r in range(work.rows.rhs.size):
        work.rows.rhs[r] = -work.rows.phi[r]
    solve_rows(work.one.rank[0], work.G, work.rows)
    apply_rows(tables.blocks, tables.support, work.J, work.rows, work.freedoms)
    solve_down(tables.links, tables.freedoms, tables.branch, work.M, work.freedoms)


@chapter
def project_positions(tables, work, q_out, v, moved_out, saved_work):
    """Newton on the loops' residuals with the factors at the start.

    moved_out: (nv,) sum of the corrections.  Leaves `work` moved to the new q, factors where they
    were.  Returns (status, residual [m]).
    """
    length = tables.one.length[0]
    for k in range(moved_out.size):
        moved_out[k] = 0.0
    residual = position_residual(tables, work)
    for _ in range(5):
        if residual <= CLOSED * length:
            break
        position_step(tables, work)
        for i in range(q_out.size):
            saved_work[i] = q_out[i]
        add_freedoms(tables.links, work.freedoms.vdot, 1.0, q_out)
        move(tables, work, q_out, v)
        after = position_residual(tables, work)
        if not after < residual:
            for i in range(q_out.size):
                q_out[i] = saved_work[i]
            move(tables, work, q_out, v)
            residual = position_residual(tables, work)
            break
        residual = after
        for k in range(moved_out.size):
            moved_out[k] += work.freedoms.vdot[k]
    return residual


@chapter
def project_velocities(tables, work, q, v_out):
    """v <- v - M^-1 J^T G^+ J v, twice if the first pass leaves more than roundoff; needs `factorise` at q.

    Returns the residual [m/s].
    """
    residual = 0.0
    for _ in range(2):
        velocity_correction(tables, work)
        for k in range(v_out.size):
            v_out[k] += work.freedoms.vdot[k]
        move(tables, work, q, v_out)
        residual = velocity_residual(tables, work)
        if residual <= 1e-13 * tables.one.length[0]:
            break
    return residual


@story
def project(tables, work, q_out, v_out, moved_out, saved_work):
    """Bring q and v to the constraints; leaves `work` moved and factorised there, rows chosen anew.

    moved_out: (nv,) how far positions were moved.  Returns a status.
    """
    for k in range(moved_out.size):
        moved_out[k] = 0.0
    normalise(tables.links, q_out)
    move(tables, work, q_out, v_out)
    if tables.rows.block.size == 0:
        return factorise(tables, work, True)
    if position_residual(tables, work) > UNTOUCHED * tables.one.length[0]:
        status = factorise(tables, work, False)
        if status != Status.OK:
            return status
        residual = project_positions(tables, work, q_out, v_out, moved_out, saved_work)
        if not residual < 1e-6 * tables.one.length[0]:
            return Status.NO_CLOSURE
    status = factorise(tables, work, True)
    if status == Status.OK:
        project_velocities(tables, work, q_out, v_out)
    return status


@story
def refresh(tables, control, work, t, q, v):
    """work.freedoms.vdot at a state whose position `work` is already factorised for; returns the mismatch of cut rows.

    Velocities may have changed since: bias forces and the rows' gamma are made anew.
    """
    move(tables, work, q, v)
    apply_forces(tables, control, work, t, q, v)
    worst = 0.0
    if tables.rows.block.size > 0:
        build_rows(tables.blocks, tables.rows, work.links, work.blocks, work.rows)
    free_response(tables, control, work)
    if work.one.rank[0] < tables.rows.block.size:
        for r in range(work.rows.rhs.size):
            work.rows.rhs[r] = work.rows.gamma[r]
        project_rhs(tables.blocks, tables.support, work.J, work.freedoms, work.rows)
        worst, row = mismatch(work.one.rank[0], work.G, work.rows)
        if row >= 0:
            work.one.worst[0] = row
    solve_loops(tables, work)
    return worst
