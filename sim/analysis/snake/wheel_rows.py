"""What Lagrange's and Newton-Euler's equations share: rows of the wheels, and the augmented system (26), (27).

As printed, (27) leaves the bias B out, has A^T where A is meant and gives A' q' the wrong sign.  Here
M q'' + A lambda = Q - B and A^T q'' = -A'^T q', which is symmetric.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sim.analysis.snake.links import Rows, Snake, Vector, lists


class Work(NamedTuple):
    """What an evaluation finds.

    c, s : of the links' directions
    C, S : of each link's angle against the one before, of the first against the world
    reach : how far link i carries those beyond its next joint, by unit turning: its length, of the first half
    beyond : mass beyond a link's far joint, which Newton-Euler's M asks for
    cosines : of differences of angles, which Lagrange's M asks for
    pull, x, y : of links or joints, while B is found
    arm_x, arm_y : reaches along x and y
    along : the first link's velocity along each link
    rate, turned : of A'^T, and minus what x and y add to A'^T q'
    K : the system's lower triangle: M, and A^T below it
    found : the system's right side, then what solves it: q'', lambda
    """

    c: Vector
    s: Vector
    C: Vector
    S: Vector
    reach: Vector
    beyond: Vector
    cosines: Rows
    pull: Vector
    x: Vector
    y: Vector
    B: Vector
    arm_x: Vector
    arm_y: Vector
    along: Vector
    rate: Rows
    turned: Vector
    K: Rows
    column: Vector
    found: Vector


def room(n: int, zeros: Callable[..., Any] = lists) -> Work:
    """Return room for an evaluation of n links; `zeros` makes an array of a shape."""
    size = 2 * n + 2
    return Work(
        c=zeros(n), s=zeros(n), C=zeros(n), S=zeros(n), reach=zeros(n), beyond=zeros(n), cosines=zeros(n, n),
        pull=zeros(n), x=zeros(n), y=zeros(n), B=zeros(n + 2), arm_x=zeros(n), arm_y=zeros(n), along=zeros(n),
        rate=zeros(n, n), turned=zeros(n), K=zeros(size, size), column=zeros(size), found=zeros(size),
    )  # fmt: skip


def answer(n: int, work: Work) -> tuple[Vector, Vector]:
    """Return q'' and the forces of the wheels on the links, -lambda (26), of what was found."""
    return work.found[: n + 2], [-x for x in work.found[n + 2 :]]


def reaches(lengths: Vector, halves: Vector, reach: Vector) -> None:
    """Find the reach of every link."""
    reach[0] = halves[0]
    for k in range(1, len(reach)):
        reach[k] = lengths[k]


def jacobian(halves: Vector, reach: Vector, c: Vector, s: Vector, rows: Rows) -> None:
    """Find A^T: row k times q' is the sideways velocity of link k at its wheel."""
    n = len(c)
    for k in range(n):
        for i in range(k):
            rows[k][i] = reach[i] * (c[i] * c[k] + s[i] * s[k])
        for i in range(k, n):
            rows[k][i] = 0
        if k > 0:
            rows[k][k] = halves[k]
        rows[k][n] = -s[k]
        rows[k][n + 1] = c[k]


def arms(reach: Vector, c: Vector, s: Vector, arm_x: Vector, arm_y: Vector) -> None:
    """Find the reaches along x and y; the paper's count of A' takes them as given."""
    for i in range(len(c) - 1):  # nothing is beyond the last link
        arm_x[i] = reach[i] * c[i]
        arm_y[i] = reach[i] * s[i]


def alongs(c: Vector, s: Vector, x_dot: Any, y_dot: Any, along: Vector) -> None:
    """Find the first link's velocity along each link; the paper's count of A' takes it as given."""
    for k in range(len(c)):
        along[k] = c[k] * x_dot + s[k] * y_dot


def jacobian_rate(
    arm_x: Vector, arm_y: Vector, c: Vector, s: Vector, omega: Vector, along: Vector, rate: Rows, turned: Vector
) -> None:
    """Find A'^T: what it has in the columns of angles below the diagonal, and minus what x and y add to A'^T q'."""
    for k in range(len(c)):
        for i in range(k):
            rate[k][i] = (arm_y[i] * c[k] - arm_x[i] * s[k]) * (omega[k] - omega[i])
        turned[k] = omega[k] * along[k]


def wanted(rate: Rows, omega: Vector, turned: Vector) -> None:
    """Find -A'^T q', the accelerations that the wheels ask for, from what x and y add to it."""
    for k in range(len(turned)):
        for i in range(k):
            turned[k] = turned[k] - rate[k][i] * omega[i]


def less_bias(torques: Sequence[Any], B: Vector, right: Vector) -> None:
    """Find Q - B: T_k turns link k + 1, and link k back."""
    n = len(torques) + 1
    right[0] = -torques[0] - B[0]
    for k in range(1, n - 1):
        right[k] = torques[k - 1] - torques[k] - B[k]
    right[n - 1] = torques[n - 2] - B[n - 1]
    right[n] = -B[n]
    right[n + 1] = -B[n + 1]


def constrained(snake: Snake, q_dot: Sequence[Any], torques: Sequence[Any], work: Work) -> None:
    """Find q'' and lambda, from M and B (26), (27)."""
    n = len(snake.masses)
    c, s, turned = work.c, work.s, work.turned
    less_bias(torques, work.B, work.found)
    jacobian(snake.halves, work.reach, c, s, work.K[n + 2 :])
    arms(work.reach, c, s, work.arm_x, work.arm_y)
    alongs(c, s, q_dot[n], q_dot[n + 1], work.along)
    jacobian_rate(work.arm_x, work.arm_y, c, s, q_dot, work.along, work.rate, turned)
    wanted(work.rate, q_dot, turned)
    for k in range(n):
        work.found[n + 2 + k] = turned[k]
        for i in range(k + 1):
            work.K[n + 2 + k][n + 2 + i] = 0
    solve(work.K, work.column, work.found)


def solve(K: Rows, column: Vector, x: Vector) -> None:
    """Make a right side the solution of a symmetric system, by its triangular decomposition L D L^T.

    K : the system's lower triangle, which is overwritten
    column : room for one
    """
    decompose(K, column)
    substitute(K, x)


def decompose(K: Rows, column: Vector) -> None:
    """Put D on the diagonal of K and L below it, column by column; zeros are treated as any number."""
    for j in range(len(K)):
        for i in range(j + 1, len(K)):
            column[i] = K[i][j]
            K[i][j] = column[i] / K[j][j]
            for k in range(j + 1, i + 1):
                K[i][k] = K[i][k] - K[i][j] * column[k]


def substitute(K: Rows, x: Vector) -> None:
    """Solve for a right side: L, then D, then L^T."""
    size = len(x)
    for i in range(size):
        for j in range(i):
            x[i] = x[i] - K[i][j] * x[j]
    for i in range(size):
        x[i] = x[i] / K[i][i]
    for i in range(size - 1, -1, -1):
        for j in range(i + 1, size):
            x[i] = x[i] - K[j][i] * x[j]
