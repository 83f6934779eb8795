"""Controllers that are functions in Python: their torques, and derivatives by central differences.

A function that the author wrote takes no complex numbers; what comes out is good to about ten digits.
"""

from __future__ import annotations

import numpy as np

from sim.kernels.project import add_freedoms
from sim.simulation.control import Controllers
from sim.simulation.flow import Flow

DIFFERENCE = 1e-5  # m or rad, and per second: of central differences


class Laws:
    """What enabled laws apply, as a function of complex states that have one real part in common."""

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
        """Return (k, columns) torques at q (k, nq), v (k, nv)."""
        at = np.concatenate([q[0].real, v[0].real])
        if not np.array_equal(at, self._at):
            self._at = at
            self._differentiate(q[0].real.copy(), v[0].real.copy())
        beside = np.hstack([self._freedoms(q), v.imag])
        if not (np.iscomplexobj(q) or np.iscomplexobj(v)):
            return np.repeat(self._torque[None], len(q), axis=0)
        return self._torque + 1j * beside @ self._by_state.T

    def _freedoms(self, q: np.ndarray) -> np.ndarray:
        """Return (k, nv) the imaginary parts of q as displacements of freedoms."""
        links, out = self.flow.structure.tables.links, np.zeros((len(q), self.flow.structure.sizes.v))
        for b in range(1, len(links)):
            ball, a, k, nv = (int(links[name][b]) for name in ("quaternion", "q", "v", "nv"))
            plain = ball - k if ball >= 0 else nv
            out[:, k : k + plain] = q[:, a : a + plain].imag
            if ball >= 0:
                a, k = a + plain, ball
                w, x, y, z = q[0, a : a + 4].real
                of = 2.0 * np.array([[-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]])
                out[:, k : k + 3] = q[:, a : a + 4].imag @ of.T
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
        self.flow.mechanism.look(q, v)
        out = np.zeros(len(self.flow.model.columns))
        for _, law in self.acting:
            law(self.flow.t, out)
        return out
