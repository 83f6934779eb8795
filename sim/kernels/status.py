"""How kernels end."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """How a kernel ended; sentences are made in `sim.simulation.messages`."""

    OK = 0
    REACHED = 1  # the time asked for
    GUARD = 2  # a guard crossed zero
    PAUSE = 3  # enough steps for one call, or the sample buffer is full
    STEP_TOO_SMALL = 4
    NOT_FINITE = 5
    MASS_SINGULAR = 6  # index: the degree of freedom without inertia
    INCONSISTENT = 7  # index: the row whose redundant equation contradicts the others
    NO_CLOSURE = 8  # projection did not reach the constraints
    CALLBACK = 9  # a Python controller raised
    NOT_SOLVED = 10  # Newton's iteration for the stages of an implicit step did not converge
    JAMMED = 11  # friction of sliding points has no finite answer: Painleve's paradox
    CROWDED = 12  # more points may press within a time step than there is room for
    ENTANGLED = 13  # formulas that read forces, and these forces, have not one answer together
    WOKEN = 14  # a time step reaches what was asleep, and is to be made anew; none ends so
