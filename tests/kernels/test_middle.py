"""Steps of first order where bodies touch or are jointed: links, rows and points at the rates in the middle."""

from __future__ import annotations

import numpy as np
import pytest

from sim.kernels import inertial
from sim.kernels.jit import interpreted
from tests.dynamics.engine import simulator_of

pytestmark = pytest.mark.fast

# A box that slides and carries a wheel askew.
BOX = """
schema: 1
name: box
world: {gravity: [0, 0, -9.81], shapes: [{name: ground, plane: {}}]}
bodies:
  box: {mass: 3, com: [0.1, -0.05, 0.2], inertia: [0.4, 0.5, 0.6], shapes: [FEET]}
  wheel: {mass: 0.4, com: [0.1, 0.2, 0.5], inertia: [0.05, 0.02, 0.03]}
joints: {axle: {type: rotational, parent: box, child: wheel, position: [0.1, 0.1, 0.45], axis: [2, 1, 2]}}
contacts: {feet: {between: [box, world], friction: 0.3}}
initial: {box: {velocity: [1.5, 0.7, 0], angular_velocity: [0, 0, 1.2]}, axle: {rate: 3}}
simulate: {method: semi_implicit, step: 1 ms}
""".replace(
    "FEET",
    ", ".join(
        f"{{sphere: {{center: [{x}, {y}, 0.1], radius: 0.1}}}}" for x, y in ((0.5, 0.4), (-0.5, 0.4), (0.1, -0.6))
    ),
)


def test_a_look_moves_links_rows_and_points_at_the_rates_that_are_given() -> None:
    """Poses stay: what was found at the state itself comes back by a look at its rates."""
    if not interpreted():
        pytest.skip("tables are handed on by their addresses")
    simulator = simulator_of(BOX)
    simulator.advance(0.0)
    flow = simulator.flow
    system = flow.system.places
    tables, _, work, _ = system
    assert len(tables.touches) == 3
    v = flow.v.copy()
    inertial.look(system, tables, work, v)
    begun = {name: work.points[name].copy() for name in ("p", "n", "u", "slip")}
    V, slip = work.links.V.copy(), work.rows.slip.copy()
    other = v + np.linspace(-0.5, 0.8, len(v))
    inertial.look(system, tables, work, other)
    np.testing.assert_array_equal(work.points.p, begun["p"])
    np.testing.assert_array_equal(work.points.n, begun["n"])
    for touch, point in zip(tables.touches, work.points, strict=True):
        a, b = (
            work.links.V[link, 3:] + np.cross(work.links.V[link, :3], point.p - work.links.x[link])
            for link in touch.link
        )
        np.testing.assert_allclose(point.u, b - a, atol=1e-13)
        along = point.u - (point.u @ point.n) * point.n
        np.testing.assert_allclose(point.slip, along / np.linalg.norm(along), atol=1e-9)
    assert np.abs(work.links.V - V).max() > 0.1
    assert np.abs(work.points.slip - begun["slip"]).max() > 0.01
    kept = work.keeps.astype(bool)
    flow.mechanism.update(flow.q, other)
    J = flow.mechanism.jacobian()
    inertial.look(system, tables, work, other)
    np.testing.assert_allclose(work.rows.slip[kept], (J @ other)[kept], atol=1e-12)
    inertial.look(system, tables, work, v)
    np.testing.assert_allclose(work.rows.slip[kept], slip[kept], atol=1e-15)
    np.testing.assert_array_equal(work.points.u, begun["u"])
