"""The way from soft contacts to rigid ones: a path that can be followed where no iteration finds the answer.

Give every point a mobility of its own beside G, soft times the trace of its block.  Soft enough, points answer each
other little and have one answer.  The answers (P, log soft) form a path whose other end is at soft = 0.  It may turn
back for a while, so it is followed by its length: a step along the tangent, then Newton's method across it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sim.contact.active import Active, Rays, matrix, on_the_edge, rays
from sim.contact.contact_problem import ContactProblem
from sim.contact.law import regions

# First, longest and shortest step; lengths are relative to the size of P and to a factor e of softness.
FIRST, LONGEST, SHORTEST = 0.3, 3.0, 1e-5
# Iterations to come back to the path, residual that counts as on it, and linear solves in all.
CORRECTIONS, ON_PATH, SOLVES = 6, 1e-9, 800
# log of a softness that is none, and of one that a step may reach; impulses that are no answer.
HARD, SOFTEST, FAR = -22.0, 3.0, 1e10


def softened(problem: ContactProblem, share: np.ndarray, log_soft: float) -> ContactProblem:
    """Return the problem with mobilities added, a share (k,) of their own trace to each point."""
    own = np.diag(np.exp(log_soft) * np.repeat(share * problem.trace, 3))
    return replace(problem, G=problem.G + own, scale=problem.rate)


def softnesses(points: int) -> tuple[np.ndarray, ...]:
    """Return shares (k,) to try: equal ones, and some without a pattern, whose path has other kinks."""
    return np.ones(points), 0.2 + np.arange(1, points + 1) * 0.618034 % 1.0


@dataclass(frozen=True)
class Piece:
    """The law at impulses near the path, linearised: a x + column log_soft = wanted in the unknowns x of its modes."""

    problem: ContactProblem
    active: Active
    unknowns: Rays
    a: np.ndarray
    column: np.ndarray
    merit: float

    @classmethod
    def at(cls, rigid: ContactProblem, share: np.ndarray, P: np.ndarray, log_soft: float) -> Piece:
        """Linearise at impulses (k, 3) and a softness."""
        problem = softened(rigid, share, log_soft)
        found = regions(problem, P, problem.rates(P))
        active = Active.of(found)
        unknowns = rays(problem, active)
        rate = np.exp(log_soft) * (share * rigid.trace)[:, None] * P
        column = np.einsum("kij,ki->kj", unknowns.across, rate).ravel()[unknowns.taken]
        return cls(problem, active, unknowns, matrix(problem, unknowns), column, found.merit)

    def impulses(self, x: np.ndarray) -> np.ndarray:
        """(k, 3) what unknowns x (n,) stand for, without what is fixed."""
        whole = np.zeros(self.unknowns.taken.size)
        whole[self.unknowns.taken] = x
        return np.einsum("kij,kj->ki", self.unknowns.along, whole.reshape(-1, 3))

    def along(self, P: np.ndarray) -> np.ndarray:
        """(n,) components of impulses (k, 3) along the unknowns."""
        return np.einsum("kij,ki->kj", self.unknowns.along, P).ravel()[self.unknowns.taken]

    def corrected(self, P: np.ndarray, tangent: np.ndarray, across: np.ndarray) -> tuple[np.ndarray, float]:
        """Return impulses and the change of log soft of one Newton step across the tangent.

        across: (k, 3) the tangent's impulses in inverse lengths.
        """
        problem, unknowns, a = self.problem, self.unknowns, self.a
        wanted = -np.einsum("kij,ki->kj", unknowns.across, problem.rates(unknowns.fixed)).ravel()[unknowns.taken]
        start = self.along(P - unknowns.fixed)
        left = float((across * (P - unknowns.fixed - self.impulses(start))).sum())
        scale = np.sqrt(np.repeat(problem.trace, 3)[unknowns.taken])
        whole = np.block([[a / scale[:, None], (self.column / scale)[:, None]], [self.along(across), tangent[-1]]])
        whole[:, :-1] /= scale
        step = np.linalg.lstsq(whole, np.append((wanted - a @ start) / scale, left), rcond=1e-13)[0]
        new = unknowns.fixed + self.impulses(start + step[:-1] / scale)
        return on_the_edge(problem, self.active, new), float(np.clip(step[-1], -LONGEST, LONGEST))


class Path:
    """Answers of softened problems, one after the other."""

    def __init__(self, problem: ContactProblem, share: np.ndarray):
        self.problem, self.share, self.unit = problem, share, problem.rate / problem.trace[:, None]
        self.solves = 0

    def length_unit(self, P: np.ndarray) -> np.ndarray:
        """(k, 1) what counts as a length of one for each point's impulse."""
        return self.unit * max(1.0, float(np.abs(P / self.unit).max()))

    def tangent(self, P: np.ndarray, log_soft: float, before: np.ndarray) -> np.ndarray:
        """Return the direction (3k + 1,) of the path in relative lengths, on from the last."""
        piece = Piece.at(self.problem, self.share, P, log_soft)
        lengths = np.repeat(self.length_unit(P).ravel(), 3)[piece.unknowns.taken]
        _, _, across = np.linalg.svd(np.column_stack([piece.a * lengths, piece.column]) / self.problem.rate)
        out = np.append(piece.impulses(across[-1, :-1]).ravel(), across[-1, -1])
        return out if out @ before >= 0.0 else -out

    def ahead(
        self, P: np.ndarray, log_soft: float, tangent: np.ndarray, length: float, old: np.ndarray | None = None
    ) -> tuple[np.ndarray, float, float] | None:
        """Return (P, log soft, length) of the path ahead along a tangent, or None; not back along the old one."""
        unit = self.length_unit(P)
        while length > SHORTEST:
            guess = P + length * tangent[:-1].reshape(-1, 3) * unit
            at = self.back(guess, log_soft + length * tangent[-1], tangent)
            if at is not None:
                gone = np.append(((at[0] - P) / unit).ravel(), at[1] - log_soft)
                if old is None or gone @ old > -0.9 * np.linalg.norm(gone):
                    return *at, length
            length *= 0.4
        return None

    def back(self, P: np.ndarray, log_soft: float, tangent: np.ndarray) -> tuple[np.ndarray, float] | None:
        """Return (P, log soft) of the path across the tangent from here, or None."""
        across = tangent[:-1].reshape(-1, 3) / self.length_unit(P)
        for _ in range(CORRECTIONS):
            self.solves += 1
            piece = Piece.at(self.problem, self.share, P, log_soft)
            if piece.merit <= ON_PATH:
                return P, log_soft
            P, more = piece.corrected(P, tangent, across)
            log_soft += more
            if not np.abs(P / self.unit).max() < FAR or log_soft > SOFTEST:
                return None
        return (P, log_soft) if Piece.at(self.problem, self.share, P, log_soft).merit <= ON_PATH else None

    def around(self, P: np.ndarray, log_soft: float, tangent: np.ndarray) -> tuple[np.ndarray, float, float] | None:
        """Return (P, log soft, length) beyond a kink: the next piece may lead on to either side."""
        beyond = P + SHORTEST * tangent[:-1].reshape(-1, 3) * self.length_unit(P)
        other = self.tangent(beyond, log_soft + SHORTEST * tangent[-1], tangent)
        on = self.ahead(P, log_soft, other, FIRST, tangent)
        return on if on is not None else self.ahead(P, log_soft, -other, FIRST, tangent)


def follow(problem: ContactProblem, share: np.ndarray, P: np.ndarray) -> tuple[np.ndarray, int]:
    """Return impulses (k, 3) near an answer of rigid contacts, and the linear solves made.

    share: (k,) how soft each point begins, beside others; P: (k, 3) the answer at soft = 1.
    """
    path = Path(problem, share)
    log_soft, length = 0.0, FIRST
    before = np.append(np.zeros(3 * problem.points), -1.0)
    while log_soft > HARD and path.solves < SOLVES:
        tangent = path.tangent(P, log_soft, before)
        at = path.ahead(P, log_soft, tangent, length) or path.around(P, log_soft, tangent)
        if at is None:
            break
        before = np.append(((at[0] - P) / path.length_unit(P)).ravel(), at[1] - log_soft)
        P, log_soft, length = at[0], at[1], min(1.6 * at[2], LONGEST)
    return P, path.solves
