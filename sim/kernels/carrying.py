"""What joints carry at an instant: the impulses of loops, and through the tree what momenta change by without them."""

from __future__ import annotations

from sim.kernels.jit import kernel, python_kernel
from sim.kernels.vectors import cross, dot, plus, three, times


@python_kernel
def put_joint_impulses(
    links, freedoms, blocks, link_work, freedom_work, block_work, row_work, change, rows, twist_work, through_work,
    impulse_out,
):  # fmt: skip
    """Fill (joints, 6): moment about each joint and force, of the parent on the child; it comes as zeros.

    change: (nv,) of v; rows: (rows,) impulses of the loops' rows.
    twist_work: (links, 6) zeros; through_work: (links, 6) minus the impulse from outside on each link, moment about its
    origin and force.
    """
    parent, x, d = links.parent, link_work.x, link_work.d
    for b in range(1, parent.size):
        put_twist(b, links, freedoms, d, freedom_work.axis, change, twist_work)
        add_momentum(b, link_work.I, twist_work, through_work)
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
            add_part(through_work, link, 0, sign, plus(moment, cross(arm, force)))
            add_part(through_work, link, 3, sign, force)
    for b in range(parent.size - 1, 0, -1):
        for i in range(6):
            impulse_out[links.joint[b], i] = through_work[b, i]
        if parent[b] > 0:
            force = through_work[b, 3], through_work[b, 4], through_work[b, 5]
            add_part(through_work, parent[b], 0, 1.0, plus(three(through_work, b), cross(three(d, b), force)))
            add_part(through_work, parent[b], 3, 1.0, force)


@kernel
def put_twist(b, links, freedoms, d, axis, change, twist_out):
    """Fill by how much the angular velocity of link b changes, and the velocity of its origin."""
    p = links.parent[b]
    w = three(twist_out, p)
    u = cross(w, three(d, b))
    for i in range(3):
        twist_out[b, i], twist_out[b, 3 + i] = w[i], twist_out[p, 3 + i] + u[i]
    for k in range(links.v[b], links.v[b] + links.nv[b]):
        turn, slide = (0.0, 1.0) if freedoms.linear[k] else (1.0, freedoms.pitch[k])
        for i in range(3):
            own = axis[k, i] * change[k]
            twist_out[b, i] += turn * own
            twist_out[b, 3 + i] += slide * own


@kernel
def add_momentum(b, I, twist, momentum_out):  # noqa: E741
    """Add the momentum of link b about its origin at a twist."""
    h, m = (I[b, 1], I[b, 2], I[b, 3]), I[b, 0]
    w, u = three(twist, b), (twist[b, 3], twist[b, 4], twist[b, 5])
    xx, yy, zz, xy, xz, yz = I[b, 4], I[b, 5], I[b, 6], I[b, 7], I[b, 8], I[b, 9]
    spin = dot((xx, xy, xz), w), dot((xy, yy, yz), w), dot((xz, yz, zz), w)
    add_part(momentum_out, b, 0, 1.0, plus(spin, cross(h, u)))
    add_part(momentum_out, b, 3, 1.0, plus(times(m, u), cross(w, h)))


@kernel
def add_part(wrench_out, n, first, sign, a):
    """Add a vector to three of the numbers of row n: 0 is the first of a moment, 3 that of a force."""
    for i in range(3):
        wrench_out[n, first + i] += sign * a[i]
