"""What impulses do to mechanisms, by kernels, against dense matrices; and a state looked at in one call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sim
from sim.contact.kinetics import mass_matrix, rows_of_all
from sim.kernels.looking import look_around
from sim.kernels.orthogonal import Factors
from sim.kernels.system import address
from sim.kernels.unilateral.contact_kinetics import Rows, put_delassus
from sim.mechanism import finding
from tests.contact.engine import SCENES

pytestmark = [pytest.mark.contact, pytest.mark.fast]
NAMES = ("woodpecker", "high_bar_dismount", "car", "four_bar", "swing")


def flow_of(name: str) -> Any:
    flow = sim.Simulator(sim.compile(sim.load(SCENES / f"{name}.yaml"))).flow
    flow.mechanism.update(flow.q, np.random.default_rng(3).normal(size=len(flow.v)))
    return flow


@pytest.mark.parametrize("name", NAMES)
def test_mass_matrices_and_rows_are_those_of_dense_sums(name: str) -> None:
    mechanism = flow_of(name).mechanism
    M, lower = mechanism.inertia(), mass_matrix(mechanism)
    assert np.tril(lower) + np.tril(lower, -1).T == pytest.approx(M, abs=1e-13 * np.abs(M).max())
    assert rows_of_all(mechanism) == pytest.approx(mechanism.jacobian(), abs=1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_a_look_fills_what_an_update_fills(name: str) -> None:
    flow = flow_of(name)
    work, v = flow.mechanism.work, np.random.default_rng(5).normal(size=len(flow.v))
    flow.mechanism.t = 0.3
    flow.mechanism.update(flow.q, v)
    names = ("links", "freedoms", "blocks", "rows", "points", "bodies", "one", "coordinate", "rate")
    wanted = {one: getattr(work, one).copy() for one in names}
    flow.mechanism.update(flow.q, 0.0 * v)
    look_around(address(flow.system.places), 0.3, flow.q.copy(), v)
    for one in names:
        found = getattr(work, one)
        for field in found.dtype.names or ("",):
            a, b = (found[field], wanted[one][field]) if field else (found, wanted[one])
            size = max(1.0, float(np.abs(np.nan_to_num(b)).max(initial=0.0)))
            assert a == pytest.approx(b, abs=1e-12 * size, nan_ok=True), (one, field)


def test_points_of_all_pairs_are_found_as_those_of_each_and_room_is_made_for_them() -> None:
    """The table's four legs stand on the floor with four corners each, which are in the order of their features."""
    simulator = sim.Simulator(sim.compile(sim.load(SCENES / "table.yaml")))
    simulator.advance(0.0)
    flow = simulator.flow
    flow.update()
    rules = dict(flow.structure.meetings)
    both = sorted(zip(*finding.closed_points(flow.mechanism, rules), strict=True), key=lambda one: one[0].key)
    wanted, gaps = [touch for touch, _ in both], [gap for _, gap in both]
    found, own = finding.Found(64).closed(flow.system, rules)
    assert len(wanted) == 16 and [one.key for one in found] == [one.key for one in wanted]
    assert [one.rule for one in found] == [one.rule for one in wanted] and own == pytest.approx(gaps, abs=1e-15)
    for one, other in zip(found, wanted, strict=True):
        assert one.features.p == pytest.approx(other.features.p, abs=1e-15)
        assert one.features.link.tolist() == other.features.link.tolist()
    flow.q[2] += 1.0  # the balls about shapes no longer meet
    flow.update()
    assert finding.closed_points(flow.mechanism, rules)[0] == [] == finding.Found(64).closed(flow.system, rules)[0]


@pytest.mark.parametrize("repeats", [False, True])
def test_rows_that_hold_answer_with_the_least_impulses(repeats: bool) -> None:
    """M v+ = M v + W^T P + H^T A with H v+ unchanged, where rows of H repeat one another, too."""
    rng, n, p = np.random.default_rng(2), 7, 4
    root = rng.normal(size=(n, n))
    M, W, held, soft = (
        root @ root.T + np.eye(n),
        rng.normal(size=(p, n)),
        rng.normal(size=(3, n)),
        rng.normal(size=(2, n)),
    )
    held = np.vstack([held, 2.0 * held[:1]]) if repeats else held
    h = len(held)
    rows = Rows(
        W, held, np.empty((p, n)), np.empty((p, n)), np.empty((p, h)), np.empty((h, n)), np.empty((h, n)),
        np.empty((p, p)),
    )  # fmt: skip
    room = Factors(np.empty((n, h)), np.empty(h), np.empty(h), np.empty(n), np.empty(n), np.empty(h, np.int64))
    assert put_delassus(np.tril(M), soft, 1e-6, room, rows) == -1
    whole = M + soft.T @ soft
    free = np.linalg.solve(whole, W.T)
    answer = -np.linalg.pinv(held @ np.linalg.solve(whole, held.T)) @ held @ free
    change = free + np.linalg.solve(whole, held.T @ answer)
    assert pytest.approx(change, abs=1e-11) == rows.change_work.T and rows.G_work == pytest.approx(
        W @ change, abs=1e-11
    )
    assert pytest.approx(answer, abs=1e-10) == rows.answer_work.T and held @ rows.change_work.T == pytest.approx(
        0.0, abs=1e-11
    )
    M[3, :] = M[:, 3] = 0.0
    assert put_delassus(np.tril(M), np.zeros((0, n)), 1e-6, room, rows) == 3
