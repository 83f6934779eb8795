"""What shipped scenes come to is what it was: `python -m tests.values --table` writes the table anew."""

from __future__ import annotations

import copy

import pytest

from tests.values.cases import names
from tests.values.table import Entry, cases, entry, read, unlike

KEPT = read()


def test_the_table_is_of_all_shipped_scenes() -> None:
    assert list(KEPT) == [case.name for name in names() for case in cases(name)]


@pytest.mark.parametrize("name", names())
def test_a_scene_comes_to_what_it_came_to(name: str) -> None:
    found = {case.name: unlike(entry(case), KEPT[case.name]) for case in cases(name)}
    assert not any(found.values()), found


@pytest.mark.fast
def test_each_number_of_an_entry_is_compared() -> None:
    kept: Entry = next(one for one in KEPT.values() if one.get("events"))
    assert unlike(copy.deepcopy(kept), kept) == []
    moved, later, more, fewer = (copy.deepcopy(kept) for _ in range(4))
    moved["position"][0] += 3e-9 * max(kept["position"][1], 1.0)
    later["events"][0][2] += 2e-9
    more["rows"] += 1
    del fewer["velocity"]
    said = [unlike(other, kept) for other in (moved, later, more, fewer, {"refused": "SimulationError"})]
    assert [len(one) for one in said] == [1] * 5
    assert [one[0].split(":")[0] for one in said[:3]] == ["position", "times of events", "rows"]
    assert "velocity" in said[3][0]
