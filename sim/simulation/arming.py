"""Which guards are watched from an instant on, in which direction, and what they may be before they fire."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sim.kernels.guards.allowances import allow_what_begins
from sim.kernels.shapes import OPEN, SLIP, SLOW_SLIP, SOFT, SOFT_SLIP, SOFT_STICK, STICK
from sim.kernels.status import Status
from sim.kernels.system import PROJECT, START, WATCH
from sim.kernels.watched import (
    ARMED,
    DISARMED,
    GUARD_CONE,
    GUARD_FRICTION,
    GUARD_GAP,
    GUARD_HOLD,
    GUARD_PART,
    GUARD_PROGRAM,
    GUARD_PULL,
    GUARD_SLIP,
    GUARD_SLOW_SLIP,
    GUARD_STOP,
)
from sim.simulation.schedule import Scheduler

if TYPE_CHECKING:
    from sim.contact.remembered import Contacts
    from sim.kernels.stepper import Stepper
    from sim.kernels.tables import Control
    from sim.kernels.watched import Guards
    from sim.mechanism.formula_programs import Condition
    from sim.mechanism.model import Model
    from sim.mechanism.structure import Structure

# What ends a mode, beside a pull or a gap.
ENDS = {
    STICK: GUARD_CONE, SLIP: GUARD_SLIP, SLOW_SLIP: GUARD_SLOW_SLIP, SOFT_STICK: GUARD_CONE, SOFT_SLIP: GUARD_SLIP,
    SOFT: GUARD_SLIP,  # of none without friction
}  # fmt: skip
# How long [s] after a decision that finds a closed point beside its features at once, by roundoff, these are looked
# for anew.
SOON = 1e-9
# m/s: soft points that slide at less than SLOW when they are decided on do so until they go back at BACK.  Smaller:
# bodies that come to rest on several of them are decided on time and again.  Larger: friction pushes what goes back.
SLOW, BACK = 1e-4, 1e-5


class Watched(Protocol):
    """What arming asks of a motion: a `sim.simulation.flow.Flow`."""

    model: Model
    structure: Structure
    control: Control
    stepper: Stepper
    guards: Guards
    conditions: list[Condition]
    contacts: Contacts | None
    rough: Any
    stops: list[tuple[int, int]]
    time_stepping: bool
    look_again: float

    @property
    def t(self) -> float:
        """Time [s]."""

    def ask(self, question: int, a: np.ndarray, b: np.ndarray) -> int:
        """Ask the mechanism one question now."""

    def present(self) -> set[int]:
        """Return the joints of the tree and of the loops."""

    def largest_force(self) -> float:
        """Return the largest force or torque of contacts, stops and friction, as last observed."""


def arm(flow: Watched, scheduler: Scheduler) -> None:
    """Set which guards are watched, and in which direction."""
    model, guards, n = flow.model, flow.guards.table, len(flow.conditions)
    flow.guards.forces[0], flow.look_again = 0, math.inf
    kind, owner, direction, watched = guards.kind, guards.owner, guards.direction, guards.armed
    events = {event.name: event for event in model.scene.events} if n else {}
    for i, condition in enumerate(flow.conditions):
        armed = not scheduler.spent(events[condition.event])
        kind[i], owner[i], direction[i] = GUARD_PROGRAM, condition.program, 1.0
        watched[i] = (watched[i] or ARMED) if armed else DISARMED
        if armed and condition.forces:
            flow.guards.forces[0] = 1
    if flow.time_stepping:
        return
    stops, first = model.stops, n + len(model.stops) + len(flow.rough)
    guards.allowed[:] = 0.0
    if len(stops):
        present, pressed, of_stops = flow.present(), pressed_stops(flow), slice(n, n + len(stops))
        kind[of_stops], owner[of_stops] = GUARD_STOP, np.arange(len(stops))
        direction[of_stops] = np.where(flow.control.engaged, -1.0, 1.0)
        places = zip(stops.joint.tolist(), flow.stops, strict=True)
        watched[of_stops] = [joint in present and place not in pressed for joint, place in places]
    for i, column in enumerate(flow.rough, start=n + len(stops)):
        friction = flow.control.friction[column : column + 1 + model.columns.both[column]]
        kind[i], owner[i], watched[i] = GUARD_FRICTION, column, int(np.any(friction))
    _arm_contacts(flow, first)
    if flow.structure.bounds:
        _arm_holds(flow, len(guards) - 2 * len(flow.structure.bounds))
    if flow.contacts is not None and model.one_sided:
        _allow(flow, flow.contacts, first)


def pressed_stops(flow: Watched) -> set[tuple[int, int]]:
    """Return the column and the side of every rigid stop that a freedom rests against."""
    bounds = flow.structure.bounds
    upper = {(hold.column, 1) for hold in bounds if hold.low == -math.inf}
    return upper | {(hold.column, -1) for hold in bounds if hold.high == math.inf}


def _arm_holds(flow: Watched, first: int) -> None:
    """Watch the torques of freedoms that are held: none leaves its bounds."""
    guards, rows, shared = flow.guards.table[first:], flow.structure.tables.rows, flow.model.columns.both
    for k, r in enumerate(np.flatnonzero(rows.low < rows.high)):
        both = guards[2 * k : 2 * k + 2]
        both.kind[:], both.owner[:], both.direction[:] = GUARD_HOLD, r, (1.0, -1.0)
        both.armed[:] = np.isfinite((rows.high[r], rows.low[r]))
        if shared[rows.column[r]]:  # of two that share a bound, the first guard sees the size of both torques
            both.armed[1] = DISARMED
        elif shared[rows.column[r] - 1]:
            both.armed[:] = DISARMED
        flow.guards.forces[0] = 1


def _arm_contacts(flow: Watched, first: int) -> None:
    """Watch the gaps of all meetings; of closed points whether they pull or part, and slip or stop slipping."""
    guards, structure = flow.guards.table[first:], flow.structure
    kind, owner, armed = guards.kind, guards.owner, guards.armed
    armed[:], guards.direction[:] = ARMED, 1.0
    m, touches = len(structure.meetings), structure.touches
    kind[:m], owner[:m] = GUARD_GAP, np.arange(m)
    if touches:
        of_points = slice(m, m + 2 * len(touches))
        owner[of_points] = np.repeat(np.arange(len(touches)), 2)
        kind[of_points][::2] = [GUARD_PART if touch.mode < OPEN else GUARD_PULL for touch in touches]
        kind[of_points][1::2] = [ENDS[touch.mode] for touch in touches]
        armed[of_points][1::2] = structure.tables.touches.friction > 0.0
        flow.guards.forces[0] = 1


def _allow(flow: Watched, contacts: Contacts, first: int) -> None:
    """Let guards of what has bounds that begin at these, or a little beyond, fire a little later only.

    first : the first guard of contacts
    """
    guards, y = flow.guards.table, flow.stepper.y
    values, bound, idle = np.zeros(len(guards)), np.zeros(len(guards)), np.zeros(len(guards), np.int64)
    if flow.ask(START, y, flow.stepper.error) == Status.OK:
        flow.ask(PROJECT, y, flow.stepper.error)  # points that are brought to touch move others
    flow.ask(WATCH, y, values)
    if flow.structure.bounds:
        rows, owner, direction = flow.structure.tables.rows, guards.owner, guards.direction
        for g in np.flatnonzero((guards.kind == GUARD_HOLD) & (guards.armed != 0)):
            bound[g] = rows.high[owner[g]] if direction[g] > 0.0 else -rows.low[owner[g]]
    idle[[first + m for m in contacts.idle]] = 1
    if contacts.idle_stops:
        idle[[k for k, place in enumerate(flow.stops, start=len(flow.conditions)) if place in contacts.idle_stops]] = 1
    astray = allow_what_begins(guards, flow.model.stops, values, bound, idle, flow.largest_force())
    _allow_slow(flow, values)
    flow.look_again = flow.t + SOON if astray else contacts.restless.ends()


def _allow_slow(flow: Watched, values: np.ndarray) -> None:
    """Let soft points that hardly slide go back a little before that ends: others lead them to and fro."""
    guards, touches = flow.guards.table, flow.structure.touches
    for g in np.flatnonzero(guards.kind == GUARD_SLIP):
        if touches[guards.owner[g]].mode == SOFT_SLIP and values[g] > -SLOW:
            guards.allowed[g] = max(float(guards.allowed[g]), BACK)
