"""docs/closed-chains.md: its code runs, and its table names what a chain has."""

from __future__ import annotations

import re
from pathlib import Path

from sim.closed_chains.chain import Chain
from sim.closed_chains.told import QUANTITIES

PAGE = (Path(__file__).parents[2] / "docs" / "closed-chains.md").read_text(encoding="utf-8")


def test_its_code_runs_from_top_to_bottom(capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 12
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "docs/closed-chains.md", "exec"), names)
    assert capsys.readouterr().out.startswith("under actuated: 0 actuators of rank 0 for 1 freedoms; nothing drives ")
    chain = names["chain"]
    assert isinstance(chain, Chain)
    assert (tmp_path / "torques.csv").read_text().startswith("time [s],drive [rad],")
    assert chain.names == ("drive", "pin", "pivot", "link") and chain.loop_joints == ("link",)


def test_its_table_names_what_there_is() -> None:
    table = PAGE.split("## Names, units, frames")[1]
    named = {word.split("(")[0] for word in re.findall(r"`(\w+(?:\([^`]*\))?)`", table)}
    assert all(hasattr(Chain, name) for name in named - {"external", "soles"})
    assert set(QUANTITIES) <= named | {"J_C_drift"}
