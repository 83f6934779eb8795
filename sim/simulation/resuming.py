"""A run that goes on from the state that its recording keeps: killed, interrupted, or to become longer."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sim.mechanism.compiler import compile
from sim.recording import Begun, Layout, Recorder, Recording, RecordingError, load_recording
from sim.recording.drafts import draft_of
from sim.recording.last_state import LastState
from sim.recording.restoring import restored
from sim.scene.arguments import seconds
from sim.simulation.plain_values import PlainError, unpacked
from sim.simulation.recorded_runs import PROGRAM, Journal, Progress, layout_of, record
from sim.simulation.simulator import Simulator
from sim.simulation.state import State, StateError


def resume(
    recording: str | os.PathLike[str], *, output: str | os.PathLike[str] | None = None, duration: float | None = None,
    overwrite: bool = False, trust: bool = False, progress: Progress | None = None,
    tell: Callable[[str], Any] | None = None,
) -> Recording:  # fmt: skip
    """Go on with a run from the last state that its recording keeps, to the bits of a run that never stopped.

    Rows after this state are made again.

    Parameters
    ----------
    recording : path
        Of a run that was killed, stopped, or came to its end.
    output : path, optional
        The new recording; without it, it takes the place of the old one.
    duration : float, optional
        [s] of the whole run, instead of what was recorded.
    overwrite : bool
        Replace an older recording at `output`.
    trust : bool
        Whether controllers in files beside the scene's may be run: those that stand there now.
    progress, tell
        As of `sim.run`; told, too, is what differs from when it was recorded.

    Raises
    ------
    SceneError, SimulationError, RecordingError
        With sentences; a SimulationError says in `kept` what was recorded.
    ValueError
        With the argument that cannot be meant, what was found and what was expected.
    """
    path = Path(recording)
    target = path if output is None else Path(output)
    if target != path and target.exists() and not overwrite:
        raise RecordingError(f"{target} exists; choose another name or allow to overwrite it")
    with load_recording(path) as old:
        state, settings = last_state(old), old.settings
        span = float(settings["duration"]) if duration is None else seconds("duration", duration)
        if span < state.t:
            raise StateError(f"duration: found {span:.9g} s, and the run has come to {state.t:.9g} s")
        scene, notes = restored(old, trust=trust)
        for note in notes if tell is not None else ():
            tell(note)  # type: ignore[misc]
        model = compile(scene)
        simulator = Simulator(model, seed=settings.get("seed"))
        simulator.restore(state)
        rows = int(min(span * scene.simulate.record, 1e18)) + 64
        layout = layout_of(model, {**settings, "duration": span}, rows, old.begun)
        recorder = _copied(old, layout, target)
    triggers = [(str(key), float(at)) for key, at in settings.get("triggers", ())]
    triggers = sorted(triggers, key=lambda item: item[1])[state.schedule.keys :]
    return record(simulator, Journal(recorder), span, triggers, progress)


def _copied(old: Recording, layout: Layout, target: Path) -> Recorder:
    """Return a recorder at `target` that holds what was recorded up to the last state; on an error nothing changes."""
    assert old.last_state is not None
    draft = draft_of(target)
    try:
        recorder = Recorder(draft, layout, overwrite=True, program=PROGRAM)
        recorder.take_over(old, old.last_state.counts)
        recorder.take_name(target)
    finally:
        draft.unlink(missing_ok=True)
    return recorder


def last_state(recording: Recording) -> State:
    """Return the last state that a recording keeps.

    Raises
    ------
    RecordingError
        Where it keeps none, or a damaged one.
    """
    kept = recording.last_state
    if kept is None:
        why = recording.run.get("no_state", "the run had not come to its first, or an older program wrote it")
        raise RecordingError(f"{recording.path} keeps no state from which the run could go on: {why}")
    return _unpacked(recording, kept, "last state")


def first_state(recording: Recording) -> State | None:
    """Return the state that the run of a recording began from; None where it began as its scene does.

    Raises
    ------
    RecordingError
        Where it is damaged.
    """
    return None if recording.begun is None else _unpacked(recording, recording.begun, "first state")


def _unpacked(recording: Recording, kept: LastState | Begun, what: str) -> State:
    try:
        return State.from_plain(*unpacked(kept.text, kept.numbers))
    except (PlainError, StateError) as error:
        raise RecordingError(f"{recording.path}: its {what} cannot be read: {error}") from error
