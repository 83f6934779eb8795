"""Points at which bodies stand: how far they come apart, and which freedoms move them."""

from __future__ import annotations

import numpy as np
import pytest

from sim.assembly.standing import NOWHERE, Standing
from sim.kernels.project import add_freedoms
from sim.mechanism.mechanism import Mechanism
from tests.dynamics.engine import simulator_of

pytestmark = pytest.mark.fast

SCENE = """
schema: 1
name: standing
bodies:
  low: {mass: 1, com: [0.3, 0.1, 0.2], inertia: [0.1, 0.1, 0.1]}
  high: {mass: 1, com: [0.5, 0.2, 0.8], inertia: [0.1, 0.1, 0.1]}
  side: {mass: 1, com: [1.5, 0.2, 0.8], inertia: [0.1, 0.1, 0.1]}
joints:
  hinge: {type: rotational, parent: world, child: low, position: [0.1, 0.2, 0.3], axis: [1, 2, 3]}
  rail: {type: translational, parent: world, child: side, position: [1, 0, 0], axis: [0, 1, 2]}
initial: {hinge: {coordinate: 0.4 rad}}
simulate: {duration: 1 s}
"""


def at(mechanism: Mechanism, q: np.ndarray) -> None:
    mechanism.update(q, np.zeros(mechanism.structure.sizes.v))


def placed(sign: float = 1.0) -> tuple[Mechanism, np.ndarray, Standing]:
    """Return points of `high` on `low`, of `high` on the world, and of `side` on the world, along slanted ways."""
    flow = simulator_of(SCENE).flow
    mechanism, q = Mechanism.of(flow.model, flow.structure), np.array(flow.q)
    at(mechanism, q)
    low, high, side = (int(flow.structure.link_of[n]) for n in (1, 2, 3))
    a, b = np.array([low, 0, 0]), np.array([high, high, side])
    places = np.array([[0.4, 0.3, 0.5], [0.6, 0.1, 0.9], [1.2, 0.4, 0.6]])
    ways = sign * np.array([[0.36, 0.48, 0.8], [0.0, 0.6, -0.8], [1.0, 0.0, 0.0]])
    R, x = mechanism.work.links.R.reshape(-1, 3, 3), mechanism.work.links.x
    own = [[R[k].T @ (p - x[k]) for k, p in zip(of, places, strict=True)] for of in (a, b)]
    return (
        mechanism,
        q,
        Standing(a, b, *map(np.array, own), np.array([R[k].T @ w for k, w in zip(a, ways, strict=True)])),
    )


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_places_come_apart_as_their_jacobian_says(sign: float) -> None:
    mechanism, q, standing = placed(sign)
    assert len(standing) == 3 and standing.off(mechanism) == pytest.approx(np.zeros(3), abs=1e-15)
    J, rng, step = standing.jacobian(mechanism), np.random.default_rng(0), 1e-6
    for _ in range(3):
        d, ends = rng.normal(size=mechanism.structure.sizes.v), []
        for side in (step, -step):
            near = q.copy()
            add_freedoms(mechanism.structure.tables.links, d, side, near)
            at(mechanism, near)
            ends.append(standing.off(mechanism))
        at(mechanism, q)
        assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(J @ d, abs=1e-8)
    assert NOWHERE.jacobian(mechanism).shape == (0, mechanism.structure.sizes.v) and not len(NOWHERE)
    assert NOWHERE.off(mechanism).shape == (0,)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_those_are_kept_that_some_freedom_moves_either_way(sign: float) -> None:
    """The rail slides across the way of the third; the hinge carries the first alone, the free body the first two."""
    mechanism, _, standing = placed(sign)
    model, structure = mechanism.model, mechanism.structure
    for joint, moved in (("hinge", [0]), ("high", [0, 1]), ("rail", [])):
        free = np.zeros(structure.sizes.v, bool)
        free[structure.v_of(model, model.joint(joint))] = True
        kept = standing.moved_by(mechanism, free)
        for name in ("a", "b", "p_a", "p_b", "way_a"):
            assert np.array_equal(getattr(kept, name), getattr(standing, name)[moved])
    assert len(standing.moved_by(mechanism, np.zeros(structure.sizes.v, bool))) == 0
