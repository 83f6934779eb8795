"""Random scenes in which nothing puts energy in: solids thrown into a box, limbs that fall, things that stand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.contact.random_scenes import direction, random_scene, said

FREE = {"rotational": 1, "universal": 2, "spherical": 3, "translational": 1}


def thrown(seed: int, simulate: str) -> str:
    """Return one to four solids thrown into a closed box."""
    return random_scene(seed, simulate).text


def limbs(seed: int, simulate: str) -> str:
    """Return a chain of two to five capsules, falling on a floor or hanging over it; joints have stops and friction."""
    rng = np.random.default_rng([seed, 1])
    count, hangs = int(rng.integers(2, 6)), rng.random() < 0.4
    e, mu = rng.choice([0.0, rng.uniform(0.0, 0.9)]), rng.choice([0.0, rng.uniform(0.1, 1.0)])
    base, bodies, joints, initial = np.array([0.0, 0.0, rng.uniform(0.4, 0.9)]), "", "", ""
    for n in range(count):
        along = direction(rng) * [1.0, 1.0, 0.3]
        tip, radius = base + rng.uniform(0.15, 0.4) * along, rng.uniform(0.02, 0.06)
        bodies += (
            f"  b{n}: {{mass: {10 ** rng.uniform(-1.0, 1.0):.4f}, shapes: [{{capsule: {{from: {said(base)}, to: "
            f"{said(tip)}, radius: {radius:.4f}}}}}]}}\n"
        )
        if n or hangs:
            joints += _joint(rng, n, base)
        else:
            v, w = rng.normal(scale=1.5, size=3), rng.normal(scale=4.0, size=3)
            initial += f"  b0: {{velocity: {said(v)}, angular_velocity: {said(w)}}}\n"
        base = tip
    return f"""
schema: 1
name: limbs
world: {{shapes: [{{plane: {{}}}}]}}
bodies:
{bodies}
joints:
{joints}
{"initial:" if initial else ""}
{initial}
contacts:
  floor: {{between: ["b*", world], friction: {mu:.6f}, restitution: {e:.6f}}}
simulate: {{{simulate}}}
"""


def _joint(rng: np.random.Generator, n: int, place: np.ndarray) -> str:
    """Return the joint that carries body n."""
    kind = str(rng.choice(list(FREE), p=[0.5, 0.2, 0.2, 0.1]))
    parts = [f"type: {kind}, parent: {f'b{n - 1}' if n else 'world'}, child: b{n}, position: {said(place)}"]
    if kind != "spherical":
        axis = direction(rng)
        parts.append(f"axis: {axis.tolist()}")
        if kind == "universal":
            parts.append(f"second_axis: {np.cross(axis, direction(rng)).tolist()}")
    if FREE[kind] == 1:
        size = 0.1 if kind == "translational" else 1.0
        if rng.random() < 0.6:
            stop = rng.choice(["stop: rigid", f"stop: rigid, restitution: {rng.uniform(0.1, 0.9):.4f}"])
            low, high = -size * rng.uniform(0.1, 1.0), size * rng.uniform(0.1, 1.0)
            parts.append(f"limits: {{range: [{low:.4f}, {high:.4f}], {stop}}}")
        if rng.random() < 0.4:
            parts.append(f"friction: {10 ** rng.uniform(-2.0, 0.5):.5f}")
    if rng.random() < 0.3:
        parts.append(f"stiffness: {10 ** rng.uniform(0.0, 2.0):.4f}" if FREE[kind] == 1 else "damping: 0.05")
    return f"  j{n}: {{{', '.join(parts)}}}\n"


def standing(seed: int, simulate: str) -> str:
    """Return two or three boxes on a floor or on each other, pushed a little."""
    rng = np.random.default_rng([seed, 2])
    bodies, initial, height = "", "", 0.0
    stacked = rng.random() < 0.5
    for n in range(int(rng.integers(2, 4))):
        size = rng.uniform(0.1, 0.4, 3)
        x = 0.0 if stacked else 0.6 * n
        z = (height if stacked else 0.0) + 0.5 * size[2]
        height += size[2]
        center = f"[{x}, 0, {z:.17g}]"
        mass, sizes = 10 ** rng.uniform(-0.5, 0.5), ", ".join(f"{a:.17g}" for a in size)
        bodies += f"  b{n}: {{mass: {mass:.4f}, shapes: [{{box: {{center: {center}, size: [{sizes}]}}}}]}}\n"
        v, w = 10 ** rng.uniform(-2.0, 0.3) * direction(rng), 10 ** rng.uniform(-2.0, 0.3) * direction(rng)
        v[2] = abs(v[2])
        initial += f"  b{n}: {{velocity: {said(v)}, angular_velocity: {said(w)}}}\n"
    e, mu = rng.choice([0.0, rng.uniform(0.0, 0.6)]), rng.choice([0.0, rng.uniform(0.1, 1.0)])
    return f"""
schema: 1
name: standing
world: {{shapes: [{{plane: {{}}}}]}}
bodies:
{bodies}
initial:
{initial}
contacts:
  all: {{between: ["b*", ["b*", world]], friction: {mu:.6f}, restitution: {e:.6f}}}
simulate: {{{simulate}}}
"""


FAMILIES: dict[str, Callable[[int, str], str]] = {"thrown": thrown, "limbs": limbs, "standing": standing}


def scene(number: int, simulate: str) -> tuple[str, str]:
    """Return the family and the text of a scene by its number."""
    names = list(FAMILIES)
    family = names[number % len(names)]
    return family, FAMILIES[family](number // len(names), simulate)


__all__ = ["FAMILIES", "scene"]
