"""How a file grows, and when it is written: by a clock that the test moves, and from how large its datasets are."""

from __future__ import annotations

import io
import signal
import tempfile
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest

from sim.recording import Layout, PairEntry, Recorder, RecordingError, container, load_recording, ragged, writer
from sim.recording.container import Container, Room, Slot, allocate, create, strings, table
from sim.recording.epochs import EpochWriter
from sim.recording.ragged import ContactWriter
from tests.recording import example, whole

LAYOUT = example.layout(2)


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands until it is moved."""
    now = SimpleNamespace(time=1000.0)
    monkeypatch.setattr(writer, "time", SimpleNamespace(monotonic=lambda: now.time))
    return now


def shape(path: Path, name: str) -> tuple[int, ...]:
    with h5py.File(path) as file:
        return file[name].shape


def value(path: Path, name: str) -> int:
    with h5py.File(path) as file:
        return int(file[name][()])


def row_bytes(layout: Layout) -> int:
    """Bytes of all datasets of a row, from the table of the documentation."""
    b, j, c, f = map(len, (layout.bodies, layout.joints, layout.columns, layout.forces))
    real = 1 + b * (3 + 4 + 3 + 3 + 3) + j * (3 + 6) + c * 5 + 6 + f * (1 + 1 + 6) + 3 + 2
    return 8 * real + j * (1 + 6 + 6)


@pytest.mark.parametrize(
    ("expected", "first_size", "room"),
    [(0, 64e6, 256), (256, 64e6, 256), (257, 64e6, 257), (3000, 64e6, 3000), (4001, "4000 rows", 4000),
     (4000, "4000 rows", 4000), (3999, "4000 rows", 3999), (9000, 10.0, 256)],
)  # fmt: skip
def test_the_first_file_has_room_for_the_rows_that_are_expected_up_to_a_size(
    tmp_path, monkeypatch, expected, first_size, room
):
    layout = example.layout(2, expected_rows=expected)
    size = 4000 * row_bytes(layout) if isinstance(first_size, str) else first_size
    monkeypatch.setattr(writer, "FIRST_SIZE", size)
    Recorder(tmp_path / "a.h5", layout).close()
    assert shape(tmp_path / "a.h5", "time") == (room,)


def test_the_numbers_of_what_waits_and_grows_are_these():
    """Half of a second is promised, and a crash may cost no more."""
    assert (writer.BLOCK, writer.FLUSH_PERIOD, writer.COPY_SHARE, writer.FIRST_SIZE) == (256, 0.4, 0.25, 64e6)
    assert (ragged.ROOM, container.PIECE) == (4096, 1 << 20)


def test_room_doubles_when_a_block_does_not_fit(tmp_path, clock):
    path = tmp_path / "a.h5"
    recorder = Recorder(path, LAYOUT)
    for count, room in ((256, 256), (1, 256), (255, 512), (256, 1024), (256, 1024), (1, 1024), (255, 2048)):
        recorder.append(example.rows(LAYOUT, recorder.count, count))
        assert shape(path, "time") == (room,), recorder.count
    recorder.flush()
    assert value(path, "rows") == 1280 and shape(path, "com") == (2048, 2, 3)
    recorder.finish(True)
    assert shape(path, "com") == (1280, 2, 3)


def test_a_block_is_written_when_it_is_full_and_rows_count_when_they_are_flushed(tmp_path, clock):
    path = tmp_path / "a.h5"
    recorder = Recorder(path, LAYOUT)

    def written() -> int:
        with h5py.File(path) as file:
            assert int(file["rows"][()]) == counted
            return int(np.isfinite(file["time"][()]).sum())

    counted = 0
    recorder.append(example.rows(LAYOUT, 0, 255))
    assert written() == 0
    recorder.append(example.rows(LAYOUT, 255, 1))
    assert written() == 256
    recorder.append(example.rows(LAYOUT, 256, 30))
    assert written() == 256
    clock.time += 0.4
    recorder.append(example.rows(LAYOUT, 286, 1))
    assert written() == 256  # as long ago as may be, and not longer
    clock.time += 0.0625
    recorder.append(example.rows(LAYOUT, 287, 1))
    counted = 288
    assert written() == 288
    clock.time += 0.4
    recorder.append(example.rows(LAYOUT, 288, 1))
    assert written() == 288  # counted from the flush
    recorder.close()


def test_what_is_not_given_is_absent_also_where_a_block_held_it_before(tmp_path, clock):
    path = tmp_path / "a.h5"
    with Recorder(path, LAYOUT) as recorder:
        recorder.append(example.rows(LAYOUT, 0, 256))
        recorder.append({"time": np.full(3, 9.0), "trust/rank": np.array([np.nan, 4.0, 5.0])})
        recorder.append({"time": np.full(1, 9.5), "trust/rows": np.array([-3])})
    with load_recording(path) as r:
        assert np.isfinite(r.com.array[:256]).all() and np.isnan(r.com.array[256:]).all()
        assert r.trust.rank[255:].tolist() == [1, -1, 4, 5, -1] and r.trust.rows[255:].tolist() == [1, -1, -1, -1, -3]
        assert (r.trust.components.array[256:] == -1).all()


def test_states_wait_until_the_copy_for_a_new_epoch_is_a_small_share_of_the_time(tmp_path, clock, monkeypatch):
    """The last copy took 2 s: after 8 s from its end a copy may begin."""
    path, write_static = tmp_path / "a.h5", writer.write_static

    def static(*given):
        clock.time += 2.0
        write_static(*given)

    monkeypatch.setattr(writer, "write_static", static)
    recorder = Recorder(path, LAYOUT)
    recorder.start_epoch(["pin0"], [], 3, 2)
    recorder.append_state(np.zeros((5, 3)), np.zeros((5, 2)))
    recorder.append(example.rows(LAYOUT, 0, 5))
    clock.time += 8.0 - 2.0**-10
    recorder.flush()
    with h5py.File(path) as file:
        assert "epochs" not in file and int(file["rows"][()]) == 0
    clock.time += 2.0**-10
    recorder.flush()
    with h5py.File(path) as file:
        assert "epochs" not in file  # not less
    clock.time += 2.0**-10
    recorder.flush()
    with h5py.File(path) as file:
        assert file["epochs/0/q"].shape == (256, 3) and int(file["rows"][()]) == 5
    recorder.close()


def test_the_last_epoch_has_room_for_the_rest_and_those_before_for_what_they_have(tmp_path, monkeypatch, clock):
    monkeypatch.setattr(writer, "COPY_SHARE", float("inf"))
    path = tmp_path / "a.h5"
    recorder = Recorder(path, LAYOUT)
    for nq, count in ((3, 10), (4, 20)):
        recorder.start_epoch(["pin0"], [], nq, 2)
        recorder.append_state(np.zeros((count, nq)), np.zeros((count, 2)))
        recorder.append(example.rows(LAYOUT, recorder.count, count))
        clock.time += 0.25
        recorder.flush()
    assert shape(path, "epochs/0/q") == (10, 3) and shape(path, "epochs/1/q") == (246, 4)
    # States may be told before their rows: as many as there is room for, and one more.
    recorder.append_state(np.zeros((226, 4)), np.zeros((226, 2)))
    recorder.flush()
    assert shape(path, "epochs/1/q") == (246, 4) and shape(path, "time") == (256,)
    recorder.append_state(np.zeros(4), np.zeros(2))
    recorder.flush()
    assert shape(path, "epochs/1/v") == (502, 2) and shape(path, "time") == (512,)
    recorder.append_state(np.zeros((1800, 4)), np.zeros((1800, 2)))
    recorder.flush()
    assert shape(path, "epochs/1/v") == (2047, 2) and shape(path, "time") == (2057,)
    assert value(path, "rows") == 30
    recorder.close()


def test_more_events_or_longer_texts_than_there_is_room_for_make_it_grow(tmp_path, clock):
    path = tmp_path / "a.h5"
    recorder = Recorder(path, LAYOUT)

    def told() -> tuple[int, int]:
        recorder.flush()
        with h5py.File(path) as file:
            times = file["events/time"][()]
            assert int(np.isfinite(times).sum()) == len(recorder.events)
            return len(times), file["events/text"].dtype.itemsize

    assert told() == (64, 120)
    for _ in range(63):
        recorder.event(0.0, "e" * 120)
    assert told() == (64, 120)
    recorder.event(0.0, "é" * 60, text="x" * 120)
    assert told() == (64, 120)
    recorder.event(0.0, "one more")
    assert told() == (2 * 65 + 64, 120)
    recorder.event(0.0, "e", caption="é" * 60 + "x")
    assert told() == (2 * 66 + 64, 242)  # with room for as many, 64 more, and texts of twice the length
    recorder.event(0.0, "e", kind="k" * 242)
    assert told() == (2 * 66 + 64, 242)
    recorder.close()


@pytest.mark.parametrize("what", ["impulses", "bindings"])
def test_more_impulses_or_bindings_than_there_is_room_for_make_it_grow(tmp_path, clock, what):
    path = tmp_path / "a.h5"
    recorder = Recorder(path, LAYOUT)
    frames = [np.zeros(3), np.zeros(4), np.zeros(3), np.zeros(4)]

    def more() -> None:
        if what == "bindings":
            recorder.bind(0, 0.5, 0, frames)
        elif recorder.events:
            recorder._impulses.append((0, 0, np.ones(6)))
        else:
            recorder.event(0.0, "e", through=np.array([[1.0] * 6, [0.0] * 6]))

    for count, room in ((63, 64), (1, 64), (1, 194), (63, 194), (66, 194), (1, 454)):
        for _ in range(count):
            more()
        if what == "impulses":
            recorder.event(0.0, "e")
        recorder.flush()
        with h5py.File(path) as file:
            assert len(file[f"{what}/joint"]) == room
            assert (file[f"{what}/joint"][()] == 0).sum() == len(recorder._impulses) + len(recorder._bindings)
    recorder.close()


def test_points_of_contact_have_twice_the_room_that_they_need(tmp_path, monkeypatch, clock):
    monkeypatch.setattr(ragged, "ROOM", 10)
    path = tmp_path / "a.h5"
    layout = example.layout(2, pairs=(PairEntry(a="world", b="link0", shapes=(0, 0)),))
    recorder = Recorder(path, layout)
    for count, room in ((4, 10), (1, 10), (5, 10), (1, 22), (11, 22), (1, 46)):
        recorder.contacts({
            "row": np.zeros(count, int), "pair": np.zeros(count), "key": np.zeros((count, 2)), "mode": np.ones(count),
            "iterations": np.ones(count), "determinate": np.ones(count), "point": np.ones((count, 3)),
            "normal": np.ones((count, 3)), "force": np.ones((count, 3)),
            "moment": np.ones((count, 3)),
        })  # fmt: skip
        recorder.append(example.rows(layout, recorder.count, 1))
        recorder.flush()
        assert shape(path, "contacts/row") == (room,)
        assert value(path, "rows") == recorder.count
        with load_recording(path) as recording:
            assert len(recording.touches["row"]) == recorder._contacts.count
    recorder.close()


def test_points_of_contact_of_rows_to_come_let_no_row_count_before_them():
    told = ContactWriter()
    assert told.complete_rows == 2**63 - 1

    def entries(*rows: int) -> dict[str, np.ndarray]:
        shapes = {"key": (2,), "point": (3,), "normal": (3,), "force": (3,), "moment": (3,)}
        return {name: np.array(rows) if name == "row" else np.zeros((len(rows), *shapes.get(name, ())))
                for name in ragged.CONTACTS}  # fmt: skip

    told.append(entries(), 3)
    assert told.complete_rows == 2**63 - 1 and told.count == 0
    told.append(entries(2, 2, 4), 10)
    told.append(entries(0), 20)
    assert told.complete_rows == 12 and told.count == 4
    slot = Slot(0, 8, np.dtype("<i8"), 4)
    assert told.fit({"contacts/row": slot}) and not told.fit({"contacts/row": Slot(0, 8, np.dtype("<i8"), 3)})
    assert told.rooms(True)["contacts/key"].shape == (4, 2) and told.rooms(False)["contacts/row"].shape == (4096,)
    told.mark_written()
    assert told.complete_rows == 2**63 - 1 and told.written == 4


@pytest.mark.parametrize(
    ("q", "v", "shapes"),
    [((3,), (2,), None), ((5, 3), (5, 2), None), ((4,), (2,), "(4,), (2,)"), ((3,), (1,), "(3,), (1,)"),
     ((5, 3), (4, 2), "(5, 3), (4, 2)"), ((5, 2), (5, 2), "(5, 2), (5, 2)"), ((5, 3), (5, 3), "(5, 3), (5, 3)"),
     ((2, 5, 3), (2, 5, 2), "(2, 5, 3), (2, 5, 2)")],
)  # fmt: skip
def test_states_have_the_size_of_their_epoch(q, v, shapes):
    epoch = EpochWriter(("a",), (), 3, 2, first=7)
    assert epoch.last == 7
    if shapes is None:
        epoch.append(np.zeros(q), np.zeros(v))
        assert (epoch.rows, epoch.last, epoch.written) == (q[0] if len(q) > 1 else 1, 7 + epoch.rows, 0)
        epoch.mark_written()
        assert epoch.written == epoch.rows and epoch.waiting == []
        return
    with pytest.raises(ValueError) as caught:
        epoch.append(np.zeros(q), np.zeros(v))
    assert str(caught.value) == f"state of shapes {shapes}; the epoch has 3, 2"
    assert epoch.rows == 0


def test_what_cannot_be_appended_is_named(tmp_path):
    recorder = Recorder(tmp_path / "a.h5", LAYOUT)
    with pytest.raises(ValueError) as caught:
        recorder.append({"time": np.zeros(3), "com": np.zeros((2, 2, 3))})
    assert str(caught.value) == "com: 2 rows, expected 3 as in time"
    with pytest.raises(ValueError) as caught:
        recorder.contacts({})
    assert str(caught.value) == "points of contact, but no pair of shapes that may touch"
    assert recorder.count == 0
    recorder.finish(True)
    for ask in (recorder.flush, lambda: recorder.finish(True)):
        recorder.event(0.0, "late")
        with pytest.raises(RecordingError) as closed:
            ask()
        assert str(closed.value) == f"{tmp_path / 'a.h5'} is closed"


def test_drafts_that_were_left_are_cleared_where_it_records_and_among_temporary_folders(tmp_path, monkeypatch):
    looked: list[Path] = []
    monkeypatch.setattr(writer, "tidy", looked.append)
    Recorder(tmp_path / "a.h5", LAYOUT).close()
    assert looked == [tmp_path, Path(tempfile.gettempdir())]


def test_a_temporary_recording_is_deleted_when_nobody_wants_it(tmp_path):
    for temporary in (True, False):
        recorder = Recorder(None if temporary else tmp_path / "a.h5", LAYOUT)
        assert recorder.temporary is temporary
        recorder.discard()
        assert recorder.path.exists() is not temporary


def test_a_recording_that_is_left_is_finished_as_it_stands(tmp_path):
    path = tmp_path / "a.h5"
    with Recorder(path, LAYOUT) as recorder:
        recorder.append(example.rows(LAYOUT, 0, 3))
    assert (value(path, "rows"), value(path, "complete"), shape(path, "time")) == (3, 0, (3,))
    with Recorder(path, LAYOUT, overwrite=True) as recorder:
        recorder.append(example.rows(LAYOUT, 0, 2))
        recorder.finish(True)
    assert (value(path, "rows"), value(path, "complete")) == (2, 1)


def test_what_the_system_says_becomes_a_sentence(tmp_path, monkeypatch, clock):
    recorder = Recorder(tmp_path / "a.h5", LAYOUT)

    def refuse(error: Exception):
        def put(*_: object) -> None:
            raise error

        return put

    for error, said in ((OSError(28, "No space left on device"), "No space left on device"), (OSError("odd"), "odd"),
                        (RuntimeError("HDF5 says so"), "HDF5 says so")):  # fmt: skip
        with monkeypatch.context() as patch:
            patch.setattr(recorder, "_write_block", refuse(error))
            with pytest.raises(RecordingError) as caught:
                recorder.flush()
        kept = f"; the first {recorder._counted} rows are kept in it" if recorder._counted else ""
        assert str(caught.value) == f"{tmp_path / 'a.h5'} cannot be written: {said}{kept}"
        assert caught.value.rows_kept == recorder._counted
        recorder.append(example.rows(LAYOUT, recorder.count, 2))
        recorder.flush()
    assert recorder._counted == 6
    recorder.close()


# --- the file -------------------------------------------------------------------------------------------


def laid(path: Path, **rooms: Room) -> Container:
    with create(path) as file:
        slots = allocate(file, rooms)
    return Container(path, slots)


NUMBERS = Room((5, 2), np.dtype("<f8"), 0.25)


def test_entries_go_to_their_places_and_no_further(tmp_path):
    file = laid(
        tmp_path / "a.h5",
        a=NUMBERS,
        empty=Room((0, 3), np.dtype("<f8"), np.nan),
        one=Room((), np.dtype("<i4"), 7),
        words=Room((2,), np.dtype("S4"), None),
    )
    file.put("a", 3, [[1, 2], [3, 4]])
    file.put("one", 0, 9)
    file.put("words", 1, [b"abcd"])
    file.put("empty", 0, np.zeros((0, 3)))
    for first, count in ((3, 3), (0, 6), (5, 1)):
        with pytest.raises(ValueError) as caught:
            file.put("a", first, np.zeros((count, 2)))
        assert str(caught.value) == "a has no room for entries beyond 5"
    file.close()
    assert file.slots["a"].row_bytes == 16 and file.slots["a"].length == 5 and file.slots["empty"].row_bytes == 0
    with h5py.File(tmp_path / "a.h5") as read:
        assert read["a"][()].tolist() == [[0.25, 0.25]] * 3 + [[1, 2], [3, 4]]
        assert read["one"][()] == 9 and read["words"][()].tolist() == [b"", b"abcd"] and read["empty"].shape == (0, 3)


@pytest.mark.parametrize("piece", [1 << 20, 16, 8, 24, 1000])
def test_entries_are_copied_piece_by_piece(tmp_path, monkeypatch, piece):
    monkeypatch.setattr(container, "PIECE", piece)
    old = laid(tmp_path / "old.h5", before=Room((3,), np.dtype("<f8"), 1.5), a=NUMBERS)
    new = laid(tmp_path / "new.h5", a=Room((9, 2), np.dtype("<f8"), -1.0), after=Room((3,), np.dtype("<f8"), 2.5))
    values = np.arange(10.0).reshape(5, 2)
    old.put("a", 0, values)
    new.copy(old, "a", 4)
    new.close()
    old.close()
    with h5py.File(tmp_path / "new.h5") as read:
        np.testing.assert_array_equal(read["a"][()], np.concatenate([values[:4], np.full((5, 2), -1.0)]))
        assert read["after"][()].tolist() == [2.5] * 3


def test_a_system_that_takes_few_bytes_at_a_time_gets_them_all(tmp_path, monkeypatch):
    """Both HDF5's own writing and that of values."""
    write = io.FileIO.write

    file = laid(tmp_path / "a.h5", a=NUMBERS)
    stream = file._stream
    file._stream = SimpleNamespace(seek=stream.seek, write=lambda data: stream.write(data[:5]), close=stream.close)
    file.put("a", 1, np.arange(8.0).reshape(4, 2))
    file.close()
    with h5py.File(tmp_path / "a.h5") as read:
        assert read["a"][()].tolist() == [[0.25, 0.25], [0, 1], [2, 3], [4, 5], [6, 7]]
    few = type("Few", (io.FileIO,), {"write": lambda self, data: write(self, bytes(data)[:3])})
    disk = type("Disk", (container._Disk, few), {})
    with disk(tmp_path / "b", "w+") as stream:
        assert stream.write(b"0123456789") == 10 and stream.error is None
        assert stream.write(np.arange(2, dtype="<i2")) == 4
    assert (tmp_path / "b").read_bytes() == b"0123456789\0\0\1\0"


def test_hdf5_is_told_that_all_is_well_and_the_error_comes_after_it(tmp_path, monkeypatch):
    taken: list[int] = []

    def fail(self: object, data: memoryview) -> int:
        taken.append(len(data))
        raise OSError(28, "No space left on device")

    class Full(io.FileIO):
        write = fail

    disk = type("Disk", (container._Disk, Full), {})
    with disk(tmp_path / "a", "w+") as stream:
        assert stream.write(b"12345") == 5 and stream.tell() == 5
        assert stream.write(b"678") == 3 and stream.tell() == 8 and taken == [5]
        assert isinstance(stream.error, OSError)
    with container._Disk(tmp_path / "b", "w+") as stream:
        assert stream.truncate(12) == 12 and stream.error is None
        stream.seek(4)
        assert stream.truncate() == 4
        assert stream.truncate(-1) == -1 and isinstance(stream.error, OSError)
    monkeypatch.setattr(
        container._Disk, "write", lambda self, data: setattr(self, "error", OSError(5, "x")) or len(data)
    )
    with pytest.raises(OSError, match="x"), create(tmp_path / "c"):
        pass


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_a_file_is_laid_out_acts_when_it_is_whole(number, tmp_path, monkeypatch):
    class Stop(Exception):
        pass

    def stop(*signalled):
        raise Stop(signalled[0])

    write, handler = container._Disk.write, signal.signal(number, stop)

    def write_disturbed(self, data):
        signal.raise_signal(number)
        return write(self, data)

    monkeypatch.setattr(container._Disk, "write", write_disturbed)
    try:
        with pytest.raises(Stop), create(tmp_path / "a.h5") as file:
            slots = allocate(file, {"a": NUMBERS})
            file["b"] = np.arange(3.0)
        assert signal.getsignal(number) is stop
    finally:
        signal.signal(number, handler)
    with h5py.File(tmp_path / "a.h5") as file:
        assert file["b"][()].tolist() == [0.0, 1.0, 2.0] and file["a"].shape == (5, 2)
    assert slots["a"].length == 5


def test_texts_have_the_width_of_the_longest():
    assert strings(["a", "é", "abc"]).tolist() == [b"a", "é".encode(), b"abc"] and strings(["é"]).dtype == "S2"
    assert strings([]).dtype == "S1" and strings([""]).dtype == "S1" and strings(["ab"], 5).dtype == "S5"
    assert h5py.check_string_dtype(strings(["a"]).dtype).encoding == "utf-8"
    made = table(("x", "y"), [("a", "bcd"), ("ef", "")])
    assert made.dtype.names == ("x", "y") and [made[name].dtype.itemsize for name in made.dtype.names] == [2, 3]
    assert made.tolist() == [(b"a", b"bcd"), (b"ef", b"")]


def test_no_time_of_day_is_in_the_frame(tmp_path):
    """Equal runs give equal files, but for what is under /run."""
    assert whole.write(tmp_path / "a.h5").read_bytes() == whole.write(tmp_path / "b.h5").read_bytes()
    with h5py.File(tmp_path / "a.h5") as file:
        assert all(h5py.h5o.get_info(file[name].id).mtime == 0 for name in (*whole.ROW_FIELDS, "rows", "events/time"))
