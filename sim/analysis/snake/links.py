"""The paper's model: links in a plane, a wheel that does not slip sideways in the middle of each (section II).

Coordinates q are the angles theta_1 .. theta_n of the links against the x-axis, then x, y of the first link's
middle (1).  C_i and S_i are cosine and sine of phi_i = theta_(i+1) - theta_i; e_i is the direction of link i.
"""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any

from sim.analysis.snake.counting import cos, sin

Vector = Any  # of numbers of one type: a list, or an array
Rows = Any  # list of lists, or an array: entries are x[i][j] in both


class Snake(namedtuple("Snake", "masses lengths inertias halves")):
    """Masses [kg], lengths [m] and moments of inertia about the middle [kg m^2] of the links.

    halves : h_i = L_i / 2, from the middle of a link to its joints
    """

    __slots__ = ()

    def __new__(cls, masses: Vector, lengths: Vector, inertias: Vector) -> Snake:
        """Return the snake of these links."""
        return super().__new__(cls, masses, lengths, inertias, half_lengths(lengths))

    @property
    def links(self) -> int:
        """Return n."""
        return len(self.masses)

    def of(self, number: Callable[[Any], Any]) -> Snake:
        """Return the snake in another type of number."""
        return Snake(*([number(x) for x in column] for column in self[:3]))


def half_lengths(lengths: Vector) -> Vector:
    """Return h_i = L_i / 2."""
    return [L / 2 for L in lengths]


def papers_snake(n: int) -> tuple[Snake, Vector]:
    """Return the links and the coordinates at rest of Table II."""
    angles = [math.pi * (-1) ** k / 6 for k in range(1, n + 1)]
    return Snake([1.0] * n, [0.2] * n, [0.005] * n), [*angles, 0.0, 0.0]


def papers_torques(n: int, t: Any) -> Vector:
    """Return the torques [N m] of Table II: T_k = sin(t) / (n - k) at joint k, on link k + 1 and back on link k."""
    return [sin(t) / (n - k) for k in range(1, n)]


def lists(*shape: int) -> Any:
    """Return room for numbers of any type: a list, or lists of them."""
    return [lists(*shape[1:]) for _ in range(shape[0])] if shape else 0


def bends(theta: Sequence[Any], C: Vector, S: Vector) -> None:
    """Find C and S of the n - 1 joints."""
    for i in range(len(C)):
        phi = theta[i + 1] - theta[i]
        C[i] = cos(phi)
        S[i] = sin(phi)


def directions(theta: Sequence[Any], c: Vector, s: Vector) -> None:
    """Find the components of e_i along x and y."""
    for i in range(len(c)):
        c[i] = cos(theta[i])
        s[i] = sin(theta[i])
