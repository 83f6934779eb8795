"""What the events of one instant do together, and what they ask in vain: around a run that is made by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sim.simulation import actions
from sim.simulation.actions import Actions, Sum
from sim.simulation.journal import EventRecord
from sim.simulation.simulation_error import SimulationError
from sim.simulation.structure_changes import ChangeError

pytestmark = pytest.mark.fast

JOINTS = ["a", "b", "c", "gear"]
GEAR = 3  # ties a and b


def act(kind: str, *targets: str, either: bool = False, values: tuple[Any, ...] = ()) -> Any:
    return SimpleNamespace(kind=kind, targets=targets, either=either, values=values)


def event(name: str, *acts: Any, key: str | None = None, at: float | None = None, when: str | None = None) -> Any:
    return SimpleNamespace(
        name=name, actions=acts, key=key, at=at, when=when, caption=f"{name}!", place=f"a.yaml:{len(name)}"
    )


class Run:
    """A run with joints a, b and c and a gear that ties the first two; some of them are active, or there.

    log : what is asked of its parts
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, active: str = "", *, waiting: bool = False):
        self.log: list[Any] = []
        log = self.log.append
        joints = frozenset(JOINTS.index(name) for name in active.split())
        model = SimpleNamespace(
            joint_names=JOINTS, body_names=["world", "body"], constraints={GEAR: SimpleNamespace(name="law")},
            waiting=frozenset({GEAR} if waiting else ()), tied=lambda j: {0, 1} if j == GEAR else set(),
            scene=SimpleNamespace(contacts=()), one_sided=True, columns=SimpleNamespace(joint=np.array([0, 1, 1, 2])),
        )  # fmt: skip
        control = SimpleNamespace(enabled=np.zeros(3, int), held=np.ones(4))
        flow = SimpleNamespace(
            t=0.5, active=joints, present=lambda: set(joints), frames="frames", control=control,
            book=lambda *amounts: log(("books", *amounts)), arm=lambda scheduler: log("arms"),
            restart=lambda: log("restarts"),
        )  # fmt: skip
        state = SimpleNamespace(enabled={"other"}, stopped=False)
        self.sampled = [
            SimpleNamespace(use=SimpleNamespace(name=name), state=SimpleNamespace(torque=torque * np.ones(4)))
            for name, torque in (("law", 2.0), ("other", 3.0), ("off", 5.0))
        ]
        self.told: set[str] = set()
        scheduler = SimpleNamespace(
            state=state, tell_once=lambda event, texts: [t for t in texts if t not in self.told]
        )
        modes = SimpleNamespace(
            switch=lambda names, on: log(("switch", *names, on)), forget=lambda columns: log(("forgets", *columns))
        )
        self.here: Any = SimpleNamespace(
            model=model, flow=flow, scheduler=scheduler, contact_modes=modes,
            controllers=SimpleNamespace(slots={"law": [0, 2]}, sampled=self.sampled),
        )  # fmt: skip
        monkeypatch.setattr(actions, "joint_named", lambda model, name: 2 if name == "body" else JOINTS.index(name))
        self.actions = Actions(self.here, None)  # type: ignore[arg-type]

    def changed(self, *events: Any) -> tuple[set[int], set[int]] | None:
        """Return what is connected and cut; None where nothing is."""
        found: list[Any] = []
        self.actions.restructure = lambda *asked: found.append(asked[:2])  # type: ignore[method-assign]
        self.actions._change(list(events))
        assert len(found) <= 1
        return found[0] if found else None

    def vain(self, one: Any, *others: Any) -> list[str]:
        return self.actions._in_vain(one, [one, *others], self.here.flow.active)


@pytest.mark.parametrize(("active", "acts", "expected"), [
    ("a", [act("connect", "b")], ({1}, set())), ("a", [act("connect", "a")], None),
    ("a", [act("cut", "a")], (set(), {0})), ("", [act("cut", "a")], None),
    ("a", [act("cut", "a"), act("connect", "a")], None),
    ("a", [act("cut", "a"), act("connect", "b", "c")], ({1, 2}, {0})),
    ("", [act("cut", "a"), act("connect", "a")], ({0}, set())),
    ("a b", [act("enable", "law")], ({3}, set())), ("a", [act("enable", "law")], None),
    ("a", [act("enable", "law"), act("connect", "b")], ({1, 3}, set())),
    ("a b gear", [act("disable", "law")], (set(), {3})), ("a b", [act("enable", "other")], None),
    ("a b", [act("enable", "law"), act("cut", "a")], (set(), {0})),
])  # fmt: skip
def test_changes_of_an_instant_are_one(
    active: str, acts: list[Any], expected: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is as it is wanted stays; a constraint is enabled by its name, where what it ties is there."""
    together = Run(monkeypatch, active).changed(event("e", *acts))
    assert together == expected == Run(monkeypatch, active).changed(*(event("e", one) for one in acts))


def test_a_constraint_that_waits_for_its_contact_is_not_connected_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Run(monkeypatch, "a b", waiting=True).changed(event("e", act("enable", "law"))) is None


@pytest.mark.parametrize(("active", "one", "others", "said"), [
    ("a", act("cut", "a"), [], []), ("a", act("cut", "a", "b"), [], ["joint 'b' is not connected, so it is not cut"]),
    ("", act("cut", "b"), [act("connect", "b")], []),
    ("a", act("cut", "a", "b", either=True), [], []),
    ("", act("cut", "a", "b", either=True), [], ["none of 'a', 'b' is connected: nothing is cut"]),
    ("a", act("connect", "a", "b"), [], ["joint 'a' is connected already"]),
    ("a", act("connect", "a"), [act("cut", "a")], []), ("a", act("set", "a"), [], []),
    ("a", act("set", "a", "body"), [], ["joint 'body' is not connected, so it has no value to set"]),
    ("a b", act("enable", "law"), [], []), ("a", act("enable", "other"), [], []),
    ("", act("enable", "law"), [], [f"joint {n!r} is not connected, so 'gear' does not tie it" for n in "ab"]),
    ("b", act("enable", "law"), [], ["joint 'a' is not connected, so 'gear' does not tie it"]),
    ("", act("disable", "law"), [], []), ("", act("touch", "a"), [], []),
])  # fmt: skip
def test_what_is_asked_of_joints_that_are_not_there_is_told(
    active: str, one: Any, others: list[Any], said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Run(monkeypatch, active).vain(event("e", one), *(event("f", other) for other in others)) == said


def test_what_an_instant_did_stands_with_its_first_event(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(monkeypatch, "a")
    total, done = Sum(3.0, 2.0, 5.0, np.ones((2, 6)), ["brought together"], (1,)), list[Any]()
    run.actions._change = lambda events: total  # type: ignore[method-assign]
    run.actions._act = lambda event, action, total: done.append((event.name, action.kind))  # type: ignore[method-assign]
    events = [
        event("first", act("cut", "b"), act("stop")), event("second", act("cut", "c"), key="k"),
        event("third", key="k", at=1.0), event("fourth", key="k", when="t > 1"),
    ]  # fmt: skip
    lines = run.actions.do(events)
    assert done == [("first", "cut"), ("first", "stop"), ("second", "cut")]
    assert run.log == [("books", 3.0, 2.0), "arms"]
    assert [(one.time, one.name, one.kind, one.caption) for one in lines] == [
        (0.5, "first", "scene", "first!"), (0.5, "second", "key", "second!"), (0.5, "third", "scene", "third!"),
        (0.5, "fourth", "scene", "fourth!"),
    ]  # fmt: skip
    gone = "joint {!r} is not connected, so it is not cut"
    assert [one.text for one in lines] == [f"brought together; {gone.format('b')}", gone.format("c"), "", ""]
    first = lines[0]
    assert (first.lost, first.impulse, first.bound, first.frames) == (3.0, 5.0, (1,), "frames")
    assert first.through is total.through
    assert all(
        (one.lost, one.impulse, one.bound, one.frames, one.through) == (0.0, 0.0, (), None, None) for one in lines[1:]
    )
    total.bound, total.notes, run.told = (), [], {gone.format("b")}
    again = run.actions.do(events[:1])[0]
    assert again.frames is None and again.text == "" and run.actions.do([]) == []
    assert isinstance(again, EventRecord)


def test_a_change_that_cannot_be_made_names_its_events(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(monkeypatch)

    def refuse(events: list[Any]) -> Sum:
        raise ChangeError("it cannot")

    run.actions._change = refuse  # type: ignore[method-assign]
    with pytest.raises(SimulationError) as error:
        run.actions.do([event("one"), event("three")])
    assert str(error.value) == "t = 0.5 s: event 'one', 'three' (a.yaml:3, a.yaml:5): it cannot" and run.log == []


def test_controllers_and_rules_are_switched_and_runs_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """What sampled controllers hold is that of those that are on."""
    run = Run(monkeypatch)
    control, state = run.here.flow.control, run.here.scheduler.state
    run.actions._act(event("e"), act("enable", "law", "missing"), Sum())
    assert control.enabled.tolist() == [1, 0, 1] and state.enabled == {"law", "other", "missing"}
    assert control.held.tolist() == [5.0] * 4 and run.log == ["restarts"]
    run.actions._act(event("e"), act("disable", "law", "off"), Sum())
    assert control.enabled.tolist() == [0, 0, 0] and state.enabled == {"other", "missing"}
    assert control.held.tolist() == [3.0] * 4 and not state.stopped
    run.log.clear()
    for kind, on in (("touch", True), ("release", False)):
        run.actions._act(event("e"), act(kind, "rule"), Sum())
        assert run.log.pop() == ("switch", "rule", on)
    run.actions._act(event("ends"), act("stop"), Sum())
    assert state.stopped == "ends" and not run.log


@pytest.mark.parametrize("contacts", [True, False])
def test_values_are_set_of_joints_that_are_there_and_what_that_takes_is_put_in(
    contacts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, energies, total = Run(monkeypatch, "a c"), iter((3.0, 10.0)), Sum(given=1.0)
    run.here.model.scene.contacts, run.here.contact_modes.state = (1,) * contacts, SimpleNamespace(rules=[True])
    now = SimpleNamespace(mechanism=SimpleNamespace(energy=lambda: next(energies)), q="q", v="v")
    run.here.flow.instant, run.here.flow.take = lambda: now, lambda *asked: run.log.append(asked)
    monkeypatch.setattr(actions, "set_values", lambda mechanism, *asked: run.log.append(asked))
    run.actions._act(event("e"), act("set", "a", "b", "c", values=(7, 8, 9)), total)
    assert run.log == [("q", "v", {"a": 7, "c": 9}, [True] if contacts else ()), (now, "v")]
    assert total == Sum(given=8.0)


def test_impulses_strike_one_body_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    run, total = Run(monkeypatch), Sum()
    run.actions._strike = lambda *asked: run.log.append(asked)  # type: ignore[method-assign]
    run.actions._act(event("e"), act("impulse", "p", "q", values=((1, 2, 3), (4, 5, 6))), total)
    assert run.log == [("p", 1, 2, 3, total), ("q", 4, 5, 6, total)]
    assert total == Sum(0.0, 0.0, 0.0, None, [], ())


@pytest.mark.parametrize("one_sided", [True, False])
def test_what_is_connected_anew_forgets_what_was_held_and_how_it_met_its_stops(
    one_sided: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(monkeypatch)
    run.here.model.one_sided = one_sided
    run.actions._forget(frozenset({1}))
    assert run.here.flow.control.held.tolist() == [1.0, 0.0, 0.0, 1.0]
    assert [item.state.torque.tolist() for item in run.sampled] == [[x, 0.0, 0.0, x] for x in (2.0, 3.0, 5.0)]
    assert run.log == ([("forgets", 1, 2)] if one_sided else [])


def test_impulses_of_joints_add_up() -> None:
    total, one = Sum(), np.arange(12.0).reshape(2, 6)
    total.carry(one)
    assert total.through is one
    total.carry(10.0 * one)
    assert np.array_equal(total.through, 11.0 * one) and one[1, 5] == 11.0


def test_rotors_that_are_connected_would_have_the_energy_of_their_armatures() -> None:
    columns = SimpleNamespace(armature=np.array([0.5, 2.0, 0.0, 3.0]))
    model = SimpleNamespace(columns=columns, columns_of=lambda joint: slice(joint, joint + 2))
    after = SimpleNamespace(
        model=model, mechanism=SimpleNamespace(work=SimpleNamespace(rate=np.array([4.0, -3.0, 9, 1])))
    )
    assert actions._rotor_energy(after, set()) == 0.0
    assert actions._rotor_energy(after, {0}) == 0.5 * (0.5 * 16 + 2 * 9)
    assert actions._rotor_energy(after, {0, 2}) == 0.5 * (0.5 * 16 + 2 * 9) + 0.5 * 3.0
