"""How rows of loops are laid out along a tree: by going through all pairs of links and of loops."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sim.assembly.start import start
from sim.mechanism import structure as layout
from sim.mechanism.compiler import compile
from sim.mechanism.structure import Structure
from sim.scene.load import load_text
from tests.support.mechanisms import random_mechanism
from tests.support.scene_texts import scene_text

pytestmark = pytest.mark.fast


def structures() -> list[Structure]:
    out = []
    for seed in range(6):
        rng = np.random.default_rng([91, seed])
        text = scene_text(random_mechanism(rng, 7, 3, driven=bool(seed % 2)))
        out.append(start(compile(load_text(text))).structure)
    return out


def up(parent: list[int], link: int) -> list[int]:
    """Return a link and those that it hangs on, the world last."""
    return [link] if link == 0 else [link, *up(parent, parent[link])]


def freedoms_of(links: Any, path: list[int]) -> list[int]:
    return [k for link in path for k in reversed(range(links.v[link], links.v[link] + links.nv[link]))]


def test_each_loop_knows_the_freedoms_below_its_ends_and_above_their_fork() -> None:
    for structure in structures():
        t = structure.tables
        parent = t.links.parent.tolist()
        first_row = first_J = 0
        assert len(t.blocks) >= 3
        for block in t.blocks:
            a, b = up(parent, int(block.a)), up(parent, int(block.b))
            fork = next(link for link in b if link in a)
            assert block.fork == fork
            parts = [freedoms_of(t.links, path[: path.index(top)]) for path, top in ((b, fork), (a, fork))]
            parts.append(freedoms_of(t.links, up(parent, fork)[:-1]))
            assert [int(block.nb), int(block.na), int(block.nc)] == [len(part) for part in parts]
            s = int(block.support)
            assert t.support[s : s + sum(map(len, parts))].tolist() == [k for part in parts for k in part]
            rows = t.rows[block.row : block.row + block.rows]
            assert block.row == first_row and block.jacobian == first_J
            assert block.hard == np.sum(rows.compliance == 0.0)
            assert np.all(t.blocks.row[rows.block] == block.row)
            first_row += int(block.rows)
            first_J += int(block.rows) * sum(map(len, parts))
        assert first_row == len(t.rows)


def test_pairs_of_loops_share_the_freedoms_that_move_both() -> None:
    for structure in structures():
        t = structure.tables
        support = []
        for block in t.blocks:
            s = int(block.support)
            support.append(t.support[s : s + int(block.nb + block.na + block.nc)].tolist())
        expected = {}
        for high in range(len(support)):
            for low in range(high):
                places = [(s, support[low].index(k)) for s, k in enumerate(support[high]) if k in support[low]]
                if places:
                    expected[high, low] = sorted(places)
        found = {}
        for pair in t.pairs:
            places = t.shared[pair.start : pair.start + pair.count].tolist()
            found[int(pair.first), int(pair.second)] = sorted(map(tuple, places))
        assert found == expected and len(expected) > 1


def test_rows_are_open_where_one_of_their_ends_is_below() -> None:
    for structure in structures():
        t = structure.tables
        links, parent = t.links, t.links.parent.tolist()
        ends = [(int(t.blocks.a[n]), int(t.blocks.b[n])) for n in t.rows.block]
        begin: dict[int, list[int]] = {link: [] for link in range(len(links))}
        for row, (a, b) in enumerate(ends):
            for link, side in ((b, 0), (a, 1)):
                if link:
                    begin[link].append(2 * row + side)
        for link in range(1, len(links)):
            inside = {other for other in range(1, len(links)) if link in up(parent, other)}
            open_rows = sum((a in inside) != (b in inside) for a, b in ends if a and b)
            below = sum(a in inside or b in inside for a, b in ends)
            front = t.fronts[link]
            assert (front.open, front.limit) == (open_rows, min(below, open_rows + 64))
            assert sorted(t.entries[front.first : front.first + front.count].tolist()) == sorted(begin[link])
        roots = [[[0, *up(parent, end)[::-1][1:]][:2][-1] for end in pair] for pair in ends]
        cross = [(min(pair), max(pair)) for pair in roots if 0 not in pair]
        rim = max(
            (sum(low < link <= high for low, high in cross if low != high) for link in range(1, len(links))), default=0
        )
        assert t.fronts.open[0] == rim and t.fronts.limit[0] == min(len(t.rows), rim + 64)


GEARED = """
schema: 1
name: geared
bodies:
  a: {mass: 1, com: [0.5, 0, 0], inertia: [0.1, 0.1, 0.1]}
  b: {mass: 1, com: [1.5, 0, 0], inertia: [0.1, 0.1, 0.1]}
joints:
  ja: {type: rotational, parent: world, child: a, position: [0, 0, 0], axis: [0, 1, 0]}
  jb: {type: rotational, parent: a, child: b, position: [1, 0, 0], axis: [0, 1, 0]}
constraints:
  gear: {type: gear, joints: [ja, jb], ratio: 2}
"""


def test_of_very_many_loops_no_products_are_laid_out_unless_gears_need_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many loops are eliminated along the tree, which takes none; a gear's two blocks share the joint between them."""
    few = structures()[0].tables
    assert len(few.pairs) > 1 and len(few.blocks) >= 3
    gear = start(compile(load_text(GEARED))).structure.tables
    assert len(gear.pairs) == 1 and not gear.one.along[0]
    for most, left in ((len(few.blocks), True), (len(few.blocks) - 1, False)):
        monkeypatch.setattr(layout, "MANY", most)
        many = structures()[0].tables
        assert (len(many.pairs) > 0, len(many.shared) > 0) == (left, left)
        assert left or many.one.along[0]
    monkeypatch.setattr(layout, "MANY", 0)
    again = start(compile(load_text(GEARED))).structure.tables
    assert again.pairs.tolist() == gear.pairs.tolist() and again.shared.tolist() == gear.shared.tolist()


def costs(m: int, wide: int, pairs: int, wait: int, crossing: int) -> Any:
    """Tables of two loops of m rows with `wide` freedoms each, which share `pairs`, and of a link where rows wait."""
    rows = np.array([m, m])
    blocks = np.zeros(2, [(name, int) for name in ("nb", "na", "nc")]).view(np.recarray)
    blocks.na[:] = blocks.nc[:] = wide // 3
    blocks.nb[:] = wide - 2 * (wide // 3)

    class Blocks(SimpleNamespace):
        def __len__(self) -> int:
            return 2

    shared = {"first": np.array([1]), "second": np.array([0]), "count": np.array([pairs])}

    class Pairs(SimpleNamespace):
        def __getitem__(self, name: str) -> np.ndarray:
            return shared[name]

    fronts = SimpleNamespace(open=np.array([crossing, wait // 3]), count=np.array([0, wait - wait // 3]))
    return (
        SimpleNamespace(nv=np.array([0, 3])), Blocks(rows=rows, nb=blocks.nb, na=blocks.na, nc=blocks.nc),
        Pairs(first=shared["first"], second=shared["second"]), fronts,
    )  # fmt: skip


@pytest.mark.parametrize(("m", "wide", "pairs", "crossing", "most"), [
    # All at once: (2 m)^3 / 6 + m^2 pairs + 0.1 (2 m wide (12 + m / 2)); along: 11 w + 0.45 w^2 + 0.2 m crossing^2.
    (6, 0, 0, 0, 15), (6, 0, 0, 10, 10), (6, 10, 0, 0, 22), (6, 0, 20, 0, 36), (3, 5, 7, 4, 8),
])  # fmt: skip
def test_rows_are_eliminated_along_the_tree_while_those_that_wait_cost_less(
    m: int, wide: int, pairs: int, crossing: int, most: int
) -> None:
    assert layout.cheaper_along(*costs(m, wide, pairs, most, crossing))
    assert not layout.cheaper_along(*costs(m, wide, pairs, most + 1, crossing))
