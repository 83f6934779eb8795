"""Forces that are not unique: who has them, and of all that move the same, those of least norm in newtons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim.contact.active import Active, matrix, rays
from sim.contact.contact_problem import ContactProblem, Mode
from sim.contact.law import onto_cone

# Singular values below this share of the largest count as none, and components of null vectors below FELT.
CUT, FELT = 1e-10, 1e-8
# Newton's iteration for the nearest point of the cones.
STEPS, NEAR = 60, 1e-14
LOST = 1e-15  # of a value: what roundoff hides of its fall, where steps are short


@dataclass(frozen=True)
class Sharing:
    """Impulses P (k, 3), the mask (k,) of those that are not unique, and whether the motion is."""

    P: np.ndarray
    chosen: np.ndarray
    motion_unique: bool


def share(problem: ContactProblem, P: np.ndarray, mode: np.ndarray, d: np.ndarray) -> Sharing:
    """Return impulses of least sum |P_k|^2 with the same z, on the same cones, and what was chosen."""
    slips = mode == Mode.SLIP
    active = Active(mode != Mode.OPEN, slips, d, np.full(problem.points, np.inf))
    unknowns = rays(problem, active)
    taken = unknowns.taken
    if not taken.any():
        return Sharing(P, np.zeros(problem.points, bool), True)
    null = null_space(matrix(problem, unknowns))
    if not null.shape[1]:
        return Sharing(P, np.zeros(problem.points, bool), True)
    whole = np.zeros((3 * problem.points, null.shape[1]))
    whole[taken] = null
    chosen = np.abs(whole).reshape(problem.points, -1).max(axis=1) > FELT
    columns = np.einsum("klij,ljm->kilm", problem.blocks, unknowns.along).reshape(3 * problem.points, -1)[:, taken]
    moved = columns @ null
    unique = bool(np.abs(moved).max() <= FELT * np.abs(columns).max())
    if problem.least.any():
        return Sharing(P, chosen, unique)
    least = _least(problem, P, slips, unknowns.along, taken, columns)
    return Sharing(P if least is None else least, chosen, unique)


def null_space(a: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis (n, .) of what a (m, n) maps to nothing."""
    _, size, across = np.linalg.svd(a)
    rank = int((size > CUT * size.max(initial=0.0)).sum())
    return across[rank:].T


def _least(
    problem: ContactProblem, P: np.ndarray, slips: np.ndarray, along: np.ndarray, taken: np.ndarray, columns: np.ndarray
) -> np.ndarray | None:
    """Minimise |c|^2 / 2 over c in the cones with columns c = columns c0, by Newton on the multipliers of the latter.

    The answer is Proj(C^T y), C an orthonormal basis of the rows, with C Proj(C^T y) = C c0.  None where that fails.
    """
    c0 = np.einsum("kij,ki->kj", along, P).ravel()[taken]
    size = np.abs(c0).max()
    if size == 0.0:
        return None
    _, value, across = np.linalg.svd(columns, full_matrices=False)
    C = across[: int((value > CUT * value[0]).sum())]
    b = C @ (c0 / size)

    def projected(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = np.zeros(taken.size)
        x[taken] = C.T @ y
        x3 = x.reshape(-1, 3)
        return np.where(slips[:, None], np.maximum(x3, 0.0), onto_cone(x3, problem.mu)).ravel()[taken], x3

    def value_of(y: np.ndarray) -> float:
        c, _ = projected(y)
        return 0.5 * float(c @ c) - float(b @ y)

    y = b
    for _ in range(STEPS):
        c, x3 = projected(y)
        off = C @ c - b
        if np.abs(off).max(initial=0.0) <= NEAR:
            break
        slope = C @ _slope(problem.mu, slips, x3, taken) @ C.T
        step = -np.linalg.lstsq(slope + min(1e-3, 1e-3 * np.abs(off).max()) * np.eye(len(b)), off, rcond=None)[0]
        start = value_of(y)
        length, bar, fall = 1.0, start + LOST * abs(start), float(off @ step)
        while length > 1e-6 and value_of(y + length * step) > bar + 1e-4 * length * fall:
            length *= 0.5
        y = y + length * step
    c, _ = projected(y)
    if np.abs(C @ c - b).max(initial=0.0) > 1e3 * NEAR:
        return None
    whole = np.zeros(taken.size)
    whole[taken] = c * size
    return np.einsum("kij,kj->ki", along, whole.reshape(-1, 3))


def _slope(mu: np.ndarray, slips: np.ndarray, x: np.ndarray, taken: np.ndarray) -> np.ndarray:
    """Return the derivative of the projection at x (k, 3), rows and columns as they are taken."""
    k = len(mu)
    out = np.zeros((k, 3, 3))
    size = np.hypot(x[:, 1], x[:, 2])
    out[size <= mu * x[:, 0]] = np.eye(3)
    edge = (size > mu * x[:, 0]) & (mu * size > -x[:, 0])
    e = x[:, 1:] / np.where(size > 0.0, size, 1.0)[:, None]
    height = (x[:, 0] + mu * size) / (1.0 + mu**2)
    ray = np.column_stack([np.ones(k), mu[:, None] * e])
    out[edge] = (ray[:, :, None] * ray[:, None, :] / (1.0 + mu**2)[:, None, None])[edge]
    turn = np.column_stack([np.zeros(k), -e[:, 1], e[:, 0]])
    bend = mu * height / np.where(size > 0.0, size, 1.0)
    out[edge] += (bend[:, None, None] * turn[:, :, None] * turn[:, None, :])[edge]
    out[slips] = np.einsum("ki,ij->kij", (x > 0.0).astype(float), np.eye(3))[slips]
    whole = np.zeros((k, 3, k, 3))
    whole[np.arange(k), :, np.arange(k), :] = out
    return whole.reshape(3 * k, 3 * k)[np.ix_(taken, taken)]
