"""Scenes with wheels: what is known of their motion, and that nothing slips."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sim
from sim.analysis.verification.seen import Seen
from sim.mechanism.compiler import compile
from sim.recording.restoring import restored
from tests.contact.engine import SCENES, Run
from tests.nonholonomic.shipped import shipped

pytestmark = pytest.mark.nonholonomic

# name, parameters, duration
ALL = [
    ("bicycle", {}, 5.0), ("rolling_disc", {}, 3.0), ("chaplygin_sleigh", {}, 10.0), ("snake", {}, 4.0),
    ("snake", {"n": 30, "turn": "5 deg"}, 1.0), ("snake_slope", {}, 4.0), ("snake_three", {}, 4.0), ("car", {}, 8.0),
    ("ball_on_turntable", {}, 10.0), ("benchmarks/snake_paper", {"n": 12}, 20.0),
]  # fmt: skip


@pytest.mark.parametrize(("name", "parameters", "duration"), ALL)
def test_nothing_slips_in_any_sample(name: str, parameters: dict[str, float | str], duration: float) -> None:
    """By the recorded poses and velocities, and by rows that share nothing with the engine."""
    with sim.run(sim.load(SCENES / f"{name}.yaml", set=parameters), duration=duration) as recording:
        seen = Seen(recording, compile(restored(recording)[0]))
        position, velocity, rates, _ = seen.residuals
        assert len(position) > 100
        assert max(position.max(), velocity.max(), rates.max()) < 1e-10
        energy = recording.energy
        assert np.abs(energy.balance).max() < 1e-7 * energy.kinetic.max()


@pytest.mark.parametrize(("hollow", "share"), [(0.4, 2 / 7), (2 / 3, 2 / 5)])
def test_a_ball_on_a_turntable_goes_round_in_a_circle(hollow: float, share: float) -> None:
    """v' = w z x v with w = turning I / (I + m r^2): two sevenths for a homogeneous ball, two fifths for a shell."""
    turning, p, v = 3.0, np.array([0.3, -0.1]), np.array([0.05, 0.3])
    run = shipped("ball_on_turntable", hollow=hollow, x=p[0], y=p[1], vx=v[0], vy=v[1], twirl=2.0, turning=turning)
    w = share * turning
    centre = p + np.array([-v[1], v[0]]) / w
    for t in (0.5, 2.0, 2.0 * math.pi / w, 10.0):
        c, s = math.cos(w * t), math.sin(w * t)
        place = centre + np.array([[c, -s], [s, c]]) @ (p - centre)
        state = run.to(t).simulator
        np.testing.assert_allclose(state.position["ball"], [*place, 0.05], atol=1e-9)
        assert state.rate["ball"][:3] == pytest.approx([c * v[0] - s * v[1], s * v[0] + c * v[1], 0.0], abs=1e-9)
    assert run.balance() < 1e-9


def test_a_car_turns_about_the_centre_that_its_axles_point_at() -> None:
    run = shipped("car")
    base, track = 2.5, 1.5
    for t in (0.7, 1.9, 3.3, 6.7):
        state = run.to(t).simulator
        middle = math.tan(math.radians(20.0) * math.sin(2.0 * math.pi * t / 4.0))
        R, w = state.rotation["chassis"], state.rate["chassis"][5]
        rear = np.mean([state.position[f"rear_{s}"] for s in "lr"], axis=0)
        v = np.mean([_velocity(run, f"rear_{s}") for s in "lr"], axis=0)
        assert w == pytest.approx(float(v @ R[:, 0]) * middle / base, abs=1e-10)
        centre = rear + R[:, 1] * base / middle
        for name in ("rear_l", "rear_r", "front_l", "front_r"):
            arm = centre - state.position[name]
            assert abs(float(_velocity(run, name) @ arm)) < 1e-8 * np.linalg.norm(arm)
        left, right = (float(state.coordinate[f"king_{s}"]) for s in "lr")
        assert 1.0 / math.tan(right) - 1.0 / math.tan(left) == pytest.approx(track / base, abs=1e-12)


def _velocity(run: Run, name: str) -> np.ndarray:
    return run.simulator.velocity[name]


def test_a_wave_from_the_head_drives_a_snake_ahead_and_one_from_the_tail_back() -> None:
    def goes(step: str) -> float:
        with sim.run(sim.load(SCENES / "snake.yaml", set={"step": step, "n": 10}), duration=5.0) as recording:
            p = recording.array("position")
        along = p[0, 0] - p[0, -1]
        return float((p[-1].mean(axis=0) - p[0].mean(axis=0)) @ along / np.linalg.norm(along))

    assert goes("-40 deg") > 1.0
    assert goes("40 deg") < -1.0


def test_a_snake_climbs_its_slope_on_all_wheels() -> None:
    with sim.run(sim.load(SCENES / "snake_slope.yaml"), duration=4.0) as recording:
        p = recording.array("position")
        names = [body.name for body in recording.bodies]
        wheels = p[:, [k for k, name in enumerate(names) if ".wheel_" in name]]
        x, z = recording.array("joints/position")[:, [j.name.startswith("snake.rolls") for j in recording.joints]].T[
            [0, 2]
        ]
    assert wheels.shape[1] == 9
    assert (wheels[-1] - wheels[0])[:, 2].min() > 0.15
    assert np.abs(z * math.cos(math.radians(10.0)) - x * math.sin(math.radians(10.0))).max() < 1e-12  # on the ground
