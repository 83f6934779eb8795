"""Soft points of contact in decisions: their depths say what presses them, and only their friction is asked for.

Each is a point that nothing presses, whose friction has a bound of its own (`least`), as friction of joints has: the
coefficient times that force.  So it gives no impulse, and takes no part in collisions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sim.contact.solution import ContactSolution
from sim.kernels.rows.soft_touches import LEAST_DEPTH
from sim.kernels.shapes import OPEN, SLIP, SOFT, SOFT_SLIP, SOFT_STICK, STICK
from sim.mechanism.finding import CLOSED
from sim.mechanism.touch import Touch

AT_BOUND = 1.0 - 1e-8  # share of the most that friction gives, from which on it can give no more
SOFTLY = {OPEN: SOFT, STICK: SOFT_STICK, SLIP: SOFT_SLIP}


@dataclass(frozen=True)
class SoftPoint:
    """A soft point that touches.

    touch : its features
    stiffness : N/m; pressing : N, by its depth
    friction, friction_at_rest : 1
    mode : STICK or SLIP; of one without friction SLIP
    way_W : direction in which it slides, or starts to
    force : N, of friction along t1 and t2
    rests : it has its coefficient at rest
    start_W : direction in which it began to slide, of one that goes on; or None
    """

    touch: Touch
    stiffness: float
    friction: float
    friction_at_rest: float
    pressing: float = 0.0
    mode: int = OPEN
    way_W: tuple[float, float, float] = (0.0, 0.0, 0.0)
    force: tuple[float, float] = (0.0, 0.0)
    rests: bool = False
    start_W: tuple[float, float, float] | None = None

    @property
    def key(self) -> tuple[int, int, int]:
        """Which point it is: the same at all times."""
        return self.touch.key

    @property
    def pair(self) -> int:
        """Number of the model's pair of shapes."""
        return self.touch.pair

    @property
    def rubs(self) -> bool:
        """Tell whether it has friction at all."""
        return self.friction > 0.0

    @property
    def resistance(self) -> float:
        """Most that friction gives in motion [N]."""
        return self.friction * max(self.pressing, self.stiffness * LEAST_DEPTH)

    @property
    def resistance_at_rest(self) -> float:
        """Most that it gives at rest [N]."""
        return self.friction_at_rest * max(self.pressing, self.stiffness * LEAST_DEPTH)

    @property
    def held(self) -> Touch:
        """The point of a structure, in its mode."""
        mode = SOFTLY[self.mode] if self.rubs else SOFT
        return replace(self.touch, mode=mode, slip_W=self.way_W, share=(*self.force, 0.0))

    def as_(self, mode: int) -> Touch:
        """Return the point of a structure in another mode."""
        return replace(self.touch, mode=mode)


def touches_now(gap: float, rate: float) -> bool:
    """Tell whether a soft point is one that touches: it is in, or about to be."""
    return gap < -CLOSED or (gap <= CLOSED and rate <= 0.0)


def pressed(soft: Sequence[SoftPoint], touches: Any, points: Any) -> list[SoftPoint]:
    """Return these points, with the forces that they are pressed with, as last looked at: the last of a structure."""
    first = len(touches) - len(soft)
    out = []
    for k, one in enumerate(soft, start=first):
        grip = max(1.0 - float(touches.dissipation[k] * points.gap_dot[k]), 0.0)
        out.append(replace(one, pressing=max(-one.stiffness * float(points.gap[k]) * grip, 0.0)))
    return out


def giving(
    soft: Sequence[SoftPoint], rests: np.ndarray, answer: ContactSolution, first: int, leaving: np.ndarray
) -> np.ndarray:
    """Return the mask (k,) of all points with those soft ones that do not hold with their coefficient at rest.

    rests, leaving : (k,) masks of points that have it, and of those whose cones were just left; first : soft point
    """
    out = np.zeros(len(rests), bool)
    for k, one in enumerate(soft, start=first):
        at_bound = float(np.hypot(*answer.P[k, 1:])) >= AT_BOUND * one.resistance_at_rest
        out[k] = rests[k] and (answer.mode[k] == SLIP or (leaving[k] and (at_bound or bool(answer.chosen[k]))))
    return out


def softly(
    soft: Sequence[SoftPoint], answer: ContactSolution, first: int, leaving: frozenset[Any],
    axes: tuple[np.ndarray, np.ndarray],
) -> list[SoftPoint]:  # fmt: skip
    """Return soft points in the modes of an answer, whose points they are from `first` on.

    axes : (soft, 3) each, tangents
    leaving : those that friction could not hold any longer: they begin to slide, where it gives all that it can
    """
    out = []
    for i, one in enumerate(soft):
        k, t1, t2 = first + i, axes[0][i], axes[1][i]
        force, sticks, way = answer.P[k, 1:], answer.mode[k] == STICK, answer.d[k]
        most = one.resistance_at_rest if one.rests else one.resistance
        size = float(np.hypot(*force))
        if sticks and one.key in leaving and size > 0.0 and (size >= AT_BOUND * most or bool(answer.chosen[k])):
            sticks, way = False, -force / size
        way_W = way[0] * t1 + way[1] * t2 if one.start_W is None else np.array(one.start_W)
        out.append(replace(
            one, mode=STICK if sticks else SLIP, force=(float(force[0]), float(force[1])),
            way_W=(0.0, 0.0, 0.0) if sticks else tuple(way_W.tolist()),
        ))  # fmt: skip
    return out


def stored(touches: Any, points: Any) -> float:
    """Return the energy that soft points of a structure hold, as last looked at [J]."""
    k = np.flatnonzero(touches.mode < OPEN)
    return float(0.5 * touches.stiffness[k] @ np.minimum(points.gap[k], 0.0) ** 2)


def soft_of(law: Sequence[object]) -> list[SoftPoint]:
    """Return the soft points of a law."""
    return [one for one in law if isinstance(one, SoftPoint)]


def first_soft(law: Sequence[object]) -> int:
    """Return where soft points begin in a law, which stand together."""
    return next((k for k, one in enumerate(law) if isinstance(one, SoftPoint)), len(law))
