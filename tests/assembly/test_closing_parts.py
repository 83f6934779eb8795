"""How loops are closed and branches are chosen, step by step, around parts that are made by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace as Made
from typing import Any

import numpy as np
import pytest

from sim.assembly import branches, loop_closure
from sim.assembly.loop_closure import Aim

pytestmark = pytest.mark.fast


# --- the nearest of several poses -------------------------------------------------------------------


class Poses:
    """Poses from which a branch is looked for: for each set of points that stand, whether each closes, how far off."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, sets: list[list[float | None]], loops: tuple[int, ...] = ()):
        self.turn, self.now, self.seen = np.array([0.25, 0.75]), iter(()), []
        self.mechanism: Any = Made(
            structure=Made(sizes=Made(v=2), loops=loops), control=Made(turn=self.turn),
            work=Made(coordinate=np.array([1.0, 2.0])), update=lambda q, v: self.seen.append(q.tolist()),
            model=Made(joints=Made(column=np.array([0, 1]))),
        )  # fmt: skip

        def seeds(mechanism: Any, drawn: np.ndarray, aims: Any) -> Any:
            self.turn[:] = 9.0
            return (np.array([10.0 * self.at + k]) for k in range(len(sets[self.at])))

        def closed(mechanism: Any, seed: np.ndarray, aims: Any, guesses: Any, points: int) -> bool:
            assert self.turn.tolist() == [1.0, 2.0]
            self.turn[:] = 8.0
            return sets[points][int(seed[0]) - 10 * points] is not None

        def missed(mechanism: Any, seed: np.ndarray, guesses: Any) -> float:
            off = sets[self.at][int(seed[0]) - 10 * self.at]
            assert off is not None
            return off

        monkeypatch.setattr(branches, "_seeds", seeds)
        monkeypatch.setattr(branches, "_closed_near", closed)
        monkeypatch.setattr(branches, "_missed", missed)
        monkeypatch.setattr(
            branches, "_count_turns", lambda mechanism, q, drawn, aims, guesses: self.seen.append(drawn)
        )
        self.sets, self.at = sets, -1

    def __iter__(self) -> Any:
        for at in range(len(self.sets)):
            self.at = at
            yield at

    def nearest(self, aims: Any = (), guesses: Any = ()) -> tuple[bool, float]:
        q = np.array([-1.0])
        points: Any = self
        return branches.nearest_branch(self.mechanism, q, aims, guesses, points), float(q[0])


@pytest.mark.parametrize(
    ("sets", "found"),
    [
        ([[0.5]], 0.0), ([[1.0, 0.5, 0.7]], 1.0), ([[1.0, 0.5, 0.5 - 0.9e-6]], 1.0), ([[1.0, 0.5, 0.5 - 1.1e-6]], 2.0),
        ([[None, 3.0, None]], 1.0), ([[None, None], [None, 0.5, 0.25]], 12.0), ([[0.5], [0.25]], 0.0),
        ([[None], [None]], None), ([[math.inf, 2.0]], 1.0),
    ],
)  # fmt: skip
def test_the_pose_that_misses_guesses_least_is_taken(
    sets: list, found: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    poses = Poses(monkeypatch, sets)
    assert poses.nearest() == (found is not None, -1.0 if found is None else found)
    assert poses.seen[0] == [-1.0] and poses.turn.tolist() == [1.0, 2.0]
    assert found is None or (poses.seen[1].tolist() == [-1.0] and poses.seen[2:] == [[found]])


def test_loop_joints_are_told_by_the_turn_of_their_guess_or_of_what_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    poses = Poses(monkeypatch, [[0.5]], loops=(1,))
    said = []
    poses.mechanism.update = lambda q, v: said.append(poses.turn.tolist())
    poses.nearest((Aim(0, np.array([4.0])), Aim(1, np.array([5.0]))), (Aim(1, np.array([6.0])),))
    assert said[-1] == [1.0, 5.0]


@pytest.mark.parametrize(("found", "follows"), [(True, True), (True, False), (False, True)])
def test_a_pose_fits_where_some_of_what_is_written_follows(
    found: bool, follows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nearest(mechanism: Any, q: np.ndarray, aims: Any, guesses: Any, standing: Any) -> bool:
        q[:], mechanism.control.turn[:] = 5.0, 6.0
        return found and guesses == ()

    monkeypatch.setattr(branches, "nearest_branch", nearest)
    monkeypatch.setattr(branches, "_follows", lambda mechanism, aims: follows)
    q, made = np.array([1.0]), Made(control=Made(turn=np.array([2.0])))
    assert branches.fitting_pose(made, q, [], ()) == (found and follows)  # type: ignore[arg-type]
    assert (q[0], made.control.turn[0]) == ((5.0, 6.0) if found and follows else (1.0, 2.0))


@pytest.mark.parametrize(
    ("off", "worst"),
    [
        ([[0.3, 0.0]], 0.3), ([[-0.4, 1.0]], 0.5), ([[0.0, -1.0]], 0.5), ([[2.0 * math.pi + 0.25, 0.0]], 0.25),
        ([[-4.0 * math.pi - 0.25, 0.0]], 0.25), ([[3.0, 0.0]], 3.0), ([[3.5, 0.0]], 2.0 * math.pi - 3.5),
        ([[0.0, 2.0 * math.pi]], math.pi), ([[0.1, 0.0], [-0.2, 0.1]], 0.2), ([], 0.0), ([[0.0, 0.0]], 0.0),
    ],
)  # fmt: skip
def test_guesses_are_missed_by_angles_without_turns_and_by_lengths(
    off: list, worst: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of joints whose second freedom slides, of a mechanism two metres long."""
    monkeypatch.setattr(branches, "leg_to", lambda mechanism, q, aim: Made(rate=np.array(off[aim.joint])))
    made: Any = Made(model=Made(type_of=lambda joint: Made(linear=(0, 1)), length=2.0))
    aims = [Aim(k, np.zeros(2)) for k in range(len(off))]
    assert branches._missed(made, np.zeros(1), aims) == pytest.approx(worst, abs=1e-12)
    if len(off) == 1:  # the second freedom alone
        monkeypatch.setattr(branches, "leg_to", lambda mechanism, q, aim: Made(rate=np.array(off[0][1:])))
        alone = branches._missed(made, np.zeros(1), [Aim(0, np.zeros(1), 1)])
        assert alone == pytest.approx(abs(off[0][1]) / 2.0, abs=1e-12)


def test_angles_of_the_tree_are_told_by_the_nearest_turn() -> None:
    """Joint 0 is written, 1 guessed, 2 neither, 3 a ball; each of the others turns, then slides."""
    kinds = [Made(ball=-1, linear=(0, 1))] * 3 + [Made(ball=0, linear=(0, 0, 0))]
    places = [slice(0, 2), slice(2, 4), slice(4, 6), slice(6, 10)]
    structure = Made(carrier=np.array([-1, 0, 1, 2, 3]), q_of=lambda model, joint: places[joint])
    made: Any = Made(model=Made(type_of=lambda joint: kinds[joint]), structure=structure)
    turn = 2.0 * math.pi
    q, drawn = np.full(10, 0.5), np.array([9.0 * turn] * 10)
    drawn[4:6] = -3.0 * turn - 0.4, 70.0
    guess = Aim(1, np.array([2.0 * turn + 3.6, 80.0]))
    branches._count_turns(made, q, drawn, [Aim(0, np.zeros(2))], [guess])
    assert q == pytest.approx([0.5, 0.5, 2.0 * turn + 0.5, 0.5, 0.5 - 3.0 * turn, 0.5, *[0.5] * 4], abs=1e-12)


@pytest.mark.parametrize("closes", [0, 1, 2])
def test_guesses_are_held_first_and_then_let_go(closes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def close(mechanism: Any, q: np.ndarray, fixed: np.ndarray, wanted: Any, drives: bool, standing: str) -> bool:
        asked.append((fixed.tolist(), [aim.joint for aim in wanted], drives, standing))
        return len(asked) == closes

    monkeypatch.setattr(branches, "close_positions", close)
    monkeypatch.setattr(branches, "normalise", lambda links, q: asked.append(q.tolist()) if links else None)
    monkeypatch.setattr(branches, "q_of", lambda mechanism, aim: slice(aim.joint, aim.joint + 1))
    monkeypatch.setattr(branches, "v_of", lambda mechanism, aim: slice(aim.joint, aim.joint + 1))
    turn, q = np.zeros(5), np.zeros(3)
    made: Any = Made(
        structure=Made(sizes=Made(v=3), loops=(3, 4), tables=Made(links=None)), control=Made(turn=turn),
        model=Made(joints=Made(column=np.arange(5))),
    )  # fmt: skip
    aims, guesses = ([Aim(k, np.array([k + 0.5])) for k in some] for some in ((0, 3), (1, 4)))
    nowhere: Any = "points"
    assert branches._closed_near(made, q, aims, guesses, nowhere) == (closes > 0)
    assert q.tolist() == [0.5, 1.5, 0.0] and turn.tolist() == [0.0, 0.0, 0.0, 3.5, 4.5]
    both = [([True, True, False], [3, 4], False, "points"), ([True, False, False], [3], False, "points")]
    assert asked == both[: 1 if closes == 1 else 2]


# --- Newton on all loops ----------------------------------------------------------------------------


class Loops:
    """Loops that are open by `residuals`, one after the other; Newton's step is `step` rad."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, residuals: list[float], step: float = 0.5, large: bool = False):
        self.left, self.shares, self.step = list(residuals), list[float](), step
        outer = self

        class Bonds:
            def __init__(self, mechanism: Any, hard: str, aims: tuple, standing: Any):
                outer.asked, self.large = (hard, aims, standing), large

            def worst(self) -> float:
                return outer.left.pop(0)

            def newton(self, free: np.ndarray) -> np.ndarray:
                assert free.tolist() == [True, False]
                return np.array([-outer.step, 0.0])

        def add(links: str, v: np.ndarray, share: float, q_out: np.ndarray) -> None:
            outer.shares.append(share)
            q_out += share * v

        monkeypatch.setattr(loop_closure, "Bonds", Bonds)
        monkeypatch.setattr(loop_closure, "add_freedoms", add)
        self.mechanism: Any = Made(
            hard=lambda: "hard", locked=lambda: "locked", model=Made(length=2.0), update=self._look,
            structure=Made(sizes=Made(v=2), tables=Made(links="links")),
        )  # fmt: skip
        self.q = np.zeros(2)

    def _look(self, q: np.ndarray, v: np.ndarray) -> None:
        assert v.tolist() == [0.0, 0.0]
        self.last = q.tolist()

    def close(self, **more: Any) -> bool:
        done = loop_closure.close_positions(self.mechanism, self.q, np.array([False, True]), **more)
        assert self.last == self.q.tolist() and self.left == []
        return done


@pytest.mark.parametrize(
    ("residuals", "step", "closed", "shares"),
    [
        ([1.9e-13], 0.5, True, []), ([1.0, 1e-3, 1.9e-13], 0.5, True, [1.0, 1.0]), ([1.0, 1e-13], 1.4, True, [0.5]),
        ([1.0, 2.0, 1.0, 0.5, 0.0], 0.5, True, [1.0, 0.5, 0.25, 1.0]),
        ([1.0, *[1.0] * 11], 0.5, False, [0.5**k for k in range(11)]),
        ([1.9e-12, *[1.9e-12] * 11], 0.5, True, [0.5**k for k in range(11)]),
        ([2.1e-12, *[2.1e-12] * 11], 0.5, False, [0.5**k for k in range(11)]),
        ([1.0, *[math.nan] * 11], 0.5, False, [0.5**k for k in range(11)]),
        ([1.0 - 1e-3 * k for k in range(61)], 0.5, False, [1.0] * 60),
        ([*(1.0 - 1e-3 * k for k in range(60)), 1.9e-12], 0.5, True, [1.0] * 60),
    ],
)  # fmt: skip
def test_newton_steps_are_shortened_until_loops_open_less(
    residuals: list[float], step: float, closed: bool, shares: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    loops = Loops(monkeypatch, residuals, step)
    assert loops.close() == closed and loops.shares == pytest.approx(shares)
    if (not closed and len(shares) == 11) or residuals[:2] == [1.9e-12] * 2:
        assert loops.q.tolist() == [0.0, 0.0]  # nothing better was found
    assert loops.asked[:2] == ("hard", ())
    loops = Loops(monkeypatch, [0.0])
    loops.close(wanted=["aim"], drives=False, standing="points")
    assert loops.asked == ("locked", ("aim",), "points")


@pytest.mark.parametrize(
    ("residuals", "closed", "asked"),
    [([1.9e-13], True, 0), ([1.0, 1.9e-12], True, 1), ([1.0, 2.1e-12], False, 1)],
)  # fmt: skip
def test_large_mechanisms_are_closed_by_the_projection_of_a_run(
    residuals: list[float], closed: bool, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    monkeypatch.setattr(loop_closure, "close", lambda mechanism, q, v, fixed: calls.append((q, v, fixed.tolist())))
    loops = Loops(monkeypatch, residuals, large=True)
    assert loops.close() == closed and len(calls) == asked
    assert not asked or (calls[0][0] is loops.q and calls[0][2] == [False, True])


@pytest.mark.parametrize(
    ("passes", "asked", "left"),
    [
        ([(1.0, 1), (1.9e-12, 0)], 2, 2), ([(1.0, 0), (1.9e-12, 1), (1.9e-12, 1)], 3, 2), ([(1.0, 0), (2.0, 0)], 2, 1),
        ([(1.0, 0), (2.1e-12, 0), (1e-13, 0)], 3, 3), ([(math.nan, 0)], 1, 0),
        ([(1.0 / (k + 1), 1) for k in range(25)], 20, 20),
    ],
)  # fmt: skip
def test_the_projection_is_repeated_while_it_closes(
    passes: list, asked: int, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left is the last pass that opened less; statuses other than OK (0) ask for another."""
    done = []

    def answer(answers: Any, question: Any, places: Any, t: float, y: np.ndarray, slope: np.ndarray) -> int:
        assert y.size == 2 + 1 + 2 and slope.size == 5 and t == 0.5
        y[:] += 1.0
        done.append(y.copy())
        return passes[len(done) - 1][1]

    def look(q: np.ndarray, v: np.ndarray) -> None:
        made.work.rows.phi[:] = [9.0, -passes[len(done) - 1][0]]
        assert (q.tolist(), v.tolist()) == (done[-1][:2].tolist(), done[-1][2:3].tolist())

    monkeypatch.setattr(loop_closure, "held", lambda tables, fixed: (tables, fixed))
    monkeypatch.setattr(loop_closure, "system_of", lambda *of: Made(answers=None, places=of[0]))
    monkeypatch.setattr(loop_closure, "address", lambda places: places)
    monkeypatch.setattr(loop_closure, "answer", answer)
    made: Any = Made(
        structure=Made(tables="tables"), control=None, t=0.5, update=look, hard=lambda: np.array([False, True]),
        work=Made(rows=Made(phi=np.zeros(2))), model=Made(length=2.0),
    )  # fmt: skip
    q, v = np.array([1.0, 2.0]), np.array([3.0])
    loop_closure.close(made, q, v, np.zeros(1, bool))
    assert len(done) == asked and (q.tolist(), v.tolist()) == ([1.0 + left, 2.0 + left], [3.0 + left])


# --- rates ------------------------------------------------------------------------------------------


class Rates:
    """Three rates, two rows that drive (the second not hard), and rates of a loop joint; points that stand by J."""

    def __init__(self, hard: tuple[bool, ...] = (True, False)):
        self.looked: list[tuple] = []
        self.J, self.M = np.array([[1.0, 2.0, 0.0], [7.0, 7.0, 7.0]]), np.diag([1.0, 4.0, 2.0])
        self.mechanism: Any = Made(
            update=lambda q, v: self.looked.append((q, v)), hard=lambda: np.array(hard),
            jacobian=lambda: self.J, inertia=lambda: self.M,
            wanted=lambda: np.array([3.0, 9.0]), structure=Made(sizes=Made(v=3)),
        )  # fmt: skip


def stands(*rows: list[float]) -> Any:
    class Stands(list):
        def jacobian(self, mechanism: Any) -> np.ndarray:
            return np.array(rows).reshape(-1, 3)

    return Stands(rows)


def least(A: np.ndarray, M: np.ndarray, v: np.ndarray, b: np.ndarray) -> np.ndarray:
    W = np.linalg.inv(M)
    return v + W @ A.T @ np.linalg.solve(A @ W @ A.T, b - A @ v)


def test_rates_are_changed_least_so_that_no_loop_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    made, v = Rates(), np.array([1.0, -1.0, 0.5])
    monkeypatch.setattr(
        loop_closure, "rates_of_loops", lambda mechanism, aims: [np.array([[0.0, 1.0, 1.0]])] * len(aims)
    )
    nothing, first = np.zeros(3, bool), np.array([True, False, False])
    q = np.zeros(3)
    found = v.copy()
    loop_closure.close_velocities(made.mechanism, q, found, nothing)
    assert made.looked[0][0] is q and made.looked[0][1] is found
    assert found == pytest.approx(least(made.J[:1], made.M, v, np.array([3.0])), abs=1e-12)
    found = v.copy()
    loop_closure.close_velocities(made.mechanism, q, found, first)  # what is fixed is kept
    assert found == pytest.approx([1.0, 1.0, 0.5], abs=1e-12)
    found, aim = v.copy(), Aim(0, np.array([2.5]))
    loop_closure.close_velocities(made.mechanism, q, found, nothing, [aim])
    A = np.vstack([made.J[:1], [[0.0, 1.0, 1.0]]])
    assert found == pytest.approx(least(A, made.M, v, np.array([3.0, 2.5])), abs=1e-12)
    # Points that stand: the first set that can be at rest beside the loops, else none.
    impossible, possible = stands([1.0, 2.0, 0.0]), stands([0.0, 0.0, 1.0])
    for sets in ([possible], [impossible, possible]):
        found = v.copy()
        loop_closure.close_velocities(made.mechanism, q, found, nothing, (), sets)
        A = np.vstack([made.J[:1], [[0.0, 0.0, 1.0]]])
        assert found == pytest.approx(least(A, made.M, v, np.array([3.0, 0.0])), abs=1e-12)
    # Where loops cannot keep what is fixed it is changed, too, and what is wanted of loop joints gives way.
    found = v.copy()
    loop_closure.close_velocities(made.mechanism, q, found, np.ones(3, bool), [aim])
    assert found == pytest.approx(least(made.J[:1], made.M, v, np.array([3.0])), abs=1e-12)
    against = Aim(0, np.array([2.5])), Aim(0, np.array([3.5]))
    found = v.copy()
    loop_closure.close_velocities(made.mechanism, q, found, first, against)
    assert found == pytest.approx([1.0, 1.0, 2.0], abs=1e-12)  # half way between the two
    # Points that stand may be off by a billionth of 1 + the largest rate, no more.
    for wanted, rate in ((1.9e-9, 0.95e-9), (2.1e-9, 2.1e-9)):
        close = Rates()
        close.mechanism.wanted = lambda wanted=wanted: np.array([wanted, 0.0])
        found = np.zeros(3)
        loop_closure.close_velocities(close.mechanism, q, found, nothing, (), [stands([1.0, 2.0, 0.0])])
        assert found @ [1.0, 2.0, 0.0] == pytest.approx(rate, abs=1e-14)
    free = Rates(hard=(False, False))
    found = v.copy()
    loop_closure.close_velocities(free.mechanism, q, found, nothing, [aim])
    assert np.array_equal(found, v)


@pytest.mark.parametrize(
    ("slips", "asked", "dense"),
    [([1.9e-9], 1, 0), ([2.1e-9, 1.9e-9], 2, 0), ([2.1e-9, 2.1e-9], 2, 1)],
)  # fmt: skip
def test_rates_of_large_mechanisms_are_those_of_the_projection(
    slips: list[float], asked: int, dense: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is fixed is held at first; where neither way keeps the loops, dense matrices do."""
    calls, made = [], Rates()
    monkeypatch.setattr(loop_closure, "LARGE", 2)
    monkeypatch.setattr(loop_closure, "close", lambda mechanism, q, v, fixed: calls.append(fixed.tolist()))
    monkeypatch.setattr(loop_closure, "slip", lambda mechanism: slips[len(calls) - 1])
    monkeypatch.setattr(loop_closure, "rates_of_loops", lambda mechanism, aims: [])
    v = np.array([1.0, -1.0, 0.5])
    loop_closure.close_velocities(made.mechanism, np.zeros(3), v, np.array([True, False, False]))
    assert calls == [[True, False, False], [False] * 3][:asked]
    assert v.tolist() == ([1.0, 1.0, 0.5] if dense else [1.0, -1.0, 0.5])
    for limit, wanted in ((3, ()), (2, (Aim(0, np.zeros(1)),))):
        calls.clear()
        monkeypatch.setattr(loop_closure, "LARGE", limit)
        monkeypatch.setattr(loop_closure, "rates_of_loops", lambda mechanism, aims: [np.zeros((1, 3)) for _ in aims])
        loop_closure.close_velocities(made.mechanism, np.zeros(3), v, np.zeros(3, bool), wanted)
        assert calls == []
