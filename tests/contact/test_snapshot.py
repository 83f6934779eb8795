"""Runs that go on from a snapshot as if they had never stopped: every row to the last bit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sim
from sim.scene.load import load_text
from sim.scene.spec import Scene
from sim.simulation.state import State
from tests.contact.engine import SCENES, Run

pytestmark = pytest.mark.contact


def rows_of(run: Run, first: int) -> dict[str, np.ndarray]:
    rows = run.told.rows_[first:]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def goes_on(scene: Scene, at: float, until: float) -> None:
    """Run to `at`, keep, run on; then go back there, and there with another run, and run on again."""
    run = Run(scene).to(at)
    kept = run.simulator.snapshot()
    assert kept.t == at
    first = len(run.told.rows_)
    expected = rows_of(run.to(until), first)
    assert len(expected["time"]) > 2
    again = len(run.told.rows_)
    run.simulator.restore(kept)
    assert run.simulator.snapshot() == kept
    other = Run(scene)
    other.simulator.restore(State.from_plain(*kept.to_plain()))
    assert other.simulator.snapshot() == kept
    for found in (rows_of(run.to(until), again), rows_of(other.to(until), 0)):
        for name, values in expected.items():
            np.testing.assert_array_equal(found[name], values, err_msg=name)


def shipped(name: str, **simulate: object) -> Scene:
    scene = sim.load(SCENES / f"{name}.yaml")
    return replace(scene, simulate=replace(scene.simulate, **simulate))


@pytest.mark.parametrize(
    ("name", "at", "until"),
    [("bouncing_ball", 0.8, 1.2), ("sliding_block", 0.3, 0.8), ("swing", 0.5, 0.8), ("rope_pullup", 0.4, 0.5)],
)
def test_events_go_on(name: str, at: float, until: float) -> None:
    goes_on(shipped(name), at, until)


@pytest.mark.parametrize(("name", "at", "until"), [("figure_falls", 0.7, 0.8), ("dominoes", 0.5, 0.56)])
def test_time_steps_go_on_with_the_forces_of_the_last_step(name: str, at: float, until: float) -> None:
    goes_on(shipped(name), at, until)


NOISY = '''
import dataclasses

import numpy as np
from sim import Controller, parameter


@dataclasses.dataclass(kw_only=True)
class Noisy(Controller):
    """Sum the error, with noise."""

    joint: str = parameter(kind="joint", about="to hold")
    rate: float = parameter(50.0, unit="Hz", about="samples per second")

    def sample(self, t, state, torque, memory):
        c = self.view.columns[self.joint].start
        noise = memory.setdefault("noise", np.random.default_rng(7))
        memory["sum"] = memory.get("sum", 0.0) - state.coordinate[c] / self.rate
        torque[c] = memory["sum"] + 0.1 * noise.normal()
'''

STEERED = """
schema: 1
name: steered
bodies: {arm: {mass: 1, inertia: [0.1, 0.1, 0.1], com: [0.5, 0, 0]}}
joints: 
  hinge:
    {type: rotational, parent: world, child: arm, axis: [0, -1, 0], position: [0, 0, 0], friction: 0.2 N m,
     limits: {range: [-1, 1], stop: rigid}}
controllers: {hold: {type: "noisy.py:Noisy", joint: hinge}}
events:
  later: {at: 0.7 s, impulse: {body: arm, linear: [0, 0, 2]}}
  below: {when: "coordinate('hinge') > 0.5", once: false, impulse: {body: arm, linear: [0, 0, 0.1]}}
"""


def test_what_controllers_remember_and_what_is_due_go_on(tmp_path: Path) -> None:
    (tmp_path / "noisy.py").write_text(NOISY)
    (tmp_path / "steered.yaml").write_text(STEERED)
    goes_on(sim.load(tmp_path / "steered.yaml", trust=True), 0.6, 1.0)


SLEDGE = """
schema: 1
name: sledge
world: {gravity: [0, 0, 0]}
bodies:
  sledge: {mass: 2 kg, com: [0, 0, 0], inertia: [0.1, 0.1, 0.1]}
  wheel: {mass: 1 kg, com: [0, 2, 0], inertia: [0.1, 0.1, 0.1]}
joints:
  ice: {type: planar, parent: world, child: sledge, position: [0, 0, 0], axis: [0, 0, 1], second_axis: [1, 0, 0]}
  hub: {type: rotational, parent: world, child: wheel, position: [0, 2, 0], axis: [0, 0, 1]}
constraints:
  blade: {type: knife_edge, body: sledge, position: [0, 0, 0], along: [1, 0, 0], holds: 6 N}
  belt: {type: gear, joints: [ice, hub], freedoms: [2, 0], ratio: -2, active: false}
forces: {pull: {type: wrench, body: sledge, point: com, force: [0, "10 N*(1 - t/1 s)", 0], torque: [0, 0, 1]}}
events: {engages: {at: 0.3 s, enable: belt}}
"""


SKID = """
schema: 1
name: skid
world: {gravity: [3, 0, -9.3]}
bodies:
  ball: {mass: 2 kg, com: [0, 0, 0.1], inertia: [0.008, 0.008, 0.008]}
constraints:
  rolls: {type: rolling, body: ball, radius: 0.1, ground: world, holds: 3 N}
initial: {ball: {velocity: [1.4, 0.7, 0]}}
"""


@pytest.mark.parametrize("at", [0.3, 0.8])  # its friction turns, it rolls
def test_what_rolls_and_slips_goes_on(at: float) -> None:
    goes_on(load_text(SKID), at, 1.0)


@pytest.mark.parametrize("at", [0.2, 0.6, 1.2])  # it slips, is geared where it was then, grips
def test_constraints_that_slip_and_gears_go_on(at: float) -> None:
    goes_on(load_text(SLEDGE), at, 2.0)


def test_forces_of_the_last_step_count() -> None:
    run = Run(shipped("figure_falls")).to(0.7)
    kept = run.simulator.snapshot()
    expected = run.to(0.71).simulator.v
    stepped = kept.work["stepped"].copy()
    stepped.before[0] = 0
    run.simulator.restore(replace(kept, work={**kept.work, "stepped": stepped}))
    assert np.any(run.to(0.71).simulator.v != expected)


def test_a_snapshot_names_what_collided_in_one_order_in_any_process() -> None:
    """Eight balls land at once; a set of their names has an order of its own in each process."""
    names = "fbahcgde"
    bodies = "\n".join(
        f"  {name}: {{mass: 1, shapes: [{{sphere: {{center: [{n}, 0, 0.2], radius: 0.1}}}}]}}"
        for n, name in enumerate(names)
    )
    run = Run(f"""
schema: 1
name: balls
world: {{shapes: [{{name: ground, plane: {{}}}}]}}
bodies:
{bodies}
contacts: {{land: {{between: ["*", world], friction: 0, restitution: 0.5}}}}
simulate: {{}}
""").to(0.2)
    contacts = run.simulator.snapshot().contacts
    assert contacts is not None
    assert contacts.decisions[-1][1] == tuple(f"ground and {name}" for name in sorted(names))


def test_a_snapshot_of_another_scene_is_refused() -> None:
    kept = Run(shipped("bouncing_ball")).to(0.1).simulator.snapshot()
    with pytest.raises(sim.StateError, match=r"t = 0.1 s\) does not fit scene 'sliding_block': its bodies are 'wor"):
        Run(shipped("sliding_block")).simulator.restore(kept)


def test_numbers_of_the_scene_that_goes_on_count() -> None:
    scene = shipped("bouncing_ball")
    kept = Run(scene).to(0.1).simulator.snapshot()
    lighter = replace(scene, world=replace(scene.world, gravity=(0.0, 0.0, -1.0)))
    run = Run(lighter).simulator
    run.restore(kept)
    before = run.velocity["ball"][2]
    run.advance(0.2)
    assert run.velocity["ball"][2] - before == pytest.approx(-0.1, abs=1e-12)
