"""In which direction points slide on, or begin to, and which of them creep; see `sim.kernels.rows.touches`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sim.contact.analytic_centre import kernel_of
from sim.contact.kinetics import Kinetics
from sim.contact.not_unique import CUT
from sim.contact.restless import is_eased
from sim.contact.soft_points import first_soft, soft_of
from sim.contact.stops import Point
from sim.kernels.rows.touches import STILL, TURNED
from sim.kernels.shapes import OPEN, SLIP, SLOW_SLIP, SOFT_SLIP, STICK
from sim.kernels.unilateral.stating import slide_on
from sim.mechanism.touch import Touch

FREELY = 1e-4  # share of its mobility that a point must have left across its way, or others lead it
NOWHERE = (0.0, 0.0, 0.0)
SOFTLY_STILL = 2e-5  # m/s: slip of a soft point that forces may stop or turn at once, where it does not go on
SHORT = 1e-6  # part of a direction below which it is none


@dataclass
class SlipDirections:
    """How points slid until now.

    started : directions of sliding at the last step's start; of points that creep, that of their friction
    creeping : points that crept
    softly : of soft points that slid, against which their friction acted
    """

    started: dict[tuple[int, int, int], np.ndarray] = field(default_factory=dict)
    slipping_slowly: set[tuple[int, int, int]] = field(default_factory=set)
    softly: dict[tuple[int, int, int], np.ndarray] = field(default_factory=dict)

    def note(self, touches: Sequence[Touch], points: Any) -> None:
        """Note how the closed points of a structure slide, as last observed."""
        slide = [(k, touch) for k, touch in enumerate(touches) if touch.mode >= SLIP or touch.mode == SOFT_SLIP]
        self.softly = {touch.key: points.slip[k].copy() for k, touch in slide if touch.mode == SOFT_SLIP}
        self.slipping_slowly = {touch.key for _, touch in slide if touch.mode == SLOW_SLIP}
        self.started = {
            touch.key: (points.slip if touch.mode == SLOW_SLIP else points.start)[k].copy()
            for k, touch in slide
            if not is_eased(points.start[k])
        }

    def soft_go_on(self, key: tuple[int, int, int], u_W: np.ndarray) -> np.ndarray | None:
        """Return against which direction friction of a soft point acts that slid and goes on, at a velocity; or None.

        Where it is slow, its friction is not quite along its slip, and is to stay as it was.
        """
        if key not in self.softly or not float(np.linalg.norm(u_W)) > STILL:
            return None
        return self.softly[key] if float(u_W @ self.started[key]) > 0.0 else None

    def starts(self, kinetics: Kinetics, law: Sequence[Point]) -> np.ndarray:
        """Return the directions (k, 2) in which points slid; zero of others."""
        if not self.started:
            return np.zeros((len(law), 2))
        return along(kinetics, [tuple(self.started.get(point.key, NOWHERE)) for point in law])

    def go_on(self, kinetics: Kinetics, law: Sequence[Point], v: np.ndarray) -> np.ndarray:
        """Return directions (k, 2) of points that slide on as they did, slowly as it may be; zero of others."""
        return self._going_on(kinetics, law, v)[0]

    def slow_slip_on(self, kinetics: Kinetics, law: Sequence[Point], v: np.ndarray) -> np.ndarray:
        """Return the mask (k,) of points that crept and go on to creep."""
        if not self.slipping_slowly:
            return np.zeros(len(law), bool)
        return self._going_on(kinetics, law, v)[1] == 1

    def _going_on(self, kinetics: Kinetics, law: Sequence[Point], v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        asked = law, v, self.started
        known = vars(kinetics).get("going_on")  # of the same points at the same rates it is asked again and again
        if known is not None and all(a is b for a, b in zip(known[0], asked, strict=True)):
            return known[1]
        ways, creeps = np.zeros((len(law), 2)), np.zeros(len(law), np.int64)
        if self.started:
            crept = np.array([point.key in self.slipping_slowly for point in law], np.int64)
            slide_on(kinetics.rates(v), self.starts(kinetics, law), crept, ways, creeps)
        vars(kinetics)["going_on"] = asked, (ways, creeps)
        return ways, creeps


def along(kinetics: Kinetics, ways_W: Sequence[Sequence[float]]) -> np.ndarray:
    """Return directions (k, 2) in the frames of points; zero of what is not a point of contact, which come first."""
    points, closed, out = kinetics.mechanism.work.points, len(kinetics.points), np.zeros((len(ways_W), 2))
    if closed:
        way_W, which = np.array(ways_W[:closed]), kinetics.points
        out[:closed, 0] = np.vecdot(way_W, points.t1[which])
        out[:closed, 1] = np.vecdot(way_W, points.t2[which])
    return out


def slide_on_softly(kinetics: Kinetics, law: list[Point], u: np.ndarray, directions: SlipDirections) -> None:
    """Let rates u (k, 3) of soft points that slid, and go on, have the directions of their friction; law notes it."""
    points, first, at = kinetics.mechanism.work.points, len(kinetics.points), first_soft(law)
    for k, one in enumerate(soft_of(law)):
        t1, t2, row = points.t1[first + k], points.t2[first + k], u[at + k]
        way = directions.soft_go_on(one.key, row[1] * t1 + row[2] * t2)
        law[at + k] = replace(one, start_W=None if way is None else tuple(directions.started[one.key].tolist()))
        if way is not None:
            row[1:] = float(way @ t1), float(way @ t2)
        elif math.hypot(row[1], row[2]) <= SOFTLY_STILL:
            row[1:] = 0.0


def movable(G: np.ndarray, bound: np.ndarray, which: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Return the directions d (k, 2) of some points without what no force could make of them.

    bound : (3k,) mask of rows whose rates are zero or asked for; those of others may be whatever they are
    which : (k,) mask of the points
    """
    G, rows = G[np.ix_(bound, bound)], np.flatnonzero(bound)
    unit = 1.0 / np.sqrt(np.where(G.diagonal() > 0.0, G.diagonal(), 1.0))
    free = kernel_of(G * unit[:, None] * unit) * unit[:, None]
    null = np.zeros((len(bound), free.shape[1]))
    null[rows] = free
    flat = null[np.column_stack([which & False, which, which]).ravel()]
    way = d[which] - (flat @ np.linalg.lstsq(flat, d[which].ravel(), rcond=CUT)[0]).reshape(-1, 2)
    length = np.hypot(way[:, 0], way[:, 1])
    return np.where((length > SHORT)[:, None], way / np.maximum(length, SHORT)[:, None], d[which])


def let_slip_slowly(G: np.ndarray, mode: np.ndarray, d: np.ndarray, slow: np.ndarray) -> np.ndarray:
    """Return modes (k,), in which slow points creep unless others keep them from moving across their ways d (k, 2)."""
    out, closed, sticks = mode.copy(), mode != OPEN, mode == STICK
    if not slow.any():
        return out
    held = np.eye(3 * len(mode))[np.column_stack([closed, sticks, sticks]).ravel()]
    creep = [int(k) for k in np.flatnonzero(slow)]
    while creep:
        own = _own_parts(G, np.vstack([rows_across(d, creep), held]), len(creep))
        if own.min() > FREELY:
            break
        creep.pop(int(own.argmin()))
    out[creep] = SLOW_SLIP
    return out


def straighten_slow_slip(points: Any, closed: list[Touch], last: bool) -> list[Touch]:
    """Return closed points, as observed, with ways that those that creep do not leave at once; itself if they are so.

    A way that a point would leave by as much as ends a creep becomes that of its friction.  Where friction would push
    it on, or at the last looks, the point slides instead: what ends a creep must not have come to pass at its start.
    """
    creeps = [k for k, touch in enumerate(closed) if touch.mode == SLOW_SLIP]
    out = list(closed)
    for k in creeps:
        slip = points.slip[k]
        on, aside = float(slip @ points.t1[k]), float(slip @ points.t2[k])
        if on > 0.0 and abs(aside) <= TURNED:
            continue
        turned = closed[k].but(slip_W=(float(slip[0]), float(slip[1]), float(slip[2])))
        out[k] = turned if on > 0.0 and not last else closed[k].but(mode=SLIP)
    return out if any(a is not b for a, b in zip(out, closed, strict=True)) else closed


def rows_across(d: np.ndarray, which: Sequence[int]) -> np.ndarray:
    """Return the rows (w, 3k) of rates across the ways d (k, 2) of some points."""
    rows = np.zeros((len(which), len(d), 3))
    rows[np.arange(len(which)), which, 1:] = np.column_stack([-d[which, 1], d[which, 0]])
    return rows.reshape(len(which), 3 * len(d))


def _own_parts(G: np.ndarray, rows: np.ndarray, count: int) -> np.ndarray:
    """Return which share (count,) of its mobility each of the first rows has left when all others are held.

    None where nothing moves it but roundoff, as across the plane in which all that there is moves.
    """
    A = rows @ G @ rows.T
    out, least = np.zeros(count), max(CUT * float(G.diagonal().max(initial=0.0)), 1e-300)
    for r in range(count):
        others = np.delete(np.arange(len(rows)), r)
        left = A[r, r] - A[r, others] @ np.linalg.lstsq(A[np.ix_(others, others)], A[others, r], rcond=CUT)[0]
        out[r] = left / max(A[r, r], least)
    return out


__all__ = [
    "SlipDirections",
    "along",
    "let_slip_slowly",
    "movable",
    "rows_across",
    "slide_on_softly",
    "straighten_slow_slip",
]
