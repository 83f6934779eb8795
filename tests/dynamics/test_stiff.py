"""The implicit method against closed forms, published numbers and the explicit one; and how a method is chosen."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ellipkinc

import sim
from sim.kernels import lu
from sim.kernels.integrators import integrate, newton, radau
from sim.kernels.status import Status
from sim.kernels.system import PROJECT, RADAU, SETTLE, START
from sim.scene import library
from sim.scene.load import load_text
from tests.kernels.plain import plain

ROOT = Path(__file__).parents[2]


def simulator(scene: str | sim.scene.spec.Scene, method: str = "radau", rtol: float | None = None, **set: float):
    found = scene if not isinstance(scene, str) else sim.load(library.find(scene), set=set)
    rtol = found.simulate.rtol if rtol is None else rtol
    return sim.Simulator(sim.compile(replace(found, simulate=replace(found.simulate, method=method, rtol=rtol))))


# A mass of 1 kg on a rail, with a spring and a damper to the world: x'' = -k (x - 1) - c x'.
RAIL = """
schema: 1
name: rail
world: {{gravity: [0, 0, 0]}}
bodies: {{cart: {{mass: 1, com: [0, 0, 0], inertia: [1, 1, 1]}}}}
joints:
  rail: {{type: translational, parent: world, child: cart, position: [0, 0, 0], axis: [1, 0, 0]{extra}}}
initial: {{rail: {{coordinate: {x}, rate: {v}}}}}
{more}
simulate: {{duration: 2 s, record: 20 Hz}}
"""


def test_transformation_belongs_to_the_collocation_matrix():
    """A of the method follows from its nodes alone, the zeros of the Radau polynomial and 1."""
    c = np.array([radau.C1, radau.C2, 1.0])
    assert 10 * c[:2] ** 2 - 8 * c[:2] + 1 == pytest.approx([0, 0], abs=1e-14)
    powers = np.arange(3)
    A = (c[:, None] ** (powers + 1) / (powers + 1)) @ np.linalg.inv(c[:, None] ** powers)
    middle = np.array([[radau.GAMMA, 0, 0], [0, radau.ALPHA, -radau.BETA], [0, radau.BETA, radau.ALPHA]])
    T, T_inverse = np.array(radau.T), np.array(radau.T_INVERSE)
    np.testing.assert_allclose(T @ middle @ T_inverse @ A, np.eye(3), atol=1e-13)
    np.testing.assert_allclose(T @ T_inverse, np.eye(3), atol=1e-14)


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.fast
def test_factors_solve(dtype):
    rng = np.random.default_rng(3)
    a = rng.standard_normal((12, 12)) + (1j * rng.standard_normal((12, 12)) if dtype is complex else 0.0)
    a[0, 0] = 0.0  # asks for a pivot
    x = rng.standard_normal(12).astype(dtype)
    factors, order, found = a.copy(), np.zeros(12, np.int64), a @ x
    assert plain(lu.factorise_lu)(factors, order)
    plain(lu.solve_lu)(factors, order, found)
    np.testing.assert_allclose(found, x, rtol=1e-11)
    assert not plain(lu.factorise_lu)(np.ones((3, 3), dtype), np.zeros(3, np.int64))


def test_inverse_of_a_turning():
    s, w = 2.0 + 3.0j, np.array([0.4, -1.0, 0.7])
    P = np.array(plain(newton.inverse_turning)(s, *w)).reshape(3, 3)
    np.testing.assert_allclose(P @ (s * np.eye(3) + np.cross(w, np.eye(3)).T), np.eye(3), atol=1e-14)


def steps(s: sim.Simulator, h: float, count: int) -> np.ndarray:
    """Take steps of one length by hand, without any control; return the state."""
    flow = s.flow
    flow.advance(1e-9, 1)
    s.reset()
    flow = s.flow
    flow._use(3)
    y, k, slope = flow.stepper.y, flow.stepper.k, flow.stepper.k[0]
    for n in range(count):
        flow.ask(PROJECT if n else START, y, flow.stepper.error)
        flow.ask(SETTLE, y, slope)
        flow.stepper.clock[0] = n * h
        asks = flow.work.reply
        asks.h, asks.follows, asks.rtol = h, 1 if n else -1, 1e-11
        assert flow.ask(RADAU, y, flow.stepper.rows) == Status.OK
        y += k[3]
    return y.copy()


@pytest.mark.parametrize(
    ("scene", "counts"), [("double_pendulum", (16, 24, 32, 48)), ("benchmarks/box", (12, 16, 24, 32))]
)
def test_order_is_five(scene, counts):
    """The second has a quaternion: its stages are solved in the axes of its freedoms."""
    s, span = simulator(scene), 0.4
    exact = simulator(scene, "dop853", 1e-13)
    exact.advance(span)
    errors = [np.linalg.norm((steps(s, span / n, n) - exact.flow.stepper.y)[:-2]) for n in counts]
    slope = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert 4.8 < slope < 5.3
    assert errors[-1] > 1e-11  # above roundoff


@pytest.mark.fast
def test_between_steps_the_error_is_of_order_five():
    """The collocation polynomial alone would leave an error of order four in the middle of a step."""
    lengths, errors = np.array([0.032, 0.023, 0.016, 0.011]), []
    for h in lengths:
        s = simulator("benchmarks/box")
        steps(s, h, 1)
        stepper = s.flow.stepper
        s.reset()
        y, found = s.flow.stepper.y.copy(), np.zeros(len(stepper.y))
        plain(integrate.radau_dense)(y, stepper.y, stepper.k, stepper.dense)
        plain(integrate.interpolate)(y, stepper.dense, 0.5, found)
        exact = simulator("benchmarks/box", "dop853", 1e-13)
        exact.advance(0.5 * h)
        errors.append(np.linalg.norm((found - exact.flow.stepper.y)[:-2]))
    assert np.polyfit(np.log(lengths), np.log(errors), 1)[0] > 4.7


@pytest.mark.fast
def test_stiff_linear_motion_is_that_of_the_formula():
    """Rates 1e6 and 1 per second, apart by the closed form; explicit steps would be a million times the slow one."""
    k, c = 1e6, 1e6 + 1.0  # roots -1 and -1e6
    text = RAIL.format(x=0.5, v=0.0, extra=f", stiffness: {k}, damping: {c}, rest: 0", more="")
    s = simulator(load_text(text), rtol=1e-9)
    s.advance(2.0)
    slow, fast = -1.0, -1e6
    a = 0.5 * fast / (fast - slow)
    exact = a * np.exp(slow * 2.0) + (0.5 - a) * np.exp(fast * 2.0)
    assert s.coordinate["rail"] == pytest.approx(exact, abs=3e-9)
    assert s.flow.counts()["steps"] < 200
    assert abs(s.energy["balance"]) < 1e-5 * 1.25e5  # J: what the spring holds at first


def test_van_der_pol():
    """x'' = ((1 - x^2) x' - x) / 1e-6 from (2, 0): x(2), x'(2) as the test set for IVP solvers publishes them."""
    law = (
        "controllers: {law: {type: torque, torques: "
        "{rail: \"1e6 N s/m*(1 - (coordinate('rail')/(1 m))^2)*rate('rail') - 1e6 N/m*coordinate('rail')\"}}}"
    )
    s = simulator(load_text(RAIL.format(x=2.0, v=0.0, extra="", more=law)), "auto", rtol=1e-8)
    s.advance(2.0)
    assert s.coordinate["rail"] == pytest.approx(1.706167732170483, abs=2e-7)
    assert s.rate["rail"] == pytest.approx(-0.8928097010247975, abs=2e-7)
    assert s.flow.counts()["steps"] < 3000


@pytest.mark.benchmark
@pytest.mark.parametrize(("rtol", "allowed"), [(1e-8, 2e-8), (1e-10, 1e-9)])
def test_governor(rtol, allowed):
    s = simulator("benchmarks/governor", rtol=rtol)
    s.advance(10.0)
    assert s.coordinate["slide"] + 0.5 == pytest.approx(0.619622917, abs=allowed)
    assert s.flow.counts()["steps"] < 2000  # the explicit method takes 8300


PENDULUM = """
schema: 1
name: falling
world: {gravity: [0, -9.81, 0]}
bodies: {mass: {mass: 1 kg, com: [1, 0, 0], inertia: [0, 0, 0]}}
joints: {pivot: {type: rotational, parent: world, child: mass, position: [0, 0, 0], axis: [0, 0, 1]}}
events: {there: {when: "coordinate('pivot') < -1", stop: true}}
simulate: {duration: 3 s, record: 20 Hz}
"""


def test_events_are_located_to_1e_10():
    """Released level, the pendulum has turned by 1 rad after (K(1/2) - F(phi, 1/2)) / sqrt(g / L)."""
    phi = np.arcsin(np.sin((np.pi / 2 - 1) / 2) / np.sin(np.pi / 4))
    exact = (ellipkinc(np.pi / 2, 0.5) - ellipkinc(phi, 0.5)) / np.sqrt(9.81)
    s = simulator(load_text(PENDULUM), rtol=1e-11)
    s.advance(3.0)
    assert s.t == pytest.approx(exact, abs=1e-10)


def test_samples_are_as_good_as_steps():
    """The interpolant of order four between steps: samples hold the conserved energy about as well."""
    scene = load_text(PENDULUM.replace("events: {there: {when: \"coordinate('pivot') < -1\", stop: true}}\n", ""))
    scene = replace(scene, simulate=replace(scene.simulate, method="radau", record=300.0))
    with sim.run(scene) as recording:
        x, v = recording.coordinate["pivot"], recording.rate["pivot"]
        assert np.abs(0.5 * v**2 + 9.81 * np.sin(x)).max() < 3e-6


def test_loops_stay_closed():
    scene = sim.load(library.find("four_bar"))
    with sim.run(replace(scene, simulate=replace(scene.simulate, method="radau", duration=3.0))) as recording:
        assert recording.summary["largest_residual"] < 1e-10
        assert recording.summary["energy_balance"] < 1e-6 * recording.summary["peak_kinetic_energy"]
        assert recording.summary["methods"] == [
            f"radau from 0 to 3 s, {recording.run['steps']} steps: the scene says so"
        ]


def test_a_tear_comes_when_explicit_steps_find_it():
    scene = sim.load(library.find("swing"))
    times = {}
    for method in ("radau", "dop853"):
        with sim.run(replace(scene, simulate=replace(scene.simulate, method=method, duration=6.0))) as recording:
            times[method] = {e.name: e.time for e in recording.events if e.kind == "scene"}
    assert len(times["radau"]) >= 2
    assert times["radau"].keys() == times["dop853"].keys()
    for name, time in times["dop853"].items():
        assert times["radau"][name] == pytest.approx(time, abs=1e-5)


def test_auto_takes_the_implicit_method_where_it_is_stiff_and_says_why():
    s = simulator("benchmarks/governor", "auto")
    s.advance(1.0)
    first, second = s.flow.turns
    assert (first.method, second.method) == ("dop853", "radau")
    assert second.t < 0.1
    # the coupler's damper on rod and slider: 4e4 N s/m on some kilograms
    assert 3e3 < s.flow.stepper.clock[12] < 1e5
    assert "stiff: stability holds the steps of dop853" in s.flow.methods()[1]


def test_auto_leaves_motion_that_is_not_stiff_alone():
    """And takes the very same steps as the explicit method."""
    found = {}
    for method in ("auto", "dop853"):
        s = simulator("double_pendulum", method)
        s.advance(5.0)
        found[method] = (s.flow.q.tobytes(), s.flow.counts())
        assert [turn.method for turn in s.flow.turns] == ["dop853"]
    assert found["auto"] == found["dop853"]


@pytest.mark.fast
def test_auto_returns_when_the_damper_lets_go():
    text = RAIL.format(
        x=0.5, v=0.0, extra=", stiffness: 40, rest: 0",
        more="controllers: {brake: {type: torque, torques: {rail: \"-1e5 N s/m*rate('rail')\"}}}\n"
        "events: {let go: {at: 1 s, disable: brake}}",
    )  # fmt: skip
    s = simulator(load_text(text), "auto")
    s.advance(9.0)
    assert [turn.method for turn in s.flow.turns][:3] == ["dop853", "radau", "dop853"]
    assert s.flow.turns[2].t > 1.0
    assert "no longer stiff" in s.flow.methods()[2]


def test_the_same_run_takes_the_same_turns():
    runs = []
    for calls in (1, 7):
        s = simulator("rope_pullup", "auto")
        s.reset()
        for n in range(calls):
            s.flow.advance(2.0, 3 * n + 1)
        s.advance(2.0)
        runs.append(([str(turn) for turn in s.flow.turns], s.flow.q.tobytes()))
    assert runs[0] == runs[1]


def test_interpreted_kernels_take_the_same_steps():
    """Without compiling, in another process."""
    code = (
        "import sim; from dataclasses import replace; from sim.scene import library;"
        "scene = sim.load(library.find('benchmarks/governor'));"
        "s = sim.Simulator(sim.compile(replace(scene, simulate=replace(scene.simulate, method='radau'))));"
        "s.advance(0.05); print(repr(float(s.coordinate['slide'])), s.flow.counts()['steps'])"
    )
    environment = dict(os.environ, NUMBA_DISABLE_JIT="1")
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT, env=environment
    ).stdout.split()
    s = simulator("benchmarks/governor")
    s.advance(0.05)
    assert float(told[0]) == pytest.approx(s.coordinate["slide"], abs=1e-10)
    assert int(told[1]) == s.flow.counts()["steps"]


def test_driven_joints_are_followed_by_the_implicit_method() -> None:
    """A driven slider-crank, its rows moving with time: the same motion and the same work as by dop853."""
    ends = []
    for method in ("radau", "dop853"):
        run = simulator("slider_crank", method, 1e-9)
        run.advance(0.7)
        run.flow.observe()
        assert np.abs(run.flow.work.rows.phi).max() < 1e-10
        ends.append((run.flow.q.copy(), run.flow.v.copy(), run.flow.energies()["input"]))
    assert np.abs(ends[0][0]).max() > 0.1
    np.testing.assert_allclose(ends[0][0], ends[1][0], rtol=0, atol=1e-8)
    np.testing.assert_allclose(ends[0][1], ends[1][1], rtol=0, atol=1e-7)
    assert ends[0][2] == pytest.approx(ends[1][2], abs=1e-6)
