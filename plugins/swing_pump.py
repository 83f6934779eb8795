"""Pumping of a swing by moving joints in time with it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from sim.plugin import Controller, ModelView, parameter


# The head of the constants: swing's column or -1, pulsation, start, phase, centre, amplitude, kp, kd, smallest angle.
def pump_law(t: float, coordinate: np.ndarray, rate: np.ndarray, constants: np.ndarray, torque: np.ndarray) -> None:
    """Add tau = kp (centre + amplitude s - q) - kd qd to every column that follows the head.

    s = (rate / w) / sqrt(angle^2 + (rate / w)^2 + small^2) of the swing is the sine of its phase:
    +1 where it moves fastest in the positive direction, 0 where it turns.  Without a swing to
    follow s = sin(w t + phase).
    """
    column, w = int(constants[0]), constants[1]
    if column >= 0:
        angle, lead, small = coordinate[column], rate[column] / w, constants[8]
        s = lead / math.sqrt(angle * angle + lead * lead + small * small)
    else:
        s = math.sin(w * t + constants[3])
    s *= 0.5 - 0.5 * math.cos(min(max(w * (t - constants[2]), 0.0), math.pi))  # fades in over half a swing
    target = constants[4] + constants[5] * s
    for k in range(9, constants.size):
        c = int(constants[k])
        torque[c] += constants[6] * (target - coordinate[c]) - constants[7] * rate[c]


@dataclasses.dataclass(kw_only=True)
class SwingPump(Controller):
    """Move joints in time with a swing so that it gains height.

    The joints are drawn to centre + amplitude s by springs and dampers.  s is the sine of the
    swing's phase, so that they lead its angle by a quarter: their reaction then works on the swing
    in both directions of the motion (s'' is opposite to the swing's rate).  A joint that turns
    the same way as the swing when it grows takes a positive amplitude.
    """

    law: ClassVar[Callable[..., None] | None] = staticmethod(pump_law)

    joints: tuple[str, ...] = parameter(kind="joints", about="Joints to move, each with one freedom; names or patterns")
    amplitude: float = parameter(unit="rad", about="How far the joints move to either side of the centre")
    centre: float = parameter(0.0, unit="rad", about="Angle about which the joints move")
    swing: str = parameter("", kind="joint", about="Joint whose angle is followed; none: the given frequency")
    component: int = parameter(
        1, kind="integer", minimum=0, about="Which coordinate of the followed joint; spherical: 0, 1, 2 about x, y, z"
    )
    frequency: float = parameter(0.4, unit="Hz", about="Of the swing; with a swing to follow, a rough value is enough")
    phase: float = parameter(0.0, unit="rad", about="Phase at t = 0 where no swing is followed")
    start_at: float = parameter(0.0, unit="s", about="Time at which pumping begins to fade in")
    kp: float = parameter(40.0, unit="N m/rad", minimum=0.0, about="Stiffness that draws the joints to their target")
    kd: float = parameter(4.0, unit="N m s/rad", minimum=0.0, about="Damping of the joints")
    smallest: float = parameter(
        math.radians(2.0), unit="rad", about="Amplitude of the swing below which pumping fades out"
    )

    def start(self, view: ModelView) -> None:
        """Check the joints' freedoms and the frequency."""
        super().start(view)
        for joint in self.joints:
            columns = view.columns[joint]
            if columns.stop - columns.start != 1:
                raise ValueError(f"swing_pump: joint {joint!r} has more than one freedom; expected one")
        if not self.frequency > 0.0:
            raise ValueError(f"swing_pump: frequency is {self.frequency:g} Hz; expected more than zero")
        if self.swing:
            columns = view.columns[self.swing]
            freedoms = columns.stop - columns.start
            if freedoms > 1 and not self.component < freedoms:
                raise ValueError(
                    f"swing_pump: component {self.component} of {self.swing!r}; expected 0 to {freedoms - 1}"
                )

    def constants(self, view: ModelView) -> np.ndarray:
        """Return the head of `pump_law` and the columns of the joints."""
        column = -1
        if self.swing:
            columns = view.columns[self.swing]
            column = columns.start + (self.component if columns.stop - columns.start > 1 else 0)
        head = (
            column, 2.0 * math.pi * self.frequency, self.start_at, self.phase, self.centre, self.amplitude,
            self.kp, self.kd, self.smallest,
        )  # fmt: skip
        return np.array([*head, *(view.columns[joint].start for joint in self.joints)], dtype=float)
