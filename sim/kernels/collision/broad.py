"""Which shapes can be near each other within a time: world-axis boxes, swept by what the links' speeds allow.

A box holds its shape at all poses that it takes within dt while its link keeps its angular velocity and the velocity of
its origin; whoever asks about a span in which links accelerate gives a margin for that.
"""

from __future__ import annotations

import math

from sim.kernels.collision.features import speed_at
from sim.kernels.collision.separation import (
    axis_of,
    ball_of,
    half_axes_of,
    halves_of,
    in_shape,
    is_rope,
    place_shape,
    rope_length,
)
from sim.kernels.jit import kernel, python_kernel
from sim.kernels.shapes import PLANE
from sim.kernels.vectors import cross, dot, length, minus, three


@kernel
def place_all(shapes, link_x, link_R, placed_out):
    """Centres and axes of all shapes, (shapes, 12) as `place_shape` writes them."""
    for i in range(shapes.kind.size):
        place_shape(shapes, i, link_x, link_R, i, placed_out)


@kernel
def height_over(shapes, i, j, placed):
    """How far shape j is over the plane i [m]; of a mesh how far at least."""
    n = axis_of(placed, i, 2)
    h, a, e = halves_of(shapes, j), half_axes_of(shapes, j), in_shape(placed, j, n)
    below = h[0] * abs(e[0]) + h[1] * abs(e[1]) + h[2] * abs(e[2]) + ball_of(shapes, j)
    below += length((a[0] * e[0], a[1] * e[1], a[2] * e[2]))
    return dot(n, minus(three(placed, j), three(placed, i))) - below


@kernel
def way_to_plane(shapes, i, j, placed, link_x, link_V, margin, dt):
    """How near shape j is to plane i at most if it comes nearer than twice the margin within dt [m], as for `can_meet`.

    A plane that moves may come from anywhere.
    """
    if shapes.link[i] > 0:
        return math.inf
    link, c, n = shapes.link[j], three(placed, j), axis_of(placed, i, 2)
    w, v = (link_V[link, 0], link_V[link, 1], link_V[link, 2]), speed_at(link_V, link_x, link, c)
    spin, ball = length(w), ball_about(shapes, j)
    bent = 0.5 * spin * length(cross(w, minus(c, three(link_x, link)))) * dt * dt
    return dt * max(-dot(n, v), 0.0) + min(spin * dt * ball, 2.0 * ball) + bent + 2.0 * margin


@python_kernel
def sweep_boxes(shapes, link_x, link_R, link_V, margin, dt, box_out, pose_work):
    """World-axis boxes of all shapes, swept through dt [s] and widened by the margin [m]; planes have none.

    box_out: (shapes, 6) m, lowest x y z, highest x y z.  pose_work: (2, 12), scratch.
    """
    for i in range(shapes.kind.size):
        place_shape(shapes, i, link_x, link_R, 0, pose_work)
        h, a, r = halves_of(shapes, i), half_axes_of(shapes, i), ball_of(shapes, i)
        ball = ball_about(shapes, i)
        e0, e1, e2 = axis_of(pose_work, 0, 0), axis_of(pose_work, 0, 1), axis_of(pose_work, 0, 2)
        link = shapes.link[i]
        v = speed_at(link_V, link_x, link, three(pose_work, 0))
        w = (link_V[link, 0], link_V[link, 1], link_V[link, 2])
        # No point of the shape leaves the ball about its centre, nor moves about the centre by more than |w| dt of its
        # radius; the centre, at r from the link's origin, leaves its straight line by |w| |w x r| dt^2 / 2 at most.
        spin = length(w)
        bent = 0.5 * spin * length(cross(w, minus(three(pose_work, 0), three(link_x, link)))) * dt * dt
        turn = min(spin * dt * ball, 2.0 * ball) + bent + margin
        for k in range(3):
            reach = r + abs(h[0] * e0[k]) + abs(h[1] * e1[k]) + abs(h[2] * e2[k]) + turn
            reach += math.sqrt((a[0] * e0[k]) ** 2 + (a[1] * e1[k]) ** 2 + (a[2] * e2[k]) ** 2)
            low, high = pose_work[0, k] - reach + min(v[k] * dt, 0.0), pose_work[0, k] + reach + max(v[k] * dt, 0.0)
            if shapes.kind[i] == PLANE:
                low, high = -math.inf, math.inf
            box_out[i, k], box_out[i, 3 + k] = low, high


@kernel
def apart(shapes, i, j, link_x, link_R, pose_work):
    """How far the balls about two shapes are apart [m], negative where they meet; a plane's is all behind it.

    Of a rope it is by how much it is slack.
    """
    place_shape(shapes, i, link_x, link_R, 0, pose_work)
    place_shape(shapes, j, link_x, link_R, 1, pose_work)
    between = minus(three(pose_work, 1), three(pose_work, 0))
    if shapes.kind[i] == PLANE:
        return dot(axis_of(pose_work, 0, 2), between) - ball_about(shapes, j)
    if shapes.kind[j] == PLANE:
        return -dot(axis_of(pose_work, 1, 2), between) - ball_about(shapes, i)
    if is_rope(shapes, i, j):
        return rope_length(shapes, i, j) - length(between)
    return length(between) - ball_about(shapes, i) - ball_about(shapes, j)


@kernel
def ball_about(shapes, i):
    """Radius [m] of a ball about its centre that holds a shape."""
    a = half_axes_of(shapes, i)
    return length(halves_of(shapes, i)) + max(a[0], a[1], a[2]) + ball_of(shapes, i)


@kernel
def smaller_ball(shapes, i, j):
    """Radius [m] of the smaller of the balls about two shapes, of which one is no plane; of a rope its length."""
    if is_rope(shapes, i, j):
        return rope_length(shapes, i, j)
    if shapes.kind[i] == PLANE:
        return ball_about(shapes, j)
    if shapes.kind[j] == PLANE:
        return ball_about(shapes, i)
    return min(ball_about(shapes, i), ball_about(shapes, j))


@kernel
def boxes_meet(box, i, j):
    """Tell whether two boxes have a point together."""
    return (
        box[i, 0] <= box[j, 3] and box[j, 0] <= box[i, 3]
        and box[i, 1] <= box[j, 4] and box[j, 1] <= box[i, 4]
        and box[i, 2] <= box[j, 5] and box[j, 2] <= box[i, 5]
    )  # fmt: skip


@kernel
def box_meets_plane(shapes, i, j, link_x, link_R, link_V, box, margin, dt, pose_work):
    """Tell whether the box of shape j reaches below the plane i, which moves by its link's twist within dt."""
    place_shape(shapes, i, link_x, link_R, 0, pose_work)
    n, p, link = axis_of(pose_work, 0, 2), three(pose_work, 0), shapes.link[i]
    low = (
        box[j, 0] if n[0] > 0.0 else box[j, 3],
        box[j, 1] if n[1] > 0.0 else box[j, 4],
        box[j, 2] if n[2] > 0.0 else box[j, 5],
    )
    away = (low[0] - p[0], low[1] - p[1], low[2] - p[2])
    far = (
        max(abs(box[j, 0] - p[0]), abs(box[j, 3] - p[0])),
        max(abs(box[j, 1] - p[1]), abs(box[j, 4] - p[1])),
        max(abs(box[j, 2] - p[2]), abs(box[j, 5] - p[2])),
    )
    w = (link_V[link, 0], link_V[link, 1], link_V[link, 2])
    speed = length((link_V[link, 3], link_V[link, 4], link_V[link, 5])) + length(
        cross(w, minus(p, three(link_x, link)))
    )
    moved = (speed + length(w) * (length(far) + speed * dt)) * dt
    return dot(n, away) <= moved + margin


@python_kernel
def can_meet(shapes, i, j, link_x, link_R, link_V, box, margin, dt, pose_work):
    """Tell whether two shapes can be nearer than twice the margin within dt."""
    if shapes.kind[i] == PLANE:
        return box_meets_plane(shapes, i, j, link_x, link_R, link_V, box, margin, dt, pose_work)
    if shapes.kind[j] == PLANE:
        return box_meets_plane(shapes, j, i, link_x, link_R, link_V, box, margin, dt, pose_work)
    return boxes_meet(box, i, j)
