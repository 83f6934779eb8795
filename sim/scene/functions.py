"""The functions of expressions, on quantities that carry their dimension."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from sim.scene.units import ONE, Quantity, UnitError, Vector, common, describe, scalar


def _apply(name: str, function: Callable[..., float], *values: Quantity) -> float:
    """Return the value of a function, not-a-number while an argument is live."""
    if any(item.live for item in values):
        return math.nan
    try:
        return function(*(item.value for item in values))
    except (ValueError, OverflowError) as error:
        shown = ", ".join(f"{item.value:g}" for item in values)
        raise UnitError(f"{name}({shown}) is not a finite number") from error


def _pure(name: str, function: Callable[..., float], angle: bool) -> Callable[[object], Quantity]:
    """Return a function of one pure number; `angle`: its result is an angle, not a bare number."""

    def call(argument: object) -> Quantity:
        item = scalar(argument, f"take {name} of")
        if item.dimension != ONE:
            raise UnitError(f"{name} takes a pure number or an angle, not {describe(item.dimension)}")
        return Quantity(_apply(name, function, item), ONE, not angle, item.live)

    return call


def _alike(name: str, function: Callable[..., float]) -> Callable[..., Quantity]:
    """Return a function of numbers of one dimension, whose result has it too."""

    def call(*arguments: object) -> Quantity:
        items = tuple(scalar(argument, f"take {name} of") for argument in arguments)
        dimension = common(items, f"take {name} of")
        live = any(item.live for item in items)
        return Quantity(_apply(name, function, *items), dimension, all(item.bare for item in items), live)

    return call


def _sqrt(argument: object) -> Quantity:
    item = scalar(argument, "take sqrt of")
    a, b, c = item.dimension
    return Quantity(_apply("sqrt", math.sqrt, item), (a / 2, b / 2, c / 2), item.bare, item.live)


def _atan2(y: object, x: object) -> Quantity:
    items = (scalar(y, "take atan2 of"), scalar(x, "take atan2 of"))
    common(items, "take atan2 of")
    return Quantity(_apply("atan2", math.atan2, *items), ONE, False, items[0].live or items[1].live)


def _vector(item: object, verb: str) -> Vector:
    if not isinstance(item, Vector):
        raise UnitError(f"can {verb} a list of numbers only, such as position('body')")
    return item


def _dot(a: object, b: object) -> Quantity:
    left, right = _vector(a, "take dot of"), _vector(b, "take dot of")
    if len(left) != len(right):
        raise UnitError(f"dot takes two lists of one length, not {len(left)} and {len(right)}")
    total = left[0] * right[0]
    for x, y in zip(left[1:], right[1:], strict=True):
        total = total + x * y  # type: ignore[operator]
    return total  # type: ignore[return-value]


def _norm(a: object) -> Quantity:
    return _sqrt(_dot(_vector(a, "take norm of"), a))


def _cross(a: object, b: object) -> Vector:
    left, right = _vector(a, "take cross of"), _vector(b, "take cross of")
    if len(left) != 3 or len(right) != 3:
        raise UnitError(f"cross takes two lists of three numbers, not {len(left)} and {len(right)}")
    pairs = ((1, 2), (2, 0), (0, 1))
    return Vector(left[i] * right[j] - left[j] * right[i] for i, j in pairs)  # type: ignore[operator]


# Name -> function, fewest and most arguments.
FUNCTIONS: dict[str, tuple[Callable[..., Any], int, int]] = {
    "sqrt": (_sqrt, 1, 1),
    "sin": (_pure("sin", math.sin, False), 1, 1),
    "cos": (_pure("cos", math.cos, False), 1, 1),
    "tan": (_pure("tan", math.tan, False), 1, 1),
    "asin": (_pure("asin", math.asin, True), 1, 1),
    "acos": (_pure("acos", math.acos, True), 1, 1),
    "atan": (_pure("atan", math.atan, True), 1, 1),
    "atan2": (_atan2, 2, 2),
    "exp": (_pure("exp", math.exp, False), 1, 1),
    "log": (_pure("log", math.log, False), 1, 1),
    "abs": (_alike("abs", abs), 1, 1),
    "min": (_alike("min", min), 2, 20),
    "max": (_alike("max", max), 2, 20),
    "clip": (_alike("clip", lambda x, low, high: min(max(x, low), high)), 3, 3),
    "norm": (_norm, 1, 1),
    "dot": (_dot, 2, 2),
    "cross": (_cross, 2, 2),
}
