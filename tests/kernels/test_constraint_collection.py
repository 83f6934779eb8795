"""What is taken in as a press of a time step, and how it is written: wrenches, moved points, joints at stops."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.kernels.collision import broad
from sim.kernels.forces import closing_rate
from sim.kernels.scratch import BLOCK_WORK, CONTACT_CONSTRAINT, FREEDOM_WORK, LINK_WORK, POSE, STEPPED, TOUCH_WORK
from sim.kernels.shapes import BOX, CAPSULE, CYLINDER, ELLIPSOID, PLANE, SPHERE, TOUCH
from sim.kernels.tables import ANGLE, BLOCK, FREEDOM, LINK, STOP, SWING, TWIST, table
from sim.kernels.unilateral import constraint_collection, turning_friction
from tests.contact.solids import Solid, shape_table
from tests.kernels.kinds import CYLINDRICAL, SPHERICAL, columns_of
from tests.kernels.plain import plain

pytestmark = [pytest.mark.contact, pytest.mark.fast]


def turns(count: int, rng: np.random.Generator) -> np.ndarray:
    return np.array([Rotation.random(rng=rng).as_matrix() for _ in range(count)])


def test_a_step_is_solved_again_where_rates_change_by_what_shows() -> None:
    """h times the sum of changes, against a millionth of the mechanism's length."""
    v, v_new = np.array([1.0, -2.0, 3.0]), np.array([1.0, -2.0, 3.0])
    for change, same in (([1e-3, 0, -1.9e-3], True), ([1e-3, 0, -2.1e-3], False), ([0, 2e-3, 2e-3], False)):
        for sign in (1.0, -1.0):
            v_new[:] = v + sign * np.array(change)
            assert plain(constraint_collection.goes_on)(v, v_new, 1e-3, 2.95) == same


def test_a_shape_reaches_further_by_more_than_half_of_what_may_be() -> None:
    reach = np.array([1.0, 2.0, 3.0])
    for k in range(3):
        for more, further in ((0.049, False), (0.051, True)):
            assert plain(constraint_collection.further)(reach, reach + more * (np.arange(3) == k), 0.1) == further
    assert not plain(constraint_collection.further)(reach, reach - 1.0, 0.1)


def test_points_are_known_by_their_shapes_and_both_features() -> None:
    contact, key = table(CONTACT_CONSTRAINT, 3), np.array([[1, 2], [4, 5], [9, 9]])
    contact.meeting, contact.key = [7, 7, 7], [[4, 6], [3, 5], [4, 5]]
    assert plain(constraint_collection.is_known)(contact, 3, 7, key, 1)
    assert not plain(constraint_collection.is_known)(contact, 2, 7, key, 1)  # the third is not asked
    assert not plain(constraint_collection.is_known)(contact, 3, 6, key, 1)
    assert not plain(constraint_collection.is_known)(contact, 3, 7, key, 0)


def test_rates_of_rows_are_wrenches_times_velocities() -> None:
    rng, contact = np.random.default_rng(1), table(CONTACT_CONSTRAINT, 2)
    contact.K, contact.link, contact.rows, V = rng.normal(size=(2, 3, 12)), [2, 1], [1, 2], rng.normal(size=(3, 6))
    for k in range(2):
        for r in range(3):
            wanted = contact.K[k, r] @ np.append(V[1], V[2]) if r < contact.rows[k] else 0.0
            assert plain(constraint_collection.rate_of)(contact, k, r, V) == pytest.approx(wanted, rel=1e-13)


def test_links_wander_until_their_points_are_looked_for_again() -> None:
    """Sums of what origins and axes go, in a mechanism of 2 m: until 2e-6 m, beside 2e-12 m for each step."""
    x, R, posed = np.zeros((5, 3)), np.zeros((5, 9)), table(POSE, 5)
    x[1], R[2, 4], posed.x[3, 2], posed.R[4, 8] = [1e-7, -2e-7, 3e-7], 4e-7, 5e-7, 6e-7
    drifted = np.array([1e-6, 1e-6, 1e-6, 1e-6, 1.2e-6])
    plain(constraint_collection.drift)(x, R, 2.0, posed, drifted)
    assert drifted == pytest.approx([2e-12, 1.6e-6 + 2e-12, 1.8e-6 + 2e-12, 1.5e-6 + 2e-12, 0.0], rel=1e-9, abs=0.0)


class Calm:
    """Three trees: 1 - 2 - 3, 1 - 4; 5 - 6; 7.  Freedoms: one of each link, of link 3 two, of link 6 none."""

    def __init__(self) -> None:
        self.links = table(LINK, 8)
        self.links.parent, self.links.nv = [0, 0, 1, 2, 1, 0, 5, 0], [0, 1, 1, 2, 1, 1, 0, 1]
        self.links.v = [0, 0, 1, 2, 4, 5, 6, 6]
        self.root, self.rooted = np.arange(2.0, 9.0), np.arange(2.0, 9.0)
        self.drifted, self.unchanged = np.full(8, 1e-9), np.full(8, 9)

    def find(self) -> list[int]:
        plain(constraint_collection.find_unchanged)(self.links, self.root, self.drifted, self.rooted, self.unchanged)
        return self.unchanged.tolist()


def test_all_trees_are_calm_where_nothing_has_changed() -> None:
    unchanged = Calm()
    unchanged.rooted = unchanged.root * (1.0 - 0.9e-6 * (-1.0) ** np.arange(7))
    before = unchanged.rooted.copy()
    assert unchanged.find() == [1] * 8
    assert (unchanged.rooted == before).all()


@pytest.mark.parametrize(
    ("link", "tree"), [(1, [1, 2, 3, 4]), (3, [1, 2, 3, 4]), (4, [1, 2, 3, 4]), (6, [5, 6]), (7, [7])]
)
def test_a_tree_is_not_calm_where_one_of_its_links_is_looked_at(link: int, tree: list[int]) -> None:
    unchanged = Calm()
    unchanged.drifted[link], unchanged.rooted[:] = 0.0, unchanged.root * (1.0 + 0.5e-6)
    kept = unchanged.rooted.copy()
    assert unchanged.find() == [int(b not in tree) for b in range(8)]
    mine = np.isin([1, 2, 3, 3, 4, 5, 7], tree)
    assert (unchanged.rooted == np.where(mine, unchanged.root, kept)).all()


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("freedom", "tree"), [(0, [1, 2, 3, 4]), (3, [1, 2, 3, 4]), (5, [5, 6]), (6, [7])])
def test_a_tree_is_not_calm_where_an_inertia_has_changed(freedom: int, tree: list[int], sign: float) -> None:
    unchanged = Calm()
    unchanged.rooted[freedom] = unchanged.root[freedom] * (1.0 + sign * 1.1e-6)
    assert unchanged.find() == [int(b not in tree) for b in range(8)]
    assert (unchanged.rooted == unchanged.root).all()
    unchanged.rooted[freedom] = np.nan  # never looked at
    assert unchanged.find() == [int(b not in tree) for b in range(8)]
    unchanged.drifted[0] = 0.0  # the world is calm
    assert unchanged.find()[0] == 1


def test_points_are_kept_where_both_links_have_not_gone() -> None:
    drifted = np.array([0.0, 1e-9, 2e-9])
    assert [plain(constraint_collection.rests)(drifted, a, b) for a, b in ((1, 2), (0, 1), (2, 0))] == [
        True,
        False,
        False,
    ]


def test_a_press_that_is_kept_moves_with_its_links() -> None:
    """Its point goes with both materials: half-way between, and the gap by what they part along the normal."""
    rng = np.random.default_rng(2)
    old, new = table(CONTACT_CONSTRAINT, 3), table(CONTACT_CONSTRAINT, 3)
    posed, x, R = table(POSE, 4), rng.normal(size=(4, 3)), turns(4, rng)
    before, was = rng.normal(size=(4, 3)), turns(4, rng)
    plain(constraint_collection.remember_poses)(before, was.reshape(4, 9), posed)
    assert (posed.x == before).all() and (was.reshape(4, 9) == posed.R).all()
    old.link[1], old.p[1], old.axes[1], old.gap[1], old.meeting[1] = (
        [3, 2],
        rng.normal(size=3),
        turns(1, rng).ravel(),
        0.3,
        8,
    )
    old.impulse[1], new.kept = [1.0, 2.0, 3.0], 7
    plain(constraint_collection.keep_press)(old, 1, x, R.reshape(4, 9), posed, new, 2)
    on_a, on_b = (x[b] + R[b] @ was[b].T @ (old.p[1] - before[b]) for b in (3, 2))
    assert new.p[2] == pytest.approx(0.5 * (on_a + on_b), abs=1e-13)
    assert new.gap[2] == pytest.approx(0.3 + old.axes[1, :3] @ (on_b - on_a), abs=1e-13)
    assert new.kept.tolist() == [7, 7, 1] and new.meeting[2] == 8 and new.impulse[2].tolist() == [1.0, 2.0, 3.0]
    assert (new.axes[2] == old.axes[1]).all() and not new.p[:2].any()


def test_shapes_reach_as_far_as_their_speeds_carry_them() -> None:
    """The centre's speed, and |w| times the ball about it; a plane's is that of its point alone."""
    rng = np.random.default_rng(3)
    sizes = {PLANE: 0.0, SPHERE: 0.3, CAPSULE: 0.8, BOX: 0.7, CYLINDER: 0.8, ELLIPSOID: 0.9}
    dimensions = [[0, 0, 0], [0.3] * 3, [0.1, 0.1, 1.4], [0.4, 0.6, 1.2], [0.5, 0.5, 0.6], [0.2, 0.9, 0.4]]
    solids = [
        Solid(kind, np.array(size, float), rng.normal(size=3), turns(1, rng)[0])
        for kind, size in zip(sizes, dimensions, strict=True)
    ]
    shapes, x, R = shape_table(solids, rng)
    V, reach, placed = rng.normal(size=(7, 6)), np.full(6, np.nan), np.full((6, 12), np.nan)
    plain(broad.place_all)(shapes, x, R, placed)
    plain(constraint_collection.reaches)(shapes, placed, x, V, 0.25, 0.01, reach)
    for n, (solid, ball) in enumerate(zip(solids, sizes.values(), strict=True)):
        w, v = V[n + 1, :3], V[n + 1, 3:]
        speed = np.linalg.norm(v + np.cross(w, solid.x - x[n + 1]))
        assert reach[n] == pytest.approx(0.25 * (speed + np.linalg.norm(w) * ball) + 0.01, rel=1e-12)


@pytest.mark.parametrize("friction", [0.0, 0.7])
def test_a_point_is_written_with_its_law_and_its_wrenches(friction: float) -> None:
    rng = np.random.default_rng(4)
    near, points, contact, x = (
        table(TOUCH, 3),
        table(TOUCH_WORK, 3),
        table(CONTACT_CONSTRAINT, 3),
        rng.normal(size=(4, 3)),
    )
    near.link[1], near.key[1], points.gap[1], points.p[1] = [3, 1], [5, 6], 0.02, rng.normal(size=3)
    points.n[1] = np.array([2.0, -3.0, 6.0]) / 7.0
    laws = np.array([[9.0] * 8] * 2 + [[friction, 0.4, 0.05, 11.0, 3e4, 12.0, 13.0, 14.0]])
    contact.meeting = contact.low = contact.soft = contact.kept = contact.of = 77
    plain(constraint_collection.put_press)(near, points, 1, 2, laws, x, contact, 2)
    one = contact[2]
    assert (one.meeting, one.gap, one.kept, one.key.tolist(), one.link.tolist()) == (2, 0.02, -1, [5, 6], [3, 1])
    assert (one.friction, one.restitution, one.rest_speed) == (friction, 0.4, 0.05)
    assert (one.rows, one.low, one.high, one.soft) == (3 if friction else 1, 0.0, np.inf, 0.0)
    assert (one.stiffness, one.of) == (3e4, 0)  # and no friction against turning
    axes, p = one.axes.reshape(3, 3), points.p[1]
    assert axes[0] == pytest.approx(points.n[1], abs=1e-15) and (one.p == p).all()
    assert axes @ axes.T == pytest.approx(np.eye(3), abs=1e-14) and np.linalg.det(axes) == pytest.approx(1.0)
    V = rng.normal(size=(4, 6))
    speed = [V[b, 3:] + np.cross(V[b, :3], p - x[b]) for b in (1, 3)]
    for r in range(3):  # rates of b against a, by hand
        wanted = axes[r] @ (speed[0] - speed[1])
        assert one.K[r] @ np.append(V[1], V[3]) == pytest.approx(wanted, rel=1e-12)
    assert (contact.meeting[:2] == 77).all()


@pytest.mark.parametrize(("gap", "span"), [(-0.2, 0.25 + 3.0 * 0.2), (0.1, 0.25)])
def test_a_point_gives_way_where_its_law_says_so(gap: float, span: float) -> None:
    """As a soft stop: by 1 / (h k T), T = h + c depth, of a depth that is not negative, and by its depth / T."""
    contact, laws, h, k = table(CONTACT_CONSTRAINT, 3), np.full((3, 8), 99.0), 0.25, 2e3
    laws[2, 5] = 3.0
    contact.meeting, contact.gap, contact.soft, contact.shift, contact.stiffness = 2, gap, 9.0, 9.0, [k, 0.0, k]
    plain(constraint_collection.soften_point)(laws, h, contact, 2)
    assert contact.soft[2] == pytest.approx(1.0 / (h * k * span), rel=1e-13) and contact.stiffness[2] == k
    assert contact.shift[2] == pytest.approx([gap / span, 0.0, 0.0], rel=1e-13, abs=0.0)
    plain(constraint_collection.soften_point)(laws, h, contact, 1)  # rigid
    assert (contact.soft[:2] == 9.0).all() and (contact.shift[:2] == 9.0).all() and contact.stiffness[1] == 0.0


class Turning:
    """Two points of pair 1, without and with friction, and one of a joint; room for five."""

    def __init__(self, spinning: float, rolling: float, room: int = 5) -> None:
        rng = np.random.default_rng(5)
        self.contacts, self.stepped = table(CONTACT_CONSTRAINT, 5), table(STEPPED, 1)
        self.contact_P = np.zeros((room, 3))
        self.laws, self.stepped.points = np.full((2, 8), 99.0), 3
        self.laws[1, 6:] = spinning, rolling
        contact = self.contacts
        contact.meeting[:3], contact.friction[:3] = [1, 1, -1], [0.0, 0.4, 0.4]
        contact.key[:3] = [[4, 2], [5, 3], [6, 7]]
        contact.link[:3], contact.p[:3], contact.axes[:3] = [3, 1], rng.normal(size=(3, 3)), turns(3, rng).reshape(3, 9)
        contact.K = contact.gap = contact.high = contact.low = contact.soft = contact.stiffness = 9.0

    def add(self, first: int) -> bool:
        return bool(plain(turning_friction.add_turning)(None, self, first))


@pytest.mark.parametrize(
    ("spinning", "rolling", "first", "wanted"),
    [
        (0.3, 0.0, 0, [(2, 1)]), (0.0, 0.2, 0, [(1, 0), (2, 0)]), (0.0, 0.2, 1, [(2, 0)]), (0.0, 0.0, 0, []),
        (0.3, 0.2, 1, [(2, 0), (2, 1)]), (0.3, 0.2, 2, []),
    ],
)  # fmt: skip
def test_friction_against_turning_is_added_where_laws_have_radii(
    spinning: float, rolling: float, first: int, wanted: list[tuple[int, int]]
) -> None:
    """Against spinning where there is friction, too; rows are turnings of b against a, times the radius."""
    at, V = Turning(spinning, rolling), np.random.default_rng(8).normal(size=(4, 6))
    assert at.add(first) and at.stepped.points[0] == 3 + len(wanted)
    contact = at.contacts
    assert [(int(c.of), int(c.spins)) for c in contact[3:]] == wanted + [(0, 0)] * (2 - len(wanted))
    for k, (of, spins) in enumerate(wanted, 3):
        one, point = contact[k], contact[of - 1]
        assert (one.meeting, one.kept, one.link.tolist(), one.p.tolist()) == (-1, -1, [3, 1], point.p.tolist())
        assert (one.rows, one.friction, one.low, one.high, one.gap) == (3, 0.0, 0.0, 0.0, 0.0)
        assert (one.soft, one.stiffness, one.restitution, one.rest_speed) == (0.0, 0.0, 0.0, 0.0)
        n, t1, t2 = point.axes.reshape(3, 3)
        axes = [0.0 * n, n, 0.0 * n] if spins else [0.0 * n, t1, t2]
        assert one.axes.reshape(3, 3) == pytest.approx(np.array(axes), abs=0.0)
        turning = (spinning if spins else rolling) * np.array(axes) @ (V[1, :3] - V[3, :3])
        assert one.K @ np.append(V[1], V[3]) == pytest.approx(turning, rel=1e-12, abs=1e-15)
    keys = {tuple(key) for key in contact.key[3 : 3 + len(wanted)].tolist()}
    assert len(keys) == len(wanted) and all(first < -1 for first, _ in keys)  # no stop's, no column's


def test_friction_against_turning_that_has_no_room_is_told() -> None:
    at = Turning(0.3, 0.2)
    assert not at.add(0) and at.stepped.points[0] == 5  # of three, two
    assert not Turning(0.0, 0.2, room=4).add(0) and Turning(0.0, 0.2, room=4).add(1)


class Joints:
    """A tree joint of two freedoms that turns and slides, a ball joint, and a loop's cylindrical joint and ball."""

    def __init__(self, sliding: int = 0) -> None:
        rng = np.random.default_rng(6)
        links, freedoms, blocks = table(LINK, 4), table(FREEDOM, 5), table(BLOCK, 4)
        links.parent, links.joint, links.v, links.column = [0, 0, 1, 1], [-1, 4, 2, 3], [0, 0, 0, 2], [0, 0, 0, 2]
        freedoms.linear = [1, 0, 0, 0, 0]
        blocks.joint, blocks.motor = [2, 5, 5, 6], [1, 1, 0, 0]
        blocks.a, blocks.b, blocks.column = [0, 0, 3, 2], [0, 0, 2, 1], [0, 0, 5, 7]
        columns, stops = columns_of(CYLINDRICAL, 5, 10), table(STOP, 5)
        columns[7:] = columns_of(SPHERICAL, 7, 10)[7:]
        columns.joint, columns.linear = [2, 2, 3, 3, 3, 5, 5, 6, 6, 6], [1, 0, 0, 0, 0, 1, 0, 0, 0, 0]
        columns.friction = 0.5 * np.arange(10)
        stops.joint, stops.column, stops.angle, stops.side = (
            [2, 2, 3, 5, 6],
            [0, 1, 2, 5, 7],
            [0, 0, 1, 0, 1],
            [1, -1, 1, -1, 1],
        )
        stops.bound, stops.rigid = [0.3, 0.2, 0.9, 0.1, 1.2], [1, 0, 1, 0, 1]
        stops.restitution, stops.rest_speed = [0.5, 0.0, 0.6, 0.0, 0.7], [0.01, 0.0, 0.02, 0.0, 0.03]
        stops.stiffness, stops.dissipation = [1.0, 40.0, 1.0, 50.0, 1.0], [9.0, 0.3, 9.0, 0.4, 9.0]
        self.tables = SimpleNamespace(links=links, freedoms=freedoms, blocks=blocks, columns=columns, stops=stops)
        self.links, self.freedoms, self.blocks = table(LINK_WORK, 4), table(FREEDOM_WORK, 5), table(BLOCK_WORK, 4)
        self.links.x, self.freedoms.axis = rng.normal(size=(4, 3)), turns(5, rng)[:, :, 0]
        self.blocks.p_WM = rng.normal(size=(4, 3))
        self.blocks.R_WF, self.blocks.R_WM = turns(4, rng).reshape(4, 9), turns(4, rng).reshape(4, 9)
        self.coordinate = np.array([0.35, 0.1, 0.4, -0.6, 0.5, 0.04, 0.2, 0.8, 0.7, -0.9])
        self.contacts, self.stepped, self.contact_P = table(CONTACT_CONSTRAINT, 4), table(STEPPED, 1), np.zeros((4, 3))
        self.contacts.meeting = self.contacts.kept = 9
        self.stepped.points = 2
        self.contacts.shift, self.contacts.soft, self.contacts.key = 9.0, 9.0, 9

    def axes(self, block: int, name: str) -> np.ndarray:
        return np.reshape(self.blocks[name][block], (3, 3))

    def rate(self, V: np.ndarray) -> float:
        """Of the press that was written: its wrenches times velocities."""
        contact = self.contacts[2]
        return float(contact.K[0] @ np.append(V[contact.link[1]], V[contact.link[0]]))

    def wanted(self, a: int, b: int, at: np.ndarray, e: np.ndarray, slides: bool, V: np.ndarray) -> float:
        """How fast b turns about e against a, or slides along it at a place."""
        if not slides:
            return float(e @ (V[b, :3] - V[a, :3]))
        speed = [V[link, 3:] + np.cross(V[link, :3], at - self.links.x[link]) for link in (a, b)]
        return float(e @ (speed[1] - speed[0]))


def test_joints_are_found_in_the_tree_and_among_loops() -> None:
    at = Joints()
    assert [plain(constraint_collection.link_of)(at.tables.links, joint) for joint in (2, 3, 4, 5, -1)] == [
        2,
        3,
        1,
        -1,
        -1,
    ]
    assert [plain(constraint_collection.block_of)(at.tables.blocks, joint) for joint in (5, 6, 2, 3)] == [2, 3, -1, -1]


@pytest.mark.parametrize("s", range(5))
def test_a_stop_presses_along_its_freedom(s: int) -> None:
    """Against the way that its depth grows; a soft one gives way by 1 / (h k T), T = h + c depth."""
    at, V, h = Joints(), np.random.default_rng(7).normal(size=(4, 6)), 0.25
    assert plain(constraint_collection.add_stop)(at.tables, at, s, h)
    assert at.stepped.points[0] == 3
    one, q, stops = at.contacts[2], at.coordinate, at.tables.stops
    size = [np.linalg.norm(q[2:5]), np.linalg.norm(q[7:10])]
    depth = [0.35 - 0.3, 0.2 - 0.1, size[0] - 0.9, 0.1 - 0.04, size[1] - 1.2][s]
    inward = [[-1.0, 0, 0], [1.0, 0, 0], -q[2:5] / size[0], [1.0, 0, 0], -q[7:10] / size[1]][s]
    a, b = [(1, 2), (1, 2), (1, 3), (3, 2), (2, 1)][s]
    place = [at.links.x[2], at.links.x[2], at.links.x[3], at.blocks.p_WM[2], at.blocks.p_WM[3]][s]
    e = [
        -at.freedoms.axis[0], at.freedoms.axis[1], inward @ at.freedoms.axis[2:5] if s == 2 else None,
        at.axes(2, "R_WF")[:, 2], at.axes(3, "R_WM") @ inward if s == 4 else None,
    ][s]  # fmt: skip
    assert one.gap == pytest.approx(-depth, rel=1e-13) and one.axes[3:6] == pytest.approx(inward, abs=1e-14)
    assert one.axes[:3] == pytest.approx(e, abs=1e-14) and one.p == pytest.approx(place, abs=1e-15)
    assert (one.meeting, one.kept, one.key.tolist(), one.link.tolist()) == (-1, -1, [s, 0], [a, b])
    assert (one.rows, one.friction, one.low, one.high) == (1, 0.0, 0.0, np.inf)
    assert (one.restitution, one.rest_speed) == (stops.restitution[s], stops.rest_speed[s])
    assert at.rate(V) == pytest.approx(at.wanted(a, b, place, e, s in (0, 3), V), rel=1e-12)
    assert one.shift[1:].tolist() == [0.0, 0.0]
    if stops.rigid[s]:
        assert one.soft == 0.0
    else:
        span = h + stops.dissipation[s] * depth
        assert one.soft == pytest.approx(1.0 / (h * stops.stiffness[s] * span), rel=1e-13)
        assert one.shift[0] == pytest.approx(-depth / span, rel=1e-13)


def test_a_soft_stop_that_is_not_reached_has_no_dissipation_yet() -> None:
    at = Joints()
    at.coordinate[1] = 0.5
    assert plain(constraint_collection.add_stop)(at.tables, at, 1, 0.25)
    assert at.contacts.soft[2] == pytest.approx(1.0 / (0.25 * 40.0 * 0.25), rel=1e-13)
    assert at.contacts.shift[2, 0] == pytest.approx(0.3 / 0.25, rel=1e-13)


@pytest.mark.parametrize(("c", "a", "b"), [(0, 1, 2), (1, 1, 2), (3, 1, 3), (5, 3, 2), (6, 3, 2), (8, 2, 1)])
def test_friction_of_a_joint_is_an_impulse_of_either_sign(c: int, a: int, b: int) -> None:
    at, V, h = Joints(), np.random.default_rng(8).normal(size=(4, 6)), 0.25
    assert plain(constraint_collection.add_friction)(at.tables, at, c, h)
    one = at.contacts[2]
    block, axes = {5: (2, "R_WF"), 6: (2, "R_WF"), 8: (3, "R_WM")}.get(c, (0, ""))
    e = {0: at.freedoms.axis[0], 1: at.freedoms.axis[1], 3: at.freedoms.axis[3]}.get(c)
    if e is None:
        e = at.axes(block, axes)[:, 1 if c == 8 else 2]
    place = at.blocks.p_WM[block] if block else at.links.x[b]
    assert one.axes[:6] == pytest.approx([*e, 1.0, 0.0, 0.0], abs=1e-14) and one.p == pytest.approx(place, abs=1e-15)
    assert (one.low, one.high) == (-h * 0.5 * c, h * 0.5 * c)
    assert (one.meeting, one.key.tolist(), one.gap, one.soft) == (-1, [5 + c, 0], 0.0, 0.0)
    assert (one.restitution, one.rest_speed, one.rows, one.friction) == (0.0, 0.0, 1, 0.0)
    assert one.link.tolist() == [a, b] and at.stepped.points[0] == 3
    assert at.rate(V) == pytest.approx(at.wanted(a, b, place, e, c in (0, 5), V), rel=1e-12)


def test_joints_that_are_not_there_are_left_out_and_full_tables_are_told() -> None:
    at = Joints()
    at.tables.stops.joint[0] = at.tables.columns.joint[0] = 8
    assert plain(constraint_collection.add_stop)(at.tables, at, 0, 0.1) and plain(constraint_collection.add_friction)(
        at.tables, at, 0, 0.1
    )
    assert at.stepped.points[0] == 2 and at.contacts.meeting[2] == 9
    at.stepped.points[0] = 4
    assert not plain(constraint_collection.add_stop)(at.tables, at, 1, 0.1)
    assert not plain(constraint_collection.add_friction)(at.tables, at, 1, 0.1)
    at.stepped.points[0] = 3
    assert plain(constraint_collection.add_stop)(at.tables, at, 1, 0.1)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_stop_closes_where_its_rate_reaches_it(side: float) -> None:
    """A coordinate 0.3 from its bound, h = 0.1."""
    stops = table(STOP, 1)
    stops.side, stops.bound, stops.column = side, 0.1, 1
    is_reached, q = plain(constraint_collection.is_reached), np.array([9.0, 0.1 - 0.3 * side])
    for rate, pressed in ((3.001, True), (2.999, False), (-5.0, False)):
        assert is_reached(stops, -0.3, q, np.array([9.0, rate * side]), 0, 0.1) == pressed
    assert is_reached(stops, 1e-9, q, np.array([9.0, -5.0 * side]), 0, 0.1)
    assert not is_reached(stops, -1e-9, q, np.array([9.0, -5.0 * side]), 0, 0.1)


@pytest.mark.parametrize("what", [ANGLE, SWING, TWIST])
def test_stops_of_balls_close_as_their_depth_grows(what: int) -> None:
    """Of random turns: a twist may grow faster than the joint turns, angle and swing do not."""
    rng, stops, faster = np.random.default_rng(what), table(STOP, 1), 0
    stops.side, stops.angle, stops.column, stops.about = 1.0, what, 1, 2
    found = set()
    for _ in range(300):
        q, rate = np.array([9.0, *rng.normal(size=3)]), np.array([9.0, *rng.normal(size=3)])
        growth, h, depth = plain(closing_rate)(stops, q, rate, 0), 0.1, -rng.uniform(0.0, 0.2)
        pressed = plain(constraint_collection.is_reached)(stops, depth, q, rate, 0, h)
        assert pressed == (depth + h * growth > 0.0)
        found.add(pressed)
        faster += growth > np.linalg.norm(rate[1:]) * (1.0 + 1e-12)
    assert found == {True, False} and (faster > 0) == (what == TWIST)
