"""The flow between two events: steps, guards on the dense output, samples; what Python calls."""

from __future__ import annotations

import math

from sim.kernels.guards.crossings import first_crossing, state_at
from sim.kernels.integrators.choice import STEP_COST, choose, note_cost, note_rate
from sim.kernels.integrators.integrate import (
    DOP853,
    PRESSED,
    RADAU_IIA,
    RATTLE,
    RK4,
    asked_step,
    dop853_dense,
    dop853_error,
    dop853_step,
    hermite,
    radau_dense,
    radau_step,
    rattle_step,
    rk4_step,
    semi_implicit_step,
    straight,
    trapezoid,
)
from sim.kernels.jit import driver, kernel, python_driver, spliced, unlocked_driver
from sim.kernels.status import Status
from sim.kernels.stepper import (
    ACCEPTED,
    AUTO,
    CROSSED,
    END,
    ERROR_BEFORE,
    EVALUATIONS,
    FILLED,
    FOLLOWS,
    FRESH,
    H_BEFORE,
    HALT,
    KEEPS_RATES,
    MAX_STEP,
    METHOD,
    NEXT_SAMPLE,
    PASS,
    RADIUS,
    RATE,
    REJECTED,
    RTOL,
    SMALL,
    STEP,
    STEP_FIXED,
    THETA,
    USUAL,
    WAITING,
    H,
    T,
)
from sim.kernels.system import CLASSICAL, PROJECT, SAMPLE, SETTLE, START, STEPPING, TURNS, WATCH, ask

# A step this short [s] counts as stalled when a thousand follow each other.
# Shorter: a stall at a singular pose takes minutes to be noticed.  Longer: stiff scenes would be refused.
STALLED = 1e-8
# Largest ratio of a step to the one before.  Larger: the interpolant, of one order less than the step, falls behind
# where the motion quickens again.  Smaller: more steps after every quick moment.
GROWTH = 1.6
FADES = 0.97  # share of how long explicit steps were that each shorter one leaves of it
RADAU_GROWTH = 6.0  # the same where Radau IIA steps: its estimate speaks of the interpolant, too
RADAU_RATE = 0.2  # of convergence that is aimed at.  Larger: longer steps of more iterations, and more of them in vain
ELSEWHERE = 20.0  # error of a step whose end is no place to stop: about half of it is tried next
NEAR = 12.0  # steps before a time that is asked for: the last ones are shortened so that one of them ends there
EPSILON = 2.220446049250313e-16  # spacing of floats at 1


@spliced
def samples_until(answers, system, stepper, rows_out):
    """Write the samples before the end of the last step, or before its guard; False where rows_out is full.

    Times are compared, not fractions of the step: a sample that falls on the end belongs to the next step.
    """
    t, h, count = stepper.clock[T], stepper.clock[STEP], stepper.count
    while count[NEXT_SAMPLE] / stepper.clock[RATE] < stepper.clock[END]:
        if count[FILLED] >= rows_out.shape[0]:
            return False
        ts = count[NEXT_SAMPLE] / stepper.clock[RATE]
        state_at(answers, system, stepper, max((ts - t) / h, 0.0))
        ask(answers, SAMPLE, system, ts, stepper.y_work, rows_out[count[FILLED]])
        count[FILLED] += 1
        count[NEXT_SAMPLE] += 1
    return True


@spliced
def begin(answers, system, reply_out, stepper):
    """Bring the state to the constraints, and find its slope and guards.  Returns a status."""
    y, t = stepper.y, stepper.clock[T]
    status = ask(answers, START, system, t, y, stepper.error)
    if status != Status.OK:
        return status
    if stepper.guard_old.size > 0:
        ask(answers, WATCH, system, t, y, stepper.guard_old)
        ask(answers, PROJECT, system, t, y, stepper.error)
    stepper.count[EVALUATIONS] += 1
    status = ask(answers, SETTLE, system, t, y, stepper.k[0])
    if status == Status.OK:
        stepper.clock[PASS] = t + reply_out.ahead[0]
        if stepper.clock[H] <= 0.0:
            stepper.clock[H] = min(reply_out.first_step[0], stepper.clock[MAX_STEP])
        stepper.count[FRESH], stepper.count[FOLLOWS] = 1, -1
    return status


@spliced
def attempt(answers, system, reply_out, stepper, h):
    """One trial step into stepper.y_new.  Returns (status, error in units of the tolerance)."""
    t, method = stepper.clock[T], stepper.count[METHOD]
    error = 0.0
    if method == DOP853:
        status = dop853_step(answers, system, t, h, stepper)
        note_cost(stepper, STEP_COST)
        stepper.count[EVALUATIONS] += 11
        if status == Status.OK:
            error = dop853_error(answers, system, reply_out, h, stepper) / stepper.clock[RTOL]
    elif method == RADAU_IIA:
        status, error = radau_step(answers, system, reply_out, t, h, stepper)
        error /= radau_tolerance(stepper.clock[RTOL])
        stepper.count[EVALUATIONS] += reply_out.evaluations[0]
        note_cost(stepper, reply_out.cost[0])
        stepper.clock[RADIUS] = reply_out.radius[0]
    elif method == RK4:
        if stepper.count[KEEPS_RATES] == 1:
            status = asked_step(answers, CLASSICAL, system, reply_out, t, h, stepper)
        else:
            status = rk4_step(answers, system, t, h, stepper)
        stepper.count[EVALUATIONS] += 3
    elif method == RATTLE:
        status = rattle_step(answers, system, reply_out, t, h, stepper)
        stepper.count[EVALUATIONS] += reply_out.evaluations[0]
    elif method == PRESSED:
        status = asked_step(answers, STEPPING, system, reply_out, t, h, stepper)
    else:
        status = semi_implicit_step(answers, system, reply_out, h, stepper)
    if status == Status.OK:
        for i in range(stepper.y_new.size):
            if not math.isfinite(stepper.y_new[i].real):
                return Status.NOT_FINITE, math.inf
    return status, error


@kernel
def radau_tolerance(rtol):
    """What an estimate of order three may be for a step of order five that errs by about rtol (RADAU5)."""
    return 0.1 * rtol ** (2.0 / 3.0)


@kernel
def bearable(theta):
    """Ratio of the step to this one with which Newton's iteration would converge at the rate RADAU_RATE.

    Where stiff directions turn during the step, the rate grows about with its cube.
    """
    return (RADAU_RATE / theta) ** (1.0 / 3.0) if theta > 1e-6 else RADAU_GROWTH


@kernel
def growth(radau, h, error, iterations, theta, clock_out):
    """Ratio of the next step to this one, after it was accepted; notes both for the one after it.

    Radau IIA: the smaller of the elementary and the predictive proposal (Hairer & Wanner II, (8.19), (8.25));
    no longer than Newton's iteration bears; the same step again where it would grow a little only, so that the
    factors are kept.
    """
    if not radau:
        return GROWTH if error < 1e-9 else max(min(GROWTH, 0.9 * error ** (-1.0 / 8.0)), 0.333)
    error = max(error, 1e-6)
    safety = min(0.9, 0.9 * (2.0 * 8.0 + 1.0) / (2.0 * 8.0 + iterations))
    grow = safety * error**-0.25
    if clock_out[H_BEFORE] > 0.0:
        grow = min(grow, safety * h / clock_out[H_BEFORE] * (clock_out[ERROR_BEFORE] / error**2) ** 0.25)
    grow = min(grow, bearable(theta))
    clock_out[H_BEFORE], clock_out[ERROR_BEFORE] = h, max(error, 1e-2)
    return 1.0 if 1.0 <= grow < 1.2 else min(max(grow, 0.2), RADAU_GROWTH)


@kernel
def shrinkage(radau, error, rejected):
    """Ratio of the next trial to this one, after an error that is too large; rejected: trials of this step so far.

    Where trials are rejected again and again the motion is not as smooth as the order of the method asks for.
    """
    order = 4.0 if radau else 8.0
    return max(0.2, 0.9 * error ** (-max(1.0, 0.5 * rejected) / order))


@kernel
def about(ahead, h):
    """Return a step of at most about h that has a place so far ahead in its middle, or that comes before such a step.

    DOP853 has no stage in the middle of a step.
    """
    if not 0.1 * h < ahead < 1.5 * h:
        return h
    if ahead > 0.6 * h:
        return ahead - 0.5 * h
    return 2.0 * ahead


@driver
def step(answers, system, reply_out, stepper, t_stop):
    """Advance stepper.y_new by one accepted, projected step.  Returns (status, h [s])."""
    clock, count = stepper.clock, stepper.count
    radau = count[METHOD] == RADAU_IIA
    adaptive = count[METHOD] == DOP853 or radau
    t, rejected = clock[T], 0
    while True:
        h = min(clock[H], clock[MAX_STEP]) if adaptive else clock[STEP_FIXED]
        shorter = adaptive and rejected == 0
        if shorter:
            h = about(clock[PASS] - t, h)
            shorter = h < clock[H]
        last = t + h * (1.0 + 1e-6) >= t_stop
        if last:
            h = t_stop - t
        elif adaptive and t + 2.0 * h > t_stop:  # two equal steps rather than a long and a tiny one
            h = 0.5 * (t_stop - t)
        if h < 4.0 * EPSILON * max(abs(t), 1e-9) and not last:
            return Status.STEP_TOO_SMALL, h
        status, error = attempt(answers, system, reply_out, stepper, h)
        iterations, theta = reply_out.iterations[0], reply_out.convergence[0]
        if status == Status.CALLBACK:
            return status, h
        good = status == Status.OK and error <= 1.0
        if good and count[METHOD] != RATTLE:  # whose steps end on the constraints
            status = ask(answers, PROJECT, system, t + h, stepper.y_new, stepper.error)
            if adaptive:
                error = max(error, reply_out.moved[0] / clock[RTOL] if reply_out.moved[0] >= 0.0 else ELSEWHERE)
            good = status == Status.OK and error <= 1.0
        if good:
            if adaptive:
                grow = growth(radau, h, error, iterations, theta, clock)
                if rejected > 0:
                    grow = min(grow, 1.0)
                proposal = h * grow
                if not radau:
                    clock[USUAL] = max(h, FADES * clock[USUAL])
                clock[H] = max(proposal, clock[H]) if last or shorter else proposal
            count[ACCEPTED] += 1
            return Status.OK, h
        count[REJECTED] += 1
        if not adaptive:
            return (status if status != Status.OK else Status.STEP_TOO_SMALL), h
        rejected += 1
        if h < 1e-12:
            return (status if status != Status.OK else Status.STEP_TOO_SMALL), h
        if status == Status.OK and error > 1.0:
            clock[H] = h * shrinkage(radau, error, rejected)
        elif status == Status.NOT_SOLVED and radau:
            clock[H] = h * max(0.2, min(0.5, bearable(theta)))
        else:
            clock[H] = 0.3 * h


@spliced
def finish(answers, system, reply_out, stepper, h):
    """Slope at the end of the step into k[12].  Returns a status."""
    stepper.count[EVALUATIONS] += 1
    status = ask(answers, SETTLE, system, stepper.clock[T] + h, stepper.y_new, stepper.k[12])
    stepper.clock[PASS] = stepper.clock[T] + h + reply_out.ahead[0]
    if status != Status.OK:
        return status
    stepper.count[SMALL] = stepper.count[SMALL] + 1 if h < STALLED else 0
    return Status.STEP_TOO_SMALL if stepper.count[SMALL] > 1000 else Status.OK


@driver
def stride(answers, system, reply_out, stepper, t_stop):
    """One step, its dense output where it is wanted, and its first guard.  Returns a status.

    Leaves the step's end, or its first guard, in clock[END], clock[THETA] and count[CROSSED].
    """
    clock, count = stepper.clock, stepper.count
    status, h = step(answers, system, reply_out, stepper, t_stop)
    if status != Status.OK:
        return status
    status = finish(answers, system, reply_out, stepper, h)
    if status != Status.OK:
        return status
    if count[METHOD] == RATTLE:
        trapezoid(h, stepper.y, stepper.k, stepper.y_new)
    if count[AUTO] == 1 and count[METHOD] == DOP853:
        note_rate(stepper, h)
    clock[STEP], clock[END] = h, clock[T] + h
    if t_stop - clock[END] < 1e-6 * h:
        clock[END] = t_stop
    watch = stepper.guard_old.size > 0
    if watch or count[NEXT_SAMPLE] / clock[RATE] < clock[END]:
        if count[METHOD] == DOP853:
            dop853_dense(answers, system, clock[T], h, stepper)
            count[EVALUATIONS] += 3
        elif count[METHOD] == RADAU_IIA:
            radau_dense(stepper.y, stepper.y_new, stepper.k, stepper.dense)
        elif count[METHOD] == PRESSED:
            straight(stepper.y, stepper.y_new, reply_out.struck[0] == 1, stepper.dense)
        else:
            hermite(h, stepper.y, stepper.y_new, stepper.k, stepper.dense)
    count[CROSSED] = -1
    if watch:
        theta, guard = first_crossing(answers, system, stepper)
        if guard >= 0:
            clock[THETA], clock[END], count[CROSSED] = theta, clock[T] + theta * h, guard
    return Status.OK


@unlocked_driver
def advance(answers, system, reply_out, stepper, rows_out, t_stop, max_steps):
    """Flow to t_stop, or to the first guard, or through max_steps steps.

    stepper.y and stepper.clock[T] are the state; samples before the end of each step go to rows_out.
    Returns (status, guard or -1).
    """
    clock, count = stepper.clock, stepper.count
    if not count[FRESH] and not count[WAITING]:
        status = begin(answers, system, reply_out, stepper)
        if status != Status.OK:
            return status, -1
    for _ in range(max_steps):
        if not count[WAITING]:
            if clock[T] >= t_stop:
                return Status.REACHED, -1
            if count[HALT] == 1 and clock[T] + NEAR * max(clock[H], clock[STEP], clock[STEP_FIXED]) >= t_stop:
                count[HALT] = 0
                return Status.PAUSE, -1
            status = stride(answers, system, reply_out, stepper, t_stop)
            if status != Status.OK:
                return status, -1
            count[WAITING] = 1
        if not samples_until(answers, system, stepper, rows_out):
            return Status.PAUSE, -1
        count[WAITING] = 0
        guard = count[CROSSED]
        if guard >= 0:
            state_at(answers, system, stepper, clock[THETA])
            for i in range(stepper.y.size):
                stepper.y[i] = stepper.y_work[i]
            count[FRESH] = 0
        else:
            for i in range(stepper.y.size):
                stepper.y[i] = stepper.y_new[i]
                stepper.k[0, i] = stepper.k[12, i]
            count[FOLLOWS] = 1
        clock[T] = clock[END]
        ask(answers, TURNS, system, clock[T], stepper.y, stepper.error)
        if guard >= 0:
            return Status.GUARD, guard
        if choose(stepper, clock[T], clock[STEP]):
            return Status.PAUSE, -1
    return Status.PAUSE, -1


@python_driver
def answer(answers, question, system, t, a, b):
    """Ask a system one question, from Python.  Returns a status."""
    return ask(answers, question, system, t, a, b)
