"""The points of faces, edges and rims that rest on each other: all that carry load, and only those."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull, HalfspaceIntersection
from scipy.spatial.transform import Rotation

from sim.kernels.collision import narrow
from sim.kernels.shapes import BALL, BOX, CAPSULE, CYLINDER, ELLIPSOID, FACE, LINE, PLANE, ROUND, SPHERE
from tests.contact.solids import EYE, NAMES, PAIRS, Meeting, Solid, evaluate, meet, width

pytestmark = [pytest.mark.contact, pytest.mark.fast]

FLOOR = Solid(PLANE, np.zeros(3), np.zeros(3), EYE)
GROUP = Rotation.create_group("O").as_matrix()


def solid(kind: int, size: list[float], x: list[float], turn: Rotation | None = None) -> Solid:
    return Solid(kind, np.array(size, float), np.array(x, float), EYE if turn is None else turn.as_matrix())


def about(axis: str, angle: float) -> Rotation:
    return Rotation.from_euler(axis, angle)


def check_points(meeting: Meeting, margin: float, tolerance: float = 1e-12) -> None:
    """No point is outside of a solid, the nearest is on both surfaces; normals are unit, gaps those of the formula.

    Points that are not nearest may be inside by curvature: the raised end of a tilted capsule touches with a ball.
    """
    assert 1 <= meeting.count <= narrow.POINTS
    assert (meeting.gap <= margin).all()
    np.testing.assert_allclose(np.linalg.norm(meeting.n, axis=1), 1, rtol=0, atol=1e-14)
    half = 0.5 * meeting.gap[:, None] * meeting.n
    for k, (ya, yb) in enumerate(zip(meeting.p - half, meeting.p + half, strict=True)):
        outside = max(meeting.a.outside(ya), meeting.b.outside(yb), key=abs)
        assert outside <= tolerance
        assert abs(outside) <= tolerance or k != np.argmin(meeting.gap)
    again = evaluate(meeting, meeting.x, meeting.R, np.zeros((3, 6)))
    np.testing.assert_allclose(again.gap[: meeting.count], meeting.gap, rtol=0, atol=1e-14)


def resting(a: Solid, b: Solid, expected: list[list[float]] | None = None, tolerance: float = 1e-12) -> Meeting:
    """Check the points of two solids that touch; `expected`: where they are, in any order."""
    meeting = meet(a, b, 1e-3, np.random.default_rng(1))
    check_points(meeting, 1e-3, tolerance)
    assert meeting.distance == pytest.approx(0, abs=1e-14)
    np.testing.assert_allclose(meeting.gap, 0, rtol=0, atol=1e-14)
    if expected is not None:
        assert meeting.count == len(expected)
        found = np.round(meeting.p, 9) + 0.0
        np.testing.assert_allclose(
            found[np.lexsort(found.T)], (np.array(expected)[np.lexsort(np.array(expected).T)]), rtol=0, atol=1e-9
        )
    return meeting


def touching_polygon(a: Solid, b: Solid) -> np.ndarray:
    """Corners of the intersection of two upright boxes, seen from above, by half-planes."""
    planes = []
    for box in (a, b):
        for k in (0, 1):
            n = box.R[:2, k]
            planes += [[*n, -n @ box.x[:2] - box.size[k] / 2], [*-n, n @ box.x[:2] - box.size[k] / 2]]
    return HalfspaceIntersection(np.array(planes), inner_point(np.array(planes))).intersections


def inner_point(planes: np.ndarray) -> np.ndarray:
    """Centre of the largest disc within half-planes."""
    from scipy.optimize import linprog

    found = linprog(
        [0, 0, -1], np.c_[planes[:, :2], np.ones(len(planes))], -planes[:, 2], bounds=[(None, None)] * 2 + [(0, None)]
    )
    assert found.x[2] > 1e-3
    return found.x[:2]


def area(points: np.ndarray) -> float:
    return float(ConvexHull(points[:, :2]).volume)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.floats(0.3, 2), st.floats(0.3, 2), st.floats(0.3, 2), st.floats(0.3, 2), st.floats(0.01, 1.56),
    st.floats(-0.6, 0.6), st.floats(-0.6, 0.6), st.sampled_from([0.0, 1e-10, -1e-10, 1e-4]),
)  # fmt: skip
def test_points_of_two_boxes_span_the_polygon_of_touching(
    w: float, d: float, v: float, e: float, turn: float, x: float, y: float, gap: float
) -> None:
    lower = solid(BOX, [w, d, 0.5], [0, 0, 0])
    upper = solid(BOX, [v, e, 0.7], [x * (w + v) / 3, y * (d + e) / 3, 0.6 + gap], about("z", turn))
    corners = touching_polygon(lower, upper)
    meeting = meet(lower, upper, 1e-3, np.random.default_rng(2))
    check_points(meeting, 1e-3)
    np.testing.assert_allclose(meeting.n, np.tile([0, 0, 1], (meeting.count, 1)), rtol=0, atol=1e-12)
    np.testing.assert_allclose(meeting.gap, gap, rtol=0, atol=1e-14)
    distances = np.linalg.norm(meeting.p[:, None, :2] - corners[None], axis=2)
    np.testing.assert_allclose(distances.min(axis=0), 0, rtol=0, atol=1e-8)  # every corner is a point
    np.testing.assert_allclose(distances.min(axis=1), 0, rtol=0, atol=1e-8)  # every point is a corner


@pytest.mark.parametrize("turn", [0, 1e-12, 1e-9, 1e-7, 1e-5, 1e-3, np.pi / 2, np.pi / 2 + 1e-10])
@pytest.mark.parametrize("shift", [0, 1e-12, 1e-10, 1e-7, 0.2])
def test_points_of_boxes_that_are_nearly_flush_span_nearly_all(turn: float, shift: float) -> None:
    lower = solid(BOX, [1, 1, 1], [0, 0, 0])
    upper = solid(BOX, [1, 1, 1], [shift, -shift, 1], about("z", turn))
    meeting = resting(lower, upper, None, 3e-9)
    assert area(meeting.p) == pytest.approx((1 - shift) ** 2, abs=1e-6 + turn % (np.pi / 2))
    assert ConvexHull(meeting.p[:, :2]).equations[:, 2].max() < -0.299  # the centre is well inside
    if turn == 0 and shift in (0, 0.2):
        assert meeting.count == 4


@pytest.mark.parametrize("tilt", [0, 1e-12, 1e-9, 1e-6, 1e-4])
def test_a_box_tilted_over_a_box_keeps_its_four_points(tilt: float) -> None:
    """The farther corners are guards as long as they are within the margin."""
    lower = solid(BOX, [3, 3, 1], [0, 0, 0])
    turn = about("y", tilt)
    upper = solid(BOX, [1, 1, 1], [0, 0, 0], turn)
    upper.x[2] = 0.5 - (upper.R @ np.array([0.5, 0.5, -0.5]))[2]
    meeting = meet(lower, upper, 1e-3, np.random.default_rng(3))
    check_points(meeting, 1e-3)
    assert meeting.count == 4
    np.testing.assert_allclose(np.sort(meeting.gap), [0, 0, np.sin(tilt), np.sin(tilt)], rtol=1e-9, atol=1e-15)


def test_features_beyond_the_margin_are_left_out() -> None:
    upper = solid(BOX, [1, 1, 1], [0, 0, 0], about("y", 0.01))
    upper.x[2] = -(upper.R @ np.array([0.5, 0.5, -0.5]))[2] + 1e-4
    assert meet(FLOOR, upper, 5e-5).count == 0
    assert meet(FLOOR, upper, 1e-3).count == 2
    assert meet(FLOOR, upper, 0.02).count == 4
    assert meet(FLOOR, upper, 5e-5).distance == pytest.approx(1e-4, abs=1e-15)


def test_a_box_on_a_plane() -> None:
    resting(FLOOR, solid(BOX, [1, 2, 1], [0, 0, 0.5]), [[x, y, 0] for x in (-0.5, 0.5) for y in (-1, 1)])


def test_crossed_beams_touch_where_their_edges_cross() -> None:
    meeting = resting(
        solid(BOX, [3, 1, 1], [0, 0, 0]), solid(BOX, [1, 3, 1], [0, 0, 1]),
        [[x, y, 0.5] for x in (-0.5, 0.5) for y in (-0.5, 0.5)],
    )  # fmt: skip
    assert (meeting.touches.kind[:4] == LINE).all()


def test_an_edge_on_a_face_has_two_points_on_the_face() -> None:
    beam = solid(BOX, [3, 0.6, 1], [0, 0, 0])
    resting(
        beam, solid(BOX, [1, 1, 1], [0, 0, 0.5 + np.sqrt(0.5)], about("y", np.pi / 4)), [[0, -0.3, 0.5], [0, 0.3, 0.5]]
    )


def test_crossed_edges_touch_in_one_point() -> None:
    half = np.sqrt(0.5)
    lower = solid(BOX, [1, 3, 1], [0, 0, 0], about("y", np.pi / 4))
    upper = solid(BOX, [3, 1, 1], [0, 0, 2 * half], about("x", np.pi / 4))
    resting(lower, upper, [[0, 0, half]])


@pytest.mark.parametrize("x", [[1, 1, 1], [1, 0.2, 1]])
def test_corners_and_edges_that_just_meet_have_a_normal(x: list[float]) -> None:
    resting(solid(BOX, [1, 1, 1], [0, 0, 0]), solid(BOX, [1, 1, 1], x))


def test_a_corner_on_a_corner_has_the_normal_that_parts_them() -> None:
    """Their nearest features are points, without a direction at distance zero."""
    tip = Rotation.align_vectors([[0, 0, 1]], [[1, 1, 1]])[0]
    height = np.sqrt(3) / 2
    meeting = resting(
        solid(BOX, [1, 1, 1], [0, 0, 0], tip), solid(BOX, [1, 1, 1], [0, 0, 2 * height], about("z", 0.3) * tip)
    )
    assert meeting.count == 1
    np.testing.assert_allclose(meeting.p[0], [0, 0, height], rtol=0, atol=1e-12)
    assert meeting.n[0, 2] > 0.5


def test_a_lying_capsule_has_two_points() -> None:
    lying = about("y", np.pi / 2)
    resting(FLOOR, solid(CAPSULE, [0.1, 0.1, 1], [0, 0, 0.1], lying), [[-0.5, 0, 0], [0.5, 0, 0]])
    table_top = solid(BOX, [1, 1, 1], [0, 0, 0])
    resting(table_top, solid(CAPSULE, [0.1, 0.1, 0.6], [0.1, 0, 0.6], lying), [[-0.2, 0, 0.5], [0.4, 0, 0.5]])
    resting(table_top, solid(CAPSULE, [0.1, 0.1, 1], [0.3, 0, 0.6], lying), [[-0.2, 0, 0.5], [0.5, 0, 0.5]])
    resting(table_top, solid(CAPSULE, [0.1, 0.1, 3], [0.3, 0, 0.6], lying), [[-0.5, 0, 0.5], [0.5, 0, 0.5]])


def test_parallel_capsules_have_the_two_ends_where_they_are_side_by_side() -> None:
    a, b = solid(CAPSULE, [0.2, 0.2, 1], [0, 0, 0]), solid(CAPSULE, [0.1, 0.1, 1], [0.3, 0, 0.4])
    resting(a, b, [[0.2, 0, -0.1], [0.2, 0, 0.5]])
    resting(a, solid(CAPSULE, [0.1, 0.1, 1], [0, 0, 1.3]), [[0, 0, 0.7]])  # end to end
    resting(a, solid(CAPSULE, [0.1, 0.1, 1], [0.3, 0, 0], about("x", 0.7)), [[0.2, 0, 0]])  # crossed


@pytest.mark.parametrize(
    "below", [FLOOR, solid(BOX, [3, 3, 2], [0, 0, -1]), solid(CYLINDER, [2, 2, 1], [0.1, 0, -0.5])]
)
def test_a_standing_cylinder_has_four_points_fixed_on_it(below: Solid) -> None:
    rim = [[0.5, 0, 0], [0, 0.5, 0], [-0.5, 0, 0], [0, -0.5, 0]]
    there = resting(below, solid(CYLINDER, [0.5, 0.5, 1], [0, 0, 0.5]), rim)
    keys = there.touches.key[:4, 1].tolist()
    for tilt, x in ((1e-10, 0.1), (1e-5, 0), (3e-4, -0.1)):
        turn = about("y", tilt)
        raised = solid(CYLINDER, [0.5, 0.5, 1], [x, 0, 0.5 * np.cos(tilt) + 0.5 * np.sin(tilt)], turn)
        meeting = meet(below, raised, 1e-3, np.random.default_rng(1))
        check_points(meeting, 1e-3)
        fixed = [k for k in range(meeting.count) if meeting.touches.kind[k, 1] == BALL]
        assert meeting.touches.key[fixed, 1].tolist() == keys
        np.testing.assert_allclose(meeting.touches.p[fixed, 1], there.touches.p[:4, 1], rtol=0, atol=1e-15)
        assert meeting.gap.min() == pytest.approx(meeting.distance, abs=1e-9)
        # its lowest point is that of the rim, and here one of the four as well
        assert meeting.gap.min() == pytest.approx(0, abs=1e-12)


def test_a_cylinder_tilted_between_its_fixed_points_touches_with_its_rim() -> None:
    turn = about("z", 0.5) * about("y", 1e-4) * about("z", 0.6)
    raised = solid(CYLINDER, [0.5, 0.5, 1], [0, 0, 0.5 * np.cos(1e-4) + 0.5 * np.sin(1e-4)], turn)
    meeting = meet(FLOOR, raised, 1e-3, np.random.default_rng(1))
    assert meeting.count == 5
    rim = [k for k in range(5) if meeting.touches.kind[k, 1] == ROUND]
    assert meeting.gap[rim] == pytest.approx(0, abs=1e-12)
    assert meeting.gap[[k for k in range(5) if k not in rim]].min() > 1e-6


def test_a_leaning_cylinder_has_its_rim_alone() -> None:
    turn = about("x", 0.3)
    meeting = resting(FLOOR, solid(CYLINDER, [0.5, 0.5, 1], [0, 0, 0.5 * np.cos(0.3) + 0.5 * np.sin(0.3)], turn))
    assert meeting.touches.kind[: meeting.count].tolist() == [[FACE, ROUND]]


def test_a_lying_cylinder_has_a_point_on_each_rim_or_where_it_leaves() -> None:
    lying = about("x", np.pi / 2)
    resting(FLOOR, solid(CYLINDER, [0.5, 0.5, 1], [0, 0, 0.5], lying), [[0, -0.5, 0], [0, 0.5, 0]])
    bench = solid(BOX, [1, 0.8, 1], [0, 0, 0])
    resting(bench, solid(CYLINDER, [0.5, 0.5, 1], [0.1, 0.1, 1], lying), [[0.1, -0.4, 0.5], [0.1, 0.4, 0.5]])
    post = solid(CYLINDER, [0.5, 0.5, 1], [0, 0, 0])
    resting(post, solid(CYLINDER, [0.4, 0.4, 3], [0.3, 0, 0.9], lying), [[0.3, -0.4, 0.5], [0.3, 0.4, 0.5]])
    resting(post, solid(CAPSULE, [0.4, 0.4, 3], [0.3, 0, 0.9], lying), [[0.3, -0.4, 0.5], [0.3, 0.4, 0.5]])
    upright = solid(CYLINDER, [0.4, 0.4, 1], [0.9, 0, 0.3])
    resting(post, upright, [[0.5, 0, -0.2], [0.5, 0, 0.5]])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(0.2, 1.5), st.floats(0.3, 3), st.floats(0.3, 3), st.floats(0, 7))
def test_a_cylinder_over_a_box_covers_most_of_what_it_touches(
    x: float, y: float, r: float, w: float, d: float, turn: float
) -> None:
    """Against the area of disc and rectangle by counting; four points of a circle span two thirds of it."""
    post = solid(CYLINDER, [r, r, 1], [x, y, 1], about("z", turn))
    bench = solid(BOX, [w, d, 1], [0, 0, 0])
    grid = np.stack(np.meshgrid(*2 * [np.linspace(-r, r, 401)]), axis=-1).reshape(-1, 2)
    shared = grid[np.hypot(*grid.T) <= r] + [x, y]
    shared = shared[(np.abs(shared) <= [w / 2, d / 2]).all(axis=1)]
    covered = len(shared) * (r / 200) ** 2
    if covered < 0.02 * r * r:
        return
    meeting = resting(bench, post)
    assert 0.5 * covered <= area(meeting.p) <= 1.05 * covered
    assert (np.abs(meeting.p[:, :2]) <= np.array([w / 2, d / 2]) + 1e-9).all()


@pytest.mark.parametrize("upside_down", [False, True])
@pytest.mark.parametrize(("r", "R", "x"), [(0.5, 0.7, [0.6, 0.25]), (0.7, 0.5, [0.6, -0.25]), (0.4, 0.9, [-0.5, 0.6])])
def test_caps_that_lie_over_each_other_in_part_touch_where_their_rims_cross(
    r: float, R: float, x: list[float], upside_down: bool
) -> None:
    """Two circles, by the distance of their centres; and fixed points of the upper one that lie on the lower."""
    below, above = solid(CYLINDER, [R, R, 0.6], [0, 0, -0.3]), solid(CYLINDER, [r, r, 0.8], [*x, 0.4], about("z", 0.3))
    meeting = resting(above, below) if upside_down else resting(below, above)
    d = np.hypot(*x)
    along = (d * d + R * R - r * r) / (2 * d)
    beside, way = np.sqrt(R * R - along**2), np.array(x) / d
    crossings = [along * way + sign * beside * np.array([-way[1], way[0]]) for sign in (1, -1)]
    away = np.linalg.norm(meeting.p[:, None, :2] - np.array(crossings), axis=2)
    np.testing.assert_allclose(away.min(axis=0), 0, rtol=0, atol=1e-9)
    assert (np.hypot(*meeting.p[:, :2].T) <= R + 1e-9).all()
    assert (np.hypot(*(meeting.p[:, :2] - x).T) <= r + 1e-9).all()
    assert meeting.count >= 3


def test_many_points_are_reduced_to_eight_that_span_them() -> None:
    """A cap whose rim crosses all four edges of a square, with its fixed points on the diagonals: twelve points."""
    post = solid(CYLINDER, [1, 1, 1], [0, 0, 1], about("z", np.pi / 4))
    meeting = resting(solid(BOX, [1.8, 1.8, 1], [0, 0, 0]), post)
    assert meeting.count == 8
    assert area(meeting.p) > 0.9 * 1.8**2 * 0.9
    hull = ConvexHull(meeting.p[:, :2])
    assert hull.equations[:, 2].max() < -0.8


@pytest.mark.parametrize("kind", [SPHERE, ELLIPSOID])
def test_round_bodies_have_one_point(kind: int) -> None:
    for below in (solid(BOX, [2, 2, 1], [0, 0, 0]), solid(CYLINDER, [1, 1, 1], [0, 0, 0])):
        resting(below, solid(kind, [0.3, 0.3, 0.3], [0.2, -0.1, 0.8]), [[0.2, -0.1, 0.5]])
    corner = 0.5 + 0.3 * np.sqrt(0.5)
    resting(solid(BOX, [1, 1, 1], [0, 0, 0]), solid(kind, [0.3, 0.3, 0.3], [corner, 0, corner]), [[0.5, 0, 0.5]])
    resting(
        solid(CYLINDER, [0.5, 0.5, 1], [0, 0, 0]), solid(kind, [0.3, 0.3, 0.3], [corner, 0, corner]), [[0.5, 0, 0.5]]
    )


def almost(rng: np.random.Generator, kinds: tuple[int, int], noise: float) -> tuple[Solid, Solid]:
    """Two solids of round sizes, set upright and in line with each other but for a little noise, and near touching."""
    both = []
    for kind in kinds:
        size = rng.choice([0.5, 1.0, 2.0], 3)
        if kind in (CAPSULE, CYLINDER, SPHERE):
            size[1] = size[0]
        if kind == SPHERE:
            size[2] = size[0]
        turn = GROUP[rng.integers(24)] @ Rotation.from_rotvec(noise * rng.normal(size=3)).as_matrix()
        both.append(Solid(kind, size, rng.choice([0, 0, 0.25, 0.5], 3), turn))
    a, b = both
    b.R = about("z", rng.choice([0, 0, np.pi / 4, 0.3])).as_matrix() @ b.R
    n = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1], [0, 1, 1]])[rng.integers(6)] * rng.choice(
        [-1, 1]
    )
    n = n / np.linalg.norm(n)
    n = a.R[:, 2] if a.kind == PLANE else (-b.R[:, 2] if b.kind == PLANE else n)
    b.x = b.x + n * (rng.choice([0, 1e-13, 1e-9, -1e-9, 1e-6, -1e-6, 1e-4, -1e-3, 1e-2]) - float(width(a, b, n)))
    b.x = b.x + noise * rng.normal(size=3)
    return a, b


@pytest.mark.parametrize("kinds", PAIRS, ids=[f"{NAMES[a]}-{NAMES[b]}" for a, b in PAIRS])
def test_solids_that_are_almost_in_line_are_not_mistaken(kinds: tuple[int, int]) -> None:
    """Where features are nearly parallel or flush: points on both surfaces, and the nearest of them at the distance."""
    noises, touched = [0, 1e-15, 1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3], 0
    for seed in range(66):
        rng = np.random.default_rng(seed)
        a, b = almost(rng, kinds, noises[seed % len(noises)])
        meeting = meet(a, b, 0.05, rng)
        if PLANE not in kinds:
            assert width(a, b, meeting.normal) == pytest.approx(meeting.distance, abs=1e-13)
        if meeting.distance > 0.05:
            continue
        touched += 1
        check_points(meeting, 0.05, 5e-8)  # a flush corner may be 1e-9 beyond, an edge with a gap of 1e-2 more
        if meeting.distance > -1e-8:
            assert meeting.gap.min() == pytest.approx(meeting.distance, abs=3e-9)
    assert touched >= 15
