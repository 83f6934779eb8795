"""The variational method: what it conserves, over how long, its order, its loops, and where it ends."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ellipk

import sim
from bench.long_runs import slope, slope_of_walk
from sim.scene import library
from sim.scene.load import load_text
from sim.scene.spec import Scene
from tests.dynamics.shadow import less_energy

ROOT = Path(__file__).parents[2]
PERIOD = 4.0 * ellipk(0.5) / np.sqrt(9.81)  # s, of the pendulum of 1 m released level


def with_steps(scene: str | Scene, step: float, **settings: float | str) -> Scene:
    found = sim.load(library.find(scene)) if isinstance(scene, str) else scene
    return replace(found, simulate=replace(found.simulate, **{"method": "variational", "step": step} | settings))


def passive_swing() -> Scene:
    """Monkey and ropes under gravity alone: without controllers and events, and without stops, which dissipate."""
    return without_all(sim.load(library.find("monkey_swing")))


def without_all(scene: Scene) -> Scene:
    return replace(scene, controllers=(), events=(), joints=tuple(replace(j, limits=None) for j in scene.joints))


def hanging_swing() -> Scene:
    """The same with limbs stretched, drawn back by 20 deg: the ropes are taut from the start.

    With bent arms the monkey falls into the ropes, which go slack and taut ever after, a link of rope turning by a
    radian in 3 ms; steps for that take minutes to reach 600 s.
    """
    file = Path(library.find("monkey_swing"))
    text, arm, aside = file.read_text(), 0.386 * 1.2, 0.24 - 0.129 * 1.2  # shoulder to palm; palm beside the shoulder
    turn = np.degrees(np.arcsin(aside / arm))
    for what, by in {
        r"reach: \{value: [\d.]+ m": f"reach: {{value: {0.288 * 1.2 + np.sqrt(arm**2 - aside**2):.12f} m",
        r"shoulder_l: \{rpy: .*\}": f"shoulder_l: {{rpy: [{180 - turn:.10f} deg, 0, 0]}}",
        r"shoulder_r: \{rpy: .*\}": f"shoulder_r: {{rpy: [{turn - 180:.10f} deg, 0, 0]}}",
        r"elbow_(.): 35 deg": r"elbow_\1: 0 deg",
        r"hip_(.): \{rpy: .*\}": r"hip_\1: {rpy: [0, 0, 0]}",
        r"knee_(.): 75 deg": r"knee_\1: 0 deg",
    }.items():
        text, count = re.subn(what, by, text)
        assert count
    return without_all(load_text(text, folder=file.parent, set={"lean": "20 deg"}))


def simulator(scene: Scene) -> sim.Simulator:
    return sim.Simulator(sim.compile(scene))


# --- long runs ----------------------------------------------------------------------------------------


@pytest.mark.benchmark
def test_pendulum_does_not_drift_in_2000_s():
    """IFToMM A01 in steps of 10 ms, three hundred to a period."""
    with sim.run(with_steps("benchmarks/point_pendulum", 0.01, record=5.0), duration=2000.0) as recording:
        t, energy = recording.time, recording.energy
        assert recording.run["steps"] == 200_000
        peak = energy.kinetic.max()
        assert peak == pytest.approx(9.81, rel=1e-3)
        assert 1e-4 * peak < np.abs(energy.balance).max() < 1e-3 * peak
        found, error = slope(t[1:], energy.balance[1:])
    assert abs(found) < 3.0 * error
    assert abs(found) * 2000.0 < 1e-6 * peak


@pytest.mark.benchmark
@pytest.mark.slow
def test_passive_monkey_does_not_drift_in_600_s():
    """34 freedoms in steps of 2 ms; chaotic: neighbouring motions part by a factor of e in less than a second."""
    with sim.run(with_steps(hanging_swing(), 2e-3, record=5.0), duration=600.0) as recording:
        t, energy = recording.time, recording.energy
        assert recording.run["steps"] == 300_000
        assert np.max(recording.trust.position_residual) < 2e-14
        peak = energy.kinetic.max()
        assert peak > 30.0
        assert 1e-5 * peak < np.abs(energy.balance).max() < 1e-3 * peak
        found, error = slope_of_walk(t[1:], energy.balance[1:])
    assert abs(found) < 3.0 * error
    assert abs(found) * 600.0 < 1e-4 * peak


@pytest.mark.benchmark
def test_explicit_steps_of_the_same_length_do_drift():
    """What the two tests above would find of a method that is not symplectic."""
    scene = with_steps("benchmarks/point_pendulum", 0.02, record=5.0, method="rk4")
    with sim.run(scene, duration=2000.0) as recording:
        found, error = slope(recording.time[1:], recording.energy.balance[1:])
        assert abs(found) > 3.0 * error
    with sim.run(with_steps(hanging_swing(), 4e-3, record=5.0, method="rk4"), duration=60.0) as recording:
        found, error = slope_of_walk(recording.time[1:], recording.energy.balance[1:])
        assert abs(found) > 3.0 * error


@pytest.mark.benchmark
def test_the_energy_of_the_theory_is_kept_much_better():
    """The energy error is that of the leading term of the modified energy; what is left of it is of order four."""
    raw, left = [], []
    for h in (1e-3, 5e-4):
        s = simulator(with_steps(passive_swing(), h))
        rows = []
        for k in range(1, 151):
            s.advance(k / 50.0)
            rows.append((s.energy["balance"], s.energy["balance"] - h**2 * less_energy(s)))
        x, y = np.array(rows).T
        raw.append(np.std(x))
        left.append(np.std(y))
    assert raw[0] / raw[1] == pytest.approx(4.0, rel=0.05)
    assert left[0] / left[1] == pytest.approx(16.0, rel=0.25)
    assert left[1] < 0.01 * raw[1]


# --- order --------------------------------------------------------------------------------------------


def test_order_is_two_against_the_closed_form():
    """After whole periods and a quarter the pendulum of IFToMM A01 hangs down, and moves at sqrt(2 g l)."""
    span, errors = 2.25 * PERIOD, []
    for n in (450, 900, 1800, 3600):
        s = simulator(with_steps("benchmarks/point_pendulum", span / n))
        s.advance(span)
        q, v = s.state.coordinate["pivot"], s.state.rate["pivot"]
        assert abs(v) == pytest.approx(np.sqrt(2 * 9.81), rel=1e-3)
        errors.append(abs(q + np.pi / 2))
    ratios = np.array(errors[:-1]) / errors[1:]
    assert ratios == pytest.approx(4.0, rel=0.01)
    assert errors[0] < 1e-2


DAMPED = """
schema: 1
name: damped
world: {points: {hook: [0.5, 0.3, 0.2]}}
bodies:
  upper: {mass: 1.5 kg, com: [0, 0, 1.3], gyration: [0.19, 0.19, 0.03]}
  lower: {mass: 1 kg, com: [0, 0.03, 0.75], gyration: [0.16, 0.16, 0.03], points: {tip: [0, 0, 0.5]}}
joints:
  top:
    {type: spherical, parent: world, child: upper, position: [0, 0, 1.6],
     damping: 0.3, stiffness: 4, armature: [0.2, 0.05, 0.1]}
  knee:
    {type: universal, parent: upper, child: lower, position: [0, 0, 1], axis: [1, 0, 0], second_axis: [0, 1, 0],
     damping: 2, armature: 0.1}
forces:
  strut: {type: spring, from: lower.tip, to: world.hook, stiffness: 40 N/m, damping: 3 N s/m, length: 0.3 m}
controllers:
  law: {type: torque, torques: {top: ["0.5 N m*sin(3*t/1 s)", "-0.1 N m s/rad*rate('top')[1]", "0"]}}
initial: {top: {rate: [1, -2, 3]}, knee: {coordinate: [0.4, -0.3], rate: [1, 0.5]}}
simulate: {duration: 1 s}
"""
TIED = """
schema: 1
name: tied
bodies:
  upper: {mass: 1.5 kg, com: [0, 0, 1.3], gyration: [0.19, 0.17, 0.1]}
  lower: {mass: 1 kg, com: [0.25, 0.06, 0.95], gyration: [0.16, 0.14, 0.1]}
joints:
  top: {TOP}
  knee: {type: spherical, parent: upper, child: lower, position: [0, 0, 1], armature: [0.2, 0.1, 0.3]}
  tie: {TIE, parent: world, child: lower, position: [0.4, 0.2, 0.8]}
simulate: {duration: 1 s}
"""
TOPS = {
    "universal": "type: universal, axis: [1, 0, 0], second_axis: [0, 1, 0], armature: 0.1",
    "spherical": "type: spherical",
}
TIES = {
    "spherical": "type: spherical, armature: [0.3, 0.1, 0.2]",
    "universal": "type: universal, axis: [1, 0, 0], second_axis: [0, 1, 0], armature: [0.3, 0.2]",
    "cylindrical": "type: cylindrical, axis: [0.8, 0, 0.6], armature: [1, 0.2]",
    "planar": "type: planar, axis: [0, 0.6, 0.8], second_axis: [1, 0, 0], armature: [1, 2, 0.2]",
    "free": "type: free, armature: [1, 0.5, 2, 0.1, 0.3, 0.2]",
}


def tied(top: str, tie: str) -> str:
    """Two links that hang in a joint each, with rotors on joints of the tree and of the loop."""
    top = TOPS[top] + ", parent: world, child: upper, position: [0, 0, 1.6]"
    return TIED.replace("TOP", top).replace("TIE", TIES[tie])


def far(a: sim.Simulator, b: sim.Simulator) -> float:
    """Return the largest difference of places and speeds of the bodies."""
    x, y = a.state, b.state
    return max(
        max(np.abs(x.position[n] - y.position[n]).max(), np.abs(x.rotation[n] - y.rotation[n]).max(),
            np.abs(x.velocity[n] - y.velocity[n]).max(), np.abs(x.angular_velocity[n] - y.angular_velocity[n]).max())
        for n in a.model.body_names[1:]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("scene", "span", "step"),
    [
        (DAMPED, 1.0, 4e-3),
        (tied("universal", "spherical"), 1.0, 4e-3),
        *((tied("spherical", tie), 0.6, 4e-3) for tie in list(TIES)[1:]),
        ("benchmarks/governor", 0.5, 5e-4),  # dampers that would stop the slide in 0.1 ms
        ("benchmarks/box", 1.0, 4e-3),
        ("four_bar", 1.0, 4e-3),
        ("benchmarks/four_bars", 0.5, 4e-3),
        ("monkey_swing", 0.4, 2e-3),
        ("high_bar", 0.5, 2e-3),
    ],
    ids=[
        "damped",
        *(f"rotor on {tie}" for tie in TIES),
        "governor",
        "box",
        "four_bar",
        "four_bars",
        "monkey_swing",
        "high_bar",
    ],
)
def test_order_is_two_against_controlled_steps(scene, span, step):
    found = load_text(scene) if "\n" in scene else sim.load(library.find(scene))
    exact = simulator(with_steps(found, step, method="dop853", rtol=1e-12))
    exact.advance(span)
    errors = []
    for h in (step, step / 2, step / 4):
        s = simulator(with_steps(found, h))
        s.advance(span)
        errors.append(far(s, exact))
    assert np.array(errors[:-1]) / errors[1:] == pytest.approx(4.0, rel=0.15)


# --- what is conserved --------------------------------------------------------------------------------


def test_a_free_body_keeps_its_angular_momentum_to_roundoff():
    s = simulator(with_steps("benchmarks/dzhanibekov", 5e-3))
    J = np.diag([3.0, 2.0, 1.0])
    momenta, axes = [], []
    for k in range(1, 201):
        s.advance(0.2 * k)
        R = s.state.rotation["body"]
        momenta.append(R @ J @ R.T @ s.state.angular_velocity["body"])
        axes.append(R[:, 1])
    start = J @ [0.01, 1.0, 0.01]
    assert np.abs(np.array(momenta) - start).max() < 1e-13
    assert np.min(np.array(axes) @ [0, 1, 0]) < -0.99  # it has flipped over


TUMBLING = """
schema: 1
name: tumbling
world: {gravity: [0, 0, 0]}
bodies:
  base: {mass: 1, com: [0.1, 0, 1.7], gyration: [0.15, 0.2, 0.15]}
  upper: {mass: 1.5 kg, com: [0, 0, 1.3], gyration: [0.19, 0.19, 0.03]}
  lower: {mass: 1 kg, com: [0, 0.03, 0.75], gyration: [0.16, 0.16, 0.03]}
joints:
  top: {type: spherical, parent: base, child: upper, position: [0, 0, 1.6], damping: 0.3, stiffness: 4}
  knee:
    {type: universal, parent: upper, child: lower, position: [0, 0, 1], axis: [1, 0, 0], second_axis: [0, 1, 0],
     damping: 0.2}
initial:
  base: {velocity: [1, 2, 0.5], angular_velocity: [0.3, 0, 1]}
  top: {rate: [1, -2, 3]}
  knee: {coordinate: [0.4, -0.3], rate: [1, 0.5]}
simulate: {duration: 1 s}
"""


def test_bodies_that_hold_each_other_keep_momentum_and_moment_to_roundoff():
    s = simulator(with_steps(load_text(TUMBLING), 5e-3))

    def momenta() -> np.ndarray:
        total = np.zeros(6)
        for n, name in enumerate(s.model.body_names):
            if n:
                body, state = s.model.bodies[n], s.state
                xx, yy, zz, xy, xz, yz = body.inertia_B
                R, w = state.rotation[name], state.angular_velocity[name]
                arm = R @ body.com_B
                p = body.mass * (state.velocity[name] + np.cross(w, arm))
                spin = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T @ w
                total += np.hstack([p, spin + np.cross(state.position[name] + arm, p)])
        return total

    first, speed = momenta(), s.state.rate["knee"].copy()
    s.advance(5.0)
    assert np.abs(momenta() - first).max() < 1e-12 * np.abs(first).max()
    assert np.abs(s.state.rate["knee"] - speed).max() > 0.1


def test_the_heavy_top_keeps_its_spin_and_moment_about_the_vertical():
    s = simulator(with_steps("benchmarks/heavy_top", 1e-3))
    J = np.diag([15.234375, 0.46875, 15.234375])
    for k in range(1, 21):
        s.advance(0.1 * k)
        R, w = s.state.rotation["top"], s.state.angular_velocity["top"]
        assert (R @ J @ R.T @ w)[2] == pytest.approx(15.234375 * -4.61538, rel=1e-12)
        assert R[:, 1] @ w == pytest.approx(150.0, rel=1e-5)
        assert abs(s.energy["balance"]) < 1e-5 * s.energy["kinetic"]


def test_steps_back_lead_to_the_start():
    """The method is symmetric: with speeds turned round it takes the same steps backwards."""
    s = simulator(with_steps("four_bar", 5e-3))
    q, v = s.flow.q.copy(), s.flow.v.copy()
    s.advance(1.0)
    assert np.abs(s.flow.q - q).max() > 0.1
    s.flow.v[:] *= -1.0
    s.flow.restart()
    s.advance(2.0)
    assert np.abs(s.flow.q - q).max() < 1e-12
    assert np.abs(s.flow.v + v).max() < 1e-12


@pytest.mark.parametrize(
    ("scene", "step", "span"),
    [
        ("four_bar", 5e-3, 30.0),
        ("benchmarks/bricard", 5e-3, 30.0),
        ("benchmarks/four_bars", 2e-3, 10.0),
        ("high_bar", 2e-3, 3.0),
    ],
)
def test_loops_are_closed_to_roundoff_at_every_step(scene, step, span):
    with sim.run(with_steps(scene, step, record=1.0 / step), duration=span) as recording:
        assert recording.run["steps"] == round(span / step)
        assert np.max(recording.trust.position_residual) < 2e-14
        assert np.max(recording.trust.velocity_residual) < 2e-14
        assert np.abs(recording.energy.balance).max() < 1e-3 * recording.energy.kinetic.max()
        assert recording.summary["methods"] == [
            f"variational from 0 to {span:g} s, {round(span / step)} steps: the scene says so"
        ]


def test_steps_themselves_end_on_the_constraints():
    """Without the projection that recorded samples go through."""
    s = simulator(with_steps("benchmarks/bricard", 5e-3))
    for k in range(1, 101):
        s.advance(0.02 * k)
        s.flow.observe()
        position, velocity = s.flow.work.one.position_residual[0], s.flow.work.one.velocity_residual[0]
        assert 0.0 < position < 1e-14 and velocity < 1e-14


# --- the rest of the world ----------------------------------------------------------------------------


def test_events_come_when_they_come_and_samples_change_nothing():
    text = """
schema: 1
name: pendulum
bodies: {mass: {mass: 1 kg, com: [1, 0, 0], inertia: [0, 0, 0]}}
joints:
  pivot: {type: rotational, parent: world, child: mass, position: [0, 0, 0], axis: [0, -1, 0]}
events: {there: {when: "coordinate('pivot') < -pi/2", stop: true}}
simulate: {duration: 3 s}
"""
    errors = []
    for h in (4e-3, 2e-3, 1e-3):
        s = simulator(with_steps(load_text(text), h))
        s.advance(3.0)
        errors.append(abs(s.t - PERIOD / 4.0))
    assert np.array(errors[:-1]) / errors[1:] == pytest.approx(4.0, rel=0.01)
    ends = []
    for rate in (1.0, 37.0, 1000.0):
        s = simulator(with_steps("monkey_swing", 2e-3, record=rate))
        s.advance(1.0)
        ends.append(s.flow.stepper.y.copy())
    assert np.array_equal(ends[0], ends[1]) and np.array_equal(ends[0], ends[2])


@pytest.mark.fast
def test_a_step_that_cannot_be_solved_ends_in_a_sentence():
    s = simulator(with_steps("benchmarks/heavy_top", 0.02))  # three radians a step
    with pytest.raises(sim.SimulationError, match=r"t = 0 s: the equations of a variational step of 0\.02 s could not"):
        s.advance(1.0)


@pytest.mark.fast
def test_interpreted_kernels_take_the_same_steps():
    script = (
        "import sim; from tests.dynamics.test_variational import simulator, with_steps\n"
        "s = simulator(with_steps('four_bar', 4e-3)); s.advance(0.04); print(s.flow.q.tolist(), s.flow.v.tolist())"
    )
    out = [
        subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True,
                       env=os.environ | {"NUMBA_DISABLE_JIT": jit}).stdout
        for jit in ("0", "1")
    ]  # fmt: skip
    first, second = (np.array(eval(text.replace("] [", "], ["))) for text in out)
    np.testing.assert_allclose(second, first, rtol=1e-11, atol=1e-12)


@pytest.mark.fast
def test_other_methods_do_not_load_it():
    script = (
        "import sys, sim; from tests.dynamics.test_variational import simulator, with_steps\n"
        "for method in ('dop853', 'variational'):\n"
        "    s = simulator(with_steps('pendulum', 4e-3, method=method)); s.advance(0.1)\n"
        "    print('sim.kernels.integrators.variational' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
