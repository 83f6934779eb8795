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

    def __init__(self, figure: Figure, states: States):
        import mujoco

        self.mujoco: Any = mujoco
        self.version = importlib.metadata.version("mujoco")
        self.model = mujoco.MjModel.from_xml_string(mjcf(figure))
        self.data = mujoco.MjData(self.model)
        q_at = np.concatenate([np.arange(count) + self._joint(link).qposadr[0] for link, count in _counts(figure, 0)])
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
                step(model, data, STEPS)
        if not np.isfinite(data.qpos).all():
            raise RuntimeError("MuJoCo left the finite numbers")
        return times * len(self.states) * STEPS


def _counts(figure: Figure, which: int) -> list[tuple[Link, int]]:
    sizes = {"rotational": (1, 1), "spherical": (4, 3), "free": (7, 6)}
    return [(link, sizes[link.kind][which]) for link in figure.links]


def _text(values: np.ndarray) -> str:
    return " ".join(f"{value:.17g}" for value in np.ravel(values))


def mjcf(figure: Figure) -> str:
    """Return the figure as MuJoCo's XML."""
    below: dict[int, list[int]] = {}
    for i, link in enumerate(figure.links, start=1):
        below.setdefault(link.parent, []).append(i)
    sites: dict[int, list[str]] = {}
    for loop in figure.loops:
        for body, p, side in ((loop.a, loop.p_a, "a"), (loop.b, loop.p_b, "b")):
            sites.setdefault(body, []).append(f'<site name="{loop.name}_{side}" pos="{_text(p)}"/>')

    def text_of(i: int) -> str:
        link = figure.links[i - 1]
        kind = {"rotational": 'type="hinge" axis="0 0 1"', "spherical": 'type="ball"', "free": 'type="free"'}[link.kind]
        inertia = link.inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        axes = link.rotation[:, :2].T
        lines = [
            f'<body name="{link.name}" pos="{_text(link.position)}" xyaxes="{_text(axes)}">',
            f'<inertial pos="{_text(link.com)}" mass="{link.mass:.17g}" fullinertia="{_text(inertia)}"/>',
            f'<joint name="{link.name}" {kind}/>',
        ]
        return "\n".join([*lines, *sites.get(i, ()), *map(text_of, below.get(i, ())), "</body>"])

    connects = "".join(f'<connect site1="{loop.name}_a" site2="{loop.name}_b"/>' for loop in figure.loops)
    roots = "\n".join(map(text_of, below.get(0, ())))
    return (
        f'<mujoco><compiler angle="radian"/><option gravity="{_text(figure.gravity)}"/>'
        f"<worldbody>\n{roots}\n</worldbody><equality>{connects}</equality></mujoco>"
    )
