"""Energy over long runs of the variational method: how large its error is, and whether it drifts.

Two lines to a run.  The first is the largest error after any step, over the largest kinetic energy; the second is
the least-squares slope of the error over time in standard errors.  Which standard error, why, and the steps were
fixed on runs of other leans (docs/benchmarks.md).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from bench.measure import Result
from bench.ours import Books, follow_books, load, without_stops

BLOCKS = 40  # of a run, whose means are looked at
ALLOWED = 1e-3  # of the largest kinetic energy
ERRORS = 3.0  # standard errors that a slope may be from zero

Trend = Callable[[np.ndarray, np.ndarray], tuple[float, float]]


def slope(t: np.ndarray, x: np.ndarray) -> tuple[float, float]:
    """Return the least-squares slope of block means of x over t, and its standard error for independent blocks."""
    t, x = _means(t), _means(x)
    t = t - t.mean()
    found = t @ x / (t @ t)
    rest = x - x.mean() - found * t
    return float(found), float(np.sqrt(rest @ rest / (BLOCKS - 2) / (t @ t)))


def slope_of_walk(t: np.ndarray, x: np.ndarray) -> tuple[float, float]:
    """Return the same slope, and its standard error where the increments between blocks are independent.

    Where the motion itself changes its character over the run, errors of blocks are correlated over all of
    it, and this is the longest correlation that an error without drift can have.
    """
    t, x = _means(t), _means(x)
    t = t - t.mean()
    weight = t / (t @ t)
    of_increments = np.cumsum(weight[::-1])[::-1][1:]
    return float(weight @ x), float(np.sqrt(of_increments @ of_increments * np.mean(np.diff(x) ** 2)))


def _means(x: np.ndarray) -> np.ndarray:
    return x[: len(x) // BLOCKS * BLOCKS].reshape(BLOCKS, -1).mean(1)


@dataclass(frozen=True)
class Problem:
    """A scene without stops, controllers and events, its steps, and the standard error of its slope.

    until, step : s
    leans : the scene's parameter, as written first
    """

    scene: str
    until: float
    step: float
    trend: Trend
    leans: tuple[str | None, ...] = (None,)


PROBLEMS = {
    "A01": Problem("benchmarks/point_pendulum", 2000.0, 10e-3, slope),
    "monkey_swing": Problem("monkey_swing", 600.0, 0.1e-3, slope_of_walk, (None, "20 deg", "55 deg")),
}


def measure(name: str, rounds: int) -> Iterator[Result]:
    """Yield two lines a run; equal runs are equal to the bit, so there is one round."""
    problem = PROBLEMS[name.rpartition(".")[2]]
    for lean in problem.leans:
        scene = without_stops(load(problem.scene, set={"lean": lean} if lean else None))
        settings = replace(scene.simulate, method="variational", step=problem.step, record=1.0 / problem.step)
        began = time.perf_counter()
        books = follow_books(replace(scene, simulate=settings), problem.until)
        wall = time.perf_counter() - began
        which = f"lean {lean}" if lean else "as written"
        yield from lines(
            name, f"{which}, {problem.until:g} s in steps of {1e3 * problem.step:g} ms", books, problem, wall
        )


def lines(name: str, run: str, books: Books, problem: Problem, wall: float) -> Iterator[Result]:
    """Yield how large the error of a run is, then its slope."""
    peak = books.kinetic.max()
    share = books.balance / peak
    worst = int(np.abs(share).argmax())
    typical = float(np.sqrt(np.mean(share**2)))
    yield _line(
        name, "of the peak", float(abs(share[worst])), ALLOWED,
        f"{run}: largest error after any step, at {books.time[worst]:.6g} s; root mean square {typical:.1e}; "
        f"peak {peak:.4g} J; {wall:.0f} s of wall time, recorded after every step",
    )  # fmt: skip
    found, error = problem.trend(books.time, share)
    left, _ = problem.trend(books.time, (books.balance - problem.step**2 * books.less_energy) / peak)
    kind = "a walk of blocks" if problem.trend is slope_of_walk else "independent blocks"
    yield _line(
        name, "standard errors", abs(found) / error, ERRORS,
        f"{run}: slope of the error, {kind}: over the run {found * problem.until:+.1e} of the peak, "
        f"{ERRORS:g} standard errors {ERRORS * error * problem.until:.1e}; of the energy of the theory "
        f"{left * problem.until:+.1e}",
    )  # fmt: skip


def _line(name: str, unit: str, ours: float, allowed: float, note: str) -> Result:
    return Result(name=name, ours=ours, unit=unit, rounds=1, spread=0.0, peer="allowed", value=allowed, note=note)
