"""Which pairs of shapes may soon be near each other: a list that several time steps share.

Every shape has a wide box about the box that it may reach within a step.  While all boxes lie in their wide ones no
pair can meet whose wide ones have no point together, and only the others are looked at.  Which ones are listed changes
nothing of what is found, but the time it takes: looking at all pairs costs the square of how many bodies there are.
"""

from __future__ import annotations

from sim.kernels.collision.broad import boxes_meet
from sim.kernels.jit import kernel

# By how much a wide box is wider: in ways of the next step, and in its shape's size.  More: more pairs in the list.
# Less: it is made anew more often.
STEPS, SHARE = 12.0, 0.05


@kernel
def list_near(meetings, boxes, reach, wide_out, near_out, count_out):
    """Bring the list up to date for these boxes (shapes, 6) [m].

    reach: (shapes,) how far points of each may move in a step [m].
    near_out: (meetings,) the pairs listed, in their order; count_out: (1,) how many they are.
    """
    if lie_within(boxes, wide_out):
        return
    for i in range(boxes.shape[0]):
        size = min(boxes[i, 3] - boxes[i, 0], boxes[i, 4] - boxes[i, 1], boxes[i, 5] - boxes[i, 2])
        more = STEPS * reach[i] + SHARE * size
        for k in range(3):
            wide_out[i, k], wide_out[i, 3 + k] = boxes[i, k] - more, boxes[i, 3 + k] + more
    count = 0
    for m in range(meetings.a.size):
        if boxes_meet(wide_out, meetings.a[m], meetings.b[m]):
            near_out[count] = m
            count += 1
    count_out[0] = count


@kernel
def list_all(near_out, count_out):
    """List all pairs, (meetings,), and how many they are, (1,)."""
    for m in range(near_out.size):
        near_out[m] = m
    count_out[0] = near_out.size


@kernel
def lie_within(boxes, wide):
    """Tell whether all boxes lie within their wide ones."""
    inside = True
    for i in range(boxes.shape[0]):
        for k in range(3):
            inside = inside and boxes[i, k] >= wide[i, k] and boxes[i, 3 + k] <= wide[i, 3 + k]
    return inside


__all__ = ["list_all", "list_near"]
