"""Rollouts with contacts: the motions of runs to the bit by any threads; what touches at the start; what is told."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sim
from sim.kernels.status import Status
from sim.scene.load import load_text
from tests.contact.engine import G0
from tests.rollout.scenes import model_of

pytestmark = pytest.mark.contact

# A bar that rests on its damped spring by a formula which reads how it presses, between rigid stops, with friction; a
# ball beside it.
PRESSED = """
schema: 1
name: pressed
world: {shapes: [{name: floor, plane: {}}]}
bodies:
  bar: {mass: 2, shapes: [{capsule: {from: [0, 0, 0.1], to: [0.8, 0, 0.1], radius: 0.1}}]}
  foot: {mass: 0.5, shapes: [{sphere: {center: [1.2, 0, 0.1], radius: 0.1}}]}
  ball: {mass: 1, shapes: [{sphere: {center: [0.4, 1, 0.25], radius: 0.1}}]}
joints:
  knee: {type: rotational, parent: bar, child: foot, position: [1, 0, 0.1], axis: [0, 1, 0], friction: 0.05,
         stiffness: 30 N m/rad, damping: 0.2, limits: {range: [-0.1, 0.2], stop: rigid}}
contacts:
  floor: {between: ["*", world], friction: 0.6}
  each other: {between: [bar, ball], friction: 0.2, restitution: 0.3}
controllers: {lean: {type: torque, torques: {knee: "0.02 m*force('floor')[2]"}}}
initial: {ball: {velocity: [0, -2, 0.5]}, bar: {velocity: [0.4, 0, 0]}}
simulate: {contact: stepping, dt: 2 ms}
"""
BALL = """
schema: 1
name: ball
world: {shapes: [{name: ground, plane: {}}]}
bodies: {ball: {mass: 2, shapes: [{sphere: {center: [0, 0, 0], radius: 0.1}}]}}
contacts: {bounce: {between: [ball, world.ground], friction: 0.5, restitution: 0.8}}
simulate: {contact: stepping, dt: 1 ms}
"""
# Two walls, a box and a ball, all of which may meet.
ROOM = """
schema: 1
name: room
world: {shapes: [{name: floor, plane: {}}, {name: wall, plane: {center: [-1, 0, 0], normal: [1, 0, 0]}}]}
bodies:
  box: {mass: 2, shapes: [{box: {center: [0, 0, 0.5], size: [0.3, 0.2, 0.4]}}]}
  ball: {mass: 1, shapes: [{sphere: {center: [0.6, 0, 0.5], radius: 0.15}}]}
contacts: {all: {between: ["*", ["*", world]], friction: 0.4, restitution: 0.5}}
simulate: {contact: stepping, dt: 2 ms}
"""
# Scene, step [s], span of a sample [s], samples.
SAME = {
    "bouncing_ball": (1e-3, 0.3, 4),
    "sliding_block": (2e-3, 0.05, 4),
    "dominoes": (1e-3, 0.05, 4),
    "figure_falls": (2e-3, 0.25, 4),
    "ragdoll_stairs": (2e-3, 0.1, 4),
    "slider_crank_clearance": (1e-3, 0.02, 4),
    "high_bar_dismount": (1e-3, 0.05, 3),
    PRESSED: (2e-3, 0.05, 4),
}
SHORT = [pytest.param(PRESSED, marks=pytest.mark.fast), pytest.param("bouncing_ball", marks=pytest.mark.fast)]


def ball_at(height: float, rate: float = 0.0) -> np.ndarray:
    """Return a state of the ball with its lowest point at a height [m] and a rate [m/s]."""
    return np.array([0, 0, 0.1 + height, 1, 0, 0, 0, 0, 0, rate, 0, 0, 0.0])


def states_of(ensemble: sim.Ensemble, count: int, seed: int = 0, speed: float = 1.0) -> np.ndarray:
    """Return states with other rates than the start's."""
    y = np.tile(ensemble.start, (count, 1))
    y[:, ensemble.nq :] += np.random.default_rng(seed).normal(scale=speed, size=(count, ensemble.nv))
    return y


@contextmanager
def often() -> Iterator[None]:
    """Let threads take turns in the interpreter a thousand times as often: what they share shows."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-3 * before)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


# --- the same steps as those of runs --------------------------------------------------------------------------


@pytest.mark.parametrize("scene", [*(name for name in SAME if name not in (PRESSED, "bouncing_ball")), *SHORT])
def test_time_steps_are_those_of_a_run_to_the_bit(scene: str) -> None:
    dt, span, samples = SAME[scene]
    model = model_of(scene, contact="stepping", dt=dt)
    model = sim.compile(replace(model.scene, events=()))
    simulator = sim.Simulator(model)
    start = np.concatenate([simulator.q, simulator.v])
    found = sim.rollout(model, start, steps=samples, dt=span, energies=True, contacts=True)
    plain = sim.rollout(model, start, steps=samples, dt=span)
    assert found.ok.all() and np.array_equal(found.q, plain.q) and np.array_equal(found.v, plain.v)
    assert found.energy is not None and found.contacts is not None and plain.energy is plain.contacts is None
    pressed = 0.0
    for k, t in enumerate(found.t[1:], start=1):
        simulator.advance(float(t))
        assert np.array_equal(simulator.q, found.q[0, k]) and np.array_equal(simulator.v, found.v[0, k])
        for name, value in simulator.energy.items():
            told = found.energy[name][0, k]
            assert told == value if name != "balance" else told == pytest.approx(value, abs=1e-9 * (1.0 + abs(value)))
        force = simulator.flow.work.rules.force
        np.testing.assert_allclose(found.contacts.force[0, k], force, rtol=1e-12, atol=1e-12)
        pressed = max(pressed, np.abs(found.contacts.impulse[0, k]).max())
    stepped = simulator.flow.work.stepped
    assert found.contacts.penetration.max() == stepped.overlap[0]
    assert found.contacts.residual.max() == stepped.residual[0]
    assert (pressed > 0.0 or scene == "high_bar_dismount") and np.abs(found.v[0, -1] - found.v[0, 0]).max() > 0.01


@pytest.mark.parametrize("scene", ["figure_falls", "dominoes", *SHORT])
def test_a_rollout_ends_where_a_recorded_run_ends(scene: str) -> None:
    """With rows between the steps, and steps that end where the run does."""
    dt, span, samples = SAME[scene]
    model = model_of(scene, contact="stepping", dt=dt, record=7.0 / span)
    with sim.run(model.scene, duration=samples * span) as recording:
        last = recording.epochs[-1]
        q, v = last.q[-1], last.v[-1]
    ensemble = sim.Ensemble(model, threads=1)
    found = ensemble.rollout(ensemble.start, steps=1, dt=samples * span)
    assert np.array_equal(found.q[0, 1], q) and np.array_equal(found.v[0, 1], v)


@pytest.mark.fast
def test_a_batch_moves_as_single_runs_do() -> None:
    """Of boxes and balls at random poses, each thrown by a scene of its own."""
    rng, runs, states = np.random.default_rng(5), [], []
    for _ in range(6):
        pose, turn = rng.uniform(-0.2, 0.2, 3) + np.array([0.0, 0.0, 0.8]), rng.uniform(-180.0, 180.0, 3)
        speed, spin = rng.normal(scale=2.0, size=3) - [0.0, 0.0, 3.0], rng.normal(scale=4.0, size=3)
        initial = (
            f"initial: {{box: {{position: {pose.tolist()}, rpy: {[f'{x} deg' for x in turn]}, velocity: "
            f"{speed.tolist()}, angular_velocity: {spin.tolist()}}}, ball: {{velocity: [-2, 0, 0]}}}}\n"
        )
        runs.append(sim.Simulator(sim.compile(load_text(ROOM + initial))))
        states.append(np.concatenate([runs[-1].q, runs[-1].v]))
    found = sim.rollout(model_of(ROOM), states, steps=3, dt=0.08, threads=2, contacts=True)
    assert found.contacts is not None and (np.abs(found.contacts.impulse).max(axis=(1, 2, 3)) > 0.1).sum() > 3
    for s, run in enumerate(runs):
        for k, t in enumerate(found.t[1:], start=1):
            run.advance(float(t))
            assert np.array_equal(run.q, found.q[s, k]) and np.array_equal(run.v, found.v[s, k])


def test_torques_act_as_a_sampled_controllers_do() -> None:
    model = model_of("figure_falls")
    simulator = sim.Simulator(model)
    start = np.concatenate([simulator.q, simulator.v])
    u = np.random.default_rng(3).normal(scale=5.0, size=(2, 20, len(model.columns)))
    found = sim.rollout(model, start, u, dt=0.02, step=0.002)
    alone = sim.rollout(model, start, steps=20, dt=0.02, step=0.002)
    for k in range(20):
        simulator.hold(u[1, k])
        simulator.advance(float(found.t[k + 1]))
        np.testing.assert_allclose(found.q[1, k + 1], simulator.q, rtol=0, atol=1e-9)
    assert np.abs(found.q[1] - alone.q[0]).max() > 0.05


# --- threads, order, room -------------------------------------------------------------------------------------


@pytest.mark.parametrize("contact", ["stepping", "event"])
def test_the_same_bits_by_any_threads_in_any_order(monkeypatch: pytest.MonkeyPatch, contact: str) -> None:
    scene = "figure_falls" if contact == "stepping" else ROOM
    count = 24 if contact == "stepping" else 8
    model = model_of(scene)
    first = sim.Ensemble(model, threads=1)
    y = states_of(first, count, speed=2.0)
    how = {"dt": 0.1, "steps": 6, "contact": contact, "energies": True, "contacts": True}
    expected = first.rollout(y, **how)
    assert expected.ok.all() and (expected.contacts.impulse[:, :, 0, 2] > 0.1).any(axis=1).sum() > count // 2
    order = np.random.default_rng(4).permutation(count)
    for threads, shares in ((1, 1), (2, 32), (3, 2)):
        monkeypatch.setattr("sim.simulation.ensemble.SHARES", shares)
        ensemble = sim.Ensemble(model, threads=threads)
        for chosen in (np.arange(count), order, order[:3]):
            with often():
                found = ensemble.rollout(y[chosen], **how)
            assert np.array_equal(found.q, expected.q[chosen]) and np.array_equal(found.v, expected.v[chosen])
            assert np.array_equal(found.energy["balance"], expected.energy["balance"][chosen])
            for told in ("force", "impulse", "penetration", "residual"):
                assert np.array_equal(getattr(found.contacts, told), getattr(expected.contacts, told)[chosen])


@pytest.mark.fast
def test_where_many_points_press_room_is_made_and_no_bit_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(ROOM)
    ensemble = sim.Ensemble(model, threads=1)
    y = states_of(ensemble, 3, speed=1.0)
    y[1, 2], y[1, 9] = 0.2002, y[1, 9] + 0.45  # the box stands, and four of its corners press
    expected = ensemble.rollout(y, steps=2, dt=0.06, contacts=True)
    monkeypatch.setattr("sim.simulation.followers.ROOM", 1)
    monkeypatch.setattr("sim.simulation.followers.EACH", 0)
    small = sim.Ensemble(model, threads=1)
    for _ in range(2):
        found = small.rollout(y, steps=2, dt=0.06, contacts=True)
        assert np.array_equal(found.q, expected.q) and np.array_equal(found.v, expected.v)
        assert np.array_equal(found.contacts.impulse, expected.contacts.impulse)
    (_, (follower,)) = small._followers["stepping"]
    assert follower._room == 4


# --- what touches at the start --------------------------------------------------------------------------------


@pytest.mark.fast
def test_what_begins_touching_stays_and_what_overlaps_is_taken_apart_without_speed() -> None:
    """Of an overlap a fifth is left out of each step (docs/mathematics.md); speeds stay those of rest."""
    depths = np.array([0.0, 1e-3, 1e-2, -3e-4])
    y = np.stack([*(ball_at(-depth) for depth in depths[:3]), ball_at(3e-4, -1.0)])
    found = sim.rollout(model_of(BALL), y, steps=20, dt=1e-3, contacts=True)
    height = found.q[:, :, 2] - 0.1
    assert found.ok.all() and found.contacts is not None
    for s in range(3):
        assert np.abs(height[s] + depths[s] * 0.8 ** np.arange(21)).max() < 2e-7
        assert np.abs(found.v[s]).max() < 1e-12
        assert found.contacts.penetration[s, 1] == pytest.approx(depths[s], abs=1e-15)
        np.testing.assert_allclose(found.contacts.impulse[s, 1:, 0, 2], 2.0 * G0 * 1e-3, rtol=1e-9)
    assert found.v[3, 1, 2] > 0.7 and height[3].min() > -1e-6  # the one that comes fast is met in its first step


@pytest.mark.fast
def test_each_state_finds_its_own_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ball lies still, so that what it touches is not looked for again; then it is thrown at the wall."""
    monkeypatch.setattr("sim.simulation.ensemble.SHARES", 1)  # all of them by one call
    model = model_of(ROOM)
    ensemble = sim.Ensemble(model, threads=1)
    lies, thrown = ensemble.start.copy(), ensemble.start.copy()
    lies[9] = 0.15
    thrown[7:10], thrown[13 + 6 : 13 + 9] = [-0.8, 0.5, 0.9], [-6.0, 0.0, 0.0]
    thrown[ensemble.nq + 6 : ensemble.nq + 9] = [-6.0, 0.0, 0.0]
    together = ensemble.rollout([lies, thrown, lies, thrown], steps=4, dt=0.01)
    alone = [sim.rollout(model, state, steps=4, dt=0.01) for state in (lies, thrown)]
    for s in range(4):
        assert np.array_equal(together.q[s], alone[s % 2].q[0]) and np.array_equal(together.v[s], alone[s % 2].v[0])
    assert together.q[1, :, 7].min() > -0.86 and together.v[1, -1, 6] > 2.5  # and comes back from the wall


# --- what is told ---------------------------------------------------------------------------------------------


@pytest.mark.fast
def test_impulses_are_what_momentum_lacks_and_forces_those_of_the_last_step() -> None:
    rng, y = np.random.default_rng(2), np.tile(ball_at(0.0), (5, 1))
    y[:, 2] += rng.uniform(-1e-4, 2e-3, 5)
    y[:, 7:] = rng.normal(size=(5, 6)) - [0, 0, 3, 0, 0, 0]
    model = model_of(BALL)
    each = sim.rollout(model, y, steps=12, dt=1e-3, contacts=True)
    both = sim.rollout(model, y, steps=2, dt=6e-3, step=1e-3, contacts=True)
    taken = 2.0 * (np.diff(each.v[:, :, :3], axis=1) + np.array([0.0, 0.0, G0 * 1e-3]))
    assert each.contacts.rules == ("bounce",)
    np.testing.assert_allclose(each.contacts.impulse[:, 1:, 0], taken, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(each.contacts.force[:, 1:, 0], taken / 1e-3, rtol=1e-9, atol=1e-9)
    assert not each.contacts.impulse[:, 0].any() and not each.contacts.force[:, 0].any()
    np.testing.assert_allclose(
        both.contacts.impulse[:, 1:],
        each.contacts.impulse[:, 1:].reshape(5, 2, 6, 1, 3).sum(axis=2),
        rtol=1e-9,
        atol=1e-12,
    )
    assert (np.abs(each.contacts.impulse).max(axis=(1, 2, 3)) > 0.1).all()


def test_energy_and_penetration_stay_as_bounded_as_those_of_a_run() -> None:
    ensemble = sim.Ensemble(model_of("figure_falls"), threads=2)
    found = ensemble.rollout(states_of(ensemble, 16, speed=1.5), steps=30, dt=0.1, energies=True, contacts=True)
    energy = found.energy["kinetic"] + found.energy["potential"]
    assert found.ok.all()
    assert np.diff(energy, axis=1).max() < 2e-3 * found.energy["kinetic"].max()
    assert np.abs(found.energy["balance"]).max() < 0.02 * found.energy["kinetic"].max()
    assert found.contacts.penetration.max() < 5e-3
    assert np.median(found.contacts.penetration[:, -3:]) < 1e-4
    weight = -G0 * sum(body.mass for body in ensemble.model.scene.bodies if body.mass)
    pressing = found.contacts.force[:, -1, 0, 2]
    assert np.median(pressing) == pytest.approx(-weight, rel=0.2) or np.median(-pressing) == pytest.approx(
        -weight, rel=0.2
    )


# --- what ends early ------------------------------------------------------------------------------------------


@pytest.mark.fast
@pytest.mark.parametrize("contact", ["stepping", "event"])
def test_a_state_that_cannot_go_on_disturbs_no_other_and_is_named(contact: str) -> None:
    model = model_of(BALL, contact=contact)
    good = np.stack([ball_at(0.01, -0.5), ball_at(0.0)])
    bad = np.tile(ball_at(0.01), (3, 1))
    bad[0, 9], bad[1, 3], bad[2, 9] = np.nan, np.inf, -1e308
    expected = sim.rollout(model, good, steps=3, dt=0.02)
    y = np.stack([bad[0], good[0], bad[1], bad[2], good[1]])
    with np.errstate(all="ignore"):  # where kernels are interpreted
        found = sim.rollout(model, y, steps=3, dt=0.02, threads=1, energies=True, contacts=True)
    assert found.ok.tolist() == [False, True, False, False, True] and found.reached[[1, 4]].tolist() == [3, 3]
    assert np.array_equal(found.q[[1, 4]], expected.q) and np.array_equal(found.v[[1, 4]], expected.v)
    for s in (0, 2):
        assert found.reached[s] == -1 and found.status[s] == Status.NOT_FINITE and np.isnan(found.q[s]).all()
        assert found.reason(s).startswith(f"state {s} cannot begin: ") and "finite" in found.reason(s)
        assert np.isnan(found.energy["kinetic"][s]).all() and np.isnan(found.contacts.force[s]).all()
    assert found.reason(1) == "" and "state 3 cannot" in found.reason(3)
    assert np.isnan(found.v[3, found.reached[3] + 1 :]).all() and np.isnan(found.contacts.penetration[3, -1])


# --- event mode -----------------------------------------------------------------------------------------------


@pytest.mark.fast
def test_event_mode_bounces_as_the_closed_form_does() -> None:
    """Dropped from h, with restitution e: after k bounces the impulses sum to m (1 + e) sqrt(2 g h) (1 + e + ...)."""
    model, h, e = model_of(BALL, contact="event"), np.array([0.05, 0.02]), 0.8
    found = sim.rollout(model, [ball_at(x) for x in h], steps=1, dt=0.3, energies=True, contacts=True, threads=1)
    fall, v0 = np.sqrt(2.0 * h / G0), np.sqrt(2.0 * G0 * h)
    for s in range(2):
        hits, speed, t = 0.0, v0[s], fall[s]
        while t + 2.0 * e * speed / G0 < 0.3:
            hits, speed, t = hits + 2.0 * (1.0 + e) * speed, e * speed, t + 2.0 * e * speed / G0
        hits += 2.0 * (1.0 + e) * speed
        speed *= e
        left = 0.3 - t
        assert found.q[s, 1, 2] - 0.1 == pytest.approx(speed * left - 0.5 * G0 * left**2, abs=1e-8)
        assert found.v[s, 1, 2] == pytest.approx(speed - G0 * left, abs=1e-8)
        np.testing.assert_allclose(found.contacts.impulse[s, 1, 0], [0.0, 0.0, hits], atol=1e-8)
        assert found.energy["impact"][s, 1] == pytest.approx(v0[s] ** 2 - speed**2, abs=1e-8)
    assert np.abs(found.energy["balance"]).max() < 1e-9 and found.contacts.penetration.max() < 1e-9


def test_event_mode_makes_a_runs_own_motions_to_the_bit() -> None:
    model = model_of("sliding_block")
    simulator = sim.Simulator(model)
    start = np.concatenate([simulator.q, simulator.v])
    found = sim.rollout(model, [start, start], steps=5, dt=0.2, contacts=True)
    for k, t in enumerate(found.t):
        simulator.advance(float(t))
        for s in range(2):
            assert np.array_equal(simulator.q, found.q[s, k]) and np.array_equal(simulator.v, found.v[s, k])
        simulator.flow.observe()
        assert np.array_equal(simulator.flow.work.rules.force, found.contacts.force[0, k])
    assert found.contacts.force[:, 1:-1, 0, 2].min() > 10.0


@pytest.mark.fast
def test_event_mode_refuses_an_overlap_of_one_state_in_words() -> None:
    found = sim.rollout(model_of(BALL, contact="event"), [ball_at(-0.01), ball_at(0.0)], steps=1, dt=0.01)
    assert found.ok.tolist() == [False, True]
    assert found.reason(0) == (
        "state 0 cannot begin: t = 0 s: ground and ball overlap by 0.01 m where they begin to touch: set them apart, "
        "or leave them out of the contacts (`except`)"
    )


RAIL = """
schema: 1
name: rail
bodies: {sledge: {mass: 2, com: [0, 0, 0], inertia: [1, 1, 1]}}
joints: {rail: {type: translational, parent: world, child: sledge, position: [0, 0, 0], axis: [1, 0, 0], friction: 9 N}}
"""
PUSHED = """
schema: 1
name: pushed
world: {shapes: [{name: floor, plane: {}}]}
bodies: {crate: {mass: 2, shapes: [{box: {center: [0, 0, 0.1], size: [0.4, 0.3, 0.2]}}]}}
contacts: {sole: {between: [crate, world.floor], friction: 0.5}}
forces: {wind: {type: wrench, body: crate, force: ["3 N/s*t", 0, 0]}}
"""


@pytest.mark.fast
@pytest.mark.parametrize("contact", ["stepping", "event"])
def test_torques_break_loose_what_friction_holds(contact: str) -> None:
    """Of 20 N on 2 kg friction leaves 11 N, and 5 N move nothing."""
    u = np.array([[[0.0], [20.0]], [[5.0], [5.0]], [[0.0], [0.0]]])
    found = sim.rollout(model_of(RAIL), np.zeros(2), u, dt=0.1, contact=contact, step=1e-3, energies=True)
    assert np.abs(found.v[:, 1]).max() < 1e-12 and np.abs(found.v[1:, 2]).max() < 1e-12
    assert found.v[0, 2, 0] == pytest.approx(0.55, rel=1e-6)
    assert found.energy["dissipated"][0, 2] == pytest.approx(9.0 * 0.5 * 5.5 * 0.01, rel=0.02)


@pytest.mark.fast
@pytest.mark.parametrize("contact", ["stepping", "event"])
def test_formulas_know_the_time_at_which_a_rollout_starts(contact: str) -> None:
    """A crate of 2 kg on friction of 0.5 resists 9.81 N, and the wind passes that at 3.27 s."""
    model = model_of(PUSHED)
    ensemble = sim.Ensemble(model, threads=1)
    early = ensemble.rollout(ensemble.start, steps=1, dt=0.1, contact=contact, step=1e-3)
    late = ensemble.rollout(ensemble.start, steps=1, dt=0.1, contact=contact, step=1e-3, start=4.0)
    assert late.t.tolist() == [4.0, 4.1]
    assert np.abs(early.v[0, 1]).max() < 1e-4
    assert late.v[0, 1, 0] == pytest.approx((3.0 * 4.05 / 2.0 - 0.5 * G0) * 0.1, rel=1e-2)


# --- what is asked for ----------------------------------------------------------------------------------------


@pytest.mark.fast
def test_sentences_about_how_contacts_are_resolved() -> None:
    ensemble = sim.Ensemble(model_of(BALL), threads=1)
    with pytest.raises(ValueError, match="contact: found 'steps'; expected one of event, stepping, auto"):
        ensemble.rollout(ensemble.start, steps=1, contact="steps")
    with pytest.raises(
        ValueError, match="method: time steps with contacts are a method of their own, found 'rk4' beside"
    ):
        ensemble.rollout(ensemble.start, steps=1, method="rk4")
    by = ensemble.rollout(ball_at(0.5), steps=1, dt=0.1, contact="event", method="rk4", step=0.05)
    assert by.q[0, 1, 2] == pytest.approx(0.6 - 0.5 * G0 * 0.01, abs=1e-12)


@pytest.mark.fast
def test_settings_of_the_scene_hold_for_time_steps() -> None:
    model = model_of(BALL, dt=4e-3)
    y = ball_at(0.03, -1.0)
    own, said = (sim.rollout(model, y, steps=3, dt=0.02, **how) for how in ({}, {"contact": "stepping", "step": 4e-3}))
    other = sim.rollout(model, y, steps=3, dt=0.02, step=1e-3)
    assert np.array_equal(own.q, said.q) and np.abs(own.q - other.q).max() > 1e-4
    shorter = sim.rollout(model, y, steps=30, dt=2e-3)  # no step is longer than what is between samples
    assert np.array_equal(shorter.q, sim.rollout(model, y, steps=30, dt=2e-3, step=2e-3).q)


PLUGIN = """
import sim

def push(t, coordinate, rate, constants, torque):
    torque[0] += 12.0 - 3.0 * rate[0]

class Push(sim.Controller):
    law = staticmethod(push)

class Slow(sim.Controller):
    def torque(self, t, state, torque):
        torque[0] += 1.0
"""


@pytest.mark.fast
def test_laws_of_plug_ins_act_and_plain_python_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PLUGIN)
    file = tmp_path / "scene.yaml"
    text = RAIL + "simulate: {contact: stepping}\ncontrollers: {own: {type: ./mine.py:Push}}\n"
    file.write_text(text)
    found = sim.rollout(sim.compile(sim.load(file, trust=True)), np.zeros(2), steps=1, dt=0.2, energies=True)
    assert found.v[0, 1, 0] == pytest.approx((12.0 - 9.0) / 3.0 * (1.0 - np.exp(-3.0 / 2.0 * 0.2)), rel=2e-3)
    assert found.energy["input"][0, 1] > 0.1
    file.write_text(text.replace("Push", "Slow"))
    for contact in ("stepping", "event"):
        scene = sim.load(file, trust=True)
        scene = replace(scene, simulate=replace(scene.simulate, contact=contact))
        with pytest.raises(sim.SceneError, match="without the interpreter, and this controller is plain Python"):
            sim.Ensemble(sim.compile(scene))
