"""The signed distance of two convex shapes, and the direction across which it is measured.

Every shape is the sum of up to three straight segments along its axes (box: 3; capsule, cylinder: 1), an
ellipsoid or disc, and a ball, all about its centre.  With c from the centre of a to that of b,

    s(n) = n . c - sum |e . n| - |A n| - |B n| - r

is the width of the gap between the two supporting planes across n, and the largest s(n) is the signed distance:
that of the nearest points where the shapes are apart, minus the smallest translation that parts them where
they overlap.  Any n gives a lower bound, so candidates are compared by s itself: the directions where two kinks
of s meet (the separating axes of polytopes), and those that climbing a smoothed s leads to, brought onto
the kinks that they lie near.
"""

from __future__ import annotations

import math

from sim.kernels.collision.features import newton_turn, tangents_of
from sim.kernels.jit import kernel
from sim.kernels.shapes import BOX, CAPSULE, CYLINDER, ELLIPSOID, MESH, ROPE, SPHERE
from sim.kernels.spatial import multiply
from sim.kernels.vectors import across, beyond, cross, dot, length, outward_axes, plus, three, times, unit

# Widths that the kinks of s are rounded by, one after the other, of each segment's length.
FIRST_WIDTH, LAST_WIDTH, NARROWER = 0.3, 1e-9, 0.1
CLIMB = 40  # steps for each width
NEAR_KINK = 1e-3  # sine of the angle to a kink below which a direction on it is tried, too
# A unit direction without a reason: where two shapes lie along each other the line of centres is a saddle of s.
ODD = (0.48, 0.6, 0.64)
DEEP = 0.02  # of the shapes' size: overlap below which the nearest of several ways out is looked for


@kernel
def place_shape(shapes, i, x, R, side, pose_work):
    """Write centre (3) and axes (9) of a shape, world axes, into pose_work[side]."""
    link, S = shapes.link[i], shapes.R_KS
    c = plus(three(x, link), outward_axes(R, link, three(shapes.p_KS, i)))
    A = multiply(
        (
            R[link, 0], R[link, 1], R[link, 2], R[link, 3], R[link, 4], R[link, 5], R[link, 6], R[link, 7], R[link, 8],
        ),
        (S[i, 0], S[i, 1], S[i, 2], S[i, 3], S[i, 4], S[i, 5], S[i, 6], S[i, 7], S[i, 8]),
    )  # fmt: skip
    for k in range(3):
        pose_work[side, k] = c[k]
    for k in range(9):
        pose_work[side, 3 + k] = A[k]


@kernel
def axis_of(pose, side, k):
    """Axis k of a shape, world axes."""
    return pose[side, 3 + k], pose[side, 6 + k], pose[side, 9 + k]


@kernel
def in_shape(pose, side, a):
    """Components of a world vector along a shape's axes."""
    return dot(axis_of(pose, side, 0), a), dot(axis_of(pose, side, 1), a), dot(axis_of(pose, side, 2), a)


@kernel
def halves_of(shapes, i):
    """Half lengths of a shape's segments along its three axes [m]; of a mesh those of a box that holds it."""
    kind, size = shapes.kind[i], three(shapes.dimensions, i)
    if kind == BOX or kind == MESH:
        return 0.5 * size[0], 0.5 * size[1], 0.5 * size[2]
    if kind == CAPSULE or kind == CYLINDER:
        return 0.0, 0.0, 0.5 * size[2]
    return 0.0, 0.0, 0.0


@kernel
def half_axes_of(shapes, i):
    """Half axes of a shape's ellipsoid or disc [m]."""
    kind, size = shapes.kind[i], three(shapes.dimensions, i)
    if kind == ELLIPSOID:
        return size
    if kind == CYLINDER:
        return size[0], size[0], 0.0
    return 0.0, 0.0, 0.0


@kernel
def ball_of(shapes, i):
    """Radius of a shape's ball [m]."""
    kind = shapes.kind[i]
    return shapes.dimensions[i, 0] if kind == SPHERE or kind == CAPSULE or kind == ROPE else 0.0


@kernel
def is_rope(shapes, i, j):
    """Tell whether two shapes are a rope, which comes first, and its end, which is to stay inside of it."""
    return shapes.kind[i] == ROPE


@kernel
def rope_length(shapes, i, j):
    """Length of the rope [m], which one of two shapes is; the other has no size."""
    return ball_of(shapes, i) + ball_of(shapes, j)


@kernel
def put_cores(shapes, i, j, pose, core_work):
    """Write both shapes without their balls into core_work; return the balls' radii together, and the size of all.

    core_work: (13, 3) m, world axes: c; three half segments of a, of b; three half axes of a, of b.
    """
    r, size = 0.0, 0.0
    for n in range(3):
        core_work[0, n] = pose[1, n] - pose[0, n]
    for side in range(2):
        shape = i if side == 0 else j
        h, a = halves_of(shapes, shape), half_axes_of(shapes, shape)
        r += ball_of(shapes, shape)
        size += ball_of(shapes, shape) + max(h[0], h[1], h[2]) + max(a[0], a[1], a[2])
        for k in range(3):
            half = h[0] if k == 0 else (h[1] if k == 1 else h[2])
            reach = a[0] if k == 0 else (a[1] if k == 1 else a[2])
            e = axis_of(pose, side, k)
            for n in range(3):
                core_work[1 + 3 * side + k, n] = half * e[n]
                core_work[7 + 3 * side + k, n] = reach * e[n]
    return r, size


@kernel
def stretch(core, side, n):
    """Components of n along the half axes of one shape [m]."""
    first = 7 + 3 * side
    return dot(three(core, first), n), dot(three(core, first + 1), n), dot(three(core, first + 2), n)


@kernel
def width_across(core, n, rounding):
    """Return s(n) without balls; segments and discs are thickened by `rounding` of their size."""
    s = dot(three(core, 0), n)
    square = rounding * rounding
    for k in range(1, 7):
        e = three(core, k)
        z = dot(e, n)
        s -= abs(z) if rounding == 0.0 else math.sqrt(z * z + square * dot(e, e))
    for side in range(2):
        a = three(core, 7 + 3 * side)
        z = stretch(core, side, n)
        s -= math.sqrt(dot(z, z) + square * dot(a, a))
    return s


@kernel
def survey(core, n, t, u, rounding):
    """Slope of s along the tangents t and u of the sphere at n, and its curvature there with the sign changed."""
    c = three(core, 0)
    s = dot(c, n)
    g1, g2, m11, m12, m22 = dot(c, t), dot(c, u), 0.0, 0.0, 0.0
    square = rounding * rounding
    for k in range(1, 7):
        e = three(core, k)
        z, z1, z2, thick = dot(e, n), dot(e, t), dot(e, u), square * dot(e, e)
        q = math.sqrt(z * z + thick)
        if q == 0.0:
            continue
        s -= q
        g1, g2 = g1 - z * z1 / q, g2 - z * z2 / q
        w = thick / (q * q * q) if thick > 0.0 else 0.0  # where q is all but zero its cube is
        m11, m12, m22 = m11 + w * z1 * z1 + thick / q, m12 + w * z1 * z2, m22 + w * z2 * z2 + thick / q
    for side in range(2):
        a = three(core, 7 + 3 * side)
        z, z1, z2, thick = stretch(core, side, n), stretch(core, side, t), stretch(core, side, u), square * dot(a, a)
        q2 = dot(z, z) + thick
        if q2 == 0.0:
            continue
        q = math.sqrt(q2)
        s -= q
        p1, p2 = dot(z, z1), dot(z, z2)
        g1, g2 = g1 - p1 / q, g2 - p2 / q
        # parts of z1 and z2 across z, so that nothing cancels where the ellipsoid is thin
        f = 1.0 / dot(z, z) if thick == 0.0 else 0.0
        v1, v2 = beyond(z1, -p1 * f, z), beyond(z2, -p2 * f, z)
        m11 += (dot(v1, v1) + thick) / q - (0.0 if thick == 0.0 else p1 * p1 / (q * q2))
        m12 += dot(v1, v2) / q - (0.0 if thick == 0.0 else p1 * p2 / (q * q2))
        m22 += (dot(v2, v2) + thick) / q - (0.0 if thick == 0.0 else p2 * p2 / (q * q2))
    return g1, g2, m11 + s, m12, m22 + s


@kernel
def ascend(core, n, rounding):
    """Climb the rounded s from n by damped Newton steps on the sphere; return where it is highest nearby."""
    value = width_across(core, n, rounding)
    for _ in range(CLIMB):
        t, u = tangents_of(n)
        g1, g2, m11, m12, m22 = survey(core, n, t, u, rounding)
        d1, d2 = newton_turn(m11, m12, m22, g1, g2)
        k, better = 1.0, False
        for _ in range(30):
            tried = unit(beyond(beyond(n, k * d1, t), k * d2, u))
            height = width_across(core, tried, rounding)
            if height >= value:
                better = True
                break
            k *= 0.5
        if not better:
            return n
        n, gained, value = tried, height - value, height
        if abs(d1) + abs(d2) < 0.1 * rounding + 1e-9 or (gained == 0.0 and k < 1.0):
            return n
    return n


@kernel
def slope_on_circle(core, n, d, angle):
    """n turned by an angle about d, the slope of s by the angle there, and its curvature with the sign changed."""
    t = cross(d, n)
    turned = unit(across(beyond(times(math.cos(angle), n), math.sin(angle), t), d))
    g, _, m, _, _ = survey(core, turned, cross(d, turned), d, 0.0)
    return turned, g, m


@kernel
def ascend_on_kink(core, n, d):
    """Climb s among the directions perpendicular to d, from near n: Newton on the angle, bisection where it leaves.

    s may have a kink here, too, or one rounded at a scale that is not known before.
    """
    n = unit(across(n, d))
    _, g, _ = slope_on_circle(core, n, d, 0.0)
    low, high = 0.0, 0.0
    reach = math.copysign(1e-8, g)
    while abs(reach) < 1.0:  # until the slope changes its sign
        _, slope, _ = slope_on_circle(core, n, d, reach)
        if slope * g <= 0.0:
            break
        low = reach
        reach *= 8.0
    high = reach
    angle = 0.5 * (low + high)
    best, height = n, width_across(core, n, 0.0)
    for _ in range(70):
        turned, slope, m = slope_on_circle(core, n, d, angle)
        value = width_across(core, turned, 0.0)
        if value >= height:
            best, height = turned, value
        if slope * g > 0.0:
            low = angle
        else:
            high = angle
        before = angle
        angle = 0.5 * (low + high)
        if m > 0.0:
            newton = before + slope / m
            if min(low, high) < newton < max(low, high):
                angle = newton
        if abs(angle - before) < 1e-17 or slope == 0.0:
            break
    return best, height


@kernel
def facing(core, n):
    """Return n or -n, whichever leads from a to b."""
    return n if dot(three(core, 0), n) >= 0.0 else times(-1.0, n)


@kernel
def crossing(core, i, j):
    """Unit direction across segments i and j (7, 8: a disc of a; 10, 11: of b); zero where there is none."""
    e, f = three(core, i), three(core, j)
    n = cross(e, f)
    if dot(n, n) <= 1e-18 * dot(e, e) * dot(f, f):
        return 0.0, 0.0, 0.0
    return facing(core, unit(n))


@kernel
def is_disc(core, side):
    """Tell whether a shape has a disc in it: two half axes, and none across them."""
    a, b = three(core, 7 + 3 * side), three(core, 9 + 3 * side)
    return dot(a, a) > 0.0 and dot(b, b) == 0.0


@kernel
def best_crossing(core):
    """The highest s among directions where two kinks meet, and that direction."""
    best, height = (0.0, 0.0, 0.0), -math.inf
    for i in range(1, 6):
        for j in range(i + 1, 7):
            n = crossing(core, i, j)
            if dot(n, n) > 0.0:
                value = width_across(core, n, 0.0)
                if value > height:
                    best, height = n, value
    for side in range(2):
        if is_disc(core, side):
            n = crossing(core, 7 + 3 * side, 8 + 3 * side)
            value = width_across(core, n, 0.0)
            if value > height:
                best, height = n, value
    return best, height


@kernel
def has_kinks(core):
    """Tell whether there are segments or discs."""
    for k in range(1, 7):
        if dot(three(core, k), three(core, k)) > 0.0:
            return True
    return is_disc(core, 0) or is_disc(core, 1)


@kernel
def climb_from(core, n, best, height):
    """Climb from n through ever sharper kinks; return the better of what is found and `best`."""
    rounding = FIRST_WIDTH if has_kinks(core) else 0.0
    while rounding > LAST_WIDTH:
        n = ascend(core, n, rounding)
        rounding *= NARROWER
    for k in range(1, 7):
        e = three(core, k)
        size = length(e)
        if abs(dot(e, n)) < NEAR_KINK * size:
            on_kink, value = ascend_on_kink(core, n, times(1.0 / size, e))
            if value > height:
                best, height = on_kink, value
    n = ascend(core, n, 0.0)
    value = width_across(core, n, 0.0)
    if value > height:
        best, height = n, value
    return best, height


@kernel
def is_solid(core, side):
    """Tell whether a shape is a box (its segments span space)."""
    last = three(core, 3 + 3 * side)
    return dot(three(core, 1 + 3 * side), three(core, 1 + 3 * side)) > 0.0 and dot(last, last) > 0.0


@kernel
def is_polytope(core, side):
    """Tell whether a shape has no ellipsoid and no disc."""
    a = three(core, 7 + 3 * side)
    return dot(a, a) == 0.0


@kernel
def signed_distance(core, size):
    """Highest s of two cores, and its direction, from a to b."""
    best, height = best_crossing(core)
    flat = is_polytope(core, 0) and is_polytope(core, 1)
    if flat and height <= 0.0 and (is_solid(core, 0) or is_solid(core, 1)):
        return height, best  # the separating axes of polytopes, one of them solid, are complete where they overlap
    c = three(core, 0)
    start = unit(c) if dot(c, c) > 0.0 else ODD
    if height == -math.inf:
        best, height = start, width_across(core, start, 0.0)
    crossed = best
    best, height = climb_from(core, start, best, height)
    if height <= 0.0:  # otherwise s has one peak
        best, height = climb_from(core, crossed, best, height)
        best, height = climb_from(core, unit(beyond(start, 0.3, ODD)), best, height)
    if height < -DEEP * size and not flat:
        best, height = nearest_way_out(core, best, height)
    return height, best


@kernel
def nearest_way_out(core, best, height):
    """Climb from every axis of both shapes and across each two of them; s has several peaks where overlap is deep."""
    for i in range(1, 13):
        n = three(core, i)
        if dot(n, n) > 0.0:
            best, height = climb_from(core, facing(core, unit(n)), best, height)
    for i in range(1, 13):
        for j in range(i + 1, 13):
            n = crossing(core, i, j)
            if dot(n, n) > 0.0:
                best, height = climb_from(core, n, best, height)
    return best, height
