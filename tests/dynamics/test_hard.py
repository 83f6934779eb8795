"""All that is told of hard mechanisms against the dense oracle: at the start, at events, along their motion."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sim
from sim import connectivity
from sim.kernels.project import add_freedoms
from sim.scene.load import load_text
from sim.tree import Frames
from sim.trust.seen import Seen
from tests import reference as ref
from tests.contact.engine import Run
from tests.dynamics.engine import bodies_of, links_at, relative_error, simulator_of
from tests.dynamics.test_against_reference import determinate_links, drive_wrench
from tests.hard import CASES, STIFF, Hard, hard
from tests.mechanisms import LOOP_KINDS, with_consistent_rates
from tests.reference_motion import trajectory

TOLERANCE = 1e-9


def pushed(simulator: sim.Simulator, made: Hard, seed: int = 3) -> list[ref.Wrench]:
    """Push two bodies, one at a point and one at its origin; returns what the oracle is to know of it."""
    rng, out = np.random.default_rng(seed), []
    for k, name in enumerate(made.mechanism.names[1:3], start=1):
        force, torque = rng.normal(0, 5, (2, 3))
        point = simulator.position[name] + (rng.normal(0, 0.5, 3) if k == 1 else 0.0)
        simulator.apply_wrench(name, force_W=force, torque_W=torque, point_W=point if k == 1 else None)
        out.append(ref.Wrench(body=k, force_W=force, torque_W=torque, point_W=point))
    return out


def assert_told(
    simulator: sim.Simulator, made: Hard, wrenches: list[ref.Wrench], bound: float = TOLERANCE, held: float = 0.0
) -> None:
    """Hold everything that is told of the present state against the oracle at the same poses and velocities.

    held : energy of springs that the mechanism does not know of [J]
    """
    mechanism, state = made.mechanism, simulator.state
    bodies = bodies_of(simulator, mechanism)
    links = links_at(mechanism, bodies)
    acting = made.acting(bodies, links)
    a, alpha, carried = ref.accelerations(bodies, acting, mechanism.gravity, wrenches)
    arms = [state.position[name] - body.com_W for name, body in zip(mechanism.names, bodies, strict=True)]
    own = [
        a[i] + np.cross(alpha[i], arm) + np.cross(body.w_W, np.cross(body.w_W, arm))
        for i, (body, arm) in enumerate(zip(bodies, arms, strict=True))
    ]
    assert relative_error(np.array([state.acceleration[n] for n in mechanism.names]), np.array(own)) < bound
    assert relative_error(np.array([state.angular_acceleration[n] for n in mechanism.names]), alpha) < bound
    assert (
        relative_error(np.array([state.com[n] for n in mechanism.names]), np.array([b.com_W for b in bodies])) < 1e-12
    )
    x = np.hstack([a, alpha]).ravel()
    sure = determinate_links(bodies, links)
    flags = simulator.flow.work.joints.determinate[[simulator.model.joint(name) for name in mechanism.joints]]
    assert flags.astype(bool).tolist() == sure.tolist()
    for k, (name, link) in enumerate(zip(mechanism.joints, acting, strict=True)):
        if not ref.FREEDOMS[link.kind]:
            assert sure[k] and relative_error(state.force[name], carried[k]) < bound
            continue
        q, rate = made.coordinate(name, links[k]), ref.rates(link, bodies)
        assert relative_error(np.atleast_1d(state.coordinate[name]), q) < 1e-11, name
        assert relative_error(np.atleast_1d(state.rate[name]), rate) < 1e-10, name
        stops = sum((stop.torque(q, rate) for stop in made.stops.get(name, ())), np.zeros(len(q)))
        d = link.drive
        torque = d.torque - d.stiffness * (ref.coordinates(link) - d.rest) - d.damping * rate
        assert relative_error(np.atleast_1d(state.stop_torque[name]), stops) < 1e-10, name
        assert relative_error(np.atleast_1d(state.torque[name]), torque) < 1e-10, name
        if sure[k]:
            assert relative_error(state.force[name], carried[k] + drive_wrench(link, bodies, x)) < bound, name
    assert state.energy["kinetic"] == pytest.approx(ref.kinetic_energy(bodies, acting), rel=1e-11)
    potential = ref.potential_energy(bodies, acting, mechanism.gravity) + made.pressed(links) + held
    assert state.energy["potential"] == pytest.approx(potential, rel=1e-11, abs=1e-11)


@pytest.mark.fast
@pytest.mark.parametrize("elimination", ["together", "along"])
@pytest.mark.parametrize(("kind", "place"), CASES)
def test_accelerations_and_forces(kind: str, place: str, elimination: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connectivity, "cheaper_along", lambda *_: elimination == "along")
    made = hard(kind, place)
    simulator = simulator_of(made.text())
    structure = simulator.flow.structure
    assert len(structure.loops) == (place == "loop")
    assert any(made.stops.values())
    assert_told(simulator, made, pushed(simulator, made))


def momenta(bodies: list[ref.Body]) -> np.ndarray:
    """Return (n, 6) momentum and angular momentum about the centre of mass of each body."""
    return np.array([np.r_[b.mass * b.v_com_W, b.inertia_W @ b.w_W] for b in bodies])


def carried_by(joints: np.ndarray, bodies: list[ref.Body], links: list[ref.Link]) -> np.ndarray:
    """Return (n, 6) force and moment about the centre of mass that wrenches of joints amount to, or their impulses."""
    out = np.zeros((len(bodies), 6))
    for wrench, link in zip(joints, links, strict=True):
        for body, sign in ((link.b, 1.0), (link.a, -1.0)):
            if body >= 0:
                arm = link.p_b - bodies[body].com_W
                out[body] += sign * np.r_[wrench[3:], wrench[:3] + np.cross(arm, wrench[3:])]
    return out


def assert_event(run: Run, made: Hard, pushed: np.ndarray, lost: float, given: float) -> None:
    """Hold what is told of the first event: losses and gifts, the impulse on each body, the balance."""
    event, simulator = run.told.events[0], run.simulator
    before, after = run.told.around[0]
    assert event.lost == pytest.approx(lost, rel=1e-9, abs=1e-11)
    for row, spent, won in ((before, 0.0, 0.0), (after, lost, given)):
        assert row["energy/impact"] == pytest.approx(spent, rel=1e-9, abs=1e-11)
        assert row["energy/input"] == pytest.approx(won, rel=1e-9, abs=1e-11)
        assert abs(row["energy/balance"]) < 1e-10
    energy = simulator.energy
    assert (energy["impact"], energy["input"]) == pytest.approx((lost, given), rel=1e-9, abs=1e-11)
    assert abs(energy["balance"]) < 1e-10
    now = bodies_of(simulator, made.mechanism)
    links = links_at(made.mechanism, now)
    was = [
        replace(body, w_W=before["angular_velocity"][i], v_com_W=before["velocity"][i] + np.cross(
            before["angular_velocity"][i], body.com_W - before["position"][i]
        ))
        for i, body in enumerate(now)
    ]  # fmt: skip
    told = np.zeros((len(links), 6)) if event.through is None else event.through
    names = simulator.model.joint_names
    told = np.array([told[names.index(name)] for name in made.mechanism.joints])
    change = momenta(now) - momenta(was)
    scale = max(1.0, np.abs(change).max())
    assert change == pytest.approx(carried_by(told, now, links) + pushed, abs=1e-9 * scale)


@pytest.mark.fast
@pytest.mark.parametrize("kind", LOOP_KINDS)
def test_an_event_is_told_as_the_oracle_says(kind: str) -> None:
    """A loop is closed between two that move otherwise, and one of them struck, at one instant: two plastic impulses.

    A rotor that comes along is at rest before; its spring is stretched, which is energy put in.
    """
    rng = np.random.default_rng(LOOP_KINDS.index(kind))
    made = hard(kind, "loop")
    tree = replace(made.mechanism, joints=made.mechanism.joints[:4], links=made.mechanism.links[:4])
    mechanism = replace(made.mechanism, rates=with_consistent_rates(rng, tree).rates)
    made = replace(made, mechanism=mechanism, stops={n: s for n, s in made.stops.items() if n != "loop0"})
    linear, angular = rng.normal(0, 3, (2, 3))
    event = f"{{catch: {{at: 0, connect: loop0, impulse: {{body: b1, linear: {linear.tolist()}, "
    text = made.text(events=event + f"angular: {angular.tolist()}}}}}}}")
    run = Run(text.replace("  loop0: {", "  loop0: {connected: false, "))
    drawn = bodies_of(run.simulator, made.mechanism)
    links = links_at(made.mechanism, drawn)
    run.to(0.0)
    M_old, M_new = ref.inertia_matrix(drawn, links[:4]), ref.inertia_matrix(drawn, links)
    J, _ = ref.constraint_rows(drawn, links)
    v = ref.speeds(drawn)
    held, _ = ref.solve_saddle(M_new, J, M_old @ v, np.zeros(len(J)))
    push = np.zeros(6 * len(drawn))
    push[6:12] = [*linear, *angular]
    struck, _ = ref.solve_saddle(M_new, J, M_new @ held + push, np.zeros(len(J)))
    found = ref.speeds(bodies_of(run.simulator, made.mechanism))
    assert found == pytest.approx(struck, abs=1e-10)
    lost = 0.5 * (v @ M_old @ v - held @ M_new @ held)
    drive = links[-1].drive
    stretched = 0.0 if drive is None else 0.5 * float(drive.stiffness @ drive.rest**2)
    given = stretched + 0.5 * push @ (held + struck)
    assert lost > 1e-3
    pushed = np.zeros((len(drawn), 6))
    pushed[1] = [*linear, *angular]
    assert_event(run, made, pushed, lost, given)
    assert_told(run.simulator, made, [])


@pytest.mark.fast
@pytest.mark.parametrize(("kind", "place"), CASES)
def test_cutting_a_joint_loses_what_it_holds(kind: str, place: str) -> None:
    """Of springs, pressed stops and rotors of the joint that is cut; bodies keep their speeds."""
    made = hard(kind, place)
    name = "j1" if place == "tree" else "loop0"
    run = Run(made.text(events=f"{{loose: {{at: 0, cut: {name}}}}}"))
    bodies = bodies_of(run.simulator, made.mechanism)
    links = links_at(made.mechanism, bodies)
    k = made.mechanism.joints.index(name)
    drive, q = links[k].drive, made.coordinate(name, links[k])
    lost = sum(0.5 * STIFF * max(stop.depth(q), 0.0) ** 2 for stop in made.stops.get(name, ()))
    if drive is not None:
        lost += 0.5 * float(drive.stiffness @ (q - drive.rest) ** 2)
        lost += 0.5 * float(drive.armature @ ref.rates(links[k], bodies) ** 2)
    run.to(0.0)
    assert ref.speeds(bodies_of(run.simulator, made.mechanism)) == pytest.approx(ref.speeds(bodies), abs=1e-10)
    assert_event(run, made, np.zeros((len(bodies), 6)), lost, 0.0)
    rest = made.without(name)
    assert_told(run.simulator, rest, [])


FORCES = """
forces:
  cord: {{type: spring, from: b1.com, to: b3.com, stiffness: 30, damping: 4, length: 0.2}}
  wind: {{type: drag, body: b2, point: com, linear: 0.3, quadratic: 0.7, turning_linear: 0.2, turning_quadratic: 0.4}}
  jet: {{type: wrench, body: b1, reaction: b2, point: com, frame: body, force: [1, -2, 3], torque: [0.3, 0.2, -0.5]}}
  coil: {{type: torsion_spring, joint: {joint}, stiffness: 7, damping: 0.4, rest: 0.3}}
"""


def by_name(made: Hard, simulator: sim.Simulator, joint: str) -> tuple[list[ref.Wrench], Hard, dict[str, float], float]:
    """Return what named forces do, the mechanism with the coil in its torques, tensions and lengths, and energy."""
    m = made.mechanism
    bodies = bodies_of(simulator, m)
    b1, b2, b3 = bodies[1:4]
    way = b3.com_W - b1.com_W
    length = float(np.linalg.norm(way))
    n = way / length
    pull = 30 * (length - 0.2) + 4 * float(n @ (b3.v_com_W - b1.v_com_W))
    none, v, w = np.zeros(3), b2.v_com_W, b2.w_W
    push, turn = b1.R_WB @ [1, -2, 3], b1.R_WB @ [0.3, 0.2, -0.5]
    wind = -(0.3 + 0.7 * np.linalg.norm(v)) * v, -(0.2 + 0.4 * np.linalg.norm(w)) * w
    at = {1: b1.com_W, 2: b2.com_W, 3: b3.com_W}
    out = [
        ref.Wrench(body=body, force_W=force, torque_W=torque, point_W=point)
        for body, force, torque, point in (
            (1, pull * n, none, at[1]), (3, -pull * n, none, at[3]), (2, *wind, at[2]), (1, push, turn, at[1]),
            (2, -push, -turn, at[1]),
        )
    ]  # fmt: skip
    link = links_at(m, bodies)[m.joints.index(joint)]
    q, rate = made.coordinate(joint, link), ref.rates(link, bodies)
    coil = 7 * (q[-1] - 0.3) + 0.4 * rate[-1]
    torque = made.torques.get(joint, np.zeros(len(q))) - coil * np.eye(len(q))[-1]
    told = {"cord": pull, "cord.length": length, "coil": coil, "coil.length": float(q[-1])}
    energy = 0.5 * 30 * (length - 0.2) ** 2 + 0.5 * 7 * (q[-1] - 0.3) ** 2
    return out, replace(made, torques={**made.torques, joint: torque}), told, float(energy)


@pytest.mark.fast
@pytest.mark.parametrize(("kind", "place"), [("rotational", "tree"), ("cylindrical", "tree"), ("rotational", "loop")])
def test_named_forces_between_bodies_whose_origins_are_elsewhere(kind: str, place: str) -> None:
    """A damped spring, drag, a wrench with its reaction, and a torsion spring on a turned joint or in a loop."""
    made = hard(kind, place)
    joint = {"tree": "j3" if kind == "rotational" else "j1", "loop": "loop0"}[place]
    if kind == "cylindrical":
        made = replace(made, stops={})
    simulator = simulator_of(made.text() + FORCES.format(joint=joint))
    wrenches, acting, told, energy = by_name(made, simulator, joint)
    state = simulator.state
    for name in ("cord", "coil"):
        assert state.tension[name] == pytest.approx(told[name], rel=1e-10)
        assert state.length[name] == pytest.approx(told[f"{name}.length"], rel=1e-11)
    for name, wrench in (("cord", wrenches[1]), ("wind", wrenches[2]), ("jet", wrenches[3])):
        assert state.wrench[name] == pytest.approx(np.r_[wrench.torque_W, wrench.force_W], rel=1e-9, abs=1e-10)
    assert_told(simulator, acting, wrenches, held=energy)


LATER = 0.05  # s
ALONG = [("planar", "tree"), ("cylindrical", "loop"), pytest.param("universal", "loop", marks=pytest.mark.fast)]
METHODS = {
    "method: dop853, rtol: 1e-10": 1e-8, "method: radau, rtol: 1e-9": 1e-6, "method: auto, rtol: 1e-9": 1e-6,
    "method: rk4, step: 1 ms": 1e-5, "method: semi_implicit, step: 1 ms": 3e-2, "method: variational, step: 1 ms": 1e-3,
    "contact: stepping, dt: 0.5 ms": 3e-2,
}  # fmt: skip


@functools.cache
def later(kind: str, place: str) -> list[ref.Body]:
    """Return the bodies of a hard mechanism as the oracle moves them, with springs that know no turns."""
    made = hard(kind, place)
    mechanism = made.mechanism
    simulator = simulator_of(made.text())
    bodies = bodies_of(simulator, mechanism)
    links = links_at(mechanism, bodies)

    def forces(_: float, now: Sequence[ref.Body]) -> list[ref.Wrench]:
        moved = [ref.carry(link, bodies, now) for link in links]
        out = []
        for link, plain in zip(made.acting(now, moved), moved, strict=True):
            if ref.FREEDOMS[link.kind] and link.drive is not None:
                rows = ref.free_rows(plain, now)
                push = link.drive.torque - link.drive.stiffness * (ref.coordinates(plain) - link.drive.rest)
                push = push - link.drive.damping * ref.rates(plain, now)
                for body, row in ((link.a, "row_a"), (link.b, "row_b")):
                    if body >= 0:
                        f = sum((p * getattr(r, row) for p, r in zip(push, rows, strict=True)), np.zeros(6))
                        out.append(ref.Wrench(body=body, force_W=f[:3], torque_W=f[3:], point_W=now[body].com_W))
        return out

    armatures = [
        replace(link, drive=ref.drive(link.kind, armature=link.drive.armature)) if link.drive is not None else link
        for link in links
    ]
    return trajectory(bodies, armatures, mechanism.gravity, [LATER], forces, rtol=1e-10)[0]


def run_by(made: Hard, simulate: str) -> sim.Simulator:
    """Return a mechanism that moves by a method, or in time steps."""
    text = made.text(simulate=f"{{{simulate}}}")
    if "stepping" in simulate:  # friction of another joint makes it a matter of time steps
        beside = "{type: rotational, parent: world, child: aside, position: [9, 0, 0], axis: [0, 1, 0], friction: 1}"
        text = text.replace("joints:\n", f"joints:\n  post: {beside}\n", 1)
        text = text.replace("bodies:\n", "bodies:\n  aside: {mass: 1, com: [9, 0, 0.5], inertia: [1, 1, 1]}\n", 1)
    return simulator_of(text)


SHORT = 2e-4  # s
STEPS = (
    "method: radau",
    "method: variational, step: 0.1 ms",
    "contact: stepping, dt: 0.1 ms",
    "method: rk4, step: 0.1 ms",
)


@pytest.mark.fast
@pytest.mark.parametrize("simulate", STEPS)
@pytest.mark.parametrize(("kind", "place"), CASES)
def test_a_short_while_of_every_method_goes_as_newton_says(kind: str, place: str, simulate: str) -> None:
    """Speeds grow by the oracle's accelerations times the time, to first order, places by the speeds."""
    made = hard(kind, place)
    simulator = run_by(made, simulate)
    before = bodies_of(simulator, made.mechanism)
    acting = made.acting(before, links_at(made.mechanism, before))
    a, alpha, _ = ref.accelerations(before, acting, made.mechanism.gravity)
    simulator.advance(SHORT)
    after = bodies_of(simulator, made.mechanism)
    for wanted, name in ((a, "v_com_W"), (alpha, "w_W")):
        grown = np.array([(getattr(b, name) - getattr(c, name)) / SHORT for b, c in zip(after, before, strict=True)])
        assert relative_error(grown, wanted) < 2e-2
    for b, c, acceleration in zip(after, before, a, strict=True):
        way = c.v_com_W * SHORT + 0.5 * acceleration * SHORT**2
        assert b.com_W - c.com_W == pytest.approx(way, abs=1e-8 * (1.0 + np.abs(a).max()))


@pytest.mark.parametrize("simulate", METHODS)
@pytest.mark.parametrize(("kind", "place"), ALONG)
def test_every_method_moves_as_the_oracle_does(kind: str, place: str, simulate: str) -> None:
    """Places and speeds after a while, to what the method promises; what is told there to roundoff; loops closed."""
    made = hard(kind, place)
    simulator, steps = run_by(made, simulate), "stepping" in simulate
    simulator.advance(LATER)
    found, wanted = bodies_of(simulator, made.mechanism), later(kind, place)
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.com_W == pytest.approx(theirs.com_W, abs=0.1 * METHODS[simulate])
        assert pytest.approx(theirs.R_WB, abs=METHODS[simulate]) == ours.R_WB
        assert ours.v_com_W == pytest.approx(theirs.v_com_W, abs=10 * METHODS[simulate])
        assert ours.w_W == pytest.approx(theirs.w_W, abs=30 * METHODS[simulate])
    if not steps:
        assert_told(simulator, made, [], 1e-8)
    assert simulator.flow.work.one.trust[0, 0] < 1e-10
    assert abs(simulator.energy["balance"]) < METHODS[simulate] * max(1.0, simulator.energy["kinetic"])


RESIDUALS = [(kind, sign) for kind in LOOP_KINDS for sign in (1, -1)]


def off(links: Sequence[ref.Link], bodies: Sequence[ref.Body], frames: Frames, joints: Sequence[int]) -> np.ndarray:
    """Return how far joints are open and open up (2,): the largest along their axes, m or rad, m/s or rad/s.

    By the oracle's rows in frames with other axes across: those of the engine, which tells the largest along its own.
    """
    worst = np.zeros(2)
    for link, joint in zip(links, joints, strict=True):
        F = (np.eye(3) if link.a < 0 else bodies[link.a].R_WB) @ frames.R_PF[joint]
        M = bodies[link.b].R_WB @ frames.R_CM[joint]
        first = [0, 1, 2] if link.kind == "universal" else [2, 0, 1]  # the axis is x of F there, elsewhere z
        turned = replace(link, axes_a=F[:, first], axes_b=M[:, [2, 0, 1]])
        J = ref.dense(ref.locked_rows(turned, bodies), turned, len(bodies))
        now = ref.residual(turned), J @ ref.speeds(bodies)
        worst = np.maximum(worst, [np.abs(a).max(initial=0.0) for a in now])
    return worst


@pytest.mark.fast
@pytest.mark.parametrize(("kind", "sign"), RESIDUALS)
def test_residuals_are_told_in_metres_and_radians(kind: str, sign: int) -> None:
    """States off the loop, by little and either way, of a mechanism whose size is far from 1 m."""
    made = hard(kind, "loop")
    simulator = simulator_of(made.text())
    flow = simulator.flow
    rng = np.random.default_rng(len(kind))
    move = rng.normal(0, 1e-2, flow.structure.sizes.v) * sign
    q, v = flow.q.copy(), flow.v + move
    add_freedoms(flow.structure.tables.links, move, 1e-4, q)
    flow._put(q, v)
    flow.observe()
    bodies = bodies_of(simulator, made.mechanism)
    links = links_at(made.mechanism, bodies)[-1:]
    wanted = off(links, bodies, flow.frames, [simulator.model.joint("loop0")])
    assert flow.work.one.trust[0, :2] == pytest.approx(wanted, rel=1e-3)


@pytest.mark.fast
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("kind", ["rotational", "universal", "cylindrical"])
def test_what_verify_finds_open_is_in_metres_and_radians(kind: str, sign: int, tmp_path: Path) -> None:
    """Poses and speeds of a recording, moved off the joints of tree and loop by little and either way."""
    made = hard(kind, "loop")
    scene = load_text(made.text(simulate="{duration: 0.002 s, record: 1000 Hz}"))
    model = sim.compile(scene)
    simulator = simulator_of(made.text())
    with sim.run(scene, output=tmp_path / "r.h5") as recording:
        seen = Seen(recording, model)
        assert max(np.max(values) for values in seen.residuals[:2]) < 1e-10
        rng, m = np.random.default_rng(len(kind)), made.mechanism
        dp, dv, dw = sign * rng.normal(0, 1e-2, (3, len(m.names), 3))
        del seen.residuals
        seen.p, seen.v, seen.w = seen.p + 1e-4 * dp, seen.v + dv, seen.w + dw
        found = [values[0] for values in seen.residuals[:2]]
        order = [[body.name for body in recording.bodies].index(name) for name in m.names]
    bodies = [
        replace(body, com_W=body.com_W + 1e-4 * dp[k], w_W=body.w_W + dw[k], v_com_W=body.v_com_W + dv[k] + np.cross(
            dw[k], body.com_W - simulator.position[name]
        ))
        for k, name, body in zip(order, m.names, bodies_of(simulator, m), strict=True)
    ]  # fmt: skip
    links = links_at(m, bodies)
    joints = [model.joint(name) for name in m.joints]
    assert found == pytest.approx(off(links, bodies, model.frames, joints).tolist(), rel=1e-3)
