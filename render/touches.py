"""Points of contact: a dot where shapes touch, an arrow of the force there; over all else, since they are inside."""

from __future__ import annotations

import numpy as np

from render.arrows import LONGEST, Outline
from render.camera import Camera
from render.meshes import mesh
from render.springs import directions
from render.view import Motion

DOT = 0.009  # radius of a dot, in heights of the picture
COLORS = np.array([[0.5, 0.5, 0.5, 1.0], [0.10, 0.50, 0.32, 1.0], [0.85, 0.28, 0.16, 1.0]])  # open, sticks, slips


class Touches:
    """Room for the points of the row that has most of them.

    count : vertices in all
    faces : (f, 3) int, counter-clockwise from outside
    """

    def __init__(self, motion: Motion):
        table = motion.touches
        self.most = int(np.diff(table.first).max(initial=0))
        self.strongest = float(np.linalg.norm(table.force, axis=1).max(initial=0.0))
        self._arrow, self._dot = Outline(), mesh("sphere", np.ones(3))
        size = self._arrow.count + len(self._dot.vertices)
        self.count = size * self.most
        one = np.concatenate([self._arrow.faces, self._dot.faces + self._arrow.count])
        self.faces = np.concatenate([one + size * k for k in range(self.most)] or [one[:0]])

    def place(
        self, touching: tuple[np.ndarray, np.ndarray, np.ndarray], camera: Camera
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return vertices, normals (count, 3) and colors (count, 4); see `Motion.touching`."""
        height = 2.0 * camera.distance * np.tan(0.5 * camera.fov)
        point, force, mode = touching
        vertices, normals = np.zeros((self.most, self.count // self.most, 3)), np.zeros((self.count, 3))
        vertices[:] = camera.target  # those that are not there have no size
        normals[:, 2] = 1.0
        normals = normals.reshape(vertices.shape)
        colors = np.zeros((*vertices.shape[:2], 4))
        n = self._arrow.count
        for k, axis in enumerate(directions(force)):
            length = LONGEST * height * float(np.linalg.norm(force[k])) / (self.strongest or 1.0)
            vertices[k, :n], normals[k, :n] = self._arrow.place(point[k], axis, length, height)
            vertices[k, n:], normals[k, n:] = point[k] + DOT * height * self._dot.vertices, self._dot.normals
            colors[k] = COLORS[mode[k]]
        return vertices.reshape(-1, 3), normals.reshape(-1, 3), colors.reshape(-1, 4)
