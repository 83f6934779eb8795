"""What holds for any contacts: the law within its bounds, no energy from nothing, nothing by order or choice of axes.

Bodies of mass ratios up to 1e4, in random frames, that touch in faces (redundant points) and edges, wedged at random.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.contact.contact_problem import ContactProblem, acceleration, impact
from sim.contact.impact import Collision, newton, poisson, resolve, resolve_in_turn
from sim.contact.solution import ContactSolution, ContactStatus, Residuals
from sim.contact.solve import solve_contacts
from tests.contact.random_problems import random_bodies

pytestmark = pytest.mark.contact

SEEDS = st.integers(0, 2**31)
COUNTS = st.integers(1, 12)
MANY = settings(max_examples=100, derandomize=True, deadline=None)


def keeps(r: Residuals) -> None:
    """The promised bounds; those of products of impulse and rate grow with the impulses of what is wedged in."""
    assert r.impulse >= -1e-10 and r.rate >= -1e-10
    assert r.cone <= 1e-10 and r.stick <= 1e-10
    assert r.merit <= 1e-10


def size_of(problem: ContactProblem, found: ContactSolution) -> float:
    return max(1.0, float(np.abs(found.P * problem.trace[:, None]).max()) / problem.rate)


def frictions(seed: int, points: int, most: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.uniform(0.0, most, points) * (rng.random(points) < 0.8)


@MANY
@given(seed=SEEDS, points=COUNTS, bodies=st.integers(2, 4))
def test_impacts_keep_the_law(seed: int, points: int, bodies: int) -> None:
    body = random_bodies(seed, points, bodies)
    problem = impact(body.G, body.u, frictions(seed, points, 1.0), patch=body.patch)
    found = solve_contacts(problem)
    assert found.status == ContactStatus.SOLVED
    keeps(found.residuals)
    size = size_of(problem, found)
    assert found.residuals.complementarity <= 1e-10 * size
    assert found.residuals.slip <= 1e-9 * size
    assert found.residuals.de_saxce <= 1e-9
    # The momentum that the bodies get is what the impulses say.
    after = body.v + body.inverse @ body.W.T @ found.P.ravel()
    assert body.W @ after == pytest.approx(found.z.ravel(), abs=1e-12 * size * np.abs(body.u).max() * 10)


@MANY
@given(seed=SEEDS, points=COUNTS, bodies=st.integers(2, 4))
def test_wedged_impacts_keep_the_law_or_say_how_far_they_are(seed: int, points: int, bodies: int) -> None:
    """Friction up to 2: one in a thousand is left."""
    body = random_bodies(seed, points, bodies)
    found = solve_contacts(impact(body.G, body.u, frictions(seed, points, 2.0), patch=body.patch))
    if found.status == ContactStatus.SOLVED:
        keeps(found.residuals)
    else:
        assert found.status == ContactStatus.RESIDUAL and found.cycling
        assert 1e-10 < found.residuals.merit < 1.0


def test_hardly_any_wedged_impact_is_left_with_a_residual() -> None:
    left = 0
    for seed in range(200):
        points = 1 + seed % 12
        body = random_bodies(seed, points, 2 + seed % 3)
        left += solve_contacts(impact(body.G, body.u, frictions(seed, points, 2.0), patch=body.patch)).status > 0
    assert left <= 1


@MANY
@given(seed=SEEDS, points=COUNTS, slipping=st.booleans())
def test_forces_keep_the_law(seed: int, points: int, slipping: bool) -> None:
    """From rest there is a solution; where some points slip already there may be none, and that is said."""
    body = random_bodies(seed, points)
    rng = np.random.default_rng(seed)
    u_t = body.u.reshape(-1, 3)[:, 1:] * (rng.random(points) < 0.4)[:, None] if slipping else None
    problem = acceleration(
        body.G, body.W @ rng.normal(size=len(body.v)), frictions(seed, points, 0.6), u_t=u_t, patch=body.patch
    )
    found = solve_contacts(problem)
    if slipping and found.status == ContactStatus.PAINLEVE:
        assert (found.painleve <= problem.given).all() and found.painleve.any()
        return
    assert found.status == ContactStatus.SOLVED
    keeps(found.residuals)


@MANY
@given(
    seed=SEEDS, points=st.integers(1, 8), most=st.floats(0.0, 1.0), law=st.sampled_from([newton, poisson]),
    turns=st.booleans(),
)  # fmt: skip
def test_no_impact_gives_energy(seed: int, points: int, most: float, law, turns: bool) -> None:
    body = random_bodies(seed, points)
    e = np.random.default_rng(seed).uniform(0.0, 1.0, points)
    collision = Collision(
        G=body.G, u=body.u, mu=frictions(seed, points, most), e=e, patch=body.patch, kinetic=body.kinetic
    )
    hit = (resolve_in_turn if turns else resolve)(collision, law)
    after = body.v + body.inverse @ body.W.T @ hit.P.ravel()
    kinetic = 0.5 * float(after @ np.linalg.solve(body.inverse, after))
    assert kinetic - body.kinetic <= 1e-11 * body.kinetic
    assert kinetic - body.kinetic == pytest.approx(hit.energy, abs=1e-9 * body.kinetic)
    assert 0.0 <= hit.s <= 1.0
    if hit.status == ContactStatus.SOLVED:
        assert hit.u[:, 0].min() >= -1e-9 * np.abs(body.u).max()


def test_newtons_law_is_tamed_where_it_would_give_energy() -> None:
    """Among random impacts with friction and e = 1 there are such; with s they keep their energy, near enough."""
    tamed = 0
    for seed in range(60):
        body = random_bodies(seed, 2, 2, spread=10.0)
        collision = Collision(
            G=body.G, u=body.u, mu=np.full(2, 0.8), e=np.ones(2), patch=body.patch, kinetic=body.kinetic
        )
        hit = resolve(collision)
        if 0.0 < hit.s < 1.0:  # at 0 the coefficients contradict each other
            tamed += 1
            P = newton(collision, 1.0)[0].ravel()
            assert 0.5 * P @ (2 * body.u + body.G @ P) > 1e-12 * body.kinetic
            assert -1e-6 * body.kinetic < hit.energy <= 1e-12 * body.kinetic
    assert tamed >= 3


def unique(seed: int, points: int, mu: float):
    body = random_bodies(seed, points, spread=100.0)
    return body, np.full(points, mu)


@MANY
@given(seed=SEEDS, points=st.integers(2, 12), mu=st.sampled_from([0.0, 0.05]))
def test_the_order_of_points_changes_no_motion(seed: int, points: int, mu: float) -> None:
    body, friction = unique(seed, points, mu)
    order = np.random.default_rng(seed).permutation(points)
    rows = (3 * order[:, None] + np.arange(3)).ravel()
    one = solve_contacts(impact(body.G, body.u, friction, patch=body.patch))
    other = solve_contacts(impact(body.G[np.ix_(rows, rows)], body.u[rows], friction, patch=body.patch[order]))
    assert other.z == pytest.approx(one.z[order], abs=1e-9 * np.abs(body.u).max())
    assert one.z.shape == other.z.shape == (points, 3)


@MANY
@given(seed=SEEDS, points=st.integers(1, 8), mu=st.sampled_from([0.05, 0.3]))
def test_turned_tangents_change_no_motion(seed: int, points: int, mu: float) -> None:
    """The cone is round: no pyramid."""
    body, friction = unique(seed, points, mu)
    turn = np.zeros((3 * points, 3 * points))
    for k, phi in enumerate(np.random.default_rng(seed).uniform(0, 2 * np.pi, points)):
        c, s = np.cos(phi), np.sin(phi)
        turn[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = [[1, 0, 0], [0, c, s], [0, -s, c]]
    one = solve_contacts(impact(body.G, body.u, friction, patch=body.patch))
    other = solve_contacts(impact(turn @ body.G @ turn.T, turn @ body.u, friction, patch=body.patch))
    assert turn.T @ other.z.ravel() == pytest.approx(one.z.ravel(), abs=1e-9 * np.abs(body.u).max())


@MANY
@given(seed=SEEDS, points=COUNTS)
def test_the_same_contacts_give_the_same_bits(seed: int, points: int) -> None:
    body = random_bodies(seed, points)
    mu = frictions(seed, points, 1.0)
    one, other = (solve_contacts(impact(body.G, body.u, mu, patch=body.patch)) for _ in range(2))
    assert one.P.tobytes() == other.P.tobytes() and one.iterations == other.iterations


@MANY
@given(seed=SEEDS, points=COUNTS)
def test_last_modes_are_a_start_that_changes_no_answer(seed: int, points: int) -> None:
    body, mu = unique(seed, points, 0.05)
    one = solve_contacts(impact(body.G, body.u, mu, patch=body.patch))
    warm = solve_contacts(impact(body.G, body.u, mu, patch=body.patch, modes=one.mode))
    assert warm.motion_unique or not one.motion_unique
    if one.motion_unique:
        assert warm.z == pytest.approx(one.z, abs=1e-9 * np.abs(body.u).max())
    assert warm.status == ContactStatus.SOLVED


def test_frames_scales_and_units_change_nothing() -> None:
    """Grams for kilograms and millimetres for metres: the same modes, impulses in the other unit."""
    for seed in range(20):
        body = random_bodies(seed, 6)
        mu = frictions(seed, 6, 1.0)
        one = solve_contacts(impact(body.G, body.u, mu, patch=body.patch))
        other = solve_contacts(impact(body.G * 1e-3, body.u * 1e3, mu, patch=body.patch))
        assert list(other.mode) == list(one.mode)
        assert np.abs(other.P - one.P * 1e6).max() <= max(1e-6 * np.abs(one.P * 1e6).max(), 1e-12)
