"""A scene run again: what is kept of it, which rows are looked at and when it ends; and how its start is pushed."""

from __future__ import annotations

from types import SimpleNamespace as Made

import numpy as np
import pytest

from sim.analysis.verification import verifier
from sim.analysis.verification.rerun import Rerun, _direction, _Enough, _Memory, _push, rerun
from sim.analysis.verification.verdict import Verdict
from sim.mechanism.compiler import compile
from sim.scene.load import load_text
from sim.simulation.journal import EventRecord
from sim.simulation.simulator import Simulator


def block(first: float, count: int) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    return {"time": first + np.arange(count, dtype=float)}, np.full((count, 2), first), np.full((count, 1), -first)


@pytest.mark.fast
def test_rows_are_looked_at_once_their_block_is_there() -> None:
    looked: list[tuple[int, int, str]] = []
    memory = _Memory([7, 2, 3, 0], lambda row, simulator: looked.append((row, memory.count, simulator)), np.inf)
    memory.rows(*block(0.0, 1))  # no simulator yet: there is nothing to look at
    memory.simulator = "it"  # type: ignore[assignment]
    assert looked == [] and memory.wanted == [2, 3, 7]
    memory.rows(*block(1.0, 2))
    assert looked == [(2, 3, "it")]
    memory.rows(*block(3.0, 4))
    memory.rows(*block(7.0, 1))
    assert looked == [(2, 3, "it"), (3, 7, "it"), (7, 8, "it")] and memory.wanted == []
    assert [first for first, _, _ in memory.states] == [0, 1, 3, 7] and len(memory.blocks) == 4
    memory.contacts({"row": np.array([0, 0, 1]), "pair": np.array([4, 5, 6])})
    assert memory.touches[0]["row"].tolist() == [8, 8, 9] and memory.touches[0]["pair"].tolist() == [4, 5, 6]
    happening = EventRecord(1.0, "hit", "scene")
    memory.event(happening)
    memory.epoch(["a"], [], 2, 1)
    assert memory.events == [happening]


@pytest.mark.fast
def test_it_ends_once_a_row_is_past_the_last_instant() -> None:
    memory = _Memory([], None, 4.0)
    memory.rows(*block(0.0, 5))  # up to 4, and no further
    with pytest.raises(_Enough):
        memory.rows(*block(5.0, 1))
    assert memory.count == 6 and len(memory.blocks) == 2


TEXT = """
schema: 1
bodies:
  cart: {mass: 2 kg, com: [0, 0, 0], inertia: [1, 1, 1]}
  rod: {mass: 1 kg, com: [0, 0, -1], inertia: [1, 1, 1], shapes: [{capsule: {from: [0, 0, 0], to: [0, 0, -3], radius: 1 cm}}]}
joints:
  slide: {type: translational, parent: world, child: cart, position: [0, 0, 0], axis: [1, 0, 0]}
  hinge: {type: rotational, parent: cart, child: rod, position: [0, 0, 0], axis: [0, 1, 0]}
initial: {hinge: {coordinate: 0.5, rate: 0.25}}
events: {hit: {at: 0.1 s, impulse: {body: cart, linear: [1, 0, 0]}}}
simulate: {duration: 0.2 s, record: 50 Hz}
"""  # noqa: E501


def test_a_push_is_of_the_size_that_is_wanted_and_the_same_in_every_run() -> None:
    """The largest of a slide, over the length of the model, and of a turn is the size."""
    model = compile(load_text(TEXT))
    simulator, other = Simulator(model), Simulator(model)
    for seed in (5, 6):
        direction = _direction(simulator, seed)
        slide, turn = np.abs(direction) / [model.length, 1.0]
        assert max(slide, turn) == pytest.approx(1.0, abs=1e-14) and min(slide, turn) > 1e-3
        assert np.array_equal(direction, _direction(other, seed))
        expected = np.random.default_rng(seed).normal(size=2)
        assert direction == pytest.approx(expected / np.abs(expected).max() * [model.length, 1.0])
    q, v = simulator.flow.q.copy(), simulator.flow.v.copy()
    _push(simulator, 1e-3)
    assert simulator.flow.q - q == pytest.approx(1e-3 * _direction(other, 5), rel=1e-9)
    assert simulator.flow.v - v == pytest.approx(1e-3 * _direction(other, 6), rel=1e-9)


def test_a_rerun_gives_the_rows_of_the_run_and_ends_where_it_should() -> None:
    model = compile(load_text(TEXT))
    told: list[int] = []
    whole = rerun(model, 0.2, rows=[3, 5], look=lambda row, simulator: told.append(row))
    assert told == [3, 5] and whole.ended == "" and (whole.missed, whole.looks) == ([], 0)
    assert whole.time[-1] == pytest.approx(0.2) and [one.name for one in whole.events] == ["hit"]
    assert all(len(values) == len(whole.time) for values in whole.values.values()) and whole.touches == {}
    assert sum(len(q) for _, q, _ in whole.states) == len(whole.time)
    part = rerun(model, 0.2, last=0.05)
    assert part.time[-1] > 0.05 and np.array_equal(part.time, whole.time[: len(part.time)])
    for name, values in part.values.items():
        assert np.array_equal(values, whole.values[name][: len(part.time)], equal_nan=True), name
    pushed = rerun(model, 0.2, push=1e-4)
    off = np.abs(pushed.values["joints/coordinate"][0] - whole.values["joints/coordinate"][0])
    assert off.max() > 0.5e-4 and off.max() < 1.5e-4 * max(model.length, 1.0)


def seen(**settings: object) -> Made:
    return Made(
        recording=Made(
            settings=settings, complete=settings.pop("complete", True), begun=None, time=np.array([0.0, 1.5])
        ),
        model="model",
    )


@pytest.mark.fast
def test_a_rerun_has_the_settings_of_the_recording(monkeypatch) -> None:
    asked: list[dict] = []
    monkeypatch.setattr(verifier, "rerun", lambda model, **given: asked.append(given))
    scene = Made(simulate=Made(duration=9.0))
    verifier._again(seen(duration=2, seed=7, triggers=[["go", 1], ["stop", 1.5]]), scene)("model", rows=[1])
    verifier._again(seen(complete=False), scene)("model")
    assert asked == [
        {
            "duration": 2.0,
            "seed": 7,
            "triggers": [("go", 1.0), ("stop", 1.5)],
            "last": np.inf,
            "start": None,
            "rows": [1],
        },
        {"duration": 9.0, "seed": None, "triggers": [], "last": 1.5, "start": None},
    ]


@pytest.mark.fast
def test_a_rerun_that_ends_early_is_a_problem_where_the_recording_does_not(monkeypatch) -> None:
    monkeypatch.setattr(verifier, "choose", lambda seen, count: [])
    for complete, ended, problems in (
        (True, "it broke", ["the rerun as recorded ended early: it broke"]), (True, "", []), (False, "it broke", []),
    ):  # fmt: skip
        out = Verdict("s", "r", "p", 1, 0.0)
        verifier._note_end(seen(complete=complete), out, Rerun(ended=ended), "as recorded")
        assert out.problems == problems
        told, run = Verdict("s", "r", "p", 1, 0.0), Rerun(ended=ended)
        verifier._repeat(seen(complete=complete), told, lambda *_, run=run, **__: run, lambda how: None, 0, None)
        assert told.problems == problems


@pytest.mark.fast
@pytest.mark.parametrize(
    ("pairs", "rigid", "friction", "constraints", "told"),
    [
        ((), False, 0.0, {}, ""),
        (("p",), False, 0.0, {}, "contacts"),
        ((), True, 0.0, {}, "rigid stops or friction of joints"),
        ((), False, 0.5, {}, "rigid stops or friction of joints"),
        ((), False, 0.5, {3: "wheel"}, ""),
        ((), False, 0.5, {2: "wheel"}, "rigid stops or friction of joints"),
    ],
)
def test_what_acts_in_one_direction_alone_is_named(pairs, rigid, friction, constraints, told) -> None:
    columns = Made(joint=np.array([2, 3]), friction=np.array([0.0, friction]))
    model = Made(pairs=pairs, stops=Made(rigid=np.array([False, rigid])), columns=columns, constraints=constraints)
    assert verifier._one_sided(Made(model=model)) == told


@pytest.mark.parametrize(
    ("rtol", "method", "tight", "controlled", "push"),
    [
        (1e-8, "dop853", 1e-10, "dop853", 1e-7),
        (1e-12, "radau", 1e-13, "radau", 1e-7),
        (1.5e-13, "auto", 0.75e-13, "auto", 1e-7),
        (1e-5, "variational", 1e-7, "dop853", 1e-5),
        (1e-5, "rk4", 1e-7, "dop853", 1e-5),
    ],
)
def test_the_other_reruns_are_tighter_and_apart(monkeypatch, rtol, method, tight, controlled, push) -> None:
    scene = load_text(TEXT.replace("duration: 0.2 s", f"duration: 0.2 s, rtol: {rtol}, method: {method}"))
    asked: list[tuple] = []

    def again(model, **given):
        simulate = getattr(model, "scene", scene).simulate
        asked.append((simulate.rtol, simulate.method, given.get("push"), given.get("finely"), given["tell"]))
        return Rerun()

    out = Verdict("s", "r", "p", 1, 0.0)
    start = Made(recording=Made(complete=True), model=compile(scene), mass=np.ones(301))
    verifier._run_again(start, scene, out, again, 20, lambda name: name)
    assert out.tolerances == (rtol, pytest.approx(tight, rel=1e-12))
    assert out.fixed == (f"{method} with steps of 0.001 s" if controlled != method else "")
    assert asked == [
        (rtol, method, None, True, "as recorded"), (pytest.approx(tight), controlled, None, None, f"rtol {tight:.0e}"),
        (pytest.approx(tight), controlled, push, None, "from a start apart"),
    ]  # fmt: skip
