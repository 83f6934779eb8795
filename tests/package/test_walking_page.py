"""docs/walking.md: its code runs, and draws what it shows."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "walking.md").read_text(encoding="utf-8")


def test_its_code_runs_from_top_to_bottom(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, "docs/walking.md", "exec"), names)
    assert (tmp_path / "four_procedures.png").stat().st_size > 30_000
    for picture in re.findall(r"\]\((pictures/[^)]*)\)", PAGE):
        assert (Path(__file__).parents[2] / "docs" / picture).is_file()
