"""The camera: sees all when it is fitted, follows smoothly, reads what a person types."""

from __future__ import annotations

import numpy as np
import pytest

from render import camera
from render.camera import Camera, plan
from render.view import Motion, RenderError
from tests.render.synthetic import write_recording


@pytest.fixture(scope="module")
def motion(tmp_path_factory):
    return Motion.from_recording(write_recording(tmp_path_factory.mktemp("camera") / "r.h5"))


def on_screen(points, seen_by, aspect):
    """Return picture coordinates in [-1, 1] of points (k, 3)."""
    relative = points - seen_by.target
    clip = np.concatenate([relative, np.ones((len(points), 1))], axis=1) @ seen_by.matrix(aspect).T
    return clip[:, :2] / clip[:, 3:]


def test_the_eye_stands_where_azimuth_and_elevation_say():
    seen_by = Camera(np.array([1.0, 2, 3]), 4.0, np.deg2rad(90), np.deg2rad(30), 0.5)
    assert seen_by.eye == pytest.approx([1, 2 + 4 * np.cos(np.pi / 6), 3 + 2])
    front = Camera(np.zeros(3), 4.0, 0.0, 0.0, 0.5)  # at +x, looking back: y runs to the right, z up
    x, y = on_screen(np.array([[0, 0.5, 0.25]]), front, 1.0)[0]
    assert (x, y) == pytest.approx((0.5 / 4 / np.tan(0.25), 0.25 / 4 / np.tan(0.25)))


@pytest.mark.parametrize("seed", range(8))
def test_a_fitted_camera_sees_all_points_and_is_no_farther_than_needed(seed):
    random = np.random.default_rng(seed)
    points = random.normal(size=(200, 3)) * random.uniform(0.1, 5, 3) + random.normal(size=3) * 100
    aspect = random.uniform(0.5, 2)
    probe = Camera(np.zeros(3), 1.0, random.uniform(-3, 3), random.uniform(-1, 1), random.uniform(0.3, 1.0))
    centre, distance = camera.fit(points, probe, aspect, free=True)
    seen = on_screen(points, Camera(centre, distance, probe.azimuth, probe.elevation, probe.fov), aspect)
    assert np.abs(seen).max() < 1
    assert max(np.ptp(seen[:, 0]), np.ptp(seen[:, 1])) > 2 * camera.MARGIN - 0.05


@pytest.mark.fast
@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("aside", [0.0, 0.3])
def test_points_along_the_view_are_in_front_of_the_eye(free, aside):
    """The nearest of them as well: it stands between the eye and the target, and not in the eye."""
    probe = Camera(np.zeros(3), 1.0, 0.7, 0.4, 0.5)
    points = np.linspace(-3, 5, 9)[:, None] * probe.backward + aside * np.array([0, 0, 1.0])
    centre, distance = camera.fit(points, probe, 1.5, free=free)
    seen_by = Camera(centre, distance, probe.azimuth, probe.elevation, probe.fov)
    away = (seen_by.eye - points) @ probe.backward
    assert away.min() > 0.05 * distance and distance < 20
    assert np.abs(on_screen(points, seen_by, 1.5)).max() < 1


def test_an_automatic_camera_shows_the_whole_motion(motion):
    path = plan(motion, None, aspect=16 / 9)
    seen = on_screen(camera.outline(motion, motion.sample_times(50)).reshape(-1, 3), path.at(0.3), 16 / 9)
    assert np.abs(seen).max() < 1


def test_an_automatic_camera_looks_across_a_plane_motion(motion):
    path = plan(motion, None, aspect=16 / 9)  # the motion lies in the x-z plane
    assert path.at(0).backward @ [0, -1, 0] > 0.8  # from the front: what goes along x goes to the right
    x = on_screen(np.array([[-1.0, 0, 1], [1.0, 0, 1]]), path.at(0.0), 16 / 9)[:, 0]
    assert x[1] > x[0]


def test_a_motion_far_from_the_origin_is_seen_in_the_same_way(motion):
    offset = np.array([1000.0, -2000, 500])
    wishes = {"follow": "figure.ball", "azimuth": 0.3, "elevation": 0.1}
    near = plan(motion, wishes, aspect=1.5)
    moved = Motion(**{**vars(motion), "position": motion.position + offset})
    far = plan(moved, wishes, aspect=1.5)
    assert far.distance == pytest.approx(near.distance, rel=1e-9)
    assert far.at(0.4).target - offset == pytest.approx(near.at(0.4).target, abs=1e-9)


def test_following_is_smooth_where_the_body_turns_at_once(motion):
    path = plan(motion, {"follow": "figure.ball", "distance": 3.0}, aspect=1.5)
    times = np.linspace(0.05, 0.95, 200)
    targets = np.array([path.at(t).target for t in times])
    speed = np.diff(targets[:, 0]) / np.diff(times)
    assert speed[0] > 1.0 and speed[-1] < -0.5  # it does follow: 2 m/s there, 1 m/s back
    assert np.abs(np.diff(speed)).max() < 0.1  # the body's own speed jumps by 3 m/s
    ball = np.array([motion.poses(t)[0][1] for t in times])
    assert np.linalg.norm(targets - ball, axis=1).max() < 0.45  # within the Gaussian's reach
    assert path.distance == 3.0


def test_a_part_that_falls_off_does_not_push_the_camera_away(motion, monkeypatch):
    many = 8
    times = np.linspace(0, 3, 91)
    position = np.zeros((91, many, 3))
    position[:, :, 0] = np.arange(many)
    position[:, 0, 2] = -4.9 * times**2  # the first of eight falls 44 m
    quat = np.tile([1.0, 0, 0, 0], (91, many, 1))
    shapes = motion.shapes
    body = np.arange(many)
    shapes = type(shapes)(
        body=body,
        kind=("sphere",) * many,
        position=np.zeros((many, 3)),
        quat=quat[0],
        size=np.full((many, 3), 0.2),
        color=np.full((many, 4), np.nan),
    )
    falling = Motion(
        name="",
        times=times,
        body_names=tuple("abcdefgh"),
        position=position,
        quat=quat,
        velocity=0 * position,
        angular_velocity=0 * position,
        com=np.zeros((many, 3)),
        shapes=shapes,
    )
    near = plan(falling, None, aspect=1.5).distance
    monkeypatch.setattr(camera, "STRAY", np.inf)
    assert near < 0.5 * plan(falling, None, aspect=1.5).distance
    drift = position + np.array([0, 50.0, 0]) * times[:, None, None]  # all travel 150 m: followed
    path = plan(Motion(**{**vars(falling), "position": drift}), None, aspect=1.5)
    assert path.at(2.0).target[1] - path.at(1.0).target[1] == pytest.approx(50, rel=0.05)


def test_wishes_are_kept_key_by_key(motion):
    path = plan(motion, {"azimuth": 1.0, "distance": None, "target": [0, 0, 1]}, aspect=1.0)
    assert path.azimuth == 1.0 and path.at(0).target == pytest.approx([0, 0, 1])
    with pytest.raises(RenderError, match="unknown key 'azimut'"):
        plan(motion, {"azimut": 1.0}, aspect=1.0)
    with pytest.raises(RenderError, match="no body or point named 'monkey'"):
        plan(motion, {"follow": "monkey"}, aspect=1.0)


def test_the_text_of_an_option():
    assert camera.parse("azimuth=60, elevation=10deg,distance=4 m,follow=monkey.torso") == {
        "azimuth": pytest.approx(np.deg2rad(60)),
        "elevation": pytest.approx(np.deg2rad(10)),
        "distance": 4.0,
        "follow": "monkey.torso",
    }
    assert camera.parse("top,target=0/1.5/2")["target"] == [0, 1.5, 2]
    assert camera.parse("front")["azimuth"] == 0
    for wrong in ("sideways", "distance=far", "target=1/2", "azimuth="):
        with pytest.raises(RenderError, match="camera: "):
            camera.parse(wrong)
