"""A recording with a known motion, written as docs/recording.md says, without the engine.

* `wheel` turns about the y axis through (0, 0, 1) at 3 rad/s; its rod points along its z.
* `figure.ball` flies at 2 m/s along x and falls; at t = 0.5 s its horizontal velocity is reversed and
  halved, at once: an event whose instant stands twice.
* The wheel has a point `tip` at the end of its rod, the ball one at its `side`, the world a `hook`.
* `cord`, a spring of 3 N/m that is free at 1 m, runs from the ball to the tip of the rod; `twist` turns about
  the axle; `push` pulls the ball along x.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np

SPEED, GRAVITY, RATE, BOUNCE = 2.0, 9.81, 3.0, 0.5
MASS = np.array([1.5, 0.5])
START = np.array([-0.5, 0.0, 2.0])


def times(rate: float = 120.0, end: float = 1.0) -> np.ndarray:
    """Return the instants of the recording, BOUNCE twice."""
    even = np.arange(round(rate * end) + 1) / rate
    return np.sort(np.append(even, BOUNCE)) if np.isclose(even, BOUNCE).any() else np.sort([*even, BOUNCE, BOUNCE])


def ball(t: np.ndarray, after: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return position and velocity (n, 3) of the ball; after: whether the event has happened."""
    along = np.where(after, SPEED * BOUNCE - 0.5 * SPEED * (t - BOUNCE), SPEED * t)
    rate = np.where(after, -0.5 * SPEED, SPEED)
    zero = np.zeros_like(t)
    position = START + np.stack([along, zero, -0.5 * GRAVITY * t**2], axis=1)
    return position, np.stack([rate, zero, -GRAVITY * t], axis=1)


def wheel(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return quaternion (n, 4) and angular velocity (n, 3) of the wheel."""
    half, zero = 0.5 * RATE * t, np.zeros_like(t)
    return np.stack([np.cos(half), zero, np.sin(half), zero], axis=1), np.tile([0.0, RATE, 0.0], (len(t), 1))


def write_recording(
    path: Path, *, rate: float = 120.0, settings: dict[str, Any] | None = None, rows: int | None = None
) -> Path:
    """Write the recording; rows: how many of them are marked as complete (None: all)."""
    t = times(rate)
    twin = int(np.flatnonzero(np.diff(t) == 0)[0])
    after = np.arange(len(t)) > twin
    p_ball, v_ball = ball(t, after)
    quat, spin = wheel(t)
    n = len(t)
    with h5py.File(path, "w") as file:
        file.attrs.update({"format": "brachiate recording", "version": 1, "scene": "synthetic", "program": "0.1.0"})
        file["rows"], file["complete"] = n if rows is None else rows, 1 if rows is None else 0
        texts = {
            "text": "schema: 1\n",
            "file": "synthetic.yaml",
            "settings": "{}",
            "render": json.dumps(settings or {}),
        }
        for name, text in texts.items():
            file[f"scene/{name}"] = np.bytes_(text)
        _write_model(file)
        _write_motion(file, t, p_ball, v_ball, quat, spin)
        _write_joints(file, t)
        _write_forces(file, t, p_ball)
        _write_events(file, twin)
        _write_ledgers(file, t, p_ball, v_ball, after)
    return path


def _write_model(file: h5py.File) -> None:
    file["bodies/name"] = np.array([b"wheel", b"figure.ball"])
    file["bodies/mass"], file["bodies/com"] = MASS, np.array([[0, 0, 0.25], [0, 0, 0.0]])
    file["bodies/inertia"] = np.tile([0.1, 0.1, 0.1, 0, 0, 0], (2, 1))
    file["points/name"] = np.array([b"wheel.tip", b"world.hook", b"figure.ball.side"])
    file["points/body"] = np.array([0, -1, 1])
    file["points/position"] = np.array([[0, 0, 0.5], [0, 0, 3.0], [0, 0.1, 0]])
    file["shapes/body"] = np.array([0, 1, -1])
    file["shapes/kind"] = np.array([b"capsule", b"sphere", b"box"])
    file["shapes/position"] = np.array([[0, 0, 0.25], [0, 0, 0], [0, 0, 1.0]])
    file["shapes/quat_wxyz"] = np.tile([1.0, 0, 0, 0], (3, 1))
    file["shapes/size"] = np.array([[0.05, 0.05, 0.5], [0.1, 0.1, 0.1], [0.1, 0.4, 0.1]])
    file["shapes/color"] = np.array([[0.2, 0.4, 0.8, 1.0], [np.nan] * 4, [np.nan] * 4])


def _write_motion(
    file: h5py.File, t: np.ndarray, p_ball: np.ndarray, v_ball: np.ndarray, quat: np.ndarray, spin: np.ndarray
) -> None:
    n = len(t)
    still = np.tile([1.0, 0, 0, 0], (n, 1))
    file["time"] = t
    file["position"] = np.stack([np.tile([0, 0, 1.0], (n, 1)), p_ball], axis=1)
    file["quat_wxyz"] = np.stack([quat, still], axis=1)
    file["velocity"] = np.stack([np.zeros((n, 3)), v_ball], axis=1)
    file["angular_velocity"] = np.stack([spin, np.zeros((n, 3))], axis=1)
    middle = np.array([0, 0, 1.0]) + 0.25 * np.stack([np.sin(RATE * t), np.zeros(n), np.cos(RATE * t)], axis=1)
    file["com"] = np.stack([middle, p_ball], axis=1)


def _write_joints(file: h5py.File, t: np.ndarray) -> None:
    file["joints/name"] = np.array([b"axle", b"figure.ball"])
    file["joints/type"] = np.array([b"rotational", b"free"])
    file["joints/parent"], file["joints/child"] = np.array([b"world", b"world"]), np.array([b"wheel", b"figure.ball"])
    columns = np.dtype([("name", "S40"), ("joint", "S24"), ("unit", "S8"), ("rate_unit", "S8"), ("torque_unit", "S8")])
    rows = [(b"axle", b"axle", b"rad", b"rad/s", b"N m")]
    rows += [(f"figure.ball[{k}]".encode(), b"figure.ball", b"m", b"m/s", b"N") for k in range(3)]
    rows += [(f"figure.ball[{k}]".encode(), b"figure.ball", b"rad", b"rad/s", b"N m") for k in range(3, 6)]
    file["joints/columns"] = np.array(rows, columns)
    p_ball, v_ball = file["position"][:, 1], file["velocity"][:, 1]
    zero = np.zeros((len(t), 3))
    file["joints/position"] = file["position"][:]
    file["joints/coordinate"] = np.concatenate([RATE * t[:, None], p_ball, zero], axis=1)
    file["joints/rate"] = np.concatenate([np.full((len(t), 1), RATE), v_ball, zero], axis=1)
    file["joints/torque"] = np.concatenate([np.full((len(t), 1), 0.75), 0 * v_ball, zero], axis=1)
    force = np.zeros((len(t), 2, 6))
    force[:, 0, 5] = MASS[0] * GRAVITY
    file["joints/force"] = force


def tip(t: np.ndarray) -> np.ndarray:
    """Return the tip of the wheel's rod (n, 3)."""
    return np.array([0, 0, 1.0]) + 0.5 * np.stack([np.sin(RATE * t), np.zeros(len(t)), np.cos(RATE * t)], axis=1)


def _write_forces(file: h5py.File, t: np.ndarray, p_ball: np.ndarray) -> None:
    file["forces/name"] = np.array([b"cord", b"twist", b"push"])
    file["forces/type"] = np.array([b"spring", b"torsion_spring", b"wrench"])
    file["forces/body"] = np.array([[1, 0], [-1, 0], [1, -1]])
    nothing = [np.nan] * 3
    file["forces/point"] = np.array([[[0, 0, 0], [0, 0, 0.5]], [nothing, nothing], [[0, 0, 0], nothing]])
    gap = np.linalg.norm(tip(t) - p_ball, axis=1)
    absent = np.full(len(t), np.nan)
    file["forces/length"] = np.stack([gap, RATE * t, absent], axis=1)
    file["forces/tension"] = np.stack([3 * (gap - 1), 0.5 * RATE * t, absent], axis=1)
    wrench = np.full((len(t), 3, 6), np.nan)
    wrench[:, 2] = [0, 0.25, 0, 4, 0, 0]
    file["forces/wrench"] = wrench


def _write_events(file: h5py.File, twin: int) -> None:
    file["events/time"] = np.array([BOUNCE])
    for key, text in (("name", b"bounce"), ("kind", b"scene"), ("caption", b"the ball turns round"), ("text", b"")):
        file[f"events/{key}"] = np.array([text], "S40")
    file["events/row_before"], file["events/row_after"] = np.array([twin]), np.array([twin + 1])
    file["events/energy_lost"], file["events/impulse"] = np.array([0.75]), np.array([1.5])


def _write_ledgers(file: h5py.File, t: np.ndarray, p_ball: np.ndarray, v_ball: np.ndarray, after: np.ndarray) -> None:
    kinetic = 0.5 * MASS[1] * (v_ball**2).sum(axis=1)
    potential = MASS[1] * GRAVITY * p_ball[:, 2]
    impact = np.where(after, 0.75, 0.0)
    ledger = {"kinetic": kinetic, "potential": potential, "impact": impact, "dissipated": 0 * t, "input": 0 * t}
    for key, values in ledger.items():
        file[f"energy/{key}"] = values
    balance = kinetic + potential + impact
    file["energy/balance"] = balance - balance[0]
    file["trust/position_residual"] = 1e-13 * (1 + t)
    file["trust/velocity_residual"] = 1e-12 * (1 + t)
    file["trust/smallest_singular_value"], file["trust/rank"] = np.ones(len(t)), np.zeros(len(t), int)
    file["trust/determinate"] = np.ones((len(t), 2), int)
