"""A time step with contacts as a whole: what is asked of what, in which order, and where the parts leave bodies."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.kernels import kinematics
from sim.kernels.elimination import articulated
from sim.kernels.integrators import stepping as kernels
from sim.kernels.scratch import CONTACT_CONSTRAINT, LINK_WORK, SETTLED, STEPPED
from sim.kernels.shapes import BALL, FACE, TOUCH
from sim.kernels.status import Status
from sim.kernels.stepper import REPLY
from sim.kernels.system import PUSH, STEPPING, TELL
from sim.kernels.tables import STOP, table
from sim.mechanism.mechanism import Mechanism
from tests.dynamics.engine import simulator_for
from tests.kernels.plain import plain
from tests.support.mechanisms import random_tree, with_coordinates

pytestmark = [pytest.mark.contact, pytest.mark.fast]

H = 0.25  # s


class Ended:
    """A ball of link 2 above a face of link 1, at the end of a step in which both have gone somewhere."""

    def __init__(self, turned: float, faced: bool) -> None:
        rng = np.random.default_rng(7)
        touches, links, contact = table(TOUCH, 3), table(LINK_WORK, 3), table(CONTACT_CONSTRAINT, 3)
        normal, base = np.array([2.0, -3.0, 6.0]) / 7.0, Rotation.random(rng=rng)
        across = np.cross(normal, rng.normal(size=3))
        across /= np.linalg.norm(across)
        turn = Rotation.from_rotvec(turned * across) * base  # of link 1 at the end; its face looked along `normal`
        links.x, links.R = rng.normal(size=(3, 3)), Rotation.random(3, rng=rng).as_matrix().reshape(3, 9)
        links.R[1] = turn.as_matrix().ravel()
        face, ball = (0, 1) if faced else (1, 0)
        touches.link[1, face], touches.link[1, ball], touches.kind[1, face], touches.kind[1, ball] = 1, 2, FACE, BALL
        touches.p[1] = rng.normal(size=(2, 3))
        touches.d[1, face], touches.r[1, ball] = base.inv().apply(normal), 0.3
        # The normal from a to b, in the axes of a: out of the face, or into it.
        out = turn.apply(touches.d[1, face])
        of_a = turn if faced else Rotation.from_matrix(links.R[2].reshape(3, 3))
        touches.n[1] = of_a.inv().apply(out if faced else -out)
        contact.axes[1, :3] = normal if faced else -normal
        contact.meeting, contact.kept, contact.gap = 4, -1, 0.125
        contact.shift[:, 0] = 0.5
        self.places = [links.x[n] + links.R[n].reshape(3, 3) @ touches.p[1, side] for n, side in ((1, face), (2, ball))]
        self.gap = float(out @ (self.places[1] - self.places[0])) - 0.3
        self.work = SimpleNamespace(
            contacts=contact, contact_touch=touches, end_links=links, contact_z=np.full((3, 3), 0.7)
        )

    def found(self) -> float:
        return float(plain(kernels.gap_at_end)(self.work, 1, H))


RATED = 0.125 + H * (0.7 - 0.5)


@pytest.mark.parametrize("faced", [True, False])
@pytest.mark.parametrize("turned", [0.0, 0.4, 1.04, 1.05, 1.2, 1.5, 2.5])
def test_a_gap_at_the_end_is_that_of_the_same_features(turned: float, faced: bool) -> None:
    """Unless the normal has turned by more than 60 degrees: then it is what the rate makes of it."""
    ended = Ended(turned, faced)
    assert ended.found() == pytest.approx(ended.gap if turned < np.pi / 3 else RATED, abs=1e-13)


def test_a_gap_follows_its_rate_where_bodies_rest_and_in_joints() -> None:
    for name, value in (("kept", 0), ("kept", 2), ("meeting", -1)):
        ended = Ended(0.2, True)
        ended.work.contacts[name][1] = value
        assert ended.found() == pytest.approx(RATED, abs=1e-15)


def test_features_without_a_normal_follow_their_rate() -> None:
    ended = Ended(0.2, True)
    lost = plain(kernels.gap_at_end, place_touch=lambda *_: (Status.NOT_SOLVED, 9.0, (1.0, 0.0, 0.0), None, None))
    assert lost(ended.work, 1, H) == pytest.approx(RATED, abs=1e-15)


def test_a_gap_of_two_balls_at_the_end_is_between_their_surfaces() -> None:
    """Seen from either: the normal of the press says which of them is a."""
    for swapped in (False, True):
        ended = Ended(0.0, True)
        touches, way = ended.work.contact_touch, ended.places[1] - ended.places[0]
        touches.kind[1], touches.r[1] = BALL, [0.2, 0.3]
        n = way / np.linalg.norm(way)
        touches.n[1] = ended.work.end_links.R[1].reshape(3, 3).T @ n
        ended.work.contacts.axes[1, :3] = -n if swapped else n
        assert ended.found() == pytest.approx(RATED if swapped else np.linalg.norm(way) - 0.5, abs=1e-13)


class Whole:
    """A random tree and what a step of it needs; loops: whether rows of loops are there."""

    def __init__(self, seed: int, points: int = 3, loops: bool = False) -> None:
        self.rng = rng = np.random.default_rng(seed)
        flow = simulator_for(with_coordinates(rng, random_tree(rng, 3))).flow
        self.mechanism = mechanism = Mechanism.of(flow.model, flow.structure)
        self.q, self.v = flow.q.copy(), flow.v.copy()
        mechanism.update(self.q, self.v)
        made, tables = mechanism.work, mechanism.structure.tables
        assert plain(articulated.articulate)(tables.links, tables.freedoms, made.links, made.freedoms) == -1
        self.tables = SimpleNamespace(
            links=tables.links, freedoms=tables.freedoms, rows=SimpleNamespace(block=np.zeros(int(loops))),
            one=SimpleNamespace(length=np.array([2.0])), blocks="blocks",
        )  # fmt: skip
        self.work = SimpleNamespace(
            links=made.links, freedoms=made.freedoms, contacts=table(CONTACT_CONSTRAINT, points),
            stepped=table(STEPPED, 1),
            push=rng.normal(size=len(made.freedoms)), moved=np.zeros(len(self.v)),
            contact_P=rng.normal(size=(points, 3)), contact_support=None, contact_U=None, contact_R=None,
        )  # fmt: skip

    def unpack(self, system: object) -> tuple:
        return self.tables, None, self.work, None


@pytest.mark.parametrize("seed", range(4))
def test_pushes_change_rates_by_the_inverse_of_the_inertia(seed: int) -> None:
    """y stands for a sum of rows U, of which U U^T = W M^-1 W^T: the change has y^T y as its energy twice over."""
    at = Whole(seed)
    at.work.freedoms.vdot = 5.0
    at.work.push[:] = at.rng.normal(size=len(at.work.push))
    push, moved = at.work.push.copy(), []
    plain(kernels.respond_to_push, unpack=at.unpack)(None)
    change = at.work.freedoms.vdot.copy()
    assert change @ at.mechanism.inertia() @ change == pytest.approx(push @ push, rel=1e-9)
    for unit in np.eye(len(push)):
        at.work.push[:] = unit
        plain(kernels.respond_to_push, unpack=at.unpack)(None)
        moved.append(at.work.freedoms.vdot.copy())
    assert change == pytest.approx(push @ np.array(moved), rel=1e-9, abs=1e-9 * np.abs(change).max())
    around = np.array(moved) @ at.mechanism.inertia() @ np.array(moved).T
    assert around == pytest.approx(np.eye(len(push)), abs=1e-8)
    looped = Whole(seed, loops=True)
    plain(kernels.respond_to_push, unpack=looped.unpack)(None)
    assert (looped.work.freedoms.vdot == looped.work.push).all()


def test_presses_are_solved_to_a_share_of_the_largest_rate() -> None:
    """From their first impulses, all of them added up anew; the worst of all steps is kept."""
    for loops in (False, True):
        at = Whole(1, 4, loops)
        P, free, added, asked = at.work.contact_P.copy(), at.rng.normal(size=(4, 3)), [], []
        at.work.contacts.free = free
        at.work.contacts.free[1, 2], at.work.contacts.free[3] = -8.0, 99.0
        at.work.stepped.sweeps, at.work.stepped.residual = 5, 0.01

        def add_push(looped, k, p0, p1, p2, contacts, support, U, R, push, at=at, added=added, loops=loops):
            assert looped == loops and contacts is at.work.contacts and push is at.work.push
            if not added:
                assert not push.any()
            added.append((k, p0, p1, p2))

        def solve(system, points, enough, asked=asked):
            asked.append((points, enough))
            return 7, 0.4

        plain(kernels.solve_contacts, unpack=at.unpack, add_push=add_push, solve_presses=solve)(None, 3)
        assert added == [(k, *P[k]) for k in range(3)]
        assert asked == [(3, pytest.approx(8e-7, rel=1e-14))]
        assert at.work.stepped.sweeps[0] == 12 and at.work.stepped.residual[0] == pytest.approx(0.05, rel=1e-14)
        at.work.stepped.residual = 0.3
        plain(kernels.solve_contacts, unpack=at.unpack, add_push=add_push, solve_presses=solve)(None, 3)
        assert at.work.stepped.residual[0] == 0.3 and at.work.stepped.sweeps[0] == 19
        at.work.contacts.free = 0.0
        plain(kernels.solve_contacts, unpack=at.unpack, add_push=add_push, solve_presses=solve)(None, 3)
        assert asked[-1] == (3, 0.0) and at.work.stepped.residual[0] == 0.3


def test_rates_before_and_without_impulses_are_those_of_the_wrenches() -> None:
    """Shifted as the law asks, but for soft stops, whose shift is there already; those known are left."""
    at = Whole(2, 4)
    contact, links = at.work.contacts, at.work.links
    contact.rows, contact.K, contact.link = (
        [3, 3, 1, 3],
        at.rng.normal(size=(4, 3, 12)),
        [[1, 2], [2, 0], [0, 3], [1, 3]],
    )
    contact.gap, contact.soft, contact.shift, contact.before, contact.free = (
        [0.1, 3.0, 0.2, 0.1],
        [0, 0, 0.5, 0],
        9.0,
        8.0,
        7.0,
    )
    at.work.stepped.points = 3
    J = at.mechanism.link_jacobians()
    old = links.V.copy()
    new = at.v + at.rng.normal(size=len(at.v))
    assert not plain(kernels.state_targets)(at.tables, at.work, 1, False, at.v, new, H)
    assert pytest.approx(J @ new, abs=1e-12) == links.V
    for k in (1, 2):
        a, b = contact.link[k]
        n = contact.rows[k]
        before, free = (contact.K[k] @ np.append(V[b], V[a]) for V in (old, J @ new))
        before[n:] = free[n:] = 0.0
        shift = np.array([contact.gap[k] / H, 0.0, 0.0]) if k == 1 else np.full(3, 9.0)
        assert contact.before[k] == pytest.approx(before, abs=1e-12)
        assert contact.shift[k] == pytest.approx(shift, abs=1e-14)
        assert contact.free[k] == pytest.approx(free + shift, abs=1e-12)
    for k in (0, 3):
        assert (contact.before[k] == 8.0).all() and (contact.free[k] == 7.0).all() and (contact.shift[k] == 9.0).all()


def test_what_is_new_in_a_step_begins_with_nothing_and_the_first_with_the_last_step() -> None:
    at, asked = Whole(3, 4), []
    at.work.last_contacts, at.work.stepped.points, at.work.stepped.before = "pressed", 3, 6
    first = at.work.contact_P.copy()
    start = plain(kernels.start_warm, warm=lambda *all_of: asked.append(all_of))
    start(at.tables, at.work, 1, H)
    assert asked == [] and (at.work.contact_P[[0, 3]] == first[[0, 3]]).all() and not at.work.contact_P[1:3].any()
    start(at.tables, at.work, 0, H)
    assert not at.work.contact_P[:3].any() and (at.work.contact_P[3] == first[3]).all()
    assert len(asked) == 1 and asked[0][:5] == (6, 3, "pressed", H, 2.0)
    assert asked[0][5] is at.work.contacts and asked[0][6] is at.work.contact_P


END = -1  # rates hardly change any more


class Pressing:
    """The rounds of one step: each finds presses that the change before reaches."""

    def __init__(
        self,
        rounds: list[int],
        first: int = 2,
        status: int = Status.OK,
        rolls: bool = False,
        collides: bool = False,
        whirls: bool = False,
    ) -> None:
        self.at, self.log, self.rounds, self.status = Whole(4, 9), [], list(rounds), status
        self.rolls, self.collides, self.whirls = rolls, collides, whirls
        self.at.work.stepped.points, self.at.work.stepped.before = first, 6
        self.at.work.laws, self.at.work.last_contacts = "laws", "pressed"
        self.v, self.v_out = self.at.v.copy(), self.at.v + 0.5

    def run(self) -> int:
        def goes_on(v, v_new, h, length):
            assert v is self.v and (h, length) == (H, 2.0)
            self.log.append(("look", round(float(v_new[0] - self.v_out[0]), 9)))
            return self.rounds[:1] == [END]

        def add_overrun(system, q, v, v_new, h):
            assert q == "q" and v is self.v and h == H
            self.log.append(("add", round(float(v_new[0] - self.v_out[0]), 9)))
            self.at.work.stepped.points += self.rounds.pop(0)
            return self.status

        def solve_contacts(system, points):
            self.log.append(("press", points))
            self.at.work.freedoms.vdot = float(points)

        def note(name):
            return lambda *given: self.log.append((name, *(x for x in given[1:] if isinstance(x, int | np.integer))))

        def targets(tables, work, known, half, v_half, v_free, h):
            assert half == (self.rolls and known == 0) and v_half is self.v and v_free is self.v_out and h == H
            self.log.append(("targets", known))
            return 0.2 if half else 0.0

        def was_otherwise(turn, lone, length, h, freedoms, freedom_work, v_free, v_new):
            assert (lone, length, h) == ("lone", 2.0, H) and v_free is self.v_out and v_new is self.at.work.moved
            assert turn == (0.2 if self.rolls else 0.0)
            return turn > 0.0

        def step_again(system, q, v, h, v_out):
            self.log.append("again")
            v_out += 20.0
            self.at.work.moved[:] = v_out + 0.5
            return Status.OK

        def keep_kick(collided, h, v_free, v_new, freedom_work):
            self.kept = bool(collided), float(v_new[0] - v_free[0])

        return plain(
            kernels.step_contacts, unpack=self.at.unpack, goes_on=goes_on, add_overrun=add_overrun,
            solve_contacts=solve_contacts,
            contact_rows=note("rows"), state_targets=targets, choose_friction=note("friction"),
            look_half_way=lambda tables, work, q, v, h: None, touches_on=lambda *given: self.rolls,
            collides=lambda work, points: self.collides,
            turns_at_most=lambda *given: 0.016 if self.whirls else 0.0,
            all_lone=lambda links, blocks: "lone", was_otherwise=was_otherwise, step_again=step_again,
            keep_kick=keep_kick,
            start_warm=note("warm"), respond_to_push=note("respond"),
        )("system", "q", self.v, H, self.v_out)  # fmt: skip


def round_of(known: int, points: int) -> list[tuple]:
    return [
        ("rows", known),
        ("targets", known),
        ("friction", 6, known, points),
        ("warm", known),
        ("press", points),
        ("respond",),
    ]


def test_a_step_is_solved_again_with_what_its_change_reaches() -> None:
    one = Pressing([3, 1, END])
    before = one.v_out.copy()
    assert one.run() == Status.OK
    wanted = [*round_of(0, 2), ("look", 2.0), ("add", 2.0), *round_of(2, 5), ("look", 5.0), ("add", 5.0)]
    assert one.log == [*wanted, *round_of(5, 6), ("look", 6.0)]
    assert one.v_out == pytest.approx(before + 6.0, rel=1e-14)


def test_a_step_that_reaches_nothing_new_is_solved_once() -> None:
    for rounds, last in (([END], []), ([0], [("add", 2.0)])):
        one = Pressing(rounds)
        before = one.v_out.copy()
        assert one.run() == Status.OK and one.log == [*round_of(0, 2), ("look", 2.0), *last]
        assert one.v_out == pytest.approx(before + 2.0, rel=1e-14)
    free = Pressing([END], first=0)
    before = free.v_out.copy()
    assert free.run() == Status.OK and free.log == [("look", 0.0)] and (free.v_out == before).all()


def test_a_step_in_which_points_roll_is_solved_again_half_way_where_nothing_collides() -> None:
    rolls = Pressing([1, END], rolls=True)
    before = rolls.v_out.copy()
    assert rolls.run() == Status.OK and rolls.log[-1] == "again" and rolls.log.count("again") == 1
    assert rolls.v_out == pytest.approx(before + 20.5, rel=1e-14) and rolls.kept == (False, pytest.approx(0.5))
    whirls = Pressing([1, END], rolls=True, whirls=True)
    assert whirls.run() == Status.OK and "again" not in whirls.log and whirls.kept == (False, 3.0)
    collides = Pressing([1, END], rolls=True, collides=True)
    assert collides.run() == Status.OK and "again" not in collides.log and collides.kept == (True, 3.0)
    assert collides.v_out == pytest.approx(before + 3.0, rel=1e-14)


def test_rounds_end_after_eight_and_where_there_is_no_room() -> None:
    many = Pressing([1] * 20, first=1)
    many.run()
    assert [points for name, *rest in many.log if name == "press" for points in rest] == list(range(1, 9))
    full = Pressing([1, 1, 1], status=Status.CROWDED)
    before = full.v_out.copy()
    assert full.run() == Status.CROWDED and len(full.log) == 8 and (full.v_out == before).all()


class Apart:
    """Overlaps of two presses on freedoms of their own, and how far they are taken back."""

    def __init__(self, looped: bool, worst: float) -> None:
        self.at, self.log, self.worst = Whole(5, 3, looped), [], worst
        work = self.at.work
        work.end_links, work.end_freedoms = table(LINK_WORK, len(work.links)), work.freedoms.copy()
        work.stepped.overlap, work.contact_chosen = 0.02, np.array([1, 0, 2])
        self.visits: list[float] = []
        self.q = self.at.q.copy()

    def run(self) -> None:
        def overlaps(work, points, h):
            assert (points, h) == (3, H)
            links = table(LINK_WORK, len(work.links))
            plain(kinematics.poses)(self.at.tables.links, self.at.tables.freedoms, self.q, links, work.freedoms.copy())
            assert (work.end_links.x == links.x).all() and (work.end_links.R == links.R).all()
            return 0.03, self.worst

        def move_one(looped, k, contacts, work):
            if not self.visits:
                assert not work.push.any()
            assert looped == (len(self.at.tables.rows.block) > 0) and contacts is work.contacts
            self.log.append(k)
            self.visits.append(0.5 ** (len(self.visits) // 2) * 1e-6 * (1.0 if k else 0.3))
            work.push[0] += 1.0
            return self.visits[-1]

        def respond(system):
            self.log.append("respond")
            self.at.work.freedoms.vdot = 0.01 * np.arange(1, len(self.at.v) + 1)

        def note(name, reply=None):
            return lambda *given: self.log.append((name, *given[1:])) or reply

        plain(
            kernels.move_apart, unpack=self.at.unpack, overlaps=overlaps, move_one=move_one, respond_to_push=respond,
            problem_of=lambda work: "problem", choose_all=note("all"), let_sleep=note("sleep"), wake=note("wake"),
            choose_off=note("off", (2, 9)),
        )("system", 3, H, self.q)  # fmt: skip


@pytest.mark.parametrize("looped", [False, True])
def test_overlaps_are_taken_back_in_sweeps_until_a_tenth_of_what_is_left(looped: bool) -> None:
    """Of the presses chosen, in their order; then bodies are moved by what the impulses do, once."""
    apart = Apart(looped, 3e-7)
    links, before, nv = apart.at.tables.links, apart.q.copy(), len(apart.at.v)
    apart.run()
    chosen = [("all", 3)] if looped else [("sleep",), ("wake", 3, 1e-7), ("off", 3)]
    order = [1, 0, 2] if looped else [1, 0]
    assert apart.log[: len(chosen)] == chosen and apart.log[-1] == "respond"
    visited = apart.log[len(chosen) : -1]
    assert visited == order * (len(visited) // len(order))
    sweeps = [max(apart.visits[i : i + len(order)]) for i in range(0, len(visited), len(order))]
    assert len(sweeps) == 10 or (sweeps[-1] <= 1e-8 and min(sweeps[:-1]) > 1e-8)
    assert apart.at.work.stepped.overlap[0] == 0.03
    moved = 0.01 * np.arange(1, nv + 1)
    for b in range(1, len(links)):
        if links.nv[b] == 1:  # of other joints the freedoms are no coordinates
            assert apart.q[links.q[b]] == pytest.approx(before[links.q[b]] + moved[links.v[b]], rel=1e-14)
    assert not np.array_equal(apart.q, before)


def test_what_hardly_overlaps_is_left() -> None:
    apart = Apart(False, 1e-7)
    before, push = apart.q.copy(), apart.at.work.push.copy()
    apart.at.work.stepped.overlap = 0.05
    apart.run()
    assert apart.log == [] and (apart.q == before).all() and (apart.at.work.push == push).all()
    assert apart.at.work.stepped.overlap[0] == 0.05


class Stops:
    """Four stops of columns, of which one presses already, one is reached, one is not and one has no room."""

    def __init__(self) -> None:
        self.at = Whole(6, 4)
        stops, work, tables = table(STOP, 4), self.at.work, self.at.tables
        stops.joint, stops.column, stops.side, stops.bound = range(4), range(4), [1, -1, 1, 1], [0.5, 0.2, 0.7, 0.9]
        tables.stops, tables.meetings = stops, SimpleNamespace(a=np.zeros(1))
        tables.blocks = SimpleNamespace(rows=np.zeros(0))
        work.blocks = None
        work.stop_depth = np.array([-0.1, -0.1, -0.1, -0.1])
        work.coordinate, work.rate = np.array([0.4, 0.3, 0.6, 0.8]), np.array([0.41, -0.41, 0.39, 0.5])
        work.contacts.meeting, work.contacts.key[0, 0], work.stepped.points = -1, 0, 1
        self.log: list = []
        self.new = self.at.v + 1.0

    def run(self, gathered: int = Status.OK, room: bool = True) -> int:
        def add_stop(tables, work, s, h):
            assert h == H
            self.log.append(s)
            work.stepped.points += room
            return room

        def gather(tables, work, h):
            assert h == H
            V = self.at.mechanism.link_jacobians() @ self.new
            self.log.append("reached")
            assert pytest.approx(V, abs=1e-12) == work.links.V
            return gathered

        return plain(
            kernels.add_overrun, unpack=self.at.unpack, add_stop=add_stop, collect_reached=gather,
            columns=lambda system, q, v: self.log.append(("columns", q, v is self.new)),
            tree_rates=lambda links, v, rate: self.log.append(("rates", v is self.new)),
            block_frames=lambda *given: self.log.append("frames"),
        )("system", "q", self.at.v, self.new, H)  # fmt: skip


def test_what_rates_take_joints_beyond_is_added_and_velocities_are_those_before() -> None:
    """Of 0.25 s: stop 0 presses already, 1 and 3 are passed, 2 is not by 0.0025."""
    stops = Stops()
    old = stops.at.mechanism.link_jacobians() @ stops.at.v
    assert stops.run() == Status.OK
    assert stops.log == ["reached", ("rates", True), 1, 3]
    assert pytest.approx(old, abs=1e-12) == stops.at.work.links.V
    stops = Stops()
    stops.at.tables.blocks.rows = np.zeros(1)
    stops.at.tables.meetings.a = np.zeros(0)
    stops.at.work.rate[[1, 3]] = -0.39, 0.39
    assert stops.run() == Status.OK and stops.log == ["frames", ("columns", "q", True)]
    new = stops.at.mechanism.link_jacobians() @ stops.new
    assert pytest.approx(new, abs=1e-12) == stops.at.work.links.V  # nothing was added


def test_where_there_is_no_room_the_step_ends() -> None:
    stops = Stops()
    assert stops.run(gathered=Status.CROWDED) == Status.CROWDED and stops.log == ["reached"]
    stops = Stops()
    assert stops.run(room=False) == Status.CROWDED and stops.log[2:] == [1]
    stops = Stops()
    stops.at.tables.stops = table(STOP, 0)
    assert stops.run() == Status.OK and stops.log == ["reached"]


class Flowing:
    """What one step asks, in its order; of a state with one number more than coordinates and rates."""

    def __init__(self, settled: bool = False, failing: str = "", points: int = 2, acts: bool = False,
                 whirls: bool = False) -> None:  # fmt: skip
        self.at, self.log, self.failing, self.whirls = Whole(8, 3), [], failing, whirls
        work, tables = self.at.work, self.at.tables
        tables.one = SimpleNamespace(nq=np.array([2]), nv=np.array([3]))
        tables.stops, tables.blocks, work.contact_z = "stops", "blocks", "z"
        work.one = SimpleNamespace(intact=np.array([SETTLED if settled else SETTLED + 1]))
        tables.one.acts, self.control = np.array([int(acts)]), SimpleNamespace(acts=np.zeros(1))
        work.stepped.points, work.end_freedoms, tables.freedoms = points, None, "freedoms"
        self.y, self.slope = self.at.rng.normal(size=7), self.at.rng.normal(size=7)
        self.out, work.posed = np.full(7, 9.0), None

    def unpack(self, system: object) -> tuple:
        return self.at.tables, SimpleNamespace(acts=np.zeros(3, np.int64)), self.at.work, None

    def run(self) -> int:
        y, out, log = self.y, self.out, self.log
        start = np.array([*y[:2], *(y[2:] + H * self.slope[2:])])

        def note(name, check=lambda *given: True, reply=Status.OK):
            def noted(*given):
                log.append(name)
                assert check(*given), name
                return Status.CROWDED if name == self.failing else reply

            return noted

        def turn_on(system, v, h, enough, v_out):
            log.append("turn_on")
            assert enough == (1e-10 if self.whirls else 1e-11)
            assert (v == y[2:5]).all() and h == H and out == pytest.approx(start, rel=1e-14) and len(v_out) == 3
            v_out += 1.0
            return Status.CROWDED if self.failing == "turn_on" else Status.OK

        def step_contacts(system, q, v, h, v_out):
            log.append("step_contacts")
            assert (q == y[:2]).all() and (v == y[2:5]).all() and h == H
            assert v_out == pytest.approx(start[2:5] + 1.0, rel=1e-14)
            v_out += 10.0
            return Status.CROWDED if self.failing == "step_contacts" else Status.OK

        def move_on(links, blocks, h, v, q):
            log.append("move_on")
            assert blocks == "blocks" and h == H and v == pytest.approx(start[2:5] + 11.0) and (q == y[:2]).all()
            q += 3.0

        def is_state(system, q, v):
            return (q == y[:2]).all() and (v == y[2:5]).all()

        points, work = int(self.at.work.stepped.points[0]), self.at.work
        return plain(
            kernels.step_pressed, unpack=self.unpack, turn_on=turn_on, step_contacts=step_contacts, move_on=move_on,
            follow=note("follow", lambda system, t: t == 1.5), move=note("move", is_state),
            apply_forces=note("forces", lambda system, t, q, v: t == 1.5 and is_state(system, q, v)),
            factorise=note("factorise", lambda system, choose: choose == 0), columns=note("columns", is_state),
            collect_contacts=note("collect_contacts", lambda tables, w, h: w is work and h == H),
            lost_in=note("lost_in", lambda tables, k, h, contact, P, z: (k, h, z) == (points, H, "z")
                         and tables is self.at.tables and contact is work.contacts and P is work.contact_P, 0.125),
            turns_at_most=lambda *given: 0.023 if self.whirls and "turn_on" not in log else 0.0,
            keep_middle=lambda *given: None,
            expect_kick=lambda known, freedoms: log.append("kick"),
            acts_at_end=lambda tables: False, let_go=note("let_go", lambda freedoms: freedoms is work.freedoms),
            note_struck=note("note_struck", lambda w, k: w is work and k == points),
            move_apart=note("move_apart", lambda system, k, h, q: k == points and h == H
                            and q == pytest.approx(y[:2] + 3.0)),
            remember=note("remember", lambda w, k, h: w is work and k == points and h == H),
            remember_poses=lambda x, R, posed: None, look_at_sleepers=lambda work: None,
            let_rest=note("let_rest", lambda tables, w, acted, h, y: w is work and not acted and h == H and y is out),
        )("system", 1.5, H, y, self.slope, out)  # fmt: skip


ASKED = ["follow", "move", "forces", "factorise", "columns", "kick", "collect_contacts", "turn_on", "step_contacts",
         "lost_in", "move_on", "let_go", "note_struck", "move_apart", "remember", "let_rest"]  # fmt: skip


@pytest.mark.parametrize("acts", [False, True])
@pytest.mark.parametrize("settled", [False, True])
def test_a_step_moves_by_its_new_rates_and_counts_what_presses_take(settled: bool, acts: bool) -> None:
    """Whose last number gains the energy; nothing is looked at again where all is settled, nor what forces have."""
    one = Flowing(settled, acts=acts)
    asked = ASKED[4 if settled else 0 :]
    assert one.run() == Status.OK and one.log == [name for name in asked if not acts or name != "columns"]
    rest = one.y[5:] + H * one.slope[5:]
    wanted = [*(one.y[:2] + 3.0), *(one.y[2:5] + H * one.slope[2:5] + 11.0), rest[0], rest[1] + 0.125]
    assert one.out == pytest.approx(wanted, rel=1e-14) and one.at.work.one.intact[0] == 0


def test_inertia_that_is_flown_later_is_taken_less_exactly() -> None:
    one = Flowing(whirls=True)
    assert one.run() == Status.OK and one.log == ASKED


def test_a_step_without_presses_takes_nothing() -> None:
    one = Flowing(points=0)
    assert one.run() == Status.OK and one.log == [name for name in ASKED if name not in ("lost_in", "move_apart")]
    assert one.out[5:] == pytest.approx(one.y[5:] + H * one.slope[5:], rel=1e-14)


@pytest.mark.parametrize("failing", ["factorise", "collect_contacts", "turn_on", "step_contacts"])
def test_a_step_ends_where_a_part_of_it_fails(failing: str) -> None:
    one = Flowing(failing=failing)
    assert one.run() == Status.CROWDED and one.log == [*ASKED[: ASKED.index(failing) + 1], "let_go"]


def test_questions_of_a_step_are_answered_with_its_numbers() -> None:
    """States and slopes stand among sixteen rows of n numbers; the length of the step is asked for beside."""
    one = SimpleNamespace(nq=np.array([2]), nv=np.array([1]))
    tables, log, rows = SimpleNamespace(one=one), [], np.arange(16 * 5.0)
    work = SimpleNamespace(reply=table(REPLY, 1))
    work.reply.h = 25.0
    asked = plain(
        kernels.stepping.function, unpack=lambda system: (tables, None, work, None),
        vector=lambda a, n: rows if n == 80 else (a, n), push_links=lambda *given: log.append(("push", *given)),
        tell=lambda *given: log.append(("tell", *given)), step_pressed=lambda *given: log.append(given) or 4,
    )  # fmt: skip
    assert asked(PUSH, "system", 1.5, None, None) == Status.OK and log.pop() == ("push", tables, work)
    assert asked(TELL, "system", 1.5, None, None) == Status.OK and log.pop() == ("tell", work, 1.5)
    assert asked(STEPPING, "system", 1.5, "a", "b") == 4
    system, t, h, y, slope, out = log.pop()
    assert (system, t, h, y) == ("system", 1.5, 25.0, ("a", 5))
    assert slope.tolist() == [0, 1, 2, 3, 4] and out.tolist() == [5, 6, 7, 8, 9]
