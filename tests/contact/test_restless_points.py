"""Restless points: the direction in which they slide on, and the share of friction that they have."""

from __future__ import annotations

import numpy as np
import pytest

from sim.contact.restless import greased, share_of_friction

pytestmark = pytest.mark.fast


def test_a_restless_point_slides_on_along_its_way_with_a_part_of_its_friction() -> None:
    eases, speed = np.array([False, True, True]), np.array([1e-6, 3e-6, 0.0])
    u = np.array([[0.1, 1e-6, 2e-6], [0.2, 3e-9, -4e-9], [0.3, 0.0, 0.0]])
    before, mu, most = u.copy(), np.array([0.5, 0.6, 0.7]), np.array([0.5, 0.8, 0.9])
    given, at_rest = greased(eases, speed, u, mu, most)
    assert np.array_equal(u[0], before[0])
    assert u[1] == pytest.approx([0.2, 0.6, -0.8])  # so long that it counts as given
    assert u[2] == pytest.approx([0.3, 0.0, 0.0])
    share = 3e-6 / (3e-6 + 1e-5 * (1.0 - 3e-6 / 8e-5) ** 2)
    assert given == pytest.approx([0.5, 0.6 * share, 0.0])
    assert at_rest == pytest.approx([0.5, 0.6 * share, 0.0])
    assert mu.tolist() == [0.5, 0.6, 0.7] and most.tolist() == [0.5, 0.8, 0.9]  # the caller's own


def test_its_share_grows_with_its_slip_and_is_whole_where_it_is_fast() -> None:
    speeds = np.array([0.0, 1e-6, 1e-5, 4e-5, 8e-5, 1.0])
    share = share_of_friction(speeds + 1e-300)
    assert (np.diff(share[:5]) > 0.0).all()
    assert share[0] == pytest.approx(0.0, abs=1e-290)
    assert share[4:].tolist() == [1.0, 1.0]
