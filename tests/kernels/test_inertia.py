"""The inertia matrix by branch, its factor and the two solves, against dense numpy."""

from __future__ import annotations

import numpy as np
import pytest

from sim.kernels import inertia
from sim.mechanism import Mechanism
from tests.dense import inertia_and_bias
from tests.dynamics.engine import simulator_for
from tests.kernels.plain import plain
from tests.mechanisms import random_tree, with_coordinates

pytestmark = pytest.mark.fast


def random_mechanism(seed: int) -> tuple[Mechanism, np.ndarray, np.ndarray]:
    """Return a tree of up to twelve joints of all kinds at random coordinates, with (q, v)."""
    rng = np.random.default_rng(seed)
    drawn = with_coordinates(rng, random_tree(rng, int(rng.integers(1, 13)), driven=True))
    flow = simulator_for(drawn).flow
    mechanism = Mechanism.of(flow.model, flow.structure)
    mechanism.look(flow.q, flow.v)
    return mechanism, flow.q.copy(), flow.v.copy()


@pytest.mark.parametrize("seed", range(20))
def test_by_branch_is_the_sum_of_all_links(seed: int) -> None:
    mechanism, q, v = random_mechanism(seed)
    expected = inertia_and_bias(mechanism, q, v)[0]
    np.testing.assert_allclose(mechanism.inertia(), expected, rtol=0, atol=1e-13 * np.abs(expected).max(initial=1.0))


def factored(mechanism: Mechanism) -> tuple[np.ndarray, np.ndarray, int]:
    """Return M, then L (nv, nv) as it stands in branch storage after factoring in place, and the status."""
    M, tables, work = mechanism.inertia(), mechanism.structure.tables, mechanism.work
    status = plain(inertia.factor)(tables.links, tables.freedoms, tables.branch, work.M, work.freedoms)
    L = np.eye(len(M))
    for i, freedom in enumerate(tables.freedoms):
        first, depth = int(freedom.start), int(freedom.depth)
        L[i, tables.branch[first : first + depth]] = work.M[first : first + depth]
    return M, L, status


@pytest.mark.parametrize("seed", range(20))
def test_factor_and_solves(seed: int) -> None:
    mechanism, *_ = random_mechanism(seed)
    M, L, status = factored(mechanism)
    tables, work = mechanism.structure.tables, mechanism.work
    assert status == -1
    np.testing.assert_allclose(L.T @ np.diag(1 / work.freedoms.Dinv) @ L, M, rtol=0, atol=1e-13 * M.max(initial=1.0))
    np.testing.assert_allclose(work.freedoms.root**2, work.freedoms.Dinv, rtol=1e-15 * 4)
    b = np.random.default_rng(seed).normal(size=len(M))
    work.freedoms.y[:] = b
    plain(inertia.solve_up)(tables.links, tables.freedoms, tables.branch, work.M, work.freedoms)
    expected = np.linalg.solve(L.T, b) * work.freedoms.root
    np.testing.assert_allclose(work.freedoms.y, expected, rtol=0, atol=1e-12 * np.abs(expected).max(initial=1.0))
    plain(inertia.solve_down)(tables.links, tables.freedoms, tables.branch, work.M, work.freedoms)
    largest = np.abs(b).max(initial=1.0)
    np.testing.assert_allclose(M @ work.freedoms.vdot, b, rtol=0, atol=1e-9 * largest)


def test_a_freedom_without_inertia_is_named() -> None:
    mechanism, *_ = random_mechanism(3)
    mechanism.inertia()
    tables, work = mechanism.structure.tables, mechanism.work
    last = tables.freedoms[-1]
    work.M[int(last.start) : int(last.start + last.depth) + 1] = 0.0
    status = plain(inertia.factor)(tables.links, tables.freedoms, tables.branch, work.M, work.freedoms)
    assert status == len(tables.freedoms) - 1
