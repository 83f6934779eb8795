"""Block Gauss-Seidel over the points of one problem: slow, but it goes on where modes run in circles."""

from __future__ import annotations

import numpy as np

from sim.contact.contact_problem import ContactProblem


def sweep(problem: ContactProblem, P: np.ndarray, sweeps: int, enough: float) -> tuple[np.ndarray, int, float, bool]:
    """Return impulses (k, 3), sweeps made, the residual, and whether a point dug in, from a first guess P (k, 3).

    enough: residual [share of rate] at which it stops.
    """
    from sim.kernels.unilateral.cones import Answers, Laws, sweep_cones

    inside = np.flatnonzero(problem.closed)
    k = len(inside)
    if not k:
        return np.zeros_like(P), 0, 0.0, False
    blocks = problem.blocks[np.ix_(inside, inside)].reshape(-1, 3, 3)
    first = np.arange(k + 1, dtype=np.int64) * k
    partner = np.tile(np.arange(k, dtype=np.int64), k)
    own = np.arange(k, dtype=np.int64) * (k + 1)
    P_out = np.ascontiguousarray(P[inside])
    outside = np.zeros_like(P)
    outside[inside] = P_out
    z_out = np.ascontiguousarray(problem.rates(outside)[inside])
    reply = np.zeros(2)
    answers = Answers(first, partner, own, blocks)
    given = problem.given[inside].astype(np.int64)
    laws = Laws(problem.mu[inside], problem.least[inside], given, problem.sliding[inside])
    made = sweep_cones(answers, laws, P_out, z_out, reply, sweeps, enough, problem.rate)
    outside[inside] = P_out
    return outside, int(made), float(reply[0]), bool(reply[1])
