"""What kernels are handed of a structure that a run comes back to: allocated once, and as new each time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sim.kernels.scratch import Work
from sim.kernels.stepper import Stepper
from sim.kernels.system import System
from sim.kernels.tables import Tables, table
from sim.kernels.watched import GUARD
from sim.mechanism.structure import Structure
from sim.mechanism.workspace import in_one_piece, make_stepper, make_work

# Arrays that stay the same whatever the structure: controllers look at the first ones; the last counts steps.
SHARED = ("coordinate", "rate", "torque", "control", "bodies", "stepped")
MOST = 48  # structures whose memory is kept


@dataclass
class LaidOut:
    """Scratch, integrator and guards of one structure.

    memory : all numbers of them, but those that structures share; first : what it held when it was made
    system : what an integrator is handed of them, once it was asked for
    """

    tables: Tables
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
        return cls(structure.tables, work, stepper, table(GUARD, guards), memory, memory.copy())

    def as_new(self) -> None:
        """Leave nothing of what was computed; points of contact begin where the tables have them."""
        self.memory[:] = self.first
        closed = self.tables.touches
        if len(closed):
            self.work.touches[:] = closed
            self.work.points.start[:] = closed.slip_W
