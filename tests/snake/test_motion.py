"""Runs in fixed steps under the paper's conditions: the energy function, precision, and what drifts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from sim.analysis.snake import kane
from sim.analysis.snake.fixed_steps import METHODS, follow
from sim.analysis.snake.links import papers_snake, papers_torques

pytestmark = pytest.mark.nonholonomic
LINKS = 3


def run(name, step, until, number=float):
    method, (snake, q) = METHODS[name], papers_snake(LINKS)
    return follow(
        method, snake, q, method.speeds(snake, q, 0.0, 0.0), lambda t: papers_torques(LINKS, t),
        step=step, steps=round(until / step), number=number,
    )  # fmt: skip


def test_runs_meet_an_integrator_of_its_own():
    snake, q = papers_snake(LINKS)

    def rate(t, x):
        q, u = x[: LINKS + 2].tolist(), x[LINKS + 2 :].tolist()
        return np.concatenate(kane.rates(snake, q, u, papers_torques(LINKS, t)))

    expected = solve_ivp(rate, (0, 1), [*q, 0, 0], method="DOP853", rtol=1e-12, atol=1e-13).y[: LINKS + 2, -1]
    assert np.abs(expected[:LINKS] - q[:LINKS]).max() > 0.5
    for name in METHODS:
        assert run(name, 0.002, 1).q[-1] == pytest.approx(expected, abs=1e-7), name


@pytest.mark.parametrize("name", METHODS)
def test_runs_are_of_order_four(name):
    finest = run(name, 0.0005, 0.5).q[-1]
    errors = [np.abs(run(name, step, 0.5).q[-1] - finest).max() for step in (0.01, 0.005, 0.0025)]
    assert np.log2(np.divide(errors[:-1], errors[1:])) == pytest.approx(4, abs=0.1)


def test_energy_function_of_lagrange_drifts_with_its_wheels():
    """The paper: "the main cause of the error in Lagrange's equations arises from differentiating constraints"."""
    exact, differentiated = run("Kane", 0.01, 10), run("Lagrange", 0.01, 10)
    assert exact.slip.max() < 1e-13 and np.abs(exact.S).max() < 2e-5
    assert differentiated.slip.max() > 1e-4 and np.abs(differentiated.S).max() > 100 * np.abs(exact.S).max()
    finer = run("Lagrange", 0.005, 10)
    assert np.abs(finer.S).max() < np.abs(differentiated.S).max() / 10  # it is the steps, not the equations


def test_single_precision_is_closer_to_double_by_kane():
    def apart(name):
        return np.abs(run(name, 0.01, 10, np.float32).V_1 - run(name, 0.01, 10).V_1).max()

    assert 1e-7 < apart("Kane") < 0.25 * apart("Lagrange")
