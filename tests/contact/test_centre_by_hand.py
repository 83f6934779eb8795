"""Forces well inside their cones, of bodies that move along one line: all that is found can be written down."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

from sim.contact import analytic_centre
from sim.contact.analytic_centre import AnalyticCentre, Cones, centred, fully_held
from sim.contact.contact_problem import ContactProblem, Mode, impact

pytestmark = [pytest.mark.contact, pytest.mark.fast]

OPEN, STICK, SLIP = Mode.OPEN, Mode.STICK, Mode.SLIP


def sliding(*lines: tuple[float, ...], free: tuple[float, ...] | None = None) -> ContactProblem:
    """Points without friction; lines : of each coordinate, by how much a unit of it moves each point."""
    W, k = np.array(lines, float), len(lines[0])
    G = np.zeros((3 * k, 3 * k))
    G[::3, ::3] = W.T @ W
    u = np.zeros(3 * k)
    u[::3] = W.T @ np.array(free or (-1.0,) * len(lines), float)
    return impact(G, u, np.zeros(k))


def normal(*forces: float) -> np.ndarray:
    out = np.zeros((len(forces), 3))
    out[:, 0] = forces
    return out


def found_of(problem: ContactProblem, P: np.ndarray, *modes: Mode) -> AnalyticCentre:
    k = problem.points
    return centred(problem, P, np.array(modes or (SLIP,) * k), np.zeros((k, 2)))


@pytest.mark.parametrize("size", [1.0, 2e4])
def test_points_that_press_each_other_have_the_room_that_the_centre_gives_them(size: float) -> None:
    """Of x + y - z = 1 with nothing negative the least norm is (1, 1, -1) / 3, outside; a fourth point is unique."""
    problem = sliding((1.0, 1.0, -1.0, 0.0), (0.0, 0.0, 0.0, 1.0), free=(-size, -0.5 * size))
    P = normal(1.5 * size, size, 1.5 * size, 0.5 * size)
    found = found_of(problem, P)
    largest = 1.5  # forces are in shares of it: 5 (2 a^2 + c^2) - 2 log a - log c, c = 2 a - 2 / 3
    slope = lambda a: 20.0 * a + 20.0 * (2.0 * a - 1.0 / largest) - 2.0 / a - 2.0 / (2.0 * a - 1.0 / largest)  # noqa: E731
    a = largest * brentq(slope, 0.34, 2.0, xtol=1e-14)
    wanted = np.array([a, a, 2.0 * a - 1.0, 0.5]) * size
    assert found.P[:, 0] == pytest.approx(wanted, rel=1e-4) and not found.P[:, 1:].any()
    assert problem.rates(found.P)[:, 0] == pytest.approx(np.zeros(4), abs=1e-12 * size)
    assert found.chosen.tolist() == [True, True, True, False] and found.room.tolist() == found.P[:, 0].tolist()
    assert not found.bound.any() and not found.least and found.border == pytest.approx(1.5e-6 * size, rel=1e-12)


def test_least_norm_is_taken_where_it_leaves_a_tenth_of_the_room() -> None:
    """x + y - b z = 1: the least norm (1, 1, -b) / (2 + b^2) has no room; with + b z it has, but less as b falls."""
    for b, least in ((0.5, True), (0.01, False), (-0.5, False)):
        problem = sliding((1.0, 1.0, b))
        found = found_of(problem, normal(0.5, 0.5 - b, 1.0))
        assert found.least is least and (found.room > 0.0).all()
        norm = np.array([1.0, 1.0, b]) / (2.0 + b * b)
        assert (found.P[:, 0] == pytest.approx(norm, rel=1e-9)) is least


def test_points_that_hold_each_other_back_have_no_room_and_stay() -> None:
    """The first two share their load; of the others none can press where nothing pulls, and one is not there."""
    problem = sliding(
        (1.0, 1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 1.0, 1.0, 0.0), (0.0, 0.0, 0.0, 0.0, 1.0), free=(-3.0, 0.0, 1.0)
    )
    found = found_of(problem, normal(2.0, 1.0, 0.0, 0.0, 0.0), SLIP, SLIP, SLIP, SLIP, OPEN)
    assert found.P[:, 0] == pytest.approx([1.5, 1.5, 0.0, 0.0, 0.0], abs=1e-12)
    assert found.bound.tolist() == [False, False, True, True, True] and found.chosen.tolist() == [True] * 4 + [False]
    assert found.least is False and found.border == pytest.approx(2e-6, rel=1e-12)
    assert found.room == pytest.approx([1.5, 1.5, 0.0, 0.0, 0.0], abs=1e-12)


def test_what_leaves_the_cones_as_bound_points_go_back_is_not_centred(monkeypatch: pytest.MonkeyPatch) -> None:
    """Newton's method begins inside alone; else forces are of least norm among those that leave bound points."""
    problem, P = sliding((1.0, 1.0, 1.0)), normal(0.3, 0.5, 0.2)
    asked: list[Any] = []

    def newton(cones: Cones, x: np.ndarray, null: np.ndarray, held: np.ndarray, reach: float) -> np.ndarray:
        asked.append((x[:, 0].tolist(), null.shape[2], held.tolist(), reach))
        return x

    def begun(*x: float) -> None:
        where = normal(*x), np.array([True, False, False])
        monkeypatch.setattr(analytic_centre, "_with_room", lambda cones, x, null, chosen: where)

    monkeypatch.setattr(analytic_centre, "_newton", newton)
    begun(1.4, 0.4, 0.2)  # in shares of 0.5: back to (0.6, ...), from where the others take 0.4 each
    found = found_of(problem, P)
    assert asked == [(pytest.approx([0.6, 0.8, 0.6]), 1, [False, True, True], 0.0)]
    assert found.P[:, 0] == pytest.approx([0.3, 0.35, 0.35]) and found.bound.tolist() == [True, False, False]
    assert found.least is False
    begun(1.6, -0.6, 1.0)  # to (0.6, -0.1, 1.5)
    assert found_of(problem, P).P[:, 0] == pytest.approx([0.3, 0.35, 0.35]) and len(asked) == 1


@pytest.mark.parametrize(("merit", "kept"), [(0.9e-9, True), (1.1e-9, False)])
def test_forces_that_leave_the_law_are_not_taken(merit: float, kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, P = sliding((1.0, 1.0)), normal(0.75, 0.25)
    monkeypatch.setattr(analytic_centre, "regions", lambda problem, P, z: Made(merit=merit))
    found = found_of(problem, P)
    assert found.P[:, 0] == pytest.approx([0.5, 0.5] if kept else [0.75, 0.25], abs=1e-15)
    assert found.room == pytest.approx(found.P[:, 0], rel=1e-14) and found.least is kept and not found.bound.any()


def test_room_that_counts_as_none_is_a_billionth_of_the_largest_force() -> None:
    problem = sliding((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    found = found_of(problem, normal(4.0, 3.9e-9, 4.1e-9))
    assert found.bound.tolist() == [False, True, False] and found.least and not found.chosen.any()
    lines = (1.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0)
    found = found_of(sliding(*lines, free=(-6.0, -3.9e-9, -4.1e-9)), normal(4.0, 2.0, 3.9e-9, 4.1e-9))
    assert found.bound.tolist() == [False, False, True, False] and found.least


@pytest.mark.parametrize(("outside", "merit", "chosen", "holds"), [
    (0.9e-12, 0.0, True, True), (1.1e-12, 0.0, True, False), (-1.0, 0.0, True, True), (0.0, 0.0, False, False),
    (0.0, 0.9e-10, True, True), (0.0, 1.1e-10, True, False),
])  # fmt: skip
def test_all_points_hold_where_forces_are_within_their_cones_but_for_roundoff(
    outside: float, merit: float, chosen: bool, holds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By at most a trillionth of the largest force, of 4 N, and where the law holds as exactly as it is solved for."""
    problem, P, seen = sliding((1.0, 1.0, 1.0)), normal(-4.0, 1.0, 3.0), []

    def centre(problem: ContactProblem, start: np.ndarray, mode: np.ndarray, d: np.ndarray) -> Any:
        seen.append((start[:, 0].tolist(), mode.tolist()))
        return Made(P=P, room=np.array([1.0, -4.0 * outside, 2.0]), chosen=np.array([False, chosen, False]))

    monkeypatch.setattr(analytic_centre, "centred", centre)
    monkeypatch.setattr(analytic_centre, "regions", lambda problem, P, z: Made(merit=merit))
    found = fully_held(problem)
    assert found is P if holds else found is None
    assert seen == [(pytest.approx([1.0 / 3.0] * 3), [SLIP] * 3)]


def test_points_are_held_in_the_modes_that_were_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    own = np.kron(np.eye(3), np.diag([2.0, 1.0, 1.0]))
    problem = impact(own, np.tile([-1.0, 0.1, 0.0], 3), np.array([0.5, 0.0, 0.5]), modes=np.array([OPEN, STICK, STICK]))
    seen: list[Any] = []

    def centre(problem: ContactProblem, P: np.ndarray, mode: np.ndarray, d: np.ndarray) -> Any:
        seen.append((P.tolist(), mode.tolist()))
        return Made(P=P, room=P[:, 0], chosen=np.zeros(3, bool))

    monkeypatch.setattr(analytic_centre, "centred", centre)
    assert fully_held(problem) is None
    assert seen == [([[0.0] * 3, [0.5, 0.0, 0.0], [0.5, pytest.approx(-0.1), 0.0]], [OPEN, SLIP, STICK])]


@pytest.mark.parametrize("start", [0.4, 3.0, 50.0])
@pytest.mark.parametrize("reach", [0.0, 0.25])
@pytest.mark.parametrize("held", [(1, 1, 1), (1, 1, 0)])
@pytest.mark.parametrize("mu", [np.inf, 0.8])
def test_newtons_steps_are_shortened_until_they_stay_inside(
    start: float, reach: float, held: tuple[int, ...], mu: float
) -> None:
    """Of x + y - z = 2 / 3 whole steps from afar lead outside, where the least norm is; across, each has some friction.

    Least 5 |x|^2 - sum log of x_n + reach, or of (mu (x_n + reach))^2 - |x_t|^2, of those points that count.
    """
    cones, which = Cones(np.array([mu, mu, np.inf])), np.array(held, bool)
    x = normal(start, start, 2.0 * start - 2.0 / 3.0)
    x[:2, 1] = 0.1 * start
    moves = np.zeros((3, 3, 3))
    moves[:, 0, :2] = np.linalg.qr(np.array([[1.0, 1.0], [-1.0, 1.0], [0.0, 2.0]]))[0]
    moves[0, 1, 2], moves[1, 2, 2] = 0.6, 0.8

    def value(y: np.ndarray) -> float:
        now = x + moves @ y
        n, t = now[:, 0] + reach, np.hypot(now[:, 1], now[:, 2])
        slack = np.where(np.isinf(cones.mu), n, np.where(np.isinf(cones.mu), 0.0, cones.mu) ** 2 * n**2 - t**2)[which]
        inside = (n[which] > 0.0).all() and (slack > 0.0).all()
        return 5.0 * float((now**2).sum()) - float(np.log(slack).sum()) if inside else np.inf

    assert value(np.zeros(3)) < np.inf
    found = analytic_centre._newton(cones, x, moves, which, reach)
    y = np.linalg.lstsq(moves.reshape(9, 3), (found - x).ravel(), rcond=None)[0]
    assert found == pytest.approx(x + moves @ y, abs=1e-12 * start)
    assert value(y) < value(np.zeros(3)) < np.inf
    for step in 1e-3 * np.vstack([np.eye(3), -np.eye(3)]):
        assert value(y) < value(y + step)
