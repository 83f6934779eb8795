"""The engine against the snake paper's methods: accelerations of random states, and trajectories (Table II)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from sim.analysis.snake import kane, lagrange, newton_euler
from sim.analysis.snake.links import Snake, papers_snake, papers_torques
from sim.kernels.stepper import T
from tests.contact.engine import Run
from tests.nonholonomic.shipped import shipped

pytestmark = pytest.mark.nonholonomic

PAPER = "benchmarks/snake_paper"


def engine(run: Run, q: list[float], rates: list[float], t: float) -> np.ndarray:
    """Return u' of Kane for a state; rates: of the angles and of x, y."""
    flow, model = run.simulator.flow, run.simulator.flow.model
    n = len(q) - 2
    for values, y, of in (
        (q, flow.stepper.y[: flow.structure.sizes.q], flow.structure.q_of),
        (rates, flow.stepper.y[flow.structure.sizes.q :], flow.structure.v_of),
    ):
        y[of(model, model.joint("ground"))] = [values[n], values[n + 1], values[0]]
        for k in range(1, n):
            y[of(model, model.joint(f"phi_{k}"))] = values[k] - values[k - 1]
    flow.stepper.clock[T] = t
    flow.observe()
    alpha, a = flow.body_acceleration(1)
    return np.array([a[0] * math.cos(q[0]) + a[1] * math.sin(q[0]), alpha[2]])


@pytest.mark.parametrize("n", [3, 12, 20, 50])
def test_accelerations_are_those_of_the_papers_methods(n: int) -> None:
    run, (snake, _) = shipped(PAPER, n=n), papers_snake(n)
    for seed in range(4):
        rng = np.random.default_rng((n, seed))
        q = [*np.cumsum(rng.uniform(-1.0, 1.0, n)), 0.3, -0.2]
        u = rng.normal(size=2).tolist()
        rates = lagrange.speeds(snake, q, *u)
        torques = papers_torques(n, 1.3)
        found = engine(run, q, rates, 1.3)
        expected = kane.accelerations(snake, q[:n], u, torques)
        assert np.abs(found - expected).max() < 1e-10 * np.abs(expected).max()
        if n <= 20:
            for method in (lagrange, newton_euler):
                q_ddot, _ = method.accelerations(snake, q, rates, torques)
                ahead = q_ddot[n] * math.cos(q[0]) + q_ddot[n + 1] * math.sin(q[0])
                assert np.abs(found - [ahead, q_ddot[0]]).max() < 1e-10 * np.abs(expected).max()


def followed(snake: Snake, q: list[float], times: list[float]) -> np.ndarray:
    """Return (times, n + 2) angles and place of the first link by Kane's equations, from rest."""
    n = snake.links

    def slope(t: float, y: np.ndarray) -> list[float]:
        q_dot, u_dot = kane.rates(snake, y[: n + 2].tolist(), y[n + 2 :].tolist(), papers_torques(n, t))
        return [*q_dot, *u_dot]

    found = solve_ivp(slope, (0.0, times[-1]), [*q, 0.0, 0.0], "DOP853", times, rtol=1e-13, atol=1e-14)
    return found.y[: n + 2].T


@pytest.mark.parametrize(("n", "times"), [(3, [1.0, 5.0, 10.0, 20.0]), (12, [1.0, 2.0]), (20, [2.0]), (50, [2.0])])
def test_trajectories_are_those_of_kanes_equations(n: int, times: list[float]) -> None:
    run, (snake, q) = shipped(PAPER, n=n), papers_snake(n)
    for t, expected in zip(times, followed(snake, q, times), strict=True):
        state = run.to(t).simulator
        x, y, angle = state.coordinate["ground"]
        bends = [float(state.coordinate[f"phi_{k}"]) for k in range(1, n)]
        found = [*np.cumsum([angle, *bends]), x, y]
        assert np.abs(np.subtract(found, expected)).max() < 1e-8, t
