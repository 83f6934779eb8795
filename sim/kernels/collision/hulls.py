"""The signed distance of a convex mesh and another shape, and the direction across which it is measured.

As in `sim.kernels.collision.separation`, s(n) is the width of the gap between the supporting planes across n, and
its maximum the
signed distance.  With p a point of the mesh and y(n) the point of the other shape that is farthest against n,

    s(n) = n . (y(n) - p)    where n is the normal of a face through p, or between those of two faces whose edge has p.

s is highest at the normal of a face, of the mesh or of the other shape; between the normals of two faces, where an edge
is nearest; or, where the shapes are apart, across from a corner.  For any point y of the other shape n . (y - p) is an
upper bound, so one that is near leaves few faces and edges to be looked at.  Balls are left out.
"""

from __future__ import annotations

import math

from sim.kernels.collision.features import round_normal
from sim.kernels.collision.separation import axis_of, half_axes_of, halves_of, in_shape
from sim.kernels.jit import kernel
from sim.kernels.shapes import BOX, CYLINDER, ELLIPSOID, MESH
from sim.kernels.status import Status
from sim.kernels.vectors import beyond, dot, length, minus, plus, three, times, unit

ARC = 60  # steps along an arc between two normals; each halves it where the other shape is round
SAME = 1e-15  # of the lengths: roundoff of two heights that are one
OK = int(Status.OK)


@kernel
def out_of_shape(pose, side, at):
    """World vector of one given along a shape's axes."""
    e = beyond(times(at[0], axis_of(pose, side, 0)), at[1], axis_of(pose, side, 1))
    return beyond(e, at[2], axis_of(pose, side, 2))


@kernel
def farthest_corner(shapes, hulls, i, v):
    """Row of the corner of a mesh that is farthest along v, shape axes."""
    best, height = shapes.first[i], -math.inf
    for row in range(shapes.first[i], shapes.first[i] + shapes.corners[i]):
        value = dot(three(hulls.p, row), v)
        if value > height:
            best, height = row, value
    return best


@kernel
def front_face(shapes, hulls, i, v):
    """Row of the face of a mesh that looks along v most, shape axes."""
    first = shapes.first[i] + shapes.corners[i] + shapes.edges[i]
    best, cosine = first, -math.inf
    for row in range(first, first + shapes.faces[i]):
        value = dot(three(hulls.d, row), v)
        if value > cosine:
            best, cosine = row, value
    return best


@kernel
def beyond_faces(shapes, hulls, i, at):
    """How far a point, shape axes from the centre, lies beyond the face of a mesh that it lies beyond most [m]."""
    first, most = shapes.first[i] + shapes.corners[i] + shapes.edges[i], -math.inf
    for row in range(first, first + shapes.faces[i]):
        most = max(most, dot(three(hulls.d, row), minus(at, three(hulls.p, row))))
    return most


@kernel
def farthest(shapes, hulls, i, pose, side, n):
    """Point of a shape without its ball that is farthest along n, world axes."""
    v = in_shape(pose, side, n)
    if shapes.kind[i] == MESH:
        return plus(three(pose, side), out_of_shape(pose, side, three(hulls.p, farthest_corner(shapes, hulls, i, v))))
    h, a = halves_of(shapes, i), half_axes_of(shapes, i)
    z = (a[0] * v[0], a[1] * v[1], a[2] * v[2])
    size = length(z)
    k = 1.0 / size if size > 0.0 else 0.0
    at = (
        math.copysign(h[0], v[0]) + k * a[0] * z[0],
        math.copysign(h[1], v[1]) + k * a[1] * z[1],
        math.copysign(h[2], v[2]) + k * a[2] * z[2],
    )
    return plus(three(pose, side), out_of_shape(pose, side, at))


@kernel
def against(shapes, hulls, j, pose, side, n):
    """Point of shape j, opposite to the mesh at `side`, that is farthest against n; in the mesh's axes, from there."""
    y = farthest(shapes, hulls, j, pose, 1 - side, times(-1.0, out_of_shape(pose, side, n)))
    return in_shape(pose, side, minus(y, three(pose, side)))


@kernel
def best_of_faces(shapes, hulls, i, j, pose, side, best, height):
    """The highest s across faces of the mesh i, which stands at `side`, or what was best; normals out of the mesh."""
    first = shapes.first[i] + shapes.corners[i] + shapes.edges[i]
    y = in_shape(pose, side, minus(three(pose, 1 - side), three(pose, side)))
    for row in range(first, first + shapes.faces[i]):
        n, p = three(hulls.d, row), three(hulls.p, row)
        if dot(n, minus(y, p)) <= height:
            continue
        tried = against(shapes, hulls, j, pose, side, n)
        value = dot(n, minus(tried, p))
        if value > height:
            best, height, y = out_of_shape(pose, side, n), value, tried
    return best, height


@kernel
def best_of_sides(shapes, hulls, i, j, pose, side, best, height):
    """Do the same for the flat sides of a box or cylinder i, and the mesh j."""
    h = halves_of(shapes, i)
    for k in range(3):
        if shapes.kind[i] == CYLINDER and k < 2:
            continue
        half = h[0] if k == 0 else (h[1] if k == 1 else h[2])
        for way in range(2):
            n = times(1.0 - 2.0 * way, axis_of(pose, side, k))
            y = farthest(shapes, hulls, j, pose, 1 - side, times(-1.0, n))
            value = dot(n, minus(y, three(pose, side))) - half
            if value > height:
                best, height = n, value
    return best, height


@kernel
def rise(w, n, m):
    """Slope of x . w from x = n to m: along the arc where the height is positive, else along the chord.

    The lowest of several heights has one peak on the arc where it is positive, and on the chord anywhere.
    """
    z = dot(w, n)
    return dot(w, m) - (dot(n, m) * z if z > 0.0 else z)


@kernel
def highest_on_arc(n, m, w):
    """Highest value of w along the arc between two unit normals."""
    z, u, c = dot(w, n), dot(w, m), dot(n, m)
    if u - c * z > 0.0 and z - c * u > 0.0 and c * c < 1.0:
        return math.sqrt((z * z - 2.0 * c * z * u + u * u) / (1.0 - c * c))
    return max(z, u)


@kernel
def best_of_edges(shapes, hulls, i, j, pose, side, best, height):
    """The highest s between the normals of two faces of the mesh i that meet in an edge, or what was best."""
    first = shapes.first[i] + shapes.corners[i]
    y = against(shapes, hulls, j, pose, side, in_shape(pose, side, best))
    for row in range(first, first + shapes.edges[i]):
        n, m, p = three(hulls.d, hulls.a[row]), three(hulls.d, hulls.b[row]), three(hulls.p, row)
        if highest_on_arc(n, m, minus(y, p)) <= height:
            continue
        if half_axes_of(shapes, j)[0] > 0.0:
            found, value = climb_arc(shapes, hulls, j, pose, side, n, m, p)
        else:
            found, value = walk_arc(shapes, hulls, j, pose, side, n, m, p, height)
        if value > height:
            best, height = out_of_shape(pose, side, found), value
            y = against(shapes, hulls, j, pose, side, found)
    return best, height


@kernel
def shares_of_peak(n, m, w):
    """Shares of n and m in the direction in their plane that is nearest to that of w."""
    z, u, c = dot(w, n), dot(w, m), dot(n, m)
    return z - c * u, u - c * z


@kernel
def walk_arc(shapes, hulls, j, pose, side, n, m, p, enough):
    """Highest s on the arc from n to m, for an edge of a mesh through p, if more than enough; in the mesh's axes.

    The other shape has corners alone: one after the other is farthest against the direction.  s is highest where one
    hands over to the next, or where it is positive and one of them lies straight across.
    """
    best, height = n, enough
    y, last = against(shapes, hulls, j, pose, side, n), against(shapes, hulls, j, pose, side, m)
    for _ in range(ARC):
        v = minus(y, p)
        if highest_on_arc(n, m, v) <= height:
            break
        middle, z = hands_over(shapes, hulls, j, pose, side, n, m, y, last)
        value = dot(middle, v)
        if value > height:
            best, height = middle, value
        if rise(v, n, middle) > 0.0 and rise(v, middle, n) > 0.0:
            a, b = shares_of_peak(n, middle, v)
            peak = unit(beyond(times(a, n), b, middle))
            if dot(peak, v) > height:
                best, height = peak, dot(peak, v)
        if dot(minus(z, y), minus(z, y)) == 0.0:
            break
        n, y = middle, z
    return best, height


@kernel
def hands_over(shapes, hulls, j, pose, side, n, m, y, last):
    """Direction from n to m up to which y, a corner of the other shape, is farthest against it, and the next corner."""
    middle, z = m, last
    for _ in range(ARC):
        a, b, away = max(dot(m, minus(y, z)), 0.0), max(dot(n, minus(z, y)), 0.0), minus(z, y)
        if a + b <= SAME * length(away):
            return m, y
        middle = unit(beyond(times(a, n), b, m))
        found = against(shapes, hulls, j, pose, side, middle)
        if dot(middle, minus(found, y)) >= -SAME * (length(found) + length(y)):
            break
        z = found
    return middle, z


@kernel
def climb_arc(shapes, hulls, j, pose, side, n, m, p):
    """Highest s inside the arc from n to m, for an edge of a mesh through p and a round shape; in the mesh's axes.

    s is the least of n . (y - p) over the points y of the other shape: from both ends inward it is bounded by those
    farthest against them, and where these two bounds cross the next point is looked for.
    """
    best, height = n, -math.inf
    y, z = against(shapes, hulls, j, pose, side, n), against(shapes, hulls, j, pose, side, m)
    for _ in range(ARC):
        v, w = minus(y, p), minus(z, p)
        if rise(v, n, m) <= 0.0 or rise(w, m, n) <= 0.0:
            break
        a, b = max(dot(m, minus(y, z)), 0.0), max(dot(n, minus(z, y)), 0.0)
        alone = a + b <= SAME * (length(v) + length(w))
        if alone:  # one point at both ends: its height is highest straight across, where it is positive
            a, b = shares_of_peak(n, m, v)
            a, b = max(a, 0.0), max(b, 0.0)
            if dot(v, n) <= 0.0 or a + b == 0.0:
                break
        middle = unit(beyond(times(a, n), b, m))
        found = against(shapes, hulls, j, pose, side, middle)
        value = dot(middle, minus(found, p))
        if value > height:
            best, height = middle, value
        if alone:
            break
        if value < dot(middle, v) - SAME * length(v):
            if rise(minus(found, p), middle, m) > 0.0:
                n, y = middle, found
            else:
                m, z = middle, found
        elif rise(v, middle, m) <= 0.0:
            m, z = middle, y
        elif rise(w, middle, n) <= 0.0:
            n, y = middle, z
        else:
            break
    return best, height


@kernel
def nearest_inside(shapes, j, q):
    """Point of a box, capsule, sphere or cylinder without its ball that is nearest to q, shape axes."""
    h, a = halves_of(shapes, j), half_axes_of(shapes, j)
    if shapes.kind[j] == CYLINDER:
        out = math.hypot(q[0], q[1])
        k = 1.0 if out <= a[0] else a[0] / out
        return k * q[0], k * q[1], min(max(q[2], -h[2]), h[2])
    return min(max(q[0], -h[0]), h[0]), min(max(q[1], -h[1]), h[1]), min(max(q[2], -h[2]), h[2])


@kernel
def from_corner(shapes, j, pose, side, q, start):
    """Direction (not of length 1) from the place q to shape j at `side`, both in its axes, or the way out of it."""
    if shapes.kind[j] == ELLIPSOID:
        a, zero = half_axes_of(shapes, j), (0.0, 0.0, 0.0)
        n = unit(times(-1.0, q)) if length(q) > max(a[0], a[1], a[2]) else start
        n, status = round_normal(
            times(-1.0, q), zero, zero, zero, (a[0], 0.0, 0.0), (0.0, a[1], 0.0), (0.0, 0.0, a[2]), n
        )
        return n if status == OK else start
    n = minus(nearest_inside(shapes, j, q), q)
    if dot(n, n) == 0.0 and shapes.kind[j] == CYLINDER:
        return -q[0], -q[1], 0.0
    return n


@kernel
def best_of_corners(shapes, hulls, i, j, pose, side, best, height):
    """The highest s across from a corner of the mesh i to the other shape, or what was best.

    Where they are apart that can only be the corner that is nearest; where they overlap, one that is inside.
    """
    nearest, n, ahead, start = math.inf, best, best, in_shape(pose, 1 - side, best)
    y = farthest(shapes, hulls, j, pose, 1 - side, times(-1.0, best))
    front = farthest_corner(shapes, hulls, i, in_shape(pose, side, best))
    for k in range(-1, shapes.corners[i]):  # that in front first: few others can be nearer then
        row = front if k < 0 else shapes.first[i] + k
        p = plus(three(pose, side), out_of_shape(pose, side, three(hulls.p, row)))
        if dot(ahead, minus(y, p)) > max(nearest, 0.0):
            continue
        q = in_shape(pose, 1 - side, minus(p, three(pose, 1 - side)))
        if half_axes_of(shapes, j)[0] > 0.0:  # a corner may be inside: its own distance tells
            way = from_corner(shapes, j, pose, 1 - side, q, start)
            found = out_of_shape(pose, 1 - side, unit(way))
            away = dot(found, minus(farthest(shapes, hulls, j, pose, 1 - side, times(-1.0, found)), p))
            if away < max(nearest, 0.0) and dot(way, way) > 0.0:
                nearest = away
                best, height = better(shapes, hulls, i, j, pose, side, found, best, height)
            continue
        way = corner_to(shapes, hulls, j, q)
        if 0.0 < length(way) < nearest:
            nearest, n = length(way), out_of_shape(pose, 1 - side, way)
    return better(shapes, hulls, i, j, pose, side, unit(n), best, height)


@kernel
def corner_to(shapes, hulls, j, q):
    """From the place q, shape axes, to the nearest corner of a mesh, or point of another shape that is not round."""
    if shapes.kind[j] != MESH:
        return minus(nearest_inside(shapes, j, q), q)
    found, least = q, math.inf
    for row in range(shapes.first[j], shapes.first[j] + shapes.corners[j]):
        way = minus(three(hulls.p, row), q)
        square = dot(way, way)
        if square < least:
            found, least = way, square
    return found


@kernel
def better(shapes, hulls, i, j, pose, side, n, best, height):
    """The higher s of two directions, n out of shape i at `side`."""
    y, p = (
        farthest(shapes, hulls, j, pose, 1 - side, times(-1.0, n)),
        farthest(shapes, hulls, i, pose, side, n),
    )
    value = dot(n, minus(y, p))
    return (n, value) if value > height else (best, height)


@kernel
def crossing_of_hulls(shapes, hulls, i, j, pose):
    """The highest s across faces and edges of two shapes, one of them a mesh, and that direction, from i to j."""
    best, height = (0.0, 0.0, 0.0), -math.inf
    for side in range(2):
        mine, other = (i, j) if side == 0 else (j, i)
        kind, n = shapes.kind[mine], times(1.0 - 2.0 * side, best)
        if kind == MESH:
            n, height = best_of_faces(shapes, hulls, mine, other, pose, side, n, height)
        elif kind == BOX or kind == CYLINDER:
            n, height = best_of_sides(shapes, hulls, mine, other, pose, side, n, height)
        best = times(1.0 - 2.0 * side, n)
    side = 0 if shapes.kind[i] == MESH else 1
    mine, other = (i, j) if side == 0 else (j, i)
    n, height = best_of_edges(shapes, hulls, mine, other, pose, side, times(1.0 - 2.0 * side, best), height)
    return times(1.0 - 2.0 * side, n), height


@kernel
def distance_of_hulls(shapes, hulls, i, j, pose, best, height):
    """Highest s of two shapes, one of them a mesh, and its direction; begins with that of `crossing_of_hulls`."""
    if shapes.kind[i] == MESH and shapes.kind[j] == MESH:  # corners of i over edges of j
        n, height = best_of_edges(shapes, hulls, j, i, pose, 1, times(-1.0, best), height)
        best = times(-1.0, n)
    for side in range(2):
        mine, other = (i, j) if side == 0 else (j, i)
        if shapes.kind[mine] == MESH:
            n = times(1.0 - 2.0 * side, best)
            n, height = best_of_corners(shapes, hulls, mine, other, pose, side, n, height)
            best = times(1.0 - 2.0 * side, n)
    return height, best
