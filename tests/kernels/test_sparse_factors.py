"""Sparse factors against numpy's, of matrices that are sums of what presses fill."""

from __future__ import annotations

import numpy as np
import pytest

from sim.kernels.unilateral import sparse_factors
from tests.kernels.plain import plain

pytestmark = [pytest.mark.contact, pytest.mark.fast]


class Filled:
    """A matrix 1 + sum U^T C U of random presses, stale numbers wherever there is nothing."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.size, presses = int(rng.integers(2, 70)), int(rng.integers(1, 40))
        self.reaches = rng.integers(0, min(9, self.size) + 1, presses)
        self.at, self.whole = np.full((presses, 9), 10**6), np.eye(self.size)
        for k, reached in enumerate(self.reaches):
            self.at[k, :reached] = rng.choice(self.size, reached, replace=False)
            own, U = self.at[k, :reached], rng.normal(size=(reached, 3))
            C = rng.normal(size=(3, 3))
            self.whole[np.ix_(own, own)] += U @ (C @ C.T + 0.3 * rng.normal(size=(3, 3))) @ U.T
        self.chosen = rng.permutation(presses)
        columns = np.full((5, self.size), 7)
        self.pattern = sparse_factors.Pattern(
            np.full((self.size, 2 * sparse_factors.RUNS), 7), *columns, np.full(presses, 7)
        )
        self.cost = plain(sparse_factors.shape_pattern)(
            self.pattern, self.chosen, presses, self.reaches, self.at, self.size
        )

    def held(self, j: int) -> set[int]:
        runs = self.pattern.runs[j, : 2 * self.pattern.count[j]].reshape(-1, 2)
        return {p for first, end in runs for p in range(first, end)}


@pytest.mark.parametrize("seed", range(30))
def test_columns_hold_what_elimination_fills(seed: int) -> None:
    filled = Filled(seed)
    left = filled.whole != 0.0
    for j in range(filled.size):
        below = np.flatnonzero(left[j, j + 1 :]) + j + 1
        assert set(below.tolist()) <= filled.held(j)
        left[np.ix_(below, below)] = True
    assert filled.cost == sum(2.0 * len(filled.held(j)) ** 2 for j in range(filled.size))


@pytest.mark.parametrize("seed", range(30))
def test_factors_solve_as_numpy_does(seed: int) -> None:
    filled = Filled(seed)
    n, runs, count = filled.size, filled.pattern.runs, filled.pattern.count
    first = np.array([min(np.flatnonzero(row[: i + 1])) for i, row in enumerate(filled.whole)])
    matrix = np.where(filled.whole == 0.0, 99.0, filled.whole)
    for i in range(n):  # what `add_stiffness` clears
        matrix[i, first[i] :][filled.whole[i, first[i] :] == 0.0] = 0.0
    flat = matrix.ravel().copy()
    plain(sparse_factors.clear_pattern)(n, runs, count, flat)
    flat.reshape(n, n)[filled.whole != 0.0] = filled.whole[filled.whole != 0.0]
    assert plain(sparse_factors.factorise_sparse)(n, runs, count, flat)
    x = filled.rng.normal(size=n)
    found = x.copy()
    plain(sparse_factors.solve_sparse)(n, first, runs, count, flat, found)
    assert found == pytest.approx(np.linalg.solve(filled.whole, x), rel=1e-6, abs=1e-6 * np.abs(found).max())
