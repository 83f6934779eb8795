"""`sim verify` finds what a run passed by: of an engine that overlooks, and of recordings that lack an event."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py
import numpy as np
import pytest

import sim
from sim.analysis.verification.verdict import Verdict
from sim.kernels.watched import DISARMED, GUARD_GAP, GUARD_PROGRAM, GUARD_STOP
from sim.scene.load import load_text
from sim.simulation.flow import Flow

SCENES = Path(__file__).parents[2] / "scenes"
G0 = 9.81

GATE = """
schema: 1
name: gate
world: {gravity: [0, 0, 0]}
bodies: {a: {mass: 1 kg, shapes: [{sphere: {center: [0, 0, 1], radius: 20 mm}}]}}
initial: {a: {velocity: [3, 0, 0]}}
events: {gate: {when: "position('a')[0] > 2 and position('a')[0] < 2 + %s", impulse: {body: a, linear: [-1, 0, 0]}}}
simulate: {duration: 3 s}
"""
DROP = """
schema: 1
name: drop
world: {shapes: [{name: block, box: {center: [0, 0, -0.5], size: [4, 4, 1]}}]}
bodies: {ball: {mass: 1, shapes: [{sphere: {center: [0, 0, 1.1], radius: 0.1}}]}}
contacts: {c: {between: [ball, world]}}
simulate: {duration: 1.2 s}
"""
BALLS = """
schema: 1
name: balls
world: {gravity: [0, 0, 0]}
bodies:
  a: {mass: 0.17 kg, shapes: [{sphere: {center: [0, 0, 1], radius: 28.5 mm}}]}
  b: {mass: 0.17 kg, shapes: [{sphere: {center: [4, 0.02, 1], radius: 28.5 mm}}]}
initial: {a: {velocity: [3, 0, 0]}}
contacts: {c: {between: [a, b]}}
simulate: {duration: 4 s}
"""
STOP = """
schema: 1
name: stop
world: {gravity: [0, 0, 0]}
bodies: {wheel: {mass: 1, com: [0, 0, 0], inertia: [1, 1, 1]}}
joints: {hinge: {type: rotational, parent: world, child: wheel, position: [0, 0, 0], axis: [0, 1, 0], limits: %s}}
initial: {hinge: {coordinate: 0, rate: 2}}
simulate: {duration: 2 s}
"""
SOFT, RIGID = "[-1, 1]", "{range: [-1, 1], stop: rigid}"


@contextmanager
def overlooking(*kinds: int) -> Iterator[None]:
    """Let the engine see no guard of these kinds."""
    advance = Flow._advance

    def overlooks(self: Flow, stop: float, steps: int) -> tuple[int, int]:
        table = self.guards.table
        kept = table.armed.copy()
        table.armed[np.isin(table.kind, kinds)] = DISARMED
        try:
            return advance(self, stop, steps)
        finally:
            table.armed[:] = kept

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Flow, "_advance", overlooks)
        yield


CASES = {
    "condition": (GATE % "15 mm", GUARD_PROGRAM, "gate", 2 / 3, 7.5e-3),
    "timed": (GATE.replace("position('a')[0] > 2 and position('a')[0] < 2 + %s", "t > 0.6 s and t < 0.7 s"),
              GUARD_PROGRAM, "gate", 0.6, 0.05),
    "contact": (BALLS, GUARD_GAP, "a and b", (4 - np.sqrt(0.057**2 - 0.02**2)) / 3, 0.037),
    "thick": (DROP, GUARD_GAP, "block and ball", np.sqrt(2 / G0), 0.6),
    "soft stop": (STOP % SOFT, GUARD_STOP, "hinge reaches its upper stop", 0.5, 3.0),
    "rigid stop": (STOP % RIGID, GUARD_STOP, "hinge reaches its upper stop", 0.5, 3.0),
}  # fmt: skip


def the_missed(verdict: Verdict, name: str) -> sim.analysis.verification.missed.Missed:
    assert not verdict.ok
    (found,) = [missed for missed in verdict.missed if missed.name == name]
    assert any(problem.startswith("missed") and found.sentence in problem for problem in verdict.problems)
    assert verdict.as_data()["missed"][0]["name"] == name
    return found


@pytest.mark.parametrize("case", CASES)
def test_what_an_engine_overlooks_is_told_with_time_and_depth(case: str) -> None:
    text, kind, name, time, depth = CASES[case]
    with overlooking(kind), sim.run(load_text(text)) as recording:
        assert not any(event.kind in ("scene", "impact") for event in recording.events)
        verdict = sim.verify(recording, instants=1)
    found = the_missed(verdict, name)
    assert verdict.bit_equal and verdict.looks > 10
    assert found.time == pytest.approx(time, abs=1e-9)
    assert found.depth == pytest.approx(depth, rel=0.02)


@pytest.mark.parametrize("case", ["wide gate", "thick", "soft stop", "rigid stop"])
def test_what_a_recording_lacks_and_a_rerun_has_is_told_with_time_and_depth(case: str) -> None:
    """A recording of an engine that overlooked it, verified by one that does not."""
    text, kind, name, time, depth = (CASES | {"wide gate": (GATE % "3 m", GUARD_PROGRAM, "gate", 2 / 3, 1.5)})[case]
    with overlooking(kind), sim.run(load_text(text)) as recording:
        assert not len(recording.events)
    with overlooking(kind):
        recording = sim.run(load_text(text))
    with recording:
        verdict = sim.verify(recording, instants=1)
    found = the_missed(verdict, name)
    assert any("happens in a rerun, and is not in the recording" in problem for problem in verdict.problems)
    assert found.time == pytest.approx(time, abs=1e-9)
    assert found.depth == pytest.approx(depth, rel=0.02)


def without(file: h5py.File, event: int) -> None:
    """Take one event out of a recording of which none gives joints an impulse."""
    for name, data in dict(file["events"]).items():
        kept, attributes = np.delete(data[()], event, axis=0), dict(data.attrs)
        del file["events"][name]
        file["events"][name] = kept
        file["events"][name].attrs.update(attributes)


@pytest.mark.parametrize("event", [0, -1])
def test_an_event_that_was_taken_out_is_told(tmp_path: Path, event: int) -> None:
    text = GATE.replace("simulate", "  again: {at: 1 s, impulse: {body: a, linear: [0, 1, 0]}}\nsimulate") % "3 m"
    text = text.replace("events: {", "events:\n  ").replace("[-1, 0, 0]}}}", "[-1, 0, 0]}}")
    sim.run(load_text(text), output=tmp_path / "a.h5").close()
    assert sim.verify(tmp_path / "a.h5").ok
    shutil.copyfile(tmp_path / "a.h5", tmp_path / "b.h5")
    with h5py.File(tmp_path / "b.h5", "r+") as file:
        without(file, event)
    verdict = sim.verify(tmp_path / "b.h5", instants=1)
    name, when = ("gate", "0.666667") if event == 0 else ("again", "1")
    assert any(
        problem.startswith(f"missed: event {name!r} at t = {when} s happens in a rerun, and is not in the recording")
        for problem in verdict.problems
    ), verdict.problems


@pytest.mark.parametrize(
    ("name", "duration"), [("bouncing_ball", 2.0), ("rocking_block", 1.0), ("newtons_cradle", 0.6), ("rope", 1.0)]
)
def test_scenes_that_miss_nothing_raise_no_alarm(name: str, duration: float) -> None:
    with sim.run(sim.load(SCENES / f"{name}.yaml"), duration=duration) as recording:
        verdict = sim.verify(recording, instants=1)
    assert verdict.problems == [] and verdict.missed == []
    assert verdict.bit_equal and verdict.looks > 50
