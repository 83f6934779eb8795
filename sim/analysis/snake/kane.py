"""Kane's equations, recursively: section III of the paper, equations (1) to (21).

Two generalised speeds move a snake of any length: u_1 = V_1, the first link along itself, and u_2 = omega_1 (2).
V_i is the speed of link i along itself; its wheel allows no other.  Functions that find something write it into
their last arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sim.analysis.snake.counting import cos, sin
from sim.analysis.snake.links import Rows, Snake, Vector, bends, lists

SPEEDS = (0, 1)


class Work(NamedTuple):
    """What an evaluation finds; V_u is dV_i/du_j, V_q is dV_i/dq_j.

    by_speed, by_turning : m_k dV_k/du_i and I_k domega_k/du_i of one i
    found : u'
    """

    C: Vector
    S: Vector
    V: Vector
    omega: Vector
    V_u: Rows
    omega_u: Rows
    V_q: Rows
    omega_q: Rows
    by_speed: Vector
    by_turning: Vector
    M: Rows
    N: Rows
    F: Vector
    found: Vector


def room(n: int, zeros: Callable[..., Any] = lists) -> Work:
    """Return room for an evaluation of n links; `zeros` makes an array of a shape."""
    return Work(
        C=zeros(n - 1), S=zeros(n - 1), V=zeros(n), omega=zeros(n), V_u=zeros(n, 2), omega_u=zeros(n, 2),
        V_q=zeros(n, n), omega_q=zeros(n, n), by_speed=zeros(n), by_turning=zeros(n), M=zeros(2, 2), N=zeros(2, n),
        F=zeros(2), found=zeros(2),
    )  # fmt: skip


def rates(snake: Snake, q: Sequence[Any], u: Sequence[Any], torques: Sequence[Any]) -> tuple[Vector, Vector]:
    """Return q' and u'."""
    work = room(snake.links)
    accelerate(snake, q, u, torques, work)
    return [*work.omega, work.V[0] * cos(q[0]), work.V[0] * sin(q[0])], work.found


def speeds(snake: Snake, q: Sequence[Any], V_1: Any, omega_1: Any) -> Vector:
    """Return the generalised speeds, for the speed and the turning of the first link."""
    return [V_1, omega_1]


def accelerations(snake: Snake, theta: Sequence[Any], u: Sequence[Any], torques: Sequence[Any]) -> Vector:
    """Return u' from M u' + N omega = F (8).

    torques : T_k of the n - 1 joints
    """
    work = room(snake.links)
    accelerate(snake, theta, u, torques, work)
    return work.found


def accelerate(snake: Snake, theta: Sequence[Any], u: Sequence[Any], torques: Sequence[Any], work: Work) -> None:
    """Find u'; theta may be followed by x, y, which move nothing."""
    m, inertia, h = snake.masses, snake.inertias, snake.halves
    C, S, V, omega, V_u, omega_u = work.C, work.S, work.V, work.omega, work.V_u, work.omega_u
    bends(theta, C, S)
    velocities(h, C, S, u, V, omega)
    partials_in_speeds(h, C, S, V_u, omega_u)
    partials_in_angles(h, C, S, V, omega, work.V_q, work.omega_q)
    mass_matrix(m, inertia, V_u, omega_u, work.M)
    bias_matrix(m, inertia, V_u, omega_u, work.V_q, work.omega_q, work.by_speed, work.by_turning, work.N)
    generalised_forces(torques, omega_u, work.F)
    less_bias(work.N, omega, work.F)
    solve(work.M, work.F, work.found)


def velocities(h: Vector, C: Vector, S: Vector, u: Sequence[Any], V: Vector, omega: Vector) -> None:
    """Find V and omega, link by link from the first (6), (7)."""
    V[0] = u[0]
    omega[0] = u[1]
    for i in range(len(C)):
        V[i + 1] = speed(V[i], omega[i], h[i], C[i], S[i])
        omega[i + 1] = turning(V[i], omega[i], h[i], h[i + 1], C[i], S[i])


def speed(V: Any, omega: Any, h: Any, C: Any, S: Any) -> Any:
    """Return V of the next link (6); partial derivatives obey the same (13), (19)."""
    return V * C + omega * h * S


def turning(V: Any, omega: Any, h: Any, h_next: Any, C: Any, S: Any) -> Any:
    """Return omega of the next link (7); partial derivatives obey the same (14), (20)."""
    return (V * S - omega * h * C) / h_next


def partials_in_speeds(h: Vector, C: Vector, S: Vector, V_u: Rows, omega_u: Rows) -> None:
    """Find dV_i/du_j and domega_i/du_j (12) to (14)."""
    for j in SPEEDS:
        V_u[0][j] = 1 - j
        omega_u[0][j] = j
        for i in range(len(C)):
            V_u[i + 1][j] = speed(V_u[i][j], omega_u[i][j], h[i], C[i], S[i])
            omega_u[i + 1][j] = turning(V_u[i][j], omega_u[i][j], h[i], h[i + 1], C[i], S[i])


def partials_in_angles(
    h: Vector, C: Vector, S: Vector, V: Vector, omega: Vector, V_q: Rows, omega_q: Rows
) -> None:  # fmt: skip
    """Find dV_i/dq_j and domega_i/dq_j (15) to (21); they are zero, and left alone, where j > i.

    (21) is printed for every i; it holds, and is counted, for the first link.
    """
    V_q[1][0] = -speed_by_next(V[0], omega[0], h[0], C[0], S[0])
    omega_q[1][0] = -turning_by_next(V[0], omega[0], h[0], h[1], C[0], S[0])
    for i in range(len(C)):
        for j in range(i):
            V_q[i + 1][j] = speed(V_q[i][j], omega_q[i][j], h[i], C[i], S[i])
            omega_q[i + 1][j] = turning(V_q[i][j], omega_q[i][j], h[i], h[i + 1], C[i], S[i])
        if i > 0:
            V_q[i + 1][i] = speed_by_own(V_q[i][i], omega_q[i][i], V[i], omega[i], h[i], C[i], S[i])
            omega_q[i + 1][i] = turning_by_own(V_q[i][i], omega_q[i][i], V[i], omega[i], h[i], h[i + 1], C[i], S[i])
        V_q[i + 1][i + 1] = speed_by_next(V[i], omega[i], h[i], C[i], S[i])
        omega_q[i + 1][i + 1] = turning_by_next(V[i], omega[i], h[i], h[i + 1], C[i], S[i])


def speed_by_next(V: Any, omega: Any, h: Any, C: Any, S: Any) -> Any:
    """Return dV_(i+1)/dq_(i+1) (15)."""
    return omega * C * h - V * S


def turning_by_next(V: Any, omega: Any, h: Any, h_next: Any, C: Any, S: Any) -> Any:
    """Return domega_(i+1)/dq_(i+1) (16)."""
    return (V * C + omega * S * h) / h_next


def speed_by_own(V_q: Any, omega_q: Any, V: Any, omega: Any, h: Any, C: Any, S: Any) -> Any:
    """Return dV_(i+1)/dq_i (17)."""
    return V_q * C + omega_q * S * h + V * S - omega * C * h


def turning_by_own(V_q: Any, omega_q: Any, V: Any, omega: Any, h: Any, h_next: Any, C: Any, S: Any) -> Any:
    """Return domega_(i+1)/dq_i (18), as two quotients: the paper prints one and counts two."""
    return (V_q * S - omega_q * C * h) / h_next - (V * C + omega * S * h) / h_next


def mass_matrix(m: Vector, inertia: Vector, V_u: Rows, omega_u: Rows, M: Rows) -> None:
    """Find M, symmetric (9)."""
    for i in SPEEDS:
        for j in range(i + 1):
            for k in range(len(m)):
                term = m[k] * V_u[k][j] * V_u[k][i] + inertia[k] * omega_u[k][j] * omega_u[k][i]
                M[j][i] = M[j][i] + term if k else term
    M[1][0] = M[0][1]


def bias_matrix(
    m: Vector, inertia: Vector, V_u: Rows, omega_u: Rows, V_q: Rows, omega_q: Rows, by_speed: Vector,
    by_turning: Vector, N: Rows,
) -> None:  # fmt: skip
    """Find N, sums over the links that an angle moves (10).

    The first two angles move the same links, and share m_k dV_k/du_i and I_k domega_k/du_i.  With this the count is
    the paper's; shared by all angles, these products would be fewer.
    """
    n = len(m)
    for i in SPEEDS:
        for j in range(n):
            first = max(j, 1)
            for k in range(first, n):
                if j != 1:
                    by_speed[k] = m[k] * V_u[k][i]
                    by_turning[k] = inertia[k] * omega_u[k][i]
                term = by_speed[k] * V_q[k][j] + by_turning[k] * omega_q[k][j]
                N[i][j] = N[i][j] + term if k > first else term


def generalised_forces(torques: Sequence[Any], omega_u: Rows, F: Vector) -> None:
    """Find F (11)."""
    for i in SPEEDS:
        for k in range(len(torques)):
            term = torques[k] * (omega_u[k + 1][i] - omega_u[k][i])
            F[i] = F[i] + term if k else term


def less_bias(N: Rows, omega: Vector, F: Vector) -> None:
    """Make F into F - N omega; the paper's stages leave it out, its total additions do not."""
    for i in SPEEDS:
        found = N[i][0] * omega[0]
        for j in range(1, len(omega)):
            found = found + N[i][j] * omega[j]
        F[i] = F[i] - found


def solve(M: Rows, right: Vector, u_dot: Vector) -> None:
    """Find u' (8), two equations by elimination."""
    factor = M[0][1] / M[0][0]
    u_dot[1] = (right[1] - factor * right[0]) / (M[1][1] - factor * M[0][1])
    u_dot[0] = (right[0] - M[0][1] * u_dot[1]) / M[0][0]
