"""Inverse kinematics beside the engine's own motion, closed forms and a search over all poses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

import sim
from sim.mechanism.joint_motion import stop_value
from sim.scene.load import load_text
from tests.dynamics.engine import simulator_for
from tests.support.mechanisms import random_mechanism, with_consistent_rates

ARM = """
schema: 1
name: arm
bodies:
  upper: {mass: 1 kg, com: [0.2, 0, 0], gyration: [0.1, 0.1, 0.1]}
  lower: {mass: 1 kg, com: [0.55, 0, 0], gyration: [0.1, 0.1, 0.1], points: {tip: [0.7, 0, 0]}}
joints:
  shoulder: {type: rotational, parent: world, child: upper, position: [0, 0, 0], axis: [0, 1, 0]}
  elbow: {type: rotational, parent: upper, child: lower, position: [0.4, 0, 0], axis: [0, 1, 0]LIMITS}
initial: {elbow: {coordinate: 30 deg}}
"""


def arm(limits: str = "") -> sim.Simulator:
    return sim.Simulator(sim.compile(load_text(ARM.replace("LIMITS", limits), "arm.yaml")))


@pytest.mark.fast
@pytest.mark.parametrize("loops", range(4))
def test_coordinates_of_a_pose_of_the_engine_lead_there(loops: int) -> None:
    """Those of theta_G alone, some steps on in a motion: all other joints, in tree and loops, are where they were."""
    for seed in range(4):
        rng = np.random.default_rng([seed, loops, 50])
        mechanism = with_consistent_rates(rng, random_mechanism(rng, int(rng.integers(2 + loops, 5 + loops)), loops))
        begun = simulator_for(mechanism)
        run = simulator_for(mechanism)
        run.advance(0.05)
        chain = sim.chain(run)
        model, coordinate = run.model, run.flow.work.coordinate
        joints = {model.joint_names[int(model.columns.joint[chain.columns[k]])] for k in chain.coordinates.independent}
        targets = {joint: coordinate[model.columns_of(model.joint(joint))].copy() for joint in joints}
        found = sim.pose(begun, targets, limits=False)
        assert found.reached
        assert found.q == pytest.approx(chain.q, abs=1e-8) or _same_turn(found.q, chain.q)
        for column, name in enumerate(model.column_names):
            assert found.coordinate[name] == pytest.approx(coordinate[column], abs=1e-8)


def _same_turn(a: np.ndarray, b: np.ndarray) -> bool:
    """Tell whether two poses differ by signs of quaternions alone."""
    return bool(np.allclose(np.abs(a), np.abs(b), atol=1e-8))


@pytest.mark.fast
@pytest.mark.parametrize("loops", range(3))
def test_points_of_a_pose_of_the_engine_lead_there(loops: int) -> None:
    """Centres of mass of all bodies, some steps on: all are reached at once."""
    for seed in range(4):
        rng = np.random.default_rng([seed, loops, 51])
        mechanism = with_consistent_rates(rng, random_mechanism(rng, int(rng.integers(2 + loops, 5 + loops)), loops))
        begun, run = simulator_for(mechanism), simulator_for(mechanism)
        run.advance(0.05)
        chain = sim.chain(run)
        targets = {f"{name}.com": chain.position(f"{name}.com") for name in run.model.body_names[1:]}
        found = sim.pose(begun, targets, limits=False)
        assert found.reached
        for name, place in targets.items():
            assert found.position[name] == pytest.approx(place, abs=1e-9)


@pytest.mark.fast
def test_an_arm_reaches_by_the_law_of_cosines() -> None:
    """On the branch where it stands: the elbow stays bent the way it is."""
    target = np.array([0.45, 0.0, -0.2])
    found = sim.pose(arm(), {"lower.tip": [target[0], None, target[2]]})
    d = np.hypot(target[0], target[2])
    elbow = np.pi - np.arccos((0.4**2 + 0.3**2 - d**2) / (2 * 0.4 * 0.3))
    assert found.reached
    assert found.coordinate["elbow"] == pytest.approx(elbow, abs=1e-9)
    assert found.position["lower.tip"] == pytest.approx(target, abs=1e-9)


@pytest.mark.fast
def test_what_is_out_of_reach_is_missed_by_the_least() -> None:
    found = sim.pose(arm(), {"lower.tip": [0.9, None, -0.4]})
    assert not found.reached
    away = np.hypot(0.9, 0.4) - 0.7
    assert np.linalg.norm(found.missed["lower.tip"]) == pytest.approx(away, abs=1e-6)
    assert found.coordinate["elbow"] == pytest.approx(0.0, abs=1e-3)


@pytest.mark.fast
def test_limits_bound_a_pose_and_are_named() -> None:
    """Beside the least over all poses within the limits, found by a search."""
    target = np.array([0.1, 0.25])
    bounded = arm(", limits: {range: [-5 deg, 60 deg]}")
    found = sim.pose(bounded, {"lower.tip": [target[0], None, target[1]]})

    def away(s: float, e: float) -> float:
        tip = np.array([0.4 * np.cos(s) + 0.3 * np.cos(s + e), -0.4 * np.sin(s) - 0.3 * np.sin(s + e)])
        return float(np.linalg.norm(tip - target))

    best = min(
        minimize(lambda x: away(*x) ** 2, (s, 0.5), bounds=[(-7, 7), (np.radians(-5), np.radians(60))]).fun
        for s in np.linspace(-3, 3, 7)
    )
    assert not found.reached
    assert found.at_limits == ("elbow",)
    assert found.coordinate["elbow"] == pytest.approx(np.radians(60.0), abs=1e-9)
    assert np.linalg.norm(found.missed["lower.tip"]) == pytest.approx(np.sqrt(best), abs=1e-6)
    assert sim.pose(bounded, {"lower.tip": [target[0], None, target[1]]}, limits=False).reached


@pytest.mark.fast
@pytest.mark.parametrize("twist", [0.0, 1.0])
def test_a_cone_bounds_a_ball(twist: float) -> None:
    """A rod to be tilted by 80 degrees in a cone of 35: it stands at the edge, as near as it goes."""
    text = """
schema: 1
name: rod
bodies: {rod: {mass: 1 kg, com: [0, 0, 0.5], gyration: [0.1, 0.1, 0.1], points: {tip: [0, 0, 1]}}}
joints:
  ball:
    {type: spherical, parent: world, child: rod, position: [0, 0, 0], limits: {cone: 35 deg, twist: [-20 deg, 20 deg]}}
"""
    tip = np.array([np.sin(1.4) * np.cos(twist), np.sin(1.4) * np.sin(twist), np.cos(1.4)])
    found = sim.pose(load_text(text, "rod.yaml"), {"rod.tip": tip})
    tilt = np.arccos(found.position["rod.tip"][2])
    assert tilt == pytest.approx(np.radians(35.0), abs=1e-8)
    assert np.linalg.norm(found.missed["rod.tip"]) == pytest.approx(2.0 * np.sin(0.5 * (1.4 - tilt)), abs=1e-8)
    assert found.at_limits
    assert not found.reached


@pytest.mark.fast
def test_weights_share_what_is_missed() -> None:
    """Two places for one slide: the mean by weights."""
    text = """
schema: 1
name: slide
bodies: {cart: {mass: 1 kg, com: [0, 0, 0], gyration: [0.1, 0.1, 0.1], points: {a: [0, 0, 0], b: [1, 0, 0]}}}
joints: {rail: {type: translational, parent: world, child: cart, position: [0, 0, 0], axis: [1, 0, 0]}}
"""
    scene = load_text(text, "slide.yaml")
    targets = {"cart.a": [0.5, None, None], "cart.b": [1.1, None, None]}
    assert sim.pose(scene, targets).coordinate["rail"] == pytest.approx(0.3, abs=1e-9)
    assert sim.pose(scene, targets, {"cart.a": 3.0}).coordinate["rail"] == pytest.approx(0.4, abs=1e-9)


def test_a_figure_puts_its_hands_on_a_bar_within_its_limits() -> None:
    """Both palms and a free pelvis; cones and twists of shoulders are kept; far, so it goes there piece by piece."""
    run = sim.Simulator(sim.compile(sim.load("figure_stands")))
    q = run.flow.q.copy()
    start = sim.chain(run)
    targets = {
        "human.hand_l.palm": start.position("human.pelvis") + np.array([0.35, 0.15, 0.35]),
        "human.hand_r.palm": start.position("human.pelvis") + np.array([0.35, -0.15, 0.35]),
        "human.foot_l": start.position("human.foot_l"), "human.foot_r": start.position("human.foot_r"),
    }  # fmt: skip
    found = sim.pose(run, targets)
    assert found.reached
    assert np.array_equal(run.flow.q, q)  # the run is as it was
    again = sim.chain(run, q=found.q, v=np.zeros_like(run.flow.v))
    for name, place in targets.items():
        assert again.position(name) == pytest.approx(place, abs=1e-8)
    model = run.model
    values = np.array([found.coordinate[name] for name in model.column_names])
    for stop in model.stops:
        assert stop.side * (stop_value(stop, values) - stop.bound) <= 1e-9
    assert any(stop.angle for stop in model.stops)
    assert np.linalg.norm(found.q - q) > 0.3


@pytest.mark.fast
def test_a_ball_and_a_free_body_take_rotation_vectors() -> None:
    text = """
schema: 1
name: two
bodies:
  kite: {mass: 1 kg, com: [0, 0, 1], gyration: [0.1, 0.1, 0.1]}
  tail: {mass: 1 kg, com: [0, 0, 0.5], gyration: [0.1, 0.1, 0.1]}
joints:
  knot: {type: spherical, parent: kite, child: tail, position: [0, 0, 0.8]}
"""
    scene = load_text(text, "two.yaml")
    free, ball = [0.3, -0.2, 2.0, 0.5, -1.2, 2.0], [1.5, 0.8, -2.2]
    found = sim.pose(scene, {"kite": free, "knot": ball})
    assert found.reached
    values = [found.coordinate[f"kite[{k}]"] for k in range(6)]
    assert values[:3] == pytest.approx(free[:3], abs=1e-9)
    for got, wanted in ((values[3:], free[3:]), ([found.coordinate[f"knot[{k}]"] for k in range(3)], ball)):
        assert (Rotation.from_rotvec(got).inv() * Rotation.from_rotvec(wanted)).magnitude() < 1e-9


@pytest.mark.fast
@pytest.mark.parametrize(("targets", "weights", "said"), [
    ({"elbw": 1.0}, None, "found 'elbw' .*did you mean 'elbow'"),
    ({"elbow": [1.0, 2.0]}, None, "'elbow': found .* expected 1 finite numbers"),
    ({"elbow": float("nan")}, None, "expected 1 finite numbers"),
    ({"lower.tip": [0.0, 1.0]}, None, "'lower.tip': found .* expected 3 numbers"),
    ({"elbow": 1.0}, {"shoulder": 2.0}, "weights: 'shoulder' .*is no target; expected 'elbow'"),
    ({"elbow": 1.0}, {"elbow": -2.0}, "weights, 'elbow'"),
])  # fmt: skip
def test_what_cannot_be_meant_is_refused(targets, weights, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        sim.pose(arm(), targets, weights)
