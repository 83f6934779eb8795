"""Intervals of formulas are the tightest ones: ranges of values and of slopes, found at all corners or many places.

What follows of two intervals takes them for independent, and so do the corners that are tried here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable

import numpy as np
import pytest

from sim.kernels import programs as op
from sim.kernels.guards import intervals
from tests.kernels.plain import plain

pytestmark = pytest.mark.fast

INF, PI = math.inf, math.pi
UNKNOWN = pytest.approx((math.nan,) * 4, nan_ok=True)
UNBOUNDED = (-INF, INF, -INF, INF)
of_one, of_two = plain(intervals.interval_of_one), plain(intervals.interval_of_two)
RATES = ((0.4, 1.7), (-2.0, 0.6), (-1.5, -0.2))


def near(low: float, high: float, rates: Iterable[float]) -> object:
    """Compare with a range of values and the least and largest of some rates."""
    rates = list(rates)
    return pytest.approx((low, high, min(rates), max(rates)), rel=1e-12, abs=1e-13)


def places(low: float, high: float) -> np.ndarray:
    """Return places of an interval: its ends, many between, and all where sines and cosines turn."""
    turns = PI / 2.0 * np.arange(math.ceil(low / (PI / 2.0)), math.floor(high / (PI / 2.0)) + 1)
    inside = [0.0] if low < 0.0 < high else []
    return np.concatenate([np.linspace(low, high, 50), turns, inside])


# Function, its slope, and intervals on which both are bounded.
BOUNDED: dict[int, tuple[Callable, Callable, tuple[tuple[float, float], ...]]] = {
    op.NEGATE: (np.negative, lambda x: -np.ones_like(x), ((-0.7, 1.1), (0.3, 0.9))),
    op.SIN: (
        np.sin, np.cos,
        ((0.3, 0.9), (-0.7, 1.1), (1.2, 1.9), (2.0, 5.5), (-9.1, -8.0), (0.5, 7.2), (3.0, 3.3), (-3.3, -2.9),
         (-0.4, 0.2), (4.5, 9.0), (-5.0, 1.0), (0.2, 100.0)),
    ),
    op.COS: (
        np.cos, lambda x: -np.sin(x),
        ((0.3, 0.9), (-0.7, 1.1), (1.2, 1.9), (2.0, 5.5), (-9.1, -8.0), (0.5, 7.2), (3.0, 3.3), (-3.3, -2.9),
         (-0.4, 0.2), (4.5, 9.0), (-5.0, 1.0), (0.2, 100.0)),
    ),
    op.EXP: (np.exp, np.exp, ((-0.7, 1.1), (0.3, 0.9), (-3.0, -1.5))),
    op.ATAN: (np.arctan, lambda x: 1.0 / (1.0 + x * x), ((-0.7, 1.1), (0.3, 0.9), (-3.0, -1.5), (0.0, 2.0), (-2.0,
        0.0))),
    op.TAN: (
        np.tan, lambda x: 1.0 / np.cos(x) ** 2,
        ((-0.7, 1.1), (0.3, 0.9), (-1.3, -0.2), (1.8, 4.4), (-4.4, -1.8), (2.0, 2.5), (0.0, 1.5), (-1.5, 0.0)),
    ),
    op.SQRT: (np.sqrt, lambda x: 0.5 / np.sqrt(x), ((0.3, 0.9), (2.0, 5.0))),
    op.LOG: (np.log, lambda x: 1.0 / x, ((0.3, 0.9), (2.0, 5.0), (0.5, 3.0))),
    op.ASIN: (np.arcsin, lambda x: 1.0 / np.sqrt(1.0 - x * x), ((-0.7, 0.9), (0.3, 0.9), (-0.8, -0.1), (0.0, 0.5),
        (-0.5, 0.0))),
    op.ACOS: (np.arccos, lambda x: -1.0 / np.sqrt(1.0 - x * x), ((-0.7, 0.9), (0.3, 0.9), (-0.8, -0.1), (0.0, 0.5),
        (-0.5, 0.0))),
    op.ABS: (np.abs, np.sign, ((0.3, 0.9), (-3.0, -1.5), (0.0, 2.0))),
}  # fmt: skip
CASES = [(operation, ends) for operation, (_, _, some) in BOUNDED.items() for ends in some]


@pytest.mark.parametrize(("operation", "ends"), CASES)
@pytest.mark.parametrize("rates", RATES)
def test_a_function_of_one_interval(operation: int, ends: tuple[float, float], rates: tuple[float, float]) -> None:
    f, slope, _ = BOUNDED[operation]
    x = places(*ends)
    if operation == op.ABS:
        x = x[x > 0.0] if ends[1] > 0.0 else x[x < 0.0]
    value, factor = f(x), slope(x)
    found = of_one(operation, (*ends, *rates))
    low = 0.0 if operation == op.ABS and ends[0] == 0.0 else value.min()
    assert found == near(low, value.max(), (a * b for a in (factor.min(), factor.max()) for b in rates))


@pytest.mark.parametrize(
    ("operation", "ends", "expected"),
    [
        (op.ABS, (-0.7, 1.1), (0.0, 1.1, -1.7, 1.7)),
        (op.ABS, (-1.3, 0.4), (0.0, 1.3, -1.7, 1.7)),
        (op.ABS, (-1.3, 0.0), (0.0, 1.3, -1.7, -0.4)),
        (op.SIN, (0.0, 2.0 * PI), (-1.0, 1.0, -1.7, 1.7)),
        (op.SIN, (-INF, INF), (-1.0, 1.0, -1.7, 1.7)),
        (op.COS, (-INF, INF), (-1.0, 1.0, -1.7, 1.7)),
        (op.TAN, (1.2, 1.9), UNBOUNDED), (op.TAN, (-1.9, -1.2), UNBOUNDED), (op.TAN, (4.5, 4.9), UNBOUNDED),
        (op.TAN, (-1.0, 3.0), UNBOUNDED), (op.TAN, (-INF, INF), UNBOUNDED), (op.TAN, (0.1, 6.5), UNBOUNDED),
        (op.SQRT, (-0.5, 4.0), (0.0, 2.0, 0.1, INF)), (op.SQRT, (0.0, 4.0), (0.0, 2.0, 0.1, INF)),
        (op.SQRT, (-0.5, 0.0), (0.0, 0.0, 0.0, INF)), (op.SQRT, (0.25, 4.0), (0.5, 2.0, 0.1, 1.7)),
        (op.SQRT, (-2.0, -0.5), UNKNOWN),
        (op.LOG, (-0.5, 4.0), (-INF, math.log(4.0), 0.1, INF)), (op.LOG, (0.0, 4.0), (-INF, math.log(4.0), 0.1, INF)),
        (op.LOG, (-0.5, 0.0), UNKNOWN), (op.LOG, (-2.0, -0.5), UNKNOWN),
        (op.ASIN, (-2.0, 0.6), (-PI / 2, math.asin(0.6), 0.4, INF)),
        (op.ASIN, (-0.6, 3.0), (-math.asin(0.6), PI / 2, 0.4, INF)),
        (op.ASIN, (0.6, 3.0), (math.asin(0.6), PI / 2, 0.5, INF)),
        (op.ASIN, (1.0, 3.0), (PI / 2, PI / 2, INF, INF)),
        (op.ASIN, (1.1, 3.0), UNKNOWN), (op.ASIN, (-3.0, -1.1), UNKNOWN),
        (op.ASIN, (-3.0, -1.0), (-PI / 2, -PI / 2, INF, INF)),
        (op.ACOS, (-2.0, 0.6), (math.acos(0.6), PI, -INF, -0.4)),
        (op.ACOS, (0.6, 3.0), (0.0, math.acos(0.6), -INF, -0.5)),
        (op.ACOS, (1.1, 3.0), UNKNOWN), (op.ACOS, (-3.0, -1.1), UNKNOWN),
        (op.EXP, (-INF, 800.0), (0.0, INF, 0.0, INF)),
        (op.SIN, (math.nan, 1.0), UNKNOWN), (op.NEGATE, (0.0, math.nan), UNKNOWN), (op.ABS, (math.nan, 1.0), UNKNOWN),
    ],
)  # fmt: skip
def test_a_function_at_the_edge_of_where_it_is_defined(operation: int, ends: tuple, expected: tuple) -> None:
    found = of_one(operation, (*ends, 0.4, 1.7))
    assert found == (expected if expected is UNKNOWN else pytest.approx(expected, rel=1e-12, abs=1e-13))


def test_where_a_slope_is_unbounded_what_stands_still_has_no_rate() -> None:
    for operation in (op.SQRT, op.LOG, op.ASIN, op.ACOS):
        assert of_one(operation, (-0.5, 1.5, 0.0, 0.0))[2:] == (0.0, 0.0)
    assert of_one(op.SQRT, (0.0, 1.0, -2.0, 0.0))[2:] == (-INF, 0.0)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ((2.0, 3.0), (5.0, 7.0), (10.0, 21.0)), ((-2.0, 3.0), (5.0, 7.0), (-14.0, 21.0)),
        ((-2.0, 3.0), (-5.0, 4.0), (-15.0, 12.0)), ((-3.0, -2.0), (-5.0, -4.0), (8.0, 15.0)),
        ((-3.0, -2.0), (-5.0, 4.0), (-12.0, 15.0)), ((0.0, 0.0), (-INF, INF), (0.0, 0.0)),
        ((0.0, 2.0), (3.0, INF), (0.0, INF)), ((-INF, INF), (0.0, 0.0), (0.0, 0.0)),
        ((-1.0, 0.0), (3.0, INF), (-INF, 0.0)),
    ],
)  # fmt: skip
def test_products_of_ranges(a: tuple, b: tuple, expected: tuple) -> None:
    assert plain(intervals.range_of_product)(*a, *b) == expected


@pytest.mark.parametrize(
    ("b", "expected"),
    [
        ((2.0, 4.0), (-1.5, 2.5)), ((-4.0, -2.0), (-2.5, 1.5)), ((-1.0, 2.0), (-INF, INF)), ((0.0, 2.0), (-INF, INF)),
        ((-2.0, 0.0), (-INF, INF)), ((0.0, 0.0), (-INF, INF)),
    ],
)  # fmt: skip
def test_quotients_of_ranges(b: tuple, expected: tuple) -> None:
    assert plain(intervals.range_of_quotient)(-3.0, 5.0, *b) == expected


BOXES = ((0.3, 0.9), (2.0, 5.5), (-0.7, 1.1), (-4.0, -2.5), (-0.8, -0.1), (0.0, 0.6))
PAIRS = list(itertools.product(BOXES, BOXES))


def four(a: tuple, da: tuple, b: tuple, db: tuple) -> list[tuple[float, float, float, float]]:
    return list(itertools.product(a, da, b, db))


@pytest.mark.parametrize(("a", "b"), PAIRS)
@pytest.mark.parametrize(("da", "db"), [(RATES[0], RATES[1]), (RATES[1], RATES[2]), (RATES[2], RATES[0])])
def test_sums_products_and_quotients(a: tuple, b: tuple, da: tuple, db: tuple) -> None:
    corners = four(a, da, b, db)
    of_a, of_b = (*a, *da), (*b, *db)
    values = [x + y for x, _, y, _ in corners]
    assert of_two(op.ADD, of_a, of_b) == near(min(values), max(values), (u + v for _, u, _, v in corners))
    values = [x - y for x, _, y, _ in corners]
    assert of_two(op.SUBTRACT, of_a, of_b) == near(min(values), max(values), (u - v for _, u, _, v in corners))
    values = [x * y for x, _, y, _ in corners]
    assert of_two(op.MULTIPLY, of_a, of_b) == near(
        min(values), max(values),
        [f(u * y for _, u, y, _ in corners) + f(x * v for x, _, _, v in corners) for f in (min, max)],
    )  # fmt: skip
    if b[0] <= 0.0 <= b[1]:
        assert of_two(op.DIVIDE, of_a, of_b) == UNBOUNDED
        return
    values = [x / y for x, _, y, _ in corners]
    ends = (min(values), max(values))
    assert of_two(op.DIVIDE, of_a, of_b) == near(*ends, ((u - q * v) / y for q, u, y, v in four(ends, da, b, db)))


@pytest.mark.parametrize("operation", [op.MIN, op.MAX])
@pytest.mark.parametrize(
    ("a", "b"),
    [((1.0, 2.0), (2.5, 4.0)), ((2.5, 4.0), (1.0, 2.0)), ((1.0, 2.0), (2.0, 4.0)), ((2.0, 4.0), (1.0, 2.0)),
     ((1.0, 3.0), (2.0, 4.0)), ((2.0, 4.0), (1.0, 3.0)), ((1.0, 4.0), (2.0, 3.0)), ((2.0, 3.0), (1.0, 4.0))],
)  # fmt: skip
@pytest.mark.parametrize(("da", "db"), [((0.4, 1.7), (-2.0, 0.6)), ((-2.0, 0.6), (0.4, 1.7))])
def test_the_smaller_or_the_larger_of_two(operation: int, a: tuple, b: tuple, da: tuple, db: tuple) -> None:
    """Whichever can be the one that counts lends its rates, both where they can be equal."""
    pick = min if operation == op.MIN else max
    counts_a = a[0] <= b[1] if operation == op.MIN else a[1] >= b[0]
    counts_b = b[0] <= a[1] if operation == op.MIN else b[1] >= a[0]
    rates = [*(da if counts_a else ()), *(db if counts_b else ())]
    assert of_two(operation, (*a, *da), (*b, *db)) == near(pick(a[0], b[0]), pick(a[1], b[1]), rates)


@pytest.mark.parametrize(("y", "x"), PAIRS)
@pytest.mark.parametrize(("dy", "dx"), [(RATES[0], RATES[1]), (RATES[1], RATES[2])])
def test_angles(y: tuple, x: tuple, dy: tuple, dx: tuple) -> None:
    found = of_two(op.ATAN2, (*y, *dy), (*x, *dx))
    if x[0] <= 0.0 and y[0] <= 0.0 <= y[1]:
        assert found == (-PI, PI, -INF, INF)
        return
    angles = [math.atan2(p, q) for p in y for q in x]
    squares = [sum(f(places(*ends) ** 2) for ends in (y, x)) for f in (np.min, np.max)]
    tops = [f(q * v for q in x for v in dy) - g(p * u for p in y for u in dx) for f, g in ((min, max), (max, min))]
    if squares[0] == 0.0:
        assert found == pytest.approx((min(angles), max(angles), -INF, INF))
    else:
        assert found == near(min(angles), max(angles), (top / square for top in tops for square in squares))


@pytest.mark.parametrize("n", [0.0, 1.0, 2.0, 3.0, 4.0, 0.5, 1.5, 2.5, -1.0, -2.0, -0.5])
@pytest.mark.parametrize("a", [(0.3, 0.9), (2.0, 5.5)])
@pytest.mark.parametrize("rates", RATES)
def test_powers_of_what_is_positive(n: float, a: tuple, rates: tuple) -> None:
    value, slope = np.array(a) ** n, n * np.array(a) ** (n - 1.0)
    found = of_two(op.POWER, (*a, *rates), (n, n, 0.0, 0.0))
    assert found == near(value.min(), value.max(), (s * r for s in slope for r in rates))


@pytest.mark.parametrize("n", [0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
@pytest.mark.parametrize("a", [(-0.7, 1.1), (-1.3, 0.4), (-4.0, -2.5), (0.0, 0.6), (-0.6, 0.0)])
@pytest.mark.parametrize("rates", RATES)
def test_whole_powers(n: float, a: tuple, rates: tuple) -> None:
    x = places(*a)
    value, slope = x**n, n * x ** max(n - 1.0, 0.0)
    found = of_two(op.POWER, (*a, *rates), (n, n, 0.0, 0.0))
    assert found == near(value.min(), value.max(), (s * r for s in (slope.min(), slope.max()) for r in rates))


@pytest.mark.parametrize(
    ("a", "n", "expected"),
    [
        ((-0.7, 4.0), 0.5, (0.0, 2.0, -INF, INF)), ((0.0, 4.0), 0.5, (0.0, 2.0, -INF, INF)),
        ((0.0, 4.0), 1.5, (0.0, 8.0, 0.0, 5.1)), ((-0.7, 4.0), 1.5, (0.0, 8.0, 0.0, 5.1)),
        ((-0.7, 0.0), 1.5, (0.0, 0.0, 0.0, 0.0)), ((-0.7, -0.2), 1.5, (-INF, INF, -INF, INF)),
        ((-0.7, 4.0), -1.0, UNBOUNDED), ((-4.0, -2.0), -1.0, UNBOUNDED), ((-0.7, 4.0), -0.5, UNBOUNDED),
        ((0.0, 4.0), -2.0, UNBOUNDED),
    ],
)  # fmt: skip
def test_powers_at_the_edge_of_where_they_are_defined(a: tuple, n: float, expected: tuple) -> None:
    assert of_two(op.POWER, (*a, 0.4, 1.7), (n, n, 0.0, 0.0)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("a", [(0.3, 0.9), (2.0, 5.5), (0.4, 3.0)])
@pytest.mark.parametrize("b", [(*(0.3, 0.9), *RATES[1]), (*(-0.7, 1.1), *RATES[0]), (2.0, 2.0, 0.0, 0.5), (2.0, 2.0,
    -0.5, 0.0), (2.0, 2.5, 0.0, 0.0)])  # fmt: skip
@pytest.mark.parametrize("rates", RATES[:2])
def test_powers_whose_exponent_changes(a: tuple, b: tuple, rates: tuple) -> None:
    """As exp(b log a)."""
    logs = tuple(map(math.log, a))
    of_log = [r / x for x in a for r in rates]
    exponents = [m * y for m in logs for y in b[:2]]
    speeds = [
        f(m * y for m in of_log for y in b[:2]) + f(m * v for m in logs for v in b[2:]) for f in (min, max)
    ]  # fmt: skip
    values = [math.exp(e) for e in (min(exponents), max(exponents))]
    found = of_two(op.POWER, (*a, *rates), b)
    assert found == near(*values, (value * speed for value in values for speed in speeds))
    assert of_two(op.POWER, (-a[0], a[1], *rates), b) == UNBOUNDED
    assert of_two(op.POWER, (0.0, a[1], *rates), b) == UNBOUNDED


def test_what_has_no_value_leaves_none() -> None:
    point, none = (0.3, 0.9, 0.4, 1.7), (math.nan,) * 4
    for operation in (op.ADD, op.SUBTRACT, op.MULTIPLY, op.DIVIDE, op.POWER, op.ATAN2, op.MIN, op.MAX):
        assert of_two(operation, none, point) == UNKNOWN
        assert of_two(operation, point, none) == UNKNOWN
