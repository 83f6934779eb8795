"""Scenes that were hard."""

from __future__ import annotations

import numpy as np
import pytest

import sim
from sim.scene.load import load_text
from tests.contact.engine import CONE, PENETRATION, Run

pytestmark = pytest.mark.contact

ONE = """
schema: 1
name: one
world: {{shapes: [{{name: ground, plane: {{}}}}]}}
bodies: {{a: {{mass: 1, shapes: [{shape}]}}}}
initial: {{a: {{rpy: [0.3, 0.4, 0.5]{more}}}}}
contacts: {{c: {{between: [a, world], friction: 0.4, restitution: {e}}}}}
simulate: {{{simulate}}}
"""
BOX = "{box: {center: [0, 0, 1], size: [0.4, 0.3, 0.2]}}"
SPUN = ", angular_velocity: [1, 2, 3]"


@pytest.mark.parametrize(
    ("e", "more", "simulate"),
    [(0.5, SPUN, ""), (0.0, "", "method: auto"), (0.0, "", "method: rk4, step: 1e-3")],
    ids=["bounce", "auto", "rk4"],
)
def test_a_tumbling_box_does_not_fall_through(e: float, more: str, simulate: str) -> None:
    run = Run(ONE.format(shape=BOX, e=e, more=more, simulate=simulate))
    try:
        run.to(1.5)
    except sim.SimulationError as error:
        pytest.fail(str(error))
    assert run.simulator.position["a"][2] > 0.1 - PENETRATION


LEANING = """
schema: 1
name: leaning
world: {shapes: [{name: ground, plane: {}}]}
bodies:
  a: {mass: 5, shapes: [{box: {center: [0, 0, 0.1], size: [0.4, 0.4, 0.2]}}]}
  b: {mass: 1, shapes: [{box: {center: [0.25, 0, 0.25], size: [0.4, 0.2, 0.1]}}]}
contacts: {c: {between: ['*', ['*', world]], friction: 0.5}}
"""


def test_a_box_that_leans_on_another_is_held_within_its_cones() -> None:
    """It topples off the other's edge and comes to lean on it."""
    run = Run(LEANING).to(2.0)
    points = run.points()
    assert run.simulator.energy["kinetic"] < 1e-20
    assert (points.normal > 0).all()
    assert (points.friction <= points.most + CONE).all()


def test_bodies_that_overlap_at_the_start_are_told() -> None:
    text = ONE.format(shape="{sphere: {center: [0, 0, 0.05], radius: 0.1}}", e=0, more="", simulate="")
    with pytest.raises((sim.SceneError, sim.SimulationError), match=r"overlap|deep|inside"):
        Run(text).to(0.1)


FREE_BALL = """
schema: 1
name: free
world: {shapes: [{name: ground, plane: {}}]}
bodies: {ball: {mass: 1 kg, shapes: [{sphere: {radius: 0.1, center: [0, 0, 0.3]}}]}}
JOINTS
contacts: {blow: {between: [ball, world.ground], restitution: 0.5}}
simulate: {duration: 0.5 s, contact: WAY, dt: 1 ms}
"""
LOOSE = "joints: {loose: {type: free, parent: world, child: ball, position: [0, 0, 0.3]}}"


@pytest.mark.parametrize("way", ["event", "stepping"])
def test_a_free_joint_holds_nothing_so_what_it_connects_touches(way: str) -> None:
    """The ball falls 0.2 m and rises by a quarter of that, with a joint of six freedoms as without any."""
    heights = []
    for joints in ("", LOOSE):
        recording = sim.run(load_text(FREE_BALL.replace("JOINTS", joints).replace("WAY", way)))
        heights.append(np.array(recording.com["ball"])[:, 2])
    assert heights[0].min() > 0.1 - 2e-3 and len(heights[0]) == len(heights[1])
    fallen = int(heights[0].argmin())
    assert heights[0][fallen:].max() == pytest.approx(0.15, abs=3e-3)
    np.testing.assert_allclose(heights[1], heights[0], rtol=0.0, atol=1e-9)
