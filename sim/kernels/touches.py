"""Points of contact: where they are, their rows, and the friction of those that slide.

dynamics-filter-1999, "Collisions and Contacts": a point that sticks is a full constraint of three rows; one that
slides keeps its normal row, and its friction -friction * f d follows the row's force f, d being the direction
in which it slides.
"""

from __future__ import annotations

import math

from sim.kernels.features import feature_pair
from sim.kernels.jit import door, kernel
from sim.model import GUARD_CONE, GUARD_GAP, GUARD_PULL, SLIP

# m/s: below it the direction of sliding is the last one that was clear.  Smaller: roundoff in the velocities turns it.
STILL = 1e-7


@door
def touch_frames(touches, link_work, touch_work, block_work):
    """Place every point of contact, and fill the frames of blocks: normal along z, position off by the gap."""
    x, V, frame_out = link_work.x, link_work.V, block_work.frame
    p_out, R, u_out = touch_work.p, touch_work.R, touch_work.u
    for k in range(touches.kind.size):
        feature_pair(touches, link_work, k, touch_work)
        a, b, n = touches.a[k], touches.b[k], touches.block[k]
        p0, p1, p2 = p_out[k, 0], p_out[k, 1], p_out[k, 2]
        r0, r1, r2 = p0 - x[b, 0], p1 - x[b, 1], p2 - x[b, 2]
        s0, s1, s2 = p0 - x[a, 0], p1 - x[a, 1], p2 - x[a, 2]
        u_out[k, 0] = V[b, 3] + V[b, 1] * r2 - V[b, 2] * r1 - (V[a, 3] + V[a, 1] * s2 - V[a, 2] * s1)
        u_out[k, 1] = V[b, 4] + V[b, 2] * r0 - V[b, 0] * r2 - (V[a, 4] + V[a, 2] * s0 - V[a, 0] * s2)
        u_out[k, 2] = V[b, 5] + V[b, 0] * r1 - V[b, 1] * r0 - (V[a, 5] + V[a, 0] * s1 - V[a, 1] * s0)
        slip_direction(touch_work.start, k, R, u_out, touch_work.slip)
        if n >= 0:
            for i in range(3):
                frame_out[n, i] = p_out[k, i]
                frame_out[n, 21 + i] = V[b, i] - V[a, i]
                frame_out[n, 24 + i] = u_out[k, i]
                frame_out[n, 27 + i] = touch_work.gap[k] * R[k, 3 * i + 2]
            for i in range(9):
                frame_out[n, 3 + i] = R[k, i]
                frame_out[n, 12 + i] = R[k, i]


@kernel
def slip_direction(start, k, R, u, slip_out):
    """Unit direction along the surface in which b slides over a, turned so that it goes on from the one decided on.

    Where sliding ends, and steps go beyond, friction stays smooth: the guard finds the end on the step.
    """
    n0, n1, n2 = R[k, 2], R[k, 5], R[k, 8]
    along = u[k, 0] * n0 + u[k, 1] * n1 + u[k, 2] * n2
    t0, t1, t2 = u[k, 0] - along * n0, u[k, 1] - along * n1, u[k, 2] - along * n2
    speed = math.sqrt(t0 * t0 + t1 * t1 + t2 * t2)
    if t0 * start[k, 0] + t1 * start[k, 1] + t2 * start[k, 2] < 0.0:
        t0, t1, t2 = -t0, -t1, -t2
    if not speed > STILL:
        t0, t1, t2 = start[k, 0], start[k, 1], start[k, 2]
        along = t0 * n0 + t1 * n1 + t2 * n2
        t0, t1, t2 = t0 - along * n0, t1 - along * n1, t2 - along * n2
        speed = math.sqrt(t0 * t0 + t1 * t1 + t2 * t2)
    scale = 1.0 / speed if speed > 0.0 else 0.0
    slip_out[k, 0], slip_out[k, 1], slip_out[k, 2] = scale * t0, scale * t1, scale * t2


@kernel
def go_on(touches, touch_work):
    """Let the next step begin with the directions of sliding that are now."""
    for k in range(touches.kind.size):
        u, slip = touch_work.u, touch_work.slip
        if u[k, 0] * slip[k, 0] + u[k, 1] * slip[k, 1] + u[k, 2] * slip[k, 2] > STILL:
            for i in range(3):
                touch_work.start[k, i] = slip[k, i]


@door
def touch_rows(touches, blocks, rows, every, keeps, link_work, row_work, touch_work):
    """Unit wrenches, J v and the wanted J vdot = -Jdot v of rows of contacts, as `constraints.build_rows`.

    The point of contact and the normal move with p_dot and R_dot: of two materials that roll over each other
    neither carries it.
    """
    x, V, A, p, p_dot, R, R_dot, u = (
        link_work.x, link_work.V, link_work.A, touch_work.p, touch_work.p_dot, touch_work.R, touch_work.R_dot,
        touch_work.u,
    )  # fmt: skip
    for k in range(touches.kind.size):
        n, a, b = touches.block[k], touches.a[k], touches.b[k]
        if n < 0:
            continue
        d = material_acceleration(x, V, A, p, p_dot, k, b)
        c = material_acceleration(x, V, A, p, p_dot, k, a)
        d0, d1, d2 = d[0] - c[0], d[1] - c[1], d[2] - c[2]
        for r in range(blocks.row[n], blocks.row[n] + blocks.rows[n]):
            if not (every or keeps[r]):
                continue
            i = rows.code[r]
            e0, e1, e2 = R[k, i], R[k, 3 + i], R[k, 6 + i]
            row_work.row[r, 0] = row_work.row[r, 1] = row_work.row[r, 2] = 0.0
            row_work.row[r, 3], row_work.row[r, 4], row_work.row[r, 5] = e0, e1, e2
            row_work.slip[r] = e0 * u[k, 0] + e1 * u[k, 1] + e2 * u[k, 2]
            turning = R_dot[k, i] * u[k, 0] + R_dot[k, 3 + i] * u[k, 1] + R_dot[k, 6 + i] * u[k, 2]
            row_work.gamma[r] = -(e0 * d0 + e1 * d1 + e2 * d2 + turning)


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
def rub(touches, k, size, link_work, touch_work, wrench_out):
    """Add the friction of a normal force of `size` at sliding point k to the wrenches on both links."""
    x, p, slip = link_work.x, touch_work.p, touch_work.slip
    a, b = touches.a[k], touches.b[k]
    s = -size * touches.friction[k]
    f0, f1, f2 = s * slip[k, 0], s * slip[k, 1], s * slip[k, 2]
    push(x, p, k, b, f0, f1, f2, wrench_out)
    push(x, p, k, a, -f0, -f1, -f2, wrench_out)


@kernel
def push(x, p, k, link, f0, f1, f2, wrench_out):
    """Add a force at point k to a link's wrench about its own origin."""
    r0, r1, r2 = p[k, 0] - x[link, 0], p[k, 1] - x[link, 1], p[k, 2] - x[link, 2]
    wrench_out[link, 0] += r1 * f2 - r2 * f1
    wrench_out[link, 1] += r2 * f0 - r0 * f2
    wrench_out[link, 2] += r0 * f1 - r1 * f0
    wrench_out[link, 3] += f0
    wrench_out[link, 4] += f1
    wrench_out[link, 5] += f2


@kernel
def rubbing_power(touches, touch_work, feedback, power_out):
    """Add what friction takes [W]; feedback: normal forces of sliding points in its last row."""
    i = 0
    for k in range(touches.kind.size):
        if touches.mode[k] == SLIP:
            u, d = touch_work.u, touch_work.slip
            speed = u[k, 0] * d[k, 0] + u[k, 1] * d[k, 1] + u[k, 2] * d[k, 2]
            power_out[0, 1] += feedback[feedback.shape[0] - 1, i] * touches.friction[k] * speed
            i += 1


@kernel
def touch_guard(kind, k, allowed, touches, touch_work):
    """Value of what is watched of point k, positive once it has happened: [m], [N] or [m/s]."""
    if kind == GUARD_GAP:
        return -touch_work.gap[k] - allowed
    if kind == GUARD_PULL:
        return -touch_work.pressing[k]
    if kind == GUARD_CONE:
        return touch_work.holding[k] - touches.friction[k] * touch_work.pressing[k]
    u, start = touch_work.u, touch_work.start
    return -(u[k, 0] * start[k, 0] + u[k, 1] * start[k, 1] + u[k, 2] * start[k, 2])


@kernel
def touch_forces(touches, blocks, rows, row_work, touch_work):
    """Forces of all points of contact, from the forces of their rows."""
    R, force_out = touch_work.R, touch_work.force
    for k in range(touches.kind.size):
        n = touches.block[k]
        force_out[k, 0] = force_out[k, 1] = force_out[k, 2] = touch_work.pressing[k] = touch_work.holding[k] = 0.0
        if n < 0:
            continue
        side = 0.0
        for r in range(blocks.row[n], blocks.row[n] + blocks.rows[n]):
            i, f = rows.code[r], row_work.force[r]
            for j in range(3):
                force_out[k, j] += f * R[k, 3 * j + i]
            if i == 2:
                touch_work.pressing[k] = f
            else:
                side += f * f
        touch_work.holding[k] = math.sqrt(side)
        if touches.mode[k] == SLIP:
            touch_work.holding[k] = touches.friction[k] * touch_work.pressing[k]
            for j in range(3):
                force_out[k, j] -= touch_work.holding[k] * touch_work.slip[k, j]
