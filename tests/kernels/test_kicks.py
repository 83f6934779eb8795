"""What presses are expected to add to the rates of a step, and where it is to be found once more."""

from __future__ import annotations

import numpy as np
import pytest

from sim.kernels.integrators import kicks
from sim.kernels.scratch import FREEDOM_WORK
from sim.kernels.tables import FREEDOM, table
from tests.kernels.plain import plain

pytestmark = [pytest.mark.contact, pytest.mark.fast]

H = 0.25  # s


def freedoms_with(kick: list[float]) -> np.ndarray:
    work = table(FREEDOM_WORK, len(kick))
    work.kick = kick
    return work


def test_what_is_not_known_is_expected_to_be_nothing() -> None:
    work = freedoms_with([1.0, -2.0])
    plain(kicks.expect_kick)(True, work)
    assert work.kick.tolist() == [1.0, -2.0]
    plain(kicks.expect_kick)(False, work)
    assert not work.kick.any()


def test_a_kick_is_what_presses_added_over_the_step_and_none_after_a_collision() -> None:
    work, free, new = freedoms_with([9.0, 9.0]), np.array([1.0, 2.0]), np.array([1.5, 1.0])
    plain(kicks.keep_kick)(False, H, free, new, work)
    assert work.kick.tolist() == [2.0, -4.0]
    plain(kicks.keep_kick)(True, H, free, new, work)
    assert not work.kick.any()


def test_a_step_is_found_once_more_where_turn_and_surprise_tell_together() -> None:
    """Slides count by the mechanism's length, 5 m: rates of 4 in all, off by 0.01 in all."""
    freedoms, work = table(FREEDOM, 3), freedoms_with([4.0, 0.0, -8.0])
    freedoms.linear = [1, 0, 0]
    free, new = np.array([3.0, 1.0, 4.0]), np.array([5.0, 1.0, 2.0])
    surprise = 0.002 + 0.003 + 0.005
    expected = H * work.kick + [0.01, -0.003, 0.005]
    work.kick = expected / H
    new[:] = free + H * np.array([4.0, 0.0, -8.0])
    size = new[0] / 5.0 + abs(new[1]) + abs(new[2])
    border = kicks.TELLS * size / surprise
    assert border > kicks.TURNS
    for turn, told in ((1.001 * border, True), (0.999 * border, False), (0.0, False)):
        assert plain(kicks.was_otherwise)(turn, False, 5.0, H, freedoms, work, free, new) == told
    work.kick = 0.0  # a surprise is no reason where bodies hardly turn
    assert not plain(kicks.was_otherwise)(0.999 * kicks.TURNS, False, 5.0, H, freedoms, work, free, new)
    assert plain(kicks.was_otherwise)(1.001 * kicks.TURNS, False, 5.0, H, freedoms, work, free, new)
    work.kick = (new - free) / H  # nor is any needed where bodies are by themselves
    for turn in (0.999 * kicks.TURNS, 1.001 * kicks.TURNS):
        assert plain(kicks.was_otherwise)(turn, True, 5.0, H, freedoms, work, free, new) == (turn > kicks.TURNS)
        assert not plain(kicks.was_otherwise)(turn, False, 5.0, H, freedoms, work, free, new)
