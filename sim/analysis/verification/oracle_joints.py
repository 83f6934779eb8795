"""Joints between two moving bodies, in plain numpy: what is locked, what is free, how far it is off.

Frames F on the parent and M on the child; every array may have leading axes (rows of a recording).
Nothing here is shared with the kernels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Axes of F along which the point of M may not slide, and about which M may not turn.
SLIDES: dict[str, tuple[int, ...]] = {
    "fixed": (0, 1, 2), "rotational": (0, 1, 2), "translational": (0, 1), "cylindrical": (0, 1),
    "universal": (0, 1, 2), "planar": (2,), "spherical": (0, 1, 2), "free": (), "helical": (0, 1),
}  # fmt: skip
TURNS: dict[str, tuple[int, ...]] = {
    "fixed": (0, 1, 2), "rotational": (0, 1), "translational": (0, 1, 2), "cylindrical": (0, 1),
    "universal": (), "planar": (0, 1), "spherical": (), "free": (), "helical": (0, 1),
}  # fmt: skip
# Freedoms in the order of the columns: (slide or turn, frame whose axis it follows, axis).
FREEDOMS: dict[str, tuple[tuple[str, str, int], ...]] = {
    "fixed": (),
    "rotational": (("turn", "F", 2),),
    "helical": (("turn", "F", 2),),
    "translational": (("slide", "F", 2),),
    "cylindrical": (("slide", "F", 2), ("turn", "F", 2)),
    "universal": (("turn", "F", 0), ("turn", "M", 2)),
    "planar": (("slide", "F", 0), ("slide", "F", 1), ("turn", "F", 2)),
    "spherical": tuple(("turn", "M", k) for k in range(3)),
    "free": (*(("slide", "F", k) for k in range(3)), *(("turn", "M", k) for k in range(3))),
}
# Axes of F along which M slides as it turns about them, by the joint's pitch.
FOLLOWS: dict[str, tuple[int, ...]] = {"helical": (2,)}
# Constraints have rows of their own (`sim.analysis.verification.oracle_wheels`).
for _constraint in ("no_side_slip", "knife_edge", "rolling", "same_velocity", "gear", "screw"):
    SLIDES[_constraint] = TURNS[_constraint] = FREEDOMS[_constraint] = ()


def ball(kind: str) -> int:
    """Return the first of the three freedoms by which a joint turns in space; -1 where it does not."""
    turns = [n for n, (what, _, _) in enumerate(FREEDOMS[kind]) if what == "turn"]
    return turns[0] if len(turns) == 3 else -1


@dataclass(frozen=True)
class Side:
    """A body as one side of a joint: origin, axes and motion.

    p : (..., 3) m; R : (..., 3, 3); v, w : (..., 3) of the origin, world axes
    """

    p: np.ndarray
    R: np.ndarray
    v: np.ndarray
    w: np.ndarray


@dataclass(frozen=True)
class Pair:
    """Two bodies at a joint.

    P : (..., 3) m, the point of M; F, M : (..., 3, 3) axes as columns; d : P from the point of F
    w_a, w_b : angular velocities; slip : velocity of P on the child against the parent's point there
    pitch : m/rad, of a joint that slides as it turns
    """

    P: np.ndarray
    F: np.ndarray
    M: np.ndarray
    d: np.ndarray
    w_a: np.ndarray
    w_b: np.ndarray
    slip: np.ndarray
    pitch: float = 0.0


@dataclass(frozen=True)
class Frame:
    """A joint frame on a body: p (3,) from its origin, R (3, 3), body axes."""

    p: np.ndarray
    R: np.ndarray


def turn(R: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return R p with leading axes."""
    return np.asarray(np.einsum("...ij,...j->...i", R, p))


def rotation_of(quat_wxyz: np.ndarray) -> np.ndarray:
    """Return (..., 3, 3) of quaternions (..., 4) of any length."""
    w, x, y, z = np.moveaxis(quat_wxyz / np.linalg.norm(quat_wxyz, axis=-1, keepdims=True), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def along_freedoms(kind: str, at: Pair, moment: np.ndarray, force: np.ndarray) -> list[float]:
    """Return what a moment about the joint's point and a force (3,) do along each of its freedoms."""
    out = []
    for what, frame, k in FREEDOMS[kind]:
        e = (at.F if frame == "F" else at.M)[..., k]
        follows = at.pitch if what == "turn" and k in FOLLOWS.get(kind, ()) else 0.0
        out.append(float(e @ (force if what == "slide" else moment + follows * force)))
    return out


_NEXT, _AFTER = [1, 2, 0], [2, 0, 1]


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a x b of vectors (..., 3); of few vectors numpy's own takes several times as long."""
    return np.asarray(a[..., _NEXT] * b[..., _AFTER] - a[..., _AFTER] * b[..., _NEXT])


def pair(a: Side, b: Side, on_a: Frame, on_b: Frame, pitch: float = 0.0) -> Pair:
    """Return how a joint's two frames stand and move."""
    P, Q = b.p + turn(b.R, on_b.p), a.p + turn(a.R, on_a.p)
    slip = b.v + cross(b.w, P - b.p) - a.v - cross(a.w, P - a.p)
    return Pair(P, a.R @ on_a.R, b.R @ on_b.R, P - Q, a.w, b.w, slip, pitch)


def gaps(kind: str, at: Pair) -> np.ndarray:
    """Return (..., locked) how far the joint is off, m and rad; of a slide that follows a turn up to whole turns."""
    along = turn(np.swapaxes(at.F, -1, -2), at.d)
    parts = [along[..., k] for k in SLIDES[kind]]
    X = np.swapaxes(at.F, -1, -2) @ at.M
    for k in FOLLOWS.get(kind, ()):
        i, j = (k + 1) % 3, (k + 2) % 3
        off = along[..., k] - at.pitch * np.arctan2(X[..., j, i], X[..., i, i])
        lead = 2.0 * np.pi * at.pitch
        parts.append(off - lead * np.round(off / lead))
    if kind in ("fixed", "translational"):  # small: half the axial vector is the rotation vector
        parts += [0.5 * (X[..., i, j] - X[..., j, i]) for i, j in ((2, 1), (0, 2), (1, 0))]
    elif TURNS[kind]:
        parts += [X[..., 0, 2], X[..., 1, 2]]
    elif kind == "universal":
        parts.append(X[..., 0, 2])
    return np.stack(parts, axis=-1) if parts else np.zeros((*at.P.shape[:-1], 0))


def gap_rates(kind: str, at: Pair) -> np.ndarray:
    """Return (..., locked) relative speeds along what is locked, m/s and rad/s."""
    inverse = np.swapaxes(at.F, -1, -2)
    along, about = turn(inverse, at.slip), turn(inverse, at.w_b - at.w_a)
    parts = [along[..., k] for k in SLIDES[kind]]
    parts += [along[..., k] - at.pitch * about[..., k] for k in FOLLOWS.get(kind, ())]
    parts += [about[..., k] for k in TURNS[kind]]
    if kind == "universal":
        n = cross(at.F[..., 0], at.M[..., 2])
        parts.append(np.sum(n * (at.w_b - at.w_a), axis=-1))
    return np.stack(parts, axis=-1) if parts else np.zeros((*at.P.shape[:-1], 0))


def rates(kind: str, at: Pair) -> np.ndarray:
    """Return (..., freedoms) rates of the joint, m/s and rad/s."""
    parts = []
    for what, frame, k in FREEDOMS[kind]:
        e = (at.F if frame == "F" else at.M)[..., k]
        parts.append(np.sum(e * (at.slip if what == "slide" else at.w_b - at.w_a), axis=-1))
    return np.stack(parts, axis=-1) if parts else np.zeros((*at.P.shape[:-1], 0))


def coordinates(kind: str, at: Pair) -> np.ndarray:
    """Return (..., freedoms) coordinates, m and rad in (-pi, pi]; none of joints that turn as a ball."""
    inverse = np.swapaxes(at.F, -1, -2)
    along, X = turn(inverse, at.d), inverse @ at.M
    parts = []
    for what, frame, k in FREEDOMS[kind]:
        if what == "slide":
            parts.append(along[..., k])
        elif frame == "F" and k == 0:  # universal: the first turn tilts z_M about x_F
            parts.append(np.arctan2(-X[..., 1, 2], X[..., 2, 2]))
        elif frame == "M":  # universal: the second turns x_M away from x_F
            parts.append(np.arctan2(-X[..., 0, 1], X[..., 0, 0]))
        else:
            parts.append(np.arctan2(X[..., 1, 0], X[..., 0, 0]))
    return np.stack(parts, axis=-1) if parts else np.zeros((*at.P.shape[:-1], 0))
