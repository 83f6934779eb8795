"""The IFToMM library's problems A01 to A05, each to its threshold: ours inside `advance`, Exudyn inside `SolveDynamic`.

Each side has the coarsest of its settings that reaches the threshold, and whose next finer one does,
too: ours a tolerance; Exudyn the fastest of its forms and solvers with a number of equal steps (or, where
its solver chooses steps, a tolerance).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bench import memory
from bench.measure import Result, interleave, result
from bench.mechanism import Mechanism
from bench.ours import Run, load
from bench.peer_exudyn import ADAPTIVE, IMPLICIT, Diverged, Exudyn

LOOKS = 100  # at the energy during a run
TOLERANCES = [10.0 ** (-k / 2) for k in range(6, 25)]
STEPS = [round(50 * 2 ** (k / 2)) for k in range(40)]
FEWEST = 20  # steps, where Exudyn chooses them: none is longer
FAR = 16.0  # thresholds: with an error larger than that, the next setting is left out
PATIENCE = 10.0  # s: what one run of the search may take


@dataclass(frozen=True)
class Problem:
    """A scene, until when it runs, the error that is allowed, and the best time that was published.

    threshold : J of energy during the run, or m at the end where `place` is given
    point : what is looked at; place : where it is at the end [m]
    published : s, and by whom
    redundant : whether its loops repeat rows, in bodies with coordinates of their own
    """

    scene: str
    until: float
    threshold: float
    point: str
    published: tuple[float, str]
    place: tuple[float, float, float] | None = None
    redundant: bool = False

    @property
    def unit(self) -> str:
        """The threshold's."""
        return "J" if self.place is None else "m"


PROBLEMS = {
    "A01": Problem("point_pendulum", 10.0, 5e-5, "mass.com", (0.037, "EXUDYN, i7 Surface Book")),
    "A02": Problem("four_bars", 10.0, 0.1, "crank_0.B", (0.0776, "EXUDYN, i9")),
    "A03": Problem(
        "andrews", 0.05, 1e-6, "pusher", (0.384, "OpenSim 3.2, i5-4570"), (-0.005208504722, 0.004676695260, 0.0)
    ),
    "A04": Problem("bricard", 10.0, 1e-3, "rod2.p3", (0.258, "OpenSim 3.2, i5-4570"), redundant=True),
    "A05": Problem("governor", 10.0, 1e-6, "slider.com", (0.233, "OpenSim 3.2, i5-4570"), (0.0, 0.0, 0.619622917)),
}


@dataclass
class Contender:
    """One way to solve a problem: a run with what precedes it, and the error that it makes."""

    about: str
    run: Callable[[], Any]
    before: Callable[[], None]
    error: float = math.nan
    wall: float = math.nan  # s, of one run


def measure(name: str, rounds: int) -> Iterator[Result]:
    """Find what each side needs, then time both in turn; yield one line."""
    problem = PROBLEMS[name.rpartition(".")[2]]
    ours = coarsest(problem, TOLERANCES, partial(_ours, problem), math.inf)
    if ours is None:
        raise RuntimeError(f"{name}: no tolerance reaches {problem.threshold:g} {problem.unit}")
    peer, peer_memory, absence = None, None, ""
    try:
        told = Run(load(f"benchmarks/{problem.scene}")).mechanism([problem.point])
        peer, form = _exudyn(problem, told)
        peer_memory = memory.peak(_exudyn_alone, told, form, problem.redundant, problem.until)
    except ImportError:
        absence = "; exudyn is not installed"
    except Diverged as failure:
        absence = f"; exudyn: {failure}"
    sides = {"ours": ours} | ({"exudyn": peer} if peer else {})
    samples = interleave(
        {key: partial(_once, side.run) for key, side in sides.items()}, rounds,
        {key: side.before for key, side in sides.items()},
    )  # fmt: skip
    best, by = problem.published
    note = f"{ours.about}: error {ours.error:.0e} {problem.unit} (allowed {problem.threshold:g})"
    note += f"; {peer.about}: {peer.error:.0e}" if peer else absence
    yield result(
        name, "s", samples["ours"], peer="exudyn" if peer else None, value=samples.get("exudyn"),
        note=f"{note}; published {best:g} s, {by}", memory=memory.peak(_ours_alone, problem), value_memory=peer_memory,
    )  # fmt: skip


def coarsest(
    problem: Problem, settings: Iterable[Any], contender: Callable[[Any], Contender], patience: float
) -> Contender | None:
    """Return the contender of the first setting that reaches the threshold as the next one does; None if none.

    settings : coarse to fine
    patience : s, the longest run that is of use
    """
    last, left = None, iter(settings)
    for setting in left:
        found = contender(setting)
        good = found.error <= problem.threshold
        if good and last is not None:
            return last
        last = found if good else None
        if not good and found.wall > patience:
            return None
        if found.error > FAR * problem.threshold:
            next(left, None)
    return last


def _once(run: Callable[[], Any]) -> int:
    run()
    return 1


def _timed(run: Callable[[], Any]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


# --- ours --------------------------------------------------------------------------------------------


def _ours(problem: Problem, rtol: float) -> Contender:
    simulator = Run(load(f"benchmarks/{problem.scene}", rtol))
    found = Contender(f"rtol {rtol:.0e}", partial(simulator, problem.until), simulator.rewind)
    simulator(problem.until)  # the first loads kernels
    found.before()
    found.wall = _timed(found.run)
    if problem.place is not None:
        found.error = float(np.abs(simulator.positions([problem.point])[0] - problem.place).max())
        return found
    found.error = simulator.worst_balance(problem.until, LOOKS)
    return found


def _ours_alone(problem: Problem) -> None:
    Run(load(f"benchmarks/{problem.scene}"))(problem.until)


# --- Exudyn ------------------------------------------------------------------------------------------


def _exudyn(problem: Problem, told: Mechanism) -> tuple[Contender, str]:
    """Return the fastest of its ways that reach the threshold, and the form of its model.

    Raises
    ------
    Diverged
        When none does.
    """
    best: tuple[Contender, str] | None = None
    for form in ("tree", "bodies"):
        peer = Exudyn(told, form, redundant=problem.redundant)
        for solver in reversed(peer.solvers):
            peer.tune(solver, problem.until, 1000)
            settings = TOLERANCES if solver in ADAPTIVE else STEPS
            patience = best[0].wall if best else PATIENCE
            found = coarsest(problem, settings, partial(_solved, problem, peer, solver), patience)
            if found and (best is None or found.wall < best[0].wall):
                best = found, form
    if best is None:
        raise Diverged(f"none of its solvers reaches {problem.threshold:g} {problem.unit} within {PATIENCE:g} s")
    return best


def _solved(problem: Problem, peer: Exudyn, solver: str, setting: float) -> Contender:
    adaptive = solver in ADAPTIVE
    steps, tolerance = (FEWEST, setting) if adaptive else (int(setting), None)
    settings = peer.settings(solver, problem.until, steps, tolerance)
    how = f"tolerance {setting:.0e}" if adaptive else f"{steps} steps"
    found = Contender(f"exudyn's {solver} of {peer.form}, {how}", partial(peer.run, settings), _nothing)
    began = time.perf_counter()
    try:
        found.wall = _timed(found.run)
        if problem.place is not None:
            found.error = float(np.abs(peer.positions()[0] - problem.place).max())
        else:
            found.error = peer.worst_energy(settings, LOOKS)
    except Diverged:
        found.error, found.wall = math.inf, time.perf_counter() - began
    return found


def _nothing() -> None:
    """Do nothing: its runs begin at the start."""


def _exudyn_alone(told: Mechanism, form: str, redundant: bool, until: float) -> None:
    peer = Exudyn(told, form, redundant=redundant)
    peer.run(peer.settings(IMPLICIT[0], until, 1000))
