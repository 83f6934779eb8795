"""Decide on states that files hold, in a process of its own: ``python -m tests.events.decided_alone FOLDER``."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import sim
from sim.mechanism.frames import Frames
from sim.simulation.journal import Epoch, EventRecord, Jump, RowBlock
from sim.simulation.jumps import decide
from sim.simulation.plain_values import packed, to_plain, unpacked
from sim.simulation.state import State
from tests.contact.engine import SCENES

# Scene, changes of how it is simulated, duration [s].
RUNS: dict[str, tuple[str, dict[str, Any], float]] = {
    "joints are cut": ("swing", {}, 3.6),
    "joints are connected": ("two_bodies", {}, 1.0),
    "a hand lets go": ("high_bar", {}, 2.1),
    "collisions": ("bouncing_ball", {}, 1.0),
    "points stick and slide": ("sliding_block", {}, 1.0),
    "time steps of contacts": ("figure_falls", {}, 0.2),
    "a continuous controller": ("monkey_swing", {}, 0.3),
}


def model_of(name: str) -> tuple[Any, float]:
    scene, said, duration = RUNS[name]
    loaded = sim.load(SCENES / f"{scene}.yaml")
    return sim.compile(replace(loaded, simulate=replace(loaded.simulate, **said))), duration


def written(jump: Jump, state: State, path: Path) -> None:
    """Write what was told, and what a run is afterwards, as bytes."""
    text, numbers = packed(*to_plain(jump.reports, [RowBlock, Epoch, EventRecord, Frames]))
    after = packed(*state.to_plain())
    for part, data in zip(("told.json", "told.bin", "after.json", "after.bin"), (text, numbers, *after), strict=True):
        path.with_suffix(f".{part}").write_bytes(data)


def main(folder: Path) -> None:
    for name in RUNS:
        model, _ = model_of(name)
        for path in sorted(folder.glob(f"{name}-*.state")):
            text, numbers = path.read_bytes(), path.with_suffix(".numbers").read_bytes()
            after, jump = decide(model, State.from_plain(*unpacked(text, numbers)))
            written(jump, after, folder / "again" / path.stem)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
