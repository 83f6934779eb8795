"""Closed points of contact: their rows against differences, their forces and friction against sums written out."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.kernels.rows import touches as kernels
from sim.kernels.scratch import BLOCK_WORK, CONTACT_WORK, LINK_WORK, ROW_WORK, TOUCH_WORK
from sim.kernels.shapes import BOX, CAPSULE, CYLINDER, ELLIPSOID, MEETING, SLIP, SLOW_SLIP, SPHERE, STICK, TOUCH
from sim.kernels.tables import BLOCK, ROW, table
from sim.kernels.watched import GUARD_CONE, GUARD_PULL, GUARD_SLIP, GUARD_SLOW_SLIP
from tests.contact.solids import meet, random_pair
from tests.kernels.moving import FRAMES
from tests.kernels.plain import plain

pytestmark = [pytest.mark.contact, pytest.mark.fast]

NOTHING = np.zeros(3)


def unit(a: np.ndarray) -> np.ndarray:
    return a / np.linalg.norm(a)


class Rolling:
    """Points of two solids whose links move and accelerate: one that sticks, one that slides, one that creeps."""

    def __init__(self, kinds: tuple[int, int], seed: int):
        rng = np.random.default_rng(seed)
        a, b = random_pair(rng, kinds, 0.01)
        meeting = meet(a, b, 10.0, rng)
        self.touches = table(TOUCH, 4)
        for k in range(4):
            self.touches[k] = meeting.touches[0]
        self.touches.mode, self.touches.block = [STICK, STICK, SLOW_SLIP, SLIP], [2, -1, 3, 0]
        self.x, self.R = meeting.x, meeting.R.reshape(3, 3, 3)
        self.V, self.A = rng.normal(size=(2, 3, 6))
        self.V[0] = self.A[0] = 0.0
        self.start = rng.normal(size=(4, 3))

    def at(self, t: float) -> SimpleNamespace:
        """The points a time later, the links' velocities being V + t A."""
        links, points, blocks = table(LINK_WORK, 3), table(TOUCH_WORK, 4), table(BLOCK_WORK, 4)
        links.x, links.V, links.A = (
            self.x + t * self.V[:, 3:] + 0.5 * t * t * self.A[:, 3:],
            self.V + t * self.A,
            self.A,
        )
        turns = Rotation.from_rotvec(t * self.V[:, :3] + 0.5 * t * t * self.A[:, :3]).as_matrix()
        links.R = (turns @ self.R).reshape(3, 9)
        points.start = self.start
        for name in FRAMES:
            blocks[name] = np.nan
        assert plain(kernels.touch_frames)(self.touches, links, points, blocks) == 0
        return SimpleNamespace(links=links, points=points, blocks=blocks)

    def rows(self, now: SimpleNamespace, every: int, keeps: np.ndarray) -> np.recarray:
        blocks, rows, work = table(BLOCK, 4), table(ROW, 9), table(ROW_WORK, 9)
        blocks.row, blocks.rows = [0, 9, 1, 4], [1, 0, 3, 2]
        rows.code = [2, 0, 1, 2, 2, 1, 0, 0, 0]
        work.row, work.slip, work.gamma = np.nan, np.nan, np.nan
        plain(kernels.touch_rows)(self.touches, blocks, rows, every, keeps, now.links, work, now.points)
        return work


PAIRS = [(SPHERE, ELLIPSOID), (CAPSULE, CYLINDER), (BOX, SPHERE), (ELLIPSOID, ELLIPSOID)]


@pytest.mark.parametrize("kinds", PAIRS)
def test_rows_of_points_are_what_differences_give(kinds: tuple[int, int]) -> None:
    """d/dt of e . u where links go on as they do: what vdot is to take back, for each of the axes t1, t2, n."""
    rolling, h = Rolling(kinds, 3), 1e-4
    now, near = rolling.at(0.0), [rolling.at(k * h) for k in (-2, -1, 1, 2)]
    work = rolling.rows(now, 1, np.zeros(9, bool))
    assert np.isnan(work.slip[6:]).all() and np.isnan(work.row[6:]).all()
    # Row by row: the point that is asked, and its axis.
    for r, (k, name) in enumerate([(3, "n"), (0, "t1"), (0, "t2"), (0, "n"), (2, "n"), (2, "t2")]):
        e, u = now.points[name][k], now.points.u[k]
        assert work.row[r] == pytest.approx([0, 0, 0, *e], abs=1e-15)
        assert work.slip[r] == pytest.approx(e @ u, abs=1e-13)
        v = [at.points[name][k] @ at.points.u[k] for at in near]
        assert -work.gamma[r] == pytest.approx((v[0] - 8 * v[1] + 8 * v[2] - v[3]) / (12 * h), rel=1e-6, abs=1e-7)
    for r in range(6):
        some = rolling.rows(now, 0, np.arange(9) == r)
        assert np.flatnonzero(~np.isnan(some.gamma)).tolist() == [r]
        assert some[r].tobytes() == work[r].tobytes()


@pytest.mark.parametrize("kinds", PAIRS)
def test_frames_of_points_say_where_they_are_and_how_they_move(kinds: tuple[int, int]) -> None:
    rolling = Rolling(kinds, 5)
    now = rolling.at(0.0)
    p, (a, b) = now.points.p, rolling.touches.link[0]
    speeds = [rolling.V[link, 3:] + np.cross(rolling.V[link, :3], p[0] - rolling.x[link]) for link in (a, b)]
    for k, block in ((0, 2), (3, 0), (2, 3)):
        point, frame = now.points[k], now.blocks[block]
        assert point.u == pytest.approx(speeds[1] - speeds[0], abs=1e-13)
        axes = np.column_stack([point.t1, point.t2, point.n])
        assert axes.T @ axes == pytest.approx(np.eye(3), abs=1e-13)
        assert np.linalg.det(axes) == pytest.approx(1.0, abs=1e-13)
        assert frame.p_WM == pytest.approx(p[0], abs=1e-15)
        for name in ("R_WF", "R_WM"):
            assert frame[name].reshape(3, 3) == pytest.approx(axes, abs=1e-15)
        assert frame.w_FM == pytest.approx(rolling.V[b, :3] - rolling.V[a, :3], abs=1e-15)
        assert frame.u == pytest.approx(point.u, abs=1e-15)
        assert frame.p_FM == pytest.approx(point.gap * point.n, abs=1e-15)
    assert all(np.isnan(now.blocks[name][1]).all() for name in FRAMES)  # nobody has that block
    assert now.points.u == pytest.approx(np.tile(speeds[1] - speeds[0], (4, 1)), abs=1e-13)
    for k in (0, 1, 3):  # of those that stick, too, and of one that has no block
        along, began = (a - now.points.n[k] * (now.points.n[k] @ a) for a in (now.points.u[k], rolling.start[k]))
        on = along if along @ began >= 0 else along - 2 * began * (began @ along) / (began @ began)
        assert now.points.slip[k] == pytest.approx(unit(on), abs=1e-12)
    way = rolling.start[2] - now.points.n[2] * (now.points.n[2] @ rolling.start[2])
    assert now.points.t1[2] == pytest.approx(unit(way), abs=1e-13)


@pytest.mark.parametrize("kinds", PAIRS)
def test_tangents_of_a_point_that_creeps_turn_with_its_normal(kinds: tuple[int, int]) -> None:
    rolling, h = Rolling(kinds, 7), 1e-4
    now, near = rolling.at(0.0), [rolling.at(k * h).points for k in (-2, -1, 1, 2)]
    for name in ("t1", "t2"):
        v = [points[name][2] for points in near]
        difference = (v[0] - 8 * v[1] + 8 * v[2] - v[3]) / (12 * h)
        assert now.points[name + "_dot"][2] == pytest.approx(difference, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize(
    ("before", "angle", "kept"),
    [(1.0, 0.4, True), (0.3, -0.4, True), (1.0, 0.5, False), (1.0, 1.6, False), (1.0, 3.1, False), (0.0, 0.0, False)],
)
def test_friction_of_a_point_that_creeps_goes_on_near_its_way_alone(before: float, angle: float, kept: bool) -> None:
    """What is in the surface of its direction goes on; one that a trial step has turned away is that of the way."""
    points = table(TOUCH_WORK, 2)
    n, n_dot, way = unit(np.array([2.0, -1.0, 2.0])), np.array([0.3, 0.6, 0.0]), np.array([0.5, 0.2, -0.9])
    along = unit(way - n * (n @ way))
    side = np.cos(angle) * along + np.sin(angle) * np.cross(n, along)
    points.n[1], points.n_dot[1], points.start[1] = n, n_dot, way
    points.slip[1] = before * side + np.sqrt(1.0 - before * before) * n
    plain(kernels.frame_of_way)(1, points)
    assert points.slip[1] == pytest.approx(side if kept else along, abs=1e-14)
    assert points.t1[1] == pytest.approx(along, abs=1e-14)
    assert points.t2[1] == pytest.approx(np.cross(n, points.t1[1]), abs=1e-14)
    assert not points.t1[0].any() and not points.slip[0].any()


START = 1.1 / 7.0 * np.array([2.0, 3.0, -6.0])  # of length 1.1


@pytest.mark.parametrize("speed", [3.0, 7.99e-6, 8.01e-6, 2e-6, 0.0])
@pytest.mark.parametrize("angle", [0.4, 1.5, 1.7, 2.9, -2.0])
def test_sliding_goes_on_from_how_it_began(speed: float, angle: float) -> None:
    """Backward it is mirrored; slower than 8e-6 m/s it leans to where it began, by 1e-6 m/s at a standstill."""
    s, side = START / 1.1, np.array([3.0, -2.0, 0.0]) / 13**0.5
    t = speed * (np.cos(angle) * s + np.sin(angle) * side)
    found = np.array(plain(kernels.going_on)(tuple(t), tuple(START), kernels.CLEAR))
    wanted = speed * (abs(np.cos(angle)) * s + np.sin(angle) * side)
    wanted = wanted + 1e-6 * max(1.0 - speed / 8e-6, 0.0) ** 2 * START
    assert found == pytest.approx(unit(wanted), abs=1e-13)
    assert np.array(plain(kernels.going_on)(tuple(t), (0.0, 0.0, 0.0), kernels.CLEAR)) == pytest.approx(
        t / speed if speed else t, abs=1e-13
    )


def test_directions_of_sliding_are_kept_where_something_slides() -> None:
    touches, points = table(TOUCH, 5), table(TOUCH_WORK, 5)
    touches.mode = [SLIP, SLOW_SLIP, SLIP, SLIP, STICK]
    points.slip = unit(np.array([0.5, -0.3, 0.8]))
    points.u = np.array([1.01e-6, 1.0, 0.99e-6, -1.0, 2.0])[:, None] * points.slip
    plain(kernels.go_on_sliding)(touches, points)
    assert points.start == pytest.approx(np.array([1, 0, 0, 0, 1])[:, None] * points.slip, abs=1e-16)
    points.u[0], points.start[0] = [0.3, 0.0, 0.0], 0.0  # the whole of u . slip, not one part of it
    for axis in range(3):
        points.slip[0], points.u[0], points.start[0] = np.eye(3)[axis], 0.1 * np.eye(3)[axis], 0.0
        plain(kernels.go_on_sliding)(touches, points)
        assert points.start[0].tolist() == np.eye(3)[axis].tolist()


class Rubbing:
    """Points on links of their own, with forces of rows, as the sums below write them out."""

    modes = (SLIP, STICK, SLOW_SLIP, SLIP)

    def __init__(self, seed: int = 2):
        rng = np.random.default_rng(seed)
        self.touches, self.points, self.links = table(TOUCH, 4), table(TOUCH_WORK, 4), table(LINK_WORK, 4)
        self.touches.mode, self.touches.link = self.modes, [[1, 2], [0, 1], [3, 1], [2, 3]]
        self.touches.friction, self.touches.block = [0.4, 0.9, 0.7, 0.25], [3, 1, 0, 2]
        self.points.p, self.links.x = rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
        for k in range(4):
            frame = Rotation.random(rng=rng).as_matrix()
            self.points.t1[k], self.points.t2[k], self.points.n[k] = frame.T
            self.points.slip[k] = np.cos(k + 0.5) * frame[:, 0] + np.sin(k + 0.5) * frame[:, 1]
        self.points.u = rng.normal(size=(4, 3))
        self.blocks, self.rows, self.row_work = table(BLOCK, 4), table(ROW, 9), table(ROW_WORK, 9)
        self.blocks.row, self.blocks.rows = [1, 3, 6, 8], [2, 3, 1, 1]
        self.rows.code, self.row_work.force = (
            [0, 2, 1, 0, 1, 2, 2, 0, 2],
            [9.0, 3.0, 1.2, -2.0, 0.5, 4.0, 5.0, 9.0, 7.0],
        )

    def wrenches(self, forces: list[tuple[int, np.ndarray]]) -> np.ndarray:
        """Of forces on the second links of points and against them on the first: moments and forces."""
        out = np.zeros((4, 6))
        for k, f in forces:
            for sign, link in zip((-1.0, 1.0), self.touches.link[k], strict=True):
                out[link] += [*np.cross(self.points.p[k] - self.links.x[link], sign * f), *(sign * f)]
        return out


def test_friction_acts_on_both_links() -> None:
    for k in range(4):
        one = Rubbing()
        wrench = np.full((4, 6), 0.5)
        plain(kernels.rub)(one.touches, k, 3.0, one.links, one.points, wrench)
        f = -3.0 * one.touches.friction[k] * one.points.slip[k]
        assert wrench - 0.5 == pytest.approx(one.wrenches([(k, f)]), abs=1e-14)
    one, f = Rubbing(), np.array([2.0, 3.0, 5.0, 99.0])
    plain(kernels.rub_all)(one.touches, -1.5, f, one.links, one.points)
    mu, d = one.touches.friction, one.points.slip
    wanted = one.wrenches([(k, 1.5 * f[i] * mu[k] * d[k]) for i, k in enumerate((0, 2, 3))])
    assert one.links.wrench == pytest.approx(wanted, abs=1e-14)
    dissipated = np.full(2, 7.0)
    plain(kernels.rubbing_power)(one.touches, one.points, f, dissipated)
    taken = sum(f[i] * mu[k] * (one.points.u[k] @ d[k]) for i, k in enumerate((0, 2, 3)))
    assert dissipated == pytest.approx([7.0 + taken, 7.0], abs=1e-13)


def test_forces_of_points_are_those_of_their_rows_and_of_friction() -> None:
    one = Rubbing()
    points, d, mu = one.points, one.points.slip.copy(), one.touches.friction
    plain(kernels.touch_forces)(one.touches, one.blocks, one.rows, one.row_work, points)
    assert points.pressing == pytest.approx([7.0, 4.0, 3.0, 5.0], rel=1e-15)
    assert points.holding == pytest.approx([0.4 * 7.0, np.hypot(2.0, 0.5), 0.7 * 3.0, 0.25 * 5.0], rel=1e-15)
    wanted = [
        7.0 * points.n[0] - 0.4 * 7.0 * d[0],
        -2.0 * points.t1[1] + 0.5 * points.t2[1] + 4.0 * points.n[1],
        3.0 * points.n[2] + 1.2 * points.t2[2] - mu[2] * 3.0 * d[2],
        5.0 * points.n[3] - 0.25 * 5.0 * d[3],
    ]
    assert points.force == pytest.approx(np.array(wanted), abs=1e-14)
    meetings, contacts = table(MEETING, 3), table(CONTACT_WORK, 3)
    one.touches.meeting, meetings.rule, meetings.named = [2, 0, 1, 2], [1, 0, 1], [1, 3, 2]
    contacts.force = 0.25
    plain(kernels.sum_forces)(one.touches, meetings, points, contacts)
    f = points.force
    assert contacts.force - 0.25 == pytest.approx(np.array([-f[2], f[1] + f[0] - f[3], NOTHING]), abs=1e-14)
    one.touches.block[:] = [-1, 1, -1, 2]  # what has no block has no force
    plain(kernels.touch_forces)(one.touches, one.blocks, one.rows, one.row_work, points)
    assert not points.force[[0, 2]].any() and not points.pressing[[0, 2]].any() and not points.holding[[0, 2]].any()
    assert points.force[[1, 3]] == pytest.approx(np.array(wanted)[[1, 3]], abs=1e-14)


def test_points_that_creep_are_told_from_others() -> None:
    one = Rubbing()
    assert plain(kernels.creeps)(one.touches)
    one.touches.mode[2] = SLIP
    assert not plain(kernels.creeps)(one.touches)
    one.touches.mode[:] = [SLOW_SLIP, STICK, STICK, STICK]
    assert plain(kernels.creeps)(one.touches)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_point_that_creeps_is_held_across_by_more_than_nothing(sign: float) -> None:
    """1e-10 of its friction 0.7 * 3 N; one that does not press is not."""
    one = Rubbing()
    for beside, held in ((1.01 * 2.1e-10, True), (0.99 * 2.1e-10, False)):
        one.row_work.force[2] = sign * beside
        assert plain(kernels.held_across)(one.blocks, one.touches, one.row_work) == held
    one.row_work.force[1:3] = [0.0, sign]
    assert not plain(kernels.held_across)(one.blocks, one.touches, one.row_work)
    one.row_work.force[1] = 0.5
    assert plain(kernels.held_across)(one.blocks, one.touches, one.row_work)
    one.touches.mode[2] = SLIP
    assert not plain(kernels.held_across)(one.blocks, one.touches, one.row_work)


def test_friction_of_what_creeps_turns_to_where_both_forces_point() -> None:
    one = Rubbing()
    d, t2 = one.points.slip.copy(), one.points.t2
    plain(kernels.turn_friction)(one.blocks, one.touches, one.row_work, one.points)
    both = -0.7 * 3.0 * d[2] + 1.2 * t2[2]  # what the surface does to the point along itself
    assert one.points.slip[2] == pytest.approx(-unit(both), abs=1e-14)
    assert (one.points.slip[[0, 1, 3]] == d[[0, 1, 3]]).all()
    one.row_work.force[1], one.points.slip[2] = 0.0, d[2]
    plain(kernels.turn_friction)(one.blocks, one.touches, one.row_work, one.points)
    assert one.points.slip[2] == pytest.approx(d[2], abs=1e-15)


def test_what_is_watched_of_a_point() -> None:
    """That it pulls, that it holds more than its cone, that it slides back; what of it creeps: see below."""
    one = Rubbing()
    one.points.pressing, one.points.holding = [2.0, -3.0, 5.0, 7.0], [0.7, 0.9, 0.1, 2.5]
    one.points.start = np.random.default_rng(1).normal(size=(4, 3))
    for k in range(4):
        assert plain(kernels.touch_guard)(GUARD_PULL, k, one.touches, one.points) == -one.points.pressing[k]
        found = plain(kernels.touch_guard)(GUARD_CONE, k, one.touches, one.points)
        assert found == pytest.approx(one.points.holding[k] - one.touches.friction[k] * one.points.pressing[k])
        found = plain(kernels.touch_guard)(GUARD_SLIP, k, one.touches, one.points)
        assert found == pytest.approx(-(one.points.u[k] @ one.points.start[k]), rel=1e-14)


@pytest.mark.parametrize(
    ("speed", "turned", "value"),
    [
        (2e-5, 0.03, -2e-6), (2e-5, -0.03, -2e-6), (-3e-5, 0.0, 3e-5), (9.9e-5, 0.0, -1e-6), (1.5e-4, 0.01, 5e-5),
        (5e-5, 0.3, 2.5e-5), (5e-5, -0.3, 2.5e-5),
    ],
)  # fmt: skip
def test_a_creep_ends_where_it_stops_is_fast_or_goes_another_way(speed: float, turned: float, value: float) -> None:
    """Speeds of 0 and 1e-4 m/s; a sine of 0.05 between its friction and its way, told as 1e-4 m/s."""
    one = Rubbing()
    t1, t2, n = one.points.t1[2], one.points.t2[2], one.points.n[2]
    one.points.u[2] = speed * t1 + 0.3 * t2 - 0.2 * n
    one.points.slip[2] = np.sqrt(1.0 - turned**2) * t1 + turned * t2
    assert plain(kernels.touch_guard)(GUARD_SLOW_SLIP, 2, one.touches, one.points) == pytest.approx(value, abs=1e-15)
