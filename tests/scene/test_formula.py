"""Conditions and torques: folded to SI, with full names, dimensions checked."""

import ast

import pytest

from sim.scene import formula
from sim.scene.expressions import ExpressionError
from sim.scene.problem import Place
from sim.scene.units import Quantity

pytestmark = pytest.mark.fast

PLACE = Place("a.yaml", 1, 1)
DIRECTORY = formula.Directory(
    joints={"doll.knee": "rotational", "doll.slide": "translational", "doll.hip": "spherical", "doll.foot": "planar",
            "doll.trunk": "free", "doll.weld": "fixed"},
    bodies=("doll.trunk", "doll.shin"),
    points=("doll.shin.toe", "doll.shin.com", "world.doll.hook"),
)  # fmt: skip
NAMES = {"far": Quantity(0.16, (0, 1, 0), False), "gain": Quantity(5.0, (1, 2, -2), False)}


def condition(text):
    return formula.condition(text, NAMES, DIRECTORY, "doll", PLACE)


def number(text, unit):
    return formula.number(text, NAMES, DIRECTORY, "doll", PLACE, unit)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("coordinate('slide') > 16 cm", "coordinate('doll.slide') > 0.16"),
        ("coordinate('slide') > far", "coordinate('doll.slide') > 0.16"),
        ("2*far < coordinate(\"slide\")", "0.32 < coordinate('doll.slide')"),
        ("t >= 3 s and not rate('knee') < 0", "t >= 3.0 and (not rate('doll.knee') < 0.0)"),
        ("1 s < t < 2 s", "1.0 < t and t < 2.0"),
        ("position('shin.toe')[2] < 0.1", "position('doll.shin.toe')[2] < 0.1"),
        ("distance('shin', 'world.hook') < 1 m or t > 1", "distance('doll.shin', 'world.doll.hook') < 1.0 or t > 1.0"),
        ("norm(velocity('trunk')) > 1 km/s", "norm(velocity('doll.trunk')) > 1000.0"),
        ("dot(position('shin'), [0, 0, far]) > 0", "dot(position('doll.shin'), [0.0, 0.0, 0.16]) > 0.0"),
        ("coordinate('hip')[1] > 30 deg", "coordinate('doll.hip')[1] > 0.5235987755982988"),
        ("coordinate('foot')[0] > 1 cm", "coordinate('doll.foot')[0] > 0.01"),
        ("coordinate('trunk')[5] > 1", "coordinate('doll.trunk')[5] > 1.0"),
        ("local('shin.toe', 'trunk')[0] > far", "local('doll.shin.toe', 'doll.trunk')[0] > 0.16"),
        ("norm(force('knee')) > 1 kN", "norm(force('doll.knee')) > 1000.0"),
        ("torque('knee') > 3 N m", "torque('doll.knee') > 3.0"),
        ("energy() < 2 kJ", "energy() < 2000.0"),
        ("com()[2] < com('shin')[2] - 2*1 cm", "com()[2] < com('doll.shin')[2] - 0.02"),
        ("abs(sin(t*2*pi/1 s)) > cos(pi)", "abs(sin(t * 2.0 * 3.141592653589793 / 1.0)) > -1.0"),
    ],
)  # fmt: skip
def test_conditions_fold_to_numbers_and_full_names(text, folded):
    found = condition(text)
    assert ast.unparse(found.tree) == folded
    assert (found.text, found.place) == (text, PLACE)


def test_folded_trees_hold_numbers_names_and_calls_alone():
    allowed = (
        ast.Compare,
        ast.BoolOp,
        ast.UnaryOp,
        ast.BinOp,
        ast.Call,
        ast.Name,
        ast.Constant,
        ast.List,
        ast.Subscript,
    )
    extra = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
    tree = condition("clip(t/1 s, 0, far/1 m) > 3 and cross(com(), [1, 0, 0])[0] > far").tree
    assert all(isinstance(node, (*allowed, *extra)) for node in ast.walk(tree))
    assert {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} == {"t", "clip", "cross", "com"}


@pytest.mark.parametrize(
    ("text", "unit", "folded"),
    [
        ("gain*sin(t/1 s)", "N m", "5.0 * sin(t / 1.0)"),
        ("3", "N m", "3.0"),
        ("-gain*coordinate('knee') - 2 N m s/rad*rate('knee')", "N m",
         "-5.0 * coordinate('doll.knee') - 2.0 * rate('doll.knee')"),
        ("2 N/m*coordinate('slide')", "N", "2.0 * coordinate('doll.slide')"),
    ],
)  # fmt: skip
def test_torques_have_the_dimension_of_the_joint(text, unit, folded):
    assert ast.unparse(number(text, unit).tree) == folded


@pytest.mark.parametrize(
    ("text", "unit", "what"),
    [
        ("2 N*sin(t/1 s)", "N m", "expected a torque or an energy (N m), found a force (N)"),
        ("t > 3 s", "N m", "a comparison or text where a number is wanted"),
        ("com()", "N m", "a list of 3 numbers where one is wanted"),
        ("coordinate('weld')", "N m", "'doll.weld' is a fixed joint: it has no coordinate"),
        ("sin(t)", "1", "sin takes a pure number or an angle, not a time (s)"),
        ("2^t", "1", "a power must be a pure number, not a time (s)"),
        ("far^(t/1 s)", "m", "a length (m) can only be raised to a constant power"),
    ],
)
def test_torques_of_another_dimension_are_refused(text, unit, what):
    with pytest.raises(ExpressionError) as caught:
        number(text, unit)
    assert caught.value.what == what
