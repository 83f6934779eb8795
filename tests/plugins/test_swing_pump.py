"""swing_pump: leads the swing by a quarter, and makes a pendulum gain height."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from plugins.swing_pump import SwingPump
from tests.plugins.views import torque_of, view_of

pytestmark = pytest.mark.fast
VIEW = view_of({"rope": "spherical", "knee": "rotational"})


def target_of(angle, rate, **parameters):
    """Return the angle that the pump wants at t = 100 s, from a torque with unit stiffness."""
    pump = SwingPump(joints=("knee",), swing="rope", frequency=0.5, kp=1.0, kd=0.0, **parameters)
    return torque_of(pump, VIEW, [0.0, angle, 0.0, 0.0], [0.0, rate, 0.0, 0.0], t=100.0)[3]


def test_the_target_is_the_sine_of_the_phase():
    w = math.pi
    for phase in np.linspace(0.0, 2 * math.pi, 17):
        expected = 1.2 + 0.6 * math.sin(phase)
        got = target_of(0.5 * math.cos(phase), 0.5 * w * math.sin(phase), amplitude=0.6, centre=1.2, smallest=1e-6)
        assert got == pytest.approx(expected, abs=1e-9)


def test_at_rest_the_joints_stay_at_the_centre():
    assert target_of(0.0, 0.0, amplitude=0.6, centre=1.2) == 1.2


def test_without_a_swing_the_frequency_is_used():
    pump = SwingPump(joints=("knee",), amplitude=0.5, frequency=0.25, phase=0.3, kp=2.0, kd=0.5)
    t, q, qd = 50.1, 0.2, -0.3
    expected = 2.0 * (0.5 * math.sin(2 * math.pi * 0.25 * t + 0.3) - q) - 0.5 * qd
    assert torque_of(pump, VIEW, [0, 0, 0, q], [0, 0, 0, qd], t=t)[3] == pytest.approx(expected, abs=1e-14)


def test_pumping_begins_at_its_time():
    pump = SwingPump(joints=("knee",), amplitude=0.5, frequency=0.5, phase=1.0, start_at=3.0, kp=1.0, kd=0.0)
    assert torque_of(pump, VIEW, np.zeros(4), np.zeros(4), t=3.0)[3] == 0.0
    assert torque_of(pump, VIEW, np.zeros(4), np.zeros(4), t=3.01)[3] != 0.0


@pytest.mark.parametrize("after", [0.02, 0.3, 0.5, 0.9, 1.0, 1.7])
def test_pumping_fades_in_over_half_a_swing(after):
    """From nothing to all of it, by half a wave of a cosine, without a jump of value or rate at either end."""
    pump = SwingPump(joints=("knee",), amplitude=0.5, frequency=0.5, phase=1.0, start_at=3.0, kp=1.0, kd=0.0)
    share = math.sin(0.5 * math.pi * min(after, 1.0)) ** 2
    expected = 0.5 * share * math.sin(math.pi * (3.0 + after) + 1.0)
    got = torque_of(pump, VIEW, np.zeros(4), np.zeros(4), t=3.0 + after)[3]
    assert got == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("names", [("rope", "hinge", "knee"), ("hinge", "knee", "rope")])
def test_the_coordinate_that_is_followed_is_the_joints_own(names):
    """Wherever its columns begin; a joint with one freedom has no other component."""
    kinds = {"rope": "spherical", "hinge": "rotational", "knee": "rotational"}
    view = view_of({name: kinds[name] for name in names})
    for swing, component, which in (("rope", 2, 2), ("rope", 0, 0), ("hinge", 1, 0)):
        pump = SwingPump(joints=("knee",), swing=swing, component=component, amplitude=1.0, kp=1.0, kd=0.0)
        pump.start(view)
        coordinate = np.zeros(5)
        coordinate[view.columns[swing].start + which] = 0.3
        rate = np.zeros(5)
        rate[view.columns[swing].start + which] = 10.0
        torque = torque_of(pump, view, coordinate, rate, t=100.0)
        assert torque[view.columns["knee"].start] > 0.9
    with pytest.raises(ValueError, match="component 3 of 'rope'; expected 0 to 2"):
        SwingPump(joints=("knee",), swing="rope", component=3, amplitude=1.0).start(view)
    with pytest.raises(ValueError, match="joint 'rope' has more than one freedom"):
        SwingPump(joints=("rope",), amplitude=1.0).start(view)


def amplitude_after(seconds, amplitude):
    """Return the largest angle of a hanging rod (2 m, 30 kg) with a lower leg (0.3 m, 4 kg) at its end."""
    view = view_of({"rope": "rotational", "knee": "rotational"})
    pump = SwingPump(joints=("knee",), swing="rope", component=0, amplitude=amplitude, frequency=0.36, kp=60.0, kd=6.0)
    pump.start(view)
    constants = pump.constants(view)

    def slope(t, y):
        a, b = y[:2]
        torque = np.zeros(2)
        SwingPump.law(t, y[:2], y[2:], constants, torque)
        m, length, leg_mass, leg = 30.0, 2.0, 4.0, 0.3
        inertia_12 = leg_mass * length * leg * math.cos(b)
        matrix = np.array(
            [
                [(m + leg_mass) * length**2 + leg_mass * leg**2 + 2 * inertia_12, leg_mass * leg**2 + inertia_12],
                [leg_mass * leg**2 + inertia_12, leg_mass * leg**2 + 0.05],
            ]
        )
        s = leg_mass * length * leg * math.sin(b)
        bias = np.array([-s * (2 * y[2] * y[3] + y[3] ** 2), s * y[2] ** 2])
        fall = 9.81 * leg_mass * leg * math.sin(a + b)
        weight = np.array([9.81 * (m + leg_mass) * length * math.sin(a) + fall, fall])
        return [*y[2:], *np.linalg.solve(matrix, torque - bias - weight)]

    run = solve_ivp(slope, (0.0, seconds), [0.2, 0.0, 0.0, 0.0], rtol=1e-6, max_step=0.02)
    return np.abs(run.y[0][run.t > seconds - 3.0]).max()


def test_a_swing_gains_height_and_the_opposite_amplitude_brakes_it():
    """The leg is light: about a tenth of the angle in 15 s, where the limp leg changes it by a thousandth."""
    assert amplitude_after(15.0, 0.8) > 0.215
    assert amplitude_after(15.0, 0.0) == pytest.approx(0.2, abs=1e-3)
    assert amplitude_after(15.0, -0.8) < 0.19


def test_refusals_are_sentences():
    with pytest.raises(ValueError, match="'rope' has more than one freedom"):
        SwingPump(joints=("rope",), amplitude=0.1).start(VIEW)
    with pytest.raises(ValueError, match="component 3 of 'rope'; expected 0 to 2"):
        SwingPump(joints=("knee",), amplitude=0.1, swing="rope", component=3).start(VIEW)
    with pytest.raises(ValueError, match="frequency is 0 Hz"):
        SwingPump(joints=("knee",), amplitude=0.1, frequency=0.0).start(VIEW)


@pytest.mark.parametrize("t", [1.0, 1.3, 1.31, 1.9, 2.4, 9.0])
@pytest.mark.parametrize("swing", ["", "rope"])
def test_the_torque_is_that_of_the_formula(swing, t):
    """Of all joints, whichever columns they have; it is added, and the phase counts from t = 0."""
    view = view_of({"rope": "planar", "knee": "rotational", "base": "spherical", "hip": "translational"})
    pump = SwingPump(
        joints=("hip", "knee"), swing=swing, component=0, amplitude=0.6, centre=0.2, frequency=0.45, phase=0.7,
        start_at=1.3, kp=3.0, kd=0.5, smallest=0.15,
    )  # fmt: skip
    q, qd = np.array([0.4, 9.0, 9.0, -0.3, 9.0, 9.0, 9.0, 0.25]), np.array([1.1, 8.0, 8.0, 0.9, 8.0, 8.0, 8.0, -0.6])
    w = 0.9 * math.pi
    lead = 1.1 / w
    sine = lead / math.sqrt(0.4**2 + lead**2 + 0.15**2) if swing else math.sin(w * t + 0.7)
    share = 0.0 if t <= 1.3 else math.sin(0.5 * min(w * (t - 1.3), math.pi)) ** 2
    target = 0.2 + 0.6 * sine * share
    expected = np.arange(1.0, 9.0)
    torque = expected.copy()
    expected[3] += 3.0 * (target + 0.3) - 0.45
    expected[7] += 3.0 * (target - 0.25) + 0.3
    pump.start(view)
    SwingPump.law(t, q, qd, pump.constants(view), torque)
    assert torque == pytest.approx(expected, rel=1e-14)


def test_constants_are_the_head_and_the_columns():
    view = view_of({"hip": "rotational", "rope": "spherical", "knee": "rotational"})
    numbers = {"amplitude": 0.3, "centre": 0.1, "frequency": 0.7, "phase": 0.9, "start_at": 2.5, "kp": 5.0, "kd": 1.5}
    head = [1.4 * math.pi, 2.5, 0.9, 0.1, 0.3, 5.0, 1.5, 0.05]
    for swing, component, column in (("", 1, -1), ("rope", 2, 3), ("rope", 0, 1), ("hip", 1, 0)):
        pump = SwingPump(joints=("knee", "hip"), swing=swing, component=component, smallest=0.05, **numbers)
        assert pump.constants(view) == pytest.approx(np.array([column, *head, 4, 0]), rel=1e-15)


@pytest.mark.parametrize("frequency", [-0.5, math.nan])
def test_a_swing_has_a_frequency_above_zero(frequency):
    with pytest.raises(ValueError, match=r"swing_pump: frequency is .* Hz; expected more than zero"):
        SwingPump(joints=("knee",), amplitude=0.1, frequency=frequency).start(VIEW)


def test_a_joint_with_two_freedoms_has_two_components():
    view = view_of({"knee": "rotational", "rope": "universal"})
    for component, column in ((0, 1.0), (1, 2.0)):
        pump = SwingPump(joints=("knee",), amplitude=0.1, swing="rope", component=component)
        pump.start(view)
        assert pump.constants(view)[0] == column
    with pytest.raises(ValueError, match="component 2 of 'rope'; expected 0 to 1"):
        SwingPump(joints=("knee",), amplitude=0.1, swing="rope", component=2).start(view)
    with pytest.raises(ValueError, match="joint 'rope' has more than one freedom"):
        SwingPump(joints=("rope",), amplitude=0.1).start(view)
