"""Where a family of motions gains or loses stability: where the number of growing roots changes over a parameter.

The number counts roots whose real part is above what roundoff makes of zero.  It is looked at at both ends of an
interval; where it differs, the root that begins to grow is found by a function that is regular where it does:

    Hopf        a pair passes the imaginary axis: its real part
    flutter     two pairs meet on the axis and part to both sides: the discriminant (l_a - l_b)^2 / 4 of the two
    buckling    a root passes zero: itself; or a pair +-l meets there and parts, as without damping: l^2

Neither energy kept nor symmetry of matrices is asked for: where roots come as +-l, as they do in undamped systems,
loaded by forces that follow, too, a root that grows has its mirror image, and that is seen at the root.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from sim.analysis.linear.equations import LinearError
from sim.analysis.linear.roots import matched

BUCKLING, FLUTTER, HOPF = "buckling", "flutter", "Hopf"
MIRRORED = 1e-6  # of a growing root: how far from the mirror image of another root's it may be to count as that
PASSES = 1e-9  # of the largest root: real part at which one passes through zero
NARROW = 1e-12  # of an interval's ends: width at which halving ends
BESIDE = 1e-4  # of an interval: how far beside a crossing roots are counted again
# Of the largest root: real part with which one that begins to grow within LEAPT of an interval's ends is of another
# family of motions, found from there on.  Where roots meet, it grows as the square root of the distance.
LEAPS, LEAPT = 1e-2, 1e-8
CALLS = 20  # of a regular function until its zero is found
DEPTH = 4  # halvings of an interval in which roots begin and cease to grow, their number the same at both ends


class Roots(Protocol):
    """What is asked of a linear model."""

    @property
    def roots(self) -> np.ndarray:
        """Roots that feed back (n,) [1/s]."""
        ...

    @property
    def spread(self) -> np.ndarray:
        """How far from zero a part of each must be to be told from zero (n,) [1/s]."""
        ...


@dataclass(frozen=True)
class Crossing:
    """A value of the parameter at which modes begin or cease to grow.

    Attributes
    ----------
    value : of the parameter
    eigenvalue : there [1/s], with a positive imaginary part where it oscillates
    rising : whether it becomes unstable
    kind : "buckling", a real root passes zero; "flutter", two oscillations meet and one grows; "Hopf", the damping of
        an oscillation passes zero
    modes : how many do so at once
    """

    value: float
    eigenvalue: complex
    rising: bool
    kind: str = ""
    modes: int = 1


class Locus:
    """The roots over a parameter, looked up once for each value.

    at : function of a value that returns its model
    scale : largest root in the whole range [1/s]
    """

    def __init__(self, at: Callable[[float], Roots], known: dict[float, Roots]):
        self._at, self._known = at, known
        self.scale = max((float(np.abs(m.roots).max(initial=0.0)) for m in known.values()), default=0.0)

    def at(self, value: float) -> Roots:
        """Return the model at a value."""
        if value not in self._known:
            self._known[value] = self._at(value)
        return self._known[value]

    def growing(self, value: float) -> np.ndarray:
        """Return the indices of the growing roots."""
        model = self.at(value)
        return np.flatnonzero(model.roots.real > model.spread)

    def count(self, value: float) -> int:
        """Return how many roots grow."""
        return len(self.growing(value))


def crossings(
    model_at: Callable[[float], Roots], values: Sequence[float], models: Sequence[Roots]
) -> tuple[tuple[Crossing, ...], tuple[float, ...]]:
    """Return where the number of growing roots changes between values, and where the motions leap to another family.

    Raises nothing where there is no model between two values: that is a leap.
    """
    locus = Locus(model_at, dict(zip(values, models, strict=True)))
    found: list[Crossing] = []
    leaps: list[float] = []
    looked = _without_touches(locus, list(values))
    for a, b in pairwise(looked):
        try:
            _between(locus, a, b, found, leaps)
        except LinearError:
            leaps.append(0.5 * (a + b))
    unlike = {(c.value, c.rising, c.kind): c for c in found}
    return tuple(sorted(unlike.values(), key=lambda c: c.value)), tuple(leaps)


def _without_touches(locus: Locus, values: list[float]) -> list[float]:
    """Leave out values at which a root only touches zero: beside them as many grow as at the neighbours."""
    out = values[:1]
    for n in range(1, len(values) - 1):
        before, value, after = values[n - 1 : n + 2]
        count = locus.count(before)
        if count == locus.count(after) != locus.count(value):
            beside = (value - BESIDE * (value - before), value + BESIDE * (after - value))
            if all(locus.count(p) == count for p in beside):
                continue
        out.append(value)
    return out + values[1:][-1:]


def _between(locus: Locus, a: float, b: float, found: list[Crossing], leaps: list[float], level: int = 0) -> None:
    """Add the crossings between a and b, by halves where one function does not tell them; level : of the halving."""
    if locus.count(a) == locus.count(b):
        if level < DEPTH and _exchanged(locus, a, b):
            middle = 0.5 * (a + b)
            _between(locus, a, middle, found, leaps, level + 1)
            _between(locus, middle, b, found, leaps, level + 1)
        return
    critical = _Critical(locus, a, b)
    value = critical.root() if level & (level - 1) == 0 else None  # at levels 0, 1, 2, 4, ..: it was regular or was not
    if value is not None:
        beside = (max(a, value - BESIDE * (b - a)), min(b, value + BESIDE * (b - a)))
        if locus.count(beside[0]) != locus.count(beside[1]):
            found.append(critical.crossing(value, *beside))
            _between(locus, a, beside[0], found, leaps, DEPTH)
            _between(locus, beside[1], b, found, leaps, DEPTH)
            return
    middle, width = 0.5 * (a + b), (b - a) / max(abs(a), abs(b))
    if critical.last.real > LEAPS * locus.scale and width < LEAPT:
        leaps.append(middle)
    elif width < NARROW or not a < middle < b:
        found.append(critical.crossing(critical.stable, a, b))
    else:
        _between(locus, a, middle, found, leaps, level + 1)
        _between(locus, middle, b, found, leaps, level + 1)


def _exchanged(locus: Locus, a: float, b: float) -> bool:
    """Tell whether a growing root at a is continued by one at b that does not grow."""
    first, last = locus.at(a).roots, locus.at(b).roots
    if len(first) > len(last):
        a, b, first, last = b, a, last, first
    grown = np.isin(matched(first, last), locus.growing(b))
    return bool(np.any(grown != np.isin(np.arange(len(first)), locus.growing(a))))


class _Critical:
    """The root that grows at one end of an interval and not at the other.

    stable, unstable : ends, by the number of growing roots
    last : the root where it grows, of those that do not at the other end the slowest
    """

    def __init__(self, locus: Locus, a: float, b: float):
        self.locus = locus
        rising = locus.count(b) > locus.count(a)
        self.stable, self.unstable = (a, b) if rising else (b, a)
        here, there = locus.at(self.unstable), locus.at(self.stable)
        growing, before = here.roots[locus.growing(self.unstable)], there.roots[locus.growing(self.stable)]
        new = np.setdiff1d(np.arange(len(growing)), matched(before, growing) if len(before) else [])
        self.last = complex(min(growing[new], key=lambda root: (root.real, -root.imag)))
        k = int(np.argmin(np.abs(here.roots - self.last)))
        self.real = abs(self.last.imag) <= here.spread[k]
        mirror = np.abs(here.roots + np.conj(self.last))
        self.mirrored = bool(mirror.min() <= MIRRORED * abs(self.last) + here.spread[k])
        # Roots that are zero at both ends belong to what runs on and to what is kept.
        self.resting = min(int(np.sum(np.abs(m.roots) <= m.spread)) for m in (here, there))
        self.kind = BUCKLING if self.real else FLUTTER if self.mirrored else HOPF
        self.first = self._beginning(there)

    def _beginning(self, model: Roots) -> complex:
        """Return the root at the stable end that `last` continues."""
        here = self.locus.at(self.unstable).roots
        k = int(np.argmin(np.abs(here - self.last)))
        if len(here) > len(model.roots):
            return complex(model.roots[np.argmin(np.abs(model.roots - self.last))])
        return complex(model.roots[matched(here, model.roots)[k]])

    def _near(self, value: float) -> complex:
        share = (value - self.stable) / (self.unstable - self.stable)
        return self.first + share * (self.last - self.first)

    def measure(self, value: float) -> float:
        """Return the function of the kind: negative where nothing grows, regular where it passes zero."""
        roots = self.locus.at(value).roots
        moving = roots[np.argsort(np.abs(roots))][self.resting :]
        if self.real and self.mirrored:
            return float((moving[0] ** 2).real)
        if not self.mirrored:
            return float(moving[np.argmin(np.abs(moving - self._near(value)))].real)
        pair = self._meeting(moving, value)
        return float(((pair[0] - pair[1]) ** 2).real) / 4.0

    def _meeting(self, roots: np.ndarray, value: float) -> np.ndarray:
        """Return the two roots that are nearest to where two meet on the imaginary axis."""
        pair: np.ndarray = roots[np.argsort(np.abs(roots - 1j * self._near(value).imag))][:2]
        return pair

    def root(self) -> float | None:
        """Return where the function is zero, if it is of unlike signs at the ends and regular there."""
        from scipy.optimize import brentq

        ends = [self.measure(self.stable), self.measure(self.unstable)]
        power = 2 if self.mirrored else 1
        noise = float(np.max(self.locus.at(self.stable).spread, initial=0.0))
        if not ends[1] > 0.0:
            return None
        if abs(ends[0]) <= min(noise, PASSES * self.locus.scale) ** power:
            return self.stable
        if ends[0] > 0.0:
            return None
        a, b = sorted((self.stable, self.unstable))
        tolerances = {"xtol": 1e-15 * (b - a), "rtol": 4 * np.finfo(float).eps, "maxiter": CALLS, "disp": False}
        value = float(brentq(self.measure, a, b, **tolerances))
        return value if abs(self.measure(value)) <= PASSES * self.locus.scale**power else None

    def crossing(self, value: float, a: float, b: float) -> Crossing:
        """Return the crossing at a value; a and b are beside it."""
        changed = abs(self.locus.count(b) - self.locus.count(a))
        frequency, roots = 0.0, self.locus.at(value).roots
        if self.kind == FLUTTER:
            frequency = float(np.mean(self._meeting(roots, value).imag))
        elif self.kind == HOPF:
            frequency = abs(complex(roots[np.argmin(np.abs(roots - self._near(value)))]).imag)
        modes = max(1, changed if self.real else changed // 2)
        return Crossing(value, 1j * frequency, self.unstable > self.stable, self.kind, modes)


__all__ = ["BUCKLING", "FLUTTER", "HOPF", "Crossing", "crossings"]
