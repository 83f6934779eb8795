"""Motion of a snake in fixed steps, and the paper's energy function S (section VI.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from sim.analysis.snake import kane, lagrange, newton_euler
from sim.analysis.snake.counting import cos, sin
from sim.analysis.snake.links import Rows, Snake, Vector, directions, lists
from sim.analysis.snake.wheel_rows import jacobian, reaches


class Method(Protocol):
    """What a method has to offer to be followed, and compiled."""

    def rates(self, snake: Snake, q: Sequence[Any], u: Sequence[Any], torques: Sequence[Any]) -> tuple[Vector, Vector]:
        """Return q' and the rates of the speeds."""

    def speeds(self, snake: Snake, q: Sequence[Any], V_1: Any, omega_1: Any) -> Vector:
        """Return the method's speeds, for those of the first link."""

    def room(self, n: int, zeros: Callable[..., Any]) -> Any:
        """Return room for an evaluation."""

    def accelerate(self, snake: Snake, q: Any, u: Any, torques: Any, work: Any) -> None:
        """Find the rates of the speeds, the first of `work.found`."""


METHODS: dict[str, Method] = {"Kane": kane, "Lagrange": lagrange, "Newton-Euler": newton_euler}


@dataclass(frozen=True)
class Motion:
    """A run, sampled after every step.

    q : (samples, n + 2)
    V_1, omega_1 : of the first link
    S : J, kinetic energy less the work of the torques
    slip : m/s, the largest sideways velocity of a wheel
    """

    time: np.ndarray
    q: np.ndarray
    V_1: np.ndarray
    omega_1: np.ndarray
    S: np.ndarray
    slip: np.ndarray


def follow(
    method: Method, snake: Snake, q: Sequence[Any], u: Sequence[Any], torques: Callable[[Any], Vector], *,
    step: float, steps: int, number: Callable[[Any], Any] = float,
) -> Motion:  # fmt: skip
    """Follow a snake in equal steps of the classical Runge-Kutta method, all in one type of number.

    The work of the torques is a state like the others.
    """
    snake, size = snake.of(number), snake.links + 2
    h, half, sixth = number(step), number(step / 2), number(step / 6)
    state = [number(x) for x in (*q, *u, 0)]

    def rate(t: Any, state: Vector) -> Vector:
        T = torques(t)
        q_dot, u_dot = method.rates(snake, state[:size], state[size:-1], T)
        return [*q_dot, *u_dot, power(T, q_dot)]

    samples = []
    for k in range(steps + 1):
        t = number(k * step)
        k_1 = rate(t, state)
        samples.append(_sample(snake, t, state, k_1[:size]))
        k_2 = rate(t + half, [x + half * d for x, d in zip(state, k_1, strict=True)])
        k_3 = rate(t + half, [x + half * d for x, d in zip(state, k_2, strict=True)])
        k_4 = rate(t + h, [x + h * d for x, d in zip(state, k_3, strict=True)])
        state = [x + sixth * (a + 2 * b + 2 * c + d) for x, a, b, c, d in zip(state, k_1, k_2, k_3, k_4, strict=True)]
    time, qs, V_1, omega_1, S, slip = zip(*samples, strict=True)
    return Motion(np.array(time), np.array(qs), np.array(V_1), np.array(omega_1), np.array(S), np.array(slip))


def _sample(snake: Snake, t: Any, state: Vector, q_dot: Vector) -> tuple[Any, ...]:
    """Return what a motion holds of an instant, in double precision whatever the state's is."""
    n = snake.links
    exact = snake.of(float)
    q, rates = [float(x) for x in state[: n + 2]], [float(x) for x in q_dot]
    V_1 = rates[n] * cos(q[0]) + rates[n + 1] * sin(q[0])
    S = kinetic_energy(exact, q, rates) - float(state[-1])
    return float(t), q, V_1, rates[0], S, slip(exact, q, rates)


def power(torques: Sequence[Any], q_dot: Sequence[Any]) -> Any:
    """Return the power of the torques [W]."""
    found = 0
    for k, T in enumerate(torques):
        found = found + T * (q_dot[k + 1] - q_dot[k])
    return found


def kinetic_energy(snake: Snake, q: Sequence[float], q_dot: Sequence[float]) -> float:
    """Return K (22) [J], with the velocities of (3), whether wheels slip or not."""
    n = snake.links
    c, s, reach = _placed(snake, q)
    joint = q_dot[n], q_dot[n + 1]  # velocity of the joint behind link k, of the first of its middle
    found = 0.0
    for k in range(n):
        turn, h = q_dot[k], snake.halves[k] if k else 0.0
        x, y = joint[0] - h * turn * s[k], joint[1] + h * turn * c[k]
        found += (snake.masses[k] * (x * x + y * y) + snake.inertias[k] * turn * turn) / 2
        joint = joint[0] - reach[k] * turn * s[k], joint[1] + reach[k] * turn * c[k]
    return found


def slip(snake: Snake, q: Sequence[float], q_dot: Sequence[float]) -> float:
    """Return the largest sideways velocity of a wheel [m/s]."""
    c, s, reach = _placed(snake, q)
    rows: Rows = lists(snake.links, snake.links + 2)
    jacobian(snake.halves, reach, c, s, rows)
    return float(np.abs(np.array(rows) @ np.array(q_dot)).max())


def _placed(snake: Snake, q: Sequence[Any]) -> tuple[Vector, Vector, Vector]:
    """Return the links' directions along x and y, and their reaches."""
    c, s, reach = (lists(snake.links) for _ in range(3))
    directions(q, c, s)
    reaches(snake.lengths, snake.halves, reach)
    return c, s, reach
