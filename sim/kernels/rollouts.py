"""Many states of one structure, each followed by itself; the interpreter's lock is not held meanwhile.

Every state starts from the same memory, so that nothing of a motion depends on which states a thread
has followed before.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from sim.kernels.advance import advance, begin
from sim.kernels.guards.crossings import crosses
from sim.kernels.integrators.integrate import PRESSED
from sim.kernels.jit import kernel, spliced, unlocked_driver
from sim.kernels.status import Status
from sim.kernels.stepper import ACCEPTED, FOLLOWS, FRESH, METHOD, STEP_FIXED, T
from sim.kernels.system import GLANCE, SETTLE, START, STEPPING, TURNS, WATCH, ask, unpack

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
    # Of these, no sample where they are not asked for; those of contacts are of time steps.
    energy_out: Any  # (n, samples, 5) J: kinetic, potential, dissipated, lost in impacts, put in
    force_out: (
        Any  # (n, samples, rules, 3) N, world: in the step that ends there, on the bodies that a rule names first
    )
    impulse_out: Any  # (n, samples, rules, 3) N s: of all steps since the sample before
    law_out: Any  # (n, samples, 2) the worst of these steps: depth of an overlap, m; distance from the laws


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
def set_out(answers, system, reply_out, stepper, guards, control, work):
    """Begin: loop joints within half a turn, stops touched that are pressed, loops closed.  Returns a status."""
    y, t = stepper.y, stepper.clock[T]
    if not finite(y):
        return Status.NOT_FINITE
    ask(answers, WATCH, system, t, y, stepper.guard_old)
    ask(answers, TURNS, system, t, y, stepper.error)
    for g in range(stepper.guard_old.size):
        if stepper.guard_old[g] > 0.0:
            touch(g, guards, control)
    if stepper.count[METHOD] == PRESSED and control.fed.size > 0:
        foresee(answers, system, reply_out, stepper, work)
    status = begin(answers, system, reply_out, stepper)
    return status if finite(y) or status != Status.OK else Status.NOT_FINITE


@spliced
def foresee(answers, system, reply_out, stepper, work):
    """Let contacts press as they will in the first time step: formulas read their forces.

    What is wrong is told by the step itself.
    """
    y, t, slope = stepper.y_work, stepper.clock[T], stepper.k[0]
    for i in range(y.size):
        y[i] = stepper.y[i]
    reply_out.h[0] = stepper.clock[STEP_FIXED]
    status = ask(answers, START, system, t, y, stepper.error)
    if status == Status.OK:
        status = ask(answers, SETTLE, system, t, y, slope)
    if status == Status.OK:
        ask(answers, STEPPING, system, t, y, stepper.rows)
    forget_steps(work.stepped)


@kernel
def forget_steps(stepped_out):
    """Count no steps yet; what pressed in the last one is kept."""
    stepped_out.most[0] = stepped_out.sweeps[0] = stepped_out.steps[0] = stepped_out.struck[0] = 0
    stepped_out.residual[0] = stepped_out.overlap[0] = stepped_out.taken[0] = 0.0


@spliced
def go_on(machine, parts, t_stop, s, k, impulse_out):
    """Flow to t_stop, touching and leaving stops on the way.  Returns a status.

    parts: Tables, Control, Work and Guards.  impulse_out: the impulses of time steps are added to sample k of state s.
    """
    answers, system, reply_out, stepper = machine.answers, machine.system, machine.reply_out, machine.stepper
    tables, control, work, guards = parts
    told = impulse_out.shape[1] > 0
    steps = 1 if told else STEPS_A_CALL
    while True:
        made = stepper.count[ACCEPTED]
        status, _ = advance(answers, system, reply_out, stepper, machine.row_out, t_stop, steps)
        if told and stepper.count[ACCEPTED] > made:
            add_impulses(tables.meetings, work.last_contacts, work.stepped.before[0], False, impulse_out[s, k])
            add_impulses(tables.meetings, work.parked, work.stepped.parked[0], False, impulse_out[s, k])
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
def follow_one(machine, torques, t, dt, s, motions):
    """Follow state s, which stands in stepper.y, sample by sample.  Returns (status, last sample reached or -1)."""
    answers, system, stepper = machine.answers, machine.system, machine.stepper
    tables, control, work, guards = unpack(system)
    parts = (tables, control, work, guards)
    if torques.shape[1] > 0:
        hold(torques, s, 0, control)
    status = set_out(answers, system, machine.reply_out, stepper, guards, control, work)
    if status != Status.OK:
        return status, -1
    write(stepper.y, s, 0, motions.q_out, motions.v_out)
    tell_sample(answers, system, stepper, tables, work, s, 0, motions)
    for k in range(1, motions.q_out.shape[1]):
        if torques.shape[1] > 0 and hold(torques, s, k - 1, control):
            status = slope_anew(answers, system, stepper)
        if status == Status.OK:
            if stepper.count[METHOD] != PRESSED:
                work.one.intact[0] = 0  # as between two calls of a run, so that its bits are the same
            status = go_on(machine, parts, t + k * dt, s, k, motions.impulse_out)
        if status != Status.OK:
            return status, k - 1
        write(stepper.y, s, k, motions.q_out, motions.v_out)
        tell_sample(answers, system, stepper, tables, work, s, k, motions)
    return Status.OK, motions.q_out.shape[1] - 1


@spliced
def tell_sample(answers, system, stepper, tables, work, s, k, motions):
    """Tell what is asked for beside the state of sample k of state s."""
    energy_out, law_out, stepped = motions.energy_out, motions.law_out, work.stepped
    if energy_out.shape[1] > 0:
        ask(answers, GLANCE, system, stepper.clock[T], stepper.y, stepper.guard_mid)
        energy_out[s, k, 0], energy_out[s, k, 1] = work.one.kinetic[0], work.one.potential[0]
        energy_out[s, k, 2], energy_out[s, k, 3] = stepper.y[stepper.y.size - 1], 0.0
        energy_out[s, k, 4] = stepper.y[stepper.y.size - 2]
    if law_out.shape[1] > 0:
        if k > 0:
            add_impulses(tables.meetings, work.last_contacts, stepped.before[0], True, motions.force_out[s, k])
            add_impulses(tables.meetings, work.parked, stepped.parked[0], True, motions.force_out[s, k])
        law_out[s, k, 0], law_out[s, k, 1] = stepped.overlap[0], stepped.residual[0]
        stepped.overlap[0] = stepped.residual[0] = 0.0


@kernel
def add_impulses(meetings, last_contacts, count, rated, impulses_out):
    """Add the impulses of the last step [N s] to those of their rules (rules, 3); rated: as forces [N]."""
    for k in range(count):
        m = last_contacts.meeting[k]
        if m >= 0:
            rule, sign = meetings.rule[m], 1.0 if last_contacts.link[k, 1] == meetings.named[m] else -1.0
            for r in range(last_contacts.rows[k]):
                P = sign * last_contacts.impulse[k, r] / (last_contacts.h[k] if rated else 1.0)
                for i in range(3):
                    impulses_out[rule, i] += P * last_contacts.axes[k, 3 * r + i]


@kernel
def fill(values_out, s, first, value):
    """Fill what is told of state s (n, samples, numbers) from sample `first` on."""
    for k in range(first, values_out.shape[1]):
        for i in range(values_out.shape[2]):
            values_out[s, k, i] = value


@kernel
def fill_rules(values_out, s, first, value):
    """Fill what is told of rules (n, samples, rules, 3) of state s from sample `first` on."""
    for k in range(first, values_out.shape[1]):
        for c in range(values_out.shape[2]):
            for i in range(3):
                values_out[s, k, c, i] = value


@unlocked_driver
def roll_out(machine, fresh, states, torques, t, dt, first, end, motions):
    """Follow the states from `first` to before `end`, sampled every dt [s] from t on.

    fresh: what the machine's memory holds at the start.
    states: (n, nq + nv).  torques: (n, samples - 1, columns), or (0, 0, 0) when none are held.
    motions: what is told is nan from where a motion could not be continued, with its status and the last sample
    reached, -1 when it could not begin.
    Returns the state from which to go on with more room for what presses, or `end`.
    """
    memory_out, stepper = machine.memory_out, machine.stepper
    for s in range(first, end):
        for i in range(fresh.size):
            memory_out[i] = fresh[i]
        for i in range(states.shape[1]):
            stepper.y[i] = states[s, i]
        fill_rules(motions.force_out, s, 0, 0.0)
        fill_rules(motions.impulse_out, s, 0, 0.0)
        status, reached = follow_one(machine, torques, t, dt, s, motions)
        if status == Status.CROWDED:
            return s
        fill(motions.q_out, s, reached + 1, math.nan)
        fill(motions.v_out, s, reached + 1, math.nan)
        fill(motions.energy_out, s, reached + 1, math.nan)
        fill(motions.law_out, s, reached + 1, math.nan)
        fill_rules(motions.force_out, s, reached + 1, math.nan)
        fill_rules(motions.impulse_out, s, reached + 1, math.nan)
        motions.status_out[s], motions.reached_out[s] = status, reached
    return end
