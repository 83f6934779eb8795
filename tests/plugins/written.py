"""Controllers written into files, and a scene that uses them."""

from __future__ import annotations

from pathlib import Path

import sim
from sim.scene.spec import Scene

HEAD = "import dataclasses\nimport numpy as np\nfrom sim.plugin import Controller, parameter\n\n"
SCENE = """\
schema: 1
name: arm
bodies:
  arm: {mass: 1 kg, shapes: [{capsule: {from: [0, 0, 1], to: [0.5, 0, 1], radius: 2 cm}}]}
joints:
  hinge: {type: rotational, parent: world, child: arm, position: [0, 0, 1], axis: [0, 1, 0]}
controllers:
  mine: {type: "./mine.py:Mine"}
simulate: {duration: 0.3 s}
"""
CLASS = "@dataclasses.dataclass(kw_only=True)\nclass Mine(Controller):\n"
PLACE = "scene.yaml:8:3"


def line_of(text: str, mark: str = "HERE") -> int:
    """Return the line of the controller's file that bears a mark."""
    return next(n for n, line in enumerate((HEAD + text).splitlines(), start=1) if mark in line)


def write(folder: Path, text: str) -> Path:
    """Write a controller's file, and the scene; return the scene's path."""
    (folder / "mine.py").write_text(HEAD + text, encoding="utf-8")
    path = folder / "scene.yaml"
    path.write_text(SCENE, encoding="utf-8")
    return path


def with_method(body: str) -> str:
    """Return the text of a class `Mine` with methods."""
    return CLASS + "".join(f"    {line}\n" for line in body.splitlines())


def with_law(body: str) -> str:
    """Return the text of a class `Mine` with a compiled law."""
    law = "def law(t, coordinate, rate, constants, torque):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    return (
        law
        + "\n\n"
        + CLASS
        + "    law = staticmethod(law)\n    def constants(self, view):\n        return np.ones(2)\n"
    )


def loaded(folder: Path, text: str) -> Scene:
    """Return the scene with a controller that is trusted."""
    return sim.load(write(folder, text), trust=True)
