"""Which components of joints' forces are the only ones possible: by recordings, `info` and `verify`."""

from __future__ import annotations

import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

import sim
from render.signals import Signals
from sim.cli.running import by_components
from sim.scene.load import load_text

PEAUCELLIER = """
schema: 1
name: peaucellier
about: Peaucellier's linkage draws a straight line.
parameters: {h: "sqrt((0.5 m)^2 - (0.325 m)^2)"}
bodies:
  crank: {mass: 0.5 kg, shapes: [{capsule: {from: [0.3, 0, 0], to: [0.6, 0, 0], radius: 1 cm}}]}
  oc: {mass: 1 kg, shapes: [{capsule: {from: [0, 0, 0], to: [0.925, 0, h], radius: 1 cm}}]}
  od: {mass: 1 kg, shapes: [{capsule: {from: [0, 0, 0], to: [0.925, 0, -h], radius: 1 cm}}]}
  bc: {mass: 0.5 kg, shapes: [{capsule: {from: [0.6, 0, 0], to: [0.925, 0, h], radius: 1 cm}}]}
  bd: {mass: 0.5 kg, shapes: [{capsule: {from: [0.6, 0, 0], to: [0.925, 0, -h], radius: 1 cm}}]}
  pc: {mass: 0.5 kg, points: {pen: [1.25, 0, 0]}, shapes: [{capsule: {from: [1.25, 0, 0], to: [0.925, 0, h], radius: 1 cm}}]}
  pd: {mass: 0.5 kg, shapes: [{capsule: {from: [1.25, 0, 0], to: [0.925, 0, -h], radius: 1 cm}}]}
joints:
  drive: {type: rotational, parent: world, child: crank, position: [0.3, 0, 0], axis: [0, -1, 0], motion: 40 deg*sin(2*pi*t/2 s)}
  o1: {type: rotational, parent: world, child: oc, position: [0, 0, 0], axis: [0, 1, 0]}
  o2: {type: rotational, parent: world, child: od, position: [0, 0, 0], axis: [0, 1, 0]}
  b1: {type: rotational, parent: crank, child: bc, position: [0.6, 0, 0], axis: [0, 1, 0]}
  b2: {type: rotational, parent: crank, child: bd, position: [0.6, 0, 0], axis: [0, 1, 0]}
  c1: {type: rotational, parent: oc, child: bc, position: [0.925, 0, h], axis: [0, 1, 0]}
  c2: {type: rotational, parent: oc, child: pc, position: [0.925, 0, h], axis: [0, 1, 0]}
  d1: {type: rotational, parent: od, child: bd, position: [0.925, 0, -h], axis: [0, 1, 0]}
  d2: {type: rotational, parent: od, child: pd, position: [0.925, 0, -h], axis: [0, 1, 0]}
  p: {type: rotational, parent: pc, child: pd, position: [1.25, 0, 0], axis: [0, 1, 0]}
simulate: {duration: 0.2 s, record: 50 Hz}
"""  # noqa: E501
HINGES = ("drive", "o1", "o2", "b1", "b2", "c1", "c2", "d1", "d2", "p")


@pytest.fixture(scope="module")
def linkage(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("linkage") / "linkage.h5"
    sim.run(load_text(PEAUCELLIER), output=path).close()
    return path


def test_a_linkage_that_lies_in_x_and_z_has_its_forces_there(linkage: Path) -> None:
    with sim.load_recording(linkage) as recording:
        assert not recording.trust.determinate.array.any()
        for name in HINGES:
            marks = recording.trust.components[name]  # moment x, y, z, force x, y, z
            assert np.all(marks == [0, 1, 0, 1, 0, 1]), name
            assert np.all(recording.trust.own_components[name] == [0, 0, 1, 1, 1, 0])
            assert recording.trust.sure(name) == "force x, z and moment y"
        (words,) = by_components(recording.trust.summary(recording.time))
        assert words == ("force x, z and moment y", "drive, o1, o2, b1, ...")
        verdict = sim.verify(recording)
        assert verdict.problems == [] and set(verdict.components.values()) == {"force x, z and moment y"}
    with h5py.File(linkage) as file:
        for part, mark in zip(("rx", "ry", "rz", "x", "y", "z"), (0, 1, 0, 1, 0, 1), strict=True):
            assert np.all(Signals(file).evaluate(f"determinate('p', '{part}')").values == mark)


def test_what_is_told_of_one_component_is_held_against_the_oracle(linkage: Path, tmp_path: Path) -> None:
    path = tmp_path / "wrong.h5"
    shutil.copy(linkage, path)
    with h5py.File(path, "r+") as file:
        file["trust/components"][:, 3, 4] = 1  # b1 across the plane
    found = sim.verify(path).problems
    assert any(problem.startswith("oracle: whether the force of 'b1' is determinate") for problem in found)


def test_recordings_that_tell_whole_forces_alone_are_read(linkage: Path, tmp_path: Path) -> None:
    path = tmp_path / "old.h5"
    shutil.copy(linkage, path)
    with h5py.File(path, "r+") as file:
        del file["trust/components"], file["trust/own_components"]
    with sim.load_recording(path) as recording:
        assert np.all(recording.trust.components["b1"] == -1) and recording.trust.sure("b1") == ""
        assert by_components(recording.trust.summary(recording.time)) == []
        assert sim.verify(recording).problems == []


def test_a_linkage_that_leans_has_its_forces_in_its_own_axes(tmp_path: Path) -> None:
    (tmp_path / "linkage.yaml").write_text(PEAUCELLIER)
    lean = "placement: {position: [0.1, 0.2, 0.3], orientation: {rpy: [0.4, 0.3, 0.2]}}"
    scene = tmp_path / "scene.yaml"
    scene.write_text(f"schema: 1\ninclude: [{{figure: linkage.yaml, prefix: a, {lean}}}]\n")
    with sim.run(sim.load(scene), duration=0.05) as recording:
        for name in HINGES:
            assert not recording.trust.components[f"a.{name}"].any()
            assert recording.trust.sure(f"a.{name}") == "force x, y and moment z in its own axes"
    (told,) = sim.info(sim.load(scene))["forces"]
    assert told["joints"].split(", ") == [f"a.{name}" for name in HINGES]
    assert (told["determinate"], told["in_own_axes"]) == ("none", "force x, y and moment z")


@pytest.mark.fast
def test_info_tells_components_at_the_drawing_and_at_a_time() -> None:
    for at in (None, 0.1):
        (told,) = sim.info(load_text(PEAUCELLIER), at=at)["forces"]
        assert told["determinate"] == "force x, z and moment y"
