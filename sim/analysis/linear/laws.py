"""Controllers that are functions in Python: their torques, and derivatives by central differences.

A function that the author wrote takes floats alone; what comes out is good to about ten digits.
"""

from __future__ import annotations

import numpy as np

from sim.analysis.linear.duals import duals, slopes_in, values_in
from sim.analysis.linear.equations import quaternions
from sim.kernels.project import add_freedoms
from sim.simulation.control import Controllers
from sim.simulation.flow import Flow

DIFFERENCE = 1e-5  # m or rad, and per second: of central differences


class Laws:
    """What enabled laws apply, as a function of states."""

    def __init__(self, flow: Flow, controllers: Controllers):
        self.flow, self.controllers = flow, controllers
        enabled = flow.control.enabled
        self.acting = [law for law, on in zip(controllers.laws, enabled, strict=False) if on]
        self._at = np.zeros(0)
        self._torque, self._by_state = np.zeros(0), np.zeros((0, 0))

    @property
    def names(self) -> list[str]:
        """Names of the controllers that are differentiated so."""
        return list(dict.fromkeys(use.name for use, _ in self.acting))

    def __call__(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return (columns,) torques at q (nq,), v (nv,), floats or dual numbers."""
        q_here, v_here = values_in(q), values_in(v)
        at = np.concatenate([q_here, v_here])
        if not np.array_equal(at, self._at):
            self._at = at
            self._differentiate(q_here, v_here)
        if v.dtype == float:
            return self._torque
        n = len(v[0].slopes)
        beside = np.vstack([self._freedoms(q_here, slopes_in(q, n)), slopes_in(v, n)])
        return duals(self._torque, self._by_state @ beside)

    def _freedoms(self, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        """Return (nv, directions) derivatives of q as displacements of freedoms."""
        tables = self.flow.structure.tables
        links, at, out = tables.links, quaternions(tables), np.zeros((self.flow.structure.sizes.v, dq.shape[1]))
        for b in range(1, len(links)):
            a, k, nv = (int(links[name][b]) for name in ("q", "v", "nv"))
            plain = at[b] - a if b in at else nv
            out[k : k + plain] = dq[a : a + plain]
            if b in at:
                w, x, y, z = q[at[b] : at[b] + 4]
                of = 2.0 * np.array([[-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]])
                out[k + plain : k + nv] = of @ dq[at[b] : at[b] + 4]
        return out

    def _differentiate(self, q: np.ndarray, v: np.ndarray) -> None:
        nv = len(v)
        self._torque = self._at_state(q, v)
        self._by_state = np.zeros((len(self._torque), 2 * nv))
        for i in range(2 * nv):
            ends = []
            for side in (DIFFERENCE, -DIFFERENCE):
                there, rate, step = q.copy(), v.copy(), np.zeros(nv)
                if i < nv:
                    step[i] = side
                    add_freedoms(self.flow.structure.tables.links, step, 1.0, there)
                else:
                    rate[i - nv] += side
                ends.append(self._at_state(there, rate))
            self._by_state[:, i] = (ends[0] - ends[1]) / (2.0 * DIFFERENCE)
        self._at_state(q, v)

    def _at_state(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return (columns,) the torques at a real state; the controllers look at the run's own arrays."""
        self.flow.mechanism.t = self.flow.t
        self.flow.mechanism.update(q, v)
        out = np.zeros(len(self.flow.model.columns))
        for _, law in self.acting:
            law(self.flow.t, out)
        return out
