"""Rules of contact that events switch, several rules for a pair, and which pairs touch at all."""

from __future__ import annotations

import math

import pytest

from tests.contact.engine import G0, Run

pytestmark = [pytest.mark.contact, pytest.mark.fast]

BALL = """
schema: 1
name: ball
world: {{shapes: [{{name: ground, plane: {{}}}}]}}
bodies: {{ball: {{mass: 1, shapes: [{{sphere: {{center: [0, 0, {z}], radius: 0.1}}}}]}}}}
contacts: {{{rules}}}
events: {{{events}}}
"""


def ball(rules: str, events: str = "", z: float = 0.1) -> Run:
    return Run(BALL.format(rules=rules, events=events, z=z))


def height(run: Run) -> float:
    return float(run.simulator.position["ball"][2])


def test_without_a_rule_bodies_pass_through() -> None:
    run = ball("").to(1.0)
    assert height(run) == pytest.approx(0.1 - G0 / 2, abs=1e-9)


def test_a_rule_that_is_not_active_holds_nothing() -> None:
    run = ball("c: {between: [ball, world], active: false}").to(1.0)
    assert height(run) == pytest.approx(0.1 - G0 / 2, abs=1e-9)


def test_release_lets_a_body_fall_through_from_then_on() -> None:
    run = ball("c: {between: [ball, world]}", "opens: {at: 1 s, release: c}").to(1.0)
    assert height(run) == pytest.approx(0.1, abs=1e-12)
    run.to(1.5)
    assert height(run) == pytest.approx(0.1 - G0 / 8, abs=1e-9)
    assert run.texts() == ["ground and ball sticks", "ground and ball leaves"]
    assert run.times("scene") == pytest.approx([1.0])


def test_touch_makes_a_body_land_that_would_fall_through() -> None:
    run = ball("c: {between: [ball, world], active: false}", "shuts: {at: 0.2 s, touch: c}", z=1.1).to(1.0)
    assert run.times() == pytest.approx([math.sqrt(2 / G0)], abs=1e-9)
    assert height(run) == pytest.approx(0.1, abs=1e-9)


def test_release_in_flight_and_touch_again_before_the_next_landing() -> None:
    events = "opens: {at: 0.1 s, release: c}, shuts: {at: 0.4 s, touch: c}"
    run = ball("c: {between: [ball, world]}", events, z=1.1).to(1.0)
    assert run.times() == pytest.approx([math.sqrt(2 / G0)], abs=1e-9)
    assert height(run) == pytest.approx(0.1, abs=1e-9)


def test_the_last_rule_that_is_on_is_the_law_of_a_pair() -> None:
    rules = "all: {between: ['*', world], restitution: 0.5}, soft: {between: [ball, world.ground], restitution: 0}"
    landing = math.sqrt(2 / G0)
    run = ball(rules, z=1.1).to(0.6)
    assert height(run) == pytest.approx(0.1, abs=1e-9)
    run = ball(rules, "hardens: {at: 0.1 s, release: soft}", z=1.1).to(0.6)
    t = 0.6 - landing
    assert height(run) == pytest.approx(0.1 + 0.5 * G0 * landing * t - 0.5 * G0 * t**2, abs=1e-9)


def test_a_switch_of_rules_changes_the_friction_of_a_body_that_slides() -> None:
    """Sliding at mu = 0.1, from 0.5 s on at 0.4."""
    ice = "ice: {between: [ball, world], friction: 0.1}"
    sand = "sand: {between: [ball, world], friction: 0.4, active: false}"
    text = BALL.format(rules=f"{ice}, {sand}", events="sand: {at: 0.5 s, touch: sand}", z=0.1)
    text = text.replace(
        "sphere: {center: [0, 0, 0.1], radius: 0.1}", "box: {center: [0, 0, 0.1], size: [0.4, 0.4, 0.2]}"
    )
    run = Run(text.replace("contacts:", "initial: {ball: {velocity: [2, 0, 0]}}\ncontacts:", 1)).to(0.5)
    v = 2 - 0.1 * G0 * 0.5
    assert run.simulator.velocity["ball"] == pytest.approx([v, 0, 0], abs=1e-9)
    run.to(0.6)
    assert run.simulator.velocity["ball"] == pytest.approx([v - 0.4 * G0 * 0.1, 0, 0], abs=1e-9)
    run.to(1.5)
    assert run.times("mode")[-1] == pytest.approx(0.5 + v / (0.4 * G0), abs=1e-9)


PENDULUM = """
schema: 1
name: pendulum
bodies:
  upper:
    {mass: 1, com: [0, 0, -0.5], inertia: [0.1, 0.1, 0.1],
     shapes: [{capsule: {from: [0, 0, 0], to: [0, 0, -1], radius: 0.1}}]}
  lower:
    {mass: 1, com: [0, 0, -1.5], inertia: [0.1, 0.1, 0.1],
     shapes: [{capsule: {from: [0, 0, -1], to: [0, 0, -2], radius: 0.1}}]}
joints:
  a: {type: rotational, parent: world, child: upper, position: [0, 0, 0], axis: [0, 1, 0]}
  b: {type: rotational, parent: upper, child: lower, position: [0, 0, -1], axis: [0, 1, 0]}
initial: {a: 0.5}
"""


def test_bodies_that_a_joint_holds_together_do_not_touch() -> None:
    free = Run(PENDULUM).to(1.0)
    ruled = Run(PENDULUM + "contacts: {all: {between: ['*', '*']}}\n").to(1.0)
    assert ruled.told.events == []
    for name in ("upper", "lower"):
        assert ruled.simulator.position[name] == pytest.approx(free.simulator.position[name], abs=1e-12)


WALL = """
schema: 1
name: wall
world: {shapes: [{name: wall, plane: {normal: [-1, 0, 0], center: [0.1, 0, 0]}}]}
bodies:
  rod: {mass: 1, com: [0, 0, -0.5], inertia: [0.1, 0.1, 0.1]}
  bob: {mass: 2, com: [0, 0, -1], gyration: [0.3, 0.3, 0.3], shapes: [{sphere: {center: [0, 0, -1], radius: 0.1}}]}
joints:
  hinge: {type: rotational, parent: world, child: rod, position: [0, 0, 0], axis: [0, 1, 0]}
  weld: {type: fixed, parent: rod, child: bob, position: [0, 0, -1]}
initial: {hinge: 30 deg}
contacts: {wall: {between: [bob, world.wall], restitution: 0.6, friction: 0.3}}
simulate: {rtol: 1e-10}
"""


def test_a_pendulum_hits_a_wall_and_comes_back() -> None:
    """It turns about a fixed axis, so that e is the ratio of its angular velocities."""
    run = Run(WALL).to(1.0)
    (before, after) = run.told.around[0]
    inertia, moment = 0.1 + 0.25 + 2 * (1 + 0.09), (0.5 + 2) * G0
    w = -math.sqrt(2 * moment * (1 - math.cos(math.radians(30))) / inertia)
    assert run.told.events[0].kind == "impact"
    assert before["joints/rate"][0] == pytest.approx(w, rel=1e-8)
    assert after["joints/rate"][0] == pytest.approx(-0.6 * w, rel=1e-8)
    assert run.told.events[0].lost == pytest.approx(0.5 * inertia * w**2 * (1 - 0.36), rel=1e-8)
    assert run.balance() < 1e-8


# ---- switched by times and conditions of the rule itself -------------------------------------------------------------

SHELF = """
schema: 1
name: shelf
world: {{shapes: [{{name: ground, plane: {{}}}}, {{name: shelf, box: {{center: [0, 0, 0.5], size: [1, 1, 0.02]}}}}]}}
bodies: {{ball: {{mass: 1 kg, shapes: [{{sphere: {{center: [0, 0, 1.1], radius: 0.1}}}}]}}}}
contacts:
  shelf: {{between: [ball, world.shelf], {shelf}}}
  floor: {{between: [ball, world.ground], {floor}}}
"""
FALL = math.sqrt(2 * 0.49 / G0)  # s: onto the shelf


def test_until_lets_a_resting_ball_fall_on() -> None:
    run = Run(SHELF.format(shelf="until: 1.5 s", floor="friction: 0.5")).to(3.0)
    assert run.times() == pytest.approx([FALL, 1.5 + math.sqrt(2 * 0.51 / G0)], abs=1e-9)
    assert run.simulator.position["ball"][2] == pytest.approx(0.1, abs=1e-9)


def test_a_rule_is_off_before_its_time() -> None:
    run = Run(SHELF.format(shelf="from: 0.6 s", floor="friction: 0.5")).to(3.0)
    assert run.times() == pytest.approx([math.sqrt(2 / G0)], abs=1e-9)  # through the shelf


def test_a_rule_holds_while_its_condition_does() -> None:
    """Conditions that wait are armed at the ends of steps: looking ahead must not let one fire before its time."""
    run = Run(SHELF.format(shelf='when: "t > 0.1 s and t < 1 s"', floor="friction: 0.5")).to(3.0)
    switches = [(event.name, event.time) for event in run.told.events if event.kind == "scene"]
    assert [name for name, _ in switches] == ["shelf ends", "shelf begins", "shelf ends"]
    assert [time for _, time in switches] == pytest.approx([0.0, 0.1, 1.0], abs=1e-12)
    assert run.times() == pytest.approx([FALL, 1.0 + math.sqrt(2 * 0.51 / G0)], abs=1e-9)
