"""Rows of everything that restrains: loop joints, armatures on them and driven freedoms as one table of rows.

A row is a unit wrench (moment at M, force) on link b and its opposite on link a; J v is the
relative velocity of M against F along it, and `phi` the position residual whose rate that is.
A driven freedom is a row that wants a coordinate, a rate and an acceleration instead of zeros.
A row with a pitch is a force along an axis of F and its moment about it, -pitch times as large: a slide follows a turn.
A gear is a row with two such pairs of wrenches, one in the block of each freedom that it ties.
Rotational rows are multiplied by the mechanism's length, so that all rows are in metres.  J is
kept by path (freedoms of b below the fork, of a below it, then those above), never dense.
"""

from __future__ import annotations

import math

from sim.kernels.elimination.articulated import climb, wrench_about
from sim.kernels.elimination.pivots import CUT, NOTHING
from sim.kernels.jit import inlined, kernel, python_kernel
from sim.kernels.shapes import CYLINDER, PLANE
from sim.kernels.spatial import (
    multiply,
    quaternion_step,
    relative_rotation,
    rotation_vector,
    swing_of,
    twist_of,
)
from sim.kernels.tables import (
    ANGLE_ROW,
    AXLE_ROW,
    EDGE_ROW,
    OF_BALL,
    RATES_ONLY,
    SWING_ROW,
    TWIST_ROW,
    UNIVERSAL_ROW,
)
from sim.kernels.vectors import across, axis_at, beyond, cross, dot, length, minus, plus, three, times, unit

# m/s^2: what contradictions are compared with where nothing accelerates; forces in balance leave roundoff.
SLOW = 1e-3


@python_kernel
def block_frames(blocks, link_work, block_work):
    """Joint frames of every loop and their relative motion, into block_work; points of contact are placed elsewhere.

    M of what rolls is the lowest point, and F stands under it on a ground that is round.
    """
    x, R, V = link_work.x, link_work.R, link_work.V
    p_out, F_out, M_out = block_work.p_WM, block_work.R_WF, block_work.R_WM
    w_out, u_out, way_out = block_work.w_FM, block_work.u, block_work.p_FM
    a_links, b_links = blocks.a, blocks.b
    p_aF, R_aF, p_bM, R_bM = blocks.p_aF, blocks.R_aF, blocks.p_bM, blocks.R_bM
    for n in range(a_links.size):
        if blocks.touch[n] >= 0:
            continue
        a, b = a_links[n], b_links[n]
        A = (R[a, 0], R[a, 1], R[a, 2], R[a, 3], R[a, 4], R[a, 5], R[a, 6], R[a, 7], R[a, 8])
        B = (R[b, 0], R[b, 1], R[b, 2], R[b, 3], R[b, 4], R[b, 5], R[b, 6], R[b, 7], R[b, 8])
        F = multiply(A, (
            R_aF[n, 0], R_aF[n, 1], R_aF[n, 2], R_aF[n, 3], R_aF[n, 4], R_aF[n, 5],
            R_aF[n, 6], R_aF[n, 7], R_aF[n, 8],
        ))  # fmt: skip
        M = multiply(B, (
            R_bM[n, 0], R_bM[n, 1], R_bM[n, 2], R_bM[n, 3], R_bM[n, 4], R_bM[n, 5],
            R_bM[n, 6], R_bM[n, 7], R_bM[n, 8],
        ))  # fmt: skip
        F_out[n, 0], F_out[n, 1], F_out[n, 2] = F[0], F[1], F[2]
        F_out[n, 3], F_out[n, 4], F_out[n, 5] = F[3], F[4], F[5]
        F_out[n, 6], F_out[n, 7], F_out[n, 8] = F[6], F[7], F[8]
        M_out[n, 0], M_out[n, 1], M_out[n, 2] = M[0], M[1], M[2]
        M_out[n, 3], M_out[n, 4], M_out[n, 5] = M[3], M[4], M[5]
        M_out[n, 6], M_out[n, 7], M_out[n, 8] = M[6], M[7], M[8]
        f0, f1, f2 = p_aF[n, 0], p_aF[n, 1], p_aF[n, 2]
        m0, m1, m2 = p_bM[n, 0], p_bM[n, 1], p_bM[n, 2]
        s0 = B[0] * m0 + B[1] * m1 + B[2] * m2
        s1 = B[3] * m0 + B[4] * m1 + B[5] * m2
        s2 = B[6] * m0 + B[7] * m1 + B[8] * m2
        p_out[n, 0], p_out[n, 1], p_out[n, 2] = x[b, 0] + s0, x[b, 1] + s1, x[b, 2] + s2
        r0, r1, r2 = x[b, 0] - x[a, 0] + s0, x[b, 1] - x[a, 1] + s1, x[b, 2] - x[a, 2] + s2
        way_out[n, 0] = r0 - (A[0] * f0 + A[1] * f1 + A[2] * f2)
        way_out[n, 1] = r1 - (A[3] * f0 + A[4] * f1 + A[5] * f2)
        way_out[n, 2] = r2 - (A[6] * f0 + A[7] * f1 + A[8] * f2)
        w0, w1, w2 = V[a, 0], V[a, 1], V[a, 2]
        u0, u1, u2 = V[b, 0], V[b, 1], V[b, 2]
        w_out[n, 0], w_out[n, 1], w_out[n, 2] = u0 - w0, u1 - w1, u2 - w2
        u_out[n, 0] = V[b, 3] + u1 * s2 - u2 * s1 - (V[a, 3] + w1 * r2 - w2 * r1)
        u_out[n, 1] = V[b, 4] + u2 * s0 - u0 * s2 - (V[a, 4] + w2 * r0 - w0 * r2)
        u_out[n, 2] = V[b, 5] + u0 * s1 - u1 * s0 - (V[a, 5] + w0 * r1 - w1 * r0)
        if blocks.rolls[n]:
            stand_under(n, blocks.ground[n], blocks.bend[n], block_work)
            lowest_point(blocks, n, V, block_work)


@kernel
def stand_under(n, kind, bend, block_work):
    """Move F to where a round ground is nearest to M, and turn it so that z_F is the ground's normal there.

    The ground is a cylinder along y_F, or a sphere about F, of radius |bend|; M is outside of it, or inside where bend
    is negative.  F turns about y_F, or about the shortest way to the normal (from where it was drawn).
    """
    F_out, way_out, w_out = block_work.R_WF, block_work.p_FM, block_work.w_aF
    if kind == PLANE:
        w_out[n, 0] = w_out[n, 1] = w_out[n, 2] = 0.0
        return
    x, y, z = axis_at(F_out, n, 0), axis_at(F_out, n, 1), axis_at(F_out, n, 2)
    way, rate = three(way_out, n), three(block_work.u, n)
    if kind == CYLINDER:
        way, rate = across(way, y), across(rate, y)
    scale = math.copysign(1.0 / max(length(way), 1e-30), bend)
    normal = times(scale, way)
    turning = times(scale, across(rate, normal))
    w = cross(normal, turning)
    if kind == CYLINDER:
        t1, t2 = cross(y, normal), y
    else:  # t1 = x - (x.n) (z + n) / (1 + z.n)
        both, c, s = plus(z, normal), max(1.0 + dot(z, normal), 1e-30), dot(x, normal)
        t1 = beyond(x, -s / c, both)
        t2 = cross(normal, t1)
        t1_dot = beyond(times(-s / c, turning), s * dot(z, turning) / c**2 - dot(x, turning) / c, both)
        w = beyond(w, dot(t2, t1_dot), normal)
    for i in range(3):
        F_out[n, 3 * i], F_out[n, 3 * i + 1], F_out[n, 3 * i + 2] = t1[i], t2[i], normal[i]
        way_out[n, i] -= bend * normal[i]
        w_out[n, i] = w[i]


@kernel
def lowest_point(blocks, n, V, block_work):
    """Move M from the centre of a torus (or disc, sphere, ellipsoid) to where it comes nearest to the plane z_F of a.

    With z the normal and y the axis, p = C + ring d - tube z, where d = -(z - (z.y) y) / |...|; of an ellipsoid
    u.A^-1 u = 1 about its centre, p = C - A z / sqrt(z.A z).  The material at p has no acceleration from p's own motion
    s along it but (w_b - w_a) x s.
    """
    a, b, ring, tube = blocks.a[n], blocks.b[n], blocks.ring[n], blocks.tube[n]
    p_out, M, u_out, way_out = block_work.p_WM, block_work.R_WM, block_work.u, block_work.p_FM
    z, y = axis_at(block_work.R_WF, n, 2), axis_at(M, n, 1)
    w_a, w_b, C = three(V, a), three(V, b), three(p_out, n)
    z_dot, y_dot = cross(plus(w_a, three(block_work.w_aF, n)), z), cross(w_b, y)
    arm, arm_dot = times(-tube, z), times(-tube, z_dot)
    if blocks.radii[n, 0] > 0.0:
        h = stretched(blocks, n, M, z)
        h_dot = plus(cross(w_b, h), stretched(blocks, n, M, minus(z_dot, cross(w_b, z))))
        size = math.sqrt(dot(h, z))
        size_dot = (dot(h_dot, z) + dot(h, z_dot)) / (2.0 * size)
        arm = times(-1.0 / size, h)
        arm_dot = times(-1.0 / size, beyond(h_dot, -size_dot / size, h))
    elif ring > 0.0:
        c = dot(z, y)
        h = beyond(z, -c, y)
        h_dot = beyond(beyond(z_dot, -(dot(z_dot, y) + dot(z, y_dot)), y), -c, y_dot)
        size = max(length(h), 1e-30)
        d = times(-1.0 / size, h)
        arm = beyond(arm, ring, d)
        arm_dot = beyond(arm_dot, -ring / size, beyond(h_dot, -dot(h_dot, d), d))
    p, w = plus(C, arm), minus(w_b, w_a)
    along = minus(arm_dot, cross(w_b, arm))
    drift = cross(w, along)
    u = plus(three(u_out, n), cross(w, arm))
    for i in range(3):
        p_out[n, i], u_out[n, i] = p[i], u[i]
        way_out[n, i] += arm[i]
        block_work.drift[n, i] = drift[i]


@kernel
def stretched(blocks, n, M, u):
    """Return A u for the ellipsoid u.A^-1 u = 1 of block n, whose axes are those of M."""
    out = (0.0, 0.0, 0.0)
    for k in range(3):
        axis = axis_at(M, n, k)
        out = beyond(out, blocks.radii[n, k] ** 2 * dot(axis, u), axis)
    return out


@python_kernel
def direction(code, block_work, n):
    """Unit direction of a row, by its code; see `sim.kernels.tables`."""
    F, M = block_work.R_WF, block_work.R_WM
    if code == ANGLE_ROW:
        return turn_between_frames(block_work, n)[0]
    if code >= SWING_ROW:
        return tilting(code, block_work, n)
    if code == UNIVERSAL_ROW:
        return cross(axis_at(M, n, 2), axis_at(F, n, 0))
    if code == AXLE_ROW or code == EDGE_ROW:
        return unit(sideways(code, block_work, n))
    if code > UNIVERSAL_ROW:
        return axis_at(M, n, code - UNIVERSAL_ROW - 1)
    return axis_at(F, n, code % 3)


@inlined
def tilted_axes(code, block_work, n):
    """Return the axis of F and that of M whose swing or twist a row is about, world axes."""
    k = (code - SWING_ROW) % 3
    return axis_at(block_work.R_WF, n, k), axis_at(block_work.R_WM, n, k)


@inlined
def tilting(code, block_work, n):
    """Return the direction whose product with the relative angular velocity is the rate of a swing or a twist.

    A unit across both axes, or (a_F + a_M) / (1 + a_F.a_M), which is longer than 1.
    """
    its, mine = tilted_axes(code, block_work, n)
    if code < TWIST_ROW:
        return unit(cross(its, mine))
    return times(1.0 / max(1.0 + dot(its, mine), 1e-12), plus(its, mine))


@kernel
def tilting_rate(code, block_work, n, w_a, w_b):
    """Time derivative of that direction."""
    its, mine = tilted_axes(code, block_work, n)
    its_dot, mine_dot = cross(w_a, its), cross(w_b, mine)
    if code < TWIST_ROW:
        c, c_dot = cross(its, mine), plus(cross(its_dot, mine), cross(its, mine_dot))
        size = max(length(c), 1e-30)
        e = times(1.0 / size, c)
        return times(1.0 / size, beyond(c_dot, -dot(e, c_dot), e))
    s = 1.0 / max(1.0 + dot(its, mine), 1e-12)
    change = dot(its_dot, mine) + dot(its, mine_dot)
    return beyond(times(s, plus(its_dot, mine_dot)), -s * s * change, plus(its, mine))


@kernel
def tilt(code, block_work, n):
    """Return the swing or the twist between the frames of block n [rad]."""
    x, y, z = relative_rotation(block_work.R_WF[n], block_work.R_WM[n])
    k = (code - SWING_ROW) % 3
    if code < TWIST_ROW:
        return swing_of(x, y, z, k)
    return twist_of(x, y, z, k)


@inlined
def sideways(code, block_work, n):
    """Direction in the plane z_F in which a wheel with axle y_M, or a blade along x_M, does not slip; not a unit."""
    z = axis_at(block_work.R_WF, n, 2)
    if code == EDGE_ROW:
        return cross(z, axis_at(block_work.R_WM, n, 0))
    y = axis_at(block_work.R_WM, n, 1)
    return beyond(y, -dot(z, y), z)


@kernel
def sideways_rate(code, block_work, n, w_a, w_b):
    """Time derivative of the unit direction that `sideways` gives."""
    z = axis_at(block_work.R_WF, n, 2)
    z_dot = cross(w_a, z)
    if code == EDGE_ROW:
        x = axis_at(block_work.R_WM, n, 0)
        turning = plus(cross(z_dot, x), cross(z, cross(w_b, x)))
    else:
        y = axis_at(block_work.R_WM, n, 1)
        y_dot = cross(w_b, y)
        turning = beyond(beyond(y_dot, -(dot(z_dot, y) + dot(z, y_dot)), z), -dot(z, y), z_dot)
    s = sideways(code, block_work, n)
    size = length(s)
    e = times(1.0 / size, s)
    return times(1.0 / size, beyond(turning, -dot(e, turning), e))


@python_kernel
def build_rows(blocks, rows, every, keeps, link_work, block_work, row_work):
    """Unit wrenches, J v and the wanted J vdot = -Jdot v of every row, or of those that were kept.

    Rows of contacts are left to `sim.kernels.rows.touches`.

    Driven rows: J v less the wanted rate, and the wanted acceleration besides, from row_work.want.
    link_work.A: accelerations of the links with zero vdot.  row_work.row: (rows, 6) moment at M [m], force [1].
    """
    row_out, gamma_out, slip_out = row_work.row, row_work.gamma, row_work.slip
    block, code, scale, motion, want = rows.block, rows.code, rows.scale, rows.motion, row_work.want
    for r in range(block.size):
        if not (every or keeps[r]) or blocks.touch[block[r]] >= 0:
            continue
        n, c, s = block[r], code[r], scale[r]
        e, rate, drift = along_row(n, c, blocks, link_work, block_work)
        point(r, c, s, e, row_out)
        slip_out[r], gamma_out[r] = s * rate, -s * drift
        if motion[r] >= 0:
            slip_out[r] -= s * want[r, 1]
            gamma_out[r] += s * want[r, 2]
        if rows.pitch[r] != 0.0:
            e, rate, drift = along_row(n, c + 3, blocks, link_work, block_work)
            s *= -rows.pitch[r]
            row_out[r, 0], row_out[r, 1], row_out[r, 2] = s * e[0], s * e[1], s * e[2]
            slip_out[r], gamma_out[r] = slip_out[r] + s * rate, gamma_out[r] - s * drift
        m = blocks.mate[n]
        if m >= 0:
            c, s = blocks.code[m], s * blocks.factor[m]
            e, rate, drift = along_row(m, c, blocks, link_work, block_work)
            point(r, c, s, e, row_work.mate)
            slip_out[r], gamma_out[r] = slip_out[r] + s * rate, gamma_out[r] - s * drift


@inlined
def pushes(code):
    """Tell whether a direction is of a force, by its code; else of a moment."""
    return code < 3 or AXLE_ROW <= code <= EDGE_ROW


@inlined
def point(r, code, size, e, row_out):
    """Fill the unit wrench of row r: a force or a moment along e."""
    for i in range(6):
        row_out[r, i] = 0.0
    i = 3 if pushes(code) else 0
    row_out[r, i], row_out[r, i + 1], row_out[r, i + 2] = size * e[0], size * e[1], size * e[2]


@inlined
def along_row(n, c, blocks, link_work, block_work):
    """Direction in block n by a row's code, the rate along it, and what this rate's derivative is with zero vdot."""
    V, A, x, a, b = link_work.V, link_work.A, link_work.x, blocks.a[n], blocks.b[n]
    e0, e1, e2 = direction(c, block_work, n)
    wa0, wa1, wa2 = V[a, 0], V[a, 1], V[a, 2]
    wb0, wb1, wb2 = V[b, 0], V[b, 1], V[b, 2]
    if pushes(c):
        p, u = block_work.p_WM, block_work.u
        u0, u1, u2 = u[n, 0], u[n, 1], u[n, 2]
        p0, p1, p2 = p[n, 0] - x[b, 0], p[n, 1] - x[b, 1], p[n, 2] - x[b, 2]
        r0, r1, r2 = p[n, 0] - x[a, 0], p[n, 1] - x[a, 1], p[n, 2] - x[a, 2]
        cb0, cb1, cb2 = wb1 * p2 - wb2 * p1, wb2 * p0 - wb0 * p2, wb0 * p1 - wb1 * p0
        ca0, ca1, ca2 = wa1 * r2 - wa2 * r1, wa2 * r0 - wa0 * r2, wa0 * r1 - wa1 * r0
        d0 = A[b, 3] + A[b, 1] * p2 - A[b, 2] * p1 + wb1 * cb2 - wb2 * cb1
        d1 = A[b, 4] + A[b, 2] * p0 - A[b, 0] * p2 + wb2 * cb0 - wb0 * cb2
        d2 = A[b, 5] + A[b, 0] * p1 - A[b, 1] * p0 + wb0 * cb1 - wb1 * cb0
        d0 -= A[a, 3] + A[a, 1] * r2 - A[a, 2] * r1 + wa1 * ca2 - wa2 * ca1
        d1 -= A[a, 4] + A[a, 2] * r0 - A[a, 0] * r2 + wa2 * ca0 - wa0 * ca2
        d2 -= A[a, 5] + A[a, 0] * r1 - A[a, 1] * r0 + wa0 * ca1 - wa1 * ca0
        t0, t1, t2 = wa1 * e2 - wa2 * e1, wa2 * e0 - wa0 * e2, wa0 * e1 - wa1 * e0
        if c == AXLE_ROW or c == EDGE_ROW:
            g0, g1, g2 = sideways_rate(c, block_work, n, (wa0, wa1, wa2), (wb0, wb1, wb2))
            t0, t1, t2 = t0 + g0, t1 + g1, t2 + g2
        else:
            t0, t1, t2 = 2.0 * t0, 2.0 * t1, 2.0 * t2
        if blocks.rolls[n]:
            drift, (w0, w1, w2) = block_work.drift, three(block_work.w_aF, n)
            d0, d1, d2 = d0 + drift[n, 0], d1 + drift[n, 1], d2 + drift[n, 2]
            t0, t1, t2 = t0 + w1 * e2 - w2 * e1, t1 + w2 * e0 - w0 * e2, t2 + w0 * e1 - w1 * e0
    else:
        w = block_work.w_FM
        u0, u1, u2 = w[n, 0], w[n, 1], w[n, 2]
        d0, d1, d2 = A[b, 0] - A[a, 0], A[b, 1] - A[a, 1], A[b, 2] - A[a, 2]
        if c == ANGLE_ROW:
            t0, t1, t2 = turning_rate(block_work, n, wa0, wa1, wa2)
        elif c >= SWING_ROW:
            t0, t1, t2 = tilting_rate(c, block_work, n, (wa0, wa1, wa2), (wb0, wb1, wb2))
        elif c == UNIVERSAL_ROW:
            t0, t1, t2 = cross_rate(block_work, n, wa0, wa1, wa2, wb0, wb1, wb2)
        elif c > UNIVERSAL_ROW:
            t0, t1, t2 = wb1 * e2 - wb2 * e1, wb2 * e0 - wb0 * e2, wb0 * e1 - wb1 * e0
        else:
            t0, t1, t2 = wa1 * e2 - wa2 * e1, wa2 * e0 - wa0 * e2, wa0 * e1 - wa1 * e0
    rate = e0 * u0 + e1 * u1 + e2 * u2
    return (e0, e1, e2), rate, e0 * d0 + e1 * d1 + e2 * d2 + t0 * u0 + t1 * u1 + t2 * u2


@kernel
def turn_between_frames(block_work, n):
    """Return the axis about which M of block n is turned against F, world axes, and the angle [rad]."""
    F, M = block_work.R_WF[n], block_work.R_WM[n]
    x, y, z = relative_rotation(F, M)
    angle = math.sqrt(x * x + y * y + z * z)
    x, y, z = x / angle, y / angle, z / angle
    axis = (M[0] * x + M[1] * y + M[2] * z, M[3] * x + M[4] * y + M[5] * z, M[6] * x + M[7] * y + M[8] * z)
    return axis, angle


@kernel
def turning_rate(block_work, n, wa0, wa1, wa2):
    """Time derivative of that axis, as far as it has a part along the relative angular velocity u or across it.

    The axis turns with F, and against it so that its rate times u is cot(angle / 2) / 2 of the square of u across it.
    """
    (e0, e1, e2), angle = turn_between_frames(block_work, n)
    u0, u1, u2 = three(block_work.w_FM, n)
    along, k = e0 * u0 + e1 * u1 + e2 * u2, 0.5 / math.tan(0.5 * angle)
    return (
        wa1 * e2 - wa2 * e1 + k * (u0 - along * e0),
        wa2 * e0 - wa0 * e2 + k * (u1 - along * e1),
        wa0 * e1 - wa1 * e0 + k * (u2 - along * e2),
    )


@kernel
def cross_rate(block_work, n, wa0, wa1, wa2, wb0, wb1, wb2):
    """Time derivative of z_M x x_F."""
    (z0, z1, z2), (x0, x1, x2) = axis_at(block_work.R_WM, n, 2), axis_at(block_work.R_WF, n, 0)
    p0, p1, p2 = wb1 * z2 - wb2 * z1, wb2 * z0 - wb0 * z2, wb0 * z1 - wb1 * z0
    q0, q1, q2 = wa1 * x2 - wa2 * x1, wa2 * x0 - wa0 * x2, wa0 * x1 - wa1 * x0
    return (
        p1 * x2 - p2 * x1 + z1 * q2 - z2 * q1,
        p2 * x0 - p0 * x2 + z2 * q0 - z0 * q2,
        p0 * x1 - p1 * x0 + z0 * q1 - z1 * q0,
    )


@python_kernel
def slips(blocks, rows, block_work, row_work):
    """J v of all rows less the wanted rate, from relative velocities of frames and unit wrenches in `row`."""
    want, slip_out, block = row_work.want, row_work.slip, rows.block
    for r in range(block.size):
        m = blocks.mate[block[r]]
        slip_out[r] = power(row_work.row, r, block_work, block[r])
        if m >= 0:
            slip_out[r] += power(row_work.mate, r, block_work, m)
        if rows.motion[r] >= 0:
            slip_out[r] -= rows.scale[r] * want[r, 1]


@inlined
def power(row, r, block_work, n):
    """Return what the wrench of row r does in the relative motion of block n."""
    w, u = block_work.w_FM, block_work.u
    return (
        row[r, 0] * w[n, 0] + row[r, 1] * w[n, 1] + row[r, 2] * w[n, 2]
        + row[r, 3] * u[n, 0] + row[r, 4] * u[n, 1] + row[r, 5] * u[n, 2]
    )  # fmt: skip


@python_kernel
def residuals(blocks, rows, coordinate, block_work, row_work):
    """Position residual of all rows [m]; zero for rows that bind rates only.

    Locked rotations: rotation vector; hinges: cross product of the two axes; universal: dot product;
    driven freedoms: their coordinate less the wanted one; turns: their angle less that; gears: the sum of their
    coordinates; slides that follow a turn: less what its angle, whole turns and all, makes of it.
    """
    F, M, way, phi_out = block_work.R_WF, block_work.R_WM, block_work.p_FM, row_work.phi
    block, code, scale, soft = rows.block, rows.code, rows.scale, rows.compliance
    for r in range(block.size):
        n, c = block[r], code[r]
        if soft[r] > 0.0 or rows.locked[r] == RATES_ONLY:
            phi_out[r] = 0.0
            continue
        if c == ANGLE_ROW:
            value = turn_between_frames(block_work, n)[1] - row_work.want[r, 0]
        elif c >= SWING_ROW:
            value = tilt(c, block_work, n) - row_work.want[r, 0]
        elif rows.locked[r] == OF_BALL:
            value = turned_beyond(rows.column[r] - c + 7, r - c + 7, c - 7, coordinate, row_work.want)
        elif rows.motion[r] >= 0:
            value = coordinate[rows.column[r]] - row_work.want[r, 0]
        elif blocks.mate[n] >= 0:
            value = geared(blocks, n, coordinate)
        elif c < 3:
            e0, e1, e2 = direction(c, block_work, n)
            value = e0 * way[n, 0] + e1 * way[n, 1] + e2 * way[n, 2]
            if rows.pitch[r] != 0.0:
                value -= rows.pitch[r] * coordinate[rows.column[r]]
        elif c == UNIVERSAL_ROW:
            value = dot(axis_at(F, n, 0), axis_at(M, n, 2))
        else:
            value = turned(block_work, n, c - 3, rows.locked[r])
        phi_out[r] = scale[r] * value


@kernel
def geared(blocks, n, coordinate):
    """Return the sum of a gear's coordinates, each times its factor, less what it was where the gear was bound."""
    m = blocks.mate[n]
    return coordinate[blocks.of[n]] + blocks.factor[m] * coordinate[blocks.of[m]] - blocks.offset[n]


@kernel
def turned_beyond(column, r, i, coordinate, want):
    """Part i of the rotation vector by which a child stands beyond where three rows from r on want it [rad]."""
    w0, x0, y0, z0 = quaternion_step(1.0, 0.0, 0.0, 0.0, want[r, 0], want[r + 1, 0], want[r + 2, 0])
    w, x, y, z = quaternion_step(
        1.0, 0.0, 0.0, 0.0, coordinate[column], coordinate[column + 1], coordinate[column + 2]
    )  # fmt: skip
    # The conjugate of what is wanted times what is there.
    off = rotation_vector(
        w0 * w + x0 * x + y0 * y + z0 * z,
        w0 * x - x0 * w - y0 * z + z0 * y,
        w0 * y + x0 * z - y0 * w - z0 * x,
        w0 * z - x0 * y + y0 * x - z0 * w,
    )
    return off[i]


@kernel
def turned(block_work, n, i, locked):
    """How far M is turned against F about F's axis i [rad], by rotation vector or by the axes z."""
    F, M = block_work.R_WF[n], block_work.R_WM[n]
    j, k = (i + 1) % 3, (i + 2) % 3
    if not locked:  # e_i . (z_F x z_M), i in 0, 1
        if i == 0:
            return -(F[1] * M[2] + F[4] * M[5] + F[7] * M[8])
        return F[0] * M[2] + F[3] * M[5] + F[6] * M[8]
    s = 0.5 * (
        F[k] * M[j] + F[3 + k] * M[3 + j] + F[6 + k] * M[6 + j]
        - F[j] * M[k] - F[3 + j] * M[3 + k] - F[6 + j] * M[6 + k]
    )  # fmt: skip
    trace = 0.0
    for m in range(9):
        trace += F[m] * M[m]
    cosine = min(1.0, max(-1.0, 0.5 * (trace - 1.0)))
    if cosine > 0.9:  # angle / sin(angle), well conditioned near zero
        w = 1.0 - cosine
        return s * (1.0 + w * (1.0 / 3.0 + w * (2.0 / 15.0 + w * (2.0 / 35.0 + w * 8.0 / 315.0))))
    angle = math.acos(cosine)
    return s * angle / max(math.sin(angle), 1e-6)


@kernel
def jacobians(links, freedoms, blocks, link_work, freedom_work, block_work, row_work, J_out):
    """Scaled Jacobian J' of every block, support x rows, with J M^-1 J^T = J' J'^T; needs `articulate`."""
    for n in range(blocks.rows.size):
        row = row_work.mate if blocks.second[n] else row_work.row
        m, at, a, b, fork = blocks.rows[n], blocks.jacobian[n], blocks.a[n], blocks.b[n], blocks.fork[n]
        for r in range(m):
            i = blocks.row[n] + r
            s = at + r
            k = wrench_about(block_work, link_work, row, n, i, b)
            K, s = climb(links, freedoms, link_work, freedom_work, b, fork, k, s, m, J_out)
            k = wrench_about(block_work, link_work, row, n, i, a)
            k, s = climb(
                links, freedoms, link_work, freedom_work, a, fork, (-k[0], -k[1], -k[2], -k[3], -k[4], -k[5]), s, m,
                J_out,
            )  # fmt: skip
            K = (K[0] + k[0], K[1] + k[1], K[2] + k[2], K[3] + k[3], K[4] + k[4], K[5] + k[5])
            climb(links, freedoms, link_work, freedom_work, fork, 0, K, s, m, J_out)


@kernel
def gram(blocks, pairs, rows, shared, J, G_out):
    """G = J M^-1 J^T (full symmetric) with the compliance of soft rows on its diagonal."""
    m = rows.block.size
    for r in range(m):
        for c in range(m):
            G_out[r, c] = 0.0
    for n in range(blocks.rows.size):
        k, at, r0 = blocks.rows[n], blocks.jacobian[n], blocks.row[n]
        for s in range(blocks.nb[n] + blocks.na[n] + blocks.nc[n]):
            for r in range(k):
                a = J[at + s * k + r]
                for c in range(r + 1):
                    G_out[r0 + r, r0 + c] += a * J[at + s * k + c]
    for p in range(pairs.first.size):
        n1, n2, z = pairs.first[p], pairs.second[p], pairs.start[p]
        k1, a1, r1 = blocks.rows[n1], blocks.jacobian[n1], blocks.row[n1]
        k2, a2, r2 = blocks.rows[n2], blocks.jacobian[n2], blocks.row[n2]
        for i in range(z, z + pairs.count[p]):
            s1, s2 = a1 + shared[i, 0] * k1, a2 + shared[i, 1] * k2
            for c in range(k2):
                a = J[s2 + c]
                for r in range(k1):
                    G_out[r1 + r, r2 + c] += J[s1 + r] * a
    for r in range(m):
        G_out[r, r] += rows.compliance[r]
        for c in range(r):
            G_out[c, r] = G_out[r, c]


@kernel
def cholesky(rows, G_out, row_work, one_work, mobility, kept):
    """Factor G in place with diagonal pivoting; rows whose pivot is lost to the others are cut.

    mobility: 1/kg, a scale for G that does not come from G.
    kept: -1 to choose the rows that act, which is right on the constraints only; else the number of rows
    in row_work.order that act, in their order.  Off the constraints, as inside a Runge-Kutta stage, a
    redundant row seems to act: its pivot is the square of the distance, and it would be let push.
    row_work.order: pivot order.  one_work: smallest kept and largest pivot, when chosen.
    Returns the rank.
    """
    order_out, least_out, largest_out = row_work.order, one_work.least_pivot, one_work.largest_pivot
    last, cut = kept, 0.0
    if kept < 0:
        last, largest = order_out.size, 0.0
        for r in range(last):
            order_out[r] = r
            if rows.compliance[r] == 0.0:
                largest = max(largest, G_out[r, r].real)
        least_out[0] = largest_out[0] = largest
        cut = max(CUT * largest, NOTHING * mobility)
    for s in range(last):
        if kept < 0:
            best, at = -1.0, s
            for t in range(s, last):
                i = order_out[t]
                if G_out[i, i].real > best:
                    best, at = G_out[i, i].real, t
            i = order_out[at]
            order_out[at], order_out[s] = order_out[s], i
        i = order_out[s]
        best = G_out[i, i].real
        if not best > cut:
            return s
        if kept < 0 and rows.compliance[i] == 0.0 and best < least_out[0]:
            least_out[0] = best
        pivot = math.sqrt(G_out[i, i])
        G_out[i, i] = pivot
        for t in range(s + 1, last):
            G_out[order_out[t], i] /= pivot
        for t in range(s + 1, last):
            j = order_out[t]
            a = G_out[j, i]
            for u in range(s + 1, t + 1):
                k = order_out[u]
                G_out[j, k] -= a * G_out[k, i]
                G_out[k, j] = G_out[j, k]
    return last


@kernel
def solve_rows(rank, G, row_work):
    """Multipliers of the kept rows for rhs; zero for cut ones."""
    order, rhs, force_out = row_work.order, row_work.rhs, row_work.force
    for s in range(order.size):
        force_out[order[s]] = 0.0
    for s in range(rank):
        i = order[s]
        z = rhs[i]
        for t in range(s):
            z -= G[i, order[t]] * force_out[order[t]]
        force_out[i] = z / G[i, i]
    for s in range(rank - 1, -1, -1):
        i = order[s]
        z = force_out[i]
        for t in range(s + 1, rank):
            z -= G[order[t], i] * force_out[order[t]]
        force_out[i] = z / G[i, i]


@kernel
def mismatch(blocks, rows, link_work, block_work, row_work):
    """Largest contradiction of a row, relative to the largest term of any row, and that row.

    After `outward`: rows that act agree with J vdot = gamma; those that were cut need not.
    """
    gamma = row_work.gamma
    worst, at, size = 0.0, -1, SLOW
    for r in range(gamma.size):
        if rows.compliance[r] == 0.0:
            n = rows.block[r]
            pull, largest = answered(n, r, row_work.row, blocks, link_work, block_work)
            size = max(size, abs(gamma[r]), largest)
            if blocks.mate[n] >= 0:
                more, largest = answered(blocks.mate[n], r, row_work.mate, blocks, link_work, block_work)
                pull, size = pull + more, max(size, largest)
            if abs(pull - gamma[r]) > worst:
                worst, at = abs(pull - gamma[r]), r
    return worst / size, at


@inlined
def answered(n, r, row, blocks, link_work, block_work):
    """Return what the links of block n do along the wrench of row r, and the largest that it could be."""
    A, B, a, b = link_work.A, link_work.B, blocks.a[n], blocks.b[n]
    k, j = wrench_about(block_work, link_work, row, n, r, b), wrench_about(block_work, link_work, row, n, r, a)
    largest = max(extent(k, B, b), extent(j, B, a), extent(k, A, b), extent(j, A, a))
    return along(k, B, b) - along(j, B, a), largest


@kernel
def along(k, A, b):
    """Return k . A of link b."""
    return k[0] * A[b, 0] + k[1] * A[b, 1] + k[2] * A[b, 2] + k[3] * A[b, 3] + k[4] * A[b, 4] + k[5] * A[b, 5]


@kernel
def extent(k, A, b):
    """Return how large k . A of link b could be, whatever the directions: rows may be square to all that moves."""
    moment, force = k[0] ** 2 + k[1] ** 2 + k[2] ** 2, k[3] ** 2 + k[4] ** 2 + k[5] ** 2
    turning, moving = A[b, 0] ** 2 + A[b, 1] ** 2 + A[b, 2] ** 2, A[b, 3] ** 2 + A[b, 4] ** 2 + A[b, 5] ** 2
    return math.sqrt(moment * turning) + math.sqrt(force * moving)


@kernel
def project_rhs(blocks, support, J, freedom_work, row_work):
    """rhs <- rhs - J' y for the scaled Jacobian J' and the scaled vector y."""
    y, rhs_out = freedom_work.y, row_work.rhs
    for n in range(blocks.rows.size):
        m, at, r0, s0 = blocks.rows[n], blocks.jacobian[n], blocks.row[n], blocks.support[n]
        for s in range(blocks.nb[n] + blocks.na[n] + blocks.nc[n]):
            a = y[support[s0 + s]]
            for r in range(m):
                rhs_out[r0 + r] -= J[at + s * m + r] * a


@kernel
def apply_rows(blocks, support, J, row_work, freedom_work):
    """y <- y + J'^T force."""
    force, y_out = row_work.force, freedom_work.y
    for n in range(blocks.rows.size):
        m, at, r0, s0 = blocks.rows[n], blocks.jacobian[n], blocks.row[n], blocks.support[n]
        for s in range(blocks.nb[n] + blocks.na[n] + blocks.nc[n]):
            a = 0.0
            for r in range(m):
                a += J[at + s * m + r] * force[r0 + r]
            y_out[support[s0 + s]] += a
