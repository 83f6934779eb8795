"""Results as a table for a terminal and as the table of docs/benchmarks.md."""

from __future__ import annotations

import importlib.metadata
import platform
import shlex
from collections.abc import Sequence
from pathlib import Path

from bench.measure import Result

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
BEGIN, END = "<!-- begin: written by python -m bench --markdown -->", "<!-- end -->"
HEAD = ("name", "ours", "peer", "its value", "ratio", "rounds", "spread", "note")


def cells(result: Result) -> tuple[str, ...]:
    """Return a row of the tables."""
    spreads = [s for s in (result.spread, result.value_spread) if s is not None]
    return (
        result.name, quantity(result.ours, result.unit), result.peer or "", quantity(result.value, result.unit),
        "" if result.ratio is None else f"{result.ratio:.3f}", str(result.rounds),
        " / ".join(f"{100 * s:.0f} %" for s in spreads), result.note,
    )  # fmt: skip


def quantity(value: float | None, unit: str) -> str:
    """Return a number with its unit, to four digits."""
    return "" if value is None else f"{value:.4g} {unit}"


def text_table(results: Sequence[Result]) -> str:
    """Return a table in columns."""
    rows = [HEAD, *(cells(result) for result in results)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(HEAD))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows)


def machine() -> str:
    """Return what was measured on: processor and versions."""
    parts = [f"{processor()}, {platform.system()}, Python {platform.python_version()}"]
    for package in ("numpy", "numba", "pin", "mujoco"):
        try:
            parts.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            parts.append(f"no {package}")
    return ", ".join(parts)


def processor() -> str:
    """Return the processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def markdown(results: Sequence[Result], names: Sequence[str]) -> str:
    """Return the table of the page, with the command that makes it and the machine."""
    rows = [HEAD, ("---",) * len(HEAD), *(cells(result) for result in results)]
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    command = shlex.join(["python", "-m", "bench", "--markdown", *names])
    return f"`{command}` on {machine()}:\n\n{table}"


def write_page(results: Sequence[Result], names: Sequence[str], page: Path = PAGE) -> None:
    """Put the table into the page, between its two marks.

    Raises
    ------
    ValueError
        When the page has no marks.
    """
    text = page.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page} has no marks {BEGIN} and {END}")
    page.write_text(f"{before}{BEGIN}\n{markdown(results, names)}\n{END}{after}", encoding="utf-8")
