"""Tables on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sim.cli.outcome import tell
from sim.scene.shown import one_line, shown

MOST = 10_000  # characters of a cell
# Where constraints bind velocities that they do not bind positions with.
FREEDOMS = {"mobility": "freedoms in velocity", "mobility_in_position": "freedoms in position"}


def print_table(title: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table; what it says is never read as markup."""
    console = Console()
    if title:  # not as the table's own, which would be broken where the table is narrower
        console.print(Text(shown(title), style="bold"))
    table = Table(box=None, pad_edge=False)
    for name in head:
        table.add_column(Text(one_line(name)), header_style="dim", overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(one_line(cell, MOST)) for cell in row))
    console.print(table)


def print_info(name: str, found: Mapping[str, Any]) -> None:
    """Print the papers' quantities; lists of records become tables of their own."""
    records = {key: value for key, value in found.items() if _is_table(value)}
    words = FREEDOMS if "mobility_in_position" in found else {}
    rows = [(words.get(key) or _words(key), _short(value)) for key, value in found.items() if key not in records]
    print_table(name, ("quantity", "value"), rows)
    for key, entries in records.items():
        head = list(entries[0])
        tell()
        print_table(_words(key), head, [[_short(entry.get(field)) for field in head] for entry in entries])


def _is_table(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(entry, Mapping) for entry in value)


def _words(key: str) -> str:
    return key.replace("_", " ")


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_short(entry)}" for key, entry in value.items())
    if isinstance(value, (list, tuple, set, frozenset)):
        return ", ".join(_short(entry) for entry in value) or "none"
    return "none" if value is None else str(value)
