"""What seldom happens, part by part: no key, no affinity of processes, a process that cannot be asked, cycles."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest

import sim
from sim.assembly import loop_closure
from sim.assembly.loop_closure import close_positions
from sim.assembly.start import start
from sim.kernels.project import add_freedoms
from sim.mechanism.compiler import _only_in_a_cycle, compile
from sim.mechanism.mechanism import Mechanism
from sim.plugin import Controller, parameter, schema_of
from sim.recording import drafts
from sim.scene.load import load_text
from sim.simulation import ensemble
from tests.assembly.test_branches import PARALLELOGRAM, four_bar, problems

pytestmark = pytest.mark.fast


def test_cores_are_those_that_the_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {2, 5, 7}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 12)
    assert ensemble._cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    assert ensemble._cores() == 12
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert ensemble._cores() == 1


@pytest.mark.parametrize("error", [PermissionError, OverflowError])
def test_a_process_that_cannot_be_asked_may_live(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(process: int, signal: int) -> None:
        raise error

    monkeypatch.setattr(os, "kill", refuse)
    assert drafts._lives(4, 1e18)


def test_the_schema_of_a_controller_is_made_of_its_fields() -> None:
    @dataclasses.dataclass(kw_only=True)
    class Mine(Controller):
        """Pushes.

        As long as it is told to.
        """

        strength: float = parameter(kind="number", unit="N m", about="how hard", minimum=0.5)
        way: str = parameter("up", kind="text", about="where to", choices=("up", "down"))
        many: list[float] = parameter([1.0], kind="numbers", about="some")  # noqa: RUF009
        joints: tuple[str, ...] = parameter(kind="joints", about="of which")

    assert schema_of(Mine) == {
        "title": "Mine", "description": "Pushes.", "type": "object", "required": ["strength", "joints"],
        "properties": {
            "strength": {"description": "how hard [N m]", "type": ["number", "string"]},
            "way": {"description": "where to", "type": ["string"], "enum": ["up", "down"], "default": "up"},
            "many": {"description": "some", "type": ["array"]},
            "joints": {"description": "of which", "type": ["string", "array"]},
        },
    }  # fmt: skip
    assert Mine(strength=1.0, joints=()).many == [1.0]
    assert Mine(strength=1.0, joints=()).many is not Mine(strength=1.0, joints=()).many


JOINT = "{{type: rotational, parent: {}, child: {}, position: [0, 0, 0], axis: [0, 1, 0]}}"


@pytest.mark.parametrize(
    ("joints", "cyclic"),
    [
        ("ab bc ca", "abc"), ("wa ab bc", ""), ("ab ba bc", "ab"), ("ab bc cd db", ""),
        ("bc cd db ab", "bcd"), ("ab bd db wd", ""),
    ],
)  # fmt: skip
def test_bodies_that_only_hold_each_other_are_found(joints: str, cyclic: str) -> None:
    """A body is held by the first joint whose child it is."""
    pairs = joints.split()
    names = sorted(set("".join(pairs)) - {"w"})
    lines = [
        f"  j{k}: " + JOINT.format("world" if pair[0] == "w" else pair[0], pair[1]) for k, pair in enumerate(pairs)
    ]
    bodies = ", ".join(f"{name}: {{mass: 1, com: [0, 0, 0], inertia: [1, 1, 1]}}" for name in names)
    scene = load_text("\n".join(["schema: 1", "name: ring", f"bodies: {{{bodies}}}", "joints:", *lines, ""]))
    assert "".join(name for name in names if _only_in_a_cycle(scene, name)) == cyclic


SWITCHED = """
schema: 1
name: switched
world: {gravity: [0, 0, 0]}
bodies: {a: {mass: 1, com: [0, 0, 0], inertia: [1, 1, 1]}}
joints: {hub: {type: rotational, parent: world, child: a, position: [0, 0, 0], axis: [0, 0, 1]}}
"""


def test_a_key_that_is_pressed_before_all_else_comes_after_what_is_due_at_the_start() -> None:
    events = "events: {begins: {at: 0 s, set: {hub: {rate: 1}}}, k: {key: k, set: {hub: {rate: 3}}}}\n"
    simulator = sim.Simulator(compile(load_text(SWITCHED + events)))
    simulator.trigger("k")
    assert simulator.rate["hub"] == 3.0
    simulator.advance(0.5)
    assert simulator.coordinate["hub"] == pytest.approx(1.5, abs=1e-9)
    with pytest.raises(sim.SimulationError, match=r"no event waits for the key 'k'; keys of this scene: none$"):
        sim.Simulator(compile(load_text(SWITCHED))).trigger("k")
    with pytest.raises(sim.SimulationError, match=r"no event waits for the key 'k'; keys of this scene: none$"):
        sim.run(load_text(SWITCHED), duration=0.1, triggers=[("k", 0.05)])


def test_what_cannot_be_recorded_leaves_no_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []

    def full(*_: float) -> None:
        begun.extend(tmp_path.iterdir())
        raise sim.RecordingError("the disk is full")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(sim.RecordingError, match="the disk is full"):
        sim.run(load_text(SWITCHED), duration=0.1, progress=full)
    assert begun and list(tmp_path.iterdir()) == []


def test_a_guess_near_which_no_pose_closes_is_refused_at_its_place() -> None:
    (problem,) = problems(four_bar("{pivot: 10 deg, drive: 120 deg, link: {near: 0.5}, pin: {near: 0}}"))
    assert problem.path == "initial.link" and problem.where is not None
    assert problem.source_line[problem.where.column - 1 :].startswith("{near: 0.5}")
    assert problem.what == (
        "no pose was found near this guess, with 'pivot', 'drive' as written, in which the loops are closed"
    )
    assert problem.hint == "give a guess that is nearer, or other values"


@pytest.mark.parametrize("fixed", [[], [0], [0, 1, 2]])
def test_large_mechanisms_are_closed_as_small_ones_are(fixed: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """By the elimination of a run or by dense matrices: closed, what is fixed as it was, else told that it is not."""
    model = compile(load_text(PARALLELOGRAM))
    begun = start(model)
    mechanism = Mechanism.of(model, begun.structure)
    n = begun.structure.sizes.v
    mask, off = np.zeros(n, bool), begun.q.copy()
    mask[fixed] = True
    add_freedoms(begun.structure.tables.links, np.array([0.03, -0.02, 0.05][:n]), 1.0, off)
    ends = []
    for large in (n - 1, n):
        monkeypatch.setattr(loop_closure, "LARGE", large)
        q = off.copy()
        closed = close_positions(mechanism, q, mask)
        assert closed == (len(fixed) < n)
        assert np.array_equal(q[mask], off[mask])
        worst = np.abs(mechanism.work.rows.phi[mechanism.hard()]).max()
        assert (worst < 1e-11) == closed
        mechanism.update(q, np.zeros(n))
        assert np.abs(mechanism.work.rows.phi[mechanism.hard()]).max() == worst
        ends.append(q)
    assert ends[0] == pytest.approx(ends[1], abs=2e-3)  # the same pose, but for what is nearest in two metrics
