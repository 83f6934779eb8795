"""`sim verify`: table, plot, JSON, exit codes; the short form that closes a run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import h5py
import pytest

import sim
from sim.cli.main import main
from sim.cli.running import describe
from tests.cli.test_commands import imported

SCENES = Path(__file__).parents[2] / "scenes"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with short recordings of two scenes."""
    path = tmp_path_factory.mktemp("verify")
    for name, duration in (("four_bar", 0.5), ("rope", 1.0)):
        sim.run(sim.load(SCENES / f"{name}.yaml"), output=path / f"{name}.h5", duration=duration).close()
    return path


def edited(source: Path, target: Path, change) -> Path:
    shutil.copyfile(source, target)
    with h5py.File(target, "r+") as file:
        change(file)
    return target


def test_the_table_reads_in_a_hundred_columns(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["verify", "four_bar.h5"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert max(map(len, out.splitlines())) <= 100
    assert out.splitlines()[0] == f"four_bar: 0.5 s in 61 rows, four_bar.h5 by brachiate {sim.__version__}"
    assert out.splitlines()[-1] == "all of it holds"
    for text in (
        "equal to the bit", "error bars, from a rerun at rtol 1e-10 instead of 1e-08", "angular velocity  rad/s",
        "4 chosen among many   drive, pin, pivot, link", "20 instants", "residual of position", "smallest",
    ):  # fmt: skip
        assert text in out


def test_events_have_error_bars_and_a_ledger(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert main(["verify", "rope.h5", "--instants", "1", "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    data = json.loads(out)
    assert data["ok"] and data["problems"] == [] and data["repeats_to_the_bit"] is True
    (event,), (entry,) = data["events"], data["ledger"]
    assert event["name"] == "caught" and abs(event["time"] - event["tighter"]) < 1e-7
    assert entry["closed"] and entry["lost"] > 1.0 and max(entry["left"], entry["left_energy"]) < 1e-12
    assert entry["momentum"] == pytest.approx(entry["outside"], abs=1e-9)
    assert {bar["name"] for bar in data["error_bars"]} >= {"position", "rotation", "force of joints", "energy balance"}
    assert 0.0 < data["error_bars"][0]["bar"] < 1e-4
    assert data["forces"]["catch"] == {"determinate": True, "chosen_share": 0.0}
    assert len(data["oracle"]) == 1 and data["tolerances"] == [1e-8, 1e-10]


def test_a_plot_and_no_table(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    target = tmp_path / "trust.png"
    assert main(["verify", "four_bar.h5", "-o", str(target), "--instants", "0", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert target.read_bytes().startswith(b"\x89PNG") and target.stat().st_size > 20_000
    assert main(["verify", "four_bar.h5", "-o", str(target)]) == 2
    assert "exists; choose another name or add --overwrite" in capsys.readouterr().err


def test_a_quick_look_needs_no_compiler(folder):
    code, modules = imported("verify", str(folder / "four_bar.h5"), "--quick", "--quiet")
    assert code == 0
    assert not modules & {"numba", "vispy", "matplotlib", "scipy.integrate", "mujoco"}


def test_what_does_not_hold_is_said_and_ends_with_5(folder, tmp_path, capsys):
    def change(file: h5py.File) -> None:
        force = file["joints/force"][()]
        force[30, 0, 3] += 0.5
        file["joints/force"][...] = force

    path = edited(folder / "four_bar.h5", tmp_path / "t.h5", change)
    assert main(["verify", str(path), "--instants", "0"]) == 5
    out, err = capsys.readouterr()
    assert out.splitlines()[-1] == "1 thing in it does not hold"
    assert err.startswith("does not hold: force of joints of 'drive' at t = 0.25 s: a rerun differs from the recording")
    assert main(["verify", str(path), "--instants", "0", "--json"]) == 5
    out, err = capsys.readouterr()
    assert err == "" and json.loads(out)["ok"] is False and len(json.loads(out)["problems"]) == 1


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("none.h5", "there is no file none.h5"),
        ("a.txt", "a.txt is not a recording: a text file that begins with 'hello'"),
        ("cut.h5", "cut.h5 is not a recording: an HDF5 file that is damaged"),
        ("bare.h5", "bare.h5 holds no scene text, so nothing of it can be run again"),
        ("rows.h5", "rows.h5 holds no complete row, so there is nothing to verify"),
        ("part.h5", "part.h5 has no 'position': it is incomplete or of another version"),
        ("old.h5", "the scene in old.h5 cannot be read by this program"),
        ("new.h5", "new.h5 is a recording of version 9; this program reads up to 1"),
    ],
)
def test_what_cannot_be_verified_is_one_sentence(folder, tmp_path, monkeypatch, capsys, name, sentence):
    monkeypatch.chdir(tmp_path)
    source = folder / "four_bar.h5"
    Path("a.txt").write_text("hello\n")
    Path("cut.h5").write_bytes(source.read_bytes()[:30_000])
    edited(source, Path("bare.h5"), lambda file: file["scene/text"].__setitem__((), b""))
    edited(source, Path("rows.h5"), lambda file: file["rows"].__setitem__((), 0))
    edited(source, Path("part.h5"), lambda file: file.__delitem__("position"))
    text = h5py.File(source)["scene/text"][()].replace(b"schema: 1", b"schema: 0")
    edited(source, Path("old.h5"), lambda file: file["scene/text"].__setitem__((), text))
    edited(source, Path("new.h5"), lambda file: file.attrs.__setitem__("version", 9))
    assert main(["verify", name]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(sentence), err
    assert main(["verify", name, "--json"]) == 2
    out, err = capsys.readouterr()
    assert err == "" and json.loads(out)["ok"] is False


def test_controllers_of_files_need_trust(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["new", "controller", "spring"]) == 0
    Path("a.yaml").write_text(
        "schema: 1\nname: a\nbodies: {rod: {mass: 1, com: [0, 0, -1], inertia: [1, 1, 1]}}\n"
        "joints: {hinge: {type: rotational, parent: world, child: rod, position: [0, 0, 0], axis: [0, 1, 0]}}\n"
        'controllers: {hold: {type: "./spring.py:Spring", joint: hinge}}\nsimulate: {duration: 0.1 s}\n'
    )
    sim.run(sim.load("a.yaml", trust=True), output="a.h5").close()
    capsys.readouterr()
    assert main(["verify", "a.h5"]) == 2
    assert "if you trust it, add --trust" in capsys.readouterr().err
    assert main(["verify", "a.h5", "--trust"]) == 0
    assert "equal to the bit" in capsys.readouterr().out


def test_the_short_form_closes_a_run():
    trust = {
        "velocity_residual": 2e-12, "smallest_singular_value": 0.25, "smallest_singular_value_at": 1.5,
        "rank": [9, 17], "determinate": 12, "chosen": ["a", "b", "c", "d", "e"],
        "ranks": [{"from": 0.0, "to": 0.9, "rows": 18, "rank": 17}, {"from": 1.0, "to": 1.0, "rows": 18, "rank": 9}],
    }  # fmt: skip
    summary = {"scene": "s", "simulated_time": 1.0, "largest_residual": 1e-13, "trust": trust, "recording": "s.h5"}
    text = describe(summary)
    assert "1e-13 (m, rad), of velocity 2e-12 (m/s, rad/s)" in text
    assert "singular value    smallest 0.25 at 1.5 s\n" in text
    assert "constraints       18 rows, rank 17 until 1 s; then rank 9\n" in text
    assert "forces of joints  12 determinate, 5 chosen among many: a, b, c, d, ..." in text
    assert "forces of joints  all 3 determinate" in describe({**summary, "trust": {"determinate": 3, "chosen": []}})


def test_a_run_ends_with_the_short_form(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["run", "four_bar", "--duration", "0.1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "  forces of joints  0 determinate, 4 chosen among many: drive, pin, pivot, link" in lines
    assert "  constraints       5 rows, rank 2" in lines
    assert any(line.startswith("  singular value    smallest 0.") for line in lines)


def test_ctrl_c_ends_with_130(folder, monkeypatch, capsys):
    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sim, "verify", interrupted, raising=False)
    assert main(["verify", str(folder / "four_bar.h5")]) == 130
    assert capsys.readouterr().err == "interrupted\n"
