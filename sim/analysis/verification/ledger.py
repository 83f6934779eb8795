"""The books of every instant at which something happens: momenta, impulses and energy before and after.

Momenta are those of the recorded poses and velocities; impulses are recorded for every joint, and
those from outside are what the scene's events say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim.analysis.verification import oracle_joints as jn
from sim.analysis.verification.seen import Seen
from sim.recording import EventEntry
from sim.scene.spec import Event

# Relative to the momenta, impulses and energies that take part, a closed book is off by less.
CLOSED = 1e-10


@dataclass(frozen=True)
class Entry:
    """One instant.  Residuals are relative to what takes part: 1e-16 is roundoff.

    momentum, angular_momentum : (3,) kg m/s, kg m^2/s, change in all, the second about the world's origin
    outside : (3,) N s, (3,) N m s: impulse and its moment from joints with the world and from events
    left, left_angular : largest impulse that a body's change of momentum does not account for, relative
    along : largest impulse along a joint's freedom without armature or motion, relative
    kinetic, potential : J, change in all
    lost, given : J, as recorded: lost in impacts, put in by the event
    left_energy : of energies, and of what the events say was lost; relative to the kinetic energy
    moved : m or rad, how far a body was moved; nothing but `set` may
    set : an event sets coordinates or rates, which is no impulse: momenta are not balanced
    """

    time: float
    names: tuple[str, ...]
    momentum: np.ndarray
    angular_momentum: np.ndarray
    outside: np.ndarray
    outside_angular: np.ndarray
    left: float
    left_angular: float
    along: float
    kinetic: float
    potential: float
    lost: float
    given: float
    left_energy: float
    moved: float
    set: bool

    @property
    def closed(self) -> bool:
        """Whether every residual is roundoff."""
        books = [self.left_energy]
        if not self.set:
            books += [self.left, self.left_angular, self.along, self.moved]
        return max(books) < CLOSED


def ledger(seen: Seen) -> list[Entry]:
    """Return an entry for each instant with events, changes of mode left out: they change no velocity.

    Raises
    ------
    RecordingError
        When the recording has no impulses of joints.
    """
    if not seen.recording.events:
        return []
    impulses = seen.recording.impulse.array
    groups: dict[tuple[int, int], list[int]] = {}
    for k, event in enumerate(seen.recording.events):
        if event.row_before >= 0 and event.kind not in ("mode", "annotation"):
            groups.setdefault((event.row_before, event.row_after), []).append(k)
    events = seen.recording.events
    return [
        _entry(seen, [events[k] for k in group], before, after, impulses[group].sum(axis=0))
        for (before, after), group in groups.items()
    ]


def _entry(seen: Seen, events: list[EventEntry], before: int, after: int, impulses: np.ndarray) -> Entry:
    recording, energy = seen.recording, seen.recording.energy
    given_by_joints, size = _by_joints(seen, after, impulses)
    pushed = _by_events(seen, events, after)
    sets = any(action.kind == "set" for spec in _specs(seen, events) for action in spec.actions)
    p = seen.mass[:, None] * seen.v_com[[before, after]]
    spin = seen.spin[[before, after]]
    left = p[1] - p[0] - given_by_joints[:, :3] - pushed[:, :3]
    left_angular = spin[1] - spin[0] - given_by_joints[:, 3:] - pushed[:, 3:]
    length = seen.model.length
    scale = max(size, float(np.linalg.norm(p, axis=-1).sum()), float(np.linalg.norm(spin, axis=-1).sum()) / length)
    scale = max(scale, 1e-300)
    com = seen.com[after]
    world = _of_world(seen, after, impulses) + np.array(
        [pushed[:, :3].sum(axis=0), (pushed[:, 3:] + np.cross(com, pushed[:, :3])).sum(axis=0)]
    )
    kinetic, potential = (float(e[after] - e[before]) for e in (seen.kinetic, energy.potential))
    lost, given = (float(e[after] - e[before]) for e in (energy.impact, energy.input))
    said = float(np.nansum([event.energy_lost for event in events]))
    weight = max(float(np.max(seen.kinetic[[before, after]])), abs(potential), 1e-300)
    turned = np.abs(seen.R[after] - seen.R[before]).max(initial=0.0)
    return Entry(
        time=float(recording.time[after]), names=tuple(event.name for event in events),
        momentum=(p[1] - p[0]).sum(axis=0),
        angular_momentum=(spin[1] - spin[0] + np.cross(com, p[1] - p[0])).sum(axis=0),
        outside=world[0], outside_angular=world[1],
        left=float(np.max(np.abs(left), initial=0.0)) / scale,
        left_angular=float(np.max(np.abs(left_angular), initial=0.0)) / (scale * length),
        along=_along(seen, after, impulses) / (scale * max(length, 1.0)),
        kinetic=kinetic, potential=potential, lost=lost, given=given,
        left_energy=max(abs(kinetic + potential + lost - given), abs(lost - said)) / weight,
        moved=float(max(turned, np.abs(seen.p[after] - seen.p[before]).max(initial=0.0))), set=sets,
    )  # fmt: skip


def _by_joints(seen: Seen, row: int, impulses: np.ndarray) -> tuple[np.ndarray, float]:
    """Return (bodies, 6) impulse and its moment about the centre of mass from joints, and the largest impulse."""
    out = np.zeros((len(seen.mass), 6))
    for j in np.flatnonzero(np.any(impulses != 0.0, axis=1)):
        out += seen.pushes(int(j), row, impulses[j], seen.pair(int(j), row).P)
    return out, float(np.linalg.norm(impulses[:, 3:], axis=1).max(initial=0.0))


def _of_world(seen: Seen, row: int, impulses: np.ndarray) -> np.ndarray:
    """Return (2, 3) impulse and its moment about the world's origin from joints with the world."""
    out = np.zeros((2, 3))
    for j in np.flatnonzero(np.any(impulses != 0.0, axis=1)):
        if seen.lever(int(j), row) is not None:  # what bodies do not give one another
            pushed = seen.pushes(int(j), row, impulses[j], np.zeros(3))
            out += np.array(
                [pushed[:, :3].sum(axis=0), (pushed[:, 3:] + np.cross(seen.com[row], pushed[:, :3])).sum(axis=0)]
            )
        elif -1 in (seen.a[j], seen.b[j]):
            sign = 1.0 if seen.a[j] < 0 else -1.0
            point = seen.pair(int(j), row).P
            out += sign * np.array([impulses[j, 3:], impulses[j, :3] + np.cross(point, impulses[j, 3:])])
    return out


def _along(seen: Seen, row: int, impulses: np.ndarray) -> float:
    """Return the largest impulse of a joint along a freedom without armature or motion, N s or N m s."""
    largest = 0.0
    for j in np.flatnonzero(np.any(impulses != 0.0, axis=1)):
        at = seen.pair(int(j), row)
        armature, motion = (seen.model.columns[name][seen.columns[j]] for name in ("armature", "motion"))
        for k, along in enumerate(jn.along_freedoms(seen.kinds[j], at, impulses[j, :3], impulses[j, 3:])):
            if armature[k] == 0.0 and motion[k] < 0:
                largest = max(largest, abs(along))
    return largest


def _specs(seen: Seen, events: list[EventEntry]) -> list[Event]:
    names = {event.name for event in events if event.kind in ("scene", "key")}
    return [spec for spec in seen.model.scene.events if spec.name in names]


def _by_events(seen: Seen, events: list[EventEntry], row: int) -> np.ndarray:
    """Return (bodies, 6) impulse and its moment about the centre of mass that the scene's events give."""
    out, model = np.zeros((len(seen.mass), 6)), seen.model
    for spec in _specs(seen, events):
        for action in spec.actions:
            if action.kind != "impulse":
                continue
            for name, (linear, angular, point) in zip(action.targets, action.values, strict=True):
                body = model.body_names.index(name) - 1
                p_B = model.points.p_B[model.point_names[f"{name}.{point or 'com'}"]]
                arm = seen.p[row, body] + seen.R[row, body] @ p_B - seen.com[row, body]
                push = np.asarray(linear, float)
                out[body] += np.concatenate([push, np.asarray(angular, float) + np.cross(arm, push)])
    return out
