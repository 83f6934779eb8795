"""Friction against spinning and rolling in time steps, against closed forms."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import sim
from sim.scene.load import load_text
from sim.scene.problem import SceneError
from tests.contact.engine import G0, Run

pytestmark = pytest.mark.contact

MASS, RADIUS, H = 2.0, 0.1, 1e-3
INERTIA = 0.4 * MASS * RADIUS**2
BALL = """
schema: 1
name: ball
world: {gravity: [GX, GY, GZ], shapes: [{name: ground, plane: {}}]}
bodies: {ball: {mass: 2 kg, shapes: [{sphere: {center: [0, 0, 0.1], radius: 0.1}}]}}
initial: {ball: {velocity: START, angular_velocity: SPIN}}
contacts: {ground: {between: [ball, world], friction: 0.5, RADII}}
simulate: {duration: 10 s, contact: stepping, dt: 1 ms}
"""


def ball(
    radii: str, start: str = "[0, 0, 0]", spin: str = "[0, 0, 0]", gravity: tuple[float, float, float] = (0.0, 0.0, -G0)
) -> Run:
    text = BALL.replace("RADII", radii).replace("START", start).replace("SPIN", spin)
    for name, value in zip(("GX", "GY", "GZ"), gravity, strict=True):
        text = text.replace(name, str(value))
    return Run(text)


@pytest.mark.fast
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_spinning_ball_stops_when_the_moment_of_its_patch_has_taken_its_spin(sign: float):
    w, patch = 8.0, 0.02
    run = ball("patch_radius: 2 cm", spin=f"[0, 0, {sign * w}]")
    stops = INERTIA * w / (0.5 * patch * MASS * G0)
    run.to(0.5 * stops)
    assert run.simulator.angular_velocity["ball"][2] == pytest.approx(sign * 0.5 * w, rel=2 * H / stops)
    assert run.to(stops + 2 * H).simulator.angular_velocity["ball"] == pytest.approx(np.zeros(3), abs=1e-6)
    assert run.simulator.energy["dissipated"] == pytest.approx(0.5 * INERTIA * w**2, rel=1e-3)
    assert run.to(1.0).simulator.angular_velocity["ball"] == pytest.approx(np.zeros(3), abs=1e-6)


@pytest.mark.fast
@pytest.mark.parametrize("way", [(1.0, 0.0), (-0.6, 0.8)])
def test_a_rolling_ball_stops_after_seven_tenths_of_v_squared_over_g_times_radius_over_arm(way: tuple[float, float]):
    """M = r N against the turning: a (m + I/R^2) = -M/R, so that it stops after v^2/(2 a), a = 5/7 g r/R."""
    v, arm = 0.7, 2e-2
    run = ball(
        "rolling_radius: 2 cm", start=f"[{v * way[0]}, {v * way[1]}, 0]",
        spin=f"[{-v / RADIUS * way[1]}, {v / RADIUS * way[0]}, 0]",
    )  # fmt: skip
    stops = 0.7 * v**2 * RADIUS / (G0 * arm)
    took = v / (5.0 / 7.0 * G0 * arm / RADIUS)
    run.to(took + 5 * H)
    came = run.simulator.position["ball"][:2]
    assert came == pytest.approx(stops * np.array(way), abs=2 * H * v)
    assert run.simulator.velocity["ball"] == pytest.approx(np.zeros(3), abs=1e-6)
    assert run.simulator.energy["dissipated"] == pytest.approx(0.7 * MASS * v**2, rel=1e-3)


@pytest.mark.parametrize("share", [0.9, 1.1, 2.0])
def test_a_ball_on_a_slope_rests_below_the_angle_of_its_arm_and_rolls_above_it(share: float):
    arm = 1e-2
    slope = math.atan(share * arm / RADIUS)
    run = ball("rolling_radius: 1 cm", gravity=(G0 * math.sin(slope), 0.0, -G0 * math.cos(slope))).to(1.0)
    speed = run.simulator.velocity["ball"][0]
    if share < 1.0:
        assert abs(speed) < 1e-6
    else:
        a = 5.0 / 7.0 * G0 * (math.sin(slope) - arm / RADIUS * math.cos(slope))
        assert speed == pytest.approx(a * 1.0, rel=5e-3)


def test_without_radii_a_ball_spins_and_rolls_on():
    run = ball("patch_radius: 0 m", start="[0.7, 0, 0]", spin="[0, 7, 5]").to(1.0)
    assert run.simulator.angular_velocity["ball"] == pytest.approx([0.0, 7.0, 5.0], abs=1e-6)


def test_moments_are_those_of_the_law_and_told_with_the_points():
    run = ball("patch_radius: 2 cm, rolling_radius: 1 cm", start="[0.7, 0, 0]", spin="[0, 7, 8]").to(0.1)
    told = [points for points in run.told.points if len(points["row"])][-1]
    moment, force = told["moment"][-1], told["force"][-1]
    sign = np.sign(force[2])
    assert sign * moment[2] == pytest.approx(-0.5 * 0.02 * MASS * G0, rel=1e-3)
    assert np.hypot(*moment[:2]) == pytest.approx(0.01 * MASS * G0, rel=1e-3)


@pytest.mark.parametrize("contact", ["event", "auto"])
@pytest.mark.parametrize("key", ["patch_radius", "rolling_radius"])
def test_contacts_as_events_refuse_friction_against_turning_with_the_rule_and_a_way_out(contact: str, key: str):
    text = BALL.replace("RADII", f"{key}: 1 cm").replace("START", "[0, 0, 0]").replace("SPIN", "[0, 0, 0]")
    text = text.replace("GX", "0").replace("GY", "0").replace("GZ", "-9.81").replace("stepping", contact)
    with pytest.raises(SceneError) as told:
        load_text(text)
    assert "rule 'ground'" in str(told.value)
    assert key in str(told.value)
    assert "contact: stepping" in str(told.value)


@pytest.mark.fast
@pytest.mark.parametrize(
    ("radii", "refused"), [("patch_radius: 0.01", True), ("rolling_radius: 0.01", True), ("", False)]
)
def test_a_scene_that_is_turned_to_events_is_refused_where_it_starts(radii: str, refused: bool) -> None:
    text = BALL.replace("RADII", radii).replace("START", "[0, 0, 0]").replace("SPIN", "[0, 0, 0]")
    for name, value in (("GX", "0"), ("GY", "0"), ("GZ", "-9.81")):
        text = text.replace(name, value)
    scene = load_text(text)
    simulator = sim.Simulator(sim.compile(replace(scene, simulate=replace(scene.simulate, contact="event"))))
    if not refused:
        simulator.advance(0.01)
        return
    with pytest.raises(sim.SimulationError, match=r"rule 'ground' has friction against turning .* `contact: stepping`"):
        simulator.advance(0.01)
