"""Solids that touch: the shapes of bodies and of the world, and which pairs of them a scene's rules name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim.drawing import rotation_of
from sim.scene.spec import Scene, Shape


@dataclass(frozen=True)
class Solid:
    """A shape of a body, in the body's axes.

    body : 0 is the world
    size : as in `sim.scene.spec.Shape`
    name : of a shape of the world, or empty
    """

    body: int
    kind: str
    p_B: np.ndarray  # m
    R_B: np.ndarray
    size: tuple[float, float, float]
    name: str


@dataclass(frozen=True)
class Pair:
    """Two solids that may touch.

    first, second : of the model's solids
    rules : of the scene's contacts, in file order; the last that is switched on counts
    turned : of these rules, those that name the second solid first
    """

    first: int
    second: int
    rules: tuple[int, ...]
    turned: frozenset[int]


def solids_of(scene: Scene, origins: dict[str, np.ndarray]) -> tuple[Solid, ...]:
    """Return all solids of a scene, those of the world first.

    origins : of bodies' frames, in their files' coordinates
    """
    found = [_solid(0, shape, np.zeros(3)) for shape in scene.world.shapes]
    for n, body in enumerate(scene.bodies, start=1):
        found += [_solid(n, shape, origins[body.name]) for shape in body.shapes]
    return tuple(found)


def _solid(body: int, shape: Shape, origin: np.ndarray) -> Solid:
    p = np.asarray(shape.position, float) - origin
    return Solid(body, shape.kind, p, rotation_of(shape.orientation), shape.size, shape.name)


def pairs_of(scene: Scene, solids: tuple[Solid, ...]) -> tuple[Pair, ...]:
    """Return the pairs that rules name, each once."""
    rules: dict[tuple[int, int], dict[int, bool]] = {}
    number = {body.name: n for n, body in enumerate(scene.bodies, start=1)}

    def meant(names: tuple[str, ...]) -> list[int]:
        bodies = {number[name] for name in names if name in number}
        still = {name.removeprefix("world.") for name in names if name.startswith("world.")}
        return [
            k
            for k, solid in enumerate(solids)
            if (solid.body in bodies if solid.body else "world" in names or (solid.name in still and solid.name))
        ]

    for n, contact in enumerate(scene.contacts):
        for i in meant(contact.between[0]):
            for j in meant(contact.between[1]):
                if solids[i].body != solids[j].body:
                    rules.setdefault((min(i, j), max(i, j)), {}).setdefault(n, i > j)
    return tuple(
        Pair(i, j, tuple(named), frozenset(n for n, turned in named.items() if turned))
        for (i, j), named in sorted(rules.items())
    )
