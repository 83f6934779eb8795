"""Plane models with contacts, followed from event to event: motion by scipy, every decision by `sim.contact`.

Between two events the modes are given, and forces follow from a linear system: what is closed keeps its gap, what
sticks its place, and friction of what slides is mu times its normal force.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

from sim.contact.contact_problem import Mode, acceleration
from sim.contact.impact import Collision, resolve
from sim.contact.solution import ContactStatus
from sim.contact.solve import solve_contacts

CLOSED, AT_REST = 1e-12, 1e-9  # m, m/s
GIVES = 1e-6  # share of its friction that a point lacks which has just come to the limit of it


@dataclass(frozen=True)
class Flat:
    """M u' = h(q, u) + contacts, with k points: gaps g0 + N q, velocities along the surface T u.

    mu, e : (k,)
    """

    M: np.ndarray
    h: Callable[[np.ndarray, np.ndarray], np.ndarray]
    g0: np.ndarray
    N: np.ndarray
    T: np.ndarray
    mu: np.ndarray
    e: np.ndarray


@dataclass(frozen=True)
class Hit:
    """A collision: time, the points that were hit, q, and u before and after."""

    t: float
    points: tuple[int, ...]
    q: np.ndarray
    before: np.ndarray
    after: np.ndarray


class Follower:
    """A model that moves, its collisions, and the modes it went through."""

    def __init__(self, model: Flat, q: np.ndarray, u: np.ndarray):
        self.model, self.t, self.q, self.u = model, 0.0, q.copy(), u.copy()
        self.inverse = np.linalg.inv(model.M)
        self.hits: list[Hit] = []
        self.spans: list[tuple[float, tuple[int, ...]]] = []  # begins, modes of all points
        self.mode = np.zeros(len(model.mu), np.int8)
        self.d = np.zeros(len(model.mu))
        self.ended: tuple[int, str] = (-1, "")

    def to(self, until: float) -> Follower:
        while self.t < until:
            self._decide()
            self.spans.append((self.t, tuple(self.mode.tolist())))
            self._flow(until)
        return self

    def _rows(self, points: np.ndarray) -> np.ndarray:
        """Return rows normal, tangent and none at all of points: the second tangent leads out of the plane."""
        model = self.model
        return np.stack([model.N[points], model.T[points], 0.0 * model.T[points]], axis=1).reshape(-1, len(self.q))

    def _decide(self) -> None:
        model = self.model
        closed = np.flatnonzero(model.g0 + model.N @ self.q <= CLOSED)
        W = self._rows(closed)
        G = W @ self.inverse @ W.T
        u = W @ self.u
        if (u[::3] < -AT_REST).any():
            hit = resolve(Collision(G=G, u=u, mu=model.mu[closed], e=model.e[closed]))
            assert hit.status == ContactStatus.SOLVED and hit.energy <= 0.0
            before, self.u = self.u, self.u + self.inverse @ W.T @ hit.P.ravel()
            self.hits.append(Hit(self.t, tuple(closed[hit.P[:, 0] > 0.0].tolist()), self.q.copy(), before, self.u))
            u = W @ self.u
        # At the end of a mode it is still an answer: what pulls no more than nothing leaves, what holds no more slips.
        k, how = self.ended
        share = np.where((closed == k) & (how == "holds"), 1.0 - GIVES, 1.0)
        free = W @ self.inverse @ model.h(self.q, self.u)
        still = (np.abs(u[::3]) <= AT_REST) & ~((closed == k) & (how == "contacts"))
        held = solve_contacts(
            acceleration(G, free, share * model.mu[closed], u_t=u.reshape(-1, 3)[:, 1:], closed=still)
        )
        assert held.status == ContactStatus.SOLVED
        self.mode[:], self.d[:] = Mode.OPEN, 0.0
        self.mode[closed], self.d[closed] = held.mode, held.d[:, 0]

    def _forces(self, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return accelerations, and normal and tangential forces of all points (k,), with the present modes."""
        model, on, sticks = self.model, self.mode != Mode.OPEN, self.mode == Mode.STICK
        slip = np.where(sticks, 0.0, model.mu * self.d)
        rows = np.vstack([model.N[on], model.T[sticks]])
        ways = np.vstack([(model.N - slip[:, None] * model.T)[on], model.T[sticks]])
        force = np.linalg.solve(rows @ self.inverse @ ways.T, -rows @ self.inverse @ model.h(q, u))
        a = self.inverse @ (model.h(q, u) + ways.T @ force)
        normal, side = np.zeros(len(on)), np.zeros(len(on))
        normal[on], side[sticks] = force[: on.sum()], force[on.sum() :]
        return a, normal, side

    def _guards(self) -> list[tuple[int, str, Callable[[float, np.ndarray], float]]]:
        """Return what ends the present modes by falling through zero, each with its point."""
        model, n = self.model, len(self.q)

        def apart(k: int, y: np.ndarray) -> float:
            return float(model.g0[k] + model.N[k] @ y[:n])

        def contacts(k: int, y: np.ndarray) -> float:
            return float(self._forces(y[:n], y[n:])[1][k])

        def holds(k: int, y: np.ndarray) -> float:
            _, normal, side = self._forces(y[:n], y[n:])
            return float(model.mu[k] * normal[k] - abs(side[k]))

        def slides(k: int, y: np.ndarray) -> float:
            return float(self.d[k] * (model.T[k] @ y[n:]))

        kinds = {Mode.OPEN: [apart], Mode.STICK: [contacts, holds], Mode.SLIP: [contacts, slides]}
        return [
            (k, guard.__name__, lambda t, y, k=k, guard=guard: guard(k, y))
            for k, mode in enumerate(self.mode) for guard in kinds[Mode(mode)]
        ]  # fmt: skip

    def _flow(self, until: float) -> None:
        n, guards = len(self.q), self._guards()
        events = [guard for *_, guard in guards]
        for event in events:
            event.terminal, event.direction = True, -1.0  # type: ignore[attr-defined]
        found = solve_ivp(
            lambda t, y: np.concatenate([y[n:], self._forces(y[:n], y[n:])[0]]), (self.t, until),
            np.concatenate([self.q, self.u]), method="DOP853", rtol=1e-10, atol=1e-13, max_step=0.01, events=events,
        )  # fmt: skip
        self.t, self.q, self.u = float(found.t[-1]), found.y[:n, -1].copy(), found.y[n:, -1].copy()
        fired = [(k, how) for (k, how, _), times in zip(guards, found.t_events, strict=True) if len(times)]
        self.ended = fired[0] if fired else (-1, "")
