"""Painleve's rod in whole scenes, where it stands and anywhere else: benchmark notes 3.7."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
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
