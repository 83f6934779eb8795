"""Formulas of time with two derivatives, against central differences and closed forms."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

from sim.kernels import jets
from sim.kernels import programs as op
from tests.kernels.plain import plain

pytestmark = pytest.mark.fast

NAN = math.nan
of_one, of_two = plain(jets.of_one), plain(jets.of_two)
ONE: dict[int, tuple[Callable[[float], float], tuple[float, ...]]] = {
    op.NEGATE: (lambda x: -x, (-0.7, 0.4)),
    op.SQRT: (math.sqrt, (0.3, 2.7)),
    op.SIN: (math.sin, (-0.7, 0.4, 2.2)),
    op.COS: (math.cos, (-0.7, 0.4, 2.2)),
    op.TAN: (math.tan, (-0.7, 0.4, 2.2)),
    op.ASIN: (math.asin, (-0.7, 0.4)),
    op.ACOS: (math.acos, (-0.7, 0.4)),
    op.ATAN: (math.atan, (-0.7, 0.4, 2.2)),
    op.EXP: (math.exp, (-0.7, 0.4)),
    op.LOG: (math.log, (0.3, 2.7)),
    op.ABS: (abs, (-0.7, 0.4)),
}
TWO: dict[int, Callable[[float, float], float]] = {
    op.ADD: lambda a, b: a + b,
    op.SUBTRACT: lambda a, b: a - b,
    op.MULTIPLY: lambda a, b: a * b,
    op.DIVIDE: lambda a, b: a / b,
    op.POWER: lambda a, b: a**b,
    op.ATAN2: math.atan2,
    op.MIN: min,
    op.MAX: max,
}
JETS = ((0.7, -1.3), (0.0, 0.6), (-0.45, 0.0))  # rates and accelerations


def jet_of(f: Callable[[float], float]) -> object:
    """Value, rate and acceleration at zero by central differences of order six."""
    h = 2e-3
    y = [f(k * h) for k in range(-3, 4)]
    rate = np.dot(y, [-1, 9, -45, 0, 45, -9, 1]) / (60 * h)
    acceleration = np.dot(y, [2, -27, 270, -490, 270, -27, 2]) / (180 * h * h)
    return pytest.approx((y[3], rate, acceleration), rel=1e-7, abs=1e-7)


def path(a: float, jet: tuple[float, float]) -> Callable[[float], float]:
    return lambda s: a + jet[0] * s + jet[1] * s * s / 2.0


@pytest.mark.parametrize("operation", ONE)
@pytest.mark.parametrize("jet", JETS)
def test_a_function_of_one(operation: int, jet: tuple[float, float]) -> None:
    f, places = ONE[operation]
    for a in places:
        x = path(a, jet)
        assert of_one(operation, a, *jet) == jet_of(lambda s, x=x: f(x(s)))
        assert of_one(operation, a, 0.0, 0.0) == pytest.approx((f(a), 0.0, 0.0))


@pytest.mark.parametrize("operation", TWO)
@pytest.mark.parametrize("jet", list(itertools.product(JETS, JETS)))
def test_an_operation(operation: int, jet: tuple[tuple[float, float], tuple[float, float]]) -> None:
    f = TWO[operation]
    for a, b in ((0.7, 1.9), (2.3, -0.8), (0.4, 0.3)):
        x, y = path(a, jet[0]), path(b, jet[1])
        assert of_two(operation, a, *jet[0], b, *jet[1]) == jet_of(lambda s, x=x, y=y: f(x(s), y(s)))
    if operation in (op.ATAN2, op.MIN, op.MAX, op.MULTIPLY, op.DIVIDE):
        x, y = path(-1.2, jet[0]), path(-0.5, jet[1])
        assert of_two(operation, -1.2, *jet[0], -0.5, *jet[1]) == jet_of(lambda s, x=x, y=y: f(x(s), y(s)))


@pytest.mark.parametrize("n", [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 5.0])
@pytest.mark.parametrize("a", [-1.3, 0.6])
def test_whole_powers(n: float, a: float) -> None:
    for jet in JETS:
        x = path(a, jet)
        assert of_two(op.POWER, a, *jet, n, 0.0, 0.0) == jet_of(lambda s, x=x: x(s) ** n)


@pytest.mark.parametrize(
    ("n", "expected"),
    [(0.0, (1.0, 0.0, 0.0)), (1.0, (0.0, 0.7, -1.3)), (2.0, (0.0, 0.0, 2 * 0.7**2)), (3.0, (0.0, 0.0, 0.0)),
     (2.5, (0.0, 0.0, 0.0)), (1.5, (0.0, 0.0, NAN)), (0.5, (0.0, NAN, NAN)), (-1.0, (NAN, NAN, NAN))],
)  # fmt: skip
def test_powers_of_zero(n: float, expected: tuple[float, float, float]) -> None:
    assert of_two(op.POWER, 0.0, 0.7, -1.3, n, 0.0, 0.0) == pytest.approx(expected, nan_ok=True)


def test_a_power_of_what_rests_has_no_rates() -> None:
    assert of_two(op.POWER, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0) == (0.0, 0.0, 0.0)
    assert of_two(op.POWER, -2.0, 0.0, 0.0, 3.0, 0.0, 0.0) == (-8.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("operation", "a"),
    [(op.SQRT, 0.0), (op.SQRT, -1.0), (op.LOG, 0.0), (op.LOG, -1.0), (op.ASIN, 1.0), (op.ASIN, -1.0), (op.ACOS, 1.0),
     (op.ACOS, -1.0), (op.ASIN, 1.5), (op.ACOS, -1.5)],
)  # fmt: skip
def test_there_are_no_slopes_where_there_is_a_vertical_tangent_or_no_value(operation: int, a: float) -> None:
    value, rate, acceleration = of_one(operation, a, 0.7, -1.3)
    assert math.isnan(rate) and math.isnan(acceleration)
    value, rate, acceleration = of_one(operation, a, 0.0, -1.3)
    assert math.isnan(rate) and math.isnan(acceleration)
    assert of_one(operation, a, 0.0, 0.0)[1:] == (0.0, 0.0)
    assert plain(jets.slopes)(operation, a, value) == pytest.approx((NAN, NAN), nan_ok=True)


def test_where_two_are_equal_the_second_counts_for_the_smaller_and_the_first_for_the_larger() -> None:
    assert of_two(op.MIN, 0.5, 1.0, 2.0, 0.5, 3.0, 4.0) == (0.5, 3.0, 4.0)
    assert of_two(op.MAX, 0.5, 1.0, 2.0, 0.5, 3.0, 4.0) == (0.5, 1.0, 2.0)
    assert of_one(op.ABS, 0.0, 0.7, -1.3) == (0.0, 0.7, -1.3)


@pytest.mark.parametrize(("operation", "a", "b"), [(op.DIVIDE, 1.0, 0.0), (op.ATAN2, 0.0, 0.0), (op.DIVIDE, 0.0, 0.0)])
def test_an_operation_without_a_value_has_no_rates_either(operation: int, a: float, b: float) -> None:
    assert of_two(operation, a, 0.7, -1.3, b, 0.2, 0.3) == pytest.approx((NAN, NAN, NAN), nan_ok=True)


@pytest.mark.parametrize(("a", "b"), [(0.0, 0.4), (-0.3, 0.4), (0.0, -0.4)])
@pytest.mark.parametrize("exponent", [(0.2, 0.0), (0.0, 0.3)])
def test_a_power_whose_exponent_changes_asks_for_a_positive_base(a: float, b: float, exponent: tuple) -> None:
    assert of_two(op.POWER, a, 0.7, -1.3, b, *exponent)[1:] == pytest.approx((NAN, NAN), nan_ok=True)


def test_programs_of_drives_are_run_at_a_time() -> None:
    """sin(t)*t - 2.5 drives the second row, t^2 the last; the others want what they wanted."""
    codes = np.array(
        [
            (op.TIME, 0), (op.SIN, 0), (op.TIME, 0), (op.MULTIPLY, 0), (op.CONSTANT, 2), (op.SUBTRACT, 0),
            (op.TIME, 0), (op.CONSTANT, 1), (op.POWER, 0),
        ]
    )  # fmt: skip
    constants, programs = np.array([7.0, 2.0, 2.5]), np.array([(0, 0), (6, 9), (0, 6)])
    rows = SimpleNamespace(motion=np.array([-1, 2, -1, 1]), locked=np.zeros(4, int), code=np.array([0, 9, 0, 9]))
    work = SimpleNamespace(want=np.full((4, 3), 9.0))
    t = 1.3
    plain(jets.drive)(rows, codes, constants, programs, t, np.full((8, 3), 5.0), work)
    s, c = math.sin(t), math.cos(t)
    expected = [[9.0] * 3, [s * t - 2.5, c * t + s, 2 * c - s * t], [9.0] * 3, [t * t, 2 * t, 2.0]]
    np.testing.assert_allclose(work.want, expected, rtol=1e-14)
