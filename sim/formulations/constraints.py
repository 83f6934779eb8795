"""What Lagrange's and Newton-Euler's equations share: rows of the wheels, and the augmented system (26), (27).

As printed, (27) leaves the bias B out, has A^T where A is meant and gives A' q' the wrong sign.  Here
M q'' + A lambda = Q - B and A^T q'' = -A'^T q', which is symmetric.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from sim.formulations.snake import Rows, Snake, Vector


def reaches(snake: Snake) -> Vector:
    """Return how far link i carries those beyond its next joint, by unit turning: its length, of the first half."""
    return [snake.halves[0], *snake.lengths[1:]]


def jacobian(snake: Snake, c: Vector, s: Vector) -> Rows:
    """Return A^T: row k times q' is the sideways velocity of link k at its wheel."""
    reach = reaches(snake)
    rows = []
    for k in range(snake.links):
        carried = [reach[i] * (c[i] * c[k] + s[i] * s[k]) for i in range(k)]
        own = snake.halves[k] if k else 0
        rows.append([*carried, own, *[0] * (snake.links - k - 1), -s[k], c[k]])
    return rows


def arms(snake: Snake, c: Vector, s: Vector) -> tuple[Vector, Vector]:
    """Return the reaches along x and y; the paper's count of A' takes them as given."""
    reach = reaches(snake)[:-1]  # nothing is beyond the last link
    return [a * x for a, x in zip(reach, c, strict=False)], [a * x for a, x in zip(reach, s, strict=False)]


def alongs(c: Vector, s: Vector, x_dot: Any, y_dot: Any) -> Vector:
    """Return the first link's velocity along each link; the paper's count of A' takes it as given."""
    return [c_k * x_dot + s_k * y_dot for c_k, s_k in zip(c, s, strict=True)]


def jacobian_rate(
    arm: tuple[Vector, Vector], c: Vector, s: Vector, omega: Vector, along: Vector
) -> tuple[Rows, Vector]:
    """Return A'^T: what it has in the columns of angles below the diagonal, and minus what x and y add to A'^T q'."""
    arm_x, arm_y = arm
    rows = [[(arm_y[i] * c[k] - arm_x[i] * s[k]) * (omega[k] - omega[i]) for i in range(k)] for k in range(len(c))]
    return rows, [omega[k] * along[k] for k in range(len(c))]


def wanted(rows: Rows, turned: Vector, omega: Vector) -> Vector:
    """Return -A'^T q', the accelerations that the wheels ask for."""
    found = []
    for row, value in zip(rows, turned, strict=True):
        for x, w in zip(row, omega, strict=False):
            value = value - x * w
        found.append(value)
    return found


def generalised_forces(torques: Sequence[Any]) -> Vector:
    """Return Q of the angles: T_k turns link k + 1, and link k back."""
    between = [behind - ahead for behind, ahead in pairwise(torques)]
    return [-torques[0], *between, torques[-1]]


def less_bias(torques: Sequence[Any], bias: Vector) -> Vector:
    """Return Q - B."""
    Q = generalised_forces(torques)
    return [*(Q_i - B_i for Q_i, B_i in zip(Q, bias, strict=False)), -bias[-2], -bias[-1]]


def constrained(
    snake: Snake, M: Rows, force: Vector, c: Vector, s: Vector, q_dot: Sequence[Any]
) -> tuple[Vector, Vector]:
    """Return q'' and the forces of the wheels on the links, -lambda (26), from M and Q - B."""
    n = snake.links
    omega = list(q_dot[:n])
    A = jacobian(snake, c, s)
    rows, turned = jacobian_rate(arms(snake, c, s), c, s, omega, alongs(c, s, q_dot[n], q_dot[n + 1]))
    system = [*([*row] for row in M), *([*row, *[0] * n] for row in A)]
    found = solve(system, [*force, *wanted(rows, turned, omega)])
    return found[: n + 2], [-x for x in found[n + 2 :]]


def solve(system: Rows, right: Vector) -> Vector:
    """Return the solution of a symmetric system, by its triangular decomposition L D L^T.

    system : its lower triangle, which is overwritten
    """
    decompose(system)
    return substitute(system, right)


def decompose(K: Rows) -> None:
    """Put D on the diagonal of K and L below it, column by column; zeros are treated as any number."""
    for j in range(len(K)):
        below = range(j + 1, len(K))
        column = [K[i][j] / K[j][j] for i in below]
        for i in below:
            factor, row = column[i - j - 1], K[i]
            for k in range(j + 1, i + 1):
                row[k] = row[k] - factor * K[k][j]
        for i in below:
            K[i][j] = column[i - j - 1]


def substitute(K: Rows, right: Vector) -> Vector:
    """Return the solution for a right side: L, then D, then L^T."""
    x = list(right)
    for i in range(len(x)):
        for j in range(i):
            x[i] = x[i] - K[i][j] * x[j]
    x = [value / K[i][i] for i, value in enumerate(x)]
    for i in reversed(range(len(x))):
        for j in range(i + 1, len(x)):
            x[i] = x[i] - K[j][i] * x[j]
    return x
