"""Forward dynamics of a tree under its loops by multipliers, and what belongs to it.

    kinematics -> forces -> articulated inertias -> constraints -> accelerations

With M^-1 = W^T W, W the pass to the root (`sim.kernels.elimination.articulated`), J' = J W^T and y = W (tau - bias),
the loops' forces solve (J' J'^T) f = gamma - J' y.  Where many rows make that dense, they are eliminated
along the tree instead (`sim.kernels.elimination.fronts`).
"""

from __future__ import annotations

import math

from sim.kernels.elements import point_forces, torsion_springs
from sim.kernels.elimination.articulated import articulate, inward, outward
from sim.kernels.elimination.fronts import eliminate_along
from sim.kernels.elimination.passes import inward_along, outward_along
from sim.kernels.forces import (
    body_wrenches,
    control_torques,
    friction_torques,
    link_forces,
    loop_columns,
    loop_wrenches,
    spring_torques,
    stop_torques,
    tree_columns,
)
from sim.kernels.inertia import link_inertias
from sim.kernels.jets import drive
from sim.kernels.jit import driver, kernel, python_kernel, spliced
from sim.kernels.kinematics import poses, velocities
from sim.kernels.rows.constraints import (
    apply_rows,
    block_frames,
    build_rows,
    cholesky,
    gram,
    jacobians,
    project_rhs,
    residuals,
    slips,
    solve_rows,
)
from sim.kernels.status import Status
from sim.kernels.system import GIVE, PLACE, ROWS, ask, unpack

# Share of every acting row with which inverse iteration begins anew, so that no direction is missed; its turns, and how
# many it takes where nothing is known yet.  Fewer of these: a value that still falls to what it is looks as if a
# singular position drew near.
FRESH_SHARE, WEAK_TURNS, FIRST_TURNS = 1e-3, 3, 20


@driver
def move(system, q, v):
    """Kinematics: poses, velocities and bias accelerations of links, loop frames, link inertias.

    Coordinates and rates of joints, too, where residuals are read from them: of what is driven, geared or has a pitch.
    """
    tables, _, work, _ = unpack(system)
    for i in range(3):
        work.links.A[0, 3 + i] = -tables.one.gravity_W[0, i]
    poses(tables.links, tables.freedoms, q, work.links, work.freedoms)
    velocities(tables.links, tables.freedoms, v, work.links, work.freedoms)
    link_inertias(tables.links, work.links)
    if tables.blocks.rows.size > 0:
        block_frames(tables.blocks, work.links, work.blocks)
        if tables.one.reads[0]:
            columns(system, q, v)
    if tables.touches.mode.size > 0:
        ask(work.answers, PLACE, system, 0.0, work.moved, work.moved)


@driver
def follow(system, t):
    """What driven freedoms have to do at time t, until told otherwise."""
    tables, _, work, _ = unpack(system)
    if tables.one.driven[0]:
        drive(tables.rows, tables.codes, tables.constants, tables.programs, t, work.jets, work.rows)


@kernel
def drive_power(rows, keeps, row_work, one_work):
    """Add what drives put in to one_work.put_in [W]: their forces times the wanted rates."""
    for r in range(rows.motion.size):
        if rows.motion[r] >= 0 and keeps[r]:
            one_work.put_in[0] += row_work.force[r] * rows.scale[r] * row_work.want[r, 1]


@spliced
def rows_now(system, tables, work, every):
    """Build all rows, or those that were kept."""
    build_rows(tables.blocks, tables.rows, every, work.keeps, work.links, work.blocks, work.rows)
    if tables.touches.mode.size > 0:
        ask(work.answers, ROWS, system, float(every), work.moved, work.moved)


@driver
def factorise(system, choose):
    """Articulated inertias; rows, scaled Jacobians and the factor of G.  Returns a status.

    choose: 1 to find the acting rows anew, which is right on the constraints only; 0: those of the last
    accepted state act.
    """
    tables, _, work, _ = unpack(system)
    links, freedoms = tables.links, tables.freedoms
    if tables.rows.block.size > 0:
        rows_now(system, tables, work, choose)
        if tables.one.along[0]:
            return factorise_along(system, choose)
    bad = articulate(links, freedoms, work.links, work.freedoms)
    if bad >= 0:
        work.one.worst[0] = bad
        return Status.MASS_SINGULAR
    work.one.rank[0] = 0
    if tables.rows.block.size > 0:
        jacobians(links, freedoms, tables.blocks, work.links, work.freedoms, work.blocks, work.rows, work.J)
        gram(tables.blocks, tables.pairs, tables.rows, tables.shared, work.J, work.G)
        kept = -1
        if not choose:
            kept = work.one.kept_rank[0]
            for r in range(work.rows.order.size):
                work.rows.order[r] = work.rows.kept[r]
        work.one.rank[0] = cholesky(tables.rows, work.G, work.rows, work.one, tables.one.mobility[0], kept)
        if choose:
            work.one.least[0] = (
                math.sqrt(work.one.least_pivot[0] / work.one.largest_pivot[0]) if work.one.rank[0] > 0 else 1.0
            )
    return Status.OK


@driver
def factorise_along(system, choose):
    """Do the same with the rows eliminated along the tree; see `sim.kernels.elimination.fronts`."""
    tables, _, work, _ = unpack(system)
    bad = eliminate_along(system, choose)
    if bad >= 0:
        work.one.worst[0] = bad
        return Status.MASS_SINGULAR
    if choose:
        find_weakest(system, tables, work)
    return Status.OK


@spliced
def find_weakest(system, tables, work):
    """Find the smallest singular value of the acting rows by inverse iteration from the last accepted state's.

    Pivots do not tell it: a row that is eliminated below links that would give it mobility has a small one.
    """
    work.one.least[0] = 1.0
    if work.one.rank[0] > 0:
        for s in range(work.rows.weak.size):
            work.rows.weak[s] = 0.0
        known = False
        for s in range(work.one.rank[0]):
            r = work.rows.order[s]
            known = known or work.rows.kept_weak[r] != 0.0
            work.rows.weak[r] = work.rows.kept_weak[r] + FRESH_SHARE
        size = turn_weak(work.rows.weak, work.rows)
        for _ in range(WEAK_TURNS if known else FIRST_TURNS):
            answer_rows(system)
            size = turn_weak(work.rows.force, work.rows)
        work.one.least_pivot[0] = 1.0 / size
        work.one.least[0] = math.sqrt(work.one.least_pivot[0] / tables.one.mobility[0])


@kernel
def turn_weak(vector, row_work):
    """Let rhs and weak be a vector of rows at unit length; returns its length."""
    size = 0.0
    for r in range(vector.size):
        size += vector[r] ** 2
    size = math.sqrt(size)
    for r in range(vector.size):
        row_work.weak[r] = row_work.rhs[r] = vector[r] / size
    return size


@driver
def columns(system, q, v):
    """Coordinates and rates of all joints."""
    tables, control, work, _ = unpack(system)
    tree_columns(tables.links, q, v, work.coordinate, work.rate)
    if tables.blocks.rows.size > 0:
        loop_columns(tables.blocks, tables.columns, work.blocks, control.turn, work.coordinate, work.rate)


@python_kernel
def body_poses(links, link_work, body_work):
    """Pose and velocity of every body's own frame B (row 0 is the world)."""
    x, R, V = link_work.x, link_work.R, link_work.V
    p_out, R_out, V_out = body_work.p_WB, body_work.R_WB, body_work.V_WB
    body, p_KB, R_KB = links.body, links.p_KB, links.R_KB
    for b in range(1, body.size):
        n = body[b]
        for i in range(3):
            r0, r1, r2 = R[b, 3 * i], R[b, 3 * i + 1], R[b, 3 * i + 2]
            p_out[n, i] = r0 * p_KB[b, 0] + r1 * p_KB[b, 1] + r2 * p_KB[b, 2]
            for j in range(3):
                R_out[n, 3 * i + j] = r0 * R_KB[b, j] + r1 * R_KB[b, 3 + j] + r2 * R_KB[b, 6 + j]
        d0, d1, d2 = p_out[n, 0], p_out[n, 1], p_out[n, 2]
        w0, w1, w2 = V[b, 0], V[b, 1], V[b, 2]
        V_out[n, 0], V_out[n, 1], V_out[n, 2] = w0, w1, w2
        V_out[n, 3] = V[b, 3] + w1 * d2 - w2 * d1
        V_out[n, 4] = V[b, 4] + w2 * d0 - w0 * d2
        V_out[n, 5] = V[b, 5] + w0 * d1 - w1 * d0
        for i in range(3):
            p_out[n, i] += x[b, i]


@driver
def apply_forces(system, t, q, v):
    """Everything that acts, as torques of columns and wrenches on links; needs `move`."""
    tables, control, work, _ = unpack(system)
    links = tables.links
    for b in range(links.parent.size):
        for i in range(6):
            work.links.wrench[b, i] = 0.0
    work.one.put_in[0] = 0.0
    work.one.dissipated[0] = 0.0
    if tables.one.acts[0] or control.acts[0]:
        columns(system, q, v)
        for c in range(work.torque.size):
            work.torque[c] = work.stopping[c] = 0.0
        spring_torques(tables.columns, work.coordinate, work.rate, work.torque, work.one)
        stop_torques(
            tables.stops, control.engaged, work.coordinate, work.rate, work.stopping, work.torque, work.one
        )  # fmt: skip
        friction_torques(tables.columns, control.friction, work.rate, work.friction, work.torque, work.one)
        torsion_springs(tables.forces, work.coordinate, work.rate, work.torque, work.forces, work.one)
        if tables.one.views[0]:
            body_poses(links, work.links, work.bodies)
        control_torques(tables, control, work, t)
        loop_wrenches(tables.blocks, tables.columns, work.torque, work.blocks, work.links)
        if tables.forces.kind.size > 0:
            point_forces(system, t)
        if control.acts[1]:
            body_wrenches(links, control.wrench, control.arms, work.links, work.one)
    if tables.one.soft[0]:
        ask(work.answers, GIVE, system, t, work.moved, work.moved)


@driver
def free_response(system):
    """y = W (tau - bias): what the tree would do without loops, scaled; needs `factorise`."""
    tables, control, work, _ = unpack(system)
    links = tables.links
    link_forces(work.links)
    y = work.freedoms.y
    for k in range(y.size):
        y[k] = 0.0
    if tables.one.acts[0] or control.acts[0]:
        vadr, nv, column = links.v, links.nv, links.column
        for b in range(1, vadr.size):
            for i in range(nv[b]):
                y[vadr[b] + i] = work.torque[column[b] + i]
    if tables.one.lends[0]:
        for k in range(y.size):
            y[k] += work.freedoms.back[k]
    if tables.one.along[0]:
        for s in range(work.one.rank[0]):
            r = work.rows.order[s]
            work.rows.rhs[r] = work.rows.gamma[r]
    else:
        for r in range(work.rows.rhs.size):
            work.rows.rhs[r] = work.rows.gamma[r]
    go_inward(tables, work)


@spliced
def go_inward(tables, work):
    """`inward`, with the rows where they are eliminated along the tree."""
    if tables.one.along[0]:
        inward_along(
            tables.links, tables.freedoms, work.links, work.freedoms, work.rows, work.fronts, work.ids, work.J,
            tables.fronts.limit, 1,
        )  # fmt: skip
    else:
        inward(tables.links, tables.freedoms, work.links, work.freedoms)


@driver
def solve_loops(system):
    """Multipliers of the loops and vdot; needs `factorise` and `free_response`."""
    tables, _, work, _ = unpack(system)
    if tables.one.along[0]:
        outward_along(
            tables.links, tables.freedoms, work.links, work.freedoms, work.rows, work.fronts, work.ids, work.J,
            tables.fronts.limit, 1,
        )  # fmt: skip
        return
    if work.one.rank[0] > 0:
        project_rhs(tables.blocks, tables.support, work.J, work.freedoms, work.rows)
        solve_rows(work.one.rank[0], work.G, work.rows)
        apply_rows(tables.blocks, tables.support, work.J, work.rows, work.freedoms)
    else:
        for r in range(work.rows.force.size):
            work.rows.force[r] = 0.0
    outward(tables.links, tables.freedoms, work.links, work.freedoms)


@driver
def forces_of_rows(system):
    """Forces of rows to rhs and to wrenches F on the links that they hold; needs `factorise`, uses up F and y."""
    tables, _, work, _ = unpack(system)
    for k in range(work.freedoms.y.size):
        work.freedoms.y[k] = 0.0
    if tables.one.along[0]:
        inward_along(
            tables.links, tables.freedoms, work.links, work.freedoms, work.rows, work.fronts, work.ids, work.J,
            tables.fronts.limit, 0,
        )  # fmt: skip
        outward_along(
            tables.links, tables.freedoms, work.links, work.freedoms, work.rows, work.fronts, work.ids, work.J,
            tables.fronts.limit, 0,
        )  # fmt: skip
        return
    inward(tables.links, tables.freedoms, work.links, work.freedoms)
    project_rhs(tables.blocks, tables.support, work.J, work.freedoms, work.rows)
    solve_rows(work.one.rank[0], work.G, work.rows)


@driver
def answer_rows(system):
    """vdot = M^-1 J^T G^+ rhs, the change of v (or of q) that rhs asks of the rows; needs `factorise`."""
    tables, _, work, _ = unpack(system)
    for k in range(work.freedoms.y.size):
        work.freedoms.y[k] = 0.0
    if tables.one.along[0]:
        for b in range(work.links.F.shape[0]):
            for i in range(6):
                work.links.F[b, i] = 0.0
        go_inward(tables, work)
        solve_loops(system)
        return
    solve_rows(work.one.rank[0], work.G, work.rows)
    apply_rows(tables.blocks, tables.support, work.J, work.rows, work.freedoms)
    outward(tables.links, tables.freedoms, work.links, work.freedoms)


@driver
def position_residual(system):
    """Fill work.rows.phi from the loop frames; returns the largest magnitude [m]."""
    tables, _, work, _ = unpack(system)
    residuals(tables.blocks, tables.rows, work.coordinate, work.blocks, work.rows)
    worst = 0.0
    for r in range(work.rows.phi.size):
        if abs(work.rows.phi[r]) > worst:
            worst = abs(work.rows.phi[r])
            work.one.worst[0] = r
    return worst


@driver
def velocity_residual(system):
    """Fill work.rows.slip from the loop frames and rows; returns the largest magnitude of hard rows [m/s]."""
    tables, _, work, _ = unpack(system)
    slips(tables.blocks, tables.rows, work.blocks, work.rows)
    worst = 0.0
    for r in range(work.rows.slip.size):
        if tables.rows.compliance[r] == 0.0 and abs(work.rows.slip[r]) > worst:
            worst = abs(work.rows.slip[r])
            work.one.worst[0] = r
    return worst
