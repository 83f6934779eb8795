"""All solutions of a small contact problem by trying every combination of modes: the law itself, no iteration on it.

Slip directions are roots over a grid of starts by scipy.  Forces of redundant points are not unique: motions count.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.optimize import root

OPEN, STICK, SLIP = range(3)


def solutions(G: np.ndarray, b: np.ndarray, mu: np.ndarray, starts: int = 6, planar: bool = False) -> list[np.ndarray]:
    """Return z (3k,) of all solutions of 0 <= P_n _|_ z_n >= 0 with Coulomb friction, z = G P + b.

    starts: angles tried first for each slipping point; planar: slip only along +t1 or -t1.
    """
    found: list[np.ndarray] = []
    for modes in product((OPEN, STICK, SLIP), repeat=len(mu)):
        for z in _of_modes(G, b, mu, modes, starts, planar):
            if all(np.abs(z - other).max() > 1e-7 * np.abs(b).max() for other in found):
                found.append(z)
    return found


def _of_modes(G, b, mu, modes, starts, planar):
    slipping = [k for k, mode in enumerate(modes) if mode == SLIP]
    angles = (0.0, np.pi) if planar else tuple(2 * np.pi * (np.arange(starts) + 0.3) / starts)
    for first in product(angles, repeat=len(slipping)):
        phi = np.array(first)
        if slipping and not planar:
            done = root(lambda x: _across(G, b, mu, modes, slipping, x), phi, tol=1e-13)
            if np.abs(done.fun).max() > 1e-9 * np.abs(b).max():
                continue
            phi = done.x
        P, z = _solve(G, b, mu, modes, slipping, phi)
        if P is not None and _lawful(P, z, mu, modes, slipping, phi, np.abs(b).max(), G):
            yield z


def _solve(G, b, mu, modes, slipping, phi):
    """Solve the linear system of modes and directions; None where it has no solution."""
    columns, tests = [], []
    for k, mode in enumerate(modes):
        e = np.eye(len(b))[3 * k : 3 * k + 3]
        if mode == STICK:
            columns += list(e)
            tests += list(e)
        elif mode == SLIP:
            angle = phi[slipping.index(k)]
            columns.append(e[0] - mu[k] * (np.cos(angle) * e[1] + np.sin(angle) * e[2]))
            tests.append(e[0])
    if not columns:
        return np.zeros(len(b)), b
    T, S = np.array(columns).T, np.array(tests)
    A = S @ G @ T
    x = np.linalg.pinv(A, rcond=1e-10) @ -(S @ b)
    if np.abs(A @ x + S @ b).max() > 1e-8 * np.abs(b).max():
        return None, b
    P = T @ x
    return P, G @ P + b


def _across(G, b, mu, modes, slipping, phi):
    P, z = _solve(G, b, mu, modes, slipping, phi)
    if P is None:
        return np.ones(len(phi))
    return np.array([np.cos(a) * z[3 * k + 2] - np.sin(a) * z[3 * k + 1] for k, a in zip(slipping, phi, strict=True)])


def _lawful(P, z, mu, modes, slipping, phi, rate, G) -> bool:
    size = rate / np.diag(G).max()
    for k, mode in enumerate(modes):
        n, t = P[3 * k], np.hypot(*P[3 * k + 1 : 3 * k + 3])
        if z[3 * k] < -1e-9 * rate or n < -1e-9 * size or t > mu[k] * n + 1e-8 * max(n, size):
            return False
        if mode == SLIP and mu[k] > 0.0:
            angle = phi[slipping.index(k)]
            if np.cos(angle) * z[3 * k + 1] + np.sin(angle) * z[3 * k + 2] < -1e-9 * rate:
                return False
            if abs(np.cos(angle) * z[3 * k + 2] - np.sin(angle) * z[3 * k + 1]) > 1e-8 * rate:
                return False
    return True
