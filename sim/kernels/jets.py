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
    CURVE,
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
from sim.kernels.tables import OF_BALL
from sim.kernels.vectors import beyond, cross, dot, plus

LAST_OF_BALL = 9  # direction of the last of three rows
SMALL_TURN = 0.02  # rad^2
AT_END = 1e-12  # of a curve's span: so far beyond an end it goes on


@python_kernel
def drive(rows, codes, constants, programs, t, stack_work, row_work):
    """Coordinate, rate and acceleration that every driven freedom has to have at time t, into row_work.want."""
    want = row_work.want
    for r in range(rows.motion.size):
        p = rows.motion[r]
        if p >= 0:
            run_jet(codes, constants, programs[p, 0], programs[p, 1], t, stack_work)
            want[r, 0], want[r, 1], want[r, 2] = stack_work[0, 0], stack_work[0, 1], stack_work[0, 2]
            if rows.locked[r] == OF_BALL and rows.code[r] == LAST_OF_BALL:
                turn_with(want, r - 2)


@kernel
def turn_with(want_out, r):
    """Replace the derivatives of a rotation vector, in three rows from r on, by the angular velocity and its rate.

    These are in the axes that turn, of the child: w = r' - a r x r' + b r x (r x r'), with a = (1 - cos n) / n^2 and
    b = (n - sin n) / n^3 of the angle n = |r|.
    """
    x = (want_out[r, 0], want_out[r + 1, 0], want_out[r + 2, 0])
    x1 = (want_out[r, 1], want_out[r + 1, 1], want_out[r + 2, 1])
    x2 = (want_out[r, 2], want_out[r + 1, 2], want_out[r + 2, 2])
    a, b, a1, b1 = shares_of_turn(dot(x, x))
    c, s = cross(x, x1), dot(x, x1)
    c1, cc = cross(x, x2), cross(x, c)
    w = beyond(beyond(x1, -a, c), b, cc)
    alpha = beyond(beyond(beyond(beyond(x2, -a1 * s, c), -a, c1), b1 * s, cc), b, plus(cross(x1, c), cross(x, c1)))
    for i in range(3):
        want_out[r + i, 1], want_out[r + i, 2] = w[i], alpha[i]


@kernel
def shares_of_turn(square):
    """Return a, b of `turn_with` from the angle's square, and twice their derivatives by it."""
    u = square
    if u < SMALL_TURN:  # the quotients lose their digits there
        return (
            1.0 / 2.0 - u * (1.0 / 24.0 - u * (1.0 / 720.0 - u / 40320.0)),
            1.0 / 6.0 - u * (1.0 / 120.0 - u * (1.0 / 5040.0 - u / 362880.0)),
            -1.0 / 12.0 + u * (1.0 / 180.0 - u * (1.0 / 6720.0 - u / 453600.0)),
            -1.0 / 60.0 + u * (1.0 / 1260.0 - u * (1.0 / 60480.0 - u / 4989600.0)),
        )
    n = math.sqrt(u)
    s, versed = math.sin(n), 2.0 * math.sin(0.5 * n) ** 2
    return (
        versed / u, (n - s) / (u * n), (n * s - 2.0 * versed) / (u * u), (n * versed - 3.0 * (n - s)) / (u * u * n),
    )  # fmt: skip


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
            if operation == CURVE:
                value, f1, f2 = along_curve(constants, codes[n, 1], a0)
                rate, acceleration = f1 * a1, f2 * a1 * a1 + f1 * a2
            else:
                value, rate, acceleration = of_one(operation, a0, a1, a2)
        stack_work[top - 1, 0], stack_work[top - 1, 1], stack_work[top - 1, 2] = value, rate, acceleration


@kernel
def along_curve(constants, at, x):
    """Value of a curve at x with its first and second derivative; not-a-number before it begins and after it ends.

    constants: from `at` on the number of places n, the number of powers of a piece m; n places, growing; n - 1 pieces,
    each a polynomial of what x is beyond its place, the highest power first.
    """
    count, powers, first = int(constants[at]), int(constants[at + 1]), at + 2
    begin, end = constants[first], constants[first + count - 1]
    slack = AT_END * (end - begin)  # sums of steps miss an end by roundoff
    if not begin - slack <= x <= end + slack:
        return math.nan, math.nan, math.nan
    low, high = 0, count - 2
    while low < high:
        middle = (low + high + 1) // 2
        if constants[first + middle] <= x:
            low = middle
        else:
            high = middle - 1
    h, p = x - constants[first + low], first + count + powers * low
    value = rate = half = 0.0
    for k in range(p, p + powers):
        half, rate, value = half * h + rate, rate * h + value, value * h + constants[k]
    return value, rate, 2.0 * half


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
