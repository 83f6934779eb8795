"""Springs between points, against closed forms and conservation laws; what all forces do, as it is recorded."""

from __future__ import annotations

import numpy as np
import pytest

import sim
from sim.recording import Recording
from sim.scene.load import load_text
from tests.dynamics.engine import simulator_of
from tests.dynamics.recomputed import rotations
from tests.dynamics.test_invariance import FORCES

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
    assert s.length["strut"] == pytest.approx(np.linalg.norm(eyes), rel=1e-13)
    s.advance(2.0)
    np.testing.assert_allclose(momenta(s), before, rtol=0, atol=1e-9)
    assert np.linalg.norm(s.position["one"] - state) > 0.1
    gap = s.position["two.eye"] - s.position["one.eye"]
    tension = 50 * (np.linalg.norm(gap) - 0.7) + damping * np.sum(
        gap * (s.velocity["two.eye"] - s.velocity["one.eye"])
    ) / np.linalg.norm(gap)
    assert s.tension["strut"] == pytest.approx(tension, abs=1e-10)
    assert s.wrench["strut"][3:] == pytest.approx(-tension * gap / np.linalg.norm(gap), abs=1e-10)
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
    assert s.energy["potential"] == pytest.approx(0.0, abs=1e-20)
    assert load_text(text).forces[0].length is None


def test_points_that_meet_pull_in_no_direction():
    s = simulator_of(PAIR.format(a="com", b="com", damping=0, length=0.0).replace("com: [1, 0, 0]", "com: [0, 0, 0]"))
    before = momenta(s)
    s.advance(0.5)
    assert np.linalg.norm(s.position["two"]) > 0.01
    np.testing.assert_allclose(momenta(s), before, rtol=0, atol=1e-9)
    assert abs(s.energy["balance"]) < 1e-9


def carried(recording: Recording, body: str, p: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Return position and velocity (n, 3) of a point of a body, p from the body's origin in its axes."""
    arm = rotations(recording.quat_wxyz[body]) @ np.array(p)
    spin = recording.angular_velocity[body]
    return recording.position[body] + arm, recording.velocity[body] + np.cross(spin, arm)


def test_what_forces_do_is_recorded():
    """Length, tension and wrench of each, recomputed from recorded positions and velocities."""
    with sim.run(load_text(FORCES)) as recording:
        t, wrench = recording.time, recording.wrench
        assert [force.name for force in recording.forces] == ["strut", "line", "ball", "hinge", "jet", "pull", "air"]
        (eye, v_eye), hook = carried(recording, "hand", [0.3, 0, -0.4]), np.array([0.8, 0.2, 0])
        gap, rate = hook - eye, -v_eye
        length = np.linalg.norm(gap, axis=1)
        free = np.linalg.norm([0.5, 0.2, 1.0])  # of the drawing
        tension = 60 * (length - free) + np.sum(rate * gap, axis=1) / length
        assert recording.length["strut"] == pytest.approx(length, abs=1e-12)
        assert recording.tension["strut"] == pytest.approx(tension, abs=1e-9)
        assert wrench["strut"][:, 3:] == pytest.approx(-(tension / length)[:, None] * gap, abs=1e-9)
        assert recording.tension["line"] == pytest.approx(20 * (recording.length["line"] - 0.5), abs=1e-9)

        turned = recording.coordinate["top"]
        angle = np.linalg.norm(turned, axis=1)
        assert recording.length["ball"] == pytest.approx(angle, abs=1e-12)
        along = np.sum(turned[1:] * recording.rate["top"][1:], axis=1) / angle[1:]
        assert recording.tension["ball"][1:] == pytest.approx(5 * angle[1:] + 0.1 * along, abs=1e-9)
        assert recording.tension["hinge"] == pytest.approx(7 * (recording.coordinate["wrist"][:, 1] - 0.4), abs=1e-9)
        assert np.isnan(wrench["ball"]).all() and np.isnan(recording.length["jet"]).all()

        push = np.stack([np.ones_like(t), 2 * np.sin(3 * t), recording.tension["line"]], axis=1)
        R = rotations(recording.quat_wxyz["hand"])
        assert wrench["jet"][:, 3:] == pytest.approx(np.einsum("nij,nj->ni", R, push), abs=1e-9)
        assert wrench["jet"][:, :3] == pytest.approx(R[:, :, 1], abs=1e-12)

        _, v = carried(recording, "kite", [0.1, 0.2, 0])
        spin = recording.angular_velocity["kite"]
        speed, turning = (np.linalg.norm(x, axis=1)[:, None] for x in (v, spin))
        assert wrench["air"][:, 3:] == pytest.approx(-(0.1 + 0.3 * speed) * v, abs=1e-9)
        assert wrench["air"][:, :3] == pytest.approx(-(0.01 + 0.02 * turning) * spin, abs=1e-9)
        assert np.ptp(speed) > 0.1 and np.ptp(length) > 0.1 and np.ptp(angle) > 0.1
