"""Coils: from end to end, closed and outward, still while the spring stretches; and seen where they are."""

from __future__ import annotations

import numpy as np
import pytest

from render import springs
from render.camera import Camera, outline
from render.springs import Coils
from render.stage import Look, Stage
from render.view import Motion, Shapes, Springs
from tests.render.synthetic import ball, tip, write_recording

EYE = np.eye(3)


def spanned(*ends: tuple[tuple[float, float, float], tuple[float, float, float]]) -> Motion:
    """A drawing of springs between points of the world, and one small ball."""
    none = np.zeros((1, 3))
    shapes = Shapes(
        body=np.zeros(1, int), kind=("sphere",), position=none, quat=np.array([[1.0, 0, 0, 0]]),
        size=np.full((1, 3), 1e-3), color=np.array([[1.0, 0, 0, 1]]),
    )  # fmt: skip
    motion = Motion.from_drawing(
        name="", body_names=["ball"], position=none, quat=np.array([[1.0, 0, 0, 0]]), shapes=shapes
    )
    there = Springs(body=np.full((len(ends), 2), -1), point=np.array(ends, float).reshape(-1, 2, 3))
    return Motion(**{**vars(motion), "springs": there})


def poses(motion: Motion) -> tuple[np.ndarray, np.ndarray]:
    return motion.poses(0.0)


def test_a_coil_runs_from_end_to_end_and_is_closed_outward():
    a, b = np.array([0.2, -0.1, 0.4]), np.array([1.1, 0.5, -0.3])
    motion = spanned((tuple(a), tuple(b)))
    coils = Coils(motion)
    vertices, normals = coils.place(poses(motion))
    assert vertices.shape == normals.shape == (coils.count, 3)
    length, n = np.linalg.norm(b - a), (b - a) / np.linalg.norm(b - a)
    wire = springs.WIRE * springs.COIL * length
    rings = vertices.reshape(-1, springs.SIDES, 3).mean(axis=1)
    assert rings[0] == pytest.approx(a) and rings[-1] == pytest.approx(b)
    off = np.linalg.norm(rings - a - ((rings - a) @ n)[:, None] * n, axis=1)
    assert off.max() == pytest.approx(springs.COIL * length, rel=1e-9)
    around = np.linalg.norm(vertices.reshape(-1, springs.SIDES, 3) - rings[:, None], axis=2)
    assert around == pytest.approx(np.full(around.shape, wire))
    assert np.linalg.norm(normals, axis=1) == pytest.approx(np.ones(coils.count))
    corners = vertices[coils.faces]
    area = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    facing = np.sum(area * normals[coils.faces].mean(axis=1), axis=1)
    assert len(facing) == 2 * springs.SIDES * (len(rings) - 1) and (facing > 0).all()
    turns = np.unwrap(np.arctan2((rings - a) @ np.cross(n, EYE[0]), (rings - a) @ np.cross(n, np.cross(n, EYE[0]))))
    coiled = off > 0.01 * off.max()
    assert np.ptp(turns[coiled]) > 2 * np.pi * (springs.TURNS - 1)


def test_a_coil_does_not_spin_while_its_spring_swings():
    """Between two near directions every point moves little, all around and through the start's axes."""
    motion = spanned(((0, 0, 0), (0, 0, 1)))
    coils = Coils(motion)
    before = None
    for angle in np.linspace(0, 0.98 * np.pi, 200):
        end = (np.sin(angle) * 0.6, np.sin(angle) * 0.8, np.cos(angle))
        coils.springs = Springs(body=np.full((1, 2), -1), point=np.array([[(0, 0, 0), end]]))
        vertices, _ = coils.place(poses(motion))
        assert np.isfinite(vertices).all()
        if before is not None:
            assert np.linalg.norm(vertices - before, axis=1).max() < 1.2 * np.pi / 200
        before = vertices


def test_ends_that_meet_or_turn_right_round_are_drawn():
    motion = spanned(((0, 0, 0), (0, 0, 1)))
    coils = Coils(motion)
    for end in ((0, 0, 0), (0, 0, -1)):
        coils.springs = Springs(body=np.full((1, 2), -1), point=np.array([[(0, 0, 0), end]], float))
        vertices, normals = coils.place(poses(motion))
        assert np.isfinite(vertices).all() and np.isfinite(normals).all()


def test_springs_of_a_recording_are_read_with_their_ends(tmp_path):
    motion = Motion.from_recording(write_recording(tmp_path / "r.h5"))
    assert len(motion.springs) == 1  # the torsion spring and the wrench are none
    for t in (0.1, 0.7):
        ends = motion.springs.ends(motion.poses(t))[0]
        at = np.array([t])
        assert ends[0] == pytest.approx(ball(at, at > 0.5)[0][0], abs=1e-9)
        assert ends[1] == pytest.approx(tip(at)[0], abs=1e-6)


def test_the_camera_sees_the_ends_of_springs():
    motion = spanned(((0, 0, 0), (0, 0, 3)))
    assert outline(motion, np.zeros(1))[..., 2].max() == 3.0


@pytest.mark.film
@pytest.mark.usefixtures("opengl")
def test_a_spring_is_seen_between_its_ends():
    grey = Look(background=((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)))
    seen_by = Camera(np.zeros(3), 4.0, np.deg2rad(-90), 0.0, np.deg2rad(40))
    motion = spanned(((-0.8, 0, 0.3), (0.8, 0, 0.3)))
    drawn = Stage(motion, (320, 240), look=grey, quality=1).draw(poses(motion), seen_by)
    rows, columns = np.nonzero((np.abs(drawn.astype(int) - 128) > 8).any(axis=2))
    scale = 240 / (2 * 4 * np.tan(np.deg2rad(20)))  # pixels per metre
    at_ball = (np.abs(columns - 160) < 3) & (np.abs(rows - 120) < 3)
    rows, columns = rows[~at_ball], columns[~at_ball]
    assert len(rows) > 300
    assert np.ptp(columns) == pytest.approx(1.6 * scale, abs=3)
    assert np.abs(rows - (120 - 0.3 * scale)).max() == pytest.approx(
        1.6 * springs.COIL * (1 + springs.WIRE) * scale, abs=3
    )
    without = Stage(spanned(), (320, 240), look=grey, quality=1).draw(poses(motion), seen_by)
    assert (np.abs(without.astype(int) - 128) > 8).any(axis=2).sum() < 10
