"""Balls on and in spheres and cylinders, against closed forms; and by the oracle's own rows."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad

import sim
from sim.scene import library
from sim.scene.load import load_text
from tests.contact.engine import G0, Run

pytestmark = [pytest.mark.nonholonomic, pytest.mark.contact]

BALL = """
schema: 1
name: ball
world: {SHAPES}
bodies:
  ball: {mass: 2 kg, com: COM, inertia: [0.008, 0.008, 0.008]}
constraints:
  rolls: {type: rolling, body: ball, radius: 0.1, GROUND}
simulate: {rtol: 1e-11, duration: 1 s}
"""


def scene(shapes: str, com: str, ground: str, more: str = "") -> str:
    """Return a ball of 2 kg and 10 cm, J = 2/5 m r^2, on a ground."""
    return BALL.replace("SHAPES", shapes).replace("COM", com).replace("GROUND", ground) + more


def track(run: Run, name: str = "ball") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return times, centres and velocities of a ball."""
    body = run.simulator.model.body_names.index(name) - 1
    rows = run.told.rows_
    time = np.array([row["time"] for row in rows])
    return time, np.array([row["com"][body] for row in rows]), np.array([row["velocity"][body] for row in rows])


@pytest.mark.fast
def test_a_ball_that_rolls_off_a_dome_has_ten_sevenths_of_the_height_as_speed() -> None:
    """v^2 = 10/7 g (R + r) (1 - cos), and the normal force m g cos - m v^2/(R + r), which then pulls."""
    start = [0.6 * math.sin(0.2), 0.0, 0.6 * math.cos(0.2)]
    text = scene("shapes: [{name: dome, sphere: {radius: 0.5}}]", str(start), "ground: world.dome")
    run = Run(text).to(1.0)
    _, p, v = track(run)
    np.testing.assert_allclose(np.linalg.norm(p, axis=1), 0.6, atol=1e-12)
    np.testing.assert_allclose(np.sum(v**2, axis=1), 10.0 / 7.0 * G0 * (start[2] - p[:, 2]), atol=1e-10)
    assert p[-1, 2] < 0.0  # it is kept beyond where it would leave
    j = run.simulator.model.joint("rolls")
    forces, n = np.array([row["joints/force"][j, 3:] for row in run.told.rows_]), p / 0.6
    normal = 2.0 * G0 * n[:, 2] - 2.0 * np.sum(v**2, axis=1) / 0.6
    np.testing.assert_allclose(np.sum(forces * n, axis=1), normal, atol=1e-8)
    assert normal[0] > 0.0 > normal[-1]
    np.testing.assert_allclose(np.linalg.norm(v, axis=1), 0.1 * _spin(run), atol=1e-10)
    assert run.balance() < 1e-9


def _spin(run: Run) -> np.ndarray:
    return np.array([np.linalg.norm(row["angular_velocity"][-1]) for row in run.told.rows_])


PIPE = "shapes: [{name: pipe, KIND: {from: FROM, to: TO, radius: 0.5}}]"


@pytest.mark.fast
def test_a_ball_in_a_half_pipe_swings_at_five_sevenths() -> None:
    """theta'' = -5/7 g / (R - r) sin theta, as a pendulum of that length: small swings to second order."""
    text = scene(
        PIPE.replace("KIND", "capsule").replace("FROM", "[-1, 0, 0]").replace("TO", "[1, 0, 0]"),
        f"[0, {0.4 * math.sin(0.01)}, {-0.4 * math.cos(0.01)}]", "ground: world.pipe, inside: true",
    )  # fmt: skip
    run = Run(text).to(2.0)
    t, p, _ = track(run)
    k = np.sqrt(5.0 * G0 / (7.0 * 0.4)) * (1.0 - 0.01**2 / 16.0)
    np.testing.assert_allclose(np.arctan2(p[:, 1], -p[:, 2]), 0.01 * np.cos(k * t), atol=2e-8)
    assert run.balance() < 1e-12


def test_a_ball_that_circles_in_an_upright_cylinder_comes_up_again() -> None:
    """The golfer's dilemma: its height swings at sqrt(2/7) times the rate at which it goes round."""
    text = scene(
        PIPE.replace("KIND", "cylinder").replace("FROM", "[0, 0, -5]").replace("TO", "[0, 0, 5]"), "[0.4, 0, 0]",
        "ground: world.pipe, inside: true", "initial: {ball: {velocity: [0, 2, 0], angular_velocity: [0, 0, -20]}}\n",
    )  # fmt: skip
    run = Run(text).to(4.0)
    t, p, _ = track(run)
    round_rate = 2.0 / 0.4
    k = np.sqrt(2.0 / 7.0) * round_rate
    np.testing.assert_allclose(p[:, 2], -5.0 / 7.0 * G0 / k**2 * (1.0 - np.cos(k * t)), atol=1e-8)
    way = np.column_stack([np.cos(round_rate * t), np.sin(round_rate * t)])
    np.testing.assert_allclose(p[:, :2], 0.4 * way, atol=1e-8)
    assert p[:, 2].min() < -1.9 and t[np.argmin(p[:, 2])] < 1.3


@pytest.mark.fast
def test_a_ball_on_a_drum_that_is_driven_stays_on_top_of_it_where_it_is_balanced() -> None:
    """On a drum of rate W, beside the top by theta: (7/5) (R+r) theta'' = g sin theta + (2/5) R W'.

    With W' = -5/2 g sin(theta) / R it stays there, and spins ever faster.
    """
    theta = 0.3
    slow = -2.5 * G0 * math.sin(theta) / 0.5
    text = scene(
        "gravity: [0, 0, -9.81]",
        f"[{0.6 * math.sin(theta)}, 0, {0.6 * math.cos(theta)}]",
        "ground: drum, bend: 0.5, level: [0, 0, 0], along: [0, 1, 0]",
    )
    text = text.replace(
        "constraints:",
        f"""  drum: {{mass: 1 kg, com: [0, 0, 0], inertia: [1, 1, 1]}}
joints:
  hub:
    {{type: rotational, parent: world, child: drum, position: [0, 0, 0], axis: [0, 1, 0],
    motion: {0.5 * slow} rad/s^2*t^2}}
constraints:""",
    )
    run = Run(text).to(0.5)
    assert run.simulator.position["ball.com"] == pytest.approx(
        [0.6 * math.sin(theta), 0, 0.6 * math.cos(theta)], abs=1e-9
    )
    assert run.simulator.angular_velocity["ball"][1] == pytest.approx(-slow * 0.5 * 0.5 / 0.1, abs=1e-8)


@pytest.mark.fast
def test_a_ball_that_is_spun_on_a_dome_slips_until_it_rolls() -> None:
    """Held by 3 N without gravity: m v' = F, I w' = -F r, going round the sphere until v = w r: v = 2/7 w0 r."""
    text = scene("gravity: [0, 0, 0], shapes: [{name: dome, sphere: {radius: 0.5}}]", "[0, 0, 0.6]",
                 "ground: world.dome, holds: 3 N", "initial: {ball: {angular_velocity: [0, 14, 0]}}\n")  # fmt: skip
    run = Run(text).to(2.0)
    grips = [event.time for event in run.told.events if event.text == "rolls grips"]
    assert grips == [pytest.approx(0.4 * 2.0 / 3.0, abs=1e-9)]
    t, p, v = track(run)
    np.testing.assert_allclose(np.linalg.norm(v, axis=1), np.minimum(1.5 * t, 0.4), atol=1e-9)
    went = np.where(t < grips[0], 0.75 * t**2, 0.4 * t - 0.2 * grips[0])
    np.testing.assert_allclose(p[:, [0, 2]], 0.6 * np.column_stack([np.sin(went / 0.6), np.cos(went / 0.6)]), atol=1e-8)
    assert run.told.rows_[-1]["energy/dissipated"] == pytest.approx(0.5 * 0.008 * 14.0**2 * 5.0 / 7.0, abs=1e-9)


ROUNDS = """
schema: 1
name: rounds
world:
  shapes:
    - {name: dome, sphere: {center: [0, 0, 0], radius: 0.5}}
    - {name: pipe, capsule: {from: [3, -1, 0], to: [3, 2, 0.3], radius: 0.4}}
bodies:
  ball: {mass: 2 kg, com: [0.06, 0, 0.597], inertia: [0.008, 0.008, 0.008]}
  planet: {mass: 3 kg, com: [0, 5, 0], inertia: [0.3, 0.2, 0.25]}
  moon: {mass: 0.5 kg, com: [0.1, 5.1, 0.4], inertia: [0.001, 0.002, 0.0015]}
  drum: {mass: 3 kg, com: [0, -5, 0], inertia: [0.3, 0.2, 0.25]}
  pea: {mass: 0.5 kg, com: [0.1, -5.1, -0.3], inertia: [0.001, 0.002, 0.0015]}
  skid: {mass: 2 kg, com: [3, 0, -0.2], inertia: [0.008, 0.008, 0.008]}
joints:
  pivot: {type: universal, parent: world, child: planet, position: [0.1, 5, 0], axis: [1, 0, 0], second_axis: [0, 0, 1]}
  hub: {type: universal, parent: world, child: drum, position: [0.1, -5, 0], axis: [1, 0, 0], second_axis: [0, 0, 1]}
constraints:
  on_dome: {type: rolling, body: ball, radius: 0.1, ground: world.dome}
  on_planet: {type: rolling, body: moon, radius: 0.1, ground: planet, bend: 0.3, level: [0, 5, 0]}
  in_drum:
    {type: rolling, body: pea, radius: 0.1, ground: drum, bend: 0.5, level: [0, -5, 0], along: [0.2, 1, 0.1],
    inside: true}
  in_pipe: {type: rolling, body: skid, radius: 0.1, ground: world.pipe, inside: true, holds: 3 N}
initial:
  pivot: {rate: [0.5, 1.0]}
  hub: {rate: [-0.5, 1.0]}
events:
  kicks:
    at: 0
    impulse:
      - {body: moon, linear: [0.3, 0.1, 0], angular: [0.001, 0.002, 0.0005]}
      - {body: pea, linear: [0.1, -0.4, 0], angular: [0.004, 0.008, 0.012]}
      - {body: skid, linear: [2, 4, 0.1], angular: [0.05, -0.03, 0.1]}
      - {body: ball, linear: [0.6, 0.3, 0], angular: [0, 0, 0.08]}
simulate: {duration: 0.5 s, rtol: 1e-11}
"""


def test_engine_and_oracle_agree_on_grounds_that_are_round() -> None:
    """On bodies that move, inside and outside, and while one slips: the oracle derives its rows by a complex time."""
    verdict = sim.verify(sim.run(load_text(ROUNDS)))
    assert verdict.problems == [] and len(verdict.instants) == 20
    for instant in verdict.instants:
        assert max(instant.acceleration, instant.constraint, instant.force, instant.drive) < instant.allowed
    assert verdict.residuals["position"].value < 1e-10 and verdict.residuals["velocity"].value < 1e-10


def test_a_ball_that_is_drawn_off_its_bowl_is_moved_there() -> None:
    bowl = scene("shapes: [{name: bowl, sphere: {radius: 0.5}}]", "[0, 0.1, -0.35]", "ground: world.bowl, inside: true")
    report = sim.check(load_text(bowl))
    assert report.ok
    assert report.notes[0].startswith("constraint rolls: stood 0.03599 m above its ground")


def test_the_shipped_ball_leaves_its_dome_where_that_would_pull_and_falls_in_a_parabola() -> None:
    """It leaves at cos a = 10/17 cos a_0, after the time that its speed gives, and lands as thrown from there."""
    begun, reach, radius = math.radians(12.0), 0.58, 0.08
    left = math.acos(10.0 / 17.0 * math.cos(begun))
    top = 10.0 / 7.0 * G0 / reach

    def slowly(x: float) -> float:
        """Return the time's slope in x, the angle being a_0 + x^2: at the start the speed is zero."""
        angle = begun + x * x
        return 2.0 * x / math.sqrt(top * (math.cos(begun) - math.cos(angle)))

    duration = quad(slowly, 1e-9, math.sqrt(left - begun), epsabs=1e-12, epsrel=1e-12)[0]
    run = Run(Path(library.find("dome")).read_text(encoding="utf-8")).to(1.0)
    told = run.told.events
    leaving = next(event.time for event in told if event.name == "leaves")
    assert leaving == pytest.approx(duration, abs=1e-8)
    speed = math.sqrt(G0 * reach * math.cos(left))
    up, height = -speed * math.sin(left), reach * math.cos(left) - radius
    falling = (up + math.sqrt(up * up + 2.0 * G0 * height)) / G0
    landing = next(event.time for event in told if event.kind == "impact")
    assert landing == pytest.approx(duration + falling, abs=1e-8)
