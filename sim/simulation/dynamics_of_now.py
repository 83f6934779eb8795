"""The dynamics of closed-chains-1999 of a run as it is now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sim.closed_chains.chain import Chain
    from sim.simulation.flow import Flow


def chain_of(flow: Flow, preferred: Any = None) -> Chain:
    """Return a chain at the state of now, with the forces that act at points and the accelerations that the run finds.

    preferred : columns that were dependent before
    """
    from sim.closed_chains.chain import Chain  # late: most runs have no use for it

    here = Chain(
        flow.mechanism, flow.q, flow.v, preferred=None if preferred is None else np.asarray(preferred, int)
    )  # fmt: skip
    flow.observe()
    return here.of_run(flow.work.forces.wrench.copy(), flow.work.freedoms.vdot.copy())
