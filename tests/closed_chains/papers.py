"""Accelerations of a running scene twice: as the engine found them, and by the papers' generalised coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import sim
from sim.closed_chains.acting import joint_torques
from sim.closed_chains.chain import Chain
from sim.closed_chains.generalised import Generalised
from sim.mechanism.mechanism import Mechanism


@dataclass(frozen=True)
class Both:
    """One state of one structure.

    engine, papers : (nv,) accelerations of the tree's freedoms
    """

    chain: Chain
    engine: np.ndarray
    papers: np.ndarray

    @property
    def mechanism(self) -> Mechanism:
        return self.chain.mechanism

    @property
    def coordinates(self) -> Generalised:
        return self.chain.coordinates

    @property
    def rates(self) -> np.ndarray:
        return self.chain.rates

    @property
    def error(self) -> float:
        """Largest difference over the largest acceleration, 1 at the least."""
        largest = np.abs(self.engine).max(initial=1.0)
        return float(np.abs(self.engine - self.papers).max(initial=0.0) / largest)

    @property
    def allowed(self) -> float:
        return 1e-9 * max(1.0, self.coordinates.condition / 1e4)


def both_ways(simulator: sim.Simulator, preferred: np.ndarray | None = None) -> Both:
    """Return the accelerations at the simulator's state."""
    chain = sim.chain(simulator, preferred=preferred)
    # What acts beside springs and dampers: controllers, stops, and what drives and friction do.
    torque = (simulator.flow.work.torque - joint_torques(chain.mechanism))[chain.columns]
    assert chain.acceleration is not None
    return Both(chain, chain.acceleration, chain.forward(torque)[: len(chain.v)])
