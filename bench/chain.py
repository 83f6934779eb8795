"""Accelerations of hanging chains of N rods at random states: the cost of deep trees, and how it grows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from bench import memory
from bench.forward_dynamics import AGREE, EMPTY, Disagreement, difference, ours_alone, peer_alone, peer_of
from bench.measure import Result, interleave, less, result
from bench.ours import Engine
from bench.peer_mujoco import Mujoco
from bench.peer_pinocchio import Pinocchio

SCENE = "benchmarks/chain"
LINKS = 12_000  # links evaluated in one pass through all states
FIT = (100, 200, 500, 1000)  # lengths from which the exponent is fitted
LONGEST_PINOCCHIO = 300  # beyond, its memory explodes


def measure(name: str, rounds: int, *, links: int) -> Iterator[Result]:
    """Check the accelerations, then yield ours beside Pinocchio's `aba`, or beside a MuJoCo step for long chains."""
    engine = Engine(SCENE, set={"links": links})
    states = engine.random_states(max(4, min(64, LINKS // links)))
    work: dict[str, Callable[[], int]] = {"ours": lambda: engine.repeat(states, max(1, LINKS // links // 8))}
    # One step from each state: in sixteen the tip of a long chain leaves what MuJoCo's steps can follow.
    make = Pinocchio if links <= LONGEST_PINOCCHIO else partial(Mujoco, steps=1)
    peer = peer_of(make, engine, states)
    held = memory.peak(ours_alone, SCENE, states, True, {"links": links})
    if peer is None:
        samples = interleave(work, rounds)
        yield result(name, "us", samples["ours"], scale=1e6, note="no peer is installed", memory=held)
        return
    apart = difference(engine.accelerations(states), peer.accelerations())
    if not apart < 1e3 * AGREE:  # a long chain multiplies roundoff
        raise Disagreement(f"accelerations differ by {apart:.1e} from those of {peer.name}")
    work[peer.name] = partial(peer.run, 1)
    if isinstance(peer, Pinocchio):
        work[EMPTY] = partial(peer.run_empty, 1)
    samples = interleave(work, rounds)
    if EMPTY in samples:
        samples[peer.name] = less(samples[peer.name], samples[EMPTY])
    yield result(
        name, "us", samples["ours"], scale=1e6, peer=peer.name, value=samples[peer.name],
        note=f"{links} links; accelerations agree to {apart:.0e}", memory=held,
        value_memory=memory.peak(peer_alone, make, engine.figure, states),
    )  # fmt: skip


def slope(name: str, rounds: int) -> Iterator[Result]:
    """Yield the exponent of our cost against the number of links, fitted to the medians of interleaved rounds."""
    work: dict[str, Callable[[], int]] = {}
    for links in FIT:
        engine = Engine(SCENE, set={"links": links})
        states = engine.random_states(max(4, min(64, LINKS // links)))
        work[str(links)] = partial(engine.repeat, states, max(1, LINKS // links // 8))
    samples = interleave(work, rounds)
    by_round = np.array([samples[str(links)] for links in FIT])
    exponents = [float(np.polyfit(np.log(FIT), np.log(times), 1)[0]) for times in by_round.T]
    each = ", ".join(f"{links}: {1e6 * float(np.median(samples[str(links)])):.3g} us" for links in FIT)
    yield result(name, "exponent", exponents, note=each)
