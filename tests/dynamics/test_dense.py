"""Dense matrices of a forest are built tree by tree: they are those of the whole."""

from __future__ import annotations

import numpy as np
import pytest

from sim.assembly.start import start
from sim.mechanism.compiler import compile
from sim.mechanism.dense import crossed, terms_of
from sim.mechanism.lending import still
from sim.mechanism.mechanism import Mechanism
from sim.scene.load import load_text

pytestmark = pytest.mark.fast

FOREST = """
schema: 1
bodies:
  a: {mass: 1 kg, com: [0, 0, 1], inertia: [1, 2, 2.5, 0.1, 0, 0]}
  b: {mass: 2 kg, com: [0, 1, 2], inertia: [2, 1, 2]}
  still: {mass: 1 kg, com: [3, 0, 0]}
  on it: {mass: 1 kg, com: [3, 1, 0]}
  c: {mass: 1 kg, com: [1, 0, 1]}
  d: {mass: 3 kg, com: [5, 0, 1], inertia: [1, 1, 1]}
joints:
  ja: {type: rotational, parent: world, child: a, position: [0, 0, 0], axis: [0, 1, 0], armature: 0.3}
  jb: {type: spherical, parent: a, child: b, position: [0, 0, 2]}
  js: {type: fixed, parent: world, child: still, position: [3, 0, 0]}
  jo: {type: fixed, parent: still, child: on_it, position: [3, 0, 0]}
  jd: {type: cylindrical, parent: a, child: d, position: [4, 0, 1], axis: [1, 0, 1]}
""".replace("on it", "on_it")


@pytest.fixture
def forest() -> Mechanism:
    model = compile(load_text(FOREST))
    begun = start(model)
    mechanism = Mechanism.of(model, begun.structure)
    mechanism.update(begun.q, begun.v)
    return mechanism


def test_jacobians_are_those_that_are_found_link_by_link(forest):
    tables, work = forest.structure.tables, forest.work
    J = forest.link_jacobians()
    assert J.shape == (7, 6, forest.structure.sizes.v) and np.abs(J).max() > 0.5
    for b in range(1, 7):
        above = int(tables.links.parent[b])
        expected = J[above].copy()
        expected[3:] += crossed(J[above, :3].T, work.links.d[b]).T
        own = np.flatnonzero(tables.freedoms.owner == b)
        for k in own:
            first = 3 if tables.freedoms.linear[k] else 0
            expected[first : first + 3, k] = work.freedoms.axis[k]
        np.testing.assert_array_equal(J[b], expected)
    rates = np.random.default_rng(1).normal(size=J.shape[2])
    np.testing.assert_allclose(J @ rates, forest.twists(rates), atol=1e-13)


def test_the_inertia_gives_the_kinetic_energy(forest):
    rates = np.random.default_rng(2).normal(size=forest.structure.sizes.v)
    twice = float(np.sum(forest.twists(rates) * forest.momenta(rates)))
    armature = float(np.sum(forest.structure.tables.freedoms.armature * rates**2))
    assert rates @ forest.inertia() @ rates == pytest.approx(twice + armature, rel=1e-12)


def test_terms_are_the_sizes_of_all_that_the_diagonal_of_the_inertia_is_the_sum_of(forest):
    """Added up one by one; they are no less than what they are the terms of."""
    tables, work, J = forest.structure.tables, forest.work, forest.link_jacobians()
    expected = tables.freedoms.armature.copy()
    for b in range(len(tables.links)):
        m, h, upper = work.links.I[b, 0], work.links.I[b, 1:4], work.links.I[b, 4:]
        I6 = np.zeros((6, 6))
        I6[:3, :3] = [[upper[0], upper[3], upper[4]], [upper[3], upper[1], upper[5]], [upper[4], upper[5], upper[2]]]
        for i in range(3):
            I6[3:, i] = np.cross(np.eye(3)[i], h)
        I6[:3, 3:], I6[3:, 3:] = I6[3:, :3].T, m * np.eye(3)
        for k in range(J.shape[2]):
            expected[k] += sum(abs(J[b, i, k] * I6[i, j] * J[b, j, k]) for i in range(6) for j in range(6))
    terms = terms_of(tables.links, tables.freedoms, work.links, work.freedoms)
    np.testing.assert_allclose(terms, expected, rtol=1e-12)
    assert np.all(terms >= np.diag(forest.inertia()) * (1.0 - 1e-12)) and np.any(J < 0.0)


@pytest.mark.parametrize(("least", "without"), [(1.8e-13, 1), (2.2e-13, 0), (1e-11, 0)])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_a_direction_is_without_inertia_up_to_roundoff_of_its_terms(least: float, without: int, scale: float) -> None:
    """Of two freedoms together, of which one may be measured in other units."""
    c, s = np.cos(0.7), np.sin(0.7)
    R, units = np.array([[c, -s], [s, c]]), np.array([scale, 1.0])
    M = np.outer(units, units) * (R @ np.diag([1.0, least]) @ R.T)
    assert still(M, units**2).shape == (2, without)


def test_directions_without_inertia_are_those_of_the_whole_matrix():
    rng = np.random.default_rng(3)
    M = np.zeros((9, 9))
    for k, rank in ((0, 1), (3, 2), (6, 3)):
        A = rng.normal(size=(rank, 3))
        M[k : k + 3, k : k + 3] = A.T @ A
    z = still(M, np.diag(M).copy())
    assert z.shape == (9, 3)
    np.testing.assert_allclose(M @ z, 0.0, atol=1e-12)
    assert np.linalg.matrix_rank(z) == 3
    assert [int(np.abs(z[k : k + 3]).sum(axis=0).astype(bool).sum()) for k in (0, 3, 6)] == [2, 1, 0]
