"""docs/simulator.md: its code runs, and its table names what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sim.simulation.named_state import Named

PAGE = (Path(__file__).parents[2] / "docs" / "simulator.md").read_text(encoding="utf-8")


def test_the_code_of_the_page_runs_in_its_order(capsys):
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(block, names)
    t, angle, balance = map(float, capsys.readouterr().out.split())
    assert t == 0.5 and -3.2 < angle < 3.2 and abs(balance) < 1e-6
    assert names["first"] == pytest.approx(names["first"])
    assert names["simulator"].t == 3.0  # type: ignore[attr-defined]


def test_the_page_names_all_of_the_state():
    named = set(re.findall(r"`(\w+)`", PAGE))
    assert {name for name, part in vars(Named).items() if isinstance(part, property)} <= named
