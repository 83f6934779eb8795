"""`sim.pose`: joints and points of a scene brought to where they are wanted, within limits and with loops closed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim.assembly.posing import Target, bring
from sim.mechanism.compiler import compile
from sim.mechanism.mechanism import Mechanism
from sim.mechanism.model import Model
from sim.scene.arguments import array, found, positive, scene_of
from sim.scene.names import nearest
from sim.scene.spec import Scene
from sim.simulation.simulator import Simulator

NEAR = 1e-9  # rad or m: what is missed by less was reached


@dataclass(frozen=True)
class Pose:
    """A pose that inverse kinematics found.

    Attributes
    ----------
    q : (nq,) ndarray
        Coordinates of the tree, as `sim.chain(..., q=...)` takes them.
    coordinate : Mapping of column to number
        Of all joints, in the tree and in loops [rad, m].
    position : Mapping of body or ``body.point`` to (3,) ndarray
        Of the points among the targets [m, world axes].
    missed : Mapping of target to ndarray
        How far each target is from where it was wanted; of rotations, the rotation vector that is left.
    reached : bool
        Whether all are there, to 1e-9, and loops are closed.
    at_limits : tuple of str
        Columns whose limits keep targets from being nearer.
    """

    q: np.ndarray
    coordinate: Mapping[str, float]
    position: Mapping[str, np.ndarray]
    missed: Mapping[str, np.ndarray]
    reached: bool
    at_limits: tuple[str, ...]


def pose(
    of: Simulator | Model | Scene | str | os.PathLike[str], targets: Mapping[str, Any],
    weights: Mapping[str, float] | None = None, *, q: Any = None, limits: bool = True,
) -> Pose:  # fmt: skip
    """Return the pose in which joints and points are where they are wanted, or as near as it goes.

    What is left open by the targets moves as little as it can; loops stay closed, on the branch where the scene stands.
    Motions of drives (`motion:`) do not bind the pose.

    Parameters
    ----------
    of : Simulator, Model, Scene or path
        A run as it is now; else where the scene starts.
    targets : Mapping of names to numbers
        Of a joint its coordinates [rad, m], of spherical ones a rotation vector, of free ones position and rotation
        vector, or one column as ``name[0]``; of a body, or of a point as ``body.point``, its place [m, world axes],
        three numbers, None where it is open.
    weights : Mapping of targets to numbers, optional
        Of the squares of what is missed, where not all targets can be reached; 1 when not given.
    q : (nq,) array_like, optional
        Where to begin instead, loops closed.
    limits : bool
        Whether stops of joints bound the pose.

    Raises
    ------
    SceneError
    ValueError
        With what was found and what was expected.
    """
    simulator = of if isinstance(of, Simulator) else Simulator(of if isinstance(of, Model) else compile(scene_of(of)))
    flow = simulator.flow
    mechanism = Mechanism.of(flow.mechanism.model, flow.mechanism.structure, t=flow.mechanism.t)
    begun = np.array(flow.q if q is None else array("q", q), float)
    if begun.shape != flow.q.shape or not np.isfinite(begun).all():
        raise ValueError(f"q: found shape {begun.shape}; expected {flow.q.shape} finite numbers")
    wanted = [target_of(mechanism, name, value, weights) for name, value in targets.items()]
    for name in weights or {}:
        if name not in targets:
            raise ValueError(f"weights: {found(name)} is no target; expected {', '.join(map(repr, targets))}")
    parts = [part for target in wanted for part in target]
    posed = bring(mechanism, begun, [part for part, _ in parts], [values for _, values in parts], limits)
    missed: dict[str, np.ndarray] = {}
    for (part, _), off in zip(parts, posed.missed, strict=True):
        missed[part.name] = np.concatenate([missed.get(part.name, np.zeros(0)), off])
    model, bodies = mechanism.model, mechanism.work.bodies
    there = {
        part.name: bodies.p_WB[part.body] + bodies.R_WB[part.body].reshape(3, 3) @ part.p_B
        for part, _ in parts if part.body >= 0
    }  # fmt: skip
    return Pose(
        begun, dict(zip(model.column_names, mechanism.work.coordinate.tolist(), strict=True)), there, missed,
        posed.closed and all(np.abs(off).max(initial=0.0) <= NEAR for off in posed.missed), posed.at_limits,
    )  # fmt: skip


def target_of(
    mechanism: Mechanism, name: str, value: Any, weights: Mapping[str, float] | None = None
) -> list[tuple[Target, np.ndarray]]:
    """Return a target by its name, in parts that are of one kind, each with what is wanted of it.

    Raises
    ------
    ValueError
        For a name that nothing has, or numbers that do not fit it.
    """
    model = mechanism.model
    weight = positive(f"weights, {name!r}", weights[name]) if weights and name in weights else 1.0
    given = [value] if np.ndim(value) == 0 else list(value)
    of_body = name in model.body_names and (len(given) == 3 or name not in model.joint_names)
    if of_body or (name in model.point_names and name not in model.body_names):
        return _point(mechanism, name, given, weight)
    numbers = array(f"targets, {name!r}", given)
    columns = columns_named(mechanism, name)
    if numbers.shape != columns.shape or not np.isfinite(numbers).all():
        raise ValueError(f"targets, {name!r}: found {found(value)}; expected {len(columns)} finite numbers")
    kind = model.type_of(int(model.columns.joint[columns[0]]))
    ball = kind.ball >= 0
    if ball and len(columns) == 1:
        first = int(model.joints.column[int(model.columns.joint[columns[0]])])
        if kind.ball <= int(columns[0]) - first:
            raise ValueError(f"targets, {name!r}: one number of a rotation is no target; give all three")
        ball = False
    if not ball:
        return [(Target(name, columns, weight=weight), numbers)]
    turn = (Target(name, columns[kind.ball :], True, weight=weight), numbers[kind.ball :])
    slides = (Target(name, columns[: kind.ball], weight=weight), numbers[: kind.ball])
    return [slides, turn] if kind.ball else [turn]


def _point(mechanism: Mechanism, name: str, given: list[Any], weight: float) -> list[tuple[Target, np.ndarray]]:
    model = mechanism.model
    open_ = [one is None for one in given]
    numbers = array(f"targets, {name!r}", [0.0 if one is None else one for one in given])
    if numbers.shape != (3,) or not np.isfinite(numbers).all():
        raise ValueError(f"targets, {name!r}: found {found(given)}; expected 3 numbers [m], None where it is open")
    body, p_B = place_named(model, name)
    axes = np.flatnonzero(~np.array(open_))
    return [(Target(name, body=body, p_B=p_B, axes=axes, weight=weight), numbers[axes])] if len(axes) else []


def place_named(model: Model, name: str) -> tuple[int, np.ndarray]:
    """Return the body and the place on it [m] of a body's origin or a point by name."""
    if name in model.point_names:
        at = model.points[model.point_names[name]]
        return int(at.body), np.array(at.p_B)
    return model.body_names.index(name), np.zeros(3)


def columns_named(mechanism: Mechanism, name: str) -> np.ndarray:
    """Return the columns of a joint that stands now, or one as ``name[0]``.

    Raises
    ------
    ValueError
        With what there is.
    """
    model, structure = mechanism.model, mechanism.structure
    joints = map(int, (*structure.carrier[1:], *structure.loops))
    standing = [joint for joint in joints if joint not in model.constraints]
    if name in model.column_names:
        columns = np.array([model.column_names.index(name)])
    elif name in model.joint_names:
        own = model.columns_of(model.joint(name))
        columns = np.arange(own.start, own.stop)
    else:
        columns = np.zeros(0, int)
    if not len(columns) or int(model.columns.joint[columns[0]]) not in standing:
        known = [model.joint_names[joint] for joint in standing if int(model.joints.nv[joint])]
        points = [*model.point_names, *model.body_names[1:]]
        hint = nearest(name, [*known, *points])
        raise ValueError(
            f"targets: found {found(name)}; expected a joint that stands now and has freedoms, a body or a point: "
            f"{hint or ', '.join([*known, *points][:12])}"
        )
    return columns
