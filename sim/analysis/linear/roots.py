"""Eigenvalues of a linear model, and how far roundoff moves each of them.

A real part of 1e-9 is one thing for a damped mode and another for two roots that meet, where roundoff of 1e-18 in A
makes as much.  Condition numbers say so to first order, and fail where roots repeat.  Here A is moved within its
roundoff, as often as it takes, and what the roots do is looked at.
"""

from __future__ import annotations

import numpy as np

# Error of A's entries over the sums of sizes that they come from.  Smaller: sums and solves of a larger mechanism lose
# more.  Larger: light damping is taken for none.
ROUNDOFF = 1e-13
TRIALS = 8  # moved copies of A
MARGIN = 4.0  # a root counts as off an axis beyond so many times the largest of the distances that it was moved by


def roots(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues (n,) [1/s], by real part, and their vectors (n, n) as columns."""
    values, vectors = np.linalg.eig(A)
    order = np.lexsort((-values.imag, np.round(values.real, 9)))
    return values[order].astype(complex), vectors[:, order].astype(complex)


def spread(A: np.ndarray, values: np.ndarray, size: np.ndarray, error: float = ROUNDOFF) -> np.ndarray:
    """Return (n,) how far from zero a part of each root of A must be to be told from zero [1/s].

    Parameters
    ----------
    A : (n, n); values : (n,) its roots
    size : (n, n) sizes of the terms that each entry of A was summed from
    error : of the entries, over `size`
    """
    rng, out = np.random.default_rng(3), np.zeros(len(A))
    for _ in range(TRIALS):
        moved = np.linalg.eigvals(A + error * size * rng.choice((-1.0, 1.0), A.shape))
        out = np.maximum(out, np.abs(values - moved[matched(values, moved)]))
    return MARGIN * out


def matched(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return for each of `values` the index of its own one of as many or more `others`, the sum of distances least."""
    from scipy.optimize import linear_sum_assignment

    pairs: np.ndarray = linear_sum_assignment(np.abs(values[:, None] - others[None, :]))[1]
    return pairs
