"""Tracking of a motion in a table, with the torques that it takes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from sim.joints import JOINT_TYPES
from sim.plugin import Controller, ModelView, parameter
from sim.scene.splines import pieces_of
from sim.scene.time_table import TimeTable

DEGREE = 5
ROW = 7  # constants of a controlled column, or of a spherical joint


# Constants: number of times n, of rows r; n times; r rows of: whether it is spherical (0 or 1), first column, kp, kd,
# largest torque, where the splines of the target begin, and of the torque (-1: there is none); then splines, for each
# piece the powers from the fifth on, of quaternions w, x, y, z one after the other.
def track_law(t: float, coordinate: np.ndarray, rate: np.ndarray, constants: np.ndarray, torque: np.ndarray) -> None:
    """Add tau = kp (q* - q) + kd (q*' - q') + tau*, cut at the largest torque, for every row of constants.

    Before the table begins and after it ends its first and last targets are held, and tau* is 0.  Of spherical joints
    q* - q is the rotation vector, in the child's axes, that turns the child into its target.
    """
    count, rows = int(constants[0]), int(constants[1])
    low, high = 0, count - 2
    while low < high:
        middle = (low + high + 1) // 2
        if constants[2 + middle] <= t:
            low = middle
        else:
            high = middle - 1
    inside = 1.0 if constants[2] <= t <= constants[1 + count] else 0.0
    h = min(max(t, constants[2]), constants[1 + count]) - constants[2 + low]
    for row in range(2 + count, 2 + count + 7 * rows, 7):
        c, kp, kd, largest = int(constants[row + 1]), constants[row + 2], constants[row + 3], constants[row + 4]
        numbers = 4 if constants[row] == 1.0 else 1
        first, given = int(constants[row + 5]) + 6 * numbers * low, int(constants[row + 6])
        a, da, b, db, d, dd, e, de = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(6 * (numbers if first >= 0 and (kp != 0.0 or kd != 0.0) else 0)):
            p = constants[first + k]
            if k < 6:
                da, a = da * h + a, a * h + p
            elif k < 12:
                db, b = db * h + b, b * h + p
            elif k < 18:
                dd, d = dd * h + d, d * h + p
            else:
                de, e = de * h + e, e * h + p
        if numbers == 1:
            tau = kp * (a - coordinate[c]) + kd * (inside * da - rate[c])
            if given >= 0:
                force = 0.0
                for k in range(6):
                    force = force * h + constants[given + 6 * low + k]
                tau += inside * force
            torque[c] += min(max(tau, -largest), largest)
            continue
        tx, ty, tz = 0.0, 0.0, 0.0
        if kp != 0.0 or kd != 0.0:
            size = math.sqrt(a * a + b * b + d * d + e * e)
            a, b, d, e, f = a / size, b / size, d / size, e / size, 2.0 * inside / size
            # Angular velocity of the target in its own axes: twice the vector part of conj(target) target'.
            ux = f * (a * db - b * da - d * de + e * dd)
            uy = f * (a * dd - d * da - e * db + b * de)
            uz = f * (a * de - e * da - b * dd + d * db)
            x, y, z = coordinate[c], coordinate[c + 1], coordinate[c + 2]
            angle = math.sqrt(x * x + y * y + z * z)
            k2 = math.sin(0.5 * angle) / angle if angle > 0.0 else 0.5
            w, x, y, z = math.cos(0.5 * angle), k2 * x, k2 * y, k2 * z
            # conj(child) * target: what is still to turn, seen from the child.
            rw, rx = w * a + x * b + y * d + z * e, w * b - x * a - y * e + z * d
            ry, rz = w * d + x * e - y * a - z * b, w * e - x * d + y * b - z * a
            if rw < 0.0:
                rw, rx, ry, rz = -rw, -rx, -ry, -rz
            half = math.sqrt(rx * rx + ry * ry + rz * rz)
            turn = 2.0 * math.atan2(half, rw) / (half or 1.0)
            # The target's angular velocity in the child's axes: v + 2 r x (r x v + w v).
            sx, sy, sz = ry * uz - rz * uy + rw * ux, rz * ux - rx * uz + rw * uy, rx * uy - ry * ux + rw * uz
            tx = kp * turn * rx + kd * (ux + 2.0 * (ry * sz - rz * sy) - rate[c])
            ty = kp * turn * ry + kd * (uy + 2.0 * (rz * sx - rx * sz) - rate[c + 1])
            tz = kp * turn * rz + kd * (uz + 2.0 * (rx * sy - ry * sx) - rate[c + 2])
        if given >= 0:
            fx, fy, fz = 0.0, 0.0, 0.0
            for k in range(6):
                fx = fx * h + constants[given + 18 * low + k]
                fy = fy * h + constants[given + 18 * low + 6 + k]
                fz = fz * h + constants[given + 18 * low + 12 + k]
            tx, ty, tz = tx + inside * fx, ty + inside * fy, tz + inside * fz
        size = math.sqrt(tx * tx + ty * ty + tz * tz)
        share = largest / size if size > largest else 1.0
        torque[c] += share * tx
        torque[c + 1] += share * ty
        torque[c + 2] += share * tz


@dataclasses.dataclass(kw_only=True)
class Track(Controller):
    """Lead joints along a motion in a table, by its torques, a spring and a damper.

    tau = kp (q* - q) + kd (q*' - q') + tau*, at most `largest` in size: q* the table's columns of a joint, their
    splines of degree five, and tau* its columns of torques, as `sim inverse` writes them.  Spherical joints take three
    columns, a rotation vector, of which the rotation is followed the shorter way.  Before the table begins and after it
    ends its first and last targets are held, and tau* is 0.
    """

    law: ClassVar[Callable[..., None] | None] = staticmethod(track_law)

    file: TimeTable = parameter(  # noqa: RUF009 - declares, as for the others
        kind="table", about="Motion to follow: a table of joints over time, CSV or HDF5"
    )
    joints: tuple[str, ...] = parameter(
        (), kind="joints", about="Joints to lead, names or patterns; none: all that the table tells"
    )
    kp: Mapping[str, Any] | float = parameter(
        0.0, kind="by_joint", unit="N m/rad", about="Stiffness (N/m on slides): one for all joints, or by joint"
    )
    kd: Mapping[str, Any] | float = parameter(
        0.0, kind="by_joint", unit="N m s/rad", about="Damping (N s/m on slides): one for all joints, or by joint"
    )
    torque_too: bool = parameter(True, kind="flag", about="Apply the table's torques, where it has some")
    largest: float = parameter(math.inf, unit="N m", minimum=0.0, about="Largest torque (N on slides) of each joint")

    def start(self, view: ModelView) -> None:
        """Refuse tables that lack what is to be followed, and joints that nothing can drive."""
        super().start(view)
        if len(self.file.time) <= DEGREE:
            found = f"{self.file.file} has {len(self.file.time)} rows"
            raise ValueError(f"track: {found}; expected {DEGREE + 1} at the least")
        for joint in self.joints:
            if view.types[joint] == "free":
                raise ValueError(f"track: {joint!r} is a free joint, which nothing can drive")
        followed = self._followed(view)
        if not followed:
            raise ValueError(f"track: {self.file.file} tells no joint of this scene that can be driven")
        for name in ("kp", "kd"):
            value = getattr(self, name)
            for joint in value if isinstance(value, Mapping) else ():
                if joint not in followed:
                    raise ValueError(f"track: {name} names {joint!r}, which is not among its joints")

    def constants(self, view: ModelView) -> np.ndarray:
        """Return times, rows and splines of `track_law`, flat."""
        rows: list[list[float]] = []
        splines: list[np.ndarray] = []
        followed = self._followed(view)
        first = 2 + len(self.file.time) + ROW * sum(self._count(view, joint) for joint in followed)

        def put(values: np.ndarray) -> int:
            at = first + sum(len(one) for one in splines)
            splines.append(pieces_of(self.file.time, values, DEGREE).ravel())
            return at

        for joint in followed:
            columns = view.columns[joint]
            names = names_of(joint, columns.stop - columns.start)
            spherical = view.types[joint] == "spherical"
            for part in [names] if spherical else [[name] for name in names]:
                c = columns.start + names.index(part[0])
                kp, kd = self._gain("kp", joint, c - columns.start), self._gain("kd", joint, c - columns.start)
                unit = JOINT_TYPES[view.types[joint]].units[c - columns.start]
                target, torque = self._table(part, unit), self._torques(part, unit)
                if target is None and (kp or kd):
                    raise ValueError(f"track: {self.file.file} has no column {part[0]!r}, which kp and kd need")
                at = -1 if target is None else put(quaternions(target) if spherical else target)
                rows.append([spherical, c, kp, kd, self.largest, at, -1 if torque is None else put(torque)])
        return np.concatenate([[len(self.file.time), len(rows)], self.file.time, np.ravel(rows), *splines])

    def _followed(self, view: ModelView) -> tuple[str, ...]:
        """Return the joints that are led."""
        told = [
            joint for joint, columns in view.columns.items() if view.types[joint] not in ("free", "fixed")
            and any(key in self.file.columns for name in names_of(joint, columns.stop - columns.start)
                    for key in (name, f"torque({name!r})"))
        ]  # fmt: skip
        for joint in self.joints:
            if joint not in told:
                raise ValueError(f"track: {self.file.file} has no column of {joint!r}")
        return self.joints or tuple(told)

    def _count(self, view: ModelView, joint: str) -> int:
        """Return the rows of constants of a joint."""
        return 1 if view.types[joint] == "spherical" else view.columns[joint].stop - view.columns[joint].start

    def _torques(self, names: list[str], unit: str) -> np.ndarray | None:
        """Return the torques (rows, k) of columns, None without any."""
        if not self.torque_too:
            return None
        return self._table([f"torque({name!r})" for name in names], "N" if unit == "m" else "N m")

    def _table(self, keys: list[str], unit: str) -> np.ndarray | None:
        """Return columns of the table (rows, k), None where it has none of them."""
        there = [key for key in keys if key in self.file.columns]
        if not there:
            return None
        if len(there) < len(keys):
            lacking = next(key for key in keys if key not in there)
            raise ValueError(f"track: {self.file.file} has no column {lacking!r} beside {there[0]!r}")
        return np.column_stack([self.file.in_unit(key, unit) for key in keys])

    def _gain(self, name: str, joint: str, freedom: int) -> float:
        value = getattr(self, name)
        found = value.get(joint, 0.0) if isinstance(value, Mapping) else value
        return float(found[freedom]) if isinstance(found, tuple | list) else float(found)


def names_of(joint: str, freedoms: int) -> list[str]:
    """Return the names of a joint's columns."""
    return [joint] if freedoms == 1 else [f"{joint}[{k}]" for k in range(freedoms)]


def quaternions(rotation: np.ndarray) -> np.ndarray:
    """Return unit quaternions (rows, 4) of rotation vectors (rows, 3), each near to the one before."""
    angle = np.linalg.norm(rotation, axis=1, keepdims=True)
    p = np.hstack([np.cos(0.5 * angle), 0.5 * np.sinc(0.5 * angle / np.pi) * rotation])
    turned = np.where(np.sum(p[1:] * p[:-1], axis=1) < 0.0, -1.0, 1.0)
    return p * np.concatenate([[1.0], np.cumprod(turned)])[:, None]
