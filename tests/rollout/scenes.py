"""Scenes that are rolled out, and their models."""

from __future__ import annotations

from dataclasses import replace

import sim
from sim.scene import library
from sim.scene.load import load_text

WHEEL = """
schema: 1
name: wheel
world: {gravity: [0, 0, 0]}
bodies:
  wheel: {mass: 2, com: [0, 0, 0], inertia: [0.2, 0.25, 0.3]}
  slide: {mass: 4, com: [1, 0, 0], inertia: [0.1, 0.1, 0.1]}
joints:
  axle: {type: rotational, parent: world, child: wheel, position: [0, 0, 0], axis: [0, 0, 1]}
  rail: {type: translational, parent: world, child: slide, position: [1, 0, 0], axis: [1, 0, 0]}
"""

# A ball joint, a hinge with a spring and stops, a loop over a damped spherical joint with two turning rods.
EVERYTHING = """
schema: 1
name: everything
bodies:
  a: {mass: 1, com: [0.1, 0, -0.3], inertia: [0.03, 0.02, 0.01], points: {end: [0.2, 0, -0.6]}}
  b: {mass: 2, com: [0.2, 0.1, -0.9], inertia: [0.02, 0.03, 0.015]}
  c: {mass: 1, com: [1, 0, -0.3], inertia: [0.03, 0.02, 0.01]}
  d: {mass: 0.5, com: [0.75, 0.1, -0.9], inertia: [0.01, 0.012, 0.015]}
joints:
  top: {type: spherical, parent: world, child: a, position: [0, 0, 0]}
  elbow: {type: rotational, parent: a, child: b, position: [0.2, 0, -0.6], axis: [0, 1, 0], limits: [-0.2, 0.2],
          stiffness: 2 N m/rad}
  other: {type: universal, parent: world, child: c, position: [1, 0, 0], axis: [1, 0, 0], second_axis: [0, 1, 0]}
  knee: {type: rotational, parent: c, child: d, position: [1, 0, -0.6], axis: [0, 1, 0], damping: 0.02}
  grip: {type: spherical, parent: b, child: d, position: [0.5, 0.1, -1.1], damping: 0.05}
forces:
  strut: {type: spring, from: c.com, to: a.end, stiffness: 5 N/m}
initial: {other: {rate: [1, -2]}}
simulate: {rtol: 1e-8}
"""

PENDULUM_ON_A_STOP = """
schema: 1
name: stopped
bodies: {rod: {mass: 1, com: [0, 0, -0.5], inertia: [0.1, 0.1, 0.01]}}
joints: {hinge: {type: rotational, parent: world, child: rod, position: [0, 0, 0], axis: [0, 1, 0],
                 limits: [-0.3, 0.5]}}
initial: {hinge: -0.2}
simulate: {duration: 1 s}
"""


def model_of(text: str, **settings: object) -> sim.mechanism.model.Model:
    """Compile a text, or a shipped scene by name, with other settings of `simulate`."""
    scene = load_text(text) if "\n" in text else sim.load(library.find(text))
    return sim.compile(replace(scene, simulate=replace(scene.simulate, **settings)))
