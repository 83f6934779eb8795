"""What callers hand over in Python: read, or refused by a ValueError with the argument, what was found, what may be."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from sim.scene.load import load
from sim.scene.spec import Scene


def scene_of(scene: Any) -> Scene:
    """Return a scene, that of a model, or that of a file."""
    if isinstance(scene, Scene):
        return scene
    if isinstance(scene, str | os.PathLike):
        return load(scene)
    own = getattr(scene, "scene", None)  # of a Model
    if isinstance(own, Scene):
        return own
    raise ValueError(f"scene: found {found(scene)}; expected a path, or a scene that sim.load returned")


def found(value: Any) -> str:
    """Return a value as a sentence names it: as it is written where that is short, and of which kind it is."""
    text = repr(value)
    kind = type(value).__name__
    return f"{text} ({kind})" if len(text) <= 60 and "\n" not in text else f"something of the kind {kind}"


def array(name: str, values: Any) -> np.ndarray:
    """Return numbers as an array."""
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: numbers are expected, found {type(values).__name__}") from None


def three(name: str, values: Any, unit: str) -> np.ndarray:
    """Return three finite numbers."""
    numbers = array(name, values)
    if numbers.shape != (3,) or not np.all(np.isfinite(numbers)):
        raise ValueError(f"{name}: found {found(values)}; expected 3 finite numbers [{unit}]")
    return numbers


def whole(name: str, value: Any, least: int) -> int:
    """Return a whole number."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name}: found {value!r}; expected a whole number of at least {least}")
    return int(value)


def finite(name: str, value: Any) -> float:
    """Return a finite number."""
    number = _number(name, value)
    if not np.isfinite(number):
        raise ValueError(f"{name}: found {value!r}; expected a finite number")
    return number


def positive(name: str, value: Any) -> float:
    """Return a finite number above zero."""
    number = finite(name, value)
    if number <= 0.0:
        raise ValueError(f"{name}: found {value!r}; expected more than zero")
    return number


def seconds(name: str, value: Any, *, endless: bool = False) -> float:
    """Return a span or time of a run [s]: not below zero; infinite where it may be."""
    number = _number(name, value)
    if not (number >= 0.0 and (endless or number < np.inf)):
        raise ValueError(f"{name}: found {value!r}; expected a time of zero or more [s]")
    return number


def keys(name: str, values: Any) -> Sequence[tuple[str, float]]:
    """Return pairs of a key and the time [s] at which it is pressed."""
    try:
        pairs = [(key, at) for key, at in values]
    except (TypeError, ValueError):
        pairs = [(None, None)]
    if not all(isinstance(key, str) for key, _ in pairs):
        raise ValueError(f"{name}: found {found(values)}; expected pairs of a key and a time, as in [('let go', 2.5)]")
    return [(key, seconds(f"{name}, {key!r}", at)) for key, at in pairs]


def _number(name: str, value: Any) -> float:
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: found {found(value)}; expected a number") from None
