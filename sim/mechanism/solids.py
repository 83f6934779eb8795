"""Solids that touch: the shapes of bodies and of the world, and which pairs of them a scene's rules name."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim.kernels.shapes import BALL, FACE, HULL, LINE
from sim.kernels.tables import table
from sim.mechanism.frames import rotation_of
from sim.scene.hull import plane_of
from sim.scene.spec import Contact, Hull, Scene, Shape

FRICTION = 0.5  # of two surfaces that nothing is said of


@dataclass(frozen=True)
class Solid:
    """A shape of a body, in the body's axes.

    body : 0 is the world
    size : as in `sim.scene.spec.Shape`
    name : of a shape of the world, of a rope, or empty
    friction : of its surface, or None where it says none
    features : of a mesh its HULL, corners before edges before faces
    """

    body: int
    kind: str
    p_B: np.ndarray  # m
    R_B: np.ndarray
    size: tuple[float, float, float]
    name: str
    friction: float | None = None
    features: Any = None


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
    features = features_of(shape.hull) if shape.hull else None
    return Solid(body, shape.kind, p, rotation_of(shape.orientation), shape.size, shape.name, shape.friction, features)


def friction_of(rule: Contact, first: Solid, second: Solid) -> float:
    """Return Coulomb's coefficient of two solids that touch by a rule.

    It is the rule's own where that has one, else what the rule makes of those of the two surfaces.  A surface that
    says none leaves it to the other.
    """
    if rule.friction is not None:
        return rule.friction
    said = [solid.friction for solid in (first, second) if solid.friction is not None]
    return combined(rule.combine, *said) if len(said) == 2 else said[0] if said else FRICTION


def friction_at_rest(rule: Contact, first: Solid, second: Solid) -> float:
    """Return the same of points that do not slide."""
    return friction_of(rule, first, second) if rule.rest is None else rule.rest


def combined(how: str, a: float, b: float) -> float:
    """Return the friction of a pair from those of its two surfaces, as a rule's `combine` says."""
    if how in ("max", "min"):
        return max(a, b) if how == "max" else min(a, b)
    if how == "mean":
        return 0.5 * (a + b)
    if how == "harmonic":
        return 2.0 * a * b / (a + b) if a + b > 0.0 else 0.0
    return math.sqrt(a * b)


def features_of(hull: Hull) -> Any:
    """Return the corners, edges and faces of a hull as rows of HULL."""
    corners = np.array(hull.corners)
    sides = {(face[n - 1], face[n]): f for f, face in enumerate(hull.faces) for n in range(len(face))}
    edges = [(a, b) for a, b in sides if a < b]
    first, last = len(corners), len(corners) + len(edges)
    out = table(HULL, last + len(hull.faces))
    out.kind[:first], out.kind[first:last], out.kind[last:] = BALL, LINE, FACE
    out.p[:first] = corners
    for row, (a, b) in enumerate(edges, start=first):
        way = corners[b] - corners[a]
        length = np.linalg.norm(way)
        out.p[row], out.d[row], out.half[row] = 0.5 * (corners[a] + corners[b]), way / length, 0.5 * length
        out.a[row], out.b[row] = last + sides[a, b], last + sides[b, a]
    for row, face in enumerate(hull.faces, start=last):
        out.d[row], out.p[row] = plane_of(corners[list(face)])
    return out


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
