"""Formulas of time with their first and second derivatives: truncated Taylor arithmetic, exact to roundoff.

A *jet* is a number, its rate and its acceleration.  Programs are those of `sim.kernels.programs`; only
constants and time are read.
"""

from __future__ import annotations

import math

from sim.kernels.jit import kernel, python_kernel
from sim.kernels.programs import (
    ABS,
    ACOS,
    ADD,
    ASIN,
    ATAN,
    ATAN2,
    COM,
    CONSTANT,
    COS,
    DIVIDE,
    EXP,
    LOG,
    MAX,
    MIN,
    MULTIPLY,
    NEGATE,
    POWER,
    SIN,
    SQRT,
    SUBTRACT,
    TAN,
    binary,
    unary,
)


@python_kernel
def drive(rows, codes, constants, programs, t, stack_work, row_work):
    """Coordinate, rate and acceleration that every driven freedom has to have at time t, into row_work.want."""
    want = row_work.want
    for r in range(rows.motion.size):
        p = rows.motion[r]
        if p >= 0:
            run_jet(codes, constants, programs[p, 0], programs[p, 1], t, stack_work)
            want[r, 0], want[r, 1], want[r, 2] = stack_work[0, 0], stack_work[0, 1], stack_work[0, 2]


@kernel
def run_jet(codes, constants, first, end, t, stack_work):
    """Run the instructions first ... end; the jet is left in stack_work[0]."""
    top = 0
    for n in range(first, end):
        operation = codes[n, 0]
        if operation <= COM:
            value, rate = (constants[codes[n, 1]], 0.0) if operation == CONSTANT else (t, 1.0)
            stack_work[top, 0], stack_work[top, 1], stack_work[top, 2] = value, rate, 0.0
            top += 1
            continue
        if operation <= MAX:
            top -= 1
            a0, a1, a2 = stack_work[top - 1, 0], stack_work[top - 1, 1], stack_work[top - 1, 2]
            b0, b1, b2 = stack_work[top, 0], stack_work[top, 1], stack_work[top, 2]
            value, rate, acceleration = of_two(operation, a0, a1, a2, b0, b1, b2)
        else:
            a0, a1, a2 = stack_work[top - 1, 0], stack_work[top - 1, 1], stack_work[top - 1, 2]
            value, rate, acceleration = of_one(operation, a0, a1, a2)
        stack_work[top - 1, 0], stack_work[top - 1, 1], stack_work[top - 1, 2] = value, rate, acceleration


@kernel
def of_one(operation, a0, a1, a2):
    """Jet of a function of one jet, by the chain rule."""
    value = unary(operation, a0)
    if a1 == 0.0 and a2 == 0.0:
        return value, 0.0, 0.0
    f1, f2 = slopes(operation, a0, value)
    return value, f1 * a1, f2 * a1 * a1 + f1 * a2


@kernel
def slopes(operation, a, value):
    """First and second derivative of a function at a, where it has that value; not-a-number where there are none."""
    if operation == NEGATE:
        return -1.0, 0.0
    if operation == SIN:
        return math.cos(a), -value
    if operation == COS:
        return -math.sin(a), -value
    if operation == TAN:
        return 1.0 + value * value, 2.0 * value * (1.0 + value * value)
    if operation == EXP:
        return value, value
    if operation == ATAN:
        w = 1.0 / (1.0 + a * a)
        return w, -2.0 * a * w * w
    if operation == ABS:
        return (1.0 if a >= 0.0 else -1.0), 0.0
    if operation == SQRT and a > 0.0:
        return 0.5 / value, -0.25 / (a * value)
    if operation == LOG and a > 0.0:
        return 1.0 / a, -1.0 / (a * a)
    if (operation == ASIN or operation == ACOS) and -1.0 < a < 1.0:
        w = 1.0 / math.sqrt(1.0 - a * a)
        sign = 1.0 if operation == ASIN else -1.0
        return sign * w, sign * a * w * w * w
    return math.nan, math.nan


@kernel
def of_two(operation, a0, a1, a2, b0, b1, b2):
    """Jet of a function of two jets."""
    value = binary(operation, a0, b0)
    if operation == ADD:
        return value, a1 + b1, a2 + b2
    if operation == SUBTRACT:
        return value, a1 - b1, a2 - b2
    if operation == MULTIPLY:
        return value, a1 * b0 + a0 * b1, a2 * b0 + 2.0 * a1 * b1 + a0 * b2
    if operation == DIVIDE:
        if b0 == 0.0:
            return math.nan, math.nan, math.nan
        rate = (a1 - value * b1) / b0
        return value, rate, (a2 - 2.0 * rate * b1 - value * b2) / b0
    if operation == POWER:
        rate, acceleration = power_rates(value, a0, a1, a2, b0, b1, b2)
        return value, rate, acceleration
    if operation == ATAN2:
        square = a0 * a0 + b0 * b0
        if square == 0.0:
            return math.nan, math.nan, math.nan
        rate = (b0 * a1 - a0 * b1) / square
        return value, rate, (b0 * a2 - a0 * b2 - 2.0 * rate * (a0 * a1 + b0 * b1)) / square
    first = (a0 < b0) == (operation == MIN)
    return (a0, a1, a2) if first else (b0, b1, b2)


@kernel
def power_rates(value, a0, a1, a2, b0, b1, b2):
    """First and second derivative of a^b, which has that value."""
    if b1 == 0.0 and b2 == 0.0:
        rate = acceleration = 0.0
        if b0 != 0.0 and (a1 != 0.0 or a2 != 0.0):
            slope = b0 * binary(POWER, a0, b0 - 1.0)
            rate, acceleration = slope * a1, slope * a2
            if b0 != 1.0 and a1 != 0.0:
                acceleration += b0 * (b0 - 1.0) * binary(POWER, a0, b0 - 2.0) * a1 * a1
        return rate, acceleration
    if not a0 > 0.0:
        return math.nan, math.nan
    log = math.log(a0)
    x1 = b1 * log + b0 * a1 / a0  # of b log a
    x2 = b2 * log + 2.0 * b1 * a1 / a0 + b0 * (a2 / a0 - a1 * a1 / (a0 * a0))
    return value * x1, value * (x2 + x1 * x1)
