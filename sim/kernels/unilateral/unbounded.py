"""Presses of a time step without bounds: springs between points, and controllers in joints that close loops.

A spring of tension k x + c x' pulls as it does at the end of the step, P = h (k (x + h x'+ + d) + c x'+), where d is
what its ends lengthen it by as they go across it, h^2 |u_t|^2 / (2 l).  With u = -x', the rate at which it shortens,

    u+ + P / (h (c + h k)) - k (x + d) / (c + h k) = 0,

which is implicit Euler.  As for controllers (`sim.kernels.integrators.end_forces`), soft springs swing on: of h k u at
the start they keep the share 1 / (1 + a), a = h (c + h k) G, G the mobility between the ends.

What a controller applies in a joint of a loop is P = h (tau(x + h u, u) - (D + h K) (u+ - u)).
"""

from __future__ import annotations

import math

from sim.kernels.elements import between, point_motion
from sim.kernels.jit import kernel, spliced
from sim.kernels.tables import SPRING
from sim.kernels.unilateral.constraint_collection import put_axis, put_joint, put_wrench
from sim.kernels.vectors import cross, dot, minus, three, times


@kernel
def first_spring(tables):
    """Key of the first spring among presses: stops and frictions come before."""
    return tables.stops.joint.size + tables.columns.friction.size


@spliced
def add_unbounded(tables, work, h):
    """Add springs, and controllers in loops, to what presses within a step of h.  Tells whether there was room."""
    forces, ends, room = tables.forces, work.ends, work.contact_P.shape[0]
    for f in range(forces.kind.size):
        if forces.kind[f] == SPRING and forces.stiffness[f] + forces.damping[f] > 0.0:
            k = work.stepped.points[0]
            if k == room:
                return False
            put_spring(forces, tables.points, f, h, work.links, work.contacts, k)
            free_of_bounds(work.contacts, k, first_spring(tables) + f)
            work.stepped.points[0] += 1
    for c in range(ends.stiffness.size):
        resists = ends.damping[c] + h * ends.stiffness[c]
        if ends.freedom[c] < 0 and resists > 0.0:
            k = work.stepped.points[0]
            if k == room:
                return False
            if put_joint(tables, work, tables.columns.joint[c], c, 0, (1.0, 0.0, 0.0), k):
                work.contacts.soft[k], work.contacts.gap[k], work.contacts.lengthens[k] = 1.0 / (h * resists), 0.0, 0.0
                free_of_bounds(work.contacts, k, first_spring(tables) + forces.kind.size + c)
                work.stepped.points[0] += 1
    return True


@kernel
def free_of_bounds(contact_out, k, key):
    """Write what all presses without bounds have."""
    contact_out.key[k, 0], contact_out.key[k, 1], contact_out.kept[k] = key, 0, -1
    contact_out.low[k], contact_out.high[k], contact_out.friction[k] = -math.inf, math.inf, 0.0
    contact_out.restitution[k], contact_out.rest_speed[k], contact_out.rows[k] = 0.0, 0.0, 1
    contact_out.stiffness[k], contact_out.of[k] = 0.0, 0
    contact_out.shift[k, 0] = contact_out.shift[k, 1] = contact_out.shift[k, 2] = 0.0


@kernel
def put_spring(forces, points, f, h, link_work, contact_out, k):
    """Write spring f as press k: along the line from its second end to its first, gap being what it is stretched by."""
    a, b = forces.a[f], forces.b[f]
    p0, p1, p2, n0, n1, n2, distance, rate = between(points, link_work, a, b)
    p, u = (p0, p1, p2), point_motion(points, link_work, a)
    q = point_motion(points, link_work, b)
    across = minus((q[3] - u[3], q[4] - u[4], q[5] - u[5]), times(rate, (n0, n1, n2)))
    e, one, other = (-n0, -n1, -n2), points.body[a], points.body[b]
    contact_out.meeting[k], contact_out.link[k, 0], contact_out.link[k, 1] = -1, one, other
    contact_out.gap[k] = distance - forces.rest[f]
    contact_out.lengthens[k] = 0.5 * h * h * dot(across, across) / distance if distance > 0.0 else 0.0
    contact_out.soft[k] = 1.0 / (h * (forces.damping[f] + h * forces.stiffness[f]))
    for r in range(3):
        put_axis(contact_out, k, r, e)
        contact_out.p[k, r] = q[r]
    to_b, to_a = minus((q[0], q[1], q[2]), three(link_work.x, other)), minus(p, three(link_work.x, one))
    put_wrench(contact_out, k, 0, cross(to_b, e), e, times(-1.0, cross(to_a, e)), times(-1.0, e))


@kernel
def shift_unbounded(tables, ends, contact_out, G, k, h):
    """Say what the law asks of the rate of press k, which has no bounds; G: mobility, with what it gives way."""
    f = contact_out.key[k, 0] - first_spring(tables)
    if f >= tables.forces.kind.size:
        c = f - tables.forces.kind.size
        contact_out.shift[k, 0] = -contact_out.before[k, 0] - ends.end[c] / (ends.damping[c] + h * ends.stiffness[c])
    else:
        # 1 / (1 + a) is the share of what the spring gives way in all that gives way.
        kept = h * contact_out.before[k, 0] * contact_out.soft[k] / G[k, 0, 0]
        stretch = contact_out.gap[k] + contact_out.lengthens[k] + kept
        contact_out.shift[k, 0] = -h * tables.forces.stiffness[f] * contact_out.soft[k] * stretch


@kernel
def is_unbounded(contact, k):
    """Tell whether press k has no bounds."""
    return contact.low[k] == -math.inf


@kernel
def lost_in_spring(tables, contact, P, rate, k, h):
    """Energy that press k without bounds took, beside what a spring keeps and what its damper took at the start [J]."""
    f = contact.key[k, 0] - first_spring(tables)
    if f >= tables.forces.kind.size:  # which is booked with its controller
        return 0.0
    stiffness, before, old = tables.forces.stiffness[f], contact.before[k, 0], contact.gap[k]
    new = old + contact.lengthens[k] - h * rate
    kept = 0.5 * stiffness * (new * new - old * old)
    return -0.5 * P[k, 0] * (before + rate) - kept - h * tables.forces.damping[f] * before * before


__all__ = ["add_unbounded", "first_spring", "is_unbounded", "lost_in_spring", "shift_unbounded"]
