"""Two checkouts are measured by turns, and told by ratios of each round."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import against
from bench.__main__ import main

pytestmark = pytest.mark.fast


def test_each_round_asks_both_by_turns_and_ratios_are_of_rounds() -> None:
    asked, ours, theirs = [], iter([2.0, 4.0, 3.0]), iter([1.0, 4.0, 6.0])

    def ask(root: Path, name: str) -> dict[str, float]:
        asked.append((root == against.HERE, name))
        own = {"only here": 1.0} if root == against.HERE else {"only there": 1.0}
        return {"chain.10": next(ours if root == against.HERE else theirs), **own}

    (found,) = against.compare(Path("/elsewhere"), "chain", 3, ask)
    assert asked == [(side, "chain") for side in (True, False, False, True, True, False)]
    assert (found.name, found.ours, found.value, found.rounds) == ("chain.10", 3.0, 4.0, 3)
    assert found.more["by_rounds"] == 1.0  # of 2, 1 and a half
    assert found.spread == pytest.approx(1.0 / 3.0) and found.value_spread == pytest.approx(2.5 / 4.0)


def test_a_checkout_where_it_fails_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(against, "HERE", tmp_path)
    (tmp_path / "bench.py").write_text("import sys; sys.exit('no such thing')")
    assert main(["chain.10", "--against", str(tmp_path), "--rounds", "1", "--json"]) == 1
    assert f"chain.10: {tmp_path}: no such thing" in capsys.readouterr().err


def test_results_of_a_checkout_are_read(tmp_path: Path) -> None:
    (tmp_path / "bench.py").write_text("""print('hello\\n{"name": "a", "ours": 2.5}\\n{"name": "b", "ours": null}')""")
    assert against.once(tmp_path, "a") == {"a": 2.5}
