"""How a kernel's row of numbers becomes the datasets of a recording."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sim.kernels.shapes import SLIP, SOFT_STICK, STICK
from sim.kernels.tables import DRAG, TORSION, WRENCH
from sim.mechanism.model import Model
from sim.mechanism.structure import Structure
from sim.mechanism.touch import Touch

BODY_NUMBERS, COLUMN_NUMBERS, JOINT_NUMBERS, FORCE_NUMBERS, CONTACT_NUMBERS = 16, 5, 22, 8, 9


class Rows:
    """The buffer that kernels fill, and its split into named datasets.

    layout : (7,) where bodies, columns, joints, energies, forces, the raw state and closed points begin in a row.
    """

    def __init__(self, model: Model, count: int = 128):
        self.model = model
        bodies, columns, joints = len(model.bodies) - 1, len(model.columns), len(model.joints)
        a = 1 + BODY_NUMBERS * bodies
        b = a + COLUMN_NUMBERS * columns
        c = b + JOINT_NUMBERS * joints
        d = c + 8 + FORCE_NUMBERS * len(model.forces)
        self.layout = np.array([1, a, b, c, c + 8, d, d + 13 * bodies], np.int64)
        self.buffer = np.zeros((count, d + 13 * bodies))
        self._buffers = {self.buffer.shape[1]: self.buffer}  # by their widths
        self._told: tuple[tuple[Touch, ...], dict[str, np.ndarray]] = (), {}

    def fit(self, structure: Structure) -> None:
        """Make room for the closed points of a structure; what was in the buffer is gone if that is another room."""
        width = int(self.layout[6]) + CONTACT_NUMBERS * len(structure.touches)
        if width not in self._buffers:
            self._buffers[width] = np.zeros((len(self.buffer), width))
        self.buffer = self._buffers[width]

    def split(self, rows: np.ndarray, structure: Structure, impact: float, extra: float) -> dict[str, np.ndarray]:
        """Return dataset name -> values of rows (k, width) of one structure: parts of these rows, which are changed.

        impact, extra: energy lost in impacts and put in at events so far [J].
        """
        model = self.model
        k, bodies, columns, joints = len(rows), len(model.bodies) - 1, len(model.columns), len(model.joints)
        _, a, b, c, d, e, _ = self.layout
        body = rows[:, 1:a].reshape(k, bodies, BODY_NUMBERS)
        column = rows[:, a:b].reshape(k, COLUMN_NUMBERS, columns)
        joint = rows[:, b:c].reshape(k, joints, JOINT_NUMBERS)
        present = np.zeros(joints, bool)
        present[structure.carrier[1:]] = present[list(structure.loops)] = True
        if not present.all():
            column[:, :, ~present[model.columns.joint]] = np.nan
            joint[:, ~present] = np.nan
        force = rows[:, d:e].reshape(k, len(model.forces), FORCE_NUMBERS)
        if force.size:
            force = self._forces(force, present)
        kinetic, potential, dissipated, put_in = rows[:, c : c + 4].T
        return {
            "time": rows[:, 0], "position": body[:, :, 0:3], "quat_wxyz": body[:, :, 3:7],
            "velocity": body[:, :, 7:10], "angular_velocity": body[:, :, 10:13], "com": body[:, :, 13:16],
            "joints/coordinate": column[:, 0], "joints/rate": column[:, 1], "joints/torque": column[:, 2],
            "joints/stop_torque": column[:, 3], "joints/friction_torque": column[:, 4],
            "joints/force": joint[:, :, 0:6], "joints/position": joint[:, :, 6:9], "trust/determinate": joint[:, :, 9],
            "trust/components": joint[:, :, 10:16], "trust/own_components": joint[:, :, 16:22],
            "forces/length": force[:, :, 0], "forces/tension": force[:, :, 1], "forces/wrench": force[:, :, 2:8],
            "energy/kinetic": kinetic, "energy/potential": potential, "energy/dissipated": dissipated,
            "energy/input": put_in + extra, "energy/impact": np.full(k, impact),
            "energy/balance": self.balance(rows, impact, extra),
            "trust/position_residual": rows[:, c + 4], "trust/velocity_residual": rows[:, c + 5],
            "trust/smallest_singular_value": rows[:, c + 6], "trust/rank": rows[:, c + 7],
            "trust/rows": np.full(k, structure.sizes.rows),
        }  # fmt: skip

    def balance(self, rows: np.ndarray, impact: float, extra: float) -> np.ndarray:
        """Return the energy of all that moves and was lost, less what was put in (k,) [J]; see `split`."""
        c = self.layout[3]
        kinetic, potential, dissipated, put_in = rows[:, c : c + 4].T
        balance: np.ndarray = kinetic + potential + dissipated + impact - (put_in + extra)
        return balance

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

    def contact_impulses(
        self, touches: Sequence[Touch], structure: Structure, points: Any, P: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Return name -> values of the impulses P (m, 3) along n, t1, t2 of some points that are not zero.

        points : where they are, with their axes; told of the pair's first and second shape, as rows tell of forces
        """
        acts = [k for k, one in enumerate(P.tolist()) if any(one)]
        of, key, sign = [touches[k] for k in acts], list[tuple[int, int]](), list[float]()
        for one in of:
            first, second = one.key[1:]
            turned = one.ends[1] != structure.link_of[self.model.solids[self.model.pairs[one.pair].second].body]
            key.append((second, first) if turned else (first, second))
            sign.append(-1.0 if turned else 1.0)
        n, t1, t2 = (np.array(sign)[:, None] * axis[acts] for axis in (points.n, points.t1, points.t2))
        return {
            "pair": np.array([one.pair for one in of], int), "key": np.array(key, np.int64).reshape(len(of), 2),
            "point": points.p[acts], "normal": n,
            "impulse": P[acts, :1] * n + P[acts, 1:2] * t1 + P[acts, 2:] * t2,
        }  # fmt: skip

    def contacts(self, rows: np.ndarray, structure: Structure) -> dict[str, np.ndarray]:
        """Return name -> values of all closed points in rows of one structure, row by row; see `sim.recording`.

        Normal and force are told of the pair's first and second shape, whichever side the features have them on.
        """
        k, told = len(rows), self._told_of(structure)
        m, first, turned = len(told["pair"]), int(self.layout[6]), told["turned"]
        numbers = rows[:, first : first + CONTACT_NUMBERS * m].reshape(k, m, 3, 3)
        if turned.any():
            numbers[:, turned, 1:] *= -1.0
        same = told if k == 1 else {name: np.concatenate([values] * k) for name, values in told.items()}
        return {
            "row": np.repeat(np.arange(k), m), "pair": same["pair"], "determinate": same["determinate"],
            "key": same["key"], "mode": same["mode"], "point": numbers[:, :, 0].reshape(-1, 3),
            "normal": numbers[:, :, 1].reshape(-1, 3), "force": numbers[:, :, 2].reshape(-1, 3),
            "moment": np.zeros((k * m, 3)),
        }  # fmt: skip

    def _told_of(self, structure: Structure) -> dict[str, np.ndarray]:
        """Return what all rows of a structure tell of its closed points, and which of them are told turned round."""
        touches, solids = structure.touches, self.model.solids
        if self._told[0] is not touches:
            pair = np.array([touch.pair for touch in touches], int)
            second = [structure.link_of[solids[self.model.pairs[n].second].body] for n in pair.tolist()]
            turned = structure.tables.touches.link[:, 1] != np.array(second)
            key = structure.tables.touches.key.copy()
            key[turned] = key[turned, ::-1]
            told = {
                "pair": pair, "key": key, "mode": np.array([_told_mode(touch.mode) for touch in touches], int),
                "determinate": np.array([touch.determinate for touch in touches], int), "turned": turned,
            }  # fmt: skip
            self._told = touches, told
        return self._told[1]

    def step_contacts(self, times: np.ndarray, told: Any, structure: Structure) -> dict[str, np.ndarray]:
        """Return the same of points that press in time steps; told: TOLD."""
        solids = self.model.solids
        pair = np.array(list(structure.meetings), np.int64)[told.meeting]
        second = np.array([structure.link_of[solids[self.model.pairs[n].second].body] for n in pair], np.int64)
        turned = told.side != second
        sign = np.where(turned, -1.0, 1.0)[:, None]
        key = told.key.copy()
        key[turned] = key[turned, ::-1]
        return {
            "row": np.searchsorted(times, told.t), "pair": pair, "determinate": np.full(len(pair), -1), "key": key,
            "mode": np.where(told.slides, SLIP, STICK),
            "point": told.p.copy(), "normal": sign * told.n, "force": sign * told.force,
            "moment": sign * told.moment,
        }  # fmt: skip


def _told_mode(mode: int) -> int:
    """Return a mode as recordings tell it: a point that creeps slides, and soft points do what rigid ones do."""
    return STICK if mode in (STICK, SOFT_STICK) else SLIP
