"""How a run is followed to its end: keys on the way, how often progress is told, and what is kept of it in words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sim.recording import RecordingError
from sim.simulation import recorded_runs
from sim.simulation.simulation_error import SimulationError

pytestmark = pytest.mark.fast


class Followed:
    """A simulator that notes what it is asked for; at some time an event may stop it."""

    def __init__(self, stops: float = 9.0):
        self.t, self.log, self.stops = 0.0, list[Any](), stops
        state = SimpleNamespace(stopped=False)
        self.now = SimpleNamespace(scheduler=SimpleNamespace(keys=lambda: ("a", "b")), schedule=state)

    def advance(self, t: float, tell: Any) -> None:
        self.log.append(t)
        self.t = min(t, self.stops)
        self.now.schedule.stopped = t >= self.stops
        tell(self.t)

    def trigger(self, key: str) -> None:
        self.log.append(key)

    def finish(self) -> None:
        self.log.append("finished")


def follow(run: Followed, triggers: list[tuple[str, float]], progress: Any = None, span: float = 2.0) -> list[Any]:
    simulator: Any = run
    recorded_runs.follow(simulator, span, triggers, progress, [1, 2, 3])
    return run.log


def test_keys_are_pressed_at_their_times_in_their_order() -> None:
    assert follow(Followed(), []) == [0.0, 2.0, "finished"]
    keys = [("b", 1.5), ("a", 0.5), ("b", 0.5), ("a", 2.0)]
    assert follow(Followed(), keys) == [0.0, 0.5, "a", 0.5, "b", 1.5, "b", 2.0, "a", 2.0, "finished"]
    assert follow(Followed(stops=1.0), keys[:2]) == [0.0, 0.5, "a", 1.5, "finished"]  # nothing goes on behind a stop


@pytest.mark.parametrize(("key", "what"), [
    (("c", 1.0), r"no event waits for the key 'c'; keys of this scene: 'a', 'b'"),
    (("a", 2.001), r"the key 'a' would come at 2\.001 s, after the end at 2 s"),
])  # fmt: skip
def test_keys_that_nothing_waits_for_or_that_come_too_late_are_refused_before_the_run(
    key: tuple[str, float], what: str
) -> None:
    run = Followed()
    with pytest.raises(SimulationError, match=what):
        follow(run, [("b", 0.5), key])
    assert run.log == []
    run.now.scheduler.keys = lambda: ()
    with pytest.raises(SimulationError, match="keys of this scene: none"):
        follow(run, [("c", 1.0)])


def test_progress_is_told_ten_times_a_second_and_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the clock on the wall; and nothing is looked up where nobody is told."""
    clock = iter([7.0, 7.09, 7.11, 7.2, 7.22])
    monkeypatch.setattr(recorded_runs.time, "perf_counter", lambda: next(clock))
    told: list[tuple[float, float, int]] = []
    follow(Followed(), [("a", t) for t in (0.5, 1.0, 1.5)], lambda *said: told.append(said))
    assert told == [(t, 2.0, 3) for t in (0.0, 1.0, 2.0, 2.0)]


def test_what_a_run_took_is_kept_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded_runs.time, "perf_counter", lambda: 12.5)
    for unkept in ("", "a controller remembers a file"):
        kept: list[Any] = []
        recorder = SimpleNamespace(finish=lambda *said, kept=kept: kept.append(said), count=7, path="run.h5")
        flow = SimpleNamespace(
            counts=lambda: {"steps": 3}, methods=lambda: ["one", "two"], taken=lambda: {"taken_by_contacts": 0.5}
        )
        journal, simulator = SimpleNamespace(recorder=recorder, unkept=unkept), SimpleNamespace(flow=flow, t=1.25)
        said = recorded_runs._keep(journal, simulator, "today", 10.0, True)  # type: ignore[arg-type]
        assert said == "the motion up to t = 1.25 s (7 rows) is kept in run.h5"
        ((complete, attributes),) = kept
        assert complete is True and attributes.pop("host_cores") > 0
        assert attributes == {
            "started": "today", "wall_time": 2.5, "steps": 3, "methods": "one\ntwo", "taken_by_contacts": 0.5,
            **({"no_state": unkept} if unkept else {}),
        }  # fmt: skip


@pytest.mark.parametrize("temporary", [False, True])
@pytest.mark.parametrize("kind", [None, RecordingError, SimulationError, ValueError])
def test_what_a_run_left_is_kept_unless_it_cannot_be_or_nobody_asked_for_it(
    temporary: bool, kind: type[Exception] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, error = list[Any](), kind("it ends") if kind else None
    recorder = SimpleNamespace(
        layout=SimpleNamespace(begun=None), count=0, events=[], temporary=temporary, path="run.h5",
        discard=lambda: log.append("discards"), take=lambda: "taken",
    )  # fmt: skip
    journal: Any = SimpleNamespace(recorder=recorder)
    simulator: Any = SimpleNamespace(journal=None, go_on=lambda: log.append("goes on"))

    def followed(*asked: Any) -> None:
        assert asked == (simulator, 2.0, [("a", 1.0)], None, []) and simulator.journal is journal
        if error is not None:
            raise error

    def keep(*asked: Any) -> str:
        log.append(asked[-1])
        return "kept so far"

    monkeypatch.setattr(recorded_runs, "follow", followed)
    monkeypatch.setattr(recorded_runs, "_keep", keep)
    monkeypatch.setattr(recorded_runs, "load_recording", lambda path: f"from {path}")
    if error is None:
        found: Any = recorded_runs.record(simulator, journal, 2.0, [("a", 1.0)], None)
        assert log == [True] and found == ("taken" if temporary else "from run.h5")
        recorder.layout.begun = "from a state"
        recorded_runs.record(simulator, journal, 2.0, [("a", 1.0)], None)
        recorder.count = 1
        recorded_runs.record(simulator, journal, 2.0, [("a", 1.0)], None)
        assert log == [True, "goes on", True, True]
        return
    with pytest.raises(type(error), match=str(error)):
        recorded_runs.record(simulator, journal, 2.0, [("a", 1.0)], None)
    if isinstance(error, RecordingError):
        assert log == ["discards"]
    else:
        assert log == [False] + ["discards"] * temporary
        kept = isinstance(error, SimulationError) and not temporary
        assert getattr(error, "kept", "") == ("kept so far" if kept else "")
