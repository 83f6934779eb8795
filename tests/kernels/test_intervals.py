"""Bounds through a span: of polynomials, and of formulas of what is bounded, against samples inside."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import BPoly

from sim.kernels import programs as op
from sim.kernels.guards import curves, intervals
from sim.kernels.integrators.integrate import interpolate
from tests.kernels.plain import plain

pytestmark = pytest.mark.fast

INSIDE = np.linspace(0.0, 1.0, 41)
ONE = (op.NEGATE, op.SQRT, op.SIN, op.COS, op.TAN, op.ASIN, op.ACOS, op.ATAN, op.EXP, op.LOG, op.ABS)
TWO = (op.ADD, op.SUBTRACT, op.MULTIPLY, op.DIVIDE, op.POWER, op.ATAN2, op.MIN, op.MAX)
unary, binary = plain(op.unary), plain(op.binary)
of_one, of_two = plain(intervals.interval_of_one), plain(intervals.interval_of_two)


@pytest.mark.parametrize("seed", range(5))
def test_a_curve_is_the_dense_output_and_lies_between_its_coefficients(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, seconds = 3, 0.7
    y, dense = rng.normal(size=n), np.vstack([rng.normal(size=(7, n)), np.zeros(n)])
    low, high = np.sort(rng.uniform(0.0, 1.0, 2))
    curve, span, at = np.zeros(15 * n), np.zeros(15 * n), np.zeros(n)
    plain(curves.curve_of)(y, dense, seconds / (high - low), curve)
    plain(curves.restrict)(curve, low, high, span)
    path = BPoly(span[: 8 * n].reshape(8, 1, n), [0.0, seconds])
    for i in range(n):
        for share in INSIDE:
            plain(interpolate)(y, dense, low + share * (high - low), at)
            of_state, of_rate = plain(curves.shares_at)(share)
            assert plain(curves.on_curve)(span, n, i, of_state) == pytest.approx(at[i], abs=1e-13)
            rate = plain(curves.rate_on_curve)(span, n, i, of_rate)
            assert rate == pytest.approx(path(share * seconds, 1)[i], abs=1e-11)
            least, most = plain(curves.range_on_curve)(span, n, i)
            slowest, fastest = plain(curves.rates_on_curve)(span, n, i)
            assert least - 1e-13 <= at[i] <= most + 1e-13
            assert slowest - 1e-11 <= rate <= fastest + 1e-11


def paths(a: tuple[float, float, float]) -> tuple[np.ndarray, np.ndarray, tuple[float, float, float, float]]:
    """Return values and rates of a parabola at INSIDE, and its interval."""
    value = a[0] + a[1] * INSIDE + a[2] * INSIDE**2
    rate = a[1] + 2.0 * a[2] * INSIDE
    peak = a[0] - a[1] ** 2 / (4.0 * a[2]) if a[2] and 0.0 < -a[1] / (2.0 * a[2]) < 1.0 else value[0]
    return value, rate, (min(*value, peak), max(*value, peak), rate.min(), rate.max())


def hold(values: list[float], bounds: tuple[float, float, float, float]) -> None:
    """Check that values, and their differences over time, are within bounds."""
    assert not any(math.isnan(b) for b in bounds)
    size = 1e-9 * (1.0 + max(map(abs, values)))
    assert bounds[0] - size <= min(values)
    assert max(values) <= bounds[1] + size
    slopes = np.diff(values) / np.diff(INSIDE)
    assert bounds[2] - 100.0 * size <= slopes.min()
    assert slopes.max() <= bounds[3] + 100.0 * size


number = st.floats(-4.0, 4.0, allow_subnormal=False).map(lambda x: round(x, 3))
parabola = st.tuples(number, number, number)


@pytest.mark.parametrize("operation", ONE)
@settings(max_examples=150, deadline=None)
@given(a=parabola)
def test_a_function_stays_within_its_interval(operation: int, a: tuple[float, float, float]) -> None:
    value, _, interval = paths(a)
    found = [float(unary(operation, x)) for x in value]
    if not any(math.isnan(x) for x in found) and np.ptp(np.floor(value / math.pi - 0.5)) * (operation == op.TAN) == 0:
        hold(found, of_one(operation, interval))


@pytest.mark.parametrize("operation", TWO)
@settings(max_examples=150, deadline=None)
@given(a=parabola, b=parabola, whole=st.booleans())
def test_an_operation_stays_within_its_interval(operation: int, a: tuple, b: tuple, whole: bool) -> None:
    if operation == op.POWER and whole:
        b = (float(round(b[0])), 0.0, 0.0)
    (x, _, of_a), (y, _, of_b) = paths(a), paths(b)
    found = [float(binary(operation, p, q)) for p, q in zip(x, y, strict=True)]
    if any(math.isnan(value) for value in found):
        return
    if operation == op.DIVIDE and np.ptp(np.sign(y)):
        return  # it jumps, from one infinity to the other
    if operation == op.ATAN2 and np.abs(np.diff(found)).max() > 3.0:
        bounds = of_two(operation, of_a, of_b)
        assert bounds[:2] == (-math.pi, math.pi)
        return
    if operation == op.POWER and b[1:] == (0.0, 0.0) and b[0] < 0.0 and np.ptp(np.sign(x)):
        return
    hold(found, of_two(operation, of_a, of_b))


def test_intervals_close_in_on_a_value() -> None:
    """Bounds that are right but endless would help nobody: about a point they are as wide as what they are made of."""
    point = (0.3, 0.3 + 1e-6, 1.0, 1.0)
    for operation in (op.SIN, op.COS, op.TAN, op.ASIN, op.ACOS, op.ATAN, op.EXP, op.LOG, op.SQRT):
        low, high, d0, d1 = of_one(operation, point)
        assert high - low < 4e-6
        assert d1 - d0 < 1e-4
    for operation in TWO:
        low, high, d0, d1 = of_two(operation, point, (0.7, 0.7 + 1e-6, -1.0, -1.0))
        assert high - low < 4e-6
        assert d1 - d0 < (3.0 if operation in (op.MIN, op.MAX) else 1e-4)


SPANS = ((0.0, 1.0), (0.0, 0.37), (0.29, 1.0), (0.29, 0.37), (0.999, 1.0), (0.0, 1e-3))


@pytest.mark.parametrize("span", SPANS)
def test_coefficients_are_those_of_bernstein(span: tuple[float, float]) -> None:
    """Found from values at eight places; rates are those of the part, over its own time."""
    rng, n, h = np.random.default_rng(5), 3, 0.7
    y, dense = rng.normal(size=n), np.vstack([rng.normal(size=(7, n)), np.zeros(n)])
    curve, found = np.full(15 * n, 9.0), np.full(15 * n, 9.0)
    plain(curves.curve_of)(y, dense, h, curve)
    before = curve.copy()
    plain(curves.restrict)(curve, *span, found)
    np.testing.assert_array_equal(curve, before)
    at = 0.5 - 0.5 * np.cos(np.pi * np.arange(8) / 7.0)
    basis = np.array([[math.comb(7, k) * x**k * (1.0 - x) ** (7 - k) for k in range(8)] for x in at])
    values = np.zeros((8, n))
    for row, x in zip(values, at, strict=True):
        plain(interpolate)(y, dense, span[0] + x * (span[1] - span[0]), row)
    coefficients = np.linalg.solve(basis, values)
    width = span[1] - span[0]
    np.testing.assert_allclose(found[: 8 * n].reshape(8, n), coefficients, rtol=0, atol=1e-12)
    rates = 7.0 * np.diff(coefficients, axis=0) / (width * h)
    np.testing.assert_allclose(found[8 * n :].reshape(7, n), rates, rtol=0, atol=1e-11 / width)
    for i in range(n):
        column, rate = found[: 8 * n].reshape(8, n)[:, i], found[8 * n :].reshape(7, n)[:, i]
        assert plain(curves.range_on_curve)(found, n, i) == (column.min(), column.max())
        assert plain(curves.rates_on_curve)(found, n, i) == (rate.min(), rate.max())
        assert [plain(curves.rate_between)(found, n, i, k) for k in range(7)] == rate.tolist()


@pytest.mark.parametrize("at", [0.0, 0.3, 0.5, 0.81, 1.0])
def test_shares_are_those_of_bernstein(at: float) -> None:
    of_state, of_rate = plain(curves.shares_at)(at)
    for shares, degree in ((of_state, 7), (of_rate, 6)):
        expected = [math.comb(degree, k) * at**k * (1.0 - at) ** (degree - k) for k in range(degree + 1)]
        assert shares == pytest.approx(expected, rel=1e-13, abs=1e-16)
