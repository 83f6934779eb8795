"""Differences of two runs: of rotations the angle between them, whichever sign their quaternions have."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.analysis.verification.comparing import Output
from tests.support.rotations import random_quat

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("signs", [(1, 1), (1, -1), (-1, 1), (-1, -1)])
@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.3, 3.0, 3.1415])
def test_the_angle_between_two_rotations(angle: float, signs: tuple[int, int]) -> None:
    """q and -q are one rotation; the angle is that of scipy's rotation from the one to the other."""
    rng = np.random.default_rng(3)
    first = np.array([random_quat(rng) for _ in range(6)])
    turn = Rotation.from_rotvec(angle * np.array([2, -1, 2]) / 3)
    second = (turn * Rotation.from_quat(first, scalar_first=True)).as_quat(scalar_first=True)
    rotation = Output("rotation", "rad", "quat_wxyz", ("body",), angle=True)
    one, other = ({"quat_wxyz": sign * q[:, None]} for sign, q in zip(signs, (first, second), strict=True))
    assert rotation.difference(one, other) == pytest.approx(np.full((6, 1), angle), abs=2e-15 if angle < 1 else 1e-12)
