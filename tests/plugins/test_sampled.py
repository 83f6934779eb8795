"""Sampled controllers between events: when they are called, what they hold, and what all of them hold together."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sim
from sim.scene.problem import SceneError
from sim.simulation import control
from tests.plugins.written import HEAD

TEXT = """\
@dataclasses.dataclass(kw_only=True)
class Mine(Controller):
    rate: float = parameter(kind="number", unit="Hz", about="how often")
    strength: float = parameter(kind="number", unit="N m", about="how hard at first")

    def sample(self, t, state, torque, memory):
        memory["calls"] = memory.get("calls", 0) + 1
        torque[0] = self.strength * memory["calls"]
        torque[1] = -0.5 * torque[0]
"""
SCENE = """\
schema: 1
name: sampled
world: {gravity: [0, 0, 0]}
bodies:
  one: {mass: 1, com: [0, 0, 0], inertia: [2, 2, 2]}
  two: {mass: 1, com: [3, 0, 0], inertia: [4, 4, 4]}
joints:
  hub: {type: rotational, parent: world, child: one, position: [0, 0, 0], axis: [0, 0, 1]}
  pin: {type: rotational, parent: world, child: two, position: [3, 0, 0], axis: [0, 0, 1]}
controllers:
  fast: {type: "./mine.py:Mine", rate: 10 Hz, strength: 3 N m}
  slow: {type: "./mine.py:Mine", rate: 4 Hz, strength: -1.5 N m}
  late: {type: "./mine.py:Mine", rate: 5 Hz, strength: 0.7 N m, enabled: false}
events:
  rest: {at: 0.33 s, disable: fast}
  go on: {at: 0.57 s, enable: fast}
  begin: {at: 0.45 s, enable: late}
  end: {at: 0.71 s, disable: [slow, late]}
simulate: {duration: 1 s, rtol: 1e-10, record: 100 Hz}
"""
RATES = {"fast": (10, 3.0), "slow": (4, -1.5), "late": (5, 0.7)}
ON = {"fast": [(0.0, 0.33), (0.57, 9.0)], "slow": [(0.0, 0.71)], "late": [(0.45, 0.71)]}


def held(t: float) -> float:
    """Return the torque of hub just after t: what each that is on wrote at its last call while it was on [N m]."""
    total = 0.0
    for name, (rate, strength) in RATES.items():
        spans = ON[name]
        if any(a <= t < b for a, b in spans):
            calls = sum(any(a <= k / rate < b for a, b in spans) for k in range(int(t * rate + 1e-9) + 1))
            total += strength * calls
    return total


@pytest.fixture
def scene(tmp_path: Path) -> sim.Scene:
    (tmp_path / "mine.py").write_text(HEAD + TEXT, encoding="utf-8")
    (tmp_path / "scene.yaml").write_text(SCENE, encoding="utf-8")
    return sim.load(tmp_path / "scene.yaml", trust=True)


def test_torques_are_held_between_calls_and_switched_by_events(scene: sim.Scene) -> None:
    breaks = sorted({k / rate for rate, _ in RATES.values() for k in range(12)} | {0.33, 0.45, 0.57, 0.71, 1.0})
    breaks = [t for t in breaks if t <= 1.0]
    rate, angle = 0.0, 0.0
    simulator = sim.Simulator(sim.compile(scene))
    simulator.advance(0.0)
    for a, b in pairwise(breaks):
        acceleration = held(a) / 2.0
        simulator.advance(0.5 * (a + b))
        assert simulator.torque["hub"] == pytest.approx(held(a), abs=1e-12), a
        angle += rate * (b - a) + 0.5 * acceleration * (b - a) ** 2
        rate += acceleration * (b - a)
        simulator.advance(b)
        assert simulator.rate["hub"] == pytest.approx(rate, abs=1e-9)
        assert simulator.coordinate["hub"] == pytest.approx(angle, abs=1e-9)
        assert simulator.rate["pin"] == pytest.approx(-0.25 * rate, abs=1e-9)


def test_what_it_holds_and_remembers_comes_back_with_a_snapshot(scene: sim.Scene) -> None:
    simulator = sim.Simulator(sim.compile(scene))
    simulator.advance(0.4)
    kept = simulator.snapshot()
    simulator.advance(1.0)
    end = float(simulator.rate["hub"])
    simulator.restore(kept)
    simulator.advance(1.0)
    assert float(simulator.rate["hub"]) == end
    simulator.reset()
    simulator.advance(1.0)
    assert float(simulator.rate["hub"]) == end


@pytest.mark.parametrize(("rate", "fits"), [("0 Hz", False), ("-3 Hz", False), ("1e-3 Hz", True)])
def test_it_is_called_at_a_rate_above_zero(scene: sim.Scene, tmp_path: Path, rate: str, fits: bool) -> None:
    path = tmp_path / "scene.yaml"
    path.write_text(SCENE.replace("rate: 10 Hz", f"rate: {rate}"), encoding="utf-8")
    scene = sim.load(path, trust=True)
    if fits:
        sim.Simulator(sim.compile(scene))
        return
    with pytest.raises(sim.SceneError) as caught:
        sim.Simulator(sim.compile(scene))
    (problem,) = caught.value.problems
    assert problem.path == "controllers.fast.rate"
    assert problem.what == f"it is to be sampled at {float(rate.split()[0])!r} Hz; expected a number above zero"


@pytest.mark.parametrize("value", ["np.inf", "-np.inf", "np.nan"])
def test_torques_that_are_no_finite_numbers_end_the_run(scene: sim.Scene, tmp_path: Path, value: str) -> None:
    text = TEXT.replace("torque[1] = -0.5 * torque[0]", f"torque[1] = {value} if memory['calls'] > 2 else 0.0")
    (tmp_path / "mine.py").write_text(HEAD + text, encoding="utf-8")
    simulator = sim.Simulator(sim.compile(sim.load(tmp_path / "scene.yaml", trust=True)))
    simulator.advance(0.15)
    with pytest.raises(sim.SimulationError) as caught:
        simulator.advance(0.3)
    place = f"({tmp_path}/scene.yaml:11:3)"
    said = f"t = 0.2 s: controller 'fast' {place}: it gives {value.replace('np.', '')} to joint 'pin'"
    assert str(caught.value) == said


def test_a_controller_is_told_of_the_model(tmp_path: Path) -> None:
    """Limits of each freedom on its sides, of a ball joint from zero to its angle; types, columns and the start."""
    joints = """
  hub: {type: rotational, parent: world, child: one, position: [0, 0, 0], axis: [0, 0, 1], limits: [-0.25, 1.5]}
  pin: {type: rotational, parent: world, child: two, position: [3, 0, 0], axis: [0, 0, 1], limits: [-0.75, inf]}
  ball: {type: spherical, parent: one, child: three, position: [0, 1, 0], limits: {range: [0, 0.625]}}
  tube: {type: cylindrical, parent: two, child: four, position: [3, 1, 0], axis: [0, 0, 1],
         limits: {range: [[-inf, inf], [-1.75, 2]]}}
"""
    bodies = "".join(
        f"  {name}: {{mass: 1, com: [0, 1, {k}], inertia: [2, 2, 2]}}\n" for k, name in ((1, "three"), (2, "four"))
    )
    a, b = SCENE.index("joints:"), SCENE.index("controllers:")
    text = SCENE[:a] + bodies + "joints:" + joints + "initial: {pin: 0.125, tube: [0.25, -1.0]}\n" + SCENE[b:]
    (tmp_path / "mine.py").write_text(HEAD + TEXT, encoding="utf-8")
    (tmp_path / "scene.yaml").write_text(text, encoding="utf-8")
    simulator = sim.Simulator(sim.compile(sim.load(tmp_path / "scene.yaml", trust=True)), seed=31)
    view = simulator.now.controllers.sampled[0].controller.view
    assert view.joint_names == ("hub", "pin", "ball", "tube") and view.seed == 31
    assert dict(view.types) == {"hub": "rotational", "pin": "rotational", "ball": "spherical", "tube": "cylindrical"}
    assert {name: (part.start, part.stop) for name, part in view.columns.items()} == {
        "hub": (0, 1), "pin": (1, 2), "ball": (2, 5), "tube": (5, 7),
    }  # fmt: skip
    inf = float("inf")
    assert view.limits.tolist() == [
        [-0.25, 1.5], [-0.75, inf], [0.0, 0.625], [-inf, inf], [-inf, inf], [-inf, inf], [-1.75, 2.0],
    ]  # fmt: skip
    assert view.start.tolist() == [0.0, 0.125, 0.0, 0.0, 0.0, 0.25, -1.0]
    assert not view.limits.flags.writeable and not view.start.flags.writeable


def test_a_controller_that_says_no_rate_is_sampled_a_hundred_times_a_second() -> None:
    use: Any = SimpleNamespace(name="law", place=None)
    for said, rate in ((None, 100.0), (20, 20.0), (np.float64(0.5), 0.5)):
        assert control._rate(use, SimpleNamespace(rate=said)) == rate  # type: ignore[arg-type]
    assert control._rate(use, object()) == 100.0  # type: ignore[arg-type]
    for said in (0.0, -1.0, math.inf, math.nan, "often"):
        with pytest.raises(SceneError, match=r"it is to be sampled at .* Hz; expected a number above zero"):
            control._rate(use, SimpleNamespace(rate=said))  # type: ignore[arg-type]
