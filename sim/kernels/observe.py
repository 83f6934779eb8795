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
    rows_now,
    velocity_residual,
)
from sim.kernels.elements import spring_energy
from sim.kernels.elimination.articulated import wrench_about
from sim.kernels.forces import add_wrench, backward, growing, link_forces, stop_depth
from sim.kernels.jit import entry, inlined, kernel, python_kernel, spliced
from sim.kernels.programs import run_program
from sim.kernels.spatial import multiply, quaternion_of
from sim.kernels.spinning import inertia_of, product
from sim.kernels.status import Status
from sim.kernels.system import GAPS, GLANCE, LOOK, POINT_FORCES, PUSH, SAMPLE, STORE, TELL, WATCH, ask, unpack, vector
from sim.kernels.tables import ANGLE, ANGLE_ROW, SWING_ROW
from sim.kernels.vectors import cross, dot, inward_axes, outward_axes, plus, three
from sim.kernels.watched import DISARMED, GUARD_FRICTION, GUARD_HOLD, GUARD_PROGRAM, GUARD_STOP, WAITING_TO_LEAVE

# Of unit row forces that do nothing: what counts as a part of them; below it is roundoff.
CHOSEN = 1e-7


@kernel
def row_wrenches(blocks, force, link_work, block_work, row_work, wrench_out):
    """Add the wrenches of row forces to both links of every loop; a motor of the tree pushes through its joint."""
    for n in range(blocks.rows.size):
        if blocks.motor[n]:
            continue
        row = row_work.mate if blocks.second[n] else row_work.row
        m0 = m1 = m2 = f0 = f1 = f2 = 0.0
        for r in range(blocks.row[n], blocks.row[n] + blocks.rows[n]):
            s = force[r]
            m0, m1, m2 = m0 + s * row[r, 0], m1 + s * row[r, 1], m2 + s * row[r, 2]
            f0, f1, f2 = f0 + s * row[r, 3], f1 + s * row[r, 4], f2 + s * row[r, 5]
        moment, push = (m0, m1, m2), (f0, f1, f2)
        add_wrench(block_work, link_work, n, blocks.b[n], 1.0, moment, push, wrench_out)
        add_wrench(block_work, link_work, n, blocks.a[n], -1.0, moment, push, wrench_out)


@kernel
def drive_torques(rows, coordinate, row_work, stopping_out, friction_out, torque_out):
    """Add the forces of drives, and of what holds a freedom, to the torques of their columns.

    Where a stop may have given all of it, it has; else friction has.
    """
    for r in range(rows.motion.size):
        if rows.motion[r] >= 0:
            c, torque = rows.column[r], rows.scale[r] * row_work.force[r]
            if rows.code[r] >= ANGLE_ROW:  # of a ball's stop, whose three columns have it
                what, about = ANGLE, 0
                if rows.code[r] >= SWING_ROW:
                    what, about = ANGLE + 1 + (rows.code[r] - SWING_ROW) // 3, (rows.code[r] - SWING_ROW) % 3
                c -= what - ANGLE
                n = growing(what, about, coordinate[c], coordinate[c + 1], coordinate[c + 2])
                for i in range(3):
                    torque_out[c + i] += torque * n[i]
                    stopping_out[c + i] += torque * n[i]
                continue
            torque_out[c] += torque
            if rows.low[r] < rows.high[r]:
                if (rows.low[r] == -math.inf and torque < 0.0) or (rows.high[r] == math.inf and torque > 0.0):
                    stopping_out[c] += torque
                else:
                    friction_out[c] += torque


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


@python_kernel
def determinacy(links, blocks, rows, N, count, link_work, block_work, row_work, joint_work):
    """Which components of joints' wrenches are the only ones possible: 1; 0 where row forces that do nothing have them.

    Rows that the tree alone holds are such forces by themselves, the others are in N.  components: (joints, 12)
    moment about the joint and force, in world axes, then in those of F; determinate: 1 where all of them are.
    """
    F, sure_out = link_work.F, joint_work.components
    size = 1.0  # m: what a moment is to a force
    for j in range(sure_out.shape[0]):
        for i in range(12):
            sure_out[j, i] = 1.0
    for r in range(rows.scale.size):
        if rows.compliance[r] == 0.0:
            size = max(size, rows.scale[r])
    for n in range(blocks.rows.size):
        row = row_work.mate if blocks.second[n] else row_work.row
        for r in range(blocks.row[n], blocks.row[n] + blocks.rows[n]):
            if row_work.acts[r] < 0:
                mark_path(links, link_work, block_work, row, n, r, blocks.a[n], blocks.fork[n], size, sure_out)
                mark_path(links, link_work, block_work, row, n, r, blocks.b[n], blocks.fork[n], size, sure_out)
                k = (row[r, 0], row[r, 1], row[r, 2], row[r, 3], row[r, 4], row[r, 5])
                mark_loop(blocks, n, block_work, k, size, sure_out)
    for p in range(count):
        for b in range(links.parent.size):
            for i in range(6):
                F[b, i] = 0.0
        row_wrenches(blocks, N[p], link_work, block_work, row_work, F)
        carry(links, link_work)
        for b in range(1, links.parent.size):
            k = (F[b, 0], F[b, 1], F[b, 2], F[b, 3], F[b, 4], F[b, 5])
            if any_of(k):  # most links have nothing of most loops
                mark(links.joint[b], axes_of(links, link_work, b), k, size, sure_out)
        for n in range(blocks.rows.size):
            row, k = row_work.mate if blocks.second[n] else row_work.row, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
            for r in range(blocks.row[n], blocks.row[n] + blocks.rows[n]):
                s = N[p, r]
                k = (
                    k[0] + s * row[r, 0], k[1] + s * row[r, 1], k[2] + s * row[r, 2],
                    k[3] + s * row[r, 3], k[4] + s * row[r, 4], k[5] + s * row[r, 5],
                )  # fmt: skip
            if any_of(k):
                mark_loop(blocks, n, block_work, k, size, sure_out)
    for j in range(sure_out.shape[0]):
        all_sure = 1.0
        for i in range(6):
            all_sure = min(all_sure, sure_out[j, i])
        joint_work.determinate[j] = all_sure


@inlined
def any_of(k):
    """Tell whether a wrench is anything at all."""
    return k[0] != 0.0 or k[1] != 0.0 or k[2] != 0.0 or k[3] != 0.0 or k[4] != 0.0 or k[5] != 0.0


@kernel
def mark_path(links, link_work, block_work, row, n, r, b, top, size, sure_out):
    """Mark what the wrench of row r of block n has at the tree joints from link b up to its ancestor `top`."""
    while b != top:
        k = wrench_about(block_work, link_work, row, n, r, b)
        mark(links.joint[b], axes_of(links, link_work, b), k, size, sure_out)
        b = links.parent[b]


@kernel
def mark_loop(blocks, n, block_work, k, size, sure_out):
    """Mark what wrench k has at the joint of block n: a motor pushes through its joint, a gear's force is on its first.

    Points of contact are no joints.
    """
    F = block_work.R_WF
    if not blocks.motor[n] and blocks.touch[n] < 0 and blocks.second[n] != 1:
        mark(blocks.joint[n], (
            F[n, 0], F[n, 1], F[n, 2], F[n, 3], F[n, 4], F[n, 5], F[n, 6], F[n, 7], F[n, 8]
        ), k, size, sure_out)  # fmt: skip


@kernel
def axes_of(links, link_work, b):
    """Return R_WF of the joint that carries link b."""
    R, F, p = link_work.R, links.R_PF, links.parent[b]
    return multiply(
        (R[p, 0], R[p, 1], R[p, 2], R[p, 3], R[p, 4], R[p, 5], R[p, 6], R[p, 7], R[p, 8]),
        (F[b, 0], F[b, 1], F[b, 2], F[b, 3], F[b, 4], F[b, 5], F[b, 6], F[b, 7], F[b, 8]),
    )


@kernel
def mark(j, R, k, size, sure_out):
    """Mark the components that wrench k (moment, force) has at joint j, in world axes and in those of R."""
    for i in range(3):
        if abs(k[i]) > CHOSEN * size:
            sure_out[j, i] = 0.0
        if abs(k[3 + i]) > CHOSEN:
            sure_out[j, 3 + i] = 0.0
        if abs(R[i] * k[0] + R[3 + i] * k[1] + R[6 + i] * k[2]) > CHOSEN * size:
            sure_out[j, 6 + i] = 0.0
        if abs(R[i] * k[3] + R[3 + i] * k[4] + R[6 + i] * k[5]) > CHOSEN:
            sure_out[j, 9 + i] = 0.0


@kernel
def joint_forces(links, blocks, link_work, block_work, row_work, joint_work):
    """Wrench of the parent on the child of every joint, about the joint, and where the joint is.

    Of a gear, that on its first joint; of a screw all of it.
    """
    force, F, x = row_work.force, link_work.F, link_work.x
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
            p_out[j, i] = block_work.p_WM[n, i]


@python_kernel
def energies(links, columns, stops, forces, points, gravity_W, coordinate, rate, link_work, one_work):
    """Kinetic energy (with armatures) and potential energy (gravity, springs, stops) [J].

    Each link's about its centre of mass: about its origin, large parts cancel where a heavy link hangs on a light one
    that whirls.
    """
    kinetic, potential = 0.0, 0.0
    I, V, R, x, g = link_work.I, link_work.V, link_work.R, link_work.x, gravity_W  # noqa: E741
    for b in range(1, x.shape[0]):
        w, m = three(V, b), I[b, 0]
        arm, turn = outward_axes(R, b, three(links.com_K, b)), inward_axes(R, b, w)
        u = plus((V[b, 3], V[b, 4], V[b, 5]), cross(w, arm))
        kinetic += 0.5 * (m * dot(u, u) + dot(turn, product(inertia_of(links, b), turn)))
        for i in range(3):
            potential -= g[0, i] * m * (x[b, i] + arm[i])
    for c in range(rate.size):
        kinetic += 0.5 * columns.armature[c] * rate[c] ** 2
        if columns.stiffness[c] != 0.0:
            potential += 0.5 * columns.stiffness[c] * (coordinate[c] - columns.rest[c]) ** 2
    for s in range(stops.joint.size):
        potential += 0.5 * stops.stiffness[s] * max(stop_depth(stops, coordinate, s), 0.0) ** 2
    potential += spring_energy(forces, points, coordinate, link_work)
    one_work.kinetic[0], one_work.potential[0] = kinetic, potential


@kernel
def centres(links, link_work, body_work):
    """World position of every body's centre of mass [m]; massless bodies give their joint."""
    x, I, com_out = link_work.x, link_work.I, body_work.com  # noqa: E741
    for b in range(1, x.shape[0]):
        n, m = links.body[b], I[b, 0]
        for i in range(3):
            com_out[n, i] = x[b, i] + (I[b, 1 + i] / m if m > 0.0 else 0.0)


@spliced
def plain_residuals(system, tables, work):
    """Largest residuals of hard rows in m or rad, m/s or rad/s, into work.one."""
    rows = tables.rows
    position_residual(system)
    velocity_residual(system)
    work.one.position_residual[0] = work.one.velocity_residual[0] = 0.0
    for r in range(rows.block.size):
        if rows.compliance[r] == 0.0:
            work.one.position_residual[0] = max(work.one.position_residual[0], abs(work.rows.phi[r]) / rows.scale[r])
            work.one.velocity_residual[0] = max(work.one.velocity_residual[0], abs(work.rows.slip[r]) / rows.scale[r])


@spliced
def find_forces(system, tables, work, t):
    """Forces of contacts and joints, and torques, once all that acts was applied; needs `factorise`.

    Returns a status and the number of row forces in work.N that do nothing.
    """
    for c in range(work.rules.force.shape[0]):
        work.rules.force[c, 0] = work.rules.force[c, 1] = work.rules.force[c, 2] = 0.0
    if work.last_contacts.h.size > 0:
        ask(work.answers, PUSH, system, t, work.moved, work.moved)
    count = 0
    if tables.rows.block.size > 0:
        count = null_vectors(system)
    status = respond(system)
    share_out(work.N, count, tables.blocks, tables.rows, work.rows)
    if tables.touches.mode.size > 0:
        ask(work.answers, POINT_FORCES, system, 0.0, work.moved, work.moved)
    drive_torques(tables.rows, work.coordinate, work.rows, work.stopping, work.friction, work.torque)
    joint_forces(tables.links, tables.blocks, work.links, work.blocks, work.rows, work.joints)
    return status, count


@spliced
def observe(system, tables, work, t, q, v, choose):
    """`find_forces` of an instant whose poses `work` holds.

    choose: 0 within a step, where the rows act that do at the last accepted state.
    """
    if not choose and tables.rows.block.size > 0:
        rows_now(system, tables, work, 1)  # of those that are cut it is asked what forces along them would do
    status, count = factorise(system, choose), 0
    if status == Status.OK:
        status = act(system, t, q, v)
    if status == Status.OK:
        status, count = find_forces(system, tables, work, t)
    return status, count


@spliced
def tell_trust(system, tables, work, count):
    """What rows of recordings tell beside forces: centres of mass, determinacy, residuals, rank; after `observe`."""
    centres(tables.links, work.links, work.bodies)
    determinacy(
        tables.links, tables.blocks, tables.rows, work.N, count, work.links, work.blocks, work.rows, work.joints
    )
    plain_residuals(system, tables, work)
    work.one.singular_value[0] = (
        math.sqrt(work.one.least_pivot[0] / work.one.largest_pivot[0]) if work.one.largest_pivot[0] > 0.0 else math.nan
    )
    work.one.told_rank[0] = work.one.rank[0]


@spliced
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
        row_out[a + 4 * c + i] = work.friction[i]
    a = layout[2]
    for j in range(work.joints.force.shape[0]):
        for i in range(6):
            row_out[a + i] = work.joints.force[j, i]
        for i in range(3):
            row_out[a + 6 + i] = work.joints.p_WJ[j, i]
        row_out[a + 9] = work.joints.determinate[j]
        for i in range(12):
            row_out[a + 10 + i] = work.joints.components[j, i]
        a += 22
    a = layout[3]
    row_out[a], row_out[a + 1] = work.one.kinetic[0], work.one.potential[0]
    row_out[a + 2], row_out[a + 3] = y[y.size - 1], y[y.size - 2]
    row_out[a + 4], row_out[a + 5] = work.one.position_residual[0], work.one.velocity_residual[0]
    row_out[a + 6], row_out[a + 7] = work.one.singular_value[0], work.one.told_rank[0]
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


@spliced
def guard_values(tables, work, control, guards_out, t, every, values_out):
    """Signed values of all guards at the state that `work` holds, positive where they have fired.

    A guard that waits is armed again at the end of a step; looking ahead changes nothing.  every: 0 for only those that
    are not-a-number.  Those of contacts are left so, for who knows shapes.
    """
    for g in range(guards_out.kind.size):
        if not (every or math.isnan(values_out[g])):
            continue
        if guards_out.armed[g] == DISARMED:
            values_out[g] = -1.0
        elif guards_out.kind[g] == GUARD_PROGRAM:
            values_out[g] = guards_out.direction[g] * run_program(tables, work, guards_out.owner[g], t)
        elif guards_out.kind[g] == GUARD_STOP:
            depth = stop_depth(tables.stops, work.coordinate, guards_out.owner[g])
            values_out[g] = guards_out.direction[g] * depth - guards_out.allowed[g]
        elif guards_out.kind[g] == GUARD_FRICTION:
            c = guards_out.owner[g]
            values_out[g] = backward(tables.columns, control.friction, work.rate, c) - guards_out.allowed[g]
        elif guards_out.kind[g] == GUARD_HOLD:
            r = guards_out.owner[g]
            torque = guards_out.direction[g] * work.rows.force[r]
            if tables.columns.both[tables.rows.column[r]]:  # whichever way it points
                torque = math.hypot(work.rows.force[r], work.rows.force[r + 1])
            values_out[g] = tables.rows.scale[r] * torque - guards_out.allowed[g]
        else:
            values_out[g] = math.nan
        guards_out.value[g] = values_out[g]
        if guards_out.armed[g] == WAITING_TO_LEAVE:
            values_out[g] = -1.0


@entry
def observation(question, system, t, a, b):
    """Answer WATCH, LOOK, GLANCE and SAMPLE; see `sim.kernels.system`.  Returns a status."""
    tables, control, work, guards = unpack(system)
    nq, nv = tables.one.nq[0], tables.one.nv[0]
    y, status = vector(a, nq + nv + 2), Status.OK
    q, v = y[:nq], y[nq : nq + nv]
    work.one.intact[0] = 0
    for c in range(work.torque.size):
        work.torque[c] = work.stopping[c] = work.friction[c] = 0.0
    follow(system, t)
    move(system, q, v)
    columns(system, q, v)
    body_poses(tables.links, work.links, work.bodies)
    energies(
        tables.links, tables.columns, tables.stops, tables.forces, tables.points, tables.one.gravity_W,
        work.coordinate, work.rate, work.links, work.one,
    )  # fmt: skip
    if tables.one.soft[0]:
        ask(work.answers, STORE, system, t, y, y)
    count = 0
    if question == SAMPLE or (question != GLANCE and guards.forces[0]):
        status, count = observe(system, tables, work, t, q, v, int(question != LOOK))
    if question == SAMPLE:
        if status == Status.OK:
            tell_trust(system, tables, work, count)
        if work.last_contacts.h.size > 0:
            ask(work.answers, TELL, system, t, work.moved, work.moved)
        write_sample(work, guards.layout, t, y, vector(b, work.row.size))
    else:
        values = vector(b, guards.table.kind.size)
        guard_values(tables, work, control, guards.table, t, question == WATCH, values)
        if tables.meetings.a.size > 0:
            ask(work.answers, GAPS, system, t, y, values)
    return status
