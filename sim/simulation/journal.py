"""What a run tells: blocks of rows, epochs and events, in the order in which they are to be recorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from sim.mechanism.frames import Frames
from sim.simulation.state import State


@dataclass
class RowBlock:
    """Rows of samples.

    values : each quantity (rows, ...); q, v : (rows, nq), (rows, nv) raw states
    touches : the closed points of contact of these rows; empty without any
    """

    values: dict[str, np.ndarray]
    q: np.ndarray
    v: np.ndarray
    touches: dict[str, np.ndarray]


@dataclass
class Epoch:
    """The tree that begins with the next row: joints of tree and loops by name, coordinates, freedoms."""

    tree: list[str]
    loops: list[str]
    nq: int
    nv: int


@dataclass
class EventRecord:
    """One line of the recording's event table, between the last two rows told before it.

    kind : scene, key, impact, mode, annotation
    lost : J; impulse: norm of all constraint impulses
    through : (joints, 6) impulse of every joint, or None: moment about it, force, of the parent on the child
    contacts : impulses of points of contact, as `sim.simulation.record_rows.contact_impulses` has them, or None
    bound : joints that were bound at its instant; frames : those of all joints from then on, or None
    """

    time: float
    name: str
    kind: str
    caption: str = ""
    lost: float = 0.0
    impulse: float = 0.0
    text: str = ""
    through: np.ndarray | None = None
    contacts: dict[str, np.ndarray] | None = None
    bound: tuple[int, ...] = ()
    frames: Frames | None = None


@dataclass
class Jump:
    """What happened at an instant, in the order of telling; where nobody listens, rows are not kept."""

    listened: bool = True
    reports: list[RowBlock | Epoch | EventRecord] = field(default_factory=list)

    @property
    def events(self) -> list[EventRecord]:
        """The events among it."""
        return [one for one in self.reports if isinstance(one, EventRecord)]

    def tell(self, journal: Journal) -> None:
        """Tell somebody of all of it."""
        for one in self.reports:
            if isinstance(one, RowBlock):
                if one.touches:
                    journal.contacts(one.touches)
                journal.rows(one.values, one.q, one.v)
            elif isinstance(one, Epoch):
                journal.epoch(one.tree, one.loops, one.nq, one.nv)
            else:
                journal.event(one)


class Journal(Protocol):
    """Who is told what happens; `sim.simulation.recorded_runs` records it."""

    def rows(self, values: dict[str, np.ndarray], q: np.ndarray, v: np.ndarray) -> None:
        """Take a block of rows and their raw states."""

    def contacts(self, values: dict[str, np.ndarray]) -> None:
        """Take the closed points of contact of the next block of rows, where it has any."""

    def epoch(self, tree: list[str], loops: list[str], nq: int, nv: int) -> None:
        """Begin an epoch."""

    def event(self, record: EventRecord) -> None:
        """Take what happened, after its rows x- and x+."""

    def rest(self, take: Callable[[], State], finished: bool = False, stopped: bool = False) -> None:
        """Keep the state from which the run goes on behind what was told, where that is wanted.

        finished : it is that from which a longer run goes on, as steps are shortened from here on, or the run ends
        stopped : the caller stops the run here
        """
