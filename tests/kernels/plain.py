"""Kernels as Python can call them: most have no door."""

from __future__ import annotations

from typing import Any


def plain(kernel: Any) -> Any:
    """Return the Python function of a kernel that calls no other kernel."""
    return getattr(kernel, "py_func", kernel)
