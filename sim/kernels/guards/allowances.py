"""How far guards may be beyond zero, or beyond their bounds, before they fire: those that begin there fire later."""

from __future__ import annotations

from sim.kernels.jit import kernel, python_kernel
from sim.kernels.watched import (
    GUARD_FRICTION,
    GUARD_GAP,
    GUARD_PART,
    GUARD_PROGRAM,
    GUARD_SLIP,
    GUARD_SLOW_SLIP,
    GUARD_STOP,
)

ROUNDOFF = 1e-10  # of the largest force of a contact: below it nothing pulls or slips
# Of the largest force, and m/s: how far beyond zero forces and slips of contacts fire that begin at zero.  Smaller:
# roundoff fires them.  Larger: friction beyond its cone shows.
BEGUN, BACKWARD = 1e-12, 5e-8
# How much deeper a point may get that touches and carries nothing until it is decided on again: this share of what it
# has left to the depth [m] that none gets beyond.  Depth at which a point still counts as touching.
RESTING, DEEPEST, TOUCHING = 0.2, 1e-9, 1e-6
# m: gap at which a soft point may begin that goes on to close, at most.
APART = 2e-9
# Value of a gap's guard where a closed point has left its features.
ASTRAY = 1.0


@python_kernel
def allow_what_begins(guards_out, stops, values, bound, idle, largest):
    """Fill what guards may be before they fire; tells whether a gap's point has left its features.

    bound: (guards,) where each has its bound, else zero; idle: (guards,) 1 of gaps that are closed without a force;
    largest: force of contacts, stops and friction
    """
    astray = 0
    for g in range(values.size):
        kind, value, at = guards_out.kind[g], values[g], bound[g]
        if kind == GUARD_GAP and value == ASTRAY:
            astray = 1
        if kind == GUARD_PROGRAM or (kind == GUARD_STOP and stops.rigid[guards_out.owner[g]] == 0):
            guards_out.allowed[g] = 0.0
            continue
        least, most = begins_within(kind, largest)
        if idle[g]:
            least = RESTING * max(DEEPEST - max(value, 0.0), 0.0)
        over = value - at
        guards_out.allowed[g] = at + (least + max(over, 0.0) if -least < over <= most else 0.0)
    return astray


@kernel
def begins_within(kind, largest):
    """Return how far before its bound a guard counts as beginning there, and how far behind."""
    if kind == GUARD_SLIP or kind == GUARD_SLOW_SLIP or kind == GUARD_FRICTION:
        return BACKWARD, BACKWARD
    if kind == GUARD_GAP or kind == GUARD_STOP:
        return 0.0, TOUCHING
    if kind == GUARD_PART:
        return 0.0, APART
    return BEGUN * largest, ROUNDOFF * largest


@python_kernel
def largest_force(points, stopping, columns):
    """Return the largest of what points press with and of what stops and friction of joints do, or can do."""
    largest = 0.0
    for k in range(points.size):
        largest = max(largest, points.pressing[k])
    for c in range(columns.size):
        largest = max(largest, abs(stopping[c]), columns.friction[c])
    return largest
