"""What the rows of a recording show by themselves, without running anything again."""

from __future__ import annotations

import numpy as np

from sim.analysis.verification.ledger import ledger
from sim.analysis.verification.seen import Seen
from sim.analysis.verification.touching import Touching
from sim.analysis.verification.verdict import Peak, Verdict
from sim.recording import RecordingError
from sim.recording.format import ENERGIES
from sim.recording.ranks import stretches

# What is promised of every row, m or rad, and m/s or rad/s.
POSITION, VELOCITY = 1e-10, 1e-8
# What is computed here from recorded numbers agrees with the recorded ones to this, relative.
ROUNDED = 1e-11
MOTION = "poses and velocities"
GIVEN = 1e-9  # of the largest kinetic energy: what impacts may give


def look_at_rows(seen: Seen, verdict: Verdict) -> None:
    """Residuals, energies and centres of mass, against what poses and velocities give."""
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
        _agree(f"the recorded residual of {name}", MOTION, np.maximum(curve - own, 0.0), allowed, time, verdict)
    sigma, rank = trust.smallest_singular_value, trust.rank
    if np.isfinite(sigma).any():
        k = int(np.nanargmin(sigma))
        verdict.singular = Peak(float(sigma[k]), float(time[k]))
        verdict.rank = (int(rank.min()), int(rank.max()))
        verdict.ranks = stretches(time, rank, trust.rows)
        verdict.curves |= {"smallest singular value": sigma, "rank": rank.astype(float)}
    verdict.balance = float(np.max(np.abs(energy.balance)))
    verdict.peak = float(np.max(energy.kinetic))
    verdict.curves["energy balance"] = energy.balance
    parts = [getattr(energy, name) for name in ENERGIES[:5]]
    total = sum(parts[:4]) - parts[4]
    scale = max(max(float(np.max(np.abs(part))) for part in parts), 1e-300)
    off = np.abs(seen.kinetic - energy.kinetic) / scale
    _agree("the recorded kinetic energy", MOTION, off, ROUNDED, time, verdict)
    # It counts from the start of a run, which rows of one that began from a state do not hold.
    first = energy.balance[0] if recording.begun is not None else 0.0
    off = np.abs(total - total[0] - (energy.balance - first)) / scale
    _agree("the recorded energy balance", "energies", off, ROUNDED, time, verdict)
    massive = seen.mass > 0.0  # the centre of a massless body is not defined
    off = np.abs(seen.com - recording.array("com"))[:, massive].max(axis=(1, 2), initial=0.0)
    off = off / max(float(np.abs(seen.com).max()), 1.0)
    _agree("the recorded centre of mass", MOTION, off, ROUNDED, time, verdict)


def _peak(curve: np.ndarray, time: np.ndarray) -> Peak:
    k = int(np.argmax(np.nan_to_num(curve, nan=np.inf)))
    return Peak(float(curve[k]), float(time[k]))


def _agree(what: str, source: str, off: np.ndarray, allowed: float, time: np.ndarray, verdict: Verdict) -> None:
    """Note a problem where recorded numbers differ from what other recorded numbers give."""
    peak = _peak(off, time)
    if not peak.value <= allowed:
        verdict.problems.append(
            f"{what} differs from what the recorded {source} give by {peak.value:.2g} at "
            f"t = {peak.time:.6g} s; {allowed:g} is roundoff"
        )


def look_at_forces(seen: Seen, verdict: Verdict) -> None:
    """Which forces are determinate, and in how many rows."""
    marks = seen.recording.array("trust/determinate")
    for j, name in enumerate(seen.names):
        there = seen.present[:, j]
        if there.any():
            verdict.forces[name] = float(np.mean(marks[there, j] == 0))
            if verdict.forces[name]:
                verdict.components[name] = seen.recording.trust.sure(name)
    verdict.curves["chosen forces"] = np.sum(seen.present & (marks == 0), axis=1).astype(float)


def look_at_energy(seen: Seen, verdict: Verdict) -> None:
    """Impacts take energy: what they took in all never falls."""
    fall = -np.diff(seen.recording.energy.impact, prepend=seen.recording.energy.impact[0])
    peak = _peak(fall, seen.recording.time)
    if not peak.value <= GIVEN * max(verdict.peak, 1e-300):
        verdict.problems.append(f"impacts give {peak.value:.3g} J at t = {peak.time:.6g} s; they only take energy")


def keep_books(seen: Seen, verdict: Verdict, touching: Touching | None = None) -> None:
    """The ledger of events."""
    if touching is not None and seen.recording.contact_impulses is None:
        verdict.notes.append("the recording has no impulses of contacts, so momenta at events are not balanced")
        return
    try:
        verdict.ledger = ledger(seen, touching)
    except RecordingError:
        verdict.notes.append("the recording has no impulses of joints, so momenta at events are not balanced")
        return
    for entry in verdict.ledger:
        verdict.problems += [f"event {entry.names[0]!r} at t = {entry.time:.6g} s: {text}" for text in entry.wrong]
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
