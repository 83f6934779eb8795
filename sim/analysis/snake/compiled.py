"""The three methods compiled: their own functions, as they stand, over arrays instead of lists.

So that their times beside each other and beside the engine's, which is compiled, are those of algorithms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np

from sim.analysis.snake import counting
from sim.analysis.snake.fixed_steps import Method
from sim.analysis.snake.links import Snake

_PACKAGE = __name__.rpartition(".")[0]
_ELEMENTARY: dict[Any, Any] = {counting.sin: math.sin, counting.cos: math.cos}
# As the engine's kernels are compiled: no reference counts, so nothing that allocates compiles.
_OPTIONS: dict[str, Any] = {"_nrt": False, "error_model": "numpy", "fastmath": {"contract", "arcp", "nsz"}}


def _njit(function: Callable[..., Any]) -> Any:
    import numba

    njit: Any = numba.njit
    return njit(**_OPTIONS)(function)


@cache
def compiled(function: Any) -> Any:
    """Return a function of this package compiled, with all that it calls."""
    if function in _ELEMENTARY:
        return _ELEMENTARY[function]
    names = {**function.__globals__}
    for name in function.__code__.co_names:
        value = names.get(name)
        if isinstance(value, FunctionType) and value.__module__.startswith(_PACKAGE):
            names[name] = compiled(value)
    return _njit(FunctionType(function.__code__, names, function.__name__))


class Compiled:
    """A method compiled, for a snake in one state."""

    def __init__(self, method: Method, snake: Snake, q: Sequence[float], u: Sequence[float], torques: Sequence[float]):
        self._work = method.room(snake.links, _zeros)
        state = [np.array(column, float) for column in (q, u, torques)]
        self._arguments = Snake._make(np.array(column, float) for column in snake), *state, self._work
        self._again = _repeating(method.accelerate)
        self._size = len(u)

    def repeat(self, times: int) -> int:
        """Find the rates of the speeds a number of times in one compiled call; return that number."""
        self._again(times, *self._arguments)
        return times

    def found(self) -> np.ndarray:
        """Return the rates of the speeds that were found."""
        return np.array(self._work.found[: self._size])


def _zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape)


@cache
def _repeating(accelerate: Callable[..., None]) -> Any:
    function = compiled(accelerate)

    def again(times: int, snake: Any, q: Any, u: Any, torques: Any, work: Any) -> None:
        for _ in range(times):
            function(snake, q, u, torques, work)

    return _njit(again)
