"""Everything that is recorded of one instant: forces of joints, energies, residuals, trust."""

from __future__ import annotations

import math

from sim.kernels.accelerations import act, respond
from sim.kernels.chosen import null_vectors, share_out
from sim.kernels.dynamics import (
    body_poses,
    columns,
    factorise,
    follow,
    move,
    position_residual,
    velocity_residual,
)
from sim.kernels.elements import spring_energy
from sim.kernels.forces import add_wrench, backward, link_forces, stop_depth
from sim.kernels.jit import chapter, door, entry, kernel
from sim.kernels.programs import run_program
from sim.kernels.spatial import quaternion_of
from sim.kernels.system import GAPS, PRESS, PUSH, SAMPLE, TELL, ask, unpack, vector
from sim.model import ANGLE_ROW, DISARMED, GUARD_HOLD, GUARD_PROGRAM, GUARD_RUB, GUARD_STOP, WAITING_TO_LEAVE, Status


@kernel
def row_wrenches(blocks, force, link_work, block_work, row_work, wrench_out):
    """Add the wrenches of row forces to both links of every loop; a motor of the tree pushes through its joint."""
    frame, x = block_work.frame, link_work.x
    for n in range(blocks.rows.size):
        if blocks.motor[n]:
            continue
        row = row_work.mate if blocks.second[n] else row_work.row
        m0 = m1 = m2 = f0 = f1 = f2 = 0.0
        for r in range(blocks.row[n], blocks.row[n] + blocks.rows[n]):
            s = force[r]
            m0, m1, m2 = m0 + s * row[r, 0], m1 + s * row[r, 1], m2 + s * row[r, 2]
            f0, f1, f2 = f0 + s * row[r, 3], f1 + s * row[r, 4], f2 + s * row[r, 5]
        add_wrench(frame, x, n, blocks.b[n], 1.0, m0, m1, m2, f0, f1, f2, wrench_out)
        add_wrench(frame, x, n, blocks.a[n], -1.0, m0, m1, m2, f0, f1, f2, wrench_out)


@kernel
def drive_torques(rows, coordinate, row_work, stopping_out, rubbing_out, torque_out):
    """Add the forces of drives, and of what holds a freedom, to the torques of their columns.

    Where a stop may have given all of it, it has; else friction has.
    """
    for r in range(rows.motion.size):
        if rows.motion[r] >= 0:
            c, torque = rows.column[r], rows.scale[r] * row_work.force[r]
            if rows.code[r] == ANGLE_ROW:  # of a stop, about the turn
                turn = torque / math.sqrt(coordinate[c] ** 2 + coordinate[c + 1] ** 2 + coordinate[c + 2] ** 2)
                for i in range(c, c + 3):
                    torque_out[i] += turn * coordinate[i]
                    stopping_out[i] += turn * coordinate[i]
                continue
            torque_out[c] += torque
            if rows.low[r] < rows.high[r]:
                if (rows.low[r] == -math.inf and torque < 0.0) or (rows.high[r] == math.inf and torque > 0.0):
                    stopping_out[c] += torque
                else:
                    rubbing_out[c] += torque


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
    for n in range(blocks.rows.size):
        for r in range(blocks.row[n], blocks.row[n] + blocks.rows[n]):
            if row_work.acts[r] < 0:
                if blocks.touch[n] < 0:
                    determinate_out[blocks.joint[n]] = 0.0
                mark_path(links, blocks.a[n], blocks.fork[n], determinate_out)
                mark_path(links, blocks.b[n], blocks.fork[n], determinate_out)
                break
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
                if abs(N[p, r]) > 1e-7 and blocks.touch[n] < 0:
                    determinate_out[blocks.joint[n]] = 0.0


@kernel
def mark_path(links, b, top, determinate_out):
    """Mark the tree joints from link b up to its ancestor `top` as transmitting a chosen force."""
    while b != top:
        determinate_out[links.joint[b]] = 0.0
        b = links.parent[b]


@kernel
def joint_forces(links, blocks, link_work, block_work, row_work, joint_work):
    """Wrench of the parent on the child of every joint, about the joint, and where the joint is.

    Of a gear, that on its first joint; of a screw all of it.
    """
    frame, force, F, x = block_work.frame, row_work.force, link_work.F, link_work.x
    force_out, p_out = joint_work.force, joint_work.p_WJ
    for b in range(1, links.parent.size):
        for i in range(6):
            link_work.A[b, i] += link_work.B[b, i]
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
        if blocks.motor[n] or blocks.touch[n] >= 0 or blocks.second[n] == 1:
            continue
        j, row = blocks.joint[n], row_work.mate if blocks.second[n] else row_work.row
        for i in range(6):
            s = block_work.own[n, i] + (force_out[j, i] if blocks.second[n] else 0.0)
            for r in range(blocks.row[n], blocks.row[n] + blocks.rows[n]):
                s += force[r] * row[r, i]
            force_out[j, i] = s
        for i in range(3):
            p_out[j, i] = frame[n, i]


@door
def energies(columns, stops, forces, points, gravity_W, coordinate, rate, link_work, one_work):
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
    for s in range(stops.joint.size):
        potential += 0.5 * stops.stiffness[s] * max(stop_depth(stops, coordinate, s), 0.0) ** 2
    potential += spring_energy(forces, points, coordinate, link_work)
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
def plain_residuals(system, tables, work):
    """Largest residuals of hard rows in m or rad, m/s or rad/s, into work.trust."""
    rows = tables.rows
    position_residual(system)
    velocity_residual(system)
    work.one.trust[0, 0] = work.one.trust[0, 1] = 0.0
    for r in range(rows.block.size):
        if rows.compliance[r] == 0.0:
            work.one.trust[0, 0] = max(work.one.trust[0, 0], abs(work.rows.phi[r]) / rows.scale[r])
            work.one.trust[0, 1] = max(work.one.trust[0, 1], abs(work.rows.slip[r]) / rows.scale[r])


@chapter
def find_forces(system, tables, work, t):
    """Forces of contacts and joints, and torques, once all that acts was applied; needs `factorise`.

    Returns a status and the number of row forces in work.N that do nothing.
    """
    for c in range(work.contacts.force.shape[0]):
        work.contacts.force[c, 0] = work.contacts.force[c, 1] = work.contacts.force[c, 2] = 0.0
    if work.pressed.h.size > 0:
        ask(work.answers, PUSH, system, t, work.reply, work.reply)
    count = 0
    if tables.rows.block.size > 0:
        count = null_vectors(system)
    status = respond(system)
    share_out(work.N, count, tables.rows, work.rows)
    if tables.touches.mode.size > 0:
        ask(work.answers, PRESS, system, 0.0, work.reply, work.reply)
    drive_torques(tables.rows, work.coordinate, work.rows, work.stopping, work.rubbing, work.torque)
    joint_forces(tables.links, tables.blocks, work.links, work.blocks, work.rows, work.joints)
    return status, count


@chapter
def observe(system, tables, work, t, q, v):
    """What needs forces, of an instant whose poses `work` holds.  Returns a status."""
    centres(tables.links, work.links, work.bodies)
    status = factorise(system, 1)
    if status == Status.OK:
        status = act(system, t, q, v)
    if status != Status.OK:
        return status
    status, count = find_forces(system, tables, work, t)
    determinacy(tables.links, tables.blocks, work.N, count, work.links, work.blocks, work.rows, work.joints)
    plain_residuals(system, tables, work)
    work.one.trust[0, 2] = (
        math.sqrt(work.one.pivots[0, 0] / work.one.pivots[0, 1]) if work.one.pivots[0, 1] > 0.0 else math.nan
    )
    work.one.trust[0, 3] = work.one.rank[0]
    return status


@chapter
def write_sample(work, layout, t, y, row_out):
    """One row of the recording, from `work` as `observe` left it."""
    row_out[0] = t
    a = layout[0]
    for b in range(1, work.bodies.p_WB.shape[0]):
        for i in range(3):
            row_out[a + i] = work.bodies.p_WB[b, i]
            row_out[a + 7 + i] = work.bodies.V_WB[b, 3 + i]
            row_out[a + 10 + i] = work.bodies.V_WB[b, i]
            row_out[a + 13 + i] = work.bodies.com[b, i]
        w, x, y_, z = quaternion_of(work.bodies.R_WB[b])
        row_out[a + 3], row_out[a + 4], row_out[a + 5], row_out[a + 6] = w, x, y_, z
        a += 16
    a = layout[1]
    c = work.coordinate.size
    for i in range(c):
        row_out[a + i] = work.coordinate[i]
        row_out[a + c + i] = work.rate[i]
        row_out[a + 2 * c + i] = work.torque[i]
        row_out[a + 3 * c + i] = work.stopping[i]
        row_out[a + 4 * c + i] = work.rubbing[i]
    a = layout[2]
    for j in range(work.joints.force.shape[0]):
        for i in range(6):
            row_out[a + i] = work.joints.force[j, i]
        for i in range(3):
            row_out[a + 6 + i] = work.joints.p_WJ[j, i]
        row_out[a + 9] = work.joints.determinate[j]
        a += 10
    a = layout[3]
    row_out[a], row_out[a + 1] = work.one.energy[0, 0], work.one.energy[0, 1]
    row_out[a + 2], row_out[a + 3] = y[y.size - 1], y[y.size - 2]
    for i in range(4):
        row_out[a + 4 + i] = work.one.trust[0, i]
    a = layout[4]
    for k in range(work.forces.length.size):
        row_out[a], row_out[a + 1] = work.forces.length[k], work.forces.tension[k]
        for i in range(6):
            row_out[a + 2 + i] = work.forces.wrench[k, i]
        a += 8
    a = layout[5]
    for i in range(y.size - 2):
        row_out[a + i] = y[i]
    a = layout[6]
    points = work.points
    for k in range(points.gap.size):
        for i in range(3):
            row_out[a + i] = points.p[k, i]
            row_out[a + 3 + i] = points.n[k, i]
            row_out[a + 6 + i] = points.force[k, i]
        a += 9


@chapter
def guard_values(tables, work, control, guards_out, t, values_out):
    """Signed values of all guards at the state that `work` holds, positive where they have fired.

    A guard that waits is armed again at the end of a step; looking ahead changes nothing.
    """
    for g in range(guards_out.kind.size):
        if guards_out.armed[g] == DISARMED:
            values_out[g] = -1.0
        elif guards_out.kind[g] == GUARD_PROGRAM:
            values_out[g] = guards_out.direction[g] * run_program(tables, work, guards_out.owner[g], t)
        elif guards_out.kind[g] == GUARD_STOP:
            depth = stop_depth(tables.stops, work.coordinate, guards_out.owner[g])
            values_out[g] = guards_out.direction[g] * depth - guards_out.allowed[g]
        elif guards_out.kind[g] == GUARD_RUB:
            c = guards_out.owner[g]
            values_out[g] = backward(tables.columns, control.rubbing, work.rate, c) - guards_out.allowed[g]
        elif guards_out.kind[g] == GUARD_HOLD:
            r = guards_out.owner[g]
            torque = guards_out.direction[g] * work.rows.force[r]
            if tables.columns.both[tables.rows.column[r]]:  # whichever way it points
                torque = math.hypot(work.rows.force[r], work.rows.force[r + 1])
            values_out[g] = tables.rows.scale[r] * torque - guards_out.allowed[g]
        guards_out.value[g] = values_out[g]
        if guards_out.armed[g] == WAITING_TO_LEAVE:
            values_out[g] = -1.0


@entry
def observation(question, system, t, a, b):
    """Answer WATCH and SAMPLE; see `sim.kernels.system`.  Returns a status."""
    tables, control, work, guards = unpack(system)
    nq, nv = tables.one.nq[0], tables.one.nv[0]
    y, status = vector(a, nq + nv + 2), Status.OK
    q, v = y[:nq], y[nq : nq + nv]
    work.one.intact[0] = 0
    for c in range(work.torque.size):
        work.torque[c] = work.stopping[c] = work.rubbing[c] = 0.0
    follow(system, t)
    move(system, q, v)
    columns(system, q, v)
    body_poses(tables.links, work.links, work.bodies)
    energies(
        tables.columns, tables.stops, tables.forces, tables.points, tables.one.gravity_W,
        work.coordinate, work.rate, work.links, work.one,
    )  # fmt: skip
    if question == SAMPLE or guards.forces[0]:
        status = observe(system, tables, work, t, q, v)
    if question == SAMPLE:
        if work.pressed.h.size > 0:
            ask(work.answers, TELL, system, t, work.reply, work.reply)
        write_sample(work, guards.layout, t, y, vector(b, work.row.size))
    else:
        values = vector(b, guards.table.kind.size)
        guard_values(tables, work, control, guards.table, t, values)
        if tables.meetings.a.size > 0:
            ask(work.answers, GAPS, system, t, y, values)
    return status
