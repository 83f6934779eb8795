"""The snake paper's Table I and Figures 2 to 6: operations, time, precision and the energy function of its methods.

The paper gives neither the step nor the method of its runs, and not all it says of their conditions has come down to
us: here they are those of Table II, in steps of the classical Runge-Kutta method, equal for all.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bench.measure import Result, interleave, result
from bench.ours import PapersSnake
from sim.analysis.snake import lagrange
from sim.analysis.snake.compiled import Compiled
from sim.analysis.snake.fixed_steps import METHODS, Motion, follow, slip
from sim.analysis.snake.links import papers_snake, papers_torques
from sim.analysis.snake.operations import PRINTED, Polynomial, Stage, count

BASE = "Kane"  # beside which the others are set
TABLE = (3, 12, 20)  # links of Table I
SIZES = (3, 5, 8, 12, 20, 40, 80, 160, 320)  # links, of times
FITTED = 4  # of them, to which exponents are fitted
RUNS, DRAWN = (3, 4, 5), 5  # links of the runs, and of their pictures
STEP, UNTIL = 0.01, 10.0  # s; the motion of 3 and 5 links is chaotic: after 20 s single precision has no digit left
EVERY = 5  # sample of a run is in a picture
AGREE = 1e-9  # relative, accelerations before they are timed
LASTING = 5e-3  # s of what is timed at once, at least: calling compiled code takes microseconds
STATE = 0.4, 0.3, 1.0  # m/s and rad/s of the first link, s: where the methods are timed


@dataclass(frozen=True)
class Contender:
    """A method beside the others; the paper's are made by `papers`.

    prepare : for n links in the state of `STATE`: what evaluates accelerations a number of times and returns it,
        and V_1', omega_1' that it finds
    run : of n links, step, steps, type of number; None where a method offers no such runs
    numbers : types of number that runs may have
    """

    prepare: Callable[[int], tuple[Callable[[int], int], np.ndarray]]
    run: Callable[[int, float, int, Callable[[Any], Any]], Motion] | None = None
    numbers: tuple[Callable[[Any], Any], ...] = (float, np.float32)


def contenders(**further: Contender) -> dict[str, Contender]:
    """Return the paper's methods by name, and further ones after them."""
    return {**{name: Contender(partial(_prepare, name), partial(_run, name)) for name in METHODS}, **further}


def _prepare(name: str, n: int) -> tuple[Callable[[int], int], np.ndarray]:
    method, (snake, q), (V_1, omega_1, t) = METHODS[name], papers_snake(n), STATE
    compiled = Compiled(method, snake, q, method.speeds(snake, q, V_1, omega_1), papers_torques(n, t))
    compiled.repeat(1)
    found = compiled.found()
    return compiled.repeat, found if name == "Kane" else _first_link(q, found)


def _first_link(q: Sequence[float], q_ddot: np.ndarray) -> np.ndarray:
    """Return u' of Kane's."""
    return np.array([q_ddot[-2] * np.cos(q[0]) + q_ddot[-1] * np.sin(q[0]), q_ddot[0]])


def _run(name: str, n: int, step: float, steps: int, number: Callable[[Any], Any]) -> Motion:
    method, (snake, q) = METHODS[name], papers_snake(n)
    u = method.speeds(snake, q, 0.0, 0.0)
    return follow(method, snake, q, u, partial(papers_torques, n), step=step, steps=steps, number=number)


def engine() -> Contender:
    """Return the engine, in compiled code: every joint and wheel of the scene, by the ordinary path."""
    return Contender(_prepare_engine, _run_engine, (float,))


def _prepare_engine(n: int) -> tuple[Callable[[int], int], np.ndarray]:
    ours, (snake, q), (V_1, omega_1, t) = PapersSnake(n), papers_snake(n), STATE
    states = ours.states(q, lagrange.speeds(snake, q, V_1, omega_1))
    ours.engine.choose(states)
    found = ours.papers(ours.engine.accelerations(states, t))[0]
    return partial(ours.engine.repeat, states), _first_link(q, found)


def _run_engine(n: int, step: float, steps: int, number: Callable[[Any], Any]) -> Motion:
    snake, _ = papers_snake(n)
    time, q, q_dot, S = PapersSnake(n, step).run(steps * step)
    V_1 = q_dot[:, n] * np.cos(q[:, 0]) + q_dot[:, n + 1] * np.sin(q[:, 0])
    slips = np.array([slip(snake, *state) for state in zip(q.tolist(), q_dot.tolist(), strict=True)])
    return Motion(time, q, V_1, q_dot[:, 0], S, slips)


def operations(name: str, rounds: int) -> Iterator[Result]:
    """Yield Table I: counted beside printed, each stage for the most links, then all for each number of links."""
    most = TABLE[-1]
    for method, printed in PRINTED.items():
        tallies = {n: count(method, n) for n in TABLE}
        for stage in printed.stages:
            for kind, formula in enumerate((stage.multiplications, stage.additions)):
                counts = {n: tally.within(*stage.functions)[kind] for n, tally in tallies.items()}
                note = f"{method}, {stage.name}: {_beside(counts, formula)}"
                note += _more(stage, kind)
                yield _counted(name, kind, counts[most], int(formula(most)), note)
        for n, tally in tallies.items():
            beyond = {what: tally.within(f) for what, f in printed.beyond.items()}
            for kind in range(2):
                more = ", ".join(f"{what} {found[kind]}" for what, found in beyond.items() if found[kind])
                stages = tally.within()[kind] - sum(found[kind] for found in beyond.values())
                excess = int(printed.unexplained()[kind](n))
                note = f"{method}, {n} links, all: stages {stages}, and {more}; printed is its stages and {excess}"
                note += "" if kind else f"; sines and cosines {tally.evaluations()}"
                note += f"; {printed.note}" if n == most and not kind else ""
                yield _counted(name, kind, tally.within()[kind], printed.values[n][kind], note)


def _beside(counts: Mapping[int, int], formula: Polynomial) -> str:
    met = all(found == formula(n) for n, found in counts.items())
    found = ", ".join(f"{n}: {value}" for n, value in counts.items())
    values = ", ".join(f"{n}: {int(formula(n))}" for n in counts)
    return f"printed {formula}, counted just so" if met else f"printed {formula} ({values}), counted {found}"


def _more(stage: Stage, kind: int) -> str:
    """Return how the paper has to be read, and the operations that only the print has."""
    more = {d.what: (d.multiplications, d.additions)[kind] for d in stage.differences}
    text = "; ".join(f"{formula}: {what}" for what, formula in more.items() if any(formula.coefficients))
    note = f"; {stage.note}" if stage.note and not kind else ""
    return note + (f"; the print has more {text}" if text else "")


def _counted(name: str, kind: int, ours: int, printed: int, note: str) -> Result:
    unit = ("multiplications", "additions")[kind]
    return Result(name, ours, unit, 1, 0.0, peer="in print", value=printed, note=note)


def times(name: str, rounds: int, **further: Contender) -> Iterator[Result]:
    """Yield the CPU time of one evaluation beside that of Kane's, below how many links Kane's wins, figures 2 and 3.

    Raises
    ------
    ValueError
        When a method finds other accelerations.
    """
    medians: dict[str, list[float]] = {}
    for n in SIZES:
        ready = {method: contender.prepare(n) for method, contender in contenders(**further).items()}
        apart = {method: _apart(u_dot, ready[BASE][1]) for method, (_, u_dot) in ready.items()}
        for method, error in apart.items():
            if not error < AGREE:
                raise ValueError(f"{method} and {BASE} differ by {error:.0e} for {n} links")
        work = {method: partial(go, _often(go)) for method, (go, _) in ready.items()}
        samples = interleave(work, rounds, clock=time.process_time)
        for method, found in samples.items():
            medians.setdefault(method, []).append(statistics.median(found))
            if method != BASE:
                note = f"{BASE}'s method, {n} links; accelerations agree to {apart[method]:.0e}"
                yield result(name, "us", samples[BASE], scale=1e6, peer=method, value=found, note=note)
    largest = slice(-FITTED, None)
    for method, found in medians.items():
        exponent = float(np.polyfit(np.log(SIZES[largest]), np.log(found[largest]), 1)[0])
        note = f"{method}'s method, fitted to {SIZES[-FITTED]} to {SIZES[-1]} links"
        yield Result(name, exponent, "exponent", rounds, 0.0, note=note)
        yield _line(
            name, "snake_figure_2", method, SIZES, [1e6 * x for x in found], "links", "CPU time of one evaluation [us]"
        )
        if method != BASE:
            ratio = [x / base for x, base in zip(found, medians[BASE], strict=True)]
            yield _line(name, "snake_figure_3", f"{method} over {BASE}", SIZES, ratio, "links", "ratio of times")
            yield _wins(name, method, rounds, crossover(SIZES, ratio))


def _often(evaluate: Callable[[int], int]) -> int:
    """Return how many times are worth timing."""
    evaluate(1)  # the first call may compile
    times, took = 1, 0.0
    while took < LASTING:
        times *= 2
        began = time.process_time()
        evaluate(times)
        took = time.process_time() - began
    return times


def crossover(sizes: Sequence[int], ratio: Sequence[float]) -> float:
    """Return below which size a ratio is above 1, between sizes as a power of the size.

    Zero where it is not even at the least size, infinity where it is at all sizes.
    """
    if ratio[0] <= 1:
        return 0.0
    pairs = zip(np.log(sizes), np.log(ratio), strict=True)
    for (x, before), (x_next, after) in itertools.pairwise(pairs):
        if after <= 0:
            return float(np.exp(x + (x_next - x) * before / (before - after)))
    return float("inf")


def _wins(name: str, method: str, rounds: int, below: float) -> Result:
    measured = f"{SIZES[0]} to {SIZES[-1]} links"
    if 0 < below < np.inf:
        return Result(
            name, below, "links", rounds, 0.0, note=f"below so many {BASE}'s method takes less time than {method}"
        )
    note = f"{BASE}'s method takes less time than {method} {'never' if below == 0 else 'always'}, of {measured}"
    return Result(name, None, "links", rounds, 0.0, note=note)


def _apart(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def precision(name: str, rounds: int, **further: Contender) -> Iterator[Result]:
    """Yield how far runs in single precision go from those in double, and figures 4 and 5."""
    for n in RUNS:
        apart: dict[str, float] = {}
        for method, run in _runs(further, float, np.float32).items():
            double, single = (run(n, STEP, round(UNTIL / STEP), number) for number in (float, np.float32))
            apart[method] = float(np.abs(single.V_1 - double.V_1).max())
            picture = {BASE: "snake_figure_4", "Lagrange": "snake_figure_5"}.get(method)
            if picture and n == DRAWN:
                axes = "time [s]", f"speed of the first link [m/s], {method}"
                yield _line(name, picture, "double precision", double.time[::EVERY], double.V_1[::EVERY], *axes)
                yield _line(name, picture, "single precision", single.time[::EVERY], single.V_1[::EVERY], *axes)
        note = f"speed of the first link, single against double precision, largest difference in {UNTIL:g} s"
        yield from _pairs(name, n, apart, "m/s", dict.fromkeys(apart, note))


def energy(name: str, rounds: int, **further: Contender) -> Iterator[Result]:
    """Yield the largest error of the energy function S, which is zero without errors, and figure 6."""
    for number, kind in ((float, "double"), (np.float32, "single")):
        for n in RUNS:
            worst, notes = {}, {}
            for method, run in _runs(further, number).items():
                found = run(n, STEP, round(UNTIL / STEP), number)
                error = np.maximum.accumulate(np.abs(found.S))
                worst[method] = float(error[-1])
                notes[method] = f"largest error of S, {kind} precision; its wheels slip {found.slip.max():.0e} m/s"
                if number is float and n == DRAWN:
                    axes = "time [s]", "largest error of S so far [J]"
                    yield _line(name, "snake_figure_6", method, found.time[EVERY::EVERY], error[EVERY::EVERY], *axes)
            yield from _pairs(name, n, worst, "J", notes)


def _runs(further: Mapping[str, Contender], *numbers: Any) -> dict[str, Callable[..., Motion]]:
    """Return those methods that can run in these types of number."""
    return {
        method: found.run
        for method, found in contenders(**further).items()
        if found.run is not None and set(numbers) <= set(found.numbers)
    }


def _pairs(name: str, n: int, found: Mapping[str, float], unit: str, notes: Mapping[str, str]) -> Iterator[Result]:
    for method, value in found.items():
        if method != BASE:
            note = f"{BASE}'s method, {n} links, steps of {1e3 * STEP:g} ms; {notes[method]}"
            yield Result(name, found[BASE], unit, 1, 0.0, peer=method, value=value, note=note)


LOGARITHMIC = {"snake_figure_2": "xy", "snake_figure_3": "xy", "snake_figure_6": "y"}  # axes


def _line(
    name: str, picture: str, label: str, x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray, across: str,
    upwards: str,
) -> Result:  # fmt: skip
    """Return one line of a picture, which tables leave out."""
    more = {
        "picture": picture, "label": label, "x": [float(a) for a in x], "y": [float(a) for a in y],
        "axes": [across, upwards], "logarithmic": LOGARITHMIC.get(picture, ""),
    }  # fmt: skip
    return Result(name, more["y"][-1], upwards, 1, 0.0, more=more, detail=True)
