"""Returning to the constraints: positions, then velocities, in the kinetic-energy metric."""

from __future__ import annotations

import math

from sim.kernels.dynamics import answer_rows, factorise, move, position_residual, velocity_residual
from sim.kernels.jit import kernel, python_kernel, spliced
from sim.kernels.spatial import quaternion_step
from sim.kernels.status import Status

# Position residual over length at which Newton stops, and below which nothing is moved: roundoff would be the only
# change.  Larger: near singular positions what is left turns the direction in which motion goes on.
CLOSED = 1e-14


@python_kernel
def normalise(links, q_out):
    """Give every quaternion unit length."""
    quaternion, qadr, vadr = links.quaternion, links.q, links.v
    for b in range(1, qadr.size):
        if quaternion[b] >= 0:
            a = qadr[b] + quaternion[b] - vadr[b]
            w, x, y, z = q_out[a], q_out[a + 1], q_out[a + 2], q_out[a + 3]
            s = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
            q_out[a], q_out[a + 1], q_out[a + 2], q_out[a + 3] = s * w, s * x, s * y, s * z


@python_kernel
def add_freedoms(links, dq, scale, q_out):
    """q <- q (+) scale * dq, dq in the freedoms' own axes (rotations: structure-varying-1999, eq. (25))."""
    quaternion, qadr, vadr, nv = links.quaternion, links.q, links.v, links.nv
    for b in range(1, qadr.size):
        a, k, t = qadr[b], vadr[b], quaternion[b]
        for i in range((t if t >= 0 else k + nv[b]) - k):
            q_out[a + i] += scale * dq[k + i]
        if t >= 0:
            a, k = a + t - k, t
            w, x, y, z = quaternion_step(
                q_out[a], q_out[a + 1], q_out[a + 2], q_out[a + 3], scale * dq[k], scale * dq[k + 1], scale * dq[k + 2]
            )
            q_out[a], q_out[a + 1], q_out[a + 2], q_out[a + 3] = w, x, y, z


@spliced
def position_step(system, links, work, q_out, v):
    """One Newton step of the positions, q <- q - M^-1 J^T G^+ phi; leaves `work` moved, factors where they were."""
    for r in range(work.rows.rhs.size):
        work.rows.rhs[r] = -work.rows.phi[r]
    answer_rows(system)
    add_freedoms(links, work.freedoms.vdot, 1.0, q_out)
    move(system, q_out, v)


@spliced
def velocity_step(system, tables, work, q, v_out):
    """v <- v - M^-1 J^T G^+ J v; leaves `work` moved.  Needs `factorise` at q and work.rows.slip."""
    for r in range(work.rows.rhs.size):
        work.rows.rhs[r] = -work.rows.slip[r] * (1.0 if tables.rows.compliance[r] == 0.0 else 0.0)
    answer_rows(system)
    for k in range(v_out.size):
        v_out[k] += work.freedoms.vdot[k]
    move(system, q, v_out)


@spliced
def project_positions(system, links, work, length, q_out, v):
    """Newton on the loops' residuals with the factors at the start; returns the residual [m].

    work.moved: sum of the corrections.  Leaves `work` moved to the new q, factors where they were.
    """
    residual = position_residual(system)
    for _ in range(5):
        if residual <= CLOSED * length:
            break
        for i in range(q_out.size):
            work.saved[i] = q_out[i]
        position_step(system, links, work, q_out, v)
        after = position_residual(system)
        if not after < residual:
            for i in range(q_out.size):
                q_out[i] = work.saved[i]
            move(system, q_out, v)
            residual = position_residual(system)
            break
        residual = after
        for k in range(work.moved.size):
            work.moved[k] += work.freedoms.vdot[k]
    return residual


@kernel
def rate_gap(rows, length, row_work):
    """How far the rate of a driven freedom is from the wanted one, in units of size."""
    worst = 0.0
    for r in range(rows.motion.size):
        if rows.motion[r] >= 0:
            unit = length if rows.code[r] < 3 else 1.0
            worst = max(worst, abs(row_work.slip[r]) / rows.scale[r] / (unit + abs(row_work.want[r, 1])))
    return worst


@spliced
def project(system, tables, work, q_out, v_out):
    """Bring q and v to the constraints; leaves `work` moved and factorised there, rows chosen anew.

    work.moved: how far positions were moved, by freedom; work.one.jump: how far driven rates were off.
    Velocities are corrected twice if the first pass leaves more than roundoff.  Returns a status.
    """
    length = tables.one.length[0]
    for k in range(work.moved.size):
        work.moved[k] = 0.0
    normalise(tables.links, q_out)
    move(system, q_out, v_out)
    if tables.rows.block.size == 0:
        return factorise(system, 1)
    if position_residual(system) > CLOSED * length:
        status = factorise(system, 0)
        if status != Status.OK:
            return status
        if not project_positions(system, tables.links, work, length, q_out, v_out) < 1e-6 * length:
            return Status.NO_CLOSURE
    status = factorise(system, 1)
    if status != Status.OK:
        return status
    if tables.one.driven[0]:
        work.one.jump[0] = rate_gap(tables.rows, length, work.rows)
    for _ in range(2):
        velocity_step(system, tables, work, q_out, v_out)
        if velocity_residual(system) <= 1e-13 * length:
            break
    return status


@spliced
def bring_rates(system, tables, work, q, v_out):
    """Bring the velocities of a stage to the constraints, with the rows that were kept; leaves `work` moved there.

    Returns a status.
    """
    move(system, q, v_out)
    status = factorise(system, 0)
    if status == Status.OK:
        velocity_step(system, tables, work, q, v_out)
    return status


@spliced
def bring_near(system, tables, work, q_out, v_out):
    """One Newton step of the positions and one of the velocities, with the rows that were kept.  Returns a status.

    For stages near a singular position, where the way off the constraints would turn the kept rows.
    """
    move(system, q_out, v_out)
    position_residual(system)
    status = factorise(system, 0)
    if status == Status.OK:
        position_step(system, tables.links, work, q_out, v_out)
        status = factorise(system, 0)
    if status == Status.OK:
        velocity_step(system, tables, work, q_out, v_out)
    return status
