"""Bodies of all shapes, thrown into a closed box at random; where they are, by formulas that share nothing with sim."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from sim.kernels.shapes import BOX, CAPSULE, CYLINDER, ELLIPSOID, SPHERE
from tests.contact.solids import Solid

KINDS = {"sphere": SPHERE, "capsule": CAPSULE, "box": BOX, "cylinder": CYLINDER, "ellipsoid": ELLIPSOID}
PAIRS = [("plane", kind) for kind in KINDS] + list(combinations_with_replacement(KINDS, 2))
INSIDE = 0.5  # m, from the middle of the box to its walls
THIN = 1e-3  # m
FASTEST, SPIN = 20.0, 30.0  # m/s, rad/s
SHAPES = {
    "sphere": "sphere: {{center: {p}, radius: {a}}}",
    "capsule": "capsule: {{from: {low}, to: {high}, radius: {a}}}",
    "box": "box: {{center: {p}, size: [{a}, {b}, {c}]}}",
    "cylinder": "cylinder: {{from: {low}, to: {high}, radius: {a}}}",
    "ellipsoid": "ellipsoid: {{center: {p}, radii: [{a}, {b}, {c}]}}",
}


@dataclass(frozen=True)
class RandomScene:
    """A scene's text, and what is in it: solids of bodies in their bodies' axes."""

    text: str
    solids: dict[str, Solid]


def random_scene(seed: int, simulate: str = "") -> RandomScene:
    """Return one to four bodies in a closed box; seeds go through all pairs of shapes, twenty of them.

    A plane is a wall; the walls of other scenes are plates of 1 mm, half of the time.  A third of the scenes has no
    restitution, a fifth no friction.
    """
    rng = np.random.default_rng(seed)
    pair = PAIRS[seed % len(PAIRS)]
    names = [kind for kind in pair if kind != "plane"]
    names += rng.choice(list(KINDS), rng.integers(0, 3)).tolist()
    walls = plates() if pair[0] != "plane" and (seed // len(PAIRS)) % 2 else planes()
    speed, heavy = FASTEST ** rng.uniform(-0.5, 1.0), rng.uniform(-2.0, 2.0, len(names))
    if len(names) > 1:
        heavy[:2] = [2.0, -2.0] if rng.random() < 0.25 else heavy[:2]
    corners = rng.permutation([(x, y) for x in (-1, 1) for y in (-1, 1)])
    bodies, initial, solids = "", "", {}
    for n, kind in enumerate(names):
        solid = random_size(rng, kind)
        solids[f"b{n}"] = solid
        p = np.array([*(0.25 * corners[n]), rng.uniform(0.3, 0.7)]) + rng.uniform(-0.03, 0.03, 3)
        v, w = speed * direction(rng), rng.uniform(0.0, SPIN) * direction(rng)
        bodies += f"  b{n}: {{mass: {10 ** heavy[n]:.6g}, shapes: [{{{text_of(kind, solid)}}}]}}\n"
        rpy = rng.uniform(-np.pi, np.pi, 3)
        initial += (
            f"  b{n}: {{position: {said(p)}, rpy: {said(rpy)}, velocity: {said(v)}, angular_velocity: {said(w)}}}\n"
        )
    e = 0.0 if rng.random() < 1 / 3 else rng.uniform(0.0, 0.9)
    mu = 0.0 if rng.random() < 0.2 else rng.uniform(0.0, 1.0)
    text = f"""
schema: 1
name: thrown
world:
  shapes:
{walls}
bodies:
{bodies}
initial:
{initial}
contacts:
  all: {{between: ["b*", ["b*", world]], friction: {mu:.6f}, restitution: {e:.6f}}}
simulate: {{{simulate}}}
"""
    return RandomScene(text, solids)


def random_size(rng: np.random.Generator, kind: str) -> Solid:
    """Return a solid that fits into a ball of 20 cm around the origin; boxes and cylinders may be 1 mm thin."""
    a, b, c = rng.uniform(0.02, 0.1, 3)
    thin = rng.random() < 0.3
    if kind == "box":
        size = [2 * a, 2 * b, THIN if thin else 2 * c]
    elif kind == "cylinder":
        size = [a, a, THIN if thin else 2 * c]
    elif kind == "ellipsoid":
        size = [a, b, c]
    else:
        size = [a, a, 2 * c if kind == "capsule" else a]
    return Solid(KINDS[kind], np.round(size, 6), np.zeros(3), np.eye(3))


def text_of(kind: str, solid: Solid) -> str:
    """Return the solid as a scene says it, about the origin."""
    a, b, c = solid.size.tolist()
    return SHAPES[kind].format(p=[0, 0, 0], low=[0, 0, -c / 2], high=[0, 0, c / 2], a=a, b=b, c=c)


def direction(rng: np.random.Generator) -> np.ndarray:
    """Return a unit vector."""
    n = rng.normal(size=3)
    return n / np.linalg.norm(n)


def said(values: np.ndarray) -> str:
    """Return numbers as a scene says them."""
    return "[" + ", ".join(f"{value:.6f}" for value in values) + "]"


# Middles of the walls from the middle of the box, of which each looks inward.
SIDES = np.concatenate([np.eye(3), -np.eye(3)])
MIDDLE = np.array([0.0, 0.0, INSIDE])


def planes() -> str:
    """Return walls, floor and lid as planes."""
    return "\n".join(
        f"    - plane: {{center: {said(MIDDLE + INSIDE * side)}, normal: {said(-side)}}}" for side in SIDES
    )


def plates() -> str:
    """Return walls, floor and lid as boxes of 1 mm, which reach beyond each other."""
    return "\n".join(
        f"    - box: {{center: {said(MIDDLE + (INSIDE + THIN / 2) * side)}, "
        f"size: {said(np.where(side != 0.0, THIN, 2.4 * INSIDE))}}}"
        for side in SIDES
    )


def room_at_walls(placed: Solid) -> float:
    """Return the gap [m] to the nearest wall, negative where the solid reaches into it."""
    return float((INSIDE + SIDES @ MIDDLE - placed.support(SIDES)).min())
