"""What controllers, springs between points and drags apply in a time step: as at its end, so that none is too stiff.

A controller's torque falls by K with its coordinates and by D with its rates, which differences tell.  Linear about the
end that is expected, x^ = x + h v^, its torque at the end is tau(x^, v^) - (D + h K) (v+ - v^), so that

    (M + h D + h^2 K) (v+ - v) = h (bias + tau(x^, v^) + (D + h K) (v^ - v)),

and so on with the v+ found, until the torque there is what was expected: implicit Euler, which gives no energy.  It
takes some that K alone would keep, in each step the share a^2 of a = h^2 K / M.  So the torque is the share
s = a / (1 + a) of that one, and 1 - s of the torque as the step begins, under which springs swing on: stiff ones end,
slow ones last.  K and D are what the symmetric parts of these slopes come to at most, column by column (the sums of
their rows' magnitudes; what rises instead is left as it is), so that M keeps the sparsity of the tree.

In the tree h D + h^2 K are inertias of its freedoms; joints that close loops, and springs between points, are presses
without bounds, linear in the rate as soft stops are.  Drag, c + q |v| at a point, resists changes of its velocity by
no more than c + 2 q |v|, and so has a mass h (c + 2 q |v|) there.
"""

from __future__ import annotations

import math

from sim.kernels.accelerations import respond
from sim.kernels.dynamics import columns, factorise
from sim.kernels.elements import point_motion, push
from sim.kernels.forces import loop_wrenches, sum_controls
from sim.kernels.inertia import link_inertias
from sim.kernels.jit import driver, kernel, spliced
from sim.kernels.kinematics import velocities
from sim.kernels.rows.constraints import block_frames
from sim.kernels.spatial import quaternion_step, rotation_vector
from sim.kernels.spinning import floats
from sim.kernels.status import Status
from sim.kernels.system import unpack
from sim.kernels.tables import DRAG, SPRING

LOOSE, LOOPED = -1, -2  # columns of bodies that float, and of joints that close loops
# m or rad, and 1/s of these: by how much coordinates and rates are changed to find slopes.  Smaller: roundoff.
NUDGE = 1e-6
# Rounds until torques are what was expected, and how near [of the largest].  Fewer: a stop that is met deep within a
# step throws back what meets it.
ROUNDS, NEAR = 8, 1e-3


@kernel
def acts_at_end(tables):
    """Tell whether something acts that a step takes at its end: controllers, drags, springs between points."""
    found = tables.laws.shape[0] + tables.applied.shape[0] > 0
    for f in range(tables.forces.kind.size):
        found = found or tables.forces.kind[f] == DRAG or tables.forces.kind[f] == SPRING
    return found


@driver
def take_at_end(system, t, q, v, h, v_out):
    """Bring v_out, v + h vdot, to what acts as at the end of the step; factors are those of what resists it, too.

    Needs forces applied, factors and columns at q, v, and leaves columns, velocities and inertias as they were.
    Returns a status.
    """
    tables, control, work, _ = unpack(system)
    prepare(tables, work)
    controlled = is_any_enabled(control)
    status = Status.OK
    if controlled:  # stiff torques of the start lead anywhere
        for i in range(v.size):
            v_out[i] = v[i]
    for turn in range(ROUNDS if controlled else 1):
        if controlled:
            off = expect(system, tables, control, work, t, q, v, v_out, h)
            if control.failed[0]:
                status = Status.CALLBACK
            if status != Status.OK or (turn > 0 and off <= NEAR):
                break
            find_slopes(tables, control, work, t + h)
            bound_slopes(work.ends, work.slopes, h, work.freedoms)
        status = respond_at_end(system, tables, work, v, h, v_out)
        if status != Status.OK or acts_in_loops(work.ends):  # these resist as presses, which are still to come
            break
    if controlled:
        columns(system, q, v)
    return status


@kernel
def is_any_enabled(control):
    """Tell whether a controller acts that is a function of time and state."""
    found = False
    for n in range(control.enabled.size):
        found = found or control.enabled[n] != 0
    return found


@kernel
def acts_in_loops(ends):
    """Tell whether what controllers apply in a joint that closes a loop follows coordinates or rates."""
    found = False
    for c in range(ends.freedom.size):
        found = found or (ends.freedom[c] == LOOPED and ends.damping[c] + ends.stiffness[c] > 0.0)
    return found


@spliced
def prepare(tables, work):
    """Note which columns are whose, and what controllers apply now; springs between points act as presses alone."""
    ends, forces, points = work.ends, tables.forces, tables.points
    list_columns(tables.links, tables.blocks, ends)
    for c in range(ends.start.size):
        ends.start[c] = ends.applied[c] = work.control[c]
        ends.before[c] = ends.after[c] = work.rate[c]
        ends.stiffness[c] = ends.damping[c] = 0.0
    for f in range(forces.kind.size):
        if forces.kind[f] == SPRING:
            push(points, f, -1.0, forces.b[f], forces.b[f], work.links, work.forces)
            push(points, f, 1.0, forces.b[f], forces.a[f], work.links, work.forces)
        elif forces.kind[f] == DRAG:
            note_drag(points, f, forces.a[f], work.links, work.forces)


@kernel
def list_columns(links, blocks, ends_out):
    """Find the freedom of each column, and which three are the turns of a ball; of bodies that float none moves."""
    for c in range(ends_out.freedom.size):
        ends_out.freedom[c], ends_out.ball[c] = LOOSE, -1
    for b in range(1, links.parent.size):
        if not floats(links, b):
            first = links.column[b] - links.v[b]
            for i in range(links.v[b], links.v[b] + links.nv[b]):
                ends_out.freedom[first + i] = i
                if 0 <= links.quaternion[b] <= i:
                    ends_out.ball[first + i] = first + links.quaternion[b]
    for n in range(blocks.a.size):
        if not blocks.motor[n] and blocks.touch[n] < 0 and not blocks.slips[n]:
            first = blocks.column[n]
            for c in range(first, first + blocks.freedoms[n]):
                ends_out.freedom[c] = LOOPED
                if 0 <= blocks.quaternion[n] <= c - first:
                    ends_out.ball[c] = first + blocks.quaternion[n]


@spliced
def expect(system, tables, control, work, t, q, v, v_end, h):
    """Find what controllers apply at the end, with the rates v_end; coordinates and rates stay those of the end.

    Returns how far that is from what was expected there, as share of the largest.
    """
    ends = work.ends
    looped = tables.blocks.rows.size > 0
    if looped:
        move_loops(tables, work, v_end)
    columns(system, q, v_end)
    if looped:
        move_loops(tables, work, v)
    for c in range(ends.end.size):
        ends.end[c] -= (ends.damping[c] + h * ends.stiffness[c]) * (work.rate[c] - ends.after[c])
        ends.after[c] = work.rate[c]
    go_ahead(ends, h, work.rate, work.coordinate)
    sum_controls(tables, control, work, t + h)
    off = largest = 0.0
    for c in range(ends.end.size):
        off = max(off, abs(work.control[c] - ends.end[c]))
        largest = max(largest, abs(work.control[c]), abs(ends.start[c]))
        ends.end[c] = work.control[c]
    return off / largest if largest > 0.0 else 0.0


@spliced
def move_loops(tables, work, v):
    """Let links and the frames of loops move at rates v."""
    velocities(tables.links, tables.freedoms, v, work.links, work.freedoms)
    block_frames(tables.blocks, work.links, work.blocks)


@kernel
def go_ahead(ends, h, rate, coordinate_out):
    """Let coordinates go on by h times the rates; bodies that float stay."""
    for c in range(rate.size):
        b = ends.ball[c]
        if ends.freedom[c] != LOOSE and b < 0:
            coordinate_out[c] += h * rate[c]
        elif b == c:
            turn_ball(coordinate_out, c, h * rate[c], h * rate[c + 1], h * rate[c + 2])


@kernel
def turn_ball(coordinate_out, c, r0, r1, r2):
    """Turn the rotation whose vector stands from column c on by the rotation vector r, in the child's axes."""
    x, y, z = coordinate_out[c], coordinate_out[c + 1], coordinate_out[c + 2]
    angle = math.sqrt(x * x + y * y + z * z)
    k = math.sin(0.5 * angle) / angle if angle > 0.0 else 0.5
    w, i, j, n = quaternion_step(math.cos(0.5 * angle), k * x, k * y, k * z, r0, r1, r2)
    coordinate_out[c], coordinate_out[c + 1], coordinate_out[c + 2] = rotation_vector(w, i, j, n)


@spliced
def find_slopes(tables, control, work, t):
    """Fill work.slopes with how torques fall with each coordinate and each rate, by differences about the end."""
    ends, slopes, count = work.ends, work.slopes, work.ends.end.size
    for j in range(count):
        if ends.freedom[j] == LOOSE:
            for c in range(count):
                slopes[0, c, j] = slopes[1, c, j] = 0.0
            continue
        b = j if ends.ball[j] < 0 else ends.ball[j]
        last = b if ends.ball[j] < 0 else b + 2
        x, y, z = work.coordinate[b], work.coordinate[(b + last) // 2], work.coordinate[last]
        if ends.ball[j] < 0:
            work.coordinate[j] += NUDGE
        else:
            turn_ball(
                work.coordinate, b, NUDGE if j == b else 0.0, NUDGE if j == b + 1 else 0.0, NUDGE if j == last else 0.0
            )
        sum_controls(tables, control, work, t)
        put_slope(work.control, ends.end, j, slopes[0])
        work.coordinate[b], work.coordinate[(b + last) // 2], work.coordinate[last] = x, y, z
        x = work.rate[j]
        work.rate[j] += NUDGE
        sum_controls(tables, control, work, t)
        put_slope(work.control, ends.end, j, slopes[1])
        work.rate[j] = x


@kernel
def put_slope(torque, base, j, slopes_out):
    """Write how torques have fallen by a nudge of column j."""
    for c in range(base.size):
        slopes_out[c, j] = (base[c] - torque[c]) / NUDGE


@kernel
def bound_slopes(ends_out, slopes, h, freedom_work):
    """Find the stiffness and damping of each column, and what they add to the inertia of its freedom."""
    count = ends_out.end.size
    for c in range(count):
        ends_out.acted[c] = 0
        for j in range(count):
            if slopes[0, c, j] != 0.0 or slopes[1, c, j] != 0.0:
                ends_out.acted[c] = 1
    for c in range(count):
        ends_out.stiffness[c] = bound_of(ends_out, slopes, c, 0)
        ends_out.damping[c] = bound_of(ends_out, slopes, c, 1)
        k = ends_out.freedom[c]
        if k >= 0:
            freedom_work.firm[k] = h * ends_out.damping[c] + h * h * ends_out.stiffness[c]


@kernel
def bound_of(ends, slopes, c, what):
    """Return what the symmetric part of slopes comes to at most in column c: as it falls, and with what couples it.

    Columns on which nothing acts do not answer, and couple nothing.
    """
    if not ends.acted[c] or ends.freedom[c] == LOOSE:
        return 0.0
    total = max(slopes[what, c, c], 0.0)
    for j in range(ends.end.size):
        if j != c and ends.acted[j]:
            total += 0.5 * abs(slopes[what, c, j] + slopes[what, j, c])
    return total


@spliced
def respond_at_end(system, tables, work, v, h, v_out):
    """Apply what acts at the end, and bring v_out to v + h vdot of it.  Returns a status."""
    add_drags(tables.forces, tables.points, h, work.forces, work.links)
    status = factorise(system, 0)
    link_inertias(tables.links, work.links)
    if status != Status.OK:
        return status
    blend(work.ends, h, work.freedoms, work.torque, work.control)
    loop_wrenches(tables.blocks, tables.columns, work.control, work.blocks, work.links)
    status = respond(system)
    for i in range(v.size):
        v_out[i] = v[i] + h * work.freedoms.vdot[i]
    return status


@kernel
def blend(ends_out, h, freedom_work, torque_out, change_out):
    """Bring torques to what is applied: the more the stiffer, what the end expects; else what the start has.

    change_out: by how much those of loops have changed, which links have as wrenches; zero for others.
    """
    for c in range(ends_out.end.size):
        k, resists = ends_out.freedom[c], ends_out.damping[c] + h * ends_out.stiffness[c]
        wanted = ends_out.start[c]
        if k >= 0 and resists > 0.0:
            share = freedom_work.firm[k] * freedom_work.root[k] ** 2
            at_end = ends_out.end[c] + resists * (ends_out.after[c] - ends_out.before[c])
            wanted += share * (at_end - ends_out.start[c])
        elif k == LOOPED and resists > 0.0:
            wanted = 0.0  # all of it is a press
        change = wanted - ends_out.applied[c]
        ends_out.applied[c] = wanted
        torque_out[c] += change
        change_out[c] = change if k == LOOPED else 0.0


@kernel
def note_drag(points, f, a, link_work, force_work):
    """Keep how the body of drag f turns, and its point moves."""
    before, V, b = force_work.before, link_work.V, points.body[a]
    v = point_motion(points, link_work, a)
    for i in range(3):
        before[f, i], before[f, 3 + i] = V[b, i], v[3 + i]


@kernel
def resisted(forces, f, before):
    """Return by how much the torque and the force of drag f fall at most as the rates of before grow."""
    w = math.sqrt(before[f, 0] ** 2 + before[f, 1] ** 2 + before[f, 2] ** 2)
    v = math.sqrt(before[f, 3] ** 2 + before[f, 4] ** 2 + before[f, 5] ** 2)
    turning = forces.turning_damping[f] + 2.0 * forces.turning_quadratic[f] * w
    return turning, forces.damping[f] + 2.0 * forces.quadratic[f] * v


@kernel
def add_drags(forces, points, h, force_work, link_work):
    """Add the masses and moments of inertia to links that their drags resist changes of rates with."""
    own_out = link_work.I
    for f in range(forces.kind.size):
        if forces.kind[f] == DRAG:
            a = forces.a[f]
            b = points.body[a]
            turning, moving = resisted(forces, f, force_work.before)
            p = point_motion(points, link_work, a)
            x, y, z = p[0] - link_work.x[b, 0], p[1] - link_work.x[b, 1], p[2] - link_work.x[b, 2]
            m, j = h * moving, h * turning
            own_out[b, 0] += m
            own_out[b, 1] += m * x
            own_out[b, 2] += m * y
            own_out[b, 3] += m * z
            moments = (
                j + m * (y * y + z * z), j + m * (x * x + z * z), j + m * (x * x + y * y),
                -m * x * y, -m * x * z, -m * y * z,
            )  # fmt: skip
            for i in range(6):
                own_out[b, 4 + i] += moments[i]


@kernel
def let_go(freedom_work):
    """Let no freedom resist as controllers do."""
    for k in range(freedom_work.firm.size):
        freedom_work.firm[k] = 0.0


__all__ = ["LOOPED", "acts_at_end", "let_go", "note_drag", "resisted", "take_at_end"]
