"""A figure on the ground from many states at once, in time steps, beside `mujoco.rollout` with the same steps.

States are those of the limp figure of `figure_falls` some time after it was thrown to the ground at random: most of
them lie on it.  Both sides write every step and use two threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import sim
from bench.contacts import told
from bench.measure import Result, interleave, result
from bench.ours import load
from sim.kernels.spatial import quaternion_of

STATES, SPAN, STEP = 1000, 1.0, 2e-3  # each followed for 1 s
THREADS = 2
PORTION = 125  # states that one call follows: what it returns has to fit into memory
FALLS, SPEED, SPIN = 1.5, 0.5, 2.0  # s of falling before; spread of the pelvis' velocity, m/s and rad/s
LOOKED_AT = 40  # states of which energy and penetration are told


class Ours:
    """States of the figure, and what follows them."""

    def __init__(self) -> None:
        self.model = sim.compile(load("figure_falls"))
        self.ensemble = sim.Ensemble(self.model, threads=THREADS)
        rng, start = np.random.default_rng(0), self.ensemble.start
        y = np.tile(start, (STATES, 1))
        y[:, self.ensemble.nq : self.ensemble.nq + 6] += rng.normal(size=(STATES, 6)) * ([SPEED] * 3 + [SPIN] * 3)
        fallen = self.ensemble.rollout(y, steps=1, dt=FALLS, step=STEP)
        if not fallen.ok.all():
            raise RuntimeError(fallen.reason(int(np.flatnonzero(~fallen.ok)[0])))
        self.states = np.concatenate([fallen.q[:, -1], fallen.v[:, -1]], axis=1)

    def run(self) -> int:
        """Follow all states; returns how many."""
        for first in range(0, STATES, PORTION):
            found = self.follow(self.states[first : first + PORTION])
            if not found.ok.all():
                raise RuntimeError(found.reason(int(np.flatnonzero(~found.ok)[0])))
        return STATES

    def follow(self, states: np.ndarray, told: bool = False, threads: int = THREADS) -> sim.Rollout:
        """Follow states; told: with energies and contacts."""
        ensemble = self.ensemble if threads == THREADS else sim.Ensemble(self.model, threads=threads)
        return ensemble.rollout(states, steps=round(SPAN / STEP), dt=STEP, energies=told, contacts=told)


class Mujoco:
    """The same states in MuJoCo."""

    def __init__(self, ours: Ours):
        import mujoco
        from mujoco import rollout

        self.mujoco: Any = mujoco
        simulator = sim.Simulator(ours.model)
        simulator.advance(0.0)  # which pairs may touch is decided at the start
        self.model = told(ours.model, simulator)
        self.model.opt.timestep = STEP
        self.model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
        self.data = mujoco.MjData(self.model)
        self.states = self._states(ours, simulator)
        self.model.opt.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_ENERGY)
        self._pool = rollout.Rollout(nthread=THREADS)
        self._datas = [mujoco.MjData(self.model) for _ in range(THREADS)]

    def _states(self, ours: Ours, simulator: sim.Simulator) -> np.ndarray:
        """Return time, qpos and qvel of each state: its bodies have world axes at the scene's start."""
        flow, model, nq = simulator.flow, ours.model, ours.ensemble.nq
        mechanism, tables = flow.mechanism, flow.structure.tables.links
        mechanism.update(flow.q, flow.v)
        R0, at_start = mechanism.work.links.R.reshape(-1, 3, 3).copy(), mechanism.work.coordinate.copy()
        out = np.zeros((len(ours.states), 1 + self.model.nq + self.model.nv))
        for state, y in zip(out, ours.states, strict=True):
            mechanism.update(y[:nq], y[nq:])
            links, coordinate, rate = mechanism.work.links, mechanism.work.coordinate, mechanism.work.rate
            R = links.R.reshape(-1, 3, 3) @ R0.transpose(0, 2, 1)
            qpos, qvel = state[1 : 1 + self.model.nq], state[1 + self.model.nq :]
            for link in range(1, len(tables)):
                joint, parent = int(tables.joint[link]), int(tables.parent[link])
                body = self.model.body(model.body_names[int(tables.body[link])])
                for place in range(int(body.jntnum[0])):
                    at = self.model.jnt(int(body.jntadr[0]) + place)
                    q, v = int(at.qposadr[0]), int(at.dofadr[0])
                    if at.type[0] == self.mujoco.mjtJoint.mjJNT_HINGE:
                        column = int(model.joints.column[joint]) + place
                        qpos[q], qvel[v] = coordinate[column] - at_start[column], rate[column]
                        continue
                    if at.type[0] == self.mujoco.mjtJoint.mjJNT_FREE:
                        qpos[q : q + 3], qvel[v : v + 3] = links.x[link], links.V[link, 3:]
                        q, v = q + 3, v + 3
                    qpos[q : q + 4] = quaternion_of((R[parent].T @ R[link]).ravel())
                    qvel[v : v + 3] = R[link].T @ (links.V[link, :3] - links.V[parent, :3])
            self._check(qpos, links, [self.model.body(model.body_names[int(b)]).id for b in tables.body[1:]])
        return out

    def _check(self, qpos: np.ndarray, links: Any, bodies: list[int]) -> None:
        """Refuse a state whose bodies do not stand where ours do."""
        self.data.qpos[:] = qpos
        self.mujoco.mj_kinematics(self.model, self.data)
        if not np.abs(self.data.xpos[bodies] - links.x[1:]).max() < 1e-9:
            raise RuntimeError("MuJoCo's bodies stand elsewhere")

    def run(self) -> int:
        """Follow all states; returns how many."""
        for first in range(0, STATES, PORTION):
            states = self.states[first : first + PORTION]
            found, _ = self._pool.rollout(self.model, self._datas, states, nstep=round(SPAN / STEP))
            if not np.isfinite(found[:, -1]).all():
                raise RuntimeError("MuJoCo left the finite numbers")
        return STATES

    def looks(self) -> tuple[np.ndarray, np.ndarray]:
        """Return energies (states, steps + 1) and depths of overlaps (states, steps) of some states."""
        mujoco, data, steps = self.mujoco, self.data, round(SPAN / STEP)
        self.model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
        energies, depths = np.zeros((LOOKED_AT, steps + 1)), np.zeros((LOOKED_AT, steps))
        for state, energy, depth in zip(self.states[:LOOKED_AT], energies, depths, strict=True):
            mujoco.mj_resetData(self.model, data)
            data.qpos[:], data.qvel[:] = state[1 : 1 + self.model.nq], state[1 + self.model.nq :]
            for k in range(steps):
                mujoco.mj_step(self.model, data)
                energy[k], depth[k] = data.energy.sum(), max(-float(data.contact.dist.min(initial=0.0)), 0.0)
            mujoco.mj_forward(self.model, data)
            energy[-1] = data.energy.sum()
        self.model.opt.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_ENERGY)
        return energies, depths


def measure(name: str, rounds: int) -> Iterator[Result]:
    """Yield the time of a state, with energies and penetrations of both sides."""
    ours = Ours()
    some = ours.states[:LOOKED_AT]
    seen, alone = ours.follow(some, told=True), ours.follow(some, threads=1)
    if not (np.array_equal(seen.q, alone.q) and np.array_equal(seen.v, alone.v)):
        raise RuntimeError("one thread finds other motions than two")
    assert seen.energy is not None and seen.contacts is not None
    energy, depth = seen.energy["kinetic"] + seen.energy["potential"], seen.contacts.penetration[:, 1:]
    note = (
        f"ours: {_said(energy, depth)}, laws left by {seen.contacts.residual.max():.1e}, same bits by 1 and 2 threads"
    )
    try:
        peer = Mujoco(ours)
    except ImportError:
        yield result(
            name, "ms", interleave({"ours": ours.run}, rounds)["ours"], scale=1e3, note=f"{note}; no peer is installed"
        )
        return
    note += f"; mujoco: {_said(*peer.looks())}"
    samples = interleave({"ours": ours.run, "mujoco.rollout": peer.run}, rounds)
    yield result(
        name, "ms", samples["ours"], scale=1e3, peer="mujoco.rollout", value=samples["mujoco.rollout"], note=note
    )  # fmt: skip


def _said(energy: np.ndarray, depth: np.ndarray) -> str:
    """Return the largest gain of energy over any state before, and the penetrations, of states (n, samples)."""
    gain = (energy - np.minimum.accumulate(energy, axis=1)).max()
    lost = np.median(energy[:, 0] - energy[:, -1])
    median, worst = 1e3 * np.median(depth.max(axis=1)), 1e3 * depth.max()
    return (
        f"energy falls by {lost:.3g} J (median) and never rises by more than {gain:.2g} J, deepest {median:.2g} mm "
        f"(worst {worst:.2g})"
    )
