"""Islands against a search by hand, and an order of trees that keeps those that are joined near."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from sim.kernels.unilateral import islands
from sim.mechanism.workspace import _islands
from tests.kernels.plain import plain

pytestmark = [pytest.mark.contact, pytest.mark.fast]


class Joined:
    """Trees of three freedoms each, and presses between two of them or on one alone."""

    def __init__(self, trees: int, pairs: list[tuple[int, int]]) -> None:
        m, self.pairs = 3 * trees, pairs
        tree = 3 * (np.arange(m) // 3)
        support, count = np.zeros((len(pairs), 6), np.int64), np.zeros(len(pairs), np.int64)
        for k, (a, b) in enumerate(pairs):
            own = [i for t in sorted({a, b}, reverse=True) if t >= 0 for i in range(3 * t + 2, 3 * t - 1, -1)]
            support[k, : len(own)], count[k] = own, len(own)
        rows = _islands(tree)
        self.work = islands.Islands(
            rows[0], rows[1], rows[2], np.zeros(len(pairs), np.int64), np.zeros(m + 1, np.int64),
            np.zeros(m + 1, np.int64), np.zeros(2 * len(pairs), np.int64), rows[3], rows[4], rows[5],
        )  # fmt: skip
        self.problem = SimpleNamespace(
            tree=tree, support=support, contact=SimpleNamespace(count=count), chosen=np.arange(len(pairs)),
            place=np.full(m, -1), first=np.zeros(m, np.int64), reached=np.full(m, -1),
        )  # fmt: skip

    def ordered(self, chosen: list[int]) -> list[int]:
        self.problem.chosen = np.array(chosen)
        count = plain(islands.order_trees)(self.problem, self.work, len(chosen))
        return (self.work.order[:count] // 3).tolist()


@pytest.mark.parametrize("seed", range(8))
def test_what_presses_join_is_an_island(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = [tuple(int(t) for t in rng.integers(0, 12, 2)) for _ in range(int(rng.integers(1, 14)))]
    pairs[::5] = [(-1, -1)] * len(pairs[::5])  # which nothing moves
    joined = Joined(12, pairs)
    found = plain(islands.find_islands)(joined.problem, joined.work, len(pairs))
    label = np.arange(12)
    for _ in range(12):
        for a, b in pairs:
            if a >= 0:
                label[a] = label[b] = min(label[a], label[b])
    wanted: dict[int, list[int]] = {}
    for k, (a, _) in enumerate(pairs):
        if a >= 0:
            wanted.setdefault(int(label[a]), []).append(k)
    first = joined.work.first
    assert [joined.work.press[first[n] : first[n + 1]].tolist() for n in range(found)] == list(wanted.values())


def test_a_row_of_trees_is_ordered_from_one_end_whatever_their_numbers() -> None:
    way = np.random.default_rng(3).permutation(20).tolist()
    joined = Joined(20, [*pairwise(way), *((t, t) for t in way)])
    found = joined.ordered(list(np.random.default_rng(4).permutation(39)))
    assert found in (way, way[::-1])
    size = plain(islands.number_freedoms)(joined.problem, joined.work, 20)
    assert size == 60 and sorted(joined.problem.reached.tolist()) == list(range(60))
    for place, freedom in enumerate(joined.problem.reached):
        assert joined.problem.place[freedom] == place
    places = joined.problem.place.reshape(-1, 3)
    assert (np.diff(places, axis=1) == -1).all()  # tips before roots
    assert max(abs(places[a, 0] - places[b, 0]) for a, b in joined.pairs) == 3


@pytest.mark.parametrize("seed", range(6))
def test_every_tree_stands_in_the_order_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = [tuple(int(t) for t in rng.integers(0, 15, 2)) for _ in range(20)]
    joined = Joined(15, pairs)
    for _ in range(3):
        chosen = rng.permutation(20)[: int(rng.integers(1, 21))].tolist()
        assert sorted(joined.ordered(chosen)) == sorted({t for k in chosen for t in pairs[k]})
