"""Rigid stops of joints: when they are struck, how fast they are left, how the bouncing ends, and what they bear."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.integrate import quad

from tests.contact.engine import G0, Run

pytestmark = pytest.mark.contact

ARM, MASS = 0.8, 2.0  # m, kg: a point on a rod

PENDULUM = """
schema: 1
name: pendulum
bodies:
  bob: {{mass: {MASS}, com: [0, 0, {BELOW}]}}
joints:
  hinge:
    {{type: rotational, parent: world, child: bob, position: [0, 0, 0], axis: [0, -1, 0],
     limits: {{range: {RANGE}, stop: rigid, restitution: {E}}}}}
initial: {{hinge: {START}}}
{MORE}
simulate: {{duration: 60 s, rtol: 1e-11}}
"""


def pendulum(*, limits: str, e: float, start: str, more: str = "") -> Run:
    return Run(PENDULUM.format(MASS=MASS, BELOW=-ARM, RANGE=limits, E=e, START=start, MORE=more))


def hop(angle: float, rate: float) -> float:
    """Return the time from a stop at an angle from the vertical, at a rate away from hanging, and back to it, s.

    By quadrature in u with angle = highest - u^2, which has no singularity.
    """
    lift = np.cos(angle) - rate**2 * ARM / (2 * G0)
    highest = np.arccos(lift)

    def slowness(u: float) -> float:
        # cos(highest - u^2) - cos(highest) = 2 sin(highest - u^2 / 2) sin(u^2 / 2)
        fall = 2 * np.sin(highest - u**2 / 2) * np.sinc(u**2 / (2 * np.pi)) / 2
        return float(2 / np.sqrt(2 * G0 / ARM * fall))

    # highest - angle without cancellation
    top = 2 * np.arcsin(rate**2 * ARM / (4 * G0) / np.sin(0.5 * (highest + angle)))
    return 2 * quad(slowness, 0.0, np.sqrt(top), epsabs=1e-14, epsrel=1e-13)[0]


def fall(start: float, angle: float) -> tuple[float, float]:
    """Return time and rate of a pendulum let go at an angle when it comes to a smaller one."""
    rate = np.sqrt(2 * G0 / ARM * (np.cos(angle) - np.cos(start)))
    return 0.5 * hop(angle, rate), rate


@pytest.mark.parametrize("e", [0.5, 0.8])
def test_a_pendulum_bounces_off_its_stop_when_the_quadrature_says_and_then_rests(e: float) -> None:
    first, rate = fall(1.0, 0.5)
    run = pendulum(limits="[0.5, inf]", e=e, start="1.0").to(30.0)
    rates = rate * e ** np.arange(1, 200)
    times = first + np.concatenate([[0.0], np.cumsum([hop(0.5, w) for w in rates])])
    struck = run.times()
    assert len(struck) > 8
    assert struck == pytest.approx(times[: len(struck)], abs=1e-9)
    ends = [float(re.search(r"comes to rest at (\S+) s", text)[1]) for text in run.texts("annotation")]
    assert ends == pytest.approx([times[-1]], abs=1e-6)
    assert run.texts()[-1] == "hinge rests at its lower stop"
    assert {event.name for event in run.told.events} == {"hinge"}
    impacts = [i for i, event in enumerate(run.told.events) if event.kind == "impact"][:6]
    for n, i in enumerate(impacts):
        before, after = (row["joints/rate"][0] for row in run.told.around[i])
        assert before == pytest.approx(-rate * e**n, rel=1e-9)
        assert after == pytest.approx(-e * before, rel=1e-12)
        lost = 0.5 * MASS * ARM**2 * (before**2 - after**2)
        assert run.told.events[i].lost == pytest.approx(lost, rel=1e-12)
    assert run.balance() < 1e-8


def test_a_stop_bears_what_gravity_presses() -> None:
    run = pendulum(limits="[0.5, inf]", e=0.3, start="0.5").to(1.0)
    run.simulator.flow.observe()
    torque = MASS * G0 * ARM * np.sin(0.5)
    assert run.simulator.stop_torque["hinge"] == pytest.approx(torque, rel=1e-12)
    assert run.simulator.torque["hinge"] == pytest.approx(torque, rel=1e-12)
    assert run.simulator.coordinate["hinge"] == 0.5
    assert run.simulator.rate["hinge"] == pytest.approx(0.0, abs=1e-15)
    assert run.told.rows_[-1]["joints/stop_torque"][0] == pytest.approx(torque, rel=1e-12)
    assert not len(run.times())


def test_a_growing_torque_pulls_a_joint_off_its_stop_when_it_is_as_large() -> None:
    pull = "forces:\n  pull: {type: wrench, body: bob, torque: [0, -3 N m/s*t, 0]}"  # about the hinge's axis
    run = pendulum(limits="[0.5, inf]", e=0.3, start="0.5", more=pull).to(6.0)
    weight = MASS * G0 * ARM * np.sin(0.5)
    assert [event.text for event in run.told.events] == ["hinge rests at its lower stop", "hinge leaves its lower stop"]
    assert run.told.events[-1].time == pytest.approx(weight / 3.0, abs=1e-9)
    assert run.simulator.coordinate["hinge"] > 0.5
    assert run.balance() < 1e-8


TURNING = """
schema: 1
name: turning
bodies:
  frame: {{mass: 1, com: [0, 0, 0], inertia: [1, 1, 1]}}
  bob: {{mass: {MASS}, com: [0, 0, {BELOW}]}}
joints:
  base: {{type: rotational, parent: world, child: frame, position: [0, 0, 0], axis: [0, -1, 0], motion: -0.2 rad/s*t}}
  hinge:
    {{type: rotational, parent: frame, child: bob, position: [0, 0, 0], axis: [0, -1, 0],
     limits: {{range: [0.5, inf], stop: rigid}}}}
initial: {{hinge: 0.5}}
simulate: {{duration: 6 s, rtol: 1e-11}}
"""


def test_a_bob_leaves_its_stop_where_a_turned_frame_lets_it_hang() -> None:
    """The frame turns at a constant rate, so the stop bears m g l sin of the bob's angle, to where that is zero."""
    run = Run(TURNING.format(MASS=MASS, BELOW=-ARM)).to(6.0)
    left = [event for event in run.told.events if "leaves" in event.text]
    assert [event.time for event in left] == pytest.approx([0.5 / 0.2], abs=1e-9)
    for row in run.told.rows_[1::37]:
        if row["time"] < 2.5:
            torque = MASS * G0 * ARM * np.sin(0.5 - 0.2 * row["time"])
            assert row["joints/stop_torque"][1] == pytest.approx(torque, abs=1e-11)
    assert run.simulator.coordinate["hinge"] > 0.5


SLIDER = """
schema: 1
name: slider
bodies:
  block: {{mass: 3, com: [0, 0, 0]}}
joints:
  rail:
    {{type: translational, parent: world, child: block, position: [0, 0, 0], axis: [0.6, 0, 0.8],
     limits: {{range: [-0.2, 0.3], stop: rigid, restitution: {E}}}}}
initial: {{rail: {{coordinate: {X}, rate: {V}}}}}
simulate: {{duration: 5 s, rtol: 1e-11}}
"""


def test_a_block_on_a_rail_strikes_both_ends_and_rests_on_the_lower() -> None:
    g, x, v, e = 0.8 * G0, 0.1, 3.0, 0.6
    run = Run(SLIDER.format(E=e, X=x, V=v)).to(5.0)
    up = np.sqrt(v**2 - 2 * g * 0.2)
    t1 = (v - up) / g
    down = np.sqrt((e * up) ** 2 + 2 * g * 0.5)
    t2 = t1 + (down - e * up) / g
    hops = 2 * e * down / g * e ** np.arange(40)
    times = np.concatenate([[t1, t2], t2 + np.cumsum(hops)])
    found = run.times()
    assert found == pytest.approx(times[: len(found)], abs=1e-9)
    assert len(found) > 10
    texts = [event.text for event in run.told.events if event.kind == "impact"]
    assert texts[:3] == ["rail at its upper stop", "rail at its lower stop", "rail at its lower stop"]
    run.simulator.flow.observe()
    assert run.simulator.stop_torque["rail"] == pytest.approx(3 * g, rel=1e-12)
    assert run.simulator.coordinate["rail"] == pytest.approx(-0.2, abs=1e-14)
    energy = np.array([row["energy/kinetic"] + row["energy/potential"] for row in run.told.rows_])
    assert np.diff(energy).max() < 1e-9
