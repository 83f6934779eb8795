"""At which instants a run offers its state to be kept, and which of them is the one that a longer run goes on from."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import sim
from sim.scene.load import load_text
from sim.simulation import simulator as loop
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
