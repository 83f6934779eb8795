"""Gaits of snakes: waves that run along a row of joints, and the torques of a paper."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from sim.plugin import Controller, ModelView, parameter


# The head of the constants: pulsation, amplitude, step, turn, kp, kd.
def serpenoid_law(
    t: float, coordinate: np.ndarray, rate: np.ndarray, constants: np.ndarray, torque: np.ndarray
) -> None:
    """Add tau = kp (phi_k - q) + kd (phi_k' - q') to the k-th column, phi_k = a sin(w t + k b) + c, k = 1, 2, ..."""
    w, a = constants[0], constants[1]
    for k in range(1, constants.size - 5):
        c = int(constants[5 + k])
        phase = w * t + k * constants[2]
        wanted, wanted_rate = a * math.sin(phase) + constants[3], a * w * math.cos(phase)
        torque[c] += constants[4] * (wanted - coordinate[c]) + constants[5] * (wanted_rate - rate[c])


@dataclasses.dataclass(kw_only=True)
class Serpenoid(Controller):
    """Let a wave run along a row of joints, as a snake crawls: phi_k = a sin(w t + k b) + c.

    Springs and dampers draw the joints to the wave and to its rate.  With a negative step b it runs from the first
    joint to the last, and a snake on wheels crawls with its first link ahead; c bends its way.
    """

    law: ClassVar[Callable[..., None] | None] = staticmethod(serpenoid_law)

    joints: tuple[str, ...] = parameter(kind="joints", about="The row of joints, in its order; names or patterns")
    amplitude: float = parameter(unit="rad", about="a: how far each joint bends to either side")
    frequency: float = parameter(0.5, unit="Hz", about="w / (2 pi): waves a second")
    step: float = parameter(unit="rad", about="b: phase from one joint to the next")
    turn: float = parameter(0.0, unit="rad", about="c: angle about which each joint bends")
    component: int = parameter(
        0, kind="integer", minimum=0, about="Which freedom of each joint bends, where it has several"
    )
    kp: float = parameter(unit="N m/rad", minimum=0.0, about="Stiffness that draws the joints to the wave")
    kd: float = parameter(0.0, unit="N m s/rad", minimum=0.0, about="Damping of the rate's difference to the wave's")

    def start(self, view: ModelView) -> None:
        """Check the joints' freedoms."""
        super().start(view)
        for joint in self.joints:
            columns = view.columns[joint]
            freedoms = columns.stop - columns.start
            if not self.component < freedoms:
                known = "0" if freedoms == 1 else f"0 to {freedoms - 1}"
                raise ValueError(f"serpenoid: component {self.component} of {joint!r}; expected {known}")

    def constants(self, view: ModelView) -> np.ndarray:
        """Return the head of `serpenoid_law` and the columns of the joints."""
        head = (2.0 * math.pi * self.frequency, self.amplitude, self.step, self.turn, self.kp, self.kd)
        return np.array([*head, *(view.columns[joint].start + self.component for joint in self.joints)], dtype=float)


def snake_paper_law(
    t: float, coordinate: np.ndarray, rate: np.ndarray, constants: np.ndarray, torque: np.ndarray
) -> None:
    """Add T_k = strength sin(w t) / (n - k) to the k-th of n - 1 columns."""
    n = constants.size - 1
    for k in range(1, n):
        torque[int(constants[1 + k])] += constants[0] * math.sin(constants[1] * t) / (n - k)


@dataclasses.dataclass(kw_only=True)
class SnakePaper(Controller):
    """Bend the joints of a snake of n links by T_k = sin(t) / (n - k), k from the head.

    Tavakoli Nia, Pishkenari and Meghdari, A recursive approach for the analysis of snake robots using Kane's equations
    (2005), Table II.
    """

    law: ClassVar[Callable[..., None] | None] = staticmethod(snake_paper_law)

    joints: tuple[str, ...] = parameter(kind="joints", about="The n - 1 joints, from the head; names or patterns")
    strength: float = parameter(1.0, unit="N m", about="Largest torque of the last joint")
    pulsation: float = parameter(1.0, unit="rad/s", about="w of the sine")

    def start(self, view: ModelView) -> None:
        """Refuse joints with several freedoms."""
        super().start(view)
        for joint in self.joints:
            columns = view.columns[joint]
            if columns.stop - columns.start != 1:
                raise ValueError(f"snake_paper: joint {joint!r} has more than one freedom; expected one")

    def constants(self, view: ModelView) -> np.ndarray:
        """Return strength, pulsation and the columns of the joints."""
        columns = [view.columns[joint].start for joint in self.joints]
        return np.array([self.strength, self.pulsation, *columns], dtype=float)
