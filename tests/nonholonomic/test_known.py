"""Wheels, blades and rolling bodies against published and closed-form numbers; the wheels never slip."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import sim
from tests.contact.engine import SCENES, Run
from tests.nonholonomic.shipped import shipped

pytestmark = pytest.mark.nonholonomic


def angles(R: np.ndarray) -> tuple[float, float]:
    """Return yaw and roll of a frame whose z is up: R = Rz(yaw) Rx(roll) Ry(pitch)."""
    return math.atan2(-R[0, 1], R[1, 1]), math.asin(R[2, 1])


# benchmarks.md 4.3: time, place and heading of the blade, its speed and the rate of turning
SLEIGH = [
    (1, (0.1876630533, 0.1429182787, 0.9682422356), 0.4691336441, 0.9077063948),
    (2, (0.2794261686, 0.7668740495, 1.7767479910), None, None),
    (5, (-2.0764590140, 2.3066385482, 3.0362423219), None, None),
    (10, (-7.5097716696, 1.3121124035, 3.4613248657), None, None),
]


@pytest.mark.fast
def test_chaplygins_sleigh_goes_as_its_closed_form_says() -> None:
    run = shipped("chaplygin_sleigh")
    for t, place, speed, spin in SLEIGH:
        run.to(t)
        state = run.simulator
        np.testing.assert_allclose(state.coordinate["ice"], place, atol=1e-10)
        x, y, w = state.rate["ice"]
        heading = state.coordinate["ice"][2]
        assert abs(-math.sin(heading) * x + math.cos(heading) * y) < 1e-10  # the blade does not slip
        rate = math.sqrt(0.2)
        assert w == pytest.approx(1.0 / math.cosh(rate * t), abs=1e-10)
        assert math.hypot(x, y) == pytest.approx(math.sqrt(1.25) * math.tanh(rate * t), abs=1e-10)
        if speed is not None:
            assert (math.hypot(x, y), w) == pytest.approx((speed, spin), abs=1e-10)
    assert run.balance() < 1e-10


# benchmarks.md 4.2, a wobbling disc: time and place of the centre
WOBBLE = [
    (0.25, (0.243038784, -0.154082621, 0.079858391)),
    (0.5, (0.275174752, -0.431510334, 0.070626185)),
    (1.0, (-0.204757630, -0.514653278, 0.087984458)),
    (3.0, (-0.202558243, -0.095598213, 0.070303083)),
]


@pytest.mark.fast
def test_a_disc_that_wobbles() -> None:
    run = shipped("rolling_disc")
    for t, place in WOBBLE:
        np.testing.assert_allclose(run.to(t).simulator.position["coin"], place, atol=6e-10)
    assert run.balance() < 1e-10
    assert slip_of_disc(run, 0.1) < 1e-10


def slip_of_disc(run: Run, radius: float) -> float:
    """Return the largest speed of the disc's material at its lowest point over all rows [m/s], from poses alone."""
    worst = 0.0
    for row in run.told.rows_:
        w, x, y, z = row["quat_wxyz"][0]
        axis = np.array([2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)])
        down = np.array([0.0, 0.0, 1.0]) - axis[2] * axis
        arm = -radius * down / np.linalg.norm(down)
        assert row["position"][0][2] + arm[2] == pytest.approx(0.0, abs=1e-10)
        worst = max(worst, float(np.abs(row["velocity"][0] + np.cross(row["angular_velocity"][0], arm)).max()))
    return worst


def test_a_disc_that_goes_round_in_a_circle_closes() -> None:
    """Le Saux and Leine 2005: steady rolling on a circle ten radii wide, leaning by 5 degrees."""
    r, R, lean = 0.05, 0.5, math.radians(5.0)
    spin, turn, period = 10.736498163261, -1.073649816326, 5.852173782956
    share = r / R
    assert spin**2 == pytest.approx(
        4.0 * 9.81 / r * math.sin(lean) / ((6.0 - 5.0 * share * math.sin(lean)) * share * math.cos(lean)), rel=1e-12
    )
    run = shipped(
        "rolling_disc", radius=f"{r} m", mass="0.3048 kg", tilt="5 deg", spin=f"{spin} rad/s", yaw=f"{turn} rad/s"
    )
    start = run.simulator.position["coin"].copy()
    run.to(period)
    assert start[2] == pytest.approx(0.049809735, abs=1e-9)
    np.testing.assert_allclose(run.simulator.position["coin"], start, atol=1e-9)
    places = np.array([row["position"][0] for row in run.told.rows_])
    middle = start[:2] - [0.0, 0.495642213]
    assert slip_of_disc(run, r) < 1e-10
    assert np.ptp(places[:, 2]) < 1e-9
    np.testing.assert_allclose(np.hypot(*(places[:, :2] - middle).T), 0.495642213, atol=1e-9)


# benchmarks.md 4.1: speed and push; at times: roll, steer and its rate, yaw
MANOEUVRES = {
    "M1": (4.0, 0.05, 1575.172902477, [
        (1, -0.008124184, -0.002722109, 0.075659929, -0.0461831),
        (3, -0.009335684, -0.014879377, 0.164184516, -0.0828363),
        (5, -0.004714489, -0.044960974, 0.317813326, -0.1563531),
    ]),
    "M2": (4.6, 0.5, 1837.031176310, [
        (0.5, 0.105609434, -0.130551254, 0.114105094, -0.1899310),
        (1, -0.041293870, 0.039988487, 0.322404010, -0.2947920),
        (2, 0.056180809, -0.063097319, -0.046373884, -0.1926634),
        (5, 0.010342441, -0.008185671, -0.061407351, -0.2160752),
    ]),
}  # fmt: skip


@pytest.mark.parametrize("name", MANOEUVRES)
def test_the_bicycle_goes_as_published(name: str) -> None:
    speed, push, energy, rows = MANOEUVRES[name]
    run = shipped("bicycle", v=f"{speed} m/s", roll_rate=f"{push} rad/s")
    told = run.simulator.energy
    assert told["kinetic"] + told["potential"] == pytest.approx(energy, abs=1e-9)
    for t, roll, steer, steer_rate, yaw in rows:
        state = run.to(t).simulator
        found = (*angles(state.rotation["frame"])[::-1], state.coordinate["steer"], state.rate["steer"])
        assert found == pytest.approx((roll, yaw, steer, steer_rate), abs=6e-8)
    assert run.balance() < 1e-3 / 100 * energy * 1e-6


def test_the_bicycles_energy_stays_for_twenty_seconds() -> None:
    scene = sim.load(SCENES / "bicycle.yaml")
    run = Run(replace(scene, simulate=replace(scene.simulate, rtol=1e-8))).to(20.0)
    energy = run.simulator.energy["kinetic"] + run.simulator.energy["potential"]
    assert run.balance() < 1e-5 * energy  # a thousandth of a per cent
    assert run.simulator.flow.counts()["steps"] < 200


# benchmarks.md 4.4: time, place and heading of the middle link
MIDDLE = [
    (0.25, (-0.0290021291, 0.0034556073, 0.1664530483)),
    (0.5, (0.1562609394, 0.0403057074, 0.1664530483)),
    (0.75, (0.1272588103, 0.0437613147, 0.0)),
    (1.0, (-0.1854067924, 0.0487714187, 0.0)),
    (2.0, (-0.3708135849, 0.0975428375, 0.0)),
]


@pytest.mark.parametrize("masses", [{}, {"rear": 0.1, "middle": 20.0, "front": 3.0}])
def test_a_snake_of_three_links_goes_where_its_joints_make_it(masses: dict[str, float]) -> None:
    run = shipped("snake_three", **masses)
    for t, place in MIDDLE:
        np.testing.assert_allclose(run.to(t).simulator.coordinate["floor"], place, atol=1e-9)
