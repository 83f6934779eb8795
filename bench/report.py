"""Results as a table for a terminal and as the table of docs/benchmarks.md."""

from __future__ import annotations

import importlib.metadata
import platform
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bench.measure import Result

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
PICTURES = PAGE.parent / "pictures"
BEGIN, END = "<!-- begin: written by python -m bench --markdown -->", "<!-- end -->"
TIMES = ("s", "ms", "us")
HEAD = ("name", "ours", "peer", "its value", "ratio", "rounds", "spread", "memory", "note")


def cells(result: Result) -> tuple[str, ...]:
    """Return a row of the tables."""
    spreads = [s for s in (result.spread, result.value_spread) if s is not None]
    held = " / ".join(f"{m:.0f}" for m in (result.memory, result.value_memory) if m is not None)
    held += " MB" if held else ""
    return (
        result.name, quantity(result.ours, result.unit), result.peer or "", quantity(result.value, result.unit),
        "" if result.ratio is None else f"{result.ratio:.3f}", str(result.rounds),
        " / ".join(f"{100 * s:.0f} %" for s in spreads), held, result.note,
    )  # fmt: skip


def quantity(value: float | None, unit: str) -> str:
    """Return a number with its unit, to four digits; counts in full."""
    return "" if value is None else f"{value} {unit}" if isinstance(value, int) else f"{value:.4g} {unit}"


def text_table(results: Sequence[Result]) -> str:
    """Return a table in columns; details are left out."""
    rows = [HEAD, *(cells(result) for result in results if not result.detail)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(HEAD))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows)


def machine() -> str:
    """Return what was measured on: processor and versions."""
    parts = [f"{processor()}, {platform.system()}, Python {platform.python_version()}"]
    for package in ("numpy", "numba", "pin", "mujoco", "exudyn"):
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


def markdown(results: Sequence[Result], names: Sequence[str], pictures: Sequence[str] = ()) -> str:
    """Return the tables of the page, with the command that makes it and the machine.

    pictures : of diagrams, relative to the page
    """
    command = shlex.join(["python", "-m", "bench", "--markdown", *names])
    parts = [f"`{command}` on {machine()}:", _table(results)]
    parts += [f"![{Path(picture).stem.replace('_', ' ')}]({picture})" for picture in pictures]
    parts += ["### Where peers are better", slower(results)]
    return "\n\n".join(parts)


def _table(results: Sequence[Result]) -> str:
    rows = [HEAD, ("---",) * len(HEAD), *(cells(result) for result in results if not result.detail)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def slower(results: Sequence[Result]) -> str:
    """Return where a peer does the same work in less time: all pairs of times, of diagrams what counts there."""
    timed = [r for r in results if r.value is not None and r.unit in TIMES]
    pairs = [r for r in timed if r.ours is None or r.ours > r.value]
    lines = []
    for r in pairs:
        if r.more.get("dominated", False) is not None:
            how = quantity(r.ours, r.unit) if r.ours is not None else "not as exact"
            at = f" at an error of {r.more['error']:.0e}" if "error" in r.more else ""
            lines.append(f"- {r.name}: {r.peer} {quantity(r.value, r.unit)}, ours {how}{at}")
    rough = Counter(r.name for r in pairs if r.more.get("dominated", False) is None)
    points = Counter(r.name for r in results if r.more.get("dominated", False) is None)
    lines += [f"- {name}: {n} of {points[name]} points of peers at larger errors" for name, n in rough.items()]
    return "\n".join(lines) or "In nothing that was measured here."


def write_page(
    results: Sequence[Result], names: Sequence[str], page: Path = PAGE, pictures: Sequence[Path] = ()
) -> None:
    """Put tables and pictures into the page, between its two marks.

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
    shown = [picture.relative_to(page.parent).as_posix() for picture in pictures]
    page.write_text(f"{before}{BEGIN}\n{markdown(results, names, shown)}\n{END}{after}", encoding="utf-8")
