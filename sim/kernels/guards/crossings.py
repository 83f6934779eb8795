"""When the first guard fires within a step.

Spans in which none can cross twice are found by bounds; what crosses in one is bracketed by neighbouring floats.
"""

from __future__ import annotations

import math

from sim.kernels.guards.curves import curve_of, restrict
from sim.kernels.integrators.integrate import interpolate
from sim.kernels.jit import driver, kernel, spliced
from sim.kernels.stepper import LOOKS, STEP, T
from sim.kernels.system import CLEARANCE, GLANCE, LOOK, PROJECT, ask
from sim.kernels.watched import FAR, LEVELS, SAMPLED, SPAN_ARMED, SPAN_AT, SPAN_HEADER, SPAN_SECONDS, TOUCHING, WITHIN

# A guard that starts nearer to zero than this has just fired, and may do so again before the first sample; halvings
# of the time to that sample in which it is looked for.
AT_ZERO, HALVINGS = 1e-9, 30
# Below zero by no more than NEAR, a guard may cross and be back before that sample, too: it is looked for where its
# rise in the share AT_ONCE of that time would take it there.
NEAR, AT_ONCE = 1e-5, 1e-3
# Guards without bounds: pieces of a step at whose ends they are looked at; share of the bend between three looks by
# which their peak is taken to be higher; how much more finely it is then looked for.
PIECES, LEEWAY, FINER = 5, 0.125, 4
# Shortest span, as a share of the step, and how many a step may be looked at in.  Shorter, or more: what stays at zero
# but for roundoff costs the more.  Longer, or fewer: guards that graze zero are left to the ends of their spans.
SHORTEST, MOST_LOOKS = 1e-12, 2000
EPSILON = 2.220446049250313e-16  # spacing of floats at 1


@spliced
def state_at(answers, system, stepper, theta):
    """State inside the last step, brought to the constraints, into y_work.  Returns a status."""
    interpolate(stepper.y, stepper.dense, theta, stepper.y_work)
    t = stepper.clock[T] + theta * stepper.clock[STEP]
    return ask(answers, PROJECT, system, t, stepper.y_work, stepper.error)


@kernel
def crosses(old, new):
    """Tell whether a guard fires that had one value and has another; one that was zero exactly, where it has risen."""
    return (old < 0.0 and new >= 0.0) or (old == 0.0 and new > 0.0)


@kernel
def any_crosses(old, new):
    """Tell whether any guard fires."""
    fires = False
    for g in range(old.size):
        fires = fires or crosses(old[g], new[g])
    return fires


@kernel
def begin_at_zero(verdicts, new, old_out):
    """Let guards with bounds that begin beyond zero by roundoff, and end beyond it, begin at zero, so that they fire.

    A gap that has just been zero opens, another corner comes down, and that gap has closed before the span ends: all of
    it may be too small for bounds to tell.
    """
    for g in range(new.size):
        if verdicts[g] != SAMPLED and 0.0 < old_out[g] <= AT_ZERO < new[g]:
            old_out[g] = 0.0


@kernel
def copy_numbers(values, values_out):
    """Copy numbers."""
    for i in range(values.size):
        values_out[i] = values[i]


@driver
def first_crossing(answers, system, stepper):
    """Fraction of the last step at which the first guard fires, and which; 2 and -1 without.

    Guards that have bounds are looked for by these, in spans as long as they allow; those that read forces in five
    pieces of the step.
    """
    t, h, new = stepper.clock[T], stepper.clock[STEP], stepper.guard_new
    curve_of(stepper.y, stepper.dense, h, stepper.curve)
    stepper.count[LOOKS] = 0
    for g in range(new.size):
        stepper.open[LEVELS, g] = WITHIN
    within, sampled = unclear(answers, system, stepper, 0.0, 1.0, 2.0, LEVELS)
    pieces = PIECES if sampled > 0 else 1
    if pieces > 1:
        settle_touching(answers, system, stepper)
    low = 0.0
    for piece in range(1, pieces + 1):
        high = piece / pieces
        if piece < pieces:
            interpolate(stepper.y, stepper.dense, high, stepper.y_work)
        else:
            copy_numbers(stepper.y_new, stepper.y_work)
        look_near(answers, system, stepper, t + high * h, new)
        begin_at_zero(stepper.open[LEVELS], new, stepper.guard_old)
        if sampled > 0:
            if piece == 1:  # even where another guard crosses: it may do so later
                low, high, sought = sought_back(answers, system, stepper, high)
                if sought:
                    return narrow(answers, system, stepper, low, high, False, LEVELS)
            elif not any_crosses(stepper.guard_old, new) and peaks(stepper):
                theta, guard = look_for_peak(answers, system, stepper, low, high)
                if guard >= 0:
                    return theta, guard
            copy_numbers(stepper.guard_old, stepper.ahead[LEVELS])
        if within > 0:
            theta, guard = search(answers, system, stepper, low, high)
            if guard >= 0:
                return theta, guard
        elif any_crosses(stepper.guard_old, new):
            return narrow(answers, system, stepper, low, high, False, LEVELS)
        copy_numbers(new, stepper.guard_old)
        low = high
    return 2.0, -1


@driver
def search(answers, system, stepper, low, high):
    """Look for the first crossing between two fractions of the step: (fraction, guard), or (2, -1) without.

    guard_old, guard_new: values of the guards at both, and again when nothing was found.  A span is halved until every
    guard is clear there, or it is too short.  Where one fires at its end that crossing is narrowed down, and what is
    before it is cleared in turn: an earlier one may have come and gone.  Guards without bounds are left to both ends,
    and inside no forces are found, unless one of them fires there.
    """
    old, new, ends, ahead = stepper.guard_old, stepper.guard_new, stepper.ends, stepper.ahead
    light = sets_aside(stepper)
    copy_numbers(new, ahead[LEVELS + 2])
    if light:
        set_aside(stepper.open[LEVELS], old)
        set_aside(stepper.open[LEVELS], new)
    ends[0] = high
    copy_numbers(new, ahead[0])
    copy_numbers(stepper.open[LEVELS], stepper.open[0])
    top, found, guard = 1, 2.0, -1
    while top > 0:
        high, last = ends[top - 1], top - 1
        copy_numbers(ahead[last], new)
        shortest = high - low <= SHORTEST or top >= LEVELS or stepper.count[LOOKS] >= MOST_LOOKS
        within = 0
        if not shortest:
            within, _ = unclear(answers, system, stepper, low, high, found, last)
            if stepper.told[SPAN_ARMED] > 0.0:  # what was armed now had no value at the ends yet
                for k in range(top):
                    watch_at(answers, system, stepper, ends[k], ahead[k])
                    if light:
                        set_aside(stepper.open[LEVELS], ahead[k])
                copy_numbers(ahead[last], new)
        crossed = any_crosses(old, new)
        if crossed and high < found:
            copy_numbers(old, ahead[LEVELS + 1])
            found, guard = narrow(answers, system, stepper, low, high, light, last)
            copy_numbers(ahead[LEVELS + 1], old)
            ends[0], top = found, 1
            copy_numbers(new, ahead[0])
            copy_numbers(stepper.open[last], stepper.open[0])
            if within > 0:
                continue
        if within > 0:
            middle = 0.5 * (low + high)
            ends[top] = middle
            glance_at(answers, system, stepper, middle, light, last, ahead[top])
            copy_numbers(stepper.open[last], stepper.open[top])
            top += 1
        elif high >= found:
            break
        else:
            copy_numbers(new, old)
            low, top = high, last
    if guard < 0:
        copy_numbers(ahead[LEVELS + 2], new)
    return found, guard


@spliced
def settle_touching(answers, system, stepper):
    """Let guards of shapes that touch be far in this step where both its ends have them below zero.

    What else of these shapes is near is costly to find, and so is asked for once, not at the end of each piece.
    """
    old, end, verdict = stepper.guard_old, stepper.guard_mid, stepper.open[LEVELS]
    asked = False
    for g in range(old.size):
        end[g] = old[g]
        if verdict[g] == TOUCHING and old[g] < -NEAR:
            end[g], asked = math.nan, True
    if asked:
        copy_numbers(stepper.y_new, stepper.y_work)
        ask(answers, GLANCE, system, stepper.clock[T] + stepper.clock[STEP], stepper.y_work, end)
        for g in range(old.size):
            if verdict[g] == TOUCHING and old[g] < -NEAR and end[g] < -NEAR:
                verdict[g], old[g] = FAR, end[g]


@spliced
def sets_aside(stepper):
    """Tell whether guards without bounds may be left to the ends of a piece: none fires there."""
    old, new, fires = stepper.guard_old, stepper.guard_new, False
    for g in range(old.size):
        fires = fires or (stepper.open[LEVELS, g] == SAMPLED and crosses(old[g], new[g]))
    return not fires


@kernel
def set_aside(verdicts, values_out):
    """Let guards without bounds not fire."""
    for g in range(verdicts.size):
        if verdicts[g] == SAMPLED:
            values_out[g] = -1.0


@spliced
def glance_at(answers, system, stepper, theta, light, row, values_out):
    """Values of guards inside a span, on states that are not brought to the constraints.

    light: only those of guards that are not clear in it, as the verdicts in stepper.open[row] say, or that fire at its
    end; the others keep what they have at its start, whose sign is theirs.
    """
    interpolate(stepper.y, stepper.dense, theta, stepper.y_work)
    t = stepper.clock[T] + theta * stepper.clock[STEP]
    glance(answers, system, stepper, t, light, row, values_out)


@spliced
def glance(answers, system, stepper, t, light, row, values_out):
    """See `glance_at`; of the state in y_work."""
    if light:
        want(stepper.open[row], stepper.guard_old, stepper.guard_new, values_out)
        ask(answers, GLANCE, system, t, stepper.y_work, values_out)
    else:
        look_near(answers, system, stepper, t, values_out)


@spliced
def look_near(answers, system, stepper, t, values_out):
    """Values of all guards of the state in y_work; those that are far through all of the step keep what they had."""
    want_near(stepper.open[LEVELS], stepper.guard_old, values_out)
    ask(answers, LOOK, system, t, stepper.y_work, values_out)


@kernel
def want_near(verdicts, old, values_out):
    """Put not-a-number where a value is wanted, and an older one where it stays below zero."""
    for g in range(verdicts.size):
        values_out[g] = old[g] if verdicts[g] == FAR else math.nan


@kernel
def want(verdicts, old, new, values_out):
    """Put not-a-number where a value is wanted, and the value at the start where it is not."""
    for g in range(verdicts.size):
        values_out[g] = math.nan if verdicts[g] == WITHIN or crosses(old[g], new[g]) else old[g]


@spliced
def unclear(answers, system, stepper, low, high, found, row):
    """Ask which guards are clear in a span; returns how many are not, and how many have no bounds.

    stepper.open[row]: verdicts of a span that holds this one, and then of this one: what is clear in all is in a part.

    At first they are seen from its middle; where it begins with the step or ends with a crossing that was found, from
    there, too: a gap that is zero there and only grows or falls is clear.
    """
    clock, told, verdict = stepper.clock, stepper.told, stepper.told[SPAN_HEADER:]
    restrict(stepper.curve, low, high, stepper.span)
    told[SPAN_SECONDS], told[SPAN_ARMED] = (high - low) * clock[STEP], 0.0
    copy_numbers(stepper.open[row], verdict)
    within = sampled = 0
    for place in range(3):
        if place == 0 or (within > 0 and ((place == 1 and low == 0.0) or (place == 2 and high == found))):
            told[SPAN_AT] = 0.5 if place == 0 else place - 1.0
            ask(answers, CLEARANCE, system, clock[T] + low * clock[STEP], stepper.span, told)
            stepper.count[LOOKS] += 1
            within = sampled = 0
            for g in range(verdict.size):
                within += verdict[g] == WITHIN
                sampled += verdict[g] == SAMPLED
    copy_numbers(verdict, stepper.open[row])
    return within, sampled


@spliced
def peaks(stepper):
    """Tell whether a guard without bounds may have crossed and returned within the last two pieces, by a parabola."""
    before, old, new = stepper.ahead[LEVELS], stepper.guard_old, stepper.guard_new
    peak = False
    for g in range(old.size):
        bend = before[g] - 2.0 * old[g] + new[g]
        if stepper.open[LEVELS, g] == SAMPLED and before[g] < 0.0 and old[g] < 0.0 and new[g] < 0.0 and bend < 0.0:
            rise = 0.5 * (new[g] - before[g])
            within = abs(rise) < -bend  # the last two pieces is where the parabola is highest
            peak = peak or (within and old[g] - 0.5 * rise * rise / bend - LEEWAY * bend >= 0.0)
    return peak


@spliced
def look_for_peak(answers, system, stepper, low, high):
    """Sample the last two pieces more finely; (fraction, guard) of the first crossing in them, or (2, -1)."""
    width = high - low
    new, ahead = stepper.guard_new, stepper.ahead
    copy_numbers(new, ahead[LEVELS + 1])
    copy_numbers(stepper.guard_old, ahead[0])
    copy_numbers(ahead[LEVELS], stepper.guard_old)
    theta, guard, at = 2.0, -1, low - width
    for k in range(1, 2 * FINER):
        end = low - width + k * width / FINER
        if guard < 0:
            watch_at(answers, system, stepper, end, new)
            if any_crosses(stepper.guard_old, new):
                theta, guard = narrow(answers, system, stepper, at, end, False, LEVELS)
            else:
                copy_numbers(new, stepper.guard_old)
                at = end
    if guard < 0:
        copy_numbers(ahead[0], stepper.guard_old)
        copy_numbers(ahead[LEVELS + 1], new)
    return theta, guard


@spliced
def sought_back(answers, system, stepper, high):
    """Look for a crossing that is undone before the first sample, by halving the time to that sample.

    A guard that starts at zero may go below and come back, as a gap after a bounce; one that starts a little below
    zero and rises may cross and return.  The earliest crossing counts: where one guard is found, another may have
    been back before.  Returns fractions of the step between which it lies, and whether there is any; guard_old and
    guard_new are then the values there.
    """
    old, new, mid = stepper.guard_old, stepper.guard_new, stepper.guard_mid
    found, theta = 0.0, high
    sought = begins_to_cross(answers, system, stepper, high)
    for _ in range(HALVINGS):
        if not sought:
            break
        theta *= 0.5
        watch_at(answers, system, stepper, theta, mid)
        crossed, sought = False, False
        for g in range(old.size):
            if abs(old[g]) < AT_ZERO:
                crossed = crossed or (mid[g] < 0.0 and new[g] >= 0.0)
                sought = sought or mid[g] >= 0.0
                new[g] = mid[g]
            else:
                crossed = crossed or (old[g] < 0.0 and mid[g] >= 0.0)
        if crossed:
            found = theta
        sought = sought or found == 0.0
    if found == 0.0:
        return 0.0, high, False
    watch_at(answers, system, stepper, found, mid)
    for g in range(old.size):
        if old[g] < -AT_ZERO and mid[g] >= 0.0:
            for i in range(old.size):
                new[i] = mid[i]
            return 0.0, found, True
    for g in range(old.size):
        old[g] = mid[g]
    watch_at(answers, system, stepper, 2.0 * found, new)
    return found, 2.0 * found, True


@spliced
def begins_to_cross(answers, system, stepper, high):
    """Tell whether a guard that starts at zero is beyond it at the first sample, or a near one rises toward it."""
    old, new, mid = stepper.guard_old, stepper.guard_new, stepper.guard_mid
    near = False
    for g in range(old.size):
        if abs(old[g]) < AT_ZERO and new[g] >= 0.0:
            return True
        near = near or -NEAR < old[g] <= -AT_ZERO
    if near:
        watch_at(answers, system, stepper, AT_ONCE * high, mid)
        for g in range(old.size):
            if -NEAR < old[g] <= -AT_ZERO and mid[g] - old[g] > -AT_ONCE * old[g]:
                return True
    return False


@spliced
def watch_at(answers, system, stepper, theta, values_out):
    """Values of all guards inside the last step, on states that are not brought to the constraints."""
    interpolate(stepper.y, stepper.dense, theta, stepper.y_work)
    look_near(answers, system, stepper, stepper.clock[T] + theta * stepper.clock[STEP], values_out)


@spliced
def narrow(answers, system, stepper, low, high, light, row):
    """Bracket the earliest crossing between two fractions of the step; returns (fraction, guard).

    light, row: as in `glance_at`.

    stepper.guard_old and guard_new hold the values at both ends and are kept so.
    """
    t, h = stepper.clock[T], stepper.clock[STEP]
    old, new, mid = stepper.guard_old, stepper.guard_new, stepper.guard_mid
    smallest = 2.0 * EPSILON * max(abs(t), abs(t + h)) / abs(h)
    side = 0
    for trial in range(200):
        if high - low <= smallest:
            break
        # earliest secant crossing of all guards that cross in this bracket
        theta = high
        for g in range(old.size):
            if crosses(old[g], new[g]):
                theta = min(theta, low + (high - low) * (-old[g]) / (new[g] - old[g]))
        if trial % 3 == 2 or not low < theta < high:
            theta = 0.5 * (low + high)
        else:  # lean a little over the root, so that both ends close in
            lean = 0.25 * smallest if trial > 3 else 0.0
            theta = min(max(theta + (lean if side < 0 else -lean), low + 0.25 * smallest), high - 0.25 * smallest)
            if not low < theta < high:
                theta = 0.5 * (low + high)
        state_at(answers, system, stepper, theta)
        glance(answers, system, stepper, t + theta * h, light, row, mid)
        crossed = any_crosses(old, mid)
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
        if crosses(old[g], new[g]):
            return high, g
    return high, -1
