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


SIDES = [(-0.7, 0.9, 0.3), (-math.inf, 0.9, 0.3), (-0.7, math.inf, 0.3)]


@pytest.mark.parametrize(("lower", "upper", "margin"), SIDES)
@pytest.mark.parametrize("q", [-0.95, -0.7, -0.55, -0.4, 0.1, 0.6, 0.75, 0.9, 1.3])
@pytest.mark.parametrize("qd", [-1.7, 0.6])
def test_the_torque_is_that_of_the_formula_on_both_sides(lower, upper, margin, q, qd):
    """tau = -k d^3 / (3 margin^2) (1 + c dd/dt), of each limit of each of several columns; it is added."""
    view = view_of({"a": "spherical", "b": "planar", "c": "rotational"}, {"b": [(-9.0, 9.0), (lower, upper)]})
    controller = Limits(joints=("c", "b"), margin=margin, stiffness=170.0, dissipation=0.8)
    controller.start(view)
    expected = np.arange(1.0, 8.0)
    torque = expected.copy()
    for depth, outward in ((q - upper + margin, 1.0), (lower + margin - q, -1.0)):
        if depth > 0:
            expected[4] -= outward * 170.0 * depth**3 / (3 * margin**2) * (1 + 0.8 * outward * qd)
    coordinate, rate = np.full(7, 0.4), np.full(7, 3.0)
    coordinate[4], rate[4] = q, qd
    Limits.law(0.0, coordinate, rate, controller.constants(view), torque)
    assert torque == pytest.approx(expected, rel=1e-14, abs=1e-13)


@pytest.mark.parametrize("size", [0.05, 0.35, 0.45, 1.1, 1.4, 2.0])
def test_the_angle_of_a_spherical_joint_has_both_limits(size):
    """Its rate is that of the rotation vector along itself; the torque is along the vector."""
    view = view_of({"a": "rotational", "hip": "spherical"}, {"hip": [(0.2, 1.5)]})
    controller = Limits(joints=("hip",), margin=0.25, stiffness=90.0, dissipation=0.3)
    along = np.array([2.0, -3.0, 6.0]) / 7
    rate = np.array([5.0, 0.7, -0.4, 1.1])
    inward, outward = max(0.45 - size, 0.0), max(size - 1.25, 0.0)
    growing = rate[1:] @ along
    tau = 480.0 * (inward**3 * (1 - 0.3 * growing) - outward**3 * (1 + 0.3 * growing))  # 90 / (3 0.25^2)
    torque = torque_of(controller, view, [0.0, *(size * along)], rate)
    assert torque == pytest.approx([0.0, *(tau * along)], rel=1e-12, abs=1e-14)


def test_a_direction_is_taken_from_a_nanoradian_on():
    view = view_of({"hip": "spherical"}, {"hip": [(0.2, 1.5)]})
    controller = Limits(joints=("hip",), margin=0.25, stiffness=90.0, dissipation=0.0)
    full = 480.0 * 0.45**3
    for size, expected in ((0.5e-9, 0.0), (1e-9, full), (3e-9, full)):
        assert torque_of(controller, view, [0.0, size, 0.0], np.zeros(3)) == pytest.approx([0, expected, 0], rel=1e-7)


def test_rows_say_what_the_law_is_given():
    view = view_of(
        {"slide": "planar", "hip": "spherical", "far": "spherical", "free": "rotational"},
        {"slide": [(-1.0, 2.0), (-math.inf, math.inf), (-math.inf, 3.0)], "hip": [(0.0, 1.5)], "far": [(0.5, 2.5)]},
    )
    controller = Limits(joints=("far", "free", "slide", "hip"), margin=0.2, stiffness=3.0, dissipation=0.1)
    more = (0.2, 3.0, 0.1)
    assert controller.constants(view).reshape(-1, 7).tolist() == [
        [1, 6, 0.5, 2.5, *more], [0, 0, -1, 2, *more], [0, 2, -math.inf, 3, *more], [1, 3, -math.inf, 1.5, *more],
    ]  # fmt: skip
    assert Limits(joints=("free",)).constants(view).tolist() == []


def test_two_margins_may_just_fill_the_range():
    """Of an angle that begins at zero, one; of one that begins later, and of other joints, two."""
    view = view_of(
        {"elbow": "rotational", "hip": "spherical", "far": "spherical"},
        {"elbow": [(0.0, 1.0)], "hip": [(0.0, 1.0)], "far": [(0.5, 1.5)]},
    )
    for joint, most in (("elbow", 0.5), ("hip", 1.0), ("far", 0.5)):
        Limits(joints=(joint,), margin=most).start(view)
        with pytest.raises(ValueError, match=f"range of '{joint}' is 1 rad, too narrow for a margin of {most + 0.01}"):
            Limits(joints=(joint,), margin=most + 0.01).start(view)
    with pytest.raises(ValueError, match="margin is nan rad"):
        Limits(joints=("elbow",), margin=math.nan).start(view)
