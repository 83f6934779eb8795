"""Which sampled controller swings a run up: one whose torques, held, turn rates around between two of its calls.

With x the coordinate, v its rate and m the inertia that the joint moves, torques -K x - D v that are held for a time T
make of d = D T / m and k = K T^2 / m the step

    x+ = (1 - k/2) x + (1 - d/2) T v,    T v+ = -k x + (1 - d) T v,

whose modes die out where k/2 < d < 2 alone (Jury's test).  No step of whatever method changes that.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import numpy as np

from sim.plugin import StateView
from sim.scene.authored import aside
from sim.simulation.control import Sampled

if TYPE_CHECKING:
    from sim.simulation.control import Controllers
    from sim.simulation.flow import Flow

# m or rad, and 1/s of these, or of what they are beyond 1: by how much coordinates and rates are changed to find gains
NUDGE = 1e-6
# Of d and of k: beyond the first, rates change their sign with each call; a k that d does not damp swings up slowly
# while it is small.
TOO_DAMPED, TOO_STIFF = 2.0, 1.0
FAR = 30.0  # m or rad: what a joint of time steps goes between two calls where it has run away


def runs_away(flow: Flow, controllers: Controllers) -> bool:
    """Tell whether a joint of time steps goes so far between two calls of a controller that it must have run away."""
    span = min((1.0 / item.rate for item in controllers.sampled), default=0.0)
    return flow.time_stepping and bool(np.max(np.abs(flow.work.rate), initial=0.0) * span > FAR)


def held_too_long(flow: Flow, controllers: Controllers) -> str:
    """Return a sentence on a sampled controller that is too stiff to be held at the state of now, or nothing."""
    flow.update()
    inertia = flow.mechanism.inertia()
    if not len(inertia) or not np.isfinite(inertia).all():
        return ""
    mass = 1.0 / np.diag(np.linalg.pinv(inertia))
    links, freedom = flow.structure.tables.links, {}
    for b in range(1, len(links)):
        for i in range(int(links.nv[b])):
            freedom[int(links.column[b]) + i] = int(links.v[b]) + i
    for item in controllers.sampled:
        span = max(1.0 / item.rate, flow.model.scene.simulate.dt if flow.time_stepping else 0.0)
        for column, k in freedom.items():
            stiffness, damping = gains(item, controllers.state, flow.t, column)
            d, s = damping * span / mass[k], stiffness * span**2 / mass[k]
            if d > TOO_DAMPED or s > max(2.0 * d, TOO_STIFF):
                linear = bool(flow.model.columns.linear[column])
                per, unit = ("m", "kg") if linear else ("rad", "kg m^2")
                force = "N" if linear else "N m"
                return (
                    f"controller {item.use.name!r} ({item.use.place}) is sampled, and too stiff for that: it holds "
                    f"its torques for {span:.3g} s, in which its gains at joint {flow.model.column_names[column]!r}, "
                    f"{stiffness:.3g} {force}/{per} and {damping:.3g} {force} s/{per}, turn around what moves there "
                    f"({mass[k]:.3g} {unit}). Damping of at most {2.0 * mass[k] / span:.3g} {force} s/{per} dies out: "
                    "lower the gains, sample it more often, or make it continuous"
                )
    return ""


def gains(item: Sampled, state: StateView, t: float, column: int) -> tuple[float, float]:
    """Return by how much a controller's torque of a column falls with its coordinate, and with its rate."""

    def torque(moved: float, faster: float) -> float:
        coordinate, rate, out = state.coordinate.copy(), state.rate.copy(), item.state.torque.copy()
        coordinate[column] += moved
        rate[column] += faster
        seen = StateView(coordinate, rate, state.p_WB.copy(), state.R_WB.copy(), state.V_WB.copy())
        aside(item.controller.sample, t, seen, out, copy.deepcopy(item.state.memory))
        return float(out[column])

    base = torque(0.0, 0.0)
    far, fast = (NUDGE * max(1.0, abs(float(now[column]))) for now in (state.coordinate, state.rate))
    return (base - torque(far, 0.0)) / far, (base - torque(0.0, fast)) / fast
