"""Points whose friction ends time and again at once: for a moment it grows with their slip, as in grease.

What slides at less than a micrometre a second beside others that do turns, stops and goes on within parts of a
microsecond, and each of that would be decided on, a hundred thousand times while nothing is seen to move.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sim.contact.stops import Point
from sim.kernels.rows.touches import CLEAR, EASED, EASY, STILL

Key = tuple[int, int, int]

# Ends of the friction of a point within WITHIN [s] after which it is restless for as long as FOR [s].  Fewer, or more
# time: points of which each end matters are eased, too.  More, or less time: more decisions where nothing moves.
MANY, WITHIN, FOR = 6, 3e-4, 1e-3
SHORTEST = 1e-300  # m/s: what has no rate has no direction either


@dataclass
class Restless:
    """Which points are restless.

    ended : times [s] at which each point lately left its cone or its way, or came to rest
    until : when [s] each of those that are restless is so no longer
    """

    ended: dict[Key, list[float]] = field(default_factory=dict)
    until: dict[Key, float] = field(default_factory=dict)

    def note(self, keys: Iterable[Key], t: float) -> None:
        """Note the points whose friction has just ended."""
        self.until = {key: end for key, end in self.until.items() if t < end}
        self.ended = {key: times for key, times in self.ended.items() if t - times[-1] < WITHIN}
        for key in keys:
            times = self.ended.setdefault(key, [])
            times.append(t)
            del times[:-MANY]
            if len(times) == MANY and t - times[0] < WITHIN:
                self.until.setdefault(key, t + FOR)

    def among(self, law: Sequence[Point]) -> np.ndarray:
        """Return the mask (k,) of points that are restless."""
        if not self.until:
            return np.zeros(len(law), bool)
        return np.array([point.key in self.until for point in law], bool)

    def ends(self) -> float:
        """Return when [s] the first of them no longer is."""
        return min(self.until.values(), default=math.inf)


def ease(way_W: np.ndarray) -> np.ndarray:
    """Return the direction of a slide whose friction is to grow with its slip."""
    out: np.ndarray = EASED * way_W
    return out


def share_of_friction(speed: np.ndarray) -> np.ndarray:
    """Return which share of their friction restless points have that slide at some speeds [m/s]."""
    held = EASY * STILL / CLEAR * np.maximum(1.0 - speed / EASY, 0.0) ** 2
    out: np.ndarray = speed / (speed + held)
    return out


def is_eased(start_W: np.ndarray) -> bool:
    """Tell whether the direction in which a slide began is one of `ease`."""
    return 0.0 < float(start_W @ start_W) < 4.0 * EASED**2


def greased(
    eases: np.ndarray, speed: np.ndarray, u_out: np.ndarray, mu: np.ndarray, most: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Let restless points (k,) slide on, along u (k, 3) however slow, with the friction that they have at a speed.

    Returns the coefficients of all points, in motion and at rest.
    """
    if not eases.any():
        return mu, most
    mu, most, length = mu.copy(), most.copy(), np.hypot(u_out[eases, 1], u_out[eases, 2])
    u_out[eases, 1:] /= np.maximum(length, SHORTEST)[:, None]  # so long that it counts as given
    mu[eases] *= share_of_friction(speed[eases])
    most[eases] = mu[eases]
    return mu, most


__all__ = ["Restless", "ease", "greased", "is_eased", "share_of_friction"]
