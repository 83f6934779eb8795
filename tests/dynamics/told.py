"""What is told of a mechanism now, held against the dense oracle at the same poses and velocities."""

from __future__ import annotations

import numpy as np
import pytest

import sim
from tests.dynamics.engine import bodies_of, links_at, relative_error
from tests.dynamics.test_against_reference import determinate_links, drive_wrench
from tests.support import reference as ref
from tests.support.hard import Hard

TOLERANCE = 1e-9


def assert_told(
    simulator: sim.Simulator, made: Hard, wrenches: list[ref.Wrench], bound: float = TOLERANCE, held: float = 0.0
) -> None:
    """Hold everything that is told of the present state against the oracle at the same poses and velocities.

    held : energy of springs that the mechanism does not know of [J]
    """
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
    assert (
        relative_error(np.array([state.com[n] for n in mechanism.names]), np.array([b.com_W for b in bodies])) < 1e-12
    )
    x = np.hstack([a, alpha]).ravel()
    sure = determinate_links(bodies, links)
    flags = simulator.flow.work.joints.determinate[[simulator.model.joint(name) for name in mechanism.joints]]
    assert flags.astype(bool).tolist() == sure.tolist()
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
    potential = ref.potential_energy(bodies, acting, mechanism.gravity) + made.pressed(links) + held
    assert state.energy["potential"] == pytest.approx(potential, rel=1e-11, abs=1e-11)
