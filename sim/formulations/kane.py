"""Kane's equations, recursively: section III of the paper, equations (1) to (21).

Two generalised speeds move a snake of any length: u_1 = V_1, the first link along itself, and u_2 = omega_1 (2).
V_i is the speed of link i along itself; its wheel allows no other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sim.formulations.counting import cos, sin
from sim.formulations.snake import Rows, Snake, Vector, bends

SPEEDS = (0, 1)


def rates(snake: Snake, q: Sequence[Any], u: Sequence[Any], torques: Sequence[Any]) -> tuple[Vector, Vector]:
    """Return q' and u'."""
    n = snake.links
    V, omega, u_dot = _move(snake, q[:n], u, torques)
    return [*omega, V[0] * cos(q[0]), V[0] * sin(q[0])], u_dot


def speeds(snake: Snake, q: Sequence[Any], V_1: Any, omega_1: Any) -> Vector:
    """Return the generalised speeds, for the speed and the turning of the first link."""
    return [V_1, omega_1]


def accelerations(snake: Snake, theta: Sequence[Any], u: Sequence[Any], torques: Sequence[Any]) -> Vector:
    """Return u' from M u' + N omega = F (8).

    torques : T_k of the n - 1 joints
    """
    return _move(snake, theta, u, torques)[2]


def _move(
    snake: Snake, theta: Sequence[Any], u: Sequence[Any], torques: Sequence[Any]
) -> tuple[Vector, Vector, Vector]:
    C, S = bends(theta)
    V, omega = velocities(snake, C, S, u)
    V_u, omega_u = partials_in_speeds(snake, C, S)
    V_q, omega_q = partials_in_angles(snake, C, S, V, omega)
    M = mass_matrix(snake, V_u, omega_u)
    N = bias_matrix(snake, V_u, omega_u, V_q, omega_q)
    F = generalised_forces(torques, omega_u)
    return V, omega, solve(M, less_bias(F, N, omega))


def velocities(snake: Snake, C: Vector, S: Vector, u: Sequence[Any]) -> tuple[Vector, Vector]:
    """Return V and omega, link by link from the first (6), (7)."""
    h = snake.halves
    V, omega = [u[0]], [u[1]]
    for i in range(snake.links - 1):
        V.append(speed(V[i], omega[i], h[i], C[i], S[i]))
        omega.append(turning(V[i], omega[i], h[i], h[i + 1], C[i], S[i]))
    return V, omega


def speed(V: Any, omega: Any, h: Any, C: Any, S: Any) -> Any:
    """Return V of the next link (6); partial derivatives obey the same (13), (19)."""
    return V * C + omega * h * S


def turning(V: Any, omega: Any, h: Any, h_next: Any, C: Any, S: Any) -> Any:
    """Return omega of the next link (7); partial derivatives obey the same (14), (20)."""
    return (V * S - omega * h * C) / h_next


def partials_in_speeds(snake: Snake, C: Vector, S: Vector) -> tuple[Rows, Rows]:
    """Return dV_i/du_j and domega_i/du_j (12) to (14)."""
    h = snake.halves
    V_u, omega_u = [[1, 0]], [[0, 1]]
    for i in range(snake.links - 1):
        V_u.append([speed(V_u[i][j], omega_u[i][j], h[i], C[i], S[i]) for j in SPEEDS])
        omega_u.append([turning(V_u[i][j], omega_u[i][j], h[i], h[i + 1], C[i], S[i]) for j in SPEEDS])
    return V_u, omega_u


def partials_in_angles(snake: Snake, C: Vector, S: Vector, V: Vector, omega: Vector) -> tuple[Rows, Rows]:
    """Return dV_i/dq_j and domega_i/dq_j (15) to (21), zero where j > i.

    (21) is printed for every i; it holds, and is counted, for the first link.
    """
    n, h = snake.links, snake.halves
    V_q: Rows = [[0] * n for _ in range(n)]
    omega_q: Rows = [[0] * n for _ in range(n)]
    for i in range(n - 1):
        here = h[i], C[i], S[i]
        there = h[i], h[i + 1], C[i], S[i]
        for j in range(i):
            V_q[i + 1][j] = speed(V_q[i][j], omega_q[i][j], *here)
            omega_q[i + 1][j] = turning(V_q[i][j], omega_q[i][j], *there)
        if i == 0:
            V_q[1][0] = -speed_by_next(V[0], omega[0], *here)
            omega_q[1][0] = -turning_by_next(V[0], omega[0], *there)
        else:
            V_q[i + 1][i] = speed_by_own(V_q[i][i], omega_q[i][i], V[i], omega[i], *here)
            omega_q[i + 1][i] = turning_by_own(V_q[i][i], omega_q[i][i], V[i], omega[i], *there)
        V_q[i + 1][i + 1] = speed_by_next(V[i], omega[i], *here)
        omega_q[i + 1][i + 1] = turning_by_next(V[i], omega[i], *there)
    return V_q, omega_q


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


def mass_matrix(snake: Snake, V_u: Rows, omega_u: Rows) -> Rows:
    """Return M, symmetric (9)."""
    m, inertia = snake.masses, snake.inertias

    def entry(i: int, j: int) -> Any:
        terms = [m[k] * V_u[k][i] * V_u[k][j] + inertia[k] * omega_u[k][i] * omega_u[k][j] for k in range(snake.links)]
        return total(terms)

    M_12 = entry(0, 1)
    return [[entry(0, 0), M_12], [M_12, entry(1, 1)]]


def bias_matrix(snake: Snake, V_u: Rows, omega_u: Rows, V_q: Rows, omega_q: Rows) -> Rows:
    """Return N, sums over the links that an angle moves (10).

    The first two angles move the same links, and share m_k dV_k/du_i and I_k domega_k/du_i.  With this the count is
    the paper's; shared by all angles, these products would be fewer.
    """
    n, m, inertia = snake.links, snake.masses, snake.inertias
    N: Rows = []
    for i in SPEEDS:
        weights: dict[int, tuple[Any, Any]] = {}
        N.append([])
        for j in range(n):
            moved = range(max(j, 1), n)
            if j != 1:
                weights = {k: (m[k] * V_u[k][i], inertia[k] * omega_u[k][i]) for k in moved}
            N[i].append(total([weights[k][0] * V_q[k][j] + weights[k][1] * omega_q[k][j] for k in moved]))
    return N


def generalised_forces(torques: Sequence[Any], omega_u: Rows) -> Vector:
    """Return F (11)."""
    return [total([T * (omega_u[k + 1][i] - omega_u[k][i]) for k, T in enumerate(torques)]) for i in SPEEDS]


def less_bias(F: Vector, N: Rows, omega: Vector) -> Vector:
    """Return F - N omega; the paper's stages leave it out, its total additions do not."""
    return [F[i] - total([N[i][j] * omega[j] for j in range(len(omega))]) for i in SPEEDS]


def solve(M: Rows, right: Vector) -> Vector:
    """Return u' (8), two equations by elimination."""
    (M_11, M_12), (_, M_22) = M
    factor = M_12 / M_11
    second = (right[1] - factor * right[0]) / (M_22 - factor * M_12)
    return [(right[0] - M_12 * second) / M_11, second]


def total(terms: Sequence[Any]) -> Any:
    """Return a sum; its first term is no addition."""
    found = terms[0]
    for term in terms[1:]:
        found = found + term
    return found
