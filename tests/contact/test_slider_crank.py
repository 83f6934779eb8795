"""A slider-crank whose slider has play: its first contact and impact as published; benchmark notes 3.5."""

from __future__ import annotations

import numpy as np
import pytest

from sim.scene.load import load_text
from tests.contact.engine import G0, PENETRATION, SCENES, Run, shipped

pytestmark = [pytest.mark.contact, pytest.mark.benchmark]

l_1, l_2, HALF_LENGTH, HALF_HEIGHT, CLEARANCE = 0.153, 0.306, 0.05, 0.025, 0.001
m_1, m_2, m_3, J_1, J_2, J_3 = 0.038, 0.038, 0.076, 7.4e-5, 5.9e-4, 2.7e-6


def angles(row: dict[str, np.ndarray], what: str = "coordinate") -> np.ndarray:
    """Return the angles of crank, rod and slider, from x up to z, or their rates: joints turn on each other."""
    return np.cumsum(row[f"joints/{what}"])


def gaps(row: dict[str, np.ndarray]) -> np.ndarray:
    """Return the gaps of the four corners: two below the upper bar, two above the lower one."""
    s, c = np.sin(angles(row)), np.cos(angles(row))
    up = l_1 * s[0] + l_2 * s[1] + np.array([-1, 1, -1, 1]) * HALF_LENGTH * s[2]
    return HALF_HEIGHT + CLEARANCE - HALF_HEIGHT * c[2] - np.array([1, 1, -1, -1]) * up


def energy(row: dict[str, np.ndarray]) -> float:
    """Return kinetic and potential energy [J] by formulas of this mechanism's own."""
    (s_1, s_2, _), q, w = np.sin(angles(row)), angles(row), angles(row, "rate")
    M_11, M_22 = J_1 + (m_1 / 4 + m_2 + m_3) * l_1**2, J_2 + (m_2 / 4 + m_3) * l_2**2
    M_12 = (m_2 / 2 + m_3) * l_1 * l_2 * np.cos(q[1] - q[0])
    height = (m_1 / 2 + m_2 + m_3) * l_1 * s_1 + (m_2 / 2 + m_3) * l_2 * s_2
    return float(0.5 * (M_11 * w[0] ** 2 + M_22 * w[1] ** 2 + J_3 * w[2] ** 2) + M_12 * w[0] * w[1] + G0 * height)


def falls(run: Run) -> None:
    """Assert that the energy never rises and no corner is inside a bar."""
    rows = run.told.rows_
    assert np.diff([energy(row) for row in rows]).max() < 2e-8  # of 7.5 J, at rtol 1e-10
    assert np.min([gaps(row) for row in rows]) > -PENETRATION


@pytest.mark.parametrize("friction", [0.0, 0.01])
def test_the_first_contact_is_the_published_one(friction: float) -> None:
    run = shipped("slider_crank_clearance", friction=friction).to(0.003)
    (time,) = run.times()
    assert time == pytest.approx(0.002692502752, abs=1e-9)
    before, _ = run.told.around[0]
    assert angles(before) == pytest.approx([0.355304455, -0.171509541, 0.0], abs=1e-9)
    assert angles(before, "rate") == pytest.approx([109.557681543, -49.330789962, 0.0], abs=2e-8)
    assert gaps(before) == pytest.approx([0.0, 0.0, 2 * CLEARANCE, 2 * CLEARANCE], abs=PENETRATION)
    assert before["velocity"][-1, 2] == pytest.approx(0.841612322, abs=1e-9)


def test_without_friction_the_first_impact_is_the_published_one() -> None:
    run = shipped("slider_crank_clearance", friction=0.0).to(0.003)
    before, after = run.told.around[0]
    assert angles(after, "rate") == pytest.approx([108.793728561, -52.875187875, 0.0], abs=2e-8)
    # Two corners share it: what is told is the norm of all impulses.
    assert np.sqrt(2.0) * run.told.events[0].impulse == pytest.approx(0.110790030, abs=1e-9)
    assert after["velocity"][-1, 2] == pytest.approx(-0.4 * before["velocity"][-1, 2], rel=1e-12)
    assert run.told.events[0].lost == pytest.approx(energy(before) - energy(after), rel=1e-9)


# The slider parallel, as published; one corner before the other; tilted by much friction.
@pytest.mark.parametrize(("turn", "friction"), [(0.0, 0.01), (-0.01, 0.01), (-0.01, 0.3)])
def test_it_runs_to_the_end_and_never_gains_energy(turn: float, friction: float) -> None:
    run = shipped("slider_crank_clearance", turn=turn, friction=friction).to(0.2)
    falls(run)
    assert len(run.times()) > 50
    assert {text.split(" at ")[0] for text in run.texts("annotation")} == {
        "upper and slider comes to rest", "lower and slider comes to rest",
    }  # fmt: skip
    assert any("slides" in text for text in run.texts())
    assert run.balance() < 2e-8


def test_what_has_come_to_rest_leaves_when_nothing_presses_it() -> None:
    """Both corners cease to press at one time; the slider was kept once, and hung on the bar."""
    run = shipped("slider_crank_clearance", turn=0.964115132872724, restitution=0.0).to(0.07)
    falls(run)
    assert run.texts()[-1].startswith("lower and slider leaves")


def test_a_corner_that_strikes_again_at_once_is_seen_beside_another() -> None:
    """Bars that end early: the slider strikes their ends, and both bars within one step."""
    text = (SCENES / "slider_crank_clearance.yaml").read_text(encoding="utf-8")
    assert text.count("from: [90 mm, 0,") == 2
    sets = {"turn": 5.0, "friction": 0.1, "restitution": 0.9}
    run = Run(load_text(text.replace("from: [90 mm, 0,", "from: [150 mm, 0,"), set=sets)).to(0.06)
    assert np.diff([energy(row) for row in run.told.rows_]).max() < 2e-8
    beyond = [
        l_1 * np.cos(angles(row)[0]) + l_2 * np.cos(angles(row)[1]) - HALF_LENGTH < 0.15 for row in run.told.rows_
    ]
    assert any(beyond)
