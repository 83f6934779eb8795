"""How large a recording will be, and whether there is room for it: looked at before anything is written."""

from __future__ import annotations

import shutil
from pathlib import Path

from sim.recording.errors import RecordingError
from sim.recording.format import Layout, row_fields
from sim.scene.spoken import allowed

TOLD = 1e9  # bytes: what is said before a run
MOST = 1e10  # bytes: what has to be allowed


def row_bytes(layout: Layout, numbers: int) -> int:
    """Return how many bytes a row takes without contacts; numbers: of the raw state."""
    fields = row_fields(layout).values()
    counts = [(field.dtype.itemsize, field.tail) for field in fields] + [(8, (numbers,))]
    total = 0
    for size, tail in counts:
        for length in tail:
            size *= length
        total += size
    return total


def look_ahead(folder: Path, name: str, rows: float, size: int, why: str, large: bool) -> str:
    """Return a sentence on a recording that will be large; empty where it will not.

    Parameters
    ----------
    folder : Path
        Where it will be.
    name : str
        What it is called.
    rows : float
        How many are expected.
    size : int
        Bytes of each.
    why : str
        What asks for so many.
    large : bool
        Whether it may be too large for anybody to want, or for the disk.

    Raises
    ------
    RecordingError
        Where it is too large and that is not allowed.
    """
    expected, free = rows * size, float(shutil.disk_usage(folder).free)
    sentence = f"{name}: about {_count(rows)} rows are expected ({why}), {_bytes(expected)}"
    if expected > free:
        sentence += f", and {_bytes(free)} are free"
    if not large and (expected > MOST or expected > free):
        raise RecordingError(
            f"{sentence}: nothing was run; record less often, or a shorter time, or {allowed()} where it is meant"
        )
    return sentence if expected > TOLD or expected > free else ""


def _count(number: float) -> str:
    return f"{number:,.0f}" if number < 1e9 else f"{number:.3g}"


def _bytes(size: float) -> str:
    for unit in ("MB", "GB", "TB"):
        size /= 1e6 if unit == "MB" else 1e3
        if size < 1e3:
            return f"{size:.3g} {unit}"
    return f"{size:.3g} TB"
