"""The woodpecker toy: the kernels on the linear model of the books, and the scene beside an oracle."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tests.contact.engine import CONE, PENETRATION, Run, shipped
from tests.contact.flat import Flat, Follower
from tests.contact.toy import Toy

pytestmark = [pytest.mark.contact, pytest.mark.benchmark]

# Pfeiffer and Glocker's data; benchmark notes 3.4.
m_M, J_M, m_S, J_S, STIFFNESS, G0 = 3e-4, 5e-9, 4.5e-3, 7e-7, 0.0056, 9.81
r_0, r_M, h_M, l_M, l_G, h_S, l_S = 0.0025, 0.0031, 0.0058, 0.010, 0.015, 0.02, 0.0201


def linear() -> Flat:
    M = np.array([
        [m_S + m_M, m_S * l_M, m_S * l_G],
        [m_S * l_M, J_M + m_S * l_M**2, m_S * l_M * l_G],
        [m_S * l_G, m_S * l_M * l_G, J_S + m_S * l_G**2],
    ])  # fmt: skip
    weight = G0 * np.array([m_S + m_M, m_S * l_M, m_S * l_G])

    def h(q: np.ndarray, u: np.ndarray) -> np.ndarray:
        torque = STIFFNESS * (q[1] - q[2])
        return np.array([0.0, -torque, torque]) - weight

    return Flat(
        M=M, h=h, g0=np.array([l_M + l_G - l_S - r_0, r_M - r_0, r_M - r_0]),
        N=np.array([[0.0, 0.0, -h_S], [0.0, h_M, 0.0], [0.0, -h_M, 0.0]]),
        T=np.array([[1.0, l_M, l_G - l_S], [1.0, r_M, 0.0], [1.0, r_M, 0.0]]),
        mu=np.full(3, 0.3), e=np.array([0.5, 0.0, 0.0]),
    )  # fmt: skip


def test_kernels_on_the_linear_model_repeat_what_is_published() -> None:
    start = np.array([0.0, -(r_M - r_0) / h_M, -0.2788])  # published -0.1036 lies a micrometre inside the pole
    run = Follower(linear(), start, np.array([-0.3411, 0.0, -7.4583])).to(3.1)
    pecks = [hit for hit in run.hits if hit.points == (0,)]
    t, y = (np.array([value(hit) for hit in pecks[:21]]) for value in (lambda hit: hit.t, lambda hit: hit.q[0]))
    assert len(t) == 21
    assert (t[-1] - t[0]) / 20 == pytest.approx(0.1460, abs=1e-4)
    assert (y[0] - y[-1]) / 20 == pytest.approx(19.45e-3, abs=5e-5)
    assert np.diff(t[-5:]) == pytest.approx(0.1460, abs=1e-4)
    for hit in pecks:
        assert hit.q[2] == pytest.approx(0.12, abs=1e-12)
    assert [pecks[-1].before[2], pecks[-1].after[2]] == pytest.approx([16.92, -8.46], abs=0.02)


# ---- the scene ------------------------------------------------------------------------------------------------------


def longest_hold(run: Run, after: float) -> tuple[float, float]:
    """Return when the sleeve began to stick to the front, and when it slid again, for the longest of such times, s."""
    changes = [e for e in run.told.events if e.kind == "mode" and "front and sleeve" in e.text and e.time > after]
    spans = [(a.time, b.time) for a, b in pairwise(changes) if "front and sleeve sticks" in a.text]
    return max(spans, key=lambda span: span[1] - span[0])


def test_the_toy_goes_down_as_an_oracle_says() -> None:
    """Period, drop, and when the sleeve holds and gives, once the first swings are forgotten."""
    run = shipped("woodpecker").to(0.48)
    pecks = np.array([
        (event.time, before["joints/coordinate"][1])
        for event, (before, _) in zip(run.told.events, run.told.around, strict=True)
        if event.kind == "impact" and "front and bird" in event.text
    ])  # fmt: skip
    sleeve, spring = run.scene.initial["sleeve"], run.scene.initial["spring"]
    q = np.array([*sleeve.coordinate, sleeve.coordinate[2] + spring.coordinate[0]])
    v = np.array([*sleeve.rate, sleeve.rate[2] + spring.rate[0]])
    rows, wanted = Toy(run.scene.parameters).run(q, v, 0.48, 2e-5)
    assert len(pecks) == len(wanted) == 4
    # From the third peck to the fourth.
    assert pecks[3] - pecks[2] == pytest.approx(wanted[3] - wanted[2], rel=2e-3)
    held = np.array(longest_hold(run, pecks[2, 0]))
    cycle = rows[(rows[:, 0] > wanted[2, 0]) & (rows[:, 0] < wanted[3, 0])]
    still = cycle[np.abs(cycle[:, 6]) < 1e-6, 0]
    assert held - pecks[2, 0] == pytest.approx(still[[0, -1]] - wanted[2, 0], abs=5e-4)
    assert held[1] - held[0] > 0.03


def test_points_press_and_hold_while_it_goes_down() -> None:
    run, energy = shipped("woodpecker"), np.inf
    for t in np.linspace(0.3, 0.55, 101):
        points = run.to(float(t)).points()
        assert (np.abs(points.gap) < PENETRATION).all()
        assert (points.normal > -CONE).all()
        assert (points.friction <= points.most + CONE).all()
        state = run.simulator.energy
        energy, before = state["kinetic"] + state["potential"], energy
        assert energy <= before + 1e-9
    assert run.balance() < 1e-9  # J, of some mJ
