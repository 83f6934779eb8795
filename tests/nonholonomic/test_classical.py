"""Steps of the classical Runge-Kutta method with wheels: of order four, without slip, as good in energy as Kane's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sim
from bench import snake
from sim.scene.load import load_text
from sim.scene.spec import Scene
from tests.contact.engine import SCENES, Run
from tests.nonholonomic.test_known import slip_of_disc
from tests.nonholonomic.test_thresholds import SLEDGE
from tests.nonholonomic.test_verify import ALL

pytestmark = pytest.mark.nonholonomic


@pytest.mark.parametrize("n", snake.RUNS)
def test_the_energy_functions_error_is_no_larger_than_twice_kanes(n: int) -> None:
    """Under the paper's conditions (Table II), in equal steps of the same method; wheels slip by roundoff."""
    kane, ours = snake.contenders()["Kane"], snake.engine()
    assert kane.run is not None and ours.run is not None
    steps = round(snake.UNTIL / snake.STEP)
    theirs, found = (run(n, snake.STEP, steps, float) for run in (kane.run, ours.run))
    assert np.abs(found.S).max() < 2.0 * np.abs(theirs.S).max()
    assert len(found.slip) == steps + 1 and found.slip.max() < 1e-10


def rk4(scene: Scene, step: float) -> Run:
    return Run(replace(scene, simulate=replace(scene.simulate, method="rk4", step=step, record=30.0)))


def state(run: Run) -> np.ndarray:
    return np.concatenate([run.simulator.flow.q, run.simulator.flow.v])


@pytest.mark.parametrize(
    ("name", "step", "until"),
    [
        pytest.param("chaplygin_sleigh", 0.1, 1.0, marks=pytest.mark.fast),
        ("rolling_disc", 0.005, 0.2),
        ("all", 0.005, 0.2),
    ],
)
def test_halving_the_step_leaves_a_sixteenth_of_the_error(name: str, step: float, until: float) -> None:
    """Planar and free joints, to the world and to a table that turns, against the controlled method."""
    scene = load_text(ALL) if name == "all" else sim.load(SCENES / f"{name}.yaml")
    exact = state(Run(replace(scene, simulate=replace(scene.simulate, rtol=1e-13))).to(until))
    errors = [np.abs(state(rk4(scene, step / 2**k).to(until)) - exact).max() for k in range(3)]
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert np.abs(orders - 4.0).max() < 0.2, errors


@pytest.mark.fast
def test_a_disc_does_not_slip_within_steps() -> None:
    scene = sim.load(SCENES / "rolling_disc.yaml")
    run = rk4(scene, 0.007).to(0.5)
    assert len(run.told.rows_) == 15
    assert slip_of_disc(run, 0.1) < 1e-10


@pytest.mark.contact
def test_a_blade_lets_go_and_grips_again_on_a_curve() -> None:
    """Only while it holds is there a row of a rate: steps are others before, between and after."""
    text = SLEDGE.replace("PULL", "10 N*sin(4*t/(1 s))").replace("[1.5, 0, 0]", "[1.5, 0, 0.5]")
    exact = Run(text).to(2.0)
    found = rk4(load_text(text), 0.01)
    held = []
    for t in np.arange(1, 41) * 0.05:
        held.append(found.to(t).simulator.flow.structure.binds_rates)
    told = [[(event.text, event.time) for event in run.told.events if event.kind == "mode"] for run in (exact, found)]
    assert [text for text, _ in told[0]] == [text for text, _ in told[1]]
    assert [time for _, time in told[1]] == pytest.approx([time for _, time in told[0]], abs=1e-7)
    assert "blade slips" in dict(told[1]) and "blade grips" in dict(told[1]) and 5 < sum(held) < 35
    assert np.abs(state(found) - state(exact)).max() < 1e-7


@pytest.mark.fast
def test_rollouts_take_the_same_steps() -> None:
    scene = sim.load(SCENES / "rolling_disc.yaml")
    run = rk4(scene, 0.01)
    start = state(run)
    found = sim.rollout(run.simulator.model, start, steps=3, dt=0.1, method="rk4", step=0.01)
    run.to(0.3)
    assert np.abs(np.concatenate([found.q[0, -1], found.v[0, -1]]) - state(run)).max() < 1e-12
