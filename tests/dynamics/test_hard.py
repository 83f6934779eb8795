"""All that is told of hard mechanisms against the dense oracle: at the start, at events, along their motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sim
from sim import connectivity
from sim.kernels.project import add_freedoms
from tests import reference as ref
from tests.dynamics.engine import bodies_of, links_at, relative_error, simulator_of
from tests.dynamics.test_against_reference import determinate_links, drive_wrench
from tests.hard import CASES, Hard, hard

pytestmark = pytest.mark.fast
TOLERANCE = 1e-9


def pushed(simulator: sim.Simulator, made: Hard, seed: int = 3) -> list[ref.Wrench]:
    """Push two bodies, one at a point and one at its origin; returns what the oracle is to know of it."""
    rng, out = np.random.default_rng(seed), []
    for k, name in enumerate(made.mechanism.names[1:3], start=1):
        force, torque = rng.normal(0, 5, (2, 3))
        point = simulator.position[name] + (rng.normal(0, 0.5, 3) if k == 1 else 0.0)
        simulator.apply_wrench(name, force_W=force, torque_W=torque, point_W=point if k == 1 else None)
        out.append(ref.Wrench(body=k, force_W=force, torque_W=torque, point_W=point))
    return out


def assert_told(simulator: sim.Simulator, made: Hard, wrenches: list[ref.Wrench], bound: float = TOLERANCE) -> None:
    """Hold everything that is told of the present state against the oracle at the same poses and velocities."""
    mechanism, state = made.mechanism, simulator.state
    bodies = bodies_of(simulator, mechanism)
    links = links_at(mechanism, bodies)
    acting = made.acting(bodies, links)
    a, alpha, carried = ref.accelerations(bodies, acting, mechanism.gravity, wrenches)
    arms = [state.position[name] - body.com_W for name, body in zip(mechanism.names, bodies, strict=True)]
    own = [
        a[i] + np.cross(alpha[i], arm) + np.cross(body.w_W, np.cross(body.w_W, arm))
        for i, (body, arm) in enumerate(zip(bodies, arms, strict=True))
    ]
    assert relative_error(np.array([state.acceleration[n] for n in mechanism.names]), np.array(own)) < bound
    assert relative_error(np.array([state.angular_acceleration[n] for n in mechanism.names]), alpha) < bound
    assert relative_error(np.array([state.com[n] for n in mechanism.names]), np.array([b.com_W for b in bodies])) < 1e-12
    x = np.hstack([a, alpha]).ravel()
    sure = determinate_links(bodies, links)
    for k, (name, link) in enumerate(zip(mechanism.joints, acting, strict=True)):
        if not ref.FREEDOMS[link.kind]:
            assert sure[k] and relative_error(state.force[name], carried[k]) < bound
            continue
        q, rate = made.coordinate(name, links[k]), ref.rates(link, bodies)
        assert relative_error(np.atleast_1d(state.coordinate[name]), q) < 1e-11, name
        assert relative_error(np.atleast_1d(state.rate[name]), rate) < 1e-10, name
        stops = sum((stop.torque(q, rate) for stop in made.stops.get(name, ())), np.zeros(len(q)))
        d = link.drive
        torque = d.torque - d.stiffness * (ref.coordinates(link) - d.rest) - d.damping * rate
        assert relative_error(np.atleast_1d(state.stop_torque[name]), stops) < 1e-10, name
        assert relative_error(np.atleast_1d(state.torque[name]), torque) < 1e-10, name
        if sure[k]:
            assert relative_error(state.force[name], carried[k] + drive_wrench(link, bodies, x)) < bound, name
    assert state.energy["kinetic"] == pytest.approx(ref.kinetic_energy(bodies, acting), rel=1e-11)
    potential = ref.potential_energy(bodies, acting, mechanism.gravity) + made.pressed(links)
    assert state.energy["potential"] == pytest.approx(potential, rel=1e-11, abs=1e-11)


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


RESIDUALS = [(kind, sign) for kind in ("fixed", "rotational", "universal", "planar", "spherical") for sign in (1, -1)]


@pytest.mark.parametrize(("kind", "sign"), RESIDUALS)
def test_residuals_are_told_in_metres_and_radians(kind: str, sign: int) -> None:
    """States off the loop, by little and either way, of a mechanism whose size is far from 1 m.

    Of positions and of velocities the largest along the joint's axes as the oracle has them: its frame on the parent.
    """
    made = hard(kind, "loop")
    simulator = simulator_of(made.text())
    flow = simulator.flow
    rng = np.random.default_rng(len(kind))
    move = rng.normal(0, 1e-2, flow.structure.sizes.v) * sign
    q, v = flow.q.copy(), flow.v + move
    add_freedoms(flow.structure.tables.links, move, 1e-4, q)
    flow._put(q, v)
    flow.observe()
    bodies = bodies_of(simulator, made.mechanism)
    link = links_at(made.mechanism, bodies)[-1]
    joint = simulator.model.joint("loop0")
    F, M = bodies[link.a].R_WB @ flow.frames.R_PF[joint], bodies[link.b].R_WB @ flow.frames.R_CM[joint]
    first = [0, 1, 2] if kind == "universal" else [2, 0, 1]  # the axis is x of the parent's frame there, elsewhere z
    turned = replace(link, axes_a=F[:, first], axes_b=M[:, [2, 0, 1]])
    phi = ref.residual(turned)
    speed = ref.dense(ref.locked_rows(turned, bodies), turned, len(bodies)) @ ref.speeds(bodies)
    trust = flow.work.one.trust[0]
    assert trust[0] == pytest.approx(np.abs(phi).max(), rel=1e-3)
    assert trust[1] == pytest.approx(np.abs(speed).max(), rel=1e-3)
