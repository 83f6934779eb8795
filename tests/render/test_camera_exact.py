"""The camera's numbers: matrices, boxes, fits, paths and views, each against another way to find them."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.spatial.transform import Rotation

from render import camera
from render.camera import Camera
from render.view import Motion, RenderError, Shapes, Springs

pytestmark = pytest.mark.fast
SEEN_BY = Camera(np.array([1.0, -2.0, 0.5]), 4.0, 0.7, 0.3, 0.6)
RANDOM = np.random.default_rng(8)
CORNERS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))


def test_the_axes_are_those_of_two_turns():
    """From looking back along x: about y by the elevation upwards, then about z by the azimuth."""
    turned = Rotation.from_euler("z", 0.7) * Rotation.from_euler("y", -0.3)
    assert SEEN_BY.backward == pytest.approx(turned.apply([1, 0, 0]), abs=1e-15)
    assert SEEN_BY.axes == pytest.approx(turned.apply([[0, 1, 0], [0, 0, 1], [1, 0, 0]]), abs=1e-15)
    assert SEEN_BY.eye == pytest.approx(SEEN_BY.target + 4.0 * turned.apply([1, 0, 0]))


@pytest.mark.parametrize("aspect", [0.8, 1.5])
def test_points_are_projected_as_by_a_lens(aspect):
    """Across and up over the depth, by the tangent of half the angle of view; depths from 0.02 to 50 distances."""
    points = RANDOM.normal(size=(20, 3))
    clip = np.concatenate([points, np.ones((20, 1))], axis=1) @ SEEN_BY.matrix(aspect).T
    right, up, backward = SEEN_BY.axes
    depth = 4.0 - points @ backward
    tangent = np.tan(0.3)
    assert clip[:, 0] / clip[:, 3] == pytest.approx(points @ right / (depth * tangent * aspect))
    assert clip[:, 1] / clip[:, 3] == pytest.approx(points @ up / (depth * tangent))
    assert clip[:, 3] == pytest.approx(depth)
    for far, edge in ((0.08, -1.0), (200.0, 1.0)):
        on_edge = np.append((4.0 - far) * backward, 1.0) @ SEEN_BY.matrix(aspect).T
        assert on_edge[2] / on_edge[3] == pytest.approx(edge, abs=1e-9)


def test_a_path_is_linear_between_its_instants():
    path = camera.CameraPath(
        np.array([1.0, 2.0, 4.0]), np.array([[0, 1, 2.0], [2, -1, 4], [3, 5, 0]]), 2.5, 0.1, 0.2, 0.3
    )
    for time, target in ((0.0, [0, 1, 2]), (1.25, [0.5, 0.5, 2.5]), (3.0, [2.5, 2, 2]), (9.0, [3, 5, 0])):
        seen = path.at(time)
        assert seen.target == pytest.approx(target)
        assert (seen.distance, seen.azimuth, seen.elevation, seen.fov) == (2.5, 0.1, 0.2, 0.3)


def needed(points: np.ndarray, probe: Camera, aspect: float, free: bool, axis: int) -> float:
    """Return the least distance at which a margin of a fifth is left on an axis, by linear programming."""
    slope = 0.8 * np.tan(0.5 * probe.fov) * (aspect if axis == 0 else 1.0)
    across, depth = points @ probe.axes[axis], -points @ probe.axes[2]
    rows = [[sign * -1.0, -slope] for sign in (1, -1) for _ in points]
    sides = np.concatenate([slope * depth - across, slope * depth + across])
    found = linprog([0, 1], rows, sides, bounds=[(None, None) if free else (0, 0), (None, None)], method="highs")
    return float(found.x[1])


@pytest.mark.parametrize("aspect", [0.6, 1.7])
@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_a_fit_is_the_nearest_that_leaves_the_margin(seed, free, aspect):
    random = np.random.default_rng(seed)
    points = random.normal(size=(30, 3)) * random.uniform(0.2, 2, 3) + random.normal(size=3)
    probe = Camera(np.zeros(3), 1.0, 0.4 - seed, 0.3 * seed - 0.2, 0.7)
    target, distance = camera.fit(points, probe, aspect, free=free)
    lowest, highest = points.min(axis=0), points.max(axis=0)
    middle = 0.5 * (lowest + highest) if free else np.zeros(3)
    seen = points - middle
    expected = max(needed(seen, probe, aspect, free, axis) for axis in (0, 1))
    expected = max(expected, 1.1 * float((seen @ probe.axes[2]).max()))
    assert distance == pytest.approx(expected, rel=1e-6)
    if free:
        shift = 0.03 * 2 * np.tan(0.35) * distance  # for captions
        for axis, off in ((0, 0.0), (1, shift)):
            slope = 0.8 * np.tan(0.35) * (aspect if axis == 0 else 1.0)
            depth = -seen @ probe.axes[2]
            at = (target - middle) @ probe.axes[axis] + off
            left = (seen @ probe.axes[axis] - slope * depth).max() - at
            right = at - (seen @ probe.axes[axis] + slope * depth).min()
            assert left == pytest.approx(right)  # as much is left on both sides
        assert (target - middle) @ probe.axes[2] == pytest.approx(0.0, abs=1e-12)
    else:
        assert target.tolist() == [0, 0, 0]


def test_points_that_are_not_there_do_not_count():
    probe = Camera(np.zeros(3), 1.0, 0.4, 0.2, 0.7)
    points = RANDOM.normal(size=(9, 3))
    absent = np.concatenate([points, [[np.nan, 0, 0], [9, 9, np.nan]]])
    for one, other in zip(*(camera.fit(p, probe, 1.5, free=True) for p in (points, absent)), strict=True):
        assert one == pytest.approx(other)
    target, distance = camera.fit(absent[-2:], probe, 1.5, free=True)
    assert target.tolist() == [0, 0, 0] and distance == 3.0
    assert camera.fit(np.zeros((1, 3)), probe, 1.5, free=False)[1] == 1e-3


SIZES = {
    "box": ([0.4, 0.6, 1.0], [0.2, 0.3, 0.5]), "mesh": ([0.2, 0.8, 0.3], [0.1, 0.4, 0.15]),
    "sphere": ([0.3, 0.3, 0.3], [0.3, 0.3, 0.3]), "ellipsoid": ([0.2, 0.3, 0.5], [0.2, 0.3, 0.5]),
    "capsule": ([0.1, 0.1, 0.7], [0.1, 0.1, 0.45]), "cylinder": ([0.2, 0.2, 0.5], [0.2, 0.2, 0.25]),
}  # fmt: skip
TURNS = Rotation.from_rotvec(RANDOM.normal(size=(12, 3)))


def moving(kinds: tuple[str, ...], body: list[int], size=None, place=None, **more) -> Motion:
    """Return a motion of two bodies with shapes, turned and moved, at two instants."""
    count, times = len(kinds), np.array([0.0, 2.0])
    quats = TURNS.as_quat(scalar_first=True)
    shapes = Shapes(
        body=np.array(body),
        kind=kinds,
        position=RANDOM.normal(size=(count, 3)) if place is None else np.array(place, float),
        quat=quats[:count],
        size=np.array([SIZES[kind][0] for kind in kinds] if size is None else size, float),
        color=np.full((count, 4), np.nan),
    )
    return Motion(
        name="", times=times, body_names=("left.arm", "right.arm"), position=RANDOM.normal(size=(2, 2, 3)),
        quat=quats[8:12].reshape(2, 2, 4), velocity=np.zeros((2, 2, 3)), angular_velocity=np.zeros((2, 2, 3)),
        com=RANDOM.normal(size=(2, 3)), shapes=shapes, **more,
    )  # fmt: skip


def cloud(points: np.ndarray) -> set[tuple[float, ...]]:
    return {tuple(row) for row in np.round(points, 9) + 0.0}


def boxes(motion: Motion, row: int, chosen: list[int]) -> list[np.ndarray]:
    """Return the corners of the boxes around shapes at a row of a motion, shape by shape."""
    out = []
    for s in chosen:
        shapes, body = motion.shapes, motion.shapes.body[s]
        turn = Rotation.from_quat(shapes.quat[s], scalar_first=True)
        corners = shapes.position[s] + turn.apply(CORNERS * SIZES[shapes.kind[s]][1])
        if body >= 0:
            turn = Rotation.from_quat(motion.quat[row, body], scalar_first=True)
            corners = motion.position[row, body] + turn.apply(corners)
        out.append(corners)
    return out


def test_the_outline_holds_corners_origins_springs_and_trails():
    kinds = tuple(SIZES)
    springs = Springs(body=np.array([[0, 1], [-1, 0]]), point=RANDOM.normal(size=(2, 2, 3)))
    points = {"left.arm.tip": (0, np.array([0.3, -0.2, 0.5]))}
    motion = moving(kinds, [0, 1, 0, 1, 0, 1], springs=springs, points=points, settings={"trails": ["left.arm.tip"]})
    for row, time in enumerate(motion.times):
        (seen,) = camera.outline(motion, np.array([time]))
        turns = [Rotation.from_quat(q, scalar_first=True) for q in motion.quat[row]]
        ends = [
            springs.point[s, e] if springs.body[s, e] < 0
            else motion.position[row, springs.body[s, e]] + turns[springs.body[s, e]].apply(springs.point[s, e])
            for s in range(2) for e in range(2)
        ]  # fmt: skip
        tip = motion.position[row, 0] + turns[0].apply([0.3, -0.2, 0.5])
        expected = np.concatenate([*boxes(motion, row, range(6)), motion.position[row], ends, [tip]])
        assert cloud(seen) == cloud(expected) and len(seen) == len(expected)
        (one,) = camera.outline(motion, np.array([time]), bodies=[1])
        expected = np.concatenate([*boxes(motion, row, [1, 3, 5]), motion.position[row, 1:]])
        assert cloud(one) == cloud(expected) and len(one) == len(expected)
    assert camera.outline(motion, motion.times).shape == (2, len(seen), 3)


def test_a_long_beam_counts_as_far_as_it_is_near():
    """Half the diagonal of what moves around it; not where bodies are chosen."""
    motion = moving(("sphere", "box"), [0, -1])
    motion = replace(motion, shapes=replace(motion.shapes, size=np.array([[0.3] * 3, [40.0, 0.2, 0.4]])))
    (seen,) = camera.outline(motion, motion.times[:1])
    bare = np.concatenate([*boxes(motion, 0, [0]), motion.position[0]])
    low, high = bare.min(axis=0), bare.max(axis=0)
    reach = 0.5 * np.sqrt(((high - low) ** 2).sum())
    turn = Rotation.from_quat(motion.shapes.quat[1], scalar_first=True)
    beam = motion.shapes.position[1] + turn.apply(CORNERS * [20.0, 0.1, 0.2])
    expected = np.concatenate([bare, np.minimum(np.maximum(beam, low - reach), high + reach)])
    assert cloud(seen) == cloud(expected) and len(seen) == 18
    assert len(camera.outline(motion, motion.times, bodies=[0])[0]) == 9


def test_bodies_without_any_shape_are_seen_where_their_origins_are():
    motion = moving((), [], place=np.zeros((0, 3)), size=np.zeros((0, 3)))
    motion = replace(motion, shapes=replace(motion.shapes, body=np.zeros(0, int)))
    (seen,) = camera.outline(motion, motion.times[1:])
    assert cloud(seen) == cloud(motion.position[1])


def test_planes_count_where_bodies_are_seen_onto_them():
    motion = moving(("sphere", "plane"), [0, -1], size=[[0.3] * 3, [9.0, 9.0, 0.0]])
    (seen,) = camera.outline(motion, motion.times[:1])
    bare = np.concatenate([*boxes(motion, 0, [0]), motion.position[0]])
    low, high = bare.min(axis=0), bare.max(axis=0)
    reach = 0.5 * np.sqrt(((high - low) ** 2).sum())
    normal = Rotation.from_quat(motion.shapes.quat[1], scalar_first=True).apply([0, 0, 1])
    box = np.array(list(itertools.product(*zip(low, high, strict=True))))
    feet = box - ((box - motion.shapes.position[1]) @ normal)[:, None] * normal
    expected = np.concatenate([bare, np.clip(feet, low - reach, high + reach)])
    assert cloud(seen) == cloud(expected) and len(seen) == 18
    nothing = replace(motion, position=np.full((2, 2, 3), np.nan))
    assert len(camera.outline(nothing, motion.times[:1])[0]) == 10
    assert len(camera.outline(motion, motion.times, bodies=[0])[0]) == 9


def test_strays_are_four_times_as_far_as_most():
    """The 85th percentile of the distances from the median of each instant is the reach of most."""
    ring = np.stack([np.cos(np.arange(20)), np.sin(np.arange(20)), 0.2 * np.cos(2 * np.arange(20))], axis=1)
    corners = np.stack([ring, ring + np.array([3.0, 0, 0])])
    corners[0, 0], corners[1, 1], corners[1, 2] = [9.0, 0, 0], [3.0, np.nan, 0], [0, 0, -8.0]
    kept, middle, far = camera.without_strays(corners)
    assert middle == pytest.approx(np.nanmedian(corners, axis=1))
    away = [np.linalg.norm(corners[k] - middle[k], axis=1) for k in range(2)]
    reach = np.nanpercentile(np.concatenate(away), 85)
    for k in range(2):
        gone = ~(away[k] <= 4 * reach)
        assert np.isnan(kept[k][gone]).any(axis=1).all() and np.array_equal(kept[k][~gone], corners[k][~gone])
        assert gone.sum() in (1, 2)
    assert not far
    nowhere = np.full((3, 4, 3), np.nan)
    with pytest.warns(RuntimeWarning, match="All-NaN"):
        kept, middle, far = camera.without_strays(nowhere)
    assert np.isnan(kept).all() and np.array_equal(middle, np.zeros((3, 3))) and far is False


@pytest.mark.parametrize(("way", "far"), [(3.9, False), (4.1, True)])
def test_a_motion_travels_far_from_four_reaches_on(way, far):
    ring = np.stack([np.cos(np.arange(40) * 0.157), np.sin(np.arange(40) * 0.157), np.zeros(40)], axis=1)
    corners = np.stack([ring, ring + np.array([0.6, 0, 0.8]) * way])
    reach = np.percentile(np.linalg.norm(ring - np.median(ring, axis=0), axis=1), 85)
    assert camera.without_strays(np.stack([ring, ring + np.array([0.6, 0, 0.8]) * way * reach]))[2] is far
    assert camera.without_strays(corners)[2] == (way > 4 * reach)


@pytest.mark.parametrize(
    ("normal", "azimuth", "elevation"),
    [
        ((0, 1, 0), -90, 12),
        ((0, -1, 0), -90, 12),
        ((1, 0, 0), 0, 12),
        ((-1, 0, 0), 0, 12),
        ((3, 4, 0), -126.8699, 12),
        ((4, 3, 0), 36.8699, 12),
        ((-4, 3, 0), -36.8699, 12),
        ((0.3, 0.4, 0.5), -126.8699, 12),
    ],
)
def test_a_flat_motion_is_seen_from_the_front_or_the_side(normal, azimuth, elevation):
    normal = np.array(normal, float) / np.linalg.norm(normal)
    across = np.cross(normal, [0, 0, 1.0]) / np.linalg.norm(np.cross(normal, [0, 0, 1.0]))
    along = np.cross(normal, across)
    points = np.array([a * across + b * along for a in np.linspace(-2, 2, 9) for b in np.linspace(-1, 1, 5)])
    found = camera.direction(np.stack([points + np.array([5, 6, 7.0]), np.full_like(points, np.nan)]))
    assert np.rad2deg(found) == pytest.approx([azimuth + 25, elevation], abs=1e-4)


@pytest.mark.parametrize(
    ("along", "azimuth"), [((1, 0, 0), -90), ((0, 1, 0), 0), ((0.6, 0.8, 0), -36.8699), ((0.8, -0.6, 0), -126.8699)]
)
@pytest.mark.parametrize("tilt", [0.0, 0.3])
def test_what_lies_flat_is_seen_from_above_across_its_length(along, azimuth, tilt):
    along = np.array(along, float)
    across = np.cross([0, 0, 1.0], along) * np.cos(tilt) + np.array([0, 0, np.sin(tilt)])
    points = np.array([a * along + b * across for a in np.linspace(-2, 2, 9) for b in np.linspace(-1, 1, 5)])
    found = camera.direction(points[None])
    assert np.rad2deg(found) == pytest.approx([azimuth + 25, 50], abs=1e-4)


def test_without_points_the_view_is_from_the_front():
    for points in (np.zeros((0, 3)), np.ones((1, 3)), np.full((4, 3), np.nan)):
        assert np.rad2deg(camera.direction(points[None])) == pytest.approx([-65, 12])
    assert np.isfinite(camera.direction(np.array([[[0, 0, 0.0], [1, 0, 0]]]))).all()


@pytest.mark.parametrize("speed", [1.0, 0.4])
def test_a_path_is_smoothed_by_a_gaussian_of_a_quarter_second_of_film(speed):
    """Against the sum over evenly spaced instants, with both ends reflected through their points."""
    times = np.array([1.0, 1.2, 1.7, 2.1, 3.0])
    path = RANDOM.normal(size=(5, 3))
    even, found = camera.smooth(times, path, speed)
    count = round(2.0 / (0.01 * speed)) + 1
    assert even == pytest.approx(np.linspace(1.0, 3.0, count))
    sigma = 0.25 * speed
    step = even[1] - even[0]
    reach = int(np.ceil(3 * sigma / step))
    offsets = np.arange(-reach, reach + 1)
    weights = np.exp(-0.5 * (offsets * step / sigma) ** 2)
    for k in (0, 3, count // 3, count - 5, count - 1):
        total = np.zeros(3)
        for offset, weight in zip(offsets, weights, strict=True):
            at = k + offset
            inside = np.clip(abs(at) if at < 0 else 2 * (count - 1) - at if at >= count else at, 0, count - 1)
            value = np.array([np.interp(even[inside], times, path[:, c]) for c in range(3)])
            if at < 0:
                value = 2 * path[0] - value
            elif at >= count:
                value = 2 * path[-1] - value
            total += weight * value
        assert found[k] == pytest.approx(total / weights.sum(), abs=1e-12)


def test_a_path_shorter_than_the_gaussian_ends_where_it_ends():
    even, found = camera.smooth(np.array([0.0, 0.02]), np.array([[0.0, 1, 2], [0.2, 1, 3]]), 1.0)
    assert even.tolist() == [0.0, 0.01, 0.02]
    # Reflected as far as it goes, then kept: the weights of 38 instants on each side are equal on both.
    assert found[1] == pytest.approx([0.1, 1, 2.5]) and found[0, 1] == pytest.approx(1.0)
    offsets = np.arange(-75, 76)
    weights = np.exp(-0.5 * (0.04 * offsets) ** 2)
    values = np.where(offsets < 0, -np.minimum(-offsets, 2), np.minimum(offsets, 2)) * 0.1
    beyond = np.where(offsets > 2, 2 * 0.2 - np.clip(4 - offsets, 0, 2) * 0.1, values)
    assert found[0, 0] == pytest.approx((weights * beyond).sum() / weights.sum())
    for times in (np.array([2.0]), np.array([2.0, 2.0])):
        still, place = camera.smooth(times, np.ones((len(times), 3)), 1.0)
        assert still.tolist() == [2.0] and place.tolist() == [[1, 1, 1]]
    assert len(camera.smooth(np.array([0.0, 1e-4]), np.ones((2, 3)), 1.0)[0]) == 2


def test_a_figure_is_the_bodies_with_its_prefix():
    motion = replace(moving(("box",), [0]), body_names=("ape.arm", "ape.leg", "apex.arm", "ball", "a.b.c", "a.b.d"))
    found = {body: camera.family(motion, body) for body in range(-1, 6)}
    everyone = list(range(6))
    assert found == {-1: everyone, 0: [0, 1], 1: [0, 1], 2: [2], 3: everyone, 4: [4, 5], 5: [4, 5]}


def test_following_goes_by_the_centre_of_mass_or_the_point():
    motion = moving(("box",), [0], points={"left.arm.tip": (0, np.array([0.3, -0.2, 0.5]))})
    for name, p_B in (("right.arm", motion.com[1]), ("left.arm.tip", np.array([0.3, -0.2, 0.5]))):
        body = motion.body_names.index(name.removesuffix(".tip"))
        ends = [
            motion.position[row, body] + Rotation.from_quat(motion.quat[row, body], scalar_first=True).apply(p_B)
            for row in range(2)
        ]
        times, path = camera.follow(motion, name, 0.8)
        even, expected = camera.smooth(motion.times, np.array(ends), 0.8)
        assert times == pytest.approx(even) and path == pytest.approx(expected)


# --- plans ------------------------------------------------------------------------------------------


def test_a_plan_keeps_what_is_wished_and_fits_the_rest():
    motion = moving(tuple(SIZES), [0, 1, 0, 1, 0, 1])
    corners = camera.outline(motion, motion.sample_times(240))
    azimuth, elevation = camera.direction(camera.without_strays(corners)[0])
    free = camera.plan(motion, None, aspect=1.5)
    assert (free.azimuth, free.elevation, free.fov) == (azimuth, elevation, np.deg2rad(32))
    probe = Camera(np.zeros(3), 1.0, azimuth, elevation, np.deg2rad(32))
    kept = camera.without_strays(corners)[0].reshape(-1, 3)
    target, distance = camera.fit(kept, probe, 1.5, free=True)
    assert free.targets == pytest.approx(target[None]) and free.distance == pytest.approx(distance)
    assert free.times.tolist() == [0.0]
    wished = camera.plan(motion, {"target": [1, 2, 3], "azimuth": 0.1, "elevation": 0.2, "fov": 0.5}, aspect=1.5)
    probe = Camera(np.zeros(3), 1.0, 0.1, 0.2, 0.5)
    assert wished.targets.tolist() == [[1, 2, 3]]
    assert (wished.azimuth, wished.elevation, wished.fov) == (0.1, 0.2, 0.5)
    assert wished.distance == pytest.approx(camera.fit(corners.reshape(-1, 3) - [1, 2, 3], probe, 1.5, free=False)[1])
    assert camera.plan(motion, {"distance": 7.5}, aspect=1.5).distance == 7.5
    assert camera.plan(motion, {"distance": 7.5}, aspect=1.5).targets == pytest.approx(target[None])


def test_a_plan_that_follows_fits_the_figure_around_the_path():
    motion = moving(tuple(SIZES), [0, 1, 0, 1, 0, 1])
    path = camera.plan(motion, {"follow": "left.arm", "azimuth": 0.1, "elevation": 0.2}, aspect=1.5, speed=0.5)
    times, followed = camera.follow(motion, "left.arm", 0.5)
    assert path.times == pytest.approx(times) and path.targets == pytest.approx(followed)
    instants = motion.sample_times(240)
    corners = camera.outline(motion, instants, bodies=[0])
    middle = np.stack([np.interp(instants, times, followed[:, k]) for k in range(3)], axis=1)
    probe = Camera(np.zeros(3), 1.0, 0.1, 0.2, np.deg2rad(32))
    relative = (corners - middle[:, None]).reshape(-1, 3)
    assert path.distance == pytest.approx(camera.fit(relative, probe, 1.5, free=False)[1])


def test_a_motion_that_travels_far_is_followed():
    motion = moving(("sphere", "sphere"), [0, 1])
    motion = replace(motion, position=motion.position + np.array([[[0.0, 0, 0]], [[200.0, 0, 0]]]))
    path = camera.plan(motion, None, aspect=1.5, speed=0.5)
    instants = motion.sample_times(240)
    kept, middle, far = camera.without_strays(camera.outline(motion, instants))
    assert far
    times, smoothed = camera.smooth(instants, middle, 0.5)
    assert path.times == pytest.approx(times)
    probe = Camera(np.zeros(3), 1.0, path.azimuth, path.elevation, path.fov)
    along = np.stack([np.interp(instants, times, smoothed[:, k]) for k in range(3)], axis=1)
    _, distance = camera.fit((kept - along[:, None]).reshape(-1, 3), probe, 1.5, free=False)
    assert path.targets == pytest.approx(smoothed) and path.distance == pytest.approx(distance)


@pytest.mark.parametrize(
    ("text", "wishes"),
    [
        ("front", (0, 5)),
        ("back", (180, 5)),
        ("left", (90, 5)),
        ("right", (-90, 5)),
        ("side", (-90, 5)),
        ("top", (-90, 89)),
        ("corner", (-50, 20)),
    ],
)
def test_views_have_their_angles(text, wishes):
    found = camera.parse(text)
    assert np.rad2deg([found.pop("azimuth"), found.pop("elevation")]) == pytest.approx(wishes) and not found


def test_numbers_of_an_option_are_degrees_and_metres():
    found = camera.parse(" top , fov = 30 deg,distance=2.5m,, target= 1/-2/0.5,follow = a.b , elevation=-10")
    assert found == {
        "azimuth": pytest.approx(-np.pi / 2),
        "elevation": pytest.approx(np.deg2rad(-10)),
        "fov": pytest.approx(np.pi / 6),
        "distance": 2.5,
        "target": [1.0, -2.0, 0.5],
        "follow": "a.b",
    }
    assert camera.parse("") == {}
    keys = "follow=BODY or BODY.POINT, target=X/Y/Z, distance=M, azimuth=DEG, elevation=DEG, fov=DEG"
    views = "front, back, left, right, side, top, corner"
    for text, words in (
        ("sideways", f"camera: 'sideways' is not one of {views}, {keys}"),
        ("follow=", f"camera: 'follow=' is not one of {views}, {keys}"),
        ("front=1", f"camera: 'front=1' is not one of {views}, {keys}"),
        ("fov=", f"camera: 'fov=' is not one of {views}, {keys}"),
        ("target=1/2", "camera: target=1/2: expected three numbers, target=0/0/1"),
        ("fov=wide", "camera: fov=wide: expected a number, fov=4"),
    ):
        with pytest.raises(RenderError) as caught:
            camera.parse(text)
        assert str(caught.value) == words


@pytest.mark.parametrize(("spread", "azimuth", "elevation"), [
    ((2.0, 0.1, 1.0), -90.0, 12.0), ((0.1, 2.0, 1.0), 0.0, 12.0), ((1.0, 0.1, 2.0), -90.0, 12.0),
    ((2.0, 1.0, 0.1), -90.0, 50.0), ((1.0, 2.0, 0.1), 0.0, 50.0),
])  # fmt: skip
def test_a_motion_is_seen_across_the_plane_in_which_it_is_widest(spread, azimuth, elevation):
    """What is thin is the way of looking, 25 degrees aside; what lies flat is seen from above, across its length."""
    got = np.degrees(camera.direction(RANDOM.permutation(CORNERS) * spread))
    assert got == pytest.approx([azimuth + 25.0, elevation])
