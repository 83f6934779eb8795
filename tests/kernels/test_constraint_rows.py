"""Rows of all presses of a step together: what is kept, what is written anew, and what answers them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from sim.kernels.elimination import articulated
from sim.kernels.scratch import CONTACT_CONSTRAINT, STEPPED
from sim.kernels.tables import table
from sim.kernels.unilateral import contact_solver
from sim.mechanism.mechanism import Mechanism
from tests.dynamics.engine import simulator_for
from tests.kernels.plain import plain
from tests.kernels.test_contact_solver import dense_rows, last_contacts
from tests.support.mechanisms import random_mechanism, random_tree, with_coordinates

pytestmark = [pytest.mark.contact, pytest.mark.fast]


class Rows:
    """A mechanism, its presses, and the arrays that their rows are written to, full of other numbers."""

    def __init__(self, seed: int, loops: int, room: int = 6):
        rng = self.rng = np.random.default_rng(seed)
        drawn = random_mechanism(rng, 4, loops) if loops else with_coordinates(rng, random_tree(rng, 4))
        flow = simulator_for(drawn).flow
        self.mechanism = mechanism = Mechanism.of(flow.model, flow.structure)
        mechanism.update(flow.q.copy(), flow.v.copy())
        self.tables, made = mechanism.structure.tables, mechanism.work
        self.nv = nv = len(made.freedoms)
        if not loops:
            assert plain(articulated.articulate)(self.tables.links, self.tables.freedoms, made.links, made.freedoms) < 0
        self.work = SimpleNamespace(
            links=made.links, freedoms=made.freedoms, contacts=table(CONTACT_CONSTRAINT, room),
            stepped=table(STEPPED, 1),
            unchanged=np.ones(len(made.links), np.int64), push=np.zeros(nv), contact_support=np.full((room, nv), -1),
            contact_U=rng.normal(size=3 * room * nv), contact_R=rng.normal(size=(3 * room, nv)),
            contact_G=rng.normal(size=(room, 3, 3)), rows=SimpleNamespace(rhs=np.full(3, 7.0), force=np.full(3, 7.0)),
            one=SimpleNamespace(rank=np.zeros(1, np.int64)),
        )  # fmt: skip

    def unpack(self, system: object) -> tuple:
        return self.tables, None, self.work, None

    def new(self, count: int) -> np.recarray:
        out = last_contacts(self.mechanism, count, self.rng)
        out.kept, out.soft = -1, 0.1 * np.arange(1, count + 1)
        return out

    def write(self, first: int, points: int, **instead: object) -> None:
        self.work.stepped.points = points
        plain(contact_solver.contact_rows, unpack=self.unpack, **instead)(None, first)

    def spread(self, k: int) -> np.ndarray:
        """Rows of press k in all freedoms, (3, nv)."""
        dense, n = np.zeros((3, self.nv)), self.work.contacts.count[k]
        for r in range(3):
            dense[r, self.work.contact_support[k, :n]] = self.work.contact_U[(3 * k + r) * self.nv :][:n]
        return dense

    def wanted(self, k: int) -> np.ndarray:
        """W M^-1 W^T of press k by dense matrices, and what a soft stop gives way."""
        J = dense_rows(self.mechanism, self.work.contacts, k)
        J[self.work.contacts.rows[k] :] = 0.0
        G = J @ np.linalg.solve(self.mechanism.inertia(), J.T)
        G[0, 0] += self.work.contacts.soft[k]
        return G


@pytest.mark.parametrize("seed", range(4))
def test_rows_that_are_kept_are_brought_once_and_others_are_written(seed: int) -> None:
    """Also where presses are added within a step: those before them stay as they are."""
    rows = Rows(seed, 0)
    contacts = rows.work.contacts
    old = rows.new(4)
    contacts[:4] = old
    rows.write(0, 4)
    kept = {0: 1, 1: 2, 3: 3}
    contacts[:5] = rows.new(5)
    for k, i in kept.items():
        contacts[k] = old[i]
        contacts.kept[k] = i
    contacts.count = -5  # which those that stay bring with them
    for k, i in kept.items():
        contacts.count[k] = np.count_nonzero(rows.work.contact_support[i] >= 0)
    marked = rows.work.contact_U.copy()
    for first, points in ((0, 4), (4, 5)):
        rows.write(first, points)
        for k in range(points):
            found, wanted = rows.spread(k), rows.wanted(k)
            size = np.abs(wanted).max()
            assert found @ found.T + np.diag([contacts.soft[k], 0, 0]) == pytest.approx(wanted, abs=1e-9 * size)
            assert rows.work.contact_G[k] == pytest.approx(wanted, abs=1e-9 * size)
            assert not found[contacts.rows[k] :].any()
    width = 3 * rows.nv
    for k, i in kept.items():
        assert (rows.work.contact_U[k * width : (k + 1) * width] == marked[i * width : (i + 1) * width]).all()
    assert (rows.work.contact_U[5 * width :] == marked[5 * width :]).all()
    assert (rows.work.contact_support[5] == -1).all()


def test_rows_of_trees_that_moved_are_written_anew() -> None:
    rows = Rows(2, 0)
    rows.work.contacts[:3] = rows.new(3)
    rows.write(0, 3)
    before, G = rows.work.contact_U.copy(), rows.work.contact_G.copy()
    rows.work.contacts.kept, rows.work.unchanged[:] = np.arange(6), 0
    rows.work.contact_U[:], rows.work.contact_G[:], rows.work.contact_support[:] = 5.0, 5.0, -1
    rows.write(0, 3)
    for k in range(3):
        assert rows.work.contact_G[k] == pytest.approx(G[k], rel=1e-13, abs=1e-15)
        n = rows.work.contacts.count[k]
        for r in range(rows.work.contacts.rows[k]):
            at = (3 * k + r) * rows.nv
            assert rows.work.contact_U[at : at + n] == pytest.approx(before[at : at + n], rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("seed", range(3))
def test_where_loops_hold_all_rows_are_written_with_their_answers(seed: int) -> None:
    """Kept or not; answers go to the rows of their press, and mobility is what rows make of them."""
    rows = Rows(seed, 1)
    answers, asked = rows.rng.normal(size=(18, rows.nv)), []

    def answer_row(system: object, k: int, r: int) -> None:
        asked.append((k, r))
        rows.work.freedoms.vdot[:] = answers[3 * k + r]

    rows.work.contacts[:4] = rows.new(4)
    rows.work.contacts.kept[:4] = [1, 2, 3, 3]
    for first, points in ((0, 3), (3, 4)):
        asked.clear()
        untouched = rows.work.contact_R.copy()
        rows.write(first, points, answer_row=answer_row)
        contacts = rows.work.contacts
        assert asked == [(k, r) for k in range(first, points) for r in range(contacts.rows[k])]
        for k in range(first, points):
            n, J = contacts.rows[k], dense_rows(rows.mechanism, contacts, k)
            assert rows.spread(k)[:n] == pytest.approx(J[:n], abs=1e-12 * max(1.0, np.abs(J).max()))
            assert not rows.spread(k)[n:].any()
            assert (rows.work.contact_R[3 * k : 3 * k + n] == answers[3 * k : 3 * k + n]).all()
            assert (rows.work.contact_R[3 * k + n : 3 * k + 3] == untouched[3 * k + n : 3 * k + 3]).all()
            own = np.zeros((3, 3))
            own[:n, :n] = J[:n] @ answers[3 * k : 3 * k + n].T
            own = 0.5 * (own + own.T) + np.diag([contacts.soft[k], 0, 0])
            assert rows.work.contact_G[k] == pytest.approx(own, abs=1e-11 * max(1.0, np.abs(own).max()))
        assert (rows.work.contact_R[: 3 * first] == untouched[: 3 * first]).all()


@pytest.mark.parametrize("seed", range(4))
def test_a_row_is_answered_by_all_freedoms_as_a_dense_inertia_does(seed: int) -> None:
    """Whatever forces were in the arrays before; where no constraint acts the answer is M^-1 W^T."""
    rows = Rows(seed, 0)
    work = rows.work
    work.contacts[:3] = rows.new(3)
    work.contacts.rows = 3
    M = rows.mechanism.inertia()
    for k in range(3):
        J = dense_rows(rows.mechanism, work.contacts, k)
        for r in range(3):
            work.links.F, work.freedoms.y, work.freedoms.vdot = 3.0, 4.0, 5.0
            work.rows.rhs[:], work.rows.force[:] = 7.0, 7.0
            plain(contact_solver.answer_row, unpack=rows.unpack)(None, k, r)
            wanted = np.linalg.solve(M, J[r])
            assert work.freedoms.vdot == pytest.approx(wanted, abs=1e-9 * np.abs(wanted).max())
            assert not work.rows.rhs.any() and not work.rows.force.any()
