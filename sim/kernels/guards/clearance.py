"""Which pairs of shapes keep apart through a span of time: conservative advancement along the direction between them.

Across any fixed direction n, the width s(n) of the gap between two supporting planes is a lower bound of the distance
(`sim.kernels.collision.separation`).  n is taken where the shapes are nearest at the place of reference, and s may
fall from there by no more than its rate allows,

    ds/dt = n . (v_b - v_a) - dh_a/dt - dh_b/dt,

v of the shapes' centres, h how far a shape reaches along n from its centre, which changes by turning alone
(Mirtich 1996; Zhang, Redon, Lee & Kim 2007).  Bounds of the motion are those of `sim.kernels.guards.spans`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from sim.kernels.collision.broad import apart, ball_about, smaller_ball
from sim.kernels.collision.features import speed_at
from sim.kernels.collision.narrow import points_nearby
from sim.kernels.collision.separation import axis_of, ball_of, is_rope
from sim.kernels.guards.spans import (
    Stretch,
    common_link,
    departs,
    moving_of,
    path_departs,
    root_slides,
    root_slides_now,
)
from sim.kernels.jit import entry, kernel, spliced
from sim.kernels.shapes import CAPSULE, CYLINDER, PLANE, SPHERE
from sim.kernels.status import Status
from sim.kernels.system import unpack, vector
from sim.kernels.unilateral.contact_system import MARGIN, has_one_point, is_closed_pair, open_gap_of
from sim.kernels.vectors import cross, dot, length, minus, outward_axes, three, unit
from sim.kernels.watched import CLEAR, FAR, GUARD_GAP, SPAN_AT, SPAN_HEADER, SPAN_SECONDS, TOUCHING, WITHIN

# How deep [m] two shapes may go into each other and part again without being seen.  Smaller: shapes that roll or slide
# along each other at no distance are looked at in ever shorter spans.  Larger: grazing collisions are missed.
GRAZING = 5e-7


@entry
def clearance(question, system, t, a, b):
    """Answer CLEAR_GAPS: verdict on each gap within a span; links are placed.  Returns a status."""
    tables, _, work, guards = unpack(system)
    n = tables.one.nq[0] + tables.one.nv[0] + 2
    span, told = vector(a, 15 * n), vector(b, SPAN_HEADER + guards.table.kind.size)
    verdict = told[SPAN_HEADER:]
    for g in range(verdict.size):
        if verdict[g] == WITHIN and guards.table.kind[g] == GUARD_GAP:
            m = guards.table.owner[g]
            stretch = Stretch(span, told[SPAN_SECONDS], told[SPAN_AT])
            verdict[g] = keep_apart(tables, work, m, guards.table.allowed[g], stretch)
    return Status.OK


class Near(NamedTuple):
    """Scratch for points of two shapes: see `narrow.touching_points`."""

    touch_work: Any
    point_work: Any
    pose_work: Any
    core_work: Any


@spliced
def keep_apart(tables, work, m, allowed, stretch):
    """Verdict on two shapes, or on what of them is open: whether they keep apart through the span."""
    return keep_apart_in(
        m, allowed, tables.meetings, tables.shapes, tables.hulls, stretch, moving_of(tables, work), work.touches,
        Near(work.near, work.near_points, work.near_poses, work.near_cores),
    )  # fmt: skip


@kernel
def keep_apart_in(m, allowed, meetings, shapes, hulls, stretch, moving, touches, near):
    """See `keep_apart`."""
    i, j = meetings.a[m], meetings.b[m]
    a, b = shapes.link[i], shapes.link[j]
    before, after = stretch.at * stretch.seconds, (1.0 - stretch.at) * stretch.seconds
    ahead = max(before, after)
    link_work, pose_work, x, R = moving.link_work, near.pose_work, moving.link_work.x, moving.link_work.R
    far = apart(shapes, i, j, x, R, pose_work)
    c_a, c_b = three(pose_work, 0), three(pose_work, 1)
    fastest = centre_speed(shapes, i, link_work, moving.span_work, c_a)
    fastest += centre_speed(shapes, j, link_work, moving.span_work, c_b)
    verdict = verdict_of_gap(far - ahead * fastest, allowed)
    if verdict == FAR:
        return FAR
    if is_closed_pair(touches, m):  # whose points may leave their features: values tell
        if verdict == CLEAR or has_one_point(shapes, i, j):
            return TOUCHING
        gap = open_gap_of(
            m, meetings, shapes, hulls, link_work, touches, near.touch_work, near.point_work, pose_work, near.core_work
        )
        n = closed_normal(touches, m, R)
        fall = rolling_speed(shapes, i, j, n, c_a, c_b, stretch, moving, pose_work)
        return TOUCHING if gap - ahead * fall > -allowed - GRAZING else WITHIN
    meet = common_link(moving.links, a, b)
    if is_rope(shapes, i, j):
        return verdict_of_gap(slack_of_rope(far, a, b, c_a, c_b, meet, stretch, moving, ahead * fastest), allowed)
    if shapes.kind[i] != PLANE and shapes.kind[j] != PLANE:  # the balls about both, which do not turn
        n = unit(minus(c_b, c_a))
        r0, r1, _, _ = centre_rates(n, c_a, c_b, a, b, meet, stretch.curve, ahead, moving)
        verdict = verdict_of_gap(far + min(0.0, -before * r1, after * r0), allowed)
        if verdict != WITHIN or has_one_point(shapes, i, j):  # that was all of them
            return verdict
    margin = MARGIN * smaller_ball(shapes, i, j)
    _, gap, n = points_nearby(
        shapes, hulls, i, j, x, R, margin, near.touch_work, near.point_work, pose_work, near.core_work
    )  # fmt: skip
    turned = moving.span_work.spin[a] * ball_about(shapes, i) + moving.span_work.spin[b] * ball_about(shapes, j)
    if verdict_of_gap(gap - ahead * (fastest + turned), allowed) == FAR:
        return FAR
    return verdict_of_gap(gap + falls_by(shapes, i, j, n, stretch, moving, pose_work), allowed)


@kernel
def slack_of_rope(slack, a, b, c_a, c_b, meet, stretch, moving, moved):
    """Bound of how slack a rope stays within the span [m]; moved: how far its ends may go, both together.

    Its ends are no farther apart than sqrt(l^2 + m^2), l being the largest distance along the line between them and m
    how far they may go across it.
    """
    before, after = stretch.at * stretch.seconds, (1.0 - stretch.at) * stretch.seconds
    between = minus(c_b, c_a)
    away = length(between)
    if away <= moved:
        return slack - moved
    n = unit(between)
    r0, r1, _, _ = centre_rates(n, c_a, c_b, a, b, meet, stretch.curve, max(before, after), moving)
    longest = away + max(0.0, -before * r0, after * r1)
    return slack + away - math.sqrt(longest * longest + moved * moved)


@kernel
def verdict_of_gap(least, allowed):
    """Verdict on a gap that stays above `least` [m]; allowed: how far below zero it may be."""
    if least > GRAZING - allowed:
        return FAR
    return CLEAR if least > -allowed - GRAZING else WITHIN


@kernel
def falls_by(shapes, i, j, n, stretch, moving, pose):
    """Bound of how far the width of the gap across n falls within the span from what it is at the place of reference.

    Zero or less [m].
    """
    a, b = shapes.link[i], shapes.link[j]
    before, after = stretch.at * stretch.seconds, (1.0 - stretch.at) * stretch.seconds
    ahead, meet = max(before, after), common_link(moving.links, a, b)
    r0, r1, off_a, off_b = centre_rates(
        n, three(pose, 0), three(pose, 1), a, b, meet, stretch.curve, ahead, moving
    )  # fmt: skip
    turning = reach_rate(shapes, i, 0, n, meet, off_a, ahead, moving.link_work, pose)
    turning += reach_rate(shapes, j, 1, n, meet, off_b, ahead, moving.link_work, pose)
    return min(0.0, -before * (r1 + turning), after * (r0 - turning))


@kernel
def centre_speed(shapes, i, link_work, span_work, c):
    """Largest speed of a shape's centre within the span; planes stand still."""
    b = shapes.link[i]
    return span_work.speed[b] + span_work.spin[b] * length(minus(c, three(link_work.x, b)))


@kernel
def closed_normal(touches, m, R):
    """Normal at the first closed point of two shapes, from a to b, world axes."""
    for k in range(touches.mode.size):
        if touches.meeting[k] == m:
            return outward_axes(R, touches.link[k, 0], three(touches.n, k))
    return 0.0, 0.0, 0.0


@kernel
def rolling_speed(shapes, i, j, n, c_a, c_b, stretch, moving, pose):
    """Largest rate at which the gap of a feature beside closed points may change.

    The closed points keep two shapes together, so that only what turns about n, or slides along it, changes nothing.
    """
    a, b, link_work, span = shapes.link[i], shapes.link[j], moving.link_work, moving.span_work
    off = span.spin_off[a] + span.spin_off[b]
    w = minus(three(link_work.V, b), three(link_work.V, a))
    size = smaller_ball(shapes, i, j)
    # What carries the smaller shape along, at its own centre.
    small = j if ball_or_inf(shapes, j) <= ball_or_inf(shapes, i) else i
    c = c_b if small == j else c_a
    u = minus(speed_at(link_work.V, link_work.x, b, c), speed_at(link_work.V, link_work.x, a, c))
    along = dot(n, u)
    arm_a, arm_b = length(minus(c, three(link_work.x, a))), length(minus(c, three(link_work.x, b)))
    slide_off = departs(span, a, arm_a) + departs(span, b, arm_b)
    turned = min(min(span.turn[a], span.turn[b]), 2.0)  # n turns with either of the two
    if turned == 0.0:
        root_a, root_b = span.root[a], span.root[b]
        along -= root_slides_now(moving, root_b, n)
        along += root_slides_now(moving, root_a, n)
        r0, r1 = root_slides(moving, stretch.curve, root_a, root_b, n)
        slid = max(abs(along + r0), abs(along + r1)) + slide_off
    else:
        slide_off += span.slide_off[a] + span.slide_off[b]
        slid = abs(along) + slide_off + turned * (length(u) + slide_off)
    across = length(cross(w, n)) + off + turned * (length(w) + off)
    kind = shapes.kind[small]
    if turned == 0.0 and (kind == CAPSULE or kind == CYLINDER):  # a wheel that rolls on
        other = shapes.link[i] if small == j else shapes.link[j]
        if span.spin[other] == 0.0:
            axis = axis_of(pose, 1 if small == j else 0, 2)
            across = min(across, across_axis(w, axis, off, stretch.seconds))
    return slid + across * size


@kernel
def ball_or_inf(shapes, i):
    """Radius of the ball about a shape; of a plane infinite."""
    return math.inf if shapes.kind[i] == PLANE else ball_about(shapes, i)


@kernel
def centre_rates(n, c_a, c_b, a, b, meet, curve, ahead, moving):
    """Bounds of n . (v_b - v_a) of two centres in the axes of the link on which both hang, where n stands still.

    Also how far the angular velocities of both links depart there.
    """
    link_work, span = moving.link_work, moving.span_work
    u = minus(relative_speed(link_work, meet, b, c_b), relative_speed(link_work, meet, a, c_a))
    rate = dot(n, u)
    depart_a, spin_a, _ = path_departs(c_a, a, meet, ahead, moving)
    depart_b, spin_b, _ = path_departs(c_b, b, meet, ahead, moving)
    depart = depart_a + depart_b
    if meet > 0:
        return rate - depart, rate + depart, spin_a, spin_b
    root_a, root_b = span.root[a], span.root[b]
    rate -= root_slides_now(moving, root_b, n)
    rate += root_slides_now(moving, root_a, n)
    low, high = root_slides(moving, curve, root_a, root_b, n)
    return rate - depart + low, rate + depart + high, spin_a, spin_b


@kernel
def relative_speed(link_work, frame, b, c):
    """Velocity of link b's material at c, as seen from another link, world axes."""
    mine, its = speed_at(link_work.V, link_work.x, b, c), speed_at(link_work.V, link_work.x, frame, c)
    return minus(mine, its)


@kernel
def reach_rate(shapes, i, side, n, meet, spin_off, ahead, link_work, pose):
    """Largest rate at which turning changes how far a shape reaches along n, as seen from a link it hangs on [m/s]."""
    kind, b = shapes.kind[i], shapes.link[i]
    if b == meet or kind == SPHERE:
        return 0.0
    w = minus(three(link_work.V, b), three(link_work.V, meet))
    across = length(cross(w, n)) + spin_off
    if kind == CAPSULE or kind == CYLINDER:  # their turning about their own axes changes nothing
        across = min(across, across_axis(w, axis_of(pose, side, 2), spin_off, ahead))
    return across * (ball_about(shapes, i) - ball_of(shapes, i))


@kernel
def across_axis(w, e, spin_off, ahead):
    """Largest rate at which an axis of a link turns that has the angular velocity w at the place of reference."""
    most = length(w) + spin_off
    return length(cross(w, e)) + spin_off + most * min(ahead * most, 2.0)
