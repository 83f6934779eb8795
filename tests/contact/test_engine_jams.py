"""Painleve's rod in whole scenes, where it stands and anywhere else: benchmark notes 3.7."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from sim.contact.impact import Collision, Impact, Law, resolve
from sim.scene.load import load_text
from sim.simulation import contact_modes
from tests.contact.engine import Run
from tests.dynamics.moved_scene import moved_scene

pytestmark = pytest.mark.contact

# A uniform rod of 2 m and 1 kg; its lower end, at the origin, is a ball.  It leans toward -x.
ROD = """
schema: 1
name: rod
world: {{shapes: [{{name: ground, plane: {{}}}}]}}
bodies:
  rod:
    mass: 1
    com: [{x!r}, 0, {z!r}]
    inertia: [1/3, 1/3, 1/3]
    shapes: [{{sphere: {{center: [0, 0, 0.01], radius: 0.01}}}}]
initial: {{rod: {{velocity: [{speed!r}, 0, 0]}}}}
contacts: {{end: {{between: [rod, world], friction: {mu}}}}}
simulate: {{rtol: 1e-10}}
"""
R = Rotation.from_rotvec([-1.1, 0.6, 2.0]).as_matrix()
MOVED = pytest.mark.parametrize("moved", [False, True], ids=["here", "moved"])


def rod(degrees: float, mu: float, speed: float, moved: bool) -> Run:
    angle = math.radians(degrees)
    scene = load_text(ROD.format(x=-math.cos(angle), z=math.sin(angle), mu=mu, speed=speed))
    return Run(moved_scene(scene, R, np.array([2.0, 5.0, -3.0])) if moved else scene)


@MOVED
@pytest.mark.fast
@pytest.mark.parametrize("speed", [0.5, 3.0])
def test_a_rod_that_digs_in_is_stopped_by_an_impulse(speed: float, moved: bool) -> None:
    """At 60 degrees and mu = 1.5 no force goes with sliding toward +x: an impulse ends it, and the end stands still."""
    run = rod(60, 1.5, speed, moved).to(1e-6)
    assert run.texts("impact") == ["ground and rod jam"]
    before, after = run.told.around[[event.kind for event in run.told.events].index("impact")]
    back = R.T if moved else np.eye(3)
    v, w = back @ after["velocity"][0], back @ after["angular_velocity"][0]
    x, z = math.cos(math.radians(60)), -math.sin(math.radians(60))  # of the end from the centre of mass
    G = np.array([[1 + 3 * z * z, -3 * x * z], [-3 * x * z, 1 + 3 * x * x]])  # along x and z, by impulses along them
    P = np.linalg.solve(G, [-speed, 0.0])
    assert 0.0 < abs(P[0]) < 1.5 * P[1]
    assert v == pytest.approx([speed + P[0], 0.0, P[1]], abs=1e-8)
    assert w == pytest.approx([0.0, 3 * (z * P[0] - x * P[1]), 0.0], abs=1e-8)
    lost = -0.5 * P[0] * speed  # P . (u + u+) / 2, the end stands after it
    assert before["energy/kinetic"] - after["energy/kinetic"] == pytest.approx(lost, rel=1e-8)
    (event,) = [event for event in run.told.events if event.kind == "impact"]
    assert event.lost == after["energy/impact"] - before["energy/impact"] == pytest.approx(lost, rel=1e-8)
    assert event.impulse == pytest.approx(np.hypot(*P), rel=1e-8)
    assert run.balance() < 1e-9


BALL = """
  ball: {{mass: 2, com: [3, 0, 0.1], inertia: [0.01, 0.01, 0.01],
          shapes: [{{sphere: {{center: [3, 0, 0.1], radius: 0.1}}}}]}}
"""


@pytest.mark.fast
@pytest.mark.parametrize("apart", [False, True], ids=["one problem", "one after the other"])
def test_a_jam_at_the_instant_of_an_impact_adds_up_with_it(apart: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ball lands where a rod begins to dig in: two impulses, of which neither free body has anything from its joint.

    No impulse on the rod is lawful in the impact, too: where that answer is taken, the jam follows the impact.
    """

    def only_what_closes(collision: Collision, law: Law) -> Impact:
        answer = resolve(collision, law)
        return replace(answer, P=np.where((collision.approach < -1e-8)[:, None], answer.P, 0.0))

    if apart:
        monkeypatch.setattr(contact_modes, "resolve", only_what_closes)
    speed, fall, e, angle = 0.5, 0.7, 0.4, math.radians(60)
    text = ROD.replace("initial: {{", BALL.strip("\n") + "\ninitial: {{ball: {{velocity: [0, 0, -0.7]}}, ").replace(
        "}}}}\nsimulate", "}}, drop: {{between: [ball, world], friction: 0, restitution: 0.4}}}}\nsimulate"
    )
    run = Run(text.format(x=-math.cos(angle), z=math.sin(angle), mu=1.5, speed=speed)).to(1e-6)
    (event,) = [event for event in run.told.events if event.kind == "impact"]
    assert event.text == ("ground and ball; ground and rod jam" if apart else "ground and ball")
    x, z = math.cos(angle), -math.sin(angle)
    G = np.array([[1 + 3 * z * z, -3 * x * z], [-3 * x * z, 1 + 3 * x * x]])
    jam, landing = np.linalg.solve(G, [-speed, 0.0]), 2 * (1 + e) * fall
    assert event.impulse == pytest.approx(np.sqrt(jam @ jam + landing**2), rel=1e-8)
    assert event.lost == pytest.approx(-0.5 * jam[0] * speed + (1 - e**2) * fall**2, rel=1e-8)
    assert event.through == pytest.approx(np.zeros((2, 6)), abs=1e-9)  # contacts give all that changes momenta
    assert run.balance() < 1e-9


@MOVED
@pytest.mark.parametrize(("degrees", "mu", "speed"), [(60, 1.5, -1.0), (60, 1.2, 1.0), (45, 1.2, -1.0), (80, 1.2, 1.0)])
def test_a_rod_slides_where_forces_go_with_it(degrees: float, mu: float, speed: float, moved: bool) -> None:
    """The force on its end is what leaves that without acceleration along the normal."""
    run = rod(degrees, mu, speed, moved).to(1e-3)
    assert not len(run.times("impact"))
    assert run.texts() == ["ground and rod slides"]
    run = rod(degrees, mu, speed, moved).to(1e-9)
    x, z = math.cos(math.radians(degrees)), -math.sin(math.radians(degrees))
    weight = 9.81 / (1 + 3 * x * x + math.copysign(mu, speed) * 3 * x * z)
    assert weight > 0.0
    assert run.points().normal == pytest.approx([weight], rel=1e-6)
    assert run.points().friction == pytest.approx([mu * weight], rel=1e-6)


def slid_into_its_jam(degrees: float, mu: float, speed: float, rate: float) -> dict[str, float]:
    """Return when the rod comes to the angle of its jam, its rate and speed there and after the impulse.

    With l(cos, -sin) from the centre of mass to the middle of the end's ball, and r its radius, forces N (1, mu) give

        N A = g - l sin rate^2,    A = 1 - 3 l cos B,    B = mu (l sin + r) - l cos,    rate' = 3 N B,    v' = -mu N.

    Where A falls to zero, N grows as a power of A that can be integrated: s = -log A takes the place of time.  Then an
    impulse with forces of the same direction ends what is left of the slip, without any rate along the normal.
    """
    r, x, z = 0.01, math.cos(math.radians(degrees)), 0.01 - math.sin(math.radians(degrees))
    start, length = math.atan2(-z, x), math.hypot(x, z)

    def B(angle: float) -> float:
        return mu * (length * math.sin(angle) + r) - length * math.cos(angle)

    def slope(s: float, y: np.ndarray) -> list[float]:
        angle, rate, _, _ = y
        B_grows = length * (mu * math.cos(angle) + math.sin(angle))
        falls = 3 * length * (math.cos(angle) * B_grows - math.sin(angle) * B(angle))
        impulse = (9.81 - length * math.sin(angle) * rate**2) / falls / rate
        return [math.exp(-s) / falls, 3 * impulse * B(angle), -mu * impulse, math.exp(-s) / falls / rate]

    first = -math.log(1 - 3 * length * math.cos(start) * B(start))
    found = solve_ivp(slope, (first, 300.0), [start, rate, speed, 0.0], method="LSODA", rtol=1e-12, atol=1e-14)
    angle, rate, speed, time = found.y[:, -1]
    arm = length * math.sin(angle) + r
    left = speed - rate * arm
    impulse = left / (mu + 3 * arm * B(angle))
    rate_after = rate + 3 * impulse * B(angle)
    return {
        "time": time, "rate": rate, "slip": left, "v_x": speed - mu * impulse, "after": rate_after,
        "v_z": rate_after * length * math.cos(angle),
    }  # fmt: skip


@MOVED
def test_a_rod_that_slides_into_its_jam_is_stopped_there(moved: bool) -> None:
    """At 22 degrees and mu = 3 it slides, its force grows without end until 24.6 degrees: an impulse ends the slip."""
    degrees, mu, speed, rate = 22.0, 3.0, 20.0, 1.0
    x = math.cos(math.radians(degrees))
    text = ROD.format(x=-x, z=math.sin(math.radians(degrees)), mu=mu, speed=speed)
    text = text.replace(f"[{speed!r}, 0, 0]", f"[{speed!r}, 0, {rate * x!r}], angular_velocity: [0, {rate!r}, 0]")
    scene = load_text(text)
    run = Run(moved_scene(scene, R, np.array([2.0, 5.0, -3.0])) if moved else scene)
    wanted = slid_into_its_jam(degrees, mu, speed, rate)
    assert wanted["slip"] > 5.0
    run.to(wanted["time"] + 1e-6)
    assert run.texts("impact") == ["ground and rod jam"]
    (time,) = run.times("impact")
    assert time == pytest.approx(wanted["time"], abs=1e-8)
    _, after = run.told.around[[event.kind for event in run.told.events].index("impact")]
    back = R.T if moved else np.eye(3)
    assert back @ after["velocity"][0] == pytest.approx([wanted["v_x"], 0.0, wanted["v_z"]], abs=1e-6)
    assert back @ after["angular_velocity"][0] == pytest.approx([0.0, wanted["after"], 0.0], abs=1e-6)
    assert run.balance() < 1e-7 * speed**2
    run.to(wanted["time"] + 0.02)
