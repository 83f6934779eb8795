"""What rolls only while it touches: balls that come down, roll and are lifted off; contacts beside constraints."""

from __future__ import annotations

import numpy as np
import pytest

from sim.scene.problem import SceneError
from tests.contact.engine import G0, Run

pytestmark = [pytest.mark.nonholonomic, pytest.mark.contact]

WORLD = """world:
  shapes: [{name: floor, plane: {normal: [0, 0, 1]}}, {name: wall, plane: {center: [9, 0, 0], normal: [-1, 0, 0]}}]
"""
BALL = f"""
schema: 1
name: ball
{WORLD}bodies:
  ball:
    mass: 2 kg
    com: [0, 0, 0.1]
    inertia: [0.01, 0.01, 0.01]
    shapes: [{{sphere: {{center: [0, 0, 0.1], radius: 0.1}}}}]
contacts:
  touch: {{between: [ball, world], friction: 0, restitution: 0.5}}
constraints:
  rolls: {{type: rolling, body: ball, radius: 0.1, ground: world.floor, keeps: false}}
simulate: {{rtol: 1e-11, duration: 4 s}}
"""


def test_a_ball_hops_without_friction_and_rolls_where_its_hops_end() -> None:
    start = """
initial:
  ball: {position: [0, 0, 0.3], velocity: [1.4, 0, 0], angular_velocity: [0, -3, 0]}
"""
    run = Run(BALL + start)
    r, m, inertia = 0.1, 2.0, 0.01
    first = np.sqrt(2.0 * 0.2 / G0)
    rest = first * (1.0 + 2.0 * 0.5 / (1.0 - 0.5))
    run.to(0.9 * rest)
    np.testing.assert_allclose(run.simulator.angular_velocity["ball"], [0, -3, 0], atol=1e-12)
    run.to(4.0)
    (told,) = [event for event in run.told.events if "rolls" in event.text]
    assert told.time == pytest.approx(rest, abs=2e-4)  # hops too low to be seen are left out
    # about the point that touches: m r v + I w stays
    v = (m * r * 1.4 + inertia * -3.0) / (m * r + inertia / r)
    assert told.lost == pytest.approx(0.5 * (m * 1.96 + inertia * 9.0) - 0.5 * (m + inertia / r**2) * v**2, abs=1e-9)
    np.testing.assert_allclose(run.simulator.angular_velocity["ball"], [0, v / r, 0], atol=1e-9)
    x = 1.4 * told.time + v * (4.0 - told.time)
    assert run.simulator.position["ball"][0] == pytest.approx(x, abs=1e-8)
    assert run.balance() < 1e-8


@pytest.mark.fast
def test_a_ball_that_is_lifted_off_no_longer_rolls() -> None:
    """Driven by a torque while a growing force unloads it: rolling until k t = m g, then free."""
    forces = """
forces:
  drive: {type: wrench, body: ball, point: com, torque: [0, 0.3 N*m, 0]}
  lift: {type: wrench, body: ball, point: com, force: [0, 0, 20*t*1 N/s]}
"""
    run = Run(BALL + forces).to(1.5)
    off = 2.0 * G0 / 20.0
    texts = [(event.text, event.time) for event in run.told.events if "rolls" in event.text]
    assert [text for text, _ in texts] == ["rolls rolls", "rolls no longer rolls"]
    assert [time for _, time in texts] == pytest.approx([0.0, off], abs=1e-8)
    a = 0.3 / 0.1 / (2.0 + 0.01 / 0.1**2)
    late = 1.5 - off
    place, spin = run.simulator.position["ball"], run.simulator.angular_velocity["ball"]
    assert place[0] == pytest.approx(0.5 * a * off**2 + a * off * late, abs=1e-8)
    assert spin[1] == pytest.approx(a * off / 0.1 + 0.3 / 0.01 * late, abs=1e-7)
    assert place[2] - 0.1 == pytest.approx(20.0 * late**3 / 6.0 / 2.0, abs=1e-8)
    assert run.balance() < 1e-8


def test_a_ball_rolls_on_its_ground_only_and_while_it_is_enabled() -> None:
    """Switched off it slides; a wall is not the floor that it rolls on."""
    more = """
initial:
  ball: {velocity: [1, 0, 0], angular_velocity: [0, 10, 0]}
forces:
  drive: {type: wrench, body: ball, point: com, torque: [0, 0.3 N*m, 0]}
events:
  slide: {at: 1 s, disable: rolls}
  roll: {at: 2 s, enable: rolls}
"""
    run = Run(BALL + more).to(0.5)
    a = 0.3 / 0.1 / 3.0
    assert run.simulator.angular_velocity["ball"][1] == pytest.approx(10.0 + 10.0 * a * 0.5, abs=1e-9)
    run.to(2.0 - 1e-9)
    v, w = 1.0 + a, 10.0 + 10.0 * a + 30.0
    assert run.simulator.velocity["ball"][0] == pytest.approx(v, abs=1e-9)
    assert run.simulator.angular_velocity["ball"][1] == pytest.approx(w, abs=1e-6)
    run.to(2.5)
    v = (0.2 * v + 0.01 * w) / 0.3
    assert run.simulator.angular_velocity["ball"][1] == pytest.approx(10.0 * (v + 0.5 * a), abs=1e-6)
    beside = "initial: {ball: {position: [8.8, 0, 5], velocity: [1, 0, 0], angular_velocity: [0, 10, 0]}}"
    wall = Run(BALL + beside).to(0.3)
    assert wall.told.events[0].kind == "impact"
    assert not any("rolls" in event.text for event in wall.told.events)


@pytest.mark.fast
def test_a_ball_on_a_plate_that_is_pulled_away_goes_with_a_share_of_it() -> None:
    """On a plate of acceleration a it has a k / (1 + k), k = I / (m r^2); its ground moves and is no plane."""
    text = BALL.replace("ground: world.floor", "ground: plate, normal: [0, 0, 1], level: [0, 0, 0]")
    text = text.replace(WORLD, "").replace("[ball, world]", "[ball, plate]")
    text = text.replace(
        "bodies:\n",
        """bodies:
  plate: {mass: 1 kg, com: [0, 0, -0.1], inertia: [1, 1, 1], shapes: [{box: {center: [0, 0, -0.1], size: [4, 4, 0.2]}}]}
""",
    )
    text += """
joints:
  rails:
    {type: translational, parent: world, child: plate, position: [0, 0, 0], axis: [1, 0, 0], motion: 0.9*t^2*1 m/s^2}
"""
    run = Run(text).to(1.0)
    assert run.simulator.position["ball"][0] == pytest.approx(0.9 / 3.0, abs=1e-9)
    assert run.simulator.velocity["ball"][0] == pytest.approx(1.8 / 3.0, abs=1e-9)
    assert run.balance() < 1e-8


def test_friction_in_the_contact_and_no_contact_at_all_are_refused_by_name() -> None:
    with pytest.raises(SceneError, match="contact 'touch' has friction"):
        Run(BALL.replace("friction: 0", "friction: 0.3"))
    with pytest.raises(SceneError, match="no contact is between 'ball' and 'world'"):
        Run(BALL.replace("contacts:\n  touch: {between: [ball, world], friction: 0, restitution: 0.5}\n", ""))


@pytest.mark.fast
def test_a_blade_lets_its_body_touch_what_is_there() -> None:
    """What only binds rates holds no bodies together: a sledge on its blade runs into a wall and comes back."""
    run = Run("""
schema: 1
name: sledge
world: {gravity: [0, 0, 0], shapes: [{plane: {center: [2, 0, 0], normal: [-1, 0, 0]}}]}
bodies:
  sledge: {mass: 2 kg, com: [0, 0, 0], inertia: [0.1, 0.1, 0.1], shapes: [{sphere: {center: [0, 0, 0], radius: 0.5}}]}
contacts:
  bump: {between: [sledge, world], restitution: 0.5}
constraints:
  blade: {type: knife_edge, body: sledge, position: [0, 0, 0], along: [1, 0, 0]}
initial:
  sledge: {velocity: [1, 0, 0]}
""").to(2.5)
    assert run.simulator.position["sledge"][0] == pytest.approx(1.0, abs=1e-9)
