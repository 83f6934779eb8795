"""How far impulses are from the law of contact, and what the law makes of them: modes and slip directions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim.contact.contact_problem import ContactProblem


@dataclass(frozen=True)
class Regions:
    """Where each point's P - z / trace(G_kk) lies beside its set of allowed impulses.

    Attributes
    ----------
    closed, slips : (k,) outside the half space of P_n = 0; outside the disc of friction
    d : (k, 2) direction of slip that this says, zero where it says none
    resistance : (k,) rate by which z_t across d grows with P_t across d if d turns with z_t; inf: d is fixed
    violation : (k,) distance from the law, in units of rate / trace(G_kk)
    """

    closed: np.ndarray
    slips: np.ndarray
    d: np.ndarray
    resistance: np.ndarray
    violation: np.ndarray

    @property
    def merit(self) -> float:
        """The largest violation."""
        return float(self.violation.max(initial=0.0))


def regions(problem: ContactProblem, P: np.ndarray, z: np.ndarray) -> Regions:
    """Project P - rho z on {P_n >= 0} and on the disc of friction (Alart and Curnier 1991, rho = 1/trace(G_kk)).

    It has the solutions of de Saxce's form, and allows friction that does not come from P_n.
    """
    rho, given = 1.0 / problem.trace, problem.given
    s = P - rho[:, None] * z
    closed = (s[:, 0] > 0.0) & problem.closed
    radius = problem.least + problem.mu * np.maximum(P[:, 0], 0.0)
    size = np.hypot(s[:, 1], s[:, 2])
    slips = (size > radius) | given | problem.smooth
    safe = np.where(size > 0.0, size, 1.0)
    d = np.where(given[:, None], problem.sliding, -s[:, 1:] / safe[:, None])
    resistance = np.full(problem.points, np.inf)
    turns = slips & ~given & (radius > 1e-12 * size)
    resistance[turns] = (size[turns] / radius[turns] - 1.0) / rho[turns]
    wanted = np.empty_like(P)
    wanted[:, 0] = np.where(closed, s[:, 0], 0.0)
    wanted[:, 1:] = np.where(slips[:, None], -radius[:, None] * d, s[:, 1:])
    off = np.sqrt(((P - wanted) ** 2).sum(axis=1)) * problem.trace / problem.rate
    violation = np.where(problem.closed, off, np.abs(P).max(axis=1) * problem.trace / problem.rate)
    return Regions(closed, slips, d, resistance, violation)


def de_saxce(problem: ContactProblem, P: np.ndarray, z: np.ndarray) -> float:
    """Return max |P - Proj_K(P - rho y)| / (rho rate), y = (z_n + mu |z_t|, z_t): x in K, y in K*, x.y = 0.

    A second opinion on points with mu > 0, no given direction and no friction but mu P_n.
    """
    asked = problem.closed & ~problem.given & (problem.least == 0.0) & (problem.mu > 0.0)
    if not asked.any():
        return 0.0
    P, z, mu, trace = P[asked], z[asked], problem.mu[asked], problem.trace[asked]
    y = z.copy()
    y[:, 0] += mu * np.hypot(z[:, 1], z[:, 2])
    off = P - onto_cone(P - y / trace[:, None], mu)
    return float((np.sqrt((off**2).sum(axis=1)) * trace).max() / problem.rate)


def onto_cone(x: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """Return the nearest points to x (k, 3) of the cones |x_t| <= mu x_n."""
    size = np.hypot(x[:, 1], x[:, 2])
    inside, polar = size <= mu * x[:, 0], mu * size <= -x[:, 0]
    normal = (x[:, 0] + mu * size) / (1.0 + mu**2)
    share = mu * normal / np.where(size > 0.0, size, 1.0)
    edge = np.column_stack([normal, share * x[:, 1], share * x[:, 2]])
    return np.where(inside[:, None], x, np.where(polar[:, None], 0.0, edge))
