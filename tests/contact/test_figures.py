"""Figures on the ground: one stands, one tumbles down a flight of stairs, one leaves the high bar and lands."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

import sim
from render.signals import Signals
from sim.recording import Recording
from sim.scene.spec import Scene
from tests.contact.engine import G0, SCENES
from tests.support.rotations import matrix_from_quat

pytestmark = pytest.mark.contact


def masses(scene: Scene) -> dict[str, float]:
    return {body.name: body.mass for body in scene.bodies}


def centre_of_mass(recording: Recording, scene: Scene) -> np.ndarray:
    total = sum(mass * np.asarray(recording.com[name]) for name, mass in masses(scene).items())
    return total / sum(masses(scene).values())


def spin(recording: Recording, scene: Scene, row: int) -> np.ndarray:
    """Return the angular momentum of all bodies about their common centre of mass, N m s, world axes."""
    centre, total = centre_of_mass(recording, scene)[row], np.zeros(3)
    for body in scene.bodies:
        R = matrix_from_quat(recording.quat_wxyz[body.name][row])
        w, p = recording.angular_velocity[body.name][row], recording.com[body.name][row]
        v = recording.velocity[body.name][row] + np.cross(w, p - recording.position[body.name][row])
        xx, yy, zz, xy, xz, yz = body.inertia
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        total += R @ inertia @ R.T @ w + body.mass * np.cross(p - centre, v)
    return total


def test_a_figure_stands_though_it_is_pushed(tmp_path: Path) -> None:
    scene = sim.load(SCENES / "figure_stands.yaml")
    recording = sim.run(scene, output=tmp_path / "stands.h5")
    weight = G0 * sum(masses(scene).values())
    head = recording.position["human.head"]
    assert recording.time[-1] == scene.simulate.duration
    assert np.abs(head[:, 2] - head[0, 2]).max() < 0.02
    assert np.ptp(head[:, 0]) > 0.03  # the push was felt
    feet = recording.contact_force("human.foot_l") + recording.contact_force("human.foot_r")
    assert feet[-1] == pytest.approx([0.0, 0.0, weight], abs=1e-3 * weight)
    with h5py.File(tmp_path / "stands.h5") as file:
        moment = Signals(file).evaluate("zmp('human.foot_?', 'world')").values.T
    # Between the ends of the soles, but for the moment of the push, when the heels leave the ground.
    unchanged = (recording.time > 0.0) & (np.abs(recording.time - 1.02) > 0.03)
    points = recording.contacts(-1).point
    low, high = points.min(axis=0), points.max(axis=0)
    assert (moment[unchanged, :2] > low[:2] + 0.01).all()
    assert (moment[unchanged, :2] < high[:2] - 0.01).all()
    assert moment[-1, :2] == pytest.approx(centre_of_mass(recording, scene)[-1, :2], abs=5e-3)
    recording.close()


def test_a_limp_figure_tumbles_down_a_flight_of_stairs() -> None:
    scene = sim.load(SCENES / "ragdoll_stairs.yaml")
    simulator = sim.Simulator(sim.compile(scene))
    flight = scene.parameters["steps"] * scene.parameters["rise"]
    start, energies, deepest, turned = simulator.position["human.pelvis"], [], 0.0, False
    while simulator.t < scene.simulate.duration - 1e-9:
        simulator.advance(simulator.t + scene.simulate.dt)
        work, energy = simulator.flow.work, simulator.energy
        contacts = work.contacts[: int(work.stepped.points[0])]
        gaps = contacts.gap[contacts.meeting >= 0]  # the others are those of joints at their limits
        deepest = min(deepest, gaps.min(initial=0.0))
        energies.append(energy["kinetic"] + energy["potential"])
        turned |= bool(simulator.rotation["human.chest"][2, 2] < -0.5)
    rises = np.maximum(np.diff(energies), 0.0)
    assert start[2] - simulator.position["human.pelvis"][2] > flight
    assert turned
    assert deepest > -1e-3
    assert rises.max() < 1e-4 * energies[0]  # of first order in the step
    assert rises.sum() < 2e-3 * (energies[0] - energies[-1])
    simulator.advance(simulator.t + 3.0)  # how long a limb swings on differs with roundoff, as the whole fall does
    contacts = simulator.flow.pressed()
    assert contacts.gap[contacts.meeting >= 0].min() > -2e-6
    assert simulator.energy["kinetic"] < 1e-2  # a hand that hangs free over a step may swing on
    for body in ("human.pelvis", "human.chest"):
        assert np.abs(simulator.angular_velocity[body]).max() < 1e-5


def test_a_figure_leaves_the_high_bar_flies_and_lands() -> None:
    scene = sim.load(SCENES / "high_bar_dismount.yaml")
    recording = sim.run(scene)
    time, weight = recording.time, G0 * sum(masses(scene).values())
    times = {event.name: event.time for event in recording.events if event.kind == "scene"}
    landing = next(event for event in recording.events if event.kind == "impact")
    assert times["opens"] == pytest.approx(times["lets go"] + 0.5, abs=1e-12)
    assert "shank" in landing.text and "mat" in landing.text
    assert landing.time > times["lets go"] + 0.5
    # In the air: a parabola, and no moment about the centre of mass whatever the joints do.
    air = np.flatnonzero((time > times["lets go"]) & (time < landing.time))
    centre = centre_of_mass(recording, scene)[air]
    t = time[air] - time[air[0]]
    rest = centre + 0.5 * G0 * t[:, None] ** 2 * [0.0, 0.0, 1.0]
    line = rest[0] + (rest[-1] - rest[0]) * (t / t[-1])[:, None]
    assert np.abs(rest - line).max() < 1e-7
    spins = np.array([spin(recording, scene, row) for row in air])
    assert np.abs(spins - spins[0]).max() < 1e-7 * np.linalg.norm(spins[0])
    turns = np.array([recording.angular_velocity["monkey.torso"][row][1] for row in air])
    assert np.abs(turns).max() > 1.5 * np.abs(turns[0])  # it tucks, and turns the faster
    # On the mat.
    assert recording.energy.kinetic[-1] < 1e-3
    assert recording.contact_force("world")[-1] == pytest.approx([0.0, 0.0, -weight], abs=1e-3 * weight)
    assert 0.2 < recording.position["monkey.torso"][-1, 2] < 0.6
    assert recording.contacts(-1).point[:, 2] == pytest.approx(0.2, abs=1e-9)
    recording.close()


def test_a_gymnast_catches_the_low_bar_lets_go_and_lands() -> None:
    """Its hands are dampened so stiffly that explicit steps are held at half a millisecond, on the mat, too."""
    scene = sim.load(SCENES / "uneven_bars.yaml")
    recording = sim.run(scene)
    time = recording.time
    times = {event.name: event.time for event in recording.events if event.kind == "scene"}
    landing = next(event for event in recording.events if event.kind == "impact" and "mat" in event.text)
    assert times["right hand lets go"] == pytest.approx(times["catches"] + 0.05, abs=1e-12)
    assert 0.5 < times["catches"] < times["dismount"] < landing.time
    # In the air: a parabola.
    air = np.flatnonzero((time > times["dismount"]) & (time < landing.time))
    centre = centre_of_mass(recording, scene)[air]
    t = time[air] - time[air[0]]
    rest = centre + 0.5 * G0 * t[:, None] ** 2 * [0.0, 0.0, 1.0]
    line = rest[0] + (rest[-1] - rest[0]) * (t / t[-1])[:, None]
    assert len(air) > 10 and np.abs(rest - line).max() < 1e-7
    # On the mat, where it has all but come to rest, with nothing gained; most steps on it are implicit ones.
    assert np.abs(recording.energy.balance).max() < 1e-7 * recording.energy.kinetic.max()
    assert recording.energy.kinetic[-1] < 1e-3 * recording.energy.kinetic.max()
    assert recording.contacts(-1).point[:, 2] == pytest.approx(0.2, abs=1e-9)
    assert recording.run["steps"] < 10_000
    recording.close()


def test_the_torn_rope_of_the_swing_falls_on_the_ground() -> None:
    """As the swing without a ground until they meet; then no deeper than that."""
    recording = sim.run(sim.load(SCENES / "swing_ground.yaml"))
    other = sim.run(sim.load(SCENES / "swing.yaml"), duration=3.7)
    before = np.searchsorted(recording.time, other.time[-1] - 1e-6)
    assert recording.position["play.monkey.torso"][before] == pytest.approx(
        other.position["monkey.torso"][-1], abs=1e-6
    )
    half, radius = 0.85, 0.012
    turns = np.array([matrix_from_quat(quat) for quat in recording.quat_wxyz["play.rope_l"]])
    ends = recording.com["play.rope_l"][:, 2, None] + turns[:, 2, 2, None] * [half, -half] - radius
    assert ends.min() == pytest.approx(0.0, abs=1e-8)
    assert np.abs(recording.contact_force("play.monkey.shank_l")).max() > 1.0
    for seen in (recording, other):
        seen.close()
