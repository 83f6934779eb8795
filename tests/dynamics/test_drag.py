"""Drag against closed forms and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from tests.dynamics.engine import simulator_of

pytestmark = pytest.mark.fast

BALL = """
schema: 1
name: ball
world: {{gravity: [0, 0, {gravity}]}}
bodies: {{ball: {{mass: 0.5, com: [0, 0, 0], inertia: [0.02, 0.02, 0.02]}}}}
initial: {{ball: {{velocity: {velocity}, angular_velocity: {spin}}}}}
forces: {{air: {{type: drag, body: ball, {drag}}}}}
simulate: {{duration: 3 s, rtol: 1e-11}}
"""


def test_a_ball_falls_to_its_terminal_velocity():
    """v = u tanh(g t / u), z = -u^2 / g log cosh(g t / u) with u = sqrt(m g / q)."""
    g, m, q = 9.81, 0.5, 0.06
    s = simulator_of(BALL.format(gravity=-g, velocity=[0, 0, 0], spin=[0, 0, 0], drag="quadratic: 0.06 N s^2/m^2"))
    u = np.sqrt(m * g / q)
    for t in (0.2, 1.0, 3.0):
        s.advance(t)
        v, z = u * np.tanh(g * t / u), -(u**2) / g * np.log(np.cosh(g * t / u))
        assert s.velocity["ball"] == pytest.approx([0, 0, -v], abs=1e-9)
        assert s.position["ball"] == pytest.approx([0, 0, z], abs=1e-9)
        assert s.energy["dissipated"] == pytest.approx(-m * g * z - 0.5 * m * v**2, rel=1e-9)
    assert v > 0.99 * u
    assert abs(s.energy["balance"]) < 1e-9 * s.energy["kinetic"]


def test_linear_drag_and_gravity():
    g, m, c = 9.81, 0.5, 0.4
    start = np.array([3.0, -1.0, 2.0])
    s = simulator_of(BALL.format(gravity=-g, velocity=start.tolist(), spin=[0, 0, 0], drag="linear: 0.4 N s/m"))
    end = np.array([0, 0, -m * g / c])
    for t in (0.5, 3.0):
        s.advance(t)
        assert s.velocity["ball"] == pytest.approx(end + (start - end) * np.exp(-c / m * t), abs=1e-9)
    assert abs(s.energy["balance"]) < 1e-9 * s.energy["kinetic"]


def test_turning_is_resisted():
    """I w' = -(d + q |w|) w about the axis of w, the body being round: 1/w = (1/w0 + q/d) exp(d t / I) - q/d."""
    spin = np.array([2.0, -3.0, 6.0])
    drag = "turning_linear: 0.004 N m s/rad, turning_quadratic: 0.003 N m s^2/rad^2"
    s = simulator_of(BALL.format(gravity=0, velocity=[1, 0, 0], spin=spin.tolist(), drag=drag))
    for t in (0.5, 3.0):
        s.advance(t)
        w = 1 / ((1 / 7 + 0.75) * np.exp(0.004 * t / 0.02) - 0.75)
        assert s.angular_velocity["ball"] == pytest.approx(w * spin / 7, abs=1e-9)
        assert s.energy["dissipated"] == pytest.approx(0.01 * (49 - w**2), rel=1e-9)
    assert s.velocity["ball"] == pytest.approx([1, 0, 0], abs=1e-12)


def test_drag_acts_at_its_point():
    """A pendulum with a fin at its tip: I x'' = -m g l sin x - (c r + q r^2 |x'|) r x'."""
    text = """
schema: 1
name: fin
bodies: {rod: {mass: 2, com: [0, 0, -0.4], inertia: [0.1, 0.1, 0.1], points: {fin: [0, 0, -0.9]}}}
joints: {pin: {type: rotational, parent: world, child: rod, position: [0, 0, 0], axis: [0, 1, 0]}}
initial: {pin: {coordinate: 2 rad}}
forces: {air: {type: drag, body: rod, point: fin, linear: 0.3, quadratic: 0.5}}
simulate: {duration: 3 s, rtol: 1e-11}
"""
    inertia, r = 0.1 + 2 * 0.16, 0.9

    def slope(t, y):
        drag = (0.3 * r + 0.5 * r * r * abs(y[1])) * r * y[1]
        return [y[1], (-2 * 9.81 * 0.4 * np.sin(y[0]) - drag) / inertia]

    s = simulator_of(text)
    found = solve_ivp(slope, (0, 3), [2.0, 0.0], "DOP853", rtol=1e-12, atol=1e-13)
    s.advance(3.0)
    assert s.coordinate["pin"] == pytest.approx(found.y[0, -1], abs=1e-8)
    assert s.energy["dissipated"] > 5
    assert abs(s.energy["balance"]) < 1e-9 * s.energy["dissipated"]
