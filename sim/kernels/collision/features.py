"""One contact point: where two features touch, and how that moves with their links.

A pair of features stays the same during a smooth span, so gap, point, normal and tangents are smooth
functions of the two links' poses.  With m the normal from the first feature to the second, and y1, y2
the nearest points of their surfaces, y2 - y1 = gap m.  Which m that is depends on the first feature:

    FACE         m is its normal
    LINE, LINE   m is perpendicular to both
    LINE, else   m is perpendicular to the line, one angle is found
    else         both angles of m are found
    edge, rim    where m is near to the rim's axis: places along both edges are found, m is across both

A surface point of a ROUND or BALL is a function of the normal that it shows: it moves by v + H (m_dot - w x m),
H being the second derivative of the support function (radii of curvature).  Differentiating y2 - y1 = gap m
gives m_dot, without differences.
"""

from __future__ import annotations

import math

from sim.kernels.jit import kernel, python_kernel
from sim.kernels.shapes import BALL, FACE, LINE, ROUND
from sim.kernels.status import Status
from sim.kernels.vectors import (
    across,
    beyond,
    cross,
    dot,
    inward_axes,
    length,
    minus,
    outward_axes,
    plus,
    three,
    times,
    unit,
)

# Where the tangents have their pole: at n = -M.  An odd direction, so that no floor, wall or stack meets it; there the
# tangents turn infinitely fast.  M1 is chosen so that t1 = x where n = z.
M = (0.296174441, 0.171098723, 0.939684526)
_NORM = math.sqrt(M[0] ** 2 + M[1] ** 2 + M[2] ** 2)
M = (M[0] / _NORM, M[1] / _NORM, M[2] / _NORM)
_K = M[0] / (1.0 + M[2])
M1 = (1.0 - _K * M[0], -_K * M[1], -_K * (M[2] + 1.0))
# rad: longest step of an iteration, and the step after which the next one ends at roundoff (it converges quadratically)
STRIDE, LAST = 0.5, 1e-7
# Newton's iterations for a normal; from the normal of the step before it takes 2 to 4.
ITERATIONS = 60
# Sine of the angle from a rim's axis below which a normal tells badly where on the rim it is: at the axis, where a
# rim hands over to its cap, that place would jump to the other side.  NOWHERE: it does not tell at all.
FLAT, NOWHERE = 0.3, 1e-9
OK, NOT_SOLVED = int(Status.OK), int(Status.NOT_SOLVED)


@kernel
def tangents_of(n):
    """Return t1, t2 of a unit normal n: M1 and M x M1, turned the shortest way from M to n."""
    k = dot(n, M1) / max(1.0 + dot(n, M), 1e-30)
    t1 = unit(across((M1[0] - k * (M[0] + n[0]), M1[1] - k * (M[1] + n[1]), M1[2] - k * (M[2] + n[2])), n))
    return t1, cross(n, t1)


@kernel
def tangent_rates(n, n_dot, t1):
    """Return the derivatives of t1, t2 of a unit normal n that turns by n_dot; t1: as it is."""
    s = max(1.0 + dot(n, M), 1e-30)
    k = dot(n, M1) / s
    k_dot = (dot(n_dot, M1) - k * dot(n_dot, M)) / s
    t1_dot = times(-1.0, beyond(times(k_dot, plus(M, n)), k, n_dot))
    return t1_dot, plus(cross(n_dot, t1), cross(n, t1_dot))


@kernel
def bulge(a0, a1, a2, m):
    """Point of the ellipsoid with half axes a0, a1, a2 about the origin whose outward normal is m."""
    z0, z1, z2 = dot(a0, m), dot(a1, m), dot(a2, m)
    q = math.sqrt(z0 * z0 + z1 * z1 + z2 * z2)
    if q == 0.0:
        return 0.0, 0.0, 0.0
    return beyond(beyond(times(z0 / q, a0), z1 / q, a1), z2 / q, a2)


@kernel
def curve(a0, a1, a2, r, m, v):
    """Return H v: how that point moves, with a radius r about it, when the normal m moves by v (perpendicular to m)."""
    z0, z1, z2 = dot(a0, m), dot(a1, m), dot(a2, m)
    square = z0 * z0 + z1 * z1 + z2 * z2
    if square == 0.0:
        return times(r, v)
    u0, u1, u2 = dot(a0, v), dot(a1, v), dot(a2, v)
    k = (z0 * u0 + z1 * u1 + z2 * u2) / square
    q = math.sqrt(square)
    H = beyond(times((u0 - k * z0) / q, a0), (u1 - k * z1) / q, a1)
    return across(beyond(beyond(H, (u2 - k * z2) / q, a2), r, v), m)


@kernel
def feature_in_world(touches, k, side, x, R):
    """Return centre, direction and the three half axes of a feature, world axes."""
    link = touches.link[k, side]
    p, d, axes = touches.p, touches.d, touches.axes
    c = plus(three(x, link), outward_axes(R, link, (p[k, side, 0], p[k, side, 1], p[k, side, 2])))
    zero = (0.0, 0.0, 0.0)
    kind = touches.kind[k, side]
    if kind <= LINE:
        return c, outward_axes(R, link, (d[k, side, 0], d[k, side, 1], d[k, side, 2])), zero, zero, zero
    if kind == BALL:
        return c, zero, zero, zero, zero
    a0 = outward_axes(R, link, (axes[k, side, 0], axes[k, side, 1], axes[k, side, 2]))
    a1 = outward_axes(R, link, (axes[k, side, 3], axes[k, side, 4], axes[k, side, 5]))
    a2 = outward_axes(R, link, (axes[k, side, 6], axes[k, side, 7], axes[k, side, 8]))
    return c, zero, a0, a1, a2


@kernel
def line_normal(p, d, c, a0, a1, a2, start):
    """Unit normal from the line (p, d) to the ellipsoid at c, near `start`, and a status.

    Newton on the angle about d at which the nearest point has no part along t = d x m; its slope is
    -(m . (y - p) + t H t).
    """
    m = unit(across(start, d))
    status = NOT_SOLVED
    for _ in range(ITERATIONS):
        t = cross(d, m)
        w = minus(minus(c, bulge(a0, a1, a2, m)), p)
        bend = dot(t, curve(a0, a1, a2, 0.0, m, t)) + dot(m, w)
        miss = dot(t, w)
        step = math.copysign(STRIDE, miss)
        if abs(miss) < STRIDE * abs(bend):
            step = miss / abs(bend)
        m = unit(across(beyond(m, step, t), d))
        if status == OK:
            break
        if abs(step) < LAST:
            status = OK
    return m, status


@kernel
def newton_turn(m11, m12, m22, g1, g2):
    """Return the ascent step that Newton's method takes where a form is curved by -(m11, m12, m22).

    Where the form is not curved that way, enough is added to its curvature to make it so.
    """
    middle, half = 0.5 * (m11 + m22), 0.5 * (m11 - m22)
    radius = math.sqrt(half * half + m12 * m12)
    lowest, highest = middle - radius, abs(middle) + radius
    if lowest < 1e-15 * highest:
        shift = 1e-3 * highest - lowest
        m11, m22 = m11 + shift, m22 + shift
    whole = m11 * m22 - m12 * m12
    if whole <= 0.0:
        return 0.0, 0.0
    d1, d2 = (m22 * g1 - m12 * g2) / whole, (m11 * g2 - m12 * g1) / whole
    size = math.sqrt(d1 * d1 + d2 * d2)
    if size > STRIDE:
        return d1 * STRIDE / size, d2 * STRIDE / size
    return d1, d2


@kernel
def round_normal(c, a0, a1, a2, b0, b1, b2, start):
    """Unit normal from an ellipsoid (axes a) at the origin to one (axes b) at c, near `start`, and a status.

    Newton on the two angles of m: w = y2 - y1 has no part across m; the slope of that part is -(H1 + H2 + m . w).
    """
    m = start
    status = NOT_SOLVED
    for _ in range(ITERATIONS):
        t, u = tangents_of(m)
        w = minus(minus(c, bulge(b0, b1, b2, m)), bulge(a0, a1, a2, m))
        gap = dot(m, w)
        Ht = plus(curve(a0, a1, a2, 0.0, m, t), curve(b0, b1, b2, 0.0, m, t))
        Hu = plus(curve(a0, a1, a2, 0.0, m, u), curve(b0, b1, b2, 0.0, m, u))
        d1, d2 = newton_turn(dot(t, Ht) + gap, dot(t, Hu), dot(u, Hu) + gap, dot(t, w), dot(u, w))
        m = unit(beyond(beyond(m, d1, t), d2, u))
        if status == OK:
            break
        if abs(d1) + abs(d2) < LAST:
            status = OK
    return m, status


@kernel
def is_rim(a2):
    """Tell whether a ROUND is the rim of a cylinder, by its third half axis."""
    return dot(a2, a2) == 0.0


@kernel
def lies_flat(a0, a1, a2, m):
    """Tell whether a feature is a rim and m nearly its axis."""
    z0, z1, square = dot(a0, m), dot(a1, m), dot(a0, a0)
    out = z0 * z0 + z1 * z1
    return square > 0.0 and is_rim(a2) and out < FLAT**2 * square**2


@kernel
def place_on_rim(touches, k, side, R, a0, a1, a2, m):
    """Place on a rim, from its middle, where the point was last, or else where m tells; and whether that is known."""
    d, radius = (touches.d[k, side, 0], touches.d[k, side, 1], touches.d[k, side, 2]), length(a0)
    if touches.kind[k, side] != ROUND:
        return (0.0, 0.0, 0.0), True
    if dot(d, d) > 0.0:
        return times(radius, outward_axes(R, touches.link[k, side], d)), True
    rho = bulge(a0, a1, a2, m)
    return rho, math.hypot(dot(a0, m), dot(a1, m)) > NOWHERE * radius


@kernel
def are_edges(kind1, r, a0, a1, a2, b0, b1, b2, m):
    """Tell whether a pair of features is to be placed by `nearest_on_edges`: a ball, line or rim, and a rim."""
    if kind1 == FACE or not is_rim(b2) or (kind1 == BALL and r == 0.0) or (kind1 == ROUND and not is_rim(a2)):
        return False
    return lies_flat(b0, b1, b2, m) or (kind1 == ROUND and lies_flat(a0, a1, a2, m))


@kernel
def edge_at(kind, d, a0, a1, rho):
    """Tangent of an edge, and its place rho from the middle over the square of the radius; zero for a point."""
    if kind == ROUND:
        return unit(cross(cross(a0, a1), rho)), times(1.0 / dot(rho, rho), rho)
    return d, (0.0, 0.0, 0.0)


@kernel
def along_edges(t1, g1, t2, g2, w, f1, f2):
    """Ways along both edges by which w . t1 and w . t2 fall by f1 and f2; w: from the first edge to the second."""
    c, j1, j2 = dot(t1, t2), 1.0 + dot(w, g1), 1.0 - dot(w, g2)
    whole = c * c - j1 * j2
    if whole == 0.0:
        return 0.0, 0.0, NOT_SOLVED
    return (c * f2 - j2 * f1) / whole, (j1 * f2 - c * f1) / whole, OK


@kernel
def normal_of_edges(t1, t2, w, r, start):
    """Unit normal of two edges, across both; w tells it where one of them has a radius."""
    n = w if r > 0.0 else cross(t1, t2)
    return unit(n) if dot(n, start) >= 0.0 else times(-1.0, unit(n))


@kernel
def nearest_on_edges(kind1, c1, d1, a0, a1, rho1, c2, b0, b1, rho2, r, start):
    """Normal and nearest points of an edge at c1 and a rim at c2 near the normal `start`, and a status.

    Newton on the places along both: w has no part along either tangent.  rho1, rho2: places on rims, from their
    middles, where it starts.
    """
    r1, r2 = length(rho1), length(rho2)
    y1, y2 = plus(c1, rho1), plus(c2, rho2)
    if kind1 == LINE:
        y1 = beyond(c1, dot(d1, minus(y2, c1)), d1)
    status = NOT_SOLVED
    for _ in range(ITERATIONS):
        t1, g1 = edge_at(kind1, d1, a0, a1, rho1)
        t2, g2 = edge_at(ROUND, d1, b0, b1, rho2)
        w = minus(y2, y1)
        s1, s2, solved = along_edges(t1, g1, t2, g2, w, dot(w, t1), dot(w, t2))
        if solved != OK:
            return start, y1, y2, solved
        part = min(1.0, STRIDE * r2 / max(abs(s2), 1e-300))
        if kind1 == ROUND:
            part = min(part, STRIDE * r1 / max(abs(s1), 1e-300))
            rho1 = times(r1, unit(beyond(rho1, part * s1, t1)))
            y1 = plus(c1, rho1)
        else:
            y1 = beyond(y1, part * s1, t1)
        rho2 = times(r2, unit(beyond(rho2, part * s2, t2)))
        y2 = plus(c2, rho2)
        if status == OK:
            break
        if abs(s1) + abs(s2) < LAST * r2:
            status = OK
    t1, _ = edge_at(kind1, d1, a0, a1, rho1)
    t2, _ = edge_at(ROUND, d1, b0, b1, rho2)
    return normal_of_edges(t1, t2, minus(y2, y1), r, start), y1, y2, status


@kernel
def move_edges(edge1, edge2, motion1, motion2, gap, r1, r2, m):
    """Return status, m_dot, y1_dot, y2_dot of an edge and a rim.

    edge1, edge2: tangents and curvatures, as `edge_at` gives them; motion1, motion2: angular velocities of the links,
    and velocities of their material at y1 and y2, whose radii r1 and r2 are in them.
    """
    (t1, g1), (t2, g2), (w1, v1), (w2, v2) = edge1, edge2, motion1, motion2
    r = r1 + r2
    v1, v2, w = beyond(v1, -r1, cross(w1, m)), beyond(v2, r2, cross(w2, m)), times(gap + r, m)
    apart, turned1, turned2 = minus(v2, v1), cross(w1, t1), cross(w2, t2)
    s1, s2, status = along_edges(t1, g1, t2, g2, w, dot(apart, t1) + dot(w, turned1), dot(apart, t2) + dot(w, turned2))
    v1, v2 = beyond(v1, s1, t1), beyond(v2, s2, t2)
    if r > 0.0:
        m_dot = times(1.0 / (gap + r), across(minus(v2, v1), m))
    else:
        n = cross(t1, t2)
        rate = plus(cross(beyond(turned1, -s1, g1), t2), cross(t1, beyond(turned2, -s2, g2)))
        m_dot = times(math.copysign(1.0, dot(n, m)) / length(n), across(rate, m))
    return status, m_dot, beyond(v1, r1, m_dot), beyond(v2, -r2, m_dot)


@kernel
def place_touch(touches, k, x, R):
    """Return status, gap, m, y1, y2 of a point, with the feature of the lower kind first.

    x: (links, 3), R: (links, 9) poses of the links, p_WK and R_WK.
    """
    first = 0 if touches.kind[k, 0] <= touches.kind[k, 1] else 1
    second = 1 - first
    start = outward_axes(R, touches.link[k, 0], three(touches.n, k))
    if first == 1:
        start = times(-1.0, start)
    kind1, kind2 = touches.kind[k, first], touches.kind[k, second]
    r1, r2 = touches.r[k, first], touches.r[k, second]
    c1, d1, a0, a1, a2 = feature_in_world(touches, k, first, x, R)
    c2, d2, b0, b1, b2 = feature_in_world(touches, k, second, x, R)
    w = minus(c2, c1)
    status = OK
    y1, m = c1, d1
    on_edges = kind2 == ROUND and are_edges(kind1, r1 + r2, a0, a1, a2, b0, b1, b2, start)
    rho1, known1 = place_on_rim(touches, k, first, R, a0, a1, a2, start)
    rho2, known2 = place_on_rim(touches, k, second, R, b0, b1, b2, times(-1.0, start))
    on_edges = on_edges and known1 and known2
    if kind1 == LINE and kind2 == LINE:
        normal = cross(d1, d2)
        square = dot(normal, normal)
        if square == 0.0:
            return NOT_SOLVED, 0.0, start, c1, c2
        m = unit(normal) if dot(normal, start) >= 0.0 else times(-1.0, unit(normal))
        y1 = beyond(c1, dot(cross(w, d2), normal) / square, d1)
        y2 = beyond(c2, dot(cross(w, d1), normal) / square, d2)
    elif on_edges:
        m, y1, y2, status = nearest_on_edges(kind1, c1, d1, a0, a1, rho1, c2, b0, b1, rho2, r1 + r2, start)
    elif kind1 == LINE:
        if kind2 == ROUND:
            m, status = line_normal(c1, d1, c2, b0, b1, b2, start)
        else:
            m = unit(across(w, d1))
            m = m if dot(m, start) >= 0.0 else times(-1.0, m)
        y2 = minus(c2, bulge(b0, b1, b2, m))
        y1 = beyond(c1, dot(d1, minus(y2, c1)), d1)
    else:
        if kind2 == ROUND and kind1 != FACE:
            m, status = round_normal(w, a0, a1, a2, b0, b1, b2, start)
        elif kind1 != FACE:
            m = unit(w) if dot(w, start) >= 0.0 else times(-1.0, unit(w))
        y1 = plus(c1, bulge(a0, a1, a2, m))
        y2 = minus(c2, bulge(b0, b1, b2, m))
    if dot(m, m) == 0.0:  # two points, or a point and an edge, that meet
        status = NOT_SOLVED
    gap = dot(m, minus(y2, y1)) - r1 - r2
    y2 = beyond(y2, -r2, m)
    if kind1 == FACE:
        return status, gap, m, beyond(y2, -gap, m), y2
    return status, gap, m, beyond(y1, r1, m), y2


@kernel
def speed_at(V, x, link, y):
    """Velocity of the point y of a link, world axes."""
    return plus(
        (V[link, 3], V[link, 4], V[link, 5]), cross((V[link, 0], V[link, 1], V[link, 2]), minus(y, three(x, link)))
    )


@kernel
def move_touch(touches, k, x, R, V, gap, m, y1, y2):
    """Return status, gap_dot, m_dot, p_dot of a placed point."""
    first = 0 if touches.kind[k, 0] <= touches.kind[k, 1] else 1
    second = 1 - first
    kind1, kind2 = touches.kind[k, first], touches.kind[k, second]
    link1, link2 = touches.link[k, first], touches.link[k, second]
    r1, r2 = touches.r[k, first], touches.r[k, second]
    c1, d1, a0, a1, a2 = feature_in_world(touches, k, first, x, R)
    c2, d2, b0, b1, b2 = feature_in_world(touches, k, second, x, R)
    w1, w2 = (V[link1, 0], V[link1, 1], V[link1, 2]), (V[link2, 0], V[link2, 1], V[link2, 2])
    v1, v2 = speed_at(V, x, link1, y1), speed_at(V, x, link2, y2)
    turn1, turn2 = cross(w1, m), cross(w2, m)  # how m moves if it stays in one of the links
    apart = minus(v2, v1)
    gap_dot = dot(m, apart)
    if kind1 == LINE and kind2 == LINE:
        normal = cross(d1, d2)
        square = dot(normal, normal)
        rate = plus(cross(cross(w1, d1), d2), cross(d1, cross(w2, d2)))
        m_dot = times(math.copysign(1.0, dot(normal, m)) / math.sqrt(square), across(rate, m))
        left = minus(beyond(beyond(apart, -r2, minus(m_dot, turn2)), -r1, minus(m_dot, turn1)), times(gap, m_dot))
        slide = dot(cross(left, d2), normal) / square
        y1_dot = beyond(beyond(v1, slide, d1), r1, minus(m_dot, turn1))
        return OK, gap_dot, m_dot, beyond(beyond(y1_dot, 0.5 * gap_dot, m), 0.5 * gap, m_dot)
    if kind2 == ROUND and are_edges(kind1, r1 + r2, a0, a1, a2, b0, b1, b2, m):
        rho1, rho2 = minus(beyond(y1, -r1, m), c1), minus(beyond(y2, r2, m), c2)
        edge1, edge2 = edge_at(kind1, d1, a0, a1, rho1), edge_at(ROUND, d1, b0, b1, rho2)
        status, m_dot, y1_dot, y2_dot = move_edges(edge1, edge2, (w1, v1), (w2, v2), gap, r1, r2, m)
        return status, gap_dot, m_dot, times(0.5, plus(y1_dot, y2_dot))
    if kind1 == FACE:
        m_dot = turn1
    elif kind1 == LINE:
        t = cross(d1, m)
        along = dot(m, cross(d1, w1))
        pull = plus(beyond(apart, r1, turn1), curve(b0, b1, b2, r2, m, minus(turn2, times(along, d1))))
        bend = gap + r1 + dot(t, curve(b0, b1, b2, r2, m, t))
        if bend == 0.0:
            return NOT_SOLVED, gap_dot, m, m
        m_dot = beyond(times(along, d1), dot(t, pull) / bend, t)
    else:
        t, u = tangents_of(m)
        pull = plus(apart, plus(curve(a0, a1, a2, r1, m, turn1), curve(b0, b1, b2, r2, m, turn2)))
        Ht = plus(curve(a0, a1, a2, r1, m, t), curve(b0, b1, b2, r2, m, t))
        Hu = plus(curve(a0, a1, a2, r1, m, u), curve(b0, b1, b2, r2, m, u))
        m11, m12, m22 = dot(t, Ht) + gap, dot(t, Hu), dot(u, Hu) + gap
        g1, g2, whole = dot(t, pull), dot(u, pull), m11 * m22 - m12 * m12
        if whole == 0.0:
            return NOT_SOLVED, gap_dot, m, m
        m_dot = beyond(times((m22 * g1 - m12 * g2) / whole, t), (m11 * g2 - m12 * g1) / whole, u)
    y2_dot = minus(v2, curve(b0, b1, b2, r2, m, minus(m_dot, turn2)))
    return OK, gap_dot, m_dot, beyond(beyond(y2_dot, -0.5 * gap_dot, m), -0.5 * gap, m_dot)


@kernel
def put_touch(touches, k, gap, m, y1, y2, point_work):
    """Write gap, p and n of a placed point."""
    side = 1.0 if touches.kind[k, 0] <= touches.kind[k, 1] else -1.0
    gap_out, p, n = point_work.gap, point_work.p, point_work.n
    gap_out[k] = gap
    for i in range(3):
        p[k, i] = 0.5 * (y1[i] + y2[i])
        n[k, i] = side * m[i]


@python_kernel
def contact_points(touches, link_x, link_R, link_V, count, point_work):
    """Gap, point, normal, tangents and all their rates for the first `count` contact points.

    touches: (n,) TOUCH.  link_x, link_R, link_V: (links, 3), (links, 9), (links, 6) as in LINK_WORK.
    point_work: (n,) TOUCH_WORK.

    Returns OK, or NOT_SOLVED if a point has no normal that moves smoothly (lines that have become parallel, corners
    that meet, an iteration that fails); its row is left as it was.
    """
    worst = OK
    t1, t2, t1_dot, t2_dot = point_work.t1, point_work.t2, point_work.t1_dot, point_work.t2_dot
    p_dot, n_dot, gap_rate = point_work.p_dot, point_work.n_dot, point_work.gap_dot
    last = last_dot = first = other = first_dot = other_dot = times(0.0, three(link_x, 0))
    for k in range(count):
        low, high = min(touches.kind[k, 0], touches.kind[k, 1]), max(touches.kind[k, 0], touches.kind[k, 1])
        if low == FACE and high == BALL:
            status, gap, gap_dot, m, y1, y2, m_dot, moved = ball_on_face(touches, k, link_x, link_R, link_V)
        else:
            status, gap, m, y1, y2 = place_touch(touches, k, link_x, link_R)
            if status == OK:
                status, gap_dot, m_dot, moved = move_touch(touches, k, link_x, link_R, link_V, gap, m, y1, y2)
        if status != OK:
            worst = status
            continue
        put_touch(touches, k, gap, m, y1, y2, point_work)
        gap_rate[k] = gap_dot
        if touches.kind[k, 0] > touches.kind[k, 1]:
            m_dot = times(-1.0, m_dot)
        n = three(point_work.n, k)
        if n != last or m_dot != last_dot:  # many points of one ground have one normal
            first, other = tangents_of(n)
            first_dot, other_dot = tangent_rates(n, m_dot, first)
            last, last_dot = n, m_dot
        for i in range(3):
            p_dot[k, i], n_dot[k, i] = moved[i], m_dot[i]
            t1[k, i], t2[k, i] = first[i], other[i]
            t1_dot[k, i], t2_dot[k, i] = first_dot[i], other_dot[i]
    return worst


@kernel
def ball_on_face(touches, k, x, R, V):
    """Return status, gap, gap_dot, m, y1, y2, m_dot, p_dot of a BALL on a FACE: what both ways above say of them."""
    first = 0 if touches.kind[k, 0] == FACE else 1
    second = 1 - first
    link1, link2, r1, r2 = touches.link[k, first], touches.link[k, second], touches.r[k, first], touches.r[k, second]
    p, d = touches.p, touches.d
    c1 = plus(three(x, link1), outward_axes(R, link1, (p[k, first, 0], p[k, first, 1], p[k, first, 2])))
    c2 = plus(three(x, link2), outward_axes(R, link2, (p[k, second, 0], p[k, second, 1], p[k, second, 2])))
    m = outward_axes(R, link1, (d[k, first, 0], d[k, first, 1], d[k, first, 2]))
    gap = dot(m, minus(c2, c1)) - r1 - r2
    y2 = beyond(c2, -r2, m)
    y1 = beyond(y2, -gap, m)
    w1, w2 = (V[link1, 0], V[link1, 1], V[link1, 2]), (V[link2, 0], V[link2, 1], V[link2, 2])
    v1, v2 = speed_at(V, x, link1, y1), speed_at(V, x, link2, y2)
    m_dot, gap_dot = cross(w1, m), dot(m, minus(v2, v1))
    y2_dot = beyond(v2, -r2, minus(m_dot, cross(w2, m)))
    moved = beyond(beyond(y2_dot, -0.5 * gap_dot, m), -0.5 * gap, m_dot)
    return (OK if dot(m, m) > 0.0 else NOT_SOLVED), gap, gap_dot, m, y1, y2, m_dot, moved


@kernel
def keep_start(k, x, R, n, p, touch_work):
    """Let the iteration of row k start at the normal n and, on rims, at the point p."""
    n_K = inward_axes(R, touch_work.link[k, 0], n)
    n_out, d_out = touch_work.n, touch_work.d
    for i in range(3):
        n_out[k, i] = n_K[i]
    for side in range(2):
        if touch_work.kind[k, side] == ROUND:
            c, _, a0, a1, a2 = feature_in_world(touch_work, k, side, x, R)
            d = (0.0, 0.0, 0.0)
            if is_rim(a2):
                d = inward_axes(R, touch_work.link[k, side], unit(across(minus(p, c), unit(cross(a0, a1)))))
            for i in range(3):
                d_out[k, side, i] = d[i]


@python_kernel
def remember_starts(link_x, link_R, point_work, count, touch_work):
    """Keep normals, and places on rims, as the start of the next iteration, after an accepted step."""
    for k in range(count):
        keep_start(k, link_x, link_R, three(point_work.n, k), three(point_work.p, k), touch_work)
