"""Rates too slow to see at points that press: they end at once, by the least impulse, and what is faster goes on."""

from __future__ import annotations

import numpy as np
import pytest

from tests.contact.engine import G0, Run

pytestmark = pytest.mark.contact

MASS, RADIUS, INERTIA = 2.0, 0.1, 0.03
TURNED = MASS / (1.0 + MASS * RADIUS**2 / INERTIA)  # kg: mass of its point of contact along the ground
BALL = f"""
schema: 1
name: ball
world: {{{{gravity: {{gravity}}, shapes: [{{{{name: ground, plane: {{{{}}}}}}}}]}}}}
bodies:
  ball:
    mass: {MASS}
    com: [0.7, -0.4, {RADIUS}]
    inertia: [{INERTIA}, {INERTIA}, {INERTIA}]
    shapes: [{{{{sphere: {{{{center: [0.7, -0.4, {RADIUS}], radius: {RADIUS}}}}}}}}}]
initial: {{{{ball: {{{{velocity: {{velocity}}, angular_velocity: {{spin}}}}}}}}}}
contacts: {{{{ground: {{{{between: [ball, world], friction: {{mu}}, restitution: {{e}}}}}}}}}}
simulate: {{{{contact: event, rtol: 1e-9}}}}
"""


def said(values: object) -> list[float]:
    return [float(value) for value in np.array(values)]


def ball(
    velocity: tuple[float, float, float], spin: tuple[float, float, float] = (0.0, 0.0, 0.0), *, mu: float = 0.5,
    e: float = 0.5, gravity: tuple[float, float, float] = (0.0, 0.0, -G0),
) -> Run:  # fmt: skip
    """Return a ball on the ground at its start; velocity of its centre, m/s."""
    text = BALL.format(gravity=said(gravity), velocity=said(velocity), spin=said(spin), mu=mu, e=e)
    return Run(text).to(0.0)


def motion(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Return the velocity of the ball's centre and its angular velocity, world axes."""
    return run.simulator.velocity["ball"].copy(), run.simulator.angular_velocity["ball"].copy()


SIDE = np.array([0.6, -0.8])


@pytest.mark.parametrize("rolling", [False, True])
@pytest.mark.parametrize(("slip", "ends"), [(5e-7, True), (0.99e-6, True), (1.01e-6, False), (3e-6, False)])
def test_a_slow_slip_of_a_point_that_sticks_ends_at_once(slip: float, ends: bool, rolling: bool) -> None:
    """At most a millionth of a metre a second, with the impulse along the ground that stops it; the spin stays."""
    rolls = np.array([0.3, 0.2]) if rolling else np.zeros(2)
    v0, w0 = np.array([*(slip * SIDE + rolls), 0.0]), np.array([-rolls[1], rolls[0], 0.0]) / RADIUS + [0.0, 0.0, 0.2]
    run = ball(tuple(v0), tuple(w0))
    v, w = motion(run)
    P = np.array([*(-TURNED * slip * SIDE), 0.0]) * ends
    assert v == pytest.approx(v0 + P / MASS, abs=1e-14)
    assert w == pytest.approx(w0 + np.cross([0.0, 0.0, -RADIUS], P) / INERTIA, abs=1e-13)
    assert run.texts() == [f"ground and ball {'sticks' if ends else 'slides'}"]
    assert run.simulator.energy["impact"] == pytest.approx(0.5 * TURNED * slip**2 * ends, rel=1e-6, abs=1e-25)
    assert len(run.times()) == 0
    run.to(0.7)
    if ends:
        assert run.simulator.position["ball"] == pytest.approx([0.7, -0.4, RADIUS] + 0.7 * v, abs=1e-12)


@pytest.mark.parametrize(
    ("rate", "after"), [(1.1e-9, 0.0), (3e-5, 0.0), (4.4e-5, 0.0), (4.5e-5, 4.5e-5), (-0.9e-8, 0.0)]
)
@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_a_slow_rate_off_the_ground_ends_where_the_hop_would_be_lower_than_what_touches(
    rate: float, after: float, mu: float
) -> None:
    """A hop of 1e-10 m begins at 4.43e-5 m/s."""
    run = ball((0.0, 0.0, rate), mu=mu)
    v, w = motion(run)
    assert v == pytest.approx([0.0, 0.0, after], abs=1e-20) and w == pytest.approx([0.0] * 3, abs=1e-12)
    assert run.simulator.energy["impact"] == pytest.approx(0.5 * MASS * (rate**2 - after**2), rel=1e-9, abs=1e-30)
    hops = after > 1e-8
    word = "sticks" if mu else "slides"
    assert run.texts() == ([] if hops else [f"ground and ball {word}"]) and len(run.times()) == 0
    run.to(1e-3)
    if hops:  # and what is so short is not stepped over
        assert run.times()[0] == pytest.approx(2.0 * rate / G0, abs=1e-9)
    else:
        assert len(run.times()) == 0


def test_what_comes_in_faster_than_nothing_collides_and_what_comes_back_settles() -> None:
    run = ball((0.0, 0.0, -2e-8))
    assert run.times().tolist() == [0.0] and motion(run)[0] == pytest.approx([0.0, 0.0, 0.0], abs=1e-22)
    assert run.simulator.energy["impact"] == pytest.approx(0.5 * MASS * 4e-16, rel=1e-6)
    away = ball((0.0, 0.0, -0.4), e=0.6)
    assert motion(away)[0] == pytest.approx([0.0, 0.0, 0.24], rel=1e-12)


STEEP = np.array([np.sin(0.5), 0.0, -np.cos(0.5)]) * G0  # on a slope of 0.5 rad


@pytest.mark.parametrize(("slip", "ends"), [(9e-7, True), (2e-6, False)])
def test_a_slow_slip_ends_where_a_point_begins_to_slide_as_forces_want(slip: float, ends: bool) -> None:
    """Across the slope first, then straight down, turning as friction makes it."""
    mu = 0.08
    run = ball((0.0, slip, 0.0), gravity=tuple(STEEP), mu=mu)
    left = slip - TURNED / MASS * slip * ends
    assert motion(run)[0] == pytest.approx([0.0, left, 0.0], abs=1e-18)
    assert run.simulator.energy["impact"] == pytest.approx(0.5 * TURNED * slip**2 * ends, rel=1e-6, abs=1e-25)
    assert run.texts() == ["ground and ball slides"]
    run.to(0.5)
    v, w = motion(run)
    friction = mu * -STEEP[2]
    assert v[0] == pytest.approx(0.5 * (STEEP[0] - friction), abs=1e-8 + 1e-6 * (not ends))
    assert w[1] == pytest.approx(0.5 * MASS * friction * RADIUS / INERTIA, rel=1e-6)
    if ends:
        assert v[1] == pytest.approx(left, abs=1e-12)


BOX = f"""
schema: 1
name: box
world: {{{{shapes: [{{{{name: ground, plane: {{{{}}}}}}}}]}}}}
bodies:
  box:
    mass: {MASS}
    com: [0, 0, 0.2]
    inertia: [0.05, 0.06, 0.07]
    shapes: [{{{{box: {{{{center: [0, 0, 0.2], size: [0.6, 0.4, 0.4]}}}}}}}}]
initial: {{{{box: {{{{velocity: {{velocity}}, angular_velocity: {{spin}}}}}}}}}}
contacts: {{{{ground: {{{{between: [box, world], friction: 0.5, restitution: 0.3}}}}}}}}
"""


def test_a_box_that_sways_slowly_rests_with_all_that_it_had() -> None:
    """Four corners, of which two rise and two sink, slower than what counts as closing, stop together."""
    velocity, spin = np.array([2e-7, -3e-7, 4e-9]), np.array([1e-8, -2e-8, 1e-7])
    run = Run(BOX.format(velocity=velocity.tolist(), spin=spin.tolist())).to(0.0)
    assert run.simulator.velocity["box"] == pytest.approx([0.0] * 3, abs=1e-20)
    assert run.simulator.angular_velocity["box"] == pytest.approx([0.0] * 3, abs=1e-20)
    had = 0.5 * MASS * velocity @ velocity + 0.5 * spin @ ([0.05, 0.06, 0.07] * spin)
    assert run.simulator.energy["impact"] == pytest.approx(had, rel=1e-6)
    assert run.texts() == ["ground and box sticks (4 points)"] and len(run.times()) == 0


GROOVE = """
schema: 1
name: groove
world:
  shapes:
    - {name: left, plane: {normal: [0.6, 0, 0.8]}}
    - {name: right, plane: {normal: [-0.6, 0, 0.8]}}
bodies: {ball: {mass: 2, inertia: [0.02, 0.02, 0.02], shapes: [{sphere: {center: [0, 0, HEIGHT], radius: 0.1}}],
  com: [0, 0, HEIGHT]}}
contacts: {all: {between: [ball, world], restitution: 0.5, friction: MU}}
simulate: {contact: event, rtol: 1e-10}
"""


# So that the last hop is 0.97e-4 s long: it ends where hops are shorter than 1e-4 s.
FALLS = 0.97e-4 * 2**12  # s


@pytest.mark.parametrize("mu", [0.0, 0.4])
@pytest.mark.parametrize("first", [FALLS, 0.8 * FALLS])
def test_a_ball_comes_to_rest_on_both_sides_of_a_groove_at_once(first: float, mu: float) -> None:
    """It falls onto both, and bounces as on level ground; what stops it on one side presses it to the other."""
    height = 0.5 * G0 * first**2
    run = Run(GROOVE.replace("MU", str(mu)).replace("HEIGHT", repr(float(0.125 + height)))).to(1.25)
    times = run.times()
    n = np.arange(len(times))
    assert times == pytest.approx(first * (3.0 - 2.0 * 0.5**n), abs=1e-8)
    assert 3.0 * first - 1e-4 < times[-1] < 3.0 * first
    ended = run.texts("annotation")
    assert sorted(text.split(" comes to rest at ")[0] for text in ended) == ["left and ball", "right and ball"]
    assert [float(text.split()[-2]) for text in ended] == pytest.approx([3.0 * first] * 2, abs=1e-6)
    v, w = motion(run)
    assert v == pytest.approx([0.0] * 3, abs=1e-12) and w == pytest.approx([0.0] * 3, abs=1e-9)
    assert run.simulator.position["ball"] == pytest.approx([0.0, 0.0, 0.125], abs=1e-8)
    assert run.simulator.energy["impact"] == pytest.approx(MASS * G0 * height, rel=1e-7)
    points = run.points()
    assert points.normal == pytest.approx([MASS * G0 / 1.6] * 2, rel=0.3 if mu else 1e-9)
    assert run.balance() < 1e-7
