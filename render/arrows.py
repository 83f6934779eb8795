"""Forces on bodies as arrows: from where they act, as long as they are strong."""

from __future__ import annotations

import numpy as np

from render.camera import Camera
from render.meshes import revolve
from render.springs import directions
from render.view import Motion

LONGEST = 0.2  # the strongest force of a motion, in heights of the picture
SHAFT, HEAD, POINT = 0.005, 0.013, 0.04  # radii of shaft and head, length of the head, in heights of the picture
COLORS = {"wrench": (0.86, 0.63, 0.10, 1.0), "drag": (0.31, 0.56, 0.66, 1.0)}


class Outline:
    """One arrow as it is turned around its axis: a shaft, and a head of the same size however long it is.

    count : vertices
    faces : (f, 3) int, counter-clockwise from outside
    """

    def __init__(self) -> None:
        # Radius and height of the outline, from tail to tip; the second column is 1 where the head begins.
        profile = np.array([[0, 0], [SHAFT, 0], [SHAFT, 0], [SHAFT, 0], [HEAD, 0], [HEAD, 0], [0, POINT]])
        headed = np.array([0, 0, 0, 1, 1, 1, 1])
        slope = np.array([POINT, HEAD]) / np.hypot(POINT, HEAD)
        normals = np.array([[0, -1], [0, -1], [1, 0], [1, 0], [0, -1], slope, slope], float)
        spread = profile + np.stack([np.zeros(7), headed], axis=1)  # apart, so that each ring has its faces
        made = revolve(spread, normals)
        ring = len(made.vertices) // len(profile)
        self._radial = made.vertices[:, :2]
        self._rise = np.repeat(profile[:, 1], ring)
        self._at_head = np.repeat(headed, ring)
        self._normals = made.normals
        self.count, self.faces = len(made.vertices), made.faces

    def place(self, tail: np.ndarray, axis: np.ndarray, length: float, height: float) -> tuple[np.ndarray, np.ndarray]:
        """Return vertices and normals (count, 3) of an arrow so long, in a picture so high [m]."""
        # A short arrow is all head, and a smaller one.
        size = height * min(1.0, length / (POINT * height))
        along = max(0.0, length - POINT * size) * self._at_head + size * self._rise
        across = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
        across /= np.linalg.norm(across)
        turn = np.stack([across, np.cross(axis, across), axis])
        local = np.concatenate([size * self._radial, along[:, None]], axis=1)
        return tail + local @ turn, self._normals @ turn


class Arrows:
    """The arrows of all pushes of a motion, one after another.

    count : vertices in all
    faces : (f, 3) int, counter-clockwise from outside
    colors : (count, 4)
    """

    def __init__(self, motion: Motion):
        self.pushes = motion.pushes
        strengths = np.linalg.norm(self.pushes.force, axis=2)
        self.strongest = float(np.nanmax(strengths)) if np.isfinite(strengths).any() else 0.0
        self._outline = made = Outline()
        many = len(self.pushes) if self.strongest > 0.0 else 0
        self.count = many * made.count
        self.faces = np.concatenate([made.faces + made.count * k for k in range(many)] or [made.faces[:0]])
        self.colors = np.repeat(
            [COLORS[kind] for kind in self.pushes.kind[:many]] or [COLORS["drag"]], made.count, axis=0
        )

    def place(
        self, poses: tuple[np.ndarray, np.ndarray], forces: np.ndarray, camera: Camera
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return vertices and normals (count, 3) of arrows for forces (k, 3) in N, world axes."""
        height = 2.0 * camera.distance * np.tan(0.5 * camera.fov)
        lengths = LONGEST * height * np.linalg.norm(forces, axis=1) / self.strongest
        placed = [
            self._outline.place(tail, axis, length, height)
            for tail, axis, length in zip(self.pushes.places(poses), directions(forces), lengths, strict=True)
        ]
        return np.concatenate([vertices for vertices, _ in placed]), np.concatenate([normals for _, normals in placed])
