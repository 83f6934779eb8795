"""Numbers with units and constant expressions."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.scene.expressions import ExpressionError, evaluate
from sim.scene.units import UNITS, Quantity, UnitError, parse_unit

pytestmark = pytest.mark.fast

NAMES = {"height": Quantity(1.2, (0, 1, 0), False), "y": Quantity(-1.0), "s": "l"}


@pytest.mark.parametrize(
    ("text", "value", "dimension"),
    [
        ("2 cm", 0.02, (0, 1, 0)),
        ("30deg", math.pi / 6, (0, 0, 0)),
        ("30 deg", math.pi / 6, (0, 0, 0)),
        ("0.129*height*y", -0.1548, (0, 1, 0)),
        ("-0.5*height", -0.6, (0, 1, 0)),
        ("pi/3", math.pi / 3, (0, 0, 0)),
        ("120 Hz", 120.0, (0, 0, -1)),
        ("5 N m/rad", 5.0, (1, 2, -2)),
        ("5 N*m/rad", 5.0, (1, 2, -2)),
        ("5 N m / rad", 5.0, (1, 2, -2)),
        ("9.81 m/s^2", 9.81, (0, 1, -2)),
        ("9.81 m s^-2", 9.81, (0, 1, -2)),
        ("9.81 m/s**2", 9.81, (0, 1, -2)),
        ("(1 + 2) cm", 0.03, (0, 1, 0)),
        ("2^3", 8.0, (0, 0, 0)),
        ("-2^2", -4.0, (0, 0, 0)),
        ("1e-3", 1e-3, (0, 0, 0)),
        (".5 m", 0.5, (0, 1, 0)),
        ("1 m + 2", 3.0, (0, 1, 0)),
        ("sqrt(4 m * 9 m)", 6.0, (0, 1, 0)),
        ("norm([3 m, 4 m])", 5.0, (0, 1, 0)),
        ("cross([1, 0, 0], [0, 1, 0])[2]", 1.0, (0, 0, 0)),
        ("dot([1 m, 2 m], [3, 4])", 11.0, (0, 1, 0)),
        ("max(1 m, height, 3 cm)", 1.2, (0, 1, 0)),
        ("clip(5, 0, 3)", 3.0, (0, 0, 0)),
        ("atan2(1 m, 1 m)", math.pi / 4, (0, 0, 0)),
        ("60 rpm", 2 * math.pi, (0, 0, -1)),
        ("500 g", 0.5, (1, 0, 0)),
        ("3*s", 3.0, (0, 0, 1)),  # a loop variable that is text does not hide the unit of its name
    ],
)
def test_value_and_dimension(text, value, dimension):
    found = evaluate(text, NAMES)
    assert found.value == pytest.approx(value, rel=1e-15)
    assert found.dimension == dimension


def test_a_number_binds_to_its_unit_first():
    assert evaluate("1/2 m", {}).dimension == (0, -1, 0)
    assert evaluate("6 m/2 s", {}).value == 3.0
    assert evaluate("6 m/2 s", {}).dimension == (0, 1, -1)


def test_what_is_bare_fits_every_dimension_and_what_has_a_unit_does_not():
    assert evaluate("2*3 + 1", {}).bare
    assert evaluate("0.3*sin(30 deg)", {}).bare
    assert not evaluate("30 deg", {}).bare
    assert not evaluate("height/height", NAMES).bare


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("2 m + 3 s", "cannot add a length (m) and a time (s)"),
        ("2 m - 3 kg", "cannot subtract a mass (kg) from a length (m)"),
        ("max(1 m, 2 s)", "cannot take max of a length (m) and a time (s)"),
        ("2^(1 m)", "a power must be a pure number, not a length (m)"),
        ("(-8)^0.5", "-8 to the power 0.5 is not a real number"),
        ("exp(1 m)", "exp takes a pure number or an angle, not a length (m)"),
        ("[1, 2] + 1", "cannot add 2 numbers and one number"),
        ("[1, 2] + [1, 2, 3]", "cannot add 2 numbers and 3 numbers"),
        ("1 + [1, 2]", "cannot add to a number a list of 2 numbers; pick one, as in [0], or take its norm(...)"),
        ("(1 < 2) + 1", "cannot calculate with a comparison"),
        ("x" * 2000, "an expression of 2000 characters; 1000 are the most"),
        ("(" * 300 + "1" + ")" * 300, None),
    ],
)
def test_what_cannot_be_put_together_is_said(text, what):
    with pytest.raises(ExpressionError) as caught:
        evaluate(text, NAMES)
    assert what is None or caught.value.what == what


finite = st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-6)
units = st.sampled_from(sorted(UNITS))


@given(finite, units)
def test_a_number_with_a_unit_is_the_product(x, unit):
    factor, dimension = UNITS[unit]
    found = evaluate(f"{x!r} {unit}", {})
    assert found.value == pytest.approx(x * factor, rel=1e-15)
    assert found.dimension == dimension


@given(finite, finite, units, units)
def test_products_and_quotients_carry_their_dimension(x, y, a, b):
    names = {"p": evaluate(f"{x!r} {a}", {}), "q": evaluate(f"{y!r} {b}", {})}
    product = evaluate("p*q", names)
    assert product.value == names["p"].value * names["q"].value
    assert product.dimension == tuple(i + j for i, j in zip(names["p"].dimension, names["q"].dimension, strict=True))
    if y:
        assert evaluate("p/q*q", names).dimension == names["p"].dimension


@given(finite, units, units)
def test_sums_need_one_dimension(x, a, b):
    names = {"p": evaluate(f"{x!r} {a}", {}), "q": evaluate(f"1 {b}", {})}
    if names["p"].dimension == names["q"].dimension:
        assert evaluate("p + q", names).value == names["p"].value + names["q"].value
    else:
        with pytest.raises(ExpressionError):
            evaluate("p + q", names)


@given(
    st.recursive(finite.map(repr), lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner))
)
def test_arithmetic_is_that_of_python(text):
    assert evaluate(text, {}).value == pytest.approx(eval(text), rel=1e-14, abs=1e-14)


@given(st.text(max_size=40))
def test_any_text_is_a_number_or_an_error_with_a_sentence(text):
    try:
        assert isinstance(evaluate(text, NAMES), Quantity)
    except ExpressionError as error:
        assert error.what


def test_units_of_the_schema_are_products():
    assert parse_unit("N m s/rad") == Quantity(1.0, (1, 2, -1), False)
    assert parse_unit("kg/m^3").dimension == (1, -3, 0)
    assert parse_unit("1").bare
    with pytest.raises(UnitError, match="no unit named 'feet'"):
        parse_unit("feet")
