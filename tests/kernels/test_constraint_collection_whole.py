"""Which points of which pairs are taken into a step: those kept, those within reach, and what has no room."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from sim.kernels.scratch import CONTACT_CONSTRAINT, LINK_WORK, REST, STEPPED, TOUCH_WORK
from sim.kernels.shapes import MEETING, SPHERE, TOUCH
from sim.kernels.status import Status
from sim.kernels.tables import table
from sim.kernels.unilateral import constraint_collection
from tests.kernels.plain import plain

pytestmark = [pytest.mark.contact, pytest.mark.fast]

H, LENGTH, MARGIN = 0.25, 2.0, 2e-4
GRAVITY = np.array([1.0, -2.0, 2.0])


class Gathering:
    """Six pairs of seven shapes, each shape on the link of its number less one, or on the world.

    gaps : of the points that a pair has; apart : pairs whose boxes are apart
    """

    GAPS: tuple[tuple[float, ...], ...] = ((0.1, 0.9), (-0.2,), (0.05, 0.06, 0.07), (), (0.3,), (0.2,))

    def __init__(self, room: int = 12, apart: tuple[int, ...] = ()) -> None:
        self.log: list = []
        self.apart = apart
        meetings = table(MEETING, 6)
        meetings.a, meetings.b = [0, 0, 1, 2, 3, 5], [1, 2, 4, 5, 6, 6]
        self.shapes = SimpleNamespace(link=np.array([0, 0, 1, 2, 3, 4, 5]), kind=np.full(7, SPHERE))
        self.tables = SimpleNamespace(
            shapes=self.shapes, meetings=meetings, hulls="hulls", links="tree",
            one=SimpleNamespace(length=np.array([LENGTH]), gravity_W=GRAVITY[None]),
            stops=SimpleNamespace(joint=np.zeros(3)), columns=SimpleNamespace(friction=np.array([0.0, 0.5, -1.0, 0.7])),
        )  # fmt: skip
        self.work = SimpleNamespace(
            links=table(LINK_WORK, 6), reach=np.zeros(7), reached=np.zeros(7), posed="posed", drifted=np.zeros(6),
            freedoms=SimpleNamespace(root="root"), rooted="rooted", unchanged="unchanged", stepped=table(STEPPED, 1),
            last_contacts=table(CONTACT_CONSTRAINT, 12), contacts=table(CONTACT_CONSTRAINT, 12),
            contact_P=np.zeros((room, 3)), boxes="boxes", placed="placed", stop_depth=np.zeros(3),
            wide_boxes="wide", near_pairs=np.arange(6),
            near_count=np.array([6]), rest=table(REST, 6),
            near=table(TOUCH, 4), near_points=table(TOUCH_WORK, 4), near_poses="poses", near_cores="cores",
            laws="laws", contact_touch=table(TOUCH, 12), coordinate="coordinate", rate="rate",
        )  # fmt: skip
        self.reach, self.drifted = np.array([0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35]), np.zeros(6)
        self.near_stops, self.full = {0, 2}, ""
        self.pair, self.softened = -1, []

    def stubs(self) -> dict:
        w, log = self.work, self.log

        def sweep_boxes(shapes, x, R, V, margin, h, boxes, poses):
            assert shapes is self.shapes and (margin, h, boxes, poses) == (MARGIN, H, "boxes", "poses")
            assert x is w.links.x or (x == w.links.x).all()
            log.append("boxes")

        def place_all(shapes, x, R, placed):
            assert shapes is self.shapes and placed == "placed"

        def reaches(shapes, placed, x, V, h, margin, reach):
            assert shapes is self.shapes and (placed, margin, h) == ("placed", MARGIN, H)
            reach[:] = self.reach

        def drift(x, R, length, posed, drifted):
            assert length == LENGTH and posed == "posed"
            drifted[:] = self.drifted

        def may_close(shapes, work, i, j, reach, margin, h):
            assert work is w and (margin, h) == (MARGIN, H)
            assert reach == pytest.approx(self.wanted_reach(i, j), rel=1e-15)
            ends = list(zip(self.tables.meetings.a, self.tables.meetings.b, strict=True))
            self.pair = ends.index((i, j))
            log.append(("pair", self.pair))
            return self.pair not in self.apart

        def points_within(shapes, hulls, i, j, x, R, reach, near, points, poses, cores):
            assert (hulls, poses, cores) == ("hulls", "poses", "cores") and near is w.near and points is w.near_points
            assert reach == pytest.approx(self.wanted_reach(i, j), rel=1e-15)
            gaps = self.GAPS[self.pair]
            for f, gap in enumerate(gaps):
                points.gap[f], near.key[f] = gap, [self.pair, f]
            return len(gaps)

        def put_press(near, points, f, m, laws, x, contacts, k):
            assert near is w.near and points is w.near_points and laws == "laws" and contacts is w.contacts
            contacts.meeting[k], contacts.key[k], contacts.kept[k], contacts.gap[k] = m, near.key[f], -1, points.gap[f]

        def keep_press(last_contacts, i, x, R, posed, contacts, k):
            assert last_contacts is w.last_contacts and posed == "posed"
            contacts[k] = last_contacts[i]
            contacts.kept[k] = i

        def soften_point(laws, h, contacts, k):
            assert laws == "laws" and h == H and contacts is w.contacts
            self.softened.append(tuple(contacts.key[k].tolist()))

        def add_turning(tables, work, first):
            assert tables is self.tables and work is w
            log.append(("turning", first, int(w.stepped.points[0])))
            return self.full != "turning"

        def is_reached(stops, depth, coordinate, rate, s, h):
            assert (coordinate, rate, h) == ("coordinate", "rate", 2.0 * H)
            assert depth == pytest.approx(0.1 * s + 1e-4) and w.stop_depth[s] == 0.1 * s
            return s in self.near_stops

        def add(name):
            def added(tables, work, i, h):
                assert tables is self.tables and work is w and h == H
                log.append((name, i, int(w.stepped.points[0])))
                w.stepped.points += 1
                return self.full != name

            return added

        return {
            "sweep_boxes": sweep_boxes, "reaches": reaches, "drift": drift, "may_close": may_close,
            "place_all": place_all,
            "points_within": points_within, "put_press": put_press, "keep_press": keep_press, "is_reached": is_reached,
            "stop_depth": lambda stops, coordinate, s: 0.1 * s,
            "add_stop": add("stop"), "add_friction": add("friction"), "add_turning": add_turning,
            "soften_point": soften_point,
            "find_unchanged": lambda *given: log.append(given[:2] + given[3:]),
            "list_near": lambda meetings, boxes, reach, wide, near, count: log.append(("near", boxes, wide)),
        }  # fmt: skip

    def wanted_reach(self, i: int, j: int) -> float:
        return float(self.reach[i] + self.reach[j])

    def run(self) -> int:
        return plain(constraint_collection.collect_contacts, **self.stubs())(self.tables, self.work, H)

    def found(self) -> list[tuple[int, int, int]]:
        """Meeting, second key and origin of each point."""
        count = sum(name == "stop" for name, *_ in self.log if isinstance(name, str))
        count += sum(name == "friction" for name, *_ in self.log if isinstance(name, str))
        contact = self.work.contacts[: int(self.work.stepped.points[0]) - count]
        return [(int(p.meeting), int(p.key[1]), int(p.kept)) for p in contact]


def test_points_within_reach_are_taken_in_with_stops_and_friction() -> None:
    """Reaches: 0.15, 0.2, 0.35, 0.45, 0.55, 0.65; a gap as large as that counts."""
    one = Gathering(apart=(4,))
    one.GAPS = ((0.15, 0.9), (-0.2,), (0.05, 0.36, 0.07), (), (0.3,), (0.64,))
    one.reach[:] = np.array([2, 4, 6, 8, 10, 12, 14]) / 40.0
    one.GAPS = ((one.wanted_reach(0, 1), 0.9), *one.GAPS[1:])
    assert one.run() == Status.OK
    assert one.found() == [(0, 0, -1), (1, 0, -1), (2, 0, -1), (2, 2, -1), (5, 0, -1)]
    assert one.log[:3] == ["boxes", ("near", "boxes", "wide"), ("tree", "root", "rooted", "unchanged")]
    assert [k for name, k in one.log[3:9]] == [0, 1, 2, 3, 4, 5]
    assert one.log[9:] == [
        ("turning", 0, 5), ("stop", 0, 5), ("stop", 2, 6), ("friction", 1, 7), ("friction", 3, 8),
    ]  # fmt: skip
    touched = one.work.contact_touch.key[:5].tolist()
    assert touched == [[0, 0], [1, 0], [2, 0], [2, 2], [5, 0]] == [list(key) for key in one.softened]


def test_points_of_pairs_that_hardly_move_are_kept() -> None:
    """Of pairs that may reach less than three margins, and of which both links have not gone far."""
    for gone in (None, 3):
        one = Gathering()
        one.reach[:] = 1.4 * MARGIN
        one.reach[6] = 1.7 * MARGIN  # with which a pair reaches further
        one.GAPS = ((0.0,),) * 6
        one.drifted[:] = 1e-9
        if gone is not None:
            one.drifted[gone] = 0.0
        one.work.last_contacts.meeting[:7] = [-1, 0, 0, 2, 3, 4, 5]
        one.work.last_contacts.key[:, 1], one.work.stepped.before = np.arange(10, 22), 7
        assert one.run() == Status.OK
        kept = [(0, 11, 1), (0, 12, 2), (2, 13, 3), (3, 14, 4), (4, 0, -1), (5, 0, -1)]
        if gone is not None:  # link 3 has the shape 4, of pair 2
            kept[2] = (2, 0, -1)
        assert one.found() == kept
        assert [key for _, key in one.softened] == [key for _, key, _ in kept]  # anew: the gap is another
        assert [m for name, m in (x for x in one.log if x[0] == "pair")] == ([4, 5] if gone is None else [2, 4, 5])


def test_in_the_first_step_there_is_nothing_to_keep() -> None:
    one = Gathering()
    one.reach[:], one.drifted[:] = MARGIN, 1e-9
    one.GAPS = ((0.0,),) * 6
    assert one.run() == Status.OK and one.found() == [(m, 0, -1) for m in range(6)]


@pytest.mark.parametrize(("room", "status"), [(0, Status.OK), (-1, Status.CROWDED), (-5, Status.CROWDED)])
def test_points_that_have_no_room_are_told(room: int, status: int) -> None:
    """Of those found, two, one, three, one and one, the second is not in reach; eight are kept."""
    assert Gathering(7 + room).run() == status
    kept = Gathering(8 + room)
    kept.reach[:], kept.drifted[:] = MARGIN, 1e-9
    kept.work.last_contacts.meeting[:8], kept.work.stepped.before = [0, 0, 1, 2, 2, 2, 3, 5], 8
    assert kept.run() == status


@pytest.mark.parametrize(
    ("full", "added"),
    [("turning", ["turning"]), ("stop", ["turning", "stop"]), ("friction", ["turning", "stop", "stop", "friction"])],
)
def test_joints_that_have_no_room_are_told(full: str, added: list[str]) -> None:
    """And friction against turning."""
    one = Gathering()
    one.full = full
    assert one.run() == Status.CROWDED
    assert [x[0] for x in one.log if x[0] in ("turning", "stop", "friction")] == added


class Reached(Gathering):
    """The same after a first round, with links that are faster now: `spare` 2e-4 + 0.25^2 * 3 may be."""

    SPARE = MARGIN + H * H * 3.0

    def __init__(self, further: np.ndarray, room: int = 12) -> None:
        super().__init__(room, apart=(3,))
        self.work.reach[:] = self.old = self.reach.copy()
        self.reach = self.old + further
        self.work.stepped.points = 1
        self.work.contacts.meeting[0], self.work.contacts.key[0], self.work.contacts.gap = 0, [0, 1], 77.0
        self.rates: dict[tuple[int, int], float] = {}

    def run(self) -> int:
        def rate_of(contacts, k, r, V):
            assert r == 0 and contacts is self.work.contacts
            return self.rates.get(tuple(contacts.key[k].tolist()), -100.0)

        return plain(constraint_collection.collect_reached, rate_of=rate_of, **self.stubs())(self.tables, self.work, H)


def test_points_of_pairs_that_reach_further_are_added_where_they_close() -> None:
    """Those that are known are not added again, nor what its rate leaves open at the end of the step."""
    further = np.array([0.0, 0.0, 0.0, 0.2, 0.2, 0.2, 0.0])  # of pairs 2 to 5
    one = Reached(further)
    one.rates = {(2, 0): -0.19, (2, 1): -0.25, (2, 2): -0.28, (4, 0): -1.3, (5, 0): -0.7}
    assert one.run() == Status.OK
    assert one.log == [
        "boxes",
        ("near", "boxes", "wide"),
        ("pair", 2),
        ("pair", 3),
        ("pair", 4),
        ("pair", 5),
        ("turning", 1, 3),
    ]
    assert one.softened == [(2, 0), (2, 1), (2, 2), (4, 0), (5, 0)]  # all but the one that is known
    assert [(m, key) for m, key, _ in one.found()] == [(0, 1), (2, 1), (4, 0)]
    assert one.work.contact_touch.key[:3].tolist() == [[0, 0], [2, 1], [4, 0]]
    assert one.work.contacts.gap[:3].tolist() == [77.0, 0.06, 0.3]
    assert (one.work.reach == one.reach).all()
    again = Reached(further)
    again.work.stepped.points = 2
    again.work.contacts.meeting[:2], again.work.contacts.key[:2] = [0, 2], [[0, 1], [2, 1]]
    again.rates = one.rates
    assert again.run() == Status.OK and [(m, key) for m, key, _ in again.found()] == [(0, 1), (2, 1), (4, 0)]


def test_shapes_that_reach_hardly_further_are_not_looked_at() -> None:
    """Each by half of what may be, and both of a pair by all of it; what was reached before is not forgotten."""
    share = np.array([0.6, -0.3, 0.6, 0.49, 0.3, 0.0, 0.0])
    none = Reached(Reached.SPARE * np.minimum(share, 0.49))
    assert none.run() == Status.OK and none.log == [] and (none.work.reach == none.old).all()
    one = Reached(Reached.SPARE * share)  # both of pair 1 alone
    assert one.run() == Status.OK and one.log == ["boxes", ("near", "boxes", "wide"), ("pair", 1), ("turning", 1, 2)]
    assert [(m, key) for m, key, _ in one.found()] == [(0, 1), (1, 0)]
    assert (one.work.reach == np.maximum(one.old, one.reach)).all()


@pytest.mark.parametrize(("room", "status"), [(7, Status.OK), (6, Status.CROWDED), (1, Status.CROWDED)])
def test_points_that_are_reached_and_have_no_room_are_told(room: int, status: int) -> None:
    """One is there; of the pairs 1, 2, 4 and 5 there are one, three, one and one."""
    one = Reached(np.array([0.2, 0.0, 0.2, 0.2, 0.2, 0.2, 0.0]), room)
    one.GAPS = ((), *Gathering.GAPS[1:])
    assert one.run() == status
    one = Reached(np.array([0.2, 0.0, 0.2, 0.2, 0.2, 0.2, 0.0]))
    one.full = "turning"
    assert one.run() == Status.CROWDED


def test_one_point_of_the_last_step_is_enough_to_keep_and_other_pairs_stay_open() -> None:
    one = Gathering()
    one.reach[:], one.drifted[:] = MARGIN, 1e-9
    one.work.last_contacts.key[0, 1], one.work.stepped.before = 5, 1
    assert one.run() == Status.OK and one.found() == [(0, 5, 0)]
    assert not any(name == "pair" for name, *_ in one.log)
