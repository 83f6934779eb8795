"""Writing: nothing lost, nothing invented, whatever happens to the writer."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest

from sim.recording import PairEntry, Recorder, RecordingError, load_recording, row_fields, writer
from tests.recording import example

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def run_helper(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(HERE / name), *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=120,
    )


def write(path: Path, steps: list[int], **changes: object) -> Path:
    """Record blocks of so many rows, with two epochs and three events."""
    layout = example.layout(3, **changes)
    recorder = Recorder(path, layout, program="brachiate test")
    for number, step in enumerate(steps):
        if number in (0, len(steps) // 2):
            recorder.start_epoch(["pin0", f"pin{number}"], ["pin2"], 3 + (number > 0), 2)
            recorder.event(recorder.count / 120, f"epoch {number}", caption="é" * 70 * number, row_after=recorder.count)
        k = np.arange(recorder.count, recorder.count + step, dtype=float)[:, None]
        recorder.append_state(k + np.zeros(3 + (number > 0 and number >= len(steps) // 2)), k + np.zeros(2))
        recorder.append(example.rows(layout, recorder.count, step))
    recorder.finish(True, {"steps": 7, "wall_time": 0.5})
    return path


def check_rows(path: Path, bodies: int, rows: int) -> None:
    """Every value of every row is the one that was written."""
    layout = example.layout(bodies)
    expected = example.rows(layout, 0, rows)
    with load_recording(path) as recording:
        assert recording.rows == rows
        for name in row_fields(layout):
            np.testing.assert_array_equal(recording.array(name), expected[name], err_msg=name)
        if recording.epochs:
            assert [e.first for e in recording.epochs][1:] == [e.last for e in recording.epochs][:-1]
            states = np.concatenate([e.q[:, 0] for e in recording.epochs])
            np.testing.assert_array_equal(states, np.arange(rows))


def test_rows_come_back_whatever_the_blocks(tmp_path):
    check_rows(write(tmp_path / "a.h5", [1, 1, 3, 250, 1, 700, 1]), 3, 957)
    check_rows(write(tmp_path / "b.h5", [957], expected_rows=957), 3, 957)


def test_a_plain_reader_sees_arrays_cut_to_the_rows(tmp_path):
    write(tmp_path / "a.h5", [10, 20])
    with h5py.File(tmp_path / "a.h5") as file:
        assert file["rows"][()] == 30 and file["complete"][()] == 1
        assert file["time"].shape == (30,) and file["position"].shape == (30, 3, 3)
        assert file["events/time"].shape == (2,)
        assert file["events/name"][0] == b"epoch 0"
        assert file["scene/text"][()].decode() == example.layout().text
        assert file.attrs["format"] == "brachiate recording" and file.attrs["version"] == 1
        assert list(file["epochs/1"].attrs["tree"]) == [b"pin0", b"pin1"]


def test_impulses_come_back_however_many_there_are(tmp_path):
    """More than the first file has room for, with flushes between, and none at some events."""
    layout, expected = example.layout(3), np.zeros((150, 3, 6))
    with Recorder(tmp_path / "a.h5", layout) as recorder:
        recorder.append(example.rows(layout, 0, 10))
        for k in range(150):
            if k % 3:
                expected[k, k % 3] = k + np.arange(6)
            recorder.event(0.01, f"event {k}", row_before=1, row_after=2, through=expected[k] if k % 3 else None)
            if k % 40 == 0:
                recorder.flush()
        recorder.finish(True)
    with load_recording(tmp_path / "a.h5") as recording:
        assert len(recording.events) == 150
        np.testing.assert_array_equal(recording.impulse.array, expected)
    with h5py.File(tmp_path / "a.h5") as file:
        assert file["impulses/event"].shape == (100,)


@pytest.mark.parametrize("each", [1, 9])
def test_impulses_of_points_come_back_from_an_open_file_however_many_there_are(tmp_path, each):
    """Those of one event, or of all; the first file has room for 64, the next for twice as many as make it grow."""
    layout, path = example.layout(2, pairs=(PairEntry(a="link0", b="link1", shapes=(0, 0)),)), tmp_path / "a.h5"
    recorder, count = Recorder(path, layout), 0
    recorder.append(example.rows(layout, 0, 1))
    names = ("event", "pair", "key", "point", "normal", "impulse")
    for k in range(30):
        at = count + np.arange(each)
        given = {
            "pair": np.zeros(each, int), "key": np.column_stack([at, -at]), "point": at[:, None] + [0.1, 0.2, 0.3],
            "normal": at[:, None] + [0.4, 0.5, 0.6], "impulse": at[:, None] + [0.7, 0.8, 0.9],
        }  # fmt: skip
        recorder.event(0.0, f"event {k}", row_after=0, contacts=given if k % 2 else None)
        count += each * (k % 2)
        if k % 4 == 3:
            recorder.flush()
            with load_recording(path) as recording:
                found = recording.contact_impulses
                assert len(recording.events) == k + 1 and list(found) == list(names)
            at = np.arange(count)
            assert found["event"].tolist() == [n for n in range(1, k + 1, 2) for _ in range(each)]
            assert found["key"].tolist() == np.column_stack([at, -at]).tolist() and not found["pair"].any()
            for name, tail in (("point", [0.1, 0.2, 0.3]), ("normal", [0.4, 0.5, 0.6]), ("impulse", [0.7, 0.8, 0.9])):
                np.testing.assert_array_equal(found[name], at[:, None] + tail)
            with h5py.File(path) as file:
                assert len(file["contacts/impulses/pair"]) == (64 if count <= 64 else 2 * 72 + 64)
    recorder.finish(True)
    with h5py.File(path) as file:
        assert len(file["contacts/impulses/event"]) == 15 * each


def test_what_is_not_given_is_absent(tmp_path):
    with Recorder(tmp_path / "a.h5", example.layout(2)) as recorder:
        recorder.append({"time": np.array([0.0, 0.5]), "trust/rank": np.array([3.0, np.nan])})
    with load_recording(tmp_path / "a.h5") as recording:
        assert not recording.complete
        assert np.isnan(recording.position["link0"]).all() and recording.position["link0"].shape == (2, 3)
        assert recording.trust.rank.tolist() == [3, -1]
        assert recording.trust.determinate["pin0"].tolist() == [-1, -1]


def test_equal_rows_give_equal_datasets_whatever_the_flushes(tmp_path, monkeypatch):
    write(tmp_path / "a.h5", [40] * 30)
    monkeypatch.setattr(writer, "FLUSH_PERIOD", 0.0)
    monkeypatch.setattr(writer, "COPY_SHARE", 1e9)
    write(tmp_path / "b.h5", [40] * 30, expected_rows=5000)
    found: list[dict[str, bytes]] = []
    for name in ("a.h5", "b.h5"):
        content: dict[str, bytes] = {}
        with h5py.File(tmp_path / name) as file:
            file.visititems(
                lambda key, item, content=content: content.update(
                    {key: item[()].tobytes() + str((item.dtype, item.shape)).encode()}
                    if isinstance(item, h5py.Dataset)
                    else {}
                )
            )
        found.append(content)
    assert len(found[0]) > 50
    assert found[0] == found[1]


def test_an_open_recording_can_be_read(tmp_path):
    layout = example.layout(3)
    recorder = Recorder(tmp_path / "a.h5", layout)
    recorder.append(example.rows(layout, 0, 5))
    recorder.event(0.01, "early", row_before=1, row_after=2)
    recorder.event(0.5, "late", row_before=60, row_after=61)  # rows that are not there yet
    recorder.flush()
    recorder.append(example.rows(layout, 5, 5))
    check_rows(tmp_path / "a.h5", 3, 5)
    with load_recording(tmp_path / "a.h5") as recording:
        assert not recording.complete
        assert [event.name for event in recording.events] == ["early"]
    recorder.close()


def test_no_row_counts_before_its_state_has_room(tmp_path, monkeypatch):
    """A run may die while the file waits to be copied for a new epoch: rows and states that can be read agree."""
    monkeypatch.setattr(writer, "COPY_SHARE", 0.0)
    layout = example.layout(3)
    recorder = Recorder(tmp_path / "a.h5", layout, program="brachiate test")
    for nq in (3, 4):
        recorder.start_epoch(["pin0"], [], nq, 2)
        for _ in range(3):
            recorder.append_state(np.zeros((5, nq)), np.zeros((5, 2)))
            recorder.append(example.rows(layout, recorder.count, 5))
            recorder.flush()
            with load_recording(tmp_path / "a.h5") as recording:
                assert sum(len(epoch.q) for epoch in recording.epochs) == recording.rows
    recorder.finish(True)
    with load_recording(tmp_path / "a.h5") as recording:
        assert recording.rows == 30
        assert [len(epoch.q) for epoch in recording.epochs] == [15, 15]


def test_between_growths_only_values_change(tmp_path):
    """The frame that HDF5 needs to open the file is never touched: killing cannot break it."""
    layout = example.layout(3, expected_rows=2000)
    recorder = Recorder(tmp_path / "a.h5", layout)
    before = np.fromfile(tmp_path / "a.h5", np.uint8)
    slots = dict(recorder._file.slots)
    for k in range(10):
        recorder.append(example.rows(layout, 150 * k, 150))
        recorder.event(k / 120, f"event {k}", row_after=k)
        recorder.flush()
    recorder.close()
    after = np.fromfile(tmp_path / "a.h5", np.uint8)
    assert before.shape == after.shape
    frame = np.ones(before.size, bool)
    for slot in slots.values():
        frame[slot.offset : slot.offset + slot.length * slot.row_bytes] = False
    assert frame.sum() > 5000
    assert np.array_equal(before[frame], after[frame])
    assert not np.array_equal(before, after)
    check_rows(tmp_path / "a.h5", 3, 1500)


def test_append_flushes_by_itself(tmp_path, monkeypatch):
    layout = example.layout(2)
    recorder = Recorder(tmp_path / "a.h5", layout)
    recorder.append(example.rows(layout, 0, 1))
    monkeypatch.setattr(writer, "FLUSH_PERIOD", 0.01)
    time.sleep(0.02)
    recorder.append(example.rows(layout, 1, 1))
    check_rows(tmp_path / "a.h5", 2, 2)
    recorder.close()
    assert writer.FLUSH_PERIOD < 1.0


def test_killed_at_fifty_moments(tmp_path):
    result = run_helper("killed_writer.py", tmp_path, 50, 1)
    assert result.returncode == 0, result.stderr
    children = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(children) == 50
    written = 0
    for child in children:
        path = Path(child["path"])
        if not child["appends"] and not path.exists():
            continue
        with h5py.File(path) as file:
            rows = int(file["rows"][()])
        assert child["must"] <= rows <= child["begun"]
        check_rows(path, 6, rows)
        with load_recording(path) as recording:
            assert all(event.row_after < rows and event.name.startswith("event ") for event in recording.events)
        written += rows > 0
    assert written > 10  # on a busy machine most die before their first flush


def test_a_full_disk_ends_in_a_sentence_and_keeps_what_was_recorded(tmp_path):
    path = tmp_path / "full.h5"
    result = run_helper("full_disk.py", path, 6_000_000)
    assert result.returncode == 3, result.stderr
    assert "full.h5 cannot be written: File too large; the first" in result.stdout
    assert not result.stderr
    with load_recording(path) as recording:
        rows = recording.rows
    assert rows >= 1000 and f"the first {rows} rows are kept" in result.stdout
    check_rows(path, 6, rows)
    assert [file.name for file in tmp_path.iterdir()] == ["full.h5"]


def test_a_disk_that_is_full_from_the_start(tmp_path):
    result = run_helper("full_disk.py", tmp_path / "full.h5", 20_000)
    assert result.returncode == 3, result.stderr
    assert "full.h5 cannot be written: " in result.stdout and not result.stderr
    assert not list(tmp_path.iterdir())


def test_what_stands_there_is_kept(tmp_path):
    path = tmp_path / "a.h5"
    path.write_text("mine")
    with pytest.raises(RecordingError, match=r"a\.h5 exists"):
        Recorder(path, example.layout())
    assert path.read_text() == "mine"
    with Recorder(path, example.layout(), overwrite=True):
        pass
    assert load_recording(path).rows == 0
    with pytest.raises(RecordingError, match="there is no folder"):
        Recorder(tmp_path / "absent" / "a.h5", example.layout())
    with pytest.raises(RecordingError, match="is a folder"):
        Recorder(tmp_path, example.layout(), overwrite=True)


def test_wrong_shapes_are_refused(tmp_path):
    layout = example.layout(2)
    with Recorder(tmp_path / "a.h5", layout) as recorder:
        recorder.start_epoch([], [], 3, 2)
        with pytest.raises(ValueError, match="the epoch has 3, 2"):
            recorder.append_state(np.zeros(4), np.zeros(2))
        with pytest.raises(ValueError, match="1 rows, expected 2"):
            recorder.append({"time": np.zeros(2), "com": np.zeros((1, 2, 3))})


def test_a_temporary_recording_goes_with_its_object():
    layout = example.layout(2)
    recorder = Recorder(None, layout)
    recorder.append(example.rows(layout, 0, 3))
    recorder.finish(True)
    recording = recorder.take()
    assert recording.time.shape == (3,)
    assert recorder.path.exists()
    del recording
    assert not recorder.path.parent.exists()


def test_recording_costs_little():
    """120 rows of 25 bodies in blocks: below 2 ms (measured: 0.4 ms), the best of several."""
    layout = example.layout(25, expected_rows=4000)
    recorder = Recorder(None, layout)
    spent = []
    block = example.rows(layout, 0, 120)
    for _ in range(30):
        began = time.perf_counter()
        recorder.append(block)
        spent.append(time.perf_counter() - began)
    recorder.discard()
    assert np.median(spent) < 2e-3


def test_no_room_for_the_final_copy_keeps_the_working_file(tmp_path, monkeypatch):
    layout = example.layout(3)
    recorder = Recorder(tmp_path / "a.h5", layout)
    recorder.append(example.rows(layout, 0, 40))
    lay = recorder._lay

    def refuse(capacity, *, complete=None, run=None):
        if complete is not None:
            raise OSError(28, "No space left on device")
        return lay(capacity)

    monkeypatch.setattr(recorder, "_lay", refuse)
    recorder.finish(True, {"steps": 1})
    check_rows(tmp_path / "a.h5", 3, 40)
    with load_recording(tmp_path / "a.h5") as recording:
        assert recording.complete and recording.run == {}


def test_bindings_are_read_as_written_however_many_there_are(tmp_path):
    """More than there is room for at first, and those of rows that were not completed are left out."""
    layout = example.layout(3)
    frames = np.array([1.0, 2, 3]), np.array([1.0, 0, 0, 0]), np.array([4.0, 5, 6]), np.array([0.0, 1, 0, 0])
    recorder = Recorder(tmp_path / "many.h5", layout)
    recorder.start_epoch(["pin0"], [], 3, 2)
    for k in range(200):
        recorder.append_state(np.zeros(3), np.zeros(2))
        recorder.append(example.rows(layout, k, 1))
        recorder.bind(k % 3, k / 120, k, frames, offset=k)
        if k % 50 == 0:
            recorder.flush()
    recorder.flush()
    with load_recording(tmp_path / "many.h5") as growing:
        assert len(growing.bindings) == 200
    recorder.bind(0, 2.0, 200, frames)
    recorder.finish(False)
    with load_recording(tmp_path / "many.h5") as recording:
        assert [(b.joint, b.row, b.offset) for b in recording.bindings] == [(f"pin{k % 3}", k, k) for k in range(200)]
        last = recording.binding("pin1", 198)
        assert last is not None and (last.row, last.time) == (196, 196 / 120)
        assert (last.parent_position, last.parent_quat_wxyz) == ((1.0, 2.0, 3.0), (1.0, 0.0, 0.0, 0.0))
        assert (last.child_position, last.child_quat_wxyz) == ((4.0, 5.0, 6.0), (0.0, 1.0, 0.0, 0.0))
        assert len(recording.epochs[0].bindings) == 200
        with pytest.raises(RecordingError, match="row 200"):
            recording.binding("pin1", 200)


@pytest.mark.parametrize("end", ["close", "finish", "discard"])
def test_a_recorder_closes_its_file_itself(tmp_path, end):
    """It is not left to the interpreter to find it open, which would complain."""
    recorder = Recorder(tmp_path / "a.h5", example.layout(2))
    recorder.start_epoch([], [], 3, 2)
    recorder.append(example.rows(example.layout(2), 0, 5))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ResourceWarning)
        recorder.finish(True) if end == "finish" else getattr(recorder, end)()
        del recorder
        gc.collect()
    assert [str(one.message) for one in said if str(tmp_path) in str(one.message)] == []


def test_what_is_discarded_is_not_finished_at_the_end_of_its_block(tmp_path):
    with Recorder(tmp_path / "a.h5", example.layout(2)) as recorder:
        recorder.start_epoch([], [], 3, 2)
        recorder.append(example.rows(example.layout(2), 0, 5))
        recorder.discard()
        before = (tmp_path / "a.h5").read_bytes()
    assert (tmp_path / "a.h5").read_bytes() == before
