"""What may press within a time step: points of shapes that can meet, and joints that can reach a stop.

A point is taken in while it is still open, where the speeds of the two bodies let it close within the step.  Its
impulse then keeps the gap from becoming negative, and is zero if it does not close.
"""

from __future__ import annotations

import math

from sim.kernels.broad import can_meet, sweep_boxes
from sim.kernels.features import speed_at, tangents_of
from sim.kernels.forces import stop_depth
from sim.kernels.jit import chapter, kernel, story
from sim.kernels.narrow import points_within
from sim.kernels.separation import ball_of, half_axes_of, halves_of
from sim.kernels.vectors import cross, length, minus, outward_axes, plus, three, times
from sim.model import PLANE, Status

# Share of the mechanism's length that speeds may change within a step beside what they are, times the step.
MARGIN = 1e-4


@story
def gather_presses(tables, work, h):
    """Fill work.presses with what may press within h [s]; needs `move` and coordinates.  Returns a status."""
    shapes, meetings, links = tables.shapes, tables.meetings, work.links
    margin = MARGIN * tables.one.length[0]
    sweep_boxes(shapes, links.x, links.R, links.V, margin, h, work.boxes, work.near_poses)
    reaches(shapes, links.x, links.R, links.V, h, margin, work.reach)
    count = 0
    for m in range(meetings.a.size):
        i, j = meetings.a[m], meetings.b[m]
        if not can_meet(shapes, i, j, links.x, links.R, links.V, work.boxes, margin, h, work.near_poses):
            continue
        reach = work.reach[i] + work.reach[j]
        found = points_within(
            shapes, i, j, links.x, links.R, reach, work.near, work.near_points, work.near_poses, work.near_cores
        )
        if count + found > work.press_P.shape[0]:
            return Status.CROWDED
        for f in range(found):
            if work.near_points.gap[f] <= reach:
                put_press(work.near, work.near_points, f, m, work.laws, links.x, work.presses, count)
                count += 1
    for s in range(tables.stops.joint.size):
        b = link_of(tables.links, tables.stops.joint[s])
        if b > 0 and near_stop(tables.stops, work.coordinate, work.rate, s, h):
            if count == work.press_P.shape[0]:
                return Status.CROWDED
            put_stop(tables, work, s, b, count)
            count += 1
    work.stepped.points[0] = count
    return Status.OK


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
    press_out.meeting[k], press_out.gap[k] = m, near_point.gap[f]
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
    press.meeting[k], press.key[k, 0], press.key[k, 1] = -1, s, 0
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
