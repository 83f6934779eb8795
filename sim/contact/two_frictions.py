"""Friction at rest and in motion: which of its two coefficients a point has.

A point that rests holds with the one at rest.  Where the law lets it slide with that, it has the one in motion instead:
then it gives less, and others may have to give way in turn.  One that slid and has stopped is at rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sim.contact.contact_problem import Mode
from sim.contact.impact import Collision, Impact

if TYPE_CHECKING:
    from sim.contact.analytic_centre import AnalyticCentre
    from sim.contact.solution import ContactSolution


def giving_way(
    rests: np.ndarray, answer: ContactSolution, centre: AnalyticCentre, leaving: np.ndarray
) -> np.ndarray:  # fmt: skip
    """Return the mask of points at rest that do not hold with their coefficients at rest.

    rests : (k,) mask of points that have them; leaving : (k,) mask of points whose cones were just left, which give way
    where no other forces of the same rates have room, and then all with them that have none
    """
    n, k = len(centre.P), len(rests)
    mode, P = answer.mode[:n], centre.P
    held = (mode == Mode.STICK) & (np.hypot(P[:, 1], P[:, 2]) > 0.0) & centre.bound
    leaves = held & leaving[:n]
    if leaves.any():
        leaves |= held & centre.chosen
    gives = np.zeros(k, bool)
    gives[:n] = rests[:n] & ((mode == Mode.SLIP) | leaves)
    return gives


def collide(
    collision: Collision, resting: np.ndarray, most: np.ndarray, solve: Callable[[Collision], Impact]
) -> tuple[Collision, Impact]:
    """Return a collision with the coefficients that its points come to have, and what it does.

    resting : (k,) mask of points that stuck until now; most : (k,) their coefficients at rest
    """
    moves, rests = collision, resting & (most > collision.mu)
    while True:
        collision = replace(moves, mu=np.where(rests, most, moves.mu)) if rests.any() else moves
        answer = solve(collision)
        gives = rests & (answer.last.mode == int(Mode.SLIP))
        if not gives.any():
            return collision, answer
        rests = rests & ~gives
