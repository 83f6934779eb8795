"""`sim.verify`: run a recording's scene again, keep its books, ask the oracle, say what does not hold."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sim.compiler import compile
from sim.methods import FIXED
from sim.recording import Recording, RecordingError, load_recording
from sim.scene.spec import Scene
from sim.trust.instants import Witness, choose
from sim.trust.repeats import compare_events, compare_tolerances, compare_with_recording, judge_instants
from sim.trust.rerun import Tell, rerun
from sim.trust.restoring import restored
from sim.trust.rows import keep_books, look_at_forces, look_at_rows
from sim.trust.seen import Seen
from sim.trust.verdict import Verdict

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
    if isinstance(recording, Recording):
        return _verify(recording, instants, quick, trust, stage)
    with load_recording(recording) as opened:
        return _verify(opened, instants, quick, trust, stage)


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
    keep_books(seen, verdict)
    if not quick:
        _run_again(seen, scene, verdict, instants, stage or (lambda name: None))
    return verdict


def _same_model(seen: Seen) -> None:
    """Raise unless the scene text gives the bodies and joints of the arrays, and nothing that cannot be verified."""
    model, recording = seen.model, seen.recording
    rubs = model.columns.joint[model.columns.friction > 0.0]
    if model.pairs or np.any(model.stops.rigid) or not set(rubs.tolist()) <= set(model.constraints):
        what = "contacts" if model.pairs else "rigid stops or friction of joints"
        raise RecordingError(
            f"{recording.path}: its scene has {what}, whose forces are not recomputed yet, so it cannot be verified; "
            "`sim run` prints the residuals and the energy balance"
        )
    bodies = [body.name for body in recording.bodies]
    if list(model.body_names[1:]) != bodies or list(model.joint_names) != seen.names:
        raise RecordingError(f"{recording.path}: its scene text describes other bodies or joints than its arrays hold")
    if [column.name for column in recording.columns] != list(model.column_names):
        raise RecordingError(f"{recording.path}: its scene text gives the joints other freedoms than its arrays hold")


def _run_again(seen: Seen, scene: Scene, verdict: Verdict, instants: int, stage: Stage) -> None:
    """Rerun as recorded, at a tighter tolerance, and tighter from a start a little apart."""
    recording, settings = seen.recording, seen.recording.settings
    said = scene.simulate
    tight = max(said.rtol / TIGHTER, min(TIGHTEST, 0.5 * said.rtol))
    controlled = said.method if said.method in ("radau", "auto") else "dop853"
    model = compile(replace(scene, simulate=replace(said, rtol=tight, method=controlled)))
    verdict.tolerances = (said.rtol, tight)
    if said.method in FIXED:
        verdict.fixed = f"{said.method} with steps of {said.step:g} s"
    again = functools.partial(
        rerun, seed=settings.get("seed"), triggers=[(str(key), float(at)) for key, at in settings.get("triggers", ())],
        last=np.inf if recording.complete else float(recording.time[-1]),
    )  # fmt: skip
    duration = float(settings.get("duration", said.duration))
    witness, rows = Witness(seen), choose(seen, instants)
    same = again(seen.model, duration, rows=rows, look=witness, tell=stage("as recorded"))
    tighter = again(model, duration, tell=stage(f"rtol {tight:.0e}"))
    push = max(LEAST_PUSH, said.rtol)
    apart = again(model, duration, push=push, tell=stage("from a start apart"))
    for run, how in ((same, "as recorded"), (tighter, f"at rtol {tight:g}"), (apart, "from a start a little apart")):
        if run.ended and recording.complete:
            (verdict.notes if run is apart else verdict.problems).append(f"the rerun {how} ended early: {run.ended}")
    if not len(same.values) or not len(tighter.values):
        return
    compare_tolerances(seen, verdict, same, tighter, apart)
    compare_with_recording(seen, verdict, same)
    compare_events(seen, verdict, same, tighter)
    judge_instants(seen, verdict, witness, rows)
