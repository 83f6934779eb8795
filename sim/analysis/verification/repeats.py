"""What reruns show: error bars, whether the recording repeats, what the oracle found on the way."""

from __future__ import annotations

import contextlib
from collections import Counter

import numpy as np

from sim.analysis.verification.comparing import (
    HALVED,
    LOST,
    SAFETY,
    common_rows,
    error_bar,
    growth,
    outputs,
    picked,
    pose_difference,
    state_difference,
)
from sim.analysis.verification.instants import LARGEST, Witness
from sim.analysis.verification.rerun import Again, Rerun
from sim.analysis.verification.seen import Seen
from sim.analysis.verification.verdict import Moment, Verdict
from sim.recording import RecordingError
from sim.recording.format import row_names
from sim.simulation.journal import EventRecord

# A rerun that is not equal to the bit may be off by so many error bars, and by this of the largest value.
BARS, REPEATED = 10.0, 1e-9
SAME_IMPACT = 1e-3  # s: impacts of two runs that are further apart are others
NEAR_SINGULAR = 1e-3  # singular value below which ranks and marks of two codes may differ
ASKED = {
    "acceleration": "its accelerations differ from the engine's by",
    "constraint": "the engine's accelerations break the joints' rows by",
    "force": "the recorded joint forces leave Newton and Euler open by",
    "drive": "the recorded joint forces differ from the joint torques along the freedoms by",
    "springs": "the forces between bodies differ from those of the scene by",
}


def compare_tolerances(
    seen: Seen, verdict: Verdict, same: Rerun, tighter: Rerun, apart: Rerun, one_sided: bool = False
) -> None:
    """Error bars of all outputs, and how differences grow; one_sided: of which no start apart tells that."""
    recording, length = seen.recording, seen.model.length
    i, j = common_rows(same.time, tighter.time)
    one, two = picked(same.values, i), picked(tighter.values, j)
    time = one["time"]
    safety = SAFETY if verdict.steps is None else HALVED
    error = safety * pose_difference(one, two, length)
    if apart.values:
        k, m = common_rows(tighter.time, apart.time)
        three, four = picked(tighter.values, k), picked(apart.values, m)
        off = state_difference(three, four, length)
        if off[0] > 0.0:
            on = np.interp(three["time"], time, error)
            verdict.growth = growth(three["time"], off / off[0], on, float(off[0]))
    until = verdict.growth.lost if verdict.growth is not None else _parted(time, error) if one_sided else np.inf
    verdict.until = until
    found = outputs([body.name for body in recording.bodies], seen.names, recording.columns)
    verdict.bars = [error_bar(output, time, one, two, until, safety) for output in found]
    verdict.bar_time = time
    if until <= time[-1]:
        how = "at this tolerance" if verdict.steps is None else "in these steps"
        verdict.notes.append(
            f"after t = {until:.4g} s the trajectory is not reproducible {how}: error bars are those up to then"
        )


def _parted(time: np.ndarray, error: np.ndarray) -> float:
    """Return when the error bar of a pose passes what counts as lost [s]; infinite where it does not."""
    past = np.flatnonzero(error > LOST)
    return float(time[past[0]]) if len(past) else np.inf


def judge_gain(seen: Seen, verdict: Verdict) -> None:
    """Time steps of contacts take energy; what they give is to be no more than their error bar explains."""
    bar = next((bar for bar in verdict.bars if bar.name == "energy balance"), None)
    if bar is None:
        return
    energy, time = seen.recording.energy, seen.recording.time
    gain = energy.balance - np.minimum.accumulate(energy.balance)
    allowed = BARS * np.interp(time, verdict.bar_time, bar.over_time) + REPEATED * verdict.peak
    k = int(np.argmax(gain - allowed))
    if gain[k] > allowed[k]:
        verdict.problems.append(
            f"contacts give {gain[k]:.3g} J up to t = {time[k]:.6g} s, far more than the error of their steps explains"
        )


def compare_with_recording(seen: Seen, verdict: Verdict, same: Rerun) -> None:
    """Whether the rerun gives the recorded numbers: to the bit, or within their error bars."""
    recording = seen.recording
    recorded = {name: recording.array(name) for name in row_names() if recording.tells(name)}
    n = recording.rows
    again = {name: _typed(same.values[name][:n], recorded[name]) for name in recorded}
    different = [
        name for name in recorded if not _same_bits(recorded[name], again[name])
    ]  # fmt: skip
    verdict.bit_equal = not different
    if verdict.bit_equal:
        changed = _changed_beside(seen, same)
        verdict.bit_equal = not changed
        if changed:
            verdict.problems.append(f"a rerun has the same rows to the bit, but other {' and '.join(changed)}")
        return
    verdict.notes.append(f"a rerun differs from the recording in {', '.join(different)}")
    if _same_bits(recorded["time"], again["time"]):
        i = j = np.arange(n)
    else:
        i, j = common_rows(recorded["time"], again["time"])
    if len(i) < 0.9 * n:
        verdict.problems.append(f"a rerun shares only {len(i)} of the {n} recorded instants")
    one, two = picked(recorded, i), picked(again, j)
    if not verdict.bars:
        return
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
        other = one[name] != two[name]
        off = (other if other.ndim == 1 else other.any(axis=1)) & sound
        if off.any():
            at = one["time"][int(np.flatnonzero(off)[0])]
            verdict.problems.append(f"{name} differs in a rerun, first at t = {at:.6g} s")


def _changed_beside(seen: Seen, same: Rerun) -> list[str]:
    """Return what differs in a rerun of equal rows: raw states, events, impulses, contacts."""
    recording, changed = seen.recording, []
    for first, q, v in same.states:
        epoch = next((e for e in recording.epochs if e.first <= first < e.last), None)
        if epoch is not None:
            k = slice(first - epoch.first, min(first + len(q), epoch.last) - epoch.first)
            n = k.stop - k.start
            if not (_same_bits(epoch.q[k], q[:n]) and _same_bits(epoch.v[k], v[:n])):
                changed.append("raw states")
                break
    events = recording.events
    again = [(h.time, h.name, h.kind, h.caption, h.lost, h.impulse, h.text) for h in same.events[: len(events)]]
    if again != [(e.time, e.name, e.kind, e.caption, e.energy_lost, e.impulse, e.text) for e in events]:
        changed.append("events")
    with contextlib.suppress(RecordingError):  # of a program that wrote no impulses
        struck = recording.contact_impulses
        if struck is not None and not all(np.array_equal(struck[name], of) for name, of in _struck(seen, same).items()):
            changed.append("impulses of contacts")
        recorded = recording.impulse.array
        none = np.zeros(recorded.shape[1:])
        through = [none if h.through is None else h.through for h in same.events[: len(events)]]
        if not all(np.array_equal(a, b) for a, b in zip(recorded, through, strict=False)):
            changed.append("impulses")
    touches = recording.touches
    points = {name: values[same.touches["row"] < recording.rows] for name, values in same.touches.items()}
    as_many = len(points.get("row", ())) == len(touches["row"])
    if not as_many or not all(np.array_equal(touches[name], points[name]) for name in points):
        changed.append("contacts")
    return changed


def _struck(seen: Seen, same: Rerun) -> dict[str, np.ndarray]:
    """Return the impulses of contacts in a rerun, as recordings have them."""
    told = [(k, h.contacts) for k, h in enumerate(same.events[: len(seen.recording.events)]) if h.contacts is not None]
    if not told:
        return {"event": np.zeros(0, int)}
    out = {name: np.concatenate([one[name] for _, one in told]) for name in told[0][1]}
    return out | {"event": np.concatenate([np.full(len(one["pair"]), k) for k, one in told])}


def _typed(values: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Return values as a recording holds them: whole numbers with -1 for absent."""
    if like.dtype.kind != "i":
        return values
    return np.where(np.isnan(values), -1, values).astype(like.dtype)


def _same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))


def compare_events(seen: Seen, verdict: Verdict, same: Rerun) -> EventRecord | None:
    """Whether each event of the recording happens in the rerun as recorded; returns the first that only the rerun has.

    What happens after the recording's end does not count.
    """
    events, last = seen.recording.events, float(seen.recording.time[-1])
    again = [record for record in same.events if record.time <= last]
    for k, record in enumerate(again):
        event = events[k] if k < len(events) else None
        if event is None or (event.name, event.kind) != (record.name, record.kind):
            if event is None or record.time < event.time - REPEATED:
                return record
            break
    else:
        k = len(again)
    if k < len(events):
        event = events[k]
        verdict.problems.append(f"event {event.name!r} at t = {event.time:.6g} s does not happen so in a rerun")
    return None


def tell_missed(seen: Seen, verdict: Verdict, same: Rerun, extra: EventRecord | None, again: Again) -> None:
    """What the recorded run passed by: found by looks into its steps, or because a rerun has it.

    extra : the first event that only the rerun has; how deep it gets where nobody acts is found in one more
    """
    verdict.looks, verdict.missed = same.looks, list(same.missed)
    many = Counter((missed.kind, missed.name) for missed in same.missed)
    for (kind, name), count in many.items():
        first = next(missed for missed in same.missed if (missed.kind, missed.name) == (kind, name))
        more = f", {count} times" if count > 1 else ""
        verdict.problems.append(f"missed{more}: {first.sentence}, and the run did not see it")
    if extra is None:
        return
    at = f"event {extra.name!r} at t = {extra.time:.6g} s happens in a rerun, and is not in the recording"
    passed = again(seen.model, blind_from=extra.time).missed if _is_found(seen, extra) else []
    for missed in passed:
        if abs(missed.time - extra.time) < REPEATED and (extra.kind != "scene" or missed.name == extra.name):
            verdict.missed.append(missed)
            at += f": {missed.sentence}"
            break
    verdict.problems.append(f"missed: {at}")


def _is_found(seen: Seen, record: EventRecord) -> bool:
    """Tell whether something happens where a value crosses zero, not at a time or at a key."""
    if record.kind != "scene":
        return record.kind in ("impact", "mode")
    return any(e.name == record.name and e.when is not None for e in seen.model.scene.events)


def compare_moments(seen: Seen, verdict: Verdict, same: Rerun, tighter: Rerun, one_sided: bool = False) -> None:
    """Times of events in the recording beside those of the reruns.

    one_sided : of impacts, which may come in another number, only those count that both have at about the same time
    """
    again = same.events
    later: dict[tuple[str, str], list[float]] = {}
    for record in tighter.events:
        later.setdefault((record.name, record.kind), []).append(record.time)
    for k, event in enumerate(seen.recording.events):
        times = later.get((event.name, event.kind), [])
        at = times.pop(0) if times else np.nan
        if one_sided and event.kind == "impact" and not abs(at - event.time) <= SAME_IMPACT:
            times.clear()
            at = np.nan
        if event.kind != "mode":
            verdict.moments.append(Moment(event.name, event.time, at))
        if k < len(again):
            near = BARS * (abs(again[k].time - at) if np.isfinite(at) else 1e-6) + REPEATED
            if abs(again[k].time - event.time) > near:
                off = abs(again[k].time - event.time)
                verdict.problems.append(f"event {event.name!r}: a rerun has it {off:.2g} s from the recorded time")
    lost = verdict.growth.lost if verdict.growth is not None else np.inf
    gone = [moment for moment in verdict.moments if np.isnan(moment.tighter)]
    if one_sided:
        lost = verdict.until
        struck = {e.name for e in seen.recording.events if e.kind == "impact"}
        others = [moment for moment in gone if moment.name in struck]
        gone = [moment for moment in gone if moment.name not in struck]
        if others:
            verdict.notes.append(
                f"{len(others)} of the impacts have no counterpart within {SAME_IMPACT:g} s in the finer rerun, first "
                f"that of {others[0].name} at t = {others[0].time:.6g} s"
            )
    finer = f"at rtol {verdict.tolerances[1]:g}"
    if verdict.steps is not None and np.isnan(verdict.tolerances[1]):
        finer = f"in steps of {verdict.steps[1]:g} s"
    for moment in gone:
        text = f"event {moment.name!r} at t = {moment.time:.6g} s does not happen {finer}"
        (verdict.problems if moment.time < lost else verdict.notes).append(text)


def judge_instants(seen: Seen, verdict: Verdict, witness: Witness, rows: list[int]) -> None:
    """What the oracle found."""
    verdict.instants = witness.found
    if not rows:
        many = len(seen.mass) > LARGEST
        why = f"more than {LARGEST} bodies" if many else "no row apart from events"
        verdict.notes.append(f"no instant was recomputed by the oracle: {why}")
    if witness.missed:
        verdict.notes.append(f"{len(witness.missed)} instants have another structure in the rerun and were left out")
    for name, what in ASKED.items():
        known = "known" if name in ("force", "drive") else "allowed"
        wrong = [found for found in witness.found if getattr(found, name) > getattr(found, known)]
        if wrong:
            worst = max(wrong, key=lambda found: getattr(found, name))
            verdict.problems.append(
                f"oracle: {what} {getattr(worst, name):.2g} of the largest at t = {worst.time:.6g} s, beyond "
                f"{getattr(worst, known):.1g} at {len(wrong)} of {len(witness.found)} instants"
            )
    sound = [found for found in witness.found if not found.sigma < NEAR_SINGULAR]
    for found in sound:
        if found.rank != found.oracle_rank:
            verdict.problems.append(
                f"oracle: {found.oracle_rank} rows of the loops act at t = {found.time:.6g} s, "
                f"{found.rank} are recorded"
            )
            break
    for found in sound:
        if found.marks:
            names = ", ".join(map(repr, found.marks))
            verdict.problems.append(
                f"oracle: whether the force of {names} is determinate is recorded otherwise at t = {found.time:.6g} s"
            )
            break
