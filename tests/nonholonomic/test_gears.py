"""Gears and screws against closed forms, conservation laws and a dense saddle-point system."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from tests.contact.engine import G0, Run
from tests.dynamics.engine import accelerations_of, bodies_of, links_at, relative_error, simulator_of
from tests.support import reference as ref
from tests.support.mechanisms import Mechanism, random_mechanism, tree_rates
from tests.support.scene_texts import number, scene_text

pytestmark = pytest.mark.nonholonomic


def drift(run: Run) -> float:
    """Return the largest position residual of all rows so far [m or rad]."""
    return float(max(row["trust/position_residual"] for row in run.told.rows_))


FLYWHEELS = """
schema: 1
name: flywheels
bodies:
  a: {mass: 1 kg, com: [0, 0, 0], inertia: [0.2, 0.2, 0.3]}
  b: {mass: 2 kg, com: [1, 0, 0], inertia: [0.5, 0.5, 0.7]}
joints:
  ja: {type: rotational, parent: world, child: a, position: [0, 0, 0], axis: [0, 0, 1]}
  jb: {type: rotational, parent: world, child: b, position: [1, 0, 0], axis: [0, 0, 1], stiffness: 3 N m/rad}
constraints:
  pair: {type: gear, joints: [ja, jb], ratio: -2}
initial:
  jb: {coordinate: 10 rad}
simulate: {rtol: 1e-12, duration: 20 s}
"""


def test_two_flywheels_swing_as_one_on_a_spring() -> None:
    run = Run(FLYWHEELS)
    inertia = 0.7 + 4.0 * 0.3
    for t in (1.0, 20.0):
        state = run.to(t).simulator
        angle = 10.0 * math.cos(math.sqrt(3.0 / inertia) * t)  # turns are counted
        assert state.coordinate["jb"] == pytest.approx(angle, abs=1e-8)
        assert state.coordinate["ja"] == pytest.approx(-2.0 * angle, abs=1e-8)
    run.simulator.flow.observe()
    torque = run.simulator.flow.work.joints.force[run.simulator.model.joint("pair")]
    np.testing.assert_allclose(torque, [0, 0, -2.0 * 0.3 * -3.0 / inertia * angle, 0, 0, 0], atol=1e-8)
    assert drift(run) < 1e-12
    assert run.balance() < 1e-9  # of 150 J


@pytest.mark.fast
def test_a_gear_that_is_given_twice_shares_its_torque() -> None:
    single, twice = (
        Run(FLYWHEELS),
        Run(FLYWHEELS.replace("initial:", "  twin: {type: gear, joints: [jb, ja], ratio: -0.5}\ninitial:")),
    )
    for run in (single, twice):
        run.to(0.4).simulator.flow.observe()
    assert twice.simulator.coordinate["ja"] == pytest.approx(single.simulator.coordinate["ja"], abs=1e-10)
    work, model = twice.simulator.flow.work, twice.simulator.model
    ties = [model.joint(name) for name in ("pair", "twin")]
    assert not work.joints.determinate[ties].any()
    assert work.joints.determinate[: ties[0]].all()  # what their bearings carry is
    (a, b), alone = work.joints.force[ties, 2], single.simulator.flow.work.joints.force[ties[0], 2]
    assert a + 0.5 * b == pytest.approx(alone, abs=1e-9)  # the twin has its torque on the other wheel
    assert abs(b) > 0.1 * abs(alone)


@pytest.mark.fast
def test_a_rack_falls_on_its_pinion() -> None:
    run = Run("""
schema: 1
name: rack
bodies:
  pinion: {mass: 3 kg, com: [0, 0, 0], inertia: [0.02, 0.03, 0.02]}
  rack: {mass: 2 kg, com: [0.1, 0, 0], inertia: [0.1, 0.1, 0.1]}
joints:
  turns: {type: rotational, parent: world, child: pinion, position: [0, 0, 0], axis: [0, 1, 0]}
  slides: {type: translational, parent: world, child: rack, position: [0.1, 0, 0], axis: [0, 0, -1]}
constraints:
  teeth: {type: gear, joints: [slides, turns], ratio: 10 cm}
simulate: {rtol: 1e-12}
""")
    state = run.to(0.8).simulator
    a = 2.0 * G0 / (2.0 + 0.03 / 0.1**2)
    assert state.coordinate["slides"] == pytest.approx(0.5 * a * 0.8**2, abs=1e-11)
    assert state.coordinate["turns"] == pytest.approx(0.5 * a * 0.8**2 / 0.1, abs=1e-10)
    state.flow.observe()
    force = state.flow.work.joints.force[state.model.joint("teeth")]
    np.testing.assert_allclose(force, [0, 0, 0, 0, 0, 2.0 * (G0 - a)], atol=1e-10)
    assert drift(run) < 1e-12


@pytest.mark.fast
def test_a_nut_falls_on_its_thread() -> None:
    run = Run("""
schema: 1
name: nut
bodies:
  nut: {mass: 0.5 kg, com: [0, 0, 0], inertia: [0.01, 0.01, 0.004]}
joints:
  rod: {type: cylindrical, parent: world, child: nut, position: [0, 0, 0], axis: [0, 0, 1]}
constraints:
  thread: {type: screw, joint: rod, pitch: 5 cm}
simulate: {rtol: 1e-12}
""")
    p = 0.05 / (2.0 * math.pi)
    a = -G0 / (1.0 + 0.004 / (0.5 * p**2))
    state = run.to(3.0).simulator
    np.testing.assert_allclose(state.coordinate["rod"], [4.5 * a, 4.5 * a / p], atol=1e-9)
    assert abs(state.coordinate["rod"][1]) > 6.0 * math.pi
    state.flow.observe()
    force = 0.5 * (a + G0)
    wrench = state.flow.work.joints.force[state.model.joint("thread")]
    np.testing.assert_allclose(wrench, [0, 0, -p * force, 0, 0, force], atol=1e-10)
    assert drift(run) < 1e-12
    assert run.balance() < 1e-10


@pytest.mark.fast
def test_a_planetary_set_turns_as_willis_says() -> None:
    """Sun driven by a constant torque, planet on the carrier, ring held; tooth numbers 20, 30, 80."""
    run = Run("""
schema: 1
name: planetary
bodies:
  carrier: {mass: 1 kg, com: [0, 0, 0], inertia: [0.05, 0.05, 0.08]}
  sun: {mass: 1 kg, com: [0, 0, 0], inertia: [0.01, 0.01, 0.02]}
  planet: {mass: 0.4 kg, com: [0.25, 0, 0], inertia: [0.002, 0.002, 0.003]}
joints:
  arm: {type: rotational, parent: world, child: carrier, position: [0, 0, 0], axis: [0, 0, 1]}
  axle: {type: rotational, parent: carrier, child: sun, position: [0, 0, 0], axis: [0, 0, 1]}
  pin: {type: rotational, parent: carrier, child: planet, position: [0.25, 0, 0], axis: [0, 0, 1]}
constraints:
  ring: {type: gear, joints: [pin, arm], ratio: -80/30}
  mesh: {type: gear, joints: [axle, pin], ratio: -30/20}
forces:
  motor: {type: wrench, body: sun, torque: [0, 0, 0.3 N*m]}
simulate: {rtol: 1e-12}
""")
    state = run.to(2.0).simulator
    sun = 1.0 + 80.0 / 20.0  # times the carrier
    planet = 1.0 - 80.0 / 30.0
    inertia = 0.02 * sun**2 + 0.08 + 0.4 * 0.25**2 + 0.003 * planet**2
    rate = sun * 0.3 / inertia * 2.0
    turning = [state.angular_velocity[name][2] for name in ("carrier", "sun", "planet")]
    np.testing.assert_allclose(turning, [rate, sun * rate, planet * rate], rtol=1e-11)
    assert drift(run) < 1e-12
    assert run.balance() < 1e-10


def test_bevel_wheels_on_a_body_that_tumbles_keep_its_momentum() -> None:
    run = Run("""
schema: 1
name: bevel
world: {gravity: [0, 0, 0]}
bodies:
  carrier: {mass: 2 kg, com: [0.1, 0, 0], inertia: [0.05, 0.07, 0.06]}
  a: {mass: 1 kg, com: [0.4, 0, 0], inertia: [0.03, 0.02, 0.02]}
  b: {mass: 1 kg, com: [0, 0.3, 0.1], inertia: [0.03, 0.05, 0.03]}
joints:
  ja: {type: rotational, parent: carrier, child: a, position: [0.4, 0, 0], axis: [1, 0, 0]}
  jb: {type: rotational, parent: carrier, child: b, position: [0, 0.3, 0], axis: [0, 1, 0.5]}
constraints:
  bevel: {type: gear, joints: [ja, jb], ratio: 1.5}
initial:
  carrier: {velocity: [0.1, 0.2, 0], angular_velocity: [1, -2, 0.7]}
  jb: {rate: 9 rad/s}
simulate: {rtol: 1e-12}
""")
    inertias = {"carrier": (2.0, [0.05, 0.07, 0.06]), "a": (1.0, [0.03, 0.02, 0.02]), "b": (1.0, [0.03, 0.05, 0.03])}

    def momentum() -> tuple[np.ndarray, float]:
        state, spin, energy = run.simulator, np.zeros(3), 0.0
        for name, (mass, about) in inertias.items():
            R, w = state.rotation[name], state.angular_velocity[name]
            com = {"carrier": [0.0, 0, 0], "a": [0.0, 0, 0], "b": [0, 0, 0.1]}[name]
            r = R @ np.asarray(com)
            v, x = state.velocity[name] + np.cross(w, r), state.position[name] + r
            own = R @ (np.asarray(about) * (R.T @ w))
            spin += own + mass * np.cross(x, v)
            energy += 0.5 * float(own @ w) + 0.5 * mass * float(v @ v)
        return spin, energy

    spin, energy = momentum()
    assert run.simulator.rate["ja"] == pytest.approx(13.5)
    run.to(5.0)
    later, left = momentum()
    np.testing.assert_allclose(later, spin, atol=1e-9)
    assert left == pytest.approx(energy, abs=1e-9)
    assert np.linalg.norm(run.simulator.rotation["carrier"] - np.eye(3)) > 0.5
    assert drift(run) < 1e-12


PARALLELOGRAM = """
schema: 1
name: parallelogram
bodies:
  crank: {mass: 1 kg, com: [0, 0, 0.2], inertia: [0.02, 0.02, 0.01]}
  coupler: {mass: 1 kg, com: [0.5, 0, 0.4], inertia: [0.02, 0.1, 0.1]}
  rocker: {mass: 1 kg, com: [1, 0, 0.2], inertia: [0.02, 0.02, 0.01]}
  wheel: {mass: 1 kg, com: [2, 0, 0], inertia: [0.02, 0.03, 0.02]}
joints:
  left: {type: rotational, parent: world, child: crank, position: [0, 0, 0], axis: [0, 1, 0]}
  pin: {type: rotational, parent: crank, child: coupler, position: [0, 0, 0.4], axis: [0, 1, 0]}
  other: {type: rotational, parent: coupler, child: rocker, position: [1, 0, 0.4], axis: [0, 1, 0]}
  right: {type: rotational, parent: world, child: rocker, position: [1, 0, 0], axis: [0, 1, 0]}
  axle: {type: rotational, parent: world, child: wheel, position: [2, 0, 0], axis: [0, 1, 0]}
constraints:
  pair: {type: gear, joints: [axle, JOINT], ratio: 3}
initial:
  left: {coordinate: 1 rad, rate: 9 rad/s}
simulate: {rtol: 1e-11}
"""


def test_a_gear_takes_a_joint_of_a_loop_as_it_takes_one_of_the_tree() -> None:
    """Both cranks of a parallelogram turn alike, several times round; one of their joints closes the loop."""
    runs = [Run(PARALLELOGRAM.replace("JOINT", joint)) for joint in ("left", "right")]
    tree = runs[0].simulator.flow.structure.carrier.tolist()
    assert [runs[0].simulator.model.joint(name) in tree for name in ("left", "right", "other")].count(False) == 1
    places = [run.to(3.0).simulator.coordinate["axle"] for run in runs]
    assert places[0] == pytest.approx(places[1], abs=1e-7)
    assert abs(places[0]) > 20.0
    assert places[1] == pytest.approx(3.0 * runs[1].simulator.coordinate["right"], abs=1e-11)
    assert max(drift(run) for run in runs) < 1e-11


@dataclass(frozen=True)
class Gear:
    """Which freedoms of which links go together, and how."""

    links: tuple[int, int]
    freedoms: tuple[int, int]
    ratio: float

    def row(self, links: Sequence[ref.Link], bodies: Sequence[ref.Body]) -> tuple[np.ndarray, float]:
        """Return J (6 n,) and its drift."""
        J, gone = np.zeros(6 * len(bodies)), 0.0
        for n, k, factor in zip(self.links, self.freedoms, (1.0, -self.ratio), strict=True):
            row = ref.free_rows(links[n], bodies)[k]
            J += factor * ref.dense([row], links[n], len(bodies))[0]
            gone += factor * row.drift
        return J, gone


TIED = ("rotational", "translational", "cylindrical", "universal", "planar")


def random_gears(rng: np.random.Generator, mechanism: Mechanism) -> list[Gear]:
    """Return gears between freedoms of different joints, none of which locks the mechanism; loop joints come first."""
    loose = [n for n, link in enumerate(mechanism.links) if link.kind in TIED]
    loose.sort(key=lambda n: n < mechanism.tree)
    gears = []
    for a, b in zip(loose[::2], loose[1::2], strict=False):
        freedoms = tuple(int(rng.integers(ref.FREEDOMS[mechanism.links[n].kind])) for n in (a, b))
        gears.append(Gear((a, b), freedoms, float(rng.choice([-1, 1]) * rng.uniform(0.3, 3))))
    return gears[: max(1, mechanism.mobility - 1)] if mechanism.mobility > 1 else []


def oracle(
    mechanism: Mechanism, gears: Sequence[Gear], bodies: Sequence[ref.Body]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return M, J of all links and gears, and the drift."""
    links = links_at(mechanism, list(bodies))
    J, gone = ref.constraint_rows(bodies, links)
    rows = [gear.row(links, bodies) for gear in gears]
    J = np.vstack([J, *(row for row, _ in rows)])
    return ref.inertia_matrix(bodies, links), J, np.concatenate([gone, [one for _, one in rows]])


@pytest.mark.parametrize("loops", range(4))
@pytest.mark.parametrize("seed", range(6))
def test_random_mechanisms_with_gears_beside_a_dense_system(seed: int, loops: int) -> None:
    rng = np.random.default_rng([17, seed, loops])
    gears: list[Gear] = []
    while not gears:
        mechanism = random_mechanism(rng, 4 + loops, loops, driven=seed % 2 == 1)
        gears = random_gears(rng, mechanism)
        M, J, _ = oracle(mechanism, gears, mechanism.bodies)
        size = np.linalg.svd(J, compute_uv=False)
        if np.any((size < 1e-3 * size[0]) & (size > 1e-9 * size[0])):
            gears = []
    speeds, _ = ref.solve_saddle(M, J, M @ rng.normal(size=len(M)), np.zeros(len(J)))
    V = speeds.reshape(-1, 6)
    moving = Mechanism(**{**vars(mechanism), "bodies": tuple(ref.with_speeds(mechanism.bodies, V[:, :3], V[:, 3:]))})
    moving = Mechanism(**{**vars(moving), "rates": tree_rates(moving)})
    lines = ["constraints:"]
    for n, gear in enumerate(gears):
        a, b = (mechanism.joints[k] for k in gear.links)
        lines.append(
            f"  gear{n}: {{type: gear, joints: [{a}, {b}], freedoms: [{gear.freedoms[0]}, {gear.freedoms[1]}], "
            f"ratio: {number(gear.ratio)}}}"
        )
    simulator = simulator_of(scene_text(moving, extra="\n".join(lines), simulate="{duration: 1 s, rtol: 1e-9}"))
    for t in (0.0, 0.05):
        simulator.advance(t)
        bodies = bodies_of(simulator, moving)
        M, J, gone = oracle(moving, gears, bodies)
        speed = ref.speeds(bodies)
        assert np.abs(J @ speed).max() < 1e-8 * max(1.0, np.abs(speed).max())
        links = links_at(moving, bodies)
        f = ref.applied_forces(bodies, links, moving.gravity, [])
        rank = int(np.sum(size > 1e-6 * size[0]))
        x, _ = ref.solve_saddle(M, J, f, -gone, rank)
        expected = x.reshape(-1, 6)
        a, alpha = accelerations_of(simulator, moving)
        assert relative_error(np.hstack([a, alpha]), expected) < (1e-9 if t == 0.0 else 1e-6)
        forces = np.array([simulator.state.force[name] for name in moving.joints])
        wrenches = [simulator.state.force[f"gear{n}"] for n in range(len(gears))]
        pushes = [force_of(wrench, gear, links, bodies) for wrench, gear in zip(wrenches, gears, strict=True)]
        assert_carried(moving, bodies, links, forces, np.sum(pushes, axis=0), (a, alpha))


def unit_of(kind: str, freedom: int) -> bool:
    """Tell whether a freedom is a slide."""
    return {"translational": (True,), "cylindrical": (True, False), "planar": (True, True, False)}.get(
        kind, (False, False)
    )[freedom]


def force_of(wrench: np.ndarray, gear: Gear, links: Sequence[ref.Link], bodies: Sequence[ref.Body]) -> np.ndarray:
    """Return what a gear does to all bodies (6 n,), from the recorded wrench on its first freedom."""
    link, k = links[gear.links[0]], gear.freedoms[0]
    row = ref.free_rows(link, bodies)[k]
    e = row.row_b[:3] if unit_of(link.kind, k) else row.row_b[3:]
    e = e / np.linalg.norm(e)
    part = wrench[3:] if unit_of(link.kind, k) else wrench[:3]
    assert np.abs(part - e * (e @ part)).max() < 1e-9 * max(1.0, np.abs(part).max())
    return gear.row(links, bodies)[0] * float(e @ part)


def assert_carried(
    mechanism: Mechanism, bodies: Sequence[ref.Body], links: Sequence[ref.Link], forces: np.ndarray,
    geared: np.ndarray, moved: tuple[np.ndarray, np.ndarray],
) -> None:  # fmt: skip
    """Newton and Euler of every body, with the recorded forces of joints and of gears."""
    bound = 1e-8 * max(1.0, np.abs(forces).max())
    for i, body in enumerate(bodies):
        force = body.mass * (moved[0][i] - mechanism.gravity) - geared[6 * i : 6 * i + 3]
        moment = body.inertia_W @ moved[1][i] + np.cross(body.w_W, body.inertia_W @ body.w_W)
        moment = moment - geared[6 * i + 3 : 6 * i + 6]
        for link, wrench in zip(links, forces, strict=True):
            sign = (link.b == i) - (link.a == i)
            force = force - sign * wrench[3:]
            moment = moment - sign * (wrench[:3] + np.cross(link.p_b - body.com_W, wrench[3:]))
        assert np.abs(force).max() < bound
        assert np.abs(moment).max() < bound


@pytest.mark.fast
def test_wheels_that_are_geared_while_they_spin_strike_each_other() -> None:
    """Angular momentum of each changes by the impulse of the teeth; where they stand is where the gear holds them."""
    text = FLYWHEELS.replace("ratio: -2}", "ratio: -2, active: false}").replace("10 rad", "1 rad, rate: 3 rad/s")
    text = text.replace(", stiffness: 3 N m/rad", "")
    events = """
events:
  mesh: {at: 0.5 s, enable: pair}
  let go: {at: 1 s, cut: ja}
"""
    run = Run(text + events)
    before = run.to(0.6).simulator
    rate = 0.7 * 3.0 / (0.7 + 4.0 * 0.3)
    assert before.rate["jb"] == pytest.approx(rate, abs=1e-12)
    assert before.rate["ja"] == pytest.approx(-2.0 * rate, abs=1e-12)
    assert before.coordinate["ja"] == pytest.approx(-0.2 * rate, abs=1e-12)
    lost = 0.5 * 0.7 * 9.0 - 0.5 * (0.7 + 4.0 * 0.3) * rate**2
    assert run.told.events[0].lost == pytest.approx(lost, abs=1e-12)
    assert before.coordinate["jb"] == pytest.approx(1.0 + 1.5 + 0.1 * rate, abs=1e-12)
    after = run.to(1.5).simulator
    assert after.model.joint("pair") not in after.flow.active
    assert after.position["a"][2] == pytest.approx(-0.5 * G0 * 0.25, abs=1e-9)
    assert run.balance() < 1e-10


def test_a_train_of_many_wheels() -> None:
    """More gears than are ever eliminated one after the other: 130 wheels, each driving the next backward."""
    count, struck = 130, 3.0
    lines = ["schema: 1", "name: train", "bodies:"]
    lines += [f"  w{i}: {{mass: 1 kg, com: [{i}, 0, 0], inertia: [0.2, 0.2, 0.3]}}" for i in range(count)]
    lines += ["joints:"]
    place = "{type: rotational, parent: world, child: w%d, position: [%d, 0, 0], axis: [0, 0, 1]}"
    lines += [f"  j{i}: " + place % (i, i) for i in range(count)]
    lines += ["constraints:"]
    lines += [
        f"  g{i}: {{type: gear, joints: [j{i + 1}, j{i}], ratio: -1, active: {str(i > 0).lower()}}}"
        for i in range(count - 1)
    ]
    lines += [f"initial: {{j0: {{rate: {struck} rad/s}}}}", "events: {mesh: {at: 0.1 s, enable: g0}}"]
    run = Run("\n".join(lines)).to(0.5)
    rates = np.array([run.simulator.rate[f"j{i}"] for i in range(count)])
    np.testing.assert_allclose(rates, struck / count * (-1.0) ** np.arange(count), atol=1e-12)
    assert run.told.events[0].lost == pytest.approx(0.5 * 0.3 * struck**2 * (1.0 - 1.0 / count), abs=1e-12)
    assert drift(run) < 1e-12
