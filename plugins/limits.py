"""Restriction of joint angles within their limits."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from sim.plugin import Controller, ModelView, parameter


# One row of constants for each limited column, or for each limited spherical joint: whether it is spherical (0 or 1),
# first column, lower, upper, margin, stiffness, dissipation.
def limits_law(t: float, coordinate: np.ndarray, rate: np.ndarray, constants: np.ndarray, torque: np.ndarray) -> None:
    """Add tau = -k d^3 / (3 margin^2) (1 + c dd/dt) for every depth d > 0 behind a margin.

    The spring is twice smooth where it begins, at `margin` inside the limit, and has the
    slope k at the limit itself.
    """
    for row in range(0, constants.size, 7):
        c = int(constants[row + 1])
        lower, upper, margin = constants[row + 2], constants[row + 3], constants[row + 4]
        k = constants[row + 5] / (3.0 * margin * margin)
        if constants[row] == 0.0:
            q, qd = coordinate[c], rate[c]
        else:
            x, y, z = coordinate[c], coordinate[c + 1], coordinate[c + 2]
            q = math.sqrt(x * x + y * y + z * z)
            if q < 1e-9:  # no direction: the child is in its zero pose
                continue
            qd = (x * rate[c] + y * rate[c + 1] + z * rate[c + 2]) / q
        above, below = max(q - (upper - margin), 0.0), max(lower + margin - q, 0.0)
        tau = k * below * below * below * (1.0 - constants[row + 6] * qd)
        tau -= k * above * above * above * (1.0 + constants[row + 6] * qd)
        if constants[row] == 0.0:
            torque[c] += tau
        else:
            torque[c] += tau * x / q
            torque[c + 1] += tau * y / q
            torque[c + 2] += tau * z / q


@dataclasses.dataclass(kw_only=True)
class Limits(Controller):
    """Keep joints within their limits by springs that begin `margin` inside them.

    tau = -k d^3 / (3 margin^2) (1 + c dd/dt), d the depth behind the margin: zero elsewhere, as in
    the examples of Yamane and Nakamura (1999).  Spherical joints: d of the rotation angle, and
    tau along the rotation vector.  Joints without limits are left alone.
    """

    law: ClassVar[Callable[..., None] | None] = staticmethod(limits_law)

    joints: tuple[str, ...] = parameter(kind="joints", about="Joints to keep within their limits, names or patterns")
    margin: float = parameter(math.radians(20.0), unit="rad", about="How far inside its limit a spring begins")
    stiffness: float = parameter(200.0, unit="N m/rad", minimum=0.0, about="Slope of the spring at the limit")
    dissipation: float = parameter(
        0.5, unit="s/rad", minimum=0.0, about="Share of the spring's torque that is added for each rad/s of deepening"
    )

    def start(self, view: ModelView) -> None:
        """Refuse a margin that is no length, or so wide that no free range is left."""
        super().start(view)
        if not self.margin > 0.0:
            raise ValueError(f"limits: margin is {self.margin:g} rad; expected more than zero")
        for joint in self.joints:
            for lower, upper in view.limits[view.columns[joint]]:
                ends = 1 if view.types[joint] == "spherical" and lower <= 0.0 else 2
                if upper - lower < ends * self.margin:
                    raise ValueError(
                        f"limits: the range of {joint!r} is {upper - lower:.4g} rad, "
                        f"too narrow for a margin of {self.margin:.4g} rad at each end"
                    )

    def constants(self, view: ModelView) -> np.ndarray:
        """Return the rows of `limits_law`, flat."""
        rows = []
        for joint in self.joints:
            columns = view.columns[joint]
            spherical = view.types[joint] == "spherical"
            for column in range(columns.start, columns.start + 1 if spherical else columns.stop):
                lower, upper = view.limits[column]
                if spherical and lower <= 0.0:
                    lower = -math.inf  # an angle cannot fall below zero
                if math.isfinite(lower) or math.isfinite(upper):
                    rows.append((float(spherical), column, lower, upper, self.margin, self.stiffness, self.dissipation))
        return np.array(rows, dtype=float).ravel()
