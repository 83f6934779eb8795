"""Numbers that count what is done with them, and the elementary functions that the methods use."""

from __future__ import annotations

import math
import sys
from collections import Counter
from typing import Any

import numpy as np

PACKAGE = __name__.rpartition(".")[0]


def sin(x: Any) -> Any:
    """Return the sine of a number, in its own type."""
    return math.sin(x) if type(x) is float else np.sin(x)


def cos(x: Any) -> Any:
    """Return the cosine of a number, in its own type."""
    return math.cos(x) if type(x) is float else np.cos(x)


class Tally:
    """Operations by the functions of this package that ran them, outermost first: ``accelerations/solve``."""

    def __init__(self) -> None:
        self.additions: Counter[str] = Counter()
        self.multiplications: Counter[str] = Counter()
        self.functions: Counter[str] = Counter()

    def number(self, value: float) -> Counted:
        """Return a number that is counted here."""
        return Counted(value, self)

    def evaluations(self) -> int:
        """Return how many sines and cosines were taken, which the paper leaves out."""
        return sum(self.functions.values())

    def within(self, *stages: str) -> tuple[int, int]:
        """Return multiplications and additions within any of some functions; all without one.

        stages : a function's name, or some as they called each other: ``velocities/speed``
        """
        chosen = [f"/{stage}/" for stage in stages] or ["/"]

        def total(counts: Counter[str]) -> int:
            return sum(n for path, n in counts.items() if any(stage in f"/{path}/" for stage in chosen))

        return total(self.multiplications), total(self.additions)


def _running() -> str:
    """Return the path of functions of this package that called an operation."""
    frame, names = sys._getframe(1), []
    while frame is not None:
        module, name = frame.f_globals.get("__name__", ""), frame.f_code.co_name
        if module.startswith(PACKAGE) and module != __name__ and not name.startswith("<"):
            names.append(name)
        frame = frame.f_back  # type: ignore[assignment]
    return "/".join(reversed(names))


class Counted:
    """A float that counts: subtractions are additions, divisions multiplications, a change of sign is free."""

    __slots__ = ("tally", "value")

    def __init__(self, value: float, tally: Tally) -> None:
        self.value = float(value)
        self.tally = tally

    def _added(self, value: float) -> Counted:
        self.tally.additions[_running()] += 1
        return Counted(value, self.tally)

    def _multiplied(self, value: float) -> Counted:
        self.tally.multiplications[_running()] += 1
        return Counted(value, self.tally)

    def _evaluated(self, value: float) -> Counted:
        self.tally.functions[_running()] += 1
        return Counted(value, self.tally)

    def __add__(self, other: Any) -> Counted:
        return self._added(self.value + float(other))

    def __sub__(self, other: Any) -> Counted:
        return self._added(self.value - float(other))

    def __rsub__(self, other: Any) -> Counted:
        return self._added(float(other) - self.value)

    def __mul__(self, other: Any) -> Counted:
        return self._multiplied(self.value * float(other))

    def __truediv__(self, other: Any) -> Counted:
        return self._multiplied(self.value / float(other))

    def __rtruediv__(self, other: Any) -> Counted:
        return self._multiplied(float(other) / self.value)

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Counted:
        return Counted(-self.value, self.tally)

    def sin(self) -> Counted:
        """Return the sine; numpy calls this."""
        return self._evaluated(math.sin(self.value))

    def cos(self) -> Counted:
        """Return the cosine; numpy calls this."""
        return self._evaluated(math.cos(self.value))

    def __float__(self) -> float:
        return self.value
