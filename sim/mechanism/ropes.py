"""Ropes: two points that come no farther apart than a length, as a shape that holds another inside of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim.mechanism.frames import Pose
from sim.mechanism.solids import Pair, Solid
from sim.scene.spec import Scene

ROPE, END = "rope", "rope_end"  # kinds of solids: the ball of a rope's length about its first point; its second point


def ropes_of(
    scene: Scene, points: Any, number: dict[str, int], poses: tuple[Pose, ...], first: int
) -> tuple[tuple[Solid, ...], tuple[Pair, ...]]:
    """Return two solids for each rope of a scene, and the pairs of these.

    points, number : the scene's points, and their rows by name
    poses : of bodies in the drawing, where a rope without a length is taut
    first : how many solids there are before
    """
    solids: list[Solid] = []
    pairs: list[Pair] = []
    for n, rule in enumerate(scene.contacts):
        if rule.rope is None:
            continue
        a, b = (points[number[end]] for end in rule.rope)
        p, q = (poses[end.body].p + poses[end.body].R @ end.p_B for end in (a, b))
        length = float(np.linalg.norm(q - p)) if rule.length is None else rule.length
        pairs.append(Pair(first + len(solids), first + len(solids) + 1, (n,), frozenset()))
        for kind, end, size in ((ROPE, a, length), (END, b, 0.0)):
            solids.append(Solid(int(end.body), kind, np.array(end.p_B), np.eye(3), (size, 0.0, 0.0), rule.name))
    return tuple(solids), tuple(pairs)


def is_rope(solid: Solid) -> bool:
    """Tell whether a solid is one of the two of a rope, whose name is then that of its rule."""
    return solid.kind in (ROPE, END)
