"""`sim inverse`: what it prints, writes and draws, and how it refuses."""

from __future__ import annotations

import json

import h5py
import numpy as np
import pytest

from sim.cli.main import main
from sim.scene.time_table import as_csv, read_table

T = np.linspace(0.0, 1.0, 101)


@pytest.fixture
def motion(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.csv").write_text(as_csv(T, {"drive": ("deg", 115 * T**2), "torque('drive')": ("N m", T)}))
    return tmp_path / "m.csv"


def test_torques_are_printed_written_and_drawn(motion, capsys) -> None:
    command = [
        "inverse",
        "four_bar",
        "m.csv",
        "--actuated",
        "drive",
        "-o",
        "t.h5",
        "--plot",
        "t.png",
        "--cutoff",
        "20 Hz",
    ]
    assert main(command) == 0
    out, err = capsys.readouterr()
    assert out.startswith(
        "four_bar: 101 frames of m.csv, 0 to 1 s\nexactly actuated: 1 actuators of rank 1 for 1 freedoms\n"
    )
    assert "m.csv: not used: torque('drive') [N m]" in out
    assert "drive [deg]  20 " in out
    assert "written: t.h5" in err
    assert (motion.parent / "t.png").stat().st_size > 10_000
    with h5py.File("t.h5") as file:
        torque, unit = file["torque/drive"][()], file["torque/drive"].attrs["unit"]
        assert file["reached"][()].all()
        assert list(file["rate"]) == ["drive", "link", "pin", "pivot"]
        assert np.abs(np.gradient(file["coordinate/pivot"][()], T) - file["rate/pivot"][()])[2:-2].max() < 1e-2
    assert unit == "N m"
    (line,) = (line for line in out.splitlines() if line.startswith("drive ") and line.endswith("N m "))
    shown = [float(word) for word in line.split()[1:4]]
    assert shown == pytest.approx([torque.min(), torque.max(), np.sqrt(np.mean(torque**2))], rel=1e-5)
    assert main(command) == 2
    assert "exists; choose another name or add --overwrite" in capsys.readouterr().err
    assert main([*command, "--overwrite", "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    assert set(read_table(motion.parent / "t.h5").columns) > {"drive", "torque('drive')"}


def test_json_has_the_same_numbers(motion, capsys) -> None:
    assert main(["inverse", "four_bar", "m.csv", "--actuated", "drive", "--json", "-o", "t.csv"]) == 0
    found = json.loads(capsys.readouterr().out)
    torque = read_table(motion.parent / "t.csv").columns["torque('drive')"].values
    assert found["torques"]["drive"]["largest"] == torque.max()
    assert found["torques"]["drive"]["least"] == torque.min()
    assert (found["frames"], found["reached"], found["time"]) == (101, 101, [0.0, 1.0])
    assert found["columns"][0]["name"] == "drive [deg]"
    assert found["columns"][0]["cutoff"] is None
    assert found["missing"] == {}


def test_what_no_motor_gives_is_told(tmp_path, monkeypatch, capsys) -> None:
    """A double pendulum with a motor at one of its joints: the moment that the other would have to give."""
    import sim

    monkeypatch.chdir(tmp_path)
    names = [joint.name for joint in sim.load("double_pendulum").joints]
    (tmp_path / "m.csv").write_text(as_csv(T, {name: ("rad", 0.1 * T**2 * (k + 1)) for k, name in enumerate(names)}))
    assert main(["inverse", "double_pendulum", "m.csv", "--actuated", names[0], "--plot", "lack.svg"]) == 0
    out = capsys.readouterr().out
    assert "under actuated: 1 actuators of rank 1 for 2 freedoms; nothing drives" in out
    assert "frames are out of reach of these actuators, from" in out
    assert "missing(" in (tmp_path / "lack.svg").read_text()


@pytest.mark.fast
@pytest.mark.parametrize(("words", "said"), [
    (["nix.csv"], "there is no file 'nix.csv'; expected a recording, or a table of a motion"),
    (["m.csv", "--cutoff", "6x"], "--cutoff: '6x' is not a frequency; give one as in '6 Hz', or auto"),
    (["m.csv", "--cutoff", "0"], "--cutoff: '0' is not a frequency"),
    (["m.csv", "-o", "t.txt"], "-o: 't.txt' should end in .h5 or .hdf5 or .csv"),
    (["m.csv", "--plot", "t.mp4"], "--plot: 't.mp4' should end in"),
    (["m.csv", "--actuated", "drvie"], "actuated: found 'drvie' (str); expected joints with freedoms"),
    (["m.csv", "--cutoff", "200"], "column 'drive [deg]': cutoff: found 200 Hz; expected less than 40.1 Hz"),
])  # fmt: skip
def test_what_cannot_be_meant_is_told_in_a_sentence(motion, capsys, words, said) -> None:
    assert main(["inverse", "four_bar", *words]) == 2
    out, err = capsys.readouterr()
    assert said in err
    assert out == ""
    assert main(["inverse", "four_bar", *words, "--json"]) == 2
    assert said in json.loads(capsys.readouterr().out)["error"]
