"""What time steps tell: forces and moments of joints that close loops, and whether points stick or slide."""

from __future__ import annotations

import numpy as np
import pytest

from sim.kernels.shapes import SLIP, STICK
from sim.scene.load import load_text
from tests.contact.engine import G0
from tests.contact.test_stepping import stepping

pytestmark = [pytest.mark.contact, pytest.mark.fast]

# Two joints on one axis; the second closes a loop, and only it has friction or stops.
CART = """
schema: 1
name: cart
bodies:
  cart: {{mass: 2, com: {com}, inertia: [0.1, 0.2, 0.3], position: [0.3, 0, 0.1]}}
joints:
  rail: {{type: {kind}, parent: world, child: cart, position: [0, 0, 0], axis: [0.6, 0, 0.8]}}
  guide: {{type: {kind}, parent: world, child: cart, position: [0.6, 0, 0.8], axis: [0.6, 0, 0.8], {more}}}
initial: {{rail: {{coordinate: {q}, rate: {v}}}}}
"""
AXIS = np.array([0.6, 0, 0.8])
COM = {"translational": np.array([0.1, 0.2, 0.3]), "rotational": np.array([0.1, 0.3, 0.2])}


def weight_along(kind: str, q: float) -> float:
    """Return the weight's force or moment along the axis, of the cart at q [m or rad]."""
    weight = np.array([0, 0, -2 * G0])
    if kind == "translational":
        return float(AXIS @ weight)
    r = COM[kind]
    r = AXIS * (AXIS @ r) + np.cos(q) * np.cross(np.cross(AXIS, r), AXIS) + np.sin(q) * np.cross(AXIS, r)
    return float(AXIS @ np.cross(r, weight))


@pytest.mark.parametrize("kind", ["translational", "rotational"])
@pytest.mark.parametrize("what", ["friction", "rigid", "soft"])
@pytest.mark.parametrize("side", [1, -1])
def test_what_a_loop_joint_gives_is_a_force_of_slides_and_a_moment_of_turns(kind: str, what: str, side: int) -> None:
    q, v, k = 0.4, 0.0, 300.0
    pull = weight_along(kind, q)
    push = side * (abs(pull) + 7.0) - pull  # beside the weight, into the stop
    bound = f"[-9, {q}]" if side > 0 else f"[{q}, 9]"
    if what == "friction":
        more, q, v, push, wanted = "friction: 3", 0.0, 2.0 * side, 0.0, -3.0 * side
    else:
        more = f"limits: {{range: {bound}, stop: {what}{f', stiffness: {k}' if what == 'soft' else ''}}}"
        wanted = -(pull + push)
    if what == "soft":
        q += (pull + push) / k
        wanted = -(weight_along(kind, q) + push)
        q = 0.4 - wanted / k
    text = CART.format(kind=kind, more=more, com=COM[kind].tolist(), q=repr(float(q)), v=v)
    simulator = stepping(load_text(text), 1e-3)
    force = AXIS * push if kind == "translational" else np.zeros(3)
    simulator.apply_wrench("cart", force_W=force, torque_W=AXIS * push if kind == "rotational" else np.zeros(3))
    simulator.advance(0.005)
    structure, names = simulator.flow.structure, simulator.model.joint_names
    assert [names[j] for j in structure.loops] == ["guide"]
    along = simulator.force["guide"].reshape(2, 3) @ AXIS  # moment, force
    given = (0.0, wanted) if kind == "translational" else (wanted, 0.0)
    chosen = simulator.force["rail"].reshape(2, 3) @ AXIS
    assert along == pytest.approx(given, rel=0.05 if what == "soft" else 2e-3, abs=1e-6)
    assert chosen[1 if kind == "translational" else 0] == pytest.approx(0.0, abs=1e-6)


BOX = """
schema: 1
name: box
world: {{shapes: [{{name: ground, plane: {{}}}}]}}
bodies: {{box: {{mass: 2, shapes: [{{box: {{center: [0, 0, 0.1], size: [0.6, 0.5, 0.2]}}}}]}}}}
initial: {{box: {{velocity: [{vx}, {vy}, 0]}}}}
contacts: {{stand: {{between: [box, world], friction: {mu}}}}}
"""


@pytest.mark.parametrize(("mu", "speed", "push"), [(0.2, 1.0, 0.0), (0.5, 0.0, 6.0), (0.2, 0.0, 6.0)])
@pytest.mark.parametrize("way", [0.0, 2.5])
def test_points_are_told_to_slide_where_they_do(mu: float, speed: float, push: float, way: float) -> None:
    """Sliding from the start, held by less than friction can give, and pulled away by more."""
    d = np.array([np.cos(way), np.sin(way)])
    simulator = stepping(load_text(BOX.format(vx=speed * d[0], vy=speed * d[1], mu=mu)), 1e-3)
    simulator.apply_wrench("box", force_W=[*(push * d), 0.0], point_W=[0, 0, 0.0])
    simulator.advance(0.01)
    flow = simulator.flow
    flow.sample_now()
    values, _, _, told = flow.take_rows()
    last = told["row"] == told["row"].max()
    slides = speed > 0 or push > mu * 2 * G0
    assert set(np.asarray(told["mode"])[last]) == {SLIP if slides else STICK}
    force = np.asarray(told["force"])[last].sum(axis=0)
    friction = mu * 2 * G0 if slides else push
    sign = np.sign(force[2])
    assert sign * force == pytest.approx([*(-friction * d), 2 * G0], rel=1e-3, abs=1e-3)
    moved = speed * 0.01 + 0.5 * (push - friction) / 2 * 0.01**2
    assert simulator.position["box"][:2] @ d == pytest.approx(moved, abs=3e-5)
    assert len(values["time"])
