"""Contacts as they are looked at: dots and arrows where they are recorded, and signals of their forces."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from render import film, touches
from render.camera import Camera
from render.signals import Signals
from render.touches import Touches
from render.view import Motion, RenderError
from tests.render.synthetic import times, write_recording

SEEN_BY = Camera(np.array([0.0, 0.0, 1.0]), 4.0, np.deg2rad(-90), 0.0, np.deg2rad(40))
HEIGHT = 8 * np.tan(np.deg2rad(20))  # m, of the picture at the target
# Row 3: the wheel stands on the floor and the ball (b of its pair is the wheel); rows 4 to 8: on the floor alone.
NORMAL, PULL = np.array([0.0, 0.6, 0.8]), np.array([3.0, 0.0, 0.0])


@pytest.fixture
def recording(tmp_path):
    path = write_recording(tmp_path / "r.h5", settings={"size": [160, 90], "fps": 10})
    with h5py.File(path, "r+") as file:
        file["contacts/pairs/a"] = np.array([b"world.floor", b"figure.ball"])
        file["contacts/pairs/b"] = np.array([b"wheel", b"wheel"])
        file["contacts/pairs/shapes"] = np.array([[2, 0], [1, 0]])
        file["contacts/row"] = np.array([3, 3, 4, 5, 6, 7, 8, -1])
        file["contacts/pair"] = np.array([0, 1, 0, 0, 0, 0, 0, -1])
        file["contacts/key"] = np.zeros((8, 2), int)
        file["contacts/mode"] = np.array([1, 2, 1, 1, 1, 1, 1, 0], np.int8)
        file["contacts/iterations"], file["contacts/determinate"] = np.ones(8, int), np.ones(8, int)
        file["contacts/point"] = np.concatenate([[[0, 0, 1.0], [0.5, 0, 1.2]], np.tile([0.0, 0, 1], (6, 1))])
        file["contacts/normal"] = np.tile(NORMAL, (8, 1))
        file["contacts/force"] = np.concatenate([[10 * NORMAL], [5 * NORMAL + PULL], np.tile(20 * NORMAL, (6, 1))])
    return path


def test_dots_and_arrows_stand_at_the_points_of_the_row(recording):
    motion = Motion.from_recording(recording, contacts=True)
    made, t = Touches(motion), times()
    assert made.most == 2 and made.strongest == pytest.approx(20)
    vertices, normals, colors = made.place(motion.touching(0.5 * (t[3] + t[4])), SEEN_BY)
    assert np.linalg.norm(normals, axis=1) == pytest.approx(np.ones(made.count))
    sets = zip(np.split(vertices, 2), ([0, 0, 1.0], [0.5, 0, 1.2]), (10 * NORMAL, 5 * NORMAL + PULL), strict=True)
    for part, point, force in sets:
        size = np.linalg.norm(force)
        along = (part - point) @ (force / size)
        assert along.max() == pytest.approx(touches.LONGEST * HEIGHT * size / 20)
        assert -along.min() == pytest.approx(touches.DOT * HEIGHT, rel=0.02)
    assert np.array_equal(np.unique(colors, axis=0), np.unique(touches.COLORS[1:], axis=0))
    vertices, _, colors = made.place(motion.touching(t[4]), SEEN_BY)
    assert np.ptp(np.split(vertices, 2)[1], axis=0) == pytest.approx(np.zeros(3))  # the other one is gone
    assert len(motion.touching(t[9])[0]) == len(motion.touching(t[2])[0]) == 0


def test_contacts_are_read_only_where_they_are_asked_for(recording):
    assert Touches(Motion.from_recording(recording)).count == 0


@pytest.mark.film
@pytest.mark.usefixtures("opengl")
def test_a_picture_shows_contacts_over_all_else(recording, tmp_path):
    t = float(times()[4])
    plain, shown = (
        film.Shot.of(Motion.from_recording(recording, contacts=contacts), (320, 180)).bare(t).astype(int)
        for contacts in (False, True)
    )
    green = (shown[..., 1] > shown[..., 0] + 30) & (shown[..., 1] > shown[..., 2] + 10)
    assert green.sum() > 20
    changed = (shown != plain).any(axis=2)
    assert changed.sum() < 4 * green.sum()  # nothing else moves


def test_signals_of_contacts(recording):
    rows = np.arange(len(times()))
    with h5py.File(recording) as file:
        signals = Signals(file)
        both, floor, ball = ((rows == 3)[:, None] * f for f in (15 * NORMAL + PULL, 10 * NORMAL, 5 * NORMAL + PULL))
        later = ((rows >= 4) & (rows <= 8))[:, None] * 20 * NORMAL
        for text, unit, expected in (
            ("contact('wheel')", "N", (both + later).T), ("contact('wheel', 'world')", "N", (floor + later).T),
            ("contact('world.floor')", "N", -(floor + later).T), ("contact('figure.ball', 'wheel')", "N", -ball.T),
            ("contact('wheel', 'figure.ball')[0]", "N", 3.0 * (rows == 3)),
            ("pressing('wheel')", "N", 15.0 * (rows == 3) + later @ NORMAL),
            ("friction('figure.ball')", "N", 3.0 * (rows == 3)),
        ):  # fmt: skip
            found = signals.evaluate(text)
            np.testing.assert_allclose(found.values, expected, atol=1e-14, err_msg=text)
            assert found.unit == unit, text
        for text, sentence in (
            ("contact('weel')", "no touching body named 'weel'; did you mean 'wheel'"),
            ("pressing()", "pressing is written pressing\\('name'\\) or pressing\\('name', 'other'\\)"),
            ("friction('wheel', 3)", "friction is written"),
        ):
            with pytest.raises(RenderError, match=sentence):
                signals.evaluate(text)


def test_signals_of_contacts_where_there_are_none(tmp_path):
    with h5py.File(write_recording(tmp_path / "r.h5")) as file, pytest.raises(RenderError, match="has no contacts"):
        Signals(file).evaluate("contact('wheel')")
