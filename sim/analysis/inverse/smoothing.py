"""Rates and accelerations of what was sampled: splines, and before them a filter where samples are noisy.

Splines interpolate (degree five, so accelerations are smooth).  The filter is a Butterworth of second order that runs
forward and back, which shifts nothing in time (Winter, Biomechanics and Motor Control of Human Movement, 2009, 3.4);
both are scipy's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.signal import butter, sosfiltfilt

DEGREE = 5
FEWEST = DEGREE + 1  # rows
TWICE = 0.802  # cut-off of one pass over that of both: (sqrt(2) - 1)^(1/4)
EVEN = 1e-3  # of the mean time between rows: how uneven they may be for the filter to take them as they are
TRIED = np.linspace(0.02, 0.9, 89)  # of half the rate of samples: cut-offs that are tried
NOISE = 0.5  # the same: from here on what is filtered away is noise alone


@dataclass(frozen=True)
class Fit:
    """One number over time.

    value, rate, acceleration : (rows,)
    cutoff : Hz of the filter, None without one
    residual : rms of what the filter took away
    """

    value: np.ndarray
    rate: np.ndarray
    acceleration: np.ndarray
    cutoff: float | None = None
    residual: float = 0.0


@dataclass(frozen=True)
class TurnFit:
    """A rotation over time.

    rotation : (rows, 3) rotation vector
    rate, acceleration : (rows, 3) angular velocity and acceleration, in the turned axes
    cutoff, residual : as of `Fit`; of quaternions
    """

    rotation: np.ndarray
    rate: np.ndarray
    acceleration: np.ndarray
    cutoff: float | None = None
    residual: float = 0.0


def fit(time: np.ndarray, values: np.ndarray, cutoff: float | str | None = None) -> Fit:
    """Return a number (rows,) over time with its derivatives.

    Parameters
    ----------
    time, values : (rows,)
    cutoff : float, "auto" or None
        Hz of the filter; "auto" finds one by what is filtered away (`cutoff_of`); None filters nothing.

    Raises
    ------
    ValueError
        Where there are too few rows, or the cut-off is beyond what the samples can tell.
    """
    if len(time) < FEWEST:
        raise ValueError(f"found {len(time)} rows; expected {FEWEST} at the least, to find accelerations")
    hertz = cutoff_of(time, values) if cutoff == "auto" else cutoff
    smooth = values if hertz is None else filtered(time, values, float(hertz))
    spline = make_interp_spline(time, smooth, DEGREE)
    residual = float(np.sqrt(np.mean((smooth - values) ** 2)))
    return Fit(smooth, spline.derivative(1)(time), spline.derivative(2)(time), hertz, residual)  # type: ignore[arg-type]


def fit_turns(time: np.ndarray, rotation: np.ndarray, cutoff: float | str | None = None) -> TurnFit:
    """Return a rotation (rows, 3), rotation vectors, over time with its angular velocity and acceleration."""
    from scipy.spatial.transform import Rotation

    x, y, z, w = Rotation.from_rotvec(rotation).as_quat().T
    p = np.column_stack([w, x, y, z])
    p *= _signs(p)
    parts = [fit(time, p[:, k], cutoff) for k in range(4)]
    s, ds, dds = (
        np.column_stack([getattr(part, name) for part in parts]) for name in ("value", "rate", "acceleration")
    )
    length = np.linalg.norm(s, axis=1, keepdims=True)
    s, ds, dds = s / length, ds / length, dds / length
    # Of the path on the sphere: s = r p with r = 1 here, so s' = r' p + p' and s'' = r'' p + 2 r' p' + p''.
    grows = np.sum(s * ds, axis=1, keepdims=True)
    rate = 2.0 * _vector(s, ds)
    acceleration = 2.0 * _vector(s, dds) - 2.0 * grows * rate
    turned = Rotation.from_quat(s[:, [1, 2, 3, 0]]).as_rotvec()
    cutoffs = [part.cutoff for part in parts if part.cutoff is not None]
    residual = float(np.sqrt(np.mean(np.sum((s - p) ** 2, axis=1)))) if cutoffs else 0.0
    return TurnFit(turned, rate, acceleration, min(cutoffs, default=None), residual)


def _signs(p: np.ndarray) -> np.ndarray:
    """Return (rows, 1) signs of quaternions with which each is near to the one before."""
    turned = np.where(np.sum(p[1:] * p[:-1], axis=1) < 0.0, -1.0, 1.0)
    return np.concatenate([[1.0], np.cumprod(turned)])[:, None]


def _vector(p: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the vector part of conj(p) b (rows, 3)."""
    return p[:, :1] * b[:, 1:] - b[:, :1] * p[:, 1:] - np.cross(p[:, 1:], b[:, 1:])


def filtered(time: np.ndarray, values: np.ndarray, cutoff: float) -> np.ndarray:
    """Return values without what is faster than the cut-off [Hz]: at it half of the power is left."""
    step = float(np.mean(np.diff(time)))
    if not 0.0 < cutoff < 0.5 / step * TWICE:
        raise ValueError(f"cutoff: found {cutoff:g} Hz; expected less than {0.5 / step * TWICE:.4g} Hz, as rows are "
                         f"{step:.4g} s apart")  # fmt: skip
    sections = butter(2, cutoff / TWICE * 2.0 * step, output="sos")
    even = bool(np.abs(np.diff(time) - step).max() <= EVEN * step)
    grid = time if even else np.linspace(time[0], time[-1], len(time))
    sampled = values if even else make_interp_spline(time, values, 3)(grid)
    # Beyond its ends a motion goes on as if turned about its last row; as far as the filter remembers.
    memory = min(len(grid) - 1, int(np.ceil(3.0 / (cutoff * step))))
    smooth = sosfiltfilt(sections, sampled, padtype="odd", padlen=memory)
    return np.asarray(smooth if even else make_interp_spline(grid, smooth, 3)(time))


def cutoff_of(time: np.ndarray, values: np.ndarray) -> float:
    """Return the cut-off [Hz] at which what is filtered away begins to be more than noise.

    Winter's residual analysis: of white noise, the rms of what is filtered away falls along a line as the cut-off
    grows; that line, fitted where nothing but noise is left, meets zero cut-off at the rms of all noise, and the
    cut-off is the least with no more than that filtered away.
    """
    half = 0.5 / float(np.mean(np.diff(time))) * TWICE
    away = np.array([np.sqrt(np.mean((filtered(time, values, share * half) - values) ** 2)) for share in TRIED])
    _slope, noise = np.polyfit(TRIED[TRIED >= NOISE], away[TRIED >= NOISE], 1)
    enough = np.flatnonzero(away <= max(noise, 0.0))
    return float(half * TRIED[enough[0] if len(enough) else -1])
