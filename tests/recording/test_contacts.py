"""Closed points of contact in recordings: against statics, and through the file whatever its blocks and flushes."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

import sim
from sim.recording import Contacts, PairEntry, Recorder, RecordingError, UnknownNameError, load_recording
from sim.scene.load import load_text
from sim.simulation import contact_modes
from tests.recording import example

WEIGHT = 3.0 * 9.81
TABLE = """
schema: 1
name: table
world: {shapes: [{name: ground, plane: {}}]}
bodies:
  table:
    mass: 3 kg
    com: [0.07, -0.04, 0.5]
    inertia: [0.2, 0.2, 0.2]
    shapes:
      - box: {size: [0.8, 0.6, 0.1], center: [0, 0, 0.65]}
      - sphere: {center: [0.3, 0.2, 0.1], radius: 0.1}
      - sphere: {center: [-0.3, 0.2, 0.1], radius: 0.1}
      - sphere: {center: [0, -0.2, 0.1], radius: 0.1}
contacts: {feet: {between: [table, world.ground], friction: 0.5}}
simulate: {duration: 0.5 s}
"""
SLIDE = """
schema: 1
name: slide
world: {shapes: [{name: slope, plane: {normal: [-0.5, 0, 0.8660254037844386]}}]}
bodies:
  puck:
    mass: 3 kg
    shapes:
      - box: {size: [0.4, 0.4, 0.2], center: [-0.05, 0, 0.08660254037844387], orientation: {rpy: [0, -30 deg, 0]}}
contacts: {rub: {between: [puck, world.slope], friction: 0.2}}
simulate: {duration: 0.5 s}
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "table.h5"
    sim.run(load_text(TABLE), output=path).close()
    return path


def test_forces_on_a_table_at_rest_sum_to_its_weight_below_its_centre_of_mass(table):
    with load_recording(table) as r:
        assert len(r.contacts(0)) == 0  # before it was decided what touches
        np.testing.assert_allclose(r.contact_force("table", "world.ground")[1:], [[0, 0, WEIGHT]] * (r.rows - 1),
                                   rtol=0, atol=1e-12)  # fmt: skip
        for row in range(1, r.rows):
            found = r.contacts(row)
            assert found.b == ("table",) * 3 and found.a == ("world.ground",) * 3 and set(found.mode) == {"stick"}
            np.testing.assert_allclose(found.total, [0, 0, WEIGHT], rtol=0, atol=1e-12)
            np.testing.assert_allclose(found.centre_of_pressure, [0.07, -0.04, 0], rtol=0, atol=1e-12)
            order = np.argsort(found.point[:, 0])
            np.testing.assert_allclose(
                found.point[order], [[-0.3, 0.2, 0], [0, -0.2, 0], [0.3, 0.2, 0]], rtol=0, atol=1e-12
            )
            # Three feet: moments about the other two give each one's share of the weight.
            share = np.linalg.solve([[-0.3, 0, 0.3], [0.2, -0.2, 0.2], [1, 1, 1]], [0.07, -0.04, 1.0])
            np.testing.assert_allclose(found.pressing[order], WEIGHT * share, rtol=1e-12)


def test_names_say_whose_force_it_is(table):
    with load_recording(table) as r:
        whole, up = r.contacts(-1), r.contact_force("table")
        ground = whole.on("world.ground")
        assert set(ground.a) == {"table"} and set(ground.b) == {"world.ground"} and len(ground) == 3
        np.testing.assert_array_equal(ground.total, -whole.total)
        np.testing.assert_array_equal(ground.normal, -whole.normal)
        np.testing.assert_array_equal(ground.key, whole.key[:, ::-1])
        np.testing.assert_array_equal(ground.pressing, whole.pressing)
        np.testing.assert_array_equal(r.contact_force("world"), -up)
        assert len(whole.on("table", "world")) == 3 and len(whole.on("table", "table")) == 0
        with pytest.raises(UnknownNameError, match=r"no touching body named 'tabel'.*did you mean 'table'"):
            r.contact_force("tabel")
        with pytest.raises(RecordingError, match=f"row {r.rows} is not in the recording"):
            r.contacts(r.rows)


def test_shapes_of_a_pair_are_those_of_the_recording(table):
    with load_recording(table) as r:
        for a, b in r.contacts(-1).shapes:
            assert r.shapes[a].kind == "plane" and r.shapes[b].kind == "sphere"
            assert r.shapes[b].body == 0 and r.shapes[a].body == -1


def test_a_block_that_slides_is_rubbed_by_its_normal_force():
    """m g cos 30 deg and a fifth of it against the motion, at every sample."""
    slope, normal = np.array([np.cos(np.pi / 6), 0, 0.5]), np.array([-0.5, 0, np.cos(np.pi / 6)])
    with sim.run(load_text(SLIDE)) as r:
        force, press = r.contact_force("puck", "world"), WEIGHT * np.cos(np.pi / 6)
        np.testing.assert_allclose(
            force[1:], [press * normal + 0.2 * press * slope] * (r.rows - 1), rtol=1e-9, atol=1e-9
        )
        found = r.contacts(-1)
        assert set(found.mode) == {"slip"} and len(found) == 4
        np.testing.assert_allclose(np.linalg.norm(found.friction, axis=1), 0.2 * found.pressing, rtol=1e-12)


def test_equal_runs_give_equal_datasets(table, tmp_path):
    sim.run(load_text(TABLE), output=tmp_path / "again.h5").close()
    with h5py.File(table) as one, h5py.File(tmp_path / "again.h5") as other:
        for name in one["contacts"]:
            if name not in ("pairs", "impulses"):
                assert one["contacts"][name][()].tobytes() == other["contacts"][name][()].tobytes(), name
        assert len(one["contacts/row"]) == 3 * (int(one["rows"][()]) - 1)


def test_points_tell_the_iterations_of_the_decision_that_found_them(monkeypatch):
    """A table on three feet that is pushed harder and harder, until it slides."""
    made = []

    def counted(solver):
        def solve(*problem):
            answer = solver(*problem)
            made.append(answer.iterations)
            return answer

        return solve

    for name in ("solve_contacts", "polish"):
        monkeypatch.setattr(contact_modes, name, counted(getattr(contact_modes, name)))
    push = "forces: {push: {type: wrench, body: table, force: ['60 N*t/1 s', 0, 0]}}\nsimulate:"
    with sim.run(load_text(TABLE.replace("simulate:", push))) as r:
        told = [set(r.contacts(row).iterations.tolist()) for row in range(1, r.rows)]
    assert all(len(numbers) == 1 for numbers in told)
    in_order = [numbers.pop() for numbers in told]
    assert len(set(in_order)) > 1 and min(in_order) >= 1
    later = iter(made)  # some decisions solve again, or polish in vain first
    assert all(number in later for number in runs_of(in_order))


def test_time_steps_make_no_decision():
    with sim.run(load_text(TABLE.replace("0.5 s", "0.1 s, contact: stepping"))) as r:
        assert len(r.contacts(-1)) == 3 and not r.contacts(-1).iterations.any()


def runs_of(numbers):
    """Leave out what repeats the one before."""
    return [n for k, n in enumerate(numbers) if k == 0 or n != numbers[k - 1]]


# --- the file -------------------------------------------------------------------------------------


def entries(row, count):
    """So many points in each of the next rows; every value tells its row and place."""
    rows = np.repeat(np.arange(len(count)), count)
    numbers = (row + rows)[:, None] + 0.01 * np.arange(3) + 0.001 * np.arange(len(rows))[:, None]
    return {
        "row": rows, "pair": (row + rows) % 2, "key": np.stack([row + rows, -rows], axis=1),
        "mode": 1 + rows % 2, "iterations": row + rows, "determinate": rows % 2, "point": numbers, "normal": -numbers,
        "force": 2 * numbers, "moment": 3 * numbers,
    }  # fmt: skip


def write(path, blocks, flush=()):
    """Write blocks of rows with 0, 1, 2 ... 6, 0, ... points in them; returns what was told."""
    pairs = (PairEntry(a="world.g", b="link0", shapes=(0, 0)), PairEntry(a="link0", b="link1", shapes=(0, 0)))
    layout, told = example.layout(3, pairs=pairs), []
    with Recorder(path, layout) as recorder:
        for k, block in enumerate(blocks):
            values = entries(recorder.count, (recorder.count + np.arange(block)) % 7)
            told.append({**values, "row": values["row"] + recorder.count})
            recorder.contacts(values)
            recorder.append(example.rows(layout, recorder.count, block))
            if k in flush:
                recorder.flush()
        recorder.finish(True)
    return {name: np.concatenate([block[name] for block in told]) for name in told[0]}


def test_points_come_back_whatever_the_blocks_and_flushes(tmp_path):
    """More than the first file has room for."""
    blocks = [1, 1, 300, 40, 700, 3, 900]
    told = write(tmp_path / "a.h5", blocks, flush=(0, 2, 3, 5))
    assert len(told["row"]) > 5000
    with load_recording(tmp_path / "a.h5") as r:
        for name, values in told.items():
            np.testing.assert_array_equal(r.touches[name], values, err_msg=name)
        for row in (0, 6, 300, 1944):
            found, there = r.contacts(row), told["row"] == row
            assert len(found) == row % 7
            np.testing.assert_array_equal(found.point, told["point"][there])
            assert set(found.b) <= {f"link{row % 2}"}
    write(tmp_path / "b.h5", blocks)
    with h5py.File(tmp_path / "a.h5") as one, h5py.File(tmp_path / "b.h5") as other:
        assert one["contacts/row"].shape == (len(told["row"]),)
        assert all(one["contacts"][n][()].tobytes() == other["contacts"][n][()].tobytes() for n in told)


def test_points_of_rows_that_were_not_completed_are_not_read(tmp_path):
    write(tmp_path / "a.h5", [20])
    with h5py.File(tmp_path / "a.h5", "r+") as file:
        file["rows"][()], file["complete"][()] = 9, 0
    with load_recording(tmp_path / "a.h5") as r:
        assert r.touches["row"].max() == 8
        assert len(r.contacts(-1)) == 1


def test_recordings_without_contacts_have_no_datasets_of_them(tmp_path):
    with Recorder(tmp_path / "a.h5", example.layout(3)) as recorder:
        recorder.append(example.rows(example.layout(3), 0, 5))
    with h5py.File(tmp_path / "a.h5") as file:
        assert "contacts" not in file
    with load_recording(tmp_path / "a.h5") as r:
        assert r.pairs == () and len(r.contacts(2)) == 0 and isinstance(r.contacts(2), Contacts)
        assert r.contacts(2).centre_of_pressure.shape == r.contacts(2).zero_moment_point.shape == (3,)
        assert np.isnan(r.contacts(2).centre_of_pressure).all()
        assert np.isnan(r.contacts(2).zero_moment_point).all()
        assert not r.contact_force("world").any()


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        (TABLE.replace("friction: 0.5", "friction: 0"), {1}),  # three feet without friction
        (TABLE, {0}),  # these may also pull at each other along the ground
        (SLIDE, {0}),  # corners of a face that slides
        (TABLE.replace("duration: 0.5 s", "duration: 0.1 s, contact: stepping, dt: 2 ms"), {-1}),
    ],
)
def test_points_tell_whether_their_forces_are_the_only_possible_ones(text, marks, tmp_path):
    with sim.run(load_text(text), output=tmp_path / "r.h5") as recording:
        found = recording.contacts(-1)
        assert len(found) >= 3
        assert set(found.determinate.tolist()) == marks
