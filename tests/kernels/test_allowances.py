"""How far guards may be beyond their bounds where they begin, against the rule said in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from sim.kernels.guards import allowances
from sim.kernels.scratch import TOUCH_WORK
from sim.kernels.tables import COLUMN, STOP, table
from sim.kernels.watched import (
    GUARD,
    GUARD_CONE,
    GUARD_FRICTION,
    GUARD_GAP,
    GUARD_HOLD,
    GUARD_PROGRAM,
    GUARD_PULL,
    GUARD_SLIP,
    GUARD_SLOW_SLIP,
    GUARD_STOP,
)

pytestmark = [pytest.mark.contact, pytest.mark.fast]

FORCES, SLIPS, GAPS = (
    (GUARD_HOLD, GUARD_PULL, GUARD_CONE), (GUARD_SLIP, GUARD_SLOW_SLIP, GUARD_FRICTION), (GUARD_GAP, GUARD_STOP),
)  # fmt: skip
LARGEST = 200.0


def allowed(kind: int, value: float, bound: float = 0.0, idle: int = 0, rigid: int = 1) -> tuple[float, int]:
    """Return what one guard may be, and whether it is astray."""
    guards, stops = table(GUARD, 1), table(STOP, 1)
    guards.kind[0], guards.allowed[0], stops.rigid[0] = kind, np.nan, rigid
    told = allowances.allow_what_begins(guards, stops, np.array([value]), np.array([bound]), np.array([idle]), LARGEST)
    return float(guards.allowed[0]), int(told)


def test_conditions_and_soft_stops_are_allowed_nothing() -> None:
    assert allowed(GUARD_PROGRAM, 1e-13) == (0.0, 0)
    assert allowed(GUARD_STOP, 1e-9, rigid=0) == (0.0, 0)
    assert allowed(GUARD_STOP, 1e-9) == (1e-9, 0)


@pytest.mark.parametrize("kind", FORCES)
def test_forces_that_begin_at_their_bounds_may_be_beyond_by_a_share_of_the_largest(kind: int) -> None:
    least, most = 1e-12 * LARGEST, 1e-10 * LARGEST
    for over in (-0.9 * least, 0.0, 0.9 * most):
        assert allowed(kind, 3.0 + over, 3.0)[0] == pytest.approx(3.0 + least + max(over, 0.0), abs=1e-14)
    for over in (-1.1 * least, 1.1 * most):
        assert allowed(kind, 3.0 + over, 3.0)[0] == 3.0


@pytest.mark.parametrize("kind", SLIPS)
def test_slips_that_begin_may_go_back_a_little(kind: int) -> None:
    for value in (-4.9e-8, 0.0, 4.9e-8):
        assert allowed(kind, value)[0] == pytest.approx(5e-8 + max(value, 0.0), abs=1e-20)
    for value in (-5.1e-8, 5.1e-8):
        assert allowed(kind, value)[0] == 0.0


@pytest.mark.parametrize("kind", GAPS)
def test_gaps_that_are_closed_may_be_what_they_are(kind: int) -> None:
    assert allowed(kind, 9.9e-7)[0] == 9.9e-7 and allowed(kind, 1.1e-6)[0] == 0.0 and allowed(kind, -1e-9)[0] == 0.0


def test_what_rests_without_a_force_may_sink_by_a_share_of_what_is_left() -> None:
    assert allowed(GUARD_GAP, -1e-12, idle=1)[0] == pytest.approx(0.2e-9, abs=1e-22)
    assert allowed(GUARD_GAP, 4e-10, idle=1)[0] == pytest.approx(4e-10 + 0.2 * 6e-10, abs=1e-22)
    assert allowed(GUARD_GAP, 2e-9, idle=1)[0] == 2e-9  # it is deeper already: no deeper than that


def test_a_closed_point_that_has_left_its_features_is_told() -> None:
    assert allowed(GUARD_GAP, 1.0) == (0.0, 1)
    assert allowed(GUARD_PULL, 1.0)[1] == 0 == allowed(GUARD_GAP, 0.99)[1]


def test_the_largest_force_is_that_of_points_stops_or_friction() -> None:
    points, stopping, columns = table(TOUCH_WORK, 2), np.array([0.0, -3.0]), table(COLUMN, 2)
    points.pressing[:], columns.friction[:] = (-9.0, 2.0), (1.0, 0.0)
    assert allowances.largest_force(points, stopping, columns) == 3.0
    assert allowances.largest_force(points, np.zeros(2), columns) == 2.0
    assert allowances.largest_force(points[:0], np.zeros(2), columns) == 1.0
