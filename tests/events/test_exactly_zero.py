"""What is watched and is exactly zero, at the start or after an event: what it does next decides."""

from __future__ import annotations

import numpy as np
import pytest

from tests.contact.engine import Run
from tests.dynamics.engine import simulator_of

METHODS = ("dop853", "radau", "auto", "rk4, step: 1 ms", "semi_implicit, step: 0.1 ms", "variational, step: 1 ms")

# A pendulum that falls to smaller angles, against a stop where it begins; mirrored, against an upper one.
PENDULUM = """
schema: 1
bodies: {{rod: {{mass: 1 kg, com: [0, 0, -0.5], inertia: [0.1, 0.1, 0.1]}}}}
joints:
  pin: {{type: rotational, parent: world, child: rod, position: [0, 0, 0], axis: [0, {axis}, 0],
    limits: {{range: {range}, stiffness: {stiffness}, dissipation: 0}}}}
initial: {{pin: {start}}}
{more}
simulate: {{duration: 2 s, method: {method}}}
"""


def lowest(stiffness: float) -> float:
    """The angle at which the pendulum turns back, from its energy: m g l (cos x - cos 0.5) = k (0.5 - x)^2 / 2."""
    from scipy.optimize import brentq

    weight = 9.80665 * 0.5
    return float(brentq(lambda x: weight * (np.cos(x) - np.cos(0.5)) - 0.5 * stiffness * (0.5 - x) ** 2, -0.5, 0.499))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("set_at", [False, True], ids=["start", "event"])
def test_a_soft_stop_acts_where_a_joint_begins_at_its_bound(side: int, set_at: bool, method: str) -> None:
    text = PENDULUM.format(
        axis=side, range="[0.5, inf]" if side > 0 else "[-inf, -0.5]", stiffness=100, method=method,
        start=1.2 * side if set_at else 0.5 * side,
        more=f"events: {{back: {{at: 0 s, set: {{pin: {{coordinate: {0.5 * side}, rate: 0}}}}}}}}" if set_at else "",
    )  # fmt: skip
    simulator = simulator_of(text)
    angles = []
    for t in np.linspace(0.005, 0.6, 120):
        simulator.advance(float(t))
        angles.append(side * simulator.state.coordinate["pin"])
    assert min(angles) == pytest.approx(lowest(100.0), abs=2e-3)


@pytest.mark.parametrize(("rate", "engaged"), [(-0.1, 1), (0.1, 0)])
def test_its_rate_decides_before_its_acceleration(rate: float, engaged: int) -> None:
    text = PENDULUM.format(
        axis=1, range="[0.5, inf]", stiffness=1e-6, method="dop853", start=f"{{coordinate: 0.5, rate: {rate}}}", more=""
    )
    simulator = simulator_of(text)
    simulator.advance(1e-3)
    assert simulator.flow.control.engaged.tolist() == [engaged]


def test_what_rests_at_its_bound_and_is_not_moved_meets_nothing() -> None:
    text = PENDULUM.format(axis=1, range="[0, inf]", stiffness=100, method="dop853", start=0, more="")
    run = Run(text).to(1.0)
    assert not run.told.events


TOGGLE = """
schema: 1
world: {{gravity: [0, 0, 0]}}
bodies: {{a: {{mass: 1 kg, com: [0, 0, 0], inertia: [1, 1, 1]}}}}
initial: {{a: {{velocity: [0, 0, {speed}]}}}}
events: {{low: {{when: "{when}", once: {once}, impulse: {{body: a, linear: [0, 0, 0]}}}}}}
simulate: {{duration: 1 s}}
"""


@pytest.mark.parametrize(
    ("when", "speed", "times"),
    [
        ("position('a')[2] < 0", -1.0, [0.0]),
        ("position('a')[2] < 0", 1.0, []),
        ("position('a')[2] < 0", 0.0, []),
        ("position('a')[2] <= 0", 0.0, [0.0]),
        ("position('a')[2] <= 0", 1.0, [0.0]),
        ("position('a')[2] > 0", 1.0, [0.0]),
        ("position('a')[2] > 0", -1.0, []),
        ("not position('a')[2] > 0", 1.0, [0.0]),
        ("position('a')[2] >= 0 and position('a')[2] <= 0", 0.0, [0.0]),
        ("position('a')[2] > 0 or position('a')[2] < 0", 0.0, []),
    ],
)
@pytest.mark.parametrize("once", ["true", "false"])
def test_a_condition_that_begins_at_equality(when: str, speed: float, times: list[float], once: str) -> None:
    run = Run(TOGGLE.format(when=when, speed=speed, once=once)).to(1.0)
    assert [event.time for event in run.told.events] == pytest.approx(times, abs=1e-12)


WINDOW = """
schema: 1
world: {gravity: [0, 0, 0]}
bodies: {a: {mass: 1 kg, com: [0, 0, 0], inertia: [1, 1, 1], points: {tip: [1, 0, 0]}}}
joints: {turn: {type: rotational, parent: world, child: a, position: [0, 0, 0], axis: [0, 0, 1]}}
initial: {turn: {coordinate: 0, rate: 2}}
events: {pass: {when: "WHEN", once: false, impulse: {body: a, linear: [0, 0, 0]}}}
simulate: {duration: 20 s}
"""


@pytest.mark.parametrize(
    "when",
    [
        "sin(coordinate('turn')) > 0.999",
        "position('a.tip')[1] > 0.999 m",
        "velocity('a.tip')[0] < -1.998 m/s",
        "distance('a.tip', 'a') > 0 and orientation('a')[2] > asin(0.999) and orientation('a')[2] < pi - asin(0.999)",
    ],
)
def test_a_condition_that_waits_is_armed_within_a_step(when: str) -> None:
    """Each turn, though a free rotation is followed in steps of many turns."""
    run = Run(WINDOW.replace("WHEN", when)).to(20.0)
    right = [(np.arcsin(0.999) + 2.0 * np.pi * k) / 2.0 for k in range(7)]
    assert [event.time for event in run.told.events] == pytest.approx([t for t in right if t <= 20.0], abs=1e-9)
