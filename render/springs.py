"""Springs between points as coils of wire that stretch with the distance of their ends."""

from __future__ import annotations

import numpy as np

from render.view import Motion

TURNS = 8
POINTS = 16  # along the wire, in each turn
SIDES = 6  # of the wire
LEAD = 0.12  # part of the length at each end that is straight
COIL, WIRE = 0.05, 0.16  # radius of the coil in mean lengths of its spring, of the wire in radii of the coil
COLOR = (0.36, 0.40, 0.45, 1.0)  # steel
LENGTHS = 60  # instants of the motion that the mean length is taken from


class Coils:
    """The wires of all springs of a motion, one after another.

    count : vertices in all
    faces : (f, 3) int, counter-clockwise from outside
    """

    def __init__(self, motion: Motion):
        self.springs = motion.springs
        times = motion.sample_times(LENGTHS)
        ends = np.array([self.springs.ends(motion.poses(t)) for t in times]).reshape(len(times), -1, 2, 3)
        gaps = ends[:, :, 1] - ends[:, :, 0]
        self.radius = COIL * np.linalg.norm(gaps, axis=2).mean(axis=0)
        self.first = directions(gaps[0])
        rings = TURNS * POINTS + 1
        self._along = np.linspace(0.0, 1.0, rings)
        # The wire leaves the axis after the lead and comes back to it before the other.
        rise = np.clip(np.minimum(self._along, 1.0 - self._along) / LEAD - 1.0, 0.0, 1.0)
        self._off = rise * rise * (3.0 - 2.0 * rise)
        coiled = np.clip((self._along - LEAD) / (1.0 - 2.0 * LEAD), 0.0, 1.0)
        self._angle = 2.0 * np.pi * TURNS * coiled
        self.count = rings * SIDES * len(self.springs)
        self.faces = np.concatenate([_tube(rings) + rings * SIDES * s for s in range(len(self.springs))] or [_tube(0)])

    def place(self, poses: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return vertices and normals (count, 3) with the bodies at `poses` (see Motion.poses), world axes."""
        vertices, normals = [np.zeros((0, 3))], [np.zeros((0, 3))]
        for s, (a, b) in enumerate(self.springs.ends(poses)):
            axis = directions((b - a)[None], self.first[s : s + 1])[0]
            across = _carried(self.first[s], axis)
            out = np.cos(self._angle)[:, None] * across[0] + np.sin(self._angle)[:, None] * across[1]
            path = a + self._along[:, None] * (b - a) + (self.radius[s] * self._off)[:, None] * out
            tangent = np.gradient(path, axis=0)
            size = np.linalg.norm(tangent, axis=1, keepdims=True)
            tangent = np.where(size > 0, tangent / np.where(size > 0, size, 1.0), axis)
            side = np.cross(tangent, out)
            side /= np.linalg.norm(side, axis=1, keepdims=True)
            around = 2.0 * np.pi * np.arange(SIDES) / SIDES
            normal = (
                np.cos(around)[None, :, None] * np.cross(side, tangent)[:, None]
                + np.sin(around)[None, :, None] * side[:, None]
            )
            vertices.append((path[:, None] + WIRE * self.radius[s] * normal).reshape(-1, 3))
            normals.append(normal.reshape(-1, 3))
        return np.concatenate(vertices), np.concatenate(normals)


def directions(gaps: np.ndarray, otherwise: np.ndarray | None = None) -> np.ndarray:
    """Return unit vectors along `gaps` (k, 3); those of `otherwise`, or upwards, where the ends meet."""
    size = np.linalg.norm(gaps, axis=1, keepdims=True)
    spare = np.tile([0.0, 0.0, 1.0], (len(gaps), 1)) if otherwise is None else otherwise
    return np.where(size > 1e-12, gaps / np.where(size > 1e-12, size, 1.0), spare)


def _carried(first: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """Return two directions (2, 3) across `axis`, carried there from `first` by the least turn: the coil does not spin.

    They jump only where the spring has turned right round.
    """
    across = np.cross(first, np.eye(3)[np.argmin(np.abs(first))])
    across /= np.linalg.norm(across)
    pair = np.stack([across, np.cross(first, across)])
    both = first + axis
    square = both @ both
    if square < 1e-12:
        return np.stack([pair[0], -pair[1]])
    # Two reflections: across the plane square to `first`, then to `first + axis`; pair is in the first of these planes.
    return pair - 2.0 * (pair @ both)[:, None] * both / square


def _tube(rings: int) -> np.ndarray:
    """Return the faces (f, 3) of a tube of rings with SIDES vertices each."""
    k = np.arange(SIDES)
    following = (k + 1) % SIDES
    faces = [np.zeros((0, 3), int)]
    for ring in range(rings - 1):
        low, high = ring * SIDES, (ring + 1) * SIDES
        faces.append(np.stack([low + k, low + following, high + following], axis=1))
        faces.append(np.stack([low + k, high + following, high + k], axis=1))
    return np.concatenate(faces)
