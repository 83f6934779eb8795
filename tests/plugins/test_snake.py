"""serpenoid and snake_paper: the torques that their formulas say, in the order of the joints."""

import math

import numpy as np
import pytest

from plugins.snake import Serpenoid, SnakePaper
from tests.plugins.views import torque_of, view_of

pytestmark = pytest.mark.fast
VIEW = view_of({"base": "planar", "a": "rotational", "hip": "spherical", "b": "rotational"})
JOINTS = ("b", "a")


def test_a_wave_runs_along_the_row() -> None:
    gait = {"amplitude": 0.6, "frequency": 0.25, "step": -0.8, "turn": 0.1}
    q, qd = np.linspace(0.1, 0.8, 8), np.linspace(-0.4, 0.3, 8)
    got = torque_of(Serpenoid(joints=JOINTS, kp=3.0, kd=0.5, **gait), VIEW, q, qd, t=1.7)
    for k, column in ((1, 7), (2, 3)):
        phase = 0.5 * math.pi * 1.7 - 0.8 * k
        spring = 3.0 * (0.6 * math.sin(phase) + 0.1 - q[column])
        assert got[column] == pytest.approx(
            spring + 0.5 * (0.6 * 0.5 * math.pi * math.cos(phase) - qd[column]), abs=1e-14
        )
    assert np.count_nonzero(got) == 2


def test_on_the_wave_nothing_pulls() -> None:
    def wave(t: float) -> float:
        return 0.3 * math.sin(math.pi * t + 0.7)

    q, qd, h = np.zeros(8), np.zeros(8), 1e-6
    q[3], qd[3] = wave(0.4), (wave(0.4 + h) - wave(0.4 - h)) / (2 * h)
    gait = Serpenoid(joints=("a",), amplitude=0.3, step=0.7, kp=5.0, kd=2.0)
    assert torque_of(gait, VIEW, q, qd, t=0.4) == pytest.approx(np.zeros(8), abs=1e-8)


def test_one_freedom_of_many_bends() -> None:
    gait = Serpenoid(joints=("hip",), component=2, amplitude=1.0, step=0.5 * math.pi, kp=1.0)
    assert torque_of(gait, VIEW, np.zeros(8), np.zeros(8)) == pytest.approx([0, 0, 0, 0, 0, 0, 1, 0], abs=1e-15)
    with pytest.raises(ValueError, match="component 2 of 'a'; expected 0"):
        Serpenoid(joints=("a",), component=2, amplitude=1.0, step=1.0, kp=1.0).start(VIEW)


def test_the_papers_torques_grow_towards_the_tail() -> None:
    got = torque_of(SnakePaper(joints=("a", "b")), VIEW, np.zeros(8), np.zeros(8), t=0.9)
    assert got[[3, 7]] == pytest.approx([math.sin(0.9) / 2, math.sin(0.9)], abs=1e-15)
    with pytest.raises(ValueError, match="snake_paper: joint 'hip' has more than one freedom"):
        SnakePaper(joints=("hip",)).start(VIEW)


def test_the_papers_torques_have_their_strength_and_pulsation() -> None:
    view = view_of({"base": "planar", "a": "rotational", "b": "rotational", "c": "translational"})
    controller = SnakePaper(joints=("c", "a", "b"), strength=2.5, pulsation=1.3)
    assert controller.constants(view).tolist() == [2.5, 1.3, 5, 3, 4]
    expected = np.arange(1.0, 7.0)
    torque = expected.copy()
    expected[[5, 3, 4]] += 2.5 * math.sin(1.3 * 0.9) / np.array([3, 2, 1])
    SnakePaper.law(0.9, np.zeros(6), np.zeros(6), controller.constants(view), torque)
    assert torque == pytest.approx(expected, rel=1e-15)
    with pytest.raises(ValueError, match="snake_paper: joint 'base' has more than one freedom; expected one"):
        SnakePaper(joints=("a", "base")).start(view)


def test_constants_are_the_head_and_the_columns_of_the_chosen_freedoms() -> None:
    view = view_of({"a": "rotational", "base": "planar", "hip": "spherical"})
    numbers = {"amplitude": 0.3, "frequency": 0.7, "step": -0.4, "turn": 0.2, "kp": 5.0, "kd": 1.5}
    gait = Serpenoid(joints=("hip", "base"), component=1, **numbers)
    expected = [1.4 * math.pi, 0.3, -0.4, 0.2, 5.0, 1.5, 5, 2]
    assert gait.constants(view) == pytest.approx(np.array(expected), rel=1e-15)
    torque = np.ones(7)
    Serpenoid.law(0.0, np.zeros(7), np.zeros(7), gait.constants(view), torque)
    for k, column in ((1, 5), (2, 2)):
        phase = -0.4 * k
        wave, slope = 0.3 * math.sin(phase) + 0.2, 0.3 * 1.4 * math.pi * math.cos(phase)
        assert torque[column] == pytest.approx(1.0 + 5.0 * wave + 1.5 * slope, rel=1e-14)


@pytest.mark.parametrize(("component", "fits"), [(2, True), (3, False)])
def test_a_component_is_one_of_the_joints_freedoms(component: int, fits: bool) -> None:
    gait = Serpenoid(joints=("base", "hip"), component=component, amplitude=1.0, step=1.0, kp=1.0)
    if fits:
        gait.start(VIEW)
    else:
        with pytest.raises(ValueError, match="serpenoid: component 3 of 'base'; expected 0 to 2"):
            gait.start(VIEW)


def test_a_joint_with_two_freedoms_has_two_components() -> None:
    view = view_of({"a": "rotational", "u": "universal"})
    numbers = {"amplitude": 1.0, "step": 1.0, "kp": 1.0}
    Serpenoid(joints=("u",), component=1, **numbers).start(view)
    for joint, component, known in (("u", 2, "0 to 1"), ("a", 1, "0")):
        with pytest.raises(ValueError, match=f"serpenoid: component {component} of '{joint}'; expected {known}$"):
            Serpenoid(joints=(joint,), component=component, **numbers).start(view)
    with pytest.raises(ValueError, match="snake_paper: joint 'u' has more than one freedom"):
        SnakePaper(joints=("u",)).start(view)
