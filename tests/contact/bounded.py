"""A chain of joints with rigid stops and friction, moved without any of the engine's contact: modes by enumeration.

Inertia and bias are dense, from velocities of links (`tests.support.dense`); modes of every freedom are all tried, and
the one set that keeps the law is taken; the motion between two changes is scipy's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import numpy as np
from scipy.integrate import solve_ivp

import sim
from sim.mechanism.mechanism import Mechanism, make_control
from sim.scene.load import load_text
from sim.simulation.simulator import Simulator
from tests.support.dense import inertia_and_bias

NEAR = 1e-9  # rad, m or their rates: what counts as at a stop, or at rest
BEYOND = 1e-12  # how far beyond a stop it is struck: at it, roots would be found again
HOLDS, UP, DOWN = 0, 1, -1


@dataclass
class Chain:
    """A chain by itself.  low, high, friction : (n,); e, rest : of all stops."""

    mechanism: Mechanism
    low: np.ndarray
    high: np.ndarray
    friction: np.ndarray
    e: float
    rest: float
    impacts: list[float] = field(default_factory=list)
    changes: list[float] = field(default_factory=list)

    @classmethod
    def of(cls, text: str, e: float = 0.0, rest: float = 0.0) -> tuple[Chain, np.ndarray, np.ndarray]:
        """Return the chain of a scene, with its first coordinates and rates."""
        model = sim.compile(load_text(text))
        flow = Simulator(model).flow
        low, high = np.full(len(model.columns), -np.inf), np.full(len(model.columns), np.inf)
        for stop in model.stops:
            (low if stop.side < 0 else high)[stop.column] = stop.bound
        mechanism = Mechanism.of(model, flow.structure, make_control(model))
        chain = cls(mechanism, low, high, model.columns.friction.copy(), e, rest)
        return chain, flow.q.copy(), flow.v.copy()

    def sides(self, q: np.ndarray) -> np.ndarray:
        """Return 1 where a freedom is at its upper stop, -1 at its lower one, else 0."""
        return np.where(q > self.high - NEAR, 1, np.where(q < self.low + NEAR, -1, 0))

    def accelerations(self, q: np.ndarray, v: np.ndarray, modes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return vdot and the torques of stops and friction in given modes: HOLDS, or the way that it goes."""
        M, bias = inertia_and_bias(self.mechanism, q, v)
        tau = -self.friction * modes
        held = modes == HOLDS
        a = np.zeros(len(q))
        a[~held] = np.linalg.solve(M[np.ix_(~held, ~held)], (tau - bias)[~held])
        tau = np.where(held, M @ a + bias, tau)
        return a, tau

    def modes(self, q: np.ndarray, v: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Return (modes, vdot, torques) of all sets of modes that keep the law."""
        side, found = self.sides(q), []
        choices = []
        for k, rate in enumerate(v):
            if abs(rate) > NEAR:
                choices.append((UP if rate > 0 else DOWN,))
            elif side[k] or self.friction[k]:
                choices.append(tuple(m for m in (HOLDS, UP, DOWN) if not side[k] or m != side[k]))
            else:
                choices.append((UP,))  # without bounds: a direction that means nothing
        for tried in product(*choices):
            modes = np.array(tried)
            a, tau = self.accelerations(q, v, modes)
            lowest = np.where(side == 1, -np.inf, -self.friction)
            highest = np.where(side == -1, np.inf, self.friction)
            free = (np.abs(v) <= NEAR) & ((side != 0) | (self.friction > 0))
            holds = modes == HOLDS
            fits = np.where(holds, (tau >= lowest - 1e-9) & (tau <= highest + 1e-9), ~free | (a * modes > 0.0))
            if fits.all():
                found.append((modes, a, tau))
        return found

    def struck(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return rates after the impact of all that comes to its stop: 0 <= P _|_ u+ + e u- >= 0 along each stop."""
        M, _ = inertia_and_bias(self.mechanism, q, v)
        at = np.flatnonzero(self.sides(q))
        W = np.zeros((len(at), len(q)))
        W[np.arange(len(at)), at] = -self.sides(q)[at]
        u = W @ v
        G = W @ np.linalg.solve(M, W.T)
        e = np.where(u < -self.rest, self.e, 0.0)
        found = []
        for tried in product((False, True), repeat=len(at)):
            on, P = np.array(tried, bool), np.zeros(len(at))
            b = u + e * np.minimum(u, 0.0)
            if on.any():
                P[on] = np.linalg.solve(G[np.ix_(on, on)], -b[on])
            if (P >= -1e-12).all() and (G @ P + b >= -1e-12).all():
                found.append(v + np.linalg.solve(M, W.T @ P))
        assert found
        assert np.ptp(found, axis=0).max() < 1e-9
        return found[0]

    def move(self, q: np.ndarray, v: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Return (times, 2, n): coordinates and rates at some times, from 0."""
        n, t, out = len(q), 0.0, []
        while True:
            q = np.clip(q, self.low, self.high)
            if (self.sides(q) * v > 10 * NEAR).any():
                self.impacts.append(t)
                v = self.struck(q, v)
            v = np.where(np.abs(v) < 10 * NEAR, 0.0, v)
            (modes, _, _), *others = self.modes(q, v)
            assert not others
            self.changes.append(t)
            y, t, ended = self._flow(q, v, t, times[-1], modes, times, out)
            q, v = y[:n], y[n:]
            if ended:
                return np.array(out)

    def _flow(self, q, v, t, end, modes, times, out):
        n = len(q)

        def slope(_: float, y: np.ndarray) -> np.ndarray:
            return np.r_[y[n:], self.accelerations(y[:n], y[n:], modes)[0]]

        events = []
        for k in range(n):
            if modes[k] == HOLDS:
                side = self.sides(q)[k]
                if side != 1:
                    events.append((k, lambda _, y, k=k: self._torque(y, modes, k) + self.friction[k], -1))
                if side != -1:
                    events.append((k, lambda _, y, k=k: self._torque(y, modes, k) - self.friction[k], 1))
                continue
            if self.friction[k]:
                events.append((k, lambda _, y, k=k: y[n + k] * modes[k] + 1e-12, -1))
            if np.isfinite(self.high[k]):
                events.append((k, lambda _, y, k=k: y[k] - self.high[k] - BEYOND, 1))
            if np.isfinite(self.low[k]):
                events.append((k, lambda _, y, k=k: y[k] - self.low[k] + BEYOND, -1))
        functions = []
        for _, function, direction in events:
            function.terminal, function.direction = True, direction
            functions.append(function)
        done = solve_ivp(
            slope, (t, end), np.r_[q, v], method="DOP853", rtol=1e-11, atol=1e-12, events=functions, max_step=0.05,
            dense_output=True,
        )  # fmt: skip
        after = done.t[-1]
        for time in times[len(out) :]:
            if time > after or (time == after and done.status == 1):
                break
            y = done.sol(time)
            out.append([y[:n], y[n:]])
        return done.y[:, -1], after, done.status == 0

    def _torque(self, y: np.ndarray, modes: np.ndarray, k: int) -> float:
        n = len(modes)
        return float(self.accelerations(y[:n], y[n:], modes)[1][k])
