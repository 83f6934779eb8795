"""Dual numbers, beside math and differences; roots, and how far roundoff moves them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sim.analysis.linear.duals import MATHEMATICS, Dual, duals, slopes_in, values_in
from sim.analysis.linear.roots import matched, roots, spread

pytestmark = pytest.mark.fast


def number(value: float, *slopes: float) -> Dual:
    return Dual(value, np.array(slopes))


def is_number(found: Any, value: float, *slopes: float) -> bool:
    return found.value == pytest.approx(value, rel=1e-15) and found.slopes == pytest.approx(slopes, rel=1e-14)


def difference(f: Callable[..., float], at: tuple[float, ...], ways: np.ndarray, h: float = 1e-4) -> np.ndarray:
    """Return derivatives of f along ways (directions, arguments), extrapolated once."""
    ends = [[(f(*(at + s * w)) - f(*(at - s * w))) / (2.0 * s) for w in ways] for s in (h, 0.5 * h)]
    return (4.0 * np.array(ends[1]) - np.array(ends[0])) / 3.0


OPERATIONS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.__name__)
def test_two_numbers_of_either_kind(operation: Callable[..., Any]) -> None:
    at, ways = (1.7, -0.6), np.array([[1.0, 0.0], [0.0, 1.0], [0.4, -1.3]])
    a, b = (Dual(x, way) for x, way in zip(at, ways.T, strict=True))
    slopes = difference(operation, at, ways)
    both, left, right = operation(a, b), operation(a, at[1]), operation(at[0], b)
    assert both.value == left.value == right.value == operation(*at)
    assert both.slopes == pytest.approx(slopes, rel=1e-9, abs=1e-10)
    assert left.slopes == pytest.approx(slopes[0] * ways.T[0], rel=1e-9, abs=1e-10)
    assert right.slopes == pytest.approx(slopes[1] * ways.T[1], rel=1e-9, abs=1e-10)
    assert np.array_equal(operation(np.float64(at[0]), b).slopes, right.slopes)


def test_powers_of_what_is_zero_or_less() -> None:
    assert is_number(number(-2.0, 3.0) ** 3, -8.0, 36.0) and is_number(number(-2.0, 3.0) ** 2.0, 4.0, -12.0)
    assert is_number(number(0.0, 3.0) ** 1.5, 0.0, 0.0) and is_number(number(0.0, 3.0) ** 1.0, 0.0, 3.0)
    assert is_number(number(-2.0, 3.0) ** number(2.0, 0.0), 4.0, -12.0) and number(0.0, 3.0) ** 0.0 == 1.0
    assert (number(0.0, 3.0) ** 0.5).slopes.tolist() == [math.inf]
    assert (number(0.0, 0.0) ** 0.5).slopes.tolist() == [0.0]


def test_signs_and_sides() -> None:
    assert is_number(-number(2.0, 3.0), -2.0, -3.0)
    assert is_number(abs(number(-2.0, 3.0)), 2.0, -3.0) and is_number(abs(number(2.0, 3.0)), 2.0, 3.0)
    assert is_number(max(0.5, number(0.6, 3.0)), 0.6, 3.0) and max(0.5, number(0.4, 3.0)) == 0.5
    assert is_number(min(number(0.4, 2.0), number(0.6, 3.0)), 0.4, 2.0)
    assert round(number(2.7, 1.0)) == 3 and math.floor(number(-2.3, 1.0)) == -3 and number(2.5, 1.0).real == 2.5


@pytest.mark.parametrize("other", [1.0, number(1.0, -4.0)], ids=["float", "dual"])
def test_order_is_that_of_values(other: Any) -> None:
    less, same, more = (number(value, 7.0) for value in (0.5, 1.0, 1.5))
    assert less < other < more and more > other > less
    assert less <= other <= more and same <= other and same >= other and not same < other and not same > other


def test_what_differs_beside_is_not_the_same() -> None:
    """Kernels leave out what is zero: here only where it stays so."""
    assert number(0.0, 0.0) == 0.0 and number(0.0, 1.0) != number(0.0, 2.0) and number(2.0, 1.0) == number(2.0, 1.0)
    assert number(0.0, 0.0, 1.0) != 0.0 and number(2.0, 1.0) != number(2.0, 1.5) and number(2.0, 0.0) != 1.0


@pytest.mark.parametrize("x", [-0.7, 0.2, 0.9])
@pytest.mark.parametrize("name", ["sin", "cos", "tan", "asin", "acos", "atan", "exp"])
def test_functions_of_one_number(name: str, x: float) -> None:
    function, of_float = getattr(MATHEMATICS, name), getattr(math, name)
    found = function(number(x, 1.0, -2.0))
    assert found.value == function(x) == of_float(x)
    assert found.slopes == pytest.approx(difference(of_float, (x,), np.array([[1.0], [-2.0]])), rel=1e-9)


@pytest.mark.parametrize("name", ["sqrt", "log"])
def test_functions_of_what_is_positive(name: str) -> None:
    found, of_float = getattr(MATHEMATICS, name)(number(1.7, 1.0, -2.0)), getattr(math, name)
    assert found.value == getattr(MATHEMATICS, name)(1.7) == of_float(1.7)
    assert found.slopes == pytest.approx(difference(of_float, (1.7,), np.array([[1.0], [-2.0]])), rel=1e-9)


def test_where_functions_have_no_slope() -> None:
    """The length of nothing has none, and needs none: squares come with slopes of zero."""
    assert is_number(MATHEMATICS.sqrt(number(0.0, 3.0) ** 2), 0.0, 0.0)
    assert MATHEMATICS.sqrt(number(0.0, 3.0)).slopes.tolist() == [math.inf]
    assert is_number(MATHEMATICS.asin(number(1.0, 0.0)), 0.5 * math.pi, 0.0)
    assert MATHEMATICS.acos(number(1.0, 2.0)).slopes.tolist() == [-math.inf]
    assert math.isnan(MATHEMATICS.sqrt(-1.0)) and math.isnan(MATHEMATICS.sqrt(number(-1.0, 3.0)).value)


@pytest.mark.parametrize(("y", "x"), [(0.3, 2.0), (0.7, -0.2), (-0.4, -1.5), (-2.0, 0.6), (0.0, -1.0), (1.5, 0.0)])
def test_angles_in_every_quadrant(y: float, x: float) -> None:
    dy, dx, square = 0.8, -1.7, x * x + y * y
    both = MATHEMATICS.atan2(number(y, dy), number(x, dx))
    assert both.value == MATHEMATICS.atan2(y, x) == math.atan2(y, x)
    assert both.slopes == pytest.approx([(x * dy - y * dx) / square], rel=1e-14)
    for found, slope in (
        (MATHEMATICS.atan2(number(y, dy), x), x * dy / square),
        (MATHEMATICS.atan2(y, number(x, dx)), -y * dx / square),
    ):
        assert slopes_in(np.array([found], object), 1)[0] == pytest.approx([slope], rel=1e-14)


def test_an_angle_of_nothing_is_zero() -> None:
    assert MATHEMATICS.atan2(number(0.0, 1.0), 0.0) == 0.0 and MATHEMATICS.atan2(0.0, number(0.0, 1.0)) == 0.0


def test_arrays_of_numbers_of_either_kind() -> None:
    x = duals(np.array([1.0, -2.0]), np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    x[1] = 7.0
    assert values_in(x).tolist() == [1.0, 7.0] and slopes_in(x, 3).tolist() == [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]
    found = np.array([[2.0, 0.0], [1.0, 3.0]]) @ x
    assert values_in(found).tolist() == [2.0, 22.0] and slopes_in(found, 3).tolist() == [
        [2.0, 4.0, 6.0],
        [1.0, 2.0, 3.0],
    ]
    assert slopes_in(duals(np.ones(2), np.zeros((2, 0))), 0).shape == (2, 0)
    assert np.isnan(slopes_in(np.array([math.nan, math.inf]), 2)).all()


# --- roots ------------------------------------------------------------------------------------------


def test_roots_come_by_real_part_and_with_their_vectors() -> None:
    D = np.zeros((6, 6))
    D[0:2, 0:2], D[2:4, 2:4] = [[-0.5, 3.0], [-3.0, -0.5]], [[-0.5, 1.0], [-1.0, -0.5]]
    D[4, 4], D[5, 5] = 0.25, -2.0
    T = np.random.default_rng(4).normal(size=(6, 6))
    A = T @ D @ np.linalg.inv(T)
    values, vectors = roots(A)
    assert np.allclose(values, [-2.0, -0.5 + 3j, -0.5 + 1j, -0.5 - 1j, -0.5 - 3j, 0.25], rtol=0.0, atol=1e-12)
    assert np.allclose(A @ vectors, vectors * values, rtol=0.0, atol=1e-12)
    assert values.dtype == vectors.dtype == complex


def test_each_root_finds_its_own_even_where_another_is_nearer() -> None:
    assert matched(np.array([0.0, 1.0]), np.array([1.1, 0.9, -5.0])).tolist() == [1, 0]
    assert matched(np.array([2.0 + 1j, -1.0]), np.array([-1.2, 7.0, 2.0 + 0.5j])).tolist() == [2, 0]


def test_a_repeated_root_spreads_by_the_root_of_the_error() -> None:
    """A Jordan block with an error e at its corner has roots +-sqrt(e); single ones move by e."""
    A = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, -3.0]])
    size, error = np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 5.0]]), 1e-10
    found = spread(A, np.linalg.eigvals(A), size, error)
    assert found[:2] == pytest.approx([4.0 * math.sqrt(2e-10)] * 2, rel=1e-3)
    assert found[2] == pytest.approx(4.0 * 5e-10, rel=1e-3)
    assert spread(A, np.linalg.eigvals(A), size)[2] == pytest.approx(4.0 * 5e-13, rel=1e-2)
