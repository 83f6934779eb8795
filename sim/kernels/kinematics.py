"""Poses, velocities and bias accelerations of all links, from the world to the leaves.

Spatial quantities are (angular; linear) in world axes about each link's own origin; the linear
part is the velocity or acceleration of the material point there.  About its own origin every
freedom is a translation along `axis`, or a rotation about it, which slides along it if it has a pitch.
"""

from __future__ import annotations

import math

from sim.kernels.jit import inlined, kernel, python_kernel
from sim.kernels.spatial import multiply, rotation_of, turn_x, turn_z


@inlined
def column_of(R, i):
    """Return column i of a rotation."""
    if i == 2:
        return R[2], R[5], R[8]
    if i == 0:
        return R[0], R[3], R[6]
    return R[1], R[4], R[7]


@python_kernel
def poses(links, freedoms, q, link_work, freedom_work):
    """Place every link and its motion axes: each elementary motion leads on from where those before it have led.

    q: (nq,) m, rad, quaternions.  Fills x, R and d of link_work and axis of freedom_work.
    """
    x_out, R_out, d_out, axis_out = link_work.x, link_work.R, link_work.d, freedom_work.axis
    parent, qadr, vadr, nv, quaternion = links.parent, links.q, links.v, links.nv, links.quaternion
    linear, along, pitch = freedoms.linear, freedoms.along, freedoms.pitch
    p_PF, R_PF = links.p_PF, links.R_PF
    for b in range(1, parent.size):
        if link_work.asleep[b] == 1:
            continue
        p, a, k, t = parent[b], qadr[b], vadr[b], quaternion[b]
        P = (
            R_out[p, 0], R_out[p, 1], R_out[p, 2], R_out[p, 3], R_out[p, 4], R_out[p, 5],
            R_out[p, 6], R_out[p, 7], R_out[p, 8],
        )  # fmt: skip
        F = multiply(P, (
            R_PF[b, 0], R_PF[b, 1], R_PF[b, 2], R_PF[b, 3], R_PF[b, 4], R_PF[b, 5],
            R_PF[b, 6], R_PF[b, 7], R_PF[b, 8],
        ))  # fmt: skip
        fx, fy, fz = p_PF[b, 0], p_PF[b, 1], p_PF[b, 2]
        dx = P[0] * fx + P[1] * fy + P[2] * fz
        dy = P[3] * fx + P[4] * fy + P[5] * fz
        dz = P[6] * fx + P[7] * fy + P[8] * fz
        R = F
        for i in range(k, t if t >= 0 else k + nv[b]):
            x = q[a + i - k]
            if linear[i]:
                e0, e1, e2 = column_of(R, along[i])
                dx, dy, dz = dx + e0 * x, dy + e1 * x, dz + e2 * x
            else:
                if along[i] == 2:
                    R = turn_z(R, math.sin(x), math.cos(x))
                else:
                    R = turn_x(R, math.sin(x), math.cos(x))
                e0, e1, e2 = column_of(R, along[i])
                if pitch[i] != 0.0:
                    x *= pitch[i]
                    dx, dy, dz = dx + e0 * x, dy + e1 * x, dz + e2 * x
            axis_out[i, 0], axis_out[i, 1], axis_out[i, 2] = e0, e1, e2
        if t >= 0:
            a += t - k
            R = multiply(R, rotation_of(q[a], q[a + 1], q[a + 2], q[a + 3]))
            for i in range(3):
                axis_out[t + i, 0], axis_out[t + i, 1], axis_out[t + i, 2] = R[i], R[3 + i], R[6 + i]
        d_out[b, 0], d_out[b, 1], d_out[b, 2] = dx, dy, dz
        x_out[b, 0], x_out[b, 1], x_out[b, 2] = x_out[p, 0] + dx, x_out[p, 1] + dy, x_out[p, 2] + dz
        R_out[b, 0], R_out[b, 1], R_out[b, 2] = R[0], R[1], R[2]
        R_out[b, 3], R_out[b, 4], R_out[b, 5] = R[3], R[4], R[5]
        R_out[b, 6], R_out[b, 7], R_out[b, 8] = R[6], R[7], R[8]


@python_kernel
def velocities(links, freedoms, v, link_work, freedom_work):
    """Velocities of all links, and their accelerations when every vdot is zero.

    v: (nv,).  Fills V and A of link_work; row 0 (the world) is an input: A[0] may hold minus gravity.
    """
    d, V_out, A_out = link_work.d, link_work.V, link_work.A
    linear, pitch, axis = freedoms.linear, freedoms.pitch, freedom_work.axis
    parent, bends, vadr, nv = links.parent, links.bends, links.v, links.nv
    for b in range(1, parent.size):
        if link_work.asleep[b] == 1:
            continue
        p, k = parent[b], vadr[b]
        w0, w1, w2 = V_out[p, 0], V_out[p, 1], V_out[p, 2]
        r0 = r1 = r2 = s0 = s1 = s2 = 0.0 * w0  # relative angular velocity, relative velocity
        for i in range(k, k + nv[b]):
            if linear[i]:
                s0, s1, s2 = s0 + axis[i, 0] * v[i], s1 + axis[i, 1] * v[i], s2 + axis[i, 2] * v[i]
            else:
                r0, r1, r2 = r0 + axis[i, 0] * v[i], r1 + axis[i, 1] * v[i], r2 + axis[i, 2] * v[i]
                if pitch[i] != 0.0:
                    h = pitch[i] * v[i]
                    s0, s1, s2 = s0 + axis[i, 0] * h, s1 + axis[i, 1] * h, s2 + axis[i, 2] * h
        dx, dy, dz = d[b, 0], d[b, 1], d[b, 2]
        c0, c1, c2 = w1 * dz - w2 * dy, w2 * dx - w0 * dz, w0 * dy - w1 * dx
        V_out[b, 0], V_out[b, 1], V_out[b, 2] = w0 + r0, w1 + r1, w2 + r2
        V_out[b, 3], V_out[b, 4], V_out[b, 5] = V_out[p, 3] + c0 + s0, V_out[p, 4] + c1 + s1, V_out[p, 5] + c2 + s2
        a0, a1, a2 = A_out[p, 0], A_out[p, 1], A_out[p, 2]
        b0, b1, b2 = w1 * r2 - w2 * r1, w2 * r0 - w0 * r2, w0 * r1 - w1 * r0
        if bends[b]:  # the second of its two axes turns about the first
            rate = v[k] * v[k + 1]
            b0 += rate * (axis[k, 1] * axis[k + 1, 2] - axis[k, 2] * axis[k + 1, 1])
            b1 += rate * (axis[k, 2] * axis[k + 1, 0] - axis[k, 0] * axis[k + 1, 2])
            b2 += rate * (axis[k, 0] * axis[k + 1, 1] - axis[k, 1] * axis[k + 1, 0])
        A_out[b, 0], A_out[b, 1], A_out[b, 2] = a0 + b0, a1 + b1, a2 + b2
        c0, c1, c2 = c0 + 2.0 * s0, c1 + 2.0 * s1, c2 + 2.0 * s2  # centripetal and Coriolis
        A_out[b, 3] = A_out[p, 3] + a1 * dz - a2 * dy + w1 * c2 - w2 * c1
        A_out[b, 4] = A_out[p, 4] + a2 * dx - a0 * dz + w2 * c0 - w0 * c2
        A_out[b, 5] = A_out[p, 5] + a0 * dy - a1 * dx + w0 * c1 - w1 * c0


@kernel
def qdot(links, q, v, rate_out):
    """Time derivative of q (quaternions: half the product with the angular velocity in child's axes)."""
    quaternion, qadr, vadr, nv = links.quaternion, links.q, links.v, links.nv
    for b in range(1, qadr.size):
        a, k, t = qadr[b], vadr[b], quaternion[b]
        for i in range((t if t >= 0 else k + nv[b]) - k):
            rate_out[a + i] = v[k + i]
        if t >= 0:
            a, k = a + t - k, t
            w, x, y, z = q[a], q[a + 1], q[a + 2], q[a + 3]
            p0, p1, p2 = 0.5 * v[k], 0.5 * v[k + 1], 0.5 * v[k + 2]
            rate_out[a] = -x * p0 - y * p1 - z * p2
            rate_out[a + 1] = w * p0 + y * p2 - z * p1
            rate_out[a + 2] = w * p1 + z * p0 - x * p2
            rate_out[a + 3] = w * p2 + x * p1 - y * p0
