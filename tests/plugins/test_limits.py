"""limits: nothing inside, a smooth beginning, dissipation that only takes energy away."""

import math

import numpy as np
import pytest

from plugins.limits import Limits
from tests.plugins.views import torque_of, view_of

pytestmark = pytest.mark.fast
VIEW = view_of(
    {"elbow": "rotational", "hip": "spherical", "free": "rotational"}, {"elbow": [(0.0, 2.0)], "hip": [(0.0, 1.5)]}
)
JOINTS = ("elbow", "hip", "free")


def limits(**parameters):
    return Limits(joints=JOINTS, margin=0.2, stiffness=300.0, **parameters)


def elbow(q, qd=0.0, **parameters):
    return torque_of(limits(**parameters), VIEW, [q, 0.1, 0.0, 0.0, 0.0], [qd, 0, 0, 0, 0])[0]


def test_no_torque_between_the_margins():
    rng = np.random.default_rng(1)
    for q in np.linspace(0.2, 1.8, 50):
        vector = rng.normal(size=3)
        vector *= rng.uniform(0.0, 1.3) / np.linalg.norm(vector)
        torque = torque_of(limits(), VIEW, [q, *vector, rng.normal()], rng.normal(size=5))
        assert not torque.any()


def test_slope_at_the_limit_is_the_stiffness():
    h = 1e-6
    assert (elbow(2.0 + h) - elbow(2.0 - h)) / (2 * h) == pytest.approx(-300.0, rel=1e-9)
    assert elbow(2.0) == pytest.approx(-300.0 * 0.2 / 3)
    assert elbow(0.0) == pytest.approx(300.0 * 0.2 / 3)


def test_the_spring_begins_twice_smooth():
    """Halving the depth divides torque by eight, so value, slope and curvature begin at zero."""
    for depth in (0.1, 0.02):
        assert elbow(1.8 + depth) / elbow(1.8 + depth / 2) == pytest.approx(8.0, rel=1e-9)


def test_dissipation_takes_energy_in_both_directions():
    for q, outward in ((2.1, 1.0), (-0.1, -1.0)):
        for rate in (0.7, -0.7):
            part = elbow(q, rate, dissipation=0.5) - elbow(q, rate, dissipation=0.0)
            assert part * rate < 0.0
        assert abs(elbow(q, 0.7 * outward)) > abs(elbow(q)) > abs(elbow(q, -0.7 * outward))


def test_spherical_torque_is_against_the_rotation_vector():
    vector = np.array([0.4, -1.2, 0.9])
    torque = torque_of(limits(), VIEW, [1.0, *vector, 0.0], np.zeros(5))
    angle = np.linalg.norm(vector)
    depth = angle - 1.3
    assert torque[1:4] == pytest.approx(-300.0 * depth**3 / (3 * 0.2**2) * vector / angle, rel=1e-12)
    assert torque[0] == torque[4] == 0.0


def test_zero_rotation_of_a_spherical_joint_gives_no_torque():
    assert not torque_of(limits(), VIEW, [1.0, 0.0, 0.0, 0.0, 0.0], np.ones(5)).any()


def test_one_sided_limits():
    view = view_of({"elbow": "rotational"}, {"elbow": [(-math.inf, 1.0)]})
    controller = Limits(joints=("elbow",), margin=0.2)
    assert torque_of(controller, view, [-50.0], [0.0])[0] == 0.0
    assert torque_of(controller, view, [1.0], [0.0])[0] < 0.0


def test_refusals_are_sentences():
    with pytest.raises(ValueError, match="margin is 0 rad"):
        Limits(joints=JOINTS, margin=0.0).start(VIEW)
    with pytest.raises(ValueError, match=r"range of 'elbow' is 2 rad, too narrow for a margin of 1\.2 rad"):
        Limits(joints=("elbow",), margin=1.2).start(VIEW)
    with pytest.raises(ValueError, match=r"range of 'hip' is 1\.5 rad, too narrow for a margin of 1\.6 rad"):
        Limits(joints=("hip",), margin=1.6).start(VIEW)
    Limits(joints=("hip",), margin=1.2).start(VIEW)  # an angle has one end only
