"""What kernels scribble into: allocated once for structures of the same extent, and as new for each."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim.kernels.scratch import Work
from sim.kernels.stepper import Stepper
from sim.kernels.system import System
from sim.kernels.tables import Tables, table
from sim.kernels.watched import GUARD
from sim.mechanism.record_bytes import bytes_of
from sim.mechanism.structure import Structure
from sim.mechanism.workspace import extent, in_one_piece, make_stepper, make_work

# Arrays that stay the same whatever the structure: controllers look at the first ones; the last counts steps.
SHARED = ("coordinate", "rate", "torque", "control", "bodies", "stepped")
MOST = 48  # memories that are kept


@dataclass
class LaidOut:
    """Scratch, integrator and guards for structures of one extent, one after the other.

    memory : all numbers of them, but those that structures share; first : what it held when it was made
    system : that of the structure that it was used for last, if kernels were asked of it
    """

    work: Work
    stepper: Stepper
    guards: Any
    memory: np.ndarray
    first: np.ndarray
    system: System | None = None

    @classmethod
    def of(cls, structure: Structure, row: int, guards: int, shared: dict[str, np.ndarray]) -> LaidOut:
        """Allocate it.  row : numbers of a recorded row; guards : how many there are; shared : by name, see SHARED."""
        work = make_work(structure.tables, structure.sizes, row)
        bare = work._replace(**{name: array[:0] for name, array in work._asdict().items() if name in SHARED})
        memory, wholes = in_one_piece(bare, make_stepper(structure.sizes, guards))
        work, stepper = wholes
        stepper = stepper._replace(rows=stepper.k.reshape(-1))  # the same numbers
        work = work._replace(**shared)
        return cls(work, stepper, table(GUARD, guards), memory, memory.copy())

    def as_new(self, tables: Tables) -> None:
        """Leave nothing of what was computed; points of contact begin where the tables have them."""
        self.memory[:] = self.first
        bytes_of(self.guards)[:] = 0
        closed = tables.touches
        if len(closed):
            bytes_of(self.work.touches)[:] = bytes_of(closed)
            self.work.points.start[:] = closed.slip_W


class Memories:
    """What was laid out, by extent; the one that was asked for longest ago goes."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Any, ...], LaidOut] = OrderedDict()

    def of(self, structure: Structure, row: int, guards: int, shared: dict[str, np.ndarray]) -> LaidOut:
        """Return the memory for a structure, as new; see `LaidOut.of`.  What it was used for before is gone."""
        key = row, guards, *extent(structure)
        one = self._kept.pop(key, None)
        if one is None:
            one = LaidOut.of(structure, row, guards, shared)
        self._kept[key] = one
        if len(self._kept) > MOST:
            self._kept.popitem(last=False)
        one.as_new(structure.tables)
        return one
