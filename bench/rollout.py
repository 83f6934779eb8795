"""Many states of `figure58` followed at once: over two cores beside one, and beside `mujoco.rollout`."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from bench.figure import States
from bench.forward_dynamics import SCENE
from bench.measure import Result, interleave, result
from bench.ours import Engine, Many, multiply_add
from bench.peer_mujoco import MujocoRollout

STATES, SAMPLES, DT = 64, 100, 0.01  # 1 s of each, a state every 10 ms
THREADS = 2
# What may be chosen of ours, the cheaper first: the method, and its step [s] or its tolerance.
CHOICES = (("rk4", DT), ("rk4", DT / 2), ("rk4", DT / 4), ("dop853", 1e-6), ("dop853", 1e-8))
EXACT = ("dop853", 1e-12)
PEERS = (("Euler", 0.002), ("RK4", DT))
ARITHMETIC = 40_000_000  # multiplications and additions
GENTLE = 0.05  # of the usual spread of random states: in wilder ones MuJoCo's loops burst within the second


@dataclass(frozen=True)
class Error:
    """Largest error of a coordinate over the samples (m or rad): of the median state and of the worst."""

    median: float
    worst: float

    @classmethod
    def of(cls, q: np.ndarray, exact: np.ndarray) -> Error:
        """Compare coordinates (n, samples, nq)."""
        each = np.abs(q - exact).max(axis=(1, 2))
        return cls(float(np.median(each)), float(each.max()))

    def within(self, other: Error) -> bool:
        """Tell whether this is no larger."""
        return self.median <= other.median and self.worst <= other.worst

    def __str__(self) -> str:
        return f"{self.median:.1e} ({self.worst:.1e})"


def cores(name: str, rounds: int) -> Iterator[Result]:
    """Yield the time of two threads beside that of one, and what arithmetic alone gains in the same rounds."""
    engine = Engine(SCENE, loops=False)
    states = engine.random_states(STATES)
    one, two = Many(engine, 1), Many(engine, THREADS)
    if not np.array_equal(one.follow(states, SAMPLES, DT, *EXACT), two.follow(states, SAMPLES, DT, *EXACT)):
        raise RuntimeError("two threads find other motions than one")
    with ThreadPoolExecutor(THREADS) as pool:
        work: dict[str, Callable[[], int]] = {
            "one": partial(_follow, one, states, ("rk4", DT / 4)),
            "two": partial(_follow, two, states, ("rk4", DT / 4)),
            "arithmetic, one": partial(_arithmetic, pool, 1),
            "arithmetic, two": partial(_arithmetic, pool, THREADS),
        }
        samples = interleave(work, rounds)
    alone = statistics.median(samples["arithmetic, two"]) / statistics.median(samples["arithmetic, one"])
    found = statistics.median(samples["two"]) / statistics.median(samples["one"])
    yield result(
        name, "ms", samples["two"], scale=1e3, peer="one core", value=samples["one"],
        note=f"a state followed for {SAMPLES * DT:g} s; arithmetic alone in the same rounds: {alone:.3f}, "
        f"{alone / found:.2f} of its scaling; the same bits",
    )  # fmt: skip


def _arithmetic(pool: ThreadPoolExecutor, threads: int) -> int:
    """Do the same arithmetic by one thread, or a part of it by each of several at once."""
    if not all(np.isfinite(list(pool.map(multiply_add, [ARITHMETIC // threads] * threads)))):
        raise RuntimeError("arithmetic left the finite numbers")
    return 1


def figure(name: str, rounds: int) -> Iterator[Result]:
    """Yield a line for each of MuJoCo's integrators beside our cheapest choice that errs no more than it does."""
    engine = Engine(SCENE, loops=False)
    states = engine.random_states(STATES)
    many = Many(engine, THREADS)
    exact = many.follow(states, SAMPLES, DT, *EXACT)
    work: dict[str, Callable[[], int]] = {}
    notes: dict[str, str] = {}
    for integrator, step in PEERS:
        peer = _peer(engine, states, integrator, step)
        if peer is None:
            continue
        theirs = Error.of(peer.follow(DT), exact)
        choice, error = _choose(many, states, exact, theirs)
        notes[peer.name] = (
            f"ours {_said(choice)}; errors after {SAMPLES * DT:g} s, median (largest): {error}, its {theirs}"
        )
        work[f"ours for {peer.name}"] = partial(_follow, many, states, choice)
        work[peer.name] = peer.run
    if not work:
        ours = interleave({"ours": partial(_follow, many, states, CHOICES[0])}, rounds)["ours"]
        yield result(name, "ms", ours, scale=1e3, note=f"ours {_said(CHOICES[0])}; no peer is installed")
        return
    samples = interleave(work, rounds)
    for peer_name, note in notes.items():
        yield result(
            name, "ms", samples[f"ours for {peer_name}"], scale=1e3, peer=peer_name, value=samples[peer_name], note=note
        )


def two_loops(name: str, rounds: int) -> Iterator[Result]:
    """Yield the same with loops: ours hard, at the default tolerance; MuJoCo's soft, so another mechanism."""
    engine = Engine(SCENE)
    states = engine.random_states(STATES, spread=GENTLE)
    many = Many(engine, THREADS)
    exact = many.follow(states, SAMPLES, DT, *EXACT)
    peer = _peer(engine, states, *PEERS[0])
    for choice in (("rk4", DT / 4), ("dop853", 1e-8)):
        error = Error.of(many.follow(states, SAMPLES, DT, *choice), exact)
        work: dict[str, Callable[[], int]] = {"ours": partial(_follow, many, states, choice)}
        note = f"ours {_said(choice)}, errors {error}"
        if peer is None:
            yield result(name, "ms", interleave(work, rounds)["ours"], scale=1e3, note=f"{note}; no peer is installed")
            continue
        q = peer.follow(DT)
        work[peer.name] = peer.run
        samples = interleave(work, rounds)
        yield result(
            name, "ms", samples["ours"], scale=1e3, peer=peer.name, value=samples[peer.name],
            note=f"{note}, loops closed to {engine.largest_gap(many.last):.0e} m; its loops are soft and open by "
            f"{1e3 * engine.largest_gap(q):.2g} mm, {Error.of(q, exact)} from the hard motion",
        )  # fmt: skip


def _peer(engine: Engine, states: States, integrator: str, step: float) -> MujocoRollout | None:
    try:
        return MujocoRollout(engine.figure, states, integrator, step, SAMPLES * DT, THREADS)
    except ImportError:
        return None


def _choose(many: Many, states: States, exact: np.ndarray, theirs: Error) -> tuple[tuple[str, float], Error]:
    """Return our first choice that errs no more than they do, and its error."""
    for choice in CHOICES:
        error = Error.of(many.follow(states, SAMPLES, DT, *choice), exact)
        if error.within(theirs):
            return choice, error
    raise RuntimeError(f"none of our choices errs less than {theirs}")


def _follow(many: Many, states: States, choice: tuple[str, float]) -> int:
    """Follow the states; returns how many."""
    return len(many.follow(states, SAMPLES, DT, *choice))


def _said(choice: tuple[str, float]) -> str:
    method, value = choice
    return f"{method}, rtol {value:g}" if method == "dop853" else f"{method}, {1e3 * value:g} ms"
