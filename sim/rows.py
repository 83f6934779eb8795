"""How a kernel's row of numbers becomes the datasets of a recording."""

from __future__ import annotations

import numpy as np

from sim.compiler import Model
from sim.connectivity import Structure
from sim.model import DRAG, TORSION, WRENCH

BODY_NUMBERS, JOINT_NUMBERS, FORCE_NUMBERS = 16, 10, 8


class Rows:
    """The buffer that kernels fill, and its split into named datasets.

    layout : (6,) where bodies, columns, joints, energies, forces and the raw state begin in a row.
    """

    def __init__(self, model: Model, count: int = 128):
        self.model = model
        bodies, columns, joints = len(model.bodies) - 1, len(model.columns), len(model.joints)
        a = 1 + BODY_NUMBERS * bodies
        b = a + 3 * columns
        c = b + JOINT_NUMBERS * joints
        d = c + 8 + FORCE_NUMBERS * len(model.forces)
        self.layout = np.array([1, a, b, c, c + 8, d], np.int64)
        self.buffer = np.zeros((count, d + 13 * bodies))

    def split(self, rows: np.ndarray, structure: Structure, impact: float, extra: float) -> dict[str, np.ndarray]:
        """Return dataset name -> values of rows (k, width) of one structure.

        impact, extra: energy lost in impacts and put in at events so far [J].
        """
        model = self.model
        k, bodies, columns, joints = len(rows), len(model.bodies) - 1, len(model.columns), len(model.joints)
        _, a, b, c, d, e = self.layout
        body = rows[:, 1:a].reshape(k, bodies, BODY_NUMBERS)
        column = rows[:, a:b].reshape(k, 3, columns).copy()
        joint = rows[:, b:c].reshape(k, joints, JOINT_NUMBERS).copy()
        present = np.zeros(joints, bool)
        present[[*structure.carrier[1:], *structure.loops]] = True
        column[:, :, ~present[model.columns.joint]] = np.nan
        joint[:, ~present] = np.nan
        force = self._forces(rows[:, d:e].reshape(k, len(model.forces), FORCE_NUMBERS).copy(), present)
        kinetic, potential, dissipated, put_in = rows[:, c : c + 4].T
        balance = kinetic + potential + dissipated + impact - (put_in + extra)
        return {
            "time": rows[:, 0].copy(), "position": body[:, :, 0:3], "quat_wxyz": body[:, :, 3:7],
            "velocity": body[:, :, 7:10], "angular_velocity": body[:, :, 10:13], "com": body[:, :, 13:16],
            "joints/coordinate": column[:, 0], "joints/rate": column[:, 1], "joints/torque": column[:, 2],
            "joints/force": joint[:, :, 0:6], "joints/position": joint[:, :, 6:9], "trust/determinate": joint[:, :, 9],
            "forces/length": force[:, :, 0], "forces/tension": force[:, :, 1], "forces/wrench": force[:, :, 2:8],
            "energy/kinetic": kinetic, "energy/potential": potential, "energy/dissipated": dissipated,
            "energy/input": put_in + extra, "energy/impact": np.full(k, impact), "energy/balance": balance,
            "trust/position_residual": rows[:, c + 4], "trust/velocity_residual": rows[:, c + 5],
            "trust/smallest_singular_value": rows[:, c + 6], "trust/rank": rows[:, c + 7],
            "trust/rows": np.full(k, structure.sizes.rows),
        }  # fmt: skip

    def _forces(self, force: np.ndarray, present: np.ndarray) -> np.ndarray:
        """Return what forces did (k, forces, numbers), not-a-number for what their kind has not."""
        kind, column = self.model.forces.kind, self.model.forces.column
        force[:, (kind == WRENCH) | (kind == DRAG), :2] = np.nan
        force[:, kind == TORSION, 2:] = np.nan
        joint = self.model.columns.joint[np.where(kind == TORSION, column, 0)] if len(self.model.columns) else column
        force[:, (kind == TORSION) & ~present[joint]] = np.nan
        return force

    def state(self, rows: np.ndarray, structure: Structure) -> tuple[np.ndarray, np.ndarray]:
        """Return the raw (q, v) of rows of one structure."""
        first, nq, nv = int(self.layout[5]), structure.sizes.q, structure.sizes.v
        return rows[:, first : first + nq], rows[:, first + nq : first + nq + nv]
