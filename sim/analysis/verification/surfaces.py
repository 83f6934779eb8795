"""How far points are from the surfaces of recorded shapes: formulas that share nothing with the engine's collision."""

from __future__ import annotations

import numpy as np

from sim.recording import ShapeEntry

FLAT = 1e-9  # of a mesh's size: a corner that is further above a face makes it one that is not convex


def distance(shape: ShapeEntry, p: np.ndarray) -> np.ndarray:
    """Return (n,) distances of points from a shape's surface, negative inside [m].

    p : (n, 3) in the shape's axes.  Of ellipsoids and of meshes outside of their edges it is a lower bound.
        Meshes that are not convex and other kinds of shapes are not known: zero.
    """
    size = np.asarray(shape.size)
    if shape.kind == "plane":
        return p[:, 2]
    if shape.kind == "sphere":
        return np.asarray(np.linalg.norm(p, axis=1) - size[0])
    if shape.kind in ("rope", "rope_end"):  # what a rope holds is inside of it
        return np.asarray(size[0] - np.linalg.norm(p, axis=1))
    if shape.kind == "capsule":
        axis = np.clip(p[:, 2], -size[2] / 2, size[2] / 2)
        return np.asarray(np.hypot(np.hypot(p[:, 0], p[:, 1]), p[:, 2] - axis) - size[0])
    if shape.kind == "box":
        return _from_sides(np.abs(p) - size / 2)
    if shape.kind == "cylinder":
        return _from_sides(np.column_stack([np.hypot(p[:, 0], p[:, 1]) - size[0], np.abs(p[:, 2]) - size[2] / 2]))
    if shape.kind == "ellipsoid":
        level, slope = np.linalg.norm(p / size, axis=1), np.linalg.norm(p / size**2, axis=1)
        return np.asarray(np.where(slope > 0.0, level * (level - 1.0) / np.maximum(slope, 1e-300), -size.min()))
    if shape.kind != "mesh":
        return np.zeros(len(p))
    return _from_faces(np.array(shape.vertices), np.array(shape.triangles), p)


def _from_sides(beyond: np.ndarray) -> np.ndarray:
    """Return distances from what is bounded by sides across each other; beyond : (n, sides) [m]."""
    outside = np.linalg.norm(np.maximum(beyond, 0.0), axis=1)
    return np.asarray(outside + np.minimum(beyond.max(axis=1), 0.0))


def _from_faces(vertices: np.ndarray, triangles: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return the largest distance above the faces of a convex hull."""
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    n = np.cross(b - a, c - a)
    size = np.linalg.norm(n, axis=1, keepdims=True)
    n = n[size[:, 0] > 0.0] / size[size[:, 0] > 0.0]
    a = a[size[:, 0] > 0.0]
    flat = FLAT * float(np.max(np.abs(vertices), initial=0.0))
    if any(float(np.max((vertices - corner) @ normal)) > flat for normal, corner in zip(n, a, strict=True)):
        return np.zeros(len(p))
    out = np.full(len(p), -np.inf)
    for normal, corner in zip(n, a, strict=True):
        np.maximum(out, (p - corner) @ normal, out=out)
    return out
