"""Springs between points, against closed forms and conservation laws."""

from __future__ import annotations

import numpy as np
import pytest

from sim.scene.load import load_text
from tests.dynamics.engine import simulator_of

pytestmark = pytest.mark.fast

PAIR = """
schema: 1
name: pair
world: {{gravity: [0, 0, 0]}}
bodies:
  one: {{mass: 2, com: [0, 0, 0], inertia: [0.3, 0.2, 0.1], points: {{eye: [0.1, 0.2, 0.3]}}}}
  two: {{mass: 1, com: [1, 0, 0], inertia: [0.02, 0.03, 0.04], points: {{eye: [1.2, 0.1, -0.1]}}}}
initial: {{one: {{velocity: [0.1, 0.2, 0], angular_velocity: [1, 2, 3]}}, two: {{angular_velocity: [-1, 0, 2]}}}}
forces:
  strut: {{type: spring, from: one.{a}, to: two.{b}, stiffness: 50, damping: {damping}, length: {length}}}
simulate: {{duration: 2 s, rtol: 1e-11}}
"""


def momenta(s) -> np.ndarray:
    """Return momentum and angular momentum about the world's origin."""
    total = np.zeros(6)
    for name, mass, inertia in (("one", 2.0, (0.3, 0.2, 0.1)), ("two", 1.0, (0.02, 0.03, 0.04))):
        R, w = s.rotation[name], s.angular_velocity[name]
        p = mass * s.velocity[name]  # origins are the centres of mass
        total[:3] += p
        total[3:] += np.cross(s.com[name], p) + R @ (np.array(inertia) * (R.T @ w))
    return total


@pytest.mark.parametrize("damping", [0.0, 3.0])
def test_momenta_are_kept_and_the_energy_balance_closes(damping):
    s = simulator_of(PAIR.format(a="eye", b="eye", damping=damping, length=0.7))
    before, state = momenta(s), s.state.position["one"]
    potential = s.energy["potential"]
    eyes = s.position["one.eye"] - s.position["two.eye"]
    assert potential == pytest.approx(25 * (np.linalg.norm(eyes) - 0.7) ** 2, rel=1e-13)
    s.advance(2.0)
    np.testing.assert_allclose(momenta(s), before, rtol=0, atol=1e-9)
    assert np.linalg.norm(s.position["one"] - state) > 0.1
    assert abs(s.energy["balance"]) < 1e-9
    assert (s.energy["dissipated"] > 0.01) == (damping > 0.0)


@pytest.mark.parametrize("damping", [0.0, 4.0])
def test_two_masses_swing_along_the_line_between_them(damping):
    """x'' = -k/mu (x - l) - c/mu x' for the distance x of the centres of mass."""
    text = PAIR.format(a="com", b="com", damping=damping, length=0.9)
    text = text[: text.index("initial")] + text[text.index("forces") :]
    s = simulator_of(text)
    mu = 2.0 / 3.0
    decay, omega = damping / (2 * mu), np.sqrt(50 / mu - (damping / (2 * mu)) ** 2)
    for t in (0.3, 0.71, 1.9):
        s.advance(t)
        x = 0.9 + 0.1 * np.exp(-decay * t) * (np.cos(omega * t) + decay / omega * np.sin(omega * t))
        assert s.position["two.com"][0] - s.position["one.com"][0] == pytest.approx(x, abs=1e-9)


def test_without_a_length_a_spring_is_free_in_the_drawing():
    text = PAIR.format(a="eye", b="eye", damping=0, length=1).replace(", length: 1", "")
    text = text[: text.index("initial")] + text[text.index("forces") :]
    s = simulator_of(text)
    s.advance(1.0)
    assert s.energy["potential"] == pytest.approx(0.0, abs=1e-25)
    assert load_text(text).forces[0].length is None


def test_points_that_meet_pull_in_no_direction():
    s = simulator_of(PAIR.format(a="com", b="com", damping=0, length=0.0).replace("com: [1, 0, 0]", "com: [0, 0, 0]"))
    before = momenta(s)
    s.advance(0.5)
    assert np.linalg.norm(s.position["two"]) > 0.01
    np.testing.assert_allclose(momenta(s), before, rtol=0, atol=1e-9)
    assert abs(s.energy["balance"]) < 1e-9
