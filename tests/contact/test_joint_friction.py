"""Coulomb's friction in joints: how far swings go, where they stick, what it takes to break away."""

from __future__ import annotations

import numpy as np
import pytest

from tests.contact.engine import G0, Run

pytestmark = pytest.mark.contact

MASS, STIFFNESS, FRICTION = 2.0, 50.0, 3.0

BLOCK = """
schema: 1
name: block
world: {{gravity: [0, 0, 0]}}
bodies:
  block: {{mass: {MASS}, com: [0, 0, 0]}}
joints:
  rail:
    {{type: translational, parent: world, child: block, position: [0, 0, 0], axis: [0.6, 0, 0.8],
     stiffness: {STIFFNESS}, friction: {FRICTION} N}}
initial: {{rail: {{coordinate: {X}, rate: {V}}}}}
{MORE}
simulate: {{duration: 60 s, rtol: 1e-11}}
"""


def block(*, x: float, v: float = 0.0, more: str = "", stiffness: float = STIFFNESS) -> Run:
    return Run(BLOCK.format(MASS=MASS, STIFFNESS=stiffness, FRICTION=FRICTION, X=x, V=v, MORE=more))


def test_each_half_swing_of_a_rubbing_block_is_shorter_by_two_f_over_k_until_it_sticks() -> None:
    a, half = 2 * FRICTION / STIFFNESS, np.pi * np.sqrt(MASS / STIFFNESS)
    run = block(x=1.0).to(10.0)
    rests = [row for row in run.told.rows_ if abs(row["joints/rate"][0]) < 1e-7]
    turns = [[row for row in rests if abs(row["time"] - n * half) < 0.1 * half][-1] for n in range(9)]
    # 1, -0.88, 0.76, ..., -0.04: the first turn from which the spring cannot pull on, |x| <= F / k = 0.06
    places = [1.0]
    while abs(places[-1]) > FRICTION / STIFFNESS:
        places.append(-(places[-1] - np.sign(places[-1]) * a))
    assert len(places) == len(turns)
    assert [row["time"] for row in turns[:-1]] == pytest.approx(half * np.arange(8), abs=1e-9)
    assert [row["joints/coordinate"][0] for row in turns] == pytest.approx(places, abs=1e-10)
    assert [event.text for event in run.told.events] == ["rail slides", "rail sticks"]
    assert [event.time for event in run.told.events] == pytest.approx([0.0, 8 * half], abs=1e-9)
    assert run.simulator.coordinate["rail"] == pytest.approx(places[-1], abs=1e-10)
    assert run.simulator.friction_torque["rail"] == pytest.approx(STIFFNESS * places[-1], abs=1e-8)
    assert abs(run.simulator.friction_torque["rail"]) < FRICTION
    assert run.simulator.rate["rail"] == pytest.approx(0.0, abs=1e-15)
    assert run.simulator.energy["dissipated"] == pytest.approx(0.5 * STIFFNESS * (1 - places[-1] ** 2), abs=1e-8)
    assert run.balance() < 1e-8


def test_a_growing_force_moves_a_block_when_it_is_as_large_as_friction() -> None:
    pull = "forces:\n  pull: {type: wrench, body: block, force: [1.2 N/s*t, 0, 1.6 N/s*t]}"
    run = block(x=0.0, more=pull, stiffness=0.0).to(2.5)
    begins = FRICTION / 2.0
    assert [event.text for event in run.told.events] == ["rail sticks", "rail slides"]
    assert run.told.events[1].time == pytest.approx(begins, abs=1e-9)
    for row in run.told.rows_:
        t = row["time"]
        if t < begins:
            assert row["joints/friction_torque"][0] == pytest.approx(-2.0 * t, abs=1e-11)
            assert row["joints/coordinate"][0] == pytest.approx(0.0, abs=1e-15)
        elif t > begins + 1e-9:
            assert row["joints/friction_torque"][0] == -FRICTION
            assert row["joints/coordinate"][0] == pytest.approx(2.0 * (t - begins) ** 3 / (6 * MASS), abs=1e-9)
    assert run.balance() < 1e-9


def test_a_block_that_slides_stops_at_once_where_its_rate_is_zero() -> None:
    run = block(x=0.0, v=1.5, stiffness=0.0).to(2.0)
    ends = 1.5 * MASS / FRICTION
    assert [event.time for event in run.told.events] == pytest.approx([0.0, ends], abs=1e-9)
    assert run.simulator.coordinate["rail"] == pytest.approx(1.5 * ends / 2, abs=1e-9)
    assert run.simulator.friction_torque["rail"] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(("push", "moves"), [(2.9, 0.0), (3.5, 0.5 * 0.5 / MASS * 1.0**2)])
def test_a_sudden_push_moves_a_block_at_once_if_it_is_larger_than_friction(push: float, moves: float) -> None:
    run = block(x=0.0, stiffness=0.0).to(0.5)
    run.simulator.apply_wrench("block", force_W=(0.6 * push, 0.0, 0.8 * push), duration=1.0)
    run.to(1.5)
    assert run.simulator.coordinate["rail"] == pytest.approx(moves, abs=1e-9)
    run.to(2.5)  # and goes on against friction alone
    speed = (push - FRICTION) / MASS if moves else 0.0
    assert run.simulator.coordinate["rail"] == pytest.approx(moves + speed**2 * MASS / (2 * FRICTION), abs=1e-9)
    assert run.simulator.rate["rail"] == pytest.approx(0.0, abs=1e-15)


WHEEL = """
schema: 1
name: wheel
bodies:
  bar: {{mass: 2, com: [0, 0, -0.7]}}
joints:
  hinge:
    {{type: rotational, parent: world, child: bar, position: [0, 0, 0], axis: [0, -1, 0], friction: {FRICTION} N m,
     limits: {{range: [0.4, inf], stop: rigid, restitution: 0.2}}}}
initial: {{hinge: {START}}}
{MORE}
simulate: {{duration: 20 s, rtol: 1e-11}}
"""
WEIGHT = 2 * G0 * 0.7


def test_a_hinge_holds_as_much_as_its_friction_and_no_more() -> None:
    most = 8.0
    steepest = np.arcsin(most / WEIGHT)
    held = Run(WHEEL.format(FRICTION=most, START=steepest - 1e-7, MORE="")).to(2.0)
    assert held.simulator.coordinate["hinge"] == pytest.approx(steepest - 1e-7, abs=1e-15)
    moves = Run(WHEEL.format(FRICTION=most, START=steepest + 1e-5, MORE="")).to(0.5)
    assert moves.simulator.coordinate["hinge"] < steepest


def test_a_hinge_that_rests_against_its_stop_is_pulled_off_against_friction_too() -> None:
    """The stop bears the weight; to lift the bar takes the weight and the friction."""
    pull = "forces:\n  pull: {type: wrench, body: bar, torque: [0, -4 N m/s*t, 0]}"
    run = Run(WHEEL.format(FRICTION=3.0, START=0.4, MORE=pull)).to(5.0)
    weight = WEIGHT * np.sin(0.4)
    slides = [event.time for event in run.told.events if "hinge slides" in event.text]
    assert slides == pytest.approx([(weight + 3.0) / 4.0], abs=1e-9)
    for row in run.told.rows_[2:]:
        t, stop, friction = row["time"], row["joints/stop_torque"][0], row["joints/friction_torque"][0]
        if t < slides[0] - 1e-9:
            assert stop + friction == pytest.approx(weight - 4.0 * t, abs=1e-10)
            assert stop >= 0.0
            assert abs(friction) <= 3.0
    assert run.simulator.coordinate["hinge"] > 0.4
    assert run.balance() < 1e-8


def test_friction_gives_no_impulse() -> None:
    """A bar that falls on its stop against friction bounces with the whole restitution, and what one strikes, moves."""
    run = Run(WHEEL.format(FRICTION=1.0, START=1.2, MORE="")).to(2.0)
    first = next(i for i, event in enumerate(run.told.events) if event.kind == "impact")
    before, after = (row["joints/rate"][0] for row in run.told.around[first])
    drop = WEIGHT * (np.cos(0.4) - np.cos(1.2)) - 1.0 * 0.8
    assert before == pytest.approx(-np.sqrt(2 * drop / (2 * 0.7**2)), rel=1e-9)
    assert after == pytest.approx(-0.2 * before, rel=1e-12)
    struck = "events:\n  kick: {at: 1 s, impulse: {body: bar, linear: [0.01, 0, 0]}}"
    held = Run(WHEEL.format(FRICTION=12.0, START=0.9, MORE=struck)).to(1.5)
    texts = [event.text for event in held.told.events if event.kind == "mode"]
    assert texts == ["hinge sticks", "hinge slides", "hinge sticks"]
