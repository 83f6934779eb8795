"""Which shapes can be near: nobody who comes near is left out, and boxes are as tight as they can be at rest."""

from __future__ import annotations

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

    def near(self, margin: float, dt: float) -> set[tuple[int, int]]:
        """Return all pairs of shapes that can meet, the lower one first."""
        box, at, count = self.boxes(margin, dt), links_at(self.x, self.R, self.V), len(self.solids)
        shapes = kept(self.shapes)
        return {
            (i, j)
            for j in range(count)
            for i in range(j)
            if broad.can_meet(shapes, i, j, at.x, at.R, at.V, box, margin, dt, self.pose)
        }

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
    count, found = len(crowd.solids), crowd.near(margin, dt)
    met = set()
    for t in np.linspace(0, dt, 6):
        moved = crowd.later(float(t))
        for j in range(count):
            for i in range(j):
                if meet(moved[i], moved[j], 0.0).distance <= margin:
                    met.add((i, j))
    assert len(met) >= 3
    assert met <= found
    if speed == 0:  # and not everything is
        assert len(found) < count * (count - 1) / 3
