"""Planes of the world: squares of chequered ground and slopes, seen from outside only."""

from __future__ import annotations

import numpy as np

from render import rotation
from render.palette import colors
from render.view import Motion

FLOOR = np.dtype(
    [
        ("a_position", np.float32, 3), ("a_normal", np.float32, 3), ("a_color", np.float32, 4),
        ("a_place", np.float32, 2), ("a_span", np.float32, 2),
    ]
)  # fmt: skip


class Floors:
    """The squares of all planes of a motion, four vertices each.

    faces : (2 k, 3) int, counter-clockwise from outside
    """

    def __init__(self, motion: Motion, cell: float):
        shapes, tint = motion.shapes, colors(motion.shapes, motion.body_names)
        planes = [s for s in range(len(shapes)) if shapes.kind[s] == "plane"]
        self.count = len(planes)
        self.table = np.zeros(4 * self.count, FLOOR)
        self._vertices = np.zeros((4 * self.count, 3))
        span = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], float)
        for k, s in enumerate(planes):
            part, R = slice(4 * k, 4 * k + 4), rotation.matrix(shapes.quat[s])
            place = 0.5 * span * shapes.size[s][:2]
            self._vertices[part] = shapes.position[s] + place @ R[:, :2].T
            self.table["a_normal"][part], self.table["a_color"][part] = R[:, 2], tint[s]
            self.table["a_place"][part], self.table["a_span"][part] = place / cell, span
        corners = np.array([[0, 1, 2], [0, 2, 3]])
        self.faces = (4 * np.arange(self.count)[:, None, None] + corners).reshape(-1, 3).astype(np.uint32)

    def place(self, target: np.ndarray) -> np.ndarray:
        """Return the vertices, relative to what the camera looks at."""
        self.table["a_position"] = self._vertices - target
        return self.table
