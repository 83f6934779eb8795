"""Driven joints: value, rate and acceleration exact, the force that this takes, its work, and what events do to it."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import sim
from sim.mechanism import structure
from sim.scene.load import load_text
from sim.scene.problem import SceneError
from sim.simulation.simulation_error import SimulationError
from tests.dynamics.moved_scene import moved_scene
from tests.support.peers import needs
from tests.support.rotations import matrix_from_quat, matrix_from_vector

ARM = """
schema: 1
name: arm
bodies:
  arm: {mass: 2 kg, com: [0.3, 0, 0], inertia: [0.01, 0.08, 0.08], position: [0, 0, 0]}
joints:
  hinge: {type: rotational, parent: world, child: arm, position: [0, 0, 0], axis: [0, 1, 0], MORE}
simulate: {duration: 2 s, rtol: 1e-11, record: 50 Hz}
"""
G, INERTIA = 9.81, 0.08 + 2 * 0.3**2  # about the hinge


def run(text: str, **options: float) -> sim.Recording:
    return sim.run(load_text(text), **options)


def simulator_of(text: str) -> sim.Simulator:
    return sim.Simulator(sim.compile(load_text(text)))


@pytest.fixture(params=["together", "along"])
def elimination(request, monkeypatch):
    """Both ways of elimination."""
    monkeypatch.setattr(structure, "cheaper_along", lambda *_: request.param == "along")


# --- formulas and their derivatives -----------------------------------------------------------------

SLIDE = """
schema: 1
name: slide
bodies: {box: {mass: 2 kg, com: [0, 0, 0], inertia: [0.1, 0.1, 0.1], position: [0, 0, 0]}}
joints:
  slide: {type: translational, parent: world, child: box, position: [0, 0, 0], axis: [1, 0, 0], motion: "FORMULA"}
"""
T = 0.7


@pytest.mark.fast
@pytest.mark.parametrize(
    ("formula", "value", "rate", "acceleration"),
    [
        ("0.3 m", 0.3, 0.0, 0.0),
        ("2 m*(t/1 s)**3 - t*1 m/s", 2 * T**3 - T, 6 * T**2 - 1, 12 * T),
        ("1 m*sin(3*t/1 s)", np.sin(3 * T), 3 * np.cos(3 * T), -9 * np.sin(3 * T)),
        ("1 m*exp(-t/1 s)*cos(2*t/1 s)", np.exp(-T) * np.cos(2 * T),
         -np.exp(-T) * (np.cos(2 * T) + 2 * np.sin(2 * T)), np.exp(-T) * (4 * np.sin(2 * T) - 3 * np.cos(2 * T))),
        ("1 m/(1 + t/1 s)", 1 / (1 + T), -1 / (1 + T) ** 2, 2 / (1 + T) ** 3),
        ("1 m*sqrt(1 + (t/1 s)^2)", np.hypot(1, T), T / np.hypot(1, T), 1 / np.hypot(1, T) ** 3),
        ("1 m*tan(t/1 s)", np.tan(T), 1 / np.cos(T) ** 2, 2 * np.tan(T) / np.cos(T) ** 2),
        ("1 m*log(2 + t/1 s)", np.log(2 + T), 1 / (2 + T), -1 / (2 + T) ** 2),
        ("1 m*atan(t/1 s)", np.arctan(T), 1 / (1 + T**2), -2 * T / (1 + T**2) ** 2),
        ("1 m*atan2(sin(2*t/1 s), cos(2*t/1 s))", 2 * T, 2.0, 0.0),
        ("1 m*asin(t/2 s)", np.arcsin(T / 2), 0.5 / np.sqrt(1 - T**2 / 4), T / 8 / (1 - T**2 / 4) ** 1.5),
        ("1 m*acos(t/2 s)", np.arccos(T / 2), -0.5 / np.sqrt(1 - T**2 / 4), -T / 8 / (1 - T**2 / 4) ** 1.5),
        ("1 m*2**(t/1 s)", 2**T, np.log(2) * 2**T, np.log(2) ** 2 * 2**T),
        ("1 m*clip(t/2 s, 0, 1)^2*(3 - 2*clip(t/2 s, 0, 1))", 3 * (T / 2) ** 2 - 2 * (T / 2) ** 3,
         3 * (T / 2) - 3 * (T / 2) ** 2, 1.5 - 3 * (T / 2)),
        ("min(0.2 m*t/1 s, 5 m) + max(-1 m, -0.1 m*t/1 s) + abs(t - 2 s)*0.1 m/s", 0.1 * T + 0.1 * (2 - T), 0.0, 0.0),
        ("dot([t, 2 s], [t, t])*1 m/s^2", T**2 + 2 * T, 2 * T + 2, 2.0),
    ],
)  # fmt: skip
def test_a_formula_is_kept_with_both_derivatives(formula, value, rate, acceleration):
    simulator = simulator_of(SLIDE.replace("FORMULA", formula))
    simulator.advance(T)
    state = simulator.state
    assert state.coordinate["slide"] == pytest.approx(value, abs=1e-14)
    assert state.rate["slide"] == pytest.approx(rate, abs=1e-14)
    assert state.acceleration["box"] == pytest.approx([acceleration, 0, 0], abs=1e-13)
    assert state.torque["slide"] == pytest.approx(2 * acceleration, abs=1e-13)
    from sim.analysis.verification.oracle_motions import jet_of

    jet = jet_of(simulator.model.joint_specs[0].motion[0].tree, T)  # as `verify` takes it
    assert (jet.value, jet.d1, jet.d2) == pytest.approx((value, rate, acceleration), abs=1e-14)


# --- closed forms -----------------------------------------------------------------------------------


def test_the_torque_of_a_driven_arm():
    """I theta'' less the weight's moment, and the drive's share of it with a spring and a damper beside."""
    motion = "motion: 0.5*sin(3*t/1 s)"
    recording = run(ARM.replace("MORE", motion))
    t = recording.time
    angle, rate, acceleration = 0.5 * np.sin(3 * t), 1.5 * np.cos(3 * t), -4.5 * np.sin(3 * t)
    assert recording.coordinate["hinge"] == pytest.approx(angle, abs=1e-14)
    assert recording.rate["hinge"] == pytest.approx(rate, abs=1e-14)
    torque = INERTIA * acceleration - 2 * G * 0.3 * np.cos(angle)
    assert recording.torque["hinge"] == pytest.approx(torque, abs=1e-10)
    assert recording.array("joints/force")[:, 0, 1] == pytest.approx(torque, abs=1e-10)  # moment about the axis
    work = 0.5 * INERTIA * (rate**2 - 1.5**2) - 2 * G * 0.3 * np.sin(angle)
    assert recording.energy.input == pytest.approx(work, abs=1e-9)
    assert np.max(np.abs(recording.energy.balance)) < 1e-9
    assert np.ptp(work) > 1.0

    sprung = run(ARM.replace("MORE", f"{motion}, stiffness: 7, rest: 0.1, damping: 0.4, armature: 0.03"))
    both = torque + 0.03 * acceleration  # what the drive, the spring and the damper do together
    assert sprung.torque["hinge"] == pytest.approx(both, abs=1e-10)
    potential = sprung.energy.potential - recording.energy.potential
    assert potential == pytest.approx(3.5 * (angle - 0.1) ** 2, abs=1e-10)
    assert np.max(np.abs(sprung.energy.balance)) < 1e-9
    assert np.ptp(sprung.energy.dissipated) > 0.5


KAPITZA = """
schema: 1
name: kapitza
bodies:
  support: {mass: 0.5 kg, com: [0, 0, 0], inertia: [0.01, 0.01, 0.01], position: [0, 0, 0]}
  rod: {mass: 1 kg, com: [0, 0, 0.25], inertia: [0.02, 0.02, 0.001], position: [0, 0, 0]}
joints:
  shake: {type: translational, parent: world, child: support, position: [0, 0, 0], axis: [0, 0, 1], motion: MOTION}
  hinge: {type: rotational, parent: support, child: rod, position: [0, 0, 0], axis: [0, 1, 0]}
initial: {hinge: 0.3 rad}
simulate: {duration: 3 s, rtol: 1e-12, record: 50 Hz}
"""


def test_a_pendulum_upside_down_on_a_shaken_support(elimination):
    """Kapitza's pendulum: the equation of its angle, integrated by others; the force on the support besides."""
    amplitude, omega = 0.02, 150.0
    recording = run(KAPITZA.replace("MOTION", "2 cm*cos(150*t/1 s)"))
    inertia, arm = 0.02 + 0.25**2, 0.25

    def slope(t, y):
        shaken = -amplitude * omega**2 * np.cos(omega * t)
        return [y[1], arm * (G + shaken) * np.sin(y[0]) / inertia]

    found = solve_ivp(slope, (0, 3), [0.3, 0.0], t_eval=recording.time, rtol=1e-13, atol=1e-13, method="DOP853")
    assert recording.coordinate["hinge"] == pytest.approx(found.y[0], abs=1e-9)
    assert np.max(np.abs(found.y[0])) < 0.4  # it stays up
    angle, rate = found.y
    bent = slope(recording.time, found.y)[1]
    shaken = -amplitude * omega**2 * np.cos(omega * recording.time)
    force = 1.5 * (shaken + G) - arm * (bent * np.sin(angle) + rate**2 * np.cos(angle))
    assert recording.torque["shake"] == pytest.approx(force, abs=1e-6)
    assert np.max(np.abs(recording.energy.balance)) < 1e-9


SLIDER_CRANK = """
schema: 1
name: slider-crank
world: {gravity: [0, 0, 0]}
bodies:
  crank: {mass: 2, com: [0, 0, 0], inertia: [0.01, 0.03, 0.03], position: [0, 0, 0]}
  rod: {mass: 1e-9, com: [0.375, 0, 0], inertia: [1e-12, 1e-12, 1e-12], position: [0.15, 0, 0]}
  piston: {mass: 1.5, com: [0.6, 0, 0], inertia: [0.01, 0.01, 0.01], position: [0.6, 0, 0]}
joints:
JOINTS
simulate: {duration: 1 s, rtol: 1e-11, record: 100 Hz}
"""
CRANK = (
    "{type: rotational, parent: world, child: crank, position: [0, 0, 0], axis: [0, -1, 0], "
    "motion: 8*t/1 s + 0.4*sin(5*t/1 s)}"
)
BIG_END = "{type: rotational, parent: PARENT, child: CHILD, position: [0.15, 0, 0], axis: [0, -1, 0]}"
SMALL_END = "{type: rotational, parent: PARENT, child: CHILD, position: [0.6, 0, 0], axis: [0, -1, 0]}"
GUIDE = "{type: translational, parent: world, child: piston, position: [0.6, 0, 0], axis: [1, 0, 0]}"


def between(joint: str, parent: str, child: str) -> str:
    return joint.replace("PARENT", parent).replace("CHILD", child)


def slider_crank(driven_at: str) -> str:
    """Return the mechanism with its driven joint in the tree or closing the loop."""
    if driven_at == "tree":
        joints = {
            "crank": CRANK, "big_end": between(BIG_END, "crank", "rod"),
            "small_end": between(SMALL_END, "rod", "piston"), "guide": GUIDE,
        }  # fmt: skip
    else:
        joints = {
            "guide": GUIDE, "small_end": between(SMALL_END, "piston", "rod"),
            "big_end": between(BIG_END, "rod", "crank"), "crank": CRANK,
        }  # fmt: skip
    return SLIDER_CRANK.replace("JOINTS", "\n".join(f"  {name}: {text}" for name, text in joints.items()))


@pytest.mark.parametrize("driven_at", ["tree", "loop"])
def test_a_driven_slider_crank(driven_at, elimination):
    """Place, speed and acceleration of the piston, and the torque that moves it through a rod without mass."""
    recording = run(slider_crank(driven_at))
    assert (recording.epochs[0].loops == ("crank",)) == (driven_at == "loop")
    t, r, rod = recording.time, 0.15, 0.45
    a, w, alpha = 8 * t + 0.4 * np.sin(5 * t), 8 + 2 * np.cos(5 * t), -10 * np.sin(5 * t)
    s = np.sqrt(rod**2 - (r * np.sin(a)) ** 2)
    x = r * np.cos(a) + s
    x1 = -r * np.sin(a) - r**2 * np.sin(a) * np.cos(a) / s  # by the angle
    x2 = -r * np.cos(a) - (r**2 * np.cos(2 * a) / s + (r**2 * np.sin(a) * np.cos(a)) ** 2 / s**3)
    speed, acceleration = x1 * w, x1 * alpha + x2 * w**2
    assert recording.coordinate["crank"] == pytest.approx(a, abs=1e-12)  # counted round and round
    assert a[-1] > 2 * np.pi
    assert recording.position["piston"][:, 0] == pytest.approx(x, abs=1e-12)
    assert recording.velocity["piston"][:, 0] == pytest.approx(speed, abs=1e-11)
    torque = 0.03 * alpha + 1.5 * acceleration * x1
    assert recording.torque["crank"] == pytest.approx(torque, abs=1e-6)  # the rod has a little mass
    assert recording.energy.input == pytest.approx(
        0.5 * 0.03 * (w**2 - 100) + 0.75 * (speed**2 - speed[0] ** 2), abs=1e-7
    )
    assert np.max(np.abs(recording.energy.balance)) < 1e-9
    verdict = sim.verify(recording, instants=5)
    assert verdict.problems == []


def test_a_drive_means_the_same_in_the_tree_and_in_the_loop():
    tree, loop = (run(slider_crank(where)) for where in ("tree", "loop"))
    for name in ("crank", "rod", "piston"):
        assert loop.position[name] == pytest.approx(tree.position[name], abs=1e-11)
        assert loop.angular_velocity[name] == pytest.approx(tree.angular_velocity[name], abs=1e-10)
    assert loop.torque["crank"] == pytest.approx(tree.torque["crank"], abs=1e-10)
    assert loop.energy.input == pytest.approx(tree.energy.input, abs=1e-10)


# --- all kinds, in the tree and in loops --------------------------------------------------------------

KINDS = {
    "rotational": "axis: [1, 2, 2], motion: sin(2*t/1 s)",
    "translational": "axis: [1, 2, 2], motion: 0.2 m*sin(2*t/1 s)",
    "cylindrical": 'axis: [1, 2, 2], motion: ["0.2 m*sin(2*t/1 s)", "9*t/1 s"]',
    "cylindrical, slide free": 'axis: [1, 2, 2], motion: [free, "cos(3*t/1 s)"]',
    "universal": 'axis: [1, 0, 0], second_axis: [0, 1, 0], motion: ["sin(2*t/1 s)", "0.5*t/1 s"]',
    "universal, first free": 'axis: [1, 0, 0], second_axis: [0, 1, 0], motion: [free, "7*t/1 s"]',
    "planar": 'axis: [0, 2, 1], motion: ["0.1 m*sin(2*t/1 s)", "0.1 m*t/1 s", "5*t/1 s"]',
    "planar, turn only": 'axis: [0, 2, 1], motion: [free, free, "5*sin(t/1 s)"]',
    "spherical": 'motion: ["1.1*sin(2*t/1 s)", "0.8*cos(3*t/1 s)", "0.5*t/1 s"]',
    "free": 'motion: ["0.2 m*sin(2*t/1 s)", "0.1 m*t/1 s", "0.1 m*cos(t/1 s)", "sin(2*t/1 s)", "cos(t/1 s)", "t/1 s"]',
    "free, slides only": 'motion: ["0.2 m*sin(2*t/1 s)", free, "0.1 m*cos(t/1 s)", free, free, free]',
    "free, turns only": 'motion: [free, free, free, "sin(2*t/1 s)", "cos(t/1 s)", "t/1 s"]',
}
PAIR = """
schema: 1
name: pair
bodies:
  one: {mass: 2, com: [0.1, 0, 0.2], inertia: [0.03, 0.05, 0.04], position: [0, 0, 0]}
  two: {mass: 1, com: [0.5, 0.2, -0.1], inertia: [0.02, 0.01, 0.02], position: [0.4, 0.1, 0]}
joints:
JOINTS
initial: {one: {velocity: [0.1, 0.2, 0.3], angular_velocity: [0.5, -1, 0.7]}}
simulate: {duration: 1.5 s, rtol: 1e-12, record: 40 Hz}
"""


@pytest.mark.parametrize("driven_at", ["tree", "loop"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_follows_its_motion(kind, driven_at, elimination):
    """Two bodies in flight, one driven against the other; the oracle of `verify` knows all joints by itself."""
    more = KINDS[kind]
    joint = f"{{type: {kind.partition(',')[0]}, parent: one, child: two, position: [0.3, 0, 0], {more}}}"
    if driven_at == "tree":
        text = PAIR.replace("JOINTS", f"  drive: {joint}")
    else:  # a free joint carries the second body
        text = PAIR.replace(
            "JOINTS", f"  flies: {{type: free, parent: world, child: two, position: [0.4, 0.1, 0]}}\n  drive: {joint}"
        )
    recording = run(text)
    assert (recording.epochs[0].loops == ("drive",)) == (driven_at == "loop")
    motions = sim.compile(load_text(text)).joint_specs[-2 if driven_at == "tree" else 1].motion
    from sim.analysis.verification.oracle_motions import jet_of

    t, seen = recording.time, 0
    columns = np.reshape(np.asarray(recording.coordinate["drive"]), (len(t), -1))
    for k, motion in enumerate(motions):
        if motion is not None:
            seen += 1
            assert columns[:, k] == pytest.approx([jet_of(motion.tree, x).value for x in t], abs=1e-11)
    assert seen == more.partition("motion:")[2].count("t/1 s")
    verdict = sim.verify(recording, instants=4)
    assert verdict.problems == []
    assert np.max(np.abs(recording.energy.balance)) < 1e-10 * np.max(recording.energy.kinetic)
    momentum = recording.velocity  # of both together, under gravity alone: the drive is an inner force
    total = sum(
        m * (momentum[b] + np.cross(recording.angular_velocity[b], recording.com[b] - recording.position[b]))
        for b, m in (("one", 2.0), ("two", 1.0))
    )
    fall = total - total[0] - np.outer(t, [0, 0, -3 * G])
    assert np.max(np.abs(fall)) < 1e-8


SPIN = """
schema: 1
name: spin
bodies:
  one: {mass: 2, com: [0.1, 0, 0.2], inertia: [0.03, 0.05, 0.04], position: [0, 0, 0]}
  two: {mass: 1, com: [0.5, 0.2, -0.1], inertia: [0.02, 0.01, 0.02], position: [0.4, 0.1, 0]}
joints:
  ball: {type: spherical, parent: one, child: two, position: [0.3, 0, 0], motion: ["5*t/1 s", "-4*t/1 s", "3*t/1 s"]}
simulate: {duration: 2 s, rtol: 1e-12, record: 40 Hz}
"""


def test_a_ball_turns_about_one_axis_as_often_as_its_motion_says():
    """Two turns and a quarter: the rotation vector wants more than half a turn, and the pose is what is compared."""
    recording = run(SPIN)
    axis = np.array([5.0, -4.0, 3.0])
    R_WP, R_WC = (np.array([matrix_from_quat(q) for q in recording.quat_wxyz[name]]) for name in ("one", "two"))
    wanted = np.array([matrix_from_vector(axis * t) for t in recording.time])
    assert np.swapaxes(R_WP, 1, 2) @ R_WC == pytest.approx(wanted, abs=1e-10)
    assert recording.rate["ball"] == pytest.approx(np.tile(axis, (len(recording.time), 1)), abs=1e-10)
    assert sim.verify(recording, instants=4).problems == []


@pytest.mark.fast
@pytest.mark.parametrize("size", [0.0, 1e-7, 1e-3, 0.1, 0.141, 0.142, 1.0, 3.0, 3.1415926, 5.0, 6.2, 20.0])
def test_the_angular_velocity_of_a_rotation_vector(size):
    """Against differences of the rotation itself: w x = R^T R', in the axes that turn."""
    from sim.analysis.verification.oracle_motions import Jet, turned_by

    rng = np.random.default_rng(int(1e6 * size))
    r = rng.normal(size=3)
    r *= size / np.linalg.norm(r)
    r1, r2 = rng.normal(size=(2, 3))
    R, w, alpha = turned_by([Jet(*parts) for parts in zip(r, r1, r2, strict=True)])
    assert pytest.approx(matrix_from_vector(r), abs=1e-13) == R

    def turned(t: float) -> np.ndarray:
        return matrix_from_vector(r + r1 * t + 0.5 * r2 * t * t)

    h = 1e-4
    rate = R.T @ (turned(h) - turned(-h)) / (2 * h)
    bend = R.T @ (turned(h) - 2 * turned(0.0) + turned(-h)) / h**2
    assert w == pytest.approx([rate[2, 1], rate[0, 2], rate[1, 0]], abs=1e-6)
    half = 0.5 * (bend - bend.T)  # of R^T R'' = alpha x + w x (w x ...) the part that changes its sign
    assert alpha == pytest.approx([half[2, 1], half[0, 2], half[1, 0]], abs=1e-5)
    formulas = [f"{a!r} + {b!r}*t/1 s + {0.5 * c!r}*(t/1 s)^2" for a, b, c in np.transpose([r, r1, r2]).tolist()]
    text = SPIN.replace("parent: one", "parent: world").replace('["5*t/1 s", "-4*t/1 s", "3*t/1 s"]', str(formulas))
    state = simulator_of(text).state
    assert state.rate["ball"] == pytest.approx(w, abs=1e-13 * (1 + size))
    assert R.T @ state.angular_acceleration["two"] == pytest.approx(alpha, abs=1e-12 * (1 + size))


CARRIED = """
schema: 1
name: carried
bodies:
  plate: {mass: 2, com: [0.1, 0, 0.2], inertia: [0.03, 0.05, 0.04], position: [0, 0, 0]}
  hung: {mass: 1, com: [0.3, 0, -0.3], inertia: [0.02, 0.01, 0.02], position: [0.3, 0, 0]}
joints:
  carrier:
    {type: free, parent: world, child: plate,
     motion: ["0.2 m*sin(2*t/1 s)", "0.1 m*t/1 s", 0 m, "sin(2*t/1 s)", "cos(t/1 s)", "t/1 s"]}
  pin: {type: rotational, parent: plate, child: hung, position: [0.3, 0, 0], axis: [0, 1, 0]}
simulate: {duration: 1 s, rtol: 1e-11, record: 20 Hz}
"""


@pytest.mark.parametrize("method", ["radau", "rk4", "semi_implicit", "variational"])
def test_every_method_carries_a_body_in_space(method):
    text = CARRIED.replace("rtol: 1e-11", f"method: {method}, step: 1 ms" if method != "radau" else "method: radau")
    recording, exact = run(text), run(CARRIED)
    t = recording.time
    vectors = np.column_stack([np.sin(2 * t), np.cos(t), t])
    assert recording.coordinate["carrier"][:, 3:] == pytest.approx(vectors, abs=1e-12)
    assert recording.coordinate["carrier"][:, 0] == pytest.approx(0.2 * np.sin(2 * t), abs=1e-12)
    assert recording.rate["carrier"] == pytest.approx(np.asarray(exact.rate["carrier"]), abs=1e-11)
    off = np.max(np.abs(recording.coordinate["pin"] - exact.coordinate["pin"]))
    assert off < {"radau": 1e-6, "rk4": 1e-8, "semi_implicit": 0.05, "variational": 1e-4}[method]


def test_what_hangs_on_a_carried_body_has_a_linear_model():
    """A plate that a motion holds turned in space leaves the pendulum on it: its frequency by the tilted axis."""
    still = CARRIED.replace(CARRIED.partition("motion: ")[2].partition("}")[0], "[0, 0, 0, 0.4, 0, 0]")
    still = still.replace("0.3, 0, -0.3", "0.3, 0, -0.3").replace(
        "axis: [0, 1, 0]}", "axis: [0, 1, 0]}\ninitial: {pin: 0}"
    )
    found = sim.linearize(load_text(still), at=0.0)
    # About the axis, tilted by 0.4 rad from the horizontal: I p^2 + m g L cos(0.4) = 0, hanging at its lowest.
    expected = np.sqrt(1.0 * G * 0.3 * np.cos(0.4) / (0.01 + 1.0 * 0.3**2))
    assert np.max(np.abs(np.imag(found.eigenvalues))) == pytest.approx(expected, rel=1e-9)


@pytest.mark.fast
def test_motions_of_balls_are_mirrored():
    """The twin's rotation vector is the mirror image: for a plane across y only the part along y keeps its sign."""
    text = """
schema: 1
name: twins
mirror: {l: r, plane: y}
bodies:
  arm_l: {mass: 1, com: [0.1, 0.2, 0.3], inertia: [0.02, 0.01, 0.02], position: [0, 0.5, 0]}
joints:
  ball_l: {type: spherical, parent: world, child: arm_l, position: [0, 0.5, 0], motion: MOTION}
"""
    simulator = simulator_of(text.replace("MOTION", '["0.3 + t/1 s", "0.2*t/1 s", "sin(t/1 s) - 0.1"]'))
    simulator.advance(0.7)
    state = simulator.state
    left, right = (np.asarray(state.coordinate[f"ball_{side}"]) for side in "lr")
    assert left == pytest.approx([1.0, 0.14, np.sin(0.7) - 0.1], abs=1e-12)
    assert right == pytest.approx(left * [-1, 1, -1], abs=1e-12)
    assert state.position["arm_r"] == pytest.approx(np.asarray(state.position["arm_l"]) * [1, -1, 1], abs=1e-12)


@pytest.mark.fast
def test_initial_values_that_contradict_the_motion_of_a_ball():
    text = SPIN.replace("parent: one", "parent: world").replace(
        '["5*t/1 s", "-4*t/1 s", "3*t/1 s"]', '[0.3, "t/1 s", 0]'
    )
    fits = text + "initial: {ball: {coordinate: {rpy: [0.3 rad, 0, 0]}, rate: [0, 0.98506, 0]}}\n"
    assert simulator_of(fits.replace(", rate: [0, 0.98506, 0]", "")).state.coordinate["ball"][0] == pytest.approx(0.3)
    said = problems_of(fits.replace("0.3 rad", "0.31 rad"))
    assert "'ball[0]' is driven" in said and "starts with the coordinate 0.3" in said
    assert "starts with the rate" in problems_of(fits.replace("0.98506", "0.8"))


# --- tables --------------------------------------------------------------------------------------------

ROWS = np.linspace(0.0, 2.0, 41)


def arm_led_by(tmp_path, motion: str, head: str = "time [s],arm [deg]", duration: float = 2.0) -> sim.Recording:
    """Return a run of the arm whose motion reads a table of 0.5 sin(3 t)."""
    rows = [f"{t!r},{float(np.degrees(0.5 * np.sin(3 * t)))!r}" for t in ROWS.tolist()]
    (tmp_path / "m.csv").write_text("\n".join([head, *rows]) + "\n")
    text = ARM.replace("MORE", f'motion: "{motion}"').replace("duration: 2 s", f"duration: {duration}")
    (tmp_path / "arm.yaml").write_text(text)
    return sim.run(sim.load(tmp_path / "arm.yaml"))


@pytest.mark.parametrize(("motion", "factor", "pace"), [
    ("table('m.csv', 'arm')", 1.0, 1.0), ("-2*table('m.csv', 'arm', 0.5*t) + 0*t/1 s", -2.0, 0.5),
])  # fmt: skip
def test_a_table_is_followed(tmp_path, motion, factor, pace):
    """Its spline through all rows, with both derivatives of it, also at another pace; the torque is that of the arm."""
    from scipy.interpolate import make_interp_spline

    recording = arm_led_by(tmp_path, motion)
    spline = make_interp_spline(ROWS, 0.5 * np.sin(3 * ROWS), 5)
    t = pace * recording.time
    assert recording.coordinate["hinge"] == pytest.approx(factor * spline(t), abs=1e-12)
    assert recording.rate["hinge"] == pytest.approx(factor * pace * spline(t, 1), abs=1e-11)
    acceleration = factor * pace**2 * spline(t, 2)
    torque = INERTIA * acceleration - 2 * G * 0.3 * np.cos(factor * spline(t))
    assert recording.torque["hinge"] == pytest.approx(torque, abs=1e-9)
    assert recording.coordinate["hinge"] == pytest.approx(factor * 0.5 * np.sin(3 * t), abs=1e-6)
    assert sim.verify(recording, instants=4).problems == []


@pytest.mark.fast
@pytest.mark.parametrize("rows", [41, 5, 2])
@pytest.mark.parametrize("at", [0.0, 0.05, 0.73, 1.9999, 2.0])
def test_a_table_is_looked_up_with_both_derivatives(tmp_path, rows, at):
    """At knots, between them and at both ends; of few rows a spline of lower degree."""
    from scipy.interpolate import make_interp_spline

    time = np.linspace(0.0, 2.0, rows)
    angle = 0.5 * np.sin(3 * time)
    lines = [f"{t!r},{a!r}" for t, a in zip(time.tolist(), angle.tolist(), strict=True)]
    (tmp_path / "m.csv").write_text("\n".join(["time [s],arm", *lines]) + "\n")
    (tmp_path / "arm.yaml").write_text(ARM.replace("MORE", f"motion: \"table('m.csv', 'arm', {at!r} s - 2*t)\""))
    simulator = sim.Simulator(sim.compile(sim.load(tmp_path / "arm.yaml")))
    spline = make_interp_spline(time, angle, min(5, rows - 1))
    state = simulator.state
    assert state.coordinate["hinge"] == pytest.approx(float(spline(at)), abs=1e-13)
    assert state.rate["hinge"] == pytest.approx(-2 * float(spline(at, 1)), abs=1e-12)
    assert state.angular_acceleration["arm"][1] == pytest.approx(4 * float(spline(at, 2)), abs=1e-10)


def test_a_recording_keeps_the_table_of_a_motion(tmp_path):
    recording = arm_led_by(tmp_path, "table('m.csv', 'arm')")
    recording.save(tmp_path / "arm.h5")
    (tmp_path / "m.csv").unlink()
    (tmp_path / "arm.yaml").unlink()
    assert sim.verify(tmp_path / "arm.h5", instants=2).problems == []


def test_a_motion_ends_where_its_table_ends(tmp_path):
    with pytest.raises(SimulationError, match=r"table\('m.csv', 'arm'\)") as caught:
        arm_led_by(tmp_path, "table('m.csv', 'arm')", duration=2.5)
    assert str(caught.value).endswith("; table('m.csv', 'arm') tells 0 s to 2 s")
    with pytest.raises(SceneError) as early:
        arm_led_by(tmp_path, "table('m.csv', 'arm', t - 1 s)")
    (problem,) = early.value.problems
    assert "is not a finite number at the start" in problem.what
    assert problem.hint == "table('m.csv', 'arm') tells 0 s to 2 s"
    held = arm_led_by(tmp_path, "table('m.csv', 'arm', min(t, 2 s)) - 3*table('m.csv', 'arm', 1 s)*0", duration=1.9)
    assert held.coordinate["hinge"][-1] == pytest.approx(0.5 * np.sin(3 * 1.9), abs=1e-6)


@pytest.mark.parametrize(("motion", "head", "said"), [
    ("table('n.csv', 'arm')", "time [s],arm [deg]", "there is no file 'n.csv'"),
    ("table('m.csv', 'arn')", "time [s],arm [deg]", "'m.csv' has no column 'arn'"),
    ("table('m.csv', 'arm')", "time [s],arm [mm]", "expected a pure number or an angle, found a length"),
    ("table('m.csv', 'arm')", "time [s],arm [deg],more", "expected 3, one for each column"),
    ("table('m.csv', 'arm', 2 m)", "time [s],arm [deg]", "table(...) is looked up at a time, not at a length"),
    ("table('m.csv', arm)", "time [s],arm [deg]", "table(...) takes a file and a column in quotes"),
    ("table('m.csv')", "time [s],arm [deg]", "table(...) takes 2 or more arguments, not 1"),
])  # fmt: skip
def test_what_a_table_of_a_motion_lacks_is_told(tmp_path, motion, head, said):
    with pytest.raises(SceneError) as caught:
        arm_led_by(tmp_path, motion, head)
    (problem,) = caught.value.problems
    assert problem.path == "joints.hinge.motion" and said in problem.what


@pytest.mark.fast
@pytest.mark.parametrize("controller", ["{type: pd, joints: [hinge], kp: 3, target: \"table('m.csv', 'arm')\"}",
                                        "{type: torque, torques: {hinge: \"2*table('m.csv', 'arm')\"}}"])  # fmt: skip
def test_other_formulas_than_motions_read_no_tables(controller):
    said = problems_of(ARM.replace(", MORE", "") + f"controllers: {{lead: {controller}}}\n")
    assert "table(...) stands in a motion alone" in said and "track" in said


# --- peers --------------------------------------------------------------------------------------------

DOUBLE = """
schema: 1
name: double
bodies:
  upper: {mass: 1.5, com: [0, 0, -0.3], inertia: [0.03, 0.03, 0.01], position: [0, 0, 0]}
  lower: {mass: 0.6, com: [0, 0, -0.9], inertia: [0.004, 0.004, 0.001], position: [0, 0, -0.6]}
joints:
  top: {type: rotational, parent: world, child: upper, position: [0, 0, 0], axis: [0, 1, 0], motion: 0.7*sin(4*t/1 s)}
  knee: {type: rotational, parent: upper, child: lower, position: [0, 0, -0.6], axis: [0, 1, 0]}
initial: {knee: {coordinate: 0.4 rad, rate: -1 rad/s}}
simulate: {duration: 1 s, rtol: 1e-10, record: 20 Hz}
"""
MJCF = """
<mujoco><compiler angle="radian"/><option gravity="0 0 -9.81"/><worldbody>
 <body name="upper"><inertial pos="0 0 -0.3" mass="1.5" diaginertia="0.03 0.03 0.01"/><joint axis="0 1 0"/>
  <body name="lower" pos="0 0 -0.6"><inertial pos="0 0 -0.3" mass="0.6" diaginertia="0.004 0.004 0.001"/>
   <joint axis="0 1 0"/></body></body></worldbody></mujoco>
"""


@pytest.mark.fast
@needs("mujoco")
def test_inverse_dynamics_of_a_peer_give_the_force_of_the_drive():
    import mujoco

    model = mujoco.MjModel.from_xml_string(MJCF)
    data = mujoco.MjData(model)
    simulator = simulator_of(DOUBLE)
    for t in (0.0, 0.3, 0.8):
        simulator.advance(t)
        state = simulator.state
        top = state.angular_acceleration["upper"][1]
        assert top == pytest.approx(-11.2 * np.sin(4 * t), abs=1e-10)
        data.qpos[:] = state.coordinate["top"], state.coordinate["knee"]
        data.qvel[:] = state.rate["top"], state.rate["knee"]
        data.qacc[:] = top, state.angular_acceleration["lower"][1] - top
        mujoco.mj_inverse(model, data)
        assert data.qfrc_inverse == pytest.approx([state.torque["top"], 0.0], abs=1e-9)


@pytest.mark.fast
def test_a_driven_scene_elsewhere_moves_the_same():
    R, shift = matrix_from_vector(np.array([0.7, -1.1, 0.4])), np.array([480.0, -600.0, 640.0])
    scene = load_text(DOUBLE)
    here, there = sim.run(scene), sim.run(moved_scene(scene, R, shift))
    for name in ("upper", "lower"):
        assert there.position[name] == pytest.approx(here.position[name] @ R.T + shift, abs=1e-10)
    assert there.torque["top"] == pytest.approx(here.torque["top"], abs=1e-8)


@pytest.mark.parametrize("method", ["rk4", "semi_implicit", "variational"])
def test_fixed_steps_follow_a_motion_exactly(method):
    text = DOUBLE.replace("rtol: 1e-10", f"method: {method}, step: 2 ms")
    recording, exact = run(text), run(DOUBLE)
    assert recording.coordinate["top"] == pytest.approx(0.7 * np.sin(4 * recording.time), abs=1e-13)
    assert recording.rate["top"] == pytest.approx(2.8 * np.cos(4 * recording.time), abs=1e-12)
    off = np.max(np.abs(recording.coordinate["knee"] - exact.coordinate["knee"]))
    assert off < {"rk4": 1e-8, "semi_implicit": 0.05, "variational": 1e-4}[method]


@pytest.mark.fast
def test_interpreted_kernels_do_the_same():
    script = (
        "import sys, sim; from sim.scene.load import load_text\n"
        "s = sim.Simulator(sim.compile(load_text(sys.stdin.read()))); s.advance(0.1)\n"
        "print(repr(float(s.state.torque['top'])), repr(float(s.state.coordinate['knee'])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], input=DOUBLE, text=True, capture_output=True, check=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )  # fmt: skip
    simulator = simulator_of(DOUBLE)
    simulator.advance(0.1)
    expected = [simulator.state.torque["top"], simulator.state.coordinate["knee"]]
    assert [float(x) for x in done.stdout.split()] == pytest.approx(expected, rel=1e-11)


# --- events -------------------------------------------------------------------------------------------


def test_a_cut_drive_lets_go():
    """Where a free hinge takes the place of the driven one, the arm goes on as fast, and no work is done."""
    text = ARM.replace("MORE", "motion: 3*t/1 s")
    text += "events: {change: {at: 0.5 s, cut: hinge, connect: hold}}\n"
    text = text.replace(
        "simulate:",
        "  hold:\n    {type: rotational, parent: world, child: arm, position: [0, 0, 0], axis: [0, 1, 0], "
        "connected: false}\n"
        "simulate:",
    )
    recording = run(text)
    t, angle = recording.time, recording.coordinate["hold"]
    before, after = t < 0.5, t > 0.5
    assert recording.coordinate["hinge"][before] == pytest.approx(3 * t[before], abs=1e-13)
    assert np.isnan(recording.torque["hinge"][after]).all()
    assert np.ptp(angle[after]) > 0.5
    assert recording.rate["hold"][after][0] == pytest.approx(3.0, abs=0.5)
    assert np.ptp(recording.rate["hold"][after]) > 1.0  # it falls
    assert np.max(np.abs(recording.energy.balance)) < 1e-9
    assert np.ptp(recording.energy.input[after]) == 0.0
    assert sim.verify(recording, instants=5).problems == []


CLUTCH = """
schema: 1
name: clutch
world: {gravity: [0, 0, 0]}
bodies: {disc: {mass: 2 kg, com: [0, 0, 0], inertia: [0.2, 0.2, 0.3], position: [0, 0, 0]}}
joints:
  axle: {type: rotational, parent: world, child: disc, position: [0, 0, 0], axis: [0, 0, 1]}
  motor:
    {type: rotational, parent: world, child: disc, position: [0, 0, 0], axis: [0, 0, 1], connected: false,
     motion: "5*(t - 1 s)/1 s", tolerance: TOLERANCE}
initial: {axle: {rate: 2 rad/s, coordinate: ANGLE}}
events: {clutch: {at: 1 s, connect: motor}}
simulate: {duration: 2 s, rtol: 1e-11, record: 50 Hz}
"""


@pytest.mark.fast
def test_a_motor_is_clutched_in():
    """The disc comes with 2 rad/s and leaves with 5: the motor gives I dw w, of which the clutch loses I dw^2/2."""
    recording = run(CLUTCH.replace("TOLERANCE", "1e-6").replace("ANGLE", "-2 rad"))
    t = recording.time
    assert recording.rate["axle"][t < 1] == pytest.approx(2.0)
    assert recording.rate["axle"][t > 1] == pytest.approx(5.0)
    assert recording.coordinate["motor"][t > 1] == pytest.approx(5 * (t[t > 1] - 1), abs=1e-12)
    assert recording.energy.input[-1] == pytest.approx(0.3 * 3 * 5)
    assert recording.energy.impact[-1] == pytest.approx(0.3 * 3**2 / 2)
    assert np.max(np.abs(recording.energy.balance)) < 1e-12
    assert sim.verify(recording, instants=3).problems == []


@pytest.mark.fast
def test_a_motor_is_not_clutched_in_where_its_motion_is_elsewhere():
    with pytest.raises(SimulationError, match=r"'motor' stands at 0.5 and its motion is at 0 at this time.*tolerance"):
        run(CLUTCH.replace("TOLERANCE", "1e-3").replace("ANGLE", "-1.5 rad"))


def test_a_blow_on_a_driven_mechanism_keeps_the_motion():
    text = DOUBLE + "events: {blow: {at: 0.4 s, impulse: {body: lower, linear: [1, 0, 0.5], angular: [0, 0.1, 0]}}}\n"
    recording = run(text)
    assert recording.rate["top"] == pytest.approx(2.8 * np.cos(4 * recording.time), abs=1e-12)
    jump = np.ptp(recording.rate["knee"][np.abs(recording.time - 0.4) < 1e-12])
    assert jump > 1.0
    assert np.max(np.abs(recording.energy.balance)) < 1e-9
    assert sim.verify(recording, instants=3).problems == []


def test_a_condition_on_the_force_of_a_drive():
    text = ARM.replace("MORE", "motion: 0.5*sin(3*t/1 s)")
    text += "events: {heavy: {when: torque('hinge') < -6.2, stop: true}}\n"
    recording = run(text)
    (event,) = recording.events
    angle = 0.5 * np.sin(3 * event.time)
    assert 0.1 < event.time < 2.0
    assert INERTIA * -9 * angle - 2 * G * 0.3 * np.cos(angle) == pytest.approx(-6.2, abs=1e-9)


# --- counts, refusals -----------------------------------------------------------------------------------


@pytest.mark.fast
def test_counts_say_what_is_driven():
    report = sim.check(load_text(slider_crank("tree")))
    assert report.counts == {"joint_coordinates": 4, "constraint_rank": 3, "mobility": 0}
    assert "driven: crank takes 1 freedom of 1; none is left to move by itself" in report.notes
    for where in ("tree", "loop"):
        said = sim.info(load_text(slider_crank(where)))
        assert (said["driven"], said["mobility"], said["generalized_coordinates"]) == (1, 0, ["crank"])
    said = sim.info(load_text(DOUBLE))
    assert (said["joint_coordinates"], said["driven"], said["mobility"]) == (2, 1, 1)


def problems_of(text: str) -> str:
    with pytest.raises(SceneError) as caught:
        simulator_of(text)
    return str(caught.value)


@pytest.mark.fast
def test_initial_values_that_contradict_a_motion():
    assert (
        simulator_of(DOUBLE.replace("{knee:", "{top: {coordinate: 0, rate: 2.8}, knee:")).state.coordinate["top"] == 0
    )
    said = problems_of(DOUBLE.replace("{knee:", "{top: 0.2, knee:"))
    assert "initial.top: joint 'top' is driven, and its motion (<text>:8:" in said
    assert "starts with the coordinate 0" in said
    said = problems_of(DOUBLE.replace("{knee:", "{top: {rate: 1 rad/s}, knee:"))
    assert "starts with the rate 2.8" in said


@pytest.mark.fast
@pytest.mark.parametrize("driven_at", ["tree", "loop"])
def test_initial_values_that_the_loops_do_not_allow_with_a_motion(driven_at):
    text = slider_crank(driven_at)
    said = problems_of(text + "initial: {guide: 5 cm}\n")
    assert "initial.guide: the loops and the motion of 'crank' do not allow this coordinate" in said
    said = problems_of(text + "initial: {guide: {rate: 1 m/s}}\n")
    assert "initial.guide: the loops and the motion of 'crank' do not allow this rate" in said


@pytest.mark.fast
def test_two_motions_that_fight():
    text = slider_crank("tree")
    said = problems_of(text.replace("axis: [1, 0, 0]}", 'axis: [1, 0, 0], motion: "-0.1 m"}'))
    assert "do not allow its coordinate at the start" in said
    assert "'crank'" in said or "'guide'" in said
    said = problems_of(text.replace("axis: [1, 0, 0]}", 'axis: [1, 0, 0], motion: "t*1 m/s"}'))
    assert "do not allow its rate at the start, " in said


@pytest.mark.fast
def test_two_motions_that_part_later():
    text = slider_crank("tree").replace("8*t/1 s + 0.4*sin(5*t/1 s)", "0.3 + 0*t/1 s")
    x = 0.15 * np.cos(0.3) + np.sqrt(0.45**2 - (0.15 * np.sin(0.3)) ** 2) - 0.6
    fits = text.replace("axis: [1, 0, 0]}", f'axis: [1, 0, 0], motion: "{x:.17g} m"}}')
    assert simulator_of(fits).state.coordinate["guide"] == pytest.approx(x)
    simulator = simulator_of(fits.replace(f'"{x:.17g} m"', f'"{x:.17g} m + 1 m*(t/1 s)^4"'))
    with pytest.raises(SimulationError, match=r"the motions of 'guide', 'crank' and the loops contradict each other"):
        simulator.advance(1.0)


@pytest.mark.fast
@pytest.mark.parametrize(
    "motion", ["0.3*clip(t/1 s, 0, 0.5)", "0.1*atan2(sin(6*t/1 s), cos(6*t/1 s))"], ids=["rate", "value"]
)
def test_a_motion_that_jumps_ends_the_run(motion):
    simulator = simulator_of(ARM.replace("MORE", f'motion: "{motion}"'))
    with pytest.raises(
        SimulationError, match=r"a motion whose value or rate jumps cannot be followed \(driven: 'hinge'"
    ):
        simulator.advance(2.0)
    assert simulator.t == pytest.approx(0.5 if "clip" in motion else np.pi / 6, abs=1e-6)


@pytest.mark.fast
def test_a_motion_without_a_rate_at_the_start():
    said = problems_of(ARM.replace("MORE", "motion: sqrt(t/1 s)"))
    assert "joints.hinge.motion: the rate of this motion is not a finite number at the start" in said
