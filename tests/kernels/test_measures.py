"""How errors, steps and the nearness of singular positions are measured; what is kept from step to step."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from sim.kernels import motion
from sim.kernels.motion import AFAR, AHEAD, LANDING, LONG, NEAR, SOON
from sim.kernels.scratch import ONE_WORK, ROW_WORK
from sim.kernels.tables import BLOCK, ONE, table
from sim.kernels.watched import (
    ARMED,
    DISARMED,
    GUARD,
    GUARD_FRICTION,
    GUARD_HOLD,
    HYSTERESIS,
    LEAST_HYSTERESIS,
    WAITING_TO_LEAVE,
)
from tests.kernels.kinds import (
    CYLINDRICAL,
    FREE,
    PLANAR,
    ROTATIONAL,
    SCREW,
    SPHERICAL,
    TRANSLATIONAL,
    UNIVERSAL,
)
from tests.kernels.plain import plain
from tests.kernels.trees import Tree, moved
from tests.support.rotations import quat_product

pytestmark = pytest.mark.fast

LENGTH = 1.7


def error_of(tree: Tree, y: np.ndarray, e: np.ndarray) -> float:
    return float(plain(motion.error_norm)(tree.links, tree.freedoms, LENGTH, y, e, len(tree.q)))


def state(tree: Tree) -> np.ndarray:
    return np.r_[tree.q, tree.v, 0.0, 0.0]


@pytest.mark.parametrize("kind", [ROTATIONAL, TRANSLATIONAL, CYLINDRICAL, UNIVERSAL, PLANAR, SCREW])
def test_errors_of_coordinates_are_in_units_of_length_and_of_speed(kind: str) -> None:
    """The mean square over coordinates and rates alike; a joint before it counts, too."""
    tree = Tree(1, [(0, ROTATIONAL), (1, kind)], rotors=())
    y, n = state(tree), len(tree.v)
    for unit in np.eye(2 * n):
        e = np.r_[0.3 * unit, 0.0, 0.0]
        k = int(np.argmax(unit)) % n
        size = LENGTH if tree.freedoms.linear[k] else 1.0
        if np.argmax(unit) >= n:
            size += abs(tree.v[k])
        assert error_of(tree, y, e) == pytest.approx((0.3 / size) ** 2 / (2 * n), rel=1e-13)
    e = np.r_[tree.rng.normal(size=2 * n), 5.0, 6.0]
    parts = [error_of(tree, y, np.r_[unit * e[: 2 * n], 0.0, 0.0]) for unit in np.eye(2 * n)]
    assert error_of(tree, y, e) == pytest.approx(sum(parts), rel=1e-12)


@pytest.mark.parametrize("kind", [SPHERICAL, FREE])
def test_errors_of_quaternions_are_angles_whatever_their_length(kind: str) -> None:
    """What is along a quaternion turns nothing."""
    tree = Tree(2, [(0, TRANSLATIONAL), (1, kind)], rotors=())
    first = 1 + (3 if kind == FREE else 0)
    tree.q[first : first + 4] *= 1.3
    y, count = state(tree), 2 * len(tree.v)
    q = tree.q[first : first + 4]
    way = np.array([0.36, 0.48, -0.8])
    e = np.zeros_like(y)
    e[first : first + 4] = 0.5 * 1e-4 * quat_product(q, np.r_[0.0, way])
    assert error_of(tree, y, e) == pytest.approx(1e-8 / count, rel=1e-12)
    dq = np.zeros(len(tree.v))
    dq[-3:] = 1e-4 * way
    after = moved(tree, tree.q, dq)[first : first + 4]
    after *= np.sign(after @ q) * np.linalg.norm(q)
    np.testing.assert_allclose(after - q, e[first : first + 4], atol=1e-8)
    e[first : first + 4] = 0.2 * q
    assert error_of(tree, y, e) == pytest.approx(0.0, abs=1e-14)
    v = tree.v[-3:]
    for k in range(3):
        e = np.zeros_like(y)
        e[len(y) - 5 + k] = 0.3
        assert error_of(tree, y, e) == pytest.approx((0.3 / (1 + np.linalg.norm(v))) ** 2 / count, rel=1e-13)
        if kind == FREE:
            e = np.zeros_like(y)
            e[1 + k] = 0.3
            assert error_of(tree, y, e) == pytest.approx((0.3 / LENGTH) ** 2 / count, rel=1e-13)
            e = np.zeros_like(y)
            e[len(tree.q) + 1 + k] = 0.3
            speed = LENGTH + np.linalg.norm(tree.v[1:4])
            assert error_of(tree, y, e) == pytest.approx((0.3 / speed) ** 2 / count, rel=1e-13)


def test_nothing_that_moves_has_no_error() -> None:
    tree = Tree(3, [], rotors=())
    assert error_of(tree, np.zeros(2), np.ones(2)) == 0.0


def test_errors_of_work_are_beside_the_work_and_a_kinetic_energy() -> None:
    one = table(ONE, 1)
    one.length, one.mobility = LENGTH, 0.4
    for done in (-3.0, 3.0):
        assert plain(motion.work_norm)(one, done, 0.2) == pytest.approx((0.2 / (3.0 + LENGTH**2 / 0.4)) ** 2)


def test_displacements_and_first_steps_are_in_units_of_length() -> None:
    tree = Tree(5, [(0, PLANAR)], rotors=())
    dq = np.array([0.3, -0.4, 0.5])
    size = np.array([LENGTH, LENGTH, 1.0])
    found = plain(motion.moved_norm)(LENGTH, tree.freedoms, dq)
    assert found == pytest.approx(np.sqrt(np.mean((dq / size) ** 2)), rel=1e-13)
    assert plain(motion.moved_norm)(LENGTH, tree.freedoms, np.zeros(0)) == 0.0
    for v, vdot in ((dq, 0 * dq), (0 * dq, 3 * dq), (np.array([-4.0, 0, 0]), dq), (0 * dq, np.array([0, -9.0, 0]))):
        fastest = max(np.max(np.abs(v) / size), np.max(np.sqrt(np.abs(vdot) / size)))
        found = plain(motion.first_step)(LENGTH, tree.freedoms, v, vdot)
        assert found == pytest.approx(0.05 / (fastest + 1e-3), rel=1e-13)


def test_where_a_step_may_not_end() -> None:
    """Much nearer to a singular position than where it came from, and near by itself."""
    work = table(ONE_WORK, 1)
    work.widest = 2.0
    for sigma, before, lands in (
        (0.99 * LANDING * 2.0, 1.01 * LANDING * 2.0 / AFAR, True), (1.01 * LANDING * 2.0, 2.0, False),
        (0.99 * LANDING * 2.0, 0.98 * LANDING * 2.0 / AFAR, False),
    ):  # fmt: skip
        work.least, work.sigma = sigma, before
        assert bool(plain(motion.lands_on_singular)(work)) == lands


@pytest.mark.parametrize(
    ("before", "sigma", "span", "near", "told"),
    [
        (1.0, 0.5, 0.2, 1, math.inf),  # in one such step it is there
        (1.0, 0.3, 0.2, 1, 0.2 * 0.3 / 0.7),  # and near enough to say when
        (1.0, 0.9, 0.2, 0, math.inf),
        (0.35, 0.34, 0.2, 0, 0.2 * 0.34 / 0.01),
        (0.5, 0.334, 0.2, 0, 0.2 * 0.334 / 0.166),  # just beyond two steps
        (0.5, 0.332, 0.2, 1, 0.2 * 0.332 / 0.168),
        (0.11, 0.099, 0.2, 1, 0.2 * 0.099 / 0.011),
        (0.11, 0.101, 0.2, 0, 0.2 * 0.101 / 0.009),
        (0.05, 0.06, 0.2, None, math.inf),  # it goes away, but is near
        (0.05, 0.11, 0.2, 0, math.inf),
        (0.05, 0.04, 0.0, 1, math.inf),  # no time has passed
        (0.05, 0.05, 0.2, None, math.inf),
        (0.5, 0.5, 0.2, 0, math.inf),
        (0.505, 0.495, 0.2, 0, math.inf),  # it falls slowly now, if not slowly enough
        (0.505, 0.496, 0.2, 0, math.inf),
        (0.0605, 0.06, 0.2, 1, 0.2 * 0.06 / 0.0005),
    ],
)
@pytest.mark.parametrize("was", [0, 1])
def test_how_near_a_singular_position_is(
    before: float, sigma: float, span: float, near: int | None, told: float, was: int
) -> None:
    """Near while it draws nearer, until it is away and goes, or hardly comes; the time is that of a straight line."""
    assert (NEAR, AHEAD, SOON, LONG) == (0.1, 2.0, 0.35, 50.0)
    for scale in (1.0, 3.0):
        work = table(ONE_WORK, 1)
        work.widest, work.sigma, work.least, work.settled, work.near = scale, scale * before, scale * sigma, 0.4, was
        assert plain(motion.approach)(work, 0.4 + span) == pytest.approx(told, rel=1e-9)
        draws_away = near == 0 and (sigma >= before or sigma > 50.0 * (before - sigma))
        expected = 1 if near == 1 else (0 if draws_away else was)
        assert (work.near[0], work.sigma[0], work.settled[0]) == (expected, scale * sigma, 0.4 + span)
        assert work.widest[0] == scale
    work.least = 7.0
    plain(motion.approach)(work, 1.0)
    assert work.widest[0] == 7.0


def test_turns_of_loops_are_remembered() -> None:
    blocks = table(BLOCK, 3)
    blocks.column, blocks.freedoms = [1, 0, 5], [3, 0, 2]
    turn, coordinate = np.full(8, 9.0), np.arange(8.0)
    plain(motion.remember_turns)(blocks, coordinate, turn)
    assert turn.tolist() == [9, 1, 2, 3, 9, 5, 6, 9]


def test_guards_are_armed_again_once_their_value_has_left() -> None:
    """By a share of the largest that it came to, and no less than a least."""
    for value, peak, armed in (
        (-1.01 * HYSTERESIS * 5.0, 5.0, True), (-0.99 * HYSTERESIS * 5.0, 5.0, False), (0.2, 5.0, False),
        (-1.01 * LEAST_HYSTERESIS, 0.0, True), (-0.99 * LEAST_HYSTERESIS, 0.0, False), (-3.0, 1.0, True),
        (-HYSTERESIS * 5.0, 5.0, False),
    ):  # fmt: skip
        guards = table(GUARD, 3)
        guards.kind, guards.armed = GUARD_HOLD, [ARMED, WAITING_TO_LEAVE, DISARMED]
        guards.value, guards.peak, guards.allowed = value, peak, 0.5
        plain(motion.arm_again)(guards)
        assert guards.armed.tolist() == [ARMED, ARMED if armed else WAITING_TO_LEAVE, DISARMED]
        assert guards.peak.tolist() == [peak, max(peak, abs(value)), peak]
        assert guards.allowed.tolist() == [0.5] * 3


def test_a_freedom_that_has_come_to_move_is_allowed_nothing_more() -> None:
    guards = table(GUARD, 5)
    guards.kind, guards.allowed, guards.armed = (
        [GUARD_FRICTION, GUARD_FRICTION, GUARD_HOLD, GUARD_FRICTION, GUARD_FRICTION],
        0.3,
        ARMED,
    )
    guards.value = [-3.01, -2.99, -5.0, 4.0, -10.0 * 0.3]
    plain(motion.arm_again)(guards)
    assert guards.allowed.tolist() == [0.0, 0.3, 0.3, 0.3, 0.3]


def test_rows_that_act_are_kept_with_their_order_and_places() -> None:
    rows, one = table(ROW_WORK, 4), table(ONE_WORK, 1)
    rows.order, rows.place, rows.weak = [2, 0, 1, 3], [5, 6, 7, 8], [0.1, 0.2, 0.3, 0.4]
    one.rank, one.least_pivot, one.largest_pivot = 3, 0.25, 4.0
    keeps = np.array([9, 9, 9, 9])
    plain(motion.keep_rows)(SimpleNamespace(rows=rows, one=one, keeps=keeps))
    assert keeps.tolist() == [1, 1, 1, 0]
    assert one.kept_rank[0] == 3 and one.scale[0] == 4.0
    assert rows.kept.tolist() == [2, 0, 1, 3] and rows.kept_place.tolist() == [5, 6, 7, 8]
    assert rows.kept_weak.tolist() == [0.1, 0.2, 0.3, 0.4]


def test_a_slope_is_that_of_positions_velocities_and_both_powers() -> None:
    tree, one = Tree(6), table(ONE_WORK, 1)
    n = len(tree.v)
    tree.freedom_work.vdot, one.put_in, one.dissipated = np.arange(1.0, n + 1), 0.3, 0.7
    k = np.full(len(tree.q) + n + 2, 99.0)
    work = SimpleNamespace(freedoms=tree.freedom_work, one=one)
    plain(motion.write_slope)(SimpleNamespace(links=tree.links), work, tree.q, tree.v, k)
    qdot = np.zeros(len(tree.q))
    plain(motion.qdot)(tree.links, tree.q, tree.v, qdot)
    np.testing.assert_array_equal(k, [*qdot, *np.arange(1.0, n + 1), 0.3, 0.7])
