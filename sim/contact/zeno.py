"""Collisions that follow each other ever faster: infinitely many of them end at a time that can be told."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

SHORT = 1e-4  # s: a hop shorter than this is the last one where hops shrink steadily
STEADY = 1e-3  # by which two ratios of neighbouring hops may differ
AT_LEAST = 1e-9  # s: hops shorter than this do not go on, whatever their ratios


@dataclass
class ZenoSequences:
    """Times of the last collisions of every pair."""

    times: dict[int, list[float]] = field(default_factory=dict)

    def ends(self, pair: int, t: float) -> float | None:
        """Note a collision of a pair; returns when the sequence ends if it does so at once, else None.

        Three hops that shrink by the same ratio r go on as a geometric series: the next takes r times the last,
        and all together end r / (1 - r) of the last from now.
        """
        times = self.times.setdefault(pair, [])
        times.append(t)
        del times[:-4]
        if len(times) < 4:
            return None
        first, second, third = (b - a for a, b in pairwise(times))
        if third < AT_LEAST:
            return t
        ratio, before = third / second, second / first
        if third < SHORT and ratio < 1.0 and abs(ratio - before) < STEADY:
            return t + third * ratio / (1.0 - ratio)
        return None

    def forget(self, pair: int) -> None:
        """Begin anew: the pair rests on each other now."""
        self.times.pop(pair, None)
