"""torque: one expression for each column, joints with several freedoms refused."""

import ast

import pytest

from plugins.torque import Torque
from sim.scene.problem import Place
from sim.scene.spec import Expression
from tests.plugins.views import view_of

pytestmark = pytest.mark.fast


def expression(text):
    return Expression(text=text, tree=ast.parse(text, mode="eval").body, place=Place("scene.yaml", 1, 1))


def test_expressions_go_to_the_columns_of_their_joints():
    view = view_of({"hip": "spherical", "knee": "rotational", "slide": "translational"})
    push, turn, roll = expression("2*t"), expression("sin(t)"), expression("0")
    controller = Torque(torques={"slide": push, "knee": turn, "hip": (roll, turn, roll)})
    controller.start(view)
    assert controller.expressions(view) == {4: push, 3: turn, 0: roll, 1: turn, 2: roll}


def test_joints_with_several_freedoms_are_refused():
    view = view_of({"hip": "spherical"})
    with pytest.raises(ValueError, match="'hip' has 3 freedoms, and 1 expressions were given"):
        Torque(torques={"hip": expression("1")}).start(view)


@pytest.mark.parametrize(
    ("given", "says"), [(1, "3 freedoms, and 1"), (2, "3 freedoms, and 2"), (4, "3 freedoms, and 4")]
)
def test_each_freedom_has_one_expression(given, says):
    view = view_of({"knee": "rotational", "hip": "planar"})
    with pytest.raises(ValueError, match=f"torque: joint 'hip' has {says} expressions were given"):
        Torque(torques={"knee": expression("1"), "hip": (expression("1"),) * given}).start(view)
    with pytest.raises(ValueError, match="torque: joint 'knee' has 1 freedoms, and 2 expressions were given"):
        Torque(torques={"knee": (expression("1"),) * 2}).start(view)
