"""The books of every instant at which something happens: momenta, impulses and energy before and after.

Momenta are those of the recorded poses and velocities; impulses are recorded for every joint and for every point of
contact, and those from outside are what the scene's events say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim.analysis.verification import oracle_joints as jn
from sim.analysis.verification.seen import Seen
from sim.analysis.verification.touching import Touching
from sim.recording import EventEntry
from sim.scene.spec import Event

# Relative to the momenta, impulses and energies that take part, a closed book is off by less.
CLOSED = 1e-10
# Of the impulses at points of contact, as share of the largest: what may pull, and lie outside of the cone.
PULLS = 1e-9
# m/s: what is as slow may be brought to rest by impulses of least norm; how fast what was struck may still close.
SLOW, CLOSES = 1e-4, 1e-7
AT_REST = 1e-7  # m/s: rates of contacts that are left at an instant are taken away without being booked


@dataclass(frozen=True)
class Blow:
    """The impulse of one point of contact.

    name : of the two bodies; point : (3,) m, world
    impulse : (3,) N s, on the second body; normal, friction : its parts across and along the surfaces
    before, after : m/s, rates of the gap; lost : J, what it took
    """

    name: str
    point: np.ndarray
    impulse: np.ndarray
    normal: float
    friction: float
    before: float
    after: float
    lost: float


@dataclass(frozen=True)
class Entry:
    """One instant.  Residuals are relative to what takes part: 1e-16 is roundoff.

    momentum, angular_momentum : (3,) kg m/s, kg m^2/s, change in all, the second about the world's origin
    outside : (3,) N s, (3,) N m s: impulse and its moment from joints and contacts with the world and from events
    left, left_angular : largest impulse that a body's change of momentum does not account for, relative
    along : largest impulse along a joint's freedom without armature or motion, relative
    kinetic, potential : J, change in all
    lost, given : J, as recorded: lost in impacts, put in by the event
    left_energy : of energies, and of what the events say was lost; relative to the kinetic energy
    moved : m or rad, how far a body was moved; nothing but `set` may
    set : an event sets coordinates or rates, which is no impulse: momenta are not balanced
    blows : of the points of contact; wrong : a sentence for each law of contact that they do not follow
    unsettled : what rates of contacts that count as none may leave of it
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
    blows: tuple[Blow, ...] = ()
    wrong: tuple[str, ...] = ()
    unsettled: float = 0.0

    @property
    def closed(self) -> bool:
        """Whether every residual is roundoff."""
        books = [self.left_energy]
        if not self.set:
            books += [self.left, self.left_angular, self.along, self.moved]
        return max(books) < CLOSED + self.unsettled


def ledger(seen: Seen, touching: Touching | None = None) -> list[Entry]:
    """Return an entry for each instant with events; changes of mode that change no velocity are left out.

    touching : of scenes with contacts, whose impulses are then part of the books

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
        if event.row_before >= 0:
            groups.setdefault((event.row_before, event.row_after), []).append(k)
    events, struck = seen.recording.events, seen.recording.contact_impulses
    out = []
    for (before, after), group in groups.items():
        mine = {} if struck is None else {name: of[np.isin(struck["event"], group)] for name, of in struck.items()}
        acts = len(mine.get("event", ())) > 0 or bool(np.any(impulses[group]))
        if not acts and all(events[k].kind in ("mode", "annotation") for k in group):
            continue
        of_joints = impulses[group].sum(axis=0)
        out.append(_entry(seen, touching, [events[k] for k in group], before, after, of_joints, mine))
    return out


def _entry(
    seen: Seen, touching: Touching | None, events: list[EventEntry], before: int, after: int, impulses: np.ndarray,
    struck: dict[str, np.ndarray],
) -> Entry:  # fmt: skip
    recording, energy = seen.recording, seen.recording.energy
    given_by_joints, size = _by_joints(seen, after, impulses)
    if touching is not None and len(struck.get("event", ())):
        of_contacts = touching.given(after, struck["pair"], struck["point"], struck["impulse"])
        size = max(size, float(np.linalg.norm(struck["impulse"], axis=1).max()))
        rests = any(event.kind == "annotation" for event in events)
        blows, wrong = _blows(touching, struck, before, after, _alone(events), rests)
    else:
        of_contacts, blows, wrong = np.zeros_like(given_by_joints), (), ()
    pushed = _by_events(seen, events, after)
    sets = any(action.kind == "set" for spec in _specs(seen, events) for action in spec.actions)
    p = seen.mass[:, None] * seen.v_com[[before, after]]
    spin = seen.spin[[before, after]]
    given = given_by_joints + of_contacts + pushed
    left, left_angular = p[1] - p[0] - given[:, :3], spin[1] - spin[0] - given[:, 3:]
    length = seen.model.length
    scale = max(size, float(np.linalg.norm(p, axis=-1).sum()), float(np.linalg.norm(spin, axis=-1).sum()) / length)
    scale = max(scale, 1e-300)
    com = seen.com[after]
    part = pushed + of_contacts
    world = _of_world(seen, after, impulses) + np.array(
        [(part[:, :3]).sum(axis=0), (part[:, 3:] + np.cross(com, part[:, :3])).sum(axis=0)]
    )  # contacts between bodies have no part in it
    kinetic, potential = (float(e[after] - e[before]) for e in (seen.kinetic, energy.potential))
    lost, put_in = (float(e[after] - e[before]) for e in (energy.impact, energy.input))
    said = float(np.nansum([event.energy_lost for event in events]))
    weight = max(float(np.max(seen.kinetic[[before, after]])), abs(potential), 1e-300)
    fastest = float(np.max(np.linalg.norm(seen.v_com[[before, after]], axis=-1)))
    turned = np.abs(seen.R[after] - seen.R[before]).max(initial=0.0)
    return Entry(
        time=float(recording.time[after]), names=_names(events),
        momentum=(p[1] - p[0]).sum(axis=0),
        angular_momentum=(spin[1] - spin[0] + np.cross(com, p[1] - p[0])).sum(axis=0),
        outside=world[0], outside_angular=world[1],
        left=float(np.max(np.abs(left), initial=0.0)) / scale,
        left_angular=float(np.max(np.abs(left_angular), initial=0.0)) / (scale * length),
        along=_along(seen, after, impulses) / (scale * max(length, 1.0)),
        kinetic=kinetic, potential=potential, lost=lost, given=put_in,
        left_energy=max(abs(kinetic + potential + lost - put_in), abs(lost - said)) / weight,
        moved=float(max(turned, np.abs(seen.p[after] - seen.p[before]).max(initial=0.0))), set=sets,
        blows=blows, wrong=wrong,
        unsettled=AT_REST * float(seen.mass.sum()) * max(1.0 / scale, fastest / weight) if blows else 0.0,
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
    largest, stops = 0.0, seen.model.stops
    strikes = set(np.asarray(stops.joint)[np.asarray(stops.rigid) != 0].tolist())  # at their rigid stops
    for j in np.flatnonzero(np.any(impulses != 0.0, axis=1)):
        at = seen.pair(int(j), row)
        armature, motion = (seen.model.columns[name][seen.columns[j]] for name in ("armature", "motion"))
        for k, along in enumerate(jn.along_freedoms(seen.kinds[j], at, impulses[j, :3], impulses[j, 3:])):
            if armature[k] == 0.0 and motion[k] < 0 and j not in strikes:
                largest = max(largest, abs(along))
    return largest


def _names(events: list[EventEntry]) -> tuple[str, ...]:
    """Return the names of events; of changes of mode only where nothing else happens."""
    said = [event.name for event in events if event.kind not in ("mode", "annotation")]
    return tuple(said or [event.name for event in events])


def _alone(events: list[EventEntry]) -> bool:
    """Tell whether impulses of contacts are all that changes velocities: no event of the scene acts beside them."""
    return all(event.kind in ("impact", "mode", "annotation") for event in events)


def _blows(
    touching: Touching, struck: dict[str, np.ndarray], before: int, after: int, alone: bool, rests: bool
) -> tuple[tuple[Blow, ...], tuple[str, ...]]:
    """Return the impulses of contacts at an instant, and what is wrong with them.

    alone : nothing else changes velocities there, so that rates after it are those after the impulses
    rests : something comes to rest there
    """
    pair, point, n, P = (struck[name] for name in ("pair", "point", "normal", "impulse"))
    if not all(np.isfinite(a).all() for a in (point, n, P)):
        return (), ("some of the recorded impulses of contacts are not finite numbers",)
    u = [touching.velocity(np.full(len(pair), row), pair, point) for row in (before, after)]
    normal = np.sum(P * n, axis=1)
    friction = np.linalg.norm(P - normal[:, None] * n, axis=1)
    lost = -0.5 * np.sum(P * (u[0] + u[1]), axis=1)
    closes = [np.sum(one * n, axis=1) for one in u]
    blows = tuple(
        Blow(touching.name(int(pair[k])), point[k], P[k], float(normal[k]), float(friction[k]), float(closes[0][k]),
             float(closes[1][k]), float(lost[k]))
        for k in range(len(pair))
    )  # fmt: skip
    size = float(np.max(np.linalg.norm(P, axis=1)))
    most = np.array([max(touching.friction_at_rest[p], default=0.0) for p in pair])
    # What comes to rest is held by impulses of least norm, whatever the cone allows: they stop no more than this.
    held = float(np.sum(touching.seen.mass)) * (max(SLOW, float(np.max(-closes[0]))) if rests else SLOW)
    few = PULLS * size + held
    wrong = []
    for k, blow in enumerate(blows):
        if blow.normal < -few:
            wrong.append(f"the contact of {blow.name} pulls with {-blow.normal:.3g} N s")
        if blow.friction > most[k] * blow.normal + few:
            wrong.append(
                f"at the contact of {blow.name} friction gives {blow.friction:.6g} N s, beyond the cone of "
                f"{most[k] * blow.normal:.6g} N s"
            )
        if alone and blow.after < -CLOSES and blow.normal > PULLS * size:
            wrong.append(f"the contact of {blow.name} still closes at {-blow.after:.3g} m/s after its impulse")
    return blows, tuple(wrong)


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
