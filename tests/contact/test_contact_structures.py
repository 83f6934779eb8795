"""Which structure a run goes on with after a decision on contacts: around parts that are made by hand."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import numpy as np
import pytest

from sim.kernels.shapes import SLIP, SLOW_SLIP, STICK
from sim.mechanism.active_bound import ActiveBound
from sim.simulation import contact_structures
from sim.simulation.contact_structures import ContactStructures, bounds_something, chosen_grip

pytestmark = [pytest.mark.contact, pytest.mark.fast]


def model_of(stops: int = 0, friction: Any = (0.0, 0.0)) -> Any:
    return Made(stops=[None] * stops, columns=Made(friction=np.array(friction, float)), constraints={})


@pytest.mark.parametrize(
    ("stops", "friction", "something"),
    [(0, (0.0, 0.0), False), (1, (0.0, 0.0), True), (0, (0.0, 0.5), True), (0, (), False)],
)
def test_freedoms_have_bounds_by_stops_or_by_friction(stops: int, friction: Any, something: bool) -> None:
    assert bounds_something(model_of(stops, friction)) == something


def test_pairs_that_may_touch_are_found_anew_where_joints_or_rules_change(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def found(mechanism: Any, rules: Any) -> dict[int, int]:
        asked.append(rules)
        return {len(asked): 0}

    monkeypatch.setattr(contact_structures, "meetings", found)
    structures, trees = ContactStructures(model_of()), [object(), object()]
    nows: Any = [Made(structure=Made(tree=tree), mechanism="it") for tree in trees]
    for now, active, met in (
        (0, [True, False], 1), (0, [True, False], 1), (0, [True, True], 2), (1, [True, True], 3), (1, [True, True], 3),
        (0, [True, True], 4),
    ):  # fmt: skip
        assert structures.meetings(nows[now], active) == {met: 0}
    assert asked == [(True, False), (True, True), (True, True), (True, True)]


def test_an_instant_keeps_where_freedoms_are_where_decisions_ask_for_that(monkeypatch: pytest.MonkeyPatch) -> None:
    class Work(Made):
        def _replace(self, coordinate: np.ndarray) -> Any:
            return Work(coordinate=coordinate)

    monkeypatch.setattr(contact_structures, "Mechanism", lambda *parts: Made(parts=parts, work=parts[2]))
    monkeypatch.setattr(contact_structures, "replace", lambda now, mechanism: mechanism)
    work = Work(coordinate=np.array([1.0, 2.0]))
    flow: Any = Made(mechanism=Made(work=work), control="control", t=0.5)
    now: Any = Made(model="model", structure="structure")
    assert ContactStructures(model_of()).looked_at(flow, now) is flow.mechanism
    own: Any = ContactStructures(model_of(stops=1)).looked_at(flow, now)
    work.coordinate[:] = 9.0
    assert own.work.coordinate.tolist() == [1.0, 2.0]
    assert own.parts == ("model", "structure", own.work, "control", 0.5)


class Taking:
    """A run that writes down what it takes over, and points whose ways are straight after so many looks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, crooked: int = 0, beyond: Any = (), chosen: str = ""):
        self.log: list[Any] = []
        self.looks, self.crooked, self.beyond = 0, crooked, list(beyond)
        log = self.log.append
        self.flow: Any = Made(
            take=lambda after, v: log(("takes", *after, v)), rub=lambda friction: log(("rubs", friction)),
            observe=lambda: log("observes"), work=Made(points="points"), torques_beyond=self._beyond,
        )  # fmt: skip
        self.structures = ContactStructures(model_of())
        self.structures.of = lambda bare, touches, rules, bounds: (bare.name, touches, rules, bounds)  # type: ignore
        monkeypatch.setattr(contact_structures, "active_bounds", lambda mechanism, bounded: tuple(bounded))
        monkeypatch.setattr(contact_structures, "friction_of_moving", lambda model, bounded: len(bounded))
        monkeypatch.setattr(contact_structures, "straighten_slow_slip", self._straight)
        monkeypatch.setattr(contact_structures, "chosen_grip", lambda flow: chosen)
        monkeypatch.setattr(
            contact_structures, "eased", lambda bounded, beyond: [one for one in bounded if one not in beyond]
        )

    def _straight(self, points: Any, closed: list[Any], last: bool) -> list[Any]:
        assert points == "points"
        self.looks += 1
        self.log.append(("straight", last))
        return closed if last or self.looks > self.crooked else list(closed)

    def _beyond(self) -> Any:
        self.log.append("beyond")
        return self.beyond.pop(0) if self.beyond else ()

    def take(self, closed: list[Any], bounded: list[Any], rounds: int = 3) -> str:
        bare: Any = Made(name="bare", mechanism="mechanism")
        return self.structures.take(self.flow, bare, closed, bounded, "rules", "v", rounds)  # type: ignore[arg-type]


def test_a_decision_is_taken_over_at_once_where_all_is_straight(monkeypatch: pytest.MonkeyPatch) -> None:
    run, points = Taking(monkeypatch), [Made(mode=STICK), Made(mode=SLIP)]
    assert run.take(points, ["a", "b"]) == ""
    taken = ("takes", "bare", tuple(points), "rules", ("a", "b"), "v")
    assert run.log == [taken, ("rubs", 2), ("straight", False), "beyond"]


def test_ways_of_slow_slips_are_straightened_five_times_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    for crooked, lasts in ((0, [False]), (2, [False] * 3), (9, [False] * 5 + [True])):
        run = Taking(monkeypatch, crooked=crooked)
        run.take([Made(mode=STICK), Made(mode=SLOW_SLIP)], [])
        assert [entry[1] for entry in run.log if entry[0] == "straight"] == lasts
        assert run.log.count("observes") == len(lasts)


@pytest.mark.parametrize(
    ("beyond", "rounds", "rubbed"),
    [([], 3, [2]), (["a"], 3, [2, 1]), (["a", "b"], 3, [2, 1, 0]), (["a", "b"], 2, [2, 1]), (["a", "b"], 1, [2])],
)
def test_what_is_held_by_too_much_moves(
    beyond: Any, rounds: int, rubbed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until nothing is held by more than its friction, so many times at most."""
    run = Taking(monkeypatch, beyond=beyond)
    assert run.take([], ["a", "b"], rounds) == ""
    assert [entry[1] for entry in run.log if entry[0] == "rubs"] == rubbed


def test_a_force_that_is_a_choice_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Taking(monkeypatch, beyond=["a"], chosen="it lets go")
    assert run.take([], ["a"]) == "it lets go" and run.log.count("beyond") == 1


@pytest.mark.parametrize(
    ("bounds", "determinate", "said"),
    [
        ((), (0.0, 0.0), ""), ((0,), (0.0, 0.0), ""), ((1,), (0.0, 1.0), ""), ((1,), (1.0, 0.0), "skid"),
        ((0, 1), (0.0, 0.0), "skid"), ((2,), (0.0, 0.0), ""),
    ],
)  # fmt: skip
def test_thresholds_are_of_constraints_whose_force_is_no_choice(
    bounds: Any, determinate: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A joint, a constraint that others repeat and one that they do not, where forces are determined or not."""
    monkeypatch.setattr(contact_structures, "slips_by_choice", lambda mechanism, n: n == 0)
    spec = Made(name="skid", place="wheels.yaml:7")
    flow: Any = Made(
        model=Made(columns=Made(joint=[5, 6, 7]), constraints={6: spec, 7: Made(name="other", place="wheels.yaml:8")}),
        structure=Made(bounds=[ActiveBound(column, 0.0, -1.0, 1.0) for column in bounds], loops=[6, 7]),
        work=Made(joints=Made(determinate=[1.0] * 5 + [*determinate, 0.0])), mechanism="mechanism",
    )  # fmt: skip
    expected = (
        "constraint 'skid' (wheels.yaml:7) lets go beyond a force (holds) that is not determined here: " if said else ""
    )
    assert chosen_grip(flow).startswith(expected) and bool(chosen_grip(flow)) == bool(said)
