"""What a recording says once: the scene, its bodies, shapes, joints and columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

FORMAT = "brachiate recording"
VERSION = 1
ENERGIES = ("kinetic", "potential", "dissipated", "impact", "input", "balance")


@dataclass(frozen=True, kw_only=True)
class BodyEntry:
    """A body of the scene as it is recorded."""

    name: str
    mass: float  # kg
    com: tuple[float, float, float]  # m, from the body's origin, body axes
    inertia: tuple[float, float, float, float, float, float]  # kg m^2 about com, body axes: xx yy zz xy xz yz


@dataclass(frozen=True, kw_only=True)
class ShapeEntry:
    """A solid that is drawn with a body, resolved to body axes."""

    body: int  # index of the body; -1: the world
    kind: str  # box, sphere, capsule, cylinder, ellipsoid, mesh, plane; rope, rope_end: of ropes, two for each
    position: tuple[float, float, float]  # m, from the body's origin, body axes
    quat_wxyz: tuple[float, float, float, float]  # shape axes to body axes
    # m; box, plane full edges, mesh those of a box that holds it, sphere, ellipsoid half axes, rope (length, 0, 0), its
    # end zero, else (r, r, length)
    size: tuple[float, float, float]
    color: tuple[float, float, float, float]  # r, g, b, opacity in [0, 1]
    vertices: tuple[tuple[float, float, float], ...] = ()  # m, of a mesh, shape axes
    triangles: tuple[tuple[int, int, int], ...] = ()  # of vertices, counter-clockwise from outside


@dataclass(frozen=True, kw_only=True)
class JointEntry:
    """A joint that the scene can have: in the tree, closing a loop, or made by an event."""

    name: str
    type: str
    parent: str  # body name or "world"
    child: str  # body name


@dataclass(frozen=True, kw_only=True)
class ColumnEntry:
    """One freedom of one joint."""

    name: str  # monkey.hip_l[0]; a joint of one freedom gives its own name
    joint: str
    unit: str  # of the coordinate
    rate_unit: str
    torque_unit: str


@dataclass(frozen=True, kw_only=True)
class ForceEntry:
    """A force that the scene names.

    bodies, points : spring: of both ends; wrench: where it acts, and the body that it reacts on; drag: where
        it acts; torsion spring: the joint's parent and child.  Index of the body, -1: the world or none; m, from
        the body's origin, body axes, not-a-number where the force has no point
    """

    name: str
    type: str  # spring, torsion_spring, wrench, drag
    bodies: tuple[int, int]
    points: tuple[tuple[float, float, float], tuple[float, float, float]]


@dataclass(frozen=True, kw_only=True)
class PairEntry:
    """Two shapes that may touch.

    a, b : a body, `world.name` of a shape of the world, or `world`
    shapes : their numbers
    """

    a: str
    b: str
    shapes: tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class PointEntry:
    """A point that the scene names, on a body or in the world."""

    name: str  # body.point, world.point
    body: int  # index of the body; -1: the world
    position: tuple[float, float, float]  # m, from the body's origin, body axes


@dataclass(frozen=True)
class Begun:
    """The state that a run began from, where that was not the start of its scene: JSON, and the arrays it names."""

    text: bytes
    numbers: bytes


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Everything in a recording that does not change while the scene runs.

    `expected_rows` sizes the first file; more rows make it grow.
    """

    scene: str
    text: str  # the scene file, to the byte
    file: str
    sources: Mapping[str, str] = field(default_factory=dict)  # file -> text of included files
    settings: Mapping[str, Any] = field(default_factory=dict)
    render: Mapping[str, Any] = field(default_factory=dict)
    bodies: tuple[BodyEntry, ...] = ()
    shapes: tuple[ShapeEntry, ...] = ()
    joints: tuple[JointEntry, ...] = ()
    columns: tuple[ColumnEntry, ...] = ()
    forces: tuple[ForceEntry, ...] = ()
    pairs: tuple[PairEntry, ...] = ()
    points: tuple[PointEntry, ...] = ()
    begun: Begun | None = None  # the state that it begins from, where that is not the start of its scene
    expected_rows: int = 0


@dataclass(frozen=True, kw_only=True)
class EventEntry:
    """Something that happened: its instant, and the rows before and after it."""

    time: float  # s
    name: str
    kind: str  # scene, key, impact, mode, annotation; in older recordings also disarmed
    caption: str = ""
    row_before: int = -1
    row_after: int = -1
    energy_lost: float = float("nan")  # J
    impulse: float = float("nan")  # norm of all constraint impulses, N s and N m s
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class BindingEntry:
    """Where a joint holds its two bodies from an instant on: its coordinates are zero where both frames coincide.

    A joint of the drawing binds as it is drawn, each time; one that an event makes where it is connected, anew each
    time.  The last binding of a joint before a row is that of the row.
    """

    joint: str
    time: float  # s
    row: int  # the first in which it holds
    parent_position: tuple[float, float, float]  # m, of the frame on the parent, from its origin in its axes
    parent_quat_wxyz: tuple[float, float, float, float]  # the frame's axes to the parent's
    child_position: tuple[float, float, float]  # m, of the frame on the child
    child_quat_wxyz: tuple[float, float, float, float]
    offset: float = 0.0  # m or rad, of gears and screws: first coordinate - ratio * second


class RowField(NamedTuple):
    """One dataset with a value for every row."""

    tail: tuple[int, ...]  # shape of one row
    dtype: np.dtype[Any]
    fill: float  # where nothing was recorded


def in_words(sure: np.ndarray) -> str:
    """Return the components (6,) of a wrench that are marked, in words."""
    force, moment = ([axis for axis, mark in zip("xyz", sure[k : k + 3], strict=True) if mark] for k in (3, 0))
    words = [f"force {', '.join(force)}"] if force else []
    return " and ".join([*words, *([f"moment {', '.join(moment)}"] if moment else [])])


def row_fields(layout: Layout) -> dict[str, RowField]:
    """Return name -> RowField of every dataset of a recording that has one value a row."""
    return fields_of(len(layout.bodies), len(layout.joints), len(layout.columns), len(layout.forces))


def fields_of(b: Any, j: Any, c: Any, f: Any) -> dict[str, RowField]:
    """Return the same for counts of bodies, joints, columns and forces, or what stands for them."""
    real = {
        "time": (), "position": (b, 3), "quat_wxyz": (b, 4), "velocity": (b, 3), "angular_velocity": (b, 3),
        "com": (b, 3), "joints/position": (j, 3), "joints/coordinate": (c,), "joints/rate": (c,),
        "joints/torque": (c,), "joints/stop_torque": (c,), "joints/friction_torque": (c,),
        "joints/force": (j, 6), **{f"energy/{name}": () for name in ENERGIES},
        "forces/length": (f,), "forces/tension": (f,), "forces/wrench": (f, 6),
        "trust/position_residual": (), "trust/velocity_residual": (), "trust/smallest_singular_value": (),
    }  # fmt: skip
    fields = {name: RowField(tail, np.dtype("<f8"), np.nan) for name, tail in real.items()}
    # Whole numbers cannot be not-a-number: -1 stands for "absent".
    fields["trust/rank"] = fields["trust/rows"] = RowField((), np.dtype("<i8"), -1)
    fields["trust/determinate"] = RowField((j,), np.dtype("i1"), -1)
    fields["trust/components"] = fields["trust/own_components"] = RowField((j, 6), np.dtype("i1"), -1)
    return fields


def row_names() -> tuple[str, ...]:
    """Return the names of all datasets that have one value a row."""
    return tuple(fields_of(0, 0, 0, 0))
