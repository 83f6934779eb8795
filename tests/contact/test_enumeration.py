"""The solver against all combinations of modes, up to four points."""

from __future__ import annotations

import numpy as np
import pytest

from sim.contact.contact_problem import Mode, acceleration, impact
from sim.contact.solution import ContactStatus
from sim.contact.solve import solve_contacts
from tests.contact.enumeration import solutions
from tests.contact.random_problems import Bodies, random_bodies, rows
from tests.contact.set_ups import rod

pytestmark = pytest.mark.contact


def agree(G: np.ndarray, b: np.ndarray, mu: np.ndarray, z: np.ndarray, **how: object) -> int:
    """Hold rates against the list of all; return how many there are."""
    every = solutions(G, b, mu, **how)  # type: ignore[arg-type]
    assert every, "the oracle found no solution"
    nearest = min(float(np.abs(z.ravel() - other).max()) for other in every)
    assert nearest <= 1e-7 * np.abs(b).max()
    return len(every)


def planar_bodies(seed: int, points: int) -> Bodies:
    """Return bodies that move in the plane of n and t1 of every point."""
    rng = np.random.default_rng(seed)
    inverse = np.diag(np.tile(1.0 / rng.uniform(0.3, 3.0, 2).repeat(3), 2)[:12])
    inverse[[1, 3, 5, 7, 9, 11], [1, 3, 5, 7, 9, 11]] = 0.0
    centre = np.array([[0.0, 0.0, 0.0], [0.4, 0.0, 1.2]])
    W, pairs = [], []
    for _ in range(points):
        a = int(rng.integers(-1, 1))
        b = a + 1
        tilt = rng.normal() * 0.4
        n = np.array([np.sin(tilt), 0.0, np.cos(tilt)])
        frame = np.array([n, np.cross([0.0, 1.0, 0.0], n), [0.0, 1.0, 0.0]])
        point = centre[b] + [rng.uniform(-0.6, 0.6), 0.0, -0.6]
        J = np.zeros((3, 12))
        J[:, 6 * b : 6 * b + 6] = rows(point, frame, centre[b])
        if a >= 0:
            J[:, 6 * a : 6 * a + 6] = -rows(point, frame, centre[a])
        W.append(J)
        pairs.append((a, b))
    v = rng.normal(size=12) * (inverse.diagonal() > 0.0)
    return Bodies(np.vstack(W), inverse, v, np.array(pairs))


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("points", [2, 3, 4])
def test_without_friction_the_motion_is_the_only_one(seed: int, points: int) -> None:
    body = random_bodies(seed, points, spread=100.0)
    found = solve_contacts(impact(body.G, body.u, np.zeros(points), patch=body.patch))
    assert found.status == ContactStatus.SOLVED
    assert agree(body.G, body.u, np.zeros(points), found.z, planar=True) == 1


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("points", [1, 2, 3, 4])
@pytest.mark.parametrize("mu", [0.3, 1.0])
def test_planar_impacts_are_among_all_solutions(seed: int, points: int, mu: float) -> None:
    body = planar_bodies(seed, points)
    found = solve_contacts(impact(body.G, body.u, np.full(points, mu), patch=body.patch))
    assert found.status == ContactStatus.SOLVED
    several = agree(body.G, body.u, np.full(points, mu), found.z, planar=True)
    if mu == 0.3:
        assert several == 1


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("points", [1, 2])
def test_spatial_impacts_are_the_only_ones_with_little_friction(seed: int, points: int) -> None:
    body = random_bodies(seed, points, spread=10.0)
    mu = np.full(points, 0.3)
    found = solve_contacts(impact(body.G, body.u, mu, patch=body.patch))
    assert found.status == ContactStatus.SOLVED
    assert agree(body.G, body.u, mu, found.z) == 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("points", [3, 4])
def test_spatial_impacts_of_more_points(seed: int, points: int) -> None:
    body = random_bodies(seed, points, bodies=2, spread=10.0)
    mu = np.full(points, 0.2)
    found = solve_contacts(impact(body.G, body.u, mu, patch=body.patch))
    assert found.status == ContactStatus.SOLVED
    agree(body.G, body.u, mu, found.z, starts=3)


@pytest.mark.parametrize("seed", range(25))
def test_planar_forces_are_among_all_solutions(seed: int) -> None:
    """Level A from rest: points that start to slip oppose their acceleration."""
    body = planar_bodies(seed, 3)
    free = body.W @ np.tile([0.0, 0.0, -9.81, 0.0, 0.3, 0.0], 2)
    mu = np.full(3, 0.4)
    found = solve_contacts(acceleration(body.G, free, mu, patch=body.patch))
    assert found.status == ContactStatus.SOLVED
    agree(body.G, free, mu, found.z, planar=True)


def test_over_the_critical_friction_a_lifted_rod_opens_though_it_could_stick() -> None:
    """P = (1, -1.5) holds it, nothing at all lets it go: both are lawful, and the smaller force is taken."""
    body = rod(np.arctan(2.0))
    free, mu = -body.G @ [1.0, -1.5, 0.0], np.array([1.6])
    assert agree(body.G, free, mu, np.zeros(3), planar=True) > 1
    found = solve_contacts(impact(body.G, free, mu))
    assert found.z.ravel() == pytest.approx(free) and list(found.mode) == [Mode.OPEN]
