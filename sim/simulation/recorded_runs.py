"""A whole run: simulate, record while it runs, hand over the recording."""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from sim import __version__
from sim.kernels.spatial import quaternion_of
from sim.kernels.stepper import RATE, RTOL
from sim.kernels.tables import DRAG, SPRING, TORSION, WRENCH
from sim.mechanism.compiler import compile
from sim.mechanism.frames import Frames
from sim.mechanism.methods import FIXED
from sim.mechanism.model import Model
from sim.mechanism.solids import Pair, Solid
from sim.recording import (
    Begun,
    BodyEntry,
    ColumnEntry,
    ForceEntry,
    JointEntry,
    Layout,
    PairEntry,
    PointEntry,
    Recorder,
    Recording,
    RecordingError,
    ShapeEntry,
    load_recording,
)
from sim.recording.room import look_ahead, row_bytes
from sim.scene.arguments import keys, positive, scene_of, seconds
from sim.scene.controllers import digests
from sim.scene.spec import Scene, Shape
from sim.simulation.journal import EventRecord
from sim.simulation.plain_values import packed
from sim.simulation.simulation_error import SimulationError
from sim.simulation.simulator import Simulator
from sim.simulation.state import State, StateError

LEAST_RTOL, MOST_RTOL = 1e-14, 0.1  # as the schema has them for scenes
PROGRAM = f"brachiate {__version__}"
_TYPES = {SPRING: "spring", TORSION: "torsion_spring", WRENCH: "wrench", DRAG: "drag"}

Progress = Callable[[float, float, int], Any]


class Journal:
    """Writes what the simulator tells into a recorder.

    unkept : why no state can be kept, or empty
    """

    def __init__(self, recorder: Recorder):
        self.recorder, self.unkept = recorder, ""

    def rows(self, values: dict[str, np.ndarray], q: np.ndarray, v: np.ndarray) -> None:
        """Record a block of rows."""
        self.recorder.append(values)
        self.recorder.append_state(q, v)

    def contacts(self, values: dict[str, np.ndarray]) -> None:
        """Record closed points of contact of the next block of rows."""
        self.recorder.contacts(values)

    def epoch(self, tree: list[str], loops: list[str], nq: int, nv: int) -> None:
        """Begin an epoch."""
        self.recorder.start_epoch(tree, loops, nq, nv)

    def event(self, told: EventRecord) -> None:
        """Record an event between its last two rows."""
        after = self.recorder.count - 1
        self.recorder.event(
            told.time, told.name, told.kind, caption=told.caption, row_before=after - 1,
            row_after=after, energy_lost=told.lost, impulse=told.impulse, text=told.text,
            through=told.through, contacts=told.contacts,
        )  # fmt: skip
        if told.frames is not None:
            self.bind(told.bound, told.frames, told.time, after)

    def rest(self, take: Callable[[], State], finished: bool = False, stopped: bool = False) -> None:
        """Keep a state from which the run can go on: where the last one is old, and where the run ends or stops."""
        if not self.unkept and (finished or stopped or self.recorder.wants_state()):
            try:
                kept = packed(*take().to_plain())
            except StateError as error:
                self.unkept = str(error)
            else:
                self.recorder.keep_state(*kept, finished)

    def bind(self, joints: Iterable[int], frames: Frames, time: float, row: int) -> None:
        """Record where joints are bound from a time and a row on."""
        for joint in joints:
            ends = ((frames.p_PF, frames.R_PF), (frames.p_CM, frames.R_CM))
            poses = [part for p, R in ends for part in (p[joint], np.array(quaternion_of(tuple(R[joint].ravel()))))]
            self.recorder.bind(joint, time, row, poses, frames.offset[joint])


def run(
    scene: Scene | str | os.PathLike[str], *, output: str | os.PathLike[str] | None = None,
    duration: float | None = None,
    seed: int | None = None, rtol: float | None = None, triggers: Sequence[tuple[str, float]] = (),
    start: State | str | os.PathLike[str] | None = None,
    overwrite: bool = False, large: bool = False, progress: Progress | None = None,
    tell: Callable[[str], Any] | None = None,
) -> Recording:  # fmt: skip
    """Simulate a scene and record it.

    Parameters
    ----------
    scene : Scene or path
        What to run.
    output : path, optional
        The recording; without it one in a temporary folder, gone when it is closed.
    duration : float, optional
        [s], instead of the scene's.
    seed : int, optional
        Instead of the scene's.
    rtol : float, optional
        Tolerance of the integrator, instead of the scene's; of methods that control their error.
    triggers : sequence of (key, time [s])
        Keys that fire events.
    start : State or path, optional
        Begin from a state of a run of this scene, or from the file of one (`State.save`), instead of the scene's start:
        what follows is what followed there, to the last bit, and `duration` counts from that run's start.
    overwrite : bool
        Replace an older recording.
    large : bool
        Run even where more than 10 GB are expected to be recorded, or more than the disk has room for.
    progress : callable, optional
        Called as ``progress(t, duration, events)`` about ten times a second.
    tell : callable, optional
        Called with sentences before the run begins: that more than 1 GB are expected to be recorded.

    Raises
    ------
    SceneError, SimulationError, RecordingError
        With sentences; a SimulationError says in `kept` what was recorded.
    StateError
        When the state does not fit the scene and its settings.
    ValueError
        With the argument that cannot be meant, what was found and what was expected.
    """
    scene = scene_of(scene)
    if rtol is not None:
        scene = replace(scene, simulate=replace(scene.simulate, rtol=tolerance(rtol, scene.simulate.method)))
    span = scene.simulate.duration if duration is None else seconds("duration", duration)
    triggers = keys("triggers", triggers)
    model = compile(scene)
    simulator = Simulator(model, seed=seed)
    begun = None if start is None else begin_from(simulator, start, span, triggers)
    settings = {
        "parameters": dict(scene.parameters), "triggers": [list(item) for item in triggers], "seed": simulator.seed,
        "method": scene.simulate.method, "rtol": scene.simulate.rtol, "step": scene.simulate.step, "duration": span,
        "record": scene.simulate.record, "controllers": digests(scene.controllers),
    }  # fmt: skip
    rows = min((span - simulator.t) * scene.simulate.record, 1e18)
    layout = layout_of(model, settings, expected_rows=int(rows) + 64, begun=begun)
    ahead = _look_ahead(simulator, layout, output, span, rows, large)
    if tell is not None and ahead:
        tell(ahead)
    recorder = Recorder(output, layout, overwrite=overwrite, program=PROGRAM)
    journal = Journal(recorder)
    journal.bind(sorted(filter(model.binds, simulator.flow.active)), simulator.flow.frames, simulator.t, 0)
    return record(simulator, journal, span, triggers, progress)


def record(
    simulator: Simulator, journal: Journal, span: float, triggers: Sequence[tuple[str, float]],
    progress: Progress | None,
) -> Recording:  # fmt: skip
    """Follow a run to its end, and return what was recorded of it; see `run`.

    span : s, time of its end; triggers : (key, time [s]) of those that are still to come
    """
    recorder, began, stamp = journal.recorder, time.perf_counter(), datetime.now(UTC).isoformat()
    simulator.journal = journal
    try:
        if recorder.layout.begun is not None and not recorder.count:
            simulator.go_on()
        follow(simulator, span, triggers, progress, recorder.events)
    except RecordingError:
        recorder.discard()
        raise
    except BaseException as error:  # Ctrl-C, too, and whatever `progress` raises
        kept = _keep(journal, simulator, stamp, began, False)
        if recorder.temporary:
            recorder.discard()
        elif isinstance(error, (SimulationError, KeyboardInterrupt)):
            error.kept = kept  # type: ignore[union-attr]
        raise
    _keep(journal, simulator, stamp, began, True)
    return recorder.take() if recorder.temporary else load_recording(recorder.path)


def _look_ahead(
    simulator: Simulator, layout: Layout, output: str | os.PathLike[str] | None, span: float, rows: float, large: bool
) -> str:
    """Return a sentence on a large recording that is to come; raises RecordingError for one that is too large."""
    scene = simulator.model.scene
    folder = Path(tempfile.gettempdir()) if output is None else Path(output).parent
    if not folder.is_dir():
        return ""  # the recorder says so
    size = row_bytes(layout, len(simulator.q) + len(simulator.v))
    name = scene.name if output is None else str(output)
    why = f"simulate.record: {scene.simulate.record:g} Hz, for {span:g} s"
    return look_ahead(folder, name, rows, size, why, large)


def tolerance(rtol: float, method: str) -> float:
    """Return a tolerance that a caller gives, for an integrator.

    Raises
    ------
    ValueError
        Where the method has none, or it is no tolerance.
    """
    if method in FIXED:
        raise ValueError(f"rtol: method {method!r} takes steps of one length and has no tolerance")
    if not LEAST_RTOL <= positive("rtol", rtol) <= MOST_RTOL:
        raise ValueError(f"rtol: found {rtol!r}; expected a number from {LEAST_RTOL:g} to {MOST_RTOL:g}")
    return float(rtol)


def follow(
    simulator: Simulator, span: float, triggers: Sequence[tuple[str, float]], progress: Progress | None, told: Sized
) -> None:
    """Advance to the end, firing keys on the way.

    triggers : (key, time [s]); told : the events so far, counted for `progress`.
    """
    last = [0.0]

    def tell(t: float) -> None:
        now = time.perf_counter()
        if progress is not None and now - last[0] > 0.1:
            last[0] = now
            progress(t, span, len(told))

    triggers = sorted(triggers, key=lambda item: item[1])
    known = simulator.now.scheduler.keys()
    for key, at in triggers:
        if key not in known:
            names = ", ".join(map(repr, known)) or "none"
            raise SimulationError(f"no event waits for the key {key!r}; keys of this scene: {names}")
        if at > span:
            raise SimulationError(f"the key {key!r} would come at {at:g} s, after the end at {span:g} s")
    simulator.advance(simulator.t, tell)
    for key, at in triggers:
        simulator.advance(at, tell)
        if not simulator.now.schedule.stopped:
            simulator.trigger(key)
    if not simulator.now.schedule.stopped:
        simulator.advance(span, tell)
    simulator.finish()
    if progress is not None:
        progress(simulator.t, span, len(told))


def _keep(journal: Journal, simulator: Simulator, stamp: str, began: float, complete: bool) -> str:
    """Finish the recording; return the sentence about what it holds."""
    recorder = journal.recorder
    recorder.finish(
        complete,
        {
            "started": stamp,
            "wall_time": time.perf_counter() - began,
            **simulator.flow.counts(),
            "methods": "\n".join(simulator.flow.methods()),
            **simulator.flow.taken(),
            "host_cores": os.cpu_count() or 0,
            **({"no_state": journal.unkept} if journal.unkept else {}),
        },
    )
    return f"the motion up to t = {simulator.t:.6g} s ({recorder.count} rows) is kept in {recorder.path}"


def _shape_entry(body: int, shape: Shape, position: Any) -> ShapeEntry:
    """Return a shape as it is recorded; faces of a mesh are cut into triangles from their first corners."""
    faces = shape.hull.faces if shape.hull else ()
    triangles = tuple((face[0], face[k], face[k + 1]) for face in faces for k in range(1, len(face) - 1))
    return ShapeEntry(
        body=body, kind=shape.kind, position=position, quat_wxyz=shape.orientation, size=shape.size,
        color=shape.color, vertices=shape.hull.corners if shape.hull else (), triangles=triangles,
    )  # fmt: skip


def _rope_entry(solid: Solid) -> ShapeEntry:
    """Return an end of a rope as it is recorded, beside the shapes of bodies."""
    return ShapeEntry(
        body=solid.body - 1, kind=solid.kind, position=_tuple(solid.p_B), quat_wxyz=(1.0, 0.0, 0.0, 0.0),
        size=solid.size, color=(math.nan,) * 4,
    )  # fmt: skip


def begin_from(
    simulator: Simulator, start: State | str | os.PathLike[str], span: float, triggers: Sequence[tuple[str, float]]
) -> Begun:
    """Let a run begin from a state; return it as it is recorded.

    Raises
    ------
    StateError
        When it is none of this scene, of a run with other settings, or cannot be written, and when what is asked for
        lies before it.
    """
    state = start if isinstance(start, State) else State.load(start)
    simulator.restore(state)
    said, clock = simulator.model.scene.simulate, state.stepper.clock
    for name, asked, held in (("rtol", said.rtol, clock[RTOL]), ("record", said.record, clock[RATE])):
        if asked != held:
            raise StateError(
                f"the state (t = {state.t:.9g} s) is of a run with {name} {held:g}, the scene says {asked:g}"
            )
    if span < state.t:
        raise StateError(f"duration: found {span:.9g} s, and the state is of {state.t:.9g} s")
    for key, at in triggers:
        if at < state.t:
            raise StateError(f"triggers: found {key!r} at {at:.9g} s, and the state is of {state.t:.9g} s")
    return Begun(*packed(*state.to_plain()))


def layout_of(model: Model, settings: dict[str, Any], expected_rows: int = 0, begun: Begun | None = None) -> Layout:
    """Return everything about a model that a recording says once."""
    scene = model.scene
    origins = model.drawing.origins
    bodies, shapes = [], []
    for shape in scene.world.shapes:
        shapes.append(_shape_entry(-1, shape, shape.position))
    for i, body in enumerate(scene.bodies):
        row = model.bodies[i + 1]
        bodies.append(BodyEntry(name=body.name, mass=body.mass, com=_tuple(row.com_B), inertia=_tuple(row.inertia_B)))
        for shape in body.shapes:
            p = _tuple(np.asarray(shape.position) - origins[body.name])
            shapes.append(_shape_entry(i, shape, p))
    shapes += [_rope_entry(solid) for solid in model.solids[len(shapes) :]]
    columns = []
    for name, column in zip(model.column_names, model.columns, strict=True):
        unit, torque = ("m", "N") if column.linear else ("rad", "N m")
        columns.append(
            ColumnEntry(
                name=name, joint=model.joint_names[column.joint], unit=unit, rate_unit=f"{unit}/s", torque_unit=torque
            )
        )
    return Layout(
        scene=scene.name, text=scene.text, file=scene.file, settings=settings, render=dict(scene.render),
        sources={k: v for k, v in scene.sources.items() if k != scene.file},
        bodies=tuple(bodies), shapes=tuple(shapes), joints=joint_entries(model), columns=tuple(columns),
        forces=tuple(_force_entry(model, f) for f in range(len(model.forces))),
        pairs=tuple(_pair_entry(model, pair) for pair in model.pairs), points=tuple(_point_entries(model)),
        begun=begun, expected_rows=expected_rows,
    )  # fmt: skip


def joint_entries(model: Model) -> tuple[JointEntry, ...]:
    """Return what a recording says once of joints and constraints."""
    return tuple(
        JointEntry(
            name=name, type=model.constraints[j].type if j in model.constraints else spec.type if spec else "free",
            parent=model.body_names[model.joints.parent[j]], child=model.body_names[model.joints.child[j]],
        )
        for j, (name, spec) in enumerate(zip(model.joint_names, model.joint_specs, strict=True))
    )  # fmt: skip


def _point_entries(model: Model) -> list[PointEntry]:
    """Return the points that a scene names, as they are recorded."""
    scene, origins = model.scene, model.drawing.origins
    entries = [PointEntry(name=f"world.{name}", body=-1, position=_tuple(p)) for name, p in scene.world.points.items()]
    for k, body in enumerate(scene.bodies):
        for name, p in body.points.items():
            p_B = _tuple(np.asarray(p) - origins[body.name])
            entries.append(PointEntry(name=f"{body.name}.{name}", body=k, position=p_B))
    return entries


def _pair_entry(model: Model, pair: Pair) -> PairEntry:
    """Return what a recording says once of two shapes that may touch; they are numbered as its shapes are."""
    names = []
    for solid in (model.solids[pair.first], model.solids[pair.second]):
        body = model.body_names[solid.body]
        names.append(f"{body}.{solid.name}" if solid.name and not solid.body else body)
    return PairEntry(a=names[0], b=names[1], shapes=(pair.first, pair.second))


def _force_entry(model: Model, f: int) -> ForceEntry:
    """Return what a recording says once of a force."""
    force, kind = model.forces[f], _TYPES[int(model.forces.kind[f])]
    bodies, points = [-1, -1], np.full((2, 3), np.nan)
    if kind == "torsion_spring":
        joint = model.joints[int(model.columns.joint[force.column])]
        bodies = [int(joint.parent) - 1, int(joint.child) - 1]
    for side, point in enumerate((int(force.a), int(force.b))):
        if point >= 0:
            bodies[side] = int(model.points.body[point]) - 1
            if side == 0 or kind == "spring":
                points[side] = model.points.p_B[point]
    return ForceEntry(
        name=model.scene.forces[f].name, type=kind, bodies=(bodies[0], bodies[1]),
        points=(_tuple(points[0]), _tuple(points[1])),
    )  # fmt: skip


def _tuple(values: Any) -> Any:
    return tuple(float(x) for x in values)
