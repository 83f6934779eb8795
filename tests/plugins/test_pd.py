"""pd: formula, rotation error of spherical joints, cut at the largest torque, refusals."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from plugins.pd import PD
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
