"""Arrows: from where a force acts, along it, as long as it is strong; and seen there."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from render import arrows
from render.arrows import Arrows
from render.camera import Camera
from render.stage import Look, Stage
from render.view import Motion, Pushes
from tests.render.synthetic import BOUNCE, write_recording
from tests.render.test_springs import spanned

SEEN_BY = Camera(np.zeros(3), 4.0, np.deg2rad(-90), 0.0, np.deg2rad(40))
HEIGHT = 8 * np.tan(np.deg2rad(20))  # m, of the picture at the target


def pushed(*forces: tuple[float, float, float]) -> Motion:
    """A small ball at the origin with forces on it, 0.1 m above its centre."""
    k = len(forces)
    pushes = Pushes(
        kind=("wrench", "drag")[:k], body=np.zeros(k, int), point=np.tile([0, 0, 0.1], (k, 1)),
        force=np.array([forces], float).reshape(1, k, 3),
    )  # fmt: skip
    return Motion(**{**vars(spanned()), "pushes": pushes})


@pytest.mark.parametrize(("second", "length"), [((0, 5, 0), 0.1), ((0, 0, 0.1), 0.002), ((0, 0, 0), 0.0)])
def test_lengths_are_in_proportion_to_forces(second, length):
    motion = pushed((6, 0, 8), second)
    made = Arrows(motion)
    vertices, normals = made.place(motion.poses(0.0), motion.forces(0.0), SEEN_BY)
    assert np.linalg.norm(normals, axis=1) == pytest.approx(np.ones(made.count))
    for part, axis, wanted in zip(np.split(vertices, 2), ([0.6, 0, 0.8], second), (0.2, length), strict=True):
        axis = np.array(axis) / (np.linalg.norm(axis) or 1.0)
        along = (part - [0, 0, 0.1]) @ axis
        assert (along.min(), along.max()) == pytest.approx((0.0, wanted * HEIGHT))
        off = np.linalg.norm(part - [0, 0, 0.1] - along[:, None] * axis, axis=1)
        assert off.max() == pytest.approx(arrows.HEAD * HEIGHT * min(1.0, wanted / arrows.POINT), rel=1e-9)
    if length > arrows.POINT:
        corners = vertices[made.faces]
        area = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        facing = np.sum(area * normals[made.faces].mean(axis=1), axis=1)
        assert (facing >= -1e-15).all() and (facing > 0).sum() > 200


def test_forces_of_a_recording_are_read_and_never_mixed_across_an_event(tmp_path):
    path = write_recording(tmp_path / "r.h5", rate=4.0)
    with h5py.File(path, "r+") as file:
        t = file["time"][:]
        after = np.cumsum(np.append(0, np.diff(t) == 0)) > 0
        file["forces/wrench"][:, 2, 3] = np.where(after, -4 * t, 4 * t)
    motion = Motion.from_recording(path)
    assert motion.pushes.kind == ("wrench",) and motion.pushes.body.tolist() == [1]
    for time in (0.0, 0.1, 0.49, BOUNCE, 0.6, 1.0, 2.0):
        expected = 4 * min(time, 1.0) * (1 if time < BOUNCE else -1)
        assert motion.forces(time) == pytest.approx(np.array([[expected, 0, 0]]))


def test_without_forces_there_are_no_arrows(tmp_path):
    path = write_recording(tmp_path / "r.h5")
    with h5py.File(path, "r+") as file:
        del file["forces"]  # as a recording of an older program
    older = Motion.from_recording(path)
    for motion in (spanned(), pushed(), pushed((0, 0, 0)), older):
        assert Arrows(motion).count == 0
        assert motion.forces(0.7).shape == (len(motion.pushes), 3)


@pytest.mark.film
@pytest.mark.usefixtures("opengl")
def test_an_arrow_is_seen_where_it_acts():
    grey = Look(background=((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)))
    motion = pushed((3, 0, 0))
    drawn = Stage(motion, (320, 240), look=grey, quality=1).draw(motion.poses(0.0), SEEN_BY, motion.forces(0.0))
    rows, columns = np.nonzero((np.abs(drawn.astype(int) - 128) > 12).any(axis=2))
    arrow = rows < 118  # the ball is below
    assert arrow.sum() > 80
    assert np.mean(rows[arrow]) == pytest.approx(120 - 0.1 / HEIGHT * 240, abs=2)
    assert columns[arrow].min() == pytest.approx(160, abs=2)
    assert columns[arrow].max() == pytest.approx(160 + 0.2 * 240, abs=2)
