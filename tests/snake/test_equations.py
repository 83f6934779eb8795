"""Accelerations of the three methods, against each other and against bodies in coordinates of their own."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from sim.analysis.snake import kane, lagrange, newton_euler
from sim.analysis.snake.fixed_steps import METHODS, kinetic_energy, slip
from sim.analysis.snake.links import Snake, bends, papers_snake, papers_torques
from tests.snake.snakes import bodies, first_link, mass_and_bias, random_state

pytestmark = pytest.mark.nonholonomic
MULTIPLIERS = {"Lagrange": lagrange, "Newton-Euler": newton_euler}


def relative(found, expected) -> float:
    return float(np.abs(np.subtract(found, expected)).max() / np.abs(expected).max())


@pytest.mark.parametrize("n", range(2, 21))
def test_three_methods_agree(n):
    for seed in range(5):
        state = random_state(n, seed)
        assert slip(state.snake, state.q, state.q_dot) < 1e-13
        expected = kane.accelerations(state.snake, state.q[:n], state.u, state.torques)
        for method in MULTIPLIERS.values():
            q_ddot, _ = method.accelerations(state.snake, state.q, state.q_dot, state.torques)
            assert relative(first_link(state.q, q_ddot), expected) < 1e-12


@pytest.mark.parametrize("n", [2, 3, 7, 20])
def test_bodies_with_rows_move_alike(n):
    state = random_state(n, 11)
    place, angle, side = bodies(state)
    u_dot = kane.accelerations(state.snake, state.q[:n], state.u, state.torques)
    assert relative(u_dot, [place[0] @ [math.cos(state.q[0]), math.sin(state.q[0])], angle[0]]) < 1e-11
    for method in MULTIPLIERS.values():
        q_ddot, wheels = method.accelerations(state.snake, state.q, state.q_dot, state.torques)
        assert relative(q_ddot, [*angle, *place[0]]) < 1e-11
        assert relative(wheels, side) < 1e-11


def test_mass_matrices_and_bias_of_the_two_methods_with_multipliers_agree():
    """Each is made its own way: link by link in world axes, and from composite bodies in the links' axes."""
    for n in (2, 3, 9):
        state = random_state(n, 5)
        rates = np.random.default_rng(n).normal(size=n).tolist()
        M, B = mass_and_bias("Lagrange", state, rates)
        M_too, B_too = mass_and_bias("Newton-Euler", state, rates)
        np.testing.assert_allclose(M_too, M, atol=1e-13)
        np.testing.assert_allclose(B_too, B, atol=1e-12)


def test_bias_is_what_kinetic_energy_says():
    """(23) with q'' zero: B_i = sum of dM_ij/dq_k q'_j q'_k - dK/dq_i, by central differences."""
    n, step = 5, 1e-5
    state = random_state(n, 4)
    rates = [*np.random.default_rng(n).normal(size=n), 0.1, -0.3]
    _, B = mass_and_bias("Lagrange", state, rates[:n])

    def turned(i, by):
        return [x + by * (k == i) for k, x in enumerate(state.q)]

    def momenta(q):
        unit = np.eye(n + 2)
        full = kinetic_energy(state.snake, q, rates)
        return np.array(
            [
                kinetic_energy(state.snake, q, (rates + unit[i]).tolist())
                - full
                - kinetic_energy(state.snake, q, unit[i].tolist())
                for i in range(n + 2)
            ]
        )

    change, slope = np.zeros(n + 2), np.zeros(n + 2)
    for i in range(n):
        ahead, behind = turned(i, step), turned(i, -step)
        change += rates[i] * (momenta(ahead) - momenta(behind)) / (2 * step)
        slope[i] = (kinetic_energy(state.snake, ahead, rates) - kinetic_energy(state.snake, behind, rates)) / (2 * step)
    np.testing.assert_allclose(B, change - slope, atol=1e-8)


def test_the_mass_matrix_is_the_second_derivative_of_kinetic_energy():
    n = 5
    state = random_state(n, 2)
    M, _ = mass_and_bias("Lagrange", state, [0.0] * n)
    unit = np.eye(n + 2)

    def energy(rates):
        return kinetic_energy(state.snake, state.q, rates.tolist())

    for j in range(n + 2):
        assert M[j][j] == pytest.approx(2 * energy(unit[j]), rel=1e-13)
        for i in range(j):
            both = energy(unit[i] + unit[j]) - energy(unit[i]) - energy(unit[j])
            assert M[j][i] == pytest.approx(both, abs=1e-13)


def velocities(snake, theta, u):
    """Return V and omega of Kane's recursion, in any type of number."""
    work = kane.room(snake.links)
    bends(theta, work.C, work.S)
    kane.velocities(snake.halves, work.C, work.S, u, work.V, work.omega)
    return work.V, work.omega


def test_partial_derivatives_are_those_of_the_recursion():
    """(12)-(20) against complex steps through (6) and (7); so (21) cannot hold but for the first link."""
    n, tiny = 6, 1e-30
    state = random_state(n, 3)
    theta = state.q[:n]
    found = kane.room(n)
    kane.accelerate(state.snake, theta, state.u, state.torques, found)
    for j in range(n):
        turned = [np.complex128(x + (1j * tiny if k == j else 0)) for k, x in enumerate(theta)]
        by_angle = velocities(state.snake, turned, state.u)
        for partials, moved in zip((found.V_q, found.omega_q), by_angle, strict=True):
            assert [row[j] for row in partials] == pytest.approx(np.imag(moved) / tiny, abs=1e-12)
    for j in range(2):
        faster = [complex(x, tiny if k == j else 0) for k, x in enumerate(state.u)]
        by_speed = velocities(state.snake, theta, faster)
        for partials, moved in zip((found.V_u, found.omega_u), by_speed, strict=True):
            assert [row[j] for row in partials] == pytest.approx(np.imag(moved) / tiny, abs=1e-12)
    assert abs(found.V_q[3][3]) > 1e-3


@pytest.mark.parametrize("name", METHODS)
def test_energy_stays_without_torques(name):
    n, method = 4, METHODS[name]
    state = random_state(n, 1)
    u = method.speeds(state.snake, state.q, *state.u)

    def rate(_, x):
        return np.concatenate(method.rates(state.snake, x[: n + 2].tolist(), x[n + 2 :].tolist(), [0.0] * (n - 1)))

    run = solve_ivp(rate, (0, 1), [*state.q, *u], method="DOP853", rtol=1e-12, atol=1e-12)
    end = run.y[:, -1].tolist()
    q_dot, _ = method.rates(state.snake, end[: n + 2], end[n + 2 :], [0.0] * (n - 1))
    first = kinetic_energy(state.snake, state.q, state.q_dot)
    assert kinetic_energy(state.snake, end, q_dot) == pytest.approx(first, rel=1e-10)
    assert abs(end[0] - state.q[0]) > 0.1  # it did move


def test_snake_and_torques_of_the_paper():
    snake, q = papers_snake(4)
    assert q == pytest.approx([-math.pi / 6, math.pi / 6, -math.pi / 6, math.pi / 6, 0, 0])
    assert snake.halves == [0.1] * 4
    assert papers_torques(4, 0.7) == pytest.approx([math.sin(0.7) / 3, math.sin(0.7) / 2, math.sin(0.7)])


def test_driven_joints_of_three_links():
    """The middle link's pose after quarters of a gait, of wheels alone: reference derived on its own, ten digits."""
    snake = Snake([1.0] * 3, [1.0] * 3, [1.0] * 3)
    w = 2 * np.pi

    def joints(t):
        angles = np.array([0.7 + 0.3 * np.sin(w * t), -0.7 + 0.3 * np.cos(w * t)])
        return angles, np.array([0.3 * w * np.cos(w * t), -0.3 * w * np.sin(w * t)])

    def rate(t, pose):
        (rear, front), bending = joints(t)
        theta = [pose[2] - rear, pose[2], pose[2] + front]
        by_speed = [velocities(snake, theta, u)[1] for u in ((1, 0), (0, 1))]
        u = np.linalg.solve(np.diff(by_speed, axis=1).T, bending)
        V, omega = velocities(snake, theta, u.tolist())
        return [V[1] * np.cos(pose[2]), V[1] * np.sin(pose[2]), omega[1]]

    times = [0.25, 0.5, 0.75, 1, 2]
    run = solve_ivp(rate, (0, 2), [0, 0, 0], method="DOP853", t_eval=times, rtol=1e-13, atol=1e-13)
    expected = [
        (-0.0290021291, 0.0034556073, 0.1664530483),
        (0.1562609394, 0.0403057074, 0.1664530483),
        (0.1272588103, 0.0437613147, 0),
        (-0.1854067924, 0.0487714187, 0),
        (-0.3708135849, 0.0975428375, 0),
    ]
    assert np.abs(run.y.T - expected).max() < 6e-11
