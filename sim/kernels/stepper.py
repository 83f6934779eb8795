"""The integrator's state, and what it and the mechanism tell each other."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

# Places in Stepper.clock and Stepper.count.
(
    T, H, RTOL, MAX_STEP, STEP_FIXED, RATE, STEP, END, THETA, PASS,
    H_BEFORE, ERROR_BEFORE, RADIUS, WINDOW, WINDOW_COST, EXPLICIT_COST, SPENT, RETRY, USUAL, MET,
) = range(20)  # fmt: skip
(
    ACCEPTED, REJECTED, EVALUATIONS, NEXT_SAMPLE, FILLED, METHOD, FRESH, SMALL, WAITING, CROSSED,
    FOLLOWS, AUTO, STIFF, CALM, TRIAL, FAILURES, LOOKS, HALT, KEEPS_RATES, PAID,
) = range(20)  # fmt: skip

# What goes with a question to the mechanism beside the arrays that it fills, and with its answer; each field has one
# meaning, whatever the question.
REPLY = np.dtype(
    [
        ("h", "f8"), ("rtol", "f8"),  # of a trial step that is asked for: s; tolerance
        ("follows", "i8"),  # 1: it follows an implicit step, 0: it is tried again from the same state, -1: neither
        ("error", "f8"),  # mean square of an error in units of size
        # By projection: how far positions moved, or how far rates of drives were off, in units of size; -1: this is no
        # place to stop
        ("moved", "f8"),
        ("first_step", "f8"),  # s, that a slope suggests
        ("ahead", "f8"),  # s, until a position that is to be passed amid a step
        ("iterations", "i8"), ("evaluations", "i8"),  # of a trial step; of slopes
        ("cost", "f8"),  # of it, in evaluations
        ("radius", "f8"),  # 1/s, spectral radius of the Jacobian
        ("convergence", "f8"),  # rate of Newton's iteration
        ("struck", "i8"),  # 1: bodies came together within a time step
    ],
    align=True,
)  # fmt: skip


class Stepper(NamedTuple):
    """The integrator's state and scratch for one structure."""

    y: Any  # (nq + nv + 2,) state: q, v, work put in [J], work dissipated [J]
    y_new: Any
    y_work: Any
    error: Any
    k: Any  # (16, n) slopes
    rows: Any  # (16 n,) the same numbers
    dense: Any  # (8, n) the last: what is added at once in the middle of the step
    guard_old: Any  # (guards,)
    guard_new: Any
    guard_mid: Any
    curve: Any  # (15 n,) Bernstein coefficients of the state, and of its rates, through the last step
    span: Any  # (15 n,) and through a span of it
    told: Any  # (SPAN_HEADER + guards,) what goes with a question about that span
    ends: Any  # (LEVELS + 1,) fractions of the step at which spans end that are still to be looked at, earliest last
    ahead: Any  # (LEVELS + 3, guards) values of the guards there; behind: kept from the piece before, and of this one
    open: Any  # (LEVELS + 1, guards) verdicts of these spans; the last row: of the whole step
    # (20,) f8: time, next step, rtol, longest step, fixed step, samples a second, last step; where that step ends
    # or its first guard stands: time, fraction of the step; time of a position that is to be passed amid a step;
    # step and error of the implicit step before; how long explicit steps have been of late; see
    # `sim.kernels.integrators.choice` for the rest
    clock: Any
    # (20,) i8: accepted, rejected, evaluations, next sample, rows filled, method, slope known, stalled steps,
    # samples of the last step are still to be written, guard that ends it or -1; an implicit step went before this one
    # (1), was tried from here (0), or neither (-1); see `sim.kernels.integrators.choice`;
    # spans that the last step was looked at in; 1: pause once before the time that is asked for shortens steps;
    # 1: rows bind rates only, and the classical method keeps to them
    count: Any
