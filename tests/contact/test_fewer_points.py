"""Which points are left out of a decision: those that share a slide, and those that a creep lets pull."""

from __future__ import annotations

import numpy as np
import pytest

from sim.contact.contact_problem import ContactProblem, acceleration
from sim.contact.fewer_points import let_fewer_press, without_what_pulls
from sim.contact.solve import SOLVED, solve_contacts
from tests.contact.set_ups import G0, on_floor

pytestmark = [pytest.mark.contact, pytest.mark.fast]

INERTIA = np.diag([0.1, 0.2, 0.15])


def block(arms: list[list[float]], slip: list[float], mu: float = 0.3) -> ContactProblem:
    """Return the accelerations of a block of 1 kg that stands on points at these arms from its centre of mass."""
    body = on_floor(1.0, INERTIA, np.array(arms))
    k = len(arms)
    return acceleration(
        body.G, body.W @ [0.0, 0.0, -G0, 0.0, 0.0, 0.0], np.full(k, mu), u_t=np.tile(slip, (k, 1)),
        patch=np.zeros(k, np.int64),
    )  # fmt: skip


def test_points_that_share_a_slide_press_no_more_than_are_needed() -> None:
    """Of four corners three are enough, and do the same."""
    problem = block([[x, y, -0.2] for x in (-0.3, 0.3) for y in (-0.2, 0.25)], [0.6, 0.8])
    answer = solve_contacts(problem)
    assert answer.indeterminate.all() and (answer.P[:, 0] > 0.0).all()
    fewer = solve_contacts(let_fewer_press(problem, answer))
    assert not fewer.status and not fewer.chosen.any()
    assert np.count_nonzero(fewer.P[:, 0]) == 3 and (fewer.P[:, 0] >= 0.0).all()
    assert fewer.P[:, 0].sum() == pytest.approx(G0, rel=1e-12)
    assert fewer.z == pytest.approx(answer.z, abs=1e-9)
    assert fewer.residuals.merit <= SOLVED


def test_a_point_that_pulls_is_left_out_where_the_others_hold_it_up_but_for_little() -> None:
    """Of a block on three points, whose centre of mass is a little beside the line between two of them, or farther."""
    pulls = np.array([False, False, True])
    for inside, out in ((1e-5, True), (0.05, False)):
        problem = block([[-0.3, -inside, -0.2], [0.3, -inside, -0.2], [0.0, 0.4, -0.2]], [0.0, 0.0])
        assert solve_contacts(problem).P[2, 0] == pytest.approx(G0 * inside / (inside + 0.4), rel=1e-9)
        fewer = without_what_pulls(problem, pulls)
        assert fewer.closed.tolist() == [True, True, not out]
