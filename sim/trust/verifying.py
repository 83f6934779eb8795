"""`sim.verify`: run a recording's scene again, keep its books, ask the oracle, say what does not hold."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sim.compiler import compile
from sim.recording import Recording, RecordingError, load_recording
from sim.recording.layout import ENERGIES, row_names
from sim.scene.spec import Scene
from sim.trust.comparing import (
    SAFETY,
    common_rows,
    error_bar,
    growth,
    outputs,
    picked,
    pose_difference,
    state_difference,
)
from sim.trust.instants import LARGEST, Witness, choose
from sim.trust.ledger import ledger
from sim.trust.rerun import Rerun, Tell, rerun
from sim.trust.restoring import restored
from sim.trust.seen import Seen
from sim.trust.verdict import Moment, Peak, Verdict

INSTANTS = 20
TIGHTER = 100.0  # the rerun's tolerance is the recording's by this
TIGHTEST = 1e-13  # below, roundoff steers the steps
LEAST_PUSH = 1e-7  # of the start, where growth is measured; above the error of the tighter rerun
# What is promised of every row, m or rad, and m/s or rad/s.
POSITION, VELOCITY = 1e-10, 1e-8
# What is computed here from recorded numbers agrees with the recorded ones to this, relative.
ROUNDED = 1e-11
# Engine and oracle agree to this over the smallest singular value, relative.
AGREED = 1e-9
# A rerun that is not equal to the bit may be off by so many error bars, and by this of the largest value.
BARS, REPEATED = 10.0, 1e-9
NEAR_SINGULAR = 1e-3  # singular value below which ranks and marks of two codes may differ

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
    _look_at_rows(seen, verdict)
    _look_at_forces(seen, verdict)
    _keep_books(seen, verdict)
    if not quick:
        _run_again(seen, scene, verdict, instants, stage or (lambda name: None))
    return verdict


def _same_model(seen: Seen) -> None:
    """Raise unless the scene text gives the bodies and joints of the arrays."""
    model, recording = seen.model, seen.recording
    bodies = [body.name for body in recording.bodies]
    if list(model.body_names[1:]) != bodies or list(model.joint_names) != seen.names:
        raise RecordingError(f"{recording.path}: its scene text describes other bodies or joints than its arrays hold")
    if [column.name for column in recording.columns] != list(model.column_names):
        raise RecordingError(f"{recording.path}: its scene text gives the joints other freedoms than its arrays hold")


# --- what the rows themselves show ------------------------------------------------------------------


def _look_at_rows(seen: Seen, verdict: Verdict) -> None:
    recording, time = seen.recording, seen.recording.time
    missing = [
        name for name in ("position", "quat_wxyz", "velocity", "angular_velocity", "time")
        if not np.isfinite(recording.array(name)).all()
    ]  # fmt: skip
    if missing:
        verdict.problems.append(f"{', '.join(missing)}: some of the recorded values are not finite numbers")
    position, velocity, rate, worst = seen.residuals
    trust, energy = recording.trust, recording.energy
    for name, curve, allowed in (
        ("position", position, POSITION), ("velocity", velocity, VELOCITY), ("rates", rate, VELOCITY),
    ):  # fmt: skip
        peak = _peak(curve, time)
        verdict.residuals[name] = peak
        if not peak.value <= allowed:
            k = int(np.nanargmax(curve)) if np.isfinite(curve).any() else 0
            joint = f" (joint {seen.names[worst[k]]!r})" if name == "position" and worst[k] >= 0 else ""
            what = "recorded rates of joints differ from the bodies' velocities by" if name == "rates" else (
                f"the joints' residual of {name} is"
            )  # fmt: skip
            verdict.problems.append(f"{what} {peak.value:.2g} at t = {peak.time:.6g} s{joint}; {allowed:g} is promised")
    verdict.curves |= {"residual of position": position, "residual of velocity": velocity}
    recorded = [np.nan_to_num(a) for a in (trust.position_residual, trust.velocity_residual)]
    for name, curve, own, allowed in zip(
        ("position", "velocity"), recorded, (position, velocity), (POSITION, VELOCITY), strict=True
    ):
        _agree(f"the recorded residual of {name}", np.maximum(curve - own, 0.0), allowed, time, verdict)
    sigma, rank = trust.smallest_singular_value, trust.rank
    if np.isfinite(sigma).any():
        k = int(np.nanargmin(sigma))
        verdict.singular = Peak(float(sigma[k]), float(time[k]))
        verdict.rank = (int(rank.min()), int(rank.max()))
        verdict.curves |= {"smallest singular value": sigma, "rank": rank.astype(float)}
    verdict.balance = float(np.max(np.abs(energy.balance)))
    verdict.peak = float(np.max(energy.kinetic))
    verdict.curves["energy balance"] = energy.balance
    parts = [getattr(energy, name) for name in ENERGIES[:5]]
    total = sum(parts[:4]) - parts[4]
    scale = max(max(float(np.max(np.abs(part))) for part in parts), 1e-300)
    _agree("the recorded kinetic energy", np.abs(seen.kinetic - energy.kinetic) / scale, ROUNDED, time, verdict)
    _agree("the recorded energy balance", np.abs(total - total[0] - energy.balance) / scale, ROUNDED, time, verdict)
    massive = seen.mass > 0.0  # the centre of a massless body is not defined
    off = np.abs(seen.com - recording.array("com"))[:, massive].max(axis=(1, 2), initial=0.0)
    _agree("the recorded centre of mass", off / max(float(np.abs(seen.com).max()), 1.0), ROUNDED, time, verdict)


def _peak(curve: np.ndarray, time: np.ndarray) -> Peak:
    k = int(np.argmax(np.nan_to_num(curve, nan=np.inf)))
    return Peak(float(curve[k]), float(time[k]))


def _agree(what: str, off: np.ndarray, allowed: float, time: np.ndarray, verdict: Verdict) -> None:
    """Note a problem where recorded numbers differ from what poses and velocities say."""
    peak = _peak(off, time)
    if not peak.value <= allowed:
        verdict.problems.append(
            f"{what} differs from what the recorded poses and velocities give by {peak.value:.2g} at "
            f"t = {peak.time:.6g} s; {allowed:g} is roundoff"
        )


def _look_at_forces(seen: Seen, verdict: Verdict) -> None:
    marks = seen.recording.array("trust/determinate")
    for j, name in enumerate(seen.names):
        there = seen.present[:, j]
        if there.any():
            verdict.forces[name] = float(np.mean(marks[there, j] == 0))
    verdict.curves["chosen forces"] = np.sum(seen.present & (marks == 0), axis=1).astype(float)


def _keep_books(seen: Seen, verdict: Verdict) -> None:
    try:
        verdict.ledger = ledger(seen)
    except RecordingError:
        verdict.notes.append("the recording has no impulses of joints, so momenta at events are not balanced")
        return
    for entry in verdict.ledger:
        if not entry.closed:
            names = ", ".join(map(repr, entry.names))
            off = {
                "momentum": entry.left, "angular momentum": entry.left_angular, "impulse along a freedom": entry.along,
                "energy": entry.left_energy, "pose": entry.moved,
            }  # fmt: skip
            worst = max(off, key=lambda key: off[key])
            verdict.problems.append(
                f"event {names} at t = {entry.time:.6g} s: the ledger does not close; the {worst} is off by "
                f"{off[worst]:.2g} of what takes part"
            )


# --- reruns -----------------------------------------------------------------------------------------


def _run_again(seen: Seen, scene: Scene, verdict: Verdict, instants: int, stage: Stage) -> None:
    """Rerun as recorded, at a tighter tolerance, and tighter from a start a little apart."""
    recording, settings = seen.recording, seen.recording.settings
    said = scene.simulate
    tight = max(said.rtol / TIGHTER, min(TIGHTEST, 0.5 * said.rtol))
    model = compile(replace(scene, simulate=replace(said, rtol=tight, method="dop853")))
    verdict.tolerances = (said.rtol, tight)
    options = {
        "seed": settings.get("seed"), "triggers": [(str(key), float(at)) for key, at in settings.get("triggers", ())],
        "last": np.inf if recording.complete else float(recording.time[-1]),
    }  # fmt: skip
    duration = float(settings.get("duration", said.duration))
    witness, rows = Witness(seen), choose(seen, instants)
    same = rerun(seen.model, duration, rows=rows, look=witness, tell=stage("as recorded"), **options)
    tighter = rerun(model, duration, tell=stage(f"rtol {tight:.0e}"), **options)
    push = max(LEAST_PUSH, said.rtol)
    apart = rerun(model, duration, push=push, tell=stage("from a start apart"), **options)
    for run, how in ((same, "as recorded"), (tighter, f"at rtol {tight:g}"), (apart, "from a start a little apart")):
        if run.ended and recording.complete:
            (verdict.notes if run is apart else verdict.problems).append(f"the rerun {how} ended early: {run.ended}")
    if not len(same.values) or not len(tighter.values):
        return
    _bars(seen, verdict, same, tighter, apart)
    _repeats(seen, verdict, same)
    _moments(seen, verdict, same, tighter)
    _ask_oracle(seen, verdict, witness, rows)


def _bars(seen: Seen, verdict: Verdict, same: Rerun, tighter: Rerun, apart: Rerun) -> None:
    """Error bars of all outputs, and how differences grow."""
    recording, length = seen.recording, seen.model.length
    i, j = common_rows(same.time, tighter.time)
    one, two = picked(same.values, i), picked(tighter.values, j)
    time = one["time"]
    error = SAFETY * pose_difference(one, two, length)
    if apart.values:
        k, m = common_rows(tighter.time, apart.time)
        three, four = picked(tighter.values, k), picked(apart.values, m)
        off = state_difference(three, four, length)
        if off[0] > 0.0:
            on = np.interp(three["time"], time, error)
            verdict.growth = growth(three["time"], off / off[0], on, float(off[0]))
    until = verdict.growth.lost if verdict.growth is not None else np.inf
    found = outputs([body.name for body in recording.bodies], seen.names, recording.columns)
    verdict.bars = [error_bar(output, time, one, two, until) for output in found]
    verdict.bar_time = time
    if verdict.growth is not None and until <= time[-1]:
        verdict.notes.append(
            f"after t = {until:.4g} s the trajectory is not reproducible at this tolerance: error bars are those up to "
            "then"
        )


def _repeats(seen: Seen, verdict: Verdict, same: Rerun) -> None:
    """Whether the rerun gives the recorded numbers: to the bit, or within their error bars."""
    recording = seen.recording
    recorded = {name: recording.array(name) for name in row_names()}
    n = recording.rows
    again = {name: _typed(values[:n], recorded[name]) for name, values in same.values.items()}
    different = [
        name for name in recorded if not _same_bits(recorded[name], again[name])
    ]  # fmt: skip
    verdict.bit_equal = not different
    if verdict.bit_equal:
        return
    verdict.notes.append(f"a rerun differs from the recording in {', '.join(different)}")
    i, j = common_rows(recorded["time"], again["time"])
    if len(i) < 0.9 * n:
        verdict.problems.append(f"a rerun shares only {len(i)} of the {n} recorded instants")
    one, two = picked(recorded, i), picked(again, j)
    found = outputs([body.name for body in recording.bodies], seen.names, recording.columns)
    for output, bar in zip(found, verdict.bars, strict=True):
        off = np.nan_to_num(output.difference(one, two))
        if not off.size:
            continue
        allowed = BARS * np.interp(one["time"], verdict.bar_time, bar.over_time) + REPEATED * bar.largest
        row, k = np.unravel_index(int(np.argmax(off - allowed[:, None])), off.shape)
        if off[row, k] > allowed[row]:
            verdict.problems.append(
                f"{output.name} of {output.names[k]!r} at t = {one['time'][row]:.6g} s: a rerun differs from the "
                f"recording by {off[row, k]:.2g} {output.unit}, far more than the error bar explains"
            )
    absent = np.isnan(one["joints/force"][:, :, 0]) != np.isnan(two["joints/force"][:, :, 0])
    if absent.any():
        joint = seen.names[int(np.flatnonzero(absent.any(axis=0))[0])]
        verdict.problems.append(f"joint {joint!r} is connected at other times in a rerun than in the recording")
    sound = ~(recording.trust.smallest_singular_value[i] < NEAR_SINGULAR)
    for name in ("trust/rank", "trust/determinate"):
        off = np.reshape(one[name] != two[name], (len(i), -1)).any(axis=1) & sound
        if off.any():
            at = one["time"][int(np.flatnonzero(off)[0])]
            verdict.problems.append(f"{name} differs in a rerun, first at t = {at:.6g} s")


def _typed(values: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Return values as a recording holds them: whole numbers with -1 for absent."""
    if like.dtype.kind != "i":
        return values
    return np.where(np.isnan(values), -1, values).astype(like.dtype)


def _same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))


def _moments(seen: Seen, verdict: Verdict, same: Rerun, tighter: Rerun) -> None:
    """Events of the recording beside those of the reruns."""
    events = seen.recording.events
    again = [(h.name, h.kind, h.time, h.lost) for h in same.happenings[: len(events)]]
    for k, event in enumerate(events):
        if k >= len(again) or (event.name, event.kind) != again[k][:2]:
            verdict.problems.append(f"event {event.name!r} at t = {event.time:.6g} s does not happen so in a rerun")
            break
    later: dict[tuple[str, str], list[float]] = {}
    for happening in tighter.happenings:
        later.setdefault((happening.name, happening.kind), []).append(happening.time)
    for k, event in enumerate(events):
        times = later.get((event.name, event.kind), [])
        at = times.pop(0) if times else np.nan
        if event.kind != "mode":
            verdict.moments.append(Moment(event.name, event.time, at))
        if k < len(again):
            near = BARS * (abs(again[k][2] - at) if np.isfinite(at) else 1e-6) + REPEATED
            if abs(again[k][2] - event.time) > near:
                off = abs(again[k][2] - event.time)
                verdict.problems.append(f"event {event.name!r}: a rerun has it {off:.2g} s from the recorded time")
    lost = verdict.growth.lost if verdict.growth is not None else np.inf
    gone = [moment for moment in verdict.moments if np.isnan(moment.tighter)]
    for moment in gone:
        text = f"event {moment.name!r} at t = {moment.time:.6g} s does not happen at rtol {verdict.tolerances[1]:g}"
        (verdict.problems if moment.time < lost else verdict.notes).append(text)


def _ask_oracle(seen: Seen, verdict: Verdict, witness: Witness, rows: list[int]) -> None:
    verdict.instants = witness.found
    if not rows:
        many = len(seen.mass) > LARGEST
        why = f"more than {LARGEST} bodies" if many else "no row apart from events"
        verdict.notes.append(f"no instant was recomputed by the oracle: {why}")
    if witness.missed:
        verdict.notes.append(f"{len(witness.missed)} instants have another structure in the rerun and were left out")
    for found in witness.found:
        sigma = found.sigma if np.isfinite(found.sigma) else 1.0
        allowed = AGREED / max(min(sigma, 1.0), 1e-6)
        where = f"oracle, t = {found.time:.6g} s"
        for off, what in (
            (found.acceleration, "its accelerations differ from the engine's by"),
            (found.constraint, "the engine's accelerations break the joints' rows by"),
            (found.force, "the recorded joint forces leave Newton and Euler open by"),
            (found.drive, "the recorded joint forces differ from the joint torques along the freedoms by"),
            (found.springs, "the forces between bodies differ from those of the scene by"),
        ):
            if off > allowed:
                verdict.problems.append(f"{where}: {what} {off:.2g} of the largest")
        if sigma > NEAR_SINGULAR and found.rank != found.oracle_rank and found.oracle_rank + found.rank > 0:
            verdict.problems.append(f"{where}: {found.oracle_rank} rows of the loops act, {found.rank} are recorded")
        if sigma > NEAR_SINGULAR and found.marks:
            names = ", ".join(map(repr, found.marks))
            verdict.problems.append(f"{where}: whether the force of {names} is determinate is recorded otherwise")
