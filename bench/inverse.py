"""Torques along motions of `figure58`: of its tree beside Pinocchio's rnea, and of actuators with its loops closed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

import sim
from bench.figure import States
from bench.forward_dynamics import AGREE, Disagreement, difference, peer_of
from bench.measure import Result, interleave, less, result
from bench.ours import Engine
from bench.peer_pinocchio import Pinocchio
from sim.closed_chains.chain import Chain
from sim.kernels.tree_torques import torques_along

SCENE = "benchmarks/figure58"
STATES, OURS, PINOCCHIO = 64, 60, 30  # states; times through all of them in a round: 5 to 20 ms
FRAMES = 1000  # of a whole motion
EMPTY = "without bodies"


def accelerations(engine: Engine, states: States) -> np.ndarray:
    """Return random v' (count, nv) that keep loops closed."""
    rng, out = np.random.default_rng(1), []
    for q, v in zip(states.q, states.v, strict=True):
        chain = Chain(engine.flow.mechanism, q, v)
        out.append(chain.accelerations(rng.normal(size=chain.T.shape[1]))[: len(v)])
    return np.array(out)


def measure_tree(name: str, rounds: int) -> Iterator[Result]:
    """Time tau = rnea(q, v, a) without loops, a whole motion a call."""
    engine = Engine(SCENE, loops=False)
    states = engine.random_states(STATES)
    wanted, mechanism = accelerations(engine, states), engine.flow.mechanism
    tables, work, gravity = mechanism.structure.tables, mechanism.work, np.array(engine.model.gravity_W)
    motion = tuple(np.tile(part, (OURS, 1)) for part in (states.q, states.v, wanted))
    torque = np.zeros_like(motion[1])

    def ours() -> int:
        torques_along(tables.links, tables.freedoms, gravity, motion, work.links, work.freedoms, torque)
        return len(torque)

    work_of: dict[str, Callable[[], int]] = {"ours": ours}
    peer, note = peer_of(Pinocchio, engine, states), "no peer is installed"
    if isinstance(peer, Pinocchio):
        ours()
        apart = difference(torque[:STATES], peer.torques(wanted))
        if not apart < AGREE:
            raise Disagreement(f"torques differ by {apart:.1e} from those of {peer.name}")
        note = f"its rnea; torques agree to {apart:.0e}"
        work_of |= {peer.name: lambda: peer.run_inverse(PINOCCHIO), EMPTY: lambda: peer.run_empty_inverse(PINOCCHIO)}
    samples = interleave(work_of, rounds, clock=time.process_time)
    value = less(samples[peer.name], samples[EMPTY]) if isinstance(peer, Pinocchio) else None
    yield result(name, "us", samples["ours"], scale=1e6, peer=peer.name if peer else None, value=value, note=note)


def measure_loops(name: str, rounds: int) -> Iterator[Result]:
    """Time what 58 actuators, grips among them, give in a motion of 1000 frames with both hands on their ropes."""
    engine = Engine(SCENE)
    states = engine.random_states(STATES)
    wanted = accelerations(engine, states)
    chain = Chain(engine.flow.mechanism, states.q[0], states.v[0])
    actuated = [name for name in chain.names if not name.startswith("figure.pelvis")]
    motion = [np.resize(part, (FRAMES, part.shape[1])) for part in (states.q, states.v, wanted)]
    found = sim.inverse_motion(chain, *motion, actuated)
    alone = np.array([
        sim.inverse_dynamics(Chain(chain.mechanism, q, v), a, actuated).torque
        for q, v, a in zip(states.q[:4], states.v[:4], wanted[:4], strict=True)
    ])  # fmt: skip
    apart = difference(found.torque[:4], alone)
    if not (apart < 1e-8 and found.reached.all()):
        raise Disagreement(f"torques differ by {apart:.1e} from those by W and S")

    def ours() -> int:
        sim.inverse_motion(chain, *motion, actuated)
        return FRAMES

    note = f"a frame of {FRAMES}, from Python; {found.actuation.kind} actuated; by W and S to {apart:.0e}"
    yield result(name, "us", interleave({"ours": ours}, rounds, clock=time.process_time)["ours"], scale=1e6, note=note)
