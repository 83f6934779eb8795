"""A point that begins to slide goes where friction lets it, held against an integration without any of the engine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import sim
from sim.contact.slip_directions import straighten_slow_slip
from sim.kernels.rows.touches import TURNED
from sim.kernels.shapes import SLIP, SLOW_SLIP
from sim.mechanism.touch import Touch
from sim.scene.load import load_text
from sim.simulation.contact_modes import _with
from sim.simulation.flow import Flow
from tests.contact.engine import G0, SCENES, Run

pytestmark = pytest.mark.contact
MU, MASS, TURN = 0.5, 2.0, 12.0  # 1, kg, rad/s: at which the pull turns
# A ball that cannot roll, pulled along the ground by a force that grows and turns.
PULLED = f"""
schema: 1
name: pulled
world: {{shapes: [{{name: ground, plane: {{}}}}]}}
bodies:
  along: {{}}
  aside: {{}}
  ball: {{mass: {MASS}, shapes: [{{sphere: {{center: [0, 0, 0.1], radius: 0.1}}}}]}}
joints:
  x: {{type: translational, parent: world, child: along, position: [0, 0, 0], axis: [1, 0, 0]}}
  y: {{type: translational, parent: along, child: aside, position: [0, 0, 0], axis: [0, 1, 0]}}
  z: {{type: translational, parent: aside, child: ball, position: [0, 0, 0], axis: [0, 0, 1]}}
forces:
  pull: {{type: wrench, body: ball, force: ["10 N/s*t*cos({TURN}/s*t)", "10 N/s*t*sin({TURN}/s*t)", 0]}}
contacts: {{ground: {{between: [ball, world], friction: {MU}}}}}
simulate: {{contact: event, rtol: 1e-10, record: 100 Hz}}
"""
BEGINS = MU * MASS * G0 / 10.0  # s


def pull(t: float) -> np.ndarray:
    return 10.0 * t * np.array([np.cos(TURN * t), np.sin(TURN * t)])


def slope(t: float, y: np.ndarray) -> np.ndarray:
    v = y[2:]
    return np.concatenate([v, pull(t) / MASS - MU * G0 * v / np.linalg.norm(v)])


def test_a_pulled_point_creeps_and_slides_as_coulomb_says() -> None:
    run = Run(load_text(PULLED)).to(BEGINS + 1e-4)
    assert run.simulator.flow.structure.touches[0].mode == SLOW_SLIP
    assert run.times("mode")[-1] == pytest.approx(BEGINS, abs=1e-9)
    run.to(1.3)
    # From rest 1 ms later: by then the engine's point moves at 2.5e-6 m/s, which is what may be off.
    start = BEGINS + 1e-3
    first = 1e-9 * pull(start) / np.linalg.norm(pull(start))
    y = solve_ivp(slope, (start, 1.3), [0, 0, *first], method="Radau", rtol=1e-10, atol=1e-14).y[:, -1]
    ball = run.simulator
    assert np.linalg.norm(y[:2]) > 1e-3  # it went somewhere
    assert [ball.coordinate["x"], ball.coordinate["y"]] == pytest.approx(y[:2], abs=2e-6)
    assert [ball.rate["x"], ball.rate["y"]] == pytest.approx(y[2:], abs=5e-6)
    points = run.points()
    assert points.friction == pytest.approx(points.most, rel=1e-9)
    assert run.balance() < 1e-8
    assert run.simulator.flow.counts()["steps"] < 400  # friction that has to be followed takes 1300


def begun(angle: float) -> tuple[Flow, list[Touch], np.ndarray]:
    """Return a flow whose point has just begun to creep, on a way turned by an angle; that point, and its own way."""
    flow = Run(load_text(PULLED)).to(BEGINS + 1e-5).simulator.flow
    (touch,) = flow.structure.touches
    way = np.array(touch.slip_W)
    turned = [replace(touch, slip_W=tuple(Rotation.from_rotvec([0, 0, angle]).apply(way)))]
    put(flow, turned)
    return flow, turned, way


def put(flow: Flow, closed: list[Touch]) -> None:
    flow.take(_with(flow.instant(), tuple(closed), flow.structure.meetings), flow.v.copy())
    flow.observe()


@pytest.mark.parametrize("angle", [0.6, -0.3])
def test_a_way_that_friction_would_leave_at_once_becomes_that_of_friction(angle: float) -> None:
    """What ends a creep is seen when it comes to pass, so it must not have been so from the start."""
    flow, turned, way = begun(angle)
    assert straighten_slow_slip(flow.work.points, turned, last=True)[0].mode == SLIP
    straight = straighten_slow_slip(flow.work.points, turned, last=False)
    assert straight[0].mode == SLOW_SLIP
    assert np.array(straight[0].slip_W) == pytest.approx(way, abs=1e-3)
    put(flow, straight)
    assert straighten_slow_slip(flow.work.points, straight, last=False) is straight


def test_a_way_that_friction_hardly_leaves_stays() -> None:
    flow, turned, _ = begun(0.8 * TURNED)
    assert straighten_slow_slip(flow.work.points, turned, last=True) is turned


def test_two_feet_that_leave_their_cones_at_once_begin_to_slide_together() -> None:
    """A figure that falls has them do so at 0.365 s; where they take turns to stick, 90 decisions follow each other."""
    scene = sim.load(SCENES / "figure_falls.yaml")
    run = Run(replace(scene, simulate=replace(scene.simulate, contact="event"))).to(0.37)
    begins = [t for t in run.times("mode") if t > 0.3]
    assert 1 <= len(begins) <= 4
