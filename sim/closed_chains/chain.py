"""A mechanism at one state, and every quantity of the papers' dynamics by its name.

closed-chains-1999, sections 2 and 3.  The equation of motion of the tree, whose N_O freedoms v are opened at the loop
joints, and of the generalised coordinates theta_G, N_F of the N_J joint rates theta_J' = (v, rates of loop joints):

    M v' + bias + gravity = tau_O + (what loops do)          A theta_G'' + b = tau_G = W^T tau_O = S^T tau_A

Frames.  Freedoms are the engine's rates v: of a spherical joint the angular velocity of the child against the parent
in the child's axes, of a free joint the velocity of the body's origin in world axes, then its angular velocity in the
body's axes.  Torques are along the same: torque times rate is power.  Everything about points is in world axes, the
angular part first, as in V_WB.  SI units and radians.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.linalg

from sim.closed_chains.acting import joint_torques, pushes
from sim.closed_chains.generalised import Generalised
from sim.closed_chains.matrices import column_names, columns_of, generalised
from sim.kernels.tables import Control
from sim.mechanism.dense import crossed, spatial_inertias
from sim.mechanism.mechanism import Mechanism
from sim.scene.arguments import array, found, three


class Place(NamedTuple):
    """A point of a link: link : its number; p_W : m, world axes."""

    link: int
    p_W: np.ndarray


class Chain:
    """One structure at one state; what is asked for is computed once, then kept.

    Parameters
    ----------
    mechanism : Mechanism
        Whose structure, controls and time these are.  It is not changed, nor kept.
    q, v : (nq,), (nv,) array_like
        Coordinates and rates of the tree; the rates are to fit the loops.
    preferred : array_like of int, optional
        Columns of theta_J that were dependent before: they remain so where they can.

    Attributes
    ----------
    q, v : (nq,), (nv,) ndarray
    acceleration : (nv,) ndarray or None
        v' as the run finds it, where the chain was taken of one.
    """

    def __init__(self, mechanism: Mechanism, q: np.ndarray, v: np.ndarray, *, preferred: np.ndarray | None = None):
        sizes = mechanism.structure.sizes
        self.q, self.v = _numbers("q", q, sizes.q), _numbers("v", v, sizes.v)
        control = Control(*(np.array(part) for part in mechanism.control))
        self._mechanism = Mechanism.of(mechanism.model, mechanism.structure, control, mechanism.t)
        self._mechanism.counts = mechanism.counts
        self._mechanism.update(self.q, self.v)
        self._preferred = preferred
        self._wrenches: np.ndarray | None = None
        self.acceleration: np.ndarray | None = None

    def of_run(self, wrenches: np.ndarray, acceleration: np.ndarray | None = None) -> Chain:
        """Take what a run has found at this state, and return the chain.

        wrenches : (forces, 6) of the scene's forces, torque about the point and force, world axes
        acceleration : (nv,) v', where it is known
        """
        self._wrenches, self.acceleration = wrenches, acceleration
        return self

    # --- names ----------------------------------------------------------------------------------

    @property
    def mechanism(self) -> Mechanism:
        """The chain's own mechanism, looked at in (q, v)."""
        return self._mechanism

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the N_J columns of theta_J': the tree's freedoms in the order of v, then those of loop joints.

        A joint of several freedoms has them as ``name[0]``, ``name[1]``, ...
        """
        return tuple(column_names(self._mechanism))

    @cached_property
    def columns(self) -> np.ndarray:
        """Columns (N_J,) of recordings and of ``Model.column_names`` in the order of `names`."""
        return columns_of(self._mechanism)

    @property
    def loop_joints(self) -> tuple[str, ...]:
        """Names of the joints, and constraints, that close loops."""
        model = self._mechanism.model
        return tuple(model.joint_names[joint] for joint in self._mechanism.structure.loops)

    @cached_property
    def rates(self) -> np.ndarray:
        """theta_J' (N_J,) [rad/s, m/s]: v, then the rates of the loop joints."""
        return np.concatenate([self.v, self._mechanism.work.rate[self.columns[len(self.v) :]]])

    def places(self, joints: str | Iterable[str]) -> np.ndarray:
        """Return where columns of theta_J' stand that are named: of a joint all of its own, or one as ``name[0]``.

        Raises
        ------
        ValueError
            For a name that none of them has.
        """
        model, owner = self._mechanism.model, self._mechanism.model.columns.joint[self.columns]
        out: list[int] = []
        for name in [joints] if isinstance(joints, str) else joints:
            own = [k for k, column in enumerate(self.names) if column == name]
            if not own and name in model.joint_names:
                own = np.flatnonzero(owner == model.joint(name)).tolist()
            if not own:
                raise ValueError(
                    f"joints: found {found(name)}; expected joints with freedoms, or columns: {', '.join(self.names)}"
                )
            out += own
        return np.array(out, int)

    # --- kinematics -----------------------------------------------------------------------------

    @cached_property
    def _link_jacobians(self) -> np.ndarray:
        """(links, 6, nv)."""
        return self._mechanism.link_jacobians()

    @cached_property
    def _link_drifts(self) -> np.ndarray:
        """(links, 6) accelerations of links and of their origins at v' = 0."""
        A = self._mechanism.work.links.A.copy()
        A[:, 3:] += self._gravity
        return A

    @property
    def _gravity(self) -> np.ndarray:
        return np.asarray(self._mechanism.structure.tables.one.gravity_W[0])

    def place(self, body: str, point: np.ndarray | None = None) -> Place:
        """Return the link and the place of a point of a body; see `jacobian`."""
        mechanism = self._mechanism
        model, work = mechanism.model, mechanism.work
        if body in model.body_names:
            n, p_B = model.body_names.index(body), np.zeros(3)
        elif body in model.point_names:
            at = model.points[model.point_names[body]]
            n, p_B = int(at.body), np.array(at.p_B)
        else:
            raise ValueError(f"body: found {found(body)}; expected a body, or a point as 'body.point'")
        p_B = p_B if point is None else p_B + three("point", point, "m")
        return Place(int(mechanism.structure.link_of[n]), work.bodies.p_WB[n] + work.bodies.R_WB[n].reshape(3, 3) @ p_B)

    def _of_joint(self, joint: str, side: str) -> Place:
        mechanism = self._mechanism
        model, structure, work = mechanism.model, mechanism.structure, mechanism.work
        if joint not in model.joint_names or side not in ("child", "parent"):
            raise ValueError(f"joint: found {found(joint)}, {found(side)}; expected a joint, and 'child' or 'parent'")
        j = model.joint(joint)
        if j in structure.loops:
            n = structure.loops.index(j)
            block = structure.tables.blocks[n]
            p_WM, p_FM = work.blocks.p_WM[n], work.blocks.p_FM[n]
            return Place(int(block.b), p_WM.copy()) if side == "child" else Place(int(block.a), p_WM - p_FM)
        if j not in structure.carrier[1:]:
            raise ValueError(f"joint: {joint!r} is not connected now")
        link = int(structure.link_of[model.joints.child[j]])
        if side == "child":
            return Place(link, work.links.x[link].copy())
        above, p_PF = int(structure.tables.links.parent[link]), structure.tables.links.p_PF[link]
        return Place(above, work.links.x[above] + work.links.R[above].reshape(3, 3) @ p_PF)

    def _jacobian(self, place: Place) -> np.ndarray:
        J = self._link_jacobians[place.link].copy()
        J[3:] += crossed(J[:3].T, place.p_W - self._mechanism.work.links.x[place.link]).T
        return J

    def _drift(self, place: Place) -> np.ndarray:
        A, w = self._link_drifts[place.link].copy(), self._mechanism.work.links.V[place.link, :3]
        arm = place.p_W - self._mechanism.work.links.x[place.link]
        A[3:] += crossed(A[:3], arm) + crossed(w, crossed(w, arm))
        return A

    def position(self, body: str, point: np.ndarray | None = None) -> np.ndarray:
        """Return where a point is (3,) [m, world axes]; see `jacobian`."""
        return self.place(body, point).p_W

    def jacobian(self, body: str, point: np.ndarray | None = None) -> np.ndarray:
        """Return J (6, nv) of a body at a point: J v is its angular velocity and the velocity of the point, world axes.

        body : name of a body, or of a point of one as ``body.point``
        point : (3,) m, in the body's axes, from its origin or from that point; the same when not given
        """
        return self._jacobian(self.place(body, point))

    def jacobian_drift(self, body: str, point: np.ndarray | None = None) -> np.ndarray:
        """Return J' v (6,): angular acceleration and acceleration of the point at v' = 0, world axes."""
        return self._drift(self.place(body, point))

    def joint_position(self, joint: str, side: str = "child") -> np.ndarray:
        """Return where a joint's frame is (3,) [m, world axes]; see `joint_jacobian`."""
        return self._of_joint(joint, side).p_W

    def joint_jacobian(self, joint: str, side: str = "child") -> np.ndarray:
        """Return J (6, nv) of a joint's frame, M on its child or F on its parent (side: "parent"), world axes.

        Joints of the tree and of loops alike.
        """
        return self._jacobian(self._of_joint(joint, side))

    def joint_jacobian_drift(self, joint: str, side: str = "child") -> np.ndarray:
        """Return J' v (6,) of a joint's frame, world axes."""
        return self._drift(self._of_joint(joint, side))

    # --- dynamics of the tree -------------------------------------------------------------------

    @cached_property
    def mass_matrix(self) -> np.ndarray:
        """M (nv, nv) of the tree, with the armatures of its joints."""
        lent = self._mechanism.structure.tables.freedoms.armature - self.armature[: len(self.v)]
        return self._mechanism.inertia() - np.diag(lent)

    @cached_property
    def armature(self) -> np.ndarray:
        """Inertia of the rotors of all joints (N_J,) [kg or kg m^2]; in the tree a part of M."""
        return np.array(self._mechanism.model.columns.armature[self.columns])

    @cached_property
    def _link_wrenches(self) -> np.ndarray:
        """(links, 6) moment about the origin and force that links need at v' = 0 without gravity."""
        w, I = self._mechanism.work.links.V[:, :3], self._spatial  # noqa: E741
        momentum = np.einsum("bij,bj->bi", I[:, :, :3], w)
        out = np.einsum("bij,bj->bi", I, self._link_drifts)
        return out + np.hstack([crossed(w, momentum[:, :3]), crossed(w, momentum[:, 3:])])

    @cached_property
    def _spatial(self) -> np.ndarray:
        return spatial_inertias(self._mechanism.work.links.I)

    def on_freedoms(self, wrenches: np.ndarray) -> np.ndarray:
        """Return (nv,) what wrenches (links, 6) about the links' origins are on the freedoms."""
        return np.einsum("bik,bi->k", self._link_jacobians, wrenches)

    @cached_property
    def bias(self) -> np.ndarray:
        """Coriolis, centrifugal and gyroscopic terms (nv,) [N m, N]: the tree's torques at v' = 0 without gravity."""
        return self.on_freedoms(self._link_wrenches)

    @cached_property
    def gravity(self) -> np.ndarray:
        """What holds the tree against gravity (nv,) [N m, N]: the gradient of its potential energy."""
        return -self.on_freedoms(self._weights)

    @cached_property
    def _weights(self) -> np.ndarray:
        """(links, 6) weights about links' origins."""
        I = self._mechanism.work.links.I  # noqa: E741
        return np.hstack([crossed(I[:, 1:4], self._gravity), I[:, :1] * self._gravity])

    def link_wrenches(self, acceleration: np.ndarray) -> np.ndarray:
        """Return (links, 6) what links need beside their weight for v' (nv,): moment about the origin and force.

        Link n carries the body whose ``link_of`` in the structure it is; link 0 is the world.
        """
        moved = self._link_jacobians @ acceleration
        return self._link_wrenches + np.einsum("bij,bj->bi", self._spatial, moved) - self._weights

    @cached_property
    def passive(self) -> np.ndarray:
        """What joint springs and dampers, torsion springs and the scene's forces do on theta_J' (N_J,) [N m, N].

        Of forces that act at points, as the run had them, where the chain was taken of one; else they are left out.
        """
        out = self.passive_joints.copy()
        out[: len(self.v)] += self.on_freedoms(self.pushed)
        return out

    @cached_property
    def passive_joints(self) -> np.ndarray:
        """The same of springs and dampers of joints, and about them, alone (N_J,)."""
        return joint_torques(self._mechanism)[self.columns]

    @cached_property
    def pushed(self) -> np.ndarray:
        """What the scene's forces do at points (links, 6): moments about links' origins and forces, world axes."""
        if self._wrenches is None:
            return np.zeros((len(self._mechanism.work.links), 6))
        return pushes(self._mechanism, self._wrenches)

    # --- the papers' coordinates ----------------------------------------------------------------

    @cached_property
    def coordinates(self) -> Generalised:
        """Generalised coordinates with J_C, m, H, W and the condition of J_S; driven freedoms are among them."""
        return generalised(self._mechanism, self._preferred)

    @property
    def J_C(self) -> np.ndarray:
        """J_C (6 N_L, N_J), eq. (12), of all loops: J_C theta_J' = 0 (11).

        Six rows for each loop joint in the order of `loop_joints`: velocity of the child's frame M against the parent
        less what the joint allows, then the angular velocity times the scene's length [m]; world axes.  Of a
        constraint (a wheel, a gear) its own rows.
        """
        return self.coordinates.J_C

    @property
    def J_C_drift(self) -> np.ndarray:
        """J_C' theta_J' (6 N_L,), eq. (22)."""
        return self.coordinates.J_dot_v

    @property
    def rank(self) -> int:
        """Rank m of J_C; N_F = N_J - m (14)."""
        return self.coordinates.rank

    @cached_property
    def independent_rows(self) -> np.ndarray:
        """Rows (m,) of J_C that make J_Cm, eq. (13)."""
        dependent = self.J_C[:, self.coordinates.dependent]
        if not self.rank:
            return np.zeros(0, int)
        return np.sort(scipy.linalg.qr(dependent.T, mode="r", pivoting=True)[1][: self.rank])

    @cached_property
    def J_S(self) -> np.ndarray:
        """J_S (m, m), eq. (15): m independent columns of J_Cm, those of theta_S."""
        return self.J_C[np.ix_(self.independent_rows, self.coordinates.dependent)]

    @cached_property
    def J_G(self) -> np.ndarray:
        """J_G (m, N_F), eq. (15): the columns of J_Cm of theta_G."""
        return self.J_C[np.ix_(self.independent_rows, self.coordinates.independent)]

    @property
    def H(self) -> np.ndarray:
        """H (m, N_F) = -J_S^-1 J_G, eq. (18): theta_S' = H theta_G'."""
        return self.coordinates.H

    @property
    def W(self) -> np.ndarray:
        """W (nv, N_F), eq. (4): v = W theta_G'."""
        return self.coordinates.W

    @cached_property
    def T(self) -> np.ndarray:
        """All joints' rates by the generalised ones (N_J, N_F): theta_J' = T theta_G'; W and S are rows of it."""
        return self.coordinates.all_joints

    def S(self, actuated: str | Iterable[str]) -> np.ndarray:
        """Return S (N_A, N_F), eq. (6), of actuated joints or columns by name: theta_A' = S theta_G'."""
        return self.T[self.places(actuated)]

    @property
    def independent(self) -> tuple[str, ...]:
        """Names (N_F) of theta_G."""
        return tuple(self.names[k] for k in self.coordinates.independent)

    @property
    def dependent(self) -> tuple[str, ...]:
        """Names (m) of theta_S."""
        return tuple(self.names[k] for k in self.coordinates.dependent)

    @cached_property
    def drift(self) -> np.ndarray:
        """theta_J'' at theta_G'' = 0 (N_J,): H' theta_G' (22) in the places of theta_S, zero in those of theta_G."""
        return self.coordinates.drift

    @property
    def H_drift(self) -> np.ndarray:
        """H' theta_G' (m,), eq. (22)."""
        return self.drift[self.coordinates.dependent]

    @cached_property
    def A(self) -> np.ndarray:
        """A (N_F, N_F), eq. (23): W^T M W, and what rotors of loop joints add."""
        loops = slice(len(self.v), None)
        return self.W.T @ self.mass_matrix @ self.W + self.T[loops].T @ (self.armature[loops, None] * self.T[loops])

    @cached_property
    def b(self) -> np.ndarray:
        """Vector b (N_F,), eq. (23): generalised force at theta_G'' = 0, with gravity and without what is `passive`."""
        return self.generalised_force(np.zeros(self.T.shape[1]))

    def generalised_force(self, acceleration: np.ndarray) -> np.ndarray:
        """Return tau_G (N_F,) = W^T tau_O (7) for theta_G'' (N_F,)."""
        return self.T.T @ self.torques_of_tree(self.T @ acceleration + self.drift)

    def torques_of_tree(self, acceleration: np.ndarray) -> np.ndarray:
        """Return the torques (N_J,) that theta_J'' (N_J,) needs when loops are open.

        tau_O of the tree, and of each loop joint what its rotor needs; without what is `passive`.
        """
        n = len(self.v)
        tree = self.mass_matrix @ acceleration[:n] + self.bias + self.gravity
        return np.concatenate([tree, self.armature[n:] * acceleration[n:]])

    def accelerations(self, acceleration: np.ndarray) -> np.ndarray:
        """Return theta_J'' (N_J,) for theta_G'' (N_F,), by (19) and (22)."""
        return self.T @ acceleration + self.drift

    def forward(self, torque: np.ndarray) -> np.ndarray:
        """Return theta_J'' (N_J,) under torques of all joints (N_J,) [N m, N], by (24) and (19).

        Beside them acts what is `passive`.
        """
        tau_G = self.T.T @ (_numbers("torque", torque, len(self.names)) + self.passive)
        return self.accelerations(np.linalg.solve(self.A, tau_G - self.b))

    # --- all bodies together --------------------------------------------------------------------

    @property
    def mass(self) -> float:
        """Mass of all bodies [kg]."""
        return float(self._mechanism.work.links.I[:, 0].sum())

    @cached_property
    def centre_of_mass(self) -> np.ndarray:
        """Centre of mass of all bodies (3,) [m, world axes]."""
        links = self._mechanism.work.links
        return (links.I[:, :1] * links.x + links.I[:, 1:4]).sum(axis=0) / self.mass

    @cached_property
    def _moved_to_centre(self) -> np.ndarray:
        """(links, 3) m: from the centre of mass to links' origins."""
        return np.asarray(self._mechanism.work.links.x - self.centre_of_mass)

    @cached_property
    def momentum_matrix(self) -> np.ndarray:
        """(6, nv): angular momentum about the centre of mass and momentum for v, world axes; rotors have none."""
        each = self._spatial @ self._link_jacobians  # about origins
        arms = self._moved_to_centre[:, None, :]
        about = each[:, :3].transpose(0, 2, 1) + crossed(arms, each[:, 3:].transpose(0, 2, 1))
        return np.concatenate([about.sum(axis=0).T, each[:, 3:].sum(axis=0)])

    @cached_property
    def momentum(self) -> np.ndarray:
        """Angular momentum about the centre of mass [N m s] and momentum [N s] (6,), world axes."""
        return self.momentum_matrix @ self.v

    @cached_property
    def momentum_drift(self) -> np.ndarray:
        """Rate of `momentum` at v' = 0 (6,) [N m, N]."""
        wrench = self._link_wrenches
        about = wrench[:, :3] + crossed(self._moved_to_centre, wrench[:, 3:])
        return np.hstack([about, wrench[:, 3:]]).sum(axis=0)

    def momentum_rate(self, acceleration: np.ndarray | None = None) -> np.ndarray:
        """Return the rate of `momentum` (6,) for v' (nv,), the run's when not given: what acts from outside.

        Raises
        ------
        ValueError
            Without v' where the chain is of no run.
        """
        if acceleration is None:
            acceleration = self.acceleration
        if acceleration is None:
            raise ValueError("acceleration: found None; expected v' (nv,), as this chain was not taken of a run")
        return self.momentum_matrix @ _numbers("acceleration", acceleration, len(self.v)) + self.momentum_drift

    @property
    def com_jacobian(self) -> np.ndarray:
        """(3, nv): velocity of the centre of mass for v, world axes."""
        return self.momentum_matrix[3:] / self.mass

    @property
    def com_drift(self) -> np.ndarray:
        """Acceleration of the centre of mass at v' = 0 (3,) [m/s^2, world axes]."""
        return self.momentum_drift[3:] / self.mass


def _numbers(name: str, values: np.ndarray, count: int) -> np.ndarray:
    """Return so many finite numbers, as the caller's own."""
    out = np.array(array(name, values))
    if out.shape != (count,) or not np.isfinite(out).all():
        raise ValueError(f"{name}: found shape {out.shape}; expected ({count},) finite numbers")
    return out
