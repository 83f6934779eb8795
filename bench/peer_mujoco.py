"""MuJoCo beside us, through `mj_step` with nstep, as its documentation recommends for Python.

No geometries, so no contacts; loops are soft equalities between sites, as MuJoCo has no hard ones:
`connect` for points, two of them on the axis for hinges in space, `weld` for fixed joints.  Springs
between points are tendons.  Everything else is MuJoCo's default, unless a run is *tuned*: then its
equalities are as stiff as its step allows (time constant of two steps, impedance 0.9999, the largest
that it takes) and its constraint solver goes on to 1e-14.
"""

from __future__ import annotations

import importlib.metadata
from typing import Any

import numpy as np

from bench.figure import Figure, Link, States
from bench.mechanism import Joint, Mechanism

STEPS = 16  # from each state, in one call


class Mujoco:
    """A figure in MuJoCo; its states have our conventions."""

    name = "mujoco step"

    def __init__(self, figure: Figure, states: States, steps: int = STEPS):
        import mujoco

        self.mujoco: Any = mujoco
        self.steps = steps
        self.version = importlib.metadata.version("mujoco")
        self.model = built(figure)
        self.data = mujoco.MjData(self.model)
        q_at = np.concatenate([np.arange(count) + self._joint(link).qposadr[0] for link, count in _counts(figure, 0)])
        self.q_at = q_at
        self.v_at = np.concatenate([np.arange(n) + self._joint(link).dofadr[0] for link, n in _counts(figure, 1)])
        self.states = []
        for q, v in zip(states.q, states.v, strict=True):
            qpos, qvel = np.zeros(figure.nq), np.zeros(figure.nv)
            qpos[q_at], qvel[self.v_at] = q, v
            self.states.append((qpos, qvel))

    def _joint(self, link: Link) -> Any:
        return self.model.joint(link.name)

    def accelerations(self) -> np.ndarray:
        """Return vdot (count, nv) of all states, in our conventions."""
        out = []
        for qpos, qvel in self.states:
            self.data.qpos[:], self.data.qvel[:] = qpos, qvel
            self.mujoco.mj_forward(self.model, self.data)
            out.append(self.data.qacc[self.v_at].copy())
        return np.array(out)

    def run(self, times: int) -> int:
        """Make steps from every state, `times` times; returns the number of steps."""
        step, model, data = self.mujoco.mj_step, self.model, self.data
        for _ in range(times):
            for qpos, qvel in self.states:
                data.qpos[:], data.qvel[:] = qpos, qvel
                step(model, data, self.steps)
        if not np.isfinite(data.qpos).all():
            raise RuntimeError("MuJoCo left the finite numbers")
        return times * len(self.states) * self.steps


class MujocoRun:
    """A mechanism in MuJoCo; each run begins at the start.

    Raises
    ------
    ImportError
        When MuJoCo is not installed.
    """

    INTEGRATORS = ("Euler", "implicitfast", "RK4")

    def __init__(self, mechanism: Mechanism):
        import mujoco

        self.mujoco: Any = mujoco
        self.mechanism = mechanism
        self.model = told(mechanism)
        self.data = mujoco.MjData(self.model)
        self.qvel, self.torque = np.zeros(self.model.nv), np.zeros(self.model.nv)
        for joint in mechanism.tree:
            rate, first = mechanism.rate(joint), self.model.joint(joint.name).dofadr[0]
            self.qvel[first : first + len(rate)] = rate
            self.torque[first] = joint.torque
        self.solref, self.solimp = self.model.eq_solref.copy(), self.model.eq_solimp.copy()

    def choose(self, integrator: str, step: float, *, tuned: bool) -> None:
        """Choose how it integrates, its step [s], and whether its constraints are tuned to that step."""
        model, option = self.model, self.model.opt
        option.integrator = getattr(self.mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
        option.timestep = step
        option.tolerance = 1e-14 if tuned else 1e-8
        model.eq_solref[:], model.eq_solimp[:] = self.solref, self.solimp
        if tuned:
            model.eq_solref[:] = 2 * step, 1.0
            model.eq_solimp[:, :2] = 0.9999

    def rewind(self) -> None:
        """Return to the start."""
        self.mujoco.mj_resetData(self.model, self.data)
        self.data.qvel[:], self.data.qfrc_applied[:] = self.qvel, self.torque

    def run(self, steps: int) -> None:
        """Make steps in one call; a run that explodes is told by `positions`, not by MuJoCo's log file."""
        told = self.mujoco.get_mju_user_warning()
        self.mujoco.set_mju_user_warning(_silent)
        try:
            self.mujoco.mj_step(self.model, self.data, steps)
        finally:
            self.mujoco.set_mju_user_warning(told)

    def positions(self) -> np.ndarray:
        """Return where the points are now (count, 3) [m]; not numbers where MuJoCo gave up and began anew."""
        return self.states()[:, :3]

    def states(self) -> np.ndarray:
        """Return where the points are now and how they move (count, 6) [m, m/s], as `positions`."""
        mujoco, model, data, count = self.mujoco, self.model, self.data, len(self.mechanism.points)
        exploded = any(data.warning[w].number for w in (self._bad("QPOS"), self._bad("QVEL"), self._bad("QACC")))
        if exploded or not np.isfinite(data.qpos).all():
            return np.full((count, 6), np.nan)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        out, jacobian = np.zeros((count, 6)), np.zeros((3, model.nv))
        for k in range(count):
            site = data.site(f"point{k}")
            mujoco.mj_jacSite(model, data, jacobian, None, site.id)
            out[k] = *site.xpos, *(jacobian @ data.qvel)
        return out

    def _bad(self, what: str) -> int:
        return int(getattr(self.mujoco.mjtWarning, f"mjWARN_BAD{what}"))


def _silent(_: str) -> None:
    """Say nothing."""


class MujocoRollout(Mujoco):
    """The same states followed by `mujoco.rollout`, which writes every step of theirs."""

    def __init__(self, figure: Figure, states: States, integrator: str, step: float, span: float, threads: int):
        super().__init__(figure, states)
        from mujoco import rollout

        self.name = f"mujoco.rollout {integrator} {1e3 * step:g} ms"
        self.model.opt.integrator = getattr(self.mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
        self.model.opt.timestep = step
        self.steps = round(span / step)
        self._datas = [self.mujoco.MjData(self.model) for _ in range(threads)]
        self._start = np.array([np.concatenate([[0.0], qpos, qvel]) for qpos, qvel in self.states])
        self._pool = rollout.Rollout(nthread=threads)

    def run(self, times: int = 1) -> int:
        """Follow all states; returns how many."""
        for _ in range(times):
            self._found, _ = self._pool.rollout(self.model, self._datas, self._start, nstep=self.steps)
        return times * len(self.states)

    def follow(self, dt: float) -> np.ndarray:
        """Return q (n, samples, nq) every dt [s], in our conventions, the start included."""
        self.run()
        every = round(dt / self.model.opt.timestep)
        y = np.concatenate([self._start[:, None], self._found], axis=1)[:, ::every]
        return y[:, :, 1 + self.q_at]


def _counts(figure: Figure, which: int) -> list[tuple[Link, int]]:
    sizes = {"rotational": (1, 1), "spherical": (4, 3), "free": (7, 6)}
    return [(link, sizes[link.kind][which]) for link in figure.links]


def built(figure: Figure) -> Any:
    """Return the figure as MuJoCo's model, built part by part: its XML reader ends at 500 nested bodies."""
    import mujoco

    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.option.gravity = figure.gravity
    kinds = {
        "rotational": mujoco.mjtJoint.mjJNT_HINGE, "spherical": mujoco.mjtJoint.mjJNT_BALL,
        "free": mujoco.mjtJoint.mjJNT_FREE,
    }  # fmt: skip
    bodies = [spec.worldbody]
    for link in figure.links:
        quaternion = np.zeros(4)
        mujoco.mju_mat2Quat(quaternion, link.rotation.ravel())
        body = bodies[link.parent].add_body(name=link.name, pos=link.position, quat=quaternion)
        body.mass, body.ipos, body.explicitinertial = link.mass, link.com, True
        # Thin rods get a millionth of their inertia about their own axis, too: MuJoCo wants all of them positive.
        thick = link.inertia + 1e-6 * np.trace(link.inertia) * np.eye(3) * (np.linalg.eigvalsh(link.inertia)[0] <= 0.0)
        body.fullinertia = thick[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        body.add_joint(name=link.name, type=kinds[link.kind], axis=[0, 0, 1])
        bodies.append(body)
    for loop in figure.loops:
        for at, p, side in ((loop.a, loop.p_a, "a"), (loop.b, loop.p_b, "b")):
            bodies[at].add_site(name=f"{loop.name}_{side}", pos=p)
        spec.add_equality(
            type=mujoco.mjtEq.mjEQ_CONNECT, objtype=mujoco.mjtObj.mjOBJ_SITE,
            name1=f"{loop.name}_a", name2=f"{loop.name}_b",
        )  # fmt: skip
    return spec.compile()


def told(mechanism: Mechanism) -> Any:
    """Return a mechanism as MuJoCo's model; frames of bodies have world axes and the joint's place at the start."""
    import mujoco

    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.option.gravity = mechanism.gravity
    kinds = {
        "rotational": mujoco.mjtJoint.mjJNT_HINGE, "translational": mujoco.mjtJoint.mjJNT_SLIDE,
        "spherical": mujoco.mjtJoint.mjJNT_BALL, "free": mujoco.mjtJoint.mjJNT_FREE,
    }  # fmt: skip
    bodies, origins = {0: spec.worldbody}, {0: np.zeros(3)}
    for joint in mechanism.tree:
        drawn, origin = mechanism.bodies[joint.b - 1], joint.position
        body = bodies[joint.a].add_body(name=drawn.name, pos=origin - origins[joint.a])
        body.mass, body.ipos, body.explicitinertial = drawn.mass, drawn.com - origin, True
        # In the plane one moment of inertia counts; MuJoCo refuses rods without one about their length.
        inertia = drawn.inertia[2, 2] * np.eye(3) if mechanism.planar else drawn.inertia
        body.fullinertia = inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        body.add_joint(name=joint.name, type=kinds[joint.kind], axis=joint.axes[:, 2])
        bodies[joint.b], origins[joint.b] = body, origin

    def site(name: str, body: int, place: np.ndarray) -> str:
        bodies[body].add_site(name=name, pos=place - origins[body])
        return name

    def equal(kind: Any, joint: Joint, name: str, place: np.ndarray) -> None:
        spec.add_equality(
            type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE,
            name1=site(f"{name}_a", joint.a, place), name2=site(f"{name}_b", joint.b, place),
        )  # fmt: skip

    for joint in mechanism.loops:
        if joint.kind == "fixed":
            equal(mujoco.mjtEq.mjEQ_WELD, joint, joint.name, joint.position)
            continue
        equal(mujoco.mjtEq.mjEQ_CONNECT, joint, joint.name, joint.position)
        if joint.kind == "rotational" and not mechanism.planar:
            arm = float(np.linalg.norm(mechanism.bodies[joint.b - 1].com - joint.position))
            equal(mujoco.mjtEq.mjEQ_CONNECT, joint, f"{joint.name}_axis", joint.position + arm * joint.axes[:, 2])
    for k, spring in enumerate(mechanism.springs):
        tendon = spec.add_tendon(
            name=f"spring{k}", stiffness=spring.stiffness, damping=spring.damping, springlength=[spring.length] * 2
        )
        tendon.wrap_site(site(f"spring{k}_a", spring.a, spring.p_a))
        tendon.wrap_site(site(f"spring{k}_b", spring.b, spring.p_b))
    for k, (index, place) in enumerate(mechanism.points):
        site(f"point{k}", index, place)
    return spec.compile()
