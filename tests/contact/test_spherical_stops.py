"""Rigid stops of spherical joints: a bound of the angle of the rotation, in both modes, in the tree and in loops."""

from __future__ import annotations

import numpy as np
import pytest

from tests.contact.engine import Run
from tests.contact.test_bounds_in_steps import STEPS, assert_first_order, by_events, coordinates, stepped
from tests.contact.test_stepping import LOOP

pytestmark = pytest.mark.contact

ROD = """
schema: 1
name: rod
bodies: {{rod: {{mass: 1, com: [0.3, 0, 0.8], inertia: [0.02, 0.03, 0.025]}}}}
joints:
  socket:
    {{type: {kind}, parent: world, child: rod, position: [0, 0, 1], limits: {{range: {range}, {stop}}}}}
initial: {{socket: {start}}}
simulate: {{contact: stepping, dt: 1 ms}}
"""
BOUND = 0.4
RIGID = "stop: rigid, restitution: 0.3"


def by_event_mode(text: str) -> Run:
    return Run(text.replace("contact: stepping, dt: 1 ms", "rtol: 1e-10"))


def test_in_a_plane_it_is_the_stop_of_a_hinge() -> None:
    hinge = by_event_mode(
        ROD.format(kind="rotational, axis: [0, 1, 0]", range=f"[-1, {BOUND}]", start="0.0", stop=RIGID)
    ).to(1.0)
    ball = by_event_mode(ROD.format(kind="spherical", range=f"[0, {BOUND}]", start="{rate: [0, 0, 0]}", stop=RIGID)).to(
        1.0
    )
    assert [event.text for event in ball.told.events] == [event.text for event in hinge.told.events]
    assert len(ball.times()) > 5
    assert ball.times() == pytest.approx(hinge.times(), abs=1e-9)
    assert ball.simulator.stop_torque["socket"] == pytest.approx(
        [0, hinge.simulator.stop_torque["socket"], 0], abs=1e-9
    )


def test_what_turns_on_along_a_stop_keeps_the_angle_and_the_energy() -> None:
    """The stop pushes back along the turn, never pulls, and does no work while the joint moves on about other axes."""
    run = by_event_mode(ROD.format(kind="spherical", range=f"[0, {BOUND}]", start="{rate: [1, 2, 3]}", stop=RIGID)).to(
        0.2
    )
    assert run.texts()[-1] == "socket rests at its upper stop"
    fastest = 0.0
    for t in np.linspace(0.21, 1.0, 20):
        run.to(float(t))
        run.simulator.flow.observe()
        turn, torque = run.simulator.coordinate["socket"], run.simulator.stop_torque["socket"]
        assert np.linalg.norm(turn) == pytest.approx(BOUND, abs=1e-12)
        assert np.cross(turn, torque) == pytest.approx(np.zeros(3), abs=1e-10)
        assert turn @ torque < 0.0
        fastest = max(fastest, float(np.linalg.norm(run.simulator.rate["socket"])))
    assert fastest > 2.0
    assert run.balance() < 1e-8


def test_it_is_the_limit_of_ever_stiffer_soft_stops() -> None:
    """Half a second along the stop, beside springs that give way by what they carry: a tenth for ten times as stiff."""
    start = f"{{coordinate: {{rpy: [0, {BOUND}, 0]}}, rate: [0.5, 0, 0.2]}}"
    rigid = by_event_mode(ROD.format(kind="spherical", range=f"[0, {BOUND}]", start=start, stop=RIGID)).to(0.5)
    off = []
    for stiffness in (1e4, 1e5):
        stop = f"stiffness: {stiffness:g}, dissipation: 5"
        soft = by_event_mode(ROD.format(kind="spherical", range=f"[0, {BOUND}]", start=start, stop=stop)).to(0.5)
        off.append(float(np.abs(soft.simulator.coordinate["socket"] - rigid.simulator.coordinate["socket"]).max()))
    assert off[0] < 2e-3
    assert off[1] / off[0] == pytest.approx(0.1, abs=0.05)


def test_time_steps_keep_the_same_law() -> None:
    text = ROD.format(kind="spherical", range=f"[0, {BOUND}]", start="{rate: [1, 2, 3]}", stop="stop: rigid")
    times = (0.1, 0.2, 0.4, 0.6)
    exact, errors = coordinates(by_events(text), times), []
    for dt in STEPS:
        simulator = stepped(text, dt)
        errors.append(float(np.abs(coordinates(simulator, times) - exact).max()))
        assert np.linalg.norm(simulator.coordinate["socket"]) == pytest.approx(BOUND, abs=30 * dt**2)
    assert_first_order(errors, 0.1)


def test_it_holds_a_loop_in_both_modes() -> None:
    limits = "{range: [0, 0.1], stop: rigid}"
    text = LOOP.replace("child: d, position: [0, 0, 1]}", f"child: d, position: [0, 0, 1], limits: {limits}}}")
    times = (0.12, 0.2, 0.3)
    run = by_event_mode(text).to(0.15)
    assert any("da at its upper stop" in event.text for event in run.told.events)
    exact = coordinates(by_events(text), times)
    da = run.simulator.model.columns_of(run.simulator.model.joint_names.index("da"))
    assert np.linalg.norm(exact[:, da], axis=1).max() < 0.1 + 1e-9
    for dt in STEPS:
        stopped = coordinates(stepped(text, dt), times)[:, da]
        assert stopped == pytest.approx(exact[:, da], abs=1e-9)
