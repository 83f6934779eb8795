"""Ropes in pictures: from point to point, as long as they are, straight where they are taut."""

from __future__ import annotations

import numpy as np
import pytest

import sim
from render.ropes import RADIUS, SIDES, Lines, across, hanging
from render.view import Motion

LONG = 1.2
TEXT = """
schema: 1
name: tied
world: {points: {hook: [0, 0, 2]}}
bodies: {bob: {mass: 2 kg, shapes: [{sphere: {center: [0.3, 0, 1.6], radius: 5 cm}}], points: {eye: [0.3, 0, 1.65]}}}
contacts: {string: {rope: [world.hook, bob.eye], length: 1.2}}
simulate: {duration: 0.6 s}
"""


@pytest.fixture(scope="module")
def motion(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ropes")
    (folder / "tied.yaml").write_text(TEXT)
    sim.run(folder / "tied.yaml", output=folder / "tied.h5")
    return Motion.from_recording(folder / "tied.h5")


def path_at(motion, t: float) -> np.ndarray:
    """Return the line (k, 3) along which a rope is drawn."""
    vertices, normals = Lines(motion).place(motion.poses(t))
    assert np.linalg.norm(normals, axis=1) == pytest.approx(1.0)
    return (vertices - RADIUS * LONG * normals).reshape(-1, SIDES, 3).mean(axis=1)


def test_its_rings_are_even_and_square_to_its_line(motion):
    """Each vertex is a side's angle on from the one before, and its normal has no part along the rope."""
    vertices, normals = Lines(motion).place(motion.poses(0.1))
    rings = normals.reshape(-1, SIDES, 3)
    turned = np.sum(rings * np.roll(rings, 1, axis=1), axis=2)
    assert turned == pytest.approx(np.full(turned.shape, np.cos(2.0 * np.pi / SIDES)))
    path = (vertices - RADIUS * LONG * normals).reshape(-1, SIDES, 3).mean(axis=1)
    along = np.gradient(path, axis=0)
    assert np.abs(np.einsum("rsi,ri->rs", rings, along / np.linalg.norm(along, axis=1, keepdims=True))).max() < 1e-9


def test_a_rope_is_no_solid(motion):
    assert motion.shapes.kind == ("sphere",)
    assert motion.ropes.length == pytest.approx([LONG])


@pytest.mark.parametrize("t", [0.0, 0.2, 0.6])
def test_a_rope_is_drawn_from_point_to_point_with_its_length(motion, t):
    path = path_at(motion, t)
    p_WB, R_WB = motion.poses(t)
    assert path[0] == pytest.approx([0, 0, 2], abs=1e-9)
    assert path[-1] == pytest.approx(p_WB[0] + R_WB[0] @ [0.0, 0.0, 0.05], abs=1e-9)
    assert np.linalg.norm(np.diff(path, axis=0), axis=1).sum() == pytest.approx(LONG, rel=1e-6)


def test_a_taut_rope_is_straight_and_a_slack_one_hangs_below_its_ends():
    a, b = np.zeros(3), np.array([0.6, 0.0, 0.0])
    for short in (0.6, 0.59):
        assert hanging(a, b, short) == pytest.approx(np.linspace(a, b, 33))
    lowest = hanging(a, b, 0.61)[16]
    assert lowest == pytest.approx([0.3, 0.0, -np.sqrt(3 * 0.6 * 0.01 / 8)], rel=0.02)
    assert hanging(a, a, 1.0)[16] == pytest.approx([0.0, 0.0, -0.5], abs=1e-3)


def test_the_direction_across_a_rope_is_level_and_there_for_upright_ropes_too():
    assert across(np.array([0.0, 0.0, -2.0])) == pytest.approx([1, 0, 0])
    way = np.array([1.0, 2.0, -0.5])
    assert across(way) @ way == pytest.approx(0.0)
    assert across(way)[2] == 0.0
    assert np.linalg.norm(across(way)) == pytest.approx(1.0)
