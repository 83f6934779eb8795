"""Energy in time steps: rows tell of states that are, and what steps take is told.

Overlaps at the start are refused as where contacts are events.
"""

from __future__ import annotations

import numpy as np
import pytest

import sim
from sim.cli.running import describe
from sim.scene.load import load_text
from sim.simulation.simulation_error import SimulationError
from tests.contact.engine import G0, Run

pytestmark = pytest.mark.contact

BALL = """
schema: 1
world: {{shapes: [{{name: floor, plane: {{}}}}]}}
bodies:
  ball: {{mass: 1 kg, shapes: [{{sphere: {{center: [0, 0, 10.1], radius: 0.1}}}}]}}
contacts: {{c: {{between: [ball, world], friction: 0, restitution: {e}}}}}
events: {events}
simulate: {{duration: {span}, contact: stepping, dt: 4 ms, record: {record}}}
"""
FASTEST = np.sqrt(2.0 * G0 * 10.0)
# What a step of free fall may be off by: a height of half a step at the largest speed, and as much by its turn.
STEP = G0 * FASTEST * 4e-3


def ball(e: float = 1.0, record: float = 990.0, events: str = "{}", span: float = 6.0) -> Run:
    return Run(BALL.format(e=e, record=record, events=events, span=span))


@pytest.mark.parametrize("e", [1.0, 0.5, 0.0])
@pytest.mark.parametrize("record", [120.0, 990.0])
def test_rows_within_a_collision_tell_of_a_state_that_is(e: float, record: float) -> None:
    rows = ball(e, record).to(6.0).told.rows_
    balance = np.array([row["energy/balance"] for row in rows])
    height = (
        np.array([row["position"][0, 2] if row["position"].ndim == 2 else row["position"][2] for row in rows]) - 0.1
    )
    kinetic = np.array([row["energy/kinetic"] for row in rows])
    assert np.abs(balance).max() < STEP
    assert height.min() > -G0 * 4e-3**2  # what a fall from rest reaches in a step
    if e == 1.0:  # nowhere slower than at its height, to what a step may be off by
        assert np.abs(kinetic - G0 * (10.0 - height)).max() < STEP


def test_an_event_within_a_collision_goes_on_from_a_state_that_is() -> None:
    # The rate passes zero only at a mean of speeds before and after, which the ball never has.
    run = ball(events="{turns: {when: \"velocity('ball')[2] > -5 m/s and position('ball')[2] < 1 m\", caption: turns}}")
    run.to(1.6)
    assert len(run.times("scene")) == 1
    before, after = run.told.around[[event.kind for event in run.told.events].index("scene")]
    for row in (before, after, run.told.rows_[-1]):
        assert abs(row["energy/balance"]) < STEP
    assert after["energy/kinetic"] > 90.0


STICKS = """
schema: 1
world: {{shapes: [{{name: floor, plane: {{}}}}]}}
bodies:
  stone:
    mass: 1
    com: [0, 0, -0.01]
    inertia: [2e-4, 1.6e-3, 1.7e-3, 2e-5, 0, 0]
    position: [0, 0, 0]
    shapes: [{{ellipsoid: {{center: [0, 0, 0], radii: [0.2, 0.03, 0.02]}}}}]
initial: {{stone: {{position: [0, 0, 0.02], velocity: [0.004, -0.006, 0], angular_velocity: [0.3, 0.2, 5]}}}}
contacts: {{sole: {{between: [stone, world.floor], friction: 100}}}}
simulate: {{duration: 1 s, record: 200 Hz, contact: stepping, dt: {dt}}}
"""


def test_what_sticking_contacts_take_is_measured() -> None:
    # Without sliding or collision nothing is lost, or won, but by steps: of second order.
    taken = []
    for dt in (1e-3, 5e-4, 2.5e-4):
        with sim.run(load_text(STICKS.format(dt=dt))) as run:
            taken.append(run.summary["taken_by_contacts"])
            total, peak = run.energy.kinetic + run.energy.potential, run.summary["peak_kinetic_energy"]
            assert taken[-1] == pytest.approx(run.energy.dissipated[-1], rel=1e-9)
            lost = total[0] - total[-1]
            assert run.summary["lost_by_steps"] == pytest.approx(lost, rel=1e-9)
            said = describe(dict(run.summary, recording="x.h5"))
            assert f"{taken[-1]:.2g} J without colliding or sliding" in said
            assert ("warning" in said) == (min(taken[-1], lost) > 0.01 * peak)
            assert f"they lose {lost:.2g} J in all" in said or lost < 0.01 * peak
    assert taken[0] / taken[1] == pytest.approx(4.0, rel=0.2)
    assert taken[1] / taken[2] == pytest.approx(4.0, rel=0.2)
    assert abs(taken[0]) < 1e-3 * peak


def test_what_collisions_and_friction_take_is_not_counted() -> None:
    falls = ball(0.5, 120.0, span=3.0).to(3.0).simulator.flow
    assert falls.energies()["dissipated"] > 50.0
    assert abs(falls.taken()["taken_by_contacts"]) < 1e-9
    slides = (
        Run("""
schema: 1
world: {shapes: [{plane: {}}]}
bodies: {box: {mass: 1, shapes: [{box: {center: [0, 0, 0.1], size: [0.2, 0.2, 0.2]}}]}}
initial: {box: {velocity: [2, 0, 0]}}
contacts: {c: {between: [box, world], friction: 0.5}}
simulate: {contact: stepping, dt: 2 ms}
""")
        .to(0.3)
        .simulator.flow
    )
    assert slides.energies()["dissipated"] > 0.5
    assert abs(slides.taken()["taken_by_contacts"]) < 1e-4 * slides.energies()["dissipated"]


ROW = """
schema: 1
world: {{shapes: [{{name: ground, plane: {{}}}}]}}
repeat:
  - for: {{k: [0, 1, 2, 3]}}
    bodies: {{"box${{k}}": {{mass: 1, shapes: [{{box: {{center: ["0.15*k", 0, 0.1], size: [0.2, 0.2, 0.2]}}}}]}}}}
contacts: {{c: {{between: ["*", {others}]}}}}
simulate: {{{simulate}}}
"""


@pytest.mark.parametrize("simulate", ["rtol: 1e-8", "contact: stepping", "contact: auto"])
def test_overlaps_at_the_start_are_refused_in_the_same_words(simulate: str) -> None:
    text = ROW.format(others='"*"', simulate=simulate)
    with pytest.raises(SimulationError, match=r"t = 0 s: box\d and box\d overlap by 0\.05 m where they begin to touch"):
        Run(text).to(0.01)


def test_overlaps_of_what_begins_to_touch_are_refused_in_time_steps() -> None:
    text = """
schema: 1
world: {shapes: [{name: ground, plane: {}}]}
bodies: {box: {mass: 1, shapes: [{box: {center: [0, 0, 0.05], size: [0.2, 0.2, 0.2]}}]}}
contacts: {c: {between: [box, world], active: false}}
events: {now: {at: 10 ms, touch: c}}
simulate: {contact: stepping}
"""
    with pytest.raises(SimulationError, match=r"t = 0\.01 s: ground and box overlap by 0\.050[0-9]* m"):
        Run(text).to(0.05)


def test_a_joint_that_starts_beyond_its_rigid_stop_is_refused_in_time_steps() -> None:
    text = """
schema: 1
bodies: {arm: {mass: 1, com: [1, 0, 0], inertia: [1, 1, 1]}}
joints:
  hinge:
    type: rotational
    parent: world
    child: arm
    position: [0, 0, 0]
    axis: [0, 1, 0]
    limits: {range: [-1, 1], stop: rigid}
initial: {hinge: 1.2}
simulate: {contact: stepping}
"""
    for how in ("stepping", "event"):
        with pytest.raises(SimulationError, match=r"hinge.*0\.2"):
            Run(text.replace("stepping", how)).to(0.01)
