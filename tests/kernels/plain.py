"""Kernels as Python can call them: most are compiled for other kernels only."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any


def plain(kernel: Any, **instead: Any) -> Any:
    """Return the Python function of a kernel, with the kernels that it calls as Python functions, too.

    instead : functions, by their names, that are called in place of kernels, from whatever is called
    """
    return _plain(kernel, (), instead)


def _plain(kernel: Any, callers: tuple[Any, ...], instead: dict[str, Callable[..., Any]]) -> Any:
    """Do so below `callers`, those that led here: no kernel calls itself, so their names are columns of tables."""
    function = getattr(kernel, "py_func", kernel)
    called = {}
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if name in instead and value is not None:
            called[name] = instead[name]
        elif (hasattr(value, "py_func") or (instead and _is_kernel(value))) and value not in (kernel, *callers):
            called[name] = _plain(value, (kernel, *callers), instead)
    if not called:
        return function
    return FunctionType(function.__code__, function.__globals__ | called)


def _is_kernel(value: Any) -> bool:
    """Tell whether a value is a kernel that is interpreted."""
    return isinstance(value, FunctionType) and value.__module__.startswith("sim.kernels.")


def ask(answers: Any, question: int, system: Any, t: float, a: Any, b: Any) -> int:
    """Ask a system whose answers are Python functions; to be given to `plain`."""
    return int(answers[question](question, system, t, a, b))
