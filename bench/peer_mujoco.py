"""MuJoCo beside us, through `mj_step` with nstep, as its documentation recommends for Python.

No geometries, so no contacts; loops are soft `connect` equalities between sites, as MuJoCo has no
hard ones.  Everything else is MuJoCo's default.
"""

from __future__ import annotations

import importlib.metadata
from typing import Any

import numpy as np

from bench.figure import Figure, Link, States

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
