"""What happens at an instant follows from the state before it, in another process, too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sim
from sim.simulation.journal import EventRecord, Jump
from sim.simulation.jumps import serve
from sim.simulation.plain_values import packed
from tests.events.decided_alone import RUNS, model_of, written

MOST = 12  # instants of each run
QUIET = ("time steps of contacts", "a continuous controller")  # nothing happens but what is due at the start


class _Kept(sim.Simulator):
    """Writes the state before each instant, and what the instant told and left."""

    def keep_in(self, folder: Path, name: str) -> None:
        self.folder, self.name, self.count = folder, name, 0
        self.seen: list[EventRecord] = []

    def _jump(self, change: Any) -> Any:
        if change is not serve or self.count == MOST:
            return super()._jump(change)
        before = packed(*self.snapshot().to_plain())
        jump = Jump()
        serve(self.now, jump)
        if jump.events or self.count < 2:
            path = self.folder / f"{self.name}-{self.count:02d}"
            path.with_suffix(".state").write_bytes(before[0])
            path.with_suffix(".numbers").write_bytes(before[1])
            written(jump, self.snapshot(), path)
            self.count += 1
            self.seen += jump.events
        return None


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[EventRecord]]]:
    """States of all runs, what followed, and what follows in another process."""
    folder, seen = tmp_path_factory.mktemp("states"), {}
    (folder / "again").mkdir()
    for name in RUNS:
        model, duration = model_of(name)
        simulator = _Kept(model)
        simulator.keep_in(folder, name)
        simulator.advance(duration)
        seen[name] = simulator.seen
    subprocess.run([sys.executable, "-m", "tests.events.decided_alone", str(folder)], check=True, timeout=300)
    return folder, seen


@pytest.mark.parametrize("name", RUNS)
def test_the_state_before_an_instant_gives_the_same_jump_in_another_process(decided, name: str) -> None:
    folder, seen = decided
    first = sorted(folder.glob(f"{name}-*.told.json"))
    assert first and (seen[name] or name in QUIET)
    for path in first:
        for part in ("told.json", "told.bin", "after.json", "after.bin"):
            once, again = (place / path.name.replace("told.json", part) for place in (folder, folder / "again"))
            assert once.read_bytes() == again.read_bytes(), (path.stem, part)


def test_the_instants_are_of_all_kinds(decided) -> None:
    _, seen = decided
    kinds = {record.kind for records in seen.values() for record in records}
    assert {"scene", "impact", "mode"} <= kinds
    assert any(record.through is not None for record in seen["joints are cut"] + seen["collisions"])
