"""At which instants a run offers its state to be kept, and which of them is the one that a longer run goes on from."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sim
from sim.kernels.status import Status
from sim.kernels.stepper import HALT
from sim.scene.load import load_text
from sim.simulation import simulator as loop
from sim.simulation.jumps import jam, serve, turn_to_steps
from tests.contact.engine import Told

PENDULUM = """
schema: 1
name: pendulum
bodies: {rod: {mass: 1, com: [0.5, 0, 0], inertia: [0.01, 0.1, 0.1]}}
joints: {hinge: {type: rotational, parent: world, child: rod, position: [0, 0, 0], axis: [0, 1, 0]}}
initial: {hinge: {rate: 3}}
events: {EVENTS}
simulate: {rtol: 1e-8, duration: 1 s, method: dop853}
"""


class Rests(Told):
    """Keeps when a state was offered, and those of which the run says that it ends, or a longer one goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []
        self.finished: list[sim.State] = []

    def rest(self, take: Callable[[], sim.State], finished: bool = False, stopped: bool = False) -> None:
        state = take()
        if finished:
            assert self.times[-1] == state.t  # once more, behind the offer that every stop makes
            self.finished.append(state)
        else:
            self.times.append(state.t)


def rests_of(events: str, until: float, few: int, monkeypatch: pytest.MonkeyPatch) -> tuple[sim.Simulator, Rests]:
    monkeypatch.setattr(loop, "STEPS_A_CALL", few)
    journal = Rests()
    run = sim.Simulator(sim.compile(load_text(PENDULUM.replace("EVENTS", events))), journal=journal)
    run.advance(until)
    return run, journal


@pytest.mark.parametrize("few", [1, 2, 100])
@pytest.mark.parametrize("events", ["", "told: {at: 0.2 s, caption: told}"])
def test_the_state_before_steps_are_shortened_is_kept_once(
    events: str, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, journal = rests_of(events, 0.5, few, monkeypatch)
    assert len(journal.finished) == 1 and journal.finished[0].t < 0.5 == journal.times[-1]
    assert journal.times == sorted(journal.times) and (0.2 in journal.times) == bool(events)
    if few == 1:
        assert sum(t > journal.finished[0].t for t in journal.times) >= 2  # and goes on to be offered others
        assert sum(t < journal.finished[0].t for t in journal.times) >= 2


def test_from_the_state_that_was_kept_follows_what_follows_in_a_longer_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the last bit; from the end of the shorter one it does not, as its last step was cut."""
    events, few = "told: {at: 0.2 s, caption: told}", 2
    _, journal = rests_of(events, 0.5, few, monkeypatch)
    longer, _ = rests_of(events, 0.9, few, monkeypatch)
    again, _ = rests_of(events, 0.0, few, monkeypatch)
    again.restore(journal.finished[0])
    again.advance(0.9)
    assert np.array_equal(again.q, longer.q) and np.array_equal(again.v, longer.v)
    at_once, _ = rests_of(events, 0.5, few, monkeypatch)
    at_once.advance(0.9)
    assert not np.array_equal(at_once.q, longer.q)


@pytest.mark.parametrize("few", [1, 100])
def test_a_run_that_an_event_stops_is_finished_there(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    run, journal = rests_of("stop: {at: 0.3 s, stop: true}", 0.5, few, monkeypatch)
    assert [state.t for state in journal.finished] == [0.3] and run.t == 0.3 == journal.times[-1]
    assert len(journal.times) > (3 if few == 1 else 0)


def test_whoever_is_told_the_time_may_stop_the_run_whose_state_is_then_kept() -> None:
    class Stopped(Rests):
        def rest(self, take: Callable[[], sim.State], finished: bool = False, stopped: bool = False) -> None:
            super().rest(take, finished)
            told.append(stopped)

    told: list[bool] = []
    run = sim.Simulator(sim.compile(load_text(PENDULUM.replace("EVENTS", ""))), journal=Stopped())

    def progress(t: float) -> None:
        if t >= 0.2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.advance(0.2, progress)
    assert told.count(True) == 1 and told[-1]


class Run(loop.Simulator):
    """A loop around a flow that ends its calls as a test says; jumps are noted."""

    def __init__(self, ends: list[tuple[Status, float]], *, turns: Any = None, began: bool = True):
        self.ends, self.turns, self.noted, self.journal = ends, turns, list[Any](), None
        flow = SimpleNamespace(
            t=0.0, filled=False, look_again=math.inf, wrench_end=lambda: math.inf, advance=self._end,
            stepper=SimpleNamespace(count={HALT: 1}),
        )  # fmt: skip
        self.now: Any = SimpleNamespace(
            flow=flow, began=began, crossed=False, schedule=SimpleNamespace(stopped=False),
            scheduler=SimpleNamespace(next_time=lambda: math.inf),
            controllers=SimpleNamespace(next_sample=lambda: math.inf),
        )  # fmt: skip

    def _end(self, stop: float, steps: int, halt: bool) -> tuple[int, int]:
        status, self.now.flow.t = self.ends.pop(0)
        self.noted.append(stop)
        return status, 7

    def _jump(self, change: Any) -> Any:
        self.noted.append((change, self.now.crossed))
        return change is self.turns

    def failure(self, status: int, index: int) -> loop.SimulationError:
        return loop.SimulationError(f"{Status(status).name} {index}")


def test_a_call_that_ends_at_its_time_or_at_a_guard_is_served_and_one_that_pauses_is_not() -> None:
    run = Run([(Status.PAUSE, 0.1), (Status.GUARD, 0.2), (Status.PAUSE, 0.3), (Status.REACHED, 1.0)])
    run.advance(1.0)
    assert run.noted == [1.0, 1.0, (serve, True), 1.0, 1.0, (serve, False)]
    run.advance(1.0)  # there already
    assert len(run.noted) == 6
    fresh = Run([(Status.REACHED, 1.0)], began=False)
    fresh.advance(1.0)
    assert fresh.noted == [(serve, False), 1.0, (serve, False)]


@pytest.mark.parametrize("status", [Status.STEP_TOO_SMALL, Status.JAMMED, Status.NOT_FINITE])
@pytest.mark.parametrize("turns", [None, jam, turn_to_steps])
def test_where_steps_fall_to_nothing_what_slides_jams_or_time_steps_are_turned_to_or_the_run_ends(
    status: Status, turns: Any
) -> None:
    run, asked = Run([(status, 0.1), (Status.REACHED, 1.0)], turns=turns), status != Status.NOT_FINITE
    tried = [(jam, False)] if turns is jam else [(jam, False), (turn_to_steps, False)]
    if turns and asked:
        run.advance(1.0)
        assert run.noted == [1.0, *tried, 1.0, (serve, False)]
    else:
        with pytest.raises(loop.SimulationError, match=f"{status.name} 7"):
            run.advance(1.0)
        assert run.noted == [1.0, *tried * asked]


def test_calls_end_at_what_is_due_first_and_where_an_event_stops_the_run() -> None:
    for due in (0, 1, 2, 3):
        run = Run([(Status.REACHED, 0.4), (Status.REACHED, 1.0)])
        times = [0.4 if k == due else 0.7 for k in range(4)]
        run.now.scheduler.next_time, run.now.controllers.next_sample = (lambda t=t: t for t in times[:2])
        run.now.flow.wrench_end, run.now.flow.look_again = (lambda t=times[2]: t), times[3]
        run.now.schedule.stopped = True
        run.advance(1.0)
        assert run.noted == [0.4, (serve, False)] and len(run.ends) == 1


def test_rows_are_told_where_there_are_any() -> None:
    for filled in (False, True):
        run = Run([(Status.PAUSE, 1.0)])
        run.now.flow.filled = filled
        run.advance(1.0)
        assert run.noted == [1.0] + [(loop.Present.rows, False)] * filled
