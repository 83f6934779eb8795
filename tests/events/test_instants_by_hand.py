"""What is done at an instant, and in which order: around a run that is made by hand and writes down what it is told."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sim.kernels.shapes import SLIP, STICK
from sim.simulation import jumps
from sim.simulation.contact_modes import Outcome
from sim.simulation.control import ControllerFault
from sim.simulation.journal import EventRecord, Jump
from sim.simulation.simulation_error import SimulationError, late_places

pytestmark = pytest.mark.fast


class Run:
    """A run whose parts note what is asked of them, and answer as a test says.

    fires : events that are taken, pass by pass; values : of the only condition, look by look; outcomes : of contacts
    """

    def __init__(self, *, one_sided: bool = True, contact: str = "event", fed: int = 0):
        self.log: list[Any] = []
        self.fires: list[list[Any]] = []
        self.values: list[float] = []
        self.outcomes: list[Outcome] = []
        self.follows: list[bool] = []
        log = self.log.append
        bounds: tuple[Any, ...] = ()
        self.structure = SimpleNamespace(touches=(), bounds=bounds)
        condition = SimpleNamespace(event="high", forces=False, program=0, reads=())
        stops = SimpleNamespace(joint=[1, 0], side=[-1.0, 1.0])
        joints = ["hinge", "rail"]

        @contextmanager
        def forces_read() -> Any:
            log("read")
            yield
            log("let go of")

        self.flow: Any = SimpleNamespace(
            t=0.25, conditions=[condition], reads=(), structure=self.structure, time_stepping=False,
            control=SimpleNamespace(fed=np.zeros(fed), engaged=[0, 1], held=np.zeros(2)),
            model=SimpleNamespace(stops=stops, joint_names=joints, scene=SimpleNamespace()),
            looks_again=lambda: False, gives_way=lambda: True, crossed=lambda: (["high"], [1], False),
            wait_to_leave=lambda names: log(("waits", *names)), arm=lambda scheduler: log("arms"),
            book=lambda lost, given=0.0: log(("books", lost, given)), restart=lambda: log("restarts"),
            observe=lambda: log("observes"), watched=lambda name: True, forces_read=forces_read,
            follow_forces=lambda: self.follows.pop(0), turn_to_steps=lambda why: log(("turns", why)),
        )  # fmt: skip
        simulate = SimpleNamespace(contact=contact, dt=0.002)
        self.here: Any = SimpleNamespace(
            began=True, crossed=False, flow=self.flow, sample_now=lambda jump: log("row"), epoch=lambda: "epoch",
            model=SimpleNamespace(
                one_sided=one_sided, waiting=frozenset(), scene=SimpleNamespace(simulate=simulate, events=()),
            ),
            scheduler=SimpleNamespace(
                take=lambda t, crossed: self.fires.pop(0) if self.fires else [],
                state=SimpleNamespace(stopped=False, enabled=frozenset({"law"})),
            ),
            contact_modes=SimpleNamespace(decide=self._decide, let_go=lambda flow: log("lets go")),
            controllers=SimpleNamespace(next_sample=lambda: np.inf),
        )  # fmt: skip
        self.jump = Jump()
        self.instant = jumps._Instant.__new__(jumps._Instant)
        self.instant.here, self.instant.jump = self.here, self.jump
        self.instant.actions = SimpleNamespace(do=self._do)  # type: ignore[assignment]
        self.instant._values = lambda: {"high": self.values.pop(0)} if self.values else {}  # type: ignore[method-assign]

    def _decide(self, flow: Any, firmness: float = 1.0) -> Outcome:
        self.log.append("decides" if firmness == 1.0 else ("decides", firmness))
        return self.outcomes.pop(0) if self.outcomes else Outcome()

    def _do(self, events: list[Any]) -> list[Any]:
        self.log.append(("does", *(event.name for event in events)))
        return [event.name for event in events]


def event(name: str, *, acts: bool = False) -> Any:
    return SimpleNamespace(name=name, actions=("cut",) if acts else ())


# --- what is served --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("began", "crossed", "what"), [(False, True, "start"), (True, True, "crossing"), (True, False, "due")]
)
def test_a_run_begins_once_then_guards_are_served_and_what_is_due(
    began: bool, crossed: bool, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, asked = Run(), list[str]()
    run.here.began, run.here.crossed = began, crossed
    for name, said in (("at_start", "start"), ("crossing", "crossing"), ("due", "due")):
        monkeypatch.setattr(jumps._Instant, name, lambda self, said=said: asked.append(said))
    monkeypatch.setattr(jumps, "Actions", lambda here, jump: None)
    jumps.serve(run.here, run.jump)
    assert asked == [what] and run.here.began and not run.here.crossed
    assert run.jump.reports == ([] if began else ["epoch"])


def passes(run: Run) -> list[tuple[Any, ...]]:
    """Have passes noted instead of made."""
    made: list[tuple[Any, ...]] = []
    run.instant._pass = lambda *asked: made.append(asked)  # type: ignore[method-assign, assignment]
    return made


@pytest.mark.parametrize(("one_sided", "reads"), [(True, True), (True, False), (False, True)])
def test_contacts_are_decided_on_at_the_start_before_conditions_that_read_forces(one_sided: bool, reads: bool) -> None:
    run = Run(one_sided=one_sided)
    run.flow.conditions = [SimpleNamespace(forces=False), SimpleNamespace(forces=reads)]
    made, run.values = passes(run), [1.0]
    run.instant.at_start()
    first = one_sided and reads
    assert made == [(("high",), (), not first)]
    assert run.log == (["row", "decides", "arms", ("books", 0.0, 0.0), "row"] if first else [])


@pytest.mark.parametrize(("touches", "bounds", "gives", "again"), [
    (1, 0, True, True), (0, 1, True, True), (0, 0, True, False), (1, 1, False, False),
])  # fmt: skip
def test_contacts_that_forces_have_left_are_decided_on_once_more(
    touches: int, bounds: int, gives: bool, again: bool
) -> None:
    """After what is due; at a guard after a soft stop, where contacts were not decided on anyway."""
    for looks in (False, True):
        run = Run()
        run.structure.touches, run.structure.bounds = (1,) * touches, (1,) * bounds
        run.flow.gives_way, run.flow.looks_again = lambda: gives, lambda looks=looks: looks
        made = passes(run)
        run.instant.due()
        assert made == [((), (), looks)] + [((), (), True)] * again
    for stops, touched in (([], False), ([1], False), ([1], True)):
        run.flow.crossed = lambda stops=stops, touched=touched: (["high"], stops, touched)
        made.clear()
        run.instant.crossing()
        assert made == [(("high",), tuple(stops), touched)] + [((), (), True)] * (
            again and stops == [1] and not touched
        )


# --- one pass --------------------------------------------------------------------------------------------------------


def test_nothing_is_told_where_nothing_is_due() -> None:
    run = Run(one_sided=False)
    run.instant._pass((), (), True)
    assert run.log == [] and run.jump.reports == []


def test_contacts_alone_are_decided_on_and_told_of() -> None:
    run = Run()
    run.outcomes = [Outcome(changed=["a and b slides"])]
    run.instant._pass((), (), True)
    assert run.log == ["row", ("waits",), "decides", "arms", ("books", 0.0, 0.0), "row"]
    assert [one.text for one in run.jump.events] == ["a and b slides"]


def test_mode_changes_come_before_events_and_contacts_are_decided_on_again_where_these_act() -> None:
    run = Run()
    run.fires = [[event("told"), event("cut", acts=True)]]
    run.outcomes = [Outcome(changed=["a and b sticks"]), Outcome(ended=["a and b comes to rest at 1 s"])]
    run.instant._pass(("high",), (0,), True)
    decided = ["decides", "arms", ("books", 0.0, 0.0)]
    assert run.log == [
        "row", ("waits", "high"), "arms", "restarts", *decided, "lets go", ("does", "told", "cut"), *decided, "row"
    ]  # fmt: skip
    texts = [one.text if isinstance(one, EventRecord) else one for one in run.jump.reports]
    stop = "rail reaches its lower stop"
    assert texts == [stop, "a and b sticks", "told", "cut", "a and b comes to rest at 1 s"]


@pytest.mark.parametrize(("one_sided", "acts"), [(True, False), (False, True)])
def test_contacts_are_let_go_only_where_there_are_any_and_events_act(one_sided: bool, acts: bool) -> None:
    run = Run(one_sided=one_sided)
    run.fires = [[event("told"), event("other", acts=acts)]]
    run.instant._pass((), (), False)
    assert run.log == ["row", ("waits",), ("does", "told", "other"), "row"]


def test_conditions_that_become_true_at_an_instant_are_of_it_and_an_event_that_stops_ends_it() -> None:
    run = Run()
    taken: list[tuple[str, ...]] = []

    def take(t: float, crossed: tuple[str, ...]) -> list[Any]:
        taken.append(crossed)
        return [event(name) for name in crossed]

    run.here.scheduler.take = take
    run.values = [-1.0, 1.0, 1.0, 1.0]  # before and after the first pass; before and after the second
    sampled: list[float] = []
    run.instant._sample_controllers = sampled.append  # type: ignore[method-assign]
    run.instant._pass(("first",), (), False)
    assert taken == [("first",), ("high",), ()] and sampled == [0.25]
    run.values, run.here.scheduler.state.stopped = [-1.0, 1.0], True
    run.instant._pass(("first",), (), False)
    assert taken[3:] == [("first",)] and sampled == [0.25]  # nothing else, not even controllers


def test_events_that_set_each_other_off_twenty_times_do_so_without_end() -> None:
    for times in (19, 20):
        run = Run()
        run.fires = [[event("a"), event("b")]] * times
        if times == 20:
            with pytest.raises(SimulationError, match=r"t = 0\.25 s: events 'a', 'b' set each other off without end"):
                run.instant._pass((), (), False)
        else:
            run.instant._pass((), (), False)
        assert run.log.count(("does", "a", "b")) == times


@pytest.mark.parametrize(("now", "before", "watched", "holds"), [
    (0.0, -1.0, True, True), (-0.1, -1.0, True, False), (1.0, 0.0, True, False), (1.0, -0.1, True, True),
    (1.0, None, True, True), (1.0, None, False, False),
])  # fmt: skip
def test_a_condition_holds_from_zero_on_where_it_did_not_before(
    now: float, before: float | None, watched: bool, holds: bool
) -> None:
    run = Run()
    run.values, run.flow.watched = [now], lambda name: watched
    assert run.instant._holding({} if before is None else {"high": before}) == (("high",) if holds else ())


def test_conditions_have_the_values_of_their_programs_and_those_that_wait_are_armed_by_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is looked at where nothing reads; where formulas of torques read forces, these are held all the same."""
    run, looked, left = Run(), [], []
    values = jumps._Instant._values

    def evaluate(system: Any, programs: np.ndarray, t: float, out: np.ndarray) -> None:
        assert (system, t) == ("at places", 0.25)
        out[:] = 10.0 * programs

    monkeypatch.setattr(jumps, "evaluate", evaluate)
    monkeypatch.setattr(jumps, "address", lambda places: f"at {places}")
    run.flow.system, run.flow.leave = SimpleNamespace(places="places"), lambda out: left.append(out.tolist())
    run.instant._refuse_chosen_forces = lambda: looked.append(1)  # type: ignore[method-assign]
    conditions, run.flow.conditions = [SimpleNamespace(event=f"e{n}", program=n) for n in (2, 5)], []
    assert values(run.instant) == {} and run.log == []
    run.flow.reads = ((0, 3),)
    assert values(run.instant) == {} and run.log == ["observes"] and looked == [1]
    for run.flow.reads in ((), ((0, 3),)):
        run.flow.conditions = conditions
        assert values(run.instant) == {"e2": 20.0, "e5": 50.0} and left[-1] == [20.0, 50.0]
    assert run.log == ["observes"] * 3 and len(looked) == 3


def test_controllers_are_sampled_when_they_are_due(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run()
    held = run.flow.control.held

    def sample(change: float) -> Callable[..., None]:
        def sampled(t: float, enabled: Any, out: np.ndarray) -> None:
            assert out is held
            run.log.append((t, set(enabled)))
            out += change

        return sampled

    for due, change, told in (
        (0.26, 1.0, []), (0.25, 0.0, ["observes", (0.25, {"law"})]),
        (0.25, 1.0, ["observes", (0.25, {"law"}), "restarts"]),
    ):  # fmt: skip
        run.log.clear()
        run.here.controllers = SimpleNamespace(next_sample=lambda due=due: due, sample=sample(change), sampled=())
        run.instant._sample_controllers(0.25)
        assert run.log == told

    asked: list[Any] = []

    def says(answer: Any) -> Callable[..., Any]:
        def said(*parts: Any) -> Any:
            asked.append(parts)
            return answer

        return said

    for away in (False, True):  # what is held too long is looked for where something runs away alone, before any call
        run.log.clear()
        monkeypatch.setattr(jumps, "runs_away", says(away))
        monkeypatch.setattr(jumps, "held_too_long", says("it is too stiff"))
        if away:
            with pytest.raises(SimulationError, match=r"t = 0\.25 s: it is too stiff"):
                run.instant._sample_controllers(0.25)
        else:
            run.instant._sample_controllers(0.25)
        assert run.log == ["observes", (0.25, {"law"}), "restarts"][: 1 if away else 3]
    assert asked == [(run.flow, run.here.controllers)] * 3
    monkeypatch.undo()

    def fails(*_: Any) -> None:
        use: Any = SimpleNamespace(name="law", place="a.yaml:3")
        raise ControllerFault(use, "it is at fault")

    run.here.controllers.sample = fails
    with pytest.raises(SimulationError, match=r"t = 0\.25 s: controller 'law' \(a.yaml:3\): it is at fault"):
        run.instant._sample_controllers(0.25)


# --- contacts --------------------------------------------------------------------------------------------------------


def test_what_contacts_did_is_told_and_booked(monkeypatch: pytest.MonkeyPatch) -> None:
    run, through = Run(), np.ones((2, 6))
    mechanism, change, impulse = object(), np.ones(3), np.array([3.0, 4.0])
    run_contacts = {"force": np.ones((1, 3))}
    monkeypatch.setattr(jumps, "joint_impulses", lambda *asked: through if asked == (mechanism, change, impulse) else 0)
    run.outcomes = [Outcome(
        struck=["a and b", "hinge at its upper stop"], ended=["rail at its lower stop comes to rest at 2 s"],
        changed=["hinge rests at its upper stop", "a and b slides"], lost=7.0, given=0.5, change=change,
        impulse=impulse,
        mechanism=mechanism,  # type: ignore[arg-type]
        contacts=run_contacts,
    )]  # fmt: skip
    hit, ended, mode = run.instant._decide_once()
    assert (hit.time, hit.name, hit.kind, hit.lost, hit.impulse) == (0.25, "a and b", "impact", 7.0, 5.0)
    assert hit.text == "a and b; hinge at its upper stop" and hit.through is through
    assert (ended.name, ended.kind, ended.text) == ("rail", "annotation", "rail at its lower stop comes to rest at 2 s")
    assert (mode.name, mode.kind, mode.text) == ("hinge", "mode", "hinge rests at its upper stop; a and b slides")
    assert run.log == ["decides", "arms", ("books", 7.0, 0.5)]
    assert hit.contacts is run_contacts and ended.through is mode.through is mode.contacts is None
    amounts: dict[str, Any] = {"impulse": impulse, "change": change, "mechanism": mechanism, "lost": 7.0}
    run.outcomes = [Outcome(changed=["a and b slides"], **amounts)]
    (mode,) = run.instant._decide_once()  # what slips that end take stands there, where nothing has struck
    assert (mode.kind, mode.lost, mode.impulse) == ("mode", 7.0, 5.0) and mode.through is through
    for missing in ("impulse", "change", "mechanism"):
        run.outcomes = [Outcome(struck=["a and b"], **{**amounts, missing: None})]
        (hit,) = run.instant._decide_once()
        assert (hit.text, hit.lost, hit.impulse, hit.through) == ("a and b", 0.0, 0.0, None)
    run.outcomes = [Outcome(**amounts)]
    assert run.instant._decide_once() == []


@pytest.mark.parametrize("contact", ["event", "auto"])
@pytest.mark.parametrize("endless", [False, True])
def test_where_decisions_do_not_end_steps_are_turned_to_or_it_is_refused(contact: str, endless: bool) -> None:
    """What the collisions took by then is booked in any case."""
    run = Run(contact=contact)
    run.outcomes = [Outcome(failure="500 times: give them less", endless=endless, lost=3.0, given=0.5)]
    booked = [("books", 3.0, 0.5)] * endless
    if contact == "auto" and endless:
        (told,) = run.instant._decide_once()
        why = "contacts change faster than events resolve them, 500 times"
        assert run.log == ["decides", *booked, ("turns", why), "decides", "arms"]
        assert told == EventRecord(0.25, "contacts", "annotation", text="time steps of 0.002 s from here: 500 times")
    else:
        with pytest.raises(SimulationError, match=r"t = 0\.25 s: 500 times: give them less"):
            run.instant._decide_once()
        assert run.log == ["decides", *booked]


def test_time_steps_that_cannot_begin_are_refused() -> None:
    run = Run(contact="auto")
    run.outcomes = [Outcome(failure="a and b overlap")]
    with pytest.raises(SimulationError, match=r"t = 0\.25 s: a and b overlap"):
        run.instant.turn_to_steps("why")
    assert "arms" not in run.log


@pytest.mark.parametrize(("contact", "one_sided", "stepping", "turns"), [
    ("auto", True, False, True), ("event", True, False, False), ("auto", False, False, False),
    ("auto", True, True, False),
])  # fmt: skip
def test_a_step_that_falls_to_nothing_turns_to_time_steps_where_the_scene_lets_it(
    contact: str, one_sided: bool, stepping: bool, turns: bool
) -> None:
    run = Run(contact=contact, one_sided=one_sided)
    run.flow.time_stepping = stepping
    assert run.instant.turn_where_steps_are_allowed() == turns
    why = "contacts change faster than events resolve them, the step fell to nothing"
    assert run.log == (["row", ("turns", why), "decides", "arms", "row"] if turns else [])
    assert [one.text for one in run.jump.events] == [
        "time steps of 0.002 s from here: the step fell to nothing"
    ] * turns  # fmt: skip


def test_where_forces_grow_without_end_more_friction_is_tried_until_something_changes() -> None:
    """Nothing is asked where nothing slides, or in time steps."""
    assert not Run().instant.jam()
    slides = (SimpleNamespace(mode=STICK), SimpleNamespace(mode=SLIP))
    for tried in range(len(jumps.FIRMER) + 1):
        run = Run()
        run.structure.touches = slides
        run.outcomes = [Outcome(changed=["a and b sticks"] * (n == tried)) for n in range(len(jumps.FIRMER))]
        assert run.instant.jam() == (tried < len(jumps.FIRMER))
        asked = [one[1] for one in run.log if one[0] == "decides"]
        assert asked == list(jumps.FIRMER[: tried + 1])
        assert run.log[0] == run.log[-1] == "row" and len(run.jump.events) == (tried < len(jumps.FIRMER))
    run.flow.time_stepping, run.log[:] = True, []
    assert not run.instant.jam() and not run.log


def test_formulas_that_read_forces_of_contacts_agree_with_them_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jumps, "late_places", lambda model: "torques.a (a.yaml:3)")
    once = ["read", "decides", "arms", ("books", 0.0, 0.0), "let go of"]
    assert Run().instant._decide() == []  # none reads any
    for rounds in (1, 3, 20):
        run = Run(fed=1)
        run.follows = [True, *[True] * (rounds - 1), False]
        run.outcomes = [Outcome(changed=[f"p{n} sticks"]) for n in range(rounds)]
        assert [one.text for one in run.instant._decide()] == [f"p{n} sticks" for n in range(rounds)]
        assert run.log == once * rounds and not run.follows
    run = Run(fed=1)
    run.follows = [False, *[True] * 20]
    with pytest.raises(SimulationError, match=r"t = 0\.25 s: torques.a \(a.yaml:3\) read forces of contacts"):
        run.instant._decide()
    assert run.log == once * 20


def test_what_rolls_while_it_touches_is_followed_until_that_agrees() -> None:
    for times in (0, 2, 19):
        run, told = Run(), [EventRecord(0.25, "wheel", "mode", text=f"r{n}") for n in range(times)]
        run.here.model.waiting, run.here.model.joint_names = frozenset({1, 0}), ["a", "b"]
        left: list[Any] = [*told, None]
        run.instant._follow_contacts = lambda left=left: left.pop(0)  # type: ignore[method-assign]
        assert run.instant._decide_contacts() == told and run.log.count("decides") == times + 1
    run.instant._follow_contacts = lambda: told[0]  # type: ignore[method-assign]
    with pytest.raises(SimulationError, match=r"t = 0\.25 s: 'a', 'b' opens the contact while it rolls"):
        run.instant._decide_contacts()
    nobody = Run()
    assert nobody.instant._decide_contacts() == [] and nobody.log.count("decides") == 1


@pytest.mark.parametrize(("enabled", "touching", "active", "connects", "cuts", "said"), [
    ("abc", {0, 1}, {1, 7}, {0}, set(), "a rolls"), ("abc", {1}, {1, 7}, None, None, None),
    ("bc", {0, 1}, {1}, None, None, None), ("abc", {0, 1, 2}, set(), {0, 1, 2}, set(), "a rolls; b rolls; c rolls"),
    ("abc", set(), {2, 1}, set(), {1, 2}, "b no longer rolls; c no longer rolls"),
    ("ab", {0, 2}, {1, 2, 7}, {0}, {1, 2}, "a rolls; b no longer rolls; c no longer rolls"),
])  # fmt: skip
def test_what_may_roll_does_where_it_touches(
    enabled: str, touching: set[int], active: set[int], connects: Any, cuts: Any, said: str | None
) -> None:
    """Joints a, b and c do while their contacts are closed, unless they are switched off."""
    run = Run()
    run.here.model.waiting, run.here.model.joint_names = frozenset({2, 0, 1}), ["a", "b", "c"]
    run.here.scheduler.state.enabled, run.flow.active = frozenset(enabled), frozenset(active)
    run.instant._touches = lambda joint: joint in touching  # type: ignore[method-assign]

    def restructure(connect: set[int], cut: set[int], total: Any) -> None:
        run.log.append((set(connect), set(cut)))
        total.lost, total.given, total.impulse, total.through = 3.0, 2.0, 5.0, "through"

    run.instant.actions.restructure = restructure  # type: ignore[method-assign]
    told = run.instant._follow_contacts()
    if said is None:
        assert told is None and run.log == []
        return
    assert run.log == ["lets go", (connects, cuts), ("books", 3.0, 2.0)]
    through: Any = "through"
    assert told == EventRecord(0.25, said[0], "mode", "", 3.0, 5.0, said, through)


def test_soft_stops_are_reached_and_left_by_turns() -> None:
    run = Run()
    told = [run.instant._touch(stop) for stop in (0, 0, 1)]
    assert [(one.time, one.name, one.kind, one.text) for one in told] == [
        (0.25, "rail", "mode", "rail reaches its lower stop"), (0.25, "rail", "mode", "rail leaves its lower stop"),
        (0.25, "hinge", "mode", "hinge leaves its upper stop"),
    ]  # fmt: skip
    assert run.flow.control.engaged == [0, 0] and run.log == ["arms", "restarts"] * 3


def test_lines_are_named_after_the_joint_or_the_two_bodies_that_they_speak_of() -> None:
    assert jumps._who("hinge at its upper stop comes to rest at 1 s") == "hinge"
    assert jumps._who("a and b comes to rest at 1 s") == "a and b"
    assert jumps._who("a and b sticks (2 points)") == "a and b sticks (2 points)"


def test_of_formulas_that_read_forces_four_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from sim.simulation import simulation_error

    for count in (1, 4, 5):
        late = [(f"torques.t{n}", SimpleNamespace(place=f"a.yaml:{n}")) for n in range(count)]
        monkeypatch.setattr(simulation_error, "late_formulas", lambda scene, late=late: late)
        named = ", ".join(f"torques.t{n} (a.yaml:{n})" for n in range(min(count, 4)))
        model: Any = SimpleNamespace(scene=None)
        assert late_places(model) == named + (", ..." if count == 5 else "")
