"""Kernels over other numbers than floats: the same functions as plain Python, over tables of objects.

A kernel names no type: what adds, multiplies and compares like a number goes through it.  So the text that numba
compiles over floats also finds derivatives, over the numbers of `sim.analysis.linear.duals`; nothing is written twice,
and nothing is compiled.
"""

from __future__ import annotations

import math
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

# What stands in for the kernels' own ways to reach arrays and one another, which go by addresses where they are
# compiled; a system is its four wholes.
_PLAIN = {
    "unpack": lambda system: system,
    "vector": lambda array, size: array[:size],
    "ask": lambda answers, question, system, t, a, b: answers[question](question, system, t, a, b),
}


class Plain:
    """Kernels as plain Python, each made anew when it is first asked for, with all that it calls.

    mathematics : what they find under the name `math`
    """

    def __init__(self, mathematics: Any):
        self._mathematics = mathematics
        self._made: dict[Any, Any] = {}

    def __call__(self, kernel: Any) -> Any:
        """Return a kernel, or who answers behind an address, as a Python function."""
        function = _function_of(kernel)
        if function not in self._made:
            names = dict(function.__globals__)
            made = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
            self._made[function] = made  # before what it calls
            for name in function.__code__.co_names:
                if name in names:
                    names[name] = self._stand_in(name, names[name])
        return self._made[function]

    def _stand_in(self, name: str, value: Any) -> Any:
        if value is math:
            return self._mathematics
        if name in _PLAIN:
            return _PLAIN[name]
        function = _function_of(value)
        own = isinstance(function, FunctionType) and function.__module__.startswith("sim.kernels.")
        return self(function) if own else value


def _function_of(kernel: Any) -> Any:
    """Return the Python function of a kernel, compiled or not, or of an entry."""
    return getattr(kernel, "py_func", getattr(kernel, "function", kernel))


def objects(whole: Any) -> Any:
    """Return Tables, Control or Work with the same numbers as Python's own, in arrays that hold any object."""
    return type(whole)(*(_objects(array) for array in whole))


def _objects(array: Any) -> Any:
    if array.dtype.names is None:
        return array.astype(object)
    return SimpleNamespace(**{name: np.asarray(array[name]).astype(object) for name in array.dtype.names})


def arrays(whole: Any) -> list[np.ndarray]:
    """Return all arrays of what `objects` returned, in order."""
    parts = (vars(part).values() if isinstance(part, SimpleNamespace) else (part,) for part in whole)
    return [array for part in parts for array in part]
