"""`sim inverse`: the torques that a motion takes, of a table or a recording."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sim.cli import options
from sim.cli.drawing import PLOTS
from sim.cli.outcome import OK, Refusal, print_json, say, tell
from sim.cli.progress import waiting
from sim.scene.authored import aside

if TYPE_CHECKING:
    from sim.analysis.inverse.torques import Torques

SUFFIXES = (".h5", ".hdf5", ".csv")


@dataclass(frozen=True, kw_only=True)
class InverseOptions:
    """What was typed behind `sim inverse`."""

    scene: str
    motion: Path
    output: Path | None = None
    actuated: tuple[str, ...] = ()
    cutoff: str | None = None
    plot: Path | None = None
    size: str | None = None
    settings: tuple[str, ...] = ()
    quiet: bool = False
    overwrite: bool = False
    trust: bool = False
    as_json: bool = False


def inverse(wish: InverseOptions) -> int:
    """Find the torques, print, write and plot them, and return the exit code."""
    import sim
    from sim.cli.running import announce_compiling

    cutoff, size = _hertz(wish.cutoff), options.size(wish.size)
    if wish.output is not None:
        options.target(wish.output, "-o", SUFFIXES, overwrite=wish.overwrite)
    if wish.plot is not None:
        options.target(wish.plot, "--plot", PLOTS, overwrite=wish.overwrite)
    if not wish.motion.is_file():
        raise Refusal(
            f"there is no file {str(wish.motion)!r}; expected a recording, or a table of a motion, .csv or .h5"
        )
    scene = sim.load(wish.scene, set=options.assignments(wish.settings), trust=wish.trust)
    announce_compiling(wish.quiet or wish.as_json)
    try:
        with waiting(wish.quiet or wish.as_json, "inverse dynamics"):
            found = aside(sim.inverse, scene, wish.motion, actuated=wish.actuated or None, cutoff=cutoff)
    except ValueError as error:
        raise Refusal(str(error)) from error
    if wish.as_json:
        print_json({"ok": True, "scene": scene.name, **_data(found)})
    elif not wish.quiet:
        _print(scene.name, str(wish.motion), found)
    if wish.output is not None:
        found.save(wish.output)
        say(f"written: {wish.output}")
    if wish.plot is not None:
        _plot(found, wish.plot, scene.name, size)
        say(f"written: {wish.plot}")
    return OK


def _hertz(text: str | None) -> float | str | None:
    """Return a cut-off in Hz, "auto", or None."""
    if text is None or text.strip() == "auto":
        return None if text is None else "auto"
    try:
        value = float(text.strip().removesuffix("Hz"))
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise Refusal(f"--cutoff: {text!r} is not a frequency; give one as in '6 Hz', or auto")
    return value


def _data(found: Torques) -> dict[str, Any]:
    return {
        "frames": len(found.time), "time": [float(found.time[0]), float(found.time[-1])],
        "actuation": [str(one) for one in dict.fromkeys(map(str, found.actuation))],
        "torques": {
            name: {"least": float(np.nanmin(values)), "largest": float(np.nanmax(values)),
                   "rms": _rms(values[np.isfinite(values)])}
            for name, values in zip(found.names, found.torque.T, strict=True)
        },
        "reached": int(found.reached.sum()),
        "missing": {name: float(np.abs(values).max()) for name, values in found.missing.items()},
        "columns": [
            {"name": one.name, "unit": one.unit, "cutoff": one.cutoff, "residual": one.residual, "missed": one.missed}
            for one in found.columns
        ],
        "notes": list(found.notes),
    }  # fmt: skip


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _print(name: str, motion: str, found: Torques) -> None:
    from sim.cli.printed_tables import print_table

    time = found.time
    tell(f"{name}: {len(time)} frames of {motion}, {time[0]:.6g} to {time[-1]:.6g} s")
    for sentence in dict.fromkeys(map(str, found.actuation)):
        tell(sentence)
    for note in found.notes:
        tell(note)
    if found.columns:
        tell()
        head = ("column", "filter [Hz]", "taken away (rms)", "missed (most)")
        print_table("", head, [
            (one.name, "none" if one.cutoff is None else f"{one.cutoff:.4g}", _size(one.residual, one.unit),
             _size(one.missed, one.unit)) for one in found.columns
        ])  # fmt: skip
    if found.names:
        tell()
        torques = zip(found.names, found.torque.T, strict=True)
        print_table("", ("torque", "least", "largest", "rms", "unit"), [_row(found, *one) for one in torques])
    if not found.reached.all():
        tell()
        first, count = time[int(np.flatnonzero(~found.reached)[0])], int((~found.reached).sum())
        tell(f"{count} frames are out of reach of these actuators, from {first:.6g} s on; missing:")
        print_table("", ("along", "most", "unit"), [
            (column, f"{np.abs(values).max():.6g}", _unit(found, column)) for column, values in _lacking(found).items()
        ])  # fmt: skip


def _row(found: Torques, column: str, values: np.ndarray) -> tuple[str, ...]:
    """Return what is said of a torque, where its joint stands."""
    there = values[np.isfinite(values)]
    return (column, f"{there.min():.6g}", f"{there.max():.6g}", f"{_rms(there):.6g}", _unit(found, column))


def _unit(found: Torques, column: str) -> str:
    return "N" if found.units[column] == "m" else "N m"


def _lacking(found: Torques) -> dict[str, np.ndarray]:
    """Return what actuators do not give, along the directions where that is anything."""
    return {name: values for name, values in found.missing.items() if np.abs(values).max(initial=0.0) > 0.0}


def _size(value: float, unit: str) -> str:
    if value == 0.0:
        return "0"
    return f"{np.degrees(value):.3g} deg" if unit == "rad" else f"{value:.3g} {unit}"


def _plot(found: Torques, path: Path, title: str, size: tuple[int, int] | None) -> None:
    """Draw torques and what is missing over time, those of one unit in a panel."""
    from render.plots import draw, panels
    from render.signals import Signal

    torques = dict(zip(found.names, found.torque.T, strict=True))
    signals = [
        Signal(f"{what}({name!r})", _unit(found, name), values)
        for what, columns in (("torque", torques), ("missing", _lacking(found))) for name, values in columns.items()
    ]  # fmt: skip
    draw(found.time, panels(signals), [], path, title, size)
