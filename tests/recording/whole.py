"""A recording of everything that there can be, in few rows, by numbers that are all different."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sim.recording import (
    BodyEntry,
    ColumnEntry,
    ForceEntry,
    JointEntry,
    Layout,
    PairEntry,
    PointEntry,
    Recorder,
    ShapeEntry,
)

ROWS = 7
NAN = float("nan")


def _series(first: float, count: int) -> tuple[Any, ...]:
    return tuple(first + 0.01 * k for k in range(count))


BODIES = (
    BodyEntry(name="drum", mass=2.5, com=(0.1, -0.2, 0.3), inertia=_series(1.0, 6)),
    BodyEntry(name="ärm", mass=3.5, com=(0.4, 0.5, -0.6), inertia=_series(2.0, 6)),
)
POINTS = (
    PointEntry(name="ärm.tip", body=1, position=(0.7, -0.8, 0.9)),
    PointEntry(name="world.peg", body=-1, position=(-1.1, 1.2, 1.3)),
    PointEntry(name="drum.rim", body=0, position=(0.0, 0.25, 0.0)),
)
CORNERS = ((0.0, 0.0, 0.0), (1.0, 0.1, 0.0), (0.2, 1.0, 0.0), (0.3, 0.1, 1.0), (0.4, 0.4, -1.0))
SHAPES = (
    ShapeEntry(
        body=-1, kind="plane", position=(0.1, 0.2, 0.3), quat_wxyz=(0.5, 0.5, -0.5, 0.5), size=(4.0, 5.0, 0.0),
        color=(0.1, 0.2, 0.3, 0.4),
    ),
    ShapeEntry(
        body=0, kind="mesh", position=(0.4, 0.5, 0.6), quat_wxyz=(0.6, 0.8, 0.0, 0.0), size=(1.0, 1.1, 1.2),
        color=(0.5, 0.6, 0.7, 0.8), vertices=CORNERS[:4],
        triangles=((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)),
    ),
    ShapeEntry(
        body=1, kind="capsule", position=(0.7, 0.8, 0.9), quat_wxyz=(0.8, 0.0, 0.6, 0.0), size=(0.2, 0.2, 1.5),
        color=(0.9, 0.1, 0.2, 1.0),
    ),
    ShapeEntry(
        body=1, kind="mesh", position=(1.0, 1.1, 1.2), quat_wxyz=(0.8, 0.0, 0.0, -0.6), size=(1.0, 1.0, 2.0),
        color=(0.3, 0.4, 0.5, 0.6), vertices=CORNERS,
        triangles=((0, 1, 3), (1, 2, 3), (2, 0, 3), (1, 0, 4), (2, 1, 4), (0, 2, 4)),
    ),
)  # fmt: skip
JOINTS = (
    JointEntry(name="pin", type="rotational", parent="world", child="drum"),
    JointEntry(name="ball", type="spherical", parent="drum", child="ärm"),
    JointEntry(name="sleeve", type="cylindrical", parent="ärm", child="world"),
)
COLUMNS = (
    ColumnEntry(name="pin", joint="pin", unit="rad", rate_unit="rad/s", torque_unit="N m"),
    *(ColumnEntry(name=f"ball[{k}]", joint="ball", unit="1", rate_unit="1/s", torque_unit=f"J{k}") for k in range(3)),
    ColumnEntry(name="sleeve[0]", joint="sleeve", unit="m", rate_unit="m/s", torque_unit="N"),
    ColumnEntry(name="sleeve[1]", joint="sleeve", unit="deg", rate_unit="deg/s", torque_unit="kN m"),
)
FORCES = (
    ForceEntry(name="cord", type="spring", bodies=(0, 1), points=((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))),
    ForceEntry(name="push", type="wrench", bodies=(1, -1), points=((0.7, 0.8, 0.9), (NAN, NAN, NAN))),
)
PAIRS = (PairEntry(a="world.floor", b="drum", shapes=(0, 1)), PairEntry(a="drum", b="ärm", shapes=(1, 3)))
LAYOUT = Layout(
    scene="whole", text="schema: 1\nname: whole  # Ärger\n", file="whole.yaml",
    sources={"z/arm.yaml": "schema: 1\n", "a.yaml": "é"},
    settings={"seed": 3, "method": "radau", "rtol": 1e-9, "duration": 2.5, "triggers": [["go", 0.25]]},
    render={"fps": 30, "camera": {"fov": 40.0}}, bodies=BODIES, shapes=SHAPES, joints=JOINTS, columns=COLUMNS,
    forces=FORCES, pairs=PAIRS, points=POINTS,
)  # fmt: skip
RUN = {"steps": 12, "evaluations": 150, "wall_time": 0.25, "taken_by_contacts": 1.5, "began": "2030-01-01T00:00:00",
       "methods": "dop853 until 1 s\nradau"}  # fmt: skip

# Name -> type, shape and fill of one row, as docs/recording.md lists them.
ROW_FIELDS: dict[str, tuple[str, tuple[int, ...]]] = {
    "time": ("<f8", ()), "position": ("<f8", (2, 3)), "quat_wxyz": ("<f8", (2, 4)), "velocity": ("<f8", (2, 3)),
    "angular_velocity": ("<f8", (2, 3)), "com": ("<f8", (2, 3)), "joints/position": ("<f8", (3, 3)),
    "joints/coordinate": ("<f8", (6,)), "joints/rate": ("<f8", (6,)), "joints/torque": ("<f8", (6,)),
    "joints/stop_torque": ("<f8", (6,)), "joints/friction_torque": ("<f8", (6,)), "joints/force": ("<f8", (3, 6)),
    "energy/kinetic": ("<f8", ()), "energy/potential": ("<f8", ()), "energy/dissipated": ("<f8", ()),
    "energy/impact": ("<f8", ()), "energy/input": ("<f8", ()), "energy/balance": ("<f8", ()),
    "forces/length": ("<f8", (2,)), "forces/tension": ("<f8", (2,)), "forces/wrench": ("<f8", (2, 6)),
    "trust/position_residual": ("<f8", ()), "trust/velocity_residual": ("<f8", ()),
    "trust/smallest_singular_value": ("<f8", ()), "trust/rank": ("<i8", ()), "trust/rows": ("<i8", ()),
    "trust/determinate": ("i1", (3,)), "trust/components": ("i1", (3, 6)), "trust/own_components": ("i1", (3, 6)),
}  # fmt: skip


def rows(first: int = 0, count: int = ROWS) -> dict[str, np.ndarray]:
    """Return rows in which no two numbers are the same; whole numbers are 0 or 1, or small."""
    out = {}
    for place, (name, (dtype, tail)) in enumerate(ROW_FIELDS.items()):
        size = int(np.prod(tail))
        numbers = 1000.0 * place + (first + np.arange(count))[:, None] + np.arange(size) / 64.0
        if dtype == "<i8":
            numbers = place + (first + np.arange(count))[:, None] % 3
        elif dtype == "i1":
            numbers = (first + np.arange(count)[:, None] + np.arange(size)) % 3 // 2
        out[name] = numbers.reshape(count, *tail).astype(dtype)
    out["time"] = np.array([0.0, 0.25, 0.25, 0.5, 0.75, 1.0, 1.25, *np.arange(1.5, 100)])[first : first + count]
    return out


# Points of contact: two in row 1, one in row 2, three in row 4.
TOUCHES: dict[str, np.ndarray] = {
    "row": np.array([1, 1, 2, 4, 4, 4]), "pair": np.array([0, 1, 1, 1, 0, 1]),
    "key": np.array([[1, 2], [3, 4], [5, 6], [7, 8], [9, 10], [11, 12]]), "mode": np.array([1, 2, 2, 1, 2, 1]),
    "iterations": np.array([3, 4, 5, 6, 7, 8]), "determinate": np.array([1, 0, -1, 1, 0, 1]),
    "point": 10.0 + np.arange(18.0).reshape(6, 3), "normal": 30.0 + np.arange(18.0).reshape(6, 3),
    "force": 50.0 + np.arange(18.0).reshape(6, 3), "moment": 70.0 + np.arange(18.0).reshape(6, 3),
}  # fmt: skip
STATES = [
    (("pin", "ball"), ("sleeve",), 100.0 + np.arange(15.0).reshape(3, 5), 200.0 + np.arange(12.0).reshape(3, 4)),
    (("pin",), ("ball", "sleeve"), 300.0 + np.arange(8.0).reshape(4, 2), 400.0 + np.arange(4.0).reshape(4, 1)),
]
EVENTS: list[dict[str, Any]] = [
    {"time": 0.25, "name": "hit", "kind": "impact", "caption": "it hits", "row_before": 1, "row_after": 2,
     "energy_lost": 2.5, "impulse": 3.5, "text": "hard"},
    {"time": 0.75, "name": "löse", "kind": "scene", "caption": "", "row_before": 3, "row_after": 4,
     "energy_lost": 0.125, "impulse": 0.5, "text": "it is loose"},
    {"time": 1.0, "name": "says", "kind": "annotation", "caption": "words", "row_before": -1, "row_after": -1,
     "energy_lost": 7.5, "impulse": 8.5, "text": ""},
]  # fmt: skip
THROUGH = [
    np.array([[1.0, 2, 3, 4, 5, 6], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 7]]),
    np.array([[0.0, 0, 0, 0, 0, 0], [8, 0, 0, 0, 0, 9], [0, 0, 0, 0, 0, 0]]),
    None,
]
STRUCK: list[dict[str, np.ndarray] | None] = [  # two points at the first event, one at the second
    {"pair": np.array([0, 1]), "key": np.array([[1, 2], [3, 4]]), "point": 80.0 + np.arange(6.0).reshape(2, 3),
     "normal": 90.0 + np.arange(6.0).reshape(2, 3), "impulse": 70.0 + np.arange(6.0).reshape(2, 3)},
    {"pair": np.array([1]), "key": np.array([[5, 6]]), "point": 86.0 + np.arange(3.0).reshape(1, 3),
     "normal": 96.0 + np.arange(3.0).reshape(1, 3), "impulse": 76.0 + np.arange(3.0).reshape(1, 3)},
    None,
]  # fmt: skip
# Joint, time, row, frame on the parent, frame on the child, offset.
BINDINGS: list[tuple[Any, ...]] = [
    (0, 0.0, 0, (0.1, 0.2, 0.3), (0.5, 0.5, 0.5, 0.5), (0.4, 0.5, 0.6), (0.6, 0.8, 0.0, 0.0), 0.0),
    (1, 0.0, 0, (1.1, 1.2, 1.3), (0.5, -0.5, 0.5, 0.5), (1.4, 1.5, 1.6), (0.6, 0.0, 0.8, 0.0), 1.5),
    (1, 0.75, 4, (2.1, 2.2, 2.3), (0.5, 0.5, -0.5, 0.5), (2.4, 2.5, 2.6), (0.6, 0.0, 0.0, 0.8), 2.5),
]


def fill(recorder: Recorder) -> None:
    """Hand everything over, in two epochs: rows 0 to 2 and 3 to 6."""
    for joint, time, row, p_P, q_P, p_C, q_C, offset in BINDINGS:
        recorder.bind(joint, time, row, [np.array(p_P), np.array(q_P), np.array(p_C), np.array(q_C)], offset)
    for event, through, struck in zip(EVENTS, THROUGH, STRUCK, strict=True):
        recorder.event(**event, through=through, contacts=struck)
    recorder.contacts(TOUCHES)
    for (tree, loops, q, v), first in zip(STATES, (0, 3), strict=True):
        recorder.start_epoch(tree, loops, q.shape[1], v.shape[1])
        recorder.append_state(q, v)
        recorder.append(rows(first, len(q)))


def write(path: Path) -> Path:
    """Record all of it."""
    recorder = Recorder(path, LAYOUT, program="brachiate 9.8")
    fill(recorder)
    recorder.finish(True, RUN)
    return path
