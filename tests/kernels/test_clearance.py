"""How fast two shapes may come together within a span, and forces of rows that repeat one another."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.kernels import chosen
from sim.kernels.guards import clearance
from sim.kernels.guards.spans import Moving, Stretch
from sim.kernels.scratch import FREEDOM_WORK, LINK_WORK, ROW_WORK, SPAN, TOUCH_WORK
from sim.kernels.shapes import BOX, CAPSULE, CYLINDER, ELLIPSOID, PLANE, SPHERE, TOUCH
from sim.kernels.tables import BLOCK, LINK, ROW, table
from sim.kernels.unilateral import cones, contact_solver, contact_system
from sim.kernels.watched import DISARMED, GUARD, GUARD_GAP, GUARD_PULL, GUARD_STOP
from tests.contact.solids import Solid, shape_table
from tests.kernels.kinds import TRANSLATIONAL, lay_out
from tests.kernels.plain import plain
from tests.kernels.test_bounds import Curves

pytestmark = [pytest.mark.contact, pytest.mark.fast]

SIZES = {
    PLANE: [0, 0, 0], SPHERE: [0.3] * 3, CAPSULE: [0.1, 0.1, 1.4], BOX: [0.4, 0.6, 1.2], CYLINDER: [0.5, 0.5, 0.6],
    ELLIPSOID: [0.2, 0.9, 0.4],
}  # fmt: skip
BALL = {SPHERE: 0.3, CAPSULE: 0.8, BOX: 0.7, CYLINDER: 0.8, ELLIPSOID: 0.9}  # radius about it, of all
TURNS = {SPHERE: 0.0, CAPSULE: 0.7, BOX: 0.7, CYLINDER: 0.8, ELLIPSOID: 0.9}  # of what turning moves


class Pair:
    """Two shapes on links 1 and 2, which hang on the world and slide along it, with bounds of how they move."""

    def __init__(self, a: int, b: int, seed: int = 3):
        rng = np.random.default_rng(seed)
        self.solids = [
            Solid(kind, np.array(SIZES[kind], float), rng.normal(size=3), Rotation.random(rng=rng).as_matrix())
            for kind in (a, b)
        ]
        self.shapes, x, R = shape_table(self.solids, rng)
        self.links, self.work, self.freedoms = table(LINK, 3), table(LINK_WORK, 3), table(FREEDOM_WORK, 2)
        self.of_freedoms = lay_out(self.links, [TRANSLATIONAL] * 2)
        self.work.x, self.work.R, self.work.V[1:] = x, R, rng.normal(size=(2, 6))
        self.freedoms.axis, self.v, self.curves = rng.normal(size=(2, 3)), rng.normal(size=2), Curves(5)
        self.spans = table(SPAN, 3)
        self.spans.root, self.spans.spin_off, self.spans.spin = [0, 1, 2], [0.0, 0.3, 0.4], [0.0, 2.5, 3.5]
        self.spans.turn, self.spans.off, self.spans.slide_off = [0.0, 0.5, 0.6], [0.0, 0.1, 0.2], [0.0, 0.15, 0.25]
        self.spans.speed = [0.0, 1.7, 1.9]
        self.pose = np.zeros((2, 12))
        for side, solid in enumerate(self.solids):
            self.pose[side] = [*solid.x, *solid.R.ravel()]
        self.n = np.array([2.0, 3.0, -6.0]) / 7.0

    def arm(self, k: int, c: np.ndarray) -> float:
        return float(np.linalg.norm(c - self.work.x[k]))

    def departs(self, k: int, c: np.ndarray) -> float:
        s = self.spans[k]
        return float(s.off + self.arm(k, c) * (s.spin_off + s.spin * min(s.turn, 2.0)))

    def speed(self, c: np.ndarray) -> np.ndarray:
        one, other = (self.work.V[k, 3:] + np.cross(self.work.V[k, :3], c - self.work.x[k]) for k in (1, 2))
        return other - one

    def rolling(self, seconds: float = 0.2) -> float:
        c = [tuple(solid.x) for solid in self.solids]
        return plain(clearance.rolling_speed)(
            self.shapes, 0, 1, tuple(self.n), *c, Stretch(self.curves.span, seconds, 0.5), self.moving(), self.pose
        )  # fmt: skip

    def moving(self, off: np.ndarray | None = None, most: np.ndarray | None = None) -> Moving:
        """As kernels have it."""
        return Moving(
            self.links, self.of_freedoms, self.work, self.freedoms, self.v, off, most, self.spans, np.zeros(3, int)
        )  # fmt: skip


PAIRS = [(SPHERE, BOX), (BOX, SPHERE), (PLANE, ELLIPSOID), (ELLIPSOID, PLANE), (BOX, CAPSULE), (CYLINDER, BOX)]


@pytest.mark.parametrize("kinds", PAIRS)
@pytest.mark.parametrize("turn", [0.5, 9.0])
def test_gaps_beside_closed_points_change_by_what_slides_along_them_and_turns(
    kinds: tuple[int, int], turn: float
) -> None:
    """Of the smaller shape, at its centre; n turns with the link that turns less, and no further than over."""
    pair = Pair(*kinds)
    pair.spans.turn = [0.0, turn, turn + 0.1]
    small = min(range(2), key=lambda k: (BALL.get(kinds[k], np.inf), -k))
    c, turned = pair.solids[small].x, min(turn, 2.0)
    u, w = pair.speed(c), pair.work.V[2, :3] - pair.work.V[1, :3]
    off = pair.departs(1, c) + pair.departs(2, c) + 0.15 + 0.25
    slid = abs(pair.n @ u) + off + turned * (np.linalg.norm(u) + off)
    across = np.linalg.norm(np.cross(w, pair.n)) + 0.7 + turned * (np.linalg.norm(w) + 0.7)
    assert pair.rolling() == pytest.approx(slid + across * BALL[kinds[small]], rel=1e-12)


@pytest.mark.parametrize("still", [1, 2])
@pytest.mark.parametrize("spins", [False, True])
@pytest.mark.parametrize("kinds", [(PLANE, CAPSULE), (CYLINDER, PLANE), (BOX, SPHERE), (CYLINDER, BOX)])
def test_where_one_side_does_not_turn_its_normal_stands_still(kinds: tuple[int, int], spins: bool, still: int) -> None:
    """Then roots slide as their curves say; a wheel on it turns by what its axle does where that is less."""
    pair = Pair(*kinds)
    pair.spans.turn[still] = pair.spans.spin_off[still] = 0.0
    pair.spans.spin[still] = 1e-3 * spins
    small = min(range(2), key=lambda k: (BALL.get(kinds[k], np.inf), -k))
    c = pair.solids[small].x
    pair.work.V[1:, :3] = 0.0
    pair.work.V[3 - still, :3] = 2.0 * pair.solids[small].R[:, 2] + 0.01  # it rolls about its axis
    u, w = pair.speed(c), pair.work.V[2, :3] - pair.work.V[1, :3]
    along = pair.freedoms.axis @ pair.n
    slides = along[1] * pair.curves.slope[:, 1] - along[0] * pair.curves.slope[:, 0]
    rate = pair.n @ u - pair.v[1] * along[1] + pair.v[0] * along[0]
    slid = max(abs(rate + slides.min()), abs(rate + slides.max())) + pair.departs(1, c) + pair.departs(2, c)
    off = pair.spans.spin_off.sum()
    across = np.linalg.norm(np.cross(w, pair.n)) + off
    if kinds[small] in (CAPSULE, CYLINDER) and not spins and small == 2 - still:
        most = np.linalg.norm(w) + off
        axle = np.linalg.norm(np.cross(w, pair.solids[small].R[:, 2])) + off + most * min(0.2 * most, 2.0)
        assert axle < across
        across = axle
    if kinds[small] in (CAPSULE, CYLINDER) and small == still - 1:
        return  # the one that stands still is the wheel itself: see above
    assert pair.rolling() == pytest.approx(slid + across * BALL[kinds[small]], rel=1e-12)


@pytest.mark.parametrize("ahead", [0.1, 5.0])
def test_an_axis_turns_by_what_its_link_turns_across_it(ahead: float) -> None:
    w, e = np.array([0.3, -0.8, 2.0]), np.array([2.0, 3.0, -6.0]) / 7.0
    most = np.linalg.norm(w) + 0.25
    wanted = np.linalg.norm(np.cross(w, e)) + 0.25 + most * min(ahead * most, 2.0)
    assert plain(clearance.across_axis)(tuple(w), tuple(e), 0.25, ahead) == pytest.approx(wanted, rel=1e-13)


@pytest.mark.parametrize("kind", TURNS)
def test_turning_changes_how_far_a_shape_reaches(kind: int) -> None:
    pair = Pair(BOX, kind)
    pair.work.V[2, :3] = pair.work.V[1, :3] + 1.5 * pair.solids[1].R[:, 2] + [0.01, 0.02, -0.01]
    w = pair.work.V[2, :3] - pair.work.V[1, :3]
    across = np.linalg.norm(np.cross(w, pair.n)) + 0.05
    if kind in (CAPSULE, CYLINDER):
        most = np.linalg.norm(w) + 0.05
        across = min(across, np.linalg.norm(np.cross(w, pair.solids[1].R[:, 2])) + 0.05 + most * min(0.1 * most, 2.0))
    reach = plain(clearance.reach_rate)
    found = reach(pair.shapes, 1, 1, tuple(pair.n), 1, 0.05, 0.1, pair.work, pair.pose)
    assert found == pytest.approx(across * TURNS[kind], rel=1e-12)
    assert reach(pair.shapes, 1, 1, tuple(pair.n), 2, 0.05, 0.1, pair.work, pair.pose) == 0.0


@pytest.mark.parametrize("meet", [0, 1])
def test_centres_come_together_by_their_speeds_and_what_these_depart(meet: int) -> None:
    """On the world, roots slide as their curves say; on one link they do not count."""
    pair = Pair(BOX, SPHERE)
    if meet:
        pair.links.parent[2] = 1
    c_a, c_b = (solid.x for solid in pair.solids)
    off, most = np.array([0.6, 0.7]), np.array([1.1, 1.3])
    r0, r1, spin_a, spin_b = plain(clearance.centre_rates)(
        tuple(pair.n), tuple(c_a), tuple(c_b), 1, 2, meet, pair.curves.span, 0.2, pair.moving(off, most)
    )  # fmt: skip

    def seen(k: int, c: np.ndarray) -> np.ndarray:
        speed = [pair.work.V[b, 3:] + np.cross(pair.work.V[b, :3], c - pair.work.x[b]) for b in (k, meet)]
        return speed[0] - speed[1]

    rate = pair.n @ (seen(2, c_b) - seen(1, c_a))
    if meet:
        # 2 slides on 1 by what its freedom departs, and turns by nothing more.
        spin = np.linalg.norm(pair.work.V[2, :3] - pair.work.V[1, :3])
        wide = 0.7 + pair.arm(2, c_b) * spin * min(0.2 * spin, 2.0)
        assert (r0, r1, spin_a, spin_b) == pytest.approx((rate - wide, rate + wide, 0.0, 0.0), rel=1e-12, abs=1e-15)
        return
    along, wide = pair.freedoms.axis @ pair.n, pair.departs(1, c_a) + pair.departs(2, c_b)
    slides = along[1] * pair.curves.slope[:, 1] - along[0] * pair.curves.slope[:, 0]
    rate = rate - pair.v[1] * along[1] + pair.v[0] * along[0]
    wanted = (rate - wide + slides.min(), rate + wide + slides.max(), 0.3, 0.4)
    assert (r0, r1, spin_a, spin_b) == pytest.approx(wanted, rel=1e-12)


def test_the_fastest_that_a_centre_may_be_and_the_normal_of_closed_points() -> None:
    pair = Pair(BOX, SPHERE)
    for k in (0, 1):
        c = pair.solids[k].x
        wanted = pair.spans.speed[k + 1] + pair.spans.spin[k + 1] * pair.arm(k + 1, c)
        found = plain(clearance.centre_speed)(pair.shapes, k, pair.work, pair.spans, tuple(c))
        assert found == pytest.approx(wanted, rel=1e-13)
    assert plain(clearance.ball_or_inf)(Pair(PLANE, BOX).shapes, 0) == np.inf
    assert plain(clearance.ball_or_inf)(pair.shapes, 0) == pytest.approx(0.7)
    touches = table(TOUCH, 3)
    touches.meeting, touches.link[:, 0], touches.n = [4, 5, 5], [1, 2, 1], np.arange(9.0).reshape(3, 3)
    found = plain(clearance.closed_normal)(touches, 5, pair.work.R)
    assert found == pytest.approx(pair.work.R[2].reshape(3, 3) @ [3.0, 4.0, 5.0], rel=1e-13)
    assert plain(clearance.closed_normal)(touches, 6, pair.work.R) == (0.0, 0.0, 0.0)


# --- guards of contacts ----------------------------------------------------------------------------------------------


def test_shapes_that_touch_in_one_point() -> None:
    one = {(SPHERE, SPHERE), (SPHERE, PLANE), (PLANE, SPHERE)}
    for a in SIZES:
        for b in SIZES:
            if (a, b) != (PLANE, PLANE):
                assert bool(plain(contact_system.has_one_point)(Pair(a, b).shapes, 0, 1)) == ((a, b) in one)


def test_closed_points_are_known_by_their_pair_and_both_keys() -> None:
    touches, near = table(TOUCH, 3), table(TOUCH, 4)
    touches.meeting, touches.key = [2, 3, 3], [[1, 2], [4, 5], [6, 7]]
    near.key = [[4, 5], [4, 7], [6, 5], [6, 7]]
    closed, among, pair = (
        plain(contact_system.is_closed),
        plain(contact_system.is_among),
        plain(contact_system.is_closed_pair),
    )
    assert [bool(closed(near, i, touches, 3)) for i in range(4)] == [True, False, False, True]
    assert not any(closed(near, i, touches, 2) for i in range(4))
    assert [bool(among(touches, k, near, 4)) for k in range(3)] == [False, True, True]
    assert not among(touches, 2, near, 3)
    assert [bool(pair(touches, m)) for m in range(5)] == [False, False, True, True, False]


def test_guards_that_do_not_watch_are_far_from_firing() -> None:
    guards, values = table(GUARD, 5), np.full(5, np.nan)
    guards.kind, guards.armed, guards.allowed = [GUARD_STOP, GUARD_GAP, GUARD_PULL, GUARD_PULL, GUARD_PULL], 1, 0.25
    guards.armed[1], guards.owner, values[4] = DISARMED, [0, 0, 1, 0, 1], 7.0
    work = SimpleNamespace(touches=table(TOUCH, 2), points=table(TOUCH_WORK, 2))
    work.points.pressing = [3.0, -4.0]
    plain(contact_system.contact_guards)(None, work, guards, values)
    assert values == pytest.approx([np.nan, -1.0, 4.0 - 0.25, -3.0 - 0.25, 7.0], nan_ok=True)


def test_columns_of_feedback_are_forces_of_points_that_slide() -> None:
    from tests.kernels.test_touches import Rubbing

    one, S, f = Rubbing(), np.zeros((4, 3)), np.zeros(3)
    plain(contact_system.normal_forces)(one.touches, one.blocks, one.row_work, f)
    assert f.tolist() == [7.0, 3.0, 5.0]
    for column in range(3):
        plain(contact_system.collect_column)(one.touches, one.blocks, one.row_work, column, S)
    assert (S[:3] == np.eye(3) - np.array([7.0, 3.0, 5.0])[:, None]).all() and not S[3].any()


# --- forces of rows that repeat one another --------------------------------------------------------------------------


def test_vectors_are_put_behind_orthonormal_ones() -> None:
    rng, N = np.random.default_rng(0), np.zeros((4, 6))
    given = rng.normal(size=(4, 6))
    for count, vector in enumerate(given):
        assert plain(chosen.orthonormal)(count, vector, N)
    assert pytest.approx(np.eye(4), abs=1e-14) == N @ N.T
    q = np.linalg.qr(given.T)[0].T
    assert np.abs(np.sum(N * q, axis=1)) == pytest.approx(np.ones(4), rel=1e-12)
    assert np.sum(N * given, axis=1).min() > 0
    assert not plain(chosen.orthonormal)(0, np.zeros(6), N)
    almost = N[0] + 1e-9 * np.linalg.svd(N)[2][5]
    assert plain(chosen.orthonormal)(1, almost, N)
    assert abs(N[1] @ N[0]) < 1e-15  # twice is enough


def rows_with(force: np.ndarray) -> np.recarray:
    work = table(ROW_WORK, len(force))
    work.force = force
    return work


def test_forces_lose_what_does_nothing() -> None:
    rng = np.random.default_rng(1)
    N, force = np.linalg.qr(rng.normal(size=(6, 3)))[0].T, rng.normal(size=6)
    work = rows_with(force)
    plain(chosen.least_norm)(N, 2, work)
    assert work.force == pytest.approx(force - N[:2].T @ (N[:2] @ force), abs=1e-14)


class Slipping:
    """A block of one row and one of two that may slip, among blocks that may not."""

    def __init__(self) -> None:
        self.blocks, self.rows = table(BLOCK, 5), table(ROW, 7)
        self.blocks.slips, self.blocks.row = [1, 0, 1, 1, 1], [1, 3, 4, 2, 6]
        self.blocks.rows, self.blocks.freedoms, self.blocks.second = [1, 1, 2, 1, 1], [1, 1, 2, 1, 1], [0, 0, 0, 1, 0]
        self.rows.low, self.rows.high = -1.0, 1.0
        self.rows.high[6] = -1.0  # which is not held
        rng = np.random.default_rng(5)
        self.rows.share, self.force = rng.normal(size=7), rng.normal(size=7)
        self.N = np.linalg.qr(rng.normal(size=(7, 5)))[0].T


def test_forces_are_nearest_to_their_shares() -> None:
    one = Slipping()
    one.blocks.slips[:] = 0
    work = rows_with(one.force)
    plain(chosen.share_out)(one.N, 4, one.blocks, one.rows, work)
    N = one.N[:4]
    assert work.force == pytest.approx(one.force + N.T @ (N @ (one.rows.share - one.force)), abs=1e-13)


def test_what_may_slip_and_is_held_by_others_gives_nothing() -> None:
    one = Slipping()
    before, work = one.N.copy(), rows_with(one.force)
    plain(chosen.share_out)(one.N, 5, one.blocks, one.rows, work)
    assert pytest.approx(np.eye(5), abs=1e-13) == one.N @ one.N.T
    assert before.T @ before == pytest.approx(one.N.T @ one.N, abs=1e-13)  # the same space
    out = np.eye(7) - before.T @ before
    assert out @ work.force == pytest.approx(out @ one.force, abs=1e-13)
    assert work.force[1] == pytest.approx(0.0, abs=1e-13)
    assert np.abs(one.N[1:, 1]).max() < 1e-13  # one vector has all of that row
    larger = 4 if np.abs(one.N[1, 4]) >= np.abs(one.N[1, 5]) else 5
    assert np.abs(one.N[2:, larger]).max() < 1e-13
    x = one.N[1, 4:6]
    assert x @ work.force[4:6] == pytest.approx(0.0, abs=1e-13)  # as little as that vector can leave
    few = Slipping()
    work = rows_with(few.force)
    plain(chosen.share_out)(few.N, 1, few.blocks, few.rows, work)  # the first takes the only one
    assert work.force[1] == pytest.approx(0.0, abs=1e-13)


@pytest.mark.parametrize("part", [0.99e-6, 1.01e-6])
def test_rows_with_no_part_in_vectors_are_left(part: float) -> None:
    N, force = np.zeros((3, 5)), np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    N[0, 0], N[1, 3], N[2, 4] = 1.0, 1.0, 1.0
    N[1, [1, 3]], N[2, [2, 4]] = [0.6 * part, 1.0], [0.8 * part, 1.0]
    kept = N.copy()
    first = plain(chosen.spare)(N, 1, 3, 1, 2, force)
    assert first == (2 if part > 1e-6 else 1)
    assert ((kept == N).all() and force.tolist() == [1, 2, 3, 4, 5]) == (part < 1e-6)
    assert force[0] == 1.0 and (N[0] == kept[0]).all()


# --- cones that nothing moves ----------------------------------------------------------------------------------------


def test_a_point_that_nothing_moves_gives_nothing() -> None:
    P = np.array([[9.0, 9.0, 9.0], [1.0, 2.0, 3.0]])
    assert plain(cones.solve_point)(np.zeros((2, 3, 3)), 1, 0.5, 0.0, 0, np.zeros((2, 2)), P, np.ones((2, 3)), 1) == 0.0
    assert P.tolist() == [[9.0, 9.0, 9.0], [0.0, 0.0, 0.0]]
    assert plain(cones.off_law)(np.zeros((2, 3, 3)), 1, 0.5, 0.0, 0, np.zeros((2, 2)), P, np.ones((2, 3)), 1) == 0.0


@pytest.mark.parametrize("seed", range(6))
def test_the_slope_off_the_line_is_that_of_differences(seed: int) -> None:
    """d x (w + K d), its slope, its roots, and where it turns between two of one sign."""
    rng = np.random.default_rng(seed)
    w, K = rng.normal(size=2), rng.normal(size=(2, 2))

    def off(phi: float) -> float:
        d = np.array([np.cos(phi), np.sin(phi)])
        v = w + K @ d
        return float(d[0] * v[1] - d[1] * v[0])

    form = (*w, *K.ravel())
    phi = np.linspace(0.0, 2.0 * np.pi, cones.LOOKS + 1)
    found = np.array([plain(cones.off_way)(*form, np.cos(p), np.sin(p)) for p in phi])
    assert found == pytest.approx([off(p) for p in phi], abs=1e-13)
    slopes = [plain(cones.off_way_slope)(*form, np.cos(p), np.sin(p)) for p in phi]
    assert slopes == pytest.approx([(off(p + 1e-6) - off(p - 1e-6)) / 2e-6 for p in phi], abs=1e-8)
    for i, (low, high, f_low, f_high) in enumerate(zip(phi, phi[1:], found, found[1:], strict=False)):
        if f_low * f_high < 0.0:
            root = plain(cones.root_between)(*form, low, high, f_low)
            assert low <= root <= high and abs(off(root)) < 5e-14
        turn = plain(cones.turn_between)(*K.ravel(), *w, i + 1, f_low)
        sign = np.sign(f_low)
        inner = sign * np.array([off(p) for p in np.linspace(low, high, 2001)])
        least = int(np.argmin(inner))
        if 0 < least < 2000:
            assert turn == pytest.approx(low + least * (high - low) / 2000, abs=2e-4)
        else:
            assert turn == pytest.approx(high, abs=1e-15)
    assert plain(cones.root_between)(*form, 0.3, 0.4, 0.0) == 0.3


def test_presses_of_a_step_are_one_problem() -> None:
    names = (
        "contacts", "contact_support", "contact_U", "contact_R", "contact_G", "contact_d", "contact_P", "contact_z",
        "contact_off",
        "push", "contact_tree", "contact_chosen", "contact_place", "contact_awake", "contact_at", "contact_p",
        "contact_best",
        "contact_matrix", "contact_reached",
    )  # fmt: skip
    work = SimpleNamespace(
        **{name: name for name in names}, contact_shape=["a", "b", "c"], push_step=["d", "e", "f", "g"],
        island_runs="runs", island_next="next", island_columns=["h", "i", "j", "k", "l"],
    )  # fmt: skip
    made = plain(contact_solver.problem_of)(work)
    assert made.pattern == ("runs", "h", "i", "j", "k", "l", "next")
    assert (made.contact, made.support, made.U, made.R, made.G) == names[:5]
    assert (made.d, made.P, made.z, made.off, made.push, made.tree, made.chosen) == names[5:12]
    assert (made.place, made.awake, made.at, made.first, made.last, made.start) == (*names[12:15], "a", "b", "c")
    assert (made.tried, made.best, made.y, made.base, made.left, made.turn, made.matrix, made.reached) == (
        "contact_p", "contact_best", "d", "e", "f", "g", "contact_matrix", "contact_reached",
    )  # fmt: skip
    assert made.pattern == ("runs", "h", "i", "j", "k", "l", "next")
