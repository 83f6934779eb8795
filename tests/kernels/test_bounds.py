"""Bounds of motion within a span, one by one: on curves of known coefficients, and along trees by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.interpolate import BPoly
from scipy.spatial.transform import Rotation

from sim.kernels import spatial
from sim.kernels.guards import spans
from sim.kernels.programs import COM, CONSTANT, COORDINATE, ENERGY, POSITION, RATE, ROTATION, TIME, VELOCITY
from sim.kernels.scratch import BLOCK_WORK, BODY_WORK, FREEDOM_WORK, LINK_WORK, SPAN
from sim.kernels.tables import BLOCK, LINK, POINT, STOP, table
from sim.kernels.watched import (
    ARMED,
    CLEAR,
    DISARMED,
    GUARD,
    GUARD_GAP,
    GUARD_HOLD,
    GUARD_STOP,
    SAMPLED,
    WAITING_TO_LEAVE,
    WITHIN,
)
from tests.kernels.kinds import (
    CYLINDRICAL,
    FIXED,
    FREE,
    PITCH,
    PLANAR,
    ROTATIONAL,
    SCREW,
    SPHERICAL,
    TRANSLATIONAL,
    UNIVERSAL,
    close,
    columns_of,
    lay_out,
)
from tests.kernels.plain import plain

pytestmark = pytest.mark.fast

SECONDS, AT = 0.25, 0.3
BEFORE, AFTER = AT * SECONDS, (1.0 - AT) * SECONDS


class Curves:
    """Random curves of seven coordinates and six rates, and two numbers beside, over 0.25 s."""

    def __init__(self, n: int, seed: int = 0):
        rng = np.random.default_rng(seed)
        self.n, self.state = n, rng.normal(size=(8, n))
        self.slope = 7.0 * np.diff(self.state, axis=0) / SECONDS
        self.span = np.concatenate([self.state.ravel(), self.slope.ravel()])

    def value(self, i: int) -> float:
        return float(BPoly(self.state[:, [i]], [0.0, 1.0])(AT))

    def rate(self, i: int) -> float:
        return float(BPoly(self.slope[:, [i]], [0.0, 1.0])(AT))


class Chain:
    """A planar joint, a free one, a ball and a universal joint, one after the other: 3 + 6 + 3 + 2 freedoms."""

    def __init__(self) -> None:
        links = self.links = table(LINK, 5)
        lay_out(links, [PLANAR, FREE, SPHERICAL, UNIVERSAL])
        links.column = [0, 1, 4, 10, 13]
        self.nq, self.nv = 16, 14
        self.curves = Curves(self.nq + self.nv + 2)
        for a in (6, 10):  # quaternions stay away from zero
            self.curves.state[:, a : a + 4] = [0.9, -0.5, 0.4, 0.7] + 0.01 * self.curves.state[:, a : a + 4]
        self.curves.slope = 7.0 * np.diff(self.curves.state, axis=0) / SECONDS
        self.curves.span = np.concatenate([self.curves.state.ravel(), self.curves.slope.ravel()])
        self.plain = [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (14, 12), (15, 13)]  # of q and v
        self.turning = [(6, 6), (10, 9)]


@pytest.mark.parametrize("at", [0.3, 0.8])
def test_motion_at_the_place_of_reference_and_how_far_rates_depart_from_it(at: float) -> None:
    chain = Chain()
    c = chain.curves
    q, v, off, most = np.full((4, 16), np.nan)
    plain(spans.put_motion)(chain.links, c.span, c.n, at, SECONDS, q, v, off, most)
    value = np.array([float(BPoly(c.state[:, [i]], [0.0, 1.0])(at)) for i in range(16)])
    rate = np.array([float(BPoly(c.slope[:, [i]], [0.0, 1.0])(at)) for i in range(16)])
    assert q == pytest.approx(value, abs=1e-13)
    for i, k in chain.plain:
        assert v[k] == pytest.approx(rate[i], rel=1e-12)
        assert off[k] == pytest.approx(np.abs(c.slope[:, i] - rate[i]).max(), rel=1e-12)
        assert most[k] == pytest.approx(np.abs(c.slope[:, i]).max(), rel=1e-12)
    ahead = SECONDS * max(at, 1.0 - at)
    for a, k in chain.turning:
        p, dp = value[a : a + 4], rate[a : a + 4]
        size = np.linalg.norm(p)
        # w = 2 q' conj(q) / |q|^2 in the child's axes: by the rotation of the unit quaternion a moment later.
        h = 1e-6
        R = [Rotation.from_quat((p + s * h * dp)[[1, 2, 3, 0]]) for s in (-1.0, 1.0)]
        assert v[k : k + 3] == pytest.approx((R[0].inv() * R[1]).as_rotvec() / (2 * h), abs=1e-7)
        slopes = c.slope[:, a : a + 4]
        fastest, away = np.linalg.norm(slopes, axis=1).max(), np.linalg.norm(slopes - dp, axis=1).max()
        least = size - ahead * fastest
        assert most[k] == pytest.approx(2.0 * fastest / least, rel=1e-12)
        departs = 2.0 * (away / least + np.linalg.norm(dp) * ahead * fastest / (least * size))
        assert off[k] == pytest.approx(departs, rel=1e-12)
        assert not off[k + 1 : k + 3].any() and not most[k + 1 : k + 3].any()


def test_a_quaternion_that_may_pass_zero_has_no_bound() -> None:
    chain = Chain()
    c, (a, k) = chain.curves, chain.turning[0]
    c.slope[3, a] = 1e3
    span = np.concatenate([c.state.ravel(), c.slope.ravel()])
    q, v, off, most = np.full((4, 16), np.nan)
    plain(spans.put_motion)(chain.links, span, c.n, AT, SECONDS, q, v, off, most)
    assert (off[k], most[k], off[k + 1], most[k + 2]) == (1e30, 1e30, 0.0, 0.0)


def test_coordinates_of_tree_joints_lie_between_their_coefficients() -> None:
    chain = Chain()
    c, links = chain.curves, chain.links
    coordinate = 0.1 * np.arange(16.0)
    ranges, rates = np.full((2, 16, 5), np.nan)
    plain(spans.tree_ranges)(links, c.span, c.n, chain.nq, SECONDS, AT, coordinate, ranges, rates)
    column = {0: 1, 1: 2, 2: 3, 3: 4, 4: 5, 5: 6, 12: 13, 13: 14}
    for i, k in chain.plain:
        own = ranges[column[k]]
        assert own[:2] == pytest.approx([c.state[:, i].min(), c.state[:, i].max()], abs=0.0)
        assert own[2:4] == pytest.approx([c.slope[:, i].min(), c.slope[:, i].max()], abs=0.0)
        assert own[4] == coordinate[column[k]]
    for k in range(chain.nv):
        i, own = chain.nq + k, rates[k + 1]
        assert own[:2] == pytest.approx([c.state[:, i].min(), c.state[:, i].max()], abs=0.0)
        assert own[2:4] == pytest.approx([c.slope[:, i].min(), c.slope[:, i].max()], abs=0.0)
        assert own[4] == pytest.approx(c.value(i), rel=1e-12)
    assert np.isnan(ranges[0]).all() and np.isnan(rates[15]).all()
    for k in (6, 9):  # turning freedoms: by the largest angular velocity, over the longer part of the span
        w = np.linalg.norm([np.abs(c.state[:, chain.nq + k + m]).max() for m in range(3)])
        for m in range(3):
            at, own = coordinate[k + 1 + m], ranges[k + 1 + m]
            wide = 0.5 * np.pi * w
            if np.linalg.norm(coordinate[k + 1 : k + 4]) + wide * AFTER < np.pi:
                assert own == pytest.approx([at - wide * AFTER, at + wide * AFTER, -wide, wide, at], rel=1e-12)
            else:
                assert own.tolist() == [-np.pi, np.pi, -np.inf, np.inf, at]


@pytest.mark.parametrize(("spin", "jumps"), [(7.99, False), (8.01, True)])
def test_a_rotation_vector_may_come_out_at_the_other_side(spin: float, jumps: bool) -> None:
    """(2, 3, 6) / 7 (pi - 4 pi / 5) long, over 0.2 s: half of pi times 8 rad/s goes 4 pi / 5."""
    vector = 0.2 * np.pi * np.array([9.0, 2.0, 3.0, 6.0, 9.0]) / 7.0
    ranges = np.full((5, 5), np.nan)
    plain(spans.put_rotation_vector)(1, vector, spin, 0.2, ranges)
    for i in (1, 2, 3):
        fast, x = 0.5 * np.pi * spin, vector[i]
        wanted = [-np.pi, np.pi, -np.inf, np.inf] if jumps else [x - 0.2 * fast, x + 0.2 * fast, -fast, fast]
        assert ranges[i] == pytest.approx([*wanted, x], rel=1e-13)
    assert np.isnan(ranges[[0, 4]]).all()


SLIDES = {
    ROTATIONAL: [False], TRANSLATIONAL: [True], CYLINDRICAL: [True, False], UNIVERSAL: [False, False],
    PLANAR: [True, True, False], SPHERICAL: [False] * 3, FREE: [True] * 3 + [False] * 3, SCREW: [False],
}  # fmt: skip


@pytest.mark.parametrize("kind", SLIDES)
def test_a_joint_departs_by_its_freedoms_that_turn_and_by_those_that_slide(kind: str) -> None:
    links, slides = table(LINK, 3), np.array(SLIDES[kind])
    freedoms = lay_out(links, [CYLINDRICAL, kind])
    off, most = np.arange(1.0, 10.0), 0.25 * np.arange(1.0, 10.0) ** 2
    own = slice(2, 2 + len(slides))
    for ahead in (0.1, 9.0):
        turn_off, turn_most, slide_off, slide_most = plain(spans.own_rates)(links, freedoms, 2, off, most, ahead)
        moves = np.where(slides, 1.0, PITCH * (kind == SCREW))
        assert (slide_off, slide_most) == pytest.approx(
            [np.linalg.norm(moves * a[own]) for a in (off, most)], rel=1e-14
        )  # fmt: skip
        more = most[3] * min(ahead * most[2], 2.0) if kind == UNIVERSAL else 0.0
        assert turn_off == pytest.approx(np.linalg.norm(off[own][~slides]) + more, rel=1e-14)
        assert turn_most == pytest.approx(np.linalg.norm(most[own][~slides]), rel=1e-14)


class Tree:
    """1 slides on the world and carries 2, which turns, and that 3, a cylindrical joint; 4 turns and carries 5.

    Freedoms: 0: of 1, 1: of 2, 2 and 3: of 3, 4: of 4, 5: of 5.  Every number is its own.
    """

    def __init__(self) -> None:
        links, work = table(LINK, 6), table(LINK_WORK, 6)
        links.parent = [0, 0, 1, 2, 0, 4]
        self.freedoms = lay_out(links, [TRANSLATIONAL, ROTATIONAL, CYLINDRICAL, ROTATIONAL, TRANSLATIONAL])
        work.d = np.array([[0, 0, 0], [0.2, 0.3, 0.6], [0.6, -0.2, 0.3], [0.4, 0.4, 0.2], [1, 2, 2], [0.1, 0.1, 0.1]])
        work.V[1:] = np.random.default_rng(1).normal(size=(5, 6))
        work.V[1, :3] = 0.0
        self.links, self.work = links, work
        self.off, self.most = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]), np.array([1.1, 1.2, 1.3, 1.4, 1.5, 1.6])
        self.ahead, self.spans = 0.3, table(SPAN, 6)

    def spread(self) -> np.recarray:
        plain(spans.spread_out)(
            self.links, self.freedoms, self.work, np.zeros(6), self.off, self.most, self.ahead, self.spans
        )  # fmt: skip
        return self.spans

    def moving(self) -> spans.Moving:
        """As kernels have it."""
        return spans.Moving(
            self.links, self.freedoms, self.work, None, None, self.off, self.most, self.spans, np.zeros(6, np.int64)
        )  # fmt: skip


def test_departures_grow_outward_along_the_tree() -> None:
    tree = Tree()
    found, w = tree.spread(), np.linalg.norm(tree.work.V[:, :3], axis=1)
    v = np.linalg.norm(tree.work.V[:, 3:], axis=1)
    assert found[0].item() == (0.0,) * 6 + (0,)
    assert found.root.tolist() == [0, 1, 1, 1, 4, 4]
    # 1 slides: it does not turn, and its own sliding is told apart.
    assert (found.spin_off[1], found.spin[1], found.turn[1], found.off[1]) == (0.0, 0.0, 0.0, 0.0)
    assert found.slide_off[1] == 0.1 and found.speed[1] == pytest.approx(v[1] + 0.1)
    # 2 turns about a place of 1, 0.7 m from its origin: that does not depart.
    spin_off, spin = 0.2, w[2] + 0.2
    turn = 0.3 * spin
    assert (found.spin_off[2], found.spin[2], found.turn[2]) == pytest.approx((spin_off, spin, turn))
    assert found.off[2] == 0.0 and found.slide_off[2] == 0.1 and found.speed[2] == pytest.approx(v[2] + 0.1)
    # 3 hangs 0.6 m from there, and further by how far 2 turns, and it slides, along an axis that 2 turns.
    moved = turn * 0.6 + 0.3 * 1.3
    off = spin_off * (0.6 + moved) + spin * moved + 0.3 + 1.3 * turn
    assert found.spin_off[3] == pytest.approx(spin_off + 0.4 + 1.4 * turn)
    assert found.spin[3] == pytest.approx(w[3] + found.spin_off[3])
    assert found.off[3] == pytest.approx(off) and found.speed[3] == pytest.approx(v[3] + off + 0.1)
    # 4 turns on the world; 5 slides along an axis of it.
    spin = w[4] + 0.5
    moved = 0.3 * spin * np.sqrt(0.03) + 0.3 * 1.6
    off = 0.5 * (np.sqrt(0.03) + moved) + spin * moved + 0.6 + 1.6 * 0.3 * spin
    assert found.off[4] == 0.0 and found.slide_off[4] == 0.0 and found.slide_off[5] == 0.0
    assert found.off[5] == pytest.approx(off) and found.spin_off[5] == 0.5
    assert found.speed[5] == pytest.approx(v[5] + off)


def test_nothing_goes_further_than_to_its_other_side() -> None:
    """However long the span is, a direction moves by two at most."""
    tree = Tree()
    tree.ahead = 50.0
    found, w = tree.spread(), np.linalg.norm(tree.work.V[:, :3], axis=1)
    moved = 2.0 * 0.6 + 50.0 * 1.3
    spin_off, spin = 0.2, w[2] + 0.2
    assert found.off[3] == pytest.approx(spin_off * (0.6 + moved) + spin * moved + 0.3 + 1.3 * 2.0)
    assert found.spin_off[3] == pytest.approx(spin_off + 0.4 + 1.4 * 2.0)
    assert found.turn[2] == pytest.approx(50.0 * spin)
    arm = 0.9
    wanted = found.off[3] + arm * (found.spin_off[3] + found.spin[3] * 2.0)
    assert plain(spans.departs)(found, 3, arm) == pytest.approx(wanted, rel=1e-14)
    found.turn[3] = 0.25
    wanted = found.off[3] + arm * (found.spin_off[3] + found.spin[3] * 0.25)
    assert plain(spans.departs)(found, 3, arm) == pytest.approx(wanted, rel=1e-14)


def test_the_link_on_which_both_hang() -> None:
    links = Tree().links
    for a, b, meet in ((3, 2, 2), (3, 1, 1), (3, 5, 0), (5, 4, 4), (0, 3, 0), (2, 2, 2), (5, 1, 0)):
        assert plain(spans.common_link)(links, a, b) == plain(spans.common_link)(links, b, a) == meet


@pytest.mark.parametrize("ahead", [0.3, 50.0])
def test_departures_as_seen_from_a_link_that_others_hang_on(ahead: float) -> None:
    tree = Tree()
    tree.ahead = ahead
    tree.links.parent[4], tree.links.nv[1] = 3, 1  # 1 - 2 - 3 - 4 - 5
    tree.spread()
    work, c = tree.work, np.array([0.7, -0.4, 0.9])
    work.x[5] = c - [0.2, 0.3, 0.6]  # an arm of 0.7 m
    rest = (ahead, tree.moving())
    found = plain(spans.path_departs)(tuple(c), 5, 0, *rest)
    wanted = (plain(spans.departs)(tree.spans, 5, 0.7), tree.spans.spin_off[5], tree.spans.spin[5])
    assert found == pytest.approx(wanted, rel=1e-13)
    assert plain(spans.path_departs)(tuple(c), 5, 5, *rest) == (0.0, 0.0, 0.0)
    # From 2: joint 3 slides and turns on it, 4 turns on that, 5 slides on 4.
    w = [np.linalg.norm(work.V[b, :3] - work.V[2, :3]) for b in range(6)]
    turn_off, spin = 0.4, w[3] + 0.4
    swing = min(ahead * spin, 2.0)
    d = 3.0
    moved = swing * d
    depart = 0.3 + turn_off * (d + moved) + spin * moved
    turn_off += 0.5 + 1.5 * swing
    spin = w[4] + turn_off
    swing, d = min(ahead * spin, 2.0), np.sqrt(0.03)
    moved = swing * d + ahead * 1.6
    depart += turn_off * (d + moved) + spin * moved + 0.6 + 1.6 * swing
    spin = w[5] + turn_off
    depart += 0.7 * (turn_off + spin * min(ahead * spin, 2.0))
    found = plain(spans.path_departs)(tuple(c), 5, 2, *rest)
    assert found == pytest.approx((depart, turn_off, spin), rel=1e-12)


def test_how_fast_a_root_slides_past_another_along_a_direction() -> None:
    """1 slides along one axis, 4 along three and turns; of each of seven coefficients the difference."""
    links, work, curves = table(LINK, 5), table(FREEDOM_WORK, 7), Curves(12)
    freedoms = lay_out(links, [TRANSLATIONAL, FIXED, FIXED, FREE])
    rng = np.random.default_rng(4)
    work.axis, v, n = rng.normal(size=(7, 3)), rng.normal(size=7), np.array([2.0, 3.0, -6.0]) / 7.0
    along, moving = work.axis @ n, spans.Moving(links, freedoms, None, work, v, None, None, None, None)
    one, other = along[0] * curves.slope[:, 0], curves.slope[:, 1:4] @ along[1:4]
    for a, b, rates in ((0, 1, one), (1, 4, other - one), (4, 1, one - other), (4, 0, -other), (0, 0, 0.0 * one)):
        low, high = plain(spans.root_slides)(moving, curves.span, a, b, tuple(n))
        assert (low, high) == pytest.approx((rates.min(), rates.max()), rel=1e-12, abs=1e-15)
    for b, rate in ((0, 0.0), (1, v[0] * along[0]), (4, v[1:4] @ along[1:4])):
        assert plain(spans.root_slides_now)(moving, b, tuple(n)) == pytest.approx(rate, rel=1e-13)


@pytest.mark.parametrize(
    ("r0", "r1", "low", "high"),
    [
        (-2.0, 3.0, -0.7, 1.4), (1.0, 3.0, -0.7, 1.4), (-2.0, -1.0, -0.1, 1.3), (-1.0, 0.5, 0.2, 0.9),
        (0.0, 0.0, 0.5, 0.5),
    ],
)  # fmt: skip
def test_reach_of_a_value_with_bounded_rates(r0: float, r1: float, low: float, high: float) -> None:
    """0.5 at the place of reference, 0.4 s after the start and 0.3 s before the end."""
    assert plain(spans.reach_of)(0.5, r0, r1, 0.4, 0.3) == pytest.approx((low, high), rel=1e-13)


# --- verdicts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        ((-1.0, 0.9e-9, -1.0, 1.0), CLEAR), ((-1.0, 1.1e-9, -1.0, 1.0), WITHIN), ((-0.9e-9, 1.0, -1.0, 1.0), CLEAR),
        ((-1.1e-9, 1.0, -1.0, 1.0), WITHIN), ((-1.0, 1.0, 0.0, 1.0), CLEAR), ((-1.0, 1.0, -1.0, 0.0), CLEAR),
        ((-1.0, 1.0, -1e-3, 1e-3), WITHIN),
    ],
)  # fmt: skip
def test_what_keeps_its_sign_or_only_rises_or_falls_is_clear(value: tuple[float, ...], verdict: int) -> None:
    assert plain(spans.verdict_of)(value) == verdict


class Stops:
    """A guard on a stop of a coordinate that lies within a range, and one of an angle."""

    def __init__(self, side: float, direction: float, angle: int = 0):
        self.stops, self.guards = table(STOP, 2), table(GUARD, 2)
        self.stops.column[1], self.stops.side[1], self.stops.bound[1], self.stops.angle[1] = 1, side, 0.4, angle
        self.guards.kind, self.guards.owner, self.guards.direction = GUARD_STOP, 1, direction
        self.guards.allowed[1], self.guards.armed = 0.01, ARMED
        self.coordinate = np.array([9.0, 0.2, 0.3, -0.6, 9.0])  # of length 0.7
        self.ranges = np.full((5, 5), 9.0)
        self.ranges[1] = [0.1, 0.6, -2.0, 3.0, 0.2]

    def interval(self) -> tuple[float, ...]:
        return plain(spans.depth_interval)(
            self.stops, self.guards, 1, self.coordinate, self.ranges, SECONDS, AT
        )  # fmt: skip

    def judged(self, g: int = 1) -> tuple[int, float]:
        told = np.zeros(5)
        work = SimpleNamespace(coordinate=self.coordinate, ranges=self.ranges)
        verdict = plain(spans.judge)(
            SimpleNamespace(stops=self.stops), work, self.guards, g, 0.0, spans.Stretch(np.zeros(3), SECONDS, AT), told
        )
        return verdict, told[2]


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_depth_of_a_stop_lies_between_those_of_its_range(side: float, direction: float) -> None:
    f = side * direction
    ends = sorted([f * (0.1 - 0.4) - 0.01, f * (0.6 - 0.4) - 0.01])
    assert Stops(side, direction).interval() == pytest.approx((*ends, *sorted([-2.0 * f, 3.0 * f])), rel=1e-13)


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize(("rate", "at"), [(2.0, 0.3), (8.0, 0.3), (40.0, 0.3), (2.0, 0.9), (np.inf, 0.3)])
def test_depth_of_a_stop_of_an_angle_follows_the_largest_rate(side: float, rate: float, at: float) -> None:
    one = Stops(side, 1.0, angle=1)
    one.ranges[1, 3] = rate
    reach = rate * SECONDS * max(at, 1.0 - at)
    low, high = max(0.7 - reach, 0.0), min(0.7 + reach, np.pi)
    ends = sorted([side * (low - 0.4) - 0.01, side * (high - 0.4) - 0.01])
    found = plain(spans.depth_interval)(one.stops, one.guards, 1, one.coordinate, one.ranges, SECONDS, at)
    assert found == pytest.approx((*ends, -rate, rate), rel=1e-13)


@pytest.mark.parametrize("about", range(3))
@pytest.mark.parametrize("what", [2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_swing_and_twist_stay_between_their_bounds(seed: int, what: int, about: int) -> None:
    """Whatever an angular velocity of that size does from the place of reference on, in depth and in its rate."""
    rng, spin = np.random.default_rng([seed, what, about]), [0.3, 3.0, 30.0][seed % 3]
    one = Stops(-1.0, 1.0, angle=what)
    one.stops.about[1], one.coordinate[1:4] = about, Rotation.random(random_state=seed).as_rotvec()
    one.ranges[1, 3] = 0.5 * np.pi * spin  # as `put_rotation_vector` has it
    low, high, d0, d1 = one.interval()
    value_of = plain(spatial.swing_of if what == 2 else spatial.twist_of)
    ahead, depths = SECONDS * max(AT, 1.0 - AT), []
    for _ in range(20):
        R, w = Rotation.from_rotvec(one.coordinate[1:4]), rng.normal(size=3)
        w *= spin / np.linalg.norm(w)
        for t in np.linspace(0.0, ahead, 30):
            r = (R * Rotation.from_rotvec(t * w)).as_rotvec()
            depths.append(-(value_of(*r, about) - 0.4) - 0.01)
            n = plain(spatial.swinging if what == 2 else spatial.twisting)(*r, about)
            assert d0 - 1e-9 <= -np.dot(w, n) <= d1 + 1e-9
    assert low - 1e-9 <= min(depths) and max(depths) <= high + 1e-9
    if spin < 1.0:
        assert high - low < 0.5 * np.pi * 2.0 * spin * ahead * 3.0 or np.isinf(d1)


def test_guards_are_judged_by_what_they_watch() -> None:
    one = Stops(1.0, 1.0)
    assert one.judged() == (WITHIN, 0.0)
    one.guards.kind[1] = GUARD_GAP
    one.ranges[1, :2] = [0.1, 0.2]  # clear, but shapes are not asked here
    assert one.judged() == (WITHIN, 0.0)
    one.guards.kind[1] = GUARD_STOP
    assert one.judged() == (CLEAR, 0.0)
    one.guards.kind[1] = GUARD_HOLD
    assert one.judged() == (SAMPLED, 0.0)
    one.guards.armed[1] = DISARMED
    assert one.judged() == (CLEAR, 0.0)
    one.guards.armed[1], one.guards.kind[1] = ARMED, GUARD_STOP
    one.ranges[1, :2] = np.nan
    assert one.judged() == (SAMPLED, 0.0)


@pytest.mark.parametrize(("peak", "left"), [(0.5, 5e-7), (1e-7, 1e-9), (0.0, 1e-9)])
def test_a_guard_that_waits_is_armed_where_it_has_left(peak: float, left: float) -> None:
    """By 1e-6 of its peak, or by 1e-9: then all of it is beyond that."""
    for high, armed in ((-1.01 * left, True), (-0.99 * left, False)):
        one = Stops(1.0, 1.0)
        one.stops.bound[1], one.guards.allowed[1] = 0.0, 0.0
        one.guards.armed[1], one.guards.peak[1] = WAITING_TO_LEAVE, peak
        one.ranges[1, :2] = [-1.0, high]
        assert one.judged() == (CLEAR, 1.0 if armed else 0.0)
        assert one.guards.armed[1] == (ARMED if armed else WAITING_TO_LEAVE)
        for low, rising, verdict in (
            (-0.99 * left, 1.0, CLEAR), (-1.01 * left, 1.0, WITHIN), (-1.0, 0.0, CLEAR), (-1.0, 1e-3, WITHIN),
        ):  # fmt: skip
            one = Stops(1.0, 1.0)
            one.stops.bound[1], one.guards.allowed[1] = 0.0, 0.0
            one.guards.armed[1], one.guards.peak[1] = WAITING_TO_LEAVE, peak
            one.ranges[1, :4] = [low, 0.5, -1.0, rising]
            assert one.judged() == (verdict, 0.0)


# --- formulas --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [0, 2])
def test_an_interval_is_closed_in_on_its_value(k: int) -> None:
    stack = np.full((3, 5), np.nan)
    plain(spans.keep_interval)((-1.0, 2.0, -3.0, 4.0), 0.5, 0.1, 0.2, k, stack)
    assert stack[k] == pytest.approx([0.5 - 0.6, 0.5 + 0.8, -3.0, 4.0, 0.5])
    assert plain(spans.interval_at)(stack, k) == tuple(stack[k, :4])
    plain(spans.keep_interval)((0.2, 0.6, -3.0, 4.0), 0.5, 0.1, 0.2, k, stack)
    assert stack[k].tolist() == [0.2, 0.6, -3.0, 4.0, 0.5]
    for value, here in (
        ((-1.0, 2.0, -np.inf, 4.0), 0.5),
        ((-1.0, 2.0, -3.0, np.inf), 0.5),
        ((-1.0, 2.0, -3.0, 4.0), np.nan),
    ):
        plain(spans.keep_interval)(value, here, 0.1, 0.2, k, stack)
        assert stack[k] == pytest.approx([*value, here], nan_ok=True)
    assert np.isnan(np.delete(stack, k, axis=0)).all()


class Formulas:
    """A body that slides and turns, and what instructions read of it."""

    def __init__(self) -> None:
        rng = np.random.default_rng(9)
        self.links, self.points, self.curves = table(LINK, 4), table(POINT, 3), Curves(6)
        self.links.body = [0, 1, 0, 2]
        self.of_freedoms = lay_out(self.links, [TRANSLATIONAL, ROTATIONAL, FIXED])
        self.points.body, self.points.p_B = [1, 2, 2], rng.normal(size=(3, 3))
        self.points.p_B[2] = [0.2, -0.3, 0.6]
        self.work, self.freedoms, self.bodies = table(LINK_WORK, 4), table(FREEDOM_WORK, 2), table(BODY_WORK, 3)
        self.work.x, self.work.V = rng.normal(size=(4, 3)), rng.normal(size=(4, 6))
        self.work.R = [Rotation.random(rng=rng).as_matrix().ravel() for _ in range(4)]
        self.work.I[1:] = rng.uniform(0.5, 2.0, (3, 10))
        self.freedoms.axis, self.v = rng.normal(size=(2, 3)), rng.normal(size=2)
        self.bodies.R_WB = [Rotation.random(rng=rng).as_matrix().ravel() for _ in range(3)]
        self.spans = table(SPAN, 4)
        self.spans.root, self.spans.off, self.spans.turn = [0, 1, 1, 1], [0.0, 0.1, 0.2, 0.3], [0.0, 0.4, 0.5, 0.01]
        self.spans.spin_off, self.spans.spin = [0.0, 0.6, 0.7, 0.8], [0.0, 0.9, 1.1, 1.2]
        self.spans.speed = [9.0, 1.3, 1.4, 1.5]
        self.ranges, self.rates = rng.normal(size=(2, 3, 5))

    def load(self, operation: int, argument: int, at: float = AT) -> tuple[tuple[float, ...], float]:
        return plain(spans.load_interval)(
            np.array([3.0, 4.0]), self.points, operation, argument, 5.0, spans.Stretch(self.curves.span, SECONDS, at),
            self.ranges, self.rates, self.bodies, self.moving(),
        )  # fmt: skip

    def moving(self) -> spans.Moving:
        """As kernels have it."""
        return spans.Moving(
            self.links, self.of_freedoms, self.work, self.freedoms, self.v, None, None, self.spans, None
        )  # fmt: skip


def test_what_an_instruction_reads_has_an_interval() -> None:
    one = Formulas()
    assert one.load(CONSTANT, 1) == ((4.0, 4.0, 0.0, 0.0), 4.0)
    assert one.load(TIME, 0) == ((5.0, 5.25, 1.0, 1.0), 5.0 + AT * SECONDS)
    assert one.load(COORDINATE, 2) == (tuple(one.ranges[2, :4]), one.ranges[2, 4])
    assert one.load(RATE, 2) == (tuple(one.rates[2, :4]), one.rates[2, 4])
    assert np.isnan([*one.load(ENERGY, 0)[0], one.load(ENERGY, 0)[1]]).all()


@pytest.mark.parametrize("k", range(3))
def test_a_point_has_the_rate_of_its_link_and_of_the_root_that_slides(k: int) -> None:
    """Point 2, on link 2 0.7 m from its origin; the root slides along one axis, whose rate is that of the curve."""
    one = Formulas()
    R, w = one.work.R[2].reshape(3, 3), one.work.V[2]
    arm = R @ one.points.p_B[2]
    value, rate = (one.work.x[2] + arm)[k], (w[3:] + np.cross(w[:3], arm))[k]
    off = 0.2 + 0.7 * (0.7 + 1.1 * 0.5)
    axis = one.freedoms.axis[0, k]
    slides = axis * one.curves.slope[:, 0]
    low, high = rate - one.v[0] * axis + slides.min() - off, rate - one.v[0] * axis + slides.max() + off
    assert plain(spans.point_rates)(one.points, 6 + k, one.curves.span, one.moving()) == pytest.approx(
        (value, low, high), rel=1e-12
    )
    interval, here = one.load(VELOCITY, 6 + k)
    assert interval == pytest.approx((low, high, -np.inf, np.inf), rel=1e-12)
    assert here == pytest.approx(0.5 * (low + high), rel=1e-12)
    interval, here = one.load(POSITION, 6 + k)
    reach = (value + min(0.0, -BEFORE * high, AFTER * low), value + max(0.0, -BEFORE * low, AFTER * high))
    assert interval == pytest.approx((*reach, low, high), rel=1e-12) and here == pytest.approx(value, rel=1e-13)


def test_entries_of_a_rotation_turn_no_further_than_the_body() -> None:
    """Body 0 is link 2, which turns by 0.5; 2 is link 3, by 0.01; nothing leaves -1 to 1."""
    one = Formulas()
    for body, turn, spin in ((0, 0.5, 1.1), (1, 0.4, 0.9), (2, 0.01, 1.2)):
        for entry in range(9):
            value = one.bodies.R_WB[body, entry]
            interval, here = one.load(ROTATION, 9 * body + entry)
            assert interval == (max(value - turn, -1.0), min(value + turn, 1.0), -spin, spin) and here == value


@pytest.mark.parametrize("at", [0.3, 0.8])
def test_the_centre_of_mass_is_as_fast_as_its_bodies_together(at: float) -> None:
    one = Formulas()
    mass, moments = one.work.I[1:, 0], one.work.I[1:, 1:4]
    speed = mass @ [1.3, 1.4, 1.5] + np.linalg.norm(moments, axis=1) @ [0.9, 1.1, 1.2]
    fast = speed / mass.sum()
    for k in range(3):
        value = (mass @ one.work.x[1:, k] + moments[:, k].sum()) / mass.sum()
        interval, here = one.load(COM, k, at)
        ahead = SECONDS * max(at, 1.0 - at)
        assert interval == pytest.approx((value - fast * ahead, value + fast * ahead, -fast, fast), rel=1e-12)
        assert here == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("kind", [ROTATIONAL, TRANSLATIONAL, CYLINDRICAL, SPHERICAL, UNIVERSAL, SCREW])
@pytest.mark.parametrize("hang", ["on the world", "on one link"])
def test_coordinates_of_loop_joints_go_as_far_as_both_sides_depart(kind: str, hang: str) -> None:
    """Sides depart by what `path_departs` tells; the rest is the turning of the parent's axes under both."""
    tree = Tree()
    tree.ahead = AFTER
    if hang == "on one link":
        tree.links.parent[4] = 2
    tree.spread()
    blocks, work = table(BLOCK, 2), table(BLOCK_WORK, 2)
    blocks.quaternion = -1
    close(blocks, 1, kind)
    blocks.column[1], blocks.a[1], blocks.b[1] = 2, 3, 5
    rng = np.random.default_rng(3)
    work.p_WM[1], work.w_FM[1], work.u[1] = rng.normal(size=(3, 3))
    place, w, u = tuple(work.p_WM[1]), np.linalg.norm(work.w_FM[1]), np.linalg.norm(work.u[1])
    coordinate, rate = np.linspace(0.1, 0.6, 6), np.linspace(-0.5, 0.5, 6)
    ranges, rates = np.full((2, 6, 5), 7.0)
    plain(spans.loop_ranges)(
        blocks, columns_of(kind, 2, 6), work, coordinate, rate, BEFORE, AFTER, tree.moving(), ranges, rates
    )  # fmt: skip
    meet, rest = 0 if hang == "on the world" else 2, (AFTER, tree.moving())
    (slide_a, off_a, spin_a), (slide_b, off_b, _) = (plain(spans.path_departs)(place, b, meet, *rest) for b in (3, 5))
    slides, swing = slide_a + slide_b, min(AFTER * spin_a, 2.0)
    if meet == 0:
        slides += 0.1
    slides = slides + (off_a + spin_a * swing) * AFTER * (u + slides)
    slides = slides + (u + slides) * swing
    turns = off_a + off_b + (w + off_a + off_b) * swing
    wide = {ROTATIONAL: [turns], SCREW: [turns], TRANSLATIONAL: [slides], CYLINDRICAL: [slides, turns]}.get(kind)
    for i in range(blocks.freedoms[1]):
        c = 2 + i
        off = wide[i] if wide else np.nan
        low, high = rate[c] - off, rate[c] + off
        assert rates[c] == pytest.approx([low, high, -np.inf, np.inf, rate[c]], rel=1e-12, nan_ok=True)
        assert ranges[c, 4] == coordinate[c]
        if wide:
            reach = [min(0.0, -BEFORE * high, AFTER * low), max(0.0, -BEFORE * low, AFTER * high)]
            assert ranges[c, :4] == pytest.approx([*(coordinate[c] + reach), low, high], rel=1e-12)
        elif kind == SPHERICAL:
            fast = 0.5 * np.pi * (w + off_a + off_b)
            inside = np.linalg.norm(coordinate[2:5]) + fast * AFTER < np.pi
            x = coordinate[c]
            wanted = [x - fast * AFTER, x + fast * AFTER, -fast, fast] if inside else [-np.pi, np.pi, -np.inf, np.inf]
            assert ranges[c, :4] == pytest.approx(wanted, rel=1e-12)
        else:
            assert np.isnan(ranges[c, :4]).all()
    assert (ranges[:2] == 7.0).all() and (rates[2 + blocks.freedoms[1] :] == 7.0).all()
