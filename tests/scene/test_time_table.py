"""Tables of numbers over time: what is read, and what is told of every cell that cannot be."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from sim.scene.time_table import TableError, as_csv, read_table, table_of, text_of
from sim.scene.units import UnitError, parse_unit

pytestmark = pytest.mark.fast

GOOD = "# from the laboratory\ntime [ms], hip [deg], torque('hip') [N m], slide\n0, 90, 1.5, 2\n100, 180, 2.5, 3\n"


def test_a_table_is_read_in_si_by_what_its_columns_mean() -> None:
    table = table_of(GOOD, "m.csv")
    assert np.allclose(table.time, [0.0, 0.1])
    assert list(table.columns) == ["hip", "torque('hip')", "slide"]
    assert np.allclose(table.columns["hip"].values, [np.pi / 2, np.pi])
    assert np.allclose(table.in_unit("torque('hip')", "N m"), [1.5, 2.5])
    assert np.allclose(table.in_unit("slide", "m"), [2.0, 3.0])  # without a unit: whatever it has to be
    assert table.at(1, "hip") == "m.csv: row 2 (line 4), column 'hip [deg]'"


@pytest.mark.parametrize(("head", "key"), [
    ("hip", "hip"), ("hip[1] [rad]", "hip[1]"), ("coordinate('hip') [rad]", "hip"),
    ('coordinate("a.hip")[2] [deg]', "a.hip[2]"), ("hip []", "hip"), ("torque('hip')[0] [N m]", "torque('hip[0]')"),
    ("position('hand.tip')[2] [mm]", "position('hand.tip[2]')"),
])  # fmt: skip
def test_heads_are_names_or_signals_with_a_unit(head: str, key: str) -> None:
    assert list(table_of(f"t;{head}\n0;1\n1;2\n", "m.csv").columns) == [key]


@pytest.mark.parametrize(("text", "said"), [
    ("", "empty; expected a head"),
    ("0,1\n1,2\n", "line 1: found numbers; expected a head"),
    ("time,hip\n0,1\n0,2\n", r"row 2 \(line 3\), column 'time': found 0 s after 0 s; expected times that grow"),
    ("time,hip\n1,1\n0.5,2\n", r"row 2 .*found 0.5 s after 1 s"),
    ("time,hip\n0,\n1,2\n", r"row 1 \(line 2\), column 'hip': found nothing; expected a number"),
    ("time,hip\n0,1\n1,x\n", r"row 2 \(line 3\), column 'hip': found 'x'; expected a number"),
    ("time;hip\n0;1,5\n1;2\n", "found '1,5'; expected a number; decimals are written with a point"),
    ("time,hip\n0,1\n1,nan\n", r"row 2 \(line 3\), column 'hip': found nan; expected a finite number"),
    ("time,hip\n0,1\n1,inf\n", "found inf; expected a finite number"),
    ("hip,knee\n0,1\n", "no column of times; expected 'time \\[s\\]', found 'hip', 'knee'"),
    ("time,hip\n0,1\n1\n", r"row 2 \(line 3\): found 1 cells; expected 2"),
    ("time [kg],hip\n0,1\n1,2\n", "column 'time \\[kg\\]': kg is a mass .*; expected a time"),
    ("time,hip [degg]\n0,1\n1,2\n", "column 'hip \\[degg\\]': no unit named 'degg'"),
    ("time,hip,hip [deg]\n0,1,1\n1,1,1\n", "column 'hip \\[deg\\]' stands twice"),
    ("time,,hip\n0,1,1\n1,1,1\n", "column 2 has no name"),
    ("time,hip\n0,1\n", "1 rows; expected two at the least"),
    ("time,hip\n0,1\n\n1,2\n", r"row 2 \(line 3\): found 0 cells"),
])  # fmt: skip
def test_what_cannot_be_read_is_told_with_its_row_and_column(text: str, said: str) -> None:
    with pytest.raises(TableError, match=f"^m.csv: .*{said}"):
        table_of(text, "m.csv")


def test_a_column_of_another_kind_is_refused_with_both_kinds() -> None:
    table = table_of("time,hip [m]\n0,1\n1,2\n", "m.csv")
    with pytest.raises(TableError, match=r"column 'hip \[m\]': m is a length .*; expected an angle \(rad, deg\)"):
        table.in_unit("hip", "rad")


def test_hdf5_holds_the_same_as_text(tmp_path) -> None:
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file["time"] = np.array([0.0, 0.5])
        file["hip"] = np.array([90.0, 180.0])
        file["hip"].attrs["unit"] = "deg"
        file["ball"] = np.arange(6.0).reshape(2, 3)
        file["torque/hip"] = np.array([1.0, 2.0])
        file["torque/hip"].attrs["units"] = b"N m"
        file["coordinate/knee"] = np.array([0.0, 1.0])
        file["note"] = "no numbers"
    table = read_table(tmp_path / "m.h5")
    assert sorted(table.columns) == ["ball[0]", "ball[1]", "ball[2]", "hip", "knee", "torque('hip')"]
    assert np.allclose(table.columns["hip"].values, [np.pi / 2, np.pi])
    assert np.allclose(table.columns["ball[2]"].values, [2.0, 5.0])
    assert table.at(0, "hip").endswith("row 1, column 'hip [deg]'")  # there are no lines
    again = table_of(text_of(table), "kept.csv")
    assert again.columns.keys() == table.columns.keys()
    for key, column in table.columns.items():
        assert np.array_equal(again.columns[key].values, column.values)
        assert again.columns[key].dimension == column.dimension


def test_files_that_are_no_tables_are_told_by_name(tmp_path) -> None:
    with pytest.raises(TableError, match=r"nix.csv: cannot be read: No such file"):
        read_table(tmp_path / "nix.csv")
    for name, data, said in (
        ("a.csv", b"\xff\xfe\x00", "neither text nor HDF5"), ("b.h5", b"\x89HDF\r\n\x1a\n rest", "HDF5 that cannot"),
    ):  # fmt: skip
        (tmp_path / name).write_bytes(data)
        with pytest.raises(TableError, match=f"{name}: {said}"):
            read_table(tmp_path / name)
    with h5py.File(tmp_path / "c.h5", "w") as file:
        file["time"], file["hip"] = np.arange(3.0), np.arange(2.0)
    with pytest.raises(TableError, match="column 'hip' has 2 rows; expected 3"):
        read_table(tmp_path / "c.h5")


def test_text_keeps_every_bit() -> None:
    rng = np.random.default_rng(4)
    time, values = np.cumsum(rng.random(20) + 0.1), rng.standard_normal(20)
    table = table_of(as_csv(time, {"hip": ("rad", values), "rate('hip')": ("rad/s", 3 * values)}), "m.csv")
    assert np.array_equal(table.time, time)
    assert np.array_equal(table.columns["hip"].values, values)
    assert np.array_equal(table.columns["rate('hip')"].values, 3 * values)


def test_every_unit_of_a_kept_table_can_be_read() -> None:
    with pytest.raises(UnitError):
        parse_unit("no_unit")
    for unit in ("N m", "m/s", "1/s", "kg m^2", "N"):
        table = table_of(f"time,x [{unit}]\n0,1\n1,2\n", "m.csv")
        assert table_of(text_of(table), "k.csv").columns["x"].dimension == parse_unit(unit).dimension
