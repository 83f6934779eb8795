"""pd: formula, rotation error of spherical joints, cut at the largest torque, refusals."""

import ast

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from plugins.pd import PD
from sim.scene.problem import Place
from sim.scene.spec import Expression
from tests.plugins.views import torque_of, view_of

pytestmark = pytest.mark.fast


def test_scalar_columns_follow_the_formula():
    view = view_of({"knee": "rotational", "slide": "planar"})
    controller = PD(
        joints=("knee", "slide"),
        target={"knee": 0.5, "slide": (0.1, 0.2, 0.3)},
        kp={"knee": 10.0, "slide": 4.0},
        kd=2.0,
    )
    coordinate, rate = np.array([0.2, 1.0, -1.0, 0.5]), np.array([0.3, 0.1, 0.2, -0.4])
    expected = np.array([10.0, 4.0, 4.0, 4.0]) * ([0.5, 0.1, 0.2, 0.3] - coordinate) - 2.0 * rate
    assert torque_of(controller, view, coordinate, rate) == pytest.approx(expected, abs=1e-15)


def test_without_a_target_the_start_is_held():
    view = view_of({"knee": "rotational", "hip": "spherical"}, start={"knee": 0.7, "hip": (0.1, -1.2, 0.4)})
    controller = PD(joints=("knee", "hip"), kp=50.0, kd=1.0)
    assert torque_of(controller, view, view.start, np.zeros(4)) == pytest.approx(np.zeros(4), abs=1e-13)
    assert torque_of(controller, view, view.start + np.eye(4)[0] * 0.1, np.zeros(4))[0] == pytest.approx(-5.0)


@pytest.mark.parametrize("seed", range(8))
def test_spherical_torque_is_the_gradient_of_half_kp_angle_squared(seed):
    """Power of the torque against the rate of kp angle^2 / 2, by central differences of rotations."""
    rng = np.random.default_rng(seed)
    view = view_of({"hip": "spherical"})
    child, target = Rotation.random(random_state=rng), Rotation.random(random_state=rng)
    controller = PD(joints=("hip",), target={"hip": tuple(target.as_rotvec())}, kp=3.0)
    torque = torque_of(controller, view, child.as_rotvec(), np.zeros(3))
    for axis in np.eye(3):
        h = 1e-5
        ahead, behind = (child * Rotation.from_rotvec(k * h * axis) for k in (1, -1))
        energy = [1.5 * (target.inv() * pose).magnitude() ** 2 for pose in (ahead, behind)]
        assert torque @ axis == pytest.approx(-(energy[0] - energy[1]) / (2 * h), abs=1e-7)


def test_spherical_damping_acts_on_the_angular_velocity():
    view = view_of({"hip": "spherical"}, start={"hip": (0.3, 0.2, -0.1)})
    rate = np.array([1.0, -2.0, 0.5])
    assert torque_of(PD(joints=("hip",), kp=7.0, kd=2.0), view, view.start, rate) == pytest.approx(
        -2.0 * rate, abs=1e-13
    )


def test_largest_torque_cuts_size_and_keeps_direction():
    view = view_of({"knee": "rotational", "hip": "spherical"})
    coordinate = np.array([-1.0, 0.6, 0.0, 0.8])
    free = torque_of(PD(joints=("knee", "hip"), target=0.0, kp=10.0), view, coordinate, np.zeros(4))
    cut = torque_of(PD(joints=("knee", "hip"), target=0.0, kp=10.0, largest=2.0), view, coordinate, np.zeros(4))
    assert cut[0] == 2.0
    assert np.linalg.norm(cut[1:]) == pytest.approx(2.0, abs=1e-15)
    assert np.cross(cut[1:], free[1:]) == pytest.approx(np.zeros(3), abs=1e-13)


def test_refusals_are_sentences():
    view = view_of({"torso": "free", "hip": "spherical", "knee": "rotational"})
    with pytest.raises(ValueError, match="'torso' is a free joint"):
        PD(joints=("torso",), kp=1.0).start(view)
    with pytest.raises(ValueError, match="kp names 'hip', which is not among"):
        PD(joints=("knee",), kp={"hip": 1.0}).start(view)
    with pytest.raises(ValueError, match="target of 'hip' has 1 numbers; expected 3"):
        PD(joints=("hip",), target=0.3, kp=1.0).constants(view)


@pytest.mark.parametrize("largest", [np.inf, 3.5])
@pytest.mark.parametrize("child", [(0.4, -1.2, 0.9), (1e-5, 2e-5, -3e-5), (0.0, 0.0, 0.0), (2.0, 1.5, -1.6)])
@pytest.mark.parametrize("target", [(0.3, 0.5, -0.8), (0.4, -1.2, 0.9001), (-2.0, -1.1, 1.9)])
def test_spherical_torque_is_the_rotation_that_is_left(child, target, largest):
    """kp times the rotation vector from child to target, less kd times the rate, cut as a whole; it is added."""
    view = view_of({"knee": "rotational", "hip": "spherical", "neck": "spherical"})
    controller = PD(
        joints=("neck", "hip"), target={"hip": target, "neck": 0.0}, kp=3.0, kd={"hip": 0.7}, largest=largest
    )
    rate = np.array([9.0, 0.3, -0.2, 0.5, 8.0, 7.0, 6.0])
    left = (Rotation.from_rotvec(child).inv() * Rotation.from_rotvec(target)).as_rotvec()
    wanted = 3.0 * left - 0.7 * rate[1:4]
    size = np.linalg.norm(wanted)
    expected = np.arange(1.0, 8.0)
    torque = expected.copy()
    expected[1:4] += wanted * min(1.0, largest / size)
    controller.start(view)
    PD.law(0.0, np.array([0.1, *child, 0.0, 0.0, 0.0]), rate * ([1] * 4 + [0] * 3), controller.constants(view), torque)
    assert torque == pytest.approx(expected, rel=1e-12, abs=1e-13)


def test_half_a_turn_goes_the_way_that_the_target_says():
    """Both ways are as long; the quaternion of the target has a sign, which decides."""
    for sign in (1.0, -1.0):
        torque = np.zeros(3)
        row = np.array([1.0, 0.0, 0.0, 0.6 * sign, 0.0, 0.8 * sign, 2.0, 0.0, np.inf])
        PD.law(0.0, np.zeros(3), np.zeros(3), row, torque)
        assert torque == pytest.approx(sign * 2.0 * np.pi * np.array([0.6, 0.0, 0.8]), rel=1e-14)


@pytest.mark.parametrize("q", [-1.0, 0.2, 0.31, 2.0])
def test_each_freedom_has_its_own_numbers_and_is_cut_on_both_sides(q):
    view = view_of({"hip": "spherical", "slide": "planar"}, start={"slide": (0.7, -0.2, 0.4)})
    controller = PD(joints=("slide",), kp={"slide": (10.0, 4.0, 6.0)}, kd=(0.5, 0.25, 2.0), largest=2.5)
    coordinate, rate = np.array([9.0, 9, 9, 0.5, q, 0.1]), np.array([8.0, 8, 8, -0.3, 0.6, 0.2])
    wanted = [10.0 * 0.2 + 0.15, 4.0 * (-0.2 - q) - 0.15, 6.0 * 0.3 - 0.4]
    assert torque_of(controller, view, coordinate, rate) == pytest.approx([0, 0, 0, *np.clip(wanted, -2.5, 2.5)])


def test_rows_say_what_the_law_is_given():
    view = view_of({"hip": "spherical", "slide": "planar", "knee": "rotational"}, start={"knee": 0.3})
    turn = Rotation.from_rotvec((0.3, 0.5, -0.8)).as_quat(scalar_first=True)
    controller = PD(
        joints=("knee", "slide", "hip"), target={"hip": (0.3, 0.5, -0.8), "slide": [0.1, 0.2, 0.4]},
        kp={"hip": 5.0, "slide": (1.0, 2.0, 3.0)}, kd={"hip": 0.5, "knee": 0.25}, largest=7.0,
    )  # fmt: skip
    rows = controller.constants(view).reshape(-1, 9)
    assert rows == pytest.approx(
        np.array(
            [
                [0, 6, 0.3, 0, 0, 0, 0, 0.25, 7], [0, 3, 0.1, 0, 0, 0, 1, 0, 7], [0, 4, 0.2, 0, 0, 0, 2, 0, 7],
                [0, 5, 0.4, 0, 0, 0, 3, 0, 7], [1, 0, *turn, 5, 0.5, 7],
            ]
        ), rel=1e-15,
    )  # fmt: skip
    assert len(PD(joints=(), kp=1.0).constants(view)) == 0


@pytest.mark.parametrize("name", ["kp", "kd"])
def test_a_spherical_joint_has_one_stiffness_and_one_damping(name):
    view = view_of({"hip": "spherical"})
    numbers = {"kp": 2.0, "kd": 1.0, name: (2.0, 2.0, 3.0)}
    with pytest.raises(ValueError, match="pd: kp and kd of spherical joint 'hip': expected one number each"):
        PD(joints=("hip",), **numbers).constants(view)
    PD(joints=("hip",), **{**numbers, name: (2.0, 2.0, 2.0)}).constants(view)


def formula(text):
    return Expression(text=text, tree=ast.parse(text, mode="eval").body, place=Place("scene.yaml", 1, 1))


@pytest.mark.parametrize("largest", [np.inf, 1.5])
def test_formulas_become_torques_of_their_columns(largest):
    """Targets that are numbers stay with the law; each freedom of a joint is read by its index."""
    view = view_of({"hip": "spherical", "slide": "planar", "knee": "rotational"})
    controller = PD(
        joints=("knee", "slide"), target={"knee": formula("sin(t)"), "slide": (0.1, formula("2*t"), formula("-t"))},
        kp={"slide": (1.0, 2.0, 3.0), "knee": 4.0}, kd={"slide": (0.5, 0.25, 0.75), "knee": 0.125}, largest=largest,
    )  # fmt: skip
    controller.start(view)
    assert controller.constants(view).reshape(-1, 9)[:, 1:3].tolist() == [[3.0, 0.1]]
    found = controller.expressions(view)
    assert list(found) == [6, 4, 5] and found[4].text == "2*t"
    state = {"slide": ([0.2, 0.3, 0.5], [0.7, 0.9, 1.1]), "knee": (0.6, 0.8)}
    names = {
        "t": 0.4, "sin": np.sin, "clip": np.clip,
        "coordinate": lambda joint: state[joint][0], "rate": lambda joint: state[joint][1],
    }  # fmt: skip
    got = {column: eval(ast.unparse(expression.tree), dict(names)) for column, expression in found.items()}
    wanted = {6: 4 * (np.sin(0.4) - 0.6) - 0.1, 4: 2 * 0.5 - 0.225, 5: 3 * -0.9 - 0.825}
    assert got == pytest.approx({column: np.clip(tau, -largest, largest) for column, tau in wanted.items()})
    assert ("clip" in ast.unparse(found[6].tree)) == (largest == 1.5)


def test_targets_of_no_use_are_refused():
    view = view_of({"hip": "spherical", "knee": "rotational", "slide": "planar"})
    with pytest.raises(ValueError, match="'hip' is a spherical joint, whose target is a rotation and no formula"):
        PD(joints=("hip",), target=(formula("t"), 0.0, 0.0), kp=1.0).start(view)
    for given, numbers in (((0.0, 0.0), 2), ((0.5,), 1), ((0.1, 0.2, 0.3, 0.4), 4)):
        with pytest.raises(ValueError, match=f"target of 'hip' has {numbers} numbers; expected 3"):
            PD(joints=("hip",), target=given, kp=1.0).constants(view)
    with pytest.raises(ValueError, match="target of 'slide' has 1 numbers; expected 3"):
        PD(joints=("slide",), target=0.0, kp=1.0).constants(view)
    for name in ("target", "kd"):
        with pytest.raises(ValueError, match=f"pd: {name} names 'hip', which is not among its joints"):
            PD(joints=("knee",), **{"kp": 1.0, name: {"knee": 0.5, "hip": 0.5}}).start(view)


def test_a_spherical_joint_that_may_not_be_moved_is_left_alone():
    view = view_of({"hip": "spherical"})
    still = PD(joints=("hip",), target=0.0, kp=3.0, kd=1.0, largest=0.0)
    for rotation in ((0.0, 0.0, 0.0), (0.3, -0.2, 0.5)):
        assert torque_of(still, view, rotation, np.zeros(3)).tolist() == [0.0, 0.0, 0.0]
