"""What of a shape is in front, seen along a direction: its side, corners and edges, against points of the solid."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.kernels.collision import sides
from sim.kernels.shapes import BOX, CAPSULE, CYLINDER, ELLIPSOID, MESH, PLANE, SPHERE
from tests.contact.polyhedra import ICOSAHEDRON, TETRAHEDRON, polyhedron
from tests.contact.solids import Solid, hull_table, shape_table
from tests.kernels.plain import plain

pytestmark = [pytest.mark.contact, pytest.mark.fast]

KINDS = (PLANE, SPHERE, CAPSULE, BOX, CYLINDER, ELLIPSOID, MESH)
SIZE = np.array([0.4, 0.7, 1.1])


class Seen:
    """A shape after a mesh in the tables, at a random pose on side 1."""

    def __init__(self, kind: int, seed: int = 0):
        rng = np.random.default_rng([kind, seed])
        x, R = rng.normal(size=3), Rotation.random(rng=rng).as_matrix()
        self.solid = polyhedron(ICOSAHEDRON, x, R) if kind == MESH else Solid(kind, SIZE, x, R)
        solids = [polyhedron(TETRAHEDRON), self.solid]
        self.shapes, _, _ = shape_table(solids, rng)
        self.hulls = hull_table(solids, self.shapes)
        self.pose = np.array([[*s.x, *s.R.ravel()] for s in solids])
        self.rng = rng

    def front(self, n: np.ndarray) -> tuple[int, int, float]:
        return plain(sides.front_of)(self.shapes, self.hulls, 1, self.pose, 1, tuple(n))

    def place(self, signs: tuple[int, int, int]) -> np.ndarray:
        return np.array(plain(sides.place_of)(self.shapes, self.hulls, 1, self.pose, 1, signs))

    def along(self, signs: tuple[int, int, int]) -> tuple[np.ndarray, float]:
        d, half = plain(sides.along_edge)(self.shapes, self.hulls, 1, self.pose, 1, signs)
        return np.array(d), half


def directions(rng: np.random.Generator) -> np.ndarray:
    n = rng.normal(size=(12, 3))
    return n / np.linalg.norm(n, axis=1)[:, None]


@pytest.mark.parametrize("kind", KINDS)
def test_the_side_in_front_looks_along_the_direction_most(kind: int) -> None:
    seen = Seen(kind)
    for n in directions(seen.rng):
        f, s, cosine = seen.front(n)
        normal = np.array(plain(sides.normal_of)(seen.shapes, seen.hulls, seen.pose, 1, 1, f, s))
        normals = [sign * axis for axis in (seen.solid.R.T if kind == BOX else seen.solid.R.T[2:]) for sign in (1, -1)]
        if kind == MESH:
            normals = [seen.solid.R @ d for d in seen.hulls.d[-20:]]  # an icosahedron's faces come last
            assert s == 1
        cosines = [n @ m for m in normals]
        assert cosine == pytest.approx(max(cosines), abs=1e-14)
        np.testing.assert_allclose(normal, normals[int(np.argmax(cosines))], rtol=0, atol=1e-14)
    for cosine, flat in ((0.4999, False), (0.5001, True)):
        has = kind in (BOX, PLANE) or (flat and kind in (CYLINDER, MESH))
        assert bool(plain(sides.has_face)(seen.shapes, 1, cosine)) == has


def test_where_two_axes_of_a_box_look_alike_the_first_is_taken() -> None:
    seen = Seen(BOX)
    a, upright = math.sqrt(0.5), np.tile([0, 0, 0, *np.eye(3).ravel()], (2, 1))
    for v, wanted in (((a, a, 0), (0, 1)), ((0, -a, a), (1, -1)), ((-a, 0, a), (0, -1)), ((0.6, 0.0, -0.8), (2, -1))):
        assert plain(sides.front_of)(seen.shapes, seen.hulls, 1, upright, 1, v)[:2] == wanted


@pytest.mark.parametrize("seed", range(3))
def test_front_corners_and_edges_of_a_box_are_those_of_its_front_face(seed: int) -> None:
    seen = Seen(BOX, seed)
    R, x, half = seen.solid.R, seen.solid.x, 0.5 * SIZE
    for n in directions(seen.rng):
        f, s, cosine = seen.front(n)
        assert plain(sides.corners)(seen.shapes, 1, cosine) == plain(sides.edges)(seen.shapes, 1) == 4
        corners = [seen.place(plain(sides.corner)(seen.shapes, 1, f, s, which)) for which in range(4)]
        wanted = [x + R @ (half * signs) for signs in itertools.product((1, -1), repeat=3) if signs[f] == s]
        for corner in wanted:
            assert np.linalg.norm(np.array(corners) - corner, axis=1).min() < 1e-14
        ends = set()
        for which in range(4):
            signs = plain(sides.edge)(seen.shapes, 1, f, s, which)
            d, h = seen.along(signs)
            for way in (1, -1):
                away = np.linalg.norm(np.array(wanted) - (seen.place(signs) + way * h * d), axis=1)
                assert away.min() < 1e-14
                ends.add((which, int(np.argmin(away))))
        assert len(ends) == 8  # each edge has two of the corners,
        assert all(sum(c == corner for _, c in ends) == 2 for corner in range(4))  # and each corner two edges


@pytest.mark.parametrize(("kind", "corners", "edges"), [
    (PLANE, (0, 0), 0), (SPHERE, (1, 1), 0), (CAPSULE, (2, 2), 1), (CYLINDER, (2, 1), 1), (ELLIPSOID, (1, 1), 0),
    (MESH, (12, 12), 30),
])  # fmt: skip
def test_how_many_corners_and_edges_other_shapes_have(kind: int, corners: tuple[int, int], edges: int) -> None:
    """A cylinder that is seen from its end has one rim in front."""
    seen = Seen(kind)
    assert plain(sides.corners)(seen.shapes, 1, 0.4999) == corners[0]
    assert plain(sides.corners)(seen.shapes, 1, 0.5001) == corners[1]
    assert plain(sides.edges)(seen.shapes, 1) == edges
    if kind in (CAPSULE, CYLINDER):
        for s, which in itertools.product((1, -1), (0, 1)):
            place = seen.place(plain(sides.corner)(seen.shapes, 1, 2, s, which))
            wanted = seen.solid.x + seen.solid.R[:, 2] * 0.55 * s * (1 - 2 * which)
            np.testing.assert_allclose(place, wanted, rtol=0, atol=1e-14)
        d, half = seen.along(plain(sides.edge)(seen.shapes, 1, 2, 1, 0))
        np.testing.assert_allclose([*d, half], [*seen.solid.R[:, 2], 0.55], rtol=0, atol=1e-14)
        np.testing.assert_allclose(seen.place((1, 1, 0)), seen.solid.x, rtol=0, atol=1e-14)


def test_corners_and_edges_of_a_mesh_are_in_front_where_they_reach_the_floor() -> None:
    seen = Seen(MESH)
    at = seen.solid.x + seen.solid.corners @ seen.solid.R.T
    for n in directions(seen.rng):
        v = tuple(seen.solid.R.T @ n)
        heights = seen.solid.corners @ v
        for reach in (0.2, 1.0, 99.0):
            floor = plain(sides.floor_of)(seen.shapes, seen.hulls, 1, v, reach)
            assert floor == pytest.approx(max(heights.max() - reach, 0.0), abs=1e-14)
            for which in range(12):
                signs = plain(sides.corner)(seen.shapes, 1, 0, 1, which)
                away = np.linalg.norm(at - seen.place(signs), axis=1)
                assert away.min() < 1e-14
                front = plain(sides.is_front)(seen.shapes, seen.hulls, 1, v, floor, signs)
                assert bool(front) == (heights[np.argmin(away)] >= floor)
            for which in range(30):
                signs = plain(sides.edge)(seen.shapes, 1, 0, 1, which)
                d, half = seen.along(signs)
                ends = [np.linalg.norm(at - (seen.place(signs) + way * half * d), axis=1) for way in (1, -1)]
                assert max(e.min() for e in ends) < 1e-12
                highest = max(heights[np.argmin(e)] for e in ends)
                if abs(highest - floor) > 1e-9:
                    front = plain(sides.is_front)(seen.shapes, seen.hulls, 1, v, floor, signs)
                    assert bool(front) == (highest >= floor)
    box = Seen(BOX)
    assert plain(sides.floor_of)(box.shapes, box.hulls, 1, (0.0, 0.0, 1.0), 0.1) == 0.0
    assert plain(sides.is_front)(box.shapes, box.hulls, 1, (0.0, 0.0, 1.0), 9.0, (1, 1, 1))
