"""Closed points of contact, on their way to the file: as many in a row as there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sim.recording.container import Container, Room, Slot

# Name -> shape, type and fill of one entry; `row` is the row of the recording.
CONTACTS = {
    "row": ((), "<i8", -1), "pair": ((), "<i8", -1), "key": ((2,), "<i8", -1), "mode": ((), "i1", 0),
    "iterations": ((), "<i4", -1), "determinate": ((), "i1", -1),
    "point": ((3,), "<f8", np.nan), "normal": ((3,), "<f8", np.nan), "force": ((3,), "<f8", np.nan),
    "moment": ((3,), "<f8", np.nan),
}  # fmt: skip
MANY = int(np.iinfo(np.int64).max)
ROOM = 4096  # entries that the first file has room for


class ContactWriter:
    """What of them is in the file, and what waits in memory."""

    def __init__(self) -> None:
        self.count = self.written = 0
        self._waiting: list[Mapping[str, np.ndarray]] = []

    def append(self, values: Mapping[str, np.ndarray], first_row: int) -> None:
        """Take entries; their rows count from `first_row`."""
        fresh = {name: np.array(values[name], dtype) for name, (_, dtype, _) in CONTACTS.items()}
        fresh["row"] += first_row
        self._waiting.append(fresh)
        self.count += len(fresh["row"])

    @property
    def complete_rows(self) -> int:
        """How many rows have all their entries in the file, as many as can be where none waits."""
        return min((int(block["row"][0]) for block in self._waiting if len(block["row"])), default=MANY)

    def rooms(self, final: bool) -> dict[str, Room]:
        """Return the datasets; not the final ones have room for as many again."""
        count = self.count if final else max(ROOM, 2 * self.count)
        return {
            f"contacts/{name}": Room((count, *tail), np.dtype(dtype), fill)
            for name, (tail, dtype, fill) in CONTACTS.items()
        }

    def fit(self, slots: Mapping[str, Slot]) -> bool:
        """Tell whether a file has room for all."""
        return self.count <= slots["contacts/row"].length

    def copy(self, file: Container, source: Container) -> None:
        """Copy what is in the old file."""
        for name in CONTACTS:
            file.copy(source, f"contacts/{name}", self.written)

    def write(self, file: Container) -> None:
        """Write what waits, behind what is in the file."""
        for name in CONTACTS if self._waiting else ():
            values: Any = np.concatenate([block[name] for block in self._waiting])
            file.put(f"contacts/{name}", self.written, values)

    def mark_written(self) -> None:
        """Forget what waits: it is in the file."""
        self.written = self.count
        self._waiting.clear()
