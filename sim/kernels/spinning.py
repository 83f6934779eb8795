"""How lone bodies spin through a long step: their gyroscopic moment changes within it.

    I (w+ - w) = h (tau - m x I m),    m = (w+ + w) / 2,  all in the body's axes

With that moment as it is at the step's start, a body gains energy with each step, and where it turns far in one it soon
has lost all bounds.  The midpoint rule keeps w.Iw and |Iw| where there is no tau: both are quadratic (Hairer, Lubich
and Wanner, Geometric Numerical Integration, 2006, IV.2).
"""

from __future__ import annotations

import math

from sim.kernels.jit import inlined, kernel, spliced
from sim.kernels.vectors import beyond, cross, dot, length, minus, outward_axes, plus, three, times

# rad: turn in a step below which nothing is gained by it, and above which the step is taken in parts; most parts.
SLOW, FAR, PARTS = 1e-6, 0.5, 64
# Newton's method: rounds, and the change [share of w] after which there is no further one.
ROUNDS, LAST = 8, 1e-12


@spliced
def spin_on(links, blocks, link_work, freedom_work, v, h, v_out):
    """Bring the rates v_out of bodies that nothing else hangs on from the explicit step of h to the midpoint rule's.

    The middle is that of rates which presses kick on in this step as they did in the last one.
    """
    for b in range(1, links.parent.size):
        if is_lone(links, blocks, b):
            k = links.v[b] + 3
            w, after = (v[k], v[k + 1], v[k + 2]), (v_out[k], v_out[k + 1], v_out[k + 2])
            turn = h * length(w)
            if turn > SLOW:
                inertia, parts = inertia_of(links, b), min(math.ceil(turn / FAR), PARTS)
                kick = times(h, (freedom_work.kick[k], freedom_work.kick[k + 1], freedom_work.kick[k + 2]))
                driven = plus(minus(minus(after, w), times(h, free_rate(inertia, w))), kick)
                w = minus(spun(inertia, w, times(1.0 / parts, driven), h / parts, parts), kick)
                v_out[k], v_out[k + 1], v_out[k + 2] = w
                # Its origin goes round its centre of mass.
                shift = outward_axes(link_work.R, b, cross(minus(after, w), three(links.com_K, b)))
                for i in range(k - 3, k):
                    v_out[i] += dot(three(freedom_work.axis, i), shift)


@inlined
def floats(links, b):
    """Tell whether link b has all freedoms: three slides, then a ball."""
    return links.nv[b] == 6 and links.quaternion[b] >= 0


@kernel
def is_lone(links, blocks, b):
    """Tell whether link b is a body that neither a joint nor a loop holds, with no inertia but its own."""
    lone = floats(links, b) and links.leaf[b] == 1 and links.ball[b] >= 0
    for n in range(blocks.a.size):
        lone = lone and blocks.a[n] != b and blocks.b[n] != b
    return lone


@kernel
def inertia_of(links, b):
    """Rows of the inertia of link b about its centre of mass."""
    xx, yy, zz, xy, xz, yz = (
        links.inertia_K[b, 0], links.inertia_K[b, 1], links.inertia_K[b, 2], links.inertia_K[b, 3],
        links.inertia_K[b, 4], links.inertia_K[b, 5],
    )  # fmt: skip
    return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)


@kernel
def product(a, v):
    """Return the matrix of rows a times v."""
    return dot(a[0], v), dot(a[1], v), dot(a[2], v)


@kernel
def solved(a, v):
    """Return x with a x = v, by the rows a of a matrix."""
    c0, c1, c2 = cross(a[1], a[2]), cross(a[2], a[0]), cross(a[0], a[1])
    x = plus(plus(times(v[0], c0), times(v[1], c1)), times(v[2], c2))
    return times(1.0 / dot(a[0], c0), x)


@kernel
def free_rate(inertia, w):
    """Rate of w without a moment."""
    return solved(inertia, cross(product(inertia, w), w))


@kernel
def spun(inertia, w, driven, h, parts):
    """Return w after so many parts of h each, in which moments alone change it by `driven`."""
    s = 0.5 * h
    for _ in range(parts):
        after = plus(w, driven)
        for _ in range(ROUNDS):
            m = times(0.5, plus(w, after))
            L = product(inertia, m)
            miss = beyond(product(inertia, minus(minus(after, w), driven)), h, cross(m, L))
            change = solved(slope_of_miss(inertia, times(s, m), times(s, L)), miss)
            after = minus(after, change)
            if length(change) <= LAST * length(after):
                break
        w = after
    return w


@kernel
def slope_of_miss(a, m, L):
    """Rows of a + [m] a - [L], with [m] v = m x v."""
    return (
        plus(beyond(beyond(a[0], m[1], a[2]), -m[2], a[1]), (0.0, L[2], -L[1])),
        plus(beyond(beyond(a[1], m[2], a[0]), -m[0], a[2]), (-L[2], 0.0, L[0])),
        plus(beyond(beyond(a[2], m[0], a[1]), -m[1], a[0]), (L[1], -L[0], 0.0)),
    )
