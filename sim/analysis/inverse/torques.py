"""`sim.inverse`: the torques that a motion takes, from a table or a recording to a table."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sim.analysis.inverse.from_recording import motions_of
from sim.analysis.inverse.from_table import motion_of
from sim.analysis.inverse.whole_motion import Motion, MotionError, Smoothed
from sim.closed_chains.actuation import Actuation
from sim.closed_chains.along import InverseMotion, inverse_motion
from sim.closed_chains.chain import Chain
from sim.kernels.stepper import T
from sim.kernels.tables import TORSION
from sim.mechanism.compiler import compile
from sim.mechanism.mechanism import Mechanism
from sim.mechanism.model import Model
from sim.mechanism.structure import build
from sim.recording import Recording, load_recording
from sim.recording.drafts import replacing
from sim.scene.arguments import found, scene_of
from sim.scene.names import nearest
from sim.scene.spec import Scene
from sim.scene.time_table import as_csv, read_table
from sim.simulation.flow import Flow
from sim.simulation.simulator import Simulator

SUFFIXES = (".h5", ".hdf5", ".csv")
# Of the largest torque, or of the weight: what is missing below this is how accelerations were found.
ENOUGH = 1e-3
FORCE = {"rad": "N m", "m": "N"}


@dataclass(frozen=True)
class Torques:
    """What a motion takes.

    Attributes
    ----------
    time : (frames,) ndarray
        s; an instant stands twice where a recording has an event.
    names : tuple of str
        Of the actuated columns.
    torque : (frames, N_A) ndarray
        tau_A [N m, N].
    coordinate, rate : Mapping of column to (frames,) ndarray
        Of the motion, of all joints [rad, m]; not-a-number where one does not stand.
    units : Mapping of column to str
        "rad" or "m".
    reached : (frames,) ndarray of bool
        Whether the actuators make the motion, but for what is small beside the largest torque and the weight (1e-3).
    missing : Mapping of column to (frames,) ndarray
        What the motion needs along directions that lack actuation [N, N m]: of a free body a wrench.
    actuation : tuple of Actuation
        Of each stretch without an event.
    columns : tuple of Smoothed
        What became of the table's columns; nothing of a recording.
    notes : tuple of str
        What a person may want to know of how the motion was read.
    """

    time: np.ndarray
    names: tuple[str, ...]
    torque: np.ndarray
    coordinate: Mapping[str, np.ndarray]
    rate: Mapping[str, np.ndarray]
    units: Mapping[str, str]
    reached: np.ndarray
    missing: Mapping[str, np.ndarray]
    actuation: tuple[Actuation, ...]
    columns: tuple[Smoothed, ...]
    notes: tuple[str, ...]

    def table(self) -> dict[str, tuple[str, np.ndarray]]:
        """Return the columns of a table: name, or quantity and name with a slash between them, to unit and values."""
        out = {f"coordinate/{name}": (self.units[name], values) for name, values in self.coordinate.items()}
        out |= {f"rate/{name}": (f"{self.units[name]}/s", values) for name, values in self.rate.items()}
        out |= {f"torque/{name}": (FORCE[self.units[name]], self.torque[:, k]) for k, name in enumerate(self.names)}
        return out | {f"missing/{name}": (FORCE[self.units[name]], values) for name, values in self.missing.items()}

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a table, .h5 or .csv, that is read as a motion, and whose torques `track` applies.

        In HDF5: ``time``, ``coordinate/NAME``, ``rate/NAME``, ``torque/NAME``, ``missing/NAME``, each with its unit,
        and ``reached``.  In CSV the same columns as `sim plot` names them.  Joints that do not stand all the time are
        left out; of the two rows of an event's instant the second one stands.

        Raises
        ------
        ValueError
            For another suffix.
        """
        target = Path(path)
        if target.suffix.lower() not in SUFFIXES:
            raise ValueError(f"path: found {found(str(path))}; expected a name that ends in {', '.join(SUFFIXES)}")
        last = np.append(np.diff(self.time) > 0.0, True)
        columns = {
            name: (unit, values[last]) for name, (unit, values) in self.table().items() if np.isfinite(values).all()
        }
        with replacing(target) as draft:
            if target.suffix.lower() == ".csv":
                draft.write_text(as_csv(self.time[last], {_signal(name): part for name, part in columns.items()}))
            else:
                _write_hdf5(draft, self.time[last], columns, self.reached[last])
        return target


def _signal(name: str) -> str:
    quantity, _, column = name.partition("/")
    return column if quantity == "coordinate" else f"{quantity}({column!r})"


def _write_hdf5(
    path: Path, time: np.ndarray, columns: Mapping[str, tuple[str, np.ndarray]], reached: np.ndarray
) -> None:
    import h5py

    with h5py.File(path, "w", locking=False) as file:  # the draft itself is locked
        file.attrs["format"] = "brachiate torques"
        file.create_dataset("time", data=time).attrs["unit"] = "s"
        for name, (unit, values) in columns.items():
            file.create_dataset(name, data=values).attrs["unit"] = unit
        file.create_dataset("reached", data=reached)


def inverse(
    scene: Model | Scene | str | os.PathLike[str], motion: Recording | str | os.PathLike[str], *,
    actuated: str | Iterable[str] | None = None, weights: Any = None, bounds: Any = None,
    cutoff: float | str | None = None,
) -> Torques:  # fmt: skip
    """Return the torques that actuators need for a motion.

    Parameters
    ----------
    scene : Model, Scene or path
    motion : Recording or path
        A recording of the scene; or a table of joints and points over time, .csv or .h5, that determines the motion
        (see `sim.analysis.inverse.from_table.motion_of`).
    actuated : str or iterable of str, optional
        Joints, or columns as ``name[0]``; loop joints, too.  Those that the scene drives (`motion:`) or that its
        controllers name, when not given, and where there are none all joints but free ones.
    weights, bounds
        As of `sim.inverse_dynamics`.
    cutoff : float, "auto" or None
        Hz of a filter for the columns of a table that are noisy.

    Raises
    ------
    SceneError, RecordingError
    MotionError, TableError
        A ValueError with the file, the column, the row and what was expected.
    """
    model = scene if isinstance(scene, Model) else compile(scene_of(scene))
    motions, notes = _motions(model, motion, cutoff)
    stretches: list[InverseMotion] = []
    for one in motions:
        if one.mechanism.structure.sizes.v == 0:
            raise MotionError("a scene without freedoms needs no torques")
        chain = Chain(one.mechanism, one.q[0], one.v[0])
        names = _actuated(model, one, actuated)
        stretches.append(
            inverse_motion(
                chain,
                one.q,
                one.v,
                one.acceleration,
                names,
                weights=weights,
                bounds=bounds,
                external=one.external,
                wrenches=one.wrenches,
            )
        )
    return _together(model, motions, stretches, notes)


def _motions(model: Model, motion: Any, cutoff: Any) -> tuple[list[Motion], tuple[str, ...]]:
    if cutoff is not None and cutoff != "auto" and not (isinstance(cutoff, int | float) and 0.0 < cutoff < np.inf):
        raise ValueError(f"cutoff: found {found(cutoff)}; expected a frequency above zero [Hz], or 'auto'")
    if isinstance(motion, Recording):
        return motions_of(model, motion)
    path = Path(motion)
    if _is_recording(path):
        if cutoff is not None:
            raise ValueError(f"cutoff: {path} is a recording, whose rates are exact; expected None")
        with load_recording(path) as recording:
            return motions_of(model, recording)
    table = read_table(path)
    simulator = Simulator(model)
    flow = simulator.flow
    old = flow.structure
    standing = {int(joint) for joint in (*old.carrier[1:], *old.loops)}
    mechanism = Mechanism.of(model, build(model, old.tree.frames, standing, old.carrier))
    made = motion_of(mechanism, np.array(flow.q), table, cutoff)
    if any(force.kind != TORSION for force in old.tables.forces):
        made = replace(made, wrenches=_pulls(flow, made))
    return [made], made.notes


def _is_recording(path: Path) -> bool:
    """Tell whether a file is a recording, and no table in HDF5."""
    import h5py

    try:
        with h5py.File(path, "r") as file:
            return "rows" in file and "joints" in file
    except OSError:
        return False


def _pulls(flow: Flow, motion: Motion) -> np.ndarray:
    """Return what the scene's forces do along a motion (frames, forces, 6)."""
    out, nq, nv = [], motion.q.shape[1], motion.v.shape[1]
    for t, q, v in zip(motion.time, motion.q, motion.v, strict=True):
        flow.stepper.y[:nq], flow.stepper.y[nq : nq + nv] = q, v
        flow.stepper.clock[T] = t
        flow.observe()
        out.append(flow.work.forces.wrench.copy())
    return np.array(out)


def _actuated(model: Model, motion: Motion, wish: str | Iterable[str] | None) -> list[str]:
    """Return the columns that have actuators, of those that stand.

    Raises
    ------
    ValueError
        For a name that no joint has, at any time.
    """
    structure = motion.mechanism.structure
    standing = [int(joint) for joint in (*structure.carrier[1:], *structure.loops) if joint not in model.constraints]
    if wish is not None:
        names = [wish] if isinstance(wish, str) else list(wish)
        return [name for name in names if _joint_of(model, name) in standing]
    moving = [joint for joint in standing if model.type_of(joint).name != "free" and model.joints.nv[joint]]
    specs = [model.joint_specs[joint] for joint in moving]
    driven = {joint for joint, spec in zip(moving, specs, strict=True) if spec is not None and any(spec.motion)}
    named = {name for use in model.scene.controllers for value in use.parameters.values() for name in _texts(value)}
    driven |= {joint for joint in moving if model.joint_names[joint] in named}
    return [model.joint_names[joint] for joint in moving if joint in driven or not driven]


def _joint_of(model: Model, name: str) -> int:
    """Return the joint that a name means, or of which it is a column."""
    if name in model.column_names:
        return int(model.columns.joint[model.column_names.index(name)])
    if name not in model.joint_names or not model.joints.nv[model.joint(name)]:
        known = [joint for k, joint in enumerate(model.joint_names) if model.joints.nv[k]]
        hint = nearest(name, known) or f"there are {', '.join(known)}"
        raise ValueError(f"actuated: found {found(name)}; expected joints with freedoms, or columns; {hint}")
    return model.joint(name)


def _texts(value: Any) -> set[str]:
    """Return the texts that a controller's parameter is, or has as items or keys."""
    if isinstance(value, str):
        return {value}
    return {item for item in value if isinstance(item, str)} if isinstance(value, Mapping | tuple | list) else set()


def _together(model: Model, motions: list[Motion], stretches: list[InverseMotion], notes: tuple[str, ...]) -> Torques:
    """Put stretches one behind the other."""
    names = tuple(dict.fromkeys(name for found_ in stretches for name in found_.actuation.names))
    lacking = tuple(dict.fromkeys(name for found_ in stretches for name in found_.actuation.along))
    count = sum(len(one.time) for one in motions)
    torque, missing = np.full((count, len(names)), np.nan), np.zeros((count, len(lacking)))
    coordinate = np.full((count, len(model.column_names)), np.nan)
    rate, first = coordinate.copy(), 0
    for one, found_ in zip(motions, stretches, strict=True):
        own = slice(first, first + len(one.time))
        first = own.stop
        torque[own, [names.index(name) for name in found_.actuation.names]] = found_.torque
        missing[own, [lacking.index(name) for name in found_.actuation.along]] = found_.missing
        coordinate[own], rate[own] = _columns(one)
    linear = zip(model.column_names, model.columns.linear, strict=True)
    units = {name: "m" if slides else "rad" for name, slides in linear}
    enough = ENOUGH * max(_weight(model), float(np.nanmax(np.abs(torque), initial=0.0)))
    reached = np.concatenate([found_.reached for found_ in stretches])
    if lacking:
        reached |= np.abs(missing).max(axis=1) <= enough
    return Torques(
        np.concatenate([one.time for one in motions]), names, torque,
        dict(zip(model.column_names, coordinate.T, strict=True)), dict(zip(model.column_names, rate.T, strict=True)),
        units, reached,
        dict(zip(lacking, missing.T, strict=True)), tuple(found_.actuation for found_ in stretches),
        motions[0].columns, notes,
    )  # fmt: skip


def _weight(model: Model) -> float:
    """Return the weight of all bodies [N], and its moment about the scene's length [N m], whichever is less."""
    weight = float(np.sum(model.bodies.mass) * np.linalg.norm(model.gravity_W))
    return weight * min(1.0, model.length)


def _columns(motion: Motion) -> tuple[np.ndarray, np.ndarray]:
    """Return coordinates and rates of all columns (frames, columns), not-a-number of joints that do not stand."""
    mechanism = motion.mechanism
    model, structure = mechanism.model, mechanism.structure
    standing = [int(joint) for joint in (*structure.carrier[1:], *structure.loops)]
    there = np.isin(model.columns.joint, standing)
    coordinate = np.full((len(motion.time), len(there)), np.nan)
    rate = coordinate.copy()
    for s in range(len(motion.time)):
        mechanism.update(motion.q[s], motion.v[s])
        coordinate[s, there] = mechanism.work.coordinate[there]
        rate[s, there] = mechanism.work.rate[there]
        mechanism.control.turn[:] = mechanism.work.coordinate
    return coordinate, rate
