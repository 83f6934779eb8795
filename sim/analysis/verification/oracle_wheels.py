"""Constraints of a scene in plain numpy: what wheels, blades and rolling bodies bind, and how far it is off.

Every array may have leading axes (rows of a recording).  Written without conjugates and absolute values, so that
complex arguments give derivatives.  Nothing here is shared with the kernels.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sim.analysis.verification.oracle_joints import Pair, Side, turn
from sim.scene.spec import Constraint

STEP = 1e-30  # of the complex time in which derivatives are taken


def touching(spec: Constraint, at: Pair) -> Pair:
    """Return the pair at the point where a rolling body is nearest to its ground; others as they are.

    It lies under the centre by the tube's radius, and under the highest slope of the disc by its radius; of an
    ellipsoid where its normal is that of the ground.
    """
    if spec.type != "rolling":
        return at
    z = surface(spec, at)[..., 2]
    if spec.radii is not None:  # m . A m = 1 with A m along the normal
        stretched = np.asarray(spec.radii) * turn(np.swapaxes(at.M, -1, -2), z)
        arm = -turn(at.M, np.asarray(spec.radii) * _unit(stretched))
    elif spec.axis is None:
        arm = -spec.radius * z
    else:
        y = at.M[..., 1]
        downhill = _dot(z, y)[..., None] * y - z
        arm = spec.radius * _unit(downhill) - spec.tube * z
    slip = at.slip + np.cross(at.w_b - at.w_a, arm)
    return replace(at, P=at.P + arm, d=at.d + arm, slip=slip)


def surface(spec: Constraint, at: Pair) -> np.ndarray:
    """Return (..., 3, 3) axes of the ground as columns, its normal last: of a round one where a place is nearest.

    On a cylinder the second lies along its axis; on a sphere they are those of F turned the shortest way.
    """
    if spec.bend == 0.0:
        return at.F
    x, y, z = (at.F[..., k] for k in range(3))
    d = at.d if spec.along is None else at.d - _dot(at.d, y)[..., None] * y
    n = np.sign(spec.bend) * _unit(d)
    if spec.along is not None:
        return np.stack([np.cross(y, n), y, n], axis=-1)
    axis, cosine = np.cross(z, n), _dot(z, n)[..., None]  # Rodrigues
    turned = [a + np.cross(axis, a) + np.cross(axis, np.cross(axis, a)) / (1.0 + cosine) for a in (x, y)]
    return np.stack([*turned, n], axis=-1)


def gaps(spec: Constraint, at: Pair) -> np.ndarray:
    """Return (..., bound places) how far the constraint is off, m; `at` where it touches."""
    z = at.F[..., 2]
    if spec.type == "rolling" and spec.keeps:
        return (_dot(surface(spec, at)[..., 2], at.d) - spec.bend)[..., None]
    if spec.type == "screw":  # whole turns are not seen in poses
        X = np.swapaxes(at.F, -1, -2) @ at.M
        way, lead = _dot(z, at.d) - spec.ratio * np.arctan2(X[..., 1, 0], X[..., 0, 0]), 2.0 * np.pi * spec.ratio
        return np.asarray(way - lead * np.round(way / lead))[..., None]
    return np.zeros((*at.P.shape[:-1], 0))


def gap_rates(spec: Constraint, at: Pair) -> np.ndarray:
    """Return (..., rows) velocities that the constraint does not allow, m/s and rad/s; `at` where it touches."""
    z = at.F[..., 2]
    if spec.type == "rolling":
        along = turn(np.swapaxes(surface(spec, at), -1, -2), at.slip)
        return along if spec.keeps else along[..., :2]
    if spec.type == "no_side_slip":
        axle = at.M[..., 1]
        return _dot(_unit(axle - _dot(axle, z)[..., None] * z), at.slip)[..., None]
    if spec.type == "knife_edge":
        return _dot(_unit(np.cross(z, at.M[..., 0])), at.slip)[..., None]
    inverse = np.swapaxes(at.F, -1, -2)
    both = np.concatenate([turn(inverse, at.slip), turn(inverse, at.w_b - at.w_a)], axis=-1)
    return both[..., [("x", "y", "z", "rx", "ry", "rz").index(name) for name in spec.components]]


def a_moment_later(side: Side, com: np.ndarray) -> Side:
    """Return a body a complex moment later, its centre of mass and its rotation not accelerated."""
    h = 1j * STEP
    v_com = side.v + np.cross(side.w, com - side.p)
    later = com + h * v_com
    p, R = side.p + h * side.v, side.R + h * np.cross(side.w, side.R.T).T
    return Side(p, R, v_com + np.cross(side.w, p - later), side.w)


def given(side: Side, com: np.ndarray, motion: np.ndarray) -> Side:
    """Return a body where it is with another motion (6,): of its centre of mass, angular."""
    return Side(side.p, side.R, motion[:3] + np.cross(motion[3:], side.p - com), motion[3:])


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(np.sum(a * b, axis=-1))


def _unit(a: np.ndarray) -> np.ndarray:
    return np.asarray(a / np.sqrt(_dot(a, a))[..., None])
