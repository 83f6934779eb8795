"""Read a recording: everything by name, as numpy arrays."""

from __future__ import annotations

import functools
import json
import os
import shutil
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from sim.recording.by_name import ByName, ByPlace, Energy, Trust, column_keys
from sim.recording.contact_tables import MODES, Contacts, called
from sim.recording.drafts import Folder
from sim.recording.errors import RecordingError, UnknownNameError
from sim.recording.format import (
    Begun,
    BindingEntry,
    BodyEntry,
    ColumnEntry,
    EventEntry,
    ForceEntry,
    JointEntry,
    PairEntry,
    PointEntry,
    ShapeEntry,
    row_names,
)
from sim.recording.last_state import LastState
from sim.recording.last_state import read as read_state
from sim.recording.opening import open_recording
from sim.recording.places import Places
from sim.recording.ragged import CONTACTS
from sim.scene.frozen import freeze


@dataclass(frozen=True)
class Epoch:
    """A stretch of rows in which the tree stays the same.

    first, last : rows, one past the end
    q, v : (last - first, nq), (last - first, nv) raw state
    bindings : of the joints that stand in it, in order; none in recordings of programs that did not write them
    """

    tree: tuple[str, ...]
    loops: tuple[str, ...]
    first: int
    last: int
    q: np.ndarray
    v: np.ndarray
    bindings: tuple[BindingEntry, ...] = ()


class _Store:
    """The open file, and the arrays that were read from it."""

    def __init__(self, path: Path, file: h5py.File):
        self.path, self.file = path, file
        self.rows = int(self.get("rows")[()])
        self._arrays: dict[str, np.ndarray] = {}

    def get(self, name: str) -> Any:
        if not self.file:
            raise RecordingError(f"{self.path} is closed")
        if name not in self.file:
            raise RecordingError(f"{self.path} has no {name!r}: it is incomplete or of another version")
        return self.file[name]

    def array(self, name: str) -> np.ndarray:
        if name not in self._arrays:
            if name not in row_names():
                raise UnknownNameError("dataset of rows", name, row_names())
            values = self.get(name)[: self.rows]
            values.flags.writeable = False
            self._arrays[name] = values
        return self._arrays[name]


class Recording:
    """A recording, read when something of it is asked for; use it in `with` or `close` it.

    Rows come first in every array; SI units, radians, world axes unless said.  Arrays are kept
    once they are read, and are read-only.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)
        self._file = open_recording(self.path)
        self._store = _Store(self.path, self._file)
        self.rows = self._store.rows
        bodies = {body.name: k for k, body in enumerate(self.bodies)}
        joints = {joint.name: k for k, joint in enumerate(self.joints)}
        # The views hold the store, not this object: it can go as soon as no one has it.
        read = self._store.array
        places = self._places = Places(
            tuple(bodies), np.array([body.com for body in self.bodies]).reshape(-1, 3),
            [(point.name, point.body, np.array(point.position)) for point in self.points], read,
        )  # fmt: skip
        self.position = ByPlace(bodies, lambda: read("position"), places.position)
        self.quat_wxyz = ByName("body", bodies, lambda: read("quat_wxyz"))
        self.velocity = ByPlace(bodies, lambda: read("velocity"), places.velocity)
        self.angular_velocity = ByName("body", bodies, lambda: read("angular_velocity"))
        self.com = ByName("body", bodies, lambda: read("com"))
        self.joint_position = ByName("joint", joints, lambda: read("joints/position"))
        self.force = ByName("joint", joints, lambda: read("joints/force"))
        self.impulse = ByName("joint", joints, functools.partial(_impulses, self._store, len(joints)))
        keys = column_keys(self.columns)
        self.coordinate = ByName("joint", keys, lambda: read("joints/coordinate"))
        self.rate = ByName("joint", keys, lambda: read("joints/rate"))
        self.torque = ByName("joint", keys, lambda: read("joints/torque"))
        self.stop_torque = ByName("joint", keys, lambda: read("joints/stop_torque"))
        self.friction_torque = ByName("joint", keys, lambda: read("joints/friction_torque"))
        forces = {force.name: k for k, force in enumerate(self.forces)}
        self.length = ByName("force", forces, lambda: read("forces/length"))
        self.tension = ByName("force", forces, lambda: read("forces/tension"))
        self.wrench = ByName("force", forces, lambda: read("forces/wrench"))
        self.energy = Energy(read)
        self.trust = Trust(read, joints)

    def array(self, name: str) -> np.ndarray:
        """Return a dataset that has one value a row, cut to the complete rows: ``energy/kinetic``."""
        return self._store.array(name)

    def tells(self, name: str) -> bool:
        """Return whether it has a dataset: those of older versions have not all."""
        return name in self._file

    def dataset(self, name: str) -> Any:
        """Return a dataset as it lies in the file, with what there is room for."""
        return self._store.get(name)

    def _get(self, name: str) -> Any:
        return self._store.get(name)

    def _texts(self, name: str) -> list[str]:
        return [text.decode() for text in self._get(name)[()]]

    @property
    def time(self) -> np.ndarray:
        """Instants (n,), s; that of an event stands twice, before and after it."""
        return self.array("time")

    @property
    def scene(self) -> str:
        """Name of the scene."""
        return str(self._file.attrs["scene"])

    @property
    def program(self) -> str:
        """Name and version of the program that wrote it."""
        return str(self._file.attrs.get("program", ""))

    @property
    def complete(self) -> bool:
        """True when the run came to its end; False while it runs or was stopped."""
        return bool(self._get("complete")[()])

    @property
    def scene_text(self) -> str:
        """The scene file, to the byte."""
        return str(self._get("scene/text")[()].decode())

    @property
    def scene_file(self) -> str:
        """Name of the scene file."""
        return str(self._get("scene/file")[()].decode())

    @property
    def sources(self) -> dict[str, str]:
        """Texts of the included files by name."""
        return {row["file"].decode(): row["text"].decode() for row in self._get("scene/sources")[()]}

    @property
    def settings(self) -> dict[str, Any]:
        """Parameters set, triggers, seed, method, tolerance, duration."""
        return dict(json.loads(self._get("scene/settings")[()]))

    @property
    def render(self) -> dict[str, Any]:
        """The resolved `render` block of the scene."""
        return dict(json.loads(self._get("scene/render")[()]))

    @functools.cached_property
    def bodies(self) -> tuple[BodyEntry, ...]:
        """Bodies in the order of their arrays."""
        fields = [self._get(f"bodies/{name}")[()] for name in ("mass", "com", "inertia")]
        return tuple(
            BodyEntry(name=name, mass=float(mass), com=_numbers(com), inertia=_numbers(inertia))
            for name, mass, com, inertia in zip(self._texts("bodies/name"), *fields, strict=True)
        )

    @functools.cached_property
    def points(self) -> tuple[PointEntry, ...]:
        """Points that the scene names; none in recordings that were written before these were kept."""
        if "points" not in self._file:
            return ()
        fields = (self._texts("points/name"), self._get("points/body")[()], self._get("points/position")[()])
        return tuple(
            PointEntry(name=name, body=int(body), position=_numbers(p)) for name, body, p in zip(*fields, strict=True)
        )

    def distance(self, a: str, b: str) -> np.ndarray:
        """Return the distance (n,) of two bodies or points, m: ``recording.distance('arm.tip', 'world.bar')``."""
        return self._places.distance(a, b)

    def local(self, point: str, body: str) -> np.ndarray:
        """Return a body or point (n, 3) in the axes of a body, from its origin, m."""
        return self._places.local(point, body)

    @functools.cached_property
    def shapes(self) -> tuple[ShapeEntry, ...]:
        """Everything that is drawn."""
        names = ("body", "position", "quat_wxyz", "size", "color")
        fields = [self._get(f"shapes/{name}")[()] for name in names]
        return tuple(
            ShapeEntry(
                kind=kind, body=int(body), **dict(zip(names[1:], map(_numbers, rest), strict=True)), **self._mesh(n)
            )
            for n, (kind, body, *rest) in enumerate(zip(self._texts("shapes/kind"), *fields, strict=True))
        )

    def _mesh(self, shape: int) -> dict[str, Any]:
        """Return vertices and triangles of a shape, none where it is no mesh."""
        if "shapes/vertices" not in self._file:
            return {}
        vertices, triangles = (
            self._get(f"shapes/{name}")[()][self._get(f"shapes/{of}_shape")[()] == shape]
            for name, of in (("vertices", "vertex"), ("triangles", "triangle"))
        )
        return {
            "vertices": tuple(_numbers(vertex) for vertex in vertices),
            "triangles": tuple((int(a), int(b), int(c)) for a, b, c in triangles),
        }

    @functools.cached_property
    def joints(self) -> tuple[JointEntry, ...]:
        """Every joint that the scene can have, in the order of their arrays."""
        names = ("name", "type", "parent", "child")
        columns = [self._texts(f"joints/{name}") for name in names]
        return tuple(JointEntry(**dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True))

    @functools.cached_property
    def columns(self) -> tuple[ColumnEntry, ...]:
        """Freedoms of all joints, in the order of their arrays."""
        table = self._get("joints/columns")[()]
        return tuple(ColumnEntry(**{name: row[name].decode() for name in table.dtype.names}) for row in table)

    @functools.cached_property
    def forces(self) -> tuple[ForceEntry, ...]:
        """Forces that the scene names, in the order of their arrays; none in recordings before these were kept."""
        if "forces" not in self._file:
            return ()
        fields = (self._texts("forces/name"), self._texts("forces/type"))
        ends = (self._get("forces/body")[()], self._get("forces/point")[()])
        return tuple(
            ForceEntry(name=name, type=kind, bodies=(int(body[0]), int(body[1])), points=tuple(map(_numbers, point)))
            for name, kind, body, point in zip(*fields, *ends, strict=True)
        )

    @functools.cached_property
    def pairs(self) -> tuple[PairEntry, ...]:
        """Pairs of shapes that may touch."""
        if "contacts" not in self._file:
            return ()
        names = (self._texts("contacts/pairs/a"), self._texts("contacts/pairs/b"))
        shapes = self._get("contacts/pairs/shapes")[()]
        return tuple(PairEntry(a=a, b=b, shapes=(int(i), int(j))) for a, b, (i, j) in zip(*names, shapes, strict=True))

    @functools.cached_property
    def touches(self) -> dict[str, np.ndarray]:
        """Closed points of contact of all rows, in order; see `CONTACTS`, the force is that on b."""
        if "contacts" not in self._file:
            return {name: np.zeros((0, *tail), dtype) for name, (tail, dtype, _) in CONTACTS.items()}
        row = self._get("contacts/row")[()]
        there = (row >= 0) & (row < self.rows)
        told = [name for name in CONTACTS if name != "moment" or self.tells("contacts/moment")]
        found = {name: self._get(f"contacts/{name}")[()][there] for name in told}
        found.setdefault("moment", np.zeros((len(found["row"]), 3)))  # which older recordings have not
        freeze(found)
        return found

    @functools.cached_property
    def contact_impulses(self) -> dict[str, np.ndarray] | None:
        """Impulses of points of contact: event, pair (m,), key (m, 2), point, normal, impulse on b (m, 3).

        None in recordings of programs that did not write them; those of scenes without contacts have none, either.
        """
        if "contacts/impulses/event" not in self._file:
            return None
        names = ("event", "pair", "key", "point", "normal", "impulse")
        there = self._get("contacts/impulses/event")[()] >= 0
        found = {name: self._get(f"contacts/impulses/{name}")[()][there] for name in names}
        freeze(found)
        return found

    def contacts(self, row: int) -> Contacts:
        """Return the closed points of contact of a row; it counts from the end where it is negative."""
        if not -self.rows <= row < self.rows:
            raise RecordingError(f"row {row} is not in the recording, which has {self.rows}")
        row = row % self.rows
        all_of, pairs = self.touches, self.pairs
        k = slice(*np.searchsorted(all_of["row"], (row, row + 1)))
        pair = all_of["pair"][k]
        return Contacts(
            a=tuple(pairs[p].a for p in pair), b=tuple(pairs[p].b for p in pair),
            shapes=np.array([pairs[p].shapes for p in pair], int).reshape(-1, 2), key=all_of["key"][k],
            mode=tuple(MODES[m] for m in all_of["mode"][k]), iterations=all_of["iterations"][k],
            determinate=all_of["determinate"][k],
            point=all_of["point"][k], normal=all_of["normal"][k],
            force=all_of["force"][k], moment=all_of["moment"][k],
        )  # fmt: skip

    def contact_force(self, name: str, by: str | None = None) -> np.ndarray:
        """Return the sum (n, 3) of the contact forces on a body, or only of those by another one, N.

        Names as in `Contacts`; zero where nothing touches.
        """
        known = dict.fromkeys(["world", *(pair.a for pair in self.pairs), *(pair.b for pair in self.pairs)])
        for wanted in (name, by):
            if not any(called(one, wanted) for one in known):
                raise UnknownNameError("touching body", str(wanted), known)
        sign = np.array([
            called(pair.b, name) * called(pair.a, by) or -1 * called(pair.a, name) * called(pair.b, by)
            for pair in self.pairs
        ], float)  # fmt: skip
        out = np.zeros((self.rows, 3))
        np.add.at(out, self.touches["row"], sign[self.touches["pair"]][:, None] * self.touches["force"])
        return out

    @functools.cached_property
    def events(self) -> list[EventEntry]:
        """What happened, in order."""
        names = tuple(EventEntry.__dataclass_fields__)
        fields = {name: self._get(f"events/{name}")[()] for name in names}
        found = []
        for k in range(len(fields["time"])):
            row = {
                name: values[k].decode() if values.dtype.kind == "S" else values[k].item()
                for name, values in fields.items()
            }
            event = EventEntry(**row)
            if np.isfinite(event.time) and event.row_after < self.rows and self._reached(event.time):
                found.append(event)
        return found

    def _reached(self, time: float) -> bool:
        return self.complete or (self.rows > 0 and time <= self.time[-1])

    @functools.cached_property
    def epochs(self) -> list[Epoch]:
        """Stretches of one tree, with their raw states."""
        groups = self._file.get("epochs", {})
        found = []
        for k in range(len(groups)):
            group = groups[str(k)]
            first, last = (int(row) for row in group["rows"][()])
            if first >= self.rows:
                break  # it began, but none of its rows is complete
            last = min(last, self.rows)
            tree, loops = (tuple(name.decode() for name in group.attrs[kind]) for kind in ("tree", "loops"))
            q, v = (group[name][: last - first] for name in ("q", "v"))
            found.append(Epoch(tree, loops, first, last, q, v, self._bindings_in(first, last)))
        freeze(found)
        return found

    @functools.cached_property
    def bindings(self) -> tuple[BindingEntry, ...]:
        """Where joints were bound, in order: at the start, and at each event that connected one.

        None in recordings of programs that did not write them.
        """
        if "bindings" not in self._file:
            return ()
        fields = {name: self._get(f"bindings/{name}")[()] for name in BindingEntry.__dataclass_fields__}
        found = []
        for k in np.flatnonzero((fields["row"] >= 0) & (fields["row"] < self.rows)):
            row = {name: values[k] for name, values in fields.items()}
            numbers = {name: _numbers(value) if np.ndim(value) else value.item() for name, value in row.items()}
            found.append(BindingEntry(**numbers | {"joint": self.joints[int(row["joint"])].name}))
        return tuple(found)

    def binding(self, joint: str, row: int) -> BindingEntry | None:
        """Return the binding of a joint in a row, which counts from the end where it is negative.

        None where the joint does not stand there, and in recordings of programs that did not write bindings.
        """
        if not -self.rows <= row < self.rows:
            raise RecordingError(f"row {row} is not in the recording, which has {self.rows}")
        row = row % self.rows
        there = np.isfinite(self.force[joint][row, 0])
        held = [binding for binding in self.bindings if binding.joint == joint and binding.row <= row]
        return held[-1] if there and held else None

    def _bindings_in(self, first: int, last: int) -> tuple[BindingEntry, ...]:
        """Return the bindings that hold in some of these rows."""
        ends: dict[str, int] = {}
        out = []
        for binding in reversed(self.bindings):
            rows = slice(max(binding.row, first), min(ends.get(binding.joint, last), last))
            if np.isfinite(self.force[binding.joint][rows, 0]).any():
                out.append(binding)
            ends[binding.joint] = binding.row
        return tuple(reversed(out))

    @functools.cached_property
    def last_state(self) -> LastState | None:
        """The last state that was kept, from which the run can go on; None where there is none."""
        return read_state(self._get, self.tells, self.rows)

    @functools.cached_property
    def begun(self) -> Begun | None:
        """The state that the run began from; None where it began as its scene does."""
        if not self.tells("state/begun/text"):
            return None
        return Begun(*(self._get(f"state/begun/{name}")[()].tobytes() for name in ("text", "numbers")))

    @property
    def run(self) -> dict[str, Any]:
        """What may differ between two equal runs: times of day, wall times, counts."""
        attributes = self._get("run").attrs
        return {name: value.item() if isinstance(value, np.generic) else value for name, value in attributes.items()}

    @property
    def summary(self) -> dict[str, Any]:
        """The run in a few numbers: steps, wall time, residual, energy balance, events."""
        run = self.run
        wall = run.get("wall_time")
        span = float(self.time[-1] - self.time[0]) if self.rows else 0.0
        taken = run.get("taken_by_contacts") if self.rows else None
        return {
            "scene": self.scene,
            "complete": self.complete,
            "rows": self.rows,
            "simulated_time": span,
            "steps": run.get("steps"),
            "evaluations": run.get("evaluations"),
            "methods": str(run.get("methods", "")).splitlines(),
            "wall_time": wall,
            "real_time_factor": span / wall if wall else None,
            "taken_by_contacts": taken,
            "lost_by_steps": None if taken is None else taken - float(self.energy.balance[-1]),
            "largest_residual": _largest(self.trust.position_residual),
            "trust": self.trust.summary(self.time),
            "energy_balance": _largest(self.energy.balance),
            "peak_kinetic_energy": _largest(self.energy.kinetic),
            "events": [
                {"time": e.time, "name": e.name, "kind": e.kind, "caption": e.caption, "text": e.text}
                for e in self.events
            ],
            "told": [
                {"time": e.time, "name": e.name, "text": e.text}
                for e in self.events
                if e.text and e.kind in ("scene", "key")
            ],
        }

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Copy the recording to `path`; for one that was made in memory."""
        target = Path(path)
        if target.exists() and not overwrite:
            raise RecordingError(f"{target} exists; choose another name or allow to overwrite it")
        try:
            return Path(shutil.copyfile(self.path, target))
        except OSError as error:
            raise RecordingError(f"{target} cannot be written: {error.strerror}") from error

    def delete_when_closed(self, folder: Folder) -> None:
        """Delete the file and its folder with this object: for a recording that no one asked to keep."""
        self._finalizer = weakref.finalize(self, _delete, self._file, folder)

    def close(self) -> None:
        """Close the file; what was read stays."""
        finalizer = getattr(self, "_finalizer", None)
        if finalizer is not None:
            finalizer()
        self._file.close()

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Recording of {self.scene!r}: {self.rows} rows, {self.path}>"


def load_recording(path: str | os.PathLike[str]) -> Recording:
    """Open a recording.

    Raises
    ------
    RecordingError
        There is no file, it is not a recording, or it is of another version; the sentence says which.
    ValueError
        What was handed over is no path.
    """
    if not isinstance(path, str | os.PathLike):
        raise ValueError(f"path: found {path!r}; expected the path of a recording")
    return Recording(path)


def _impulses(store: _Store, joints: int) -> np.ndarray:
    """Return (events, joints, 6) impulses of all joints, of the parent on the child: moment about the joint, force."""
    out = np.zeros((len(store.get("events/time")), joints, 6))
    event = store.get("impulses/event")[()]
    there = event >= 0
    out[event[there], store.get("impulses/joint")[()][there]] = store.get("impulses/wrench")[()][there]
    return out


def _numbers(values: np.ndarray) -> Any:
    return tuple(float(value) for value in values)


def _plain(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value.item()


def _largest(values: np.ndarray) -> float | None:
    present = np.abs(values[np.isfinite(values)])
    return float(present.max()) if present.size else None


def _delete(file: h5py.File, folder: Folder) -> None:
    file.close()
    folder.delete()
