"""The ways of points as ribbons that always face the camera, from the start up to now."""

from __future__ import annotations

import numpy as np

from render.camera import Camera
from render.palette import rgb
from render.view import Motion

WIDTH = 0.0022  # half of it, in heights of the picture
COLORS = np.array([(*rgb(code), 1.0) for code in ("#b4373f", "#2f6f9f", "#4f7d2a", "#7d4fa0", "#a86a12")])


class Trails:
    """The ribbons of all trails of a motion, one after another.

    count : vertices in all
    faces : (f, 3) int
    colors : (count, 4)
    """

    def __init__(self, motion: Motion):
        trails, rings = motion.trails(motion.start).shape[:2]
        one = np.arange(max(rings - 1, 0))[:, None] * 2 + np.array([0, 1, 2, 1, 3, 2])
        self.count = 2 * trails * rings
        self.faces = np.concatenate(
            [one.reshape(-1, 3) + 2 * rings * k for k in range(trails)] or [np.zeros((0, 3), int)]
        )
        self.colors = np.repeat(COLORS[np.arange(trails) % len(COLORS)], 2 * rings, axis=0)

    def place(self, paths: np.ndarray, camera: Camera) -> tuple[np.ndarray, np.ndarray]:
        """Return vertices and normals (count, 3) of ribbons along paths (trails, k, 3) m; see `Motion.trails`."""
        half = WIDTH * 2.0 * camera.distance * np.tan(0.5 * camera.fov)
        along = np.gradient(paths, axis=1) if paths.shape[1] > 1 else np.zeros_like(paths)
        side = np.cross(along, camera.backward)
        size = np.linalg.norm(side, axis=2, keepdims=True)
        side = half * side / np.where(size > 0.0, size, 1.0)
        vertices = np.stack([paths - side, paths + side], axis=2).reshape(-1, 3)
        return vertices, np.tile(camera.backward, (len(vertices), 1))
