"""The list of near pairs holds every pair whose boxes meet, whatever moved since it was made."""

from __future__ import annotations

import numpy as np
import pytest

from sim.kernels.collision import near_pairs
from sim.kernels.shapes import MEETING
from sim.kernels.tables import table
from tests.kernels.plain import plain

pytestmark = [pytest.mark.contact, pytest.mark.fast]


@pytest.mark.parametrize("seed", range(4))
def test_no_pair_is_missed_and_most_steps_make_no_list(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shapes = 12
    ends = np.array([(i, j) for i in range(shapes) for j in range(i + 1, shapes)])
    meetings = table(MEETING, len(ends))
    meetings.a, meetings.b = ends.T
    wide, near, count = np.zeros((shapes, 6)), np.full(len(ends), -1), np.zeros(1, np.int64)
    centre, speed = rng.uniform(-1.0, 1.0, (shapes, 3)), 0.004 * rng.normal(size=(shapes, 3))
    half, made = rng.uniform(0.05, 0.3, (shapes, 3)), 0
    for _ in range(60):
        boxes, before = np.hstack([centre - half, centre + half]), wide.copy()
        boxes[0] = [-np.inf] * 3 + [np.inf] * 3  # a plane
        plain(near_pairs.list_near)(meetings, boxes, np.linalg.norm(speed, axis=1), wide, near, count)
        made += not np.array_equal(before, wide)
        low, high = boxes[:, :3], boxes[:, 3:]
        meet = {m for m, (i, j) in enumerate(ends) if (low[i] <= high[j]).all() and (low[j] <= high[i]).all()}
        listed = near[: count[0]].tolist()
        assert meet <= set(listed) and listed == sorted(set(listed))
        centre = centre + speed
    assert 2 <= made <= 15 and len(listed) < len(ends)
