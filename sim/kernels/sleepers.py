"""Trees that are asleep in time steps: how they are left out, and how they wake.

What is asleep stands where it is, and all that was found of it holds: poses, inertias, forces of its contacts.  Flags
of links leave it out of passes along trees between the start of a step and the slope at its end; whoever else looks at
the mechanism meanwhile finds all of it anew.  Its presses are parked: those of its last step, which rows tell of.
"""

from __future__ import annotations

from sim.kernels.jit import kernel


@kernel
def leave_out(step_work, h):
    """Let passes leave out what is asleep, whose rates do not change; what it was pressed with lasts this step, too."""
    rest, links, freedoms, parked = step_work.rest, step_work.links, step_work.freedoms, step_work.parked
    for b in range(1, rest.asleep.size):
        links.asleep[b] = step_work.end_links.asleep[b] = rest.asleep[b]
        if rest.asleep[b] == 1:
            for i in range(rest.first[b], rest.end[b]):
                freedoms.vdot[i] = 0.0
    for k in range(step_work.stepped.parked[0]):
        if parked.h[k] != h:
            for i in range(3):
                parked.impulse[k, i] *= h / parked.h[k]
            parked.h[k] = h


@kernel
def look_at_sleepers(step_work):
    """Let passes find all of the mechanism again."""
    for b in range(step_work.rest.asleep.size):
        step_work.links.asleep[b] = step_work.end_links.asleep[b] = 0


@kernel
def keep_still(rest, rates_out):
    """Let rates (m,) of what is asleep be zero."""
    for b in range(1, rest.asleep.size):
        if rest.asleep[b] == 1:
            for i in range(rest.first[b], rest.end[b]):
                rates_out[i] = 0.0


@kernel
def rouse(step_work, island):
    """Wake all that fell asleep together, whose root is `island`; every one, if that is -1."""
    rest, stepped = step_work.rest, step_work.stepped
    for b in range(1, rest.asleep.size):
        if rest.asleep[b] == 1 and (island < 0 or rest.island[rest.root[b]] == island):
            rest.asleep[b] = step_work.links.asleep[b] = step_work.end_links.asleep[b] = 0
            rest.time[b] = rest.way[b] = 0.0
            stepped.asleep[0] -= 1
    left = 0
    for k in range(stepped.parked[0]):
        if is_asleep(rest, step_work.parked, k):
            step_work.parked[left] = step_work.parked[k]
            left += 1
        elif stepped.before[0] < step_work.last_contacts.h.size:
            take_back(step_work.parked, k, step_work.last_contacts, stepped.before[0])
            stepped.before[0] += 1
    stepped.parked[0] = left
    forget_rows(step_work.rooted)


@kernel
def forget_rows(rooted_out):
    """Let no row of a press stay in the next step, as presses of the last one stand elsewhere now."""
    for i in range(rooted_out.size):
        rooted_out[i] = 0.0


@kernel
def is_asleep(rest, contact, k):
    """Tell whether press k is one of a link that is asleep."""
    return rest.asleep[contact.link[k, 0]] == 1 or rest.asleep[contact.link[k, 1]] == 1


@kernel
def take_back(parked, k, last_contacts_out, count):
    """Put a press that was parked among the `count` of the last step: by their meetings, those of joints last."""
    at = count
    while at > 0 and comes_before(parked.meeting[k], last_contacts_out.meeting[at - 1]):
        last_contacts_out[at] = last_contacts_out[at - 1]
        at -= 1
    last_contacts_out[at] = parked[k]


@kernel
def comes_before(meeting, other):
    """Tell whether presses of one meeting stand before those of another; -1: of joints."""
    return meeting >= 0 and (other < 0 or meeting < other)


__all__ = ["forget_rows", "is_asleep", "keep_still", "leave_out", "look_at_sleepers", "rouse"]
