"""Newton-Euler's equations after Walker and Orin: section V of the paper.

Bias forces by a recursion over accelerations and forces, the mass matrix column by column from composite bodies, both
in the links' own axes; the wheels as in Lagrange's method.  The method was made for arms in space, and the paper's
count is that of its spatial vectors; here it is in the plane of the snake.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sim.analysis.snake.counting import cos, sin
from sim.analysis.snake.lagrange import speeds
from sim.analysis.snake.links import Rows, Snake, Vector, directions
from sim.analysis.snake.wheel_rows import Work, answer, constrained, reaches, room

__all__ = ["accelerate", "accelerations", "rates", "room", "speeds"]


def rates(snake: Snake, q: Sequence[Any], q_dot: Sequence[Any], torques: Sequence[Any]) -> tuple[Vector, Vector]:
    """Return q' and q''."""
    return list(q_dot), accelerations(snake, q, q_dot, torques)[0]


def accelerations(
    snake: Snake, q: Sequence[Any], q_dot: Sequence[Any], torques: Sequence[Any]
) -> tuple[Vector, Vector]:
    """Return q'' and the forces of the wheels, from M q'' + B + A lambda = Q (26)."""
    work = room(snake.links)
    accelerate(snake, q, q_dot, torques, work)
    return answer(snake.links, work)


def accelerate(snake: Snake, q: Sequence[Any], q_dot: Sequence[Any], torques: Sequence[Any], work: Work) -> None:
    """Find q'' and lambda."""
    m, h, C, S = snake.masses, snake.halves, work.C, work.S
    directions(q, work.c, work.s)
    bends_and_first(q, work.c, work.s, C, S)
    reaches(snake.lengths, h, work.reach)
    mass_matrix(m, h, snake.inertias, work.reach, C, S, work.beyond, work.K)
    bias(m, h, C, S, q_dot, work.pull, work.x, work.y, work.B)
    constrained(snake, q_dot, torques, work)


def bends_and_first(theta: Sequence[Any], c: Vector, s: Vector, C: Vector, S: Vector) -> None:
    """Find C and S of each link's angle against the one before, of the first against the world."""
    C[0], S[0] = c[0], s[0]
    for k in range(1, len(C)):
        phi = theta[k] - theta[k - 1]
        C[k] = cos(phi)
        S[k] = sin(phi)


def mass_matrix(
    m: Vector, h: Vector, inertia: Vector, reach: Vector, C: Vector, S: Vector, beyond: Vector, M: Rows
) -> None:  # fmt: skip
    """Find the lower triangle of M; column j is the force that turns link j alone, carried inwards.

    What is beyond link j is one composite body: it moves with the far joint and does not turn.
    """
    n = len(m)
    beyond[n - 2] = m[n - 1]
    for j in range(n - 3, -1, -1):
        beyond[j] = m[j + 1] + beyond[j + 1]
    for j in range(n):
        far = beyond[j] * reach[j] if j < n - 1 else 0
        near = m[j] * h[j] if j > 0 else 0
        M[j][j] = inertia[j] + far * reach[j] + near * h[j]
        x, y = inwards(0, near + far, C[j], S[j])
        for i in range(j - 1, -1, -1):
            M[j][i] = reach[i] * y
            x, y = inwards(x, y, C[i], S[i])
        M[n][j], M[n + 1][j] = x, y
    M[n][n] = M[n + 1][n + 1] = m[0] + beyond[0]
    M[n + 1][n] = 0


def bias(
    m: Vector, h: Vector, C: Vector, S: Vector, omega: Sequence[Any], pull: Vector, x: Vector, y: Vector, B: Vector
) -> None:
    """Find B: the forces of the motion with q'' zero.

    x, y : force of each link, in its axes
    """
    n = len(m)
    for k in range(n):
        pull[k] = h[k] * omega[k] * omega[k]
    a_x = a_y = 0
    for k in range(1, n):
        a_x, a_y = outwards(a_x - pull[k - 1], a_y, C[k], S[k])
        a_x = a_x - pull[k]
        x[k], y[k] = m[k] * a_x, m[k] * a_y
    beyond_x = beyond_y = 0
    here_x, here_y = x[n - 1], y[n - 1]  # on link k through its near joint, as beyond is through its far one
    for k in range(n - 1, 0, -1):
        B[k] = h[k] * (here_y + beyond_y)
        beyond_x, beyond_y = inwards(here_x, here_y, C[k], S[k])
        here_x, here_y = beyond_x, beyond_y
        if k > 1:
            here_x, here_y = x[k - 1] + beyond_x, y[k - 1] + beyond_y
    B[0] = h[0] * beyond_y
    B[n], B[n + 1] = inwards(here_x, here_y, C[0], S[0])


def inwards(x: Any, y: Any, C: Any, S: Any) -> tuple[Any, Any]:
    """Return a vector in the axes of the link before."""
    return C * x - S * y, S * x + C * y


def outwards(x: Any, y: Any, C: Any, S: Any) -> tuple[Any, Any]:
    """Return a vector in the axes of the link after."""
    return C * x + S * y, C * y - S * x
