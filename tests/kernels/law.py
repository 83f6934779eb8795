"""A law of a controller to compile in tests."""

from __future__ import annotations


def push(t, coordinate, rate, constants, torque):
    """Push the first column."""
    torque[0] += constants[0]
