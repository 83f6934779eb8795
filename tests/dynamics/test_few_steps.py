"""A few steps of what takes long runs elsewhere: quick enough to run interpreted, and with bounds checked."""

from __future__ import annotations

import numpy as np
import pytest

import sim
from sim.scene.load import load_text
from tests.contact.engine import G0
from tests.contact.test_stepping import forces
from tests.dynamics.test_variational import tied

pytestmark = pytest.mark.fast

FRAME = """
schema: 1
name: frame
world: {shapes: [{name: ground, plane: {}}]}
bodies:
  a: {mass: 1, shapes: [{capsule: {from: [0, 0, 0.05], to: [1, 0, 0.05], radius: 0.05}}]}
  b: {mass: 2, shapes: [{capsule: {from: [1, 0, 0.05], to: [1, 1, 0.05], radius: 0.05}}]}
  c: {mass: 1, shapes: [{capsule: {from: [1, 1, 0.05], to: [0, 1, 0.05], radius: 0.05}}]}
  d: {mass: 3, shapes: [{capsule: {from: [0, 1, 0.05], to: [0, 0, 0.05], radius: 0.05}}]}
joints:
  ab: {type: rotational, parent: a, child: b, position: [1, 0, 0.05], axis: [0, 0, 1], friction: 0.1}
  bc: {type: rotational, parent: b, child: c, position: [1, 1, 0.05], axis: [0, 0, 1]}
  cd: {type: rotational, parent: c, child: d, position: [0, 1, 0.05], axis: [0, 0, 1]}
  da: {type: LAST, parent: a, child: d, position: [0, 0, 0.05]}
initial: {a: {velocity: [0.3, -0.2, 0]}, ab: {rate: 1.0}}
contacts: {ground: {between: ["*", world], friction: 0.3}}
simulate: {contact: stepping, dt: 2 ms}
"""
LAST = {
    "hinge with friction": "rotational, axis: [0, 0, 1], friction: 0.2",
    "spherical with a stop": "spherical, limits: {range: [0, 0.004], stop: rigid}",
    "spherical with a soft stop": "spherical, limits: {range: [0, 0.004], stiffness: 1e4, dissipation: 1}",
}


def pushed_and_moved(text: str, h: float) -> tuple[sim.Simulator, np.ndarray, np.ndarray]:
    """Momentum that gravity and contacts give to all bodies together in 8 ms, and what they have gained [N s]."""
    s = sim.Simulator(sim.compile(load_text(text.replace("dt: 2 ms", f"dt: {h} s"))))
    mass, names = s.model.bodies.mass[1:], ("a", "b", "c", "d")
    before, pushed = mass @ [s.velocity[f"{name}.com"] for name in names], np.zeros(3)
    while s.t < 8e-3 - 1e-9:
        s.advance(s.t + h)
        force = np.sum(list(forces(s).values()), axis=0)
        assert force[2] > 0.5 * G0 * mass.sum()
        pushed += h * force
        pushed[2] -= h * G0 * mass.sum()
    return s, pushed, mass @ [s.velocity[f"{name}.com"] for name in names] - before


@pytest.mark.parametrize("last", LAST)
def test_a_loop_on_the_ground_is_moved_by_what_the_ground_does(last: str) -> None:
    """Joints have no part in the momentum of all; half the step leaves less of the error, by which bodies turn."""
    text, off = FRAME.replace("LAST", LAST[last]), []
    for h in (2e-3, 1e-3):
        s, pushed, moved = pushed_and_moved(text, h)
        off.append(float(np.abs(moved - pushed).max()))
        assert moved[2] == pytest.approx(pushed[2], abs=1e-7)
        assert np.linalg.norm(pushed[:2]) > 0.05
        assert s.flow.work.one.position_residual[0] < 1e-9  # m, how far the loop is open
    assert off[0] < 0.01 and off[1] < 0.85 * off[0]
    if last.startswith("spherical"):  # it came to its stop
        beyond = np.linalg.norm(s.coordinate["da"]) - 0.004
        assert 0.0 < beyond < 0.004 if "soft" in last else abs(beyond) < 1e-4
    else:
        assert abs(s.friction_torque["da"]) == pytest.approx(0.2, rel=1e-9)


@pytest.mark.parametrize("tie", ["spherical", "universal", "cylindrical"])
def test_rotors_of_tree_and_loop_take_part_in_a_variational_step(tie: str) -> None:
    """Half the step leaves a quarter of the error."""
    text, until, found = tied("spherical", tie), 80e-3, []
    for simulate in ("rtol: 1e-10", "method: variational, step: 20 ms", "method: variational, step: 10 ms"):
        s = sim.Simulator(sim.compile(load_text(text.replace("duration: 1 s", f"duration: 1 s, {simulate}"))))
        s.advance(until)
        found.append(np.concatenate([s.position["lower.com"], s.position["upper.com"]]))
    coarse, fine = (np.abs(one - found[0]).max() for one in found[1:])
    assert coarse / fine == pytest.approx(4.0, rel=0.05)
    assert np.abs(found[0][2] - 0.95) > 1e-5  # they move


FLOATING = """
schema: 1
name: floating
world: {gravity: [0, 0, 0]}
bodies:
  a: {mass: 1, com: [0.5, 0, 0], gyration: [0.1, 0.3, 0.3]}
  b: {mass: 2, com: [1, 0.5, 0.1], gyration: [0.3, 0.1, 0.3]}
  c: {mass: 1, com: [0.5, 1, 0], gyration: [0.1, 0.3, 0.3]}
  d: {mass: 3, com: [0, 0.5, 0], gyration: [0.3, 0.1, 0.3]}
joints:
  ab: {type: rotational, parent: a, child: b, position: [1, 0, 0], axis: [0, 0, 1]}
  bc: {type: rotational, parent: b, child: c, position: [1, 1, 0], axis: [0, 0, 1]}
  cd: {type: rotational, parent: c, child: d, position: [0, 1, 0], axis: [0, 0, 1]}
  da: {type: spherical, parent: a, child: d, position: [0, 0, 0], limits: {range: [0, 0.004], STOP}}
initial: {a: {angular_velocity: [0.2, 0.1, 0.3]}, ab: {rate: 1.0}}
simulate: {rtol: 1e-8}
"""


@pytest.mark.parametrize("stop", ["stop: rigid", "stiffness: 1e5, dissipation: 1"])
def test_a_stop_within_a_floating_loop_leaves_all_momenta(stop: str) -> None:
    s = sim.Simulator(sim.compile(load_text(FLOATING.replace("STOP", stop))))
    model, mass, names = s.model, s.model.bodies.mass[1:], ("a", "b", "c", "d")

    def momenta() -> np.ndarray:
        velocity = np.array([s.velocity[f"{name}.com"] for name in names])
        place = np.array([s.position[f"{name}.com"] for name in names])
        spin = [
            R @ (np.diag(inertia[:3]) @ (R.T @ w))
            for R, w, inertia in zip(
                (s.rotation[name] for name in names),
                (s.angular_velocity[name] for name in names),
                model.bodies.inertia_B[1:],
                strict=True,
            )
        ]
        return np.concatenate([mass @ velocity, mass @ np.cross(place, velocity) + np.sum(spin, axis=0)])

    before, energy = momenta(), s.energy["kinetic"]
    s.advance(8e-3)
    assert momenta() == pytest.approx(before, abs=1e-9)
    angle = np.linalg.norm(s.coordinate["da"])
    assert s.energy["kinetic"] < 0.9 * energy  # it was struck, or leaned on
    assert angle < (0.004 + 1e-9 if "rigid" in stop else 0.008)
    assert s.energy["balance"] == pytest.approx(0.0, abs=1e-8)
