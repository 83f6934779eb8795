"""The scenes that come with the project, and their runs, each made once a session."""

from __future__ import annotations

import functools
from pathlib import Path

import sim
from sim.scene.spec import Scene

SCENES = Path(__file__).parents[2] / "scenes"


@functools.cache
def scene_of(name: str) -> Scene:
    """Return a scene of `scenes/`."""
    return sim.load(SCENES / f"{name}.yaml")


@functools.cache
def recording_of(name: str, duration: float) -> sim.Recording:
    """Return a run of a scene of `scenes/`; it stays open."""
    return sim.run(scene_of(name), duration=duration)
