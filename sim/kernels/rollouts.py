"""Many states of one structure, each followed by itself; the interpreter's lock is not held meanwhile.

Every state starts from the same memory, so that nothing of a motion depends on which states a thread
has followed before.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from sim.kernels.advance import advance, begin
from sim.kernels.guards.crossings import crosses
from sim.kernels.jit import spliced, unlocked_driver
from sim.kernels.status import Status
from sim.kernels.stepper import FOLLOWS, FRESH, T
from sim.kernels.system import SETTLE, TURNS, WATCH, ask, unpack

STEPS_A_CALL = 1 << 40


class Machine(NamedTuple):
    """What follows motions: who answers, what all stands in, and the integrator."""

    answers: Any
    system: Any
    reply_out: Any
    stepper: Any
    memory_out: Any  # all that controls, work, guards and stepper hold
    row_out: Any


class Motions(NamedTuple):
    """Motions of n states, sampled at the same times."""

    q_out: Any  # (n, samples, nq)
    v_out: Any  # (n, samples, nv)
    status_out: Any  # (n,)
    reached_out: Any  # (n,) the last sample that was reached, or -1


@spliced
def touch(g, guards, control):
    """Let a stop's guard change sides: it acts and waits to be left, or is free and waits to be touched."""
    stop = guards.table.owner[g]
    control.engaged[stop] = 1 - control.engaged[stop]
    guards.table.direction[g] = -1.0 if control.engaged[stop] else 1.0


@spliced
def finite(y):
    """Tell whether all numbers of a state are finite."""
    sound = True
    for i in range(y.size):
        sound = sound and math.isfinite(y[i])
    return sound


@spliced
def set_out(answers, system, reply_out, stepper, guards, control):
    """Begin: loop joints within half a turn, stops touched that are pressed, loops closed.  Returns a status."""
    y, t = stepper.y, stepper.clock[T]
    if not finite(y):
        return Status.NOT_FINITE
    ask(answers, WATCH, system, t, y, stepper.guard_old)
    ask(answers, TURNS, system, t, y, stepper.error)
    for g in range(stepper.guard_old.size):
        if stepper.guard_old[g] > 0.0:
            touch(g, guards, control)
    status = begin(answers, system, reply_out, stepper)
    return status if finite(y) or status != Status.OK else Status.NOT_FINITE


@spliced
def go_on(answers, system, reply_out, stepper, guards, control, row_out, t_stop):
    """Flow to t_stop, touching and leaving stops on the way.  Returns a status."""
    while True:
        status, _ = advance(answers, system, reply_out, stepper, row_out, t_stop, STEPS_A_CALL)
        if status == Status.REACHED:
            return Status.OK
        if status == Status.GUARD:
            for g in range(stepper.guard_old.size):
                if crosses(stepper.guard_old[g], stepper.guard_new[g]):
                    touch(g, guards, control)
            stepper.count[FRESH] = 0
        elif status != Status.PAUSE:
            return status


@spliced
def hold(torques, s, k, control):
    """Hold the torques of sample k of state s; tells whether they are others than before."""
    changed = False
    for c in range(torques.shape[2]):
        if control.held[c] != torques[s, k, c]:
            control.held[c] = torques[s, k, c]
            changed = True
    return changed


@spliced
def slope_anew(answers, system, stepper):
    """Slope after other torques than those of the last step's end; its state and rows stay.  Returns a status."""
    stepper.count[FOLLOWS] = -1  # a step does not begin as the one before has ended
    if stepper.guard_old.size > 0:  # the guards looked at other states since
        stepper.count[FRESH] = 0
        return Status.OK
    return ask(answers, SETTLE, system, stepper.clock[T], stepper.y, stepper.k[0])


@spliced
def write(y, s, k, q_out, v_out):
    """Put a state down as sample k of state s."""
    nq, nv = q_out.shape[2], v_out.shape[2]
    for i in range(nq):
        q_out[s, k, i] = y[i]
    for i in range(nv):
        v_out[s, k, i] = y[nq + i]


@spliced
def follow_one(machine, torques, t, dt, s, q_out, v_out):
    """Follow state s, which stands in stepper.y, sample by sample.  Returns (status, last sample reached or -1)."""
    answers, system, reply_out, stepper = machine.answers, machine.system, machine.reply_out, machine.stepper
    _, control, work, guards = unpack(system)
    if torques.shape[1] > 0:
        hold(torques, s, 0, control)
    status = set_out(answers, system, reply_out, stepper, guards, control)
    if status != Status.OK:
        return status, -1
    write(stepper.y, s, 0, q_out, v_out)
    for k in range(1, q_out.shape[1]):
        if torques.shape[1] > 0 and hold(torques, s, k - 1, control):
            status = slope_anew(answers, system, stepper)
        if status == Status.OK:
            work.one.intact[0] = 0  # as between two calls of a run, so that its bits are the same
            status = go_on(answers, system, reply_out, stepper, guards, control, machine.row_out, t + k * dt)
        if status != Status.OK:
            return status, k - 1
        write(stepper.y, s, k, q_out, v_out)
    return Status.OK, q_out.shape[1] - 1


@unlocked_driver
def roll_out(machine, fresh, states, torques, t, dt, first, end, motions):
    """Follow the states from `first` to before `end`, sampled every dt [s] from t on.

    fresh: what the machine's memory holds at the start.
    states: (n, nq + nv).  torques: (n, samples - 1, columns), or (0, 0, 0) when none are held.
    motions: q and v are nan from where a motion could not be continued, with its status and the last sample reached,
    -1 when it could not begin.
    """
    memory_out, stepper, q_out, v_out = machine.memory_out, machine.stepper, motions.q_out, motions.v_out
    for s in range(first, end):
        for i in range(fresh.size):
            memory_out[i] = fresh[i]
        for i in range(states.shape[1]):
            stepper.y[i] = states[s, i]
        status, reached = follow_one(machine, torques, t, dt, s, q_out, v_out)
        for k in range(reached + 1, q_out.shape[1]):
            for i in range(q_out.shape[2]):
                q_out[s, k, i] = math.nan
            for i in range(v_out.shape[2]):
                v_out[s, k, i] = math.nan
        motions.status_out[s], motions.reached_out[s] = status, reached
