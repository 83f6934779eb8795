"""Chains of joints with rigid stops and friction: instants and whole motions against enumeration of all modes."""

from __future__ import annotations

import numpy as np
import pytest

from sim.scene.load import load_text
from tests.contact.bounded import HOLDS, Chain
from tests.contact.engine import Run
from tests.dynamics.moved_scene import moved_scene
from tests.support.rotations import matrix_from_vector

pytestmark = pytest.mark.contact

JOINT = "  j{n}: {{type: {kind}, parent: {parent}, child: b{n}, position: {p}, axis: {axis}, friction: {friction}"
STOPS = ", limits: {{range: [{low}, {high}], stop: rigid, restitution: {e}, rest_speed: {rest}}}"


def chain(
    rng: np.random.Generator, q: np.ndarray, v: np.ndarray, side: np.ndarray, friction: np.ndarray, e: float,
    rest: float = 0.0, width: float = 0.7,
) -> str:  # fmt: skip
    """Return a chain of turns and slides with random axes; side: at which stop each is, 0: amid its range."""
    lines, joints, start = ["schema: 1", "name: chain", "bodies:"], [], []
    p = np.zeros(3)
    for n in range(len(q)):
        axis, kind = rng.normal(size=3), "translational" if rng.random() < 0.3 else "rotational"
        com, inertia = p + rng.normal(0, 0.3, 3), rng.uniform(0.5, 1.0, 3) * 0.05
        mass = rng.uniform(0.5, 2.0)
        lines.append(f"  b{n}: {{mass: {mass}, com: {com.tolist()}, inertia: {inertia.tolist()}}}")
        joint = JOINT.format(
            n=n, kind=kind, parent=f"b{n - 1}" if n else "world", p=p.tolist(), axis=axis.tolist(), friction=friction[n]
        )
        low, high = {1: (q[n] - width, q[n]), -1: (q[n], q[n] + width)}.get(side[n], (q[n] - width, q[n] + width))
        joints.append(joint + STOPS.format(low=low, high=high, e=e, rest=rest) + "}")
        start.append(f"  j{n}: {{coordinate: {q[n]}, rate: {v[n]}}}")
        p = p + rng.normal(0, 0.4, 3)
    return "\n".join([*lines, "joints:", *joints, "initial:", *start, "simulate: {duration: 10 s, rtol: 1e-10}"])


def state(run: Run) -> tuple[np.ndarray, np.ndarray]:
    return run.simulator.flow.q.copy(), run.simulator.flow.v.copy()


@pytest.mark.parametrize("seed", range(25))
def test_what_holds_and_what_moves_is_what_enumeration_finds(seed: int) -> None:
    """Freedoms at rest at stops, at rest with friction, both, and sliding."""
    rng = np.random.default_rng(seed)
    n = 3 if seed % 2 else 4
    side, friction = rng.integers(-1, 2, n), rng.choice([0.0, 0.5, 3.0], n)
    v = np.where((side == 0) & (rng.random(n) < 0.4), rng.normal(size=n), 0.0)
    text = chain(rng, rng.uniform(-1, 1, n), v, side, friction, 0.0)
    oracle, q, v = Chain.of(text)
    found = oracle.modes(q, v)
    assert len(found) == 1
    modes, a, tau = found[0]
    run = Run(text).to(0.0)
    flow = run.simulator.flow
    flow.observe()
    assert flow.work.freedoms.vdot == pytest.approx(a, abs=1e-8 * max(1.0, np.abs(a).max()))
    bounded = flow.work.stopping + flow.work.friction
    counts = (side != 0) | (friction > 0)
    assert bounded[counts] == pytest.approx(tau[counts], abs=1e-8 * max(1.0, np.abs(tau).max()))
    assert {hold.column for hold in flow.structure.bounds} == set(np.flatnonzero(modes == HOLDS))


@pytest.mark.parametrize("seed", [pytest.param(k, marks=pytest.mark.fast if k < 4 else ()) for k in range(25)])
def test_stops_that_are_struck_together_answer_together(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    n = 4
    side = rng.integers(-1, 2, n)
    side[0] = 1
    v = np.where(side, side * rng.uniform(0.0, 3.0, n), rng.normal(size=n))
    text = chain(rng, rng.uniform(-1, 1, n), v, side, rng.choice([0.0, 0.5], n), [0.0, 0.4, 0.9][seed % 3])
    oracle, q, v = Chain.of(text, e=[0.0, 0.4, 0.9][seed % 3])
    run = Run(text).to(0.0)
    assert len(run.times()) == 1
    before, after = run.told.around[[event.kind for event in run.told.events].index("impact")]
    assert after["joints/rate"] == pytest.approx(oracle.struck(q, v), abs=1e-8)
    lost = before["energy/kinetic"] - after["energy/kinetic"]
    assert run.told.events[0].lost == pytest.approx(lost, abs=1e-10 * before["energy/kinetic"])
    assert lost > 0.0


def swinging(seed: int) -> str:
    rng = np.random.default_rng(seed)
    q, v = rng.uniform(-0.5, 0.5, 3), rng.normal(size=3)
    return chain(rng, q, v, np.zeros(3, int), np.array([0.3, 0.0, 0.15]), 0.4, rest=0.05, width=0.5)


@pytest.mark.parametrize("seed", [3, 5, 8])
def test_a_swinging_chain_moves_as_scipy_and_enumeration_say(seed: int) -> None:
    text, times = swinging(seed), np.linspace(0.1, 0.8, 15)
    oracle, q, v = Chain.of(text, e=0.4, rest=0.05)
    expected = oracle.move(q, v, times)
    assert len(oracle.impacts) > 1
    run = Run(text)
    found = []
    for t in times:
        found.append(state(run.to(t)))
    assert np.array(found) == pytest.approx(expected, abs=1e-6)
    assert run.times()[run.times() <= times[-1]] == pytest.approx(oracle.impacts, abs=1e-7)


@pytest.mark.parametrize("seed", [3, 5, 8])
def test_a_chain_keeps_its_bounds_loses_energy_and_comes_to_rest(seed: int) -> None:
    run = Run(swinging(seed)).to(8.0)
    rows, scene = run.told.rows_, run.scene
    q, rate, stop, rubbing = (
        np.array([row[f"joints/{name}"] for row in rows])
        for name in ("coordinate", "rate", "stop_torque", "friction_torque")
    )
    low, high = (np.array([joint.limits.ranges[0][k] for joint in scene.joints]) for k in (0, 1))
    friction = np.array([joint.friction[0] if joint.friction else 0.0 for joint in scene.joints])
    assert (q >= low - 1e-9).all()
    assert (q <= high + 1e-9).all()
    assert (stop[q < high - 1e-8] >= 0.0).all()
    assert (stop[q > low + 1e-8] <= 0.0).all()
    assert (stop != 0.0).any()
    assert (np.abs(rubbing) <= friction + 1e-9).all()
    assert (rubbing * rate <= 1e-7).all()
    total = np.array([row["energy/kinetic"] + row["energy/potential"] for row in rows])
    assert np.diff(total).max() < 1e-9
    assert run.balance() < 1e-7


@pytest.mark.parametrize("seed", [3, 8])
def test_turned_and_moved_it_swings_the_same(seed: int) -> None:
    here = Run(swinging(seed)).to(1.0)
    turn = matrix_from_vector(np.array([0.7, -1.1, 0.4]))
    there = Run(moved_scene(load_text(swinging(seed)), turn, np.array([3.0, -2.0, 5.0]))).to(1.0)
    assert np.array(state(there)) == pytest.approx(np.array(state(here)), abs=1e-7)
    assert there.times() == pytest.approx(here.times(), abs=1e-8)
    assert there.texts() == here.texts()
