"""`sim.verify` of scenes with contacts, rigid stops and friction: what holds passes, what was changed is told."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

import sim
from sim.analysis.verification.surfaces import distance
from sim.analysis.verification.verdict import Verdict
from sim.recording import ShapeEntry
from sim.scene.load import load_text

G0 = 9.81
# A ball falls, bounces and meets a second one; a block slides down to rest; a flap falls on its stop.
SCENE = """
schema: 1
name: things
world: {shapes: [{name: ground, plane: {edge: 4 m}}]}
bodies:
  ball: {mass: 2 kg, shapes: [{sphere: {center: [0, 0, 0.12], radius: 0.1}}]}
  block: {mass: 3 kg, shapes: [{box: {center: [2, 0, 0.1], size: [0.4, 0.4, 0.2]}}]}
  flap: {mass: 1 kg, com: [1, 1, 1], inertia: [0.1, 0.1, 0.1]}
joints:
  hinge: {type: rotational, parent: world, child: flap, position: [0.8, 1, 1], axis: [0, 1, 0], friction: 0.05,
          limits: {range: [-1, 0.3], stop: rigid, restitution: 0.5}}
initial: {block: {velocity: [0.4, 0.1, 0]}, ball: {velocity: [0.3, 0, 0]}}
contacts:
  falls: {between: [ball, world], friction: 0.3, restitution: 0.5}
  slides: {between: [block, world], friction: 0.2}
simulate: {duration: 0.4 s, MODE}
"""
EVENT, STEPS = "rtol: 1e-9", "contact: stepping, dt: 1 ms"


@functools.cache
def recorded(mode: str, folder: Path) -> Path:
    path = folder / f"{len(mode)}.h5"
    sim.run(load_text(SCENE.replace("MODE", mode)), output=path).close()
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("contacts")


@functools.cache
def verified(mode: str, folder: Path) -> Verdict:
    return sim.verify(recorded(mode, folder))


def found(path: Path, **wish: object) -> list[str]:
    return sim.verify(path, **wish).problems


def test_what_events_resolve_holds_to_roundoff(folder):
    verdict = verified(EVENT, folder)
    assert verdict.problems == [] and verdict.bit_equal and verdict.growth is None and verdict.steps is None
    look = verdict.contacts
    assert look is not None and look.points > 100
    assert max(look.negative, look.cone, look.gap, look.sticks, look.parts, look.slides) < 1e-10 and look.takes > 0.1
    assert len(verdict.instants) == 20 and max(i.acceleration for i in verdict.instants) < 1e-10
    assert max(i.force for i in verdict.instants) < 1e-10 and max(i.drive for i in verdict.instants) < 1e-10
    assert 0.0 < verdict.bar("rotation", "flap") < 1e-6


def test_the_ledger_has_the_impulse_of_every_point_that_was_struck(folder):
    """A ball of 2 kg that comes at 0.63 m/s gets 2 (1 + 0.5) 0.63 N s across, and rolls by what friction gives."""
    verdict = verified(EVENT, folder)
    struck = [entry for entry in verdict.ledger if any("ball" in blow.name for blow in entry.blows)]
    assert all(entry.closed and entry.wrong == () for entry in verdict.ledger) and len(struck) >= 2
    blow, speed = struck[0].blows[0], np.sqrt(2 * G0 * 0.02)
    assert blow.before == pytest.approx(-speed, rel=1e-9) and blow.after == pytest.approx(0.5 * speed, rel=1e-9)
    assert blow.normal == pytest.approx(2 * 1.5 * speed, rel=1e-9)
    assert abs(blow.impulse[2]) == pytest.approx(blow.normal)
    # A solid ball that slides is rolling after an impulse of 2/7 m v along the ground, which is within its cone.
    assert blow.friction == pytest.approx(2 * 0.3 * 2 / 7, rel=1e-9) and blow.friction < 0.3 * blow.normal
    lost = 0.5 * 2 * speed**2 * 0.75 + 0.5 * blow.friction * 0.3
    assert struck[0].lost == pytest.approx(lost, rel=1e-9) and blow.lost == pytest.approx(lost, rel=1e-9)
    assert any("hinge" in name for entry in verdict.ledger for name in entry.names)  # its stop strikes, and is balanced


def test_time_steps_are_held_against_half_of_their_length(folder):
    """The true error lies within the bar: events resolve the same scene."""
    verdict = verified(STEPS, folder)
    assert verdict.problems == [] and verdict.bit_equal and verdict.steps == (1e-3, 0.5e-3)
    with sim.load_recording(recorded(STEPS, folder)) as steps, sim.load_recording(recorded(EVENT, folder)) as events:
        i = np.flatnonzero(steps.time <= min(0.05, verdict.until))
        exact = np.array([events.position["block"][events.time == t][-1] for t in steps.time[i]])
        off = np.linalg.norm(steps.position["block"][i] - exact, axis=1).max()
    assert 1e-6 < off < 2 * verdict.bar("position", "block")
    assert max(i.acceleration for i in verdict.instants) < 1e-10
    assert all(i.force <= i.known for i in verdict.instants)


def first(file: h5py.File, mode: int) -> int:
    """Return a point of contact in a mode, where nothing happens."""
    rows, modes, time = file["contacts/row"][()], file["contacts/mode"][()], file["time"][()]
    events = file["events/time"][()]
    calm = np.array([np.min(np.abs(events - time[row]), initial=1.0) > 1e-3 for row in rows])
    return int(np.flatnonzero((modes == mode) & calm)[3])


def a_force(part: int, by: float) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        values, k = file["contacts/force"][()], first(file, 2)
        values[k, part] += by * abs(values[k, 2])
        file["contacts/force"][...] = values

    return change


def pulls(file: h5py.File) -> None:
    values, k = file["contacts/force"][()], first(file, 2)
    values[k] *= -1.0
    file["contacts/force"][...] = values


def a_mode(before: int, after: int) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        values = file["contacts/mode"][()]
        values[first(file, before)] = after
        file["contacts/mode"][...] = values

    return change


def a_point(file: h5py.File) -> None:
    values, k = file["contacts/point"][()], first(file, 2)
    values[k, 2] += 5e-3
    file["contacts/point"][...] = values


def an_impulse(part: int, factor: float) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        values = file["contacts/impulses/impulse"][()]
        k = int(np.argmax(np.abs(values[:, 2])))
        values[k, part] *= factor
        file["contacts/impulses/impulse"][...] = values

    return change


def impacts_give(file: h5py.File) -> None:
    values = file["energy/impact"][()]
    values[len(values) // 2 :] -= 10.0
    file["energy/impact"][...] = values


TAMPERED = [
    (EVENT, a_force(2, 1e-3), "it is recorded to slide with a friction of"),
    (EVENT, a_force(0, 1e-3), "friction"),
    (EVENT, pulls, "contacts only push"),
    (EVENT, a_mode(2, 1), "it is recorded to stick and moves at"),
    (EVENT, a_mode(2, 0), "its mode is neither stick nor slip"),
    (EVENT, a_point, "m away from the surfaces of the two shapes"),
    (EVENT, an_impulse(2, 1 + 1e-4), "the ledger does not close; the momentum is off by"),
    (EVENT, an_impulse(2, -1.0), "pulls with"),
    (EVENT, an_impulse(0, 10.0), "beyond the cone of"),
    (EVENT, impacts_give, "they only take energy"),
    (STEPS, a_force(2, 1e-3), "it is recorded to slide with a friction of"),
    (STEPS, pulls, "contacts only push"),
    (STEPS, a_mode(2, 1), "it is recorded to stick and moves at"),
    (STEPS, a_point, "m away from the surfaces of the two shapes"),
]


@pytest.mark.parametrize(("mode", "change", "sentence"), TAMPERED)
def test_what_was_changed_is_told_without_running_anything(folder, tmp_path, mode, change, sentence):
    assert found(recorded(mode, folder), quick=True) == []
    path = Path(shutil.copyfile(recorded(mode, folder), tmp_path / "t.h5"))
    with h5py.File(path, "r+") as file:
        change(file)
    problems = found(path, quick=True)
    assert any(sentence in problem for problem in problems), problems


def sticks_more(file: h5py.File) -> None:
    """A force within its cone: only Newton and Euler, and a rerun, know that it is another."""
    values, rows = file["contacts/force"][()], file["contacts/row"][()]
    for row in np.unique(rows):
        values[np.flatnonzero(rows == row)[0]] *= 1.001
    file["contacts/force"][...] = values


def one_more_rests(file: h5py.File) -> None:
    values = file["contacts/impulses/impulse"][()]
    values[-1] *= 1 + 1e-14
    values[-1] += 1e-17
    file["contacts/impulses/impulse"][...] = values


@pytest.mark.parametrize(
    ("change", "sentences"),
    [
        (sticks_more, ["oracle: its accelerations differ from the engine's by", "but other contacts"]),
        (one_more_rests, ["but other impulses of contacts"]),
        (a_mode(2, 1), ["but other contacts"]),
    ],
)
def test_the_oracle_and_a_rerun_find_what_the_laws_allow(folder, tmp_path, change, sentences):
    path = Path(shutil.copyfile(recorded(EVENT, folder), tmp_path / "t.h5"))
    with h5py.File(path, "r+") as file:
        change(file)
    problems = found(path)
    assert all(any(sentence in problem for problem in problems) for sentence in sentences), problems


def test_an_older_recording_without_impulses_of_contacts_is_noted(folder, tmp_path):
    path = Path(shutil.copyfile(recorded(EVENT, folder), tmp_path / "t.h5"))
    with h5py.File(path, "r+") as file:
        del file["contacts/impulses"]
    verdict = sim.verify(path, quick=True)
    assert verdict.ok and verdict.ledger == []
    assert verdict.notes == ["the recording has no impulses of contacts, so momenta at events are not balanced"]


# --- scenes that ship, in both modes ------------------------------------------------------------------

SCENES = Path(__file__).parents[2] / "scenes"
FEW = (("stones: {value: 50", "stones: {value: 6"),)
SHIPPED = {
    "rocking_block": ("rtol: 1e-10", 0.6, (), "1 ms"),
    "woodpecker": ("record: 1 kHz", 0.02, (), "0.2 ms"),
    "figure_stands": ("method: auto", 0.1, (), "1 ms"),
    "dominoes": ("contact: stepping, dt: 1 ms", 0.2, FEW, "1 ms"),
}


def shipped(name: str, mode: str, path: Path) -> Path:
    """Record some of a scene in a mode of contacts; fewer dominoes."""
    said, duration, changes, dt = SHIPPED[name]
    how = "contact: event" if mode == "event" else f"contact: stepping, dt: {dt}"
    text = (SCENES / f"{name}.yaml").read_text()
    kept = said if said.startswith("record") or (mode == "event" and "contact" not in said) else ""
    for before, after in ((said, ", ".join(filter(None, [kept, how]))), *changes):
        assert text.count(before) >= 1
        text = text.replace(before, after)
    sim.run(load_text(text, folder=SCENES, trust=True), output=path, duration=duration).close()
    return path


def one_force(file: h5py.File) -> None:
    values = file["contacts/force"][()]
    values[len(values) // 2] *= 1.05
    file["contacts/force"][...] = values


def one_mode(file: h5py.File) -> None:
    values = file["contacts/mode"][()]
    values[len(values) // 2] = 3 - values[len(values) // 2]
    file["contacts/mode"][...] = values


def one_impulse(file: h5py.File) -> None:
    values = file["contacts/impulses/impulse"][()]
    values[np.argmax(np.linalg.norm(values, axis=1))] *= 1.0 + 1e-4
    file["contacts/impulses/impulse"][...] = values


@pytest.mark.parametrize("mode", ["event", "stepping"])
@pytest.mark.parametrize("name", SHIPPED)
def test_scenes_hold_in_both_modes_and_not_where_a_force_an_impulse_or_a_mode_is_changed(name, mode, tmp_path):
    path = shipped(name, mode, tmp_path / "a.h5")
    verdict = sim.verify(path)
    assert verdict.problems == [] and verdict.bit_equal and verdict.contacts is not None and verdict.bars
    assert verdict.instants and (mode == "event") == (verdict.steps is None)
    with h5py.File(path) as file:
        struck = len(file["contacts/impulses/event"])
    for change in (one_force, one_mode, *([one_impulse] if struck else [])):
        changed = Path(shutil.copyfile(path, tmp_path / f"{change.__name__}.h5"))
        with h5py.File(changed, "r+") as file:
            change(file)
        assert found(changed), change.__name__


# --- distances ---------------------------------------------------------------------------------------


def shape(kind: str, size: tuple[float, float, float], **more: object) -> ShapeEntry:
    place = {"position": (0.0, 0.0, 0.0), "quat_wxyz": (1.0, 0.0, 0.0, 0.0), "color": (1.0, 1.0, 1.0, 1.0)}
    return ShapeEntry(body=-1, kind=kind, size=size, **place, **more)


CORNERS = tuple((x, y, z) for x in (-1.0, 1.0) for y in (-2.0, 2.0) for z in (-3.0, 3.0))
FACES = ((0, 1, 2), (1, 3, 2), (4, 6, 5), (5, 6, 7), (0, 4, 1), (1, 4, 5), (2, 3, 6), (3, 7, 6), (0, 2, 4), (2, 6, 4),
         (1, 5, 3), (3, 5, 7))  # fmt: skip


@pytest.mark.fast
@pytest.mark.parametrize(
    ("solid", "point", "far"),
    [
        (shape("plane", (1, 1, 0)), (3.0, 4.0, -0.5), -0.5),
        (shape("sphere", (2, 2, 2)), (0.0, 3.0, 4.0), 3.0),
        (shape("sphere", (2, 2, 2)), (0.0, 0.5, 0.0), -1.5),
        (shape("capsule", (0.5, 0.5, 2)), (0.0, 3.0, 1.0), 2.5),
        (shape("capsule", (0.5, 0.5, 2)), (0.0, 3.0, -5.0), 4.5),
        (shape("box", (2, 4, 6)), (4.0, 6.0, 0.0), 5.0),
        (shape("box", (2, 4, 6)), (0.9, 0.0, 2.0), -0.1),
        (shape("cylinder", (1, 1, 4)), (4.0, 0.0, 6.0), 5.0),
        (shape("cylinder", (1, 1, 4)), (0.0, 0.5, 0.0), -0.5),
        (shape("ellipsoid", (1, 2, 3)), (0.0, 2.0, 0.0), 0.0),
        (shape("ellipsoid", (2, 2, 2)), (0.0, 3.0, 4.0), 3.0),
        (shape("mesh", (2, 4, 6), vertices=CORNERS, triangles=FACES), (1.25, 0.0, 0.0), 0.25),
        (shape("mesh", (2, 4, 6), vertices=CORNERS, triangles=FACES), (0.0, 1.5, 0.0), -0.5),
    ],
)
def test_distances_from_surfaces_are_those_of_geometry(solid, point, far):
    assert distance(solid, np.array([point]))[0] == pytest.approx(far, abs=1e-12)
