"""Rows and impulses of what presses within a time step: against dense matrices and the laws, one by one."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from sim.kernels.elimination import articulated
from sim.kernels.scratch import CONTACT_CONSTRAINT
from sim.kernels.tables import LINK, table
from sim.kernels.unilateral import contact_solver
from sim.kernels.unilateral.sparse_factors import RUNS
from sim.mechanism.mechanism import Mechanism
from sim.mechanism.workspace import _islands
from tests.contact.random_problems import random_bodies
from tests.dynamics.engine import simulator_for
from tests.kernels.plain import plain
from tests.support.mechanisms import random_mechanism, random_tree, with_coordinates

pytestmark = [pytest.mark.contact, pytest.mark.fast]


def test_rows_that_stay_follow_their_presses_to_new_places() -> None:
    """Some go up and some go down; those of trees that moved are written anew, and so are new ones."""
    rng, width, count = np.random.default_rng(0), 4, 7
    support, U, G = (
        rng.integers(0, 9, (count, width)),
        rng.normal(size=3 * width * count),
        rng.normal(size=(count, 3, 3)),
    )
    contact = table(CONTACT_CONSTRAINT, count)
    contact.kept, contact.link = [1, 2, -1, 3, 6, 4, 5], [[0, 1], [0, 1], [0, 1], [0, 1], [0, 2], [0, 1], [0, 1]]
    unchanged = np.array([1, 1, 0])
    expected = [a.copy() for a in (support, U.reshape(count, -1), G)]
    for new, old in ((0, 1), (1, 2), (5, 4), (6, 5)):
        for name, array in zip(expected, (support, U.reshape(count, -1), G), strict=True):
            name[new] = array[old]
    plain(contact_solver.bring_rows)(7, unchanged, contact, support, U, G)
    for k in range(7):  # link 2 moved: nobody copies for 4
        assert (support[k] == expected[0][k]).all(), k
        assert (U.reshape(count, -1)[k] == expected[1][k]).all() and (G[k] == expected[2][k]).all(), k
    assert [bool(plain(contact_solver.stays)(unchanged, contact, k)) for k in range(7)] == [1, 1, 0, 1, 0, 1, 1]
    contact.link[0] = [2, 1]
    assert not plain(contact_solver.stays)(unchanged, contact, 0)
    unmoved = [a.copy() for a in (support, U, G)]
    plain(contact_solver.bring_rows)(0, unchanged, contact, support, U, G)
    assert all((a == b).all() for a, b in zip(unmoved, (support, U, G), strict=True))


def test_freedoms_between_two_links_are_listed_from_tips_to_roots() -> None:
    """Links 1 - 2 - 4 and 1 - 3 under the first root, 5 the second; with 2, 1, 3, 0 and 2 freedoms."""
    links, contact = table(LINK, 6), table(CONTACT_CONSTRAINT, 5)
    links.parent, links.nv, links.v = [0, 0, 1, 1, 2, 0], [0, 2, 1, 3, 2, 2], [0, 0, 2, 3, 6, 8]
    contact.link = [[3, 4], [4, 0], [5, 4], [2, 4], [1, 1]]
    between = [[7, 6, 5, 4, 3, 2], [7, 6, 2, 1, 0], [9, 8, 7, 6, 2, 1, 0], [7, 6], []]
    whole = [[7, 6, 5, 4, 3, 2, 1, 0], [7, 6, 2, 1, 0], [9, 8, 7, 6, 2, 1, 0], [7, 6, 2, 1, 0], [1, 0]]
    for beyond, wanted in ((False, between), (True, whole)):
        for k, listed in enumerate(wanted):
            support = np.full((5, 10), -1)
            assert plain(contact_solver.list_support)(links, contact, beyond, support, k) == len(listed)
            assert support[k].tolist() == listed + [-1] * (10 - len(listed))
            assert (support[np.arange(5) != k] == -1).all()


def last_contacts(mechanism: Mechanism, count: int, rng: np.random.Generator) -> np.recarray:
    """Presses between random links with random wrenches."""
    links = len(mechanism.work.links)
    contact = table(CONTACT_CONSTRAINT, count)
    for k in range(count):
        contact.link[k] = rng.choice(links, 2, replace=False) if links > 2 else [0, 1]
    contact.rows, contact.K = rng.choice([1, 3], count), rng.normal(size=(count, 3, 12))
    for k in range(count):  # equal and opposite, about the origins of both
        a, b = mechanism.work.links.x[contact.link[k]]
        for r in range(3):
            moment, f = contact.K[k, r, :3], contact.K[k, r, 3:6]
            contact.K[k, r, 6:9], contact.K[k, r, 9:] = -moment - np.cross(b - a, f), -f
    return contact


def dense_rows(mechanism: Mechanism, contact: np.recarray, k: int) -> np.ndarray:
    """Rates of the rows of press k by unit speeds, (3, nv)."""
    J = mechanism.link_jacobians()
    a, b = contact.link[k]
    return contact.K[k, :, :6] @ J[b] + contact.K[k, :, 6:] @ J[a]


@pytest.mark.parametrize("seed", range(12))
def test_scaled_rows_multiply_to_what_a_dense_inertia_gives(seed: int) -> None:
    rng = np.random.default_rng(seed)
    flow = simulator_for(with_coordinates(rng, random_tree(rng, 2 + seed % 6))).flow
    mechanism = Mechanism.of(flow.model, flow.structure)
    mechanism.update(flow.q.copy(), flow.v.copy())
    tables, work = mechanism.structure.tables, mechanism.work
    M, nv, count = mechanism.inertia(), len(work.freedoms), 4
    assert plain(articulated.articulate)(tables.links, tables.freedoms, work.links, work.freedoms) == -1
    contact, support = last_contacts(mechanism, count, rng), np.zeros((count, nv), np.int64)
    U, R, G = np.zeros(9 * nv * count)[: 3 * nv * count], np.zeros((0, 0)), np.full((count, 3, 3), np.nan)
    dense = np.zeros((3 * count, nv))
    for k in range(count):
        contact.soft[k], contact.count[k] = (
            0.1 * k,
            plain(contact_solver.list_support)(tables.links, contact, True, support, k),
        )
        for r in range(contact.rows[k]):
            plain(contact_solver.scaled_row)(
                tables.links, tables.freedoms, work.links, work.freedoms, contact, k, r, (3 * k + r) * nv, U
            )
            n = contact.count[k]
            dense[3 * k + r, support[k, :n]] = U[(3 * k + r) * nv :][:n]
        plain(contact_solver.own_mobility)(False, k, contact, support, U, R, G)
    J = np.concatenate([dense_rows(mechanism, contact, k) for k in range(count)])
    there = np.concatenate([np.arange(3) < contact.rows[k] for k in range(count)])
    expected = (J @ np.linalg.solve(M, J.T)) * np.outer(there, there)
    assert dense @ dense.T == pytest.approx(expected, abs=1e-9 * np.abs(expected).max())
    for k in range(count):
        own = expected[3 * k : 3 * k + 3, 3 * k : 3 * k + 3].copy()
        own[0, 0] += contact.soft[k]
        assert G[k] == pytest.approx(own, abs=1e-9 * np.abs(expected).max())
        assert (G[k] == G[k].T).all()
    # What impulses do together, and what that does to each normal rate.
    push, P = np.zeros(nv), rng.normal(size=(count, 3))
    for k in range(count):
        plain(contact_solver.add_push)(False, k, *P[k], contact, support, U, R, push)
    assert push == pytest.approx(dense.T @ (P.ravel() * there), abs=1e-12 * np.abs(dense).max())
    for k in range(count):
        found = plain(contact_solver.answer_of)(k, contact, support, U, push)
        assert found == pytest.approx(dense[3 * k] @ push, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_rows_where_loops_hold_are_rates_of_their_freedoms(seed: int) -> None:
    rng = np.random.default_rng(seed)
    flow = simulator_for(random_mechanism(rng, 4 + seed % 3, loops=1)).flow
    mechanism = Mechanism.of(flow.model, flow.structure)
    mechanism.update(flow.q.copy(), flow.v.copy())
    tables, work = mechanism.structure.tables, mechanism.work
    nv, count = len(work.freedoms), 3
    contact, support = last_contacts(mechanism, count, rng), np.zeros((count, nv), np.int64)
    U = np.zeros(3 * nv * count)
    step_work = SimpleNamespace(links=work.links, freedoms=work.freedoms, contacts=contact, contact_U=U)
    for k in range(count):
        contact.count[k] = n = plain(contact_solver.list_support)(tables.links, contact, False, support, k)
        for r in range(3):
            plain(contact_solver.jacobian_row)(tables, step_work, k, r, (3 * k + r) * nv)
            found = np.zeros(nv)
            found[support[k, :n]] = U[(3 * k + r) * nv :][:n]
            expected = dense_rows(mechanism, contact, k)[r]
            assert found == pytest.approx(expected, abs=1e-12 * max(np.abs(expected).max(), 1.0))


def test_where_loops_hold_mobility_and_pushes_are_what_rows_answer() -> None:
    """G = U R^T, made even where it is not; a push is R P, whatever freedoms the rows name."""
    rng, nv = np.random.default_rng(3), 5
    contact, support = table(CONTACT_CONSTRAINT, 2), np.array([[4, 1, 3, 0, 0], [2, 0, 0, 0, 0]])
    contact.rows, contact.count, contact.soft = [3, 1], [3, 1], [0.25, 0.5]
    U, R, G = rng.normal(size=30), rng.normal(size=(6, nv)), np.full((2, 3, 3), np.nan)
    for k in range(2):
        plain(contact_solver.own_mobility)(True, k, contact, support, U, R, G)
    W = np.zeros((6, nv))
    for row in range(3):
        W[row, [4, 1, 3]] = U[5 * row : 5 * row + 3]
    W[3, 2] = U[15]
    answers = W @ R.T
    expected = 0.5 * (answers + answers.T)
    assert G[0] == pytest.approx(expected[:3, :3] + np.diag([0.25, 0, 0]), rel=1e-13)
    assert G[1] == pytest.approx(np.diag([answers[3, 3] + 0.5, 0.0, 0.0]), rel=1e-13)
    push = np.full(nv, 0.5)
    plain(contact_solver.add_push)(True, 0, 1.5, -2.0, 0.7, contact, support, U, R, push)
    plain(contact_solver.add_push)(True, 1, 3.0, 9.0, 9.0, contact, support, U, R, push)
    assert push - 0.5 == pytest.approx(1.5 * R[0] - 2.0 * R[1] + 0.7 * R[2] + 3.0 * R[3], rel=1e-13)


class Woods:
    """Three trees of freedoms 0-1, 2-4 and 5, and presses between them and the world."""

    def __init__(self) -> None:
        self.contact = table(CONTACT_CONSTRAINT, 6)
        self.contact.count = [2, 4, 1, 3, 0, 2]
        support = np.zeros((6, 5), np.int64)
        support[0, :2], support[1, :4], support[2, :1], support[3, :3], support[5, :2] = (
            [1, 0],
            [4, 3, 1, 0],
            5,
            [4, 3, 2],
            [3, 2],
        )
        self.problem = SimpleNamespace(
            contact=self.contact, tree=np.array([0, 0, 2, 2, 2, 5]), support=support, awake=np.full((2, 6), 7),
            off=np.array([0.5, 0.1, 0.3, 0.2, 9.0, 0.1]), chosen=np.full(6, -1), place=np.full(6, 9),
            first=np.full(6, 9), at=np.full((6, 5), -1),
        )  # fmt: skip


def test_trees_wake_where_a_press_is_off_its_law() -> None:
    woods = Woods()
    problem = woods.problem
    plain(contact_solver.let_sleep)(problem)
    assert problem.awake[0].tolist() == [0] * 6 and problem.awake[1].tolist() == [7] * 6
    plain(contact_solver.wake)(problem, 5, 0.3)
    assert problem.awake[0].tolist() == [1, 0, 0, 0, 0, 0]  # not those at 0.3, nor what reaches no freedom
    problem.off[1] = 0.31
    plain(contact_solver.wake)(problem, 5, 0.3)
    assert problem.awake[0].tolist() == [1, 0, 1, 0, 0, 0]
    assert [plain(contact_solver.trees_of)(problem, k) for k in (0, 1, 2, 3)] == [(0, 0), (2, 0), (5, 5), (2, 2)]


def test_presses_of_trees_that_take_part_are_chosen_with_all_that_they_reach() -> None:
    """Freedoms are numbered backwards, from tips to roots; `first`: the column where each one's row begins."""
    woods = Woods()
    problem = woods.problem
    problem.awake[0] = [1, 0, 0, 0, 0, 0]
    assert plain(contact_solver.choose_off)(problem, 6) == (2, 5)
    assert problem.chosen.tolist() == [0, 1, -1, -1, -1, -1]
    assert problem.awake[1].tolist() == [1, 0, 1, 0, 0, 0]
    assert problem.place.tolist() == [4, 3, 2, 1, 0, -1]
    assert problem.at[0, :2].tolist() == [3, 4] and problem.at[1, :4].tolist() == [0, 1, 3, 4]
    assert problem.first[:5].tolist() == [0, 0, 2, 0, 0]
    problem.awake[0] = [0, 0, 0, 0, 0, 1]
    assert plain(contact_solver.choose_off)(problem, 6) == (1, 1)
    assert problem.chosen[0] == 2 and problem.place.tolist() == [-1] * 5 + [0] and problem.first[0] == 0
    problem.awake[0] = [0, 0, 1, 0, 0, 0]
    assert plain(contact_solver.choose_off)(problem, 5) == (2, 5)
    assert problem.chosen[:2].tolist() == [1, 3]
    plain(contact_solver.choose_all)(problem, 4)
    assert problem.chosen.tolist() == [0, 1, 2, 3, -1, -1]


class Posts:
    """Presses on freedoms of their own: with friction, without, and between bounds."""

    def __init__(self) -> None:
        rng = np.random.default_rng(5)
        self.contact = table(CONTACT_CONSTRAINT, 4)
        self.contact.rows, self.contact.count, self.contact.high, self.contact.friction = (
            [3, 1, 1, 3],
            [3, 1, 1, 3],
            np.inf,
            0.4,
        )
        self.contact.low[2], self.contact.high[2] = -0.2, 0.3
        width, nv = 3, 8
        self.support = np.array([[0, 1, 2], [3, 0, 0], [4, 0, 0], [5, 6, 7]])
        U, G = np.zeros((4, 3, width)), np.zeros((4, 3, 3))
        for k in range(4):
            n = self.contact.rows[k]
            U[k, :n, :n] = rng.normal(size=(n, n)) + 2.0 * np.eye(n)
            G[k] = U[k] @ U[k].T
        self.contact.free = rng.normal(size=(4, 3)) - [2.0, 0.0, 0.0]
        self.problem = SimpleNamespace(
            contact=self.contact, support=self.support, U=U.ravel(), R=np.zeros((0, 0)), G=G, d=np.zeros((4, 2)),
            P=np.zeros((4, 3)), z=np.zeros((4, 3)), off=np.zeros(4), push=np.zeros(nv), chosen=np.array([3, 1, 2, 0]),
        )  # fmt: skip

    def rates(self) -> np.ndarray:
        return np.einsum("kij,kj->ki", self.problem.G, self.problem.P) + self.contact.free


def test_a_visit_brings_each_press_to_its_law() -> None:
    posts = Posts()
    problem = posts.problem
    worst = plain(contact_solver.look_at_all)(problem, 4)
    assert worst == problem.off.max() and np.argmax(problem.off) != 3
    first = plain(contact_solver.visit_all)(problem, False, 4, 1.0, 1e-9)
    assert first == pytest.approx(worst, rel=1e-14)
    P, z = problem.P, posts.rates()
    assert P[1, 0] == pytest.approx(-posts.contact.free[1, 0] / problem.G[1, 0, 0], rel=1e-13)
    assert P[2, 0] == 0.3  # its bound
    for k in (0, 3):
        assert P[k, 0] > 0 and z[k, 0] == pytest.approx(0.0, abs=1e-12)
        assert np.hypot(*P[k, 1:]) <= 0.4 * P[k, 0] * (1 + 1e-12)
    push = np.zeros(8)
    for k in range(4):
        n = posts.contact.rows[k]
        push[posts.support[k, :n]] = P[k, :n] @ problem.U.reshape(4, 3, 3)[k, :n, :n]
    assert problem.push == pytest.approx(push, abs=1e-13)
    assert plain(contact_solver.look_at_all)(problem, 4) < 1e-11
    assert plain(contact_solver.look_at_all)(problem, 0) == 0.0


def test_a_visit_goes_a_share_of_the_way_and_leaves_out_who_is_near() -> None:
    whole, half = Posts(), Posts()
    plain(contact_solver.visit_all)(whole.problem, False, 4, 1.0, 1e-9)
    plain(contact_solver.visit_all)(half.problem, False, 4, 0.5, 1e-9)
    assert pytest.approx(0.5 * whole.problem.P, rel=1e-13) == half.problem.P
    assert half.problem.push == pytest.approx(0.5 * whole.problem.push, rel=1e-13)
    some = Posts()
    plain(contact_solver.look_at_all)(some.problem, 4)
    for k in range(4):  # a tenth of what is enough is near
        for enough, moved in ((10.01 * some.problem.off[k], False), (9.99 * some.problem.off[k], True)):
            some = Posts()
            plain(contact_solver.look_at_all)(some.problem, 4)
            found = plain(contact_solver.visit_all)(some.problem, False, 4, 1.0, enough)
            assert found == some.problem.off.max()
            assert bool(some.problem.P[k].any()) == moved
    few = Posts()
    plain(contact_solver.visit_all)(few.problem, False, 2, 1.0, 1e-9)
    assert few.problem.P[[1, 3]].all(axis=0).any() and not few.problem.P[[0, 2]].any()


class Crowd:
    """Points of random bodies, each a tree of six freedoms of its own, as the problem of a time step."""

    def __init__(self, seed: int, points: int, bodies: int, looped: bool = False):
        made = random_bodies(seed, points, bodies, spread=5.0)
        nv = 6 * bodies
        half = np.linalg.cholesky(made.inverse)  # W M^-1 W^T = (W L)(W L)^T
        self.rows, self.mu, self.u = made.W @ half, 0.4, made.u.copy()
        self.u[::3] = -np.abs(self.u[::3])
        contact = table(CONTACT_CONSTRAINT, points)
        contact.rows, contact.high, contact.friction, contact.free = 3, np.inf, self.mu, self.u.reshape(-1, 3)
        support, U, R = np.zeros((points, nv), np.int64), np.zeros((points, 3, nv)), np.zeros((3 * points, nv))
        for k in range(points):
            touched = np.flatnonzero(np.abs(made.W[3 * k : 3 * k + 3]).sum(axis=0))
            trees = sorted({int(i) // 6 for i in touched})
            freedoms = [i for tree in reversed(trees) for i in range(6 * tree + 5, 6 * tree - 1, -1)]
            contact.count[k], support[k, : len(freedoms)] = len(freedoms), freedoms
            source = made.W if looped else self.rows
            U[k, :, : len(freedoms)] = source[3 * k : 3 * k + 3, freedoms]
            R[3 * k : 3 * k + 3] = made.W[3 * k : 3 * k + 3] @ made.inverse
        G = made.G
        self.G = G
        blocks = np.array([G[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] for k in range(points)])
        self.work = SimpleNamespace(
            contacts=contact, contact_support=support, contact_U=U.ravel(), contact_R=R, contact_G=blocks,
            contact_d=np.zeros((points, 2)), contact_P=np.zeros((points, 3)), contact_z=np.zeros((points, 3)),
            contact_off=np.zeros(points), push=np.zeros(nv), contact_tree=6 * (np.arange(nv) // 6),
            contact_chosen=np.zeros(points, np.int64), contact_place=np.zeros(nv, np.int64),
            contact_awake=np.zeros((2, nv), np.int64), contact_at=np.zeros((points, nv), np.int64),
            contact_shape=np.zeros((3, nv + 1), np.int64), push_step=np.zeros((4, nv)), contact_p=np.zeros((points, 3)),
            contact_best=np.zeros((points, 3)), contact_matrix=np.zeros(nv * nv),
            contact_reached=np.zeros(nv, np.int64), islands=_islands(6 * (np.arange(nv) // 6)),
            island_press=np.zeros(points, np.int64),
            island_first=np.zeros(nv + 1, np.int64), island_start=np.zeros(nv + 1, np.int64),
            island_joined=np.zeros(2 * points, np.int64), island_runs=np.zeros((nv, 2 * RUNS), np.int64),
            island_columns=np.zeros((5, nv), np.int64), island_next=np.zeros(points, np.int64),
        )  # fmt: skip
        self.tables = SimpleNamespace(rows=SimpleNamespace(block=np.zeros(1 if looped else 0)))

    def solve(self, monkeypatch: pytest.MonkeyPatch, enough: float) -> tuple[int, float]:
        monkeypatch.setattr(contact_solver, "unpack", lambda system: (self.tables, None, self.work, None))
        return plain(contact_solver.solve_presses)(None, len(self.work.contacts), enough)

    def off(self) -> float:
        """How far the worst press is from its law, in numpy (Alart-Curnier), as a rate of its own mobility."""
        P, z, worst = self.work.contact_P, (self.G @ self.work.contact_P.ravel() + self.u).reshape(-1, 3), 0.0
        for k in range(len(P)):
            trace = np.trace(self.G[3 * k : 3 * k + 3, 3 * k : 3 * k + 3])
            n, t = P[k, 0] - z[k, 0] / trace, P[k, 1:] - z[k, 1:] / trace
            size, radius = np.hypot(*t), self.mu * max(P[k, 0], 0.0)
            wanted = np.array([max(n, 0.0), *(t * min(1.0, radius / size if size else 1.0))])
            worst = max(worst, float(np.linalg.norm(P[k] - wanted)) * trace)
        return worst


@pytest.mark.parametrize("looped", [False, True])
@pytest.mark.parametrize("seed", range(1, 5))
def test_all_presses_of_a_step_come_to_their_laws(monkeypatch: pytest.MonkeyPatch, seed: int, looped: bool) -> None:
    crowd = Crowd(seed, 6, 3, looped)
    fastest = np.abs(crowd.u).max()
    made, worst = crowd.solve(monkeypatch, 1e-6 * fastest)
    assert 1 <= made <= (300 if not looped else 60)
    assert worst >= crowd.off() * (1.0 - 1e-3) - 1e-12  # an island that is slower counts for more
    if looped:
        assert worst == pytest.approx(crowd.off(), rel=1e-3, abs=1e-12)
    assert worst <= (1e-3 if not looped else 0.3) * fastest
    if not looped:
        assert crowd.work.push == pytest.approx(crowd.rows.T @ crowd.work.contact_P.ravel(), abs=1e-9)
        again, still = crowd.solve(monkeypatch, 2.0 * worst + 1e-12)
        assert (again, still) == (0, pytest.approx(worst, rel=1e-9))


def test_what_keeps_its_law_is_not_solved_and_what_does_not_is_visited_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Presses that answer nobody: one sweep solves them, the next one sees it."""
    for looped, sweeps in ((False, 2), (True, 2)):
        crowd = Crowd(1, 1, 1, looped)
        made, worst = crowd.solve(monkeypatch, 1e-9)
        assert made == sweeps and worst < 1e-9 and crowd.off() < 1e-9
        assert crowd.solve(monkeypatch, 1e-9)[0] == 0
