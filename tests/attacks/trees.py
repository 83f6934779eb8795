"""Scenes as trees that can be broken anywhere and written down again, broken YAML too."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


class Raw(str):
    """Text that is written as it stands, whatever YAML makes of it."""


@dataclass
class Map:
    """Keys and values in order; keys may stand twice."""

    entries: list[tuple[object, object]]


Tree = Map | list | str  # type: ignore[type-arg]


def tree_of(text: str) -> Tree:
    """Return the tree of a YAML text; plain and quoted words are not told apart but by `Raw`."""
    node = yaml.compose(text, Loader=yaml.CSafeLoader)
    return _tree(node)


def _tree(node: yaml.Node | None) -> Tree:
    if isinstance(node, yaml.MappingNode):
        return Map([(_tree(key), _tree(value)) for key, value in node.value])
    if isinstance(node, yaml.SequenceNode):
        return [_tree(item) for item in node.value]
    assert isinstance(node, yaml.ScalarNode)
    return quoted(node.value) if node.style else Raw(node.value)


def quoted(text: str) -> Raw:
    """Return a text in double quotes, everything unusual escaped."""
    inner = "".join(_escaped(c) for c in text)
    return Raw(f'"{inner}"')


def _escaped(c: str) -> str:
    if c in '"\\':
        return "\\" + c
    if c.isprintable():
        return c
    return f"\\x{ord(c):02x}" if ord(c) < 256 else f"\\u{ord(c):04x}" if ord(c) < 65536 else f"\\U{ord(c):08x}"


def written(tree: object, level: int = 0) -> str:
    """Return the text of a tree: a line for each entry of the two upper levels, flow style below."""
    if isinstance(tree, Map) and level < 2 and tree.entries:
        lines = []
        for key, value in tree.entries:
            inner = written(value, level + 1)
            block = isinstance(value, Map) and level < 1 and bool(value.entries)
            lines.append("  " * level + f"{flow(key)}:" + ("\n" + inner if block else f" {inner}"))
        return "\n".join(lines) + ("" if level else "\n")
    return flow(tree)


def flow(tree: object) -> str:
    """Return a tree in one line."""
    if isinstance(tree, Map):
        return "{" + ", ".join(f"{flow(key)}: {flow(value)}" for key, value in tree.entries) + "}"
    if isinstance(tree, list):
        return "[" + ", ".join(flow(item) for item in tree) + "]"
    if isinstance(tree, Raw):
        return _in_flow(tree)
    return str(tree)


def _in_flow(text: str) -> str:
    """Return a plain scalar so that it may stand inside of { } and [ ]; what was made to break that stays broken."""
    plain = (text[:1] not in "\"'!&*{[" and "\n" not in text and any(c in text for c in ",{}[]#")) or ": " in text
    return quoted(text) if plain and not text.startswith('"') else text


Slot = tuple[Callable[[], object], Callable[[object], None]]  # what stands somewhere, and how to put something there


def slots(tree: object) -> Iterator[Slot]:
    """Yield every value below a tree, deepest last."""
    if isinstance(tree, Map):
        for i, (_, value) in enumerate(tree.entries):
            yield functools.partial(_value, tree, i), functools.partial(_put, tree, i)
            yield from slots(value)
    elif isinstance(tree, list):
        for i, item in enumerate(tree):
            yield functools.partial(tree.__getitem__, i), functools.partial(tree.__setitem__, i)
            yield from slots(item)


def _value(tree: Map, i: int) -> object:
    return tree.entries[i][1]


def _put(tree: Map, i: int, value: object) -> None:
    tree.entries[i] = (tree.entries[i][0], value)


def maps(tree: object) -> list[Map]:
    """Return every map of a tree, itself included."""
    inner = [value() for value, _ in slots(tree)]
    return [one for one in (tree, *inner) if isinstance(one, Map)]


@functools.cache
def texts() -> tuple[tuple[Path, str], ...]:
    """Return valid scenes: those that are shipped, and small ones."""
    shipped = [path for path in sorted((ROOT / "scenes").rglob("*.yaml")) if path.stat().st_size < 8000]
    return tuple((path, path.read_text()) for path in shipped)


def valid(chance: random.Random) -> tuple[Path, str]:
    """Return a valid scene: half of the time a small one of all sorts of things."""
    if chance.random() < 0.5:
        name = chance.choice(sorted(SMALL))
        return ROOT / "scenes" / f"{name}.yaml", SMALL[name]
    return chance.choice(texts())


_PENDULUM = """
schema: 1
name: small
parameters: {length: 0.5 m, n: 3}
bodies:
  arm: {mass: 1 kg, shapes: [{capsule: {from: [0, 0, 2*length], to: [0, 0, length], radius: 1 cm}}],
      points: {tip: [0, 0, length]}}
  bob: {mass: 1 kg, inertia: [0.1, 0.1, 0.1], position: [0, 0, 0.2]}
  box: {density: 500 kg/m^3, position: [1, 0, 1], shapes: [{box: {size: [10 cm, 20 cm, 30 cm], center: [1, 0, 1]},
      color: red}]}
joints:
  shoulder: {type: rotational, parent: world, child: arm, position: [0, 0, 2*length], axis: [0, 1, 0],
      damping: 0.1 N m s/rad}
  elbow: {type: spherical, parent: arm, child: bob, position: [0, 0, length], limits: [0, 90 deg]}
"""
SMALL = {
    "tree": _PENDULUM + """\
forces:
  pull: {type: spring, from: arm.tip, to: box, stiffness: 10 N/m, length: 1 m, damping: 1 N s/m}
  push: {type: wrench, body: box, force: [1 N, 0, "0.1 N*sin(t/1 s)"]}
controllers:
  hold: {type: pd, joints: shoulder, target: 20 deg, kp: 1 N m/rad, kd: 0.1 N m s/rad}
initial: {shoulder: {coordinate: 20 deg, rate: 1 rad/s}, elbow: {rpy: [10 deg, 0, 0]}}
events:
  let go: {when: "coordinate('shoulder') < -40 deg", cut: elbow, caption: it lets go}
  later: {at: 0.01 s, set: {shoulder: {rate: 2 rad/s}}}
simulate: {duration: 20 ms, record: 500 Hz, rtol: 1e-8}
render: {camera: {azimuth: 20 deg, distance: 4 m}}
""",
    "contacts": """
schema: 1
world: {gravity: [0, 0, -9.81 m/s^2], shapes: [{name: ground, plane: {}}]}
bodies:
  ball: {mass: 1 kg, shapes: [{sphere: {center: [0, 0, 10.5 cm], radius: 10 cm}}]}
  die: {mass: 1 kg, shapes: [{mesh: {vertices: [[1, 0, 1], [1.1, 0, 1], [1, 0.1, 1], [1, 0, 1.1]]}}]}
contacts:
  all: {between: ["*", world], friction: 0.5, restitution: 0.3}
initial: {ball: {velocity: [1 m/s, 0, 0]}, die: {angular_velocity: [1, 2, 3 rad/s]}}
simulate: {duration: 50 ms, contact: event}
""",
    "loop": """
schema: 1
bodies:
  crank: {mass: 1 kg, shapes: [{capsule: {from: [0, 0, 0], to: [0, 0, 1], radius: 2 cm}}]}
  rod: {mass: 1 kg, shapes: [{cylinder: {from: [0, 0, 1], to: [2, 0, 1], radius: 2 cm}}]}
  rocker: {mass: 1 kg, gyration: [10 cm, 20 cm, 20 cm], com: [2, 0, 0.5]}
joints:
  a: {type: rotational, parent: world, child: crank, position: [0, 0, 0], axis: [0, 1, 0], motion: 90 deg/s*t}
  b: {type: rotational, parent: crank, child: rod, position: [0, 0, 1], axis: [0, 1, 0]}
  c: {type: universal, parent: rod, child: rocker, position: [2, 0, 1], axis: [0, 1, 0], second_axis: [1, 0, 0]}
  d: {type: rotational, parent: world, child: rocker, position: [2, 0, 0], axis: [0, 1, 0], friction: 0.1 N m}
simulate: {duration: 20 ms, method: auto}
""",
    "repeated": """
schema: 1
parameters: {n: 4, link: {value: 10, unit: cm, range: [1 cm, 1 m]}}
bodies:
  repeat:
    for: {i: {from: 1, to: 5}}
    "l${i}": {mass: 0.1 kg, shapes: [{capsule: {from: [0, 0, -(i-1)*link], to: [0, 0, -i*link], radius: 1 cm}}]}
joints:
  top: {type: spherical, parent: world, child: l1, position: [0, 0, 0]}
  repeat:
    for: {i: {from: 2, to: 5}}
    "j${i}": {type: spherical, parent: "l${i - 1}", child: "l${i}", position: [0, 0, -(i-1)*link]}
simulate: {duration: 20 ms}
""",
    "rolling": """
schema: 1
world: {shapes: [{name: ground, plane: {}}]}
bodies:
  disc: {mass: 1 kg, shapes: [{cylinder: {center: [0, 0, 0.5], length: 1 cm, radius: 0.5, orientation: {rpy: [90 deg,
      0, 0]}}}]}
constraints:
  rolls: {type: rolling, body: disc, axis: [0, 1, 0], radius: 0.5 m, position: [0, 0, 0.5]}
initial: {disc: {angular_velocity: [0, 1 rad/s, 0]}}
simulate: {duration: 20 ms}
""",
}  # fmt: skip
