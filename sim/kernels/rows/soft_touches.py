"""Soft points of contact: forces that follow from how deep they are, and from how fast that changes.

    f = stiffness depth (1 + dissipation depth rate), never pulling     (Hunt & Crossley, 1975, with exponent 1)

as a soft stop of a joint has it.  They have no row across the surface.  Friction is Coulomb's with this f: while a
point sticks, two rows hold it along the surface; when it slides, its force is known without any.
"""

from __future__ import annotations

from sim.kernels.jit import kernel
from sim.kernels.rows.touches import push_at, rub, touch_guard
from sim.kernels.shapes import OPEN, SOFT_SLIP, SOFT_STICK
from sim.kernels.watched import GUARD_CONE, GUARD_PART

# m: depth whose force bounds friction where there is less: where a point begins to touch it would have none at all.
LEAST_DEPTH = 1e-9


@kernel
def soft_forces(touches, link_work, point_work, one_work):
    """Add what soft points give to the wrenches of links, and what they dissipate to one_work.dissipated[0] [W]."""
    n, u, slip, wrench = point_work.n, point_work.u, point_work.slip, link_work.wrench
    for k in range(touches.mode.size):
        if touches.mode[k] >= OPEN:
            continue
        f = softly_pressed(touches, k, point_work)
        a, b = touches.link[k, 0], touches.link[k, 1]
        push_at(link_work.x, point_work.p, k, b, f * n[k, 0], f * n[k, 1], f * n[k, 2], wrench)
        push_at(link_work.x, point_work.p, k, a, -f * n[k, 0], -f * n[k, 1], -f * n[k, 2], wrench)
        one_work.dissipated[0] -= (f + touches.stiffness[k] * point_work.gap[k]) * point_work.gap_dot[k]
        if touches.mode[k] == SOFT_SLIP:
            rub(touches, k, f, link_work, point_work, wrench)
            speed = u[k, 0] * slip[k, 0] + u[k, 1] * slip[k, 1] + u[k, 2] * slip[k, 2]
            one_work.dissipated[0] += f * touches.friction[k] * speed


@kernel
def softly_pressed(touches, k, point_work):
    """Force across the surface at soft point k [N]; past the guard that lets it go, it goes on smoothly and pulls."""
    grip = 1.0 - touches.dissipation[k] * point_work.gap_dot[k]
    return -touches.stiffness[k] * point_work.gap[k] * (grip if grip > 0.0 else 0.0)


@kernel
def add_soft_forces(touches, point_work):
    """Forces of soft points, beside those of rows that hold them along the surface."""
    force_out, n, slip = point_work.force, point_work.n, point_work.slip
    for k in range(touches.mode.size):
        if touches.mode[k] >= OPEN:
            continue
        f = point_work.pressing[k] = softly_pressed(touches, k, point_work)
        if touches.mode[k] != SOFT_STICK:
            point_work.holding[k] = touches.friction[k] * f if touches.mode[k] == SOFT_SLIP else 0.0
        for i in range(3):
            force_out[k, i] += f * n[k, i]
            if touches.mode[k] == SOFT_SLIP:
                force_out[k, i] -= point_work.holding[k] * slip[k, i]


@kernel
def soft_guard(kind, k, touches, point_work):
    """Value of what is watched of soft point k, positive once it has happened: [m], [N] or [m/s]."""
    if kind == GUARD_PART:
        return point_work.gap[k]
    if kind == GUARD_CONE:
        return point_work.holding[k] - soft_bound(touches, k, point_work)
    return touch_guard(kind, k, touches, point_work)


@kernel
def soft_bound(touches, k, point_work):
    """Most that friction gives at soft point k [N]."""
    return touches.friction[k] * max(point_work.pressing[k], touches.stiffness[k] * LEAST_DEPTH)


@kernel
def held_softly(touches, point_work):
    """Energy that soft points hold [J]."""
    held = 0.0
    for k in range(touches.mode.size):
        if touches.mode[k] < OPEN:
            held += 0.5 * touches.stiffness[k] * point_work.gap[k] ** 2
    return held
