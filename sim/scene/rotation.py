"""Orientations as a scene writes them, to unit quaternions (w, x, y, z); and what mirrors do to them."""

from __future__ import annotations

import math
from typing import Any

from sim.scene.spec import Quat, Vec3

IDENTITY: Quat = (1.0, 0.0, 0.0, 0.0)

# A quaternion written with three digits is off by less; more is a mistake, not rounding.
_NORM_ERROR = 1e-3


def multiply(a: Quat, b: Quat) -> Quat:
    """Return the quaternion of the rotation b followed by a."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def rotate(q: Quat, p: Vec3) -> Vec3:
    """Return a vector turned by a unit quaternion."""
    w, x, y, z = q
    a, b, c = p
    tx, ty, tz = 2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)
    return (
        a + w * tx + y * tz - z * ty,
        b + w * ty + z * tx - x * tz,
        c + w * tz + x * ty - y * tx,
    )


def norm(p: tuple[float, ...]) -> float:
    """Return the length of a vector."""
    return math.hypot(*p)


def dot(a: Vec3, b: Vec3) -> float:
    """Return the scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vec3, b: Vec3) -> Vec3:
    """Return the vector product."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def unit(p: Vec3) -> Vec3:
    """Return a vector of length one in the same direction."""
    length = norm(p)
    return (p[0] / length, p[1] / length, p[2] / length)


def along_z(direction: Vec3) -> Quat:
    """Return the least rotation that turns z into a unit direction."""
    x, y, z = direction
    if z < 0.0 and math.hypot(x, y) < 1e-150:  # the turn is half, about any axis across
        return (0.0, 1.0, 0.0, 0.0)
    # 1 + z without the digits that it loses near -z
    q = (1.0 + z if z > 0.0 else (x * x + y * y) / (1.0 - z), -y, x, 0.0)
    length = norm(q)
    return (q[0] / length, q[1] / length, q[2] / length, 0.0)


def from_axis_angle(axis: Vec3, angle: float) -> Quat:
    """Return the quaternion of a turn by an angle (rad) about a unit axis."""
    half = math.sin(0.5 * angle)
    return (math.cos(0.5 * angle), half * axis[0], half * axis[1], half * axis[2])


def from_vector(rotation: Vec3) -> Quat:
    """Return the quaternion of a rotation vector (rad)."""
    angle = norm(rotation)
    return from_axis_angle(unit(rotation), angle) if angle > 0 else IDENTITY


def from_rpy(roll: float, pitch: float, yaw: float) -> Quat:
    """Return the quaternion of turns about the fixed axes x, then y, then z (rad)."""
    x = from_axis_angle((1.0, 0.0, 0.0), roll)
    y = from_axis_angle((0.0, 1.0, 0.0), pitch)
    z = from_axis_angle((0.0, 0.0, 1.0), yaw)
    return multiply(z, multiply(y, x))


def read_rotation(block: Any, keys: tuple[str, ...] = ("rpy", "axis_angle", "quat_wxyz", "quat_xyzw")) -> Quat | None:
    """Return the rotation that a block gives by one of its keys; None if it gives none or a bad one."""
    key = next((key for key in keys if block.wrote(key)), None)
    if key is None or block.get(key) is None:
        return None
    value = block.get(key)
    if key == "rpy":
        return from_rpy(*value)
    if key == "rotation":
        return from_vector(value)
    if key == "axis_angle":
        axis, angle = value.get("axis"), value.get("angle")
        if axis is None or angle is None:
            return None
        if norm(axis) == 0.0:
            value.problem("axis", "a zero vector has no direction", "give a direction, e.g. [0, 0, 1]")
            return None
        return from_axis_angle(unit(axis), angle)
    q: Quat = value if key == "quat_wxyz" else (value[3], value[0], value[1], value[2])
    length = norm(q)
    if abs(length - 1.0) > _NORM_ERROR:
        block.problem(
            key,
            f"a quaternion of length {length:.6g}, not 1",
            "divide it by its length, or check the order of its numbers",
        )
        return None
    return (q[0] / length, q[1] / length, q[2] / length, q[3] / length)


def orientation_of(block: Any, key: str) -> Quat:
    """Return the rotation of a block's ``orientation``; none, without one or with a bad one (reported)."""
    inner = block.get(key)
    return (read_rotation(inner) if inner is not None else None) or IDENTITY
