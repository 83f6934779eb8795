"""Which motions actuators can make, and how they share the work: closed-chains-1999, eqs. (6), (8) and (9).

S^T tau_A = tau_G has one solution where S is square and regular (9).  With fewer independent actuators than freedoms
some tau_G are out of reach; with more, tau_A is a choice: here that of least norm, sum of w tau^2, within bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
from scipy.optimize import lsq_linear

from sim.closed_chains.chain import Chain
from sim.scene.arguments import array, found

RANK = 1e-8  # singular values of S in the metric of A below this, relative to the largest, are zero
BARE = 1e-12  # eigenvalues of A, relative to its diagonal, that count as inertia: less is this
FEASIBLE = 1e-10  # to which bounds are kept, relative to the largest torque
LEAST = 1e-5  # weight of the norm where bounds keep the motion out of reach, relative to what reaches it


@dataclass(frozen=True)
class Actuation:
    """What a choice of actuators can do at one state.

    names, places : (N_A,) of actuated columns of theta_J'
    S : (N_A, N_F), eq. (6)
    rank : of S
    directions : (N_J, N_F - rank) motions theta_J' without any power of actuators
    along : (N_F - rank,) names of the columns that move at unit rate in each of these, in which the others do not move

    Loop joints may be actuators like any other.
    """

    names: tuple[str, ...]
    places: np.ndarray
    S: np.ndarray
    rank: int
    directions: np.ndarray
    along: tuple[str, ...]
    inverse_root: np.ndarray  # (N_F, N_F) L^-1 with A = L L^T

    @property
    def mobility(self) -> int:
        """N_F."""
        return self.S.shape[1]

    @property
    def lacking(self) -> int:
        """Freedoms that no actuator reaches, N_F - rank."""
        return self.mobility - self.rank

    @property
    def redundant(self) -> int:
        """Ways in which actuators work against one another alone, N_A - rank."""
        return len(self.names) - self.rank

    @property
    def kind(self) -> str:
        """Tell which: "under" where freedoms lack actuators, else "over" where torques are a choice, or "exactly"."""
        return "under" if self.lacking else "over" if self.redundant else "exactly"

    def __str__(self) -> str:
        """Say it in a sentence, with the numbers."""
        said = f"{self.kind} actuated: {len(self.names)} actuators of rank {self.rank} for {self.mobility} freedoms"
        if self.lacking:
            said += f"; nothing drives {', '.join(self.along)}"
        return said + (f"; {self.redundant} combinations of torques move nothing" if self.redundant else "")

    @cached_property
    def reaching(self) -> np.ndarray:
        """L^-1 S^T (N_F, N_A): accelerations by unit torques, in the metric of kinetic energy."""
        return self.inverse_root @ self.S.T


def actuation_of(chain: Chain, actuated: str | Iterable[str]) -> Actuation:
    """Return what actuated joints, or columns as ``name[0]``, can do; see `Actuation`.

    Raises
    ------
    ValueError
        For a name that no joint has, or one given twice.
    """
    places = chain.places(actuated)
    names = tuple(chain.names[k] for k in places)
    if len(set(names)) < len(names):
        raise ValueError(f"actuated: found {', '.join(names)}; expected each of them once")
    S, inverse_root = chain.T[places], _inverse_root(chain.A)
    U, s, _ = np.linalg.svd(inverse_root @ S.T)
    rank = int((s > RANK * s[0]).sum()) if s.size and s[0] > 0.0 else 0
    directions, along = _reduced(chain, chain.T @ (inverse_root.T @ U[:, rank:]))
    return Actuation(names, places, S, rank, directions, along, inverse_root)


def _inverse_root(A: np.ndarray) -> np.ndarray:
    """Return L^-1 with A = L L^T; what has no inertia is given a little."""
    size = np.sqrt(np.diag(A))
    size[size == 0.0] = 1.0
    values, vectors = np.linalg.eigh(A / np.outer(size, size))
    return np.asarray((vectors / np.sqrt(np.maximum(values, BARE))).T / size)


def _reduced(chain: Chain, directions: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the same directions (N_J, k) so that k columns each move in one of them alone, and their names.

    Freedoms of free bodies come first, what they lack is a wrench from outside; then generalised coordinates.
    """
    k = directions.shape[1]
    if not k:
        return directions, ()
    model, owner = chain.mechanism.model, chain.mechanism.model.columns.joint[chain.columns]
    liked = np.ones(len(owner))
    liked[chain.coordinates.independent] = 10.0
    liked[[model.type_of(int(joint)).name == "free" for joint in owner]] = 1e3
    first = scipy.linalg.qr((directions * liked[:, None]).T, mode="r", pivoting=True)[1][:k]
    first = np.sort(first)
    return np.linalg.solve(directions[first].T, directions.T).T, tuple(chain.names[i] for i in first)


# --- sharing ------------------------------------------------------------------------------------


def share(
    actuation: Actuation, tau_G: np.ndarray, weights: np.ndarray | None = None, bounds: np.ndarray | None = None
) -> np.ndarray:
    """Return tau_A (N_A,) with S^T tau_A = tau_G (8), of these the one with the least sum of w tau^2.

    Where tau_G is out of reach: the torques whose accelerations come nearest, in kinetic energy of the difference.

    Parameters
    ----------
    tau_G : (N_F,)
    weights : (N_A,), optional
        Of squares of torques, positive; all the same when not given.
    bounds : (N_A, 2), optional
        Least and largest torque of each actuator [N m, N].
    """
    if not len(actuation.names):
        return np.zeros(0)
    width = np.ones(len(actuation.names)) if weights is None else 1.0 / np.sqrt(weights)
    scaled, wanted = actuation.reaching * width, actuation.inverse_root @ tau_G
    torque = width * _least(scaled, wanted, actuation.rank, None if bounds is None else bounds / width[:, None])
    return np.asarray(torque if bounds is None else np.clip(torque, bounds[:, 0], bounds[:, 1]))


def share_with_ground(
    actuation: Actuation, tau_G: np.ndarray, ground: np.ndarray, price: float, weights: np.ndarray | None = None,
    bounds: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return tau_A (N_A,), and numbers that are not negative by which the ground pushes, that make a motion together.

    Of these the ones with the least sum of w tau^2 and price^2 number^2; where tau_G is out of reach, as `share`.

    Parameters
    ----------
    ground : (N_F, n)
        What unit numbers do along theta_G.
    price : float
        Torque whose square counts as that of a number 1 [N m].
    tau_G, weights, bounds
        As of `share`.
    """
    width = np.ones(len(actuation.names)) if weights is None else 1.0 / np.sqrt(weights)
    scaled = np.hstack([actuation.reaching * width, actuation.inverse_root @ ground / price])
    torques = np.tile([-np.inf, np.inf], (len(width), 1)) if bounds is None else bounds / width[:, None]
    limits = np.vstack([torques, np.tile([0.0, np.inf], (ground.shape[1], 1))])
    s = np.linalg.svd(scaled, compute_uv=False)
    rank = int((s > RANK * s.max(initial=0.0)).sum())
    both = _least(scaled, actuation.inverse_root @ tau_G, rank, limits)
    both = np.clip(both, limits[:, 0], limits[:, 1])
    return width * both[: len(width)], both[len(width) :] / price


def _least(scaled: np.ndarray, wanted: np.ndarray, rank: int, bounds: np.ndarray | None) -> np.ndarray:
    """Return the x with the least x.x within bounds (n, 2) for which scaled @ x = wanted, or is nearest to it."""
    U, s, Vt = np.linalg.svd(scaled, full_matrices=False)
    x = Vt[:rank].T @ ((U[:, :rank].T @ wanted) / s[:rank])
    if bounds is None or np.all((bounds[:, 0] <= x) & (x <= bounds[:, 1])):
        return np.asarray(x)
    # The rows of Vt are those that the motion asks for; what none of them reaches is left to what lacks actuation.
    within, reached = _solve(np.eye(len(x)), np.zeros(len(x)), Vt[:rank], Vt[:rank] @ x, bounds)
    return within if reached else _nearest(scaled, wanted, LEAST * s[rank - 1], bounds)


def _nearest(scaled: np.ndarray, wanted: np.ndarray, light: float, bounds: np.ndarray) -> np.ndarray:
    """Return the x within bounds (n, 2) with scaled @ x nearest to what is wanted, and of these the least."""
    x, free = bounds[:, 0].copy(), bounds[:, 0] < bounds[:, 1]
    rows = np.vstack([scaled[:, free], light * np.eye(int(free.sum()))])
    right = np.concatenate([wanted - scaled[:, ~free] @ x[~free], np.zeros(int(free.sum()))])
    if free.any():
        x[free] = lsq_linear(rows, right, tuple(bounds[free].T), method="bvls", tol=1e-14).x
    return x


def _solve(H: np.ndarray, f: np.ndarray, E: np.ndarray, e: np.ndarray, bounds: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return the x with the least x.H x / 2 + f.x, E x = e, within bounds (n, 2), and whether there is any.

    Where e is given f is zero, so that x grows as e and bounds do.
    """
    import daqp  # late: most callers have no bounds

    equal = np.concatenate([np.zeros(len(f)), np.full(len(e), 5)]).astype(np.int32)
    size = float(np.abs(e).max(initial=1.0))
    x, _, flag, _ = daqp.solve(
        np.ascontiguousarray(H), f, np.ascontiguousarray(E), np.concatenate([bounds[:, 1], e]) / size,
        np.concatenate([bounds[:, 0], e]) / size, equal, primal_tol=FEASIBLE,
    )  # fmt: skip
    return size * np.asarray(x, float), flag == 1


def weights_of(actuation: Actuation, weights: Mapping[str, Any] | Any | None) -> np.ndarray | None:
    """Return weights (N_A,) that a caller gave for all, in their order, or by name, those without one being 1."""
    if weights is None:
        return None
    out = np.ones(len(actuation.names))
    if isinstance(weights, Mapping):
        for name, value in weights.items():
            out[_named(actuation, "weights", name)] = value
    else:
        out[:] = array("weights", weights)
    if not (np.all(np.isfinite(out)) and np.all(out > 0.0)):
        raise ValueError(f"weights: found {found(weights)}; expected numbers above zero, one for each actuator")
    return out


def bounds_of(actuation: Actuation, bounds: Mapping[str, Any] | Any | None) -> np.ndarray | None:
    """Return bounds (N_A, 2) that a caller gave for all, in their order, or by name; without one there is none.

    One number x stands for -x and x.
    """
    if bounds is None:
        return None
    out = np.tile([-np.inf, np.inf], (len(actuation.names), 1))
    given = bounds.items() if isinstance(bounds, Mapping) else [(None, bounds)]
    for name, value in given:
        pair = array("bounds", value)
        at: Any = slice(None) if name is None else _named(actuation, "bounds", name)
        out[at] = pair if pair.shape[-1:] == (2,) else np.multiply.outer(pair, [-1.0, 1.0])
    if np.isnan(out).any() or np.any(out[:, 0] > out[:, 1]):
        raise ValueError(f"bounds: found {found(bounds)}; expected a least and a largest torque for each actuator")
    return out


def _named(actuation: Actuation, what: str, name: str) -> np.ndarray:
    """Return where an actuator's columns stand among the actuated ones."""
    own = [k for k, column in enumerate(actuation.names) if column == name or column.rsplit("[", 1)[0] == name]
    if not own:
        raise ValueError(f"{what}: found {found(name)}; expected actuators: {', '.join(actuation.names)}")
    return np.array(own)
