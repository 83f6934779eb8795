"""The path from soft contacts to rigid ones: each place on it an answer, steps as long as asked, and what it costs."""

from __future__ import annotations

import numpy as np
import pytest

from sim.contact import homotopy
from sim.contact.active import Active
from sim.contact.contact_problem import ContactProblem, acceleration, impact
from sim.contact.law import regions
from sim.contact.solution import ContactStatus
from sim.contact.solve import ITERATIONS, Search, relax, solve_contacts
from tests.contact.random_problems import random_bodies
from tests.contact.test_law_parts import some_problem
from tests.contact.test_properties import frictions
from tests.support.interpreted import times

pytestmark = [pytest.mark.contact, pytest.mark.fast]

OWN = np.array([[2.0, 0.3, -0.2], [0.3, 1.5, 0.1], [-0.2, 0.1, 1.0]])  # 1/kg


def one(kind: str) -> tuple[ContactProblem, np.ndarray]:
    """Return a problem of one point that sticks, or slides as it has to, and what its answer solves: free, shifted."""
    free = np.array([-3.0, 0.4, -0.3])
    if kind == "sticks":
        return impact(OWN, free, np.array([0.9]), shift=np.array([0.5])), np.array([-2.5, 0.4, -0.3])
    slides = acceleration(OWN, free, np.array([0.4]), u_t=np.array([[0.6, 0.8]]), least=np.array([0.2]))
    return slides, free


def answer(kind: str, soft: float) -> np.ndarray:
    """Return the impulse of that point, in closed form."""
    _, free = one(kind)
    mobility = soft * 0.7 * 4.5
    if kind == "sticks":
        return -np.linalg.solve(OWN + mobility * np.eye(3), free)
    d, mu, least = np.array([0.6, 0.8]), 0.4, 0.2
    n = -(free[0] - least * OWN[0, 1:] @ d) / (OWN[0, 0] - mu * OWN[0, 1:] @ d + mobility)
    return np.array([n, *(-(least + mu * n) * d)])


@pytest.mark.parametrize("log_soft", [0.0, -1.7, -6.0])
@pytest.mark.parametrize("kind", ["sticks", "slides"])
def test_the_path_of_one_point_is_that_of_its_closed_form(kind: str, log_soft: float) -> None:
    made, _ = one(kind)
    way = homotopy.Path(made, np.array([0.7]))
    P, h = answer(kind, np.exp(log_soft))[None], 1e-5
    unit = way.length_unit(P)
    assert unit == pytest.approx(np.array([[max(made.rate / 4.5, float(np.abs(P).max()))]]), rel=1e-12)
    ahead, back = (answer(kind, np.exp(log_soft + side * h)) for side in (1, -1))
    along = np.append((ahead - back) / (2.0 * h) / unit[0, 0], 1.0)
    tangent = way.tangent(P, log_soft, np.array([0.0, 0.0, 0.0, -1.0]))
    assert tangent == pytest.approx(-along / np.linalg.norm(along), abs=1e-8)
    for length in (0.3, 1.5):
        before = way.solves
        found = way.ahead(P, log_soft, tangent, length)
        assert found is not None and found[2] == length and way.solves - before <= 4
        assert found[0][0] == pytest.approx(answer(kind, np.exp(found[1])), abs=1e-9)
        gone = np.append(((found[0] - P) / unit).ravel(), found[1] - log_soft)
        # Back to the path across the tangent, in lengths of where the step began.
        assert gone @ tangent == pytest.approx(length, rel=0.05)
    assert way.ahead(P, log_soft, tangent, 0.3, -tangent) is None  # the way it came
    assert way.ahead(P, log_soft, tangent, 0.3, tangent) is not None
    rigid, solves = homotopy.follow(made, np.array([0.7]), answer(kind, 1.0)[None])
    assert rigid[0] == pytest.approx(answer(kind, 0.0), abs=1e-8)
    # Steps of 0.3, which grow by 1.6 up to 3, as far as exp(-22), each come back to the path with two or three solves.
    assert abs(solves - 29) <= 1


def test_a_path_to_infinity_is_left() -> None:
    """A point that its own friction presses in harder than it lifts: soft alone it has an answer, down to 0.1.

    800 solves are made, and those of the last step.
    """
    G = np.array([[1.0, 1.6, 0.0], [1.6, 3.0, 0.0], [0.0, 0.0, 1.0]])
    made = acceleration(G, np.array([-1.0, 0.0, 0.0]), np.array([0.9375]), u_t=np.array([[1.0, 0.0]]))
    assert G[0, 0] - 0.9375 * G[0, 1] == pytest.approx(-0.5)
    P = np.array([[1.0, -0.9375, 0.0]]) / 4.5  # -0.5 + 5 soft
    found, solves = homotopy.follow(made, np.array([1.0]), P)
    assert 1e3 < found[0, 0] < 1e10 and 800 <= solves <= 830


@pytest.mark.parametrize("seed", range(times(6, 2)))
def test_places_on_the_path_are_answers_of_softened_problems(seed: int) -> None:
    """Points of all sorts, along a path from softness to where it is ten thousand times less."""
    made = some_problem(seed)
    share = homotopy.softnesses(6)[seed % 2]
    soft = solve_contacts(homotopy.softened(made, share, 0.0))
    assert soft.status == ContactStatus.SOLVED
    way, P, log_soft = homotopy.Path(made, share), soft.P, 0.0
    before = np.append(np.zeros(18), -1.0)
    for _ in range(8):
        tangent = way.tangent(P, log_soft, before)
        assert tangent @ before >= 0.0 and np.linalg.norm(tangent) == pytest.approx(1.0, rel=1e-9)
        found = way.ahead(P, log_soft, tangent, 0.8) or way.around(P, log_soft, tangent)
        assert found is not None
        P, log_soft = found[0], found[1]
        there = homotopy.softened(made, share, log_soft)
        assert regions(there, P, there.rates(P)).merit <= 1e-9
        before = tangent
    assert log_soft < -3.0


def test_to_follow_paths_costs_few_solves() -> None:
    """Steps grow where they succeed; at the end it is as good as rigid."""
    spent = 0
    for seed in range(16):
        points = 2 + seed % 5
        body = random_bodies(seed, points, 2 + seed % 3, spread=100.0)
        made = impact(body.G, body.u, frictions(seed, points, 1.0), patch=body.patch)
        share = homotopy.softnesses(points)[seed % 2]
        soft = solve_contacts(homotopy.softened(made, share, 0.0))
        P, solves = homotopy.follow(made, share, soft.P)
        assert regions(made, P, made.rates(P)).merit < 1e-8
        spent += solves
    assert spent == pytest.approx(477, abs=6)


def test_shares_to_try_are_equal_ones_and_some_without_a_pattern() -> None:
    """The parts beyond whole numbers of multiples of the golden ratio, and a fifth."""
    equal, uneven = homotopy.softnesses(4)
    assert equal.tolist() == [1.0] * 4
    assert uneven == pytest.approx(0.2 + np.modf(np.arange(1, 5) * 2.0 / (1.0 + np.sqrt(5.0)))[0], abs=1e-6)


@pytest.mark.parametrize(("seed", "points", "most"), [(3, 5, 1.0), (4, 6, 1.0), (117, 7, 2.0)])
def test_the_path_is_the_same_in_other_units(seed: int, points: int, most: float) -> None:
    """Of mass and of speed: powers of two change no digit, even where the path turns back at kinks."""
    body = random_bodies(seed, points, 2 + seed % 3)
    mu, share = frictions(seed, points, most), homotopy.softnesses(points)[0]
    made = impact(body.G, body.u, mu, patch=body.patch)
    start = solve_contacts(homotopy.softened(made, share, 0.0)).P
    P, solves = homotopy.follow(made, share, start)
    for mass, speed in ((2.0**40, 2.0**-12),):
        other = impact(body.G / mass, speed * body.u, mu, patch=body.patch)
        found, again = homotopy.follow(other, share, mass * speed * start)
        assert again == solves
        assert found / (mass * speed) == pytest.approx(P, rel=1e-6, abs=1e-9 * np.abs(P).max())


# Whose paths turn back on the way to rigid points, or have kinks that no step leads over: seed, points, solves.
BENT = [(1053, 5, 181), (1384, 6, 210), (212, 4, 359), (998, 5, 383)]
ENDS = [(484, 6, 279), (1764, 6, 267), (277, 4, 359)]


@pytest.mark.parametrize(("seed", "points", "wanted"), BENT + ENDS)
def test_a_path_is_followed_where_it_turns_back_and_left_where_it_ends(seed: int, points: int, wanted: int) -> None:
    body = random_bodies(seed, points, 2, spread=100.0)
    made = impact(body.G, body.u, frictions(seed, points, 3.0) + 0.3, patch=body.patch)
    share = homotopy.softnesses(points)[seed % 2]
    soft = homotopy.softened(made, share, 0.0)
    begun = Search(np.zeros((points, 3)), np.inf)
    relax(soft, Active.first(soft), begun, ITERATIONS, begun.P)
    assert begun.merit <= 1e-10
    P, solves = homotopy.follow(made, share, begun.P)
    assert solves == pytest.approx(wanted, rel=0.04)
    merit = regions(made, P, made.rates(P)).merit
    assert merit <= 1e-8 if (seed, points, wanted) in BENT else 1e-4 < merit < 0.1
