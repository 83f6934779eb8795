"""All that a run needs to go on from an instant as if it had never stopped."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sim.arguments import found
from sim.connectivity import Structure, build
from sim.frozen import freeze
from sim.mechanism import Mechanism
from sim.model import TOLD, Guards, table
from sim.scratch import make_stepper

if TYPE_CHECKING:
    from sim.compiler import Model
    from sim.contact.touching import Touching
    from sim.flow import Flow
    from sim.simulator import Simulator

# What each part of a run remembers, by the names of its attributes.
_FLOW = (
    "active", "extra", "first_balance", "frames", "idle", "idle_stops", "impact", "iterations",
    "leaving", "look_again", "room", "time_stepping", "turns", "_wrenches",
)  # fmt: skip
_AGENDA = ("due", "fired", "pressed", "told")
_HAPPENINGS = ("enabled", "stopped")
_TOUCHING = ("active", "decisions", "hops", "modes", "touches", "ways")
_SIMULATOR = ("_began", "_told")
_SAMPLED = ("calls", "memory", "torque")
# Arrays that controllers look at: restored in place; and what is no memory: who answers, and rows on their way out.
_LOOKED_AT = ("coordinate", "rate", "torque", "control", "bodies")
_PASSING = ("answers", "told")


class SnapshotError(ValueError):
    """A snapshot that does not fit a scene."""


@dataclass(frozen=True)
class Snapshot:
    """The state of a run at an instant: time, coordinates, rates, and all that is remembered beside them.

    Structure and integrator, what is due, what touches and with which forces time steps begin, what sampled controllers
    keep in `memory`.  It may be pickled; it fits scenes with the same bodies, joints, events, contacts and controllers.

    names : of these, by kind; t : s; told : room for points of contact that rows tell of
    """

    names: Mapping[str, tuple[str, ...]]
    t: float
    joints: Mapping[str, Any]  # and what touches: what `sim.connectivity.build` is asked for
    tables: Mapping[str, np.ndarray]  # numbers that a change is told by
    step: float
    parts: Mapping[str, Any]
    work: Mapping[str, np.ndarray]
    stepper: tuple[np.ndarray, ...]
    guards: tuple[np.ndarray, ...]
    control: tuple[np.ndarray, ...]
    told: int


def take(simulator: Simulator) -> Snapshot:
    """Return all that a run needs to go on from now."""
    flow = simulator.flow
    kept = Snapshot(
        names=_names(simulator.model), t=simulator.t, joints=_asked(flow), tables=_numbers(flow.structure),
        step=flow.model.step,
        parts={name: _remembered(owner, names) for name, owner, names in _parts(simulator)},
        work={name: array.copy() for name, array in flow.work._asdict().items() if name not in _PASSING},
        stepper=tuple(array.copy() for array in flow.stepper), guards=tuple(array.copy() for array in flow.guards),
        control=tuple(array.copy() for array in flow.control), told=len(flow.work.told),
    )  # fmt: skip
    freeze((kept.tables, kept.work, kept.stepper, kept.guards, kept.control))
    return kept


def put(simulator: Simulator, snapshot: Snapshot) -> None:
    """Take a run back, or another run of the same scene there.

    Raises
    ------
    SnapshotError
        When it was taken of a scene with other things, or is none.
    """
    if not isinstance(snapshot, Snapshot):
        raise SnapshotError(f"restore: found {found(snapshot)}; expected what snapshot() returned")
    for kind, names in _names(simulator.model).items():
        if names != snapshot.names[kind]:
            raise SnapshotError(
                f"the snapshot (t = {snapshot.t:.9g} s) does not fit scene {simulator.model.scene.name!r}: its {kind} "
                f"are {_listed(snapshot.names[kind])}, those of the scene {_listed(names)}"
            )
    for name, owner, names in _parts(simulator):
        for attribute, value in _copy(snapshot.parts[name], names).items():
            setattr(owner, attribute, value)
    _put_flow(simulator.flow, snapshot)


def _put_flow(flow: Flow, snapshot: Snapshot) -> None:
    """Bring tables, scratch and integrator to what they were."""
    flow.model = replace(flow.model, step=snapshot.step)
    work = {name: array.copy() for name, array in snapshot.work.items() if name not in _LOOKED_AT}
    flow.structure = build(flow.model, flow.frames, flow.active, **snapshot.joints)
    flow.rows.fit(flow.structure)
    for name in _LOOKED_AT:
        getattr(flow.work, name)[:] = snapshot.work[name]
    for now, then in zip(flow.control, snapshot.control, strict=True):
        now[:] = then
    flow.work = flow.work._replace(**work, told=table(TOLD, snapshot.told))
    flow.stepper = make_stepper(flow.structure.sizes, len(snapshot.guards[0]))
    for now, then in zip(flow.stepper, snapshot.stepper, strict=True):
        now[:] = then
    flow.guards = Guards(*(array.copy() for array in snapshot.guards))
    flow.mechanism = Mechanism(flow.model, flow.structure, flow.work, flow.control, snapshot.t)
    flow.renew()
    now = _numbers(flow.structure)
    if any(not np.array_equal(array, now[name]) for name, array in snapshot.tables.items()):
        flow.work.one.intact[0] = 0
        flow.restart()


def _asked(flow: Flow) -> dict[str, Any]:
    """Return what the present structure was asked to be."""
    names = ("carrier", "touches", "meetings", "holds")
    return copy.deepcopy({name: getattr(flow.structure, name) for name in names})


def _numbers(structure: Structure) -> dict[str, np.ndarray]:
    """Return the tables of a structure but addresses of laws, which are those of a process."""
    return {name: array for name, array in structure.tables._asdict().items() if name != "laws"}


def _parts(simulator: Simulator) -> list[tuple[str, Any, tuple[str, ...]]]:
    """Return what remembers something: a name, the owner, its attributes."""
    out: list[tuple[str, Any, tuple[str, ...]]] = [
        ("simulator", simulator, _SIMULATOR), ("flow", simulator.flow, _FLOW), ("agenda", simulator.agenda, _AGENDA),
        ("happenings", simulator.happenings, _HAPPENINGS),
    ]  # fmt: skip
    touching: Touching | None = vars(simulator).get("touching")
    out += [("touching", touching, _TOUCHING)] if touching is not None else []
    return out + [(f"controller {item.use.name}", item, _SAMPLED) for item in simulator.controllers.sampled]


def _remembered(owner: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return copy.deepcopy({name: getattr(owner, name) for name in names})


def _copy(part: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return copy.deepcopy({name: part[name] for name in names})


def _names(model: Model) -> dict[str, tuple[str, ...]]:
    """Return the names of what is numbered in a run, by kind."""
    scene, of = model.scene, ("events", "contacts", "controllers")
    out = {kind: tuple(thing.name for thing in getattr(scene, kind)) for kind in of}
    return {"bodies": tuple(model.body_names), "joints": tuple(model.joint_names), **out}


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(map(repr, names)) or "none"


__all__ = ["Snapshot", "SnapshotError", "put", "take"]
