"""Kernels answer contact problems as the plain solver does: the same modes, the same impulses, the same room."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sim.contact import analytic_centre, by_kernels, solve
from sim.contact.contact_problem import ContactProblem, Mode, acceleration, impact
from sim.kernels.orthogonal import Factors, factorise_orthogonal, put_null_vector, put_range_vector, solve_least
from tests.contact.random_problems import random_bodies, rows

pytestmark = [pytest.mark.contact, pytest.mark.fast]


def of_bodies(seed: int) -> ContactProblem:
    """Return a problem of random bodies: an impact, one that bounces, accelerations, some with friction beside."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 7))
    body = random_bodies(seed, k, spread=float(10.0 ** rng.uniform(-1, 1)))
    mu, kind = rng.uniform(0, 1, k) * (rng.random(k) < 0.8), seed % 4
    if kind == 0:
        return impact(body.G, body.u, mu, patch=body.patch)
    if kind == 1:
        return impact(body.G, body.u, mu, patch=body.patch, shift=0.3 * np.minimum(body.u[::3], 0.0))
    if kind == 2:
        return acceleration(body.G, body.u, mu, patch=body.patch, closed=rng.random(k) < 0.9)
    u_t, least = rng.normal(size=(k, 2)) * (rng.random((k, 1)) < 0.4), rng.random(k) * (rng.random(k) < 0.3)
    return acceleration(body.G, body.u, mu, u_t=u_t, patch=body.patch, least=least)


def on_floor(seed: int) -> ContactProblem:
    """Return the problem of a body on many feet under a force: forces are not unique, in a plane not even across it."""
    rng = np.random.default_rng(seed)
    k, mass = int(rng.integers(2, 9)), float(10.0 ** rng.uniform(-3, 3))
    feet = np.column_stack([rng.uniform(-1, 1, (k, 2)), np.zeros(k)])
    frame, centre = np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]]), np.array([0, 0, rng.uniform(0.1, 1)])
    W = np.vstack([rows(foot, frame, centre) for foot in feet])
    moves = np.array([1, 0, 1, 0, 1, 0.0]) if seed % 3 == 0 else np.ones(6)
    inverse = moves / np.r_[np.full(3, mass), mass * rng.uniform(0.05, 0.3, 3)]
    force = np.r_[3.0 * rng.normal(size=2) * (seed % 5 != 0), -9.81, 2.0 * rng.normal(size=3) * (seed % 2)] * moves
    return acceleration(
        W @ np.diag(inverse) @ W.T, W @ force, np.full(k, 0.5) if seed % 4 else rng.uniform(0, 1, k),
        u_t=rng.normal(size=(k, 2)) * (rng.random((k, 1)) < 0.3) if seed % 6 == 0 else None,
        modes=rng.integers(0, 3, k) if seed % 7 == 0 else None, patch=np.zeros(k, int),
    )  # fmt: skip


def units(problem: ContactProblem) -> np.ndarray:
    return problem.rate / problem.trace[:, None]


MADE = [(make, seed) for make in (of_bodies, on_floor) for seed in range(60)]


@pytest.mark.parametrize("make", [of_bodies, on_floor])
def test_impulses_and_modes_are_those_of_the_plain_solver(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the motion is the only one; where it is not, the law holds for both.  It is asked only where hard."""
    compared = shared = hard = 0
    plain, handed_on = solve.solve_contacts, list[ContactProblem]()
    monkeypatch.setattr(solve, "solve_contacts", lambda problem: (handed_on.append(problem), plain(problem))[1])
    for seed in range(60):
        problem = make(seed)
        wanted, found = plain(problem), by_kernels.solve_contacts(problem)
        hard += wanted.cycling
        assert found.status == wanted.status, seed
        if wanted.status or not wanted.motion_unique or (wanted.chosen.any() and problem.least.any()):
            assert wanted.status or found.residuals.merit <= solve.SOLVED, seed
            continue
        assert found.mode.tolist() == wanted.mode.tolist() and found.chosen.tolist() == wanted.chosen.tolist(), seed
        assert found.motion_unique and found.d == pytest.approx(wanted.d, abs=1e-8), seed
        assert found.P / units(problem) == pytest.approx(wanted.P / units(problem), abs=1e-9), seed
        compared, shared = compared + 1, shared + int(wanted.chosen.any())
    assert len(handed_on) <= hard + 1
    assert compared > 30 and (make is of_bodies or shared > 20)


def test_forces_have_the_room_that_the_plain_centre_gives_them() -> None:
    bound = least = 0
    for make, seed in MADE:
        problem = make(seed)
        answer = solve.solve_contacts(problem)
        if answer.status:
            continue
        wanted = analytic_centre.centred(problem, answer.P, answer.mode, answer.d)
        found = by_kernels.centred(problem, answer.P, answer.mode, answer.d)
        assert found.chosen.tolist() == wanted.chosen.tolist() and found.bound.tolist() == wanted.bound.tolist(), seed
        assert (found.least, found.border) == (wanted.least, pytest.approx(wanted.border, rel=1e-9)), seed
        size = max(np.abs(wanted.P).max(), 1e-300)
        assert found.P / size == pytest.approx(wanted.P / size, abs=1e-8), seed
        assert found.room / size == pytest.approx(wanted.room / size, abs=1e-8), seed
        bound, least = bound + int((wanted.bound & wanted.chosen).any()), least + int(not wanted.least)
    assert bound > 3 and least > 3


def test_what_holds_all_is_found_where_the_plain_one_finds_it_and_polished() -> None:
    held = 0
    for seed in range(120):
        problem = on_floor(seed)
        wanted, found = analytic_centre.fully_held(problem), by_kernels.fully_held(problem)
        assert (found is None) == (wanted is None), seed
        if found is None or wanted is None:
            continue
        held += 1
        assert found / units(problem) == pytest.approx(wanted / units(problem), abs=1e-8), seed
        one, other = solve.polish(problem, wanted), by_kernels.polish(problem, wanted)
        assert one.mode.tolist() == other.mode.tolist() and Mode.OPEN not in one.mode[problem.closed], seed
        assert other.P / units(problem) == pytest.approx(one.P / units(problem), abs=1e-9), seed
    assert held > 20


def test_what_relaxing_does_not_solve_goes_to_the_plain_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[ContactProblem] = []

    def plainly(problem: ContactProblem) -> str:
        asked.append(problem)
        return "plain"

    problem = of_bodies(4)
    monkeypatch.setattr(solve, "solve_contacts", plainly)
    assert by_kernels.solve_contacts(problem) != "plain"
    monkeypatch.setattr(by_kernels, "ITERATIONS", 1)
    G = np.eye(3) - 0.9 * np.eye(3)[[1, 0, 2]] * np.array([1.0, 1.0, 0.0])
    sinking = acceleration(G, np.array([-1.0, 0.0, 0.0]), np.array([2.0]), u_t=np.array([[-1.0, 0.0]]))
    assert by_kernels.solve_contacts(sinking) == "plain" and asked == [sinking]


@pytest.mark.parametrize(
    ("m", "n", "rank"), [(5, 5, 5), (6, 4, 2), (4, 7, 3), (3, 3, 0), (8, 8, 5), (1, 1, 1), (3, 7, 3)]
)
def test_answers_of_least_norm_and_what_maps_to_nothing(m: int, n: int, rank: int) -> None:
    rng, size = np.random.default_rng(m + n), max(m, n)
    A, b = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n)), rng.normal(size=m)
    room = Factors(A.copy(), np.zeros(n), np.zeros(n), np.zeros(size), np.zeros(size), np.zeros(n, np.int64))
    assert factorise_orthogonal(m, n, 1e-12, room) == rank
    null, span = np.zeros((n - rank, n)), np.zeros((rank, m))
    for k in range(n - rank):
        put_null_vector(k, n, rank, room, null)
    for k in range(rank):
        put_range_vector(k, m, room, span)
    assert null @ null.T == pytest.approx(np.eye(n - rank), abs=1e-12) and pytest.approx(0.0, abs=1e-12) == A @ null.T
    assert span @ span.T == pytest.approx(np.eye(rank), abs=1e-12) and span.T @ span @ A == pytest.approx(A, abs=1e-12)
    room.x_work[:m] = b
    solve_least(m, n, rank, room)
    assert room.x_work[:n] == pytest.approx(np.linalg.lstsq(A, b, rcond=1e-12)[0], abs=1e-10)


@pytest.mark.parametrize("asked", ["fully_held", "centred"])
def test_kernels_are_asked_where_they_have_room(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the plain way for none, and for more."""
    plain: list[int] = []
    monkeypatch.setattr(analytic_centre, asked, lambda problem, *_: plain.append(problem.points))

    def ask(points: int) -> None:
        problem = acceleration(np.eye(3 * points), np.tile([-1.0, 0.1, 0.0], points), np.full(points, 0.5))
        more = (np.zeros((points, 3)), np.full(points, Mode.STICK), np.zeros((points, 2))) if asked == "centred" else ()
        getattr(by_kernels, asked)(problem, *more)

    for points in (1, by_kernels.MOST):
        ask(points)
    assert plain == []
    for points in (0, by_kernels.MOST + 1):
        ask(points)
    assert plain == [0, by_kernels.MOST + 1]
