"""Work-precision diagrams: wall time against error, ours beside MuJoCo and Exudyn on the same mechanism.

Every side runs from the same start to the same time, at its tolerances or numbers of equal steps from
coarse to fine; what counts is where some points are at the end, and how fast they move, since a place alone
may be right by chance.  Nothing is recorded.  A peer's point is *dominated* when ours has one that is at
least as accurate and takes less time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from bench import memory
from bench.measure import Result, interleave, spread
from bench.mechanism import Mechanism
from bench.ours import Run, load, without_stops
from bench.peer_exudyn import ADAPTIVE, Diverged, Exudyn
from bench.peer_mujoco import MujocoRun
from sim.scene.spec import Scene
from sim.simulation.simulator import SimulationError

REACHED = 1e-3  # errors up to it count
TOLERANCES = [10.0 ** (-k / 2) for k in range(6, 25)]
LOOSE = TOLERANCES[:14:2]  # of peers that choose their steps
DOUBLINGS = 16
FEWEST = 20  # steps, where Exudyn chooses them: none is longer


class Disagreement(Exception):
    """The sides do not move alike."""


@dataclass(frozen=True)
class Problem:
    """A scene without stops, until when it runs, and what is looked at.

    points : their places and velocities count; errors are shares of `size` [m] and of the fastest velocity
    published : m and m/s, what is known of each point at the end; for the rest the reference is our own run at
        the tightest tolerance, which must meet what is published, and which a peer must meet
    tightest : tolerance of that run
    coarse : number of steps at which peers begin; budget : s, finer points of peers than this are not measured
    redundant : whether loops repeat rows, in bodies with coordinates of their own
    """

    scene: str
    until: float
    points: tuple[str, ...]
    coarse: int
    size: float = 1.0
    published: tuple[tuple[float, ...], ...] = ()
    redundant: bool = False
    budget: float = 0.5
    tightest: float = 1e-13

    def load(self, rtol: float | None = None) -> Scene:
        """Return the scene at a tolerance."""
        return without_stops(load(self.scene, rtol)) if self.scene == "monkey_swing" else load(self.scene, rtol)


BETA, RATE, CRANK = 15.81077119629904, 1139.920302151208, 7e-3  # rad, rad/s, m: A03 at 0.03 s, by PSIDE at 1e-14
PROBLEMS = {
    "A02": Problem(
        "benchmarks/four_bars", 10.0, ("crank_0.B",), 500,
        published=((0.3284581115, 0.9445185382, 0.0, 1.4230514702, -0.4948688455, 0.0),),
        tightest=1e-12,  # a tighter one does not come through where it lies flat
    ),
    "A03": Problem(
        "benchmarks/andrews", 0.03, ("pusher",), 50, size=CRANK,
        published=(
            (
                CRANK * math.cos(BETA), CRANK * math.sin(BETA), 0.0,
                -CRANK * RATE * math.sin(BETA), CRANK * RATE * math.cos(BETA), 0.0,
            ),
        ),
    ),
    # At 10 s it is almost at rest, where an error of time does not show; at 8.75 s it is fastest.
    "A04": Problem("benchmarks/bricard", 8.75, ("rod2.p3",), 100, redundant=True),
    "A05": Problem(
        "benchmarks/governor", 10.0, ("slider.com", "rod_right.middle"), 500, published=((0.0, 0.0, 0.619622917),),
        budget=2.0,
    ),
    "monkey_swing": Problem(
        "monkey_swing", 1.0, ("monkey.torso.com", "monkey.shank_l.toe", "rope_r1.end"), 50, budget=2.0
    ),
}  # fmt: skip
MET = 1e-8  # how closely our tightest run meets what is published


@dataclass
class Point:
    """One run of a curve: its setting, what is timed and what precedes it, what came out, the error and times [s]."""

    setting: str
    run: Callable[[], Any]
    before: Callable[[], Any]
    states: Callable[[], np.ndarray]
    error: float = math.nan
    times: list[float] = field(default_factory=list)

    @property
    def time(self) -> float:
        return median(self.times)


@dataclass
class Curve:
    """The points of one side and one way to integrate, coarse to fine; the first of an adaptive one is loose."""

    name: str
    peer: str  # "" is ours
    candidates: Iterator[Point]
    points: list[Point] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)  # settings that did not arrive

    def explore(self, error: Callable[[np.ndarray], float], budget: float) -> None:
        """Run each candidate once, keep those that arrive, and stop at the first that takes longer than the budget."""
        for point in self.candidates:
            point.before()
            began = time.perf_counter()
            try:
                point.run()
                arrived = True
            except (Diverged, SimulationError):
                arrived = False
                self.lost.append(point.setting)
            if time.perf_counter() - began > budget:
                break
            point.error = error(point.states()) if arrived else math.nan
            if math.isfinite(point.error):
                self.points.append(point)


def measure(name: str, rounds: int) -> Iterator[Result]:
    """Explore all curves, time their points in turn, and yield a line for each point."""
    problem = PROBLEMS[name.partition(".")[2]]
    told = Run(problem.load()).mechanism(problem.points)
    reference, scale = _reference(name, problem)
    curves = [_ours(problem), *_mujoco(problem, told), *_exudyn(problem, told)]
    for curve in curves:
        curve.explore(
            lambda states: float((np.abs(states - reference) / scale).max()), problem.budget if curve.peer else math.inf
        )
    met = _check(name, problem, curves)
    work = {f"{c.name}, {p.setting}": p for c in curves for p in c.points}
    samples = interleave(
        {key: partial(_once, point.run) for key, point in work.items()}, rounds,
        {key: point.before for key, point in work.items()},
    )  # fmt: skip
    for key, point in work.items():
        point.times = samples[key]
    yield from _results(name, problem, curves, met, _memories(problem, told, curves))


def _once(run: Callable[[], Any]) -> int:
    run()
    return 1


def _reference(name: str, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return states of the points (count, 6) [m, m/s], and of what size an error is a share (6,).

    Raises
    ------
    Disagreement
        When our tightest run does not meet what is published.
    """
    run = Run(problem.load(problem.tightest))
    run(problem.until)
    reference = run.states(problem.points)
    speed = np.linalg.norm(reference[:, 3:], axis=1).max()
    scale = np.repeat([problem.size, speed], 3)
    for row, known in zip(reference, problem.published, strict=False):
        apart = np.abs(row[: len(known)] - known) / scale[: len(known)]
        if not apart.max() < MET:
            raise Disagreement(f"{name}: our tightest run is {apart.max():.1e} away from what is published")
        row[: len(known)] = known
    return reference, scale


def _check(name: str, problem: Problem, curves: list[Curve]) -> str:
    """Return how closely peers meet the reference; a note.

    Raises
    ------
    Disagreement
        When ours, or all peers, stay away from it.
    """
    best: dict[str, float] = {}
    for curve in curves:
        for point in curve.points:
            best[curve.peer] = min(best.get(curve.peer, math.inf), point.error)
    if not best[""] < REACHED**2:
        raise Disagreement(f"{name}: ours stays {best['']:.1e} away from the reference")
    nearest = min((error for peer, error in best.items() if peer), default=math.nan)
    if nearest > REACHED:
        raise Disagreement(f"{name}: no peer comes nearer to the reference than {nearest:.1e}")
    kind = "published, else our" if problem.published else "our"
    return f"reference: {kind} run at {problem.tightest:g}; the nearest point of a peer is {nearest:.0e} away"


# --- the curves --------------------------------------------------------------------------------------


def _ours(problem: Problem) -> Curve:
    def candidates() -> Iterator[Point]:
        for rtol in TOLERANCES:
            run = Run(problem.load(rtol))
            states = partial(run.states, problem.points)
            yield Point(f"rtol {rtol:.0e}", partial(run, problem.until), run.rewind, states)

    return Curve("ours", "", candidates())


def _mujoco(problem: Problem, told: Mechanism) -> Iterator[Curve]:
    """Its three integrators with default constraints, and with tuned ones where there are any."""
    try:
        peer = MujocoRun(told)
    except ImportError:
        return

    def candidates(integrator: str, tuned: bool) -> Iterator[Point]:
        for k in range(DOUBLINGS):
            steps = problem.coarse << k

            def before(step: float = problem.until / steps) -> None:
                peer.choose(integrator, step, tuned=tuned)
                peer.rewind()

            yield Point(f"{steps} steps", partial(peer.run, steps), before, peer.states)

    for integrator in peer.INTEGRATORS:
        for tuned in (False, True) if told.loops else (False,):
            name = f"mujoco {integrator}" + (" tuned" if tuned else "")
            yield Curve(name, "mujoco", candidates(integrator, tuned))


def _exudyn(problem: Problem, told: Mechanism) -> Iterator[Curve]:
    """Both forms of its model where there are both, with each solver that they can be given."""
    hinged = all(joint.kind in ("rotational", "translational") for joint in told.tree)
    for form in ("bodies", "tree") if hinged else ("bodies",):
        try:
            peer = Exudyn(told, form, redundant=problem.redundant)
        except ImportError:
            return

        def candidates(peer: Exudyn, solver: str) -> Iterator[Point]:
            peer.tune(solver, problem.until, 8 * problem.coarse)
            adaptive = solver in ADAPTIVE
            for k in range(len(LOOSE) if adaptive else DOUBLINGS):
                steps, tolerance = (FEWEST, LOOSE[k]) if adaptive else (problem.coarse << k, None)
                settings = peer.settings(solver, problem.until, steps, tolerance)
                setting = f"tolerance {tolerance:.0e}" if adaptive else f"{steps} steps"
                yield Point(setting, partial(peer.run, settings), _nothing, peer.states)

        for solver in peer.solvers:
            yield Curve(f"exudyn {solver} {form}", "exudyn", candidates(peer, solver))


def _nothing() -> None:
    """Do nothing: its runs begin at the start."""


# --- what is said ------------------------------------------------------------------------------------


def _results(
    name: str, problem: Problem, curves: list[Curve], met: str, memories: dict[str, float]
) -> Iterator[Result]:
    ours = curves[0].points
    held = memories.get("")
    if curves[0].lost:
        met += f"; ours does not arrive with {', '.join(curves[0].lost)}"
    for point in ours:
        yield Result(
            name, point.time, "s", len(point.times), spread(point.times), memory=held, note=met, detail=True,
            more={"curve": "ours", "setting": point.setting, "error": point.error},
        )  # fmt: skip
    for curve in curves[1:]:
        rows = [_row(name, curve, point, ours, (held, memories.get(curve.peer))) for point in curve.points]
        if not rows:
            continue
        counting = [row for row in rows if row.more["dominated"] is not None]
        shown = max(counting or rows, key=_worst if counting else _exactest)
        for row in rows:
            yield row if row is not shown else _summary(row, counting, problem.budget)


def _row(
    name: str, curve: Curve, point: Point, ours: list[Point], memories: tuple[float | None, float | None]
) -> Result:
    """Compare a peer's point with our fastest one that is at least as accurate."""
    able = [p for p in ours if p.error <= point.error]
    best = min(able, key=lambda p: p.time) if able else None
    dominated = None if point.error > REACHED else best is not None and best.time < point.time
    return Result(
        name, best.time if best else None, "s", len(point.times), spread(best.times) if best else 0.0,
        peer=curve.name, value=point.time, value_spread=spread(point.times), memory=memories[0],
        value_memory=memories[1], note="" if best else "none of ours is as accurate", detail=True,
        more={
            "curve": curve.name, "setting": point.setting, "error": point.error,
            "our_setting": best.setting if best else None, "our_error": best.error if best else None,
            "dominated": dominated,
        },
    )  # fmt: skip


def _worst(row: Result) -> float:
    return math.inf if row.ratio is None else row.ratio


def _exactest(row: Result) -> float:
    return -float(row.more["error"])


def _summary(row: Result, counting: list[Result], budget: float) -> Result:
    """Return the row of a curve that tables show: the worst for us at 1e-3 or better, else the most exact."""
    error, setting = row.more["error"], row.more["setting"]
    if counting:
        dominated = sum(bool(r.more["dominated"]) for r in counting)
        note = f"dominated at {dominated} of its {len(counting)} points of {REACHED:g} or better; "
        note += f"here {error:.0e}, {setting}"
    else:
        note = f"does not reach {REACHED:g} within {budget:g} s: {error:.0e}, {setting}"
    if row.note:
        note += f"; {row.note}"
    return replace(row, note=note, detail=False)


# --- memory ------------------------------------------------------------------------------------------


def _memories(problem: Problem, told: Mechanism, curves: list[Curve]) -> dict[str, float]:
    """Return the peak memory of a run of each side [MB], by peer; "" is ours."""
    sides: dict[str, Callable[[Problem, Mechanism], None]] = {
        "": _ours_alone, "mujoco": _mujoco_alone, "exudyn": _exudyn_alone,
    }  # fmt: skip
    return {peer: memory.peak(sides[peer], problem, told) for peer in {c.peer for c in curves if c.points}}


def _ours_alone(problem: Problem, _: Mechanism) -> None:
    Run(problem.load())(problem.until)


def _mujoco_alone(problem: Problem, told: Mechanism) -> None:
    peer, steps = MujocoRun(told), 8 * problem.coarse
    peer.choose("RK4", problem.until / steps, tuned=True)
    peer.rewind()
    peer.run(steps)


def _exudyn_alone(problem: Problem, told: Mechanism) -> None:
    peer = Exudyn(told, redundant=problem.redundant)
    peer.run(peer.settings(peer.solvers[0], problem.until, 16 * problem.coarse))
