"""Formulas of time with two derivatives: against differences of the same formula evaluated by Python."""

from __future__ import annotations

import ast
import math

import pytest

from sim.analysis.verification.oracle_motions import Jet, jet_of

pytestmark = pytest.mark.fast

NAMES = {
    name: getattr(math, name) for name in ("sqrt", "exp", "log", "tan", "atan2", "sin", "cos", "atan", "asin", "acos")
}
NAMES |= {
    "abs": abs,
    "min": min,
    "max": max,
    "clip": lambda a, low, high: min(max(a, low), high),
    "norm": lambda a: math.sqrt(sum(x * x for x in a)),
    "dot": lambda a, b: sum(x * y for x, y in zip(a, b, strict=True)),
    "cross": lambda a, b: [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]],
}
FORMULAS = [
    "3.5",
    "t",
    "-t",
    "+t",
    "2*t + 3",
    "2 - t*t",
    "t/(1 + t*t)",
    "1/t",
    "t**3",
    "t**-2",
    "t**0.5",
    "t**1",
    "t**0",
    "2**t",
    "t**t",
    "(1 + t)**(2*t)",
    "sqrt(2 + t)",
    "exp(-0.7*t*t)",
    "log(3 + t*t)",
    "tan(0.3*t)",
    "sin(2*t + 0.3)",
    "cos(t*t)",
    "atan(2*t - 1)",
    "asin(0.4*t)",
    "acos(0.4*t*t)",
    "atan2(t*t - 2, 1 - 2*t)",
    "atan2(sin(t), cos(3*t))",
    "abs(t - 3)",
    "abs(t*t)",
    "min(t*t, 4*t, 9)",
    "max(t, 2*t - 0.1, -t)",
    "clip(t*t, 0.1, 9)",
    "clip(t*t, 2, 9*t)",
    "clip(t*t, 0, 0.5*t)",
    "norm([t, 2*t*t, 1])",
    "dot([t, t*t, 2], [3, sin(t), t])",
    "cross([t, 1, t*t], [2, t, 3])[0]",
    "cross([t, 1, t*t], [2, t, 3])[1]",
    "cross([t, 1, t*t], [2, t, 3])[2]",
    "(2*[t, t*t, 3])[1]",
    "([t, 3]/t**2)[0]",
    "([t, 2] + [t*t, t])[0]",
    "(-[t, t*t])[1]",
    "(t - [1, t*t])[1]",
    "(3**2)*t",
    "2**3",
]


class Series(list):
    """A list of numbers that adds and multiplies number by number, as formulas do."""

    def _with(self, other, operation):
        return Series(
            operation(x, y)
            for x, y in zip(self, other if isinstance(other, list) else [other] * len(self), strict=True)
        )

    def __add__(self, other):
        return self._with(other, lambda x, y: x + y)

    def __mul__(self, other):
        return self._with(other, lambda x, y: x * y)

    def __truediv__(self, other):
        return self._with(other, lambda x, y: x / y)

    def __neg__(self):
        return self * -1.0

    def __rsub__(self, other):
        return -self + other

    __rmul__ = __mul__


class _Lists(ast.NodeTransformer):
    def visit_List(self, node):
        self.generic_visit(node)
        return ast.copy_location(ast.Call(ast.Name("Series", ast.Load()), [node], []), node)


def plain(formula):
    tree = ast.fix_missing_locations(_Lists().visit(ast.parse(formula, mode="eval")))
    code = compile(tree, "formula", "eval")
    return lambda t: eval(code, {**NAMES, "Series": Series}, {"t": t})


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("t", [0.55, 1.3])
def test_a_formula_has_the_derivatives_that_its_values_have(formula, t):
    """Central differences of sixth order of the same text, evaluated by Python."""
    found, f = jet_of(ast.parse(formula, mode="eval").body, t), plain(formula)
    h = 2e-3
    v = {k: f(t + k * h) for k in range(-3, 4)}
    first = (45 * (v[1] - v[-1]) - 9 * (v[2] - v[-2]) + (v[3] - v[-3])) / (60 * h)
    second = (2 * (v[3] + v[-3]) - 27 * (v[2] + v[-2]) + 270 * (v[1] + v[-1]) - 490 * v[0]) / (180 * h * h)
    assert found.value == pytest.approx(v[0], rel=1e-14, abs=1e-15)
    assert found.d1 == pytest.approx(first, rel=1e-8, abs=1e-10)
    assert found.d2 == pytest.approx(second, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize(
    ("power", "at_zero"), [(0, (1.0, 0.0, 0.0)), (1, (0.0, 1.0, 0.0)), (2, (0.0, 0.0, 2.0)), (3, (0.0, 0.0, 0.0))]
)
def test_powers_are_known_at_zero(power, at_zero):
    found = jet_of(ast.parse(f"t**{power}", mode="eval").body, 0.0)
    assert (found.value, found.d1, found.d2) == at_zero


def test_a_power_of_a_number_may_have_any_base():
    assert jet_of(ast.parse("(-2)**3", mode="eval").body, 1.0) == Jet(-8.0)
    assert jet_of(ast.parse("t*(-2)**3", mode="eval").body, 1.5) == Jet(-12.0, -8.0)
    assert jet_of(ast.parse("0**2 + t", mode="eval").body, 1.5) == Jet(1.5, 1.0)


def test_what_varies_in_one_derivative_alone_is_not_still():
    assert Jet(3.0).still and not Jet(3.0, 1e-300).still and not Jet(3.0, 0.0, -1e-300).still
    # Its base is still, its exponent has no rate but an acceleration.
    found = jet_of(ast.parse("2**((t - 1)*(t - 1))", mode="eval").body, 1.0)
    assert (found.value, found.d1, found.d2) == pytest.approx((1.0, 0.0, 2.0 * math.log(2.0)))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_sizes_have_the_slope_of_their_side(sign):
    assert jet_of(ast.parse(f"abs({sign}*t)", mode="eval").body, 2.0) == Jet(2.0, 1.0, 0.0)
    assert jet_of(ast.parse("abs(t)", mode="eval").body, 0.0) == Jet(0.0, 1.0, 0.0)


def test_what_is_no_formula_of_time_is_named():
    with pytest.raises(TypeError, match="a < b: not a formula of time"):
        jet_of(ast.parse("a < b", mode="eval").body, 0.0)
