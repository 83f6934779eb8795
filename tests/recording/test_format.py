"""The file as docs/recording.md lists it: every dataset by h5py alone, and every accessor against it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from sim.recording import (
    BindingEntry,
    BodyEntry,
    ColumnEntry,
    EventEntry,
    ForceEntry,
    JointEntry,
    Layout,
    Recorder,
    RecordingError,
    UnknownNameError,
    load_recording,
    row_fields,
    writer,
)
from sim.recording.format import fields_of, in_words, row_names
from tests.recording import whole


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    """A finished recording of everything."""
    return whole.write(tmp_path_factory.mktemp("whole") / "whole.h5")


def text(*words: str, width: int | None = None) -> np.ndarray:
    """Words as bytes of the width of the longest, or of another."""
    coded = [word.encode() for word in words]
    return np.array(coded, f"S{width or max(map(len, coded))}")


def table(**columns: np.ndarray) -> np.ndarray:
    made = np.zeros(len(next(iter(columns.values()))), [(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        made[name] = column
    return made


def static() -> dict[str, np.ndarray]:
    """What the file says once."""
    mesh = whole.SHAPES[1], whole.SHAPES[3]
    return {
        "scene/text": text(whole.LAYOUT.text)[0],
        "scene/file": text("whole.yaml")[0],
        "scene/settings": text(
            '{"duration": 2.5, "method": "radau", "rtol": 1e-09, "seed": 3, "triggers": [["go", 0.25]]}'
        )[0],
        "scene/render": text('{"camera": {"fov": 40.0}, "fps": 30}')[0],
        "scene/sources": table(file=text("a.yaml", "z/arm.yaml"), text=text("é", "schema: 1\n")),
        "bodies/name": text("drum", "ärm"),
        "bodies/mass": np.array([2.5, 3.5]),
        "bodies/com": np.array([[0.1, -0.2, 0.3], [0.4, 0.5, -0.6]]),
        "bodies/inertia": np.array([body.inertia for body in whole.BODIES]),
        "points/name": text("ärm.tip", "world.peg", "drum.rim"),
        "points/body": np.array([1, -1, 0]),
        "points/position": np.array([[0.7, -0.8, 0.9], [-1.1, 1.2, 1.3], [0.0, 0.25, 0.0]]),
        "shapes/body": np.array([-1, 0, 1, 1]),
        "shapes/kind": text("plane", "mesh", "capsule", "mesh"),
        "shapes/position": np.arange(1.0, 13.0).reshape(4, 3) / 10,
        "shapes/quat_wxyz": np.array([[0.5, 0.5, -0.5, 0.5], [0.6, 0.8, 0, 0], [0.8, 0, 0.6, 0], [0.8, 0, 0, -0.6]]),
        "shapes/size": np.array([[4.0, 5, 0], [1, 1.1, 1.2], [0.2, 0.2, 1.5], [1, 1, 2]]),
        "shapes/color": np.array(
            [[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8], [0.9, 0.1, 0.2, 1], [0.3, 0.4, 0.5, 0.6]]
        ),
        "shapes/vertex_shape": np.array([1] * 4 + [3] * 5),
        "shapes/triangle_shape": np.array([1] * 4 + [3] * 6),
        "shapes/vertices": np.array(mesh[0].vertices + mesh[1].vertices),
        "shapes/triangles": np.array(mesh[0].triangles + mesh[1].triangles),
        "joints/name": text("pin", "ball", "sleeve"),
        "joints/type": text("rotational", "spherical", "cylindrical"),
        "joints/parent": text("world", "drum", "ärm"),
        "joints/child": text("drum", "ärm", "world"),
        "joints/columns": table(
            name=text("pin", "ball[0]", "ball[1]", "ball[2]", "sleeve[0]", "sleeve[1]"),
            joint=text("pin", "ball", "ball", "ball", "sleeve", "sleeve"),
            unit=text("rad", "1", "1", "1", "m", "deg"),
            rate_unit=text("rad/s", "1/s", "1/s", "1/s", "m/s", "deg/s"),
            torque_unit=text("N m", "J0", "J1", "J2", "N", "kN m"),
        ),
        "forces/name": text("cord", "push"),
        "forces/type": text("spring", "wrench"),
        "forces/body": np.array([[0, 1], [1, -1]]),
        "forces/point": np.array([whole.FORCES[0].points, whole.FORCES[1].points]),
        "contacts/pairs/a": text("world.floor", "drum"),
        "contacts/pairs/b": text("drum", "ärm"),
        "contacts/pairs/shapes": np.array([[0, 1], [1, 3]]),
    }


def moving() -> dict[str, np.ndarray]:
    """What is written while the scene runs, cut to what there is."""
    events, bindings = whole.EVENTS, list(zip(*whole.BINDINGS, strict=True))
    out = dict(whole.rows())
    types = {"row": "<i8", "pair": "<i8", "key": "<i8", "mode": "i1", "iterations": "<i4", "determinate": "i1"}
    out |= {f"contacts/{name}": values.astype(types.get(name, "<f8")) for name, values in whole.TOUCHES.items()}
    out |= {f"events/{name}": np.array([event[name] for event in events]) for name in
            ("time", "energy_lost", "impulse", "row_before", "row_after")}  # fmt: skip
    width = len("it is loose")
    for name in ("name", "kind", "caption", "text"):
        out[f"events/{name}"] = text(*(event[name] for event in events), width=width)
    out |= {
        "impulses/event": np.array([0, 0, 1]), "impulses/joint": np.array([0, 2, 1]),
        "impulses/wrench": np.array([[1.0, 2, 3, 4, 5, 6], [0, 0, 0, 0, 0, 7], [8, 0, 0, 0, 0, 9]]),
        "contacts/impulses/event": np.array([0, 0, 1]), "contacts/impulses/pair": np.array([0, 1, 1]),
        "contacts/impulses/key": np.array([[1, 2], [3, 4], [5, 6]]),
        "contacts/impulses/point": 80.0 + np.arange(9.0).reshape(3, 3),
        "contacts/impulses/normal": 90.0 + np.arange(9.0).reshape(3, 3),
        "contacts/impulses/impulse": 70.0 + np.arange(9.0).reshape(3, 3),
        "bindings/joint": np.array(bindings[0]), "bindings/time": np.array(bindings[1]),
        "bindings/row": np.array(bindings[2]), "bindings/parent_position": np.array(bindings[3]),
        "bindings/parent_quat_wxyz": np.array(bindings[4]), "bindings/child_position": np.array(bindings[5]),
        "bindings/child_quat_wxyz": np.array(bindings[6]), "bindings/offset": np.array(bindings[7]),
        "epochs/0/rows": np.array([0, 3]), "epochs/0/q": whole.STATES[0][2], "epochs/0/v": whole.STATES[0][3],
        "epochs/1/rows": np.array([3, 7]), "epochs/1/q": whole.STATES[1][2], "epochs/1/v": whole.STATES[1][3],
        "rows": np.array(7), "complete": np.array(1, "i1"), "state/latest": np.array(-1),
    }  # fmt: skip
    return out


def found_in(path: Path) -> dict[str, h5py.Dataset | Any]:
    out: dict[str, Any] = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, item: out.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    return out


def test_a_finished_recording_holds_what_the_table_lists_and_nothing_else(path):
    expected = static() | moving()
    found = found_in(path)
    assert set(found) == set(expected)
    for name, values in expected.items():
        assert np.asarray(found[name]).dtype == values.dtype, name
        np.testing.assert_array_equal(found[name], values, err_msg=name, strict=True)


def test_values_stand_in_one_piece_and_attributes_say_what_the_file_is(path):
    with h5py.File(path) as file:
        assert dict(file.attrs) == {
            "format": "brachiate recording", "version": 1, "scene": "whole", "program": "brachiate 9.8",
        }  # fmt: skip
        assert dict(file["run"].attrs) == whole.RUN
        for k, (tree, loops, *_) in enumerate(whole.STATES):
            attributes = {name: [word.decode() for word in of] for name, of in file[f"epochs/{k}"].attrs.items()}
            assert attributes == {"tree": list(tree), "loops": list(loops)}
        names: list[str] = []
        file.visit(names.append)
        for name in names:
            item = file[name]
            if isinstance(item, h5py.Dataset):
                assert item.chunks is None and item.compression is None and item.id.get_storage_size() == item.nbytes
        for name in (*moving(), "rows", "complete"):  # written to their places while the scene runs
            assert file[name].id.get_offset() is not None, name
            assert file[name].id.get_create_plist().get_alloc_time() == h5py.h5d.ALLOC_TIME_EARLY


def test_what_is_in_no_text_or_number_goes_into_an_attribute_as_json(tmp_path):
    recorder = Recorder(tmp_path / "a.h5", whole.LAYOUT)
    recorder.finish(False, {"b": [1, "x"], "n": None, "r": np.float64(2.5), "i": 3, "t": "words", "f": 0.5})
    with h5py.File(tmp_path / "a.h5") as file:
        assert dict(file["run"].attrs) == {"b": '[1, "x"]', "n": "null", "r": 2.5, "i": 3, "t": "words", "f": 0.5}
        assert file["complete"][()] == 0 and file.attrs["program"] == "brachiate"


def test_a_recording_that_grows_has_room_filled_with_what_stands_for_absent(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "COPY_SHARE", float("inf"))  # the first epoch may be laid at once
    recorder = Recorder(tmp_path / "a.h5", whole.LAYOUT)
    whole.fill(recorder)
    recorder.flush()
    found, expected = found_in(tmp_path / "a.h5"), moving() | {"complete": np.array(0, "i1")}
    assert set(found) == set(static()) | set(expected)
    room = {"events": 2 * 3 + 64, "impulses": 2 * 3 + 64, "bindings": 2 * 3 + 64, "contacts": 4096}
    assert int(found["rows"]) == 7
    for name, values in expected.items():
        got = np.asarray(found[name])
        if name in ("rows", "complete", "state/latest") or (name.endswith("/rows") and name.startswith("epochs")):
            np.testing.assert_array_equal(got, values, err_msg=name)
            continue
        if name in whole.ROW_FIELDS:
            count = 256
        elif name.startswith("epochs/"):
            count = {"0": 3, "1": 253}[name[7]]
        elif name.startswith("contacts/impulses/"):
            count = 2 * 3 + 64
        else:
            count = room[name.partition("/")[0]]
        assert got.shape == (count, *values.shape[1:]), name
        np.testing.assert_array_equal(got[: len(values)], values, err_msg=name)
        rest = got[len(values) :]
        if name.startswith("events/") and values.dtype.kind == "S":
            assert got.dtype.itemsize == 120 and not np.any(rest != b""), name
        else:
            assert got.dtype == values.dtype, name
            empty = np.nan if values.dtype.kind == "f" else 0 if name == "contacts/mode" else -1
            np.testing.assert_array_equal(rest, np.full_like(rest, empty), err_msg=name)
    recorder.close()


def test_fields_of_rows_are_those_of_the_table():
    fields = row_fields(whole.LAYOUT)
    assert {name: (field.dtype, field.tail) for name, field in fields.items()} == {
        name: (np.dtype(dtype), tail) for name, (dtype, tail) in whole.ROW_FIELDS.items()
    }
    for name, field in fields.items():
        np.testing.assert_equal(field.fill, np.nan if field.dtype.kind == "f" else -1, err_msg=name)
    assert row_names() == tuple(fields)
    symbols = {name: field.tail for name, field in fields_of("b", "j", "c", "f").items()}
    assert symbols["com"] == ("b", 3) and symbols["joints/force"] == ("j", 6) and symbols["joints/rate"] == ("c",)
    assert symbols["forces/wrench"] == ("f", 6)


def test_what_is_not_said_has_these_defaults():
    bare = Layout(scene="s", text="t", file="f")
    assert (bare.sources, bare.settings, bare.render, bare.expected_rows) == ({}, {}, {}, 0)
    assert bare.bodies == bare.shapes == bare.joints == bare.columns == bare.forces == bare.pairs == bare.points == ()
    event = EventEntry(time=1.5, name="n", kind="scene")
    assert (event.caption, event.row_before, event.row_after, event.text) == ("", -1, -1, "")
    assert np.isnan([event.energy_lost, event.impulse]).all()
    here = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
    binding = BindingEntry(joint="j", time=0.0, row=0, parent_position=here[0], parent_quat_wxyz=here[1],
                           child_position=here[0], child_quat_wxyz=here[1])  # fmt: skip
    assert binding.offset == 0.0


# --- the reader ---------------------------------------------------------------------------------------


def same(found: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(found, expected, strict=True)
    assert not found.flags.writeable


def test_every_array_of_rows_is_read_by_name(path):
    with h5py.File(path) as file:
        held = {name: file[name][()] for name in whole.ROW_FIELDS}
    with load_recording(path) as r:
        assert r.rows == 7 and r.complete is True
        for name, values in held.items():
            same(r.array(name), values)
            assert r.array(name) is r.array(name)
        same(r.time, held["time"])
        by_body = {"position": r.position, "quat_wxyz": r.quat_wxyz, "velocity": r.velocity,
                   "angular_velocity": r.angular_velocity, "com": r.com}  # fmt: skip
        for name, view in by_body.items():
            assert list(view) == ["drum", "ärm"] and len(view) == 2
            same(view.array, held[name])
            same(view["drum"], held[name][:, 0])
            same(view["ärm"], held[name][:, 1])
        by_joint = {
            "joints/position": r.joint_position, "joints/force": r.force, "trust/determinate": r.trust.determinate,
            "trust/components": r.trust.components, "trust/own_components": r.trust.own_components,
        }  # fmt: skip
        for name, view in by_joint.items():
            assert list(view) == ["pin", "ball", "sleeve"]
            same(view.array, held[name])
            for k, joint in enumerate(view):
                same(view[joint], held[name][:, k])
        columns = {"coordinate": r.coordinate, "rate": r.rate, "torque": r.torque, "stop_torque": r.stop_torque,
                   "friction_torque": r.friction_torque}  # fmt: skip
        for name, view in columns.items():
            values = held[f"joints/{name}"]
            same(view.array, values)
            assert set(view) == {"pin", "ball", "sleeve", *(column.name for column in whole.COLUMNS)}
            for key, place in {"pin": 0, "ball": slice(1, 4), "ball[0]": 1, "ball[1]": 2, "ball[2]": 3,
                               "sleeve": slice(4, 6), "sleeve[0]": 4, "sleeve[1]": 5}.items():  # fmt: skip
                same(view[key], values[:, place])
        forces = {"length": r.length, "tension": r.tension, "wrench": r.wrench}
        for name, view in forces.items():
            assert list(view) == ["cord", "push"]
            same(view["cord"], held[f"forces/{name}"][:, 0])
            same(view["push"], held[f"forces/{name}"][:, 1])
        for name in ("kinetic", "potential", "dissipated", "impact", "input", "balance"):
            same(getattr(r.energy, name), held[f"energy/{name}"])
        for name in ("position_residual", "velocity_residual", "smallest_singular_value", "rank", "rows"):
            same(getattr(r.trust, name), held[f"trust/{name}"])
        assert dir(r.energy) == sorted(["kinetic", "potential", "dissipated", "impact", "input", "balance"])
        assert r.tells("trust/rows") and not r.tells("trust/row")
        with pytest.raises(UnknownNameError) as unknown:
            r.array("energy/kinetics")
        assert str(unknown.value) == (
            "no dataset of rows named 'energy/kinetics' in the recording; did you mean 'energy/kinetic'?"
        )


def test_everything_that_is_said_once_is_read_as_it_was_handed_over(path):
    with load_recording(path) as r:
        assert (r.scene, r.program, r.scene_text, r.scene_file) == (
            "whole", "brachiate 9.8", whole.LAYOUT.text, "whole.yaml",
        )  # fmt: skip
        assert r.sources == whole.LAYOUT.sources
        assert r.settings == whole.LAYOUT.settings and r.render == whole.LAYOUT.render
        assert r.bodies == whole.BODIES and r.points == whole.POINTS and r.shapes == whole.SHAPES
        assert r.joints == whole.JOINTS and r.columns == whole.COLUMNS and r.pairs == whole.PAIRS
        assert r.forces[0] == whole.FORCES[0] and r.forces[1].points[0] == whole.FORCES[1].points[0]
        assert (r.forces[1].name, r.forces[1].type, r.forces[1].bodies) == ("push", "wrench", (1, -1))
        assert np.isnan(r.forces[1].points[1]).all()
        assert r.run == whole.RUN
        assert r.events == [EventEntry(**event) for event in whole.EVENTS]
        names = ("joint", "time", "row", "parent_position", "parent_quat_wxyz", "child_position", "child_quat_wxyz",
                 "offset")  # fmt: skip
        bindings = [dict(zip(names, row, strict=True)) for row in whole.BINDINGS]
        assert r.bindings == tuple(
            BindingEntry(**row | {"joint": ("pin", "ball", "sleeve")[row["joint"]]}) for row in bindings
        )
        np.testing.assert_array_equal(r.impulse.array, np.stack([*whole.THROUGH[:2], np.zeros((3, 6))]), strict=True)
        np.testing.assert_array_equal(r.impulse["sleeve"], r.impulse.array[:, 2])
        assert repr(r) == f"<Recording of 'whole': 7 rows, {path}>"
        assert repr(r.com) == "<2 by body: drum, ärm>"
        assert repr(r.coordinate) == "<8 by joint: pin, ball[0], ball[1], ball[2], sleeve[0], sleeve[1] ...>"


def test_epochs_have_their_rows_states_names_and_bindings(path):
    with load_recording(path) as r:
        one, two = r.epochs
        for epoch, (tree, loops, q, v), rows in ((one, whole.STATES[0], (0, 3)), (two, whole.STATES[1], (3, 7))):
            assert (epoch.tree, epoch.loops, (epoch.first, epoch.last)) == (tree, loops, rows)
            same(epoch.q, q)
            same(epoch.v, v)
        # The first binding of the ball holds until row 4, and so in row 3 of the second epoch, too.
        assert one.bindings == r.bindings[:2] and two.bindings == r.bindings


@pytest.mark.parametrize("row", range(-7, 7))
def test_a_joint_has_the_last_binding_up_to_a_row(path, row):
    with load_recording(path) as r:
        assert r.binding("pin", row) == r.bindings[0]
        assert r.binding("ball", row) == r.bindings[2 if row % 7 >= 4 else 1]
        assert r.binding("sleeve", row) is None


@pytest.mark.parametrize("row", [-8, 7])
def test_rows_that_are_not_there_are_refused(path, row):
    with load_recording(path) as r:
        for ask in (r.contacts, lambda row: r.binding("pin", row)):
            with pytest.raises(RecordingError) as caught:
                ask(row)
            assert str(caught.value) == f"row {row} is not in the recording, which has 7"


def absent(file: h5py.File, first: int, last: int, joint: int) -> None:
    """A joint does not stand in some rows."""
    file["joints/force"][first:last, joint] = np.nan


def test_bindings_hold_where_their_joint_stands(path, tmp_path):
    """Joint 1, bound in rows 0 and 4, is away in different rows."""
    for rows, held, in_epochs in (
        ((4, 7), {3: 1, 4: None}, [[0, 1], [0, 1]]),
        ((3, 4), {2: 1, 3: None, 4: 2}, [[0, 1], [0, 2]]),
        ((0, 3), {0: None, 3: 1, 6: 2}, [[0], [0, 1, 2]]),
        ((4, 6), {5: None, 6: 2}, [[0, 1], [0, 1, 2]]),
        ((0, 7), {0: None, 6: None}, [[0], [0]]),
    ):
        (tmp_path / "a.h5").write_bytes(path.read_bytes())
        with h5py.File(tmp_path / "a.h5", "r+") as file:
            absent(file, *rows, 1)
        with load_recording(tmp_path / "a.h5") as r:
            for row, which in held.items():
                assert r.binding("ball", row) == (None if which is None else r.bindings[which])
            assert [[r.bindings.index(one) for one in epoch.bindings] for epoch in r.epochs] == in_epochs


def cut(path: Path, tmp_path: Path, rows: int, complete: int = 0) -> Path:
    """Return a copy that says that so many rows are complete."""
    (tmp_path / "cut.h5").write_bytes(path.read_bytes())
    with h5py.File(tmp_path / "cut.h5", "r+") as file:
        file["rows"][()], file["complete"][()] = rows, complete
    return tmp_path / "cut.h5"


@pytest.mark.parametrize(
    ("rows", "events", "bindings", "touches", "epochs"),
    [
        (0, [], 0, 0, []), (1, [], 2, 0, [(0, 1)]), (2, [], 2, 2, [(0, 2)]), (3, [0], 2, 3, [(0, 3)]),
        (4, [0], 2, 3, [(0, 3), (3, 4)]), (5, [0, 1], 3, 6, [(0, 3), (3, 5)]), (6, [0, 1, 2], 3, 6, [(0, 3), (3, 6)]),
    ],
)  # fmt: skip
def test_what_belongs_to_rows_that_are_not_complete_is_left_out(
    path, tmp_path, rows, events, bindings, touches, epochs
):
    """Events are at rows 2 and 4 and, without a row, at 1 s, the time of row 5."""
    with load_recording(cut(path, tmp_path, rows)) as r:
        assert r.rows == rows and r.complete is False and len(r.time) == rows
        assert [event.name for event in r.events] == [whole.EVENTS[k]["name"] for k in events]
        assert len(r.bindings) == bindings and len(r.touches["row"]) == touches
        assert [(epoch.first, epoch.last) for epoch in r.epochs] == epochs
        assert [(len(epoch.q), len(epoch.v)) for epoch in r.epochs] == [(last - first,) * 2 for first, last in epochs]


def test_a_complete_recording_has_events_beyond_its_last_instant(path, tmp_path):
    for complete, names in ((0, ["hit", "löse"]), (1, ["hit", "löse", "says"])):
        with load_recording(cut(path, tmp_path, 5, complete)) as r:
            assert [event.name for event in r.events] == names


def test_an_event_without_an_instant_is_not_there_yet(path, tmp_path):
    with h5py.File(cut(path, tmp_path, 7), "r+") as file:
        file["events/time"][1] = np.nan
    with load_recording(tmp_path / "cut.h5") as r:
        assert [event.name for event in r.events] == ["hit", "says"]


def test_the_summary_is_the_run_in_a_few_numbers(path):
    with load_recording(path) as r:
        summary = r.summary
    trust = summary.pop("trust")
    assert summary == {
        "scene": "whole", "complete": True, "rows": 7, "simulated_time": 1.25, "steps": 12, "evaluations": 150,
        "methods": ["dop853 until 1 s", "radau"], "wall_time": 0.25, "real_time_factor": 5.0, "taken_by_contacts": 1.5,
        "lost_by_steps": 1.5 - 18006.0, "largest_residual": 22006.0, "energy_balance": 18006.0,
        "peak_kinetic_energy": 13006.0,
        "events": [{key: event[key] for key in ("time", "name", "kind", "caption", "text")} for event in whole.EVENTS],
        "told": [{"time": 0.75, "name": "löse", "text": "it is loose"}],
    }  # fmt: skip
    assert trust["velocity_residual"] == 23006.0
    assert (trust["smallest_singular_value"], trust["smallest_singular_value_at"]) == (24000.0, 0.0)
    assert trust["rank"] == [25, 27]
    assert (trust["determinate"], trust["chosen"]) == (0, ["pin", "ball", "sleeve"])


def test_the_summary_of_a_run_that_said_nothing_has_none_of_it(tmp_path):
    with Recorder(tmp_path / "a.h5", whole.LAYOUT):
        pass
    with load_recording(tmp_path / "a.h5") as r:
        assert r.summary == {
            "scene": "whole", "complete": False, "rows": 0, "simulated_time": 0.0, "steps": None, "evaluations": None,
            "methods": [], "wall_time": None, "real_time_factor": None, "taken_by_contacts": None,
            "lost_by_steps": None, "largest_residual": None, "energy_balance": None, "peak_kinetic_energy": None,
            "events": [], "told": [],
            "trust": {
                "velocity_residual": None, "smallest_singular_value": None, "smallest_singular_value_at": None,
                "rank": None, "ranks": [], "determinate": 0, "chosen": [], "sure_of_chosen": {},
            },
        }  # fmt: skip


def test_largest_numbers_are_by_size_and_leave_out_what_is_absent(path, tmp_path):
    with h5py.File(cut(path, tmp_path, 7, 1), "r+") as file:
        file["energy/balance"][:] = [np.nan, 0.5, -2.5, 1.0, np.nan, np.inf, 0.0]
        file["energy/kinetic"][:] = np.nan
        file["trust/velocity_residual"][:] = [np.nan, 3.0, 4.0, np.nan, 2.0, 1.0, np.nan]
        file["trust/smallest_singular_value"][:] = [np.nan, 3.0, 0.5, 0.25, 2.0, np.nan, np.nan]
        file["trust/rank"][:] = [9, 4, 6, 5, 5, 1, -1]
        file["trust/determinate"][:] = [[-1, 1, 1]] * 3 + [[-1, 1, 0]] + [[-1, -1, 1]] * 3
        file["run"].attrs["wall_time"] = 0.0
        file["run"].attrs["taken_by_contacts"] = 4
    with load_recording(tmp_path / "cut.h5") as r:
        summary, trust = r.summary, r.summary["trust"]
    assert summary["energy_balance"] == 2.5 and summary["peak_kinetic_energy"] is None
    assert summary["real_time_factor"] is None and summary["wall_time"] == 0.0 and summary["lost_by_steps"] == 4.0
    assert trust["velocity_residual"] == 4.0 and trust["rank"] == [4, 6]
    assert (trust["smallest_singular_value"], trust["smallest_singular_value_at"]) == (0.25, 0.5)
    assert (trust["determinate"], trust["chosen"]) == (1, ["sleeve"])


def test_places_that_a_recording_lacks_are_absent_or_empty(path, tmp_path):
    with h5py.File(cut(path, tmp_path, 7, 1), "r+") as file:
        for name in ("points", "forces", "bindings", "contacts", "epochs", "shapes/vertices", "shapes/vertex_shape",
                     "shapes/triangles", "shapes/triangle_shape", "trust/rows", "trust/components",
                     "trust/own_components"):  # fmt: skip
            del file[name]
        file["shapes/kind"][[1, 3]] = b"box"
        del file.attrs["program"]
    with load_recording(tmp_path / "cut.h5") as r:
        assert r.points == r.forces == r.bindings == r.pairs == () and r.epochs == [] and r.program == ""
        assert {name: (values.shape, values.dtype) for name, values in r.touches.items()} == {
            "row": ((0,), "<i8"), "pair": ((0,), "<i8"), "key": ((0, 2), "<i8"), "mode": ((0,), "i1"),
            "iterations": ((0,), "<i4"), "determinate": ((0,), "i1"), "point": ((0, 3), "<f8"),
            "normal": ((0, 3), "<f8"), "force": ((0, 3), "<f8"), "moment": ((0, 3), "<f8"),
        }  # fmt: skip
        assert all(shape.vertices == shape.triangles == () for shape in r.shapes)
        assert r.binding("pin", 0) is None
        assert r.trust.rows.tolist() == [-1] * 7
        # Whole forces were told: of chosen ones no component is known.
        determinate = whole.rows()["trust/determinate"]
        for view in (r.trust.components, r.trust.own_components):
            assert view.array.shape == (7, 3, 6)
            for k in range(6):
                np.testing.assert_array_equal(view.array[:, :, k], np.where(determinate == 1, 1, -1))
        with pytest.raises(RecordingError) as caught:
            r.length["cord"]
        assert str(caught.value) == "no force named 'cord' in the recording; there are none"


@pytest.mark.parametrize(
    ("world", "own", "words"),
    [
        ([[1, 1, 1, 1, 1, 1]], [[0] * 6], "force x, y, z and moment x, y, z"),
        ([[0, 0, 1, 1, 0, 0]], [[1, 0, 0, 0, 0, 0]], "force x and moment z"),
        ([[0, 0, 1, 0, 0, 0]], [[0, 1, 0, 0, 0, 1]], "force z and moment y in its own axes"),
        ([[0, 1, 0, 0, 0, 0]], [[1, 0, 0, 0, 0, 0]], "moment y"),  # as many: in world axes
        ([[0, 0, 0, 0, 1, 0]], [[-1] * 6], "force y"),
        ([[0] * 6], [[0] * 6], "none"),
        ([[-1] * 6], [[-1] * 6], ""),
        ([[-1] * 6], [[0, 0, 0, 0, 1, 1]], "force y, z in its own axes"),
        # In all rows that have it.
        ([[1, 1, 0, 0, 1, 0], [-1] * 6, [1, 0, 0, 0, 1, 1]], [[0] * 6] * 3, "force y and moment x"),
    ],
)
def test_it_is_said_which_components_are_sure(path, tmp_path, world, own, words):
    with h5py.File(cut(path, tmp_path, len(world)), "r+") as file:
        file["trust/components"][: len(world), 1] = world
        file["trust/own_components"][: len(world), 1] = own
    with load_recording(tmp_path / "cut.h5") as r:
        assert r.trust.sure("ball") == words


def test_components_are_words():
    assert in_words(np.array([1, 0, 1, 0, 1, 0])) == "force y and moment x, z"
    assert in_words(np.zeros(6)) == ""


def test_points_of_contact_of_a_row_are_those_of_the_file(path):
    there = {0: [], 1: [0, 1], 2: [2], 3: [], 4: [3, 4, 5], 5: [], -3: [3, 4, 5], -6: [0, 1], -7: []}
    pairs = [("world.floor", "drum", (0, 1)), ("drum", "ärm", (1, 3))]
    told = whole.TOUCHES
    with load_recording(path) as r:
        for row, which in there.items():
            found = r.contacts(row)
            of = [pairs[told["pair"][k]] for k in which]
            assert found.a == tuple(a for a, _, _ in of) and found.b == tuple(b for _, b, _ in of)
            assert found.shapes.tolist() == [list(shapes) for *_, shapes in of] and found.shapes.shape == (len(of), 2)
            assert found.mode == tuple({1: "stick", 2: "slip"}[told["mode"][k]] for k in which)
            for name in ("key", "iterations", "determinate", "point", "normal", "force", "moment"):
                np.testing.assert_array_equal(getattr(found, name), told[name][which], err_msg=name)
        for name, values in told.items():
            np.testing.assert_array_equal(r.touches[name], values)
            assert not r.touches[name].flags.writeable


def test_contact_forces_are_sums_by_name_with_the_sign_of_the_one_that_is_named(path):
    force, row, pair = (whole.TOUCHES[name] for name in ("force", "row", "pair"))

    def total(signs: dict[int, float]) -> np.ndarray:
        out = np.zeros((7, 3))
        for k in range(6):
            out[row[k]] += signs.get(int(pair[k]), 0.0) * force[k]
        return out

    with load_recording(path) as r:
        for names, signs in {
            ("drum",): {0: 1.0, 1: -1.0},
            ("ärm",): {1: 1.0},
            ("world",): {0: -1.0},
            ("world.floor",): {0: -1.0},
            ("drum", "ärm"): {1: -1.0},
            ("ärm", "drum"): {1: 1.0},
            ("drum", "world"): {0: 1.0},
            ("drum", "world.fl*"): {0: 1.0},
            ("ärm", "world"): {},
            ("*",): {0: 1.0, 1: 1.0},
            ("d?um",): {0: 1.0, 1: -1.0},
        }.items():
            np.testing.assert_array_equal(r.contact_force(*names), total(signs), err_msg=str(names))
        for names, wrong in ((("drm",), "drm"), (("drum", "xyz"), "xyz")):
            with pytest.raises(UnknownNameError) as caught:
                r.contact_force(*names)
            assert str(caught.value).startswith(f"no touching body named '{wrong}' in the recording; ")


def test_places_are_turned_and_moved_with_their_bodies(path, tmp_path):
    """Against rotation matrices from the quaternions, by hand."""
    rng = np.random.default_rng(5)
    quats = rng.normal(size=(7, 2, 4))
    quats /= np.linalg.norm(quats, axis=2)[:, :, None]
    with h5py.File(cut(path, tmp_path, 7, 1), "r+") as file:
        file["quat_wxyz"][:] = quats
        for name in ("position", "velocity", "angular_velocity"):
            file[name][:] = rng.normal(size=(7, 2, 3))
    w, x, y, z = np.moveaxis(quats, 2, 0)
    R = np.moveaxis(np.array([
        [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]), (0, 1), (2, 3))  # fmt: skip
    arms = {
        "drum": (0, (0, 0, 0)),
        "ärm": (1, (0, 0, 0)),
        "drum.com": (0, (0.1, -0.2, 0.3)),
        "ärm.com": (1, (0.4, 0.5, -0.6)),
        "ärm.tip": (1, (0.7, -0.8, 0.9)),
        "drum.rim": (0, (0, 0.25, 0)),
    }
    with load_recording(tmp_path / "cut.h5") as r:
        place, rate = {}, {}
        for name, (body, p_B) in arms.items():
            arm = np.einsum("nij,j->ni", R[:, body], np.array(p_B, float))
            place[name] = r.position.array[:, body] + arm
            rate[name] = r.velocity.array[:, body] + np.cross(r.angular_velocity.array[:, body], arm)
        place["world.peg"], rate["world.peg"] = np.tile([-1.1, 1.2, 1.3], (7, 1)), np.zeros((7, 3))
        for name in place:
            assert name in r.position and name in r.velocity
            np.testing.assert_allclose(r.position[name], place[name], rtol=0, atol=1e-14, strict=True)
            np.testing.assert_allclose(r.velocity[name], rate[name], rtol=0, atol=1e-14, strict=True)
            for k, body in enumerate(("drum", "ärm")):
                local = np.einsum("nji,nj->ni", R[:, k], place[name] - r.position.array[:, k])
                np.testing.assert_allclose(r.local(name, body), local, rtol=0, atol=1e-14, strict=True)
            for other in place:
                np.testing.assert_allclose(
                    r.distance(name, other), np.linalg.norm(place[name] - place[other], axis=1), rtol=0, atol=1e-14,
                )  # fmt: skip


def test_a_name_that_is_not_there_offers_the_nearest_or_the_first_twelve():
    few, many = ["b", "a"], [f"n{k:02d}" for k in range(13)]
    assert str(UnknownNameError("joint", "zzz", few)) == "no joint named 'zzz' in the recording; there are a, b"
    assert str(UnknownNameError("joint", "zzz", many)) == (
        f"no joint named 'zzz' in the recording; there are {', '.join(many[:12])} ..."
    )
    assert str(UnknownNameError("joint", "zzz", many[:12])).endswith("n11")
    assert str(UnknownNameError("joint", "n012", many)).endswith("; did you mean 'n12'?")
    # Half of the letters are enough, fewer are not.
    assert str(UnknownNameError("joint", "ab", ["ax"])).endswith("; did you mean 'ax'?")
    assert str(UnknownNameError("joint", "abc", ["axy"])).endswith("; there are axy")
    assert RecordingError.rows_kept == 0


def test_json_is_sorted_and_a_scene_without_anything_is_recorded(tmp_path):
    bare = Layout(scene="s", text="", file="f", settings={"seed": 1, "duration": 2.0})
    with Recorder(tmp_path / "a.h5", bare) as recorder:
        recorder.append({"time": np.zeros(2)})
    with h5py.File(tmp_path / "a.h5") as file:
        assert file["scene/settings"][()] == b'{"duration": 2.0, "seed": 1}'
        assert json.loads(file["scene/render"][()]) == {}
        assert "contacts" not in file and "shapes/vertices" not in file
        for name, tail in {
            "bodies/com": (3,), "bodies/inertia": (6,), "points/position": (3,), "shapes/position": (3,),
            "shapes/quat_wxyz": (4,), "shapes/size": (3,), "shapes/color": (4,), "forces/body": (2,),
            "forces/point": (2, 3), "scene/sources": (), "joints/columns": (), "bodies/name": (), "points/body": (),
        }.items():  # fmt: skip
            assert file[name].shape == (0, *tail), name
        assert file["bodies/name"].dtype == "S1" and file["points/body"].dtype == "<i8"
    with load_recording(tmp_path / "a.h5") as r:
        assert r.rows == 2 and r.bodies == r.joints == r.columns == r.shapes == () and r.sources == {}
        assert r.position.array.shape == (2, 0, 3) and repr(r.com) == "<0 by body: >"
        assert r.summary["trust"]["determinate"] == 0


def test_entries_say_what_they_need():
    for kind, fields in {
        BodyEntry: "name mass com inertia", JointEntry: "name type parent child",
        ColumnEntry: "name joint unit rate_unit torque_unit", ForceEntry: "name type bodies points",
    }.items():  # fmt: skip
        assert list(kind.__dataclass_fields__) == fields.split()
