"""Events of hard mechanisms: plastic impulses, losses and gifts against the dense oracle, told impulses by momenta."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.contact.engine import Run
from tests.dynamics.engine import bodies_of, links_at
from tests.dynamics.told import assert_told
from tests.support import reference as ref
from tests.support.hard import CASES, STIFF, Hard, hard
from tests.support.mechanisms import LOOP_KINDS, with_consistent_rates


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
