"""What decisions on contacts remember of those before."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from sim.contact.restless import Restless
from sim.contact.slip_directions import SlipDirections
from sim.contact.stops import Point
from sim.contact.zeno import ZenoSequences

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
