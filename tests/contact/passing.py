"""When moving solids first meet, without the engine: gaps of rounds, boxes and planes, and a search that misses none.

A gap is the signed distance of two solids as they move: it changes no faster than the solids approach.  Between
two looks it is therefore positive wherever the values at both ends are larger than that rate allows for, and where
they are not, one looks between them.  All over arrays of times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

Values = Callable[[np.ndarray], np.ndarray]
Rates = Callable[[np.ndarray, np.ndarray], np.ndarray]
Path = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # of times (n,): places (n, 3), rotations (n, 3, 3)

MOST = 300_000  # looks at one gap
FINE = 1e-9  # how much deeper than asked for a value may get between two looks, in its unit


class TooClose(Exception):
    """A gap stays so near to the level asked for that looking for the instant has no end."""


def first_below(value: Values, rate: Rates, start: float, end: float, level: float) -> float:
    """Return the first time at which a function is below a level; inf where it never is, by more than FINE.

    value : of times (n,); rate : of starts and ends of spans (n,), the most that the value, or what it is a lower
    bound of, changes there in a unit of time
    """
    t = np.linspace(start, end, 17)
    f = value(t) - level
    low, high, f_low, f_high = t[:-1], t[1:], f[:-1], f[1:]
    first, looks = (float(t[f < 0.0][0]) if np.any(f < 0.0) else np.inf), len(t)
    while True:
        most = rate(low, high)
        open_ = (f_low + f_high <= most * (high - low)) & (most * (high - low) > FINE) & (low < first)
        low, high, f_low, f_high = low[open_], high[open_], f_low[open_], f_high[open_]
        middle = 0.5 * (low + high)
        inside = (low < middle) & (middle < high)
        low, high, f_low, f_high, middle = low[inside], high[inside], f_low[inside], f_high[inside], middle[inside]
        if not len(middle):
            return first
        looks += len(middle)
        if looks > MOST:
            raise TooClose
        f = value(middle) - level
        first = min(first, float(middle[f < 0.0].min(initial=np.inf)))
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
        f_low, f_high = np.concatenate([f_low, f]), np.concatenate([f, f_high])


# --- solids -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Thing:
    """A solid that moves.

    Parameters
    ----------
    kind : round (a sphere, or a capsule along its z), box, plane (solid below its z = 0)
    size : half length and radius of a round, half edges of a box
    path : poses over time of the body that carries it
    speed : m/s, of starts and ends of spans: the most that any point of the solid moves there
    place, turn : of the solid in the body
    """

    kind: str
    size: tuple[float, ...]
    path: Path
    speed: Rates
    place: np.ndarray
    turn: np.ndarray

    @property
    def reach(self) -> float:
        """Return the largest distance [m] of a point of the solid from the body's origin."""
        corner = self.size[0] + self.size[1] if self.kind == "round" else float(np.linalg.norm(self.size))
        return float(np.linalg.norm(self.place)) + corner

    def at(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return middles (n, 3) and rotations (n, 3, 3)."""
        p, R = self.path(t)
        return p + R @ self.place, R @ self.turn


def gap(a: Thing, b: Thing) -> Values:
    """Return the signed distance of two solids as a function of times; of two boxes a lower bound with the same sign.

    Of rounds it ends at minus the sum of their radii.
    """
    if a.kind == "plane" or (a.kind == "box" and b.kind == "round"):
        return gap(b, a)

    def of_times(t: np.ndarray) -> np.ndarray:
        x, R = (np.broadcast_to(array, (len(t), *array.shape[1:])) for array in a.at(t))
        y, S = (np.broadcast_to(array, (len(t), *array.shape[1:])) for array in b.at(t))
        if b.kind == "plane":
            return over_plane(a, x, R, y, S)
        if b.kind == "round":
            return between_rods(x, a.size[0] * R[:, :, 2], y, b.size[0] * S[:, :, 2]) - a.size[1] - b.size[1]
        if a.kind == "round":
            return rod_to_box(x, a.size[0] * R[:, :, 2], y, S, np.array(b.size)) - a.size[1]
        return between_boxes(x, R, np.array(a.size), y, S, np.array(b.size))

    return of_times


def approach(a: Thing, b: Thing) -> Rates:
    """Return the most that the distance of two solids changes per time, over spans."""
    return lambda low, high: 1.001 * (a.speed(low, high) + b.speed(low, high))


def over_plane(a: Thing, x: np.ndarray, R: np.ndarray, y: np.ndarray, S: np.ndarray) -> np.ndarray:
    """Heights (n,) of the lowest points of rounds or boxes over planes."""
    n = S[:, :, 2]
    level, axes = np.sum((x - y) * n, axis=1), np.abs(np.einsum("nij,ni->nj", R, n))
    lowest = a.size[0] * axes[:, 2] + a.size[1] if a.kind == "round" else axes @ np.array(a.size)
    return np.asarray(level - lowest)


def between_rods(x: np.ndarray, a: np.ndarray, y: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Distances (n,) of segments about x with half axes a and about y with half axes b, (n, 3) each."""
    ends = [point_to_rod(x + s * a, y, b) for s in (-1.0, 1.0)] + [point_to_rod(y + s * b, x, a) for s in (-1.0, 1.0)]
    best = np.min(ends, axis=0)
    aa, bb, ab = (np.sum(u * v, axis=1) for u, v in ((a, a), (b, b), (a, b)))
    d = x - y
    da, db, free = np.sum(d * a, axis=1), np.sum(d * b, axis=1), aa * bb - ab**2
    good = free > 1e-12 * aa * bb  # of parallel ones ends are as near as anything
    with np.errstate(divide="ignore", invalid="ignore"):
        s, r = (ab * db - bb * da) / free, (aa * db - ab * da) / free
        within = good & (np.abs(s) <= 1.0) & (np.abs(r) <= 1.0)
    s, r = np.where(within, s, 0.0), np.where(within, r, 0.0)
    crossing = np.linalg.norm(d + s[:, None] * a - r[:, None] * b, axis=1)
    return np.asarray(np.where(within, np.minimum(best, crossing), best))


def point_to_rod(p: np.ndarray, y: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Distances (n,) of points from segments about y with half axes b."""
    d, length2 = p - y, np.sum(b * b, axis=1)
    s = np.clip(np.sum(d * b, axis=1) / np.where(length2 > 0.0, length2, 1.0), -1.0, 1.0)
    return np.asarray(np.linalg.norm(d - s[:, None] * b, axis=1))


def rod_to_box(x: np.ndarray, a: np.ndarray, y: np.ndarray, S: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Distances (n,) of segments about x with half axes a from boxes about y with axes S.

    The square of the distance of the point x + s a is convex and a parabola between the values of s at which the
    point passes the planes of two faces; its derivative, which is monotone, is zero between two of them.
    """
    p, d = np.einsum("nij,ni->nj", S, x - y), np.einsum("nij,ni->nj", S, a)

    def beyond(s: np.ndarray) -> np.ndarray:
        q = p[:, None] + s[..., None] * d[:, None]
        return np.asarray(q - np.clip(q, -half, half))

    with np.errstate(divide="ignore", invalid="ignore"):
        passed = np.concatenate([(half - p) / d, (-half - p) / d], axis=1)
    passed = np.clip(np.nan_to_num(passed, nan=0.0, posinf=1.0, neginf=-1.0), -1.0, 1.0)
    s = np.sort(np.concatenate([passed, np.full((len(p), 1), -1.0), np.full((len(p), 1), 1.0)], axis=1), axis=1)
    slope = np.sum(beyond(s) * d[:, None], axis=2)
    last = np.clip(np.sum(slope < 0.0, axis=1) - 1, 0, s.shape[1] - 2)  # the last place where it still falls
    row = np.arange(len(p))
    s0, s1, f0, f1 = s[row, last], s[row, last + 1], slope[row, last], slope[row, last + 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(f1 > f0, np.clip(-f0 / (f1 - f0), 0.0, 1.0), 0.0)
    best = np.stack([s0 + share * (s1 - s0), s0, s1], axis=1)
    return np.asarray(np.linalg.norm(beyond(best), axis=2).min(axis=1))


def between_boxes(
    x: np.ndarray, R: np.ndarray, a: np.ndarray, y: np.ndarray, S: np.ndarray, b: np.ndarray
) -> np.ndarray:
    """Return the widest gap (n,) of two boxes across normals of faces and products of edges; negative: they overlap.

    Where they overlap it is their depth; where they do not it is at most their distance.
    """
    d = y - x
    crossed = np.cross(np.swapaxes(R, 1, 2)[:, :, None], np.swapaxes(S, 1, 2)[:, None]).reshape(len(x), 9, 3)
    length = np.linalg.norm(crossed, axis=2, keepdims=True)
    crossed = np.where(length > 1e-6, crossed / np.maximum(length, 1e-300), R[:, None, :, 0])
    n = np.concatenate([np.swapaxes(R, 1, 2), np.swapaxes(S, 1, 2), crossed], axis=1)
    widths = np.abs(n @ R) @ a + np.abs(n @ S) @ b
    return np.asarray((np.abs(np.einsum("nki,ni->nk", n, d)) - widths).max(axis=1))


# --- motions ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Flight:
    """A free body: its centre of mass on a parabola, its rotation that of a free top.

    p, v, g : (3,) place and velocity at the start, gravity
    w : (3,) angular velocity at the start, in the body's axes; moments : (3,) of inertia; turned : rotations over time
    """

    p: np.ndarray
    v: np.ndarray
    g: np.ndarray
    w: np.ndarray
    moments: np.ndarray
    turned: Callable[[np.ndarray], np.ndarray]

    def at(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return places (n, 3) and rotations (n or 1, 3, 3)."""
        s = np.asarray(t, float)[:, None]
        return self.p + s * self.v + 0.5 * s**2 * self.g, self.turned(t)

    def speed(self, arm: float) -> Rates:
        """Return the most that a point so far [m] from the centre of mass moves, over spans."""
        spin = arm * float(np.linalg.norm(self.moments * self.w)) / float(self.moments.min())

        def most(low: np.ndarray, high: np.ndarray) -> np.ndarray:
            ends = [np.linalg.norm(self.v + t[:, None] * self.g, axis=1) for t in (low, high)]
            return np.asarray(np.maximum(*ends) + spin)

        return most


def top(R: np.ndarray, w: np.ndarray, moments: np.ndarray, span: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return the rotations (n, 3, 3) over time of a free top that starts at R (3, 3), w in its axes.

    Where two moments are equal, in closed form: it turns about its momentum, which stands still, and in that about its
    axis.  Else Euler's equations, integrated to 1e-12.
    """
    if not np.any(w):
        return lambda t: R[None]
    if moments[0] == moments[1]:
        about = R @ (moments * w) / moments[0]
        own = np.array([0.0, 0.0, w[2] * (1.0 - moments[2] / moments[0])])
        return lambda t: (
            Rotation.from_rotvec(t[:, None] * about).as_matrix()
            @ R
            @ Rotation.from_rotvec(t[:, None] * own).as_matrix()
        )
    i, j, k = moments.tolist()

    def slope(t: float, y: np.ndarray) -> list[float]:
        a, b, c, d, x, y_, z = y.tolist()
        return [
            -0.5 * (b * x + c * y_ + d * z), 0.5 * (a * x + c * z - d * y_), 0.5 * (a * y_ + d * x - b * z),
            0.5 * (a * z + b * y_ - c * x), (j - k) / i * y_ * z, (k - i) / j * z * x, (i - j) / k * x * y_,
        ]  # fmt: skip

    start = [*Rotation.from_matrix(R).as_quat(scalar_first=True), *w]
    found = solve_ivp(slope, (0.0, span), start, method="DOP853", rtol=1e-12, atol=1e-12, dense_output=True)
    return lambda t: Rotation.from_quat(found.sol(t)[:4].T, scalar_first=True).as_matrix()


def still(kind: str, size: tuple[float, ...], place: np.ndarray, turn: np.ndarray) -> Thing:
    """Return a solid of the world."""
    at = np.zeros((1, 3)), np.eye(3)[None]
    return Thing(kind, size, lambda t: at, lambda low, high: np.zeros(len(low)), np.array(place), np.array(turn))


def carried(kind: str, size: tuple[float, ...], flight: Flight) -> Thing:
    """Return a solid about the centre of mass of a free body."""
    thing = Thing(kind, size, flight.at, lambda low, high: np.zeros(len(low)), np.zeros(3), np.eye(3))
    return replace(thing, speed=flight.speed(thing.reach))
