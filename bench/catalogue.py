"""The benchmarks by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial

from bench.measure import Result


@dataclass(frozen=True)
class Benchmark:
    """One name, what it measures, and how often."""

    about: str
    measure: Callable[[str, int], Iterator[Result]]
    rounds: int
    slow: bool = False  # only when named


def _forward_dynamics(name: str, rounds: int, *, loops: bool) -> Iterator[Result]:
    from bench import forward_dynamics

    return forward_dynamics.measure(name, rounds, loops=loops)


def _chain(name: str, rounds: int, *, links: int) -> Iterator[Result]:
    from bench import chain

    return chain.measure(name, rounds, links=links)


def _chain_slope(name: str, rounds: int) -> Iterator[Result]:
    from bench import chain

    return chain.slope(name, rounds)


def _bars(name: str, rounds: int, *, windows: int) -> Iterator[Result]:
    from bench import loops

    return loops.measure(name, rounds, windows=windows)


def _slope(
    name: str, rounds: int, *, scene: str, parameter: str, sizes: tuple[int, ...] = (100, 200, 500, 1000)
) -> Iterator[Result]:
    from bench import loops

    return loops.slope(name, rounds, scene=f"benchmarks/{scene}", parameter=parameter, sizes=sizes)


def _redundant(name: str, rounds: int) -> Iterator[Result]:
    from bench import redundant

    return redundant.measure(name, rounds)


def _iftomm(name: str, rounds: int) -> Iterator[Result]:
    from bench import iftomm

    return iftomm.measure(name, rounds)


def _precision(name: str, rounds: int) -> Iterator[Result]:
    from bench import work_precision

    return work_precision.measure(name, rounds)


def _startup(name: str, rounds: int, *, which: str) -> Iterator[Result]:
    from bench import startup

    call: Callable[[str, int], Iterator[Result]] = getattr(startup, which)
    return call(name, rounds)


def _realtime(name: str, rounds: int, *, scene: str) -> Iterator[Result]:
    from bench import realtime

    return realtime.measure(name, rounds, scene=scene)


def _rollout(name: str, rounds: int, *, which: str) -> Iterator[Result]:
    from bench import rollout

    call: Callable[[str, int], Iterator[Result]] = getattr(rollout, which)
    return call(name, rounds)


def _contact_rollouts(name: str, rounds: int) -> Iterator[Result]:
    from bench import contact_rollouts

    return contact_rollouts.measure(name, rounds)


def _stiff(name: str, rounds: int) -> Iterator[Result]:
    from bench import stiff

    return stiff.measure(name, rounds)


def _long_runs(name: str, rounds: int) -> Iterator[Result]:
    from bench import long_runs

    return long_runs.measure(name, rounds)


def _bicycle(name: str, rounds: int) -> Iterator[Result]:
    from bench import bicycle

    return bicycle.measure(name, rounds)


def _snake(name: str, rounds: int, *, which: str) -> Iterator[Result]:
    from bench import snake

    call: Callable[..., Iterator[Result]] = getattr(snake, which)
    return call(name, rounds) if which == "operations" else call(name, rounds, engine=snake.engine())


def _contacts(name: str, rounds: int) -> Iterator[Result]:
    from bench import contacts

    return contacts.measure(name, rounds)


def _contacts_slope(name: str, rounds: int) -> Iterator[Result]:
    from bench import contacts

    return contacts.slope(name, rounds)


def _closed_points(name: str, rounds: int) -> Iterator[Result]:
    from bench import closed_points

    return closed_points.measure(name, rounds)


def _events(name: str, rounds: int) -> Iterator[Result]:
    from bench import events

    return events.measure(name, rounds)


def _formulations(name: str, rounds: int) -> Iterator[Result]:
    from bench import formulations

    return formulations.measure(name, rounds)


def _inverse(name: str, rounds: int, *, loops: bool) -> Iterator[Result]:
    from bench import inverse

    return (inverse.measure_loops if loops else inverse.measure_tree)(name, rounds)


BENCHMARKS = {
    "forward_dynamics.figure58.no_loops": Benchmark(
        "accelerations of a tree of 58 freedoms, random states", partial(_forward_dynamics, loops=False), 15
    ),
    "forward_dynamics.figure58.two_loops": Benchmark(
        "the same figure, its hands on two ropes", partial(_forward_dynamics, loops=True), 15
    ),
    "inverse.formulations": Benchmark(
        "torques of planar chains of 2 to 64 links by Lagrange, virtual decomposition and the engine",
        _formulations,
        9,
        slow=True,
    ),
    "inverse.figure58.no_loops": Benchmark(
        "torques of the tree of 58 freedoms, random states and accelerations", partial(_inverse, loops=False), 15
    ),
    "inverse.figure58.two_loops": Benchmark(
        "torques of 58 actuators along a motion, its hands on two ropes", partial(_inverse, loops=True), 9
    ),
    **{
        f"chain.{links}": Benchmark(
            f"accelerations of a hanging chain of {links} rods", partial(_chain, links=links), 9
        )
        for links in (10, 30, 100, 300, 1000)
    },
    "slope.chain": Benchmark("how that grows with the number of rods, fitted on 100 to 1000", _chain_slope, 9),
    **{
        f"four_bar.{windows}": Benchmark(
            f"accelerations of {windows} four-bars side by side, written in space", partial(_bars, windows=windows), 9
        )
        for windows in (1, 10, 40, 100, 1000)
    },
    "slope.four_bar": Benchmark(
        "how that grows with the number of loops", partial(_slope, scene="four_bars", parameter="windows"), 9
    ),
    "slope.chain_in_plane": Benchmark(
        "how a chain's cost grows, three rows to the world on every link",
        partial(_slope, scene="chain_in_plane", parameter="links"),
        9,
    ),
    "slope.snake": Benchmark(
        "how a snake's cost grows with its links, a wheel under each",
        partial(_slope, scene="snake_paper", parameter="n"),
        9,
    ),
    "slope.forest": Benchmark(
        "how the cost of many figures grows with their number, each with a loop through its hands",
        partial(_slope, scene="forest", parameter="figures", sizes=(5, 10, 25, 50)),
        7,
    ),
    "slope.rope_net": Benchmark(
        "how a net's cost grows with its side: loops that share freedoms with many others",
        partial(_slope, scene="rope_net", parameter="side", sizes=(4, 6, 9, 14)),
        5,
    ),
    "redundant.bricard": Benchmark(
        "Bricard's mechanism beside the same with independent rows: accelerations, and a run", _redundant, 25
    ),
    **{
        f"iftomm.{problem}": Benchmark(f"IFToMM problem {problem} to its threshold, inside `advance`", _iftomm, 5)
        for problem in ("A01", "A02", "A03", "A04", "A05")
    },
    **{
        f"precision.{problem}": Benchmark(f"wall time against error of {problem}, with a diagram", _precision, 3)
        for problem in ("A02", "A03", "A04", "A05", "monkey_swing")
    },
    "rollout.cores": Benchmark(
        "states of figure58 followed by two threads beside one", partial(_rollout, which="cores"), 9
    ),
    "rollout.figure58": Benchmark(
        "states of the tree followed on two threads, as exactly as the peer's", partial(_rollout, which="figure"), 9
    ),
    "rollout.figure58.two_loops": Benchmark(
        "the same with its hands on two ropes", partial(_rollout, which="two_loops"), 5
    ),
    "rollout.contacts": Benchmark(
        "a thousand states of a limp figure on the ground, followed for a second in steps of 2 ms on two threads",
        _contact_rollouts,
        3,
    ),
    **{
        f"stiff.{scene}": Benchmark(f"method auto beside the faster of dop853 and radau: {about}", _stiff, 5)
        for scene, about in (
            ("governor", "stiff"),
            ("governor_100", "a hundred times stiffer"),
            ("rope", "soft"),
            ("high_bar", "soft stops"),
            ("rope_pullup", "soft"),
            ("monkey_swing", "soft stops"),
            ("swing", "soft, tears"),
            ("pendulum", "not stiff"),
            ("double_pendulum", "not stiff"),
            ("four_bar", "not stiff"),
            ("two_bodies", "not stiff"),
            ("andrews", "not stiff"),
            ("bricard", "not stiff"),
            ("heavy_top", "not stiff"),
            ("box", "not stiff"),
            ("four_bars", "not stiff"),
            ("dzhanibekov", "not stiff"),
            ("three_links", "not stiff"),
        )
    },
    "contacts.figure_falls": Benchmark("a limp figure falls, in time steps, per simulated second", _contacts, 5),
    "contacts.dominoes": Benchmark("fifty dominoes topple, in time steps, per simulated second", _contacts, 3),
    "contacts.figure_falls.2ms": Benchmark("the limp figure in steps as long as the peer's", _contacts, 5),
    "contacts.dominoes.2ms": Benchmark("the dominoes in steps as long as the peer's", _contacts, 3),
    "contacts.heap": Benchmark("ten limp figures fall on one another, in the peer's steps", _contacts, 3),
    "contacts.boxes": Benchmark("two hundred boxes are poured into a bin, in the peer's steps", _contacts, 3),
    "slope.dominoes": Benchmark("how the cost of a step grows with the number of dominoes", _contacts_slope, 5),
    "events.slope": Benchmark(
        "accelerations of a figure on eight points of contact beside the same without any", _closed_points, 15
    ),
    "events.decisions": Benchmark(
        "what a decision on contacts takes in five scenes, and which part of it what", _events, 3
    ),
    **{
        f"events.{scene}": Benchmark(f"the same of {scene} in event mode", _events, 1)
        for scene in (
            "woodpecker",
            "rocking_block",
            "table",
            "slider_crank_clearance",
            "high_bar_dismount",
            "figure_falls",
            "figure_stands",
        )
    },
    "bicycle": Benchmark(
        "the IFToMM library's uncontrolled bicycle, 20 s with the energy kept to a thousandth of a per cent",
        _bicycle,
        11,
    ),
    "snake.operations": Benchmark(
        "operations of the snake paper's methods, counted by running, beside its Table I",
        partial(_snake, which="operations"),
        1,
    ),
    "snake.times": Benchmark(
        "CPU time of one evaluation by each method and by the engine, all compiled (figures 2 and 3)",
        partial(_snake, which="times"),
        7,
    ),
    "snake.precision": Benchmark(
        "runs in single against double precision (figures 4 and 5)", partial(_snake, which="precision"), 1
    ),
    "snake.energy": Benchmark(
        "error of the energy function S at equal steps (figure 6)", partial(_snake, which="energy"), 1
    ),
    "long_runs.A01": Benchmark("energy error of IFToMM A01 over 2000 s by the variational method", _long_runs, 1),
    "long_runs.monkey_swing": Benchmark(
        "the same of a passive swing over 600 s, as written and from other leans", _long_runs, 1, slow=True
    ),
    "startup.check": Benchmark("sim check scenes/swing.yaml, whole process", partial(_startup, which="check"), 7),
    "startup.run": Benchmark("sim run scenes/pendulum.yaml, whole process, warm", partial(_startup, which="run"), 5),
    "startup.first_run": Benchmark(
        "the same in a fresh copy, nothing compiled", partial(_startup, which="first_run"), 1, slow=True
    ),
    "realtime.monkey_swing": Benchmark(
        "a run of monkey_swing, recorded, no film, one core", partial(_realtime, scene="monkey_swing"), 3
    ),
    "realtime.swing": Benchmark("a run of swing, recorded, no film, one core", partial(_realtime, scene="swing"), 3),
}


def choose(wishes: Sequence[str]) -> list[str]:
    """Return the names meant: all that are not slow, or those that a wish names, begins or matches (``startup.*``).

    Raises
    ------
    KeyError
        With a wish that means none.
    """
    if not wishes:
        return [name for name, benchmark in BENCHMARKS.items() if not benchmark.slow]
    chosen = set()
    for wish in wishes:
        found = {n for n in BENCHMARKS if n == wish or n.startswith(f"{wish}.") or fnmatchcase(n, wish)}
        if not found:
            raise KeyError(wish)
        chosen |= found
    return [name for name in BENCHMARKS if name in chosen]
