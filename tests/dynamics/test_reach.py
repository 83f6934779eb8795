"""A crank that is driven beyond what its linkage reaches: the run ends where geometry says, and opens nothing."""

from __future__ import annotations

import numpy as np
import pytest

import sim
from sim.kernels.integrators.variational import GAP, closes
from sim.kernels.status import Status
from tests.dynamics.engine import simulator_of
from tests.kernels.plain import plain

pytestmark = pytest.mark.fast

LINKAGE = """
schema: 1
name: linkage
bodies:
  crank: {{mass: 1, com: [0, 0.5, 0.1], inertia: [0.1, 0.1, 0.1]}}
  coupler: {{mass: 1, com: [1, 1.2, 0], inertia: [0.1, 0.1, 0.1]}}
  rocker: {{mass: 1, com: [2, 0.5, 0], inertia: [0.1, 0.1, 0.1]}}
joints:
  drive: {{type: rotational, parent: world, child: crank, position: [0, 0, 0], axis: [0, 0, 1],
          motion: "{turn} rad/s*t"}}
  pin: {{type: rotational, parent: crank, child: coupler, position: [0, 1.5, 0.2], axis: [0, 0, 1]}}
  pivot: {{type: rotational, parent: coupler, child: rocker, position: [2, 1, -0.1], axis: [0, 0, 1]}}
  link: {{type: rotational, parent: world, child: rocker, position: [2, 0, 0], axis: [0, 0, 1]}}
simulate: {{method: {method}, step: 20 ms}}
"""
# Where coupler and rocker are stretched out, or folded over one another: the end of the crank is so far from the pivot.
COUPLER, ROCKER, CRANK, GROUND = np.hypot(2.0, 0.5), 1.0, 1.5, 2.0
FARTHEST, NEAREST = COUPLER + ROCKER, COUPLER - ROCKER
ENDS = {
    1: np.arcsin((FARTHEST**2 - GROUND**2 - CRANK**2) / (2 * GROUND * CRANK)),
    -1: np.arcsin((GROUND**2 + CRANK**2 - NEAREST**2) / (2 * GROUND * CRANK)),
}


@pytest.mark.parametrize(("method", "turn"), [("rk4", 1), ("semi_implicit", 1), ("semi_implicit", -1)])
def test_a_driven_crank_ends_where_its_linkage_is_stretched_or_folded(method: str, turn: int) -> None:
    simulator = simulator_of(LINKAGE.format(method=method, turn=turn))
    with pytest.raises(sim.SimulationError, match="'link' cannot be held any more: the loops do not reach"):
        simulator.advance(2.0)
    assert ENDS[turn] - 0.021 < simulator.t < ENDS[turn]
    simulator.flow.observe()
    assert simulator.flow.work.one.position_residual[0] < 1e-6  # the last good state is closed


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_row_that_is_open_either_way_is_not_closed(sign: float) -> None:
    """A variational step solves for the rows that act alone: those that repeat others are looked at after it."""
    flow = simulator_of(LINKAGE.format(method="variational", turn=1)).flow
    flow.observe()
    rows, length = flow.structure.tables.rows, float(flow.structure.tables.one.length[0])
    assert plain(closes)(rows, length, flow.work.rows, flow.work.one) == Status.OK
    for r in range(len(rows)):
        flow.work.rows.phi[:] = 0.0
        flow.work.rows.phi[r] = 1.01 * sign * GAP * length
        assert plain(closes)(rows, length, flow.work.rows, flow.work.one) == Status.NO_CLOSURE
        assert flow.work.one.worst[0] == r
