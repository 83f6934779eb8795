"""Scenes whose dimensions are extreme: sizes, masses, moments, stiffnesses, places, times."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from tests.attacks.attack import Attack
from tests.attacks.scenes import command

_SHAPES = (
    "{{sphere: {{radius: {a} m, center: [{c}, 0, 0]}}}}",
    "{{box: {{size: [{a}, {b}, {c}], center: [0, {d}, 0]}}}}",
    "{{capsule: {{from: [0, 0, {d}], to: [0, {a}, 1], radius: {b}}}}}",
    "{{cylinder: {{length: {a}, radius: {b}, center: [{d}, 0, 0]}}}}",
    "{{ellipsoid: {{radii: [{a}, {b}, {c}]}}}}",
    "{{mesh: {{vertices: [[0, 0, 0], [{a}, 0, 0], [0, {b}, 0], [0, 0, {c}], [{d}, 1, 1]], scale: {d}}}}}",
)
_WEIGHTS = (
    "mass: {a} kg, position: [0, 0, 0]", "density: {b} kg/m^3, position: [0, 0, 0]",
    "mass: {a}, gyration: [{b}, {c}, {d}], com: [0, 0, 1]", "mass: 1, inertia: [{a}, {b}, {c}], com: [{d}, 0, 0]",
    "mass: 1 kg, com: [0, 0, 1], inertia: [{a}, {b}, {c}, {d}, {e}, {f}]",
)  # fmt: skip
_REST = (
    "simulate: {{duration: {a} s, record: {b} Hz}}",
    "simulate: {{duration: 20 ms, method: rk4, step: {a} s}}",
    "simulate: {{duration: 20 ms, rtol: {a}, max_step: {b}}}",
    "simulate: {{duration: 20 ms, contact: stepping, dt: {a} s}}",
    "forces: {{f: {{type: spring, from: body, to: world.p, stiffness: {a}, length: {b}, damping: {c}}}}}",
    "forces: {{f: {{type: drag, body: body, linear: {a}, quadratic: {b}}}}}",
    'forces: {{f: {{type: wrench, body: body, force: ["{a} N*sin({b}*t/1 s)", {c}, {d}]}}}}',
    "initial: {{j: {{coordinate: {a}, rate: {b}}}}}",
    "events: {{e: {{when: \"coordinate('j') > {a}\", set: {{j: {{rate: {b}}}}}}}}}",
    "events: {{e: {{at: {a} s, caption: late}}}}",
    "render: {{camera: {{distance: {a}, azimuth: {b}, fov: {c}}}, fps: {d}}}",
    "contacts: {{c: {{between: [body, world], friction: {a}, restitution: {b}}}}}",
)
_WORLD = (
    "world: {{gravity: [{a}, 0, {b}], shapes: [{{name: g, plane: {{center: [0, 0, {c}]}}}}], "
    "points: {{p: [{d}, 0, 0]}}}}"
)
_JOINT = (
    "  j: {{type: rotational, parent: world, child: body, position: [{a}, 0, 0], axis: [{b}, 1, 0], stiffness: {c}, "
    "damping: {d}, armature: {e}, friction: {f}}}",
    "  j: {{type: translational, parent: world, child: body, position: [0, 0, 0], axis: [{a}, {b}, {c}], "
    "limits: [{d}, {e}]}}",
    "  j: {{type: rotational, parent: world, child: body, position: [0, 0, 0], axis: [0, 1, 0], "
    'motion: "{a}*(t/1 s)^{b}"}}',
)


def attacks(seed: int, count: int, folder: Path) -> Iterator[Attack]:
    """Yield scenes of one body with one to all of its numbers extreme."""
    for number in range(seed, seed + count):
        chance = random.Random(f"numbers {number}")
        share = chance.choice((0.0, 0.1, 0.3, 1.0))

        def say(text: str, chance: random.Random = chance, share: float = share) -> str:
            return text.format(**{key: _number(chance, share) for key in "abcdef"})

        shape = f", shapes: [{say(chance.choice(_SHAPES))}]" if chance.random() < 0.8 else ""
        lines = ["schema: 1", "bodies:", f"  body: {{{say(chance.choice(_WEIGHTS))}{shape}}}"]
        lines += ["joints:", say(chance.choice(_JOINT))] if chance.random() < 0.7 else []
        lines += [say(_WORLD)] if chance.random() < 0.4 else ["world: {points: {p: [0, 0, 2]}}"]
        lines += [say(chance.choice(_REST))] if chance.random() < 0.6 else []
        (folder / "bad.yaml").write_text("\n".join(lines) + "\n")
        yield Attack("numbers", number, command(chance), lines[2].strip())


def _number(chance: random.Random, share: float) -> str:
    if chance.random() >= share:
        return chance.choice(("1", "0.5", "2", "0.1"))
    exponent = chance.choice((chance.uniform(-8, 8), chance.uniform(-30, 30), chance.uniform(-323, 308)))
    return chance.choice(("", "", "", "-")) + f"{chance.uniform(1, 10):.3g}e{int(exponent)}"
