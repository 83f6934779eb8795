"""The paper's model: links in a plane, a wheel that does not slip sideways in the middle of each (section II).

Coordinates q are the angles theta_1 .. theta_n of the links against the x-axis, then x, y of the first link's
middle (1).  C_i and S_i are cosine and sine of phi_i = theta_(i+1) - theta_i; e_i is the direction of link i.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from sim.formulations.counting import cos, sin

Vector = list[Any]  # of numbers of one type
Rows = list[list[Any]]


@dataclass(frozen=True)
class Snake:
    """Masses [kg], lengths [m] and moments of inertia about the middle [kg m^2] of the links.

    halves : h_i = L_i / 2, from the middle of a link to its joints
    """

    masses: Vector
    lengths: Vector
    inertias: Vector
    halves: Vector = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "halves", [L / 2 for L in self.lengths])

    @property
    def links(self) -> int:
        """Return n."""
        return len(self.masses)

    def of(self, number: Callable[[Any], Any]) -> Snake:
        """Return the snake in another type of number."""
        return Snake(*([number(x) for x in column] for column in (self.masses, self.lengths, self.inertias)))


def papers_snake(n: int) -> tuple[Snake, Vector]:
    """Return the links and the coordinates at rest of Table II."""
    angles = [math.pi * (-1) ** k / 6 for k in range(1, n + 1)]
    return Snake([1.0] * n, [0.2] * n, [0.005] * n), [*angles, 0.0, 0.0]


def papers_torques(n: int, t: Any) -> Vector:
    """Return the torques [N m] of Table II: T_k = sin(t) / (n - k) at joint k, on link k + 1 and back on link k."""
    return [sin(t) / (n - k) for k in range(1, n)]


def bends(theta: Sequence[Any]) -> tuple[Vector, Vector]:
    """Return C and S of the n - 1 joints."""
    phi = [ahead - behind for behind, ahead in pairwise(theta)]
    return [cos(angle) for angle in phi], [sin(angle) for angle in phi]


def directions(theta: Sequence[Any]) -> tuple[Vector, Vector]:
    """Return the components of e_i along x and y."""
    return [cos(angle) for angle in theta], [sin(angle) for angle in theta]
