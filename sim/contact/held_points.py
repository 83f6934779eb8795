"""What points do with the forces that were found: their modes, the directions in which they slide, and their shares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sim.contact.analytic_centre import AnalyticCentre
from sim.contact.kinetics import Kinetics
from sim.contact.remembered import Contacts
from sim.contact.restless import ease
from sim.contact.slip_directions import let_slip_slowly, movable
from sim.contact.soft_points import soft_of, softly
from sim.contact.solution import ContactSolution
from sim.contact.stops import Bounded, Point, against, frictions
from sim.kernels.shapes import OPEN, SLIP, SLOW_SLIP, STICK
from sim.mechanism.touch import Touch

VAGUE = 1e-6  # of the accelerations: below it they do not tell in which direction a point begins to slide
LEADS = 0.1  # of the accelerations: what the friction of a point at least answers that finds its own way
NOTHING = 1e-8  # of the accelerations: what a point that is pressed at least answers


def held_points(
    state: Contacts, kinetics: Kinetics, law: Sequence[Point], v: np.ndarray, mu: np.ndarray, answer: ContactSolution,
    centre: AnalyticCentre, leaving: frozenset[tuple[int, int, int]],
) -> list[Point]:  # fmt: skip
    """Return the points in their modes, with their shares of forces that are not unique.

    A point that carries nothing is left open.
    mu : (k,) friction of all points
    leaving : points whose cones were just left: where no other forces of the same rates have room, they begin to
    slide, all that have none of it together
    """
    P, n, closed = centre.P, len(centre.P), [touch for touch in law if isinstance(touch, Touch)]
    k, mode, d = len(closed), answer.mode[:n].copy(), answer.d[:n].copy()
    mode[~(P[:, 0] > NOTHING * answer.unit[:n]) | (centre.bound & (P[:, 0] <= centre.border))] = OPEN
    if leaving:
        sticks = (mode == STICK) & (np.hypot(P[:, 1], P[:, 2]) > 0.0)
        leaves = sticks & centre.bound & np.array([touch.key in leaving for touch in law[:n]], bool)
        if leaves.any():
            leaves |= sticks & centre.bound & centre.chosen
            mode[leaves] = SLIP
            d[leaves] = -P[leaves, 1:] / np.hypot(P[leaves, 1], P[leaves, 2])[:, None]
    points = kinetics.mechanism.work.points
    mu, restless = mu[:n], state.restless.among(law[:n])
    rubs = (mode == SLIP) & (mu > 0.0)
    slides = bool(rubs.any())
    G, crept = kinetics.G[: 3 * n, : 3 * n], state.slip_directions.slow_slip_on(kinetics, law, v)[:n]
    if slides:
        begins = rubs & ~answer.given[:n]
        vague = begins & (np.hypot(answer.z[:n, 1], answer.z[:n, 2]) < VAGUE * answer.rate)
        if vague.any():
            asked = vague | (mode == STICK)
            d[vague] = movable(G, np.column_stack([mode != OPEN, asked, asked]).ravel(), vague, d)
    d_W = d[:k, :1] * points.t1[kinetics.points] + d[:k, 1:] * points.t2[kinetics.points]
    if slides:
        led = mu * P[:, 0] < LEADS * answer.unit[:n]
        mode = let_slip_slowly(G, mode, d, (begins | (rubs & crept)) & ~led & ~restless)
    # Forces of least norm go on as that; with friction that follows them, each motion has its own.
    nearest = np.zeros_like(P) if centre.least and not slides and n == len(law) else P
    for i, touch in enumerate(closed):  # the direction goes on from where it was
        start = state.slip_directions.started.get(touch.key, np.zeros(3))
        if mode[i] != OPEN and restless[i]:
            mode[i], d_W[i] = SLIP, ease(d_W[i] if d_W[i].any() else points.t1[kinetics.points[i]])
        elif mode[i] >= SLIP and answer.given[i] and d_W[i] @ start > 0.0:
            d_W[i] = start
    touches = [
        touch.but(mode=int(m), slip_W=tuple(way.tolist()), share=share_of(m, f), determinate=not chosen)
        for touch, m, way, f, chosen in zip(closed, mode[:k], d_W, nearest[:k], centre.chosen[:k], strict=True)
    ]
    bounded = [one for one in law if isinstance(one, Bounded)]
    stops = against(bounded[: n - k], nearest[k:], mode[k:])
    soft = soft_of(law)
    axes = points.t1[k : k + len(soft)], points.t2[k : k + len(soft)]
    given = softly(soft, answer, n, leaving, axes)
    return [*touches, *stops, *given, *frictions(bounded[n - k :], answer, leaving)]


def share_of(mode: int, f: np.ndarray) -> tuple[float, float, float]:
    """Return a point's share of forces; of one that creeps friction takes what is not normal."""
    return (0.0, 0.0, float(f[0])) if mode == SLOW_SLIP else (float(f[1]), float(f[2]), float(f[0]))


__all__ = ["held_points", "share_of"]
