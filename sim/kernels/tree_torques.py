"""Recursive inverse dynamics of a tree along a motion: velocities and accelerations outward, wrenches inward.

Luh, Walker and Paul (1980), with loops open: step (2) of closed-chains-1999, section 2.1.
"""

from __future__ import annotations

from sim.kernels.forces import link_forces
from sim.kernels.inertia import link_inertias
from sim.kernels.jit import kernel, python_kernel
from sim.kernels.kinematics import poses, velocities


@python_kernel
def torques_along(links, freedoms, gravity_W, motion, link_work, freedom_work, torque_out):
    """Fill torque_out (frames, nv) with what the tree needs in each frame, gravity too; without armatures.

    motion: q (frames, nq), v and vdot (frames, nv).  Leaves the works at the last frame.
    """
    q, v, vdot = motion
    for s in range(q.shape[0]):
        move_tree(links, freedoms, gravity_W, q[s], v[s], link_work, freedom_work)
        torques_at(links, freedoms, vdot[s], link_work, freedom_work, torque_out[s])


@kernel
def move_tree(links, freedoms, gravity_W, q, v, link_work, freedom_work):
    """Poses, velocities, and accelerations at vdot = 0 of all links, which fall upward instead of having weight."""
    for i in range(3):
        link_work.A[0, 3 + i] = -gravity_W[i]
    poses(links, freedoms, q, link_work, freedom_work)
    velocities(links, freedoms, v, link_work, freedom_work)


@kernel
def torques_at(links, freedoms, vdot, link_work, freedom_work, torque_out):
    """Torques (nv,) that the tree needs for vdot, after `move_tree`."""
    accelerate(links, freedoms, vdot, link_work, freedom_work)
    link_inertias(links, link_work)
    link_forces(link_work)
    gather(links, freedoms, link_work, freedom_work, torque_out)


@kernel
def accelerate(links, freedoms, vdot, link_work, freedom_work):
    """Add to the accelerations A of links what vdot gives: that of the parent there, and the joint's own."""
    parent, vadr, nv, linear, pitch = links.parent, links.v, links.nv, freedoms.linear, freedoms.pitch
    d, axis, A, B = link_work.d, freedom_work.axis, link_work.A, link_work.B
    for i in range(6):
        B[0, i] = 0.0
    for b in range(1, parent.size):
        p = parent[b]
        w0, w1, w2 = B[p, 0], B[p, 1], B[p, 2]
        s0 = B[p, 3] + w1 * d[b, 2] - w2 * d[b, 1]
        s1 = B[p, 4] + w2 * d[b, 0] - w0 * d[b, 2]
        s2 = B[p, 5] + w0 * d[b, 1] - w1 * d[b, 0]
        for k in range(vadr[b], vadr[b] + nv[b]):
            rate = vdot[k]
            if linear[k]:
                s0, s1, s2 = s0 + axis[k, 0] * rate, s1 + axis[k, 1] * rate, s2 + axis[k, 2] * rate
            else:
                w0, w1, w2 = w0 + axis[k, 0] * rate, w1 + axis[k, 1] * rate, w2 + axis[k, 2] * rate
                rate *= pitch[k]
                s0, s1, s2 = s0 + axis[k, 0] * rate, s1 + axis[k, 1] * rate, s2 + axis[k, 2] * rate
        B[b, 0], B[b, 1], B[b, 2], B[b, 3], B[b, 4], B[b, 5] = w0, w1, w2, s0, s1, s2
        for i in range(6):
            A[b, i] += B[b, i]


@kernel
def gather(links, freedoms, link_work, freedom_work, torque_out):
    """Sum the wrenches F of links to the root, and take from each what its joint's freedoms carry of it."""
    parent, vadr, nv, linear, pitch = links.parent, links.v, links.nv, freedoms.linear, freedoms.pitch
    d, axis, F = link_work.d, freedom_work.axis, link_work.F
    for b in range(parent.size - 1, 0, -1):
        m0, m1, m2, f0, f1, f2 = F[b, 0], F[b, 1], F[b, 2], F[b, 3], F[b, 4], F[b, 5]
        for k in range(vadr[b], vadr[b] + nv[b]):
            push = axis[k, 0] * f0 + axis[k, 1] * f1 + axis[k, 2] * f2
            if linear[k]:
                torque_out[k] = push
            else:
                torque_out[k] = axis[k, 0] * m0 + axis[k, 1] * m1 + axis[k, 2] * m2 + pitch[k] * push
        p = parent[b]
        if p > 0:
            F[p, 0] += m0 + d[b, 1] * f2 - d[b, 2] * f1
            F[p, 1] += m1 + d[b, 2] * f0 - d[b, 0] * f2
            F[p, 2] += m2 + d[b, 0] * f1 - d[b, 1] * f0
            F[p, 3] += f0
            F[p, 4] += f1
            F[p, 5] += f2
