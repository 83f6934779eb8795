"""Steps of a way to what is written: how long, when taken, how corrected; tangents and corrections by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sim.assembly import continuation
from sim.assembly.continuation import Leg, Reached, Way
from sim.assembly.loop_closure import Aim
from sim.assembly.standing import NOWHERE

pytestmark = pytest.mark.fast


class Stepped(Way):
    """A way of one freedom that turns `size` rad in all; tries are listed, and taken where `takes` says so."""

    def __init__(self, size: float, takes=lambda s, step: True, known: bool = True):
        self.mechanism: Any = SimpleNamespace(update=lambda q, v: self.looked.append(q.copy()))
        self.q, self.v, self.unit, self.fixed = np.zeros(1), np.zeros(1), np.ones(1), np.zeros(1, bool)
        self.of_tree, self.of_loops, self.standing = [None], [], NOWHERE
        self.size, self.takes, self.known = size, takes, known
        self.tried: list[tuple[float, float]] = []
        self.looked: list[np.ndarray] = []

    def _leap(self) -> None:
        self.q[:] = 7.0

    def _tangent(self, s: float) -> tuple[np.ndarray, bool]:
        assert s == 0.0
        return np.array([-self.size]), self.known

    def _try(self, s: float, step: float, tangent: np.ndarray, known: bool):
        self.tried.append((s, step))
        assert tangent.tolist() == [-self.size] and known == (self.known or s > 0.0)
        return (tangent, True) if self.takes(s, step) else None

    @property
    def steps(self) -> list[float]:
        return [step for _, step in self.tried]


def test_steps_of_a_way_are_a_fifth_of_a_radian_and_end_at_its_end() -> None:
    way = Stepped(0.9)
    assert way.go() == 1.0 and way.looked[0].tolist() == [7.0]
    assert way.steps == pytest.approx([0.2 / 0.9] * 4 + [0.1 / 0.9])
    assert sum(way.tried[-1]) == 1.0
    assert Stepped(0.0).go() == 1.0 and (still := Stepped(0.0)).go() == 1.0 and still.steps == [1.0]
    lone = Stepped(1.0)
    lone.unit[:] = 4.0  # a slide, in lengths of the mechanism
    assert lone.go() == 1.0 and lone.steps == pytest.approx([0.8, 0.2])


def test_the_first_step_is_short_where_no_tangent_is_known_and_later_ones_double() -> None:
    way = Stepped(1.0, known=False)
    assert way.go() == 1.0
    assert way.steps == pytest.approx([0.02, 0.04, 0.08, 0.16, 0.2, 0.2, 0.2, 0.1])


def test_a_step_that_is_not_taken_is_halved() -> None:
    way = Stepped(1.0, lambda s, step: step < 0.06 or s > 0.099)
    assert way.go() == 1.0
    assert way.steps == pytest.approx([0.2, 0.1, 0.05, 0.1, 0.05, 0.1, 0.2, 0.2, 0.2, 0.2])


@pytest.mark.parametrize("over", [1e-5, 1e-4, 1e-3, 1e-2, None])
def test_what_stops_a_way_is_stepped_over_by_a_hundredth_of_a_radian_at_most(over: float | None) -> None:
    size = 0.5
    way = Stepped(size, lambda s, step: s < 0.399 or s > 0.4 or (over is not None and step >= 0.999 * over / size))
    if over is not None:
        way.takes = lambda s, step: s != 0.4 or (step <= 1.01 * over / size and step >= 0.99 * over / size)
        assert way.go() == 1.0
    else:
        way.takes = lambda s, step: s < 0.4
        assert way.go() == 0.4
    at = [step for s, step in way.tried if s == 0.4]
    halved = [0.4 * 0.5**k for k in range(19)]  # 0.2 rad, to below 1e-6
    longer = [x / size for x in (1e-5, 1e-4, 1e-3, 1e-2)]
    assert halved[-1] * size <= 1e-6 < halved[-2] * size
    assert at == pytest.approx([*halved, *(longer if over is None else [x for x in longer if x <= 1.01 * over / size])])
    if over is not None:  # then twice as long
        after = [(s, step) for s, step in way.tried if s > 0.4]
        assert after[0] == pytest.approx((0.4 + over / size, min(2.0 * over / size, 0.4, 0.6 - over / size)))


def test_no_way_is_longer_than_five_thousand_steps_nor_stepped_over_beyond_its_end() -> None:
    assert Stepped(2000.0).go() == pytest.approx(0.5, abs=1e-9)
    short = Stepped(5e-4, lambda s, step: False)
    assert short.go() == 0.0 and short.steps[-2:] == pytest.approx([0.02, 0.2])


def test_a_way_whose_legs_are_all_there_is_gone_and_what_stands_is_chosen_by_what_may_move() -> None:
    way, asked = Stepped(1.0), []
    way.of_tree, way.of_loops = [], [SimpleNamespace(rate=np.zeros(2))]
    assert way.go() == 1.0 and way.tried == []
    way.of_loops += [SimpleNamespace(rate=np.array([0.0, 1e-3]))]

    class Some(list):
        def moved_by(self, mechanism: Any, free: np.ndarray) -> Any:
            asked.append(free.tolist())
            return NOWHERE

    way.standing = Some([1, 2])
    assert way.go() == 1.0 and len(way.tried) == 5 and asked == [[True]] and way.standing is NOWHERE


class Tried(Way):
    """A way at which a step is tried: what the corrector moves and the tangent behind it are given."""

    def __init__(self, moved: float | None, after: tuple[list[float], bool]):
        self.turn, self.looked = np.array([0.5]), []
        self.mechanism: Any = SimpleNamespace(
            control=SimpleNamespace(turn=self.turn), work=SimpleNamespace(coordinate=np.array([0.75])),
            structure=SimpleNamespace(tables=SimpleNamespace(links=None)),
            update=lambda q, v: self.looked.append(q.tolist()),
        )  # fmt: skip
        self.q, self.v, self.fixed = np.array([1.0, 2.0, 4.0]), np.zeros(3), np.array([False, True, True])
        self.unit, self.moved, self.after, self.at = np.array([1.0, 2.0, 1.0]), moved, after, []
        leg = Leg(Aim(0, np.array([9.0])), np.array([3.0]), np.array([2.0]))
        self.of_tree = [leg]

    def _q_of(self, leg: Leg) -> slice:
        return slice(1, 2)

    def _correct(self, s: float) -> float | None:
        self.at.append((s, self.q.tolist()))
        self.q[0] += 0.25
        self.turn[:] = 0.6
        return self.moved

    def _tangent(self, s: float) -> tuple[np.ndarray, bool]:
        assert s == self.at[-1][0]
        return np.array(self.after[0]), self.after[1]


TANGENT = np.array([0.6, 1.6, 0.0])  # 0.6 rad and 0.8 lengths: its size is 0.8


@pytest.mark.parametrize(
    ("known", "moved", "turned", "found", "taken"),
    [
        (True, 0.0, 0.0, True, True), (True, None, 0.0, True, False), (False, None, 0.0, True, False),
        (True, 0.3 * 0.1 * 0.8 * 0.99, 0.0, True, True), (True, 0.3 * 0.1 * 0.8 * 1.01, 0.0, True, False),
        (False, 3.0 * 0.1 * 0.8 * 0.99, 0.0, True, True), (False, 3.0 * 0.1 * 0.8 * 1.01, 0.0, True, False),
        (True, 0.0, 0.199, True, True), (True, 0.0, 0.201, True, False), (True, 0.0, -0.201, True, False),
        (False, 0.0, 1.5, True, True), (True, 0.0, 1.5, False, True), (False, 0.0, 1.5, False, True),
    ],
)  # fmt: skip
def test_a_step_is_taken_where_little_is_corrected_and_the_tangent_turns_little(
    known: bool, moved: float | None, turned: float, found: bool, taken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def add(links: None, v: np.ndarray, step: float, q_out: np.ndarray) -> None:
        q_out += step * v

    monkeypatch.setattr(continuation, "add_freedoms", add)
    c, s = math.cos(turned), math.sin(turned)
    after = [c * 0.6 - s * 0.8, 2.0 * (s * 0.6 + c * 0.8), 0.0]  # by as much in radians and lengths
    way = Tried(moved, (after, found))
    got = way._try(0.25, 0.1, TANGENT, known)
    assert way.at == [
        (0.35, pytest.approx([1.06, 3.7, 4.0]))
    ]  # the free one along the tangent, one to its place, one kept
    if not taken:
        assert got is None and way.q.tolist() == [1.0, 2.0, 4.0] and way.turn.tolist() == [0.5]
        assert way.looked == [[1.0, 2.0, 4.0]]
        return
    assert got is not None and way.turn.tolist() == [0.75] and way.looked == []
    # Where the rows lose rank the tangent before goes on.
    assert got[0].tolist() == (TANGENT.tolist() if known and not found else after) and got[1] == (known or found)


class Corrected(Way):
    """A way at which rows are open by `residuals`, one after the other, each Newton step a radian."""

    def __init__(self, residuals: list[float], large: bool = False):
        self.open, self.q, self.v = list(residuals), np.array([1.0, 2.0]), np.zeros(2)
        self.fixed, self.unit, self.looked = np.array([False, True]), np.array([2.0, 1.0]), []
        self.mechanism: Any = SimpleNamespace(
            model=SimpleNamespace(length=0.5), structure=SimpleNamespace(tables=SimpleNamespace(links=None)),
            update=lambda q, v: self.looked.append(q.tolist()),
        )  # fmt: skip
        self.large = large

    def _bonds(self, s: float) -> Any:
        assert s == 0.3

        def newton(free: np.ndarray) -> np.ndarray:
            assert free.tolist() == [True, False]
            return np.array([1.0, 0.0])

        return SimpleNamespace(worst=lambda: self.open.pop(0), large=self.large, newton=newton)


@pytest.mark.parametrize(
    ("residuals", "moved", "q"),
    [
        ([0.4e-13], 0.0, 1.0), ([0.6e-13, 0.4e-13], 0.5, 2.0), ([1.0, 1e-2, 1e-4, 1e-7, 1e-14], 2.0, 5.0),
        ([1.0, 1e-1, 1e-2, 1e-7, 0.4e-12], 2.0, 5.0), ([1.0, 1e-1, 1e-2, 1e-3, 0.6e-12], None, 5.0),
        ([1.0, 0.4e-12, 0.4e-12], 0.5, 2.0), ([1.0, 0.6e-12, 0.6e-12], None, 2.0), ([0.3, 0.3], None, 1.0),
        ([0.3, math.nan], None, 1.0),
    ],
)  # fmt: skip
def test_the_corrector_has_four_newton_steps_and_ends_at_roundoff(
    residuals: list[float], moved: float | None, q: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    def add(links: None, v: np.ndarray, step: float, q_out: np.ndarray) -> None:
        q_out += step * v

    monkeypatch.setattr(continuation, "add_freedoms", add)
    way = Corrected(residuals)
    assert way._correct(0.3) == moved and way.q.tolist() == [q, 2.0] and way.open == []
    assert way.looked[0] == [1.0, 2.0] and way.looked[-1] == [q, 2.0]


@pytest.mark.parametrize(("left", "moved"), [(0.4e-12, 1.5), (0.6e-12, None)])
def test_a_large_mechanism_is_corrected_by_the_projection_of_a_run(
    left: float, moved: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def close(mechanism: Any, q: np.ndarray, v: np.ndarray, fixed: np.ndarray) -> None:
        assert v.tolist() == [0.0, 0.0] and fixed.tolist() == [False, True]
        q += [0.5, -1.5]

    monkeypatch.setattr(continuation, "close", close)
    way = Corrected([1.0, left], large=True)
    assert way._correct(0.3) == moved and way.looked == [[1.0, 2.0], [1.5, 0.5]]


class Led(Way):
    """A way at a pose whose rows J, inertia M and rates that are written are given; row 1 binds rates only."""

    def __init__(self, J: np.ndarray, M: np.ndarray, rate: list[float], fixed: list[bool], asked: float = 0.0):
        self.rank, self.rate, self.fixed, self.standing = 0, np.array(rate), np.array(fixed), NOWHERE
        self.of_loops = [SimpleNamespace(rate=np.array([asked]))]
        self.mechanism: Any = SimpleNamespace(
            model=SimpleNamespace(length=0.5), inertia=lambda: M, placed=lambda: np.array([True, False, False])
        )
        self.bonds = SimpleNamespace(large=False, jacobian=lambda: J, hard=np.array([True, True, False]))

    def _bonds(self, s: float) -> Any:
        return self.bonds


def test_a_tangent_moves_what_is_free_least_in_kinetic_energy() -> None:
    """Rows that bind places follow what is written; those that bind rates only do not, but bind the others."""
    rng = np.random.default_rng(12)
    J, B = rng.normal(size=(3, 6)), rng.normal(size=(6, 6))
    M, rate, fixed = B @ B.T + np.eye(6), [0.0, 2.0, 0.0, 0.0, 0.0, -1.0], [False, True, False, False, False, True]
    way = Led(J, M, rate, fixed, asked=3.0)
    found, known = way._tangent(0.0)
    free = ~np.array(fixed)
    A, W = J[:, free], np.linalg.inv(M[np.ix_(free, free)])
    wanted = np.array([0.0, 0.0, 1.5]) - J @ rate
    wanted[1] = 0.0
    assert known and way.rank == 3 and found[~free].tolist() == [2.0, -1.0]
    assert found[free] == pytest.approx(W @ A.T @ np.linalg.solve(A @ W @ A.T, wanted), abs=1e-12)
    way.rank = 4  # more rows have acted
    again, known = way._tangent(0.0)
    assert not known and way.rank == 4 and np.array_equal(again, found)
    held = Led(J, M, rate, [True] * 6)
    assert held._tangent(0.0)[1] and held._tangent(0.0)[0].tolist() == rate


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_a_tangent_is_not_known_where_rows_nearly_lose_rank_or_contradict(size: float) -> None:
    rate, fixed = [0.0, 0.0, 0.0, 1.0], [False, False, False, True]
    for least, off, known, rank in (
        (2e-5, 0.0, True, 3), (0.9e-5, 0.0, False, 3), (1.1e-7, 0.0, False, 3), (0.9e-7, 0.0, True, 2),
        (0.0, 0.0, True, 2), (0.0, 0.9e-6, True, 2), (0.0, 1.1e-6, False, 2), (0.0, -1.1e-6, False, 2),
    ):  # fmt: skip
        J = size * np.array([[1.0, 0.0, 0.0, 1.0], [0.0, 0.5, 0.0, 0.0], [0.0, 0.0, least, -off]])
        way = Led(J, np.eye(4), rate, fixed)
        way.mechanism.placed = lambda: np.array([True, True, True])
        found, told = way._tangent(0.0)
        assert (told, way.rank) == (known, rank) and found[[0, 1, 3]] == pytest.approx([-1.0, 0.0, 1.0])
    still = Led(np.zeros((3, 4)), np.eye(4), rate, fixed)
    assert still._tangent(0.0)[1] and still._tangent(0.0)[0].tolist() == rate
    bare = Led(np.zeros((0, 4)), np.eye(4), rate, fixed)
    bare.of_loops, bare.bonds.hard, bare.mechanism.placed = [], np.zeros(0, bool), lambda: np.zeros(0, bool)
    assert bare._tangent(0.0)[1] and bare._tangent(0.0)[0].tolist() == rate


class Leaping(Way):
    """A way of four legs of one freedom each; the loops move the freedoms 1, 3 and 4 of five, by two blocks."""

    def __init__(self, standing: int = 0):
        blocks = SimpleNamespace(support=np.array([1, 4]), nb=np.array([1, 0]), na=np.array([1, 1]))
        tables = SimpleNamespace(blocks=blocks, support=np.array([0, 1, 3, 2, 4]))
        self.mechanism: Any = SimpleNamespace(structure=SimpleNamespace(tables=tables))
        self.q, self.v, self.standing = np.zeros(5), np.zeros(5), np.zeros(standing)
        self.rate = np.arange(5.0) + 1.0
        self.of_tree = [Leg(Aim(j, np.array([10.0 + j])), np.zeros(1), self.rate[j : j + 1].copy()) for j in range(4)]
        self.of_tree[0] = Leg(Aim(0, np.array([10.0])), np.zeros(1), self.rate[:1].copy())
        self.of_loops = [Leg(Aim(9, np.zeros(1)), np.zeros(1), np.zeros(1))]

    def _q_of(self, leg: Leg) -> slice:
        return slice(leg.aim.joint, leg.aim.joint + 1)

    _v_of = _q_of

    def _shortened(self, leg: Leg) -> Any:
        return "short", leg.aim.joint


def test_what_no_loop_follows_is_brought_to_its_place_at_once() -> None:
    way = Leaping()
    way._leap()
    assert way.q.tolist() == [10.0, 0.0, 12.0, 0.0, 0.0] and way.rate.tolist() == [0.0, 2.0, 0.0, 4.0, 5.0]
    assert way.of_tree == [("short", 1), ("short", 3)] and way.of_loops == [("short", 9)]
    way = Leaping(standing=2)  # points that stand may follow all of it
    way._leap()
    assert not way.q.any() and way.of_tree == [("short", j) for j in range(4)]


@pytest.mark.parametrize(("off", "there"), [(1.9e-9, True), (-1.9e-9, True), (2.1e-9, False), (-2.1e-9, False)])
def test_a_coordinate_is_there_to_a_billionth(off: float, there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def leg_to(mechanism: None, q: np.ndarray, aim: Aim) -> Leg:
        return Leg(aim, q, np.array([0.0, off * 2.0]))

    monkeypatch.setattr(continuation, "leg_to", leg_to)
    nothing: Any = None
    assert continuation._is_there(nothing, np.zeros(2), Aim(0, np.array([3.0, -3.0]))) == there


# --- which ways are gone ------------------------------------------------------------------------------


class Places:
    """A mechanism whose pose a way changes and whose turns it counts; what is looked at is listed."""

    def __init__(self) -> None:
        self.looked: list[list[float]] = []
        self.structure = SimpleNamespace(sizes=SimpleNamespace(v=1))
        self.control = SimpleNamespace(turn=np.array([0.5]))

    def update(self, q: np.ndarray, v: np.ndarray) -> None:
        assert v.tolist() == [0.0]
        self.looked.append(q.tolist())

    def locked(self) -> str:
        return "locked"


@pytest.mark.parametrize(
    ("shares", "best"),
    [
        ([[None]], (0, 1.0)), ([[(1, 0.5), None]], (0, 1.0)), ([[(1, 0.5), (1, 0.75)]], (1, 0.75)),
        ([[(1, 0.5), (2, 0.75)]], (1, 0.5)), ([[(2, 0.75), (1, 0.5)]], (1, 0.5)), ([[(1, 0.5)], [(1, 0.6)]], (1, 0.6)),
        ([[(1, 0.5), (1, 0.5)]], (1, 0.5)), ([[(2, 0.0)], [None]], (0, 1.0)), ([[(2, -2.0)]], (2, -1.0)),
    ],
)  # fmt: skip
def test_the_order_that_comes_farthest_is_told(
    shares: list, best: tuple[int, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each set of points that stand, and each order: how many are missed, and the share of the way to the first."""
    made: Any = Places()
    aims = [Aim(k, np.zeros(1)) for k in range(3)]
    tried: list[tuple[int, int]] = []

    def in_order(mechanism: Any, q: np.ndarray, aims: Any, order: int, away: Any, points: int, rows: str) -> Reached:
        assert (q.tolist(), made.control.turn.tolist(), rows) == ([7.0], [0.5], "locked")
        assert [aim.joint for aim in away] == [0, 2]
        q[:], made.control.turn[:] = 8.0, 9.0
        tried.append((points, order))
        found = shares[points][order]
        return (
            Reached() if found is None else Reached(tuple((aims[k], aims[k].value) for k in range(found[0])), found[1])
        )

    monkeypatch.setattr(continuation, "_in_order", in_order)
    monkeypatch.setattr(continuation, "_is_there", lambda mechanism, q, aim: aim.joint == 1)
    monkeypatch.setattr(continuation, "_orders", lambda mechanism, away: range(len(shares[len(done)])))
    done: list[int] = []

    class Points(list):
        def __iter__(self) -> Any:
            for k in range(len(shares)):
                yield k
                done.append(k)

    q, points = np.array([7.0]), Points()
    found = continuation.reach(made, q, aims, points)
    # What is missed before anything was tried are all three, with a share of -1.
    assert (len(found.missed), found.share) == (best if best != (2, -1.0) else (2, -2.0))
    assert (q[0], made.control.turn[0]) == ((8.0, 9.0) if not best[0] else (7.0, 0.5))
    assert made.looked == [[7.0]] * (len(tried) + (best[0] > 0))


@pytest.mark.parametrize(
    ("shares", "there", "missed", "share"),
    [
        ({1: 1.0, 2: 1.0}, (), [], 1.0), ({1: 0.25, 2: 1.0}, (), [1, 2], 0.25), ({1: 1.0, 2: 0.75}, (1,), [2], 0.75),
        ({1: 0.25, 2: 1.0}, (1,), [], 1.0), ({1: 1.0, 2: 0.5}, (1, 2), [], 1.0),
    ],
)  # fmt: skip
def test_groups_are_gone_to_one_after_the_other_and_kept(
    shares: dict, there: tuple[int, ...], missed: list[int], share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Aim 0 is there and kept from the start; 1 and 2 are groups of their own."""
    aims, gone = [Aim(k, np.array([k + 0.5])) for k in range(3)], []

    class Gone:
        def __init__(self, mechanism: Any, q: np.ndarray, legs: list, kept: list, points: str, rows: str):
            assert points == "points" and rows == "rows"
            self.to = [aim.joint for aim in legs]
            gone.append((self.to, [aim.joint for aim in kept]))

        def go(self) -> float:
            return shares[self.to[0]]

    monkeypatch.setattr(continuation, "Way", Gone)
    monkeypatch.setattr(continuation, "leg_to", lambda mechanism, q, aim: aim)
    monkeypatch.setattr(continuation, "_is_there", lambda mechanism, q, aim: aim.joint == 0 or aim.joint in there)
    monkeypatch.setattr(continuation, "coordinate", lambda mechanism, q, aim: f"where {aim.joint} is")
    order, points, rows = [[aims[1]], [aims[2]]], "points", "rows"
    of: Any = (None, np.zeros(1), aims, order, aims[1:], points, rows)
    found = continuation._in_order(*of)
    assert [(aim.joint, at) for aim, at in found.missed] == [(k, f"where {k} is") for k in missed]
    assert found.share == share and gone == [([1], [0]), ([2], [0, 1])][: 1 if missed == [1, 2] else 2]


def test_a_way_has_rates_of_what_is_gone_and_holds_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Joints 0 to 2 are of the tree, one freedom each, 3 and 4 close loops; the second freedom slides."""
    monkeypatch.setattr(continuation, "v_of", lambda mechanism, aim: slice(aim.joint, aim.joint + 1))
    monkeypatch.setattr(continuation, "coordinate", lambda mechanism, q, aim: np.array([aim.joint + 0.25]))
    tables = SimpleNamespace(freedoms=SimpleNamespace(linear=np.array([0, 1, 0])))
    structure = SimpleNamespace(sizes=SimpleNamespace(v=3), loops=(3, 4), tables=tables)
    made: Any = SimpleNamespace(structure=structure, model=SimpleNamespace(length=2.0))
    legs = [Leg(Aim(k, np.array([k + 0.75])), np.zeros(1), np.array([k + 0.5])) for k in (1, 3)]
    kept, rows = [Aim(2, np.zeros(1)), Aim(4, np.zeros(1))], np.ones(2, bool)
    way = Way(made, np.zeros(3), legs, kept, NOWHERE, rows)
    assert way.rate.tolist() == [0.0, 1.5, 0.0] and way.fixed.tolist() == [False, True, True]
    assert way.unit.tolist() == [1.0, 2.0, 1.0] and way.rank == 0 and way.hard is rows
    assert way.of_tree == legs[:1] and [leg.aim.joint for leg in way.of_loops] == [3, 4]
    assert way.of_loops[1].begin.tolist() == [4.25] and way.of_loops[1].rate.tolist() == [0.0]
    assert not way.v.any() and way.v.shape == (3,)
