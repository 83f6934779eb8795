"""Which shapes can be near: nobody who comes near is left out, and boxes are as tight as they can be at rest."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.kernels.collision import broad
from sim.kernels.shapes import BOX, CAPSULE, CYLINDER, ELLIPSOID, MESH, PLANE, SPHERE
from tests.contact.solids import EYE, Solid, kept, links_at, meet, random_solid, shape_table
from tests.kernels.plain import plain

pytestmark = [pytest.mark.contact, pytest.mark.fast]


class Crowd:
    """A slanted plane and many solids, some of them on the same link."""

    def __init__(self, seed: int, count: int, speed: float):
        self.rng = rng = np.random.default_rng(seed)
        floor = Solid(PLANE, np.zeros(3), np.array([0, 0, -2.0]), Rotation.from_euler("x", 0.2).as_matrix())
        self.solids = [floor] + [random_solid(rng, int(rng.integers(1, 6))) for _ in range(count)]
        for solid in self.solids[1:]:
            solid.x = rng.uniform(-3, 3, 3)
        self.shapes, self.x, self.R = shape_table(self.solids, rng)
        self.V = speed * rng.normal(size=(count + 2, 6))
        self.V[:2] = 0
        self.pose = np.zeros((2, 12))

    def boxes(self, margin: float, dt: float) -> np.ndarray:
        box, at = np.full((len(self.solids), 6), np.nan), links_at(self.x, self.R, self.V)
        broad.sweep_boxes(kept(self.shapes), at.x, at.R, at.V, margin, dt, box, self.pose)
        return box

    def near(self, margin: float, dt: float) -> set[tuple[int, int]]:
        """Return all pairs of shapes that can meet, the lower one first."""
        box, at, count = self.boxes(margin, dt), links_at(self.x, self.R, self.V), len(self.solids)
        shapes = kept(self.shapes)
        return {
            (i, j)
            for j in range(count)
            for i in range(j)
            if broad.can_meet(shapes, i, j, at.x, at.R, at.V, box, margin, dt, self.pose)
        }

    def later(self, t: float) -> list[Solid]:
        moved = []
        for n, solid in enumerate(self.solids):
            V, x = self.V[n + 1], self.x[n + 1]
            turn = Rotation.from_rotvec(t * V[:3]).as_matrix()
            moved.append(Solid(solid.kind, solid.size, x + t * V[3:] + turn @ (solid.x - x), turn @ solid.R))
        return moved


def test_boxes_at_rest_touch_their_solids_on_six_sides() -> None:
    crowd = Crowd(0, 30, 1.0)
    box = crowd.boxes(0.25, 0.0)
    for n, solid in enumerate(crowd.solids[1:], start=1):
        high, low = solid.support(EYE), -solid.support(-EYE)
        np.testing.assert_allclose(box[n], np.concatenate([low - 0.25, high + 0.25]), rtol=0, atol=1e-13)


@pytest.mark.parametrize(("seed", "speed", "dt"), [(1, 0.3, 0.1), (2, 3.0, 0.1), (3, 0.5, 1.0), (4, 0.0, 1.0)])
def test_whoever_comes_within_the_margin_is_found(seed: int, speed: float, dt: float) -> None:
    crowd, margin = Crowd(seed, 14, speed), 0.05
    count, found = len(crowd.solids), crowd.near(margin, dt)
    met = set()
    for t in np.linspace(0, dt, 6):
        moved = crowd.later(float(t))
        for j in range(count):
            for i in range(j):
                if meet(moved[i], moved[j], 0.0).distance <= margin:
                    met.add((i, j))
    assert len(met) >= 3
    assert met <= found
    if speed == 0:  # and not everything is
        assert len(found) < count * (count - 1) / 3


# One shape of each kind, with the radius of the ball about it [m]: that of a cylinder holds its disc beside its axis.
KINDS = {
    SPHERE: ([0.3, 0.3, 0.3], 0.3),
    CAPSULE: ([0.1, 0.1, 1.4], 0.8),
    BOX: ([0.4, 0.6, 1.2], 0.7),
    CYLINDER: ([0.5, 0.5, 0.6], 0.8),
    ELLIPSOID: ([0.2, 0.9, 0.4], 0.9),
    MESH: ([0.2, 0.4, 0.4], 0.3),
}


def two(a: Solid, b: Solid) -> tuple[np.recarray, np.ndarray, np.ndarray]:
    shapes, x, R = shape_table([a, b], np.random.default_rng(7))
    return kept(shapes), x, R


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", [SPHERE, ELLIPSOID, CYLINDER])
def test_balls_about_shapes_are_as_far_apart_as_their_centres_less_both_radii(kind: int, other: int) -> None:
    turn = Rotation.from_euler("xyz", [0.4, -0.7, 1.1]).as_matrix()
    (size, r), (its_size, s) = KINDS[kind], KINDS[other]
    a = Solid(kind, np.array(size), np.array([0.3, -2.1, 0.7]), turn)
    b = Solid(other, np.array(its_size), np.array([2.3, 0.9, 6.7]), turn.T)
    shapes, x, R = two(a, b)
    assert plain(broad.ball_about)(shapes, 0) == pytest.approx(r, rel=1e-14)
    for i, j in ((0, 1), (1, 0)):
        pose = np.zeros((2, 12))
        assert plain(broad.apart)(shapes, i, j, x, R, pose) == pytest.approx(7.0 - r - s, rel=1e-13)
        assert pose[:, :3] == pytest.approx(np.array([a.x, b.x])[[i, j]], abs=1e-14)
        assert plain(broad.smaller_ball)(shapes, i, j) == pytest.approx(min(r, s), rel=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_all_behind_a_plane_is_the_plane(kind: int) -> None:
    """Its normal is (2, 3, 6) / 7; the centre of the other is 7 above it, seen across, beside what is along."""
    size, r = KINDS[kind]
    n, along = np.array([2.0, 3.0, 6.0]) / 7.0, np.array([3.0, -2.0, 0.0])
    turn = np.column_stack([along / np.sqrt(13.0), np.cross(n, along / np.sqrt(13.0)), n])
    floor = Solid(PLANE, np.zeros(3), np.array([0.2, -0.4, 0.9]), turn)
    above = Solid(kind, np.array(size), floor.x + 7.0 * n + along, turn.T)
    for a, b, i, j in ((floor, above, 0, 1), (above, floor, 1, 0)):
        shapes, x, R = two(a, b)
        for first, second in ((i, j), (j, i)):
            pose = np.zeros((2, 12))
            assert plain(broad.apart)(shapes, first, second, x, R, pose) == pytest.approx(7.0 - r, rel=1e-13)
            assert plain(broad.smaller_ball)(shapes, first, second) == pytest.approx(r, rel=1e-14)


def swept(solid: Solid, V: list[float], origin: list[float], dt: float, margin: float) -> np.ndarray:
    """The box of a solid whose link has its origin elsewhere, and a velocity there."""
    shapes, x, R = shape_table([solid], None)
    x[1] = origin
    shapes.p_KS[0] = R[1].reshape(3, 3).T @ (solid.x - origin)
    at, box = links_at(x, R, np.array([np.zeros(6), V])), np.full((1, 6), np.nan)
    broad.sweep_boxes(kept(shapes), at.x, at.R, at.V, margin, dt, box, np.zeros((2, 12)))
    return box[0]


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_a_box_is_swept_by_the_velocity_of_its_centre(way: float) -> None:
    """Without turning: by the way of the link. With w: by w x r, by the ball's arc, and by how far the way bends."""
    turn = Rotation.from_euler("z", np.arctan2(3.0, 4.0)).as_matrix()
    solid = Solid(BOX, np.array([0.4, 0.6, 1.2]), np.array([1.0, 2.0, 3.0]), turn)  # 0.7 m from centre to corner
    half = np.array([0.5 * (0.4 * 0.8 + 0.6 * 0.6), 0.5 * (0.4 * 0.6 + 0.6 * 0.8), 0.6])
    moved = way * np.array([0.6, -0.2, 1.0])
    box = swept(solid, [0, 0, 0, *(moved / 0.2)], [9.0, 9.0, 9.0], 0.2, 0.03)
    assert box[:3] == pytest.approx(solid.x - half - 0.03 + np.minimum(moved, 0.0), rel=1e-13)
    assert box[3:] == pytest.approx(solid.x + half + 0.03 + np.maximum(moved, 0.0), rel=1e-13)
    # w = 2 along z, the centre 1.5 m beside the link's origin along y: w x r = -3 along x, |w| |w x r| dt^2 / 2 = 0.12.
    box = swept(solid, [0, 0, 2.0 * way, 0, 0, 0], [1.0, 0.5, 9.0], 0.2, 0.03)
    wide, moved = half + 0.03 + 0.4 * 0.7 + 0.12, np.array([-0.6 * way, 0.0, 0.0])
    assert box[:3] == pytest.approx(solid.x - wide + np.minimum(moved, 0.0), rel=1e-13)
    assert box[3:] == pytest.approx(solid.x + wide + np.maximum(moved, 0.0), rel=1e-13)
    # Whatever turns goes no further than to the other side of its ball.
    box = swept(solid, [0, 0, 40.0, 0, 0, 0], [1.0, 2.0, 0.0], 0.2, 0.03)
    assert box == pytest.approx([*(solid.x - half - 1.43), *(solid.x + half + 1.43)], rel=1e-13)


def test_boxes_that_share_a_point_meet() -> None:
    boxes = np.array([[1.0, 2.0, 4.0, 3.0, 5.0, 7.0]] * 2)
    for axis in range(3):
        size = boxes[0, 3 + axis] - boxes[0, axis]
        for shift, meets in ((-1e-9, True), (0.0, True), (1e-9, False)):
            for way in (1, -1):
                moved = boxes.copy()
                moved[1, [axis, 3 + axis]] += way * (size + shift)
                assert plain(broad.boxes_meet)(moved, 0, 1) == meets
                assert plain(broad.boxes_meet)(moved, 1, 0) == meets


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("moves", [False, True])
def test_a_box_meets_a_plane_where_one_of_its_corners_can(sign: float, axis: int, moves: bool) -> None:
    """A plane on a link that moves comes to a corner by its link's speed there, that of turning about a far corner."""
    n = np.roll([6.0, -3.0, 2.0], axis) * sign / 7.0
    side = np.cross(n, [0.3, 0.5, -0.2])
    side = side / np.linalg.norm(side)
    plane = Solid(PLANE, np.zeros(3), np.array([0.5, -0.8, 0.3]), np.column_stack([side, np.cross(n, side), n]))
    ball = Solid(SPHERE, np.full(3, 0.1), np.array([3.0, 2.0, -1.0]), EYE)
    low, high, dt = np.array([1.2, -0.7, 0.4]), np.array([1.9, 0.6, 1.3]), 0.3
    corners = np.array([[(low, high)[k >> i & 1][i] for i in range(3)] for k in range(8)])
    w, v, arm = np.array([0.2, -0.3, 0.6]) * moves, np.array([0.4, 0.1, -0.8]) * moves, np.array([0.5, 0.7, -0.1])
    speed = np.linalg.norm(v) + np.linalg.norm(np.cross(w, arm))
    far = np.linalg.norm(np.abs(corners - plane.x).max(axis=0))
    moved = dt * (speed + np.linalg.norm(w) * (far + speed * dt))
    for order in ((plane, ball), (ball, plane)):
        shapes, x, R = shape_table(list(order), None)
        i = order.index(plane)
        x[i + 1] = plane.x - arm
        shapes.p_KS[i] = R[i + 1].reshape(3, 3).T @ arm
        V = np.zeros((3, 6))
        V[i + 1] = [*w, *v]
        at = links_at(x, R, V)
        lowest = (n @ (corners - plane.x).T).min()
        for spare, meets in ((lowest - moved + 1e-9, True), (lowest - moved - 1e-9, False)):
            box = np.full((2, 6), np.nan)
            box[1 - i] = [*low, *high]
            for first, second in ((0, 1), (1, 0)):
                met = broad.can_meet(kept(shapes), first, second, at.x, at.R, at.V, box, spare, dt, np.zeros((2, 12)))
                assert bool(met) == meets


@pytest.mark.parametrize("seed", range(3))
def test_how_far_a_solid_is_over_a_plane_is_its_lowest_point(seed: int) -> None:
    crowd = Crowd(seed, 30, 1.0)
    placed = np.full((31, 12), np.nan)
    plain(broad.place_all)(crowd.shapes, crowd.x, crowd.R, placed)
    floor = crowd.solids[0]
    n = floor.R[:, 2]
    for j, solid in enumerate(crowd.solids[1:], start=1):
        assert placed[j] == pytest.approx(np.append(solid.x, solid.R.ravel()), abs=1e-13)
        lowest = -solid.support(-n) - n @ floor.x
        assert plain(broad.height_over)(crowd.shapes, 0, j, placed) == pytest.approx(lowest, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_whoever_comes_to_a_plane_is_within_its_way_to_it(seed: int) -> None:
    """And whoever leaves it is not, unless it turns."""
    crowd, dt, margin = Crowd(seed, 40, 0.7), 0.3, 0.01
    placed, n, floor, found = np.full((41, 12), np.nan), crowd.solids[0].R[:, 2], crowd.solids[0], set()
    crowd.x[0], crowd.R[0], crowd.shapes = crowd.x[1], crowd.R[1], crowd.shapes.copy()
    crowd.shapes.link[0] = 0  # the world has the plane
    plain(broad.place_all)(crowd.shapes, crowd.x, crowd.R, placed)
    ways = [plain(broad.way_to_plane)(crowd.shapes, 0, j, placed, crowd.x, crowd.V, margin, dt) for j in range(1, 41)]
    over = [plain(broad.height_over)(crowd.shapes, 0, j, placed) for j in range(1, 41)]
    for t in np.linspace(0.0, dt, 13):
        for j, solid in enumerate(crowd.later(t)[1:]):
            lowest = -solid.support(-n) - n @ floor.x
            found.add(bool(lowest <= 2.0 * margin))
            assert lowest > 2.0 * margin or over[j] <= ways[j] + 1e-12
    assert found == {True, False}
    crowd.V[2:, :3], crowd.V[2:, 3:] = 0.0, n
    away = [plain(broad.way_to_plane)(crowd.shapes, 0, j, placed, crowd.x, crowd.V, margin, dt) for j in range(1, 41)]
    assert away == pytest.approx(np.full(40, 2.0 * margin))
    crowd.shapes.link[0] = 3
    assert plain(broad.way_to_plane)(crowd.shapes, 0, 1, placed, crowd.x, crowd.V, margin, dt) == np.inf
