"""Ropes, which only pull: slack and taut at their instants, the jerk, and what they hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sim
from sim.scene.load import load_text
from tests.contact.engine import G0, SCENES, Run

pytestmark = pytest.mark.contact

BOB = """
schema: 1
name: bob
world: {points: {hook: [0, 0, 2]}}
bodies: {bob: {mass: 2 kg, shapes: [{sphere: {center: [0, 0, 1], radius: 5 cm}}]}}
initial: {bob: {velocity: [SPEED, 0, 0]}}
contacts: {string: {rope: [world.hook, bob], restitution: BACK}}
simulate: {duration: 4 s, SAID}
"""
SPEED, MASS, LENGTH = 6.1, 2.0, 1.0


def text_of(speed: float, back: float = 0.0, said: str = "", rule: str = "string: {") -> str:
    text = BOB.replace("SPEED", str(speed)).replace("BACK", str(back)).replace("SAID", said)
    return text.replace("string: {", rule)


def thrown(speed: float = SPEED, back: float = 0.0, said: str = "rtol: 1e-10") -> Run:
    return Run(text_of(speed, back, said))


def slack() -> tuple[float, np.ndarray, np.ndarray]:
    """Return how long a bob flies whose string goes slack, and place and velocity (x, z) where it does so.

    The tension m (v^2/L + g cos a) is zero where 3 cos a = 2 - v0^2/(g L), a counted from below.  From there
    |r + v t + g t^2/2|^2 = L^2 + t^3 v.g + t^4 g^2/4, as r.v = 0 and v^2 = -r.g: it is taut again after -4 v.g/g^2.
    """
    a = math.acos((2.0 - SPEED**2 / (G0 * LENGTH)) / 3.0)
    v = math.sqrt(SPEED**2 - 2.0 * G0 * LENGTH * (1.0 - math.cos(a)))
    return 4.0 * v * math.sin(a) / G0, np.array([math.sin(a), -math.cos(a)]), v * np.array([math.cos(a), math.sin(a)])


@pytest.mark.fast
@pytest.mark.parametrize("back", [0.0, 0.5])
def test_a_pendulum_whose_string_goes_slack_flies_and_is_stopped_with_the_impulse_of_the_closed_form(back: float):
    flight, r, v = slack()
    run = thrown(back=back).to(0.49)
    (slackened,) = [event.time for event in run.told.events if event.text == "string goes slack"]
    run.to(slackened + v[1] / G0)  # the apex
    assert run.simulator.position["bob"][2] == pytest.approx(2.0 + r[1] + v[1] ** 2 / (2.0 * G0), abs=1e-8)
    run.to(slackened + flight + 1e-4)
    assert run.times() == pytest.approx([slackened + flight], abs=1e-8)
    t, g = flight, np.array([0.0, -G0])
    out, arrives = r + v * t + 0.5 * g * t * t, v + g * t
    assert out @ out == pytest.approx(1.0, abs=1e-14)
    (jerk,) = [event.contacts for event in run.told.events if event.kind == "impact"]
    impulse = MASS * (1.0 + back) * (arrives @ out)
    assert jerk["impulse"] == pytest.approx(-impulse * np.array([[out[0], 0.0, out[1]]]), abs=1e-6)
    (before, after) = next(pair for event, pair in zip(run.told.events, run.told.around, strict=True) if event.contacts)
    left = arrives - impulse / MASS * out
    assert after["velocity"][0] == pytest.approx([left[0], 0.0, left[1]], abs=1e-6)
    assert after["energy/impact"] - before["energy/impact"] == pytest.approx(
        0.5 * MASS * (arrives @ arrives - left @ left), abs=1e-6
    )
    assert run.balance() < 1e-7


def test_a_string_that_is_taut_holds_with_the_tension_of_a_pendulum():
    run = thrown().to(0.3)
    x, _, z = run.simulator.position["bob"]
    v = run.simulator.velocity["bob"]
    assert math.hypot(x, z - 2.0) == pytest.approx(1.0, abs=1e-12)
    points = run.points()
    assert points.names == ["string"]
    assert points.normal == pytest.approx([MASS * (v @ v + G0 * (2.0 - z))], rel=1e-9)
    assert points.friction == pytest.approx([0.0], abs=1e-12)


@pytest.mark.fast
def test_a_bob_that_goes_fast_is_stopped_at_the_instant_its_string_ends():
    text = text_of(1000.0, 1.0, rule="string: {length: 2, ")
    run = Run(text.replace("[0, 0, 2]", "[-0.5, 0, 1]")).to(0.02)
    there = run.times()
    assert there[0] == pytest.approx(1.5e-3, abs=1e-9)
    assert there[1:] - there[:-1] == pytest.approx(np.full(len(there) - 1, 4e-3), abs=1e-5)
    assert len(there) == 5


def test_two_bodies_that_a_rope_joins_share_the_jerk_by_what_they_resist_with():
    text = """
schema: 1
name: two
world: {gravity: [0, 0, 0]}
bodies:
  a: {mass: 2 kg, shapes: [{box: {center: [0, 0, 0], size: [0.1, 0.2, 0.3]}}], points: {eye: [0.05, 0.08, 0.1]}}
  b: {mass: 1 kg, shapes: [{sphere: {center: [0.5, 0, 0], radius: 0.1}}]}
initial: {a: {angular_velocity: [0.4, 0.3, 1]}, b: {velocity: [1, 0.3, 0]}}
contacts: {string: {rope: [a.eye, b], length: 1, restitution: 0.4}}
simulate: {duration: 1 s, rtol: 1e-10}
"""
    run = Run(text).to(0.6)
    k, event = next((k, event) for k, event in enumerate(run.told.events) if event.kind == "impact")
    before, after = run.told.around[k]
    R = sim_rotation(before["quat_wxyz"][0])
    eye = before["position"][0] + R @ [0.05, 0.08, 0.1]
    way = before["position"][1] - eye
    assert np.linalg.norm(way) == pytest.approx(1.0, abs=1e-12)
    n, arm = way / np.linalg.norm(way), eye - before["position"][0]
    inertia = R @ np.diag(2.0 / 12.0 * np.array([0.13, 0.10, 0.05])) @ R.T
    turn = np.cross(arm, n)
    resists = 1.0 / (0.5 + 1.0 + turn @ np.linalg.solve(inertia, turn))

    def parts(row: dict[str, np.ndarray]) -> float:
        a = row["velocity"][0] + np.cross(row["angular_velocity"][0], arm)
        return float(n @ (row["velocity"][1] - a))

    assert event.contacts is not None
    assert event.contacts["impulse"] == pytest.approx(-1.4 * resists * parts(before) * n[None], rel=1e-9)
    assert parts(after) == pytest.approx(-0.4 * parts(before), rel=1e-9)
    assert run.balance() < 1e-9


def sim_rotation(q: np.ndarray) -> np.ndarray:
    w, x, y, z = q
    S = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2.0 * w * S + 2.0 * S @ S


def test_what_a_joint_connects_is_tied_as_well_and_a_string_that_is_released_holds_no_more():
    text = """
schema: 1
name: tied
world: {points: {hook: [0, 0, 2]}}
bodies: {bob: {mass: 2 kg, shapes: [{sphere: {center: [0, 0, 1], radius: 5 cm}}]}}
joints: {plane: {type: translational, parent: world, child: bob, position: [0, 0, 1], axis: [0, 0, 1]}}
contacts: {string: {rope: [world.hook, bob], length: 1.2}}
events: {it tears: {at: 0.5 s, release: string}}
simulate: {duration: 1 s}
"""
    run = Run(text).to(0.499)
    assert run.times() == pytest.approx([math.sqrt(2.0 * 0.2 / G0)], abs=1e-9)
    assert run.simulator.position["bob"][2] == pytest.approx(0.8, abs=1e-12)
    run.to(1.0)
    assert run.simulator.position["bob"][2] == pytest.approx(0.8 - 0.5 * G0 * 0.25, abs=1e-9)


@pytest.mark.parametrize("way", ["event", "stepping"])
def test_the_force_of_a_rope_is_what_it_pulls_its_first_point_with(way: str):
    text = text_of(0.0, said=f"contact: {way}, dt: 2 ms")
    text += "events: {far: {when: \"t > 0.1 s and force('string')[2] < -19.6\", stop: true}}\n"
    run = Run(text).to(0.5)
    assert [event.name for event in run.told.events if event.kind == "scene"] == ["far"]


def test_time_steps_come_to_where_events_do_at_first_order():
    exact = thrown().to(1.6).simulator.position["bob"]
    off = []
    for dt in (4e-3, 2e-3, 1e-3):
        run = thrown(said=f"contact: stepping, dt: {dt} s").to(1.6)
        off.append(np.linalg.norm(run.simulator.position["bob"] - exact))
    assert off[2] < 0.03
    assert off[1] < 0.75 * off[0]
    assert off[2] < 0.75 * off[1]


@pytest.mark.fast
def test_time_steps_let_a_string_hold_and_go_slack():
    run = thrown(said="contact: stepping, dt: 2 ms").to(0.3)
    x, _, z = run.simulator.position["bob"]
    assert math.hypot(x, z - 2.0) == pytest.approx(1.0, abs=1e-5)
    x, _, z = run.to(0.9).simulator.position["bob"]
    assert math.hypot(x, z - 2.0) < 0.9


def test_a_rope_shorter_than_its_points_are_apart_is_told():
    text = text_of(0.0, rule="string: {length: 0.9, ")
    with pytest.raises(sim.SimulationError, match=r"string is shorter by 0\.1 m than its points are apart"):
        Run(text).to(0.1)


def test_a_pendulum_on_a_string_swings_with_its_frequency():
    model = sim.linearize(load_text(text_of(0.0)), at=0.1)
    assert np.sort(model.eigenvalues[:4].imag) == pytest.approx(math.sqrt(G0) * np.array([-1, -1, 1, 1]), abs=1e-9)
    assert "string is taut" in model.notes


def test_strings_that_go_slack_and_taut_are_verified(tmp_path):
    path = tmp_path / "s.h5"
    sim.run(sim.load(SCENES / "slack_string.yaml"), output=path, duration=1.5)
    verdict = sim.verify(path)
    assert verdict.ok
    assert verdict.contacts is not None
    assert verdict.contacts.gap < 1e-9
    with sim.load_recording(path) as recording:
        ends = [shape for shape in recording.shapes if shape.kind in ("rope", "rope_end")]
        assert [shape.kind for shape in ends] == ["rope", "rope_end"] * 2
        assert all(tuple(shape.quat_wxyz) == (1.0, 0.0, 0.0, 0.0) for shape in ends)
        assert ends[0].size[0] > 0.1 and tuple(ends[0].size[1:]) == (0.0, 0.0) and not any(ends[1].size)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("rope: [world.hook, bob], friction: 0.3", "a rope has no 'friction'"),
        ("rope: [world.hook, bob], except: bob", "a rope has no 'except'"),
        ("rope: [world.hook, world.hook]", "both ends stand still: their distance does not change"),
        ("rope: [bob, bob.com]", "both ends are of 'bob'"),
        ("rope: [bob, bobb]", "no body or point named 'bobb'"),
        ("rope: [bob]", "expected a list of 2 names, found 1"),
        ("between: [bob, world], rope: [bob, world.hook]", "'between' and 'rope' at once"),
        ("between: [bob, bob], length: 1", "only a rope has a length"),
        ("rope: [bob, world.hook], length: 0", "expected"),
    ],
)
def test_what_is_no_rope_is_told(rule: str, said: str):
    text = text_of(0.0).replace("rope: [world.hook, bob], restitution: 0.0", rule)
    with pytest.raises(sim.SceneError, match="(?s).*" + said.replace("[", r"\[")):
        load_text(text)
