"""Views of a recording's arrays by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sim.recording.errors import RecordingError, UnknownNameError
from sim.recording.format import ENERGIES, ColumnEntry, in_words
from sim.recording.ranks import stretches


class ByName(Mapping[str, np.ndarray]):
    """Arrays by the name of a body, joint or column; an unknown name offers the nearest one.

    `array` is the whole array, rows first.
    """

    def __init__(self, noun: str, keys: Mapping[str, Any], read: Callable[[], np.ndarray]):
        self._noun, self._keys, self._read = noun, keys, read

    @property
    def array(self) -> np.ndarray:
        """The whole array, rows first."""
        return self._read()

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._keys:
            raise UnknownNameError(self._noun, name, self._keys)
        return self._read()[:, self._keys[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __repr__(self) -> str:
        return f"<{len(self)} by {self._noun}: {', '.join(list(self)[:6])}{' ...' if len(self) > 6 else ''}>"


class ByPlace(ByName):
    """Arrays by the name of a body, which `array` and iteration know, or of a point or centre of mass of one."""

    def __init__(self, bodies: Mapping[str, int], read: Callable[[], np.ndarray], place: Callable[[str], np.ndarray]):
        super().__init__("body or point", bodies, read)
        self._place = place

    def __getitem__(self, name: str) -> np.ndarray:
        return super().__getitem__(name) if name in self._keys else self._place(name)


class Energy:
    """Energies (n,) in J: kinetic, potential, dissipated, impact, input, balance."""

    def __init__(self, read: Callable[[str], np.ndarray]):
        self._read = read

    def __getattr__(self, name: str) -> np.ndarray:
        if name in ENERGIES:
            return self._read(f"energy/{name}")
        raise AttributeError(f"no energy named {name!r}; there are {', '.join(ENERGIES)}")

    def __dir__(self) -> list[str]:
        return list(ENERGIES)


class Trust:
    """How far the numbers can be trusted, row by row."""

    def __init__(self, read: Callable[[str], np.ndarray], joints: Mapping[str, int]):
        self._read = read
        self.determinate = ByName("joint", joints, lambda: read("trust/determinate"))
        self.components = ByName("joint", joints, lambda: self._components("trust/components"))
        self.own_components = ByName("joint", joints, lambda: self._components("trust/own_components"))

    def _components(self, name: str) -> np.ndarray:
        """Return (n, j, 6) marks; where a program told only whole forces, those of chosen ones are not known: -1."""
        try:
            return self._read(name)
        except RecordingError:
            return np.repeat(np.where(self.determinate.array == 1, 1, -1)[:, :, None], 6, axis=2)

    def sure(self, joint: str) -> str:
        """Return in words which components of a joint's force are the only ones possible in all rows that have it.

        In world axes; in those of the joint where these have more of them.  Nothing where that was not recorded.
        """
        parts = []
        for marks, where in ((self.components[joint], ""), (self.own_components[joint], " in its own axes")):
            there = marks[np.any(marks >= 0, axis=1)]
            if len(there):
                sure = np.all(there == 1, axis=0)
                parts.append((in_words(sure), where, int(sure.sum())))
        if not parts:
            return ""
        words, where, count = max(parts, key=lambda part: part[2])
        return f"{words}{where}" if count else "none"

    @property
    def position_residual(self) -> np.ndarray:
        """Largest residual of all loop rows (n,), m or rad."""
        return self._read("trust/position_residual")

    @property
    def velocity_residual(self) -> np.ndarray:
        """Largest rate of residual of all loop rows (n,), m/s or rad/s."""
        return self._read("trust/velocity_residual")

    @property
    def smallest_singular_value(self) -> np.ndarray:
        """Smallest kept singular value of the scaled constraint rows (n,)."""
        return self._read("trust/smallest_singular_value")

    @property
    def rank(self) -> np.ndarray:
        """Constraint rows that act (n,); -1: not recorded."""
        return self._read("trust/rank")

    @property
    def rows(self) -> np.ndarray:
        """How many rows loops and drives have (n,), of which `rank` act; -1: not recorded."""
        try:
            return self._read("trust/rows")
        except RecordingError:  # by a program that did not write them
            return np.full(len(self.rank), -1)

    def summary(self, time: np.ndarray) -> dict[str, Any]:
        """Return the short form: residuals, smallest singular value, ranks, joints by what is known of their force."""
        sigma, rank, marks = self.smallest_singular_value, self.rank, self.determinate.array
        speed, there = self.velocity_residual, np.isfinite(sigma)
        lowest = int(np.argmin(np.where(there, sigma, np.inf))) if there.any() else None
        chosen = [name for name in self.determinate if np.any(self.determinate[name] == 0)]
        present = int(np.sum(np.any(marks >= 0, axis=0))) if marks.size else 0
        return {
            "velocity_residual": float(np.nanmax(speed)) if np.isfinite(speed).any() else None,
            "smallest_singular_value": None if lowest is None else float(sigma[lowest]),
            "smallest_singular_value_at": None if lowest is None else float(time[lowest]),
            "rank": [int(rank[there].min()), int(rank[there].max())] if there.any() else None,
            "ranks": stretches(time, rank, self.rows),
            "determinate": present - len(chosen),
            "chosen": chosen,
            "sure_of_chosen": {name: self.sure(name) for name in chosen},
        }


def column_keys(columns: Sequence[ColumnEntry]) -> dict[str, Any]:
    """Return joint -> its columns (one: the index, more: a slice), and each column by its own name."""
    by_joint: dict[str, list[int]] = {}
    for k, column in enumerate(columns):
        by_joint.setdefault(column.joint, []).append(k)
    keys: dict[str, Any] = {column.name: k for k, column in enumerate(columns)}
    keys.update({joint: k[0] if len(k) == 1 else slice(k[0], k[-1] + 1) for joint, k in by_joint.items()})
    return keys
