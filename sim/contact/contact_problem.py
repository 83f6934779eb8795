"""The contact problem: what points that touch do to each other, on the level of impacts or of accelerations.

One law for both levels, per point in its frame (n, t1, t2).  P is an impulse [N s] and z = G P + free a velocity
[m/s], or P a force [N] and z an acceleration [m/s^2]:

    0 <= P_n  _|_  z_n + shift >= 0,    |P_t| <= least + mu P_n,    P_t = -(least + mu P_n) z_t / |z_t| where it slips.

shift is the restitution e u_n- at an impact, gap / dt in a time step.  least is friction that acts without P_n: that of
a normal impulse given before.  A point that already slips when accelerations are asked for has its direction given.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property

import numpy as np

from sim.kernels.unilateral.stating import SMALLEST, state_problem

NUMBERS = ("G", "free", "shift", "mu", "least")
SHAPED = ("G", "free", "shift", "least", "sliding", "closed", "patch")


class Mode(IntEnum):
    """What a point does."""

    OPEN = 0
    STICK = 1
    SLIP = 2


@dataclass(frozen=True, kw_only=True)
class ContactProblem:
    """k points; see the head of this file.  Use `impact` or `acceleration` to make one.

    Attributes
    ----------
    G : (3k, 3k) W M^-1 W^T, symmetric, positive semidefinite, rows n, t1, t2 per point; joints are eliminated
    free : (3k,) z without impulses
    mu : (k,) friction coefficients; 0: frictionless, as limits of joints are
    shift : (k,) added to z_n
    least : (k,) friction beside mu P_n, N s or N
    sliding : (k, 2) direction of slip where it is given, else zero
    closed : (k,) False: takes no part
    patch : (k,) number of the pair of bodies that a point belongs to
    modes : (k,) `Mode` of each point that was accepted last, or None
    scale, rate : what residuals of z are measured by: as asked for (0: not), and as taken, else the largest free z
    free3 : (k, 3) z without impulses, shift added to its normal part
    trace : (k,) mobility of each point [1/kg]: the trace of its own block; 1 where nothing moves it
    flags : (k,) 1 where the direction of slip is given
    """

    G: np.ndarray
    free: np.ndarray
    mu: np.ndarray
    shift: np.ndarray
    least: np.ndarray
    sliding: np.ndarray
    closed: np.ndarray
    patch: np.ndarray
    modes: np.ndarray | None = None
    scale: float = 0.0
    rate: float = field(init=False)
    free3: np.ndarray = field(init=False)
    trace: np.ndarray = field(init=False)
    flags: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        k = len(self.mu)
        shapes = tuple(getattr(self, name).shape for name in SHAPED)
        if shapes != ((3 * k, 3 * k), (3 * k,), (k,), (k,), (k, 2), (k,), (k,)):
            self._refuse_shapes()
        numbers = tuple(np.ascontiguousarray(getattr(self, name), float) for name in NUMBERS)
        found = np.empty((k, 3)), np.empty(k), np.empty(k, np.int64)
        rate = state_problem(numbers, np.ascontiguousarray(self.sliding, float), float(self.scale), *found)
        if rate < 0.0:
            self._refuse()
        for name, value in zip((*NUMBERS, "free3", "trace", "flags", "rate"), (*numbers, *found, rate), strict=True):
            object.__setattr__(self, name, value)

    def _refuse_shapes(self) -> None:
        """Say which shapes do not go with the number of points."""
        k = len(self.mu)
        for name, shape in zip(SHAPED, ((3 * k, 3 * k), (3 * k,), (k,), (k,), (k, 2), (k,), (k,)), strict=True):
            if getattr(self, name).shape != shape:
                raise ValueError(f"{name}: found shape {getattr(self, name).shape}, expected {shape} for {k} points")

    def _refuse(self) -> None:
        """Say which numbers are none that a problem can have."""
        for name in NUMBERS:
            if not np.isfinite(getattr(self, name)).all():
                raise ValueError(f"{name}: not all values are finite numbers")
        for name in ("mu", "least"):
            if (getattr(self, name) < 0.0).any():
                raise ValueError(f"{name}: found {getattr(self, name).min():g}, expected no negative number")

    @property
    def points(self) -> int:
        """Number of points."""
        return len(self.mu)

    @cached_property
    def given(self) -> np.ndarray:
        """(k,) True where the direction of slip is given."""
        return self.flags == 1

    @cached_property
    def blocks(self) -> np.ndarray:
        """(k, k, 3, 3) G by points."""
        k = self.points
        return np.ascontiguousarray(self.G.reshape(k, 3, k, 3).transpose(0, 2, 1, 3))

    @cached_property
    def dead(self) -> np.ndarray:
        """(k, 3) True of rows that move nothing, where friction acts that nothing presses: they are no unknowns."""
        out: np.ndarray = (self.G.diagonal().reshape(-1, 3) == 0.0) & (self.least > 0.0)[:, None]
        return out

    @cached_property
    def smooth(self) -> np.ndarray:
        """(k,) True where there is no friction at all."""
        return (self.mu == 0.0) & (self.least == 0.0)

    def rates(self, P: np.ndarray) -> np.ndarray:
        """(k, 3) z with shift, for impulses (k, 3)."""
        return (self.G @ P.ravel()).reshape(-1, 3) + self.free3


def first(problem: ContactProblem, count: int, P: np.ndarray) -> ContactProblem:
    """Return the problem of the first points alone, under what the others do with P (k, 3)."""
    n = 3 * count
    return ContactProblem(
        G=problem.G[:n, :n], free=problem.free[:n] + problem.G[:n, n:] @ P[count:].ravel(), scale=problem.rate,
        modes=None if problem.modes is None else problem.modes[:count],
        **{name: getattr(problem, name)[:count] for name in ("mu", "shift", "least", "sliding", "closed", "patch")},
    )  # fmt: skip


def impact(
    G: np.ndarray, u: np.ndarray, mu: np.ndarray, *, shift: np.ndarray | None = None, least: np.ndarray | None = None,
    patch: np.ndarray | None = None, modes: np.ndarray | None = None, scale: float = 0.0,
) -> ContactProblem:  # fmt: skip
    """State level V: velocities u (3k,) before the impulses of the contacts; see `ContactProblem`.

    scale: speed [m/s] that residuals are measured by; 0: the largest of u.
    """
    mu = np.asarray(mu, float)
    k = len(mu)
    zero = np.zeros(k)
    return ContactProblem(
        G=np.asarray(G, float), free=np.asarray(u, float), mu=mu, shift=zero if shift is None else shift,
        least=zero if least is None else least, sliding=np.zeros((k, 2)), closed=np.ones(k, bool),
        patch=np.zeros(k, np.int64) if patch is None else np.asarray(patch), modes=modes, scale=scale,
    )  # fmt: skip


def acceleration(
    G: np.ndarray, a: np.ndarray, mu: np.ndarray, *, u_t: np.ndarray | None = None, closed: np.ndarray | None = None,
    patch: np.ndarray | None = None, modes: np.ndarray | None = None, slow: float = 1e-9, scale: float = 0.0,
    least: np.ndarray | None = None,
) -> ContactProblem:  # fmt: skip
    """State level A: accelerations a (3k,) without the forces of the contacts, J_dot v included.

    u_t: (k, 2) tangential velocities [m/s]; a point faster than `slow` slips along its own.
    closed: (k,) points that touch and have no normal rate.  scale: acceleration that residuals are measured by.
    least: (k,) N, friction beside mu P_n.
    """
    mu = np.asarray(mu, float)
    k = len(mu)
    sliding = np.zeros((k, 2))
    if u_t is not None:
        speed = np.hypot(u_t[:, 0], u_t[:, 1])
        slips = speed > slow
        sliding[slips] = np.asarray(u_t)[slips] / speed[slips, None]
    return ContactProblem(
        G=np.asarray(G, float), free=np.asarray(a, float), mu=mu, shift=np.zeros(k),
        least=np.zeros(k) if least is None else least, sliding=sliding,
        closed=np.ones(k, bool) if closed is None else np.asarray(closed, bool),
        patch=np.zeros(k, np.int64) if patch is None else np.asarray(patch), modes=modes, scale=scale,
    )  # fmt: skip


__all__ = ["SMALLEST", "ContactProblem", "Mode", "acceleration", "first", "impact"]
