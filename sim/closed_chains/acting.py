"""What acts on a mechanism by itself, as last looked at: springs and dampers of joints, and the scene's forces."""

from __future__ import annotations

import numpy as np

from sim.kernels.tables import SPRING, TORSION
from sim.mechanism.mechanism import Mechanism


def joint_torques(mechanism: Mechanism) -> np.ndarray:
    """Return (columns,) the torques of springs and dampers of joints, and of torsion springs about them [N m, N]."""
    columns, coordinate, rate = mechanism.model.columns, mechanism.work.coordinate, mechanism.work.rate
    out = np.asarray(-columns.stiffness * (coordinate - columns.rest) - columns.damping * rate)
    for force in mechanism.structure.tables.forces:
        if force.kind == TORSION:
            own = slice(int(force.column), int(force.column + force.turns))
            rest = force.rest if force.turns == 1 else 0.0
            out[own] -= force.stiffness * (coordinate[own] - rest) + force.damping * rate[own]
    return out


def pushes(mechanism: Mechanism, wrenches: np.ndarray) -> np.ndarray:
    """Return (links, 6) what the scene's forces do on links, moments about their origins, world axes.

    wrenches : (forces, 6) torque about the point and force, as runs have them.  A spring acts on its end b and the
    opposite on a; others on a, and the opposite at the same place on b.
    """
    tables, links = mechanism.structure.tables, mechanism.work.links
    out = np.zeros((len(links), 6))
    for force, wrench in zip(tables.forces, wrenches, strict=True):
        if force.kind == TORSION:
            continue
        ends = [tables.points[i] for i in (force.a, force.b) if i >= 0]
        at = ends[-1] if force.kind == SPRING else ends[0]
        place = links.x[at.body] + links.R[at.body].reshape(3, 3) @ at.p_B
        for end in ends:
            sign = 1.0 if end is at else -1.0
            moment = wrench[:3] + np.cross(place - links.x[end.body], wrench[3:])
            out[end.body] += sign * np.concatenate([moment, wrench[3:]])
    return out
