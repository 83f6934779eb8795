"""`sim.verify`: run a recording's scene again, keep its books, ask the oracle, say what does not hold."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sim.analysis.verification.contact_rows import look_at_contacts
from sim.analysis.verification.instants import Witness, choose
from sim.analysis.verification.recorded_rows import keep_books, look_at_energy, look_at_forces, look_at_rows
from sim.analysis.verification.repeats import (
    compare_events,
    compare_moments,
    compare_tolerances,
    compare_with_recording,
    judge_gain,
    judge_instants,
    tell_missed,
)
from sim.analysis.verification.rerun import Again, Rerun, Tell, rerun
from sim.analysis.verification.seen import Seen
from sim.analysis.verification.touching import Touching
from sim.analysis.verification.verdict import Verdict
from sim.mechanism.compiler import compile
from sim.mechanism.methods import FIXED
from sim.recording import Recording, RecordingError, load_recording
from sim.recording.restoring import restored
from sim.scene.spec import Scene
from sim.simulation.recorded_runs import joint_entries
from sim.simulation.resuming import first_state

INSTANTS = 20
TIGHTER = 100.0  # the rerun's tolerance is the recording's by this
TIGHTEST = 1e-13  # below, roundoff steers the steps
LEAST_PUSH = 1e-7  # of the start, where growth is measured; above the error of the tighter rerun

Stage = Callable[[str], Tell | None]


def verify(
    recording: Recording | str | os.PathLike[str], *, instants: int = INSTANTS, quick: bool = False,
    trust: bool = False, stage: Stage | None = None,
) -> Verdict:  # fmt: skip
    """Return every number of a recording with its trust.

    Parameters
    ----------
    recording : Recording or path
    instants : int
        How many random instants the oracle recomputes.
    quick : bool
        No rerun: residuals, the ledger and the marks of forces alone.
    trust : bool
        Whether controllers in files beside the scene may be run.
    stage : callable, optional
        Told the name of each rerun; returns what to call with its progress, or None.

    Raises
    ------
    RecordingError
        There is no such file, or nothing in it to verify.
    SceneError
        The scene in it cannot be read.
    """
    if not isinstance(recording, Recording):
        with load_recording(recording) as opened:
            return verify(opened, instants=instants, quick=quick, trust=trust, stage=stage)
    # What was recorded may be of any size: what is no number any more is told as a problem.
    with np.errstate(all="ignore"):
        return _verify(recording, instants, quick, trust, stage)


def _verify(recording: Recording, instants: int, quick: bool, trust: bool, stage: Stage | None) -> Verdict:
    if not recording.rows:
        raise RecordingError(f"{recording.path} holds no complete row, so there is nothing to verify")
    if not recording.bodies:
        raise RecordingError(f"{recording.path} holds no bodies, so there is nothing to verify")
    scene, notes = restored(recording, trust=trust)
    seen = Seen(recording, compile(scene))
    _same_model(seen)
    time = recording.time
    verdict = Verdict(
        recording.scene, str(recording.path), str(recording.program), recording.rows, float(time[-1] - time[0]),
        notes=notes,
    )  # fmt: skip
    if not recording.complete:
        verdict.notes.append("the run did not come to its end; what it left is verified")
    look_at_rows(seen, verdict)
    look_at_forces(seen, verdict)
    touching = Touching(seen) if seen.model.pairs else None
    if touching is not None:
        verdict.contacts, wrong = look_at_contacts(touching, _steps(seen, scene))
        verdict.problems += wrong
    keep_books(seen, verdict, touching)
    look_at_energy(seen, verdict)
    if not quick:
        again, stage = _again(seen, scene), stage or (lambda name: None)
        if recording.begun is not None:
            verdict.notes.append(
                f"the run began from a state, at t = {time[0]:.9g} s, which reruns take as it is: no error bars"
            )
            _repeat(seen, verdict, again, stage, instants, touching)
        else:
            _run_again(seen, scene, verdict, again, instants, stage, touching)
    return verdict


def _steps(seen: Seen, scene: Scene) -> np.ndarray:
    """Return the time steps (rows,) s that resolve the contacts of each row; zero where events do."""
    said, rows = scene.simulate, np.zeros(seen.recording.rows)
    if said.contact == "stepping":
        rows[:] = said.dt
    for event in seen.recording.events if said.contact == "auto" else ():
        if event.kind == "annotation" and event.name == "contacts" and event.row_after >= 0:
            rows[event.row_after :] = said.dt
    return rows


def _same_model(seen: Seen) -> None:
    """Raise unless the scene text gives the bodies and joints of the arrays."""
    model, recording = seen.model, seen.recording
    bodies = [body.name for body in recording.bodies]
    if list(model.body_names[1:]) != bodies or joint_entries(model) != recording.joints:
        raise RecordingError(f"{recording.path}: its scene text describes other bodies or joints than its arrays hold")
    if [column.name for column in recording.columns] != list(model.column_names):
        raise RecordingError(f"{recording.path}: its scene text gives the joints other freedoms than its arrays hold")


def _one_sided(seen: Seen) -> str:
    """Return what the scene has that acts in one direction only, whose modes change; else nothing."""
    model = seen.model
    rubs = model.columns.joint[model.columns.friction > 0.0]
    if model.pairs:
        return "contacts"
    if np.any(model.stops.rigid) or not set(rubs.tolist()) <= set(model.constraints):
        return "rigid stops or friction of joints"
    return ""


def _again(seen: Seen, scene: Scene) -> Again:
    """Return what runs a model again as the recording's settings say, for the recorded time."""
    recording, settings = seen.recording, seen.recording.settings
    return functools.partial(
        rerun, duration=float(settings.get("duration", scene.simulate.duration)), seed=settings.get("seed"),
        triggers=[(str(key), float(at)) for key, at in settings.get("triggers", ())],
        last=np.inf if recording.complete else float(recording.time[-1]), start=first_state(recording),
    )  # fmt: skip


def _repeat(seen: Seen, verdict: Verdict, again: Again, stage: Stage, instants: int, touching: Touching | None) -> None:
    """Rerun as recorded, look finely for events that it passes by, and ask the oracle at some instants."""
    witness, rows = Witness(seen, touching), choose(seen, instants)
    same = again(seen.model, rows=rows, look=witness, finely=True, tell=stage("as recorded"))
    _note_end(seen, verdict, same, "as recorded")
    if len(same.values):
        compare_with_recording(seen, verdict, same)
        tell_missed(seen, verdict, same, compare_events(seen, verdict, same), again)
        judge_instants(seen, verdict, witness, rows)


def _note_end(seen: Seen, verdict: Verdict, run: Rerun, how: str) -> None:
    if run.ended and seen.recording.complete:
        verdict.problems.append(f"the rerun {how} ended early: {run.ended}")


def _run_again(
    seen: Seen, scene: Scene, verdict: Verdict, again: Again, instants: int, stage: Stage,
    touching: Touching | None = None,
) -> None:  # fmt: skip
    """Rerun as recorded, at a tighter tolerance, and tighter from a start a little apart.

    Time steps of contacts are held against steps of half their length.  Where something touches or rests at a stop, a
    start that is moved would part or overlap it, so none is.
    """
    said, one_sided = scene.simulate, _one_sided(seen)
    stepping = bool(one_sided) and said.contact == "stepping"
    tight = max(said.rtol / TIGHTER, min(TIGHTEST, 0.5 * said.rtol))
    controlled = said.method if said.method in ("radau", "auto") else "dop853"
    finer = replace(said, rtol=tight, method=controlled)
    how = f"rtol {tight:.0e}"
    if one_sided and said.contact != "event":
        verdict.steps = (said.dt, said.dt / 2)
        finer = replace(said if stepping else finer, dt=said.dt / 2)
        how = f"steps of {said.dt / 2:g} s" if stepping else f"{how}, {said.dt / 2:g} s"
    model = compile(replace(scene, simulate=finer))
    if not stepping:
        verdict.tolerances = (said.rtol, tight)
    if said.method in FIXED and not stepping:
        verdict.fixed = f"{said.method} with steps of {said.step:g} s"
    witness, rows = Witness(seen, touching), choose(seen, instants)
    same = again(seen.model, rows=rows, look=witness, finely=True, tell=stage("as recorded"))
    tighter = again(model, tell=stage(how))
    apart = Rerun()
    if not one_sided:
        apart = again(model, push=max(LEAST_PUSH, said.rtol), tell=stage("from a start apart"))
    _note_end(seen, verdict, same, "as recorded")
    _note_end(seen, verdict, tighter, f"in steps of {said.dt / 2:g} s" if stepping else f"at rtol {tight:g}")
    if apart.ended and seen.recording.complete:
        verdict.notes.append(f"the rerun from a start a little apart ended early: {apart.ended}")
    if not len(same.values) or not len(tighter.values):
        return
    compare_tolerances(seen, verdict, same, tighter, apart, bool(one_sided))
    compare_with_recording(seen, verdict, same)
    compare_moments(seen, verdict, same, tighter, bool(one_sided))
    if verdict.steps is not None:
        judge_gain(seen, verdict)
    tell_missed(seen, verdict, same, compare_events(seen, verdict, same), again)
    judge_instants(seen, verdict, witness, rows)
