"""Short runs of all shipped scenes, by every method of integration and both ways of contact."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import sim
from sim.scene.spec import Scene

SCENES = Path(__file__).parents[2] / "scenes"
METHODS = ("dop853", "radau", "auto", "rk4", "semi_implicit", "variational")
STEP, DT = 2e-4, 1e-3  # s, of fixed steps and of time steps of contacts
LARGE = ("boxes", "heap")
LONGEST = 0.25  # s: short enough that nothing of what is shipped is chaotic over it


class Case(NamedTuple):
    """A run: a scene, and how it is followed.

    name : scene and way, as `swing, radau`
    """

    name: str
    scene: Scene
    duration: float


def names() -> list[str]:
    """Return the shipped scenes, as `sim run` calls them, but what is there for its size."""
    return sorted(
        str(path.relative_to(SCENES).with_suffix(""))
        for path in SCENES.rglob("*.yaml")
        if "figures" not in path.parts and path.stem not in LARGE
    )


def ways(scene: Scene) -> Iterator[tuple[str, Scene]]:
    """Yield a scene as each method follows it, and as time steps of contacts do."""
    said = scene.simulate
    for method in METHODS:
        yield method, replace(scene, simulate=replace(said, method=method, contact="event", step=STEP))
    if scene.contacts:
        yield "stepping", replace(scene, simulate=replace(said, contact="stepping", dt=DT))


def cases(name: str) -> Iterator[Case]:
    """Yield the runs of one shipped scene."""
    scene = sim.load(SCENES / f"{name}.yaml")
    for way, changed in ways(scene):
        yield Case(f"{name}, {way}", changed, min(LONGEST, scene.simulate.duration))
