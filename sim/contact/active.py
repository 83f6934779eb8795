"""Impulses of points whose modes are taken for granted: one linear solve, rank-tolerant, of least change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim.contact.law import Regions
from sim.contact.problem import ContactProblem, Mode

# Singular values below this share of the largest count as none.
CUT = 1e-12


@dataclass(frozen=True)
class Active:
    """Modes of all points: closed or not, slipping or not, along d, which may turn against a resistance."""

    closed: np.ndarray
    slips: np.ndarray
    d: np.ndarray
    resistance: np.ndarray

    @classmethod
    def of(cls, found: Regions) -> Active:
        """Return the modes that a projection says."""
        return cls(found.closed, found.slips, found.d, found.resistance)

    @classmethod
    def first(cls, problem: ContactProblem) -> Active:
        """Return the modes accepted last, else the paper's full constraint: all points stick."""
        k = problem.points
        slips = problem.given | problem.smooth
        closed = problem.closed.copy()
        if problem.modes is not None:
            closed &= problem.modes != Mode.OPEN
        return cls(closed, slips, problem.sliding, np.full(k, np.inf))

    def key(self) -> bytes:
        """Return the modes without directions, to be compared."""
        return (self.closed.astype(np.int8) + 2 * self.slips.astype(np.int8)).tobytes()

    def only(self, taken: np.ndarray, old: Active) -> Active:
        """Return these modes for the points taken, the old ones for the others."""
        pick = np.where
        return Active(
            pick(taken, self.closed, old.closed), pick(taken, self.slips, old.slips),
            pick(taken[:, None], self.d, old.d), pick(taken, self.resistance, old.resistance),
        )  # fmt: skip


@dataclass(frozen=True)
class Rays:
    """The unknowns: impulses along columns of `along`, tested by columns of `across`, over what is fixed."""

    along: np.ndarray  # (k, 3, 3) columns
    across: np.ndarray  # (k, 3, 3)
    taken: np.ndarray  # (3k,) which of the columns are unknowns
    resistance: np.ndarray  # (3k,)
    fixed: np.ndarray  # (k, 3)


def rays(problem: ContactProblem, active: Active) -> Rays:
    """Return the unknowns of each point.

    STICK: all three.  SLIP: along (1, -mu d) with z_n = 0, and across d with its resistance.  Open with friction of
    given size: the tangential ones of the same.
    """
    k = problem.points
    along, across = np.zeros((k, 3, 3)), np.zeros((k, 3, 3))
    along[:] = across[:] = np.eye(3)
    taken, resistance, fixed = np.zeros((k, 3), bool), np.zeros((k, 3)), np.zeros((k, 3))
    slips, d = active.slips, active.d
    taken[:, 0] = active.closed
    rough = problem.closed & (problem.least > 0.0)
    taken[:, 1] = taken[:, 2] = (active.closed | rough) & ~slips
    # Slipping: the first column runs along the edge of the cone, the second across d.
    mu = np.where(slips, problem.mu, 0.0)
    length = np.sqrt(1.0 + mu**2)
    along[:, 0, 0] = 1.0 / length
    along[slips, 1:, 0] = -(mu / length)[slips, None] * d[slips]
    normal = np.column_stack([-d[:, 1], d[:, 0]])
    for columns in (along, across):
        columns[slips, 1:, 1] = normal[slips]
    turns = slips & (active.closed | rough) & np.isfinite(active.resistance)
    taken[turns, 1] = True
    resistance[turns, 1] = active.resistance[turns]
    taken &= ~problem.dead
    fixed[slips & problem.closed, 1:] = -(problem.least[:, None] * d)[slips & problem.closed]
    return Rays(along, across, taken.ravel(), resistance.ravel(), fixed)


def matrix(problem: ContactProblem, unknowns: Rays) -> np.ndarray:
    """Return the matrix of the unknowns, its rows and columns as they are taken."""
    k = problem.points
    whole = np.matmul(np.matmul(unknowns.across.transpose(0, 2, 1)[:, None], problem.blocks), unknowns.along[None])
    whole = whole.transpose(0, 2, 1, 3).reshape(3 * k, 3 * k)
    taken = unknowns.taken
    return whole[np.ix_(taken, taken)] + np.diag(unknowns.resistance[taken])


def solve(problem: ContactProblem, active: Active, near: np.ndarray) -> np.ndarray:
    """Return impulses (k, 3) with which points in these modes do what their modes say, the nearest to `near`."""
    unknowns = rays(problem, active)
    taken = unknowns.taken
    z = problem.rates(unknowns.fixed)
    x = np.zeros(3 * problem.points)
    if taken.any():
        wanted = -np.einsum("kij,ki->kj", unknowns.across, z).ravel()[taken]
        a = matrix(problem, unknowns)
        start = np.einsum("kij,ki->kj", unknowns.along, near - unknowns.fixed).ravel()[taken]
        # In units of each point's own mobility, or light bodies hide what heavy ones do.
        unit = 1.0 / np.sqrt(np.repeat(problem.trace, 3)[taken])
        step = np.linalg.lstsq(a * unit * unit[:, None], (wanted - a @ start) * unit, rcond=CUT)[0]
        x[taken] = start + step * unit
    P = unknowns.fixed + np.einsum("kij,kj->ki", unknowns.along, x.reshape(-1, 3))
    return on_the_edge(problem, active, P)


def on_the_edge(problem: ContactProblem, active: Active, P: np.ndarray) -> np.ndarray:
    """Return impulses whose slipping points have the size of friction that their P_n allows, as d has turned."""
    turned = active.slips & ~problem.given
    size = np.hypot(P[:, 1], P[:, 2])
    radius = problem.least + problem.mu * P[:, 0]
    turned &= (size > 0.0) & (radius > 0.0)
    P = P.copy()
    P[turned, 1:] *= (radius[turned] / size[turned])[:, None]
    return P
