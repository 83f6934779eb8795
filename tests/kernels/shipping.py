"""A kernel that Python enters, and one that it calls."""

from __future__ import annotations

from sim.kernels.jit import kernel, python_kernel


@kernel
def twice(x):
    """Return twice x."""
    return 2.0 * x


@python_kernel
def four():
    """Return 4."""
    return twice(2.0)
