"""Planes of the world: where they are drawn, from which side, and that they leave the camera alone."""

from __future__ import annotations

import h5py
import imageio_ffmpeg
import numpy as np
import pytest

from render import film
from render.camera import Camera, plan
from render.stage import Look, Stage
from render.view import Motion, Shapes
from tests.render.synthetic import write_recording
from tests.support.rotations import matrix_from_vector, quat_from_matrix

GREY = ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
SIZE = (320, 240)
GREEN, RED = (0.2, 0.6, 0.3, 1.0), (0.8, 0.2, 0.2, 1.0)
R = matrix_from_vector(np.array([0.5, 0.4, -0.2]))  # of a slope
CENTRE = np.array([0.3, -0.2, 1.0])


def scene(*solids):
    """A body at the origin with a sphere, and planes of the world: (edge, position, quat)."""
    edges, places, quats = zip(*solids, strict=True) if solids else ((), (), ())
    count = len(solids)
    shapes = Shapes(
        body=np.array([0] + [-1] * count), kind=("sphere", *["plane"] * count),
        position=np.array([np.zeros(3), *places]), quat=np.array([[1.0, 0, 0, 0], *quats]),
        size=np.array([[0.2] * 3, *([edge, edge, 0.0] for edge in edges)]), color=np.array([RED] + [GREEN] * count),
    )  # fmt: skip
    return Motion.from_drawing(
        name="", body_names=["ball"], position=np.zeros((1, 3)), quat=np.array([[1.0, 0, 0, 0]]), shapes=shapes
    )


def picture(motion, seen_by):
    drawn = Stage(motion, SIZE, look=Look(background=GREY, floor=True, cell=100.0), quality=1)
    return drawn.draw(motion.poses(0.0), seen_by).astype(int)


def greenish(image):
    return (image[..., 1] > image[..., 0] + 30) & (image[..., 1] > image[..., 2] + 20)


def reddish(image):
    return image[..., 0] > image[..., 1] + 30


@pytest.mark.film
@pytest.mark.usefixtures("opengl")
@pytest.mark.parametrize("azimuth", [0.3, 2.1, -1.7])
def test_a_slope_covers_the_pixels_of_its_square(azimuth):
    """Every pixel's ray is met with the plane by hand."""
    quat = quat_from_matrix(R)
    eye_from = R[:, 2] + 0.3 * np.array([np.cos(azimuth), np.sin(azimuth), 0.0])
    eye_from /= np.linalg.norm(eye_from)
    seen_by = Camera(
        CENTRE, 4.0, float(np.arctan2(eye_from[1], eye_from[0])), float(np.arcsin(eye_from[2])), np.deg2rad(40)
    )
    image = picture(scene((1.2, CENTRE, quat)), seen_by)
    x = (2 * (np.arange(SIZE[0]) + 0.5) / SIZE[0] - 1) * np.tan(np.deg2rad(20)) * SIZE[0] / SIZE[1]
    y = (1 - 2 * (np.arange(SIZE[1]) + 0.5) / SIZE[1]) * np.tan(np.deg2rad(20))
    rays = x[None, :, None] * seen_by.axes[0] + y[:, None, None] * seen_by.axes[1] - seen_by.axes[2]
    depth = (CENTRE - seen_by.eye) @ R[:, 2] / (rays @ R[:, 2])
    on_plane = (seen_by.eye + depth[..., None] * rays - CENTRE) @ R
    hit = (np.abs(on_plane[..., :2]) < 0.6).all(axis=2) & (depth > 0) & ~reddish(image)
    assert hit.sum() > 3000
    assert (greenish(image) != hit).sum() < 0.03 * hit.sum()  # its rim


@pytest.mark.film
@pytest.mark.usefixtures("opengl")
def test_what_is_under_a_plane_is_hidden_and_from_below_the_plane_is_not_there():
    motion = scene((10.0, np.zeros(3), [1.0, 0, 0, 0]))
    above = Camera(np.zeros(3), 3.0, 0.4, np.deg2rad(15), np.deg2rad(30))
    below = Camera(np.zeros(3), 3.0, 0.4, np.deg2rad(-15), np.deg2rad(30))
    whole = reddish(picture(scene(), above)).sum()
    half = reddish(picture(motion, above))
    # The equator's near half is an ellipse of sin(15 deg) times the height of the outline.
    assert half.sum() / whole == pytest.approx(0.5 * (1 + np.sin(np.deg2rad(15))), abs=0.03)
    assert reddish(picture(motion, below)).sum() == pytest.approx(whole, rel=0.02)
    assert not greenish(picture(motion, below)).any()


def test_an_endless_plane_does_not_push_the_camera_away():
    plane = (0.0, 0.0, -0.5), (1.0, 0, 0, 0)
    near, far = (plan(scene((edge, *plane)), None, aspect=1.5) for edge in (1.0, 1000.0))
    bare = plan(scene(), None, aspect=1.5)
    assert near.distance == far.distance and np.array_equal(near.targets, far.targets)
    assert bare.distance < far.distance < 5 * bare.distance  # what is below the ball is in the picture


@pytest.mark.film
@pytest.mark.usefixtures("opengl")
def test_a_film_shows_the_ground(tmp_path):
    path = write_recording(tmp_path / "r.h5", settings={"size": [160, 90], "fps": 5, "captions": False})
    with h5py.File(path, "r+") as file:
        for name, value in (
            ("body", -1), ("kind", b"plane"), ("position", [0, 0, -3.1]), ("quat_wxyz", [1, 0, 0, 0]),
            ("size", [20, 20, 0]), ("color", GREEN),
        ):  # fmt: skip
            values = [*file[f"shapes/{name}"][()].tolist(), value]
            del file[f"shapes/{name}"]
            file[f"shapes/{name}"] = np.array(values)
    reader = imageio_ffmpeg.read_frames(str(film.render_recording(path, tmp_path / "x.mp4")))
    next(reader)
    frames = [np.frombuffer(frame, np.uint8).reshape(90, 160, 3).astype(int) for frame in reader]
    assert len(frames) == 5
    for frame in frames:
        assert greenish(frame[60:]).mean() > 0.5 and not greenish(frame[:10]).any()
