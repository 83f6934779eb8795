"""A ball on a face is placed by itself: to the bit as features of any kind are."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from sim.kernels.collision import features
from sim.kernels.scratch import LINK_WORK, TOUCH_WORK
from sim.kernels.shapes import BALL, FACE, LINE, TOUCH
from sim.kernels.status import Status
from sim.kernels.tables import table
from tests.kernels.plain import plain
from tests.support.rotations import random_matrix

pytestmark = [pytest.mark.contact, pytest.mark.fast]


def moving(seed: int, kinds: tuple[int, int]) -> SimpleNamespace:
    """Return a point of two features of these kinds on two links that move."""
    rng, links, touches = np.random.default_rng(seed), table(LINK_WORK, 3), table(TOUCH, 1)
    links.x[1:], links.V[1:] = rng.normal(size=(2, 3)), rng.normal(size=(2, 6))
    links.R[1:] = [random_matrix(rng).ravel() for _ in range(2)]
    touches.kind[0], touches.link[0] = kinds, rng.permutation([1, 2])
    touches.p[0], touches.r[0] = rng.normal(size=(2, 3)), rng.uniform(0.01, 0.2, size=2)
    for side in range(2):
        d = rng.normal(size=3)
        touches.d[0, side] = d / np.linalg.norm(d) if kinds[side] <= LINE else 0.0
    touches.r[0][np.array(kinds) == FACE] = 0.0
    n = rng.normal(size=3)
    touches.n[0] = n / np.linalg.norm(n)
    return SimpleNamespace(links=links, touches=touches)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kinds", [(FACE, BALL), (BALL, FACE)])
def test_it_is_where_any_two_features_are_and_moves_as_they_do(seed: int, kinds: tuple[int, int]) -> None:
    one = moving(seed, kinds)
    x, R, V = one.links.x, one.links.R, one.links.V
    status, gap, gap_dot, m, y1, y2, m_dot, moved = plain(features.ball_on_face)(one.touches, 0, x, R, V)
    placed = plain(features.place_touch)(one.touches, 0, x, R)
    assert (status, gap, m, y1, y2) == placed and status == Status.OK
    assert (status, gap_dot, m_dot, moved) == plain(features.move_touch)(one.touches, 0, x, R, V, gap, m, y1, y2)
    assert abs(gap_dot) > 1e-3 and np.linalg.norm(m_dot) > 1e-3


def test_points_with_one_normal_have_tangents_of_their_own_where_it_turns() -> None:
    """Two balls on a face that turns, then a third on another link's: each row is as if it stood alone."""
    first, other = moving(3, (FACE, BALL)), moving(4, (FACE, BALL))
    touches = table(TOUCH, 3)
    touches[:2], touches[2] = first.touches[0], other.touches[0]
    touches.p[1, 1] += 0.3
    links = first.links
    together = table(TOUCH_WORK, 3)
    plain(features.contact_points)(touches, links.x, links.R, links.V, 3, together)
    for k in range(3):
        alone = table(TOUCH_WORK, 1)
        plain(features.contact_points)(touches[k : k + 1], links.x, links.R, links.V, 1, alone)
        assert together[k].tobytes() == alone[0].tobytes()
    assert together[0].tobytes() != together[1].tobytes() and together.t1[0].tolist() == together.t1[1].tolist()
