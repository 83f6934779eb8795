"""What acts in poses like no other, against differences of the engine: coordinates of loops, forces, laws in Python."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sim
from sim.scene.load import load_text
from tests.dynamics.engine import simulator_for
from tests.linear.differences import differences
from tests.support import reference as ref
from tests.support.mechanisms import KINDS, hang, random_link, with_consistent_rates


def same(simulator: sim.Simulator, rtol: float = 1e-7) -> sim.Linearization:
    """Return the linear model, once it was found to be that of the engine, state by state."""
    model = sim.linearize(simulator)
    assert model.trust["engine"] < 1e-9
    expected = differences(simulator, model)
    assert len(expected) > 2
    assert np.max(np.abs(model.A - expected)) < rtol * np.max(np.abs(expected))
    return model


@pytest.mark.parametrize("kind", [kind for kind in KINDS if ref.FREEDOMS[kind]])
def test_coordinates_and_rates_of_a_loop_are_those_that_formulas_read(kind: str) -> None:
    """Far from the drawing, where angles are beyond their sines and more than a half turn from zero."""
    rng = np.random.default_rng([23, len(kind)])
    chain = hang(rng, [(-1, "universal"), (0, "spherical"), (1, "cylindrical"), (2, "universal")])
    link = random_link(rng, kind, 0, 3, chain.bodies[3].com_W + rng.normal(0, 0.2, 3))
    mechanism = replace(chain, links=(*chain.links, link), joints=(*chain.joints, "loop0"))
    count = ref.FREEDOMS[kind]
    terms = []
    for i in range(count):
        at = f"[{i}]" if count > 1 else ""
        unit = (
            "m"
            if kind in ("translational", "free", "planar", "cylindrical") and i < (3 if kind == "free" else 2)
            else "rad"
        )
        unit = "rad" if (kind == "cylindrical" and i == 1) else unit
        terms.append(f"{rng.uniform(2, 4):.3f} N*m/{unit}*coordinate('loop0'){at}")
        terms.append(f"{rng.uniform(1, 2):.3f} N*m*s/{unit}*rate('loop0'){at}")
    text = f'controllers: {{feel: {{type: torque, torques: {{j0: ["{"+".join(terms)}", 0]}}}}}}'
    simulator = simulator_for(with_consistent_rates(rng, mechanism, 2.0), extra=text)
    assert [simulator.model.joint_names[j] for j in simulator.flow.structure.loops] == ["loop0"]
    simulator.advance(0.35)
    value = np.atleast_1d(simulator.state.coordinate["loop0"])
    assert np.abs(value).max() > 0.1
    same(simulator)


FORCES = """
schema: 1
name: forces
world: {gravity: [0.7, -0.4, -9.81], points: {post: [0.1, 0.9, 1.4]}}
bodies:
  arm: {mass: 2, com: [0.3, 0.1, 0], inertia: [0.1, 0.2, 0.25, 0.01, -0.02, 0.03], position: [0.05, 0.02, 0.1],
        points: {tip: [0.6, 0.1, 0.05], same: [0.6, 0.1, 0.05]}}
  fore: {mass: 0.8, com: [0.9, 0.2, 0.1], inertia: [0.03, 0.04, 0.05], position: [0.8, 0.1, 0.1],
         points: {fin: [1.1, 0.3, -0.1]}}
  ball: {mass: 0.5, com: [0.6, 0.1, -0.4], inertia: [0.01, 0.02, 0.025], points: {side: [0.65, 0.2, -0.45]}}
  kite: {mass: 0.3, com: [0.1, 0.8, 0.5], inertia: [0.02, 0.01, 0.025, 0.001, 0.002, -0.001], position: [0.2, 0.7, 0.4],
         points: {tail: [0.3, 0.6, 0.2]}}
  slide: {mass: 0.4, com: [-0.5, 0.3, 0.2], inertia: [0.01, 0.02, 0.025]}
joints:
  base: {type: universal, parent: world, child: arm, position: [0, 0, 0], axis: [0, 0, 1], second_axis: [0, 1, 0],
         limits: {range: [[-1, 2], [0.35, 2]], stiffness: 70, dissipation: 0.8}, stiffness: [2, 3], rest: [0.2, -0.4],
         damping: [0.1, 0.3]}
  elbow: {type: rotational, parent: arm, child: fore, position: [0.6, 0.1, 0], axis: [0.2, 1, 0.3],
          limits: {range: [-3, 0.5], stiffness: 90, dissipation: 0.6}}
  neck: {type: spherical, parent: arm, child: ball, position: [0.6, 0, 0], damping: 0.05,
         limits: {range: [0, 0.7], stiffness: 50, dissipation: 0.7}}
  bed: {type: planar, parent: kite, child: slide, position: [-0.4, 0.2, 0.1], axis: [0.1, 0.2, 1], second_axis: [1,
          0, -0.1],
        stiffness: [20, 30, 1], rest: [0.1, -0.2, 0.3], damping: [1, 2, 0.1]}
forces:
  line: {type: spring, from: ball.side, to: kite.tail, stiffness: 30, damping: 0.7, length: 0.5}
  wire: {type: spring, from: world.post, to: kite, stiffness: 20, damping: 0.4}
  none: {type: spring, from: arm.tip, to: arm.same, stiffness: 20, damping: 0.4, length: 0}
  coil: {type: torsion_spring, joint: neck, stiffness: 4, damping: 0.1}
  spiral: {type: torsion_spring, joint: elbow, stiffness: 5, damping: 0.2, rest: 0.3}
  twist: {type: torsion_spring, joint: base, freedom: 1, stiffness: 6, damping: 0.3, rest: -0.2}
  free: {type: torsion_spring, joint: kite, stiffness: 0.3, damping: 0.02}
  wind: {type: drag, body: kite, point: tail, linear: 0.2, quadratic: 0.4, turning_linear: 0.02,
          turning_quadratic: 0.05}
  air: {type: drag, body: fore, point: fin, linear: 0.1, quadratic: 0.3}
  jet: {type: wrench, body: ball, point: side, reaction: arm, frame: body,
        force: ["2 N*sin(coordinate('base')[1])", "1 N*rate('elbow')*s", "exp(0.1*t/s)*1 N"],
        torque: ["0.1 N*m", "0.2 N*m*atan2(position('kite.tail')[0], 1 m)", "0.3 N*m*orientation('fore')[2]"]}
  push: {type: wrench, body: fore, point: fin, force: ["1.5 N", "-2 N*coordinate('elbow')", 0], torque: [0, 0.4,
          "0.2 N*m"]}
initial:
  base: {coordinate: [0.3, 0.2], rate: [0.5, -0.4]}
  elbow: {coordinate: 0.6, rate: -0.7}
  neck: {rpy: [0.4, -0.3, 0.8], rate: [1, 0.5, -0.7]}
  kite: {position: [0.3, 0.9, 0.6], rpy: [0.5, -0.2, 0.7], rate: [0.3, 0.1, -0.2, 1, 2, 0.5]}
  bed: {coordinate: [0.2, 0.15, -0.4], rate: [0.3, -0.6, 0.8]}
simulate: {duration: 1 s}
"""


def test_all_forces_of_a_scene_at_once() -> None:
    """Springs to the world and from one place to the same, torsion springs of all joints that have them, drag off the
    centre, wrenches in both axes; soft stops at their lower and upper ends and of a ball's angle,
            all of them touched."""
    simulator = sim.Simulator(sim.compile(load_text(FORCES)))
    simulator.apply_wrench("fore", force_W=[1, 2, 3], torque_W=[0.1, 0.2, 0.3], point_W=[0.2, 0.1, 0.3])
    simulator.apply_wrench("kite", force_W=[-2, 0.3, 1], torque_W=[0.4, -0.2, 0.1], point_W=[0.5, 0.2, -0.3])
    assert simulator.flow.control.engaged.tolist() == [0, 0, 1, 0, 0, 1, 1]
    model = same(simulator, 1e-8)
    assert not model.steady and set(model.inputs) >= {"elbow", "base[0]", "neck[2]", "bed[1]"}
    assert "kite[0]" not in model.inputs  # no joint of the scene holds it
    out = sim.linearize(load_text(FORCES.replace("[-3, 0.5]", "[-3, 0.7]")))
    assert np.max(np.abs(out.A - model.A)) > 1.0


def test_friction_of_joints_that_move_keeps_its_size() -> None:
    text = """
schema: 1
name: rub
bodies: {cart: {mass: 2, com: [0, 0, 0], inertia: [1, 1, 1]}}
joints: {rail: {type: translational, parent: world, child: cart, position: [0, 0, 0], axis: [1, 0, 0], stiffness: 50,
                friction: 3}}
initial: {rail: {coordinate: 0.2, rate: 0.5}}
"""
    simulator = sim.Simulator(sim.compile(load_text(text)))
    simulator.advance(0.01)
    model = sim.linearize(simulator)
    assert model.notes == ("friction of joints that move keeps its size and sense",) and model.trust["engine"] < 1e-12
    assert np.allclose(model.A, [[0, 1], [-25, 0]], atol=1e-12) and "accelerated" in model.remark
    held = sim.linearize(load_text(text.replace("rate: 0.5", "rate: 0").replace("0.2,", "0.01,")), at=0.0)
    assert held.notes == ("held by stops or friction, and still: rail",)


LAW = """
import numpy as np
from sim.plugin import Controller


class Mine(Controller):
    def torque(self, t, state, torque):
        n = len(torque)
        for i in range(n):
            torque[i] += np.sin(i + 1.0) * np.sum(np.cos(np.arange(n) + i) * state.coordinate) + 0.3 * (i + 1)
            torque[i] += 0.2 * np.sum(np.sin(np.arange(n) * (i + 2.0)) * state.rate) * state.coordinate[i]


class Held(Controller):
    rate = 50.0

    def sample(self, t, state, torque, memory):
        torque[:] = 0.4
"""


def test_laws_in_python_are_differentiated_in_the_freedoms_own_axes(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(LAW)
    text = """
schema: 1
name: laws
bodies:
  kite: {mass: 0.9, com: [0.1, 0.8, 0.5], inertia: [0.2, 0.1, 0.25, 0.01, 0.02, -0.01], position: [0.2, 0.7, 0.4]}
  ball: {mass: 0.5, com: [0.6, 0.1, -0.4], inertia: [0.1, 0.2, 0.25]}
  fore: {mass: 0.8, com: [0.9, 0.2, 0.1], inertia: [0.3, 0.4, 0.5]}
joints:
  neck: {type: spherical, parent: kite, child: ball, position: [0.6, 0, 0]}
  tube: {type: cylindrical, parent: ball, child: fore, position: [0.6, 0.1, 0], axis: [0.2, 1, 0.3]}
controllers: {mine: {type: "./mine.py:Mine"}, idle: {type: "./mine.py:Mine", enabled: false},
              held: {type: "./mine.py:Held"},
              still: {type: torque, enabled: false, torques: {tube: [0, "9 N*m*coordinate('tube')[1]"]}},
              pull: {type: torque, torques: {tube: ["-7 N/m*coordinate('tube')[0]", "3 N*m*s*rate('tube')[1]"]}}}
initial:
  kite: {position: [0.3, 0.9, 0.6], rpy: [0.5, -0.2, 0.7], rate: [0.3, 0.1, -0.2, 1, 2, 0.5]}
  neck: {rpy: [0.4, -0.3, 0.8], rate: [1, 0.5, -0.7]}
  tube: {coordinate: [0.1, -0.6], rate: [0.3, -0.9]}
"""
    (tmp_path / "laws.yaml").write_text(text)
    simulator = sim.Simulator(sim.compile(sim.load(tmp_path / "laws.yaml", trust=True)))
    simulator.advance(0.0)
    model = sim.linearize(simulator)
    assert model.notes == (
        "controller 'mine' is a function in Python: differentiated by central differences",
        "controller 'held' is sampled: what it holds is held still",
    )
    assert model.error == 1e-8 and model.trust["engine"] < 1e-12
    expected = differences(simulator, model)
    assert len(expected) == 22 and np.max(np.abs(model.A - expected)) < 1e-7 * np.max(np.abs(expected))
