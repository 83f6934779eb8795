"""Formulas of a scene on intervals: between what bounds a value and its rate stay through a span of time.

An interval is (low, high, least rate, largest rate).  What has no bound is infinite; what has no value is
not-a-number, and so is all that follows from it.  Programs are those of `sim.kernels.programs`.
"""

from __future__ import annotations

import math

from sim.kernels.jit import kernel
from sim.kernels.programs import (
    ABS,
    ADD,
    ASIN,
    ATAN,
    ATAN2,
    COS,
    DIVIDE,
    EXP,
    LOG,
    MAX,
    MIN,
    MULTIPLY,
    NEGATE,
    SIN,
    SQRT,
    SUBTRACT,
    TAN,
    unary,
)

HALF_PI = 0.5 * math.pi
UNBOUNDED = (-math.inf, math.inf, -math.inf, math.inf)
UNKNOWN = (math.nan, math.nan, math.nan, math.nan)


@kernel
def range_of_product(a0, a1, b0, b1):
    """Bounds of a product; zero times infinity is zero, as a factor that is zero stays so."""
    low, high = math.inf, -math.inf
    for i in range(2):
        a = a0 if i == 0 else a1
        for j in range(2):
            b = b0 if j == 0 else b1
            p = 0.0 if a == 0.0 or b == 0.0 else a * b
            low, high = min(low, p), max(high, p)
    return low, high


@kernel
def range_of_quotient(a0, a1, b0, b1):
    """Bounds of a quotient."""
    if b0 <= 0.0 <= b1:
        return -math.inf, math.inf
    return range_of_product(a0, a1, 1.0 / b1, 1.0 / b0)


@kernel
def chained(low, high, f0, f1, a):
    """Interval of a function whose values are in (low, high) and whose slope is in (f0, f1), of the interval a."""
    d0, d1 = range_of_product(f0, f1, a[2], a[3])
    return low, high, d0, d1


@kernel
def cosine_range(a0, a1):
    """Bounds of the cosine between two angles."""
    if not a1 - a0 < 2.0 * math.pi:
        return -1.0, 1.0
    c0, c1 = math.cos(a0), math.cos(a1)
    low, high = min(c0, c1), max(c0, c1)
    if math.floor(a1 / (2.0 * math.pi)) > math.floor(a0 / (2.0 * math.pi)):
        high = 1.0
    if math.floor(a1 / (2.0 * math.pi) - 0.5) > math.floor(a0 / (2.0 * math.pi) - 0.5):
        low = -1.0
    return low, high


@kernel
def interval_of_one(operation, a):
    """Interval of a function of one interval."""
    a0, a1 = a[0], a[1]
    if math.isnan(a0) or math.isnan(a1):
        return UNKNOWN
    if operation == NEGATE:
        return -a1, -a0, -a[3], -a[2]
    if operation == ABS:
        if a0 >= 0.0:
            return a
        if a1 <= 0.0:
            return -a1, -a0, -a[3], -a[2]
        return chained(0.0, max(-a0, a1), -1.0, 1.0, a)
    if operation == SIN:
        low, high = cosine_range(a0 - HALF_PI, a1 - HALF_PI)
        f0, f1 = cosine_range(a0, a1)
        return chained(low, high, f0, f1, a)
    if operation == COS:
        low, high = cosine_range(a0, a1)
        f0, f1 = cosine_range(a0 + HALF_PI, a1 + HALF_PI)
        return chained(low, high, f0, f1, a)
    return rising_interval(operation, a)


@kernel
def rising_interval(operation, a):
    """Interval of a function that only rises, or falls (ACOS), where it is defined."""
    a0, a1 = a[0], a[1]
    if operation == EXP:
        low, high = unary(EXP, a0), unary(EXP, a1)
        return chained(low, high, low, high, a)
    if operation == ATAN:
        least = 0.0 if a0 <= 0.0 <= a1 else min(abs(a0), abs(a1))
        most = max(abs(a0), abs(a1))
        return chained(math.atan(a0), math.atan(a1), 1.0 / (1.0 + most * most), 1.0 / (1.0 + least * least), a)
    if operation == TAN:
        if not a1 - a0 < math.pi or math.floor(a1 / math.pi - 0.5) > math.floor(a0 / math.pi - 0.5):
            return UNBOUNDED
        low, high = math.tan(a0), math.tan(a1)
        most = max(abs(low), abs(high))
        least = 0.0 if low <= 0.0 <= high else min(abs(low), abs(high))
        return chained(low, high, 1.0 + least * least, 1.0 + most * most, a)
    if operation == SQRT:
        if a1 < 0.0:
            return UNKNOWN
        low, high = math.sqrt(max(a0, 0.0)), math.sqrt(a1)
        return chained(low, high, 0.5 / high if high > 0.0 else 0.0, 0.5 / low if low > 0.0 else math.inf, a)
    if operation == LOG:
        if a1 <= 0.0:
            return UNKNOWN
        low = math.log(a0) if a0 > 0.0 else -math.inf
        return chained(low, math.log(a1), 1.0 / a1, 1.0 / a0 if a0 > 0.0 else math.inf, a)
    if a1 < -1.0 or a0 > 1.0:  # of ASIN, ACOS
        return UNKNOWN
    b0, b1 = max(a0, -1.0), min(a1, 1.0)
    most = max(abs(b0), abs(b1))
    least = 0.0 if b0 <= 0.0 <= b1 else min(abs(b0), abs(b1))
    f0 = 1.0 / math.sqrt(1.0 - least * least) if least < 1.0 else math.inf
    f1 = 1.0 / math.sqrt(1.0 - most * most) if most < 1.0 else math.inf
    if operation == ASIN:
        return chained(math.asin(b0), math.asin(b1), f0, f1, a)
    return chained(math.acos(b1), math.acos(b0), -f1, -f0, a)


@kernel
def interval_of_two(operation, a, b):
    """Interval of a function of two intervals."""
    if math.isnan(a[0]) or math.isnan(b[0]):
        return UNKNOWN
    if operation == ADD:
        return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]
    if operation == SUBTRACT:
        return a[0] - b[1], a[1] - b[0], a[2] - b[3], a[3] - b[2]
    if operation == MIN or operation == MAX:
        return extreme_interval(operation, a, b)
    if operation == MULTIPLY:
        return product_interval(a, b)
    if operation == DIVIDE:
        low, high = range_of_quotient(a[0], a[1], b[0], b[1])
        q0, q1 = range_of_product(low, high, b[2], b[3])
        d0, d1 = range_of_quotient(a[2] - q1, a[3] - q0, b[0], b[1])
        return low, high, d0, d1
    if operation == ATAN2:
        return angle_interval(a, b)
    return power_interval(a, b)


@kernel
def extreme_interval(operation, a, b):
    """Interval of the smaller or the larger of two."""
    if operation == MIN:
        if a[1] < b[0]:
            return a
        if b[1] < a[0]:
            return b
        return min(a[0], b[0]), min(a[1], b[1]), min(a[2], b[2]), max(a[3], b[3])
    if a[0] > b[1]:
        return a
    if b[0] > a[1]:
        return b
    return max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), max(a[3], b[3])


@kernel
def angle_interval(y, x):
    """Interval of atan2(y, x); where the cut behind the origin may be passed, all that it can be."""
    if x[0] <= 0.0 and y[0] <= 0.0 <= y[1]:
        return -math.pi, math.pi, -math.inf, math.inf
    low, high = math.inf, -math.inf
    for i in range(2):
        for j in range(2):
            angle = math.atan2(y[i], x[j])
            low, high = min(low, angle), max(high, angle)
    p0, p1 = range_of_product(x[0], x[1], y[2], y[3])
    q0, q1 = range_of_product(y[0], y[1], x[2], x[3])
    s0, s1 = square_range(x[0], x[1])
    r0, r1 = square_range(y[0], y[1])
    d0, d1 = range_of_quotient(p0 - q1, p1 - q0, s0 + r0, s1 + r1)
    return low, high, d0, d1


@kernel
def square_range(a0, a1):
    """Bounds of a square."""
    least = 0.0 if a0 <= 0.0 <= a1 else min(a0 * a0, a1 * a1)
    return least, max(a0 * a0, a1 * a1)


@kernel
def power_interval(a, b):
    """Interval of a^b: of whole constant exponents, and of positive bases."""
    if b[0] == b[1] and b[2] == 0.0 and b[3] == 0.0:
        n = b[0]
        f0, f1 = constant_power(a[0], a[1], n - 1.0)
        f0, f1 = range_of_product(f0, f1, n, n)
        low, high = constant_power(a[0], a[1], n)
        return chained(low, high, f0, f1, a)
    if not a[0] > 0.0:
        return UNBOUNDED
    log = rising_interval(LOG, a)
    return rising_interval(EXP, product_interval(log, b))


@kernel
def product_interval(a, b):
    """Interval of a product."""
    low, high = range_of_product(a[0], a[1], b[0], b[1])
    p0, p1 = range_of_product(a[2], a[3], b[0], b[1])
    q0, q1 = range_of_product(a[0], a[1], b[2], b[3])
    return low, high, p0 + q0, p1 + q1


@kernel
def constant_power(a0, a1, n):
    """Bounds of x^n for a constant n."""
    if n == 0.0:
        return 1.0, 1.0
    if n != math.floor(n) or n < 0.0:
        if a0 > 0.0:
            p, q = a0**n, a1**n
            return min(p, q), max(p, q)
        if n > 0.0 and a1 >= 0.0:
            return 0.0, a1**n
        return -math.inf, math.inf
    p, q = a0**n, a1**n
    if n % 2.0 == 1.0:
        return p, q
    return (0.0 if a0 <= 0.0 <= a1 else min(p, q)), max(p, q)
