"""Splines through the rows of tables, as kernels and compiled laws read them."""

from __future__ import annotations

import math

import numpy as np


def pieces_of(time: np.ndarray, values: np.ndarray, degree: int) -> np.ndarray:
    """Return the pieces of the splines through values (rows, k): (rows - 1, k, degree + 1) powers, the highest first.

    Each piece is a polynomial of the time since it began.
    """
    from scipy.interpolate import make_interp_spline  # late: most scenes have no table

    spline = make_interp_spline(time, values, degree)
    out = np.empty((len(time) - 1, values.shape[1], degree + 1))
    out[:, :, degree] = values[:-1]
    for power in range(1, degree + 1):  # Taylor's coefficients where each piece begins
        out[:, :, degree - power] = spline.derivative(power)(time[:-1]) / math.factorial(power)
    return out
