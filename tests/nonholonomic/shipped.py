"""Shipped scenes with wheels as runs that keep what they are told."""

from __future__ import annotations

from dataclasses import replace

import sim
from tests.contact.engine import SCENES, Run


def shipped(name: str, **parameters: float | str) -> Run:
    """Return a run of a shipped scene, at a tight tolerance."""
    scene = sim.load(SCENES / f"{name}.yaml", set=parameters)
    return Run(replace(scene, simulate=replace(scene.simulate, rtol=1e-12, record=50.0)))
