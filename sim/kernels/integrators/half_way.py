"""Where bodies touch half way through a step, so that what sticks or rolls takes nothing.

A point that sticks moves on as bodies roll over it: rates W v that are zero where a step begins have come to h W' v
where it ends, and to bring them back to zero takes energy in each step, of first order in all.  Asked half way,

    W(q (+) h v / 2) v+ = 0,

they are h W' v / 2 before and -h W' v / 2 after an impulse, of which the mean is zero: nothing is taken, but of second
order.  So constraint rows are kept, too (`sim.kernels.inertial`).  Along the normal that is the gap at the end of
the step, h^2 n . W' v / 2 beyond its rate.

v+ is that of a first answer, v that of the start.  As much as impulses change the rates otherwise than in the step
before (`sim.kernels.integrators.kicks`), inertia is not in their middle; where points roll it is taken there once more,
with these, and impulses are found again.

A point of which this is asked pressed in the step before, and no collision began there.  None leaves much faster than
it came, nor slides back much faster than it slid: no energy comes from what only begins to touch.
"""

from __future__ import annotations

import math

from sim.kernels.accelerations import respond
from sim.kernels.collision.features import place_touch, speed_at
from sim.kernels.inertial import goes_by_centre, hold_turning, move_on
from sim.kernels.inertial import look as move_at
from sim.kernels.jit import inlined, kernel, spliced
from sim.kernels.kinematics import poses, velocities
from sim.kernels.status import Status
from sim.kernels.system import unpack
from sim.kernels.vectors import cross, dot, length, minus, outward_axes, plus, three, times

# rad: turn of the two bodies in a step below which nothing moves on, and beyond which half way tells little.
STILL, FAR = 1e-6, 0.5
SAME_WAY = 0.5  # cosine of how far a normal may turn
MOST = 2.0  # of its rate before: that of a point after the step


@spliced
def look_half_way(tables, work, q, v, h):
    """Fill work.end_links with poses and velocities half way through the step, at rates v."""
    half, there = work.stage[: q.size], work.push
    for i in range(q.size):
        half[i] = q[i]
    for i in range(v.size):
        there[i] = v[i]
    move_on(tables.links, tables.blocks, 0.5 * h, there, half)
    poses(tables.links, tables.freedoms, half, work.end_links, work.end_freedoms)
    velocities(tables.links, tables.freedoms, there, work.end_links, work.end_freedoms)


@kernel
def touches_on(points, h, before, last_contacts, contact, V):
    """Tell whether a point touches that did in the step before, of bodies that turn."""
    first, found = 0, False
    for k in range(points):
        m = contact.meeting[k]
        if m < 0 or contact.kept[k] >= 0 or not STILL < turn_in_step(V, contact, k, h) < FAR:
            continue
        while first < before and last_contacts.meeting[first] < m:
            first += 1
        found = found or goes_on_pressing(last_contacts, first, before, contact, k)
    return found


@kernel
def shift_half_way(points, h, before, last_contacts, step_work):
    """Ask the law of rates half way at points that touched in the step before.

    step_work.contact_p: rates where the step begins, of the velocities with which it goes half way.  Returns how far
    the bodies of such a point turn at most [rad].
    """
    first, contact, most = 0, step_work.contacts, 0.0
    for k in range(points):
        m = contact.meeting[k]
        if (
            m < 0
            or contact.soft[k] > 0.0
            or contact.kept[k] >= 0
            or bounces(contact, k)
            or not STILL < turn_in_step(step_work.end_links.V, contact, k, h) < FAR
        ):
            continue
        while first < before and last_contacts.meeting[first] < m:
            first += 1
        if goes_on_pressing(last_contacts, first, before, contact, k):
            shift_one(contact, step_work.contact_touch, step_work.contact_p, step_work.end_links, k)
            most = max(most, turn_in_step(step_work.end_links.V, contact, k, h))
    return most


@inlined
def bounces(contact, k):
    """Tell whether press k comes fast enough to be thrown back."""
    return contact.restitution[k] > 0.0 and contact.before[k, 0] < -contact.rest_speed[k]


@kernel
def turn_in_step(V, contact, k, h):
    """Return how far the two bodies of press k turn in the step [rad]."""
    a, b = contact.link[k, 0], contact.link[k, 1]
    return h * (length((V[a, 0], V[a, 1], V[a, 2])) + length((V[b, 0], V[b, 1], V[b, 2])))


@kernel
def goes_on_pressing(last_contacts, first, before, contact, k):
    """Tell whether press k pressed in the step before, and no collision began there; first: of its meeting."""
    found, j = False, first
    while j < before and last_contacts.meeting[j] == contact.meeting[k]:
        same = last_contacts.key[j, 0] == contact.key[k, 0] and last_contacts.key[j, 1] == contact.key[k, 1]
        found = found or (same and last_contacts.impulse[j, 0] > 0.0 and last_contacts.struck[j] == 0)
        j += 1
    return found


@kernel
def shift_one(contact_out, touches, rates, end_links, k):
    """Add to the shift of press k by how much its rates differ half way from those where the step begins."""
    status, _, m, y1, y2 = place_touch(touches, k, end_links.x, end_links.R)
    side = 1.0 if touches.kind[k, 0] <= touches.kind[k, 1] else -1.0
    n = times(side, m)
    if status != Status.OK or dot(n, three(contact_out.axes, k)) < SAME_WAY:
        return
    p, a, b = times(0.5, plus(y1, y2)), contact_out.link[k, 0], contact_out.link[k, 1]
    u = minus(speed_at(end_links.V, end_links.x, b, p), speed_at(end_links.V, end_links.x, a, p))
    shift, before = contact_out.shift, contact_out.before
    shift[k, 0] += max(dot(n, u) - rates[k, 0], MOST * min(before[k, 0], 0.0))
    if contact_out.rows[k] == 3:
        axes = contact_out.axes
        x = axes[k, 3] * u[0] + axes[k, 4] * u[1] + axes[k, 5] * u[2] - rates[k, 1]
        y = axes[k, 6] * u[0] + axes[k, 7] * u[1] + axes[k, 8] * u[2] - rates[k, 2]
        size, most = math.hypot(x, y), MOST * math.hypot(before[k, 1], before[k, 2])
        share = most / size if size > most else 1.0
        shift[k, 1] += share * x
        shift[k, 2] += share * y


@spliced
def take_middle_again(system, v, v_end, h, v_out):
    """Bring v_out, rates without impulses, from inertia in their middle to that in the middle with them, of v_end.

    Returns a status; velocities are those of v again.
    """
    tables, _, work, _ = unpack(system)
    status, sign = Status.OK, -1.0
    for turn in range(2):
        for i in range(v.size):
            work.moved[i] = 0.5 * (v[i] + (v_out[i] + h * work.freedoms.kick[i] if turn == 0 else v_end[i]))
        move_at(system, tables, work, work.moved)
        hold_turning(tables.rows, work.rows)
        status = respond(system)
        if status != Status.OK:
            break
        leave_centres(tables.links, tables.blocks, work.links, work.moved, work.freedoms)
        for i in range(v.size):
            work.push[i] = (work.push[i] if turn > 0 else 0.0) + sign * h * work.freedoms.vdot[i]
        sign = 1.0
    for i in range(v.size):
        v_out[i] += work.push[i]
    move_at(system, tables, work, v)
    return status


@kernel
def leave_centres(links, blocks, link_work, v, freedom_work):
    """Take from the accelerations of free bodies' origins that they go round their centres of mass."""
    for b in range(1, links.parent.size):
        if goes_by_centre(links, blocks, b):
            k = links.v[b] + 3
            w, c = (v[k], v[k + 1], v[k + 2]), three(links.com_K, b)
            round_centre = outward_axes(link_work.R, b, cross(w, cross(w, c)))
            for i in range(k - 3, k):
                freedom_work.vdot[i] += dot(three(freedom_work.axis, i), round_centre)


__all__ = ["look_half_way", "shift_half_way", "take_middle_again", "touches_on"]
