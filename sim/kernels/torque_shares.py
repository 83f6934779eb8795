"""What actuators give along a motion with closed loops: the forces of loops are the unknowns, instead of W and S.

With tau what the tree needs, loops open, actuators at some freedoms of the tree and in loop joints:

    tau = (actuators at freedoms) + G z,    z = (forces of loops' rows, torques of actuators in loop joints)

Rows of freedoms without an actuator are equations for z; the others give the torques, tau_a - G_a z.  What the
equations leave open makes the sum of weighted squares of torques least.  That is W^T tau_O = S^T tau_A of
closed-chains-1999, (7) and (8), as a system of the size of the loops.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sim.kernels.forces import loop_columns, tree_columns
from sim.kernels.jit import kernel, python_kernel
from sim.kernels.orthogonal import Factors, factorise_orthogonal, reflect_back, solve_least
from sim.kernels.rows.constraints import block_frames, build_rows, direction, pushes
from sim.kernels.tree_torques import move_tree, torques_at

RANK = 1e-9  # of equations and of torques: columns below this, relative to the largest, or to G, are nothing


class Parts(NamedTuple):
    """Tables of a structure, and works that are filled frame by frame."""

    links: Any
    freedoms: Any
    columns: Any  # of the model: springs, dampers and armatures of joints
    blocks: Any
    rows: Any
    support: Any
    gravity_W: Any  # (3,) m/s^2
    link_work: Any
    freedom_work: Any
    block_work: Any
    row_work: Any
    keeps: Any


class Actuators(NamedTuple):
    """Who acts."""

    free: Any  # freedoms of the tree without an actuator
    driven: Any  # those with one
    rows: Any  # of loops, those that bind
    block: Any  # of each actuator in a loop joint, its loop
    column: Any  # and its column
    weight: Any  # (driven, then loop actuators) square roots of the weights of torques


class Room(NamedTuple):
    """Memory of one frame."""

    torque: Any  # (nv,) tau
    J: Any  # (rows, nv) of all rows of loops
    G: Any  # (unknowns, nv), turned
    Z: Any  # (unknowns, unknowns) what the equations leave open, row by row
    z: Any  # (unknowns,)
    coordinate: Any  # (columns,)
    rate: Any  # (columns,)
    turn: Any  # (columns,) angles of loop joints in the frame before
    equations: Factors
    squares: Factors


class Shared(NamedTuple):
    """What is found."""

    torque_out: Any  # (frames, actuators) of driven freedoms, then of loop joints
    missing_out: Any  # (frames,) largest part of the equations that no z meets
    opening_out: Any  # (frames, 2) largest J v and J vdot + J' v, of rows in m/s and m/s^2


@python_kernel
def shares_along(parts, motion, actuators, room_work, shared):
    """Fill `shared` frame by frame.  motion: q (frames, nq), v and vdot (frames, nv)."""
    q, v, vdot = motion
    for s in range(q.shape[0]):
        move_tree(
            parts.links, parts.freedoms, parts.gravity_W, q[s], v[s], parts.link_work, parts.freedom_work
        )  # fmt: skip
        tree_columns(parts.links, q[s], v[s], room_work.coordinate, room_work.rate)
        place_loops(parts, room_work)
        shared.opening_out[s, 0], shared.opening_out[s, 1] = opening(parts, actuators, room_work, v[s], vdot[s])
        torques_at(parts.links, parts.freedoms, vdot[s], parts.link_work, parts.freedom_work, room_work.torque)
        joints_by_themselves(parts, vdot[s], room_work)
        fill_unknowns(parts, actuators, room_work)
        shared.missing_out[s] = meet_equations(actuators, room_work)
        least_squares(actuators, room_work)
        give(actuators, room_work, shared.torque_out[s])


@kernel
def place_loops(parts, room_work):
    """Frames, coordinates and rows of loops, and J."""
    blocks, J = parts.blocks, room_work.J
    if blocks.a.size == 0:
        return
    block_frames(blocks, parts.link_work, parts.block_work)
    loop_columns(blocks, parts.columns, parts.block_work, room_work.turn, room_work.coordinate, room_work.rate)
    for c in range(room_work.turn.size):
        room_work.turn[c] = room_work.coordinate[c]
    build_rows(blocks, parts.rows, 1, parts.keeps, parts.link_work, parts.block_work, parts.row_work)
    for r in range(J.shape[0]):
        for k in range(J.shape[1]):
            J[r, k] = 0.0
    for n in range(blocks.a.size):
        row = parts.row_work.mate if blocks.second[n] else parts.row_work.row
        for r in range(blocks.row[n], blocks.row[n] + blocks.rows[n]):
            wrench = (row[r, 0], row[r, 1], row[r, 2], row[r, 3], row[r, 4], row[r, 5])
            add_on_freedoms(parts, n, wrench, J[r])


@kernel
def add_on_freedoms(parts, n, wrench, torque_out):
    """Add to torque_out (nv,) what a wrench at M of loop n, on b and its opposite on a, is on the freedoms."""
    blocks, freedoms, x, p = parts.blocks, parts.freedoms, parts.link_work.x, parts.block_work.p_WM
    linear, owner, pitch, axis = freedoms.linear, freedoms.owner, freedoms.pitch, parts.freedom_work.axis
    m0, m1, m2, f0, f1, f2 = wrench
    first, below = blocks.support[n], blocks.nb[n]
    for i in range(below + blocks.na[n]):
        k = parts.support[first + i]
        e0, e1, e2, o = axis[k, 0], axis[k, 1], axis[k, 2], owner[k]
        value = e0 * f0 + e1 * f1 + e2 * f2
        if not linear[k]:
            r0, r1, r2 = p[n, 0] - x[o, 0], p[n, 1] - x[o, 1], p[n, 2] - x[o, 2]
            value *= pitch[k]
            value += e0 * (m0 + r1 * f2 - r2 * f1) + e1 * (m1 + r2 * f0 - r0 * f2) + e2 * (m2 + r0 * f1 - r1 * f0)
        torque_out[k] += value if i < below else -value


@kernel
def opening(parts, actuators, room_work, v, vdot):
    """How fast rows of loops open, and how fast that grows, at most."""
    fast, faster, J, gamma = 0.0, 0.0, room_work.J, parts.row_work.gamma
    for r in actuators.rows:
        rate, change = 0.0, -gamma[r]
        for k in range(v.size):
            rate += J[r, k] * v[k]
            change += J[r, k] * vdot[k]
        fast, faster = max(fast, abs(rate)), max(faster, abs(change))
    return fast, faster


@kernel
def joints_by_themselves(parts, vdot, room_work):
    """Add armatures to the torques that the tree needs, and take off what springs and dampers of all joints give."""
    links, columns, blocks, torque = parts.links, parts.columns, parts.blocks, room_work.torque
    for b in range(1, links.v.size):
        for i in range(links.nv[b]):
            k, c = links.v[b] + i, links.column[b] + i
            torque[k] += columns.armature[c] * vdot[k] - own_torque(columns, room_work, c)
    for n in range(blocks.a.size):
        if blocks.motor[n] or blocks.touch[n] >= 0 or blocks.slips[n]:
            continue
        for c in range(blocks.column[n], blocks.column[n] + blocks.freedoms[n]):
            push = own_torque(columns, room_work, c)
            if push != 0.0:
                add_on_freedoms(parts, n, along_freedom(parts, n, c, -push), torque)


@kernel
def own_torque(columns, room_work, c):
    """Torque of the spring and the damper of a column."""
    return -columns.stiffness[c] * (room_work.coordinate[c] - columns.rest[c]) - columns.damping[c] * room_work.rate[c]


@kernel
def along_freedom(parts, n, c, torque):
    """Return the wrench at M of a torque of column c, of the joint that closes loop n."""
    code = parts.columns.code[c]
    e = direction(code, parts.block_work, n)
    x, y, z = torque * e[0], torque * e[1], torque * e[2]
    return (0.0, 0.0, 0.0, x, y, z) if pushes(code) else (x, y, z, 0.0, 0.0, 0.0)


@kernel
def fill_unknowns(parts, actuators, room_work):
    """Fill G: what unit forces of rows, and unit torques in loop joints, are on the freedoms."""
    G, count = room_work.G, actuators.rows.size
    for j in range(count):
        for k in range(G.shape[1]):
            G[j, k] = room_work.J[actuators.rows[j], k]
    for i in range(actuators.block.size):
        for k in range(G.shape[1]):
            G[count + i, k] = 0.0
        n = actuators.block[i]
        add_on_freedoms(parts, n, along_freedom(parts, n, actuators.column[i], 1.0), G[count + i])


@kernel
def given(room_work, k):
    """What the unknowns give at freedom k of the tree."""
    total = 0.0
    for j in range(room_work.z.size):
        total += room_work.G[j, k] * room_work.z[j]
    return total


@kernel
def largest_entry(G):
    """Largest number of G."""
    most = 0.0
    for j in range(G.shape[0]):
        for k in range(G.shape[1]):
            most = max(most, abs(G[j, k]))
    return most


@kernel
def forget_roundoff(rows, columns, least, a_out):
    """Let a matrix be zero that has nothing above roundoff: its own largest column is no measure of it."""
    most = 0.0
    for i in range(rows):
        for j in range(columns):
            most = max(most, abs(a_out[i, j]))
    if most <= least:
        for i in range(rows):
            for j in range(columns):
                a_out[i, j] = 0.0


@kernel
def meet_equations(actuators, room_work):
    """Find z of least norm that meets the equations best, and in Z what they leave open.  Returns what is missing.

    The number of open directions is left in the last place of squares.order_work.
    """
    free, count, factors = actuators.free, room_work.z.size, room_work.equations
    for i in range(free.size):
        for j in range(count):
            factors.a_work[i, j] = room_work.G[j, free[i]]
        factors.x_work[i] = room_work.torque[free[i]]
    forget_roundoff(free.size, count, RANK * largest_entry(room_work.G), factors.a_work)
    rank = factorise_orthogonal(free.size, count, RANK, factors)
    solve_least(free.size, count, rank, factors)
    for j in range(count):
        room_work.z[j] = factors.x_work[j]
    for d in range(count - rank):
        for j in range(count):
            factors.y_work[j] = 0.0
        factors.y_work[rank + d] = 1.0
        reflect_back(count, rank, factors.a_work, factors.z_work, factors.y_work)
        for j in range(count):
            room_work.Z[d, factors.order_work[j]] = factors.y_work[j]
    room_work.squares.order_work[count] = count - rank
    missing = 0.0
    for i in range(free.size):
        missing = max(missing, abs(room_work.torque[free[i]] - given(room_work, free[i])))
    return missing


@kernel
def least_squares(actuators, room_work):
    """Add to z what makes the sum of weighted squares of torques least, in the directions that are open."""
    driven, weight, factors, count = actuators.driven, actuators.weight, room_work.squares, room_work.z.size
    opened, loops = factors.order_work[count], actuators.block.size
    if opened == 0:
        return
    for i in range(driven.size):
        k = driven[i]
        for d in range(opened):
            total = 0.0
            for j in range(count):
                total += room_work.G[j, k] * room_work.Z[d, j]
            factors.a_work[i, d] = weight[i] * total
        factors.x_work[i] = weight[i] * (room_work.torque[k] - given(room_work, k))
    for i in range(loops):
        at, j = driven.size + i, actuators.rows.size + i
        for d in range(opened):
            factors.a_work[at, d] = weight[at] * room_work.Z[d, j]
        factors.x_work[at] = -weight[at] * room_work.z[j]
    most = 0.0
    for i in range(weight.size):
        most = max(most, weight[i])
    forget_roundoff(driven.size + loops, opened, RANK * most * max(1.0, largest_entry(room_work.G)), factors.a_work)
    rank = factorise_orthogonal(driven.size + loops, opened, RANK, factors)
    solve_least(driven.size + loops, opened, rank, factors)
    for d in range(opened):
        for j in range(count):
            room_work.z[j] += factors.x_work[d] * room_work.Z[d, j]


@kernel
def give(actuators, room_work, torque_out):
    """Torques of driven freedoms, then of actuators in loop joints."""
    driven = actuators.driven
    for i in range(driven.size):
        torque_out[i] = room_work.torque[driven[i]] - given(room_work, driven[i])
    for i in range(actuators.block.size):
        torque_out[driven.size + i] = room_work.z[actuators.rows.size + i]
