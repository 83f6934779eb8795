"""Torques and wrenches that follow the forces that they change, against closed form.

A weight can slide upright on a foot that stands.  Where a force u acts between them, the contact carries
F = M g + u (the weight then has the acceleration u / m - g), the joint u; each law below has one root u.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from sim.scene.load import load_text
from sim.scene.problem import SceneError
from sim.simulation.simulation_error import SimulationError
from tests.contact.engine import G0, Run

pytestmark = [pytest.mark.contact, pytest.mark.fast]

FOOT, WEIGHT = 5.0, 2.0
HOPPER = """
schema: 1
world: {{shapes: [{{plane: {{}}}}]}}
bodies:
  foot: {{mass: 5, shapes: [{{box: {{center: [0, 0, 0.05], size: [0.4, 0.4, 0.1]}}}}]}}
  weight: {{mass: 2, com: [0, 0, 0.5], inertia: [0.1, 0.1, 0.1]}}
joints:
  slide: {{type: translational, parent: foot, child: weight, position: [0, 0, 0.5], axis: [0, 0, 1]}}
{acts}
contacts: {{sole: {{between: [foot, world], friction: 1}}}}
simulate: {{duration: 1, {simulate}}}
"""


def hopper(law: str, simulate: str = "rtol: 1e-9") -> Run:
    return Run(
        HOPPER.format(acts=f'controllers: {{push: {{type: torque, torques: {{slide: "{law}"}}}}}}', simulate=simulate)
    )


# Law, and u; k is the share that is fed back: beyond 1, to take the last value for the next one would run away.
LAWS = {
    "0.5*force('sole')[2]": 0.5 * FOOT * G0 / 0.5,
    "-3*force('sole')[2] + 20 N": (20.0 - 3.0 * FOOT * G0) / 4.0,
    "0.25*(40 N - force('slide')[2])": 0.25 * 40.0 / 1.25,
    "10 N - 4*torque('slide')": 2.0,
    "dot([0, 0, 0.2], force('sole')) - force('slide')[2]/2": 0.2 * FOOT * G0 / (1.0 - 0.2 + 0.5),
}


@pytest.mark.parametrize("law", LAWS)
def test_a_torque_and_the_forces_that_it_reads_are_found_together(law: str) -> None:
    u = LAWS[law]
    run = hopper(law).to(0.0)
    flow = run.simulator.flow
    flow.observe()
    assert flow.work.torque[0] == pytest.approx(u, rel=1e-12)
    assert flow.work.rules.force[0, 2] == pytest.approx(FOOT * G0 + u, rel=1e-12)
    run.to(1e-3)  # the acceleration is constant
    assert run.simulator.v[np.argmax(np.abs(run.simulator.v))] == pytest.approx((u / WEIGHT - G0) * 1e-3, rel=1e-9)


def test_the_weight_on_a_contact_is_felt_from_the_start_on() -> None:
    text = """
schema: 1
world: {shapes: [{name: g, plane: {}}]}
bodies:
  foot: {mass: 5 kg, shapes: [{box: {center: [0, 0, 0.05], size: [0.4, 0.4, 0.1]}}]}
  arm: {mass: 1 kg, shapes: [{capsule: {from: [0, 0, 0.3], to: [0, 0, 0.6], radius: 2 cm}}]}
joints:
  hinge: {type: rotational, parent: foot, child: arm, position: [0, 0, 0.3], axis: [0, 1, 0]}
controllers:
  track: {type: torque, torques: {hinge: "0.01 m*force('c')[2]"}}
contacts: {c: {between: [foot, world]}}
simulate: {duration: 0.2 s, record: 1000 Hz}
"""
    run = Run(text).to(0.02)
    rows = [row for row in run.told.rows_ if row["time"] > 0.0]
    assert rows
    for row in rows:  # the arm's own acceleration is what the contact bears less than the weight
        theta, omega, torque = (row[f"joints/{what}"][0] for what in ("coordinate", "rate", "torque"))
        inertia = run.simulator.model.bodies.inertia_B[2][1] + 0.15**2
        alpha = (torque + 0.15 * G0 * math.sin(theta)) / inertia
        pressing = 6.0 * G0 - 0.15 * (alpha * math.sin(theta) + omega**2 * math.cos(theta))
        assert torque == pytest.approx(0.01 * pressing, rel=1e-9)


@pytest.mark.parametrize("law", ["force('sole')[2]", "force('slide')[2] + 1 N", "torque('slide')"])
def test_laws_without_one_root_end_in_a_sentence(law: str) -> None:
    with pytest.raises(SimulationError, match=r"controllers\.push.*read forces that depend on what they give") as error:
        hopper(law).to(0.01)
    assert "<text>:9:" in str(error.value)


def test_laws_that_a_contact_cannot_answer_end_in_a_sentence() -> None:
    # Pressed, F = M g + u with u = 2 F + 30 N is below zero; open, u = 30 N presses the foot down.
    with pytest.raises(SimulationError, match=r"controllers\.push.*make these contacts change, without end"):
        hopper("2*force('sole')[2] + 30 N").to(0.0)


def test_several_laws_at_once_and_wrenches_beside() -> None:
    # u = F/4 + w/2, w = -F/2 pushes the weight by force w: F = M g - m a' ... the foot bears u, the weight u and w.
    acts = """
forces: {hold: {type: wrench, body: weight, force: [0, 0, "-force('sole')[2]/2"]}}
controllers: {push: {type: torque, torques: {slide: "force('sole')[2]/4 + 3 N"}}}
"""
    flow = Run(HOPPER.format(acts=acts, simulate="rtol: 1e-9")).to(0.0).simulator.flow
    flow.observe()
    pressing = (FOOT * G0 + 3.0) / (1.0 - 0.25)  # F = M g + u, whatever pushes the weight
    assert flow.work.rules.force[0, 2] == pytest.approx(pressing, rel=1e-12)
    assert flow.work.torque[0] == pytest.approx(pressing / 4.0 + 3.0, rel=1e-12)
    assert flow.work.forces.wrench[0, 5] == pytest.approx(-pressing / 2.0, rel=1e-12)


def test_the_recording_rate_changes_no_bit_of_the_motion() -> None:
    ends = [hopper("0.5*force('sole')[2]", f"rtol: 1e-9, record: {rate}").to(0.1).simulator.v for rate in (10, 970)]
    np.testing.assert_array_equal(*ends)


@pytest.mark.parametrize("law", ["0.5*force('sole')[2]", "0.25*(40 N - force('slide')[2])"])
def test_time_steps_read_the_last_step(law: str) -> None:
    run = hopper(law, "contact: stepping, dt: 1 ms, record: 1000 Hz").to(0.05)
    for row in run.told.rows_[35:]:  # half of what is missing at the start is left after each step
        assert row["joints/torque"][0] == pytest.approx(LAWS[law], rel=1e-6)


@pytest.mark.parametrize(
    ("when", "fires"), [("force('sole')[2] < 1 N", False), ("force('sole')[2] > 60 N", True)], ids=["lifted", "loaded"]
)
@pytest.mark.parametrize("simulate", ["rtol: 1e-9", "contact: stepping, dt: 1 ms"])
def test_what_stands_at_the_start_presses_at_the_start(when: str, fires: bool, simulate: str) -> None:
    acts = f"""
controllers: {{hold: {{type: torque, torques: {{slide: "{WEIGHT * G0} N"}}}}}}
events: {{feels: {{when: "{when}", stop: true}}}}
"""
    run = Run(HOPPER.format(acts=acts, simulate=simulate)).to(0.01)
    assert run.times("scene").tolist() == ([0.0] if fires else [])


@pytest.mark.parametrize(
    "law",
    ["abs(force('sole')[2])", "norm(force('slide'))", "force('sole')[2]*torque('slide')/1 N",
     "clip(torque('slide'), -1 N, 1 N)", "1 N^2/force('sole')[2]", "force('sole')[2]^2/1 N",
     "min(torque('slide'), 1 N)"],
)  # fmt: skip
@pytest.mark.parametrize("place", ["torque", "wrench"])
def test_what_is_no_sum_of_forces_is_refused_with_its_place(law: str, place: str) -> None:
    acts = f'controllers: {{push: {{type: torque, torques: {{slide: "{law}"}}}}}}'
    if place == "wrench":
        acts = f'forces: {{push: {{type: wrench, body: weight, force: [0, 0, "{law}"]}}}}'
    with pytest.raises(SceneError, match=r"is no sum of forces times") as error:
        load_text(HOPPER.format(acts=acts, simulate="rtol: 1e-9"))
    (problem,) = error.value.problems
    assert problem.where is not None and problem.where.line == 9
    assert problem.path.endswith(".slide" if place == "torque" else ".force[2]")


def test_in_time_steps_contacts_are_known_and_may_be_cut_off() -> None:
    law = "min(force('sole')[2], 30 N)"
    run = hopper(law, "contact: stepping, dt: 1 ms").to(0.01)
    run.simulator.flow.observe()
    assert run.simulator.flow.work.torque[0] == pytest.approx(30.0, rel=1e-12)


def test_forces_that_are_one_choice_among_many_are_refused() -> None:
    text = """
schema: 1
bodies: {beam: {mass: 1, com: [0, 0, 0], inertia: [1, 1, 1]}, wheel: {mass: 1, com: [5, 0, 0], inertia: [1, 1, 1]}}
joints:
  left: {type: rotational, parent: world, child: beam, position: [-1, 0, 0], axis: [0, 1, 0]}
  right: {type: rotational, parent: world, child: beam, position: [1, 0, 0], axis: [0, 1, 0]}
  spin: {type: rotational, parent: world, child: wheel, position: [5, 0, 0], axis: [0, 1, 0]}
controllers: {reads: {type: torque, torques: {spin: "1 m*force('left')[0]"}}}
simulate: {duration: 0.1}
"""
    with pytest.raises(SimulationError, match=r"controllers\.reads.*force\('left'\) is not determined here"):
        Run(text).to(0.1)
