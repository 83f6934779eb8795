"""Dual numbers: a value and its derivatives along several directions at once, carried through every operation.

    f(x, x') = (f(x), f'(x) x')

so that what is computed with them comes with its derivatives, exact to roundoff (forward-mode differentiation;
Griewank & Walther, Evaluating Derivatives, 2008, chapter 3).  What branches, branches by values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np


class Dual:
    """A number with its derivatives.

    value : float; slopes : (directions,)
    """

    __slots__ = ("slopes", "value")
    __array_ufunc__ = None  # numpy's numbers leave operations with duals to these

    def __init__(self, value: float, slopes: np.ndarray):
        self.value, self.slopes = value, slopes

    @property
    def real(self) -> float:
        """What pivots are compared by."""
        return self.value

    def __repr__(self) -> str:
        return f"{self.value} {self.slopes}"

    def __add__(self, other: Any) -> Dual:
        if type(other) is Dual:
            return Dual(self.value + other.value, self.slopes + other.slopes)
        return Dual(self.value + other, self.slopes)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Dual:
        if type(other) is Dual:
            return Dual(self.value - other.value, self.slopes - other.slopes)
        return Dual(self.value - other, self.slopes)

    def __rsub__(self, other: float) -> Dual:
        return Dual(other - self.value, -self.slopes)

    def __mul__(self, other: Any) -> Any:
        if type(other) is Dual:
            return Dual(self.value * other.value, other.value * self.slopes + self.value * other.slopes)
        return Dual(self.value * other, other * self.slopes) if other != 0.0 else 0.0

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Dual:
        if type(other) is Dual:
            ratio = self.value / other.value
            return Dual(ratio, (self.slopes - ratio * other.slopes) / other.value)
        return Dual(self.value / other, self.slopes / other)

    def __rtruediv__(self, other: float) -> Dual:
        ratio = other / self.value
        return Dual(ratio, (-ratio / self.value) * self.slopes)

    def __pow__(self, other: Any) -> Any:
        if type(other) is Dual and other.slopes.any():  # a^b = exp(b log a)
            return exp(other * log(self))
        n = value_of(other)
        steep = self.value == 0.0 and n < 1.0
        return of_one(self, self.value**n, math.inf if steep else n * self.value ** (n - 1.0)) if n != 0.0 else 1.0

    def __rpow__(self, other: float) -> Dual:
        return exp(self * math.log(other))

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.slopes)

    def __abs__(self) -> Dual:
        return -self if self.value < 0.0 else self

    def __round__(self) -> int:
        return round(self.value)

    def __floor__(self) -> int:
        return math.floor(self.value)

    def __lt__(self, other: Any) -> bool:
        return bool(self.value < value_of(other))

    def __le__(self, other: Any) -> bool:
        return bool(self.value <= value_of(other))

    def __gt__(self, other: Any) -> bool:
        return bool(self.value > value_of(other))

    def __ge__(self, other: Any) -> bool:
        return bool(self.value >= value_of(other))

    def __eq__(self, other: object) -> bool:
        """Tell whether two numbers are the same here and beside here.

        Kernels skip what is zero, which it has to be beside here, too.
        """
        alike = np.array_equal(self.slopes, slopes_of(other, len(self.slopes)))
        return bool(self.value == value_of(other) and alike)

    __hash__ = None  # type: ignore[assignment]


def value_of(x: Any) -> Any:
    """Return the value of a number of either kind."""
    return x.value if type(x) is Dual else x


def slopes_of(x: Any, directions: int) -> np.ndarray:
    """Return (directions,) the derivatives of a number of either kind: of a float zero, of not-a-number neither."""
    slopes: np.ndarray = x.slopes if type(x) is Dual else np.full(directions, 0.0 * x)
    return slopes


# --- what kernels find under the name `math` --------------------------------------------------------


def of_one(x: Dual, value: float, slope: float) -> Dual:
    """Return a function of x that has a value and a slope there; with no derivatives where x has none."""
    return Dual(value, slope * x.slopes if math.isfinite(slope) or x.slopes.any() else np.zeros_like(x.slopes))


def sqrt(x: Any) -> Any:
    """Return the square root; not-a-number, as where kernels are compiled, of what is negative."""
    if type(x) is not Dual:
        return math.sqrt(x) if x >= 0.0 else math.nan
    root = sqrt(x.value)
    return of_one(x, root, 0.5 / root if root != 0.0 else math.inf)


def atan2(y: Any, x: Any) -> Any:
    """Return the angle of (x, y)."""
    a, b = value_of(y), value_of(x)
    angle = math.atan2(a, b)
    square = a * a + b * b or 1.0
    of_y, of_x = (b / square) * y if type(y) is Dual else 0.0, (-a / square) * x if type(x) is Dual else 0.0
    both = of_y + of_x
    return Dual(angle, both.slopes) if type(both) is Dual else angle


def copysign(x: Any, sign: Any) -> Any:
    """Return |x| with the sign of another number."""
    return abs(x) * math.copysign(1.0, value_of(sign))


def hypot(x: Any, y: Any) -> Any:
    """Return the length of (x, y)."""
    return sqrt(x * x + y * y) if type(x) is Dual or type(y) is Dual else math.hypot(x, y)


def _with_slope(function: Callable[[float], float], slope: Callable[[float, float], float]) -> Callable[[Any], Any]:
    """Return a function of numbers of either kind; slope: its derivative at x, where it has a value."""

    def over_both(x: Any) -> Any:
        if type(x) is not Dual:
            return function(x)
        value = function(x.value)
        return of_one(x, value, slope(x.value, value))

    return over_both


def _across(x: float) -> float:
    """Return sqrt(1 - x^2)."""
    return math.sqrt(1.0 - x * x)


sin = _with_slope(math.sin, lambda x, _: math.cos(x))
cos = _with_slope(math.cos, lambda x, _: -math.sin(x))
tan = _with_slope(math.tan, lambda _, y: 1.0 + y * y)
asin = _with_slope(math.asin, lambda x, _: 1.0 / _across(x) if abs(x) < 1.0 else math.inf)
acos = _with_slope(math.acos, lambda x, _: -1.0 / _across(x) if abs(x) < 1.0 else -math.inf)
atan = _with_slope(math.atan, lambda x, _: 1.0 / (1.0 + x * x))
exp = _with_slope(math.exp, lambda _, y: y)
log = _with_slope(math.log, lambda x, _: 1.0 / x)

MATHEMATICS = SimpleNamespace(
    **vars(math)
    | {
        "sqrt": sqrt, "atan2": atan2, "copysign": copysign, "hypot": hypot, "sin": sin, "cos": cos, "tan": tan,
        "asin": asin, "acos": acos, "atan": atan, "exp": exp, "log": log,
    }
)  # fmt: skip


# --- arrays of them ---------------------------------------------------------------------------------


def duals(values: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Return (n,) dual numbers, from values (n,) and derivatives (n, directions)."""
    out = np.empty(len(values), object)
    for i, (value, slope) in enumerate(zip(values.tolist(), slopes, strict=True)):
        out[i] = Dual(value, slope)
    return out


def values_in(x: np.ndarray) -> np.ndarray:
    """Return the values (n,) of numbers of either kind."""
    return np.array([value_of(one) for one in x.tolist()], float)


def slopes_in(x: np.ndarray, directions: int) -> np.ndarray:
    """Return the derivatives (n, directions) of numbers of either kind."""
    return np.array([slopes_of(one, directions) for one in x.tolist()], float).reshape(len(x), directions)
