"""Planar walkers with random links, and the same as scenes of the engine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import sim
from sim.analysis.biped.double_support import Tip, reduce
from sim.analysis.biped.walker import GROUND, Friction, Walker
from sim.scene.load import load_text
from tests.support.scene_texts import number, numbers

LEGS = (GROUND, 0, 1, 2, 3, 4)  # shank, thigh, trunk, thigh, shank, foot
WITH_ARMS = (GROUND, 0, 1, 2, 2, 4, 5, 3)  # an arm of two links hangs on the trunk, before and after the front leg


@dataclass(frozen=True)
class Moving:
    """A walker in motion: q, rates and their rates."""

    walker: Walker
    friction: Friction
    q: np.ndarray
    rates: np.ndarray
    changes: np.ndarray


def random_walker(parent: tuple[int, ...], rng: np.random.Generator) -> Walker:
    """Return links with hinges and centres of mass anywhere beside their lines."""
    n = len(parent)
    return Walker(
        parent, rng.normal(0.0, 0.5, (n, 2)), rng.uniform(0.5, 20.0, n), rng.normal(0.0, 0.3, (n, 2)),
        rng.uniform(0.01, 1.0, n), float(rng.uniform(1.0, 12.0)),
    )  # fmt: skip


def moving(parent: tuple[int, ...], seed: int, rubs: bool = False) -> Moving:
    """Return a random walker in random motion."""
    rng = np.random.default_rng((len(parent), seed))
    walker = random_walker(parent, rng)
    friction = Friction(*rng.uniform(0.1, 2.0, (6, len(parent)))) if rubs else Friction.none(len(parent))
    return Moving(walker, friction, *rng.normal(0.0, 1.5, (3, len(parent))))


def random_tree(n: int, seed: int) -> tuple[int, ...]:
    """Return parents of n links."""
    rng = np.random.default_rng((n, seed))
    return (GROUND, *(int(rng.integers(0, k)) for k in range(1, n)))


def on_two_feet(parent: tuple[int, ...], seed: int, link: int, rubs: bool = False) -> tuple[Moving, Tip]:
    """Return a walker whose tip stands: rates and their rates keep it where it is."""
    one, rng = moving(parent, seed, rubs), np.random.default_rng((seed, 2))
    tip = Tip(link, rng.normal(0.0, 0.3, 2))
    free = reduce(one.walker, tip, one.q, one.rates).F
    rates = free @ rng.normal(0.0, 1.5, free.shape[1])
    left = reduce(one.walker, tip, one.q, rates)
    changes = left.F @ rng.normal(0.0, 5.0, free.shape[1]) + left.drift
    return Moving(one.walker, one.friction, one.q, rates, changes), tip


def simulator_of(one: Moving, tip: Tip | None = None) -> sim.Simulator:
    """Return the engine's own: x ahead, z up, drawn as it stands; hinges turn about -y.

    A tip that stands is a hinge more, which closes a loop.
    """
    walker, n = one.walker, one.walker.links
    at, sped = walker.places(one.q), walker.turns(one.rates)
    bodies = [
        f"  link_{k}: {{mass: {number(walker.mass[k])}, com: {_point(walker.place(one.q, k, walker.com[k]))}, "
        f"inertia: {numbers([walker.inertia[k]] * 3)}, position: {_point(at[k])}}}"
        for k in range(n)
    ]
    names = ["world", *(f"link_{k}" for k in range(n))]
    joints = [
        f"  hinge_{k}: {{type: rotational, parent: {names[walker.parent[k] + 1]}, child: link_{k}, "
        f"position: {_point(at[k])}, axis: [0, -1, 0], armature: {number(one.friction.inertia[k])}}}"
        for k in range(n)
    ]
    initial = [f"  hinge_{k}: {{rate: {number(sped[k])}}}" for k in range(n)]
    if tip is not None:
        joints.append(
            f"  tip: {{type: rotational, parent: world, child: link_{tip.link}, axis: [0, -1, 0], "
            f"position: {_point(walker.place(one.q, tip.link, tip.point))}}}"
        )
    text = "\n".join([
        "schema: 1", "name: walker", f"world: {{gravity: [0, 0, {number(-walker.gravity)}]}}",
        "bodies:", *bodies, "joints:", *joints, "initial:", *initial, "simulate: {duration: 1 s}",
    ])  # fmt: skip
    return sim.Simulator(sim.compile(load_text(text)))


def _point(a: np.ndarray) -> str:
    return numbers([a[0], 0.0, a[1]])
