"""When things happen: timed events, those after others, keys, and the ends of applied wrenches.

An event belongs to the half-open span (t, t_stop].  At one instant: mode changes, scene events in
file order, controller samples, output.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from sim.scene.spec import Event
from sim.simulation.state import Schedule


@dataclass
class Scheduler:
    """What is due, and when: reads and writes the schedule of a run's state."""

    events: tuple[Event, ...]
    state: Schedule

    @classmethod
    def of(cls, events: tuple[Event, ...]) -> Scheduler:
        """Return what is due at the start."""
        due: dict[str, list[float]] = {}
        for event in events:
            if event.at is not None:
                due.setdefault(event.name, []).append(event.at)
        return cls(events, Schedule(due=due))

    def next_time(self) -> float:
        """Return the time of the next timed event [s]."""
        return min((t for times in self.state.due.values() for t in times), default=math.inf)

    def spent(self, event: Event) -> bool:
        """Tell whether an event will not happen again."""
        return event.once and self.state.fired.get(event.name, 0) > 0

    def tell_once(self, event: Event, texts: Iterable[str]) -> list[str]:
        """Return what has not been told of an event yet; it is told now."""
        fresh = [text for text in texts if (event.name, text) not in self.state.told]
        self.state.told.update((event.name, text) for text in fresh)
        return fresh

    def take(self, t: float, crossed: Iterable[str] = ()) -> list[Event]:
        """Return the events that happen at t, in file order; they are then no longer due.

        Those that follow without delay are of the same instant, and each happens once.
        crossed : names of events whose condition became true.
        """
        crossed, out = set(crossed), dict[str, Event]()
        while fresh := [event for event in self.events if event.name not in out and self._fires(event, t, crossed)]:
            for event in fresh:
                out[event.name] = event
                self.state.fired[event.name] = self.state.fired.get(event.name, 0) + 1
                for other in self.events:
                    for name, delay in other.after:
                        if name == event.name and not self.spent(other):
                            self.state.due.setdefault(other.name, []).append(t + delay)
        self.state.pressed.clear()
        return [event for event in self.events if event.name in out]

    def _fires(self, event: Event, t: float, crossed: set[str]) -> bool:
        """Tell whether an event happens at t; its time is then no longer due."""
        times = self.state.due.get(event.name, [])
        timed = any(time <= t for time in times)
        if timed:
            self.state.due[event.name] = [time for time in times if time > t]
        keyed = event.key is not None and event.key in self.state.pressed
        return (timed or keyed or event.name in crossed) and not self.spent(event)

    def keys(self) -> tuple[str, ...]:
        """Return all keys that some event waits for."""
        return tuple(event.key for event in self.events if event.key is not None)
