"""The papers' way: generalised coordinates of a closed chain, chosen automatically, and what follows.

closed-chains-1999, sections 2 and 3.  Dense numpy over the papers' own matrices; it shares kinematics
with the fast path and nothing of its solving, so that each can be tested against the other.
theta_J are the rates of all N_J joints, tree and loop; J_C has six rows for each loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

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

    @cached_property
    def all_joints(self) -> np.ndarray:
        """(N_J, N_F) theta_J' by theta_G': rows of H, and units in the places of theta_G; W is its beginning."""
        return all_joints(self.H, self.dependent, self.independent)

    @cached_property
    def drift(self) -> np.ndarray:
        """theta_J'' at theta_G'' = 0 (N_J,): H' theta_G' = -J_S^-1 J_C' theta_J' (22) in the places of theta_S."""
        out = np.zeros(self.J_C.shape[1])
        if self.rank:
            out[self.dependent] = -np.linalg.lstsq(self.J_C[:, self.dependent], self.J_dot_v, rcond=None)[0]
        return out


def all_joints(H: np.ndarray, dependent: np.ndarray, independent: np.ndarray) -> np.ndarray:
    """Return (N_J, N_F) with rows of H and units, figures 5 and 6."""
    out = np.zeros((len(dependent) + len(independent), len(independent)))
    out[independent], out[dependent] = np.eye(len(independent)), H
    return out


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
    W = all_joints(H, dependent, independent)[:tree]
    condition = float(np.linalg.cond(J_S)) if rank else 1.0
    return Generalised(J_C, rank, dependent, independent, H, W, J_dot_v, condition)
