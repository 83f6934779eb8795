"""One evaluation of the accelerations of `figure58` at random states, beside Pinocchio and MuJoCo."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np

from bench import memory
from bench.figure import Figure, States
from bench.measure import Result, interleave, less, result
from bench.ours import Engine
from bench.peer_mujoco import Mujoco
from bench.peer_pinocchio import Pinocchio

SCENE = "benchmarks/figure58"
STATES = 64  # so that caches and branch predictors do not learn one of them by heart
OURS, PINOCCHIO, MUJOCO = 20, 10, 1  # times through all states in a round: 10 to 50 ms
AGREE = 1e-9  # largest difference of accelerations, relative to the largest one
EMPTY = "without bodies"


class Disagreement(Exception):
    """The accelerations compared are not those of the same mechanism."""


def prepare(*, loops: bool) -> tuple[Engine, States]:
    """Return the figure with or without its loops, and random states of it."""
    engine = Engine(SCENE, loops=loops)
    states = engine.random_states(STATES)
    engine.choose(states)
    return engine, states


def difference(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Return the largest difference of accelerations (count, nv), relative to the largest of each state."""
    return float((np.abs(ours - theirs).max(axis=1) / np.abs(ours).max(axis=1)).max())


def check(engine: Engine, states: States, peer: Pinocchio | Mujoco) -> str:
    """Compare accelerations with a peer's; returns a note.  MuJoCo's loops are soft: its trees are compared alone.

    Raises
    ------
    Disagreement
        When accelerations differ, or loops would open, by more than AGREE.
    """
    loops = bool(engine.figure.loops)
    if isinstance(peer, Mujoco) and loops:
        return "a whole step; its loops are soft"
    ours = engine.accelerations(states)
    apart = difference(ours, peer.accelerations())
    if not apart < AGREE:
        raise Disagreement(f"accelerations differ by {apart:.1e} from those of {peer.name}")
    note = f"accelerations agree to {apart:.0e}"
    if isinstance(peer, Mujoco):
        return f"a whole step; {note}"
    if loops:
        opening = peer.largest_gap(ours)
        if not opening < AGREE:
            raise Disagreement(f"loops would open by {opening:.1e} of the largest acceleration")
        note += f", loops stay closed to {opening:.0e}"
    return note


def measure(name: str, rounds: int, *, loops: bool) -> Iterator[Result]:
    """Check the accelerations, then yield one line for each installed peer."""
    engine, states = prepare(loops=loops)
    work: dict[str, Callable[[], int]] = {"ours": lambda: engine.repeat(states, OURS)}
    notes: dict[str, str] = {}
    pinocchio, mujoco = peer_of(Pinocchio, engine, states), peer_of(Mujoco, engine, states)
    if isinstance(pinocchio, Pinocchio):
        notes[Pinocchio.name] = check(engine, states, pinocchio)
        work[Pinocchio.name] = partial(pinocchio.run, PINOCCHIO)
        work[EMPTY] = partial(pinocchio.run_empty, PINOCCHIO)
    if isinstance(mujoco, Mujoco):
        notes[Mujoco.name] = check(engine, states, mujoco)
        work[Mujoco.name] = partial(mujoco.run, MUJOCO)
    samples = interleave(work, rounds)
    if EMPTY in samples:
        samples[Pinocchio.name] = less(samples[Pinocchio.name], samples[EMPTY])
    held = memory.peak(ours_alone, SCENE, states, loops)
    for peer, note in notes.items():
        theirs = memory.peak(peer_alone, Pinocchio if peer == Pinocchio.name else Mujoco, engine.figure, states)
        yield result(
            name, "us", samples["ours"], scale=1e6, peer=peer, value=samples[peer], note=note, memory=held,
            value_memory=theirs,
        )  # fmt: skip
    if not notes:
        yield result(name, "us", samples["ours"], scale=1e6, note="no peer is installed", memory=held)


def peer_of(
    peer: Callable[[Figure, States], Pinocchio | Mujoco], engine: Engine, states: States
) -> Pinocchio | Mujoco | None:
    """Return a peer that knows the figure; None where it is not installed."""
    try:
        return peer(engine.figure, states)
    except ImportError:
        return None


def ours_alone(scene: str, states: States, loops: bool, parameters: Mapping[str, float] | None = None) -> None:
    """Evaluate all states once, in a process where memory is looked at."""
    Engine(scene, loops=loops, set=parameters).repeat(states, 1)


def peer_alone(peer: Callable[[Figure, States], Pinocchio | Mujoco], figure: Figure, states: States) -> None:
    """The same by a peer."""
    peer(figure, states).run(1)
