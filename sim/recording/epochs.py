"""Raw states of one tree, on their way to the file."""

from __future__ import annotations

from dataclasses import dataclass, field

import h5py
import numpy as np

from sim.recording.container import Container, Room, strings


@dataclass
class EpochWriter:
    """An epoch: what of it is in the file, and what waits in memory."""

    tree: tuple[str, ...]
    loops: tuple[str, ...]
    nq: int
    nv: int
    first: int  # row
    rows: int = 0  # in all
    written: int = 0  # in the file
    waiting: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)

    @property
    def last(self) -> int:
        """One past its last row."""
        return self.first + self.rows

    def append(self, q: np.ndarray, v: np.ndarray) -> None:
        """Take the state of one row (nq,), (nv,) or of k rows (k, nq), (k, nv)."""
        pair = np.array(q, "<f8", ndmin=2), np.array(v, "<f8", ndmin=2)
        if pair[0].shape[1:] != (self.nq,) or pair[1].shape != (len(pair[0]), self.nv):
            raise ValueError(f"state of shapes {np.shape(q)}, {np.shape(v)}; the epoch has {self.nq}, {self.nv}")
        self.waiting.append(pair)
        self.rows += len(pair[0])

    def rooms(self, k: int, room: int) -> dict[str, Room]:
        """Return the datasets of epoch number k with room for so many states."""
        real = np.dtype("<f8")
        return {
            f"epochs/{k}/rows": Room((2,), np.dtype("<i8"), self.first),
            f"epochs/{k}/q": Room((room, self.nq), real, np.nan),
            f"epochs/{k}/v": Room((room, self.nv), real, np.nan),
        }

    def write_names(self, group: h5py.Group) -> None:
        """Write which joints make the tree and which close loops."""
        group.attrs["tree"] = strings(self.tree)
        group.attrs["loops"] = strings(self.loops)

    def write(self, file: Container, k: int) -> None:
        """Write the states that wait, then how many there are."""
        if self.waiting:
            file.put(f"epochs/{k}/q", self.written, np.concatenate([pair[0] for pair in self.waiting]))
            file.put(f"epochs/{k}/v", self.written, np.concatenate([pair[1] for pair in self.waiting]))
        file.put(f"epochs/{k}/rows", 0, (self.first, self.last))

    def mark_written(self) -> None:
        """Forget what waits: it is in the file."""
        self.written = self.rows
        self.waiting.clear()
