"""pd: targets that are formulas, followed by the compiled law of the kernel as a closed form says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import sim
from sim.scene.load import load_text

SCENE = """
schema: 1
name: followed
world: {{gravity: [0, 0, 0]}}
parameters: {{swing: 30 deg}}
bodies:
  arm: {{mass: 1 kg, com: [0, 0, 0], inertia: [1, 2, 1]}}
  cart: {{mass: 2 kg, com: [0, 0, 0], inertia: [1, 1, 1]}}
joints:
  turn: {{type: rotational, parent: world, child: arm, position: [0, 0, 0], axis: [0, 1, 0]}}
  slide: {{type: {kind}, parent: world, child: cart, position: [0, 0, 0], axis: [1, 0, 0]}}
controllers:
  follow: {{type: pd, joints: {joints}, target: {target}, kp: 30, kd: 4{more}}}
simulate: {{duration: 2 s, rtol: 1e-10}}
"""


def final(text: str) -> sim.Simulator:
    simulator = sim.Simulator(sim.compile(load_text(text)))
    simulator.advance(2.0)
    return simulator


def followed(inertia: float, target, largest: float = np.inf) -> float:
    """Return where m q'' = clip(kp (target(t) - q) - kd q') comes to in 2 s."""

    def slope(t, y):
        return [y[1], np.clip(30 * (target(t) - y[0]) - 4 * y[1], -largest, largest) / inertia]

    return float(solve_ivp(slope, (0, 2), [0, 0], rtol=1e-11, atol=1e-12, max_step=0.01).y[0, -1])


def test_a_joint_follows_a_formula_of_time_and_a_parameter():
    text = SCENE.format(kind="translational", joints="turn", target='"swing*sin(3*t/1 s)"', more="")
    assert final(text).coordinate["turn"] == pytest.approx(followed(2.0, lambda t: np.pi / 6 * np.sin(3 * t)), abs=1e-8)


def test_joints_of_several_kinds_follow_formulas_and_numbers():
    target = '{turn: 0.4 rad, slide: ["0.2 m*t/1 s", "0.5*coordinate(\'turn\')"]}'
    text = SCENE.format(kind="cylindrical", joints="[turn, slide]", target=target, more="")
    state = final(text)
    assert state.coordinate["turn"] == pytest.approx(followed(2.0, lambda t: 0.4), abs=1e-8)
    assert state.coordinate["slide"][0] == pytest.approx(followed(2.0, lambda t: 0.2 * t), abs=1e-8)

    def both(t, y):
        turn = (30 * (0.4 - y[0]) - 4 * y[1]) / 2
        return [y[1], turn, y[3], 30 * (0.5 * y[0] - y[2]) - 4 * y[3]]

    y = solve_ivp(both, (0, 2), np.zeros(4), rtol=1e-11, atol=1e-12).y[:, -1]
    assert state.coordinate["slide"][1] == pytest.approx(y[2], abs=1e-8)


def test_the_largest_torque_bounds_what_follows_a_formula():
    text = SCENE.format(kind="translational", joints="slide", target='"1 m*t/1 s"', more=", largest: 0.5")
    text = text.replace("rtol: 1e-10", "rtol: 1e-8, max_step: 10 ms")
    assert final(text).coordinate["slide"] == pytest.approx(followed(2.0, lambda t: t, 0.5), abs=1e-6)


@pytest.mark.parametrize(
    ("joints", "target", "says"),
    [
        ("turn", '"0.3 m*t/1 s"', "expected a pure number or an angle"),
        ("[turn, slide]", '"0.3 rad*t/1 s"', "expected a length"),
        ("turn", "\"sin(coordinate('trun'))\"", "no joint named 'trun'"),
        ("turn", '{turn: "0.3 kg*t/1 s"}', "found"),
    ],
)
def test_a_formula_that_is_no_target_is_refused(joints, target, says):
    with pytest.raises(sim.SceneError, match=says) as caught:
        load_text(SCENE.format(kind="translational", joints=joints, target=target, more=""))
    assert "controllers.follow.target" in str(caught.value)


def test_a_rotation_in_space_has_no_formula():
    text = SCENE.format(kind="spherical", joints="slide", target='"0.3 rad*t/1 s"', more="")
    with pytest.raises(sim.SceneError, match="'slide' is a spherical joint, whose target is a rotation and no formula"):
        final(text.replace(", axis: [1, 0, 0]", ""))
