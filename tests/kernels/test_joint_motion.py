"""Coordinates, rates and torques of joints that close loops, against joints that are moved by them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.kernels import forces
from sim.kernels.rows import constraints
from sim.kernels.tables import AXLE_ROW, COLUMN, EDGE_ROW, table
from tests.kernels.kinds import (
    CYLINDRICAL,
    FIXED,
    FREE,
    NV,
    PLANAR,
    ROTATIONAL,
    SCREW,
    SPHERICAL,
    TRANSLATIONAL,
    UNIVERSAL,
    close,
    columns_of,
)
from tests.kernels.moving import Pair, derivative, vee
from tests.kernels.plain import plain
from tests.kernels.trees import joint_pose

pytestmark = pytest.mark.fast

KINDS = (ROTATIONAL, TRANSLATIONAL, CYLINDRICAL, UNIVERSAL, PLANAR, SPHERICAL, FREE, SCREW)
TURNS = {
    ROTATIONAL: [0],
    CYLINDRICAL: [1],
    UNIVERSAL: [0, 1],
    PLANAR: [2],
    SCREW: [0],
}  # freedoms that count whole turns


class Carried:
    """A link that a joint carries: its coordinates are polynomials of time."""

    def __init__(self, pair: Pair, kind: str):
        self.pair, self.kind = pair, kind
        self.q = pair.rng.normal(size=(3, NV[kind]))  # values, rates, their derivatives

    def coordinates(self, t: float) -> np.ndarray:
        return np.asarray(self.q.T @ [1.0, t, t * t / 2])

    def pose(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Return place and axes of the link that M is on."""
        blocks, q = self.pair.blocks, self.coordinates(t)
        if self.kind in (SPHERICAL, FREE):
            q = np.r_[q[:-3], np.roll(Rotation.from_rotvec(q[-3:]).as_quat(), 1)]
        p, R = joint_pose(self.kind, q)
        x, A = self.pair.moving[0].pose(t)
        F = A @ blocks.R_aF[1].reshape(3, 3)
        M = F @ R
        B = M @ blocks.R_bM[1].reshape(3, 3).T
        return x + A @ blocks.p_aF[1] + F @ p - B @ blocks.p_bM[1], B

    def velocity(self, t: float) -> np.ndarray:
        _, R = self.pose(t)
        turning = vee(derivative(lambda t: self.pose(t)[1], t) @ R.T)
        return np.r_[turning, derivative(lambda t: self.pose(t)[0], t)]

    def acceleration(self, t: float) -> np.ndarray:
        return np.zeros(6)


def jointed(kind: str, seed: int = 0) -> tuple[Pair, Carried]:
    """Return two blocks, the second a joint of this kind between links 1 and 2, its columns from 2."""
    pair = Pair(10 * KINDS.index(kind) + seed, 2, 0)
    pair.blocks.a[1], pair.blocks.b[1] = 1, 2
    close(pair.blocks, 1, kind)
    pair.blocks.column[1] = 2
    carried = Carried(pair, kind)
    pair.moving[1] = carried
    return pair, carried


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_the_coordinates_that_place_the_child(kind: str, seed: int) -> None:
    """With the whole turns that were remembered, and rates along their own axes."""
    pair, carried = jointed(kind, seed)
    turns = TURNS.get(kind, [])
    n = NV[kind]
    turn = np.full(2 + n, 0.6)
    counted = carried.coordinates(0.1).copy()
    for k, times in zip(turns, (3, -2), strict=False):
        counted[k] += 2 * np.pi * times
        turn[2 + k] = counted[k] + 2.9 * (-1) ** times
    pair.go(0.1)
    coordinate, rate = np.full(2 + n, 9.0), np.full(2 + n, 9.0)
    pair.blocks.freedoms[0] = 0
    plain(forces.loop_columns)(pair.blocks, columns_of(kind, 2, 2 + n), pair.work, turn, coordinate, rate)
    if kind in (SPHERICAL, FREE):
        counted[-3:] = Rotation.from_rotvec(counted[-3:]).as_rotvec()
    for k in turns:
        counted[k] += 2 * np.pi * np.round((turn[2 + k] - counted[k]) / (2 * np.pi))
    np.testing.assert_allclose(coordinate, [9.0, 9.0, *counted], atol=1e-12)
    expected = derivative(carried.coordinates, 0.1)
    if kind in (SPHERICAL, FREE):

        def turned(t: float) -> np.ndarray:
            _, F, _, M = pair.frames(1, t)
            return np.asarray(F.T @ M)

        expected[-3:] = vee(turned(0.1).T @ derivative(turned, 0.1))
    np.testing.assert_allclose(rate, [9.0, 9.0, *expected], atol=1e-8)


@pytest.mark.parametrize("angle", [2.2, 3.0, -2.5, -3.1, np.pi - 1e-9, 1e-10, 0.0])
def test_the_turn_between_two_frames_is_a_rotation_vector(angle: float) -> None:
    """At any angle, and about axes of which any component is the largest."""
    for axis in ([0.36, -0.48, 0.8], [0.8, 0.36, -0.48], [-0.48, 0.8, 0.36], [0.1, 0.2, np.sqrt(0.95)]):
        pair, carried = jointed(SPHERICAL)
        carried.q[:] = 0.0
        carried.q[0] = angle * np.array(axis)
        pair.go(0.0)
        coordinate, rate = np.zeros(5), np.zeros(5)
        plain(forces.loop_columns)(pair.blocks, columns_of(SPHERICAL, 2, 5), pair.work, np.zeros(5), coordinate, rate)
        np.testing.assert_allclose(coordinate[2:], carried.q[0], atol=1e-8 if abs(angle) > 3.14 else 1e-14)


def slipping(codes: tuple[int, int], seed: int = 0) -> Pair:
    """Return three blocks, the last two of a constraint that slips along two directions, columns from 1."""
    pair = Pair(50 + seed, 3, 0)
    for n in (1, 2):
        pair.blocks.slips[n], pair.blocks.column[n], pair.blocks.freedoms[n] = 1, 2 * n - 1, n
        pair.blocks.code[n], pair.blocks.beside[n], pair.blocks.factor[n] = codes[0], codes[1], (1.0, -0.6)[n - 1]
    return pair


@pytest.mark.parametrize("codes", [(0, 1), (AXLE_ROW, 2), (EDGE_ROW, 4), (5, 8)])
def test_what_slips_has_rates_along_its_directions(codes: tuple[int, int]) -> None:
    pair = slipping(codes)
    pair.go(0.1)
    coordinate, rate = np.full(6, 9.0), np.full(6, 9.0)
    plain(forces.loop_columns)(pair.blocks, table(COLUMN, 6), pair.work, np.zeros(6), coordinate, rate)

    def along(n: int, code: int) -> float:
        e, frame = np.array(plain(constraints.direction)(code, pair.work, n)), pair.work[n]
        return float(e @ (frame.u if code < 3 or code in (AXLE_ROW, EDGE_ROW) else frame.w_FM))

    expected = [9.0, along(1, codes[0]), 9.0, -0.6 * along(2, codes[0]), -0.6 * along(2, codes[1]), 9.0]
    np.testing.assert_allclose(rate, expected, atol=1e-13)
    assert coordinate.tolist() == [9.0, 0.0, 9.0, 0.0, 0.0, 9.0]


def test_a_gear_that_slips_tells_the_sum_of_its_two_sides() -> None:
    pair = slipping((5, 5))
    blocks = pair.blocks
    blocks.column[2], blocks.freedoms[2], blocks.second[2] = 1, 1, 1
    blocks.mate[1], blocks.of[1], blocks.of[2], blocks.offset[1] = 2, 3, 4, 0.25
    pair.go(0.1)
    coordinate, rate = np.array([9.0, 9.0, 9.0, 0.7, -0.4]), np.full(5, 9.0)
    plain(forces.loop_columns)(blocks, table(COLUMN, 5), pair.work, np.zeros(5), coordinate, rate)
    along = [pair.work.R_WF[n].reshape(3, 3)[:, 2] @ pair.work.w_FM[n] for n in (1, 2)]
    np.testing.assert_allclose(rate, [9.0, along[0] - 0.6 * along[1], 9.0, 9.0, 9.0], atol=1e-13)
    np.testing.assert_allclose(coordinate, [9.0, 0.7 - 0.6 * -0.4 - 0.25, 9.0, 0.7, -0.4], atol=1e-13)


def power_is_that_of_the_torques(pair: Pair, n: int, kind: str = FIXED) -> None:
    """Whatever the velocities of the two links: their wrenches do what torques do at the rates of columns."""
    count = int(pair.blocks.column[-1] + pair.blocks.freedoms[-1])
    torque, columns = pair.rng.normal(size=count), columns_of(kind, 2, count)
    torque[0] = 0.0
    pair.work.own, pair.links.wrench = 4.0, 0.0
    pair.go(0.1)
    begun = pair.rng.normal(size=pair.links.wrench.shape)
    pair.links.wrench = begun
    plain(forces.loop_wrenches)(pair.blocks, columns, torque, pair.work, pair.links)
    wrench = pair.links.wrench - begun
    assert np.abs(wrench).max() > 0.05
    ends = (int(pair.blocks.a[n]), int(pair.blocks.b[n]))
    for link in range(1, 4):
        for unit in np.eye(6):
            pair.links.V[:] = 0.0
            pair.links.V[link] = unit
            plain(constraints.block_frames)(pair.blocks, pair.links, pair.work)
            coordinate, rate = np.zeros(count), np.zeros(count)
            plain(forces.loop_columns)(pair.blocks, columns, pair.work, np.zeros(count), coordinate, rate)
            assert wrench[link] @ unit == pytest.approx(torque @ rate, abs=1e-12)
    own, p = pair.work.own[n], pair.work.p_WM[n]
    on_b = np.r_[own[:3] + np.cross(p - pair.links.x[ends[1]], own[3:]), own[3:]]
    if pair.blocks.b.tolist().count(ends[1]) + pair.blocks.a.tolist().count(ends[1]) == 1:
        np.testing.assert_allclose(wrench[ends[1]], on_b, atol=1e-12)
    assert np.all(pair.work.own[0] == 0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_torques_of_loops_do_the_work_of_their_rates(kind: str) -> None:
    pair, _ = jointed(kind)
    pair.blocks.a[0], pair.blocks.b[0] = 0, 3
    power_is_that_of_the_torques(pair, 1, kind)


@pytest.mark.parametrize("codes", [(0, 1), (AXLE_ROW, 2), (EDGE_ROW, 4), (5, 8)])
def test_friction_of_what_slips_does_the_work_of_its_slip(codes: tuple[int, int]) -> None:
    power_is_that_of_the_torques(slipping(codes), 2)
