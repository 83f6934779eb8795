"""Kernels as Python can call them: most have no door."""

from __future__ import annotations

from types import FunctionType
from typing import Any


def plain(kernel: Any, *callers: Any) -> Any:
    """Return the Python function of a kernel, with the kernels that it calls as Python functions, too.

    callers : those that led here: no kernel calls itself, so their names are those of columns of tables
    """
    function = getattr(kernel, "py_func", kernel)
    called = {
        name: value
        for name in function.__code__.co_names
        if hasattr(value := function.__globals__.get(name), "py_func") and value not in (kernel, *callers)
    }
    if not called:
        return function
    names = function.__globals__ | {name: plain(value, kernel, *callers) for name, value in called.items()}
    return FunctionType(function.__code__, names)
