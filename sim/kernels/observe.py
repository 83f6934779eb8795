"""Everything that is recorded of one instant: forces of joints, energies, residuals, trust."""

from __future__ import annotations

import math

from sim.kernels.dynamics import (
    apply_forces,
    body_poses,
    columns,
    factorise,
    free_response,
    move,
    position_residual,
    solve_loops,
    velocity_residual,
)
from sim.kernels.forces import link_forces, stop_depth
from sim.kernels.jit import chapter, door, kernel
from sim.kernels.kinematics import accelerations
from sim.model import Status


@kernel
def row_wrenches(blocks, force, link_work, block_work, row_work, wrench_out):
    """Add the wrenches of row forces to both links of every loop."""
    frame, x, row = block_work.frame, link_work.x, row_work.row
    for n in range(blocks.rows.size):
        m0 = m1 = m2 = f0 = f1 = f2 = 0.0
        for r in range(blocks.row[n], blocks.row[n] + blocks.rows[n]):
            s = force[r]
            m0, m1, m2 = m0 + s * row[r, 0], m1 + s * row[r, 1], m2 + s * row[r, 2]
            f0, f1, f2 = f0 + s * row[r, 3], f1 + s * row[r, 4], f2 + s * row[r, 5]
        for side in range(2):
            sign = 1.0 if side == 0 else -1.0
            b = blocks.b[n] if side == 0 else blocks.a[n]
            r0, r1, r2 = frame[n, 0] - x[b, 0], frame[n, 1] - x[b, 1], frame[n, 2] - x[b, 2]
            wrench_out[b, 0] += sign * (m0 + r1 * f2 - r2 * f1)
            wrench_out[b, 1] += sign * (m1 + r2 * f0 - r0 * f2)
            wrench_out[b, 2] += sign * (m2 + r0 * f1 - r1 * f0)
            wrench_out[b, 3] += sign * f0
            wrench_out[b, 4] += sign * f1
            wrench_out[b, 5] += sign * f2


@kernel
def null_vectors(G, row_work, one_work, N_out):
    """Row forces that do nothing: one vector for each cut row, orthonormal.  Returns their number.

    N_out: (rows, rows), vectors in its first rows.
    """
    rank, order, rhs = one_work.rank[0], row_work.order, row_work.rhs
    m = order.size
    count = 0
    for s in range(rank, m):
        c = order[s]
        for r in range(m):
            rhs[r] = 0.0
            N_out[count, r] = 0.0
        for u in range(rank):  # coefficients of the kept rows that make up the cut one
            t = rank - 1 - u
            i = order[t]
            z = G[c, i]
            for w in range(t + 1, rank):
                z -= G[order[w], i] * rhs[order[w]]
            rhs[i] = z / G[i, i]
        N_out[count, c] = 1.0
        for t in range(rank):
            N_out[count, order[t]] = -rhs[order[t]]
        for _ in range(2):
            for p in range(count):
                dot = 0.0
                for r in range(m):
                    dot += N_out[p, r] * N_out[count, r]
                for r in range(m):
                    N_out[count, r] -= dot * N_out[p, r]
        size = 0.0
        for r in range(m):
            size += N_out[count, r] ** 2
        size = 1.0 / math.sqrt(size)
        for r in range(m):
            N_out[count, r] *= size
        count += 1
    return count


@kernel
def least_norm(N, count, row_work):
    """Take out of the row forces what does nothing: the least norm in newtons."""
    force = row_work.force
    for p in range(count):
        dot = 0.0
        for r in range(force.size):
            dot += N[p, r] * force[r]
        for r in range(force.size):
            force[r] -= dot * N[p, r]


@kernel
def carry(links, link_work):
    """Sum link forces F toward the root: what each tree joint transmits to its child."""
    parent, d, F_out = links.parent, link_work.d, link_work.F
    for b in range(parent.size - 1, 0, -1):
        p = parent[b]
        if p > 0:
            f0, f1, f2 = F_out[b, 3], F_out[b, 4], F_out[b, 5]
            F_out[p, 0] += F_out[b, 0] + d[b, 1] * f2 - d[b, 2] * f1
            F_out[p, 1] += F_out[b, 1] + d[b, 2] * f0 - d[b, 0] * f2
            F_out[p, 2] += F_out[b, 2] + d[b, 0] * f1 - d[b, 1] * f0
            F_out[p, 3] += f0
            F_out[p, 4] += f1
            F_out[p, 5] += f2


@kernel
def determinacy(links, blocks, N, count, link_work, block_work, row_work, joint_work):
    """1 for joints whose force is the only one possible, 0 where a null vector passes through."""
    F, determinate_out = link_work.F, joint_work.determinate
    for j in range(determinate_out.size):
        determinate_out[j] = 1.0
    for p in range(count):
        for b in range(links.parent.size):
            for i in range(6):
                F[b, i] = 0.0
        row_wrenches(blocks, N[p], link_work, block_work, row_work, F)
        carry(links, link_work)
        for b in range(1, links.parent.size):
            size = 0.0
            for i in range(6):
                size += F[b, i] ** 2
            if size > 1e-14:
                determinate_out[links.joint[b]] = 0.0
        for n in range(blocks.rows.size):
            for r in range(blocks.row[n], blocks.row[n] + blocks.rows[n]):
                if abs(N[p, r]) > 1e-7:
                    determinate_out[blocks.joint[n]] = 0.0


@kernel
def joint_forces(links, freedoms, blocks, v, link_work, freedom_work, block_work, row_work, joint_work):
    """Wrench of the parent on the child of every joint, about the joint, and where the joint is."""
    frame, row, force, F, x = block_work.frame, row_work.row, row_work.force, link_work.F, link_work.x
    force_out, p_out = joint_work.force, joint_work.p_WJ
    accelerations(links, freedoms, v, link_work, freedom_work)
    for b in range(links.parent.size):
        for i in range(6):
            F[b, i] = 0.0
    row_wrenches(blocks, force, link_work, block_work, row_work, link_work.wrench)
    link_forces(link_work)
    carry(links, link_work)
    for b in range(1, links.parent.size):
        j = links.joint[b]
        for i in range(6):
            force_out[j, i] = F[b, i]
        for i in range(3):
            p_out[j, i] = x[b, i]
    for n in range(blocks.rows.size):
        j = blocks.joint[n]
        for i in range(6):
            s = block_work.own[n, i]
            for r in range(blocks.row[n], blocks.row[n] + blocks.rows[n]):
                s += force[r] * row[r, i]
            force_out[j, i] = s
        for i in range(3):
            p_out[j, i] = frame[n, i]


@door
def energies(columns, stops, engaged, gravity_W, coordinate, rate, link_work, one_work):
    """Kinetic energy (with armatures) and potential energy (gravity, springs, stops) [J]."""
    kinetic, potential = 0.0, 0.0
    I, V, x, g = link_work.I, link_work.V, link_work.x, gravity_W  # noqa: E741
    for b in range(1, x.shape[0]):
        w0, w1, w2, u0, u1, u2 = V[b, 0], V[b, 1], V[b, 2], V[b, 3], V[b, 4], V[b, 5]
        m, hx, hy, hz = I[b, 0], I[b, 1], I[b, 2], I[b, 3]
        kinetic += 0.5 * m * (u0 * u0 + u1 * u1 + u2 * u2)
        kinetic += u0 * (w1 * hz - w2 * hy) + u1 * (w2 * hx - w0 * hz) + u2 * (w0 * hy - w1 * hx)
        kinetic += 0.5 * (I[b, 4] * w0 * w0 + I[b, 5] * w1 * w1 + I[b, 6] * w2 * w2)
        kinetic += I[b, 7] * w0 * w1 + I[b, 8] * w0 * w2 + I[b, 9] * w1 * w2
        potential -= g[0, 0] * (m * x[b, 0] + hx) + g[0, 1] * (m * x[b, 1] + hy) + g[0, 2] * (m * x[b, 2] + hz)
    for c in range(rate.size):
        kinetic += 0.5 * columns.armature[c] * rate[c] ** 2
        if columns.stiffness[c] != 0.0:
            potential += 0.5 * columns.stiffness[c] * (coordinate[c] - columns.rest[c]) ** 2
    for s in range(engaged.size):
        if engaged[s]:
            potential += 0.5 * stops.stiffness[s] * stop_depth(stops, coordinate, s) ** 2
    one_work.energy[0, 0], one_work.energy[0, 1] = kinetic, potential


@kernel
def centres(links, link_work, body_work):
    """World position of every body's centre of mass [m]; massless bodies give their joint."""
    x, I, com_out = link_work.x, link_work.I, body_work.com  # noqa: E741
    for b in range(1, x.shape[0]):
        n, m = links.body[b], I[b, 0]
        for i in range(3):
            com_out[n, i] = x[b, i] + (I[b, 1 + i] / m if m > 0.0 else 0.0)


@chapter
def look(tables, control, work, t, q, v):
    """Poses, columns and energies of a state, without forces."""
    move(tables, work, q, v)
    columns(tables, control, work, q, v)
    body_poses(tables.links, work.links, work.bodies)
    energies(
        tables.columns, tables.stops, control.engaged, tables.one.gravity_W, work.coordinate, work.rate, work.links,
        work.one,
    )  # fmt: skip


@chapter
def plain_residuals(tables, work):
    """Largest residuals of hard rows in m or rad, m/s or rad/s, into work.trust."""
    rows = tables.rows
    position_residual(tables, work)
    velocity_residual(tables, work)
    work.one.trust[0, 0] = work.one.trust[0, 1] = 0.0
    for r in range(rows.block.size):
        if rows.compliance[r] == 0.0:
            work.one.trust[0, 0] = max(work.one.trust[0, 0], abs(work.rows.phi[r]) / rows.scale[r])
            work.one.trust[0, 1] = max(work.one.trust[0, 1], abs(work.rows.slip[r]) / rows.scale[r])


@chapter
def observe(tables, control, work, t, q, v, N_work):
    """Everything of one instant into `work`.  Returns a status."""
    move(tables, work, q, v)
    for c in range(work.torque.size):
        work.torque[c] = 0.0
    columns(tables, control, work, q, v)
    body_poses(tables.links, work.links, work.bodies)
    centres(tables.links, work.links, work.bodies)
    apply_forces(tables, control, work, t, q, v)
    status = factorise(tables, work, True)
    if status != Status.OK:
        return status
    free_response(tables, control, work)
    solve_loops(tables, work)
    count = 0
    if work.one.rank[0] < tables.rows.block.size:
        count = null_vectors(work.G, work.rows, work.one, N_work)
        least_norm(N_work, count, work.rows)
    determinacy(tables.links, tables.blocks, N_work, count, work.links, work.blocks, work.rows, work.joints)
    joint_forces(
        tables.links, tables.freedoms, tables.blocks, v, work.links, work.freedoms, work.blocks, work.rows, work.joints
    )  # fmt: skip
    energies(
        tables.columns, tables.stops, control.engaged, tables.one.gravity_W, work.coordinate, work.rate, work.links,
        work.one,
    )  # fmt: skip
    plain_residuals(tables, work)
    work.one.trust[0, 2] = (
        math.sqrt(work.one.pivots[0, 0] / work.one.pivots[0, 1]) if work.one.pivots[0, 1] > 0.0 else math.nan
    )
    work.one.trust[0, 3] = work.one.rank[0]
    return Status.OK
