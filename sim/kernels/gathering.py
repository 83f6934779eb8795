"""What may press within a time step: points of shapes that can meet, and joints that can reach a stop.

A point is taken in while it is still open, where the speeds of the two bodies let it close within the step.  Its
impulse then keeps the gap from becoming negative, and is zero if it does not close.
"""

from __future__ import annotations

import math

from sim.kernels.broad import can_meet, sweep_boxes
from sim.kernels.features import speed_at, tangents_of
from sim.kernels.forces import stop_depth
from sim.kernels.jit import chapter, kernel, part, story
from sim.kernels.narrow import points_within
from sim.kernels.separation import ball_of, half_axes_of, halves_of
from sim.kernels.vectors import cross, dot, length, minus, outward_axes, plus, three, times
from sim.model import PLANE, Status

# Share of the mechanism's length that speeds may change within a step beside what they are, times the step.
MARGIN = 1e-4
# Of that length: how far a link may go until its points are looked for again, and what counts as a step of none.
# Larger: points, normals and arms are off by more of it.  Gaps follow the motion, and err by its square.
WANDERED, TINY = 1e-6, 1e-12
RESTING = 3.0  # margins that two shapes may reach, beside 2 where they do not move, and keep their points


@story
def gather_presses(tables, work, h):
    """Fill work.presses with what may press within h [s]; needs `move` and coordinates.  Returns a status."""
    shapes, meetings, links = tables.shapes, tables.meetings, work.links
    length = tables.one.length[0]
    margin = MARGIN * length
    sweep_boxes(shapes, links.x, links.R, links.V, margin, h, work.boxes, work.near_poses)
    reaches(shapes, links.x, links.R, links.V, h, margin, work.reach)
    wander(links.x, links.R, length, work.posed, work.wandered)
    find_calm(tables.links, work.freedoms.root, work.wandered, work.rooted, work.calm)
    count, before, known = 0, 0, work.stepped.before[0]
    for m in range(meetings.a.size):
        i, j = meetings.a[m], meetings.b[m]
        while before < known and work.pressed.meeting[before] < m:
            before += 1
        reach = work.reach[i] + work.reach[j]
        if known > 0 and reach < RESTING * margin and rests(work.wandered, shapes.link[i], shapes.link[j]):
            while before < known and work.pressed.meeting[before] == m:
                if count == work.press_P.shape[0]:
                    return Status.CROWDED
                keep_press(work.pressed, before, links.x, links.R, work.posed, work.presses, count)
                count, before = count + 1, before + 1
            continue
        if not can_meet(shapes, i, j, links.x, links.R, links.V, work.boxes, margin, h, work.near_poses):
            continue
        found = points_within(
            shapes, tables.hulls, i, j, links.x, links.R, reach, work.near, work.near_points, work.near_poses,
            work.near_cores,
        )  # fmt: skip
        if count + found > work.press_P.shape[0]:
            return Status.CROWDED
        for f in range(found):
            if work.near_points.gap[f] <= reach:
                put_press(work.near, work.near_points, f, m, work.laws, links.x, work.presses, count)
                work.press_touch[count] = work.near[f]
                count += 1
    for s in range(tables.stops.joint.size):
        b = link_of(tables.links, tables.stops.joint[s])
        if b > 0 and near_stop(tables.stops, work.coordinate, work.rate, s, h):
            if count == work.press_P.shape[0]:
                return Status.CROWDED
            put_stop(tables, work, s, b, count)
            count += 1
    remember_poses(links.x, links.R, work.posed)
    work.stepped.points[0] = count
    return Status.OK


@kernel
def wander(x, R, length, posed, wandered_out):
    """How far each link has gone since its points were last looked for [m]; 0: they are looked for now."""
    for b in range(x.shape[0]):
        step = TINY * length
        for i in range(3):
            step += abs(x[b, i] - posed[b, i])
        for i in range(9):
            step += length * abs(R[b, i] - posed[b, 3 + i])
        wandered_out[b] = wandered_out[b] + step if b > 0 else step
        if wandered_out[b] > WANDERED * length:
            wandered_out[b] = 0.0


@kernel
def find_calm(links, root, wandered, rooted_out, calm_out):
    """Find the trees that answer as they did: no link's points are looked for now, and no inertia has changed.

    rooted_out: the roots of the inertias that freedoms met when their tree was last not so.
    """
    calm_out[0] = 1
    for b in range(1, wandered.size):
        calm_out[b] = 1 if wandered[b] > 0.0 else 0
        for i in range(links.v[b], links.v[b] + links.nv[b]):
            if not abs(root[i] - rooted_out[i]) <= WANDERED * root[i]:
                calm_out[b] = 0
    for b in range(wandered.size - 1, 0, -1):
        if links.parent[b] > 0 and not calm_out[b]:
            calm_out[links.parent[b]] = 0
    for b in range(1, wandered.size):
        if links.parent[b] > 0:
            calm_out[b] = calm_out[links.parent[b]]
        if not calm_out[b]:
            for i in range(links.v[b], links.v[b] + links.nv[b]):
                rooted_out[i] = root[i]


@part
def rests(wandered, a, b):
    """Tell whether two links have not gone far enough to look for their points again."""
    return wandered[a] > 0.0 and wandered[b] > 0.0


@kernel
def remember_poses(x, R, posed_out):
    """Keep the poses of links for the next step."""
    for b in range(x.shape[0]):
        for i in range(3):
            posed_out[b, i] = x[b, i]
        for i in range(9):
            posed_out[b, 3 + i] = R[b, i]


@kernel
def keep_press(pressed, i, x, R, posed, press_out, k):
    """Take press i of the last step as press k, moved with its links, which hardly moved."""
    press_out[k] = pressed[i]
    a, b = pressed.link[i, 0], pressed.link[i, 1]
    p, n = three(pressed.p, i), three(pressed.axes, i)
    on_a, on_b = carried(p, x, R, posed, a), carried(p, x, R, posed, b)
    press_out.gap[k] += dot(n, minus(on_b, on_a))
    for m in range(3):
        press_out.p[k, m] = 0.5 * (on_a[m] + on_b[m])
    press_out.kept[k] = i


@kernel
def carried(p, x, R, posed, link):
    """Where the point p of a link has gone since the last step."""
    q = minus(p, three(posed, link))
    own = (
        posed[link, 3] * q[0] + posed[link, 6] * q[1] + posed[link, 9] * q[2],
        posed[link, 4] * q[0] + posed[link, 7] * q[1] + posed[link, 10] * q[2],
        posed[link, 5] * q[0] + posed[link, 8] * q[1] + posed[link, 11] * q[2],
    )
    return plus(three(x, link), outward_axes(R, link, own))


@chapter
def reaches(shapes, x, R, V, h, margin, reach_out):
    """How far any point of each shape may move within h, from its speeds."""
    for i in range(shapes.kind.size):
        link = shapes.link[i]
        w = length((V[link, 0], V[link, 1], V[link, 2]))
        centre = plus(three(x, link), outward_axes(R, link, three(shapes.p_KS, i)))
        a = half_axes_of(shapes, i)
        ball = length(halves_of(shapes, i)) + max(a[0], a[1], a[2]) + ball_of(shapes, i)
        if shapes.kind[i] == PLANE:
            ball = 0.0
        reach_out[i] = h * (length(speed_at(V, x, link, centre)) + w * ball) + margin


@kernel
def put_press(near, near_point, f, m, laws, x, press_out, k):
    """Write point f of meeting m as press k."""
    press_out.meeting[k], press_out.gap[k], press_out.kept[k] = m, near_point.gap[f], -1
    press_out.key[k, 0], press_out.key[k, 1] = near.key[f, 0], near.key[f, 1]
    a, b = near.link[f, 0], near.link[f, 1]
    press_out.link[k, 0], press_out.link[k, 1] = a, b
    press_out.friction[k], press_out.restitution[k], press_out.rest_speed[k] = laws[m, 0], laws[m, 1], laws[m, 2]
    press_out.rows[k] = 3 if laws[m, 0] > 0.0 else 1
    p, n = three(near_point.p, f), three(near_point.n, f)
    t1, t2 = tangents_of(n)
    put_axis(press_out, k, 0, n)
    put_axis(press_out, k, 1, t1)
    put_axis(press_out, k, 2, t2)
    for i in range(3):
        press_out.p[k, i] = p[i]
    to_b, to_a = minus(p, three(x, b)), minus(p, three(x, a))
    put_wrench(press_out, k, 0, cross(to_b, n), n, times(-1.0, cross(to_a, n)), times(-1.0, n))
    put_wrench(press_out, k, 1, cross(to_b, t1), t1, times(-1.0, cross(to_a, t1)), times(-1.0, t1))
    put_wrench(press_out, k, 2, cross(to_b, t2), t2, times(-1.0, cross(to_a, t2)), times(-1.0, t2))


@kernel
def put_axis(press_out, k, r, e):
    """Write axis r of press k."""
    for i in range(3):
        press_out.axes[k, 3 * r + i] = e[i]


@kernel
def put_wrench(press_out, k, r, moment_b, force_b, moment_a, force_a):
    """Write the unit wrenches of row r of press k on its two links, each about the link's origin."""
    for i in range(3):
        press_out.K[k, r, i], press_out.K[k, r, 3 + i] = moment_b[i], force_b[i]
        press_out.K[k, r, 6 + i], press_out.K[k, r, 9 + i] = moment_a[i], force_a[i]


@kernel
def link_of(links, joint):
    """Return the link that a joint of the tree carries, or -1."""
    for b in range(1, links.joint.size):
        if links.joint[b] == joint:
            return b
    return -1


@kernel
def near_stop(stops, coordinate, rate, s, h):
    """Tell whether stop s may be reached within h; speeds may double on the way."""
    c = stops.column[s]
    speed = abs(rate[c])
    if stops.angle[s]:
        speed = math.sqrt(rate[c] ** 2 + rate[c + 1] ** 2 + rate[c + 2] ** 2)
    return stop_depth(stops, coordinate, s) + 2.0 * h * speed + MARGIN > 0.0


@chapter
def put_stop(tables, work, s, b, k):
    """Write stop s, of the joint that carries link b, as press k: a wrench along the joint's freedom, no friction.

    Soft stops are rigid here, and give nothing back.
    """
    stops, links, press = tables.stops, tables.links, work.presses
    a, c = links.parent[b], stops.column[s]
    press.meeting[k], press.kept[k], press.key[k, 0], press.key[k, 1] = -1, -1, s, 0
    press.link[k, 0], press.link[k, 1], press.rows[k] = a, b, 1
    press.friction[k], press.restitution[k], press.rest_speed[k] = 0.0, stops.restitution[s], stops.rest_speed[s]
    press.gap[k] = -stop_depth(stops, work.coordinate, s)
    i = links.v[b] + c - links.column[b]
    e = three(work.freedoms.axis, i)
    if stops.angle[s]:
        turn = (work.coordinate[c], work.coordinate[c + 1], work.coordinate[c + 2])
        size = length(turn)
        e = outward_axes(work.links.R, b, times(1.0 / size if size > 0.0 else 0.0, turn))
    e = times(-stops.side[s], e)
    put_axis(press, k, 0, e)
    at = three(work.links.x, b)
    for n in range(3):
        press.p[k, n] = at[n]
    if tables.freedoms.linear[i] and not stops.angle[s]:
        arm = minus(at, three(work.links.x, a))
        put_wrench(press, k, 0, (0.0, 0.0, 0.0), e, times(-1.0, cross(arm, e)), times(-1.0, e))
    else:
        put_wrench(press, k, 0, e, (0.0, 0.0, 0.0), times(-1.0, e), (0.0, 0.0, 0.0))


__all__ = ["gather_presses"]
