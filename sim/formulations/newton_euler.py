"""Newton-Euler's equations after Walker and Orin: section V of the paper.

Bias forces by a recursion over accelerations and forces, the mass matrix column by column from composite bodies, both
in the links' own axes; the wheels as in Lagrange's method.  The method was made for arms in space, and the paper's
count is that of its spatial vectors; here it is in the plane of the snake.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sim.formulations.constraints import constrained, less_bias, reaches
from sim.formulations.lagrange import speeds
from sim.formulations.snake import Rows, Snake, Vector, bends, directions

__all__ = ["accelerations", "rates", "speeds"]


def rates(snake: Snake, q: Sequence[Any], q_dot: Sequence[Any], torques: Sequence[Any]) -> tuple[Vector, Vector]:
    """Return q' and q''."""
    return list(q_dot), accelerations(snake, q, q_dot, torques)[0]


def accelerations(
    snake: Snake, q: Sequence[Any], q_dot: Sequence[Any], torques: Sequence[Any]
) -> tuple[Vector, Vector]:
    """Return q'' and the forces of the wheels, from M q'' + B + A lambda = Q (26)."""
    n = snake.links
    theta, omega = q[:n], q_dot[:n]
    c, s = directions(theta)
    C, S = bends(theta)
    C, S = [c[0], *C], [s[0], *S]  # of each link against the one before, of the first against the world
    M = mass_matrix(snake, C, S)
    B = bias(snake, C, S, omega)
    return constrained(snake, M, less_bias(torques, B), c, s, q_dot)


def mass_matrix(snake: Snake, C: Vector, S: Vector) -> Rows:
    """Return the lower triangle of M; column j is the force that turns link j alone, carried inwards.

    What is beyond link j is one composite body: it moves with the far joint and does not turn.
    """
    n, m, h, reach = snake.links, snake.masses, snake.halves, reaches(snake)
    beyond: Any = 0
    composite: Vector = [beyond] * n
    for j in range(n - 1, 0, -1):
        beyond = m[j] + beyond if j < n - 1 else m[j]
        composite[j - 1] = beyond
    M: Rows = []
    along_x, along_y = [], []
    for j in range(n):
        far = composite[j] * reach[j] if j < n - 1 else 0
        near = m[j] * h[j] if j else 0
        M.append([0] * (j + 1))
        M[j][j] = snake.inertias[j] + far * reach[j] + near * h[j]
        x, y = inwards((0, near + far), C[j], S[j])
        for i in range(j - 1, -1, -1):
            M[j][i] = reach[i] * y
            x, y = inwards((x, y), C[i], S[i])
        along_x.append(x)
        along_y.append(y)
    mass = m[0] + composite[0]
    return [*M, [*along_x, mass], [*along_y, 0, mass]]


def bias(snake: Snake, C: Vector, S: Vector, omega: Sequence[Any]) -> Vector:
    """Return B: the forces of the motion with q'' zero."""
    n, h, m = snake.links, snake.halves, snake.masses
    pull = [h[k] * omega[k] * omega[k] for k in range(n)]
    a: tuple[Any, Any] = (0, 0)
    force = []
    for k in range(1, n):
        a_x, a_y = outwards((a[0] - pull[k - 1], a[1]), C[k], S[k])
        a = a_x - pull[k], a_y
        force.append((m[k] * a[0], m[k] * a[1]))
    B: Vector = []
    here, carried = force[-1], (0, 0)  # on link k through its near joint, and on through its far one
    for k in range(n - 1, 0, -1):
        B.append(h[k] * (here[1] + carried[1]))
        carried = inwards(here, C[k], S[k])
        here = (force[k - 2][0] + carried[0], force[k - 2][1] + carried[1]) if k > 1 else carried
    B.append(h[0] * carried[1])
    return [*reversed(B), *inwards(here, C[0], S[0])]


def inwards(vector: tuple[Any, Any], C: Any, S: Any) -> tuple[Any, Any]:
    """Return a vector in the axes of the link before."""
    x, y = vector
    return C * x - S * y, S * x + C * y


def outwards(vector: tuple[Any, Any], C: Any, S: Any) -> tuple[Any, Any]:
    """Return a vector in the axes of the link after."""
    x, y = vector
    return C * x + S * y, C * y - S * x
