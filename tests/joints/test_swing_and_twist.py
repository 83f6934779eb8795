"""Cones and ranges of twist of spherical joints: closed forms, hinges, energy, events, steps, loops, linear models."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import sim
from sim.kernels import spatial
from sim.mechanism.joint_motion import ball_value
from sim.scene.load import load_text
from tests.contact.engine import G0, Run
from tests.contact.test_bounds_in_steps import STEPS, assert_first_order, by_events, coordinates, stepped
from tests.contact.test_stepping import LOOP
from tests.dynamics.engine import simulator_of
from tests.kernels.plain import plain
from tests.linear.differences import differences

pytestmark = pytest.mark.contact
ANGLE, SWING, TWIST = 1, 2, 3

TOP = """
schema: 1
name: top
world: {{gravity: [0, 0, {g}]}}
bodies: {{rod: {{mass: {mass}, com: {com}, inertia: {inertia}}}}}
joints: {{hip: {{type: spherical, parent: world, child: rod, position: [0, 0, 0], limits: {{{limits}}}}}}}
initial: {{hip: {start}}}
simulate: {{rtol: 1e-10}}
"""


def top(
    limits: str, start: str, g: float = 0.0, com: str = "[0, 0, -0.4]", inertia: str = "[0.02, 0.025, 0.01]"
) -> str:
    return TOP.format(limits=limits, start=start, g=g, com=com, inertia=inertia, mass=1.5)


def of(run: Run, what: int, about: int = 2) -> float:
    return ball_value(what, about, np.array(run.simulator.coordinate["hip"]))


# --- swing and twist --------------------------------------------------------------------------------


@pytest.mark.fast
@pytest.mark.parametrize("about", range(3))
@pytest.mark.parametrize("seed", range(5))
def test_a_swing_after_a_twist_has_them_and_their_rates(seed: int, about: int) -> None:
    rng = np.random.default_rng([seed, about])
    a, swing, twist = np.eye(3)[about], rng.uniform(0.01, 3.0), rng.uniform(-3.0, 3.0)
    across = np.cross(a, rng.normal(size=3))
    across /= np.linalg.norm(across)
    whole = Rotation.from_rotvec(swing * across) * Rotation.from_rotvec(twist * a)
    r = whole.as_rotvec()
    assert plain(spatial.swing_of)(*r, about) == pytest.approx(swing, abs=1e-12)
    assert plain(spatial.twist_of)(*r, about) == pytest.approx(twist, abs=1e-12)
    w, h = rng.normal(size=3), 1e-6
    ends = [(whole * Rotation.from_rotvec(s * h * w)).as_rotvec() for s in (1.0, -1.0)]
    for value, n in ((spatial.swing_of, spatial.swinging), (spatial.twist_of, spatial.twisting)):
        rate = (plain(value)(*ends[0], about) - plain(value)(*ends[1], about)) / (2.0 * h)
        assert np.dot(w, plain(n)(*r, about)) == pytest.approx(rate, rel=1e-6, abs=1e-8)


@pytest.mark.fast
def test_where_nothing_is_turned_nothing_is_tilted() -> None:
    assert plain(spatial.swing_of)(0.0, 0.0, 0.0, 2) == plain(spatial.twist_of)(0.0, 0.0, 0.0, 2) == 0.0
    assert plain(spatial.swinging)(0.0, 0.0, 0.0, 2) == (0.0, 0.0, 0.0)
    assert plain(spatial.twisting)(0.0, 0.0, 0.0, 2) == (0.0, 0.0, 1.0)
    assert plain(spatial.swing_of)(0.0, 0.0, 2.0, 2) == pytest.approx(0.0, abs=1e-15)


# --- closed forms -----------------------------------------------------------------------------------


@pytest.mark.fast
def test_a_spin_meets_its_stops_of_twist() -> None:
    """About the axis of symmetry: there and back by powers of e, at the times of a hinge."""
    run = Run(top("twist: [-30 deg, 45 deg], stop: rigid, restitution: 0.5", "{rate: [0, 0, 2]}")).to(2.0)
    low, high = math.radians(-30), math.radians(45)
    times = [high / 2, high / 2 + (high - low), high / 2 + 3 * (high - low)]
    times = [t for t in times if t < 2.0]
    assert run.times() == pytest.approx(times, abs=1e-8)
    assert [event.text for event in run.told.events][:2] == [
        "hip at its upper stop of its twist", "hip at its lower stop of its twist",
    ]  # fmt: skip


@pytest.mark.fast
def test_a_soft_stop_of_twist_is_a_spring() -> None:
    """Half a period of sqrt(J / k) beyond the stop, as deep as w sqrt(J / k), and the rate turned back."""
    k, J, w, bound = 40.0, 0.01, 2.0, 0.3
    run = Run(top(f"twist: [-1, {bound}], stiffness: {k}, dissipation: 0", f"{{rate: [0, 0, {w}]}}"))
    s = math.sqrt(J / k)
    run.to(bound / w + 0.5 * math.pi * s)
    assert of(run, TWIST) == pytest.approx(bound + w * s, abs=1e-7)
    assert run.simulator.stop_torque["hip"] == pytest.approx([0, 0, -k * w * s], rel=1e-6)
    run.to(bound / w + math.pi * s + 0.05)
    assert run.simulator.rate["hip"] == pytest.approx([0, 0, -w], abs=1e-7)


@pytest.mark.parametrize("about", "xyz")
def test_in_a_plane_a_cone_is_the_stop_of_a_hinge(about: str) -> None:
    """Whichever axis of the child it is about, if it swings across that."""
    across = {"x": "y", "y": "x", "z": "y"}[about]
    com = [0.0, 0.0, -0.4] if about == "z" else [0.1, 0.1, -0.4]
    com["xyz".index(across)] = 0.0
    axis = [float(across == k) for k in "xyz"]
    stop = "stop: rigid, restitution: 0.3"
    ball = Run(top(f"cone: 0.4, about: {about}, {stop}", f"{{rate: {[4.5 * x for x in axis]}}}", -G0, str(com)))
    text = ball.scene.text.replace("type: spherical,", f"type: rotational, axis: {axis},")
    text = text.replace(f"cone: 0.4, about: {about}", "range: [-0.4, 0.4]").replace(
        f"{{rate: {[4.5 * x for x in axis]}}}", "{rate: 4.5}"
    )
    hinge = Run(text).to(1.0)
    ball.to(1.0)
    assert len(ball.times()) > 1
    assert ball.times() == pytest.approx(hinge.times(), abs=1e-8)
    turn = np.array(axis) * hinge.simulator.coordinate["hip"]
    assert ball.simulator.coordinate["hip"] == pytest.approx(turn, abs=1e-8)


@pytest.mark.fast
def test_a_conical_pendulum_leans_on_its_cone() -> None:
    """It goes round at W, faster than it would by itself: the cone gives (J + m a^2) W^2 s c - m g a s.

    A body of which J, J, J3 are the moments, hung at its end, that does not turn about its own axis.
    """
    m, arm, J, J3, cone, W = 1.5, 0.4, 0.02, 0.01, 0.5, 9.0
    s, c = math.sin(cone), math.cos(cone)
    # No turn about its own axis: of W along z less W c about the body's axis, W s across is left.
    w = Rotation.from_rotvec([cone, 0, 0]).inv().apply([0, 0, W]) - np.array([0, 0, W * c])
    start = f"{{coordinate: {{axis_angle: {{axis: [1, 0, 0], angle: {cone}}}}}, rate: {w.tolist()}}}"
    run = Run(top(f"cone: {cone}, stop: rigid", start, -G0, inertia=f"[{J}, {J}, {J3}]"))
    expected = (J + m * arm**2) * W**2 * s * c - m * G0 * arm * s
    for t in (0.1, 0.35, 0.7):
        run.to(t)
        run.simulator.flow.observe()
        turn, torque = np.array(run.simulator.coordinate["hip"]), np.array(run.simulator.stop_torque["hip"])
        assert of(run, SWING) == pytest.approx(cone, abs=1e-10)
        assert torque == pytest.approx(-expected * np.array(plain(spatial.swinging)(*turn, 2)), abs=1e-6)
        round_ = Rotation.from_rotvec(turn).apply([0, 0, -1])
        angle = math.atan2(round_[1], round_[0]) - math.pi / 2 - W * t
        assert math.remainder(angle, 2 * math.pi) == pytest.approx(0.0, abs=1e-6)
    assert run.texts()[-1] == "hip rests at its cone" if run.texts() else True
    assert run.balance() < 1e-8


# --- energy, steps, loops ---------------------------------------------------------------------------

WILD = "{rate: [3, -2, 4]}"


@pytest.mark.parametrize("about", "xyz")
def test_soft_cones_and_twists_keep_the_energy(about: str) -> None:
    limits = f"cone: 0.5, twist: [-0.3, 0.4], about: {about}, stiffness: 60, dissipation: 0"
    run = Run(top(limits, WILD, -G0, "[0.1, 0.05, -0.4]"))
    seen = []
    for t in np.arange(0.05, 2.0, 0.05):
        run.to(float(t))
        seen.append((of(run, SWING, "xyz".index(about)), of(run, TWIST, "xyz".index(about))))
    swing, twist = np.array(seen).T
    assert (swing.max() > 0.5 and twist.max() > 0.4) or twist.min() < -0.3
    assert swing.max() < 1.6 and np.abs(twist).max() < 1.6
    assert run.balance() < 1e-7


SOFT = top("cone: 0.5, twist: [-0.3, 0.4], about: x, stiffness: 60, dissipation: 0", WILD, -G0, "[0.1, 0.05, -0.4]")


@pytest.mark.parametrize(
    ("how", "off"),
    [
        ("method: radau, rtol: 1e-9", 1e-7), ("method: rk4, step: 0.5 ms", 1e-7),
        ("method: variational, step: 0.5 ms", 1e-3), ("method: semi_implicit, step: 0.05 ms", 1e-2),
        ("contact: stepping, dt: 0.5 ms", 1e-2),
    ],
)  # fmt: skip
def test_every_method_leans_on_soft_cones_alike(how: str, off: float) -> None:
    exact = Run(SOFT).to(1.0).simulator.coordinate["hip"]
    found = Run(SOFT.replace("rtol: 1e-10", how)).to(1.0).simulator.coordinate["hip"]
    assert found == pytest.approx(np.array(exact), abs=off)


def test_the_oracle_finds_nothing_where_soft_cones_push(tmp_path: Path) -> None:
    scene = load_text(SOFT.replace("simulate: {", "simulate: {duration: 1.5 s, "))
    with sim.run(scene, output=tmp_path / "run.h5") as run:
        assert np.abs(run.array("joints/stop_torque")).max() > 1.0
    verdict = sim.verify(tmp_path / "run.h5", instants=8)
    assert verdict.problems == []
    for instant in verdict.instants:
        assert max(instant.acceleration, instant.constraint, instant.force, instant.drive) < instant.allowed


def test_rigid_cones_and_twists_are_never_passed_and_take_energy_alone() -> None:
    limits = "cone: 0.5, twist: [-0.3, 0.4], stop: rigid, restitution: 0.2"
    run = Run(top(limits, WILD, -G0, "[0.1, 0.05, -0.4]")).to(1.5)
    for row in run.told.rows_:
        r = row["joints/coordinate"][:3]
        assert ball_value(SWING, 2, r) < 0.5 + 1e-8
        assert -0.3 - 1e-8 < ball_value(TWIST, 2, r) < 0.4 + 1e-8
    assert {event.text for event in run.told.events if event.kind == "impact"} >= {"hip at its cone"}
    assert any("twist" in event.text for event in run.told.events)
    assert run.balance() < 1e-7


def test_the_rigid_cone_is_the_limit_of_ever_stiffer_ones() -> None:
    start = "{coordinate: {rpy: [0, 0.4, 0]}, rate: [0.5, 0.1, 0.2]}"
    com = "[0.3, 0, -0.2]"
    rigid = Run(top("cone: 0.4, stop: rigid", start, -G0, com)).to(0.3)
    off = []
    for stiffness in (1e4, 1e5):
        soft = Run(top(f"cone: 0.4, stiffness: {stiffness:g}, dissipation: 5", start, -G0, com)).to(0.3)
        off.append(float(np.abs(soft.simulator.coordinate["hip"] - rigid.simulator.coordinate["hip"]).max()))
    assert off[0] < 5e-3
    assert off[1] / off[0] == pytest.approx(0.1, abs=0.06)


@pytest.mark.parametrize("limits", ["cone: 0.4", "twist: [-0.2, 0.15]"])
def test_time_steps_keep_the_same_law(limits: str) -> None:
    text = top(f"{limits}, stop: rigid", "{rate: [1, 2, 3]}", -G0, "[0.1, 0, -0.3]")
    text = text.replace("rtol: 1e-10", "contact: stepping, dt: 1 ms")
    times = (0.1, 0.2, 0.3)
    exact, errors = coordinates(by_events(text), times), []
    for dt in STEPS:
        simulator = stepped(text, dt)
        errors.append(float(np.abs(coordinates(simulator, times) - exact).max()))
    assert_first_order(errors, 0.2)


def test_a_cone_holds_a_loop_in_both_modes() -> None:
    limits = "{cone: 0.1, about: x, stop: rigid}"
    text = LOOP.replace("child: d, position: [0, 0, 1]}", f"child: d, position: [0, 0, 1], limits: {limits}}}")
    run = Run(text.replace("contact: stepping, dt: 1 ms", "rtol: 1e-10")).to(0.3)
    assert any("da at its cone" in event.text for event in run.told.events)
    for row in run.told.rows_:
        da = run.simulator.model.columns_of(run.simulator.model.joint_names.index("da"))
        assert ball_value(SWING, 0, row["joints/coordinate"][da]) < 0.1 + 1e-8
    assert stepped(text, STEPS[-1]) is not None


# --- linear models, reading -------------------------------------------------------------------------


@pytest.mark.fast
@pytest.mark.parametrize("about", "xz")
def test_linear_models_at_soft_stops_are_derivatives_of_the_engine(about: str) -> None:
    limits = f"cone: 0.2, twist: [-0.1, 0.1], about: {about}, stiffness: 60, dissipation: 0.4"
    simulator = simulator_of(top(limits, "{coordinate: {rpy: [0.3, 0.4, 0.5]}, rate: [1, 2, 3]}", -G0))
    assert int(simulator.flow.control.engaged.sum()) == 2
    model = sim.linearize(simulator)
    assert model.trust["engine"] < 1e-10
    expected = differences(simulator, model)
    assert np.max(np.abs(model.A - expected)) < 1e-6 * np.max(np.abs(expected))


def problems(limits: str, kind: str = "spherical") -> str:
    text = top(limits, "{rate: [0, 0, 0]}")
    if kind != "spherical":
        text = text.replace("type: spherical", f"type: {kind}, axis: [0, 0, 1]").replace("[0, 0, 0]}}\nsim", "0}}\nsim")
    with pytest.raises(sim.SceneError) as found:
        load_text(text)
    return " ".join(problem.what for problem in found.value.problems)


@pytest.mark.fast
def test_what_no_cone_or_twist_is_told() -> None:
    assert "between 0 deg and 180 deg" in problems("cone: 200 deg")
    assert "between 0 deg and 180 deg" in problems("cone: 0 deg")
    assert "a twist is between" in problems("twist: [20 deg, 10 deg]")
    assert "a twist is between" in problems("twist: [-200 deg, 10 deg]")
    assert "key 'range' is missing" in problems("stiffness: 5")
    assert "key 'range' is missing" in problems("about: x")
    assert "a rotational joint has no 'cone'" in problems("cone: 20 deg", "rotational")
    scene = load_text(top("range: [0, 2], cone: 60 deg, twist: [-30 deg, 45 deg], about: y", "{rate: [0, 0, 0]}"))
    limits = scene.joints[0].limits
    assert limits is not None and limits.ranges == ((0.0, 2.0),) and limits.about == 1
    assert limits.cone == pytest.approx(math.pi / 3)
    assert limits.twist == pytest.approx((-math.pi / 6, math.pi / 4))


@pytest.mark.fast
@pytest.mark.parametrize(("plane", "same"), [("x", False), ("y", False), ("z", True)])
def test_the_twin_twists_the_other_way(plane: str, same: bool) -> None:
    text = f"""
schema: 1
name: twins
mirror: {{l: r, plane: {plane}}}
bodies: {{arm_l: {{mass: 1, com: [0.3, 0.3, 0.2], inertia: [1, 1, 1]}}}}
joints: {{hip_l: {{type: spherical, parent: world, child: arm_l, position: [0.1, 0.1, 0.1],
  limits: {{cone: 1, twist: [-0.2, 0.5]}}}}}}
"""
    limits = [joint.limits for joint in load_text(text).joints]
    assert limits[1].twist == ((-0.2, 0.5) if same else (-0.5, 0.2)) and limits[1].cone == 1.0


def test_a_start_beyond_a_cone_is_told() -> None:
    text = top("cone: 20 deg", "{coordinate: {rpy: [30 deg, 0, 0]}}")
    found = [problem.what for problem in sim.check(load_text(text)).problems]
    assert any("beyond the limit" in what for what in found)
    rigid = sim.check(load_text(text.replace("cone: 20 deg", "cone: 20 deg, stop: rigid")))
    assert any(problem.severity == "error" for problem in rigid.problems)
