"""Impacts, level V complete: restitution after Newton or Poisson, energy, one patch after the other, jams.

Points that close and all other closed points take part.  No impact gives energy: dT = P.(u + u+)/2 is exact, and where
it is positive (Newton's law with friction can do that) every coefficient e becomes s e, with the largest s in [0, 1]
that bisection finds to take none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sim.contact.by_kernels import polish, solve_contacts
from sim.contact.contact_problem import SMALLEST, ContactProblem, impact
from sim.contact.solution import ContactSolution, ContactStatus

# Energy [share of what the contacts can reach] that counts as none.
NO_ENERGY = 1e-12
# Halvings of the bracket of s: to neighbouring numbers.
HALVINGS = 52
# Impacts of one patch in a sequence, and the speed [share of the largest] below which a point does not close.
IMPACTS_OF_A_PATCH, CLOSING = 10, 1e-12
# Changes of rates [share of slip] after which a jam is looked for, larger ones where none is found: at none, no impulse
# would be an answer, too.
NUDGES = (1e-7, 1e-5, 1e-3)


@dataclass(frozen=True, kw_only=True)
class Collision:
    """Points of which some close.

    Attributes
    ----------
    G : (3k, 3k) W M^-1 W^T, 1/kg; see `ContactProblem`
    u : (3k,) velocities [m/s] before the contacts' impulses
    mu, e : (k,) friction, restitution
    u_n : (k,) normal rates that restitution answers [m/s], where they are not those of u
    rest : rate of approach [m/s] below which e = 0
    patch : (k,) number of each point's pair of bodies
    modes : (k,) last accepted ones, or None
    kinetic : energy [J] that gains are measured by; 0: that of u along the contacts
    """

    G: np.ndarray
    u: np.ndarray
    mu: np.ndarray
    e: np.ndarray
    u_n: np.ndarray | None = None
    rest: float | np.ndarray = 0.0
    patch: np.ndarray | None = None
    modes: np.ndarray | None = None
    kinetic: float = 0.0

    @property
    def approach(self) -> np.ndarray:
        """(k,) normal rates before."""
        return self.u[::3] if self.u_n is None else self.u_n

    @property
    def bounce(self) -> np.ndarray:
        """(k,) restitution of points that close fast enough, else zero."""
        return np.where(self.approach < -self.rest, self.e, 0.0)

    @property
    def patches(self) -> np.ndarray:
        """(k,) patch of each point."""
        return np.zeros(len(self.mu), np.int64) if self.patch is None else np.asarray(self.patch)

    def problem(self, u: np.ndarray, **more: np.ndarray) -> ContactProblem:
        """Return the problem of level V from velocities u (3k,), on the scale of speeds of this collision."""
        scale = float(np.abs(self.u).max(initial=0.0))
        return impact(self.G, u, self.mu, patch=self.patch, modes=self.modes, scale=scale, **more)


@dataclass(frozen=True, kw_only=True)
class Impact:
    """What a collision does.

    Attributes
    ----------
    P : (k, 3) impulses [N s]; u : (k, 3) velocities after [m/s]
    energy : change of kinetic energy [J], not positive
    s : what every e was multiplied by so that it is not
    last : the solution that named the modes after; rounds : patches in the order they were solved, -1: all at once
    """

    P: np.ndarray
    u: np.ndarray
    energy: float
    s: float
    last: ContactSolution
    rounds: tuple[int, ...] = (-1,)

    @property
    def status(self) -> ContactStatus:
        """Of the last solution."""
        return self.last.status


Law = Callable[[Collision, float], tuple[np.ndarray, ContactSolution]]


def newton(collision: Collision, s: float) -> tuple[np.ndarray, ContactSolution]:
    """u_n+ >= -s e u_n-: return impulses (k, 3) and their solution."""
    shift = np.where(collision.bounce > 0.0, s * collision.bounce * collision.approach, 0.0)
    solution = solve_contacts(collision.problem(collision.u, shift=shift))
    return solution.P, solution


def poisson(collision: Collision, s: float) -> tuple[np.ndarray, ContactSolution]:
    """First no restitution; then s e times the normal impulses of that come back, and friction answers again.

    In the second part friction may be mu times what came back and what the points need beside.
    """
    first = solve_contacts(collision.problem(collision.u))
    given = s * collision.bounce * np.maximum(first.P[:, 0], 0.0)
    if not given.any():
        return first.P, first
    P = first.P.copy()
    P[:, 0] += given
    u = collision.u + collision.G @ P.ravel()
    second = solve_contacts(collision.problem(u, least=collision.mu * given))
    return P + second.P, second


def resolve(collision: Collision, law: Law = newton) -> Impact:
    """Return the impact of all points at once, which gives no energy."""
    tried = _with(collision, law, 1.0)
    if tried.energy <= 0.0 and not tried.status:
        return tried
    limit = NO_ENERGY * (collision.kinetic or reached_energy(collision.G, collision.u))
    if tried.energy <= limit and not tried.status:
        return tried
    if not collision.bounce.any():
        return tried
    kept = _with(collision, law, 0.0)
    if tried.status:  # restitutions that contradict each other, as of a ball in a tight gap
        return kept
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        tried = _with(collision, law, middle)
        if tried.energy <= limit and not tried.status:
            low, kept = middle, tried
        else:
            high = middle
        if kept is tried and tried.energy >= -limit:
            break
    return kept


def _with(collision: Collision, law: Law, s: float) -> Impact:
    P, last = law(collision, s)
    return _told(collision, P, s, last)


def _told(collision: Collision, P: np.ndarray, s: float, last: ContactSolution, *rounds: int) -> Impact:
    u = collision.u + collision.G @ P.ravel()
    energy = 0.5 * float(P.ravel() @ (collision.u + u))
    return Impact(P=P, u=u.reshape(-1, 3), energy=energy, s=s, last=last, rounds=rounds or (-1,))


def reached_energy(G: np.ndarray, u: np.ndarray) -> float:
    """Return the kinetic energy [J] that impulses of the contacts could take: u.G^+ u / 2."""
    return 0.5 * float(u @ np.linalg.lstsq(G, u, rcond=1e-12)[0])


def resolve_in_turn(collision: Collision, law: Law = newton) -> Impact:
    """Return the impact of one patch after the other, the fastest closing first, until none closes (Newton's cradle).

    A patch may take part ten times; if points still close then, all together do without restitution.
    """
    patches, u, s = collision.patches, collision.u.copy(), 1.0
    P, rounds = np.zeros((len(collision.mu), 3)), list[int]()
    slowest = -CLOSING * float(np.abs(u).max(initial=0.0))
    while True:
        often = np.isin(patches, [p for p in set(rounds) if rounds.count(p) >= IMPACTS_OF_A_PATCH])
        closing = np.where(often, 0.0, u[::3])
        if not len(closing) or closing.min() >= slowest:
            break
        one = int(patches[np.argmin(closing)])
        members = np.flatnonzero(patches == one)
        rows = (3 * members[:, None] + np.arange(3)).ravel()
        alone = replace(
            collision, G=collision.G[np.ix_(rows, rows)], u=u[rows], mu=collision.mu[members], e=collision.e[members],
            rest=np.broadcast_to(collision.rest, len(collision.mu))[members], u_n=None, patch=None, modes=None,
        )  # fmt: skip
        hit = resolve(alone, law)
        P[members] += hit.P
        u = collision.u + collision.G @ P.ravel()
        rounds.append(one)
        s = min(s, hit.s)
    last = solve_contacts(collision.problem(u))
    if u[::3].min(initial=0.0) < slowest:
        P = P + last.P
        rounds.append(-1)
    return _told(collision, P, s, last, *rounds)


def jam(collision: Collision, a: np.ndarray) -> Impact:
    """Return the impulse without a collision that stops points which sliding drives in (Painleve's paradox).

    a: (3k,) accelerations without forces, of which forces were found to have no answer.  No impulse at all is an
    answer of level V, too, so rates are taken a time later that is so short that it does not count.  Impulses that
    vanish with this time would be forces in the end, of which there are none: only the other answer is left, and is
    followed to no time.  Afterwards the points stick, or slip another way.
    """
    slip = np.hypot(collision.u[1::3], collision.u[2::3]).max(initial=0.0)
    for nudge in NUDGES:
        soon = nudge * slip / max(float(np.abs(a).max(initial=0.0)), SMALLEST)
        nudged = solve_contacts(collision.problem(collision.u + soon * a))
        if not nudged.status:
            break
    plain = collision.problem(collision.u)
    exact = polish(plain, nudged.P)
    largest = float(np.abs(nudged.P).max(initial=0.0))
    if exact.status or np.abs(exact.P - nudged.P).max(initial=0.0) > 0.1 * largest:
        exact = nudged
    return _told(collision, exact.P, 0.0, exact)
