"""What rests in time steps falls asleep and wakes: beside runs in which nothing may sleep, weights and books."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sim
from sim.kernels.integrators import resting
from sim.mechanism.mechanism import Mechanism
from sim.scene.load import load_text
from sim.simulation.state import State
from tests.dynamics.engine import simulator_for
from tests.kernels.plain import plain
from tests.support.mechanisms import random_tree, with_coordinates

pytestmark = [pytest.mark.contact]

STACK = """
schema: 1
name: stack
world: {gravity: [0, 0, -9.81], shapes: [{name: floor, plane: {}}]}
bodies:
  a: {mass: 1, shapes: [{box: {center: [0, 0, 0.1], size: [0.2, 0.2, 0.2]}}]}
  b: {mass: 2, shapes: [{box: {center: [0.01, 0, 0.3], size: [0.2, 0.2, 0.2]}}]}
  far: {mass: 3, shapes: [{box: {center: [3, 0, 0.1], size: [0.2, 0.2, 0.2]}}]}
  ball: {mass: 0.5, shapes: [{sphere: {center: [-2, 0, 0.3], radius: 0.1}}]}
initial:
  ball: {velocity: [2.1, 0, 3.9]}
contacts: {all: {between: ["*", "*"], friction: 0.5}, floor: {between: ["*", world], friction: 0.5}}
simulate: {duration: 2, contact: stepping, dt: 2 ms}
"""


def simulator(text: str = STACK, sleeps: bool = True) -> sim.Simulator:
    """Return a run; sleeps: whether anything may fall asleep."""
    out = sim.Simulator(sim.compile(load_text(text)))
    out.advance(0.0)
    if not sleeps:
        out.flow.work.rest.wakeful[:] = 1
    return out


def asleep(run: sim.Simulator) -> set[str]:
    """Return the names of bodies that are asleep."""
    links = run.flow.structure.tables.links
    return {run.model.body_names[int(links.body[b])] for b in np.flatnonzero(run.flow.work.rest.asleep)}


def energy(run: sim.Simulator) -> float:
    """Return the sum of all energies [J]."""
    run.flow.observe()
    found = run.flow.energies()
    return found["kinetic"] + found["potential"] + found["dissipated"] - found["input"]


def test_a_stack_sleeps_until_a_ball_hits_it_and_then_moves_as_if_it_never_had() -> None:
    """It wakes in the step that brings them together; what lies elsewhere sleeps on."""
    one, other = simulator(), simulator(sleeps=False)
    woke = hit = 0.0
    for k in range(1, 601):
        one.advance(2e-3 * k)
        other.advance(2e-3 * k)
        touched = k > 250 and abs(other.flow.v[0]) + abs(other.flow.v[6]) > 1e-3  # the stack's bodies, along x
        if k == 250:
            assert asleep(one) == {"a", "b", "far"}
        if touched and not woke:
            woke = one.t
            assert asleep(one) == {"far"}
        hit = max(hit, abs(one.flow.v[:12]).max() if woke else 0.0)
        if woke and one.t > woke + 0.1:
            break
    assert 0.5 < woke < 1.0 and asleep(other) == set() and asleep(one) == {"far"}
    assert one.flow.q == pytest.approx(other.flow.q, abs=1e-5)
    assert one.flow.v[:18] == pytest.approx(other.flow.v[:18], abs=1e-3)
    assert hit > 0.1


def test_forces_asleep_are_the_weights_and_energy_is_booked() -> None:
    run = simulator(STACK.replace("velocity: [2.1, 0, 3.9]", "velocity: [0, 0, 0]"))
    first = energy(run)
    run.advance(1.9)
    assert asleep(run) == {"a", "b", "far", "ball"}
    assert not run.flow.v.any()
    assert energy(run) == pytest.approx(first, abs=2.0 * (9.81 * 2e-3) ** 2)  # of a step of the fall
    assert run.flow.work.rules.force[1] == pytest.approx([0.0, 0.0, 6.5 * 9.81], rel=1e-4, abs=1e-2)


def test_the_energy_of_the_last_rates_is_booked() -> None:
    """A step in which something falls asleep keeps the sum of energies, as the one before does."""
    run, sums, rates = simulator(), [], []
    while not asleep(run) and run.t < 0.5:
        run.advance(run.t + 2e-3)
        sums.append(run.flow.stepper.y[-1])
        rates.append(run.flow.v[12:18].copy())
    assert asleep(run) == {"far"} and not rates[-1].any()
    lost = sums[-1] - sums[-2]
    assert 0.0 <= lost < 1e-9  # it rested but for what steps leave of their laws


def test_the_energy_of_links_is_that_of_the_inertia() -> None:
    rng = np.random.default_rng(5)
    flow = simulator_for(with_coordinates(rng, random_tree(rng, 4))).flow
    mechanism = Mechanism.of(flow.model, flow.structure)
    mechanism.update(flow.q, flow.v)
    links = mechanism.work.links
    found = sum(plain(resting.kinetic_of)(mechanism.structure.tables.links, links, b) for b in range(1, len(links)))
    assert found == pytest.approx(0.5 * flow.v @ mechanism.inertia() @ flow.v, rel=1e-12)


def test_a_run_goes_on_from_a_file_with_what_is_asleep(tmp_path: Path) -> None:
    run = simulator()
    run.advance(0.5)
    assert asleep(run)
    run.snapshot().save(tmp_path / "state.h5")
    again = sim.Simulator(run.model)
    again.restore(State.load(tmp_path / "state.h5"))
    assert asleep(again) == asleep(run)
    for t in (0.6, 0.8, 1.2):
        run.advance(t)
        again.advance(t)
        assert (again.flow.q == run.flow.q).all() and (again.flow.v == run.flow.v).all()
        assert asleep(again) == asleep(run)


CREEP = """
schema: 1
name: creep
world: {gravity: [0, 0, -9.81]}
bodies:
  belt: {mass: 10, shapes: [{box: {center: [0, 0, -0.1], size: [4, 1, 0.2]}}]}
  box: {mass: 1, shapes: [{box: {center: [0, 0, 0.1], size: [0.2, 0.2, 0.2]}}]}
joints: {slide: {type: translational, parent: world, child: belt, position: [0, 0, 0], axis: [1, 0, 0], damping: 1000}}
initial: {slide: {rate: 1 mm/s}}
contacts: {all: {between: [belt, box], friction: 0.5}}
forces: {push: {type: wrench, body: belt, force: [1, 0, 0]}}
simulate: {duration: 2, contact: stepping, dt: 2 ms}
"""


def test_nothing_sleeps_on_what_moves_slowly() -> None:
    run = simulator(CREEP)
    run.advance(1.0)
    before = run.position["box"][0]
    run.advance(2.0)
    assert asleep(run) == set()
    assert run.position["box"][0] - before == pytest.approx(1e-3, rel=0.02)


def test_what_creeps_down_a_slope_stays_awake() -> None:
    """Gravity tilted beyond the cone: it slides at once; within it, it sleeps."""
    for pull, sleeps in ((5.5, False), (3.0, True)):
        text = STACK.replace("velocity: [2.1, 0, 3.9]", "velocity: [0, 0, 0]")
        run = simulator(text.replace("gravity: [0", f"gravity: [{pull}"))
        run.advance(1.5)
        assert ("far" in asleep(run)) == sleeps


@pytest.mark.parametrize(("dissipation", "sleeps"), [(1.0, True), (1000.0, False)])
def test_what_lies_on_soft_ground_sleeps_where_that_gives_way_soon(dissipation: float, sleeps: bool) -> None:
    """The last is down by 3 mm, so that it comes to rest by a power of 1000 s/m times that, 3 s."""
    text = STACK.replace("velocity: [2.1, 0, 3.9]", "velocity: [0, 0, 0]")
    soft = f"soft: {{stiffness: 10 kN/m, dissipation: {dissipation} s/m}}"
    run = simulator(text.replace('["*", world], friction: 0.5', f'["*", world], friction: 0.5, {soft}'))
    run.advance(2.5)
    assert ("far" in asleep(run)) == sleeps
    if sleeps:
        assert run.flow.work.rules.force[1] == pytest.approx([0.0, 0.0, 6.5 * 9.81], rel=1e-4, abs=1e-2)


def test_a_caller_that_pushes_wakes_what_sleeps() -> None:
    run = simulator(STACK.replace("velocity: [2.1, 0, 3.9]", "velocity: [0, 0, 0]"))
    run.advance(1.0)
    assert "far" in asleep(run)
    run.apply_wrench("far", force_W=[40.0, 0.0, 0.0], duration=0.1)
    run.advance(1.1)
    assert asleep(run) == set() and run.velocity["far"][0] == pytest.approx((40.0 / 3.0 - 0.5 * 9.81) * 0.1, rel=0.05)


def test_rollouts_sleep_as_runs_do() -> None:
    model = sim.compile(load_text(STACK))
    ensemble = sim.Ensemble(model)
    found = ensemble.rollout(np.tile(ensemble.start, (2, 1)), steps=12, dt=0.1, step=2e-3, contacts=True)
    run = simulator()
    for k in range(1, 13):
        run.advance(0.1 * k)
    assert found.ok.all() and found.q[0, -1] == pytest.approx(run.flow.q, abs=1e-6)
    assert found.contacts.force[1, 6, 1, 2] == pytest.approx(6.0 * 9.81, rel=1e-4)


QUICK = """
schema: 1
name: quick
world: {gravity: [0, 0, -9.81], shapes: [{name: floor, plane: {}}]}
bodies:
  a: {mass: 1, shapes: [{box: {center: [0, 0, 0.1], size: [0.2, 0.2, 0.2]}}]}
  b: {mass: 1, shapes: [{box: {center: [0.2, 0, 0.1], size: [0.2, 0.2, 0.2]}}]}
  next: {mass: 1, shapes: [{box: {center: [0.42, 0, 0.1], size: [0.2, 0.2, 0.2]}}]}
  far: {mass: 1, shapes: [{box: {center: [9, 0, 0.1], size: [0.2, 0.2, 0.2]}}]}
  ball: {mass: 1, shapes: [{sphere: {center: [-8.1, 0, 0.3], radius: 0.1}}]}
  late: {mass: 1, shapes: [{box: {center: [5, 0, 0.25], size: [0.2, 0.2, 0.2]}}]}  # it lands before the others sleep
initial: {ball: {velocity: [20, 0, 1.5]}}
contacts: {all: {between: ["*", "*"], friction: 0.5}, floor: {between: ["*", world], friction: 0.5}}
simulate: {duration: 2, contact: stepping, dt: 10 ms}
"""


@pytest.mark.fast
def test_what_is_hit_hands_the_blow_on_to_what_sleeps_within_the_same_step() -> None:
    """The ball moves 0.2 m a step; the box behind the two that it hits is reached before that step ends, and wakes."""
    run, other = simulator(QUICK), simulator(QUICK, sleeps=False)
    run.advance(0.25)
    assert asleep(run) == {"a", "b", "next", "far"} and run.position["late"][2] == pytest.approx(0.1, abs=1e-3)
    run.advance(0.39)
    assert asleep(run) >= {"a", "b", "next", "far"}
    run.advance(0.4)
    assert "far" in asleep(run) and not {"a", "b", "next"} & asleep(run) and run.velocity["next"][0] > 0.1
    run.advance(0.6)
    other.advance(0.6)
    for name in ("a", "b", "next", "ball"):
        assert run.position[name] == pytest.approx(other.position[name], abs=1e-4)
    assert run.position["next"][0] > 0.6 and not run.velocity["far"].any()
    run.apply_wrench("far", force_W=[40.0, 0.0, 0.0], duration=0.05)
    run.advance(0.65)
    assert run.velocity["far"][0] > 0.5 and asleep(run) == set()
