"""Which method steps where the scene leaves it open: the explicit one until it is found to be stiff.

Dormand-Prince 8(5,3) tells stiffness by its last two stages, whose slopes and states give the largest
rate at which neighbouring motions part or join (Hairer & Wanner II, section IV.2): where that rate times the step
stays at the edge of its stability, the step is limited by it and not by the error.  Then Radau IIA is
tried; it stays while it costs less than the explicit steps did, or than stability would ask of them.
Costs are counts of evaluations and of operations, never a clock: the same scene takes the same steps.

Places in `clock`.  RADIUS: that rate [1/s].  WINDOW, WINDOW_COST: since when the present method is
measured [s], and what it has cost since.  EXPLICIT_COST: of a second, before Radau IIA took over.  SPENT: since
the method last changed.  RETRY: what explicit steps have to cost first, after a vain trial.  MET: that rate where steps
were first beyond the edge.
In `count`.  AUTO: 1 where the method is left open.  STIFF, CALM: steps beyond the edge, and within it
since.  TRIAL: implicit steps in the window.  FAILURES: vain trials.  PAID: 1 where one was not in vain.
"""

from __future__ import annotations

import math

from sim.kernels.integrators.dop853 import A
from sim.kernels.integrators.integrate import DOP853, RADAU_IIA, combine
from sim.kernels.jit import kernel, spliced
from sim.kernels.stepper import (
    AUTO,
    CALM,
    EXPLICIT_COST,
    FAILURES,
    FOLLOWS,
    H_BEFORE,
    MET,
    METHOD,
    PAID,
    RADIUS,
    RETRY,
    SPENT,
    STIFF,
    TRIAL,
    WINDOW,
    WINDOW_COST,
)

# Rate times step beyond which a step of Dormand-Prince 8(5,3) is at the edge of its stability, and the edge itself.
# Smaller: vain trials in motion that is merely quick.  Larger: stiff oscillations are not seen.
EDGE, STABLE = 4.5, 6.1
SUSPECT, RELIEVED = 15, 6  # steps beyond the edge that make a scene stiff; steps within it that clear it
KNOWN = 3  # of the former, where Radau IIA has paid before
# Ratio of rates at the edge that are those of one stiff direction: where sliding begins and ends, the rate at which
# friction turns grows without end, and implicit steps would be as short as explicit ones.
ALIKE = 2.0
STEP_COST = 12.0  # evaluations of an explicit step
SETTLING, WATCHED = 6, 10  # implicit steps before they are measured; that are measured
# Implicit steps after which those but the first are measured for once, and of what stability would ask the most that
# they may cost: more where each needs a new Jacobian.
EARLY, DEAR = 4, 2.0
WAIT = 20.0  # costs of a vain trial that explicit steps go on for, doubled with each
EASY = 0.6  # share of the implicit cost below which stability would allow explicit steps again


@kernel
def rate_of_stages(y_new, before, slope_new, slope_before):
    """Ratio of the differences of slopes and of states [1/s]."""
    up = down = 0.0
    for i in range(y_new.size - 2):
        up += (slope_new[i] - slope_before[i]) ** 2
        down += (y_new[i] - before[i]) ** 2
    return math.sqrt(up / down) if down > 0.0 else 0.0


@spliced
def note_rate(stepper, h):
    """Find the rate that the last explicit step met; k[11] is the slope at its last stage, k[12] at its end."""
    combine(stepper.y, h, A[11], 11, stepper.k, stepper.error)
    stepper.clock[RADIUS] = rate_of_stages(stepper.y_new, stepper.error, stepper.k[12], stepper.k[11])


@spliced
def note_cost(stepper, cost):
    """Add what a trial step has cost."""
    stepper.clock[WINDOW_COST] += cost
    stepper.clock[SPENT] += cost


@spliced
def change(stepper, method, t):
    """Let another method step from here on."""
    clock, count = stepper.clock, stepper.count
    count[METHOD], count[FOLLOWS], count[STIFF], count[CALM], count[TRIAL] = method, -1, 0, 0, 0
    clock[WINDOW], clock[WINDOW_COST], clock[SPENT], clock[H_BEFORE] = t, 0.0, 0.0, 0.0


@spliced
def watch_explicit(stepper, t, h):
    """Tell whether Radau IIA is to be tried from t, the end of an explicit step."""
    clock, count = stepper.clock, stepper.count
    if h * clock[RADIUS] > EDGE:
        if count[STIFF] > 0 and not clock[MET] <= ALIKE * clock[RADIUS] <= ALIKE**2 * clock[MET]:
            count[STIFF], clock[WINDOW], clock[WINDOW_COST] = 0, t, 0.0
        if count[STIFF] == 0:
            clock[MET] = clock[RADIUS]
        count[STIFF] += 1
        count[CALM] = 0
    else:
        count[CALM] += 1
        if count[CALM] >= RELIEVED:
            count[STIFF] = 0
    if count[STIFF] == 0:
        clock[WINDOW], clock[WINDOW_COST] = t, 0.0
    enough = KNOWN if count[PAID] == 1 else SUSPECT
    if count[STIFF] < enough or clock[SPENT] < clock[RETRY] or not t > clock[WINDOW]:
        return False
    clock[EXPLICIT_COST] = clock[WINDOW_COST] / (t - clock[WINDOW])
    return True


@spliced
def watch_implicit(stepper, t):
    """Tell whether explicit steps are to go on from t, the end of an implicit step."""
    clock, count = stepper.clock, stepper.count
    count[TRIAL] += 1
    early = count[TRIAL] == EARLY
    if count[TRIAL] == 1 or count[TRIAL] == SETTLING:
        clock[WINDOW], clock[WINDOW_COST] = t, 0.0
    if (count[TRIAL] < SETTLING + WATCHED and not early) or not t > clock[WINDOW]:
        return False
    cost, stable = clock[WINDOW_COST] / (t - clock[WINDOW]), STEP_COST * clock[RADIUS] / STABLE
    if (early and cost > DEAR * stable) or (not early and clock[RETRY] >= 0.0 and cost > clock[EXPLICIT_COST]):
        count[FAILURES] = min(count[FAILURES] + 1, 20)
        clock[RETRY] = WAIT * clock[SPENT] * 2.0 ** (count[FAILURES] - 1)
        return True
    if early:
        return False
    clock[RETRY], count[PAID] = -1.0, 1
    if stable < EASY * cost:
        clock[RETRY], count[FAILURES] = 0.0, 0
        return True
    count[TRIAL] = SETTLING
    clock[WINDOW], clock[WINDOW_COST] = t, 0.0
    return False


@spliced
def choose(stepper, t, h):
    """Choose the method of the next step, after an accepted one of length h that ended at t; True where it changes."""
    if stepper.count[AUTO] == 0:
        return False
    if stepper.count[METHOD] == DOP853:
        if watch_explicit(stepper, t, h):
            change(stepper, RADAU_IIA, t)
            return True
    elif watch_implicit(stepper, t):
        change(stepper, DOP853, t)
        return True
    return False
