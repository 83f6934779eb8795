"""The papers' way: generalised coordinates of a closed chain, chosen automatically, and what follows.

closed-chains-1999, sections 2 and 3.  Dense numpy over the papers' own matrices; it shares kinematics
with the fast path and nothing of its solving, so that each can be tested against the other.
theta_J are the rates of all N_J joints, tree and loop; J_C has six rows for each loop.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

RANK = 1e-7  # singular values of J_C below this, relative to the largest, are zero


@dataclass(frozen=True)
class Generalised:
    """Generalised coordinates of one structure at one state.

    J_C : (6 N_L, N_J) eq. (12), rotations in rows of metres
    rank : m
    dependent, independent : columns of J_C that make J_S (m of them) and J_G (N_F), eq. (15)
    H : (m, N_F) eq. (18): theta_S' = H theta_G'
    W : (N_O, N_F) eq. (4): rates of the tree's joints
    J_dot_v : (6 N_L,) time derivative of J_C times theta_J', eq. (22)
    condition : cond(J_S)
    """

    J_C: np.ndarray
    rank: int
    dependent: np.ndarray
    independent: np.ndarray
    H: np.ndarray
    W: np.ndarray
    J_dot_v: np.ndarray
    condition: float


def choose(J_C: np.ndarray, scale: np.ndarray, preferred: np.ndarray | None = None) -> tuple[np.ndarray, int]:
    """Return the columns of J_C that become dependent, by complete pivoting, and the rank m.

    scale : (N_J,) what a unit of each column weighs (M^-1/2); preferred : columns that were dependent
    before, taken first while their pivot is within a tenth of the best one.
    """
    A = J_C * scale
    before = np.zeros(A.shape[1], bool)
    if preferred is not None:
        before[preferred] = True
    taken: list[int] = []
    largest = float(np.linalg.norm(A, axis=0).max(initial=0.0))
    while (size := np.linalg.norm(A, axis=0)).max(initial=0.0) > RANK * largest:
        k = int(np.argmax(np.where(before, 10.0 * size, size)))
        direction = A[:, k] / size[k]
        A = A - np.outer(direction, direction @ A)
        taken.append(k)
    return np.array(taken, int), len(taken)


def generalise(
    J_C: np.ndarray, J_dot_v: np.ndarray, scale: np.ndarray, tree: int, preferred: np.ndarray | None = None
) -> Generalised:
    """Form J_S, J_G, H and W, eqs. (12)-(18) and figure 5.

    Parameters
    ----------
    J_C : (6 N_L, N_J), the tree's columns first
    J_dot_v : (6 N_L,)
    scale : (N_J,)
    tree : N_O, number of columns of the tree
    """
    dependent, rank = choose(J_C, scale, preferred)
    independent = np.setdiff1d(np.arange(J_C.shape[1]), dependent)
    J_S, J_G = J_C[:, dependent], J_C[:, independent]
    H = -np.linalg.lstsq(J_S, J_G, rcond=None)[0] if rank else np.zeros((0, len(independent)))
    whole = np.zeros((J_C.shape[1], len(independent)))
    whole[independent] = np.eye(len(independent))
    whole[dependent] = H
    condition = float(np.linalg.cond(J_S)) if rank else 1.0
    return Generalised(J_C, rank, dependent, independent, H, whole[:tree], J_dot_v, condition)


def forward_dynamics(g: Generalised, M: np.ndarray, bias: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Accelerations of all joints by generalised coordinates, closed-chains-1999 section 3.2.

    Parameters
    ----------
    M : (N_O, N_O) inertia matrix of the tree; (N_J, N_J) where loop joints have armatures
    bias : joint torques at zero acceleration (eq. (23) before projection), as long as M
    tau : (N_J,) torques on all joints, tree first

    Returns
    -------
    theta_J'' : (N_J,)

    Notes
    -----
    tau_G = S^T tau_A (8), b = W^T (M Hdot theta_G' + bias) by step (2), A = W^T M W column by column of
    step (3), theta_G'' by (24), theta_S'' by (19).
    """
    n = g.J_C.shape[1]
    drift = np.zeros(n)  # H' theta_G', eq. (22)
    if g.rank:
        drift[g.dependent] = -np.linalg.lstsq(g.J_C[:, g.dependent], g.J_dot_v, rcond=None)[0]
    whole = np.zeros((n, len(g.independent)))
    whole[g.independent] = np.eye(len(g.independent))
    whole[g.dependent] = g.H
    tau_G = whole.T @ tau
    W = whole[: len(M)]
    b = W.T @ (M @ drift[: len(M)] + bias)
    A = W.T @ M @ W
    return whole @ np.linalg.solve(A, tau_G - b) + drift
