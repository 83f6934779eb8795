"""Friction in whole scenes: a block on a slope, a sphere from sliding to rolling, round bodies downhill."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import sim
from tests.contact.engine import CONE, G0, PENETRATION, SCENES, Run, shipped

pytestmark = pytest.mark.contact

SLOPE = math.radians(30)
UPHILL = np.array([math.cos(SLOPE), 0.0, math.sin(SLOPE)])


def along(run: Run) -> float:
    """Return how far uphill the block is from where it started, m; it must not have moved across."""
    x = run.simulator.position["block"]
    across = np.cross([0, 1, 0], UPHILL)
    assert abs(x @ across) == pytest.approx(0.05, abs=1e-9)  # half of its height, over the ground
    assert x[1] == pytest.approx(0.0, abs=1e-9)
    return float(x @ UPHILL)


# ---- a sled that is pulled ever harder ------------------------------------------------------------------------------

SLED = """
schema: 1
name: sled
world: {shapes: [{name: ground, plane: {}}]}
bodies:
  frame: {mass: 1 kg, shapes: [{box: {center: [0, 0, 0.3], size: [0.1, 0.1, 0.1]}}]}
  sled: {mass: 2 kg, shapes: [{sphere: {center: [0, 0, 0.1], radius: 0.1}}]}
joints:
  lift: {type: translational, parent: world, child: frame, position: [0, 0, 0.3], axis: [0, 0, 1]}
  push: {type: translational, parent: frame, child: sled, position: [0, 0, 0.1], axis: [1, 0, 0]}
forces:
  pull: {type: wrench, body: sled, force: ["4 N/s*t", 0, 0]}
contacts:
  runner: {between: [sled, world.ground], friction: 0.5}
simulate: {rtol: 1e-10}
"""


def test_a_sled_begins_to_slide_when_the_pull_is_as_large_as_friction() -> None:
    """It touches in one point, and cannot turn: 3 kg press, 2 kg slide, the pull grows by 4 N/s."""
    begins = 0.5 * 3 * G0 / 4
    run = Run(SLED).to(begins + 1.5)
    assert run.times("mode") == pytest.approx([0.0, begins], abs=1e-9)
    assert run.texts() == ["ground and sled sticks", "ground and sled slides"]
    assert run.simulator.velocity["sled"] == pytest.approx([1.5**2, 0, 0], abs=1e-8)
    assert run.simulator.position["sled"][0] == pytest.approx(1.5**3 / 3, abs=1e-8)


# ---- block on 30 degrees: benchmark notes 3.2 -----------------------------------------------------------------------


@pytest.mark.fast
@pytest.mark.benchmark
def test_a_block_slides_down_a_slope() -> None:
    run = shipped("sliding_block", speed=0.0).to(1.0)
    assert -2 * along(run) == pytest.approx(2.356287236662, abs=1e-9)
    assert run.texts() == ["ground and block slides (4 points)"]
    assert run.simulator.acceleration["block"] == pytest.approx(-2.356287236662 * UPHILL, abs=1e-9)
    assert run.simulator.energy["dissipated"] == pytest.approx(
        0.3 * 2 * G0 * math.cos(SLOPE) * 2.356287236662 / 2, rel=1e-9
    )


@pytest.mark.fast
@pytest.mark.benchmark
def test_a_block_pushed_up_a_slope_stops_and_comes_back() -> None:
    run = shipped("sliding_block", speed=2.0)
    stop = 2.0 / 7.453712763338
    assert run.to(0.5 * stop).simulator.acceleration["block"] == pytest.approx(-7.453712763338 * UPHILL, abs=1e-9)
    run.to(stop)
    assert along(run) == pytest.approx(0.268322655233, abs=1e-9)
    assert run.simulator.velocity["block"] == pytest.approx([0, 0, 0], abs=1e-9)
    run.to(1.5)
    assert along(run) == pytest.approx(0.268322655233 - 0.5 * 2.356287236662 * (1.5 - stop) ** 2, abs=1e-9)
    assert run.balance() < 1e-9


@pytest.mark.fast
def test_a_block_pushed_up_a_slope_that_holds_it_stays_where_it_stops() -> None:
    a = G0 * (math.sin(SLOPE) + 0.6 * math.cos(SLOPE))
    run = shipped("sliding_block", speed=2.0, friction=0.6).to(1.5)
    assert run.texts() == ["ground and block slides (4 points)", "ground and block sticks (4 points)"]
    assert run.times("mode") == pytest.approx([0.0, 2.0 / a], abs=1e-9)
    assert along(run) == pytest.approx(2.0 / a, abs=1e-9)  # v^2 / 2 a, with v = 2
    assert run.simulator.velocity["block"] == pytest.approx([0, 0, 0], abs=1e-12)
    assert run.simulator.energy["dissipated"] == pytest.approx(0.6 * 2 * G0 * math.cos(SLOPE) * 2.0 / a, rel=1e-9)


@pytest.mark.benchmark
@pytest.mark.parametrize(("share", "mode"), [(0.999, "slides"), (1.001, "sticks")])
def test_a_block_sticks_from_the_angle_of_friction_on(share: float, mode: str) -> None:
    """Friction turns a slow slide across the slope at mu g / speed: steps follow, and their errors."""
    mu = share * math.tan(SLOPE)
    run = shipped("sliding_block", rtol=1e-10, speed=0.0, friction=mu).to(1.0)
    assert run.texts() == [f"ground and block {mode} (4 points)"]
    down = max(0.0, G0 * (math.sin(SLOPE) - mu * math.cos(SLOPE)))
    assert -2 * along(run) == pytest.approx(down, abs=1e-9)


@pytest.mark.fast
def test_forces_on_a_slope() -> None:
    """Sliding or not, weight is carried; friction is mu N where it slides, and what is needed where not."""
    for mu, friction in ((0.3, 0.3 * math.cos(SLOPE)), (0.9, math.sin(SLOPE))):
        points = shipped("sliding_block", speed=0.0, friction=mu).to(0.2).points()
        assert len(points.gap) == 4
        weight = 2 * G0
        assert points.normal.sum() == pytest.approx(weight * math.cos(SLOPE), rel=1e-12)
        assert points.friction.sum() == pytest.approx(weight * friction, rel=1e-9)
        assert (points.friction <= points.most + CONE).all()
        assert (np.abs(points.gap) <= PENETRATION).all()


# ---- sphere: from sliding to rolling --------------------------------------------------------------------------------

SPHERE = """
schema: 1
name: sphere
world: {{shapes: [{{name: lane, plane: {{}}}}]}}
bodies: {{ball: {{mass: 3, shapes: [{{sphere: {{center: [0, 0, 0.1], radius: 0.1}}}}]}}}}
initial: {{ball: {{velocity: [{vx!r}, {vy!r}, 0]}}}}
contacts: {{c: {{between: [ball, world.lane], friction: 0.2}}}}
"""


@pytest.mark.fast
@pytest.mark.benchmark
@pytest.mark.parametrize("angle", [0.0, 1.0, 2.5, -2.0])
def test_a_sphere_rolls_at_the_time_that_friction_says(angle: float) -> None:
    """v = 1 m/s, mu = 0.2: 2 v / (7 mu g); the same in every direction, as a pyramid of friction would not have it."""
    d = np.array([math.cos(angle), math.sin(angle), 0.0])
    run = Run(SPHERE.format(vx=float(d[0]), vy=float(d[1]))).to(0.145623998836)
    assert run.texts() == ["lane and ball slides", "lane and ball sticks"]
    assert run.times("mode")[1] == pytest.approx(0.145623998835, abs=1e-9)
    assert run.simulator.position["ball"] == pytest.approx(0.124820570430 * d + [0, 0, 0.1], abs=1e-9)
    run.to(1.0)
    assert run.simulator.velocity["ball"] == pytest.approx(5 / 7 * d, abs=1e-9)
    assert run.simulator.angular_velocity["ball"] == pytest.approx(50 / 7 * np.cross([0, 0, 1], d), abs=1e-8)
    rolled = 0.124820570430 + 5 / 7 * (1.0 - 0.145623998835)
    assert run.simulator.position["ball"] == pytest.approx(rolled * d + [0, 0, 0.1], abs=1e-9)
    assert run.simulator.energy["dissipated"] == pytest.approx(3 / 7, rel=1e-9)  # 2/7 of m v^2 / 2
    assert run.balance() < 1e-9


@pytest.mark.fast
def test_a_ball_with_back_spin_comes_back() -> None:
    """m v r + I w about the point of contact stays: v = 5/7 v0 + 2/7 w0 r, here (5 - 2 * 4)/7 with w0 r = -4."""
    text = SPHERE.format(vx=1.0, vy=0.0).replace("0]}}", "0], angular_velocity: [0, -40, 0]}}", 1)
    run = Run(text).to(3.0)
    assert run.simulator.velocity["ball"] == pytest.approx([-3 / 7, 0, 0], abs=1e-9)
    assert run.times("mode")[-1] == pytest.approx((1 + 3 / 7) / (0.2 * G0), abs=1e-9)


# ---- rolling down 20 degrees ----------------------------------------------------------------------------------------

ROUND = """
schema: 1
name: rolling
world: {{shapes: [{{name: slope, plane: {{normal: [{s!r}, 0, {c!r}]}}}}]}}
bodies: {{wheel: {{mass: 2, {mass}, shapes: [{{{shape}}}]}}}}
initial: {{wheel: {{position: [{x!r}, 0, {z!r}]}}}}
contacts: {{c: {{between: [wheel, world], friction: {mu}}}}}
simulate: {{rtol: 1e-10}}
"""
SHAPES = {
    "sphere": "sphere: {center: [0, 0, 0], radius: 0.1}",
    "cylinder": "cylinder: {from: [0, -0.1, 0], to: [0, 0.1, 0], radius: 0.1}",
    "capsule": "capsule: {from: [0, -0.1, 0], to: [0, 0.1, 0], radius: 0.1}",
}
GYRATION = {"sphere": math.sqrt(0.4), "cylinder": math.sqrt(0.5), "hoop": 1.0}  # of the radius, about the axis


def rolling(shape: str, gyration: float, mu: float) -> Run:
    s, c = math.sin(math.radians(20)), math.cos(math.radians(20))
    k = 0.1 * gyration
    mass = f"com: [0, 0, 0], gyration: [{0.8 * k!r}, {k!r}, {0.8 * k!r}]"
    return Run(ROUND.format(s=s, c=c, mass=mass, shape=SHAPES[shape], x=0.1 * s, z=0.1 * c, mu=mu))


DOWN = np.array([math.cos(math.radians(20)), 0.0, -math.sin(math.radians(20))])


@pytest.mark.benchmark
@pytest.mark.parametrize(
    ("shape", "gyration", "a"),
    [
        ("sphere", "sphere", 2.396584004303), ("capsule", "sphere", 2.396584004303),
        ("cylinder", "cylinder", 2.236811737350), ("capsule", "cylinder", 2.236811737350),
        ("cylinder", "hoop", 1.677608803012), ("sphere", "hoop", 1.677608803012),
    ],
)  # fmt: skip
def test_round_bodies_roll_downhill(shape: str, gyration: str, a: float) -> None:
    run = rolling(shape, GYRATION[gyration], 0.3).to(1.0)
    assert all("sticks" in text for text in run.texts()) and run.texts()
    way = run.simulator.position["wheel"] - 0.1 * np.array([-DOWN[2], 0.0, DOWN[0]])
    assert way == pytest.approx(0.5 * a * DOWN, abs=1e-9)
    assert run.simulator.velocity["wheel"] == pytest.approx(a * DOWN, abs=1e-9)
    assert run.simulator.angular_velocity["wheel"] == pytest.approx([0, a / 0.1, 0], abs=1e-8)
    points = run.points()
    assert (np.abs(points.gap) <= PENETRATION).all()
    assert (points.friction <= points.most + CONE).all()
    assert run.balance() < 1e-9


@pytest.mark.benchmark
@pytest.mark.parametrize(("share", "mode"), [(0.999, "slides"), (1.001, "sticks")])
def test_a_sphere_rolls_downhill_from_this_friction_on(share: float, mode: str) -> None:
    """Notes 3.2: a sphere on 20 degrees needs 0.103991495505."""
    mu = share * 0.103991495505
    run = rolling("sphere", GYRATION["sphere"], mu).to(0.5)
    assert run.texts() == [f"slope and wheel {mode}"]
    a = G0 * (-DOWN[2] - mu * DOWN[0]) if mode == "slides" else 2.396584004303
    assert run.simulator.velocity["wheel"] == pytest.approx(0.5 * a * DOWN, abs=1e-9)


def test_a_variational_step_from_the_start_is_slowed_as_those_after_it() -> None:
    """The block of the scene slows down evenly; its first step takes no more of its speed than the others."""
    scene = sim.load(SCENES / "sliding_block.yaml")
    simulator = sim.Simulator(
        sim.compile(replace(scene, simulate=replace(scene.simulate, method="variational", step=2e-4)))
    )
    speeds = [np.linalg.norm(simulator.v[:3])]
    for t in (1e-3, 1e-2, 5e-2):
        simulator.advance(t)
        speeds.append(np.linalg.norm(simulator.v[:3]))
    slows = (speeds[2] - speeds[3]) / 0.04
    assert slows > 1.0 and [speeds[0] - v for v in speeds[1:3]] == pytest.approx([1e-3 * slows, 1e-2 * slows], rel=1e-6)
