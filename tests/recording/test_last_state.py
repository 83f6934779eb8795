"""The last state of a run in its recording: two places that take turns, checked as all that comes from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest

from sim.recording import PairEntry, Recorder, RecordingError, load_recording, writer
from sim.recording.format import Begun
from sim.recording.last_state import Counts, LastState, StateWriter
from tests.recording import example

LAYOUT = example.layout(2)


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """A clock that stands until it is moved; epochs are laid out as they begin, as if that took no time."""
    now = SimpleNamespace(time=1000.0)
    monkeypatch.setattr(writer, "time", SimpleNamespace(monotonic=lambda: now.time))
    monkeypatch.setattr(Recorder, "_may_copy", lambda self: True)
    return now


def recorder(path: Path, rows: int = 3, layout=LAYOUT) -> Recorder:
    """Begin a recording of some rows, with a state for each."""
    out = Recorder(path, layout)
    out.start_epoch(("pin0", "pin1"), (), 2, 3)
    more(out, rows)
    return out


def more(out: Recorder, rows: int) -> None:
    first = out.count
    out.append(example.rows(out.layout, first, rows))
    out.append_state(np.full((rows, 2), float(first)), np.full((rows, 3), float(first)))


def kept(path: Path) -> LastState | None:
    """Return the last state of a file as it lies on the disk."""
    with load_recording(path) as recording:
        return recording.last_state


def latest(path: Path) -> int:
    with h5py.File(path) as file:
        return int(file["state/latest"][()])


def test_a_state_can_be_read_at_once_and_counts_what_was_recorded_up_to_it(tmp_path):
    path, layout = tmp_path / "a.h5", replace(LAYOUT, pairs=(PairEntry(a="link0", b="link1", shapes=(0, 0)),))
    made = recorder(path, layout=layout)
    assert kept(path) is None and latest(path) == -1
    touch = {
        "row": [0, 0],
        "pair": [0, 0],
        "mode": [1, 1],
        "iterations": [1, 1],
        "determinate": [1, 1],
        "key": [[0, 1]] * 2,
    }
    made.contacts({**touch, **{name: np.zeros((2, 3)) for name in ("point", "normal", "force", "moment")}})
    more(made, 2)
    through = np.zeros((2, 6))
    through[1, 2] = 5.0
    for row in (1, 2, 2):
        made.event(row / 120, "hit", row_after=row, through=through if row == 2 else None)
    for joint in range(4):
        made.bind(joint % 2, 0.0, 0, [np.zeros(3), np.ones(4), np.zeros(3), np.ones(4)])
    made.keep_state(b"first", b"12345678")
    assert kept(path) == LastState(
        b"first", b"12345678", Counts(rows=5, events=3, impulses=2, bindings=4, epochs=1, contacts=2)
    )
    with load_recording(path) as recording:
        assert recording.rows == 5 and len(recording.events) == 3 and not recording.complete
    made.close()


def test_two_places_take_turns_and_one_is_left_at_the_end(tmp_path):
    path = tmp_path / "a.h5"
    made = recorder(path)
    places = []
    for k in range(4):
        made.keep_state(b"state %d" % k, b"%d" % k * 8)
        places.append(latest(path))
        found = kept(path)
        assert found == LastState(b"state %d" % k, b"%d" % k * 8, Counts(3 + k, 0, 0, 0, 1, 0))
        more(made, 1)
    assert places == [0, 1, 0, 1]
    with h5py.File(path) as file:  # the one before is still whole
        assert bytes(file["state/0/text"][:7]) == b"state 2" and file["state/0/text"].shape == (14,)
        assert file["state/1/numbers"].shape == (16,)
    made.finish(complete=False)
    assert kept(path) == LastState(b"state 3", b"3" * 8, Counts(6, 0, 0, 0, 1, 0)) and latest(path) == 0
    with h5py.File(path) as file:
        assert "state/1" not in file and file["state/0/text"].shape == (7,) and file["state/0/numbers"].shape == (8,)


@pytest.mark.parametrize(("text", "numbers", "grows"), [(10, 16, False), (11, 16, True), (10, 17, True), (1, 0, False)])
def test_a_state_that_is_more_than_twice_the_first_has_a_file_laid_for_it(tmp_path, text, numbers, grows):
    path = tmp_path / "a.h5"
    made = recorder(path)
    made.keep_state(b"first", b"12345678")
    more(made, 1)
    before = made._open()
    made.keep_state(b"t" * text, b"n" * numbers)
    assert (made._open() is not before) is grows
    assert kept(path) == LastState(b"t" * text, b"n" * numbers, Counts(4, 0, 0, 0, 1, 0))
    made.close()


def test_every_file_that_is_laid_has_a_state_that_its_rows_lead_to(tmp_path, monkeypatch):
    """The new one where all rows before it are there, else the one before; none is laid for it where one is anyway."""
    path, seen, lay = tmp_path / "a.h5", [], Recorder._lay

    def watched(self, *given, **more):
        out = lay(self, *given, **more)
        found = kept(path)
        seen.append(found and found.text)
        return out

    monkeypatch.setattr(Recorder, "_lay", watched)
    made = recorder(path)
    assert seen == [None]
    made.keep_state(b"first", b"1")  # the epoch needs a file
    assert seen == [None, b"first"]
    made.keep_state(b"again", b"2")
    more(made, 253)  # the block is full, and the file
    made.keep_state(b"same", b"3")
    assert seen == [None, b"first"]
    more(made, 1)
    made.keep_state(b"larger and larger", b"4")
    assert seen == [None, b"first", b"same", b"larger and larger"]
    more(made, 1)
    made.keep_state(b"larger" * 9, b"5")  # rows fit
    assert seen[4:] == [b"larger" * 9]
    made.close()


@pytest.mark.parametrize("complete", [True, False])
def test_the_state_of_a_finished_run_is_kept_with_its_end_alone(tmp_path, complete):
    path = tmp_path / "a.h5"
    made = recorder(path)
    made.keep_state(b"on the way", b"1")
    made.keep_state(b"at the end", b"2", finished=True)
    assert kept(path).text == b"on the way"
    made.finish(complete=complete)
    assert kept(path).text == (b"at the end" if complete else b"on the way")


def test_a_state_waits_with_the_raw_states_of_an_epoch_that_has_no_room_yet(tmp_path, clock, monkeypatch):
    """A new epoch needs a larger file, which is not laid as long as copies take too much of the time."""
    path = tmp_path / "a.h5"
    made = recorder(path)
    made.keep_state(b"before", b"1")
    monkeypatch.setattr(Recorder, "_may_copy", lambda self: False)
    made.start_epoch(("pin0",), ("pin1",), 1, 1)
    made.append(example.rows(LAYOUT, 3, 1))
    made.append_state(np.ones(1), np.ones(1))
    made.keep_state(b"behind", b"2")
    assert kept(path).text == b"before"
    with load_recording(path) as recording:
        assert recording.rows == 3
    monkeypatch.setattr(Recorder, "_may_copy", lambda self: True)
    made.flush()
    assert kept(path) == LastState(b"behind", b"2", Counts(4, 0, 0, 0, 2, 0))
    made.close()


def test_a_state_is_wanted_some_tenths_of_a_second_after_the_last(tmp_path, clock):
    made = recorder(tmp_path / "a.h5")
    for _ in range(2):
        assert not made.wants_state()
        clock.time += 0.39
        made.flush()  # which keeps none
        assert not made.wants_state()
        clock.time += 0.02
        assert made.wants_state()
        made.keep_state(b"state", b"")
    made.close()


# --- what a file says of it -------------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path) -> Path:
    """A recording that was left, with two states in it, the second in place 1."""
    made = recorder(tmp_path / "a.h5")
    made.keep_state(b"older", b"1234567")
    more(made, 2)
    made.keep_state(b"newer", b"765")
    made.close()
    return tmp_path / "a.h5"


def change(path: Path, *changes: Callable[[h5py.File], object]) -> None:
    with h5py.File(path, "r+") as file:
        for one in changes:
            one(file)


def test_the_other_state_counts_where_the_latest_is_not_whole(path):
    """A byte that is another, or rows that are not there: as if the writer was killed while it wrote it."""
    assert kept(path).text == b"newer" and latest(path) == 1
    whole = path.read_bytes()
    for name, at in (
        ("text", 4),
        ("numbers", 2),
        ("digest", 31),
        ("digest", 0),
        ("counts", 1),
        ("size", 0),
        ("size", 1),
    ):
        path.write_bytes(whole)
        change(path, lambda file, name=name, at=at: file[f"state/1/{name}"].__setitem__(at, 1))
        assert kept(path) == LastState(b"older", b"1234567", Counts(3, 0, 0, 0, 1, 0)), name
    path.write_bytes(whole)
    change(path, lambda file: file["state/1/text"].__setitem__(7, 1))  # behind it there may be anything
    assert kept(path).text == b"newer"
    change(path, lambda file: file["rows"].__setitem__((), 4))
    assert kept(path).text == b"older"
    change(path, lambda file: file["rows"].__setitem__((), 3))
    assert kept(path).text == b"older"
    change(path, lambda file: file["rows"].__setitem__((), 2))
    assert kept(path) is None
    for place, text in ((0, b"older"), (-1, None)):
        path.write_bytes(whole)
        change(path, lambda file, place=place: file["state/latest"].__setitem__((), place))
        found = kept(path)
        assert (found and found.text) == text
    path.write_bytes(whole)
    for place in (0, 1):
        change(path, lambda file, place=place: file[f"state/{place}/digest"].__setitem__(0, 1))
    assert kept(path) is None
    change(path, lambda file: file.__delitem__("state"))
    assert kept(path) is None  # as in recordings of older programs


@pytest.mark.parametrize("k", [0, 1])
def test_what_is_wrong_with_a_state_is_told_at_opening(path, k):
    whole = path.read_bytes()
    for name, values, said in (
        ("latest", np.int64(2), "'state/latest' holds 2; expected numbers from -1 to 1"),
        ("latest", np.int64(-2), "'state/latest' holds -2; expected numbers from -1 to 1"),
        (f"{k}/counts", np.zeros(5, "i8"), "has the shape (5,); expected (6,)"),
        (f"{k}/size", np.zeros(3, "i8"), "has the shape (3,); expected (2,)"),
        (f"{k}/digest", np.zeros(31, "u1"), "has the shape (31,); expected (32,)"),
        (f"{k}/text", np.zeros(9, "i8"), f"'state/{k}/text' holds whole numbers"),
        (f"{k}/size", np.array([11, 0]), "holds 11; expected numbers from 0 to 10"),
        (f"{k}/size", np.array([-1, 0]), "holds -1; expected numbers from 0 to 10"),
        (f"{k}/size", np.array([0, 15]), "holds 15; expected numbers from 0 to 14"),
        (f"{k}/size", np.array([0, -1]), "holds -1; expected numbers from 0 to 14"),
        *(
            (f"{k}/{name}", None, f"has no 'state/{k}/{name}'")
            for name in ("counts", "size", "digest", "text", "numbers")
        ),
    ):
        path.write_bytes(whole)
        with h5py.File(path, "r+") as file:
            del file[f"state/{name}"]
            if values is not None:
                file[f"state/{name}"] = values
        with pytest.raises(RecordingError, match=re.escape(said)):
            load_recording(path)
    for sizes in ([10, 14], [0, 0]):
        path.write_bytes(whole)
        change(path, lambda file, sizes=sizes: file[f"state/{k}/size"].__setitem__(slice(None), sizes))
        load_recording(path).close()


def test_the_state_that_a_run_began_from_is_read_as_written(tmp_path):
    path = tmp_path / "a.h5"
    recorder(path, layout=replace(LAYOUT, begun=Begun(b"text \xff", b"\x00\x01"))).finish(complete=True)
    with load_recording(path) as recording:
        assert recording.begun == Begun(b"text \xff", b"\x00\x01") and recording.last_state is None
    change(path, lambda file: file.__delitem__("state/begun/numbers"))
    with pytest.raises(RecordingError, match="has no 'state/begun/numbers'"):
        load_recording(path)
    change(path, lambda file: file.__delitem__("state/begun/text"))
    with load_recording(path) as recording:
        assert recording.begun is None


def test_a_file_has_room_for_a_state_from_when_there_is_one():
    """Twice as much as the first in two places; in the final file as much as it is, in one."""
    made = StateWriter()
    assert (
        set(made.rooms(False)) == set(made.rooms(True)) == {"state/latest"}
        and made.rooms(False)["state/latest"].fill == -1
    )
    made.last = LastState(b"12345", b"123", Counts(0, 0, 0, 0, 0, 0))
    for final, places, spare in ((False, 2, 2), (True, 1, 1)):
        rooms = made.rooms(final)
        assert len(rooms) == 1 + 5 * places
        for k in range(places):
            found = {name: rooms[f"state/{k}/{name}"] for name in ("counts", "size", "digest", "text", "numbers")}
            shapes = {"counts": 6, "size": 2, "digest": 32, "text": 5 * spare, "numbers": 3 * spare}
            assert {name: room.shape for name, room in found.items()} == {name: (n,) for name, n in shapes.items()}
            assert [found[name].dtype.str for name in ("counts", "size", "digest", "text")] == [
                "<i8",
                "<i8",
                "|u1",
                "|u1",
            ]
