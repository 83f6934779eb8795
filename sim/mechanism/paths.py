"""Ways along the tree between two links: the freedoms that lie on them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np


class Path(NamedTuple):
    """The way between links a and b, and on to the root.

    freedoms : of b below the fork, of a below it, those at and above it, each from the last one on; sizes : of these
    """

    fork: int
    freedoms: tuple[int, ...]
    sizes: tuple[int, int, int]


class Paths:
    """Ways along one tree, each found once, from plain lists: attributes of tables cost more than the way itself.

    parent : of each link; root : link of its tree that hangs on the world
    """

    def __init__(self, links: Any):
        self.parent: list[int] = links["parent"].tolist()
        self.root: list[int] = []
        for link, above in enumerate(self.parent):
            self.root.append(self.root[above] if above else link)
        self._freedoms = [
            list(range(v + nv - 1, v - 1, -1)) for v, nv in zip(links["v"].tolist(), links["nv"].tolist(), strict=True)
        ]
        self._known: dict[tuple[int, int], Path] = {}

    def between(self, a: int, b: int) -> Path:
        """Return the way between two links."""
        path = self._known.get((a, b))
        if path is None:
            fork = self._fork(a, b)
            below_b, below_a, above = (self._climbed(*ends) for ends in ((b, fork), (a, fork), (fork, 0)))
            sizes = len(below_b), len(below_a), len(above)
            path = self._known[a, b] = Path(fork, (*below_b, *below_a, *above), sizes)
        return path

    def _fork(self, a: int, b: int) -> int:
        """Return the lowest link that a and b both hang on (or are); links are numbered parents first."""
        while a != b:
            if a > b:
                a = self.parent[a]
            else:
                b = self.parent[b]
        return a

    def _climbed(self, link: int, top: int) -> list[int]:
        """Return the freedoms from a link up to below its ancestor `top`, the last first."""
        out: list[int] = []
        while link != top:
            out += self._freedoms[link]
            link = self.parent[link]
        return out


@lru_cache(maxsize=1 << 14)
def common(high: tuple[int, ...], low: tuple[int, ...]) -> np.ndarray:
    """Return (n, 2) the places in both of the freedoms that two ways share, in the order of the first."""
    place = {k: n for n, k in enumerate(low)}
    out = np.array([(n, place[k]) for n, k in enumerate(high) if k in place], np.int64).reshape(-1, 2)
    out.flags.writeable = False
    return out
