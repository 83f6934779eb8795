"""Parts of the search for contact points: which candidates are looked at, kept and preferred, and under which keys."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.kernels.collision import narrow, separation, sides
from sim.kernels.scratch import TOUCH_WORK
from sim.kernels.shapes import BALL, BOX, CAPSULE, CYLINDER, ELLIPSOID, MESH, PLANE, SPHERE, TOUCH
from sim.kernels.tables import table
from tests.contact.polyhedra import CUBE, ICOSAHEDRON, polyhedron
from tests.contact.solids import EYE, Meeting, Solid, hull_table, meet, shape_table
from tests.kernels.plain import plain

pytestmark = [pytest.mark.contact, pytest.mark.fast]

SIZES = {
    PLANE: [0, 0, 0], SPHERE: [0.3] * 3, CAPSULE: [0.15, 9.0, 1.3], BOX: [0.4, 0.7, 1.1], CYLINDER: [0.25, 9.0, 0.9],
    ELLIPSOID: [0.2, 0.5, 0.35],
}  # fmt: skip


def solid(kind: int, x: list[float] | np.ndarray, R: np.ndarray = EYE, size: list[float] | None = None) -> Solid:
    if kind == MESH:
        return polyhedron(0.4 * ICOSAHEDRON if size is None else 0.5 * CUBE * size, np.array(x, float), R)
    return Solid(kind, np.array(SIZES[kind] if size is None else size, float), np.array(x, float), R)


def about(axis: str, angle: float) -> np.ndarray:
    return Rotation.from_euler(axis, angle).as_matrix()


class Pair:
    """Two solids on turned links, with their poses as the kernels have them."""

    def __init__(self, a: Solid, b: Solid):
        self.solids = [a, b]
        self.shapes, self.x, self.R = shape_table(self.solids, np.random.default_rng(3))
        self.hulls = hull_table(self.solids, self.shapes)
        self.pose = np.array([[*s.x, *s.R.ravel()] for s in self.solids])
        self.touch, self.points = table(TOUCH, narrow.ROOM), table(TOUCH_WORK, narrow.ROOM)

    def edges(self, side: int) -> list[tuple[tuple[int, int, int], np.ndarray, np.ndarray, float]]:
        """Signs, middle, direction and half length of each edge of a shape, world axes."""
        s, found = self.solids[side], []
        if s.kind == MESH:
            first = int(self.shapes.first[side] + self.shapes.corners[side])
            for row in range(first, first + int(self.shapes.edges[side])):
                h = self.hulls[row]
                found.append(((row, 0, 0), s.x + s.R @ h.p, s.R @ h.d, float(h.half)))
        elif s.kind == BOX:
            for k, one, other in itertools.product(range(3), (1, -1), (1, -1)):
                signs = np.insert([one, other], k, 0)
                found.append((tuple(signs.tolist()), s.x + s.R @ (0.5 * s.size * signs), s.R[:, k], 0.5 * s.size[k]))
        else:
            found.append(((1, 1, 0), s.x, s.R[:, 2], 0.5 * s.size[2]))
        return found


def radius_of(s: Solid) -> float:
    return float(s.size[0]) if s.kind in (SPHERE, CAPSULE, CYLINDER, ELLIPSOID) else 0.0


EDGED = (BOX, CAPSULE, CYLINDER, MESH)


@pytest.mark.parametrize("kinds", list(itertools.product(EDGED, repeat=2)))
def test_edges_may_cross_within_their_ends_and_between_two_heights(kinds: tuple[int, int]) -> None:
    """Just within and just beyond the end of each, the lower and the upper height, and the angle to the normal."""
    rng, may_cross = np.random.default_rng(kinds), plain(narrow.may_cross)
    nearer = {0: 0, 1: 0}
    for _ in range(12):
        pair = Pair(*(solid(k, rng.normal(size=3), Rotation.random(rng=rng).as_matrix()) for k in kinds))
        listed = [pair.edges(side) for side in range(2)]
        (a, p, d, half_a), (b, q, e, half_b) = (listed[side][rng.integers(len(listed[side]))] for side in range(2))
        normal = np.cross(d, e)
        m = normal / np.linalg.norm(normal)
        along = np.linalg.solve(np.array([d, -e, m]).T, q - p)  # p + s d + gap m = q + t e
        way = rng.choice([1.0, -1.0])
        gap = way * along[2] - sum(map(radius_of, pair.solids))
        over = np.abs(along[:2]) - [half_a, half_b]
        nearer[int(np.argmax(over))] += 1

        def asked(n=way * m, low=gap - 0.1, high=gap + 0.1, slack=1e9, pair=pair, a=a, b=b, o=normal):
            return may_cross(
                pair.shapes, pair.hulls, 0, 1, pair.pose, tuple(n), a, b, tuple(o), low, high, slack
            )  # fmt: skip

        assert asked()
        assert asked(slack=over.max() + 1e-9)
        assert not asked(slack=over.max() - 1e-9)
        assert asked(low=gap - 1e-9)
        assert not asked(low=gap + 1e-9)
        assert asked(high=gap + 1e-9)
        assert not asked(high=gap - 1e-9)
        for cosine, there in ((0.4951, True), (0.4949, False)):
            assert bool(asked(n=way * (cosine * m + math.sqrt(1 - cosine**2) * d))) == there
    assert min(nearer.values()) > 0  # the first edge and the second were the one that ends


@pytest.mark.parametrize("end", [1.0, -1.0])
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("kinds", [(BOX, BOX), (CAPSULE, BOX), (MESH, CYLINDER)])
def test_the_slack_of_an_edge_is_beyond_both_of_its_ends(kinds: tuple[int, int], which: int, end: float) -> None:
    """Edges that cross at the end of one, and at the middle of the other, with a positive slack."""
    rng, slack = np.random.default_rng(7), 1e-3
    for beyond, there in ((0.9 * slack, True), (1.1 * slack, False)):
        turns = [Rotation.random(rng=rng).as_matrix() for _ in kinds]
        pair = Pair(*(solid(k, [0, 0, 0], R) for k, R in zip(kinds, turns, strict=True)))
        (a, p, d, half_a), (b, q, e, half_b) = (pair.edges(side)[-1] for side in range(2))
        normal = np.cross(d, e)
        s, t = (end * (half_a + beyond), 0.1) if which == 0 else (0.05, end * (half_b + beyond))
        pair.pose[1, :3] += (p + s * d) - (q + t * e)
        found = plain(narrow.may_cross)(
            pair.shapes, pair.hulls, 0, 1, pair.pose, tuple(normal), a, b, tuple(normal), -9.0, 9.0, slack
        )
        assert bool(found) == there


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("kinds", list(itertools.product((BOX, CYLINDER, PLANE, MESH), (SPHERE, CAPSULE, BOX, MESH))))
def test_a_corner_may_be_over_a_face_between_two_heights(kinds: tuple[int, int], axis: int, side: int) -> None:
    rng, (mine, his) = np.random.default_rng(kinds), kinds
    turns = [Rotation.random(rng=rng).as_matrix() for _ in range(2)]
    face, other = solid(mine, [0.3, -0.2, 0.5], turns[0]), solid(his, rng.normal(size=3), turns[1])
    pair = Pair(*((face, other) if side == 0 else (other, face)))
    row, f = 1 - side, axis if mine == BOX else 2
    half = 0.0 if mine == PLANE else 0.5 * face.size[f]
    outward = -face.R[:, f]
    if mine == MESH:
        f = int(pair.shapes.first[side] + pair.shapes.corners[side] + pair.shapes.edges[side] + 4 + axis)
        outward = face.R @ pair.hulls.d[f]
        half = (face.corners @ pair.hulls.d[f]).max()
    signs, corner = (
        (1, -1, -1),
        0.5 * other.size * (his == BOX) * [1, -1, -1] + (his == CAPSULE) * np.array([0, 0, -0.65]),
    )
    if his == MESH:
        signs = (int(pair.shapes.first[row]) + 3, 0, 0)
        corner = pair.hulls.p[signs[0]]
    gap = outward @ (other.x + other.R @ corner - face.x) - half - radius_of(other)
    for low, high, there in (
        (gap - 1e-9, gap + 1e-9, True), (gap + 1e-9, gap + 1, False), (gap - 1, gap - 1e-9, False),
    ):  # fmt: skip
        found = plain(narrow.over_face)(
            pair.shapes, pair.hulls, side, row, pair.pose, side, f, tuple(outward), signs, low, high
        )
        assert bool(found) == there


@pytest.mark.parametrize("kind", [CYLINDER, ELLIPSOID])
def test_what_is_round_about_a_corner_may_be_anywhere_over_a_face(kind: int) -> None:
    pair = Pair(solid(BOX, [0, 0, 0]), solid(kind, [0, 0, 9]))
    assert plain(narrow.over_face)(pair.shapes, pair.hulls, 0, 1, pair.pose, 0, 2, (0, 0, 1), (1, 1, 1), 0.0, 0.1)


def filled(rng: np.random.Generator) -> tuple[object, object]:
    touch, points = table(TOUCH, 12), table(TOUCH_WORK, 12)
    for rows in (touch, points):
        for name in rows.dtype.names:
            rows[name] = rng.integers(1, 10**6, rows[name].shape)
    return touch, points


def test_rows_are_exchanged_whole_and_no_other_changes() -> None:
    touch, points = filled(np.random.default_rng(1))
    before = touch.copy(), points.copy()
    plain(narrow.exchange)(2, 9, touch, points)
    order = np.arange(12)
    order[[2, 9]] = 9, 2
    for rows, old, names in (
        (touch, before[0], ("link", "kind", "key", "p", "d", "axes", "r", "n")), (points, before[1], ("gap", "p", "n")),
    ):  # fmt: skip
        for name in rows.dtype.names:
            assert (rows[name] == (old[name][order] if name in names else old[name])).all(), name
    plain(narrow.exchange)(4, 4, touch, points)
    assert (touch.key[4] == before[0].key[4]).all() and (points.p[4] == before[1].p[4]).all()


def kept_of(p: np.ndarray, gap: np.ndarray, slack: float) -> list[int]:
    """Which of some places are kept: while there are, those as near as the nearest; each farthest from those before."""
    order = list(range(len(p)))
    for kept in range(8):
        left = order[kept:]
        flush = [k for k in left if gap[k] <= gap.min() + slack] or left
        away = [min((np.linalg.norm(p[k] - p[other]) for other in order[:kept]), default=0.0) for k in flush]
        chosen = flush[-1] if kept == 0 else flush[int(np.argmax(away))]
        at = order.index(chosen)
        order[kept], order[at] = order[at], order[kept]
    return order[:8]


@pytest.mark.parametrize("flush", [0, 1, 3, 8, 9, 12])
@pytest.mark.parametrize("seed", [0, 1])
def test_of_many_points_those_that_are_flush_and_far_apart_are_kept(flush: int, seed: int) -> None:
    rng = np.random.default_rng([flush, seed])
    touch, points = filled(rng)
    p, gap = rng.normal(size=(12, 3)), 0.2 + 0.1 * rng.random(12)
    near = rng.permutation(12)[:flush]
    gap[near] = -0.1 + 1e-7 * rng.random(flush)
    points.p, points.gap = p, gap
    keys = touch.key.copy()
    assert plain(narrow.spread)(12, 1e-6, touch, points) == 8
    wanted = kept_of(p, gap, 1e-6)
    assert (touch.key[:8] == keys[wanted]).all()
    np.testing.assert_array_equal(points.p[:8], p[wanted])
    assert sorted(touch.key[:, 0].tolist()) == sorted(keys[:, 0].tolist())


@pytest.mark.parametrize("count", [0, 1, 8])
def test_as_many_points_as_are_kept_stay_in_order(count: int) -> None:
    touch, points = filled(np.random.default_rng(2))
    keys = touch.key.copy()
    assert plain(narrow.spread)(count, 1e-6, touch, points) == count
    assert (touch.key == keys).all()
    assert plain(narrow.least_gap)(points, count) == (points.gap[:count].min() if count else math.inf)


def keyed(meeting: Meeting, side: int) -> dict[int, np.ndarray]:
    """Places of the points on one solid, in the solid's axes, by their keys on it."""
    s = (meeting.a, meeting.b)[side]
    y = meeting.p + (side - 0.5) * meeting.gap[:, None] * meeting.n
    return {int(key): (at - s.x) @ s.R for key, at in zip(meeting.touches.key[:, side], y, strict=False)}


@pytest.mark.parametrize("exchanged", [False, True])
@pytest.mark.parametrize("up", [1, -1])
@pytest.mark.parametrize("gap", [0.0, 3e-4])
@pytest.mark.parametrize("below", [PLANE, BOX, MESH, CYLINDER])
def test_points_of_a_flat_cap_have_keys_by_their_angles(below: int, gap: float, up: int, exchanged: bool) -> None:
    """Four fixed ones at quarter turns; keys of the cap at +z are 16 more than those of the cap at -z."""
    post = solid(CYLINDER, [0.1, -0.2, 0.45 + gap], np.diag([1.0, up, up]) @ Rotation.from_euler("z", 0.3).as_matrix())
    floor = solid(below, [0, 0, 0] if below == PLANE else [0, 0, -0.5], size=[3, 3, 1] if below != PLANE else None)
    if below == CYLINDER:
        floor.size[0] = 2.0
    meeting = meet(post, floor, 1e-3) if exchanged else meet(floor, post, 1e-3)
    found = keyed(meeting, 0 if exchanged else 1)
    first = sides.ON_RIM + (16 if up < 0 else 0)
    assert meeting.count == 4
    assert sorted(found) == [first, first + 1, first + 2, first + 3]
    for which in range(4):
        wanted = [0.25 * math.cos(which * math.pi / 2), 0.25 * math.sin(which * math.pi / 2), -0.45 * up]
        np.testing.assert_allclose(found[first + which], wanted, rtol=0, atol=1e-9)
    assert meeting.distance == pytest.approx(gap, abs=1e-14)


def test_where_a_cap_hangs_over_the_place_toward_the_middle_and_the_crossings_of_rims_have_keys() -> None:
    """Rims of 0.25 m and 0.6 m about centres that are 0.75 m apart cross; and a cap over the corner of a box."""
    turn = Rotation.from_euler("z", 0.2).as_matrix()
    below = solid(CYLINDER, [0, 0, -0.5], size=[0.6, 0.6, 1])
    post = solid(CYLINDER, [0.45, 0.6, 0.45], turn)
    found = keyed(meet(below, post, 1e-3), 1)
    toward = math.atan2(-0.6, -0.45) - 0.2
    beside = math.acos((0.75**2 + 0.25**2 - 0.6**2) / (2 * 0.75 * 0.25))
    for key, angle in ((4, toward), (5, toward + beside), (6, toward - beside)):
        wanted = [0.25 * math.cos(angle), 0.25 * math.sin(angle), -0.45]
        np.testing.assert_allclose(found.pop(sides.ON_RIM + key), wanted, rtol=0, atol=1e-9)
    found.pop(sides.CAP)  # points fixed on the lower rim, if there are any
    assert found.keys() <= {sides.ON_RIM + k for k in range(4)}
    for at in found.values():
        assert np.linalg.norm((post.x + turn @ at)[:2]) <= 0.6 + 1e-9
    box = solid(BOX, [0, 0, -0.5], size=[1, 1, 1])
    post = solid(CYLINDER, [0.6, 0.65, 0.45], turn)
    found = keyed(meet(box, post, 1e-3), 1)
    angle = math.atan2(-0.65, -0.6) - 0.2
    wanted = [0.25 * math.cos(angle), 0.25 * math.sin(angle), -0.45]
    np.testing.assert_allclose(found[sides.ON_RIM + 4], wanted, rtol=0, atol=1e-9)


STACKS = [
    (solid(BOX, [0, 0, 0]), solid(BOX, [0.1, 0.2, 1.1 + 1e-5], Rotation.from_euler("z", 0.4).as_matrix())),
    (solid(BOX, [0, 0, 0]), solid(MESH, [0.1, 0.2, 1.0 + 1e-5], about("z", 0.4), [0.5, 0.6, 0.9])),
    (solid(CYLINDER, [0, 0, 0]), solid(CAPSULE, [0.4 + 1e-5, 0, 0.3])),
    (solid(CYLINDER, [0, 0, 0]), solid(CYLINDER, [0, 0.5 + 1e-5, -0.35])),
    (solid(CYLINDER, [0, 0, 0]), solid(CAPSULE, [0.1, 0, 0.6], Rotation.from_euler("x", np.pi / 2).as_matrix())),
    (solid(CYLINDER, [0, 0, 0]), solid(BOX, [0.1, 0.45, 0.45 + 0.35 * 2**0.5],
                                       Rotation.from_euler("xy", [0, np.pi / 4]).as_matrix(), [0.7, 2, 0.7])),
    (solid(BOX, [0, 0, 0]), solid(CAPSULE, [0.1, 0, 0.7], Rotation.from_euler("x", np.pi / 2).as_matrix())),
    (solid(BOX, [0, 0, 0]), solid(CYLINDER, [0.1, 0.1, 0.8], Rotation.from_euler("x", np.pi / 2).as_matrix())),
    (solid(MESH, [0, 0, 0], size=[1, 0.7, 0.4]), solid(CYLINDER, [0.5, 0.3, 0.65], about("z", 0.7))),
]  # fmt: skip


@pytest.mark.parametrize("which", range(len(STACKS)))
def test_keys_tell_points_apart_and_are_the_same_when_solids_are_exchanged_or_all_is_moved(which: int) -> None:
    a, b = STACKS[which]
    here, there = meet(a, b, 1e-3), meet(b, a, 1e-3)
    x, R = np.array([0.4, -0.9, 2.3]), Rotation.from_euler("xyz", [0.5, 1.0, -0.3]).as_matrix()
    moved = meet(a.moved(x, R), b.moved(x, R), 1e-3, np.random.default_rng(4))
    assert here.count >= 2

    def told(meeting: Meeting, turned: bool) -> dict[tuple[int, int], np.ndarray]:
        keys = [tuple(k[::-1] if turned else k) for k in meeting.touches.key[: meeting.count].tolist()]
        assert len({*keys}) == meeting.count
        return dict(zip(keys, meeting.p, strict=True))

    known, exchanged, carried = told(here, False), told(there, True), told(moved, False)
    assert known.keys() == carried.keys()
    for key, p in known.items():
        np.testing.assert_allclose(x + R @ p, carried[key], rtol=0, atol=1e-8)
    assert len(exchanged) == len(known)
    places = np.array([*exchanged.values()])
    for p in known.values():  # nearly parallel features may be told by others of their keys
        assert np.linalg.norm(places - p, axis=1).min() < 1e-8


@pytest.mark.parametrize("kind", [SPHERE, CAPSULE, BOX, CYLINDER, ELLIPSOID, MESH])
@pytest.mark.parametrize("first", [False, True])
def test_the_distance_to_a_plane_is_that_of_the_farthest_point_against_it(kind: int, first: bool) -> None:
    rng = np.random.default_rng(kind)
    plane = solid(PLANE, rng.normal(size=3), Rotation.random(rng=rng).as_matrix())
    other = solid(kind, rng.normal(size=3), Rotation.random(rng=rng).as_matrix())
    pair = Pair(*((plane, other) if first else (other, plane)))
    up = plane.R[:, 2]
    s, n, size = plain(narrow.over_plane)(pair.shapes, pair.hulls, 0, 1, pair.pose, np.zeros((13, 3)))
    assert s == pytest.approx(-other.support(-up) - up @ plane.x, abs=1e-14)
    np.testing.assert_allclose(n, up if first else -up, rtol=0, atol=1e-15)
    length = {SPHERE: 0.3, CAPSULE: 0.8, BOX: 0.55, CYLINDER: 0.7, ELLIPSOID: 0.5, MESH: max(other.size) / 2}
    assert size == pytest.approx(length[kind], abs=1e-14)


@pytest.mark.parametrize("which", range(len(STACKS)))
@pytest.mark.parametrize("gap", [-1e-4, 2e-4, 0.9e-3, 1.1e-3])
def test_points_within_a_margin_are_those_of_touching_points(which: int, gap: float) -> None:
    a, b = STACKS[which]
    n = np.array(meet(a, b, 1e-3).normal)
    b = Solid(b.kind, b.size, b.x + gap * n, b.R, b.corners)
    whole = meet(a, b, 1e-3)
    shapes, x, R = shape_table([a, b], None)
    hulls, touch, points = hull_table([a, b], shapes), table(TOUCH, narrow.ROOM), table(TOUCH_WORK, narrow.ROOM)
    count = plain(narrow.points_within)(
        shapes, hulls, 0, 1, x, R, 1e-3, touch, points, np.zeros((2, 12)), np.zeros((13, 3))
    )
    assert count == whole.count
    assert (count == 0) == (whole.distance > 1e-3) == (gap > 1e-3)
    assert (touch.key[:count] == whole.touches.key[:count]).all()
    np.testing.assert_allclose(points.p[:count], whole.p, rtol=0, atol=1e-14)
    np.testing.assert_allclose(points.gap[:count], whole.gap, rtol=0, atol=1e-14)


ROUNDS = (SPHERE, CAPSULE, BOX, CYLINDER, ELLIPSOID)


def across_segments(a: Solid, b: Solid) -> tuple[float, np.ndarray]:
    """Return the width of the gap across what leads out of the segments of two solids, and that direction."""
    pair, core = Pair(a, b), np.zeros((13, 3))
    r, _ = plain(separation.put_cores)(pair.shapes, 0, 1, pair.pose, core)
    n, s = plain(narrow.across_segments)(core)
    return s - r, np.array(n)


@pytest.mark.parametrize("kinds", list(itertools.combinations_with_replacement(ROUNDS, 2)))
def test_what_leads_out_of_segments_bounds_the_distance(kinds: tuple[int, int]) -> None:
    rng = np.random.default_rng(kinds)
    for away in (0.3, 1.0, 3.0):
        a, b = (solid(k, away * rng.normal(size=3), Rotation.random(rng=rng).as_matrix()) for k in kinds)
        s, n = across_segments(a, b)
        assert s <= meet(a, b, 1e-9).distance + 1e-12
        assert s == -math.inf or np.linalg.norm(n) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("kind", [CAPSULE, BOX])
def test_from_a_ball_to_segments_that_is_the_distance(kind: int, first: bool) -> None:
    """Whether it is beside a face, an edge, a corner, the line or its end."""
    rng = np.random.default_rng(kind)
    for _ in range(20):
        other = solid(kind, rng.normal(size=3), Rotation.random(rng=rng).as_matrix())
        ball = solid(SPHERE, other.x + 1.2 * rng.normal(size=3))
        a, b = (ball, other) if first else (other, ball)
        distance = meet(a, b, 1e-9).distance
        if distance > 0.0:
            assert across_segments(a, b)[0] == pytest.approx(distance, abs=1e-9)


@pytest.mark.parametrize("tilt", [0.0, 0.05, -0.2])
def test_long_shapes_are_told_apart_from_what_is_beside_their_ends(tilt: float) -> None:
    """A lying rod beside a pole: their balls, and the line between their centres, tell nothing."""
    pole, rod = solid(CYLINDER, [0, 0, 0], size=[0.1, 9.0, 20.0]), about("y", 0.5 * math.pi + tilt)
    other = solid(CAPSULE, [1.0, 0.0, 8.0], rod, [0.1, 9.0, 1.4])
    distance = meet(pole, other, 1e-9).distance
    for pair in ((pole, other), (other, pole)):
        assert 0.9 * distance < across_segments(*pair)[0] <= distance + 1e-12


def test_a_row_is_kept_where_it_lies_within_heights_near_the_normal_on_both_and_is_new() -> None:
    """A corner of a box over a face of another; one of these is not so in each of the other cases."""
    a, b = solid(BOX, [0, 0, 0]), solid(BOX, [0.1, 0.2, 1.1 + 2e-3], Rotation.from_euler("xz", [1e-3, 0.4]).as_matrix())
    a.size[:], b.size[:] = [0.4, 3.0, 1.1], [0.3, 0.25, 1.1]

    def admitted(n=(0.0, 0.0, 1.0), low=-1.0, high=1.0, slack=1e-9, twice=False, shift=0.0, last=False) -> bool:
        pair = Pair(a, Solid(BOX, b.size, b.x + np.array([shift, 0, 0]), b.R))
        count = narrow.ROOM - 1 if last else (1 if twice else 0)
        args = narrow.Pair(pair.shapes, pair.hulls, 0, 1, pair.x, pair.R, pair.pose), narrow.Sought(n, low, high, slack)
        points = narrow.Points(pair.touch, pair.points)
        for k in range(count + 1) if twice else (count,):
            plain(sides.put_feature)(pair.shapes, pair.hulls, 0, (0, 0, 1), k, 0, pair.touch)
            plain(sides.put_feature)(pair.shapes, pair.hulls, 1, (1, 1, -1), k, 1, pair.touch)
            if k < count:
                assert plain(narrow.admit)(*args, k, points) == k + 1
        found = plain(narrow.admit)(*args, count, points)
        corner = pair.solids[1].x + pair.solids[1].R @ (0.5 * b.size * [1, 1, -1])
        if found > count:
            assert pair.points.gap[count] == pytest.approx(corner[2] - 0.55, abs=1e-14)
            np.testing.assert_allclose(pair.points.p[count], [*corner[:2], 0.5 * (corner[2] + 0.55)], atol=1e-14)
            np.testing.assert_allclose(pair.points.n[count], [0, 0, 1], rtol=0, atol=1e-15)
            np.testing.assert_allclose(
                pair.R[1].reshape(3, 3) @ pair.touch.n[count], [0, 0, 1], rtol=0, atol=1e-15
            )  # fmt: skip
        return bool(found - count)

    corner = b.x + b.R @ (0.5 * b.size * [1, 1, -1])
    gap, edge = corner[2] - 0.55, 0.2 - corner[0]
    assert admitted()
    assert admitted(low=gap - 1e-9) and not admitted(low=gap + 1e-9)
    assert admitted(high=gap + 1e-9) and not admitted(high=gap - 1e-9)
    assert admitted(n=(math.sqrt(1 - 0.501**2), 0.0, 0.501)) and not admitted(n=(math.sqrt(1 - 0.499**2), 0.0, 0.499))
    assert admitted(shift=edge - 1e-6) and not admitted(shift=edge + 1e-6)
    assert admitted(shift=edge + 0.9e-4, slack=1e-4) and not admitted(shift=edge + 1.1e-4, slack=1e-4)
    assert not admitted(twice=True)
    assert not admitted(last=True)


@pytest.mark.parametrize("exchanged", [False, True])
def test_points_within_a_margin_of_a_plane_are_counted(exchanged: bool) -> None:
    for gap, wanted in ((0.9e-3, 4), (1.1e-3, 0)):
        floor, box = (
            solid(PLANE, [0.2, 0.1, 0.3], about("x", 0.4)),
            solid(BOX, [0, 0, 0], about("x", 0.4) @ about("z", 0.5)),
        )
        box.x = floor.x + floor.R @ [0.3, -0.1, 0.55 + gap]
        shapes, x, R = shape_table([box, floor] if exchanged else [floor, box], None)
        touch, points = table(TOUCH, narrow.ROOM), table(TOUCH_WORK, narrow.ROOM)
        rest = shapes, hull_table([], shapes), 0, 1, x, R, 1e-3, touch, points, np.zeros((2, 12)), np.zeros((13, 3))
        assert plain(narrow.points_within)(*rest) == wanted
        count, s, n = plain(narrow.touching_points)(*rest)
        assert count == wanted
        assert s == pytest.approx(gap, abs=1e-14)
        np.testing.assert_allclose(n, floor.R[:, 2] * (-1 if exchanged else 1), rtol=0, atol=1e-14)
        corners = [floor.R.T @ (box.x + box.R @ [0.2 * i, 0.35 * j, -0.55] - floor.x) for i in (1, -1) for j in (1, -1)]
        found = (points.p[:count] - floor.x) @ floor.R
        for corner in corners[:wanted]:
            assert np.linalg.norm(found - [*corner[:2], 0.5 * gap], axis=1).min() < 1e-12


@pytest.mark.parametrize("exchanged", [False, True])
@pytest.mark.parametrize("kind", [CAPSULE, CYLINDER, BOX, MESH])
def test_points_where_a_line_leaves_a_cap_have_keys_by_edge_and_end(kind: int, exchanged: bool) -> None:
    """A line along y, 0.1 m beside the axis of a post of 0.25 m; end 0 is farther along the edge."""
    post, turn = solid(CYLINDER, [0, 0, -0.45]), about("x", -np.pi / 2)  # z of the other is y of the world
    if kind in (CAPSULE, CYLINDER):
        other = solid(kind, [0.1, 0.02, 0.2], turn, [0.2, 0.2, 1.5])
    else:
        other = solid(kind, [0.1, 0.02, 0.35 * 2**0.5], turn @ about("z", np.pi / 4), [0.7, 0.7, 1.5])
    meeting = meet(other, post, 1e-3) if exchanged else meet(post, other, 1e-3)
    found = keyed(meeting, 0 if exchanged else 1)
    shapes, _, _ = shape_table([other], None)
    rows = hull_table([other], shapes)
    ends = {}
    half = (0.25**2 - 0.1**2) ** 0.5
    for end, y in ((0, half), (1, -half)):
        if kind == MESH:
            edges = rows[shapes.corners[0] : shapes.corners[0] + shapes.edges[0]]
            which = int(np.argmin((edges.p @ other.R.T)[:, 2]))
            key = sides.OF_MESH + len(rows) + 2 * which + end
            y *= np.sign((other.R @ edges.d[which])[1])
        else:
            which = next(k for k in found if k % 2 == end) // 2 % 4 if kind == BOX else 0
            key = sides.ON_LINE + 16 + 2 * which + end
        ends[key] = [0.1, y, 0.0]
    assert meeting.count == 2
    assert found.keys() == ends.keys()
    for key, place in ends.items():
        np.testing.assert_allclose(other.x + other.R @ found[key], place, rtol=0, atol=1e-8)


@pytest.mark.parametrize("gap", [0.1, 1e-4])
def test_two_corners_that_are_apart_are_their_own_points(gap: float) -> None:
    tip = Rotation.align_vectors([[0, 0, 1]], [[1, 1, 1]])[0].as_matrix()
    a = solid(BOX, [0, 0, 0], tip, [1, 1, 1])
    b = solid(BOX, [0, 0, 3**0.5 + gap], about("z", 0.3) @ tip, [1, 1, 1])
    meeting = meet(a, b, 0.2)
    nearest = int(np.argmin(np.abs(meeting.gap - gap)))
    assert meeting.gap[nearest] == pytest.approx(gap, abs=1e-14)
    np.testing.assert_allclose(meeting.p[nearest], [0, 0, 0.5 * (3**0.5 + gap)], rtol=0, atol=1e-12)
    np.testing.assert_allclose(meeting.n[nearest], [0, 0, 1], rtol=0, atol=1e-9)
    assert meeting.touches.kind[nearest].tolist() == [BALL, BALL]
    assert meeting.touches.key[nearest].tolist() == [26, 0]  # +++ and ---
