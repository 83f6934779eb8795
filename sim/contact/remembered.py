"""What decisions on contacts remember of those before."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sim.contact.restless import Restless
from sim.contact.slip_directions import SlipDirections
from sim.contact.stops import Bounded, Point
from sim.contact.zeno import ZenoSequences
from sim.kernels.shapes import OPEN

CROWD = 500  # decisions that follow each other without end if they take less than `contact_modes.SPAN`


@dataclass
class Contacts:
    """What decisions on contacts remember of those before.

    rules : which of the scene's rules are switched on
    modes, points : of points that touch, by key
    decisions : times of the last decisions, and pairs that took part
    idle, idle_stops : meetings of which open points rest on the other shape; columns, and sides of stops, likewise
    leaving : points that stick and have just left their cones, and freedoms that friction held until now
    ended : points whose friction has just ended: they left their cones or their ways, or came to rest
    iterations : of the last decision; time steps make none
    """

    rules: list[bool]
    modes: dict[tuple[int, int, int], int] = field(default_factory=dict)
    points: dict[tuple[int, int, int], Point] = field(default_factory=dict)
    slip_directions: SlipDirections = field(default_factory=SlipDirections)
    zeno: ZenoSequences = field(default_factory=ZenoSequences)
    decisions: deque[tuple[float, tuple[str, ...]]] = field(default_factory=lambda: deque(maxlen=CROWD))
    idle: frozenset[int] = frozenset()
    idle_stops: frozenset[tuple[int, int]] = frozenset()
    leaving: frozenset[tuple[int, int, int]] = frozenset()
    ended: frozenset[tuple[int, int, int]] = frozenset()
    restless: Restless = field(default_factory=Restless)
    iterations: int = 0

    def rest_beside(self, touches: Sequence[Point], slow: np.ndarray, rules: Iterable[int]) -> None:
        """Remember where bodies stay beside each other without a force: such a gap does not begin to close.

        slow : (k,) mask of points whose gaps hardly grow; rules : meetings
        """
        idle = {touch.pair for touch, stays in zip(touches, slow, strict=True) if touch.mode == OPEN and stays}
        self.idle = frozenset(n for n, pair in enumerate(rules) if pair in idle) if idle else frozenset()
        self.idle_stops = frozenset(
            (one.column, one.side) for one in touches if isinstance(one, Bounded) and one.pair in idle
        )
