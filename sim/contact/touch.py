"""A point of contact: two features of two bodies, and how they hold each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim.model import OPEN

BALL_PLANE = 0


@dataclass(frozen=True)
class Feature:
    """A point, plane, line ... of a body, in the body's axes.

    p : m, a point of it
    direction : unit, or zeros
    radius : m
    """

    p: tuple[float, float, float]
    direction: tuple[float, float, float] = (0.0, 0.0, 0.0)
    radius: float = 0.0

    def numbers(self, p_KB: np.ndarray, R_KB: np.ndarray) -> np.ndarray:
        """Return what kernels read of it, in the axes of a link on which the body stands so."""
        return np.concatenate([p_KB + R_KB @ self.p, R_KB @ self.direction, [self.radius, 0.0]])


@dataclass(frozen=True)
class Touch:
    """A point of contact.

    key : which pair of shapes, and which point of it; the same point has the same key at all times
    kind : of the pair of features
    a, b : bodies; the normal points from a to b
    mode : OPEN: watched; STICK, SLIP
    slip_W : direction in which it starts to slide
    idle : open, but at rest on the other body: others carry
    """

    key: tuple[int, int]
    kind: int
    a: int
    b: int
    feature_a: Feature
    feature_b: Feature
    friction: float
    restitution: float
    rest_speed: float
    mode: int = OPEN
    slip_W: tuple[float, float, float] = (0.0, 0.0, 0.0)
    idle: bool = False
