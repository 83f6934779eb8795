"""Structures that differ in what touches and what is held alone: laid out once, then written over in place.

Where points come and go, stick and slide, the same rows act again and again; what changes from one time to the next is
where the points are on their shapes, in which direction they slide, what share of forces they have, and at which
coordinate a freedom is held.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim.kernels.answers import system_of, with_tables
from sim.kernels.looking import look_around
from sim.kernels.scratch import Work
from sim.kernels.system import System, address
from sim.kernels.tables import Control, Tables, table
from sim.kernels.watched import GUARD, Guards
from sim.mechanism.active_bound import ActiveBound
from sim.mechanism.frames import Frames
from sim.mechanism.mechanism import Mechanism
from sim.mechanism.model import Model
from sim.mechanism.record_bytes import bytes_of
from sim.mechanism.structure import Structure, build, rows_of_touches, share_forces
from sim.mechanism.touch import Touch
from sim.mechanism.workspace import extent, in_one_piece, make_work

LAID_OUT = ["meeting", "mode", "block", "friction", "stiffness", "dissipation"]  # of points, beside their features
MOST = 48  # structures that are kept; the one that was asked for longest ago goes


@dataclass(frozen=True)
class Joined:
    """What all kept structures have in common: joints and where they are bound."""

    model: Model
    frames: Frames
    active: frozenset[int]
    carrier: np.ndarray

    def same(self, other: Joined) -> bool:
        """Tell whether two are of the same joints, bound alike."""
        same = self.model is other.model and self.frames is other.frames and self.active == other.active
        return same and (self.carrier is other.carrier or np.array_equal(self.carrier, other.carrier))


@dataclass
class Scratch:
    """Scratch for structures of one extent, one after the other.

    memory : all numbers of it; first : what it held when it was made; tables : those that it was used for last
    asked : controls and system that kernels were asked with last
    """

    work: Work
    memory: np.ndarray
    first: np.ndarray
    tables: Tables | None = None
    asked: tuple[Control, System] | None = None

    @classmethod
    def of(cls, structure: Structure) -> Scratch:
        """Allocate it."""
        memory, wholes = in_one_piece(make_work(structure.tables, structure.sizes))
        return cls(next(wholes), memory, memory.copy())

    def use_for(self, tables: Tables) -> None:
        """Leave nothing of another structure, and have the points of contact of this one."""
        if self.tables is not tables:
            self.memory[:] = self.first
            self.tables = tables
        if len(tables.touches):
            bytes_of(self.work.touches)[:] = bytes_of(tables.touches)
            self.work.points.start[:] = tables.touches.slip_W


class KeptStructures:
    """The structures of one set of joints that were asked for, by what acts in them."""

    def __init__(self) -> None:
        self._joined: Joined | None = None
        self._rules: tuple[Mapping[int, int], tuple[tuple[int, int], ...]] = {}, ()
        self._kept: OrderedDict[tuple[Any, ...], Structure] = OrderedDict()
        self._scratch: dict[tuple[Any, ...], Scratch] = {}  # by extent
        self._nothing = Guards(table(GUARD, 0), np.zeros(1, np.int64), np.zeros(7, np.int64))

    def of(
        self, joined: Joined, touches: Sequence[Touch] = (), rules: Mapping[int, int] | None = None,
        bounds: Sequence[ActiveBound] = (), like: Structure | None = None,
    ) -> Structure:  # fmt: skip
        """Return the structure with these closed points, pairs that may touch and freedoms that are held.

        Its tables are those of an older one where that has the same rows: nobody may look at that one any more.
        like : as for `build`
        """
        rules = rules or {}
        if self._joined is None or not self._joined.same(joined):
            self._joined = joined
            self._kept.clear()
            self._scratch.clear()
        if rules is not self._rules[0]:
            self._rules = rules, tuple(rules.items())
        key = (
            self._rules[1], tuple(touch.laid_out for touch in touches),
            tuple((one.column, one.low < one.high) for one in bounds),
        )  # fmt: skip
        old = self._kept.pop(key, None)
        if old is None:
            new = build(
                joined.model, joined.frames, joined.active, joined.carrier, touches, rules, bounds,
                like=like or next(reversed(self._kept.values()), None),
            )  # fmt: skip
        else:
            new = Structure(
                old.carrier, old.tree, old.tables, old.sizes, tuple(touches), old.meetings, tuple(bounds), old.known
            )  # fmt: skip
            _write(new)
        self._kept[key] = new
        if len(self._kept) > MOST:
            self._kept.popitem(last=False)
        return new

    def look(self, structure: Structure, control: Control, t: float, q: np.ndarray, v: np.ndarray) -> Mechanism:
        """Return a structure, as asked for last, looked at in scratch of its own, beside what moves."""
        tables, size = structure.tables, extent(structure)
        own = self._scratch.get(size)
        if own is None:
            own = self._scratch[size] = Scratch.of(structure)
            if len(self._scratch) > MOST + 1:  # this one is looked at again where velocities change
                del self._scratch[next(iter(self._scratch))]
        own.use_for(tables)
        used, _, place = structure.known.get("looks", (None, None, None))
        if used is not own:
            asked = own.asked
            if asked is not None and asked[0] is control:
                system = with_tables(asked[1], tables)
            else:
                system = system_of(tables, control, own.work, self._nothing)
            own.asked, place = (control, system), address(system.places)
            structure.known["looks"] = own, system, place
        look_around(place, t, q, v)
        return Mechanism(structure.tree.model, structure, own.work, control, t)


def _write(structure: Structure) -> None:
    """Write what may differ between structures of the same rows into the tables of one."""
    tables, touches, bounds = structure.tables, structure.touches, structure.bounds
    if touches:
        closed = _writable(tables.touches)
        laid_out = closed[LAID_OUT].copy()
        closed[:] = [touch.features for touch in touches]
        closed[LAID_OUT] = laid_out
        closed["slip_W"] = [touch.slip_W for touch in touches]
    if touches or bounds:
        if "of_touches" not in structure.known:
            structure.known["of_touches"] = rows_of_touches(tables)
        of_touches = structure.known["of_touches"]
        share_forces(touches, bounds, len(tables.programs) - len(bounds), of_touches, _writable(tables.rows))
    if bounds:
        constants = tables.constants
        constants.flags.writeable = True
        constants[-len(bounds) :] = [one.at for one in bounds]
        constants.flags.writeable = False


def _writable(table: np.ndarray) -> np.ndarray:
    """Return the memory of a table of records, which itself is read-only."""
    own = table.base
    assert isinstance(own, np.ndarray)
    return own
