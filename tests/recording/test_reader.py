"""Reading: everything by name, and a sentence for what is not a recording."""

from __future__ import annotations

import struct
import zlib

import h5py
import numpy as np
import pytest

import sim
from sim.recording import Recorder, RecordingError, load_recording
from tests.recording import example

# Impulses of the three joints at the event: one carries nothing.
THROUGH = np.array([[1.0, 2, 3, 4, 5, 6], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 7]])


@pytest.fixture
def path(tmp_path):
    layout = example.layout(3)
    with Recorder(tmp_path / "chain.h5", layout, program="brachiate 0") as recorder:
        recorder.start_epoch(["pin0", "pin1"], ["pin2"], 6, 5)
        recorder.append_state(np.zeros((20, 6)), np.ones((20, 5)))
        recorder.append(example.rows(layout, 0, 20))
        recorder.event(0.05, "tears", caption="it tears", row_before=5, row_after=6, energy_lost=2.5, impulse=0.1,
                       through=THROUGH)  # fmt: skip
        recorder.finish(True, {"steps": 12, "evaluations": 150, "wall_time": 0.01, "began": "2030-01-01T00:00:00"})
    return tmp_path / "chain.h5"


def test_arrays_by_name(path):
    expected = example.rows(example.layout(3), 0, 20)
    with sim.load_recording(path) as r:
        assert r.rows == 20 and r.complete and r.scene == "chain"
        np.testing.assert_array_equal(r.time, expected["time"])
        np.testing.assert_array_equal(r.position["link1"], expected["position"][:, 1])
        np.testing.assert_array_equal(r.quat_wxyz["link2"], expected["quat_wxyz"][:, 2])
        np.testing.assert_array_equal(r.com.array, expected["com"])
        np.testing.assert_array_equal(r.force["pin2"], expected["joints/force"][:, 2])
        np.testing.assert_array_equal(r.energy.balance, expected["energy/balance"])
        np.testing.assert_array_equal(r.trust.position_residual, expected["trust/position_residual"])
        assert r.trust.determinate["pin1"].tolist() == [1] * 20
        assert list(r.velocity) == ["link0", "link1", "link2"]


def test_joints_of_several_freedoms(path):
    expected = example.rows(example.layout(3), 0, 20)["joints/coordinate"]
    with load_recording(path) as r:
        assert r.coordinate["pin0"].shape == (20,)
        np.testing.assert_array_equal(r.coordinate["pin2"], expected[:, 2:5])
        np.testing.assert_array_equal(r.rate["pin2[1]"], expected[:, 3])
        assert r.torque["pin2"].shape == (20, 3)


def test_what_is_said_once(path):
    layout = example.layout(3)
    with load_recording(path) as r:
        assert r.bodies == layout.bodies and r.shapes == layout.shapes
        assert r.joints == layout.joints and r.columns == layout.columns
        assert r.scene_text == layout.text and r.scene_file == layout.file
        assert r.sources == layout.sources
        assert r.settings == layout.settings and r.render == layout.render


def test_events_epochs_and_summary(path):
    with load_recording(path) as r:
        (event,) = r.events
        assert (event.time, event.name, event.caption, event.energy_lost) == (0.05, "tears", "it tears", 2.5)
        (epoch,) = r.epochs
        assert epoch.tree == ("pin0", "pin1") and epoch.loops == ("pin2",)
        assert epoch.q.shape == (20, 6) and epoch.v.min() == 1
        assert r.run["began"] == "2030-01-01T00:00:00"
        assert r.summary["steps"] == 12
        assert r.summary["real_time_factor"] == pytest.approx(19 / 120 / 0.01)
        assert r.summary["largest_residual"] == 19.0
        assert [e["name"] for e in r.summary["events"]] == ["tears"]


def test_the_span_of_a_recording_begins_with_its_first_row(tmp_path):
    layout = example.layout(2)
    with Recorder(tmp_path / "late.h5", layout) as recorder:
        recorder.append(example.rows(layout, 240, 13))
        recorder.finish(True, {"wall_time": 0.02})
    with load_recording(tmp_path / "late.h5") as r:
        assert r.time[0] == 2.0 and r.summary["simulated_time"] == pytest.approx(0.1)
        assert r.summary["real_time_factor"] == pytest.approx(5.0)


def test_impulses_of_joints_at_events(path):
    with load_recording(path) as r:
        np.testing.assert_array_equal(r.impulse.array, THROUGH[None])
        np.testing.assert_array_equal(r.impulse["pin2"], THROUGH[None, 2])


def test_the_short_form_of_trust(path):
    with load_recording(path) as r:
        found = r.summary["trust"]
        assert found["velocity_residual"] == 19.0
        assert (found["smallest_singular_value"], found["smallest_singular_value_at"]) == (0.0, 0.0)
        assert found["determinate"] == 3 and found["chosen"] == []


def test_unknown_names_offer_the_nearest(path):
    with load_recording(path) as r:
        with pytest.raises(
            RecordingError, match="no body or point named 'lnik1' in the recording; did you mean 'link1"
        ):
            r.position["lnik1"]
        with pytest.raises(KeyError, match="no joint named 'x' in the recording; there are pin0, "):
            r.coordinate["x"]
        assert "x" not in r.coordinate and r.coordinate.get("x") is None
        with pytest.raises(AttributeError, match="no energy named 'total'; there are kinetic"):
            _ = r.energy.total


def test_arrays_outlive_the_file_and_are_read_only(path):
    r = load_recording(path)
    time = r.time
    r.close()
    assert time[1] == r.time[1] == 1 / 120
    with pytest.raises(ValueError, match="read-only"):
        time[0] = 1
    with pytest.raises(RecordingError, match=r"chain\.h5 is closed"):
        _ = r.com["link0"]


def test_a_copy_is_the_same_recording(path, tmp_path):
    with load_recording(path) as r:
        r.save(tmp_path / "copy.h5")
        with pytest.raises(RecordingError, match="exists"):
            r.save(tmp_path / "copy.h5")
        (tmp_path / "copy.h5").write_bytes(b"another")
        assert r.save(tmp_path / "copy.h5", overwrite=True) == tmp_path / "copy.h5"
    assert (tmp_path / "copy.h5").read_bytes() == path.read_bytes()


def png() -> bytes:
    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + head + struct.pack(">I", zlib.crc32(b"IHDR" + head))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "the file is empty"),
        (b"schema: 1\nname: x\n", "a text file that begins with 'schema: 1'"),
        (png(), "a PNG picture"),
        (b"\0\0\0\x20ftypisom" + bytes(100), "an MP4 film"),
        (b"\x89HDF\r\n\x1a\n" + bytes(100), "an HDF5 file that is damaged"),
        (bytes(range(256)), "a file of another format"),
    ],
)
def test_what_is_not_a_recording(tmp_path, content, sentence):
    path = tmp_path / "thing"
    path.write_bytes(content)
    with pytest.raises(RecordingError) as caught:
        load_recording(path)
    assert str(caught.value) == f"{path} is not a recording: {sentence}"


def test_other_hdf5_files_absent_files_and_folders(tmp_path, path):
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["weather"] = 1
    with pytest.raises(RecordingError, match="an HDF5 file of another program, which holds weather"):
        load_recording(tmp_path / "other.h5")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["a\x1b[2J"] = 1
    with pytest.raises(RecordingError, match=r"which holds 'a\\x1b\[2J'"):
        load_recording(tmp_path / "other.h5")
    with pytest.raises(RecordingError, match="there is no file"):
        load_recording(tmp_path / "absent.h5")
    with pytest.raises(RecordingError, match="is a folder, not a recording"):
        load_recording(tmp_path)
    with h5py.File(path, "r+") as file:
        file.attrs["version"] = 99
    with pytest.raises(RecordingError, match="a recording of version 99; this program reads up to 1"):
        load_recording(path)


def test_a_cut_file_is_refused(path):
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(RecordingError, match="an HDF5 file that is damaged"):
        load_recording(path)
