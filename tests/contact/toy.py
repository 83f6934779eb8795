"""A woodpecker toy in its plane, by equations of its own and Moreau's time stepping: nothing of the engine is in it.

q = (x, z, a, b): the middle of the sleeve, its angle and that of the bird, both from x up to z.  Four inner corners of
the sleeve can touch the pole, on its front (+x) or back, and the tip of the beak, a ball, its front.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

G0 = 9.81
m_M, J_M, m_S, J_S = 3e-4, 5e-9, 4.5e-3, 7e-7
CORNERS = ((1, -1), (-1, 1), (1, 1), (-1, -1))  # front or back, up or down
BEAK = len(CORNERS)
SWEEPS, ENOUGH = 2000, 1e-12  # N s


class Toy:
    """The toy with the lengths, stiffness and frictions of a scene."""

    def __init__(self, given: Mapping[str, float]):
        self.given = given
        self.mu = np.array(
            [given["friction"] if side > 0 else given["back"] for side, _ in CORNERS] + [given["friction"]]
        )
        self.e = np.array([0.0, 0.0, 0.0, 0.0, given["peck"]])
        self.tip = (given["reach"] - given["bill"] + given["tip"], given["up"])  # the ball's centre, from the hinge

    def dynamics(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the mass matrix and all forces but those of contacts."""
        arm, reach = self.given["arm"], self.given["reach"]
        (sa, sb), (ca, cb) = np.sin(q[2:]), np.cos(q[2:])
        J = np.array([[1.0, 0.0, -arm * sa, -reach * sb], [0.0, 1.0, arm * ca, reach * cb]])  # of the bird's centre
        J_dot_v = -arm * v[2] ** 2 * np.array([ca, sa]) - reach * v[3] ** 2 * np.array([cb, sb])
        M = np.diag([m_M, m_M, J_M, J_S]) + m_S * J.T @ J
        h = -m_S * J.T @ (J_dot_v + np.array([0.0, G0]))
        torque = self.given["stiffness"] * (q[3] - q[2])
        return M, h + np.array([0.0, -m_M * G0, torque, -torque])

    def points(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return gaps (5,), and the rows (5, 4) of rates along the normals and up the pole."""
        pole, hole, half, arm, ball = (self.given[name] for name in ("pole", "hole", "half", "arm", "tip"))
        (sa, sb), (ca, cb) = np.sin(q[2:]), np.cos(q[2:])
        gap, N, T = np.empty(5), np.zeros((5, 4)), np.zeros((5, 4))
        for k, (side, end) in enumerate(CORNERS):
            gap[k] = side * (q[0] + side * hole * ca - end * half * sa) - pole
            N[k, [0, 2]] = side, side * (-side * hole * sa - end * half * ca)
            T[k, 1:3] = 1.0, side * hole * ca - end * half * sa
        along, up = self.tip
        gap[BEAK] = q[0] + arm * ca + along * cb - up * sb - ball - pole
        N[BEAK] = 1.0, 0.0, -arm * sa, -along * sb - up * cb
        T[BEAK] = 0.0, 1.0, arm * ca, along * cb - up * sb - ball
        return gap, N, T

    def impulses(self, G: np.ndarray, u: np.ndarray, e_u: np.ndarray, mu: np.ndarray, P: np.ndarray) -> np.ndarray:
        """Return normal impulses, then tangential ones, by Gauss-Seidel: u + e u- >= 0 along normals."""
        m = len(mu)
        for _ in range(SWEEPS):
            before = P.copy()
            for j in range(m):
                P[j] = max(0.0, P[j] - (u[j] + G[j] @ P + e_u[j]) / G[j, j])
                side = P[m + j] - (u[m + j] + G[m + j] @ P) / G[m + j, m + j]
                P[m + j] = min(max(side, -mu[j] * P[j]), mu[j] * P[j])
            if np.abs(P - before).max() < ENOUGH:
                break
        return P

    def run(self, q: np.ndarray, v: np.ndarray, until: float, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """Return rows (time, q, v) of all steps, and the pecks: rows (time, height of the sleeve)."""
        rows, pecks, last = [], [], np.zeros((2, 5))
        for n in range(round(until / dt)):
            middle = q + 0.5 * dt * v
            M, h = self.dynamics(middle, v)
            gap, N, T = self.points(middle)
            free = v + dt * np.linalg.solve(M, h)
            k = np.flatnonzero(gap <= 0.0)
            kept, last = last, np.zeros((2, 5))
            if len(k):
                W = np.vstack([N[k], T[k]])
                Y = np.linalg.solve(M, W.T)
                e_u = self.e[k] * np.minimum(N[k] @ v, 0.0)
                P = self.impulses(W @ Y, W @ free, e_u, self.mu[k], kept[:, k].ravel())
                last[:, k] = P.reshape(2, -1)
                free = free + Y @ P
                if last[0, BEAK] > 0.0 and not kept[0, BEAK] > 0.0:
                    pecks.append((dt * (n + 0.5), q[1]))
            q, v = middle + 0.5 * dt * free, free
            rows.append(np.concatenate([[dt * (n + 1)], q, v]))
        return np.array(rows), np.array(pecks)
