"""The same random trees in MuJoCo and in Pinocchio, with our coordinates and rates.

Both take a `tests.support.mechanisms.Mechanism` without loops.  Joints that a peer does not have are
composed of hinges and slides in the order of our conventions: cylindrical is along then about,
universal is first then second axis, planar is two slides then the hinge.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from tests.support import reference as ref
from tests.support.mechanisms import Mechanism


def needs(name: str) -> pytest.MarkDecorator:
    """Return the mark of a test that skips, with the reason, where a peer is not installed."""
    absent = importlib.util.find_spec(name) is None
    return pytest.mark.skipif(absent, reason=f"{name} is not installed (extra `test`)")


def steps_of(link: ref.Link) -> list[tuple[str, np.ndarray]]:
    """Return the hinges and slides that make up a link without spherical part: (name, axis), outermost first."""
    a1, a2, a3 = link.axes_a.T
    return {
        "fixed": [],
        "rotational": [("hinge", a1)],
        "translational": [("slide", a1)],
        "cylindrical": [("slide", a1), ("hinge", a1)],
        "universal": [("hinge", a1), ("hinge", link.axes_b[:, 0])],
        "planar": [("slide", a2), ("slide", a3), ("hinge", a1)],
    }[link.kind]


def start_coordinates(mechanism: Mechanism) -> dict[str, np.ndarray]:
    """Return the coordinates of every tree joint: those that the mechanism names, else those of the drawing."""
    values: dict[str, np.ndarray] = {}
    for name, link in zip(mechanism.joints, mechanism.links, strict=True):
        drawn = {"spherical": np.array([1.0, 0, 0, 0]), "free": np.concatenate([link.p_b, [1, 0, 0, 0]])}
        values[name] = mechanism.coordinates.get(name, drawn.get(link.kind, np.zeros(ref.FREEDOMS[link.kind])))
    return values


def start_rates(mechanism: Mechanism) -> dict[str, np.ndarray]:
    """Return the rates of every tree joint; zero where the mechanism names none."""
    return {
        name: np.asarray(mechanism.rates.get(name, np.zeros(ref.FREEDOMS[link.kind])))
        for name, link in zip(mechanism.joints, mechanism.links, strict=True)
    }


def _check_tree(mechanism: Mechanism) -> None:
    if mechanism.loops:
        raise ValueError("peers are built from trees alone")
    if any(link.drive for link in mechanism.links):
        raise ValueError("peers are built without springs, dampers and armatures")


def _text(values: np.ndarray) -> str:
    return " ".join(f"{value:.17g}" for value in np.ravel(values))


class MujocoTree:
    """A tree in MuJoCo.

    Each body's frame has world axes in the drawing and its origin at the joint that holds it, so
    positions and rates mean what ours mean.
    """

    def __init__(self, mechanism: Mechanism):
        import mujoco

        _check_tree(mechanism)
        self.mujoco: Any = mujoco
        self.mechanism = mechanism
        self.model = mujoco.MjModel.from_xml_string(mjcf(mechanism))
        self.data = mujoco.MjData(self.model)
        self.ids = [self.model.body(name).id for name in mechanism.names]
        self.columns, self._places = {}, {}
        for name, link in zip(mechanism.joints, mechanism.links, strict=True):
            parts = len(steps_of(link)) if link.kind not in ("spherical", "free") else 1
            joints = [self.model.joint(f"{name}.{k}") for k in range(parts)]
            dofs = {"spherical": 3, "free": 6}.get(link.kind, 1)
            places = {"spherical": 4, "free": 7}.get(link.kind, 1)
            self.columns[name] = np.array([j.dofadr[0] + i for j in joints for i in range(dofs)], int)
            self._places[name] = np.array([j.qposadr[0] + i for j in joints for i in range(places)], int)
        self.set(start_coordinates(mechanism), start_rates(mechanism))

    def set(self, coordinates: Mapping[str, np.ndarray], rates: Mapping[str, np.ndarray]) -> None:
        """Take a state by joint, in our conventions, and compute all that follows from it."""
        for name, value in coordinates.items():
            self.data.qpos[self._places[name]] = value
        for name, value in rates.items():
            self.data.qvel[self.columns[name]] = value
        self.mujoco.mj_forward(self.model, self.data)

    def bodies(self) -> list[ref.Body]:
        """Return the bodies at the present state, for the reference."""
        return [self._body(i) for i in range(len(self.ids))]

    def _body(self, i: int) -> ref.Body:
        index, drawn, data = self.ids[i], self.mechanism.bodies[i], self.data
        R = data.xmat[index].reshape(3, 3).copy()
        jac_p, jac_r = self.jacobian(i)
        return ref.Body(
            mass=drawn.mass, com_W=data.xipos[index].copy(), inertia_W=R @ drawn.inertia_W @ R.T, R_WB=R,
            v_com_W=jac_p @ data.qvel, w_W=jac_r @ data.qvel,
        )  # fmt: skip

    def jacobian(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Return (3, nv) each: velocity of the centre of mass of body i, its angular velocity, world axes."""
        jac_p, jac_r = np.zeros((3, self.model.nv)), np.zeros((3, self.model.nv))
        self.mujoco.mj_jacBodyCom(self.model, self.data, jac_p, jac_r, self.ids[i])
        return jac_p, jac_r

    def accelerations(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (n, 3) m/s^2 of the centres of mass and (n, 3) rad/s^2, world axes."""
        a, alpha = np.zeros((len(self.ids), 3)), np.zeros((len(self.ids), 3))
        for i, index in enumerate(self.ids):
            drift_p, drift_r = np.zeros((3, self.model.nv)), np.zeros((3, self.model.nv))
            point = self.data.xipos[index]
            self.mujoco.mj_jacDot(self.model, self.data, drift_p, drift_r, point, index)
            jac_p, jac_r = self.jacobian(i)
            a[i] = jac_p @ self.data.qacc + drift_p @ self.data.qvel
            alpha[i] = jac_r @ self.data.qacc + drift_r @ self.data.qvel
        return a, alpha

    def mass_matrix(self) -> np.ndarray:
        """Return the dense mass matrix (nv, nv), columns as `columns` names them."""
        full = np.zeros((self.model.nv, self.model.nv))
        try:
            self.mujoco.mj_fullM(self.model, self.data, full)
        except TypeError:  # before MuJoCo 4
            self.mujoco.mj_fullM(self.model, full, self.data.qM)
        return full


def mjcf(mechanism: Mechanism) -> str:
    """Return the tree as MuJoCo's XML: no contacts, no damping, no armature."""
    children: dict[int, list[int]] = {}
    for i, link in enumerate(mechanism.links):
        children.setdefault(link.a, []).append(i)

    def body(i: int) -> str:
        drawn, link, name = mechanism.bodies[i], mechanism.links[i], mechanism.joints[i]
        origin = np.zeros(3) if link.a < 0 else mechanism.links[link.a].p_b
        inertia = drawn.inertia_W[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        weight = f'mass="{drawn.mass:.17g}" fullinertia="{_text(inertia)}"'
        lines = [
            f'<body name="{mechanism.names[i]}" pos="{_text(link.p_b - origin)}">',
            f'<inertial pos="{_text(drawn.com_W - link.p_b)}" {weight}/>',
        ]
        if link.kind in ("spherical", "free"):
            lines.append(f'<joint name="{name}.0" type="{"ball" if link.kind == "spherical" else "free"}"/>')
        else:
            lines += [
                f'<joint name="{name}.{k}" type="{kind}" axis="{_text(axis)}"/>'
                for k, (kind, axis) in enumerate(steps_of(link))
            ]
        return "\n".join([*lines, *(body(child) for child in children.get(i, ())), "</body>"])

    roots = "\n".join(body(i) for i in children.get(-1, ()))
    return (
        f'<mujoco><compiler angle="radian"/><option gravity="{_text(mechanism.gravity)}"/>'
        f"<worldbody>\n{roots}\n</worldbody></mujoco>"
    )


class PinocchioTree:
    """A tree in Pinocchio, composite joints by massless bodies in between."""

    def __init__(self, mechanism: Mechanism):
        import pinocchio

        _check_tree(mechanism)
        self._pin: Any = pinocchio
        self.mechanism = mechanism
        self.model = pinocchio.Model()
        self.model.gravity.linear = np.asarray(mechanism.gravity, float)
        self._joints: dict[str, list[int]] = {}
        # Pinocchio's joint that carries each body, and where that joint's frame is drawn.
        self._carriers: list[tuple[int, np.ndarray]] = []
        self.frames: list[int] = []
        for i in range(len(mechanism.bodies)):
            self._add(i)
        joints = self.model.joints
        self.columns = {
            name: np.array([joints[j].idx_v + i for j in made for i in range(joints[j].nv)], int)
            for name, made in self._joints.items()
        }
        self.data = self.model.createData()
        self.set(start_coordinates(mechanism), start_rates(mechanism))

    def _add(self, i: int) -> None:
        pin, link, drawn, name = self._pin, self.mechanism.links[i], self.mechanism.bodies[i], self.mechanism.joints[i]
        joint, origin = (0, np.zeros(3)) if link.a < 0 else self._carriers[link.a]
        models = {"spherical": [pin.JointModelSpherical()], "free": [pin.JointModelFreeFlyer()]}.get(link.kind)
        if link.kind == "helical":
            models = [pin.JointModelHelicalUnaligned(link.axes_a[:, 0], link.pitch)]
        if models is None:
            make = {"hinge": pin.JointModelRevoluteUnaligned, "slide": pin.JointModelPrismaticUnaligned}
            models = [make[kind](axis) for kind, axis in steps_of(link)]
        made = []
        for k, model in enumerate(models):
            # A free joint's coordinates are the place of its frame in the world.
            place = np.zeros(3) if link.kind == "free" else link.p_b - origin
            joint, origin = self.model.addJoint(joint, model, pin.SE3(np.eye(3), place), f"{name}.{k}"), link.p_b
            made.append(joint)
        self._joints[name] = made
        self._carriers.append((joint, origin))
        inertia = pin.Inertia(drawn.mass, np.zeros(3), drawn.inertia_W)
        at_com = pin.SE3(np.eye(3), drawn.com_W - origin)
        self.model.appendBodyToJoint(joint, inertia, at_com)
        self.frames.append(
            self.model.addFrame(pin.Frame(self.mechanism.names[i], joint, 0, at_com, pin.FrameType.OP_FRAME))
        )

    def set(self, coordinates: Mapping[str, np.ndarray], rates: Mapping[str, np.ndarray]) -> None:
        """Take a state by joint, in our conventions, and compute the accelerations of it."""
        q, v = self._pin.neutral(self.model), np.zeros(self.model.nv)
        for name, link in zip(self.mechanism.joints, self.mechanism.links, strict=True):
            value, rate = np.array(coordinates[name]), np.array(rates[name])
            if link.kind in ("spherical", "free"):
                # Pinocchio's quaternions are (x, y, z, w), its free velocities in the body's axes.
                value[-4:] = np.roll(value[-4:], -1)
            if link.kind == "free":
                rate[:3] = self._pin.Quaternion(value[-4:]).matrix().T @ rate[:3]
            at_q, at_v = 0, 0
            for joint in (self.model.joints[j] for j in self._joints[name]):
                q[joint.idx_q : joint.idx_q + joint.nq] = value[at_q : at_q + joint.nq]
                v[joint.idx_v : joint.idx_v + joint.nv] = rate[at_v : at_v + joint.nv]
                at_q, at_v = at_q + joint.nq, at_v + joint.nv
        qdd = self._pin.aba(self.model, self.data, q, v, np.zeros(self.model.nv))
        self._pin.forwardKinematics(self.model, self.data, q, v, np.array(qdd))
        self._pin.updateFramePlacements(self.model, self.data)
        self.q, self.v = q, v

    def bodies(self) -> list[ref.Body]:
        """Return the bodies at the present state, for the reference."""
        found = []
        for frame, drawn in zip(self.frames, self.mechanism.bodies, strict=True):
            pose = self.data.oMf[frame]
            V = self._pin.getFrameVelocity(self.model, self.data, frame, self._pin.LOCAL_WORLD_ALIGNED)
            R = pose.rotation.copy()
            found.append(
                ref.Body(
                    mass=drawn.mass, com_W=pose.translation.copy(), inertia_W=R @ drawn.inertia_W @ R.T, R_WB=R,
                    v_com_W=V.linear.copy(), w_W=V.angular.copy(),
                )
            )  # fmt: skip
        return found

    def accelerations(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (n, 3) m/s^2 of the centres of mass and (n, 3) rad/s^2, world axes."""
        pin = self._pin
        found = [
            pin.getFrameClassicalAcceleration(self.model, self.data, frame, pin.LOCAL_WORLD_ALIGNED)
            for frame in self.frames
        ]
        return np.array([A.linear for A in found]), np.array([A.angular for A in found])

    def turned(self, coordinates: Mapping[str, np.ndarray], ours: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return X (nv, nv) with X v its rates for ours: it has velocities of free bodies in their own axes.

        ours : where each joint's rates stand in our v
        """
        X = np.zeros((self.model.nv, self.model.nv))
        for name, link in zip(self.mechanism.joints, self.mechanism.links, strict=True):
            X[self.columns[name], ours[name]] = 1.0
            if link.kind == "free":
                R = self._pin.Quaternion(np.roll(np.array(coordinates[name])[-4:], -1)).matrix()
                X[np.ix_(self.columns[name][:3], ours[name][:3])] = R.T
        return X
