"""Eigenvalues of linear models over a parameter: in the complex plane, and their real parts over the values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from render.encode import cannot_write, whole
from render.page import no_date
from render.plots import KINDS, LINES
from render.view import RenderError
from sim.scene.shown import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GREY, UNSTABLE = "#9aa1a9", "#fbeeee"


def draw(
    values: np.ndarray, branches: np.ndarray, crossings: Sequence[tuple[float, complex]], parameter: str,
    out: str | Path, title: str, size: tuple[int, int] | None = None,
) -> Path:  # fmt: skip
    """Draw eigenvalues (values, branches), not-a-number where there is none, into a picture.

    crossings : value and eigenvalue where a real part passes through zero
    out : .png, .svg or .pdf; size : in pixels
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    out = Path(out)
    if out.suffix.lower() not in KINDS:
        raise RenderError(f"{out}: a plot ends in {', '.join(KINDS)}")
    panels, dpi = 1 if len(values) == 1 else 2, 130
    inches = ((size[0] + 0.01) / dpi, (size[1] + 0.01) / dpi) if size else (5.2 * panels, 4.6)
    with matplotlib.rc_context({"font.size": 9.5, "svg.hashsalt": "brachiate", "axes.formatter.useoffset": False}):
        figure = Figure(figsize=inches, dpi=dpi, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(1, panels, squeeze=False)[0]
        _plane(axes[0], branches, crossings)
        if panels == 2:
            _real_parts(axes[1], values, branches, crossings, parameter)
        figure.suptitle(one_line(title), parse_math=False, x=0.01, ha="left", fontsize=11, color="#4b525b")
        with whole(out) as part:
            try:
                figure.savefig(part, format=out.suffix[1:].lower(), metadata=no_date(out))
            except OSError as error:
                raise RenderError(cannot_write(out, error)) from error
    return out


def _plane(axis: Axes, branches: np.ndarray, crossings: Sequence[tuple[float, complex]]) -> None:
    """Draw the branches in the complex plane: a circle where each begins, a cross where it ends."""
    for k in range(branches.shape[1]):
        color, there = LINES[k % len(LINES)], branches[np.isfinite(branches[:, k]), k]
        if len(there):
            axis.plot(there.real, there.imag, color=color, linewidth=1.4)
            axis.plot(there.real[0], there.imag[0], "o", color=color, markersize=5, fillstyle="none")
            axis.plot(there.real[-1], there.imag[-1], "x", color=color, markersize=6)
    for _, eigenvalue in crossings:
        for sign in (1.0, -1.0) if eigenvalue.imag else (1.0,):
            axis.plot(eigenvalue.real, sign * eigenvalue.imag, ".", color="#333a44", markersize=7)
    axis.axvline(0.0, color=GREY, linewidth=0.9)
    axis.axhline(0.0, color=GREY, linewidth=0.9)
    low, high = axis.get_xlim()
    axis.axvspan(0.0, high, color=UNSTABLE, zorder=0)  # the line at zero is within the limits
    axis.set_xlim(low, high)
    axis.set_xlabel("real part [1/s]")
    axis.set_ylabel("imaginary part [rad/s]")
    _plain(axis)


def _real_parts(
    axis: Axes, values: np.ndarray, branches: np.ndarray, crossings: Sequence[tuple[float, complex]], parameter: str
) -> None:
    """Draw the real parts over the parameter, dashed where they oscillate."""
    for k in range(branches.shape[1]):
        color, real = LINES[k % len(LINES)], branches[:, k].real
        swings = np.abs(branches[:, k].imag) > 1e-9 * np.nanmax(np.abs(branches), initial=1e-300)
        axis.plot(values, real, color=color, linewidth=1.2, linestyle=(0, (1, 1)), alpha=0.5)
        axis.plot(values, np.where(swings, np.nan, real), color=color, linewidth=1.5)
        axis.plot(values, np.where(swings, real, np.nan), color=color, linewidth=1.5, linestyle=(0, (4, 2)))
    for value, _ in crossings:
        axis.plot(value, 0.0, ".", color="#333a44", markersize=7)
        axis.annotate(
            f"{value:.6g}", (value, 0.0), xytext=(3, 5), textcoords="offset points", fontsize=8, color="#5d646d"
        )
    axis.axhline(0.0, color=GREY, linewidth=0.9)
    low, high = axis.get_ylim()
    axis.axhspan(0.0, high, color=UNSTABLE, zorder=0)
    axis.set_ylim(low, high)
    axis.set_xlim(values[0], values[-1])
    axis.set_xlabel(parameter)
    axis.set_ylabel("real part [1/s], dashed: oscillates")
    _plain(axis)


def _plain(axis: Axes) -> None:
    axis.grid(color="#e3e6e9", linewidth=0.7)
    axis.spines[["top", "right"]].set_visible(False)
