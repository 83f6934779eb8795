"""Ground that gives by choice: closed forms, both ways of resolving contacts, energy, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from sim.kernels.shapes import SOFT, SOFT_SLIP, SOFT_STICK
from sim.scene.load import load_text
from sim.scene.problem import SceneError
from tests.contact.engine import G0, Run

pytestmark = pytest.mark.contact

MASS, STIFFNESS = 2.0, 5000.0
OMEGA = math.sqrt(STIFFNESS / MASS)
SUNK = MASS * G0 / STIFFNESS

# A slider that goes up and down on a light carriage, which goes along: neither turns.
SLIDER = """
schema: 1
name: slider
world: {gravity: [GX, 0, GZ], shapes: [{name: ground, plane: {}}]}
bodies:
  carriage: {mass: 0, shapes: []}
  slider: {mass: 2 kg, shapes: [{sphere: {center: [0, 0, 0.1], radius: 0.1}}]}
joints:
  along: {type: translational, parent: world, child: carriage, position: [0, 0, 0.1], axis: [1, 0, 0]}
  lift: {type: translational, parent: carriage, child: slider, position: [0, 0, 0.1], axis: [0, 0, 1]}
initial: {along: {rate: VX}, lift: {coordinate: Z, rate: VZ}}
contacts: {mat: {between: [slider, world], friction: FRICTION, soft: {stiffness: 5 kN/m, dissipation: C}}}
simulate: {duration: 5 s, rtol: 1e-10, SAID}
"""
BOX = """
schema: 1
name: box
world: {gravity: [GX, 0, GZ], shapes: [{name: ground, plane: {}}]}
bodies: {box: {mass: 2 kg, shapes: [{box: {center: [0, 0, 0.1], size: [0.6, 0.5, 0.2]}}]}}
initial: {box: START}
contacts: {mat: {between: [box, world], friction: FRICTION, soft: {stiffness: 5 kN/m, dissipation: C}}}
simulate: {duration: 5 s, rtol: 1e-10, SAID}
"""


def slider(
    vx: float = 0.0, z: float = 0.0, vz: float = 0.0, friction: str = "0", c: float = 0.0, said: str = "",
    gravity: tuple[float, float] = (0.0, -G0),
) -> Run:  # fmt: skip
    text = SLIDER.replace("VX", str(vx)).replace("VZ", str(vz)).replace("coordinate: Z", f"coordinate: {z}")
    text = text.replace("FRICTION", friction).replace("dissipation: C", f"dissipation: {c}").replace("SAID", said)
    return Run(text.replace("GX", str(gravity[0])).replace("GZ", str(gravity[1])))


def box(
    start: str = "{velocity: [0, 0, 0]}", friction: str = "0.5", c: float = 0.5, slope: float = 0.0, said: str = ""
) -> Run:  # fmt: skip
    text = BOX.replace("START", start).replace("FRICTION", friction).replace("dissipation: C", f"dissipation: {c}")
    text = text.replace("GX", str(-G0 * math.sin(slope))).replace("GZ", str(-G0 * math.cos(slope)))
    return Run(text.replace("SAID", said))


@pytest.mark.fast
def test_a_mass_on_soft_ground_swings_about_its_rest_with_the_root_of_stiffness_over_mass():
    run = slider(z=-SUNK - 1e-3)
    for t in (0.05, 0.1, 0.2):
        run.to(t)
        assert run.simulator.coordinate["lift"] == pytest.approx(-SUNK - 1e-3 * math.cos(OMEGA * t), abs=1e-10)
    assert run.balance() < 1e-9


@pytest.mark.fast
def test_a_bounce_takes_the_time_of_the_closed_form_and_gives_all_speed_back_without_dissipation():
    run = slider(z=0.1).to(0.45)
    speed = math.sqrt(2 * G0 * 0.1)
    lasts = 2.0 * (math.pi - math.atan(OMEGA * speed / G0)) / OMEGA
    touches, leaves = (event.time for event in run.told.events[:2])
    assert [event.text.split()[-1] for event in run.told.events[:2]] == ["slides", "leaves"]
    assert touches == pytest.approx(speed / G0, abs=1e-9)
    assert leaves - touches == pytest.approx(lasts, abs=1e-9)
    assert {event.kind for event in run.told.events} == {"mode"}  # no impulse
    after = 0.45 - leaves
    assert run.simulator.coordinate["lift"] == pytest.approx(speed * after - 0.5 * G0 * after**2, abs=1e-8)
    assert run.balance() < 1e-8


def given_back(speed: float, c: float) -> float:
    """Return the speed after a bounce without weight: c v - log(1 + c v) is the same before and after, v inward."""
    said = c * speed - math.log1p(c * speed)
    return brentq(lambda v: -c * v - math.log1p(-c * v) - said, 0.0, (1.0 - 1e-15) / c, xtol=1e-14)


@pytest.mark.parametrize("c", [0.2, 0.5, 2.0])
def test_dissipation_gives_back_what_the_law_of_hunt_and_crossley_does(c: float):
    run = slider(z=0.05, vz=-1.5, c=c, gravity=(0.0, 0.0)).to(0.5)
    assert run.simulator.rate["lift"] == pytest.approx(given_back(1.5, c), abs=1e-8)
    lost = 0.5 * MASS * (1.5**2 - given_back(1.5, c) ** 2)
    assert run.simulator.energy["dissipated"] == pytest.approx(lost, abs=1e-7)
    assert run.balance() < 1e-8


@pytest.mark.fast
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_friction_on_soft_ground_stops_a_slide_after_its_speed_squared_over_twice_mu_g(sign: float):
    run = slider(vx=sign * 1.2, z=-SUNK, friction="0.4").to(0.6)
    assert run.simulator.coordinate["along"] == pytest.approx(sign * 1.2**2 / (2 * 0.4 * G0), abs=1e-8)
    (stops,) = [event.time for event in run.told.events if "sticks" in event.text]
    assert stops == pytest.approx(1.2 / (0.4 * G0), abs=1e-7)
    assert run.simulator.energy["dissipated"] == pytest.approx(0.5 * MASS * 1.2**2, abs=1e-7)


def test_friction_at_rest_and_in_motion_of_soft_ground():
    """On a slope that friction at rest holds and that in motion does not: it stays where it stops, or slides on."""
    slope = math.atan(0.5)
    down = (-G0 * math.sin(slope), -G0 * math.cos(slope))
    sunk = SUNK * math.cos(slope)
    stays = slider(vx=0.5, z=-sunk, friction="{rest: 0.6, motion: 0.4}", gravity=down).to(0.5)
    stops = 0.5**2 / (2 * G0 * (math.sin(slope) + 0.4 * math.cos(slope)))
    assert stays.simulator.coordinate["along"] == pytest.approx(stops, abs=1e-8)
    slides = slider(vx=0.5, z=-sunk, friction="0.4", gravity=down).to(0.5)
    assert slides.simulator.rate["along"] < -0.1


def test_a_point_that_comes_down_on_a_slope_slides_from_the_first_and_sticks_where_it_stops():
    slope = math.atan(0.3)
    down = (-G0 * math.sin(slope), -G0 * math.cos(slope))
    run = slider(z=0.02, friction="0.6", c=1.0, gravity=down).to(2.0)
    assert run.simulator.rate["along"] == pytest.approx(0.0, abs=1e-9)
    assert [text.split()[-1] for text in run.texts()][-1] == "sticks"
    assert run.balance() < 1e-8


@pytest.mark.fast
def test_a_box_stands_on_four_points_that_share_its_weight():
    run = box("{position: [0, 0, Z]}".replace("Z", str(0.1 - MASS * G0 / (4 * STIFFNESS) - 5e-4)), c=0.0)
    assert len(run.to(1e-3).points().gap) == 4
    assert {touch.mode for touch in run.simulator.flow.structure.touches} == {SOFT_STICK}
    for t in (0.03, 0.1):
        run.to(t)
        z = -MASS * G0 / (4 * STIFFNESS) - 5e-4 * math.cos(2 * OMEGA * t)
        assert run.simulator.position["box"][2] - run_start(run) == pytest.approx(z, abs=1e-9)
        assert run.points().normal == pytest.approx([-STIFFNESS * z] * 4, abs=1e-5)


def run_start(run: Run) -> float:
    """Return the height of the box' frame in the drawing."""
    return float(run.simulator.model.poses[1].p[2])


@pytest.mark.parametrize(("friction", "holds"), [("0.6", True), ("0.4", False)])
def test_a_box_on_a_slope_is_held_up_to_the_angle_of_friction(friction: str, holds: bool):
    run = box(friction=friction, slope=math.atan(0.5)).to(0.5)
    x = float(run.simulator.position["box"][0])
    fast = float(np.linalg.norm(run.to(1.0).simulator.velocity["box"]))
    if holds:
        assert fast < 1e-2  # what is left of how it sank in: it still rocks
        assert run.simulator.position["box"][0] == pytest.approx(x, abs=1e-3)
    else:
        slope = math.atan(0.5)
        assert fast == pytest.approx(G0 * (math.sin(slope) - 0.4 * math.cos(slope)), rel=2e-2)
    assert run.balance() < 1e-7


TUMBLES = "{position: [0, 0, 0.5], rpy: [20 deg, 35 deg, 0], velocity: [1, 0.4, -1], angular_velocity: [3, -2, 1]}"


def test_a_box_that_tumbles_onto_soft_ground_keeps_its_books_and_comes_to_rest():
    run = box(TUMBLES).to(2.0)
    assert run.balance() < 1e-7
    assert run.simulator.energy["kinetic"] < 1e-5
    assert run.forces()["ground and box"][2] == pytest.approx(MASS * G0, rel=0.05)
    took = [row["energy/dissipated"] for row in run.told.rows_]
    assert np.all(np.diff(took) > -1e-12)


def test_no_point_pulls_and_friction_stays_in_its_cone():
    run = box(TUMBLES)
    for t in np.arange(0.05, 1.0, 0.01):
        points = run.to(t).points()
        assert np.all(points.normal >= -1e-9)
        assert np.all(points.friction <= points.most + 1e-6)


# --- time steps ------------------------------------------------------------------------------------


def stepped(h: float) -> str:
    return f"contact: stepping, dt: {h} s"


def test_time_steps_come_nearer_to_events_to_first_order():
    """A bounce with friction: position, speed and what was lost."""
    exact = slider(vx=0.5, z=0.05, c=0.5, friction="0.3").to(0.3)
    off = []
    for h in (2e-3, 1e-3, 5e-4):
        run = slider(vx=0.5, z=0.05, c=0.5, friction="0.3", said=stepped(h)).to(0.3)
        off.append([
            abs(run.simulator.coordinate[joint] - exact.simulator.coordinate[joint]) for joint in ("along", "lift")
        ])  # fmt: skip
    assert max(off[-1]) < 5e-3
    for fine, coarse in zip(off[-1], off[0], strict=True):
        assert fine < 0.4 * coarse


@pytest.mark.parametrize("h", [2e-3, 2e-2])
def test_a_step_of_any_length_gains_no_energy(h: float):
    run = box(TUMBLES, c=0.0, said=stepped(h)).to(3.0)
    energies = [row["energy/kinetic"] + row["energy/potential"] for row in run.told.rows_]
    most = max(row["energy/kinetic"] for row in run.told.rows_)
    assert np.max(np.maximum.accumulate(energies[::-1])[::-1] - energies) < 0.02 * most


def test_time_steps_rest_at_the_depth_of_the_weight():
    run = box(c=0.5, said=stepped(2e-3)).to(2.0)
    z = run.simulator.position["box"][2] - run_start(run)
    assert z == pytest.approx(-MASS * G0 / (4 * STIFFNESS), rel=1e-3)
    assert run.simulator.flow.work.stepped.overlap[0] == 0.0  # what gives by choice is no overlap
    stored = 4 * 0.5 * STIFFNESS * z**2
    height = run.simulator.energy["potential"] - MASS * G0 * (0.1 + z)
    assert height == pytest.approx(stored, rel=1e-6)


@pytest.mark.fast
def test_time_steps_tell_what_the_ground_holds():
    """At rest at its depth half the weight times that; a slider above the ground none."""
    for z, held in ((-SUNK, 0.5 * MASS * G0 * SUNK), (0.05, 0.0)):
        run = slider(z=z, said=stepped(1e-3)).to(0.01)
        height = run.simulator.position["slider"][2]
        there = run.simulator.coordinate["lift"]
        assert there == pytest.approx(z if z < 0.0 else z - 0.5 * G0 * 0.01**2, abs=1e-4)
        assert run.simulator.energy["potential"] - MASS * G0 * height == pytest.approx(held, abs=1e-9)


# --- what is told, and refused ---------------------------------------------------------------------


def test_force_of_the_rule_and_recorded_points_tell_what_presses():
    run = slider(vx=0.5, z=-SUNK, friction="0.4").to(0.05)
    assert run.forces()["ground and slider"] == pytest.approx([-0.4 * MASS * G0, 0.0, MASS * G0], abs=1e-6)
    assert {touch.mode for touch in run.simulator.flow.structure.touches} == {SOFT_SLIP}
    smooth = slider(z=-SUNK).to(0.01)
    assert {touch.mode for touch in smooth.simulator.flow.structure.touches} == {SOFT}


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("soft: {stiffness: 0 N/m}", "stiffness"),
        ("soft: {stiffness: 1 N/m}, restitution: 0.3", "'soft' and 'restitution' at once"),
        ("soft: {stiff: 1 N/m}", "stiff"),
        ("soft: {dissipation: -1 s/m}", "dissipation"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(said: str, found: str):
    text = BOX.replace("START", "{velocity: [0, 0, 0]}").replace("SAID", "").replace("GX", "0").replace("GZ", "-9.81")
    text = text.replace("FRICTION", "0.5").replace("soft: {stiffness: 5 kN/m, dissipation: C}", said)
    with pytest.raises(SceneError) as told:
        load_text(text)
    assert found in str(told.value)
    assert "line" in str(told.value) or ":" in str(told.value)


def test_a_soft_rule_without_numbers_has_those_of_soft_stops():
    text = BOX.replace("START", "{velocity: [0, 0, 0]}").replace("SAID", "").replace("GX", "0").replace("GZ", "-9.81")
    scene = load_text(text.replace("FRICTION", "0.5").replace("soft: {stiffness: 5 kN/m, dissipation: C}", "soft: {}"))
    soft = scene.contacts[0].soft
    assert soft is not None
    assert (soft.stiffness, soft.dissipation) == (5e4, 0.5)


def test_a_rule_that_is_switched_off_books_what_its_points_held():
    text = SLIDER.replace("VX", "0").replace("VZ", "0").replace("coordinate: Z", f"coordinate: {-3 * SUNK}")
    text = text.replace("FRICTION", "0").replace("dissipation: C", "dissipation: 0").replace("SAID", "")
    text = text.replace("GX", "0").replace("GZ", "-9.81") + "events: {gone: {at: 1 ms, release: mat}}\n"
    run = Run(text).to(0.01)
    assert run.simulator.energy["impact"] == pytest.approx(0.5 * STIFFNESS * (3 * SUNK) ** 2, rel=0.05)
    assert run.balance() < 1e-9
