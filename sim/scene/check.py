"""Checks of events against time and against one another, before anything is assembled."""

from __future__ import annotations

from collections.abc import Sequence

from sim.scene.findings import Findings
from sim.scene.problem import Place
from sim.scene.spec import Event, Joint, Simulate

MOST_TIMES = 1_000  # of one event that are followed

# Time, order in file, kind, joint, place, path of the event; whether it is cut where it is connected (`either`).
_Change = tuple[float, int, str, str, Place, str, bool]


def check_events(events: Sequence[Event], joints: Sequence[Joint], simulate: Simulate, findings: Findings) -> None:
    """Report what can be proved of events before a run.

    Circles of `after`; times beyond the end; as warnings, timed cuts of what is not connected then, and
    connections of what is, which do nothing.  A joint that a condition or a key may also change is not judged.
    """
    cyclic = _circles(events, findings)
    times = _times(events, cyclic)
    end, hint = simulate.duration, "raise simulate.duration, or move the event"
    for event in events:
        stops = any(action.kind == "stop" for action in event.actions)
        first = min(times[event.name] or [end], default=end)
        if stops and first < end:
            end, hint = first, f"event '{event.name}' stops the run then"
    for event in events:
        for time in times[event.name] or ():
            if time > end:
                what = f"event '{event.name}' comes at {time:g} s, after the end of the run at {end:g} s"
                findings.add(event.place, f"events.{event.name}", what, hint)
    _prove_changes(events, joints, times, end, findings)


def _circles(events: Sequence[Event], findings: Findings) -> set[str]:
    """Report events that wait for one another and that nothing begins, once for each circle; return all in circles."""
    waits = {event.name: [name for name, _ in event.after] for event in events}
    never = _never_free(waits)
    begun, inside = _begun(events, waits) if never else set[str](), set[str]()
    for event in events:
        if event.name in inside or event.name not in never:
            continue
        path = _path_back(event.name, waits)
        inside.update(path)
        if path and event.name not in begun:
            circle = " -> ".join([*path, path[0]])
            findings.add(
                event.place, f"events.{event.name}.after", f"events wait for one another in a circle: {circle}"
            )
    return inside


def _never_free(waits: dict[str, list[str]]) -> set[str]:
    """Return the names of events that are in circles, or wait for one that is."""
    left = {name: {other for other in before if other in waits} for name, before in waits.items()}
    after: dict[str, list[str]] = {}
    for name, before in left.items():
        for other in before:
            after.setdefault(other, []).append(name)
    free = [name for name, before in left.items() if not before]
    while free:
        name = free.pop()
        del left[name]
        for other in after.get(name, ()):
            left[other].discard(name)
            if not left[other]:
                free.append(other)
    return set(left)


def _begun(events: Sequence[Event], waits: dict[str, list[str]]) -> set[str]:
    """Return the names of events that a time, a condition or a key may fire, or others that one fires."""
    begun = {event.name for event in events if event.at is not None or event.when is not None or event.key is not None}
    while more := {name for name, before in waits.items() if name not in begun and begun.intersection(before)}:
        begun |= more
    return begun


def _path_back(start: str, waits: dict[str, list[str]]) -> list[str]:
    """Return the names along `after` from an event back to itself, or nothing."""
    stack = [[start]]
    seen: set[str] = set()
    while stack:
        path = stack.pop()
        for name in waits.get(path[-1], []):
            if name == start:
                return path
            if name not in seen:
                seen.add(name)
                stack.append([*path, name])
    return []


def _times(events: Sequence[Event], cyclic: set[str]) -> dict[str, list[float] | None]:
    """Return the times at which events surely fire; None if a condition or a key may fire one too, or if too many."""
    by_name = {event.name: event for event in events}
    found: dict[str, list[float] | None] = dict.fromkeys(cyclic)
    for first in events:
        stack = [first]
        while stack:
            event = stack[-1]
            before = [by_name[name] for name, _ in event.after if name in by_name and name not in found]
            if event.name not in found and before:
                stack += before
                continue
            stack.pop()
            found.setdefault(event.name, _own_times(event, found))
    return found


def _own_times(event: Event, found: dict[str, list[float] | None]) -> list[float] | None:
    """Return the times of one event from those of the events that it waits for."""
    if event.when is not None or event.key is not None:
        return None
    times = [] if event.at is None else [event.at]
    for name, delay in event.after:
        first = found.get(name)
        if first is None or len(times) > MOST_TIMES:
            return None
        times += [time + delay for time in first]
    return sorted(times)[:1] if event.once else sorted(times)


def _prove_changes(
    events: Sequence[Event],
    joints: Sequence[Joint],
    times: dict[str, list[float] | None],
    duration: float,
    findings: Findings,
) -> None:
    """Warn of timed cuts of joints that are not connected then, and of connections of those that are."""
    uncertain: set[str] = set()
    changes: list[_Change] = []
    for order, event in enumerate(events):
        for action in event.actions:
            if action.kind not in ("connect", "cut"):
                continue
            if times[event.name] is None:
                uncertain.update(action.targets)
            path = f"events.{event.name}.{action.kind}"
            for time in times[event.name] or ():
                same = (action.place, path, action.either)
                changes += [(time, order, action.kind, target, *same) for target in action.targets]
    connected = {joint.name: joint.connected for joint in joints}
    since = {joint.name: "from the start" if joint.connected else "" for joint in joints}
    changes = [c for c in changes if c[3] not in uncertain and c[3] in connected and c[0] <= duration]
    at: dict[float, list[_Change]] = {}
    for change in changes:
        at.setdefault(change[0], []).append(change)
    for time, now in sorted(at.items()):
        for joint in dict.fromkeys(change[3] for change in now):
            kinds = {change[2] for change in now if change[3] == joint}
            if kinds == {"cut", "connect"}:
                continue  # cut and connected at one instant: no change
            kind = kinds.pop()
            if (kind == "connect") == connected[joint]:
                for place, path in [(c[4], c[5]) for c in now if c[3] == joint and not c[6]][:1]:
                    what = _already(joint, kind, time, since[joint])
                    findings.add(place, path, what, "this does nothing", severity="warning")
                continue
            connected[joint] = kind == "connect"
            since[joint] = f"since t = {time:g} s"


def _already(joint: str, kind: str, time: float, since: str) -> str:
    if kind == "connect":
        return f"at t = {time:g} s joint '{joint}' is connected already, {since}"
    state = f"is cut already, {since}" if since else "is not connected yet"
    return f"at t = {time:g} s joint '{joint}' {state}"
