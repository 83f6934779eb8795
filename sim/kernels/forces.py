"""Forces on the tree: joint coordinates and rates, springs, dampers, stops, controllers, gravity.

A joint's torque acts where its rate is measured, so that torque times rate is its power: on the
freedom itself for tree joints, through the relative motion of its two frames for loop joints.
"""

from __future__ import annotations

import math

from sim.kernels.callback import call_law
from sim.kernels.jit import inlined, kernel, python_kernel, spliced
from sim.kernels.programs import acting_value
from sim.kernels.rows.constraints import direction, geared, pushes
from sim.kernels.rows.touches import CLEAR, STILL, going_on
from sim.kernels.spatial import relative_rotation, rotation_vector, swing_of, swinging, twist_of, twisting
from sim.kernels.tables import ANGLE, SWING


@python_kernel
def tree_columns(links, q, v, coordinate_out, rate_out):
    """Coordinates and rates of tree joints, by column (rotation vectors for quaternions)."""
    quaternion, qadr, vadr, nv, column = links.quaternion, links.q, links.v, links.nv, links.column
    for b in range(1, qadr.size):
        a, k, c, t = qadr[b], vadr[b], column[b], quaternion[b]
        for i in range(nv[b]):
            rate_out[c + i] = v[k + i]
        plain = (t if t >= 0 else k + nv[b]) - k
        for i in range(plain):
            coordinate_out[c + i] = q[a + i]
        if t >= 0:
            a, c = a + plain, c + plain
            r0, r1, r2 = rotation_vector(q[a], q[a + 1], q[a + 2], q[a + 3])
            coordinate_out[c], coordinate_out[c + 1], coordinate_out[c + 2] = r0, r1, r2


@kernel
def tree_rates(links, v, rate_out):
    """Rates of tree joints, by column."""
    vadr, nv, column = links.v, links.nv, links.column
    for b in range(1, vadr.size):
        for i in range(nv[b]):
            rate_out[column[b] + i] = v[vadr[b] + i]


@kernel
def near_turn(angle, remembered):
    """Return the angle plus the whole turns that bring it nearest to the remembered one."""
    return angle + 2.0 * math.pi * round((remembered - angle) / (2.0 * math.pi))


@python_kernel
def loop_columns(blocks, columns, block_work, turn, coordinate_out, rate_out):
    """Coordinates and rates of loop joints from the relative motion of their frames.

    Needs `constraints.block_frames`.  turn: (columns,) rad, the angle at the last accepted step, so that whole turns
    are counted.
    """
    way = block_work.p_FM
    code, sine, cosine, sense = columns.code, columns.sine, columns.cosine, columns.sense
    for n in range(blocks.a.size):
        if blocks.slips[n]:
            slipping(blocks, n, block_work, coordinate_out, rate_out)
            continue
        F, M, first = block_work.R_WF[n], block_work.R_WM[n], blocks.column[n]
        for c in range(first, first + blocks.freedoms[n]):
            e0, e1, e2 = direction(code[c], block_work, n)
            velocity = block_work.u if pushes(code[c]) else block_work.w_FM
            rate_out[c] = e0 * velocity[n, 0] + e1 * velocity[n, 1] + e2 * velocity[n, 2]
            if sense[c] != 0.0:
                s, x = turned_part(F, M, sine[c]), turned_part(F, M, cosine[c])
                coordinate_out[c] = near_turn(math.atan2(sense[c] * s, x), turn[c])
            else:
                coordinate_out[c] = e0 * way[n, 0] + e1 * way[n, 1] + e2 * way[n, 2]
        if blocks.quaternion[n] >= 0:
            c = first + blocks.quaternion[n]
            r0, r1, r2 = relative_rotation(F, M)
            coordinate_out[c], coordinate_out[c + 1], coordinate_out[c + 2] = r0, r1, r2


@inlined
def turned_part(F, M, place):
    """Return an entry of R_FM = F^T M, counted row by row."""
    i, j = place // 3, place % 3
    return F[i] * M[j] + F[3 + i] * M[3 + j] + F[6 + i] * M[6 + j]


@kernel
def slipping(blocks, n, block_work, coordinate_out, rate_out):
    """How a constraint slips that may: rates, and of a gear the coordinate, too.  Gears come after what they tie."""
    for k in range(blocks.freedoms[n]):
        code, c = slip_code(blocks, n, k), blocks.column[n] + k
        e0, e1, e2 = direction(code, block_work, n)
        velocity = block_work.u if pushes(code) else block_work.w_FM
        rate = blocks.factor[n] * (e0 * velocity[n, 0] + e1 * velocity[n, 1] + e2 * velocity[n, 2])
        rate_out[c] = rate_out[c] + rate if blocks.second[n] else rate
        if not blocks.second[n]:
            coordinate_out[c] = geared(blocks, n, coordinate_out) if blocks.mate[n] >= 0 else 0.0


@inlined
def slip_code(blocks, n, k):
    """Direction, as of rows, of freedom k of a constraint that may slip."""
    return blocks.code[n] if k == 0 else blocks.beside[n]


@kernel
def stop_depth(stops, coordinate, s):
    """How far stop s is pressed [m or rad]; negative while it is free."""
    c = stops.column[s]
    if not stops.angle[s]:
        value = coordinate[c]
    elif stops.angle[s] == ANGLE:
        value = math.sqrt(coordinate[c] ** 2 + coordinate[c + 1] ** 2 + coordinate[c + 2] ** 2)
    elif stops.angle[s] == SWING:
        value = swing_of(coordinate[c], coordinate[c + 1], coordinate[c + 2], stops.about[s])
    else:
        value = twist_of(coordinate[c], coordinate[c + 1], coordinate[c + 2], stops.about[s])
    return stops.side[s] * (value - stops.bound[s])


@kernel
def deepening(stops, coordinate, s):
    """Return which way depth grows at stop s, over the columns that it acts on: one, or the three of a ball."""
    c, side = stops.column[s], stops.side[s]
    if not stops.angle[s]:
        return side, 0.0, 0.0
    x, y, z = coordinate[c], coordinate[c + 1], coordinate[c + 2]
    n0, n1, n2 = growing(stops.angle[s], stops.about[s], x, y, z)
    return side * n0, side * n1, side * n2


@kernel
def growing(what, about, x, y, z):
    """Return in M's axes which way an angle, a swing or a twist of a rotation vector grows: its rate is w.n."""
    if what == ANGLE:
        size = math.sqrt(x * x + y * y + z * z)
        share = 1.0 / size if size > 0.0 else 0.0
        return share * x, share * y, share * z
    if what == SWING:
        return swinging(x, y, z, about)
    return twisting(x, y, z, about)


@kernel
def closing_rate(stops, coordinate, rate, s):
    """Rate of the depth of stop s."""
    c, n = stops.column[s], deepening(stops, coordinate, s)
    if not stops.angle[s]:
        return n[0] * rate[c]
    return n[0] * rate[c] + n[1] * rate[c + 1] + n[2] * rate[c + 2]


@kernel
def stop_torques(stops, engaged, coordinate, rate, stopping_out, torque_out, one_work):
    """Add the torques of touched soft stops (Hunt and Crossley; a stop never pulls), to stopping_out, too.

    one_work.dissipated[0] gains what they dissipate [W].
    """
    for s in range(engaged.size):
        if not engaged[s]:
            continue
        c, k = stops.column[s], stops.stiffness[s]
        depth, closing = stop_depth(stops, coordinate, s), closing_rate(stops, coordinate, rate, s)
        # depth is negative only in stages past the guard that lets go: going on smoothly there finds it better
        grip = 1.0 + stops.dissipation[s] * closing
        push, n = k * depth * (grip if grip > 0.0 else 0.0), deepening(stops, coordinate, s)
        for i in range(3 if stops.angle[s] else 1):
            torque_out[c + i] -= push * n[i]
            stopping_out[c + i] -= push * n[i]
        one_work.dissipated[0] += (push - k * depth) * closing


@kernel
def friction_torques(columns, friction, rate, friction_out, torque_out, one_work):
    """Add the friction of joints that move; one_work.dissipated[0] gains what it dissipates [W].

    friction: (columns,) at the step's start; where two freedoms share a bound, it turns with the way of both.
    """
    for c in range(friction.size):
        friction_out[c] = friction[c]
    for c in range(friction.size - 1):  # behind the last one there is none that it could share a bound with
        most = math.hypot(friction[c], friction[c + 1]) if columns.both[c] else 0.0
        if most > 0.0:
            way = going_on((rate[c], rate[c + 1], 0.0), (-friction[c] / most, -friction[c + 1] / most, 0.0), CLEAR)
            friction_out[c], friction_out[c + 1] = -most * way[0], -most * way[1]
    for c in range(friction.size):
        torque_out[c] += friction_out[c]
        one_work.dissipated[0] -= friction_out[c] * rate[c]


@kernel
def keep_friction(columns, rate, friction, friction_out):
    """Let the next step begin with the friction that freedoms which share a bound have now."""
    for c in range(rate.size):
        most = math.hypot(friction[c], friction[c + 1]) if columns.both[c] else 0.0
        if most > 0.0 and backward(columns, friction, rate, c) < -STILL:
            friction_out[c], friction_out[c + 1] = friction[c], friction[c + 1]


@kernel
def backward(columns, friction, rate, c):
    """Rate at which a freedom that rubs goes where its friction pushes it; negative while it goes on as it did."""
    if columns.both[c]:
        most = math.hypot(friction[c], friction[c + 1])
        return (friction[c] * rate[c] + friction[c + 1] * rate[c + 1]) / most
    return math.copysign(1.0, friction[c]) * rate[c]


@kernel
def spring_torques(columns, coordinate, rate, torque_out, one_work):
    """Add the joints' springs and dampers; one_work.dissipated[0] gains what dampers dissipate [W]."""
    stiffness, rest, damping = columns.stiffness, columns.rest, columns.damping
    for c in range(stiffness.size):
        if stiffness[c] != 0.0:
            torque_out[c] -= stiffness[c] * (coordinate[c] - rest[c])
        if damping[c] != 0.0:
            torque_out[c] -= damping[c] * rate[c]
            one_work.dissipated[0] += damping[c] * rate[c] * rate[c]


@spliced
def control_torques(tables, control, work, t):
    """Sum what all controllers apply into work.control; work.one.put_in[0] gains their power [W]."""
    sum_controls(tables, control, work, t)
    out, rate = work.control, work.rate
    for c in range(out.size):
        work.torque[c] += out[c]
        work.one.put_in[0] += out[c] * rate[c]


@spliced
def sum_controls(tables, control, work, t):
    """Sum what all controllers apply at coordinates and rates of `work` into work.control."""
    out, rate = work.control, work.rate
    for c in range(out.size):
        out[c] = control.held[c]
    laws = tables.laws.shape[0]
    for n in range(tables.applied.shape[0]):
        if control.enabled[laws + n]:
            out[tables.applied[n, 1]] += acting_value(tables, control, work, tables.applied[n, 0], t)
    for n in range(laws):
        if control.enabled[n]:
            call_law(
                tables.laws[n, 0], t, work.coordinate, rate, tables.law_constants, tables.laws[n, 1], tables.laws[n, 2],
                out,
            )  # fmt: skip


@kernel
def loop_wrenches(blocks, columns, torque, block_work, link_work):
    """Apply the torques of loop joints to the two links they hold, as wrenches about link origins.

    block_work.own: (blocks, 6) moment at M and force, on b.
    """
    own_out = block_work.own
    for n in range(blocks.a.size):
        c, slips = blocks.column[n], blocks.slips[n]
        m0 = m1 = m2 = f0 = f1 = f2 = 0.0
        for i in range(blocks.freedoms[n]):
            tau = torque[c + i]
            if tau == 0.0:
                continue
            code = slip_code(blocks, n, i) if slips else columns.code[c + i]
            if slips:
                tau *= blocks.factor[n]
            e = direction(code, block_work, n)
            if pushes(code):
                f0, f1, f2 = f0 + tau * e[0], f1 + tau * e[1], f2 + tau * e[2]
            else:
                m0, m1, m2 = m0 + tau * e[0], m1 + tau * e[1], m2 + tau * e[2]
        own_out[n, 0], own_out[n, 1], own_out[n, 2] = m0, m1, m2
        own_out[n, 3], own_out[n, 4], own_out[n, 5] = f0, f1, f2
        if blocks.freedoms[n] == 0:
            continue
        moment, force = (m0, m1, m2), (f0, f1, f2)
        add_wrench(block_work, link_work, n, blocks.b[n], 1.0, moment, force, link_work.wrench)
        add_wrench(block_work, link_work, n, blocks.a[n], -1.0, moment, force, link_work.wrench)


@kernel
def add_wrench(block_work, link_work, n, link, sign, moment, force, wrench_out):
    """Add sign * (moment at M of block n, force) to a link's wrench about its own origin."""
    p, x, (m0, m1, m2), (f0, f1, f2) = block_work.p_WM, link_work.x, moment, force
    r0, r1, r2 = p[n, 0] - x[link, 0], p[n, 1] - x[link, 1], p[n, 2] - x[link, 2]
    wrench_out[link, 0] += sign * (m0 + r1 * f2 - r2 * f1)
    wrench_out[link, 1] += sign * (m1 + r2 * f0 - r0 * f2)
    wrench_out[link, 2] += sign * (m2 + r0 * f1 - r1 * f0)
    wrench_out[link, 3] += sign * f0
    wrench_out[link, 4] += sign * f1
    wrench_out[link, 5] += sign * f2


@kernel
def body_wrenches(links, wrench, arms, link_work, one_work):
    """Add what the caller applies to bodies: torques and forces in world axes at points that move along.

    wrench: (bodies, 6) torque, force.  arms: (bodies, 9) sum of p f^T, p from the body's origin in body
    axes.  one_work.put_in[0] gains the power [W].
    """
    body, p_KB, R_KB = links.body, links.p_KB, links.R_KB
    R, V, wrench_out = link_work.R, link_work.V, link_work.wrench
    for b in range(1, body.size):
        n = body[b]
        f = (wrench[n, 3], wrench[n, 4], wrench[n, 5])
        # arm f^T with the arm from the link's origin, in its axes: p_KB f^T + R_KB (p f^T)
        m0, m1, m2 = wrench[n, 0], wrench[n, 1], wrench[n, 2]
        for k in range(3):
            r0, r1, r2 = R_KB[b, 3 * k], R_KB[b, 3 * k + 1], R_KB[b, 3 * k + 2]
            t0 = p_KB[b, k] * f[0] + r0 * arms[n, 0] + r1 * arms[n, 3] + r2 * arms[n, 6]
            t1 = p_KB[b, k] * f[1] + r0 * arms[n, 1] + r1 * arms[n, 4] + r2 * arms[n, 7]
            t2 = p_KB[b, k] * f[2] + r0 * arms[n, 2] + r1 * arms[n, 5] + r2 * arms[n, 8]
            e0, e1, e2 = R[b, k], R[b, 3 + k], R[b, 6 + k]
            m0, m1, m2 = m0 + e1 * t2 - e2 * t1, m1 + e2 * t0 - e0 * t2, m2 + e0 * t1 - e1 * t0
        wrench_out[b, 0] += m0
        wrench_out[b, 1] += m1
        wrench_out[b, 2] += m2
        wrench_out[b, 3] += f[0]
        wrench_out[b, 4] += f[1]
        wrench_out[b, 5] += f[2]
        one_work.put_in[0] += m0 * V[b, 0] + m1 * V[b, 1] + m2 * V[b, 2]
        one_work.put_in[0] += f[0] * V[b, 3] + f[1] * V[b, 4] + f[2] * V[b, 5]


@kernel
def link_forces(link_work):
    """Newton and Euler about each link's origin: what the joint must carry for accelerations A, into F."""
    V, A, I, wrench, F_out = link_work.V, link_work.A, link_work.I, link_work.wrench, link_work.F  # noqa: E741
    for b in range(1, V.shape[0]):
        if link_work.asleep[b] == 1:
            continue
        w0, w1, w2 = V[b, 0], V[b, 1], V[b, 2]
        a0, a1, a2, a3, a4, a5 = A[b, 0], A[b, 1], A[b, 2], A[b, 3], A[b, 4], A[b, 5]
        m, hx, hy, hz = I[b, 0], I[b, 1], I[b, 2], I[b, 3]
        xx, yy, zz, xy, xz, yz = I[b, 4], I[b, 5], I[b, 6], I[b, 7], I[b, 8], I[b, 9]
        g0 = xx * w0 + xy * w1 + xz * w2
        g1 = xy * w0 + yy * w1 + yz * w2
        g2 = xz * w0 + yz * w1 + zz * w2
        c0, c1, c2 = w1 * hz - w2 * hy, w2 * hx - w0 * hz, w0 * hy - w1 * hx
        F_out[b, 0] = xx * a0 + xy * a1 + xz * a2 + w1 * g2 - w2 * g1 + hy * a5 - hz * a4 - wrench[b, 0]
        F_out[b, 1] = xy * a0 + yy * a1 + yz * a2 + w2 * g0 - w0 * g2 + hz * a3 - hx * a5 - wrench[b, 1]
        F_out[b, 2] = xz * a0 + yz * a1 + zz * a2 + w0 * g1 - w1 * g0 + hx * a4 - hy * a3 - wrench[b, 2]
        F_out[b, 3] = m * a3 + a1 * hz - a2 * hy + w1 * c2 - w2 * c1 - wrench[b, 3]
        F_out[b, 4] = m * a4 + a2 * hx - a0 * hz + w2 * c0 - w0 * c2 - wrench[b, 4]
        F_out[b, 5] = m * a5 + a0 * hy - a1 * hx + w0 * c1 - w1 * c0 - wrench[b, 5]
