"""Where two shapes touch or are near to touching: up to eight contact points, and the distance of the two.

A contact point is a pair of features near the normal across which the shapes are closest.  Every candidate is
evaluated by the formula that the engine will use (`sim.kernels.collision.features`), and kept if it lies on both
features, within the margin, and is not there yet.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from sim.kernels.collision.features import keep_start, place_touch, put_touch
from sim.kernels.collision.hulls import crossing_of_hulls, distance_of_hulls, farthest
from sim.kernels.collision.separation import (
    axis_of,
    ball_of,
    best_crossing,
    half_axes_of,
    halves_of,
    in_shape,
    is_rope,
    place_shape,
    put_cores,
    rope_length,
    signed_distance,
    width_across,
)
from sim.kernels.collision.sides import (
    ALIGNED,
    FLUSH,
    OF_MESH,
    ON_LINE,
    ON_RIM,
    along_edge,
    choose_plane,
    corner,
    corners,
    edge,
    edges,
    floor_of,
    front_of,
    has_face,
    is_front,
    lies_on,
    normal_of,
    place_of,
    put_face,
    put_feature,
    put_nearest,
    put_point,
    put_rim_point,
)
from sim.kernels.jit import kernel, python_kernel
from sim.kernels.shapes import BALL, CAPSULE, CYLINDER, FACE, LINE, MESH, PLANE, ROUND
from sim.kernels.status import Status
from sim.kernels.vectors import beyond, cross, dot, inward_axes, length, minus, three, times, unit

POINTS = 8  # most contact points of a pair
ROOM = 64  # rows of touch_work and point_work that finding them may need
OK = int(Status.OK)
# Sine of a cylinder's tilt below which its cap is flat on a face: its lowest point is then anywhere on the rim.
FLAT = 1e-9
# Sine of the angle of two lines below which their crossing is no point (NEVER), or only where nothing else is nearer.
NEVER, SELDOM = 1e-6, 1e-3
# Of the shapes' size: what two ways to the same distance may differ by.
SAME = 1e-12


class Pair(NamedTuple):
    """Two shapes, where they are: i, whose side is 0, and j."""

    shapes: Any
    hulls: Any
    i: Any
    j: Any
    x: Any  # (links, 3) m, p_WK
    R: Any  # (links, 9) R_WK
    pose: Any  # (2, 12) p_WS and R_WS of both


class Sought(NamedTuple):
    """Which points are looked for: across n, nearly, with a gap between low and high [m]."""

    n: Any
    low: Any
    high: Any
    slack: Any  # m: how far a point may lie beside a feature, and points are one


class Points(NamedTuple):
    """Those that were found, and room for more."""

    touch_work: Any
    point_work: Any


# Keeping points.


@kernel
def aim(touch_work, k, R, n):
    """Let the normal n be where the iteration of row k starts."""
    n_K = inward_axes(R, touch_work.link[k, 0], n)
    n_out = touch_work.n
    for i in range(3):
        n_out[k, i] = n_K[i]


@kernel
def within(pair, n, low, high, k, points):
    """Evaluate row k; tell whether its gap lies between low and high, and its normal near n. Also return y_a, y_b."""
    x, R, touch_work, point_work = pair.x, pair.R, points.touch_work, points.point_work
    aim(touch_work, k, R, n)
    status, gap, m, y1, y2 = place_touch(touch_work, k, x, R)
    ya, yb = (y1, y2) if touch_work.kind[k, 0] <= touch_work.kind[k, 1] else (y2, y1)
    if status != OK or not (low <= gap <= high):
        return False, ya, yb
    put_touch(touch_work, k, gap, m, y1, y2, point_work)
    found = three(point_work.n, k)
    keep_start(k, x, R, found, three(point_work.p, k), touch_work)
    return dot(found, n) >= ALIGNED, ya, yb


@kernel
def admit(pair, sought, count, points):
    """Evaluate row `count`; keep it, by counting one more, if it is a contact point that is not there yet."""
    shapes, hulls, pose, slack = pair.shapes, pair.hulls, pair.pose, sought.slack
    touch_work, point_work = points.touch_work, points.point_work
    k = count
    if k == ROOM - 1:  # the last row is that of the nearest pair
        return count
    good, ya, yb = within(pair, sought.n, sought.low, sought.high, k, points)
    if not good or not lies_on(shapes, hulls, pair.i, pose, 0, touch_work.kind[k, 0], ya, slack):
        return count
    if not lies_on(shapes, hulls, pair.j, pose, 1, touch_work.kind[k, 1], yb, slack):
        return count
    p = three(point_work.p, k)
    for other in range(count):
        if length(minus(p, three(point_work.p, other))) <= 3.0 * slack:
            return count
    return count + 1


@kernel
def least_gap(point_work, count):
    """Smallest gap of the points kept."""
    least = math.inf
    for k in range(count):
        least = min(least, point_work.gap[k])
    return least


# Candidates.


@kernel
def sides_of(pair, sought, side):
    """Return the shape of this side, that of the other, and the way from the one to the other."""
    if side == 0:
        return pair.i, pair.j, sought.n
    return pair.j, pair.i, times(-1.0, sought.n)


@kernel
def corners_on_face(pair, sought, side, count, points):
    """Points between the front face of shape `side` (0: i, 1: j) and the front corners of the other."""
    shapes, hulls, pose, touch_work = pair.shapes, pair.hulls, pair.pose, points.touch_work
    low, margin, slack = sought.low, sought.high, sought.slack
    mine, his, out = sides_of(pair, sought, side)
    f, s, cosine = front_of(shapes, hulls, mine, pose, side, out)
    if not has_face(shapes, mine, cosine):
        return count
    if shapes.kind[mine] == PLANE:
        s = 1
    normal = normal_of(shapes, hulls, pose, mine, side, f, s)
    inward = times(-1.0, normal if shapes.kind[mine] == PLANE else out)
    g, w, his_cosine = front_of(shapes, hulls, his, pose, 1 - side, inward)
    rim = shapes.kind[his] == CYLINDER
    tilt = length(cross(normal, axis_of(pose, 1 - side, 2))) if rim else 1.0
    if rim and his_cosine > ALIGNED and (tilt < FLAT or 2.0 * shapes.dimensions[his, 0] * tilt <= margin):
        count = rim_on_face(pair, sought, side, count, points)
    if not (rim and his_cosine > ALIGNED and tilt < FLAT):
        v = in_shape(pose, 1 - side, inward)
        floor = floor_of(shapes, hulls, his, v, margin - low)
        for which in range(corners(shapes, his, his_cosine)):
            signs = corner(shapes, his, g, w, which)
            if not is_front(shapes, hulls, his, v, floor, signs) or not over_face(
                shapes, hulls, mine, his, pose, side, f, normal, signs, low - slack, margin + slack
            ):
                continue
            put_face(shapes, hulls, mine, f, s, count, side, touch_work)
            put_feature(shapes, hulls, his, signs, count, 1 - side, touch_work)
            count = admit(pair, sought, count, points)
    if shapes.kind[mine] == CYLINDER:
        count = lines_over_cap(pair, sought, side, count, points)
    return count


@kernel
def over_face(shapes, hulls, mine, his, pose, side, f, outward, signs, low, high):
    """Tell whether a corner may be so far from a face, before it is evaluated; one that is round may."""
    if half_axes_of(shapes, his)[0] > 0.0:
        return True
    h = halves_of(shapes, mine)
    away = minus(place_of(shapes, hulls, his, pose, 1 - side, signs), three(pose, side))
    if shapes.kind[mine] == MESH:
        out = dot(three(hulls.d, f), three(hulls.p, f))
    else:
        out = h[0] if f == 0 else (h[1] if f == 1 else h[2])
    gap = dot(outward, away) - out - ball_of(shapes, his)
    return low <= gap <= high


@kernel
def rim_on_face(pair, sought, side, count, points):
    """Points of a flat cap over the front face of shape `side`: four fixed ones; more where the face ends below."""
    shapes, hulls, pose, touch_work = pair.shapes, pair.hulls, pair.pose, points.touch_work
    mine, his, out = sides_of(pair, sought, side)
    f, s, _ = front_of(shapes, hulls, mine, pose, side, out)
    _, w, _ = front_of(shapes, hulls, his, pose, 1 - side, times(-1.0, out))
    if shapes.kind[mine] == PLANE:
        s = 1
        _, w, _ = front_of(shapes, hulls, his, pose, 1 - side, times(-1.0, axis_of(pose, side, 2)))
    before, key = count, ON_RIM + 16 * (1 if w > 0 else 0)
    for which in range(4):
        put_face(shapes, hulls, mine, f, s, count, side, touch_work)
        put_rim_point(shapes, his, w, 0.5 * math.pi * which, key + which, count, 1 - side, touch_work)
        count = admit(pair, sought, count, points)
    if count == before + 4 or shapes.kind[mine] == PLANE:
        return count
    toward = in_shape(pose, 1 - side, minus(three(pose, side), three(pose, 1 - side)))
    if toward[0] != 0.0 or toward[1] != 0.0:
        put_face(shapes, hulls, mine, f, s, count, side, touch_work)
        middle = math.atan2(toward[1], toward[0])
        put_rim_point(shapes, his, w, middle, key + 4, count, 1 - side, touch_work)
        count = admit(pair, sought, count, points)
    if shapes.kind[mine] == CYLINDER:  # where the two rims cross
        away = math.hypot(toward[0], toward[1])
        r, r_mine = shapes.dimensions[his, 0], shapes.dimensions[mine, 0]
        cosine = (away * away + r * r - r_mine * r_mine) / (2.0 * away * r) if away > 0.0 else 2.0
        if abs(cosine) < 1.0:
            for which in range(2):
                angle = middle + (1.0 - 2.0 * which) * math.acos(cosine)
                put_face(shapes, hulls, mine, f, s, count, side, touch_work)
                put_rim_point(shapes, his, w, angle, key + 5 + which, count, 1 - side, touch_work)
                count = admit(pair, sought, count, points)
    return count


@kernel
def lines_over_cap(pair, sought, side, count, points):
    """Points of the other's edges, fixed on them, where they leave the cap of the cylinder `side`, nearly parallel."""
    shapes, hulls, pose, touch_work = pair.shapes, pair.hulls, pair.pose, points.touch_work
    margin, slack = sought.high, sought.slack
    mine, his, out = sides_of(pair, sought, side)
    f, s, _ = front_of(shapes, hulls, mine, pose, side, out)
    g, w, _ = front_of(shapes, hulls, his, pose, 1 - side, times(-1.0, out))
    radius, r = shapes.dimensions[mine, 0], ball_of(shapes, his) + half_axes_of(shapes, his)[0]
    v = in_shape(pose, 1 - side, times(-1.0, out))
    floor = floor_of(shapes, hulls, his, v, margin - sought.low)
    for which in range(edges(shapes, his)):
        signs = edge(shapes, his, g, w, which)
        if not is_front(shapes, hulls, his, v, floor, signs):
            continue
        k = 0 if signs[0] == 0 else (1 if signs[1] == 0 else 2)
        place, (along, half) = (
            place_of(shapes, hulls, his, pose, 1 - side, signs),
            along_edge(shapes, hulls, his, pose, 1 - side, signs),
        )
        q = in_shape(pose, side, minus(place, three(pose, side)))
        d = in_shape(pose, side, along)
        if 2.0 * radius * abs(d[2]) > max(margin, FLAT * radius):
            continue
        # |q + t d| = radius across the cylinder's axis
        a, b, c = d[0] * d[0] + d[1] * d[1], q[0] * d[0] + q[1] * d[1], q[0] * q[0] + q[1] * q[1] - radius * radius
        if b * b <= a * c:
            continue
        for end in range(2):
            t = (-b + (1.0 - 2.0 * end) * math.sqrt(b * b - a * c)) / a
            short = 0.0
            if shapes.kind[his] == CYLINDER:  # at its ends a cylinder is a rim
                short = half_axes_of(shapes, his)[0] * abs(d[2]) + slack
            if abs(t) > half - short + slack:
                continue
            on = in_shape(pose, 1 - side, minus(beyond(place, t, along), three(pose, 1 - side)))
            key = ON_LINE + 8 * k + 2 * which + end
            if shapes.kind[his] == MESH:
                key = OF_MESH + shapes.corners[his] + shapes.edges[his] + shapes.faces[his] + 2 * which + end
            put_face(shapes, hulls, mine, f, s, count, side, touch_work)
            put_point(shapes, his, on, r, key, count, 1 - side, touch_work)
            count = admit(pair, sought, count, points)
    return count


@kernel
def edges_on_edges(pair, sought, count, points):
    """Points where front edges cross; nearly parallel ones only where they are nearer than all others."""
    shapes, hulls, i, j, pose = pair.shapes, pair.hulls, pair.i, pair.j, pair.pose
    n, low, margin, slack = sought.n, sought.low, sought.high, sought.slack
    touch_work, point_work = points.touch_work, points.point_work
    f, s, _ = front_of(shapes, hulls, i, pose, 0, n)
    back = times(-1.0, n)
    g, w, _ = front_of(shapes, hulls, j, pose, 1, back)
    v_a, v_b = in_shape(pose, 0, n), in_shape(pose, 1, back)
    floor_a = floor_of(shapes, hulls, i, v_a, margin - low)
    floor_b = floor_of(shapes, hulls, j, v_b, margin - low)
    for seldom in range(2):
        for one in range(edges(shapes, i)):
            a = edge(shapes, i, f, s, one)
            if not is_front(shapes, hulls, i, v_a, floor_a, a):
                continue
            along_a, _ = along_edge(shapes, hulls, i, pose, 0, a)
            for other in range(edges(shapes, j)):
                b = edge(shapes, j, g, w, other)
                if not is_front(shapes, hulls, j, v_b, floor_b, b):
                    continue
                along_b, _ = along_edge(shapes, hulls, j, pose, 1, b)
                normal = cross(along_a, along_b)
                sine = length(normal)
                if sine < NEVER or (sine < SELDOM) != (seldom == 1):
                    continue
                if seldom == 0 and not may_cross(
                    shapes, hulls, i, j, pose, n, a, b, normal, low - slack, margin + slack, 2.0 * slack
                ):
                    continue
                limit = margin
                if seldom == 1:
                    limit = min(margin, least_gap(point_work, count) - slack)
                put_feature(shapes, hulls, i, a, count, 0, touch_work)
                put_feature(shapes, hulls, j, b, count, 1, touch_work)
                count = admit(pair, Sought(n, low, limit, slack), count, points)
    return count


@kernel
def may_cross(shapes, hulls, i, j, pose, n, a, b, normal, low, high, slack):
    """Tell whether the edges a of i and b of j may cross so far apart, across near n.

    Before they are evaluated: most do not.  normal: across both.
    """
    square, cosine = dot(normal, normal), dot(normal, n)
    sine = math.sqrt(square)
    if abs(cosine) < 0.99 * ALIGNED * sine:
        return False
    between = minus(place_of(shapes, hulls, j, pose, 1, b), place_of(shapes, hulls, i, pose, 0, a))
    gap = dot(between, normal) * (1.0 if cosine >= 0.0 else -1.0) / sine
    gap -= ball_of(shapes, i) + half_axes_of(shapes, i)[0] + ball_of(shapes, j) + half_axes_of(shapes, j)[0]
    if not low <= gap <= high:
        return False
    along_a, half_a = along_edge(shapes, hulls, i, pose, 0, a)
    along_b, half_b = along_edge(shapes, hulls, j, pose, 1, b)
    on_a = dot(cross(between, along_b), normal) / square
    on_b = dot(cross(between, along_a), normal) / square
    return abs(on_a) <= half_a + slack and abs(on_b) <= half_b + slack


@kernel
def corners_on_line(pair, sought, side, count, points):
    """Points of capsules and cylinders side by side: ends of one over the line of the other."""
    shapes, hulls, pose, touch_work = pair.shapes, pair.hulls, pair.pose, points.touch_work
    mine, his, out = sides_of(pair, sought, side)
    kind = shapes.kind[his]
    if edges(shapes, mine) != 1 or (kind != CAPSULE and kind != CYLINDER):
        return count
    _, w, cosine = front_of(shapes, hulls, his, pose, 1 - side, times(-1.0, out))
    if cosine > ALIGNED:
        return count
    for which in range(2):
        put_feature(shapes, hulls, mine, (1, 1, 0), count, side, touch_work)
        put_feature(shapes, hulls, his, corner(shapes, his, 2, w, which), count, 1 - side, touch_work)
        count = admit(pair, sought, count, points)
    return count


@kernel
def is_sharp(touches, k, side):
    """Tell whether a feature is a point or an edge without a radius."""
    return touches.kind[k, side] != FACE and touches.kind[k, side] != ROUND and touches.r[k, side] == 0.0


@kernel
def nearest_pair(pair, n, s, size, count, points):
    """Add the point of the two features that are nearest; a plane across n where they have no normal together."""
    shapes, hulls, i, j, pose, touch_work = pair.shapes, pair.hulls, pair.i, pair.j, pair.pose, points.touch_work
    back = times(-1.0, n)
    put_nearest(shapes, hulls, i, pose, 0, n, count, touch_work)
    put_nearest(shapes, hulls, j, pose, 1, back, count, touch_work)
    a, b = touch_work.kind[count, 0], touch_work.kind[count, 1]
    lines = a == LINE and b == LINE
    rim = (a == ROUND and shapes.kind[i] == CYLINDER) or (b == ROUND and shapes.kind[j] == CYLINDER)
    both_points = a >= BALL and b >= BALL
    sharp = (is_sharp(touch_work, count, 0) and is_sharp(touch_work, count, 1)) or (
        rim and both_points and (is_sharp(touch_work, count, 0) or is_sharp(touch_work, count, 1))
    )
    singular = sharp and not lines and abs(s) <= FLUSH * size
    if not (singular or (a == FACE and b <= LINE) or (b == FACE and a <= LINE)):
        same = 10.0 * SAME * size
        good, _, _ = within(pair, n, s - same, s + same, count, points)
        if good:
            return count + 1
    choose_plane(shapes, hulls, i, j, pose, n, count, touch_work)
    good, _, _ = within(pair, n, -math.inf, math.inf, count, points)
    return count + 1 if good else count


# The whole.


@kernel
def exchange(k, other, touch_work, point_work):
    """Exchange two rows; of the point, what `put_touch` writes."""
    for side in range(2):
        link, kind, key, r = touch_work.link, touch_work.kind, touch_work.key, touch_work.r
        link[k, side], link[other, side] = link[other, side], link[k, side]
        kind[k, side], kind[other, side] = kind[other, side], kind[k, side]
        key[k, side], key[other, side] = key[other, side], key[k, side]
        r[k, side], r[other, side] = r[other, side], r[k, side]
        p, d, axes = touch_work.p, touch_work.d, touch_work.axes
        for m in range(3):
            p[k, side, m], p[other, side, m] = p[other, side, m], p[k, side, m]
            d[k, side, m], d[other, side, m] = d[other, side, m], d[k, side, m]
        for m in range(9):
            axes[k, side, m], axes[other, side, m] = axes[other, side, m], axes[k, side, m]
    start, gap, at, n = touch_work.n, point_work.gap, point_work.p, point_work.n
    gap[k], gap[other] = gap[other], gap[k]
    for m in range(3):
        start[k, m], start[other, m] = start[other, m], start[k, m]
        at[k, m], at[other, m] = at[other, m], at[k, m]
        n[k, m], n[other, m] = n[other, m], n[k, m]


@kernel
def spread(count, slack, touch_work, point_work):
    """Keep those as near as the nearest, but for `slack`, before others, each as far from those kept as may be; eight.

    Of those that are equally far the last in order: closed points are the same in every call.
    """
    if count <= POINTS:
        return count
    near = least_gap(point_work, count) + slack
    for kept in range(POINTS):
        chosen, best, flush = kept, -1.0, False
        for k in range(kept, count):
            away = 0.0 if kept == 0 else math.inf
            for other in range(kept):
                away = min(away, length(minus(three(point_work.p, k), three(point_work.p, other))))
            nearer = point_work.gap[k] <= near
            if (nearer and not flush) or (nearer == flush and away > best - slack):
                chosen, best, flush = k, away, nearer
        exchange(kept, chosen, touch_work, point_work)
    return POINTS


@kernel
def over_plane(shapes, hulls, i, j, pose, core_work):
    """Signed distance of a plane and another shape, its normal from a to b, and the other's size."""
    r, size = put_cores(shapes, i, j, pose, core_work)
    side = 0 if shapes.kind[i] == PLANE else 1
    up, other = axis_of(pose, side, 2), j if side == 0 else i
    n = times(1.0 - 2.0 * side, up)
    if shapes.kind[other] == MESH:
        low = farthest(shapes, hulls, other, pose, 1 - side, times(-1.0, up))
        return dot(up, minus(low, three(pose, side))), n, size
    return width_across(core_work, n, 0.0) - r, n, size


@kernel
def rope_point(pair, margin, points):
    """The point of a rope: how many, by how much it is slack [m], and the normal, which pulls shape j towards i.

    It is that of two balls of which one has a negative radius: the other touches it from inside.
    """
    shapes, pose, touch_work = pair.shapes, pair.pose, points.touch_work
    between = minus(three(pose, 1), three(pose, 0))
    away = length(between)
    slack = rope_length(shapes, pair.i, pair.j) - away
    if slack > margin or away == 0.0:
        return 0, slack, between
    n = times(-1.0 / away, between)
    link, kind, key, p, r = touch_work.link, touch_work.kind, touch_work.key, touch_work.p, touch_work.r
    for side in range(2):
        shape = pair.i if side == 0 else pair.j
        link[0, side], kind[0, side], key[0, side], r[0, side] = shapes.link[shape], BALL, 0, -ball_of(shapes, shape)
        for m in range(3):
            p[0, side, m] = shapes.p_KS[shape, m]
    good, _, _ = within(pair, n, -math.inf, math.inf, 0, points)
    return (1 if good else 0), slack, n


@kernel
def points_in_front(pair, sought, points):
    """Find the points of all features in front; return how many."""
    count = 0
    for side in range(2):
        count = corners_on_face(pair, sought, side, count, points)
    for side in range(2):
        count = corners_on_line(pair, sought, side, count, points)
    return edges_on_edges(pair, sought, count, points)


@python_kernel
def touching_points(shapes, hulls, i, j, link_x, link_R, margin, touch_work, point_work, pose_work, core_work):
    """Find where two shapes touch: up to eight points, all with a gap of at most `margin` [m].

    shapes: SHAPE, hulls: HULL.  link_x (links, 3), link_R (links, 9): poses p_WK, R_WK.  touch_work, point_work: TOUCH
    and TOUCH_WORK, ROOM rows; the first ones are filled, of point_work gap, p and n.  pose_work: (2, 12), core_work:
    (13, 3), scratch.  Two planes do not touch.

    Returns how many points there are, the signed distance [m], and the normal from shape i to shape j.
    """
    pair, points = Pair(shapes, hulls, i, j, link_x, link_R, pose_work), Points(touch_work, point_work)
    place_shape(shapes, i, link_x, link_R, 0, pose_work)
    place_shape(shapes, j, link_x, link_R, 1, pose_work)
    if is_rope(shapes, i, j):
        return rope_point(pair, margin, points)
    if shapes.kind[i] == PLANE or shapes.kind[j] == PLANE:
        s, n, size = over_plane(shapes, hulls, i, j, pose_work, core_work)
        return points_across(pair, n, s, size, margin, points), s, n
    r, size = put_cores(shapes, i, j, pose_work, core_work)
    n, s = best_of_kinks(shapes, hulls, i, j, pose_work, core_work)
    return points_from(pair, n, s - r, r, size, margin, points, core_work)


@kernel
def best_of_kinks(shapes, hulls, i, j, pose, core_work):
    """The highest s of two cores among the directions where two kinks of it meet, and that direction."""
    if shapes.kind[i] == MESH or shapes.kind[j] == MESH:
        return crossing_of_hulls(shapes, hulls, i, j, pose)
    return best_crossing(core_work)


@kernel
def points_from(pair, n, s, r, size, margin, points, core_work):
    """Do the same where n, s is the best of `best_of_kinks`: it may be the distance."""
    shapes, hulls, i, j = pair.shapes, pair.hulls, pair.i, pair.j
    if -FLUSH * size <= s <= margin:
        low = min(s, 3.0 * s) - FLUSH * size
        count = points_in_front(pair, Sought(n, low, margin, FLUSH * size), points)
        if least_gap(points.point_work, count) <= s + SAME * size:  # s is a lower bound, that gap is an upper one
            return spread(count, FLUSH * size, points.touch_work, points.point_work), s, n
    if shapes.kind[i] == MESH or shapes.kind[j] == MESH:
        s, n = distance_of_hulls(shapes, hulls, i, j, pair.pose, n, s + r)
    else:
        s, n = signed_distance(core_work, size)
    s -= r
    return points_across(pair, n, s, size, margin, points), s, n


@kernel
def points_across(pair, n, s, size, margin, points):
    """Find the points of two shapes whose distance is s, across n; returns how many there are."""
    if s > margin:
        return 0
    slack = FLUSH * size
    count = points_in_front(pair, Sought(n, min(s, 3.0 * s) - slack, margin, slack), points)
    if least_gap(points.point_work, count) > s + 0.5 * slack:
        count = nearest_pair(pair, n, s, size, count, points)
    return spread(count, slack, points.touch_work, points.point_work)


@python_kernel
def points_nearby(shapes, hulls, i, j, link_x, link_R, margin, touch_work, point_work, pose_work, core_work):
    """`touching_points` of shapes that are no further apart than `margin`; else no points, and a bound of the distance.

    Most are told apart along the line between their centres, or what of it leads out of both, or a direction where two
    kinks meet, which is then the normal; the distance itself costs ten times as much.
    """
    if shapes.kind[i] == PLANE or shapes.kind[j] == PLANE or is_rope(shapes, i, j):
        return touching_points(
            shapes, hulls, i, j, link_x, link_R, margin, touch_work, point_work, pose_work, core_work
        )  # fmt: skip
    place_shape(shapes, i, link_x, link_R, 0, pose_work)
    place_shape(shapes, j, link_x, link_R, 1, pose_work)
    r, size = put_cores(shapes, i, j, pose_work, core_work)
    n, s = across_centres(core_work)
    if s - r <= margin:
        n, s = across_segments(core_work)
    if s - r <= margin:
        other, height = best_of_kinks(shapes, hulls, i, j, pose_work, core_work)
        n, s = higher(n, s, other, height)
    if s - r > margin:
        return 0, s - r, n
    pair, points = Pair(shapes, hulls, i, j, link_x, link_R, pose_work), Points(touch_work, point_work)
    return points_from(pair, n, s - r, r, size, margin, points, core_work)


@kernel
def across_centres(core):
    """Direction from one centre to the other and s there: of a mesh, of a box that holds it."""
    return across_way(core, three(core, 0))


@kernel
def across_segments(core):
    """A direction that leads out of the segments of both shapes, and s there: from near points of one to the other's.

    That of two is taken of which the last is across what is long in a shape: first in b, then in a.
    """
    c = three(core, 0)
    of_a = out_of(core, 0, c)
    of_b = out_of(core, 1, of_a)
    n, s = across_way(core, of_b)
    other, height = across_way(core, out_of(core, 0, minus(c, minus(of_a, of_b))))
    return higher(n, s, other, height)


@kernel
def higher(n, s, other, height):
    """Return that of two directions of which s is higher, and s there; the second of two alike."""
    return (n, s) if s > height else (other, height)


@kernel
def across_way(core, c):
    """Direction of c, and s there."""
    if dot(c, c) == 0.0:
        return (0.0, 0.0, 0.0), -math.inf
    n = unit(c)
    return n, width_across(core, n, 0.0)


@kernel
def out_of(core, side, c):
    """What of c leads out of the segments of one shape, which are at right angles."""
    for k in range(1 + 3 * side, 4 + 3 * side):
        e = three(core, k)
        square = dot(e, e)
        if square > 0.0:
            c = beyond(c, -min(max(dot(c, e) / square, -1.0), 1.0), e)
    return c


@kernel
def points_within(shapes, hulls, i, j, link_x, link_R, margin, touch_work, point_work, pose_work, core_work):
    """Return how many points `points_nearby` finds."""
    return points_nearby(shapes, hulls, i, j, link_x, link_R, margin, touch_work, point_work, pose_work, core_work)[0]
