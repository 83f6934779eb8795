"""The way from soft contacts to rigid ones: a path that can be followed where no iteration finds the answer.

Give every point a mobility of its own beside G, soft times the trace of its block.  Soft enough, points answer each
other little and have one answer.  The answers (P, log soft) form a path whose other end is at soft = 0.  It may turn
back for a while, so it is followed by its length: a step along the tangent, then Newton's method across it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sim.contact.active import Active, matrix, on_the_edge, rays
from sim.contact.law import regions
from sim.contact.problem import ContactProblem

# First, longest and shortest step; lengths are relative to the size of P and to a factor e of softness.
FIRST, LONGEST, SHORTEST = 0.3, 3.0, 1e-5
# Iterations to come back to the path, residual that counts as on it, and linear solves in all.
CORRECTIONS, ON_PATH, SOLVES = 6, 1e-9, 1200
# log of a softness that is none.
HARD = -22.0


def softened(problem: ContactProblem, log_soft: float) -> ContactProblem:
    """Return the problem with mobilities added."""
    own = np.diag(np.exp(log_soft) * np.repeat(problem.trace, 3))
    return replace(problem, G=problem.G + own, scale=problem.rate)


class Path:
    """Answers of softened problems, one after the other."""

    def __init__(self, problem: ContactProblem):
        self.problem, self.unit = problem, problem.rate / problem.trace[:, None]
        self.iterations = 0

    def system(self, P: np.ndarray, log_soft: float):  # noqa: ANN201
        """Return the linearised law at a point: problem, modes, unknowns, matrix, its column of log soft."""
        problem = softened(self.problem, log_soft)
        active = Active.of(regions(problem, P, problem.rates(P)))
        unknowns = rays(problem, active)
        rate = np.exp(log_soft) * self.problem.trace[:, None] * P
        column = np.einsum("kij,ki->kj", unknowns.across, rate).ravel()[unknowns.taken]
        return problem, active, unknowns, matrix(problem, unknowns), column

    def tangent(self, P: np.ndarray, log_soft: float, before: np.ndarray) -> np.ndarray:
        """Return the direction (3k + 1,) of the path in relative lengths, on from the last."""
        problem, _, unknowns, a, column = self.system(P, log_soft)
        unit = self.length_unit(P)
        rows = problem.rate * np.ones(len(column))
        taken = np.repeat(unit.ravel(), 3)[unknowns.taken] if unknowns.taken.any() else np.zeros(0)
        whole = np.column_stack([a * taken, column]) / rows[:, None]
        _, _, across = np.linalg.svd(whole)
        x = np.zeros(3 * problem.points)
        x[unknowns.taken] = across[-1, :-1]
        out = np.append(np.einsum("kij,kj->ki", unknowns.along, x.reshape(-1, 3)).ravel(), across[-1, -1])
        return out if out @ before >= 0.0 else -out

    def length_unit(self, P: np.ndarray) -> np.ndarray:
        """(k, 1) what counts as a length of one for each point's impulse."""
        return self.unit * max(1.0, float(np.abs(P / self.unit).max()))

    def ahead(self, P: np.ndarray, log_soft: float, tangent: np.ndarray, length: float, old=None):  # noqa: ANN001, ANN201
        """Return (P, log soft, length) of the path ahead along a tangent, or None; not back along the old one."""
        unit = self.length_unit(P)
        while length > SHORTEST:
            guess = P + length * tangent[:-1].reshape(-1, 3) * unit
            at = self.corrected(guess, log_soft + length * tangent[-1], tangent)
            if at is not None:
                gone = np.append(((at[0] - P) / unit).ravel(), at[1] - log_soft)
                if old is None or gone @ old > -0.9 * np.linalg.norm(gone):
                    return *at, length
            length *= 0.4
        return None

    def corrected(self, P: np.ndarray, log_soft: float, tangent: np.ndarray):  # noqa: ANN201
        """Return (P, log soft) of the path across the tangent from here, or None."""
        unit = self.length_unit(P)
        for _ in range(CORRECTIONS):
            self.iterations += 1
            problem, active, unknowns, a, column = self.system(P, log_soft)
            found = regions(problem, P, problem.rates(P))
            if found.merit <= ON_PATH:
                return P, log_soft
            taken = unknowns.taken
            wanted = -np.einsum("kij,ki->kj", unknowns.across, problem.rates(unknowns.fixed)).ravel()[taken]
            start = np.einsum("kij,ki->kj", unknowns.along, P - unknowns.fixed).ravel()[taken]
            snapped = unknowns.fixed + np.einsum("kij,kj->ki", unknowns.along, _spread(start, taken))
            flat = tangent[:-1].reshape(-1, 3) / unit
            row = np.einsum("kij,ki->kj", unknowns.along, flat).ravel()[taken]
            scale = np.sqrt(np.repeat(problem.trace, 3)[taken])
            whole = np.block([[a / scale[:, None], column[:, None] / scale[:, None]], [row, tangent[-1]]])
            whole[:, :-1] /= scale
            right = np.append((wanted - a @ start) / scale, float((flat * (P - snapped)).sum()))
            step = np.linalg.lstsq(whole, right, rcond=1e-13)[0]
            x = start + step[:-1] / scale
            P = on_the_edge(problem, active, unknowns.fixed + np.einsum("kij,kj->ki", unknowns.along, _spread(x, taken)))
            log_soft += float(np.clip(step[-1], -LONGEST, LONGEST))
            if not np.isfinite(P).all() or np.abs(P / self.unit).max() > 1e10 or log_soft > 3.0:
                return None
        problem = softened(self.problem, log_soft)
        return (P, log_soft) if regions(problem, P, problem.rates(P)).merit <= ON_PATH else None


def _spread(x: np.ndarray, taken: np.ndarray) -> np.ndarray:
    whole = np.zeros(taken.size)
    whole[taken] = x
    return whole.reshape(-1, 3)


def follow(problem: ContactProblem, P: np.ndarray) -> tuple[np.ndarray, int]:
    """Return impulses (k, 3) near an answer of rigid contacts, and the linear solves made.

    P: (k, 3) the answer at soft = 1.
    """
    path = Path(problem)
    log_soft, length = 0.0, FIRST
    before = np.append(np.zeros(3 * problem.points), -1.0)
    while path.iterations < SOLVES:
        unit = path.length_unit(P)
        tangent = path.tangent(P, log_soft, before)
        at = path.ahead(P, log_soft, tangent, length)
        if at is None:  # a kink: the next piece may lead on to either side
            beyond = P + SHORTEST * tangent[:-1].reshape(-1, 3) * unit, log_soft + SHORTEST * tangent[-1]
            other = path.tangent(*beyond, tangent)
            for way in (other, -other):
                at = path.ahead(P, log_soft, way, FIRST, tangent)
                if at is not None:
                    length = FIRST
                    break
        else:
            length = at[2]
        if at is None:
            break
        before = np.append(((at[0] - P) / unit).ravel(), at[1] - log_soft)
        P, log_soft, length = at[0], at[1], min(1.6 * length, LONGEST)
        if log_soft < HARD:
            break
    return P, path.iterations
