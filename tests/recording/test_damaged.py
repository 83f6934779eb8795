"""Recordings are looked at before anything of them is believed: whatever is wrong is one sentence."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

import sim
from render.plots import overview
from render.signals import Signals
from render.view import Motion, RenderError, open_recording
from sim.cli.main import main
from sim.recording import RecordingError, load_recording
from tests.attacks import recordings


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> list[Path]:
    """An arm with events, forces and epochs, and bodies that fall on a floor."""
    return recordings.record(tmp_path_factory.mktemp("whole"))


def everything(path: Path) -> None:
    """Read all that there is to read."""
    with load_recording(path) as recording:
        assert recording.summary and recording.bodies and recording.epochs is not None
        for read in ("points", "shapes", "columns", "forces", "pairs", "touches", "events", "bindings"):
            getattr(recording, read)
        assert recording.impulse.array.ndim == 3
        if recording.rows:
            recording.contacts(-1)
            sim.verify(recording, quick=True)
    Motion.from_recording(path, contacts=True)
    with open_recording(path) as file:
        overview(Signals(file))


def test_what_is_whole_is_read(whole):
    for path in whole:
        everything(path)


# Those that ended in an exception once, and some others.
SEEDS = (22, 1218, 1457, 2808, 3286, 3712, *range(60))


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_is_damaged_is_a_sentence(whole, tmp_path, seed):
    recordings.damaged(tmp_path / "r.h5", random.Random(f"recordings {seed}"), [path.read_bytes() for path in whole])
    try:
        everything(tmp_path / "r.h5")
    except (RecordingError, RenderError, sim.SceneError) as error:
        assert str(error) and "\n" not in str(error).split(": ")[0]


def put(name: str, values: object) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        del file[name]
        file[name] = values

    return change


def entry(name: str, place: object, value: object) -> Callable[[h5py.File], None]:
    return lambda file: file[name].__setitem__(place, value)


def pieces(file: h5py.File) -> None:
    values = file["com"][()]
    del file["com"]
    file.create_dataset("com", data=values, chunks=True)


def elsewhere(file: h5py.File) -> None:
    del file["com"]
    file.create_dataset("com", (15, 3, 3), "<f8", external=[("/etc/passwd", 0, 1080)])


def borrowed(file: h5py.File) -> None:
    layout = h5py.VirtualLayout(file["com"].shape, "<f8")
    layout[...] = h5py.VirtualSource("other.h5", "com", shape=file["com"].shape)
    del file["com"]
    file.create_virtual_dataset("com", layout)


def huge(file: h5py.File) -> None:
    del file["com"]
    file.create_dataset("com", (2**50, 3, 3), "<f8", chunks=(1, 3, 3))


def setting(name: str, **changed: object) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        block = json.loads(file[f"scene/{name}"][()]) | changed
        put(f"scene/{name}", np.bytes_(json.dumps(block)))(file)

    return change


DAMAGES: list[tuple[Callable[[h5py.File], object], str]] = [
    (put("rows", -1), "'rows' says -1; expected from 0 to 15, for which there is room"),
    (put("rows", 16), "'rows' says 16; expected from 0 to 15"),
    (put("rows", 2**62), "'rows' says 4611686018427387904; expected from 0 to 15"),
    (put("rows", 3.0), "'rows' holds numbers of 8 bytes; expected whole numbers, shape ()"),
    (put("rows", [3]), "'rows' has the shape (1,); expected (), whole numbers, shape ()"),
    (put("complete", 2), "'complete' holds 2; expected numbers from 0 to 1"),
    (put("position", np.zeros((15, 3, 3), "<f4")), "'position' holds numbers of 4 bytes; expected numbers of 8 bytes"),
    (put("position", np.zeros((15, 2, 3))), "'position' has the shape (15,2,3); expected (15,3,3), numbers of 8 bytes"),
    (put("joints/force", np.zeros((14, 3, 6))), "'joints/force' has the shape (14,3,6); expected (15,4,6)"),
    (put("bodies/name", np.array([b"one", b"two", b"\xff"])), "'bodies/name' holds the byte 0xff; expected texts"),
    (put("bodies/name", np.array([b"one", b"one", b"ball"])), "'bodies/name' has 'one' more than once"),
    (put("scene/text", "schema: 1"), "'scene/text' holds texts of any length, or references; expected texts of fixed"),
    (put("scene/settings", np.bytes_("{")), "'scene/settings' is no JSON ("),
    (put("scene/settings", np.bytes_("[" * 9999)), "'scene/settings' is no JSON ("),
    (put("scene/render", np.bytes_("[]")), "'scene/render' holds list; expected a map in JSON"),
    (setting("settings", rtol="x"), "'scene/settings' gives 'rtol' as 'x'; expected a number from 1e-14 to 0.1"),
    (setting("settings", duration=float("nan")), "'scene/settings' gives 'duration' as nan; expected a number from 0"),
    (setting("settings", triggers=[["a"]]), "gives 'triggers' as [['a']]; expected a list, each a key and a time"),
    (setting("render", camera={"fov": -1}), "'scene/render' gives 'camera.fov' as -1; expected a number above 0"),
    (setting("render", size=[1, 10**9]), "'scene/render' gives 'size' as [1, 1000000000]; expected a list of 2"),
    (entry("time", 3, np.nan), "'time' goes back, or is not finite; expected times that do not decrease"),
    (entry("time", 3, 9.0), "'time' goes back, or is not finite"),
    (entry("forces/body", (0, 1), -2), "'forces/body' holds -2; expected numbers from -1 to 2"),
    (entry("points/body", 0, 2**40), "'points/body' holds 1099511627776; expected numbers from -1 to 2"),
    (entry("joints/parent", 1, b"none"), "'joints/parent' names 'none'; expected bodies of the recording"),
    (entry("impulses/joint", 0, 99), "'impulses/joint' holds 99; expected numbers from 0 to 3"),
    (entry("bindings/joint", 0, -1), "'bindings/joint' holds -1; expected numbers from 0 to 3"),
    (entry("events/row_before", 0, 2**62), "'events/row_before' holds 4611686018427387904; expected numbers from -2"),
    (entry("epochs/0/rows", 1, 1), "'epochs/0/rows' ends at 1; expected states for all complete rows"),
    (entry("epochs/0/rows", 1, 2**40), "'epochs/0/rows' is 0 to 1099511627776; expected rows from 0 on, no more than"),
    (lambda file: file.move("epochs/0", "epochs/7"), "'epochs' holds 7; expected groups 0, 1, 2, ..."),
    (pieces, "'com' is cut into pieces or compressed; expected values in one piece, as they are written"),
    (elsewhere, "'com' has its values in another file; expected values in this one"),
    (borrowed, "'com' has its values in another file"),
    (huge, "'com' has the shape (1125899906842624,3,3); expected (15,3,3)"),
    (put("com", h5py.SoftLink("/position")), "'com' is a soft link; expected a dataset or group of this file"),
    (put("com", h5py.ExternalLink("/etc/passwd", "/x")), "'com' is a link to another file; expected a dataset"),
    (lambda file: file.__setitem__("epochs/0/again", file["/"]), "'epochs/0/again' is one that has another name, too"),
    (lambda file: file.__setitem__("more", file["com"]), "is one that has another name, too; expected each group and"),
    (lambda file: file.__delitem__("energy/kinetic"), "has no 'energy/kinetic': it is incomplete or of another"),
    (lambda file: file.__delitem__("events/text"), " has no 'events/text': it is incomplete or of another version"),
    (lambda file: file.attrs.__delitem__("scene"), "attribute 'scene' is no text, or not there; expected a text"),
    (lambda file: file.attrs.__setitem__("program", b"\xff"), "attribute 'program' is no text, or not there"),
    (lambda file: file.attrs.__setitem__("scene", np.bytes_(b"\xff")), "attribute 'scene' is no text, or not there"),
    (lambda file: file.attrs.__setitem__("version", "1"), "attribute 'version' is '1'; expected a whole number from 1"),
    (lambda file: file.attrs.__setitem__("version", [1, 1]), "attribute 'version' is None; expected a whole number"),
    (lambda file: file.attrs.__setitem__("format", [1.0]), "not a recording: an HDF5 file of another program"),
    (lambda file: file["run"].attrs.__setitem__("wall_time", "x"), "attribute 'wall_time' of 'run' is no number"),
    (lambda file: file["epochs/0"].attrs.__setitem__("tree", 1), "attribute 'tree' of 'epochs/0' cannot be read ("),
]  # fmt: skip


@pytest.mark.parametrize(("change", "sentence"), DAMAGES)
def test_the_sentence_names_the_dataset_what_was_found_and_what_was_expected(whole, tmp_path, change, sentence):
    path = Path(shutil.copy(whole[0], tmp_path / "r.h5"))
    with h5py.File(path, "r+") as file:
        assert file["com"].shape == (15, 3, 3)
        change(file)
    for read in (load_recording, Motion.from_recording):
        with pytest.raises((RecordingError, RenderError)) as caught:
            read(path)
        assert sentence in str(caught.value) and str(path) in str(caught.value)


CONTACTS = [
    ("shapes/body", 0, 2, "'shapes/body' holds 2; expected numbers from -1 to 1"),
    ("contacts/pair", 0, 9, "'contacts/pair' holds 9; expected numbers from 0 to"),
    ("contacts/mode", 0, 3, "'contacts/mode' holds 3; expected numbers from 0 to 2"),
    ("contacts/row", -1, 6, "'contacts/row' goes back; expected rows in order"),
    ("contacts/pairs/shapes", (0, 0), 50, "'contacts/pairs/shapes' holds 50; expected numbers from -1 to 2"),
    ("shapes/triangles", (0, 0), 8, "'shapes/triangles' has a corner that is none of its shape's"),
    (
        "shapes/kind",
        0,
        b"cone",
        "'shapes/kind' holds 'cone'; expected one of box, sphere, capsule, cylinder, ellipsoid,",
    ),
    ("shapes/kind", 0, b"mesh", "'shapes/triangle_shape' has none of shape 0; expected triangles of each mesh"),
    ("shapes/vertex_shape", 0, -7, "'shapes/vertex_shape' holds -7; expected numbers from 0 to 2"),
]


@pytest.mark.parametrize(("name", "place", "value", "sentence"), CONTACTS)
def test_contacts_and_meshes_are_looked_at(whole, tmp_path, name, place, value, sentence):
    path = Path(shutil.copy(whole[1], tmp_path / "r.h5"))
    with h5py.File(path, "r+") as file:
        file[name][place] = value
    with pytest.raises(RecordingError) as caught:
        load_recording(path)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    "command", [("verify", "--quick"), ("verify", "--json"), ("plot", "--csv", "x.csv"), ("plot", "-o", "x.svg")]
)
@pytest.mark.parametrize("rows", [-1, 2**62])
def test_no_command_believes_a_wrong_count(whole, tmp_path, monkeypatch, capsys, command, rows):
    monkeypatch.chdir(tmp_path)
    shutil.copy(whole[0], "r.h5")
    with h5py.File("r.h5", "r+") as file:
        file["rows"][()] = rows
    assert main([command[0], "r.h5", *command[1:]]) == 2
    out, err = capsys.readouterr()
    assert f"r.h5: 'rows' says {rows}; expected from 0 to 15" in out + err


@pytest.mark.parametrize(
    ("place", "value", "sentence"),
    [
        (16, bytes(16), "an object of its heap has 0 bytes"),  # HDF5 stays at it
        (24, b"\x12", "a text of 19 bytes is not in its heap"),
        (16, b"\7", "a text of 19 bytes is not in its heap"),
        (8, b"\0\0\0\0\0\1", "are beyond the end"),
        (0, b"X", "there is no heap where it should be"),
    ],
)
def test_a_heap_that_hdf5_would_walk_for_ever_is_walked_before(whole, tmp_path, place, value, sentence):
    data = bytearray(whole[0].read_bytes())
    at = data.find(b"GCOL")
    data[at + place : at + place + len(value)] = value
    (tmp_path / "r.h5").write_bytes(data)
    with pytest.raises(RecordingError, match="is not a recording: an HDF5 file that is damaged") as caught:
        load_recording(tmp_path / "r.h5")
    assert sentence in str(caught.value.__cause__)
    data[at : at + 4096] = bytes(4096)
    (tmp_path / "r.h5").write_bytes(data)
    with pytest.raises(RecordingError, match="an HDF5 file that is damaged"):
        load_recording(tmp_path / "r.h5")


def test_what_older_recordings_lack_is_not_missed(whole, tmp_path):
    path = Path(shutil.copy(whole[1], tmp_path / "r.h5"))
    with h5py.File(path, "r+") as file:
        for name in (
            "joints/stop_torque",
            "joints/friction_torque",
            "trust/rows",
            "trust/components",
            "trust/own_components",
        ):
            del file[name]
        for name in ("forces", "points", "bindings", "impulses", "contacts/iterations", "contacts/determinate"):
            del file[name]
    with load_recording(path) as recording:
        assert recording.rows > 0 and recording.summary["rows"] == recording.rows and recording.points == ()
        with pytest.raises(
            RecordingError, match="has no 'contacts/iterations': it is incomplete or of another version"
        ):
            recording.contacts(-1)


def test_values_beyond_the_end_of_the_file_are_refused(whole, tmp_path):
    """A header that points beyond the file."""
    data = bytearray(whole[0].read_bytes())
    with h5py.File(whole[0]) as file:
        offset = file["com"].id.get_offset().to_bytes(8, "little")
    at = data.find(offset)
    assert at > 0 and data.count(offset) == 1
    data[at : at + 8] = (len(data) - 8).to_bytes(8, "little")
    (tmp_path / "r.h5").write_bytes(data)
    with pytest.raises(RecordingError, match="is damaged: 'com' cannot be read"):
        load_recording(tmp_path / "r.h5")
