"""What sticks and rolls in time steps takes nothing but of second order: rates are asked half way through a step."""

from __future__ import annotations

from functools import cache

import pytest

import sim
from sim.scene.load import load_text
from sim.simulation.simulator import Simulator

pytestmark = pytest.mark.contact

# The rattleback of Kane and Levinson (1982), spun the way in which it rattles and turns back; it sticks to the ground.
RATTLEBACK = """
schema: 1
name: rattleback
about: Rattleback of Kane and Levinson (1982), axis 3 down.
parameters:
  spin: {value: -5 rad/s, about: "omega_3 at the start, axis 3 down"}
  a: 0.2 m
  b: 0.03 m
  c: 0.02 m
  h: 0.01 m
  al: 0.5 deg
  be: 0.5 deg
  grip: {value: 100, about: friction}
  # the upward vector in body axes
  n1: cos(al)*sin(be)
  n2: sin(al)
  n3: cos(al)*cos(be)
  eps: sqrt(a^2*n1^2 + b^2*n2^2 + c^2*n3^2)
  pitch: -asin(n1)
  roll: atan2(n2, n3)
  # contact from the centre of mass, body axes
  r1: -a^2*n1/eps
  r2: -b^2*n2/eps
  r3: -c^2*n3/eps + h
  # velocity of the centre of mass in body axes: - omega x r, omega = (0, 0, -spin)
  v1: -spin*r2
  v2: spin*r1
world: {shapes: [{name: floor, plane: {}}]}
bodies:
  stone:
    mass: 1
    com: [0, 0, -h]
    inertia: [2e-4, 1.6e-3, 1.7e-3, 2e-5, 0, 0]
    position: [0, 0, 0]
    shapes: [{ellipsoid: {center: [0, 0, 0], radii: [a, b, c]}}]
initial:
  stone:
    position: [0, 0, eps]
    rpy: [roll, pitch, 0]
    # velocity of the origin (centre of the ellipsoid): -omega x (contact from centre)
    velocity:
      - cos(pitch)*(-spin*r2) + sin(pitch)*sin(roll)*(spin*r1)
      - cos(roll)*(spin*r1)
      - -sin(pitch)*(-spin*r2) + cos(pitch)*sin(roll)*(spin*r1)
    angular_velocity: [0, 0, -spin]
contacts:
  sole: {between: [stone, world.floor], friction: grip}
simulate: {duration: 6 s, HOW}
"""


def simulator(how: str) -> Simulator:
    return Simulator(sim.compile(load_text(RATTLEBACK.replace("HOW", how))))


def spin(s: Simulator) -> float:
    """Rate about its own vertical axis, axis 3 down [rad/s]."""
    return -float((s.rotation["stone"].T @ s.angular_velocity["stone"])[2])


@cache
def spun(how: str) -> tuple[float, float]:
    """Spin after 0.6 s, and what contacts took until then as share of the energy of motion at first."""
    s = simulator(how)
    s.flow.observe()
    first = s.energy["kinetic"]
    s.advance(0.6)
    return spin(s), s.flow.taken().get("taken_by_contacts", 0.0) / first


@pytest.mark.fast
def test_a_body_that_rolls_without_slipping_moves_as_with_events_to_second_order() -> None:
    exact, _ = spun("contact: event, rtol: 1e-10")
    found = {h: spun(f"contact: stepping, dt: {h} ms") for h in (2.0, 1.0, 0.5)}
    off = {h: abs(value - exact) for h, (value, _) in found.items()}
    assert exact == pytest.approx(-3.729, abs=1e-3) and off[0.5] < 4e-3
    for h in (2.0, 1.0):
        assert off[h] / off[h / 2] > 3.2  # of first order: 2
        assert found[h][1] / found[h / 2][1] > 4.0
    assert found[1.0][1] < 2e-3


@pytest.mark.fast
def test_what_rolls_is_little_changed_by_what_falls_beside_it() -> None:
    """In the step in which another body lands all are asked at its start, in all others half way."""
    text = RATTLEBACK.replace(
        "initial:\n",
        """  ball: {mass: 0.3, shapes: [{sphere: {center: [2, 0, 0.5], radius: 0.1}}]}
initial:
""",
    )
    text = text.replace("contacts:\n", "contacts:\n  lands: {between: [ball, world.floor], friction: 1}\n")
    s = Simulator(sim.compile(load_text(text.replace("HOW", "contact: stepping, dt: 1 ms"))))
    s.advance(0.6)
    assert s.position["ball"][2] == pytest.approx(0.1, abs=1e-5)
    assert abs(s.velocity["ball"][2]) < 1e-3
    alone, _ = spun("contact: stepping, dt: 1 ms")
    assert spin(s) == pytest.approx(alone, abs=2e-3)


def test_a_rattleback_keeps_its_spin_in_steps_of_a_millisecond() -> None:
    """It turns back, to 5.39 rad/s with events; steps that take energy where it sticks leave less than 3."""
    s, most = simulator("contact: stepping, dt: 1 ms"), 0.0
    s.flow.observe()
    kinetic, first = s.energy["kinetic"], s.energy["kinetic"] + s.energy["potential"]
    for n in range(1, 601):
        s.advance(0.01 * n)
        s.flow.observe()
        most = max(most, spin(s))
        assert s.energy["kinetic"] + s.energy["potential"] < first + 0.015 * kinetic
    assert 4.8 < most < 5.5
