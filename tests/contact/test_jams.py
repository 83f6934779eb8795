"""Painleve's paradox in space, the order of relaxing, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from sim.contact.active import Active
from sim.contact.contact_problem import ContactProblem, acceleration, impact
from sim.contact.impact import Collision, jam, poisson, resolve
from sim.contact.law import regions
from sim.contact.solution import ContactStatus
from sim.contact.solve import digging_in, solve_contacts, worst_of_patches
from tests.contact.random_problems import Bodies, random_bodies
from tests.contact.set_ups import G0, on_floor
from tests.support.rotations import random_matrix

pytestmark = [pytest.mark.contact, pytest.mark.fast]


def digging(seed: int, mu: float) -> tuple[Bodies, float]:
    """Return a slender body that slides on a tip with gain G_nn - mu d.G_tn, its normal rate zero."""
    rng = np.random.default_rng(seed)
    R = random_matrix(rng)
    body = on_floor(1.0, R @ np.diag([1 / 3, 1 / 3, 0.02]) @ R.T, (R @ [0.1, 0.05, -1.0])[None])
    body.v[:] = rng.normal(size=6)
    body.v[2] -= body.u[0]
    d = body.u[1:] / np.hypot(*body.u[1:])
    return body, float(body.G[0, 0] - mu * d @ body.G[1:, 0])


def test_in_space_a_jam_ends_the_digging_in() -> None:
    """Tips that lean across their slip, too: all stick then, lose energy, and do not go through the floor."""
    mu, stuck = 1.5, 0
    for seed in range(800):
        body, gain = digging(seed, mu)
        if gain > -1e-3:
            continue
        free = body.W @ [0.0, 0.0, -G0, 0.0, 0.0, 0.0]
        asked = solve_contacts(acceleration(body.G, free, np.full(1, mu), u_t=body.u[None, 1:]))
        assert asked.status == ContactStatus.PAINLEVE and asked.painleve.all()
        hit = jam(Collision(G=body.G, u=body.u, mu=np.full(1, mu), e=np.zeros(1)), free)
        assert hit.status == ContactStatus.SOLVED
        assert hit.P[0, 0] > 0.01 * np.hypot(*body.u[1:]) / np.trace(body.G)
        assert np.hypot(*hit.P[0, 1:]) <= mu * hit.P[0, 0] * (1 + 1e-9)
        assert hit.energy < 0.0 and hit.u[0, 0] >= -1e-10
        assert np.hypot(*hit.u[0, 1:]) < 1e-9
        stuck += 1
    assert stuck >= 10


def test_points_that_drive_each_other_in_are_stopped_though_none_does_so_alone() -> None:
    """Six points of three bodies: an approach of their own that is small enough is answered without a jam."""
    body = random_bodies(1319, 6, 3, 10.0)
    rows = body.W[::3]
    push = body.inverse @ rows.T
    v = body.v - push @ np.linalg.lstsq(rows @ push, rows @ body.v, rcond=1e-12)[0]
    u = body.W @ v
    u[::3] = 0.0
    free = body.W @ np.random.default_rng([1319, 1]).normal(size=len(v))
    asked = solve_contacts(acceleration(body.G, free, np.full(6, 1.2), u_t=u.reshape(-1, 3)[:, 1:], patch=body.patch))
    assert asked.status == ContactStatus.PAINLEVE and not digging_in(asked.problem).any()
    hit = jam(Collision(G=body.G, u=u, mu=np.full(6, 1.2), e=np.zeros(6), patch=body.patch), free)
    assert hit.status == ContactStatus.SOLVED and hit.energy < -1e-2
    assert hit.P[:, 0].max() > 0.1 * np.hypot(u[1::3], u[2::3]).max() / np.trace(body.G)
    assert hit.u[:, 0].min() >= -1e-10 and (np.hypot(*hit.P[:, 1:].T) <= 1.2 * hit.P[:, 0] * (1 + 1e-9)).all()


def test_the_first_to_relax_is_the_worst_of_each_patch() -> None:
    """Two loads off the middle of two tables: of each, the leg that pulls most."""
    body = random_bodies(5, 8)
    problem = impact(body.G, body.u, np.full(8, 0.1), patch=np.array([0, 0, 0, 0, 1, 1, 1, 1]))
    first = Active.first(problem)
    found = regions(problem, np.zeros((8, 3)), problem.free3)
    wanted = Active.of(found)
    changed = (wanted.closed != first.closed) | (wanted.slips != first.slips)
    taken = worst_of_patches(problem, first, wanted, found.violation)
    for patch in (slice(0, 4), slice(4, 8)):
        assert changed[patch].sum() > 1
        relaxed = np.flatnonzero(taken[patch] & changed[patch])
        worst = np.where(changed, found.violation, -1.0)[patch]
        assert list(relaxed) == [int(np.argmax(worst))]
    assert (taken | changed).all()


@pytest.mark.parametrize("seed", range(40))
def test_poissons_law_gives_back_what_compression_took(seed: int) -> None:
    """P_n >= (1 + e) P_c, more only where the point would close again; friction within mu of all of it."""
    body = random_bodies(seed, 4, spread=10.0)
    e, mu = np.linspace(0.2, 0.9, 4), np.full(4, 0.3)
    hit = resolve(Collision(G=body.G, u=body.u, mu=mu, e=e, patch=body.patch, kinetic=body.kinetic), poisson)
    compressed = solve_contacts(impact(body.G, body.u, mu, patch=body.patch)).P[:, 0]
    least = compressed * (1 + hit.s * np.where(body.u[::3] < 0.0, e, 0.0))
    size = max(float(np.abs(hit.P).max()), 1e-300)
    more = hit.P[:, 0] - least
    assert more.min() >= -1e-9 * size
    assert np.abs(hit.u[:, 0])[more > 1e-7 * size] == pytest.approx(0.0, abs=1e-8)
    assert (np.hypot(hit.P[:, 1], hit.P[:, 2]) <= mu * hit.P[:, 0] + 1e-9 * size).all()


def test_what_does_not_fit_is_refused_with_what_was_found() -> None:
    with pytest.raises(ValueError, match=r"free: found shape \(4,\), expected \(3,\) for 1 points"):
        impact(np.eye(3), np.zeros(4), np.ones(1))
    with pytest.raises(ValueError, match=r"mu: found -0\.5, expected no negative number"):
        impact(np.eye(3), np.zeros(3), -0.5 * np.ones(1))
    with pytest.raises(ValueError, match="G: not all values are finite"):
        impact(np.full((3, 3), np.nan), np.zeros(3), np.ones(1))


def test_points_that_do_not_touch_take_no_part() -> None:
    body = random_bodies(3, 5)
    closed = np.array([True, False, True, True, False])
    free = body.W @ np.random.default_rng(3).normal(size=len(body.v))
    found = solve_contacts(acceleration(body.G, free, np.full(5, 0.3), closed=closed))
    rows = np.repeat(closed, 3)
    alone = solve_contacts(acceleration(body.G[np.ix_(rows, rows)], free[rows], np.full(3, 0.3)))
    assert not found.P[~closed].any()
    assert found.z[closed] == pytest.approx(alone.z, abs=1e-10) and found.status == ContactStatus.SOLVED


def test_no_points_are_no_problem() -> None:
    found = solve_contacts(impact(np.zeros((0, 0)), np.zeros(0), np.zeros(0)))
    assert found.status == ContactStatus.SOLVED and found.P.shape == (0, 3)
    assert isinstance(found.motion_unique, bool) and isinstance(
        impact(np.eye(3), np.zeros(3), np.ones(1)), ContactProblem
    )
