"""A state in a file of its own: what follows from it is what followed from it before."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

import sim
from sim.recording.state_file import read_state, write_state
from sim.scene.load import load_text
from tests.contact.engine import SCENES


@pytest.mark.parametrize("name", ["two_bodies", "sliding_block", "four_bar", "figure_falls"])
def test_a_state_comes_back_from_its_file_and_the_run_goes_on_from_it(tmp_path: Path, name: str) -> None:
    model = sim.compile(sim.load(SCENES / f"{name}.yaml"))
    first, second = sim.Simulator(model), sim.Simulator(model)
    first.advance(0.11)
    kept = first.snapshot()
    kept.save(tmp_path / "at.state.h5")
    first.advance(0.3)
    read = sim.State.load(tmp_path / "at.state.h5")
    assert read == kept and read is not kept and read.t == 0.11
    second.restore(read)
    second.advance(0.3)
    assert second.t == 0.3 and second.q.tobytes() == first.q.tobytes() and second.v.tobytes() == first.v.tobytes()
    assert second.snapshot() == first.snapshot()


def test_a_state_file_says_what_it_holds_and_holds_no_code(tmp_path: Path) -> None:
    sim.Simulator(sim.compile(sim.load(SCENES / "pendulum.yaml"))).snapshot().save(tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5") as file:
        assert dict(file.attrs) == {"format": "brachiate state", "version": 1}
        assert sorted(file) == ["arrays", "text"]
        kinds = {file[f"arrays/{name}"].dtype.kind for name in file["arrays"]}
        assert kinds <= set("fiucV") and b'"schedule"' in bytes(file["text"][()])


def damaged(path: Path, how: str) -> None:
    if how == "text":
        path.write_text("no HDF5")
        return
    if how == "empty":
        path.write_bytes(b"")
        return
    with h5py.File(path, "r+") as file:
        if how == "kind":
            file.attrs["format"] = "brachiate recording"
        elif how == "version":
            file.attrs["version"] = 2
        elif how == "gone":
            del file["arrays/3"]
        elif how == "elsewhere":
            del file["arrays/3"]
            file["arrays/3"] = h5py.ExternalLink("other.h5", "x")
        elif how == "huge":
            del file["arrays/3"]
            file.create_dataset("arrays/3", (10**9,), "f8")
        elif how == "json":
            del file["text"]
            file["text"] = np.frombuffer(b"{", np.uint8)
        elif how == "number":
            text = bytes(file["text"][()])
            del file["text"]
            file["text"] = np.frombuffer(text.replace(b'"version"', b'"vision"'), np.uint8)


@pytest.mark.parametrize("how", ["text", "empty", "kind", "version", "gone", "elsewhere", "huge", "json", "number"])
def test_what_is_no_state_is_refused_in_a_sentence(tmp_path: Path, how: str) -> None:
    path = tmp_path / "a.h5"
    sim.Simulator(sim.compile(sim.load(SCENES / "pendulum.yaml"))).snapshot().save(path)
    damaged(path, how)
    with pytest.raises(sim.StateError) as caught:
        sim.State.load(path)
    told = str(caught.value)
    assert "\n" not in told and ("state" in told)


def test_a_state_that_is_not_there_or_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(sim.StateError, match="there is no file"):
        sim.State.load(tmp_path / "none.h5")
    state = sim.Simulator(
        sim.compile(load_text("schema: 1\nbodies: {a: {mass: 1, com: [0, 0, 1], gyration: [1, 1, 1]}}"))
    ).snapshot()
    with pytest.raises(sim.StateError, match="cannot be written"):
        state.save(tmp_path / "no folder" / "a.h5")


def test_a_state_tells_its_coordinates_and_rates_apart() -> None:
    """Of a body that is free, which has seven coordinates and six rates."""
    text = """
schema: 1
bodies: {a: {mass: 1, com: [0.5, 0.25, 2], inertia: [1, 2, 2.5]}}
initial: {a: {velocity: [1, 2, 3], angular_velocity: [4, 5, 6]}}
"""
    state = sim.Simulator(sim.compile(load_text(text))).snapshot()
    assert state.q.tolist() == [0.5, 0.25, 2.0, 1.0, 0.0, 0.0, 0.0] and state.v.tolist() == [1, 2, 3, 4, 5, 6]
    assert state.copy().q.tolist() == state.q.tolist() and state.t == 0.0


def test_a_text_without_arrays_comes_back(tmp_path: Path) -> None:
    """As another program may write it: no group of them."""
    path = tmp_path / "text.h5"
    write_state(path, "only words", [])
    assert read_state(path) == ("only words", [])
    with h5py.File(path, "a") as file:
        file.pop("arrays", None)
    assert read_state(path) == ("only words", [])
