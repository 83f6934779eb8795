"""Rows that wait in a front: who goes next, what is left of the others, how they are handed on; in numpy, by row."""

from __future__ import annotations

import numpy as np
import pytest

from sim.kernels.elimination import articulated, fronts, pivots
from sim.kernels.elimination.pivots import CUT, DELAY, REPEATED, UNFELT
from sim.kernels.scratch import BLOCK_WORK, FRONT_WORK, LINK_WORK, ONE_WORK, ROW_WORK
from sim.kernels.tables import BLOCK, FRONT, LINK, ROW, table
from tests.kernels.kinds import PLANAR, ROTATIONAL, SPHERICAL
from tests.kernels.plain import plain
from tests.kernels.trees import Tree

pytestmark = pytest.mark.fast

ROWS, ROOM = 9, 12
LENGTH = 1.7


class Front:
    """Some of nine rows, in any order, as they wait in a front: lower triangles count, whatever is above them."""

    def __init__(self, seed: int, rows: tuple[int, ...] = (4, 1, 7, 2, 8)):
        rng = np.random.default_rng(seed)
        self.rng, self.p = rng, len(rows)
        self.rows, self.work, self.blocks, self.one = (
            table(ROW, ROWS), table(ROW_WORK, ROWS), table(BLOCK_WORK, 4), table(ONE_WORK, 1),
        )  # fmt: skip
        self.rows.block, self.blocks.whole = rng.integers(0, 4, ROWS), rng.uniform(0.5, 2.0, 4)
        self.rows.compliance[[1, 5]] = 0.3
        self.work.whole = rng.uniform(0.5, 2.0, ROWS)
        self.work.at, self.work.rim = -1, -1
        self.row = np.full(ROOM, -5)
        self.row[: self.p] = rows
        self.work.at[list(rows)] = np.arange(self.p)
        self.work.closed = 1
        self.K = rng.normal(size=(ROOM, 6))
        A = rng.normal(size=(ROOM, ROOM))
        self.G = np.tril(A @ A.T) + np.triu(np.full((ROOM, ROOM), 77.0), 1)
        self.work.at = self.work.at.copy()

    @property
    def waiting(self) -> pivots.Front:
        """As kernels have it."""
        return pivots.Front(self.row, self.work.at, self.K, self.G)

    def notes(self, fronts_work: np.recarray, ids: np.ndarray, J: np.ndarray) -> fronts.Notes:
        """Return what a pass writes down."""
        return fronts.Notes(self.work, self.blocks, fronts_work, self.one, ids, J)

    def by_row(self, p: int | None = None) -> tuple[dict[int, np.ndarray], dict[tuple[int, int], float]]:
        """Return wrenches and compliances by rows."""
        p = self.p if p is None else p
        own = self.row[:p].tolist()
        K = {r: self.K[j].copy() for j, r in enumerate(own)}
        G = {(r, s): self.G[max(i, j), min(i, j)] for i, r in enumerate(own) for j, s in enumerate(own)}
        return K, G


def same(found: tuple, expected: tuple) -> None:
    for one, other in zip(found, expected, strict=True):
        assert one.keys() == other.keys()
        for key in other:
            np.testing.assert_allclose(one[key], other[key], atol=1e-12, err_msg=str(key))


@pytest.mark.parametrize("j", range(5))
def test_a_row_that_is_taken_off_leaves_the_others_as_they_are(j: int) -> None:
    front = Front(j)
    K, G = front.by_row()
    r, last = int(front.row[j]), front.K[j].copy()
    own = {s: G[r, s] for s in front.row[:5].tolist()}
    q = plain(fronts.remove)(j, 5, front.waiting)
    assert q == 4 and front.row[4] == r and front.work.at[r] == -1
    np.testing.assert_array_equal(front.K[4], last)
    for i, s in enumerate(front.row[:5].tolist()):
        assert front.G[4, i] == own[s]
        assert front.work.at[s] == (i if i < 4 else -1)
    kept = [s for s in K if s != r]
    same(front.by_row(4), ({s: K[s] for s in kept}, {(s, u): G[s, u] for s in kept for u in kept}))


@pytest.mark.parametrize("place", [6, 7])
@pytest.mark.parametrize("choose", [0, 1])
@pytest.mark.parametrize("j", [0, 2, 4])
def test_elimination_takes_a_row_out_of_the_others(j: int, choose: int, place: int) -> None:
    """At a link out of their wrenches, too; what is kept of it goes on where others stopped."""
    front = Front(j + 10)
    K, G = front.by_row()
    r = int(front.row[j])
    front.one.filled, front.one.listed, front.one.rank = 3, 2, 1
    front.one.least_pivot, front.one.largest_pivot = 0.1, 0.2
    front.work.order = -9
    J, ids = np.full(20, 55.0), np.full(20, 66)
    q = plain(fronts.eliminate)(
        place, j, 5, choose, front.rows, front.notes(table(FRONT_WORK, 1), ids, J), front.waiting
    )  # fmt: skip
    others = [s for s in K if s != r]
    root = np.sqrt(G[r, r])
    work, one = front.work, front.one
    assert (q, work.place[r], work.l[r], work.ids[r], work.count[r]) == (4, place, 3, 2, 4)
    assert work.order.tolist() == [-9, r, *[-9] * 7]
    assert (one.rank[0], one.filled[0], one.listed[0]) == (2, 7, 6)
    hard = choose and front.rows.compliance[r] == 0.0
    assert [one.least_pivot[0], one.largest_pivot[0]] == [0.1, max(0.2, work.whole[r]) if hard else 0.2]
    assert work.ip[r] == pytest.approx(1 / root, rel=1e-13)
    np.testing.assert_allclose(work.k[r], K[r] / root, rtol=1e-12)
    assert sorted(ids[2:6].tolist()) == sorted(others)
    share = dict(zip(ids[2:6].tolist(), J[3:7], strict=True))
    assert np.all(J[[0, 1, 2, 7]] == 55.0) and np.all(ids[[0, 1, 6]] == 66)
    for s in others:
        assert share[s] == pytest.approx(G[s, r] / root, rel=1e-12)
    left_K = {s: K[s] - (share[s] * K[r] / root if place == 6 else 0.0) for s in others}
    left_G = {(s, u): G[s, u] - share[s] * share[u] for s in others for u in others}
    same(front.by_row(4), (left_K, left_G))


def test_a_row_that_a_stage_lost_pushes_nothing() -> None:
    front = Front(3)
    front.G[2, 2] = -0.5
    before = front.by_row()
    J, ids = np.zeros(20), np.zeros(20, int)
    plain(fronts.eliminate)(
        6, 2, 5, 0, front.rows, front.notes(table(FRONT_WORK, 1), ids, J), front.waiting
    )  # fmt: skip
    assert front.work.ip[7] == 0.0 and np.all(front.work.k[7] == 0.0)
    found = front.by_row(4)
    same(found, tuple({k: v for k, v in part.items() if k in found[n]} for n, part in enumerate(before)))


def test_a_row_joins_once_and_is_closed_when_it_comes_again() -> None:
    front = Front(1)
    front.work.closed = 0
    assert plain(fronts.join)(6, 5, front.work, front.waiting) == 6
    assert front.row[5] == 6 and front.work.at[6] == 5 and front.work.closed[6] == 0
    assert np.all(front.K[5] == 0.0) and np.all(front.G[5, :6] == 0.0) and front.G[5, 6] == 77.0
    front.K[5], front.G[5, :6] = 3.0, 4.0
    assert plain(fronts.join)(6, 6, front.work, front.waiting) == 6
    assert front.work.closed.tolist() == [0, 0, 0, 0, 0, 0, 1, 0, 0]
    assert np.all(front.K[5] == 3.0) and np.all(front.G[5, :6] == 4.0)


def test_rows_are_handed_to_a_parent_who_adds_its_own() -> None:
    """Over a pile on which others stand, whose owner takes them later; rows that come from two sides are closed."""
    first, second = Front(5, (4, 1, 7)), Front(6, (7, 2, 4, 8))
    work, links, entries = table(FRONT_WORK, 6), table(LINK, 6), np.array([2 * 3, 2 * 1 + 1, 2 * 5, 2 * 6 + 1])
    links.parent = [0, 0, 1, 1, 1, 3]
    pile, ids, one, rows = np.full(200, np.nan), np.full(30, -7), first.one, first.rows
    work.pending, work.ids = [0, 0, 0, 3, 4, 2], [0, 0, 0, 5, 10, 1]
    shared = first.work
    parts = []
    for b, front in ((5, Front(9, (0, 6))), (4, second), (3, first)):
        parts.append(front.by_row())
        ids[work.ids[b] : work.ids[b] + front.p] = front.row[: front.p]
        shared.at[front.row[: front.p]] = np.arange(front.p)
        waiting = front.waiting._replace(at=shared.at)  # one table for all
        plain(fronts.hand_on)(b, front.p, fronts.Notes(shared, None, work, one, ids, None), waiting, pile)
        assert np.all(shared.at[front.row[: front.p]] == -1)
    assert one.depth[0] == 3 and work.stack[:3].tolist() == [5, 4, 3]
    assert work.pile[[5, 4, 3]].tolist() == [0, 2 * 8, 2 * 8 + 4 * 10]
    fronts_of, blocks, link_work, block_work = table(FRONT, 6), table(BLOCK, 4), table(LINK_WORK, 6), second.blocks
    fronts_of.first[1], fronts_of.count[1] = 1, 3
    rng = first.rng
    block_work.p_WM, link_work.x, shared.row = (rng.normal(size=size) for size in ((4, 3), (6, 3), (ROWS, 6)))
    rows.compliance[5] = 0.3
    shared.closed = 0
    merged = Front(7, ())
    keeps = np.ones(ROWS, np.int64)
    keeps[6] = 0
    p = plain(fronts.collect_front)(
        1, 0, 0, fronts.Tree(links, None, link_work, None), fronts.Loops(blocks, rows, fronts_of, entries, keeps),
        fronts.Notes(shared, block_work, work, one, ids, None), pile, merged.waiting._replace(at=shared.at),
    )  # fmt: skip
    assert one.depth[0] == 1  # what stands for another parent stays
    (K2, G2), (K1, G1) = parts[1], parts[2]
    expected_K = {r: K1.get(r, 0.0) + K2.get(r, np.zeros(6)) for r in {*K1, *K2}}
    expected_G = {
        (r, s): G1.get((r, s), 0.0) + G2.get((r, s), 0.0) for r in {*K1, *K2, 5} for s in {*K1, *K2, 5}
    }  # fmt: skip
    for r, side in ((1, -1.0), (5, 1.0)):
        wrench, arm = shared.row[r], block_work.p_WM[rows.block[r]] - link_work.x[1]
        K = side * np.r_[wrench[:3] + np.cross(arm, wrench[3:]), wrench[3:]]
        expected_K[r] = expected_K.get(r, 0.0) + K
    expected_G[5, 5] = 0.3
    same(merged.by_row(p), (expected_K, expected_G))
    assert np.flatnonzero(shared.closed).tolist() == [1, 4, 7]
    assert shared.at[merged.row[:p]].tolist() == list(range(p))


def test_what_reaches_the_world_is_added_to_the_rim() -> None:
    front, rim = Front(8, (7, 3, 1)), Front(9, (1, 5, 7))
    work = rim.work
    work.rim, work.at = work.at, -1
    work.at[[7, 3, 1]] = range(3)
    work.closed = 0
    front.one.rim = 3
    (_, G), (_, own) = rim.by_row(), front.by_row()
    notes = fronts.Notes(work, None, None, front.one, None, None)
    plain(fronts.reach_rim)(3, notes, front.waiting._replace(at=work.at), rim.waiting._replace(at=work.rim))
    assert front.one.rim[0] == 4 and np.all(work.at == -1)
    assert work.rim[[1, 5, 7, 3]].tolist() == [0, 1, 2, 3]
    _, found = rim.by_row(4)
    for r in (1, 5, 7, 3):
        for s in (1, 5, 7, 3):
            assert found[r, s] == pytest.approx(G.get((r, s), 0.0) + own.get((r, s), 0.0), abs=1e-12)
    assert np.flatnonzero(work.closed).tolist() == [1, 7]


def test_rows_go_in_the_order_that_was_kept_where_they_went_then() -> None:
    front = Front(2)
    work, one = front.work, front.one
    work.kept[:3], one.rank = [7, 4, 2], 1
    work.kept_place[4] = 6
    work.rim[4] = 9
    one.kept_rank, rim = 3, front.waiting._replace(at=work.rim)
    assert plain(fronts.next_kept)(6, front.waiting, work, one) == front.work.at[4]
    assert plain(fronts.next_kept)(8, front.waiting, work, one) == -1
    work.kept_place[4] = 7
    assert plain(fronts.next_kept)(7, rim, work, one) == 9
    one.kept_rank = 1
    assert plain(fronts.next_kept)(7, rim, work, one) == -1


@pytest.mark.parametrize("choose", [0, 1])
def test_a_pass_begins_with_no_row_anywhere(choose: int) -> None:
    front, blocks = Front(4), table(BLOCK, 4)
    blocks.a, blocks.b = [0, 1, 2, 3], [1, 0, 3, 2]
    work, one = front.work, front.one
    front.rows.block = np.arange(ROWS) % 4
    for name in ("at", "rim", "place", "closed"):
        work[name] = 5
    work.force, work.whole, front.blocks.whole = 6.0, 7.0, 8.0
    for name in ("rank", "filled", "listed", "depth", "rim"):
        one[name] = 3
    one.least_pivot, one.largest_pivot, one.kept_rank, work.kept[:3] = 0.3, 0.4, 3, [8, 2, 5]
    loops = fronts.Loops(blocks, front.rows, None, None, None)
    plain(fronts.open_rows)(choose, loops, fronts.Notes(work, front.blocks, None, one, None, None))
    for r in range(ROWS):
        if choose or r in (8, 2, 5):
            assert (work.at[r], work.rim[r], work.place[r], work.force[r]) == (-1, -1, -1, 0.0)
            assert work.closed[r] == (r % 4 < 2) and work.whole[r] == front.rows.compliance[r]
        else:
            assert (work.at[r], work.rim[r], work.place[r], work.closed[r]) == (5, 5, 5, 5)
            assert (work.force[r], work.whole[r]) == (6.0, 7.0)
    touched = {0, 1, 2, 3} if choose else {0, 2, 1}
    assert front.blocks.whole.tolist() == [0.0 if n in touched else 8.0 for n in range(4)]
    assert [one[name][0] for name in ("rank", "filled", "listed", "depth", "rim")] == [0] * 5
    assert [one.least_pivot[0], one.largest_pivot[0]] == ([0.0, 0.0] if choose else [0.3, 0.4])


def best_of(values: dict[int, float]) -> int:
    return max(values, key=lambda j: values[j]) if values else -1


@pytest.mark.parametrize("seed", range(8))
def test_the_ripest_row_has_the_best_pivot_beside_what_it_would_lock(seed: int) -> None:
    front = Front(seed)
    front.work.closed[[1, 4]] = seed % 3 != 0, seed % 2
    P = np.zeros((3, 21))
    P[1] = front.rng.uniform(0.5, 2.0, 21) * (1e-4 if seed % 2 else 1.0)
    floor = 0.0
    for scale in (1.0, 1e-3, 1e-4, 1e-6):
        weak = front.rng.uniform(0.3, 3.0, 5) * scale
        front.G[range(5), range(5)] = weak
        floor = (0.0, 3e-5)[seed % 2]
        shares = {}
        for j, r in enumerate(front.row[:5]):
            K = front.K[j]
            felt = (K[:3] @ K[:3]) / P[1, :3].sum() + (K[3:] @ K[3:]) / P[1, 15:18].sum()
            least = max(DELAY * felt, DELAY * front.blocks.whole[front.rows.block[r]], floor)
            if front.work.closed[r] and weak[j] > least:
                shares[j] = weak[j] / least
        found = plain(pivots.ripest)(1, 5, P, front.waiting, front.rows, front.work, front.blocks, floor)
        assert found == best_of(shares)


@pytest.mark.parametrize("seed", range(4))
def test_the_strongest_row_is_that_beside_its_joint_and_a_spent_one_has_nothing(seed: int) -> None:
    front = Front(seed)
    for cut, floor in ((0.4, 0.0), (0.4, 0.9), (CUT, 0.0), (5.0, 0.0)):
        weak = front.rng.uniform(0.1, 2.0, 5)
        front.G[range(5), range(5)] = weak
        front.work.closed[7] = seed % 2
        whole = front.blocks.whole[front.rows.block[front.row[:5]]]
        closed = front.work.closed[front.row[:5]] == 1
        shares = {
            j: weak[j] / whole[j] for j in range(5) if closed[j] and weak[j] > max(cut * whole[j], floor)
        }  # fmt: skip
        args = (front.waiting, front.rows, front.work, front.blocks, floor)
        assert plain(pivots.strongest)(5, *args, cut) == best_of(shares)
        lost = [j for j in range(5) if closed[j] and not weak[j] > max(CUT * whole[j], floor)]
        assert plain(pivots.spent)(5, *args) == (lost[0] if lost else -1)


def test_a_pivot_is_lost_beside_its_joint_or_the_floor() -> None:
    front = Front(1)
    front.rows.block[3], front.blocks.whole[2] = 2, 3.0
    front.rows.block[3] = 2
    for pivot, floor, gone in (
        (1.01 * 3.0 * CUT, 0.0, False), (0.99 * 3.0 * CUT, 0.0, True), (3.0 * CUT, 0.0, True), (0.5, 0.6, True),
        (0.5, 0.4, False), (np.nan, 0.0, True),
    ):  # fmt: skip
        assert plain(pivots.lost)(pivot, 3, front.rows, front.blocks, floor) == gone


@pytest.mark.parametrize("j", range(5))
def test_a_row_is_felt_by_its_link_or_by_those_below(j: int) -> None:
    """A moment is over the length; an open row may still come to be felt."""
    for k in range(6):
        limit = np.sqrt(UNFELT) * (LENGTH if k < 3 else 1.0)
        for share, pivot, closed, found in (
            (0.99, 0.0, 1, j), (1.01, 0.0, 1, -1), (0.99, 0.5, 1, -1), (0.99, 0.0, 0, -1)
        ):  # fmt: skip
            front = Front(j)
            front.G[range(5), range(5)] = 1.0
            front.K[j] = 0.0
            front.K[j, k], front.G[j, j], front.work.closed[front.row[j]] = -share * limit, pivot, closed
            args = (front.rows, front.work, front.blocks, LENGTH, 0.0)
            assert plain(pivots.unfelt)(5, front.waiting, *args) == found


@pytest.mark.parametrize("rank", [1, 3, 6])
def test_rows_without_pivots_are_told_by_few_of_their_wrenches(rank: int) -> None:
    front = Front(rank, tuple(range(9)))
    own = front.rng.normal(size=(rank, 6))
    front.K[:9] = front.rng.normal(size=(9, rank)) @ own
    front.G[range(9), range(9)] = 0.0
    front.G[4, 4], front.work.closed[6] = 1.0, 0
    basis = np.full((8, 6), 9.0)
    args = (front.rows, front.work, front.blocks, LENGTH, 0.0, basis)
    count, lone = plain(pivots.own_wrenches)(9, front.waiting, *args)
    assert (count, lone) == (rank, 7)
    scaled = front.K[:9] / np.repeat([LENGTH, 1.0], 3)
    np.testing.assert_allclose(basis[:rank] @ basis[:rank].T, np.eye(rank), atol=1e-12)
    chosen = basis[7, :rank].astype(int)
    assert not {4, 6} & set(chosen.tolist())
    left = scaled - scaled @ basis[:rank].T @ basis[:rank]
    np.testing.assert_allclose(left, 0.0, atol=1e-11)
    rest = scaled.copy()
    for r in chosen:  # each is the longest of what the ones before it left
        size = np.linalg.norm(rest, axis=1)
        size[[4, 6]] = 0.0
        assert r == np.argmax(size)
        rest -= np.outer(rest @ rest[r] / size[r] ** 2, rest[r])
    for r in range(9):
        assert plain(pivots.is_own)(r, rank, basis) == (r in chosen)
    p = plain(fronts.keep_own)(9, front.rows, LENGTH, 0.0, front.work, front.blocks, front.waiting, basis)
    assert sorted(front.row[:p].tolist()) == sorted({4, 6, *chosen.tolist()})


@pytest.mark.parametrize(("share", "left"), [(0.99, False), (1.01, True)])
def test_what_is_left_of_a_wrench_beside_others_may_be_roundoff(share: float, left: bool) -> None:
    basis, K = np.zeros((8, 6)), np.zeros((2, 6))
    basis[0], basis[1] = np.eye(6)[1], np.eye(6)[3]
    K[1, [1, 3]] = 3.0 * LENGTH, 4.0
    K[1, 5] = 5.0 * share * np.sqrt(REPEATED)
    found = plain(pivots.beside)(2, 1, K, LENGTH, basis)
    assert found == pytest.approx(K[1, 5] ** 2 if left else 0.0, rel=1e-9)
    assert plain(pivots.beside)(1, 1, K, LENGTH, basis) == pytest.approx(16.0, rel=1e-12)


@pytest.mark.parametrize("choose", [0, 1])
def test_freedoms_that_give_way_are_taken_out_of_the_rows_that_wait(choose: int) -> None:
    """x = S.K / sqrt(D): K <- K - g x, about the parent's origin; G <- G + x x^T."""
    tree, front = Tree(1, [(0, ROTATIONAL), (1, PLANAR), (2, SPHERICAL)], rotors=()), Front(3)
    tree.look(tree.q, tree.v)
    plain(articulated.articulate)(*tree.tree)
    b, work, one = 2, table(FRONT_WORK, 4), front.one
    one.filled, one.listed = 4, 3
    J, ids = np.full(40, 55.0), np.full(20, 66)
    K, G = front.by_row()
    whole, blocks = front.work.whole.copy(), front.blocks.whole.copy()
    expected_K, x = {}, {}
    for r in K:
        out = np.zeros(3)
        left, at = plain(articulated.climb)(*tree.tree, b, 1, tuple(K[r]), 0, 1, out)
        expected_K[r], x[r] = np.array(left), out
        assert at == 3
    plain(fronts.give_way)(
        b, 5, choose, fronts.Tree(*tree.tree), front.rows, front.notes(work, ids, J), front.waiting
    )  # fmt: skip
    same(front.by_row(), (expected_K, {(r, s): G[r, s] + x[r] @ x[s] for r in K for s in K}))
    assert (work.pending[b], work.X[b], work.ids[b]) == (5, 4, 3)
    assert (one.filled[0], one.listed[0]) == (4 + 15, 3 + 5)
    assert ids.tolist() == [66] * 3 + front.row[:5].tolist() + [66] * 12
    np.testing.assert_allclose(J[4:19].reshape(3, 5), np.column_stack([x[r] for r in front.row[:5].tolist()]))
    for r in K:
        whole[r] += x[r] @ x[r] if choose else 0.0
        if choose:
            n = int(front.rows.block[r])
            blocks[n] = max(blocks[n], whole[r])
    np.testing.assert_allclose(front.work.whole, whole, rtol=1e-12)
    np.testing.assert_allclose(front.blocks.whole, blocks, rtol=1e-12)


@pytest.mark.parametrize("limit", [0, 3, 4, 5, 7])
def test_weak_rows_wait_as_long_as_there_is_room(limit: int) -> None:
    """Then the strongest beside their joints go first, and make their link stiff."""
    front = Front(12)
    front.rows.block = np.arange(ROWS) % 4
    whole = front.blocks.whole[front.rows.block[front.row[:5]]]
    shares = np.array([3e-5, 1e-5, 5e-5, 2e-5, 4e-5])
    front.G[:5, :5] = np.diag(shares * whole)
    K = {r: front.K[j].copy() for j, r in enumerate(front.row[:5].tolist())}
    pivot = {r: front.G[j, j] for j, r in enumerate(front.row[:5].tolist())}
    strongest = front.row[:5][np.argsort(-shares)].tolist()[: max(5 - limit, 0)]
    links, work, one = table(LINK_WORK, 3), table(FRONT_WORK, 3), front.one
    links.P[2], one.rank = np.arange(1.0, 22.0), 2
    begun = links.P[2].copy()
    ids, J = np.zeros(40, int), np.zeros(40)
    p = plain(fronts.eliminate_at)(
        2, 5, 1, front.rows, LENGTH, 0.0, limit, links, front.notes(work, ids, J), front.waiting, np.zeros((8, 6))
    )  # fmt: skip
    assert p == min(limit, 5)
    assert (work.first[2], work.end[2], one.rank[0]) == (2, 2 + 5 - p, 2 + 5 - p)
    assert front.work.order[2 : 2 + 5 - p].tolist() == strongest
    assert front.work.place[strongest].tolist() == [4] * (5 - p)
    assert sorted([*front.row[:p].tolist(), *strongest]) == sorted(K)
    stiff = sum((np.outer(K[r], K[r]) / pivot[r] for r in strongest), np.zeros((6, 6)))
    found = links.P[2] - begun
    np.testing.assert_allclose(found[:6], stiff[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]], rtol=1e-9)
    np.testing.assert_allclose(found[6:15].reshape(3, 3), stiff[:3, 3:], rtol=1e-9)
    np.testing.assert_allclose(found[15:], stiff[[3, 4, 5, 3, 3, 4], [3, 4, 5, 4, 5, 5]], rtol=1e-9)


@pytest.mark.parametrize("choose", [0, 1])
def test_the_rim_eliminates_what_no_later_root_can_touch(choose: int) -> None:
    """After a root what is good enough while there is room; at the end all that has a pivot; what is lost goes."""
    for b, limit, gone in ((3, 9, [7]), (3, 2, [7, 4, 1]), (0, 0, [7, 4, 1, 2])):
        front = Front(13)
        front.rows.block = np.arange(ROWS) % 4
        front.work.rim, front.work.at = front.work.at, -1
        front.blocks.whole = 1.0
        front.G[:5, :5] = np.diag([2e-5, 1.5e-5, 0.4, 1e-6, 0.0])  # of rows 4, 1, 7, 2, 8
        work, one = table(FRONT_WORK, 4), front.one
        one.rim, one.rank = 5, 0
        front.work.kept[: len(gone)], front.work.kept_place[gone] = gone, 2 * b + 1
        ids, J = np.zeros(40, int), np.zeros(40)
        one.kept_rank, rim = len(gone), front.waiting._replace(at=front.work.rim)
        plain(fronts.eliminate_rim)(b, choose, front.rows, 0.0, limit, front.notes(work, ids, J), rim)
        assert front.work.order[: one.rank[0]].tolist() == gone
        assert (work.rim_first[b], work.rim_end[b]) == (0, len(gone))
        assert front.work.place[gone].tolist() == [2 * b + 1] * len(gone)
        left = [r for r in (4, 1, 7, 2, 8) if r not in gone and not (choose and r == 8)]
        assert sorted(front.row[: one.rim[0]].tolist()) == sorted(left)
