"""Whatever write fails, and wherever a writer dies: the file opens, and its rows are as many as it says, and right."""

from __future__ import annotations

import errno
import os
import resource
import shutil
from pathlib import Path

import numpy as np
import pytest

from sim.recording import PairEntry, Recorder, RecordingError, container, load_recording, row_fields, writer
from tests.recording import example

PAIRS = (PairEntry(a="world.g", b="link0", shapes=(0, 0)),)
LAYOUT = example.layout(2, pairs=PAIRS)
FRAMES = np.array([1.0, 2, 3]), np.array([1.0, 0, 0, 0]), np.array([4.0, 5, 6]), np.array([0.0, 1, 0, 0])


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Blocks of few rows, little room, no flush but those that are asked for: everything happens in some rows."""
    monkeypatch.setattr(writer, "BLOCK", 16)
    monkeypatch.setattr(writer, "FLUSH_PERIOD", float("inf"))
    monkeypatch.setattr(writer, "COPY_SHARE", float("inf"))
    monkeypatch.setattr(writer, "MORE_EVENTS", 3)
    monkeypatch.setattr("sim.recording.ragged.ROOM", 40)


STEPS = 14


def record(path: Path, steps: int = STEPS) -> Recorder:
    """Record rows in which everything tells its row: states of two epochs, points of contact, bindings, events."""
    recorder = Recorder(path, LAYOUT, overwrite=True)
    for step in range(steps):
        k, first = 1 + 5 * step % 11, recorder.count
        if step in (0, 7):
            recorder.start_epoch(["pin0"], [], 2 + step % 6, 2)
        if step % 4 == 1:
            recorder.bind(0, 0.5 * first, first, FRAMES, offset=first)
            recorder.event(
                first / 120, f"event {first}", row_before=first - 1, row_after=first, through=np.ones((2, 6))
            )
        rows = np.repeat(np.arange(k), 2)
        numbers = np.repeat((first + rows)[:, None], 3, axis=1)
        recorder.contacts({
            "row": rows, "pair": 0 * rows, "key": numbers[:, :2], "mode": 1 + 0 * rows, "iterations": rows,
            "determinate": 0 * rows, "point": numbers, "normal": numbers, "force": numbers,
            "moment": numbers,
        })  # fmt: skip
        states = np.repeat(np.arange(first, first + k, dtype=float)[:, None], 2 + (step > 6), axis=1)
        recorder.append_state(states, states[:, :2])
        recorder.append(example.rows(LAYOUT, first, k))
        if step % 3 == 2:
            recorder.flush()
    recorder.finish(True)
    return recorder


def check(path: Path, rows: int | None = None) -> int:
    """Everything that belongs to the rows of a file is in it and right; return how many there are."""
    with load_recording(path) as recording:
        n = recording.rows
        assert rows is None or n == rows
        expected = example.rows(LAYOUT, 0, n)
        for name in row_fields(LAYOUT):
            assert np.array_equal(recording.array(name), expected[name]), name
        states = [row for epoch in recording.epochs for row in epoch.q[:, 0]]
        assert states == list(range(n)) and all(epoch.v[0, 1] == epoch.first for epoch in recording.epochs)
        touches = recording.touches
        assert touches["row"].tolist() == np.repeat(np.arange(n), 2).tolist()
        assert np.array_equal(touches["force"][:, 0], touches["row"])
        begun = [event.row_after for event in recording.events]
        assert [event.name for event in recording.events] == [f"event {row}" for row in begun]
        assert [binding.row for binding in recording.bindings] == begun == [row for row in FIRSTS if row < n]
        assert [binding.offset for binding in recording.bindings] == begun
    return n


FIRSTS = [sum(1 + 5 * step % 11 for step in range(until)) for until in range(1, STEPS, 4)]


class Failing:
    """Writes to a laid file, of which one fails, half done, and all others do from then on; see `how`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int, how: str):
        self.at, self.how, self.count = at, how, 0
        self.write = container.Container._write
        monkeypatch.setattr(container.Container, "_write", lambda file, offset, data: self(file, offset, data))

    def __call__(self, file: container.Container, offset: int, data: bytes) -> None:
        self.count += 1
        number = len(data) == 8  # written whole, or not at all
        taken = number and self.how == "full"  # a full disk takes what stands in its place already
        if self.count == self.at or (self.count > self.at and not taken and self.how != "once"):
            self.write(file, offset, b"" if number else data[: len(data) // 16 * 8])
            raise OSError(errno.ENOSPC, "No space left on device")
        self.write(file, offset, data)


def test_nothing_fails(tmp_path):
    recorder = record(tmp_path / "a.h5")
    assert check(tmp_path / "a.h5", recorder.count) > 80


@pytest.mark.parametrize("how", ["full", "dead", "once"])
def test_wherever_a_write_fails_the_rows_are_those_that_are_told(tmp_path, monkeypatch, how):
    path, told, last = tmp_path / "a.h5", [], 10**6
    with monkeypatch.context() as patch:
        counting = Failing(patch, last, how)
        record(path)
    assert counting.count > 400
    for at in range(1, counting.count, int(os.environ.get("STRIDE", counting.count // 8))):
        path.unlink(missing_ok=True)
        with monkeypatch.context() as patch:
            Failing(patch, at, how)
            try:
                record(path)
                kept = None  # the final copy alone failed
            except RecordingError as error:
                sentence, kept = str(error), error.rows_kept
        if kept is None:
            check(path)
        elif path.exists():
            check(path, kept)
            assert sentence.endswith(f"; the first {kept} rows are kept in it") or not kept
            told.append(kept)
        assert [file.name for file in tmp_path.iterdir()] in (["a.h5"], [])
    assert len(told) > 5 and len(set(told)) > 3


def test_the_block_that_is_in_the_file_counts(tmp_path, monkeypatch):
    """Full before the first flush: what was written is kept, and counted."""
    monkeypatch.setattr(writer, "BLOCK", 256)
    recorder = Recorder(tmp_path / "a.h5", LAYOUT)
    recorder.append(example.rows(LAYOUT, 0, 256))

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(recorder, "_lay", full)
    with pytest.raises(RecordingError, match="No space left on device; the first 256 rows are kept in it") as caught:
        recorder.append(example.rows(LAYOUT, 256, 256))
    recorder.close()
    assert caught.value.rows_kept == 256
    with load_recording(tmp_path / "a.h5") as recording:
        assert recording.rows == 256 and np.array_equal(recording.time, example.rows(LAYOUT, 0, 256)["time"])


@pytest.mark.parametrize("limit", range(60_000, 400_000, 40_000))
def test_a_file_that_may_not_grow_holds_what_is_told(tmp_path, limit):
    path, before = tmp_path / "a.h5", resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        with pytest.raises(RecordingError) as caught:
            record(path, 400)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "File too large" in str(caught.value)
    kept = caught.value.rows_kept
    if path.exists():
        with load_recording(path) as recording:
            assert recording.rows == kept
            assert np.array_equal(recording.time, example.rows(LAYOUT, 0, kept)["time"])
    else:
        assert kept == 0


def test_whenever_a_writer_dies_its_file_is_whole(tmp_path, monkeypatch):
    """As it lies after each write, and after half of each."""
    path, snapshots = tmp_path / "a.h5", []
    write = container.Container._write
    seen = 0

    def watched(file: container.Container, offset: int, data: bytes) -> None:
        nonlocal seen
        seen += 1
        half = len(data) // 16 * 8
        for part, begin in ((data[:half], offset), (data[half:], offset + half)):
            write(file, begin, part)
            if seen % 67 == 0 and path.exists():
                snapshots.append(shutil.copyfile(path, tmp_path / f"{len(snapshots)}.h5"))

    monkeypatch.setattr(container.Container, "_write", watched)
    record(path)
    counts = [check(snapshot) for snapshot in snapshots]
    assert len(counts) > 10 and counts == sorted(counts) and len(set(counts)) > 3


def test_a_file_that_cannot_be_replaced_goes_on(tmp_path, monkeypatch):
    """The larger copy is ready and cannot take the name: the old file is still there, with its rows."""
    replace, asked = container.os.replace, []

    def once(source: Path, target: Path) -> None:
        asked.append(target)
        if len(asked) == 4:
            raise PermissionError(errno.EACCES, "Permission denied")
        replace(source, target)

    monkeypatch.setattr(container.os, "replace", once)
    with pytest.raises(RecordingError, match="Permission denied") as caught:
        record(tmp_path / "a.h5")
    check(tmp_path / "a.h5", caught.value.rows_kept)
    assert caught.value.rows_kept > 0


def test_a_last_copy_that_cannot_take_the_name_leaves_a_finished_recording(tmp_path, monkeypatch):
    replace, asked = container.os.replace, []

    def counted(source: Path, target: Path) -> None:
        asked.append(target)
        replace(source, target)

    monkeypatch.setattr(container.os, "replace", counted)
    record(tmp_path / "a.h5")
    last, rows = len(asked), check(tmp_path / "a.h5")
    asked.clear()

    def fails(source: Path, target: Path) -> None:
        counted(source, target) if len(asked) < last - 1 else asked.append(target)
        if len(asked) == last:
            raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(container.os, "replace", fails)
    record(tmp_path / "b.h5")
    assert len(asked) == last
    check(tmp_path / "b.h5", rows)
    with load_recording(tmp_path / "b.h5") as recording:
        assert recording.complete
