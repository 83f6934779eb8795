"""The flow between two events: steps, guards on the dense output, samples; the one door for Python."""

from __future__ import annotations

import math

from sim.kernels.dynamics import columns, factorise, keep_rows, move
from sim.kernels.forces import stop_depth
from sim.kernels.integrate import (
    DOP853,
    RK4,
    dop853_dense,
    dop853_error,
    dop853_step,
    hermite,
    interpolate,
    moved_norm,
    rk4_step,
    semi_implicit_step,
    slope,
)
from sim.kernels.jit import chapter, story, story_door
from sim.kernels.observe import look, observe
from sim.kernels.programs import run_program
from sim.kernels.project import project, refresh
from sim.kernels.spatial import quaternion_of
from sim.model import (
    ACCEPTED,
    CROSSED,
    END,
    EVALUATIONS,
    FILLED,
    FRESH,
    GUARD_PROGRAM,
    MAX_STEP,
    METHOD,
    NEXT_SAMPLE,
    RATE,
    REJECTED,
    RTOL,
    SMALL,
    STEP,
    STEP_FIXED,
    THETA,
    WAITING,
    H,
    Status,
    T,
)

# A step this short [s] counts as stalled when a thousand follow each other.
# Shorter: a stall at a singular pose takes minutes to be noticed.  Longer: stiff scenes would be refused.
STALLED = 1e-8
# Contradiction of a redundant row, relative to its terms, at which no motion exists.
CONTRADICTION = 1e-6
# Largest ratio of a step to the one before.  Larger: the interpolant, of one order less than the step, falls behind
# where the motion quickens again.  Smaller: more steps after every quick moment.
GROWTH = 1.6
EPSILON = 2.220446049250313e-16  # spacing of floats at 1


@chapter
def write_sample(work, layout, nq, nv, t, y, row_out):
    """One row of the recording, from `work` as `observe` left it."""
    row_out[0] = t
    a = layout[0]
    for b in range(1, work.bodies.p_WB.shape[0]):
        for i in range(3):
            row_out[a + i] = work.bodies.p_WB[b, i]
            row_out[a + 7 + i] = work.bodies.V_WB[b, 3 + i]
            row_out[a + 10 + i] = work.bodies.V_WB[b, i]
            row_out[a + 13 + i] = work.bodies.com[b, i]
        w, x, y_, z = quaternion_of(work.bodies.R_WB[b])
        row_out[a + 3], row_out[a + 4], row_out[a + 5], row_out[a + 6] = w, x, y_, z
        a += 16
    a = layout[1]
    c = work.coordinate.size
    for i in range(c):
        row_out[a + i] = work.coordinate[i]
        row_out[a + c + i] = work.rate[i]
        row_out[a + 2 * c + i] = work.torque[i]
    a = layout[2]
    for j in range(work.joints.force.shape[0]):
        for i in range(6):
            row_out[a + i] = work.joints.force[j, i]
        for i in range(3):
            row_out[a + 6 + i] = work.joints.p_WJ[j, i]
        row_out[a + 9] = work.joints.determinate[j]
        a += 10
    a = layout[3]
    row_out[a], row_out[a + 1] = work.one.energy[0, 0], work.one.energy[0, 1]
    row_out[a + 2], row_out[a + 3] = y[nq + nv + 1], y[nq + nv]
    for i in range(4):
        row_out[a + 4 + i] = work.one.trust[0, i]
    a = layout[4]
    for i in range(nq + nv):
        row_out[a + i] = y[i]


@story_door
def sample(tables, control, work, layout, nq, nv, t, y, N_work, row_out):
    """Observe a state and write its row.  Returns a status."""
    status = observe(tables, control, work, t, y[:nq], y[nq : nq + nv], N_work)
    write_sample(work, layout, nq, nv, t, y, row_out)
    return status


@story
def guard_values(tables, control, work, stepper, guards, layout, nq, nv, t, y, values_out):
    """Signed values of all guards at a state, positive where they have fired.  Returns a status."""
    status = Status.OK
    if guards.forces[0]:
        status = sample(tables, control, work, layout, nq, nv, t, y, stepper.N, stepper.row)
    else:
        look(tables, control, work, t, y[:nq], y[nq : nq + nv])
    table = guards.table
    for g in range(table.kind.size):
        if not table.armed[g]:
            values_out[g] = -1.0
        elif table.kind[g] == GUARD_PROGRAM:
            values_out[g] = table.direction[g] * run_program(tables, work, table.owner[g], t)
        else:
            values_out[g] = table.direction[g] * stop_depth(tables.stops, work.coordinate, table.owner[g])
    return status


@chapter
def state_at(tables, work, stepper, theta, nq, nv, y_out):
    """State inside the last step, brought to the constraints.  Returns a status."""
    interpolate(stepper.y, stepper.dense, theta, y_out)
    return project(tables, work, y_out[:nq], y_out[nq : nq + nv], stepper.moved, stepper.saved)


@story
def first_crossing(tables, control, work, stepper, guards, layout, nq, nv):
    """Fraction of the last step at which the first guard fires, and which; 2 and -1 without.

    Guards are sampled at four places inside the step and at its end; the crossing is narrowed to
    neighbouring floats on projected states, by secant steps with bisection.
    """
    n = guards.table.kind.size
    t, h = stepper.clock[T], stepper.clock[STEP]
    old, new, y = stepper.guard_old, stepper.guard_new, stepper.y_work
    low = 0.0
    for piece in range(1, 6):
        high = piece / 5.0
        if piece < 5:
            interpolate(stepper.y, stepper.dense, high, y)
        else:
            for i in range(y.size):
                y[i] = stepper.y_new[i]
        guard_values(tables, control, work, stepper, guards, layout, nq, nv, t + high * h, y, new)
        crossed = False
        for g in range(n):
            if old[g] < 0.0 and new[g] >= 0.0:
                crossed = True
        if crossed:
            return narrow(tables, control, work, stepper, guards, layout, nq, nv, low, high)
        for g in range(n):
            old[g] = new[g]
        low = high
    return 2.0, -1


@chapter
def narrow(tables, control, work, stepper, guards, layout, nq, nv, low, high):
    """Bracket the earliest crossing between two fractions of the step; returns (fraction, guard).

    stepper.guard_old and guard_new hold the values at both ends and are kept so.
    """
    t, h = stepper.clock[T], stepper.clock[STEP]
    old, new, mid, y = stepper.guard_old, stepper.guard_new, stepper.guard_mid, stepper.y_work
    smallest = 2.0 * EPSILON * max(abs(t), abs(t + h)) / abs(h)
    side = 0
    for trial in range(200):
        if high - low <= smallest:
            break
        # earliest secant crossing of all guards that cross in this bracket
        theta = high
        for g in range(old.size):
            if old[g] < 0.0 and new[g] >= 0.0:
                theta = min(theta, low + (high - low) * (-old[g]) / (new[g] - old[g]))
        if trial % 3 == 2 or not low < theta < high:
            theta = 0.5 * (low + high)
        else:  # lean a little over the root, so that both ends close in
            lean = 0.25 * smallest if trial > 3 else 0.0
            theta = min(max(theta + (lean if side < 0 else -lean), low + 0.25 * smallest), high - 0.25 * smallest)
            if not low < theta < high:
                theta = 0.5 * (low + high)
        state_at(tables, work, stepper, theta, nq, nv, y)
        guard_values(tables, control, work, stepper, guards, layout, nq, nv, t + theta * h, y, mid)
        crossed = False
        for g in range(old.size):
            if old[g] < 0.0 and mid[g] >= 0.0:
                crossed = True
        side = 1 if crossed else -1
        if crossed:
            high = theta
        else:
            low = theta
        for g in range(old.size):
            if crossed:
                new[g] = mid[g]
            else:
                old[g] = mid[g]
    for g in range(old.size):
        if old[g] < 0.0 and new[g] >= 0.0:
            return high, g
    return high, -1


@chapter
def samples_until(tables, control, work, stepper, layout, nq, nv, rows_out):
    """Write the samples before the end of the last step, or before its guard; False where rows_out is full.

    Times are compared, not fractions of the step: a sample that falls on the end belongs to the next step.
    """
    t, h, count = stepper.clock[T], stepper.clock[STEP], stepper.count
    while count[NEXT_SAMPLE] / stepper.clock[RATE] < stepper.clock[END]:
        if count[FILLED] >= rows_out.shape[0]:
            return False
        ts = count[NEXT_SAMPLE] / stepper.clock[RATE]
        state_at(tables, work, stepper, max((ts - t) / h, 0.0), nq, nv, stepper.y_work)
        sample(tables, control, work, layout, nq, nv, ts, stepper.y_work, stepper.N, rows_out[count[FILLED]])
        count[FILLED] += 1
        count[NEXT_SAMPLE] += 1
    return True


@chapter
def begin(tables, control, work, stepper, guards, layout, nq, nv):
    """Bring the state to the constraints, and find its slope and guards.  Returns a status."""
    y, t = stepper.y, stepper.clock[T]
    move(tables, work, y[:nq], y[nq : nq + nv])
    status = factorise(tables, work, True)
    if status != Status.OK:
        return status
    keep_rows(work)
    status = project(tables, work, y[:nq], y[nq : nq + nv], stepper.moved, stepper.saved)
    if status != Status.OK:
        return status
    if guards.table.kind.size > 0:
        guard_values(tables, control, work, stepper, guards, layout, nq, nv, t, y, stepper.guard_old)
        project(tables, work, y[:nq], y[nq : nq + nv], stepper.moved, stepper.saved)
    keep_rows(work)
    worst = refresh(tables, control, work, t, y[:nq], y[nq : nq + nv])
    slope(tables, work, nq, nv, y, stepper.k[0])
    stepper.count[EVALUATIONS] += 1
    if control.failed[0]:
        return Status.CALLBACK
    if worst > CONTRADICTION:
        return Status.INCONSISTENT
    if stepper.clock[H] <= 0.0:
        stepper.clock[H] = first_step(tables, work, y[nq : nq + nv], stepper.clock[MAX_STEP])
    stepper.count[FRESH] = 1
    return Status.OK


@chapter
def first_step(tables, work, v, max_step):
    """A step that is short against the fastest freedom [s]."""
    length, worst = tables.one.length[0], 0.0
    for k in range(v.size):
        unit = length if tables.freedoms.linear[k] else 1.0
        worst = max(worst, abs(v[k]) / unit, math.sqrt(abs(work.freedoms.vdot[k]) / unit))
    return min(0.05 / (worst + 1e-3), max_step)


@chapter
def attempt(tables, control, work, stepper, h, nq, nv):
    """One trial step into stepper.y_new.  Returns (status, error in units of the tolerance)."""
    t, method, y, k = stepper.clock[T], stepper.count[METHOD], stepper.y, stepper.k
    error = 0.0
    if method == DOP853:
        status = dop853_step(tables, control, work, t, h, nq, nv, y, k, stepper.y_new, stepper.error)
        stepper.count[EVALUATIONS] += 11
        if status == Status.OK:
            error = dop853_error(tables, h, nq, y, k, stepper.y_new, stepper.error) / stepper.clock[RTOL]
    elif method == RK4:
        status = rk4_step(tables, control, work, t, h, nq, nv, y, k, stepper.y_new, stepper.y_work)
        stepper.count[EVALUATIONS] += 3
    else:
        status = semi_implicit_step(tables, h, nq, nv, y, k, stepper.y_new)
    if status == Status.OK:
        for i in range(y.size):
            if not math.isfinite(stepper.y_new[i].real):
                return Status.NOT_FINITE, math.inf
    return status, error


@story
def step(tables, control, work, stepper, t_stop, nq, nv):
    """Advance stepper.y_new by one accepted, projected step.  Returns (status, h [s])."""
    clock, count = stepper.clock, stepper.count
    adaptive = count[METHOD] == DOP853
    t, rejected = clock[T], False
    while True:
        h = min(clock[H], clock[MAX_STEP]) if adaptive else clock[STEP_FIXED]
        last = t + h * (1.0 + 1e-6) >= t_stop
        if last:
            h = t_stop - t
        elif adaptive and t + 2.0 * h > t_stop:  # two equal steps rather than a long and a tiny one
            h = 0.5 * (t_stop - t)
        if h < 4.0 * EPSILON * max(abs(t), 1e-9) and not last:
            return Status.STEP_TOO_SMALL, h
        status, error = attempt(tables, control, work, stepper, h, nq, nv)
        if status == Status.CALLBACK:
            return status, h
        good = status == Status.OK and error <= 1.0
        if good:
            status = project(
                tables, work, stepper.y_new[:nq], stepper.y_new[nq : nq + nv], stepper.moved, stepper.saved
            )
            far = moved_norm(tables.links, tables.one.length[0], tables.freedoms.linear, stepper.moved)
            good = status == Status.OK and (not adaptive or far <= clock[RTOL])
        if good:
            if adaptive:
                grow = GROWTH if error < 1e-9 else min(GROWTH, 0.9 * error ** (-1.0 / 8.0))
                if rejected:
                    grow = min(grow, 1.0)
                proposal = h * max(grow, 0.333)
                if not (last and proposal < clock[H]):
                    clock[H] = proposal if not last else max(proposal, clock[H])
            count[ACCEPTED] += 1
            return Status.OK, h
        count[REJECTED] += 1
        if not adaptive:
            return (status if status != Status.OK else Status.STEP_TOO_SMALL), h
        rejected = True
        if h < 1e-12:
            return (status if status != Status.OK else Status.STEP_TOO_SMALL), h
        clock[H] = h * (max(0.2, 0.9 * error ** (-1.0 / 8.0)) if status == Status.OK and error > 1.0 else 0.3)


@chapter
def finish(tables, control, work, stepper, h, nq, nv):
    """Slope at the end of the step into k[12].  Returns a status."""
    y, t = stepper.y_new, stepper.clock[T] + h
    keep_rows(work)
    worst = refresh(tables, control, work, t, y[:nq], y[nq : nq + nv])
    slope(tables, work, nq, nv, y, stepper.k[12])
    stepper.count[EVALUATIONS] += 1
    if control.failed[0]:
        return Status.CALLBACK
    if worst > CONTRADICTION:
        return Status.INCONSISTENT
    stepper.count[SMALL] = stepper.count[SMALL] + 1 if h < STALLED else 0
    if stepper.count[SMALL] > 1000:
        return Status.STEP_TOO_SMALL
    return Status.OK


@chapter
def remember_turns(tables, control, work, y, nq, nv):
    """Keep the angles of loop joints at the end of an accepted step, so that whole turns are counted."""
    if tables.blocks.rows.size > 0:
        columns(tables, control, work, y[:nq], y[nq : nq + nv])
        for n in range(tables.blocks.kind.size):
            c = tables.blocks.column[n]
            for i in range(c, c + tables.blocks.freedoms[n]):
                control.turn[i] = work.coordinate[i]


@story
def stride(tables, control, work, stepper, guards, layout, t_stop, nq, nv):
    """One step, its dense output where it is wanted, and its first guard.  Returns a status.

    Leaves the step's end, or its first guard, in clock[END], clock[THETA] and count[CROSSED].
    """
    clock, count = stepper.clock, stepper.count
    status, h = step(tables, control, work, stepper, t_stop, nq, nv)
    if status != Status.OK:
        return status
    status = finish(tables, control, work, stepper, h, nq, nv)
    if status != Status.OK:
        return status
    clock[STEP], clock[END] = h, clock[T] + h
    if t_stop - clock[END] < 1e-6 * h:
        clock[END] = t_stop
    watch = guards.table.kind.size > 0
    if watch or count[NEXT_SAMPLE] / clock[RATE] < clock[END]:
        if count[METHOD] == DOP853:
            dop853_dense(
                tables, control, work, clock[T], h, nq, nv, stepper.y, stepper.y_new, stepper.k, stepper.dense,
                stepper.y_work,
            )  # fmt: skip
            count[EVALUATIONS] += 3
        else:
            hermite(h, stepper.y, stepper.y_new, stepper.k, stepper.dense)
    count[CROSSED] = -1
    if watch:
        theta, guard = first_crossing(tables, control, work, stepper, guards, layout, nq, nv)
        if guard >= 0:
            clock[THETA], clock[END], count[CROSSED] = theta, clock[T] + theta * h, guard
    return Status.OK


@story_door
def advance(tables, control, work, stepper, guards, layout, rows_out, t_stop, max_steps):
    """Flow to t_stop, or to the first guard, or through max_steps steps.

    stepper.y and stepper.clock[T] are the state; samples before the end of each step go to rows_out.
    Returns (status, guard or index).
    """
    nq, nv = stepper.q.size, work.freedoms.vdot.size
    clock, count = stepper.clock, stepper.count
    if not count[FRESH] and not count[WAITING]:
        status = begin(tables, control, work, stepper, guards, layout, nq, nv)
        if status != Status.OK:
            return status, work.one.worst[0]
    for _ in range(max_steps):
        if not count[WAITING]:
            if clock[T] >= t_stop:
                return Status.REACHED, -1
            status = stride(tables, control, work, stepper, guards, layout, t_stop, nq, nv)
            if status != Status.OK:
                return status, work.one.worst[0]
            count[WAITING] = 1
        if not samples_until(tables, control, work, stepper, layout, nq, nv, rows_out):
            return Status.PAUSE, -1
        count[WAITING] = 0
        guard = count[CROSSED]
        if guard >= 0:
            state_at(tables, work, stepper, clock[THETA], nq, nv, stepper.saved_y)
            for i in range(stepper.y.size):
                stepper.y[i] = stepper.saved_y[i]
            count[FRESH] = 0
        else:
            for i in range(stepper.y.size):
                stepper.y[i] = stepper.y_new[i]
                stepper.k[0, i] = stepper.k[12, i]
        clock[T] = clock[END]
        remember_turns(tables, control, work, stepper.y, nq, nv)
        if guard >= 0:
            return Status.GUARD, guard
    return Status.PAUSE, -1
