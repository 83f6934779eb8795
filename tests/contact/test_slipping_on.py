"""In which direction points slide on, against the rule in plain numpy; and what problems refuse."""

from __future__ import annotations

import numpy as np
import pytest

from sim.contact.contact_problem import impact
from sim.kernels.rows.touches import CLEAR, FAST, STILL
from sim.kernels.unilateral.stating import FORWARD, slide_on, state_problem

pytestmark = [pytest.mark.contact, pytest.mark.fast]


def expected(u: np.ndarray, start: np.ndarray, crept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    along = u.reshape(-1, 3)[:, 1:]
    speed, forward = np.hypot(*along.T), np.sum(start * along, axis=1) > FORWARD
    creeps = (crept == 1) & forward & (speed < FAST)
    way = along + (STILL * np.maximum(1.0 - speed / CLEAR, 0.0) ** 2)[:, None] * start
    way[creeps] = start[creeps]
    size = np.where(forward, np.hypot(*way.T), 1.0)
    return way * (forward / size)[:, None], creeps


@pytest.mark.parametrize("seed", range(5))
def test_points_slide_on_where_they_go_forward(seed: int) -> None:
    """At speeds from roundoff to what is clear; of three in ten nothing is known, half of the others crept."""
    rng, k = np.random.default_rng(seed), 200
    angle, turn = rng.uniform(0.0, 2.0 * np.pi, k), rng.uniform(-2.0, 2.0, k)
    start = np.column_stack([np.cos(angle), np.sin(angle)]) * (rng.random(k) < 0.7)[:, None]
    speed = 10.0 ** rng.uniform(-10, -2, k)
    u = np.column_stack([rng.normal(size=k), speed * np.cos(angle + turn), speed * np.sin(angle + turn)]).ravel()
    crept = (rng.random(k) < 0.5).astype(np.int64)
    ways, creeps = np.full((k, 2), np.nan), np.full(k, -1)
    slide_on(u, start, crept, ways, creeps)
    wanted, on = expected(u, start, crept)
    assert ways == pytest.approx(wanted, abs=1e-14) and creeps.tolist() == on.tolist()
    assert 10 < on.sum() < (wanted.any(axis=1)).sum() < 0.7 * k


@pytest.mark.parametrize("name", ["G", "free", "shift", "mu", "least"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_none_are_refused(name: str, value: float) -> None:
    numbers = {"G": np.eye(6), "free": np.ones(6), "shift": np.zeros(2), "mu": np.ones(2), "least": np.zeros(2)}
    numbers[name].flat[-1] = value
    out = np.zeros((2, 3)), np.zeros(2), np.zeros(2, np.int64)
    assert state_problem(tuple(numbers.values()), np.zeros((2, 2)), 0.0, *out) == -1.0
    with pytest.raises(ValueError, match=f"^{name}: "):
        impact(numbers["G"], numbers["free"], numbers["mu"], shift=numbers["shift"], least=numbers["least"])


def test_a_problem_is_measured_by_its_largest_rate() -> None:
    G, u = np.diag([1.0, 2.0, 3.0, 0.0, 0.0, 0.0]), np.array([1.0, -5.0, 2.0, 0.5, 0.0, -0.5])
    problem = impact(G, u, np.ones(2), shift=np.array([0.25, -7.0]))
    assert problem.free3.tolist() == [[1.25, -5.0, 2.0], [-6.5, 0.0, -0.5]]
    assert problem.rate == 7.0 and problem.trace.tolist() == [6.0, 1.0] and not problem.given.any()
    assert impact(G, u, np.ones(2), scale=3.0).rate == 3.0 and impact(G, 0.0 * u, np.ones(2)).rate == 1e-300
