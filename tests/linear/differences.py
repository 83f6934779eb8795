"""Derivatives of the engine's accelerations by differences, for linear models to be held against."""

from __future__ import annotations

import numpy as np

import sim
from sim.analysis.linear.steady import freedom_names
from sim.assembly.loop_closure import close_positions
from sim.kernels.project import add_freedoms
from sim.kernels.system import SETTLE, START
from sim.kernels.tables import RATES_ONLY
from sim.mechanism.mechanism import Mechanism


def rates_of_change(flow: object, names: list[str], model: sim.Linearization, dx: np.ndarray) -> np.ndarray:
    """Return rates and accelerations of independent freedoms as the kernels find them, displaced by dx.

    Rates of balls are told in axes that do not turn: d/dt in them adds w x omega to the components in the child's.
    """
    structure, links = flow.structure, flow.structure.tables.links  # type: ignore[attr-defined]
    mechanism = Mechanism.of(flow.model, structure, flow.control, flow.t)  # type: ignore[attr-defined]
    positions = [names.index(s) for s in model.states if not s.startswith("rate(")]
    rates = [names.index(s[5:-1]) for s in model.states if s.startswith("rate(")]
    q, v = model.q.copy(), model.v.copy()

    def depends(rows: np.ndarray, free: list[int], aim: np.ndarray, x: np.ndarray) -> np.ndarray:
        rest = np.setdiff1d(np.arange(len(x)), free)
        x = x.copy()
        x[rest] = np.linalg.lstsq(rows[:, rest], aim - rows[:, free] @ x[free], rcond=1e-9)[0]
        return x

    mechanism.update(q, v)
    move = np.zeros(len(v))
    move[positions] = dx[: len(positions)]
    rows = structure.tables.rows
    rolls = (structure.tables.blocks.touch[rows.block] >= 0) & (rows.code < 2) & bool(np.any(v))
    J = mechanism.jacobian()[mechanism.hard() & (rows.locked != RATES_ONLY) & ~rolls]
    add_freedoms(links, depends(J, positions, np.zeros(len(J)), move), 1.0, q)
    assert close_positions(mechanism, q, np.zeros(len(v), bool))
    mechanism.update(q, v)
    v[rates] += dx[len(positions) :]
    J = mechanism.jacobian()[mechanism.hard()]
    v = depends(J, rates, mechanism.wanted()[mechanism.hard()], v)
    y, slope = np.concatenate([q, v, [0.0, 0.0]]), np.zeros(len(q) + len(v) + 2)
    assert flow.ask(START, y, y) == 0 and flow.ask(SETTLE, y, slope) == 0  # type: ignore[attr-defined]
    vdot = slope[len(q) : -2]
    for b in range(1, len(links)):
        if links.quaternion[b] >= 0:
            k = int(links.v[b] + links.nv[b]) - 3
            vdot[k : k + 3] += np.cross(model.v[k : k + 3], v[k : k + 3])
    return np.concatenate([v[positions], vdot[rates]])


def differences(simulator: sim.Simulator, model: sim.Linearization, step: float = 1e-3) -> np.ndarray:
    """Return A by central differences of the engine over a step [m or rad, and per second], extrapolated once."""
    names, n = freedom_names(simulator.flow), len(model.states)
    out = []
    for k in range(n):
        slopes = []
        for h in (step, 0.5 * step):
            ends = [rates_of_change(simulator.flow, names, model, side * h * np.eye(n)[k]) for side in (1.0, -1.0)]
            slopes.append((ends[0] - ends[1]) / (2.0 * h))
        out.append((4.0 * slopes[1] - slopes[0]) / 3.0)
    return np.array(out).T
