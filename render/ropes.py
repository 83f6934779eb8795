"""Ropes between points as a thin line that sags where it is slack."""

from __future__ import annotations

import numpy as np

from render.springs import SIDES, _tube, directions
from render.view import Motion

PIECES = 32  # along a rope
HALVINGS = 30  # of the bracket of how far it hangs through
RADIUS = 0.008  # of its length
COLOR = (0.55, 0.42, 0.27, 1.0)  # hemp
DOWN = np.array([0.0, 0.0, -1.0])


class Lines:
    """The tubes of all ropes of a motion, one after another.

    count : vertices in all
    faces : (f, 3) int, counter-clockwise from outside
    """

    def __init__(self, motion: Motion):
        self.ropes = motion.ropes
        rings = PIECES + 1
        self.count = rings * SIDES * len(self.ropes)
        self.faces = np.concatenate([_tube(rings) + rings * SIDES * s for s in range(len(self.ropes))] or [_tube(0)])

    def place(self, poses: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return vertices and normals (count, 3) with the bodies at `poses` (see Motion.poses), world axes."""
        vertices, normals = [np.zeros((0, 3))], [np.zeros((0, 3))]
        around = 2.0 * np.pi * np.arange(SIDES) / SIDES
        for (a, b), length in zip(self.ropes.ends(poses), self.ropes.length, strict=True):
            path = hanging(a, b, length)
            tangent = directions(np.gradient(path, axis=0))
            side = np.cross(tangent, across(b - a))
            side /= np.linalg.norm(side, axis=1, keepdims=True)
            normal = (
                np.cos(around)[None, :, None] * np.cross(side, tangent)[:, None]
                + np.sin(around)[None, :, None] * side[:, None]
            )
            vertices.append((path[:, None] + RADIUS * length * normal).reshape(-1, 3))
            normals.append(normal.reshape(-1, 3))
        return np.concatenate(vertices), np.concatenate(normals)


def hanging(a: np.ndarray, b: np.ndarray, length: float) -> np.ndarray:
    """Return points (PIECES + 1, 3) of a rope of some length that hangs between a and b as a parabola."""
    along = np.linspace(0.0, 1.0, PIECES + 1)[:, None]
    straight, bow = a + along * (b - a), 4.0 * along * (1.0 - along) * DOWN
    low, high = 0.0, length
    for _ in range(HALVINGS if np.linalg.norm(b - a) < length else 0):
        middle = 0.5 * (low + high)
        long = np.linalg.norm(np.diff(straight + middle * bow, axis=0), axis=1).sum() > length
        low, high = (low, middle) if long else (middle, high)
    return np.asarray(straight + low * bow)


def across(way: np.ndarray) -> np.ndarray:
    """Return a unit vector across a way and level, or one that is level where the way is upright."""
    level = np.array([-way[1], way[0], 0.0])
    size = float(np.linalg.norm(level))
    return level / size if size > 1e-9 * float(np.linalg.norm(way)) and size > 0.0 else np.array([1.0, 0.0, 0.0])
