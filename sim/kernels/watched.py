"""What is watched between two events, and what is known of it within a span of time."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

GUARD = np.dtype(
    [
        ("kind", "i8"),
        ("owner", "i8"),  # program, stop, column, row, meeting or touch
        ("direction", "f8"),  # +1: fires when the value rises through zero, -1: when it falls
        ("armed", "i8"),  # 0: no, 1: yes, 2: once the value has left by the hysteresis
        ("value", "f8"),  # when last looked at
        ("peak", "f8"),  # largest magnitude of the value at the ends of steps since it fired
        ("allowed", "f8"),  # what the value may be before it fires: m, N or m/s; of joints rad, N m or rad/s, too
    ],
    align=True,
)

# A condition; a stop's depth; of a freedom that rubs its rate, of one that is held its torque; of two shapes their gap;
# of a point of contact its pull, grip or slip; of a soft one its gap.
GUARD_PROGRAM, GUARD_STOP, GUARD_FRICTION, GUARD_HOLD = range(4)
GUARD_GAP, GUARD_PULL, GUARD_CONE, GUARD_SLIP, GUARD_SLOW_SLIP, GUARD_PART = range(4, 10)
DISARMED, ARMED, WAITING_TO_LEAVE = 0, 1, 2
# What is known of a guard within a span of time: its ends tell all; not yet; nothing, as it reads forces; it stays
# below zero, so that its value need not be known; of two shapes that touch, its ends tell all.
CLEAR, WITHIN, SAMPLED, FAR, TOUCHING = range(5)
# What goes with a question about a span: its length [s]; the fraction of it that is the place of reference; how many
# conditions that waited are armed again there.  Then the verdicts.
SPAN_SECONDS, SPAN_AT, SPAN_ARMED = range(3)
SPAN_HEADER = 3
LEVELS = 40  # halvings of a step within which a crossing is looked for

# A guard that has fired waits until its value is below zero by this share of its peak, or by the least.
# Smaller: roundoff about zero fires it again.  Larger: motion that comes back at once is missed.
HYSTERESIS, LEAST_HYSTERESIS = 1e-6, 1e-12


class Guards(NamedTuple):
    """What is watched between two events, and where a recorded row puts what."""

    table: Annotated[Any, GUARD]  # (guards,)
    forces: Annotated[Any, "i8"]  # (1,) 1 when a guard reads forces
    layout: Annotated[Any, "i8"]  # first number of each part of a recorded row
