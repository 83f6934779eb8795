"""Which restitution gives no energy, which patch comes next, and what a jam ends with, around solvers made by hand."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import numpy as np
import pytest

from sim.contact import impact as impacts
from sim.contact.impact import Collision

pytestmark = [pytest.mark.contact, pytest.mark.fast]


def closing(count: int = 2, **more: Any) -> Collision:
    """Return points that close at 2 m/s, which move one by one: the energy that they could take is 2 J each."""
    said = {"mu": np.zeros(count), "e": np.full(count, 0.5)} | more
    return Collision(G=np.eye(3 * count), u=np.tile([-2.0, 0.0, 0.0], count), **said)


class Tried:
    """What a collision gives with the coefficients times s, by an energy and a status for each s."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, energy: Any, status: Any = lambda s: 0):
        self.at: list[float] = []

        def tried(collision: Collision, law: str, s: float) -> Any:
            assert law == "law"
            self.at.append(s)
            return Made(s=s, energy=energy(s), status=status(s))

        monkeypatch.setattr(impacts, "_with", tried)

    def s(self, collision: Collision) -> float:
        law: Any = "law"
        return float(impacts.resolve(collision, law).s)


# Two points: 4 J, so what counts as no energy is 4e-12 J; that of a run may be another.
@pytest.mark.parametrize(("kinetic", "limit"), [(0.0, 4e-12), (50.0, 50e-12)])
def test_restitution_is_kept_where_it_gives_no_energy(
    kinetic: float, limit: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Tried(monkeypatch, lambda s: 0.99 * limit)
    assert made.s(closing(kinetic=kinetic)) == 1.0 and made.at == [1.0]
    made = Tried(monkeypatch, lambda s: 1.01 * limit * s)
    assert made.s(closing(kinetic=kinetic)) == 0.5 and made.at == [1.0, 0.0, 0.5]


def test_coefficients_are_the_largest_that_give_no_energy(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Tried(monkeypatch, lambda s: s - 0.3)
    assert made.s(closing()) == pytest.approx(0.3, abs=8e-12) and len(made.at) < 45
    made = Tried(monkeypatch, lambda s: -1.0 if s < 0.3 else 1.0)  # never none: to the last bit
    assert made.s(closing()) == pytest.approx(0.3, abs=2.0**-51) and made.at[2] == 0.5 and len(made.at) == 54
    made = Tried(monkeypatch, lambda s: -1.0 if s == 0.0 else 1.0)
    assert made.s(closing()) == 0.0
    made = Tried(monkeypatch, lambda s: -s, lambda s: int(0.25 < s < 1.0))  # what is not solved does not count
    assert made.s(closing()) == 1.0
    made = Tried(monkeypatch, lambda s: s - 0.7, lambda s: int(0.2 < s < 1.0))
    assert made.s(closing()) == pytest.approx(0.2, abs=2.0**-50)


def test_without_restitution_or_with_one_that_contradicts_itself_there_is_one_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = Tried(monkeypatch, lambda s: 1.0)
    assert made.s(closing(e=np.zeros(2))) == 1.0 and made.at == [1.0]
    assert made.s(closing(rest=2.0)) == 1.0 and made.at == [1.0, 1.0]  # not faster than what rests
    made = Tried(monkeypatch, lambda s: -1.0, lambda s: int(s == 1.0))
    assert made.s(closing()) == 0.0 and made.at == [1.0, 0.0]


def test_what_bounces_closes_faster_than_its_rest_speed() -> None:
    one = closing(3, rest=np.array([1.9, 2.0, 2.1]), e=np.array([0.5, 0.6, 0.7]))
    assert one.bounce.tolist() == [0.5, 0.0, 0.0] and one.approach.tolist() == [-2.0] * 3
    told = closing(3, u_n=np.array([1.0, -3.0, 0.0]))
    assert told.bounce.tolist() == [0.0, 0.5, 0.0] and told.patches.tolist() == [0, 0, 0]
    assert closing(2, patch=np.array([4, 2])).patches.tolist() == [4, 2]


def in_turn(monkeypatch: pytest.MonkeyPatch, given: Any, last: Any, **more: Any) -> tuple[Any, list]:
    """Solve one patch after the other; given : impulse (k, 3) of each; last : of all together."""
    asked: list = []

    def resolve(alone: Collision, law: str) -> Any:
        asked.append((alone.u.tolist(), alone.mu.tolist(), alone.e.tolist(), np.asarray(alone.rest).tolist()))
        assert alone.patch is None and alone.u_n is None and alone.modes is None and law == "law"
        return Made(P=given(alone), s=0.25 if len(asked) == 2 else 0.75)

    monkeypatch.setattr(impacts, "resolve", resolve)
    monkeypatch.setattr(impacts, "solve_contacts", lambda problem: Made(P=last))
    monkeypatch.setattr(Collision, "problem", lambda self, u, **of: u)
    G = np.kron(np.array([[1.0, 0.0, -0.5], [0.0, 1.0, 0.0], [-0.5, 0.0, 1.0]]), np.eye(3))
    u = np.array([-1.0, 0.1, 0.0, 0.5, 0.2, 0.0, -3.0, 0.3, 0.0])
    law: Any = "law"
    mu, e = np.array([0.1, 0.2, 0.3]), np.array([0.4, 0.5, 0.6])
    return impacts.resolve_in_turn(Collision(G=G, u=u, mu=mu, e=e, patch=np.array([7, 5, 9]), **more), law), asked


def stopping(alone: Collision) -> np.ndarray:
    return np.array([[-alone.u[0], 0.0, 0.0]])


def test_the_fastest_patch_comes_first_until_none_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopping the third point pushes the first on, and the first the third, by half as much each time."""
    out, asked = in_turn(monkeypatch, stopping, np.zeros((3, 3)), rest=np.array([0.7, 0.8, 0.9]))
    assert out.rounds[:4] == (9, 7, 9, 7) and asked[0] == ([-3.0, 0.3, 0.0], [0.3], [0.6], [0.9])
    assert asked[1] == ([-2.5, 0.1, 0.0], [0.1], [0.4], [0.7]) and asked[2][0] == [-1.25, 0.3, 0.0]
    assert out.s == 0.25 and out.P[:, 0] == pytest.approx([10.0 / 3.0, 0.0, 14.0 / 3.0], rel=1e-4)
    assert out.u[:, 0] == pytest.approx([0.0, 0.5, 0.0], abs=1e-5) and out.u[1].tolist() == [0.5, 0.2, 0.0]
    # Ten times each, then all at once, as they still close.
    assert out.rounds == (*(9, 7) * 10, -1) and len(asked) == 20
    assert out.energy == pytest.approx(
        0.5 * out.P.ravel() @ np.add(out.u.ravel(), [-1, 0.1, 0, 0.5, 0.2, 0, -3, 0.3, 0])
    )


def test_what_still_closes_after_all_rounds_is_stopped_together(monkeypatch: pytest.MonkeyPatch) -> None:
    last = np.arange(9.0).reshape(3, 3)
    out, asked = in_turn(monkeypatch, lambda alone: np.zeros((1, 3)), last)
    assert out.rounds == (*(9,) * 10, *(7,) * 10, -1) and len(asked) == 20 and np.array_equal(out.P, last)


@pytest.mark.parametrize(("off", "rounds"), [(2.9e-12, 3), (3.1e-12, 11)])
def test_points_close_beyond_a_trillionth_of_the_fastest(
    off: float, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first point is let go as fast as it will be pushed on; what is left of the third then counts or does not."""

    def given(alone: Collision) -> np.ndarray:
        first = alone.u[1] == 0.1
        return np.array([[8.0 if first else -alone.u[0] - off if alone.u[0] < -1e-6 else 0.0, 0.0, 0.0]])

    out, asked = in_turn(monkeypatch, given, np.full((3, 3), 0.0))
    assert len(asked) == len([one for one in out.rounds if one >= 0])
    assert out.rounds[:3] == (9, 7, 9) and len(asked) == rounds


@pytest.mark.parametrize("tries", [1, 2, 3])
@pytest.mark.parametrize(("status", "apart", "kept"), [(0, 0.09, "exact"), (0, 0.11, "nudged"), (1, 0.0, "nudged")])
def test_a_jam_is_followed_to_no_time(
    status: int, apart: float, kept: str, tries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rates have changed by 1e-7 of the slip, or more where that has no answer; what ends elsewhere was another one."""
    nudged, rates = np.array([[2.0, -1.0, 0.0], [0.5, 0.0, 0.0]]), list[np.ndarray]()
    exact = np.add(nudged, [[0.0, 0.0, -2.0 * apart], [0.0, 0.0, 0.0]])

    def problem(self: Collision, u: np.ndarray) -> int:
        rates.append(u)
        return len(rates)

    monkeypatch.setattr(Collision, "problem", problem)
    monkeypatch.setattr(impacts, "solve_contacts", lambda made: Made(P=nudged, status=int(made < tries), of=made))
    monkeypatch.setattr(impacts, "polish", lambda made, P: Made(P=exact, status=status, of=made))
    u, a = np.array([0.0, 3.0, -4.0, 0.0, 1.0, 0.0]), np.array([-2.0, 0.5, 0.0, -1.0, 0.0, 0.0])
    out = impacts.jam(Collision(G=np.eye(6), u=u, mu=np.ones(2), e=np.zeros(2)), a)
    for made, nudge in zip(rates[:tries], impacts.NUDGES, strict=False):
        assert made == pytest.approx(u + 5.0 * nudge / 2.0 * a, abs=1e-15)
    assert len(rates) == tries + 1 and rates[-1] is u and out.s == 0.0
    last: Any = out.last
    assert last.of == (tries + 1 if kept == "exact" else tries)
    assert np.array_equal(out.P, exact if kept == "exact" else nudged)
    assert out.u.ravel() == pytest.approx(u + out.P.ravel())


class Solved:
    """Collects the problems of a collision, and gives impulses for them, one after the other."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *impulses: list):
        self.problems: list[tuple] = []
        self.left = [Made(P=np.array(P, float)) for P in impulses]

        def solve(problem: tuple) -> Any:
            self.problems.append(problem)
            return self.left.pop(0)

        monkeypatch.setattr(impacts, "solve_contacts", solve)
        monkeypatch.setattr(impacts, "impact", lambda G, u, mu, **more: (u.tolist(), {k: x for k, x in more.items()}))


def test_after_newton_points_that_bounce_leave_by_a_share_of_their_approach(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Solved(monkeypatch, [[1.0, 2.0, 3.0]] * 3)
    one = closing(3, u_n=np.array([-4.0, -0.5, 2.0]), rest=1.0, e=np.array([0.5, 0.6, 0.7]))
    P, last = impacts.newton(one, 0.25)
    assert made.problems[0][1].pop("shift").tolist() == [-0.5, 0.0, 0.0]
    assert made.problems[0] == (one.u.tolist(), {"patch": None, "modes": None, "scale": 2.0}) and P is last.P


def test_after_poisson_a_share_of_the_impulses_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = [[4.0, 1.0, 0.0], [-1e-3, 0.0, 0.0], [3.0, 0.0, 0.0]], [[0.5, 0.25, 0.0], [0.0] * 3, [0.0] * 3]
    one = closing(3, e=np.array([0.5, 0.6, 0.0]), mu=np.array([0.1, 0.2, 0.3]))
    made = Solved(monkeypatch, first, second)
    P, last = impacts.poisson(one, 0.5)
    given = np.array([1.0, 0.0, 0.0])  # half of half of what stopped it, none of what pulls
    whole = np.array(first) + np.outer(given, [1.0, 0.0, 0.0])
    assert P.tolist() == (whole + second).tolist() and last.P.tolist() == second
    assert made.problems[0][0] == one.u.tolist() and "least" not in made.problems[0][1]
    assert made.problems[1][0] == (one.u + whole.ravel()).tolist()
    assert made.problems[1][1]["least"].tolist() == [0.1, 0.0, 0.0]
    made = Solved(monkeypatch, first)  # nothing comes back
    P, last = impacts.poisson(one, 0.0)
    assert P.tolist() == last.P.tolist() == first and len(made.problems) == 1
