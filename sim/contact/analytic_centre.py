"""Which of the forces that keep the law a structure is to hold: of least norm, or else well inside their cones.

Where forces of points are not unique, those of least norm may lie on the border of a cone, or be there a moment later,
though others hold as well.  The analytic centre keeps away from all borders (Nesterov and Nemirovskii 1994): least

    NORM |x|^2 / 2 - sum log(slack),    slack x_n where a point slides, mu^2 x_n^2 - |x_t|^2 where it sticks,

over all x that keep the rates which the law fixes: not those along the slip, nor across it where a point slides
already.  Points that are on the border in each of them are found on the way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim.contact.active import Active, Rays, rays, solve
from sim.contact.contact_problem import ContactProblem, Mode
from sim.contact.law import regions
from sim.contact.not_unique import CUT, FELT
from sim.contact.solve import SOLVED

# Weight of the norm: without it, forces of points that press each other would grow without end.
NORM = 10.0
# Cones are let reach out by these shares of the largest force, one after the other, until points show which of them
# stay on the border; a room below BORDER shows it.
REACH, BORDER = 0.1 ** np.arange(8), 1e-6
# Room [share of the largest force] below which a point whose force is unique counts as on the border.
TOUCHED = 1e-9
# Of the largest force: how far a point may be outside of its cone that is on its border, as one without a force is.
EDGE = 1e-12
# Of the room that the centre leaves a point, what the least norm has to leave it to be chosen.
ENOUGH = 0.1
# Residual [share of rate] up to which forces keep the law.
LAWFUL = 1e-9
# Newton's iteration.
STEPS, NEAR, SHORTEST = 40, 1e-9, 1e-9


@dataclass(frozen=True)
class AnalyticCentre:
    """Forces P (k, 3), the mask (k,) of those that are not unique, and their room.

    room : (k,) N, by which mu P_n exceeds |P_t| where a point sticks, P_n where it slides
    bound : (k,) the point has no room, whatever forces are chosen
    least : the forces are those of least norm
    border : N, up to which the forces of points without room are none
    """

    P: np.ndarray
    chosen: np.ndarray
    room: np.ndarray
    bound: np.ndarray
    least: bool
    border: float


def centred(problem: ContactProblem, P: np.ndarray, mode: np.ndarray, d: np.ndarray) -> AnalyticCentre:
    """Return forces that keep the law as P (k, 3) do, and have room in their cones if any have."""
    slips = mode == Mode.SLIP
    unknowns = rays(problem, Active(mode != Mode.OPEN, slips, d, np.full(problem.points, np.inf)))
    cones = Cones(np.where(slips, np.inf, problem.mu))
    x = np.einsum("kij,ki->kj", unknowns.along, P) * unknowns.taken.reshape(-1, 3)
    size = float(np.abs(P).max(initial=0.0))
    null = _null_space(problem, unknowns, mode)
    chosen = np.abs(null).max(axis=(1, 2), initial=0.0) > FELT
    if size == 0.0 or not null.size:
        room = cones.room(x) * (mode != Mode.OPEN)
        return AnalyticCentre(P, chosen, room, room <= TOUCHED * size, True, 0.0)
    x = x / size
    inside, bound = _with_room(cones, x, null, chosen)
    free, roomy = null, chosen & ~bound
    if bound.any():  # these go back to where they were, and the others to a centre of their own
        held = null[bound].reshape(-1, null.shape[2])
        inside = inside + null @ np.linalg.lstsq(held, (x - inside)[bound].ravel(), rcond=CUT)[0]
        free = null @ kernel_of(held)
    if free.shape[2] and cones.hold(inside, 0.0, roomy):
        inside = _newton(cones, inside, free, roomy, 0.0)
    least = inside - free @ np.einsum("kim,ki->m", free, inside)
    kept = bool((cones.room(least) >= ENOUGH * cones.room(inside))[roomy].all())
    inside = least if kept else inside
    new = np.einsum("kij,kj->ki", unknowns.along, size * inside)
    if regions(problem, new, problem.rates(new)).merit > LAWFUL:  # points that leave would be pressed
        new, inside, kept = P, x, False
    room = size * cones.room(inside) * (mode != Mode.OPEN)
    bound = np.where(chosen, bound, room <= TOUCHED * size)
    return AnalyticCentre(new, chosen, room, bound, kept and not (chosen & bound).any(), BORDER * size)


def fully_held(problem: ContactProblem) -> np.ndarray | None:
    """Return forces (k, 3) under which all points that were closed stick or go on sliding, or None where none are.

    Least forces may leave the cones, and points would be relaxed, though others hold them.
    """
    active = Active.first(problem)
    mode = np.where(~active.closed, Mode.OPEN, np.where(active.slips, Mode.SLIP, Mode.STICK))
    centre = centred(problem, solve(problem, active, np.zeros((problem.points, 3))), mode, active.d)
    if not (centre.room >= -EDGE * np.abs(centre.P).max(initial=0.0)).all() or not centre.chosen.any():
        return None
    return centre.P if regions(problem, centre.P, problem.rates(centre.P)).merit <= SOLVED else None


def _with_room(cones: Cones, x: np.ndarray, null: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return x + null y well inside the cones of points that are `chosen` (k,), and the mask of those without room."""
    inside = x
    for reach in REACH:
        for _ in range(STEPS):
            if cones.hold(inside, reach, chosen):
                break
            inside = 0.5 * (inside + x)
        else:  # x is too far outside
            return x, chosen & (cones.room(x) < BORDER)
        inside = _newton(cones, inside, null, chosen, reach)
    return inside, chosen & (cones.room(inside) < BORDER)


@dataclass(frozen=True)
class Cones:
    """Sets that unknowns x (k, 3) of points lie in.

    mu : (k,) friction of points that stick; inf: the first unknown is not negative, the others are free
    """

    mu: np.ndarray

    def room(self, x: np.ndarray) -> np.ndarray:
        """Return how far (k,) points are inside, negative outside."""
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(self.mu), x[:, 0], self.mu * x[:, 0] - np.hypot(x[:, 1], x[:, 2]))

    def hold(self, x: np.ndarray, reach: float, which: np.ndarray) -> bool:
        """Tell whether points in the mask are inside their cones, which reach out so far."""
        value, _, _ = self.slack(x + reach * np.eye(3)[0])
        return bool((value > 0.0)[which].all())

    def slack(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what the logarithm is taken of (k,), its derivatives (k, 3), and diagonals (k, 3) of the second."""
        lone, two = np.isinf(self.mu), np.where(np.isinf(self.mu), 0.0, self.mu) ** 2
        curve = np.column_stack([2.0 * two, np.where(lone, 0.0, -2.0), np.where(lone, 0.0, -2.0)])
        value = np.where(lone, x[:, 0], 0.5 * np.einsum("ki,ki->k", curve, x**2))
        slope = curve * x
        slope[lone, 0] = 1.0
        return np.where(x[:, 0] > 0.0, value, -1.0), slope, curve


def _newton(cones: Cones, x: np.ndarray, null: np.ndarray, held: np.ndarray, reach: float) -> np.ndarray:
    """Return the x + null y (k, 3) that keeps the points `held` (k,) best inside cones that reach out by `reach`."""
    N, flat = null[held], null.reshape(-1, null.shape[2])
    part = Cones(cones.mu[held])
    out = np.zeros(3)
    out[0] = reach

    def value_of(x: np.ndarray) -> float:
        value = part.slack(x[held] + out)[0]
        return 0.5 * NORM * float((x * x).sum()) - float(np.log(value).sum()) if (value > 0.0).all() else np.inf

    now = value_of(x)
    for _ in range(STEPS):
        value, slope, curve = part.slack(x[held] + out)
        along = np.einsum("ki,kim->km", slope / value[:, None], N)
        pull = NORM * flat.T @ x.ravel() - along.sum(axis=0)
        stiff = NORM * flat.T @ flat + along.T @ along - np.einsum("kim,ki,kin->mn", N, curve / value[:, None], N)
        step = np.linalg.lstsq(stiff, -pull, rcond=None)[0]
        fall = float(pull @ step)
        if -fall < NEAR:
            break
        length = 1.0
        while length > SHORTEST and not value_of(x + null @ (length * step)) <= now + 0.1 * length * fall:
            length *= 0.5
        if length <= SHORTEST:
            break
        x = x + null @ (length * step)
        now = value_of(x)
    return x


def _null_space(problem: ContactProblem, unknowns: Rays, mode: np.ndarray) -> np.ndarray:
    """Return (k, 3, m): orthonormal unknowns that change no rate which the law fixes."""
    k, taken = problem.points, unknowns.taken
    whole = np.matmul(np.matmul(unknowns.across.transpose(0, 2, 1)[:, None], problem.blocks), unknowns.along[None])
    whole = whole.transpose(0, 2, 1, 3).reshape(3 * k, 3 * k)
    sticks = mode == Mode.STICK
    fixed = np.column_stack([mode != Mode.OPEN, sticks | ((mode == Mode.SLIP) & ~problem.given), sticks]).ravel()
    # In units of each point's own mobility, or light bodies hide what heavy ones do.
    unit = 1.0 / np.sqrt(np.repeat(problem.trace, 3))
    found = kernel_of((whole * unit[:, None] * unit)[np.ix_(fixed, taken)])
    out = np.zeros((3 * k, found.shape[1]))
    out[taken] = np.linalg.qr(found * unit[taken][:, None])[0]
    return out.reshape(k, 3, found.shape[1])


def kernel_of(a: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis (n, .) of what a (m, n) maps to nothing."""
    if not a.size:
        return np.eye(a.shape[1])
    _, size, across = np.linalg.svd(a)
    return np.asarray(across[int((size > CUT * size.max(initial=0.0)).sum()) :].T)
