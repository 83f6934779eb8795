"""Ellipsoids that roll, against closed forms, the equations of Kane and Levinson, and the limits of sphere and disc."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

import sim
from sim.analysis.verification.seen import Seen
from sim.mechanism.compiler import compile
from sim.recording.restoring import restored
from sim.scene.load import load_text
from sim.scene.problem import SceneError
from tests.contact.engine import G0, Run

pytestmark = [pytest.mark.nonholonomic, pytest.mark.contact]

BALL = """
schema: 1
bodies:
  table: {mass: 5 kg, com: [0, 0, 0], inertia: [1, 1, 2]}
  ball: {mass: 1 kg, com: [-0.4, 0.2, 0.11], inertia: [0.004, 0.005, 0.003, 0.0002, 0.0001, -0.0003]}
joints:
  pivot: {type: universal, parent: world, child: table, position: [0, 0, 0], axis: [1, 0, 0], second_axis: [0, 0, 1]}
constraints:
  rolls:
    {type: rolling, body: ball, SAID, position: [-0.4, 0.2, 0.1], ground: table, normal: [0, 0, 1], level: [0, 0, 0]}
initial: {pivot: {rate: [0.5, 1.0]}}
events: {kick: {at: 0, impulse: {body: ball, linear: [0.1, -0.4, 0], angular: [0.004, 0.008, 0.012]}}}
simulate: {duration: 0.5 s, rtol: 1e-11}
"""


def test_three_equal_radii_are_a_sphere() -> None:
    """On a table that turns about two axes, with the centre of mass off the centre."""
    one, two = (Run(BALL.replace("SAID", said)).to(0.5) for said in (
        "radius: 0.1", "radii: [0.1, 0.1, 0.1], orientation: {rpy: [0.3, 0.2, 0.1]}",
    ))  # fmt: skip
    for what in ("position", "velocity", "angular_velocity"):
        first, second = (getattr(run.simulator, what)["ball"] for run in (one, two))
        np.testing.assert_allclose(first, second, atol=1e-9)
    assert two.balance() < 1e-9


def test_a_lens_is_nearly_a_disc() -> None:
    """A spheroid that is thin along its axis rolls as the disc of its rim, to second order in its thickness."""
    text = """
schema: 1
world: {shapes: [{name: floor, plane: {}}]}
bodies: {coin: {mass: 1 kg, com: [0, 0, 0.1], inertia: [0.0025, 0.005, 0.0025]}}
constraints: {rim: {type: rolling, body: coin, SAID, ground: world.floor}}
events: {lean: {at: 0, impulse: {body: coin, angular: [0.01, 0.3, 0.005]}}}
simulate: {duration: 0.4 s, rtol: 1e-10}
"""
    disc = Run(text.replace("SAID", "axis: [0, 1, 0], radius: 0.1")).to(0.4).simulator.position["coin"].copy()
    off = [
        np.linalg.norm(Run(text.replace("SAID", f"radii: [0.1, {b}, 0.1]")).to(0.4).simulator.position["coin"] - disc)
        for b in (2e-3, 1e-3)
    ]
    assert np.linalg.norm(disc - [0, 0, 0.1]) > 0.3
    assert off[1] < 1e-4 and off[0] / off[1] == pytest.approx(4.0, rel=0.1)


ROCKS = """
schema: 1
world: {shapes: [{name: floor, plane: {}}]}
bodies:
  egg: {mass: 2 kg, com: [0, 0, 0.08], inertia: [0.02, 0.03, 0.025], shapes: [{ellipsoid: {center: [0, 0, 0.1], radii: [0.3, 0.2, 0.1]}}]}
constraints:
  rolls: {type: rolling, body: egg, radii: [0.3, 0.2, 0.1], position: [0, 0, 0.1], ground: world.floor}
initial: {egg: {rpy: [0, 0.4, 0], position: [0, 0, HEIGHT]}}
simulate: {duration: 3 s, rtol: 1e-11}
"""  # noqa: E501


def test_an_egg_rocks_with_the_period_of_its_energy() -> None:
    """About y: the centre is h = sqrt(a^2 sin^2 + c^2 cos^2) above the floor, beside the contact by h' = dh/dangle."""
    a, c, m, about, low = 0.3, 0.1, 2.0, 0.03, 0.02  # low: centre of mass below the centre

    def height(x: float) -> tuple[float, float]:
        """Return of the centre of mass: height above the floor, and way beside the contact."""
        h = math.sqrt((a * math.sin(x)) ** 2 + (c * math.cos(x)) ** 2)
        beside = (a * a - c * c) * math.sin(x) * math.cos(x) / h
        return h - low * math.cos(x), beside + low * math.sin(x)

    def inertia(x: float) -> float:
        return about + m * sum(k * k for k in height(x))

    top = height(0.4)[0]

    def rate(x: float) -> float:
        return math.sqrt(2.0 * m * G0 * (top - height(x)[0]) / inertia(x))

    # x = 0.4 sin(s) takes the root out of the ends.
    quarter = quad(lambda s: 0.4 * math.cos(s) / rate(0.4 * math.sin(s)), 0.0, math.pi / 2 - 1e-9, epsabs=1e-13)[0]
    run = Run(ROCKS.replace("HEIGHT", repr(top)))
    for n in range(1, 4):
        run.to(2.0 * n * quarter)
        tilt = math.atan2(run.simulator.rotation["egg"][0, 2], run.simulator.rotation["egg"][2, 2])
        assert tilt == pytest.approx(0.4 * (-1.0) ** n, abs=2e-8)
        assert np.linalg.norm(run.simulator.angular_velocity["egg"]) < 1e-6
    assert run.balance() < 1e-10


RATTLEBACK = """
schema: 1
world: {shapes: [{name: table, plane: {}}], gravity: [0, 0, -9.81]}
bodies:
  stone: {mass: 1 kg, com: [0, 0, 0.01], inertia: [0.0002, 0.0016, 0.0017, -0.00002, 0, 0]}
constraints:
  rolls: {type: rolling, body: stone, radii: [20 cm, 3 cm, 2 cm], position: [0, 0, 2 cm], ground: world.table}
initial: {stone: {position: [0, 0, HEIGHT], rpy: [TILT, TILT, 0], velocity: VELOCITY, angular_velocity: [0, 0, SPIN]}}
simulate: {duration: 6 s, rtol: 1e-10}
"""
RADII, LOW = np.array([0.2, 0.03, 0.02]), 0.01  # m: of the stone; its centre of mass below the centre
ABOUT = np.array([[2e-4, -2e-5, 0], [-2e-5, 1.6e-3, 0], [0, 0, 1.7e-3]])  # Kane and Levinson's A, B, C, D


def touches(n: np.ndarray, n_dot: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return from the centre of mass to the contact, and its rate, in axes of the stone; n: upward normal."""
    stretched, stretched_dot = RADII**2 * n, RADII**2 * n_dot
    size = math.sqrt(n @ stretched)
    r = np.array([0, 0, LOW]) - stretched / size
    return r, -stretched_dot / size + stretched * (n_dot @ stretched) / size**3


def stone(_: float, y: np.ndarray) -> np.ndarray:
    """Return rates of (w, n) in axes of the stone: Kane and Levinson 1982, by the moments about the contact.

    m = 1 kg: I w' + w x I w = r x F with F = v' + w x v + g n and v = -w x r, so (I - [r]^2) w' = ....
    """
    w, n = y[:3], y[3:]
    n_dot = np.cross(n, w)
    r, r_dot = touches(n, n_dot)
    known = -np.cross(w, r_dot) - np.cross(w, np.cross(w, r)) + G0 * n  # of F, without w' x r
    K = ABOUT + (r @ r) * np.eye(3) - np.outer(r, r)
    return np.concatenate([np.linalg.solve(K, np.cross(r, known) - np.cross(w, ABOUT @ w)), n_dot])


def tilted(spin: float) -> tuple[Run, np.ndarray]:
    """Return the stone, tilted by half a degree about both axes and spun, and its state for the equations."""
    tilt = math.radians(0.5)
    c, s = math.cos(tilt), math.sin(tilt)
    R = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]) @ np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
    w, arm = np.array([0, 0, spin]), touches(R[2], np.zeros(3))[0]
    said = {"HEIGHT": -(R @ arm)[2], "TILT": tilt, "VELOCITY": (-R @ np.cross(w, arm)).tolist(), "SPIN": spin}
    text = RATTLEBACK
    for word, value in said.items():
        text = text.replace(word, str(value))
    return Run(text), np.concatenate([w, R[2]])


@pytest.mark.parametrize("spin", [-5.0, 5.0])
def test_a_rattleback_moves_as_kane_and_levinson_have_it(spin: float) -> None:
    run, begin = tilted(spin)
    times = np.linspace(0.0, 0.5, 6)
    exact = solve_ivp(stone, (0.0, 0.5), begin, "DOP853", times, rtol=1e-10, atol=1e-11).y.T
    for t, expected in zip(times, exact, strict=True):
        run.to(t)
        R = run.simulator.rotation["stone"]
        found = np.concatenate([R.T @ run.simulator.angular_velocity["stone"], R[2]])
        np.testing.assert_allclose(found, expected, atol=1e-7)
    assert run.balance() < 1e-10


def test_a_rattleback_turns_back_from_one_sense_of_its_spin_alone() -> None:
    """Spun at -5 rad/s it rattles and turns the other way, by the equations after 2.9 s; at 5 rad/s it goes on."""
    for spin, turned in ((-5.0, 0.2), (5.0, 4.5)):
        run, _ = tilted(spin)
        run.to(3.2)
        assert run.simulator.rotation["stone"][:, 2] @ run.simulator.angular_velocity["stone"] > turned
        assert run.balance() < 1e-8


def test_engine_and_oracle_agree_and_the_lowest_point_touches() -> None:
    text = BALL.replace("SAID", "radii: [0.15, 0.08, 0.1], orientation: {rpy: [0.2, -0.3, 0.5]}")
    recording = sim.run(load_text(text))
    verdict = sim.verify(recording)
    assert verdict.problems == [] and len(verdict.instants) == 20
    for instant in verdict.instants:
        assert max(instant.acceleration, instant.constraint, instant.force, instant.drive) < instant.allowed
    assert verdict.residuals["position"].value < 1e-10 and verdict.residuals["velocity"].value < 1e-10
    seen = Seen(recording, compile(restored(recording)[0]))
    j = seen.names.index("rolls")
    spec, at = seen.model.constraints[j], seen.pair(j, 20)
    way = np.random.default_rng(1).normal(size=(200000, 3))
    way /= np.linalg.norm(way, axis=1)[:, None]
    ball = seen.side(seen.b[j], 20)
    points = ball.p + (ball.R @ seen.frames(j, 20)[1].p) + (way * spec.radii) @ at.M.T
    heights = (points - at.P) @ at.F[:, 2]
    assert 0.0 < heights.min() + 1e-12 < 1e-4


@pytest.mark.fast
@pytest.mark.parametrize(
    ("said", "what"),
    [
        ("radius: 1, radii: [1, 1, 1]", "'radius' beside 'radii'"),
        ("axis: [0, 1, 0], radii: [1, 1, 1]", "'axis' beside 'radii'"),
        ("tube: 1 cm, radii: [1, 1, 1]", "'tube' beside 'radii'"),
        ("radius: 1, orientation: {rpy: [0, 0, 1]}", "only an ellipsoid has an orientation"),
        ("point: com", "key 'radius' is missing"),
        ("radii: [1, 0, 1]", "expected more than 0"),
        ("radii: [1, 1]", "expected a list of 3 numbers"),
        ("radii: [1, 1, 1], bend: 3", "an ellipsoid rolls on planes"),
    ],
)
def test_what_is_said_of_ellipsoids_is_checked(said: str, what: str) -> None:
    bodies = "schema: 1\nbodies: {egg: {mass: 1, com: [0, 0, 1]}}\n"
    with pytest.raises(SceneError, match=what):
        load_text(f"{bodies}constraints: {{it: {{type: rolling, body: egg, {said}, ground: world}}}}\n")
