"""Lagrange's equations with multipliers: section IV of the paper, equations (22) to (27).

Coordinates are q of (1), speeds their rates; the wheels are n rows, differentiated once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sim.analysis.snake import kane
from sim.analysis.snake.counting import cos, sin
from sim.analysis.snake.links import Rows, Snake, Vector, bends, directions
from sim.analysis.snake.wheel_rows import Work, answer, constrained, reaches, room


def rates(snake: Snake, q: Sequence[Any], q_dot: Sequence[Any], torques: Sequence[Any]) -> tuple[Vector, Vector]:
    """Return q' and q''."""
    return list(q_dot), accelerations(snake, q, q_dot, torques)[0]


def speeds(snake: Snake, q: Sequence[Any], V_1: Any, omega_1: Any) -> Vector:
    """Return q' that the wheels allow, for the speed and the turning of the first link."""
    work = kane.room(snake.links)
    bends(q, work.C, work.S)
    kane.velocities(snake.halves, work.C, work.S, [V_1, omega_1], work.V, work.omega)
    return [*work.omega, V_1 * cos(q[0]), V_1 * sin(q[0])]


def accelerations(
    snake: Snake, q: Sequence[Any], q_dot: Sequence[Any], torques: Sequence[Any]
) -> tuple[Vector, Vector]:
    """Return q'' and the forces of the wheels, from M q'' + B + A lambda = Q (26)."""
    work = room(snake.links)
    accelerate(snake, q, q_dot, torques, work)
    return answer(snake.links, work)


def accelerate(snake: Snake, q: Sequence[Any], q_dot: Sequence[Any], torques: Sequence[Any], work: Work) -> None:
    """Find q'' and lambda."""
    m, h = snake.masses, snake.halves
    directions(q, work.c, work.s)
    reaches(snake.lengths, h, work.reach)
    mass_matrix(m, h, snake.inertias, q, work.c, work.s, work.cosines, work.K)
    bias(m, work.reach, static_moment(m, h), work.c, work.s, q_dot, work.x, work.y, work.B)
    constrained(snake, q_dot, torques, work)


def mass_matrix(
    m: Vector, h: Vector, inertia: Vector, theta: Vector, c: Vector, s: Vector, cosines: Rows, M: Rows
) -> None:  # fmt: skip
    """Find the lower triangle of M (25): each link adds m V . V of (22), its velocity being linear in q' (3).

    The first term of a sum is no addition.
    """
    n = len(m)
    for j in range(n):
        M[j][j] = inertia[j]
        for i in range(j):
            cosines[j][i] = cos(theta[i] - theta[j])
    M[n][n] = M[n + 1][n + 1] = m[0]
    M[n + 1][n] = 0
    for k in range(1, n):  # its middle is moved by the angles up to its own
        for j in range(k + 1):
            for i in range(j):
                term = m[k] * arm(h, k, i) * arm(h, k, j) * cosines[j][i]
                M[j][i] = M[j][i] + term if j < k else term
            M[j][j] = M[j][j] + m[k] * arm(h, k, j) * arm(h, k, j)
            along_x, along_y = -(m[k] * arm(h, k, j) * s[j]), m[k] * arm(h, k, j) * c[j]
            new = j == k or k == 1
            M[n][j] = along_x if new else M[n][j] + along_x
            M[n + 1][j] = along_y if new else M[n + 1][j] + along_y
        M[n][n] = M[n][n] + m[k]
        M[n + 1][n + 1] = M[n + 1][n + 1] + m[k]


def arm(h: Vector, k: int, j: int) -> Any:
    """Return how far angle j moves the middle of link k >= j, by unit turning (3); the first link's middle is x, y."""
    return h[j] if j in (0, k) else 2 * h[j]


def static_moment(m: Vector, h: Vector) -> Any:
    """Return m h of the last link, a constant that the paper's count of B takes as given."""
    return m[len(m) - 1] * h[len(m) - 1]


def bias(
    m: Vector, reach: Vector, static: Any, c: Vector, s: Vector, omega: Sequence[Any], x: Vector, y: Vector, B: Vector
) -> None:
    """Find B: the generalised forces that leave q'' zero, so those of the centripetal accelerations.

    With q'' zero a link's mass acts as its halves at its joints do, which spares the accelerations of the middles; the
    last link's acts as all of it at its only joint does, and as its static moment m h.  Accelerations of joints from
    the first link outwards, whose middle rests; then forces from the last link inwards.

    x, y : forces at the joints
    """
    last = len(c) - 1
    a_x = a_y = behind = 0
    for k in range(last):
        pull = reach[k] * omega[k] * omega[k]
        a_x, a_y = a_x - pull * c[k], a_y - pull * s[k]
        ahead = m[k + 1] / 2 if k + 1 < last else m[k + 1]
        mass = behind + ahead if k > 0 else ahead
        x[k], y[k] = mass * a_x, mass * a_y
        behind = ahead
    pull = static * omega[last] * omega[last]
    beyond_x, beyond_y = 0 - pull * c[last], 0 - pull * s[last]
    B[last] = static * (c[last] * a_y - s[last] * a_x)
    for k in range(last - 1, -1, -1):
        beyond_x, beyond_y = beyond_x + x[k], beyond_y + y[k]
        B[k] = reach[k] * (c[k] * beyond_y - s[k] * beyond_x)
    B[last + 1], B[last + 2] = beyond_x, beyond_y
