"""Rocking blocks: impact times from a published table, speeds by Housner's ratio; benchmark notes 3.3."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.contact.engine import CONE, G0, PENETRATION, Run, shipped

pytestmark = [pytest.mark.contact, pytest.mark.benchmark]

# (width, height): times of the impacts, angular velocities before the first three, from rest at half the angle of fall.
TABLE = {
    (1.0, 1.5): (
        [0.465678248, 0.831276056, 1.017870340, 1.116948040, 1.170087509, 1.198668617],
        [1.428735321, 0.769319019, 0.414248702],
    ),
    (0.2, 1.0): (
        [0.347093587, 0.950920536, 1.487939643, 1.972072335, 2.412550488, 2.815965659],
        [0.648049012, 0.610661569, 0.575431094],
    ),
}
BLOCKS = pytest.mark.parametrize("block", TABLE)


def rocking(block: tuple[float, float], until: float) -> Run:
    return shipped("rocking_block", width=block[0], height=block[1]).to(until)


@BLOCKS
def test_impacts_come_when_the_table_says(block: tuple[float, float]) -> None:
    times, speeds = TABLE[block]
    run = rocking(block, times[-1] + 0.005)
    assert run.times() == pytest.approx(times, abs=2e-9)
    before = [
        abs(around[0]["angular_velocity"][0, 1])
        for event, around in zip(run.told.events, run.told.around, strict=True)
        if event.kind == "impact"
    ]
    assert before[:3] == pytest.approx(speeds, abs=2e-9)


@BLOCKS
def test_impacts_leave_housners_share_of_the_speed(block: tuple[float, float]) -> None:
    ratio = 1 - 1.5 * math.sin(math.atan(block[0] / block[1])) ** 2
    run = rocking(block, TABLE[block][0][-1] + 0.005)
    found = 0
    for event, (before, after) in zip(run.told.events, run.told.around, strict=True):
        if event.kind == "impact":
            w0, w1 = before["angular_velocity"][0], after["angular_velocity"][0]
            assert w1[1] / w0[1] == pytest.approx(ratio, abs=1e-9)
            assert w1[[0, 2]] == pytest.approx([0, 0], abs=1e-9)
            assert event.lost == pytest.approx((1 - ratio**2) * before["energy/kinetic"], rel=1e-9)
            found += 1
    assert found == 6


def test_the_broad_block_comes_to_rest() -> None:
    """Small rocking is a series, too: it ends, within the time that Housner's ratio leaves it."""
    run = rocking((1.0, 1.5), 2.0)
    (text,) = run.texts("annotation")
    assert text.startswith("ground and block comes to rest at 1.23")
    points = run.points()
    assert len(points.gap) == 4
    assert points.normal.sum() == pytest.approx(100 * G0, rel=1e-12)
    assert run.simulator.velocity["block"] == pytest.approx([0, 0, 0], abs=1e-12)
    assert run.simulator.position["block"][2] == pytest.approx(0.75, abs=1e-9)


@BLOCKS
def test_points_press_and_hold_while_it_rocks(block: tuple[float, float]) -> None:
    width, height = block
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) / 2 * [width, width, height]
    run = rocking(block, 0.0)
    for t in np.linspace(0.0, 1.2, 241)[1:]:
        points = run.to(t).points()
        state = run.simulator.state
        lowest = (state.position["block"] + corners @ state.rotation["block"].T)[:, 2].min()
        assert lowest == pytest.approx(0.0, abs=PENETRATION)
        assert len(points.gap) in (2, 4)
        assert (points.normal > 0).all()
        assert (points.friction <= points.most + CONE).all()
        # Newton's law for the centre of mass, with its acceleration as found.
        weight = 100 * (state.acceleration["block"] + [0, 0, G0])
        assert points.force.sum(axis=0) == pytest.approx(weight, abs=1e-8)
    assert run.balance() < 1e-7  # J of 95 and more above rest
    assert len(run.times()) >= 2
