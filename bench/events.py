"""What an instant with contacts costs in event mode, and where that time goes: decisions of a whole run, recorded.

A decision is all that happens at an instant at which points of contact may change, but rows and integration: the
structure without contacts is taken over, what touches is found, impulses and forces are solved, the structure that
follows is taken over and its guards are armed.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import sim
from bench.measure import Result, result
from bench.ours import load
from sim.contact.kinetics import Kinetics
from sim.mechanism.finding import Found
from sim.mechanism.kept_structures import KeptStructures
from sim.simulation import jumps
from sim.simulation.contact_modes import ContactModes
from sim.simulation.flow import Flow
from sim.simulation.present import Present

SCENES = ("woodpecker", "rocking_block", "table", "slider_crank_clearance", "high_bar_dismount")
FEW = 8  # points: decisions with more are not in the medians

# What each part is made of; what none of them is counts as "else".
PARTS: dict[str, tuple[tuple[Any, str], ...]] = {
    "structures": ((Flow, "take"), (KeptStructures, "of"), (KeptStructures, "look"), (Flow, "instant")),
    "points": ((Found, "closed"),),
    "kinetics": ((Kinetics, "__init__"),),
    "impulses": ((ContactModes, "_collide"), (ContactModes, "_settle"), (ContactModes, "_jam")),
    "forces": ((ContactModes, "_hold"), (ContactModes, "_held")),
    "guards": ((Flow, "arm"),),
}
BESIDE: dict[str, tuple[tuple[Any, str], ...]] = {
    "recording": ((Present, "rows"), (Flow, "sample_now"), (jumps, "joint_impulses")),
    "slopes": ((Flow, "advance"),),
}


@dataclass
class Account:
    """Seconds of this thread by part, each without those of parts within it; of every decision these and its points."""

    parts: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    decisions: list[tuple[float, int]] = field(default_factory=list)
    within: list[float] = field(default_factory=list)

    def counted(self, part: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function whose time counts for a part."""

        def timed(*given: Any, **named: Any) -> Any:
            began = time.thread_time()
            self.within.append(0.0)
            try:
                return call(*given, **named)
            finally:
                spent = time.thread_time() - began
                self.parts[part] += spent - self.within.pop()
                if self.within:
                    self.within[-1] += spent

        return timed

    def decided(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that is one decision."""

        def timed(instant: Any) -> Any:
            began = time.thread_time()
            out = call(instant)
            touching = len(instant.here.contact_modes.state.points)
            self.decisions.append((time.thread_time() - began, touching))
            return out

        return timed


@contextmanager
def accounted() -> Iterator[Account]:
    """Count seconds by part while this lasts."""
    account = Account()
    with ExitStack() as stack:
        for part, methods in (PARTS | BESIDE).items():
            for owner, name in methods:
                stack.enter_context(patch.object(owner, name, account.counted(part, getattr(owner, name))))
        once = account.counted("else", jumps._Instant._decide_once)
        stack.enter_context(patch.object(jumps._Instant, "_decide_once", account.decided(once)))
        yield account


def run(name: str, event: bool = True) -> tuple[float, Account]:
    """Run a scene as it is, or in event mode; returns the wall time [s] and the account."""
    scene = load(name)
    if event:
        scene = replace(scene, simulate=replace(scene.simulate, contact="event"))
    with tempfile.TemporaryDirectory() as folder, accounted() as account:
        began = time.perf_counter()
        sim.run(scene, output=Path(folder) / "run.h5").close()
        return time.perf_counter() - began, account


def measure(name: str, rounds: int) -> Iterator[Result]:
    """Measure one scene, or the decisions of all of them."""
    which = name.partition(".")[2]
    scenes = SCENES if which == "decisions" else (which,)
    for scene in scenes:
        run(scene)
    medians: list[list[float]] = [[] for _ in range(rounds)]
    for scene in scenes:
        walls, accounts = zip(*(run(scene) for _ in range(rounds)), strict=True)
        each = [[seconds for seconds, points in one.decisions if points <= FEW] for one in accounts]
        for sums, ones in zip(medians, each, strict=True):
            sums += ones
        each = [few or [seconds for seconds, _ in one.decisions] for few, one in zip(each, accounts, strict=True)]
        best = accounts[walls.index(min(walls))]
        whole = sum(seconds for seconds, _ in best.decisions)
        shares = [f"{part} {100 * best.parts[part] / max(whole, 1e-9):.0f} %" for part in (*PARTS, "else")]
        beside = [f"{part} {best.parts[part]:.2f} s" for part in BESIDE]
        note = (
            f"{scene}: {len(best.decisions)} decisions in {whole:.2f} s of {min(walls):.2f} s: {', '.join(shares)}; "
            f"beside them {', '.join(beside)}"
        )
        yield result(
            f"events.{scene}" if which != "decisions" else f"{name}.{scene}", "us",
            [statistics.median(ones) for ones in each], scale=1e6, note=note,
        )  # fmt: skip
    if which == "decisions":
        note = f"median of decisions with up to {FEW} points, over all these scenes"
        yield result(name, "us", [statistics.median(ones) for ones in medians], scale=1e6, note=note)
