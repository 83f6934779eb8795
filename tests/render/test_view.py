"""Poses at any time against closed forms, events, frames, and files that are no recordings."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from render import rotation
from render.view import Event, Motion, RenderError, Shapes, captions, frame_times
from tests.render.synthetic import BOUNCE, RATE, ball, wheel, write_recording


@pytest.fixture(scope="module")
def coarse(tmp_path_factory):
    return Motion.from_recording(write_recording(tmp_path_factory.mktemp("coarse") / "r.h5", rate=4.0))


def turned(angle_z, angle_y):
    """Rotation matrices Rz(angle_z) Ry(angle_y), written out."""
    cz, sz, cy, sy = np.cos(angle_z), np.sin(angle_z), np.cos(angle_y), np.sin(angle_y)
    return np.array([[cz * cy, -sz, cz * sy], [sz * cy, cz, sz * sy], [-sy, 0, cy]])


def quaternion(angle_z, angle_y):
    a, b = 0.5 * angle_z, 0.5 * angle_y
    return np.array([np.cos(a) * np.cos(b), -np.sin(a) * np.sin(b), np.cos(a) * np.sin(b), np.sin(a) * np.cos(b)])


def spinning(times, position=None):
    """A body with R = Rz(sin 2t) Ry(t^2) and its true angular velocity at `times`."""
    quat = np.array([quaternion(np.sin(2 * t), t**2) for t in times])
    spin = np.array([[-np.sin(np.sin(2 * t)) * 2 * t, np.cos(np.sin(2 * t)) * 2 * t, 2 * np.cos(2 * t)] for t in times])
    zeros = np.zeros((len(times), 1, 3))
    shapes = Shapes(
        body=np.zeros(0, int), kind=(), position=zeros[0], quat=zeros[0], size=zeros[0], color=np.zeros((0, 4))
    )
    return Motion(
        name="spinning",
        times=times,
        body_names=("top",),
        position=zeros,
        quat=quat[:, None],
        velocity=zeros,
        angular_velocity=spin[:, None],
        com=np.zeros((1, 3)),
        shapes=shapes,
    )


def test_flight_is_exact_between_coarse_samples_and_never_mixes_both_sides_of_an_event(coarse):
    instants = np.linspace(0, 1, 401)
    for t in instants:
        p_WB, _ = coarse.poses(t)
        expected, _ = ball(np.array([t]), np.array([t >= BOUNCE]))
        assert p_WB[1] == pytest.approx(expected[0], abs=1e-12)  # a parabola is within the cubic


def test_at_the_instant_of_an_event_the_pose_after_it_is_shown():
    motion = spinning(np.array([0.0, 1.0, 1.0, 2.0]))
    position = np.array([[0.0, 0, 0], [1, 0, 0], [5, 0, 0], [6, 0, 0]])[:, None]
    motion = Motion(**{**vars(motion), "position": position})
    assert motion.poses(1.0)[0][0, 0] == 5
    assert motion.poses(np.nextafter(1.0, 0))[0][0, 0] == pytest.approx(1.0, abs=1e-9)
    assert motion.poses(-3.0)[0][0, 0] == 0 and motion.poses(7.0)[0][0, 0] == 6


def test_turning_at_a_constant_rate_is_exact(coarse):
    for t in np.linspace(0, 1, 101):
        _, R_WB = coarse.poses(t)
        angle = RATE * t
        expected = [[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]]
        assert R_WB[0] == pytest.approx(np.array(expected), abs=1e-12)


def test_more_than_half_a_turn_between_two_samples_goes_the_long_way():
    times = np.array([0.0, 1.5, 3.0])  # 4.5 rad between samples
    quat, spin = wheel(times)
    motion = spinning(times)
    motion = Motion(**{**vars(motion), "quat": quat[:, None], "angular_velocity": spin[:, None]})
    for t in np.linspace(0, 3, 31):
        _, R_WB = motion.poses(t)
        assert R_WB[0, 0, 0] == pytest.approx(np.cos(RATE * t), abs=1e-9)


def test_turning_about_a_moving_axis_converges_with_order_four():
    def error(step):
        times = np.arange(0, 1.2 + 0.5 * step, step)
        motion = spinning(times)
        middles = 0.5 * (times[1:] + times[:-1])
        return max(np.abs(motion.poses(t)[1][0] - turned(np.sin(2 * t), t**2)).max() for t in middles)

    steps = np.array([0.1, 0.05, 0.025, 0.0125])
    slope = np.polyfit(np.log(steps), np.log([error(step) for step in steps]), 1)[0]
    assert 3.7 < slope < 4.4


def test_rotations_stay_rotations_and_the_world_is_last(coarse):
    p_WB, R_WB = coarse.poses(0.377)
    assert R_WB.shape == (3, 3, 3) and np.array_equal(R_WB[-1], np.eye(3)) and np.array_equal(p_WB[-1], np.zeros(3))
    assert R_WB[0] @ R_WB[0].T == pytest.approx(np.eye(3), abs=1e-14)


def test_relative_rotation_undoes_the_exponential():
    vectors = np.random.default_rng(3).normal(size=(50, 3))
    vectors *= np.array([1e-9, 1e-4, 1.0, 2.0, 3.1])[np.arange(50) % 5, None] / np.linalg.norm(
        vectors, axis=1, keepdims=True
    )
    half = 0.5 * np.linalg.norm(vectors, axis=1, keepdims=True)
    quat = np.concatenate([np.cos(half), np.sin(half) * vectors / (2 * half)], axis=1)
    found = rotation.relative(np.tile([1.0, 0, 0, 0], (50, 1)), -quat)  # the sign of a quaternion means nothing
    assert found == pytest.approx(vectors, rel=1e-12, abs=1e-16)
    assert rotation.exponential(found) == pytest.approx(rotation.matrix(quat), abs=1e-14)


def test_the_rate_of_a_rotation_vector_is_its_difference_quotient():
    random = np.random.default_rng(5)
    for angle in (1e-5, 0.3, 2.0, 4.0):
        phi, rate, h = random.normal(size=(1, 3)), random.normal(size=(1, 3)), 1e-5
        phi *= angle / np.linalg.norm(phi)
        slope = rotation._rate_of_vector(phi, rate)
        before, after = rotation.exponential(phi - h * slope), rotation.exponential(phi + h * slope)
        spin = rotation.exponential(phi)[0].T @ (after - before)[0] / (2 * h)  # R^T dR/ds, skew
        assert [spin[2, 1], spin[0, 2], spin[1, 0]] == pytest.approx(rate[0], abs=1e-8)


@pytest.mark.parametrize(
    ("end", "fps", "speed", "count", "last"),
    [(6.0, 30, 1.0, 180, 179 / 30), (1.0, 25, 0.5, 50, 0.98), (0.0, 30, 1, 1, 0)],
)
def test_frames_make_a_film_as_long_as_the_motion(end, fps, speed, count, last):
    times = frame_times(0.0, end, fps=fps, speed=speed)
    assert len(times) == count and times[-1] == pytest.approx(last)


def test_captions_show_what_people_wrote_and_nothing_of_the_engine():
    events = (
        Event(time=1.0, name="rope tears", kind="scene", caption="the rope tears"),
        Event(time=1.5, name="slide off", kind="scene", caption=""),
        Event(time=1.6, name="stop engages", kind="mode", caption=""),
        Event(time=9.0, name="later", kind="scene", caption=""),
    )
    shown = captions(events, 2.0, since=0.0)
    assert [(event.words, age) for event, age in shown] == [("the rope tears", 1.0), ("slide off", 0.5)]
    assert captions(events, 0.999, since=0.0) == []
    assert [event.name for event, _ in captions(events, 2.0, since=1.0)] == ["slide off"]


def test_a_recording_tells_all_that_a_picture_needs(tmp_path):
    motion = Motion.from_recording(write_recording(tmp_path / "r.h5", settings={"fps": 24}))
    assert motion.name == "synthetic" and motion.body_names == ("wheel", "figure.ball")
    assert motion.shapes.kind == ("capsule", "sphere", "box") and motion.shapes.body.tolist() == [0, 1, -1]
    assert [event.caption for event in motion.events] == ["the ball turns round"]
    assert motion.settings == {"fps": 24} and (motion.start, motion.end) == (0.0, 1.0) and motion.complete


def test_only_complete_rows_of_a_killed_run_are_read(tmp_path):
    motion = Motion.from_recording(write_recording(tmp_path / "r.h5", rows=31))
    assert len(motion.times) == 31 and motion.end == pytest.approx(0.25) and not motion.complete


def test_a_scene_without_shapes_is_drawn_with_markers(tmp_path):
    path = write_recording(tmp_path / "r.h5")
    with h5py.File(path, "r+") as file:
        for name, tail in (
            ("body", ()),
            ("kind", ()),
            ("position", (3,)),
            ("quat_wxyz", (4,)),
            ("size", (3,)),
            ("color", (4,)),
        ):
            kept = file[f"shapes/{name}"][:0]
            del file[f"shapes/{name}"]
            file[f"shapes/{name}"] = kept.reshape(0, *tail)
    motion = Motion.from_recording(path)
    assert motion.shapes.kind == ("sphere", "sphere")
    assert np.array_equal(motion.shapes.position, motion.com)


def test_what_is_not_a_recording_is_refused_with_a_sentence(tmp_path):
    (tmp_path / "a.txt").write_text("hello")
    h5py.File(tmp_path / "b.h5", "w").close()
    write_recording(tmp_path / "c.h5", rows=0)
    for name, words in (
        ("none.h5", "there is no file"),
        ("a.txt", "not a recording"),
        ("b.h5", "an HDF5 file of another program"),
        ("c.h5", "no complete row"),
    ):
        with pytest.raises(RenderError, match=words):
            Motion.from_recording(tmp_path / name)


def test_an_unknown_body_is_answered_with_the_nearest(coarse):
    with pytest.raises(RenderError, match=r"no body named 'figure.bal'; did you mean 'figure.ball'\?"):
        coarse.body("figure.bal")
