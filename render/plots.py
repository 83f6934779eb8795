"""Curves of a recording over time, and the same numbers as a table."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from render import page
from render.encode import whole
from render.signals import ENERGIES, Signal, Signals
from render.view import Event, RenderError, events_of, open_recording
from sim.recording.kinds import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

KINDS = (".png", ".svg", ".pdf")
LINES = ["#4a7fa8", "#d98645", "#6f9440", "#b4637a", "#7d74b0", "#b8932b", "#3f8f86", "#8c7a6b", "#333a44", "#c0504d"]
OVERVIEW_CURVES = 6  # coordinates of one unit in the overview
QUANTITY = re.compile(
    r"(?:trust\.)?\b(coordinate|rate|torque|stop_torque|friction_torque|position_residual|velocity_residual"
    r"|smallest_singular_value|rank|position|angular_velocity|velocity|orientation|com|distance|local|slip|force|moment"
    r"|contact|pressing|friction|cop|zmp|length|tension|determinate|energy)\b"
)
SMALLEST = 1e-17  # residuals below this, zero too, are drawn here
ROUNDOFF = 1e-12  # what changes by no more than this share of its size is drawn as what it is, constant
LENGTHS = ("m", "cm", "mm")
OVER_GRID = 1.8  # and under the curves


def plot(
    recording: str | Path,
    signals: Sequence[str],
    out: str | Path,
    *,
    size: tuple[int, int] | None = None,
    title: str | None = None,
    xy: bool = False,
) -> Path:
    """Draw signals (see render.signals) over time into a picture; without signals, an overview.

    Signals of one unit share a panel; residuals have a logarithmic scale.  Lines are broken
    where an event changes values at once.  Events of the scene are upright lines with their names; what happens
    without being said, impacts and changes of contact, are ticks at the foot of each panel, counted below.

    out : .png, .svg or .pdf; .csv writes the numbers instead (see `export`)
    size : in pixels
    xy : signals come in pairs, the second of each drawn over the first; lengths over lengths to one scale
    """
    out = Path(out)
    if out.suffix.lower() == ".csv":
        return export(recording, signals, out)
    if out.suffix.lower() not in KINDS:
        raise RenderError(f"{out}: a plot ends in {', '.join(KINDS)} or .csv")
    with open_recording(recording) as file:
        source = Signals(file)
        drawn = [source.evaluate(text) for text in signals] if signals or xy else overview(source)
        events = events_of(file)
        name = title if title is not None else str(file.attrs.get("scene", ""))
    if xy:
        return draw_ways(source.time, in_pairs(drawn), events, out, name, size)
    return draw(source.time, panels(drawn), events, out, name, size)


def in_pairs(signals: Sequence[Signal]) -> list[tuple[Signal, Signal]]:
    """Return signals two by two; raise RenderError where one is left over, or is no single number."""
    if not signals or len(signals) % 2:
        raise RenderError(f"one signal over another takes two, or some pairs; there {_are(len(signals))}")
    for signal in signals:
        if signal.values.ndim > 1:
            raise RenderError(
                f"signal {signal.text!r}: {len(signal.values)} numbers where one is drawn; pick it, as in [0]"
            )
    return list(zip(signals[::2], signals[1::2], strict=True))


def _are(number: int) -> str:
    return {0: "are none", 1: "is one"}.get(number, f"are {number}")


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
    return [*chosen, residual] if np.nanmax(residual.values, initial=0.0) > 0.0 else chosen


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
    named, ticks = page.sorted_out(events, time[0], time[-1])
    labels = [[label for signal in group for label, _ in signal.components()] for group in groups]
    foot = f"ticks: {', '.join(counted(Counter(event.kind for event in ticks)))}" if ticks else ""
    with page.style():
        made = page.Page(labels, size, title, foot)
        for panel, (axis, group) in enumerate(zip(made.axes, groups, strict=True)):
            made.curves[panel] = _panel(axis, time, group)
            _mark(axis, named, ticks)
        made.figure.align_ylabels(made.axes)
        made.axes[-1].set_xlabel("time [s]")
        if time[-1] > time[0]:
            made.axes[-1].set_xlim(time[0], time[-1])
        made.name(made.axes[0], [(at[0], name if len(at) == 1 else f"{name} \u00d7{len(at)}") for name, at in named])
        return made.save(out)


def draw_ways(
    time: np.ndarray,
    pairs: Sequence[tuple[Signal, Signal]],
    events: Sequence[Event],
    out: Path,
    title: str,
    size: tuple[int, int] | None,
) -> Path:
    """Draw signals over signals, both over the rows of time (n,), into a picture; see `plot`."""
    groups: dict[tuple[str, str], list[tuple[Signal, Signal]]] = {}
    for x, y in pairs:
        groups.setdefault((x.unit, y.unit), []).append((x, y))
    labels = [[f"{y.text} over {x.text}" for x, y in group] if len(pairs) > 1 else [] for group in groups.values()]
    named, _ = page.sorted_out(events, time[0], time[-1])
    with page.style():
        made = page.Page(labels, size, title, "circle: start, cross: end", panel=(7.4, 5.6), shared=False)
        for panel, (axis, ((unit, other), group)) in enumerate(zip(made.axes, groups.items(), strict=True)):
            made.curves[panel] = [_way(axis, time, x.values, y.values, k) for k, (x, y) in enumerate(group)]
            axis.set_xlabel(_with_unit(group[0][0].text if len(group) == 1 else _common([x for x, _ in group]), unit))
            axis.set_ylabel(_with_unit(group[0][1].text if len(group) == 1 else _common([y for _, y in group]), other))
            _plain(axis)
            if unit == other and unit in LENGTHS:
                axis.set_aspect("equal", adjustable="datalim")
        made.arrange()
        for axis, group in zip(made.axes, groups.values(), strict=True):
            _name_on_way(made, axis, time, group, named)
        return made.save(out)


def _panel(axis: Axes, time: np.ndarray, group: list[Signal]) -> list[Line2D]:
    """Draw the signals of one unit over time and return their lines."""
    curves = [curve for signal in group for curve in signal.components()]
    drawn: list[Line2D] = []
    for k, (_, values) in enumerate(curves):
        shown = np.maximum(np.abs(values), SMALLEST) if logarithmic(group[0]) else values
        drawn += axis.plot(*broken(time, shown), color=LINES[k % len(LINES)], linestyle=_dash(k), linewidth=1.4)
    if logarithmic(group[0]):
        axis.set_yscale("log")
    else:
        axis.set_ylim(*_spread(axis.get_ylim(), [values for _, values in curves]))
    axis.set_ylabel(_with_unit(_common(group), group[0].unit))
    _plain(axis)
    return drawn


def _dash(k: int) -> Any:
    """Return the kind of line of the k-th curve of a panel: one more whenever the colours begin again."""
    return ("-", (0, (5, 2)), (0, (1, 1)))[(k // len(LINES)) % 3]


def _with_unit(words: str, unit: str) -> str:
    return f"{words} [{unit}]".strip() if unit not in ("", "1") else words


def _plain(axis: Axes) -> None:
    axis.grid(color="#e3e6e9", linewidth=0.7)
    axis.spines[["top", "right"]].set_visible(False)


def _spread(limits: tuple[float, float], values: Sequence[np.ndarray]) -> tuple[float, float]:
    """Return the ends of an axis, apart enough where all that differs is the last digits of one number."""
    there = np.concatenate([np.ravel(v) for v in values])
    there = there[np.isfinite(there)]
    size = float(np.abs(there).max(initial=0.0))
    if not len(there) or np.ptp(there) > ROUNDOFF * size:
        return limits
    middle = float(there.mean())
    return middle - 0.05 * (size or 1.0), middle + 0.05 * (size or 1.0)


def _mark(axis: Axes, named: Sequence[tuple[str, list[float]]], ticks: Sequence[Event]) -> None:
    """Draw upright lines where named events happen, and ticks at the foot of a panel where others do."""
    for _, at in named:
        for time in at:
            axis.axvline(time, color=page.RULE, linewidth=0.8, linestyle=(0, (4, 3)), zorder=OVER_GRID)
    if ticks:
        axis.plot(
            [event.time for event in ticks], np.full(len(ticks), 0.02), "|", transform=axis.get_xaxis_transform(),
            color=page.RULE, markersize=5, markeredgewidth=0.7, zorder=OVER_GRID,
        )  # fmt: skip


def _way(axis: Axes, time: np.ndarray, x: np.ndarray, y: np.ndarray, k: int) -> Line2D:
    """Draw one signal over another, a circle where it begins, a cross where it ends, and return its line."""
    color = LINES[k % len(LINES)]
    (_, x_drawn), (_, y_drawn) = broken(time, x), broken(time, y)
    (line,) = axis.plot(x_drawn, y_drawn, color=color, linestyle=_dash(k), linewidth=1.4)
    there = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    if len(there):
        axis.plot(x[there[0]], y[there[0]], "o", color=color, markersize=6, fillstyle="none")
        axis.plot(x[there[-1]], y[there[-1]], "x", color=color, markersize=6)
    return line


def _name_on_way(
    made: page.Page, axis: Axes, time: np.ndarray, group: Sequence[tuple[Signal, Signal]],
    named: Sequence[tuple[str, list[float]]],
) -> None:  # fmt: skip
    """Mark where the curves of a panel are when named events happen, and name them on the first."""
    for name, at in named:
        for first, (x, y) in enumerate(group):
            rows = [int(np.searchsorted(time, t, side="right")) - 1 for t in at]  # after the event
            axis.plot(x.values[rows], y.values[rows], ".", color=page.INK, markersize=6)
            place = (x.values[rows[0]], y.values[rows[0]])
            if first or not np.isfinite(place).all():
                continue
            rightwards = axis.transData.transform(place)[0] < 0.5 * made.width
            words = axis.annotate(
                name, place, xytext=(5 if rightwards else -5, 4), textcoords="offset points", fontsize=page.NAME,
                color=page.FAINT, ha="left" if rightwards else "right", parse_math=False,
            )  # fmt: skip
            words.set_in_layout(False)
            made.cut(words, page.LONGEST * made.width)


def _common(group: Sequence[Signal]) -> str:
    """Return a word for what the signals of a panel have in common; empty where there is none."""
    words = {word.group(1) if (word := QUANTITY.search(signal.text)) else "" for signal in group}
    return words.pop().replace("_", " ") if len(words) == 1 else ""
