"""`sim linearize` at the terminal."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sim
from sim.cli.linearizing import parameter_values
from sim.cli.main import main
from sim.cli.outcome import Refusal

POLE = """
schema: 1
name: pole
about: A pole stands on a hinge, held by a spring.
parameters: {k: {value: 12 N m/rad, range: [0 N m/rad, 100 N m/rad]}}
world: {gravity: [0, 0, -9.81]}
bodies: {rod: {mass: 2, com: [0, 0, 0.5], inertia: [0.1667, 0.1667, 0.001]}}
joints: {foot: {type: rotational, parent: world, child: rod, position: [0, 0, 0], axis: [0, 1, 0], stiffness: k}}
"""


@pytest.fixture
def pole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pole.yaml").write_text(POLE)
    return "pole.yaml"


def test_prints_eigenvalues_and_matrices(pole: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["linearize", pole, "--at", "steady"]) == 0
    out = capsys.readouterr().out
    model = sim.linearize(sim.load(pole))
    assert "about a steady motion" in out and f"{model.eigenvalues[0].imag:.10f}" in out
    assert "rate(foot)" in out and f"{model.A[1, 0]:.9g}" in out and "torque foot" in out


def test_json_holds_all_numbers(pole: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["linearize", pole, "--set", "k=5 N m/rad", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    model = sim.linearize(sim.load(pole, set={"k": 5.0}))
    assert said["ok"] and said["states"] == ["foot", "rate(foot)"]
    assert np.array_equal(said["A"], model.A) and said["eigenvalues"][1][0] == model.eigenvalues[1].real > 0.0


def test_a_parameter_gives_a_root_locus(pole: str, capsys: pytest.CaptureFixture[str]) -> None:
    span = "k=8 N m/rad:12 N m/rad:1 N m/rad"
    assert main(["linearize", pole, "--param", span, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["values"] == [8.0, 9.0, 10.0, 11.0, 12.0] and len(said["branches"]) == 5
    assert Path("pole_k.png").read_bytes().startswith(b"\x89PNG")
    assert main(["linearize", pole, "--param", span]) == 2
    assert "exists" in capsys.readouterr().err
    assert main(["linearize", pole, "--param", span, "-o", "locus.svg", "--size", "900x400"]) == 0
    assert "8" in capsys.readouterr().out and "<svg" in Path("locus.svg").read_text()


def test_crossings_poses_and_zeros_are_told(pole: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The pole falls from k = m g l / 2 = 9.81 N m/rad down, and at it both roots are zero."""
    assert main(["linearize", pole, "--at", "steady", "--param", "k=8 N m/rad:12 N m/rad:1 N m/rad"]) == 0
    out = capsys.readouterr().out
    assert "k = 9.81: buckling: a root passes zero; a mode becomes stable\n" in out
    assert "pose: foot 0, at all values" in out and out.count("k = ") == 1
    assert main(["linearize", pole, "--at", "steady", "--set", "k=9.81 N m/rad"]) == 0
    out = capsys.readouterr().out
    assert "pose: foot 0\n" in out and out.count("\n0.0000000000 ") == 2
    start = POLE + "initial: {foot: 40 deg}\n"
    Path("leaning.yaml").write_text(start)
    assert main(["linearize", "leaning.yaml", "--at", "steady", "--set", "k=9 N m/rad"]) == 0
    found = float(capsys.readouterr().out.split("pose: foot ")[1].split()[0])
    assert found > 0.5 and abs(9 * found - 9.81 * np.sin(found)) < 1e-7
    assert main(["linearize", "leaning.yaml", "--at", "steady", "--param", "k=8:9:0.5", "--overwrite"]) == 0
    assert f"{found:.6f}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--param", "m=0:1:0.1"], 2, "no parameter named 'm'"),
        (["--param", "k=0:1:0"], 2, "--param: the step 0 is not above zero"),
        (["--param", "k=2:1:0.1"], 2, "--param: the range 2 to 1 is empty"),
        (["--param", "k=0:1"], 2, "is not of the form NAME=FROM:TO:STEP, as in v=0:10:0.1"),
        (["--param", "k=0:1 m:0.1"], 2, "from, to and step have one unit"),
        (["--param", "k=0:1:1e-6"], 2, "1000001 values are too many"),
        (["--param", "k=1:2:1", "--set", "k=1"], 2, "'k' is given by --set, too"),
        (["--at", "later"], 2, "--at: 'later' is not a time"),
        (["--input", "knee"], 3, "no torque can act on 'knee'; it can on foot"),
    ],
)
def test_what_is_wrong_is_said(
    pole: str, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, said: str
) -> None:
    assert main(["linearize", pole, *arguments]) == code
    assert said in capsys.readouterr().err


def test_values_of_a_parameter_end_where_they_should() -> None:
    name, values = parameter_values(" v = 0:10:0.1 ")
    assert name == "v" and len(values) == 101 and values[-1].value == pytest.approx(10.0)
    assert [value.value for value in parameter_values("x=1 cm:3 cm:0.9 cm")[1]] == pytest.approx([0.01, 0.019, 0.028])
    with pytest.raises(Refusal):
        parameter_values("v")


@pytest.mark.parametrize(("size", "code"), [("0x5", 2), ("5x0", 2), ("400x300", 0)])
def test_a_plot_has_pixels(size, code, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["linearize", "pendulum", "-o", "y.png", "--size", size]) == code
    assert ("has no pixels" in capsys.readouterr().err) == (code == 2)
