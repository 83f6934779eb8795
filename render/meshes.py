"""Triangle meshes of solids: smooth where they are round, hard where they have edges."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

SEGMENTS = 32  # around the axis: the outline of a solid of 100 pixels radius is off by half a pixel
ARCS = 8  # from equator to pole


class Mesh(NamedTuple):
    """A closed surface.

    vertices : (v, 3) m
    normals : (v, 3) unit, outward
    faces : (f, 3) int, counter-clockwise from outside
    """

    vertices: np.ndarray
    normals: np.ndarray
    faces: np.ndarray


def mesh(kind: str, size: np.ndarray) -> Mesh:
    """Return the mesh of a shape, centred at its own origin.

    kind : box (size: full edges), sphere or ellipsoid (half axes), capsule or cylinder
        (r, r, length between the end centres, along z)
    """
    size = np.asarray(size, float)
    makers = {"box": box, "sphere": ellipsoid, "ellipsoid": ellipsoid, "capsule": capsule, "cylinder": cylinder}
    if kind not in makers:
        raise ValueError(f"shape kind {kind!r}: expected one of {', '.join(makers)}")
    return makers[kind](size)


def box(size: np.ndarray) -> Mesh:
    """Return a box with its own four vertices on each side, so that its edges are sharp."""
    vertices: list[np.ndarray] = []
    normals: list[np.ndarray] = []
    faces: list[list[int]] = []
    axes = np.eye(3)
    for axis in range(3):
        for sign in (-1.0, 1.0):
            n, u, v = sign * axes[axis], axes[(axis + 1) % 3], sign * axes[(axis + 2) % 3]  # u x v = n
            first = len(vertices)
            vertices += [n - u - v, n + u - v, n + u + v, n - u + v]
            normals += [n] * 4
            faces += [[first, first + 1, first + 2], [first, first + 2, first + 3]]
    return Mesh(0.5 * np.array(vertices) * size, np.array(normals), np.array(faces))


def polyhedron(vertices: np.ndarray, triangles: np.ndarray) -> Mesh:
    """Return triangles that each have their own vertices, so that faces are flat and edges sharp."""
    corners = np.asarray(vertices, float)[np.asarray(triangles)]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    count = len(corners)
    return Mesh(corners.reshape(-1, 3), np.repeat(normals, 3, axis=0), np.arange(3 * count).reshape(count, 3))


def ellipsoid(size: np.ndarray) -> Mesh:
    """Return an ellipsoid (a sphere, where the half axes are equal)."""
    unit = revolve(*_arc(-np.pi / 2, np.pi / 2, 2 * ARCS))
    normals = unit.vertices / np.maximum(size, 1e-12)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return Mesh(unit.vertices * size, normals, unit.faces)


def capsule(size: np.ndarray) -> Mesh:
    """Return a capsule: two half spheres joined by a straight wall."""
    radius, half = size[0], 0.5 * size[2]
    low, high = _arc(-np.pi / 2, 0, ARCS), _arc(0, np.pi / 2, ARCS)
    profile = np.concatenate([radius * low[0] - [0, half], radius * high[0] + [0, half]])
    return revolve(profile, np.concatenate([low[1], high[1]]))


def cylinder(size: np.ndarray) -> Mesh:
    """Return a cylinder; the rims stand twice, with the normal of the wall and with that of the end."""
    radius, half = size[0], 0.5 * size[2]
    profile = np.array([[0, -half], [radius, -half], [radius, -half], [radius, half], [radius, half], [0, half]])
    normals = np.array([[0, -1], [0, -1], [1, 0], [1, 0], [0, 1], [0, 1]], float)
    return revolve(profile, normals)


def _arc(start: float, end: float, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points and normals (steps + 1, 2) of a unit arc in the (radius, z) plane."""
    angle = np.linspace(start, end, steps + 1)
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return points, points


def revolve(profile: np.ndarray, normals: np.ndarray) -> Mesh:
    """Turn a profile of (radius, z) points, from bottom to top, around the z axis."""
    angle = np.linspace(0, 2 * np.pi, SEGMENTS, endpoint=False)
    around = np.stack([np.cos(angle), np.sin(angle)], axis=1)

    def spin(points: np.ndarray) -> np.ndarray:
        ring = points[:, None, :1] * around[None]
        up = np.broadcast_to(points[:, None, 1:], (*ring.shape[:2], 1))
        return np.concatenate([ring, up], axis=2).reshape(-1, 3)

    faces = []
    k = np.arange(SEGMENTS)
    following = (k + 1) % SEGMENTS
    for ring in range(len(profile) - 1):
        if np.allclose(profile[ring], profile[ring + 1]):
            continue  # a rim that stands twice
        low, high = ring * SEGMENTS, (ring + 1) * SEGMENTS
        if profile[ring, 0] > 1e-12:
            faces.append(np.stack([low + k, low + following, high + following], axis=1))
        if profile[ring + 1, 0] > 1e-12:
            faces.append(np.stack([low + k, high + following, high + k], axis=1))
    return Mesh(spin(profile), spin(normals), np.concatenate(faces))
