"""A table of what shipped scenes come to, in a few numbers each: sums of what is recorded, with weights by chance."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import sim
from sim.recording.format import ENERGIES
from tests.values.cases import SCENES, Case, names, ways

TABLE = Path(__file__).with_name("table.json")
SPAN = 0.1  # s
# s: then elbows that mirror each other reach their stops at one instant, in an order that roundoff chooses.
SHORTER = {"benchmarks/forest": 0.055}
DIGITS = 12
ALLOWED = 1e-9  # of the sum of magnitudes
# What is chosen among many, as some forces are, stands in no sum.
QUANTITIES = {
    name: (name,)
    for name in ("position", "quat_wxyz", "velocity", "angular_velocity", "joints/coordinate", "joints/rate",
                 "joints/torque")
} | {"energy": tuple(f"energy/{part}" for part in ENERGIES[:5])}  # fmt: skip

Entry = dict[str, Any]


def cases(name: str) -> Iterator[Case]:
    """Yield the runs of one shipped scene: as it says, then by every method, or in time steps where bodies touch."""
    scene = sim.load(SCENES / f"{name}.yaml")
    duration = min(SHORTER.get(name, SPAN), scene.simulate.duration)
    yield Case(f"{name}, as it says", scene, duration)
    for way, changed in ways(scene):
        if way == "stepping" or (not scene.contacts and way != "auto"):
            yield Case(f"{name}, {way}", changed, duration)


def entry(case: Case) -> Entry:
    """Run a case; return its numbers: of each quantity the sum at the end and that of magnitudes, and its events.

    A run that is refused gives the sentence, without numbers.
    """
    try:
        with sim.run(case.scene, duration=case.duration) as recording:
            found: Entry = {
                name: _sum(np.concatenate([np.ravel(recording.array(part)[-1]) for part in parts]))
                for name, parts in QUANTITIES.items()
            }
            events = [(event.name, event.kind, _short(event.time)) for event in recording.events]
            return found | {"rows": recording.rows, "events": [list(event) for event in events]}
    except (sim.SceneError, sim.SimulationError) as refusal:
        return {"refused": type(refusal).__name__}


def _sum(values: np.ndarray) -> list[float]:
    weighted = np.nan_to_num(values) * np.random.default_rng(len(values)).uniform(-1.0, 1.0, len(values))
    return [_short(weighted.sum()), _short(np.abs(weighted).sum())]


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def unlike(found: Entry, kept: Entry) -> list[str]:
    """Return what differs between two entries, by more than is allowed."""
    if found.keys() != kept.keys():
        return [f"{sorted(found.keys() ^ kept.keys())} stand in one of both"]
    out = [
        f"{name}: {found[name]} and {kept[name]}" for name in ("rows", "refused") if found.get(name) != kept.get(name)
    ]
    for name in (name for name in QUANTITIES if name in kept):
        (a, _), (b, size) = found[name], kept[name]
        if abs(a - b) > ALLOWED * max(size, 1.0):
            out.append(f"{name}: {a!r} and {b!r}, {abs(a - b) / max(size, 1.0):.1e} of the magnitudes")
    happened, expected = found.get("events", []), kept.get("events", [])
    if [event[:2] for event in happened] != [event[:2] for event in expected]:
        out.append(f"events: {happened} and {expected}")
    elif any(abs(a[2] - b[2]) > ALLOWED for a, b in zip(happened, expected, strict=True)):
        out.append(f"times of events: {happened} and {expected}")
    return out


def write(scenes: Sequence[str] = (), tell: Callable[[str], object] = print) -> None:
    """Run everything, or some scenes, and write the table; of others it keeps what there is."""
    kept, lines = read() if scenes else {}, []
    for name in names():
        for case in cases(name):
            old = None if name in scenes else kept.get(case.name)
            lines.append(f"{json.dumps(case.name)}: {json.dumps(entry(case) if old is None else old)}")
        tell(name)
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def read() -> dict[str, Entry]:
    """Return the table that is kept."""
    table: dict[str, Entry] = json.loads(TABLE.read_text())
    return table
