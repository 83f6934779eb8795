"""Accelerations of a running scene twice: as the engine found them, and by the papers' generalised coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import sim
from sim.analysis.report import generalised
from sim.closed_chains.generalised import Generalised, forward_dynamics
from sim.kernels.tables import SPRING, TORSION
from sim.mechanism.mechanism import Mechanism
from tests.support.dense import inertia_and_bias


@dataclass(frozen=True)
class Both:
    """One state of one structure.

    engine, papers : (nv,) accelerations of the tree's freedoms
    rates : (N_J,) rates of the freedoms, tree first, then loop joints
    """

    mechanism: Mechanism
    coordinates: Generalised
    rates: np.ndarray
    engine: np.ndarray
    papers: np.ndarray

    @property
    def error(self) -> float:
        """Largest difference over the largest acceleration, 1 at the least."""
        largest = np.abs(self.engine).max(initial=1.0)
        return float(np.abs(self.engine - self.papers).max(initial=0.0) / largest)

    @property
    def allowed(self) -> float:
        return 1e-9 * max(1.0, self.coordinates.condition / 1e4)


def columns(mechanism: Mechanism) -> np.ndarray:
    """Return (N_J,) the model's column of each freedom, tree first, then loop joints."""
    model, structure = mechanism.model, mechanism.structure
    order = np.zeros(structure.sizes.v, int)
    for joint in structure.carrier[1:]:
        if model.joints.nv[joint]:
            order[structure.v_of(model, int(joint))] = np.arange(*model.columns_of(int(joint)).indices(10**9))
    loops = [np.arange(*model.columns_of(joint).indices(10**9)) for joint in structure.loops]
    return np.concatenate([order, *loops]).astype(int)


def both_ways(simulator: sim.Simulator, preferred: np.ndarray | None = None) -> Both:
    """Return the accelerations at the simulator's state."""
    flow = simulator.flow
    flow.observe()
    engine, torque = flow.work.freedoms.vdot.copy(), flow.work.torque.copy()
    mechanism = Mechanism.of(flow.model, flow.structure, flow.control)
    M, bias = inertia_and_bias(mechanism, flow.q, flow.v)
    g = generalised(mechanism, preferred)
    where = columns(mechanism)
    n = len(M)
    # Rotors on loop joints are inertia of their own: they stand below the tree's.
    armature = mechanism.structure.tables.columns.armature[where[n:]]
    whole = np.zeros((len(where), len(where)))
    whole[:n, :n], whole[n:, n:] = M, np.diag(armature)
    bias -= pushed(mechanism, flow.work.forces.wrench)
    found = forward_dynamics(g, whole, np.r_[bias, np.zeros(len(armature))], torque[where])
    rates = np.r_[flow.v, mechanism.work.rate[where[n:]]]
    return Both(mechanism, g, rates, engine, found[:n])


def pushed(mechanism: Mechanism, wrench: np.ndarray) -> np.ndarray:
    """Return (nv,) what the wrenches (forces, 6) of the scene's springs, wrenches and drags are on the tree's freedoms.

    A spring acts on its end b and the opposite on a; the others on a, and their opposites at the same place on b.
    """
    tables, links, J = mechanism.structure.tables, mechanism.work.links, mechanism.link_jacobians()
    out = np.zeros(J.shape[2])
    for force, (torque, push) in zip(tables.forces, wrench.reshape(-1, 2, 3), strict=True):
        if force.kind == TORSION:
            continue
        ends = [tables.points[i] for i in (force.a, force.b) if i >= 0]
        at = ends[-1] if force.kind == SPRING else ends[0]
        place = links.x[at.body] + links.R[at.body].reshape(3, 3) @ at.p_B
        for end in ends:
            sign = 1.0 if end is at else -1.0
            moment = torque + np.cross(place - links.x[end.body], push)
            out += sign * J[end.body].T @ np.r_[moment, push]
    return out
