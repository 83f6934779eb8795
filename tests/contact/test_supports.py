"""Features of shapes, and what supports a shape along a direction: against points of the solids themselves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.kernels.collision import hulls, sides
from sim.kernels.shapes import BALL, BOX, CAPSULE, CYLINDER, ELLIPSOID, FACE, LINE, MESH, PLANE, ROUND, SPHERE, TOUCH
from sim.kernels.tables import table
from tests.contact.polyhedra import CUBE, polyhedron
from tests.contact.solids import Solid, hull_table, shape_table
from tests.kernels.plain import plain

pytestmark = [pytest.mark.contact, pytest.mark.fast]

TURN = Rotation.from_euler("xyz", [0.4, -0.7, 1.1]).as_matrix()
AT = np.array([0.3, -2.1, 0.7])
SIZES = {
    SPHERE: [0.3] * 3, CAPSULE: [0.1, 0.1, 1.4], BOX: [0.4, 0.6, 1.2], CYLINDER: [0.5, 0.5, 0.6],
    ELLIPSOID: [0.2, 0.9, 0.4],
}  # fmt: skip
HALF = np.array([0.2, 0.3, 0.6])  # of the box, and of the box of corners


class Placed:
    """A shape on a link, both turned, and a row to write its features into."""

    def __init__(self, kind: int):
        self.solid = Solid(kind, np.array(SIZES.get(kind, [0, 0, 0]), float), AT, TURN)
        if kind == MESH:
            self.solid = polyhedron(CUBE * HALF, AT, TURN)
        self.shapes, self.x, self.R = shape_table([self.solid], np.random.default_rng(3))
        self.hulls = hull_table([self.solid], self.shapes)
        self.pose = np.zeros((2, 12))
        self.pose[1] = [*AT, *TURN.ravel()]
        self.row = table(TOUCH, 2)

    def world(self, name: str, is_place: bool) -> np.ndarray:
        a = self.R[1].reshape(3, 3) @ self.row[name][1, 1]
        return self.x[1] + a if is_place else a

    def axes(self, a: np.ndarray) -> np.ndarray:
        return TURN.T @ a


def directions() -> list[tuple[float, ...]]:
    some = [(i, j, k) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1) if (i, j, k) != (0, 0, 0)]
    return [*some, (0.3, -0.5, 0.7), (-2.0, 0.1, 0.4)]


@pytest.mark.parametrize("signs", [(i, j, k) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1)])
def test_a_box_has_faces_edges_and_corners(signs: tuple[int, int, int]) -> None:
    free = signs.count(0)
    if free == 3:
        return
    placed = Placed(BOX)
    plain(sides.put_feature)(placed.shapes, placed.hulls, 0, signs, 1, 1, placed.row)
    key = sum(3**n * (sign + 1) for n, sign in enumerate(signs))
    assert (placed.row.kind[1, 1], placed.row.key[1, 1]) == ([BALL, LINE, FACE][free] if free else BALL, key)
    assert placed.row.link[1, 1] == 1 and placed.row.r[1, 1] == 0.0
    assert placed.world("p", True) == pytest.approx(AT + TURN @ (np.array(signs) * HALF), abs=1e-14)
    d = {0: np.zeros(3), 1: np.eye(3)[signs.index(0)] if free == 1 else None, 2: np.array(signs, float)}[free]
    assert placed.world("d", False) == pytest.approx(TURN @ d, abs=1e-14)
    assert not placed.row.p[0].any() and not placed.row.p[1, 0].any()


@pytest.mark.parametrize(
    ("kind", "signs", "what", "at", "r", "key"),
    [
        (SPHERE, (1, 1, 1), BALL, [0, 0, 0], 0.3, 26), (CAPSULE, (1, 1, 1), BALL, [0, 0, 0.7], 0.1, 26),
        (CAPSULE, (1, 1, -1), BALL, [0, 0, -0.7], 0.1, 8), (CAPSULE, (1, 1, 0), LINE, [0, 0, 0], 0.1, 17),
        (CYLINDER, (1, 1, -1), ROUND, [0, 0, -0.3], 0.0, 8), (CYLINDER, (1, 1, 0), LINE, [0, 0, 0], 0.5, 17),
        (ELLIPSOID, (1, 1, 1), ROUND, [0, 0, 0], 0.0, 26),
    ],
)  # fmt: skip
def test_round_shapes_have_round_features(kind: int, signs, what: int, at: list[float], r: float, key: int) -> None:
    placed = Placed(kind)
    plain(sides.put_feature)(placed.shapes, placed.hulls, 0, signs, 1, 1, placed.row)
    assert (placed.row.kind[1, 1], placed.row.r[1, 1], placed.row.key[1, 1]) == (what, r, key)
    assert placed.world("p", True) == pytest.approx(AT + TURN @ at, abs=1e-14)
    if what == ROUND:
        half = [0.5, 0.5, 0.0] if kind == CYLINDER else SIZES[kind]
        axes = placed.row.axes[1, 1].reshape(3, 3) @ placed.R[1].reshape(3, 3).T
        assert axes == pytest.approx((TURN * half).T, abs=1e-14)
    if what == LINE:
        assert placed.world("d", False) == pytest.approx(TURN[:, 2], abs=1e-14)


@pytest.mark.parametrize("s", [1, -1])
def test_ends_of_cylinders_planes_and_points_of_rims(s: int) -> None:
    placed = Placed(CYLINDER)
    plain(sides.put_cap)(placed.shapes, 0, s, 1, 1, placed.row)
    assert (placed.row.kind[1, 1], placed.row.key[1, 1], placed.row.r[1, 1]) == (FACE, 28 if s > 0 else 27, 0.0)
    assert placed.world("p", True) == pytest.approx(AT + 0.3 * s * TURN[:, 2], abs=1e-14)
    assert placed.world("d", False) == pytest.approx(s * TURN[:, 2], abs=1e-14)
    plain(sides.put_rim_point)(placed.shapes, 0, s, 0.8, 77, 1, 1, placed.row)
    on_rim = TURN @ [0.5 * np.cos(0.8), 0.5 * np.sin(0.8), 0.3 * s]
    assert (placed.row.kind[1, 1], placed.row.key[1, 1], placed.row.r[1, 1]) == (BALL, 77, 0.0)
    assert placed.world("p", True) == pytest.approx(AT + on_rim, abs=1e-14)
    for kind, key in ((CYLINDER, 28 if s > 0 else 27), (PLANE, 28)):
        placed = Placed(kind)
        plain(sides.put_face)(placed.shapes, placed.hulls, 0, 2, s, 1, 1, placed.row)
        assert placed.row.key[1, 1] == key
    placed = Placed(BOX)
    for f in range(3):
        plain(sides.put_face)(placed.shapes, placed.hulls, 0, f, s, 1, 1, placed.row)
        assert placed.world("d", False) == pytest.approx(s * TURN[:, f], abs=1e-14)


@pytest.mark.parametrize("v", directions())
@pytest.mark.parametrize("kind", [*SIZES, MESH])
def test_what_supports_a_shape_is_highest_there_and_nearest_to_a_place(kind: int, v: tuple[float, ...]) -> None:
    """Of the feature that is highest along n the point that is nearest to `toward`; of a face beside it a corner."""
    placed = Placed(kind)
    solid, n = placed.solid, TURN @ (np.array(v) / np.linalg.norm(v))
    for toward in (AT + TURN @ [0.1, -0.15, 0.2], AT + TURN @ [1.3, -0.2, 0.25], AT + TURN @ [-0.9, 0.8, -2.0]):
        found = plain(sides.supported)(placed.shapes, placed.hulls, 0, placed.pose, 1, tuple(n), tuple(toward))
        at, q = np.array(found), TURN.T @ (toward - AT)
        assert n @ (AT + TURN @ at) == pytest.approx(float(solid.support(n)), abs=1e-9)
        if kind not in (BOX, MESH):
            continue
        low, high = np.where(np.array(v) > 0, HALF, -HALF), np.where(np.array(v) < 0, -HALF, HALF)
        wanted = np.clip(q, low, high)
        flat = sum(x == 0 for x in v) == 2
        if kind == MESH and flat and np.abs(wanted - q)[np.array(v) == 0].max() > 0:
            free = np.array(v) == 0
            wanted = np.where(free, np.where(q > 0, HALF, -HALF), wanted)
        assert at == pytest.approx(wanted, abs=1e-13)


@pytest.mark.parametrize("v", directions())
@pytest.mark.parametrize("kind", [*SIZES, MESH])
def test_the_supporting_feature_holds_all_points_that_are_highest(kind: int, v: tuple[float, ...]) -> None:
    placed = Placed(kind)
    n, zeros = TURN @ (np.array(v) / np.linalg.norm(v)), sum(x == 0 for x in v)
    plain(sides.put_nearest)(placed.shapes, placed.hulls, 0, placed.pose, 1, tuple(n), 1, placed.row)
    flat, along = v[0] == v[1] == 0, v[2] != 0
    what = {
        SPHERE: BALL, ELLIPSOID: ROUND, CAPSULE: BALL if along else LINE,
        CYLINDER: FACE if flat else (ROUND if along else LINE), BOX: [BALL, LINE, FACE][zeros],
        MESH: [BALL, LINE, FACE][zeros],
    }[kind]  # fmt: skip
    assert placed.row.kind[1, 1] == what
    height = n @ placed.world("p", True) + placed.row.r[1, 1]
    if what == ROUND:
        axes = placed.row.axes[1, 1].reshape(3, 3) @ placed.R[1].reshape(3, 3).T
        height += np.linalg.norm(axes @ n)
    assert height == pytest.approx(float(placed.solid.support(n)), abs=1e-12)
    if what == FACE:
        assert placed.world("d", False) == pytest.approx(n, abs=1e-14)
    if what == LINE:
        assert placed.world("d", False) @ n == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize("v", directions())
def test_corners_and_faces_of_a_mesh_that_look_along_a_direction(v: tuple[float, ...]) -> None:
    placed, n = Placed(MESH), np.array(v) / np.linalg.norm(v)
    row = plain(hulls.farthest_corner)(placed.shapes, placed.hulls, 0, tuple(n))
    assert placed.hulls.kind[row] == BALL
    assert n @ placed.hulls.p[row] == pytest.approx(np.abs(n) @ HALF, abs=1e-14)
    row = plain(hulls.front_face)(placed.shapes, placed.hulls, 0, tuple(n))
    assert placed.hulls.kind[row] == FACE and n @ placed.hulls.d[row] == pytest.approx(np.abs(n).max(), abs=1e-14)
    at = 2.0 * HALF * n
    wanted = (np.abs(at) - HALF).max()
    assert plain(hulls.beyond_faces)(placed.shapes, placed.hulls, 0, tuple(at)) == pytest.approx(wanted, abs=1e-14)
    world = plain(hulls.out_of_shape)(placed.pose, 1, tuple(at))
    assert world == pytest.approx(TURN @ at, abs=1e-14)


@pytest.mark.parametrize("kind", [*SIZES, MESH])
@pytest.mark.parametrize("v", [(0.3, -0.5, 0.7), (-0.2, 0.4, -0.9), (0.9, 0.1, -0.2)])
def test_the_farthest_point_of_a_shape_without_its_ball(kind: int, v: tuple[float, ...]) -> None:
    placed, n = Placed(kind), TURN @ (np.array(v) / np.linalg.norm(v))
    found = np.array(plain(hulls.farthest)(placed.shapes, placed.hulls, 0, placed.pose, 1, tuple(n)))
    ball = {SPHERE: 0.3, CAPSULE: 0.1}.get(kind, 0.0)
    assert n @ found + ball == pytest.approx(float(placed.solid.support(n)), abs=1e-13)
    if kind not in (SPHERE, CAPSULE, MESH):
        assert placed.solid.outside(found) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("kind", [*SIZES, MESH, PLANE])
def test_points_lie_on_features_up_to_their_ends(kind: int) -> None:
    placed, slack = Placed(kind), 1e-3
    lies = plain(sides.lies_on)

    def asked(feature: int, at: np.ndarray) -> bool:
        y = tuple(AT + TURN @ at)
        return bool(lies(placed.shapes, placed.hulls, 0, placed.pose, 1, feature, y, slack))

    far = np.array([9.0, 9.0, 9.0])
    assert asked(BALL, far) and asked(ROUND, far)
    if kind == PLANE:
        assert asked(FACE, far)
    if kind in (BOX, MESH):
        for feature in (FACE, LINE):
            for k in range(3):
                for sign in (1.0, -1.0):
                    for over, there in ((0.9e-3, True), (1.1e-3, False)):
                        at = np.array([0.05, 0.06, -0.07])
                        at[k] = sign * (HALF[k] + over)
                        assert asked(feature, at) == there
    if kind in (CAPSULE, CYLINDER):
        end = 0.7 if kind == CAPSULE else 0.3
        for sign in (1.0, -1.0):
            assert asked(LINE, np.array([5.0, 5.0, sign * (end + 0.9e-3)]))
            assert not asked(LINE, np.array([0.0, 0.0, sign * (end + 1.1e-3)]))
    if kind == CYLINDER:
        for over, there in ((0.9e-3, True), (1.1e-3, False)):
            assert asked(FACE, np.array([0.6 * (0.5 + over), -0.8 * (0.5 + over), 7.0])) == there


def test_where_features_have_no_normal_a_plane_is_chosen() -> None:
    """Across n, on the first shape, through what supports it; a point of the other, which it meets."""
    a, b = Solid(BOX, 2.0 * HALF, AT, TURN), Solid(SPHERE, np.full(3, 0.3), AT + TURN @ [0.05, 0.1, 1.0], TURN.T)
    shapes, x, R = shape_table([a, b], np.random.default_rng(4))
    pose, row, n = np.zeros((2, 12)), table(TOUCH, 2), TURN[:, 2]
    pose[0], pose[1] = [*a.x, *a.R.ravel()], [*b.x, *b.R.ravel()]
    plain(sides.choose_plane)(shapes, hull_table([a, b], shapes), 0, 1, pose, tuple(n), 1, row)
    assert row.kind[1].tolist() == [FACE, BALL] and row.key[1].tolist() == [128, 128] and row.link[1].tolist() == [1, 2]
    assert row.r[1].tolist() == [0.0, 0.0]
    on = [x[k + 1] + R[k + 1].reshape(3, 3) @ row.p[1, k] for k in range(2)]
    assert on[0] == pytest.approx(AT + TURN @ [0.05, 0.1, 0.6], abs=1e-13)
    assert on[1] == pytest.approx(b.x - 0.3 * n, abs=1e-13)
    assert R[1].reshape(3, 3) @ row.d[1, 0] == pytest.approx(n, abs=1e-14)
