"""Friction against spinning and rolling in time steps: moments at a point of contact, bound by what presses it.

    |M_n| <= mu r_patch F_n,    |M_t| <= r_rolling F_n,

each against the relative turning along it where that does not stop.  A patch of radius R under even pressure resists
spinning on the spot with 2/3 mu R F_n, under Hertz' pressure with 3 pi / 16 mu R F_n: r_patch is that share of R
(Johnson, Contact Mechanics, 1985).  Both bounds and the cone of friction hold by themselves; what couples spinning and
sliding (Contensou, 1963; Howe & Cutkosky, 1996) is left out.  r_rolling is the arm by which the pressure leads ahead of
what rolls.

Each is a press of its own, which nothing presses: its rows are turnings times the radius, so that impulses are in N s.
"""

from __future__ import annotations

from sim.kernels.jit import inlined, kernel, spliced

NOTHING = (0.0, 0.0, 0.0)
MANY = 1 << 24  # features of a shape, at most: keys of both make one number


@spliced
def add_turning(tables, work, first):
    """Add friction against turning of presses from `first` on, all of shapes.  Tells whether there was room."""
    contact, room = work.contacts, True
    for p in range(first, work.stepped.points[0]):
        m = contact.meeting[p]
        if m < 0:
            continue
        for spins in range(2):
            radius = work.laws[m, 6] if spins else work.laws[m, 7]
            if not radius > 0.0 or (spins and not contact.friction[p] > 0.0):
                continue
            k = work.stepped.points[0]
            if k == work.contact_P.shape[0]:
                room = False
                continue
            put_turning_friction(contact, p, spins, radius, k)
            work.stepped.points[0] += 1
    return room


@kernel
def put_turning_friction(contact_out, p, spins, radius, k):
    """Write friction against spinning, or rolling, of press p as press k."""
    contact_out.of[k], contact_out.spins[k], contact_out.meeting[k], contact_out.kept[k] = p + 1, spins, -1, -1
    contact_out.key[k, 0] = -2 - 2 * contact_out.meeting[p] - spins
    contact_out.key[k, 1] = contact_out.key[p, 0] * MANY + contact_out.key[p, 1]
    contact_out.rows[k], contact_out.friction[k], contact_out.soft[k], contact_out.stiffness[k] = 3, 0.0, 0.0, 0.0
    contact_out.low[k] = contact_out.high[k] = contact_out.gap[k] = 0.0
    contact_out.restitution[k] = contact_out.rest_speed[k] = 0.0
    for side in range(2):
        contact_out.link[k, side] = contact_out.link[p, side]
    n, t1, t2 = axis_of_press(contact_out, p, 0), axis_of_press(contact_out, p, 1), axis_of_press(contact_out, p, 2)
    for r in range(3):
        e = NOTHING
        if r == 1:
            e = n if spins else t1
        elif r == 2 and not spins:
            e = t2
        for i in range(3):
            contact_out.axes[k, 3 * r + i], contact_out.p[k, i] = e[i], contact_out.p[p, i]
            contact_out.K[k, r, i], contact_out.K[k, r, 6 + i] = radius * e[i], -radius * e[i]
            contact_out.K[k, r, 3 + i] = contact_out.K[k, r, 9 + i] = 0.0


@inlined
def axis_of_press(contact, p, r):
    """Axis r of press p, world axes."""
    return contact.axes[p, 3 * r], contact.axes[p, 3 * r + 1], contact.axes[p, 3 * r + 2]
