"""How often a test repeats itself where kernels are interpreted, a hundred times more slowly."""

from __future__ import annotations

from sim.kernels.jit import interpreted


def times(compiled: int, few: int) -> int:
    """Return how often: `few` times where kernels are interpreted."""
    return few if interpreted() else compiled
