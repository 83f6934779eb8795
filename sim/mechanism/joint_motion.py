"""How joints move: what their coordinates and rates say of two frames, and what two frames say of them.

The types say of which elementary motions a joint is made (`sim.joints`); pitches are in m/rad.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sim.joints.joint_type import SLIDE, TURN, JointType
from sim.kernels.spatial import quaternion_of, swing_of, twist_of
from sim.kernels.tables import ANGLE, SWING
from sim.mechanism.frames import Pose, rotation_of


def motion(kind: JointType, q: Sequence[float] | np.ndarray, pitch: float = 0.0) -> Pose:
    """Return X_FM(q): where M stands in F, slides, turns and ball one after the other."""
    p, R = np.zeros(3), np.eye(3)
    for i, one in enumerate(kind.motions):
        if one.kind == SLIDE:
            p = p + R[:, one.axis] * q[i]
        elif one.kind == TURN:
            R = R @ turned_about(one.axis, q[i])
            p = p + R[:, one.axis] * (pitch * q[i]) if one.pitched else p
        else:
            R = R @ rotation_of(np.asarray(q[i:], float))  # a ball is the last
    return Pose(p, R)


def turned_about(axis: int, angle: float) -> np.ndarray:
    """Return the rotation (3, 3) about an axis."""
    s, c = np.sin(angle), np.cos(angle)
    R = np.eye(3)
    j, k = (axis + 1) % 3, (axis + 2) % 3
    R[j, j] = R[k, k] = c
    R[k, j], R[j, k] = s, -s
    return R


def coordinates(kind: JointType, X_FM: Pose, pitch: float = 0.0) -> np.ndarray:
    """Return q of a joint whose frames stand so; what its freedoms cannot reach is ignored.

    Angles are within half a turn; of a turn with a pitch, whose slide tells its whole turns, nearest to that.
    """
    R, p = X_FM.R, X_FM.p
    out = [float(p[axis]) for axis in kind.slides]
    for i in kind.angles:
        angle = kind.measured[i]
        value = float(np.arctan2(angle.sense * R[angle.sine], R[angle.cosine]))
        if kind.motions[i].pitched:
            value += 2.0 * np.pi * np.round((p[kind.along[i]] / pitch - value) / (2.0 * np.pi))
        out.append(value)
    return np.array([*out, *quaternion_of(tuple(R.ravel()))]) if kind.ball >= 0 else np.array(out)


def rates(kind: JointType, F: np.ndarray, M: np.ndarray, w_rel: np.ndarray, v_rel: np.ndarray) -> np.ndarray:
    """Return v of a joint from the motion of M against F's body; axes (3, 3) and motion in world axes."""
    return np.array(
        [
            F[:, code] @ v_rel if code < 3 else (F if code < 6 else M)[:, code % 3 - (code >= 7)] @ w_rel
            for code in kind.free
        ]
    )


def stop_value(stop: Any, coordinate: np.ndarray) -> float:
    """Return the coordinate that a stop bounds, of all (columns,): of a ball its angle, its swing or its twist."""
    c, about = int(stop.column), int(stop.about)
    if not stop.angle:
        return float(coordinate[c])
    return ball_value(int(stop.angle), about, coordinate[c : c + 3])


def ball_value(what: int, about: int, r: np.ndarray) -> float:
    """Return angle, swing or twist [rad] of a rotation vector (3,), about an axis of M."""
    if what == ANGLE:
        return float(np.linalg.norm(r))
    return float((swing_of if what == SWING else twist_of)(*map(float, r), about))


def open_by(kind: JointType, X_FM: Pose, pitch: float = 0.0) -> tuple[float, float]:
    """Return how far a joint whose frames stand so is off what it locks: (m, rad)."""
    R, p = X_FM.R, X_FM.p.copy()
    if any(one.pitched for one in kind.motions):
        p[kind.turns[0]] -= pitch * coordinates(kind, X_FM, pitch)[0]
    away = float(np.linalg.norm(p[[code for code in kind.locked if code < 3]]))
    if kind.locks_all_turns:
        return away, float(np.arccos(np.clip((np.trace(R) - 1.0) / 2.0, -1.0, 1.0)))
    if len(kind.turns) == 1:
        return away, float(np.arctan2(np.hypot(R[0, 2], R[1, 2]), R[2, 2]))
    return away, abs(float(np.arcsin(np.clip(R[0, 2], -1.0, 1.0)))) if kind.bends else 0.0
