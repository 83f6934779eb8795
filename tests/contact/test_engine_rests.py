"""Bodies that stand: a table, a stack; and what every point keeps at every instant, in every scene."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.contact.engine import CONE, G0, PENETRATION, Run, shipped

pytestmark = pytest.mark.contact


# ---- table ----------------------------------------------------------------------------------------------------------

LEGS = """
schema: 1
name: table
world: {{shapes: [{{name: floor, plane: {{}}}}]}}
bodies:
  table: {{mass: 10, com: [0, 0, 0.5], inertia: [1, 1, 1], shapes: [{shapes}]}}
contacts: {{feet: {{between: [table, world.floor], friction: 0.5}}}}
"""
CORNERS = [(x, y) for x in (-0.4, 0.4) for y in (-0.4, 0.4)]
CAPSULES = ", ".join(f"{{capsule: {{from: [{x}, {y}, 0.7], to: [{x}, {y}, 0.03], radius: 0.03}}}}" for x, y in CORNERS)
TOP = "{box: {center: [0, 0, 0.35], size: [1, 1, 0.7]}}"


@pytest.mark.parametrize(("shapes", "points"), [(CAPSULES, 4), (TOP, 4)])
def test_feet_share_the_weight_alike(shapes: str, points: int) -> None:
    run = Run(LEGS.format(shapes=shapes)).to(10.0)
    found = run.points()
    assert len(found.gap) == points
    assert found.normal.sum() == pytest.approx(10 * G0, rel=1e-12)
    assert found.normal == pytest.approx(np.full(points, 10 * G0 / points), rel=1e-12)
    assert found.friction == pytest.approx(np.zeros(points), abs=1e-10)
    assert run.simulator.velocity["table"] == pytest.approx([0, 0, 0], abs=1e-12)


def test_the_four_legs_of_the_table_share_its_weight_alike() -> None:
    run = shipped("table", push=0.0).to(3.0)
    points, weight = run.points(), 20 * G0
    assert len(points.gap) == 16
    assert points.normal.sum() == pytest.approx(weight, rel=1e-12)
    legs = np.array([touch.pair for touch in run.simulator.flow.structure.touches])  # each leg and the floor are one
    assert len(set(legs)) == 4
    for leg in set(legs):
        assert points.normal[legs == leg].sum() == pytest.approx(weight / 4, rel=1e-12)


def test_the_table_slides_as_far_as_its_push_takes_it() -> None:
    """v = P/m; it stops after v / (mu g), v^2 / (2 mu g) away; its feet carry friction at a height of 65 cm."""
    run = shipped("table").to(3.0)
    v = 12.0 / 20.0
    assert run.times("mode") == pytest.approx([0.0, 1.0, 1.0 + v / (0.4 * G0)], abs=1e-9)
    assert run.simulator.position["table"][:2] == pytest.approx([v**2 / (0.8 * G0), 0.0], abs=1e-9)
    assert run.simulator.energy["dissipated"] == pytest.approx(0.5 * 20 * v**2, rel=1e-9)
    assert run.simulator.energy["input"] == pytest.approx(0.5 * 20 * v**2, rel=1e-12)
    assert run.balance() < 1e-9


def test_front_feet_carry_more_while_the_table_slides() -> None:
    """Friction mu m g acts under the centre of mass, at its height h: the feet's moment about it is mu m g h."""
    run = shipped("table").to(1.1)
    points = run.points()
    height = run.simulator.position["table"][2]
    p = run.simulator.flow.work.points.p.reshape(-1, 3)
    arms = p - run.simulator.position["table"]
    assert points.force[:, 0].sum() == pytest.approx(-0.4 * 20 * G0, rel=1e-9)
    assert points.friction == pytest.approx(points.most, rel=1e-9)
    moment = np.cross(arms, points.force).sum(axis=0)
    assert moment == pytest.approx([0, 0, 0], abs=1e-8)
    front, back = (points.normal[side * arms[:, 0] > 0.2].sum() for side in (1, -1))
    assert (front - back) * 0.4 == pytest.approx(0.4 * 20 * G0 * height, rel=2e-2)  # legs are 6 cm wide


# ---- stack: benchmark notes 3.8 -------------------------------------------------------------------------------------


@pytest.mark.benchmark
def test_every_box_of_a_stack_carries_what_stands_on_it() -> None:
    run = shipped("stack").to(10.0)
    forces = run.forces()
    below = ["ground", *(f"box_{i}" for i in range(1, 10))]
    assert set(forces) == {f"{below[i]} and box_{i + 1}" for i in range(10)}
    for i in range(10):
        assert forces[f"{below[i]} and box_{i + 1}"] == pytest.approx([0, 0, (10 - i) * G0], abs=1e-6)
        box = f"box_{i + 1}"
        assert run.simulator.position[box] == pytest.approx([0, 0, 0.05 + 0.1 * i], abs=1e-9)
        assert run.simulator.velocity[box] == pytest.approx([0, 0, 0], abs=1e-9)
        assert run.simulator.rotation[box] == pytest.approx(np.eye(3), abs=1e-9)


def test_the_wrenches_under_the_boxes_have_no_moment() -> None:
    """Each box's points carry its load in their middle: the wrench under it is a force alone."""
    run = shipped("stack").to(1.0)
    points, p = run.points(), run.simulator.flow.work.points.p.reshape(-1, 3).copy()
    names = np.array(points.names)
    for name in set(names):
        mine = names == name
        assert np.count_nonzero(mine) == 4
        moment = np.cross(p[mine] * [1, 1, 0], points.force[mine]).sum(axis=0)
        assert moment == pytest.approx([0, 0, 0], abs=1e-6)


# ---- every sample of every scene ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "until", "most"),
    [
        ("bouncing_ball", 4.5, 1), ("sliding_block", 1.5, 4), ("rocking_block", 4.0, 2), ("table", 3.0, 16),
        ("stack", 2.0, 40), ("newtons_cradle", 3.0, None), ("rolling_sphere", 1.0, 1),
        ("woodpecker", 0.3, 2), ("slider_crank_clearance", 0.1, 2),
    ],
)  # fmt: skip
def test_nothing_pulls_sinks_or_holds_beyond_its_cone(name: str, until: float, most: int | None) -> None:
    """`most`: points that carry at one time; balls that swing side by side press on each other by rounding alone."""
    run = shipped(name)
    scale = 1.0
    found = []
    for t in np.linspace(0.0, until, 121)[1:]:
        points = run.to(t).points()
        found.append(len(points.gap))
        scale = max(1.0, np.abs(points.force).max(initial=0.0))
        assert (points.normal >= -CONE * scale).all()
        assert (np.abs(points.gap) <= PENETRATION).all()
        assert (points.friction <= points.most + CONE * scale).all()
    assert most is None or max(found) == most
    energy = max(row["energy/kinetic"] for row in run.told.rows_)
    assert run.balance() < 1e-6 * max(energy, 1e-6)


@pytest.mark.parametrize("name", ["bouncing_ball", "rolling_sphere"])
def test_balls_never_sink(name: str) -> None:
    """Geometry alone: the height of the lowest point in every recorded row."""
    run = shipped(name).to(4.5)
    radius = run.scene.parameters["radius"]
    height = np.array([row["position"][0, 2] for row in run.told.rows_]) - radius
    assert len(height) > 500
    assert height.min() >= -PENETRATION


def test_a_sliding_block_never_sinks() -> None:
    run = shipped("sliding_block").to(1.5)
    n = np.array([-math.sin(math.radians(30)), 0, math.cos(math.radians(30))])
    height = np.array([row["position"][0] @ n for row in run.told.rows_])
    assert len(height) > 150
    assert height == pytest.approx(np.full(len(height), 0.05), abs=PENETRATION)
