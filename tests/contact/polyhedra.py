"""Convex meshes to test with, and `coal`, which shares nothing with the kernels, asked for their distances."""

from __future__ import annotations

import numpy as np

from sim.kernels.shapes import BOX, CAPSULE, MESH, SPHERE
from sim.scene.hull import hull_of
from tests.contact.solids import EYE, Solid

PHI = (1 + 5**0.5) / 2
CUBE = np.array([(x, y, z) for z in (1.0, -1.0) for y in (1.0, -1.0) for x in (1.0, -1.0)])


def _cyclic(a: float, b: float) -> list[tuple[float, ...]]:
    """(0, +-a, +-b) and what turning the axes makes of it."""
    signs = [(s * a, t * b) for s in (1, -1) for t in (1, -1)]
    return [p for x, y in signs for p in ((0.0, x, y), (x, y, 0.0), (y, 0.0, x))]


TETRAHEDRON = np.array([(1.0, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)])
ICOSAHEDRON = np.array(_cyclic(1.0, PHI))
DODECAHEDRON = np.array([*CUBE.tolist(), *_cyclic(1 / PHI, PHI)])


def pebble(count: int = 200, seed: int = 1) -> np.ndarray:
    """Random points on an ellipsoid."""
    p = np.random.default_rng(seed).normal(size=(count, 3))
    return p / np.linalg.norm(p, axis=1)[:, None] * [1.0, 0.8, 0.6]


def prism(sides: int, height: float) -> np.ndarray:
    angle = 2 * np.pi * np.arange(sides) / sides
    return np.array([(np.cos(a), np.sin(a), z) for z in (0.5 * height, -0.5 * height) for a in angle])


def polyhedron(points: np.ndarray, x: np.ndarray | None = None, R: np.ndarray = EYE) -> Solid:
    """A solid of the hull of some points, its centre of mass at x."""
    corners = np.array(hull_of(tuple(map(tuple, points.tolist())))[1].corners)
    return Solid(MESH, 2 * np.abs(corners).max(axis=0), np.zeros(3) if x is None else x, R, corners)


def box(size: np.ndarray, x: np.ndarray, R: np.ndarray = EYE) -> tuple[Solid, Solid]:
    """A box, and the same of eight corners."""
    return Solid(BOX, np.array(size, float), x, R), polyhedron(0.5 * CUBE * size, x, R)


def coal_distance(a: Solid, b: Solid) -> tuple[float, np.ndarray]:
    """Signed distance of two polyhedra, spheres or capsules, and the direction from a to b."""
    import coal

    def shape(solid: Solid) -> coal.ShapeBase:
        if solid.kind == MESH:
            points = coal.StdVec_Vec3s()
            for corner in solid.corners:
                points.append(corner)
            return coal.ConvexBase.convexHull(points, True, "Qt")
        radius, _, length = solid.size
        made = {
            BOX: lambda: coal.Box(*solid.size), SPHERE: lambda: coal.Sphere(radius),
            CAPSULE: lambda: coal.Capsule(radius, length),
        }  # fmt: skip
        return made[solid.kind]()

    asked, told = coal.DistanceRequest(), coal.DistanceResult()
    asked.enable_signed_distance = True
    asked.gjk_tolerance = asked.epa_tolerance = 1e-14
    asked.gjk_max_iterations = asked.epa_max_iterations = 2000
    poses = [coal.Transform3s(solid.R, solid.x) for solid in (a, b)]
    distance = coal.distance(shape(a), poses[0], shape(b), poses[1], asked, told)
    return float(distance), np.array(told.normal)
