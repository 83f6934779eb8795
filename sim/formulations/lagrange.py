"""Lagrange's equations with multipliers: section IV of the paper, equations (22) to (27).

Coordinates are q of (1), speeds their rates; the wheels are n rows, differentiated once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sim.formulations.constraints import constrained, less_bias, reaches
from sim.formulations.counting import cos
from sim.formulations.kane import velocities
from sim.formulations.snake import Rows, Snake, Vector, bends, directions


def rates(snake: Snake, q: Sequence[Any], q_dot: Sequence[Any], torques: Sequence[Any]) -> tuple[Vector, Vector]:
    """Return q' and q''."""
    return list(q_dot), accelerations(snake, q, q_dot, torques)[0]


def speeds(snake: Snake, q: Sequence[Any], V_1: Any, omega_1: Any) -> Vector:
    """Return q' that the wheels allow, for the speed and the turning of the first link."""
    theta = q[: snake.links]
    c, s = directions(theta[:1])
    _, omega = velocities(snake, *bends(theta), [V_1, omega_1])
    return [*omega, V_1 * c[0], V_1 * s[0]]


def accelerations(
    snake: Snake, q: Sequence[Any], q_dot: Sequence[Any], torques: Sequence[Any]
) -> tuple[Vector, Vector]:
    """Return q'' and the forces of the wheels, from M q'' + B + A lambda = Q (26)."""
    n = snake.links
    theta, omega = q[:n], q_dot[:n]
    c, s = directions(theta)
    M = mass_matrix(snake, theta, c, s)
    B = bias(snake, c, s, omega)
    return constrained(snake, M, less_bias(torques, B), c, s, q_dot)


def mass_matrix(snake: Snake, theta: Sequence[Any], c: Vector, s: Vector) -> Rows:
    """Return the lower triangle of M (25): each link adds m V . V of (22), its velocity being linear in q' (3).

    The first term of a sum is no addition.
    """
    n, m, reach = snake.links, snake.masses, reaches(snake)
    M: Rows = [[None] * (j + 1) for j in range(n + 2)]

    def add(j: int, i: int, term: Any) -> None:
        M[j][i] = term if M[j][i] is None else M[j][i] + term

    for j in range(n):
        add(j, j, snake.inertias[j])
    cosines = [[cos(theta[i] - theta[j]) for i in range(j)] for j in range(n)]
    add(n, n, m[0])
    add(n + 1, n + 1, m[0])
    M[n + 1][n] = 0
    for k in range(1, n):
        arm = [*reach[:k], snake.halves[k]]  # of the angles, to the middle of link k
        for j in range(k + 1):
            for i in range(j):
                add(j, i, m[k] * arm[i] * arm[j] * cosines[j][i])
            add(j, j, m[k] * arm[j] * arm[j])
            add(n, j, -(m[k] * arm[j] * s[j]))
            add(n + 1, j, m[k] * arm[j] * c[j])
        add(n, n, m[k])
        add(n + 1, n + 1, m[k])
    return M


def bias(snake: Snake, c: Vector, s: Vector, omega: Sequence[Any]) -> Vector:
    """Return B: the generalised forces that leave q'' zero, so those of the centripetal accelerations.

    Accelerations from the first link outwards, forces from the last one inwards; the first link's middle is x, y.
    """
    n, h, m = snake.links, snake.halves, snake.masses
    pull = [h[k] * omega[k] * omega[k] for k in range(n)]
    pull_x, pull_y = [p * x for p, x in zip(pull, c, strict=True)], [p * x for p, x in zip(pull, s, strict=True)]
    a_x, a_y = -(pull_x[0] + pull_x[1]), -(pull_y[0] + pull_y[1])
    force = [(0, 0), (m[1] * a_x, m[1] * a_y)]
    for k in range(2, n):
        a_x, a_y = a_x - pull_x[k - 1] - pull_x[k], a_y - pull_y[k - 1] - pull_y[k]
        force.append((m[k] * a_x, m[k] * a_y))
    beyond = force[n - 1]
    B: Vector = [h[n - 1] * (c[n - 1] * beyond[1] - s[n - 1] * beyond[0])]
    for k in range(n - 2, 0, -1):
        here = force[k][0] + beyond[0], force[k][1] + beyond[1]
        both = here[0] + beyond[0], here[1] + beyond[1]
        B.append(h[k] * (c[k] * both[1] - s[k] * both[0]))
        beyond = here
    B.append(h[0] * (c[0] * beyond[1] - s[0] * beyond[0]))
    return [*reversed(B), *beyond]
