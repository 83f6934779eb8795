"""Friction with two coefficients: at rest and in motion."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sim
from sim.kernels.scratch import CONTACT_CONSTRAINT
from sim.kernels.tables import table
from sim.kernels.unilateral.rest_friction import choose_friction, note_grips
from sim.scene.load import load_text
from tests.contact.engine import G0, SCENES, Run, shipped
from tests.kernels.plain import plain

pytestmark = pytest.mark.contact

REST, MOTION, MASS = 0.6, 0.4, 2.0
PULLED = """
schema: 1
name: pulled
world: {shapes: [{name: ground, plane: {}}]}
bodies: {block: {mass: 2 kg, shapes: [{box: {center: [0, 0, 0.1], size: [0.4, 0.3, 0.2]}}]}}
forces: {pull: {type: wrench, body: block, force: [10 N/s*t, 0, 0]}}
contacts: {sole: {between: [block, world], friction: FRICTION}}
simulate: {duration: 1.6 s, rtol: 1e-10, SAID}
"""
BOTH = "{rest: 0.6, motion: 0.4}"


def pulled(said: str = "") -> Run:
    return Run(PULLED.replace("SAID", said).replace("FRICTION", BOTH))


def way_of_pulled(t: float) -> float:
    """Return how far a block has come that is pulled with c t from where this is more than friction at rest."""
    begins = REST * MASS * G0 / 10.0
    after = t - begins
    return (10.0 * after**3 / 6.0 + 10.0 * begins * after**2 / 2.0) / MASS - MOTION * G0 * after**2 / 2.0


def test_a_block_slides_from_where_friction_at_rest_ends_under_that_in_motion():
    run = pulled().to(1.6)
    (slides,) = [event.time for event in run.told.events if "slides" in event.text]
    # Which of four corners holds how much is chosen: where none has room is found to 1e-6 of the forces.
    assert slides == pytest.approx(REST * MASS * G0 / 10.0, abs=2e-6)
    assert run.simulator.position["block"][0] == pytest.approx(way_of_pulled(1.6), abs=2e-6)
    points = run.points()
    assert points.friction == pytest.approx(MOTION * points.normal, rel=1e-9)
    assert run.balance() < 1e-8


def bowed(speed: float = 0.2, stiffness: float = 60.0) -> tuple[float, float, float]:
    """Return when the slider of `stick_slip` first slips, for how long, and how long it sticks then.

    Stretched by y it is pulled by k y; it slips from k y = rest N on.  With y' the speed of the belt less its own,
    y = motion N/k + A cos wt + (V/w) sin wt, A = (rest - motion) N/k, until y' = V again; y is A below motion N/k then.
    """
    normal, w = (1.5 + 0.5) * G0, math.sqrt(stiffness / 1.5)
    A = (REST - MOTION) * normal / stiffness
    return REST * normal / stiffness / speed, (2 * math.pi - 2 * math.atan(A * w / speed)) / w, 2 * A / speed


@pytest.mark.fast
def test_a_slider_on_a_belt_slips_and_is_held_again_at_the_instants_of_the_closed_form():
    run = shipped("stick_slip", rtol=1e-10).to(2.4)
    begins, slips, sticks = bowed()
    # A slide ends where its speed is -5e-8 m/s at most.
    told = [(event.time, event.text.split()[-1]) for event in run.told.events if event.kind == "mode"]
    assert [what for _, what in told] == ["sticks", "slides", "sticks", "slides"]
    assert [t for t, _ in told] == pytest.approx(
        [0.0, begins, begins + slips, begins + slips + sticks], abs=5e-8
    )  # fmt: skip
    assert run.balance() < 1e-7


def test_a_block_thrown_up_a_slope_stays_where_it_stops_if_friction_at_rest_holds_it():
    slope = math.atan(0.5)
    scene = """
schema: 1
name: thrown
world: {gravity: [GX, 0, GZ], shapes: [{name: ground, plane: {}}]}
bodies: {block: {mass: 2 kg, shapes: [{box: {center: [0, 0, 0.1], size: [0.4, 0.3, 0.2]}}]}}
initial: {block: {velocity: [2, 0, 0]}}
contacts: {sole: {between: [block, world], friction: FRICTION}}
simulate: {duration: 2 s, rtol: 1e-10}
"""
    scene = scene.replace("GX", str(-G0 * math.sin(slope))).replace("GZ", str(-G0 * math.cos(slope)))
    stops = 2.0 / (G0 * (math.sin(slope) + MOTION * math.cos(slope)))
    stays = Run(scene.replace("FRICTION", BOTH)).to(2.0)
    assert stays.simulator.position["block"][0] == pytest.approx(stops, abs=1e-7)
    assert stays.simulator.energy["kinetic"] < 1e-15
    slides_back = Run(scene.replace("FRICTION", "0.4")).to(2.0)
    assert slides_back.simulator.velocity["block"][0] < -0.5


def test_the_greater_coefficient_alone_changes_nothing_of_what_slides_and_equal_ones_are_one():
    one = Run(PULLED.replace("SAID", "").replace("FRICTION", "0.5")).to(1.4)
    two = Run(PULLED.replace("SAID", "").replace("FRICTION", "{rest: 0.5, motion: 0.5}")).to(1.4)
    assert np.array_equal(one.simulator.position["block"], two.simulator.position["block"])


@pytest.mark.parametrize("resting", [True, False])
def test_a_blow_is_held_by_friction_at_rest_where_it_met_what_stuck(resting: bool):
    """A ball pushes a block along by half of what it presses with: less than friction at rest, more than in motion."""
    text = """
schema: 1
name: blow
world: {shapes: [{name: ground, plane: {}}]}
bodies:
  block: {mass: 1 kg, shapes: [{box: {center: [0, 0, 0.05], size: [1, 1, 0.1]}}]}
  ball: {mass: 0.01 kg, shapes: [{sphere: {center: [-0.7, 0, 0.6], radius: 0.1}}]}
initial: {ball: {velocity: [175, 0, -100]}, block: {velocity: [GOES, 0, 0]}}
contacts:
  sole: {between: [block, world], friction: {rest: 0.6, motion: 0.4}}
  grip: {between: [ball, block], friction: 5}
simulate: {duration: 0.02 s}
"""
    run = Run(text.replace("GOES", "0" if resting else "1")).to(0.02)
    (blow,) = [event.contacts for event in run.told.events if event.kind == "impact"]
    assert blow is not None
    sole = blow["impulse"][blow["pair"] == 0].sum(axis=0)
    share = abs(sole[0]) / sole[2]
    assert 0.41 < share < 0.6 if resting else share == pytest.approx(MOTION, rel=1e-9)


def test_time_steps_follow_the_same_law_to_first_order():
    exact, off = way_of_pulled(1.6), []
    for dt in (4e-3, 2e-3, 1e-3):
        run = pulled(f"contact: stepping, dt: {dt}").to(1.6)
        off.append(abs(run.simulator.position["block"][0] - exact))
    assert off[2] < 2e-3
    assert off[1] < 0.75 * off[0]
    assert off[2] < 0.75 * off[1]


@pytest.mark.fast
def test_time_steps_hold_at_rest_what_friction_in_motion_would_not():
    run = pulled("contact: stepping, dt: 10 ms").to(1.1)
    assert abs(run.simulator.position["block"][0]) < 1e-5
    slid = way_of_pulled(1.4)
    assert run.to(1.4).simulator.position["block"][0] == pytest.approx(slid, rel=0.1)


@pytest.mark.fast
def test_a_press_grips_on_by_its_features_and_not_by_those_of_others():
    laws = np.array([[0.4, 0.0, 0.0, 0.6], [0.5, 0.0, 0.0, 0.5]])
    last, now = table(CONTACT_CONSTRAINT, 2), table(CONTACT_CONSTRAINT, 4)
    last.meeting[:], last.key[:], last.grips[:] = 0, [[1, 2], [3, 4]], [1, 0]
    now.meeting[:], now.key[:], now.friction[:] = [0, 0, 0, 1], [[1, 2], [3, 4], [1, 4], [1, 2]], 0.1
    now.before[:, 1] = 1.0
    plain(choose_friction)(laws, last, 2, 0, 4, now)
    assert now.friction.tolist() == [0.6, 0.4, 0.4, 0.1]
    now.before[2, 1] = 1e-7  # it does not move
    plain(choose_friction)(laws, last, 2, 2, 3, now)
    assert now.friction.tolist() == [0.6, 0.4, 0.6, 0.1]
    now.rows[:] = [3, 3, 3, 1]
    P, z, G = np.zeros((4, 3)), np.zeros((4, 3)), np.ones((4, 3, 3))
    P[:, 0], z[1, 2] = [1.0, 1.0, 0.0, 1.0], 1e-3
    plain(note_grips)(4, P, z, G, now)
    assert now.grips.tolist() == [1, 0, 0, 0]
    G[:, 1:, 1:], z[0, 1:] = np.diag([1.0, 1e-2]), [0.0, 1e-4]  # moves a hundredth across
    plain(note_grips)(1, P, z, G, now)
    assert now.grips[0] == 0
    z[0, 1:] = [1e-4, 0.0]
    plain(note_grips)(1, P, z, G, now)
    assert now.grips[0] == 1


def test_stick_slip_is_verified(tmp_path):
    path = tmp_path / "s.h5"
    sim.run(sim.load(SCENES / "stick_slip.yaml"), output=path, duration=2.5)
    verdict = sim.verify(path, quick=True)
    assert verdict.ok, verdict.problems


@pytest.mark.parametrize(
    ("friction", "said"),
    [
        ("{rest: 0.6}", "key 'motion' is missing"),
        ("{motion: 0.6}", "key 'rest' is missing"),
        ("{}", "an empty map"),
        ("{rest: 0.3, motion: 0.4}", "0.3 at rest is less than 0.4 in motion"),
        ("{combine: max, rest: 0.4}", "'combine' and 'rest' at once"),
        ("{rest: 0.3, motion: 0}", "motion"),
    ],
)
def test_what_is_no_pair_of_coefficients_is_told(friction: str, said: str):
    with pytest.raises(sim.SceneError, match=said):
        load_text(PULLED.replace("SAID", "").replace("FRICTION", friction))
