"""Every law compiles to a C function, and gives what plain Python gives."""

import numpy as np
import pytest

from plugins.limits import Limits
from plugins.pd import PD
from plugins.snake import Serpenoid, SnakePaper
from plugins.swing_pump import SwingPump
from plugins.track import Track
from sim.kernels.callback import C_LAW, compiled_law
from sim.kernels.jit import interpreted
from sim.plugin import schema_of
from sim.scene.time_table import as_csv, table_of
from tests.plugins.views import view_of

VIEW = view_of(
    {"elbow": "rotational", "hip": "spherical", "slide": "planar"},
    {"elbow": [(-0.3, 0.3)], "hip": [(0.0, 0.5)]},
    {"hip": (0.1, 0.2, 0.3)},
)
TIME = np.linspace(0.5, 4.5, 20)
MOTION = table_of(
    as_csv(
        TIME,
        {"elbow": ("rad", np.sin(TIME)), "torque('elbow')": ("N m", np.cos(TIME))}
        | {f"hip[{k}]": ("rad", 0.3 * k + np.sin(TIME + k)) for k in range(3)}
        | {f"torque('hip[{k}]')": ("N m", np.cos(TIME + k)) for k in range(3)}
        | {f"slide[{k}]": ("rad" if k == 2 else "m", TIME**k) for k in range(3)},
    ),
    "motion.csv",
)
CONTROLLERS = [
    Limits(joints=("elbow", "hip", "slide"), margin=0.1),
    PD(joints=("elbow", "hip", "slide"), kp=10.0, kd=1.0, largest=4.0),
    SwingPump(joints=("elbow",), amplitude=0.4, swing="hip"),
    SwingPump(joints=("elbow",), amplitude=0.4),
    Serpenoid(joints=("elbow", "hip", "slide"), amplitude=0.4, step=-1.0, turn=0.1, kp=3.0, kd=0.3),
    SnakePaper(joints=("elbow",), pulsation=2.0),
    Track(file=MOTION, kp=10.0, kd=1.0, largest=4.0),
]


@pytest.mark.fast
@pytest.mark.skipif(interpreted(), reason="kernels are interpreted")
@pytest.mark.parametrize("controller", CONTROLLERS, ids=lambda c: type(c).__name__)
def test_compiled_law_gives_what_plain_python_gives(controller):
    controller.start(VIEW)
    constants = controller.constants(VIEW)
    law = type(controller).law
    address, _alive = compiled_law(law)
    compiled = C_LAW(address)
    rng = np.random.default_rng(3)
    pushed = 0
    for t in np.linspace(0.0, 5.0, 40):
        coordinate, rate = rng.normal(size=7), rng.normal(size=7)
        plain, fast = np.full(7, 0.25), np.full(7, 0.25)
        law(t, coordinate, rate, constants, plain)
        arrays = (coordinate, rate, constants, fast)
        compiled(t, *(array.ctypes.data for array in arrays), fast.size, constants.size)
        assert fast == pytest.approx(plain, rel=1e-13, abs=1e-13)
        pushed += np.count_nonzero(plain != 0.25)
    assert pushed > 30


@pytest.mark.parametrize("controller", CONTROLLERS, ids=lambda c: type(c).__name__)
def test_schemas_describe_every_parameter(controller):
    schema = schema_of(type(controller))
    assert "file" in schema["required"] if isinstance(controller, Track) else "joints" in schema["required"]
    assert all(len(entry["description"]) > 10 for entry in schema["properties"].values())
