"""Both feet on the ground: Lagrange's equations of the first kind, eqs. (5)-(25) of the paper.

The rear foot stands and is the ground of the walker; a point of the front foot does not move (DSP1, its heel), so that
phi(q) = 0 are two equations.  When the rear foot turns about its toe and the front foot stands (DSP2), the same walker
is told from the other side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.linalg

from sim.analysis.biped.euler_lagrange import Equations
from sim.analysis.biped.walker import Walker


@dataclass(frozen=True)
class Tip:
    """The point that stands: of which link, and where in its axes [m]."""

    link: int
    point: np.ndarray

    def jacobian(self, walker: Walker, q: np.ndarray) -> np.ndarray:
        """Return J (2, n), eq. (8)."""
        return walker.jacobian(q, self.link, self.point)

    def drift(self, walker: Walker, q: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Return J' q' (2,), eq. (9)."""
        return walker.drift(q, rates, self.link, self.point)


@dataclass(frozen=True)
class Reduced:
    """What is left of eq. (6) in independent rates, eqs. (13)-(19).

    F : (n, n - 2), q' = F q'_in (14);  drift : (n,) F' q'_in (16)
    J : (2, n);  pushes : (n, 2) F-breve of eq. (20), by which multipliers are found: pushes^T J^T = 1
    """

    F: np.ndarray
    drift: np.ndarray
    J: np.ndarray
    pushes: np.ndarray


def reduce(
    walker: Walker, tip: Tip, q: np.ndarray, rates: np.ndarray, method: Literal["partition", "qr"] = "partition",
    independent: tuple[int, ...] | None = None,
) -> Reduced:  # fmt: skip
    """Eliminate what the standing tip takes.

    method : `partition` of the coordinates (10)-(14), the dependent ones chosen by size, or `qr` of J^T, whose rates
        are none of the angles' own (remark 5)
    independent : n - 2 coordinates, where they are to be these

    Raises
    ------
    ValueError
        Where J is singular: a leg is straight, and the tip cannot be held through it alone.
    """
    J, bent = tip.jacobian(walker, q), tip.drift(walker, q, rates)
    n, bound = J.shape[1], J.shape[0]
    if np.linalg.matrix_rank(J) < bound:
        raise ValueError("the tip cannot move both ways here: its constraints are no independent ones")
    if method == "qr":
        Q = np.linalg.qr(J.T, mode="complete")[0]
        F = Q[:, bound:]
        back = np.linalg.pinv(J)
        return Reduced(F, -back @ bent, J, back)
    if independent is None:
        order = scipy.linalg.qr(J, pivoting=True, mode="r")[1]
        dependent = np.sort(order[:bound])
    else:
        dependent = np.setdiff1d(np.arange(n), independent)
    free = np.setdiff1d(np.arange(n), dependent)
    F, drift, pushes = np.zeros((n, n - bound)), np.zeros(n), np.zeros((n, bound))
    F[free] = np.eye(n - bound)
    F[dependent] = -np.linalg.solve(J[:, dependent], J[:, free])
    drift[dependent] = -np.linalg.solve(J[:, dependent], bent)
    pushes[dependent] = np.linalg.inv(J[:, dependent])
    return Reduced(F, drift, J, pushes)


def reduced_matrices(
    equations: Equations, reduced: Reduced, F_rate: np.ndarray, q: np.ndarray, rates: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return D = F^T M F and H = F^T (M F' + C F) of property 4: D' - 2 H is skew."""
    M, C, F = equations.mass_matrix(q), equations.coriolis(q, rates), reduced.F
    return F.T @ M @ F, F.T @ (M @ F_rate + C @ F)


def multipliers(
    equations: Equations, reduced: Reduced, q: np.ndarray, rates: np.ndarray, changes: np.ndarray, torques: np.ndarray
) -> np.ndarray:
    """Return lambda (2,) [N], the force of the ground on the tip, eq. (20); q'' keeps the tip where it is."""
    left = equations.left(q, rates, changes) - equations.walker.actuation @ torques
    return np.asarray(reduced.pushes.T @ left)


def accelerations(
    equations: Equations, reduced: Reduced, q: np.ndarray, rates: np.ndarray, torques: np.ndarray
) -> np.ndarray:
    """Return q'' (n,) under torques of the hinges, by eq. (21)."""
    F, walker = reduced.F, equations.walker
    still = equations.left(q, rates, reduced.drift)
    pushed = F.T @ (walker.actuation @ torques - still)
    return np.asarray(F @ np.linalg.solve(F.T @ equations.mass_matrix(q) @ F, pushed) + reduced.drift)


def least_norm(
    equations: Equations, J: np.ndarray, q: np.ndarray, rates: np.ndarray, changes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return tau (n,) and lambda (2,) by the pseudo-inverse of eq. (27): the smallest that do."""
    both = np.hstack([equations.walker.actuation, J.T])
    found = np.linalg.pinv(both) @ equations.left(q, rates, changes)
    n = equations.walker.links
    return found[:n], found[n:]
