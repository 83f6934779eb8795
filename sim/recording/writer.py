"""Write a recording while the scene runs."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sim.recording.container import Container, Room, allocate, create, strings
from sim.recording.drafts import Folder, replacing, tidy
from sim.recording.epochs import EpochWriter
from sim.recording.errors import RecordingError
from sim.recording.format import EventEntry, Layout, row_fields
from sim.recording.last_state import Counts, LastState, StateWriter
from sim.recording.ragged import CONTACTS, ContactWriter
from sim.recording.reader import Recording, load_recording
from sim.recording.static import write_run, write_static

# Rows gathered in memory before they are written.
BLOCK = 256
# Longest wall time that recorded rows wait in memory [s]; half of what is promised to a user.
FLUSH_PERIOD = 0.4
# Size up to which room for all expected rows is made at once [bytes]; beyond, the file grows.
FIRST_SIZE = 64e6
# Largest share of the wall time that may go into copying the file because an epoch begins; until
# then its raw states wait in memory (a copy takes 3 ms/MB: all but files above 60 MB within a second).
COPY_SHARE = 0.25
# Room for events: how many more than twice as many as there are, and bytes of each text.
MORE_EVENTS, EVENT_WIDTH = 64, 120

EVENT_TYPES = {
    "time": ("<f8", np.nan), "energy_lost": ("<f8", np.nan), "impulse": ("<f8", np.nan),
    "row_before": ("<i8", -1), "row_after": ("<i8", -1),
}  # fmt: skip
EVENT_TEXTS = ("name", "kind", "caption", "text")
IMPULSES = {"event": ((), "<i8", -1), "joint": ((), "<i8", -1), "wrench": ((6,), "<f8", np.nan)}
CONTACT_IMPULSES = {
    "event": ((), "<i8", -1), "pair": ((), "<i8", -1), "key": ((2,), "<i8", -1),
    "point": ((3,), "<f8", np.nan), "normal": ((3,), "<f8", np.nan), "impulse": ((3,), "<f8", np.nan),
}  # fmt: skip
BINDINGS = {
    "joint": ((), "<i8", -1), "time": ((), "<f8", np.nan), "row": ((), "<i8", -1),
    "parent_position": ((3,), "<f8", np.nan), "parent_quat_wxyz": ((4,), "<f8", np.nan),
    "child_position": ((3,), "<f8", np.nan), "child_quat_wxyz": ((4,), "<f8", np.nan), "offset": ((), "<f8", np.nan),
}  # fmt: skip


class Recorder:
    """Writes a recording; at every moment the file on disk is whole and readable.

    Parameters
    ----------
    path : path or None
        Where; None records to a temporary folder (`take` hands it over).
    layout : Layout
        All that does not change while the scene runs.
    overwrite : bool
        Replace what stands at `path`.
    program : str
        Name and version of the program that writes.

    Raises
    ------
    RecordingError
        The file exists, its folder doesn't, the disk is full ...
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        layout: Layout,
        *,
        overwrite: bool = False,
        program: str = "brachiate",
    ):
        self.temporary = path is None
        self._folder = Folder() if path is None else None
        self.path = self._folder.path / "recording.h5" if self._folder is not None else Path(path or "")
        self.layout = layout
        self.count = 0  # rows appended
        self.events: list[EventEntry] = []
        self._impulses: list[tuple[int, int, np.ndarray]] = []  # event, joint, (6,): those that are not zero
        self._contact_impulses: list[tuple[Any, ...]] = []  # as in CONTACT_IMPULSES
        self._bindings: list[tuple[Any, ...]] = []  # as in BINDINGS
        self._contacts = ContactWriter() if layout.pairs else None
        self._state = StateWriter()
        self._for_longer: LastState | None = None  # the state of a finished recording
        self._program = program
        self._check_target(overwrite)
        tidy(self.path.parent)
        tidy(Path(tempfile.gettempdir()))
        self._fields = row_fields(layout)
        self._block = {name: np.full((BLOCK, *f.tail), f.fill, f.dtype) for name, f in self._fields.items()}
        self._written = 0  # rows in the file
        self._counted = 0  # rows that the file says to hold
        self._epochs: list[EpochWriter] = []
        self._epochs_laid = 0
        self._copy_time, self._copied = 0.0, 0.0  # s: the last copy's duration and end
        self._file: Container | None = None
        row_bytes = sum(block.nbytes for block in self._block.values()) // BLOCK
        self._capacity = int(np.clip(layout.expected_rows, BLOCK, max(BLOCK, FIRST_SIZE // row_bytes)))
        with self._sentences():
            self._file = self._lay(self._capacity)
        self._flushed = self._kept = time.monotonic()

    def _check_target(self, overwrite: bool) -> None:
        if self.path.is_dir():
            raise RecordingError(f"{self.path} is a folder; give the name of a file")
        if self.path.exists() and not overwrite:
            raise RecordingError(f"{self.path} exists; choose another name or allow to overwrite it")
        if not self.path.parent.is_dir():
            raise RecordingError(f"there is no folder {self.path.parent} to record in")

    def append(self, rows: Mapping[str, np.ndarray]) -> None:
        """Append k rows.

        Parameters
        ----------
        rows : mapping of dataset name (`row_fields`) to an array (k, ...)
            What is not given stays absent.  Not-a-number in whole-number datasets is absent, too.
        """
        k = len(rows["time"])
        for name, values in rows.items():
            if len(values) != k:
                raise ValueError(f"{name}: {len(values)} rows, expected {k} as in time")
        done = 0
        while done < k:
            at = self.count - self._written
            step = min(BLOCK - at, k - done)
            self._gather(rows, done, at, step)
            done += step
            self.count += step
            if at + step == BLOCK:
                with self._sentences():
                    self._write_block()
        self.flush_if_due()

    def take_over(self, recording: Recording, counts: Counts) -> None:
        """Record anew what a recording holds up to a state, from which the run goes on.  Nothing was recorded yet."""
        get = recording.dataset
        for epoch in recording.epochs[: counts.epochs]:
            self._epochs.append(EpochWriter(epoch.tree, epoch.loops, epoch.q.shape[1], epoch.v.shape[1], epoch.first))
            last = min(epoch.last, counts.rows)
            if last > epoch.first:
                self.append_state(epoch.q[: last - epoch.first], epoch.v[: last - epoch.first])
        if self._contacts is not None and counts.contacts:
            told = {name for name in CONTACTS if recording.tells(f"contacts/{name}")}
            known = {name: get(f"contacts/{name}")[: counts.contacts] for name in told}
            self._contacts.append({"moment": np.zeros((counts.contacts, 3)), **known}, 0)
        impulses = (get(f"impulses/{name}")[: counts.impulses] for name in IMPULSES)
        self._impulses = [(int(e), int(j), w) for e, j, w in zip(*impulses, strict=True)]
        if recording.tells("contacts/impulses/event"):
            struck = zip(*(get(f"contacts/impulses/{name}")[()] for name in CONTACT_IMPULSES), strict=True)
            self._contact_impulses = [one for one in struck if 0 <= one[0] < counts.events]
        bindings = (get(f"bindings/{name}")[: counts.bindings] for name in BINDINGS)
        self._bindings = list(zip(*bindings, strict=True))
        self.events = list(recording.events[: counts.events])
        for first in range(0, counts.rows, BLOCK):
            rows = slice(first, min(first + BLOCK, counts.rows))
            self.append({name: get(name)[rows] for name in self._fields})
        with self._sentences():
            self._grow(self._capacity)

    def take_name(self, path: Path) -> None:
        """Go on under another name, that of a file which this one replaces."""
        slots = self._open().slots
        self.close()
        os.replace(self.path, path)
        self.path = path
        self._file = Container(path, slots)

    def contacts(self, values: Mapping[str, np.ndarray]) -> None:
        """Take closed points of contact of rows that are appended next.

        values : row (k,), from 0 on for the next; pair, mode, iterations, determinate (k,); key (k, 2); point, normal,
        force (k, 3)
        """
        if self._contacts is None:
            raise ValueError("points of contact, but no pair of shapes that may touch")
        self._contacts.append(values, self.count)

    def _gather(self, rows: Mapping[str, np.ndarray], done: int, at: int, step: int) -> None:
        """Put rows done ... done + step into the block."""
        here, there = slice(at, at + step), slice(done, done + step)
        for name, values in rows.items():
            block = self._block[name]
            if block.dtype.kind == "i" and values.dtype.kind == "f":
                values = np.where(np.isnan(values), self._fields[name].fill, values)
            block[here] = values[there]
        for name in self._block.keys() - rows.keys():
            self._block[name][here] = self._fields[name].fill

    def event(
        self, time: float, name: str, kind: str = "scene", *, caption: str = "", row_before: int = -1,
        row_after: int = -1, energy_lost: float = np.nan, impulse: float = np.nan, text: str = "",
        through: np.ndarray | None = None, contacts: Mapping[str, np.ndarray] | None = None,
    ) -> None:  # fmt: skip
        """Record that something happened; rows count from 0 (`count` is the next one).

        through : (joints, 6), impulse of each joint: moment about it, force, of the parent on the child
        contacts : impulses of points of contact: pair (m,), key (m, 2), point, normal, impulse (m, 3)
        """
        if contacts is not None:
            entries = zip(*(contacts[name] for name in CONTACT_IMPULSES if name != "event"), strict=True)
            self._contact_impulses += [(len(self.events), *entry) for entry in entries]
        if through is not None:
            acting = np.flatnonzero(np.any(through != 0.0, axis=1))
            self._impulses += [(len(self.events), int(j), through[j].copy()) for j in acting]
        self.events.append(
            EventEntry(
                time=float(time), name=name, kind=kind, caption=caption, row_before=int(row_before),
                row_after=int(row_after), energy_lost=float(energy_lost), impulse=float(impulse), text=text,
            )
        )  # fmt: skip

    def bind(self, joint: int, time: float, row: int, frames: Sequence[np.ndarray], offset: float = 0.0) -> None:
        """Record that a joint is bound at a time, first in a row.

        frames : position (3,) and quaternion (4,) of the frame on the parent, then those on the child; `BindingEntry`
        """
        self._bindings.append((int(joint), float(time), int(row), *frames, float(offset)))

    def start_epoch(self, tree: Sequence[str], loops: Sequence[str], nq: int, nv: int) -> None:
        """Begin an epoch with the next row: another tree, with nq coordinates and nv rates."""
        self._epochs.append(EpochWriter(tuple(tree), tuple(loops), nq, nv, first=self.count))

    def append_state(self, q: np.ndarray, v: np.ndarray) -> None:
        """Append the raw state of one row (nq,), (nv,), or of k rows (k, nq), (k, nv), of the current epoch."""
        self._epochs[-1].append(q, v)

    def flush_if_due(self) -> None:
        """Flush when the last flush is some tenths of a second ago; cheap enough for every step."""
        if time.monotonic() - self._flushed > FLUSH_PERIOD:
            self.flush()

    def flush(self) -> None:
        """Bring everything to the file: values first, the count of complete rows after them."""
        with self._sentences():
            self._write_block()
            if len(self._epochs) > self._epochs_laid and self._may_copy():
                self._grow(self._capacity)
            self._write_states()
            self._write_events()
            self._write_contacts()
            self._count_rows()
        self._flushed = time.monotonic()

    def wants_state(self) -> bool:
        """Tell whether the last state that was kept is some tenths of a second old."""
        return time.monotonic() - self._kept > FLUSH_PERIOD

    def keep_state(self, text: bytes, numbers: bytes, finished: bool = False) -> None:
        """Keep a state, as `plain_values.packed` gives it, from which the run goes on behind what was recorded.

        finished : it is that of the recording when it is finished, and waits in memory until then
        """
        touches = self._contacts.count if self._contacts is not None else 0
        counts = Counts(
            rows=self.count, events=len(self.events), impulses=len(self._impulses), bindings=len(self._bindings),
            epochs=len(self._epochs), contacts=touches,
        )  # fmt: skip
        state = LastState(text, numbers, counts)
        if finished:
            self._for_longer = state
            return
        before = self._open()
        if not self._state.fits(before.slots, state) and self.count <= self._capacity:
            self._state.last = state  # where flushing lays a new file it has room for it, and holds it
        self.flush()
        self._kept = self._flushed
        with self._sentences():
            if self._complete_rows() < self.count:
                self._state.last = state  # raw states wait for a larger file, and the state with them
            elif self._file is not before and self._state.last is state:
                pass
            elif self._state.fits(self._open().slots, state):
                self._state.put(self._open(), state)
            else:
                self._state.last = state
                self._grow(self._capacity)

    def finish(self, complete: bool, run_attributes: Mapping[str, Any] | None = None) -> None:
        """Write the rest and close the file, cut to the rows that there are.

        Parameters
        ----------
        complete : bool
            The run came to its end.
        run_attributes : mapping
            Times of day, wall times and counts: all that may differ between two equal runs.
        """
        try:
            self.flush()
            with self._sentences():
                self._finish(complete, run_attributes or {})
        finally:
            self.close()

    def _finish(self, complete: bool, run: Mapping[str, Any]) -> None:
        before = self._file
        if complete and self._for_longer is not None:
            self._state.last = self._for_longer
        try:
            self._lay(self.count, complete=complete, run=run).close()
        except (OSError, RuntimeError):
            # No room for the final copy: the working file holds the same rows.
            self._reopen(before)
            self._open().put("complete", 0, int(complete))

    def close(self) -> None:
        """Close the file as it is, without a last flush."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def take(self) -> Recording:
        """Return the finished recording; a temporary one is deleted with the object that is returned."""
        recording = load_recording(self.path)
        if self._folder is not None:
            recording.delete_when_closed(self._folder)
        return recording

    def discard(self) -> None:
        """Close, and delete a temporary recording."""
        self.close()
        if self._folder is not None:
            self._folder.delete()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self.finish(complete=False)

    def _open(self) -> Container:
        if self._file is None:
            raise RecordingError(f"{self.path} is closed")
        return self._file

    def _complete_rows(self, *, with_waiting: bool = False) -> int:
        """Rows that are in the file with all that belongs to them: states, points of contact, events, bindings.

        with_waiting : as if all were in it that waits in memory
        """
        if with_waiting:
            return min(self._written, self._epochs[-1].last) if self._epochs else self._written
        rows = self._written
        for k, epoch in enumerate(self._epochs):
            kept = epoch.written if k < self._epochs_laid else 0
            if kept < epoch.rows or k == len(self._epochs) - 1:
                rows = min(rows, epoch.first + kept)
        if self._contacts is not None:
            rows = min(rows, self._contacts.complete_rows)
        rows = min([rows, *(binding[2] for binding in self._bindings[self._bindings_written :])])
        later = [event.row_after for event in self.events[self._events_written :]]
        return min([rows, *(row for row in later if row >= 0)])

    def _count_rows(self) -> None:
        """Say in the file how many rows it holds; they are all there already."""
        rows = self._complete_rows()
        self._open().put("rows", 0, rows)
        self._counted = rows

    def _may_copy(self) -> bool:
        return self._copy_time < COPY_SHARE * (time.monotonic() - self._copied)

    def _write_block(self) -> None:
        k = self.count - self._written
        if not k:
            return
        if self.count > self._capacity:
            self._grow(2 * self._capacity)  # a block is never larger
        file = self._open()
        for name, block in self._block.items():
            file.put(name, self._written, block[:k])
        self._written = self.count

    def _write_states(self) -> None:
        for k, epoch in enumerate(self._epochs[: self._epochs_laid]):
            if epoch.rows > self._open().slots[f"epochs/{k}/q"].length:
                self._grow(max(2 * self._capacity, epoch.last))  # takes along what waits
            epoch.write(self._open(), k)
            epoch.mark_written()

    def _write_events(self) -> None:
        fresh = self.events[self._events_written :]
        if not fresh and self._bindings_written == len(self._bindings):
            return
        slots = self._open().slots
        fits = len(self.events) <= slots["events/time"].length
        fits = fits and len(self._impulses) <= slots["impulses/event"].length
        if "contacts/impulses/event" in slots:
            fits = fits and len(self._contact_impulses) <= slots["contacts/impulses/event"].length
        fits = fits and len(self._bindings) <= slots["bindings/joint"].length
        if fits and max(map(_text_width, fresh), default=1) <= slots["events/text"].dtype.itemsize:
            self._put_bindings(self._open(), self._bindings_written)
            self._put_impulses(self._open(), self._impulses_written)
            self._put_contact_impulses(self._open(), self._contact_impulses_written)
            self._put_events(self._open(), self._events_written)
            self._count_events()
        else:
            self._grow(self._capacity)

    def _put_events(self, file: Container, first: int) -> None:
        fresh = self.events[first:]
        for name in EVENT_TEXTS:
            slot = file.slots[f"events/{name}"]
            file.put(f"events/{name}", first, strings([getattr(e, name) for e in fresh], slot.dtype.itemsize))
        for name in reversed(EVENT_TYPES):  # the time last: an event counts from when it has one
            file.put(f"events/{name}", first, [getattr(event, name) for event in fresh])

    def _put_impulses(self, file: Container, first: int) -> None:
        columns = list(zip(IMPULSES, zip(*self._impulses[first:], strict=True), strict=False))
        for name, column in reversed(columns):  # the event last: an impulse counts from when it has one
            file.put(f"impulses/{name}", first, np.array(column))

    def _put_contact_impulses(self, file: Container, first: int) -> None:
        columns = list(zip(CONTACT_IMPULSES, zip(*self._contact_impulses[first:], strict=True), strict=False))
        for name, column in reversed(columns):  # the event last, as above
            file.put(f"contacts/impulses/{name}", first, np.array(column))

    def _put_bindings(self, file: Container, first: int) -> None:
        fresh = self._bindings[first:]
        for name, column in zip(BINDINGS, zip(*fresh, strict=True), strict=False):
            file.put(f"bindings/{name}", first, np.array(column))

    def _count_events(self) -> None:
        """Note that all that happened is in the file."""
        self._events_written, self._impulses_written = len(self.events), len(self._impulses)
        self._contact_impulses_written = len(self._contact_impulses)
        self._bindings_written = len(self._bindings)

    def _write_contacts(self) -> None:
        if self._contacts is None or self._contacts.count == self._contacts.written:
            return
        if self._contacts.fit(self._open().slots):
            self._contacts.write(self._open())
            self._contacts.mark_written()
        else:
            self._grow(self._capacity)

    def _grow(self, capacity: int) -> None:
        """Move to a file with other room: more rows, a new epoch, more or longer events."""
        before = self._file
        try:
            self._file = self._lay(capacity)
        except BaseException:
            self._reopen(before)
            raise

    def _reopen(self, before: Container | None) -> None:
        """Go on with the file that could not be replaced."""
        if self._file is None and before is not None:
            self._file = Container(self.path, before.slots)

    def _lay(self, capacity: int, *, complete: bool | None = None, run: Mapping[str, Any] | None = None) -> Container:
        """Lay a file with room for `capacity` rows, copy everything into it and let it take the name.

        With `complete` given it is the last one: room for what there is and no more.
        """
        began = time.monotonic()
        with replacing(self.path) as draft:
            with create(draft) as frame:
                write_static(frame, self.layout, self._program)
                write_run(frame, run or {})
                slots = allocate(frame, self._rooms(capacity, complete is not None))
                for k, epoch in enumerate(self._epochs):
                    epoch.write_names(frame[f"epochs/{k}"])
            file = Container(draft, slots)
            try:
                self._fill(file, bool(complete))
            finally:
                file.close()
            self.close()  # some systems replace no file that is open
        for epoch in self._epochs:
            epoch.mark_written()
        if self._contacts is not None:
            self._contacts.mark_written()
        self._capacity = capacity
        self._count_events()
        self._epochs_laid = len(self._epochs)
        self._counted = self._complete_rows()
        self._copied = time.monotonic()
        self._copy_time = self._copied - began
        return Container(self.path, slots)

    def _rooms(self, capacity: int, final: bool) -> dict[str, Room]:
        """Return every dataset whose values are written while the scene runs."""
        rooms = {name: Room((capacity, *f.tail), f.dtype, f.fill) for name, f in self._fields.items()}
        rooms["rows"] = Room((), np.dtype("<i8"), 0)
        rooms["complete"] = Room((), np.dtype("i1"), 0)
        count = _roomy(len(self.events), final)
        for name, (dtype, fill) in EVENT_TYPES.items():
            rooms[f"events/{name}"] = Room((count,), np.dtype(dtype), fill)
        width = max([1 if final else EVENT_WIDTH, *map(_text_width, self.events)])
        width = width if final or width == EVENT_WIDTH else 2 * width
        for name in EVENT_TEXTS:
            rooms[f"events/{name}"] = Room((count,), strings([], width).dtype, None)
        tables = [("impulses", IMPULSES, len(self._impulses)), ("bindings", BINDINGS, len(self._bindings))]
        if self._contacts is not None:
            tables.append(("contacts/impulses", CONTACT_IMPULSES, len(self._contact_impulses)))
        for group, fields, count in tables:
            for name, (tail, dtype, fill) in fields.items():
                rooms[f"{group}/{name}"] = Room((_roomy(count, final), *tail), np.dtype(dtype), fill)
        if self._contacts is not None:
            rooms.update(self._contacts.rooms(final))
        rooms.update(self._state.rooms(final))
        for k, epoch in enumerate(self._epochs):
            closed = final or k < len(self._epochs) - 1
            rooms.update(epoch.rooms(k, epoch.rows if closed else max(epoch.rows, capacity - epoch.first)))
        return rooms

    def _fill(self, file: Container, complete: bool) -> None:
        """Write into a new file all that was recorded, from the old one and from memory."""
        if self._file is not None:
            for name in self._fields:
                file.copy(self._file, name, self._written)
        for k, epoch in enumerate(self._epochs):
            if k < self._epochs_laid and self._file is not None:
                file.copy(self._file, f"epochs/{k}/q", epoch.written)
                file.copy(self._file, f"epochs/{k}/v", epoch.written)
            epoch.write(file, k)
        if self._contacts is not None:
            if self._file is not None:
                self._contacts.copy(file, self._file)
            self._contacts.write(file)
        self._put_events(file, 0)
        self._put_impulses(file, 0)
        self._put_contact_impulses(file, 0)
        self._put_bindings(file, 0)
        self._state.fill(file)
        file.put("rows", 0, self._complete_rows(with_waiting=True))
        file.put("complete", 0, int(complete))

    @contextlib.contextmanager
    def _sentences(self) -> Iterator[None]:
        """Turn what the system says into a sentence, with the number of rows that can be read."""
        try:
            yield
        except (OSError, RuntimeError) as error:
            if self._file is not None:
                # Where the disk is full there is room for this number all the same: it stood there before.
                with contextlib.suppress(OSError, RuntimeError):
                    self._count_rows()
            reason = getattr(error, "strerror", None) or str(error)
            kept = f"; the first {self._counted} rows are kept in it" if self._counted else ""
            failure = RecordingError(f"{self.path} cannot be written: {reason}{kept}")
            failure.rows_kept = self._counted
            raise failure from error


def _roomy(count: int, final: bool) -> int:
    """Return how many events there is to be room for where there are so many; files that grow are copied rarely."""
    return count if final else 2 * count + MORE_EVENTS


def _text_width(event: EventEntry) -> int:
    """Return the bytes that the longest text of an event takes, at least 1."""
    return max(1, *(len(getattr(event, name).encode()) for name in EVENT_TEXTS))
