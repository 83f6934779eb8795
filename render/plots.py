"""Curves of a recording over time, and the same numbers as a table."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from render.encode import cannot_write, whole
from render.signals import ENERGIES, Signal, Signals
from render.view import Event, RenderError, events_of, open_recording

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = (".png", ".svg", ".pdf")
LINES = ["#4a7fa8", "#d98645", "#6f9440", "#b4637a", "#7d74b0", "#b8932b", "#3f8f86", "#8c7a6b", "#333a44", "#c0504d"]
OVERVIEW_CURVES = 6  # coordinates of one unit in the overview
QUANTITY = re.compile(
    r"(?:trust\.)?\b(coordinate|rate|torque|position_residual|velocity_residual|smallest_singular_value|rank|position"
    r"|angular_velocity|velocity|orientation|com|distance|force|moment|length|tension|determinate|energy)\b"
)
SMALLEST = 1e-17  # residuals below this, zero too, are drawn here


def plot(
    recording: str | Path,
    signals: Sequence[str],
    out: str | Path,
    *,
    size: tuple[int, int] | None = None,
    title: str | None = None,
) -> Path:
    """Draw signals (see render.signals) over time into a picture; without signals, an overview.

    Signals of one unit share a panel; residuals have a logarithmic scale.  Lines are broken
    where an event changes values at once; events are upright lines with their names.

    out : .png, .svg or .pdf; .csv writes the numbers instead (see `export`)
    size : in pixels
    """
    out = Path(out)
    if out.suffix.lower() == ".csv":
        return export(recording, signals, out)
    if out.suffix.lower() not in KINDS:
        raise RenderError(f"{out}: a plot ends in {', '.join(KINDS)} or .csv")
    with open_recording(recording) as file:
        source = Signals(file)
        drawn = [source.evaluate(text) for text in signals] if signals else overview(source)
        events = events_of(file)
        name = title if title is not None else str(file.attrs.get("scene", ""))
    return draw(source.time, panels(drawn), events, out, name, size)


def export(recording: str | Path, signals: Sequence[str], out: str | Path) -> Path:
    """Write signals as a table (CSV): one line for each row of the recording, the first column is time.

    The head names each column with its unit; what is not a number is left empty.  Numbers have
    all their digits.
    """
    with open_recording(recording) as file:
        source = Signals(file)
        written = [source.evaluate(text) for text in signals] if signals else overview(source)
    columns = [("t [s]", source.time)]
    for signal in written:
        unit = f" [{signal.unit}]" if signal.unit not in ("", "1") else ""
        columns += [(label + unit, values) for label, values in signal.components()]
    with whole(Path(out)) as part, part.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([label for label, _ in columns])
        for row in zip(*(values for _, values in columns), strict=True):
            writer.writerow(["" if np.isnan(value) else repr(float(value)) for value in row])
    return Path(out)


def overview(source: Signals) -> list[Signal]:
    """Return energies, their balance, the coordinates that move most, and the loop residual."""
    chosen = [source.evaluate(f"energy.{key}") for key in ENERGIES if key != "balance"]
    chosen = [s for s in chosen if s.text in ("energy.kinetic", "energy.potential") or np.nanmax(np.abs(s.values)) > 0]
    chosen.append(source.evaluate("energy.balance"))
    for unit in ("rad", "m"):
        chosen += _widest(source, unit)
    residual = source.evaluate("trust.position_residual")
    return [*chosen, residual] if np.isfinite(residual.values).any() else chosen


def _widest(source: Signals, unit: str) -> list[Signal]:
    """Return the coordinates of one unit that move most."""
    ranges = []
    values = source.file["joints/coordinate"]
    for k, column in enumerate(source.columns):
        if column["unit"] in (unit.encode(), unit):
            there = values[: source.rows, k]
            there = there[np.isfinite(there)]
            ranges.append((float(np.ptp(there)) if len(there) else 0.0, k))
    best = sorted((-width, k) for width, k in ranges if width > 1e-9)[:OVERVIEW_CURVES]
    names = [source._column_name[k] for _, k in sorted(best, key=lambda pair: pair[1])]
    return [source.evaluate(f"coordinate({name!r})") for name in names]


def panels(signals: Sequence[Signal]) -> list[list[Signal]]:
    """Group signals by unit; residuals and the energy balance, far smaller than the rest, stand alone."""
    groups: dict[tuple[str, bool, bool], list[Signal]] = {}
    for signal in signals:
        key = (signal.unit, logarithmic(signal), signal.text == "energy.balance")
        groups.setdefault(key, []).append(signal)
    return list(groups.values())


def logarithmic(signal: Signal) -> bool:
    """Whether a signal wants a logarithmic scale: residuals span many powers of ten."""
    return signal.logarithmic or signal.text in ("trust.position_residual", "trust.velocity_residual")


def broken(time: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return time and values with a gap between the two rows of each event's instant."""
    twins = np.flatnonzero(np.diff(time) == 0) + 1
    return np.insert(time, twins, np.nan), np.insert(values, twins, np.nan)


def draw(
    time: np.ndarray,
    groups: list[list[Signal]],
    events: Sequence[Event],
    out: Path,
    title: str,
    size: tuple[int, int] | None,
) -> Path:
    """Draw groups of signals over time (n,), a panel each, into a picture; see `plot`."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    dpi = 130
    inches = (size[0] / dpi, size[1] / dpi) if size else (9.6, 1.0 + 2.1 * max(len(groups), 1.6))
    with matplotlib.rc_context({"font.size": 9.5, "svg.hashsalt": "brachiate", "axes.formatter.useoffset": False}):
        figure = Figure(figsize=inches, dpi=dpi, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(len(groups), 1, sharex=True, squeeze=False)[:, 0]
        for axis, group in zip(axes, groups, strict=True):
            _panel(axis, time, group)
            for event in events:
                axis.axvline(event.time, color="#9aa1a9", linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
        figure.align_ylabels(axes)
        _name_events(axes[0], [event for event in events if event.kind != "disarmed"], time)
        axes[-1].set_xlabel("time [s]")
        if time[-1] > time[0]:
            axes[-1].set_xlim(time[0], time[-1])
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, color="#4b525b")
        with whole(out) as part:
            try:
                figure.savefig(part, format=out.suffix[1:].lower(), metadata=no_date(out))
            except OSError as error:
                raise RenderError(cannot_write(out, error)) from error
    return out


def no_date(out: Path) -> dict[str, None]:
    """Metadata without the time of day, so that equal runs give equal files."""
    return {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(out.suffix.lower(), {})


def _panel(axis: Axes, time: np.ndarray, group: list[Signal]) -> None:
    """Draw the signals of one unit."""
    curves = [curve for signal in group for curve in signal.components()]
    for k, (label, values) in enumerate(curves):
        shown = np.maximum(np.abs(values), SMALLEST) if logarithmic(group[0]) else values
        axis.plot(*broken(time, shown), label=label, color=LINES[k % len(LINES)], linewidth=1.4)
    if logarithmic(group[0]):
        axis.set_yscale("log")
    unit = group[0].unit
    axis.set_ylabel(f"{_common(group)} [{unit}]".strip() if unit not in ("", "1") else _common(group))
    axis.grid(color="#e3e6e9", linewidth=0.7)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=8.5, borderaxespad=0.2)


def _common(group: list[Signal]) -> str:
    """Return a word for what the signals of a panel have in common; empty where there is none."""
    words = {word.group(1) if (word := QUANTITY.search(signal.text)) else "" for signal in group}
    return words.pop().replace("_", " ") if len(words) == 1 else ""


def _name_events(axis: Axes, events: Sequence[Event], time: np.ndarray) -> None:
    """Write the names of events above the first panel, in as many lines as they need side by side."""
    span = max(time[-1] - time[0], 1e-12)
    ends: list[float] = []  # where each line of names is free again
    for event in events:
        at = (event.time - time[0]) / span
        if not -0.001 <= at <= 1.001:
            continue
        width = 0.012 * len(event.name) + 0.01
        line = next((k for k, end in enumerate(ends) if end <= at), len(ends))
        ends[line : line + 1] = [at + width]
        axis.annotate(
            event.name,
            (event.time, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(2, 2 + 11 * line),
            textcoords="offset points",
            fontsize=8,
            color="#5d646d",
            annotation_clip=False,
        )
