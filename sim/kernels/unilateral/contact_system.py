"""Everything about contacts that a moving mechanism asks for, behind an address: compiled where a scene has contacts.

Answers PLACE, ROWS, RUB, GO_ON, POINT_FORCES, GIVE, STORE and GAPS; see `sim.kernels.system`.
"""

from __future__ import annotations

import math

from sim.kernels.chosen import least_norm, null_vectors, share_out
from sim.kernels.collision.broad import apart, smaller_ball
from sim.kernels.collision.features import remember_starts
from sim.kernels.collision.narrow import points_nearby, points_within
from sim.kernels.collision.separation import is_rope
from sim.kernels.dynamics import forces_of_rows, free_response, solve_loops
from sim.kernels.elimination.passes import outward_along
from sim.kernels.jit import driver, entry, kernel, spliced
from sim.kernels.lu import factorise_lu, solve_lu
from sim.kernels.rows.constraints import project_rhs, solve_rows
from sim.kernels.rows.soft_touches import add_soft_forces, held_softly, soft_forces, soft_guard
from sim.kernels.rows.touches import (
    creeps,
    go_on_sliding,
    held_across,
    rub,
    rub_all,
    rubbing_power,
    sum_forces,
    touch_forces,
    touch_frames,
    touch_guard,
    touch_rows,
    turn_friction,
)
from sim.kernels.shapes import OPEN, PLANE, SLIP, SPHERE
from sim.kernels.status import Status
from sim.kernels.system import GIVE, GO_ON, PLACE, POINT_FORCES, ROWS, RUB, STORE, unpack, vector
from sim.kernels.watched import DISARMED, GUARD_GAP

# Share of the smaller shape: points of two shapes that touch elsewhere are looked for within it; those beyond have not
# come near yet.  Larger: so many are found that closed ones are left out.
MARGIN = 1e-2
# Turns of the friction of points that creep; each squares what is left.
TURNS = 8


@entry
def contact(question, system, t, a, b):
    """Answer what is asked about contacts.  Returns a status."""
    tables, _, work, guards = unpack(system)
    if question == PLACE:
        return touch_frames(work.touches, work.links, work.points, work.blocks)
    if question == ROWS:
        every = int(t)
        touch_rows(work.touches, tables.blocks, tables.rows, every, work.keeps, work.links, work.rows, work.points)
    elif question == RUB:
        return slide_points(system)
    elif question == GO_ON:
        go_on_sliding(work.touches, work.points)
        remember_starts(work.links.x, work.links.R, work.points, work.touches.mode.size, work.touches)
    elif question == POINT_FORCES:
        touch_forces(work.touches, tables.blocks, tables.rows, work.rows, work.points)
        add_soft_forces(work.touches, work.points)
        sum_forces(work.touches, tables.meetings, work.points, work.rules)
    elif question == GIVE:
        soft_forces(work.touches, work.links, work.points, work.one)
    elif question == STORE:
        work.one.potential[0] += held_softly(work.touches, work.points) + held_in_steps(tables, work)
    else:
        contact_guards(tables, work, guards.table, vector(b, guards.table.kind.size))
    return Status.OK


@spliced
def contact_guards(tables, work, guards, values_out):
    """Values of guards of contacts that are not-a-number yet, at the state that `work` holds; positive: they fired."""
    for g in range(guards.kind.size):
        if guards.kind[g] >= GUARD_GAP and math.isnan(values_out[g]):
            if guards.armed[g] == DISARMED:
                values_out[g] = -1.0
            elif guards.kind[g] == GUARD_GAP:
                values_out[g] = -open_gap(guards.owner[g], tables, work) - guards.allowed[g]
            else:
                values_out[g] = guard_of_point(guards.kind[g], guards.owner[g], work) - guards.allowed[g]


@spliced
def guard_of_point(kind, k, work):
    """Value of what is watched of closed point k."""
    if work.touches.mode[k] < OPEN:
        return soft_guard(kind, k, work.touches, work.points)
    return touch_guard(kind, k, work.touches, work.points)


@spliced
def held_in_steps(tables, work):
    """Energy that soft points hold which time steps let press [J]: those of the shapes as they are now."""
    held, shapes, meetings = 0.0, tables.shapes, tables.meetings
    for m in range(work.laws.shape[0]):
        i, j, stiffness = meetings.a[m], meetings.b[m], work.laws[m, 4]
        if stiffness == 0.0 or apart(shapes, i, j, work.links.x, work.links.R, work.near_poses) > 0.0:
            continue
        count = points_within(
            shapes, tables.hulls, i, j, work.links.x, work.links.R, 0.0, work.near, work.near_points, work.near_poses,
            work.near_cores,
        )  # fmt: skip
        for k in range(count):
            held += 0.5 * stiffness * min(work.near_points.gap[k], 0.0) ** 2
    return held


@spliced
def open_gap(m, tables, work):
    """Smallest gap [m] of two shapes beside their closed points; -1 where one of these has left its features."""
    return open_gap_of(
        m, tables.meetings, tables.shapes, tables.hulls, work.links, work.touches, work.near, work.near_points,
        work.near_poses, work.near_cores,
    )  # fmt: skip


@kernel
def open_gap_of(
    m, meetings, shapes, hulls, link_work, touches, near_work, near_point_work, pose_work, core_work
):  # fmt: skip
    """See `open_gap`; of shapes that are further from each other than their margin it is a bound."""
    far = apart(shapes, meetings.a[m], meetings.b[m], link_work.x, link_work.R, pose_work)
    margin = MARGIN * smaller_ball(shapes, meetings.a[m], meetings.b[m])
    if far > margin:
        return far
    if has_one_point(shapes, meetings.a[m], meetings.b[m]):  # whose gap that is
        return margin if is_closed_pair(touches, m) else far
    count, s, _ = points_nearby(
        shapes, hulls, meetings.a[m], meetings.b[m], link_work.x, link_work.R, margin, near_work, near_point_work,
        pose_work, core_work,
    )  # fmt: skip
    closed = 0
    for k in range(touches.mode.size):
        if touches.meeting[k] == m:
            closed += 1
            if not is_among(touches, k, near_work, count):
                return -1.0
    if closed == 0:
        return s
    least = math.inf
    for i in range(count):
        if not is_closed(near_work, i, touches, m):
            least = min(least, near_point_work.gap[i])
    return min(least, margin)


@kernel
def is_closed_pair(touches, m):
    """Tell whether two shapes have closed points."""
    closed = False
    for k in range(touches.mode.size):
        closed = closed or touches.meeting[k] == m
    return closed


@kernel
def has_one_point(shapes, i, j):
    """Tell whether two shapes touch in one point at most, which is the same on both whatever they do."""
    a, b = shapes.kind[i], shapes.kind[j]
    return is_rope(shapes, i, j) or (a == SPHERE and (b == SPHERE or b == PLANE)) or (b == SPHERE and a == PLANE)


@kernel
def is_among(touches, k, near, count):
    """Tell whether a closed point was found among `count` others."""
    among = False
    for i in range(count):
        among = among or (near.key[i, 0] == touches.key[k, 0] and near.key[i, 1] == touches.key[k, 1])
    return among


@kernel
def is_closed(near, i, touches, m):
    """Tell whether point i of meeting m is one of those that are closed."""
    for k in range(touches.mode.size):
        if touches.meeting[k] == m and near.key[i, 0] == touches.key[k, 0] and near.key[i, 1] == touches.key[k, 1]:
            return True
    return False


@driver
def slide_points(system):
    """`respond` where points of contact slide: their friction follows their normal forces, which it changes.

    Points that creep turn their friction until nothing else is needed across.  Returns a status.
    """
    tables, _, work, _ = unpack(system)
    spare = 0
    if work.one.rank[0] < tables.rows.block.size:
        spare = null_vectors(system)
    f = work.feedback[work.feedback_order.size]
    status = slide_as_they_are(system, spare)
    for _ in range(TURNS if creeps(work.touches) else 0):
        share_out(work.N, spare, tables.blocks, tables.rows, work.rows)
        if status != Status.OK or not held_across(tables.blocks, work.touches, work.rows):
            break
        rub_all(work.touches, -1.0, f, work.links, work.points)
        turn_friction(tables.blocks, work.touches, work.rows, work.points)
        status = slide_as_they_are(system, spare)
    rubbing_power(work.touches, work.points, f, work.one.dissipated)
    return status


@driver
def slide_as_they_are(system, spare):
    """See `slide_points`, each friction along its present direction.

    The normal forces f of sliding points are linear in the frictions that they make: f = f0 + S f.  The columns
    of S are found one by one.  Where rows repeat one another, f is the choice nearest to their shares.
    """
    tables, _, work, _ = unpack(system)
    touches, blocks, S, n = work.touches, tables.blocks, work.feedback, work.feedback_order.size
    for r in range(work.rows.force.size):
        work.rows.force[r] = 0.0
    free_response(system)
    answer_what_acts(tables, work)
    share_out(work.N, spare, tables.blocks, tables.rows, work.rows)
    normal_forces(touches, blocks, work.rows, S[n])
    i = 0
    for k in range(touches.mode.size):
        if touches.mode[k] >= SLIP:
            lone_friction(system, k)
            least_norm(work.N, spare, work.rows)
            collect_column(touches, blocks, work.rows, i, S)
            i += 1
    if not factorise_lu(S[:n], work.feedback_order):
        return Status.JAMMED
    solve_lu(S[:n], work.feedback_order, S[n])
    rub_all(touches, 1.0, S[n], work.links, work.points)
    for r in range(work.rows.force.size):
        work.rows.force[r] = 0.0
    free_response(system)
    solve_loops(system)
    return Status.OK


@spliced
def answer_what_acts(tables, work):
    """Forces of rows alone, without vdot; needs `free_response`."""
    if tables.one.along[0]:
        outward_along(
            tables.links, tables.freedoms, work.links, work.freedoms, work.rows, work.fronts, work.ids, work.J,
            tables.fronts.limit, 0,
        )  # fmt: skip
    else:
        project_rhs(tables.blocks, tables.support, work.J, work.freedoms, work.rows)
        solve_rows(work.one.rank[0], work.G, work.rows)


@kernel
def normal_forces(touches, blocks, row_work, f_out):
    """Forces of the rows of sliding points into f_out."""
    i = 0
    for k in range(touches.mode.size):
        if touches.mode[k] >= SLIP:
            f_out[i] = row_work.force[blocks.row[touches.block[k]]]
            i += 1


@kernel
def collect_column(touches, blocks, row_work, column, S_out):
    """Column of 1 - S from the forces of rows."""
    i = 0
    for k in range(touches.mode.size):
        if touches.mode[k] >= SLIP:
            S_out[i, column] = (1.0 if i == column else 0.0) - row_work.force[blocks.row[touches.block[k]]]
            i += 1


@driver
def lone_friction(system, k):
    """Forces of rows to the friction of a unit normal force at sliding point k, and nothing else."""
    _, _, work, _ = unpack(system)
    for r in range(work.rows.rhs.size):
        work.rows.rhs[r] = work.rows.force[r] = 0.0
    for b in range(work.links.F.shape[0]):
        for i in range(6):
            work.links.F[b, i] = 0.0
    rub(work.touches, k, -1.0, work.links, work.points, work.links.F)  # F is what links need, not what they get
    forces_of_rows(system)
