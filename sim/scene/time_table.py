"""Tables of numbers over time: a column of times and columns of what moves, as CSV or HDF5.

The head of a column is a name and a unit, ``hip [deg]``, as `sim plot --csv` writes them; without a unit it is SI and
radians.  A name alone means a coordinate; other quantities are written as signals are: ``torque('hip') [N m]``.  In
HDF5 a dataset is a column, several of one joint if it is wide, its unit the attribute `unit`; one in a group, as
``torque/hip``, is that quantity.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sim.scene.units import ONE, Dimension, UnitError, describe, parse_unit

MOST_BYTES = 200_000_000
TIMES = ("time", "t")
_HEAD = re.compile(r"(?P<name>.*?)\s*(?:\[(?P<unit>\s*|[^\[\]]*[^\[\]\d\s][^\[\]]*)\])?\s*", re.DOTALL)
_SIGNAL = re.compile(r"""(?P<of>[a-z_]+)\(\s*['"](?P<name>[^'"]+)['"]\s*\)(?P<index>\[\d+\])?""")
_SEPARATORS = ",;\t"


class TableError(ValueError):
    """A table that cannot be read or used; the message names the file, the row and the column."""


@dataclass(frozen=True)
class Column:
    """What moves, over time.

    values : (rows,) SI
    head : as it is written in the file
    unit : as it is written, nothing where none is
    dimension : of that unit, or None
    """

    values: np.ndarray
    head: str
    unit: str
    dimension: Dimension | None


@dataclass(frozen=True)
class TimeTable:
    """A table of numbers over time.

    file : how messages call it
    time : (rows,) s, growing
    columns : by what they mean: ``hip``, ``hip[0]``, ``torque('hip')``
    first : of the file's lines, that of the first row; 0 where it has no lines
    """

    file: str
    time: np.ndarray
    columns: Mapping[str, Column]
    first: int = 0

    def at(self, row: int, key: str) -> str:
        """Return where a cell stands, as messages begin."""
        return f"{self.file}: {place(row, self.first)}, column {self.columns[key].head!r}"

    def in_unit(self, key: str, unit: str) -> np.ndarray:
        """Return a column that has to be of a unit's kind.

        Raises
        ------
        TableError
            Where its own unit is of another kind.
        """
        column, wanted = self.columns[key], parse_unit(unit).dimension
        if column.dimension is not None and column.dimension != wanted:
            raise TableError(
                f"{self.file}: column {column.head!r}: {column.unit} is {describe(column.dimension)}; "
                f"expected {'an angle (rad, deg)' if wanted == ONE else describe(wanted)}"
            )
        return column.values


def place(row: int, first: int) -> str:
    """Return how a row is called, counted from 1, with its line where there are lines."""
    return f"row {row + 1}" + (f" (line {first + row})" if first else "")


def read_table(path: Path) -> TimeTable:
    """Read a file.

    Raises
    ------
    TableError
        With the file, and the row and column where something else stands than was expected.
    """
    try:
        return table_from(bytes_of(path), str(path))
    except TableError as error:
        said = str(error)
        raise TableError(said if said.startswith(str(path)) else f"{path}: {said}") from error


def bytes_of(path: Path) -> bytes:
    """Return what is in a file, if it is not too large."""
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= MOST_BYTES else b""
    except (OSError, ValueError) as error:
        raise TableError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if size > MOST_BYTES:
        raise TableError(f"{size / 1e6:.3g} MB; {MOST_BYTES / 1e6:g} MB are the most")
    return data


def table_from(data: bytes, file: str) -> TimeTable:
    """Read what is in a file: HDF5 or text."""
    if data[:4] == b"\x89HDF":
        return _of_hdf5(data, file)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TableError(f"{file}: neither text nor HDF5; expected a table of numbers over time") from error
    return table_of(text, file)


def table_of(text: str, file: str) -> TimeTable:
    """Read a text whose lines are rows, between commas, semicolons or tabs; `#` begins a remark before the head."""
    lines = text.splitlines()
    head_line = next((n for n, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")), None)
    if head_line is None:
        raise TableError(f"{file}: empty; expected a head, as in 'time [s], hip [deg]', and rows of numbers")
    separator = max(_SEPARATORS, key=lines[head_line].count)
    heads = [word.strip() for word in next(csv.reader([lines[head_line]], delimiter=separator))]
    if all(_is_number(word) for word in heads if word):
        raise TableError(f"{file}: line {head_line + 1}: found numbers; expected a head, as in 'time [s], hip [deg]'")
    first, rows = head_line + 2, []
    last = max((n for n, line in enumerate(lines) if line.strip()), default=head_line)
    for n, line in enumerate(lines[head_line + 1 : last + 1]):
        words = next(csv.reader([line], delimiter=separator), [])
        if len(words) != len(heads):
            raise TableError(
                f"{file}: {place(n, first)}: found {len(words)} cells; expected {len(heads)}, one for each column of "
                f"the head"
            )
        rows.append([_cell(word, f"{file}: {place(n, first)}, column {heads[k]!r}") for k, word in enumerate(words)])
    values = np.array(rows, float).reshape(-1, len(heads))
    return _made(file, [(head, values[:, k]) for k, head in enumerate(heads)], first)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _cell(word: str, where: str) -> float:
    word = word.strip()
    if not _is_number(word):
        what = "nothing" if not word else repr(word[:40])
        hint = "; decimals are written with a point" if re.fullmatch(r"[+-]?\d+,\d+", word) else ""
        raise TableError(f"{where}: found {what}; expected a number{hint}")
    return float(word)


def _of_hdf5(data: bytes, name: str) -> TimeTable:
    import h5py  # late: most scenes have no such table

    try:
        with h5py.File(io.BytesIO(data), "r") as file:
            found = list(_datasets(file, name))
    except (OSError, RuntimeError, KeyError, ValueError) as error:
        if isinstance(error, TableError):
            raise
        raise TableError(f"{name}: HDF5 that cannot be read: {error}") from error
    return _made(name, found, 0)


def _datasets(file: Any, name: str) -> Iterator[tuple[str, np.ndarray]]:
    """Give the head and the values of each column: datasets at the top, and of groups of one quantity."""
    import h5py

    for top, entry in file.items():
        inner = entry.items() if isinstance(entry, h5py.Group) else [("", entry)]
        for key, data in inner:
            if not isinstance(data, h5py.Dataset) or data.dtype.kind not in "fiu" or data.ndim not in (1, 2):
                continue
            if data.nbytes > MOST_BYTES:
                raise TableError(f"{name}: dataset {data.name!r}: {data.nbytes / 1e6:.3g} MB; too large for a table")
            unit = data.attrs.get("unit", data.attrs.get("units", ""))
            unit = unit.decode() if isinstance(unit, bytes) else str(unit)
            values = np.array(data[()], float)
            own = top if not key else key if top == "coordinate" else f"{top}({key!r})"
            for k in range(values.shape[1]) if values.ndim == 2 else [None]:
                index, part = ("", values) if k is None else (f"[{k}]", values[:, k])
                yield own + index + (f" [{unit}]" if unit else ""), part


def _made(file: str, heads: list[tuple[str, np.ndarray]], first: int) -> TimeTable:
    """Return the table of these columns, all of it checked."""
    columns: dict[str, Column] = {}
    for n, (head, values) in enumerate(heads):
        key, unit = _meaning(head)
        if not key:
            raise TableError(f"{file}: column {n + 1} has no name in the head; expected one, as in 'hip [deg]'")
        if key in columns:
            raise TableError(f"{file}: column {head!r} stands twice")
        try:
            quantity = parse_unit(unit) if unit else None
        except UnitError as error:
            raise TableError(f"{file}: column {head!r}: {error}; expected a unit, as in 'hip [deg]'") from error
        scaled = values * (1.0 if quantity is None else quantity.value)
        columns[key] = Column(scaled, head, unit, None if quantity is None else quantity.dimension)
    name = next((name for name in TIMES if name in columns), None)
    if name is None:
        found = ", ".join(repr(column.head) for column in columns.values())
        raise TableError(f"{file}: no column of times; expected 'time [s]', found {found or 'no columns'}")
    counts = {len(column.values) for column in columns.values()}
    if len(counts) > 1:
        odd = next(column for column in columns.values() if len(column.values) != len(columns[name].values))
        raise TableError(
            f"{file}: column {odd.head!r} has {len(odd.values)} rows; expected {len(columns[name].values)}, as many as "
            f"there are times"
        )
    whole = TimeTable(file, columns[name].values, columns, first)
    _check(whole, name)
    return TimeTable(file, whole.in_unit(name, "s"), {k: c for k, c in columns.items() if k != name}, first)


def _check(table: TimeTable, time: str) -> None:
    """Refuse what is no finite number, and times that do not grow."""
    for key, column in table.columns.items():
        bad = np.flatnonzero(~np.isfinite(column.values))
        if len(bad):
            raise TableError(f"{table.at(int(bad[0]), key)}: found {column.values[bad[0]]}; expected a finite number")
    t = table.time
    if len(t) < 2:
        raise TableError(f"{table.file}: {len(t)} rows; expected two at the least")
    back = np.flatnonzero(np.diff(t) <= 0.0)
    if len(back):
        n = int(back[0]) + 1
        raise TableError(f"{table.at(n, time)}: found {t[n]:.9g} s after {t[n - 1]:.9g} s; expected times that grow")


def _meaning(head: str) -> tuple[str, str]:
    """Return what the head of a column means, and its unit."""
    found = _HEAD.fullmatch(head.strip())
    assert found is not None  # a name of any kind matches
    name, unit = found["name"].strip(), (found["unit"] or "").strip()
    signal = _SIGNAL.fullmatch(name)
    if signal is None:
        return name, unit
    own = signal["name"] + (signal["index"] or "")
    return own if signal["of"] == "coordinate" else f"{signal['of']}({own!r})", unit


def as_csv(time: np.ndarray, columns: Mapping[str, tuple[str, np.ndarray]]) -> str:
    """Return the text of a table: what a column is called to its unit and values (rows,)."""
    heads = ["time [s]", *(f"{name} [{unit}]" if unit else name for name, (unit, _) in columns.items())]
    rows = np.column_stack([time, *(values for _, values in columns.values())])
    lines = [",".join(f'"{head}"' if "," in head else head for head in heads)]
    return "\n".join([*lines, *(",".join(map(repr, row)) for row in rows.tolist())]) + "\n"


def text_of(table: TimeTable) -> str:
    """Return a table as the text of a CSV file, in SI."""
    columns = {}
    for key, column in table.columns.items():
        powers = zip(("kg", "m", "s"), column.dimension or ONE, strict=True)
        unit = " ".join(f"{name}^{power:g}" for name, power in powers if power)
        columns[key] = (unit or ("rad" if column.unit else ""), column.values)
    return as_csv(table.time, columns)
