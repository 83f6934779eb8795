"""What each controller may be given: parameters, units, least values, and what stands for those that are not given."""

from __future__ import annotations

import dataclasses
import math

import pytest

from plugins.limits import Limits
from plugins.pd import PD
from plugins.snake import Serpenoid, SnakePaper
from plugins.swing_pump import SwingPump
from plugins.torque import Torque
from sim.plugin import Controller, parameters_of, schema_of
from tests.plugins.views import view_of

pytestmark = pytest.mark.fast
GIVEN = object()  # by the scene
PARAMETERS = {  # kind, unit, default, least value
    Torque: {"torques": ("expressions", "N m", GIVEN, None)},
    PD: {
        "joints": ("joints", "1", GIVEN, None), "target": ("formulas", "auto", None, None),
        "kp": ("by_joint", "N m/rad", GIVEN, None), "kd": ("by_joint", "N m s/rad", 0.0, None),
        "largest": ("number", "N m", math.inf, 0.0),
    },
    Limits: {
        "joints": ("joints", "1", GIVEN, None), "margin": ("number", "rad", math.pi / 9, None),
        "stiffness": ("number", "N m/rad", 200.0, 0.0), "dissipation": ("number", "s/rad", 0.5, 0.0),
    },
    SwingPump: {
        "joints": ("joints", "1", GIVEN, None), "amplitude": ("number", "rad", GIVEN, None),
        "centre": ("number", "rad", 0.0, None), "swing": ("joint", "1", "", None),
        "component": ("integer", "1", 1, 0), "frequency": ("number", "Hz", 0.4, None),
        "phase": ("number", "rad", 0.0, None), "start_at": ("number", "s", 0.0, None),
        "kp": ("number", "N m/rad", 40.0, 0.0), "kd": ("number", "N m s/rad", 4.0, 0.0),
        "smallest": ("number", "rad", math.pi / 90, None),
    },
    Serpenoid: {
        "joints": ("joints", "1", GIVEN, None), "amplitude": ("number", "rad", GIVEN, None),
        "frequency": ("number", "Hz", 0.5, None), "step": ("number", "rad", GIVEN, None),
        "turn": ("number", "rad", 0.0, None), "component": ("integer", "1", 0, 0),
        "kp": ("number", "N m/rad", GIVEN, 0.0), "kd": ("number", "N m s/rad", 0.0, 0.0),
    },
    SnakePaper: {
        "joints": ("joints", "1", GIVEN, None), "strength": ("number", "N m", 1.0, None),
        "pulsation": ("number", "rad/s", 1.0, None),
    },
}  # fmt: skip


LEAST = {
    Torque: {"torques": {}}, PD: {"joints": ("knee",), "kp": 1.0}, Limits: {"joints": ("knee",)},
    SwingPump: {"joints": ("knee",), "amplitude": 1.0}, SnakePaper: {"joints": ("knee",)},
    Serpenoid: {"joints": ("knee",), "amplitude": 1.0, "step": 1.0, "kp": 1.0},
}  # fmt: skip


@pytest.mark.parametrize("kind", PARAMETERS, ids=lambda kind: kind.__name__)
def test_parameters_have_these_units_defaults_and_least_values(kind) -> None:
    controller = kind(**LEAST[kind])
    view = view_of({"knee": "rotational"})
    controller.start(view)
    assert controller.view is view
    found = {
        name: (
            entry.metadata["kind"], entry.metadata["unit"],
            GIVEN if entry.default is dataclasses.MISSING else getattr(controller, name), entry.metadata["minimum"],
        )
        for name, entry in parameters_of(kind).items()
    }  # fmt: skip
    assert list(found) == list(PARAMETERS[kind])
    for name, (what, unit, default, minimum) in PARAMETERS[kind].items():
        near = pytest.approx(default, rel=1e-15) if isinstance(default, float) else default
        assert found[name] == (what, unit, near, minimum), name


@pytest.mark.parametrize("kind", PARAMETERS, ids=lambda kind: kind.__name__)
def test_the_schema_tells_defaults_and_what_has_to_be_given(kind) -> None:
    schema = schema_of(kind)
    assert schema["required"] == [name for name, entry in PARAMETERS[kind].items() if entry[2] is GIVEN]
    told = {name: entry["default"] for name, entry in schema["properties"].items() if "default" in entry}
    defaults = {name: entry[2] for name, entry in PARAMETERS[kind].items() if entry[2] not in (GIVEN, None)}
    assert told == {name: pytest.approx(v, rel=1e-15) if v != "" else "" for name, v in defaults.items()}


def test_a_controller_says_nothing_that_is_not_written_in_it() -> None:
    class Bare(Controller):
        pass

    bare, view = Bare(), view_of({"knee": "rotational"})
    assert bare.constants(view).shape == (0,) and bare.expressions(view) == {} and bare.rate is bare.law is None
    assert schema_of(Bare) == {"title": "Bare", "description": "", "type": "object", "properties": {}, "required": []}
