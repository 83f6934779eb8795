"""The limp figure and dominoes: events at two tolerances, events and time steps, and rest in event mode."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest

import sim
from sim.scene.load import load_text
from sim.scene.spec import Scene
from tests.contact.engine import CONE, G0, PENETRATION, SCENES, Run

pytestmark = pytest.mark.contact
CLOSING = -0.05  # m/s: an approach that counts as an impact


def figure() -> Scene:
    return sim.load(SCENES / "figure_falls.yaml")


def events(scene: Scene, **said: float | str) -> Run:
    return Run(replace(scene, simulate=replace(scene.simulate, contact="event", **said)))


def impacts_of_steps(scene: Scene, dt: float, until: float) -> list[float]:
    """When points begin to press that closed before, by the gap and the approach at the step's start."""
    simulate = replace(scene.simulate, contact="stepping", dt=dt)
    simulator = sim.Simulator(sim.compile(replace(scene, simulate=simulate)))
    known: set[tuple[int, ...]] = set()
    times = []
    while simulator.t < until:
        t = simulator.t
        simulator.advance(t + dt)
        contacts = simulator.flow.work.contacts[: simulator.flow.work.stepped.points[0]]
        pressed = {}
        for press in contacts[(contacts.meeting >= 0) & (contacts.impulse[:, 0] > 0.0)]:
            pressed[(int(press.meeting), *press.key.tolist())] = press
        for key, press in pressed.items():
            approach = press.free[0] - press.shift[0]
            if key not in known and approach < CLOSING:
                times.append(t - max(press.gap, 0.0) / approach)
        known = set(pressed)
    return sorted(times)


def test_tolerances_agree_until_the_third_event() -> None:
    loose, tight = (events(figure(), rtol=rtol).to(0.0683) for rtol in (1e-8, 1e-10))
    kinds = [[(e.kind, e.text) for e in run.told.events] for run in (loose, tight)]
    assert len(kinds[0]) >= 3
    assert kinds[0] == kinds[1]
    times = [np.array([e.time for e in run.told.events]) for run in (loose, tight)]
    assert times[0] == pytest.approx(times[1], abs=1e-9)
    for body in ("human.pelvis", "human.head", "human.hand_l", "human.foot_r"):
        one, other = loose.simulator.position[body], tight.simulator.position[body]
        assert one == pytest.approx(other, abs=1e-6)


def test_steps_find_the_first_three_impacts() -> None:
    """Toes, heels, hands (both sides at once): within 2 dt of the events; the feet half as far off at half the step."""
    until = 0.5546
    run = events(figure()).to(until)
    exact = [e.time for e in run.told.events if e.kind == "impact" and "ground" in e.text]
    told = [e.text for e in run.told.events if e.kind == "impact" and "ground" in e.text]
    both = "hand_l" in told[2] and "hand_r" in told[2]
    assert both or exact[2] == pytest.approx(exact[3], abs=1e-6)  # both hands, or one after the other by roundoff
    exact = exact[:3]
    off = []
    for dt in (2e-3, 1e-3, 5e-4):
        times = impacts_of_steps(figure(), dt, until)
        first = [times[0], times[2], times[4]]
        assert times[1::2][:3] == pytest.approx(first, abs=1e-6)  # left and right
        off.append(np.abs(np.array(first) - exact))
        assert (off[-1] < 2.0 * dt).all()
    for fine, coarse in ((off[1], off[0]), (off[2], off[1])):
        assert (fine[:2] / coarse[:2] > 0.4).all()
        assert (fine[:2] / coarse[:2] < 0.6).all()
    assert max(one[2] for one in off) < 3e-4  # the hands, after half a second on feet that roll


def three_dominoes() -> Scene:
    text = (SCENES / "dominoes.yaml").read_text().replace("stones: {value: 50", "stones: {value: 3")
    return load_text(text)


def test_dominoes_come_to_rest_in_event_mode() -> None:
    """They fall onto each other, slide, turn, and lie still: slips of any direction end."""
    run = events(three_dominoes(), rtol=1e-9)
    energies = []
    for t in np.arange(0.02, 1.0, 0.02):
        run.to(float(t))
        points, energy = run.points(), run.simulator.energy
        assert points.gap.min(initial=0.0) > -PENETRATION
        assert points.normal.min(initial=0.0) > -CONE
        assert (points.friction - points.most).max(initial=0.0) < CONE
        assert points.rubbed.min(initial=0.0) > -1e-9  # friction drives nobody
        energies.append(energy["kinetic"] + energy["potential"])
    assert len(run.times("impact")) > 5
    assert len(run.times("mode")) > 20
    assert np.max(np.diff(energies)) < 1e-9 * energies[0]
    assert run.simulator.energy["kinetic"] < 1e-20
    assert run.simulator.rotation["stone_1"][2, 2] < 0.5  # it lies
    on_table = sum(f for name, f in run.forces().items() if "table" in name)
    assert on_table[2] == pytest.approx(3 * 8e-3 * G0, rel=1e-9)


@pytest.mark.skipif("BRACHIATE_LONG" not in os.environ, reason="takes a minute: BRACHIATE_LONG=1 asks for it")
def test_the_limp_figure_comes_to_rest_in_event_mode() -> None:
    run = events(figure(), method="auto", record=100.0).to(3.0)
    energies = np.array([row["energy/kinetic"] + row["energy/potential"] for row in run.told.rows_])
    assert np.maximum(np.diff(energies), 0.0).max() < 1e-6
    assert run.simulator.energy["kinetic"] < 1e-15
    assert run.balance() < 1e-5  # of a thousand
    points = run.points()
    assert points.force.sum(axis=0)[2] == pytest.approx(run.simulator.model.bodies.mass.sum() * G0, rel=1e-9)
    assert points.gap.min() > -PENETRATION
    assert np.all(points.friction <= points.most + CONE)
