"""Kinetic energy where large parts of it cancel about the origins of links, against sums in long double."""

from __future__ import annotations

import numpy as np
import pytest

import sim
from sim.scene.load import load_text

CART = """
schema: 1
name: cart
bodies:
  cart: {mass: 1e-6 kg, com: [0, 0, 0]}
  pole: {mass: 1 kg, com: [0, 0, -1 m]}
joints:
  rail: {type: translational, parent: world, child: cart, position: [0, 0, 0], axis: [1, 0, 0]}
  hinge: {type: rotational, parent: cart, child: pole, position: [0, 0, 0], axis: [0, -1, 0]}
"""
ARMS = """
schema: 1
name: arms
bodies:
  long: {mass: 1e-6 kg, com: [0.5, 0, 0], inertia: [1e-8, 1e-8, 1e-8]}
  heavy: {mass: 3 kg, com: [0.2, 0, 0], inertia: [1e-9, 1e-9, 1e-9]}
joints:
  base: {type: rotational, parent: world, child: long, position: [0, 0, 0], axis: [0, -1, 0]}
  tip: {type: rotational, parent: long, child: heavy, position: [1, 0, 0], axis: [0, -1, 0]}
"""


def state(text: str, q: list[float], v: list[float]) -> sim.Simulator:
    names = ("rail", "hinge") if "rail" in text else ("base", "tip")
    starts = ", ".join(f"{n}: {{coordinate: {a!r}, rate: {b!r}}}" for n, a, b in zip(names, q, v, strict=True))
    run = sim.Simulator(sim.compile(load_text(text + f"initial: {{{starts}}}\nsimulate: {{duration: 1 s}}\n")))
    assert np.allclose(run.q, q, rtol=0.0, atol=1e-15) and np.array_equal(run.v, v)
    return run


@pytest.mark.parametrize("rate", [10.0, 4e3, -1e5])
def test_a_light_cart_that_rushes_under_a_bob_at_rest(rate: float) -> None:
    """A bob 1 m below: x' + l a' cos(a) and l a' sin(a); 3 m/s are left of the cart's speed."""
    a = 0.001
    turn = float((3.0 - rate) / np.cos(a))
    run = state(CART, [0.2, a], [rate, turn])
    q, v = (np.asarray(x, np.longdouble) for x in (run.q, run.v))
    along, up = v[0] + v[1] * np.cos(q[1]), v[1] * np.sin(q[1])
    exact = (np.longdouble(1e-6) * v[0] ** 2 + along**2 + up**2) / 2
    assert abs(run.energy["kinetic"] / float(exact) - 1.0) < 1e-14 + 1e-15 * abs(rate)


@pytest.mark.parametrize("rate", [10.0, 4e3, -1e5])
def test_a_heavy_body_that_a_light_arm_whirls_back_to_rest(rate: float) -> None:
    """Its centre, 0.8 m back from the arm's end, keeps 3 m/s of the arm's speed."""
    run = state(ARMS, [0.3, 1e-5], [rate, (rate - 3.0) / 0.8 - rate])
    q, v = (np.asarray(x, np.longdouble) for x in (run.q, run.v))
    w = v[0] + v[1]
    x = -v[0] * np.sin(q[0]) + np.longdouble(0.8) * w * np.sin(q[0] + q[1])
    z = v[0] * np.cos(q[0]) - np.longdouble(0.8) * w * np.cos(q[0] + q[1])
    light = np.longdouble(1e-6) * v[0] ** 2 / 4 + np.longdouble(1e-8) * v[0] ** 2
    exact = (light + 3 * (x**2 + z**2) + np.longdouble(1e-9) * w**2) / 2
    assert abs(run.energy["kinetic"] / float(exact) - 1.0) < 1e-14 + 1e-15 * abs(rate)


def test_a_light_cart_with_a_heavy_bob_keeps_its_energy_as_told() -> None:
    """The bob falls from the side of the cart, which rushes by under it at 4 km/s; recorded and added up anew."""
    passes = "events: {passes: {when: \"coordinate('hinge') < 0\", impulse: {body: cart, linear: [1e-30, 0, 0]}}}\n"
    text = f"{CART}initial: {{hinge: 90 deg}}\n{passes}simulate: {{duration: 0.6 s, rtol: 1e-10}}\n"
    recording = sim.run(load_text(text))
    (epoch,) = recording.epochs
    q, v = np.asarray(epoch.q, np.longdouble), np.asarray(epoch.v, np.longdouble)
    along, up = v[:, 0] + v[:, 1] * np.cos(q[:, 1]), v[:, 1] * np.sin(q[:, 1])
    exact = (np.longdouble(1e-6) * v[:, 0] ** 2 + along**2 + up**2) / 2
    assert np.max(np.abs(v[:, 0])) > 1e3
    assert np.max(np.abs(np.asarray(recording.energy.kinetic) - exact.astype(float))) < 1e-11
