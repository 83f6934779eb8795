"""What a time step takes and gives: of presses, of controllers and of dampers.

Impulses are exact, and so is the work of each, impulse times the mean of the rates before and after.
"""

from __future__ import annotations

import math

from sim.kernels.dynamics import columns
from sim.kernels.elements import point_motion
from sim.kernels.integrators.end_forces import resisted
from sim.kernels.jit import kernel, spliced
from sim.kernels.kinematics import velocities
from sim.kernels.rows.constraints import block_frames
from sim.kernels.system import unpack
from sim.kernels.tables import DRAG, TORSION
from sim.kernels.unilateral.unbounded import first_spring, is_unbounded, lost_in_spring

# Of its rate without impulses: what a point has before a step if it comes with speed, and does not rest.
OWN = 0.5
SLIDES = 1e-9  # of the largest friction: how near to it a point counts as sliding, where it is told


@kernel
def lost_in(tables, points, h, contact, P, z):
    """Energy that presses take and do not keep [J]: impulses times the mean of speeds before and after.

    z holds the shift, and what soft stops and points give way, too.  These keep what springs do.
    """
    lost = 0.0
    for k in range(points):
        rate = z[k, 0] - contact.shift[k, 0] - contact.soft[k] * P[k, 0]
        if is_unbounded(contact, k):
            lost += lost_in_spring(tables, contact, P, rate, k, h)
            continue
        lost -= 0.5 * P[k, 0] * (contact.before[k, 0] + rate)
        for r in range(1, contact.rows[k]):
            lost -= 0.5 * P[k, r] * (contact.before[k, r] + z[k, r] - contact.shift[k, r])
        if contact.soft[k] > 0.0:
            old, new = min(contact.gap[k], 0.0), min(contact.gap[k] + h * rate, 0.0)
            lost -= 0.5 * contact.stiffness[k] * (new * new - old * old)
    return lost


@spliced
def note_struck(work, points):
    """Note whether bodies came together in this step, and what contacts took that neither did so nor slid.

    Reply: whether they did.
    """
    stepped = work.stepped
    stepped.struck[0] = 0
    for k in range(points):
        work.contacts.struck[k] = 0
        if not (work.contact_P[k, 0] > 0.0 and work.contacts.soft[k] == 0.0 and work.contacts.low[k] == 0.0):
            continue
        if comes(work.contacts, k) and not rolls_on(work.last_contacts, stepped.before[0], work.contacts, k):
            work.contacts.struck[k] = stepped.struck[0] = 1
        else:
            stepped.taken[0] += taken_at(work.contacts, work.contact_P, work.contact_z, k)
    work.reply.struck[0] = stepped.struck[0]


@kernel
def comes(contact, k):
    """Tell whether the bodies of press k come together with a speed of their own, not that of this step's forces."""
    return contact.before[k, 0] < OWN * min(contact.free[k, 0] - contact.shift[k, 0], 0.0)


@kernel
def rolls_on(last_contacts, before, contact, k):
    """Tell whether press k pressed in the step before, too, and no collision began there: this one would end it."""
    on = False
    for j in range(before):
        same = last_contacts.key[j, 0] == contact.key[k, 0] and last_contacts.key[j, 1] == contact.key[k, 1]
        same = same and last_contacts.meeting[j] == contact.meeting[k]
        on = on or (same and last_contacts.impulse[j, 0] > 0.0 and last_contacts.struck[j] == 0)
    return on


@kernel
def taken_at(contact, P, z, k):
    """Energy that press k takes [J] where its law takes none: along its normal; where it sticks, across it, too."""
    taken = -0.5 * P[k, 0] * (contact.before[k, 0] + z[k, 0] - contact.shift[k, 0])
    sticks = math.sqrt(P[k, 1] ** 2 + P[k, 2] ** 2) < (1.0 - SLIDES) * contact.friction[k] * P[k, 0]
    for r in range(1, contact.rows[k] if sticks else 1):
        taken -= 0.5 * P[k, r] * (contact.before[k, r] + z[k, r] - contact.shift[k, r])
    return taken


@spliced
def book_ends(system, q, v_out, h, y_out):
    """Correct the works of a step, which are what acts as it begins gives and takes: controllers and dampers.

    Leaves links and columns at the rates v_out.
    """
    tables, _, work, _ = unpack(system)
    velocities(tables.links, tables.freedoms, v_out, work.links, work.freedoms)
    if tables.blocks.rows.size > 0:
        block_frames(tables.blocks, work.links, work.blocks)
    columns(system, q, v_out)
    put_in, dissipated = y_out.size - 2, y_out.size - 1
    y_out[put_in] += h * given_by_controls(work.ends, h, work.rate)
    y_out[put_in] += given_in_loops(tables, work.stepped.points[0], work.contacts, work.contact_P, work.contact_z)
    y_out[dissipated] += h * taken_by_joints(tables, work.ends, work.rate)
    y_out[dissipated] += h * taken_by_drags(tables.forces, tables.points, h, work.forces, work.links)


@kernel
def given_by_controls(ends, h, rate):
    """Power of controllers in the step, less what it was as it began [W]; without those that are presses."""
    power = 0.0
    for c in range(rate.size):
        resists = 0.0 if ends.freedom[c] < 0 else ends.damping[c] + h * ends.stiffness[c]
        torque = ends.applied[c] - resists * (rate[c] - ends.before[c])
        power += 0.5 * torque * (ends.before[c] + rate[c]) - ends.start[c] * ends.before[c]
    return power


@kernel
def given_in_loops(tables, points, contact, P, z):
    """Energy from controllers in joints that close loops, which are presses [J]."""
    given, first = 0.0, first_spring(tables) + tables.forces.kind.size
    for k in range(points):
        if is_unbounded(contact, k) and contact.key[k, 0] >= first:
            rate = z[k, 0] - contact.shift[k, 0] - contact.soft[k] * P[k, 0]
            given += 0.5 * P[k, 0] * (contact.before[k, 0] + rate)
    return given


@kernel
def taken_by_joints(tables, ends, rate):
    """Power that dampers of joints take in the step, less what it was as it began [W]."""
    taken = 0.0
    for c in range(rate.size):
        taken += tables.columns.damping[c] * damped_more(ends.before[c], rate[c])
    forces = tables.forces
    for f in range(forces.kind.size):
        if forces.kind[f] == TORSION:
            for c in range(forces.column[f], forces.column[f] + forces.turns[f]):
                taken += forces.damping[f] * damped_more(ends.before[c], rate[c])
    return taken


@kernel
def damped_more(before, after):
    """Mean rate times that at the end, which dampers are in proportion to, less the square of that at the start."""
    return 0.5 * after * (before + after) - before * before


@kernel
def taken_by_drags(forces, points, h, force_work, link_work):
    """Power that drags take in the step, less what it was as it began [W]."""
    before, wrench, V, taken = force_work.before, force_work.wrench, link_work.V, 0.0
    for f in range(forces.kind.size):
        if forces.kind[f] == DRAG:
            turning, moving = resisted(forces, f, before)
            v, b = point_motion(points, link_work, forces.a[f]), points.body[forces.a[f]]
            for i in range(6):
                after, resists = V[b, i], turning
                if i >= 3:
                    after, resists = v[i], moving
                force = wrench[f, i] - resists * (after - before[f, i])
                taken += wrench[f, i] * before[f, i] - 0.5 * force * (before[f, i] + after)
    return taken


__all__ = ["OWN", "SLIDES", "book_ends", "comes", "lost_in", "note_struck", "rolls_on", "taken_at"]
