"""Bodies on ground over a grid of heights, on stairs, and in meshes that are not convex."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sim
from sim.scene.load import load, load_text
from sim.scene.terrain import Ground
from tests.support.solids_as_obj import bowl, boxes

pytestmark = pytest.mark.contact

G0, RADIUS, SLOPE = 9.81, 0.1, math.radians(8)
ROLLS = 5 / 7 * G0 * math.sin(SLOPE)  # m/s^2
START = -1.5  # m along x, of the point where it touches
X = np.linspace(-2, 2, 41)


def ball_on(heights, mode, duration, dt=1e-3, start=START, slope=SLOPE):
    """Return a ball that is let go on the slope of a field of heights, and where its centre starts."""
    up = float(np.interp(start, X, heights))
    centre = (start + RADIUS * math.sin(slope), 0.03, up + RADIUS * math.cos(slope))
    rows = [[float(z) for z in heights]] * 5
    text = f"""
schema: 1
world: {{shapes: [{{heightfield: {{size: [4, 1], heights: {rows}}}}}]}}
bodies: {{ball: {{mass: 1 kg, shapes: [{{sphere: {{center: {list(centre)}, radius: {RADIUS}}}}}]}}}}
contacts: {{ground: {{between: [ball, world], friction: 0.5}}}}
simulate: {{duration: {duration}, contact: {mode}, dt: {dt}}}
"""
    return load_text(text), np.array(centre)


def cut_into_cells(monkeypatch):
    """Let no two cells of a field be one solid: a ball then rolls from solid to solid, over edges in one plane."""
    monkeypatch.setattr(
        Ground, "pieces", lambda self: [(i, i + 1, j, j + 1) for i, j in np.ndindex(self.plane.shape)]
    )  # fmt: skip


@pytest.mark.parametrize("cells", [False, True])
def test_a_ball_rolls_down_a_field_as_down_a_plane(cells, monkeypatch):
    """s = 5/7 g sin(a) t^2/2, exactly across the borders of cells, too."""
    if cells:
        cut_into_cells(monkeypatch)
    scene, start = ball_on(-math.tan(SLOPE) * X, "event", 1.2)
    assert len(scene.world.shapes) == (160 if cells else 1)
    with sim.run(scene) as recording:
        away, t = recording.position["ball"] - start, recording.time
    along = ROLLS * t**2 / 2
    assert along[-1] > 0.7  # seven cells
    assert away[:, 0] == pytest.approx(along * math.cos(SLOPE), abs=1e-12)
    assert away[:, 2] == pytest.approx(-along * math.sin(SLOPE), abs=1e-12)
    assert np.abs(away[:, 1]).max() < 1e-12


def test_a_ball_rolls_down_a_field_in_time_steps_by_their_sum():
    """Steps h of v+ = v + h a, s+ = s + h v+ give s = a t (t + h)/2 down a plane, and so over a field that is one."""
    scene, start = ball_on(-math.tan(SLOPE) * X, "stepping", 1.2)
    with sim.run(scene) as recording:
        away, t = recording.position["ball"] - start, recording.time
    along = ROLLS * t * (t + 1e-3) / 2
    on_steps = np.abs(t * 1e3 - np.round(t * 1e3)) < 1e-6
    assert on_steps.sum() > 10
    assert (away @ (math.cos(SLOPE), 0, -math.sin(SLOPE)))[on_steps] == pytest.approx(along[on_steps], abs=1e-8)
    assert np.abs(away @ (math.sin(SLOPE), 0, math.cos(SLOPE))).max() < 1e-9


def test_edges_between_cells_of_one_plane_do_not_catch_a_ball_in_time_steps(monkeypatch):
    """A solid ahead is one more bound within a step; what it takes is of the second order in the step."""
    cut_into_cells(monkeypatch)
    lost = []
    for dt in (2e-3, 1e-3, 5e-4):
        scene, start = ball_on(-math.tan(SLOPE) * X, "stepping", 1.2, dt)
        with sim.run(scene) as recording:
            away, t = recording.position["ball"] - start, recording.time
        end = (away @ (math.cos(SLOPE), 0, -math.sin(SLOPE)))[-1]
        lost.append(ROLLS * t[-1] * (t[-1] + dt) / 2 - end)
        assert np.abs(away @ (math.sin(SLOPE), 0, math.cos(SLOPE))).max() < 5e-5 * dt / 2e-3
        assert np.abs(away[:, 1]).max() < 1e-4
    assert max(map(abs, lost)) < 1.5e-3  # of 0.7 m over seven edges
    assert abs(lost[2]) < 0.2 * abs(lost[0])


@pytest.mark.parametrize(("mode", "error"), [("event", 1e-7), ("stepping", 6e-3)])
def test_a_ball_that_meets_the_level_keeps_what_the_kink_leaves(mode, error):
    """v' = v (2 + 5 cos a)/7: a plastic impact on the level, with the ball's angular momentum about the new point."""
    scene, _ = ball_on(np.where(X < 0, -math.tan(SLOPE) * X, 0.0), mode, 1.9)
    assert len(scene.world.shapes) == 2
    with sim.run(scene) as recording:
        t, v, at = recording.time, recording.velocity["ball"], recording.position["ball"]
    way = -START / math.cos(SLOPE) - RADIUS * math.tan(SLOPE / 2)  # until the ball touches both
    arrives = math.sqrt(2 * way / ROLLS)
    assert t[-1] > arrives + 0.05
    after = ROLLS * arrives * (2 + 5 * math.cos(SLOPE)) / 7
    assert v[-1] == pytest.approx((after, 0, 0), abs=error)
    assert at[-1, 2] == pytest.approx(RADIUS, abs=1e-6)


def test_a_ball_keeps_its_energy_over_a_ridge():
    """It turns about the edge, of one solid that lies on both its sides, as slowly as not to leave it."""
    heights = np.where(X < 0, -0.05 * X, -0.15 * X)
    scene, _ = ball_on(heights, "event", 2.0, start=-0.4, slope=math.atan(0.05))
    assert len(scene.world.shapes) == 1
    with sim.run(scene) as recording:
        v, w = recording.velocity["ball"], recording.angular_velocity["ball"]
        z, x = recording.position["ball"][:, 2], recording.position["ball"][:, 0]
        energy = 0.5 * np.sum(v**2, axis=1) + 0.2 * RADIUS**2 * np.sum(w**2, axis=1) + G0 * z
    assert x[-1] > 0.3
    assert np.ptp(energy) < 1e-8
    assert v[-1, 2] / v[-1, 0] == pytest.approx(-0.15, rel=1e-6)


def settled(scene):
    with sim.run(scene) as recording:
        return recording.position["ball"][-1], recording.velocity["ball"][-200:]


TRAY = boxes(
    ((-0.2, -0.2, 0), (0.2, 0.2, 0.02)), ((-0.2, -0.2, 0.02), (-0.18, 0.2, 0.1)), ((0.18, -0.2, 0.02), (0.2, 0.2, 0.1)),
    ((-0.18, -0.2, 0.02), (0.18, -0.18, 0.1)), ((-0.18, 0.18, 0.02), (0.18, 0.2, 0.1)),
)  # fmt: skip


def in_mesh(tmp_path, text, mode, start, velocity, duration):
    (tmp_path / "mesh.obj").write_text(text)
    (tmp_path / "s.yaml").write_text(f"""
schema: 1
world: {{shapes: [{{mesh: {{file: mesh.obj, concave: true}}}}]}}
bodies: {{ball: {{mass: 1 kg, shapes: [{{sphere: {{center: {start}, radius: 2 cm}}}}]}}}}
initial: {{ball: {{velocity: {velocity}}}}}
contacts: {{c: {{between: [ball, world], friction: 0.3}}}}
simulate: {{duration: {duration}, contact: {mode}, dt: 1 ms}}
""")
    return load(tmp_path / "s.yaml")


@pytest.mark.parametrize("mode", ["event", "stepping"])
def test_a_tray_of_convex_parts_holds_a_ball(mode, tmp_path):
    """Its hull would carry the ball on top, at 0.12 m; it rolls against a wall and stays within."""
    scene = in_mesh(tmp_path, TRAY, mode, [0.05, 0.02, 0.05], [0.6, 0.2, 0], 3.0)
    at, speeds = settled(scene)
    assert at[2] == pytest.approx(0.04, abs=1e-6)
    assert np.abs(at[:2]).max() <= 0.16 + 1e-6
    assert np.abs(at[:2] - (0.05, 0.02)).max() > 0.05
    assert np.abs(speeds[:, 2]).max() < 1e-6


def test_a_bowl_that_the_library_cuts_holds_a_ball(tmp_path):
    pytest.importorskip("coacd")
    scene = in_mesh(tmp_path, bowl(0.1, 0.08, 0.06, 0.02), "stepping", [0.02, 0, 0.06], [0.3, 0.1, 0], 2.0)
    at, _ = settled(scene)
    assert at[2] == pytest.approx(0.04, abs=1e-3)
    assert math.hypot(at[0], at[1]) < 0.065


def test_a_ball_comes_down_a_flight_of_stairs_step_by_step():
    """Pushed off the landing it falls from tread to tread; with no restitution it rolls on each."""
    text = """
schema: 1
world: {shapes: [plane: {}, {stairs: {number: 4, rise: 10 cm, run: 30 cm, width: 1, position: [-1.2, 0, 0]}}]}
bodies: {ball: {mass: 1 kg, shapes: [{sphere: {center: [-0.15, 0, 0.45], radius: 5 cm}}]}}
initial: {ball: {velocity: [-0.5, 0, 0], angular_velocity: [0, -10, 0]}}
contacts: {c: {between: [ball, world], friction: 0.5}}
simulate: {duration: 2.5, contact: stepping, dt: 1 ms}
"""
    with sim.run(load_text(text)) as recording:
        x, z = recording.position["ball"][:, 0], recording.position["ball"][:, 2]
    assert x[-1] < -1.3 and z[-1] == pytest.approx(0.05, abs=1e-5)
    treads = 0.1 * np.arange(5) + 0.05
    on = [np.abs(z - level) < 1e-5 for level in treads]
    assert all(samples.sum() > 3 for samples in on)
    assert (z > 0.05 + 0.1 * np.floor((x + 1.2) / 0.3 + 1).clip(0, 4) - 0.0501).all()
