"""The passes of the articulated-body elimination, against dense numpy."""

from __future__ import annotations

import numpy as np
import pytest

from sim.kernels import forces
from sim.kernels.elimination import articulated
from sim.kernels.rows import constraints
from sim.mechanism.mechanism import Mechanism
from tests.dynamics.engine import simulator_for
from tests.kernels.plain import plain
from tests.support.dense import inertia_and_bias
from tests.support.mechanisms import random_mechanism as random_drawing
from tests.support.mechanisms import random_tree, with_coordinates

pytestmark = pytest.mark.fast


def random_mechanism(seed: int, loops: bool = False) -> tuple[Mechanism, np.ndarray, np.ndarray]:
    """Return up to twelve joints of all kinds at random coordinates, with (q, v)."""
    rng = np.random.default_rng(seed)
    if loops:
        drawn = random_drawing(rng, int(rng.integers(4, 9)), loops=int(rng.integers(1, 3)), driven=True)
    else:
        drawn = with_coordinates(rng, random_tree(rng, int(rng.integers(1, 13)), driven=True))
    flow = simulator_for(drawn).flow
    mechanism = Mechanism.of(flow.model, flow.structure)
    mechanism.update(flow.q, flow.v)
    return mechanism, flow.q.copy(), flow.v.copy()


def tree_of(mechanism: Mechanism) -> tuple:
    tables, work = mechanism.structure.tables, mechanism.work
    return tables.links, tables.freedoms, work.links, work.freedoms


def close(found: np.ndarray, expected: np.ndarray, digits: float) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=digits * np.abs(expected).max(initial=1e-9))


@pytest.mark.parametrize("seed", range(20))
def test_dense_inertia_is_the_sum_of_all_links(seed: int) -> None:
    mechanism, q, v = random_mechanism(seed)
    close(mechanism.inertia(), inertia_and_bias(mechanism, q, v)[0], 1e-13)


@pytest.mark.parametrize("seed", range(40))
def test_inward_and_outward_solve_for_accelerations(seed: int) -> None:
    mechanism, q, v = random_mechanism(seed)
    tree, work = tree_of(mechanism), mechanism.work
    M, bias = inertia_and_bias(mechanism, q, v)
    assert plain(articulated.articulate)(*tree) == -1
    tau = np.random.default_rng(seed).normal(size=len(M))
    work.freedoms.y[:] = tau
    plain(forces.link_forces)(work.links)
    plain(articulated.inward)(*tree)
    y = work.freedoms.y.copy()
    close(y @ y, (tau - bias) @ np.linalg.solve(M, tau - bias), 1e-10)
    plain(articulated.outward)(*tree)
    close(work.freedoms.vdot, np.linalg.solve(M, tau - bias), 1e-9)
    added = np.einsum("bik,k->bi", mechanism.link_jacobians(), work.freedoms.vdot)
    close(work.links.B, added, 1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_scaled_jacobians_give_the_rows_mobility(seed: int) -> None:
    mechanism, *_ = random_mechanism(seed, loops=True)
    tables, work = mechanism.structure.tables, mechanism.work
    tree = tree_of(mechanism)
    M, J = mechanism.inertia(), mechanism.jacobian()
    assert len(J) > 0
    assert plain(articulated.articulate)(*tree) == -1
    plain(constraints.jacobians)(
        tables.links, tables.freedoms, tables.blocks, work.links, work.freedoms, work.blocks, work.rows, work.J
    )
    plain(constraints.gram)(tables.blocks, tables.pairs, tables.rows, tables.shared, work.J, work.G)
    expected = J @ np.linalg.solve(M, J.T) + np.diag(tables.rows.compliance)
    close(work.G, expected, 1e-10)


def test_a_freedom_without_inertia_is_named() -> None:
    named = 0
    for seed in range(8):
        mechanism, q, v = random_mechanism(seed)
        tables, work = mechanism.structure.tables, mechanism.work
        without = tables.links.nv > 0
        without[tables.links.parent] = False  # a leaf
        without[tables.freedoms.owner[tables.freedoms.armature > 0.0]] = False
        for link in np.flatnonzero(without):
            mechanism.update(q, v)
            work.links.I[link] = 0.0
            status = plain(articulated.articulate)(*tree_of(mechanism))
            assert tables.freedoms.owner[status] == link
            named += 1
    assert named > 5
