"""What rollouts take, and the sentences about what they refuse."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import sim
from sim.scene.load import load_text
from sim.simulation.ensemble import _names
from tests.rollout.scenes import PENDULUM_ON_A_STOP, WHEEL, model_of

pytestmark = pytest.mark.fast
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel():
    return sim.Ensemble(model_of(WHEEL), threads=1)


WRONG = {
    "states have shape (3, 5); expected (n, 4) or (4,): 2 coordinates and 2 rates": (np.zeros((3, 5)), None, 2, {}),
    "states have shape (); expected (n, 4) or (4,)": (1.0, None, 2, {}),
    "states: numbers are expected, found str": ("here", None, 2, {}),
    "states.q and states.v have shapes (3, 2) and (2, 2); expected (n, 2) and (n, 2)": (
        SimpleNamespace(q=np.zeros((3, 2)), v=np.zeros((2, 2))), None, 2, {},
    ),
    "controls have shape (3, 5, 1); expected (states, steps, 2): a torque for each of axle, rail": (
        np.zeros((3, 4)), np.zeros((3, 5, 1)), None, {},
    ),
    "controls have shape (3, 2); expected (states, steps, 2)": (np.zeros((3, 4)), np.zeros((3, 2)), None, {}),
    "controls have shape (2, 5, 2); expected (states, steps, columns) = (3, 5, 2)": (
        np.zeros((3, 4)), np.zeros((2, 5, 2)), None, {},
    ),
    "controls have shape (3, 5, 2); expected (states, steps, columns) = (3, 6, 2)": (
        np.zeros((3, 4)), np.zeros((3, 5, 2)), 6, {},
    ),
    "steps: say how many": (np.zeros((3, 4)), None, None, {}),
    "steps: found 2.5; expected a whole number of at least 0": (np.zeros((3, 4)), None, 2.5, {}),
    "steps: found -1; expected": (np.zeros((3, 4)), None, -1, {}),
    "dt: found 0; expected more than zero": (np.zeros((3, 4)), None, 2, {"dt": 0}),
    "rtol: found nan; expected a finite number": (np.zeros((3, 4)), None, 2, {"rtol": np.nan}),
    "step: found -1; expected more than zero": (np.zeros((3, 4)), None, 2, {"step": -1}),
    "start: found inf; expected a finite number": (np.zeros((3, 4)), None, 2, {"start": np.inf}),
    "method: found 'euler'; expected one of dop853, radau, auto, rk4, semi_implicit, variational": (
        np.zeros((3, 4)), None, 2, {"method": "euler"},
    ),
    "method: time steps are asked for by contact='stepping'; expected one of dop853, radau, auto, rk4": (
        np.zeros((3, 4)), None, 2, {"method": "stepping"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("sentence", WRONG)
def test_sentences_about_arguments(wheel, sentence):
    states, controls, steps, settings = WRONG[sentence]
    with pytest.raises(ValueError) as caught:
        wheel.rollout(states, controls, steps, **settings)
    assert str(caught.value).startswith(sentence)


def test_threads_are_counted():
    with pytest.raises(ValueError, match="threads: found 0; expected a whole number of at least 1"):
        sim.rollout(model_of(WHEEL), np.zeros(4), steps=1, threads=0)
    assert sim.Ensemble(model_of(WHEEL)).threads >= 1


def test_forms_of_states(wheel):
    y = np.random.default_rng(0).normal(size=(3, 4))
    expected = wheel.rollout(y, steps=4, dt=0.1)
    parts = wheel.rollout(SimpleNamespace(q=y[:, :2].tolist(), v=y[:, 2:]), steps=4, dt=0.1)
    assert np.array_equal(parts.q, expected.q)
    assert np.array_equal(wheel.rollout(np.asfortranarray(y), steps=4, dt=0.1).q, expected.q)
    one = wheel.rollout(y[1], steps=4, dt=0.1)
    assert np.array_equal(one.q, expected.q[1:2])
    u = np.random.default_rng(0).normal(size=(5, 4, 2))
    spread = wheel.rollout(y[1], u, dt=0.1)
    assert np.array_equal(spread.v, wheel.rollout(np.tile(y[1], (5, 1)), u, dt=0.1).v)
    none = wheel.rollout(np.zeros((0, 4)), steps=3)
    assert none.q.shape == (0, 4, 2) and none.t.tolist() == [0.0, 1 / 120, 2 / 120, 3 / 120]
    still = wheel.rollout(y, steps=0)
    assert np.array_equal(still.q[:, 0], y[:, :2]) and still.ok.all()


def test_settings_of_the_scene_hold():
    """Without keywords the scene's method, step and rate of recording."""
    text = PENDULUM_ON_A_STOP.replace("duration: 1 s", "duration: 1 s, method: rk4, step: 0.05 s, record: 5 Hz")
    model = model_of(text)
    own = sim.rollout(model, [[-0.2, 0.0]], steps=5)
    said = sim.rollout(model, [[-0.2, 0.0]], steps=5, dt=0.2, method="rk4", step=0.05)
    exact = sim.rollout(model, [[-0.2, 0.0]], steps=5, dt=0.2, method="dop853", rtol=1e-11)
    assert np.array_equal(own.t, 0.2 * np.arange(6)) and np.array_equal(own.q, said.q)
    assert 1e-9 < np.abs(own.q - exact.q).max() < 1e-3


def test_variational_steps_of_constraints_are_refused():
    """As scenes that ask for them are."""
    ensemble = sim.Ensemble(model_of("chaplygin_sleigh"), threads=1)
    with pytest.raises(ValueError, match=r"variational method know no constraints \(blade\); take dop853"):
        ensemble.rollout(ensemble.start, steps=1, method="variational")
    assert ensemble.rollout(ensemble.start, steps=1, method="rk4").ok.all()


def test_the_readmes_example():
    (text,) = (t for t in re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S) if "rollout" in t)
    names = {"sim": sim}
    exec(text.replace("scenes/", f"{ROOT}/scenes/").replace("1000", "10"), names)
    assert names["motion"].q.shape == (10, 51, 2) and names["motion"].ok.all()


EVENT = PENDULUM_ON_A_STOP + "events: {now: {at: 0.5 s, cut: hinge}}\n"


def test_events_are_refused():
    with pytest.raises(sim.SceneError) as caught:
        sim.rollout(model_of(EVENT), [[0.0, 0.0]], steps=1)
    (problem,) = caught.value.problems
    assert problem.path == "events.now" and "knows no events" in problem.what
    assert problem.where is not None and problem.where.line == 9
    scene = replace(load_text(EVENT), events=())  # as the hint says
    assert sim.rollout(sim.compile(scene), [[0.0, 0.0]], steps=1).ok.all()


CONTROLLER = """
import sim

class Slow(sim.Controller):
    def torque(self, t, state, torque):
        torque[0] += 1.0

class Sampled(sim.Controller):
    rate = 10.0
    def sample(self, t, state, torque, memory):
        torque[0] = 1.0
"""


@pytest.mark.parametrize("name", ["Slow", "Sampled"])
def test_plain_python_controllers_are_refused(tmp_path, name):
    (tmp_path / "mine.py").write_text(CONTROLLER)
    file = tmp_path / "scene.yaml"
    file.write_text(PENDULUM_ON_A_STOP + f"controllers: {{slow: {{type: ./mine.py:{name}}}}}\n")
    model = sim.compile(sim.load(file, trust=True))
    with pytest.raises(sim.SceneError, match="without the interpreter, and this controller is plain Python") as caught:
        sim.rollout(model, [[0.0, 0.0]], steps=1)
    assert caught.value.problems[0].path == "controllers.slow"


def test_torques_of_absent_joints_are_refused():
    text = PENDULUM_ON_A_STOP.replace(
        "joints: {hinge",
        "joints: {tie: {type: fixed, parent: world, child: rod, position: [0, 0, 0], connected: false}, "
        "slot: {type: rotational, parent: world, child: rod, position: [0, 0, 0], axis: [0, 1, 0], connected: false}, "
        "hinge",
    )
    ensemble = sim.Ensemble(model_of(text), threads=1)
    assert ensemble.columns == ("slot", "hinge")
    u = np.zeros((1, 2, 2))
    u[0, 1, 1] = 1.0
    assert ensemble.rollout([0.0, 0.0], u).ok.all()
    u[0, 1, 0] = 1.0
    with pytest.raises(ValueError, match="joints that are not connected have to be zero: slot"):
        ensemble.rollout([0.0, 0.0], u)


REFUSED = """
schema: 1
name: refused
world: {shapes: [{plane: {}}]}
bodies: {a: {mass: 1, com: [0, 0, 1], inertia: [1, 1, 1], shapes: [{sphere: {center: [0, 0, 1], radius: 0.1}}]}}
joints:
  pin: {type: rotational, parent: world, child: a, position: [0, 0, 2], axis: [0, 1, 0]MORE}
"""
STRUCTURE = "a rollout follows one structure, so it knows no"


@pytest.mark.parametrize(
    ("more", "rest", "path", "what", "hint"),
    [
        (
            "", "events: {now: {at: 0.1 s, cut: pin}}", "events.now", f"{STRUCTURE} events",
            "leave them out: sim.compile(dataclasses.replace(scene, events=()))",
        ),
    ],
)  # fmt: skip
def test_what_a_rollout_cannot_follow_is_refused_with_what_to_do(more, rest, path, what, hint):
    scene = load_text(REFUSED.replace("MORE", more) + rest)
    with pytest.raises(sim.SceneError) as caught:
        sim.Ensemble(sim.compile(scene), threads=1)
    assert [(p.path, p.what, p.hint) for p in caught.value.problems] == [(path, what, hint)]
    assert caught.value.problems[0].where is not None


def test_stops_friction_contacts_and_what_acts_smoothly_are_followed():
    for more in (", limits: {range: [-1, 1], stop: rigid}", ", friction: 0.5"):
        sim.Ensemble(sim.compile(load_text(REFUSED.replace("MORE", more) + "contacts: {all: {between: [a, world]}}")))
    more = ", limits: [-1, 1], damping: 0.1, stiffness: 2"
    assert sim.Ensemble(sim.compile(load_text(REFUSED.replace("MORE", more))), threads=1).columns == ("pin",)


def test_up_to_six_names_are_told_whole() -> None:
    assert _names(list("abcdef")) == "a, b, c, d, e, f"
    assert _names(list("abcdefg")) == "a, b, c, d, e, f ... (7)"
