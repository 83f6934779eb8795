"""The parts of the solver of contact problems, each by itself: the law point by point, modes, sharing, softness."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.optimize import approx_fprime, minimize

from sim.contact import active, analytic_centre, homotopy, not_unique, solve
from sim.contact.active import Active
from sim.contact.contact_problem import ContactProblem, Mode, acceleration, first, impact
from sim.contact.impact import reached_energy
from sim.contact.law import de_saxce, onto_cone, regions
from sim.contact.slip_directions import movable
from sim.contact.solution import ContactStatus, name_modes
from sim.contact.solve import damped, digging_in, polish, solve_contacts, worst_of_patches
from sim.contact.stops import _name
from sim.contact.sweeps import sweep
from tests.contact.random_problems import random_bodies
from tests.contact.test_cone_projection import onto_cone as onto_one_cone
from tests.support.interpreted import times

pytestmark = [pytest.mark.contact, pytest.mark.fast]

OPEN, STICK, SLIP = Mode.OPEN, Mode.STICK, Mode.SLIP


def some_problem(seed: int, points: int = 6) -> ContactProblem:
    """Points of all sorts: that do not touch, that slide, without friction, with friction of their own beside."""
    rng, body = np.random.default_rng(seed), random_bodies(seed, points, spread=10.0)
    mu, least = rng.uniform(0.2, 1.0, points), rng.uniform(0.0, 0.5, points)
    mu[1], least[[1, 2, 4]] = 0.0, 0.0
    u_t = rng.normal(size=(points, 2)) * (np.arange(points) == 3)[:, None]
    return acceleration(
        body.G + 0.2 * np.diag(np.diag(body.G)),
        body.u,
        mu,
        least=least,
        u_t=u_t,
        closed=np.arange(points) != 0,
        patch=body.patch,
        scale=3.0,
    )


# --- problems --------------------------------------------------------------------------------------------------------


def test_a_problem_says_what_its_points_are() -> None:
    G = np.diag([1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 4.0, 0.0, 5.0])
    made = ContactProblem(
        G=G, free=np.arange(9.0) - 4.5, mu=np.array([0.0, 0.0, 0.4]), shift=np.array([0.5, -1.0, 2.0]),
        least=np.array([0.0, 0.3, 0.2]), sliding=np.array([[0.6, 0.8], [0.0, 0.0], [0.0, 0.7]]),
        closed=np.ones(3, bool), patch=np.zeros(3, np.int64),
    )  # fmt: skip
    assert made.points == 3
    assert made.trace.tolist() == [6.0, 1.0, 9.0]  # 1 where nothing moves it
    assert made.smooth.tolist() == [True, False, False]
    assert made.given.tolist() == [True, False, False]  # a direction is a unit, or none
    assert made.dead.tolist() == [[False] * 3, [True] * 3, [False, True, False]]
    assert made.free3.tolist() == [[-4.0, -3.5, -2.5], [-2.5, -0.5, 0.5], [3.5, 2.5, 3.5]]
    assert made.free.tolist() == (np.arange(9.0) - 4.5).tolist()
    assert made.rate == 4.0
    assert replace(made, shift=np.array([0.5, -9.0, 2.0])).rate == 10.5  # of -1.5 and the shift
    assert replace(made, scale=7.0).rate == 7.0
    assert impact(np.eye(3), np.zeros(3), np.zeros(1)).rate == 1e-300
    P = np.arange(9.0).reshape(3, 3)
    assert made.rates(P).ravel() == pytest.approx(G @ P.ravel() + made.free3.ravel())
    whole = some_problem(3)
    for i in range(6):
        for j in range(6):
            assert (whole.blocks[i, j] == whole.G[3 * i : 3 * i + 3, 3 * j : 3 * j + 3]).all()


def test_what_is_not_said_of_a_problem_is_nothing() -> None:
    G, u = 2.0 * np.eye(6), np.arange(6.0)
    for made in (impact(G, u, [0.5, 0.7]), acceleration(G, u, [0.5, 0.7])):
        assert made.closed.all() and made.patch.tolist() == [0, 0] and made.modes is None and made.scale == 0.0
        assert not made.shift.any() and not made.least.any() and not made.sliding.any()
        assert made.mu.tolist() == [0.5, 0.7] and (made.G == G).all() and (made.free == u).all()
    said = impact(G, u, [0.5, 0.7], shift=np.array([1.0, 2.0]), least=np.array([3.0, 4.0]), patch=[5, 6], modes=[1, 2])
    assert (said.shift.tolist(), said.least.tolist(), said.patch.tolist()) == ([1.0, 2.0], [3.0, 4.0], [5, 6])
    assert said.modes == [1, 2]
    u_t = np.array([[3e-3, 4e-3], [3e-3, 4.1e-3]])
    slow = acceleration(G, u, [0.5, 0.7], u_t=u_t, slow=5.0001e-3, least=np.array([3.0, 4.0]), scale=9.0)
    assert slow.sliding[0].tolist() == [0.0, 0.0] and slow.least.tolist() == [3.0, 4.0] and slow.scale == 9.0
    assert slow.sliding[1] == pytest.approx(u_t[1] / np.hypot(*u_t[1]), rel=1e-14)


@pytest.mark.parametrize("name", ["free", "shift", "least", "sliding", "closed", "patch", "G"])
def test_arrays_of_a_problem_that_do_not_fit_are_refused(name: str) -> None:
    whole = some_problem(1)
    wrong = np.zeros((3, 3)) if name == "G" else np.zeros((5, 2))
    with pytest.raises(ValueError, match=f"{name}: found shape .* for 6 points"):
        replace(whole, **{name: wrong})


@pytest.mark.parametrize("name", ["free", "shift", "least", "mu", "G"])
def test_numbers_of_a_problem_that_are_none_are_refused(name: str) -> None:
    whole = some_problem(1)
    for bad in (np.nan, np.inf):
        wrong = getattr(whole, name).copy()
        wrong.flat[-1] = bad
        with pytest.raises(ValueError, match=f"{name}: not all values are finite numbers"):
            replace(whole, **{name: wrong})
    if name in ("mu", "least"):
        wrong = getattr(whole, name).copy()
        wrong[-1] = -0.25
        with pytest.raises(ValueError, match=f"{name}: found -0.25, expected no negative number"):
            replace(whole, **{name: wrong})


def test_the_first_points_are_a_problem_under_what_the_others_do() -> None:
    whole, P = some_problem(2), np.random.default_rng(0).normal(size=(6, 3))
    whole = replace(whole, modes=np.arange(6), shift=0.1 * np.arange(6))
    part = first(whole, 4, P)
    own = np.vstack([P[:4], np.zeros((2, 3))])
    assert part.rates(P[:4]) == pytest.approx(whole.rates(P)[:4], rel=1e-12)
    assert whole.rates(P)[:4] != pytest.approx(whole.rates(own)[:4], rel=1e-3)
    for name in ("mu", "shift", "least", "sliding", "closed", "patch", "modes"):
        assert (getattr(part, name) == getattr(whole, name)[:4]).all()
    assert part.rate == whole.rate and part.points == 4
    assert first(some_problem(2), 4, P).modes is None


# --- the law ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_regions_of_the_law_point_by_point(seed: int) -> None:
    made = some_problem(seed)
    rng = np.random.default_rng(seed)
    P, z = rng.normal(size=(6, 3)), 4.0 * rng.normal(size=(6, 3))
    P[5], z[5] = [2.0, 1e-3, 0.0], 0.0  # sticks well inside
    found, worst = regions(made, P, z), 0.0
    for k in range(6):
        trace = made.trace[k]
        n, t = P[k, 0] - z[k, 0] / trace, P[k, 1:] - z[k, 1:] / trace
        radius = made.least[k] + made.mu[k] * max(P[k, 0], 0.0)
        closed = n > 0.0 and k != 0
        slides = k in (1, 3) or math.hypot(*t) > radius
        assert (found.closed[k], found.slips[k]) == (closed, slides)
        d = made.sliding[k] if k == 3 else -t / math.hypot(*t)
        assert found.d[k] == pytest.approx(d, rel=1e-13)
        turns = slides and k != 3 and radius > 0.0
        wanted = trace * (math.hypot(*t) / radius - 1.0) if turns else np.inf
        assert found.resistance[k] == pytest.approx(wanted, rel=1e-11)
        nearest = np.array([n if closed else 0.0, *(-radius * d if slides else t)])
        off = math.dist(P[k], nearest) if k else np.abs(P[0]).max()
        assert found.violation[k] == pytest.approx(off * trace / 3.0, rel=1e-12)
        worst = max(worst, off * trace / 3.0)
    assert found.merit == pytest.approx(worst, rel=1e-12)
    assert regions(made, 0.0 * P, 0.0 * P).d.tolist() == (made.sliding * (np.arange(6) == 3)[:, None] + 0.0).tolist()


@pytest.mark.parametrize("seed", range(4))
def test_cones_are_projected_on_and_the_second_opinion_uses_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, mu = rng.normal(size=(40, 3)) * [1.0, 0.6, 0.6], rng.uniform(0.1, 1.5, 40)
    x[0] = 0.0
    wanted = np.array([onto_one_cone(one, m) for one, m in zip(x, mu, strict=True)])
    assert onto_cone(x, mu) == pytest.approx(wanted, abs=1e-14)
    made = some_problem(seed)
    P, z = rng.normal(size=(6, 3)), rng.normal(size=(6, 3))
    worst = 0.0
    for k in (2, 4):  # the others are open, without friction, given, or have friction of their own
        y = z[k] + [made.mu[k] * math.hypot(*z[k, 1:]), 0.0, 0.0]
        off = P[k] - onto_one_cone(P[k] - y / made.trace[k], float(made.mu[k]))
        worst = max(worst, float(np.linalg.norm(off)) * made.trace[k] / 3.0)
    assert de_saxce(made, P, z) == pytest.approx(worst, rel=1e-12)
    assert de_saxce(replace(made, least=np.full(6, 0.1)), P, z) == 0.0


def test_modes_are_named_by_rates_above_a_billionth() -> None:
    made = some_problem(0)  # rates in units of 3
    P, z = np.ones((6, 3)) * [2.0, 0.3, -0.1], np.zeros((6, 3))
    mode, d = name_modes(made, P, z)
    assert mode.tolist() == [OPEN, SLIP, STICK, SLIP, STICK, STICK]
    assert d.tolist() == [[0, 0]] * 3 + [made.sliding[3].tolist()] + [[0, 0]] * 2
    z[2, 1:], z[4, 1:], z[5, 0], z[3, 0] = [1.9e-9, 2.2e-9], [2.0e-9, 2.4e-9], 2.9e-9, 3.1e-9
    mode, d = name_modes(made, P, z)
    assert mode.tolist() == [OPEN, SLIP, STICK, OPEN, SLIP, STICK]
    way = z[4, 1:] - made.trace[4] * P[4, 1:]
    assert d[4] == pytest.approx(way / math.hypot(*way), rel=1e-13)
    assert not d[[0, 1, 2, 3, 5]].any()
    z[1, 1:] = [4e-9, 0.0]  # without friction it slides, and the direction is told
    assert name_modes(made, 0.0 * P, z)[1][1] == pytest.approx([1.0, 0.0], abs=1e-14)


# --- modes taken for granted -----------------------------------------------------------------------------------------


def modes_of(made: ContactProblem, seed: int, resistance: float = np.inf) -> Active:
    """Open; slips without friction; sticks; slips as given; slips and turns; open with friction of its own."""
    angle = np.random.default_rng(seed).uniform(-np.pi, np.pi, 6)
    d = np.column_stack([np.cos(angle), np.sin(angle)])
    d[3] = made.sliding[3]
    closed, slips = np.array([0, 1, 1, 1, 1, 0], bool), np.array([0, 1, 0, 1, 1, 0], bool)
    return Active(closed, slips, d, np.where(np.arange(6) == 4, resistance, np.inf))


@pytest.mark.parametrize("resistance", [np.inf, 0.7])
@pytest.mark.parametrize("seed", range(times(8, 3)))
def test_points_in_their_modes_do_what_these_say(seed: int, resistance: float) -> None:
    made = some_problem(seed)
    chosen = modes_of(made, seed, resistance)
    P, d, least, mu = active.solve(made, chosen, np.zeros((6, 3))), chosen.d, made.least, made.mu
    # Where the way of 4 turns, its friction is what is allowed in the end, along what was solved for.
    across = np.array([-d[4, 1], d[4, 0]])
    solved, turned = P.copy(), P[4, 1:] @ across
    if P[4, 0] > 0.0:
        assert P[4, 1:] @ P[4, 1:] == pytest.approx((mu[4] * P[4, 0]) ** 2, rel=1e-9)
        turned *= mu[4] * P[4, 0] / -(P[4, 1:] @ d[4])
    solved[4, 1:] = -mu[4] * P[4, 0] * d[4] + turned * across
    z = made.rates(solved)
    scale = 1e-9 * np.abs(z).max()
    assert z[1:5, 0] == pytest.approx(np.zeros(4), abs=scale) and z[2] == pytest.approx(np.zeros(3), abs=scale)
    assert not P[0].any() and not P[1, 1:].any() and P[5, 0] == 0.0
    assert z[5, 1:] == pytest.approx(np.zeros(2), abs=scale)  # friction alone holds it
    assert P[3, 1:] == pytest.approx(-(least[3] + mu[3] * P[3, 0]) * d[3], rel=1e-9, abs=1e-12)
    if resistance == np.inf:
        assert turned == pytest.approx(0.0, abs=1e-12)
    else:
        assert z[4, 1:] @ across + resistance * turned == pytest.approx(0.0, abs=scale)
        assert abs(turned) > 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_unknowns_run_along_edges_of_cones_and_across_the_way(seed: int) -> None:
    made, resistance = some_problem(seed), 0.7
    chosen = modes_of(made, seed, resistance)
    unknowns = active.rays(made, chosen)
    taken, size = unknowns.taken.reshape(6, 3), unknowns.resistance.reshape(6, 3)
    assert taken.astype(int).tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 1], [1, 0, 0], [1, 1, 0], [0, 1, 1]]
    assert size.tolist() == (resistance * ((np.arange(6) == 4)[:, None] & (np.arange(3) == 1))).tolist()
    for k in range(6):
        if not chosen.slips[k]:
            assert (unknowns.along[k] == np.eye(3)).all() and (unknowns.across[k] == np.eye(3)).all()
            continue
        d, mu = chosen.d[k], made.mu[k]
        assert unknowns.along[k, :, 0] == pytest.approx(np.array([1.0, *(-mu * d)]) / math.hypot(1.0, mu), rel=1e-13)
        assert unknowns.across[k, :, 0].tolist() == [1.0, 0.0, 0.0]
        for columns in (unknowns.along, unknowns.across):
            assert columns[k, :, 1].tolist() == [0.0, -d[1], d[0]]
    fixed = np.zeros((6, 3))
    fixed[3, 1:] = -made.least[3] * chosen.d[3]
    assert unknowns.fixed == pytest.approx(fixed, abs=1e-15)
    A, B = (np.zeros((18, 18)) for _ in range(2))
    for k in range(6):
        A[3 * k : 3 * k + 3, 3 * k : 3 * k + 3], B[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = (
            unknowns.along[k],
            unknowns.across[k],
        )
    whole = B.T @ made.G @ A + np.diag(unknowns.resistance)
    wanted = whole[np.ix_(unknowns.taken, unknowns.taken)]
    assert active.matrix(made, unknowns) == pytest.approx(wanted, abs=1e-12 * np.abs(wanted).max())


def test_of_many_impulses_the_nearest_to_a_guess_is_taken() -> None:
    """Three equal points: what they do together is the same, each in units of its own mobility."""
    own = np.diag([2.0, 1.0, 3.0])
    made = impact(np.tile(own, (3, 3)), np.tile([-6.0, 0.0, 0.0], 3), np.zeros(3))
    near = np.array([[1.0, 0, 0], [2.0, 0, 0], [3.0, 0, 0]])
    P = active.solve(made, Active.first(made), near)
    assert P[:, 0] == pytest.approx(near[:, 0] - 1.0, rel=1e-12)


def test_modes_begin_with_those_that_were_accepted() -> None:
    made = some_problem(0)
    begun = Active.first(made)
    assert begun.closed.tolist() == [False] + [True] * 5
    assert begun.slips.tolist() == [False, True, False, True, False, False]
    assert (begun.d == made.sliding).all() and np.isinf(begun.resistance).all()
    again = Active.first(replace(made, modes=np.array([STICK, STICK, OPEN, SLIP, OPEN, STICK])))
    assert again.closed.tolist() == [False, True, False, True, False, True]
    assert made.closed.tolist() == [False] + [True] * 5
    keys = {
        replace(begun, closed=c, slips=s).key()
        for c in (begun.closed, again.closed)
        for s in (begun.slips, ~begun.slips)
    }
    assert len(keys) == 4
    assert replace(begun, d=begun.d + 1.0).key() == begun.key()


def test_some_points_change_and_others_keep_their_modes() -> None:
    made = some_problem(0)
    old, new = modes_of(made, 1), modes_of(made, 2, 0.7)
    new = replace(new, closed=~new.closed, slips=~new.slips)
    taken = np.array([True, False, True, False, True, False])
    mixed = new.only(taken, old)
    for name in ("closed", "slips", "d", "resistance"):
        found, a, b = (getattr(one, name) for one in (mixed, new, old))
        assert (found[taken] == a[taken]).all() and (found[~taken] == b[~taken]).all()


def test_friction_of_slipping_points_has_the_size_that_is_allowed() -> None:
    made = replace(some_problem(0), least=np.array([0.2, 0.0, 0.0, 0.0, 0.3, 0.3]))
    chosen = replace(modes_of(made, 1), slips=np.array([True, False, True, True, True, True]))
    P = np.array([[2.0, 3, 4], [2, 3, 4], [2, 0, 0], [2, 3, 4], [2, -3, 4], [-9.0, 3, 4]])
    found = active.on_the_edge(made, chosen, P)
    assert (found[[1, 2, 3, 5]] == P[[1, 2, 3, 5]]).all()  # sticks; has none; is given; would pull
    for k in (0, 4):
        assert found[k, 1:] == pytest.approx(P[k, 1:] / 5.0 * (made.least[k] + 2.0 * made.mu[k]), rel=1e-13)
        assert found[k, 0] == 2.0
    assert P[0].tolist() == [2.0, 3.0, 4.0]
    made, P[:, 0] = replace(made, least=np.zeros(6)), 0.0
    assert (active.on_the_edge(made, chosen, P) == P).all()  # where nothing presses them no size is told


# --- the order of relaxing -------------------------------------------------------------------------------------------


def test_of_each_patch_the_most_violated_change_and_all_as_bad_with_them() -> None:
    made = replace(some_problem(0), patch=np.array([4, 4, 4, 7, 7, 7]))
    old = replace(modes_of(made, 1), closed=np.ones(6, bool), slips=np.zeros(6, bool))
    new = replace(old, closed=np.array([0, 0, 1, 1, 1, 1], bool), slips=np.array([0, 0, 0, 1, 1, 0], bool))
    violation = np.array([0.5, 0.5 - 1e-7, 9.0, 0.2, 0.3, 9.0])
    assert worst_of_patches(made, old, new, violation).tolist() == [True, True, True, False, True, True]
    violation[1] = 0.5 - 1e-5
    assert worst_of_patches(made, old, new, violation).tolist() == [True, False, True, False, True, True]


def test_guesses_are_damped_until_the_law_is_nearer() -> None:
    made = impact(np.eye(3), np.array([-1.0, 0.0, 0.0]), np.array([0.5]))
    here, far = np.array([[0.5, 0.0, 0.0]]), np.array([[4.5, 0.0, 0.0]])
    merit = regions(made, here, made.rates(here)).merit
    P, found = damped(made, here, far, merit)
    assert P[0, 0] == 1.0  # 1/8 of the way; at a half and a quarter it is further off, or as far
    assert found.merit == pytest.approx(regions(made, P, made.rates(P)).merit, abs=1e-15) and found.merit < merit
    P, found = damped(made, here, np.array([[-9.0, 0.0, 0.0]]), merit)
    assert P[0, 0] == -9.0 and found.merit == pytest.approx(regions(made, P, made.rates(P)).merit, rel=1e-14)


def test_points_dig_in_where_friction_presses_them_more_than_they_lift() -> None:
    """G_nn - mu d . G_tn of 1 - 2.5 d . (0.3, 0.4)."""
    own = np.array([[1.0, 0.3, 0.4], [0.3, 1.0, 0.0], [0.4, 0.0, 1.0]])
    G = np.kron(np.eye(4), own)
    G[9, 9] = 0.0
    u_t = np.array([[0.6, 0.8], [-0.6, -0.8], [0.6, 0.8], [0.6, 0.8]])
    for mu, digs in ((2.01, True), (1.99, False)):
        made = acceleration(G, np.zeros(12), np.full(4, mu), u_t=u_t, closed=np.array([True, True, False, True]))
        assert digging_in(made).tolist() == [digs, False, False, False]
        assert not digging_in(replace(made, sliding=np.zeros((4, 2)))).any()


@pytest.mark.parametrize("seed", range(times(6, 2)))
def test_a_solution_is_polished_from_nearby_and_measured(seed: int) -> None:
    body = random_bodies(seed, 5, spread=10.0)
    made = impact(body.G, body.u, np.full(5, 0.3), shift=0.1 * np.abs(body.u[::3]), patch=body.patch)
    answer = solve_contacts(made)
    assert answer.status == ContactStatus.SOLVED and answer.residuals.merit <= 1e-10
    assert answer.z + np.column_stack([made.shift, 0 * made.shift, 0 * made.shift]) == pytest.approx(
        made.rates(answer.P), rel=1e-9, abs=1e-9
    )
    assert answer.unit == pytest.approx(made.rate / made.trace) and answer.rate == made.rate
    assert not answer.given.any() and not answer.painleve.any() and not answer.cycling
    again = polish(made, answer.P + 1e-6 * np.abs(answer.P).max() * np.random.default_rng(seed).normal(size=(5, 3)))
    assert again.status == ContactStatus.SOLVED
    assert again.z == pytest.approx(answer.z, abs=1e-8 * made.rate)
    assert 1 <= again.iterations <= 6 and again.sweeps == 0
    assert again.mode.tolist() == answer.mode.tolist()


@pytest.mark.parametrize("seed", range(times(4, 2)))
def test_sweeps_leave_out_points_that_do_not_touch(seed: int) -> None:
    made = some_problem(seed)
    start = np.random.default_rng(seed).normal(size=(6, 3))
    P, made_sweeps, merit, dug_in = sweep(made, start, 3000, 1e-10)
    assert not P[0].any() and merit <= 1e-10 and 1 < made_sweeps < 3000 and not dug_in
    assert regions(made, P, made.rates(P)).violation[1:].max() == pytest.approx(merit, abs=1e-11)
    assert sweep(made, start, 2, 0.0)[1] == 2
    none = replace(made, closed=np.zeros(6, bool))
    P, made_sweeps, merit, dug_in = sweep(none, start, 9, 0.0)
    assert (P.any(), made_sweeps, merit, dug_in) == (False, 0, 0.0, False)


# --- forces that are not unique --------------------------------------------------------------------------------------


def table_of(mu: float, slides: bool = False, places: object = None) -> ContactProblem:
    """A body of 2 kg that stands on more feet than it needs, its weight off the middle."""
    feet = (
        np.array([[0.5, 0.4, -1.0], [-0.5, 0.45, -1.0], [-0.6, -0.4, -1.0], [0.45, -0.5, -1.0]])
        if places is None
        else places
    )
    inverse = np.diag([0.5, 0.5, 0.5, 2.0, 2.5, 1.5])
    W = []
    for x, y, z in feet:
        for n in ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)):
            W.append([*n, *np.cross([x, y, z], n)])
    W = np.array(W)
    free = W @ np.array([0.3, -0.2, -9.81, 0.8, 0.5, 0.0])
    u_t = np.tile([0.8, 0.6], (len(feet), 1)) if slides else None
    return acceleration(W @ inverse @ W.T, free, np.full(len(feet), mu), u_t=u_t)


def least_by_search(made: ContactProblem, P: np.ndarray, slips: bool) -> np.ndarray:
    """Least norm of impulses in the same cones with the same rates, by sequential quadratic programming."""
    mu, k = made.mu, made.points
    rows = np.linalg.svd(made.G)[2][: np.linalg.matrix_rank(made.G, tol=1e-9)]
    held = [{"type": "eq", "fun": lambda x: rows @ (x - P.ravel()), "jac": lambda x: rows}]
    if slips:
        edge = np.zeros((2 * k, 3 * k))
        for i in range(k):
            edge[2 * i : 2 * i + 2, 3 * i] = mu[i] * made.sliding[i]
            edge[2 * i, 3 * i + 1] = edge[2 * i + 1, 3 * i + 2] = 1.0
        held.append({"type": "eq", "fun": lambda x: edge @ x, "jac": lambda x: edge})
        bounds = [(0.0, None), (None, None), (None, None)] * k
    else:
        bounds = [(0.0, None), (None, None), (None, None)] * k
        held.append({"type": "ineq", "fun": lambda x: (mu * x[::3]) ** 2 - x[1::3] ** 2 - x[2::3] ** 2})
    found = minimize(
        lambda x: 0.5 * x @ x, P.ravel(), jac=lambda x: x, method="SLSQP", constraints=held, bounds=bounds,
        options={"ftol": 1e-14, "maxiter": 300},
    )  # fmt: skip
    return found.x.reshape(-1, 3)


@pytest.mark.parametrize(("mu", "slides"), [(0.6, False), (0.04, False), (0.05, False), (0.25, True)])
def test_shared_forces_are_those_of_least_norm_within_their_cones(mu: float, slides: bool) -> None:
    made = table_of(mu, slides)
    answer = solve_contacts(made)
    assert answer.status == ContactStatus.SOLVED and answer.chosen.all()
    found = not_unique.share(made, answer.P, answer.mode, answer.d)
    assert made.rates(found.P) == pytest.approx(made.rates(answer.P), abs=1e-9)
    assert (answer.mode == (SLIP if slides else STICK)).all()
    wanted = least_by_search(made, answer.P, slides)
    assert pytest.approx(wanted, abs=2e-5 * np.abs(wanted).max()) == found.P


def two_apart() -> ContactProblem:
    """Two points that nothing connects, one of which slides."""
    own = np.array([[2.0, 0.3, -0.2], [0.3, 1.5, 0.1], [-0.2, 0.1, 1.0]])
    return impact(np.kron(np.eye(2), own), np.array([-1.0, 0.1, 0.05, -2.0, 3.0, -1.0]), np.full(2, 0.3))


def test_forces_that_are_unique_are_left_as_they_are() -> None:
    made = two_apart()
    answer = solve_contacts(made)
    found = not_unique.share(made, answer.P, np.full(2, STICK), answer.d)
    assert found.P is answer.P and found.chosen.tolist() == [False, False] and found.motion_unique
    found = not_unique.share(made, answer.P, np.full(2, OPEN), answer.d)
    assert found.P is answer.P and found.chosen.tolist() == [False, False] and found.motion_unique


def test_of_some_points_the_forces_are_not_unique() -> None:
    """Two feet in one place on one body, and a third on another."""
    own = np.diag([2.0, 1.0, 3.0])
    G = np.zeros((9, 9))
    G[:6, :6], G[6:, 6:] = np.tile(own, (2, 2)), own
    made = impact(G, np.tile([-6.0, 0.2, 0.1], 3), np.full(3, 0.5))
    answer = solve_contacts(made)
    assert answer.chosen.tolist() == [True, True, False] and answer.motion_unique
    assert answer.P[0] == pytest.approx(answer.P[1], rel=1e-9)
    assert answer.P[0] + answer.P[1] == pytest.approx(answer.P[2], rel=1e-9)


def test_what_a_matrix_maps_to_nothing() -> None:
    rng = np.random.default_rng(0)
    for rank, m, n in ((2, 4, 5), (3, 3, 5), (0, 2, 3), (3, 5, 3)):
        a = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))
        for basis in (not_unique.null_space(a), analytic_centre.kernel_of(a)):
            assert basis.shape == (n, n - rank)
            assert basis.T @ basis == pytest.approx(np.eye(n - rank), abs=1e-13)
            assert a @ basis == pytest.approx(np.zeros((m, n - rank)), abs=1e-12)
    assert (analytic_centre.kernel_of(np.zeros((0, 3))) == np.eye(3)).all()


# --- well inside the cones -------------------------------------------------------------------------------------------


def test_room_within_cones_and_its_slopes() -> None:
    mu = np.array([0.5, np.inf, 0.8, np.inf])
    cones = analytic_centre.Cones(mu)
    x = np.array([[2.0, 0.3, -0.4], [0.7, 5.0, 6.0], [0.5, 0.3, 0.4], [-0.2, 0.0, 0.0]])
    assert cones.room(x) == pytest.approx([0.5, 0.7, -0.1, -0.2], rel=1e-13)
    value, slope, curve = cones.slack(x)
    assert value == pytest.approx([1.0 - 0.25, 0.7, 0.16 - 0.25, -1.0], rel=1e-13)
    for k in range(3):

        def one(y: np.ndarray, k: int = k) -> float:
            moved = x.copy()
            moved[k] = y
            return float(cones.slack(moved)[0][k])

        assert slope[k] == pytest.approx(approx_fprime(x[k], one, 1e-7), abs=1e-6)
        steps = 1e-3 * np.eye(3)
        second = [(one(x[k] + s) - 2.0 * one(x[k]) + one(x[k] - s)) / 1e-6 for s in steps]
        assert curve[k] == pytest.approx(second, abs=1e-7)
    whole = np.ones(4, bool)
    assert cones.hold(x, 0.0, np.array([1, 1, 0, 0], bool)) and not cones.hold(x, 0.0, whole)
    assert not cones.hold(x, 0.19, whole) and cones.hold(x, 0.21, whole)  # both reach: 0.8 * 0.125 and 0.2


@pytest.mark.parametrize(("mu", "least"), [(0.6, True), (0.05, True), (0.04, False), (0.045, False)])
def test_forces_are_of_least_norm_where_that_has_room_and_else_central(mu: float, least: bool) -> None:
    """The centre: least 5 |x|^2 - sum log slack over forces of the same rates, in shares of the largest."""
    made = table_of(mu)
    answer = solve_contacts(made)
    assert (answer.mode == STICK).all()
    found = analytic_centre.centred(made, answer.P, answer.mode, answer.d)
    assert made.rates(found.P) == pytest.approx(made.rates(answer.P), abs=1e-8)
    assert found.chosen.all() and not found.bound.any()
    assert found.room == pytest.approx(mu * found.P[:, 0] - np.hypot(found.P[:, 1], found.P[:, 2]), abs=1e-9)
    assert (found.room > 0.0).all() and found.least is least
    size = np.abs(answer.P).max()
    assert found.border == pytest.approx(1e-6 * size, rel=1e-12)
    null = not_unique.null_space(made.G)
    x0 = answer.P.ravel() / size

    def cost(y: np.ndarray) -> float:
        x = (x0 + null @ y).reshape(-1, 3)
        slack = (mu * x[:, 0]) ** 2 - x[:, 1] ** 2 - x[:, 2] ** 2
        return (
            5.0 * float((x * x).sum()) - float(np.log(slack).sum())
            if (slack > 0).all() and (x[:, 0] > 0).all()
            else 1e9
        )

    inside = null.T @ (found.P.ravel() / size - x0)
    if least:
        assert null.T @ found.P.ravel() == pytest.approx(np.zeros(null.shape[1]), abs=1e-9 * size)
    else:
        here = cost(inside)
        for direction in np.eye(null.shape[1]):
            assert cost(inside + 1e-4 * direction) > here - 1e-9 and cost(inside - 1e-4 * direction) > here - 1e-9
        gradient = approx_fprime(inside, cost, 1e-7)
        assert np.abs(gradient).max() < 1e-2


def test_points_that_are_unique_or_open_have_their_own_room() -> None:
    made = impact(np.kron(np.eye(3), two_apart().G[:3, :3]), -np.ones(9), np.array([0.5, 0.4, 0.3]))
    P, d = np.array([[2.0, 0.3, 0.4], [3.0, 0.5, 0.0], [1e-10, 0.0, 0.0]]), np.zeros((3, 2))
    found = analytic_centre.centred(made, P, np.array([STICK, STICK, STICK]), d)
    assert found.P is P and found.least and found.border == 0.0 and not found.chosen.any()
    assert found.room == pytest.approx([0.5, 0.7, 3e-11], rel=1e-9)
    assert found.bound.tolist() == [False, False, True]
    slid = analytic_centre.centred(made, P, np.array([STICK, SLIP, OPEN]), np.array([[0, 0], [-1.0, 0.0], [0, 0]]))
    assert slid.room[[0, 2]] == pytest.approx([0.5, 0.0], abs=1e-12)
    none = analytic_centre.centred(made, 0.0 * P, np.array([STICK, STICK, OPEN]), d)
    assert (none.P == 0.0).all() and none.bound.all() and none.least


@pytest.mark.parametrize(("mu", "holds"), [(0.6, True), (0.1, True), (0.02, False)])
def test_points_are_held_fully_where_some_forces_can(mu: float, holds: bool) -> None:
    """0.36 m/s^2 along the ground of 9.81 down: a friction of 0.0368 holds it, if the feet share it well."""
    found = analytic_centre.fully_held(table_of(mu))
    assert (found is not None) == holds
    if found is not None:
        made = table_of(mu)
        assert made.rates(found) == pytest.approx(np.zeros((4, 3)), abs=1e-8)
        assert (np.hypot(found[:, 1], found[:, 2]) <= mu * found[:, 0]).all()
    assert analytic_centre.fully_held(replace(two_apart(), mu=np.full(2, 5.0))) is None  # unique: it is found anyway


# --- from soft to rigid ----------------------------------------------------------------------------------------------


def test_softened_points_have_a_mobility_of_their_own_beside() -> None:
    made, shares = some_problem(1), np.array([1.0, 0.5, 2.0, 0.3, 0.7, 1.5])
    soft = homotopy.softened(made, shares, math.log(0.25))
    for k in range(6):
        own = slice(3 * k, 3 * k + 3)
        assert soft.G[own, own] - made.G[own, own] == pytest.approx(
            0.25 * shares[k] * made.trace[k] * np.eye(3), abs=1e-12
        )
    off = np.kron(~np.eye(6, dtype=bool), np.ones((3, 3), bool))
    assert (soft.G[off] == made.G[off]).all() and soft.rate == made.rate
    equal, uneven = homotopy.softnesses(7)
    assert (equal == 1.0).all() and ((uneven >= 0.2) & (uneven < 1.2)).all()
    assert np.diff(np.sort(uneven)).min() > 0.05
    assert uneven[0] == pytest.approx(0.818034)


@pytest.mark.parametrize("shares", [0, 1])
@pytest.mark.parametrize("seed", range(times(8, 2)))
def test_the_path_from_soft_points_leads_to_an_answer(seed: int, shares: int) -> None:
    body = random_bodies(seed, 4, spread=10.0)
    made = impact(body.G, body.u, np.full(4, 0.5), patch=body.patch)
    share = homotopy.softnesses(4)[shares]
    soft = solve_contacts(homotopy.softened(made, share, 0.0))
    assert soft.status == ContactStatus.SOLVED
    P, solves = homotopy.follow(made, share, soft.P)
    assert regions(made, P, made.rates(P)).merit < 1e-8
    assert 5 < solves < 400


@pytest.mark.parametrize("seed", range(4))
def test_pieces_of_the_path_are_its_law_linearised(seed: int) -> None:
    """Along the tangent the law stays kept to second order, and a correction goes across it."""
    body = random_bodies(seed, 3, spread=10.0)
    made, share, log_soft = impact(body.G, body.u, np.full(3, 0.5), patch=body.patch), np.array([1.0, 0.6, 0.8]), -1.0
    answer = solve_contacts(homotopy.softened(made, share, log_soft))
    way = homotopy.Path(made, share)
    back = np.append(np.zeros(9), -1.0)
    tangent = way.tangent(answer.P, log_soft, back)
    assert np.linalg.norm(tangent) == pytest.approx(1.0, rel=1e-9) and tangent @ back >= 0.0
    assert way.tangent(answer.P, log_soft, -back) == pytest.approx(-tangent, abs=1e-9)
    unit = way.length_unit(answer.P)
    assert unit == pytest.approx(np.abs(answer.P * made.trace[:, None]).max() / made.trace[:, None], rel=1e-9) or (
        unit == pytest.approx((made.rate / made.trace)[:, None], rel=1e-9)
    )
    off = []
    for h in (1e-3, 5e-4):
        P = answer.P + h * tangent[:-1].reshape(-1, 3) * unit
        soft = homotopy.softened(made, share, log_soft + h * tangent[-1])
        off.append(regions(soft, P, soft.rates(P)).merit)
    assert off[0] < 1e-5 and (off[0] / max(off[1], 1e-300) == pytest.approx(4.0, rel=0.2) or off[0] < 1e-12)
    at = way.back(answer.P + 1e-3 * tangent[:-1].reshape(-1, 3) * unit, log_soft + 1e-3 * tangent[-1], tangent)
    assert at is not None
    soft = homotopy.softened(made, share, at[1])
    assert regions(soft, at[0], soft.rates(at[0])).merit <= 1e-9
    moved = np.append(((at[0] - answer.P) / unit).ravel(), at[1] - log_soft)
    assert moved @ tangent == pytest.approx(1e-3, rel=1e-3)


def test_only_friction_that_nothing_presses_has_rows_that_are_no_unknowns() -> None:
    G = np.diag([0.0, 2.0, 0.0, 0.0, 3.0, 0.0])
    for least, dead in (((0.0, 0.0), [[0, 0, 0], [0, 0, 0]]), ((0.0, 0.3), [[0, 0, 0], [1, 0, 1]])):
        problem = impact(G, np.ones(6), np.array([0.5, 0.7]), least=np.array(least))
        assert problem.dead.tolist() == np.array(dead, bool).tolist()


def test_energy_that_impulses_could_take_is_along_what_they_reach() -> None:
    """Of mobilities down to 1e-12 of the largest; what contacts do not move keeps its energy."""
    rng = np.random.default_rng(4)
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    for least, share in ((1e-11, 1.0), (1e-13, 0.0)):
        G = Q @ np.diag([2.0, 0.5, 2.0 * least]) @ Q.T
        u = Q @ np.array([4.0, -1.0, 2.0 * np.sqrt(least)])
        assert reached_energy(G, u) == pytest.approx(0.5 * (8.0 + 2.0 + 2.0 * share), rel=1e-3)


def test_stops_are_named_by_their_freedom_those_of_balls_and_constraints_by_their_joint() -> None:
    kinds = {0: SimpleNamespace(limits="each"), 1: SimpleNamespace(limits="ball")}
    model: Any = SimpleNamespace(
        columns=SimpleNamespace(joint=np.array([0, 0, 1, 1, 1, 2])), constraints={2: "wheel"},
        type_of=kinds.__getitem__,
        joint_names=["plate", "ball", "wheel"], column_names=[f"column {k}" for k in range(6)],
    )  # fmt: skip
    assert [_name(model, k) for k in range(6)] == ["column 0", "column 1", *["ball"] * 3, "wheel"]


@pytest.mark.parametrize("seed", range(4))
def test_directions_keep_nothing_that_forces_without_effect_could_make(seed: int) -> None:
    """Of three of four points whose forces have a choice of five dimensions, and of light points beside heavy ones."""
    rng = np.random.default_rng([7, seed])
    A = rng.normal(size=(12, 7)) * np.repeat(10.0 ** rng.uniform(-0.5, 0.5, 4), 3)[:, None]
    G, every, which = A @ A.T, np.ones(12, bool), np.array([True, False, True, True])
    turn = rng.uniform(0.0, 2.0 * np.pi, 4)
    d = np.column_stack([np.cos(turn), np.sin(turn)])
    rows = [3 * k + i for k in np.flatnonzero(which) for i in (1, 2)]
    Q = np.linalg.qr(null_space(A.T)[rows])[0]
    left = (d[which].ravel() - Q @ (Q.T @ d[which].ravel())).reshape(-1, 2)
    size = np.linalg.norm(left, axis=1, keepdims=True)
    assert (size > 1e-3).all()
    assert movable(G, every, which, d) == pytest.approx(left / size, abs=1e-6)
    assert movable(np.eye(12), every, which, d) == pytest.approx(d[which], abs=1e-12)  # no choice
    lone = np.zeros((12, 12))
    assert movable(lone, every, which, d) == pytest.approx(d[which], abs=1e-12)  # nothing is left: as they were


@pytest.mark.parametrize(
    ("merits", "dug_in", "asked"),
    [
        ([0.0], False, []), ([1.0, 0.9], False, ["relax"]), ([1.0, 1.1, 0.9], False, ["relax", "sweep 0"]),
        ([1.0, 1.1, 1.1], True, ["relax", "sweep 0"]), ([1.0, 1.1, 1.1, 0.9], False, ["relax", "sweep 0", "path 0.25"]),
        ([1.0, 2.0, 2.0, 1.1, 0.9], False, ["relax", "sweep 0", "path 0.25", "path 0.5"]),
        ([1.0, 2.0, 2.0, 2.0, 1.1, 9.0], False, ["relax", "sweep 0", "path 0.25", "path 0.5", "sweep 1"]),
    ],
)  # fmt: skip
def test_ways_to_a_solution_are_tried_one_after_the_other(
    merits: list[float], dug_in: bool, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Modes first, then sweeps, then the path from softness, then sweeps again; each as long as it is not solved.

    merits : after each, in tolerances; no impulses at all may be a solution
    """
    done, left = list[str](), [solve.SOLVED * m for m in merits]
    rounds = {solve.FIRST_ROUNDS: 0, solve.LAST_ROUNDS: 1}

    def tried(name: str, search: Any) -> None:
        done.append(name)
        search.merit, search.dug_in = left.pop(0), dug_in

    made: Any = SimpleNamespace(points=2, rates=None, free3=None)
    monkeypatch.setattr(solve, "regions", lambda problem, P, z: SimpleNamespace(merit=left.pop(0)))
    monkeypatch.setattr(solve, "Active", SimpleNamespace(first=lambda problem: None))
    monkeypatch.setattr(solve, "relax", lambda problem, active, search, count, P: tried("relax", search))
    monkeypatch.setattr(solve, "sweep_and_polish", lambda problem, search, n: tried(f"sweep {rounds[n]}", search))
    monkeypatch.setattr(solve, "softnesses", lambda points: (0.25, 0.5))
    monkeypatch.setattr(solve, "follow_the_path", lambda problem, search, share: tried(f"path {share}", search))
    monkeypatch.setattr(solve, "conclude", lambda problem, search: search)
    found: Any = solve.solve_contacts(made)
    assert done == asked and left == [] and found.cycling == (len(asked) > 1) and not found.P.any()


@pytest.mark.parametrize(
    ("nearer", "asked"), [(8.0, [8.0]), (2.0, [8.0, 4.0, 2.0]), (1.0, [8.0, 4.0, 2.0, 1.0]), (0.5, [])]
)
def test_guesses_are_halved_four_times(nearer: float, asked: list, monkeypatch: pytest.MonkeyPatch) -> None:
    """From zero to sixteen; where none is nearer it is the guess itself."""
    seen: list[float] = []

    def regions(problem: None, P: np.ndarray, z: None) -> Any:
        seen.append(float(P[0, 0]))
        return SimpleNamespace(merit=0.5 if P[0, 0] == nearer else 1.0)

    monkeypatch.setattr(solve, "regions", regions)
    made: Any = SimpleNamespace(rates=lambda P: None)
    P, found = damped(made, np.zeros((1, 3)), np.array([[16.0, 0.0, 0.0]]), 1.0)
    assert seen == (asked or [8.0, 4.0, 2.0, 1.0, 16.0])
    assert P[0, 0] == (nearer if asked else 16.0) and found.merit == (0.5 if asked else 1.0)
