"""Features of a shape: which of them are in front, or support it along a direction, and how they are written down."""

from __future__ import annotations

import math

from sim.kernels.collision.hulls import beyond_faces, farthest_corner, front_face, out_of_shape
from sim.kernels.collision.separation import axis_of, ball_of, half_axes_of, halves_of, in_shape
from sim.kernels.jit import kernel
from sim.kernels.shapes import BALL, BOX, CAPSULE, CYLINDER, FACE, LINE, MESH, PLANE, ROUND
from sim.kernels.vectors import beyond, cross, dot, length, minus, outward_axes, plus, three, times

# Of the shapes' size: how far beyond a feature's end its contact point may lie, and what counts as one point.
# Smaller: corners of boxes that are stacked flush get lost in roundoff.  Larger: points in the air.
FLUSH = 1e-9
# Cosine of the largest angle between a point's normal and the pair's.
ALIGNED = 0.5
# Components of a normal below which a feature extends along that axis.
STRAIGHT = 1e-9
# Keys of features: below 27 by the signs along three axes (0: it extends that way); caps; points of rims (4 fixed,
# then crossings), points of lines, and a plane or point chosen where features meet that have no normal together.
# Of meshes: the features one after the other, then points of their edges.
CAP, ON_RIM, ON_LINE, CHOSEN, OF_MESH = 27, 29, 64, 128, 256


# Features of a shape, put into one side of a row.


@kernel
def put_vector(side, k, a, array_out):
    """Write a vector into array_out[k, side]."""
    array_out[k, side, 0], array_out[k, side, 1], array_out[k, side, 2] = a


@kernel
def put_kind(shapes, i, kind, key, r, k, side, touch_work):
    """Write which feature it is, of which link."""
    touch_work.link[k, side], touch_work.kind[k, side], touch_work.key[k, side] = shapes.link[i], kind, key
    touch_work.r[k, side] = r


@kernel
def put_feature(shapes, hulls, i, signs, k, side, touch_work):
    """Write a corner, edge or face of a shape: `signs` tells where along its segments, 0: it extends along them.

    Of a mesh: the row of its table.
    """
    if shapes.kind[i] == MESH:
        put_mesh_feature(shapes, hulls, i, signs[0], k, side, touch_work)
        return
    h = halves_of(shapes, i)
    at = (signs[0] * h[0], signs[1] * h[1], signs[2] * h[2])
    put_vector(side, k, plus(three(shapes.p_KS, i), outward_axes(shapes.R_KS, i, at)), touch_work.p)
    free = (1 if signs[0] == 0 else 0) + (1 if signs[1] == 0 else 0) + (1 if signs[2] == 0 else 0)
    # An axis along which the shape has no length has no sides either: rolling over one changes no key.
    s0, s1, s2 = (signs[0] if h[0] > 0.0 else 1), (signs[1] if h[1] > 0.0 else 1), (signs[2] if h[2] > 0.0 else 1)
    key = int(s0 + 1 + 3 * (s1 + 1) + 9 * (s2 + 1))
    a, r = half_axes_of(shapes, i), ball_of(shapes, i)
    R = shapes.R_KS
    if free == 0:
        put_kind(shapes, i, ROUND if a[0] > 0.0 else BALL, key, r, k, side, touch_work)
        put_vector(side, k, (0.0, 0.0, 0.0), touch_work.d)
        for n in range(3):
            for m in range(3):
                touch_work.axes[k, side, 3 * n + m] = R[i, 3 * m + n] * a[n]
    elif free == 1:
        put_kind(shapes, i, LINE, key, r + a[0], k, side, touch_work)
        n = 0 if signs[0] == 0 else (1 if signs[1] == 0 else 2)
        put_vector(side, k, (R[i, n], R[i, 3 + n], R[i, 6 + n]), touch_work.d)
    else:
        put_kind(shapes, i, FACE, key, 0.0, k, side, touch_work)
        n = 0 if signs[0] != 0 else (1 if signs[1] != 0 else 2)
        s = signs[0] + signs[1] + signs[2]
        put_vector(side, k, (s * R[i, n], s * R[i, 3 + n], s * R[i, 6 + n]), touch_work.d)


@kernel
def put_mesh_feature(shapes, hulls, i, row, k, side, touch_work):
    """Write a corner, edge or face of a mesh."""
    put_kind(shapes, i, hulls.kind[row], OF_MESH + row - shapes.first[i], 0.0, k, side, touch_work)
    put_vector(side, k, plus(three(shapes.p_KS, i), outward_axes(shapes.R_KS, i, three(hulls.p, row))), touch_work.p)
    put_vector(side, k, outward_axes(shapes.R_KS, i, three(hulls.d, row)), touch_work.d)


@kernel
def put_cap(shapes, i, s, k, side, touch_work):
    """Write the flat end of a cylinder on the side s of its axis, or the face of a plane."""
    h, R = halves_of(shapes, i), shapes.R_KS
    put_kind(shapes, i, FACE, CAP + (1 if s > 0 else 0), 0.0, k, side, touch_work)
    at = plus(three(shapes.p_KS, i), outward_axes(R, i, (0.0, 0.0, s * h[2])))
    put_vector(side, k, at, touch_work.p)
    put_vector(side, k, (s * R[i, 2], s * R[i, 5], s * R[i, 8]), touch_work.d)


@kernel
def put_point(shapes, i, at, r, key, k, side, touch_work):
    """Write a ball of radius r fixed at a place of the shape, given in the shape's axes from its centre."""
    put_kind(shapes, i, BALL, key, r, k, side, touch_work)
    put_vector(side, k, plus(three(shapes.p_KS, i), outward_axes(shapes.R_KS, i, at)), touch_work.p)


@kernel
def put_rim_point(shapes, i, s, angle, key, k, side, touch_work):
    """Write the point at an angle of the rim on the side s of a cylinder."""
    radius, h = shapes.dimensions[i, 0], halves_of(shapes, i)
    at = (radius * math.cos(angle), radius * math.sin(angle), s * h[2])
    put_point(shapes, i, at, 0.0, key, k, side, touch_work)


# What of a shape is in front, seen along n.


@kernel
def signs_at(f, s, g_sign, h_sign):
    """Signs along the three axes: s on axis f, then the other two in cyclic order."""
    if f == 0:
        return s, g_sign, h_sign
    if f == 1:
        return h_sign, s, g_sign
    return g_sign, h_sign, s


@kernel
def front_of(shapes, hulls, i, pose, side, n):
    """Axis and sign of the side of a shape that looks along n most, and the cosine of the angle; of a mesh its row."""
    v = in_shape(pose, side, n)
    if shapes.kind[i] == MESH:
        row = front_face(shapes, hulls, i, v)
        return row, 1, dot(three(hulls.d, row), v)
    f = 2
    if shapes.kind[i] == BOX:
        f = 0 if abs(v[0]) >= max(abs(v[1]), abs(v[2])) else (1 if abs(v[1]) >= abs(v[2]) else 2)
    along = v[0] if f == 0 else (v[1] if f == 1 else v[2])
    return f, (1 if along >= 0.0 else -1), abs(along)


@kernel
def normal_of(shapes, hulls, pose, i, side, f, s):
    """Outward normal of the side that `front_of` tells, world axes; of a sphere or capsule, which have none, its z."""
    if shapes.kind[i] == MESH:
        return out_of_shape(pose, side, three(hulls.d, f))
    return times(s, axis_of(pose, side, f))


@kernel
def floor_of(shapes, hulls, i, v, reach):
    """How far along v, shape axes, a feature of a mesh stands at least that may touch within reach [m]."""
    if shapes.kind[i] != MESH:
        return 0.0
    return max(dot(v, three(hulls.p, farthest_corner(shapes, hulls, i, v))) - reach, 0.0)


@kernel
def is_front(shapes, hulls, i, v, floor, signs):
    """Tell whether a corner or edge of a mesh reaches that floor; other shapes list those in front alone."""
    if shapes.kind[i] != MESH:
        return True
    row = signs[0]
    return dot(v, three(hulls.p, row)) + hulls.half[row] * abs(dot(v, three(hulls.d, row))) >= floor


@kernel
def corners(shapes, i, cosine):
    """How many corners (points with what is round about them) the front has; of a mesh all."""
    kind = shapes.kind[i]
    if kind == MESH:
        return shapes.corners[i]
    if kind == PLANE:
        return 0
    if kind == BOX:
        return 4
    if kind == CAPSULE:
        return 2
    if kind == CYLINDER:
        return 1 if cosine > ALIGNED else 2
    return 1


@kernel
def corner(shapes, i, f, s, which):
    """Signs of a corner of the front."""
    if shapes.kind[i] == MESH:
        return shapes.first[i] + which, 0, 0
    if shapes.kind[i] == BOX:
        return signs_at(f, s, 1 if which % 2 == 0 else -1, 1 if which < 2 else -1)
    return 1, 1, (s if which == 0 else -s)


@kernel
def edges(shapes, i):
    """How many edges the front has; of a mesh all."""
    kind = shapes.kind[i]
    if kind == MESH:
        return shapes.edges[i]
    if kind == BOX:
        return 4
    return 1 if kind == CAPSULE or kind == CYLINDER else 0


@kernel
def edge(shapes, i, f, s, which):
    """Signs of an edge of the front."""
    if shapes.kind[i] == MESH:
        return shapes.first[i] + shapes.corners[i] + which, 0, 0
    if shapes.kind[i] != BOX:
        return 1, 1, 0
    other = 1 if which % 2 == 0 else -1
    return signs_at(f, s, 0, other) if which < 2 else signs_at(f, s, other, 0)


@kernel
def place_of(shapes, hulls, i, pose, side, signs):
    """Centre of a corner, edge or face of a shape, world axes."""
    h, place = halves_of(shapes, i), three(pose, side)
    if shapes.kind[i] == MESH:
        return plus(place, out_of_shape(pose, side, three(hulls.p, signs[0])))
    for k in range(3):
        sign = signs[0] if k == 0 else (signs[1] if k == 1 else signs[2])
        place = beyond(place, sign * (h[0] if k == 0 else (h[1] if k == 1 else h[2])), axis_of(pose, side, k))
    return place


@kernel
def along_edge(shapes, hulls, i, pose, side, signs):
    """Direction of an edge, world axes, and half its length [m]."""
    if shapes.kind[i] == MESH:
        return out_of_shape(pose, side, three(hulls.d, signs[0])), hulls.half[signs[0]]
    h, k = halves_of(shapes, i), 0 if signs[0] == 0 else (1 if signs[1] == 0 else 2)
    return axis_of(pose, side, k), (h[0] if k == 0 else (h[1] if k == 1 else h[2]))


@kernel
def has_face(shapes, i, cosine):
    """Tell whether the front is a face."""
    kind = shapes.kind[i]
    return kind == BOX or kind == PLANE or ((kind == CYLINDER or kind == MESH) and cosine > ALIGNED)


@kernel
def put_face(shapes, hulls, i, f, s, k, side, touch_work):
    """Write the face of the front."""
    if shapes.kind[i] == MESH:
        put_mesh_feature(shapes, hulls, i, f, k, side, touch_work)
    elif shapes.kind[i] == BOX:
        put_feature(shapes, hulls, i, signs_at(f, s, 0, 0), k, side, touch_work)
    else:
        put_cap(shapes, i, 1 if shapes.kind[i] == PLANE else s, k, side, touch_work)


@kernel
def lies_on(shapes, hulls, i, pose, side, kind, y, slack):
    """Tell whether the point y of a feature lies within the feature's ends."""
    shape = shapes.kind[i]
    if kind >= BALL or shape == PLANE:
        return True
    h = halves_of(shapes, i)
    v = in_shape(pose, side, minus(y, three(pose, side)))
    if shape == MESH:
        return beyond_faces(shapes, hulls, i, v) <= slack
    if shape == BOX:
        return abs(v[0]) <= h[0] + slack and abs(v[1]) <= h[1] + slack and abs(v[2]) <= h[2] + slack
    if kind == LINE:
        return abs(v[2]) <= h[2] + slack
    return math.sqrt(v[0] * v[0] + v[1] * v[1]) <= half_axes_of(shapes, i)[0] + slack


# What supports a shape along n.


@kernel
def nearest_signs(shapes, i, pose, side, n):
    """Signs of the feature of a shape whose points support it along n."""
    v, h = in_shape(pose, side, n), halves_of(shapes, i)
    return (
        1 if h[0] == 0.0 else (0 if abs(v[0]) <= STRAIGHT else (1 if v[0] > 0.0 else -1)),
        1 if h[1] == 0.0 else (0 if abs(v[1]) <= STRAIGHT else (1 if v[1] > 0.0 else -1)),
        1 if h[2] == 0.0 else (0 if abs(v[2]) <= STRAIGHT else (1 if v[2] > 0.0 else -1)),
    )


@kernel
def supporting(shapes, hulls, i, v):
    """Row of the feature of a mesh whose points support it along v, shape axes."""
    face = front_face(shapes, hulls, i, v)
    if length(cross(three(hulls.d, face), v)) <= STRAIGHT:
        return face
    row = farthest_corner(shapes, hulls, i, v)
    top, first = dot(three(hulls.p, row), v), shapes.first[i] + shapes.corners[i]
    for edge_row in range(first, first + shapes.edges[i]):
        along, half = dot(three(hulls.d, edge_row), v), hulls.half[edge_row]
        if abs(along) <= STRAIGHT and dot(three(hulls.p, edge_row), v) >= top - 2.0 * STRAIGHT * half:
            return edge_row
    return row


@kernel
def supported_of_mesh(shapes, hulls, i, pose, side, v, toward):
    """Point of that feature that is nearest to the place `toward`, or a corner of its face; shape's axes, m."""
    row = supporting(shapes, hulls, i, v)
    p, d = three(hulls.p, row), three(hulls.d, row)
    q = in_shape(pose, side, minus(toward, three(pose, side)))
    if hulls.kind[row] == BALL:
        return p
    if hulls.kind[row] == LINE:
        return beyond(p, min(max(dot(minus(q, p), d), -hulls.half[row]), hulls.half[row]), d)
    q = beyond(q, -dot(minus(q, p), d), d)
    if beyond_faces(shapes, hulls, i, q) <= FLUSH * length(p):
        return q
    nearest, at = math.inf, p
    top = dot(p, d)
    for corner_row in range(shapes.first[i], shapes.first[i] + shapes.corners[i]):
        z = three(hulls.p, corner_row)
        if dot(z, d) >= top - FLUSH * length(z) and length(minus(z, q)) < nearest:
            nearest, at = length(minus(z, q)), z
    return at


@kernel
def supported(shapes, hulls, i, pose, side, n, toward):
    """Point of the supporting feature of a shape along n that is nearest to the place `toward`; shape's axes, m."""
    v, h, a = in_shape(pose, side, n), halves_of(shapes, i), half_axes_of(shapes, i)
    if shapes.kind[i] == MESH:
        return supported_of_mesh(shapes, hulls, i, pose, side, v, toward)
    signs = nearest_signs(shapes, i, pose, side, n)
    q = in_shape(pose, side, minus(toward, three(pose, side)))
    z = (a[0] * v[0], a[1] * v[1], a[2] * v[2])
    k = length(z)
    if k > STRAIGHT * a[0]:
        z = (a[0] * z[0] / k, a[1] * z[1] / k, a[2] * z[2] / k)
    else:  # anywhere on a disc
        out = math.hypot(q[0], q[1])
        k = 1.0 if out <= a[0] else a[0] / out
        z = (k * q[0] if a[0] > 0.0 else 0.0, k * q[1] if a[0] > 0.0 else 0.0, 0.0)
    r = ball_of(shapes, i)
    return (
        z[0] + r * v[0] + (signs[0] * h[0] if signs[0] != 0 else min(max(q[0], -h[0]), h[0])),
        z[1] + r * v[1] + (signs[1] * h[1] if signs[1] != 0 else min(max(q[1], -h[1]), h[1])),
        z[2] + r * v[2] + (signs[2] * h[2] if signs[2] != 0 else min(max(q[2], -h[2]), h[2])),
    )


@kernel
def put_nearest(shapes, hulls, i, pose, side, n, k, touch_work):
    """Write the feature of a shape that supports it along n."""
    v = in_shape(pose, side, n)
    if shapes.kind[i] == MESH:
        put_mesh_feature(shapes, hulls, i, supporting(shapes, hulls, i, v), k, side, touch_work)
    elif shapes.kind[i] == CYLINDER and math.sqrt(v[0] * v[0] + v[1] * v[1]) <= STRAIGHT:
        put_cap(shapes, i, 1 if v[2] > 0.0 else -1, k, side, touch_work)
    else:
        put_feature(shapes, hulls, i, nearest_signs(shapes, i, pose, side, n), k, side, touch_work)


@kernel
def choose_plane(shapes, hulls, i, j, pose, n, k, touch_work):
    """Write the plane across n that supports a, fixed on a, and a point that it meets on b."""
    on_b = supported(shapes, hulls, j, pose, 1, times(-1.0, n), three(pose, 0))
    world = three(pose, 1)
    for m in range(3):
        world = beyond(world, on_b[m], axis_of(pose, 1, m))
    on_a = supported(shapes, hulls, i, pose, 0, n, world)
    put_point(shapes, i, on_a, 0.0, CHOSEN, k, 0, touch_work)
    put_vector(0, k, outward_axes(shapes.R_KS, i, in_shape(pose, 0, n)), touch_work.d)
    put_kind(shapes, i, FACE, CHOSEN, 0.0, k, 0, touch_work)
    put_point(shapes, j, on_b, 0.0, CHOSEN, k, 1, touch_work)
