"""Scenes with wheels, blades and discs, and the published bicycle."""

from __future__ import annotations

from dataclasses import replace
from math import cos, inf, pi, sin
from typing import Any

from sim.scene.load import load_text
from sim.scene.spec import Constraint, Scene

TILT = pi / 10  # rad, of the bicycle's steer axis


def with_constraints(text: str, *constraints: dict[str, Any]) -> Scene:
    """Return a scene with constraints, each given by what is not as in a wheel that stands on the ground."""
    scene = load_text(text)
    usual = {
        "name": "wheel", "type": "no_side_slip", "body": "b", "on": "world", "point": "", "position": (0.0, 0.0, 0.0),
        "axis": (0.0, 1.0, 0.0), "normal": (0.0, 0.0, 1.0), "level": (0.0, 0.0, 0.0), "radius": 0.0, "tube": 0.0,
        "components": (), "joints": (), "freedoms": (), "ratio": 0.0, "keeps": True, "holds": inf, "active": True,
        "place": scene.bodies[0].place,
    }  # fmt: skip
    return replace(scene, constraints=tuple(Constraint(**(usual | said)) for said in constraints))


def bicycle(v: float) -> Scene:
    """Return the bicycle of Meijaard et al. (2007), upright at v m/s."""
    text = f"""
schema: 1
name: bicycle
bodies:
  frame: {{mass: 85, com: [0.3, 0, 0.9], inertia: [9.2, 11, 2.8, 0, -2.4, 0]}}
  fork: {{mass: 4, com: [0.9, 0, 0.7], inertia: [0.05892, 0.06, 0.00708, 0, 0.00756, 0]}}
  rear: {{mass: 2, com: [0, 0, 0.3], inertia: [0.0603, 0.12, 0.0603]}}
  front: {{mass: 3, com: [1.02, 0, 0.35], inertia: [0.1405, 0.28, 0.1405]}}
world: {{gravity: [0, 0, -9.81]}}
joints:
  steer: {{type: rotational, parent: frame, child: fork, axis: [{-sin(TILT)}, 0, {cos(TILT)}], position: [1.1, 0, 0]}}
  rear_axle: {{type: rotational, parent: frame, child: rear, axis: [0, 1, 0], position: [0, 0, 0.3]}}
  front_axle: {{type: rotational, parent: fork, child: front, axis: [0, 1, 0], position: [1.02, 0, 0.35]}}
initial:
  frame: {{rate: [{v}, 0, 0, 0, 0, 0]}}
  rear_axle: {{rate: {v / 0.3}}}
  front_axle: {{rate: {v / 0.35}}}
"""
    return with_constraints(
        text,
        {"name": "rear_tyre", "type": "rolling", "body": "rear", "position": (0.0, 0.0, 0.3), "radius": 0.3},
        {"name": "front_tyre", "type": "rolling", "body": "front", "position": (1.02, 0.0, 0.35), "radius": 0.35},
    )


def disc(v: float, radius: float = 0.1) -> Scene:
    """Return a uniform disc of 1 kg that rolls straight on at v m/s."""
    axle = 0.5 * radius**2
    text = f"""
schema: 1
name: disc
world: {{gravity: [0, 0, -9.81]}}
bodies: {{b: {{mass: 1, com: [0, 0, {radius}], inertia: [{axle / 2}, {axle}, {axle / 2}]}}}}
initial: {{b: {{rate: [{v}, 0, 0, 0, {v / radius}, 0]}}}}
"""
    return with_constraints(text, {"type": "rolling", "position": (0.0, 0.0, radius), "radius": radius})


def sleigh(u: float) -> Scene:
    """Return Chaplygin's sleigh, its centre of mass half a metre before the blade, going straight at u m/s."""
    text = f"""
schema: 1
name: sleigh
world: {{gravity: [0, 0, 0]}}
bodies: {{b: {{mass: 1 kg, inertia: [1, 1, 1], com: [0.5, 0, 0]}}}}
joints:
  plane: {{type: planar, parent: world, child: b, axis: [0, 0, 1], second_axis: [1, 0, 0], position: [0, 0, 0]}}
initial: {{plane: {{rate: [{u}, 0, 0]}}}}
"""
    return with_constraints(text, {"type": "knife_edge", "axis": (1.0, 0.0, 0.0)})


def coin(radius: float, circle: float, tilt: float) -> tuple[Scene, float, float]:
    """Return a disc that rolls round in a circle (Le Saux and Leine 2005, section 6), its spin and its turn [rad/s]."""
    m, ratio = 0.3048, radius / circle
    spin = (4.0 * (9.81 / radius) * sin(tilt) / ((6.0 - 5.0 * ratio * sin(tilt)) * ratio * cos(tilt))) ** 0.5
    turn = -ratio * spin
    # The disc's axis is its own y, leaning by `tilt` about x; it turns about the vertical and spins about its axis.
    c, s = cos(tilt), sin(tilt)
    centre = (0.0, -radius * s, radius * c)
    w_W = (0.0, spin * c, spin * s + turn)
    v_W = (w_W[1] * centre[2] - w_W[2] * centre[1], 0.0, 0.0)
    w_B = (0.0, c * w_W[1] + s * w_W[2], -s * w_W[1] + c * w_W[2])
    axle = 0.5 * m * radius**2
    text = f"""
schema: 1
name: coin
world: {{gravity: [0, 0, -9.81]}}
bodies: {{b: {{mass: {m}, inertia: [{axle / 2}, {axle}, {axle / 2}], com: [0, 0, 0]}}}}
initial:
  b:
    position: [{centre[0]}, {centre[1]}, {centre[2]}]
    rpy: [{tilt}, 0, 0]
    rate: [{", ".join(f"{x!r}" for x in (*v_W, *w_B))}]
"""
    scene = with_constraints(text, {"type": "rolling", "radius": radius})
    return scene, spin, turn
