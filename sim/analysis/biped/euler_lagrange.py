"""Lagrange's equations of the second kind, eqs. (1)-(4), derived with sympy and turned into functions.

A link enters linearly by four numbers: its mass, its two first moments m c, and its moment of inertia J about its
hinge.  In these,

    K = sum m |r'|^2 / 2 + r' . (e_z x R(q) m c) q' + J q'^2 / 2,    P = gravity sum m r_y + (R(q) m c)_y,

with r the hinge; so M q'' + C q' + g = Y alpha (4) is found once for the drawing of a walker, and its numbers go in
when it is evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from sim.analysis.biped.walker import GROUND, Friction, Walker

BY_LINK = 4  # m, m c_x, m c_y, J


@dataclass(frozen=True)
class Equations:
    """M(q) q'' + C(q, q') q' + g(q) + A tau_f = A tau, eq. (3), for a walker's numbers."""

    walker: Walker
    friction: Friction
    functions: tuple[Callable[..., Any], ...]

    def _numbers(self) -> tuple[Any, ...]:
        return self.walker.hinge.ravel(), inertial_parameters(self.walker), self.walker.gravity

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return M (n, n) [kg m^2]; a geared motor's inertia is along its own turning."""
        A = self.walker.actuation
        geared = A @ np.diag(self.friction.inertia) @ A.T
        return np.array(self.functions[0](q, *self._numbers()), float) + geared

    def coriolis(self, q: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Return C (n, n) by Christoffel's symbols, so that M' - 2 C is skew (property 2)."""
        return np.array(self.functions[1](q, rates, *self._numbers()), float)

    def gravity(self, q: np.ndarray) -> np.ndarray:
        """Return g (n,) [N m]."""
        return np.array(self.functions[2](q, *self._numbers()), float).ravel()

    def left(self, q: np.ndarray, rates: np.ndarray, changes: np.ndarray) -> np.ndarray:
        """Return M q'' + C q' + g + A tau_f (n,), the left side of eq. (3)."""
        rubbed = self.walker.actuation @ self.friction.torque(self.walker.turns(rates))
        return np.asarray(self.mass_matrix(q) @ changes + self.coriolis(q, rates) @ rates + self.gravity(q) + rubbed)

    def torques(self, q: np.ndarray, rates: np.ndarray, changes: np.ndarray) -> np.ndarray:
        """Return tau (n,) of the hinges of a walker on one foot: A tau = the left side."""
        return np.linalg.solve(self.walker.actuation, self.left(q, rates, changes))

    def regressor(self, q: np.ndarray, rates: np.ndarray, changes: np.ndarray) -> np.ndarray:
        """Return Y (n, 9 n) of eq. (4), for `parameters`."""
        A, walker = self.walker.actuation, self.walker
        of_links = np.array(self.functions[3](q, rates, changes, walker.hinge.ravel(), walker.gravity), float)
        parts = self.friction.parts(walker.turns(rates))
        of_hinges = np.concatenate([A * parts[:, i] for i in range(4)] + [A * walker.turns(changes)], axis=1)
        return np.concatenate([of_links, of_hinges], axis=1)

    def parameters(self) -> np.ndarray:
        """Return alpha (9 n,): four numbers a link, then K_c, K_v, K_s, K_o and I_J of all hinges."""
        f = self.friction
        return np.concatenate([inertial_parameters(self.walker), f.coulomb, f.viscous, f.stribeck, f.offset, f.inertia])


def equations(walker: Walker, friction: Friction | None = None) -> Equations:
    """Return Lagrange's equations of a walker; the first of a drawing takes some seconds.

    Raises
    ------
    ImportError
        Without sympy.
    """
    return Equations(walker, friction or Friction.none(walker.links), derived(walker.parent))


def inertial_parameters(walker: Walker) -> np.ndarray:
    """Return (4 n,): m, m c_x, m c_y and J about the hinge of each link."""
    J = walker.inertia + walker.mass * np.sum(walker.com**2, axis=1)
    moments = walker.mass[:, None] * walker.com
    return np.stack([walker.mass, moments[:, 0], moments[:, 1], J], axis=1).ravel()


@lru_cache(maxsize=16)
def derived(parent: tuple[int, ...]) -> tuple[Callable[..., Any], ...]:
    """Return functions for M, C, g and Y of links with these parents, by eq. (1)."""
    import sympy as sp

    n = len(parent)
    q, u, a = (sp.Matrix(sp.symbols(f"{name}:{n}")) for name in ("q", "u", "a"))
    hinge = sp.Matrix(n, 2, sp.symbols(f"h:{2 * n}"))
    alpha, gravity = sp.Matrix(sp.symbols(f"p:{BY_LINK * n}")), sp.Symbol("gravity")
    K, P = _energies(sp, parent, q, u, hinge, alpha, gravity)
    M = sp.hessian(K, list(u))
    g = sp.Matrix([P]).jacobian(q).T
    C = sp.Matrix(n, n, lambda i, j: _christoffel(sp, M, q, u, i, j))
    Y = (M * a + C * u + g).jacobian(alpha)
    numbers = [list(hinge), list(alpha), gravity]

    def function(arguments: Sequence[Any], what: Any) -> Callable[..., Any]:
        made: Callable[..., Any] = sp.lambdify(arguments, what, modules="numpy", cse=True)
        return made

    return (
        function([list(q), *numbers], M), function([list(q), list(u), *numbers], C), function([list(q), *numbers], g),
        function([list(q), list(u), list(a), list(hinge), gravity], Y),
    )  # fmt: skip


def _energies(sp: Any, parent: tuple[int, ...], q: Any, u: Any, hinge: Any, alpha: Any, gravity: Any) -> Any:
    """Return kinetic and potential energy."""
    K = P = sp.Integer(0)
    places: list[Any] = []
    for k, p in enumerate(parent):
        own = hinge[k, :].T
        places.append(own if p == GROUND else places[p] + _turned(sp, q[p], own))
        velocity = places[k].jacobian(q) * u
        m, moment, J = alpha[BY_LINK * k], alpha[BY_LINK * k + 1 : BY_LINK * k + 3, 0], alpha[BY_LINK * k + 3]
        moment = _turned(sp, q[k], moment)
        K += m * velocity.dot(velocity) / 2 + (velocity[1] * moment[0] - velocity[0] * moment[1]) * u[k]
        K += J * u[k] ** 2 / 2
        P += gravity * (m * places[k][1] + moment[1])
    return K, P


def _turned(sp: Any, angle: Any, a: Any) -> Any:
    c, s = sp.cos(angle), sp.sin(angle)
    return sp.Matrix([c * a[0] - s * a[1], s * a[0] + c * a[1]])


def _christoffel(sp: Any, M: Any, q: Any, u: Any, i: int, j: int) -> Any:
    """Return C_ij = sum_k (dM_ij / dq_k + dM_ik / dq_j - dM_jk / dq_i) u_k / 2."""
    terms = (
        (sp.diff(M[i, j], q[k]) + sp.diff(M[i, k], q[j]) - sp.diff(M[j, k], q[i])) * u[k] / 2 for k in range(len(q))
    )
    return sum(terms, sp.Integer(0))
