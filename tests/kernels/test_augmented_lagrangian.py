"""Newton's method on the augmented Lagrangian of presses, part by part, against dense numpy and the law itself."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sim.kernels.scratch import CONTACT_CONSTRAINT
from sim.kernels.tables import table
from sim.kernels.unilateral import augmented_lagrangian, sparse_factors
from sim.kernels.unilateral.augmented_lagrangian import Problem
from tests.kernels.plain import plain

pytestmark = pytest.mark.fast


def pattern_for(size: int, presses: int) -> sparse_factors.Pattern:
    """Return scratch for a pattern, full of what was there before."""
    columns = np.full((5, size), 7)
    return sparse_factors.Pattern(np.full((size, 2 * sparse_factors.RUNS), 7), *columns, np.full(presses, 7))


class Presses:
    """Presses on freedoms of which each reaches some; the second one of them all is not chosen."""

    def __init__(self, seed: int, count: int = 6, freedoms: int = 11, friction: float = 0.6):
        rng = np.random.default_rng(seed)
        self.rng, self.count, width = rng, count, 7
        self.chosen = np.array([k for k in range(count) if k != 1])
        contact = table(CONTACT_CONSTRAINT, count)
        contact.rows, contact.count, contact.friction = 3, rng.integers(3, width, count), friction
        contact.rows[2], contact.friction[2] = 1, 0.0  # without friction
        contact.low[2], contact.high[2] = -0.7, 0.4
        contact.high[[0, 1, *range(3, count)]] = math.inf
        contact.soft[3], contact.free[:] = 0.2, rng.normal(size=(count, 3))
        support = np.full((count, width), -1)
        for k in range(count):
            reached = np.sort(rng.choice(freedoms - 1, contact.count[k], replace=False)) + 1  # 0 by none
            if k % 2:
                reached = np.r_[reached[:1], reached[0] + 1 + np.arange(contact.count[k] - 1)] % freedoms
                reached = np.unique(np.maximum(reached, 1))
                contact.count[k] = len(reached)
            support[k, : len(reached)] = reached
        used = np.unique(support[self.chosen][support[self.chosen] >= 0])
        place = np.full(freedoms, -1)
        place[used] = np.arange(len(used))
        self.size, self.place = len(used), place
        at = np.where(support >= 0, place[support], -1)
        self.U = np.zeros((count, 3, freedoms))
        flat = rng.normal(size=(count, 3, width))  # whatever is beyond an end is not to be read
        for k in range(count):
            n = int(contact.count[k])
            if contact.rows[k] < 3:
                flat[k, 1:, :n] = 0.0
            self.U[k][:, support[k, :n]] = flat[k, :, :n]
        first = np.arange(self.size)
        for k in self.chosen:
            own = at[k, : contact.count[k]]
            first[own] = np.minimum(first[own], own.min())
        G = np.einsum("kif,kjf->kij", self.U, self.U)
        for k in range(count):
            G[k, 0, 0] += contact.soft[k]
        P = np.abs(rng.normal(size=(count, 3))) * [1.0, 0.1, 0.1]
        P[2, 1:] = 0.0
        whole, n = np.zeros, self.size
        self.work = Problem(
            contact=contact, support=support, U=flat.ravel(), R=whole((0, 0)), G=G, d=whole((count, 2)), P=P,
            z=whole((count, 3)), off=whole(count), push=rng.normal(size=freedoms), tree=whole(freedoms),
            chosen=self.chosen, place=place, awake=whole((2, 0)), at=at, first=first, last=np.full(n, 77),
            start=np.full(n + 1, 77), tried=whole((count, 3)), best=whole((count, 3)), y=rng.normal(size=n),
            base=rng.normal(size=n), left=whole(n), turn=whole(n), matrix=np.full(n * n, 9.0),
            reached=used, pattern=pattern_for(n, count),
        )  # fmt: skip

    @property
    def own(self) -> np.ndarray:
        """(presses, 3, size) rows over the places."""
        return np.asarray(self.U[:, :, np.flatnonzero(self.place >= 0)])

    def rates(self, k: int, y: np.ndarray) -> np.ndarray:
        out = self.work.contact.free[k] + self.own[k] @ y
        out[0] += self.work.contact.soft[k] * self.work.P[k, 0]
        return np.asarray(out)

    def answer(self, k: int, y: np.ndarray, rho: float) -> np.ndarray:
        """Return p of press k: onto its bounds, and onto the disc of friction."""
        contact, soft = self.work.contact, self.work.contact.soft[k]
        stiffness = rho / (np.trace(self.work.G[k]) + (rho - 1.0) * soft)
        p = self.work.P[k] - stiffness * self.rates(k, y)
        p[0] = np.clip(p[0], contact.low[k], contact.high[k])
        if contact.rows[k] < 3:
            return np.array([p[0], 0.0, 0.0])
        size, most = np.linalg.norm(p[1:]), contact.friction[k] * p[0]
        return np.array([p[0], *(p[1:] if size <= most else most * p[1:] / size)])

    def left(self, y: np.ndarray, rho: float) -> np.ndarray:
        out = y - self.work.base
        for k in self.chosen:
            out = out - self.own[k].T @ self.answer(k, y, rho)
        return np.asarray(out)

    def shape(self) -> None:
        plain(augmented_lagrangian.shape_matrix)(self.size, self.work.first, self.work.last, self.work.start)
        self.find_pattern()

    def find_pattern(self) -> None:
        work = self.work
        plain(sparse_factors.shape_pattern)(
            work.pattern, work.chosen, len(work.chosen), work.contact.count, work.at, self.size
        )

    def look(self) -> None:
        for k in self.chosen:
            plain(augmented_lagrangian.rates)(self.work, self.work.at, self.work.y, k)


SEEDS = range(6)


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_of_newtons_matrix_reach_as_far_either_way(seed: int) -> None:
    contacts = Presses(seed)
    contacts.shape()
    for i, first in enumerate(contacts.work.first):
        last = max([i, *(j for j in range(i, contacts.size) if contacts.work.first[j] <= i)])
        assert contacts.work.last[i] == max([last, *contacts.work.last[:i]])
        assert contacts.work.start[i] == i * contacts.size and first <= i


@pytest.mark.parametrize("seed", SEEDS)
def test_answers_are_projections_and_what_is_left_of_them(seed: int) -> None:
    contacts = Presses(seed)
    work, rho = contacts.work, 1.7
    contacts.look()
    for k in contacts.chosen:
        np.testing.assert_allclose(work.z[k], contacts.rates(k, work.y), atol=1e-13)
    found = plain(augmented_lagrangian.answer_all)(work, len(contacts.chosen), contacts.size, rho)
    for k in contacts.chosen:
        np.testing.assert_allclose(work.tried[k], contacts.answer(k, work.y, rho), atol=1e-13)
    expected = contacts.left(work.y, rho)
    np.testing.assert_allclose(work.left, expected, atol=1e-13)
    assert found == pytest.approx(np.linalg.norm(expected), rel=1e-12)
    assert np.all(work.tried[1] == 0.0) and np.all(work.z[1] == 0.0)


def test_a_press_that_nothing_moves_answers_nothing() -> None:
    contacts = Presses(0)
    contacts.work.G[0] = 0.0
    contacts.look()
    plain(augmented_lagrangian.answer_all)(contacts.work, len(contacts.chosen), contacts.size, 2.0)
    assert contacts.work.tried[0, 0] == contacts.work.P[0, 0]


@pytest.mark.parametrize("rho", [0.3, 2.0, 40.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_newtons_matrix_is_the_derivative_of_what_is_left(seed: int, rho: float) -> None:
    contacts = Presses(seed)
    work, n, h = contacts.work, contacts.size, 1e-6
    contacts.shape()
    contacts.look()
    plain(augmented_lagrangian.add_stiffness)(work, len(contacts.chosen), n, rho)
    found = np.zeros((n, n))
    for i in range(n):
        for j in range(work.first[i], work.last[i] + 1):
            found[i, j] = work.matrix[work.start[i] + j]
    expected = np.column_stack(
        [(contacts.left(work.y + h * e, rho) - contacts.left(work.y - h * e, rho)) / (2 * h) for e in np.eye(n)]
    )
    np.testing.assert_allclose(found, expected, atol=2e-7 * np.abs(expected).max())
    rhs = contacts.rng.normal(size=n)
    x = rhs.copy()
    runs, count = work.pattern.runs, work.pattern.count
    assert plain(sparse_factors.factorise_sparse)(n, runs, count, work.matrix)
    plain(sparse_factors.solve_sparse)(n, work.first, runs, count, work.matrix, x)
    np.testing.assert_allclose(x, np.linalg.solve(found, rhs), atol=1e-9 * np.abs(x).max())


def test_a_press_of_any_stiffness_is_in_the_matrix() -> None:
    """One without friction, too, of which nothing else tells that it gives way."""
    for stiffness in (1.0, 2.0):
        contacts = Presses(2)
        work, n = contacts.work, contacts.size
        work.chosen[work.chosen == 2], work.chosen[0] = work.chosen[0], 2  # each of them once
        work.P[2, 0], work.z[2] = 0.0, 0.0
        contacts.shape()
        plain(augmented_lagrangian.add_stiffness)(work, 1, n, stiffness * np.trace(work.G[2]))
        diagonal = [work.matrix[work.start[i] + i] for i in range(n)]
        np.testing.assert_allclose(diagonal, 1.0 + stiffness * contacts.own[2, 0] ** 2, rtol=1e-12)


def test_the_derivative_has_every_branch_of_the_law() -> None:
    """Free, at either bound, sticking, sliding, and where friction is nothing or asks for nothing."""
    contact, P, z = table(CONTACT_CONSTRAINT, 1), np.zeros((1, 3)), np.zeros((1, 3))
    contact.rows, contact.friction, contact.high = 3, 0.5, 2.0

    def slopes(rows: int, P_now: tuple, z_now: tuple = (0.0, 0.0, 0.0)) -> list[float]:
        contact.rows, P[0], z[0] = rows, P_now, z_now
        return list(plain(augmented_lagrangian.slopes_of_law)(contact, 3.0, P, z, 0))

    assert slopes(1, (1.0, 0.0, 0.0)) == [3.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert slopes(1, (-0.1, 0.0, 0.0)) == slopes(1, (2.1, 0.0, 0.0)) == [0.0] * 6
    assert slopes(1, (0.0, 0.0, 0.0)) == slopes(1, (2.0, 0.0, 0.0)) == [0.0] * 6
    assert slopes(3, (1.0, 0.0, 0.0)) == slopes(3, (1.0, 0.3, 0.4)) == [3.0, 0.0, 0.0, 3.0, 0.0, 3.0]
    assert slopes(3, (-1.0, 0.0, 0.0)) == [0.0] * 6
    assert slopes(3, (2.5, 0.1, 0.0)) == [0.0, 0.0, 0.0, 3.0, 0.0, 3.0]
    # It slides along (0.6, 0.8) with 0.5 of 1, asked for 5: across it, it turns by a tenth.
    slides = slopes(3, (1.0, 0.0, 1.0), (0.0, -1.0, -1.0))
    np.testing.assert_allclose(slides, [3.0, 0.9, 1.2, 0.3 * 0.64, -0.3 * 0.48, 0.3 * 0.36], atol=1e-15)
    np.testing.assert_allclose(slopes(3, (-1.0, 3.0, 4.0)), 0.0, atol=1e-15)


def test_a_matrix_without_a_pivot_is_refused() -> None:
    runs, count = np.array([[1, 2], [0, 0]]), np.array([1, 0])
    for corner, good in ((4.0 + 5e-7, False), (4.0, False), (4.0 - 5e-7, False), (4.0 - 1e-3, True), (4.1, True)):
        matrix = np.array([1.0, 2.0, 2.0, corner])
        assert plain(sparse_factors.factorise_sparse)(2, runs, count, matrix) == good
    np.testing.assert_allclose(matrix, [1.0, 2.0, 2.0, 10.0], rtol=1e-12)


def test_pushes_are_taken_apart_and_added_up_again() -> None:
    contacts = Presses(3)
    work, n, count = contacts.work, contacts.size, len(contacts.chosen)
    used = np.flatnonzero(contacts.place >= 0)
    plain(augmented_lagrangian.begin_at_push)(work, count, len(used))
    np.testing.assert_array_equal(work.y, work.push[used])
    others = work.push[used] - np.einsum("kri,kr->i", contacts.own[contacts.chosen], work.P[contacts.chosen])
    np.testing.assert_allclose(work.base, others, atol=1e-13)
    work.P[:] = contacts.rng.normal(size=work.P.shape)
    plain(augmented_lagrangian.add_up)(work, count, n)
    again = others + np.einsum("kri,kr->i", contacts.own[contacts.chosen], work.P[contacts.chosen])
    np.testing.assert_allclose(work.y, again, atol=1e-13)
    work.best[:] = 8.0
    plain(augmented_lagrangian.copy_chosen)(work, count, work.P, work.best)
    np.testing.assert_array_equal(work.best[contacts.chosen], work.P[contacts.chosen])
    assert np.all(work.best[1] == 8.0)


def law_is_off_by(contacts: Presses, k: int) -> float:
    """Return how far press k is from its law, by complementarity: no rate where it presses, no push where it opens."""
    contact, P = contacts.work.contact, contacts.work.P[k]
    y = contacts.work.push[np.flatnonzero(contacts.place >= 0)]
    z = contacts.rates(k, y)
    off = [max(contact.low[k] - P[0], P[0] - contact.high[k], 0.0)]
    off.append(max(-z[0], 0.0) if P[0] < contact.high[k] - 1e-9 else 0.0)
    off.append(max(z[0], 0.0) if P[0] > contact.low[k] + 1e-9 else 0.0)
    if contact.rows[k] == 3:
        most, size, slip = contact.friction[k] * P[0], np.linalg.norm(P[1:]), np.linalg.norm(z[1:])
        off.append(max(size - most, 0.0))
        off.append(slip if size < most - 1e-9 else 0.0)
        off.append(float(np.linalg.norm(P[1:] * slip + most * z[1:])))
    return float(max(off))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("near", "again", "most"), [(0, 0, 1e-5), (1, 0, 1e-6), (0, 1, 1e-10)])
def test_presses_that_are_solved_together_follow_their_laws(seed: int, near: int, again: int, most: float) -> None:
    """As nearly as their stiffness lets them within the rounds, which does not grow where each round leaves little.

    Tried again from there, a few steps of stiff presses do the rest.
    """
    contacts = Presses(seed, friction=0.25)
    work, count = contacts.work, len(contacts.chosen)
    used = np.flatnonzero(contacts.place >= 0)
    others = work.push[used] - np.einsum("kri,kr->i", contacts.own[contacts.chosen], work.P[contacts.chosen])
    still, P = work.push[0], work.P[1].copy()
    contacts.find_pattern()
    made, worst = plain(augmented_lagrangian.solve_together)(work, count, contacts.size, near, again, 1e-10)
    assert 0 < made < 45
    assert worst <= most
    assert max(law_is_off_by(contacts, k) for k in contacts.chosen) <= 2 * worst
    made, worst = plain(augmented_lagrangian.solve_together)(work, count, contacts.size, 1, 1, 1e-10)
    assert 0 < made < 5
    assert max(law_is_off_by(contacts, k) for k in contacts.chosen) <= 2 * worst <= 2e-10
    pushed = others + np.einsum("kri,kr->i", contacts.own[contacts.chosen], work.P[contacts.chosen])
    np.testing.assert_allclose(work.push[used], pushed, atol=1e-12)
    assert work.push[0] == still and work.P[1].tolist() == P.tolist()


def test_how_far_a_press_is_from_its_law_is_a_speed() -> None:
    """Of a bounded row: the change of its impulse, over its own mass."""
    contacts = Presses(1)
    work = contacts.work
    y = work.y
    for impulse in (-0.6, 0.3):
        work.P[2, 0] = impulse
        own, z = work.G[2, 0, 0], contacts.rates(2, y)[0]
        expected = own * abs(impulse - np.clip(impulse - z / own, -0.7, 0.4))
        assert expected > 0.0
        assert plain(augmented_lagrangian.off_by)(work, work.at, y, 2) == pytest.approx(expected, rel=1e-12)
    work.G[2] = 0.0
    assert plain(augmented_lagrangian.off_by)(work, work.at, y, 2) == 0.0
    worst = plain(augmented_lagrangian.look_at_chosen)(work, len(contacts.chosen))
    assert worst == pytest.approx(
        max(plain(augmented_lagrangian.off_by)(work, work.at, y, k) for k in contacts.chosen), rel=1e-12
    )


def test_where_newtons_steps_fail_the_next_round_begins_where_impulses_say() -> None:
    """Not where the steps went astray."""
    contacts = Presses(2)
    work, seen = contacts.work, []

    def astray(*_: object) -> tuple[int, bool, bool]:
        seen.append(work.y.copy())
        work.y[:] = 99.0
        return 1, False, False

    start = work.push[np.flatnonzero(contacts.place >= 0)]
    plain(augmented_lagrangian.solve_together, newton=astray)(work, len(contacts.chosen), contacts.size, 0, 0, 1e-10)
    assert len(seen) == augmented_lagrangian.ROUNDS
    np.testing.assert_allclose(seen, np.tile(start, (len(seen), 1)), atol=1e-12)
