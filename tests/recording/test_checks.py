"""Every check at opening: a file that fails by exactly one, with the whole sentence, and one that just passes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from sim.recording import RecordingError, load_recording
from sim.recording.checked_blocks import RENDER, SETTINGS, wrong
from tests.recording import whole

Change = Callable[[h5py.File], object]


@pytest.fixture(scope="module")
def content(tmp_path_factory) -> bytes:
    """A recording in which nothing is wrong."""
    return whole.write(tmp_path_factory.mktemp("whole") / "whole.h5").read_bytes()


def changed(content: bytes, folder: Path, *changes: Change) -> Path:
    path = folder / "r.h5"
    path.write_bytes(content)
    with h5py.File(path, "r+") as file:
        for change in changes:
            change(file)
    return path


def at(name: str, place: object, value: object) -> Change:
    return lambda file: file[name].__setitem__(place, value)


def put(name: str, values: object) -> Change:
    def change(file: h5py.File) -> None:
        if name in file:
            del file[name]
        file[name] = values

    return change


def gone(*names: str) -> Change:
    return lambda file: [file.__delitem__(name) for name in names]


def attr(name: str, value: object, of: str = "/") -> Change:
    return lambda file: file[of].attrs.__setitem__(name, value)


def unwritten(name: str, shape: tuple[int, ...], layout: int = h5py.h5d.CONTIGUOUS) -> Change:
    """A dataset in one piece that has no place in the file yet."""

    def change(file: h5py.File) -> None:
        del file[name]
        how = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        how.set_layout(layout)
        how.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY if layout == h5py.h5d.COMPACT else h5py.h5d.ALLOC_TIME_LATE)
        h5py.h5d.create(file.id, name.encode(), h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple(shape), how)

    return change


def group(name: str) -> Change:
    def change(file: h5py.File) -> None:
        if name in file:
            del file[name]
        file.create_group(name)

    return change


def renamed(old: str, new: str) -> Change:
    return lambda file: file.move(old, new)


def columns(**places: bytes) -> Change:
    """Write into the first row of /joints/columns."""

    def change(file: h5py.File) -> None:
        table = file["joints/columns"][()]
        for field, value in places.items():
            name, _, row = field.partition("_at_")
            table[name][int(row or 0)] = value
        file["joints/columns"][...] = table

    return change


def block(name: str, **values: object) -> Change:
    def change(file: h5py.File) -> None:
        found = json.loads(file[f"scene/{name}"][()]) | values
        put(f"scene/{name}", np.bytes_(json.dumps(found)))(file)

    return change


def raw(name: str, words: bytes) -> Change:
    return put(f"scene/{name}", np.bytes_(words))


def record(*fields: tuple[str, str], count: int = 2) -> np.ndarray:
    return np.zeros(count, list(fields))


NUMBERS, WHOLE, TEXTS = "numbers of 8 bytes, shape", "whole numbers, shape", "texts of fixed length, shape"
INCOMPLETE = "it is incomplete or of another version"

BAD: list[tuple[tuple[Change, ...], str]] = [
    # --- frame
    ((put("com", h5py.SoftLink("/time")),), "'com' is a soft link; expected a dataset or group of this file"),
    (
        (put("com", h5py.ExternalLink("x", "/x")),),
        "'com' is a link to another file; expected a dataset or group of this file",
    ),
    (
        (put("events/more", h5py.SoftLink("/time")),),
        "'events/more' is a soft link; expected a dataset or group of this file",
    ),
    ((put("epochs/0/x", np.dtype("f8")),), "'epochs/0/x' is neither; expected a dataset or group"),
    ((group("com"),), f"'com' is a group; expected {NUMBERS} (n,b,3)"),
    ((put("com", h5py.Empty("<f8")),), f"'com' holds numbers of 8 bytes; expected {NUMBERS} (n,b,3)"),
    ((put("com", np.zeros((7, 2, 3), "<f4")),), f"'com' holds numbers of 4 bytes; expected {NUMBERS} (n,b,3)"),
    ((put("com", np.zeros((7, 2, 3), ">f8")),), f"'com' holds numbers of 8 bytes; expected {NUMBERS} (n,b,3)"),
    ((put("com", np.zeros((7, 2, 3), "<i8")),), f"'com' holds whole numbers; expected {NUMBERS} (n,b,3)"),
    ((put("com", np.zeros((7, 2, 3), "S2")),), f"'com' holds texts; expected {NUMBERS} (n,b,3)"),
    ((put("com", np.zeros((7, 2, 3), "<u4")),), f"'com' holds whole numbers without sign; expected {NUMBERS} (n,b,3)"),
    ((put("com", np.zeros((7, 2, 3), "<c16")),), f"'com' holds values of type complex128; expected {NUMBERS} (n,b,3)"),
    (
        (put("com", record(*((k, "f8") for k in "abcdefg"))),),
        f"'com' holds a table of a, b, c, d, e, f; expected {NUMBERS} (n,b,3)",
    ),
    ((put("com", np.zeros((8, 2, 3))),), f"'com' has the shape (8,2,3); expected (7,2,3), {NUMBERS} (n,b,3)"),
    ((put("com", np.zeros((7, 1, 3))),), f"'com' has the shape (7,1,3); expected (7,2,3), {NUMBERS} (n,b,3)"),
    ((put("com", np.zeros((7, 2, 4))),), f"'com' has the shape (7,2,4); expected (7,2,3), {NUMBERS} (n,b,3)"),
    ((put("com", np.zeros((7, 2))),), f"'com' has the shape (7,2); expected (7,2,3), {NUMBERS} (n,b,3)"),
    ((put("com", np.zeros((7, 2, 3, 1))),), f"'com' has the shape (7,2,3,1); expected (7,2,3), {NUMBERS} (n,b,3)"),
    ((put("bodies/name", np.array([b"a"])),), f"'bodies/mass' has the shape (2,); expected (1,), {NUMBERS} (b,)"),
    ((put("bodies/name", np.zeros((2, 1), "S3")),), f"'bodies/name' has the shape (2,1); expected (2,), {TEXTS} (b,)"),
    ((unwritten("com", (7, 2, 3)),), "'com' holds 0 bytes; expected 336, as its shape says"),
    (
        (lambda f: [f.__delitem__("com"), f.create_dataset("com", data=np.zeros((7, 2, 3)), chunks=True)],),
        "'com' is cut into pieces or compressed; expected values in one piece, as they are written",
    ),
    (
        (lambda f: [f.__delitem__("com"), f.create_dataset("com", (7, 2, 3), "<f8", external=[("x", 0, 336)])],),
        "'com' has its values in another file; expected values in this one",
    ),
    # --- scene
    ((lambda f: f.attrs.__delitem__("scene"),), "attribute 'scene' is no text, or not there; expected a text"),
    ((attr("scene", 3),), "attribute 'scene' is no text, or not there; expected a text"),
    ((attr("scene", ["a"]),), "attribute 'scene' is no text, or not there; expected a text"),
    ((attr("program", 2.5),), "attribute 'program' is no text, or not there; expected a text"),
    (
        (put("scene/sources", np.zeros(1, "S3")),),
        "'scene/sources' holds texts; expected a table of the texts file, text, shape (h,)",
    ),
    (
        (put("scene/sources", record(("file", "S2"), ("texts", "S2"))),),
        "'scene/sources' holds a table of file, texts; expected a table of the texts file, text, shape (h,)",
    ),
    (
        (put("scene/sources", record(("file", "S2"), ("text", "i4"))),),
        "'scene/sources' holds a table of file, text; expected a table of the texts file, text, shape (h,)",
    ),
    (
        (put("scene/sources", record(("file", "S2", (2,)), ("text", "S2"))),),
        "'scene/sources' holds a table of file, text; expected a table of the texts file, text, shape (h,)",
    ),
    (
        (put("scene/sources", np.array([(b"a", b"b"), (b"a", b"\xfe")], [("file", "S1"), ("text", "S1")])),),
        "'scene/sources' holds the byte 0xfe; expected texts in UTF-8",
    ),
    (
        (put("scene/sources", np.array([(b"\xff", b"b")], [("file", "S1"), ("text", "S1")])),),
        "'scene/sources' holds the byte 0xff; expected texts in UTF-8",
    ),
    ((put("scene/text", np.bytes_(b"ab\xf0")),), "'scene/text' holds the byte 0xf0; expected texts in UTF-8"),
    ((put("scene/file", np.bytes_(b"\x80")),), "'scene/file' holds the byte 0x80; expected texts in UTF-8"),
    ((raw("settings", b"\xff"),), "'scene/settings' holds the byte 0xff; expected texts in UTF-8"),
    ((raw("settings", b"3"),), "'scene/settings' holds int; expected a map in JSON"),
    ((raw("render", b"[1]"),), "'scene/render' holds list; expected a map in JSON"),
    (
        (raw("render", b"{"),),
        "'scene/render' is no JSON (Expecting property name enclosed in double quotes: line 1 column 2 (char 1)); "
        "expected a map in JSON",
    ),
    (
        (block("settings", seed=-1),),
        "'scene/settings' gives 'seed' as -1; expected a whole number from 0 to 9.22337e+18",
    ),
    (
        (block("settings", method="x" * 39),),
        f"'scene/settings' gives 'method' as '{'x' * 36}...; "
        "expected one of dop853, radau, auto, rk4, semi_implicit, variational",
    ),
    (
        (block("settings", method="x" * 38),),
        f"'scene/settings' gives 'method' as '{'x' * 38}'; "
        "expected one of dop853, radau, auto, rk4, semi_implicit, variational",
    ),
    ((block("render", captions=1),), "'scene/render' gives 'captions' as 1; expected true or false"),
    ((at("bodies/name", 1, b"drum"),), "'bodies/name' has 'drum' more than once; expected names that differ"),
    ((at("bodies/name", 0, b"\xc3"),), "'bodies/name' holds the byte 0xc3; expected texts in UTF-8"),
    ((at("shapes/body", 2, 2),), "'shapes/body' holds 2; expected numbers from -1 to 1"),
    ((at("shapes/body", 2, -2),), "'shapes/body' holds -2; expected numbers from -1 to 1"),
    (
        (at("shapes/kind", 2, b"cone"),),
        "'shapes/kind' holds 'cone'; expected one of box, sphere, capsule, cylinder, ellipsoid, mesh, plane",
    ),
    ((at("joints/name", 1, b"pin"),), "'joints/name' has 'pin' more than once; expected names that differ"),
    ((at("joints/type", 1, b"\xff"),), "'joints/type' holds the byte 0xff; expected texts in UTF-8"),
    (
        (at("joints/parent", 0, b"nobod"),),
        "'joints/parent' names 'nobod'; expected bodies of the recording, or the world",
    ),
    ((at("joints/child", 0, b"who"),), "'joints/child' names 'who'; expected bodies of the recording, or the world"),
    ((columns(joint=b"pins"),), "'joints/columns' names 'pins'; expected joints of the recording"),
    ((columns(name=b"ball[2]"),), "'joints/columns' has a name more than once; expected names that differ"),
    ((columns(unit=b"\xe9"),), "'joints/columns' holds the byte 0xe9; expected texts in UTF-8"),
    (
        (columns(joint=b"ball", joint_at_1=b"pin"),),
        "'joints/columns' has columns of a joint apart; expected those of each joint together",
    ),
    (
        (columns(joint=b"sleeve"),),
        "'joints/columns' has columns of a joint apart; expected those of each joint together",
    ),
    (
        (columns(joint_at_5=b"pin"),),
        "'joints/columns' has columns of a joint apart; expected those of each joint together",
    ),
    (
        (at("points/name", 2, "ärm.tip".encode()),),
        "'points/name' has 'ärm.tip' more than once; expected names that differ",
    ),
    ((at("points/body", 0, 2),), "'points/body' holds 2; expected numbers from -1 to 1"),
    ((at("points/body", 0, -2),), "'points/body' holds -2; expected numbers from -1 to 1"),
    ((at("shapes/vertex_shape", 0, -1),), "'shapes/vertex_shape' holds -1; expected numbers from 0 to 3"),
    ((at("shapes/vertex_shape", 8, 4),), "'shapes/vertex_shape' holds 4; expected numbers from 0 to 3"),
    ((at("shapes/triangle_shape", 0, -1),), "'shapes/triangle_shape' holds -1; expected numbers from 0 to 3"),
    ((at("shapes/triangle_shape", 9, 4),), "'shapes/triangle_shape' holds 4; expected numbers from 0 to 3"),
    (
        (at("shapes/triangle_shape", slice(0, 4), 3),),
        "'shapes/triangle_shape' has none of shape 1; expected triangles of each mesh",
    ),
    (
        (at("shapes/kind", [0, 2], b"mesh"),),
        "'shapes/triangle_shape' has none of shape 0; expected triangles of each mesh",
    ),
    (
        (at("shapes/triangles", (0, 0), -1),),
        "'shapes/triangles' has a corner that is none of its shape's; expected numbers of vertices, from 0 on",
    ),
    (
        (at("shapes/triangles", (3, 2), 4),),
        "'shapes/triangles' has a corner that is none of its shape's; expected numbers of vertices, from 0 on",
    ),
    (
        (at("shapes/triangles", (9, 1), 5),),
        "'shapes/triangles' has a corner that is none of its shape's; expected numbers of vertices, from 0 on",
    ),
    (
        (at("shapes/vertex_shape", slice(4, 9), 1),),
        "'shapes/triangles' has a corner that is none of its shape's; expected numbers of vertices, from 0 on",
    ),
    ((at("forces/name", 1, b"cord"),), "'forces/name' has 'cord' more than once; expected names that differ"),
    ((at("forces/type", 1, b"\xff"),), "'forces/type' holds the byte 0xff; expected texts in UTF-8"),
    ((at("forces/body", (1, 1), 2),), "'forces/body' holds 2; expected numbers from -1 to 1"),
    ((at("forces/body", (1, 1), -2),), "'forces/body' holds -2; expected numbers from -1 to 1"),
    (
        (gone("forces"), put("forces/length", np.zeros((7, 1)))),
        f"'forces/length' has the shape (7,1); expected (7,0), {NUMBERS} (n,f)",
    ),
    # --- motion
    ((at("rows", (), 8),), "'rows' says 8; expected from 0 to 7, for which there is room"),
    ((at("rows", (), -1),), "'rows' says -1; expected from 0 to 7, for which there is room"),
    ((at("complete", (), 2),), "'complete' holds 2; expected numbers from 0 to 1"),
    ((at("complete", (), -1),), "'complete' holds -1; expected numbers from 0 to 1"),
    ((at("time", 2, 0.2499),), "'time' goes back, or is not finite; expected times that do not decrease"),
    ((at("time", 6, np.inf),), "'time' goes back, or is not finite; expected times that do not decrease"),
    ((at("time", 0, np.nan),), "'time' goes back, or is not finite; expected times that do not decrease"),
    ((put("trust/rank", np.zeros(7)),), f"'trust/rank' holds numbers of 8 bytes; expected {WHOLE} (n,)"),
    ((put("trust/rows", np.zeros(6, int)),), f"'trust/rows' has the shape (6,); expected (7,), {WHOLE} (n,)"),
    # --- epochs
    ((put("epochs", 1.0),), "'epochs' is a dataset; expected a group of epochs"),
    ((renamed("epochs/1", "epochs/2"),), "'epochs' holds 0, 2; expected groups 0, 1, 2, ..."),
    (
        (lambda f: [f.create_group(f"epochs/{k}") for k in "abcdefg"],),
        "'epochs' holds 0, 1, a, b, c, d; expected groups 0, 1, 2, ...",
    ),
    ((put("epochs/0/rows", [0, 3, 3]),), f"'epochs/0/rows' has the shape (3,); expected (2,), {WHOLE} (2,)"),
    ((put("epochs/1/v", np.zeros((3, 1))),), f"'epochs/1/v' has the shape (3,1); expected (4,1), {NUMBERS} (r,v1)"),
    ((at("epochs/0/rows", 0, -1),), "'epochs/0/rows' is -1 to 3; expected rows from 0 on, no more than the 3 states"),
    ((at("epochs/0/rows", 1, -1),), "'epochs/0/rows' is 0 to -1; expected rows from 0 on, no more than the 3 states"),
    ((at("epochs/0/rows", 1, 4),), "'epochs/0/rows' is 0 to 4; expected rows from 0 on, no more than the 3 states"),
    (
        (at("epochs/1/rows", ..., [2, 6]),),
        "'epochs/1/rows' is 2 to 6; expected rows from 3 on, no more than the 4 states",
    ),
    ((at("epochs/1/rows", 1, 8),), "'epochs/1/rows' is 3 to 8; expected rows from 3 on, no more than the 4 states"),
    ((at("epochs/0/rows", 1, 2),), "'epochs/0/rows' ends at 2; expected states for all complete rows"),
    ((at("epochs/1/rows", ..., [4, 7]),), "'epochs/0/rows' ends at 3; expected states for all complete rows"),
    ((at("epochs/1/rows", 1, 6),), "'epochs/1/rows' ends at 6; expected states for all complete rows"),
    (
        (attr("tree", "pin", "epochs/1"),),
        "is damaged: attribute 'tree' of 'epochs/1' cannot be read (expected a list of texts)",
    ),
    (
        (attr("loops", [1.0], "epochs/0"),),
        "is damaged: attribute 'loops' of 'epochs/0' cannot be read (expected a list of texts)",
    ),
    (
        (attr("loops", np.zeros((1, 1), "S1"), "epochs/0"),),
        "is damaged: attribute 'loops' of 'epochs/0' cannot be read (expected a list of texts)",
    ),
    (
        (attr("tree", np.array([b"a", b"\xff"]), "epochs/0"),),
        "is damaged: attribute 'tree' of 'epochs/0' cannot be read ('utf-8' codec can't decode byte 0xff in position "
        "0: invalid start byte)",
    ),
    # --- what happened
    ((at("events/name", 0, b"\xff"),), "'events/name' holds the byte 0xff; expected texts in UTF-8"),
    ((at("events/kind", 1, b"\xfe"),), "'events/kind' holds the byte 0xfe; expected texts in UTF-8"),
    ((at("events/caption", 2, b"\xfd"),), "'events/caption' holds the byte 0xfd; expected texts in UTF-8"),
    ((at("events/text", 0, b"\xfc"),), "'events/text' holds the byte 0xfc; expected texts in UTF-8"),
    ((at("events/row_after", 2, -2),), "'events/row_after' holds -2; expected numbers from -1 to 9223372036854775807"),
    ((at("events/row_before", 1, -3),), "'events/row_before' holds -3; expected numbers from -2 to 6"),
    ((at("events/row_before", 1, 7),), "'events/row_before' holds 7; expected numbers from -2 to 6"),
    ((at("impulses/event", 0, -2),), "'impulses/event' holds -2; expected numbers from -1 to 2"),
    ((at("impulses/event", 0, 3),), "'impulses/event' holds 3; expected numbers from -1 to 2"),
    ((at("impulses/joint", 0, -1),), "'impulses/joint' holds -1; expected numbers from 0 to 2"),
    ((at("impulses/joint", 2, 3),), "'impulses/joint' holds 3; expected numbers from 0 to 2"),
    ((gone("events"),), "'impulses/event' holds 0; expected numbers from -1 to -1"),
    ((at("bindings/joint", 0, -1),), "'bindings/joint' holds -1; expected numbers from 0 to 2"),
    ((at("bindings/joint", 2, 3),), "'bindings/joint' holds 3; expected numbers from 0 to 2"),
    ((at("contacts/pairs/a", 0, b"\xff"),), "'contacts/pairs/a' holds the byte 0xff; expected texts in UTF-8"),
    ((at("contacts/pairs/b", 0, b"\xff"),), "'contacts/pairs/b' holds the byte 0xff; expected texts in UTF-8"),
    ((at("contacts/pairs/shapes", (1, 0), 4),), "'contacts/pairs/shapes' holds 4; expected numbers from -1 to 3"),
    ((at("contacts/pairs/shapes", (1, 0), -2),), "'contacts/pairs/shapes' holds -2; expected numbers from -1 to 3"),
    ((at("contacts/row", 2, 5),), "'contacts/row' goes back; expected rows in order"),
    ((at("contacts/pair", 0, 2),), "'contacts/pair' holds 2; expected numbers from 0 to 1"),
    ((at("contacts/pair", 0, -1),), "'contacts/pair' holds -1; expected numbers from 0 to 1"),
    ((at("contacts/mode", 5, 3),), "'contacts/mode' holds 3; expected numbers from 0 to 2"),
    ((at("contacts/mode", 5, -1),), "'contacts/mode' holds -1; expected numbers from 0 to 2"),
    ((at("contacts/impulses/event", 0, 3),), "'contacts/impulses/event' holds 3; expected numbers from -1 to 2"),
    ((at("contacts/impulses/event", 0, -2),), "'contacts/impulses/event' holds -2; expected numbers from -1 to 2"),
    ((at("contacts/impulses/pair", 2, 2),), "'contacts/impulses/pair' holds 2; expected numbers from 0 to 1"),
    ((at("contacts/impulses/pair", 0, -1),), "'contacts/impulses/pair' holds -1; expected numbers from 0 to 1"),
    # --- run
    ((put("run", 1.0),), "'run' is a dataset; expected a group with attributes"),
    (
        (attr("began", [1.0, 2.0], "run"),),
        "attribute 'began' of 'run' is a list, or neither; expected a number or text",
    ),
    ((attr("began", 1j, "run"),), "attribute 'began' of 'run' is a list, or neither; expected a number or text"),
    ((attr("wall_time", "x", "run"),), "attribute 'wall_time' of 'run' is no number; expected a number"),
    (
        (attr("taken_by_contacts", "x", "run"),),
        "attribute 'taken_by_contacts' of 'run' is no number; expected a number",
    ),
    ((attr("steps", "x", "run"),), "attribute 'steps' of 'run' is no number; expected a number"),
    ((attr("evaluations", [1], "run"),), "attribute 'evaluations' of 'run' is no number; expected a number"),
]


@pytest.mark.parametrize(("changes", "sentence"), BAD, ids=[sentence[:60] for _, sentence in BAD])
def test_what_is_wrong_is_told_in_one_sentence(content, tmp_path, changes, sentence):
    path = changed(content, tmp_path, *changes)
    with pytest.raises(RecordingError) as caught:
        load_recording(path)
    assert str(caught.value) == f"{path}{' ' if sentence.startswith('is damaged') else ': '}{sentence}"


# Every dataset that each recording has, and those that stand or fall with their group.
LACKING = [
    "rows", "complete", "scene/text", "scene/file", "scene/settings", "scene/render", "bodies/name", "bodies/mass",
    "bodies/com", "bodies/inertia", "shapes/kind", "shapes/body", "shapes/position", "shapes/quat_wxyz", "shapes/size",
    "shapes/color", "joints/name", "joints/type", "joints/parent", "joints/child", "joints/columns",
    "points/name", "points/body", "points/position",
    "shapes/vertex_shape", "shapes/vertices", "shapes/triangle_shape", "shapes/triangles",
    "forces/name", "forces/type", "forces/body", "forces/point",
    "contacts/pairs/a", "contacts/pairs/b", "contacts/pairs/shapes", "contacts/row", "contacts/pair", "contacts/key",
    "contacts/mode", "contacts/point", "contacts/normal", "contacts/force", "contacts/impulses/event",
    "contacts/impulses/pair", "contacts/impulses/key", "contacts/impulses/point", "contacts/impulses/normal",
    "contacts/impulses/impulse", "events/time", "events/name", "events/kind", "events/caption", "events/text",
    "events/row_before",
    "events/row_after", "events/energy_lost", "events/impulse", "impulses/event", "impulses/joint", "impulses/wrench",
    "bindings/joint", "bindings/time", "bindings/row", "bindings/parent_position", "bindings/parent_quat_wxyz",
    "bindings/child_position", "bindings/child_quat_wxyz", "bindings/offset", "epochs/0/rows", "epochs/0/q",
    "epochs/1/v",
]  # fmt: skip
NEWER = ("joints/stop_torque", "joints/friction_torque", "trust/rows", "trust/components", "trust/own_components",
         "forces/length", "forces/tension", "forces/wrench")  # fmt: skip


@pytest.mark.parametrize("name", [*LACKING, *(name for name in whole.ROW_FIELDS if name not in NEWER)])
def test_what_is_not_there_is_named(content, tmp_path, name):
    path = changed(content, tmp_path, gone(name))
    with pytest.raises(RecordingError) as caught:
        load_recording(path)
    assert str(caught.value) == f"{path} has no {name!r}: {INCOMPLETE}"


def test_a_mesh_without_triangles_is_missed(content, tmp_path):
    names = [f"shapes/{name}" for name in ("vertex_shape", "vertices", "triangle_shape", "triangles")]
    path = changed(content, tmp_path, gone(*names))
    with pytest.raises(RecordingError) as caught:
        load_recording(path)
    assert str(caught.value) == f"{path} has no 'shapes/vertices': {INCOMPLETE}"


GOOD: list[tuple[Change, ...]] = [
    (gone("scene/sources"),),
    (gone("points"),),
    (gone("forces"),),
    (gone("contacts"),),
    (gone("bindings"),),
    (gone("impulses"),),
    (gone("contacts/impulses"),),
    (gone("events", "impulses", "contacts/impulses"),),
    (at("contacts/impulses/event", 0, -1), at("contacts/impulses/pair", 0, 9)),
    (gone("epochs"),),
    (gone("run"),),
    (gone(*NEWER),),
    (gone("contacts/iterations", "contacts/determinate"),),
    (lambda f: f.attrs.__delitem__("program"),),
    (attr("program", np.bytes_(b"fixed")),),
    (attr("scene", np.bytes_("é".encode())),),
    (attr("version", np.int8(1)),),
    (put("unknown", np.zeros(3, "<f4")),),
    (put("epochs/0/more", 1.0),),
    (group("nothing"),),
    (put("complete", np.int64(0)),),
    (put("rows", np.int32(7)),),
    (at("complete", (), 0),),
    (at("complete", (), 1),),
    (at("rows", (), 0),),
    (at("rows", (), 6),),
    (unwritten("com", (7, 2, 3), h5py.h5d.COMPACT),),
    (at("shapes/body", 2, -1),),
    (at("shapes/body", 2, 1),),
    (at("points/body", 0, -1),),
    (at("points/body", 0, 1),),
    (at("forces/body", (1, 1), -1),),
    (at("forces/body", (1, 1), 1),),
    (at("joints/parent", 0, b"world"),),
    (at("joints/parent", 0, "ärm".encode()),),
    (columns(joint=b"ball"),),
    (columns(name=b"other", unit=b""),),
    (at("shapes/triangles", (0, 0), 0),),
    (at("shapes/triangles", (3, 2), 3),),
    (at("shapes/triangles", (9, 1), 4),),
    (at("shapes/vertex_shape", slice(0, 1), 0), at("shapes/triangles", slice(0, 4), 0)),
    (at("time", 2, 0.25),),
    (at("time", slice(0, 7), 0.0),),
    (at("rows", (), 3), at("time", slice(3, 7), np.nan)),
    (at("events/row_after", 2, -1),),
    (at("events/row_after", 2, 2**63 - 1),),
    (at("events/row_before", 1, -2),),
    (at("events/row_before", 1, 6),),
    (at("events/time", 0, np.nan), at("events/name", 0, b"\xff"), at("events/row_after", 0, -9)),
    (at("events/row_after", 1, 7), at("events/row_before", 1, 99)),
    (at("impulses/event", 0, -1), at("impulses/joint", 0, -1)),
    (at("impulses/event", 0, 2),),
    (at("impulses/joint", 0, 0),),
    (at("impulses/joint", 0, 2),),
    (at("bindings/row", 0, -1), at("bindings/joint", 0, 99)),
    (at("bindings/row", 2, 7), at("bindings/joint", 2, -1)),
    (at("bindings/joint", 0, 0),),
    (at("bindings/joint", 0, 2),),
    (at("contacts/pairs/shapes", (1, 0), -1),),
    (at("contacts/pairs/shapes", (1, 0), 3),),
    (at("contacts/row", 0, -1), at("contacts/pair", 0, 9), at("contacts/mode", 0, 9)),
    (at("contacts/row", 5, 7), at("contacts/pair", 5, -9), at("contacts/mode", 5, -9)),
    (at("contacts/row", 2, 1),),
    (at("contacts/row", 2, 4),),
    (at("contacts/mode", 0, 0),),
    (at("contacts/mode", 0, 2),),
    (at("rows", (), 6), at("epochs/1/rows", 1, 6)),
    (at("rows", (), 2), at("epochs/0/rows", 1, 2), at("epochs/1/rows", 1, 5)),
    (attr("began", 1.5, "run"),),
    (attr("wall_time", 3, "run"),),
    (attr("steps", True, "run"),),
    (attr("began", np.bytes_(b"x"), "run"),),
]


@pytest.mark.parametrize("changes", GOOD, ids=range(len(GOOD)))
def test_what_is_just_right_is_read(content, tmp_path, changes):
    with load_recording(changed(content, tmp_path, *changes)) as recording:
        assert [len(recording.array(name)) for name in ("time", "com")] == [recording.rows] * 2


def test_a_dataset_may_be_as_large_as_its_file_and_no_larger(content, tmp_path):
    """It is not there in either case: the first sentence that fits is told."""
    size = changed(content, tmp_path, unwritten("time", (7,))).stat().st_size // 8 * 8 + 8
    for more, told in (
        (0, f"holds 0 bytes; expected {size}, as its shape says"),
        (8, f"would take {size + 8} bytes from byte 0 on; expected no more than the file's {size}"),
    ):
        path = changed(content, tmp_path, unwritten("time", ((size + more) // 8,)))
        path.write_bytes(path.read_bytes().ljust(size, b"\0"))
        with pytest.raises(RecordingError) as caught:
            load_recording(path)
        assert str(caught.value) == f"{path}: 'time' {told}"


def _limits(low: int, high: int) -> list[tuple[object, bool]]:
    """Whole numbers just within and just beyond, and what are none."""
    return [(low, True), (high, True), (low - 1, False), (high + 1, False), (True, False), (None, True), ("1", False)]


POSITIVE = [(1e-300, True), (0.0, False), (-1.0, False), (0, False), (2, True), (True, False), (float("inf"), False)]
NUMBER = [(-2.5, True), (0, True), (False, False), (float("nan"), False), (float("-inf"), False), ("1", False)]
TEXT = [("", True), ("x", True), (1, False), (["x"], False)]
TRIGGER = "a list, each a key and a time"
METHODS = "one of dop853, radau, auto, rk4, semi_implicit, variational"
RULES: dict[tuple[str, str], tuple[list[tuple[object, bool]], str]] = {
    ("settings", "seed"): (
        [*_limits(0, 2**63), (1.0, False)],
        "a whole number from 0 to 9.22337e+18",
    ),
    ("settings", "rtol"): (
        [(1e-14, True), (0.1, True), (0.99e-14, False), (0.1001, False)],
        "a number from 1e-14 to 0.1",
    ),
    ("settings", "duration"): (
        [(0.0, True), (1e300, True), (-1e-300, False), (1.001e300, False), (0, True)],
        "a number from 0 to 1e+300",
    ),
    ("settings", "step"): (POSITIVE, "a number above 0"),
    ("settings", "record"): (POSITIVE, "a number above 0"),
    ("settings", "method"): (
        [(name, True) for name in ("dop853", "radau", "auto", "rk4", "semi_implicit", "variational")]
        + [("euler", False), (1, False), (["radau"], False)],
        METHODS,
    ),
    ("settings", "triggers"): (
        [
            ([], True),
            ([["a", 0.5], ["b", 1]], True),
            ([["a", 0.5, 1]], False),
            ([["a"]], False),
            ([[1, 0.5]], False),
            ([["a", "b"]], False),
            ([["a", 0.5], "b"], False),
            ([("a", 0.5)], False),
            ("ab", False),
            ({}, False),
            ([["a", True]], False),
        ],
        TRIGGER,
    ),
    ("settings", "parameters"): (
        [
            ({}, True),
            ({"a": 1.5, "b": None, "c": 2}, True),
            ({"a": "x"}, False),
            ({"a": 1, "b": []}, False),
            ([], False),
        ],
        "a map, each a number, or None",
    ),
    ("settings", "controllers"): (
        [({}, True), ({"a": "x"}, True), ({"a": 1}, False), (["a"], False)],
        "a map, each a text",
    ),
    ("render", "size"): (
        [
            ([16, 8192], True),
            ([15, 100], False),
            ([100, 8193], False),
            ([64], False),
            ([64, 64, 64], False),
            ([64, 64.0], False),
            ("ab", False),
        ],
        "a list of 2, each a whole number from 16 to 8192",
    ),
    ("render", "fps"): ([(1e-9, True), (1000, True), (0.9e-9, False), (1000.1, False)], "a number from 1e-09 to 1000"),
    ("render", "speed"): (POSITIVE, "a number above 0"),
    ("render", "trails"): ([([], True), (["a"], True), (["a", 1], False), ("a", False)], "a list, each a text"),
    ("render", "captions"): ([(True, True), (False, True), (1, False), ("yes", False)], "true or false"),
    ("render", "ground"): (
        [(True, True), (False, True), (-0.5, True), (0, True), ("x", False), (float("nan"), False)],
        "true, false or a number",
    ),
    ("render", "background"): (
        [("#123456", True), ([0.0, 1.0, 0.5], True), ([], True), ([0.1, 1.01], False), ([-0.01], False), (0.5, False)],
        "a colour",
    ),
    ("render", "camera"): ([({}, True), ([], False), ("x", False), (None, True)], "a map"),
}
CAMERA = {
    "follow": (TEXT, "a text"), "distance": (POSITIVE, "a number above 0"), "fov": (POSITIVE, "a number above 0"),
    "azimuth": (NUMBER, "a number"), "elevation": (NUMBER, "a number"),
    "target": ([([1, 2.5, -3], True), ([1, 2], False), ([1, 2, 3, 4], False), ([1, 2, "x"], False)],
               "a list of 3, each a number"),
}  # fmt: skip


@pytest.mark.parametrize(("of", "key"), RULES, ids="{0[0]}.{0[1]}".format)
def test_values_of_json_blocks_are_bounded(of, key):
    values, expected = RULES[of, key]
    for value, right in values:
        found = wrong({"other": object(), key: value}, {"settings": SETTINGS, "render": RENDER}[of])
        assert found == (None if right else (key, value, expected)), value


@pytest.mark.parametrize("key", CAMERA)
def test_values_of_a_map_within_are_named_with_it(key):
    values, expected = CAMERA[key]
    for value, right in values:
        found = wrong({"camera": {"other": 1, key: value}}, RENDER)
        assert found == (None if right else (f"camera.{key}", value, expected)), value


def test_every_rule_of_json_blocks_is_tried():
    assert {key for of, key in RULES if of == "settings"} == set(SETTINGS)
    assert {key for of, key in RULES if of == "render"} == set(RENDER) and set(CAMERA) == set(RENDER["camera"])
