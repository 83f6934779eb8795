"""Closed points of contact: their rows, and the friction of those that slide.

dynamics-filter-1999, "Collisions and Contacts": a point that sticks is a full constraint of three rows; one that
slides keeps its normal row, and its friction -friction * f d follows the row's force f, d being the direction
in which it slides.

A point that has just begun to slide creeps: its friction turns at once to where it must be for the point to go on
straight, in a time of about |u| / (friction * f / mass) that no step could follow.  So it keeps a row across its way,
and d is the direction of friction for which this row has no force.
"""

from __future__ import annotations

import math

from sim.kernels.collision.features import contact_points
from sim.kernels.jit import kernel, python_kernel
from sim.kernels.shapes import OPEN, SLIP, SLOW_SLIP
from sim.kernels.vectors import across, beyond, cross, dot, length, plus, three, times, unit
from sim.kernels.watched import GUARD_CONE, GUARD_PULL, GUARD_SLOW_SLIP

# m/s: about the speed of sliding at which its direction is half-way between that at the step's start and its own, and
# that from which on it has its own.  Smaller: where sliding begins, forces turn in no time.  Larger: paths bend late.
STILL, CLEAR = 1e-6, 8e-6
# m/s: the same of points whose friction would end time and again at once: see `sim.contact.restless`.  The direction
# at their step's start has the length EASED, which tells them, and no part in that of their friction.
EASY, EASED = 8e-5, 1e-6
# m/s: the same of soft points, which never creep: below it friction turns with the way in a time that steps can follow.
SOFT_CLEAR = 1e-2
# m/s: speed from which on a point that has begun to slide no longer creeps; sine by which its friction turns before
# its way is found anew; force across [of its friction] that it may keep.
FAST, TURNED, STRAIGHT = 1e-4, 0.05, 1e-10
# Cosine from which on friction that was turned from a way is no place to begin: a trial step went so far that it had to
# be, and from there it does not find back.  Larger than that of a creep that goes on: its evaluations begin anew.
ASTRAY = 0.9


@python_kernel
def touch_frames(touches, link_work, point_work, block_work):
    """Place every point, and fill the frames of its block: two tangents and the normal, the position off by the gap."""
    x, V, F_out, M_out = link_work.x, link_work.V, block_work.R_WF, block_work.R_WM
    p_out, n, t1, t2, u_out = point_work.p, point_work.n, point_work.t1, point_work.t2, point_work.u
    status = contact_points(touches, x, link_work.R, V, touches.mode.size, point_work)
    for k in range(touches.mode.size):
        a, b, block = touches.link[k, 0], touches.link[k, 1], touches.block[k]
        p0, p1, p2 = p_out[k, 0], p_out[k, 1], p_out[k, 2]
        r0, r1, r2 = p0 - x[b, 0], p1 - x[b, 1], p2 - x[b, 2]
        s0, s1, s2 = p0 - x[a, 0], p1 - x[a, 1], p2 - x[a, 2]
        u_out[k, 0] = V[b, 3] + V[b, 1] * r2 - V[b, 2] * r1 - (V[a, 3] + V[a, 1] * s2 - V[a, 2] * s1)
        u_out[k, 1] = V[b, 4] + V[b, 2] * r0 - V[b, 0] * r2 - (V[a, 4] + V[a, 2] * s0 - V[a, 0] * s2)
        u_out[k, 2] = V[b, 5] + V[b, 0] * r1 - V[b, 1] * r0 - (V[a, 5] + V[a, 0] * s1 - V[a, 1] * s0)
        if touches.mode[k] == SLOW_SLIP:
            frame_of_way(k, point_work)
        else:
            slip_direction(k, SOFT_CLEAR if touches.mode[k] < OPEN else CLEAR, point_work)
        if block >= 0:
            for i in range(3):
                F_out[block, 3 * i] = M_out[block, 3 * i] = t1[k, i]
                F_out[block, 3 * i + 1] = M_out[block, 3 * i + 1] = t2[k, i]
                F_out[block, 3 * i + 2] = M_out[block, 3 * i + 2] = n[k, i]
                block_work.p_WM[block, i] = p_out[k, i]
                block_work.w_FM[block, i] = V[b, i] - V[a, i]
                block_work.u[block, i] = u_out[k, i]
                block_work.p_FM[block, i] = point_work.gap[k] * n[k, i]
    return status


@kernel
def slip_direction(k, clear, point_work):
    """Unit direction along the surface in which b slides over a, turned to go on from that at the step's start.

    clear: m/s, from which speed on it is that of the slip

    Where sliding ends, and steps go beyond, friction stays smooth: the guard finds the end on the step.
    """
    n, u, start, slip_out = point_work.n, point_work.u, point_work.start, point_work.slip
    t, s = along_surface(k, u, n), along_surface(k, start, n)
    way = easing(t) if is_eased(start, k) else going_on(t, s, clear)
    slip_out[k, 0], slip_out[k, 1], slip_out[k, 2] = way


@kernel
def is_eased(start, k):
    """Tell whether the friction of a point grows with its slip."""
    return 0.0 < start[k, 0] ** 2 + start[k, 1] ** 2 + start[k, 2] ** 2 < 4.0 * EASED * EASED


@kernel
def easing(t):
    """Direction of a velocity t, the shorter the slower it is, and of unit length from EASY on."""
    speed = length(t)
    share = held_by_start(speed, EASY) if speed < EASY else 0.0
    return times(1.0 / (speed + share), t)


@kernel
def going_on(t, start, clear):
    """Unit direction of a velocity t, turned to go on from the direction `start`, which has a length of about one.

    clear: m/s, from which speed on it is its own
    """
    (t0, t1, t2), (s0, s1, s2) = t, start
    speed, on = math.sqrt(t0 * t0 + t1 * t1 + t2 * t2), t0 * s0 + t1 * s1 + t2 * s2
    if on < 0.0:  # mirrored, so that what goes across stays
        on *= 2.0 / (s0 * s0 + s1 * s1 + s2 * s2)
        t0, t1, t2 = t0 - on * s0, t1 - on * s1, t2 - on * s2
    if speed < clear:
        share = held_by_start(speed, clear)
        t0, t1, t2 = t0 + share * s0, t1 + share * s1, t2 + share * s2
        speed = math.sqrt(t0 * t0 + t1 * t1 + t2 * t2)
    scale = 1.0 / speed if speed > 0.0 else 0.0
    return scale * t0, scale * t1, scale * t2


@kernel
def frame_of_way(k, point_work):
    """Turn the tangents so that the first is the way of a point that creeps, and keep its friction in the surface."""
    t1_out, t2_out, r1_out, r2_out = point_work.t1, point_work.t2, point_work.t1_dot, point_work.t2_dot
    n, n_dot, start, slip_out = three(point_work.n, k), three(point_work.n_dot, k), point_work.start, point_work.slip
    way = three(start, k)
    in_surface = across(way, n)
    size = length(in_surface)
    t1 = times(1.0 / size, in_surface)
    turning = beyond(times(-dot(n, way), n_dot), -dot(n_dot, way), n)
    t1_dot = times(1.0 / size, across(turning, t1))
    t2, t2_dot = cross(n, t1), plus(cross(n_dot, t1), cross(n, t1_dot))
    against = across(three(slip_out, k), n)
    against = unit(against)
    against = against if dot(against, t1) > ASTRAY else t1
    for i in range(3):
        t1_out[k, i], t2_out[k, i], r1_out[k, i], r2_out[k, i] = t1[i], t2[i], t1_dot[i], t2_dot[i]
        slip_out[k, i] = against[i]


@kernel
def held_by_start(speed, clear):
    """Weight [m/s] of the direction at the step's start beside a slow velocity of sliding."""
    return clear * STILL / CLEAR * (1.0 - speed / clear) ** 2


@kernel
def along_surface(k, u, n):
    """Return the part of a vector along the surface."""
    off = u[k, 0] * n[k, 0] + u[k, 1] * n[k, 1] + u[k, 2] * n[k, 2]
    return u[k, 0] - off * n[k, 0], u[k, 1] - off * n[k, 1], u[k, 2] - off * n[k, 2]


@kernel
def go_on_sliding(touches, point_work):
    """Let the next step begin with the directions of sliding that are now."""
    for k in range(touches.mode.size):
        u, slip = point_work.u, point_work.slip
        least = EASY if is_eased(point_work.start, k) else STILL
        if touches.mode[k] != SLOW_SLIP and u[k, 0] * slip[k, 0] + u[k, 1] * slip[k, 1] + u[k, 2] * slip[k, 2] > least:
            for i in range(3):
                point_work.start[k, i] = slip[k, i]


@python_kernel
def touch_rows(touches, blocks, rows, every, keeps, link_work, row_work, point_work):
    """Unit wrenches, J v and the wanted J vdot = -Jdot v of rows of contacts, as `constraints.build_rows`.

    The point of contact and the normal move with p_dot and n_dot: of two materials that roll over each other
    neither carries it.
    """
    x, V, A, p, p_dot, u = link_work.x, link_work.V, link_work.A, point_work.p, point_work.p_dot, point_work.u
    for k in range(touches.mode.size):
        n, a, b = touches.block[k], touches.link[k, 0], touches.link[k, 1]
        if n < 0:
            continue
        d = material_acceleration(x, V, A, p, p_dot, k, b)
        c = material_acceleration(x, V, A, p, p_dot, k, a)
        d0, d1, d2 = d[0] - c[0], d[1] - c[1], d[2] - c[2]
        for r in range(blocks.row[n], blocks.row[n] + blocks.rows[n]):
            if not (every or keeps[r]):
                continue
            e0, e1, e2, m0, m1, m2 = row_axis(point_work, k, rows.code[r])
            row_work.row[r, 0] = row_work.row[r, 1] = row_work.row[r, 2] = 0.0
            row_work.row[r, 3], row_work.row[r, 4], row_work.row[r, 5] = e0, e1, e2
            row_work.slip[r] = e0 * u[k, 0] + e1 * u[k, 1] + e2 * u[k, 2]
            turning = m0 * u[k, 0] + m1 * u[k, 1] + m2 * u[k, 2]
            row_work.gamma[r] = -(e0 * d0 + e1 * d1 + e2 * d2 + turning)


@kernel
def row_axis(point_work, k, code):
    """Return the axis of a row, 0 and 1 along the surface, 2 the normal; and its rate."""
    if code == 0:
        e, m = point_work.t1, point_work.t1_dot
    elif code == 1:
        e, m = point_work.t2, point_work.t2_dot
    else:
        e, m = point_work.n, point_work.n_dot
    return e[k, 0], e[k, 1], e[k, 2], m[k, 0], m[k, 1], m[k, 2]


@kernel
def material_acceleration(x, V, A, p, p_dot, k, b):
    """Rate, with zero vdot, of the velocity of link b's material at point k, which moves along it."""
    w0, w1, w2 = V[b, 0], V[b, 1], V[b, 2]
    r0, r1, r2 = p[k, 0] - x[b, 0], p[k, 1] - x[b, 1], p[k, 2] - x[b, 2]
    s0, s1, s2 = p_dot[k, 0] - V[b, 3], p_dot[k, 1] - V[b, 4], p_dot[k, 2] - V[b, 5]
    return (
        A[b, 3] + A[b, 1] * r2 - A[b, 2] * r1 + w1 * s2 - w2 * s1,
        A[b, 4] + A[b, 2] * r0 - A[b, 0] * r2 + w2 * s0 - w0 * s2,
        A[b, 5] + A[b, 0] * r1 - A[b, 1] * r0 + w0 * s1 - w1 * s0,
    )


@kernel
def rub(touches, k, size, link_work, point_work, wrench_out):
    """Add the friction of a normal force of `size` at sliding point k to the wrenches on both links."""
    x, p, slip = link_work.x, point_work.p, point_work.slip
    s = -size * touches.friction[k]
    f0, f1, f2 = s * slip[k, 0], s * slip[k, 1], s * slip[k, 2]
    push_at(x, p, k, touches.link[k, 1], f0, f1, f2, wrench_out)
    push_at(x, p, k, touches.link[k, 0], -f0, -f1, -f2, wrench_out)


@kernel
def push_at(x, p, k, link, f0, f1, f2, wrench_out):
    """Add a force at point k to a link's wrench about its own origin."""
    r0, r1, r2 = p[k, 0] - x[link, 0], p[k, 1] - x[link, 1], p[k, 2] - x[link, 2]
    wrench_out[link, 0] += r1 * f2 - r2 * f1
    wrench_out[link, 1] += r2 * f0 - r0 * f2
    wrench_out[link, 2] += r0 * f1 - r1 * f0
    wrench_out[link, 3] += f0
    wrench_out[link, 4] += f1
    wrench_out[link, 5] += f2


@kernel
def rub_all(touches, sign, f, link_work, point_work):
    """Add sign times the friction of all sliding points with normal forces f to the wrenches on links."""
    i = 0
    for k in range(touches.mode.size):
        if touches.mode[k] >= SLIP:
            rub(touches, k, sign * f[i], link_work, point_work, link_work.wrench)
            i += 1


@kernel
def creeps(touches):
    """Tell whether any point creeps."""
    any_slow_slip = False
    for k in range(touches.mode.size):
        any_slow_slip = any_slow_slip or touches.mode[k] == SLOW_SLIP
    return any_slow_slip


@kernel
def held_across(blocks, touches, row_work):
    """Tell whether points that creep are held across their ways by more than their friction."""
    for k in range(touches.mode.size):
        if touches.mode[k] == SLOW_SLIP:
            r = blocks.row[touches.block[k]]
            f, beside = row_work.force[r], row_work.force[r + 1]
            if f > 0.0 and abs(beside) > STRAIGHT * touches.friction[k] * f:
                return True
    return False


@kernel
def turn_friction(blocks, touches, row_work, point_work):
    """Turn the friction of points that creep to where it and the force across their ways point together."""
    slip_out, t2 = point_work.slip, point_work.t2
    for k in range(touches.mode.size):
        if touches.mode[k] == SLOW_SLIP:
            r = blocks.row[touches.block[k]]
            f, beside = row_work.force[r], row_work.force[r + 1]
            share = beside / (touches.friction[k] * f) if f > 0.0 else 0.0
            turned = unit(beyond(three(slip_out, k), -share, three(t2, k)))
            for i in range(3):
                slip_out[k, i] = turned[i]


@kernel
def rubbing_power(touches, point_work, f, dissipated_out):
    """Add what friction takes [W]; f: normal forces of the sliding point_work."""
    i = 0
    for k in range(touches.mode.size):
        if touches.mode[k] >= SLIP:
            u, d = point_work.u, point_work.slip
            speed = u[k, 0] * d[k, 0] + u[k, 1] * d[k, 1] + u[k, 2] * d[k, 2]
            dissipated_out[0] += f[i] * touches.friction[k] * speed
            i += 1


@kernel
def touch_forces(touches, blocks, rows, row_work, point_work):
    """Forces of all point_work, from the forces of their rows."""
    force_out = point_work.force
    for k in range(touches.mode.size):
        n = touches.block[k]
        force_out[k, 0] = force_out[k, 1] = force_out[k, 2] = point_work.pressing[k] = point_work.holding[k] = 0.0
        if n < 0:
            continue
        side = 0.0
        for r in range(blocks.row[n], blocks.row[n] + blocks.rows[n]):
            f = row_work.force[r]
            e0, e1, e2, _, _, _ = row_axis(point_work, k, rows.code[r])
            force_out[k, 0] += f * e0
            force_out[k, 1] += f * e1
            force_out[k, 2] += f * e2
            if rows.code[r] == 2:
                point_work.pressing[k] = f
            else:
                side += f * f
        point_work.holding[k] = math.sqrt(side)
        if touches.mode[k] >= SLIP:
            point_work.holding[k] = touches.friction[k] * point_work.pressing[k]
            for j in range(3):
                force_out[k, j] -= point_work.holding[k] * point_work.slip[k, j]


@kernel
def sum_forces(touches, meetings, point_work, contact_out):
    """Add the force of every point to its rule's, on the bodies that the rule names first."""
    for k in range(touches.mode.size):
        m = touches.meeting[k]
        sign = 1.0 if touches.link[k, 1] == meetings.named[m] else -1.0
        for i in range(3):
            contact_out.force[meetings.rule[m], i] += sign * point_work.force[k, i]


@kernel
def touch_guard(kind, k, touches, point_work):
    """Value of what is watched of closed point k, positive once it has happened: [N] or [m/s]."""
    if kind == GUARD_PULL:
        return -point_work.pressing[k]
    if kind == GUARD_CONE:
        return point_work.holding[k] - touches.friction[k] * point_work.pressing[k]
    u, start = point_work.u, point_work.start
    if kind == GUARD_SLOW_SLIP:
        return creep_ends(k, point_work)
    return -(u[k, 0] * start[k, 0] + u[k, 1] * start[k, 1] + u[k, 2] * start[k, 2])


@kernel
def creep_ends(k, point_work):
    """Value of what ends a creep: that it stops, that it has become fast, that it would go another way."""
    u, t1, t2, slip = point_work.u, point_work.t1, point_work.t2, point_work.slip
    speed = u[k, 0] * t1[k, 0] + u[k, 1] * t1[k, 1] + u[k, 2] * t1[k, 2]
    turned = slip[k, 0] * t2[k, 0] + slip[k, 1] * t2[k, 1] + slip[k, 2] * t2[k, 2]
    return max(-speed, speed - FAST, FAST * (abs(turned) - TURNED))
