"""Pivoted Cholesky of G and the solves with it, against numpy's SVD, on rows of which many are redundant."""

from __future__ import annotations

import numpy as np
import pytest

from sim.kernels.rows import constraints
from sim.kernels.scratch import ONE_WORK, ROW_WORK
from sim.kernels.tables import ROW, table
from tests.kernels.plain import plain

pytestmark = pytest.mark.fast


def random_rows(seed: int) -> tuple[np.ndarray, int]:
    """Return J (rows, n) with its rank: fewer independent rows than rows, of sizes over four decades."""
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 9))
    independent = rng.normal(size=(rank, 12)) * 10.0 ** rng.uniform(-2, 2, (rank, 1))
    copies = rng.normal(size=(int(rng.integers(0, 6)), rank)) @ independent
    J = np.vstack([independent, copies])
    return rng.permutation(J), rank


class Solver:
    """G of some rows, factored by the kernels."""

    def __init__(self, J: np.ndarray, compliance: np.ndarray | None = None):
        m = len(J)
        self.rows, self.work, self.one = table(ROW, m), table(ROW_WORK, m), table(ONE_WORK, 1)
        if compliance is not None:
            self.rows.compliance[:] = compliance
        self.G = J @ J.T + np.diag(self.rows.compliance)
        self.factor = self.G.copy()
        self.rank = int(plain(constraints.cholesky)(self.rows, self.factor, self.work, self.one, 0.0, -1))

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        self.work.rhs[:] = rhs
        plain(constraints.solve_rows)(self.rank, self.factor, self.work)
        return np.array(self.work.force)


@pytest.mark.parametrize("seed", range(30))
def test_rank_is_that_of_the_singular_values(seed: int) -> None:
    J, rank = random_rows(seed)
    size = np.linalg.svd(J, compute_uv=False)
    assert int((size > 1e-9 * size[0]).sum()) == rank
    solver = Solver(J)
    assert solver.rank == rank
    assert sorted(solver.work.order) == list(range(len(J)))
    kept = solver.work.order[:rank]
    assert np.linalg.matrix_rank(J[kept], tol=1e-9 * size[0]) == rank


@pytest.mark.parametrize("seed", range(30))
def test_multipliers_push_as_those_of_least_norm_do(seed: int) -> None:
    """J^T f is unique, however f is shared among redundant rows; cut rows push nothing."""
    J, rank = random_rows(seed)
    x = np.random.default_rng(seed).normal(size=J.shape[1])
    solver = Solver(J)
    f = solver.solve(J @ x)
    np.testing.assert_allclose(J.T @ f, np.linalg.pinv(J, rcond=1e-9) @ (J @ x), rtol=0, atol=1e-8)
    assert np.all(f[solver.work.order[rank:]] == 0.0)


@pytest.mark.parametrize("seed", range(10))
def test_the_kept_rows_can_be_factored_again_without_choosing(seed: int) -> None:
    J, rank = random_rows(seed)
    solver = Solver(J)
    again = solver.G.copy()
    assert plain(constraints.cholesky)(solver.rows, again, solver.work, solver.one, 0.0, rank) == rank
    kept = solver.work.order[:rank]
    a, b = (np.tril(F[np.ix_(kept, kept)]) for F in (again, solver.factor))
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-13 * np.abs(b).max())


def test_soft_rows_are_never_redundant() -> None:
    J = np.tile(np.random.default_rng(0).normal(size=(1, 4)), (3, 1))
    solver = Solver(J, np.array([0.0, 1.0, 1.0]))
    assert solver.rank == 3
    rhs = np.array([1.0, 2.0, -1.0])
    np.testing.assert_allclose(solver.G @ solver.solve(rhs), rhs, atol=1e-12)
    assert solver.one.largest_pivot[0] == pytest.approx(J[0] @ J[0])


@pytest.mark.parametrize("size", [1e-4, 1e-5])
def test_a_direction_that_is_nearly_lost_still_acts(size: float) -> None:
    """Singular values down to 1e-6 of the largest are directions: a cut here would let a linkage branch."""
    J = np.array([[1.0, 0.0, 0.0], [1.0, size, 0.0], [0.0, 0.0, 1.0]])
    solver = Solver(J)
    assert solver.rank == 3
    assert np.sqrt(solver.one.least_pivot[0] / solver.one.largest_pivot[0]) == pytest.approx(size, rel=0.01)


def test_no_row_no_rank() -> None:
    solver = Solver(np.zeros((3, 4)))
    assert solver.rank == 0
    assert np.all(solver.solve(np.zeros(3)) == 0.0)


def test_rows_that_the_tree_alone_holds_have_no_rank() -> None:
    """What is left of them is roundoff, however large it is among its like."""
    J = 1e-17 * np.random.default_rng(0).normal(size=(3, 5))
    solver = Solver(J)
    assert plain(constraints.cholesky)(solver.rows, J @ J.T, solver.work, solver.one, 1.0, -1) == 0
