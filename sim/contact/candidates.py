"""Points of two solids that touch or may: the features of a pair."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np

from sim.contact.solids import Pair, Solid
from sim.contact.touch import BALL_PLANE, Feature, Touch
from sim.scene.spec import Contact


def balls(solid: Solid) -> list[Feature]:
    """Return the balls (vertices have no radius) of which a solid is the hull; none for others."""
    a, b, c = solid.size
    if solid.kind == "sphere":
        points, radius = [(0.0, 0.0, 0.0)], a
    elif solid.kind == "capsule":
        points, radius = [(0.0, 0.0, s * 0.5 * c) for s in (-1.0, 1.0)], a
    elif solid.kind == "box":
        points, radius = [(0.5 * x * a, 0.5 * y * b, 0.5 * z * c) for x, y, z in product((-1.0, 1.0), repeat=3)], 0.0
    else:
        return []
    return [Feature(_tuple(solid.p_B + solid.R_B @ p), radius=radius) for p in points]


def candidates(number: int, pair: Pair, solids: tuple[Solid, ...], rule: Contact) -> Iterable[Touch]:
    """Return all points of a pair of solids, open."""
    first, second = solids[pair.first], solids[pair.second]
    if second.kind == "plane":
        first, second = second, first
    plane = Feature(_tuple(first.p_B), _tuple(first.R_B[:, 2]))
    for k, ball in enumerate(balls(second)):
        yield Touch(
            key=(number, k), kind=BALL_PLANE, a=first.body, b=second.body, feature_a=plane, feature_b=ball,
            friction=rule.friction, restitution=rule.restitution, rest_speed=rule.rest_speed,
        )  # fmt: skip


def _tuple(x: np.ndarray) -> tuple[float, float, float]:
    return (float(x[0]), float(x[1]), float(x[2]))
