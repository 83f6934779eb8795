"""Torques of planar chains of 2 to 64 links by three formulations: Lagrange, virtual decomposition, and the engine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

import sim
from bench.forward_dynamics import Disagreement, difference
from bench.measure import Result, interleave
from sim.analysis.biped.euler_lagrange import equations
from sim.analysis.biped.virtual_decomposition import decompose
from sim.analysis.biped.walker import Walker
from sim.kernels.tree_torques import torques_along
from sim.scene.load import load_text

ENGINE, DECOMPOSED, LAGRANGE = "engine", "virtual decomposition", "Lagrange"
SIZES = (2, 3, 4, 6, 8, 16, 32, 64)  # links
MOST = 6  # of Lagrange's equations: those of eight links take sympy minutes to derive
FRAMES = 64  # of a motion that the engine follows in a call
AGREE = 1e-9


def chain_of(n: int) -> Walker:
    """Return rods of 1 m and 1 kg that stand on each other."""
    hinge = np.tile([0.0, 1.0], (n, 1))
    hinge[0] = 0.0
    return Walker(
        (-1, *range(n - 1)), hinge, np.ones(n), np.tile([0.0, 0.5], (n, 1)), np.full(n, 1.0 / 12.0),
    )  # fmt: skip


def scene_of(n: int) -> str:
    """Return the same as a scene."""
    lines = ["schema: 1", "name: rods", "bodies:"]
    lines += [
        f"  rod_{k}: {{mass: 1 kg, com: [0, 0, {k + 0.5}], gyration: [{12**-0.5}, {12**-0.5}, 0.1]}}" for k in range(n)
    ]
    lines.append("joints:")
    parents = ["world", *(f"rod_{k}" for k in range(n - 1))]
    lines += [
        f"  hinge_{k}: {{type: rotational, parent: {parent}, child: rod_{k}, position: [0, 0, {k}], axis: [0, -1, 0]}}"
        for k, parent in enumerate(parents)
    ]
    return "\n".join(lines) + "\n"


def measure(name: str, rounds: int) -> Iterator[Result]:
    """Yield times of a frame by each formulation, and their lines over the number of links."""
    times: dict[str, list[tuple[int, float]]] = {ENGINE: [], DECOMPOSED: [], LAGRANGE: []}
    for n in SIZES:
        work = _work(n)
        samples = interleave(work, rounds, clock=time.process_time)
        medians = {way: 1e6 * float(np.median(found)) for way, found in samples.items()}
        for way, value in medians.items():
            times[way].append((n, value))
            if way != ENGINE:
                note = f"{n} links, a frame; ours: kernels, {way}: numpy"
                yield Result(name, medians[ENGINE], "us", rounds, 0.0, peer=way, value=value, note=note)
    for way, points in times.items():
        x, y = zip(*points, strict=True)
        more = {
            "picture": "cost_of_formulations", "label": way, "x": [float(a) for a in x], "y": [float(a) for a in y],
            "axes": ["links", "time for the torques of one frame [us]"], "logarithmic": "xy",
        }  # fmt: skip
        yield Result(name, None, "us", rounds, 0.0, note=f"line of {way}", more=more, detail=True)


def _work(n: int) -> dict[str, Callable[[], int]]:
    """Return what finds torques of n links, after a look that all find the same."""
    walker, rng = chain_of(n), np.random.default_rng(n)
    q, rates, changes = rng.normal(size=(3, FRAMES, n))
    mechanism = sim.chain(load_text(scene_of(n), "rods.yaml")).mechanism
    tables, work, gravity = mechanism.structure.tables, mechanism.work, np.array(mechanism.model.gravity_W)
    # Angles of the paper are absolute, those of joints are against the link before.
    motion = tuple(np.ascontiguousarray(np.diff(part, axis=1, prepend=0.0)) for part in (q, rates, changes))
    torque = np.zeros((FRAMES, n))

    def engine() -> int:
        torques_along(tables.links, tables.freedoms, gravity, motion, work.links, work.freedoms, torque)
        return FRAMES

    def decomposed() -> int:
        decompose(walker, q[0], rates[0], changes[0]).torques()
        return 1

    out: dict[str, Callable[[], int]] = {ENGINE: engine, DECOMPOSED: decomposed}
    engine()
    _same(torque[0], decompose(walker, q[0], rates[0], changes[0]).torques(), DECOMPOSED)
    if n <= MOST:
        lagrange = equations(walker)
        _same(torque[0], lagrange.torques(q[0], rates[0], changes[0]), LAGRANGE)

        def by_lagrange() -> int:
            lagrange.torques(q[0], rates[0], changes[0])
            return 1

        out[LAGRANGE] = by_lagrange
    return out


def _same(found: np.ndarray, expected: np.ndarray, way: str) -> None:
    apart = difference(found[None], expected[None])
    if not apart < AGREE:
        raise Disagreement(f"torques of {len(found)} links differ by {apart:.1e} from those by {way}")
