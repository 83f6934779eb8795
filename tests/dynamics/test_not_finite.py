"""What gives no finite number is named, with its place and the time; what runs away by itself is not blamed on it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import sim
from sim.kernels.stepper import H
from sim.scene.load import load_text
from sim.scene.spec import Scene

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of numpy, where kernels are interpreted

HEAD = """
schema: 1
name: ends
world: {gravity: [0, 0, -9.81], shapes: [{plane: {center: [0, 0, -5]}}]}
bodies:
  rod: {mass: 2, com: [0, 0, -0.5], inertia: [0.2, 0.2, 0.01]}
  ball: {mass: 1, com: [3, 0, 1], inertia: [0.1, 0.1, 0.1], shapes: [{sphere: {center: [3, 0, 1], radius: 0.1}}]}
joints: {pin: {type: rotational, parent: world, child: rod, position: [0, 0, 0], axis: [0, 1, 0], MOTION}}
initial: {ball: {velocity: [0, 0, 1]}START}
"""
ROOT = "sqrt(0.05 - t/1 s)"
# What stands where, and how it is named: after 0.05 s none has a value.
PUSH, JET = 'controllers: {push: {type: torque, torques: {pin: "%s"}}}', "forces: {jet: {type: wrench, body: ball, %s}}"
SOURCES = {
    "formula": (PUSH % "1 N*m*VALUE", "controller 'push' gives nan to joint 'pin': "),
    "wrench": (JET % 'force: [0, 0, "1 N*VALUE"]', "wrench 'jet' has nan for z of its force: "),
    "vector": (JET % 'torque: "VALUE*1 N*m*[1, 0, 0]"', "wrench 'jet' has nan for x of its torque: "),
    "state": (
        PUSH % "1 N*m + 0 N*m*sqrt(0.01 - t/1 s - abs(coordinate('pin')))",
        "controller 'push' gives nan to joint 'pin': ",
    ),
}
METHODS = ["dop853", "radau", "auto", "rk4", "semi_implicit", "variational", "stepping"]


def scene(rest: str, method: str = "dop853", motion: str = "", duration: float = 0.2, start: str = "") -> Scene:
    how = f"method: {method}" if method != "stepping" else "contact: stepping"
    text = HEAD.replace(", MOTION", f', motion: "{motion}"' if motion else "").replace("START", start) + rest + "\n"
    if method == "stepping":
        text += "contacts: {floor: {between: [ball, world]}}\n"
    return load_text(text + f"simulate: {{duration: {duration}, {how}, step: 2 ms}}\n", "ends.yaml", trust=True)


def why(scene: Scene, until: float = 0.2) -> str:
    simulator = sim.Simulator(sim.compile(scene))
    with pytest.raises(sim.SimulationError) as raised:
        simulator.advance(until)
    return str(raised.value)


def time_of(said: str) -> float:
    return float(re.match(r"t = (\S+) s: ", said)[1])  # type: ignore[index]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("source", SOURCES)
def test_what_has_no_value_any_more_is_named(source: str, method: str) -> None:
    text, named = SOURCES[source]
    said = why(scene(text.replace("VALUE", ROOT), method))
    assert named in said and re.search(r"sqrt\(.*\(ends\.yaml:\d+:\d+\)$", said), said
    edge = 0.01 if source == "state" else 0.05
    assert (0.0 < time_of(said) <= edge + 1e-9) if source == "state" else abs(time_of(said) - edge) < 2.1e-3
    if method in ("dop853", "radau", "auto") and source != "state":
        assert time_of(said) == pytest.approx(edge, abs=1e-9)


@pytest.mark.parametrize("method", ["dop853", "rk4"])
def test_what_is_infinite_from_the_start_is_named(method: str) -> None:
    text, named = SOURCES["formula"]
    said = why(scene(text.replace("VALUE", "exp(1000 + t/1 s)"), method))
    assert said.startswith("t = 0 s: ") and named.replace("nan", "inf") in said


@pytest.mark.parametrize("method", ["dop853", "radau", "rk4", "variational"])
def test_a_motion_without_a_value_is_named(method: str) -> None:
    said = why(scene("", method, motion=f"0.1 + 0*{ROOT}"))
    assert re.search(r"the motion of joint 'pin' has nan for its (value|rate): 0\.1 \+ 0\*sqrt", said), said
    assert "(ends.yaml:" in said and abs(time_of(said) - 0.05) < 2.1e-3


PYTHON = """
import math
from sim.plugin import Controller, parameter
import dataclasses

@dataclasses.dataclass(kw_only=True)
class Plain(Controller):
    \"\"\"Plain Python, continuous.\"\"\"
    value: float = parameter(0.0, about="what it gives after 0.05 s")
    def torque(self, t, state, torque):
        torque[self.view.columns["pin"]] += 0.1 if t < 0.05 else math.nan

@dataclasses.dataclass(kw_only=True)
class Held(Controller):
    \"\"\"Sampled.\"\"\"
    rate = 100.0
    def sample(self, t, state, torque, memory):
        torque[self.view.columns["pin"]] = 0.1 if t < 0.05 else -math.inf

@dataclasses.dataclass(kw_only=True)
class Law(Controller):
    \"\"\"Compiled.\"\"\"
    def constants(self, view):
        return [float(view.columns["pin"].start)]
    @staticmethod
    def law(t, coordinate, rate, constants, torque):
        torque[int(constants[0])] += 0.1 if t < 0.05 else math.inf
"""


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("kind", "value"), [("Plain", "nan"), ("Held", "-inf"), ("Law", "inf")])
def test_a_controller_in_python_is_named(
    kind: str, value: str, method: str, tmp_path: Path, monkeypatch: object
) -> None:
    (tmp_path / "mine.py").write_text(PYTHON)
    monkeypatch.chdir(tmp_path)
    said = why(scene(f"controllers: {{mine: {{type: ./mine.py:{kind}}}}}", method))
    assert re.search(rf"controller 'mine' \(ends\.yaml:\d+:\d+\):? (it )?gives {value} to joint 'pin'", said), said
    assert abs(time_of(said) - 0.05) < 2.1e-3


@pytest.mark.parametrize("value", ["1 N*" + ROOT, "1 N*sqrt(-1 - t/1 s)"])
@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_where_bodies_touch_it_is_named_too(value: str, friction: float) -> None:
    rest = f"""contacts: {{floor: {{between: [block, world], friction: {friction}}}}}
forces: {{jet: {{type: wrench, body: block, force: ["{value}", 0, 0]}}}}"""
    block = "  block: {mass: 1, shapes: [{box: {center: [6, 0, -4.9], size: [0.2, 0.2, 0.2]}}]}\njoints:"
    text = HEAD.replace(", MOTION", "").replace("START", "").replace("joints:", block, 1) + rest
    said = why(load_text(text + "\nsimulate: {duration: 0.2 s}", "ends.yaml"))
    assert "wrench 'jet' has " in said and "for x of its force: " in said, said


def test_events_may_take_a_formula_away_before_it_ends() -> None:
    text, _ = SOURCES["formula"]
    rest = text.replace("VALUE", ROOT) + "\nevents: {over: {at: 0.05 s, disable: push}}"
    simulator = sim.Simulator(sim.compile(scene(rest)))
    simulator.advance(0.2)
    assert simulator.t == 0.2


@pytest.mark.parametrize("method", ["rk4", "semi_implicit"])
def test_what_runs_away_by_itself_is_not_blamed_on_a_formula(method: str) -> None:
    """Steps much too long for a damper by a formula: the state runs away, and the formula overflows of it."""
    rest = "controllers: {push: {type: torque, torques: {pin: \"-1e7 N*m*s/rad*rate('pin')\"}}}\n"
    said = why(scene(rest, method, start=", pin: {rate: 1}", duration=2.0), 2.0)
    assert "push" not in said and "no longer a finite number" in said and "resists" not in said, said


def test_no_source_is_asked_where_all_is_finite() -> None:
    simulator = sim.Simulator(sim.compile(scene("")))
    simulator.advance(0.1)
    from sim.simulation.not_finite import culprit

    assert culprit(simulator.flow, simulator.now.controllers) == "" and np.isfinite(simulator.q).all()


@pytest.mark.parametrize("kind", ["torque", "force"])
@pytest.mark.parametrize("k", range(3))
def test_components_of_wrenches_are_told_apart(kind: str, k: int) -> None:
    parts = ["1 N" if kind == "force" else "1 N*m"] * 3
    parts[k] = parts[k] + "*" + ROOT
    more = ", ".join(f'"{part}"' for part in parts)
    first = f"forces: {{calm: {{type: wrench, body: rod, {kind}: [1, 2, 3]}}, jet: {{type: wrench, body: ball, "
    said = why(scene(first + f"{kind}: [{more}]}}}}", "rk4"))
    assert f"wrench 'jet' has nan for {'xyz'[k]} of its {kind}: {parts[k]} (ends.yaml:" in said


def test_of_several_formulas_the_one_that_acts_is_named() -> None:
    """The first is disabled, the second finite; each has a place of its own."""
    rest = f"""controllers:
  idle: {{type: torque, torques: {{pin: "1 N*m*{ROOT}"}}, enabled: false}}
  calm: {{type: torque, torques: {{pin: "1 N*m*cos(t/1 s)"}}}}
  push: {{type: torque, torques: {{pin: "2 N*m*{ROOT}"}}}}
  late: {{type: torque, torques: {{pin: "3 N*m*{ROOT}"}}}}
"""
    said = why(scene(rest, "rk4"))
    assert f"controller 'push' gives nan to joint 'pin': 2 N*m*{ROOT} (ends.yaml:" in said


SLIDE = """
schema: 1
name: slide
world: {gravity: [0, 0, -3]}
bodies: {a: {mass: 2, com: [0, 0, 0], inertia: [1, 1, 1]}, b: {mass: 2, com: [2, 0, 0], inertia: [0.5, 0.5, 0.5]}}
joints:
  rail: {type: translational, parent: world, child: a, position: [0, 0, 0], axis: [0, 0, 1]}
  hub: {type: rotational, parent: world, child: b, position: [2, 0, 0], axis: [0, 0, 1], stiffness: 6}
initial: {rail: {coordinate: 0.5, rate: 7}, hub: {coordinate: 0.25, rate: 1}}
"""


@pytest.mark.parametrize(("method", "shares"), [
    ("dop853", [0, 0.01, 0.1, 0.25, 0.5, 0.75, 1, 2, 10]), ("rk4", [0, 0.01, 0.1, 0.25, 0.5, 0.75, 1]),
])  # fmt: skip
def test_sources_are_asked_along_the_slope_as_far_as_a_step_goes(method: str, shares: list[float]) -> None:
    from sim.simulation.not_finite import _states

    simulator = sim.Simulator(sim.compile(load_text(SLIDE + f"simulate: {{method: {method}, step: 3 ms}}")))
    simulator.advance(0.0)
    flow = simulator.flow
    flow.stepper.k[0, 2:4] = [-3.0, -3.0]  # m/s^2, 6 * 0.25 / 0.5 rad/s^2
    flow.stepper.clock[H] = 0.02  # what the next step would be
    h = 0.02 if method == "dop853" else 3e-3
    found = list(_states(flow))
    assert [t for t, _, _ in found] == pytest.approx([share * h for share in shares], rel=1e-12)
    for (_, q, v), share in zip(found, shares, strict=True):
        assert q == pytest.approx([0.5 + 7 * share * h, 0.25 + share * h], rel=1e-12)
        assert v == pytest.approx([7 - 3 * share * h, 1 - 3 * share * h], rel=1e-12)
    flow.stepper.k[0, 2:4] = [-3.0, 1e101]  # a slope that has run away is left out
    assert all(np.array_equal(v, [7.0, 1.0]) for _, _, v in _states(flow))
    flow.stepper.y[0] = np.nan
    assert list(_states(flow)) == []


def test_the_implicit_method_is_asked_beside_each_freedom() -> None:
    from sim.kernels.integrators.radau import DIFFERENCE
    from sim.simulation.not_finite import _beside

    simulator = sim.Simulator(sim.compile(load_text(SLIDE)))
    simulator.advance(0.0)
    length = simulator.model.length
    assert length != 1.0
    one, other = _beside(simulator.flow)
    rail = DIFFERENCE * max(length, 7.0)
    assert one[1] - [0.5, 0.25] == pytest.approx([rail, 0.0], rel=1e-6)
    assert other[1] - [0.5, 0.25] == pytest.approx([0.0, DIFFERENCE], rel=1e-6)
    assert all(t == 0.0 and np.array_equal(v, [7.0, 1.0]) for t, _, v in (one, other))
