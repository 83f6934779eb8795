"""Pinocchio beside us: articulated bodies without loops, constraint dynamics with them.

Loops are contacts of three rows between two joints.  The proximal settings are Pinocchio's defaults
(no regularisation, one iteration), which are exact for loops of full rank, and its fastest.
"""

from __future__ import annotations

import importlib.metadata
from typing import Any

import numpy as np

from bench.figure import Figure, Link, States


class Pinocchio:
    """A figure in Pinocchio, with its states in Pinocchio's conventions."""

    name = "pinocchio"

    def __init__(self, figure: Figure, states: States):
        import pinocchio

        self.pin: Any = pinocchio
        self.figure = figure
        self.version = importlib.metadata.version("pin")
        self.model = pinocchio.Model()
        self.model.gravity.linear = figure.gravity
        self.ids = [0]
        for link in figure.links:
            self._add(link)
        self.data = self.model.createData()
        self._add_loops()
        self.states = [self._state(q, v) for q, v in zip(states.q, states.v, strict=True)]
        self.tau = np.zeros(figure.nv)
        self.wanted: list[np.ndarray] = []
        # The same calls on a model without bodies: what it costs to come from Python and go back.
        self.empty_model = pinocchio.Model()
        self.empty_data = self.empty_model.createData()
        self.no_models, self.no_datas = pinocchio.StdVec_RigidConstraintModel(), pinocchio.StdVec_RigidConstraintData()
        pinocchio.initConstraintDynamics(self.empty_model, self.empty_data, self.no_models, self.no_datas)

    def _add(self, link: Link) -> None:
        pin = self.pin
        make = {"rotational": pin.JointModelRZ, "spherical": pin.JointModelSpherical, "free": pin.JointModelFreeFlyer}
        place = pin.SE3(link.rotation, link.position)
        joint = self.model.addJoint(self.ids[link.parent], make[link.kind](), place, link.name)
        self.model.appendBodyToJoint(joint, pin.Inertia(link.mass, link.com, link.inertia), pin.SE3.Identity())
        self.ids.append(joint)

    def _add_loops(self) -> None:
        pin = self.pin
        self.models, self.datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for loop in self.figure.loops:
            at_a, at_b = pin.SE3(np.eye(3), loop.p_a), pin.SE3(np.eye(3), loop.p_b)
            kind, frame = pin.ContactType.CONTACT_3D, pin.ReferenceFrame.LOCAL
            a, b = self.ids[loop.a], self.ids[loop.b]
            self.models.append(pin.RigidConstraintModel(kind, self.model, a, at_a, b, at_b, frame))
        for model in self.models:
            self.datas.append(model.createData())
        pin.initConstraintDynamics(self.model, self.data, self.models, self.datas)
        self.settings = pin.ProximalSettings()

    # --- conventions ----------------------------------------------------------------------------

    def _state(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Quaternions (x, y, z, w); a free joint's linear velocity in the body's axes."""
        q_out, v_out = self.pin.neutral(self.model), np.zeros(self.model.nv)
        for link, joint in zip(self.figure.links, self.ids[1:], strict=True):
            at = self.model.joints[joint]
            value, rate = q[link.q : link.q + at.nq].copy(), v[link.v : link.v + at.nv].copy()
            if link.kind != "rotational":
                value[-4:] = np.roll(value[-4:], -1)
            if link.kind == "free":
                rate[:3] = self.pin.Quaternion(value[-4:]).matrix().T @ rate[:3]
            q_out[at.idx_q : at.idx_q + at.nq], v_out[at.idx_v : at.idx_v + at.nv] = value, rate
        return q_out, v_out

    def _turn(self, joint: Any, q: np.ndarray) -> np.ndarray:
        return np.array(self.pin.Quaternion(q[joint.idx_q + 3 : joint.idx_q + 7]).matrix())

    def _to_ours(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        out = np.zeros(self.figure.nv)
        for link, joint in zip(self.figure.links, self.ids[1:], strict=True):
            at = self.model.joints[joint]
            found, rate = np.array(a[at.idx_v : at.idx_v + at.nv]), v[at.idx_v : at.idx_v + at.nv]
            if link.kind == "free":  # from the spatial acceleration to that of the origin, in world axes
                found[:3] = self._turn(at, q) @ (found[:3] + np.cross(rate[3:], rate[:3]))
            out[link.v : link.v + at.nv] = found
        return out

    def _from_ours(self, q: np.ndarray, v: np.ndarray, vdot: np.ndarray) -> np.ndarray:
        a = np.zeros(self.model.nv)
        for link, joint in zip(self.figure.links, self.ids[1:], strict=True):
            at = self.model.joints[joint]
            found, rate = vdot[link.v : link.v + at.nv].copy(), v[at.idx_v : at.idx_v + at.nv]
            if link.kind == "free":
                found[:3] = self._turn(at, q).T @ found[:3] - np.cross(rate[3:], rate[:3])
            a[at.idx_v : at.idx_v + at.nv] = found
        return a

    # --- answers --------------------------------------------------------------------------------

    def accelerations(self) -> np.ndarray:
        """Return vdot (count, nv) of all states, in our conventions."""
        return np.array([self._to_ours(q, v, self._solve(q, v)) for q, v in self.states])

    def _solve(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if not self.figure.loops:
            return self.pin.aba(self.model, self.data, q, v, self.tau)
        return self.pin.constraintDynamics(
            self.model, self.data, q, v, self.tau, self.models, self.datas, self.settings
        )

    def largest_gap(self, vdot: np.ndarray) -> float:
        """Return how loops would open under our vdot (count, nv): acceleration over the largest one of the state."""
        worst = 0.0
        for (q, v), ours in zip(self.states, vdot, strict=True):
            self.pin.forwardKinematics(self.model, self.data, q, v, self._from_ours(q, v, ours))
            for loop in self.figure.loops:
                gap = self._point(self.ids[loop.a], loop.p_a) - self._point(self.ids[loop.b], loop.p_b)
                worst = max(worst, float(np.abs(gap).max() / np.abs(ours).max()))
        return worst

    def _point(self, joint: int, p: np.ndarray) -> np.ndarray:
        """Acceleration of a point of a joint's body, world axes."""
        R, V, A = self.data.oMi[joint].rotation, self.data.v[joint], self.data.a[joint]
        w = V.angular
        a = A.linear + np.cross(A.angular, p) + np.cross(w, V.linear + np.cross(w, p))
        return np.array(R @ a)

    def torques(self, vdot: np.ndarray) -> np.ndarray:
        """Return the tree's torques (count, nv) for vdot (count, nv), in our conventions; `run_inverse` takes these."""
        self.wanted = [self._from_ours(q, v, a) for (q, v), a in zip(self.states, vdot, strict=True)]
        out = np.zeros_like(vdot)
        for s, ((q, v), a) in enumerate(zip(self.states, self.wanted, strict=True)):
            out[s] = self.pin.rnea(self.model, self.data, q, v, a)
            for link, joint in zip(self.figure.links, self.ids[1:], strict=True):
                if link.kind == "free":  # a force in the body's axes
                    own = slice(link.v, link.v + 3)
                    out[s, own] = self._turn(self.model.joints[joint], q) @ out[s, own]
        return out

    # --- what is measured -----------------------------------------------------------------------

    def run(self, times: int) -> int:
        """Evaluate all states `times` times; returns the number of evaluations."""
        pin, model, data, tau = self.pin, self.model, self.data, self.tau
        if self.figure.loops:
            models, datas, settings = self.models, self.datas, self.settings
            for _ in range(times):
                for q, v in self.states:
                    pin.constraintDynamics(model, data, q, v, tau, models, datas, settings)
        else:
            for _ in range(times):
                for q, v in self.states:
                    pin.aba(model, data, q, v, tau)
        return times * len(self.states)

    def run_empty(self, times: int) -> int:
        """Make the same calls on a model without bodies; returns the number of calls."""
        pin, model, data, none = self.pin, self.empty_model, self.empty_data, np.zeros(0)
        if self.figure.loops:
            models, datas, settings = self.no_models, self.no_datas, self.settings
            for _ in range(times):
                for _q, _v in self.states:
                    pin.constraintDynamics(model, data, none, none, none, models, datas, settings)
        else:
            for _ in range(times):
                for _q, _v in self.states:
                    pin.aba(model, data, none, none, none)
        return times * len(self.states)

    def run_inverse(self, times: int) -> int:
        """Find the torques of all states `times` times, for the accelerations that `torques` had."""
        pin, model, data = self.pin, self.model, self.data
        for _ in range(times):
            for (q, v), a in zip(self.states, self.wanted, strict=True):
                pin.rnea(model, data, q, v, a)
        return times * len(self.states)

    def run_empty_inverse(self, times: int) -> int:
        """Make the same calls on a model without bodies."""
        pin, model, data, none = self.pin, self.empty_model, self.empty_data, np.zeros(0)
        for _ in range(times):
            for (_q, _v), _a in zip(self.states, self.wanted, strict=True):
                pin.rnea(model, data, none, none, none)
        return times * len(self.states)
