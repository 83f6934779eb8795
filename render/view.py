"""A recorded motion as numpy arrays: poses at any instant, events, captions, instants of frames.

World axes, z up, SI units, radians, quaternions (w, x, y, z) from body to world.  An event's
instant stands twice in a recording, before (x-) and after (x+); nothing here ever interpolates
from one side of an event to the other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from render import rotation
from sim.recording import opening
from sim.recording.errors import RecordingError
from sim.recording.places import Places
from sim.scene.shown import one_line

TRAIL = 1000  # points that a trail is drawn through, at most


class RenderError(RuntimeError):
    """A picture, film or plot that cannot be made; the message says why and what to do."""


@dataclass(frozen=True, kw_only=True)
class Shapes:
    """Solids to draw, one row each.

    body : (s,) int, index of the body, -1 for the world
    kind : (s,) box, sphere, capsule, cylinder, ellipsoid, mesh, plane
    position : (s, 3) m, of the shape's centre from the body's origin, body axes
    quat : (s, 4) shape axes to body axes
    size : (s, 3) m; box: full edges; sphere, ellipsoid: half axes; capsule, cylinder: (r, r, length
        between the end centres) along z; plane: (edge, edge, 0) of the square that is drawn, its solid is below z = 0;
        mesh: full edges of a box that holds it
    color : (s, 4) red, green, blue, opacity in [0, 1]; not-a-number where the body has no colour of its own
    hulls : of each mesh its vertices (v, 3) m and triangles (f, 3)
    """

    body: np.ndarray
    kind: tuple[str, ...]
    position: np.ndarray
    quat: np.ndarray
    size: np.ndarray
    color: np.ndarray
    hulls: Mapping[int, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.kind)


@dataclass(frozen=True, kw_only=True)
class Springs:
    """Springs between points to draw, one row each.

    body : (s, 2) int, bodies of both ends, -1 for the world
    point : (s, 2, 3) m, ends from the body's origin, body axes
    """

    body: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), int))
    point: np.ndarray = field(default_factory=lambda: np.zeros((0, 2, 3)))

    def __len__(self) -> int:
        return len(self.body)

    def ends(self, poses: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """Return where the ends are (s, 2, 3) m, with the bodies at `poses` (see Motion.poses)."""
        p_WB, R_WB = poses
        ends: np.ndarray = p_WB[self.body] + np.einsum("seij,sej->sei", R_WB[self.body], self.point)
        return ends


@dataclass(frozen=True, kw_only=True)
class Ropes(Springs):
    """Ropes between points to draw, one row each.

    length : (s,) m
    """

    length: np.ndarray = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, kw_only=True)
class Pushes:
    """Forces on bodies to draw, one for each wrench and drag of the scene.

    kind : (k,) wrench, drag
    body : (k,) int
    point : (k, 3) m, where it acts, from the body's origin, body axes
    force : (n, k, 3) N, at each row of the motion, world axes
    """

    kind: tuple[str, ...] = ()
    body: np.ndarray = field(default_factory=lambda: np.zeros(0, int))
    point: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    force: np.ndarray = field(default_factory=lambda: np.zeros((1, 0, 3)))

    def __len__(self) -> int:
        return len(self.kind)

    def places(self, poses: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """Return where they act (k, 3) m, with the bodies at `poses` (see Motion.poses)."""
        p_WB, R_WB = poses
        places: np.ndarray = p_WB[self.body] + np.einsum("kij,kj->ki", R_WB[self.body], self.point)
        return places


TOUCHING = ("no_side_slip", "knife_edge", "rolling")  # constraints that hold a body where it touches another


@dataclass(frozen=True, kw_only=True)
class TouchTable:
    """Closed points of contact of all rows, those of row r from first[r] to first[r + 1].

    point : (k, 3) m; force : (k, 3) N, on the pair's second shape; mode : (k,) 1: sticks, 2: slips; world axes
    """

    first: np.ndarray = field(default_factory=lambda: np.zeros(2, int))
    point: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    force: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    mode: np.ndarray = field(default_factory=lambda: np.zeros(0, int))


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that happened: when, its name, the words to show, its rows in the recording; all of it in one line."""

    time: float  # s
    name: str
    kind: str  # scene, mode, key, disarmed, annotation
    caption: str
    row_before: int = -1
    row_after: int = -1

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", one_line(self.name))
        object.__setattr__(self, "caption", one_line(self.caption))

    @property
    def words(self) -> str:
        """Words to show in a picture; empty for what only the engine did."""
        if self.caption:
            return self.caption
        return self.name if self.kind in ("scene", "key") else ""


@dataclass(frozen=True, kw_only=True)
class Motion:
    """What there is to draw of one recording (or of one drawing: a single instant).

    times : (n,) s, not decreasing
    position, velocity, angular_velocity : (n, b, 3) m, m/s, rad/s, of body origins, world axes
    quat : (n, b, 4) body axes to world axes
    com : (b, 3) m, centre of mass from the body's origin, body axes
    points : named points: index of the body (-1: the world) and p_B (3,) m, from its origin, body axes
    settings : the resolved `render:` block; every key may be absent or None
    complete : False when the run was interrupted
    """

    name: str
    times: np.ndarray
    body_names: tuple[str, ...]
    position: np.ndarray
    quat: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray
    com: np.ndarray
    shapes: Shapes
    events: tuple[Event, ...] = ()
    springs: Springs = field(default_factory=Springs)
    ropes: Ropes = field(default_factory=Ropes)
    pushes: Pushes = field(default_factory=Pushes)
    touches: TouchTable = field(default_factory=TouchTable)
    points: Mapping[str, tuple[int, np.ndarray]] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    complete: bool = True

    @staticmethod
    def from_recording(recording: str | Path, *, contacts: bool = False) -> Motion:
        """Read a recording (docs/recording.md), `contacts` too; raise RenderError where it cannot be read."""
        with open_recording(recording) as file:
            return _read(file, contacts)

    @staticmethod
    def from_drawing(
        *,
        name: str,
        body_names: Sequence[str],
        position: np.ndarray,
        quat: np.ndarray,
        shapes: Shapes,
        com: np.ndarray | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Motion:
        """Return a motion of one instant, at rest: position (b, 3) and quat (b, 4) of body origins."""
        bodies = len(body_names)
        zeros = np.zeros((1, bodies, 3))
        middle = np.zeros((bodies, 3)) if com is None else np.asarray(com, float)
        return Motion(
            name=name,
            times=np.zeros(1),
            body_names=tuple(body_names),
            position=np.asarray(position, float).reshape(1, bodies, 3),
            quat=np.asarray(quat, float).reshape(1, bodies, 4),
            velocity=zeros,
            angular_velocity=zeros,
            com=middle,
            shapes=shapes if len(shapes) else markers(np.asarray(position, float).reshape(bodies, 3), middle),
            settings=settings or {},
        )

    @property
    def start(self) -> float:
        """Time of the first row, s."""
        return float(self.times[0])

    @property
    def end(self) -> float:
        """Time of the last row, s."""
        return float(self.times[-1])

    def body(self, name: str) -> int:
        """Return the index of a body by name; raise RenderError with the nearest name."""
        if name in self.body_names:
            return self.body_names.index(name)
        raise RenderError(f"no body named {name!r}{nearest(name, self.body_names)}")

    def place(self, name: str) -> tuple[int, np.ndarray]:
        """Return the body (-1: the world) and p_B (3,) m of a body's origin, ``body.com`` or a named point.

        Raises RenderError with the nearest name.
        """
        if name in self.body_names:
            return self.body_names.index(name), np.zeros(3)
        if name in self.points:
            return self.points[name]
        if name.endswith(".com") and name[:-4] in self.body_names:
            body = self.body_names.index(name[:-4])
            return body, self.com[body]
        raise RenderError(f"no body or point named {name!r}{nearest(name, (*self.body_names, *self.points))}")

    def path(self, name: str, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return where a place (see `place`) is in rows of the motion (k, 3) m, world axes."""
        body, p_B = self.place(name)
        if body < 0:
            return np.tile(p_B, (len(self.times[rows]), 1))
        return np.asarray(self.position[rows, body] + rotation.matrix(self.quat[rows, body]) @ p_B)

    def trailing(self, time: float) -> np.ndarray:
        """Return where all that leaves a trail is at `time` (trails, 3) m."""
        p_WB, R_WB = self.poses(time)
        places = [self.place(name) for name in self.settings.get("trails") or ()]
        return np.array([p_WB[body] + R_WB[body] @ p_B for body, p_B in places]).reshape(-1, 3)

    def trails(self, time: float) -> np.ndarray:
        """Return the ways of all that leaves a trail (trails, k, 3) m; what comes after `time` is where it is then."""
        rows = np.unique(np.linspace(0, len(self.times) - 1, min(len(self.times), TRAIL)).astype(int))
        past = (self.times[rows] < time)[:, None]
        names = self.settings.get("trails") or ()
        ways = [np.where(past, self.path(n, rows), now) for n, now in zip(names, self.trailing(time), strict=True)]
        return np.array(ways).reshape(len(names), len(rows), 3)

    def poses(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Return origins (b + 1, 3) and rotations (b + 1, 3, 3) at `time`; the last row is the world.

        Between two samples positions are cubic (Hermite, with the recorded velocities) and
        rotations turn by a cubic rotation vector with the recorded angular velocities.  At an
        event's instant the pose after it is returned; outside the recording the nearest one.
        """
        bodies = len(self.body_names)
        p_WB, R_WB = np.zeros((bodies + 1, 3)), np.broadcast_to(np.eye(3), (bodies + 1, 3, 3)).copy()
        row, part = self._between(time)
        if part == 0.0:
            p_WB[:-1] = self.position[row]
            R_WB[:-1] = rotation.matrix(self.quat[row])
            return p_WB, R_WB
        step = self.times[row + 1] - self.times[row]
        p_WB[:-1] = hermite(self.position[row : row + 2], step * self.velocity[row : row + 2], part)
        R_WB[:-1] = rotation.turn(self.quat[row : row + 2], step * self.angular_velocity[row : row + 2], part)
        return p_WB, R_WB

    def forces(self, time: float) -> np.ndarray:
        """Return the forces of `pushes` (k, 3) N at `time`, linear between two samples, as `poses` at events."""
        if not len(self.pushes):
            return np.zeros((0, 3))
        row, part = self._between(time)
        force = self.pushes.force
        found = force[row] if part == 0.0 else (1 - part) * force[row] + part * force[row + 1]
        return np.nan_to_num(found)

    def touching(self, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return points, forces (k, 3) and modes (k,) of contact in the last row up to `time`."""
        row, _ = self._between(time)
        k = slice(*self.touches.first[row : row + 2]) if len(self.touches.mode) else slice(0, 0)
        return self.touches.point[k], self.touches.force[k], self.touches.mode[k]

    def _between(self, time: float) -> tuple[int, float]:
        """Return the row before `time` and which part of the way to the next it is; 0 outside and at events."""
        row = max(0, int(np.searchsorted(self.times, time, side="right")) - 1)
        if row + 1 == len(self.times) or time <= self.times[row]:
            return row, 0.0
        return row, float((time - self.times[row]) / (self.times[row + 1] - self.times[row]))

    def sample_times(self, most: int) -> np.ndarray:
        """Return at most about `most` instants spread over the motion, with every event among them."""
        even = np.linspace(self.start, self.end, max(1, most)) if self.end > self.start else self.times[:1]
        return np.unique(np.concatenate([even, [e.time for e in self.events if self.start <= e.time <= self.end]]))


def hermite(position: np.ndarray, tangent: np.ndarray, part: float) -> np.ndarray:
    """Return the cubic through position[0] and position[1] with slopes `tangent` per unit of `part`."""
    s = part
    return (
        (1 + 2 * s) * (1 - s) ** 2 * position[0]
        + s * (1 - s) ** 2 * tangent[0]
        + s**2 * (3 - 2 * s) * position[1]
        + s**2 * (s - 1) * tangent[1]
    )


def frame_times(start: float, end: float, *, fps: float, speed: float = 1.0) -> np.ndarray:
    """Return the scene time of each frame of a film: (end - start) / speed seconds long, at least one frame."""
    count = max(1, round((end - start) * fps / speed))
    return start + np.arange(count) * (speed / fps)


def captions(events: Sequence[Event], time: float, *, since: float) -> list[tuple[Event, float]]:
    """Return the events with words in (since, time], oldest first, each with its age in seconds.

    An event at the very start of the motion counts as well, so `since` may lie before it.
    """
    return [(event, time - event.time) for event in events if event.words and since < event.time <= time + 1e-9]


def open_recording(path: str | Path) -> h5py.File:
    """Open a recording for reading; raise RenderError with a sentence where that is impossible."""
    try:
        return opening.open_recording(Path(path))
    except RecordingError as error:
        raise RenderError(str(error)) from error


def nearest(name: str, names: Sequence[str]) -> str:
    """Return ``"; did you mean 'x'?"`` with the nearest of `names`, or nothing."""
    import difflib

    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


def strings(values: Any) -> tuple[str, ...]:
    """Return an array of fixed-length bytes as text."""
    return tuple(v.decode() if isinstance(v, bytes) else str(v) for v in values)


def rows_of(file: h5py.File) -> int:
    """Return the number of complete rows of a recording; raise RenderError when there is none."""
    rows = int(file["rows"][()])
    if rows == 0:
        raise RenderError(f"{file.filename}: the recording holds no complete row yet")
    return rows


def _read(file: h5py.File, contacts: bool) -> Motion:
    rows = rows_of(file)
    table = file["shapes"]
    kinds = strings(table["kind"][:])
    solid = np.array([kind not in ("rope", "rope_end") for kind in kinds], bool)  # ropes come last
    shapes = Shapes(
        body=table["body"][:][solid].astype(int),
        kind=tuple(kind for kind, there in zip(kinds, solid, strict=True) if there),
        position=table["position"][:][solid],
        quat=table["quat_wxyz"][:][solid],
        size=table["size"][:][solid],
        color=table["color"][:][solid],
        hulls=_hulls(table),
    )
    com = file["bodies/com"][:]
    if not len(shapes):
        shapes = markers(file["position"][0], com)
    settings = file["scene/render"][()] if "scene/render" in file else b"{}"
    return Motion(
        name=one_line(file.attrs.get("scene", "")),
        times=file["time"][:rows],
        body_names=strings(file["bodies/name"][:]),
        position=file["position"][:rows],
        quat=file["quat_wxyz"][:rows],
        velocity=file["velocity"][:rows],
        angular_velocity=file["angular_velocity"][:rows],
        com=com,
        shapes=shapes,
        events=events_of(file),
        springs=_springs(file),
        ropes=_ropes(table, np.flatnonzero(~solid)),
        pushes=_pushes(file, rows),
        touches=_touches(file, rows) if contacts else TouchTable(),
        points={name: (body, p_B) for name, body, p_B in _points(file)},
        settings=json.loads(settings or b"{}") or {},
        complete=bool(file["complete"][()]) if "complete" in file else True,
    )


def _hulls(table: h5py.Group) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Return vertices and triangles of all meshes of a recording."""
    if "vertices" not in table:
        return {}
    vertices, triangles, of, by = (
        table[name][:] for name in ("vertices", "triangles", "vertex_shape", "triangle_shape")
    )
    return {int(shape): (vertices[of == shape], triangles[by == shape]) for shape in np.unique(of)}


def _springs(file: h5py.File) -> Springs:
    """Return the springs between points of a recording."""
    if "forces" not in file:
        return Springs()
    there = np.array([kind == "spring" for kind in strings(file["forces/type"][:])], bool)
    return Springs(body=file["forces/body"][:][there].astype(int), point=file["forces/point"][:][there])


def _ropes(table: h5py.Group, of: np.ndarray) -> Ropes:
    """Return the ropes of a recording; of : numbers of their shapes, two for each."""
    both = (-1, 2)
    return Ropes(
        body=table["body"][:][of].astype(int).reshape(both), point=table["position"][:][of].reshape(*both, 3),
        length=table["size"][:][of, 0].reshape(both)[:, 0],
    )  # fmt: skip


def _pushes(file: h5py.File, rows: int) -> Pushes:
    """Return the wrenches and drags of a recording."""
    kinds = strings(file["forces/type"][:]) if "forces" in file else ()
    there = [k for k, kind in enumerate(kinds) if kind in ("wrench", "drag")]
    if not there:
        return Pushes()
    return Pushes(
        kind=tuple(kinds[k] for k in there),
        body=file["forces/body"][:][there, 0].astype(int),
        point=file["forces/point"][:][there, 0],
        force=file["forces/wrench"][:rows][:, there, 3:6],
    )


def _touches(file: h5py.File, rows: int) -> TouchTable:
    """Return the closed points of contact of a recording, and the points where wheels, blades and what rolls touch."""
    parts = [_wheels(file, rows)]
    if "contacts" in file:
        row = file["contacts/row"][:]
        there = (row >= 0) & (row < rows)
        parts.append((row[there], *(file[f"contacts/{name}"][:][there] for name in ("point", "force", "mode"))))
    row, point, force, mode = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.argsort(row, kind="stable")
    return TouchTable(
        first=np.searchsorted(row[order], np.arange(rows + 1)), point=point[order], force=force[order],
        mode=mode[order].astype(int),
    )  # fmt: skip


def _wheels(file: h5py.File, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, points, forces and modes of constraints that touch something; they stick."""
    touching = [j for j, kind in enumerate(strings(file["joints/type"][:])) if kind in TOUCHING]
    force, point = file["joints/force"][:rows, touching, 3:], file["joints/position"][:rows, touching]
    row, k = np.nonzero(np.isfinite(force[:, :, 0]))
    return row, point[row, k], force[row, k], np.ones(len(row), int)


def _points(file: h5py.File) -> list[tuple[str, int, np.ndarray]]:
    """Return names, bodies and p_B of the named points of a recording; older ones keep none."""
    if "points" not in file:
        return []
    columns = (strings(file["points/name"][:]), file["points/body"][:], file["points/position"][:])
    return [(name, int(body), p_B) for name, body, p_B in zip(*columns, strict=True)]


def places_of(file: h5py.File, rows: int) -> Places:
    """Return bodies, centres of mass and named points of a recording."""
    return Places(
        strings(file["bodies/name"][:]), file["bodies/com"][:], _points(file),
        lambda key: np.asarray(file[key][:rows]),
    )  # fmt: skip


def markers(position: np.ndarray, com: np.ndarray) -> Shapes:
    """Return a small sphere at each centre of mass, for a scene without any shape."""
    spread = np.linalg.norm(position - position.mean(axis=0), axis=1).max() if len(position) else 0.0
    radius = 0.05 * spread if spread > 0 else 0.05
    count = len(position)
    return Shapes(
        body=np.arange(count),
        kind=("sphere",) * count,
        position=com,
        quat=np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)),
        size=np.full((count, 3), radius),
        color=np.full((count, 4), np.nan),
    )


def events_of(file: h5py.File) -> tuple[Event, ...]:
    """Return the events of a recording in order of time."""
    if "events" not in file:
        return ()
    table = file["events"]
    columns = zip(
        table["time"][:],
        strings(table["name"][:]),
        strings(table["kind"][:]),
        strings(table["caption"][:]),
        table["row_before"][:],
        table["row_after"][:],
        strict=True,
    )
    return tuple(
        Event(time=float(t), name=name, kind=kind, caption=caption, row_before=int(before), row_after=int(after))
        for t, name, kind, caption, before, after in columns
    )
