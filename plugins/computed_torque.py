"""Computed torque: inverse dynamics within the loop of control, about a motion in a table."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline

from plugins.track import names_of, quaternions
from sim.joints import JOINT_TYPES
from sim.plugin import Controller, ModelView, StateView, parameter
from sim.scene.time_table import TimeTable

DEGREE = 5
RANK = 1e-9  # of what torques do: singular values below this, relative to the largest, move nothing


@dataclasses.dataclass(kw_only=True)
class ComputedTorque(Controller):
    """Lead joints along a motion in a table by the torques that it takes at each state, and the rest as it likes.

    Every sample it asks for theta'' = theta*'' + kd (theta*' - theta') + kp (theta* - theta) of the joints that it
    leads, and holds the torques that make it until the next: so errors die out as e'' + kd e' + kp e = 0, whatever the
    masses, loops and speeds (Luh, Walker and Paul 1980).  Joints that it does not lead move as they do.
    Before the table begins and after it ends its first and last targets are held.
    """

    file: TimeTable = parameter(  # noqa: RUF009 - declares, as for the others
        kind="table", about="Motion to follow: a table of joints over time, CSV or HDF5"
    )
    joints: tuple[str, ...] = parameter(
        (), kind="joints", about="Joints to lead, names or patterns; none: all that the table tells"
    )
    kp: float = parameter(400.0, unit="1/s^2", minimum=0.0, about="Acceleration per error")
    kd: float = parameter(40.0, unit="1/s", minimum=0.0, about="Acceleration per error of the rate")
    rate: float = parameter(500.0, unit="Hz", minimum=1e-3, about="Samples per second")  # type: ignore[misc]
    largest: float = parameter(math.inf, unit="N m", minimum=0.0, about="Largest torque (N on slides) of each joint")

    def start(self, view: ModelView) -> None:
        """Refuse tables that lack what is to be followed, and joints that nothing can drive."""
        super().start(view)
        if len(self.file.time) <= DEGREE:
            found = f"{self.file.file} has {len(self.file.time)} rows"
            raise ValueError(f"computed_torque: {found}; expected {DEGREE + 1} at the least")
        told = [
            joint for joint, columns in view.columns.items() if view.types[joint] not in ("free", "fixed")
            and any(name in self.file.columns for name in names_of(joint, columns.stop - columns.start))
        ]  # fmt: skip
        for joint in self.joints:
            if view.types[joint] == "free":
                raise ValueError(f"computed_torque: {joint!r} is a free joint, which nothing can drive")
            if joint not in told:
                raise ValueError(f"computed_torque: {self.file.file} has no column of {joint!r}")
        if not told:
            raise ValueError(f"computed_torque: {self.file.file} tells no joint of this scene that can be driven")
        self._targets = [self._target(view, joint) for joint in self.joints or told]

    def _target(self, view: ModelView, joint: str) -> _Target:
        columns, kind = view.columns[joint], JOINT_TYPES[view.types[joint]]
        names = names_of(joint, columns.stop - columns.start)
        for name in names:
            if name not in self.file.columns:
                raise ValueError(f"computed_torque: {self.file.file} has no column {name!r}; all of {joint!r} are led")
        values = np.column_stack([self.file.in_unit(n, unit) for n, unit in zip(names, kind.units, strict=True)])
        spherical = kind.name == "spherical"
        spline = make_interp_spline(self.file.time, quaternions(values) if spherical else values, DEGREE)
        return _Target(joint, columns, spherical, spline)

    def sample(self, t: float, state: StateView, torque: np.ndarray, memory: dict[str, Any]) -> None:
        """Hold the torques that make the accelerations that are asked for."""
        begin, end = float(self.file.time[0]), float(self.file.time[-1])
        at, moving = min(max(t, begin), end), float(begin <= t <= end)
        chain = self.view.dynamics()
        there = {name.partition("[")[0] for name in chain.names}
        here = [target for target in self._targets if target.joint in there]  # the others are not connected
        torque[:] = 0.0
        if not here:
            return
        places = chain.places([target.joint for target in here])
        wanted = np.concatenate([target.wanted(at, moving, state, self.kp, self.kd) for target in here])
        E, drift = chain.T[places], chain.drift[places]
        known = chain.T.T @ chain.passive - chain.b
        moved = np.linalg.solve(chain.A, np.column_stack([E.T, known]))
        tau = np.linalg.lstsq(E @ moved[:, :-1], wanted - drift - E @ moved[:, -1], rcond=RANK)[0]
        torque[chain.columns[places]] = np.clip(tau, -self.largest, self.largest)


@dataclasses.dataclass(frozen=True)
class _Target:
    """Where a joint is to be: columns of the scene, and the spline of its coordinates, of quaternions w x y z."""

    joint: str
    columns: slice
    spherical: bool
    spline: BSpline

    def wanted(self, t: float, moving: float, state: StateView, kp: float, kd: float) -> np.ndarray:
        """Return the accelerations that are asked for; of a spherical joint in the child's axes."""
        value, d1, d2 = (self.spline(t, nu) * (moving if nu else 1.0) for nu in range(3))
        coordinate, rate = state.coordinate[self.columns], state.rate[self.columns]
        if not self.spherical:
            return np.asarray(d2 + kd * (d1 - rate) + kp * (value - coordinate))
        size = np.linalg.norm(value)
        unit, slope = value / size, d1 / size
        stretch = unit @ slope
        u1 = slope - stretch * unit
        u2 = d2 / size - 2.0 * stretch * u1 - (unit @ d2 / size + u1 @ u1) * unit
        w, alpha = 2.0 * _product(_conjugate(unit), u1)[1:], 2.0 * _product(_conjugate(unit), u2)[1:]
        # What is still to turn, in the child's axes.
        left = _product(_conjugate(quaternions(coordinate[None])[0]), unit)
        left = left if left[0] >= 0.0 else -left
        half = float(np.linalg.norm(left[1:]))
        turn = left[1:] * (2.0 * math.atan2(half, left[0]) / half if half > 0.0 else 2.0)
        seen = [_product(_product(left, np.array([0.0, *x])), _conjugate(left))[1:] for x in (w, alpha)]
        return np.asarray(seen[1] + kd * (seen[0] - rate) + kp * turn)


def _conjugate(p: np.ndarray) -> np.ndarray:
    return p * [1.0, -1.0, -1.0, -1.0]


def _product(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the product of two quaternions w x y z."""
    vector = p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:])
    return np.array([p[0] * q[0] - p[1:] @ q[1:], *vector])
