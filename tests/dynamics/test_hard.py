"""All that is told of hard mechanisms at their start against the dense oracle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sim
from sim.mechanism import structure as connectivity
from tests.dynamics.engine import bodies_of, links_at, simulator_of
from tests.dynamics.told import assert_told
from tests.support import reference as ref
from tests.support.hard import CASES, Hard, hard


def pushed(simulator: sim.Simulator, made: Hard, seed: int = 3) -> list[ref.Wrench]:
    """Push two bodies, one at a point and one at its origin; returns what the oracle is to know of it."""
    rng, out = np.random.default_rng(seed), []
    for k, name in enumerate(made.mechanism.names[1:3], start=1):
        force, torque = rng.normal(0, 5, (2, 3))
        point = simulator.position[name] + (rng.normal(0, 0.5, 3) if k == 1 else 0.0)
        simulator.apply_wrench(name, force_W=force, torque_W=torque, point_W=point if k == 1 else None)
        out.append(ref.Wrench(body=k, force_W=force, torque_W=torque, point_W=point))
    return out


@pytest.mark.fast
@pytest.mark.parametrize("elimination", ["together", "along"])
@pytest.mark.parametrize(("kind", "place"), CASES)
def test_accelerations_and_forces(kind: str, place: str, elimination: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connectivity, "cheaper_along", lambda *_: elimination == "along")
    made = hard(kind, place)
    simulator = simulator_of(made.text())
    structure = simulator.flow.structure
    assert len(structure.loops) == (place == "loop")
    assert any(made.stops.values())
    assert_told(simulator, made, pushed(simulator, made))


FORCES = """
forces:
  cord: {{type: spring, from: b1.com, to: b3.com, stiffness: 30, damping: 4, length: 0.2}}
  wind: {{type: drag, body: b2, point: com, linear: 0.3, quadratic: 0.7, turning_linear: 0.2, turning_quadratic: 0.4}}
  jet: {{type: wrench, body: b1, reaction: b2, point: com, frame: body, force: [1, -2, 3], torque: [0.3, 0.2, -0.5]}}
  coil: {{type: torsion_spring, joint: {joint}, stiffness: 7, damping: 0.4, rest: 0.3}}
"""


def by_name(made: Hard, simulator: sim.Simulator, joint: str) -> tuple[list[ref.Wrench], Hard, dict[str, float], float]:
    """Return what named forces do, the mechanism with the coil in its torques, tensions and lengths, and energy."""
    m = made.mechanism
    bodies = bodies_of(simulator, m)
    b1, b2, b3 = bodies[1:4]
    way = b3.com_W - b1.com_W
    length = float(np.linalg.norm(way))
    n = way / length
    pull = 30 * (length - 0.2) + 4 * float(n @ (b3.v_com_W - b1.v_com_W))
    none, v, w = np.zeros(3), b2.v_com_W, b2.w_W
    push, turn = b1.R_WB @ [1, -2, 3], b1.R_WB @ [0.3, 0.2, -0.5]
    wind = -(0.3 + 0.7 * np.linalg.norm(v)) * v, -(0.2 + 0.4 * np.linalg.norm(w)) * w
    at = {1: b1.com_W, 2: b2.com_W, 3: b3.com_W}
    out = [
        ref.Wrench(body=body, force_W=force, torque_W=torque, point_W=point)
        for body, force, torque, point in (
            (1, pull * n, none, at[1]), (3, -pull * n, none, at[3]), (2, *wind, at[2]), (1, push, turn, at[1]),
            (2, -push, -turn, at[1]),
        )
    ]  # fmt: skip
    link = links_at(m, bodies)[m.joints.index(joint)]
    q, rate = made.coordinate(joint, link), ref.rates(link, bodies)
    coil = 7 * (q[-1] - 0.3) + 0.4 * rate[-1]
    torque = made.torques.get(joint, np.zeros(len(q))) - coil * np.eye(len(q))[-1]
    told = {"cord": pull, "cord.length": length, "coil": coil, "coil.length": float(q[-1])}
    energy = 0.5 * 30 * (length - 0.2) ** 2 + 0.5 * 7 * (q[-1] - 0.3) ** 2
    return out, replace(made, torques={**made.torques, joint: torque}), told, float(energy)


@pytest.mark.fast
@pytest.mark.parametrize(("kind", "place"), [("rotational", "tree"), ("cylindrical", "tree"), ("rotational", "loop")])
def test_named_forces_between_bodies_whose_origins_are_elsewhere(kind: str, place: str) -> None:
    """A damped spring, drag, a wrench with its reaction, and a torsion spring on a turned joint or in a loop."""
    made = hard(kind, place)
    joint = {"tree": "j3" if kind == "rotational" else "j1", "loop": "loop0"}[place]
    if kind == "cylindrical":
        made = replace(made, stops={})
    simulator = simulator_of(made.text() + FORCES.format(joint=joint))
    wrenches, acting, told, energy = by_name(made, simulator, joint)
    state = simulator.state
    for name in ("cord", "coil"):
        assert state.tension[name] == pytest.approx(told[name], rel=1e-10)
        assert state.length[name] == pytest.approx(told[f"{name}.length"], rel=1e-11)
    for name, wrench in (("cord", wrenches[1]), ("wind", wrenches[2]), ("jet", wrenches[3])):
        assert state.wrench[name] == pytest.approx(np.r_[wrench.torque_W, wrench.force_W], rel=1e-9, abs=1e-10)
    assert_told(simulator, acting, wrenches, held=energy)
