"""Parts of a time step with contacts, one by one: what the law asks for, where it begins, what it takes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import sim
from sim.kernels.integrators import step_ledger
from sim.kernels.integrators import stepping as kernels
from sim.kernels.scratch import BLOCK_WORK, CONTACT_CONSTRAINT, CONTACT_WORK, LINK_WORK, STEPPED, TOLD
from sim.kernels.shapes import MEETING
from sim.kernels.stepper import REPLY
from sim.kernels.tables import BLOCK, COLUMN, STOP, table
from sim.scene.load import load_text
from tests.kernels.plain import plain

pytestmark = [pytest.mark.contact, pytest.mark.fast]

H = 0.25  # s


def contacts(count: int, seed: int = 4) -> np.recarray:
    """Presses of three rows between bodies, in random frames."""
    rng, out = np.random.default_rng(seed), table(CONTACT_CONSTRAINT, count)
    out.rows, out.high, out.kept, out.h, out.link = 3, np.inf, -1, H, [1, 2]
    out.axes = [Rotation.random(rng=rng).as_matrix().ravel() for _ in range(count)]
    out.p, out.K = rng.normal(size=(count, 3)), rng.normal(size=(count, 3, 12))
    out.friction, out.meeting = 0.5, np.arange(count)
    return out


# gap [m], rates before and without impulses [m/s], restitution -> what the rates are shifted by; h = 0.25 s.
SHIFTS = [
    # Open and slow: it may close by the end of the step.
    (0.1, (-3.0, 1.0, 2.0), (-0.2, 3.0, 4.0), 0.0, (0.4, 0.0, 0.0)),
    # It closes, with a speed that is the step's own: friction is asked of the whole step.
    (0.1, (-0.4, 1.0, 2.0), (-0.8, 3.0, 4.0), 0.0, (0.4, 0.0, 0.0)),
    # It closes, having come with speed: half of the step is over by then, and so much of its sliding.
    (0.1, (-0.41, 1.0, 2.0), (-0.8, 3.0, 4.0), 0.0, (0.4, -1.5, -2.0)),
    (0.1, (-3.0, 1.0, 2.0), (-0.8, 3.0, 4.0), 0.0, (0.4, -1.5, -2.0)),
    (0.1, (-9.0, 1.0, 2.0), (-0.4, 3.0, 4.0), 0.0, (0.4, 0.0, 0.0)),  # just at the end of the step
    # Overlapping: no gap is left, and nothing of the step is free.
    (-0.1, (-3.0, 1.0, 2.0), (-0.8, 3.0, 4.0), 0.0, (0.0, 0.0, 0.0)),
    (0.0, (-3.0, 1.0, 2.0), (-0.8, 3.0, 4.0), 0.0, (0.0, 0.0, 0.0)),
    # Newton's restitution of the speed before the step where that is faster than the rest speed of 0.5 m/s.
    (0.1, (-3.0, 1.0, 2.0), (-0.8, 3.0, 4.0), 0.6, (-1.8, 0.0, 0.0)),
    (0.1, (-0.5, 1.0, 2.0), (-0.8, 3.0, 4.0), 0.6, (0.4, -1.5, -2.0)),
    (0.1, (-3.0, 1.0, 2.0), (-0.3, 3.0, 4.0), 0.6, (0.4, 0.0, 0.0)),  # which does not close within the step
    (-0.1, (-3.0, 1.0, 2.0), (0.3, 3.0, 4.0), 0.6, (-1.8, 0.0, 0.0)),
    (-0.1, (-3.0, 1.0, 2.0), (0.4, 3.0, 4.0), 0.6, (0.0, 0.0, 0.0)),
]


@pytest.mark.parametrize(("gap", "before", "free", "restitution", "shift"), SHIFTS)
def test_the_law_of_a_step_is_asked_of_shifted_rates(gap, before, free, restitution: float, shift) -> None:
    contact = contacts(3)
    contact.gap, contact.restitution, contact.rest_speed, contact.shift = gap, restitution, 0.5, 9.0
    contact.before, contact.free = before, free
    plain(kernels.shift_open)(contact, 1, H)
    assert contact.shift[1] == pytest.approx(shift, abs=1e-15)
    assert (contact.shift[[0, 2]] == 9.0).all()


def test_impulses_are_kept_within_their_law() -> None:
    contact, P = contacts(2), np.array([[9.0, 9.0, 9.0], [4.0, 1.2, -1.6]])
    plain(kernels.keep_in_law)(contact, P, 1)
    assert P[1].tolist() == [4.0, 1.2, -1.6]  # as much as friction may be
    P[1] = [4.0, 2.4, -3.2]
    plain(kernels.keep_in_law)(contact, P, 1)
    assert P[1] == pytest.approx([4.0, 1.2, -1.6], rel=1e-14)
    P[1] = [-4.0, 2.4, -3.2]
    plain(kernels.keep_in_law)(contact, P, 1)
    assert P[1] == pytest.approx([0.0, 0.0, 0.0], abs=1e-15)
    contact.low[1], contact.high[1], contact.friction[1] = -3.0, 2.0, 0.0
    for impulse, kept in ((-9.0, -3.0), (1.0, 1.0), (9.0, 2.0)):
        P[1] = [impulse, 0.0, 0.0]
        plain(kernels.keep_in_law)(contact, P, 1)
        assert P[1].tolist() == [kept, 0.0, 0.0]
    assert (P[0] == 9.0).all()


class Warm:
    """Presses of the last step and of this one, and what the latter begin with."""

    def __init__(self) -> None:
        self.old, self.new = contacts(6, 1), contacts(6, 2)
        self.old.impulse = np.random.default_rng(3).uniform(1.0, 2.0, (6, 3)) * [1.0, 0.2, -0.2]
        base, rng = Rotation.random(rng=np.random.default_rng(5)), np.random.default_rng(6)
        for contact in (self.old, self.new):  # turned little against each other, so that none pulls
            contact.axes = [
                (Rotation.from_rotvec(0.3 * rng.normal(size=3)) * base).as_matrix().ravel() for _ in range(6)
            ]
        self.old.h, self.old.count, self.new.friction = 0.5 * H, 3, 9.0
        self.new.p, self.old.p = 0.0, 0.0
        self.old.meeting, self.new.meeting = [0, 2, 2, 5, -1, -1], [0, 2, 2, 5, -1, -1]
        self.old.key[[0, 4, 5], 0], self.new.key[[0, 4, 5], 0] = [1, 7, 8], [2, 9, 8]
        self.old.p[1, 0], self.old.p[2, 0], self.new.p[1, 0], self.new.p[2, 0] = 0.0, 1.0, 0.9, 0.6

    def begin(self, before: int = 6) -> np.ndarray:
        P = np.zeros((6, 3))
        plain(kernels.warm)(before, 6, self.old, H, 3.0, self.new, P)
        return P

    def of(self, k: int, j: int) -> np.ndarray:
        """The force of press j of the last step as an impulse of press k: the same in the world."""
        force = self.old.impulse[j] @ self.old.axes[j].reshape(3, 3) / self.old.h[j]
        P = H * self.new.axes[k].reshape(3, 3) @ force
        P[self.new.rows[k] :] = 0.0
        if P[0] < 0.0:
            P[:] = 0.0
        return P


def test_a_step_begins_with_the_forces_of_the_nearest_points_of_the_last() -> None:
    """Of the same pair of shapes, or the same stop; each gives them once, and only within half of the mechanism."""
    warm = Warm()
    found = warm.begin()
    # Both points of the second pair are nearest to the same one, which the first has: the other is left.
    wanted = [warm.of(0, 0), warm.of(1, 2), warm.of(2, 1), warm.of(3, 3), np.zeros(3), warm.of(5, 5)]
    assert found == pytest.approx(np.array(wanted), abs=1e-13)
    assert all(np.any(P) for k, P in enumerate(wanted) if k != 4)
    assert warm.old.count.tolist() == [0, 0, 0, 0, 3, 0]


def test_points_too_far_away_or_not_asked_for_begin_with_nothing() -> None:
    for k, far in ((0, 0), (0, 1), (3, 2)):
        warm = Warm()
        warm.new.p[k, far] = 1.49  # of half the mechanism's length, 1.5 m
        assert warm.begin()[k] == pytest.approx(warm.of(k, k), abs=1e-13)
        warm = Warm()
        warm.new.p[k] = [0.87, -0.87, 0.87]
        assert not warm.begin()[k].any()
    warm = Warm()
    warm.new.p[5] = 50.0  # of a stop no place counts
    assert warm.begin()[5] == pytest.approx(warm.of(5, 5), abs=1e-13)
    warm = Warm()
    found = warm.begin(3)
    assert found[:3] == pytest.approx(np.array([warm.of(0, 0), warm.of(1, 2), warm.of(2, 1)]), abs=1e-13)
    assert not found[3:].any()
    warm = Warm()
    warm.old.meeting[2] = 3  # another pair, which ends the search
    found = warm.begin()
    assert found[1] == pytest.approx(warm.of(1, 1), abs=1e-13)
    assert not found[2].any()


def test_a_pair_that_did_not_press_before_takes_nothing_from_those_after_it() -> None:
    for meeting in (1, 9):
        warm = Warm()
        warm.new.meeting[3] = meeting if meeting == 9 else 3
        found = warm.begin()
        assert not found[3].any()
        assert found[5] == pytest.approx(warm.of(5, 5), abs=1e-13)
    warm = Warm()
    warm.new.meeting[0] = 1
    found = warm.begin()
    assert not found[0].any() and found[1] == pytest.approx(warm.of(1, 2), abs=1e-13)


def test_a_press_that_was_kept_has_its_own_impulse_over_the_new_step() -> None:
    warm = Warm()
    warm.new.kept[1], warm.new.rows[1], warm.new.h[1], warm.new.impulse[1] = 0, 2, 0.5, [3.0, 4.0, 5.0]
    found = warm.begin()
    assert found[1] == pytest.approx([1.5, 2.0, 0.0], rel=1e-15)
    assert found[2] == pytest.approx(warm.of(2, 2), abs=1e-13)
    assert warm.old.count.tolist() == [0, 3, 0, 0, 3, 0]


def test_rows_that_are_not_there_take_and_give_nothing() -> None:
    warm = Warm()
    warm.new.rows[3], warm.old.rows[3], warm.old.impulse[3, 1:] = 1, 1, 77.0
    normal = warm.old.axes[3].reshape(3, 3)[0] @ warm.new.axes[3].reshape(3, 3)[0]
    found = warm.begin()[3]
    assert found == pytest.approx([max(2.0 * warm.old.impulse[3, 0] * normal, 0.0), 0.0, 0.0], rel=1e-13)


def test_energy_that_presses_take_is_impulses_times_mean_speeds() -> None:
    """A soft stop keeps what its spring does, 1/2 k d^2 before and after; its own giving way is no speed."""
    contact = contacts(4)
    contact.stiffness[2] = 8.0
    rng = np.random.default_rng(0)
    contact.before, contact.shift, contact.gap = (
        rng.normal(size=(4, 3)),
        rng.normal(size=(4, 3)),
        [0.1, -0.2, -0.3, 0.4],
    )
    contact.rows, contact.soft = [3, 1, 1, 3], [0.0, 0.0, 0.5, 0.0]
    P, after = rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
    z = after + contact.shift
    z[2, 0] += 0.5 * P[2, 0]
    mean = 0.5 * (contact.before + after)
    deep = min(-0.3 + H * after[2, 0], 0.0)
    lost = -P[0] @ mean[0] - P[1, 0] * mean[1, 0] - P[2, 0] * mean[2, 0] - 0.5 * 8.0 * (deep**2 - 0.3**2)
    assert plain(step_ledger.lost_in)(SimpleNamespace(), 3, H, contact, P, z) == pytest.approx(lost, rel=1e-13)
    z[2, 0] += 9.0 - after[2, 0]  # it has left: the spring has nothing
    assert plain(step_ledger.lost_in)(SimpleNamespace(), 3, H, contact, P, z) == pytest.approx(
        lost - P[2, 0] * 0.5 * (9.0 - after[2, 0]) + 0.5 * 8.0 * deep**2, rel=1e-13
    )


@pytest.mark.parametrize(
    ("before", "free", "shift", "comes"),
    [
        (-1.0, -1.5, 0.0, True), (-0.7, -1.5, 0.0, False), (-0.01, 3.0, 0.0, True), (0.01, 3.0, 0.0, False),
        (-0.7, -1.0, 0.5, False), (-0.8, -1.0, 0.5, True), (0.0, 0.0, 0.0, False),
    ],
)  # fmt: skip
def test_bodies_come_together_with_a_speed_of_their_own(before: float, free: float, shift: float, comes: bool) -> None:
    """Half or more of what it is without impulses, from which the shift is taken back."""
    contact = contacts(2)
    contact.before[1, 0], contact.free[1, 0], contact.shift[1, 0] = before, free, shift
    assert plain(step_ledger.comes)(contact, 1) == comes


def test_a_press_goes_on_where_the_same_pressed_before_and_did_not_begin_there() -> None:
    old, new = contacts(4), contacts(4)
    old.meeting, old.key, old.impulse = 3, [[4, 5], [5, 4], [1, 5], [4, 1]], [2.0, 0.0, 0.0]
    new.meeting[2], new.key[2] = 3, [4, 5]
    on = plain(step_ledger.rolls_on)
    assert on(old, 4, new, 2)
    assert on(old, 1, new, 2)
    assert not on(old, 0, new, 2)
    old.struck[0] = 1
    assert not on(old, 4, new, 2)
    old.struck[0], old.impulse[0, 0] = 0, 0.0
    assert not on(old, 4, new, 2)
    old.impulse[0, 0], old.meeting[0] = 2.0, 2
    assert not on(old, 4, new, 2)
    for key in ([4, 4], [5, 5]):
        old.meeting[0], old.key[0] = 3, key
        assert not on(old, 1, new, 2)


def test_energy_that_contacts_take_against_their_law() -> None:
    """Along the normal always; across it where they stick, as what slides takes by law."""
    contact, rng = contacts(2), np.random.default_rng(6)
    contact.before, contact.shift = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    after = rng.normal(size=(2, 3))
    z, mean = after + contact.shift, 0.5 * (contact.before + after)
    for P, rows in (([4.0, 1.2, 1.5], 3), ([4.0, 1.2, 1.6], 1), ([4.0, -1.5, 1.2], 3), ([4.0, 1.2, -1.7], 1)):
        given = np.array([[9.0, 9.0, 9.0], P])
        wanted = -given[1, :rows] @ mean[1, :rows]
        assert plain(step_ledger.taken_at)(contact, given, z, 1) == pytest.approx(wanted, rel=1e-13)
    contact.rows[1] = 2
    given = np.array([[9.0, 9.0, 9.0], [4.0, 0.3, 0.2]])
    assert plain(step_ledger.taken_at)(contact, given, z, 1) == pytest.approx(-given[1, :2] @ mean[1, :2], rel=1e-13)


def test_what_strikes_is_noted_and_what_only_presses_is_added_up() -> None:
    contact, old = contacts(7), contacts(7)
    contact.before[:, 0], contact.free[:, 0] = -1.0, -1.5
    contact.struck, contact.friction, old.meeting = 7, 0.0, 99
    contact.before[1, 0] = -0.1  # presses only
    contact.soft[3], contact.low[4] = 0.5, -1.0  # neither is a rigid contact
    P, z = np.zeros((7, 3)), np.zeros((7, 3))
    P[:, 0], z[:, 0] = [2.0, 3.0, 0.0, 2.0, 2.0, 2.0, 2.0], 0.04
    old.meeting[2], old.impulse[2, 0] = contact.meeting[5], 1.0  # which has pressed before
    stepped = table(STEPPED, 1)
    stepped.before, stepped.taken, stepped.struck = 7, 0.5, 5
    work = SimpleNamespace(
        contacts=contact, last_contacts=old, contact_P=P, contact_z=z, stepped=stepped, reply=table(REPLY, 1)
    )  # fmt: skip
    plain(step_ledger.note_struck)(work, 6)
    assert contact.struck.tolist() == [1, 0, 0, 0, 0, 0, 7]
    assert stepped.struck[0] == work.reply.struck[0] == 1
    assert stepped.taken[0] == pytest.approx(0.5 - 0.5 * 3.0 * (-0.1 + 0.04) - 0.5 * 2.0 * (-1.0 + 0.04), rel=1e-13)
    P[0, 0] = 0.0
    plain(step_ledger.note_struck)(work, 6)
    assert stepped.struck[0] == 0 and work.reply.struck[0] == 0


def test_a_stop_presses_where_it_is_among_the_first() -> None:
    contact = contacts(4)
    contact.meeting, contact.key[:, 0] = [-1, 0, -1, -1], [3, 5, 4, 6]
    assert [plain(kernels.is_pressed)(contact, 3, s) for s in range(3, 7)] == [True, True, False, False]
    assert plain(kernels.is_pressed)(contact, 4, 6)


def moving(count: int, seed: int = 8) -> SimpleNamespace:
    """Presses whose gaps follow their rates, each by a freedom of its own."""
    contact = contacts(count, seed)
    contact.kept, contact.count = 0, 1
    G = np.zeros((count, 3, 3))
    G[:, 0, 0] = np.arange(2, count + 2) ** 2
    U = np.zeros(9 * count)
    U[::9], U[1::9] = 0.0, 0.0
    support = np.arange(count)[:, None] * np.ones((1, 3), np.int64)
    for k in range(count):
        U[3 * k * 3] = k + 2.0
    return SimpleNamespace(
        contacts=contact, contact_G=G, contact_U=U, contact_R=np.zeros((3 * count, count)), contact_support=support,
        push=np.zeros(count), contact_d=np.zeros((count, 2)), contact_off=np.zeros(count), contact_z=np.zeros((count,
        3)),
        contact_touch=None, end_links=None,
    )  # fmt: skip


def test_overlaps_say_what_is_to_be_taken_back() -> None:
    """All that the step adds, a fifth of what was there, but for 1e-7 m; nothing of soft stops and friction."""
    work = moving(6)
    contact, rates = work.contacts, np.array([-0.4, 0.2, -0.1, -3.0, -3.0, 0.5])
    contact.gap, contact.shift[:, 0] = [0.05, -0.02, -0.03, -0.5, -0.5, -0.04], 0.3
    work.contact_z[:, 0], work.contact_d[:] = rates + 0.3, 5.0
    contact.soft[3], contact.low[4], contact.meeting[5] = 0.1, -2.0, -1
    deepest, worst = plain(kernels.overlaps)(work, 5, H)
    end = contact.gap + H * rates
    wanted = np.array([end[0] + 1e-7, *(end[1:3] + 1e-7 - 0.8 * (contact.gap[1:3] + 1e-7)), np.inf, np.inf])
    assert contact.before[:5, 0] == pytest.approx(wanted, abs=1e-15)
    assert work.contact_off[:5] == pytest.approx(-wanted, abs=1e-15)
    assert work.contact_d[:5, 0].tolist() == [0.0] * 5 and work.contact_d[5, 0] == 5.0
    assert deepest == 0.5 and worst == pytest.approx(-wanted.min(), abs=1e-15)
    assert plain(kernels.overlaps)(work, 3, H)[0] == 0.03
    work.contacts.meeting[2] = -1
    assert plain(kernels.overlaps)(work, 3, H)[0] == 0.02
    contact.gap[:] = 1.0
    assert plain(kernels.overlaps)(work, 1, H) == (0.0, 0.0)


def test_one_press_moves_its_bodies_as_far_as_its_gap_is_too_small() -> None:
    """U = 3 of its own freedom: an impulse of gap / 9, and none that pulls."""
    work = moving(3)
    work.contacts.before[1, 0] = -0.18
    assert plain(kernels.move_one)(False, 1, work.contacts, work) == pytest.approx(0.18, rel=1e-14)
    assert work.contact_d[:, 0] == pytest.approx([0.0, 0.02, 0.0], rel=1e-14)
    assert work.push == pytest.approx([0.0, 0.06, 0.0], rel=1e-14)
    assert plain(kernels.move_one)(False, 1, work.contacts, work) == pytest.approx(0.0, abs=1e-15)
    work.push[1] += 1.0  # others have moved it further
    assert plain(kernels.move_one)(False, 1, work.contacts, work) == pytest.approx(-3.0, rel=1e-12)
    assert work.contact_d[1, 0] == 0.0 and work.push[1] == pytest.approx(1.0, rel=1e-14)
    work.contact_G[2] = 0.0
    work.contacts.before[2, 0] = -1.0
    assert plain(kernels.move_one)(False, 2, work.contacts, work) == 0.0
    assert work.contact_d[2, 0] == 0.0


def test_presses_are_remembered_with_their_impulses() -> None:
    work = moving(4)
    work.contact_P, work.last_contacts = np.random.default_rng(1).normal(size=(4, 3)), table(CONTACT_CONSTRAINT, 4)
    work.stepped = table(STEPPED, 1)
    work.stepped.most, work.stepped.steps, work.contacts.h = 2, 7, 0.0
    plain(kernels.remember)(work, 3, 0.125)
    assert (work.stepped.before[0], work.stepped.most[0], work.stepped.steps[0]) == (3, 3, 8)
    assert (
        work.last_contacts.impulse[:3] == pytest.approx(work.contact_P[:3]) and not work.last_contacts.impulse[3].any()
    )
    assert work.last_contacts.h.tolist() == [0.125, 0.125, 0.125, 0.0]
    assert (work.last_contacts.K[:3] == work.contacts.K[:3]).all()
    plain(kernels.remember)(work, 1, 0.125)
    assert (work.stepped.before[0], work.stepped.most[0], work.stepped.steps[0]) == (1, 3, 9)


class Joints:
    """Stops and friction of three columns: one of the tree, two of a loop, the last of which slides."""

    def __init__(self) -> None:
        self.stops, self.columns, self.blocks = table(STOP, 2), table(COLUMN, 6), table(BLOCK, 2)
        self.stops.column, self.stops.angle = [1, 3], [0, 1]
        self.columns.joint, self.columns.linear = [0, 0, 1, 2, 2, 2], [0, 1, 1, 0, 0, 0]
        self.blocks.joint = [9, 2]
        self.meetings = table(MEETING, 3)
        self.meetings.rule, self.meetings.named = [0, 1, 1], [1, 2, 1]
        self.last_contacts = contacts(6)
        self.last_contacts.meeting, self.last_contacts.rows = [-1, -1, 1, -1, 2, 0], [1, 1, 3, 1, 1, 3]
        self.last_contacts.key[:, 0] = [0, 1, 0, 2 + 2, 0, 0]
        self.last_contacts.impulse = np.random.default_rng(2).normal(size=(6, 3))
        self.last_contacts.h = 0.1 * np.arange(1, 7)
        blocks = table(BLOCK_WORK, 2)
        stepped = table(STEPPED, 1)
        stepped.before = 5
        self.work = SimpleNamespace(
            last_contacts=self.last_contacts, torque=np.zeros(6), stopping=np.zeros(6), friction=np.zeros(6),
            blocks=blocks,
            rules=table(CONTACT_WORK, 2), links=table(LINK_WORK, 4), stepped=stepped,
        )  # fmt: skip


def test_forces_of_stops_and_friction_are_torques_of_their_columns() -> None:
    at = Joints()
    f, axes = at.last_contacts.impulse[:, 0] / at.last_contacts.h, at.last_contacts.axes
    push = plain(kernels.push_joint)
    assert [push(at, at.work, at.last_contacts, k) for k in (0, 1, 3)] == [True, False, True]
    torque = np.array([0.0, f[0] * axes[0, 3], f[3] * axes[3, 3], *(f[1] * axes[1, 3:6])])
    assert at.work.torque == pytest.approx(torque, abs=1e-14)
    assert at.work.friction == pytest.approx(torque * [0, 0, 1, 0, 0, 0], abs=1e-14)
    assert at.work.stopping == pytest.approx(torque * [1, 1, 0, 1, 1, 1], abs=1e-14)
    assert at.work.blocks.own[1] == pytest.approx([*(f[1] * axes[1, :3]), 0, 0, 0], abs=1e-14)
    assert not at.work.blocks.own[0].any()


def test_what_slides_in_a_loop_has_a_force_and_a_turn_of_three_has_a_moment() -> None:
    for angle in (0, 1):
        at = Joints()
        at.columns.linear[:], at.stops.angle[1] = 1, angle
        f, axes = at.last_contacts.impulse[1, 0] / at.last_contacts.h[1], at.last_contacts.axes[1]
        plain(kernels.push_joint)(at, at.work, at.last_contacts, 1)
        own = f * axes[:3]
        assert at.work.blocks.own[1] == pytest.approx([*own, 0, 0, 0] if angle else [0, 0, 0, *own], abs=1e-14)
        assert np.count_nonzero(at.work.stopping) == (3 if angle else 1)


def test_forces_of_points_are_wrenches_on_both_links_and_sums_of_their_rules() -> None:
    at = Joints()
    at.last_contacts.link = [[1, 2], [3, 0], [1, 2], [2, 3], [1, 3], [1, 2]]
    plain(kernels.push_links)(at, at.work)
    wrench, sums = np.zeros((4, 6)), np.zeros((2, 3))
    for k, sign in ((1, 0.0), (2, 1.0), (4, -1.0)):  # a stop of a loop acts as a wrench, too
        a, b = at.last_contacts.link[k]
        f = (at.last_contacts.impulse[k] / at.last_contacts.h[k])[: at.last_contacts.rows[k]]
        wrench[b] += f @ at.last_contacts.K[k, : len(f), :6]
        wrench[a] += f @ at.last_contacts.K[k, : len(f), 6:]
        sums[1] += sign * f @ at.last_contacts.axes[k].reshape(3, 3)[: len(f)]
    assert at.work.links.wrench == pytest.approx(wrench, abs=1e-13)
    assert at.work.rules.force == pytest.approx(sums, abs=1e-13)


def test_rows_tell_points_that_pressed_with_their_forces() -> None:
    at, told, stepped = Joints(), table(TOLD, 3), table(STEPPED, 1)
    at.last_contacts.meeting[:4], at.last_contacts.friction = [4, -1, 5, 6], 0.5
    at.last_contacts.impulse[:4] = [[2.0, 0.6, -0.8], [3.0, 0.0, 0.0], [0.0, 0.0, 0.0], [2.0, 0.3, 0.2]]
    at.last_contacts.key[:4] = [[3, 8], [0, 0], [0, 0], [4, 9]]
    at.last_contacts.link[:4] = [[1, 2], [0, 0], [0, 0], [2, 3]]
    stepped.before, stepped.told = 4, 1
    work = SimpleNamespace(stepped=stepped, last_contacts=at.last_contacts, told=told)
    plain(kernels.tell)(work, 2.5)
    assert stepped.told[0] == 3
    assert told.meeting.tolist() == [0, 4, 6] and told.side.tolist() == [0, 2, 3]
    assert told.key.tolist() == [[0, 0], [3, 8], [4, 9]] and told.t.tolist() == [0.0, 2.5, 2.5]
    assert told.slides.tolist() == [0, 1, 0]
    for i, k in ((1, 0), (2, 3)):
        assert (told.p[i] == at.last_contacts.p[k]).all() and (told.n[i] == at.last_contacts.axes[k, :3]).all()
        wanted = at.last_contacts.impulse[k] @ at.last_contacts.axes[k].reshape(3, 3) / at.last_contacts.h[k]
        assert told.force[i] == pytest.approx(wanted, abs=1e-13)
    plain(kernels.tell)(work, 3.0)  # there is no more room
    assert stepped.told[0] == 3 and told.t.tolist() == [0.0, 2.5, 2.5]


FLAIL = """
schema: 1
name: flail
world: {{shapes: [{{name: ground, plane: {{}}}}]}}
bodies:
  arm: {{mass: 0.7 kg, com: [0.2, 0, 0.5], inertia: [0.01, 0.02, 0.015]}}
  club:
    {{mass: 1.3 kg, com: [0.6, 0, 0.5], inertia: [0.01, 0.02, 0.015],
     shapes: [{{box: {{size: [0.3, 0.1, 0.1], center: [0.6, 0, 0.5]}}}}]}}
joints:
  shoulder: {{type: rotational, parent: world, child: arm, position: [0, 0, 0.5], axis: [0, 1, 0]}}
{joints}
initial: {{shoulder: {{coordinate: 25 deg, rate: 4}}, elbow: {{coordinate: 10 deg, rate: 6}}}}
contacts: {{blow: {{between: [club, world.ground], friction: 0.3}}}}
simulate: {{duration: 60 ms, contact: stepping, dt: 4 ms, record: 250 Hz}}
"""
ELBOW = "  elbow: {type: rotational, parent: arm, child: club, position: [0.4, 0, 0.5], axis: [0, 1, 0]}\n"
RAIL = """  rail:
    {type: planar, parent: arm, child: club, position: [0.45, 0, 0.5], axis: [0, 1, 0], second_axis: [1, 0, 0]}
"""


def test_overlaps_are_taken_back_along_loops_as_along_the_tree() -> None:
    tree, loop = (sim.run(load_text(FLAIL.format(joints=joints))) for joints in (ELBOW, RAIL + ELBOW))
    assert tree.epochs[0].loops == () and loop.epochs[0].loops == ("elbow",)
    assert np.abs(np.array(tree.com["club"]) - np.array(loop.com["club"])).max() < 2e-4
    # m, in steps of 4 ms: without a loop limbs that turn fast are flown in parts.
    for recording in (tree, loop):
        corners = np.array([[x, 0.05 * side, -0.05] for x in (-0.15, 0.15) for side in (-1, 1)])
        quat = np.roll(np.array(recording.quat_wxyz["club"]), -1, axis=1)
        centre = np.array(recording.com["club"])  # that of the box, too
        lowest = [(centre[k] + Rotation.from_quat(quat[k]).apply(corners))[:, 2].min() for k in range(recording.rows)]
        assert min(lowest) > -4e-6 and np.abs(lowest[-5:]).max() < 4e-6  # the club lies on the ground, and not in it
