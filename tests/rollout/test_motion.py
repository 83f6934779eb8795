"""What rollouts find: the motions of the simulator, of closed forms, whatever the threads."""

from __future__ import annotations

import numpy as np
import pytest

import sim
from sim.kernels.jit import interpreted
from sim.kernels.status import Status
from sim.scene.vocabulary import definition
from sim.simulation.ensemble import SCRATCH
from tests.rollout.scenes import EVERYTHING, PENDULUM_ON_A_STOP, WHEEL, model_of

METHODS = {
    "dop853": {"rtol": 1e-8}, "radau": {"rtol": 1e-8}, "auto": {"rtol": 1e-8}, "rk4": {"step": 0.004},
    "semi_implicit": {"step": 0.001}, "variational": {"step": 0.004},
}  # fmt: skip
# A mass that is driven back and forth in a stiff damper: auto takes the implicit method.
LAW = "-1e5 N s/m*rate('rail') + 1e5 N*sin(3*t/(1 s))"
STIFF = WHEEL + f'controllers: {{brake: {{type: torque, torques: {{rail: "{LAW}"}}}}}}\n'


def followed(simulator: sim.Simulator, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return q and v of the simulator's own motion at times."""
    q, v = [simulator.q], [simulator.v]
    for t in times[1:]:
        simulator.advance(float(t))
        q.append(simulator.q)
        v.append(simulator.v)
    return np.array(q), np.array(v)


def states_near(ensemble: sim.Ensemble, count: int, seed: int = 1) -> np.ndarray:
    """Return states with other rates than the start's; loops are closed by the rollout."""
    y = np.tile(ensemble.start, (count, 1))
    y[:, ensemble.nq :] += np.random.default_rng(seed).normal(scale=1.0, size=(count, ensemble.nv))
    return y


@pytest.mark.fast
def test_all_methods_of_scenes_are_followed_here():
    """And rollouts take no others: who adds one says above how it is asked for."""
    assert set(METHODS) == set(definition("simulate")["properties"]["method"]["enum"])
    assert set(METHODS) == set(SCRATCH)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "scene",
    [
        pytest.param("double_pendulum", marks=pytest.mark.fast), "four_bar", EVERYTHING, PENDULUM_ON_A_STOP,
        pytest.param("benchmarks/andrews", marks=pytest.mark.fast),
    ],
)  # fmt: skip
def test_is_the_simulators_own_motion_to_the_bit(scene, method):
    steps = 3 if scene == "benchmarks/andrews" else 40
    dt = 0.001 if scene == "benchmarks/andrews" else 0.02
    model = model_of(scene, method=method, **METHODS[method])
    simulator = sim.Simulator(model)
    start = np.concatenate([simulator.q, simulator.v])
    found = sim.rollout(model, start[None], steps=steps, dt=dt)
    q, v = followed(simulator, found.t)
    assert found.q.shape == (1, steps + 1, len(simulator.q))
    assert found.v.shape == (1, steps + 1, len(simulator.v))
    assert found.t[-1] == steps * dt and found.reached[0] == steps
    assert np.array_equal(found.q[0, 1:], q[1:])
    assert np.array_equal(found.v[0, 1:], v[1:])
    np.testing.assert_allclose(found.q[0, 0], q[0], rtol=0, atol=1e-12)
    assert np.abs(q[-1] - q[0]).max() > 0.01
    assert simulator.flow.counts()["steps"] >= steps


@pytest.mark.fast
def test_constant_torques_on_free_wheels():
    """x = x0 + v0 t + u t^2 / 2 m within each step, of a wheel and of a slide, each state with torques of its own."""
    rng = np.random.default_rng(0)
    ensemble = sim.Ensemble(model_of(WHEEL))
    assert ensemble.columns == ("axle", "rail")
    inertia, dt, steps = np.array([0.3, 4.0]), 0.05, 8
    y, u = rng.normal(size=(5, 4)), rng.normal(size=(5, steps, 2))
    for method, setting in METHODS.items():
        if method == "semi_implicit":  # is no parabola
            continue
        found = ensemble.rollout(y, u, dt=dt, method=method, **setting | ({"step": 0.03} if "step" in setting else {}))
        assert found.ok.all() and found.reached.tolist() == [steps] * 5
        x, v = y[:, None, :2], y[:, None, 2:]
        a = u / inertia
        rates = np.concatenate([v, v + np.cumsum(a, axis=1) * dt], axis=1)
        places = np.concatenate([x, x + np.cumsum(rates[:, :-1] * dt + 0.5 * a * dt**2, axis=1)], axis=1)
        np.testing.assert_allclose(found.v, rates, rtol=0, atol=1e-13)
        turning = 1e-3 if method == "variational" else 1e-13  # the sine of a step's turn is proportional to its rate
        np.testing.assert_allclose(found.q[:, :, 0], places[:, :, 0], rtol=0, atol=turning)
        np.testing.assert_allclose(found.q[:, :, 1], places[:, :, 1], rtol=0, atol=1e-13)


@pytest.mark.parametrize("scene", ["double_pendulum", EVERYTHING])
@pytest.mark.parametrize("method", METHODS)
def test_torques_act_as_a_sampled_controllers_do(method, scene):
    """The same torques held in the simulator, sample by sample; there each change projects the state once more."""
    model = model_of(scene, method=method, **METHODS[method])
    simulator = sim.Simulator(model)
    start = np.concatenate([simulator.q, simulator.v])
    u = np.random.default_rng(3).normal(scale=2.0, size=(1, 30, len(model.columns)))
    u[0, 10:12] = 0.0
    found = sim.rollout(model, start, u, dt=0.02)
    alone = sim.rollout(model, start, steps=30, dt=0.02)
    for k in range(30):
        if not np.array_equal(simulator.flow.control.held, u[0, k]):
            simulator.flow.control.held[:] = u[0, k]
            simulator.flow.restart()
        simulator.advance(float(found.t[k + 1]))
        np.testing.assert_allclose(found.q[0, k + 1], simulator.q, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.v[0, k + 1], simulator.v, rtol=0, atol=1e-11)
    assert np.abs(found.q - alone.q).max() > 0.05


def test_the_same_bits_by_any_threads_in_any_order(monkeypatch):
    model = model_of(EVERYTHING)
    first = sim.Ensemble(model, threads=1)
    y = states_near(first, 41)
    u = np.random.default_rng(2).normal(size=(41, 25, len(first.columns)))
    expected = first.rollout(y, u, dt=0.02)
    assert expected.ok.all()
    touched = np.abs(expected.q[:, :, 4]).max(axis=1) > 0.2  # coordinate of the elbow, behind the ball joint's
    assert touched.sum() > 5
    order = np.random.default_rng(4).permutation(41)
    for threads, shares in ((1, 1), (2, 32), (3, 1), (7, 2)):  # few shares: many states follow each other
        monkeypatch.setattr("sim.simulation.ensemble.SHARES", shares)
        ensemble = sim.Ensemble(model, threads=threads)
        for _ in range(2):  # the second time in memory that has been used
            for chosen in (np.arange(41), order, order[:3]):
                found = ensemble.rollout(y[chosen], u[chosen], dt=0.02)
                assert np.array_equal(found.q, expected.q[chosen])
                assert np.array_equal(found.v, expected.v[chosen])


@pytest.mark.parametrize(
    ("method", "scene"), [*((method, EVERYTHING) for method in METHODS), ("radau", STIFF), ("auto", STIFF)]
)
def test_the_same_bits_by_any_method(method, scene):
    """By one thread and by three, alone and behind others."""
    model = model_of(scene, method=method, **METHODS[method])
    one, many = sim.Ensemble(model, threads=1), sim.Ensemble(model, threads=3)
    y = states_near(one, 7)
    u = np.random.default_rng(2).normal(size=(7, 5, len(one.columns)))
    expected = one.rollout(y, u, dt=0.02)
    for chosen in ([0, 1, 2, 3, 4, 5, 6], [6, 2, 5], [3]):
        found = many.rollout(y[chosen], u[chosen], dt=0.02)
        assert found.ok.all()
        assert np.array_equal(found.q, expected.q[chosen]) and np.array_equal(found.v, expected.v[chosen])


def test_each_motion_takes_the_implicit_method_where_it_is_stiff():
    """By the closed form of x'' = (c / m) (sin(w t) - x'), its steps to the bit those of a run that changes, too."""
    model = model_of(STIFF, method="auto", rtol=1e-9)
    simulator = sim.Simulator(model)
    found = sim.rollout(model, [np.zeros(4), [0.0, 0.1, 3.0, 0.2]], steps=12, dt=0.25, threads=1)
    q, v = followed(simulator, found.t)
    assert [turn.method for turn in simulator.flow.turns][:2] == ["dop853", "radau"]
    assert np.array_equal(found.q[0, 1:], q[1:]) and np.array_equal(found.v[0, 1:], v[1:])
    a, w, t = 1e5 / 4.0, 3.0, found.t
    own = a * w / (a**2 + w**2)  # of exp(-a t) in x', for a start at rest
    for k, (x0, v0) in enumerate(((0.0, 0.0), (0.1, 0.2))):
        rate = (a**2 * np.sin(w * t) - a * w * np.cos(w * t)) / (a**2 + w**2) + (own + v0) * np.exp(-a * t)
        place = (a**2 * (1.0 - np.cos(w * t)) / w - a * np.sin(w * t)) / (a**2 + w**2)
        place += x0 + (own + v0) * (1.0 - np.exp(-a * t)) / a
        np.testing.assert_allclose(found.v[k, :, 1], rate, rtol=0, atol=1e-7)
        np.testing.assert_allclose(found.q[k, :, 1], place, rtol=0, atol=1e-7)
    np.testing.assert_allclose(found.q[1, :, 0], 3.0 * t, rtol=0, atol=1e-9)


def test_other_settings_leave_nothing_behind():
    ensemble = sim.Ensemble(model_of(EVERYTHING), threads=2)
    y = states_near(ensemble, 6)
    before = ensemble.rollout(y, steps=10, dt=0.02)
    for method in METHODS:
        ensemble.rollout(y, steps=2, dt=0.02, method=method)
    ensemble.rollout(y, np.ones((6, 3, len(ensemble.columns))), dt=0.5, start=7.0, method="rk4", step=0.01)
    after = ensemble.rollout(y, steps=10, dt=0.02)
    assert np.array_equal(before.q, after.q)


def test_loops_stay_closed():
    ensemble = sim.Ensemble(model_of(EVERYTHING))
    found = ensemble.rollout(states_near(ensemble, 8), steps=40, dt=0.02)
    assert found.ok.all()
    mechanism = sim.Simulator(ensemble.model).flow.mechanism
    gaps = []
    for q, v in zip(found.q.reshape(-1, ensemble.nq), found.v.reshape(-1, ensemble.nv), strict=True):
        mechanism.update(q, v)
        J = mechanism.jacobian()
        gaps.append((np.abs(mechanism.work.rows.phi).max(), np.abs(J @ v).max()))
    assert np.max(gaps, axis=0)[0] < 1e-12
    assert np.max(gaps, axis=0)[1] < 1e-11


@pytest.mark.fast
def test_stops_act_as_closed_forms_say():
    """A slide of 4 kg on stops of 400 N/m: half a sine while it presses one, straight on else; two begin pressed."""
    limits = "limits: {range: [-0.5, 0.5], stiffness: 400 N/m, dissipation: 0}"
    text = WHEEL.replace("axis: [1, 0, 0]}", f"axis: [1, 0, 0], {limits}}}")
    found = sim.rollout(
        model_of(text, rtol=1e-12), [[0, 0, 0, 2.0], [0, 0.6, 0, 0], [0, -0.52, 0, 0]], steps=60, dt=0.01
    )
    t, x, w = found.t, found.q[:, :, 1], 10.0
    touched, left = 0.25, 0.25 + np.pi / w
    pressed = (t > touched) & (t < left)
    expected = np.where(
        pressed, 0.5 + 2.0 / w * np.sin(w * (t - touched)), np.where(t <= touched, 2.0 * t, 0.5 - 2.0 * (t - left))
    )
    assert pressed.sum() > 20 and (t > left).sum() > 2
    np.testing.assert_allclose(x[0], expected, rtol=0, atol=1e-10)
    leaves = 0.5 * np.pi / w
    for one, depth, side in ((x[1], 0.1, 1.0), (x[2], 0.02, -1.0)):
        gap = np.where(t < leaves, depth * np.cos(w * t), -depth * w * (t - leaves))
        np.testing.assert_allclose(side * one - 0.5, gap, rtol=0, atol=1e-10)


def test_springs_do_what_closed_forms_say():
    """A torsion spring on the axle: x = x0 cos wt."""
    text = WHEEL.replace("axis: [0, 0, 1]}", "axis: [0, 0, 1], stiffness: 7.5 N m/rad}")
    found = sim.rollout(model_of(text, rtol=1e-11), [[0.3, 0, 0, 0], [1.0, 0, 0, 0]], steps=50, dt=0.04)
    np.testing.assert_allclose(found.q[:, :, 0], np.outer([0.3, 1.0], np.cos(5.0 * found.t)), rtol=0, atol=1e-9)


def test_compiled_controllers_and_formulas_act():
    """A pd controller makes an oscillator, a formula knows the time at which a rollout starts."""
    text = (
        WHEEL + "controllers:\n  hold: {type: pd, joints: axle, kp: 4.8, kd: 0}\n"
        '  push: {type: torque, torques: {rail: "4 N/s * t"}}\n'
    )
    ensemble = sim.Ensemble(model_of(text, rtol=1e-11), threads=2)
    found = ensemble.rollout([[0.5, 0, 0, 0]] * 4, steps=20, dt=0.05, start=1.0)
    s = found.t - 1.0
    np.testing.assert_allclose(found.q[:, :, 0], np.tile(0.5 * np.cos(4.0 * s), (4, 1)), rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.v[:, :, 1], np.tile(s + s**2 / 2, (4, 1)), rtol=0, atol=1e-10)


@pytest.mark.fast
def test_a_state_that_fails_leaves_the_others():
    model = model_of("four_bar")
    ensemble = sim.Ensemble(model, threads=1 if interpreted() else 2)  # of which numpy's settings below are one's own
    y = np.tile(ensemble.start, (5, 1))
    y[1, 0] = np.nan  # no state
    y[2, :3] = [0.0, np.pi, np.pi]  # cannot be closed from here
    u = np.zeros((5, 10, len(ensemble.columns)))
    u[3, 6] = np.inf
    with np.errstate(invalid="ignore"):  # interpreted, kernels are numpy's arithmetic
        found = ensemble.rollout(y, u, dt=0.02)
    assert found.status.tolist() == [Status.OK, Status.NOT_FINITE, Status.NO_CLOSURE, found.status[3], Status.OK]
    assert found.status[3] != Status.OK
    assert found.reached.tolist() == [10, -1, -1, 6, 10]
    assert found.ok.tolist() == [True, False, False, False, True]
    for array in (found.q, found.v):
        assert np.isfinite(array[[0, 4]]).all() and np.isfinite(array[3, :7]).all()
        assert np.isnan(array[[1, 2]]).all() and np.isnan(array[3, 7:]).all()
    assert np.array_equal(found.q[3, :7], found.q[0, :7])
    assert found.reason(0) == ""
    assert found.reason(1) == "state 1 cannot begin: a number of the state is no longer finite"
    assert found.reason(2) == "state 2 cannot begin: a loop cannot be closed"
    assert found.reason(3).startswith("state 3 cannot go on after t = 0.12 s: ")
