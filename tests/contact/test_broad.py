"""Which shapes can be near: nobody who comes near is left out, and boxes are as tight as they can be at rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.kernels import broad
from sim.model import PLANE
from tests.contact.solids import EYE, Solid, kept, links_at, meet, random_solid, shape_table

pytestmark = [pytest.mark.contact, pytest.mark.fast]


class Crowd:
    """A slanted plane and many solids, some of them on the same link."""

    def __init__(self, seed: int, count: int, speed: float):
        self.rng = rng = np.random.default_rng(seed)
        floor = Solid(PLANE, np.zeros(3), np.array([0, 0, -2.0]), Rotation.from_euler("x", 0.2).as_matrix())
        self.solids = [floor] + [random_solid(rng, int(rng.integers(1, 6))) for _ in range(count)]
        for solid in self.solids[1:]:
            solid.x = rng.uniform(-3, 3, 3)
        self.shapes, self.x, self.R = shape_table(self.solids, rng)
        self.V = speed * rng.normal(size=(count + 2, 6))
        self.V[:2] = 0
        self.pose = np.zeros((2, 12))

    def boxes(self, margin: float, dt: float) -> np.ndarray:
        box, at = np.full((len(self.solids), 6), np.nan), links_at(self.x, self.R, self.V)
        broad.sweep_boxes(kept(self.shapes), at.x, at.R, at.V, margin, dt, box, self.pose)
        return box

    def of_groups(self, group: Any, mask: Any, margin: float, dt: float, order: np.ndarray, room: int = 5000) -> Any:
        pairs = np.full((room, 2), -1)
        box = self.boxes(margin, dt)
        group, mask, at = np.asarray(group), np.asarray(mask), links_at(self.x, self.R, self.V)
        count = broad.near_of_groups(
            kept(self.shapes), group, mask, at.x, at.R, at.V, box, margin, dt, pairs, order, self.pose
        )
        return count, [(int(i), int(j)) for i, j in pairs[: min(count, room)]]

    def of_list(self, pairs: np.ndarray, margin: float, dt: float) -> list[int]:
        near, box, at = np.full(len(pairs), -1), self.boxes(margin, dt), links_at(self.x, self.R, self.V)
        count = broad.near_of_list(kept(self.shapes), pairs, at.x, at.R, at.V, box, margin, dt, near, self.pose)
        return near[:count].tolist()

    def later(self, t: float) -> list[Solid]:
        moved = []
        for n, solid in enumerate(self.solids):
            V, x = self.V[n + 1], self.x[n + 1]
            turn = Rotation.from_rotvec(t * V[:3]).as_matrix()
            moved.append(Solid(solid.kind, solid.size, x + t * V[3:] + turn @ (solid.x - x), turn @ solid.R))
        return moved


def test_boxes_at_rest_touch_their_solids_on_six_sides() -> None:
    crowd = Crowd(0, 30, 1.0)
    box = crowd.boxes(0.25, 0.0)
    for n, solid in enumerate(crowd.solids[1:], start=1):
        high, low = solid.support(EYE), -solid.support(-EYE)
        np.testing.assert_allclose(box[n], np.concatenate([low - 0.25, high + 0.25]), rtol=0, atol=1e-13)


@pytest.mark.parametrize(("seed", "speed", "dt"), [(1, 0.3, 0.1), (2, 3.0, 0.1), (3, 0.5, 1.0), (4, 0.0, 1.0)])
def test_whoever_comes_within_the_margin_is_found(seed: int, speed: float, dt: float) -> None:
    crowd, margin = Crowd(seed, 14, speed), 0.05
    count = len(crowd.solids)
    _, found = crowd.of_groups([1] * count, [1] * count, margin, dt, np.arange(count))
    met = set()
    for t in np.linspace(0, dt, 6):
        moved = crowd.later(float(t))
        for j in range(count):
            for i in range(j):
                if meet(moved[i], moved[j], 0.0).distance <= margin:
                    met.add((i, j))
    assert len(met) >= 3
    assert met <= set(found)
    assert len(set(found)) == len(found)
    if speed == 0:  # and not everything is
        assert len(found) < count * (count - 1) / 3


def test_list_and_groups_agree() -> None:
    crowd = Crowd(5, 40, 1.0)
    count = len(crowd.solids)
    everyone = np.array([(i, j) for j in range(count) for i in range(j)])
    listed = {tuple(everyone[n].tolist()) for n in crowd.of_list(everyone, 0.01, 0.05)}
    number, found = crowd.of_groups([1] * count, [1] * count, 0.01, 0.05, np.arange(count))
    assert set(found) == listed
    assert number == len(found) > 30
    order = crowd.rng.permutation(count)
    assert crowd.of_groups([1] * count, [1] * count, 0.01, 0.05, order)[1] == found  # whatever it was sorted like
    assert crowd.of_list(everyone[::-1].copy(), 0.01, 0.05)[:1] != []


def test_groups_and_links_keep_shapes_apart() -> None:
    crowd = Crowd(6, 40, 1.0)
    count = len(crowd.solids)
    order = np.arange(count)
    _, everyone = crowd.of_groups([1] * count, [1] * count, 0.01, 0.0, order)
    group = np.where(np.arange(count) % 2, 1, 2)
    _, odd_with_even = crowd.of_groups(group, 3 - group, 0.01, 0.0, order)
    assert odd_with_even == [(i, j) for i, j in everyone if (i + j) % 2]
    assert 0 < len(odd_with_even) < len(everyone)
    one_sided = np.where(np.arange(count) % 2, 0, 3)  # only the even ones would
    assert crowd.of_groups([1] * count, one_sided, 0.01, 0.0, order)[1] == [
        (i, j) for i, j in everyone if not (i % 2 or j % 2)
    ]
    i, j = everyone[-1]
    crowd.shapes.link[j] = crowd.shapes.link[i]
    crowd.shapes.p_KS[j], crowd.shapes.R_KS[j] = crowd.shapes.p_KS[i], crowd.shapes.R_KS[i]
    assert (i, j) not in crowd.of_groups([1] * count, [1] * count, 0.01, 0.0, order)[1]


def test_pairs_beyond_the_room_are_counted() -> None:
    crowd = Crowd(7, 30, 1.0)
    count = len(crowd.solids)
    number, found = crowd.of_groups([1] * count, [1] * count, 0.1, 0.0, np.arange(count))
    fewer, written = crowd.of_groups([1] * count, [1] * count, 0.1, 0.0, np.arange(count), room=5)
    assert number == fewer > 5
    assert written == found[:5]
