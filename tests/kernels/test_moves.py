"""Whether a freedom of the tree changes what a row holds: along one branch, link by link."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sim.kernels import chosen
from tests.kernels.plain import plain

pytestmark = pytest.mark.fast

X = np.array([1.0, 0.0, 0.0])


def asked(wrench: Any, axis: Any, *, linear: int = 0, pitch: float = 0.0, top: int = 0) -> bool:
    """Ask of a chain of three links, of which the first has the freedom: what a row pulls at it with is a wrench."""
    links = SimpleNamespace(parent=np.array([-1, 0, 1, 2]), v=np.array([0, 0, 1, 1]), nv=np.array([0, 1, 0, 0]))
    freedoms = SimpleNamespace(linear=np.array([linear]), pitch=np.array([pitch]))
    looked: list[int] = []

    def wrench_about(blocks: Any, link_work: Any, row: Any, n: int, r: int, b: int) -> tuple[float, ...]:
        looked.append(b)
        assert (n, r) == (4, 5)
        return tuple(float(x) for x in wrench)

    moves = plain(chosen.moves, wrench_about=wrench_about)
    found = moves(5, 4, 3, top, links, freedoms, None, SimpleNamespace(axis=np.array([axis], float)), None, None)
    assert looked == [3, 2, 1][: 3 - top]
    return bool(found)


@pytest.mark.parametrize("k", range(6))
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_turn_is_moved_by_moments_about_it_and_a_slide_by_forces_along_it(k: int, sign: float) -> None:
    wrench = sign * np.eye(6)[k]
    for i, axis in enumerate(np.eye(3)):
        for side in (axis, -axis):
            assert asked(wrench, side) == (k == i)
            assert asked(wrench, side, linear=1) == (k == 3 + i)
            assert asked(wrench, side, pitch=0.1) == (k in (i, 3 + i))
            assert not asked(wrench, side, top=1, linear=int(k >= 3))  # the one below is the fork


@pytest.mark.parametrize("k", range(1, 6))
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_what_is_roundoff_beside_the_whole_wrench_does_not_move(k: int, sign: float) -> None:
    """By a share of the sum of all its parts, whatever their signs."""
    for share, does in ((0.9, False), (1.1, True)):
        wrench = np.zeros(6)
        wrench[k], wrench[0] = 3.0 * sign, share * chosen.UNMOVED * 3.0
        assert asked(wrench, X) == asked(-wrench, X) == does
        wrench[[0, 3]], wrench[k] = 0.0, 3.0 * sign
        if k != 3:
            wrench[3] = share * chosen.UNMOVED * 3.0
            assert asked(wrench, X, linear=1) == does


def test_a_screw_is_not_moved_by_a_moment_and_a_force_that_balance() -> None:
    assert not asked([0.25, 0, 0, -1.0, 0, 0], X, pitch=0.25)
    assert asked([0.25, 0, 0, 1.0, 0, 0], X, pitch=0.25)
