"""Kernels as Python can call them: most have no door."""

from __future__ import annotations

from types import FunctionType
from typing import Any


def plain(kernel: Any) -> Any:
    """Return the Python function of a kernel, with the kernels that it calls as Python functions, too."""
    function = getattr(kernel, "py_func", kernel)
    called = {
        name: value
        for name in function.__code__.co_names
        if hasattr(value := function.__globals__.get(name), "py_func")
    }
    if not called:
        return function
    names = function.__globals__ | {name: plain(value) for name, value in called.items()}
    return FunctionType(function.__code__, names)
