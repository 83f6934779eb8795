"""Heights of meshes over other shapes across faces, edges and corners: against support functions and dense arcs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from sim.kernels.collision import hulls
from sim.kernels.shapes import BOX, CAPSULE, CYLINDER, ELLIPSOID, LINE, MESH, SPHERE
from tests.contact.polyhedra import ICOSAHEDRON, TETRAHEDRON, polyhedron, prism
from tests.contact.solids import Solid, depth, hull_table, shape_table, width
from tests.kernels.plain import plain

pytestmark = [pytest.mark.contact, pytest.mark.fast]

# Without balls, which the heights leave out.
SIZES = {
    SPHERE: [0, 0, 0],
    CAPSULE: [0, 0, 1.3],
    BOX: [0.4, 0.7, 1.1],
    CYLINDER: [0.3, 0.3, 0.9],
    ELLIPSOID: [0.2, 0.5, 0.35],
}
OTHERS = [*SIZES, MESH]
MESHES = {"tetrahedron": 0.6 * TETRAHEDRON, "icosahedron": 0.4 * ICOSAHEDRON, "prism": 0.7 * prism(5, 0.8)}


def random_unit(rng: np.random.Generator) -> np.ndarray:
    n = rng.normal(size=3)
    return n / np.linalg.norm(n)


class Beside:
    """A mesh and another shape, whose planes across a random direction are so far apart; the mesh at `side`."""

    def __init__(self, name: str, other: int, side: int, gap: float, seed: int = 0):
        rng = np.random.default_rng([seed, other, side, len(name)])
        self.mesh = polyhedron(MESHES[name], rng.normal(size=3), Rotation.random(rng=rng).as_matrix())
        turn = Rotation.random(rng=rng).as_matrix()
        self.other = Solid(other, np.array(SIZES.get(other, []), float), np.zeros(3), turn)
        if other == MESH:
            self.other = polyhedron(0.5 * TETRAHEDRON + [0.1, 0.2, 0.3], np.zeros(3), turn)
        n = random_unit(rng)
        self.other.x = self.other.x + n * (gap - float(width(self.mesh, self.other, n)))
        self.side, self.rng = side, rng
        solids = [self.mesh, self.other] if side == 0 else [self.other, self.mesh]
        self.shapes, _, _ = shape_table(solids, rng)
        self.hulls = hull_table(solids, self.shapes)
        self.pose = np.array([[*s.x, *s.R.ravel()] for s in solids])
        self.args = self.shapes, self.hulls, side, 1 - side, self.pose, side
        self.first = int(self.shapes.first[side])

    def height(self, n: np.ndarray) -> float:
        """s across a direction out of the mesh, world axes."""
        return float(width(self.mesh, self.other, n))

    def faces(self) -> np.ndarray:
        """Outward normals of the mesh, world axes."""
        return ConvexHull(self.mesh.corners).equations[:, :3] @ self.mesh.R.T

    def edges(self) -> list[int]:
        first = self.first + int(self.shapes.corners[self.side])
        return list(range(first, first + int(self.shapes.edges[self.side])))


beside = pytest.mark.parametrize(
    ("name", "other", "side"),
    [(n, o, s) for (n, o), s in zip(itertools.product(MESHES, OTHERS), itertools.cycle([0, 1, 1, 0]))],
)


@beside
def test_farthest_points_corners_and_faces_are_those_of_the_support(name: str, other: int, side: int) -> None:
    b = Beside(name, other, side, 0.3)
    corners = int(b.shapes.corners[side])
    for n in [random_unit(b.rng) for _ in range(20)]:
        v = b.mesh.R.T @ n
        at = hulls_at(b, n)
        np.testing.assert_allclose(plain(hulls.out_of_shape)(b.pose, side, tuple(v)), n, rtol=0, atol=1e-14)
        row = plain(hulls.farthest_corner)(b.shapes, b.hulls, side, tuple(v))
        assert row == b.first + np.argmax(b.hulls.p[b.first : b.first + corners] @ v)
        face = plain(hulls.front_face)(b.shapes, b.hulls, side, tuple(v))
        assert (b.faces() @ n).max() == pytest.approx(b.mesh.R @ b.hulls.d[face] @ n, abs=1e-12)
        assert b.edges()[-1] < face < b.first + corners + len(b.edges()) + int(b.shapes.faces[side])
        assert at @ n == pytest.approx(b.mesh.support(n), abs=1e-13)
        y = np.array(plain(hulls.farthest)(b.shapes, b.hulls, 1 - side, b.pose, 1 - side, tuple(n)))
        assert y @ n == pytest.approx(b.other.support(n), abs=1e-13)
        assert b.other.kind == MESH or b.other.kind in (SPHERE, CAPSULE) or abs(b.other.outside(y)) < 1e-12
        y = b.mesh.x + b.mesh.R @ plain(hulls.against)(b.shapes, b.hulls, 1 - side, b.pose, side, tuple(v))
        assert y @ n == pytest.approx(-b.other.support(-n), abs=1e-13)
        q = b.rng.normal(size=3)
        equations = ConvexHull(b.mesh.corners).equations
        out = (equations[:, :3] @ q + equations[:, 3]).max()
        assert plain(hulls.beyond_faces)(b.shapes, b.hulls, side, tuple(q)) == pytest.approx(out, abs=1e-12)


def hulls_at(b: Beside, n: np.ndarray) -> np.ndarray:
    return np.array(plain(hulls.farthest)(b.shapes, b.hulls, b.side, b.pose, b.side, tuple(n)))


@beside
@pytest.mark.parametrize("gap", [0.4, -0.2])
def test_the_best_face_is_the_highest_of_all_and_what_was_better_stays(
    name: str, other: int, side: int, gap: float
) -> None:
    b = Beside(name, other, side, gap)
    highest = max(map(b.height, b.faces()))
    best, height = plain(hulls.best_of_faces)(*b.args, (0.6, 0.0, 0.8), -math.inf)
    assert height == pytest.approx(highest, abs=1e-12)
    assert b.height(np.array(best)) == pytest.approx(highest, abs=1e-12)
    assert plain(hulls.best_of_faces)(*b.args, (0.6, 0.0, 0.8), highest - 1e-9)[1] == pytest.approx(highest, abs=1e-12)
    kept = plain(hulls.best_of_faces)(*b.args, (0.6, 0.0, 0.8), highest + 1e-9)
    assert kept == ((0.6, 0.0, 0.8), highest + 1e-9)
    n = random_unit(b.rng)
    value = b.height(n)
    better = plain(hulls.better)(*b.args, tuple(n), (0.6, 0.0, 0.8), value - 1e-9)
    np.testing.assert_allclose([*better[0], better[1]], [*n, value], rtol=0, atol=1e-12)
    assert plain(hulls.better)(*b.args, tuple(n), (0.6, 0.0, 0.8), value + 1e-9) == ((0.6, 0.0, 0.8), value + 1e-9)


@pytest.mark.parametrize("name", MESHES)
@pytest.mark.parametrize(("kind", "first"), [(BOX, 0), (CYLINDER, 2)])
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("seed", range(4))
def test_the_best_side_of_a_box_or_cylinder_is_the_highest(
    name: str, kind: int, first: int, side: int, seed: int
) -> None:
    b = Beside(name, kind, side, 0.2, seed)
    normals = [sign * b.other.R[:, k] for k in range(first, 3) for sign in (1, -1)]
    heights = [b.height(-n) for n in normals]
    args = b.shapes, b.hulls, 1 - side, side, b.pose, 1 - side
    best, height = plain(hulls.best_of_sides)(*args, (0.6, 0.0, 0.8), -math.inf)
    assert height == pytest.approx(max(heights), abs=1e-12)
    np.testing.assert_allclose(best, normals[int(np.argmax(heights))], rtol=0, atol=1e-14)
    kept = plain(hulls.best_of_sides)(*args, (0.6, 0.0, 0.8), max(heights) + 1e-9)
    assert kept == ((0.6, 0.0, 0.8), max(heights) + 1e-9)


def arc(n: np.ndarray, m: np.ndarray, share: np.ndarray | float) -> np.ndarray:
    """Directions at shares of the way from n to m along the great circle."""
    angle = math.acos(n @ m)
    share = np.asarray(share)[..., None]
    return (np.sin((1 - share) * angle) * n + np.sin(share * angle) * m) / math.sin(angle)


def peak_on(arc_height: Callable[[np.ndarray | float], np.ndarray | float]) -> float:
    """Highest of a function of 0 to 1: the best of many places, then thirds about it."""
    shares = np.linspace(0, 1, 201)
    best = shares[np.argmax(arc_height(shares))]
    low, high = max(best - 0.005, 0), min(best + 0.005, 1)
    for _ in range(50):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if arc_height(left) > arc_height(right) else (left, high)
    return max(arc_height(low), arc_height(0.0), arc_height(1.0))


@pytest.mark.parametrize("seed", range(12))
def test_values_along_arcs_rise_and_peak_where_samples_do(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m, w = random_unit(rng), random_unit(rng), 2.0 * rng.normal(size=3)
    assert plain(hulls.highest_on_arc)(tuple(n), tuple(m), tuple(w)) == pytest.approx(
        peak_on(lambda x: arc(n, m, x) @ w), abs=1e-12
    )
    one = (0.6, 0.0, 0.8)
    assert plain(hulls.highest_on_arc)(one, one, tuple(w)) == pytest.approx(w @ one)
    for sign in (1, -1):
        v = sign * w
        h = 1e-6
        slope = (arc(n, m, h) - arc(n, m, -h)) @ v / (2 * h) * math.sin(math.acos(n @ m)) / math.acos(n @ m)
        expected = slope if n @ v > 0 else (m - n) @ v
        assert plain(hulls.rise)(tuple(v), tuple(n), tuple(m)) == pytest.approx(expected, abs=1e-8)
    shares = np.linalg.lstsq(np.array([n, m]).T, w, rcond=None)[0] * (1 - (n @ m) ** 2)
    np.testing.assert_allclose(plain(hulls.shares_of_peak)(tuple(n), tuple(m), tuple(w)), shares, rtol=0, atol=1e-12)


@beside
@pytest.mark.parametrize("gap", [0.3, -0.15])
def test_the_best_edge_is_where_dense_arcs_are_highest(name: str, other: int, side: int, gap: float) -> None:
    """Each arc alone by walking or climbing, and the best of all; of ends of arcs, which are faces, others tell."""
    b = Beside(name, other, side, gap, 2)
    R, x, peaks = b.mesh.R, b.mesh.x, []
    for row in b.edges():
        edge = b.hulls[row]
        n, m, p = b.hulls.d[edge.a].copy(), b.hulls.d[edge.b].copy(), edge.p.copy()

        def over(v: np.ndarray, p: np.ndarray = p) -> np.ndarray:
            return -b.other.support(-(v @ R.T)) - v @ R.T @ (x + R @ p)

        peak, ends = peak_on(lambda share, n=n, m=m, over=over: over(arc(n, m, share))), max(over(n), over(m))
        peaks.append(peak)
        args = b.shapes, b.hulls, 1 - side, b.pose, side, tuple(n), tuple(m), tuple(p)
        if other in (CYLINDER, ELLIPSOID):
            found, value = plain(hulls.climb_arc)(*args)
        else:
            found, value = plain(hulls.walk_arc)(*args, ends)
            assert plain(hulls.walk_arc)(*args, peak + 1e-9)[1] == peak + 1e-9
        assert max(value, ends) <= peak + 1e-9
        if peak > 0:  # else arcs may have several peaks
            assert max(value, ends) == pytest.approx(peak, abs=1e-9)
        if value > ends + 1e-9:
            assert over(np.array(found)) == pytest.approx(value, abs=1e-12)
            assert np.linalg.norm(found) == pytest.approx(1, abs=1e-14)
    faces = [b.height(n) for n in b.faces()]
    start = b.faces()[int(np.argmax(faces))]
    best, height = plain(hulls.best_of_edges)(*b.args, tuple(start), max(faces))
    assert height == pytest.approx(max(peaks), abs=1e-9)
    assert b.height(np.array(best)) == pytest.approx(height, abs=1e-12)
    kept = plain(hulls.best_of_edges)(*b.args, tuple(start), max(peaks) + 1e-7)
    assert kept == (tuple(start), max(peaks) + 1e-7)


@pytest.mark.parametrize("kind", [SPHERE, CAPSULE, BOX, CYLINDER])
@pytest.mark.parametrize("seed", range(8))
def test_the_nearest_point_of_a_shape_has_all_of_it_behind(kind: int, seed: int) -> None:
    """A plane through it across the way there has the shape on one side: only the nearest point has."""
    rng = np.random.default_rng(seed)
    solid = Solid(kind, np.array(SIZES[kind], float), np.zeros(3), np.eye(3))
    shapes, _, _ = shape_table([solid], rng)
    q = rng.normal(size=3) * [0.8, 0.8, 1.5]
    y = np.array(plain(hulls.nearest_inside)(shapes, 0, tuple(q)))
    assert (q - y) @ y == pytest.approx(float(solid.support(q - y)), abs=1e-12)
    assert kind in (SPHERE, CAPSULE) or solid.outside(y) <= 1e-12
    for out in (q, -q):
        way = plain(hulls.corner_to)(shapes, None, 0, tuple(out))
        np.testing.assert_allclose(way, np.array(plain(hulls.nearest_inside)(shapes, 0, tuple(out))) - out, atol=1e-15)
        found = plain(hulls.from_corner)(shapes, 0, None, 0, tuple(out), (0.6, 0.0, 0.8))
        if np.any(way) or kind != CYLINDER:
            np.testing.assert_allclose(found, way, rtol=0, atol=1e-15)
    if kind == BOX:
        inside = np.array([0.1, -0.3, 0.5])
        assert plain(hulls.nearest_inside)(shapes, 0, tuple(inside)) == tuple(inside)
    if kind == CYLINDER:
        found = plain(hulls.from_corner)(shapes, 0, None, 0, (0.1, -0.2, 0.3), (0.6, 0.0, 0.8))
        assert found == (-0.1, 0.2, 0.0)


@pytest.mark.parametrize("scale", [0.3, 1.4, 4.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_way_from_a_place_to_an_ellipsoid_is_across_its_surface(scale: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    solid = Solid(ELLIPSOID, np.array(SIZES[ELLIPSOID], float), np.zeros(3), np.eye(3))
    shapes, _, _ = shape_table([solid], rng)
    out = random_unit(rng)
    q = scale * out * solid.size
    start = -out / solid.size
    n = np.array(plain(hulls.from_corner)(shapes, 0, None, 0, tuple(q), tuple(start / np.linalg.norm(start))))
    y = -(solid.size**2) * n / np.linalg.norm(solid.size * n)  # where the ellipsoid is farthest against n
    np.testing.assert_allclose(np.cross(y - q, n), 0, rtol=0, atol=1e-9)
    assert (y - q) @ n * (scale - 1) > 0
    assert np.linalg.norm(n) == pytest.approx(1, abs=1e-12)


def test_the_corner_of_a_mesh_that_is_nearest_to_a_place() -> None:
    b = Beside("icosahedron", MESH, 1, 0.5)  # the first mesh is the tetrahedron: rows of the second come later
    corners = b.hulls.p[b.first : b.first + 12]
    for q in b.rng.normal(size=(10, 3)):
        way = plain(hulls.corner_to)(b.shapes, b.hulls, 1, tuple(q))
        ways = corners - q
        np.testing.assert_allclose(way, ways[np.argmin(np.linalg.norm(ways, axis=1))], rtol=0, atol=1e-15)
    assert {*b.hulls.kind[b.edges()].tolist()} == {LINE}


@pytest.mark.parametrize("name", ["tetrahedron", "prism"])
@pytest.mark.parametrize(("other", "side"), [*zip(OTHERS, [0, 1, 0, 1, 0, 1], strict=True)])
@pytest.mark.parametrize("gap", [-0.1])
def test_the_distance_to_a_mesh_is_the_highest_width_of_all_directions(
    name: str, other: int, side: int, gap: float
) -> None:
    b = Beside(name, other, side, gap, 3)
    best, height = plain(hulls.crossing_of_hulls)(b.shapes, b.hulls, 0, 1, b.pose)
    out = 1.0 if side == 0 else -1.0  # out of the mesh
    assert b.height(out * np.array(best)) == pytest.approx(height, abs=1e-12)
    assert height >= max(map(b.height, b.faces())) - 1e-12
    distance, n = plain(hulls.distance_of_hulls)(b.shapes, b.hulls, 0, 1, b.pose, best, height)
    assert b.height(out * np.array(n)) == pytest.approx(distance, abs=1e-12)
    assert distance == pytest.approx(depth(b.mesh, b.other, out * np.array(n)), abs=1e-8)
