"""Points whose friction ends time and again at once: figures come to their rest whatever the steps."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import sim
from sim.contact.restless import FOR, MANY, WITHIN, Restless, ease, is_eased, share_of_friction
from sim.kernels.rows import touches as kernels
from sim.kernels.rows.touches import CLEAR, EASY, STILL
from sim.kernels.shapes import SLIP, STICK
from sim.scene.load import load_text
from tests.contact.engine import G0, SCENES, Run
from tests.contact.test_creep import BEGINS, MASS, MU, PULLED, pull
from tests.kernels.plain import plain

pytestmark = pytest.mark.contact
KEY, OTHER = (0, 1, 2), (3, 1, 2)
SHARE = EASY * STILL / CLEAR  # m/s


@pytest.mark.fast
@pytest.mark.parametrize("began", [0.0, 2.0])
def test_a_point_is_restless_after_so_many_ends_within_so_short_a_time(began: float) -> None:
    restless, apart = Restless(), 0.9 * WITHIN / (MANY - 1)
    law: Any = [SimpleNamespace(key=OTHER), SimpleNamespace(key=KEY)]
    for k in range(MANY - 1):
        restless.note([KEY], began + k * apart)
    assert not restless.until
    assert restless.ends() == math.inf and restless.among(law).tolist() == [False, False]
    restless.note([KEY, OTHER], began + (MANY - 1) * apart)
    assert restless.until == {KEY: began + (MANY - 1) * apart + FOR}
    assert restless.among(law).tolist() == [False, True]
    end = restless.ends()
    restless.note([KEY], began + MANY * apart)  # no longer for that: it has its end
    assert restless.ends() == end
    restless.note([], end)
    assert not restless.until and restless.among(law).tolist() == [False, False]


@pytest.mark.fast
def test_a_point_is_not_restless_whose_friction_ends_slowly() -> None:
    restless = Restless()
    for k in range(10 * MANY):
        restless.note([KEY], 1.01 * k * WITHIN / (MANY - 1))
    assert not restless.until
    assert len(restless.ended[KEY]) == MANY  # no more than these count


@pytest.mark.fast
def test_ends_long_ago_are_forgotten_and_those_of_each_point_count_by_themselves() -> None:
    restless, apart = Restless(), 0.5 * WITHIN / (2 * MANY)
    for k in range(2 * (MANY - 1)):
        restless.note([(KEY, OTHER)[k % 2]], 3.0 + k * apart)
    assert not restless.until and set(restless.ended) == {KEY, OTHER}
    last = 3.0 + (2 * MANY - 3) * apart
    restless.note([KEY], last + WITHIN - 0.5 * apart)  # of the other the last end is still near
    assert set(restless.ended) == {KEY, OTHER} and len(restless.ended[KEY]) == 1
    restless.note([], last + 1.1 * WITHIN)
    assert set(restless.ended) == {KEY}
    for end, left in ((4.0, {OTHER: 5.0}), (5.0, {})):
        restless.until = {KEY: 4.0, OTHER: 5.0}
        assert restless.ends() == 4.0
        restless.note([], end)
        assert restless.until == left


@pytest.mark.fast
def test_friction_eases_to_nothing_and_is_whole_from_a_speed_on() -> None:
    way = np.array([0.6, -0.8, 0.0])
    for speed in (0.0, 1e-9, 1e-6, 0.5 * EASY, EASY, 1.0):
        found = np.array(plain(kernels.easing)(tuple(speed * way)))
        share = SHARE * (1.0 - speed / EASY) ** 2 if speed < EASY else 0.0
        assert found == pytest.approx(speed / (speed + share) * way, rel=1e-12, abs=1e-300)
        assert share_of_friction(np.array([speed])) == pytest.approx([np.linalg.norm(found)], rel=1e-12, abs=1e-300)
    assert is_eased(ease(way))
    assert not is_eased(way)
    assert not is_eased(np.zeros(3))
    assert is_eased(1.5 * ease(way)) and not is_eased(3.0 * ease(way))  # told by its length, however rounded
    starts = np.array([ease(way), way, np.zeros(3)])
    assert [bool(plain(kernels.is_eased)(starts, k)) for k in range(3)] == [True, False, False]


def slope(t: float, y: np.ndarray) -> np.ndarray:
    v = y[2:]
    speed = float(np.linalg.norm(v))
    share = SHARE * max(1.0 - speed / EASY, 0.0) ** 2
    return np.concatenate([v, pull(t) / MASS - MU * G0 * v / max(speed + share, 1e-300)])


def test_a_restless_point_moves_as_in_grease_and_then_as_coulomb_says() -> None:
    run = Run(load_text(PULLED)).to(BEGINS - 1e-4)
    (touch,) = run.simulator.flow.structure.touches
    end = BEGINS + 8e-4
    run.simulator.now.contact_modes.state.restless.until[touch.key] = end
    run.to(BEGINS + 4e-4)
    (touch,) = run.simulator.flow.structure.touches
    assert touch.mode == SLIP
    points, ball = run.points(), run.simulator
    speed = math.hypot(ball.rate["x"], ball.rate["y"])
    assert 1e-7 < speed < EASY
    share = SHARE * (1.0 - speed / EASY) ** 2
    assert points.friction == pytest.approx(points.most * speed / (speed + share), rel=1e-6)
    y = solve_ivp(slope, (BEGINS, BEGINS + 4e-4), np.zeros(4), method="Radau", rtol=1e-10, atol=1e-16).y[:, -1]
    assert [ball.rate["x"], ball.rate["y"]] == pytest.approx(y[2:], rel=1e-4)
    run.to(end + 1e-5)
    assert not is_eased(run.simulator.flow.work.points.start[0])
    points = run.points()
    assert points.friction == pytest.approx(points.most, rel=1e-9)
    assert run.balance() < 1e-8


@pytest.mark.slow
@pytest.mark.parametrize(("tilt", "piece"), [(0.034908625959007976, 0.25), (0.03490677409326839, 0.1)])
def test_a_limp_figure_comes_to_rest_in_pieces_and_in_one_go(tilt: float, piece: float) -> None:
    """A hand's friction turned on and on; a foot stuck beside one in grease, which was decided on as if it were not."""
    scene = sim.load(SCENES / "figure_falls.yaml", set={"tilt": f"{tilt!r} rad"})
    run = Run(replace(scene, simulate=replace(scene.simulate, contact="event")))
    for k in range(1, round(4.0 / piece) + 1):
        run.to(k * piece)
    flow = run.simulator.flow
    assert np.abs(flow.v).max() < 1e-9
    assert {touch.mode for touch in flow.structure.touches} == {STICK}
    assert len(run.told.events) < 1200
    assert run.balance() < 1e-5
