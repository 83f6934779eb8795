"""Accelerations of mechanisms with many loops, and how their cost grows: ladders of four-bars, pinned chains, nets."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from bench.chain import FIT
from bench.forward_dynamics import AGREE, Disagreement, difference, peer_of
from bench.measure import Result, interleave, result
from bench.ours import Engine
from bench.peer_mujoco import Mujoco

SPAN = 0.3  # s: states are taken from this long a motion
LOOPS = 2_000  # loops evaluated in one pass through all states


def measure(name: str, rounds: int, *, windows: int) -> Iterator[Result]:
    """Check the accelerations of an N-four-bar, then yield ours beside a MuJoCo step, one from each state."""
    engine = Engine("benchmarks/four_bars", set={"windows": windows})
    states = engine.moving_states(4, SPAN)
    apart = difference(engine.accelerations(states)[:, ::2], pivots(engine, states.q, windows))
    if not apart < 1e3 * AGREE:
        raise Disagreement(f"accelerations differ by {apart:.1e} from the closed form")
    work: dict[str, Callable[[], int]] = {"ours": partial(engine.repeat, states, max(1, LOOPS // windows // 4))}
    peer = peer_of(partial(Mujoco, steps=1), engine, states)
    if peer is None:
        yield result(name, "us", interleave(work, rounds)["ours"], scale=1e6, note="no peer is installed")
        return
    work[peer.name] = partial(peer.run, max(1, LOOPS // windows // 16))
    samples = interleave(work, rounds)
    yield result(
        name, "us", samples["ours"], scale=1e6, peer=peer.name, value=samples[peer.name],
        note=f"{windows} loops of five rows; accelerations agree with the closed form to {apart:.0e}",
    )  # fmt: skip


def pivots(engine: Engine, q: np.ndarray, windows: int) -> np.ndarray:
    """Return the cranks' accelerations [rad/s^2] in closed form: a parallelogram turns like one pendulum."""
    inertia = (windows + 1) / 3 + windows
    arm = (windows + 1) / 2 + windows
    g = float(np.linalg.norm(engine.figure.gravity))
    return np.array([[-g * arm / inertia * math.sin(-turn) for turn in state[::2]] for state in q])


def slope(name: str, rounds: int, *, scene: str, parameter: str, sizes: tuple[int, ...] = FIT) -> Iterator[Result]:
    """Yield the exponent of our cost against a parameter, fitted to the medians of interleaved rounds."""
    work: dict[str, Callable[[], int]] = {}
    for size in sizes:
        engine = Engine(scene, set={parameter: size})
        states = engine.moving_states(2, SPAN / 3)
        work[str(size)] = partial(engine.repeat, states, max(1, LOOPS // size))
    samples = interleave(work, rounds)
    by_round = np.array([samples[str(size)] for size in sizes])
    exponents = [float(np.polyfit(np.log(sizes), np.log(times), 1)[0]) for times in by_round.T]
    each = ", ".join(f"{size}: {1e6 * float(np.median(samples[str(size)])):.3g} us" for size in sizes)
    yield result(name, "exponent", exponents, note=each)
