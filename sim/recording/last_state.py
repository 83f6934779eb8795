"""The last state of a run in its recording: two places, of which one is whole while the other is written."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from sim.recording.container import Container, Room, Slot

BYTE, WHOLE = np.dtype("u1"), np.dtype("<i8")
SPARE = 2  # times the size of the first state: room for those that follow


@dataclass(frozen=True)
class Counts:
    """How much of a recording was there when a state was kept: what follows from the state comes behind it."""

    rows: int
    events: int
    impulses: int
    bindings: int
    epochs: int
    contacts: int


@dataclass(frozen=True)
class LastState:
    """A state as JSON and numbers, see `sim.simulation.plain_values.packed`, and what was recorded up to it."""

    text: bytes
    numbers: bytes
    counts: Counts

    @property
    def digest(self) -> np.ndarray:
        """SHA-256 of all of it (32,)."""
        found = hashlib.sha256(self.text)
        found.update(self.numbers)
        found.update(repr(astuple(self.counts)).encode())
        return np.frombuffer(found.digest(), BYTE)


class StateWriter:
    """Writes the last state of a run again and again."""

    def __init__(self) -> None:
        self.last: LastState | None = None
        self._place = 0  # where it is in the file

    def rooms(self, final: bool) -> dict[str, Room]:
        """Return the datasets; one place is enough for the final one."""
        out = {"state/latest": Room((), WHOLE, -1)}
        if self.last is not None:
            spare = 1 if final else SPARE
            for k in range(1 if final else 2):
                out |= {
                    f"state/{k}/counts": Room((6,), WHOLE, -1), f"state/{k}/size": Room((2,), WHOLE, 0),
                    f"state/{k}/digest": Room((32,), BYTE, 0),
                    f"state/{k}/text": Room((spare * len(self.last.text),), BYTE, 0),
                    f"state/{k}/numbers": Room((spare * len(self.last.numbers),), BYTE, 0),
                }  # fmt: skip
        return out

    def fits(self, slots: Mapping[str, Slot], state: LastState) -> bool:
        """Tell whether a file has room for a state."""
        if "state/1/text" not in slots:
            return False
        room = (slots[f"state/1/{name}"].length for name in ("text", "numbers"))
        return all(len(part) <= most for part, most in zip((state.text, state.numbers), room, strict=True))

    def put(self, file: Container, state: LastState) -> None:
        """Write a state to the place of the one before the last."""
        self._place = 1 - self._place
        self.last = state
        self._write(file)

    def fill(self, file: Container) -> None:
        """Write the last state into a new file."""
        self._place = 0
        if self.last is not None:
            self._write(file)

    def _write(self, file: Container) -> None:
        assert self.last is not None
        k, state = self._place, self.last
        file.put(f"state/{k}/text", 0, np.frombuffer(state.text, BYTE))
        file.put(f"state/{k}/numbers", 0, np.frombuffer(state.numbers, BYTE))
        file.put(f"state/{k}/size", 0, (len(state.text), len(state.numbers)))
        file.put(f"state/{k}/counts", 0, astuple(state.counts))
        file.put(f"state/{k}/digest", 0, state.digest)
        file.put("state/latest", 0, k)


def read(get: Any, there: Any, rows: int) -> LastState | None:
    """Return the last state of a recording that is whole, or None.

    get, there : give a dataset by its name, and tell whether there is one; rows : complete ones
    """
    if not there("state/latest"):
        return None
    latest = int(get("state/latest")[()])
    for k in (latest, 1 - latest) if latest in (0, 1) else ():
        if there(f"state/{k}/digest"):
            size = [int(n) for n in get(f"state/{k}/size")[()]]
            text, numbers = (get(f"state/{k}/{name}")[:n] for name, n in zip(("text", "numbers"), size, strict=True))
            counts = Counts(*(int(n) for n in get(f"state/{k}/counts")[()]))
            found = LastState(text.tobytes(), numbers.tobytes(), counts)
            if np.array_equal(found.digest, get(f"state/{k}/digest")[()]) and 0 <= counts.rows <= rows:
                return found
    return None
