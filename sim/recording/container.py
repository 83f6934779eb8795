"""The HDF5 file of a recording while it is written, laid so that a killed writer leaves it whole.

An HDF5 file breaks when its *metadata* (superblock, headers, indices) is half written.  So HDF5
writes only the frame: a new file under another name, in which every dataset is contiguous, of
fixed size, allocated and filled; it takes the recording's name in one step (`os.replace`).  From
then on values are written straight to their places in the file, and nothing else changes.  A
recording that outgrows its file is copied into a larger one in the same way.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO

import h5py
import numpy as np

# Bytes copied at a time.  Larger: a long run keeps that much memory from the first copy on.
PIECE = 1 << 20


@dataclass(frozen=True)
class Room:
    """A dataset to make: shape, type and what stands in it at first (None: zeros)."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fill: Any


@dataclass(frozen=True)
class Slot:
    """Where a dataset lies in the file."""

    offset: int  # bytes
    row_bytes: int  # of one entry along the first axis
    dtype: np.dtype[Any]
    length: int  # entries along the first axis


class _Disk(io.FileIO):
    """A file that tells HDF5 that all is well: HDF5 crashes the program where a write fails."""

    error: OSError | None = None

    def write(self, data: Any) -> int:
        """Write all of `data`, or keep the error."""
        rest = memoryview(data).cast("B")
        size = len(rest)
        while len(rest) and self.error is None:
            try:
                rest = rest[super().write(rest) :]
            except OSError as error:
                self.error = error
        if len(rest):
            self.seek(len(rest), os.SEEK_CUR)
        return size

    def truncate(self, size: int | None = None) -> int:
        """Set the size of the file, or keep the error."""
        try:
            return super().truncate(size)
        except OSError as error:
            self.error = error
            return size or 0


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Let signals wait: what their handlers raise while HDF5 calls back is lost, and HDF5 fails in its place."""
    came: list[tuple[int, FrameType | None]] = []
    handlers: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        numbers = (getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP"))
        found = {number: signal.getsignal(number) for number in numbers if number is not None}
        handlers = {number: handler for number, handler in found.items() if callable(handler)}
    try:
        for number in handlers:
            signal.signal(number, lambda *signalled: came.append(signalled))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    for number, frame in came:
        handlers[number](number, frame)


@contextlib.contextmanager
def create(path: Path) -> Iterator[h5py.File]:
    """Give a new HDF5 file in the first version of the format to write to; signals wait meanwhile.

    That version has no mark "open for writing", which a killed writer would leave behind.
    """
    with undisturbed(), _Disk(path, "w+") as disk:
        with h5py.File(disk, "w", libver=("earliest", "v110")) as file:
            yield file
        if disk.error is not None:
            raise disk.error


def allocate(file: h5py.File, rooms: Mapping[str, Room]) -> dict[str, Slot]:
    """Make datasets on disk and return where they lie."""
    slots = {}
    homes = {"": file}
    for name, room in rooms.items():
        parent, _, leaf = name.rpartition("/")
        if parent not in homes:
            homes[parent] = file.require_group(parent)
        how = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        how.set_layout(h5py.h5d.CONTIGUOUS)
        how.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        how.set_fill_time(h5py.h5d.FILL_TIME_ALLOC)
        if room.fill is not None:  # else zeros, which are empty strings
            how.set_fill_value(np.array(room.fill, dtype=room.dtype))
        how.set_obj_track_times(False)
        space = h5py.h5s.create_simple(room.shape) if room.shape else h5py.h5s.create(h5py.h5s.SCALAR)
        kind = h5py.h5t.py_create(room.dtype, logical=True)
        made = h5py.h5d.create(homes[parent].id, leaf.encode(), kind, space, how)
        row_bytes = room.dtype.itemsize * int(np.prod(room.shape[1:]))
        length = room.shape[0] if room.shape else 1
        # An empty dataset has no place in the file.
        slots[name] = Slot(made.get_offset() or 0, row_bytes if length else 0, room.dtype, length)
    return slots


class Container:
    """A laid file, open to write values into its slots."""

    def __init__(self, path: Path, slots: Mapping[str, Slot]):
        self.slots = dict(slots)
        self._stream: BinaryIO = open(path, "r+b", buffering=0)  # noqa: SIM115

    def put(self, name: str, first: int, values: Any) -> None:
        """Write entries first, first + 1, ... of a dataset."""
        slot = self.slots[name]
        data = np.ascontiguousarray(values, dtype=slot.dtype).data.cast("B") if slot.row_bytes else b""
        if len(data) > (slot.length - first) * slot.row_bytes:
            raise ValueError(f"{name} has no room for entries beyond {slot.length}")
        self._write(slot.offset + first * slot.row_bytes, data)

    def copy(self, source: Container, name: str, count: int) -> None:
        """Copy the first `count` entries of a dataset from another file, piece by piece."""
        here, there = self.slots[name], source.slots[name]
        end = count * there.row_bytes
        for begin in range(0, end, PIECE):
            source._stream.seek(there.offset + begin)
            self._write(here.offset + begin, source._stream.read(min(PIECE, end - begin)))

    def _write(self, offset: int, data: memoryview | bytes) -> None:
        self._stream.seek(offset)
        while len(data):
            data = data[self._stream.write(data) :]

    def close(self) -> None:
        """Close the file; it stays as it is."""
        self._stream.close()


def strings(texts: Sequence[str], width: int = 1) -> np.ndarray:
    """Return strings of one fixed length, UTF-8, at least `width` bytes."""
    encoded = [text.encode() for text in texts]
    return np.array(encoded, dtype=h5py.string_dtype("utf-8", max([width, *map(len, encoded)])))


def table(names: Sequence[str], rows: Sequence[tuple[str, ...]]) -> np.ndarray:
    """Return a record table of fixed-length strings."""
    columns = [strings([row[k] for row in rows]) for k in range(len(names))]
    made = np.zeros(len(rows), dtype=[(name, column.dtype) for name, column in zip(names, columns, strict=True)])
    for name, column in zip(names, columns, strict=True):
        made[name] = column
    return made
