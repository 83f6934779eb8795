"""Trails of points: where they were, seen from the camera, up to now."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from render import film
from render.camera import Camera, plan
from render.stage import Look, Stage
from render.trails import COLORS, Trails
from render.view import Motion, RenderError
from tests.render.synthetic import RATE, START, tip, write_recording

SIZE = (320, 240)
ASIDE = Camera(np.array([0.0, 0.0, 1.0]), 5.0, np.deg2rad(-90), 0.0, np.deg2rad(32))


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    settings = {"size": [160, 90], "fps": 10, "captions": False, "trails": ["wheel.tip", "figure.ball"]}
    return write_recording(tmp_path_factory.mktemp("trails") / "r.h5", settings=settings)


@pytest.fixture(scope="module")
def motion(recording):
    return Motion.from_recording(recording)


def test_a_trail_goes_where_its_point_went_and_ends_where_it_is(motion):
    for time in (0.0, 0.3, 0.505, 1.0):
        trails = motion.trails(time)
        assert trails.shape == (2, len(motion.times), 3)
        assert trails[0] == pytest.approx(tip(np.minimum(motion.times, time)), abs=1e-7)
        assert trails[1, 0] == pytest.approx(START if time else motion.position[0, 1])
        assert trails[:, -1] == pytest.approx(motion.trailing(time), abs=1e-15)


def test_long_motions_are_thinned(motion):
    n = 5000
    times = np.linspace(0, 1, n)
    still = np.tile([1.0, 0, 0, 0], (n, 1, 1))
    path = np.stack([times, 0 * times, 0 * times], axis=1)[:, None]
    long = Motion(
        name="", times=times, body_names=("a",), position=path, quat=still, velocity=0 * path,
        angular_velocity=0 * path, com=np.zeros((1, 3)), shapes=motion.shapes, settings={"trails": ["a"]},
    )  # fmt: skip
    trail = long.trails(1.0)
    assert trail.shape == (1, 1000, 3) and trail[0, 0, 0] == 0.0 and trail[0, -1, 0] == 1.0


def test_ribbons_face_the_camera_and_are_as_wide_as_they_are_seen(motion):
    trails = Trails(motion)
    vertices, normals = trails.place(motion.trails(1.0), ASIDE)
    assert len(vertices) == len(normals) == trails.count == len(trails.colors) and trails.faces.max() < trails.count
    assert normals == pytest.approx(np.tile(ASIDE.backward, (trails.count, 1)))
    across = (vertices[1::2] - vertices[::2]).reshape(2, -1, 3)
    width = np.linalg.norm(across, axis=2)
    assert width == pytest.approx(np.full_like(width, 0.0044 * 2 * 5.0 * np.tan(np.deg2rad(16))))
    assert np.abs(across @ ASIDE.backward).max() < 1e-15
    turning = np.stack([np.cos(RATE * motion.times), 0 * motion.times, -np.sin(RATE * motion.times)], axis=1)
    assert np.abs(np.sum(across[0] * turning, axis=1))[1:-1].max() < 0.02 * width.max()  # square to the way
    rings = trails.count // 4  # of each of the two ribbons
    for k, quad in enumerate(trails.faces.reshape(-1, 6)):
        first = 2 * (k % (rings - 1)) + 2 * rings * (k // (rings - 1))
        one, other = set(quad[:3].tolist()), set(quad[3:].tolist())
        assert one | other == set(range(first, first + 4))
        assert one & other in ({first + 1, first + 2}, {first, first + 3})  # a diagonal, not a side
    assert len(trails.faces) == 4 * (rings - 1)
    nothing = Trails(Motion(**{**vars(motion), "settings": {}}))
    assert nothing.count == 0 and nothing.place(np.zeros((0, 5, 3)), ASIDE)[0].shape == (0, 3)


@pytest.mark.film
@pytest.mark.usefixtures("opengl")
def test_trails_are_seen_where_the_points_were(motion):
    stage = Stage(motion, SIZE, look=Look(background=((1, 1, 1), (1, 1, 1))))
    time = 0.9
    shown, bare = (
        stage.draw(motion.poses(time), ASIDE, motion.forces(time), None, trails).astype(int)
        for trails in (motion.trails(time), motion.trails(0.0))
    )
    matrix = ASIDE.matrix(SIZE[0] / SIZE[1])

    def pixel(p):
        x, y, _, w = matrix @ np.append(p - ASIDE.target, 1.0)
        return int(SIZE[1] * (0.5 - 0.5 * y / w)), int(SIZE[0] * (0.5 + 0.5 * x / w))

    for at in (0.2, 0.4, 0.6):
        row, column = pixel(tip(np.array([at]))[0])
        around = np.s_[row - 1 : row + 2, column - 1 : column + 2]
        assert np.abs(shown[around] - bare[around]).max() > 60
        red, _, blue = shown[around].reshape(-1, 3)[shown[around].sum(axis=2).argmin()]
        assert (red > blue) == (COLORS[0, 0] > COLORS[0, 2])
    row, column = pixel(tip(np.array([1.2]))[0])  # is to come
    assert (
        np.abs(
            shown[row - 2 : row + 3, column - 2 : column + 3] - bare[row - 2 : row + 3, column - 2 : column + 3]
        ).max()
        < 5
    )


@pytest.mark.film
@pytest.mark.usefixtures("opengl")
def test_trails_are_asked_for_when_a_film_is_made(tmp_path):
    bare = write_recording(tmp_path / "r.h5", settings={"captions": False})
    pictures = [
        np.asarray(Image.open(film.render_recording(bare, tmp_path / name, time=0.9, size=(320, 180), trails=trails)))
        for name, trails in (("a.png", ()), ("b.png", ("wheel.tip",)))
    ]
    assert (np.abs(pictures[0].astype(int) - pictures[1]).max(axis=2) > 60).sum() > 50
    with pytest.raises(RenderError, match=r"no body or point named 'wheel.top'; did you mean 'wheel.tip'"):
        film.render_recording(bare, tmp_path / "c.png", time=0.9, trails=("wheel.top",))
    assert film.render_recording(bare, tmp_path / "s.png", frames=2, trails=("wheel.com", "world.hook")).is_file()


def test_a_camera_follows_a_point(motion):
    """It stands still on a hook, and goes round with the tip, drawn in by smoothing over 0.25 s: exp(-(RATE s)^2/2)."""
    hook = plan(motion, {"follow": "world.hook"}, aspect=1.5)
    assert hook.at(0.3).target == pytest.approx([0, 0, 3.0])
    path = plan(motion, {"follow": "wheel.tip", "distance": 3.0}, aspect=1.5)
    drawn_in = 0.5 * np.exp(-0.5 * (RATE * 0.25) ** 2)
    reach = np.linalg.norm(path.at(0.5).target - [0, 0, 1.0])
    assert reach == pytest.approx(drawn_in, rel=0.1)
    with pytest.raises(RenderError, match=r"no body or point named 'wheel.tp'; did you mean 'wheel.tip'"):
        plan(motion, {"follow": "wheel.tp"}, aspect=1.0)
