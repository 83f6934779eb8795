"""What the solver of contacts answers, with its trust."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np

from sim.contact.contact_problem import SMALLEST, ContactProblem, Mode
from sim.contact.law import de_saxce, regions


class ContactStatus(IntEnum):
    """How a contact problem ended."""

    SOLVED = 0
    RESIDUAL = 1  # the best that was found; its residual says how good it is
    PAINLEVE = 2  # accelerations: points slide, and no forces were found that keep them from sinking in


@dataclass(frozen=True, kw_only=True)
class Residuals:
    """How well the law is kept.

    Rates in shares of `ContactProblem.rate`, impulses in shares of rate / trace(G_kk).

    Attributes
    ----------
    impulse, rate : smallest P_n and smallest z_n + shift, 0 if none is negative
    complementarity : largest |P_n (z_n + shift)|
    cone : largest |P_t| - least - mu P_n, 0 if none is positive
    slip : largest |P_t + (least + mu P_n) d| of slipping points, d that of `ContactSolution`
    stick : largest |z_t| of sticking points
    merit : distance from the law by projection; de_saxce : the same in de Saxce's form
    """

    impulse: float
    rate: float
    complementarity: float
    cone: float
    slip: float
    stick: float
    merit: float
    de_saxce: float


@dataclass(frozen=True, kw_only=True)
class ContactSolution:
    """Impulses or forces of k points.

    Attributes
    ----------
    P : (k, 3) impulses [N s] or forces [N]
    z : (k, 3) velocities or accelerations with them, without shift
    mode : (k,) `Mode`
    d : (k, 2) direction of slip, that of z_t - trace(G_kk) P_t, or the given one; zero where there is none
    problem : that this is an answer of
    iterations, sweeps : linear solves and Gauss-Seidel sweeps made
    cycling : modes came back without an answer
    chosen : (k,) the force is not unique: of all that do the same it has the least norm
    indeterminate : (k,) and the point slides
    motion_unique : no other sharing of these forces moves differently (True says nothing about other modes)
    painleve : (k,) sliding points that no force keeps from sinking in
    given : (k,) the direction of slip was
    unit : (k,) what counts as an impulse of one: the problem's rate over the point's mobility
    rate : what residuals of z are measured by
    """

    status: ContactStatus
    P: np.ndarray
    z: np.ndarray
    mode: np.ndarray
    d: np.ndarray
    iterations: int
    sweeps: int
    cycling: bool
    problem: ContactProblem
    chosen: np.ndarray
    indeterminate: np.ndarray
    motion_unique: bool
    painleve: np.ndarray
    unit: np.ndarray
    rate: float
    given: np.ndarray

    @cached_property
    def residuals(self) -> Residuals:
        """How well the law is kept."""
        z, problem = self.z.copy(), self.problem
        z[:, 0] += problem.shift
        merit = regions(problem, self.P, z).merit
        return residuals(problem, self.P, z, self.mode, self.d, merit, de_saxce(problem, self.P, z))


# Rates below this share of the problem's count as zero when modes are named.
STILL = 1e-9


def name_modes(problem: ContactProblem, P: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mode (k,) and slip direction (k, 2) of each point from its impulses and rates (k, 3), shift added.

    Friction opposes slip, so both say the direction, and together they say it well however slow the slip.
    """
    speed = np.hypot(z[:, 1], z[:, 2])
    still = STILL * problem.rate
    opened = ~problem.closed | (z[:, 0] > still)
    slips = ~opened & (problem.given | problem.smooth | (speed > still))
    mode = np.where(opened, Mode.OPEN, np.where(slips, Mode.SLIP, Mode.STICK)).astype(np.int8)
    moving = slips & (speed > still)
    way = z[:, 1:] - P[:, 1:] * problem.trace[:, None]
    d = np.where(moving[:, None], way / np.maximum(np.hypot(way[:, 0], way[:, 1]), SMALLEST)[:, None], 0.0)
    d = np.where(problem.given[:, None], problem.sliding, d)
    return mode, np.where(opened[:, None], 0.0, d)


def residuals(
    problem: ContactProblem, P: np.ndarray, z: np.ndarray, mode: np.ndarray, d: np.ndarray, merit: float, second: float
) -> Residuals:
    """Return the residuals of impulses (k, 3) with rates z (k, 3), shift added."""
    inside = problem.closed
    p = P * problem.trace[:, None] / problem.rate
    y = z / problem.rate
    size = np.hypot(p[:, 1], p[:, 2])
    radius = problem.least * problem.trace / problem.rate + problem.mu * p[:, 0]
    slips = (mode == Mode.SLIP) & (np.abs(d).max(axis=1, initial=0.0) > 0.0)
    off = p[:, 1:] + radius[:, None] * d
    return Residuals(
        impulse=float(p[:, 0].min(initial=0.0)),
        rate=float(y[inside, 0].min(initial=0.0)),
        complementarity=float(np.abs(p[:, 0] * y[:, 0]).max(initial=0.0)),
        cone=float((size - radius).max(initial=0.0)),
        slip=float(np.hypot(off[slips, 0], off[slips, 1]).max(initial=0.0)),
        stick=float(np.hypot(y[:, 1], y[:, 2])[mode == Mode.STICK].max(initial=0.0)),
        merit=merit, de_saxce=second,
    )  # fmt: skip
