"""What differs between two folders of recordings and reports is told, and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import h5py
import pytest

from tests.values import cases, kept


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    monkeypatch.setattr(kept, "names", lambda: ["pendulum"])
    monkeypatch.setattr(cases, "LONGEST", 0.02)
    for name in ("old", "new"):
        kept.keep(tmp_path / name, tell=lambda text: None)
    return tmp_path / "old", tmp_path / "new"


def test_two_runs_are_the_same_to_the_bit_and_each_change_is_told(folders: tuple[Path, Path]) -> None:
    old, new = folders
    made = sorted(path.name for path in (old / "pendulum").iterdir())
    assert made == sorted(["check.json", "info.json", *(f"{method}.h5" for method in cases.METHODS)])
    assert list(kept.differences(old, new)) == []
    with h5py.File(new / "pendulum/radau.h5", "r+") as file:
        file["position"][3, 0, 2] += 1e-9
        del file["velocity"]
    (new / "pendulum/check.json").write_text("{}")
    shutil.move(new / "pendulum/rk4.h5", new / "pendulum/other.h5")
    found = sorted(kept.differences(old, new))
    assert [text.split(": ")[:2] for text in found] == [
        ["pendulum/check.json", "other text"], ["pendulum/other.h5", "not in " + str(old / "pendulum")],
        ["pendulum/radau.h5", "position"], ["pendulum/radau.h5", "velocity"],
        ["pendulum/rk4.h5", "not in " + str(new / "pendulum")],
    ]  # fmt: skip
    assert "of the largest value" in found[2] and found[3].endswith("only in the old one")
