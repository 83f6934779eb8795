"""What joints carry at an instant: the impulses of loops, and through the tree what momenta change by without them."""

from __future__ import annotations

from sim.kernels.jit import kernel, python_kernel
from sim.kernels.vectors import cross, dot, three


@python_kernel
def put_joint_impulses(
    links, freedoms, blocks, link_work, freedom_work, block_work, row_work, change, rows, work, impulse_out
):
    """Fill (joints, 6): moment about each joint and force, of the parent on the child; it comes as zeros.

    change: (nv,) of v; rows: (rows,) impulses of the loops' rows.
    work: (links, 12): of each link minus the impulse from outside, moment about its origin and force, and six zeros.
    """
    parent, x, d = links.parent, link_work.x, link_work.d
    for b in range(1, parent.size):
        put_twist(b, links, freedoms, d, freedom_work.axis, change, work)
        add_momentum(b, link_work.I, work)
    for n in range(blocks.motor.size):
        if blocks.motor[n]:  # its impulse goes through the tree
            continue
        row = row_work.mate if blocks.second[n] else row_work.row
        moment, force = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        for r in range(blocks.row[n], blocks.row[n] + blocks.rows[n]):
            size = rows[r]
            moment = moment[0] + size * row[r, 0], moment[1] + size * row[r, 1], moment[2] + size * row[r, 2]
            force = force[0] + size * row[r, 3], force[1] + size * row[r, 4], force[2] + size * row[r, 5]
        if blocks.touch[n] < 0 and blocks.second[n] != 1:
            add_part(impulse_out, blocks.joint[n], 0, 1.0, moment)
            add_part(impulse_out, blocks.joint[n], 3, 1.0, force)
        for side in range(2):
            link, sign = (blocks.b[n], -1.0) if side == 0 else (blocks.a[n], 1.0)
            p = block_work.p_WM
            arm = p[n, 0] - x[link, 0], p[n, 1] - x[link, 1], p[n, 2] - x[link, 2]
            about = cross(arm, force)
            add_part(work, link, 0, sign, (moment[0] + about[0], moment[1] + about[1], moment[2] + about[2]))
            add_part(work, link, 3, sign, force)
    for b in range(parent.size - 1, 0, -1):
        for i in range(6):
            impulse_out[links.joint[b], i] = work[b, i]
        if parent[b] > 0:
            force = work[b, 3], work[b, 4], work[b, 5]
            about = cross(three(d, b), force)
            add_part(work, parent[b], 0, 1.0, (work[b, 0] + about[0], work[b, 1] + about[1], work[b, 2] + about[2]))
            add_part(work, parent[b], 3, 1.0, force)


@kernel
def put_twist(b, links, freedoms, d, axis, change, work_out):
    """Fill the last six numbers of link b: the change of its angular velocity and of its origin's velocity."""
    p = links.parent[b]
    w = work_out[p, 6], work_out[p, 7], work_out[p, 8]
    u = cross(w, three(d, b))
    for i in range(3):
        work_out[b, 6 + i], work_out[b, 9 + i] = w[i], work_out[p, 9 + i] + u[i]
    for k in range(links.v[b], links.v[b] + links.nv[b]):
        turn, slide = (0.0, 1.0) if freedoms.linear[k] else (1.0, freedoms.pitch[k])
        for i in range(3):
            own = axis[k, i] * change[k]
            work_out[b, 6 + i] += turn * own
            work_out[b, 9 + i] += slide * own


@kernel
def add_momentum(b, I, work_out):  # noqa: E741
    """Add to the first six numbers of link b what its momentum about its origin changes by at the last six."""
    h = I[b, 1], I[b, 2], I[b, 3]
    w, u = (work_out[b, 6], work_out[b, 7], work_out[b, 8]), (work_out[b, 9], work_out[b, 10], work_out[b, 11])
    xx, yy, zz, xy, xz, yz = I[b, 4], I[b, 5], I[b, 6], I[b, 7], I[b, 8], I[b, 9]
    about, along = cross(h, u), cross(w, h)
    work_out[b, 0] += dot((xx, xy, xz), w) + about[0]
    work_out[b, 1] += dot((xy, yy, yz), w) + about[1]
    work_out[b, 2] += dot((xz, yz, zz), w) + about[2]
    for i in range(3):
        work_out[b, 3 + i] += I[b, 0] * u[i] + along[i]


@kernel
def add_part(wrench_out, n, first, sign, a):
    """Add a vector to three of the numbers of row n: 0 is the first of a moment, 3 that of a force."""
    for i in range(3):
        wrench_out[n, first + i] += sign * a[i]
